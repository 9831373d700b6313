// Disks that fill up, files that may not grow, writes that fail.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

static uint64_t emitted; // records of the program so far

// A child has its parent's number: each test begins at none.
static int emit_nothing(void **state)
{
    emitted = 0;
    return 0;
}

// Bulky records, one message each.
static void messages(int count)
{
    char text[200];
    for (int i = 0; i < count; i++) {
        for (size_t k = 0; k < sizeof text - 1; k++)
            text[k] = (char)('!' + (k * 7 + emitted * 13 + k * emitted) % 90);
        text[sizeof text - 1] = 0;
        TS_MESSAGE(text);
        emitted++;
    }
}

static uint64_t events_of(const rt_trace *trace)
{
    uint64_t sum = 0;
    for (int kind = 1; kind < TS_EVENT_LIMIT; kind++)
        sum += rt_count(trace, (ts_event_kind)kind, NULL);
    return sum;
}

// What a child found out, for its parent to compare with the file.
typedef struct outcome {
    uint64_t emitted;
    ts_result stopped;
    ts_stats stats;
    const char *name, *sidecar;
    ts_policy policy;
} outcome;

static void assert_all_accounted(const char *path, const outcome *o,
                                 ts_loss cause)
{
    rt_trace trace = rt_open(path);
    const uint64_t kept = events_of(&trace);
    assert_true(kept > 0);
    assert_true(o->stats.lost > 0);
    assert_int_equal(kept + o->stats.lost, o->emitted);
    assert_int_equal(o->stats.lost_by[cause], o->stats.lost);
    // the ledger in the file says the same
    assert_int_equal(trace.info->lost, o->stats.lost);
    assert_int_equal(rt_lost(&trace, cause), o->stats.lost);
    rt_close(&trace);
}

/* ---- A bound on the size of files --------------------------------------- */

static void limit_files(rlim_t size)
{
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = size;
    RT_CHECK(!setrlimit(RLIMIT_FSIZE, &limit));
}

static void record_past_the_limit(void *user)
{
    outcome *const o = user;
    const ts_session_desc desc = { .ring_bytes = 65536, .policy = o->policy };
    signal(SIGXFSZ, SIG_IGN); // else the system ends the program
    rt_start(o->name, desc);
    messages(100);
    limit_files(1 << 20);
    messages(20000); // four times what may be written
    o->emitted = emitted;
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
}

UNIT_TEST_WITHIN(a_file_that_may_not_grow_loses_exactly, emit_nothing, NULL)
{
    outcome *const o = rt_shared(sizeof *o);
    for (int policy = TS_POLICY_HELP; policy <= TS_POLICY_BLOCK; policy++) {
        if (policy == TS_POLICY_OVERWRITE) continue; // writes at the end
        memset(o, 0, sizeof *o);
        o->policy = (ts_policy)policy;
        o->name = "limit.sbt";
        const char *const path = rt_path(o->name);
        rt_in_child(record_past_the_limit, o);
        rt_trace trace = rt_open(path);
        const uint64_t kept = events_of(&trace);
        assert_true(trace.info->file_bytes <= 1 << 20);
        if (policy != TS_POLICY_DROP) { // may drop all before it is written
            assert_int_equal(o->stopped, TS_ERR_DISK_FULL);
            assert_true(trace.info->file_bytes > 1 << 19);
        }
        assert_int_equal(kept + o->stats.lost, o->emitted);
        assert_int_equal(trace.info->lost, o->stats.lost);
        assert_int_equal(o->emitted, 20100);
        assert_true(o->stats.lost > 0);
        rt_close(&trace);
    }
    munmap(o, sizeof *o);
}

/* ---- A small file system ------------------------------------------------ */

