/*
    test_import_xctrace.c - tables of Instruments become traces
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/xctrace/xctrace.h"
#include <fcntl.h>

static const char *save(const char *bytes, size_t size)
{
    const char *const path = fixture_path(0, "tables.xml");
    FILE *const out = fopen(path, "wb");
    assert_int_equal(size, fwrite(bytes, 1, size, out));
    fclose(out);
    return path;
}

#define COLUMN(name) "<col><mnemonic>" name "</mnemonic><name>N</name></col>"
#define TABLES(nodes) \
    "<?xml version=\"1.0\"?>\n<!-- a comment --><trace-query-result>" nodes \
    "</trace-query-result>"
#define INTERVALS(rows) \
    "<node xpath='x'><schema name=\"metal-gpu-intervals\">" COLUMN("start") \
        COLUMN("duration") COLUMN("channel-name") COLUMN("event-depth") \
            COLUMN("event-label") COLUMN("state") COLUMN("process") \
                COLUMN("cmdbuffer-id") "</schema>" rows "</node>"
#define FIRST \
    "<row><start-time id=\"1\" fmt=\"t\">5000</start-time><duration " \
    "id=\"2\">200</duration><gpu-channel-name id=\"3\" " \
    "fmt=\"Compute\">Compute</gpu-channel-name><sentinel/><formatted-label " \
    "id=\"4\" fmt=\"b:c ( app (7) )\"><string " \
    "id=\"5\">b:&#99;&lt;&gt;</string><process id=\"6\" fmt=\"app (7)\"><pid " \
    "id=\"7\">7</pid></process></formatted-label><state id=\"8\" " \
    "fmt=\"Active\">Active</state><process ref=\"6\"/><id>40</id></row>"
#define NEXT(start, depth, state) \
    "<row><start-time>" start "</start-time><duration ref=\"2\"/><channel " \
    "ref=\"3\"/><depth>" depth "</depth><label ref=\"4\"/><state>" state \
    "</state><process ref=\"6\"/><id>41</id></row>"

static void expect(const char *text, const char *expected)
{
    import_expect(save(text, strlen(text)), expected);
}

UNIT_TEST(intervals_are_kernels_of_their_process_and_channel)
{
    expect(TABLES(INTERVALS(FIRST NEXT("6000", "0", "Active") NEXT(
               "6050", "1", "Active") NEXT("9000", "0", "Idle"))),
           "5000+200 kernel on device 0/stream 0 Compute, app (7) "
           "correlation=40 launch=b:c<>\n"
           "6000+200 kernel on device 0/stream 0 Compute, app (7) "
           "correlation=41 launch=b:c<>\n"
           "6050+200 zone on device 0/thread 0 inside intervals site=b:c<>\n"
           "no place intervals of no work 1\n");
}

#define PLACE COLUMN("process") COLUMN("cmdbuffer-id")
#define SUBMITTED \
    "\"metal-application-command-buffer-submissions\">" COLUMN("start") PLACE
#define SUBMISSIONS(rows) \
    "<node><schema name=" SUBMITTED "</schema>" rows "</node>"

UNIT_TEST(submissions_are_calls_of_their_command_buffers)
{
    static const char row[] =
        TABLES(SUBMISSIONS("<row><a>70</a><b><pid>7</pid></b><c>9</c></row>"));
    expect(row, "70+0 api_call on process 7/thread 0 command buffers "
                "name=commit correlation=9\n");
}

UNIT_TEST(values_without_their_meaning_are_counted)
{
    expect(TABLES("<node><schema name=\"os-signpost-interval\">" COLUMN("start")
                      COLUMN("duration") COLUMN("name") "</schema>"
                                                        "<row><a/><b>1</b>"
                                                        "<c>x</c></row>"
                                                        "<row><a>1</a><b>-1"
                                                        "</b></row>"
                                                        "<row><a>7</a><b>1"
                                                        "</b><c ref=\"5\"/>"
                                                        "</row></node>"
                                                        "<node><schema "
                                                        "name=\"other\"/>"
                                                        "<row/><row/></node>"),
           "7+1 zone on thread 0 signposts site=\n"
           "bad no_time 1\nbad no_duration 1\n"
           "flawed unknown_reference 1\nno place other 2\n");
}

UNIT_TEST(without_a_known_table_it_is_refused)
{
    static const char bytes[] =
        TABLES("<node><schema name=\"other\"/><row/></node>");
    char *const said = import_refused(save(bytes, sizeof bytes - 1));
    assert_non_null(strstr(said, "none of its tables is imported: export "
                                 "metal-gpu-intervals, time-profile or others "
                                 "that the manual of ts-import lists"));
    free(said);
}

UNIT_TEST(every_truncation_and_every_changed_byte_is_read_to_an_end)
{
    static const char whole[] =
        TABLES(INTERVALS(FIRST NEXT("6000", "0", "Active")));
    const int said = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    assert_true(said >= 0 && dup2(null, STDERR_FILENO) == STDERR_FILENO);
    for (size_t i = 60; i < 2 * (sizeof whole - 1); i++) {
        char bytes[sizeof whole];
        const bool is_cut = i < sizeof whole - 1;
        const size_t at = is_cut ? i : i - (sizeof whole - 1);
        memcpy(bytes, whole, sizeof whole);
        if (!is_cut && at < 60) continue; // it has to be recognised
        if (!is_cut) bytes[at] ^= (char)(1 + at % 255);
        const char *const path = save(bytes, is_cut ? at : sizeof whole - 1);
        imported r = import_into(path, fixture_path(1, "o"));
        assert_true(!is_cut || !r.reader || r.job->is_cut);
        import_done(&r);
    }
    dup2(said, STDERR_FILENO);
    close(said);
    close(null);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
