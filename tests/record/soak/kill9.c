/*
    kill9 - kill a recording process at random moments, compare what it said

    usage: kill9 [rounds [seed]]

    Each round runs a victim with 1 to 4 threads that record every kind of
    thing and report each call, through a pipe or, faster, through shared
    memory. It is killed after 0 to 40 ms. Its trace must hold everything that
    was reported and nothing that was not done, also when the salvage is killed
    now and then.
*/
#define _GNU_SOURCE
#include "tests/record/soak/soak.h"

#include <poll.h>

typedef struct round_plan {
    ts_session_desc desc;
    int threads;
    bool by_pipe;
    uint64_t kill_after_ns;
    uint64_t *said; // shared
    int ends[2];
} round_plan;

static void plan_round(round_plan *plan, const char *path, uint64_t *said)
{
    memset(plan, 0, sizeof *plan);
    plan->desc.path = path;
    // on disk; in /dev/shm those killed in their start would stay for ever
    if (next(4)) plan->desc.sidecar_dir = rt_make_folder();
    plan->desc.ring_bytes = (uint32_t)32768 << next(6);
    plan->desc.policy = next(3) ? TS_POLICY_HELP : TS_POLICY_BLOCK;
    plan->desc.flush_ms = (uint32_t)next(3) * 5;
    plan->threads = 1 + (int)next(STORM_THREADS);
    plan->by_pipe = next(2);
    plan->kill_after_ns = next(40000000);
    plan->said = said;
}

static void victim(void *user)
{
    round_plan *const plan = user;
    if (plan->by_pipe) close(plan->ends[0]);
    storm_victim_run(&plan->desc, plan->said,
                     plan->by_pipe ? plan->ends[1] : -1, plan->threads);
}

static void salvage(void *user)
{
    ts_salvage(user, NULL);
}

// In a part of the rounds salvage itself is killed, once or more.
static void disturb_salvage(const char *path)
{
    for (uint64_t i = next(4) ? 0 : 1 + next(4); i > 0; i--) {
        const pid_t pid = rt_fork(salvage, (void *)(uintptr_t)path);
        const struct timespec wait = { 0, (long)next(10000000) };
        nanosleep(&wait, NULL);
        kill(pid, SIGKILL);
        rt_wait(pid);
    }
}

// Takes words of the pipe until `until`, or to its end if that is 0.
static void listen_to(const round_plan *plan, uint64_t until)
{
    uint64_t words[512];
    for (;;) {
        const uint64_t now = rt_now_ns(CLOCK_MONOTONIC);
        if (until && now >= until) return;
        struct pollfd poll_fd = { plan->ends[0], POLLIN, 0 };
        const struct timespec left = { 0, until ? (long)(until - now) : 0 };
        if (ppoll(&poll_fd, 1, until ? &left : NULL, NULL) <= 0) continue;
        const ssize_t size = read(plan->ends[0], words, sizeof words);
        if (size <= 0) return;
        for (size_t i = 0; i < (size_t)size / sizeof *words; i++)
            plan->said[words[i] >> 40] = words[i] & 0xFFFFFFFFFF;
    }
}

static uint64_t run_round(round_plan *plan)
{
    memset(plan->said, 0, sizeof(uint64_t) * STORM_THREADS);
    if (plan->by_pipe && pipe(plan->ends)) abort();
    const uint64_t until = rt_now_ns(CLOCK_MONOTONIC) + plan->kill_after_ns;
    const pid_t pid = rt_fork(victim, plan);
    if (plan->by_pipe) {
        close(plan->ends[1]);
        listen_to(plan, until);
    } else {
        const struct timespec wait = { 0, (long)plan->kill_after_ns };
        nanosleep(&wait, NULL);
    }
    kill(pid, SIGKILL);
    const int status = rt_wait(pid);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
        fail_msg("the victim ended by itself, status %d", status);
    if (plan->by_pipe) {
        listen_to(plan, 0);
        close(plan->ends[0]);
    }
    struct stat file;
    uint64_t said = 0;
    for (int i = 0; i < STORM_THREADS; i++)
        said += plan->said[i];
    // killed before or in the middle of its start
    if (!said && (stat(plan->desc.path, &file) || file.st_size < 64)) return 0;
    disturb_salvage(plan->desc.path);
    return storm_check(plan->desc.path, plan->said);
}

UNIT_TEST(every_record_said_is_saved_and_none_invented)
{
    uint64_t *const said = rt_shared(sizeof(uint64_t) * STORM_THREADS);
    uint64_t records = 0;
    int started = 0;
    for (int i = 0; i < rounds; i++) {
        round_plan plan;
        const uint64_t before = seed;
        plan_round(&plan, rt_path("victim.sbt"), said);
        fprintf(stderr, "\rround %d, seed %" PRIu64 " ", i, before);
        const uint64_t found = run_round(&plan);
        records += found;
        started += found > 0;
        unlink(plan.desc.path);
    }
    fprintf(stderr, "\r");
    printf("kill9: %d rounds, %d with records, %" PRIu64
           " records saved, 0 lost, 0 invented\n",
           rounds, started, records);
}

int main(int argc, char **argv)
{
    if (!soak_begin("kill9", 1000, argc, argv)) return 2;
    return unit_run(NULL, NULL);
}
