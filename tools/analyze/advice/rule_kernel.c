/*
    rule_kernel.c - advice: kernels that use their device poorly
*/
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/figures/operations/occupancy.h"
#include "tools/analyze/advice/rule.h"

// Kernels of one name on all ranks that a rule concerns.
typedef struct group {
    uint32_t name, first; // name: group of names; first: operation
    uint64_t count;
    int64_t ns, path_ns;
} group;

typedef struct groups {
    names_index names;
    group *list; // groups with kernels come first
    size_t count;
} groups;

static void close_groups(groups *g)
{
    names_close(&g->names);
    free(g->list);
}

static int by_path(const void *left, const void *right)
{
    const group *const a = left, *const b = right;
    if (!a->count || !b->count) return !a->count - !b->count;
    if (a->path_ns != b->path_ns) return a->path_ns > b->path_ns ? -1 : 1;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

// The thresholds that tests of kernels use, 0 where a rule has none.
typedef struct kernel_limits {
    uint64_t occupancy, empty, waves, filled;
    int64_t ns;
} kernel_limits;

static kernel_limits limits_of(const advice *a, const advice_rule *rule)
{
    const kernel_limits limits = {
        .occupancy = (uint64_t)advice_limit(a, rule, "occupancy"),
        .empty = (uint64_t)advice_limit(a, rule, "empty"),
        .waves = (uint64_t)advice_limit(a, rule, "waves"),
        .filled = (uint64_t)advice_limit(a, rule, "filled"),
        .ns = advice_limit(a, rule, "time"),
    };
    return limits;
}

typedef bool (*kernel_test)(const advice *a, const kernel_limits *limits,
                            uint32_t op);

static bool is_kernel(const advice *a, uint32_t op)
{
    return a->ops[op].kind == TS_EVENT_KERNEL && !a->ops[op].skipped;
}

// Groups the kernels that pass a test; the longest on the path come first.
static groups group_kernels(advice *a, const advice_rule *rule,
                            kernel_test test)
{
    const kernel_limits limits = limits_of(a, rule);
    groups g = { 0 };
    a->failed |= !names_of_job(&g.names, a->job);
    g.list = calloc(g.names.count + 1, sizeof *g.list);
    a->failed |= !g.list;
    for (uint32_t i = 0; i < a->op_count && !a->failed; i++) {
        if (!is_kernel(a, i) || (test && !test(a, &limits, i))) continue;
        group *const to = &g.list[g.names.of[i]];
        if (!to->count++) {
            to->name = g.names.of[i];
            to->first = i;
            g.count++;
        }
        to->ns += advice_length(&a->ops[i]);
        to->path_ns += a->path_ns[i];
    }
    if (g.list) qsort(g.list, g.names.count, sizeof *g.list, by_path);
    return g;
}

static advice_mask mask_of(advice *a, const advice_rule *rule, const groups *g,
                           const group *of, kernel_test test)
{
    const kernel_limits limits = limits_of(a, rule);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (is_kernel(a, i) && g->names.of[i] == of->name &&
            (!test || test(a, &limits, i)))
            advice_mask_add(a, &mask, i);
    return mask;
}

static int64_t kernel_time(const advice *a)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < a->op_count; i++)
        if (is_kernel(a, i)) sum += advice_length(&a->ops[i]);
    return sum;
}

static bool occupancy_at(const advice *a, uint32_t op, occupancy *o)
{
    const advice_device *const d = &a->devices[a->ops[op].device];
    return d->has_limits && occupancy_of(&d->limits, advice_launch(a, op), o);
}

// Kernels designed for low occupancy: they rely on registers and shared memory.
static const char *const tuned[] = { "gemm",   "Gemm",  "GEMM",    "cutlass",
                                     "xmma",   "nvjet", "flash",   "fmha",
                                     "Cijk_",  "cudnn", "conv",    "Conv",
                                     "cublas", "bmm_",  "ck_tile", "wgrad",
                                     "dgrad",  "fprop", NULL };

/* ---- hot-kernel ---------------------------------------------------------- */

