/*
    hip/capture_code.h - code objects, functions and their arguments; a
    part of hip/capture.h, private to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Keeps a copy of the code object of each module that the program loads,
        and knows its functions by their handles. A kernel that is launched by
        a function of the host is in the file that this function is in. Of
        bundles that are compressed what the device would run is kept, up to a
        bound on all of it.

    CONTENTS                            search for "==== 2." to jump
        1. Code objects
        2. Files of the process         hip/capture_files.h
        3. Functions
        4. Variables                    hip/capture_variables.h
        5. Launches
        6. What calls change
*/
#if defined(TS__HIP_IMPLEMENTED) && !defined(TS_HIP_SNAPSHOT_CODE_H)
#define TS_HIP_SNAPSHOT_CODE_H

/* ==== 1. Code objects ==================================================== */

enum { TS__HS_KEPT = 1 << 30 }; // bytes of all compressed bundles

typedef struct ts__hs_code {
    uint8_t *bytes; // on a multiple of 8, as malloc has it; NULL: of a bundle
                    // that has nothing for the device, or whose is not kept
    uint64_t size;
    const void *from;               // bundle of a file, NULL: a module's
    uint64_t base;                  // where that file is loaded
    void *module;                   // NULL: none, or it is unloaded
    uint32_t device, image, number; // image: of the present capture
    uint8_t head[32];               // what the bundle begins with
    bool gone;                      // its file was unloaded
    bool stays;                     // it was not, as far as was looked
    bool untold;                    // what is in it nobody knows
    char path[256];                 // of the file
} ts__hs_code;

typedef struct ts__hs_function {
    const void *handle; // or the function of the host
    ts__hs_code *code;  // NULL: it was not found
    char *name;
    uint32_t device;
    bool of_host;
    bool untold; // it may be in a bundle that could not be kept
} ts__hs_function;

// Nothing is taken out while a session goes on: others may look at it.
static struct {
    pthread_mutex_t lock;
    ts__hs_code **codes;
    size_t code_count, code_capacity;
    ts__hs_function **functions;
    size_t function_count, function_capacity;
    unsigned long long unloads; // of files, when functions were found
    uint64_t kept;              // bytes of compressed bundles
    uint32_t said;              // session that knows that there are too many
} ts__hs = { .lock = PTHREAD_MUTEX_INITIALIZER };

// The architecture of a device, "" if nobody told.
static const char *ts__hs_architecture(uint32_t device)
{
    return device < TS__HIP_DEVICES ? ts__hip.devices[device].architecture : "";
}

// NULL: there is no memory for it. The bytes are its own from now on, or gone.
static ts__hs_code *ts__hs_code_put(const ts__hs_code *code)
{
    ts__hs_code *const c = (ts__hs_code *)malloc(sizeof *c);
    pthread_mutex_lock(&ts__hs.lock);
    ts__hs_code **const more =
        c ? (ts__hs_code **)ts__cs_more(ts__hs.codes, &ts__hs.code_capacity,
                                        ts__hs.code_count, sizeof *more)
          : NULL;
    if (more) {
        ts__hs.codes = more;
        *c = *code;
        more[ts__hs.code_count++] = c;
        c->number = (uint32_t)ts__hs.code_count;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    if (more) return c;
    free(code->bytes);
    free(c);
    return NULL;
}

// Copies what a device will run out of an image: its size, 0: there is none.
static void ts__hs_code_copy(ts__hs_code *c, const void *image, uint64_t size)
{
    const uint8_t *code;
    uint64_t code_size;
    if (!ts__amd_code_pick(image, size, ts__hs_architecture(c->device), &code,
                           &code_size) ||
        code_size < sizeof(Elf64_Ehdr))
        return;
    const uint64_t whole = ts__cuda_code_size(code);
    if (!whole || whole > code_size || whole > (uint64_t)1 << 32) return;
    c->size = whole;
    c->bytes = (uint8_t *)malloc((size_t)whole);
    if (c->bytes) memcpy(c->bytes, code, (size_t)whole);
}

// Takes what a device will run out of an image that has `size` bytes. about:
// the device, and what else is known of it.
static ts__hs_code *ts__hs_code_add(const void *image, uint64_t size,
                                    const ts__hs_code *about)
{
    uint64_t unpacked_size = 0;
    uint8_t *const unpacked = ts__amd_unpack(image, size, &unpacked_size);
    ts__hs_code c = *about;
    ts__hs_code_copy(&c, unpacked ? unpacked : image,
                     unpacked ? unpacked_size : size);
    free(unpacked);
    return c.bytes ? ts__hs_code_put(&c) : NULL;
}

// As above, of a bundle that is compressed: it is unpacked once, whatever is in
// it, and once all is too much none is.
static ts__hs_code *ts__hs_code_unpack(const void *image, uint64_t size,
                                       const ts__hs_code *about)
{
    uint64_t unpacked_size = 0;
    ts__hs_code c = *about;
    uint8_t *const unpacked = TS__LOAD(&ts__hs.kept) < TS__HS_KEPT
                                  ? ts__amd_unpack(image, size, &unpacked_size)
                                  : NULL;
    if (unpacked) ts__hs_code_copy(&c, unpacked, unpacked_size);
    free(unpacked);
    pthread_mutex_lock(&ts__hs.lock);
    const bool fits = c.size <= TS__HS_KEPT - ts__hs.kept;
    TS__STORE(&ts__hs.kept, fits ? ts__hs.kept + c.size : TS__HS_KEPT);
    pthread_mutex_unlock(&ts__hs.lock);
    c.untold = !unpacked || !fits || (c.size && !c.bytes);
    if (!fits) free(c.bytes);
    if (!fits) c.bytes = NULL;
    return ts__hs_code_put(&c);
}

// A new capture knows no images.
static void ts__hs_fresh(void)
{
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.code_count; i++)
        ts__hs.codes[i]->image = 0;
    pthread_mutex_unlock(&ts__hs.lock);
}

