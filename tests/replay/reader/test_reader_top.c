// Traces that are opened by the top of their index: ts_reader_desc.lazy.
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

static ts_reader_desc lazy(const forge *f)
{
    const ts_reader_desc desc = {
        .bytes = f->bytes, .size = f->size, .threads = 1, .lazy = true
    };
    return desc;
}

static ts_reader *open_desc(const ts_reader_desc *desc)
{
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, desc), TS_OK);
    return reader;
}

static void expect_same_info(const ts_reader *a, const ts_reader *b)
{
    const ts_info *const x = ts_reader_info(a), *const y = ts_reader_info(b);
    assert_memory_equal(x, y, sizeof *x);
    assert_true(rows_rest(a) == rows_rest(b));
    assert_true(rows_clocks(a) == rows_clocks(b));
    assert_int_equal(ts_reader_damage_count(a), 0);
}

UNIT_TEST(the_top_tells_what_the_index_tells)
{
    forge f;
    sample_forge_with(&f, true);
    ts_reader_desc desc = lazy(&f);
    ts_reader *const top = open_desc(&desc);
    desc.lazy = false;
    ts_reader *const index = open_desc(&desc);
    assert_int_equal(ts_reader_top_count(index), 0);
    expect_same_info(top, index);
    assert_int_equal(ts_reader_chunk_count(top), ts_reader_chunk_count(index));
    expect_same_info(top, index);
    ts_reader_close(top);
    ts_reader_close(index);
    forge_close(&f);
}

UNIT_TEST(the_index_is_read_by_parts_even_if_none_is_asked_for)
{
    forge f;
    sample_forge_with(&f, true);
    const ts_reader_desc desc = lazy(&f);
    ts_reader *const reader = open_desc(&desc);
    int calls = 1;
    while (ts_reader_index_parts(reader, 0) == TS_ERR_BUSY && calls < 9)
        calls++;
    assert_in_range(calls, 1, 8);
    assert_int_equal(ts_reader_index_parts(reader, 0), TS_OK);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(the_top_has_pictures_of_tracks)
{
    forge f;
    sample_forge_with(&f, true);
    const ts_reader_desc desc = lazy(&f);
    ts_reader *const reader = open_desc(&desc);
    ts_top_track track;
    ts_picture_cell cell;
    assert_int_equal(ts_reader_top_count(reader), 2);
    assert_true(ts_reader_top(reader, 0, &track));
    assert_int_equal(track.track, 2);
    assert_int_equal(track.kind, TS_EVENT_ZONE);
    assert_int_equal(track.count, 7);
    assert_int_equal(track.cell_count, 4);
    assert_true(ts_reader_top_cell(reader, 0, 3, &cell));
    assert_int_equal(cell.start_ns, 30);
    assert_int_equal(cell.end_ns, 40);
    assert_int_equal(cell.id, 103);
    assert_int_equal(cell.busy, 65535);
    assert_int_equal(cell.count, 3);
    assert_true(ts_reader_top_cell(reader, 1, 3, &cell));
    const uint32_t low = 103;
    assert_memory_equal(&cell.min, &low, sizeof low);
    assert_int_equal(cell.busy, 0);
    assert_false(ts_reader_top_cell(reader, 0, 4, &cell));
    assert_false(ts_reader_top_cell(reader, 2, 0, &cell));
    assert_false(ts_reader_top(reader, 2, &track));
    ts_reader_close(reader);
    forge_close(&f);
}

// Reads from memory and counts.
typedef struct counted {
    const forge *f;
    uint64_t bytes;
} counted;

static int64_t read_counted(void *user, uint64_t offset, void *to, size_t size)
{
    counted *const c = user;
    if (size > c->f->size - offset) size = c->f->size - (size_t)offset;
    memcpy(to, c->f->bytes + offset, size);
    c->bytes += size;
    return (int64_t)size;
}

UNIT_TEST(the_open_reads_the_top_alone)
{
    forge f;
    sample_forge_with(&f, true);
    counted c = { &f, 0 };
    const size_t top = 64 + (size_t)forge_get(f.bytes + f.top + 40, 4);
    const ts_reader_desc desc = {
        .read = read_counted, .size = f.size, .user = &c, .lazy = true
    };
    ts_reader *const reader = open_desc(&desc);
    assert_true(c.bytes < top + 8 * 64);
    const uint64_t opened = c.bytes;
    assert_int_equal(ts_reader_index(reader), TS_OK);
    assert_true(c.bytes > opened);
    const uint64_t indexed = c.bytes;
    assert_int_equal(ts_reader_chunk_count(reader), f.chunk_count);
    assert_int_equal(c.bytes, indexed);
    ts_reader_close(reader);
    forge_close(&f);
}

// With each field of the top another number, under a right checksum.
UNIT_TEST(a_top_that_lies_about_sizes_is_not_used)
{
    static const uint64_t lies[] = { 0, 1, 255, 3000, 70000, UINT32_MAX };
    forge f;
    sample_forge_with(&f, true);
    rows truth = rows_read(f.bytes, f.size, false);
    uint8_t *const head = f.bytes + f.top + 64;
    for (size_t field = 4; field < 24; field += 4)
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            const uint64_t kept = forge_get(head + field, 4);
            if (lies[i] == kept) continue;
            forge_set(head + field, lies[i], 4);
            forge_seal(f.bytes, f.top);
            const ts_reader_desc desc = lazy(&f);
            ts_reader *const reader = open_desc(&desc);
            assert_int_equal(ts_reader_top_count(reader), 0);
            rows all = rows_of(reader, NULL);
            all.rest = rows_rest(reader);
            assert_true(rows_same(&all, &truth));
            rows_close(&all);
            ts_reader_close(reader);
            forge_set(head + field, kept, 4);
        }
    rows_close(&truth);
    forge_close(&f);
}

