// A file in the place of a sidecar that this user's recorder did not make: the
// recorder and readers do not wait for it, take it over or remove it.
#define _GNU_SOURCE
#include "tests/record/record_fixture.h"

// For the checks before a removal, which are private to the header.
#pragma GCC diagnostic ignored "-Wunused-function"
#define TRACESMITH_REPLAY_IMPLEMENTATION
#include "src/record/base/sidecar.h"
#undef TRACESMITH_REPLAY_IMPLEMENTATION

enum { RECORDS = 100 };

typedef struct place {
    const char *trace, *sidecar_dir;
} place;

static void record_and_die(void *user)
{
    const place *const p = user;
    const ts_session_desc desc = { .path = p->trace,
                                   .sidecar_dir = p->sidecar_dir,
                                   .drain = TS_DRAIN_MANUAL };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    for (int i = 0; i < RECORDS; i++)
        TS_MARK("kept");
    raise(SIGKILL);
}

static const char *folder_of_its_own(const char *name)
{
    const char *const folder = rt_path(name);
    assert_true(!mkdir(folder, 0700) || errno == EEXIST);
    rt_empty(folder);
    return folder;
}

// A trace without an end, and its sidecar in a folder of its own, to which the
// link next to the trace leads.
typedef struct scene {
    const char *trace, *folder;
    char ring[700], link[700];
    uint8_t session[16];
} scene;

static void ring_name(const scene *s, const char *folder, char *ring,
                      size_t size)
{
    char hex[33];
    for (int i = 0; i < 16; i++)
        snprintf(hex + 2 * i, 3, "%02x", s->session[i]);
    snprintf(ring, size, "%s/tracesmith-%s.ring", folder, hex);
}

static scene set_up(void)
{
    scene s = { rt_path("run.sbt"), folder_of_its_own("side"), "", "", { 0 } };
    place p = { s.trace, s.folder };
    rt_wait(rt_fork(record_and_die, &p));
    const int file = open(s.trace, O_RDONLY);
    assert_int_equal(pread(file, s.session, sizeof s.session, 16), 16);
    close(file);
    ring_name(&s, s.folder, s.ring, sizeof s.ring);
    snprintf(s.link, sizeof s.link, "%s.ring", s.trace);
    assert_int_equal(access(s.ring, F_OK), 0);
    return s;
}

static void tear_down(const scene *s)
{
    unlink(s->link);
    rt_empty(s->folder);
    rmdir(s->folder);
    unlink(s->trace);
}

// What a reader says of a trace; it may salvage.
static ts_result salvage_of(const char *path, bool no_salvage,
                            uint64_t *records)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .path = path,
                                  .threads = 1,
                                  .no_salvage = no_salvage };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    const ts_info *const info = ts_reader_info(reader);
    const ts_result result = info->salvage;
    if (records) *records = info->counts[TS_EVENT_MARK];
    assert_false(info->live);
    ts_reader_close(reader);
    return result;
}

static void assert_untrusted(const scene *s)
{
    alarm(60); // of a whole test program: nothing here may be waited for
    assert_int_equal(salvage_of(s->trace, false, NULL), TS_ERR_UNTRUSTED);
    assert_int_equal(salvage_of(s->trace, true, NULL), TS_ERR_UNTRUSTED);
    assert_int_equal(ts_salvage(s->trace, NULL), TS_ERR_UNTRUSTED);
    struct stat there;
    assert_int_equal(lstat(s->ring, &there), 0);
}

static void assert_salvaged(const char *trace)
{
    uint64_t records = 0;
    assert_int_equal(salvage_of(trace, true, NULL), TS_ERR_STATE);
    assert_int_equal(salvage_of(trace, false, &records), TS_OK);
    assert_int_equal(records, RECORDS);
}

UNIT_TEST(a_sidecar_elsewhere_is_found_by_the_link_beside_its_trace)
{
    const scene s = set_up();
    assert_salvaged(s.trace);
    assert_int_equal(access(s.ring, F_OK), -1);
    struct stat gone;
    assert_int_equal(lstat(s.link, &gone), -1);
    tear_down(&s);
}

