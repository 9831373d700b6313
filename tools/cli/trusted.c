/*
    trusted.c - the list of traces that may run code without --trust

    A capture contains code and its arguments, so whoever made the trace decides
    what runs. Traces that the user recorded are listed in a private folder, by
    a digest of all their bytes. Nothing in or near a trace can claim to be
    trusted, and nobody else can write the list. docs/security.md explains why
    this is enough.
*/
#define _GNU_SOURCE
#include "tools/cli/cli.h"
#include <fcntl.h>
#include <libgen.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The list ------------------------------------------------------------ */

// Whether a folder is the user's and nobody else can change it. others: mode
// bits that it must not have.
static bool is_private(int folder, mode_t others)
{
    struct stat st;
    return fstat(folder, &st) == 0 && S_ISDIR(st.st_mode) &&
           st.st_uid == geteuid() && !(st.st_mode & others);
}

// Opens a folder within another one, which it closes. With `make`, creates it
// if it is missing.
static int enter(int within, const char *name, bool make)
{
    if (within < 0) return -1;
    if (make) (void)mkdirat(within, name, 0700);
    const int folder =
        openat(within, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    close(within);
    if (folder < 0 || is_private(folder, 0077)) return folder;
    close(folder);
    return -1;
}

// Creates all missing folders of a path.
static void make_folders(char *path)
{
    for (char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        *end = 0;
        (void)mkdir(path, 0700);
        *end = '/';
    }
    (void)mkdir(path, 0700);
}

// Opens the folder for state of programs: $XDG_STATE_HOME, else ~/.local/state.
// Symbolic links are followed up to this folder, not within it.
static int open_state(bool make)
{
    const char *const state = getenv("XDG_STATE_HOME");
    const char *const home = getenv("HOME");
    char path[4096];
    int size = -1;
    if (state && *state == '/')
        size = snprintf(path, sizeof path, "%s", state);
    else if (home && *home == '/')
        size = snprintf(path, sizeof path, "%s/.local/state", home);
    if (size < 0 || (size_t)size >= sizeof path) return -1;
    if (make) make_folders(path);
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 || is_private(folder, S_IWGRP | S_IWOTH)) return folder;
    close(folder);
    return -1;
}

static int open_list(bool make)
{
    return enter(enter(open_state(make), "tracesmith", make), "trusted", make);
}

/* ---- The file ------------------------------------------------------------ */

// Whether nobody else can write to a file.
static bool is_settled(int file)
{
    struct stat st;
    return fstat(file, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_uid == geteuid() && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

// Whether nobody else can replace a file.
static bool is_in_safe_place(int file)
{
    char link[64], path[4096];
    struct stat st;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    const ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return false;
    path[size] = 0;
    return stat(dirname(path), &st) == 0 &&
           (!(st.st_mode & (S_IWGRP | S_IWOTH)) || st.st_mode & S_ISVTX);
}

typedef struct file_name { // name of its entry in the list
    char s[2 * CLI_DIGEST_BYTES + 1];
} file_name;

static bool name_of(int file, file_name *name)
{
    enum { PART = 1 << 20 };
    uint8_t digest[CLI_DIGEST_BYTES];
    uint8_t *const part = malloc(PART);
    cli_digest d;
    off_t at = 0;
    ssize_t size = -1;
    cli_digest_begin(&d);
    while (part && (size = pread(file, part, PART, at)) > 0) {
        cli_digest_add(&d, part, (size_t)size);
        at += size;
    }
    free(part);
    cli_digest_end(&d, digest);
    for (size_t i = 0; i < CLI_DIGEST_BYTES; i++)
        snprintf(name->s + 2 * i, 3, "%02x", digest[i]);
    return size == 0;
}

static bool is_listed(int list, const file_name *name)
{
    struct stat st;
    return fstatat(list, name->s, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

bool cli_trace_is_own(const ts_reader *reader)
{
    const int file = ts_reader_file(reader);
    if (file < 0 || !is_settled(file) || !is_in_safe_place(file)) return false;
    const int list = open_list(false);
    file_name name;
    const bool own =
        list >= 0 && name_of(file, &name) && is_listed(list, &name);
    if (list >= 0) close(list);
    return own;
}

// Errors are ignored: without a list a replay requires --trust, nothing else.
void cli_trace_own(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const int list = file >= 0 && is_settled(file) ? open_list(true) : -1;
    file_name name;
    if (list >= 0 && name_of(file, &name)) {
        const int entry = openat(
            list, name.s, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (entry >= 0) close(entry);
    }
    if (list >= 0) close(list);
    if (file >= 0) close(file);
}