UNIT_TEST(a_top_without_dictionaries_or_with_other_chunks_is_not_used)
{
    forge f;
    sample_forge_with(&f, true);
    const size_t end = f.top + 64 + (size_t)forge_get(f.bytes + f.top + 40, 4);
    const size_t copies = end - (size_t)forge_get(f.bytes + f.top + 64 + 16, 8);
    const size_t places[] = { f.top + 64,  copies + 4,  copies + 6,
                              copies + 12, copies + 64, copies + 40 };
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        f.bytes[places[i]] ^= 1;
        forge_seal(f.bytes, f.top);
        const ts_reader_desc desc = lazy(&f);
        ts_reader *const reader = open_desc(&desc);
        assert_int_equal(ts_reader_top_count(reader), 0);
        assert_int_equal(ts_reader_chunk_count(reader), f.chunk_count);
        ts_reader_close(reader);
        f.bytes[places[i]] ^= 1;
    }
    forge_close(&f);
}

typedef struct meter {
    size_t used;
    long left; // allocations until one is refused
} meter;

static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    meter *const m = user;
    if (new_size && m->left-- <= 0) return NULL;
    void *const fresh = realloc(ptr, new_size + !new_size);
    m->used += new_size - old_size;
    if (new_size) return fresh;
    free(fresh);
    return NULL;
}

UNIT_TEST(every_allocation_may_fail)
{
    forge f;
    sample_forge_with(&f, true);
    meter m;
    bool done = false;
    for (long allowed = 0; !done; allowed++) {
        m = (meter){ 0, allowed };
        ts_reader_desc desc = lazy(&f);
        desc.allocator = (ts_allocator){ metered, &m };
        ts_reader *reader;
        ts_cursor *cursor;
        ts_result result = ts_reader_open(&reader, &desc);
        if (result == TS_OK) {
            result = ts_reader_index(reader);
            if (result != TS_OK) {
                assert_int_equal(ts_reader_chunk_count(reader), 0);
                m.left = 1000; // memory is there again
                assert_int_equal(ts_reader_chunk_count(reader), f.chunk_count);
                m.left = 0;
            }
            if (ts_cursor_open(&cursor, reader, NULL) == TS_OK)
                ts_cursor_close(cursor);
            ts_reader_close(reader);
        }
        if (result != TS_OK) assert_int_equal(result, TS_ERR_MEMORY);
        assert_int_equal(m.used, 0);
        done = result == TS_OK;
    }
    forge_close(&f);
}

static void *count_chunks(void *user)
{
    const ts_reader *const reader = user;
    return (void *)(uintptr_t)ts_reader_chunk_count(reader);
}

UNIT_TEST(threads_read_the_index_once)
{
    enum { THREADS = 4 };
    forge f;
    sample_forge_with(&f, true);
    const ts_reader_desc desc = lazy(&f);
    ts_reader *const reader = open_desc(&desc);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, count_chunks, reader), 0);
    for (int i = 0; i < THREADS; i++) {
        void *count;
        pthread_join(threads[i], &count);
        assert_int_equal((uintptr_t)count, f.chunk_count);
    }
    ts_reader_close(reader);
    forge_close(&f);
}

// What the library's recorder writes when a trace has several index parts.
static void record_long(const char *path)
{
    const ts_session_desc desc = { .path = path, .drain = TS_DRAIN_MANUAL };
    assert_int_equal(ts_session_start(&desc), TS_OK);
    for (int i = 0; i < 2200; i++) {
        {
            TS_ZONE("outer");
            TS_ZONE("inner");
            TS_COUNTER("level", i % 10);
        }
        ts_session_flush();
    }
    assert_int_equal(ts_session_stop(), TS_OK);
}

static void check_top_track(const ts_reader *reader, size_t index)
{
    ts_top_track track;
    ts_picture_cell cell = { 0 };
    uint64_t count = 0, busy = 0;
    float low = 100, high = -1;
    int64_t end = INT64_MIN;
    assert_true(ts_reader_top(reader, index, &track));
    for (size_t i = 0; i < track.cell_count; i++) {
        assert_true(ts_reader_top_cell(reader, index, i, &cell));
        if (i) assert_int_equal(cell.start_ns, end);
        end = cell.end_ns;
        count += cell.count;
        busy += cell.busy > 0;
        if (cell.min < low) low = cell.min;
        if (cell.max > high) high = cell.max;
    }
    assert_int_equal(track.count, track.kind == TS_EVENT_ZONE ? 4400 : 2200);
    if (track.kind == TS_EVENT_ZONE) {
        assert_int_equal(count, track.count);
        assert_true(busy > 0);
    } else {
        assert_int_equal(track.kind, TS_EVENT_COUNTER);
        assert_true(low == 0 && high == 9);
    }
}

UNIT_TEST(a_recorded_top_tells_what_its_index_tells)
{
    char path[] = "/tmp/test_reader_top_XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    record_long(path);
    ts_reader_desc desc = { .path = path, .lazy = true };
    ts_reader *const top = open_desc(&desc);
    desc.lazy = false;
    ts_reader *const index = open_desc(&desc);
    assert_int_equal(ts_reader_top_count(top), 2);
    expect_same_info(top, index);
    check_top_track(top, 0);
    check_top_track(top, 1);
    assert_int_equal(ts_reader_verify(top), TS_OK);
    ts_reader_close(top);
    ts_reader_close(index);
    close(fd);
    unlink(path);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
