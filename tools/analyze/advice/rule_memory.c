/*
    rule_memory.c - advice: memory shortage, and steps that vary
*/
#include "tools/analyze/figures/operations/memory.h"
#include "tools/analyze/figures/time/steps.h"
#include "tools/analyze/advice/rule.h"
#include "tools/cli/search.h"

/* ---- Memory -------------------------------------------------------------- */

// Computes the blocks of memory once for three rules. Returns NULL if memory
// runs out.
static const memory *load_memory(advice *a)
{
    if (a->memory) return a->memory;
    const uint32_t count = a->job->file_count;
    memory_file *const files = calloc(count, sizeof *files);
    a->memory = calloc(1, sizeof *a->memory);
    for (uint32_t i = 0; files && i < count; i++) {
        ts_replay_file place = { 0 };
        ts_replay_file_at(a->replay, i, &place);
        files[i].reader = analyze_reader(a->job, i);
        files[i].offset_ns = place.offset_ns;
    }
    if (!files || !a->memory || !memory_compute(a->memory, files, count, 0)) {
        advice_close_memory(a);
        a->failed = true;
    }
    free(files);
    return a->memory;
}

void advice_close_memory(advice *a)
{
    if (a->memory) memory_close(a->memory);
    free(a->memory);
    a->memory = NULL;
}

static ts_text pool_name(const advice *a, const memory_pool *p)
{
    static const ts_text heap = { "The heap", 8 };
    const ts_text name = p->name.size ? p->name
                         : p->device ? analyze_track(a->job, p->file, p->device)
                                     : heap;
    if (!p->process) return name;
    const ts_text process = analyze_track(a->job, p->file, p->process);
    return analyze_format(
        a->job, "%.*s of %.*s", name.size < 200 ? (int)name.size : 200,
        name.text, process.size < 200 ? (int)process.size : 200, process.text);
}

static uint64_t memory_of(const advice *a, const memory_pool *p)
{
    ts_metadata m;
    return ts_reader_metadata(analyze_reader(a->job, p->file), p->device,
                              "memory_bytes", &m) &&
                   m.type == TS_VALUE_INT && m.number > 0
               ? (uint64_t)m.number
               : 0;
}

void rule_memory_full(advice *a, const advice_rule *rule)
{
    const memory *const m = load_memory(a);
    for (size_t i = 0; m && i < m->pool_count; i++) {
        const memory_pool *const p = &m->pools[i];
        const uint64_t all = p->device ? memory_of(a, p) : 0;
        if (!all || !advice_reaches(a, rule, "share", (int64_t)p->peak_size,
                                    (int64_t)all))
            continue;
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, p->file, p->peak_ns, p->peak_ns);
        f->severity = REPORT_WARNING;
        ADVICE_SAY(a, f, title, "device memory is nearly full");
        ADVICE_SAY(
            a, f, what, "%.*s holds %s at its peak, %s of the device's %s.",
            (int)pool_name(a, p).size, pool_name(a, p).text,
            cli_bytes(p->peak_size).s,
            report_words(report_share((int64_t)p->peak_size, (int64_t)all)).s,
            cli_bytes(all).s);
        ADVICE_SAY(a, f, todo,
                   "Allocations are about to fail: free what topic \"memory\" "
                   "shows at the peak, recompute activations, use smaller "
                   "batches or types, or shard the model.");
        ADVICE_SAY(a, f, how,
                   "no gain computed: this finding is about memory "
                   "size");
    }
}

void rule_memory_fragmented(advice *a, const advice_rule *rule)
{
    const memory *const m = load_memory(a);
    for (size_t i = 0; m && i < m->pool_count; i++) {
        const memory_pool *const p = &m->pools[i];
        const int64_t known = (int64_t)(p->peak_size + p->known_free);
        if (!p->known_free ||
            (int64_t)p->known_free < advice_limit(a, rule, "size") ||
            !advice_reaches(a, rule, "share", (int64_t)p->known_free, known))
            continue;
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, p->file, p->peak_ns, p->peak_ns);
        f->severity = REPORT_INFO;
        f->confidence = REPORT_LOW; // the free memory may have changed since
        ADVICE_SAY(a, f, title, "memory is fragmented at its peak");
        ADVICE_SAY(a, f, what,
                   "At the peak of %.*s (%s), another %s is in %s holes "
                   "between and around blocks; the largest is %s.",
                   (int)pool_name(a, p).size, pool_name(a, p).text,
                   cli_bytes(p->peak_size).s, cli_bytes(p->known_free).s,
                   cli_count(p->holes).s, cli_bytes(p->largest_hole).s);
        ADVICE_SAY(a, f, todo,
                   "Allocate long-lived blocks first, round sizes up, or let "
                   "the allocator map memory in segments "
                   "(expandable_segments:True in PyTorch).");
        ADVICE_SAY(a, f, how,
                   "no gain computed: this finding is about memory "
                   "size");
    }
}

/* ---- Steps --------------------------------------------------------------- */

// Returns the steps of the model, which advice_run has not run again yet.
static steps_result load_steps(advice *a)
{
    steps_result all;
    if (!steps_marked(&all, a->model)) a->failed = true;
    return all;
}

// Returns the first step that ends at a time or later.
static size_t step_at(const steps_result *steps, int64_t time_ns)
{
    size_t low = 0, high = steps->count;
    while (low < high)
        cli_halve(&low, &high,
                  steps->steps[cli_middle(low, high)].end_ns < time_ns);
    return low;
}

