/*
    ts_cuda_exec.h - runs captured operations on NVIDIA's and AMD's devices

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.
    Vendor library: libcuda.so.1, by its driver interface; libamdhip64.so,
                    whose functions of the same shape take its place.
    Checked with:   doubles of both (tests/doubles/libcuda.c, amdhip64.c),
                    Debian 12, x86-64, gcc 12 and clang 14, November 2026.
                    Neither has run on a GPU yet.

    WHAT IT DOES
        The executors of tracesmith_replay.h for both. Memory comes back at
        its recorded addresses: they are kept free before the driver starts,
        and reserved one by one afterwards, with some tries; what cannot have
        its address lies elsewhere, and says so. Modules are loaded from the
        trace, functions found in them by name, launched with the recorded
        bytes as they are.

    WHAT IT DOES NOT DO
        It asks nobody: code of a trace runs. A device that has failed stays
        so until the process ends, as the vendors say.

    USE
        #define TRACESMITH_CUDA_EXEC_IMPLEMENTATION // in one C11 file
        #include "backends/ts_cuda_exec.h"

        static const ts_execution_desc on_a_gpu = {
            .executor = &ts_cuda_executor
        };

    CONTENTS                            search for "==== 2." to jump
        1. Executors
        2. The driver                   cuda/exec_memory.h; private, as
                                        all that follows
        3. Addresses
        4. Contents and code
        5. Streams and launches         cuda/exec_handles.h: what
                                        arguments hide
        6. Copies and sets
        7. Waiting, graphs
*/
#if defined(TRACESMITH_CUDA_EXEC_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#ifndef TS_CUDA_EXEC_H
#define TS_CUDA_EXEC_H

#include "tracesmith_replay.h"

/* ==== 1. Executors ======================================================= */

#ifdef __cplusplus
extern "C" const ts_executor ts_cuda_executor, ts_hip_executor;
#else
extern const ts_executor ts_cuda_executor, ts_hip_executor;
#endif

#endif // TS_CUDA_EXEC_H

#if defined(TRACESMITH_CUDA_EXEC_IMPLEMENTATION) && \
    !defined(TS__CUDA_EXEC_IMPLEMENTED)
#define TS__CUDA_EXEC_IMPLEMENTED
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include "gpu/cuda_abi.h"

#include "cuda/exec_memory.h" // 2, 3

/* ==== 4. Contents and code =============================================== */

// False: it is no memory of ours, but of a module, say.
static bool ts__cx_device_find(ts__cx *x, uint64_t address, uint32_t *device)
{
    const ts__cx_span *const s = ts__cx_span_of(x, address);
    if (s && s->handle) {
        *device = s->device;
        return true;
    }
    for (size_t i = 0; i < x->other_count; i++) {
        if (address - x->others[i].address >= x->others[i].size) continue;
        *device = x->others[i].device;
        return true;
    }
    return false;
}

static uint32_t ts__cx_device_of(ts__cx *x, uint64_t address)
{
    uint32_t device = 0;
    ts__cx_device_find(x, address, &device);
    return device;
}

static ts_result ts__cx_write(void *state, uint64_t address, const void *bytes,
                              uint64_t size)
{
    ts__cx *const x = state;
    ts__cx_use(x, ts__cx_device_of(x, address));
    return ts__cx_result(x, x->call.write(address, bytes, size));
}

static ts_result ts__cx_read(void *state, void *bytes, uint64_t address,
                             uint64_t size)
{
    ts__cx *const x = state;
    ts__cx_use(x, ts__cx_device_of(x, address));
    return ts__cx_result(x, x->call.read(bytes, address, size));
}

static bool ts__cx_takes(const ts__cx *x, uint32_t form)
{
    if (x->is_hip) return form == TS_CAPTURE_AMD_OBJECT;
    return form == TS_CAPTURE_CUBIN || form == TS_CAPTURE_PTX ||
           form == TS_CAPTURE_FATBIN;
}

static ts_result ts__cx_too_many(ts__cx *x)
{
    x->reason = TS_REASON_TOO_MANY;
    return TS_ERR_UNSUPPORTED;
}

