/*
    rule_launch.c - advice: many launches of little work
*/
#include "tools/analyze/rule.h"

static void show_mask(const advice *a, advice_finding *f,
                      const advice_mask *mask)
{
    for (uint32_t i = 0; mask->means && i < a->op_count; i++)
        if (mask->means[i]) advice_show_op(a, f, i);
}

/* ---- launch-overhead ----------------------------------------------------- */

// No launch of code that is loaded takes so long.
enum { SLOW_NS = 1000000 };

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
        // First launches load code: slow-first-launch is about them.
        if (n.duration_ns > SLOW_NS) continue;
        calls++;
        ns += n.duration_ns;
        if (n.duration_ns <= longest) continue;
        longest = n.duration_ns;
        slowest = n;
    }
    if ((int64_t)calls < advice_limit(a, rule, "count") || !calls ||
        !advice_reaches(a, rule, "share", ns, a->recorded_ns))
        return;
    advice_finding *const f = advice_find(a, rule);
    advice_show_time(f, slowest.file, slowest.recorded_ns,
                     slowest.recorded_ns + slowest.duration_ns);
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (advice_is_call(a, a->ops[i].call) &&
            advice_node(a, a->ops[i].call).duration_ns <= SLOW_NS)
            advice_mask_add(a, &mask, i);
    advice_change(a, f, TS_CHANGE_NO_LAUNCH, &mask);
    ADVICE_SAY(a, f, title, "launching takes long");
    ADVICE_SAY(a, f, what,
               "%s launches take the host %s in all, %s each (%s of the "
               "time).",
               cli_count(calls).s, cli_time(ns).s,
               cli_time(ns / (int64_t)calls).s,
               report_words(report_share(ns, a->recorded_ns)).s);
    ADVICE_SAY(a, f, todo,
               "Launch less: capture repeated work into graphs, fuse kernels, "
               "give each more to do. A profiler that records stacks makes "
               "launches slower than they are.");
    ADVICE_SAY(a, f, how,
               "replay in which launches take no time and arrive "
               "at once");
}

/* ---- tiny-kernels -------------------------------------------------------- */

// Kernels that follow each other closely are a run; neighbouring runs of a
// stream go to different masks, since neighbours of one mask are fused.
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
            show_mask(a, f, &masks[k]);
            advice_change(a, f, TS_CHANGE_FUSE, &masks[k]);
        }
        ADVICE_SAY(a, f, title, "most kernels are tiny");
        ADVICE_SAY(
            a, f, what,
            "%s of %s kernels (%s) take %s or less, %s each on average: about "
            "as long as launching them.",
            cli_count(count).s, cli_count(kernels).s,
            report_words(report_share((int64_t)count, (int64_t)kernels)).s,
            cli_time(most).s, cli_time(ns / (int64_t)count).s);
        ADVICE_SAY(a, f, todo,
                   "Fuse those that follow each other (a compiler for models, "
                   "foreach optimisers, hand-written kernels), or capture "
                   "them into a graph.");
        ADVICE_SAY(a, f, how,
                   "replay in which those that follow each other within %s are "
                   "one kernel, which is the most that fusing can gain",
                   cli_time(advice_limit(a, rule, "pause")).s);
    }
    advice_mask_close(&masks[0]);
    advice_mask_close(&masks[1]);
}

/* ---- fusible-sequence ---------------------------------------------------- */

// A run of kernels on one stream that comes again and again.
enum { RUN_MOST = 6 };
typedef struct run_key {
    uint32_t file, stream, count, launches[RUN_MOST];
} run_key;

typedef struct run {
    run_key key;
    uint64_t count;
    uint32_t first, last_end; // first occurrence; where the last one ended
    int64_t gap_ns, work_ns;  // between its kernels; of its kernels
} run;

typedef struct runs {
    run *list;
    uint32_t *slots;
    size_t count, room;
} runs;

static size_t hash_run(const run_key *key, size_t room)
{
    uint64_t hash = 1469598103934665603u;
    const uint32_t *const words = (const uint32_t *)key;
    for (size_t i = 0; i < sizeof *key / sizeof *words; i++)
        hash = (hash ^ words[i]) * 1099511628211u;
    return (size_t)(hash >> 20) & (room - 1);
}

static run *find_run(runs *all, const run_key *key)
{
    size_t at = hash_run(key, all->room);
    while (all->slots[at] != UINT32_MAX &&
           memcmp(&all->list[all->slots[at]].key, key, sizeof *key))
        at = (at + 1) & (all->room - 1);
    if (all->slots[at] != UINT32_MAX) return &all->list[all->slots[at]];
    if (2 * (all->count + 1) > all->room) return NULL; // too varied to repeat
    all->slots[at] = (uint32_t)all->count;
    run *const fresh = &all->list[all->count++];
    memset(fresh, 0, sizeof *fresh);
    fresh->key = *key;
    fresh->first = TS_NODE_NONE;
    fresh->last_end = TS_NODE_NONE;
    return fresh;
}

static bool is_short_kernel(const advice *a, uint32_t op, int64_t most)
{
    return op != TS_NODE_NONE && a->ops[op].kind == TS_EVENT_KERNEL &&
           !a->ops[op].skipped && advice_length(&a->ops[op]) <= most &&
           a->ops[op].launch;
}