// In a name space of its own, so that the mount goes away with the child.
// The trace is copied out afterwards.
static void copy_file(const char *from, const char *to)
{
    char buffer[65536];
    ssize_t size;
    const int in = open(from, O_RDONLY);
    const int out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    RT_CHECK(in >= 0 && out >= 0);
    while ((size = read(in, buffer, sizeof buffer)) > 0)
        RT_CHECK(write(out, buffer, (size_t)size) == size);
    close(in);
    close(out);
}

enum { NO_MOUNT = 99 };

static const char *mount_small(void)
{
    const char *const folder = rt_path("small");
    mkdir(folder, 0700);
    if (unshare(CLONE_NEWNS) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, "size=4m"))
        _exit(NO_MOUNT);
    return folder;
}

// Runs a child that mounts a small disk, or skips the test where it cannot.
static void on_small_disk(rt_child run, outcome *o)
{
    const int status = rt_wait(rt_fork(run, o));
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT) {
        print_message("a file system cannot be mounted here\n");
        skip();
    }
    assert_int_equal(status, 0);
}

static void record_on_small_disk(void *user)
{
    outcome *const o = user;
    const char *const folder = mount_small();
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, o->name);
    const ts_session_desc desc = { .path = path,
                                   .ring_bytes = 65536,
                                   .memory_bytes = 1 << 17,
                                   .sidecar_dir = o->sidecar };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    messages(40000);
    o->emitted = emitted;
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
    copy_file(path, rt_path(o->name));
}

UNIT_TEST_WITHIN(a_full_disk_loses_exactly_and_the_program_goes_on,
                 emit_nothing, NULL)
{
    outcome *const o = rt_shared(sizeof *o);
    o->name = "full.sbt";
    o->sidecar = rt_make_folder(); // not on the small disk
    on_small_disk(record_on_small_disk, o);
    assert_int_equal(o->emitted, 40000);
    assert_int_equal(o->stopped, TS_ERR_DISK_FULL);
    assert_all_accounted(rt_path(o->name), o, TS_LOSS_DISK_FULL);
    munmap(o, sizeof *o);
}

// If the sidecar is on the full disk too, its pages must be reserved already:
// writing into a hole would raise SIGBUS.
static void record_with_rings_on_small_disk(void *user)
{
    outcome *const o = user;
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", mount_small());
    char path[600];
    snprintf(path, sizeof path, "%s/%s", folder, o->name);
    const ts_session_desc desc = { .path = path,
                                   .ring_bytes = 65536,
                                   .memory_bytes = 1 << 18,
                                   .sidecar_dir = folder };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    messages(40000);
    o->emitted = emitted;
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
    copy_file(path, rt_path(o->name));
}

UNIT_TEST_WITHIN(rings_on_the_full_disk_are_no_danger, emit_nothing, NULL)
{
    outcome *const o = rt_shared(sizeof *o);
    o->name = "rings.sbt";
    on_small_disk(record_with_rings_on_small_disk, o);
    assert_int_equal(o->stopped, TS_ERR_DISK_FULL);
    assert_all_accounted(rt_path(o->name), o, TS_LOSS_DISK_FULL);
    munmap(o, sizeof *o);
}

static void fill(const char *path)
{
    static const char zeros[4096];
    const int file = open(path, O_WRONLY | O_CREAT, 0600);
    RT_CHECK(file >= 0);
    while (write(file, zeros, sizeof zeros) > 0) {}
    while (write(file, zeros, 1) > 0) {}
    close(file);
}

static void record_until_room_comes_back(void *user)
{
    outcome *const o = user;
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", mount_small());
    char path[600], ballast[600];
    snprintf(path, sizeof path, "%s/%s", folder, o->name);
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    const ts_session_desc desc = { .path = path,
                                   .ring_bytes = 65536,
                                   .memory_bytes = 1 << 17,
                                   .sidecar_dir = o->sidecar };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    messages(100);
    RT_CHECK(ts_session_flush() == TS_OK);
    fill(ballast);
    messages(60000);
    ts_session_flush(); // the first error may be reported here
    unlink(ballast);
    messages(500);
    ts_session_flush();
    ts_session_stats(&o->stats);
    const uint64_t lost = o->stats.lost;
    messages(500);
    o->emitted = emitted;
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
    RT_CHECK(o->stats.lost == lost); // recording works again
    copy_file(path, rt_path(o->name));
}

