/*
    findings.c - findings, their changes, and the gains of these
*/
#include "tools/analyze/advice/advice.h"

/* ---- Findings ------------------------------------------------------------ */

advice_finding *advice_find(advice *a, const advice_rule *rule)
{
    static _Thread_local advice_finding
        spare; // without memory the finding is discarded
    if (!cli_grow(&a->findings, &a->finding_room, a->finding_count + 1,
                  sizeof *a->findings)) {
        a->failed = true;
        memset(&spare, 0, sizeof spare);
        spare.rule = rule;
        return &spare;
    }
    advice_finding *const f = &a->findings[a->finding_count++];
    memset(f, 0, sizeof *f);
    f->rule = rule;
    f->found_index = a->finding_count - 1;
    return f;
}

void advice_show_time(advice_finding *f, uint32_t file, int64_t from_ns,
                      int64_t to_ns)
{
    f->evidence.file = file;
    f->evidence.has_time = true;
    f->evidence.from_ns = from_ns;
    f->evidence.to_ns = to_ns;
}

void advice_show_op(const advice *a, advice_finding *f, uint32_t op)
{
    report_evidence *const e = &f->evidence;
    const advice_op *const o = &a->ops[op];
    const int64_t length = advice_length(o);
    uint32_t at = e->operation_count;
    while (at && advice_length(&a->ops[e->operations[at - 1]]) < length)
        at--;
    if (at == REPORT_EVIDENCE_MOST) return;
    uint32_t last = e->operation_count;
    if (last == REPORT_EVIDENCE_MOST) last--;
    for (uint32_t i = last; i > at; i--)
        e->operations[i] = e->operations[i - 1];
    e->operations[at] = op;
    e->operation_count = last + 1;
    if (at == 0) {
        f->longest_ns = length;
        advice_show_time(f, o->file, o->start_ns, o->end_ns);
    }
}

/* ---- Masks --------------------------------------------------------------- */

advice_mask advice_mask_open(advice *a)
{
    advice_mask mask = { 0 };
    mask.means = calloc(a->op_count + 1, sizeof *mask.means);
    if (!mask.means) a->failed = true;
    return mask;
}

void advice_mask_add(const advice *a, advice_mask *mask, uint32_t op)
{
    if (!mask->means || mask->means[op]) return;
    mask->means[op] = true;
    mask->count++;
    mask->ns += advice_length(&a->ops[op]);
}

void advice_show_mask(const advice *a, advice_finding *f,
                      const advice_mask *mask)
{
    for (uint32_t i = 0; mask->means && i < a->op_count; i++)
        if (mask->means[i]) advice_show_op(a, f, i);
}

advice_finding *advice_find_mask(advice *a, const advice_rule *rule,
                                 const advice_mask *mask)
{
    advice_finding *const f = advice_find(a, rule);
    advice_show_mask(a, f, mask);
    return f;
}

void advice_mask_close(advice_mask *mask)
{
    free(mask->means);
    memset(mask, 0, sizeof *mask);
}

int64_t advice_path_of(const advice *a, const advice_mask *mask)
{
    int64_t sum = 0;
    uint32_t call = TS_NODE_NONE;
    for (uint32_t i = 0; mask->means && i < a->op_count; i++) {
        if (!mask->means[i]) continue;
        sum += a->spent_ns[i];
        // The operations of one call are mostly adjacent.
        if (a->ops[i].call != call && a->ops[i].call != TS_NODE_NONE)
            sum += a->spent_ns[a->ops[i].call];
        call = a->ops[i].call;
    }
    return sum < a->makespan_ns ? sum : a->makespan_ns;
}

static ts_change *add_change(advice *a, advice_finding *f, ts_change_type type)
{
    static _Thread_local ts_change spare;
    if (f->change_count == ADVICE_CHANGES) {
        a->failed = true;
        return &spare;
    }
    ts_change *const change = &f->changes[f->change_count++];
    memset(change, 0, sizeof *change);
    change->type = type;
    return change;
}

