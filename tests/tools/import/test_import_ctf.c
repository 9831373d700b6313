/*
    test_import_ctf.c - CTF traces become zones and messages

    The metadata and the stream are written by hand, by the specification of
    CTF 1.8.
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#ifdef TRACESMITH_BABELTRACE
#include <babeltrace2/babeltrace.h>
#endif
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

extern const import_format import_ctf;

static const char metadata[] =
    "/* CTF 1.8 */\n"
    "typealias integer { size = 8; } := uint8_t;\n"
    "typealias integer { size = 32; } := uint32_t;\n"
    "typealias integer { size = 64; } := uint64_t;\n"
    "typealias integer { size = 64; signed = true; } := int64_t;\n"
    "typealias floating_point { exp_dig = 11; mant_dig = 53; } := double;\n"
    "clock { name = c; freq = 1000000000;\n"
    "    absolute = true; offset = 100; };\n"
    "typealias integer { size = 64; map = clock.c.value; } := when;\n"
    "trace { major = 1; minor = 8; byte_order = le;\n"
    "    packet.header := struct { uint32_t magic; uint32_t stream_id; };\n"
    "};\n"
    "stream { id = 0; packet.context := struct { uint32_t cpu_id;\n"
    "        when timestamp_begin; when timestamp_end; };\n"
    "    event.header := struct { uint8_t id; when timestamp; };\n"
    "    event.context := struct { uint32_t vpid; uint32_t vtid;\n"
    "        string procname; };\n"
    "};\n"
    "stream { id = 1; packet.context := struct { uint32_t cpu_id;\n"
    "        when timestamp_begin; when timestamp_end; };\n"
    "    event.header := struct { uint8_t id; when timestamp; };\n"
    "};\n"
    "event { name = \"syscall_entry_read\"; id = 0; stream_id = 0;\n"
    "    fields := struct { uint32_t fd; }; };\n"
    "event { name = \"syscall_exit_read\"; id = 1; stream_id = 0;\n"
    "    fields := struct { int64_t ret; }; };\n"
    "event { name = \"lttng_ust_cyg_profile_fast:func_entry\"; id = 2;\n"
    "    stream_id = 0; fields := struct { uint64_t addr; }; };\n"
    "event { name = \"lttng_ust_cyg_profile_fast:func_exit\"; id = 3;\n"
    "    stream_id = 0; };\n"
    "event { name = \"app:state\"; id = 4; stream_id = 0;\n"
    "    fields := struct { int64_t a; double b; uint8_t list[2];\n"
    "        struct { string text; } inner; }; };\n"
    "event { name = \"sched_switch\"; id = 5; stream_id = 1;\n"
    "    fields := struct { uint32_t next; }; };\n"
    "event { name = \"syscall_entry_futex\"; id = 6; stream_id = 0; };\n"
    "event { name = \"syscall_exit_futex\"; id = 7; stream_id = 0; };\n"
    "event { name = \"syscall_exit_poll\"; id = 8; stream_id = 0; };\n";

static uint8_t bytes[1024];
static size_t size;

static void put(uint64_t value, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[size++] = (uint8_t)(value >> 8 * i);
}

static void put_text(const char *text)
{
    memcpy(bytes + size, text, strlen(text) + 1);
    size += strlen(text) + 1;
}

static void begin_packet(uint32_t stream, uint32_t processor)
{
    size = 0;
    put(0xC1FC1FC1, 4);
    put(stream, 4);
    put(processor, 4);
    put(0, 8); // babeltrace2 2.1 aborts over packets without times
    put(100000, 8);
}

static void put_event(uint8_t id, uint64_t time_ns)
{
    put(id, 1);
    put(time_ns, 8);
    if (id == 5) return;
    put(7, 4);
    put(9, 4);
    put_text("app");
}

// Apart from the outputs: any file of its folder is a part of the trace.
static const char *path_of(const char *name)
{
    static char path[300];
    snprintf(path, sizeof path, "%s/ctf/%s", fixture_folder, name);
    return path;
}

static void save(const char *name, const void *from, size_t count)
{
    FILE *const out = fopen(path_of(name), "wb");
    assert_non_null(out);
    assert_int_equal(count, fwrite(from, 1, count, out));
    assert_int_equal(0, fclose(out));
}

static void save_trace(void)
{
    save("metadata", metadata, sizeof metadata - 1);
    begin_packet(0, 2);
    put_event(0, 1000);
    put(3, 4);
    put_event(2, 1010);
    put(0x401020, 8);
    put_event(4, 1020);
    put((uint64_t)-5, 8);
    put(0x3FF8000000000000, 8);
    put(1, 1);
    put(2, 1);
    put_text("x, y");
    put_event(3, 1030);
    put_event(1, 1040);
    put(0, 8);
    save("stream_0", bytes, size);
    begin_packet(1, 3);
    put_event(5, 1015);
    put(9, 4);
    save("stream_1", bytes, size);
}

#ifdef TRACESMITH_BABELTRACE
#define THREAD "process 7/thread 9 app"
#define WANTED \
    "1100+40 zone on " THREAD " site=read\n" \
    "1100+0 zone_arg on " THREAD " site=read name=args type=3 \"fd=3\"\n" \
    "1110+20 zone on " THREAD " site=0x401020\n" \
    "1110+0 zone_arg on " THREAD " site=0x401020 name=args type=3 " \
    "\"addr=4198432\"\n" \
    "1115+0 message on thread 0 CPU 3 site=sched_switch \"next=9\"\n" \
    "1120+0 message on " THREAD " site=app:state " \
    "\"a=-5, b=1.5, list=[1, 2], inner={text=x, y}\"\n"

