/*
    test_merge.c - ts-merge: several traces become one on one clock
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/merge/merge.h"

#include "tests/tools/merge/merge_forge.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

static const char *const ab[] = { "a.sbt", "b.sbt", "c.sbt" };

static void make_two(const made *a, const made *b)
{
    make(a);
    make(b);
}

// Values of a column of all events of a kind, in order of time.
static size_t values_of(ts_reader *reader, ts_event_kind kind, ts_column column,
                        uint64_t values[8])
{
    const ts_filter filter = { .kinds = UINT64_C(1) << kind };
    ts_cursor *cursor;
    ts_event event;
    size_t count = 0;
    assert_int_equal(TS_OK, ts_cursor_open(&cursor, reader, &filter));
    while (ts_cursor_next(cursor, &event) && count < 8)
        values[count++] = column == TS_COLUMN_START ? (uint64_t)event.start_ns
                          : column == TS_COLUMN_TRACK
                              ? event.track
                              : ts_event_value(&event, column);
    ts_cursor_close(cursor);
    return count;
}

static uint64_t number_of(ts_reader *reader, uint32_t track, const char *key)
{
    ts_metadata m;
    return ts_reader_metadata(reader, track, key, &m) ? (uint64_t)m.number
                                                      : UINT64_MAX;
}

static ts_text text_of(ts_reader *reader, uint32_t track, const char *key)
{
    ts_metadata m;
    const ts_text none = { "", 0 };
    return ts_reader_metadata(reader, track, key, &m) ? m.text : none;
}

/* ---- Clocks -------------------------------------------------------------- */

UNIT_TEST(collectives_end_together)
{
    const made a = { .name = "a.sbt", .rank = 0, .collective = 1000 };
    const made b = { .name = "b.sbt", .rank = 1, .collective = 1400 };
    uint64_t starts[8];
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    assert_int_equal(MERGE_COLLECTIVES, job.files[1].how);
    assert_int_equal(-400, job.files[1].offset_ns);
    assert_int_equal(1, job.files[1].matched);
    assert_int_equal(0, job.files[1].residual_ns);
    merge_close(&job);
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(
        2, values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_START, starts));
    assert_int_equal(-200, starts[0]);
    assert_int_equal(200, starts[1]);
    ts_reader_close(reader);
}

// Of one boot of one machine: neither the time of day nor collectives matter.
UNIT_TEST(the_clock_of_a_machine_is_exact)
{
    const made a = { "a.sbt", "h", "boot-1", 0, 5000000, 70000, 1000, 0, 0 };
    const made b = { "b.sbt", "h", "boot-1", 1, 5009999, 70123, 1400, 0, 0 };
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    assert_int_equal(MERGE_CLOCK, job.files[1].how);
    assert_int_equal(123, job.files[1].offset_ns);
    merge_close(&job);
    uint64_t raw_ns, boottime_ns;
    ts_reader *const reader = open_name("out.sbt");
    assert_true(ts_reader_boot(reader, &raw_ns, &boottime_ns));
    assert_int_equal(70000, raw_ns);
    ts_reader_close(reader);
}

UNIT_TEST(another_boot_is_another_clock)
{
    const made a = { "a.sbt", "h", "boot-1", 0, 5000000, 70000, 0, 0, 0 };
    const made b = { "b.sbt", "h", "boot-2", 1, 5009999, 70123, 0, 0, 0 };
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    assert_int_equal(MERGE_DATE, job.files[1].how);
    assert_int_equal(9999, job.files[1].offset_ns);
    merge_close(&job);
}

