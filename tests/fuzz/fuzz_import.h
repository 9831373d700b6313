/*
    fuzz_import.h - whatever a file holds, importing it ends, and what it
    wrote is a trace that replays as it was recorded

    Everything lies in memory: the source and the trace are files without a
    place on a disk.
*/
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include "tools/import/import.h"

#include <fcntl.h>
#include <unistd.h>

static char fuzz_source[64], fuzz_output[64];

static inline void fuzz_check(bool holds, const char *what)
{
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static inline void fuzz_remove(void)
{
    unlink(fuzz_source);
    unlink(fuzz_output);
}

static inline void fuzz_begin(void)
{
    const char *const folder = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    snprintf(fuzz_source, sizeof fuzz_source, "%s/fuzz-%d.source", folder,
             (int)getpid());
    snprintf(fuzz_output, sizeof fuzz_output, "%s/fuzz-%d.sbt", folder,
             (int)getpid());
    atexit(fuzz_remove);
}

static inline void fuzz_replay(ts_reader *reader)
{
    ts_replay *replay;
    const ts_result opened = ts_replay_open(&replay, reader, NULL);
    fuzz_check(opened == TS_OK || opened == TS_ERR_NOT_FOUND,
               "the trace cannot be replayed");
    if (opened != TS_OK) return;
    const ts_result result = ts_replay_run(replay, NULL);
    fuzz_check(result == TS_OK || result == TS_ERR_NOT_FOUND,
               "the replay failed");
    fuzz_check(ts_replay_cycle(replay, &(const uint32_t *){ NULL }) ||
                   !ts_replay_result(replay)->different,
               "an operation moved");
    ts_replay_close(replay);
}

static inline void fuzz_trace(uint64_t bad)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = fuzz_output, .threads = 1 };
    fuzz_check(ts_reader_open(&reader, &desc) == TS_OK, "no trace came of it");
    fuzz_check(ts_reader_verify(reader) == TS_OK, "the trace is damaged");
    fuzz_check(ts_reader_info(reader)->finished, "the trace is unfinished");
    fuzz_check(!bad || ts_reader_info(reader)->lost >= bad,
               "bad rows are not in the ledger");
    fuzz_replay(reader);
    ts_reader_close(reader);
}

// Imports the bytes with one of these formats, if it wants them.
static inline void fuzz_import(const uint8_t *bytes, size_t size,
                               const import_format *const *formats,
                               size_t count)
{
    static const cli_tool tool = { .name = "fuzz" };
    const int fd = open(fuzz_source, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    fuzz_check(fd >= 0 && write(fd, bytes, size) == (ssize_t)size,
               "no room for the source");
    close(fd);
    import_input *const input = import_input_open(&tool, fuzz_source);
    import_source *source = input ? import_input_next(input) : NULL;
    for (size_t i = 0; source && i < count; i++) {
        if (!formats[i]->recognise(source)) continue;
        ts_result result;
        import_job *const job =
            import_job_open(&tool, source, formats[i], fuzz_output, &result);
        fuzz_check(job != NULL, "no job");
        const bool keep = formats[i]->import(job);
        fuzz_check(import_job_end(job, keep) == TS_OK, "the writer failed");
        const uint64_t bad = job->bad.total;
        import_job_close(job);
        if (keep) fuzz_trace(bad);
        source = NULL;
    }
    if (input) import_input_close(input);
}

#endif // FUZZ_IMPORT_H
