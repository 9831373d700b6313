/*
    job.c - opens files and replays, and runs the topics
*/
#include "tools/analyze/job/private.h"
#include "tools/analyze/job/window.h"
#include "tools/analyze/job/stats.h"
#include <unistd.h>

/* ---- Files --------------------------------------------------------------- */

// Names files by rank only if all files have a rank and all ranks differ.
static void name_files(analyze_job *job)
{
    bool all = true;
    ts_metadata rank;
    for (uint32_t i = 0; i < job->file_count; i++) {
        analyze_file *const f = &job->files[i];
        if (!ts_reader_metadata(f->trace.reader, 0, "rank", &rank) ||
            rank.type != TS_VALUE_INT)
            all = false;
        else
            f->rank = rank.number;
        for (uint32_t k = 0; all && k < i; k++)
            all = job->files[k].rank != f->rank;
    }
    for (uint32_t i = 0; i < job->file_count; i++)
        job->files[i].ranked = all;
}

cli_text analyze_file_name(const analyze_job *job, uint32_t file)
{
    if (job->files[file].ranked)
        return cli_format("rank %" PRId64, job->files[file].rank);
    return cli_format("file %" PRIu32, file);
}

bool analyze_open(analyze_job *job, char **paths, uint32_t count)
{
    job->private = calloc(1, sizeof *job->private);
    job->files = calloc(count, sizeof *job->files);
    if (job->private) {
        job->private->loaded = calloc(count, sizeof *job->private->loaded);
        job->private->texts = report_open();
    }
    if (!job->files || !job->private || !job->private->loaded ||
        !job->private->texts)
        return cli_out_of_memory(job->tool);
    if (!analyze_settings_read(job)) return false;
    for (; job->file_count < count; job->file_count++) {
        analyze_file *const file = &job->files[job->file_count];
        file->path = paths[job->file_count];
        // The report lists losses.
        if (!cli_trace_open(&file->trace, job->tool, file->path, NULL,
                            CLI_WARN_NONE))
            return false;
    }
    name_files(job);
    return cli_traces_distinct(job->tool, &job->files->trace, count,
                               sizeof *job->files);
}

void analyze_close(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    if (p) {
        for (size_t i = 0; i < ANALYZE_KEEP_LIMIT; i++)
            if (p->kept[i].data) p->kept[i].close(p->kept[i].data);
        ts_timeline_close(p->timeline);
        ts_replay_close(p->model);
        ts_replay_close(p->replay);
        if (p->loaded) analyze_columns_close(job);
        analyze_names_close(job);
        free(p->settings);
        free(p->cut);
        report_close(p->texts);
        free(p->loaded);
        free(p);
    }
    for (uint32_t i = 0; i < job->file_count; i++)
        cli_trace_close(&job->files[i].trace);
    free(job->files);
    job->private = NULL;
    job->files = NULL;
    job->file_count = 0;
}

/* ---- Replays ------------------------------------------------------------- */

static ts_replay *open_replay(analyze_job *job)
{
    ts_replay *replay = NULL;
    ts_reader **const readers = calloc(job->file_count, sizeof *readers);
    if (!readers) return NULL;
    for (uint32_t i = 0; i < job->file_count; i++)
        readers[i] = analyze_reader(job, i);
    const ts_replay_desc desc = { .more = readers + 1,
                                  .more_count = job->file_count - 1 };
    const ts_result result = ts_replay_open(&replay, readers[0], &desc);
    free(readers);
    if (result == TS_ERR_NOT_FOUND)
        job->private->why = "the trace contains no GPU operation";
    else if (result != TS_OK)
        job->private->why = ts_result_text(result);
    return replay;
}

ts_replay *analyze_replay(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    if (p->tried_replay) return p->replay;
    p->tried_replay = true;
    p->replay = open_replay(job);
    if (!p->replay) return NULL;
    const ts_replay_run_desc brief = { .brief = true };
    const ts_result result = ts_replay_run(p->replay, &brief);
    if (result == TS_OK && ts_replay_result(p->replay)->operations)
        return p->replay;
    p->why = result == TS_OK || result == TS_ERR_NOT_FOUND
                 ? "no GPU operation of the trace has valid times"
                 : ts_result_text(result);
    ts_replay_close(p->replay);
    p->replay = NULL;
    return NULL;
}

ts_replay *analyze_model(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    if (!p->tried_model && analyze_replay(job) &&
        ts_replay_fork(&p->model, p->replay) != TS_OK)
        p->why = ts_result_text(TS_ERR_MEMORY);
    p->tried_model = true;
    return p->model;
}

analyze_kept *analyze_kept_at(analyze_job *job, analyze_keep what)
{
    return &job->private->kept[what];
}

bool analyze_clip(analyze_job *job, int64_t *from_ns, int64_t *to_ns)
{
    const bool clips = cli_clip(analyze_reader(job, 0), from_ns, to_ns);
    const int64_t offset = clips ? analyze_offset(job, 0) : 0;
    *from_ns += offset;
    *to_ns += offset;
    return clips;
}

ts_timeline *analyze_timeline(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    if (p->tried_timeline) return p->timeline;
    p->tried_timeline = true;
    ts_timeline_desc desc = { 0 };
    if (!analyze_replay(job)) return NULL;
    if (!analyze_clip(job, &desc.from_ns, &desc.to_ns))
        desc.from_ns = desc.to_ns = 0;
    const ts_result result = ts_timeline_open(&p->timeline, p->replay, &desc);
    if (result == TS_ERR_NOT_FOUND)
        p->why = "the trace contains no work of a device";
    else if (result != TS_OK)
        p->why = ts_result_text(result);
    return p->timeline;
}

void analyze_forget(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    ts_timeline_close(p->timeline);
    p->timeline = NULL;
    p->tried_timeline = false;
    analyze_columns_close(job);
}

