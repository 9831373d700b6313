/*
    rule_launch.c - advice: many launches of little work
*/
#include "tools/analyze/figures/operations/launch.h"
#include "tools/analyze/figures/time/patterns.h"
#include "tools/analyze/advice/rule.h"

/* ---- launch-overhead ----------------------------------------------------- */

void rule_launch_overhead(advice *a, const advice_rule *rule)
{
    advice_load_waits(a);
    uint64_t calls = 0;
    int64_t ns = 0, longest = 0;
    size_t wait = 0;
    ts_node slowest = { 0 };
    for (uint32_t i = 0; a->call_op && i < a->graph.call_count; i++) {
        const uint32_t call = (uint32_t)a->op_count + i;
        const bool waits = wait < a->wait_count && a->waits[wait].call == call;
        wait += waits;
        if (waits || a->call_op[i] == TS_NODE_NONE) continue;
        const ts_node n = advice_node(a, call);
        // Skip first launches, which load code: rule slow-first-launch covers
        // them.
        if (n.duration_ns > LAUNCH_LOADS_NS) continue;
        calls++;
        ns += n.duration_ns;
        if (n.duration_ns <= longest) continue;
        longest = n.duration_ns;
        slowest = n;
    }
    if ((int64_t)calls < advice_limit(a, rule, "count") || !calls ||
        !advice_reaches(a, rule, "share", ns, a->process_ns))
        return;
    advice_finding *const f = advice_find(a, rule);
    advice_show_time(f, slowest.file, slowest.recorded_ns,
                     slowest.recorded_ns + slowest.duration_ns);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (advice_is_call(a, a->ops[i].call) &&
            advice_node(a, a->ops[i].call).duration_ns <= LAUNCH_LOADS_NS)
            advice_mask_add(a, &mask, i);
    advice_change(a, f, TS_CHANGE_NO_LAUNCH, &mask);
    ADVICE_SAY(a, f, title, "launches take long");
    ADVICE_SAY(a, f, what,
               "%s launches take %s of host time in total, %s each (%s "
               "%s).",
               cli_count(calls).s, cli_time(ns).s,
               cli_time(ns / (int64_t)calls).s,
               report_words(report_share(ns, a->process_ns)).s,
               advice_of_processes(a).s);
    ADVICE_SAY(a, f, todo,
               "Launch less often: capture repeated work into graphs, fuse "
               "kernels, give each more work. Note that recording stacks makes "
               "launches slower.");
    ADVICE_SAY(a, f, how,
               "replay in which launches take no time and reach the device "
               "immediately");
}

/* ---- tiny-kernels -------------------------------------------------------- */

// Marks runs of tiny kernels that follow each other closely. Adjacent runs of a
// stream get different masks, because adjacent operations of one mask are
// fused.
static void mark_tiny(const advice *a, const advice_rule *rule,
                      advice_mask *masks)
{
    const int64_t most = advice_limit(a, rule, "time");
    const int64_t pause = advice_limit(a, rule, "pause");
    for (uint32_t i = 0; i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        if (op->kind != TS_EVENT_KERNEL || op->skipped ||
            advice_length(op) > most)
            continue;
        const uint32_t before = op->before;
        int to = 0;
        for (int k = 0; before != TS_NODE_NONE && k < 2; k++)
            if (masks[k].means && masks[k].means[before])
                to = op->start_ns - a->ops[before].end_ns > pause ? 1 - k : k;
        advice_mask_add(a, &masks[to], i);
    }
}

