// Rows of ts-view that are drawn from stored pictures, with few events.
#define _GNU_SOURCE
#define VIEW_COARSE 10
#include "tools/view/rows.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_forge_events.h"

enum { CHUNKS = 4, ROWS = 8, START = 1000, CHUNK_NS = 1000000 };

static void forge_chunk_of_zones(forge *f, uint64_t number)
{
    forge_zone zones[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        const uint64_t from = START + number * CHUNK_NS + i * CHUNK_NS / ROWS;
        zones[i] = (forge_zone){ from, from + 1000, 1 };
    }
    forge_zones(f, 2, FORGE_PACK, zones, ROWS);
}

// A part of the index is behind the first `pictured` chunks; there is no end.
static view open_unfinished(forge *f, size_t pictured)
{
    forge_open(f, START);
    forge_name(f, 1, "zone");
    forge_track(f, 2, 2, 0, 1, 0);
    for (size_t i = 0; i < CHUNKS; i++) {
        if (i == pictured) forge_index(f);
        forge_chunk_of_zones(f, i);
    }
    view v = { .trace = { .path = "forged" },
               .kinds = TS_FILTER(ZONE),
               .from_ns = 0,
               .to_ns = (int64_t)CHUNKS * CHUNK_NS };
    const ts_reader_desc desc = { .bytes = f->bytes, .size = f->size };
    assert_int_equal(ts_reader_open(&v.trace.reader, &desc), TS_OK);
    v.trace.info = ts_reader_info(v.trace.reader);
    assert_false(v.trace.info->indexed);
    view_tracks_load(&v);
    return v;
}

static uint64_t events_counted(view *v, bool *coarse)
{
    view_rows rows;
    uint64_t count = 0;
    view_rows_collect(&rows, v, 4);
    for (size_t i = 0; i < rows.count; i++)
        count += rows.rows[i].count;
    *coarse = rows.coarse;
    view_rows_free(&rows);
    return count;
}

static void close_view(view *v, forge *f)
{
    cli_map_close(&v->track_index);
    free(v->tracks);
    free(v->track_selected);
    free(v->track_twin);
    ts_reader_close(v->trace.reader);
    forge_close(f);
}

// Cells of forged pictures count 0 + 1 + ... + 15 events.
UNIT_TEST(an_unfinished_trace_is_drawn_from_the_pictures_it_has)
{
    forge f;
    bool coarse;
    view v = open_unfinished(&f, 3);
    assert_int_equal(events_counted(&v, &coarse), 3 * 120 + ROWS);
    assert_true(coarse);
    close_view(&v, &f);
}

UNIT_TEST(with_few_pictures_all_events_are_read)
{
    forge f;
    bool coarse;
    view v = open_unfinished(&f, 1);
    assert_int_equal(events_counted(&v, &coarse), CHUNKS * ROWS);
    assert_false(coarse);
    close_view(&v, &f);
}

// 1 ms of kernels in one chunk of two streams: the picture of each counts 120
// events, and there are four.
static uint64_t streams_counted(size_t pictures)
{
    static const uint32_t streams[] = { 3, 4 };
    forge f;
    bool coarse;
    forge_open(&f, START);
    for (uint64_t i = 0; i < CHUNKS; i++) {
        forge_mixed(&f, streams, START + i * CHUNK_NS);
        if (i < pictures) forge_pictures(&f, streams, START + i * CHUNK_NS, 16);
    }
    forge_finish(&f);
    view v = { .trace = { .path = "forged" },
               .kinds = TS_FILTER(KERNEL),
               .to_ns = (int64_t)CHUNKS * CHUNK_NS };
    const ts_reader_desc desc = { .bytes = f.bytes, .size = f.size };
    assert_int_equal(ts_reader_open(&v.trace.reader, &desc), TS_OK);
    v.trace.info = ts_reader_info(v.trace.reader);
    view_tracks_load(&v);
    const uint64_t count = events_counted(&v, &coarse);
    assert_true(coarse);
    close_view(&v, &f);
    return count;
}

UNIT_TEST(streams_are_drawn_from_pictures_of_tracks)
{
    assert_int_equal(streams_counted(0), CHUNKS * 4);
    assert_int_equal(streams_counted(CHUNKS), CHUNKS * 240);
    assert_int_equal(streams_counted(1), 240 + (CHUNKS - 1) * 4);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