void rule_hot_kernel(advice *a, const advice_rule *rule)
{
    const uint32_t percent = (uint32_t)advice_limit(a, rule, "assumed") / 100;
    const size_t most = (size_t)advice_limit(a, rule, "kernels");
    groups g = group_kernels(a, rule, NULL);
    for (size_t i = 0; i < g.count && i < most; i++) {
        const group *const k = &g.list[i];
        if (!advice_reaches(a, rule, "share", k->path_ns, a->makespan_ns))
            break;
        advice_mask mask = mask_of(a, rule, &g, k, NULL);
        const ts_text name = advice_label(a, k->first);
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        ts_change *const change = advice_change(a, f, TS_CHANGE_SCALE, &mask);
        change->factor.num = percent;
        change->factor.den = 100;
        f->assumed = true;
        ADVICE_SAY(a, f, title,
                   "one kernel takes a large part of the critical "
                   "path");
        ADVICE_SAY(a, f, what,
                   "%.*s runs %s, %s in total; %s of that (%s of the run) is "
                   "on the critical path.",
                   (int)name.size, name.text,
                   cli_counted(k->count, "time", "times").s, cli_time(k->ns).s,
                   cli_time(k->path_ns).s,
                   report_words(report_share(k->path_ns, a->makespan_ns)).s);
        ADVICE_SAY(a, f, todo, "%s",
                   advice_has_word(advice_raw_name(a, k->first), tuned)
                       ? "It belongs to a tuned library: try other shapes "
                         "(multiples of 64), a smaller type, the tuning "
                         "options of the library, or less computation."
                       : "Optimize this kernel first: a profile of hardware "
                         "counters shows what limits it.");
        ADVICE_SAY(a, f, how,
                   "replay in which it takes %" PRIu32 " %% of its time",
                   percent);
    }
    close_groups(&g);
}

/* ---- low-occupancy ------------------------------------------------------- */

static bool is_cramped(const advice *a, const kernel_limits *limits,
                       uint32_t op)
{
    occupancy o;
    return occupancy_at(a, op, &o) && o.limiter != OCCUPANCY_WARPS &&
           o.limiter != OCCUPANCY_GRID &&
           limits->occupancy * o.warps_most >= 10000 * o.warps &&
           !advice_has_word(advice_raw_name(a, op), tuned);
}

void rule_low_occupancy(advice *a, const advice_rule *rule)
{
    const int64_t all = kernel_time(a);
    groups g = group_kernels(a, rule, is_cramped);
    for (size_t i = 0; i < g.count && i < 3; i++) {
        const group *const k = &g.list[i];
        if (!advice_reaches(a, rule, "share", k->ns, all)) continue;
        occupancy o;
        occupancy_at(a, k->first, &o);
        const ts_launch_entry *const l = advice_launch(a, k->first);
        const ts_text name = advice_label(a, k->first);
        advice_finding *const f = advice_find(a, rule);
        advice_show_op(a, f, k->first);
        f->severity = REPORT_WARNING;
        f->confidence = REPORT_MEDIUM;
        ADVICE_SAY(a, f, title, "few threads fit on a multiprocessor");
        ADVICE_SAY(
            a, f, what,
            "%.*s (%s launches, %s, %s of the kernel time) can fill %s of the "
            "multiprocessors, limited by %s (%" PRIu32 " registers per thread, "
            "%s of shared memory per block).",
            (int)name.size, name.text, cli_count(k->count).s, cli_time(k->ns).s,
            report_words(report_share(k->ns, all)).s,
            report_words(report_share((int64_t)o.warps, (int64_t)o.warps_most))
                .s,
            occupancy_limiter_name(o.limiter), l->registers,
            cli_bytes((uint64_t)l->static_shared + l->dynamic_shared).s);
        ADVICE_SAY(a, f, todo,
                   "If the kernel waits for memory, use fewer registers "
                   "(launch bounds), less shared memory, or other block sizes. "
                   "If it hides latency in another way, change nothing.");
        ADVICE_SAY(a, f, how,
                   "no gain computed: a trace does not show how much faster it "
                   "would be");
    }
    close_groups(&g);
}

/* ---- tail-effect, small-grid --------------------------------------------- */

static bool has_tail(const advice *a, const kernel_limits *limits, uint32_t op)
{
    occupancy o;
    if (!occupancy_at(a, op, &o) || o.waves < 2) return false;
    const uint64_t slots = o.waves * o.wave_blocks;
    return o.waves <= limits->waves &&
           (slots - o.grid_blocks) * 10000 >= limits->empty * slots;
}

