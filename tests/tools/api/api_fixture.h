/*
    api_fixture.h - a folder with traces, and an output and an observer that
    remember
*/
#ifndef API_FIXTURE_H
#define API_FIXTURE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/tracesmith_tools.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/replay/reader/sbt_sample.h"

typedef struct folder {
    char path[64];
    char trace[96];  // with everything in it
    char kineto[96]; // of the PyTorch profiler
    char files[8][96];
    size_t file_count;
} folder;

// The path of a file that may be made there.
static inline const char *folder_file(folder *f, const char *name)
{
    assert_true(f->file_count < 8);
    char *const path = f->files[f->file_count++];
    const size_t size = strlen(f->path);
    assert_true(size + strlen(name) + 2 <= sizeof f->files[0]);
    memcpy(path, f->path, size);
    path[size] = '/';
    strcpy(path + size + 1, name);
    return path;
}

static inline void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    assert_int_equal(fclose(out), 0);
}

static const char kineto_text[] =
    "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 3, "
    "\"world_size\": 8}, \"traceEvents\": [\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\","
    "\"pid\":10,\"tid\":10,\"ts\":1000,\"dur\":5,"
    "\"args\":{\"correlation\":7}},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"work\",\"pid\":0,\"tid\":7,"
    "\"ts\":1010,\"dur\":20,\"args\":{\"device\":0,\"stream\":7,"
    "\"correlation\":7}}\n]}\n";

static inline void folder_open(folder *f)
{
    forge bytes;
    *f = (folder){ .path = "/tmp/ts_api_XXXXXX" };
    assert_non_null(mkdtemp(f->path));
    snprintf(f->trace, sizeof f->trace, "%s/sample.sbt", f->path);
    snprintf(f->kineto, sizeof f->kineto, "%s/kineto.json", f->path);
    sample_forge(&bytes);
    write_file(f->trace, bytes.bytes, bytes.size);
    forge_close(&bytes);
    write_file(f->kineto, kineto_text, sizeof kineto_text - 1);
}

// Nothing else is left in it.
static inline void folder_close(folder *f)
{
    unlink(f->trace);
    unlink(f->kineto);
    for (size_t i = 0; i < f->file_count; i++)
        unlink(f->files[i]);
    assert_int_equal(rmdir(f->path), 0);
}

// The folder of the test that runs, for UNIT_TEST_WITHIN.
static folder at;

static inline int set_up(void **state)
{
    folder_open(&at);
    return 0;
}

static inline int tear_down(void **state)
{
    folder_close(&at);
    return 0;
}

/* ---- What is written and said -------------------------------------------- */

typedef struct memory {
    char *text; // ends with a zero
    size_t size;
} memory;

static inline bool remember(void *user, const void *bytes, size_t size)
{
    memory *const m = user;
    char *const more = realloc(m->text, m->size + size + 1);
    if (!more) return false;
    m->text = more;
    memcpy(m->text + m->size, bytes, size);
    m->text[m->size += size] = 0;
    return true;
}

static inline bool refuse(void *user, const void *bytes, size_t size)
{
    return false;
}

static inline ts_output to_memory(memory *m)
{
    return (ts_output){ .write = remember, .user = m };
}

static inline void take_message(void *user, const char *text)
{
    remember(user, text, strlen(text));
    remember(user, "\n", 1);
}

static inline ts_observer observed(memory *m)
{
    return (ts_observer){ .user = m, .message = take_message };
}

static inline void forget(memory *m)
{
    free(m->text);
    *m = (memory){ 0 };
}

// The error is that one and says so of `words`.
#define assert_error(error, wanted, words) \
    do { \
        assert_int_equal((error).result, wanted); \
        if (!strstr((error).text, words)) \
            fail_msg("'%s' says nothing of '%s'", (error).text, words); \
    } while (0)

#endif // API_FIXTURE_H
