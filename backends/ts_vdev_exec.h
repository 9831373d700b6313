/*
    ts_vdev_exec.h - runs captured operations on the virtual accelerator

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: none.
    Checked with:   Debian 12, x86-64, gcc 12 and clang 14, November 2026.

    WHAT IT DOES
        The executor of tracesmith_replay.h for ts_vdev.h: opens devices whose
        memory has the recorded addresses, loads the file that the kernels
        were in, be it a library or a program, and launches functions of it.

    WHAT IT DOES NOT DO
        It does not ask before it runs code of a trace: loading a file runs its
        constructors, and kernels are code of that file. Programs that were not
        built as position independent (the default is that they are), or with a
        sanitizer, cannot be loaded into another one.

    USE
        #define TRACESMITH_VDEV_IMPLEMENTATION // in one C11 file
        #include "backends/ts_vdev_exec.h"

        static ts_result run_first(ts_reader *reader, ts_execution_item *item)
        {
            const ts_execution_desc desc = { .executor = &ts_vdev_executor };
            const size_t first = 0;
            char why[200];
            ts_execution *execution;
            const ts_result result = ts_execution_open(
                &execution, reader, &first, 1, &desc, why, sizeof why);
            if (result == TS_OK) ts_execution_run(execution, 0, item);
            ts_execution_close(execution);
            return result;
        }

    CONTENTS                            search for "==== 2." to jump
        1. Executor
        2. Implementation               private
*/
#ifndef TS_VDEV_EXEC_H
#define TS_VDEV_EXEC_H

#include "ts_vdev.h"
#include "tracesmith_replay.h"

/* ==== 1. Executor ======================================================== */

/*
    For ts_execution_desc.executor: runs captures of the virtual device in
    memory at the recorded addresses.

    Threads: one thread at a time for each execution.
*/

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const ts_executor ts_vdev_executor;

/*
    Changes the file of a program, `size` bytes, so that dlopen loads it as a
    library. A library is left as it is.

    Errors: TS_ERR_UNSUPPORTED (for another machine, not position independent,
            or no ELF file).
*/
TS_API ts_result ts_vdev_exec_library(uint8_t *bytes, uint64_t size);

#endif // TS_VDEV_EXEC_H

/* ==== 2. Implementation ================================================== */

#if defined(TS__VDEV_IMPLEMENTED) && !defined(TS__VDEV_EXEC_IMPLEMENTED)
#define TS__VDEV_EXEC_IMPLEMENTED
#include <dlfcn.h>
#include <link.h>

enum {
    TS__VX_DEVICES = 64,
    TS__VX_MODULES = 64,
    TS__VX_KERNELS = 1024,
    TS__VX_STREAMS = 1024
};

typedef struct ts__vx_kernel {
    uint64_t function, args_size;
    ts_vdev_kernel kernel;
} ts__vx_kernel;

typedef struct ts__vx {
    ts_vdev *vdev;
    bool placed;      // memory is at its recorded addresses
    ts_reason reason; // why the last call failed
    void *modules[TS__VX_MODULES];
    size_t module_count;
    ts__vx_kernel kernels[TS__VX_KERNELS];
    size_t kernel_count;
    ts_vdev_stream streams[TS__VX_STREAMS];
    size_t stream_count;
} ts__vx;

// Some addresses may be unavailable, because a file may contain any. That must
// not cost the other ranges theirs: on each device as many ranges as possible
// are placed in one contiguous part.
typedef struct ts__vx_part {
    size_t first, end; // indices of ranges, sorted by address
} ts__vx_part;

static void ts__vx_parts(const ts_executor_range *ranges, size_t count,
                         ts__vx_part *parts)
{
    memset(parts, 0, TS__VX_DEVICES * sizeof *parts);
    for (size_t i = 0; i < count; i++) {
        ts__vx_part *const p = &parts[ranges[i].device];
        if (!p->end) p->first = i;
        p->end = i + 1;
    }
}

