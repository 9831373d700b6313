/*
    cli_files.c - what is read and what is written are not the same
*/
#include "tools/ts_cli.h"
#include <sys/stat.h>

static bool stat_input(const char *path, struct stat *st)
{
    return !(strcmp(path, "-") ? stat(path, st) : fstat(0, st));
}

bool cli_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat_input(a, &x) && stat_input(b, &y) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

bool cli_regular_check(const cli_tool *tool, const char *path)
{
    struct stat out;
    if (stat(path, &out) || S_ISREG(out.st_mode)) return true;
    cli_error(tool, path, "cannot be written: %s",
              S_ISDIR(out.st_mode) ? strerror(EISDIR) : "not a regular file");
    return false;
}

bool cli_trace_apart(const cli_tool *tool, const cli_trace *a,
                     const cli_trace *b)
{
    static const uint8_t unknown[16];
    const uint8_t *const session = b->info->session;
    if (cli_same_file(a->path, b->path)) {
        cli_error(tool, b->path,
                  "is given twice; several traces are of one process each");
        return false;
    }
    if (memcmp(a->info->session, session, sizeof unknown) ||
        !memcmp(session, unknown, sizeof unknown))
        return true;
    cli_error(tool, b->path,
              "is of the same session as %s: what that process did would "
              "count twice",
              a->path);
    return false;
}

bool cli_traces_apart(const cli_tool *tool, const cli_trace *first,
                      size_t count, size_t stride)
{
    const char *const at = (const char *)first;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!cli_trace_apart(
                    tool, (const cli_trace *)(const void *)(at + k * stride),
                    (const cli_trace *)(const void *)(at + i * stride)))
                return false;
    return true;
}

bool cli_output_check(const cli_tool *tool, const char *path,
                      const char *const *inputs, size_t count)
{
    if (!strcmp(path, "-")) {
        cli_error(tool, NULL,
                  "-o -: a trace is written to a file, not to standard output");
        return false;
    }
    if (!*path) {
        cli_error(tool, NULL, "-o '': %s", strerror(ENOENT));
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!cli_same_file(inputs[i], path)) continue;
        cli_error(tool, path, "is the trace itself; name another output");
        return false;
    }
    return cli_regular_check(tool, path);
}
