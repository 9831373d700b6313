/*
    test_import_chakra.c - Chakra execution traces become traces
*/
#include "tests/tools/import/import_fixture.h"
#include "tools/import/import.h"
#include "tools/tracesmith_tools.h"

/* ---- An encoder --------------------------------------------------------- */

typedef struct bytes {
    uint8_t data[8192];
    size_t size;
} bytes;

static void varint(bytes *b, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        b->data[b->size++] = (uint8_t)(value | 0x80);
    b->data[b->size++] = (uint8_t)value;
}

static void number(bytes *b, uint32_t field, uint64_t value)
{
    varint(b, field << 3);
    varint(b, value);
}

static void put(bytes *b, uint32_t field, const void *data, size_t size)
{
    varint(b, field << 3 | 2);
    varint(b, size);
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static void text(bytes *b, uint32_t field, const char *value)
{
    put(b, field, value, strlen(value));
}

// An attribute of the message `b` in its field `to`.
static void attribute(bytes *b, uint32_t to, const char *name, uint32_t field,
                      uint64_t value)
{
    bytes a = { .size = 0 };
    text(&a, 1, name);
    number(&a, field, value);
    put(b, to, a.data, a.size);
}

static void attribute_text(bytes *b, const char *name, const char *value)
{
    bytes a = { .size = 0 };
    text(&a, 1, name);
    text(&a, 29, value);
    put(b, 10, a.data, a.size);
}

static void message(bytes *file, const bytes *m)
{
    varint(file, m->size);
    memcpy(file->data + file->size, m->data, m->size);
    file->size += m->size;
}

static void begin(bytes *file)
{
    bytes m = { .size = 0 };
    file->size = 0;
    text(&m, 1, "1.0.1");
    attribute(&m, 2, "pid", 13, 42);
    message(file, &m);
}

// A node without a time, on thread or stream `tid`.
static bytes node(uint64_t id, const char *name, uint32_t type, bool host,
                  uint64_t tid, uint64_t duration_us)
{
    bytes n = { .size = 0 };
    number(&n, 1, id);
    text(&n, 2, name);
    number(&n, 3, type);
    if (duration_us) number(&n, 7, duration_us);
    attribute(&n, 10, "is_cpu_op", 27, host);
    attribute(&n, 10, "tid", 9, tid);
    return n;
}

static void depend(bytes *n, uint32_t field, uint64_t one, uint64_t two)
{
    bytes packed = { .size = 0 };
    varint(&packed, one);
    if (two) varint(&packed, two);
    put(n, field, packed.data, packed.size);
}

enum { CONTROL = 4, DATA = 5 };
enum { METADATA = 1, LOAD = 2, COMPUTE = 4, SEND = 5, RECEIVE, COLLECTIVE };

static const char *save(const bytes *file, const char *name)
{
    const char *const path = fixture_path(0, name);
    FILE *const out = fopen(path, "wb");
    assert_int_equal(file->size, fwrite(file->data, 1, file->size, out));
    fclose(out);
    return path;
}

static void expect(const bytes *file, const char *expected)
{
    import_expect(save(file, "made.et"), expected);
}

/* ---- Tests -------------------------------------------------------------- */

// By hand: a is on the host from 0 to 10; b and c may start then, on one
// stream, so c follows b; d waits for c, e for b and its thread.
UNIT_TEST(nodes_without_times_are_laid_out)
{
    bytes file, n;
    begin(&file);
    n = node(1, "a", COMPUTE, true, 1, 10);
    message(&file, &n);
    n = node(2, "b", COMPUTE, false, 7, 5);
    depend(&n, CONTROL, 1, 0);
    message(&file, &n);
    n = node(3, "c", COMPUTE, false, 7, 20);
    depend(&n, CONTROL, 1, 0);
    message(&file, &n);
    n = node(5, "e", COMPUTE, true, 1, 1);
    depend(&n, DATA, 1, 2);
    message(&file, &n);
    n = node(4, "d", COLLECTIVE, false, 8, 3);
    attribute(&n, 10, "comm_type", 9, 0);
    attribute(&n, 10, "comm_size", 9, 4096);
    depend(&n, DATA, 3, 0);
    message(&file, &n);
    expect(&file,
           "0+10000 api_call on process 42/thread 1 name=a correlation=2\n"
           "10000+5000 kernel on device 0/stream 7 correlation=3 queued=1 "
           "thread=process 42/thread 1 launch=b\n"
           "10000+0 dependency on device 0/stream 7 type=1 correlation=3 "
           "record=2\n"
           "15000+1000 api_call on process 42/thread 1 name=e correlation=6\n"
           "15000+0 dependency on process 42/thread 1 type=2 correlation=6 "
           "record=2\n"
           "15000+0 dependency on process 42/thread 1 type=2 correlation=6 "
           "record=3\n"
           "15000+20000 kernel on device 0/stream 7 correlation=4 queued=5001 "
           "thread=process 42/thread 1 launch=c\n"
           "15000+0 dependency on device 0/stream 7 type=1 correlation=4 "
           "record=2\n"
           "35000+3000 collective on device 0/stream 8 correlation=5 "
           "name=AllReduce size=4096 launch=d\n"
           "35000+0 dependency on device 0/stream 8 type=2 correlation=5 "
           "record=4\n"
           "estimated start_time 5\n");
}

UNIT_TEST(reported_times_are_kept)
{
    bytes file, n;
    begin(&file);
    n = node(1, "a", COMPUTE, false, 7, 10);
    number(&n, 6, 1000);
    message(&file, &n);
    n = node(2, "b", COMPUTE, false, 7, 10);
    depend(&n, DATA, 1, 0);
    message(&file, &n);
    expect(&file,
           "1000000+10000 kernel on device 0/stream 7 correlation=2 "
           "launch=a\n"
           "1010000+10000 kernel on device 0/stream 7 correlation=3 "
           "launch=b\n"
           "1010000+0 dependency on device 0/stream 7 type=2 correlation=3 "
           "record=2\n"
           "estimated start_time 1\n");
}

// 1 and 2 wait for each other, 3 for itself, 4 for a node that is not there.
UNIT_TEST(cycles_and_missing_nodes_end_nothing)
{
    bytes file, n;
    begin(&file);
    for (uint64_t id = 1; id <= 4; id++) {
        static const uint64_t deps[] = { 0, 2, 1, 3, 99 };
        n = node(id, "n", COMPUTE, false, 7, 1);
        depend(&n, CONTROL, deps[id], 0);
        message(&file, &n);
    }
    expect(&file,
           "0+1000 kernel on device 0/stream 7 correlation=2 launch=n\n"
           "1000+1000 kernel on device 0/stream 7 correlation=4 launch=n\n"
           "2000+1000 kernel on device 0/stream 7 correlation=5 launch=n\n"
           "3000+1000 kernel on device 0/stream 7 correlation=3 launch=n\n"
           "3000+0 dependency on device 0/stream 7 type=1 correlation=3 "
           "record=2\n"
           "flawed unknown_dependency 1\nflawed dependency_circle 2\n"
           "estimated start_time 4\n");
}

UNIT_TEST(pairs_memory_and_metadata_nodes)
{
    bytes file, n;
    begin(&file);
    n = node(1, "send", SEND, false, 9, 2);
    attribute(&n, 10, "comm_src", 9, 0);
    attribute(&n, 10, "comm_dst", 9, 3);
    attribute_text(&n, "pg_name", "world");
    message(&file, &n);
    n = node(2, "receive", RECEIVE, false, 9, 2);
    attribute(&n, 10, "comm_src", 9, 4);
    attribute(&n, 10, "comm_dst", 9, 0);
    message(&file, &n);
    n = node(3, "load", LOAD, false, 2, 1);
    attribute(&n, 10, "tensor_size", 13, 256);
    attribute(&n, 10, "novel", 13, 1);
    message(&file, &n);
    n = node(4, "note", METADATA, false, 2, 1);
    message(&file, &n);
    n = node(5, "what", 0, false, 2, 1);
    message(&file, &n);
    char expected[1000];
    snprintf(expected, sizeof expected,
             "0+2000 collective on device 0/stream 9 correlation=2 name=Send "
             "communicator=%" PRId64 " peer=4 launch=send\n"
             "0+1000 memcpy on device 0/stream 2 correlation=4 size=256\n"
             "2000+2000 collective on device 0/stream 9 correlation=3 "
             "name=Recv peer=5 launch=receive\n"
             "bad invalid_node 1\n"
             "no place attribute novel 1\nno place metadata nodes 1\n"
             "estimated start_time 3\n",
             (int64_t)import_communicator("world", 5));
    expect(&file, expected);
}

// sint32 and sint64: 0, -1, 1, -2, ... are 0, 1, 2, 3, ...
UNIT_TEST(numbers_with_a_sign_are_read)
{
    bytes file, n = { .size = 0 };
    begin(&file);
    number(&n, 1, 1);
    text(&n, 2, "signed");
    number(&n, 3, COMPUTE);
    number(&n, 7, 1);
    attribute(&n, 10, "is_cpu_op", 17, 1); // -1: no
    attribute(&n, 10, "tid", 15, 14);      // 7
    message(&file, &n);
    expect(&file, "0+1000 kernel on device 0/stream 7 correlation=2 "
                  "launch=signed\nestimated start_time 1\n");
}

UNIT_TEST(broken_nodes_and_cut_files_are_counted)
{
    bytes file, n;
    begin(&file);
    n = node(1, "a", COMPUTE, false, 7, 1);
    message(&file, &n);
    n.size = 0;
    number(&n, 1, 2);
    put(&n, 3, "x", 1); // the type is a number
    message(&file, &n);
    n = node(3, "b", COMPUTE, false, 7, 1);
    number(&n, 6, UINT64_MAX); // not in nanoseconds
    message(&file, &n);
    n = node(4, "c", COMPUTE, false, 7, 1);
    message(&file, &n);
    file.size -= 3;
    expect(&file, "0+1000 kernel on device 0/stream 7 correlation=2 launch=a\n"
                  "bad broken_row 2\nbad broken_message 1\n"
                  "estimated start_time 1\n");
}

UNIT_TEST(old_schemas_are_refused_by_name)
{
    bytes file, n = { .size = 0 };
    begin(&file);
    number(&n, 1, 1);
    text(&n, 2, "a");
    number(&n, 4, 0); // parent, one by one
    text(&n, 11, "x");
    message(&file, &n);
    imported i = import_into(save(&file, "old.et"), fixture_path(2, "one.sbt"));
    assert_null(i.reader);
    import_done(&i);
}

UNIT_TEST(the_rank_is_in_the_name)
{
    bytes file;
    begin(&file);
    const bytes n = node(1, "a", COMPUTE, false, 7, 1);
    message(&file, &n);
    static const struct {
        const char *name;
        int64_t rank;
    } names[] = { { "run.12.et", 12 },
                  { "run.et", IMPORT_NONE },
                  { "run12.et", IMPORT_NONE },
                  { "a.99999999999.et", IMPORT_NONE } };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        imported i =
            import_into(save(&file, names[k].name), fixture_path(2, "one.sbt"));
        assert_int_equal(names[k].rank, i.job->rank);
        import_done(&i);
    }
}

