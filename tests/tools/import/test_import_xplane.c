/*
    test_import_xplane.c - profiles of JAX and TensorFlow become traces

    The sources are put together here from the numbers in xplane.proto.
*/
#include "tests/tools/import/import_fixture.h"
#include "tests/tools/import/import_message.h"
#include "tools/import/import.h"

static message space, plane, line, event, value, entry, inner;

static const char *write_space(size_t size)
{
    const char *const path = fixture_path(0, "made.xplane.pb");
    FILE *const out = fopen(path, "wb");
    assert_int_equal(size, fwrite(space.bytes, 1, size, out));
    fclose(out);
    return path;
}

static void expect(const char *expected)
{
    const size_t size = space.size;
    space.size = 0;
    import_expect(write_space(size), expected);
}

static void begin_line(uint64_t id, const char *name, uint64_t ns)
{
    put(&line, 1, id);
    put_text(&line, 2, name);
    put(&line, 3, ns);
}

// Behind its values, which were put.
static void end_event(uint64_t name, uint64_t from_ns, uint64_t ns)
{
    put(&event, 1, name);
    put(&event, 2, from_ns * 1000);
    if (ns) put(&event, 3, ns * 1000);
    add(&line, 4, &event);
}

static void put_value(uint64_t name, uint64_t number)
{
    put(&value, 1, name);
    put(&value, 3, number);
    add(&event, 4, &value);
}

static void put_text_value(uint64_t name, const char *text)
{
    put(&value, 1, name);
    put_text(&value, 5, text);
    add(&event, 4, &value);
}

static void define(uint32_t map, uint64_t number, const char *name,
                   const char *shown)
{
    put(&inner, 1, number);
    put_text(&inner, 2, name);
    if (shown) put_text(&inner, 4, shown);
    put(&entry, 1, number);
    add(&entry, 2, &inner);
    add(&plane, map, &entry);
}

// The names come behind the lines, as in real files.
static void end_plane(const char *name)
{
    static const char *const names[] = { "call", "fusion", "copy", "step" };
    static const char *const values[] = { "correlation_id",
                                          "kernel_details",
                                          "memcpy_details",
                                          "bytes",
                                          "_p",
                                          "_c",
                                          "device_vendor",
                                          "memset_details",
                                          "hlo_op" };
    message whole = { .size = 0 };
    for (uint64_t i = 0; i < 4; i++)
        define(4, i + 1, i == 1 ? "%fusion = f32[] fusion()" : names[i],
               i == 1 ? "fusion" : NULL);
    for (uint64_t i = 0; i < 9; i++)
        define(5, i + 1, values[i], NULL);
    put_text(&whole, 2, name);
    memcpy(whole.bytes + whole.size, plane.bytes, plane.size);
    whole.size += plane.size;
    plane.size = 0;
    add(&space, 1, &whole);
}

UNIT_TEST(kernels_find_the_thread_of_their_call)
{
    begin_line(583, "Host Threads/583", 100);
    put_value(1, 7);
    put_text_value(9, "fusion");
    end_event(1, 10, 5);
    put_value(4, 64);
    put_value(5, 3);
    end_event(4, 0, 50);
    put_value(4, 1);
    put_value(6, 3);
    end_event(4, 60, 0);
    add(&plane, 3, &line);
    end_plane("/host:CPU");
    begin_line(9, "Stream #9(Kernel)", 100);
    put_value(1, 7);
    put_text_value(2, "regs:32 static_shared:8 dynamic_shared:16 "
                      "grid:4,2,1 block:256,1,1 occ_pct:50");
    end_event(2, 20, 10);
    put_text_value(3, "kind_src:pinned kind_dst:device size:640 dest:0 "
                      "async:1 H2D");
    end_event(3, 40, 2);
    put_text_value(8, "kind:device num_bytes:32 async:1");
    end_event(3, 50, 2);
    add(&plane, 3, &line);
    put(&value, 1, 7);
    put_text(&value, 5, "AMD");
    add(&plane, 6, &value);
    end_plane("/device:GPU:1");
    put_text(&space, 4, "box");
    expect("100+50 zone on thread 583 Host Threads/583 site=step\n"
           "100+0 zone_arg on thread 583 Host Threads/583 site=step name=bytes "
           "type=1 value=64\n"
           "100+0 flow on thread 583 Host Threads/583 id=3 phase=1\n"
           "110+5 api_call on thread 583 Host Threads/583 name=call "
           "correlation=7\n"
           "120+10 kernel on device 1 GPU:1/stream 9 correlation=7 "
           "thread=thread 583 Host Threads/583 site=step "
           "launch=fusion<<<4.2.1, 256.1.1>>> r32 s8+16\n"
           "140+2 memcpy on device 1 GPU:1/stream 9 type=1 size=640\n"
           "150+2 memset on device 1 GPU:1/stream 9 size=32\n"
           "160+0 mark on thread 583 Host Threads/583 site=step\n"
           "160+0 flow on thread 583 Host Threads/583 id=3 phase=3\n"
           "no place value hlo_op 1\n"
           "no place value bytes 1\n");
}

