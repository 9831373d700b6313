// Scans, walks and readers on several threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_storm.h"

typedef struct sums {
    uint64_t hash[CHUNKS + 8]; // of each chunk
    uint32_t calls, threads;
} sums;

static void add_up(const ts_columns *columns, uint32_t thread, void *user)
{
    sums *const all = user;
    uint64_t hash = 0;
    for (uint32_t row = 0; row < columns->count; row++)
        hash = hash * 31 + (uint64_t)columns->start_ns[row] * 7 +
               (uint64_t)columns->duration_ns[row];
    all->hash[columns->chunk] = hash;
    __atomic_add_fetch(&all->calls, 1, __ATOMIC_RELAXED);
    __atomic_or_fetch(&all->threads, 1u << thread, __ATOMIC_RELAXED);
}

static void a_scan_does_not_depend_on_its_threads(void **state)
{
    (void)state;
    forge f;
    storm_forge(&f);
    f.bytes[f.chunks[30] + 100] ^= 1;
    f.bytes[f.chunks[10] + 100] ^= 1;
    sums first = { .calls = 0 };
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        ts_reader *const reader = storm_open(&f);
        sums all = { .calls = 0 };
        ts_damage damage;
        assert_int_equal(ts_reader_scan(reader, NULL, threads, add_up, &all),
                         TS_ERR_CORRUPT);
        assert_int_equal(all.calls, CHUNKS - 2);
        assert_true(all.threads < 1u << threads);
        assert_int_equal(ts_reader_damage_count(reader), 2);
        assert_true(ts_reader_damage(reader, 0, &damage));
        assert_int_equal(damage.offset, f.chunks[10]);
        if (threads == 1) first = all;
        assert_memory_equal(first.hash, all.hash, sizeof all.hash);
        ts_reader_close(reader);
    }
    forge_close(&f);
}

static void a_walk_does_not_depend_on_its_threads(void **state)
{
    (void)state;
    forge f;
    storm_forge(&f);
    for (size_t i = 3; i < CHUNKS; i += 9)
        f.bytes[f.chunks[i] + 8 * i] ^= 1;
    for (uint32_t threads = 1; threads <= 8; threads *= 2) {
        ts_reader *reader;
        const ts_reader_desc desc = { .bytes = f.bytes,
                                      .size = f.size,
                                      .no_index = true,
                                      .threads = threads };
        assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
        assert_int_equal(ts_reader_damage_count(reader), 5);
        assert_int_equal(ts_reader_chunk_count(reader), CHUNKS + 1 - 5);
        for (size_t i = 0; i < 5; i++) {
            ts_damage damage;
            assert_true(ts_reader_damage(reader, i, &damage));
            assert_int_equal(damage.offset, f.chunks[3 + 9 * i]);
        }
        ts_reader_close(reader);
    }
    forge_close(&f);
}

static void *read_all(void *argument)
{
    rows all = rows_of(argument, NULL);
    const size_t count = all.count;
    rows_close(&all);
    return (void *)count;
}

static void many_threads_share_a_reader(void **state)
{
    (void)state;
    forge f;
    storm_forge(&f);
    f.bytes[f.chunks[30] + 100] ^= 1;
    ts_reader *const reader = storm_open(&f);
    pthread_t threads[6];
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_all, reader),
                         0);
    for (size_t i = 0; i < 6; i++) {
        void *count;
        pthread_join(threads[i], &count);
        assert_int_equal((size_t)count, (CHUNKS - 1) * ROWS);
    }
    assert_int_equal(ts_reader_damage_count(reader), 1);
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_scan_does_not_depend_on_its_threads),
        cmocka_unit_test(a_walk_does_not_depend_on_its_threads),
        cmocka_unit_test(many_threads_share_a_reader),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
