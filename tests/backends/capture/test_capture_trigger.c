// Captures that begin and end by themselves: triggers, frames, operations.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"
#include "tests/backends/vdev/vdev_fixture.h"

#include <sys/wait.h>

typedef struct add_args {
    uint64_t pointer;
    uint32_t value;
} add_args;

static void add(const void *args, const ts_vdev_block *block)
{
    add_args a;
    memcpy(&a, args, sizeof a);
    *(uint32_t *)(uintptr_t)a.pointer += a.value;
}

static const ts_session_desc plain;
static ts_vdev_kernel adding;
static uint32_t *sum;

static int open_all(void **state)
{
    const ts_vdev_desc desc = { .memory_bytes = 1 << 20 };
    vt_open(desc);
    adding = vt_kernel("add", add, sizeof(add_args), 0);
    sum = vt_memory(0, 64);
    memset(sum, 0, 64);
    return 0;
}

static int close_all(void **state)
{
    ts_capture_stop();
    return ts_vdev_close(vdev) == TS_OK ? 0 : -1;
}

// Operations differ by what they add.
static void launch(uint32_t value)
{
    const add_args args = { (uintptr_t)sum, value };
    const ts_vdev_launch_desc desc = { .grid = { 1 }, .args = &args };
    ok(ts_vdev_launch(vdev, 0, adding, &desc));
}

static void arm(const char *words)
{
    char room[256];
    ts_capture_desc what;
    ok(ts_capture_parse(&what, room, sizeof room, words));
    ok(ts_capture_arm(&what));
}

static ts_reader *stop_and_open(const char *path)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    vt_finish();
    ok(ts_session_stop());
    ok(ts_reader_open(&reader, &desc));
    ok(ts_reader_verify(reader));
    return reader;
}

// "3 4": what the captured operations of a trace added, in their order.
static const char *captured(ts_reader *reader)
{
    static char text[256];
    size_t size = 0;
    ts_capture c;
    text[0] = 0;
    for (size_t i = 0; ts_reader_capture(reader, i, &c); i++) {
        add_args args;
        assert_int_equal(TS_CAPTURE_WHOLE, c.head.state);
        assert_int_equal(sizeof args, c.head.args_size);
        memcpy(&args, c.args, sizeof args);
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%u",
                                 size ? " " : "", args.value);
    }
    return text;
}

static int64_t said(const ts_reader *reader, const char *key)
{
    ts_metadata m;
    return ts_reader_metadata(reader, 0, key, &m) ? m.number : -1;
}

// What the first captured operation found in its memory.
static uint32_t found_first(ts_reader *reader)
{
    ts_capture c;
    const void *bytes;
    size_t size;
    uint64_t chunk[2];
    uint32_t value;
    assert_true(ts_reader_capture(reader, 0, &c));
    assert_int_equal(1, c.head.region_count);
    ok(ts_reader_blob(reader, c.regions[0].before, &bytes, &size));
    memcpy(chunk, bytes, sizeof chunk);
    ok(ts_reader_blob(reader, chunk, &bytes, &size));
    memcpy(&value, bytes, sizeof value);
    return value;
}

/* ---- Triggers ------------------------------------------------------------ */

