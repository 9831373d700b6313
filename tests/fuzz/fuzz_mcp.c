/*
    fuzz_mcp.c - whatever the lines are, each is answered with one message or
    none, which is JSON, and the server goes on

    The tools are the library's, which is not instrumented here; what reads
    messages and writes answers is.
*/
#define _GNU_SOURCE
#include "tools/mcp/protocol.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/replay/reader/sbt_sample.h"

static const cli_tool tool = { .name = "fuzz" };
static mcp_server *server;

// An answer is one line of JSON.
static void look(void *user, const char *line, size_t size)
{
    mcp_json json;
    (void)user;
    if (memchr(line, '\n', size) || !mcp_json_read(&json, line, size)) abort();
    mcp_json_close(&json);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    static char path[64];
    static const char *const paths[] = { path, "tests/cli/replay-lossy.sbt" };
    forge sample;
    const int file = memfd_create("trace", 0);
    sample_forge(&sample);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (file < 0 ||
        write(file, sample.bytes, sample.size) != (ssize_t)sample.size)
        abort();
    forge_close(&sample);
    server = mcp_open(&tool, paths, 2, look, NULL);
    if (!server) abort();
    return 0;
}

// SQL may run for long: no query of the corpus does.
static bool may_run_long(const uint8_t *bytes, size_t size)
{
    return memmem(bytes, size, "RECURSIVE", 9) ||
           memmem(bytes, size, "recursive", 9);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const char *at = (const char *)bytes;
    const char *const end = at + size;
    if (may_run_long(bytes, size)) return 0;
    server->revision = MCP_NONE;
    while (at < end) {
        const char *const line = memchr(at, '\n', (size_t)(end - at));
        const char *const stop = line ? line : end;
        mcp_take_line(server, at, (size_t)(stop - at));
        at = stop + (line != NULL);
    }
    return 0;
}
