/*
    pipeline.c - a pipeline over two accelerators, recorded

    A thread reads a file piece by piece; each piece is two matrices A and B.
    Device 0 unpacks them and computes C = A x B. Device 1 computes D = C x A,
    its sum and its checksum. Another thread repeats the computation on the host
    and compares the results. Four pieces are in flight at a time.

        thread    loader       main            (device threads)      checker
        device 0  stream 1     upload, unpack
                  stream 2       multiply
        device 1  stream 3         copy from device 0, multiply
                  stream 4           sum, checksum, download, done

    pipeline [-o TRACE] [--frames N] [FILE]    (trace.sbt, 40, itself)
*/
#define _POSIX_C_SOURCE 200809L
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev.h"

enum { N = 192, TILE = 32, PARTS = 12, SLOTS = 4, AREA = N * N };
enum { UPLOAD, MULTIPLY_0, MULTIPLY_1, FINISH, STREAMS };

typedef struct summary {
    uint64_t sum, checksum;
} summary;

// The state of a slot; after DONE it is EMPTY again.
typedef enum state { EMPTY, LOADED, SUBMITTED, DONE } state;

typedef struct slot {
    state state;
    uint64_t frame;
    uint8_t *bytes; // 2 * AREA from the file
    uint32_t *d;    // the product computed by the device
    summary *found; // its sum and checksum, computed by the device
    uint8_t *device_bytes;
    uint32_t *a, *b, *c;    // on device 0
    uint32_t *a1, *c1, *d1; // on device 1
    summary *parts;         // PARTS of them, then the total
    ts_vdev_event uploaded, multiplied, finished;
} slot;

static struct {
    const char *file, *trace;
    uint64_t frames, wrong;
    FILE *input;
    ts_vdev *vdev;
    ts_vdev_stream streams[STREAMS];
    ts_vdev_kernel unpack, multiply, reduce, fold;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    slot slots[SLOTS];
} app = { .file = "/proc/self/exe",
          .trace = "trace.sbt",
          .frames = 40,
          .lock = PTHREAD_MUTEX_INITIALIZER,
          .changed = PTHREAD_COND_INITIALIZER };

static void must(ts_result result, const char *what)
{
    if (result == TS_OK) return;
    fprintf(stderr, "pipeline: %s: %s\n", what, ts_result_text(result));
    exit(1);
}

/* ---- Kernels: run on the devices ---------------------------------------- */

typedef struct unpack_args {
    const uint8_t *bytes;
    uint32_t *a, *b;
} unpack_args;

// Unpacks one row of both matrices.
static void unpack(const void *args, const ts_vdev_block *block)
{
    const unpack_args *const u = args;
    const size_t row = (size_t)block->index[0] * N;
    for (size_t i = row; i < row + N; i++) {
        u->a[i] = u->bytes[i] * 2654435761u;
        u->b[i] = u->bytes[AREA + i] * 2246822519u;
    }
}

typedef struct multiply_args {
    const uint32_t *x, *y;
    uint32_t *product;
} multiply_args;

// Loads one tile of a matrix into the fast memory of the block.
static void load_tile(uint32_t tile[TILE][TILE], const uint32_t *from)
{
    for (size_t i = 0; i < TILE; i++)
        memcpy(tile[i], from + i * N, TILE * sizeof **tile);
}

// Computes one tile of the product, modulo 2^32.
static void multiply(const void *args, const ts_vdev_block *block)
{
    const multiply_args *const m = args;
    uint32_t(*const x)[TILE] = block->shared, (*const y)[TILE] = x + TILE;
    uint32_t sums[TILE][TILE] = { { 0 } };
    const size_t left = block->index[0] * (size_t)TILE;
    const size_t top = block->index[1] * (size_t)TILE;
    for (size_t k = 0; k < N; k += TILE) {
        load_tile(x, m->x + top * N + k);
        load_tile(y, m->y + k * N + left);
        for (size_t i = 0; i < TILE; i++)
            for (size_t l = 0; l < TILE; l++)
                for (size_t j = 0; j < TILE; j++)
                    sums[i][j] += x[i][l] * y[l][j];
    }
    for (size_t i = 0; i < TILE; i++)
        memcpy(m->product + (top + i) * N + left, sums[i], sizeof sums[i]);
}

typedef struct reduce_args {
    const uint32_t *values;
    summary *parts;
} reduce_args;

static summary summarize(const uint32_t *values, size_t count)
{
    summary r = { 0, 14695981039346656037u }; // FNV-1a, over words
    for (size_t i = 0; i < count; i++) {
        r.sum += values[i];
        r.checksum = (r.checksum ^ values[i]) * 1099511628211u;
    }
    return r;
}

