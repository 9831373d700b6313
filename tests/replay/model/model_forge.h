/*
    model_forge.h - two threads that launch, for tests of models and what-ifs

    Times are in microseconds here. `steady` is a thread that launches a kernel
    of 10 us every 20 us, each of which starts 6 us after its call began;
    `burst` one that launches every 5 us, so that kernels follow each other
    2 us apart.
*/
#ifndef TESTS_MODEL_FORGE_H
#define TESTS_MODEL_FORGE_H

#include "tests/replay/graph/replay_forge.h"

enum { KERNELS = 20, US = 1000 };

static inline void steady_work(op *ops, call *calls)
{
    for (uint32_t i = 0; i < KERNELS; i++) {
        const uint64_t at = 20 * US * (uint64_t)i;
        const call c = { HOST, at, at + 4 * US, i + 1, "launch", 0 };
        const op k = { .kind = K,
                       .track = S0,
                       .start = at + 6 * US,
                       .end = at + 16 * US,
                       .queued = UNKNOWN,
                       .correlation = i + 1 };
        calls[i] = c;
        ops[i] = k;
    }
}

static inline fixture steady(void)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    return WORK_CALLS(ops, calls);
}

static inline fixture burst(void)
{
    op ops[KERNELS];
    call calls[KERNELS];
    steady_work(ops, calls);
    for (uint32_t i = 0; i < KERNELS; i++) {
        calls[i].start = 5 * US * (uint64_t)i;
        calls[i].end = calls[i].start + 4 * US;
        ops[i].start = (6 + 12 * (uint64_t)i) * US;
        ops[i].end = ops[i].start + 10 * US;
    }
    return WORK_CALLS(ops, calls);
}

static inline int64_t model(fixture *x, const ts_change *changes, size_t count)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = count };
    assert_int_equal(TS_OK, ts_replay_run(x->replay, &desc));
    assert_int_equal(0, (stats(x)->end_ns - stats(x)->start_ns) % US);
    return (stats(x)->end_ns - stats(x)->start_ns) / US;
}

static inline int64_t with(fixture *x, ts_change change)
{
    return model(x, &change, 1);
}

static inline ts_path path_of(fixture *x)
{
    ts_path path;
    assert_int_equal(TS_OK, ts_replay_path(x->replay, &path));
    int64_t sum = 0, at = stats(x)->start_ns;
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        sum += path.cost_ns[i];
    assert_int_equal(stats(x)->end_ns - stats(x)->start_ns, sum);
    for (size_t i = 0; i < path.count; i++) {
        assert_int_equal(at, path.parts[i].start_ns);
        assert_true(path.parts[i].end_ns > at);
        at = path.parts[i].end_ns;
    }
    assert_int_equal(stats(x)->end_ns, at);
    return path;
}

static inline void expect_costs(fixture *x, int64_t host, int64_t launch,
                                int64_t compute, int64_t copy, int64_t sync)
{
    const ts_path path = path_of(x);
    assert_int_equal(host * US, path.cost_ns[TS_COST_HOST]);
    assert_int_equal(launch * US, path.cost_ns[TS_COST_LAUNCH]);
    assert_int_equal(compute * US, path.cost_ns[TS_COST_COMPUTE]);
    assert_int_equal(copy * US, path.cost_ns[TS_COST_COPY]);
    assert_int_equal(sync * US, path.cost_ns[TS_COST_SYNC]);
}

static inline ts_delay delay_of(const fixture *x, ts_edge_kind kind)
{
    ts_delay d;
    for (size_t i = 0; ts_replay_delay(x->replay, i, &d); i++)
        if (d.kind == (uint32_t)kind && d.device) return d;
    fail_msg("no delay of %s", ts_edge_name(kind));
    return d;
}

static const ts_ratio half = { 1, 2 }, triple = { 3, 1 };

#endif // TESTS_MODEL_FORGE_H