UNIT_TEST(a_pipe_in_its_place_is_not_waited_for)
{
    const scene s = set_up();
    assert_int_equal(unlink(s.ring), 0);
    assert_int_equal(mkfifo(s.ring, 0600), 0);
    assert_untrusted(&s);
    // Beside the trace, and as the link.
    char fifo[700];
    unlink(s.link);
    ring_name(&s, rt_make_folder(), fifo, sizeof fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_untrusted(&s);
    unlink(fifo);
    assert_int_equal(mkfifo(s.link, 0600), 0);
    assert_untrusted(&s);
    tear_down(&s);
}

UNIT_TEST(a_folder_a_device_or_a_link_is_no_sidecar)
{
    const scene s = set_up();
    char moved[700];
    snprintf(moved, sizeof moved, "%s/moved", s.folder);
    assert_int_equal(rename(s.ring, moved), 0);
    assert_int_equal(mkdir(s.ring, 0700), 0);
    assert_untrusted(&s);
    assert_int_equal(rmdir(s.ring), 0);
    assert_int_equal(symlink("/dev/zero", s.ring), 0);
    assert_untrusted(&s);
    assert_int_equal(unlink(s.ring), 0);
    assert_int_equal(symlink(moved, s.ring), 0);
    assert_untrusted(&s);
    assert_int_equal(unlink(s.ring), 0);
    assert_int_equal(rename(moved, s.ring), 0);
    assert_salvaged(s.trace);
    tear_down(&s);
}

UNIT_TEST(one_that_others_may_write_to_is_left_alone)
{
    const scene s = set_up();
    static const mode_t open_to_others[] = { 0620, 0602, 0666 };
    for (int i = 0; i < 3; i++) {
        assert_int_equal(chmod(s.ring, open_to_others[i]), 0);
        assert_untrusted(&s);
    }
    assert_int_equal(chmod(s.ring, 0600), 0);
    assert_salvaged(s.trace);
    tear_down(&s);
}

UNIT_TEST(one_with_a_second_name_is_left_alone)
{
    const scene s = set_up();
    char second[700];
    snprintf(second, sizeof second, "%s/second", s.folder);
    assert_int_equal(link(s.ring, second), 0);
    assert_untrusted(&s);
    assert_int_equal(unlink(second), 0);
    assert_salvaged(s.trace);
    tear_down(&s);
}

UNIT_TEST(one_of_another_user_is_left_alone)
{
    if (geteuid()) skip(); // only root gives files away
    const scene s = set_up();
    assert_int_equal(chown(s.ring, 65534, 65534), 0);
    assert_untrusted(&s);
    // Root finishes what belongs to the trace's owner, with a copy of it: its
    // owner may change it meanwhile.
    char before[8192], after[sizeof before];
    const int ring = open(s.ring, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(ring, before, sizeof before), sizeof before);
    assert_int_equal(chown(s.trace, 65534, 65534), 0);
    assert_salvaged(s.trace);
    assert_int_equal(pread(ring, after, sizeof after, 0), sizeof after);
    assert_memory_equal(before, after, sizeof before);
    close(ring);
    tear_down(&s);
}

// A stranger's trace, finished or not, with a link beside it.
UNIT_TEST(a_link_to_another_file_takes_nothing_away)
{
    const scene s = set_up();
    char secret[700], target[700];
    snprintf(secret, sizeof secret, "%s/secret", s.folder);
    const int file = open(secret, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(file, "mine", 4), 4);
    close(file);
    assert_true(readlink(s.link, target, sizeof target) > 0);
    assert_int_equal(unlink(s.link), 0);
    assert_int_equal(symlink(secret, s.link), 0);
    assert_untrusted(&s);
    assert_int_equal(unlink(s.link), 0);
    assert_int_equal(symlink("side/../side/relative.ring", s.link), 0);
    assert_untrusted(&s);
    assert_int_equal(unlink(s.link), 0);
    assert_int_equal(symlink(s.ring, s.link), 0);
    assert_salvaged(s.trace);
    assert_int_equal(symlink(secret, s.link), 0);
    assert_int_equal(ts_salvage(s.trace, NULL), TS_OK);
    assert_int_equal(access(secret, F_OK), 0);
    tear_down(&s);
}

static void copy(const char *from, const char *to)
{
    char bytes[65536];
    const int in = open(from, O_RDONLY), out = creat(to, 0600);
    const ssize_t size = read(in, bytes, sizeof bytes);
    assert_true(size > 0 && size < (ssize_t)sizeof bytes);
    assert_int_equal(write(out, bytes, (size_t)size), size);
    close(in);
    close(out);
}

// A trace that claims to be of the same session does not get the records, and
// the sidecar stays, as long as the recorded trace exists.
UNIT_TEST(a_copy_leaves_the_records_to_its_original)
{
    const scene s = set_up();
    const char *const twin = rt_path("twin.sbt");
    char link[700];
    copy(s.trace, twin);
    snprintf(link, sizeof link, "%s.ring", twin);
    assert_int_equal(symlink(s.ring, link), 0);
    assert_int_equal(salvage_of(twin, false, NULL), TS_ERR_UNTRUSTED);
    assert_int_equal(access(s.ring, F_OK), 0);
    // The original is gone: nothing is lost.
    assert_int_equal(unlink(s.trace), 0);
    assert_salvaged(twin);
    unlink(link);
    unlink(twin);
    tear_down(&s);
}

UNIT_TEST(a_trace_keeps_its_sidecar_under_another_name)
{
    const scene s = set_up();
    const char *const other = rt_path("other.sbt");
    char link[700];
    assert_int_equal(rename(s.trace, other), 0);
    copy(other, s.trace); // its old name is another file's
    snprintf(link, sizeof link, "%s.ring", other);
    assert_int_equal(rename(s.link, link), 0);
    assert_salvaged(other);
    unlink(other);
    tear_down(&s);
}

// Between the check of a sidecar and its removal, its path or its folder is
// exchanged, as `mv` in a folder of another user would do it.
UNIT_TEST(what_came_into_its_place_meanwhile_is_not_removed)
{
    const scene s = set_up();
    char kept[720], moved[720];
    const int file = open(s.ring, O_RDONLY);
    snprintf(kept, sizeof kept, "%s.kept", s.ring);
    assert_int_equal(rename(s.ring, kept), 0);
    fclose(fopen(s.ring, "w"));
    assert_false(ts__unlink_open(s.ring, file));
    assert_int_equal(access(s.ring, F_OK), 0);
    assert_int_equal(rename(kept, s.ring), 0);
    snprintf(moved, sizeof moved, "%s.moved", s.folder);
    assert_int_equal(rename(s.folder, moved), 0);
    assert_int_equal(mkdir(s.folder, 0700), 0);
    fclose(fopen(s.ring, "w"));
    assert_false(ts__unlink_open(s.ring, file));
    assert_int_equal(access(s.ring, F_OK), 0);
    unlink(s.ring);
    rmdir(s.folder);
    assert_int_equal(rename(moved, s.folder), 0);
    assert_true(ts__unlink_open(s.ring, file));
    close(file);
    tear_down(&s);
}

/* ---- The trace itself --------------------------------------------------- */

UNIT_TEST(a_trace_that_is_no_file_is_refused_at_once)
{
    const char *const pipe = rt_path("pipe.sbt");
    const char *const paths[] = { pipe, "/dev/zero", rt_make_folder() };
    ts_reader *reader;
    assert_int_equal(mkfifo(pipe, 0600), 0);
    alarm(60);
    for (int i = 0; i < 3; i++) {
        const ts_reader_desc desc = { .path = paths[i] };
        assert_int_equal(ts_reader_open(&reader, &desc), TS_ERR_NOT_FILE);
        assert_null(reader);
    }
    assert_int_equal(ts_salvage(pipe, NULL), TS_ERR_NOT_FILE);
    const ts_session_desc record = { .path = pipe };
    assert_int_equal(ts_session_start(&record), TS_ERR_NOT_FILE);
    unlink(pipe);
}

// As a shell's <(...) gives it.
UNIT_TEST(a_pipe_without_a_name_is_read_to_its_end)
{
    const scene s = set_up();
    int ends[2];
    char path[64], bytes[4096];
    ts_reader *reader;
    assert_int_equal(pipe(ends), 0);
    const pid_t pid = fork();
    if (!pid) {
        const int in = open(s.trace, O_RDONLY);
        ssize_t size;
        close(ends[0]);
        rt_sleep_ms(100);
        while ((size = read(in, bytes, sizeof bytes)) > 0)
            if (write(ends[1], bytes, (size_t)size) != size) _exit(1);
        _exit(0);
    }
    close(ends[1]);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[0]);
    const ts_reader_desc desc = { .path = path };
    alarm(60);
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_true(ts_reader_chunk_count(reader) > 0);
    ts_reader_close(reader);
    close(ends[0]);
    assert_int_equal(rt_wait(pid), 0);
    tear_down(&s);
}

