/*
    test_export_otf2.c - traces as archives of OTF2, and back
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/tracesmith_tools.h"
#include "tools/export/otf2/archive.h"
#include "tools/import/import.h"

#ifdef TRACESMITH_OTF2

static ts_writer *writer;

static void put(ts_event_kind kind, uint32_t track, int64_t start_ns,
                int64_t duration_ns, const ts_writer_value *values,
                size_t count)
{
    ts_writer_event(writer, kind, track, start_ns, duration_ns, values, count);
}

static uint32_t name(const char *text)
{
    return ts_writer_name(writer, text, strlen(text));
}

static void track(uint32_t id, ts_track_type type, uint32_t parent,
                  uint64_t number, const char *text)
{
    const ts_track_entry entry = { .type = (uint8_t)type,
                                   .parent = parent,
                                   .number = number,
                                   .name = name(text) };
    ts_writer_track(writer, id, &entry);
}

static uint32_t site(const char *text, const char *category)
{
    ts_site_entry entry = { .line = 3 };
    entry.name = name(text);
    entry.category = name(category);
    entry.file = name("a.c");
    return ts_writer_site(writer, &entry);
}

static void zone(uint32_t of, int64_t start_ns, int64_t duration_ns)
{
    const ts_writer_value value = { TS_COLUMN_SITE, of };
    put(TS_EVENT_ZONE, 2, start_ns, duration_ns, &value, 1);
}

static void arg(uint32_t of, int64_t start_ns, const char *key, uint64_t value)
{
    const ts_writer_value values[] = { { TS_COLUMN_SITE, of },
                                       { TS_COLUMN_NAME, name(key) },
                                       { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, value } };
    put(TS_EVENT_ZONE_ARG, 2, start_ns, 0, values, 4);
}

static void sample(uint32_t counter, int64_t time_ns, uint64_t value)
{
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, value } };
    put(TS_EVENT_COUNTER, counter, time_ns, 0, values, 2);
}

static void put_tracks(void)
{
    track(1, TS_TRACK_PROCESS, 0, 7, "app");
    track(2, TS_TRACK_THREAD, 1, 9, "main");
    track(3, TS_TRACK_DEVICE, 0, 2, "gpu");
    track(4, TS_TRACK_CONTEXT, 3, 1, "");
    track(5, TS_TRACK_STREAM, 4, 13, "copies");
    track(6, TS_TRACK_COUNTER, 2, 0, "of a thread");
    track(7, TS_TRACK_COUNTER, 3, 0, "of a device");
    track(8, TS_TRACK_COUNTER, 0, 0, "of all");
    track(9, TS_TRACK_THREAD, 0, 0, "lane");
}

// Two zones that overlap, two at one moment, one that has no end.
static void put_zones(void)
{
    const uint32_t a = site("a", "x"), b = site("b", "");
    const ts_writer_value open[] = { { TS_COLUMN_SITE, a } };
    const ts_writer_value mark = { TS_COLUMN_SITE, b };
    zone(a, 100, 10);
    zone(b, 105, 10);
    zone(a, 120, 0);
    arg(a, 120, "n", 1);
    arg(a, 120, "n", 2);
    zone(b, 120, 9);
    arg(b, 120, "n", (uint64_t)-3);
    put(TS_EVENT_MARK, 2, 125, 0, &mark, 1);
    put(TS_EVENT_ZONE, 9, 126, 1, open, 1);
    put(TS_EVENT_ZONE_OPEN, 2, 150, 0, open, 1);
    sample(6, 101, 5);
    sample(7, 102, 6);
    sample(8, 103, 7);
}

static void put_operations(void)
{
    const ts_launch_entry launch = { .name = name("gemm"),
                                     .grid = { 4, 2, 1 },
                                     .block = { 64, 1, 1 },
                                     .registers = 40,
                                     .dynamic_shared = 512 };
    const uint32_t launched = ts_writer_launch(writer, &launch);
    const ts_writer_value call[] = { { TS_COLUMN_NAME, name("hipLaunch") },
                                     { TS_COLUMN_CORRELATION, 3 },
                                     { TS_COLUMN_RESULT, 1 } };
    const ts_writer_value kernel[] = { { TS_COLUMN_CORRELATION, 3 },
                                       { TS_COLUMN_QUEUED, 31 },
                                       { TS_COLUMN_THREAD, 2 },
                                       { TS_COLUMN_SITE, site("a", "x") },
                                       { TS_COLUMN_LAUNCH, launched } };
    const ts_writer_value copy[] = {
        { TS_COLUMN_TYPE, 5 },        { TS_COLUMN_SIZE, 4096 },
        { TS_COLUMN_SOURCE, 0x1000 }, { TS_COLUMN_ADDRESS, 0x2000 },
        { TS_COLUMN_MEMORY, 0x33 },   { TS_COLUMN_PEER, 3 }
    };
    const ts_writer_value reduce[] = { { TS_COLUMN_NAME, name("AllReduce") },
                                       { TS_COLUMN_COMMUNICATOR, 77 },
                                       { TS_COLUMN_SEQUENCE, 5 },
                                       { TS_COLUMN_SIZE, 64 },
                                       { TS_COLUMN_TYPE, 8 },
                                       { TS_COLUMN_RANKS, 4 },
                                       { TS_COLUMN_LAUNCH, launched } };
    const ts_writer_value wait[] = { { TS_COLUMN_ID, 8 },
                                     { TS_COLUMN_RECORD, 3 } };
    put(TS_EVENT_API_CALL, 2, 130, 4, call, 3);
    put(TS_EVENT_KERNEL, 5, 160, 20, kernel, 5);
    put(TS_EVENT_MEMCPY, 5, 180, 5, copy, 6);
    put(TS_EVENT_COLLECTIVE, 5, 185, 5, reduce, 7);
    put(TS_EVENT_EVENT_WAIT, 5, 190, 5, wait, 2);
    put(TS_EVENT_DEVICE_SYNC, 4, 190, 9, NULL, 0);
}

static const char *made(void)
{
    const char *const path = fixture_path(0, "made.sbt");
    const ts_writer_desc desc = { .path = path, .start_realtime_ns = 1000 };
    assert_int_equal(TS_OK, ts_writer_open(&writer, &desc));
    put_tracks();
    put_zones();
    put_operations();
    assert_int_equal(TS_OK, ts_writer_close(writer));
    return path;
}

static ts_result export_to(const char *folder, ts_export_counts *counts,
                           ts_error *error)
{
    const ts_export_desc desc = { .path = made(),
                                  .output = { .path = folder },
                                  .format = "otf2" };
    return ts_export_file(counts, &desc, error);
}

static const char *folder(void)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/out.otf2", fixture_folder);
    return path;
}

static void remove_folder(void)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", folder());
    assert_int_equal(0, system(command));
}

UNIT_TEST(what_is_exported_is_imported_again)
{
    char anchor[320];
    ts_export_counts counts;
    ts_error error;
    assert_int_equal(TS_OK, export_to(folder(), &counts, &error));
    assert_string_equal("otf2", counts.format);
    assert_int_equal(12, counts.slices);
    assert_int_equal(3, counts.samples);
    assert_int_equal(8, counts.lanes);
    assert_in_range(counts.bytes, 1000, 10000);
    snprintf(anchor, sizeof anchor, "%s/traces.otf2", folder());
    import_expect_text(anchor, "tests/tools/export/otf2.txt");
    remove_folder();
}

static void keep_message(void *user, const char *text)
{
    snprintf(user, 300, "%s", text);
}

UNIT_TEST(slices_of_which_too_many_overlap_are_counted)
{
    char said[300] = "";
    const ts_writer_desc made_of = { .path = fixture_path(0, "many.sbt") };
    const ts_export_desc desc = { .path = made_of.path,
                                  .output = { .path = folder() },
                                  .observer = { said, keep_message, NULL } };
    ts_export_counts counts;
    ts_error error;
    assert_int_equal(TS_OK, ts_writer_open(&writer, &made_of));
    put_tracks();
    for (int64_t i = 0; i < 260; i++)
        zone(site("a", ""), i, 1000);
    assert_int_equal(TS_OK, ts_writer_close(writer));
    assert_int_equal(TS_OK, ts_export_file(&counts, &desc, &error));
    assert_int_equal(256, counts.lanes);
    assert_non_null(strstr(said, "4 events that otf2 has no place for are left "
                                 "out: 4 zone"));
    remove_folder();
}

UNIT_TEST(an_archive_is_a_new_folder)
{
    ts_export_counts counts;
    ts_error error;
    assert_int_equal(TS_OK, export_to(folder(), &counts, &error));
    assert_int_equal(TS_ERR_IO, export_to(folder(), &counts, &error));
    assert_non_null(strstr(error.text,
                           "is there already: an archive of OTF2 is a new "
                           "folder, or an empty one"));
    remove_folder();
    assert_int_equal(0, mkdir(folder(), 0700));
    assert_int_equal(TS_OK, export_to(folder(), &counts, &error));
    remove_folder();
}

UNIT_TEST(a_folder_that_cannot_be_made_is_said)
{
    ts_export_counts counts;
    ts_error error;
    char path[320];
    snprintf(path, sizeof path, "%s/x", made());
    assert_int_equal(TS_ERR_IO, export_to(path, &counts, &error));
    assert_non_null(
        strstr(error.text, "the archive cannot be written, or not to its end"));
}
#else
UNIT_TEST(without_its_library_nothing_is_written)
{
    const otf2_export desc = { 0 };
    export_counts counts;
    bool failed = false;
    assert_false(export_has_otf2);
    assert_int_equal(TS_ERR_UNSUPPORTED, export_otf2(&desc, &counts, &failed));
    assert_true(failed);
}
#endif

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
