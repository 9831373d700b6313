/*
    output_file.c - output files of the tools
*/
#define _XOPEN_SOURCE 700 // realpath
#include "tools/cli/cli.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return !strcmp(path, "-");
}

static bool cannot_write(const cli_tool *tool, const char *path, int why)
{
    cli_fail(tool, cli_errno_result(why), *path ? path : "''",
             "cannot be written: %s", strerror(why));
    return false;
}

/* ---- Before anything is read --------------------------------------------- */

bool cli_inputs_check(const cli_tool *tool, const char *const *inputs,
                      size_t count)
{
    size_t streams = 0;
    for (size_t i = 0; i < count; i++)
        streams += !strcmp(inputs[i], "-");
    if (streams < 2) return true;
    cli_fail(tool, TS_ERR_USAGE, NULL, "standard input is given twice");
    return false;
}

static bool is_same_output(const char *a, const char *b)
{
    struct stat st;
    if (!strcmp(a, b)) return true;
    return !is_stdout(a) && !is_stdout(b) && cli_same_file(a, b) &&
           !stat(a, &st) && S_ISREG(st.st_mode);
}

bool cli_outputs_check(const cli_tool *tool, const cli_output *outputs,
                       size_t count, const char *const *inputs,
                       size_t input_count)
{
    for (size_t i = 0; i < count; i++) {
        const cli_output *const to = &outputs[i];
        for (size_t k = 0; to->path && k < i; k++) {
            if (!outputs[k].path || !is_same_output(outputs[k].path, to->path))
                continue;
            cli_fail(tool, TS_ERR_USAGE, NULL, "%s and %s both write to %s",
                     outputs[k].option, to->option,
                     is_stdout(to->path) ? "standard output" : to->path);
            return false;
        }
        for (size_t k = 0; to->path && k < input_count; k++) {
            if (is_stdout(to->path) || !cli_same_file(inputs[k], to->path))
                continue;
            cli_fail(tool, TS_ERR_IO, to->path,
                     "%s would replace an input; choose another output",
                     to->option);
            return false;
        }
        if (to->path && !cli_replace_check(tool, to->path, to->kind))
            return false;
    }
    return true;
}

/* ---- Writing ------------------------------------------------------------- */

// A symbolic link is followed: its target is replaced, not the link.
static bool name_files(cli_out *out, const char *path)
{
    out->target = realpath(path, NULL);
    if (!out->target) out->target = strdup(path);
    const size_t size = out->target ? strlen(out->target) + 24 : 0;
    out->temporary = malloc(size);
    if (!out->target || !out->temporary) return false;
    snprintf(out->temporary, size, "%s.%ld.tmp", out->target, (long)getpid());
    return true;
}

static void free_names(cli_out *out)
{
    free(out->target);
    free(out->temporary);
}

// Opens a temporary file with the mode of the file that it will replace.
static int open_temporary(cli_out *out, const char *path,
                          const struct stat *old)
{
    if (old && access(path, W_OK)) return -1;
    if (!name_files(out, path)) return -1;
    const int fd =
        open(out->temporary,
             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd >= 0 && old) (void)fchmod(fd, old->st_mode & 0777);
    return fd;
}

bool cli_out_open(cli_out *out, const cli_tool *tool, const char *path)
{
    *out = (cli_out){ .tool = tool, .path = path };
    if (is_stdout(path)) {
        out->stream = stdout;
        return true;
    }
    struct stat st;
    const bool exists = !stat(path, &st);
    // Written directly: a pipe, a terminal, a link without a target.
    const bool in_place = exists ? !S_ISREG(st.st_mode)
                                 : !lstat(path, &st) && S_ISLNK(st.st_mode);
    const int fd = in_place ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666)
                            : open_temporary(out, path, exists ? &st : NULL);
    if (fd >= 0) out->stream = fdopen(fd, "w");
    if (out->stream) return true;
    cannot_write(tool, path, errno);
    if (fd >= 0) close(fd);
    if (fd >= 0 && out->temporary) remove(out->temporary);
    free_names(out);
    return false;
}

bool cli_out_close(cli_out *out, bool keep)
{
    if (out->stream == stdout) return keep; // cli_finish reports lost output
    errno = 0;
    int why = 0;
    if (ferror(out->stream))
        putc('\n', out->stream); // sets errno again for the message
    if (fflush(out->stream) || ferror(out->stream)) why = errno ? errno : EIO;
    if (fclose(out->stream) && !why) why = errno;
    if (keep && !why && out->temporary && rename(out->temporary, out->target))
        why = errno;
    if (out->temporary && (!keep || why)) remove(out->temporary);
    free_names(out);
    return !why ? keep : cannot_write(out->tool, out->path, why);
}
