/*
    cuda_code.h - modules and functions of the double of CUDA's driver: a part
    of libcuda.c
*/

/* ==== 4. Code ============================================================ */

enum { MODULES = 256, FUNCTIONS = 1024, LAZY = 1 << 20 };

static struct module {
    bool used;
    uintptr_t context; // of a library the one in which it is first needed
    uint32_t library;  // of what another context has of one: its number
    int fd;
    void *handle; // NULL: text that does nothing
    char *bytes;  // of a library whose module is loaded when it is needed
    size_t size;
} modules[MODULES];
static uint32_t module_count;

typedef struct function {
    uint32_t module; // 0: it is none
    const char *name;
    double_kernel_function body;
    const uint32_t *parameters;
    int attributes[32];
    bool is_kernel; // of a library, not loaded
} function;
static function functions[FUNCTIONS];
static uint32_t function_count;

// Objects are their numbers, from 1; kernels of libraries have a bit more.
static struct module *module_of(const void *object)
{
    const uintptr_t number = (uintptr_t)object;
    struct module *const m =
        number && number <= module_count ? &modules[number - 1] : NULL;
    return m && m->used ? m : NULL;
}

static function *function_of(const void *object)
{
    const uintptr_t number = (uintptr_t)object;
    function *const f =
        number && number <= function_count ? &functions[number - 1] : NULL;
    return f && f->module ? f : NULL;
}

// The file stays open: loaders tell files by their number.
static void *open_code(const void *bytes, size_t size, int *file)
{
    char path[64];
    const int fd = memfd_create("cubin", MFD_CLOEXEC);
    *file = fd;
    if (fd < 0 || write(fd, bytes, size) != (ssize_t)size) return NULL;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

// What text becomes: a file's contents, NULL if it does nothing. The kernel of
// captures lies beside this library; DOUBLE_CUDA_HASH is another.
static char *compile(const char *text, size_t *size)
{
    static char own_copy[PATH_MAX];
    const char *path = getenv("DOUBLE_CUDA_JIT");
    Dl_info info;
    if (strstr(text, ".entry ts_hash_chunks(") &&
        dladdr((void *)(uintptr_t)module_of, &info)) {
        const char *const end = strrchr(info.dli_fname, '/');
        snprintf(own_copy, sizeof own_copy, "%.*s/libhash.so",
                 (int)(end - info.dli_fname), info.dli_fname);
        path = getenv("DOUBLE_CUDA_HASH");
        if (!path) path = own_copy;
    }
    FILE *const file = path ? fopen(path, "rb") : NULL;
    char *bytes = NULL;
    if (file && !fseek(file, 0, SEEK_END)) {
        *size = (size_t)ftell(file);
        rewind(file);
        bytes = malloc(*size);
        if (bytes && fread(bytes, 1, *size, file) != *size) abort();
    }
    if (file) fclose(file);
    return bytes;
}

static size_t elf_size(const void *image)
{
    Elf64_Ehdr e;
    memcpy(&e, image, sizeof e);
    return e.e_shoff + (size_t)e.e_shnum * e.e_shentsize;
}

static int load_bytes(struct module *m, const char *bytes, size_t size)
{
    m->handle = open_code(bytes, size, &m->fd);
    if (!m->handle) return NO_BINARY;
    double_op op = { .what = DOUBLE_MODULE,
                     .bytes = size,
                     .parameters = bytes };
    op.event = (uint32_t)(m - modules) + 1;
    op.context = (void *)m->context;
    if (run) run(&op);
    return 0;
}

typedef struct load_parameters {
    void **module;
    const void *image;
} load_parameters;

// later: a library, of which nothing is loaded before it is used
static int load_code(const load_parameters *p, bool later)
{
    const bool is_elf = p->image && !memcmp(p->image, ELFMAG, SELFMAG);
    const bool is_text = p->image && !memcmp(p->image, ".version", 8);
    if (is_nowhere()) return CONTEXT_GONE;
    if (!is_elf && !is_text) return 200;
    uint32_t at = 0; // the first number that is free
    while (at < module_count && modules[at].used)
        at++;
    if (at == MODULES) return NO_MEMORY;
    if (at == module_count) module_count++;
    struct module *const m = &modules[at];
    size_t size = is_elf ? elf_size(p->image) : 0;
    char *bytes = is_elf ? malloc(size) : compile(p->image, &size);
    if (is_elf && bytes) memcpy(bytes, p->image, size);
    *p->module = (void *)((uintptr_t)at + 1);
    m->used = true;
    m->context = here();
    m->bytes = bytes;
    m->size = size;
    if (!bytes || later) return 0;
    return load_bytes(m, bytes, size);
}

static int load_module(const void *user)
{
    return load_code(user, false);
}

DRIVER(cuModuleLoadData, void **module, const void *image)
{
    const load_parameters p = { module, image };
    TRACED(DOUBLE_QUIET, cuModuleLoadData, load_module, ON(0));
}

static int load_library(const void *user)
{
    return load_code(user, true);
}

DRIVER(cuLibraryLoadData, void **library, const void *image, void *options,
       void **values, unsigned count, void *more, void **more_values,
       unsigned more_count)
{
    const load_parameters p = { library, image };
    if (options || values || count || more || more_values || more_count)
        return INVALID;
    TRACED(DOUBLE_QUIET, cuLibraryLoadData, load_library, ON(0));
}

static bool is_ready_to_run(const function *f); // in a graph

// Its functions are none from now on; what graphs that are ready hold stays.
static void drop_module(struct module *m)
{
    bool held = false;
    for (uint32_t i = 0; i < function_count; i++) {
        if (functions[i].module != (uint32_t)(m - modules) + 1) continue;
        const bool here = is_ready_to_run(&functions[i]);
        functions[i].module = here ? LAZY : 0; // it is of no module
        held |= here;
    }
    if (m->handle && !held) dlclose(m->handle);
    if (m->handle && !held) close(m->fd);
    free(m->bytes);
    memset(m, 0, sizeof *m);
}

static void drop_modules(uintptr_t context)
{
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].used && modules[i].context == context)
            drop_module(&modules[i]);
}

