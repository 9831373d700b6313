// Pictures of the tracks of a chunk that has operations of several streams.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

enum { STREAMS_MAX = 200, OPERATIONS = 2000, LAUNCHES = 4 };

typedef struct card {
    uint32_t streams[STREAMS_MAX], launches[LAUNCHES];
} card;

static card define_card(uint32_t streams)
{
    card c;
    const ts_gpu_device_desc device = { .name = "card" };
    const ts_gpu_context_desc context = { .device =
                                              ts_gpu_device_define(&device) };
    const uint32_t on = ts_gpu_context_define(&context);
    for (uint32_t i = 0; i < streams; i++) {
        const ts_gpu_stream_desc stream = { .context = on, .number = i };
        c.streams[i] = ts_gpu_stream_define(&stream);
    }
    for (uint32_t i = 0; i < LAUNCHES; i++) {
        char name[16];
        snprintf(name, sizeof name, "kernel %" PRIu32, i);
        const ts_gpu_launch_desc launch = { .name = name };
        c.launches[i] = ts_gpu_launch_define(&launch);
    }
    return c;
}

// Kernels take turns on the streams; each fourth one overlaps the next of its
// stream.
static const char *record(uint32_t streams)
{
    // Nothing is drained before the stop: most lie in one chunk.
    const ts_session_desc whole = { .drain = TS_DRAIN_MANUAL,
                                    .ring_bytes = 1 << 20 };
    const char *const path = rt_start("pictures.sbt", whole);
    const card c = define_card(streams);
    const uint64_t now = ts_tick_now();
    for (uint32_t i = 0; i < OPERATIONS; i++) {
        ts_gpu_op op;
        memset(&op, 0, sizeof op);
        op.kind = TS_EVENT_KERNEL;
        op.track = c.streams[i % streams];
        op.start = now + i * 1000;
        op.end = op.start + (i % 4 ? 300 : 1500 * streams);
        op.u.kernel.launch = c.launches[i % LAUNCHES];
        ts_gpu_op_record(&op);
    }
    assert_int_equal(ts_session_stop(), TS_OK);
    return path;
}

// Ticks of a cell in which the track is busy: events are in order of start.
static double busy_of(const ts_columns *columns, uint32_t track, uint64_t from,
                      uint64_t to)
{
    uint64_t busy = 0, covered = from;
    for (uint32_t i = 0; i < columns->count; i++) {
        if (columns->tracks[i] != track) continue;
        uint64_t start = columns->start_ticks[i], end = columns->end_ticks[i];
        if (start < covered) start = covered;
        if (end > to) end = to;
        if (end <= start) continue;
        busy += end - start;
        covered = end;
    }
    return (double)busy;
}

static uint64_t count_of(const ts_columns *columns, uint32_t track)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < columns->count; i++)
        count += columns->tracks[i] == track;
    return count;
}

static void check_pictures(ts_reader *reader, const ts_chunk_info *info,
                           const ts_columns *columns,
                           const ts_track_pictures *pictures)
{
    const uint64_t first = info->header.first, last = info->header.last;
    const uint64_t width = ((last - first) / TS_LOD_CELLS + 1) *
                           (TS_LOD_CELLS / pictures->cell_count);
    uint32_t track, events, all = 0;
    ts_lod_cell cells[TS_LOD_CELLS];
    for (size_t i = 0; ts_track_picture(pictures, i, &track, &events, cells);
         i++) {
        uint64_t count = 0;
        for (uint32_t j = 0; j < pictures->cell_count; j++) {
            const uint64_t from = first + j * width;
            const double truth = busy_of(columns, track, from, from + width);
            const double busy = (double)cells[j].busy * (double)width / 65535;
            assert_true(busy <= truth + 1 &&
                        busy >= truth - 2e-3 * (double)width);
            count += cells[j].count;
            if (cells[j].count)
                assert_non_null(ts_reader_launch(reader, cells[j].id));
        }
        assert_int_equal(count, events);
        assert_int_equal(events, count_of(columns, track));
        all += events;
    }
    assert_int_equal(all, columns->count);
}

// Returns how many events have a picture of their track.
static uint64_t check_trace(uint32_t streams, uint32_t *most_cells)
{
    rt_trace trace = rt_read(record(streams));
    ts_columns columns = { 0 };
    ts_track_pictures pictures = { 0 };
    ts_chunk_info info;
    uint64_t pictured = 0, bytes = 0;
    *most_cells = 0;
    for (size_t i = 0; ts_reader_chunk(trace.reader, i, &info); i++) {
        if (info.header.kind == TS_CHUNK_PICTURES)
            bytes += 2 * sizeof info.header + info.header.stored_size;
        if (info.header.kind != TS_CHUNK_EVENTS ||
            ts_reader_track_pictures(trace.reader, i, &pictures) != TS_OK)
            continue;
        assert_int_equal(ts_reader_decode(trace.reader, i, &columns), TS_OK);
        check_pictures(trace.reader, &info, &columns, &pictures);
        pictured += columns.count;
        if (pictures.cell_count > *most_cells)
            *most_cells = pictures.cell_count;
    }
    assert_true(bytes <= pictured / 2);
    assert_int_equal(ts_reader_info(trace.reader)->unknown_chunks, 0);
    assert_int_equal(ts_reader_verify(trace.reader), TS_OK);
    ts_columns_close(trace.reader, &columns);
    ts_track_pictures_close(trace.reader, &pictures);
    rt_close(&trace);
    return pictured;
}

UNIT_TEST(few_streams_have_pictures_of_sixteen_cells)
{
    uint32_t cells;
    assert_true(check_trace(3, &cells) > OPERATIONS / 2);
    assert_int_equal(cells, 16);
}

UNIT_TEST(more_streams_have_fewer_cells)
{
    uint32_t cells;
    assert_true(check_trace(20, &cells) > OPERATIONS / 2);
    assert_true(cells > 0 && cells < 16);
}

UNIT_TEST(too_many_streams_have_no_pictures)
{
    uint32_t cells;
    assert_int_equal(check_trace(STREAMS_MAX, &cells), 0);
}

UNIT_TEST(one_stream_has_the_picture_of_the_index)
{
    uint32_t cells;
    assert_int_equal(check_trace(1, &cells), 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