// The end of the last section whose bytes are in the file. What vendors' own
// types have there they alone know.
static uint64_t ts__cx_sections_end(const uint8_t *bytes, uint64_t size)
{
    Elf64_Ehdr e;
    Elf64_Shdr s;
    uint64_t most = 0;
    memcpy(&e, bytes, sizeof e);
    for (uint64_t i = 0; i < e.e_shnum && e.e_shentsize == sizeof s; i++) {
        if (e.e_shoff + (i + 1) * sizeof s > size) return UINT64_MAX;
        memcpy(&s, bytes + e.e_shoff + i * sizeof s, sizeof s);
        const bool has = s.sh_type != SHT_NULL && s.sh_type != SHT_NOBITS &&
                         s.sh_type < SHT_LOOS;
        const uint64_t end = ts__cuda_end_of(s.sh_offset, s.sh_size);
        if (has && end > most) most = end;
    }
    return most;
}

// Drivers are told where code begins, not where it ends: what it says of
// itself must be there.
static bool ts__cx_whole(const ts_executor_code *code)
{
    const uint8_t *const bytes = code->bytes;
    if (code->size < 4 || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return code->form == TS_CAPTURE_PTX || code->form == TS_CAPTURE_FATBIN;
    if (code->size < sizeof(Elf64_Ehdr)) return false;
    return ts__cuda_code_size(bytes) - 1 < code->size &&
           ts__cx_sections_end(bytes, code->size) <= code->size;
}

static ts_result ts__cx_load_code(void *state, const ts_executor_code *code,
                                  uint64_t *module, char *why, size_t room)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (!ts__cx_takes(x, code->form)) {
        snprintf(why, room, "it is not code of this vendor's devices");
        return TS_ERR_UNSUPPORTED;
    }
    if (!code->bytes) {
        snprintf(why, room, "the trace does not hold it");
        return TS_ERR_NOT_FOUND;
    }
    if (!ts__cx_whole(code)) {
        snprintf(why, room, "its file is cut short");
        return TS_ERR_UNSUPPORTED;
    }
    if (x->module_count == TS__CX_MODULES) return ts__cx_too_many(x);
    ts__cx_module *const m = &x->modules[x->module_count];
    m->bytes = calloc(1, (size_t)code->size + 64);
    if (!m->bytes) return TS_ERR_MEMORY;
    memcpy(m->bytes, code->bytes, (size_t)code->size);
    m->size = code->size;
    ts__cx_use(x, 0);
    const int error = x->call.load(&m->loaded[0], m->bytes);
    if (!error) {
        *module = ++x->module_count;
        return TS_OK;
    }
    snprintf(why, room, "the driver does not load it: %s",
             ts__cx_error(x, error));
    free(m->bytes);
    memset(m, 0, sizeof *m);
    return error == TS__CUDA_NO_MEMORY ? TS_ERR_MEMORY : TS_ERR_UNSUPPORTED;
}

static void *ts__cx_module_on(ts__cx *x, uint64_t module, uint32_t device)
{
    if (!module || module > x->module_count || device >= x->device_count)
        return NULL;
    ts__cx_module *const m = &x->modules[module - 1];
    ts__cx_use(x, device);
    if (!m->loaded[device] &&
        x->call.load(&m->loaded[device], m->bytes) != TS__CUDA_OK)
        m->loaded[device] = NULL;
    return m->loaded[device];
}

// offset: the number of its symbol.
static ts_result ts__cx_global(void *state, uint64_t module, uint32_t device,
                               uint64_t offset, uint64_t size,
                               uint64_t *address)
{
    ts__cx *const x = state;
    void *const loaded = ts__cx_module_on(x, module, device);
    ts__cuda_code code;
    size_t has = 0;
    x->reason = TS_REASON_IMAGE_MISSING;
    if (!loaded || !ts__cuda_code_open(&code, x->modules[module - 1].bytes,
                                       x->modules[module - 1].size))
        return TS_ERR_NOT_FOUND;
    const int error =
        x->call.global(address, &has, loaded, ts__cuda_symbol(&code, offset));
    return error || has != size ? TS_ERR_NOT_FOUND : TS_OK;
}

/* ==== 5. Streams and launches ============================================ */

