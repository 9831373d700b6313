/*
    channel.c - requests to running processes, and their figures
*/
#define _GNU_SOURCE // syscall
#include "tools/common/channel/channel.h"
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FIGURES_MS = 200 };

/* ---- Joining ------------------------------------------------------------- */

static void *map_file(int file)
{
    struct stat about;
    const size_t size = sizeof(ts_inject_control);
    // Accessing a mapping beyond the end of its file raises SIGBUS.
    if (fstat(file, &about) || !S_ISREG(about.st_mode) ||
        about.st_uid != geteuid() || about.st_size != (off_t)size)
        return NULL;
    void *const map =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return map == MAP_FAILED ? NULL : map;
}

static void wake(ts_inject_control *channel)
{
    // release: pairs with the acquire in watch_main of ts_inject.c
    __atomic_add_fetch(&channel->command, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &channel->command, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void channel_want_figures(ts_inject_control *channel, bool *wanted)
{
    uint64_t none = 0;
    if (!__atomic_compare_exchange_n(&channel->live_ms, &none, FIGURES_MS,
                                     false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        return;
    *wanted = true;
    wake(channel);
}

ts_inject_control *channel_join(const char *folder)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/control", folder) >= (int)sizeof path)
        return NULL;
    const int file = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return NULL;
    ts_inject_control *const channel = map_file(file);
    close(file);
    if (!channel) return NULL;
    if (channel->layout != sizeof *channel ||
        !__atomic_load_n(&channel->captures, __ATOMIC_RELAXED)) {
        channel_leave(channel, false);
        return NULL;
    }
    return channel;
}

void channel_leave(ts_inject_control *channel, bool wanted)
{
    uint64_t period = FIGURES_MS;
    if (!channel) return;
    if (wanted)
        __atomic_compare_exchange_n(&channel->live_ms, &period, 0, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    munmap(channel, sizeof *channel);
}

/* ---- Figures ------------------------------------------------------------- */

bool channel_is_alive(uint32_t process)
{
    return kill((pid_t)process, 0) == 0 || errno == EPERM;
}

channel_figures channel_sum(const ts_inject_control *channel)
{
    channel_figures sum = { .records = 0 };
    for (uint32_t i = 0; i < TS_INJECT_PROCESSES; i++) {
        const ts_inject_process *const p = &channel->processes[i];
        // acquire: pairs with the release in give_figures of ts_inject.c
        const uint32_t state = __atomic_load_n(&p->state, __ATOMIC_ACQUIRE);
        if (state == TS_INJECT_FREE) continue;
        sum.records += TS__LOAD(&p->records);
        sum.lost += TS__LOAD(&p->lost);
        sum.bytes += TS__LOAD(&p->bytes);
        sum.kept += TS__LOAD(&p->kept);
        if (!channel_is_alive(TS__LOAD(&p->process))) continue;
        sum.processes++;
        sum.threads += TS__LOAD(&p->threads);
        sum.waits = sum.waits || state == TS_INJECT_WAITS;
        sum.ended = sum.ended || state == TS_INJECT_ENDED;
        const uint32_t capturing = TS__LOAD(&p->capturing);
        sum.capturing = sum.capturing || capturing == TS_INJECT_ON;
        sum.a_frame = sum.a_frame || capturing == TS_INJECT_FRAME;
    }
    return sum;
}

/* ---- Requests ------------------------------------------------------------ */

uint32_t channel_ask(ts_inject_control *channel, uint32_t *request)
{
    const uint32_t count = __atomic_add_fetch(request, 1, __ATOMIC_RELAXED);
    wake(channel);
    return count;
}