// The body of a loop runs within it: only that is work.
UNIT_TEST(operations_of_a_tpu_are_the_innermost)
{
    begin_line(3, "XLA Ops", 0);
    end_event(4, 10, 50);
    end_event(2, 15, 10);
    end_event(3, 25, 10);
    end_event(2, 60, 10);
    add(&plane, 3, &line);
    begin_line(5, "Async XLA Ops", 0);
    end_event(3, 72, 3);
    add(&plane, 3, &line);
    begin_line(4, "XLA Modules", 0);
    end_event(4, 10, 60);
    add(&plane, 3, &line);
    end_plane("/device:TPU:0");
    begin_line(3, "XLA Ops", 0);
    end_event(2, 12, 3);
    add(&plane, 3, &line);
    end_plane("/device:TPU:0 SparseCore 1");
    expect(
        "10+50 zone on device 0 TPU:0/thread 0 XLA Ops site=step\n"
        "10+60 zone on device 0 TPU:0/thread 0 XLA Modules site=step\n"
        "12+3 kernel on device 0 TPU:0/stream 1003 SparseCore: XLA Ops "
        "launch=fusion\n"
        "15+10 kernel on device 0 TPU:0/stream 3 XLA Ops launch=fusion\n"
        "25+10 kernel on device 0 TPU:0/stream 3 XLA Ops launch=copy\n"
        "60+10 kernel on device 0 TPU:0/stream 3 XLA Ops launch=fusion\n"
        "72+3 kernel on device 0 TPU:0/stream 5 Async XLA Ops launch=copy\n");
}

// What overlaps without being within runs at the same time.
UNIT_TEST(overlapping_operations_are_all_work)
{
    static const char *const lines[] = { "XLA Ops", "Async XLA Ops" };
    for (size_t i = 0; i < 2; i++) {
        begin_line(3, lines[i], 0);
        end_event(2, 0, 1000);
        end_event(3, 500, 1000);
        end_event(2, 1200, 1000);
        add(&plane, 3, &line);
    }
    end_plane("/device:TPU:0");
    imported t = import_into(write_space(space.size), fixture_path(1, "o.sbt"));
    space.size = 0;
    assert_int_equal(6, t.job->events[TS_EVENT_KERNEL]);
    assert_int_equal(0, t.job->events[TS_EVENT_ZONE]);
    import_done(&t);
}

// One within another is work, too, where the line is of what runs beside.
UNIT_TEST(asynchronous_operations_are_all_work)
{
    begin_line(5, "Async XLA Ops", 0);
    end_event(3, 0, 100);
    end_event(3, 10, 20);
    add(&plane, 3, &line);
    end_plane("/device:TPU:0");
    expect("0+100 kernel on device 0 TPU:0/stream 5 Async XLA Ops "
           "launch=copy\n"
           "10+20 kernel on device 0 TPU:0/stream 5 Async XLA Ops "
           "launch=copy\n");
}

