/*
    test_import_kineto.c - PyTorch profiler JSON becomes traces

    What a file of tests/tools/import/kineto/ becomes stands beside it as text;
    UPDATE=1 rewrites that. Where the file is damaged, only the rows that it
    hit may be missing.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"

#ifdef TRACESMITH_YAJL

static void expect(const char *name)
{
    import_expect_file("tests/tools/import/kineto", name);
}

UNIT_TEST(an_end_of_a_row_that_is_too_deep_ends_no_other_one)
{
    enum { DEEPEST = 4096, BEYOND = 2, ROWS = DEEPEST + BEYOND };
    FILE *const out = fopen(fixture_path(0, "deep"), "wb");
    assert_non_null(out);
    fputs("{\"traceEvents\": [", out);
    for (int i = 0; i < 2 * ROWS; i++)
        fprintf(out,
                "%s{\"ph\": \"%c\", \"pid\": 1, \"tid\": 5, \"ts\": %d, "
                "\"cat\": \"cpu_op\", \"name\": \"f\"}",
                i ? "," : "", i < ROWS ? 'B' : 'E', 1000 + i);
    fputs("]}", out);
    assert_int_equal(0, fclose(out));
    imported i = import_into(fixture_path(0, "deep"), fixture_path(1, "o"));
    assert_int_equal(DEEPEST, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(0, i.job->events[TS_EVENT_ZONE_OPEN]);
    assert_int_equal(BEYOND, import_tallied(&i.job->bad, "too_much_begun"));
    assert_int_equal(BEYOND, i.job->bad.total);
    assert_int_equal(INT64_C(1000) * (2 * ROWS - 1),
                     i.job->last_ns - i.job->first_ns);
    import_done(&i);
}

// Tasks of Ascend's NPUs and events of MTIA are operations of devices.
UNIT_TEST(other_accelerators_are_devices)
{
    expect("ascend");
}

UNIT_TEST(kernels_come_with_launch_call_thread_and_zone)
{
    expect("kernel");
}

UNIT_TEST(copies_and_memsets_come_with_size_and_kinds_of_memory)
{
    expect("copy");
}

UNIT_TEST(what_waits_and_what_it_waits_for_is_kept)
{
    expect("sync");
}

UNIT_TEST(records_with_times_of_the_device_are_no_estimates)
{
    expect("record");
}

UNIT_TEST(a_record_that_no_call_shows_comes_just_before_its_wait)
{
    expect("unrecorded");
}

UNIT_TEST(collectives_know_group_size_and_elements)
{
    expect("collective");
}

UNIT_TEST(zones_keep_their_arguments_and_their_nesting)
{
    expect("zone");
}

UNIT_TEST(memory_counters_and_flows_have_their_places)
{
    expect("memory");
}

UNIT_TEST(times_are_exact_whatever_they_are_written_like)
{
    expect("time");
}

UNIT_TEST(rows_that_make_no_sense_are_counted_by_cause)
{
    expect("bad");
}

UNIT_TEST(hip_numbers_its_default_stream_0)
{
    expect("hip");
}

/* ---- What a file says about itself -------------------------------------- */

static void expect_number(const imported *i, uint32_t track, const char *key,
                          int64_t number)
{
    ts_metadata m;
    assert_true(ts_reader_metadata(i->reader, track, key, &m));
    assert_int_equal(TS_VALUE_INT, m.type);
    assert_int_equal(number, m.number);
}

UNIT_TEST(files_tell_about_ranks_and_themselves)
{
    imported i = import_into("tests/tools/import/kineto/file.json",
                             fixture_path(1, "out.sbt"));
    ts_metadata m;
    assert_int_equal(3, i.job->rank);
    assert_int_equal(4, i.job->world_size);
    assert_int_equal(1700000000001000500,
                     ts_reader_info(i.reader)->start_realtime_ns);
    expect_number(&i, 0, "rank", 3);
    expect_number(&i, 0, "world_size", 4);
    expect_number(&i, 0, "with_stack", 1);
    assert_true(ts_reader_metadata(i.reader, 0, "process_groups", &m));
    assert_memory_equal("[{\"pg_name\":\"0\"}]", m.text.text, m.text.size);
    assert_true(ts_reader_metadata(i.reader, 0, "more.x", &m));
    assert_int_equal(TS_VALUE_DOUBLE, m.type);
    assert_false(i.job->is_cut);
    import_done(&i);
}