UNIT_TEST(the_real_file_arrives_whole)
{
#ifndef TRACESMITH_ZLIB
    skip(); // it is compressed
#endif
    imported i = import_into(fixture_data("chakra/feeder_tests_trace.tar.gz"),
                             fixture_path(2, "one.sbt"));
    const import_job *const job = i.job;
    assert_int_equal(3664, job->rows);
    assert_int_equal(2448, job->events[TS_EVENT_API_CALL]);
    assert_int_equal(7, job->events[TS_EVENT_COLLECTIVE]);
    assert_int_equal(1209, job->events[TS_EVENT_KERNEL]);
    // All dependencies of the file, counted by another program.
    assert_int_equal(181878 + 3664,
                     job->events[TS_EVENT_DEPENDENCY] +
                         import_tallied(&job->flawed, "unknown_dependency") +
                         import_tallied(&job->flawed, "dependency_circle"));
    assert_int_equal(0, job->bad.total);
    assert_int_equal(0, job->rank);
    import_replays_exactly(&i, 1216);
    import_done(&i);
}

// Node k starts at k times 2^58 ns: three are within reach of the first one.
UNIT_TEST(durations_that_add_up_to_no_time_wrap_nothing)
{
    bytes file;
    begin(&file);
    for (uint64_t i = 1; i <= 40; i++) {
        bytes n = node(i, "k", COMPUTE, false, i, (UINT64_C(1) << 58) / 1000);
        if (i > 1) depend(&n, CONTROL, i - 1, 0);
        message(&file, &n);
    }
    imported i =
        import_into(save(&file, "long.et"), fixture_path(2, "one.sbt"));
    assert_int_equal(3, i.job->events[TS_EVENT_KERNEL]);
    // Those beyond, and as many dependencies.
    assert_int_equal(2 * 37, import_tallied(&i.job->bad, "absurd_time"));
    import_done(&i);
}

