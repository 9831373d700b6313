/*
    system.c - what tools ask of the system
*/
#define _GNU_SOURCE // nftw, sched_getaffinity
#include "tools/cli/cli.h"
#include <ftw.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

uint64_t cli_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint32_t cli_processors(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    const long all = sysconf(_SC_NPROCESSORS_ONLN); // more than a set can hold
    return all < 1 ? 1 : (uint32_t)all;
}

uint32_t cli_writers(uint32_t processors)
{
    return processors < 4 ? processors : 4;
}

bool cli_beside(char *path, size_t size, const char *name)
{
    const ssize_t got = readlink("/proc/self/exe", path, size - 1);
    if (got <= 0) return false;
    path[got] = 0;
    char *const slash = strrchr(path, '/');
    const size_t length = strlen(name);
    if (!slash || (size_t)(slash + 1 - path) + length >= size) return false;
    memcpy(slash + 1, name, length + 1);
    return true;
}

static int remove_one(const char *path, const struct stat *about, int type,
                      struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    (void)remove(path);
    return 0;
}

void cli_remove_folder(const char *path)
{
    (void)nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