static ts_result ts__cx_stream_make(void *state, uint32_t device,
                                    uint64_t flags, uint64_t *stream)
{
    ts__cx *const x = state;
    const uint32_t priority = flags >> 16 & 0xFFFF;
    const bool legacy = flags & TS_STREAM_LEGACY_DEFAULT;
    x->reason = TS_REASON_NONE;
    if (x->stream_count == TS__CX_STREAMS) return ts__cx_too_many(x);
    ts__cx_stream *const s = &x->streams[x->stream_count];
    ts__cx_use(x, device);
    const int error =
        x->call.stream(&s->recorded, flags & TS_STREAM_NON_BLOCKING ? 1 : 0,
                       priority ? (int)priority - 32768 : 0);
    if (error) return ts__cx_result(x, error);
    s->handle = legacy ? NULL : s->recorded;
    s->device = device;
    *stream = ++x->stream_count;
    return TS_OK;
}

static ts__cx_stream *ts__cx_stream_at(ts__cx *x, uint64_t stream)
{
    ts__cx_stream *const s =
        &x->streams[stream && stream <= x->stream_count ? stream - 1 : 0];
    ts__cx_use(x, s->device);
    return s;
}

static void *ts__cx_handle(const ts__cx *x, const ts__cx_stream *s)
{
    return x->graph ? s->recorded : s->handle;
}

static void *ts__cx_function_find(ts__cx *x, const ts_executor_launch *l,
                                  uint32_t device)
{
    const char *const name = l->name ? l->name : "";
    for (size_t i = 0; i < x->function_count; i++) {
        const ts__cx_function *const f = &x->functions[i];
        if (f->module == l->module && f->device == device &&
            !strcmp(f->name, name))
            return f->function;
    }
    void *const module = ts__cx_module_on(x, l->module, device);
    void *function = NULL;
    if (!module || x->call.function(&function, module, name) != 0) return NULL;
    char *const copy = malloc(strlen(name) + 1);
    if (!copy || x->function_count == TS__CX_FUNCTIONS) {
        free(copy);
        return function;
    }
    ts__cx_function *const f = &x->functions[x->function_count++];
    f->module = l->module;
    f->device = device;
    f->function = function;
    f->name = strcpy(copy, name);
    return function;
}

#include "cuda/exec_handles.h"

typedef struct ts__cx_how { // attributes of a launch
    ts__cuda_attribute attributes[16];
    uint32_t count;
    uint8_t *args; // with other handles than the record's, NULL: as they are
} ts__cx_how;

// More dynamic shared memory than every function may have it was allowed, if
// only before anybody looked.
static ts_result ts__cx_allow_shared(ts__cx *x, const ts_executor_launch *l,
                                     void *function)
{
    ts_attribute a;
    int32_t pair[2];
    uint64_t at = 0;
    if (l->shared <= TS__CUDA_SHARED || !x->call.attribute) return TS_OK;
    while (ts_attribute_next(&l->attributes, &at, &a)) {
        if (a.id != TS_ATTRIBUTE_FUNCTION || a.size < sizeof pair) continue;
        memcpy(pair, a.bytes, sizeof pair);
        if (pair[0] == TS__CUDA_MOST_SHARED) return TS_OK;
    }
    return ts__cx_result(
        x, x->call.attribute(function, TS__CUDA_MOST_SHARED, (int)l->shared));
}

// Attributes that let work begin early are left out: operations come one
// after another, which is all that they ask for.
static ts_result ts__cx_attributes(ts__cx *x, const ts_executor_launch *l,
                                   uint32_t device, void *function,
                                   ts__cx_how *how)
{
    ts_attribute a;
    uint64_t at = 0;
    how->count = 0;
    x->reason = TS_REASON_ATTR_UNKNOWN;
    while (ts_attribute_next(&l->attributes, &at, &a)) {
        int32_t pair[2] = { TS__CUDA_COOPERATIVE, 1 };
        if (a.size >= 8) memcpy(pair, a.bytes, sizeof pair);
        if (a.id == TS_ATTRIBUTE_FUNCTION && a.size >= 8) {
            if (!x->call.attribute) return TS_ERR_UNSUPPORTED;
            const int error = x->call.attribute(function, pair[0], pair[1]);
            if (error) return ts__cx_result(x, error);
            x->reason = TS_REASON_ATTR_UNKNOWN;
            continue;
        }
        if (a.id == TS_ATTRIBUTE_TENSOR_MAP || a.id == TS_ATTRIBUTE_TEXTURE) {
            const ts_result result =
                a.id == TS_ATTRIBUTE_TEXTURE
                    ? ts__cx_texture_use(x, l, device, &a, &how->args)
                    : ts__cx_tensor(x, &a);
            if (result != TS_OK) return result;
            x->reason = TS_REASON_ATTR_UNKNOWN;
            continue;
        }
        const uint32_t id = (uint32_t)pair[0];
        const bool launch = a.id == TS_ATTRIBUTE_CUDA_LAUNCH && a.size >= 72;
        if (!launch && a.id != TS_ATTRIBUTE_COOPERATIVE) continue;
        if (launch && id < 32 && TS__CUDA_ORDER >> id & 1) continue;
        if (id >= 32 || !(TS__CUDA_ATTRIBUTES >> id & 1) || how->count == 16)
            return TS_ERR_UNSUPPORTED;
        ts__cuda_attribute *const to = &how->attributes[how->count++];
        memset(to, 0, sizeof *to);
        to->id = id;
        to->value.number = 1;
        if (launch) memcpy(to->value.bytes, (const uint8_t *)a.bytes + 8, 64);
    }
    return ts__cx_allow_shared(x, l, function);
}

