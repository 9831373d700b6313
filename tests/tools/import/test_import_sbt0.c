/*
    test_import_sbt0.c - SBT and JSON of TraceSmith 0.x become traces

    The files are written here, from the layout that its headers document.
*/
#include "tests/tools/import/import_fixture.h"
#include "tests/tools/import/import_message.h"
#include "tools/import/import.h"

enum { HEADER = 72, DURATION = 1, KERNEL = 2, MEMORY = 4, STACK = 8 };

static const char *const names[] = { "gemm",
                                     "copy",
                                     "leaf",
                                     "main",
                                     "a.c",
                                     "ncclAllReduce",
                                     "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                                     "step" };
enum { GEMM, COPY, LEAF, MAIN, FILE_A, REDUCE, NCCL, STEP, NAMES };

static void set_number(message *m, size_t at, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        m->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static void put_sized(message *m, const char *text)
{
    put_number(m, strlen(text));
    memcpy(m->bytes + m->size, text, strlen(text));
    m->size += strlen(text);
}

static void begin(message *m)
{
    memset(m, 0, sizeof *m);
    memcpy(m->bytes, "SBT\0\0\0\1\0", 8);
    set_number(m, 8, 1, 4);
    set_number(m, 12, HEADER, 4);
    m->size = HEADER;
}

static void put_metadata(message *m)
{
    set_number(m, 16, m->size, 8);
    put_number(m, 1);
    put_sized(m, "app");
    put_sized(m, "app --fast");
    put_number(m, 5);
    put_number(m, 9);
    put_sized(m, "host");
    put_number(m, 42);
}

static void put_devices(message *m)
{
    set_number(m, 32, m->size, 8);
    put_number(m, 3);
    put_number(m, 1);
    put_number(m, 1);
    put_sized(m, "Card");
    put_sized(m, "Maker");
    for (uint64_t i = 0; i < 9; i++)
        put_number(m, 7 + i);
}

static void begin_events(message *m, uint64_t base_ns)
{
    set_number(m, 40, m->size, 8);
    put_number(m, 4);
    put_number(m, base_ns);
}

// An event of device 1; what its flags announce follows.
static void put_event(message *m, uint8_t type, uint8_t flags, uint64_t after,
                      uint64_t duration, uint64_t stream, uint64_t correlation,
                      uint64_t name)
{
    m->bytes[m->size++] = type;
    m->bytes[m->size++] = flags;
    put_number(m, after);
    if (flags & DURATION) put_number(m, duration);
    put_number(m, 1);
    put_number(m, stream);
    put_number(m, correlation);
    put_number(m, name);
}

static void put_numbers(message *m, const uint64_t *numbers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_number(m, numbers[i]);
}

#define PUT(m, ...) \
    put_numbers(m, (const uint64_t[]){ __VA_ARGS__ }, \
                sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

static void end(message *m, uint64_t count)
{
    set_number(m, 24, m->size, 8);
    set_number(m, 56, count, 8);
    put_number(m, 2);
    put_number(m, NAMES);
    for (size_t i = 0; i < NAMES; i++)
        put_sized(m, names[i]);
    m->bytes[m->size++] = 255;
}

static const char *save(const message *m, size_t size)
{
    const char *const path = fixture_path(0, "old.sbt");
    FILE *const out = fopen(path, "wb");
    assert_int_equal(size, fwrite(m->bytes, 1, size, out));
    fclose(out);
    return path;
}

static void expect(const message *m, const char *expected)
{
    import_expect(save(m, m->size), expected);
}

/* ---- SBT ----------------------------------------------------------------- */

UNIT_TEST(a_launch_and_its_completion_are_a_kernel_with_its_stack)
{
    message m;
    begin(&m);
    put_metadata(&m);
    put_devices(&m);
    begin_events(&m, 1000);
    put_event(&m, 1, KERNEL | STACK, 0, 0, 7, 5, GEMM);
    PUT(&m, 2, 3, 1, 128, 1, 1, 64, 40); // launch
    PUT(&m, 99, 2);                      // thread, frames
    PUT(&m, 0x401000, LEAF, FILE_A, 12); // function, file, line
    PUT(&m, 0, MAIN, FILE_A, 30);        // without an address
    put_event(&m, 2, 0, 300, 0, 7, 5, GEMM);
    put_event(&m, 3, DURATION | MEMORY, UINT64_MAX - 99, 20, 8, 6, COPY);
    PUT(&m, 0x10, 0x20, 4096);
    end(&m, 3);
    expect(&m, "1000+300 kernel on device 1 Card/stream 7 correlation=5 "
               "thread=process 42/thread 99 "
               "stack=leaf@process(a.c:12)<main@profile(a.c:30) "
               "launch=gemm<<<2.3.1, 128.1.1>>> r40 s0+64\n"
               "1200+20 memcpy on device 1 Card/stream 8 correlation=6 type=1 "
               "size=4096 source=16 address=32\n");
}

UNIT_TEST(every_type_has_its_place)
{
    message m;
    begin(&m);
    begin_events(&m, 0);
    put_event(&m, 6, DURATION, 10, 5, 1, 0, COPY); // memset
    put_event(&m, 7, DURATION, 10, 5, 1, 0, COPY); // stream sync
    put_event(&m, 8, DURATION, 10, 5, 1, 0, COPY); // device sync
    put_event(&m, 9, 0, 10, 0, 1, 0, COPY);        // event record
    put_event(&m, 17, 0, 10, 0, 1, 0, STEP);       // marker
    put_event(&m, 18, 0, 10, 0, 1, 0, STEP);       // range, start and end
    put_event(&m, 19, 0, 10, 0, 1, 0, STEP);
    put_event(&m, 20, 0, 10, 0, 1, 3, REDUCE); // collective
    put_event(&m, 21, 0, 10, 0, 1, 3, REDUCE);
    put_event(&m, 15, MEMORY, 10, 0, 1, 0, COPY); // allocation
    PUT(&m, 0, 64, 512);
    put_event(&m, 16, MEMORY, 10, 0, 1, 0, COPY);
    PUT(&m, 64, 0, 0);
    put_event(&m, 255, 0, 10, 0, 1, 0, STEP); // custom
    put_event(&m, 77, 0, 10, 0, 1, 0, STEP);  // of no version
    end(&m, 13);
    expect(&m,
           "10+5 memset on device 1/stream 1\n"
           "20+5 stream_sync on device 1/stream 1\n"
           "30+5 device_sync on device 1\n"
           "40+0 event_record on device 1/stream 1 id=4\n"
           "50+0 mark on device 1/thread 0 events, stream 1 site=step/marker\n"
           "60+10 zone on device 1/thread 0 events, stream 1 site=step/range\n"
           "80+10 collective on device 1/stream 1 correlation=3 "
           "name=AllReduce\n"
           "100+0 gpu_alloc on device 1/stream 1 address=64 size=512\n"
           "110+0 gpu_free on device 1/stream 1 address=64\n"
           "120+0 mark on device 1/thread 0 events, stream 1 site=step/custom\n"
           "130+0 mark on device 1/thread 0 events, stream 1 "
           "site=step/unknown\n"
           "flawed unknown_type 1\n");
}

// Of a mark the stack has no place.
UNIT_TEST(marks_say_what_they_mark)
{
    message m;
    begin(&m);
    begin_events(&m, 0);
    for (uint8_t type = 10; type < 15; type++)
        put_event(&m, type, 0, 10, 0, 1, 0, STEP);
    put_event(&m, 17, STACK, 10, 0, 1, 0, STEP);
    PUT(&m, 9, 1, 64, LEAF, FILE_A, 1);
    end(&m, 6);
#define MARK " mark on device 1/thread 0 events, stream 1 site=step/"
    expect(&m, "10+0" MARK "event sync\n"
               "20+0" MARK "stream create\n"
               "30+0" MARK "stream destroy\n"
               "40+0" MARK "context create\n"
               "50+0" MARK "context destroy\n"
               "60+0 mark on thread 9 site=step/marker\n"
               "no place stacks of marks and ranges 1\n");
}

UNIT_TEST(starts_and_ends_without_each_other_are_counted)
{
    message m;
    begin(&m);
    begin_events(&m, 100);
    put_event(&m, 1, 0, 0, 0, 1, 1, GEMM);
    put_event(&m, 2, 0, 10, 0, 1, 2, GEMM);
    put_event(&m, 2, DURATION, 10, 7, 1, 3, GEMM);
    put_event(&m, 18, 0, 10, 0, 1, 0, STEP);
    put_event(&m, 4, 0, 10, 0, 1, 0, 99);
    end(&m, 5);
    expect(&m, "100+0 kernel on device 1/stream 1 correlation=1 launch=gemm\n"
               "120+7 kernel on device 1/stream 1 correlation=3 launch=gemm\n"
               "130+0 zone_open on device 1/thread 0 events, stream 1 "
               "site=step/range\n"
               "140+0 memcpy on device 1/stream 1 type=2\n"
               "bad end_without_start 1\n"
               "flawed unknown_name 1\n"
               "flawed no_duration 1\n"
               "flawed start_without_end 2\n");
}

// The name of its kernel, or of it, tells what a collective does.
UNIT_TEST(a_collective_without_an_end_is_one)
{
    message m;
    begin(&m);
    begin_events(&m, 100);
    put_event(&m, 1, 0, 0, 0, 1, 1, NCCL);
    put_event(&m, 20, 0, 10, 0, 1, 3, REDUCE);
    put_event(&m, 1, 0, 10, 0, 1, 4, GEMM);
    end(&m, 3);
    expect(&m, "100+0 collective on device 1/stream 1 correlation=1 "
               "name=AllReduce type=8 "
               "launch=ncclDevKernel_AllReduce_Sum_f32_RING_LL\n"
               "110+0 collective on device 1/stream 1 correlation=3 "
               "name=AllReduce\n"
               "120+0 kernel on device 1/stream 1 correlation=4 launch=gemm\n"
               "flawed start_without_end 3\n");
}

// Its reader finds nothing in such a file.
UNIT_TEST(what_a_killed_program_wrote_is_read_without_names)
{
    message m;
    begin(&m);
    put_metadata(&m);
    const size_t at = m.size;
    begin_events(&m, 100);
    put_event(&m, 1, 0, 0, 0, 1, 1, GEMM);
    put_event(&m, 2, 0, 10, 0, 1, 1, GEMM);
    put_event(&m, 1, 0, 10, 0, 1, 2, GEMM);
    memset(m.bytes + 16, 0, HEADER - 16);
    assert_true(at < m.size);
    imported i = import_into(save(&m, m.size - 1), fixture_path(1, "cut.sbt"));
    assert_true(i.job->is_cut);
    assert_int_equal(1, i.job->events[TS_EVENT_KERNEL]);
    assert_int_equal(2, i.job->rows);
    assert_int_equal(1, import_tallied(&i.job->flawed, "no_string_table"));
    import_done(&i);
}

// Wherever the file ends, what is before is there.
UNIT_TEST(a_cut_file_gives_what_is_before_the_cut)
{
    message m;
    begin(&m);
    begin_events(&m, 100);
    const size_t first = m.size;
    for (uint64_t k = 0; k < 5; k++)
        put_event(&m, 1, DURATION, 10, 7, 1, k, GEMM);
    const size_t events = m.size;
    end(&m, 5);
    for (size_t size = HEADER; size < m.size; size++) {
        imported i = import_into(save(&m, size), fixture_path(1, "cut.sbt"));
        const size_t whole = size <= first    ? 0
                             : size >= events ? 5
                                              : (size - first) / 8;
        assert_int_equal(whole, i.job->events[TS_EVENT_KERNEL]);
        assert_int_equal(size < events, i.job->is_cut);
        assert_int_equal(size < m.size - 1,
                         import_tallied(&i.job->flawed, "no_string_table"));
        import_done(&i);
    }
}

UNIT_TEST(another_version_is_refused)
{
    message m;
    begin(&m);
    put_metadata(&m);
    m.bytes[4] = 1;
    imported i = import_into(save(&m, m.size), fixture_path(1, "no.sbt"));
    assert_null(i.reader);
    import_done(&i);
    i = import_into(save(&m, 20), fixture_path(1, "no.sbt"));
    assert_null(i.reader);
    import_done(&i);
}

/* ---- JSON ---------------------------------------------------------------- */

UNIT_TEST(its_json_becomes_the_same_events)
{
    import_expect_file("tests/tools/import/kineto", "earlier");
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
