/*
    test_replay_random.c - several random files replay as recorded

    Random traces with everything in them; times and numbers are drawn from
    small ranges, so that many are equal.
*/
#include "tests/replay/graph/replay_forge.h"

enum { FILES = 3, OPS = 50, CALLS = 20, DEPENDENCIES = 8 };

static uint64_t below(uint64_t *seed, uint64_t limit)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
    return (*seed >> 33) % limit;
}

static op random_op(uint64_t *seed, bool queued)
{
    static const uint8_t kinds[] = { K,
                                     K,
                                     K,
                                     R,
                                     W,
                                     SS,
                                     DS,
                                     ES,
                                     TS_EVENT_MEMCPY,
                                     TS_EVENT_COLLECTIVE,
                                     TS_EVENT_COLLECTIVE,
                                     TS_EVENT_GRAPH_LAUNCH,
                                     TS_EVENT_HOST_FUNCTION,
                                     TS_EVENT_GPU_FREE };
    static const uint32_t tracks[] = { S0, S0 + 1, S0 + 2, LEGACY, FREE,
                                       T0, T0 + 1, D0,     C0,     9999 };
    static const char *const names[] = { "ncclSend", "ncclRecv", "all_reduce",
                                         NULL };
    op o = { 0 };
    o.kind = kinds[below(seed, sizeof kinds)];
    o.track = tracks[below(seed, sizeof tracks / sizeof *tracks)];
    o.queued = below(seed, 30);
    o.start = o.queued + below(seed, 2) * below(seed, 20);
    o.end = o.start + below(seed, 3) * below(seed, 20);
    if (!queued || !below(seed, 10)) o.queued = UNKNOWN;
    o.correlation = below(seed, 25);
    o.id = below(seed, 4);
    o.thread = (uint32_t)below(seed, 3) + 1;
    if (o.thread == PROCESS) o.thread = 0;
    o.name = names[below(seed, 4)];
    o.communicator = below(seed, 3);
    o.sequence = below(seed, 4);
    o.size = below(seed, 2);
    o.peer = below(seed, 4);
    o.ranks = below(seed, 5);
    o.type = below(seed, 6);
    o.memory = below(seed, 64);
    return o;
}

static call random_call(uint64_t *seed)
{
    static const char *const names[] = { "cudaLaunchKernel",
                                         "cudaStreamSynchronize",
                                         "cudaDeviceSynchronize",
                                         "cudaFree",
                                         "cudaEventQuery",
                                         "cudaMemcpyAsync",
                                         "cudaMemcpy",
                                         NULL };
    call c = { 0 };
    c.thread = HOST + (uint32_t)below(seed, 2);
    c.start = below(seed, 40);
    c.end = c.start + below(seed, 25);
    c.correlation = below(seed, 40);
    c.name = names[below(seed, sizeof names / sizeof *names)];
    c.result = below(seed, 2);
    return c;
}

static fixture random_file(uint64_t *seed)
{
    op ops[OPS];
    call calls[CALLS];
    dependency deps[DEPENDENCIES];
    const bool queued = below(seed, 2);
    for (size_t i = 0; i < OPS; i++)
        ops[i] = random_op(seed, queued);
    for (size_t i = 0; i < CALLS; i++)
        calls[i] = random_call(seed);
    for (size_t i = 0; i < DEPENDENCIES; i++) {
        deps[i].from = below(seed, 40);
        deps[i].to = below(seed, 40);
    }
    fixture x;
    work_begin(&x, 0);
    work_started(&x, below(seed, 2) * (1000 + below(seed, 30)));
    work_add(&x, ops, OPS, calls, below(seed, 3) ? CALLS : 0,
             (int)below(seed, 4));
    if (below(seed, 2)) add_dependencies(&x.f, deps, DEPENDENCIES);
    work_rank(&x, below(seed, 4));
    work_read(&x);
    return x;
}

