/*
    test_scene_wire.c - questions and answers as bytes
*/
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/wire.h"

typedef struct question {
    uint8_t bytes[256];
    size_t size;
} question;

typedef struct reply {
    uint8_t *bytes;
    size_t size, at;
} reply;

static void put(question *q, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        q->bytes[q->size++] = (uint8_t)(value >> 8 * i);
}

static question begin(uint32_t type)
{
    question q = { .size = 0 };
    put(&q, 0x01515354, 4);
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
static ts_result ask(staged *t, const question *q, reply *r)
{
    r->at = 0;
    scene_answer(t->s, q->bytes, q->size, &r->bytes, &r->size);
    assert_non_null(r->bytes);
    assert_int_equal(0x01415354, get(r, 4));
    get(r, 4);
    return (ts_result)(int32_t)get(r, 4);
}

static void a_view_has_strips_boxes_and_labels(void **state)
{
    (void)state;
    staged t = staged_late();
    question q = begin(SCENE_ASK_VIEW);
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
    assert_int_equal(0, get(&r, 1));
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

static void a_wrong_question_is_refused(void **state)
{
    (void)state;
    staged t = staged_late();
    reply r;
    question q = begin(SCENE_ASK_INFO);
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

static void a_question_cut_short_anywhere_is_refused(void **state)
{
    (void)state;
    staged t = staged_late();
    question q = begin(SCENE_ASK_WHATIF);
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

static void a_trace_without_operations_has_no_graph(void **state)
{
    (void)state;
    staged t;
    made_begin(&t.m, 0);
    made_zone(&t.m, HOST, "x", 0, 10);
    staged_open(&t);
    const question q = begin(SCENE_ASK_IDLE);
    reply r;
    assert_int_equal(TS_ERR_NOT_FOUND, ask(&t, &q, &r));
    free(r.bytes);
    staged_close(&t);
}

static void idle_time_adds_up_and_lists_the_longest_gap(void **state)
{
    (void)state;
    staged t = staged_late();
    const question q = begin(SCENE_ASK_IDLE);
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
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_view_has_strips_boxes_and_labels),
        cmocka_unit_test(a_wrong_question_is_refused),
        cmocka_unit_test(a_question_cut_short_anywhere_is_refused),
        cmocka_unit_test(a_trace_without_operations_has_no_graph),
        cmocka_unit_test(idle_time_adds_up_and_lists_the_longest_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