void rule_tiny_kernels(advice *a, const advice_rule *rule)
{
    const int64_t most = advice_limit(a, rule, "time");
    advice_mask masks[2] = { advice_mask_open(a), advice_mask_open(a) };
    uint64_t kernels = 0;
    for (uint32_t i = 0; i < a->op_count; i++)
        kernels += a->ops[i].kind == TS_EVENT_KERNEL && !a->ops[i].skipped;
    mark_tiny(a, rule, masks);
    const uint64_t count = masks[0].count + masks[1].count;
    const int64_t ns = masks[0].ns + masks[1].ns;
    if (count && (int64_t)count >= advice_limit(a, rule, "count") &&
        advice_reaches(a, rule, "share", (int64_t)count, (int64_t)kernels)) {
        advice_finding *const f = advice_find(a, rule);
        for (int k = 0; k < 2; k++) {
            advice_show_mask(a, f, &masks[k]);
            advice_change(a, f, TS_CHANGE_FUSE, &masks[k]);
        }
        ADVICE_SAY(a, f, title, "most kernels are tiny");
        ADVICE_SAY(
            a, f, what,
            "%s of %s kernels (%s) take at most %s, %s each on average: about "
            "as long as their launch.",
            cli_count(count).s, cli_count(kernels).s,
            report_words(report_share((int64_t)count, (int64_t)kernels)).s,
            cli_time(most).s, cli_time(ns / (int64_t)count).s);
        ADVICE_SAY(a, f, todo,
                   "Fuse consecutive kernels (a model compiler, foreach "
                   "optimizers, hand-written kernels), or capture them into a "
                   "graph.");
        ADVICE_SAY(a, f, how,
                   "replay in which kernels that follow each other within %s "
                   "are one kernel: an upper bound for the gain of fusing",
                   cli_time(advice_limit(a, rule, "pause")).s);
    }
    advice_mask_close(&masks[0]);
    advice_mask_close(&masks[1]);
}

/* ---- fusible-sequence ---------------------------------------------------- */

// Marks the occurrences of a pattern: the first, third, ... in one mask, the
// second, fourth, ... in another, so that adjacent ones are not fused.
static void mark_pattern(const advice *a, const patterns_result *r,
                         const patterns_pattern *p, advice_mask *masks)
{
    for (size_t i = 0; i < p->count; i++) {
        uint32_t op = p->operations[i];
        for (size_t k = 0; k < p->length && op < a->op_count; k++) {
            advice_mask_add(a, &masks[i % 2], op);
            op = r->next[op];
        }
    }
}

static ts_text pattern_names(const advice *a, const patterns_result *r,
                             const patterns_pattern *p)
{
    enum { NAMES_MOST = 6 };
    ts_text names = { "", 0 };
    uint32_t op = p->operations[0];
    for (size_t i = 0; i < p->length && op < a->op_count; op = r->next[op]) {
        const ts_text name = advice_label(a, op);
        if (i++ == NAMES_MOST)
            return analyze_format(a->job, "%.*s and %s", (int)names.size,
                                  names.text,
                                  cli_counted(p->length - NAMES_MOST,
                                              "kernel more", "kernels more")
                                      .s);
        names =
            analyze_format(a->job, "%.*s%s%.*s", (int)names.size, names.text,
                           i > 1 ? ", " : "", (int)name.size, name.text);
    }
    return names;
}

static void find_fusible(advice *a, const advice_rule *rule,
                         const patterns_result *r, const patterns_pattern *p)
{
    advice_mask masks[2] = { advice_mask_open(a), advice_mask_open(a) };
    mark_pattern(a, r, p, masks);
    advice_finding *const f = advice_find(a, rule);
    advice_show_mask(a, f, &masks[0]);
    advice_change(a, f, TS_CHANGE_FUSE, &masks[0]);
    advice_change(a, f, TS_CHANGE_FUSE, &masks[1]);
    ADVICE_SAY(a, f, title, "the same sequence of short kernels repeats");
    ADVICE_SAY(a, f, what,
               "%s: %s. On average, each repetition runs for %s and has gaps "
               "of %s.",
               cli_counted(p->count, "time", "times").s,
               pattern_names(a, r, p).text,
               cli_time(p->work_ns / (int64_t)p->count).s,
               cli_time(p->between_ns / (int64_t)p->count).s);
    ADVICE_SAY(a, f, todo,
               "Fuse them into one kernel (a model compiler does this): it "
               "saves launches, gaps, and memory traffic between the kernels.");
    ADVICE_SAY(a, f, how,
               "replay in which each sequence is one kernel with the sum of "
               "their durations; less memory traffic would gain more");
}

void rule_fusible_sequence(advice *a, const advice_rule *rule)
{
    const size_t least = (size_t)advice_limit(a, rule, "count");
    names_index names = { 0 };
    patterns_result r = { 0 };
    if (names_of_job(&names, a->job) &&
        patterns_open(&r, a->replay, &names, advice_limit(a, rule, "time"))) {
        // Patterns are sorted by the time between their kernels.
        for (size_t i = 0; i < r.count; i++) {
            if (r.list[i].count < least || !r.list[i].count) continue;
            find_fusible(a, rule, &r, &r.list[i]);
            break;
        }
    } else {
        a->failed = true;
    }
    patterns_close(&r);
    names_close(&names);
}