static void reduce(const void *args, const ts_vdev_block *block)
{
    const reduce_args *const r = args;
    const size_t part = block->index[0], count = AREA / PARTS;
    r->parts[part] = summarize(r->values + part * count, count);
}

// Combines PARTS summaries into one; the last element of `parts` receives it.
static void fold_parts(summary *parts)
{
    summary *const whole = &parts[PARTS];
    memset(whole, 0, sizeof *whole);
    for (int i = 0; i < PARTS; i++) {
        whole->sum += parts[i].sum;
        whole->checksum = whole->checksum * 31 + parts[i].checksum;
    }
}

static void fold(const void *args, const ts_vdev_block *block)
{
    const reduce_args *const r = args;
    (void)block;
    fold_parts(r->parts);
}

/* ---- Hand-over between the threads -------------------------------------- */

static slot *slot_wait(uint64_t frame, state wanted)
{
    TS_ZONE("wait for work", "idle", 0x808080);
    slot *const s = &app.slots[frame % SLOTS];
    pthread_mutex_lock(&app.lock);
    while (s->state != wanted)
        pthread_cond_wait(&app.changed, &app.lock);
    pthread_mutex_unlock(&app.lock);
    return s;
}

static void slot_pass(slot *s, state next)
{
    pthread_mutex_lock(&app.lock);
    s->state = next;
    int busy = 0;
    for (int i = 0; i < SLOTS; i++)
        busy += app.slots[i].state != EMPTY;
    pthread_cond_broadcast(&app.changed);
    pthread_mutex_unlock(&app.lock);
    TS_COUNTER("frames in flight", busy);
}

// Host function that runs when the device has finished a slot.
static void slot_done(void *user)
{
    slot_pass(user, DONE);
}

/* ---- The threads -------------------------------------------------------- */

// Fills a slot from the file; at its end, starts again at the beginning.
static void load(slot *s)
{
    TS_ZONE("load", "io", 0x4C9A2A);
    TS_ZONE_TEXT(app.file);
    size_t size = 0;
    while (size < 2 * AREA) {
        const size_t got =
            fread(s->bytes + size, 1, 2 * AREA - size, app.input);
        if (!got) {
            if (ferror(app.input)) must(TS_ERR_IO, app.file);
            TS_MARK("file begins again", "io");
            rewind(app.input);
        }
        size += got;
    }
    TS_ZONE_VALUE("bytes", size);
}

static void *loader_main(void *unused)
{
    TS_THREAD_NAME("loader");
    uint64_t total = 0;
    for (uint64_t i = 0; i < app.frames; i++) {
        slot *const s = slot_wait(i, EMPTY);
        s->frame = i;
        TS_SPAN_START(i, "frame");
        {
            TS_ZONE("prepare");
            TS_FLOW_START(i);
            load(s);
        }
        total += 2 * AREA;
        TS_COUNTER("loaded", total);
        slot_pass(s, LOADED);
    }
    return unused;
}

static void launch(int stream, ts_vdev_kernel kernel, uint32_t columns,
                   uint32_t rows, const void *args)
{
    const ts_vdev_launch_desc desc = { .grid = { columns, rows },
                                       .block = { TILE, TILE },
                                       .args = args };
    must(ts_vdev_launch(app.vdev, app.streams[stream], kernel, &desc),
         "launch");
}

static void copy(int stream, void *to, const void *from, size_t size)
{
    must(ts_vdev_memcpy_async(app.vdev, app.streams[stream], to, from, size),
         "copy");
}

// Makes later operations of stream `to` wait for all operations issued so far
// on stream `from`.
static void chain(ts_vdev_event event, int from, int to)
{
    must(ts_vdev_event_record(app.vdev, event, app.streams[from]), "record");
    must(ts_vdev_event_wait(app.vdev, event, app.streams[to]), "wait");
}

static void submit(slot *s)
{
    TS_ZONE("submit", "device", 0x2A6F9A);
    TS_ZONE_VALUE("frame", s->frame);
    TS_FLOW_STEP(s->frame);
    const size_t size = AREA * sizeof(uint32_t);
    const unpack_args bytes = { s->device_bytes, s->a, s->b };
    copy(UPLOAD, s->device_bytes, s->bytes, 2 * AREA);
    launch(UPLOAD, app.unpack, N, 1, &bytes);
    chain(s->uploaded, UPLOAD, MULTIPLY_0);

    const multiply_args first = { s->a, s->b, s->c };
    launch(MULTIPLY_0, app.multiply, N / TILE, N / TILE, &first);
    chain(s->multiplied, MULTIPLY_0, MULTIPLY_1);

    const multiply_args second = { s->c1, s->a1, s->d1 };
    copy(MULTIPLY_1, s->a1, s->a, size);
    copy(MULTIPLY_1, s->c1, s->c, size);
    launch(MULTIPLY_1, app.multiply, N / TILE, N / TILE, &second);
    chain(s->finished, MULTIPLY_1, FINISH);

    const reduce_args parts = { s->d1, s->parts };
    must(ts_vdev_memset_async(app.vdev, app.streams[FINISH], s->parts, 0,
                              (PARTS + 1) * sizeof(summary)),
         "memset");
    launch(FINISH, app.reduce, PARTS, 1, &parts);
    launch(FINISH, app.fold, 1, 1, &parts);
    copy(FINISH, s->d, s->d1, size);
    copy(FINISH, s->found, s->parts + PARTS, sizeof(summary));
    must(ts_vdev_host_function(app.vdev, app.streams[FINISH], "slot_done",
                               slot_done, s),
         "host function");
}

