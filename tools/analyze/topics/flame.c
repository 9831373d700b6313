/*
    flame.c - the host code that launched the work of the devices
*/
#include "tools/analyze/topics/flame.h"
#include "tools/analyze/figures/operations/samples.h"

// Limits of a chart: smaller or deeper boxes cannot be seen and make pages
// heavy.
enum { FLAME_LEAST = 1000, FLAME_DEPTH = 60 };

static ts_text node_label(analyze_job *job, const path_tree *p,
                          const flame_node *n)
{
    if (n->node == CLI_NONE)
        return analyze_format(job, "(%s more)", cli_count(n->count).s);
    const ts_text name = p->names[p->nodes[n->node].name];
    if (!n->count) return name;
    return analyze_format(job, "(in %s outer) %.*s", cli_count(n->count).s,
                          name.size < 400 ? (int)name.size : 400, name.text);
}

report_chart *flame_chart(analyze_job *job, const flame_tree *t,
                          report_section *s, const char *key, const char *title,
                          report_unit unit)
{
    report_chart *c = NULL;
    flame_node *nodes;
    size_t count;
    bool ok = flame_cut(t, FLAME_LEAST, FLAME_DEPTH, &nodes, &count);
    uint32_t *const numbers = malloc((count + 1) * sizeof *numbers);
    ok = ok && numbers;
    if (ok) {
        c = report_flame_begin(s, key, title, unit);
        for (size_t i = 0; i < count; i++) {
            const flame_node *const n = &nodes[i];
            numbers[i] = report_flame_add(
                c, n->parent == CLI_NONE ? REPORT_ROOT : numbers[n->parent],
                node_label(job, t->paths, n), n->own);
        }
    }
    free(nodes);
    free(numbers);
    return c;
}

/* ---- The heaviest paths ------------------------------------------------- */

typedef struct heavy {
    int64_t own;
    uint32_t node;
} heavy;

