/*
    merge_forge.h - small traces of one process each, and what became of them

    Each has a process (track 1), a thread (2), a device (3) and a stream (4);
    on the thread a call, a flow and an allocation, on the stream a kernel, an
    event and a collective, with ids that are the same in all.
*/
#ifndef MERGE_FORGE_H
#define MERGE_FORGE_H

#include "tools/cut/cut.h"
#include "tools/merge/merge.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include "tests/unit.h"
#include <dirent.h>
#include <unistd.h>

enum { PROCESS = 1, THREAD, DEVICE, STREAM };

typedef struct made {
    const char *name, *host, *boot;
    int64_t rank;       // -1: none
    uint64_t date_ns;   // Unix time of its start, 0 unknown
    uint64_t raw_ns;    // of the machine's clock at its start
    int64_t collective; // end of it, 0: none
    bool no_process, lossy;
} made;

static char folder[] = "/tmp/ts-merge-XXXXXX";

static inline int folder_begin(void **state)
{
    return mkdtemp(folder) ? 0 : -1;
}

static inline int folder_end(void **state)
{
    DIR *const d = opendir(folder);
    char path[600];
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (d) closedir(d);
    return rmdir(folder);
}

// Valid for eight calls.
static inline char *path_of(const char *name)
{
    static char paths[8][300];
    static uint32_t next;
    char *const path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

static inline uint32_t name_in(ts_writer *w, const char *text)
{
    return ts_writer_name(w, text, strlen(text));
}

static inline void put_tracks(ts_writer *w, const made *m)
{
    const uint32_t process = m->no_process ? 0 : PROCESS;
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS, .name = name_in(w, "app"), .number = 77 },
        { .type = TS_TRACK_THREAD, .parent = process, .number = 78 },
        { .type = TS_TRACK_DEVICE, .parent = process },
        { .type = TS_TRACK_STREAM, .parent = DEVICE, .number = 7 },
    };
    for (uint32_t i = m->no_process; i < 4; i++)
        ts_writer_track(w, i + 1, &tracks[i]);
}

static inline void put_host(ts_writer *w)
{
    const ts_writer_value call[] = {
        { TS_COLUMN_NAME, name_in(w, "cudaLaunchKernel") },
        { TS_COLUMN_CORRELATION, 5 },
    };
    const ts_writer_value flow[] = { { TS_COLUMN_ID, 9 },
                                     { TS_COLUMN_PHASE, TS_PHASE_START } };
    const ts_writer_value alloc[] = { { TS_COLUMN_ADDRESS, 4096 },
                                      { TS_COLUMN_SIZE, 64 },
                                      { TS_COLUMN_POOL, name_in(w, "pool") } };
    ts_writer_event(w, TS_EVENT_API_CALL, THREAD, 100, 50, call, 2);
    ts_writer_event(w, TS_EVENT_FLOW, THREAD, 110, 0, flow, 2);
    ts_writer_event(w, TS_EVENT_ALLOC, THREAD, 120, 0, alloc, 3);
    ts_writer_event_text(w, TS_EVENT_MESSAGE, THREAD, 130, 0, NULL, 0, "hello",
                         5);
}

static inline void put_device(ts_writer *w, const made *m)
{
    const ts_launch_entry launch = { .name = name_in(w, "gemm") };
    const ts_writer_value kernel[] = {
        { TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch) },
        { TS_COLUMN_CORRELATION, 5 },
        { TS_COLUMN_QUEUED, 101 },
        { TS_COLUMN_THREAD, THREAD },
    };
    const ts_writer_value event[] = { { TS_COLUMN_ID, 9 } };
    const ts_writer_value collective[] = {
        { TS_COLUMN_NAME, name_in(w, "all_reduce") },
        { TS_COLUMN_COMMUNICATOR, 1 },
        { TS_COLUMN_SEQUENCE, 1 },
        { TS_COLUMN_RANKS, 2 },
    };
    ts_writer_event(w, TS_EVENT_KERNEL, STREAM, 200, 300, kernel, 4);
    ts_writer_event(w, TS_EVENT_EVENT_RECORD, STREAM, 500, 0, event, 1);
    if (m->collective)
        ts_writer_event(w, TS_EVENT_COLLECTIVE, STREAM, 600,
                        m->collective - 600, collective, 4);
}

static inline void make(const made *m)
{
    ts_writer_desc desc = { .path = path_of(m->name),
                            .start_realtime_ns = m->date_ns,
                            .start_raw_ns = m->raw_ns,
                            .start_boottime_ns = m->raw_ns,
                            .process = 77 };
    ts_writer *w;
    memcpy(desc.session, m->name, strlen(m->name));
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, m);
    if (m->host) copy_note_text(w, 0, "host", m->host);
    if (m->boot) copy_note_text(w, 0, "boot_id", m->boot);
    if (m->rank >= 0) copy_note_number(w, 0, "rank", m->rank);
    copy_note_text(w, 0, "app", "app");
    copy_note_text(w, 0, "of", m->name);
    if (m->lossy) ts_writer_stall(w, 0, TS_LOSS_HELPED, 0, 3, 10, 20, 5);
    if (m->lossy) ts_writer_loss(w, THREAD, TS_LOSS_RING_FULL, 0, 4, 10, 20);
    ts_writer_blob(w, m->name, strlen(m->name), NULL);
    put_host(w);
    put_device(w, m);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static const cli_tool test_tool = { .name = "test" };

// Merges files of the folder; the job stays open.
static inline merge_job merge_names(const char *out, const char *const *names,
                                    uint32_t count, const cli_list *offsets,
                                    bool shared_flows)
{
    static const cli_list none = { { 0 }, 0 };
    char *paths[8];
    merge_job job = { .tool = &test_tool,
                      .out = path_of(out),
                      .shared_flows = shared_flows };
    for (uint32_t i = 0; i < count; i++)
        paths[i] = path_of(names[i]);
    assert_true(merge_open(&job, paths, count));
    assert_true(merge_offsets(&job, offsets ? offsets : &none));
    assert_true(merge_place(&job));
    assert_true(merge_write(&job));
    return job;
}

// Cuts a file into another one.
static inline void cut_file(const char *path, const char *out,
                            cut_options options)
{
    cli_trace trace;
    cut_job job = { .tool = &test_tool,
                    .path = path,
                    .out = out,
                    .trace = &trace,
                    .options = options };
    if (!options.what) job.options.what = "--test";
    assert_true(cli_trace_open(&trace, job.tool, path, NULL, CLI_WARN_NONE));
    assert_true(cut_write(&job));
    cli_trace_close(&trace);
}

static inline ts_reader *open_name(const char *name)
{
    const ts_reader_desc desc = { .path = path_of(name) };
    ts_reader *reader;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    return reader;
}

#endif // MERGE_FORGE_H
