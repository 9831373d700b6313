/* The virtual accelerator: what runs, where, and in which order. */
#define _GNU_SOURCE
#include "tests/backends/vdev/vdev_fixture.h"

/* What ran, in order, and a gate that holds a kernel until it is opened. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    char log[64];
    size_t size;
    int gates;  // that are open
    int inside; // kernels that wait for a gate, or for company
} seen = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, "", 0, 0, 0 };

typedef struct letter {
    char text;
    int gate; // 0: none
} letter;

static void write_letter(const void *args, const ts_vdev_block *block)
{
    const letter *const l = args;
    pthread_mutex_lock(&seen.lock);
    seen.inside++;
    pthread_cond_broadcast(&seen.changed);
    while (seen.gates < l->gate)
        pthread_cond_wait(&seen.changed, &seen.lock);
    seen.inside--;
    seen.log[seen.size++] = l->text;
    pthread_mutex_unlock(&seen.lock);
}

static void open_gates(int count)
{
    pthread_mutex_lock(&seen.lock);
    seen.gates = count;
    pthread_cond_broadcast(&seen.changed);
    pthread_mutex_unlock(&seen.lock);
}

static void wait_inside(int count)
{
    pthread_mutex_lock(&seen.lock);
    while (seen.inside < count)
        pthread_cond_wait(&seen.changed, &seen.lock);
    pthread_mutex_unlock(&seen.lock);
}

static ts_vdev_kernel kernel;

static void open_with(ts_vdev_desc desc)
{
    vt_open(desc);
    kernel = vt_kernel("letter", write_letter, sizeof(letter), 0);
    memset(seen.log, 0, sizeof seen.log);
    seen.size = 0;
    seen.gates = seen.inside = 0;
}

static int open_two(void **state)
{
    const ts_vdev_desc desc = { 0 };
    open_with(desc);
    return 0;
}

static int close_it(void **state)
{
    open_gates(99);
    return ts_vdev_close(vdev) == TS_OK ? 0 : -1;
}

static void put(ts_vdev_stream on, char text, int gate)
{
    const letter l = { text, gate };
    const ts_vdev_launch_desc desc = { .args = &l };
    ok(ts_vdev_launch(vdev, on, kernel, &desc));
}

UNIT_TEST_WITHIN(a_stream_keeps_its_order, open_two, close_it)
{
    const ts_vdev_stream s = vt_stream(0, false, 0);
    for (char c = 'a'; c <= 'z'; c++)
        put(s, c, 0);
    ok(ts_vdev_stream_synchronize(vdev, s));
    assert_string_equal("abcdefghijklmnopqrstuvwxyz", seen.log);
}

UNIT_TEST_WITHIN(kernels_of_two_streams_run_at_the_same_time, open_two,
                 close_it)
{
    put(vt_stream(0, false, 0), 'a', 1);
    put(vt_stream(0, false, 0), 'b', 1);
    wait_inside(2);
    open_gates(1);
    vt_finish();
    assert_int_equal(2, seen.size);
}

UNIT_TEST_WITHIN(the_default_stream_waits_for_blocking_streams, open_two,
                 close_it)
{
    const ts_vdev_stream one = vt_stream(0, false, 0);
    put(one, 'a', 1);
    put(0, 'b', 0);
    wait_inside(1);
    open_gates(1);
    vt_finish();
    assert_string_equal("ab", seen.log);
}

UNIT_TEST_WITHIN(blocking_streams_wait_for_the_default_stream, open_two,
                 close_it)
{
    put(0, 'a', 1);
    put(vt_stream(0, false, 0), 'b', 0);
    wait_inside(1);
    open_gates(1);
    vt_finish();
    assert_string_equal("ab", seen.log);
}

UNIT_TEST_WITHIN(non_blocking_streams_pass_the_default_stream, open_two,
                 close_it)
{
    const ts_vdev_stream free_one = vt_stream(0, true, 0);
    put(0, 'a', 1);
    put(free_one, 'b', 0);
    ok(ts_vdev_stream_synchronize(vdev, free_one));
    put(free_one, 'c', 2);
    put(0, 'd', 0);
    open_gates(1);
    ok(ts_vdev_stream_synchronize(vdev, 0));
    open_gates(2);
    vt_finish();
    assert_string_equal("badc", seen.log);
}

UNIT_TEST_WITHIN(default_streams_of_two_devices_are_two, open_two, close_it)
{
    ts_vdev_stream other;
    ok(ts_vdev_stream_default(&other, vdev, 1));
    put(0, 'a', 1);
    put(other, 'b', 0);
    put(vt_stream(1, false, 0), 'c', 0);
    ok(ts_vdev_device_synchronize(vdev, 1));
    open_gates(1);
    vt_finish();
    assert_string_equal("bca", seen.log);
}

UNIT_TEST_WITHIN(an_event_holds_a_stream_of_another_device, open_two, close_it)
{
    const ts_vdev_stream one = vt_stream(0, false, 0),
                         two = vt_stream(1, false, 0);
    const ts_vdev_event e = vt_event();
    put(one, 'a', 1);
    ok(ts_vdev_event_record(vdev, e, one));
    ok(ts_vdev_event_wait(vdev, e, two));
    put(two, 'b', 0);
    bool done = true;
    ok(ts_vdev_event_query(&done, vdev, e));
    assert_false(done);
    ok(ts_vdev_stream_query(&done, vdev, two));
    assert_false(done);
    open_gates(1);
    ok(ts_vdev_event_synchronize(vdev, e));
    ok(ts_vdev_event_query(&done, vdev, e));
    assert_true(done);
    vt_finish();
    ok(ts_vdev_stream_query(&done, vdev, two));
    assert_true(done);
    assert_string_equal("ab", seen.log);
}

UNIT_TEST_WITHIN(a_later_record_does_not_move_a_wait, open_two, close_it)
{
    const ts_vdev_stream one = vt_stream(0, false, 0),
                         two = vt_stream(0, false, 0);
    const ts_vdev_event e = vt_event();
    put(one, 'a', 1);
    ok(ts_vdev_event_record(vdev, e, one));
    ok(ts_vdev_event_wait(vdev, e, two));
    put(two, 'b', 0);
    put(one, 'c', 2);
    ok(ts_vdev_event_record(vdev, e, one));
    open_gates(1);
    ok(ts_vdev_stream_synchronize(vdev, two));
    open_gates(2);
    vt_finish();
    assert_string_equal("abc", seen.log);
}

UNIT_TEST_WITHIN(a_wait_takes_the_latest_record_before_it, open_two, close_it)
{
    const ts_vdev_stream one = vt_stream(0, false, 0),
                         two = vt_stream(0, false, 0);
    const ts_vdev_event e = vt_event();
    ok(ts_vdev_event_record(vdev, e, one));
    put(one, 'a', 1);
    ok(ts_vdev_event_record(vdev, e, one));
    ok(ts_vdev_event_wait(vdev, e, two));
    put(two, 'b', 0);
    wait_inside(1);
    open_gates(1);
    vt_finish();
    assert_string_equal("ab", seen.log);
}

UNIT_TEST_WITHIN(an_event_without_a_record_holds_nobody, open_two, close_it)
{
    const ts_vdev_event e = vt_event();
    bool done = false;
    ok(ts_vdev_event_wait(vdev, e, 0));
    put(0, 'a', 0);
    ok(ts_vdev_event_synchronize(vdev, e));
    ok(ts_vdev_event_query(&done, vdev, e));
    assert_true(done);
    vt_finish();
    assert_string_equal("a", seen.log);
}

UNIT_TEST_WITHIN(a_wait_outlives_its_event, open_two, close_it)
{
    const ts_vdev_stream one = vt_stream(0, false, 0),
                         two = vt_stream(1, false, 0);
    const ts_vdev_event e = vt_event();
    put(one, 'a', 1);
    ok(ts_vdev_event_record(vdev, e, one));
    ok(ts_vdev_event_wait(vdev, e, two));
    put(two, 'b', 0);
    ok(ts_vdev_event_destroy(vdev, e));
    const ts_vdev_event next = vt_event(); // takes the slot, not the record
    bool done = false;
    ok(ts_vdev_event_query(&done, vdev, next));
    assert_true(done);
    open_gates(1);
    vt_finish();
    assert_string_equal("ab", seen.log);
}

UNIT_TEST_WITHIN(a_destroyed_stream_finishes_its_work, open_two, close_it)
{
    const ts_vdev_stream s = vt_stream(0, false, 0);
    put(s, 'a', 1);
    put(s, 'b', 0);
    ok(ts_vdev_stream_destroy(vdev, s));
    const letter l = { 'x', 0 };
    const ts_vdev_launch_desc desc = { .args = &l };
    assert_int_equal(TS_ERR_USAGE, ts_vdev_launch(vdev, s, kernel, &desc));
    assert_int_equal(TS_ERR_USAGE, ts_vdev_stream_destroy(vdev, s));
    put(0, 'c', 0); // still waits for it
    open_gates(1);
    vt_finish();
    assert_string_equal("abc", seen.log);
}

UNIT_TEST_WITHIN(urgent_streams_go_first, open_two, close_it)
{
    close_it(NULL);
    const ts_vdev_desc desc = { .compute_units = 1 };
    open_with(desc);
    const ts_vdev_stream low = vt_stream(0, false, 5),
                         high = vt_stream(0, false, -5);
    put(vt_stream(0, false, 0), 'a', 1);
    wait_inside(1);
    put(low, 'd', 0);
    put(vt_stream(0, false, 0), 'c', 0);
    put(high, 'b', 0);
    open_gates(1);
    vt_finish();
    assert_string_equal("abcd", seen.log);
}

static void *submit_three(void *arg)
{
    const ts_vdev_stream *const s = arg;
    for (char c = 'a'; c <= 'c'; c++)
        put(*s, c, 1);
    return NULL;
}

UNIT_TEST_WITHIN(a_full_stream_makes_the_caller_wait, open_two, close_it)
{
    close_it(NULL);
    const ts_vdev_desc desc = { .queue_ops = 2 };
    open_with(desc);
    ts_vdev_stream s = vt_stream(0, false, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, submit_three, &s);
    wait_inside(1);
    open_gates(1);
    pthread_join(thread, NULL);
    vt_finish();
    assert_string_equal("abc", seen.log);
}

static void *submit_refused(void *arg)
{
    const ts_vdev_stream *const s = arg;
    const letter l = { 'x', 0 };
    const ts_vdev_launch_desc desc = { .args = &l };
    put(*s, 'a', 1);
    while (ts_vdev_launch(vdev, *s, kernel, &desc) == TS_OK)
        ;
    return NULL;
}

UNIT_TEST_WITHIN(destroying_a_full_stream_frees_who_waits_for_room, open_two,
                 close_it)
{
    close_it(NULL);
    const ts_vdev_desc desc = { .queue_ops = 1 };
    open_with(desc);
    ts_vdev_stream s = vt_stream(0, false, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, submit_refused, &s);
    wait_inside(1);
    ok(ts_vdev_stream_destroy(vdev, s));
    pthread_join(thread, NULL);
    open_gates(1);
    vt_finish();
    assert_string_equal("a", seen.log);
}

UNIT_TEST_WITHIN(close_waits_for_work, open_two, close_it)
{
    put(0, 'a', 0);
    for (int i = 0; i < 20; i++)
        put(vt_stream(i % 2 ? 1 : 0, true, 0), 'b', 0);
    ok(ts_vdev_close(vdev));
    assert_int_equal(21, seen.size);
    open_two(NULL);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
