/*
    test_import_perfetto.c - Perfetto's protobuf traces become traces

    The sources are put together here, field by field, from the numbers in
    perfetto's protos/perfetto/trace/.
*/
#include "tests/tools/import/import_fixture.h"
#include "tests/tools/import/import_message.h"
#include "tools/import/import.h"
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif

/* ---- Packets ------------------------------------------------------------ */

static message trace, packet, event, part, inner;

static void end_packet(uint32_t sequence)
{
    put(&packet, 10, sequence);
    add(&trace, 1, &packet);
}

static void end_event(uint32_t sequence, uint64_t time)
{
    put(&packet, 8, time);
    add(&packet, 11, &event);
    end_packet(sequence);
}

static void begin_event(uint32_t type, uint64_t track)
{
    put(&event, 9, type);
    if (track) put(&event, 11, track);
}

static void define(uint32_t field, uint64_t number, const char *text)
{
    put(&part, 1, number);
    put_text(&part, 2, text);
    add(&inner, field, &part);
}

// Clock 64 of sequence 1 counts differences from `boot_ns`.
static void put_head(uint64_t boot_ns)
{
    trace.size = 0;
    put(&packet, 13, 1);
    put(&inner, 1, 64);
    put(&inner, 2, 0);
    put(&inner, 3, 1);
    add(&part, 1, &inner);
    put(&inner, 1, 6);
    put(&inner, 2, boot_ns);
    add(&part, 1, &inner);
    put(&inner, 1, 1);
    put(&inner, 2, 1700000000000000000 + boot_ns);
    add(&part, 1, &inner);
    add(&packet, 6, &part);
    put(&part, 58, 64);
    put(&inner, 11, 2);
    put(&inner, 31, 5);
    add(&part, 11, &inner);
    add(&packet, 59, &part);
    define(1, 1, "cat");
    define(2, 1, "outer");
    define(2, 2, "inner");
    define(3, 1, "number");
    define(29, 1, "kept");
    define(24, 4, "matmul");
    add(&packet, 12, &inner);
    end_packet(1);
}

static void put_process(void)
{
    put(&part, 1, 1);
    put(&inner, 1, 100);
    put_text(&inner, 6, "program");
    add(&part, 3, &inner);
    add(&packet, 60, &part);
    end_packet(1);
    put(&part, 1, 2);
    put(&part, 5, 1);
    put(&inner, 1, 100);
    put(&inner, 2, 101);
    put_text(&inner, 5, "main");
    add(&part, 4, &inner);
    add(&packet, 60, &part);
    end_packet(1);
}

static void put_child(uint64_t id, const char *name, uint32_t unit,
                      uint64_t multiplier, bool is_incremental)
{
    put(&part, 1, id);
    put(&part, 5, 1);
    put_text(&part, 2, name);
    if (unit) {
        put(&inner, 3, unit);
        put(&inner, 4, multiplier);
        put(&inner, 5, is_incremental);
        add(&part, 8, &inner);
    }
    add(&packet, 60, &part);
    end_packet(1);
}

static void put_arg(uint32_t field, uint64_t value, uint32_t name)
{
    put(&part, 1, name);
    put(&part, field, value);
    add(&event, 4, &part);
}

static void put_zones(void)
{
    begin_event(1, 0);
    put(&event, 10, 1);
    put(&event, 3, 1);
    put_arg(4, 7, 1);
    put_arg(17, 1, 1);
    put_fixed(&event, 47, 77);
    end_event(1, 0); // 1000
    begin_event(1, 0);
    put(&event, 10, 2);
    put(&event, 12, 3); // of the extra counter
    end_event(1, 10);   // 1010
    begin_event(3, 0);
    put_text(&event, 23, "mark");
    put_text(&event, 22, "other");
    put_fixed(&event, 48, 77);
    end_event(1, 5); // 1015
    begin_event(2, 0);
    end_event(1, 15); // 1030
    begin_event(2, 0);
    put_arg(2, 1, 1);
    end_event(1, 70); // 1100
    begin_event(2, 0);
    end_event(1, 0);
    begin_event(1, 0);
    put(&event, 10, 9); // not defined
    end_event(1, 100);  // 1200
}

// Lanes of one name, each with a zone; they overlap.
static void put_lanes(void)
{
    for (uint32_t track = 3; track < 5; track++) {
        put_child(track, "requests", 0, 0, false);
        begin_event(1, track);
        put_text(&event, 23, "request");
        put(&packet, 58, 6);
        end_event(1, 1300 + track);
        begin_event(2, track);
        put(&packet, 58, 6);
        end_event(1, 1400 + track);
    }
}

