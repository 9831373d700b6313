/*
    cuda_memory.h - memory of the double of CUDA's driver: a part of libcuda.c
*/

/* ==== 3. Memory ========================================================== */

enum { GRANULE = 2 << 20, BLOCKS = 4096 };
#define ARENA UINT64_C(0x7e9000000000)
enum { FREE, PLAIN, RESERVED, HANDLE, MAPPED, LEFT };

// LEFT: a context went, and the next one that it is large enough for gets it.

static struct block { // an allocation, a reservation or a handle
    uint64_t address, size;
    int fd, kind;
    uintptr_t context;
    bool managed;
} blocks[BLOCKS];
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static int block_add(int kind, uint64_t address, uint64_t size, int fd)
{
    int result = NO_MEMORY;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && result; i++) {
        if (blocks[i].kind) continue;
        blocks[i] = (struct block){ address, size, fd, kind, here(), false };
        result = 0;
    }
    pthread_mutex_unlock(&blocks_lock);
    return result;
}

static bool block_find(int kind, uint64_t address, bool remove,
                       struct block *found)
{
    bool is = false;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !is; i++) {
        is = blocks[i].kind == kind && blocks[i].address == address;
        if (is) *found = blocks[i];
        if (is && remove) blocks[i].kind = FREE;
    }
    pthread_mutex_unlock(&blocks_lock);
    return is;
}

static bool map_at(uint64_t address, uint64_t size, int protection)
{
    void *const target = (void *)(uintptr_t)address;
    void *const got =
        mmap(target, size, protection,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
             -1, 0);
    if (got != MAP_FAILED && got != target) munmap(got, size);
    return got == target;
}

// The next granules that nobody has.
static uint64_t take(uint64_t size, int protection)
{
    static uint64_t next;
    const char *const arena = getenv("DOUBLE_CUDA_ARENA");
    if (!next) next = arena ? strtoull(arena, NULL, 16) : ARENA;
    size = (size + GRANULE - 1) & ~(uint64_t)(GRANULE - 1);
    for (int i = 0; i < 10000; i++) {
        const uint64_t at = next;
        const bool got = map_at(at, size, protection);
        next += got ? size : GRANULE;
        if (got) return at;
    }
    return 0;
}

typedef struct alloc_parameters {
    uint64_t *address;
    size_t size;
} alloc_parameters;

// The memory that a context left gets nonsense, so that nobody takes it for
// what it was.
static void drop_blocks(uintptr_t context)
{
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].kind != PLAIN || blocks[i].context != context) continue;
        memset((void *)(uintptr_t)blocks[i].address, 0xDD, blocks[i].size);
        blocks[i].kind = LEFT;
    }
    pthread_mutex_unlock(&blocks_lock);
}

static bool allocate_again(const alloc_parameters *p)
{
    bool is = false;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !is; i++) {
        is = blocks[i].kind == LEFT && blocks[i].size >= p->size;
        if (!is) continue;
        blocks[i].kind = PLAIN;
        blocks[i].context = here();
        blocks[i].managed = false;
        blocks[i].size = p->size;
        *p->address = blocks[i].address;
    }
    pthread_mutex_unlock(&blocks_lock);
    return is;
}

// Small ones of a context share granules, as the driver's do.
static int allocate(const void *user)
{
    static uint64_t ends[CONTEXTS], lefts[CONTEXTS];
    const alloc_parameters *const p = user;
    const uintptr_t context = here() - 1;
    const uint64_t whole = (p->size + 511) & ~UINT64_C(511);
    if (is_nowhere()) return CONTEXT_GONE;
    if (!p->size) return INVALID;
    if (allocate_again(p)) return 0;
    pthread_mutex_lock(&blocks_lock);
    uint64_t at = ends[context], left = lefts[context];
    if (whole > left) {
        at = take(whole, PROT_READ | PROT_WRITE);
        left = (whole + GRANULE - 1) & ~(uint64_t)(GRANULE - 1);
        if (!at) left = 0;
    }
    *p->address = at;
    const bool had = at != 0;
    if (had) {
        at += whole;
        left -= whole;
    }
    ends[context] = at;
    lefts[context] = left;
    pthread_mutex_unlock(&blocks_lock);
    return had ? block_add(PLAIN, *p->address, p->size, -1) : NO_MEMORY;
}

DRIVER(cuMemAlloc_v2, uint64_t *address, size_t size)
{
    const alloc_parameters p = { address, size };
    TRACED(DOUBLE_MALLOC, cuMemAlloc_v2, allocate, ON(0), .bytes = size);
}

typedef struct managed_parameters {
    uint64_t *address;
    size_t size;
    unsigned flags;
} managed_parameters;

static int allocate_managed(const void *user)
{
    const managed_parameters *const p = user;
    const int result = allocate(user);
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !result; i++)
        if (blocks[i].kind == PLAIN && blocks[i].address == *p->address)
            blocks[i].managed = true;
    pthread_mutex_unlock(&blocks_lock);
    return result;
}

