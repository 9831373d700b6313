/*
    test_otf2_written.c - archives of OTF2 that a test writes with its library
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

enum { LONG = 3000, PLACES = 2 }; // LONG: bytes of a text

static OTF2_Archive *archive;
static OTF2_AttributeList *list;
static OTF2_EvtWriter *place[PLACES];

static const char *file_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/otf2/%s", fixture_folder, name);
    return path;
}

static OTF2_FlushType flush(void *user, OTF2_FileType type,
                            OTF2_LocationRef location, void *caller, bool last)
{
    return OTF2_FLUSH;
}

static OTF2_TimeStamp time_of_flush(void *user, OTF2_FileType type,
                                    OTF2_LocationRef location)
{
    return 0;
}

static const OTF2_FlushCallbacks flushes = { flush, time_of_flush };

static void remove_files(void)
{
    static const char *const files[] = { "traces.otf2",  "traces.def",
                                         "traces/0.def", "traces/0.evt",
                                         "traces/1.def", "traces/1.evt",
                                         "traces",       "" };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        remove(file_of(files[i]));
}

static void open_archive(void)
{
    remove_files();
    archive =
        OTF2_Archive_Open(file_of(""), "traces", OTF2_FILEMODE_WRITE, 1 << 20,
                          4 << 20, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    assert_non_null(archive);
    OTF2_Archive_SetFlushCallbacks(archive, &flushes, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    for (size_t i = 0; i < PLACES; i++)
        place[i] = OTF2_Archive_GetEvtWriter(archive, i);
    list = OTF2_AttributeList_New();
}

// Location 0 has region 1 as its region 0, and is 500 ticks behind.
static void write_local_definitions(void)
{
    const uint32_t regions[] = { 1 };
    OTF2_Archive_OpenDefFiles(archive);
    OTF2_DefWriter *const d = OTF2_Archive_GetDefWriter(archive, 0);
    OTF2_IdMap *const map = OTF2_IdMap_CreateFromUint32Array(1, regions, false);
    OTF2_DefWriter_WriteClockOffset(d, 0, 500, 0);
    OTF2_DefWriter_WriteClockOffset(d, 5000, 500, 0);
    OTF2_DefWriter_WriteMappingTable(d, OTF2_MAPPING_REGION, map);
    OTF2_IdMap_Free(map);
    OTF2_Archive_CloseDefWriter(archive, d);
    OTF2_Archive_CloseDefFiles(archive);
}

static void write_definitions(uint64_t offset, const uint64_t *events)
{
    static const char *const texts[] = { "",        "first",  "second", "attr",
                                         "process", "thread", "metric" };
    const OTF2_MetricMemberRef member = 0;
    char text[LONG + 1] = "";
    OTF2_GlobalDefWriter *const g = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(g, 1000000000, offset, 1 << 20,
                                              OTF2_UNDEFINED_TIMESTAMP);
    for (uint32_t i = 0; i < 7; i++)
        OTF2_GlobalDefWriter_WriteString(g, i, texts[i]);
    memset(text, 'x', 1023);
    for (size_t i = 1023; i + 2 <= LONG; i += 2)
        memcpy(text + i, "\u00e9", 3);
    OTF2_GlobalDefWriter_WriteString(g, 7, text);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(g, 0, 0, 0,
                                             OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t i = 0; i < 2; i++)
        OTF2_GlobalDefWriter_WriteRegion(g, i, i + 1, i + 1, 0,
                                         OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_USER, 0, 0, 0, 0);
    OTF2_GlobalDefWriter_WriteAttribute(g, 0, 3, 0, OTF2_TYPE_UINT64);
    OTF2_GlobalDefWriter_WriteParameter(g, 0, 3, OTF2_PARAMETER_TYPE_STRING);
    OTF2_GlobalDefWriter_WriteMetricMember(
        g, 0, 6, 0, OTF2_METRIC_TYPE_OTHER, OTF2_METRIC_ABSOLUTE_POINT,
        OTF2_TYPE_UINT64, OTF2_BASE_DECIMAL, 0, 0);
    OTF2_GlobalDefWriter_WriteMetricClass(
        g, 0, 1, &member, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_UNKNOWN);
    OTF2_GlobalDefWriter_WriteLocationGroup(g, 0, 4,
                                            OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                            OTF2_UNDEFINED_LOCATION_GROUP);
    for (uint64_t i = 0; i < PLACES; i++)
        OTF2_GlobalDefWriter_WriteLocation(
            g, i, 5, OTF2_LOCATION_TYPE_CPU_THREAD, events[i], 0);
}

static const char *close_archive(uint64_t offset)
{
    uint64_t events[PLACES];
    for (size_t i = 0; i < PLACES; i++) {
        OTF2_EvtWriter_GetNumberOfEvents(place[i], &events[i]);
        OTF2_Archive_CloseEvtWriter(archive, place[i]);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    write_local_definitions();
    write_definitions(offset, events);
    OTF2_AttributeList_Delete(list);
    assert_int_equal(OTF2_SUCCESS, OTF2_Archive_Close(archive));
    return file_of("traces.otf2");
}

// An attribute of the event that is written next.
static OTF2_AttributeList *with(uint64_t value)
{
    OTF2_AttributeList_AddUint64(list, 0, value);
    return list;
}

static void write_zones(OTF2_EvtWriter *to, uint64_t count)
{
    for (uint64_t i = 1; i <= count; i++) {
        OTF2_EvtWriter_Enter(to, NULL, i * 1000, 0);
        OTF2_EvtWriter_Leave(to, NULL, i * 1000 + 50, 0);
    }
}

static off_t size_of(const char *name)
{
    struct stat file;
    assert_int_equal(0, stat(file_of(name), &file));
    return file.st_size;
}

static void expect(const char *expected)
{
    imported i = import_into(file_of("traces.otf2"), fixture_path(1, "o"));
    char *const text = import_dump(&i);
    assert_string_equal(expected, text);
    free(text);
    import_done(&i);
}

#define ON    " zone on process 0 process/thread "
#define FIRST "1000+50" ON "1 thread site=first\n"

UNIT_TEST(numbers_and_clocks_of_a_location_are_corrected)
{
    open_archive();
    write_zones(place[0], 1);
    write_zones(place[1], 1);
    close_archive(0);
    expect(FIRST "1500+50" ON "0 thread site=second\n");
}

// Else they would have wrong names and times.
UNIT_TEST(events_without_their_corrections_are_left_out)
{
    open_archive();
    write_zones(place[0], 1);
    write_zones(place[1], 1);
    close_archive(0);
    const off_t size = size_of("traces/0.def");
    for (int parts = 3; parts >= 0; parts--) {
        assert_int_equal(0,
                         truncate(file_of("traces/0.def"), size * parts / 4));
        expect(FIRST "bad missing_event 2\n");
    }
    unlink(file_of("traces/0.def"));
    assert_int_equal(0, mkfifo(file_of("traces/0.def"), 0600));
    expect(FIRST "bad missing_event 2\n");
}

UNIT_TEST(events_that_a_cut_file_lacks_are_counted)
{
    const uint64_t zones = 500;
    open_archive();
    write_zones(place[0], zones);
    close_archive(0);
    assert_int_equal(
        0, truncate(file_of("traces/0.evt"), size_of("traces/0.evt") / 2));
    imported i = import_into(file_of("traces.otf2"), fixture_path(1, "o"));
    assert_in_range(i.job->rows, zones / 2, 2 * zones - 1);
    assert_int_equal(
        2 * zones, i.job->rows + import_tallied(&i.job->bad, "missing_event"));
    import_done(&i);
}

// The library would wait for what is written to a pipe.
UNIT_TEST(a_pipe_is_no_file_of_an_archive)
{
    open_archive();
    write_zones(place[0], 1);
    write_zones(place[1], 1);
    close_archive(0);
    unlink(file_of("traces/0.evt"));
    assert_int_equal(0, mkfifo(file_of("traces/0.evt"), 0600));
    expect(FIRST "bad missing_event 2\n");
    unlink(file_of("traces.def"));
    assert_int_equal(0, mkfifo(file_of("traces.def"), 0600));
    char *const text = import_refused(file_of("traces.otf2"));
    assert_non_null(strstr(text, "it has no file of definitions"));
    free(text);
}

UNIT_TEST(attributes_of_all_events_are_kept_or_counted)
{
    const OTF2_Type type = OTF2_TYPE_UINT64;
    const OTF2_MetricValue value = { .unsigned_int = 5 };
    open_archive();
    OTF2_EvtWriter_Enter(place[1], with(7), 1000, 0);
    OTF2_EvtWriter_MpiCollectiveEnd(place[1], with(8), 1010, 0, 0,
                                    OTF2_COLLECTIVE_ROOT_NONE, 1, 2);
    OTF2_EvtWriter_Metric(place[1], with(9), 1020, 0, 1, &type, &value);
    OTF2_EvtWriter_MpiSend(place[1], with(10), 1025, 4, 0, 3, 2);
    OTF2_EvtWriter_MpiIsendComplete(place[1], with(11), 1030, 1);
    OTF2_EvtWriter_Leave(place[1], with(12), 1050, 0);
    close_archive(0);
#define ARG "1000+0 zone_arg on process 0 process/thread 1 thread site=first "
    expect(FIRST ARG
           "name=attr type=1 value=7\n" ARG
           "name=collective type=3 \"barrier\"\n" ARG
           "name=bytes_sent type=1 value=1\n" ARG
           "name=bytes_received type=1 value=2\n" ARG
           "name=attr type=1 value=8\n" ARG "name=receiver type=1 value=4\n" ARG
           "name=tag type=1 value=3\n" ARG "name=bytes type=1 value=2\n" ARG
           "name=attr type=1 value=10\n" ARG "name=attr type=1 value=12\n"
           "1020+0 counter on process 0 process/thread 1 thread"
           "/counter 0 metric type=1 value=5\n"
           "no place attribute 2\n"
           "no place message of an unknown rank 1\n"
           "no place MpiIsendComplete 1\n");
}

// An event without a time takes its attributes with it.
UNIT_TEST(attributes_of_a_bad_event_go_to_no_other)
{
    const uint64_t offset = UINT64_C(1) << 63;
    open_archive();
    OTF2_EvtWriter_Enter(place[1], with(7), 1000, 0);
    OTF2_EvtWriter_Enter(place[1], NULL, offset + 1000, 0);
    OTF2_EvtWriter_Leave(place[1], NULL, offset + 1050, 0);
    close_archive(offset);
    expect(FIRST "bad bad_time 1\nno place attribute 1\n");
}

UNIT_TEST(unsigned_numbers_are_not_negative)
{
    const uint64_t large = UINT64_C(1) << 63;
    open_archive();
    OTF2_EvtWriter_Enter(place[1], with(large), 1000, 0);
    OTF2_EvtWriter_ParameterUnsignedInt(place[1], NULL, 1001, 0, large);
    OTF2_EvtWriter_ParameterInt(place[1], NULL, 1002, 0, -2);
    OTF2_EvtWriter_MpiSend(place[1], NULL, 1003, 4, 0, 3, large);
    OTF2_EvtWriter_Leave(place[1], with(large - 1), 1050, 0);
    close_archive(0);
#define REAL "type=2 value=4890909195324358656\n" // 2^63
    expect(FIRST ARG "name=attr " REAL ARG "name=attr " REAL ARG
                     "name=attr type=1 value=-2\n" ARG
                     "name=receiver type=1 value=4\n" ARG
                     "name=tag type=1 value=3\n" ARG "name=bytes " REAL ARG
                     "name=attr type=1 value=9223372036854775807\n"
                     "no place message of an unknown rank 1\n");
}

// Each event would write it anew.
UNIT_TEST(a_long_text_is_cut_at_a_character)
{
    char expected[4096], line[1200];
    open_archive();
    OTF2_EvtWriter_Enter(place[1], NULL, 1000, 0);
    OTF2_EvtWriter_ParameterString(place[1], NULL, 1010, 0, 7);
    OTF2_EvtWriter_ParameterString(place[1], NULL, 1020, 0, 7);
    OTF2_EvtWriter_Leave(place[1], NULL, 1050, 0);
    close_archive(0);
    const int at = snprintf(line, sizeof line, ARG "name=attr type=3 \"");
    memset(line + at, 'x', 1023);
    strcpy(line + at + 1023, "\"\n");
    snprintf(expected, sizeof expected, "%s%s%s%s", FIRST, line, line,
             "flawed long_text 2\n");
    expect(expected);
}

// Else the child would be taken for one that hangs.
UNIT_TEST(each_location_and_its_events_are_sent_as_they_are_read)
{
    const uint64_t kinds[] = { OTF2_AT, OTF2_OTHER, OTF2_OTHER, OTF2_OTHER,
                               OTF2_AT };
    const uint64_t counts[] = { 0, 4096, 4096, 1808, 1 };
    import_child child;
    otf2_record r;
    char bytes[LONG];
    size_t count = 0;
    open_archive();
    for (uint64_t i = 0; i < 10000; i++)
        OTF2_EvtWriter_MpiIsendComplete(place[0], NULL, 1000 + i, i);
    write_zones(place[1], 1);
    otf2_task task = { .path = close_archive(0) };
    assert_true(import_child_start(&child, otf2_read_archive, &task));
    while (import_child_read(&child, &r, sizeof r)) {
        assert_in_range(r.size, 0, LONG);
        assert_true(!r.size || import_child_read(&child, bytes, r.size));
        if (r.kind != OTF2_AT && r.kind != OTF2_OTHER) continue;
        assert_in_range(count, 0, 4);
        assert_int_equal(kinds[count], r.kind);
        assert_int_equal(counts[count], r.v[1]);
        count++;
    }
    assert_int_equal(5, count);
    assert_null(import_child_end(&child));
}

// What another child does after a crash.
UNIT_TEST(a_child_can_begin_at_a_location)
{
    import_child child;
    otf2_record r;
    open_archive();
    write_zones(place[0], 1);
    write_zones(place[1], 1);
    otf2_task task = { .path = close_archive(0), .first = 1 };
    assert_true(import_child_start(&child, otf2_read_archive, &task));
    const uint32_t kinds[] = { OTF2_AT, OTF2_ENTER, OTF2_LEAVE };
    for (size_t i = 0; i < 3; i++) {
        assert_true(import_child_read(&child, &r, sizeof r));
        assert_int_equal(kinds[i], r.kind);
        if (!i) assert_int_equal(1, r.v[0]);
    }
    assert_false(import_child_read(&child, &r, sizeof r));
    assert_null(import_child_end(&child));
}

static int end(void **state)
{
    remove_files();
    return fixture_end(state);
}
#else
UNIT_TEST(without_its_library_nothing_is_written)
{
    skip();
}

static int end(void **state)
{
    return fixture_end(state);
}
#endif

int main(void)
{
    return unit_run(fixture_begin, end);
}