// Whether a launch is cooperative and has no other attribute.
static bool ts__cx_is_together(const ts__cx_how *how)
{
    return how->count == 1 && how->attributes[0].id == TS__CUDA_COOPERATIVE &&
           how->attributes[0].value.number == 1;
}

// By a function that takes arguments one by one: versions of HIP without
// hipDrvLaunchKernelEx have no other one.
static ts_result ts__cx_launch_together(ts__cx *x, void *on, void *function,
                                        const ts_executor_launch *l,
                                        uint8_t *args)
{
    if (!x->call.launch_together || (l->args_size && !l->param_count))
        return TS_ERR_UNSUPPORTED;
    void **const each = (void **)malloc((l->param_count + 1) * sizeof *each);
    if (!each) return TS_ERR_MEMORY;
    for (uint32_t i = 0; i < l->param_count; i++)
        each[i] = args + l->params[i].offset;
    const ts_result result = ts__cx_result(
        x, x->call.launch_together(function, l->grid[0], l->grid[1], l->grid[2],
                                   l->block[0], l->block[1], l->block[2],
                                   l->shared, on, each));
    free(each);
    return result;
}

static ts_result ts__cx_launch_now(ts__cx *x, void *on, void *function,
                                   const ts_executor_launch *l, ts__cx_how how)
{
    size_t size = l->args_size;
    void *args = how.args; // the interface takes them as if it wrote there
    if (!args) memcpy(&args, &l->args, sizeof args);
    void *more[] = { (void *)1, args, (void *)2, &size,
                     x->is_hip ? (void *)3 : NULL };
    if (!how.count)
        return ts__cx_result(
            x, x->call.launch(function, l->grid[0], l->grid[1], l->grid[2],
                              l->block[0], l->block[1], l->block[2], l->shared,
                              on, NULL, size ? more : NULL));
    ts__cuda_launch launch = { .shared = l->shared,
                               .stream = on,
                               .attributes = how.attributes,
                               .attribute_count = how.count };
    memcpy(launch.grid, l->grid, sizeof launch.grid);
    memcpy(launch.block, l->block, sizeof launch.block);
    if (!x->call.launch_how && ts__cx_is_together(&how))
        return ts__cx_launch_together(x, on, function, l, (uint8_t *)args);
    if (!x->call.launch_how) return TS_ERR_UNSUPPORTED;
    return ts__cx_result(
        x, x->call.launch_how(&launch, function, NULL, size ? more : NULL));
}

static ts_result ts__cx_launch(void *state, uint64_t stream,
                               const ts_executor_launch *l)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    void *const function = ts__cx_function_find(x, l, s->device);
    ts__cx_how how;
    x->reason = TS_REASON_IMAGE_MISSING;
    if (!function) return TS_ERR_NOT_FOUND;
    how.args = NULL;
    ts_result result = ts__cx_attributes(x, l, s->device, function, &how);
    if (result == TS_OK)
        result = ts__cx_launch_now(x, ts__cx_handle(x, s), function, l, how);
    free(how.args);
    return result;
}

/* ==== 6. Copies and sets ================================================= */