// Computes where each device's memory begins, and returns the required size.
static uint64_t ts__vx_places(const ts_executor_range *ranges,
                              const ts__vx_part *parts, uint64_t *at)
{
    uint64_t most = 1 << 20;
    for (int d = 0; d < TS__VX_DEVICES; d++) {
        at[d] = 0;
        for (size_t i = parts[d].first; i < parts[d].end; i++) {
            if (!at[d]) at[d] = ranges[i].address & ~UINT64_C(4095);
            const uint64_t size = ranges[i].address + ranges[i].size - at[d];
            if (size > most) most = size;
        }
    }
    most = (most + 4095) & ~UINT64_C(4095);
    // A device whose memory would overlap the next one begins earlier.
    for (int i = 0; i < TS__VX_DEVICES; i++)
        for (int j = 0; j < TS__VX_DEVICES; j++)
            if (at[j] > at[i] && at[j] - at[i] < most && at[j] > most)
                at[i] = at[j] - most;
    return most;
}

// Drops one of several devices: that with the fewest ranges. Returns false if
// there is only one.
static bool ts__vx_leave(ts__vx_part *parts)
{
    int least = -1, devices = 0;
    for (int d = 0; d < TS__VX_DEVICES; d++) {
        const size_t count = parts[d].end - parts[d].first;
        devices += count != 0;
        if (count &&
            (least < 0 || count < parts[least].end - parts[least].first))
            least = d;
    }
    if (devices < 2) return false;
    parts[least].end = parts[least].first;
    return true;
}

// Drops the ranges on the smaller side of the widest gap. If no gap is wider
// than the memory of any program, drops a device. Returns false if there is
// only one.
static bool ts__vx_split(const ts_executor_range *ranges, ts__vx_part *parts)
{
    uint64_t widest = UINT64_C(1) << 38;
    size_t at = 0;
    int device = -1;
    for (int d = 0; d < TS__VX_DEVICES; d++) {
        uint64_t end = UINT64_MAX; // end of the previous range
        for (size_t i = parts[d].first; i < parts[d].end; i++) {
            const ts_executor_range *const r = &ranges[i];
            if (i > parts[d].first && r->address > end &&
                r->address - end > widest) {
                widest = r->address - end;
                at = i;
                device = d;
            }
            if (i == parts[d].first || r->address + r->size > end)
                end = r->address + r->size;
        }
    }
    if (device < 0) return ts__vx_leave(parts);
    ts__vx_part *const p = &parts[device];
    if (at - p->first < p->end - at)
        p->first = at;
    else
        p->end = at;
    return true;
}

// Whether the ranges of two devices overlap.
static bool ts__vx_overlaps(const uint64_t *at, uint64_t size)
{
    for (int i = 0; i < TS__VX_DEVICES; i++)
        for (int j = 0; j < i; j++)
            if (at[i] && at[j] &&
                (at[i] - at[j] < size || at[j] - at[i] < size))
                return true;
    return false;
}

static ts_result ts__vx_open_placed(ts__vx *x, ts_vdev_desc desc,
                                    const ts_executor_range *ranges,
                                    size_t count)
{
    enum { TRIES = 64 };
    uint64_t at[TS__VX_DEVICES];
    ts__vx_part parts[TS__VX_DEVICES];
    ts_result result = TS_ERR_MEMORY;
    ts__vx_parts(ranges, count, parts);
    desc.memory_at = at;
    for (int i = 0; i < TRIES && result != TS_OK; i++) {
        if (i && !ts__vx_split(ranges, parts)) break;
        desc.memory_bytes = ts__vx_places(ranges, parts, at);
        if (!ts__vx_overlaps(at, desc.memory_bytes))
            result = ts_vdev_open(&x->vdev, &desc);
    }
    return result;
}

// Other addresses are better than none, and less memory is better than none.
static ts_result ts__vx_open_anywhere(ts__vx *x, ts_vdev_desc desc,
                                      const ts_executor_range *ranges,
                                      size_t count)
{
    const uint64_t most = UINT64_C(1) << 44;
    uint64_t all = 1 << 20;
    for (size_t i = 0; i < count; i++)
        if (ranges[i].size + 256 < most - all) all += ranges[i].size + 256;
    ts_result result = TS_ERR_MEMORY;
    for (; result != TS_OK && all >= 1 << 20; all /= 2) {
        desc.memory_bytes = all;
        result = ts_vdev_open(&x->vdev, &desc);
    }
    return result;
}

