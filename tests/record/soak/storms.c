/*
    storms - threads and processes that come and go in great numbers

    usage: storms [rounds [seed]]

    Each round picks a policy, ring sizes and a number of generations of
    threads, some of which fork. Every record is counted by who made it and
    must be in that process's trace, or in its ledger.
*/
#define _GNU_SOURCE
#include "tests/record/soak/soak.h"

static uint64_t made; // records of this process, by all its threads

static void *short_life(void *user)
{
    const uint64_t count = (uint64_t)(uintptr_t)user;
    char name[32];
    snprintf(name, sizeof name, "lives for %d", (int)count);
    TS_THREAD_NAME(name);
    for (uint64_t i = 0; i < count; i++) {
        TS_ZONE("life");
        TS_MESSAGE(name);
        TS_FLOW_STEP(i);
    }
    __atomic_fetch_add(&made, 3 * count, __ATOMIC_RELAXED);
    return NULL;
}

static void threads_come_and_go(int generations, int at_once, int steps)
{
    pthread_t threads[64];
    for (int g = 0; g < generations; g++) {
        for (int i = 0; i < at_once; i++) {
            const uintptr_t count =
                storm_mix((uint64_t)(g * at_once + i)) % (uint64_t)steps;
            if (pthread_create(&threads[i], NULL, short_life, (void *)count))
                abort();
        }
        for (int i = 0; i < at_once; i++)
            pthread_join(threads[i], NULL);
    }
}

static void assert_accounted(const char *path, uint64_t expected)
{
    rt_trace trace = rt_open(path);
    const uint64_t kept = rt_count(&trace, TS_EVENT_ZONE, "life") +
                          rt_count(&trace, TS_EVENT_MESSAGE, NULL) +
                          rt_count(&trace, TS_EVENT_FLOW, NULL);
    if (kept + trace.info->lost != expected)
        fail_msg("%s: %" PRIu64 " kept + %" PRIu64 " lost, not %" PRIu64, path,
                 kept, trace.info->lost, expected);
    rt_close(&trace);
}

static uint64_t *child_made; // shared, one for each child

static void child(void *user)
{
    made = 0; // its own trace holds its own records only
    threads_come_and_go(3, 4, 2000);
    *(uint64_t *)user = made;
    exit(0);
}

static void one_round(void)
{
    enum { CHILDREN = 4 };
    pid_t pids[CHILDREN];
    char name[64];
    const ts_session_desc desc = {
        .policy = (ts_policy)next(4),
        .ring_bytes = (uint32_t)32768 << next(5),
        .memory_bytes = UINT64_C(4) << 20 << next(5),
        .fork = TS_FORK_FOLLOW,
        .flush_ms = (uint32_t)next(2) * 3,
    };
    made = 0;
    rt_start("storm-%p.sbt", desc);
    for (int i = 0; i < CHILDREN; i++) {
        threads_come_and_go(1 + (int)next(4), 1 + (int)next(64), 3000);
        pids[i] = rt_fork(child, &child_made[i]);
    }
    threads_come_and_go(20, 8, 10);
    for (int i = 0; i < CHILDREN; i++)
        assert_int_equal(rt_wait(pids[i]), 0);
    assert_int_equal(ts_session_stop(), TS_OK);
    snprintf(name, sizeof name, "storm-%d.sbt", (int)getpid());
    assert_accounted(rt_path(name), made);
    for (int i = 0; i < CHILDREN; i++) {
        snprintf(name, sizeof name, "storm-%d.sbt", (int)pids[i]);
        assert_accounted(rt_path(name), child_made[i]);
        unlink(rt_path(name));
    }
}

UNIT_TEST(storms_of_threads_and_forks_are_accounted_for)
{
    child_made = rt_shared(4096);
    for (int i = 0; i < rounds; i++) {
        fprintf(stderr, "\rround %d, seed %" PRIu64 " ", i, seed);
        one_round();
    }
    fprintf(stderr, "\r");
    printf("storms: %d rounds, every record accounted for\n", rounds);
}

int main(int argc, char **argv)
{
    if (!soak_begin("storms", 100, argc, argv)) return 2;
    return unit_run(NULL, NULL);
}
