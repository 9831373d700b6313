/*
    ask_summary.c - what was this run, in one look?
*/
#include "tools/analyze/analyze.h"

static void put_devices(analyze_job *job, report_section *s, ts_replay *replay,
                        ts_timeline *timeline)
{
    static const report_column columns[] = {
        { "device", "device", REPORT_TEXT },
        { "operations", "operations", REPORT_COUNT },
        { "busy_ns", "busy", REPORT_NS },
        { "busy_share", "busy %", REPORT_SHARE },
        { "kernel_ns", "kernels", REPORT_NS },
        { "collective_ns", "collectives", REPORT_NS },
        { "copy_ns", "copies", REPORT_NS },
    };
    report_table *const t =
        report_table_begin(s, "devices", "Devices", columns, 7);
    ts_lane device;
    for (size_t i = 0; ts_replay_device(replay, i, &device); i++) {
        const ts_timeline_figures *const f = ts_timeline_device(timeline, i);
        if (!f) continue;
        const report_value row[] = {
            report_text(analyze_track(job, f->file, f->track)),
            report_count(f->operations),
            report_ns(f->busy_ns),
            report_share(f->busy_ns, f->end_ns - f->start_ns),
            report_ns(f->work_ns[TS_WORK_KERNEL]),
            report_ns(f->work_ns[TS_WORK_COLLECTIVE]),
            report_ns(f->work_ns[TS_WORK_COPY]),
        };
        const report_evidence e =
            report_from_to(f->file, f->start_ns, f->end_ns);
        report_row(t, row, &e);
    }
}

static bool ask(analyze_job *job, report *r)
{
    report_section *const s = report_begin(r, "summary", "Summary");
    ts_replay *const replay = analyze_replay(job);
    ts_timeline *const timeline = analyze_timeline(job);
    if (!timeline) {
        report_not_applicable(s, "Nothing to sum up: %s.", analyze_why(job));
        return true;
    }
    const ts_timeline_figures *const f = ts_timeline_total(timeline);
    report_answer(
        s, "%s of work on the devices in %s: busy for %s of it.",
        cli_time(f->busy_ns).s, cli_time(f->end_ns - f->start_ns).s,
        report_words(report_share(f->busy_ns, f->busy_ns + f->idle_ns)).s);
    report_trust(s, REPORT_HIGH, "the figures are sums over all operations");
    report_figure(s, "duration_ns", "duration",
                  report_ns(f->end_ns - f->start_ns));
    report_figure(s, "busy_ns", "busy", report_ns(f->busy_ns));
    report_figure(s, "idle_ns", "idle", report_ns(f->idle_ns));
    put_devices(job, s, replay, timeline);
    return true;
}

const analyze_question ask_summary = {
    .name = "summary",
    .title = "Summary",
    .help = "duration, use of each device, idle time, what took longest",
    .ask = ask,
};