DRIVER(cuMemAllocManaged, uint64_t *address, size_t size, unsigned flags)
{
    const managed_parameters p = { address, size, flags };
    TRACED(DOUBLE_MALLOC, cuMemAllocManaged, allocate_managed, ON(0),
           .bytes = size);
}

static int release(const void *user)
{
    struct block b;
    return block_find(PLAIN, *(const uint64_t *)user, true, &b) ? 0 : INVALID;
}

DRIVER(cuMemFree_v2, uint64_t p)
{
    TRACED(DOUBLE_FREE, cuMemFree_v2, release, ON(0));
}

// Memory of the host that the device may reach.
static int allocate_host(const void *user)
{
    const alloc_parameters *const p = user;
    *p->address = (uintptr_t)malloc(p->size);
    return *p->address ? 0 : NO_MEMORY;
}

DRIVER(cuMemAllocHost_v2, uint64_t *address, size_t size)
{
    const alloc_parameters p = { address, size };
    TRACED(DOUBLE_MALLOC_HOST, cuMemAllocHost_v2, allocate_host, ON(0),
           .bytes = size);
}

static int release_host(const void *user)
{
    free((void *)(uintptr_t) * (const uint64_t *)user);
    return 0;
}

DRIVER(cuMemFreeHost, uint64_t p)
{
    TRACED(DOUBLE_FREE, cuMemFreeHost, release_host, ON(0));
}

static bool find_variable(uint64_t address, struct block *found);

// Which allocation an address lies in, or variable.
static bool find_around(uint64_t address, struct block *found)
{
    bool is = find_variable(address, found);
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !is; i++) {
        is = blocks[i].kind == PLAIN &&
             address - blocks[i].address < blocks[i].size;
        if (is) *found = blocks[i];
    }
    pthread_mutex_unlock(&blocks_lock);
    return is;
}

DRIVER(cuMemGetAddressRange_v2, uint64_t *base, size_t *size, uint64_t address)
{
    struct block b;
    wait_for_lock();
    if (!find_around(address, &b)) return NOT_FOUND;
    *base = b.address;
    *size = b.size;
    return 0;
}

// Whether a kernel of a context must not touch what lies at an address.
static bool is_out_of_reach(uintptr_t context, uint64_t address)
{
    struct block b;
    return find_around(address, &b) && !b.managed &&
           !is_peer(context, b.context);
}

DRIVER(cuPointerGetAttribute, void *value, int what, uint64_t address)
{
    const unsigned kind = 2; // memory of a device
    struct block b;
    wait_for_lock();
    if (!find_around(address, &b)) return INVALID;
    const unsigned managed = b.managed, device = device_of(b.context);
    switch (what) {
    case 1: memcpy(value, &b.context, sizeof b.context); return 0;
    case 2: memcpy(value, &kind, sizeof kind); return 0;
    case 8: memcpy(value, &managed, sizeof managed); return 0;
    case 9: memcpy(value, &device, sizeof device); return 0;
    default: return INVALID;
    }
}

/* ---- Addresses and memory, each for itself ------------------------------ */

DRIVER(cuMemGetAllocationGranularity, size_t *size, const void *what, int how)
{
    *size = GRANULE;
    return what && how == 0 ? 0 : INVALID;
}

// What of a kind lies around, or in, a range of addresses.
static bool block_around(int kind, uint64_t address, uint64_t size)
{
    bool is = false;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !is; i++)
        is = blocks[i].kind == kind && address >= blocks[i].address &&
             address + size <= blocks[i].address + blocks[i].size;
    pthread_mutex_unlock(&blocks_lock);
    return is;
}

static bool block_inside(int kind, uint64_t address, uint64_t size)
{
    bool is = false;
    pthread_mutex_lock(&blocks_lock);
    for (size_t i = 0; i < BLOCKS && !is; i++)
        is = blocks[i].kind == kind && blocks[i].address < address + size &&
             address < blocks[i].address + blocks[i].size;
    pthread_mutex_unlock(&blocks_lock);
    return is;
}

// What was in the process when the driver started, where it reserves nothing
// later.
static struct range {
    uint64_t from, to;
} occupied[4096];
static size_t occupied_count;

static void note_occupied(void)
{
    FILE *const file = fopen("/proc/self/maps", "r");
    char line[512];
    occupied_count = 0;
    while (file && occupied_count < 4096 && fgets(line, sizeof line, file)) {
        struct range *const r = &occupied[occupied_count];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &r->from, &r->to) == 2)
            occupied_count++;
    }
    if (file) fclose(file);
}

// The real one takes a hint for large and aligned ranges only, of addresses
// that were free when it started (seen on an H200, driver 580.159).
static bool takes_hint(uint64_t hint, uint64_t size)
{
    const uint64_t mask = (32u << 20) - 1;
    if (!hint || (hint | size) & mask) return false;
    for (size_t i = 0; i < occupied_count; i++)
        if (occupied[i].from < hint + size && hint < occupied[i].to)
            return false;
    return true;
}

