/*
    test_verify.c - ts-replay --verify: what corresponds in two sequences

    The answer of verify_diff is checked against the longest common
    subsequence found the slow way; what the differences are called, against
    traces that differ in one known thing.
*/
#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tools/replay/verify/verify.h"

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>
#include "tests/unit.h"

static uint64_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *state >> 33;
}

/* ---- Sequences ----------------------------------------------------------- */

enum { MOST = 3000 };
static uint32_t a[MOST], b[MOST];
static bool only_a[MOST], only_b[MOST];

static uint32_t longest_common(uint32_t n, uint32_t m)
{
    static uint32_t row[2][MOST + 1];
    memset(row, 0, sizeof row);
    for (uint32_t i = 1; i <= n; i++)
        for (uint32_t j = 1; j <= m; j++) {
            uint32_t *const now = row[i & 1], *const last = row[~i & 1];
            now[j] = a[i - 1] == b[j - 1]   ? last[j - 1] + 1
                     : now[j - 1] > last[j] ? now[j - 1]
                                            : last[j];
        }
    return row[n & 1][m];
}

// What is left on both sides must be one and the same sequence.
static uint32_t check_common(uint32_t n, uint32_t m)
{
    uint32_t i = 0, j = 0, common = 0;
    assert_true(verify_diff(a, n, b, m, only_a, only_b));
    for (;; i++, j++, common++) {
        while (i < n && only_a[i])
            i++;
        while (j < m && only_b[j])
            j++;
        if (i == n || j == m) break;
        assert_int_equal(a[i], b[j]);
    }
    assert_int_equal(n, i);
    assert_int_equal(m, j);
    return common;
}

UNIT_TEST(short_sequences_have_the_longest_common_subsequence)
{
    uint64_t random = 5;
    for (int round = 0; round < 3000; round++) {
        const uint32_t n = (uint32_t)(next(&random) % 40);
        const uint32_t m = (uint32_t)(next(&random) % 40);
        const uint32_t values = 1 + (uint32_t)(next(&random) % 8);
        for (uint32_t i = 0; i < n; i++)
            a[i] = (uint32_t)(next(&random) % values);
        for (uint32_t i = 0; i < m; i++)
            b[i] = (uint32_t)(next(&random) % values);
        assert_int_equal(longest_common(n, m), check_common(n, m));
    }
}

UNIT_TEST(edited_sequences_have_the_longest_common_subsequence)
{
    uint64_t random = 7;
    for (uint32_t edits = 0; edits < 400; edits += 23) {
        uint32_t m = 0;
        for (uint32_t i = 0; i < 2000; i++)
            a[i] = (uint32_t)(next(&random) % 50);
        for (uint32_t i = 0; i < 2000; i++) {
            const bool edit = next(&random) % 2000 < edits;
            if (edit && next(&random) % 2) b[m++] = 99;
            if (!edit || next(&random) % 2) b[m++] = a[i];
        }
        assert_int_equal(longest_common(2000, m), check_common(2000, m));
    }
}

// So different that the search is bounded: the answer is a common sequence,
// though perhaps not the longest.
UNIT_TEST(quite_different_sequences_end_soon)
{
    enum { COUNT = 200000 };
    uint32_t *const x = malloc(2 * COUNT * sizeof *x);
    bool *const marks = malloc(2 * COUNT);
    uint64_t random = 11;
    for (uint32_t i = 0; i < 2 * COUNT; i++)
        x[i] = (uint32_t)(next(&random) % 1000);
    assert_true(verify_diff(x, COUNT, x + COUNT, COUNT, marks, marks + COUNT));
    uint32_t i = 0, j = 0, common = 0;
    for (;; i++, j++, common++) {
        while (i < COUNT && marks[i])
            i++;
        while (j < COUNT && marks[COUNT + j])
            j++;
        if (i == COUNT || j == COUNT) break;
        assert_int_equal(x[i], x[COUNT + j]);
    }
    assert_true(common > COUNT / 100);
    free(x);
    free(marks);
}

/* ---- Traces -------------------------------------------------------------- */

typedef struct row {
    ts_event_kind kind;
    uint64_t stream, grid, size; // grid: of a collective its communicator
    const char *name;
} row;

static char paths[2][32] = { "/tmp/ts_verify_XXXXXX", "/tmp/ts_verify_XXXXXX" };

static void put_collective(ts_writer *w, const row *r, int64_t start_ns)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, ts_writer_name(w, r->name, strlen(r->name)) },
        { TS_COLUMN_SIZE, r->size },
        { TS_COLUMN_COMMUNICATOR, r->grid },
    };
    ts_writer_event(w, r->kind, 10 + (uint32_t)r->stream, start_ns, 500, values,
                    3);
}

