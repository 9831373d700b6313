/*
    system.c - what tools ask of the system
*/
#define _XOPEN_SOURCE 700 // nftw
#include "tools/cli/cli.h"
#include <ftw.h>
#include <time.h>
#include <unistd.h>

uint64_t cli_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
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
