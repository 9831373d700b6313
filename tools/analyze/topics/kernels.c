/*
    kernels.c - kernels by time, and how well they use the device
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/kernels.h"
#include "tools/analyze/figures/operations/occupancy.h"

static const char low_occupancy[] = "kernels.low-occupancy";

typedef struct kernels_topic {
    analyze_job *job;
    report_section *s;
    kernels k;
    stats_group all;
    int64_t known_ns, low_ns, tail_ns; // see judge
    int64_t collective_ns;             // excluded from all of them
} kernels_topic;

/* ---- By name ------------------------------------------------------------- */

static void put_names(const kernels_topic *a)
{
    static const report_column columns[] = {
        { "name", "kernel", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "min_ns", "min", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
        { "first_ns", "first", REPORT_TIME },
        { "last_ns", "last", REPORT_TIME },
    };
    report_table *const t = report_table_begin(a->s, "names", "By name",
                                               columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->k.names.count; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns),
                      &a->k.names.rows[i], a->all.total_ns);
}

static void put_chart(const kernels_topic *a)
{
    report_chart *const c =
        report_bars_begin(a->s, "top", "Time by kernel", REPORT_NS);
    for (size_t i = 0; i < a->k.names.count && i < 10; i++)
        report_bar(c, a->k.names.rows[i].text,
                   report_ns(a->k.names.rows[i].sum.total_ns));
}

/* ---- By launch configuration --------------------------------------------- */

static ts_text shape(analyze_job *job, const uint32_t *three)
{
    if (three[1] <= 1 && three[2] <= 1)
        return analyze_format(job, "%u", three[0]);
    if (three[2] <= 1) return analyze_format(job, "%ux%u", three[0], three[1]);
    return analyze_format(job, "%ux%ux%u", three[0], three[1], three[2]);
}

// Returns the share of the last wave's slots that stay empty.
static report_value tail_of(const occupancy *o)
{
    const uint64_t slots = o->waves * o->wave_blocks;
    if (!slots || slots > INT64_MAX || o->limiter == OCCUPANCY_GRID)
        return report_unknown(REPORT_SHARE);
    return report_share((int64_t)(slots - o->grid_blocks), (int64_t)slots);
}

// Sums the time of kernels that use little of the device.
static void judge(kernels_topic *a, const stats_group *g, const occupancy *o)
{
    const report_value tail = tail_of(o);
    const int64_t low = analyze_set(a->job, low_occupancy);
    a->known_ns += g->total_ns;
    if (o->warps * 10000 < o->warps_most * (uint64_t)low)
        a->low_ns += g->total_ns;
    if (tail.unknown || !tail.of) return;
    a->tail_ns +=
        (int64_t)((double)g->total_ns * (double)tail.number / (double)tail.of);
}

static void put_config(kernels_topic *a, report_table *t, const stats_row *r)
{
    const ts_launch_entry *const l = kernels_launch(&a->k, &r->sum);
    occupancy_limits limits;
    occupancy o;
    if (!l) return;
    const bool known = occupancy_device(analyze_reader(a->job, r->sum.file),
                                        kernels_device(&r->sum), &limits) &&
                       occupancy_of(&limits, l, &o);
    // Without a recorded launch only the name of the kernel is known.
    const bool recorded = l->block[0];
    // Collectives use few blocks by design, and wait for other ranks.
    if (kernels_collective(&r->sum))
        a->collective_ns += r->sum.total_ns;
    else if (known)
        judge(a, &r->sum, &o);
    const report_value row[] = {
        report_text(analyze_name(
            a->job,
            ts_reader_name(analyze_reader(a->job, r->sum.file), l->name))),
        recorded ? report_text(shape(a->job, l->grid))
                 : report_unknown(REPORT_TEXT),
        recorded ? report_text(shape(a->job, l->block))
                 : report_unknown(REPORT_TEXT),
        known ? report_share((int64_t)o.warps, (int64_t)o.warps_most)
              : report_unknown(REPORT_SHARE),
        known ? report_string(occupancy_limiter_name(o.limiter))
              : report_unknown(REPORT_TEXT),
        known && o.wave_blocks
            ? report_factor((int64_t)o.grid_blocks, (int64_t)o.wave_blocks)
            : report_unknown(REPORT_FACTOR),
        report_count(r->sum.count),
        report_ns(r->sum.total_ns),
        report_ns(r->sum.total_ns / (int64_t)r->sum.count),
        known ? tail_of(&o) : report_unknown(REPORT_SHARE),
        recorded ? report_count(l->registers) : report_unknown(REPORT_COUNT),
        recorded ? report_bytes((uint64_t)l->static_shared + l->dynamic_shared)
                 : report_unknown(REPORT_BYTES),
        recorded ? report_bytes(l->local) : report_unknown(REPORT_BYTES),
    };
    const report_evidence e = stats_longest(a->job, &r->sum);
    report_row(t, row, &e);
}

