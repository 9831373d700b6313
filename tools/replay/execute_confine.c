/*
    execute_confine.c - what kernels of a trace may not do

    Their code is somebody else's. The process that runs them gives up, before
    a driver or any of that code is loaded, what no kernel needs: new
    privileges, sockets, other processes, writing outside a folder of its own.
    It says which of these held (docs/security.md).
    Source: landlock(7), seccomp(2), and the kernel's landlock.h, whose numbers
    stand here because Debian's headers may be older.
*/
#define _GNU_SOURCE
#include <fcntl.h>
#include <ftw.h>
#include <glob.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tools/replay/execute.h"

/* ---- Limits -------------------------------------------------------------- */

static bool limit(int what, rlim_t most)
{
    struct rlimit now;
    if (getrlimit((__rlimit_resource_t)what, &now) != 0) return false;
    if (now.rlim_max > most) now.rlim_max = most;
    if (now.rlim_cur > now.rlim_max) now.rlim_cur = now.rlim_max;
    return setrlimit((__rlimit_resource_t)what, &now) == 0;
}

// No core files, files of 4 GiB at most, 4,096 open ones.
static bool set_limits(void)
{
    const bool core = limit(RLIMIT_CORE, 0);
    const bool size = limit(RLIMIT_FSIZE, (rlim_t)4 << 30);
    const bool files = limit(RLIMIT_NOFILE, 4096);
    return core && size && files;
}

/* ---- Files: Landlock ----------------------------------------------------- */

enum { // rights, by their bits
    MAY_EXECUTE = 1,
    MAY_WRITE_FILE = 1 << 1,
    MAY_REMOVE_AND_MAKE = 0x1FF0, // all of folders but to read them
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

// Landlock has the same numbers on all machines.
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 };

// How new it is; 0: this kernel has none.
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

static void allow(int rules, const char *path, uint64_t rights)
{
    struct stat st;
    const int at = open(path, O_PATH | O_CLOEXEC);
    if (at < 0) return;
    // Those of folders say nothing of a file.
    if (fstat(at, &st) == 0 && !S_ISDIR(st.st_mode))
        rights &= MAY_EXECUTE | MAY_WRITE_FILE | MAY_TRUNCATE;
    const beneath_attr beneath = { rights, at };
    (void)syscall(ADD_RULE, rules, RULE_BENEATH, &beneath, 0);
    close(at);
}

static void allow_all(int rules, const char *pattern, uint64_t rights)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        allow(rules, found.gl_pathv[i], rights);
    globfree(&found);
}

static bool is_there(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    globfree(&found);
    return true;
}

static bool is_opencl(const execute_job *job)
{
    return !strcmp(job->executor->name, "opencl");
}

// What drivers need, by name.
static void allow_drivers(int rules, const execute_job *job, uint64_t rights)
{
    static const char *const devices[] = {
        "/dev/null", "/dev/zero", "/dev/nvidia*",
        "/dev/kfd",  "/dev/dri",  "/dev/dxg",
    };
    // Those of GPUs share memory in /dev/shm.
    static const char *const gpus[] = { "/dev/nvidia*", "/dev/kfd",
                                        "/dev/dxg" };
    // PoCL links what it compiled, and the loader of programs starts those.
    static const char *const programs[] = {
        "/usr/bin/ld",           "/usr/bin/ld.*",    "/usr/local/bin/ld",
        "/usr/local/bin/ld.*",   "/usr/bin/*-ld",    "/usr/bin/*-ld.*",
        "/usr/lib/llvm-*/bin/*", "/lib64/ld-linux*", "/lib/ld-linux*",
    };
    if (!strcmp(job->executor->name, "vdev")) return;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        allow_all(rules, devices[i], rights & ~(uint64_t)MAY_EXECUTE);
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        if (is_there(gpus[i]))
            allow(rules, "/dev/shm", rights & ~(uint64_t)MAY_EXECUTE);
    for (size_t i = 0; is_opencl(job) && i < sizeof programs / sizeof *programs;
         i++)
        allow_all(rules, programs[i], rights & MAY_EXECUTE);
}

