/*
    test_scene_wire.c - questions and answers as bytes
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/wire.h"

typedef struct request {
    uint8_t bytes[256];
    size_t size;
} request;

typedef struct reply {
    uint8_t *bytes;
    size_t size, at;
} reply;

static void put(request *q, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        q->bytes[q->size++] = (uint8_t)(value >> 8 * i);
}

static request begin(uint32_t type)
{
    request q = { .size = 0 };
    put(&q, 0x515354 | SCENE_WIRE_VERSION << 24, 4);
    put(&q, type, 4);
    return q;
}

static uint64_t get(reply *r, unsigned bytes)
{
    uint64_t value = 0;
    assert_true(r->at + bytes <= r->size);
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)r->bytes[r->at++] << 8 * i;
    return value;
}

// Asks, and returns the result; what follows it is in *r.
static ts_result ask(staged *t, const request *q, reply *r)
{
    r->at = 0;
    scene_answer(t->s, q->bytes, q->size, &r->bytes, &r->size);
    assert_non_null(r->bytes);
    assert_int_equal(0x415354 | SCENE_WIRE_VERSION << 24, get(r, 4));
    get(r, 4);
    return (ts_result)(int32_t)get(r, 4);
}

UNIT_TEST(a_view_has_strips_boxes_and_labels)
{
    staged t = staged_late();
    request q = begin(SCENE_ASK_VIEW);
    reply r;
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, 100, 4);
    put(&q, 1, 4);
    put(&q, staged_row(&t, SCENE_ZONES, HOST, 1), 4);
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    assert_int_equal(0, get(&r, 8));
    assert_int_equal(100, get(&r, 8));
    assert_int_equal(100, get(&r, 4));
    get(&r, 4); // version of the rows
    assert_int_equal(1, get(&r, 4));
    get(&r, 4);
    assert_int_equal(SCENE_ZONES, get(&r, 1));
    assert_int_equal(2, get(&r, 1)); // counters are not made yet
    const uint8_t *const busy = r.bytes + r.at;
    for (int i = 0; i < 100; i++)
        assert_int_equal(i >= 30 && i < 50 ? 255 : 0, busy[i]);
    r.at += 200;
    assert_int_equal(1, get(&r, 4));
    assert_int_equal(30, get(&r, 8));
    assert_int_equal(50, get(&r, 8));
    get(&r, 8);
    const uint64_t label = get(&r, 4);
    get(&r, 4);
    assert_int_equal(1, get(&r, 4));
    assert_int_equal(label, get(&r, 4));
    get(&r, 2);
    assert_int_equal(4, get(&r, 4));
    assert_memory_equal("read", r.bytes + r.at, 4);
    assert_int_equal(r.size, r.at + 4);
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(a_wrong_request_is_refused)
{
    staged t = staged_late();
    reply r;
    request q = begin(SCENE_ASK_INFO);
    q.bytes[0] = 'X';
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    free(r.bytes);
    q = begin(SCENE_ASK_INFO);
    q.bytes[3] = SCENE_WIRE_VERSION + 1;
    assert_int_equal(TS_ERR_VERSION, ask(&t, &q, &r));
    free(r.bytes);
    q = begin(99);
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    free(r.bytes);
    q = begin(SCENE_ASK_VIEW); // ten million pixels
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, 10000000, 4);
    put(&q, 0, 4);
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    assert_int_equal(12, r.size);
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(a_request_cut_short_anywhere_is_refused)
{
    staged t = staged_late();
    request q = begin(SCENE_ASK_WHATIF);
    put(&q, 1, 4);
    put(&q, TS_CHANGE_SCALE, 4);
    put(&q, 1, 4);
    put(&q, 2, 4);
    put(&q, 0, 8);
    put(&q, 1, 4); // a label
    put(&q, 0, 4);
    put(&q, 0, 4);
    reply r;
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    free(r.bytes);
    for (const size_t whole = q.size; q.size-- > 0;) {
        assert_true(q.size < whole);
        assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
        assert_int_equal(12, r.size);
        free(r.bytes);
    }
    staged_close(&t);
}

// How requests that name rows or a window are cut short, type by type.
static void cut_short(const request *whole)
{
    staged t = staged_late();
    reply r;
    request q = *whole;
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    free(r.bytes);
    while (q.size-- > 0) {
        assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
        assert_int_equal(12, r.size);
        free(r.bytes);
    }
    staged_close(&t);
}

UNIT_TEST(a_request_for_arrows_is_refused_if_it_is_cut_short_or_wrong)
{
    staged t = staged_late();
    reply r;
    request q = begin(SCENE_ASK_FLOWS);
    put(&q, SCENE_FLOWS_AREA, 4);
    put(&q, 0, 8);
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, 10, 4);
    put(&q, 1, 4);
    put(&q, staged_row(&t, SCENE_WORK, S0, 0), 4);
    cut_short(&q);
    q.bytes[8] = SCENE_FLOWS_PATH + 1;
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    free(r.bytes);
    q.bytes[8] = SCENE_FLOWS_AREA;
    memset(q.bytes + 36, 0, 4); // no pixels
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(a_request_for_a_flame_graph_is_refused_if_it_is_cut_short_or_wrong)
{
    staged t = staged_late();
    reply r;
    request q = begin(SCENE_ASK_FLAME);
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, SCENE_FLAME_BOXES, 4);
    put(&q, 1, 4);
    put(&q, staged_row(&t, SCENE_ZONES, HOST, 0), 4);
    cut_short(&q);
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    r.at += 17;                      // what it rests on
    assert_int_equal(3, get(&r, 4)); // thread, load, read
    free(r.bytes);
    q.bytes[24] = SCENE_FLAME_STACKS + 1;
    assert_int_equal(TS_ERR_USAGE, ask(&t, &q, &r));
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(a_request_for_durations_is_refused_if_it_is_cut_short)
{
    staged t = staged_late();
    request q = begin(SCENE_ASK_HISTOGRAM);
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, 0, 4);
    put(&q, 1, 4);
    put(&q, staged_row(&t, SCENE_ZONES, HOST, 0), 4);
    cut_short(&q);
    staged_close(&t);
}

// However often a row is named, it is counted once; and not more often than
// there can be rows.
UNIT_TEST(a_row_that_is_named_often_counts_once)
{
    enum { TIMES = 200000 };
    staged t = staged_late();
    uint8_t *const bytes = calloc(1, 28 + 4 * TIMES);
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    request q = begin(SCENE_ASK_AREA);
    uint8_t *answer;
    size_t size;
    assert_non_null(bytes);
    put(&q, 0, 8);
    put(&q, 100, 8);
    put(&q, SCENE_ROWS, 4);
    memcpy(bytes, q.bytes, q.size);
    for (size_t i = 0; i < TIMES; i++)
        memcpy(bytes + q.size + 4 * i, &row, 4);
    scene_answer(t.s, bytes, q.size + 4 * SCENE_ROWS, &answer, &size);
    reply r = { answer, size, 12 };
    const uint64_t counted = get(&r, 8);
    assert_int_equal(counted, get(&r, 8)); // all events of the area
    assert_int_equal(0, get(&r, 1));       // nothing is left to count
    assert_int_equal(1, get(&r, 4));       // a name
    assert_int_equal(1, get(&r, 8));       // a box
    assert_int_equal(1, get(&r, 4));
    r.at += 6; // number, kind and hue of the label
    assert_int_equal(4, get(&r, 4));
    r.at += 4; // "load"
    assert_int_equal(1, get(&r, 8));
    free(answer);
    memset(bytes + q.size - 4, 0, 4);
    bytes[q.size - 2] = 3; // 196,608
    scene_answer(t.s, bytes, q.size + 4 * TIMES, &answer, &size);
    r = (reply){ answer, size, 8 };
    assert_int_equal(TS_ERR_USAGE, (ts_result)(int32_t)get(&r, 4));
    free(answer);
    free(bytes);
    staged_close(&t);
}

UNIT_TEST(operations_are_found_by_their_numbers)
{
    staged t = staged_late();
    reply r;
    request q = begin(SCENE_ASK_OPERATIONS);
    put(&q, 2, 4);
    put(&q, 1, 4);
    put(&q, 99, 4);
    cut_short(&q);
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    assert_int_equal(2, get(&r, 4));
    assert_int_equal(80, get(&r, 8)); // kernel b
    assert_int_equal(90, get(&r, 8));
    get(&r, 8);
    r.at += 16;
    assert_true(get(&r, 8) == SCENE_REF_NONE);
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(a_trace_without_operations_has_no_graph)
{
    staged t;
    made_begin(&t.m, 0);
    made_zone(&t.m, HOST, "x", 0, 10);
    staged_open(&t);
    const request q = begin(SCENE_ASK_IDLE);
    reply r;
    assert_int_equal(TS_ERR_NOT_FOUND, ask(&t, &q, &r));
    free(r.bytes);
    staged_close(&t);
}

UNIT_TEST(idle_time_adds_up_and_lists_the_longest_gap)
{
    staged t = staged_late();
    const request q = begin(SCENE_ASK_IDLE);
    reply r;
    assert_int_equal(TS_OK, ask(&t, &q, &r));
    assert_int_equal(TS_IDLE_LIMIT, get(&r, 4));
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        r.at += get(&r, 4);
    assert_int_equal(1, get(&r, 4)); // a device
    r.at = r.size - 34;              // the only gap is last
    assert_int_equal(1, get(&r, 4));
    assert_true(get(&r, 8) == SCENE_REF_GAP);
    assert_int_equal(D0, get(&r, 4));
    free(r.bytes);
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
