// Scans, walks and readers on several threads.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

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

UNIT_TEST(a_scan_does_not_depend_on_its_threads)
{
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

UNIT_TEST(a_walk_does_not_depend_on_its_threads)
{
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

UNIT_TEST(many_threads_share_a_reader)
{
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

UNIT_TEST(values_of_every_width_are_unpacked)
{
    enum { COUNT = 64 * 4 + 17 };
    for (uint32_t width = 0; width <= 64; width++) {
        uint64_t starts[COUNT], ids[COUNT];
        const uint64_t most = width ? UINT64_MAX >> (64 - width) : 0;
        for (uint32_t i = 0; i < COUNT; i++) {
            starts[i] = 1000 + i;
            ids[i] = i % 64 == 5 ? most : (roll(UINT64_MAX) & most);
        }
        forge f;
        forge_open(&f, 1000);
        forge_events(&f, TS_EVENT_FLOW, 1, COUNT, 1000, 1000 + COUNT);
        forge_column(&f, TS_COLUMN_START, FORGE_PACK, FORGE_PLAIN, starts);
        forge_column(&f, TS_COLUMN_ID, FORGE_PACK, FORGE_PLAIN, ids);
        forge_events_end(&f);
        forge_finish(&f);
        ts_reader *const reader = storm_open(&f);
        ts_columns columns = { 0 };
        assert_int_equal(ts_reader_decode(reader, 0, &columns), TS_OK);
        for (uint32_t i = 0; i < COUNT; i++)
            assert_int_equal(columns.values[TS_COLUMN_ID]
                                 ? columns.values[TS_COLUMN_ID][i]
                                 : 0,
                             ids[i]);
        ts_columns_close(reader, &columns);
        ts_reader_close(reader);
        forge_close(&f);
    }
}

// Compares a chunk that was decoded in part with the same one in whole.
static void same_part(const ts_columns *part, const ts_columns *all,
                      uint64_t wanted)
{
    const size_t size = all->count * sizeof(uint64_t);
    assert_int_equal(part->count, all->count);
    assert_int_equal(part->kind, all->kind);
    assert_int_equal(part->track, all->track);
    assert_int_equal(part->start_ns != NULL,
                     (wanted & TS_COLUMN_BIT(START)) != 0);
    if (part->start_ns)
        assert_memory_equal(part->start_ns, all->start_ns, size);
    if (part->start_ns)
        assert_memory_equal(part->end_ticks, all->end_ticks, size);
    assert_int_equal(part->duration_ns != NULL,
                     (wanted & TS_COLUMN_BIT(DURATION)) != 0);
    if (part->duration_ns)
        assert_memory_equal(part->duration_ns, all->duration_ns, size);
    assert_int_equal(part->tracks != NULL,
                     wanted & TS_COLUMN_BIT(TRACK) && all->tracks);
    if (part->tracks) assert_memory_equal(part->tracks, all->tracks, size / 2);
}

UNIT_TEST(columns_decoded_alone_are_those_of_all)
{
    static const uint64_t sets[] = { 0,
                                     TS_COLUMN_BIT(START),
                                     TS_COLUMN_BIT(DURATION),
                                     TS_COLUMN_BIT(START) |
                                         TS_COLUMN_BIT(DURATION),
                                     TS_COLUMN_BIT(TRACK),
                                     TS_COLUMN_BIT(SITE) | TS_COLUMN_BIT(TRACK),
                                     TS_COLUMNS_ALL };
    forge f;
    storm_forge(&f);
    ts_reader *const reader = storm_open(&f);
    ts_columns all = { 0 }, part = { 0 };
    for (size_t chunk = 1; chunk <= CHUNKS; chunk++) {
        assert_int_equal(ts_reader_decode(reader, chunk, &all), TS_OK);
        for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
            assert_int_equal(
                ts_reader_decode_columns(reader, chunk, sets[i], &part), TS_OK);
            same_part(&part, &all, sets[i]);
        }
    }
    ts_columns_close(reader, &all);
    ts_columns_close(reader, &part);
    ts_reader_close(reader);
    forge_close(&f);
}

static void note_chunk(const ts_columns *columns, uint32_t thread, void *user)
{
    uint64_t *const seen = user;
    (void)thread;
    *seen |= UINT64_C(1) << columns->chunk;
}

// The checksum is what an empty set of columns still looks at.
UNIT_TEST(a_scan_of_some_chunks_finds_the_damaged_ones)
{
    forge f;
    storm_forge(&f);
    f.bytes[f.chunks[7] + 100] ^= 1;
    ts_reader *const reader = storm_open(&f);
    const size_t chunks[] = { 2, 7, 9, 1000, 13 };
    const ts_filter filter = { .kinds = TS_FILTER(MARK) };
    uint64_t seen = 0;
    ts_scan_desc desc = { .chunks = chunks,
                          .chunk_count = 5,
                          .threads = 1,
                          .call = note_chunk,
                          .user = &seen };
    assert_int_equal(ts_reader_scan_columns(reader, &desc), TS_ERR_CORRUPT);
    assert_int_equal(seen, 1u << 2 | 1u << 9 | 1u << 13);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    desc.filter = &filter;
    seen = 0;
    assert_int_equal(ts_reader_scan_columns(reader, &desc), TS_OK);
    assert_int_equal(seen, 1u << 2);
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
