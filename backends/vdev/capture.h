/*
    vdev/capture.h - captures of the virtual accelerator

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Gives an operation that is captured (ts_capture.h) the device to itself:
    waits, for a bounded time, until nothing else runs, shows the memory,
    runs it, shows the memory again. Calls of other threads wait meanwhile.
    Finds the module of a kernel's function.
*/
#ifndef TS__VDEV_CAPTURE_H
#define TS__VDEV_CAPTURE_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "../capture/memory.h"
#include "calls.h"
#include "machine.h"
#include "untouched_pages.h"

#include <elf.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ==== 1. Code ============================================================ */

static const void *ts__vd_view(void *user, uint64_t address, uint64_t size,
                               void *scratch)
{
    (void)user;
    (void)size;
    (void)scratch;
    return ts__vd_pointer(address); // device memory is the process's own
}

static uint64_t ts__vd_report_blank(void *user, uint64_t address, uint64_t size,
                                    bool *blank)
{
    return ts__vd_blank(user, address, size, blank);
}

// A line of /proc/self/maps: the mapping that contains an address.
typedef struct ts__vd_mapping {
    uint64_t begin, offset;
    char path[4096];
} ts__vd_mapping;

static bool ts__vd_mapping_at(uint64_t address, ts__vd_mapping *found)
{
    char line[4400];
    bool there = false;
    FILE *const maps = fopen("/proc/self/maps", "re");
    while (maps && !there && fgets(line, sizeof line, maps)) {
        unsigned long long begin, end, offset;
        int path = 0;
        if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %n", &begin, &end, &offset,
                   &path) < 3 ||
            !path || address < begin || address >= end)
            continue;
        line[strcspn(line, "\n")] = 0;
        found->begin = begin;
        found->offset = offset;
        const size_t size = strlen(line + path);
        there = line[path] == '/' && size < sizeof found->path;
        if (there) memcpy(found->path, line + path, size + 1);
        break;
    }
    if (maps) fclose(maps);
    return there;
}

typedef struct ts__vd_module { // a code file
    const uint8_t *bytes;
    uint64_t size, base;  // base: load address
    uint64_t first, last; // its address range in this process
    const void *build_id;
    uint64_t build_id_size;
} ts__vd_module;

static const Elf64_Phdr *ts__vd_headers(const ts__vd_module *m, uint32_t *count)
{
    const Elf64_Ehdr *const e = (const void *)m->bytes;
    *count = 0;
    if (m->size < sizeof *e || memcmp(m->bytes, ELFMAG, SELFMAG) ||
        m->bytes[EI_CLASS] != ELFCLASS64 || e->e_phoff > m->size ||
        e->e_phnum > (m->size - e->e_phoff) / sizeof(Elf64_Phdr))
        return NULL;
    *count = e->e_phnum;
    return (const void *)(m->bytes + e->e_phoff);
}

static void ts__vd_build_id(ts__vd_module *m, const Elf64_Phdr *p)
{
    const uint8_t *at = m->bytes + p->p_offset;
    uint64_t left = p->p_filesz;
    if (p->p_offset > m->size || left > m->size - p->p_offset) return;
    while (left >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        memcpy(&note, at, sizeof note);
        const uint64_t name = (note.n_namesz + 3u) & ~3u;
        const uint64_t size = (note.n_descsz + 3u) & ~3u;
        const uint64_t all = sizeof note + name + size;
        if (all > left) return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= 64) {
            m->build_id = at + sizeof note + name;
            m->build_id_size = note.n_descsz;
        }
        at += all;
        left -= all;
    }
}

// Computes where the file is loaded in this process.
static bool ts__vd_module_place(ts__vd_module *m, const ts__vd_mapping *mapping)
{
    uint32_t count;
    const Elf64_Phdr *const p = ts__vd_headers(m, &count);
    bool found = false;
    for (uint32_t i = 0; i < count; i++) {
        if (p[i].p_type == PT_NOTE) ts__vd_build_id(m, &p[i]);
        if (p[i].p_type != PT_LOAD) continue;
        const uint64_t skipped = p[i].p_offset & 4095;
        if (mapping->offset < p[i].p_offset - skipped ||
            mapping->offset - (p[i].p_offset - skipped) >=
                p[i].p_filesz + 4096 ||
            found)
            continue;
        m->base =
            mapping->begin - mapping->offset + p[i].p_offset - p[i].p_vaddr;
        found = p[i].p_flags & PF_X;
    }
    m->first = UINT64_MAX;
    for (uint32_t i = 0; found && i < count; i++) {
        if (p[i].p_type != PT_LOAD) continue;
        const uint64_t begin = m->base + p[i].p_vaddr;
        if (begin < m->first) m->first = begin;
        if (begin + p[i].p_memsz > m->last) m->last = begin + p[i].p_memsz;
    }
    return found;
}