// b and c are of one machine; only b has a collective with a.
UNIT_TEST(files_of_a_machine_move_together)
{
    const made a = { "a.sbt", "x", "boot-1", 0, 0, 50, 1000, 0, 0 };
    const made b = { "b.sbt", "y", "boot-2", 1, 0, 900, 1400, 0, 0 };
    const made c = { "c.sbt", "y", "boot-2", 2, 0, 950, 0, 0, 0 };
    make_two(&a, &b);
    make(&c);
    merge_job job = merge_names("out.sbt", ab, 3, NULL, false);
    assert_int_equal(-400, job.files[1].offset_ns);
    assert_int_equal(-350, job.files[2].offset_ns);
    assert_int_equal(MERGE_COLLECTIVES, job.files[2].how);
    merge_close(&job);
    const cli_list given = { { "b.sbt=2us" }, 1 };
    job = merge_names("out.sbt", ab, 3, &given, false);
    assert_int_equal(2000, job.files[1].offset_ns);
    assert_int_equal(2050, job.files[2].offset_ns);
    assert_int_equal(MERGE_GIVEN, job.files[2].how);
    merge_close(&job);
}

UNIT_TEST(what_nothing_ties_begins_at_0)
{
    const made a = { .name = "a.sbt", .rank = -1 };
    const made b = { .name = "b.sbt", .rank = -1, .date_ns = 5 };
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    assert_int_equal(MERGE_NOTHING, job.files[1].how);
    assert_int_equal(0, job.files[1].offset_ns);
    merge_close(&job);
}

// Merges a.sbt, b.sbt and c.sbt; gives what is said of that.
static const char *said_of(const cli_list *offsets)
{
    static char text[2048];
    FILE *const keep = stderr;
    stderr = tmpfile();
    merge_job job = merge_names("out.sbt", ab, 3, offsets, false);
    merge_close(&job);
    rewind(stderr);
    text[fread(text, 1, sizeof text - 1, stderr)] = 0;
    fclose(stderr);
    stderr = keep;
    return text;
}

// Each lasts 400 ns: a and b overlap, c does with neither but once.
UNIT_TEST(recordings_of_other_times_are_reported)
{
    static const struct {
        uint64_t date_ns;
        const char *said;
    } wanted[] = {
        { 6600, NULL }, // overlaps with b alone
        { 9000, "the recordings are 2.300 us apart" },
        { UINT64_C(94608000000000000), "are 1,094 days apart" },
    };
    make_two(&(made){ .name = "a.sbt", .rank = -1, .date_ns = 6000 },
             &(made){ .name = "b.sbt", .rank = -1, .date_ns = 6300 });
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        make(&(made){
            .name = "c.sbt", .rank = -1, .date_ns = wanted[i].date_ns });
        const char *const said = said_of(NULL);
        if (wanted[i].said)
            assert_non_null(strstr(said, wanted[i].said));
        else
            assert_string_equal("", said);
    }
    // What is given by hand is believed.
    const cli_list given = { { "c.sbt=2s" }, 1 };
    assert_string_equal("", said_of(&given));
}

/* ---- Numbers ------------------------------------------------------------- */

UNIT_TEST(ids_of_processes_never_collide)
{
    const made a = { .name = "a.sbt", .rank = 0, .collective = 1000 };
    const made b = { .name = "b.sbt", .rank = 1, .collective = 1000 };
    const struct {
        ts_event_kind kind;
        ts_column column;
        uint64_t value;
    } ids[] = {
        { TS_EVENT_API_CALL, TS_COLUMN_CORRELATION, 5 },
        { TS_EVENT_KERNEL, TS_COLUMN_CORRELATION, 5 },
        { TS_EVENT_FLOW, TS_COLUMN_ID, 9 },
        { TS_EVENT_EVENT_RECORD, TS_COLUMN_ID, 9 },
    };
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    merge_close(&job);
    ts_reader *reader = open_name("out.sbt");
    uint64_t v[8];
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        assert_int_equal(2, values_of(reader, ids[i].kind, ids[i].column, v));
        assert_true(v[0] == ids[i].value);
        assert_true(v[1] == (ids[i].value | UINT64_C(1) << 48));
    }
    // What they have in common stays so.
    values_of(reader, TS_EVENT_COLLECTIVE, TS_COLUMN_COMMUNICATOR, v);
    assert_true(v[0] == 1 && v[1] == 1);
    ts_reader_close(reader);
    job = merge_names("out.sbt", ab, 2, NULL, true);
    merge_close(&job);
    reader = open_name("out.sbt");
    values_of(reader, TS_EVENT_FLOW, TS_COLUMN_ID, v);
    assert_true(v[0] == 9 && v[1] == 9);
    values_of(reader, TS_EVENT_EVENT_RECORD, TS_COLUMN_ID, v);
    assert_true(v[0] != v[1]);
    ts_reader_close(reader);
}

