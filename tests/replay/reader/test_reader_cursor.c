// The order of a cursor, and its filters.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_storm.h"

typedef struct placed { // an event and where it was recorded
    ts_event event;
    size_t chunk;
    int64_t end;
} placed;

static int compare(const void *x, const void *y)
{
    const placed *const a = x, *const b = y;
#define BY(field) \
    if (a->field != b->field) return a->field < b->field ? -1 : 1
    BY(event.start_ns);
    BY(event.track);
    if (a->event.duration_ns != b->event.duration_ns)
        return a->event.duration_ns > b->event.duration_ns ? -1 : 1;
    BY(event.kind);
    BY(chunk);
    BY(event.row);
#undef BY
    return 0;
}

// Every event in the order that the header promises, found the slow way.
static placed *sorted_events(ts_reader *reader, size_t *count)
{
    placed *const all = calloc(CHUNKS * ROWS, sizeof *all);
    ts_columns columns = { 0 };
    *count = 0;
    for (size_t i = 0; i < ts_reader_chunk_count(reader); i++) {
        if (ts_reader_decode(reader, i, &columns) != TS_OK) continue;
        for (uint32_t row = 0; row < columns.count; row++) {
            placed *const one = &all[(*count)++];
            one->event.kind = columns.kind;
            one->event.track =
                columns.tracks ? columns.tracks[row] : columns.track;
            one->event.start_ns = columns.start_ns[row];
            one->event.duration_ns = columns.duration_ns[row];
            one->event.row = row;
            one->chunk = i;
            one->end = one->event.start_ns + one->event.duration_ns;
        }
    }
    ts_columns_close(reader, &columns);
    qsort(all, *count, sizeof *all, compare);
    return all;
}

static bool wanted(const placed *one, const ts_filter *filter)
{
    bool track = !filter->tracks;
    for (size_t i = 0; i < filter->track_count; i++)
        track |= filter->tracks[i] == one->event.track;
    if (!track) return false;
    if (filter->kinds && !(filter->kinds >> one->event.kind & 1)) return false;
    if (!filter->from_ns && !filter->to_ns) return true;
    const bool moment = one->event.duration_ns == 0;
    return one->event.start_ns < filter->to_ns &&
           (one->end > filter->from_ns ||
            (moment && one->event.start_ns == filter->from_ns));
}

static void check_cursor(ts_reader *reader, const ts_filter *filter)
{
    size_t count, at = 0, seen = 0;
    ts_cursor *cursor;
    ts_event event;
    placed *const all = sorted_events(reader, &count);
    assert_int_equal(count, CHUNKS * ROWS);
    assert_int_equal(ts_cursor_open(&cursor, reader, filter), TS_OK);
    while (ts_cursor_next(cursor, &event)) {
        while (at < count && !wanted(&all[at], filter))
            at++;
        assert_true(at < count);
        const placed *const one = &all[at++];
        assert_int_equal(event.start_ns, one->event.start_ns);
        assert_int_equal(event.duration_ns, one->event.duration_ns);
        assert_int_equal(event.track, one->event.track);
        assert_int_equal(event.kind, one->event.kind);
        assert_int_equal(event.columns->chunk, one->chunk);
        assert_int_equal(event.row, one->event.row);
        seen++;
    }
    for (; at < count; at++)
        assert_false(wanted(&all[at], filter));
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    assert_false(ts_cursor_next(cursor, &event)); // stays at the end
    assert_true(seen > 0);
    ts_cursor_close(cursor);
    free(all);
}

UNIT_TEST(a_cursor_keeps_the_promised_order)
{
    forge f;
    storm_forge(&f);
    ts_reader *const reader = storm_open(&f);
    const ts_filter everything = { 0 };
    check_cursor(reader, &everything);
    ts_reader_close(reader);
    forge_close(&f);
}

