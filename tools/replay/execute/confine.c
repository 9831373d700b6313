/*
    confine.c - confines the process that runs kernels of a trace

    The code of kernels is not trusted. Before the process loads a driver or any
    of that code, it gives up what no kernel needs: new privileges, sockets,
    other processes, writing outside a folder of its own. It reports which of
    these restrictions could be applied (docs/security.md).
    Source: landlock(7), seccomp(2), and the kernel's landlock.h, whose numbers
    are here because Debian's headers may be older.
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <glob.h>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "tools/replay/execute/execute.h"
#include "tools/replay/execute/filter.h"

/* ---- Limits -------------------------------------------------------------- */

static bool limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) != 0) return false;
    if (now.rlim_max > most) now.rlim_max = most;
    if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &now) == 0;
}

// Limits: no core files, files of at most 4 GiB, 4,096 open files.
static bool set_limits(void)
{
    const bool core = limit(RLIMIT_CORE, 0);
    const bool size = limit(RLIMIT_FSIZE, (rlim_t)4 << 30);
    const bool files = limit(RLIMIT_NOFILE, 4096);
    return core && size && files;
}

/* ---- Shared memory ------------------------------------------------------- */

static bool put(const char *path, const char *text)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    const ssize_t size = (ssize_t)strlen(text);
    const bool done = file >= 0 && write(file, text, (size_t)size) == size;
    if (file >= 0) close(file);
    return done;
}

// Creating a user namespace gives all privileges in it: drops them.
static bool drop_privileges(void)
{
    struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
    const struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    return syscall(SYS_capset, &head, none) == 0;
}

// Enters a new mount namespace; without root, within a new user namespace in
// which the user id is unchanged.
static bool leave_mounts(void)
{
    char users[64], groups[64];
    snprintf(users, sizeof users, "%u %u 1", geteuid(), geteuid());
    snprintf(groups, sizeof groups, "%u %u 1", getegid(), getegid());
    if (unshare(CLONE_NEWNS) == 0) return true;
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
           put("/proc/self/uid_map", users) &&
           put("/proc/self/setgroups", "deny") &&
           put("/proc/self/gid_map", groups);
}

static bool own_shared_memory(void)
{
    const bool root = geteuid() == 0;
    return leave_mounts() &&
           mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=64m,mode=0700") == 0 &&
           (root || drop_privileges());
}

/*
    GPU drivers create files in /dev/shm, which also has files of other programs
    and sidecars of recorders. If the kernel allows it, this process gets a
    private /dev/shm. A child process tries first, because a half-finished
    change could not be undone.
*/
static bool part_shared_memory(const execute_job *job)
{
    struct stat shared, folder;
    int status = 1;
    if (!strcmp(job->executor->name, "vdev")) return false; // does not use it
    // The folder for output must not be hidden.
    if (stat("/dev/shm", &shared) != 0 ||
        (stat(job->folder, &folder) == 0 && folder.st_dev == shared.st_dev))
        return false;
    const pid_t child = fork();
    if (child == 0) _exit(own_shared_memory() ? 0 : 1);
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        return false;
    return own_shared_memory();
}

/* ---- Files: Landlock ----------------------------------------------------- */

enum { // bits of Landlock's access rights
    MAY_EXECUTE = 1,
    MAY_WRITE_FILE = 1 << 1,
    MAY_REMOVE_AND_MAKE = 0x1FF0, // all rights to folders except reading
    MAY_REFER = 1 << 13,
    MAY_TRUNCATE = 1 << 14,
    MAY_IOCTL_DEVICE = 1 << 15,
    RULE_BENEATH = 1,
    CREATE_VERSION = 1
};

typedef struct ruleset_attr {
    uint64_t files, net, scoped;
} ruleset_attr;

typedef struct __attribute__((packed)) beneath_attr {
    uint64_t allowed;
    int32_t folder;
} beneath_attr;

// The system calls of Landlock; the numbers are the same on all architectures.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