static int unload(const void *user)
{
    struct module *const m = module_of(*(void *const *)user);
    double_op op = { .what = DOUBLE_UNLOAD };
    if (!m) return INVALID;
    op.event = (uint32_t)(m - modules) + 1;
    op.context = (void *)m->context;
    if (run && m->handle) run(&op);
    for (uint32_t i = 0; i < module_count; i++)
        if (modules[i].used && modules[i].library == op.event)
            drop_module(&modules[i]);
    drop_module(m);
    return 0;
}

DRIVER(cuModuleUnload, void *p)
{
    TRACED(DOUBLE_QUIET, cuModuleUnload, unload, ON(0));
}

DRIVER(cuLibraryUnload, void *p)
{
    TRACED(DOUBLE_QUIET, cuLibraryUnload, unload, ON(0));
}

// A copy of a name that outlives its module, as those in CUPTI's records do.
static const char *lasting_name(const char *name)
{
    static char names[FUNCTIONS][64];
    static uint32_t count;
    uint32_t at = 0;
    while (at < count && strcmp(names[at], name))
        at++;
    if (at == FUNCTIONS) return "unknown";
    if (at < count) return names[at];
    snprintf(names[at], sizeof *names, "%s", name);
    count = at + 1;
    return names[at];
}

// The first number that is free.
static function *new_function(uintptr_t *number)
{
    uint32_t at = 0;
    while (at < function_count && functions[at].module)
        at++;
    if (at == FUNCTIONS) return NULL;
    if (at == function_count) function_count++;
    memset(&functions[at], 0, sizeof *functions);
    *number = (uintptr_t)at + 1;
    return &functions[at];
}