// Processes 1 and 5; the second file's has to be made: it is 9.
UNIT_TEST(facts_and_losses_stay_with_their_process)
{
    const made a = { "a.sbt", "x", NULL, 0, 0, 0, 1000, 0, true };
    const made b = { "b.sbt", "y", NULL, 1, 0, 0, 1400, true, true };
    ts_track track;
    ts_loss_row row;
    uint64_t tracks[8];
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    merge_close(&job);
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(UINT64_MAX, number_of(reader, 0, "rank"));
    assert_int_equal(3, text_of(reader, 0, "app").size); // common
    values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_TRACK, tracks);
    for (uint32_t i = 0; i < 2; i++) {
        assert_true(ts_reader_track(reader, (uint32_t)tracks[!i], &track));
        while (track.parent)
            assert_true(ts_reader_track(reader, track.parent, &track));
        assert_int_equal(TS_TRACK_PROCESS, track.type);
        assert_int_equal(77, track.number);
        assert_int_equal(i, number_of(reader, track.id, "rank"));
        assert_int_equal(i, number_of(reader, track.id, "merge.part"));
        assert_memory_equal(ab[i], text_of(reader, track.id, "of").text, 5);
        assert_memory_equal(i ? "rank 1: b.sbt on y" : "rank 0: app on x",
                            track.name.text, track.name.size);
        assert_true(ts_reader_loss(reader, 2 * i, &row));
        assert_true(row.track == track.id || row.cause == TS_LOSS_RING_FULL);
        assert_int_equal(i ? -390 : 10, row.first_ns);
    }
    assert_int_equal(8, ts_reader_info(reader)->lost);
    assert_int_equal(4, ts_reader_loss_count(reader));
    ts_reader_close(reader);
}

static uint64_t digest_of(ts_reader *const *readers, size_t count,
                          ts_replay_stats *stats)
{
    const ts_replay_desc desc = { .more = readers + 1,
                                  .more_count = count - 1 };
    ts_replay *replay;
    assert_int_equal(TS_OK, ts_replay_open(&replay, readers[0], &desc));
    assert_int_equal(TS_OK, ts_replay_run(replay, NULL));
    *stats = *ts_replay_result(replay);
    ts_replay_close(replay);
    assert_int_equal(0, stats->different);
    return stats->digest;
}

UNIT_TEST(it_replays_as_the_files_do_jointly)
{
    const made a = { .name = "a.sbt", .rank = 0, .collective = 1000 };
    const made b = { .name = "b.sbt", .rank = 1, .collective = 1400 };
    const made c = { .name = "c.sbt", .rank = 2, .date_ns = 4 };
    ts_replay_stats joint, merged;
    ts_reader *readers[3];
    make_two(&a, &b);
    make(&c);
    for (int i = 0; i < 3; i++)
        readers[i] = open_name(ab[i]);
    digest_of(readers, 3, &joint);
    for (int i = 0; i < 3; i++)
        ts_reader_close(readers[i]);
    merge_job job = merge_names("out.sbt", ab, 3, NULL, false);
    merge_close(&job);
    readers[0] = open_name("out.sbt");
    digest_of(readers, 1, &merged);
    ts_reader_close(readers[0]);
    assert_memory_equal(&joint, &merged, sizeof joint); // every figure
    assert_int_equal(1, merged.rendezvous);
}