/* ---- Left behind -------------------------------------------------------- */

static void hold_open(void *user)
{
    const place *const p = user;
    const ts_session_desc desc = { .path = p->trace,
                                   .sidecar_dir = p->sidecar_dir };
    RT_CHECK(ts_session_start(&desc) == TS_OK);
    for (;;)
        pause();
}

UNIT_TEST(only_one_whose_trace_is_gone_can_be_removed)
{
    const scene s = set_up();
    ts_sidecar sidecar;
    assert_int_equal(ts_sidecar_look(s.ring, &sidecar), TS_OK);
    assert_string_equal(sidecar.trace, s.trace);
    assert_true(sidecar.process && sidecar.start_realtime_ns && sidecar.size);
    assert_int_equal(ts_sidecar_remove(s.ring), TS_ERR_STATE);
    assert_int_equal(chmod(s.ring, 0666), 0);
    assert_int_equal(ts_sidecar_remove(s.ring), TS_ERR_UNTRUSTED);
    assert_int_equal(chmod(s.ring, 0600), 0);
    assert_int_equal(unlink(s.trace), 0);
    assert_int_equal(ts_sidecar_look(s.ring, &sidecar), TS_ERR_NOT_FOUND);
    assert_int_equal(ts_sidecar_remove(s.ring), TS_OK);
    assert_int_equal(access(s.ring, F_OK), -1);
    assert_int_equal(ts_sidecar_look(s.ring, &sidecar), TS_ERR_IO);
    assert_int_equal(ts_sidecar_remove(s.ring), TS_ERR_IO);
    tear_down(&s);
}