// Whether a gain is bounded by the path time of the changed operations.
// Removing edges may uncover any path.
static bool is_bounded(ts_change_type type)
{
    return type == TS_CHANGE_SCALE || type == TS_CHANGE_REMOVE ||
           type == TS_CHANGE_TRANSFER || type == TS_CHANGE_NO_LAUNCH;
}

ts_change *advice_change(advice *a, advice_finding *f, ts_change_type type,
                         advice_mask *mask)
{
    ts_change *const change = add_change(a, f, type);
    const int64_t most =
        is_bounded(type) && mask ? advice_path_of(a, mask) : a->makespan_ns;
    f->at_most_ns = f->at_most_ns > a->makespan_ns - most
                        ? a->makespan_ns
                        : f->at_most_ns + most;
    if (mask) {
        change->operations = mask->means;
        mask->means = NULL;
    }
    return change;
}

/* ---- Spans --------------------------------------------------------------- */

void advice_span_add(advice *a, advice_spans *spans, uint32_t file,
                     uint32_t thread, int64_t from_ns, int64_t to_ns)
{
    if (to_ns <= from_ns) return;
    if (!cli_grow(&spans->list, &spans->room, spans->count + 1,
                  sizeof *spans->list)) {
        a->failed = true;
        return;
    }
    const ts_host_span span = { file, thread, from_ns, to_ns };
    spans->list[spans->count++] = span;
    spans->ns += to_ns - from_ns;
}

void advice_spare(advice *a, advice_finding *f, advice_spans *spans)
{
    ts_change *const change = add_change(a, f, TS_CHANGE_SPARE);
    change->spans = spans->list;
    change->span_count = spans->count;
    f->at_most_ns = a->makespan_ns; // waits are removed too
    spans->list = NULL;
}

/* ---- Gains --------------------------------------------------------------- */

// Lowers the confidence if the change brings assumed delays onto the critical
// path.
static bool doubt(const advice *a, advice_finding *f)
{
    ts_path path;
    if (ts_replay_path(a->model, &path) != TS_OK) return false;
    if (path.assumed_ns - a->assumed_ns > a->makespan_ns / 50)
        f->confidence = REPORT_LOW;
    return true;
}

static bool run_finding(advice *a, advice_finding *f)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .durations_ns = f->durations_ns,
                                      .changes = f->changes,
                                      .change_count = f->change_count,
                                      .copy_engines = f->copy_engines,
                                      .brief = true };
    if (ts_replay_run(a->model, &desc) != TS_OK) return false;
    const ts_replay_stats *const s = ts_replay_result(a->model);
    a->runs++;
    f->never_ran = s->skipped[TS_SKIP_UNMET] != 0;
    f->has_gain = !f->never_ran;
    if (!f->has_gain) return true;
    f->gain_ns = a->makespan_ns - (s->end_ns - s->start_ns);
    return doubt(a, f);
}

// Runs the model with no host time at all, for the gain of a finding of_host.
static bool run_free_host(advice *a, advice_finding *f)
{
    const ts_change change = { .type = TS_CHANGE_HOST, .factor = { 0, 1 } };
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = &change,
                                      .change_count = 1,
                                      .brief = true };
    if (ts_replay_run(a->model, &desc) != TS_OK) return false;
    const ts_replay_stats *const s = ts_replay_result(a->model);
    a->runs++;
    f->free_ns = s->skipped[TS_SKIP_UNMET]
                     ? a->makespan_ns
                     : a->makespan_ns - (s->end_ns - s->start_ns);
    return true;
}

static bool has_change(const advice_finding *f)
{
    return f->change_count || f->durations_ns || f->copy_engines;
}

static int by_promise(const void *left, const void *right)
{
    const advice_finding *const a = left, *const b = right;
    if (a->at_most_ns != b->at_most_ns)
        return a->at_most_ns > b->at_most_ns ? -1 : 1;
    return (a->found_index > b->found_index) -
           (a->found_index < b->found_index);
}

