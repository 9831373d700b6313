/*
    test_filter.c - which system calls kernels may make

    The filter is run by an interpreter: by the numbers of the processor that
    this is built for, in a kernel or not.
*/
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include "tests/unit.h"
#include "tools/replay/execute/filter.h"

#if defined(__x86_64__)
enum { MACHINE = (int)AUDIT_ARCH_X86_64, OTHER = (int)AUDIT_ARCH_AARCH64 };
#else
enum { MACHINE = (int)AUDIT_ARCH_AARCH64, OTHER = (int)AUDIT_ARCH_X86_64 };
#endif

enum { SELF = 4711, ALLOWED = -1 };

static struct sock_filter code[EXECUTE_FILTER_MOST];
static uint16_t count;

// Source: the kernel's Documentation/networking/filter.rst; the instructions
// that the filter is made of, on 32 bits.
static uint32_t interpret(const struct seccomp_data *data)
{
    uint32_t value = 0;
    for (uint16_t at = 0; at < count; at++) {
        const struct sock_filter *const i = &code[at];
        bool holds = false;
        switch (i->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            assert_true(i->k % 4 == 0 && i->k + 4 <= sizeof *data);
            memcpy(&value, (const char *)data + i->k, sizeof value);
            continue;
        case BPF_RET | BPF_K: return i->k;
        case BPF_ALU | BPF_AND | BPF_K: value &= i->k; continue;
        case BPF_JMP | BPF_JEQ | BPF_K: holds = value == i->k; break;
        case BPF_JMP | BPF_JGE | BPF_K: holds = value >= i->k; break;
        case BPF_JMP | BPF_JSET | BPF_K: holds = (value & i->k) != 0; break;
        default: fail_msg("instruction %u is unknown", at);
        }
        at = (uint16_t)(at + (holds ? i->jt : i->jf));
    }
    fail_msg("no answer");
    return 0;
}

// The error that a call gets, or ALLOWED.
static int call_on(uint32_t machine, long number, uint64_t first,
                   uint64_t second)
{
    const struct seccomp_data data = { .nr = (int)number,
                                       .arch = machine,
                                       .args = { first, second } };
    const uint32_t answer = interpret(&data);
    if (answer == SECCOMP_RET_ALLOW) return ALLOWED;
    assert_int_equal(answer & SECCOMP_RET_ACTION_FULL, SECCOMP_RET_ERRNO);
    return (int)(answer & SECCOMP_RET_DATA);
}

static int call(long number, uint64_t first, uint64_t second)
{
    return call_on((uint32_t)MACHINE, number, first, second);
}

static void make(uint32_t more)
{
    count = execute_filter_make(code, SELF, more);
    assert_true(count > 0 && count < EXECUTE_FILTER_MOST);
}

UNIT_TEST(what_reaches_others_is_refused)
{
    static const long refused[] = {
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
        SYS_bpf,
        SYS_keyctl,
        SYS_perf_event_open,
        SYS_userfaultfd,
        SYS_kexec_load,
        SYS_kexec_file_load,
        SYS_init_module,
        SYS_reboot,
        SYS_shmat,
        SYS_shmctl,
        SYS_msgsnd,
        SYS_semop,
        SYS_mq_open,
        SYS_tkill,
        SYS_rt_sigqueueinfo,
        SYS_setuid,
        SYS_capset,
        SYS_mknodat,
        SYS_fchmod,
        SYS_fchmodat,
        SYS_fchownat,
        SYS_setxattr,
        SYS_open_by_handle_at,
        424,
        425,
        426,
        427,
        428,
        433,
        434,
        438,
        440,
        452,
        463,
    };
    for (uint32_t more = 0; more < 4; more++) {
        make(more);
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            if (call(refused[i], 0, 0) != EPERM)
                fail_msg("call %ld is not refused", refused[i]);
    }
}

UNIT_TEST(what_kernels_and_drivers_do_is_allowed)
{
    static const long allowed[] = {
        SYS_read,     SYS_write,        SYS_openat,    SYS_close,
        SYS_mmap,     SYS_munmap,       SYS_mprotect,  SYS_futex,
        SYS_ioctl,    SYS_fcntl,        SYS_exit,      SYS_exit_group,
        SYS_getpid,   SYS_sched_yield,  SYS_nanosleep, SYS_clock_gettime,
        SYS_eventfd2, SYS_ftruncate,    SYS_mkdirat,   SYS_unlinkat,
        SYS_ppoll,    SYS_memfd_create, SYS_getrandom, SYS_rt_sigaction,
    };
    for (uint32_t more = 0; more < 4; more++) {
        make(more);
        for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
            if (call(allowed[i], 0, 0) != ALLOWED)
                fail_msg("call %ld is refused", allowed[i]);
    }
}