static bytes node_of_no_stream(uint64_t id, const char *name, uint32_t type)
{
    bytes n = { .size = 0 };
    number(&n, 1, id);
    text(&n, 2, name);
    number(&n, 3, type);
    number(&n, 7, 10);
    attribute(&n, 10, "is_cpu_op", 27, false);
    if (type == COLLECTIVE) attribute(&n, 10, "comm_type", 9, 0);
    return n;
}

UNIT_TEST(without_streams_computing_and_communication_overlap)
{
    bytes file;
    begin(&file);
    bytes n = node_of_no_stream(1, "a", COMPUTE);
    message(&file, &n);
    n = node_of_no_stream(2, "b", COLLECTIVE);
    message(&file, &n);
    n = node_of_no_stream(3, "c", COMPUTE);
    message(&file, &n);
    expect(&file,
           "0+10000 kernel on device 0/stream 0 correlation=2 launch=a\n"
           "0+10000 collective on device 0/stream 1 correlation=3 "
           "name=AllReduce launch=b\n"
           "10000+10000 kernel on device 0/stream 0 correlation=4 launch=c\n"
           "estimated start_time 3\n");
}

// Equal numbers of streams and threads in two contexts and processes.
UNIT_TEST(contexts_and_processes_are_told_apart)
{
    bytes file;
    begin(&file);
    for (uint64_t i = 1; i <= 2; i++) {
        bytes n = node(i, "k", COMPUTE, false, 7, 10);
        attribute(&n, 10, "context", 9, i);
        message(&file, &n);
        n = node(i + 2, "c", COMPUTE, true, 5, 10);
        attribute(&n, 10, "pid", 9, 40 + i);
        message(&file, &n);
    }
    expect(&file,
           "0+10000 kernel on device 0/context 1/stream 7 correlation=2 "
           "launch=k\n"
           "0+10000 api_call on process 41/thread 5 name=c correlation=4\n"
           "0+10000 kernel on device 0/context 2/stream 7 correlation=3 "
           "launch=k\n"
           "0+10000 api_call on process 42/thread 5 name=c correlation=5\n"
           "estimated start_time 4\n");
}

