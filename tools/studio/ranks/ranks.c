/*
    ranks.c - the traces of a folder as one trace, in a temporary file
*/
#define _GNU_SOURCE // mkdtemp, strverscmp
#include "tools/studio/ranks/repeats.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* ---- The list ------------------------------------------------------------ */

bool studio_ranks_is_folder(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static char *join(const char *folder, const char *name)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

// As record_collect has it: named like "run.sbt.Xb3k9Q", and private.
static bool is_recording(const char *path, const char *name, const char *of)
{
    struct stat about;
    const size_t size = strlen(of);
    return strlen(name) == size + 7 && !memcmp(name, of, size) &&
           name[size] == '.' && lstat(path, &about) == 0 &&
           S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & 077);
}

char *studio_ranks_recording(const char *path)
{
    const char *const slash = strrchr(path, '/');
    const char *const name = slash ? slash + 1 : path;
    char *const in =
        slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    char *found = NULL;
    DIR *const folder = in && access(path, F_OK) ? opendir(in) : NULL;
    for (struct dirent *e; folder && !found && (e = readdir(folder));) {
        found = join(in, e->d_name);
        if (found && is_recording(found, e->d_name, name)) break;
        free(found);
        found = NULL;
    }
    if (folder) closedir(folder);
    free(in);
    return found;
}

// Takes the path, also if it fails.
static bool add(studio_ranks *ranks, char *path)
{
    if (!path || !cli_grow(&ranks->items, &ranks->room, ranks->count + 1,
                           sizeof *ranks->items)) {
        free(path);
        return false;
    }
    ranks->items[ranks->count++] = path;
    return true;
}

static bool is_trace(const char *path, const char *name)
{
    struct stat about;
    const size_t size = strlen(name);
    return *name != '.' && size > 4 && !strcmp(name + size - 4, ".sbt") &&
           stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool add_entry(studio_ranks *ranks, const char *folder, const char *name)
{
    char *const path = join(folder, name);
    if (path && !is_trace(path, name)) {
        free(path);
        return true;
    }
    return add(ranks, path);
}

// rank9 is before rank10.
static int by_number(const void *left, const void *right)
{
    return strverscmp(*(char *const *)left, *(char *const *)right);
}

static bool add_folder(studio_ranks *ranks, const cli_tool *tool,
                       const char *path)
{
    const size_t before = ranks->count;
    bool ok = true;
    DIR *const folder = opendir(path);
    if (!folder)
        return cli_fail(tool, cli_errno_result(errno), path,
                        "cannot be read: %s", strerror(errno));
    for (struct dirent *e; ok && (e = readdir(folder));)
        ok = add_entry(ranks, path, e->d_name);
    closedir(folder);
    if (!ok) return cli_out_of_memory(tool);
    if (ranks->count == before)
        return cli_fail(tool, TS_ERR_NOT_FOUND, path,
                        "the folder has no traces (*.sbt)");
    qsort(ranks->items + before, ranks->count - before, sizeof *ranks->items,
          by_number);
    return (studio_ranks_leave_links(ranks, before) &&
            studio_ranks_leave_merged(ranks, tool, before)) ||
           cli_out_of_memory(tool);
}

bool studio_ranks_add(studio_ranks *ranks, const cli_tool *tool,
                      const char *path)
{
    if (studio_ranks_is_folder(path)) return add_folder(ranks, tool, path);
    return add(ranks, strdup(path)) || cli_out_of_memory(tool);
}

void studio_ranks_close(studio_ranks *ranks)
{
    for (size_t i = 0; i < ranks->count; i++)
        free(ranks->items[i]);
    free(ranks->items);
    *ranks = (studio_ranks){ .items = NULL };
}

/* ---- The file ------------------------------------------------------------ */

// What a signal that ends the program removes: ts-studio shows two at most.
enum { MOST_FILES = 2 };
static char *volatile present[MOST_FILES];

static const char unfinished[] = ".part"; // while it is written

// path: with room for that. Signal handlers may call this.
static void remove_file(char *path)
{
    char *const end = path + strlen(path);
    unlink(path);
    memcpy(end, unfinished, sizeof unfinished);
    unlink(path);
    *strrchr(path, '/') = 0;
    rmdir(path);
}

static void interrupted(int number)
{
    for (int i = 0; i < MOST_FILES; i++)
        if (present[i]) remove_file(present[i]);
    raise(number); // the default action again: SA_RESETHAND
}

static void watch(char *path)
{
    const struct sigaction action = { .sa_handler = interrupted,
                                      .sa_flags =
                                          (int)SA_RESETHAND | SA_NODEFER };
    const int signals[] = { SIGINT,  SIGTERM, SIGHUP,  SIGQUIT,
                            SIGPIPE, SIGALRM, SIGXCPU, SIGXFSZ };
    struct sigaction before;
    int at = 0;
    while (at < MOST_FILES - 1 && present[at])
        at++;
    present[at] = path;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &before) == 0 &&
            before.sa_handler == SIG_DFL)
            sigaction(signals[i], &action, NULL);
}

static const char *temporary(void)
{
    const char *const tmp = getenv("TMPDIR");
    return tmp && *tmp ? tmp : "/tmp";
}

// A merged trace has about the size of its parts.
static bool has_room(const studio_ranks *ranks, const cli_tool *tool)
{
    struct statvfs disk;
    struct stat about;
    uint64_t size = 0;
    for (size_t i = 0; i < ranks->count; i++)
        if (stat(ranks->items[i], &about) == 0) size += (uint64_t)about.st_size;
    if (statvfs(temporary(), &disk)) return true; // mkdtemp says why
    const uint64_t room = (uint64_t)disk.f_bavail * disk.f_frsize;
    return size <= room ||
           cli_fail(tool, TS_ERR_DISK_FULL, temporary(),
                    "%s are too little for traces of %s: name another folder "
                    "by TMPDIR",
                    cli_bytes(room).s, cli_bytes(size).s);
}

// Makes a folder, and returns the path of a file in it.
static char *make_path(const cli_tool *tool, const char *name)
{
    const size_t size =
        strlen(temporary()) + strlen(name) + sizeof unfinished + 32;
    char *const path = malloc(size);
    if (!path) {
        cli_out_of_memory(tool);
        return NULL;
    }
    snprintf(path, size, "%s/ts-studio-XXXXXX", temporary());
    if (!mkdtemp(path)) {
        cli_fail(tool, cli_errno_result(errno), temporary(),
                 "no temporary folder can be made: %s", strerror(errno));
        free(path);
        return NULL;
    }
    const size_t folder = strlen(path);
    snprintf(path + folder, size - folder, "/%s", name);
    return path;
}

char *studio_ranks_merge(const studio_ranks *ranks, const cli_tool *tool,
                         const char *name, const ts_observer *observer)
{
    if (!has_room(ranks, tool)) return NULL;
    char *const path = make_path(tool, name);
    if (!path) return NULL;
    const ts_merge_desc desc = { .paths = (const char *const *)ranks->items,
                                 .path_count = ranks->count,
                                 .output = path,
                                 .observer = *observer };
    ts_merge *merged = NULL;
    watch(path);
    if (ts_merge_files(&merged, &desc, NULL) == TS_OK) {
        ts_merge_close(merged);
        return path;
    }
    studio_ranks_remove(path);
    return NULL;
}

void studio_ranks_remove(char *path)
{
    if (!path) return;
    for (int i = 0; i < MOST_FILES; i++)
        if (present[i] == path) present[i] = NULL;
    remove_file(path);
    free(path);
}
