/*
    gpu/modules.h - modules, functions and their parameters

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Keeps a copy of each module that the driver loads: the cubin that it
    chose or compiled, whatever the program passed. The module of a function
    is found by the module's handle; by the function's name only if one
    module alone has it. An unloaded module is freed when its last user
    releases it.
*/
#ifndef TS__GPU_MODULES_H
#define TS__GPU_MODULES_H

#include "tracesmith.h"
#include "../ts_capture.h"
#include "cuda_abi.h"
#include "driver.h"

#include <elf.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* ==== 1. Modules ========================================================= */

typedef struct ts__cs_addresses {
    uint64_t *all;
    size_t count, capacity;
} ts__cs_addresses;

typedef struct ts__cs_module {
    void *bytes; // aligned to 8 bytes by malloc
    uint64_t size;
    ts_cuda_code code;
    uint32_t id;    // CUPTI's module id
    uint32_t image; // image number in capture `captures`, 0: not stored yet
    uint32_t captures;
    void *module;       // the driver's handle, NULL: unknown
    const void *loader; // the loading thread, until the handle is known
    void *context;
    ts__cs_addresses variables; // those added to the captures' memory
    uint32_t held;              // reference count
    bool gone;                  // unloaded
    uint32_t session;           // the session in which it was loaded
} ts__cs_module;

typedef struct ts__cs_attribute { // an attribute that was set on a function
    void *function;
    int32_t id, value;
    void *context;
    const void *owner; // module or library, NULL: unknown
    uint32_t session;  // the session in which it was set
} ts__cs_attribute;

typedef struct ts__cs_code {
    pthread_mutex_t lock; // protects the list of modules
    ts__cs_module **modules;
    size_t module_count, module_capacity;
    uint64_t bytes;         // bytes of all modules that are kept
    uint32_t captures;      // captures begun so far; under ts__cs.memory_lock
    uint32_t session;       // the last session that began
    ts__cs_addresses stale; // addresses of variables of unloaded modules
    // addresses of variables that the host may also write (managed); under
    // ts__cs.memory_lock
    ts__cs_addresses shared;
    ts__cs_attribute *attributes;
    size_t attribute_count, attribute_capacity;
} ts__cs_code;

static void *ts__cs_more(void *list, size_t *capacity, size_t count,
                         size_t size)
{
    if (count < *capacity) return list;
    const size_t requested = *capacity * 2 + 16;
    void *const more = realloc(list, requested * size);
    if (more) *capacity = requested;
    return more;
}

static inline void ts__cs_address_add(ts__cs_addresses *list, uint64_t address)
{
    uint64_t *const more = (uint64_t *)ts__cs_more(list->all, &list->capacity,
                                                   list->count, sizeof *more);
    if (!more) return; // without memory its unload is not noticed
    list->all = more;
    more[list->count++] = address;
}

// Only copies the code: called in the middle of a load, when the driver must
// not be called.
static inline void ts__cs_module_loaded(ts__cs_code *c, uint32_t id,
                                        void *context, const void *bytes,
                                        uint64_t size)
{
    ts__cs_module *const m = (ts__cs_module *)calloc(1, sizeof *m);
    if (m) m->bytes = size && bytes ? malloc((size_t)size) : NULL;
    if (!m || !m->bytes) {
        free(m);
        return; // without a copy its kernels are declined
    }
    memcpy(m->bytes, bytes, (size_t)size);
    m->size = size;
    m->id = id;
    m->loader = &ts__cs_here_too;
    m->context = context;
    ts_cuda_code_open(&m->code, m->bytes, size);
    pthread_mutex_lock(&c->lock);
    ts__cs_module **const more = (ts__cs_module **)ts__cs_more(
        c->modules, &c->module_capacity, c->module_count, sizeof *more);
    if (more) {
        c->modules = more;
        more[c->module_count++] = m;
        m->session = c->session;
        c->bytes += size;
    }
    pthread_mutex_unlock(&c->lock);
    if (more) return;
    free(m->bytes);
    free(m);
}

