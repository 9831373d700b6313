/*
    stats.c - --stats: durations and values by name
*/
#include "tools/view/samples.h"
#include <math.h>

/*
    Durations of one kind and name. total_ns leaves out zones inside a zone of
    the same name. covered_ns, from which shares are computed, counts each
    moment of the range once, even if several ran at that moment.
*/
typedef struct duration_stat {
    ts_event_kind kind;
    ts_text name;
    cli_text made;            // buffer of `name` if no dictionary has it
    ts_text file, other_file; // source files; "": unknown, no other
    uint64_t total_ns, self_ns, sum_ns; // sum_ns: of all durations
    int64_t min_ns, max_ns;
    int64_t covered_ns, until_ns; // until: end of the covered time
    view_samples samples;
} duration_stat;

// Values of a counter, or the bytes of copies and allocations of one name.
typedef struct value_stat {
    ts_event_kind kind;
    ts_text name, unit;
    cli_text made;
    uint64_t count, busy_ns; // busy_ns: durations of the copies
    double sum, min, max, last;
    int64_t last_ns;
} value_stat;

// A frame or span; they come in order of their end.
typedef struct piece {
    int64_t start_ns, end_ns;
    uint32_t stat;
} piece;

typedef struct stats {
    view *v;
    piece *pieces;
    size_t piece_count, piece_room;
    duration_stat **stats;
    value_stat **values;
    size_t count, value_count;
    cli_map by_key, by_name, value_by_key; // to positions
    uint64_t kept;                         // durations stored exactly
    bool rounded;
} stats;

/* ---- Durations ---------------------------------------------------------- */