// Enough rows for the radix sort, over a range of several digits.
UNIT_TEST(a_large_chunk_is_put_in_order_too)
{
    enum { MANY = 5000 };
    static uint64_t starts[MANY], tracks[MANY];
    for (int spread = 0; spread <= 40; spread += 8) {
        forge f;
        for (uint32_t row = 0; row < MANY; row++) {
            starts[row] = 1000 + roll((UINT64_C(1) << spread) + 9);
            tracks[row] = 1 + roll(3);
        }
        forge_open(&f, 1000);
        forge_events(&f, 4, 0xFFFFFFFF, MANY, 1000, UINT64_C(1) << 41);
        forge_column(&f, 1, FORGE_PACK, FORGE_PLAIN, starts);
        forge_column(&f, 7, FORGE_PACK, FORGE_PLAIN, tracks);
        forge_events_end(&f);
        ts_reader *const reader = storm_open(&f);
        rows all = rows_of(reader, NULL);
        assert_int_equal(all.count, MANY);
        uint64_t sum = 0, wanted = 0;
        for (uint32_t i = 0; i < MANY; i++) {
            sum += all.rows[i].ticks * all.rows[i].track;
            wanted += starts[i] * tracks[i];
            if (i == 0) continue;
            const rows_row *const a = &all.rows[i - 1], *const b = a + 1;
            assert_true(a->start_ns < b->start_ns ||
                        (a->start_ns == b->start_ns && a->track <= b->track));
        }
        assert_int_equal(sum, wanted);
        rows_close(&all);
        ts_reader_close(reader);
        forge_close(&f);
    }
}

UNIT_TEST(a_filter_gives_what_it_says)
{
    const uint32_t tracks[] = { 3, 1, 99 };
    const ts_filter filters[] = {
        { .kinds = TS_FILTER(KERNEL) },
        { .kinds = TS_FILTER(MARK) | TS_FILTER(FLOW) },
        { .tracks = tracks, .track_count = 3 },
        { .tracks = tracks, .track_count = 1 },
        { .from_ns = 100, .to_ns = 300 },
        { .from_ns = 150, .to_ns = 151 },
        { .from_ns = -5, .to_ns = 30 },
        { .kinds = TS_FILTER(API_CALL),
          .tracks = tracks,
          .track_count = 2,
          .from_ns = 300,
          .to_ns = 800 },
    };
    forge f;
    storm_forge(&f);
    ts_reader *const reader = storm_open(&f);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
        check_cursor(reader, &filters[i]);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(a_filter_that_matches_nothing_gives_nothing)
{
    const uint32_t none = 0;
    const ts_filter filters[] = {
        { .tracks = &none, .track_count = 0 },
        { .kinds = TS_FILTER(GPU_FREE) },
        { .from_ns = 5, .to_ns = 5 },
        { .from_ns = 1000000, .to_ns = 2000000 },
    };
    forge f;
    storm_forge(&f);
    ts_reader *const reader = storm_open(&f);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        ts_cursor *cursor;
        ts_event event;
        assert_int_equal(ts_cursor_open(&cursor, reader, &filters[i]), TS_OK);
        assert_false(ts_cursor_next(cursor, &event));
        ts_cursor_close(cursor);
    }
    ts_reader_close(reader);
    forge_close(&f);
}

// Zones of the same time: the one around comes first.
UNIT_TEST(a_zone_comes_before_those_inside_it)
{
    const forge_zone zones[] = {
        { 1000, 1000, 3 },
        { 1000, 1000, 2 },
        { 1000, 1010, 1 },
    };
    forge f;
    forge_open(&f, 1000);
    forge_zones(&f, 2, FORGE_PACK, zones, 3);
    ts_reader *const reader = storm_open(&f);
    ts_cursor *cursor;
    ts_event event;
    assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
    for (uint64_t site = 1; site <= 3; site++) {
        assert_true(ts_cursor_next(cursor, &event));
        assert_int_equal(ts_event_value(&event, TS_COLUMN_SITE), site);
    }
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(a_damaged_chunk_is_skipped_and_reported_at_the_end)
{
    forge f;
    storm_forge(&f);
    f.bytes[f.chunks[20] + 100] ^= 1;
    ts_reader *const reader = storm_open(&f);
    ts_cursor *cursor;
    ts_event event;
    size_t count = 0;
    assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
    while (ts_cursor_next(cursor, &event))
        count++;
    assert_int_equal(count, (CHUNKS - 1) * ROWS);
    assert_int_equal(ts_cursor_result(cursor), TS_ERR_CORRUPT);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    ts_cursor_close(cursor);
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
