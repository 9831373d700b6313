/*
    summary.c - figures of a whole run
*/
#include "tools/analyze/figures/time/summary.h"
#include "tools/analyze/job/private.h"

// Up to this number of operations the whole graph is cheap; above, it takes at
// least 150 bytes for each operation.
enum { WHOLE_MOST = 200000, WINDOW = 50000 };

static uint64_t operations_of(const analyze_job *job)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < job->file_count; i++)
        for (uint32_t k = TS_EVENT_GPU_FIRST; k < TS_EVENT_LIMIT; k++)
            count += analyze_info(job, i)->counts[k];
    return count;
}

static void keep_longest(summary_figures *f, uint32_t file, const ts_gap *gap)
{
    ts_gap *const g = &f->longest[gap->cause];
    if (g->end_ns - g->start_ns >= gap->end_ns - gap->start_ns) return;
    *g = *gap;
    f->longest_file[gap->cause] = file;
}

static bool make_devices(summary_figures *f, size_t count)
{
    f->devices = calloc(count + 1, sizeof *f->devices);
    return f->devices;
}

/* ---- From the whole graph ------------------------------------------------ */

static void take_levels(summary_figures *f, const ts_timeline *timeline,
                        size_t device)
{
    const int64_t *times;
    const size_t count = ts_timeline_concurrency(timeline, device, &times);
    for (size_t i = 0; i < count; i++)
        f->level_ns[i < SUMMARY_LEVELS ? i : SUMMARY_LEVELS - 1] += times[i];
}

static bool take_timeline(summary_figures *f, analyze_job *job)
{
    const ts_timeline *const timeline = analyze_timeline(job);
    const ts_timeline_figures *figures;
    ts_gap gap;
    if (!timeline) return false;
    f->total = ts_timeline_total(timeline);
    f->has_levels = true;
    if (!make_devices(f, ts_replay_device_count(analyze_replay(job))))
        return false;
    for (size_t d = 0; (figures = ts_timeline_device(timeline, d)); d++) {
        f->devices[f->device_count++] = figures;
        take_levels(f, timeline, d);
        for (size_t i = 0; ts_timeline_gap(timeline, d, i, &gap); i++)
            keep_longest(f, figures->file, &gap);
    }
    return true;
}

/* ---- From windows -------------------------------------------------------- */

static bool take_overview(summary_figures *f, analyze_job *job)
{
    const ts_overview_desc desc = { .window_operations = WINDOW };
    const ts_result result =
        ts_overview_open(&f->overview, analyze_reader(job, 0), &desc);
    ts_overview_window window;
    ts_gap gap;
    size_t count = 0, device;
    if (result != TS_OK) {
        job->private->why = result == TS_ERR_NOT_FOUND
                                ? "the trace contains no GPU operation"
                                : ts_result_text(result);
        return false;
    }
    f->total = ts_overview_total(f->overview);
    while (ts_overview_device(f->overview, count))
        count++;
    if (!make_devices(f, count)) return false;
    for (; f->device_count < count; f->device_count++)
        f->devices[f->device_count] =
            ts_overview_device(f->overview, f->device_count);
    for (size_t i = 0; ts_overview_gap(f->overview, i, &device, &gap); i++)
        keep_longest(f, 0, &gap);
    while (ts_overview_window_at(f->overview, (size_t)f->windows, &window))
        f->windows++;
    return true;
}

// Whether the trace is a selection. Only the timeline has the bounds of its
// spans.
static bool is_part(analyze_job *job)
{
    int64_t from_ns, to_ns;
    ts_metadata m;
    return analyze_clip(job, &from_ns, &to_ns) ||
           ts_reader_metadata(analyze_reader(job, 0), 0, "cut.begin_ns", &m);
}

bool summary_open(summary_figures *f, analyze_job *job)
{
    *f = (summary_figures){ 0 };
    const bool whole = job->file_count > 1 || job->private->uses_graph ||
                       operations_of(job) <= WHOLE_MOST || is_part(job);
    return whole ? take_timeline(f, job) : take_overview(f, job);
}

void summary_close(summary_figures *f)
{
    ts_overview_close(f->overview);
    free((void *)f->devices);
}

summary_bound summary_parts(const ts_timeline_figures *f, int64_t *parts)
{
    static const summary_bound of[TS_IDLE_LIMIT] = {
        [TS_IDLE_HOST_LATE] = SUMMARY_HOST,
        [TS_IDLE_LAUNCH_LATENCY] = SUMMARY_LAUNCH,
        [TS_IDLE_OTHER_STREAM] = SUMMARY_WAITS,
        [TS_IDLE_COPY] = SUMMARY_WAITS,
        [TS_IDLE_COLLECTIVE] = SUMMARY_WAITS,
        [TS_IDLE_HOST_SYNC] = SUMMARY_SYNC,
        [TS_IDLE_QUEUE_FULL] = SUMMARY_WAITS,
        [TS_IDLE_UNEXPLAINED] = SUMMARY_UNKNOWN,
        [TS_IDLE_LATE_START] = SUMMARY_LATE_START,
    };
    memset(parts, 0, SUMMARY_BOUNDS * sizeof *parts);
    parts[SUMMARY_KERNELS] = f->only_ns[TS_WORK_KERNEL];
    parts[SUMMARY_COMMUNICATION] = f->only_ns[TS_WORK_COLLECTIVE];
    parts[SUMMARY_COPIES] = f->only_ns[TS_WORK_COPY];
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
        parts[of[i]] += f->cause_ns[i];
    summary_bound most = SUMMARY_KERNELS;
    for (uint32_t i = 0; i < SUMMARY_BOUNDS; i++)
        if (parts[i] > parts[most]) most = (summary_bound)i;
    return most;
}