UNIT_TEST(devices_threads_and_streams_have_names_and_facts)
{
    imported i = import_into("tests/tools/import/kineto/file.json",
                             fixture_path(1, "out.sbt"));
    static const char *const names[] = { "",      "python", "main",
                                         "GPU A", "",       "stream 7" };
    ts_track track;
    int seen = 0;
    for (size_t k = 0; ts_reader_track_at(i.reader, k, &track); k++) {
        const char *const name = names[track.type];
        assert_int_equal(strlen(name), track.name.size);
        assert_memory_equal(name, track.name.text, track.name.size);
        seen |= 1 << track.type;
        if (track.type == TS_TRACK_THREAD)
            expect_number(&i, track.id, "sort_index", 12);
        if (track.type != TS_TRACK_DEVICE) continue;
        expect_number(&i, track.id, "memory_bytes", 1000);
        expect_number(&i, track.id, "multiprocessors", 8);
        expect_number(&i, track.id, "compute_major", 9);
    }
    assert_int_equal(62, seen); // one of each type
    assert_int_equal(1, import_tallied(&i.job->bad, "device_without_id"));
    import_done(&i);
}

/* ---- Damage ------------------------------------------------------------- */

UNIT_TEST(damage_costs_the_rows_that_it_hit)
{
    expect("broken");
}

UNIT_TEST(an_open_list_of_events_is_a_file)
{
    expect("array");
    imported i = import_into("tests/tools/import/kineto/array.json",
                             fixture_path(1, "out.sbt"));
    assert_false(i.job->is_cut);
    import_done(&i);
}

UNIT_TEST(a_comma_may_follow_the_last_event)
{
    expect("comma");
    imported i = import_into("tests/tools/import/kineto/comma.json",
                             fixture_path(1, "out.sbt"));
    assert_false(i.job->is_cut);
    import_done(&i);
}

UNIT_TEST(all_phases_of_chrome_are_imported_or_named)
{
    expect("chrome");
}

// A label such as the title of a page makes no device of a process.
UNIT_TEST(processes_of_chrome_have_names_labels_and_facts)
{
    imported i = import_into("tests/tools/import/kineto/chrome.json",
                             fixture_path(1, "out.sbt"));
    ts_track track;
    ts_metadata m;
    size_t at = 0;
    while (ts_reader_track_at(i.reader, at, &track) &&
           (track.type != TS_TRACK_PROCESS || track.number != 1))
        at++;
    assert_int_equal(8, track.name.size);
    assert_memory_equal("Renderer", track.name.text, 8);
    assert_true(ts_reader_metadata(i.reader, track.id, "labels", &m));
    assert_memory_equal("a page", m.text.text, m.text.size);
    assert_true(ts_reader_metadata(i.reader, track.id, "version.node", &m));
    assert_memory_equal("20.1", m.text.text, m.text.size);
    import_done(&i);
}

UNIT_TEST(broken_metadata_does_not_cost_the_events)
{
    expect("metadata");
}

UNIT_TEST(a_cut_file_is_said_to_be_one)
{
    expect("cut");
    imported i = import_into("tests/tools/import/kineto/cut.json",
                             fixture_path(1, "out.sbt"));
    assert_true(i.job->is_cut);
    import_done(&i);
}

static uint64_t import_bytes_of(const char *text, size_t size, uint64_t *bad)
{
    const char *const path = fixture_path(0, "part");
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(size, fwrite(text, 1, size, out));
    fclose(out);
    imported i = import_into(path, fixture_path(1, "out.sbt"));
    const uint64_t zones = i.job->events[TS_EVENT_ZONE];
    *bad = i.job->bad.total + i.job->flawed.total;
    import_done(&i);
    return zones;
}

UNIT_TEST(every_prefix_of_a_file_gives_its_whole_rows)
{
    char *const text = fixture_text("tests/tools/import/kineto/zone.json");
    const size_t size = strlen(text);
    uint64_t last = 0, bad;
    for (size_t n = 40; n <= size; n++) {
        const uint64_t zones = import_bytes_of(text, n, &bad);
        assert_in_range(zones, last, last + 1);
        last = zones;
    }
    assert_int_equal(6, last);
    free(text);
}

// Blocks end anywhere: rows broken in many places of a long file.
UNIT_TEST(rows_around_broken_ones_arrive_across_all_blocks)
{
    enum { ROWS = 40000, EACH = 200, BREAK = 997 };
    char *const text = malloc((size_t)ROWS * EACH + 100);
    assert_non_null(text);
    size_t size = (size_t)sprintf(text, "{\"traceEvents\": [");
    uint64_t broken = 0, bad;
    for (int i = 0; i < ROWS; i++) {
        const bool is_broken = i % BREAK == 500;
        broken += is_broken;
        size += (size_t)sprintf(
            text + size,
            "%s\n{\"ph\": \"X\", \"cat\": \"c\", \"name\": \"row %d\", "
            "\"pid\": 1, \"tid\": 2, \"ts\": %d, %s \"dur\": 1}",
            i ? "," : "", i, i + 1, is_broken ? "\"a\": [}" : "");
    }
    size += (size_t)sprintf(text + size, "]}");
    assert_int_equal(ROWS - broken, import_bytes_of(text, size, &bad));
    assert_int_equal(broken, bad);
    free(text);
}