UNIT_TEST_WITHIN(recording_goes_on_when_there_is_room_again, emit_nothing, NULL)
{
    outcome *const o = rt_shared(sizeof *o);
    o->name = "again.sbt";
    o->sidecar = rt_make_folder();
    on_small_disk(record_until_room_comes_back, o);
    assert_int_equal(o->emitted, 61100);
    assert_all_accounted(rt_path(o->name), o, TS_LOSS_DISK_FULL);
    munmap(o, sizeof *o);
}

static void start_on_a_full_disk(void *user)
{
    char path[600], ballast[600];
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", mount_small());
    snprintf(path, sizeof path, "%s/none.sbt", folder);
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    fill(ballast);
    const ts_session_desc desc = { .path = path };
    errno = 0; // what fill() left there is not the recorder's answer
    RT_CHECK(ts_session_start(&desc) == TS_ERR_DISK_FULL);
    messages(10); // recorded nowhere, harmless
    unlink(ballast);
    const ts_session_desc rings = { .path = rt_path("rings-full.sbt"),
                                    .sidecar_dir = folder };
    fill(ballast);
    errno = 0;
    RT_CHECK(ts_session_start(&rings) == TS_ERR_DISK_FULL);
    RT_CHECK(ts_session_stop() == TS_ERR_DISK_FULL);
}

UNIT_TEST_WITHIN(a_start_on_a_full_disk_says_so, emit_nothing, NULL)
{
    rt_make_folder();
    on_small_disk(start_on_a_full_disk, NULL);
}

// Counts how often the recorder asks for disk space. Like that of libc it
// returns its error and does not set errno.
static int asked;

int posix_fallocate(int file, off_t offset, off_t size)
{
    const int kept = errno;
    __atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
    const int error = fallocate(file, 0, offset, size) == 0 ? 0 : errno;
    errno = kept;
    return error;
}

enum { WRITERS = 8, EACH = 5000 };

static void *mark_often(void *user)
{
    for (int i = 0; i < EACH; i++) {
        TS_MARK("lost for want of a ring");
        TS_COUNTER("lost as well", i);
    }
    return user;
}

static void storm_without_rings(void *user)
{
    outcome *const o = user;
    static char folder[300];
    snprintf(folder, sizeof folder, "%s", mount_small());
    char ballast[600];
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    const ts_session_desc desc = { .path = rt_path(o->name),
                                   .sidecar_dir = folder };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    fill(ballast);
    asked = 0;
    pthread_t threads[WRITERS];
    for (int i = 0; i < WRITERS; i++)
        RT_CHECK(!pthread_create(&threads[i], NULL, mark_often, NULL));
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    RT_CHECK(asked < 200); // of 80,000 records
    unlink(ballast);
    // There is room again, which the recorder notices after a while.
    for (o->emitted = 2 * WRITERS * EACH; o->emitted < 100000; o->emitted++)
        TS_MARK("recorded in the end");
    o->stopped = ts_session_stop();
    ts_session_stats(&o->stats);
}

UNIT_TEST_WITHIN(a_sidecar_that_cannot_grow_costs_little, emit_nothing, NULL)
{
    outcome *const o = rt_shared(sizeof *o);
    o->name = "no-rings.sbt";
    rt_make_folder();
    on_small_disk(storm_without_rings, o);
    assert_int_equal(o->stopped, TS_ERR_DISK_FULL);
    rt_trace trace = rt_open(rt_path(o->name));
    const uint64_t kept = events_of(&trace);
    assert_int_equal(kept + o->stats.lost, o->emitted); // each once
    assert_int_equal(trace.info->lost, o->stats.lost);
    assert_true(kept > 10000);
    assert_true(o->stats.lost >= 2 * WRITERS * EACH);
    rt_close(&trace);
    munmap(o, sizeof *o);
}

