/*
    spool.c - traces of processes that cannot reach the folder

    A process that changed its user or has other mounts may not reach the
    folder. It makes a folder of its own, with an unguessable name that
    ts-record chose: see spool_open in backends/ts_inject.c. That user is not
    trusted and may replace the folder by another one or a link at any moment:
    so it is opened only once, and links and pipes in it are ignored.
*/
#define _GNU_SOURCE // getrandom
#include "tools/record/record.h"
#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static void note_path(const record_job *job, char *path, size_t room)
{
    snprintf(path, room, "%s/spool", job->folder);
}

// The name is stored in the folder, for --collect.
void record_spool_make(record_job *job)
{
    uint64_t secret[2];
    char note[RECORD_PATH + 8];
    const char *const place =
        access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret) return;
    snprintf(job->spool, sizeof job->spool,
             "%s/tracesmith-%016" PRIx64 "%016" PRIx64, place, secret[0],
             secret[1]);
    note_path(job, note, sizeof note);
    if (symlink(job->spool, note) != 0) *job->spool = 0;
}

void record_spool_load(record_job *job)
{
    char note[RECORD_PATH + 8];
    note_path(job, note, sizeof note);
    const ssize_t size = readlink(note, job->spool, sizeof job->spool - 1);
    job->spool[size > 0 ? size : 0] = 0;
}

void record_spool_remove(const record_job *job)
{
    char note[RECORD_PATH + 8];
    note_path(job, note, sizeof note);
    if (!job->awaited) unlink(note);
}

/* ---- What is there ------------------------------------------------------- */

static bool copy_bytes(int from, int to)
{
    char bytes[1 << 16];
    ssize_t size;
    while ((size = read(from, bytes, sizeof bytes)) > 0)
        if (write(to, bytes, (size_t)size) != size) return false;
    return size == 0;
}

typedef struct spool_folder {
    const char *path; // for messages
    char open[40];    // path of the open descriptor, even if it was renamed
    int fd;
    uid_t owner;
} spool_folder;

// Appends a regular file that belongs to the folder's owner to another file.
static bool bring(const spool_folder *spool, const char *name, const char *to,
                  int flags)
{
    struct stat about;
    const int in =
        openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const bool good = in >= 0 && !fstat(in, &about) && S_ISREG(about.st_mode) &&
                      about.st_uid == spool->owner;
    const int out =
        good ? open(to, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0666) : -1;
    const bool done = out >= 0 && copy_bytes(in, out);
    if (in >= 0) close(in);
    if (out >= 0 && close(out) != 0) return false;
    return done;
}

// Whether a trace is complete, including the last records of a dead process.
static bool is_over(const record_job *job, const char *path, uid_t owner,
                    bool *live)
{
    cli_trace trace;
    struct stat about;
    *live = false;
    if (lstat(path, &about) != 0 || !S_ISREG(about.st_mode) ||
        about.st_uid != owner ||
        !cli_trace_open(&trace, job->tool, path, NULL, CLI_WARN_NONE))
        return false;
    *live = trace.info->live;
    cli_trace_close(&trace);
    return !*live;
}

/*
    Makes the path of a trace in the folder. Process ids repeat, above all in
    containers, so the name must be free. Names of other users' traces are
    marked: see record_spool_foreign.
*/
static void name_in_folder(const record_job *job, const spool_folder *spool,
                           const char *name, char *to, size_t room)
{
    char mark[24] = "";
    const int stem = (int)strlen(name) - 4;
    if (spool->owner != geteuid())
        snprintf(mark, sizeof mark, "-u%u", (unsigned)spool->owner);
    snprintf(to, room, "%s/%.*s%s.sbt", job->folder, stem, name, mark);
    for (int i = 1; access(to, F_OK) == 0; i++)
        snprintf(to, room, "%s/%.*s%s-%d.sbt", job->folder, stem, name, mark,
                 i);
}

// Traces of other users' processes, who are not trusted, have a mark in their
// name.
bool record_spool_foreign(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return strstr(slash ? slash : path, "-u") != NULL;
}

static void bring_one(const record_job *job, const spool_folder *spool,
                      const char *name)
{
    char from[RECORD_PATH], to[RECORD_PATH + 288];
    const size_t size = strlen(name);
    const bool log = !strcmp(name, "log");
    bool live;
    snprintf(from, sizeof from, "%s/%s", spool->open, name);
    if (!log && (size < 5 || strcmp(name + size - 4, ".sbt") ||
                 !is_over(job, from, spool->owner, &live)))
        return;
    if (log)
        snprintf(to, sizeof to, "%s/log", job->folder);
    else
        name_in_folder(job, spool, name, to, sizeof to);
    errno = 0;
    if (bring(spool, name, to, log ? O_APPEND : O_EXCL)) {
        unlinkat(spool->fd, name, 0);
        return;
    }
    snprintf(from, sizeof from, "%s/%s", spool->path, name);
    cli_error(job->tool, from, "could not be moved and is left there: %s",
              errno ? strerror(errno)
                    : "it is not a regular file, or another user owns it");
}

bool record_spool_copy(const record_job *job, const char *path, uid_t owner,
                       const char *to, bool *live)
{
    char folder[RECORD_PATH], from[RECORD_PATH];
    const char *const slash = strrchr(path, '/');
    *live = false;
    if (!slash) return false;
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    spool_folder spool = { .path = folder, .owner = owner };
    spool.fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (spool.fd < 0) return false;
    snprintf(spool.open, sizeof spool.open, "/proc/self/fd/%d", spool.fd);
    snprintf(from, sizeof from, "%s%s", spool.open, slash);
    const bool done =
        is_over(job, from, owner, live) && bring(&spool, slash + 1, to, O_EXCL);
    close(spool.fd);
    return done;
}

// Anybody who knows the name can make such a folder. Only root, whose processes
// may become other users, accepts folders of others.
static bool open_folder(spool_folder *spool, const char *path)
{
    struct stat about;
    spool->path = path;
    spool->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (spool->fd < 0) return false;
    snprintf(spool->open, sizeof spool->open, "/proc/self/fd/%d", spool->fd);
    const bool known = fstat(spool->fd, &about) == 0;
    spool->owner = known ? about.st_uid : 0;
    if (known && (!geteuid() || about.st_uid == geteuid())) return true;
    close(spool->fd);
    return false;
}

static void bring_all(const record_job *job, const char *path)
{
    spool_folder spool;
    const struct dirent *entry;
    if (!open_folder(&spool, path)) return;
    DIR *const dir = opendir(spool.open);
    while (dir && (entry = readdir(dir)) != NULL)
        if (*entry->d_name != '.') bring_one(job, &spool, entry->d_name);
    if (dir) closedir(dir);
    close(spool.fd);
    rmdir(path);
}

// Folders have the name of the spool followed by a user id.
void record_spool_bring(const record_job *job)
{
    char copy[sizeof job->spool], path[sizeof job->spool + 256];
    const struct dirent *entry;
    if (!*job->spool) return;
    strcpy(copy, job->spool);
    const char *const start = strrchr(job->spool, '/') + 1;
    const char *const place = dirname(copy);
    DIR *const dir = opendir(place);
    while (dir && (entry = readdir(dir)) != NULL) {
        if (strncmp(entry->d_name, start, strlen(start)) != 0) continue;
        snprintf(path, sizeof path, "%s/%s", place, entry->d_name);
        bring_all(job, path);
    }
    if (dir) closedir(dir);
}