const char *analyze_why(const analyze_job *job)
{
    return job->private->why ? job->private->why : "out of memory";
}

int64_t analyze_offset(analyze_job *job, uint32_t file)
{
    ts_replay_file place;
    if (!file) return 0;
    if (analyze_replay(job) &&
        ts_replay_file_at(job->private->replay, file, &place))
        return place.offset_ns;
    const uint64_t first = analyze_info(job, 0)->start_realtime_ns;
    const uint64_t own = analyze_info(job, file)->start_realtime_ns;
    return first && own ? (int64_t)(own - first) : 0;
}

/* ---- Topics -------------------------------------------------------------- */

static const char *nearest(const char *word, size_t size)
{
    const cli_text typed = cli_format("%.*s", (int)size, word);
    cli_near near = { .word = typed.s };
    for (const analyze_topic *const *q = analyze_topics; *q; q++)
        cli_near_try(&near, (*q)->name, strlen((*q)->name));
    return near.name;
}

bool analyze_files_check(const cli_tool *tool, char **paths, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *const path = paths[i];
        const char *const meant = nearest(path, strlen(path));
        if (!meant || !access(path, F_OK)) continue;
        cli_fail(tool, TS_ERR_USAGE, path,
                 "file not found; did you mean --only %s?", meant);
        return false;
    }
    return true;
}

bool analyze_only_check(const cli_tool *tool, const char *only)
{
    while (only) {
        const size_t size = strcspn(only, ",");
        const char *known = NULL;
        for (const analyze_topic *const *q = analyze_topics; *q; q++)
            if (strlen((*q)->name) == size && !memcmp((*q)->name, only, size))
                known = (*q)->name;
        if (!known) {
            const char *const meant = nearest(only, size);
            cli_fail(
                tool, TS_ERR_USAGE, NULL, "--only %.*s: no such topic; %s%s%s",
                (int)size, only, meant ? "did you mean " : "",
                meant ? meant : "--list prints the topics", meant ? "?" : "");
            return false;
        }
        only = only[size] ? only + size + 1 : NULL;
    }
    return true;
}

// Topics that need only columns, not the graph.
static const char light[] = "summary,kernels,copies,api";

static bool is_requested(const analyze_topic *q, const char *only)
{
    return !only || cli_list_has(only, q->name, strlen(q->name));
}

ts_text analyze_selected(analyze_job *job)
{
    static const char *const keys[] = { "cut.kept", "cut.left_out" };
    int64_t sums[2] = { 0, 0 };
    ts_metadata what = { 0 }, m;
    for (uint32_t i = 0; i < job->file_count; i++) {
        const ts_reader *const reader = analyze_reader(job, i);
        const ts_text before = what.text;
        if (!ts_reader_metadata(reader, 0, "cut.what", &what) ||
            what.type != TS_VALUE_TEXT ||
            (i && (what.text.size != before.size ||
                   memcmp(what.text.text, before.text, before.size))))
            return (ts_text){ "", 0 };
        for (size_t k = 0; k < 2; k++)
            if (ts_reader_metadata(reader, 0, keys[k], &m) &&
                m.type == TS_VALUE_INT)
                sums[k] = stats_sum(sums[k], m.number);
    }
    if (!what.text.size) return (ts_text){ "", 0 };
    return analyze_format(job, "%.*s (%s of %s events)",
                          (int)(what.text.size & 1023), what.text.text,
                          cli_count((uint64_t)sums[0]).s,
                          cli_count((uint64_t)stats_sum(sums[0], sums[1])).s);
}

static bool take_window(analyze_job *job, report *r)
{
    const cut_figures *const cut = analyze_cut(job);
    if (!cut) return false;
    const report_window window = { .from_ns = cut->from_ns,
                                   .to_ns = cut->to_ns,
                                   .works = cut->works,
                                   .work_from_ns = cut->work_from_ns,
                                   .work_to_ns = cut->work_to_ns,
                                   .selected = analyze_selected(job) };
    report_window_set(r, window);
    return true;
}

// What a part of a trace lacks, the trace need not lack.
static void speak_of_part(analyze_job *job, report *r)
{
    static const char whole[] = "trace contains ";
    if (!analyze_selected(job).size) return;
    for (report_section *s = r->sections; s; s = s->next) {
        const char *const text = s->answer.text;
        const char *const at = text ? strstr(text, whole) : NULL;
        if (!at) continue;
        const char *const rest = at + strlen("trace");
        s->answer =
            analyze_format(job, "%.*sselected part%.*s", (int)(at - text), text,
                           (int)(s->answer.size - (size_t)(rest - text)), rest);
    }
}

bool analyze_run(analyze_job *job, const char *only, report *r)
{
    job->wrong_usage = !analyze_only_check(job->tool, only);
    if (job->wrong_usage) return false;
    bool ok = take_window(job, r);
    r->all = !only;
    for (const analyze_topic *const *q = analyze_topics; *q; q++)
        if (is_requested(*q, only) &&
            !cli_list_has(light, (*q)->name, strlen((*q)->name)))
            job->private->uses_graph = true;
    for (const analyze_topic *const *q = analyze_topics; ok && *q; q++)
        if (is_requested(*q, only)) ok = (*q)->fill(job, r);
    if (ok) speak_of_part(job, r);
    const char *const sort = job->options.sort;
    if (ok) analyze_losses(job, r);
    if (ok && sort && !report_sort(r, sort)) {
        cli_fail(job->tool, TS_ERR_USAGE, NULL,
                 "--sort %s: no table has a column with this key", sort);
        job->wrong_usage = true;
        return false;
    }
    if (ok && !report_failed(r)) return true;
    return cli_out_of_memory(job->tool);
}
