/*
    filter.c - the seccomp filter of the process that runs kernels of a trace

    A BPF program for seccomp; the numbers of system calls are those of this
    architecture.
    Source: seccomp(2), clone(2), and the kernel's include/uapi/linux/audit.h.
*/
#define _GNU_SOURCE
#include "tools/replay/execute/filter.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define MACHINE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define MACHINE AUDIT_ARCH_AARCH64
#endif

#ifdef MACHINE
// System calls that no driver needs: they reach other machines, other processes
// or the system, or could undo the filter.
static const uint16_t denied[] = {
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
    SYS_kexec_file_load,
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
    SYS_shmat, // memory, messages and semaphores of other processes
    SYS_shmctl,
    SYS_msgsnd,
    SYS_msgctl,
    SYS_semop,
    SYS_semtimedop,
    SYS_semctl,
    SYS_mq_open,
    SYS_mq_unlink,
#ifdef SYS_iopl
    SYS_iopl,
    SYS_ioperm,
#endif
    SYS_mknodat,
    SYS_fchownat, // Landlock does not restrict owners, modes, attributes
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
    424, // pidfd_send_signal; numbers from here on are generic
    425,
    426,
    427, // io_uring, which can replace other calls
    428,
    429,
    430,
    431,
    432,
    433, // fsopen and the other new mount calls
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
// System calls of sockets. CUDA's driver makes two local ones when it starts:
// one to connect to the daemon that shares a GPU among processes (MPS), which
// need not be there; and one that others could connect to, without which the
// driver does not start. Source: strace of driver 580.159 on an H200.
static const uint16_t of_sockets[] = {
    SYS_socket,
    SYS_connect,
    SYS_bind,
    SYS_listen,
};
// System calls that only OpenCL's drivers need, which start a linker.
static const uint16_t programs_only[] = {
    SYS_execve,
    SYS_execveat,
#ifdef SYS_fork
    SYS_fork,
    SYS_vfork,
#endif
};

typedef struct filter {
    struct sock_filter *code;
    uint32_t self; // this process
    uint16_t count;
} filter;

#define AT(field)     ((uint32_t)offsetof(struct seccomp_data, field))
#define REFUSE(error) (SECCOMP_RET_ERRNO | (error))

static void add(filter *f, uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
    const struct sock_filter one = { code, yes, no, k };
    if (f->count < EXECUTE_FILTER_MOST) f->code[f->count++] = one;
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

// Refuses a call unless its first argument is this process (or_0: or 0). The
// accumulator has the number of the call before and after it.
static void refuse_other(filter *f, uint32_t number, bool or_0)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 5);
    load(f, AT(args[0]));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, f->self, 2, 0);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, or_0 ? 0 : f->self, 1, 0);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// Refuses a call if an argument has one of some bits, or has none of them.
static void refuse_bits(filter *f, uint32_t number, uint32_t argument,
                        uint32_t bits, bool set)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    load(f, argument);
    add(f, BPF_JMP | BPF_JSET | BPF_K, bits, set ? 0 : 1, set ? 1 : 0);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// Refuses a call if its second argument has a given value.
static void refuse_word(filter *f, uint32_t number, uint32_t word)
{
    add(f, BPF_JMP | BPF_JEQ | BPF_K, number, 0, 4);
    load(f, AT(args[1]));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, word, 0, 1);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

// Allows sockets that no other process has an end of: local ones that need a
// connection, which cannot be made.
static void allow_sockets(filter *f)
{
    refuse_call(f, SYS_connect, ENOENT);
    add(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 7);
    load(f, AT(args[0]));
    add(f, BPF_JMP | BPF_JEQ | BPF_K, AF_UNIX, 0, 3);
    load(f, AT(args[1]));
    add(f, BPF_ALU | BPF_AND | BPF_K, 0xF, 0, 0); // without SOCK_CLOEXEC ...
    add(f, BPF_JMP | BPF_JEQ | BPF_K, SOCK_SEQPACKET, 1, 0);
    add(f, BPF_RET | BPF_K, REFUSE(EPERM), 0, 0);
    load(f, AT(nr));
}

static void refuse_calls(filter *f, const uint16_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        refuse_call(f, numbers[i], EPERM);
}

// Refuses input into the controlling terminal (TIOCSTI), and files that send
// signals to another process.
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

uint16_t execute_filter_make(struct sock_filter *code, uint32_t self,
                             uint32_t more)
{
    const bool programs = more & EXECUTE_PROGRAMS;
    const uint32_t spaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                            CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                            CLONE_NEWNET;
    filter f = { .code = code, .self = self };
    load(&f, AT(arch));
    add(&f, BPF_JMP | BPF_JEQ | BPF_K, MACHINE, 1, 0);
    add(&f, BPF_RET | BPF_K, REFUSE(ENOSYS), 0, 0);
    load(&f, AT(nr));
    add(&f, BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1); // x32 by x86-64
    add(&f, BPF_RET | BPF_K, REFUSE(ENOSYS), 0, 0);
    refuse_calls(&f, denied, sizeof denied / sizeof *denied);
    if (more & EXECUTE_SOCKETS)
        allow_sockets(&f);
    else
        refuse_calls(&f, of_sockets, sizeof of_sockets / sizeof *of_sockets);
    if (!programs)
        refuse_calls(&f, programs_only,
                     sizeof programs_only / sizeof *programs_only);
    // The flags of clone3 are in memory, which a filter cannot read. With
    // ENOSYS the C library falls back to clone.
    refuse_call(&f, 435, ENOSYS);
    refuse_bits(&f, SYS_clone, AT(args[0]), spaces, true);
    if (!programs) refuse_bits(&f, SYS_clone, AT(args[0]), CLONE_THREAD, false);
    refuse_other(&f, SYS_kill, false);
    refuse_other(&f, SYS_tgkill, false);
    // A limit on the CPU time of another process would end it.
    refuse_other(&f, SYS_prlimit64, true);
    refuse_words(&f);
    add(&f, BPF_RET | BPF_K, SECCOMP_RET_ALLOW, 0, 0);
    return f.count < EXECUTE_FILTER_MOST ? f.count : 0;
}
#else
uint16_t execute_filter_make(struct sock_filter *code, uint32_t self,
                             uint32_t more)
{
    (void)code;
    (void)self;
    (void)more;
    return 0;
}
#endif
