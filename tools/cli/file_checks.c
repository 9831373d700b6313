/*
    file_checks.c - checks that an output is none of the inputs
*/
#include "tools/cli/cli.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static bool stat_input(const char *path, struct stat *st)
{
    return !(strcmp(path, "-") ? stat(path, st) : fstat(0, st));
}

// Unnamed pipes belong to the kernel's pipe file system.
static bool is_nameless_pipe(int fd, const struct stat *st)
{
    struct statfs fs; // f_type: statfs(2)
    return S_ISFIFO(st->st_mode) && !fstatfs(fd, &fs) &&
           fs.f_type == 0x50495045 /* PIPEFS_MAGIC */;
}

static int open_kind(const char *path, bool pipes, const char **why)
{
    struct stat st;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    *why = fd < 0 ? strerror(errno) : ts_result_text(TS_ERR_NOT_FILE);
    if (fd < 0) return -1;
    if (!fstat(fd, &st) &&
        (S_ISREG(st.st_mode) ||
         (pipes && is_nameless_pipe(fd, &st) && !fcntl(fd, F_SETFL, 0))))
        return fd;
    close(fd);
    return -1;
}

int cli_open_input(const char *path, const char **why)
{
    return open_kind(path, true, why);
}

int cli_open_plain(const char *path)
{
    const char *why;
    return open_kind(path, false, &why);
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
    cli_fail(tool, TS_ERR_IO, path, "cannot be written: %s",
             S_ISDIR(out.st_mode) ? strerror(EISDIR) : "not a regular file");
    return false;
}

bool cli_trace_distinct(const cli_tool *tool, const cli_trace *a,
                        const cli_trace *b)
{
    static const uint8_t unknown[16];
    const uint8_t *const session = b->info->session;
    if (cli_same_file(a->path, b->path)) {
        cli_fail(tool, TS_ERR_STATE, b->path,
                 "is given twice; each trace must be of a different process");
        return false;
    }
    if (memcmp(a->info->session, session, sizeof unknown) ||
        !memcmp(session, unknown, sizeof unknown))
        return true;
    cli_fail(tool, TS_ERR_STATE, b->path,
             "belongs to the same session as %s, so that its events would "
             "count twice",
             a->path);
    return false;
}

bool cli_traces_distinct(const cli_tool *tool, const cli_trace *first,
                         size_t count, size_t stride)
{
    const char *const at = (const char *)first;
    for (size_t i = 1; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (!cli_trace_distinct(
                    tool, (const cli_trace *)(const void *)(at + k * stride),
                    (const cli_trace *)(const void *)(at + i * stride)))
                return false;
    return true;
}

bool cli_output_check(const cli_tool *tool, const char *path,
                      const char *const *inputs, size_t count)
{
    if (!strcmp(path, "-")) {
        cli_fail(tool, TS_ERR_IO, NULL,
                 "-o -: a trace must be written to a file, not to standard "
                 "output");
        return false;
    }
    if (!*path) {
        cli_fail(tool, TS_ERR_IO, NULL, "-o '': %s", strerror(ENOENT));
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!cli_same_file(inputs[i], path)) continue;
        cli_fail(tool, TS_ERR_IO, path,
                 "is the input trace; choose another output");
        return false;
    }
    return cli_regular_check(tool, path) &&
           cli_replace_check(tool, path, CLI_TRACE);
}