UNIT_TEST(a_merge_of_merges_is_the_merge_of_all)
{
    const made a = { "a.sbt", "x", "boot", 0, 0, 1000, 1000, 0, 0 };
    const made b = { "b.sbt", "x", "boot", 1, 0, 1030, 970, 0, 0 };
    const made c = { "c.sbt", "y", "boot", 2, 0, 1090, 0, 0, 0 };
    const char *const again[] = { "ab.sbt", "c.sbt" };
    ts_replay_stats once, twice;
    uint64_t v[8];
    make_two(&a, &b);
    make(&c);
    merge_job job = merge_names("abc.sbt", ab, 3, NULL, false);
    merge_close(&job);
    job = merge_names("ab.sbt", ab, 2, NULL, false);
    merge_close(&job);
    job = merge_names("again.sbt", again, 2, NULL, false);
    assert_int_equal(2, job.files[0].parts);
    assert_int_equal(MERGE_CLOCK, job.files[1].how);
    merge_close(&job);
    ts_reader *const x = open_name("abc.sbt"), *const y =
                                                   open_name("again.sbt");
    assert_int_equal(digest_of(&x, 1, &once), digest_of(&y, 1, &twice));
    assert_int_equal(3, values_of(y, TS_EVENT_FLOW, TS_COLUMN_ID, v));
    for (uint64_t i = 0; i < 3; i++)
        assert_true(v[i] == (9 | i << 48));
    ts_reader_close(x);
    ts_reader_close(y);
}

UNIT_TEST(one_trace_keeps_its_numbers)
{
    const made a = { .name = "a.sbt", .rank = 3, .collective = 1000 };
    uint64_t v[8];
    make(&a);
    merge_job job = merge_names("out.sbt", ab, 1, NULL, false);
    assert_int_equal(7, job.files[0].counts.kept);
    merge_close(&job);
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(3, number_of(reader, 0, "rank"));
    values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_TRACK, v);
    assert_int_equal(STREAM, v[0]);
    values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_QUEUED, v);
    assert_int_equal(101, v[0]);
    ts_reader_close(reader);
}

// What the metadata of a hostile file claims.
UNIT_TEST(parts_that_cannot_be_are_none)
{
    const int64_t parts[] = { -1, 4, 40000, INT64_MAX };
    const ts_track_entry process = { .type = TS_TRACK_PROCESS };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const ts_writer_desc desc = { .path = path_of("odd.sbt") };
        ts_writer *w;
        assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
        ts_writer_track(w, PROCESS, &process);
        copy_note_number(w, PROCESS, "merge.part", parts[i]);
        assert_int_equal(TS_OK, ts_writer_close(w));
        ts_reader *const reader = open_name("odd.sbt");
        assert_int_equal(1, copy_part_count(reader));
        ts_reader_close(reader);
    }
}

// Tracks that are their own parents, and parts of which there is no process:
// a replay ends all the same, with everything in it.
UNIT_TEST(a_replay_of_hostile_parts_ends)
{
    const made a = { .name = "a.sbt", .rank = 0, .collective = 1000 };
    const ts_writer_desc desc = { .path = path_of("odd.sbt") };
    ts_replay_stats stats;
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &a);
    for (uint32_t id = 10; id < 40; id++) {
        const ts_track_entry loop = { .type = TS_TRACK_STREAM,
                                      .parent = id < 39 ? id + 1 : 10 };
        ts_writer_track(w, id, &loop);
        copy_note_number(w, id, "merge.part", id - 8);
        ts_writer_event(w, TS_EVENT_KERNEL, id, 100, 50, NULL, 0);
    }
    put_host(w);
    put_device(w, &a);
    assert_int_equal(TS_OK, ts_writer_close(w));
    ts_reader *const reader = open_name("odd.sbt");
    digest_of(&reader, 1, &stats);
    assert_int_equal(33, stats.operations);
    ts_reader_close(reader);
    const char *const odd[] = { "odd.sbt", "a.sbt" };
    make(&a);
    merge_job job = merge_names("out.sbt", odd, 2, NULL, false);
    merge_close(&job);
    ts_reader *const merged = open_name("out.sbt");
    digest_of(&merged, 1, &stats);
    assert_int_equal(36, stats.operations);
    ts_reader_close(merged);
}

