/*
    program_traces.c - traces that the program records by itself

    A program that starts a session itself chooses the path of the trace and
    leaves a link to it in a folder that ts-record made for such links: see
    ts__session_announce_to in src/record. ts-record reads these traces and
    never changes them. It moves the link into the folder of the traces; if the
    process belongs to another user, who is not trusted, it copies the trace
    instead.
*/
#define _DEFAULT_SOURCE // readlink, symlink
#include "tools/record/record.h"
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- The folder of links ------------------------------------------------- */

enum { LINKS = 160 };
static char folders[64];
static char links[LINKS]; // the folder for this ts-record; "": none
static int problem;       // errno: why there is no folder; 0: there is one

// Start time of this process in ticks since boot, as the program reads it, too.
// Source: proc(5), field 22.
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

static void remove_links(const char *path)
{
    char link[LINKS + 300];
    const struct dirent *entry;
    DIR *const dir = opendir(path);
    while (dir && (entry = readdir(dir)) != NULL) {
        snprintf(link, sizeof link, "%s/%s", path, entry->d_name);
        if (*entry->d_name != '.' && unlink(link) != 0) rmdir(link);
    }
    if (dir) closedir(dir);
    if (rmdir(path) != 0 && errno == ENOTDIR) unlink(path);
}

// Removes folders that killed ts-records left. Process ids of other containers
// are unknown here, so for those the folder of the traces must be gone.
static void remove_stale(void)
{
    char path[sizeof folders + 300], traces[sizeof path + 8];
    const struct dirent *entry;
    DIR *const dir = opendir(folders);
    while (dir && (entry = readdir(dir)) != NULL) {
        const long process = strtol(entry->d_name, NULL, 10);
        snprintf(path, sizeof path, "%s/%s", folders, entry->d_name);
        snprintf(traces, sizeof traces, "%s/traces", path);
        if (process > 0 && kill((pid_t)process, 0) != 0 && errno == ESRCH &&
            access(traces, F_OK) != 0)
            remove_links(path);
    }
    if (dir) closedir(dir);
}

// Sets the mode of a folder: processes of root that become other users can add
// links, but neither list the folder nor remove links of others.
static bool open_up(const char *path, mode_t mode)
{
    return geteuid() != 0 || chmod(path, mode) == 0;
}

// False if a folder belongs to somebody else, who could find our traces.
static bool make_folders(void)
{
    struct stat about;
    if ((mkdir(folders, 0700) != 0 && errno != EEXIST) ||
        lstat(folders, &about) != 0)
        return false;
    errno = EEXIST;
    return S_ISDIR(about.st_mode) && about.st_uid == geteuid() &&
           open_up(folders, 0711);
}

static void note_path(const record_job *job, char *path, size_t room)
{
    snprintf(path, room, "%s/own", job->folder);
}

static bool make_links(const record_job *job)
{
    char note[RECORD_PATH + 8], traces[LINKS + 8];
    note_path(job, note, sizeof note);
    snprintf(traces, sizeof traces, "%s/traces", links);
    if (mkdir(links, 0700) != 0) return false;
    if (open_up(links, 01733) && symlink(job->folder, traces) == 0 &&
        symlink(links, note) == 0)
        return true;
    const int error = errno;
    remove_links(links);
    errno = error;
    return false;
}

// On failure such a program records its trace, but ts-record does not find it.
void record_own_begin(const record_job *job)
{
    enum { TIMES = 100 }; // retries, as another ts-record may remove it
    snprintf(folders, sizeof folders, "/dev/shm/tracesmith-record-%u",
             (unsigned)geteuid());
    snprintf(links, sizeof links, "%s/%ld.%" PRIu64, folders, (long)getpid(),
             began());
    for (int i = 0; i < TIMES && (make_folders() || errno == ENOENT); i++)
        if (make_links(job)) {
            remove_stale();
            return;
        }
    problem = errno;
    *links = 0;
}

// Reads the folder's name that an earlier ts-record of this user noted.
void record_own_load(const record_job *job)
{
    char note[RECORD_PATH + 8];
    struct stat about;
    snprintf(folders, sizeof folders, "/dev/shm/tracesmith-record-%u",
             (unsigned)geteuid());
    note_path(job, note, sizeof note);
    const ssize_t size = readlink(note, links, sizeof links - 1);
    links[size > 0 ? size : 0] = 0;
    if (strncmp(links, folders, strlen(folders)) != 0 ||
        lstat(links, &about) != 0 || !S_ISDIR(about.st_mode) ||
        about.st_uid != geteuid())
        *links = 0;
}

// Whether a link is left: to another user's trace that is still being written.
static bool is_left(void)
{
    const struct dirent *entry;
    bool left = false;
    DIR *const dir = *links ? opendir(links) : NULL;
    while (dir && !left && (entry = readdir(dir)) != NULL)
        left = record_own_is(entry->d_name);
    if (dir) closedir(dir);
    return left;
}

// Removes the folder; the last ts-record of the user removes the parent, too.
// Programs that start later find no folder, as this process has ended.
void record_own_remove(const record_job *job)
{
    char note[RECORD_PATH + 8];
    note_path(job, note, sizeof note);
    if (job->awaited && is_left()) return;
    unlink(note);
    if (*links) remove_links(links);
    rmdir(folders);
}