// Fills the key of the run of `count` kernels that ends with an operation.
static bool run_ending(const advice *a, uint32_t op, uint32_t count,
                       int64_t most, run_key *key, uint32_t *ops)
{
    memset(key, 0, sizeof *key);
    key->file = a->ops[op].file;
    key->stream = a->ops[op].stream;
    key->count = count;
    for (uint32_t i = count; i-- > 0; op = a->ops[op].before) {
        if (!is_short_kernel(a, op, most)) return false;
        // A longer pause is no matter of fusing.
        if (i + 1 < count &&
            a->ops[ops[i + 1]].start_ns - a->ops[op].end_ns > most)
            return false;
        key->launches[i] = a->ops[op].launch;
        ops[i] = op;
    }
    return true;
}

static void count_runs(advice *a, runs *all, int64_t most)
{
    run_key key;
    uint32_t ops[RUN_MOST];
    for (uint32_t op = 0; op < a->op_count; op++)
        for (uint32_t count = 2; count <= RUN_MOST; count++) {
            if (!run_ending(a, op, count, most, &key, ops)) break;
            run *const r = find_run(all, &key);
            if (!r) continue;
            // Occurrences do not overlap.
            if (r->last_end != TS_NODE_NONE && ops[0] <= r->last_end) continue;
            if (!r->count++) r->first = ops[0];
            r->last_end = op;
            for (uint32_t i = 0; i < count; i++) {
                r->work_ns += advice_length(&a->ops[ops[i]]);
                const int64_t gap =
                    i ? a->ops[ops[i]].start_ns - a->ops[ops[i - 1]].end_ns : 0;
                if (gap > 0) r->gap_ns += gap;
            }
        }
}

// What its occurrences, first, third, ... and second, fourth, ... mean: two
// masks, so that neighbours are not fused with each other.
static void mark_run(advice *a, const run *r, int64_t most, advice_mask *masks)
{
    run_key key;
    uint32_t ops[RUN_MOST], last = TS_NODE_NONE;
    uint64_t number = 0;
    for (uint32_t op = 0; op < a->op_count; op++) {
        if (!run_ending(a, op, r->key.count, most, &key, ops) ||
            memcmp(&key, &r->key, sizeof key) ||
            (last != TS_NODE_NONE && ops[0] <= last))
            continue;
        last = op;
        for (uint32_t i = 0; i < key.count; i++)
            advice_mask_add(a, &masks[number % 2], ops[i]);
        number++;
    }
}

static ts_text run_names(const advice *a, const run *r, int64_t most)
{
    uint32_t ops[RUN_MOST], at = 0;
    run_key key;
    for (uint32_t op = r->first; op < a->op_count && !at; op++)
        if (run_ending(a, op, r->key.count, most, &key, ops) &&
            ops[0] == r->first && !memcmp(&key, &r->key, sizeof key))
            at = 1;
    ts_text names = { "", 0 };
    for (uint32_t i = 0; at && i < r->key.count; i++) {
        const ts_text name = advice_label(a, ops[i]);
        names =
            analyze_format(a->job, "%.*s%s%.*s", (int)names.size, names.text,
                           i ? ", " : "", (int)name.size, name.text);
    }
    return names;
}

static void find_fusible(advice *a, const advice_rule *rule, const run *r,
                         int64_t most)
{
    advice_mask masks[2] = { advice_mask_open(a), advice_mask_open(a) };
    mark_run(a, r, most, masks);
    advice_finding *const f = advice_find(a, rule);
    show_mask(a, f, &masks[0]);
    advice_change(a, f, TS_CHANGE_FUSE, &masks[0]);
    advice_change(a, f, TS_CHANGE_FUSE, &masks[1]);
    ADVICE_SAY(a, f, title,
               "the same short kernels follow each other again "
               "and again");
    ADVICE_SAY(a, f, what,
               "%s times: %s. Each time they work %s and wait %s between them, "
               "on average.",
               cli_count(r->count).s, run_names(a, r, most).text,
               cli_time(r->work_ns / (int64_t)r->count).s,
               cli_time(r->gap_ns / (int64_t)r->count).s);
    ADVICE_SAY(a, f, todo,
               "Write them as one kernel (a compiler for models does it): "
               "fewer launches, no gaps, and what goes from one to the next "
               "need not go through memory.");
    ADVICE_SAY(a, f, how,
               "replay in which each sequence is one kernel as long as all of "
               "them; less traffic to memory would gain more");
}

void rule_fusible_sequence(advice *a, const advice_rule *rule)
{
    const int64_t most = advice_limit(a, rule, "time");
    const uint64_t least = (uint64_t)advice_limit(a, rule, "count");
    runs all = { .room = 1024 };
    while (all.room < 4 * a->op_count && all.room < (1u << 20))
        all.room *= 2;
    all.list = calloc(all.room / 2 + 1, sizeof *all.list);
    all.slots = malloc(all.room * sizeof *all.slots);
    if (all.list && all.slots) {
        memset(all.slots, 0xFF, all.room * sizeof *all.slots);
        count_runs(a, &all, most);
        const run *best = NULL;
        for (size_t i = 0; i < all.count; i++)
            if (all.list[i].count >= least &&
                (!best || all.list[i].gap_ns > best->gap_ns))
                best = &all.list[i];
        if (best) find_fusible(a, rule, best, most);
    } else {
        a->failed = true;
    }
    free(all.list);
    free(all.slots);
}
