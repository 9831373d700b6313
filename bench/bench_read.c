/*
    bench_read.c - how fast the reader is

    Needs zones.sbt and big.sbt, made by gen_trace, in the directory for files.
*/
#include "bench/bench.h" // first: it asks for GNU interfaces
#include <fcntl.h>
#include <sys/mman.h>

enum { ROUNDS = 5, SITES = 256 };

static volatile uint64_t read_sink;

typedef struct mapping {
    const uint8_t *bytes;
    size_t size;
} mapping;

static mapping map_file(const char *path)
{
    mapping map = { NULL, (size_t)bench_file_bytes(path) };
    const int file = open(path, O_RDONLY);
    void *const bytes =
        file < 0 ? MAP_FAILED
                 : mmap(NULL, map.size, PROT_READ, MAP_SHARED, file, 0);
    if (bytes == MAP_FAILED) {
        fprintf(stderr, "bench_read: %s: cannot be mapped; run gen_trace\n",
                path);
        exit(1);
    }
    close(file);
    map.bytes = bytes;
    return map;
}

// Yardstick: sums the file as words, the least cost of reading it.
static double sum_ns(const mapping *map)
{
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = bench_wall_ns();
        uint64_t sum = 0;
        for (size_t i = 0; i + 8 <= map->size; i += 8) {
            uint64_t word;
            memcpy(&word, map->bytes + i, sizeof word);
            sum += word;
        }
        read_sink = sum;
        bench_keep_min(&least, bench_wall_ns() - begin);
    }
    return least;
}

/* ==== 1. A missing index ================================================= */

// Without the last 64 bytes, the end chunk, the index has to be rebuilt.
static void measure_rebuild(void)
{
    const mapping map = map_file(bench_path("big.sbt"));
    const ts_reader_desc desc = { .bytes = map.bytes, .size = map.size - 64 };
    const double limit = sum_ns(&map);
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        ts_reader *reader = NULL;
        const double begin = bench_wall_ns();
        bench_need(ts_reader_open(&reader, &desc), "rebuilding the index");
        bench_keep_min(&least, bench_wall_ns() - begin);
        if (ts_reader_info(reader)->indexed) least = NAN;
        ts_reader_close(reader);
    }
    const bench_row row = { .key = "open.rebuild",
                            .what = "rebuild a missing index",
                            .figure = (double)map.size / least,
                            .unit = "GB/s",
                            .limit = (double)map.size / limit,
                            .yardstick = "adding up the file, 1 thread",
                            .rule = BENCH_FIGURE_MIN,
                            .budget = 1 };
    bench_print(&row);
    munmap((void *)(uintptr_t)map.bytes, map.size);
}

/* ==== 2. Scan ============================================================ */

typedef struct site_sums {
    int64_t ns[SITES];
    uint64_t zones;
} site_sums;

static void add_chunk(const ts_columns *columns, uint32_t thread, void *user)
{
    site_sums *const sums = user;
    const uint64_t *const sites = columns->values[TS_COLUMN_SITE];
    (void)thread;
    if (!sites) return;
    for (uint32_t i = 0; i < columns->count; i++)
        sums->ns[sites[i] % SITES] += columns->duration_ns[i];
    sums->zones += columns->count;
}

// Yardstick: the same additions over decoded columns in memory.
static double plain_sum_ns(uint64_t count)
{
    static uint64_t sites[1 << 14];
    static int64_t durations[1 << 14];
    static int64_t sums[SITES];
    const uint64_t part = 1 << 14;
    for (uint64_t i = 0; i < part; i++) {
        sites[i] = 1 + i * 7 % 20;
        durations[i] = (int64_t)(i % 500);
    }
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        const double begin = bench_cpu_ns();
        for (uint64_t done = 0; done < count; done += part) {
            for (uint64_t i = 0; i < part; i++)
                sums[sites[i] % SITES] += durations[i];
            BENCH_BARRIER();
        }
        bench_keep_min(&least, bench_cpu_ns() - begin);
    }
    read_sink = (uint64_t)sums[1];
    return least;
}

