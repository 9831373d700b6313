/*
    folder.c - the folder into which a vendor's tool writes
*/
#define _XOPEN_SOURCE 700 // nftw, realpath
#include "tools/record/with/with.h"
#include <fnmatch.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILES_MOST = 65536 };

/* ---- Making it ----------------------------------------------------------- */

// Whether every tool takes a path as it is.
static bool is_harmless(const char *path)
{
    return *path != '-' &&
           !path[strspn(path, "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=,@")];
}

static bool fail(const with_run *run, const char *path)
{
    cli_error(run->job->tool, path,
              "cannot create a temporary folder: %s; choose another place with "
              "-o",
              strerror(errno));
    return false;
}

// Makes run->shown of an absolute path. For a tool that puts the working folder
// before it, the path leads to the root folder first.
static bool show(with_run *run, const char *path)
{
    char *const here = run->vendor->relative ? realpath(".", NULL) : NULL;
    size_t size = 0;
    for (const char *at = here; at && *at; at++)
        if (*at == '/' && at[1] && size + 4 < sizeof run->shown)
            size += (size_t)sprintf(run->shown + size, "%s..", size ? "/" : "");
    free(here);
    if (size + strlen(path) >= sizeof run->shown) return false;
    strcpy(run->shown + size, path);
    return true;
}

// Makes a link with a harmless name to the folder.
static bool make_link(with_run *run)
{
    char path[sizeof run->link + 8];
    const char *const place = getenv("TMPDIR");
    const bool usable =
        place && *place && strlen(place) < 40 && is_harmless(place);
    snprintf(run->link, sizeof run->link, "%s/ts-record-XXXXXX",
             usable ? place : "/tmp");
    if (!mkdtemp(run->link)) {
        *run->link = 0;
        return fail(run, usable ? place : "/tmp");
    }
    snprintf(path, sizeof path, "%s/out", run->link);
    return (symlink(run->folder, path) == 0 && show(run, path)) ||
           fail(run, run->link);
}

bool with_folder_make(with_run *run)
{
    const char *const out = run->job->out, *const slash = strrchr(out, '/');
    char path[RECORD_PATH];
    const int size =
        snprintf(path, sizeof path, "%.*sts-%s-XXXXXX",
                 slash ? (int)(slash - out) + 1 : 0, out, run->vendor->name);
    errno = ENAMETOOLONG;
    if (size >= (int)sizeof path - 64 || !mkdtemp(path)) return fail(run, out);
    char *const whole = realpath(path, NULL);
    const bool fits = whole && strlen(whole) < sizeof run->folder - 64;
    snprintf(run->folder, sizeof run->folder, "%s", fits ? whole : path);
    free(whole);
    if (!fits) errno = ENAMETOOLONG;
    if (!fits) return fail(run, out);
    if (is_harmless(run->folder) && show(run, run->folder)) return true;
    return make_link(run);
}

/* ---- Removing it --------------------------------------------------------- */

// "run.sbt" of nsys: "run.sbt.nsys", unless there is one.
static void rename_kept(with_run *run)
{
    char name[RECORD_PATH + 32];
    struct stat about;
    snprintf(name, sizeof name, "%s.%s", run->job->out, run->vendor->name);
    if (lstat(name, &about) == 0 || strlen(name) >= sizeof run->folder ||
        rename(run->folder, name) != 0)
        return;
    strcpy(run->folder, name);
}

void with_folder_end(with_run *run, bool keep)
{
    char link[sizeof run->link + 8];
    snprintf(link, sizeof link, "%s/out", run->link);
    if (*run->link) unlink(link);
    if (*run->link) rmdir(run->link);
    if (!*run->folder) return;
    if (keep)
        rename_kept(run);
    else
        cli_remove_folder(run->folder);
}

/* ---- What is in it ------------------------------------------------------- */

// nftw passes no argument on: ts-record has one run.
static with_words *found;

static int take_one(const char *path, const struct stat *about, int type,
                    struct FTW *place)
{
    (void)about;
    (void)place;
    if (type == FTW_F && found->count < FILES_MOST) with_word_add(found, path);
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

// Keeps the files whose path in the folder a pattern matches, if there are any.
static bool keep_matching(with_run *run, const with_words *all,
                          const char *pattern)
{
    const size_t root = strlen(run->folder) + 1;
    for (size_t i = 0; i < all->count; i++)
        if (fnmatch(pattern, all->items[i] + root, 0) == 0)
            with_word_add(&run->files, all->items[i]);
    return run->files.count != 0;
}

bool with_folder_find(with_run *run)
{
    with_words all = { .count = 0 };
    found = &all;
    (void)nftw(run->folder, take_one, 16, FTW_PHYS);
    if (all.count) qsort(all.items, all.count, sizeof *all.items, by_name);
    for (const char *const *p = run->vendor->files; *p; p++)
        if (keep_matching(run, &all, *p)) break;
    const bool failed = all.failed || run->files.failed;
    with_words_free(&all);
    if (failed) cli_error(run->job->tool, NULL, "out of memory");
    return !failed;
}