// Adds the module's variables that were declared as used by kernels.
static void ts__vd_module_globals(ts_vdev *v, const ts__vd_module *m,
                                  uint32_t image)
{
    for (size_t i = 0; i < v->global_count; i++) {
        const ts__vd_global *const g = &v->globals[i];
        if (g->address - m->first >= m->last - m->first) continue;
        ts_capture_global(&v->known_memory, g->address, g->size,
                          v->devices[g->device].track, image,
                          g->address - m->base);
    }
}

// Returns the number of a module's image, and stores it if no kernel has yet.
static uint32_t ts__vd_image_put(ts_vdev *v, const ts__vd_module *m,
                                 const char *path)
{
    for (size_t i = 0; i < v->slot_count; i++) {
        const ts__vd_kernel *const other = v->slots[i].object;
        if (!other || (v->slots[i].handle >> 24 & 0xFF) != TS__VD_KERNEL ||
            other->capture != v->known_memory.capture || !other->image)
            continue;
        const uint64_t at = (uintptr_t)other->function;
        if (at - m->first < m->last - m->first) return other->image;
    }
    const ts_capture_code code = { .vendor = "vdev",
                                   .path = path,
                                   .bytes = m->bytes,
                                   .size = m->size,
                                   .build_id = m->build_id,
                                   .build_id_size = m->build_id_size,
                                   .address = m->base,
                                   .form = TS_CAPTURE_FILE };
    const uint32_t image = ts_capture_image_add(&code);
    if (image) ts__vd_module_globals(v, m, image);
    return image;
}

// Finds the module of a kernel and stores it, once per capture.
static void ts__vd_image(ts_vdev *v, ts__vd_kernel *k)
{
    ts__vd_mapping *const mapping = calloc(1, sizeof *mapping);
    ts__vd_module m = { 0 };
    struct stat st = { 0 };
    const uint64_t function = (uintptr_t)k->function;
    k->capture = v->known_memory.capture;
    k->image = 0;
    const int fd = mapping && ts__vd_mapping_at(function, mapping)
                       ? open(mapping->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                       : -1;
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size > 0) {
        m.size = (uint64_t)st.st_size;
        void *const bytes = mmap(NULL, m.size, PROT_READ, MAP_PRIVATE, fd, 0);
        m.bytes = bytes == MAP_FAILED ? NULL : bytes;
        if (m.bytes && ts__vd_module_place(&m, mapping)) {
            k->offset = function - m.base;
            k->image = ts__vd_image_put(v, &m, mapping->path);
        }
        if (m.bytes) munmap(bytes, m.size);
    }
    if (fd >= 0) close(fd);
    free(mapping);
}

/* ==== 2. Operations ====================================================== */

static const ts_capture_vendor ts__vd_vendor = { .name = "vdev",
                                                 .view = ts__vd_view,
                                                 .blank = ts__vd_report_blank,
                                                 .host_visible = true };

// Adds all allocations to a capture that has just begun.
static void ts__vd_capture_open(ts_vdev *v)
{
    v->known_memory.vendor = &ts__vd_vendor;
    v->known_memory.user = v;
    if (!ts_capture_fresh(&v->known_memory)) return;
    v->late = false;
    for (size_t i = 0; i < v->slot_count; i++) {
        ts__vd_kernel *const k = v->slots[i].object;
        if (k && (v->slots[i].handle >> 24 & 0xFF) == TS__VD_KERNEL)
            k->capture = 0;
    }
    for (uint32_t i = 0; i < v->desc.device_count; i++) {
        const ts__vd_device *const d = &v->devices[i];
        for (size_t j = 0; j < d->range_count; j++)
            ts_capture_alloc(&v->known_memory, d->ranges[j].begin,
                             d->ranges[j].size, d->track);
    }
}