static ts_result ts__vx_open(void **state, uint32_t device_count,
                             const ts_executor_range *ranges, size_t count,
                             char *why, size_t room)
{
    *state = NULL;
    if (device_count > TS__VX_DEVICES) return TS_ERR_UNSUPPORTED;
    ts__vx *const x = calloc(1, sizeof *x);
    if (!x) return TS_ERR_MEMORY;
    const ts_vdev_desc desc = { .device_count = device_count,
                                .shared_bytes = 1 << 20 };
    ts_result result = ts__vx_open_placed(x, desc, ranges, count);
    x->placed = result == TS_OK;
    if (!x->placed) result = ts__vx_open_anywhere(x, desc, ranges, count);
    if (result == TS_OK) {
        *state = x;
        return TS_OK;
    }
    snprintf(why, room, "the virtual accelerator cannot be opened: %s",
             ts_result_text(result));
    free(x);
    return result;
}

static void ts__vx_close(void *state)
{
    ts__vx *const x = state;
    if (!x) return;
    ts_vdev_close(x->vdev);
    for (size_t i = 0; i < x->module_count; i++)
        dlclose(x->modules[i]);
    free(x);
}

static ts_reason ts__vx_reason(void *state)
{
    ts__vx *const x = state;
    const ts_reason reason = x->reason;
    x->reason = TS_REASON_NONE;
    return reason;
}

static ts_result ts__vx_too_many(ts__vx *x)
{
    x->reason = TS_REASON_TOO_MANY;
    return TS_ERR_UNSUPPORTED;
}

static ts_result ts__vx_allocate(void *state, uint32_t device,
                                 uint64_t *address, uint64_t size)
{
    ts__vx *const x = state;
    void *memory = (void *)(uintptr_t)*address;
    if (x->placed && ts_vdev_malloc_at(memory, x->vdev, device, size) == TS_OK)
        return TS_OK;
    // A range that has no place must not take that of another range.
    if (x->placed && ts__vd_owner(x->vdev, memory) == NULL) {
        x->reason = TS_REASON_VA_UNAVAILABLE;
        return TS_ERR_UNSUPPORTED;
    }
    const ts_result result = ts_vdev_malloc(&memory, x->vdev, device, size);
    *address = (uintptr_t)memory;
    return result;
}

static ts_result ts__vx_release(void *state, uint64_t address)
{
    return ts_vdev_free(((ts__vx *)state)->vdev, (void *)(uintptr_t)address);
}

// Nothing runs meanwhile, and device memory is the process's own.
static ts_result ts__vx_write(void *state, uint64_t address, const void *bytes,
                              uint64_t size)
{
    (void)state;
    memcpy((void *)(uintptr_t)address, bytes, (size_t)size);
    return TS_OK;
}

static ts_result ts__vx_read(void *state, void *bytes, uint64_t address,
                             uint64_t size)
{
    (void)state;
    memcpy(bytes, (const void *)(uintptr_t)address, (size_t)size);
    return TS_OK;
}

// Dlopen refuses a file that is marked as a program (DF_1_PIE); otherwise it
// can be loaded like a library.
ts_result ts_vdev_exec_library(uint8_t *bytes, uint64_t size)
{
    Elf64_Ehdr own, *const e = (void *)bytes;
    const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    const bool known = fd >= 0 && read(fd, &own, sizeof own) == sizeof own;
    if (fd >= 0) close(fd);
    if (size < sizeof *e || memcmp(bytes, ELFMAG, SELFMAG) ||
        bytes[EI_CLASS] != ELFCLASS64 || e->e_type != ET_DYN ||
        (known && e->e_machine != own.e_machine))
        return TS_ERR_UNSUPPORTED;
    if (e->e_phoff > size || e->e_phnum > (size - e->e_phoff) / 56)
        return TS_ERR_UNSUPPORTED;
    for (uint32_t i = 0; i < e->e_phnum; i++) {
        Elf64_Phdr p;
        memcpy(&p, bytes + e->e_phoff + i * sizeof p, sizeof p);
        if (p.p_type != PT_DYNAMIC || p.p_offset > size) continue;
        for (uint64_t at = p.p_offset; size - at >= sizeof(Elf64_Dyn);
             at += sizeof(Elf64_Dyn)) {
            Elf64_Dyn d;
            memcpy(&d, bytes + at, sizeof d);
            if (d.d_tag == DT_NULL) break;
            if (d.d_tag == DT_FLAGS_1) d.d_un.d_val &= ~UINT64_C(0x08000000);
            memcpy(bytes + at, &d, sizeof d);
        }
    }
    return TS_OK;
}