// A string that does not end for megabytes, then rows again.
UNIT_TEST(a_string_of_megabytes_does_not_cost_the_rest)
{
    const size_t much = 40 << 20;
    char *const text = malloc(much + 1000);
    assert_non_null(text);
    uint64_t bad;
    size_t size = (size_t)sprintf(text, "{\"traceEvents\": [{\"ph\": \"");
    memset(text + size, 'x', much);
    size += much;
    size += (size_t)sprintf(
        text + size, ",\n{\"ph\": \"X\", \"cat\": \"c\", \"name\": \"row\", "
                     "\"pid\": 1, \"tid\": 2, \"ts\": 5, \"dur\": 1}]}");
    assert_int_equal(1, import_bytes_of(text, size, &bad));
    assert_int_equal(1, bad);
    free(text);
}

/* ---- Real ones ---------------------------------------------------------- */

UNIT_TEST(traces_of_real_programs_replay_exactly)
{
    static const struct {
        const char *name;
        uint64_t count;
    } files[] = {
        { "kineto/alexnet.json.gz", 159 },
        { "kineto/simple_add.json.gz", 159 },
        { "kineto/event_sync_multi_stream.json.gz", 14 },
        { "kineto/b200_eager_pdl.json.gz", 929 },
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        imported one = import_into(fixture_data(files[i].name),
                                   fixture_path(1, "out.sbt"));
        assert_int_equal(0, one.job->bad.total);
        import_replays_exactly(&one, files[i].count);
        import_done(&one);
    }
}

// A file of rows by format: # is the number of the row, ' a quotation mark.
static const char *save_rows(const char *name, int count, const char *format)
{
    const char *const path = fixture_path(0, name);
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    fputs("{\"traceEvents\": [", out);
    for (int i = 0; i < count; i++) {
        char row[600];
        size_t at = 0;
        for (const char *c = format; *c; c++) {
            if (*c == '#')
                at += (size_t)snprintf(row + at, sizeof row - at, "%d", i + 1);
            else
                row[at++] = *c == '\'' ? '"' : *c;
        }
        fprintf(out, "%s%.*s", i ? ",\n" : "", (int)at, row);
    }
    fputs("]}", out);
    fclose(out);
    return path;
}

UNIT_TEST(more_names_than_counters_are_counted_as_others)
{
    imported i = import_into(
        save_rows("names.json", 300,
                  "{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, "
                  "'tid': 7, 'ts': #, 'dur': 1, 'args': {'device': 0, "
                  "'stream': 7, 'odd #': 1}}"),
        fixture_path(1, "names.sbt"));
    const import_tally *const unowned = &i.job->unowned;
    assert_int_equal(300, i.job->events[TS_EVENT_KERNEL]);
    assert_int_equal(IMPORT_COUNTERS, unowned->count);
    assert_int_equal(300, unowned->total);
    assert_int_equal(300 - IMPORT_COUNTERS + 1,
                     import_tallied(unowned, "others"));
    import_done(&i);
}

#define CALL_AND_KERNEL(correlation) \
    "{'ph': 'X', 'cat': 'cuda_runtime', 'name': 'call', 'pid': 1, 'tid': 1, " \
    "'ts': #, 'dur': 0.5, 'args': {'correlation': " correlation "}}," \
    "{'ph': 'X', 'cat': 'kernel', 'name': 'k', 'pid': 0, 'tid': 7, 'ts': #, " \
    "'dur': 0.5, 'args': {'device': 0, 'stream': 7, " \
    "'correlation': " correlation "}}"

// Work that grew with the square of their number would not be done before the
// check gives up.
UNIT_TEST(calls_and_operations_may_all_share_one_correlation)
{
    const char *const path =
        save_rows("same.json", 300000, CALL_AND_KERNEL("5"));
    imported i = import_into(path, fixture_path(1, "same.sbt"));
    assert_int_equal(300000, i.job->events[TS_EVENT_KERNEL]);
    import_done(&i);
}

UNIT_TEST(zones_that_ended_lend_nothing_to_what_comes_later)
{
    expect("ended");
}

UNIT_TEST(numbers_with_an_exponent_are_reals)
{
    expect("real");
    imported i = import_into("tests/tools/import/kineto/real.json",
                             fixture_path(1, "real.sbt"));
    ts_metadata m;
    bool found = false;
    for (size_t k = 0; ts_reader_metadata_at(i.reader, k, &m); k++) {
        if (m.key.size != 5 || memcmp(m.key.text, "clock", 5)) continue;
        assert_int_equal(TS_VALUE_DOUBLE, m.type);
        assert_true(m.real == 2e-3);
        found = true;
    }
    assert_true(found);
    import_done(&i);
}

UNIT_TEST(a_first_time_that_is_broken_costs_only_its_row)
{
    expect("first");
}

UNIT_TEST(beginnings_and_ends_make_zones_calls_kernels_and_spans)
{
    expect("pairs");
}

UNIT_TEST(a_time_at_the_end_of_all_time_costs_only_its_row)
{
    expect("far");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}

#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("yajl")

#endif