static void measure_scan(ts_reader *reader)
{
    const ts_filter zones = { .kinds = TS_FILTER(ZONE) };
    const uint64_t expected = ts_reader_info(reader)->counts[TS_EVENT_ZONE];
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        site_sums sums = { { 0 }, 0 };
        const ts_scan_desc desc = { .filter = &zones,
                                    .columns = TS_COLUMN_BIT(SITE) |
                                               TS_COLUMN_BIT(DURATION),
                                    .threads = 1,
                                    .call = add_chunk,
                                    .user = &sums };
        const double begin = bench_process_ns();
        bench_need(ts_reader_scan_columns(reader, &desc), "scan");
        bench_keep_min(&least, bench_process_ns() - begin);
        if (sums.zones != expected) least = NAN;
    }
    const bench_row row = { .key = "scan",
                            .what = "scan, time by site, 1 core",
                            .figure = (double)expected / least * 1e3,
                            .unit = "M zones/s",
                            .limit =
                                (double)expected / plain_sum_ns(expected) * 1e3,
                            .yardstick = "adding decoded columns",
                            .rule = BENCH_FIGURE_MIN,
                            .budget = 300 };
    bench_print(&row);
}

/* ==== 3. Cursor ========================================================== */

// Returns the time to read all events.
static double measure_cursor(ts_reader *reader)
{
    double least = INFINITY;
    uint64_t events = 0;
    for (int round = 0; round < 2; round++) {
        ts_cursor *cursor = NULL;
        ts_event event;
        const double begin = bench_process_ns();
        bench_need(ts_cursor_open(&cursor, reader, NULL), "cursor");
        for (events = 0; ts_cursor_next(cursor, &event); events++)
            read_sink = (uint64_t)event.start_ns;
        bench_need(ts_cursor_result(cursor), "cursor");
        bench_keep_min(&least, bench_process_ns() - begin);
        ts_cursor_close(cursor);
    }
    const bench_row rate = { .key = "cursor",
                             .what = "cursor, all events in order of time",
                             .figure = (double)events / least * 1e3,
                             .unit = "M events/s" };
    const bench_row old = { .key = "cursor.million",
                            .what = "read 1 M events",
                            .figure = least / (double)events / 1e3,
                            .unit = "s",
                            .limit = 0.5,
                            .yardstick = "the predecessor, elsewhere" };
    bench_print(&rate);
    bench_print(&old);
    return least;
}

// Measures reading the last events, including opening: the index leads to them.
static void measure_last(const char *path, double all_ns)
{
    double least = INFINITY;
    for (int round = 0; round < ROUNDS; round++) {
        ts_cursor *cursor = NULL;
        ts_event event;
        const double begin = bench_process_ns();
        ts_reader *const reader = bench_open(path);
        const int64_t last_ns = ts_reader_info(reader)->last_ns;
        const ts_filter end = { .from_ns = last_ns - 2000,
                                .to_ns = last_ns + 1 };
        bench_need(ts_cursor_open(&cursor, reader, &end), "cursor");
        while (ts_cursor_next(cursor, &event))
            read_sink = (uint64_t)event.start_ns;
        bench_keep_min(&least, bench_process_ns() - begin);
        ts_cursor_close(cursor);
        ts_reader_close(reader);
    }
    const bench_row row = { .key = "cursor.last",
                            .what = "open, read the last 2 us",
                            .figure = least / 1e6,
                            .unit = "ms",
                            .limit = all_ns / 1e6,
                            .yardstick = "reading all" };
    bench_print(&row);
}

int main(int argc, char **argv)
{
    bench_parse(argc, argv);
    measure_rebuild();
    const char *const zones = bench_path("zones.sbt");
    ts_reader *const reader = bench_open(zones);
    measure_scan(reader);
    const double all_ns = measure_cursor(reader);
    ts_reader_close(reader);
    measure_last(zones, all_ns);
    return 0;
}