// A variable that the host can reach as well.
static bool ts__hs_is_variable(const ts__cuda_code *code, uint32_t number)
{
    const Elf64_Sym *const s = &code->symbols[number];
    return ELF64_ST_TYPE(s->st_info) == STT_OBJECT && s->st_size &&
           ELF64_ST_BIND(s->st_info) != STB_LOCAL &&
           s->st_shndx < code->section_count &&
           code->sections[s->st_shndx].sh_flags & SHF_WRITE;
}

// Whether code has a kernel, or a variable, of that name.
static bool ts__hs_code_has(const void *bytes, uint64_t size, const char *name,
                            bool variable)
{
    ts__cuda_code elf;
    if (!variable) return ts__amd_has_kernel(bytes, size, name);
    if (!ts__cuda_code_open(&elf, (const uint8_t *)bytes, size)) return false;
    for (uint32_t i = 0; i < elf.symbol_count; i++)
        if (ts__hs_is_variable(&elf, i) &&
            !strcmp(ts__cuda_symbol(&elf, i), name))
            return true;
    return false;
}

#include "capture_files.h" // 2

/* ==== 3. Functions ======================================================= */

static ts__hs_function *ts__hs_function_find(const void *handle, bool of_host,
                                             uint32_t device)
{
    ts__hs_function *found = NULL;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; i < ts__hs.function_count && !found; i++) {
        ts__hs_function *const f = ts__hs.functions[i];
        if (f->handle == handle && f->of_host == of_host &&
            (!of_host || f->device == device))
            found = f;
    }
    pthread_mutex_unlock(&ts__hs.lock);
    return found;
}

// One that is known is another one from now on: the handle was given again.
static ts__hs_function *ts__hs_function_put(const ts__hs_function *function,
                                            const char *name)
{
    char *const copy = strdup(name);
    ts__hs_function *f = ts__hs_function_find(
        function->handle, function->of_host, function->device);
    if (!copy) return NULL;
    if (!f) {
        f = (ts__hs_function *)calloc(1, sizeof *f);
        pthread_mutex_lock(&ts__hs.lock);
        ts__hs_function **const more =
            f ? (ts__hs_function **)ts__cs_more(
                    ts__hs.functions, &ts__hs.function_capacity,
                    ts__hs.function_count, sizeof *more)
              : NULL;
        if (more) {
            ts__hs.functions = more;
            more[ts__hs.function_count++] = f;
        }
        pthread_mutex_unlock(&ts__hs.lock);
        if (!more) {
            free(f);
            free(copy);
            return NULL;
        }
    }
    ts__hs_function whole = *function;
    whole.name = copy;
    pthread_mutex_lock(&ts__hs.lock);
    *f = whole; // the old name stays: another thread may have it
    pthread_mutex_unlock(&ts__hs.lock);
    return f;
}

static bool ts__hs_ask_name(ts__cs_job *job)
{
    job->name = ts__hs_call.name
                    ? ts__hs_call.name(job->object, (void *)job->module)
                    : NULL;
    return job->name != NULL;
}