static inline void ts__cs_module_free(ts__cs_code *c, ts__cs_module *m)
{
    c->bytes -= m->size;
    free(m->variables.all);
    free(m->bytes);
    free(m);
}

// Releases a reference to a module; NULL: does nothing.
static inline void ts__cs_module_done(ts__cs_code *c, ts__cs_module *m)
{
    if (!m) return;
    pthread_mutex_lock(&c->lock);
    if (!--m->held && m->gone) ts__cs_module_free(c, m);
    pthread_mutex_unlock(&c->lock);
}

// Handles unloaded modules: the one with *id, or all of a context (before: only
// those loaded before this session). Called in the middle of an unload, so
// their variables are removed from the captures' memory later.
static inline void ts__cs_modules_go(ts__cs_code *c, const uint32_t *id,
                                     const void *context, bool before)
{
    size_t kept = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->module_count; i++) {
        ts__cs_module *const m = c->modules[i];
        if ((id ? m->id != *id : m->context != context) ||
            (before && m->session == c->session)) {
            c->modules[kept++] = m;
            continue;
        }
        for (size_t k = 0; k < m->variables.count; k++)
            ts__cs_address_add(&c->stale, m->variables.all[k]);
        m->variables.count = 0;
        m->gone = true;
        if (!m->held) ts__cs_module_free(c, m);
    }
    c->module_count = kept;
    pthread_mutex_unlock(&c->lock);
}

// Removes the variables of unloaded modules from the captures' memory. Called
// before memory is read or added, because their addresses may be reused.
static inline void ts__cs_variables_go(ts__cs_code *c,
                                       ts_capture_memory *memory)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->stale.count; i++)
        ts_capture_free(memory, c->stale.all[i]);
    c->stale.count = 0;
    pthread_mutex_unlock(&c->lock);
}

// Sets the handle of the module that thread `loader` has just loaded.
static void ts__cs_module_named(ts__cs_code *c, void *module,
                                const void *loader)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; module && i < c->module_count; i++) {
        ts__cs_module *const m = c->modules[i];
        if (m->module || m->loader != loader) continue;
        m->module = module;
        m->loader = NULL;
    }
    pthread_mutex_unlock(&c->lock);
}

// Returns the module that contains a function. A name alone is no proof,
// because run-time compilers give many functions the same name; so a name
// counts only if exactly one module has it. The caller releases the module with
// ts__cs_module_done.
static ts__cs_module *ts__cs_module_of(ts__cs_code *c, const void *module,
                                       const char *name)
{
    ts__cs_module *by_handle = NULL, *by_name = NULL;
    size_t named = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->module_count; i++) {
        ts__cs_module *const m = c->modules[i];
        const bool has = ts_cuda_code_defines(&m->code, name, STT_FUNC);
        if (m->module && m->module == module && has) by_handle = m;
        if (m->module || !has) continue;
        by_name = m;
        named++;
    }
    if (!by_handle && named == 1 && module) {
        by_name->module = (void *)(uintptr_t)module;
        by_handle = by_name;
    }
    if (by_handle) by_handle->held++;
    pthread_mutex_unlock(&c->lock);
    return by_handle;
}

// Returns the module at position `at` with a reference; NULL: no more.
static inline ts__cs_module *ts__cs_module_at(ts__cs_code *c, size_t at)
{
    pthread_mutex_lock(&c->lock);
    ts__cs_module *const m = at < c->module_count ? c->modules[at] : NULL;
    if (m) m->held++;
    pthread_mutex_unlock(&c->lock);
    return m;
}

// Returns whether a symbol is a variable that the host can also access.
static bool ts__cs_is_variable(const ts_cuda_code *code, uint32_t number)
{
    const Elf64_Sym *const s = &code->symbols[number];
    if (ELF64_ST_TYPE(s->st_info) != STT_OBJECT || !s->st_size ||
        s->st_shndx >= code->section_count)
        return false;
    const uint64_t flags = code->sections[s->st_shndx].sh_flags;
    const char *const section = ts_cuda_code_section(code, s->st_shndx);
    return (flags & SHF_ALLOC && flags & SHF_WRITE) ||
           !strcmp(section, ".nv.constant3");
}