static bool restrict_files(const execute_job *job, const char *folder,
                           int version)
{
    const uint64_t rights = rights_of(version);
    const ruleset_attr attr = { .files = rights };
    const int rules = (int)syscall(CREATE_RULESET, &attr, sizeof attr.files, 0);
    if (rules < 0) return false;
    if (*folder) allow(rules, folder, rights & ~(uint64_t)MAY_EXECUTE);
    allow_drivers(rules, job, rights);
    const bool done = syscall(RESTRICT_SELF, rules, 0) == 0;
    close(rules);
    return done;
}

/* ---- System calls: seccomp ----------------------------------------------- */

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE
// Never needed: they reach other machines, other processes, the system, or
// undo the filter.
static const uint16_t denied[] = {
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_setns,
    SYS_unshare,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_kexec_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_acct,
    SYS_quotactl,
    SYS_open_by_handle_at,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_tkill,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_setuid,
    SYS_setgid,
    SYS_setreuid,
    SYS_setregid,
    SYS_setresuid,
    SYS_setresgid,
    SYS_setgroups,
    SYS_capset,
    SYS_personality,
    SYS_kcmp,
    SYS_syslog,
    SYS_nfsservctl,
    SYS_vhangup,
    SYS_setsid,
    SYS_mknodat,
    SYS_fchownat, // Landlock knows no owners, modes and attributes
    SYS_fchown,
    SYS_fchmodat,
    SYS_fchmod,
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
#endif
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    424, // pidfd_send_signal; from here on the same on all machines
    425,
    426,
    427, // io_uring, which does other calls' work
    428,
    429,
    430,
    431,
    432,
    433, // mounts of the new kind
    434,
    438,
    440,
    442,
    448, // pidfd_open, pidfd_getfd, process_madvise, ...
    452, // fchmodat2
    463, // setxattrat
    466, // removexattrat
    469, // file_setattr
};
// Of those that no driver needs but OpenCL's, which starts a linker.
static const uint16_t programs_only[] = {
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

enum { FILTER_MOST = 256 };

typedef struct filter {
    struct sock_filter code[FILTER_MOST];
    uint16_t count;
} filter;

#define AT(field)     ((uint32_t)offsetof(struct seccomp_data, field))
#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

static void add(filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    const struct sock_filter one = { code, yes, no, k };
    if (f->count < FILTER_MOST) f->code[f->count++] = one;
}

static void load(filter *f, uint32_t at)
{
    add(f, BPF_LD | BPF_W | BPF_ABS, at, 0, 0);
}

static void refuse_call(filter *f, uint32_t number, uint32_t error)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    add(f, BPF_RET | BPF_K, REFUSE(error), 0, 0);
}

// Unless its first argument is this process, which 0 may mean as well. The
// number of the call is in the register before and behind it.
static void refuse_other(filter *f, uint32_t number, bool or_0)
{
    const uint32_t self = (uint32_t)getpid();
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5);
    load(f, AT(args[0]));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, self, 2, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, or_0 ? 0 : self, 1, 0);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// If an argument has one of some bits, or none of them.
static void refuse_bits(filter *f, uint32_t number, uint32_t argument,
                        uint32_t bits, bool set)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    load(f, argument);
    add(f, BPF_JMP | BPF_JSET | BPF_K, bits, set ? 0 : 1, set ? 1 : 0);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// If its second argument is a word.