static void put_counters(void)
{
    double real = 0.5;
    uint64_t bits;
    memcpy(&bits, &real, 8);
    put_child(5, "memory", 3, 1024, true);
    begin_event(4, 5);
    put(&event, 30, 2);
    end_event(1, 300); // 1500
    begin_event(4, 5);
    put(&event, 30, (uint64_t)-1);
    end_event(1, 1);
    begin_event(4, 5);
    put_fixed(&event, 44, bits);
    end_event(1, 1);
    begin_event(4, 2); // a thread
    put(&event, 30, 1);
    end_event(1, 1);
}

static void put_gpu(void)
{
    put(&packet, 8, 97); // 1600
    put(&inner, 2, 50);
    put(&inner, 5, 1);
    put(&inner, 11, 0);
    put(&inner, 13, 7);
    put(&inner, 20, 4);
    add(&packet, 53, &inner);
    end_packet(1);
}

// Events that cannot be read right, and packets without a place.
static void put_rest(void)
{
    put(&packet, 13, 2);
    begin_event(3, 2);
    end_event(9, 1700);
    begin_event(3, 2);
    add(&packet, 11, &event);
    end_packet(1); // without a time
    put(&packet, 42, 1);
    end_packet(1);
    put_text(&packet, 1, "");
    end_packet(1);
    put_text(&packet, 499, "");
    end_packet(1);
    begin_event(0, 2);
    end_event(1, 0);
    put_text(&packet, 50, "not zlib");
    end_packet(1);
}

static void put_all(void)
{
    put_head(1000);
    put_process();
    put_child(5, "memory", 3, 1024, true);
    put_zones();
    put_lanes();
    put_counters();
    put_gpu();
    put_rest();
}

static const char *save(const message *m)
{
    const char *const path = fixture_path(0, "source");
    FILE *const out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(m->size, fwrite(m->bytes, 1, m->size, out));
    fclose(out);
    return path;
}

#define MAIN "process 100 program/thread 101 main"
// What the source holds; damage: how its compressed packets are damaged.
#define WANTED(damage) \
    "1000+100 zone on " MAIN " site=outer/cat\n" \
    "1000+0 zone_arg on " MAIN " site=outer/cat name=number type=1 value=7\n" \
    "1000+0 zone_arg on " MAIN " site=outer/cat name=number type=3 \"kept\"\n" \
    "1000+0 zone_arg on " MAIN " site=outer/cat name=number type=1 value=1\n" \
    "1000+0 flow on " MAIN " id=77 phase=1\n" \
    "1010+20 zone on " MAIN " site=inner\n" \
    "1010+0 counter on process 100 program/counter 0 memory type=1 " \
    "value=3072\n" \
    "1015+0 mark on " MAIN " site=mark/other\n" \
    "1015+0 flow on " MAIN " id=77 phase=3\n" \
    "1200+0 zone_open on " MAIN " site=\n" \
    "1303+100 zone on process 100 program/thread 0 requests " \
    "site=request\n" \
    "1304+100 zone on process 100 program/thread 0 requests #4 " \
    "site=request\n" \
    "1500+0 counter on process 100 program/counter 0 memory type=1 " \
    "value=5120\n" \
    "1501+0 counter on process 100 program/counter 0 memory type=1 " \
    "value=4096\n" \
    "1502+0 counter on process 100 program/counter 0 memory type=2 " \
    "value=4602678819172646912\n" \
    "1600+50 kernel on device 0/context 1/stream 7 launch=matmul\n" \
    "bad end_without_begin 1\n" \
    "bad no_counter 1\n" \
    "bad undefined_state 1\n" \
    "bad no_time 1\n" \
    "bad dropped_packets 1\n" \
    "bad " damage "_packets 1\n" \
    "flawed undefined_text 1\n" \
    "no place ftrace events (bundles) 1\n" \
    "no place packets with field 499 1\n" \
    "no place track events of the old kind 1\n"

UNIT_TEST(the_date_comes_from_a_snapshot_of_clocks)
{
    put_all();
    imported i = import_into(save(&trace), fixture_path(1, "out.sbt"));
    assert_int_equal(1700000000000001000,
                     ts_reader_info(i.reader)->start_realtime_ns);
    assert_false(i.job->is_cut);
    import_done(&i);
}

UNIT_TEST(what_has_no_place_is_counted_by_name)
{
    static const struct {
        uint32_t field;
        const char *name;
    } packets[] = { { 1, "ftrace events (bundles)" },
                    { 9, "process statistics" },
                    { 33, "trace configuration" },
                    { 35, "trace statistics" },
                    { 37, "heap profiles" },
                    { 39, "Android log" },
                    { 43, "process descriptors of the old kind" },
                    { 44, "thread descriptors of the old kind" },
                    { 45, "system information" },
                    { 52, "GPU counters" },
                    { 66, "samples of perf" },
                    { 126, "trace attributes" } };
    enum { COUNT = sizeof packets / sizeof *packets };
    put_head(1000);
    for (size_t i = 0; i < COUNT; i++) {
        put_text(&packet, packets[i].field, "");
        end_packet(1);
    }
    put_text(&packet, 133, "");
    end_packet(1);
    imported i = import_into(save(&trace), fixture_path(1, "out.sbt"));
    for (size_t k = 0; k < COUNT; k++)
        assert_int_equal(1, import_tallied(&i.job->unowned, packets[k].name));
    assert_int_equal(COUNT, i.job->unowned.total);
    assert_int_equal(1, import_tallied(&i.job->bad, "zstd_packets"));
    import_done(&i);
}

