// Every allocation of the reader fails in turn: an error, no leak, no crash.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include <limits.h>

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

typedef struct meter {
    size_t used;  // bytes in use
    long left;    // requests that succeed; then one fails
    bool always;  // from then on all fail
    bool refused; // one has failed
} meter;

// Like realloc, but counts, and checks that old sizes are right.
static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    meter *const m = user;
    if (!new_size) {
        assert_int_equal(*((size_t *)ptr - 2), old_size);
        m->used -= old_size;
        free((size_t *)ptr - 2);
        return NULL;
    }
    if (m->left == 0 || (m->left < 0 && m->always)) {
        m->left = -1;
        m->refused = true;
        return NULL;
    }
    m->left--;
    size_t *const fresh = malloc(new_size + 16);
    if (!fresh) abort();
    *fresh = new_size;
    if (old_size) {
        assert_int_equal(*((size_t *)ptr - 2), old_size);
        memcpy(fresh + 2, ptr, old_size < new_size ? old_size : new_size);
        free((size_t *)ptr - 2);
    }
    m->used += new_size - old_size;
    return fresh + 2;
}

static void ignore(const ts_columns *columns, uint32_t thread, void *user)
{
    ++*(size_t *)user;
}

// Uses all that a reader can do. Returns the first error.
static ts_result use_all(ts_reader *reader, size_t *events)
{
    const XXH128_hash_t hash = XXH3_128bits("blob", 4);
    const uint64_t key[] = { hash.low64, hash.high64 };
    const uint32_t tracks[] = { 4, 3, 2, 1 };
    const ts_filter filter = { .tracks = tracks, .track_count = 4 };
    ts_columns columns = { 0 };
    ts_cursor *cursor;
    ts_event event;
    const void *bytes;
    size_t size, chunks = 0;
    ts_result first = TS_OK, result = ts_reader_verify(reader);
    if (first == TS_OK) first = result;
    result = ts_reader_scan(reader, NULL, 1, ignore, &chunks);
    if (first == TS_OK) first = result;
    result = ts_reader_blob(reader, key, &bytes, &size);
    if (first == TS_OK) first = result;
    result = ts_reader_decode(reader, 12, &columns);
    if (first == TS_OK) first = result;
    ts_columns_close(reader, &columns);
    result = ts_cursor_open(&cursor, reader, &filter);
    while (result == TS_OK && ts_cursor_next(cursor, &event))
        ++*events;
    if (result == TS_OK) result = ts_cursor_result(cursor);
    ts_cursor_close(cursor);
    return first == TS_OK ? result : first;
}

// Returns whether an allocation was refused.
static bool run(const forge *f, long allowed, bool always, bool damaged)
{
    meter m = { 0, allowed, always, false };
    ts_reader *reader;
    size_t events = 0;
    const ts_reader_desc desc = { .bytes = f->bytes,
                                  .size = f->size,
                                  .threads = 1,
                                  .no_index = damaged,
                                  .allocator = { metered, &m } };
    ts_result result = ts_reader_open(&reader, &desc);
    if (result == TS_OK) {
        result = use_all(reader, &events);
        if (!m.refused && !damaged) assert_int_equal(events, 103);
        ts_reader_close(reader);
    } else {
        assert_null(reader);
    }
    assert_int_equal(m.used, 0);
    if (m.refused && !damaged) assert_int_equal(result, TS_ERR_MEMORY);
    if (!m.refused) assert_int_equal(result, damaged ? TS_ERR_CORRUPT : TS_OK);
    return m.refused;
}

UNIT_TEST(every_allocation_may_fail)
{
    forge f;
    sample_forge(&f);
    for (int always = 0; always < 2; always++) {
        long allowed = 0;
        while (run(&f, allowed, always, false))
            allowed++;
        assert_true(allowed > 50);
    }
    forge_close(&f);
}

UNIT_TEST(every_allocation_may_fail_on_a_damaged_trace)
{
    forge f;
    sample_forge(&f);
    f.bytes[f.chunks[15] + 90] ^= 1;
    f.bytes[f.chunks[3] + 66] ^= 1;
    f.bytes[20] ^= 1;
    long allowed = 0;
    while (run(&f, allowed, true, true))
        allowed++;
    assert_true(allowed > 50);
    forge_close(&f);
}

// Whichever event of a cursor was the last that was asked for.
UNIT_TEST(a_cursor_may_be_closed_before_its_end)
{
    bool more = true;
    size_t wanted = 0;
    forge f;
    sample_forge(&f);
    for (; more; wanted++) {
        meter m = { 0, LONG_MAX, false, false };
        const ts_reader_desc desc = { .bytes = f.bytes,
                                      .size = f.size,
                                      .threads = 1,
                                      .allocator = { metered, &m } };
        ts_reader *reader;
        ts_cursor *cursor;
        ts_event event;
        assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
        assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
        for (size_t i = 0; i < wanted && more; i++)
            more = ts_cursor_next(cursor, &event);
        ts_cursor_close(cursor);
        ts_reader_close(reader);
        assert_int_equal(m.used, 0);
    }
    assert_true(wanted > 100);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