static void put_configs(kernels_topic *a)
{
    static const report_column columns[] = {
        { "name", "kernel", REPORT_TEXT },
        { "grid", "grid", REPORT_TEXT },
        { "block", "block", REPORT_TEXT },
        { "occupancy", "occup.", REPORT_SHARE },
        { "limiter", "limited by", REPORT_TEXT },
        { "waves", "waves", REPORT_FACTOR },
        { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "mean_ns", "mean", REPORT_NS },
        { "tail", "tail", REPORT_SHARE },
        { "registers", "regs", REPORT_COUNT },
        { "shared_bytes", "shared", REPORT_BYTES },
        { "local_bytes", "local", REPORT_BYTES },
    };
    report_table *const t =
        report_table_begin(a->s, "configurations", "By launch configuration",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->k.configs.count; i++)
        put_config(a, t, &a->k.configs.rows[i]);
}

/* ---- By zone and stack --------------------------------------------------- */

static void put_origin(const kernels_topic *a, const stats_rows *rows,
                       const char *key, const char *title, const char *label)
{
    const report_column columns[] = {
        { "name", label, REPORT_TEXT },
        { "count", "kernels", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "share", "share", REPORT_SHARE },
        { "mean_ns", "mean", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
    };
    // A single row "none" carries no information.
    if (!rows->count || (rows->count == 1 && !rows->rows[0].sum.key[0])) return;
    report_table *const t =
        report_table_begin(a->s, key, title, columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < rows->count; i++)
        stats_row_put(a->job, t, columns, TOPIC_COUNT(columns), &rows->rows[i],
                      a->all.total_ns);
}

/* ---- The answer ---------------------------------------------------------- */

static void answer(const kernels_topic *a)
{
    const stats_rows *const n = &a->k.names;
    int64_t sum = 0;
    size_t most = 0;
    while (most < n->count && (double)sum < 0.8 * (double)a->all.total_ns)
        sum += n->rows[most++].sum.total_ns;
    report_answer(a->s,
                  "%s of %s name%s ran for %s in total; %zu of the names %s %s "
                  "of it.",
                  cli_counted(a->all.count, "kernel", "kernels").s,
                  cli_count(n->count).s, n->count == 1 ? "" : "s",
                  cli_time(a->all.total_ns).s, most,
                  most == 1 ? "takes" : "take",
                  report_words(report_share(sum, a->all.total_ns)).s);
    if (!a->known_ns || report_is_none(a->low_ns, a->known_ns)) return;
    report_answer(
        a->s,
        "%s of the time%s is spent in kernels that can fill less than %s of "
        "the device.",
        report_words(report_share(a->low_ns, a->known_ns)).s,
        a->collective_ns ? " of kernels without collectives" : "",
        report_words(report_share(analyze_set(a->job, low_occupancy), 10000))
            .s);
}

static void put_figures(const kernels_topic *a)
{
    report_figure(a->s, "count", "kernels", report_count(a->all.count));
    report_figure(a->s, "names", "names", report_count(a->k.names.count));
    report_figure(a->s, "total_ns", "total time", report_ns(a->all.total_ns));
    report_figure(a->s, "mean_ns", "mean",
                  report_ns(a->all.total_ns / (int64_t)a->all.count));
    report_figure(a->s, "low_occupancy",
                  a->collective_ns ? "low occupancy, no collectives"
                                   : "time at low occupancy",
                  report_share(a->low_ns, a->known_ns));
    report_figure(a->s, "tail",
                  a->collective_ns ? "last waves empty, no collectives"
                                   : "slots empty in last waves, by time",
                  report_share(a->tail_ns, a->known_ns));
    report_trust(a->s, REPORT_HIGH,
                 "all recorded kernels are included, with recorded times");
    if (!a->known_ns)
        report_note(a->s,
                    "Occupancy is unknown: it requires the compute capability "
                    "of the device and the launch configuration of kernels.");
    else
        report_note(a->s,
                    "Occupancy, waves and tail are theoretical values from the "
                    "launch configuration and the limits of the device, not "
                    "measured.");
    if (a->collective_ns)
        report_note(a->s,
                    "Collectives that run as kernels (%s of them) are included "
                    "in counts and times, but not in occupancy, because they "
                    "use few blocks on purpose.",
                    cli_time(a->collective_ns).s);
}

static bool fill(analyze_job *job, report *r)
{
    kernels_topic a = { .job = job };
    a.s = report_begin(r, "kernels", "Kernels");
    const bool ok = kernels_open(&a.k, job, true);
    if (ok) a.all = stats_rows_sum(&a.k.names);
    if (ok && !a.all.count) {
        report_not_applicable(a.s, "The trace contains no kernel: record with "
                                   "a backend of the device, or import a trace "
                                   "with GPU events.");
    } else if (ok) {
        put_names(&a);
        put_configs(&a);
        put_origin(&a, &a.k.zones, "zones",
                   "By the innermost zone that launched them", "zone");
        put_origin(&a, &a.k.stacks, "stacks", "By the stack that launched them",
                   "stack, innermost first");
        put_chart(&a);
        answer(&a);
        put_figures(&a);
    }
    kernels_close(&a.k);
    return ok;
}

static const analyze_setting settings[] = {
    { low_occupancy, "occupancy below which a kernel counts as low",
      REPORT_SHARE, 2500 },
    { 0 },
};

const analyze_topic topic_kernels = {
    .name = "kernels",
    .title = "Kernels",
    .help = "kernels by name, launch configuration, zone and stack; occupancy",
    .fill = fill,
    .settings = settings,
};