UNIT_TEST(numbers_of_another_processor_are_no_calls)
{
    make(EXECUTE_PROGRAMS);
    assert_int_equal(ENOSYS, call_on((uint32_t)OTHER, SYS_read, 0, 0));
    assert_int_equal(ENOSYS, call_on(AUDIT_ARCH_I386, 3, 0, 0));
    assert_int_equal(ENOSYS, call(0x40000000, 0, 0)); // x32
    assert_int_equal(ENOSYS, call(-1, 0, 0));
}

UNIT_TEST(only_opencl_starts_programs)
{
    make(EXECUTE_PROGRAMS);
    assert_int_equal(ALLOWED, call(SYS_execve, 0, 0));
    assert_int_equal(ALLOWED, call(SYS_clone, 0, 0));
    make(0);
    assert_int_equal(EPERM, call(SYS_execve, 0, 0));
    assert_int_equal(EPERM, call(SYS_execveat, 0, 0));
    assert_int_equal(EPERM, call(SYS_clone, 0, 0));
#ifdef SYS_fork
    assert_int_equal(EPERM, call(SYS_fork, 0, 0));
    assert_int_equal(EPERM, call(SYS_vfork, 0, 0));
#endif
}

UNIT_TEST(threads_are_made_and_spaces_are_not)
{
    for (uint32_t more = 0; more < 4; more++) {
        make(more);
        assert_int_equal(ALLOWED, call(SYS_clone, CLONE_THREAD | CLONE_VM, 0));
        assert_int_equal(EPERM, call(SYS_clone, CLONE_THREAD | CLONE_NEWNS, 0));
        assert_int_equal(EPERM, call(SYS_clone, CLONE_NEWUSER, 0));
        assert_int_equal(ENOSYS, call(435, CLONE_THREAD, 0)); // clone3
    }
}

UNIT_TEST(signals_and_limits_are_this_process_s_own)
{
    make(0);
    assert_int_equal(ALLOWED, call(SYS_kill, SELF, 9));
    assert_int_equal(EPERM, call(SYS_kill, SELF + 1, 9));
    assert_int_equal(EPERM, call(SYS_kill, 0, 9)); // its group
    assert_int_equal(EPERM, call(SYS_kill, (uint64_t)-1, 9));
    assert_int_equal(ALLOWED, call(SYS_tgkill, SELF, SELF));
    assert_int_equal(EPERM, call(SYS_tgkill, 1, 1));
    assert_int_equal(ALLOWED, call(SYS_prlimit64, 0, 0));
    assert_int_equal(ALLOWED, call(SYS_prlimit64, SELF, 0));
    assert_int_equal(EPERM, call(SYS_prlimit64, 1, 0));
}

UNIT_TEST(nobody_types_into_the_terminal_or_is_sent_signals)
{
    make(0);
    assert_int_equal(EPERM, call(SYS_ioctl, 0, TIOCSTI));
    assert_int_equal(EPERM, call(SYS_ioctl, 0, 0x541C));
    assert_int_equal(EPERM, call(SYS_ioctl, 0, FIOSETOWN));
    assert_int_equal(ALLOWED, call(SYS_ioctl, 0, TIOCGWINSZ));
    assert_int_equal(EPERM, call(SYS_fcntl, 3, F_SETOWN));
    assert_int_equal(EPERM, call(SYS_fcntl, 3, F_SETOWN_EX));
    assert_int_equal(ALLOWED, call(SYS_fcntl, 3, F_SETFD));
}

UNIT_TEST(sockets_are_local_and_reach_nobody)
{
    static const uint64_t types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_RAW };
    make(EXECUTE_PROGRAMS);
    assert_int_equal(EPERM, call(SYS_socket, AF_UNIX, SOCK_SEQPACKET));
    assert_int_equal(EPERM, call(SYS_connect, 3, 0));
    assert_int_equal(EPERM, call(SYS_bind, 3, 0));
    assert_int_equal(EPERM, call(SYS_listen, 3, 1));
    make(EXECUTE_SOCKETS);
    assert_int_equal(ALLOWED,
                     call(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC));
    assert_int_equal(ALLOWED, call(SYS_bind, 3, 0));
    assert_int_equal(ALLOWED, call(SYS_listen, 3, 1));
    assert_int_equal(ENOENT, call(SYS_connect, 3, 0));
    assert_int_equal(EPERM, call(SYS_accept, 3, 0));
    assert_int_equal(EPERM, call(SYS_socket, AF_INET, SOCK_SEQPACKET));
    assert_int_equal(EPERM, call(SYS_socket, AF_NETLINK, SOCK_SEQPACKET));
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(EPERM, call(SYS_socket, AF_UNIX, types[i]));
}

int main(void)
{
    return unit_run(NULL, NULL);
}