/* ==== 2. Functions ======================================================= */

// Forgets the attributes of functions of a context, or of a module or library;
// NULL matches none. before: only those that were set in earlier sessions.
static inline void ts__cs_attributes_go(ts__cs_code *c, const void *context,
                                        const void *owner, bool before)
{
    size_t kept = 0;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->attribute_count; i++) {
        const ts__cs_attribute a = c->attributes[i];
        const bool meant =
            (context && a.context == context) || (owner && a.owner == owner);
        if (!meant || (before && a.session == c->session))
            c->attributes[kept++] = a;
    }
    c->attribute_count = kept;
    pthread_mutex_unlock(&c->lock);
}

// Updates an attribute that the function was given before: the last value
// counts. Returns false if it is new; then its owner must be queried.
static bool ts__cs_attribute_again(ts__cs_code *c,
                                   const ts__cs_attribute *given)
{
    bool known = false;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->attribute_count && !known; i++) {
        ts__cs_attribute *const a = &c->attributes[i];
        known = a->function == given->function && a->id == given->id;
        if (!known) continue;
        a->value = given->value;
        a->session = c->session;
    }
    pthread_mutex_unlock(&c->lock);
    return known;
}

static void ts__cs_attribute_add(ts__cs_code *c, const ts__cs_attribute *given)
{
    pthread_mutex_lock(&c->lock);
    ts__cs_attribute *const more =
        (ts__cs_attribute *)ts__cs_more(c->attributes, &c->attribute_capacity,
                                        c->attribute_count, sizeof *more);
    if (more) {
        c->attributes = more;
        more[c->attribute_count] = *given;
        more[c->attribute_count++].session = c->session;
    }
    pthread_mutex_unlock(&c->lock);
}

static void ts__cs_attributes_copy(ts__cs_code *c, const void *function,
                                   ts_capture_op *op)
{
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->attribute_count; i++)
        if (c->attributes[i].function == function)
            ts_capture_attribute_add(op, TS_ATTRIBUTE_FUNCTION,
                                     &c->attributes[i].id, 8);
    pthread_mutex_unlock(&c->lock);
}

typedef struct ts__cs_layout { // the parameters of a kernel
    uint32_t count, size;
    uint32_t (*parameters)[2]; // offset, size
} ts__cs_layout;

static void ts__cs_layout_put(void *user, uint32_t offset, uint32_t size)
{
    ts__cs_layout *const layout = (ts__cs_layout *)user;
    if (layout->count == TS__CS_PARAMETERS) return;
    // Records come in any order. Arguments are ordered by number, which is the
    // order of their offsets.
    uint32_t at = layout->count++;
    for (; at && layout->parameters[at - 1][0] > offset; at--)
        memcpy(layout->parameters[at], layout->parameters[at - 1], 8);
    layout->parameters[at][0] = offset;
    layout->parameters[at][1] = size;
}

// Reads the layout from the driver's answer, else from the code. Returns false
// if it is unknown.
static bool ts__cs_layout_find(ts__cs_job *job, bool answered,
                               const ts__cs_module *m, const char *name,
                               ts__cs_layout *layout)
{
    layout->parameters = job->parameters;
    layout->count = job->parameter_count;
    layout->size = 0;
    if (!answered) {
        layout->count = 0;
        if (!m ||
            !ts_cuda_code_parameters(&m->code, name, ts__cs_layout_put,
                                     layout) ||
            layout->count == TS__CS_PARAMETERS) // there may be more parameters
            return false;
    }
    for (uint32_t i = 0; i < layout->count; i++) {
        const uint32_t *const p = layout->parameters[i];
        if (p[0] > 1 << 16 || p[1] > 1 << 16) return false;
        if (p[0] + p[1] > layout->size) layout->size = p[0] + p[1];
    }
    return true;
}

#endif // TS__GPU_MODULES_H