UNIT_TEST(entries_and_exits_are_zones_and_other_events_messages)
{
    save_trace();
    import_expect(path_of("metadata"), WANTED);
}

// A tracer discards events if it is too slow.
UNIT_TEST(an_exit_without_its_entry_or_the_reverse_ends_no_other_zone)
{
    save_trace();
    begin_packet(0, 2);
    put_event(0, 100);
    put(3, 4);
    put_event(6, 200);
    put_event(8, 300);
    put_event(7, 400);
    put_event(6, 450);
    put_event(1, 500);
    put(0, 8);
    save("stream_0", bytes, size);
    begin_packet(1, 3);
    save("stream_1", bytes, size);
    import_expect(path_of("metadata"), "200+400 zone on " THREAD " site=read\n"
                                       "200+0 zone_arg on " THREAD
                                       " site=read name=args type=3 \"fd=3\"\n"
                                       "300+200 zone on " THREAD " site=futex\n"
                                       "bad end_without_begin 1\n"
                                       "bad begin_without_end 1\n");
}

UNIT_TEST(any_file_of_the_folder_stands_for_all)
{
    save_trace();
    import_expect(path_of("stream_1"), WANTED);
    imported i = import_into(path_of("stream_0"), fixture_path(1, "o"));
    assert_int_equal(2, i.job->part_count);
    assert_true(i.job->has_unix_offset);
    import_done(&i);
}

UNIT_TEST(a_stream_that_is_cut_gives_what_is_before)
{
    save_trace();
    begin_packet(1, 3);
    put_event(5, 1015);
    put(9, 4);
    put_event(5, 1016);
    put(9, 2);
    save("stream_1", bytes, size);
    imported i = import_into(path_of("metadata"), fixture_path(1, "o"));
    assert_true(i.job->is_cut);
    assert_int_equal(1, import_tallied(&i.job->bad, "unreadable_rest"));
    assert_true(i.job->rows > 0);
    import_done(&i);
}

UNIT_TEST(broken_metadata_is_refused_with_its_place)
{
    save_trace();
    save("metadata", "/* CTF 1.8 */\ntrace { minor = \n", 32);
    char *const text = import_refused(path_of("metadata"));
    assert_non_null(strstr(text, "babeltrace2 cannot read it: "));
    free(text);
}

UNIT_TEST(a_stream_without_its_metadata_is_named)
{
    save_trace();
    unlink(path_of("metadata"));
    char *const text = import_refused(path_of("stream_0"));
    assert_non_null(strstr(text, "it is a file of a CTF trace, which is a "
                                 "folder of unpacked files, one named "
                                 "metadata: import that folder\n"));
    free(text);
}

#ifdef TRACESMITH_ZLIB
UNIT_TEST(packed_metadata_names_no_other_folder)
{
    save_trace();
    gzFile out = gzopen(path_of("metadata"), "wb");
    assert_non_null(out);
    assert_true(gzwrite(out, metadata, sizeof metadata - 1) > 0);
    assert_int_equal(Z_OK, gzclose(out));
    char *const text = import_refused(path_of("metadata"));
    assert_non_null(strstr(text, "a folder of unpacked files, one named "
                                 "metadata: import that folder\n"));
    free(text);
}
#endif

// Version 2.0 of the library never comes to the end of the stream; later ones
// refuse it.
UNIT_TEST(events_without_a_bit_have_an_end)
{
    static const char endless[] =
        "/* CTF 1.8 */\n"
        "typealias integer { size = 32; } := uint32_t;\n"
        "trace { major = 1; minor = 8; byte_order = le;\n"
        "    packet.header := struct { uint32_t magic; };\n"
        "};\n"
        "stream { };\n"
        "event { name = \"nothing\"; };\n";
    save_trace();
    unlink(path_of("stream_1"));
    save("metadata", endless, sizeof endless - 1);
    save("stream_0", "\xC1\x1F\xFC\xC1....", 8);
    if (bt_version_get_minor() > 0) {
        char *const text = import_refused(path_of("metadata"));
        assert_non_null(strstr(text, "babeltrace2 cannot read it: "));
        free(text);
        return;
    }
    imported i = import_into(path_of("metadata"), fixture_path(1, "o"));
    assert_true(i.job->is_cut);
    assert_int_equal(1, import_tallied(&i.job->bad, "unreadable_rest"));
    assert_in_range(i.job->rows, 8 * (sizeof endless - 1 + 8),
                    8 * (sizeof endless - 1 + 8) + 100);
    import_done(&i);
}

UNIT_TEST(an_output_in_its_folder_is_refused)
{
    save_trace();
    save("old.sbt", TS_FILE_MAGIC "....", strlen(TS_FILE_MAGIC) + 4);
    char *const text = import_refused(path_of("metadata"));
    assert_non_null(strstr(text, "a trace (SBT) lies in the folder of the CTF "
                                 "trace: move it, and choose an output "
                                 "elsewhere\n"));
    free(text);
    unlink(path_of("old.sbt"));
}
#else
UNIT_TEST(without_babeltrace_it_is_named)
{
    save_trace();
    assert_string_equal("babeltrace2 (libbabeltrace2-dev)", import_ctf.missing);
}
#endif

static int begin(void **state)
{
    return fixture_begin(state) || mkdir(path_of(""), 0700);
}

static int end(void **state)
{
    static const char *const names[] = { "metadata", "stream_0", "stream_1" };
    for (size_t i = 0; i < 3; i++)
        unlink(path_of(names[i]));
    return rmdir(path_of("")) || fixture_end(state);
}

int main(void)
{
    return unit_run(begin, end);
}
