/*
    view_stats.c - --stats: durations and values by name
*/
#include "tools/view/view_samples.h"
#include <math.h>

// Durations of one kind and name.
typedef struct duration_stat {
    ts_event_kind kind;
    ts_text name;
    cli_text made; // where `name` lies if no dictionary holds it
    uint64_t total_ns, self_ns;
    int64_t min_ns, max_ns;
    view_samples samples;
} duration_stat;

// Values of a counter, or bytes that copies and allocations of a name have.
typedef struct value_stat {
    ts_event_kind kind;
    ts_text name, unit;
    cli_text made;
    uint64_t count, busy_ns; // busy_ns: of the copies
    double sum, min, max, last;
    int64_t last_ns;
} value_stat;

typedef struct stats {
    view *v;
    duration_stat **stats;
    value_stat **values;
    size_t count, value_count;
    view_map by_key, by_name, value_by_key; // to positions
    uint64_t kept;                          // durations that are kept exactly
    bool rounded;
} stats;

/* ---- Durations ---------------------------------------------------------- */

static uint64_t name_hash(ts_event_kind kind, ts_text name)
{
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)kind; // FNV-1a
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (uint8_t)name.text[i]) * UINT64_C(1099511628211);
    return hash;
}

// Several keys (sites, launches) may share a name, and names a hash.
static uint32_t stat_of_name(stats *s, uint64_t key)
{
    cli_text made;
    const ts_event_kind kind = (ts_event_kind)(key >> 32);
    const ts_text name = view_key_text(s->v, key, &made);
    uint64_t hash = name_hash(kind, name);
    for (uint32_t at; (at = view_map_get(&s->by_name, hash)) != VIEW_NONE;
         hash++) {
        const duration_stat *const old = s->stats[at];
        if (old->kind == kind && old->name.size == name.size &&
            !memcmp(old->name.text, name.text, name.size))
            return at;
    }
    duration_stat *const fresh = view_resize(NULL, 1, sizeof *fresh);
    *fresh = (duration_stat){ .kind = kind, .name = name, .made = made };
    if (name.text == made.s) fresh->name.text = fresh->made.s;
    s->stats = view_resize(s->stats, s->count + 1, sizeof *s->stats);
    s->stats[s->count] = fresh;
    view_map_set(&s->by_name, hash, (uint32_t)s->count);
    return (uint32_t)s->count++;
}

static uint32_t stat_of_key(stats *s, uint64_t key)
{
    uint32_t at = view_map_get(&s->by_key, key);
    if (at != VIEW_NONE) return at;
    at = stat_of_name(s, key);
    view_map_set(&s->by_key, key, at);
    return at;
}

static void stat_add(stats *s, duration_stat *stat, int64_t ns)
{
    if (!stat->samples.count || ns < stat->min_ns) stat->min_ns = ns;
    if (!stat->samples.count || ns > stat->max_ns) stat->max_ns = ns;
    stat->total_ns += (uint64_t)ns;
    stat->self_ns += (uint64_t)ns;
    view_samples_add(&stat->samples, ns);
    if (s->rounded || ++s->kept < VIEW_SAMPLES_MAX) return;
    s->rounded = true;
    for (size_t i = 0; i < s->count; i++)
        view_samples_round(&s->stats[i]->samples);
}

/* ---- Values ------------------------------------------------------------- */

static value_stat *value_of_key(stats *s, ts_event_kind kind, uint32_t id)
{
    const uint64_t key = (uint64_t)kind << 32 | id;
    const uint32_t known = view_map_get(&s->value_by_key, key);
    if (known != VIEW_NONE) return s->values[known];
    value_stat *const fresh = view_resize(NULL, 1, sizeof *fresh);
    *fresh = (value_stat){ .kind = kind, .unit = { "bytes", 5 } };
    if (kind == TS_EVENT_COUNTER) {
        const ts_track *const track = &s->v->tracks[id];
        fresh->name = cli_track_name(track, &fresh->made);
        fresh->unit = track->unit;
    } else if (kind == TS_EVENT_MEMCPY) {
        fresh->made = cli_format("memcpy %s", view_copy_name(id));
    } else {
        const ts_text pool = ts_reader_name(s->v->trace.reader, id);
        fresh->made =
            cli_format("%s%s%.*s", ts_event_name(kind), pool.size ? " " : "",
                       pool.size < 32 ? (int)pool.size : 32, pool.text);
    }
    if (!fresh->name.text)
        fresh->name = (ts_text){ fresh->made.s, strlen(fresh->made.s) };
    s->values = view_resize(s->values, s->value_count + 1, sizeof *s->values);
    s->values[s->value_count] = fresh;
    view_map_set(&s->value_by_key, key, (uint32_t)s->value_count++);
    return fresh;
}

