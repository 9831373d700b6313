/*
    roofline.c - achieved and attainable speed of computations
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/operations/roofline.h"

typedef struct roofline_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    names_index names;
    roofline_rule rules[CLI_LIST_MOST];
    size_t rule_count;
    roofline_result r;
    int64_t peak, bandwidth; // per ns, times 1000: in units of GFLOP/s and GB/s
} roofline_topic;

static const analyze_setting settings[] = {
    { "roofline.peak",
      "peak compute rate of the device, in GFLOP/s (0: "
      "unknown)",
      REPORT_COUNT, 0 },
    { "roofline.bandwidth", "bandwidth of its memory, in GB/s (0: unknown)",
      REPORT_COUNT, 0 },
    { 0 }
};

// Returns operations per nanosecond, which equals GFLOP/s.
static double speed_of(const roofline_row *row)
{
    return row->work_ns ? (double)row->flops / (double)row->work_ns : 0;
}

// Returns what bounds a row: "compute", "memory", or "-" if unknown.
static const char *bound_of(const roofline_topic *a, const roofline_row *row)
{
    if (!row->bytes || !a->peak || !a->bandwidth) return "-";
    const double ridge = (double)a->peak / (double)a->bandwidth;
    return (double)row->flops / (double)row->bytes < ridge ? "memory"
                                                           : "compute";
}

// Returns the attainable operations per nanosecond; 0: unknown.
static double roof_of(const roofline_topic *a, const roofline_row *row)
{
    const double memory =
        row->bytes && a->bandwidth
            ? (double)row->flops / (double)row->bytes * (double)a->bandwidth
            : 0;
    const double peak = (double)a->peak;
    if (peak <= 0 || memory <= 0) return peak > 0 ? peak : memory;
    return memory < peak ? memory : peak;
}

static void answer(const roofline_topic *a)
{
    const roofline_result *const r = &a->r;
    report_answer(a->s,
                  "The operations are known for %s of the kernel time, and run "
                  "at %s.",
                  report_words(report_share(r->known_ns, r->kernel_ns)).s,
                  report_words(report_flops(r->flops, r->known_ns)).s);
    const roofline_row *const top = &r->rows[0];
    const double roof = roof_of(a, top);
    if (roof > 0)
        report_answer(a->s,
                      "The longest of these kernels, %s, reaches %s of its "
                      "roof.",
                      top->text, cli_percent(speed_of(top) / roof).s);
    else
        report_answer(a->s,
                      "The peak of the device is unknown: pass --set "
                      "roofline.peak=GFLOPS and --set roofline.bandwidth=GBS "
                      "from its data sheet.");
}

static void put_rows(const roofline_topic *a)
{
    static const report_column columns[] = {
        { "what", "shape (rows x inner x columns)", REPORT_TEXT },
        { "count", "count", REPORT_COUNT },
        { "work_ns", "kernels", REPORT_NS },
        { "flops", "speed", REPORT_FLOPS },
        { "intensity", "FLOP/byte", REPORT_FACTOR },
        { "roof", "of roof", REPORT_SHARE },
        { "bound", "bound by", REPORT_TEXT }
    };
    report_table *const t = report_table_begin(
        a->s, "work", "Kernels with known operations, longest first", columns,
        TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.count && i < a->job->options.rows; i++) {
        const roofline_row *const row = &a->r.rows[i];
        const ts_text text = { row->text, strlen(row->text) };
        const double roof = roof_of(a, row);
        const report_value values[] = {
            report_text(row->rule ? analyze_name(a->job, text) : text),
            report_count(row->count),
            report_ns(row->work_ns),
            report_flops(row->flops, row->work_ns),
            row->bytes ? report_factor((int64_t)row->flops, (int64_t)row->bytes)
                       : report_unknown(REPORT_FACTOR),
            roof > 0
                ? report_share((int64_t)(speed_of(row) / roof * 10000), 10000)
                : report_unknown(REPORT_SHARE),
            report_string(bound_of(a, row))
        };
        const report_evidence e = topic_evidence(a->replay, row->operation);
        report_row(t, values, &e);
    }
    report_rows_of(t, a->r.count);
}

static void put(const roofline_topic *a)
{
    const roofline_result *const r = &a->r;
    answer(a);
    report_trust(a->s, REPORT_MEDIUM,
                 "operations are computed from shapes or --flops; bytes are "
                 "the minimum that must be moved");
    report_figure(a->s, "flops", "known time",
                  report_flops(r->flops, r->known_ns));
    report_figure(a->s, "known_ns", "in kernels of", report_ns(r->known_ns));
    report_figure(a->s, "kernel_ns", "of all", report_ns(r->kernel_ns));
    if (a->peak && a->bandwidth)
        report_figure(a->s, "ridge", "FLOP/byte above which compute limits",
                      report_factor(a->peak, a->bandwidth));
    put_rows(a);
}

static void put_none(const roofline_topic *a)
{
    if (a->rule_count)
        report_not_applicable(a->s, "No kernel name matches --flops.");
    else if (a->r.operators)
        report_not_applicable(
            a->s, "The trace contains matrix products without their shapes: "
                  "record with record_shapes=True, or use --flops.");
    else
        report_not_applicable(
            a->s, "The trace does not contain the operations of kernels: use "
                  "--flops REGEX=FLOPS[,BYTES], or record PyTorch with "
                  "record_shapes=True.");
}

static bool fill(analyze_job *job, report *r)
{
    roofline_topic a = { .job = job };
    const cli_list *const list = job->options.flops;
    a.s = topic_begin(job, r, "roofline", "Roofline", &a.replay, NULL);
    if (!a.s) return true;
    for (size_t i = 0; list && i < list->count; i++)
        if (roofline_rule_read(&a.rules[a.rule_count], list->items[i]))
            a.rule_count++;
    a.peak = analyze_set(job, "roofline.peak");
    a.bandwidth = analyze_set(job, "roofline.bandwidth");
    const bool ok =
        names_of_job(&a.names, job) &&
        roofline_open(&a.r, a.replay, &a.names, a.rules, a.rule_count);
    if (ok) (a.r.count ? put : put_none)(&a);
    for (size_t i = 0; i < a.rule_count; i++)
        roofline_rule_close(&a.rules[i]);
    roofline_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_roofline = {
    "roofline", "Roofline",
    "achieved compute rate, from shapes or --flops, and its limits", fill,
    settings
};

bool analyze_flops_check(const cli_tool *tool, const cli_list *flops)
{
    for (size_t i = 0; i < flops->count; i++) {
        roofline_rule rule;
        if (!roofline_rule_read(&rule, flops->items[i]))
            return cli_fail(tool, TS_ERR_USAGE, NULL, "--flops %s: %s",
                            flops->items[i], rule.wrong);
        roofline_rule_close(&rule);
    }
    return true;
}
