/*
    common.c - what the queries of ts-devices share
*/
#include "tools/devices/devices.h"
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <glob.h>
#include <grp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

// Writes a text without tabs and line breaks, which end fields and answers.
static void put(FILE *out, const char *text)
{
    for (; *text; text++)
        putc(*text == '\t' || *text == '\n' ? ' ' : *text, out);
}

void devices_write(const devices_query *query, devices_kind kind,
                   const char *first, const char *format, ...)
{
    char second[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(second, sizeof second, format, args);
    va_end(args);
    putc((int)kind, query->out);
    putc('\t', query->out);
    put(query->out, first);
    putc('\t', query->out);
    put(query->out, second);
    putc('\n', query->out);
    fflush(query->out); // the next call into a driver may never return
}

void devices_write_reason(const devices_query *query, devices_kind kind,
                          const char *why)
{
    devices_write(query, kind, why, "%s", "");
}

static void *open_one(const char *name, char *path, size_t room)
{
    void *const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library) snprintf(path, room, "%s", name);
    return library;
}

static void *open_pattern(const char *pattern, char *path, size_t room)
{
    void *library = NULL;
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return NULL;
    for (size_t i = found.gl_pathc;
         i-- > 0 && !library;) // newest version first
        library = open_one(found.gl_pathv[i], path, room);
    globfree(&found);
    return library;
}

void *devices_open(const char *const *names, char *path, size_t room)
{
    void *library = NULL;
    *path = 0;
    for (; *names && !library; names++)
        library = strchr(*names, '*') ? open_pattern(*names, path, room)
                                      : open_one(*names, path, room);
    return library;
}

bool devices_find(void *library, const char *name, void *function)
{
    void *const found = dlsym(library, name);
    memcpy(function, &found, sizeof found);
    return found != NULL;
}

bool devices_read(const devices_query *query, const char *path, char *text,
                  size_t room)
{
    char whole[4096];
    snprintf(whole, sizeof whole, "%s%s", query->root, path);
    FILE *const file = fopen(whole, "r");
    const bool done = file && fgets(text, (int)room, file);
    if (done) text[strcspn(text, "\n")] = 0;
    if (file) fclose(file);
    return done;
}

static bool hex_is(const devices_query *query, const char *device,
                   const char *name, uint32_t shift, uint32_t value)
{
    char path[512], text[32];
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%.255s/%s", device, name);
    return devices_read(query, path, text, sizeof text) &&
           strtoul(text, NULL, 16) >> shift == value;
}

uint32_t devices_on_bus(const devices_query *query, uint32_t vendor)
{
    char path[4096];
    uint32_t count = 0;
    snprintf(path, sizeof path, "%s/sys/bus/pci/devices", query->root);
    DIR *const folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder)) != NULL)
        // Class 03: display; 12: processing accelerators (PCI Code and ID
        // Assignment Specification).
        if (*entry->d_name != '.' &&
            hex_is(query, entry->d_name, "vendor", 0, vendor) &&
            (hex_is(query, entry->d_name, "class", 16, 0x03) ||
             hex_is(query, entry->d_name, "class", 16, 0x12)))
            count++;
    if (folder) closedir(folder);
    return count;
}

bool devices_in_container(const devices_query *query)
{
    static const char *const marks[] = { "/.dockerenv", "/run/.containerenv",
                                         "/run/systemd/container" };
    char path[4096];
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        snprintf(path, sizeof path, "%s%s", query->root, marks[i]);
        if (access(path, F_OK) == 0) return true;
    }
    return getenv("container") != NULL ||
           getenv("KUBERNETES_SERVICE_HOST") != NULL;
}

bool devices_may_use(const devices_query *query, const char *path)
{
    char whole[4096], group[128];
    struct stat about;
    snprintf(whole, sizeof whole, "%s%s", query->root, path);
    if (access(whole, R_OK | W_OK) == 0) return true;
    if (errno == ENOENT || stat(whole, &about) != 0) {
        const bool inside = devices_in_container(query);
        devices_write(query, DEVICES_FAILS,
                      cli_format("%.40s does not exist", path).s, "%s",
                      inside ? "pass the devices to the container"
                             : "load the driver's kernel module");
        return false;
    }
    const struct group *const g = getgrgid(about.st_gid);
    snprintf(group, sizeof group, "%s", g ? g->gr_name : "");
    if (about.st_mode & S_IWGRP && *group && about.st_gid)
        devices_write(query, DEVICES_FAILS,
                      cli_format("no permission to open %.40s", path).s,
                      "sudo usermod -aG %s $USER, and log in again", group);
    else
        devices_write(query, DEVICES_FAILS,
                      cli_format("no permission to open %.40s", path).s,
                      "sudo chmod a+rw %s", path);
    return false;
}