static int group_of(const advice_finding *f)
{
    if (f->trust) return 3;
    if (f->has_gain) return 0;
    return has_change(f) ? 1 : 2;
}

static int by_gain(const void *left, const void *right)
{
    const advice_finding *const a = left, *const b = right;
    if (group_of(a) != group_of(b)) return group_of(a) < group_of(b) ? -1 : 1;
    if (a->gain_ns != b->gain_ns) return a->gain_ns > b->gain_ns ? -1 : 1;
    return (a->found_index > b->found_index) -
           (a->found_index < b->found_index);
}

static int64_t budget(const advice *a)
{
    // A run takes a fraction of a second for a million nodes.
    const int64_t nodes = (int64_t)a->graph.node_count + 1;
    const int64_t most = analyze_set(a->job, "advice.runs");
    const int64_t fit = 200000000 / nodes;
    return fit < most ? fit < 8 && most > 8 ? 8 : fit : most;
}

// Whether the host time of a finding is only waiting or hidden, so that other
// work takes its place as soon as it is removed.
static bool is_waiting(const advice *a, const advice_finding *f)
{
    return f->of_host ? f->free_ns < a->makespan_ns / 10
                      : f->held_ns > 0 && f->gain_ns < f->held_ns / 10;
}

static bool is_small(const advice *a, const advice_finding *f, int64_t least)
{
    if (!has_change(f) || a->stuck || f->always_kept) return false;
    if (!f->has_gain) return f->at_most_ns < least;
    return f->gain_ns < least || f->gain_ns <= 0 || is_waiting(a, f);
}

static void drop(advice *a, size_t at)
{
    advice_finding *const f = &a->findings[at];
    advice_finding_close(f);
    const advice_dropped one = { .rule = f->rule,
                                 .title = f->title,
                                 .has_gain = f->has_gain,
                                 .waits = f->has_gain && is_waiting(a, f),
                                 .gain_ns =
                                     f->has_gain ? f->gain_ns : f->at_most_ns,
                                 .held_ns = f->held_ns };
    a->dropped[a->dropped_count++] = one;
    *f = a->findings[--a->finding_count];
}

static int by_lost_gain(const void *left, const void *right)
{
    const advice_dropped *const a = left, *const b = right;
    if (a->gain_ns != b->gain_ns) return a->gain_ns > b->gain_ns ? -1 : 1;
    const int order = strcmp(a->rule->id, b->rule->id);
    if (order) return order;
    return strcmp(a->title.text, b->title.text);
}

void advice_run(advice *a)
{
    const int64_t least =
        a->makespan_ns / 10000 * analyze_set(a->job, "advice.min-gain");
    int64_t left = budget(a);
    advice_close_memory(a);
    if (a->finding_count > 1)
        qsort(a->findings, a->finding_count, sizeof *a->findings, by_promise);
    for (size_t i = 0; i < a->finding_count && !a->failed; i++) {
        advice_finding *const f = &a->findings[i];
        if (!has_change(f)) continue;
        f->never_ran = a->stuck;
        if (a->stuck || (f->at_most_ns < least && !f->always_kept)) continue;
        if (left-- > 0)
            a->failed =
                !run_finding(a, f) || (f->of_host && !run_free_host(a, f));
        else
            a->unrun++;
    }
    a->dropped = calloc(a->finding_count + 1, sizeof *a->dropped);
    if (!a->dropped) a->failed = true;
    for (size_t i = a->finding_count; a->dropped && i-- > 0;)
        if (is_small(a, &a->findings[i], least)) drop(a, i);
    if (a->dropped_count > 1)
        qsort(a->dropped, a->dropped_count, sizeof *a->dropped, by_lost_gain);
    for (size_t i = 0; i < a->finding_count; i++) // a model may lose a little
        if (a->findings[i].always_kept && a->findings[i].gain_ns < 0)
            a->findings[i].gain_ns = 0;
    if (a->finding_count > 1)
        qsort(a->findings, a->finding_count, sizeof *a->findings, by_gain);
}