// The same, out and in again. Each kernel depends on a call.
UNIT_TEST(contexts_and_processes_are_exported)
{
    static const char *const wanted[] = {
        "10000+10000 kernel on device 0/context 1/stream 7 ",
        "10000+10000 kernel on device 0/context 2/stream 7 ",
        "0+10000 api_call on process 41/thread 5 ",
        "0+10000 api_call on process 42/thread 5 "
    };
    bytes file;
    begin(&file);
    for (uint64_t i = 1; i <= 2; i++) {
        bytes n = node(i + 2, "c", COMPUTE, true, 5, 10);
        attribute(&n, 10, "pid", 9, 40 + i);
        message(&file, &n);
        n = node(i, "k", COMPUTE, false, 7, 10);
        attribute(&n, 10, "context", 9, i);
        depend(&n, DATA, i + 2, 0);
        message(&file, &n);
    }
    imported i = import_into(save(&file, "a.et"), fixture_path(1, "a.sbt"));
    import_done(&i);
    const ts_export_desc desc = { .path = fixture_path(1, "a.sbt"),
                                  .output = { .path =
                                                  fixture_path(2, "b.et") } };
    ts_export_counts counts;
    assert_int_equal(TS_OK, ts_export_file(&counts, &desc, NULL));
    i = import_into(fixture_path(2, "b.et"), fixture_path(3, "b.sbt"));
    char *const text = import_dump(&i);
    for (size_t k = 0; k < 4; k++)
        if (!strstr(text, wanted[k])) fail_msg("no %s in\n%s", wanted[k], text);
    free(text);
    import_done(&i);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
