/*
    record_own.c - traces that the program records by itself

    A program with a session of its own chooses where its trace is, and leaves
    a link to it in the folder: see ts__session_tell in src/record. What is
    there is read and stays as it is.
*/
#define _DEFAULT_SOURCE // readlink, symlink
#include "tools/record/record.h"
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- How it finds us ----------------------------------------------------- */

static char folders[64], link_path[160];
static int problem; // why there is no link: a number of errno

// In ticks since boot, as the program reads it. Source: proc(5), field 22.
static uint64_t began(void)
{
    char text[1024] = "";
    unsigned long long ticks = 0;
    FILE *const file = fopen("/proc/self/stat", "r");
    const size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file) fclose(file);
    text[size] = 0;
    const char *at = strrchr(text, ')'); // field 2
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    if (at) ticks = strtoull(at + 1, NULL, 10);
    return ticks;
}

// A ts-record that was killed left its link: of other containers, whose
// numbers of processes we do not know, the folder is there.
static void remove_stale(void)
{
    char path[sizeof folders + 300];
    const struct dirent *entry;
    DIR *const dir = opendir(folders);
    while (dir && (entry = readdir(dir)) != NULL) {
        const long process = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "%s/%s", folders, entry->d_name);
        if (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH &&
            access(path, F_OK) != 0)
            unlink(path);
    }
    if (dir) closedir(dir);
}

// False: somebody else's would be told where our traces are.
static bool make_folders(void)
{
    struct stat about;
    if ((mkdir(folders, 0700) != 0 && errno != EEXIST) ||
        lstat(folders, &about) != 0)
        return false;
    errno = EEXIST;
    return S_ISDIR(about.st_mode) && about.st_uid == geteuid();
}

// Without it such a program is recorded, and not found.
void record_own_begin(const record_job *job)
{
    enum { TIMES = 100 }; // that others end at the moment when we begin
    snprintf(folders, sizeof folders, "/dev/shm/tracesmith-record-%u",
             (unsigned)geteuid());
    snprintf(link_path, sizeof link_path, "%s/%ld.%" PRIu64, folders,
             (long)getpid(), began());
    for (int i = 0; i < TIMES && (make_folders() || errno == ENOENT); i++)
        if (symlink(job->folder, link_path) == 0) {
            remove_stale();
            return;
        }
    problem = errno;
    *link_path = 0;
}

// The folder goes with the last ts-record of the user.
void record_own_end(void)
{
    if (*link_path) unlink(link_path);
    rmdir(folders);
}

/* ---- What it left -------------------------------------------------------- */

// "own-PROCESS-SESSION.sbt"
bool record_own_is(const char *name)
{
    return !strncmp(name, "own-", 4);
}

static bool is_session(const char *name, const char *path)
{
    uint64_t session[2];
    char text[48];
    ts_file_header header;
    struct stat about;
    // A pipe without a writer would be waited for.
    FILE *const file = stat(path, &about) == 0 && S_ISREG(about.st_mode)
                           ? fopen(path, "rb")
                           : NULL;
    const bool read_it = file && fread(&header, sizeof header, 1, file) == 1;
    if (file) fclose(file);
    if (!read_it) return false;
    memcpy(session, header.session, sizeof session);
    snprintf(text, sizeof text, "-%016" PRIx64 "%016" PRIx64 ".sbt", session[0],
             session[1]);
    const size_t size = strlen(name), end = strlen(text);
    return size > end && !strcmp(name + size - end, text);
}

bool record_own_path(const record_job *job, const char *name, char *path)
{
    char link[RECORD_PATH + 256];
    snprintf(link, sizeof link, "%s/%s", job->folder, name);
    const ssize_t size = readlink(link, path, RECORD_PATH - 1);
    path[size > 0 ? size : 0] = 0;
    return size > 0 && is_session(name, path);
}

// Apart from each other: 0 if they overlap.
static int64_t gap_between(const record_part *a, const record_part *b)
{
    const int64_t after = (int64_t)(b->start_ns - a->end_ns);
    const int64_t before = (int64_t)(a->start_ns - b->end_ns);
    return after > 0 ? after : before > 0 ? before : 0;
}

// A process that calls exec leaves several: the nearest one is of the same.
size_t record_own_partner(const record_job *job, size_t part)
{
    const record_part *const own = &job->parts[part];
    size_t found = part;
    int64_t least = INT64_MAX;
    for (size_t i = 0; own->own && i < part; i++) {
        const record_part *const p = &job->parts[i];
        const int64_t gap = gap_between(own, p);
        if (p->process != own->process || p->live || p->left || gap >= least)
            continue;
        found = i;
        least = gap;
    }
    return found;
}

void record_own_compare(record_job *job)
{
    for (size_t i = 0; i < job->part_count; i++) {
        record_part *const own = &job->parts[i];
        for (size_t k = 0; own->own && k < i; k++)
            own->left |= !job->parts[k].own && !job->parts[k].live &&
                         job->parts[k].process == own->process &&
                         job->parts[k].backends & own->backends;
    }
}

/* ---- The end ------------------------------------------------------------- */

// Anybody can have made a folder of that name. Where there is no shared memory
// it matters if nothing else was recorded.
static void say_problem(const record_job *job)
{
    if (!problem || (problem != EEXIST && job->part_count)) return;
    fprintf(stderr,
            "ts-record: what the program recorded itself would not be found: "
            "%s %s\n",
            folders,
            problem == EEXIST ? "is there and not this user's"
                              : "cannot be made in shared memory");
}

void record_own_say(const record_job *job)
{
    enum { SAID = 8 };
    size_t count = 0;
    say_problem(job);
    for (size_t i = 0; i < job->part_count; i++) {
        const record_part *const part = &job->parts[i];
        if (!part->own || part->live) continue;
        if (!part->left && ++count > SAID) continue;
        fputs("ts-record: ", stderr);
        cli_put_text(stderr, part->path, strlen(part->path));
        fputs(part->left ? ", which the program recorded itself, is not in it: "
                           "both have the same operations of the GPU\n"
                         : ", which the program recorded itself, is in it\n",
              stderr);
    }
    if (count > SAID)
        fprintf(stderr, "ts-record: and so are %zu more\n", count - SAID);
    if (job->gone)
        fprintf(stderr,
                "ts-record: %s trace%s that the program recorded itself %s no "
                "longer there: it has replaced, moved or removed %s\n",
                cli_count(job->gone).s, job->gone == 1 ? "" : "s",
                job->gone == 1 ? "is" : "are", job->gone == 1 ? "it" : "them");
}
