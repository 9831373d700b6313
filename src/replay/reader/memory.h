/* ---- Reader: memory, sorting, threads ----------------------------------- */

enum { TS__THREADS_MAX = 256 };

// The result of a check; TS_OK: no fault.
typedef struct ts__fault {
    ts_result result;
    const char *text; // static
} ts__fault;

static const ts__fault ts__no_fault = { TS_OK, "" };
static const ts__fault ts__no_memory = { TS_ERR_MEMORY, "out of memory" };
static const ts__fault ts__too_large = {
    TS_ERR_UNSUPPORTED, "the compressed chunk exceeds the size limit"
};

static ts__fault ts__corrupt(const char *text)
{
    const ts__fault fault = { TS_ERR_CORRUPT, text };
    return fault;
}

// The middle of the range [low, high) of a binary search.
static inline size_t ts__middle(size_t low, size_t high)
{
    return low + (high - low) / 2;
}

// Goes on in one half of a range: its middle is `before` what is looked for, or
// not. Once low == high, that is the first index which is not.
static inline void ts__halve(size_t *low, size_t *high, bool before)
{
    const size_t middle = ts__middle(*low, *high);
    if (before)
        *low = middle + 1;
    else
        *high = middle;
}

static void *ts__mem_default(void *user, void *ptr, size_t old_size,
                             size_t new_size)
{
    (void)user;
    (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static void *ts__mem_get(const ts_allocator *allocator, size_t size)
{
    return allocator->resize(allocator->user, NULL, 0, size);
}

static void ts__mem_put(const ts_allocator *allocator, void *ptr, size_t size)
{
    if (ptr) allocator->resize(allocator->user, ptr, size, 0);
}

// Makes room for one more item of an array. NULL without memory; the array is
// then unchanged.
static void *ts__mem_more(const ts_allocator *allocator, void *items,
                          size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity) return items;
    if (*capacity > SIZE_MAX / 2 / size) return NULL; // 32-bit systems
    const size_t grown = *capacity ? *capacity * 2 : 16;
    void *const bigger = allocator->resize(allocator->user, items,
                                           *capacity * size, grown * size);
    if (bigger) *capacity = grown;
    return bigger;
}

static uint32_t ts__get32(const uint8_t *bytes)
{
    uint32_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static inline uint64_t ts__get64(const uint8_t *bytes)
{
    uint64_t value;
    memcpy(&value, bytes, sizeof value);
    return value;
}

static uint64_t ts__pad8(uint64_t size)
{
    return (size + 7) & ~UINT64_C(7);
}

typedef int ts__order(const void *a, const void *b);

static int ts__order_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static void ts__swap(uint8_t *a, uint8_t *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const uint8_t kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

static void ts__sift(uint8_t *items, size_t at, size_t count, size_t size,
                     ts__order *order)
{
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= count) return;
        uint8_t *big = items + child * size;
        if (child + 1 < count && order(big, big + size) < 0) {
            child++;
            big += size;
        }
        if (order(items + at * size, big) >= 0) return;
        ts__swap(items + at * size, big, size);
        at = child;
    }
}

// Heapsort: needs no memory and has no bad case. `order` must be total. Most
// arrays are sorted already, which costs one pass.
static void ts__sort(void *items, size_t count, size_t size, ts__order *order)
{
    uint8_t *const base = items;
    size_t sorted = 1;
    while (sorted < count &&
           order(base + (sorted - 1) * size, base + sorted * size) <= 0)
        sorted++;
    if (sorted >= count) return;
    for (size_t i = count / 2; i-- > 0;)
        ts__sift(base, i, count, size, order);
    for (size_t i = count - 1; i > 0; i--) {
        ts__swap(base, base + i * size, size);
        ts__sift(base, 0, i, size, order);
    }
}

#ifdef TRACESMITH_NO_THREADS
typedef struct ts__mutex {
    uint8_t unused;
} ts__mutex;

static void ts__mutex_open(ts__mutex *mutex)
{
    mutex->unused = 0;
}

static void ts__mutex_take(ts__mutex *mutex)
{
    (void)mutex;
}

static void ts__mutex_give(ts__mutex *mutex)
{
    (void)mutex;
}

static void ts__mutex_close(ts__mutex *mutex)
{
    (void)mutex;
}
#else
typedef struct ts__mutex {
    pthread_mutex_t lock;
} ts__mutex;

static void ts__mutex_open(ts__mutex *mutex)
{
    pthread_mutex_init(&mutex->lock, NULL);
}

static void ts__mutex_take(ts__mutex *mutex)
{
    pthread_mutex_lock(&mutex->lock);
}

static void ts__mutex_give(ts__mutex *mutex)
{
    pthread_mutex_unlock(&mutex->lock);
}

static void ts__mutex_close(ts__mutex *mutex)
{
    pthread_mutex_destroy(&mutex->lock);
}
#endif

// Returns how many threads to use: `wanted`, or one for each processor if that
// is 0, and at most `limit`.
static uint32_t ts__thread_count(uint32_t wanted, uint32_t limit)
{
#ifdef TRACESMITH_NO_THREADS
    (void)wanted;
    (void)limit;
    return 1;
#else
#ifdef _WIN32
    const long all = pthread_num_processors_np();
#else
    const long all = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    const long cores = wanted ? (long)wanted : all;
    return cores < 1 ? 1 : cores > (long)limit ? limit : (uint32_t)cores;
#endif
}

// Work divided among threads: run(user, item, thread) for every item.
typedef struct ts__crew {
    void (*run)(void *user, size_t item, uint32_t thread);
    void *user;
    size_t count, next;
    uint32_t thread_count;
} ts__crew;

static void *ts__crew_work(void *argument)
{
    ts__crew *const crew = argument;
    const uint32_t thread =
        __atomic_fetch_add(&crew->thread_count, 1, __ATOMIC_RELAXED);
    for (;;) {
        const size_t item =
            __atomic_fetch_add(&crew->next, 1, __ATOMIC_RELAXED);
        if (item >= crew->count) return NULL;
        crew->run(crew->user, item, thread);
    }
}

// Runs the work. If a thread cannot be created, the others do its share.
static void ts__crew_run(uint32_t threads, size_t count,
                         void (*run)(void *, size_t, uint32_t), void *user)
{
    ts__crew crew = { run, user, count, 0, 0 };
    if (threads > count) threads = (uint32_t)count;
#ifdef TRACESMITH_NO_THREADS
    ts__crew_work(&crew);
#else
    pthread_t others[TS__THREADS_MAX];
    uint32_t made = 0;
    while (made + 1 < threads &&
           pthread_create(&others[made], NULL, ts__crew_work, &crew) == 0)
        made++;
    ts__crew_work(&crew);
    while (made > 0)
        pthread_join(others[--made], NULL);
#endif
}