/* ---- Files --------------------------------------------------------------- */

UNIT_TEST(a_full_disk_leaves_what_was_there)
{
    const made a = { .name = "a.sbt", .rank = 0 };
    const made b = { .name = "b.sbt", .rank = 1 };
    struct rlimit limit, tight;
    char *paths[] = { path_of("a.sbt"), path_of("b.sbt") };
    merge_job job = { .tool = &test_tool, .out = path_of("kept.sbt") };
    make_two(&a, &b);
    struct stat before, after;
    const made kept = { .name = "kept.sbt", .rank = 7 };
    make(&kept);
    assert_int_equal(0, stat(job.out, &before));
    assert_true(merge_open(&job, paths, 2) && merge_place(&job));
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    tight = limit;
    tight.rlim_cur = 2000;
    setrlimit(RLIMIT_FSIZE, &tight);
    assert_false(merge_write(&job));
    setrlimit(RLIMIT_FSIZE, &limit);
    merge_close(&job);
    assert_int_equal(0, stat(path_of("kept.sbt"), &after));
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_not_equal(0, access(path_of("kept.sbt.part"), F_OK));
}

UNIT_TEST(nothing_is_written_over_what_is_read)
{
    const made a = { .name = "a.sbt", .rank = 0 };
    char *paths[] = { path_of("a.sbt"), path_of("a.sbt") };
    make(&a);
    merge_job job = { .tool = &test_tool, .out = path_of("a.sbt") };
    assert_false(merge_open(&job, paths, 1));
    merge_close(&job);
    merge_job twice = { .tool = &test_tool, .out = path_of("out.sbt") };
    assert_false(merge_open(&twice, paths, 2));
    merge_close(&twice);
}

// Processes and threads are those of the file it joins; what else it has is its
// own, and so are its ids.
UNIT_TEST(files_of_a_process_share_its_tracks)
{
    const made a = { "a.sbt", "h", "boot-1", 0, 5000000, 70000, 0, 0, 0 };
    const made b = { "b.sbt", "h", "boot-1", 0, 5000000, 70123, 0, 0, 0 };
    uint64_t calls[8], correlations[8], kernels[8];
    char *paths[] = { path_of("a.sbt"), path_of("b.sbt") };
    merge_job job = { .tool = &test_tool, .out = path_of("out.sbt") };
    make_two(&a, &b);
    assert_true(merge_open(&job, paths, 2));
    job.files[1].joins = 1;
    assert_true(merge_place(&job));
    assert_true(merge_write(&job));
    merge_close(&job);
    ts_reader *const reader = open_name("out.sbt");
    // Twice a process, a thread, a device and a stream, less two.
    assert_int_equal(6, ts_reader_info(reader)->track_count);
    assert_int_equal(
        2, values_of(reader, TS_EVENT_API_CALL, TS_COLUMN_TRACK, calls));
    assert_int_equal(calls[0], calls[1]);
    values_of(reader, TS_EVENT_API_CALL, TS_COLUMN_CORRELATION, correlations);
    assert_int_not_equal(correlations[0], correlations[1]);
    assert_int_equal(
        2, values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_TRACK, kernels));
    assert_int_not_equal(kernels[0], kernels[1]);
    ts_reader_close(reader);
}

