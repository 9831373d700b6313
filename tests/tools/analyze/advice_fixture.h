/*
    advice_fixture.h - one rule of advice and the traces made for it

    A *scene* writes a trace: with `bad` one in which the rule must fire, else
    the same without what it looks for. Of each: the gain, computed by hand,
    and a threshold that silences it. Times of scenes are in microseconds.
*/
#ifndef ADVICE_FIXTURE_H
#define ADVICE_FIXTURE_H

#include "tests/tools/analyze/time_fixture.h"
#include "tools/analyze/advice/advice.h"

enum { US = 1000, KIB = 1024, MIB = 1024 * 1024 };
enum { PAGEABLE = 1, PINNED = 2, DEVICE = 3 };
enum { TO_DEVICE = 1, TO_HOST = 2, WITHIN = 3 };

typedef struct advised {
    made files[4];
    size_t count;
    cli_list sets;
    analyze_job job;
    advice a;
} advised;

static const cli_tool advice_tool = { .name = "test" };

/* ---- Traces ------------------------------------------------------------- */

static inline void call_at(made *m, uint32_t thread, const char *name,
                           int64_t from, int64_t to)
{
    made_call(m, thread, name, from * US, to * US);
}

static inline void zone_at(made *m, uint32_t thread, const char *name,
                           int64_t from, int64_t to)
{
    made_zone(m, thread, name, from * US, to * US);
}

static inline void kernel_at(made *m, uint32_t stream, const char *name,
                             int64_t from, int64_t to)
{
    made_kernel(m, stream, name, from * US, to * US);
}

// A call of 4 us and its kernel, 6 us after the call began.
static inline void launch_at(made *m, const char *name, int64_t at,
                             int64_t length)
{
    call_at(m, HOST, "cudaLaunchKernel", at, at + 4);
    kernel_at(m, S0, name, at + 6, at + 6 + length);
}

static inline void copy_between(made *m, uint32_t stream, uint64_t type,
                                uint64_t memory, uint64_t size, uint64_t source,
                                uint64_t address, int64_t from, int64_t to)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_TYPE, type },
        { TS_COLUMN_SIZE, size },
        { TS_COLUMN_SOURCE, source },
        { TS_COLUMN_ADDRESS, address },
        { TS_COLUMN_MEMORY, type == TO_DEVICE ? memory | DEVICE << 4
                            : type == TO_HOST ? DEVICE | memory << 4
                                              : DEVICE | DEVICE << 4 },
    };
    made_operation(m, TS_EVENT_MEMCPY, stream, from * US, to * US, values, 5);
}

static inline void copy_at(made *m, uint32_t stream, uint64_t type,
                           uint64_t memory, uint64_t size, int64_t from,
                           int64_t to)
{
    copy_between(m, stream, type, memory, size, 0, 0, from, to);
}

// A call that waits, and its synchronisation.
static inline void sync_at(made *m, ts_event_kind kind, uint32_t track,
                           int64_t from, int64_t to)
{
    call_at(m, HOST,
            kind == TS_EVENT_DEVICE_SYNC ? "cudaDeviceSynchronize"
                                         : "cudaStreamSynchronize",
            from, to);
    made_operation(m, kind, track, from * US, to * US, NULL, 0);
}

static inline void collective_at(made *m, uint32_t stream, uint64_t sequence,
                                 uint64_t size, uint64_t ranks, int64_t from,
                                 int64_t to)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_NAME, made_name(m, "all_reduce") },
        { TS_COLUMN_COMMUNICATOR, 77 },
        { TS_COLUMN_SEQUENCE, sequence },
        { TS_COLUMN_SIZE, size },
        { TS_COLUMN_RANKS, ranks },
    };
    made_operation(m, TS_EVENT_COLLECTIVE, stream, from * US, to * US, values,
                   5);
}

static inline void fact(made *m, uint32_t track, const char *key,
                        uint64_t value)
{
    ts_writer_metadata(m->w, track, key, TS_VALUE_INT, value);
}

// Four multiprocessors, each of 1,024 threads and 65,536 registers.
static inline void describe_device(made *m)
{
    fact(m, D0, "multiprocessors", 4);
    fact(m, D0, "max_threads_per_multiprocessor", 1024);
    fact(m, D0, "regs_per_multiprocessor", 65536);
    fact(m, D0, "shared_mem_per_multiprocessor", 65536);
    fact(m, D0, "warp_size", 32);
    fact(m, D0, "compute_major", 8);
}

/* ---- Advice ------------------------------------------------------------- */

typedef void (*advice_scene)(made *m, bool bad);

// Opens what was written, with a setting or NULL.
static inline void advised_open(advised *x, const char *set)
{
    char *paths[4];
    for (size_t i = 0; i < x->count; i++) {
        if (x->files[i].w)
            assert_int_equal(TS_OK, ts_writer_close(x->files[i].w));
        x->files[i].w = NULL;
        paths[i] = x->files[i].path;
    }
    if (set) x->sets.items[x->sets.count++] = set;
    x->job.tool = &advice_tool;
    x->job.options.sets = &x->sets;
    assert_true(analyze_open(&x->job, paths, (uint32_t)x->count));
}

