/*
    full - a small file system that fills up in the middle of recording

    usage: full [rounds [seed]]

    Each round mounts a memory file system of 2 to 16 MiB in a name space of its
    own, records on it with several threads far more than fits, sometimes frees
    room in between, and compares: the records in the trace and those that its
    ledger counts as lost must add up to all that were made. Needs the right to
    mount (root); without it, this is skipped.
*/
#define _GNU_SOURCE
#include "tests/record/soak/soak.h"

#include <sched.h>
#include <sys/mount.h>

enum { NO_MOUNT = 99, PRODUCERS = 3 };

typedef struct full_plan {
    uint64_t disk_bytes, records;
    ts_session_desc desc;
    bool rings_there, room_again;
    char folder[400], path[500];
    ts_stats stats; // of the child, when it is done
} full_plan;

static void *produce(void *user)
{
    const full_plan *const plan = user;
    char text[128];
    for (uint64_t i = 0; i < plan->records / PRODUCERS / 2; i++) {
        for (size_t k = 0; k < sizeof text - 1; k++)
            text[k] = (char)('!' + storm_mix(i * 128 + k) % 90);
        text[sizeof text - 1] = 0;
        TS_ZONE("produced");
        TS_MESSAGE(text);
    }
    return NULL;
}

static void produce_all(full_plan *plan)
{
    pthread_t threads[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        RT_CHECK(!pthread_create(&threads[i], NULL, produce, plan));
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(threads[i], NULL);
}

static void copy_out(const full_plan *plan)
{
    char buffer[65536];
    ssize_t size;
    const int in = open(plan->path, O_RDONLY);
    const int out =
        open(rt_path("full.sbt"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    RT_CHECK(in >= 0 && out >= 0);
    while ((size = read(in, buffer, sizeof buffer)) > 0)
        RT_CHECK(write(out, buffer, (size_t)size) == size);
    close(in);
    close(out);
}

static void child(void *user)
{
    full_plan *const plan = user;
    char options[64], ballast[500];
    snprintf(options, sizeof options, "size=%" PRIu64, plan->disk_bytes);
    snprintf(plan->folder, sizeof plan->folder, "%s", rt_path("small"));
    snprintf(plan->path, sizeof plan->path, "%s/full.sbt", plan->folder);
    snprintf(ballast, sizeof ballast, "%s/ballast", plan->folder);
    mkdir(plan->folder, 0700);
    if (unshare(CLONE_NEWNS) ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", plan->folder, "tmpfs", 0, options))
        _exit(NO_MOUNT);
    plan->desc.path = plan->path;
    plan->desc.sidecar_dir = plan->rings_there ? plan->folder : rt_folder;
    const int file = open(ballast, O_WRONLY | O_CREAT, 0600);
    RT_CHECK(file >= 0);
    RT_CHECK(!posix_fallocate(file, 0, (off_t)plan->disk_bytes / 4));
    close(file);
    if (ts_session_start(&plan->desc) != TS_OK) { // full from the start
        produce_all(plan);
        _exit(1);
    }
    produce_all(plan);
    if (plan->room_again) {
        unlink(ballast);
        produce_all(plan);
    }
    const ts_result result = ts_session_stop();
    ts_session_stats(&plan->stats);
    RT_CHECK((result == TS_OK) == (plan->stats.lost == 0));
    copy_out(plan);
}

// False when file systems cannot be mounted here.
static bool one_round(full_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    plan->disk_bytes = UINT64_C(2) << 20 << next(4);
    plan->records = plan->disk_bytes / 20 / (2 * PRODUCERS) * 2 * PRODUCERS;
    plan->rings_there = next(2);
    plan->room_again = next(2);
    plan->desc.policy = next(2) ? TS_POLICY_HELP : TS_POLICY_BLOCK;
    plan->desc.ring_bytes = (uint32_t)32768 << next(3);
    plan->desc.flush_ms = (uint32_t)next(3) * 2;
    const int status = rt_wait(rt_fork(child, plan));
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_MOUNT) return false;
    // with its rings there, a very small disk may be too small to start
    if (plan->rings_there && WIFEXITED(status) && WEXITSTATUS(status) == 1)
        return true;
    assert_int_equal(status, 0);
    const uint64_t made = plan->records * (plan->room_again ? 2 : 1);
    rt_trace trace = rt_open(rt_path("full.sbt"));
    const uint64_t kept = rt_count(&trace, TS_EVENT_ZONE, "produced") +
                          rt_count(&trace, TS_EVENT_MESSAGE, NULL);
    if (kept + plan->stats.lost != made || trace.info->lost != plan->stats.lost)
        fail_msg("%" PRIu64 " kept + %" PRIu64 " lost (%" PRIu64
                 " in the ledger), not %" PRIu64,
                 kept, plan->stats.lost, trace.info->lost, made);
    rt_close(&trace);
    return true;
}

UNIT_TEST(a_disk_that_fills_up_is_accounted_for)
{
    rt_make_folder();
    full_plan *const plan = rt_shared(sizeof *plan);
    for (int i = 0; i < rounds; i++) {
        fprintf(stderr, "\rround %d, seed %" PRIu64 " ", i, seed);
        if (!one_round(plan)) {
            fprintf(stderr, "\r");
            print_message("file systems cannot be mounted here\n");
            skip();
        }
    }
    fprintf(stderr, "\r");
    printf("full: %d rounds, every record accounted for\n", rounds);
}

int main(int argc, char **argv)
{
    if (!soak_begin("full", 50, argc, argv)) return 2;
    return unit_run(NULL, NULL);
}