static bool ts__vx_write_all(int fd, const uint8_t *bytes, uint64_t size)
{
    while (size) {
        const ssize_t written = write(fd, bytes, (size_t)size);
        if (written <= 0) return false;
        bytes += written;
        size -= (uint64_t)written;
    }
    return true;
}

// Writes the bytes to a temporary file and loads it; the name is removed
// afterwards.
static void *ts__vx_dlopen(const uint8_t *bytes, uint64_t size)
{
    const char *const folders[] = { getenv("TMPDIR"), "/dev/shm", "/tmp", "." };
    void *handle = NULL;
    for (size_t i = 0; i < 4 && !handle; i++) {
        char path[4200];
        if (!folders[i]) continue;
        snprintf(path, sizeof path, "%s/tracesmith-code-XXXXXX", folders[i]);
        const int fd = mkstemp(path);
        if (fd < 0) continue;
        if (ts__vx_write_all(fd, bytes, size))
            handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        unlink(path);
        close(fd);
    }
    return handle;
}

// Returns the bytes of the file at its recorded path, if it is unchanged.
static uint8_t *ts__vx_file(const ts_executor_code *code)
{
    uint8_t *bytes = NULL;
    uint64_t hash[2];
    struct stat st;
    const int fd = open(code->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        (uint64_t)st.st_size == code->size)
        bytes = malloc((size_t)code->size + 1);
    if (bytes && read(fd, bytes, (size_t)code->size) != (ssize_t)code->size) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes) ts_blob_find(bytes, (size_t)code->size, hash);
    if (bytes && memcmp(hash, code->hash, sizeof hash)) {
        free(bytes);
        bytes = NULL;
    }
    if (fd >= 0) close(fd);
    return bytes;
}

static ts_result ts__vx_load(void *state, const ts_executor_code *code,
                             uint64_t *module, char *why, size_t room)
{
    ts__vx *const x = state;
    if (code->form != TS_CAPTURE_FILE) return TS_ERR_UNSUPPORTED;
    if (x->module_count == TS__VX_MODULES) return ts__vx_too_many(x);
    snprintf(why, room, "its file was moved or changed");
    uint8_t *const bytes =
        code->bytes ? malloc((size_t)code->size + 1) : ts__vx_file(code);
    if (!bytes) return code->bytes ? TS_ERR_MEMORY : TS_ERR_NOT_FOUND;
    if (code->bytes) memcpy(bytes, code->bytes, (size_t)code->size);
    ts_result result = ts_vdev_exec_library(bytes, code->size);
    void *const handle =
        result == TS_OK ? ts__vx_dlopen(bytes, code->size) : NULL;
    free(bytes);
    if (handle) {
        x->modules[x->module_count++] = handle;
        *module = ((const struct link_map *)handle)->l_addr;
        return TS_OK;
    }
    const char *const error = result == TS_OK ? dlerror() : NULL;
    snprintf(why, room, "%s",
             error ? error : "its code is for another machine");
    return result == TS_OK ? TS_ERR_NOT_FOUND : result;
}

static ts_result ts__vx_global(void *state, uint64_t module, uint32_t device,
                               uint64_t offset, uint64_t size,
                               uint64_t *address)
{
    (void)state;
    (void)device; // all devices use the process's functions and variables
    (void)size;
    *address = module + offset;
    return TS_OK;
}

static ts_result ts__vx_stream(void *state, uint32_t device, uint64_t flags,
                               uint64_t *stream)
{
    ts__vx *const x = state;
    const uint32_t priority = flags >> 16 & 0xFFFF;
    ts_vdev_stream_desc desc = {
        .device = device,
        .non_blocking = flags & TS_STREAM_NON_BLOCKING,
        .priority = priority ? (int32_t)priority - 32768 : 0,
    };
    if (x->stream_count == TS__VX_STREAMS) return ts__vx_too_many(x);
    const ts_result result =
        flags & TS_STREAM_LEGACY_DEFAULT
            ? ts_vdev_stream_default(stream, x->vdev, device)
            : ts_vdev_stream_create(stream, x->vdev, &desc);
    if (result == TS_OK) x->streams[x->stream_count++] = *stream;
    return result;
}

