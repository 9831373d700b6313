/*
    bench_capture.c - the cost of capturing operations

    Launches a kernel that writes one word of an allocation of 1 MiB, and waits
    for it. Off: without a capture, and after one was stopped. Hashes: all
    reachable memory is hashed before and after the launch, and not stored.
    Full: memory is stored, too, and all of it has changed since the last
    launch.
*/
#include "bench/bench.h"
#define TRACESMITH_VDEV_IMPLEMENTATION
#include "backends/ts_vdev.h"

enum { SIZE = 1 << 20, WORDS = SIZE / 8 };

static ts_vdev *vdev;
static ts_vdev_kernel kernel;
static uint64_t *values;

static void touch(const void *args, const ts_vdev_block *block)
{
    uint64_t *const *const words = args;
    (void)block;
    (*words)[0]++;
}

static void launch(void)
{
    const ts_vdev_launch_desc desc = { .args = &values };
    bench_need(ts_vdev_launch(vdev, 0, kernel, &desc), "launch");
    bench_need(ts_vdev_stream_synchronize(vdev, 0), "wait");
}

// The least CPU time of the process for a launch, over several rounds.
static double launches(int rounds, int count, void (*before)(void))
{
    double least = INFINITY;
    for (int i = 0; i < rounds; i++) {
        double sum = 0;
        for (int k = 0; k < count; k++) {
            if (before) before();
            const double start = bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
            launch();
            sum += bench_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
        }
        bench_keep_min(&least, sum / count);
    }
    return least;
}

static bench_random noise;

static void change_all(void)
{
    for (int i = 0; i < WORDS; i++)
        values[i] = bench_next(&noise);
}

// Yardstick: hashes the memory of a launch, before and after.
static double hashing(int rounds)
{
    double least = INFINITY;
    uint64_t hash[2];
    for (int i = 0; i < rounds; i++) {
        const double start = bench_cpu_ns();
        for (int k = 0; k < 2 * SIZE / (int)TS_CAPTURE_CHUNK; k++)
            ts_blob_find((char *)values + k % 16 * (int)TS_CAPTURE_CHUNK,
                         TS_CAPTURE_CHUNK, hash);
        bench_keep_min(&least, bench_cpu_ns() - start);
    }
    return least;
}

// Yardstick: writes as many bytes to a file as a launch stores.
static double writing(int rounds)
{
    double least = INFINITY;
    FILE *const file = fopen(bench_path("capture.bin"), "wb");
    for (int i = 0; file && i < rounds; i++) {
        change_all();
        const double start = bench_cpu_ns();
        if (fwrite(values, 1, SIZE, file) != SIZE || fflush(file)) break;
        bench_keep_min(&least, bench_cpu_ns() - start);
    }
    if (file) fclose(file);
    return least;
}

static void open_all(void)
{
    const ts_vdev_kernel_desc desc = { .name = "touch",
                                       .function = touch,
                                       .args_size = sizeof values };
    void *memory;
    bench_need(ts_vdev_open(&vdev, NULL), "vdev");
    bench_need(ts_vdev_malloc(&memory, vdev, 0, SIZE), "malloc");
    bench_need(ts_vdev_kernel_register(&kernel, vdev, &desc), "kernel");
    values = memory;
    change_all();
}

// Searches 1 MiB of random bytes for pointers.
static double scanning(int rounds)
{
    static const ts_capture_vendor vendor = { .name = "none" };
    ts_capture_memory memory = { .vendor = &vendor };
    double least = INFINITY;
    ts_capture_fresh(&memory);
    ts_capture_alloc(&memory, (uintptr_t)values, SIZE, 1);
    for (int i = 0; i < rounds; i++) {
        ts_capture_op op = { .head = { .order = (uint64_t)i + 1 } };
        change_all();
        const double start = bench_cpu_ns();
        ts__cap_scan(&memory, &op, (const uint8_t *)values, SIZE,
                     TS_CAPTURE_BY_MEMORY, 0);
        bench_keep_min(&least, bench_cpu_ns() - start);
        free(op.regions);
    }
    ts_capture_close(&memory);
    return least;
}

static void row(const char *key, const char *what, double figure,
                const char *unit, double limit, const char *yardstick)
{
    const bench_row made = { key,   what,      figure,     unit,
                             limit, yardstick, BENCH_INFO, 0 };
    bench_print(&made);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    const int rounds = bench.quick ? 5 : 20;
    const ts_session_desc session = { .path = bench_path("capture.sbt") };
    const ts_capture_desc hashes = { .hashes_only = true };
    const ts_capture_desc full = { .budget_bytes = UINT64_C(4) << 30 };
    open_all();
    bench_need(ts_session_start(&session), "session");
    const double never = launches(rounds, 200, NULL);
    bench_need(ts_capture_start(&hashes), "capture");
    launch(); // the first launch stores the code
    const double known = launches(rounds, 20, NULL);
    ts_capture_stop();
    const double off = launches(rounds, 200, NULL);
    bench_need(ts_capture_start(&full), "capture");
    launch();
    const double found = scanning(rounds);
    const uint64_t bytes = ts_capture_result().kept_bytes;
    const double kept = launches(rounds, 4, change_all);
    const double each =
        (double)(ts_capture_result().kept_bytes - bytes) / (double)(rounds * 4);
    ts_capture_stop();
    row("capture.off", "launch and wait, after a capture", off, "ns", never,
        "before any");
    row("capture.hashes", "launch, hashes of 1 MiB before and after", known,
        "ns", hashing(rounds), "hashing 2 MiB");
    row("capture.full", "launch, 1 MiB of new contents kept", kept, "ns",
        writing(rounds), "writing 1 MiB");
    row("capture.scan", "looking for pointers in 1 MiB", found, "ns",
        hashing(rounds) / 2, "hashing it");
    row("capture.kept", "kept for it", each, "B", SIZE, "1 MiB");
    bench_need(ts_session_stop(), "stop");
    ts_vdev_close(vdev);
    remove(session.path);
    return 0;
}