// What one rule finds, with its gain.
static inline void advised_run(advised *x, const char *id, const char *set)
{
    advised_open(x, set);
    assert_true(advice_open(&x->a, &x->job));
    const advice_rule *rule = advice_rules;
    while (rule->id && strcmp(rule->id, id))
        rule++;
    assert_non_null(rule->id);
    rule->check(&x->a, rule);
    advice_run(&x->a);
    assert_false(x->a.failed);
}

// What the tool says of it, word for word: see report_expected.h.
static inline void advised_expect(const advised *x, const char *source,
                                  const char *name)
{
    const char *paths[4];
    for (size_t i = 0; i < x->count; i++)
        paths[i] = x->files[i].path;
    const ts_analysis_desc desc = { .paths = paths,
                                    .path_count = x->count,
                                    .only = "advice",
                                    .settings = x->sets.items,
                                    .setting_count = x->sets.count };
    report_expected(source, name, &desc);
}
#define ADVICE(x) advised_expect(x, __FILE__, __func__)

static inline void advised_close(advised *x)
{
    advice_close(&x->a);
    analyze_close(&x->job);
    for (size_t i = 0; i < x->count; i++)
        unlink(x->files[i].path);
}

static inline void advised_scene(advised *x, advice_scene scene, bool bad)
{
    memset(x, 0, sizeof *x);
    made_begin(&x->files[0], 0);
    x->count = 1;
    scene(&x->files[0], bad);
}

/* ---- Cases -------------------------------------------------------------- */

enum { NO_GAIN = -1 };
typedef struct advice_case {
    const char *id;
    advice_scene scene;
    int64_t gain_us;     // NO_GAIN: none is computed
    const char *silence; // a setting with which it is not found
    int64_t at_us;       // where it begins to show it
} advice_case;

static int wrong; // cases, so that one failure does not hide another
#define WRONG(...) (wrong++, print_error(__VA_ARGS__))

static inline void check_finding(const advice_case *c, const advice_finding *f)
{
    if (strcmp(c->id, f->rule->id) || !f->title.size || !f->what.size ||
        !f->todo.size || !f->how.size)
        WRONG("%s: its texts are not complete\n", c->id);
    if (f->has_gain != (c->gain_us != NO_GAIN))
        WRONG("%s: a gain, or none\n", c->id);
    if (f->has_gain && f->gain_ns != c->gain_us * US)
        WRONG("%s gains %d ns, not %d us\n", c->id, (int)f->gain_ns,
              (int)c->gain_us);
    if (!f->evidence.has_time && !f->evidence.operation_count && !f->trust)
        WRONG("%s: no evidence\n", c->id);
    if (f->evidence.from_ns != c->at_us * US)
        WRONG("%s shows %d ns, not %d us\n", c->id, (int)f->evidence.from_ns,
              (int)c->at_us);
}

static inline void check_case(const char *source, const advice_case *c)
{
    advised x;
    advised_scene(&x, c->scene, true);
    advised_run(&x, c->id, NULL);
    if (x.a.finding_count == 1)
        check_finding(c, &x.a.findings[0]);
    else
        WRONG("%s: %d findings, %d too small, in the bad scene\n", c->id,
              (int)x.a.finding_count, (int)x.a.dropped_count);
    advised_expect(&x, source, c->id);
    advised_close(&x);
    advised_scene(&x, c->scene, false);
    advised_run(&x, c->id, NULL);
    if (x.a.finding_count)
        WRONG("%s in the good scene: %s\n", c->id, x.a.findings[0].what.text);
    advised_close(&x);
    if (!c->silence) return;
    advised_scene(&x, c->scene, true);
    advised_run(&x, c->id, c->silence);
    if (x.a.finding_count) WRONG("%s in spite of %s\n", c->id, c->silence);
    advised_close(&x);
}

// Further, what the tool says of the bad scenes stands beside the test.
#define check_cases(cases, count) check_cases_of(__FILE__, cases, count)
static inline void check_cases_of(const char *source, const advice_case *cases,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_case(source, &cases[i]);
    assert_int_equal(0, wrong);
}

// All rules of some families have their case.
static inline void check_families(const advice_case *cases, size_t count,
                                  const char *const *families)
{
    for (const advice_rule *rule = advice_rules; rule->id; rule++)
        for (size_t i = 0; families[i]; i++) {
            if (strcmp(families[i], rule->family)) continue;
            size_t k = 0;
            while (k < count && strcmp(cases[k].id, rule->id))
                k++;
            if (k == count) fail_msg("no case for %s", rule->id);
        }
}

#endif // ADVICE_FIXTURE_H
