// Stored pictures of the tracks of a chunk: ts_reader_track_pictures.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_forge_events.h"
#include "tracesmith_replay.h"

static const uint32_t streams[] = { 7, 9 };

// Chunk 0 has pictures, which are chunk 1; chunk 2 has none.
static void forge_two(forge *f, uint32_t cells)
{
    forge_open(f, 1000);
    forge_mixed(f, streams, 1000);
    forge_pictures(f, streams, 1000, cells);
    forge_mixed(f, streams, 2000);
    forge_finish(f);
}

static ts_reader *open_forged(const forge *f)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = f->bytes,
                                  .size = f->size,
                                  .threads = 1 };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

UNIT_TEST(pictures_of_tracks_are_read)
{
    for (uint32_t count = 1; count <= 16; count *= 2) {
        forge f;
        forge_two(&f, count);
        ts_reader *const reader = open_forged(&f);
        ts_track_pictures all = { 0 };
        uint32_t track, events;
        ts_lod_cell cells[TS_LOD_CELLS];
        assert_int_equal(ts_reader_track_pictures(reader, 0, &all), TS_OK);
        assert_int_equal(all.count, 2);
        assert_int_equal(all.cell_count, count);
        for (size_t i = 0; i < 2; i++) {
            assert_true(ts_track_picture(&all, i, &track, &events, cells));
            assert_int_equal(track, streams[i]);
            assert_int_equal(events, 2);
            assert_int_equal(cells[count - 1].id, 1000 * i + count - 1);
            assert_int_equal(cells[count - 1].busy, 65535);
            assert_int_equal(cells[count - 1].count, count - 1);
        }
        assert_false(ts_track_picture(&all, 2, &track, &events, cells));
        ts_track_pictures_close(reader, &all);
        ts_reader_close(reader);
        forge_close(&f);
    }
}

UNIT_TEST(other_chunks_have_none)
{
    forge f;
    forge_two(&f, 16);
    ts_reader *const reader = open_forged(&f);
    ts_track_pictures all = { 0 };
    for (size_t i = 1; i < 5; i++)
        assert_int_equal(ts_reader_track_pictures(reader, i, &all),
                         TS_ERR_NOT_FOUND);
    ts_track_pictures_close(reader, &all);
    ts_track_pictures_close(reader, NULL);
    ts_reader_close(reader);
    forge_close(&f);
}

// Whatever of the pictures' header differs from the events', they are not those
// of the chunk; whatever contradicts itself is damage.
UNIT_TEST(wrong_pictures_are_not_used)
{
    static const struct {
        size_t offset; // in the chunk
        uint8_t value;
        ts_result result;
    } wrong[] = {
        { 5, 17, TS_ERR_NOT_FOUND }, { 20, 1, TS_ERR_NOT_FOUND },
        { 24, 1, TS_ERR_NOT_FOUND }, { 32, 1, TS_ERR_NOT_FOUND },
        { 16, 3, TS_ERR_CORRUPT },   { 64, 3, TS_ERR_CORRUPT },
        { 68, 0, TS_ERR_CORRUPT },   { 68, 3, TS_ERR_CORRUPT },
        { 68, 8, TS_ERR_CORRUPT },   { 68, 32, TS_ERR_CORRUPT },
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        forge f;
        forge_open(&f, 1000);
        forge_mixed(&f, streams, 1000);
        const size_t at = forge_pictures(&f, streams, 1000, 16);
        f.bytes[at + wrong[i].offset] = wrong[i].value;
        forge_seal(f.bytes, at);
        forge_finish(&f);
        ts_reader *const reader = open_forged(&f);
        ts_track_pictures all = { 0 };
        assert_int_equal(ts_reader_track_pictures(reader, 0, &all),
                         wrong[i].result);
        assert_int_equal(all.count, 0);
        assert_int_equal(ts_reader_damage_count(reader),
                         wrong[i].result == TS_ERR_CORRUPT);
        ts_track_pictures_close(reader, &all);
        ts_reader_close(reader);
        forge_close(&f);
    }
}

UNIT_TEST(a_short_chunk_of_pictures_is_damage)
{
    forge f;
    forge_open(&f, 1000);
    forge_mixed(&f, streams, 1000);
    forge_begin(&f, FORGE_PICTURES);
    f.next.event = 16;
    f.next.track = 0xFFFFFFFF;
    f.next.first = 1000;
    f.next.last = 1040;
    forge_number(&f.payload, 0, 4);
    forge_end(&f);
    forge_finish(&f);
    ts_reader *const reader = open_forged(&f);
    ts_track_pictures all = { 0 };
    assert_int_equal(ts_reader_track_pictures(reader, 0, &all), TS_ERR_CORRUPT);
    ts_track_pictures_close(reader, &all);
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