// Both read the same clock, so that the same reading of it is the same time,
// wherever the first of them lies on the axis of all.
UNIT_TEST(files_of_a_process_share_its_clock)
{
    const made first = { "a.sbt", "h", "boot-1", 0, 0, 60000, 0, 0, 0 };
    const made app = { "b.sbt", "h", "boot-1", 0, 0, 70000, 0, 0, 0 };
    const made other = { "c.sbt", "h", "boot-1", 0, 0, 70123, 0, 0, 0 };
    uint64_t starts[8];
    char *paths[] = { path_of("a.sbt"), path_of("b.sbt"), path_of("c.sbt") };
    merge_job job = { .tool = &test_tool, .out = path_of("out.sbt") };
    make(&first);
    make_two(&app, &other);
    assert_true(merge_open(&job, paths, 3));
    job.files[2].joins = 2;
    assert_true(merge_place(&job));
    assert_true(merge_write(&job));
    merge_close(&job);
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(
        3, values_of(reader, TS_EVENT_KERNEL, TS_COLUMN_START, starts));
    assert_int_equal(200, starts[0]);
    assert_int_equal(10200, starts[1]);
    assert_int_equal(10200, starts[2]);
    ts_reader_close(reader);
}

// What a child made by fork writes: its own process, and its parent's, in which
// it did nothing.
static void make_child(const char *boot)
{
    const ts_writer_desc desc = { .path = path_of("child.sbt"),
                                  .start_raw_ns = 71000,
                                  .start_boottime_ns = 71000,
                                  .session = "child",
                                  .process = 99 };
    const ts_track_entry tracks[] = {
        { .type = TS_TRACK_PROCESS, .number = 77 },
        { .type = TS_TRACK_PROCESS, .number = 99 },
        { .type = TS_TRACK_THREAD, .parent = 2, .number = 99 },
    };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    for (uint32_t i = 0; i < 3; i++)
        ts_writer_track(w, i + 1, &tracks[i]);
    copy_note_text(w, 0, "host", "h");
    copy_note_text(w, 0, "boot_id", boot);
    ts_writer_event_text(w, TS_EVENT_MESSAGE, 3, 130, 0, NULL, 0, "hello", 5);
    assert_int_equal(TS_OK, ts_writer_close(w));
}

UNIT_TEST(a_child_has_no_second_track_of_its_parent)
{
    const made a = { "a.sbt", "h", "boot-1", 0, 0, 70000, 0, 0, 0 };
    const char *const names[] = { "a.sbt", "child.sbt" };
    make(&a);
    for (int other = 0; other < 2; other++) {
        make_child(other ? "boot-2" : "boot-1");
        merge_job job = merge_names("out.sbt", names, 2, NULL, false);
        merge_close(&job);
        ts_reader *const reader = open_name("out.sbt");
        uint32_t of_parent = 0, processes = 0;
        ts_track track;
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
            processes += track.type == TS_TRACK_PROCESS;
            of_parent += track.type == TS_TRACK_PROCESS && track.number == 77;
        }
        // Of another machine it is another process.
        assert_int_equal(other ? 3 : 2, processes);
        assert_int_equal(other ? 2 : 1, of_parent);
        ts_reader_close(reader);
    }
}

UNIT_TEST(blobs_of_all_files_are_kept)
{
    const made a = { .name = "a.sbt", .rank = -1 };
    const made b = { .name = "b.sbt", .rank = -1 };
    make_two(&a, &b);
    merge_job job = merge_names("out.sbt", ab, 2, NULL, false);
    merge_close(&job);
    ts_reader *const out = open_name("out.sbt");
    for (int i = 0; i < 2; i++) {
        ts_reader *const in = open_name(ab[i]);
        uint64_t hash[2];
        const void *bytes;
        size_t size;
        assert_true(ts_reader_blob_at(in, 0, hash));
        assert_int_equal(TS_OK, ts_reader_blob(out, hash, &bytes, &size));
        assert_int_equal(5, size);
        assert_memory_equal(ab[i], bytes, size);
        ts_reader_close(in);
    }
    ts_reader_close(out);
}

int main(void)
{
    return unit_run(folder_begin, folder_end);
}