static bool is_small(const advice *a, const kernel_limits *limits, uint32_t op)
{
    occupancy o;
    const advice_device *const d = &a->devices[a->ops[op].device];
    return occupancy_at(a, op, &o) &&
           advice_length(&a->ops[op]) >= limits->ns &&
           o.grid_blocks * 10000 <= d->multiprocessors * limits->filled;
}

// Returns new durations for kernels that pass a test, as if they used the full
// device.
static int64_t *shrink(advice *a, const advice_rule *rule, kernel_test test,
                       bool waves, advice_mask *mask)
{
    const kernel_limits limits = limits_of(a, rule);
    int64_t *const durations = calloc(a->op_count + 1, sizeof *durations);
    if (!durations) a->failed = true;
    for (uint32_t i = 0; durations && i < a->op_count; i++) {
        const int64_t length = advice_length(&a->ops[i]);
        durations[i] = length > 0 ? length : 0;
        if (!is_kernel(a, i) || !test(a, &limits, i)) continue;
        occupancy o;
        occupancy_at(a, i, &o);
        const uint64_t all = waves
                                 ? o.waves * o.wave_blocks
                                 : a->devices[a->ops[i].device].multiprocessors;
        durations[i] = calc_part_of(length, o.grid_blocks, all);
        advice_mask_add(a, mask, i);
    }
    return durations;
}

static void find_shrunk(advice *a, const advice_rule *rule, kernel_test test,
                        bool waves)
{
    advice_mask mask = advice_mask_open(a);
    int64_t *const durations = shrink(a, rule, test, waves, &mask);
    groups g = group_kernels(a, rule, test);
    if (durations && g.count &&
        advice_reaches(a, rule, "share", mask.ns, kernel_time(a))) {
        const uint32_t first = g.list[0].first;
        occupancy o;
        occupancy_at(a, first, &o);
        const ts_text name = advice_label(a, first);
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        f->durations_ns = durations;
        f->at_most_ns = advice_path_of(a, &mask);
        const char *const have = mask.count == 1 ? "has" : "have";
        const cli_text kernels = cli_counted(mask.count, "kernel", "kernels"),
                       time = cli_time(mask.ns);
        if (waves) {
            ADVICE_SAY(a, f, title, "the last wave of blocks is nearly empty");
            ADVICE_SAY(a, f, what,
                       "%s (%s) %s a few more blocks than fit at once, mostly "
                       "%.*s: %s blocks, of which %s fit.",
                       kernels.s, time.s, have, (int)name.size, name.text,
                       cli_count(o.grid_blocks).s, cli_count(o.wave_blocks).s);
            ADVICE_SAY(a, f, todo,
                       "Choose a block size or tile that fills whole waves, "
                       "use more and smaller blocks, or blocks that fetch work "
                       "until none is left (persistent, stream-k).");
            ADVICE_SAY(a, f, how,
                       "replay in which these kernels have only full waves: an "
                       "upper bound");
        } else {
            ADVICE_SAY(a, f, title, "kernels use few multiprocessors");
            ADVICE_SAY(
                a, f, what,
                "%s (%s) %s too few blocks to fill the device, mostly %.*s: %s "
                "for %s multiprocessors.",
                kernels.s, time.s, have, (int)name.size, name.text,
                cli_counted(o.grid_blocks, "block", "blocks").s,
                cli_count(a->devices[a->ops[first].device].multiprocessors).s);
            ADVICE_SAY(a, f, todo,
                       "Split the work into more blocks (split-k, smaller "
                       "tiles, batching), or run independent kernels "
                       "concurrently on other streams.");
            ADVICE_SAY(a, f, how,
                       "replay in which these kernels fill the device and are "
                       "faster in proportion: an upper bound");
        }
        f->confidence = REPORT_MEDIUM;
    } else {
        free(durations);
    }
    advice_mask_close(&mask);
    close_groups(&g);
}

void rule_tail_effect(advice *a, const advice_rule *rule)
{
    find_shrunk(a, rule, has_tail, true);
}

void rule_small_grid(advice *a, const advice_rule *rule)
{
    find_shrunk(a, rule, is_small, false);
}