static int by_own(const void *left, const void *right)
{
    const heavy *const a = left, *const b = right;
    if (a->own != b->own) return a->own > b->own ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

// Adds a table of paths by weight, the heaviest first.
static bool put_table(analyze_job *job, const flame_tree *t, report_section *s,
                      const char *key, const char *title, const char *what)
{
    const report_column columns[] = {
        { "time_ns", "time", REPORT_NS },
        { "share", "share", REPORT_SHARE },
        { "name", what, REPORT_TEXT },
        { "path", "from", REPORT_TEXT },
    };
    const path_tree *const p = t->paths;
    heavy *const rows = malloc(((size_t)p->node_count + 1) * sizeof *rows);
    size_t count = 0;
    if (!rows) return false;
    for (uint32_t n = 1; n < p->node_count; n++)
        if (p->nodes[n].own_ns > 0)
            rows[count++] = (heavy){ p->nodes[n].own_ns, n };
    qsort(rows, count, sizeof *rows, by_own);
    report_table *const table = report_table_begin(s, key, title, columns, 4);
    const size_t most = job->options.rows > job->options.top
                            ? (size_t)job->options.rows
                            : (size_t)job->options.top;
    for (size_t i = 0; i < count && i < most; i++) {
        const paths_node *const n = &p->nodes[rows[i].node];
        char from[240];
        const size_t size = paths_text(p, n->parent, from, sizeof from);
        const report_value row[] = {
            report_ns(rows[i].own),
            report_share(rows[i].own, t->totals[PATHS_ROOT]),
            report_text(p->names[n->name]),
            report_text(analyze_format(job, "%.*s", (int)size, from)),
        };
        report_row(table, row, NULL);
    }
    report_rows_of(table, count);
    free(rows);
    return true;
}

/* ---- The topic ---------------------------------------------------------- */

static void put_answer(const flame_tree *t, report_section *s)
{
    // Find the deepest path that launched most of the time, without the name of
    // the operation.
    uint32_t node = PATHS_ROOT;
    const int64_t whole = t->totals[PATHS_ROOT];
    for (;;) {
        const uint32_t first = t->offsets[node];
        if (first == t->offsets[node + 1] ||
            t->totals[t->children[first]] <= whole / 2)
            break;
        const uint32_t next = t->children[first];
        if (t->offsets[next] == t->offsets[next + 1]) break;
        node = next;
    }
    if (node == PATHS_ROOT) {
        report_answer(s,
                      "%s of work on the devices; no single place on the "
                      "host launched more than half of it.",
                      cli_time(whole).s);
        return;
    }
    const ts_text name = t->paths->names[t->paths->nodes[node].name];
    report_answer(s, "%s of %s of work on the devices was launched by %.*s.",
                  report_words(report_share(t->totals[node], whole)).s,
                  cli_time(whole).s, name.size < 120 ? (int)name.size : 120,
                  name.text);
}

static void put_trust(report_section *s, const path_tree *p,
                      const flame_sums *sums)
{
    if (sums->by_nothing)
        report_trust(
            s,
            sums->by_nothing * 10 > sums->operations ? REPORT_LOW
                                                     : REPORT_MEDIUM,
            "the launching code is unknown for %s of %s",
            cli_count(sums->by_nothing).s,
            cli_counted(sums->operations, "operation", "operations").s);
    if (p->cut)
        report_trust(s, REPORT_MEDIUM,
                     "%s nested too deeply to be "
                     "distinguished",
                     cli_counted(p->cut, "place", "places").s);
    report_trust(s, REPORT_HIGH,
                 "%s attributed by call stacks of the host, %s "
                 "by its zones",
                 cli_counted(sums->by_stack, "operation", "operations").s,
                 cli_count(sums->by_zone).s);
}

static bool put_devices(analyze_job *job, report_section *s, bool *any)
{
    path_tree p;
    flame_tree t = { 0 };
    flame_sums sums;
    bool ok = flame_of_devices(job, &p, &sums) && flame_open(&t, &p);
    *any = ok && t.totals[PATHS_ROOT] > 0;
    if (*any) {
        put_answer(&t, s);
        put_trust(s, &p, &sums);
        ok = put_table(job, &t, s, "paths",
                       "Longest operations by launching code", "operation") &&
             flame_chart(job, &t, s, "devices", "Device time by launching code",
                         REPORT_NS);
    }
    flame_close(&t);
    paths_close(&p);
    return ok;
}

static bool put_zones(analyze_job *job, report_section *s, bool *any)
{
    path_tree p;
    flame_tree t = { 0 };
    bool ok = flame_of_zones(job, &p) && flame_open(&t, &p);
    *any = ok && t.totals[PATHS_ROOT] > 0;
    if (*any)
        ok = put_table(job, &t, s, "zone_paths", "Zones by exclusive time",
                       "zone") &&
             flame_chart(job, &t, s, "zones", "Host time by zone", REPORT_NS);
    flame_close(&t);
    paths_close(&p);
    return ok;
}

static bool fill(analyze_job *job, report *r)
{
    report_section *const s = report_begin(r, "flame", "Flame graph");
    bool devices, zones;
    if (!put_devices(job, s, &devices) || !put_zones(job, s, &zones))
        return false;
    if (!devices && !zones)
        report_not_applicable(
            s, "The trace contains neither work on a device nor zones.");
    else if (!devices)
        report_answer(s, "No work ran on a device: %s.", analyze_why(job));
    return true;
}

const analyze_topic topic_flame = {
    .name = "flame",
    .title = "Flame graph",
    .help = "device time by launching code of the host; host time by zone",
    .fill = fill,
};

/* ---- Files -------------------------------------------------------------- */

typedef struct flame_way {
    const char *name, *title, *nothing;
} flame_way;

static const flame_way ways[] = {
    { "gpu", "Device time by launching code",
      "no flame graph: the trace contains no work on a device; try --flame-by "
      "zones" },
    { "zones", "Host time by zone",
      "no flame graph: the trace contains no zones" },
    { "samples", "Samples by call stack",
      "no flame graph: the trace contains no samples of a profile" },
};
enum { WAYS = sizeof ways / sizeof *ways };

static size_t way_of(const char *by)
{
    size_t way = 0;
    while (by && way < WAYS && strcmp(by, ways[way].name) != 0)
        way++;
    return way;
}

bool flame_is_way(const char *by)
{
    return way_of(by) < WAYS;
}

static bool write_svg(analyze_job *job, const flame_tree *t, FILE *out,
                      const char *title, report_unit unit)
{
    report *const r = report_open();
    if (!r) return false;
    report_section *const s = report_begin(r, "flame", title);
    const report_chart *const c = flame_chart(job, t, s, "flame", title, unit);
    const bool ok = c && !report_failed(r);
    if (ok) report_svg(out, c, true);
    report_close(r);
    return ok;
}

static bool write_tree(analyze_job *job, const flame_tree *t, FILE *out,
                       const flame_way *way, report_unit unit, bool svg)
{
    const char *const path = job->file_count > 1 ? NULL : job->files[0].path;
    if (!t->totals[PATHS_ROOT])
        return cli_fail(job->tool, TS_ERR_NOT_FOUND, path, "%s", way->nothing);
    if (!svg) return flame_folded(t, out), true;
    if (write_svg(job, t, out, way->title, unit)) return true;
    return cli_out_of_memory(job->tool);
}

static bool write_paths(analyze_job *job, const path_tree *p, FILE *out,
                        const flame_way *way, report_unit unit, bool svg)
{
    flame_tree t = { 0 };
    bool ok = flame_open(&t, p);
    if (ok)
        ok = write_tree(job, &t, out, way, unit, svg);
    else
        cli_out_of_memory(job->tool);
    flame_close(&t);
    return ok;
}

static bool write_samples(analyze_job *job, FILE *out, const flame_way *way,
                          bool svg)
{
    samples s;
    bool ok = samples_open(&s, job);
    const samples_type *const type = samples_main(&s);
    flame_way shown = *way;
    if (type) samples_weigh(&s, type);
    if (type && samples_parts(type) > 1)
        shown.title = "Samples by call stack, in millionths";
    if (ok)
        ok = write_paths(job, &s.paths, out, &shown,
                         type ? type->shown : REPORT_COUNT, svg);
    else
        cli_out_of_memory(job->tool);
    samples_close(&s);
    return ok;
}

bool flame_write(analyze_job *job, const char *by, FILE *out, bool svg)
{
    const flame_way *const way = &ways[way_of(by)];
    path_tree p;
    flame_sums sums;
    if (way == &ways[2]) return write_samples(job, out, way, svg);
    bool ok = way == &ways[1] ? flame_of_zones(job, &p)
                              : flame_of_devices(job, &p, &sums);
    if (ok)
        ok = write_paths(job, &p, out, way, REPORT_NS, svg);
    else
        cli_out_of_memory(job->tool);
    paths_close(&p);
    return ok;
}
