// Processes that die while they record, and what is saved.
#define _GNU_SOURCE
#include "tests/record/process/storm.h"

static const ts_session_desc plain;

/* ---- Ways to die -------------------------------------------------------- */

static void die_by_exit(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    exit(0); // the session stops by itself
}

static void die_by_immediate_exit(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    _exit(0);
}

static void die_by_abort(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    abort();
}

static void die_by_fault(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    signal(SIGSEGV, SIG_DFL); // not a sanitizer's
    raise(SIGSEGV);
}

static void die_by_kill(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    raise(SIGKILL);
}

static void die_by_exec(void *user)
{
    rt_start(user, plain);
    rt_zones(1000);
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

UNIT_TEST(no_way_to_die_loses_a_record)
{
    static const struct {
        const char *name;
        rt_child run;
    } ways[] = {
        { "exit.sbt", die_by_exit },   { "now.sbt", die_by_immediate_exit },
        { "abort.sbt", die_by_abort }, { "fault.sbt", die_by_fault },
        { "kill.sbt", die_by_kill },   { "exec.sbt", die_by_exec },
    };
    rt_make_folder();
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const pid_t pid = rt_fork(ways[i].run, (void *)(uintptr_t)ways[i].name);
        rt_wait(pid);
        rt_trace trace = rt_read(rt_path(ways[i].name));
        if (rt_rows(&trace, TS_EVENT_ZONE, "counted") != 1000)
            fail_msg("%s: %zu zones", ways[i].name,
                     rt_rows(&trace, TS_EVENT_ZONE, "counted"));
        assert_int_equal(trace.count, 1000);
        assert_int_equal(trace.info->process, (uint32_t)pid);
        assert_int_equal(trace.info->lost, 0);
        rt_close(&trace);
        trace = rt_read(rt_path(ways[i].name)); // once salvaged, the same
        assert_int_equal(trace.count, 1000);
        rt_close(&trace);
    }
}

/* ---- Salvage ------------------------------------------------------------ */

static const char *side_folder(void)
{
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", rt_path("side"));
    if (mkdir(folder, 0700) && errno != EEXIST) abort();
    return folder;
}

static void leave_behind(void *user)
{
    const ts_session_desc desc = { .sidecar_dir = side_folder(),
                                   .flush_ms = 600000 };
    rt_start(user, desc);
    TS_ZONE("outer");
    TS_ZONE_VALUE("argument", 5);
    TS_ZONE("inner", "category", 0x010203);
    rt_zones(10);
    TS_MESSAGE("last words");
    ts_metadata_text(0, "left", "behind");
    raise(SIGKILL);
}

UNIT_TEST(salvage_finishes_the_trace_and_cleans_up)
{
    const char *const path = rt_path("left.sbt");
    const char *const side = side_folder();
    rt_wait(rt_fork(leave_behind, "left.sbt"));
    assert_int_equal(rt_files(side, ".ring"), 1);
    uint64_t records = 0;
    assert_int_equal(ts_salvage(path, &records), TS_OK);
    assert_int_equal(rt_files(side, ""), 0);
    rt_trace trace = rt_read(path);
    assert_true(trace.info->indexed);
    assert_int_equal(trace.info->salvaged, records);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 10);
    assert_string_equal(rt_only(&trace, TS_EVENT_MESSAGE, NULL)->text,
                        "last words");
    const rt_row *const outer = rt_only(&trace, TS_EVENT_ZONE_OPEN, "outer");
    const rt_row *const inner = rt_only(&trace, TS_EVENT_ZONE_OPEN, "inner");
    assert_int_equal(outer->values[TS_COLUMN_DEPTH], 0);
    assert_int_equal(inner->values[TS_COLUMN_DEPTH], 1);
    assert_int_equal(rt_only(&trace, TS_EVENT_ZONE_ARG, "outer")->start_tick,
                     outer->start_tick);
    assert_int_equal(trace.count, 14);
    ts_metadata left;
    assert_true(ts_reader_metadata(trace.reader, 0, "left", &left));
    rt_assert_text(left.text, "behind");
    rt_close(&trace);
    // a second time there is nothing to do
    records = 99;
    assert_int_equal(ts_salvage(path, &records), TS_OK);
    assert_int_equal(records, 0);
}

UNIT_TEST(salvage_without_the_sidecar_says_so)
{
    const char *const path = rt_path("orphan.sbt");
    rt_wait(rt_fork(leave_behind, "orphan.sbt"));
    rt_empty(side_folder());
    assert_int_equal(ts_salvage(path, NULL), TS_ERR_NOT_FOUND);
    ts_reader *reader; // what is in the file can still be read
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_false(ts_reader_info(reader)->finished);
    ts_reader_close(reader);
}

