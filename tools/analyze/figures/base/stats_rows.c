/*
    stats_rows.c - groups with equal texts, joined to rows of a table
*/
#include "tools/analyze/figures/base/stats_rows.h"

typedef struct text_of {
    ts_text text;
    uint32_t group;
} text_of;

static int compare_texts(ts_text a, ts_text b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size ? memcmp(a.text, b.text, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_text(const void *left, const void *right)
{
    const text_of *const a = left, *const b = right;
    const int order = compare_texts(a->text, b->text);
    return order ? order : (a->group > b->group) - (a->group < b->group);
}

static int by_total(const void *left, const void *right)
{
    const stats_row *const a = left, *const b = right;
    if (a->sum.total_ns != b->sum.total_ns)
        return a->sum.total_ns > b->sum.total_ns ? -1 : 1;
    if (a->sum.count != b->sum.count)
        return a->sum.count > b->sum.count ? -1 : 1;
    return compare_texts(a->text, b->text);
}

static void join_all(stats_rows *rows, const stats_map *map,
                     const text_of *texts)
{
    for (size_t i = 0; i < map->count; i++) {
        const ts_text text = texts[i].text;
        if (!i || compare_texts(text, texts[i - 1].text) != 0)
            rows->rows[rows->count++].text = text;
        rows->number[texts[i].group] = (uint32_t)rows->count - 1;
        stats_join(&rows->rows[rows->count - 1].sum,
                   &map->groups[texts[i].group]);
    }
    // Before sorting, `from` holds the original index of each row.
    for (size_t i = 0; i < rows->count; i++)
        rows->rows[i].sum.from = i;
}

static bool sort_rows(stats_rows *rows, size_t group_count)
{
    uint32_t *const at = calloc(rows->count + 1, sizeof *at);
    if (!at) return false;
    qsort(rows->rows, rows->count, sizeof *rows->rows, by_total);
    for (uint32_t i = 0; i < rows->count; i++)
        at[rows->rows[i].sum.from] = i;
    for (size_t i = 0; i < group_count; i++)
        rows->number[i] = at[rows->number[i]];
    free(at);
    return true;
}

bool stats_rows_open(stats_rows *rows, const stats_map *map,
                     ts_text (*text)(const stats_group *group, void *user),
                     void *user)
{
    *rows = (stats_rows){ 0 };
    text_of *const texts = calloc(map->count + 1, sizeof *texts);
    rows->rows = calloc(map->count + 1, sizeof *rows->rows);
    rows->number = calloc(map->count + 1, sizeof *rows->number);
    bool ok = texts && rows->rows && rows->number;
    for (uint32_t i = 0; ok && i < map->count; i++)
        texts[i] = (text_of){ text(&map->groups[i], user), i };
    if (ok) {
        qsort(texts, map->count, sizeof *texts, by_text);
        join_all(rows, map, texts);
        ok = sort_rows(rows, map->count);
    }
    free(texts);
    return ok;
}

void stats_rows_close(stats_rows *rows)
{
    free(rows->rows);
    free(rows->number);
    *rows = (stats_rows){ 0 };
}

bool stats_rows_quantiles(stats_rows *rows, analyze_job *job,
                          const stats_scan *scan, size_t which,
                          const stats_map *map)
{
    ts_reader **const readers = calloc(job->file_count, sizeof *readers);
    stats_group *const sums = calloc(rows->count + 1, sizeof *sums);
    bool ok = readers && sums;
    for (uint32_t i = 0; ok && i < job->file_count; i++)
        readers[i] = analyze_reader(job, i);
    for (size_t i = 0; ok && i < rows->count; i++)
        sums[i] = rows->rows[i].sum;
    ok = ok && stats_quantiles(readers, job->file_count, scan, which, map,
                               rows->number, sums, rows->count);
    for (size_t i = 0; ok && i < rows->count; i++)
        rows->rows[i].sum = sums[i];
    free(readers);
    free(sums);
    return ok;
}

bool stats_run_all(analyze_job *job, const stats_scan *scan, stats_map *maps)
{
    for (uint32_t i = 0; i < job->file_count; i++)
        if (!stats_run(analyze_reader(job, i), i, scan, maps)) return false;
    return true;
}

stats_group stats_rows_sum(const stats_rows *rows)
{
    stats_group sum = { 0 };
    for (size_t i = 0; i < rows->count; i++)
        stats_join(&sum, &rows->rows[i].sum);
    return sum;
}

report_evidence stats_longest(analyze_job *job, const stats_group *g)
{
    const int64_t at = stats_sum(g->most_at_ns, analyze_offset(job, g->file));
    return report_from_to(g->file, at, stats_sum(at, g->most_ns));
}

report_value stats_rate(const stats_group *g)
{
    return g->bytes ? report_rate(g->bytes, g->total_ns)
                    : report_unknown(REPORT_RATE);
}

static report_value value_of(const char *key, int64_t offset,
                             const stats_row *row, int64_t all_ns)
{
    const stats_group *const g = &row->sum;
    const struct {
        const char *key;
        report_value value;
    } values[] = {
        { "count", report_count(g->count) },
        { "total_ns", report_ns(g->total_ns) },
        { "share", report_share(g->total_ns, all_ns) },
        { "mean_ns", report_ns(g->total_ns / (int64_t)g->count) },
        { "p50_ns", report_ns(g->p50_ns) },
        { "p95_ns", report_ns(g->p95_ns) },
        { "min_ns", report_ns(g->least_ns) },
        { "max_ns", report_ns(g->most_ns) },
        { "first_ns", report_time(stats_sum(g->first_ns, offset)) },
        { "last_ns", report_time(stats_sum(g->last_ns, offset)) },
        { "bytes", report_bytes(g->bytes) },
        { "rate", stats_rate(g) },
    };
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (!strcmp(key, values[i].key)) return values[i].value;
    return report_text(row->text);
}

void stats_row_put(analyze_job *job, report_table *t,
                   const report_column *columns, size_t count,
                   const stats_row *row, int64_t all_ns)
{
    enum { MOST = 16 };
    report_value values[MOST];
    const int64_t offset = analyze_offset(job, row->sum.file);
    for (size_t i = 0; i < count && i < MOST; i++)
        values[i] = value_of(columns[i].key, offset, row, all_ns);
    const report_evidence e = stats_longest(job, &row->sum);
    report_row(t, values, &e);
}