UNIT_TEST(files_of_anything_come_out_as_they_were)
{
    for (uint64_t round = 0; round < 1500; round++) {
        uint64_t seed = round * 7919;
        fixture parts[FILES];
        const size_t count = 1 + below(&seed, FILES);
        for (size_t i = 0; i < count; i++)
            parts[i] = random_file(&seed);
        const uint32_t streams[] = { S0, LEGACY, D0, T0, 9999 };
        const uint32_t files[] = { 0, 1, 0, 1, 2 };
        const ts_replay_desc desc = {
            .streams = streams,
            .stream_files = files,
            .stream_count = below(&seed, 3) ? 0 : 5,
            .deps = (ts_deps)below(&seed, 3),
            .queue_depth = (uint32_t)below(&seed, 4),
            .connections = (uint32_t)below(&seed, 4),
            .no_inference = below(&seed, 2),
            .threads = 1 + (uint32_t)below(&seed, 3),
        };
        work_join(parts, count, &desc);
        const ts_result ran = ts_replay_run(parts[0].replay, NULL);
        assert_true(ran == TS_OK || ran == TS_ERR_NOT_FOUND);
        if (stats(&parts[0])->different)
            fail_msg("round %" PRIu64 ": %" PRIu64 " differ", round,
                     stats(&parts[0])->different);
        for (size_t i = 0; i < count; i++)
            work_close(&parts[i]);
    }
}

UNIT_TEST(edges_are_consistent)
{
    for (uint64_t round = 0; round < 300; round++) {
        uint64_t seed = round * 104729;
        fixture parts[] = { random_file(&seed), random_file(&seed) };
        work_join(parts, 2, NULL);
        const ts_graph g = ts_replay_graph(parts[0].replay);
        assert_int_equal(0, g.offsets[0]);
        assert_int_equal(g.edge_count, g.offsets[g.node_count]);
        for (uint32_t i = 0; i < g.node_count; i++)
            assert_true(g.offsets[i] <= g.offsets[i + 1]);
        for (uint32_t e = 0; e < g.edge_count; e++) {
            assert_true(g.targets[e] < g.node_count);
            assert_true(TS_EDGE_KIND(g.kinds[e]) < TS_EDGE_LIMIT);
        }
        work_close(&parts[0]);
        work_close(&parts[1]);
    }
}

UNIT_TEST(the_schedule_does_not_depend_on_threads)
{
    for (uint64_t round = 0; round < 40; round++) {
        uint64_t digests[3] = { 0 };
        for (uint32_t threads = 1; threads <= 3; threads++) {
            uint64_t seed = round;
            fixture parts[] = { random_file(&seed), random_file(&seed) };
            const ts_replay_desc desc = { .threads = threads };
            work_join(parts, 2, &desc);
            work_same(&parts[0]);
            digests[threads - 1] = stats(&parts[0])->digest ^
                                   ts_replay_graph(parts[0].replay).edge_count;
            work_close(&parts[0]);
            work_close(&parts[1]);
        }
        assert_int_equal(digests[0], digests[1]);
        assert_int_equal(digests[0], digests[2]);
    }
}

UNIT_TEST(every_failing_allocation_of_several_files_is_reported)
{
    uint64_t seed = 4;
    fixture parts[] = { random_file(&seed), random_file(&seed) };
    ts_reader *const more[] = { parts[1].reader };
    bool done = false;
    size_t tries = 0;
    for (; !done; tries++) {
        assert_true(tries < 3000);
        budget b = { tries, 0, false, false };
        const ts_replay_desc desc = { .more = more,
                                      .more_count = 1,
                                      .deps = (ts_deps)(tries % 3),
                                      .queue_depth = 1,
                                      .connections = 2,
                                      .threads = 1,
                                      .allocator = { budget_resize, &b } };
        ts_replay *replay;
        ts_result result = ts_replay_open(&replay, parts[0].reader, &desc);
        if (result == TS_OK) {
            result = ts_replay_run(replay, NULL);
            ts_replay_close(replay);
        }
        done = !b.refused;
        assert_int_equal(b.failed ? TS_ERR_MEMORY : TS_OK, result);
        assert_int_equal(0, b.held);
    }
    assert_true(tries > 50);
    work_close(&parts[0]);
    work_close(&parts[1]);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