// Computes one row of a product: x is a row, y a matrix.
static void plain_row(uint32_t *product, const uint32_t *x, const uint32_t *y)
{
    uint32_t sums[N] = { 0 };
    for (size_t k = 0; k < N; k++)
        for (size_t j = 0; j < N; j++)
            sums[j] += x[k] * y[k * N + j];
    memcpy(product, sums, sizeof sums);
}

// Checks rows of D = A x B x A: every fourth one; the next frames check the
// others.
static bool check_rows(const slot *s, const uint32_t *a, const uint32_t *b)
{
    TS_FUNCTION();
    bool right = true;
    for (size_t i = s->frame % 4; i < N; i += 4) {
        uint32_t c[N], d[N];
        plain_row(c, a + i * N, b);
        plain_row(d, c, a);
        right &= !memcmp(d, s->d + i * N, sizeof d);
    }
    return right;
}

// Checks the sum and the checksum against the downloaded D.
static bool check_summary(const slot *s)
{
    TS_FUNCTION();
    summary parts[PARTS + 1];
    for (size_t i = 0; i < PARTS; i++)
        parts[i] = summarize(s->d + i * (AREA / PARTS), AREA / PARTS);
    fold_parts(parts);
    return !memcmp(&parts[PARTS], s->found, sizeof *parts);
}

// Repeats the computation on the host. True if the devices' results are equal.
static bool check(const slot *s, uint32_t *scratch)
{
    TS_ZONE("check", "host", 0x9A2A6F);
    TS_FLOW_END(s->frame);
    TS_ZONE_VALUE("sum", s->found->sum);
    uint32_t *const a = scratch, *const b = a + AREA;
    for (size_t i = 0; i < AREA; i++) {
        a[i] = s->bytes[i] * 2654435761u;
        b[i] = s->bytes[AREA + i] * 2246822519u;
    }
    const bool rows = check_rows(s, a, b);
    return check_summary(s) && rows;
}

static void *checker_main(void *unused)
{
    TS_THREAD_NAME("checker");
    uint32_t *const scratch = malloc(2 * AREA * sizeof *scratch);
    if (!scratch) must(TS_ERR_MEMORY, "checker");
    TS_ALLOC(scratch, 2 * AREA * sizeof *scratch, "host", "scratch");
    for (uint64_t i = 0; i < app.frames; i++) {
        slot *const s = slot_wait(i, DONE);
        const bool right = check(s, scratch);
        if (!right) TS_MESSAGE("a device computed something else");
        app.wrong += !right;
        TS_SPAN_END(i);
        TS_FRAME("frame");
        TS_COUNTER("share right",
                   100.0 - 100.0 * (double)app.wrong / (double)(i + 1));
        slot_pass(s, EMPTY);
    }
    TS_FREE(scratch, "host");
    free(scratch);
    return unused;
}

/* ---- Set-up ------------------------------------------------------------- */

static void *host_memory(size_t size)
{
    void *const memory = malloc(size);
    if (!memory) must(TS_ERR_MEMORY, "host memory");
    TS_ALLOC(memory, size, "host", "staging");
    return memory;
}

static void *device_memory(uint32_t device, size_t size)
{
    void *memory;
    must(ts_vdev_malloc(&memory, app.vdev, device, size), "device memory");
    return memory;
}

static void slot_open(slot *s)
{
    const size_t size = AREA * sizeof(uint32_t);
    s->bytes = host_memory(2 * AREA);
    s->d = host_memory(size);
    s->found = host_memory(sizeof *s->found);
    s->device_bytes = device_memory(0, 2 * AREA);
    s->a = device_memory(0, size);
    s->b = device_memory(0, size);
    s->c = device_memory(0, size);
    s->a1 = device_memory(1, size);
    s->c1 = device_memory(1, size);
    s->d1 = device_memory(1, size);
    s->parts = device_memory(1, (PARTS + 1) * sizeof *s->parts);
    must(ts_vdev_event_create(&s->uploaded, app.vdev), "event");
    must(ts_vdev_event_create(&s->multiplied, app.vdev), "event");
    must(ts_vdev_event_create(&s->finished, app.vdev), "event");
}

