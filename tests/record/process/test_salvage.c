// Salvage under bad conditions: itself killed, two at once, a sidecar that
// is damaged, full rings at the moment of death.
#define _GNU_SOURCE
#include "tests/record/process/storm.h"

static uint64_t random_state = 1;

static uint64_t next(uint64_t limit)
{
    random_state = storm_mix(random_state);
    return (random_state >> 20) % limit;
}

/* ---- Full rings --------------------------------------------------------- */

typedef struct flight {
    ts_session_desc desc;
    uint64_t *said;
    uint64_t limit; // dies after so many
} flight;

static void record_flows(void *user)
{
    const flight *const f = user;
    RT_CHECK(ts_session_start(&f->desc) == TS_OK);
    for (uint64_t i = 0; i < f->limit; i++) {
        TS_FLOW_STEP(i);
        __atomic_store_n(f->said, i + 1, __ATOMIC_RELEASE);
    }
    raise(SIGKILL);
}

UNIT_TEST(a_crash_keeps_what_a_flight_recorder_holds)
{
    uint64_t *const said = rt_shared(sizeof *said);
    for (int round = 0; round < 6; round++) {
        flight f = { { .path = rt_path("flight.sbt"),
                       .policy = TS_POLICY_OVERWRITE,
                       .ring_bytes = 32768 },
                     said,
                     round ? UINT64_MAX : 50000 };
        *said = 0;
        const pid_t pid = rt_fork(record_flows, &f);
        if (round) {
            while (!__atomic_load_n(said, __ATOMIC_ACQUIRE))
                rt_sleep_ms(1);
            rt_sleep_ms(5 + (long)next(10));
            kill(pid, SIGKILL);
        }
        rt_wait(pid);
        rt_trace trace = rt_read(f.desc.path);
        const uint64_t last = trace.rows[trace.count - 1].values[TS_COLUMN_ID];
        assert_in_range(last + 1, *said, *said + 1);
        for (size_t i = 0; i < trace.count; i++)
            assert_int_equal(trace.rows[i].values[TS_COLUMN_ID],
                             last + 1 - trace.count + i);
        if (*said > 2000) assert_true(trace.count > 256);
        // what went before is counted; the one that it was at may be, too,
        // as if each of its four slots were a record
        assert_in_range(trace.count + trace.info->lost, last + 1, last + 5);
        rt_close(&trace);
    }
    munmap(said, sizeof *said);
}

UNIT_TEST(a_crash_keeps_the_count_of_what_was_dropped)
{
    uint64_t *const said = rt_shared(sizeof *said);
    flight f = { { .path = rt_path("drop.sbt"),
                   .policy = TS_POLICY_DROP,
                   .drain = TS_DRAIN_MANUAL,
                   .ring_bytes = 32768 },
                 said,
                 30000 };
    rt_wait(rt_fork(record_flows, &f));
    rt_trace trace = rt_open(f.desc.path);
    assert_int_equal(rt_count(&trace, TS_EVENT_FLOW, NULL) +
                         rt_lost(&trace, TS_LOSS_RING_FULL),
                     30000);
    assert_int_equal(trace.info->lost, rt_lost(&trace, TS_LOSS_RING_FULL));
    rt_close(&trace);
    munmap(said, sizeof *said);
}

/* ---- Interrupted, several at once --------------------------------------- */

typedef struct victim_order {
    ts_session_desc desc;
    uint64_t *said;
} victim_order;

static void be_victim(void *user)
{
    const victim_order *const order = user;
    storm_victim_run(&order->desc, order->said, -1, 2);
}

// A trace and its sidecar, as a kill -9 leaves them.
static void leave_behind(const char *path, const char *side, uint64_t *said)
{
    victim_order order = {
        { .path = path, .sidecar_dir = side, .ring_bytes = 1 << 18 }, said
    };
    memset(said, 0, sizeof(uint64_t) * STORM_THREADS);
    const pid_t pid = rt_fork(be_victim, &order);
    while (__atomic_load_n(&said[0], __ATOMIC_ACQUIRE) < 3000)
        rt_sleep_ms(1);
    kill(pid, SIGKILL);
    rt_wait(pid);
}

static void salvage_it(void *user)
{
    ts_salvage(user, NULL);
}

UNIT_TEST(salvage_may_be_killed_and_begun_again)
{
    uint64_t *const said = rt_shared(sizeof(uint64_t) * STORM_THREADS);
    const char *const path = rt_path("again.sbt");
    for (int round = 0; round < 10; round++) {
        leave_behind(path, rt_make_folder(), said);
        for (int i = 0; i < 6; i++) {
            const pid_t pid = rt_fork(salvage_it, (void *)(uintptr_t)path);
            const struct timespec wait = { 0, (long)next(6000000) };
            nanosleep(&wait, NULL);
            kill(pid, SIGKILL);
            rt_wait(pid);
        }
        storm_check(path, said);
        // killed between the end and the clean-up: this call cleans up
        assert_int_equal(ts_salvage(path, NULL), TS_OK);
        unlink(path);
    }
    assert_int_equal(rt_files(rt_make_folder(), ".ring"), 0);
    munmap(said, sizeof(uint64_t) * STORM_THREADS);
}