static void refuse_word(filter *f, uint32_t number, uint32_t word)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    load(f, AT(args[1]));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// Typing into the terminal from which all this was started, and files that
// send a signal to another process when something happens to them.
static void refuse_words(filter *f)
{
    static const uint32_t words[][2] = {
        { SYS_ioctl, TIOCSTI },   { SYS_ioctl, 0x541C }, // TIOCLINUX
        { SYS_ioctl, FIOSETOWN }, { SYS_ioctl, SIOCSPGRP },
        { SYS_fcntl, F_SETOWN },  { SYS_fcntl, F_SETOWN_EX },
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        refuse_word(f, words[i][0], words[i][1]);
}

static bool filter_calls(bool programs)
{
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                            CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                            CLONE_NEWNET;
    filter f = { .count = 0 };
    load(&f, AT(arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    add(&f, BPF_RET | BPF_K, REFUSE(ENOSYS), 0, 0);
    load(&f, AT(nr));
    add(&f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); // x32 by x86-64
    add(&f, BPF_RET | BPF_K, REFUSE(ENOSYS), 0, 0);
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        refuse_call(&f, denied[i], EPERM);
    for (size_t i = 0;
         !programs && i < sizeof programs_only / sizeof *programs_only; i++)
        refuse_call(&f, programs_only[i], EPERM);
    // Its flags are in memory: the C library then calls clone.
    refuse_call(&f, 435, ENOSYS);
    refuse_bits(&f, SYS_clone, AT(args[0]), spaces, true);
    if (!programs) refuse_bits(&f, SYS_clone, AT(args[0]), CLONE_THREAD, false);
    refuse_other(&f, SYS_kill, false);
    refuse_other(&f, SYS_tgkill, false);
    // A limit of processor time ends a process, as a signal does.
    refuse_other(&f, SYS_prlimit64, true);
    refuse_words(&f);
    add(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    const struct sock_fprog program = { f.count, f.code };
    return f.count < FILTER_MOST &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}
#else
static bool filter_calls(bool programs)
{
    (void)programs;
    return false;
}
#endif

/* ---- All ----------------------------------------------------------------- */

// A folder for what drivers and executors write: one of this user's that is
// kept for the next run, as what PoCL compiled lies there, else one for this
// run.
// Empty: there is none.
void execute_confine_begin(execute_job *job)
{
    static const char *const parts[] = { "", "/tracesmith", "/execute" };
    const char *const cache = getenv("XDG_CACHE_HOME");
    const char *const home = getenv("HOME");
    char *const path = job->folder;
    const size_t room = sizeof job->folder;
    struct stat st;
    size_t used = 0;
    if (job->wish->no_confine) return;
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

static int remove_one(const char *path, const struct stat *st, int type,
                      struct FTW *place)
{
    (void)st;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void execute_confine_end(execute_job *job)
{
    if (job->folder_goes)
        (void)nftw(job->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void execute_confine(const execute_job *job, execute_confined *held)
{
    const char *const folder = job->folder;
    char cache[4200];
    held->tried = !job->wish->no_confine;
    if (!held->tried) return;
    snprintf(cache, sizeof cache, "%s/pocl", folder);
    if (*folder) setenv("TMPDIR", folder, 1);
    // Not the user's own cache, whose programs run without all this.
    if (*folder && is_opencl(job)) {
        (void)mkdir(cache, 0700);
        setenv("POCL_CACHE_DIR", cache, 1);
    }
    held->limits = set_limits();
    held->privileges = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
    held->landlock = landlock_version();
    held->files = held->landlock && held->privileges &&
                  restrict_files(job, folder, held->landlock);
    held->calls = held->privileges && filter_calls(is_opencl(job));
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
    if (held->files)
        printf(", files by Landlock %d\n", held->landlock);
    else
        puts(held->landlock ? "; not: files by Landlock"
                            : "; Landlock is not in this kernel");
}

void execute_confined_json(cli_json *json, const execute_confined *held)
{
    cli_json_open(json, "confined", '{');
    cli_json_bool(json, "no_new_privileges", held->privileges);
    cli_json_bool(json, "limits", held->limits);
    cli_json_bool(json, "seccomp", held->calls);
    cli_json_bool(json, "landlock", held->files);
    cli_json_close(json, '}');
}
