/*
    module.c - a scene as a WebAssembly module

    The page opens a trace, which is read through a function of the page, and
    passes questions: see wire.h. Imported are that function, `inflate` for
    Zstd, and what the C library wants to have for writing to files, which
    fails. Of no use, and empty, in other programs.
*/
#ifdef __wasm__
#define TRACESMITH_REPLAY_IMPLEMENTATION
#define TRACESMITH_IMPLEMENTATION
#endif
#include "tools/studio/scene/wire.h"
#ifdef __wasm__
#include <stdlib.h>

#define EXPORT(name) __attribute__((export_name(#name)))

static ts_reader *reader;
static scene *opened;
static uint8_t *answer;
static size_t answer_size;

EXPORT(allocate) void *allocate(size_t size)
{
    return malloc(size);
}

static void close_all(void)
{
    scene_close(opened);
    ts_reader_close(reader);
    opened = NULL;
    reader = NULL;
}

// Reads a part of the trace. Returns how many bytes it read; -1: it failed.
__attribute__((import_module("page"), import_name("read"))) double
page_read(double offset, void *to, size_t size);

static int64_t read_page(void *user, uint64_t offset, void *to, size_t size)
{
    (void)user;
    return (int64_t)page_read((double)offset, to, size);
}

// Opens the trace of so many bytes that page_read reads. Returns a ts_result.
EXPORT(open) int32_t open_trace(double size)
{
    const ts_reader_desc desc = {
        .read = read_page, .size = (uint64_t)size, .lazy = true, .threads = 1
    };
    close_all();
    const ts_result result = ts_reader_open(&reader, &desc);
    return result == TS_OK ? scene_open(&opened, reader) : result;
}

// Answers a question in memory that `allocate` returned, which is freed.
EXPORT(ask) const void *ask(uint8_t *request, size_t size)
{
    free(answer);
    answer = NULL;
    answer_size = 0;
    if (opened) scene_answer(opened, request, size, &answer, &answer_size);
    free(request);
    return answer;
}

EXPORT(answer_size) size_t size_of_answer(void)
{
    return answer_size;
}

EXPORT(result_text) const char *text_of_result(int32_t result)
{
    return ts_result_text((ts_result)result);
}

#endif // __wasm__
