/*
    running.c - whether processes of the program still run

    They have our variables in their environment. Process ids rise, so those of
    the program are between its first and the newest of all processes. Nothing
    else is looked at, however many processes the machine has, unless the
    program ran so long that ids may have begun again.
*/
#define _DEFAULT_SOURCE // readlink, vfork
#include "tools/record/record.h"
#include <dirent.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Whether a process without an environment may have one a moment later: exec
// empties it before it writes the new one, for as long as reading the program
// takes. Kernel threads and zombies have no program.
static bool is_in_exec(const char *process)
{
    enum { FIELDS = 48 }; // from the name to the addresses of its environment
    char path[300], text[2048] = "";
    unsigned long long begin = 0, end = 0;
    snprintf(path, sizeof path, "/proc/%s/exe", process);
    if (readlink(path, text, sizeof text) <= 0) return false;
    snprintf(path, sizeof path, "/proc/%s/stat", process);
    FILE *const file = fopen(path, "r");
    if (!file) return false;
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    const char *field = strrchr(text, ')');
    for (int i = 0; field && i < FIELDS; i++)
        field = strchr(field + 1, ' ');
    if (!field || sscanf(field, "%llu %llu", &begin, &end) != 2) return false;
    return !end || begin < end; // equal: it has none, and stays so
}

// Whether the environment of a process in /proc has our variables. *size is
// that of what was read.
static bool has_vars(const record_job *job, const char *process, size_t *size)
{
    static char buffer[1 << 16]; // the kernel's own is a page
    char path[300], expected[RECORD_PATH + 32], *value = NULL;
    size_t room = 0;
    snprintf(path, sizeof path, "/proc/%s/environ", process);
    snprintf(expected, sizeof expected, "TRACESMITH_LOG=%s/log", job->folder);
    FILE *const file = fopen(path, "r");
    bool ours = false;
    if (file) setvbuf(file, buffer, _IOFBF, sizeof buffer);
    *size = 0;
    while (file && !ours && getdelim(&value, &room, 0, file) > 0) {
        *size += strlen(value) + 1;
        ours = !strcmp(value, expected);
    }
    if (file) fclose(file);
    free(value);
    return ours;
}

static bool is_ours(const record_job *job, const char *process)
{
    enum { TRIES = 5000 }; // a second: longer than any exec takes
    const struct timespec wait = { 0, 200000 };
    size_t size;
    for (int i = 0; i < TRIES; i++) {
        if (has_vars(job, process, &size)) return true;
        if (size || !is_in_exec(process)) break;
        nanosleep(&wait, NULL);
    }
    return false;
}

static bool one_of_all(const record_job *job)
{
    DIR *const folder = opendir("/proc");
    const struct dirent *entry;
    bool ours = false;
    while (folder && !ours && (entry = readdir(folder)) != NULL)
        ours = *entry->d_name >= '1' && *entry->d_name <= '9' &&
               is_ours(job, entry->d_name);
    if (folder) closedir(folder);
    return ours;
}

// An id that is newer than those of all processes; 0: unknown.
static pid_t newest(void)
{
    const pid_t process = vfork();
    if (process == 0) _exit(0);
    if (process > 0) waitpid(process, NULL, 0);
    return process > 0 ? process : 0;
}

// Whether /proc has the ids that this process sees, and none was given twice
// since the program started. Linux gives less than one in a microsecond.
static bool ids_rise(const record_job *job)
{
    enum { FIRST = 300 }; // below it none is given again
    char self[24] = "", limit[24] = "";
    if (readlink("/proc/self", self, sizeof self - 1) < 0 ||
        strtol(self, NULL, 10) != (long)getpid())
        return false;
    FILE *const file = fopen("/proc/sys/kernel/pid_max", "r");
    const bool known = file && fgets(limit, sizeof limit, file);
    if (file) fclose(file);
    return known && (int64_t)(cli_now_ns() - job->begin_ns) / 1000 <
                        strtol(limit, NULL, 10) - FIRST;
}

// Looks at the ids from `id` on, until none was given meanwhile: a process may
// start another one and end, and that has a higher id.
static bool one_since(const record_job *job, pid_t id)
{
    char process[24];
    pid_t end;
    while ((end = newest()) > id) {
        for (; id < end; id++) {
            snprintf(process, sizeof process, "%ld", (long)id);
            if (is_ours(job, process)) return true;
        }
        id = end + 1; // that was of `newest`
    }
    return false;
}

// Twice: ids may begin again meanwhile. A list of /proc is older than the look
// at its last process: those that were started since come afterwards.
static bool one_is_ours(const record_job *job)
{
    enum { MOST = 2000 }; // more take longer than all that there are
    const bool rise = job->next > 0 && ids_rise(job);
    for (int i = 0; i < 2; i++) {
        const pid_t last = newest();
        pid_t id = job->next;
        if (!rise || last < id || last - id > MOST) {
            if (one_of_all(job)) return true;
            id = last + 1;
        }
        if (one_since(job, id)) return true;
    }
    return false;
}

// Waits a moment for processes that are about to end.
void record_parts_await(record_job *job)
{
    const struct timespec wait = { 0, 20000000 };
    for (int i = 0; i < 5; i++) {
        job->awaited = one_is_ours(job);
        if (!job->awaited) return;
        nanosleep(&wait, NULL);
    }
}