static void *mark_in_vain(void *user)
{
    for (int i = 0; i < 1000; i++)
        TS_MARK("lost for want of a ring");
    return user;
}

static void names_while_a_thread_has_no_ring(void *user)
{
    static char folder[300];
    char ballast[600], name[32];
    pthread_t other;
    snprintf(folder, sizeof folder, "%s", mount_small());
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    const ts_session_desc desc = { .path = rt_path("names.sbt"),
                                   .sidecar_dir = folder };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    TS_MARK("this thread has one");
    fill(ballast);
    RT_CHECK(!pthread_create(&other, NULL, mark_in_vain, NULL));
    pthread_join(other, NULL);
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof name, "name %d", i);
        RT_CHECK(ts_site_define(name, NULL) != 0);
    }
    RT_CHECK(ts_session_stop() == TS_ERR_DISK_FULL);
}

UNIT_TEST_WITHIN(a_thread_without_a_ring_takes_no_names_away, emit_nothing,
                 NULL)
{
    rt_make_folder();
    on_small_disk(names_while_a_thread_has_no_ring, NULL);
}

// Two functions in one line: only their names distinguish the places.
#define NAME_IN(one, two) \
    static void one(const char *name) \
    { \
        TS_ZONE_NAME(name); \
    } \
    static void two(const char *name) \
    { \
        TS_ZONE_NAME(name); \
    }
NAME_IN(name_here, name_there)

static void names_in_places_without_names(void *user)
{
    static char folder[300];
    char ballast[600], name[32];
    int i = 0;
    snprintf(folder, sizeof folder, "%s", mount_small());
    snprintf(ballast, sizeof ballast, "%s/ballast", folder);
    const ts_session_desc desc = { .path = rt_path("places.sbt"),
                                   .sidecar_dir = folder };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    TS_MARK("this thread has a ring");
    fill(ballast);
    for (uint32_t known = 1; known; i++) {
        snprintf(name, sizeof name, "name %d", i);
        known = ts_name_define(name);
    }
    name_here("nowhere");
    name_there("nowhere");
    unlink(ballast);
    while (!ts_name_define("again")) {}
    name_here("again");
    name_there("again");
    RT_CHECK(ts_session_stop() == TS_ERR_DISK_FULL);
}

UNIT_TEST_WITHIN(places_are_told_apart_after_a_full_disk, emit_nothing, NULL)
{
    rt_make_folder();
    on_small_disk(names_in_places_without_names, NULL);
    rt_trace trace = rt_read(rt_path("places.sbt"));
    assert_int_equal(rt_rows(&trace, TS_EVENT_ZONE, "again"), 2);
    const rt_row *sites[2];
    for (size_t i = 0, k = 0; i < trace.count; i++)
        if (trace.rows[i].kind == TS_EVENT_ZONE) sites[k++] = &trace.rows[i];
    assert_int_not_equal(sites[0]->values[TS_COLUMN_SITE],
                         sites[1]->values[TS_COLUMN_SITE]);
    rt_close(&trace);
}

/* ---- Other errors ------------------------------------------------------- */

// The recorder's own descriptor of the trace.
static int find_descriptor(const char *path)
{
    char link[64], target[600];
    for (int fd = 3; fd < 1024; fd++) {
        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        const ssize_t size = readlink(link, target, sizeof target - 1);
        if (size <= 0) continue;
        target[size] = 0;
        if (!strcmp(target, path)) return fd;
    }
    fail_msg("no descriptor of %s", path);
    return -1;
}