static uint64_t column_of(const view_item *item, ts_column column)
{
    const uint64_t *const values = item->columns->values[column];
    return values ? values[item->row] : 0;
}

static void value_add(value_stat *stat, const view_item *item, double value)
{
    if (!isfinite(value)) return;
    if (!stat->count || value < stat->min) stat->min = value;
    if (!stat->count || value > stat->max) stat->max = value;
    if (!stat->count || item->start_ns > stat->last_ns) {
        stat->last = value;
        stat->last_ns = item->start_ns;
    }
    stat->count++;
    stat->sum += value;
    stat->busy_ns += (uint64_t)(item->end_ns - item->start_ns);
}

static void take_values(stats *s, const view_item *item)
{
    uint32_t id = 0;
    double value = (double)column_of(item, TS_COLUMN_SIZE);
    switch (item->kind) {
    case TS_EVENT_COUNTER: {
        const uint64_t bits = column_of(item, TS_COLUMN_VALUE);
        if (item->start_ns < s->v->from_ns) return; // only carried in
        value = (double)(int64_t)bits;
        if (column_of(item, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
            memcpy(&value, &bits, sizeof value);
        id = item->track;
        break;
    }
    case TS_EVENT_ALLOC:
    case TS_EVENT_GPU_ALLOC:
        id = (uint32_t)column_of(item, TS_COLUMN_POOL);
        break;
    case TS_EVENT_MEMCPY: id = (uint32_t)column_of(item, TS_COLUMN_TYPE); break;
    case TS_EVENT_MEMSET:
    case TS_EVENT_COLLECTIVE: break;
    default: return;
    }
    value_add(value_of_key(s, item->kind, id), item, value);
}

/* ---- Walking ------------------------------------------------------------ */

static bool has_duration(ts_event_kind kind)
{
    return kind == TS_EVENT_ZONE || kind == TS_EVENT_API_CALL ||
           (kind >= TS_EVENT_GPU_FIRST && kind != TS_EVENT_GPU_ALLOC &&
            kind != TS_EVENT_GPU_FREE);
}

// What a zone takes is not its parent's own time. A zone that never ended
// counts up to the end of the trace.
static uint32_t take_item(const view_item *item, void *user)
{
    stats *const s = user;
    take_values(s, item);
    if (!has_duration(item->kind)) return VIEW_NONE;
    const uint32_t at = stat_of_key(s, view_key(item->columns, item->row));
    const int64_t ns = item->end_ns - item->start_ns;
    stat_add(s, s->stats[at], ns);
    if (item->tag != VIEW_NONE) s->stats[item->tag]->self_ns -= (uint64_t)ns;
    return at;
}

static void take_interval(const view_interval *interval, void *user)
{
    stats *const s = user;
    if (!view_interval_is_wanted(s->v, interval)) return;
    const uint32_t at = stat_of_key(s, interval->key); // may move s->stats
    stat_add(s, s->stats[at], interval->end_ns - interval->start_ns);
}

static int compare_names(ts_text a, ts_text b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = memcmp(a.text, b.text, size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static int by_total(const void *left, const void *right)
{
    const duration_stat *const a = *(duration_stat *const *)left,
                               *const b = *(duration_stat *const *)right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->total_ns != b->total_ns) return a->total_ns > b->total_ns ? -1 : 1;
    return compare_names(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    const value_stat *const a = *(value_stat *const *)left,
                            *const b = *(value_stat *const *)right;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    return compare_names(a->name, b->name);
}

/* ---- Text --------------------------------------------------------------- */

static cli_text short_count(uint64_t count)
{
    static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
    if (count < 100000) return cli_format("%" PRIu64, count);
    double value = (double)count;
    size_t unit = 0;
    for (; value >= 999.5 && unit < 6; unit++)
        value /= 1000;
    return cli_format("%.*f%s",
                      value >= 99.95   ? 0
                      : value >= 9.995 ? 1
                                       : 2,
                      value, units[unit]);
}

static cli_text short_share(const view *v, uint64_t total_ns)
{
    const double range = (double)(v->to_ns - v->from_ns);
    const double share = range > 0 ? (double)total_ns / range * 100 : 0;
    return cli_format("%.*f%%", share < 99.95 ? 1 : 0, share);
}

// A name in exactly `columns` columns.
static void print_name(const view *v, ts_text name, uint32_t columns)
{
    char buffer[256];
    view_glyph glyphs[256];
    view_line line = { .width = columns > 255 ? 255 : columns,
                       .unicode = v->unicode,
                       .glyphs = glyphs };
    view_line_clear(&line);
    const ts_text text = view_shorten(name, columns, buffer);
    view_put(&line, 0, columns, text.text, text.size, (view_style){ 0 });
    view_line_write(&line, stdout);
}

// The widest name, as far as the figures beside it leave room.
static uint32_t name_columns(const view *v, const stats *s, uint32_t figures)
{
    uint32_t columns = 14;
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t n =
            cli_columns(s->stats[i]->name.text, s->stats[i]->name.size);
        if (n > columns) columns = n;
    }
    const uint32_t room = v->width > figures + 14 ? v->width - figures : 14;
    return columns < room ? columns : room;
}

static const char *bold(const view *v, bool on)
{
    return !v->color ? "" : on ? "\x1b[1m" : "\x1b[0m";
}

static void print_stat(const view *v, duration_stat *stat, uint32_t columns,
                       bool wide)
{
    view_samples *const samples = &stat->samples;
    const int64_t mean = (int64_t)(stat->total_ns / samples->count);
    const bool zone = stat->kind == TS_EVENT_ZONE;
    print_name(v, stat->name, columns);
    printf(" %6s %6s %6s", short_count(samples->count).s,
           view_short_time((int64_t)stat->total_ns).s,
           short_share(v, stat->total_ns).s);
    if (wide)
        printf(" %6s", zone ? view_short_time((int64_t)stat->self_ns).s : "");
    printf(" %6s %6s", view_short_time(mean).s,
           view_short_time(stat->min_ns).s);
    printf(" %6s", view_short_time(view_samples_percentile(samples, 50)).s);
    printf(" %6s", view_short_time(view_samples_percentile(samples, 95)).s);
    printf(" %6s", view_short_time(view_samples_percentile(samples, 99)).s);
    printf(" %6s\n", view_short_time(stat->max_ns).s);
}

static void print_durations(const stats *s)
{
    const view *const v = s->v;
    const bool wide = v->width >= 88;
    const uint32_t columns = name_columns(v, s, wide ? 70 : 63);
    uint64_t shown = 0, hidden = 0;
    for (size_t i = 0; i < s->count; i++) {
        duration_stat *const stat = s->stats[i];
        if (!i || s->stats[i - 1]->kind != stat->kind) {
            printf("%s%s%-*s %6s %6s %6s", i ? "\n" : "", bold(v, true),
                   (int)columns, ts_event_name(stat->kind), "count", "total",
                   "share");
            if (wide) printf(" %6s", stat->kind == TS_EVENT_ZONE ? "self" : "");
            printf(" %6s %6s %6s %6s %6s %6s%s\n", "mean", "min", "p50", "p95",
                   "p99", "max", bold(v, false));
            shown = 0;
        }
        if (v->limit && shown++ >= v->limit)
            hidden++;
        else
            print_stat(v, stat, columns, wide);
    }
    if (hidden) printf("and %" PRIu64 " more names: --limit 0\n", hidden);
    if (s->rounded)
        puts("\nPercentiles are rounded: within 0.4 % of the true value.");
}

static cli_text value_text(double value, ts_text unit)
{
    const bool bytes = unit.size == 5 && !memcmp(unit.text, "bytes", 5);
    if (bytes && value >= 0 && value < 1e18) return cli_bytes((uint64_t)value);
    return cli_format("%.5g", value);
}

static void print_values(const stats *s)
{
    const view *const v = s->v;
    if (!s->value_count) return;
    printf("%s%s%-24s %8s %11s %11s %11s %11s%s\n", s->count ? "\n" : "",
           bold(v, true), "values", "count", "mean", "min", "max", "last",
           bold(v, false));
    for (size_t i = 0; i < s->value_count; i++) {
        const value_stat *const stat = s->values[i];
        print_name(v, stat->name, 24);
        printf(" %8s", short_count(stat->count).s);
        printf(" %11s",
               value_text(stat->sum / (double)stat->count, stat->unit).s);
        printf(" %11s", value_text(stat->min, stat->unit).s);
        printf(" %11s", value_text(stat->max, stat->unit).s);
        printf(" %11s", value_text(stat->last, stat->unit).s);
        if (stat->kind == TS_EVENT_COUNTER && stat->unit.size &&
            strncmp(stat->unit.text, "bytes", 6) != 0) {
            putchar(' ');
            cli_put_text(stdout, stat->unit.text, stat->unit.size);
        }
        if (stat->kind == TS_EVENT_MEMCPY && stat->busy_ns)
            printf(" %.2f GB/s", stat->sum / (double)stat->busy_ns);
        putchar('\n');
    }
}

/* ---- JSON --------------------------------------------------------------- */

static void json_stat(cli_json *json, const view *v, duration_stat *stat)
{
    view_samples *const samples = &stat->samples;
    const double range = (double)(v->to_ns - v->from_ns);
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "kind", ts_event_name(stat->kind));
    cli_json_text(json, "name", stat->name.text, stat->name.size);
    cli_json_uint(json, "count", samples->count);
    cli_json_uint(json, "total_ns", stat->total_ns);
    cli_json_uint(json, "self_ns", stat->self_ns);
    cli_json_uint(json, "mean_ns", stat->total_ns / samples->count);
    cli_json_int(json, "min_ns", stat->min_ns);
    cli_json_int(json, "p50_ns", view_samples_percentile(samples, 50));
    cli_json_int(json, "p95_ns", view_samples_percentile(samples, 95));
    cli_json_int(json, "p99_ns", view_samples_percentile(samples, 99));
    cli_json_int(json, "max_ns", stat->max_ns);
    cli_json_real(json, "share", (double)stat->total_ns / range);
    cli_json_close(json, '}');
}

static void json_value(cli_json *json, const value_stat *stat)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "kind", ts_event_name(stat->kind));
    cli_json_text(json, "name", stat->name.text, stat->name.size);
    cli_json_text(json, "unit", stat->unit.text, stat->unit.size);
    cli_json_uint(json, "count", stat->count);
    cli_json_real(json, "sum", stat->sum);
    cli_json_real(json, "mean", stat->sum / (double)stat->count);
    cli_json_real(json, "min", stat->min);
    cli_json_real(json, "max", stat->max);
    cli_json_real(json, "last", stat->last);
    cli_json_uint(json, "busy_ns", stat->busy_ns);
    cli_json_close(json, '}');
}

