/*
    steps.c - steps, marked or found, and which of them are slow
*/
#include "tools/analyze/figures/time/steps.h"

#include "tools/analyze/figures/time/period.h"

typedef struct steps_walk {
    steps_result *r;
    ts_replay *replay;
    const ts_timeline *timeline;
    const names_index *names;
    size_t device; // index of ts_timeline_device
} steps_walk;

/* ---- Device and stream --------------------------------------------------- */

static bool choose_device(steps_walk *w)
{
    const ts_timeline_figures *f, *best = NULL;
    for (size_t d = 0; (f = ts_timeline_device(w->timeline, d)); d++)
        if (!best || f->operations > best->operations) {
            best = f;
            w->device = d;
        }
    if (!best) return false;
    w->r->file = best->file;
    w->r->device = best->track;
    return best->operations;
}

static void choose_stream(steps_walk *w)
{
    ts_lane lane;
    uint64_t most = 0;
    for (size_t i = 0; ts_replay_lane(w->replay, i, &lane); i++)
        if (lane.file == w->r->file && lane.device == w->r->device &&
            lane.operations > most) {
            most = lane.operations;
            w->r->stream = lane.track;
        }
}

/* ---- Boundaries ---------------------------------------------------------- */

bool steps_marked(steps_result *r, ts_replay *replay)
{
    const ts_step *steps;
    size_t count;
    memset(r, 0, sizeof *r);
    const ts_result result = ts_replay_steps(replay, &steps, &count);
    if (result == TS_ERR_MEMORY) return false;
    if (result != TS_OK) return true;
    r->steps = calloc(count + 1, sizeof *r->steps);
    if (!r->steps) return false;
    int64_t at = ts_replay_result(replay)->recorded_start_ns;
    for (size_t i = 0; i < count; i++) {
        const int64_t start = at;
        at += steps[i].recorded_ns;
        if (steps[i].recorded_ns <= 0) continue;
        steps_step *const s = &r->steps[r->count++];
        s->name = steps[i].name;
        s->number = steps[i].number;
        s->mark = i;
        s->start_ns = start;
        s->end_ns = at;
    }
    r->left_out = count - r->count;
    r->marked = r->count > 0;
    return true;
}

static bool take_marked(steps_walk *w)
{
    steps_result marked;
    const bool ok = steps_marked(&marked, w->replay);
    if (!ok || marked.count < STEPS_LEAST) {
        w->r->few = ok ? marked.count : 0;
        steps_close(&marked);
        return ok;
    }
    w->r->steps = marked.steps;
    w->r->count = marked.count;
    w->r->left_out = marked.left_out;
    w->r->marked = true;
    return true;
}

cli_text steps_words(const steps_step *step)
{
    const ts_text name = step->name; // for frames the name is "frame"
    if (name.size > 5) return cli_format("%.*s", (int)name.size, name.text);
    return cli_format("%s %" PRIu64, name.size ? "frame" : "number",
                      step->number);
}

// The work of a stream: names, idle time of the device before each operation,
// and the operations.
typedef struct steps_sequence {
    uint32_t *tokens, *operations;
    int64_t *pauses;
    size_t count;
} steps_sequence;

static bool make_sequence(const steps_walk *w, steps_sequence *q)
{
    const size_t room = w->names->op_count + 1;
    ts_operation op;
    ts_gap gap = { 0 };
    size_t next = 0;
    q->tokens = malloc(room * sizeof *q->tokens);
    q->operations = malloc(room * sizeof *q->operations);
    q->pauses = malloc(room * sizeof *q->pauses);
    if (!q->tokens || !q->operations || !q->pauses) return false;
    bool more = ts_timeline_gap(w->timeline, w->device, next, &gap);
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++) {
        if (op.track != w->r->stream || op.file != w->r->file ||
            !names_works(op.kind))
            continue;
        while (more && gap.operation < i) // both are sorted by time
            more = ts_timeline_gap(w->timeline, w->device, ++next, &gap);
        q->tokens[q->count] = w->names->of[i];
        q->operations[q->count] = i;
        q->pauses[q->count++] =
            more && gap.operation == i ? gap.end_ns - gap.start_ns : 0;
    }
    return true;
}