// Drivers take the place of rows that lie in each other, and of slices of no
// whole rows, for an error, or for something else than what was measured.
static bool ts__cx_end(ts__cuda_end *end, uint64_t address, bool host,
                       const uint64_t origin[3], const uint64_t region[3],
                       uint64_t row, uint64_t slice)
{
    const uint64_t wide = origin[0] + region[0], high = origin[1] + region[1];
    const bool one = region[2] == 1 && !origin[2]; // slice
    if (high < region[1] || (row < wide && (high > 1 || !one))) return false;
    if (!one && (slice % row || slice / row < high)) return false;
    end->x = origin[0];
    end->y = origin[1];
    end->z = origin[2];
    end->type = host ? TS__CUDA_HOST : TS__CUDA_DEVICE;
    end->host = host ? (void *)(uintptr_t)address : NULL;
    end->device = host ? 0 : address;
    end->pitch = row < wide ? wide : row;
    end->height = one ? high : slice / row;
    return true;
}

static ts_result ts__cx_box(ts__cx *x, void *stream, const ts_executor_copy *c,
                            const ts_capture_geometry *g)
{
    ts__cuda_box box;
    memset(&box, 0, sizeof box);
    if (!x->call.box) return TS_ERR_UNSUPPORTED;
    if (!ts__cx_end(&box.from, c->source, c->from_host, g->source_origin,
                    g->region, g->source_row, g->source_slice) ||
        !ts__cx_end(&box.to, c->destination, c->to_host, g->destination_origin,
                    g->region, g->destination_row, g->destination_slice))
        return TS_ERR_CORRUPT;
    box.width = g->region[0];
    box.height = g->region[1];
    box.depth = g->region[2];
    return ts__cx_result(x, x->call.box(&box, stream));
}

/*
    HIP's boxes are told by structures that differ between its versions, copies
    of rows by arguments: a slice of a box each.
*/
static ts_result ts__cx_slices(ts__cx *x, void *stream,
                               const ts_executor_copy *c,
                               const ts_capture_geometry *g)
{
    const int how = c->from_host ? 1 : c->to_host ? 2 : 3; // hipMemcpyKind
    ts__cuda_end from, to;
    if (!x->call.rows) return TS_ERR_UNSUPPORTED;
    if (!g->region[0] || !g->region[1]) return TS_OK;
    if (!ts__cx_end(&from, c->source, false, g->source_origin, g->region,
                    g->source_row, g->source_slice) ||
        !ts__cx_end(&to, c->destination, false, g->destination_origin,
                    g->region, g->destination_row, g->destination_slice))
        return TS_ERR_CORRUPT;
    int error = TS__CUDA_OK;
    for (uint64_t z = 0; z < g->region[2] && !error; z++) {
        const uint64_t from_row = (from.z + z) * from.height + from.y;
        const uint64_t to_row = (to.z + z) * to.height + to.y;
        error =
            x->call.rows(to.device + to_row * to.pitch + to.x, to.pitch,
                         from.device + from_row * from.pitch + from.x,
                         from.pitch, g->region[0], g->region[1], how, stream);
    }
    return ts__cx_result(x, error);
}

// From one device to another, if that is what it is: devices that cannot reach
// each other's memory have this one way.
static bool ts__cx_is_far(ts__cx *x, const ts_executor_copy *c,
                          uint32_t devices[2])
{
    return x->call.peer && ts__cx_device_find(x, c->destination, &devices[0]) &&
           ts__cx_device_find(x, c->source, &devices[1]) &&
           devices[0] != devices[1];
}

static ts_result ts__cx_copy(void *state, uint64_t stream,
                             const ts_executor_copy *c)
{
    ts__cx *const x = state;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    ts_attribute a;
    x->reason = TS_REASON_NONE;
    if (ts_attribute_find(&c->attributes, TS_ATTRIBUTE_GEOMETRY,
                          sizeof(ts_capture_geometry), &a)) {
        ts_capture_geometry geometry;
        memcpy(&geometry, a.bytes, sizeof geometry);
        return x->is_hip ? ts__cx_slices(x, on, c, &geometry)
                         : ts__cx_box(x, on, c, &geometry);
    }
    void *const to = (void *)(uintptr_t)c->destination;
    const void *const from = (const void *)(uintptr_t)c->source;
    uint32_t devices[2];
    if (c->to_host && c->from_host) return TS_ERR_UNSUPPORTED;
    if (!c->to_host && !c->from_host && ts__cx_is_far(x, c, devices))
        return ts__cx_result(
            x, x->call.peer(c->destination, x->contexts[devices[0]], c->source,
                            x->contexts[devices[1]], c->size, on));
    return ts__cx_result(
        x, c->to_host ? x->call.to_host(to, c->source, c->size, on)
           : c->from_host
               ? x->call.to_device(c->destination, from, c->size, on)
               : x->call.within(c->destination, c->source, c->size, on));
}

