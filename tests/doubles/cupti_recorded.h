/*
    cupti_recorded.h - tells again what tests/gpu/cupti_recorder.c heard: the
                       last part of libcupti.c

    DOUBLE_RECORDING names its folder. The version, names of functions and sizes
    of records are those of the recording from the start; double_replay tells
    the calls and buffers, in their order and as far apart as they were, each
    call on the thread that it was on. All times of records move by the same.
    Arguments of calls were not recorded: they are zeros.
*/

/* ==== 6. A recording ===================================================== */

enum { MOST_THREADS = 64, MOST_OPEN = 65536 };

typedef struct recorded_buffer {
    uint8_t *bytes;
    size_t size;
    char **names; // of its records, in their order
    size_t count;
} recorded_buffer;

typedef struct teller { // a thread that there was
    pthread_t thread;
    long number;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t domain, id; // of what it is to tell; 0: nothing
    const void *data;
} teller;

static recorded_buffer *buffers;
static size_t buffer_count;
static uint64_t recorded_raw, recorded_clock; // one moment, by two clocks
static teller tellers[MOST_THREADS];

static FILE *recording(const char *name)
{
    char path[4096];
    const char *const folder = getenv("DOUBLE_RECORDING");
    if (!folder) return NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *const file = fopen(path, "r");
    if (!file) abort();
    return file;
}

static void buffer_read(FILE *bytes, size_t size)
{
    buffers = realloc(buffers, (buffer_count + 1) * sizeof *buffers);
    if (!buffers) abort();
    recorded_buffer *const b = &buffers[buffer_count++];
    memset(b, 0, sizeof *b);
    b->bytes = malloc(size + 1);
    if (!b->bytes) abort();
    b->size = fread(b->bytes, 1, size, bytes) == size ? size : 0; // left out
}

static void record_read(const char *line)
{
    recorded_buffer *const b = &buffers[buffer_count - 1];
    uint32_t kind;
    size_t size;
    int name = 0;
    if (!buffer_count || sscanf(line, "r %u %zu %n", &kind, &size, &name) != 2)
        abort();
    if (kind < KINDS) recorded_sizes[kind] = size;
    b->names = realloc(b->names, (b->count + 1) * sizeof *b->names);
    if (!b->names || !name) abort();
    b->names[b->count++] = strdup(line + name);
}

__attribute__((constructor)) static void recording_read(void)
{
    static char line[8192];
    FILE *const calls = recording("calls");
    uint32_t domain, id;
    size_t size;
    if (!calls) return;
    FILE *const bytes = recording("buffers");
    while (fgets(line, sizeof line, calls)) {
        char name[256];
        uint64_t raw, clock;
        line[strcspn(line, "\n")] = 0;
        if (sscanf(line, "n %u %u %255s", &domain, &id, name) == 3) {
            if (domain < 3 && id < IDS)
                recorded_names[domain][id] = strdup(name);
        } else if (sscanf(line, "x version %u", &id) == 1) {
            *setting("version") = id;
        } else if (sscanf(line, "x clock %" SCNu64 " %" SCNu64, &raw, &clock) ==
                   2) {
            recorded_raw = raw;
            recorded_clock = clock;
        } else if (sscanf(line, "b %zu", &size) == 1) {
            buffer_read(bytes, size);
        } else if (*line == 'r') {
            record_read(line);
        }
    }
    fclose(calls);
    fclose(bytes);
}

// Where a record has times, by its kind.
static const struct {
    uint32_t kind;
    size_t at[5];
} times[] = {
#define T(type, member) offsetof(double_##type, member)
    { 10,
      { T(kernel, start), T(kernel, end), T(kernel, completed),
        T(kernel, queued), T(kernel, submitted) } },
    { 1, { T(copy, start), T(copy, end) } },
    { 22, { T(peer_copy, start), T(peer_copy, end) } },
    { 2, { T(memset, start), T(memset, end) } },
    { 38, { T(sync, start), T(sync, end) } },
    { 36, { T(event, time) } },
    { 49, { T(memory, time) } },
    { 50, { T(pool, time) } },
    { 51, { T(graph, start), T(graph, end) } },
    { 17, { T(overhead, start), T(overhead, end) } },
#undef T
};

static void times_move(uint8_t *at, uint32_t kind, uint64_t by)
{
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        if (times[i].kind != kind && !(kind == 3 && times[i].kind == 10))
            continue;
        for (size_t j = 0; j < 5 && times[i].at[j]; j++) {
            uint64_t time;
            const size_t place = times[i].at[j];
            if (place + 8 > size_of(kind)) continue;
            memcpy(&time, at + place, sizeof time);
            if (time) time += by;
            memcpy(at + place, &time, sizeof time);
        }
    }
}