// Writes fail while a read-only descriptor replaces that of the trace.
UNIT_TEST_WITHIN(write_errors_have_a_cause_of_their_own, emit_nothing, NULL)
{
    const ts_session_desc desc = { .ring_bytes = 65536,
                                   .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("errors.sbt", desc);
    const int fd = find_descriptor(path);
    const uint64_t before = emitted;
    messages(50);
    assert_int_equal(ts_session_flush(), TS_OK);
    const int kept = dup(fd), reader = open(path, O_RDONLY);
    assert_true(kept >= 0 && reader >= 0);
    assert_int_equal(dup2(reader, fd), fd);
    messages(3000);
    assert_int_equal(ts_session_flush(), TS_ERR_IO);
    assert_int_equal(dup2(kept, fd), fd);
    messages(50);
    assert_int_equal(ts_session_stop(), TS_ERR_IO);
    close(kept);
    close(reader);
    outcome o = { .emitted = emitted - before };
    ts_session_stats(&o.stats);
    assert_all_accounted(path, &o, TS_LOSS_WRITE_ERROR);
}

// A loss has a time within the run, whichever clock its records are of.
UNIT_TEST_WITHIN(losses_have_times_of_the_session, emit_nothing, NULL)
{
    const ts_session_desc desc = { .drain = TS_DRAIN_MANUAL };
    const char *const path = rt_start("times.sbt", desc);
    const ts_gpu_device_desc device = { .name = "card" };
    const ts_gpu_stream_desc stream = { .context =
                                            ts_gpu_device_define(&device) };
    ts_gpu_op op = { .kind = TS_EVENT_MEMSET,
                     .track = ts_gpu_stream_define(&stream),
                     .clock = ts_clock_define("card"),
                     .start = 1000,
                     .end = 2000 };
    ts_clock_sample(op.clock, 1, ts_tick_now(), 100);
    assert_int_equal(ts_session_flush(), TS_OK);
    const int fd = find_descriptor(path), kept = dup(fd);
    const int reader = open(path, O_RDONLY);
    assert_int_equal(dup2(reader, fd), fd);
    for (int i = 0; i < 100; i++)
        ts_gpu_op_record(&op);
    assert_int_equal(ts_session_flush(), TS_ERR_IO);
    assert_int_equal(dup2(kept, fd), fd);
    const int64_t limit_ns = 600 * INT64_C(1000000000);
    assert_int_equal(ts_session_stop(), TS_ERR_IO);
    close(kept);
    close(reader);
    rt_trace trace = rt_open(path);
    ts_loss_row row;
    assert_int_equal(rt_lost(&trace, TS_LOSS_WRITE_ERROR), 100);
    for (size_t i = 0; ts_reader_loss(trace.reader, i, &row); i++) {
        assert_in_range(row.first_ns, 0, limit_ns);
        assert_in_range(row.last_ns, row.first_ns, limit_ns);
    }
    rt_close(&trace);
}

/* ---- Odd paths ---------------------------------------------------------- */

UNIT_TEST_WITHIN(a_device_that_is_always_full_is_an_error, emit_nothing, NULL)
{
    struct stat before, after;
    if (stat("/dev/full", &before)) skip();
    const ts_session_desc desc = { .path = "/dev/full" };
    assert_int_equal(ts_session_start(&desc), TS_ERR_NOT_FILE);
    messages(10);
    assert_int_equal(ts_session_stop(), TS_ERR_NOT_FILE);
    assert_int_equal(stat("/dev/full", &after), 0); // still what it was
    assert_true(S_ISCHR(after.st_mode));
    assert_int_equal(before.st_ino, after.st_ino);
}

UNIT_TEST_WITHIN(a_trace_that_is_deleted_is_no_harm, emit_nothing, NULL)
{
    const ts_session_desc desc = { .ring_bytes = 65536 };
    const char *const path = rt_start("deleted.sbt", desc);
    messages(1000);
    assert_int_equal(unlink(path), 0);
    messages(1000);
    assert_int_equal(ts_session_stop(), TS_OK);
    ts_stats stats;
    ts_session_stats(&stats);
    assert_int_equal(stats.lost, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
