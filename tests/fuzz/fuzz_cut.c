/*
    fuzz_cut.c - whatever a trace holds, a part of it is a trace

    The first 16 bytes choose what is cut and how; the rest is the trace. What
    is written must be whole, hold no more than there was, and be the same the
    second time, if that is asked for; a merge of the trace with itself holds
    twice as much.
*/
#define _GNU_SOURCE
#include "tools/cut/cut.h"

#include <unistd.h>

enum { OPTIONS = 16 };

static const cli_tool tool = { .name = "fuzz" };
static char path[64];

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

static const char *const zones[] = { NULL, "*", "a*", "work,step" };
static const char *const names[] = { "", "a", "^k", "[a-m]|zone" };
static const char *const frames[] = { "0..0", "1..", "..3", "f:0..2" };

static cut_options options_of(const uint8_t *o, const regex_t *regex,
                              const uint32_t tracks[2])
{
    const cut_options chosen = {
        .timed = o[0] & 1,
        .from_ns = o[0] & 2 ? INT64_MIN : o[1] * 40 - 1000,
        .to_ns = o[0] & 4 ? INT64_MAX : o[1] * 40 - 999 + o[2] * 100,
        .zones = zones[o[3] & 3],
        .streams = &tracks[0],
        .stream_count = o[4] & 1,
        .devices = &tracks[1],
        .device_count = o[4] >> 1 & 1,
        .kinds = o[5] & 1 ? (uint64_t)(o[6] | o[7] << 8 | o[8] << 16) << 1 : 0,
        .name = o[9] & 4 ? regex : NULL,
        .deps = (cut_deps)(o[10] % 3),
        .anonymise = o[11] & 1,
        .what = "--fuzz",
    };
    return chosen;
}

// Events of the trace that was written; UINT64_MAX: there is none.
static uint64_t read_back(uint64_t *hash)
{
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    ts_reader *reader;
    uint64_t count = 0;
    if (ts_reader_open(&reader, &desc) != TS_OK) return UINT64_MAX;
    check(ts_reader_verify(reader) == TS_OK, "a part is damaged");
    check(ts_reader_info(reader)->finished, "a part is not finished");
    *hash = ts_reader_info(reader)->file_bytes;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++) {
        count += ts_reader_info(reader)->counts[kind];
        *hash = *hash * 31 + ts_reader_info(reader)->counts[kind];
    }
    ts_reader_close(reader);
    return count;
}

static void cut(ts_reader *reader, const uint8_t *options)
{
    cli_trace trace = { .reader = reader, .info = ts_reader_info(reader) };
    const uint32_t tracks[] = { options[12], options[13] };
    regex_t regex;
    uint64_t hash = 0, again = 0;
    check(!regcomp(&regex, names[options[9] & 3], REG_EXTENDED | REG_NOSUB),
          "an expression");
    for (int round = 0; round <= (options[15] & 2) / 2; round++) {
        cut_job job = { .tool = &tool,
                        .path = "in.sbt",
                        .out = path,
                        .trace = &trace,
                        .options = options_of(options, &regex, tracks) };
        if (options[14] & 1) cut_frames(&job, frames[options[14] >> 1 & 3]);
        unlink(path);
        const bool done = cut_write(&job);
        const uint64_t count = read_back(round ? &again : &hash);
        check(done == (count != UINT64_MAX), "what is written, or not");
        // Rows of impossible times are lost on the way, and counted.
        check(!done || count <= job.counts.kept, "more than there was");
        if (!done) hash = again = 0;
        check(!round || hash == again, "the same cut is another one");
    }
    regfree(&regex);
}

static void merge(ts_reader *reader)
{
    const ts_writer_desc desc = { .path = path };
    copy_merge *const merge = calloc(1, sizeof *merge);
    ts_reader *const both[] = { reader, reader };
    copy_counts counts = { 0 };
    ts_writer *writer = NULL;
    uint64_t hash;
    unlink(path);
    check(merge && ts_writer_open(&writer, &desc) == TS_OK, "a writer");
    copy_common(merge, writer, both, 2);
    for (int i = 0; i < 2; i++) {
        copy c = { .reader = reader,
                   .writer = writer,
                   .path = "in.sbt",
                   .offset_ns = 10 * i,
                   .merge = merge };
        check(copy_begin(&c), "memory");
        copy_tracks(&c);
        copy_metadata(&c);
        copy_losses(&c);
        copy_blobs(&c);
        copy_clocks(&c);
        check(copy_events(&c, NULL, &counts, NULL) == TS_OK, "events");
        copy_end(&c);
    }
    copy_merge_end(merge);
    free(merge);
    check(ts_writer_close(writer) == TS_OK, "a merge is not written");
    check(read_back(&hash) <= counts.kept, "a merge holds more than there is");
}

// What the tool says is no news; reports of sanitizers are shown all the same.
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char quiet[] = "-close_fd_mask=2";
    char **const more = calloc((size_t)*argc + 2, sizeof *more);
    if (!more) return 0;
    memcpy(more, *argv, (size_t)*argc * sizeof *more);
    more[(*argc)++] = quiet;
    *argv = more;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size < OPTIONS) return 0;
    const ts_reader_desc desc = { .bytes = bytes + OPTIONS,
                                  .size = size - OPTIONS,
                                  .threads = 1 };
    ts_reader *reader;
    if (ts_reader_open(&reader, &desc) != TS_OK) return 0;
    if (!path[0])
        snprintf(path, sizeof path, "/tmp/fuzz_cut_%ld.sbt", (long)getpid());
    cut(reader, bytes);
    if (bytes[15] & 1) merge(reader);
    ts_reader_close(reader);
    unlink(path);
    return 0;
}