static void ts__vd_describe_kernel(ts_capture_op *seen, ts_vdev *v,
                                   const ts__vd_op *op, ts__vd_kernel *k)
{
    ts_capture_operation *const h = &seen->head;
    if (k->capture != v->known_memory.capture) ts__vd_image(v, k);
    h->image = k->image;
    h->function = k->offset;
    memcpy(h->grid, op->block.grid, sizeof h->grid);
    memcpy(h->block, op->block.size, sizeof h->block);
    h->shared = (uint32_t)op->block.shared_size;
    h->args_size = (uint32_t)k->args_size;
    seen->args = op->args;
    for (uint32_t i = 0; i < k->role_count; i++)
        ts_capture_param_add(seen, k->roles[i].offset, 8, TS_PARAM_POINTER);
    if (!h->image) ts_capture_decline(seen, TS_REASON_IMAGE_MISSING);
}

static void ts__vd_describe(ts_capture_op *seen, ts_vdev *v,
                            const ts__vd_op *op, ts__vd_kernel *k)
{
    ts_capture_operation *const h = &seen->head;
    const ts_gpu_op *const r = &op->report;
    h->correlation = r->correlation;
    h->track = r->track;
    if (k) ts__vd_describe_kernel(seen, v, op, k);
    if (r->kind == TS_EVENT_MEMCPY) {
        h->source = r->u.memcpy.source;
        h->destination = r->u.memcpy.destination;
        h->size = r->u.memcpy.size;
    } else if (r->kind == TS_EVENT_MEMSET) {
        h->destination = r->u.memset.destination;
        h->size = r->u.memset.size;
        h->value = r->u.memset.value;
    } else if (r->kind == TS_EVENT_HOST_FUNCTION) {
        ts_capture_decline(seen, TS_REASON_HOST_CALLBACK);
    }
}

// Submits an operation and waits until it is complete, with the capture's
// timeout unless to_the_end. Returns whether it is complete.
static bool ts__vd_submit_bounded(ts_vdev *v, ts__vd_op *op, bool to_the_end)
{
    ts__vd_waiter waiter = { .done = false };
    pthread_condattr_t steady;
    pthread_condattr_init(&steady);
    pthread_condattr_setclock(&steady, CLOCK_MONOTONIC);
    pthread_cond_init(&waiter.wake, &steady);
    pthread_condattr_destroy(&steady);
    op->waiter = &waiter;
    const struct timespec until =
        ts_capture_deadline(ts__cap_now.desc.drain_ms);
    ts__vd_submit(v, op);
    bool in_time = true;
    while (!waiter.done && in_time)
        in_time = pthread_cond_timedwait(&waiter.wake, &v->lock, &until) == 0;
    const bool done = waiter.done;
    while (!waiter.done && to_the_end)
        pthread_cond_wait(&waiter.wake, &v->lock);
    if (!waiter.done) op->waiter = NULL; // it is still running
    pthread_cond_destroy(&waiter.wake);
    return done;
}

static ts_result ts__vd_submit_plain(ts_vdev *v, ts__vd_op *op, bool wait)
{
    return wait ? ts__vd_submit_and_wait(v, op) : ts__vd_submit(v, op);
}

// Submits a complete operation, and captures it if requested. k: its kernel, or
// NULL. wait: return when it is complete.
static ts_result ts__vd_submit_seen(const ts__vd_call *call, ts__vd_op *op,
                                    ts__vd_kernel *k, bool wait)
{
    ts_vdev *const v = call->v;
    if (!op || !call->origin.thread || !ts_capture_on())
        return ts__vd_submit_plain(v, op, wait);
    ts_capture_op seen;
    memset(&seen, 0, sizeof seen);
    ts__vd_capture_open(v);
    seen.head.kind = (uint32_t)op->report.kind;
    seen.name = k ? k->name : NULL;
    if (k) seen.head.name = ts_name_define(k->name);
    if (!ts_capture_requested(&seen)) return ts__vd_submit_plain(v, op, wait);
    ts__vd_describe(&seen, v, op, k);
    if (!call->exclusive) ts_capture_decline(&seen, TS_REASON_DRAIN_TIMEOUT);
    ts_capture_begin(&v->known_memory, &seen);
    bool done = false;
    if (call->exclusive && seen.head.kind != TS_EVENT_HOST_FUNCTION)
        done = ts__vd_submit_bounded(v, op, wait);
    else
        ts__vd_submit_plain(v, op, wait);
    if (call->exclusive && !done && seen.head.state != TS_CAPTURE_DECLINED) {
        v->late = true;
        ts_capture_decline(&seen, TS_REASON_DRAIN_TIMEOUT);
    }
    ts_capture_end(&v->known_memory, &seen);
    return TS_OK;
}

#endif // TS__VDEV_CAPTURE_H
