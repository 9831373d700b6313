/*
    files.c - search paths of modules and their debug information
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/symbolize.h"
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *dir_of(const symbolize_request *q, size_t i)
{
    const symbolize_options *const o = q->options;
    const size_t count = o ? o->debug_dir_count : 0;
    return i < count ? o->debug_dirs[i] : i == count ? "/usr/lib/debug" : NULL;
}

// Makes "DIR/.build-id/ab/cdef.debug"; false without a build-id, or if it is
// too long.
static bool by_id(const symbolize_request *q, const char *dir, char *path,
                  size_t room)
{
    if (q->id_size < 2) return false;
    int used = snprintf(path, room, "%s/.build-id/", dir);
    for (size_t i = 0; i < q->id_size; i++) {
        if (used < 0 || (size_t)used + 16 > room) return false;
        used += snprintf(path + used, room - (size_t)used, "%02x%s", q->id[i],
                         i ? "" : "/");
    }
    return (size_t)snprintf(path + used, room - (size_t)used, ".debug") <
           room - (size_t)used;
}

int symbolize_open_file(const symbolize_request *q, size_t place, char *path,
                        size_t room)
{
    const char *const dir = dir_of(q, place);
    *path = 0;
    if (!dir) return -2;
    return by_id(q, dir, path, room) ? cli_open_plain(path) : -1;
}

int symbolize_open_module(const symbolize_request *q)
{
    return cli_open_plain(q->path);
}

// Opens the file that a module's .gnu_debuglink names, in GDB's traditional
// folders.
int symbolize_open_link(const symbolize_request *q, const char *name,
                        size_t place, char *path, size_t room)
{
    const char *const slash = strrchr(q->path, '/');
    const int size = slash ? (int)(slash - q->path) : 0;
    const char *const dir = place >= 2 ? dir_of(q, (place - 2) / 2) : "";
    *path = 0;
    if (!dir) return -2;
    if (strchr(name, '/')) return -1; // it must be a name, not a path
    if (place < 2)
        snprintf(path, room, "%.*s/%s%s", size, q->path, place ? ".debug/" : "",
                 name);
    else if (place % 2)
        snprintf(path, room, "%s/%s", dir, name);
    else
        snprintf(path, room, "%s%.*s/%s", dir, size, q->path, name);
    return strcmp(path, q->path) ? cli_open_plain(path) : -1;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++) // FNV-1a
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static uint64_t mix_file(uint64_t hash, const char *path)
{
    struct stat about;
    int64_t facts[4] = { 0, 0, 0, 0 };
    hash = mix(hash, path, strlen(path) + 1);
    if (stat(path, &about) == 0) {
        facts[0] = 1;
        facts[1] = about.st_size;
        facts[2] = about.st_mtim.tv_sec;
        facts[3] = about.st_mtim.tv_nsec;
    }
    return mix(hash, facts, sizeof facts);
}

uint64_t symbolize_identity(const symbolize_request *q)
{
    char path[4096];
    uint64_t hash = mix_file(UINT64_C(0xcbf29ce484222325), q->path);
    const char *const slash = strrchr(q->path, '/');
    const int size = slash ? (int)(slash - q->path) : 0;
    for (size_t i = 0; dir_of(q, i); i++) {
        hash = mix_file(hash, dir_of(q, i));
        if (by_id(q, dir_of(q, i), path, sizeof path))
            hash = mix_file(hash, path);
    }
    snprintf(path, sizeof path, "%.*s/.debug", size, q->path);
    hash = mix_file(hash, path);
    snprintf(path, sizeof path, "%.*s/.", size, q->path);
    hash = mix_file(hash, path);
    const uint8_t with_debuginfod = q->options && q->options->debuginfod;
    return mix(hash, &with_debuginfod, 1);
}