typedef struct reserve_parameters {
    uint64_t *address;
    size_t size, alignment;
    uint64_t hint;
    unsigned long long flags;
} reserve_parameters;

static int reserve(const void *user)
{
    static int refused;
    const reserve_parameters *const p = user;
    const char *const refuse = getenv("DOUBLE_CUDA_REFUSE");
    if (!p->size || p->size % GRANULE || p->alignment || p->flags)
        return INVALID;
    *p->address = 0;
    const bool hint = takes_hint(p->hint, p->size);
    if (hint && refuse && refused < atoi(refuse))
        refused++;
    else if (hint && map_at(p->hint, p->size, PROT_NONE))
        *p->address = p->hint;
    if (!*p->address) *p->address = take(p->size, PROT_NONE);
    return *p->address ? block_add(RESERVED, *p->address, p->size, -1)
                       : NO_MEMORY;
}

DRIVER(cuMemAddressReserve, uint64_t *address, size_t size, size_t alignment,
       uint64_t hint, unsigned long long flags)
{
    const reserve_parameters p = { address, size, alignment, hint, flags };
    TRACED(DOUBLE_QUIET, cuMemAddressReserve, reserve, ON(0));
}

typedef struct unmap_parameters {
    uint64_t address;
    size_t size;
} unmap_parameters;

static int unreserve(const void *user)
{
    const unmap_parameters *const p = user;
    struct block b;
    if (block_inside(MAPPED, p->address, p->size) ||
        !block_find(RESERVED, p->address, false, &b) || b.size != p->size)
        return INVALID;
    block_find(RESERVED, p->address, true, &b);
    return munmap((void *)(uintptr_t)p->address, p->size) ? INVALID : 0;
}

DRIVER(cuMemAddressFree, uint64_t address, size_t size)
{
    const unmap_parameters p = { address, size };
    TRACED(DOUBLE_QUIET, cuMemAddressFree, unreserve, ON(0));
}

DRIVER(cuMemCreate, uint64_t *handle, size_t size, const void *what,
       unsigned long long flags)
{
    static uint64_t handles;
    const int fd = memfd_create("device", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) || !what || flags)
        return NO_MEMORY;
    *handle = __atomic_add_fetch(&handles, 1, __ATOMIC_RELAXED);
    return block_add(HANDLE, *handle, size, fd);
}

DRIVER(cuMemRelease, uint64_t handle)
{
    struct block b;
    if (!block_find(HANDLE, handle, true, &b)) return INVALID;
    close(b.fd);
    return 0;
}

typedef struct map_parameters {
    uint64_t address;
    size_t size, offset;
    uint64_t handle;
    unsigned long long flags;
} map_parameters;

static int map(const void *user)
{
    const map_parameters *const p = user;
    struct block b;
    if (!block_find(HANDLE, p->handle, false, &b) || p->offset || p->flags ||
        !p->size || p->size != b.size || p->size % GRANULE ||
        !block_around(RESERVED, p->address, p->size) ||
        block_inside(MAPPED, p->address, p->size))
        return INVALID;
    void *const at = (void *)(uintptr_t)p->address;
    if (mmap(at, p->size, PROT_NONE, MAP_SHARED | MAP_FIXED, b.fd, 0) != at)
        return INVALID;
    return block_add(MAPPED, p->address, p->size, -1);
}

DRIVER(cuMemMap, uint64_t address, size_t size, size_t offset, uint64_t handle,
       unsigned long long flags)
{
    const map_parameters p = { address, size, offset, handle, flags };
    TRACED(DOUBLE_QUIET, cuMemMap, map, ON(0));
}

// Whole maps only, as many as there are from one end to the other.
static int unmap(const void *user)
{
    const unmap_parameters *const p = user;
    void *const at = (void *)(uintptr_t)p->address;
    const uint64_t end = p->address + p->size;
    struct block b;
    uint64_t next = p->address;
    while (next < end && block_find(MAPPED, next, false, &b))
        next += b.size;
    if (!p->size || next != end) return INVALID;
    for (next = p->address; next < end; next += b.size)
        block_find(MAPPED, next, true, &b);
    return mmap(at, p->size, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                0) == at
               ? 0
               : INVALID;
}

DRIVER(cuMemUnmap, uint64_t address, size_t size)
{
    const unmap_parameters p = { address, size };
    TRACED(DOUBLE_QUIET, cuMemUnmap, unmap, ON(0));
}

DRIVER(cuMemSetAccess, uint64_t address, size_t size, const int *how,
       size_t count)
{
    if (!how || count != 1 || how[2] != 3) return INVALID;
    return mprotect((void *)(uintptr_t)address, size, PROT_READ | PROT_WRITE)
               ? INVALID
               : 0;
}