// What salvage has already moved does not count as overwritten.
UNIT_TEST(salvage_of_a_flight_recorder_may_be_killed)
{
    uint64_t *const said = rt_shared(sizeof *said);
    flight f = { { .path = rt_path("flight.sbt"),
                   .policy = TS_POLICY_OVERWRITE,
                   .ring_bytes = 1 << 20 },
                 said,
                 100000 };
    for (int round = 0; round < 10; round++) {
        rt_wait(rt_fork(record_flows, &f));
        for (int i = 0; i < 4; i++) {
            const pid_t pid =
                rt_fork(salvage_it, (void *)(uintptr_t)f.desc.path);
            const struct timespec wait = { 0, (long)next(6000000) };
            nanosleep(&wait, NULL);
            kill(pid, SIGKILL);
            rt_wait(pid);
        }
        rt_trace trace = rt_read(f.desc.path);
        for (size_t i = 0; i < trace.count; i++)
            assert_int_equal(trace.rows[i].values[TS_COLUMN_ID],
                             100000 - trace.count + i);
        assert_int_equal(trace.count + trace.info->lost, 100000);
        assert_int_equal(trace.info->salvaged, trace.count);
        rt_close(&trace);
    }
    munmap(said, sizeof *said);
}

UNIT_TEST(several_may_salvage_at_once)
{
    uint64_t *const said = rt_shared(sizeof(uint64_t) * STORM_THREADS);
    const char *const path = rt_path("race.sbt");
    for (int round = 0; round < 10; round++) {
        pid_t pids[4];
        leave_behind(path, rt_make_folder(), said);
        for (int i = 0; i < 4; i++)
            pids[i] = rt_fork(salvage_it, (void *)(uintptr_t)path);
        for (int i = 0; i < 4; i++)
            assert_int_equal(rt_wait(pids[i]), 0);
        storm_check(path, said);
        unlink(path);
    }
    munmap(said, sizeof(uint64_t) * STORM_THREADS);
}

/* ---- A damaged sidecar -------------------------------------------------- */

static void find_ring(const char *folder, char *path, size_t size)
{
    DIR *const dir = opendir(folder);
    assert_non_null(dir);
    const struct dirent *entry;
    path[0] = 0;
    while ((entry = readdir(dir)) != NULL)
        if (strstr(entry->d_name, ".ring"))
            snprintf(path, size, "%s/%s", folder, entry->d_name);
    closedir(dir);
    assert_true(path[0]);
}

static uint8_t *load_file(const char *path, size_t *size)
{
    struct stat status;
    const int file = open(path, O_RDONLY);
    assert_true(file >= 0);
    assert_int_equal(fstat(file, &status), 0);
    *size = (size_t)status.st_size;
    uint8_t *const bytes = malloc(*size);
    assert_non_null(bytes);
    assert_int_equal(read(file, bytes, *size), *size);
    close(file);
    return bytes;
}

static void store_file(const char *path, const uint8_t *bytes, size_t size)
{
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, size), size);
    close(file);
}

static void salvage_and_read(void *user)
{
    const ts_reader_desc desc = { .path = user, .threads = 1 };
    ts_reader *reader;
    alarm(120);
    if (ts_reader_open(&reader, &desc) != TS_OK) return;
    ts_reader_verify(reader);
    ts_reader_close(reader);
}

// Whatever the bytes are: no crash, no hang, and what the trace itself held
// before stays readable.
UNIT_TEST(a_damaged_sidecar_is_no_danger)
{
    uint64_t *const said = rt_shared(sizeof(uint64_t) * STORM_THREADS);
    const char *const path = rt_path("hurt.sbt");
    char ring[600];
    size_t trace_size, ring_size;
    rt_empty(rt_make_folder());
    leave_behind(path, rt_make_folder(), said);
    find_ring(rt_make_folder(), ring, sizeof ring);
    uint8_t *const trace = load_file(path, &trace_size);
    uint8_t *const good = load_file(ring, &ring_size);
    uint8_t *const bad = malloc(ring_size);
    if (!bad) abort();
    for (int round = 0; round < 150; round++) {
        size_t size = ring_size;
        memcpy(bad, good, ring_size);
        if (round % 5 == 0) size = next(ring_size);
        // the header matters most, so most damage is done there
        for (uint64_t i = 0; i < 1 + next(8); i++) {
            const uint64_t limit = next(3) ? 4096 : ring_size;
            bad[next(limit)] = (uint8_t)(next(4) ? next(256) : 255);
        }
        store_file(path, trace, trace_size);
        store_file(ring, bad, size);
        const int status =
            rt_wait(rt_fork(salvage_and_read, (void *)(uintptr_t)path));
        if (status) {
            fail_msg("round %d: status %d", round, status);
        }
        unlink(ring);
    }
    free(trace);
    free(good);
    free(bad);
    munmap(said, sizeof(uint64_t) * STORM_THREADS);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