static void slot_close(slot *s)
{
    void *const host[] = { s->bytes, s->d, s->found };
    void *const device[] = { s->device_bytes, s->a,  s->b,  s->c,
                             s->a1,           s->c1, s->d1, s->parts };
    for (size_t i = 0; i < sizeof host / sizeof *host; i++) {
        TS_FREE(host[i], "host");
        free(host[i]);
    }
    for (size_t i = 0; i < sizeof device / sizeof *device; i++)
        must(ts_vdev_free(app.vdev, device[i]), "free");
}

static ts_vdev_kernel kernel(const char *name, ts_vdev_function function,
                             size_t args_size, uint32_t shared)
{
    const ts_vdev_kernel_desc desc = { .name = name,
                                       .function = function,
                                       .args_size = args_size,
                                       .static_shared = shared };
    ts_vdev_kernel made;
    must(ts_vdev_kernel_register(&made, app.vdev, &desc), name);
    return made;
}

static void open_devices(void)
{
    TS_FUNCTION();
    const ts_vdev_desc desc = { .device_count = 2 };
    must(ts_vdev_open(&app.vdev, &desc), "devices");
    const ts_vdev_stream_desc streams[STREAMS] = {
        { .device = 0, .name = "upload" },
        { .device = 0, .name = "multiply A x B" },
        { .device = 1, .name = "multiply C x A" },
        { .device = 1, .name = "finish", .priority = -1 },
    };
    for (int i = 0; i < STREAMS; i++)
        must(ts_vdev_stream_create(&app.streams[i], app.vdev, &streams[i]),
             streams[i].name);
    app.unpack = kernel("unpack", unpack, sizeof(unpack_args), 0);
    app.multiply = kernel("multiply", multiply, sizeof(multiply_args),
                          2 * TILE * TILE * sizeof(uint32_t));
    app.reduce = kernel("reduce", reduce, sizeof(reduce_args), 0);
    app.fold = kernel("fold", fold, sizeof(reduce_args), 0);
    for (int i = 0; i < SLOTS; i++)
        slot_open(&app.slots[i]);
}

static void close_devices(void)
{
    TS_FUNCTION();
    must(ts_vdev_device_synchronize(app.vdev, 1), "synchronize");
    for (int i = 0; i < SLOTS; i++)
        slot_close(&app.slots[i]);
    must(ts_vdev_close(app.vdev), "devices");
}

static int usage(void)
{
    fputs("usage: pipeline [-o TRACE] [--frames N] [FILE]\n", stderr);
    return 2;
}

static bool parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char *end = NULL;
        if (!strcmp(argv[i], "-o") && i + 1 < argc)
            app.trace = argv[++i];
        else if (!strcmp(argv[i], "--frames") && i + 1 < argc)
            app.frames = strtoull(argv[++i], &end, 10);
        else if (argv[i][0] != '-' && i + 1 == argc)
            app.file = argv[i];
        else
            return false;
        if (end && (*end || !app.frames)) return false;
    }
    return true;
}

static void run(void)
{
    pthread_t loader, checker;
    if (pthread_create(&loader, NULL, loader_main, NULL) ||
        pthread_create(&checker, NULL, checker_main, NULL))
        must(TS_ERR_MEMORY, "threads");
    for (uint64_t i = 0; i < app.frames; i++) {
        slot *const s = slot_wait(i, LOADED);
        slot_pass(s, SUBMITTED);
        submit(s);
    }
    pthread_join(loader, NULL);
    pthread_join(checker, NULL);
}

int main(int argc, char **argv)
{
    if (!parse(argc, argv)) return usage();
    app.input = fopen(app.file, "rb");
    if (!app.input) must(TS_ERR_IO, app.file);
    if (fgetc(app.input) == EOF) {
        fprintf(stderr, "pipeline: %s: there is nothing in it\n", app.file);
        return 1;
    }
    rewind(app.input);

    const ts_session_desc desc = { .path = app.trace };
    must(ts_session_start(&desc), app.trace);
    TS_THREAD_NAME("main");
    TS_MESSAGE("the pipeline starts");
    ts_counter_define("loaded", "bytes", TS_COUNTER_MONOTONIC);
    ts_counter_define("share right", "%", 0);
    ts_metadata_text(0, "input", app.file);
    open_devices();
    run();
    close_devices();
    TS_MESSAGE("the pipeline ends");
    must(ts_session_stop(), app.trace);

    fclose(app.input);
    printf("pipeline: %" PRIu64 " frames, %" PRIu64 " wrong, trace in %s\n",
           app.frames, app.wrong, app.trace);
    return app.wrong ? 1 : 0;
}