static ts_result ts__vx_kernel_find(ts__vx *x, const ts_executor_launch *l,
                                    ts_vdev_kernel *kernel)
{
    const uint64_t function = l->module + l->function;
    for (size_t i = 0; i < x->kernel_count; i++) {
        *kernel = x->kernels[i].kernel;
        if (x->kernels[i].function == function &&
            x->kernels[i].args_size == l->args_size)
            return TS_OK;
    }
    const ts_vdev_kernel_desc desc = {
        .name = l->name ? l->name : "kernel",
        .function = (ts_vdev_function)(uintptr_t)function,
        .args_size = l->args_size,
    };
    if (x->kernel_count == TS__VX_KERNELS) return ts__vx_too_many(x);
    const ts_result result = ts_vdev_kernel_register(kernel, x->vdev, &desc);
    if (result != TS_OK) return result;
    const ts__vx_kernel made = { function, l->args_size, *kernel };
    x->kernels[x->kernel_count++] = made;
    return TS_OK;
}

static ts_result ts__vx_launch(void *state, uint64_t stream,
                               const ts_executor_launch *l)
{
    ts__vx *const x = state;
    ts_vdev_launch_desc desc = { .args = l->args, .shared_bytes = l->shared };
    ts_vdev_kernel kernel;
    memcpy(desc.grid, l->grid, sizeof desc.grid);
    memcpy(desc.block, l->block, sizeof desc.block);
    const ts_result result = ts__vx_kernel_find(x, l, &kernel);
    if (result != TS_OK) return result;
    return ts_vdev_launch(x->vdev, stream, kernel, &desc);
}

static ts_result ts__vx_copy(void *state, uint64_t stream,
                             const ts_executor_copy *c)
{
    return ts_vdev_memcpy_async(((ts__vx *)state)->vdev, stream,
                                (void *)(uintptr_t)c->destination,
                                (const void *)(uintptr_t)c->source, c->size);
}

static ts_result ts__vx_set(void *state, uint64_t stream,
                            const ts_executor_set *set)
{
    return ts_vdev_memset_async(((ts__vx *)state)->vdev, stream,
                                (void *)(uintptr_t)set->destination,
                                (uint8_t)set->value, set->size);
}

static ts_result ts__vx_poll(void *state)
{
    const ts__vx *const x = state;
    bool done = true;
    ts_result result = TS_OK;
    for (size_t i = 0; i < x->stream_count && done && result == TS_OK; i++)
        result = ts_vdev_stream_query(&done, x->vdev, x->streams[i]);
    return result == TS_OK && !done ? TS_ERR_BUSY : result;
}

static ts_result ts__vx_wait(void *state, uint32_t timeout_ms)
{
    return ts_executor_poll(ts__vx_poll, state, timeout_ms);
}

static ts_result ts__vx_event(void *state, uint64_t stream, uint64_t *event)
{
    ts_vdev *const v = ((ts__vx *)state)->vdev;
    const ts_result result = ts_vdev_event_create(event, v);
    return result == TS_OK ? ts_vdev_event_record(v, *event, stream) : result;
}

static ts_result ts__vx_event_wait(void *state, uint64_t stream, uint64_t event)
{
    return ts_vdev_event_wait(((ts__vx *)state)->vdev, event, stream);
}

static uint64_t ts__vx_blank(void *state, uint64_t address, uint64_t size,
                             bool *blank)
{
    return ts__vd_blank(((ts__vx *)state)->vdev, address, size, blank);
}

const ts_executor ts_vdev_executor = {
    .name = "vdev",
    .host_memory = true,
    .open = ts__vx_open,
    .close = ts__vx_close,
    .reason = ts__vx_reason,
    .allocate = ts__vx_allocate,
    .release = ts__vx_release,
    .write = ts__vx_write,
    .read = ts__vx_read,
    .load = ts__vx_load,
    .global = ts__vx_global,
    .stream = ts__vx_stream,
    .launch = ts__vx_launch,
    .copy = ts__vx_copy,
    .set = ts__vx_set,
    .wait = ts__vx_wait,
    .event = ts__vx_event,
    .event_wait = ts__vx_event_wait,
    .blank = ts__vx_blank,
};

#endif // implementation