// The kernel of that name that a function of the host launches.
static ts__hs_function *ts__hs_of_file(void *handle, const char *name,
                                       uint32_t device)
{
    ts__hs_file file;
    ts__hs_function f = { handle, NULL, NULL, device, true, false };
    if (ts__hs_file_open(&file, (uintptr_t)handle))
        f.code = ts__hs_file_search(&file, name, false, device, &f.untold);
    ts__hs_file_close(&file);
    return ts__hs_function_put(&f, name);
}

// A function of a module, or of the host. On the thread that asks HIP.
static ts__hs_function *ts__hs_function_at(void *handle, uint32_t device)
{
    ts__hs_function *f = handle ? ts__hs_function_find(handle, false, 0) : NULL;
    if (f || !handle) return f;
    ts__hs_functions_check();
    f = ts__hs_function_find(handle, true, device);
    const char *const name =
        !f && ts__hs_call.name ? ts__hs_call.name(handle, NULL) : NULL;
    return name && *name ? ts__hs_of_file(handle, name, device) : f;
}

// Once in a session, on a thread of the program's.
static ts__hs_function *ts__hs_told(ts__hs_function *f)
{
    const uint32_t session = TS__LOAD(&ts__cs.on);
    if (!f || !f->untold ||
        __atomic_exchange_n(&ts__hs.said, session, __ATOMIC_RELAXED) == session)
        return f;
    ts_metadata_text(0, "capture.hip",
                     TS__LOAD(&ts__hs.kept) < TS__HS_KEPT
                         ? "kernels are declined: a compressed bundle of their "
                           "file cannot be unpacked"
                         : "kernels are declined: the code in compressed "
                           "bundles is more than 1 GiB");
    return f;
}

// The kernel that a function of the host launches: HIP knows its name.
static ts__hs_function *ts__hs_of_host(const ts__cs_call *c, void *handle,
                                       void *stream)
{
    const uint32_t device = ts__hs_device_of(c->context);
    ts__hs_functions_check();
    ts__hs_function *const known = ts__hs_function_find(handle, true, device);
    if (known) return ts__hs_told(known);
    ts__cs_job job;
    memset(&job, 0, sizeof job);
    job.what = TS__CS_OWN;
    job.own = ts__hs_ask_name;
    job.context = c->context;
    job.object = handle;
    job.module = stream;
    if (!ts__cs_is_safe(c->context) ||
        !ts__cs_ask(&ts__cs.driver, &job, ts__cs_until()))
        return NULL;
    return ts__hs_told(ts__hs_of_file(handle, job.name, device));
}

// The function of a launch; NULL: nobody knows it.
static ts__hs_function *ts__hs_function_of(const ts__cs_call *c)
{
    const bool how = c->rule->kind == TS__CS_LAUNCH_HOW;
    void *const handle = (void *)(uintptr_t)ts__cs_argument(c, how ? 8 : 0);
    void *stream = how ? NULL : (void *)(uintptr_t)ts__cs_argument(c, 40);
    if (c->rule->width == TS__HS_OF_HOST) {
        if (how) ts__cs_stream_here(c, &stream);
        return ts__hs_of_host(c, handle, stream);
    }
    return ts__hs_function_find(handle, false, 0);
}

static const char *ts__hs_name(const ts__cs_call *c)
{
    const ts__hs_function *const f = ts__hs_function_of(c);
    return f ? f->name : NULL;
}

#include "capture_variables.h" // 4

/* ==== 5. Launches ======================================================== */

// base: where they begin in the operation's.
static void ts__hs_parameters(ts_capture_op *op, const ts__amd_kernel *k,
                              const uint8_t *args, uint32_t base)
{
    for (uint32_t i = 0; i < k->count; i++) {
        const uint32_t *const p = k->parameters[i];
        uint64_t value = 0;
        if (p[1] >= 8) {
            memcpy(&value, args + p[0], sizeof value);
            ts__cs_look_up(value);
        }
        const ts__cs_range *const range = ts__cs_range_of(value);
        ts_capture_param_add(op, base + p[0], p[1],
                             k->pointers[i] && range && !range->host
                                 ? TS_PARAM_POINTER
                                 : TS_PARAM_UNKNOWN);
    }
}

static ts__cs_layout ts__hs_layout(ts__amd_kernel *k)
{
    ts__cs_layout layout = { k->count, 0, k->parameters };
    for (uint32_t i = 0; i < k->count; i++)
        if (k->parameters[i][0] + k->parameters[i][1] > layout.size)
            layout.size = k->parameters[i][0] + k->parameters[i][1];
    return layout;
}