// Several keys (sites, launches) may have one name, and several names one hash.
static uint32_t stat_of_name(stats *s, uint64_t key)
{
    cli_text made;
    const ts_event_kind kind = (ts_event_kind)(key >> 32);
    const ts_text name = view_key_text(s->v, key, &made);
    uint64_t hash = cli_hash_join(cli_hash(name.text, name.size), kind);
    for (uint32_t at; (at = cli_map_row(&s->by_name, hash)) != CLI_NONE;
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

// Two functions in different source files may have the same name.
static void note_file(const stats *s, uint64_t key, duration_stat *stat)
{
    const ts_reader *const reader = s->v->trace.reader;
    const ts_site_entry *const site =
        stat->kind == TS_EVENT_ZONE ? ts_reader_site(reader, (uint32_t)key)
                                    : NULL;
    if (!site || !site->file) return;
    const ts_text file = ts_reader_name(reader, site->file);
    if (!stat->file.size)
        stat->file = file;
    else if (file.size != stat->file.size ||
             memcmp(file.text, stat->file.text, file.size) != 0)
        stat->other_file = file;
}

static uint32_t stat_of_key(stats *s, uint64_t key)
{
    uint32_t at = cli_map_row(&s->by_key, key);
    if (at != CLI_NONE) return at;
    at = stat_of_name(s, key);
    note_file(s, key, s->stats[at]);
    view_map_set(&s->by_key, key, at);
    return at;
}

// Adds the part of an event that is in the range and not covered by earlier
// events; they come in order of their start.
static void stat_cover(const stats *s, duration_stat *stat, int64_t start_ns,
                       int64_t end_ns)
{
    const view *const v = s->v;
    int64_t from = start_ns > v->from_ns ? start_ns : v->from_ns;
    const int64_t to = end_ns < v->to_ns ? end_ns : v->to_ns;
    if (stat->covered_ns && stat->until_ns > from) from = stat->until_ns;
    if (to <= from) return;
    stat->covered_ns += to - from;
    stat->until_ns = to;
}

static void stat_add(stats *s, duration_stat *stat, int64_t ns)
{
    if (!stat->samples.count || ns < stat->min_ns) stat->min_ns = ns;
    if (!stat->samples.count || ns > stat->max_ns) stat->max_ns = ns;
    stat->sum_ns += (uint64_t)ns;
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
    const uint32_t known = cli_map_row(&s->value_by_key, key);
    if (known != CLI_NONE) return s->values[known];
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
        if (item->start_ns < s->v->from_ns)
            return; // the last value before the range
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
    case TS_EVENT_COLLECTIVE:
        if (value <= 0) return; // unknown
        break;
    case TS_EVENT_MEMSET: break;
    default: return;
    }
    value_add(value_of_key(s, item->kind, id), item, value);
}

/* ---- Walking ------------------------------------------------------------ */

static bool has_duration(ts_event_kind kind)
{
    return kind == TS_EVENT_ZONE || kind == TS_EVENT_ZONE_OPEN ||
           kind == TS_EVENT_API_CALL ||
           (kind >= TS_EVENT_GPU_FIRST && kind != TS_EVENT_GPU_ALLOC &&
            kind != TS_EVENT_GPU_FREE);
}

// Whether an event is about the profiler itself: importers put such events on
// threads without a number, or on threads below devices.
static bool is_of_profiler(const view *v, const view_item *item)
{
    static const char prefix[] = "profiler ";
    const ts_track *const track = &v->tracks[item->track];
    const uint32_t parent = cli_map_row(&v->track_index, track->parent);
    if (item->kind != TS_EVENT_ZONE) return false;
    if (parent != CLI_NONE && v->tracks[parent].type == TS_TRACK_DEVICE)
        return true;
    return !track->number && track->name.size > sizeof prefix &&
           !memcmp(track->name.text, prefix, sizeof prefix - 1);
}

// The part of a zone after the ends of the zones of the same name around it; 0
// if it ends within them.
static int64_t own_ns(const view_item *item, uint32_t tag)
{
    int64_t from = item->start_ns;
    for (uint32_t i = item->depth; i-- > 0;)
        if (item->around[i].tag == tag && item->around[i].end_ns > from)
            from = item->around[i].end_ns;
    return from < item->end_ns ? item->end_ns - from : 0;
}

// Subtracts a zone's time from the self time of the zones around it: each
// moment from the innermost one. If zones cross, several lose a part.
static void take_away(stats *s, const view_item *item)
{
    int64_t from = item->start_ns;
    for (uint32_t i = item->depth; i-- > 0 && from < item->end_ns;) {
        const view_zone *const zone = &item->around[i];
        const int64_t both =
            item->end_ns < zone->end_ns ? item->end_ns : zone->end_ns;
        if (both <= from) continue;
        if (zone->tag != CLI_NONE)
            s->stats[zone->tag]->self_ns -= (uint64_t)(both - from);
        from = both;
    }
}

// A zone's time is not self time of its parent. A zone without an end lasts to
// the end of the trace.
static uint32_t take_item(const view_item *item, void *user)
{
    stats *const s = user;
    take_values(s, item);
    if (!has_duration(item->kind) || is_of_profiler(s->v, item))
        return CLI_NONE;
    const uint32_t at = stat_of_key(s, view_key(item->columns, item->row));
    const int64_t ns = item->end_ns - item->start_ns;
    stat_cover(s, s->stats[at], item->start_ns, item->end_ns);
    stat_add(s, s->stats[at], ns);
    s->stats[at]->total_ns += (uint64_t)own_ns(item, at);
    take_away(s, item);
    return at;
}

static void take_interval(const view_interval *interval, void *user)
{
    stats *const s = user;
    if (!view_interval_is_selected(s->v, interval)) return;
    const uint32_t at =
        stat_of_key(s, interval->key); // may reallocate s->stats
    const int64_t ns = interval->end_ns - interval->start_ns;
    stat_add(s, s->stats[at], ns);
    s->stats[at]->total_ns += (uint64_t)ns;
    view_grow(&s->pieces, &s->piece_room, s->piece_count + 1,
              sizeof *s->pieces);
    s->pieces[s->piece_count++] =
        (piece){ interval->start_ns, interval->end_ns, at };
}

static int by_start(const void *left, const void *right)
{
    const piece *const a = left, *const b = right;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static void cover_pieces(stats *s)
{
    if (s->piece_count)
        qsort(s->pieces, s->piece_count, sizeof *s->pieces, by_start);
    for (size_t i = 0; i < s->piece_count; i++)
        stat_cover(s, s->stats[s->pieces[i].stat], s->pieces[i].start_ns,
                   s->pieces[i].end_ns);
    free(s->pieces);
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

static double share_of(const view *v, const duration_stat *stat)
{
    const double range = (double)(v->to_ns - v->from_ns);
    return range > 0 ? (double)stat->covered_ns / range : 0;
}

// Prints a name in exactly `columns` columns.
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

enum { NAME_LEAST = 10 }; // columns

// The width of the longest name, limited by the room that the figures leave.
static uint32_t name_columns(const view *v, const stats *s, uint32_t figures)
{
    uint32_t columns = NAME_LEAST + 4;
    for (size_t i = 0; i < s->count; i++) {
        const uint32_t n =
            cli_columns(s->stats[i]->name.text, s->stats[i]->name.size);
        if (n > columns) columns = n;
    }
    const uint32_t room = v->width - figures;
    return columns < room ? columns : room;
}

static const char *bold(const view *v, bool on)
{
    return !v->color ? "" : on ? "\x1b[1m" : "\x1b[0m";
}

typedef enum figure {
    COUNT,
    TOTAL,
    SHARE,
    SELF,
    MEAN,
    MIN,
    P50,
    P95,
    P99,
    MAX,
    FIGURES
} figure;

static const char *const figure_names[FIGURES] = {
    "count", "total", "share", "self", "mean", "min", "p50", "p95", "p99", "max"
};

// Columns that a figure takes, with the space in front.
static uint32_t figure_columns(figure which)
{
    return which == COUNT ? 6 : 8;
}

static cli_text figure_text(const view *v, duration_stat *stat, figure which)
{
    view_samples *const samples = &stat->samples;
    int64_t ns = 0;
    switch (which) {
    case COUNT: return short_count(samples->count);
    case SHARE: return cli_percent(share_of(v, stat));
    case TOTAL: ns = (int64_t)stat->total_ns; break;
    case SELF: ns = (int64_t)stat->self_ns; break;
    case MEAN: ns = (int64_t)(stat->sum_ns / samples->count); break;
    case MIN: ns = stat->min_ns; break;
    case P50: ns = view_samples_percentile(samples, 50); break;
    case P95: ns = view_samples_percentile(samples, 95); break;
    case P99: ns = view_samples_percentile(samples, 99); break;
    default: ns = stat->max_ns;
    }
    return cli_short_time(ns);
}

// Chooses the figures that fit next to a name; the one that only zones have is
// left out first.
static uint32_t figures_fitting(const view *v, figure *fitting, uint32_t *used)
{
    uint32_t count = 0;
    *used = 0;
    for (figure f = COUNT; f < FIGURES; f++) {
        if (f == SELF && v->width < 92) continue;
        if (NAME_LEAST + *used + figure_columns(f) > v->width) break;
        *used += figure_columns(f);
        fitting[count++] = f;
    }
    return count;
}

static void print_head(const view *v, ts_event_kind kind, uint32_t columns,
                       const figure *figures, uint32_t count)
{
    printf("%s%-*s", bold(v, true), (int)columns, ts_event_name(kind));
    for (uint32_t i = 0; i < count; i++)
        printf("%*s", (int)figure_columns(figures[i]),
               figures[i] == SELF && kind != TS_EVENT_ZONE
                   ? ""
                   : figure_names[figures[i]]);
    printf("%s\n", bold(v, false));
}

static void print_stat(const view *v, duration_stat *stat, uint32_t columns,
                       const figure *figures, uint32_t count)
{
    print_name(v, stat->name, columns);
    for (uint32_t i = 0; i < count; i++)
        printf("%*s", (int)figure_columns(figures[i]),
               figures[i] == SELF && stat->kind != TS_EVENT_ZONE
                   ? ""
                   : figure_text(v, stat, figures[i]).s);
    putchar('\n');
}

// Prints the first names that zones of several source files share.
static void print_shared_names(const stats *s)
{
    enum { MOST = 3 };
    int shown = 0;
    for (size_t i = 0; i < s->count && shown < MOST; i++) {
        const duration_stat *const stat = s->stats[i];
        if (!stat->other_file.size) continue;
        fputs(shown++ ? "" : "\n", stdout);
        cli_put_text(stdout, stat->name.text, stat->name.size);
        fputs(": zones of ", stdout);
        cli_put_text(stdout, stat->file.text, stat->file.size);
        fputs(" and ", stdout);
        cli_put_text(stdout, stat->other_file.text, stat->other_file.size);
        puts(" count as one name");
    }
}

static void print_durations(const stats *s)
{
    const view *const v = s->v;
    figure figures[FIGURES];
    uint32_t used;
    const uint32_t count = figures_fitting(v, figures, &used);
    const uint32_t columns = name_columns(v, s, used);
    uint64_t shown = 0, hidden = 0;
    for (size_t i = 0; i < s->count; i++) {
        duration_stat *const stat = s->stats[i];
        if (!i || s->stats[i - 1]->kind != stat->kind) {
            if (i) putchar('\n');
            print_head(v, stat->kind, columns, figures, count);
            shown = 0;
        }
        if (v->limit && shown++ >= v->limit)
            hidden++;
        else
            print_stat(v, stat, columns, figures, count);
    }
    if (hidden) printf("and %" PRIu64 " more names: --limit 0\n", hidden);
    if (s->count && count < MAX)
        printf("%s not fit\n",
               cli_counted(MAX - count, "column does", "columns do").s);
    if (s->rounded)
        puts("\nPercentiles are rounded: within 0.4 % of the true value.");
}

static cli_text value_text(double value, ts_text unit)
{
    const bool bytes = unit.size == 5 && !memcmp(unit.text, "bytes", 5);
    if (bytes && value >= 0 && value < 1e18) return cli_bytes((uint64_t)value);
    return cli_format("%.5g", value);
}

// Prints what follows the figures of a value: a unit, a speed.
static void print_unit(const value_stat *stat)
{
    if (stat->kind == TS_EVENT_COUNTER && stat->unit.size &&
        strncmp(stat->unit.text, "bytes", 6) != 0) {
        putchar(' ');
        cli_put_text(stdout, stat->unit.text, stat->unit.size);
    }
    if (stat->kind == TS_EVENT_MEMCPY && stat->busy_ns)
        printf(" %.2f GB/s", stat->sum / (double)stat->busy_ns);
}

// Prints the values; below 80 columns only the figures that fit.
static void print_values(const stats *s)
{
    const view *const v = s->v;
    static const char *const names[] = { "mean", "min", "max", "last" };
    const bool all = v->width >= 80;
    const uint32_t columns = all ? 24 : NAME_LEAST + 1;
    const uint32_t fit = all             ? 4
                         : v->width < 32 ? 0
                                         : (v->width - columns - 9) / 12;
    if (!s->value_count) return;
    printf("%s%s%-*s %8s", s->count ? "\n" : "", bold(v, true), (int)columns,
           "values", "count");
    for (uint32_t i = 0; i < fit; i++)
        printf(" %11s", names[i]);
    printf("%s\n", bold(v, false));
    for (size_t i = 0; i < s->value_count; i++) {
        const value_stat *const stat = s->values[i];
        const double figures[] = { stat->sum / (double)stat->count, stat->min,
                                   stat->max, stat->last };
        print_name(v, stat->name, columns);
        printf(" %8s", short_count(stat->count).s);
        for (uint32_t k = 0; k < fit; k++)
            printf(" %11s", value_text(figures[k], stat->unit).s);
        if (all) print_unit(stat);
        putchar('\n');
    }
    if (!all)
        printf("%s not fit\n",
               cli_counted(4 - fit, "column does", "columns do").s);
}

/* ---- JSON --------------------------------------------------------------- */

static void json_stat(cli_json *json, const view *v, duration_stat *stat)
{
    view_samples *const samples = &stat->samples;
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "kind", ts_event_name(stat->kind));
    cli_json_text(json, "name", stat->name.text, stat->name.size);
    cli_json_uint(json, "count", samples->count);
    cli_json_uint(json, "total_ns", stat->total_ns);
    cli_json_uint(json, "self_ns", stat->self_ns);
    cli_json_uint(json, "mean_ns", stat->sum_ns / samples->count);
    cli_json_int(json, "min_ns", stat->min_ns);
    cli_json_int(json, "p50_ns", view_samples_percentile(samples, 50));
    cli_json_int(json, "p95_ns", view_samples_percentile(samples, 95));
    cli_json_int(json, "p99_ns", view_samples_percentile(samples, 99));
    cli_json_int(json, "max_ns", stat->max_ns);
    cli_json_real(json, "share", share_of(v, stat));
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
    cover_pieces(&s);
    if (s.count) qsort(s.stats, s.count, sizeof *s.stats, by_total);
    if (s.value_count)
        qsort(s.values, s.value_count, sizeof *s.values, by_name);
    if (v->json) {
        print_json(&s);
    } else {
        print_durations(&s);
        print_values(&s);
        print_shared_names(&s);
        if (!s.count && !s.value_count)
            puts("no durations or values in this selection");
    }
    for (size_t i = 0; i < s.count; i++) {
        view_samples_free(&s.stats[i]->samples);
        free(s.stats[i]);
    }
    for (size_t i = 0; i < s.value_count; i++)
        free(s.values[i]);
    free(s.stats);
    free(s.values);
    cli_map_close(&s.by_key);
    cli_map_close(&s.by_name);
    cli_map_close(&s.value_by_key);
}