// Returns when the work before a place of the sequence was complete: the pause
// before a step belongs to the step.
static int64_t time_of(const steps_walk *w, const steps_sequence *q,
                       size_t place)
{
    ts_operation op = { 0 }, before = { 0 };
    if (place)
        ts_replay_operation(w->replay, q->operations[place - 1], &before);
    if (place == q->count) return before.recorded_end_ns;
    ts_replay_operation(w->replay, q->operations[place], &op);
    return place && before.recorded_end_ns < op.recorded_start_ns
               ? before.recorded_end_ns
               : op.recorded_start_ns;
}

static bool take_found(steps_walk *w)
{
    steps_sequence q = { 0 };
    period p = { 0 };
    bool ok =
        make_sequence(w, &q) &&
        period_find(&p, q.tokens, q.pauses, q.count, (uint32_t)w->names->count);
    if (ok && p.count) {
        w->r->steps = calloc(p.count, sizeof *w->r->steps);
        ok = w->r->steps;
    }
    if (ok) w->r->count = p.count;
    for (size_t i = 0; ok && i < p.count; i++) {
        w->r->steps[i].number = i;
        w->r->steps[i].start_ns = time_of(w, &q, p.starts[i]);
        w->r->steps[i].end_ns = time_of(w, &q, p.starts[i + 1]);
    }
    w->r->length = (uint32_t)p.length;
    w->r->likeness = p.likeness;
    period_close(&p);
    free(q.tokens);
    free(q.operations);
    free(q.pauses);
    return ok;
}

/* ---- Contents of steps --------------------------------------------------- */

// Returns the step at a time, starting from step `at`; steps are sorted.
static size_t step_at(const steps_result *r, size_t at, int64_t time)
{
    while (at < r->count && r->steps[at].end_ns <= time)
        at++;
    return at;
}

static bool take_operations(steps_walk *w)
{
    steps_result *const r = w->r;
    ts_operation op;
    size_t at = 0;
    r->of = malloc((w->names->op_count + 1) * sizeof *r->of);
    if (!r->of) return false;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++) {
        r->of[i] = TS_NODE_NONE;
        at = step_at(r, at, op.recorded_start_ns);
        if (at == r->count || op.recorded_start_ns < r->steps[at].start_ns)
            continue;
        r->of[i] = (uint32_t)at;
        r->steps[at].operations++;
        if (op.file == r->file && op.device == r->device &&
            names_works(op.kind) &&
            !sums_add(&r->works, (uint64_t)w->names->of[i] * r->count + at,
                      op.recorded_end_ns - op.recorded_start_ns, i))
            return false;
    }
    return true;
}

static void take_gaps(steps_walk *w)
{
    steps_result *const r = w->r;
    ts_gap gap;
    size_t at = 0;
    for (size_t i = 0; i < r->count; i++)
        r->steps[i].busy_ns = r->steps[i].end_ns - r->steps[i].start_ns;
    for (size_t i = 0; ts_timeline_gap(w->timeline, w->device, i, &gap); i++) {
        at = step_at(r, at, gap.start_ns);
        for (size_t k = at; k < r->count && r->steps[k].start_ns < gap.end_ns;
             k++) {
            steps_step *const s = &r->steps[k];
            const int64_t from =
                gap.start_ns > s->start_ns ? gap.start_ns : s->start_ns;
            const int64_t to = gap.end_ns < s->end_ns ? gap.end_ns : s->end_ns;
            if (to <= from) continue;
            s->cause_ns[gap.cause] += to - from;
            s->busy_ns -= to - from;
        }
    }
}

/* ---- Slow steps ---------------------------------------------------------- */