static void ts__hs_kernel(const ts__cs_call *c, ts_capture_op *op, bool turn,
                          void *function, void **each, void **more,
                          uint8_t **args)
{
    ts__amd_kernel k;
    (void)function;
    if (!turn) return;
    const ts__hs_function *const f = ts__hs_function_of(c);
    ts__hs_code *const code = f ? f->code : NULL;
    if (code) op->head.image = ts__hs_image(c, code);
    if (!op->head.image) {
        ts_capture_decline(op, TS_REASON_IMAGE_MISSING);
        return;
    }
    const bool told = ts__amd_kernel_read(&k, code->bytes, code->size, f->name);
    const ts__cs_layout layout = ts__hs_layout(&k);
    if (!told || !ts__cs_flatten(&layout, each, more, op, args))
        ts_capture_decline(op, TS_REASON_PARAM_LAYOUT_UNKNOWN);
    else
        ts__hs_parameters(op, &k, *args, 0);
    ts__cs_textures_used(op, *args, op->head.args_size, 0);
}

/* ==== 6. What calls change =============================================== */

static void ts__hs_module_gone(const void *module)
{
    const ts__hs_code *code = NULL;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; module && i < ts__hs.code_count; i++)
        if (ts__hs.codes[i]->module == module) {
            code = ts__hs.codes[i];
            ts__hs.codes[i]->module = NULL;
        }
    for (size_t i = 0; i < ts__hs.function_count; i++)
        if (ts__hs.functions[i]->code && !ts__hs.functions[i]->of_host &&
            !ts__hs.functions[i]->code->module)
            ts__hs.functions[i]->handle = NULL;
    pthread_mutex_unlock(&ts__hs.lock);
    pthread_mutex_lock(&ts__cs.memory_lock);
    if (code) ts__hs_variables_go(code);
    pthread_mutex_unlock(&ts__cs.memory_lock);
}

static void ts__hs_module(const ts__cs_call *c, const void *image,
                          uint64_t size)
{
    void *const module = (void *)(uintptr_t)ts__cs_pointed(c, 0);
    ts__hs_code about;
    if (!module || !image) return;
    memset(&about, 0, sizeof about);
    about.device = ts__hs_device_of(c->context);
    about.module = module;
    ts__hs_module_gone(module); // one that had the handle
    ts__hs_code_add(image, size, &about);
}

static void ts__hs_module_file(const ts__cs_call *c)
{
    const char *const path = (const char *)(uintptr_t)ts__cs_argument(c, 8);
    struct stat about;
    const int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (fd < 0) return;
    if (fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_size > 0) {
        void *const bytes =
            mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (bytes != MAP_FAILED) {
            ts__hs_module(c, bytes, (uint64_t)about.st_size);
            munmap(bytes, (size_t)about.st_size);
        }
    }
    close(fd);
}

static void ts__hs_function_got(const ts__cs_call *c)
{
    const void *const module = (const void *)(uintptr_t)ts__cs_argument(c, 8);
    const char *const name = (const char *)(uintptr_t)ts__cs_argument(c, 16);
    ts__hs_function f = { (const void *)(uintptr_t)ts__cs_pointed(c, 0),
                          NULL,
                          NULL,
                          0,
                          false,
                          false };
    if (!f.handle || !name) return;
    pthread_mutex_lock(&ts__hs.lock);
    for (size_t i = 0; module && i < ts__hs.code_count; i++)
        if (ts__hs.codes[i]->module == module) f.code = ts__hs.codes[i];
    pthread_mutex_unlock(&ts__hs.lock);
    ts__hs_function_put(&f, name);
}

// A call that only HIP has has returned, and did what it was asked.
static void ts__hs_happened(const ts__cs_call *c)
{
    switch (c->rule->kind) {
    case TS__HS_MODULE: // its size nobody tells
        ts__hs_module(c, (const void *)(uintptr_t)ts__cs_argument(c, 8),
                      UINT64_MAX / 2);
        break;
    case TS__HS_MODULE_FILE: ts__hs_module_file(c); break;
    case TS__HS_FUNCTION: ts__hs_function_got(c); break;
    case TS__HS_CONFIGURED:
        ts__hs_configured((const char *)c->arguments, TS__LOAD(&ts__cs.on));
        break;
    case TS__HS_ARGUMENT_SET:
        ts__hs_argument_set((const char *)c->arguments);
        break;
    default: break;
    }
}

#endif // TS_HIP_SNAPSHOT_CODE_H