UNIT_TEST_WITHIN(a_trigger_captures_the_frames_that_begin_next, open_all,
                 close_all)
{
    const char *const path = rt_start("frames.sbt", plain);
    arm("frames:2");
    for (uint32_t frame = 1; frame < 12; frame++) {
        launch(10 * frame);
        if (frame == 2 || frame == 7) ts_capture_trigger();
        launch(10 * frame + 1);
        TS_FRAME("frame");
    }
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("30 31 40 41 80 81 90 91", captured(reader));
    // The first one reads the results of what the program did before.
    assert_int_equal(10 + 11 + 20 + 21, found_first(reader));
    assert_int_equal(2, said(reader, "capture.captures"));
    assert_int_equal(8, said(reader, "capture.whole"));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(without_frames_the_next_trigger_ends_it, open_all, close_all)
{
    const char *const path = rt_start("toggle.sbt", plain);
    arm("all");
    for (uint32_t i = 1; i < 9; i++) {
        launch(i);
        if (i % 2 == 0) ts_capture_trigger();
    }
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("3 4 7 8", captured(reader));
    assert_int_equal(2, said(reader, "capture.captures"));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(it_ends_after_so_many_operations, open_all, close_all)
{
    const char *const path = rt_start("operations.sbt", plain);
    arm("operations:2");
    for (uint32_t i = 1; i < 12; i++) {
        if (i == 3 || i == 8) ts_capture_trigger();
        launch(i);
    }
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("3 4 8 9", captured(reader));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(what_the_device_did_not_take_is_no_operation, open_all,
                 close_all)
{
    static const ts_capture_vendor vendor = { .name = "none" };
    ts_capture_memory nothing = { .vendor = &vendor };
    ts_capture_op op = { .head = { .kind = TS_EVENT_KERNEL } };
    const char *const path = rt_start("drop.sbt", plain);
    const ts_capture_desc two = { .operations = 2 };
    ok(ts_capture_start(&two));
    launch(1);
    assert_true(ts_capture_requested(&op));
    ts_capture_begin(&nothing, &op);
    ts_capture_drop(&op);
    ts_capture_drop(&op); // once more is nothing
    launch(2);
    launch(3);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("1 2", captured(reader));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(one_that_is_in_flight_at_the_end_counts, open_all, close_all)
{
    static const ts_capture_vendor vendor = { .name = "none" };
    ts_capture_memory nothing = { .vendor = &vendor };
    ts_capture_op op = { .head = { .kind = TS_EVENT_KERNEL } };
    const char *const path = rt_start("late.sbt", plain);
    ok(ts_capture_start(NULL));
    assert_true(ts_capture_requested(&op));
    ts_capture_begin(&nothing, &op);
    ts_capture_stop();
    ts_capture_end(&nothing, &op);
    ts_reader *const reader = stop_and_open(path);
    assert_int_equal(1, ts_reader_capture_count(reader));
    assert_int_equal(1, said(reader, "capture.whole"));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_trigger_can_be_taken_back_before_its_frame, open_all,
                 close_all)
{
    const char *const path = rt_start("back.sbt", plain);
    arm("frames:1");
    ts_capture_trigger();
    ts_capture_trigger();
    TS_FRAME("frame");
    launch(1);
    ts_capture_stop();
    ts_capture_trigger(); // nothing is armed any more
    TS_FRAME("frame");
    launch(2);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("", captured(reader));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(a_session_that_ends_says_what_was_kept, open_all, close_all)
{
    const char *const path = rt_start("end.sbt", plain);
    arm("all");
    ts_capture_trigger();
    launch(1);
    ts_reader *reader = stop_and_open(path);
    assert_int_equal(1, said(reader, "capture.whole"));
    ts_reader_close(reader);
    // The next session has only its own captures.
    const char *const next = rt_start("next.sbt", plain);
    ok(ts_capture_start(NULL));
    launch(2);
    launch(3);
    ok(ts_capture_start(NULL)); // in the place of the one before
    launch(4);
    reader = stop_and_open(next);
    assert_string_equal("2 3 4", captured(reader));
    assert_int_equal(2, said(reader, "capture.captures"));
    assert_int_equal(3, said(reader, "capture.whole"));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(refused_options_change_nothing, open_all, close_all)
{
    char zone[300];
    const char *const path = rt_start("refused.sbt", plain);
    memset(zone, 'z', sizeof zone);
    zone[sizeof zone - 1] = 0;
    const ts_capture_desc wrong = { .kernels = "-add", .zone = zone };
    ok(ts_capture_start(NULL));
    launch(1);
    assert_int_equal(TS_ERR_USAGE, ts_capture_start(&wrong));
    launch(2);
    assert_int_equal(TS_ERR_USAGE, ts_capture_arm(&wrong));
    launch(3); // it goes on
    arm("kernel:add");
    launch(4);
    ts_capture_trigger();
    launch(5);
    assert_int_equal(TS_ERR_USAGE, ts_capture_arm(&wrong));
    ts_capture_trigger(); // ends it
    ts_capture_trigger(); // and it is still armed
    launch(6);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("1 2 3 5 6", captured(reader));
    assert_int_equal(3, said(reader, "capture.captures"));
    ts_reader_close(reader);
}

/* ---- Frames -------------------------------------------------------------- */

UNIT_TEST_WITHIN(frames_of_a_name_are_what_has_that_name, open_all, close_all)
{
    const char *const path = rt_start("name.sbt", plain);
    arm("frames:1 frame:step*");
    ts_capture_trigger();
    TS_FRAME("other");
    launch(1);
    ts_frame_hint("a zone");
    launch(2);
    ts_frame_hint("step 7");
    launch(3);
    TS_FRAME("other");
    launch(4);
    TS_FRAME("step");
    launch(5);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("3 4", captured(reader));
    ts_reader_close(reader);
}

UNIT_TEST_WITHIN(frames_end_a_capture_that_began_at_once, open_all, close_all)
{
    const char *const path = rt_start("once.sbt", plain);
    const ts_capture_desc two = { .frames = 2 };
    ok(ts_capture_start(&two));
    launch(1);
    ts_frame_hint("a zone"); // none unless it is asked for
    TS_FRAME("frame");
    launch(2);
    ts_capture_frame();
    launch(3);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("1 2", captured(reader));
    ts_reader_close(reader);
}

/* ---- Other processes ----------------------------------------------------- */

UNIT_TEST_WITHIN(a_child_keeps_nothing_by_itself, open_all, close_all)
{
    int status = 1;
    const char *const path = rt_start("fork.sbt", plain);
    ok(ts_capture_start(NULL));
    const pid_t child = fork();
    if (child == 0) {
        const bool was_on = ts_capture_on();
        ts_capture_trigger(); // what was armed is not
        _exit(was_on || ts_capture_on());
    }
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    assert_true(ts_capture_on());
    launch(1);
    ts_reader *const reader = stop_and_open(path);
    assert_string_equal("1", captured(reader));
    ts_reader_close(reader);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