static int find_function(void **object, void *module, const char *name)
{
    struct module *const m = module_of(module);
    char parameters[80];
    uintptr_t number;
    void *const body = m && m->handle ? dlsym(m->handle, name) : NULL;
    if (m && m->handle && !body) return NOT_FOUND;
    function *const f = m ? new_function(&number) : NULL;
    if (!f) return INVALID;
    f->module = (uint32_t)(uintptr_t)module;
    f->name = lasting_name(name);
    snprintf(parameters, sizeof parameters, "%s_params", name);
    memcpy(&f->body, &body, sizeof f->body);
    f->parameters = m->handle ? dlsym(m->handle, parameters) : NULL;
    *object = (void *)number;
    return 0;
}

DRIVER(cuModuleGetFunction, void **object, void *module, const char *name)
{
    wait_for_lock();
    for (uint32_t i = 0; i < function_count; i++)
        if (!functions[i].is_kernel &&
            functions[i].module == (uint32_t)(uintptr_t)module &&
            !strcmp(functions[i].name, name)) {
            *object = (void *)(uintptr_t)(i + 1);
            return 0;
        }
    return find_function(object, module, name);
}

DRIVER(cuLibraryGetKernel, void **kernel, void *library, const char *name)
{
    uintptr_t number;
    function *const f = module_of(library) ? new_function(&number) : NULL;
    if (!f) return INVALID;
    f->module = (uint32_t)(uintptr_t)library;
    f->is_kernel = true;
    f->name = lasting_name(name);
    *kernel = (void *)(number | LAZY);
    return 0;
}

// What a context has of a library: the library's own module, or another.
static int load_in_context(struct module *library, uint32_t *number)
{
    const uint32_t own = (uint32_t)(library - modules) + 1;
    *number = own;
    if (!library->bytes) return 0; // text that does nothing
    if (!library->handle) library->context = here();
    if (!library->handle)
        return load_bytes(library, library->bytes, library->size);
    if (library->context == here()) return 0;
    uint32_t at = 0;
    while (at < module_count &&
           !(modules[at].used && modules[at].library &&
             modules[at].library == own && modules[at].context == here()))
        at++;
    *number = at + 1;
    if (at < module_count) return 0;
    for (at = 0; at < module_count && modules[at].used;)
        at++;
    if (at == MODULES) return NO_MEMORY;
    if (at == module_count) module_count++;
    *number = at + 1;
    modules[at] =
        (struct module){ .used = true, .context = here(), .library = own };
    return load_bytes(&modules[at], library->bytes, library->size);
}

// A kernel of a library becomes a function when somebody needs it.
DRIVER(cuKernelGetFunction, void **object, void *kernel)
{
    wait_for_lock();
    const uintptr_t number = (uintptr_t)kernel;
    function *const f =
        number & LAZY ? function_of((void *)(number & ~(uintptr_t)LAZY)) : NULL;
    uint32_t module = 0;
    if (!f) return INVALID;
    const int result = load_in_context(&modules[f->module - 1], &module);
    if (result) return result;
    return cuModuleGetFunction(object, (void *)(uintptr_t)module, f->name);
}

DRIVER(cuLibraryGetModule, void **module, void *library)
{
    struct module *const m = module_of(library);
    uint32_t number = 0;
    wait_for_lock();
    const int result = m ? load_in_context(m, &number) : INVALID;
    *module = (void *)(uintptr_t)number;
    return result;
}

DRIVER(cuFuncGetModule, void **module, void *object)
{
    const function *const f = function_of(object);
    if (!f) return INVALID;
    *module = (void *)(uintptr_t)f->module;
    return 0;
}

DRIVER(cuFuncGetName, const char **name, void *object)
{
    const function *const f = function_of(object);
    if (!f) return INVALID;
    *name = f->name;
    return 0;
}

DRIVER(cuFuncGetParamInfo, void *object, size_t index, size_t *offset,
       size_t *size)
{
    wait_for_lock();
    const function *const f = function_of(object);
    if (!f) return 400;
    for (size_t i = 0; f->parameters && f->parameters[2 * i] != UINT32_MAX;
         i++) {
        *offset = f->parameters[2 * i];
        *size = f->parameters[2 * i + 1];
        if (i == index) return 0;
    }
    return INVALID;
}