UNIT_TEST(parts_of_events_without_a_place_are_counted_by_name)
{
    put_head(1000);
    put_process();
    begin_event(3, 1); // an instant of the process
    put_arg(4, 7, 1);
    put(&event, 34, 1);
    put(&event, 56, 1);
    end_event(1, 0);
    begin_event(5, 2);
    end_event(1, 0);
    begin_event(1, 2);
    put_text(&part, 8, "");
    add(&event, 4, &part);
    end_event(1, 0);
    import_expect(save(&trace), "1000+0 zone_open on " MAIN " site=\n"
                                "1000+0 mark on process 100 program/thread 0 "
                                "events of the process site=\n"
                                "no place arguments of instants 1\n"
                                "no place places in the source 1\n"
                                "no place call stacks 1\n"
                                "no place states (type 5) 1\n"
                                "no place nested arguments 1\n");
}

UNIT_TEST(an_end_of_a_slice_that_is_too_deep_ends_no_other_one)
{
    enum { DEEPEST = 4096, BEYOND = 2 };
    put_head(1000);
    put_process();
    for (uint32_t i = 0; i < 2 * (DEEPEST + BEYOND); i++) {
        begin_event(i < DEEPEST + BEYOND ? 1 : 2, 2);
        end_event(1, 1);
    }
    imported i = import_into(save(&trace), fixture_path(1, "out.sbt"));
    assert_int_equal(DEEPEST, i.job->events[TS_EVENT_ZONE]);
    assert_int_equal(BEYOND, import_tallied(&i.job->bad, "too_much_begun"));
    assert_int_equal(BEYOND, i.job->bad.total);
    char *const text = import_dump(&i);
    static const char outer[] = "1001+8195 zone on " MAIN " site=\n";
    assert_memory_equal(outer, text, sizeof outer - 1);
    free(text);
    import_done(&i);
}

// The sequence that has the later event comes first in the file.
UNIT_TEST(flows_begin_where_they_are_earliest)
{
    put_head(1000);
    put_process();
    for (uint32_t i = 4; i-- > 0;) {
        begin_event(3, 2);
        put_fixed(&event, i % 2 ? 48 : 47, 5);
        put(&packet, 58, 6);
        end_event(1, 2000 + i);
    }
    import_expect(save(&trace), "2000+0 mark on " MAIN " site=\n"
                                "2000+0 flow on " MAIN " id=5 phase=1\n"
                                "2001+0 mark on " MAIN " site=\n"
                                "2001+0 flow on " MAIN " id=5 phase=3\n"
                                "2002+0 mark on " MAIN " site=\n"
                                "2002+0 flow on " MAIN " id=5 phase=1\n"
                                "2003+0 mark on " MAIN " site=\n"
                                "2003+0 flow on " MAIN " id=5 phase=3\n");
}

UNIT_TEST(every_truncation_gives_a_trace_or_no_format)
{
    put_all();
    const size_t size = trace.size;
    for (trace.size = 150; trace.size < size; trace.size++) {
        imported i = import_into(save(&trace), fixture_path(1, "out.sbt"));
        assert_true(i.job->events[TS_EVENT_ZONE] <= 4);
        import_done(&i);
    }
}

UNIT_TEST(a_trace_cut_inside_a_packet_is_said_to_be_cut)
{
    put_head(1000);
    put_process();
    trace.size -= 3;
    imported i = import_into(save(&trace), fixture_path(1, "out.sbt"));
    assert_true(i.job->is_cut);
    assert_int_equal(1, import_tallied(&i.job->bad, "broken_packet"));
    import_done(&i);
}

#ifdef TRACESMITH_ZLIB
UNIT_TEST(zones_counters_flows_and_kernels_have_their_places)
{
    put_all();
    import_expect(save(&trace), WANTED("damaged"));
}

UNIT_TEST(compressed_packets_are_the_same)
{
    put_all();
    uint8_t packed[4096];
    uLongf size = sizeof packed;
    assert_int_equal(Z_OK, compress(packed, &size, trace.bytes, trace.size));
    trace.size = 0;
    put_bytes(&packet, 50, packed, size);
    add(&trace, 1, &packet);
    // Compressed packets in compressed ones are not allowed.
    import_expect(save(&trace), WANTED("nested"));
}
#else
UNIT_TEST(compressed_packets_need_zlib)
{
    put_all();
    import_expect(save(&trace), WANTED("compressed"));
}
#endif

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
