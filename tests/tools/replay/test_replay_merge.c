/*
    test_replay_merge.c - ts-replay -o: several traces become one
*/
#define _GNU_SOURCE // mkdtemp
#define TRACESMITH_WRITER
#include "tools/replay/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "tests/unit.h"

enum { UNDEFINED = 6 };

static char folder[] = "/tmp/ts-merge-XXXXXX";
static char paths[2][64], merged[64];

static int make_paths(void **state)
{
    if (!mkdtemp(folder)) return -1;
    for (int i = 0; i < 2; i++)
        snprintf(paths[i], sizeof paths[i], "%s/%d.sbt", folder, i);
    snprintf(merged, sizeof merged, "%s/merged.sbt", folder);
    return 0;
}

static int remove_paths(void **state)
{
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    unlink(merged);
    return rmdir(folder);
}

// A device, a stream and a thread: tracks 1 to 3. Merged, they are the same
// and 4 their process; the second file's are those after what the first does
// not define, 5.
static void put_tracks(ts_writer *w)
{
    const ts_track_entry device = { .type = TS_TRACK_DEVICE };
    const ts_track_entry stream = { .type = TS_TRACK_STREAM, .parent = 1 };
    const ts_track_entry thread = { .type = TS_TRACK_THREAD };
    ts_writer_track(w, 1, &device);
    ts_writer_track(w, 2, &stream);
    ts_writer_track(w, 3, &thread);
}

static void put_trace(const char *path, uint32_t mark_track)
{
    const ts_writer_desc desc = { .path = path,
                                  .session = { path == paths[1], 1 } };
    const ts_writer_value id = { TS_COLUMN_ID, 7 };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w);
    ts_writer_event(w, TS_EVENT_EVENT_RECORD, 2, 1000, 0, &id, 1);
    ts_writer_event(w, TS_EVENT_FLOW, 3, 1000, 0, &id, 1);
    ts_writer_event(w, TS_EVENT_MARK, mark_track, 1000, 0, NULL, 0);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static void merge(void)
{
    const cli_tool tool = { .name = "test" };
    char *names[] = { paths[0], paths[1] };
    replay_job job = { .tool = &tool };
    const ts_replay_desc desc = { 0 };
    assert_true(replay_files_open(&job, names, 2));
    assert_int_equal(TS_OK, replay_open(&job, desc));
    assert_int_equal(TS_OK, replay_run(&job, 0));
    assert_true(replay_write(&job, merged));
    ts_replay_close(job.replay);
    replay_files_close(&job);
}

// Ids or tracks of all events of a kind, in order of time, up to `most`.
static size_t read_values(ts_event_kind kind, bool ids, uint64_t *values,
                          size_t most)
{
    const ts_reader_desc desc = { .path = merged };
    ts_reader *reader;
    ts_chunk_info info;
    ts_columns columns = { 0 };
    size_t count = 0;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &desc));
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS || info.header.event != kind)
            continue;
        assert_int_equal(TS_OK, ts_reader_decode(reader, i, &columns));
        ts_event event = { .kind = columns.kind, .columns = &columns };
        for (uint32_t k = 0; k < columns.count && count < most; k++) {
            event.row = k;
            values[count++] = ids ? ts_event_value(&event, TS_COLUMN_ID)
                              : columns.tracks ? columns.tracks[k]
                                               : columns.track;
        }
    }
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    return count;
}

UNIT_TEST(ids_of_two_files_stay_separate)
{
    const ts_event_kind kinds[] = { TS_EVENT_EVENT_RECORD, TS_EVENT_FLOW };
    put_trace(paths[0], 3);
    put_trace(paths[1], 3);
    merge();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        uint64_t ids[4] = { 0 };
        assert_int_equal(2, read_values(kinds[i], true, ids, 4));
        assert_true(ids[0] && ids[1]);
        assert_true(ids[0] != ids[1]);
    }
}

UNIT_TEST(an_undefined_track_is_no_track_of_another_file)
{
    uint64_t tracks[4];
    put_trace(paths[0], UNDEFINED);
    put_trace(paths[1], 3);
    merge();
    assert_int_equal(2, read_values(TS_EVENT_MARK, false, tracks, 4));
    for (int i = 0; i < 2; i++)
        assert_true(tracks[i] == 5 || tracks[i] == 8);
    assert_true(tracks[0] != tracks[1]);
}

int main(void)
{
    return unit_run(make_paths, remove_paths);
}