static void print_json(stats *s)
{
    cli_json json = { .out = stdout, .lines = 2 };
    cli_json_open(&json, NULL, '{');
    cli_json_int(&json, "from_ns", s->v->from_ns);
    cli_json_int(&json, "to_ns", s->v->to_ns);
    cli_json_string(&json, "percentiles", s->rounded ? "rounded" : "exact");
    cli_json_open(&json, "durations", '[');
    for (size_t i = 0; i < s->count; i++)
        json_stat(&json, s->v, s->stats[i]);
    cli_json_close(&json, ']');
    cli_json_open(&json, "values", '[');
    for (size_t i = 0; i < s->value_count; i++)
        json_value(&json, s->values[i]);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

void view_stats(view *v)
{
    stats s = { .v = v };
    view_walk(v, v->kinds, NULL, take_item, &s);
    view_intervals(v, v->kinds, take_interval, &s);
    if (s.count) qsort(s.stats, s.count, sizeof *s.stats, by_total);
    if (s.value_count)
        qsort(s.values, s.value_count, sizeof *s.values, by_name);
    if (v->json) {
        print_json(&s);
    } else {
        print_durations(&s);
        print_values(&s);
        if (!s.count && !s.value_count) puts("no durations or values here");
    }
    for (size_t i = 0; i < s.count; i++) {
        view_samples_free(&s.stats[i]->samples);
        free(s.stats[i]);
    }
    for (size_t i = 0; i < s.value_count; i++)
        free(s.values[i]);
    free(s.stats);
    free(s.values);
    view_map_free(&s.by_key);
    view_map_free(&s.by_name);
    view_map_free(&s.value_by_key);
}