typedef struct attribute_parameters {
    void *function;
    int attribute, value;
} attribute_parameters;

static int set_attribute(const void *user)
{
    const attribute_parameters *const p = user;
    function *const f = function_of(p->function);
    if (!f || (unsigned)p->attribute >= 32) return INVALID;
    f->attributes[p->attribute] = p->value;
    return 0;
}

DRIVER(cuFuncSetAttribute, void *object, int attribute, int value)
{
    const attribute_parameters p = { object, attribute, value };
    TRACED(DOUBLE_QUIET, cuFuncSetAttribute, set_attribute, ON(0));
}

typedef struct kernel_attribute_parameters {
    int attribute, value;
    void *kernel;
    int device;
} kernel_attribute_parameters;

static int set_kernel_attribute(const void *user)
{
    const kernel_attribute_parameters *const p = user;
    const uintptr_t number = (uintptr_t)p->kernel & ~(uintptr_t)LAZY;
    const attribute_parameters of = { (void *)number, p->attribute, p->value };
    return set_attribute(&of);
}

DRIVER(cuKernelSetAttribute, int attribute, int value, void *kernel, int device)
{
    const kernel_attribute_parameters p = { attribute, value, kernel, device };
    TRACED(DOUBLE_QUIET, cuKernelSetAttribute, set_kernel_attribute, ON(0));
}

DRIVER(cuKernelGetLibrary, void **library, void *kernel)
{
    wait_for_lock();
    const function *const f =
        function_of((void *)((uintptr_t)kernel & ~(uintptr_t)LAZY));
    if (!f || !f->is_kernel) return INVALID;
    *library = (void *)(uintptr_t)f->module;
    return 0;
}

// A variable of a module; one that is called shared_... is managed memory.
static bool find_variable(uint64_t address, struct block *found)
{
    Elf64_Sym *about = NULL;
    Dl_info info;
    void *const at = (void *)(uintptr_t)address;
    if (!dladdr1(at, &info, (void **)&about, RTLD_DL_SYMENT) || !about ||
        ELF64_ST_TYPE(about->st_info) != STT_OBJECT)
        return false;
    for (uint32_t i = 0; i < module_count; i++) {
        const struct module *const m = &modules[i];
        if (!m->used || !m->handle ||
            dlsym(m->handle, info.dli_sname) != info.dli_saddr)
            continue;
        found->address = (uintptr_t)info.dli_saddr;
        found->size = about->st_size;
        found->context = m->context;
        found->managed = !strncmp(info.dli_sname, "shared_", 7);
        return true;
    }
    return false;
}

DRIVER(cuModuleGetGlobal_v2, uint64_t *address, size_t *size, void *module,
       const char *name)
{
    wait_for_lock();
    const struct module *const m = module_of(module);
    Elf64_Sym *about = NULL;
    Dl_info info;
    void *const at = m && m->handle ? dlsym(m->handle, name) : NULL;
    if (!at || !dladdr1(at, &info, (void **)&about, RTLD_DL_SYMENT) || !about)
        return NOT_FOUND;
    *address = (uintptr_t)at;
    *size = about->st_size;
    return 0;
}

typedef struct global_parameters {
    uint64_t *address;
    size_t *size;
    void *library;
    const char *name;
} global_parameters;

static int library_global(const void *user)
{
    const global_parameters *const p = user;
    void *module;
    const int result = cuLibraryGetModule(&module, p->library);
    return result ? result
                  : cuModuleGetGlobal_v2(p->address, p->size, module, p->name);
}

DRIVER(cuLibraryGetGlobal, uint64_t *address, size_t *size, void *library,
       const char *name)
{
    const global_parameters p = { address, size, library, name };
    TRACED(DOUBLE_QUIET, cuLibraryGetGlobal, library_global, ON(0));
}