// A value of 1, 2 or 4 bytes in a row.
static int ts__cx_fill_row(const ts__cx *x, uint64_t to, uint32_t value,
                           uint32_t width, uint64_t size, void *on)
{
    const ts__cx_calls *const c = &x->call;
    return width == 1   ? c->set8(to, (uint8_t)value, size, on)
           : width == 2 ? c->set16(to, (uint16_t)value, size / 2, on)
                        : c->set32(to, value, size / 4, on);
}

// The same in rows: by one call where the driver has it.
static int ts__cx_fill(const ts__cx *x, uint64_t to, uint32_t value,
                       uint32_t width, const ts_capture_geometry *g,
                       uint64_t size, void *on)
{
    const ts__cx_calls *const c = &x->call;
    const uint64_t row = g->destination_row, high = g->region[1];
    const uint64_t count = g->region[0] / width;
    if (!size) return TS__CUDA_OK;
    if (high < 2) return ts__cx_fill_row(x, to, value, width, size, on);
    if (width == 1 && c->set8_rows)
        return c->set8_rows(to, row, (uint8_t)value, count, high, on);
    if (width == 2 && c->set16_rows)
        return c->set16_rows(to, row, (uint16_t)value, count, high, on);
    if (width == 4 && c->set32_rows)
        return c->set32_rows(to, row, value, count, high, on);
    int error = TS__CUDA_OK;
    for (uint64_t y = 0; y < high && !error; y++)
        error =
            ts__cx_fill_row(x, to + y * row, value, width, g->region[0], on);
    return error;
}

static ts_result ts__cx_set(void *state, uint64_t stream,
                            const ts_executor_set *s)
{
    ts__cx *const x = state;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    ts_capture_geometry geometry;
    ts_attribute a;
    uint32_t value = (uint32_t)(s->value & 0xFF), width = 1;
    memset(&geometry, 0, sizeof geometry);
    x->reason = TS_REASON_NONE;
    if (ts_attribute_find(&s->attributes, TS_ATTRIBUTE_GEOMETRY,
                          sizeof geometry, &a)) {
        // What was measured is what the rows are.
        const uint64_t *const g = geometry.region;
        memcpy(&geometry, a.bytes, sizeof geometry);
        if (!g[1] || s->size / g[1] != g[0] || s->size % g[1] || g[2] != 1 ||
            (g[1] > 1 && geometry.destination_row < g[0]) ||
            geometry.destination_origin[0] || geometry.destination_origin[1] ||
            geometry.destination_origin[2])
            return TS_ERR_CORRUPT;
    }
    if (ts_attribute_find(&s->attributes, TS_ATTRIBUTE_PATTERN, 1, &a)) {
        if (a.size != 1 && a.size != 2 && a.size != 4)
            return TS_ERR_UNSUPPORTED;
        value = 0;
        width = a.size;
        memcpy(&value, a.bytes, a.size); // little-endian, as the devices are
    }
    return ts__cx_result(x, ts__cx_fill(x, s->destination, value, width,
                                        &geometry, s->size, on));
}

/* ==== 7. Waiting, graphs ================================================= */

static ts_result ts__cx_ask(void *state)
{
    ts__cx *const x = state;
    for (size_t i = 0; i < x->stream_count; i++) {
        ts__cx_use(x, x->streams[i].device);
        const int error = x->call.query(x->streams[i].handle);
        if (error == TS__CUDA_NOT_READY) return TS_ERR_BUSY;
        if (error) return ts__cx_result(x, error);
    }
    x->reason = TS_REASON_NONE;
    return TS_OK;
}

// The driver's own way to wait has no bound.
static ts_result ts__cx_wait(void *state, uint32_t timeout_ms)
{
    ts__cx *const x = state;
    if (x->failed) return ts__cx_result(x, x->failed);
    return ts_executor_poll(ts__cx_ask, x, timeout_ms);
}