// The version of Landlock; 0: not supported.
static int landlock_version(void)
{
    const long version =
        syscall(CREATE_RULESET, NULL, (size_t)0, CREATE_VERSION);
    return version > 0 ? (int)version : 0;
}

static uint64_t rights_of(int version)
{
    uint64_t rights = MAY_EXECUTE | MAY_WRITE_FILE | MAY_REMOVE_AND_MAKE;
    if (version >= 2) rights |= MAY_REFER;
    if (version >= 3) rights |= MAY_TRUNCATE;
    return rights;
}

static void allow_open(int rules, int at, uint64_t rights)
{
    struct stat st;
    // Rights to folders are invalid for a file.
    if (fstat(at, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= MAY_EXECUTE | MAY_WRITE_FILE | MAY_TRUNCATE;
    const beneath_attr beneath = { rights, at };
    (void)syscall(ADD_RULE, rules, RULE_BENEATH, &beneath, 0);
}

static void allow(int rules, const char *path, uint64_t rights)
{
    const int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return;
    allow_open(rules, at, rights);
    close(at);
}

/*
    CUDA's driver writes the names of its threads to their files in
    /proc/self/task, and does not start if it may not (seen on an H200, driver
    580.159: CUDA_ERROR_OPERATING_SYSTEM). This allows writing to all files of
    this process's threads, but to no other process's. The folder stays open
    because the rule holds for its inode, which /proc could else replace.
*/
static void allow_thread_names(int rules, uint64_t rights)
{
    const int at = open("/proc/self/task", O_PATH | O_CLOEXEC);
    if (at < 0) return;
    allow_open(rules, at, rights & (MAY_WRITE_FILE | MAY_TRUNCATE));
}

static void allow_all(int rules, const char *pattern, uint64_t rights)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        allow(rules, found.gl_pathv[i], rights);
    globfree(&found);
}

static bool is_opencl(const execute_job *job)
{
    return !strcmp(job->executor->name, "opencl");
}

// Allows the files that drivers need, by name. shared: /dev/shm is private.
static void allow_drivers(int rules, const execute_job *job, uint64_t rights,
                          bool shared)
{
    static const char *const devices[] = {
        "/dev/null", "/dev/zero", "/dev/nvidia*",
        "/dev/kfd",  "/dev/dri",  "/dev/dxg",
    };
    // If /dev/shm is not private: only existing files of CUDA and ROCm, because
    // the right to create files in a folder includes writing all files in it.
    static const char *const gpus[] = { "/dev/shm/cuda.shm.*",
                                        "/dev/shm/hsakmt_shared_mem",
                                        "/dev/shm/sem.hsakmt_semaphore" };
    // PoCL starts a linker, and the dynamic loader starts that.
    static const char *const programs[] = {
        "/usr/bin/ld",           "/usr/bin/ld.*",    "/usr/local/bin/ld",
        "/usr/local/bin/ld.*",   "/usr/bin/*-ld",    "/usr/bin/*-ld.*",
        "/usr/lib/llvm-*/bin/*", "/lib64/ld-linux*", "/lib/ld-linux*",
    };
    if (!strcmp(job->executor->name, "vdev")) return;
    allow_thread_names(rules, rights);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        allow_all(rules, devices[i], rights & ~(uint64_t)MAY_EXECUTE);
    if (shared) allow(rules, "/dev/shm", rights & ~(uint64_t)MAY_EXECUTE);
    for (size_t i = 0; !shared && i < sizeof gpus / sizeof *gpus; i++)
        allow_all(rules, gpus[i], rights & ~(uint64_t)MAY_EXECUTE);
    for (size_t i = 0; is_opencl(job) && i < sizeof programs / sizeof *programs;
         i++)
        allow_all(rules, programs[i], rights & MAY_EXECUTE);
}

static bool restrict_files(const execute_job *job, int version, bool shared)
{
    const char *const folder = job->folder;
    const uint64_t rights = rights_of(version);
    const ruleset_attr attr = { .files = rights };
    const int rules = (int)syscall(CREATE_RULESET, &attr, sizeof attr.files, 0);
    if (rules < 0) return false;
    if (*folder) allow(rules, folder, rights & ~(uint64_t)MAY_EXECUTE);
    allow_drivers(rules, job, rights, shared);
    const bool done = syscall(RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return done;
}

/* ---- System calls: seccomp ----------------------------------------------- */

static bool filter_calls(const execute_job *job)
{
    const bool cuda = !strcmp(job->executor->name, "cuda");
    const uint32_t more = (is_opencl(job) ? EXECUTE_PROGRAMS : 0) |
                          (cuda || is_opencl(job) ? EXECUTE_SOCKETS : 0);
    struct sock_filter code[EXECUTE_FILTER_MOST];
    const struct sock_fprog program = { .len = execute_filter_make(
                                            code, (uint32_t)getpid(), more),
                                        .filter = code };
    return program.len &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

/* ---- All ----------------------------------------------------------------- */

// Makes the folder for files of drivers and executors: a private one in the
// user's cache, kept because PoCL caches compiled kernels there; one in /tmp
// for this run if that cannot be had. An empty path: no folder.
void execute_confine_begin(execute_job *job)
{
    static const char *const parts[] = { "", "/tracesmith", "/execute" };
    const char *const cache = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    char *const path = job->folder;
    const size_t room = sizeof job->folder;
    struct stat st;
    size_t used = 0;
    if (job->options->no_confine) return;
    if (cache && *cache == '/')
        used = (size_t)snprintf(path, room, "%s", cache);
    else if (home && *home == '/')
        used = (size_t)snprintf(path, room, "%s/.cache", home);
    for (size_t i = 0; used && used + 32 < room && i < 3; i++) {
        used += (size_t)snprintf(path + used, room - used, "%s", parts[i]);
        (void)mkdir(path, 0700);
    }
    if (used && used + 32 < room && lstat(path, &st) == 0 &&
        S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 0077))
        return;
    snprintf(path, room, "/tmp/tracesmith-XXXXXX");
    job->folder_goes = mkdtemp(path) != NULL;
    if (!job->folder_goes) *path = 0;
}

void execute_confine_end(execute_job *job)
{
    if (job->folder_goes) cli_remove_folder(job->folder);
}

void execute_confine(const execute_job *job, execute_confined *held)
{
    const char *const folder = job->folder;
    char cache[4200];
    held->tried = !job->options->no_confine;
    if (!held->tried) return;
    snprintf(cache, sizeof cache, "%s/pocl", folder);
    if (*folder) setenv("TMPDIR", folder, 1);
    // Not the user's normal cache, whose programs run unconfined.
    if (*folder && is_opencl(job)) {
        (void)mkdir(cache, 0700);
        setenv("POCL_CACHE_DIR", cache, 1);
    }
    held->limits = set_limits();
    held->privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    held->shared_memory = part_shared_memory(job);
    held->landlock = landlock_version();
    held->files = held->landlock && held->privileges &&
                  restrict_files(job, held->landlock, held->shared_memory);
    held->calls = held->privileges && filter_calls(job);
}

void execute_confined_text(const execute_confined *held)
{
    if (!held->tried) {
        puts("  confined      no: --no-confine");
        return;
    }
    printf("  confined      %sno new privileges, %slimits, %ssystem calls "
           "filtered",
           held->privileges ? "" : "not: ", held->limits ? "" : "not: ",
           held->calls ? "" : "not: ");
    if (held->shared_memory) fputs(", its own /dev/shm", stdout);
    if (held->files)
        printf(", files by Landlock %d\n", held->landlock);
    else
        puts(held->landlock ? "; not files: Landlock failed"
                            : "; not files: this kernel has no Landlock");
}

void execute_confined_json(cli_json *json, const execute_confined *held)
{
    cli_json_open(json, "confined", '{');
    cli_json_bool(json, "no_new_privileges", held->privileges);
    cli_json_bool(json, "limits", held->limits);
    cli_json_bool(json, "seccomp", held->calls);
    cli_json_bool(json, "landlock", held->files);
    cli_json_bool(json, "own_shared_memory", held->shared_memory);
    cli_json_close(json, '}');
}