UNIT_TEST(salvage_refuses_what_is_no_trace)
{
    assert_int_equal(ts_salvage(rt_path("missing.sbt"), NULL), TS_ERR_IO);
    const char *const path = rt_path("text.sbt");
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 100; i++)
        fputs("no trace at all\n", file);
    fclose(file);
    assert_int_equal(ts_salvage(path, NULL), TS_ERR_NOT_SBT);
}

static void record_and_wait(void *user)
{
    const int *const pipe = user;
    rt_start("busy.sbt", plain);
    rt_zones(5);
    RT_CHECK(write(pipe[1], "x", 1) == 1);
    for (;;)
        pause();
}

UNIT_TEST(salvage_leaves_a_living_process_alone)
{
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    const char *const path = rt_path("busy.sbt");
    const pid_t pid = rt_fork(record_and_wait, ends);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(ts_salvage(path, NULL), TS_ERR_BUSY);
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_true(ts_reader_info(reader)->live);
    ts_reader_close(reader);
    kill(pid, SIGKILL);
    rt_wait(pid);
    close(ends[0]);
    close(ends[1]);
    rt_trace trace = rt_read(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 5);
    rt_close(&trace);
}

// The recording process may look at its own trace and go on.
UNIT_TEST(a_process_reads_its_own_live_trace)
{
    const char *const path = rt_start("own.sbt", plain);
    rt_zones(5);
    assert_int_equal(ts_session_flush(), TS_OK);
    assert_int_equal(ts_salvage(path, NULL), TS_ERR_BUSY);
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_true(ts_reader_info(reader)->live);
    rt_zones(5);
    assert_int_equal(ts_session_flush(), TS_OK);
    assert_true(ts_reader_refresh(reader));
    assert_int_equal(ts_reader_info(reader)->counts[TS_EVENT_ZONE], 10);
    ts_reader_close(reader);
    rt_zones(5);
    rt_trace trace = rt_end(path);
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "counted"), 15);
    rt_close(&trace);
}

static void try_salvage(void *user)
{
    RT_CHECK(ts_salvage(user, NULL) == TS_ERR_BUSY);
}

// POSIX record locks go when their process closes the file anywhere.
UNIT_TEST(reading_ones_own_trace_keeps_the_lock)
{
    const char *const path = rt_start("lock.sbt", plain);
    rt_zones(5);
    assert_int_equal(ts_session_flush(), TS_OK);
    const ts_reader_desc desc = { .path = path, .threads = 1 };
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    ts_reader_close(reader);
    rt_in_child(try_salvage, (void *)(uintptr_t)path);
    assert_int_equal(ts_session_stop(), TS_OK);
}

/* ---- Storm -------------------------------------------------------------- */

typedef struct storm_order {
    ts_session_desc desc;
    uint64_t *said;
    int threads;
} storm_order;

static void storm_child(void *user)
{
    const storm_order *const order = user;
    storm_victim_run(&order->desc, order->said, -1, order->threads);
}

UNIT_TEST(kill_at_any_moment_loses_and_invents_nothing)
{
    uint64_t *const said = rt_shared(sizeof(uint64_t) * STORM_THREADS);
    static const uint32_t rings[] = { 32768, 65536, 1 << 20 };
    uint64_t random = (uint64_t)getpid();
    for (int round = 0; round < 24; round++) {
        memset(said, 0, sizeof(uint64_t) * STORM_THREADS);
        random = storm_mix(random);
        storm_order order = { { .path = rt_path("storm.sbt") }, said, 1 };
        order.desc.ring_bytes = rings[random % 3];
        order.desc.policy = round % 4 == 3 ? TS_POLICY_BLOCK : TS_POLICY_HELP;
        order.desc.flush_ms = random >> 8 & 1 ? 5 : 0;
        order.threads = 1 + (int)(random >> 16 & 3);
        const pid_t pid = rt_fork(storm_child, &order);
        const struct timespec wait = { 0, (long)(random >> 32) % 20000000 };
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
        rt_wait(pid);
        if (access(order.desc.path, F_OK)) continue; // before the start
        uint64_t any = 0;
        for (int i = 0; i < STORM_THREADS; i++)
            any += said[i];
        struct stat file;
        assert_int_equal(stat(order.desc.path, &file), 0);
        if (any || file.st_size >= 64) storm_check(order.desc.path, said);
        unlink(order.desc.path);
    }
    munmap(said, sizeof(uint64_t) * STORM_THREADS);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