// One that is new, behind what the stream has so far.
static ts_result ts__cx_event(void *state, uint64_t stream, uint64_t *event)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (x->event_count == TS__CX_EVENTS) return ts__cx_too_many(x);
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    void **const made = &x->events[x->event_count];
    int error = x->call.event(made, 2); // it times nothing
    if (!error) *event = ++x->event_count;
    if (!error) error = x->call.event_record(*made, on);
    return ts__cx_result(x, error);
}

static ts_result ts__cx_event_again(void *state, uint64_t stream,
                                    uint64_t event)
{
    ts__cx *const x = state;
    if (!event || event > x->event_count) return TS_ERR_USAGE;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    return ts__cx_result(x, x->call.event_record(x->events[event - 1], on));
}

static ts_result ts__cx_event_wait(void *state, uint64_t stream, uint64_t event)
{
    ts__cx *const x = state;
    if (!event || event > x->event_count) return TS_ERR_USAGE;
    void *const on = ts__cx_handle(x, ts__cx_stream_at(x, stream));
    return ts__cx_result(x, x->call.event_wait(on, x->events[event - 1], 0));
}

static ts_result ts__cx_graph_begin(void *state, uint64_t stream)
{
    ts__cx *const x = state;
    x->reason = TS_REASON_NONE;
    if (!x->call.graph_begin || !x->call.graph_end || !x->call.graph_ready ||
        !x->call.graph_launch)
        return TS_ERR_UNSUPPORTED;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    const int error = x->call.graph_begin(s->recorded, 2); // nobody else's
    x->graph = !error;
    return ts__cx_result(x, error);
}

static ts_result ts__cx_graph_end(void *state, uint64_t stream, uint64_t *graph)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    void *made = NULL, *ready = NULL;
    x->graph = false;
    int error = x->call.graph_end(s->recorded, &made);
    if (!error) error = x->call.graph_ready(&ready, made, 0);
    if (!error) *graph = (uintptr_t)ready;
    return ts__cx_result(x, error);
}

static ts_result ts__cx_graph_launch(void *state, uint64_t stream,
                                     uint64_t graph)
{
    ts__cx *const x = state;
    const ts__cx_stream *const s = ts__cx_stream_at(x, stream);
    return ts__cx_result(
        x, x->call.graph_launch((void *)(uintptr_t)graph, s->handle));
}

static const uint32_t ts__cx_cuda_heeds[] = {
    TS_ATTRIBUTE_GEOMETRY,    TS_ATTRIBUTE_PATTERN,
    TS_ATTRIBUTE_CUDA_LAUNCH, TS_ATTRIBUTE_FUNCTION,
    TS_ATTRIBUTE_COOPERATIVE, TS_ATTRIBUTE_TENSOR_MAP,
    TS_ATTRIBUTE_TEXTURE,     0
};
static const uint32_t ts__cx_hip_heeds[] = { TS_ATTRIBUTE_GEOMETRY,
                                             TS_ATTRIBUTE_PATTERN,
                                             TS_ATTRIBUTE_CUDA_LAUNCH,
                                             TS_ATTRIBUTE_COOPERATIVE, 0 };

#define TS__CX_EXECUTOR(vendor) \
    const ts_executor ts_##vendor##_executor = { \
        .name = #vendor, \
        .attributes = ts__cx_##vendor##_heeds, \
        .open = ts__cx_open_##vendor, \
        .close = ts__cx_close, \
        .reason = ts__cx_reason, \
        .allocate = ts__cx_allocate, \
        .release = ts__cx_release, \
        .write = ts__cx_write, \
        .read = ts__cx_read, \
        .load = ts__cx_load_code, \
        .global = ts__cx_global, \
        .stream = ts__cx_stream_make, \
        .launch = ts__cx_launch, \
        .copy = ts__cx_copy, \
        .set = ts__cx_set, \
        .wait = ts__cx_wait, \
        .event = ts__cx_event, \
        .event_wait = ts__cx_event_wait, \
        .event_again = ts__cx_event_again, \
        .graph_begin = ts__cx_graph_begin, \
        .graph_end = ts__cx_graph_end, \
        .graph_launch = ts__cx_graph_launch, \
    }
TS__CX_EXECUTOR(cuda);
TS__CX_EXECUTOR(hip);

#endif // implementation