// Returns the live bytes of a pool at the end of each step.
static uint64_t *live_at_ends(advice *a, const memory *m, uint32_t pool,
                              const steps_result *steps)
{
    uint64_t *const live = calloc(steps->count + 1, sizeof *live);
    if (!live) a->failed = true;
    for (size_t i = 0; live && i < m->block_count; i++) {
        const memory_block *const b = &m->blocks[i];
        if (b->pool != pool) continue;
        live[step_at(steps, b->from_ns)] += b->size;
        live[step_at(steps, b->to_ns)] -= b->size;
    }
    for (size_t i = 1; live && i < steps->count; i++)
        live[i] += live[i - 1];
    return live;
}

static bool always_more(const uint64_t *live, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (live[i] <= live[i - 1]) return false;
    return true;
}

// Checks for growth from the end of the first step on, which may allocate
// lasting memory.
static void check_growth(advice *a, const advice_rule *rule, const memory *m,
                         uint32_t pool, const steps_result *steps)
{
    const memory_pool *const p = &m->pools[pool];
    uint64_t *const live = live_at_ends(a, m, pool, steps);
    const bool grows = live && always_more(live, steps->count);
    const uint64_t first = live ? live[0] : 0;
    const uint64_t before = live ? live[steps->count - 1] : 0;
    free(live);
    if (!grows) return;
    const uint64_t growth = before - first;
    if ((int64_t)growth < advice_limit(a, rule, "size")) return;
    const uint64_t each = growth / (steps->count - 1);
    advice_finding *const f = advice_find(a, rule);
    advice_show_time(f, p->file, steps->steps[0].end_ns,
                     steps->steps[steps->count - 1].end_ns);
    f->severity = REPORT_WARNING;
    f->confidence = REPORT_MEDIUM;
    ADVICE_SAY(a, f, title, "memory grows from step to step");
    ADVICE_SAY(a, f, what,
               "%.*s holds %s after the first of %s steps, more after each "
               "step, and %s after the last: %s per step.",
               (int)pool_name(a, p).size, pool_name(a, p).text,
               cli_bytes(first).s, cli_count(steps->count).s,
               cli_bytes(before).s, cli_bytes(each).s);
    ADVICE_SAY(a, f, todo,
               "Look for objects that are kept: lists of losses with their "
               "graphs, unbounded caches, buffers that are never freed. Topic "
               "\"memory\" shows what is not freed and who allocated it.");
    ADVICE_SAY(a, f, how,
               "no gain computed: this finding is about memory size");
}

void rule_memory_growth(advice *a, const advice_rule *rule)
{
    steps_result steps = load_steps(a);
    const bool enough =
        (int64_t)steps.count >= advice_limit(a, rule, "steps") &&
        steps.count > 1;
    const memory *const m = enough ? load_memory(a) : NULL;
    for (uint32_t i = 0; m && i < m->pool_count; i++)
        check_growth(a, rule, m, i, &steps);
    steps_close(&steps);
}

/* ---- slow-step ----------------------------------------------------------- */

static int64_t length_of(const steps_result *steps, size_t at)
{
    return steps->steps[at].end_ns - steps->steps[at].start_ns;
}

static int64_t median_step(advice *a, const steps_result *steps)
{
    int64_t *const times = calloc(steps->count + 1, sizeof *times);
    if (!times) {
        a->failed = true;
        return 0;
    }
    for (size_t i = 0; i < steps->count; i++)
        times[i] = length_of(steps, i);
    cli_sort_numbers(times, steps->count);
    const int64_t middle = sums_quantile(times, steps->count, 500);
    free(times);
    return middle;
}

// Returns what bounds most of the critical path within a step.
static const char *bound_of(const advice *a, const steps_step *step)
{
    const ts_step *all;
    size_t count;
    uint32_t cost = 0;
    if (ts_replay_steps(a->model, &all, &count) != TS_OK) return "nothing";
    const int64_t *const ns = all[step->mark].cost_ns;
    for (uint32_t i = 1; i < TS_COST_LIMIT; i++)
        if (ns[i] > ns[cost]) cost = i;
    return ts_cost_name(cost);
}

void rule_slow_step(advice *a, const advice_rule *rule)
{
    steps_result steps = load_steps(a);
    const int64_t usual = steps.count ? median_step(a, &steps) : 0;
    uint64_t slow = 0;
    size_t worst = 0;
    int64_t excess = 0;
    for (size_t i = 0; i < steps.count; i++) {
        const int64_t over = length_of(&steps, i) - usual;
        if (!advice_reaches(a, rule, "excess", over, usual)) continue;
        slow++;
        excess += over;
        if (slow == 1 || length_of(&steps, i) > length_of(&steps, worst))
            worst = i;
    }
    if (slow && (int64_t)steps.count >= advice_limit(a, rule, "steps")) {
        const steps_step *const s = &steps.steps[worst];
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, 0, s->start_ns, s->end_ns);
        f->severity = REPORT_WARNING;
        ADVICE_SAY(a, f, title, "some steps are much slower than others");
        ADVICE_SAY(
            a, f, what,
            "%s of %s steps %s longer than the median of %s by more than %s, "
            "by %s in total; the slowest is %s with %s, mostly bound by %s.",
            cli_count(slow).s, cli_count(steps.count).s,
            slow == 1 ? "takes" : "take", cli_time(usual).s,
            report_words(report_share(advice_limit(a, rule, "excess"), 10000))
                .s,
            cli_time(excess).s, steps_words(s).s,
            cli_time(length_of(&steps, worst)).s, bound_of(a, s));
        ADVICE_SAY(a, f, todo, "%s",
                   worst == 0 ? "The first step warms up: exclude it from "
                                "measurements."
                              : "Compare it with another step; possible causes "
                                "are checkpoints, logging, garbage collection, "
                                "late data, other processes.");
        ADVICE_SAY(a, f, how,
                   "no gain computed: the cause is shown by other findings");
    }
    steps_close(&steps);
}