/* ---- The traces ---------------------------------------------------------- */

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
    // Opening a pipe without a writer would block.
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

// Copies a trace of another user, who is not trusted.
static void bring_copy(record_job *job, const char *name, uid_t user,
                       const char *target)
{
    char to[RECORD_PATH + 256];
    bool live = false;
    snprintf(to, sizeof to, "%s/%s", job->folder, name);
    if (record_spool_copy(job, target, user, to, &live)) {
        if (is_session(name, to)) return;
        unlink(to);
    }
    job->awaited |= live; // left for --collect
    job->gone += !live;
}

static void bring_one(record_job *job, const char *name)
{
    char link[LINKS + 300], target[RECORD_PATH], to[RECORD_PATH + 256];
    struct stat about;
    snprintf(link, sizeof link, "%s/%s", links, name);
    snprintf(to, sizeof to, "%s/%s", job->folder, name);
    const ssize_t size = readlink(link, target, sizeof target - 1);
    target[size > 0 ? size : 0] = 0;
    if (size <= 0 || lstat(link, &about) != 0 || access(to, F_OK) == 0) return;
    if (about.st_uid != geteuid())
        bring_copy(job, name, about.st_uid, target);
    else if (symlink(target, to) == 0)
        unlink(link);
}

void record_own_bring(record_job *job)
{
    const struct dirent *entry;
    DIR *const dir = *links ? opendir(links) : NULL;
    while (dir && (entry = readdir(dir)) != NULL)
        if (record_own_is(entry->d_name)) bring_one(job, entry->d_name);
    if (dir) closedir(dir);
}

// Of a copy the folder has the contents, and the link has the original path.
bool record_own_find(const record_job *job, const char *name, record_part *part)
{
    char link[RECORD_PATH + 256];
    struct stat about;
    snprintf(part->link, sizeof part->link, "%.90s", name);
    snprintf(link, sizeof link, "%s/%s", job->folder, name);
    part->foreign = lstat(link, &about) == 0 && S_ISREG(about.st_mode);
    if (part->foreign)
        return snprintf(part->path, sizeof part->path, "%s", link) <
               (int)sizeof part->path;
    const ssize_t size = readlink(link, part->path, RECORD_PATH - 1);
    part->path[size > 0 ? size : 0] = 0;
    return size > 0 && is_session(name, part->path);
}

// The time between two parts in nanoseconds; 0 if they overlap.
static int64_t gap_between(const record_part *a, const record_part *b)
{
    const int64_t after = (int64_t)(b->start_ns - a->end_ns);
    const int64_t before = (int64_t)(a->start_ns - b->end_ns);
    return after > 0 ? after : before > 0 ? before : 0;
}

// A process that calls exec leaves several parts: the nearest in time is of the
// same program.
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

// Reports why there is no folder, for example because another user made one of
// that name. Missing shared memory is reported only if nothing was recorded.
static void print_problem(const record_job *job)
{
    if (!problem || (problem != EEXIST && job->part_count)) return;
    fprintf(stderr,
            "ts-record: traces that the program recorded itself cannot be "
            "found: %s %s\n",
            folders,
            problem == EEXIST ? "belongs to another user"
                              : "cannot be created in shared memory");
}

// Prints "/srv/run.sbt, which the program recorded itself as user 65534, ".
static void print_whose(const record_part *part)
{
    char link[LINKS + 100], target[RECORD_PATH];
    struct stat about;
    snprintf(link, sizeof link, "%s/%s", links, part->link);
    const ssize_t size =
        part->foreign ? readlink(link, target, sizeof target - 1) : -1;
    target[size > 0 ? size : 0] = 0;
    const char *const path = size > 0 ? target : part->path;
    cli_put_text(stderr, path, strlen(path));
    fputs(", which the program recorded itself", stderr);
    if (size > 0 && lstat(link, &about) == 0)
        fprintf(stderr, " as user %u", (unsigned)about.st_uid);
}

void record_print_own(const record_job *job)
{
    enum { SAID = 8 };
    size_t count = 0;
    print_problem(job);
    for (size_t i = 0; i < job->part_count; i++) {
        const record_part *const part = &job->parts[i];
        if (!part->own || part->live) continue;
        if (!part->left && ++count > SAID) continue;
        fputs("ts-record: ", stderr);
        print_whose(part);
        fputs(part->left ? ", is not merged: both traces contain the same GPU "
                           "operations\n"
                         : ", is merged into it\n",
              stderr);
    }
    if (count > SAID)
        fprintf(stderr, "ts-record: %zu more traces are merged into it\n",
                count - SAID);
    if (job->gone)
        fprintf(stderr,
                "ts-record: %s trace%s that the program recorded itself %s "
                "missing: the program replaced, moved or removed %s, or wrote "
                "%s to a file system that only it can see\n",
                cli_count(job->gone).s, job->gone == 1 ? "" : "s",
                job->gone == 1 ? "is" : "are", job->gone == 1 ? "it" : "them",
                job->gone == 1 ? "it" : "them");
}
