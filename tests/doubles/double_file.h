/*
    double_file.h - where the doubles of vendors' libraries are
*/
#ifndef DOUBLE_FILE_H
#define DOUBLE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// tests/doubles/NAME of the build folder that this test program is in, until
// the next call.
static inline char *double_path(const char *name)
{
    static char path[PATH_MAX + 64];
    const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
    if (size <= 0) abort();
    path[size] = 0;
    char *folder = NULL;
    for (char *at = path; (at = strstr(at, "/tests/")); at++)
        folder = at;
    if (!folder) abort();
    snprintf(folder, 64, "/tests/doubles/%s", name);
    return path;
}

// What it holds, for the caller to free; NULL if it cannot be read.
static inline void *double_read(const char *name, uint64_t *size)
{
    FILE *const file = fopen(double_path(name), "rb");
    if (!file || fseek(file, 0, SEEK_END)) return NULL;
    *size = (uint64_t)ftell(file);
    rewind(file);
    void *const bytes = malloc(*size);
    const bool all = bytes && fread(bytes, 1, *size, file) == *size;
    fclose(file);
    return all ? bytes : NULL;
}

#endif // DOUBLE_FILE_H
