/*
    prepare.c - finds the library and makes the folder
*/
#define _XOPEN_SOURCE 700 // realpath
#include "tools/record/record.h"
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The library -------------------------------------------------------- */

// Looks in the folder of the tool (a build folder), then where `make install`
// puts the library.
static bool find_library(record_job *job)
{
    static const char *const places[] = {
        "libtracesmith-inject.so", "../lib/tracesmith/libtracesmith-inject.so"
    };
    char self[RECORD_PATH], path[2 * RECORD_PATH];
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    if (size <= 0) {
        cli_error(job->tool, "/proc/self/exe", "%s", strerror(errno));
        return false;
    }
    self[size] = 0;
    const char *const folder = dirname(self);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, places[i]);
        if (access(path, R_OK) == 0 && strlen(path) < sizeof job->inject) {
            strcpy(job->inject, path);
            return true;
        }
    }
    cli_error(job->tool, NULL,
              "libtracesmith-inject.so was not found in %s or its "
              "../lib/tracesmith: build it with make, or install it with "
              "make install",
              folder);
    return false;
}

static bool make_folder(record_job *job)
{
    char whole[RECORD_PATH];
    const int size =
        snprintf(job->folder, sizeof job->folder, "%s.XXXXXX", job->out);
    if (size >= (int)sizeof job->folder) {
        cli_error(job->tool, job->out, "the path is too long");
        return false;
    }
    // Processes may change their directory: they need an absolute path.
    if (!mkdtemp(job->folder) || !realpath(job->folder, whole)) {
        cli_error(job->tool, job->out,
                  "cannot create a temporary folder next to it: %s; choose "
                  "another place with -o",
                  strerror(errno));
        return false;
    }
    strcpy(job->folder, whole);
    return true;
}

bool record_check_out(record_job *job)
{
    struct stat about;
    if (!*job->pattern || !strcmp(job->pattern, "-")) {
        cli_error(job->tool, NULL, "-o needs the name of a file");
        return false;
    }
    if (!record_name(job)) {
        cli_error(job->tool, job->pattern, "the path is too long");
        return false;
    }
    if (stat(job->out, &about) == 0 && !S_ISREG(about.st_mode)) {
        cli_error(job->tool, job->out,
                  "exists and is not a regular file; choose another name with "
                  "-o");
        return false;
    }
    return cli_replace_check(job->tool, job->out, CLI_TRACE);
}

bool record_prepare(record_job *job)
{
    if (!record_check_out(job) || !find_library(job) || !make_folder(job))
        return false;
    record_spool_make(job);
    const record_options *const w = &job->options;
    if (!w->live && !w->estimate && !w->delay_ns && !w->duration_ns &&
        !w->flight_ns && !w->size_limit && !w->capture_on)
        return true;
    if (record_control_make(job)) return true;
    record_spool_remove(job);
    rmdir(job->folder);
    return false;
}

// Whether ts-record made a folder: named like "run.sbt.Xb3k9Q", and private to
// this user.
static bool is_folder(const char *path)
{
    struct stat about;
    const char *const dot = strrchr(path, '.');
    return dot && strlen(dot) == 7 && lstat(path, &about) == 0 &&
           S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           !(about.st_mode & 077);
}

bool record_collect(record_job *job, const char *folder)
{
    char whole[PATH_MAX], control[RECORD_PATH + 16];
    if (!is_folder(folder) || !realpath(folder, whole) ||
        strlen(whole) >= sizeof job->folder) {
        cli_error(job->tool, folder,
                  "is not a folder that ts-record left; ts-record prints its "
                  "name when children are still running");
        return false;
    }
    strcpy(job->folder, whole);
    job->collected = true;
    record_spool_load(job);
    record_own_load(job);
    snprintf(control, sizeof control, "%s/control", whole);
    record_parts_await(job);
    if (!job->awaited) unlink(control);
    return record_check_out(job);
}

void record_give_up(const record_job *job)
{
    record_control_remove(job);
    record_spool_remove(job);
    record_own_remove(job);
    if (!job->awaited) rmdir(job->folder);
}