// Operations one after another; `number` is added to the stream numbers.
static void write_rows(int side, const row *rows, size_t count, uint64_t number)
{
    const ts_writer_desc desc = { .path = paths[side] };
    ts_writer *w;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    const ts_track_entry device = { .type = TS_TRACK_DEVICE };
    const uint32_t d = ts_writer_track(w, 0, &device);
    for (uint32_t i = 0; i < 4; i++) {
        const ts_track_entry stream = { .type = TS_TRACK_STREAM,
                                        .parent = d,
                                        .number = i + number };
        ts_writer_track(w, 10 + i, &stream);
    }
    for (size_t i = 0; i < count; i++) {
        const row *const r = &rows[i];
        ts_launch_entry launch = { .grid = { (uint32_t)r->grid, 1, 1 } };
        if (r->name) launch.name = ts_writer_name(w, r->name, strlen(r->name));
        // What another run numbers otherwise must not matter.
        const bool kernel = r->kind == TS_EVENT_KERNEL;
        const ts_writer_value values[] = {
            { TS_COLUMN_CORRELATION, 1 + i + 100 * (uint64_t)side },
            { kernel ? TS_COLUMN_LAUNCH : TS_COLUMN_SIZE,
              kernel ? ts_writer_launch(w, &launch) : r->size },
            { TS_COLUMN_ADDRESS, 4096 * (uint64_t)side },
        };
        if (r->kind == TS_EVENT_COLLECTIVE) {
            put_collective(w, r, (int64_t)i * 1000 + 7 * side);
            continue;
        }
        const size_t used = kernel ? 2 : r->kind == TS_EVENT_MEMSET ? 3 : 1;
        ts_writer_event(w, r->kind, 10 + (uint32_t)r->stream,
                        (int64_t)i * 1000 + 7 * side, 500 + 3 * side, values,
                        used);
    }
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static void compare(verify_report *report, const row *x, size_t x_count,
                    const row *y, size_t y_count, uint64_t number)
{
    memset(report, 0, sizeof *report);
    write_rows(0, x, x_count, 1);
    write_rows(1, y, y_count, 1 + number);
    for (int i = 0; i < 2; i++) {
        const ts_reader_desc desc = { .path = paths[i] };
        report->side[i].path = paths[i];
        assert_int_equal(TS_OK,
                         ts_reader_open(&report->side[i].trace.reader, &desc));
    }
    assert_true(verify_load(report->side));
    assert_true(verify_match(report));
}

static void done(verify_report *report)
{
    for (int i = 0; i < 2; i++) {
        verify_close(&report->side[i]);
        ts_reader_close(report->side[i].trace.reader);
    }
    free(report->differences);
}

#define K(stream, name, grid) \
    { \
        TS_EVENT_KERNEL, stream, grid, 0, name \
    }
#define M(stream, size) \
    { \
        TS_EVENT_MEMSET, stream, 0, size, NULL \
    }
#define C(name, communicator) \
    { \
        TS_EVENT_COLLECTIVE, 0, communicator, 8, name \
    }
#define COMPARE(r, x, y, number) \
    compare(r, x, sizeof(x) / sizeof *(x), y, sizeof(y) / sizeof *(y), number)

static const row usual[] = { K(0, "a", 1), K(0, "b", 1), M(1, 64), K(0, "a", 1),
                             K(1, "c", 8), K(0, "d", 1), M(1, 64) };

static void only(const verify_report *r, verify_what what)
{
    assert_int_equal(1, r->count);
    assert_int_equal(1, r->of[what]);
    assert_int_equal(what, r->differences[0].what);
    assert_false(verify_is_same(r));
}

UNIT_TEST(timing_alone_is_no_difference)
{
    verify_report r;
    COMPARE(&r, usual, usual, 0);
    assert_true(verify_is_same(&r));
    assert_int_equal(7, r.matched);
    assert_int_equal(7, r.other_durations);
    assert_int_equal(3, r.duration.max_ns);
    assert_int_equal(0, r.start.max_ns); // both from their first operation
    assert_int_equal(3500, r.work_ns[0]);
    assert_int_equal(3521, r.work_ns[1]);
    done(&r);
}

UNIT_TEST(streams_of_other_numbers_match_by_first_use)
{
    verify_report r;
    COMPARE(&r, usual, usual, 100);
    assert_true(verify_is_same(&r));
    assert_false(r.side[0].streams[0].by_number);
    done(&r);
}

UNIT_TEST(one_extra_operation_is_one_difference)
{
    static const row more[] = { K(0, "a", 1), K(0, "b", 1), M(1, 64),
                                K(0, "x", 1), K(0, "a", 1), K(1, "c", 8),
                                K(0, "d", 1), M(1, 64) };
    verify_report r;
    COMPARE(&r, usual, more, 0);
    only(&r, VERIFY_EXTRA);
    done(&r);
    COMPARE(&r, more, usual, 0);
    only(&r, VERIFY_MISSING);
    assert_int_equal(3000, r.differences[0].time_ns);
    done(&r);
}

UNIT_TEST(other_arguments_are_content)
{
    static const row grid[] = { K(0, "a", 1), K(0, "b", 2), M(1, 64),
                                K(0, "a", 1), K(1, "c", 8), K(0, "d", 1),
                                M(1, 64) };
    static const row size[] = { K(0, "a", 1), K(0, "b", 1), M(1, 64),
                                K(0, "a", 1), K(1, "c", 8), K(0, "d", 1),
                                M(1, 65) };
    static const row name[] = { K(0, "a", 1), K(0, "b", 1), M(1, 64),
                                K(0, "a", 1), K(1, "e", 8), K(0, "d", 1),
                                M(1, 64) };
    verify_report r;
    COMPARE(&r, usual, grid, 0);
    only(&r, VERIFY_CONTENT);
    done(&r);
    COMPARE(&r, usual, size, 0);
    only(&r, VERIFY_CONTENT);
    done(&r);
    COMPARE(&r, usual, name, 0);
    only(&r, VERIFY_CONTENT);
    done(&r);
}

UNIT_TEST(another_place_is_order_and_another_stream_is_a_move)
{
    static const row later[] = { K(0, "a", 1), M(1, 64),     K(0, "a", 1),
                                 K(1, "c", 8), K(0, "b", 1), K(0, "d", 1),
                                 M(1, 64) };
    static const row moved[] = { K(0, "a", 1), K(0, "b", 1), M(1, 64),
                                 K(0, "a", 1), K(0, "c", 8), K(0, "d", 1),
                                 M(1, 64) };
    verify_report r;
    COMPARE(&r, usual, later, 0);
    only(&r, VERIFY_ORDER);
    done(&r);
    COMPARE(&r, usual, moved, 0);
    only(&r, VERIFY_MOVED);
    done(&r);
}

// A sync starts when the host gets there, before or after what is running.
UNIT_TEST(where_a_sync_stands_among_work_is_timing)
{
    static const row early[] = { K(0, "a", 1),
                                 { TS_EVENT_STREAM_SYNC, 0, 0, 0, NULL },
                                 K(0, "b", 1) };
    static const row late[] = { K(0, "a", 1),
                                K(0, "b", 1),
                                { TS_EVENT_STREAM_SYNC, 0, 0, 0, NULL } };
    static const row none[] = { K(0, "a", 1), K(0, "b", 1) };
    verify_report r;
    COMPARE(&r, early, late, 0);
    assert_true(verify_is_same(&r));
    done(&r);
    COMPARE(&r, early, none, 0);
    only(&r, VERIFY_MISSING);
    done(&r);
}

static const row groups[] = { C("AllReduce", 70), C("AllGather", 71),
                              C("AllReduce", 70), C("AllReduce", 71),
                              C("AllReduce", 0) };

// 900 stands for 70, 90 for 71.
UNIT_TEST(communicators_may_have_other_numbers)
{
    static const row other[] = { C("AllReduce", 900), C("AllGather", 90),
                                 C("AllReduce", 900), C("AllReduce", 90),
                                 C("AllReduce", 5) };
    static const row crossed[] = { C("AllReduce", 71), C("AllGather", 70),
                                   C("AllReduce", 71), C("AllReduce", 70),
                                   C("AllReduce", 0) };
    verify_report r;
    COMPARE(&r, groups, other, 0);
    assert_true(verify_is_same(&r));
    assert_int_equal(5, r.matched);
    done(&r);
    COMPARE(&r, groups, crossed, 0);
    assert_true(verify_is_same(&r));
    done(&r);
}

UNIT_TEST(a_collective_among_others_is_content)
{
    static const row wrong[] = { C("AllReduce", 900), C("AllGather", 90),
                                 C("AllReduce", 90), C("AllReduce", 90),
                                 C("AllReduce", 0) };
    static const row merged[] = { C("AllReduce", 9), C("AllGather", 9),
                                  C("AllReduce", 9), C("AllReduce", 9),
                                  C("AllReduce", 9) };
    verify_report r;
    COMPARE(&r, groups, wrong, 0);
    only(&r, VERIFY_CONTENT);
    assert_int_equal(2, r.differences[0].a);
    assert_int_equal(4, r.matched);
    verify_field fields[VERIFY_FIELDS];
    const size_t count = verify_fields(&r.side[1], 2, fields);
    assert_string_equal("communicator", fields[count - 1].key);
    assert_int_equal(2, fields[count - 1].number); // as A counts them
    done(&r);
    // Two groups have become one: those of the other one differ.
    COMPARE(&r, groups, merged, 0);
    assert_int_equal(2, r.count);
    assert_int_equal(2, r.of[VERIFY_CONTENT]);
    done(&r);
}

// The earliest comes first, whatever stream it is on.
UNIT_TEST(differences_come_in_order_of_time)
{
    static const row two[] = { K(0, "a", 1), K(0, "b", 1), M(1, 63),
                               K(0, "a", 1), K(1, "c", 8), K(0, "d", 9),
                               M(1, 64) };
    verify_report r;
    COMPARE(&r, usual, two, 0);
    assert_int_equal(2, r.count);
    assert_int_equal(2000, r.differences[0].time_ns);
    assert_int_equal(5000, r.differences[1].time_ns);
    done(&r);
}

static int make_paths(void **state)
{
    for (int i = 0; i < 2; i++) {
        const int fd = mkstemp(paths[i]);
        if (fd < 0) return -1;
        close(fd);
    }
    return 0;
}

static int remove_paths(void **state)
{
    return unlink(paths[0]) | unlink(paths[1]);
}

int main(void)
{
    return unit_run(make_paths, remove_paths);
}
