/*
    zones.c - host time by zone, and the work launched there
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/zones.h"

typedef struct zones_topic {
    analyze_job *job;
    report_section *s;
    zones z;
    int64_t all_ns; // time in any zone, counted once
} zones_topic;

// A row with its sort key.
typedef struct ordered {
    int64_t ns;
    size_t row;
} ordered;

static int by_ns(const void *left, const void *right)
{
    const ordered *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

// Returns the rows sorted by exclusive time.
static ordered *put_in_order(const zones_topic *a)
{
    const size_t count = a->z.rows.count;
    ordered *const order = calloc(count + 1, sizeof *order);
    for (size_t i = 0; order && i < count; i++)
        order[i] =
            (ordered){ zones_times(&a->z, &a->z.rows.rows[i])->exclusive_ns,
                       i };
    if (order) qsort(order, count, sizeof *order, by_ns);
    return order;
}

static void put_table(const zones_topic *a, const ordered *order)
{
    static const report_column columns[] = {
        { "name", "zone", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "exclusive_ns", "exclusive", REPORT_NS },
        { "share", "share", REPORT_SHARE },
        { "inclusive_ns", "inclusive", REPORT_NS },
        { "gpu_ns", "GPU", REPORT_NS },
        { "gpu_own_ns", "GPU own", REPORT_NS },
        { "mean_ns", "mean", REPORT_NS },
        { "p50_ns", "p50", REPORT_NS },
        { "p95_ns", "p95", REPORT_NS },
        { "min_ns", "min", REPORT_NS },
        { "max_ns", "max", REPORT_NS },
    };
    report_table *const t = report_table_begin(
        a->s, "zones", "By name; exclusive time excludes inner zones", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->z.rows.count; i++) {
        const stats_row *const r = &a->z.rows.rows[order[i].row];
        const zone_times *const times = zones_times(&a->z, r);
        const bool gpu = a->z.has_gpu;
        const report_value row[] = {
            report_text(analyze_name(a->job, r->text)),
            report_count(r->sum.count),
            report_ns(times->exclusive_ns),
            report_share(times->exclusive_ns, a->all_ns),
            report_ns(times->inclusive_ns),
            gpu ? report_ns(times->gpu_ns) : report_unknown(REPORT_NS),
            gpu ? report_ns(times->gpu_own_ns) : report_unknown(REPORT_NS),
            report_ns(r->sum.total_ns / (int64_t)r->sum.count),
            report_ns(r->sum.p50_ns),
            report_ns(r->sum.p95_ns),
            report_ns(r->sum.least_ns),
            report_ns(r->sum.most_ns),
        };
        const report_evidence e = stats_longest(a->job, &r->sum);
        report_row(t, row, &e);
    }
}

// Returns the first zone that does not only wait, and the time of those before
// it.
static const ordered *most_work(const zones_topic *a, const ordered *order,
                                int64_t *waited)
{
    *waited = 0;
    for (size_t i = 0; i < a->z.rows.count; i++) {
        if (!names_waits(a->z.rows.rows[order[i].row].text)) return &order[i];
        *waited += order[i].ns;
    }
    return order;
}

static void answer(const zones_topic *a, const ordered *order)
{
    int64_t waited;
    const ordered *const first = most_work(a, order, &waited);
    const stats_row *const most = &a->z.rows.rows[first->row];
    const ts_text name = topic_brief(a->job, analyze_name(a->job, most->text));
    const stats_group all = stats_rows_sum(&a->z.rows);
    report_answer(a->s,
                  "%s of %s %s %s of the threads' time; %.*s has the largest "
                  "exclusive time (%s).",
                  cli_counted(all.count, "zone", "zones").s,
                  cli_counted(a->z.rows.count, "name", "names").s,
                  all.count == 1 ? "holds" : "hold", cli_time(a->all_ns).s,
                  TOPIC_TEXT(name),
                  report_words(report_share(first->ns, a->all_ns)).s);
    if (waited)
        report_answer(a->s, "Zones in which threads only wait have more (%s).",
                      cli_time(waited).s);
    if (a->z.gpu_all_ns)
        report_answer(
            a->s, "%s of the device time was launched from within zones.",
            report_words(report_share(a->z.gpu_all_ns - a->z.gpu_none_ns,
                                      a->z.gpu_all_ns))
                .s);
}

static void put_figures(const zones_topic *a)
{
    const stats_group all = stats_rows_sum(&a->z.rows);
    report_figure(a->s, "count", "zones", report_count(all.count));
    report_figure(a->s, "names", "names", report_count(a->z.rows.count));
    report_figure(a->s, "host_ns", "time of threads in zones",
                  report_ns(a->all_ns));
    report_figure(a->s, "gpu_ns", "device time, total",
                  a->z.has_gpu ? report_ns(a->z.gpu_all_ns)
                               : report_unknown(REPORT_NS));
    report_figure(a->s, "gpu_in_no_zone_ns", "of it launched outside of zones",
                  a->z.has_gpu ? report_ns(a->z.gpu_none_ns)
                               : report_unknown(REPORT_NS));
    report_trust(a->s, REPORT_HIGH,
                 "all recorded zones are included; recursion counts once in "
                 "inclusive times");
    if (a->z.paths.overlaps)
        report_note(
            a->s,
            "%s in another and outlast%s it: the time is assigned to the zone "
            "that began last.",
            cli_counted(a->z.paths.overlaps, "zone begins", "zones begin").s,
            a->z.paths.overlaps == 1 ? "s" : "");
    if (a->z.paths.cut)
        report_trust(a->s, REPORT_MEDIUM,
                     "%s nested too deeply to be distinguished",
                     cli_counted(a->z.paths.cut, "zone was", "zones were").s);
}

static bool fill(analyze_job *job, report *r)
{
    zones_topic a = { .job = job };
    a.s = report_begin(r, "zones", "Zones");
    bool ok = zones_open(&a.z, job);
    if (ok && !a.z.rows.count) {
        report_not_applicable(a.s, "The trace contains no zone: mark code with "
                                   "TS_ZONE, or import a trace with ranges.");
    } else if (ok) {
        ordered *const order = put_in_order(&a);
        ok = order;
        for (size_t i = 0; ok && i < a.z.rows.count; i++)
            a.all_ns += order[i].ns;
        if (ok) {
            answer(&a, order);
            put_figures(&a);
            put_table(&a, order);
        }
        free(order);
    }
    zones_close(&a.z);
    return ok;
}

const analyze_topic topic_zones = {
    .name = "zones",
    .title = "Zones",
    .help = "zones by name: host time, and device time that they launched",
    .fill = fill,
};