// A profiler may add lines to a GPU that it derives from those of streams.
UNIT_TEST(operations_beside_streams_are_no_kernels)
{
    begin_line(100, "XLA Ops", 0);
    end_event(2, 10, 5);
    add(&plane, 3, &line);
    begin_line(7, "Stream #7(Kernel)", 0);
    end_event(2, 10, 5);
    add(&plane, 3, &line);
    end_plane("/device:GPU:0");
    expect("10+5 zone on device 0 GPU:0/thread 0 XLA Ops site=fusion\n"
           "10+5 kernel on device 0 GPU:0/stream 7 launch=fusion\n");
}

UNIT_TEST(numbers_out_of_range_are_flawed)
{
    begin_line(9, "Stream #9", 0);
    put_text_value(2, "regs:18446744073709551620 grid:18446744073709551617,1,1 "
                      "block:4294967297,1,1 "
                      "static_shared:18446744073709551617");
    end_event(2, 20, 10);
    put_text_value(3, "size:18446744073709551617 H2D");
    end_event(3, 40, 2);
    add(&plane, 3, &line);
    end_plane("/device:GPU:0");
    expect("20+10 kernel on device 0 GPU:0/stream 9 launch=fusion\n"
           "40+2 memcpy on device 0 GPU:0/stream 9 type=1\n"
           "flawed bad_number 5\n");
}

UNIT_TEST(bad_events_are_counted)
{
    begin_line(1, "python", 0);
    end_event(9, 10, 5); // a name that is not there
    put(&event, 1, 1);   // a sum of events
    put(&event, 5, 3);
    add(&line, 4, &event);
    put(&event, 1, 1); // before the line
    put(&event, 2, (uint64_t)-5000);
    add(&line, 4, &event);
    put(&event, 1, 1); // beyond time
    put(&event, 2, 10);
    put(&event, 3, INT64_MAX - 5);
    add(&line, 4, &event);
    put(&value, 1, 4);
    put_bytes(&value, 6, "\0\1", 2);
    add(&event, 4, &value);
    end_event(1, 20, 5);
    add(&plane, 3, &line);
    end_plane("/host:CPU");
    put_text(&space, 2, "an error");
    expect("10+5 zone on thread 1 python site=\n"
           "20+5 zone on thread 1 python site=call\n"
           "bad broken_row 3\n"
           "flawed unknown_name 1\n"
           "no place values of bytes 1\n"
           "no place errors and warnings of the profiler 1\n");
}

// Times count from the start of the profile, which has a plane of its own.
UNIT_TEST(the_start_of_the_profile_is_its_date)
{
    static const char name[] = "profile_start_time";
    put(&value, 1, 11);
    put(&value, 3, 1779266702889805563);
    add(&plane, 6, &value);
    define(5, 11, name, NULL);
    end_plane("Task Environment");
    begin_line(1, "python", 100);
    end_event(1, 10, 5);
    add(&plane, 3, &line);
    end_plane("/host:CPU");
    const size_t size = space.size;
    space.size = 0;
    imported i = import_into(write_space(size), fixture_path(1, "out.sbt"));
    assert_true(i.job->has_unix_offset);
    assert_int_equal(1779266702889805563, i.job->unix_offset_ns);
    import_done(&i);
}

// Wherever it is cut, it is imported up to there.
UNIT_TEST(a_cut_profile_is_imported_up_to_there)
{
    for (int i = 0; i < 2; i++) {
        begin_line(1, "python", 0);
        for (uint64_t k = 0; k < 4; k++)
            end_event(1, 10 * k + 10, 5);
        add(&plane, 3, &line);
        end_plane("/host:CPU");
    }
    const size_t whole = space.size;
    uint64_t least = UINT64_MAX;
    for (size_t size = 24; size < whole; size++) {
        imported i = import_into(write_space(size), fixture_path(1, "out.sbt"));
        assert_non_null(i.reader);
        const uint64_t zones = i.job->events[TS_EVENT_ZONE];
        assert_in_range(zones, 0, 8);
        if (size == whole - 1) least = zones;
        assert_true(i.job->is_cut || size == whole / 2);
        import_done(&i);
    }
    assert_int_equal(4, least); // of the first plane, the second is cut
    space.size = 0;
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