// Pointers were those of another process.
static void texts_put(uint8_t *at, uint32_t kind, const char *name)
{
    const char *const none = NULL;
    if (kind == 3 || kind == 10)
        memcpy(at + offsetof(double_kernel, name), &name, sizeof name);
    if (kind == 8)
        memcpy(at + offsetof(double_device, name), &name, sizeof name);
    if (kind != 49 || size_of(kind) < sizeof(double_memory)) return;
    memcpy(at + offsetof(double_memory, name), &none, sizeof none);
    memcpy(at + offsetof(double_memory, source), &none, sizeof none);
}

static void buffer_report(recorded_buffer *b, uint64_t by)
{
    uint8_t *at = NULL;
    size_t size = 0, most = 0, n = 0;
    for (size_t place = 0; place < b->size;) {
        uint32_t kind;
        memcpy(&kind, b->bytes + place, sizeof kind);
        if (kind >= KINDS || !recorded_sizes[kind] || n == b->count) abort();
        times_move(b->bytes + place, kind, by);
        texts_put(b->bytes + place, kind, b->names[n++]);
        place += recorded_sizes[kind];
    }
    if (!request) return;
    request(&at, &size, &most);
    if (!at) return;
    if (size < b->size) abort();
    memcpy(at, b->bytes, b->size);
    complete(NULL, 0, at, size, b->size);
}

static void *teller_main(void *user)
{
    teller *const t = user;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (!t->domain)
            pthread_cond_wait(&t->changed, &t->lock);
        notify(t->domain, t->id, t->data);
        t->domain = 0;
        pthread_cond_broadcast(&t->changed);
    }
    return NULL;
}

// The first thread of the recording is whoever calls double_replay.
static void notify_on(long number, uint32_t domain, uint32_t id,
                      const void *data)
{
    size_t i = 0;
    while (i < MOST_THREADS && tellers[i].number && tellers[i].number != number)
        i++;
    if (i == MOST_THREADS) abort();
    teller *const t = &tellers[i];
    if (!t->number) {
        t->number = number;
        pthread_mutex_init(&t->lock, NULL);
        pthread_cond_init(&t->changed, NULL);
        if (i && pthread_create(&t->thread, NULL, teller_main, t)) abort();
    }
    if (!i) {
        notify(domain, id, data);
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->data = data;
    t->id = id;
    t->domain = domain;
    pthread_cond_broadcast(&t->changed);
    while (t->domain)
        pthread_cond_wait(&t->changed, &t->lock);
    pthread_mutex_unlock(&t->lock);
}

static uint64_t raw_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void await(uint64_t began, uint64_t time)
{
    while (raw_now() - began < time - recorded_raw)
        usleep(100);
}

// Of other resources, and of states, nothing but the number is known.
static void node_report(const char *line, uint64_t began)
{
    uint64_t time, node, original;
    uint32_t id;
    long thread;
    if (sscanf(line, "c %" SCNu64 " %ld 3 %u %" SCNu64 " %" SCNu64, &time,
               &thread, &id, &node, &original) != 5 ||
        !node)
        return;
    const struct {
        void *graph, *original_graph, *node, *original;
    } graph = { NULL, NULL, (void *)(uintptr_t)node,
                (void *)(uintptr_t)original };
    const struct {
        void *context, *handle;
        const void *more;
    } data = { NULL, NULL, &graph };
    await(began, time);
    notify_on(thread, 3, id, &data);
}

static void call_report(const char *line, uint64_t began)
{
    static uint64_t users[MOST_OPEN];
    static const uint64_t arguments[512];
    static const int result;
    char name[256];
    uint64_t time;
    uint32_t domain, id;
    long thread;
    int symbol = 0;
    call_data data = { .parameters = arguments, .result = &result };
    if (sscanf(line, "c %" SCNu64 " %ld %u %u %d %u %u %255s %n", &time,
               &thread, &domain, &id, &data.site, &data.correlation,
               &data.context_id, name, &symbol) != 8)
        return;
    await(began, time);
    data.name = name;
    data.symbol = line + symbol;
    data.context = (void *)(uintptr_t)data.context_id;
    data.user = &users[data.correlation % MOST_OPEN];
    notify_on(thread, domain, id, &data);
}

// How many buffers there were.
DOUBLE_API size_t double_replay(void)
{
    static char line[8192];
    FILE *const calls = recording("calls");
    const uint64_t began = raw_now(), by = now() - recorded_clock;
    size_t reported = 0;
    while (calls && fgets(line, sizeof line, calls)) {
        line[strcspn(line, "\n")] = 0;
        if (*line == 'c') {
            node_report(line, began);
            call_report(line, began);
        }
        if (*line == 'b') buffer_report(&buffers[reported++], by);
    }
    if (calls) fclose(calls);
    return reported;
}