UNIT_TEST(one_whose_trace_is_another_by_now_can_be_removed)
{
    const scene s = set_up();
    const int file = creat(s.trace, 0600);
    assert_int_equal(write(file, "another file", 12), 12);
    close(file);
    assert_int_equal(ts_sidecar_remove(s.ring), TS_OK);
    tear_down(&s);
}

UNIT_TEST(one_of_a_living_recorder_stays)
{
    place p = { rt_path("live.sbt"), folder_of_its_own("live") };
    const pid_t pid = rt_fork(hold_open, &p);
    char ring[700] = "";
    const char *const link = rt_path("live.sbt.ring");
    while (access(link, F_OK)) // made when all else is
        rt_sleep_ms(1);
    DIR *const dir = opendir(p.sidecar_dir);
    for (const struct dirent *e; (e = readdir(dir)) != NULL;)
        if (strstr(e->d_name, ".ring"))
            snprintf(ring, sizeof ring, "%s/%s", p.sidecar_dir, e->d_name);
    closedir(dir);
    assert_int_equal(unlink(p.trace), 0); // even so
    ts_sidecar sidecar;
    assert_int_equal(ts_sidecar_look(ring, &sidecar), TS_ERR_BUSY);
    assert_int_equal(ts_sidecar_remove(ring), TS_ERR_BUSY);
    kill(pid, SIGKILL);
    rt_wait(pid);
    assert_int_equal(ts_sidecar_remove(ring), TS_OK);
    unlink(link);
    rmdir(p.sidecar_dir);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