static void measure(steps_result *r, int64_t *values, int64_t *room)
{
    for (size_t i = 0; i < r->count; i++) {
        values[i] = r->steps[i].end_ns - r->steps[i].start_ns;
        r->sum_ns += values[i];
    }
    cli_sort_numbers(values, r->count);
    r->min_ns = values[0];
    r->median_ns = sums_quantile(values, r->count, 500);
    r->max_ns = values[r->count - 1];
    r->deviation_ns = sums_deviation(values, r->count, r->median_ns, room);
    // Three standard deviations if the durations are normally distributed (a
    // standard deviation is 1.4826 median distances), and at least a twentieth
    // of a step.
    const int64_t far =
        r->deviation_ns < INT64_MAX / 16 ? r->deviation_ns : INT64_MAX / 16;
    r->limit_ns = far / 10000 * 44478 + far % 10000 * 44478 / 10000;
    if (r->limit_ns < r->median_ns / 20) r->limit_ns = r->median_ns / 20;
    for (size_t i = 0; i < r->count; i++) {
        const int64_t ns = r->steps[i].end_ns - r->steps[i].start_ns;
        r->steps[i].slow = ns > r->median_ns + r->limit_ns;
        r->steps[i].fast = ns < r->median_ns - r->limit_ns;
    }
}

static void explain_idle(steps_result *r, int64_t *values)
{
    for (int c = 0; c < TS_IDLE_LIMIT; c++) {
        for (size_t i = 0; i < r->count; i++)
            values[i] = r->steps[i].cause_ns[c];
        cli_sort_numbers(values, r->count);
        const int64_t usual = sums_quantile(values, r->count, 500);
        for (size_t i = 0; i < r->count; i++) {
            steps_step *const s = &r->steps[i];
            if (s->cause_ns[c] - usual <= s->excess.idle_ns) continue;
            s->excess.idle_ns = s->cause_ns[c] - usual;
            s->excess.cause = (ts_idle)c;
        }
    }
}

static int by_key(const void *left, const void *right)
{
    const sums_row *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

// The rows of one group: the steps that do not have it count as 0.
static void explain_group(steps_result *r, const sums_row *rows, size_t count,
                          int64_t *values)
{
    memset(values, 0, r->count * sizeof *values);
    for (size_t i = 0; i < count; i++)
        values[i] = rows[i].ns;
    cli_sort_numbers(values, r->count);
    const int64_t usual = sums_quantile(values, r->count, 500);
    for (size_t i = 0; i < count; i++) {
        steps_step *const s = &r->steps[rows[i].key % r->count];
        if (rows[i].ns - usual <= s->excess.work_ns) continue;
        s->excess.work_ns = rows[i].ns - usual;
        s->excess.group = (uint32_t)(rows[i].key / r->count);
    }
}

static void explain_works(steps_result *r, int64_t *values)
{
    if (r->works.count)
        qsort(r->works.rows, r->works.count, sizeof *r->works.rows, by_key);
    for (size_t i = 0; i < r->works.count;) {
        const uint64_t group = r->works.rows[i].key / r->count;
        size_t end = i + 1;
        while (end < r->works.count &&
               r->works.rows[end].key / r->count == group)
            end++;
        explain_group(r, r->works.rows + i, end - i, values);
        i = end;
    }
}

bool steps_open(steps_result *r, ts_replay *replay, const ts_timeline *timeline,
                const names_index *names)
{
    steps_walk w = {
        .r = r, .replay = replay, .timeline = timeline, .names = names
    };
    memset(r, 0, sizeof *r);
    if (!choose_device(&w)) return true;
    choose_stream(&w);
    if (!take_marked(&w) || (!r->marked && !take_found(&w))) return false;
    if (!r->count) return true;
    int64_t *const values = malloc(2 * r->count * sizeof *values);
    const bool ok = values && take_operations(&w);
    if (ok) {
        take_gaps(&w);
        measure(r, values, values + r->count);
        explain_idle(r, values);
        explain_works(r, values);
    }
    free(values);
    return ok;
}

void steps_close(steps_result *r)
{
    free(r->steps);
    free(r->of);
    sums_close(&r->works);
    memset(r, 0, sizeof *r);
}
