/*
    patterns.c - repeated sequences of small kernels
*/
#include "tools/analyze/figures/time/patterns.h"
#include "tools/analyze/figures/base/lanes.h"

// Kernels by stream, in order.
typedef struct patterns_walk {
    patterns_result *r;
    const ts_replay *replay;
    const names_index *names;
    int64_t small_ns;
    uint32_t *tokens, *operations;
    bool *breaks;
    size_t count;
    uint32_t *launched; // number of operations by call
} patterns_walk;

/* ---- The sequence -------------------------------------------------------- */

static bool is_small(const patterns_walk *w, const ts_operation *op)
{
    return op->kind == TS_EVENT_KERNEL &&
           op->recorded_end_ns - op->recorded_start_ns < w->small_ns;
}

// Lists the work stream by stream. ends[stream] receives the end of its part of
// the list; streams are in order of file and track. `stream_of` has room for
// the stream of each operation.
static void sort_by_stream(const patterns_walk *w, lanes *all, uint32_t *work,
                           size_t *ends, uint32_t *stream_of)
{
    ts_operation op;
    uint32_t count = 0;
    for (; ts_replay_operation(w->replay, count, &op); count++) {
        stream_of[count] = TS_NODE_NONE;
        if (!names_works(op.kind)) continue;
        stream_of[count] = (uint32_t)lanes_stream_rank(all, &op);
        ends[stream_of[count] + 1]++;
    }
    for (size_t i = 0; i < all->stream_count; i++)
        ends[i + 1] += ends[i];
    for (uint32_t i = 0; i < count; i++)
        if (stream_of[i] != TS_NODE_NONE) work[ends[stream_of[i]]++] = i;
}

// Lays out a stream's part of the sequence of tokens. Work other than small
// kernels breaks it, and so does the end of a stream.
static void lay_out(patterns_walk *w, const uint32_t *work, size_t count)
{
    bool next_breaks = true;
    for (size_t i = 0; i < count; i++) {
        ts_operation op;
        if (!ts_replay_operation(w->replay, work[i], &op)) continue;
        if (op.call != TS_NODE_NONE)
            w->launched[op.call - w->names->op_count]++;
        w->r->kernels += op.kind == TS_EVENT_KERNEL;
        if (!is_small(w, &op)) {
            next_breaks = true;
            continue;
        }
        w->r->small++;
        w->tokens[w->count] = w->names->of[work[i]];
        w->operations[w->count] = work[i];
        w->breaks[w->count++] = next_breaks;
        next_breaks = false;
    }
}

static bool make_sequence(patterns_walk *w)
{
    const ts_graph graph = ts_replay_graph(w->replay);
    const size_t room = (size_t)graph.operation_count + 1;
    lanes all;
    bool ok = lanes_open(&all, w->replay);
    uint32_t *const work = malloc(room * sizeof *work);
    size_t *const ends = calloc(all.stream_count + 2, sizeof *ends);
    w->tokens = malloc(room * sizeof *w->tokens);
    w->operations = malloc(room * sizeof *w->operations);
    w->breaks = malloc(room * sizeof *w->breaks);
    w->launched = calloc((size_t)graph.call_count + 1, sizeof *w->launched);
    ok = ok && work && ends && w->tokens && w->operations && w->breaks &&
         w->launched;
    // The tokens are laid out later.
    if (ok) sort_by_stream(w, &all, work, ends, w->tokens);
    for (size_t i = 0; ok && i < all.stream_count; i++) {
        const size_t first = i ? ends[i - 1] : 0;
        lay_out(w, work + first, ends[i] - first);
    }
    free(work);
    free(ends);
    lanes_close(&all);
    return ok;
}

/* ---- Patterns ------------------------------------------------------------ */

// Returns the cost of the launch of an operation, if the call launched nothing
// else.
static int64_t call_cost(const patterns_walk *w, const ts_operation *op)
{
    ts_node call;
    const uint32_t first = ts_replay_graph(w->replay).operation_count;
    if (op->call == TS_NODE_NONE || w->launched[op->call - first] != 1 ||
        !ts_replay_node(w->replay, op->call, &call))
        return 0;
    return call.duration_ns;
}

static void measure(patterns_walk *w, patterns_pattern *p, size_t place)
{
    ts_operation op, before = { 0 };
    for (size_t i = 0; i < p->length; i++) {
        const uint32_t index = w->operations[place + i];
        ts_replay_operation(w->replay, index, &op);
        p->work_ns += op.recorded_end_ns - op.recorded_start_ns;
        if (i) {
            const int64_t gap = op.recorded_start_ns - before.recorded_end_ns;
            if (gap > 0) p->between_ns += gap;
            p->calls_ns += call_cost(w, &op);
            w->r->next[w->operations[place + i - 1]] = index;
        }
        before = op;
    }
}

static bool make_pattern(patterns_walk *w, const patterns_repeats *repeats,
                         const patterns_repeat *repeat, patterns_pattern *p)
{
    const size_t *const places = repeats->places + repeat->first;
    memset(p, 0, sizeof *p);
    p->length = repeat->length;
    p->count = repeat->count;
    p->operations = malloc(p->count * sizeof *p->operations);
    p->names = malloc(p->length * sizeof *p->names);
    if (!p->operations || !p->names) return false;
    for (size_t i = 0; i < p->count; i++) {
        p->operations[i] = w->operations[places[i]];
        measure(w, p, places[i]);
    }
    for (size_t i = 0; i < p->length; i++)
        p->names[i] = w->tokens[places[0] + i];
    w->r->covered += p->count * p->length;
    return true;
}

static int dearest_first(const void *left, const void *right)
{
    const patterns_pattern *const a = left, *const b = right;
    const int64_t of_a = a->between_ns + a->calls_ns;
    const int64_t of_b = b->between_ns + b->calls_ns;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return (a->operations[0] > b->operations[0]) -
           (a->operations[0] < b->operations[0]);
}

static bool make_patterns(patterns_walk *w, const patterns_repeats *repeats)
{
    patterns_result *const r = w->r;
    r->next = malloc((w->names->op_count + 1) * sizeof *r->next);
    r->list = malloc((repeats->count + 1) * sizeof *r->list);
    if (!r->next || !r->list) return false;
    memset(r->next, 0xFF, w->names->op_count * sizeof *r->next);
    for (size_t i = 0; i < repeats->count; i++) {
        r->count++;
        if (!make_pattern(w, repeats, &repeats->list[i], &r->list[i]))
            return false;
    }
    if (r->count) qsort(r->list, r->count, sizeof *r->list, dearest_first);
    return true;
}

bool patterns_open(patterns_result *r, const ts_replay *replay,
                   const names_index *names, int64_t small_ns)
{
    patterns_repeats repeats = { 0 };
    patterns_walk w = {
        .r = r, .replay = replay, .names = names, .small_ns = small_ns
    };
    memset(r, 0, sizeof *r);
    const bool ok =
        make_sequence(&w) &&
        patterns_repeats_find(&repeats, w.tokens, w.breaks, w.count) &&
        make_patterns(&w, &repeats);
    patterns_repeats_close(&repeats);
    free(w.tokens);
    free(w.operations);
    free(w.breaks);
    free(w.launched);
    return ok;
}

void patterns_close(patterns_result *r)
{
    for (size_t i = 0; i < r->count; i++) {
        free(r->list[i].operations);
        free(r->list[i].names);
    }
    free(r->list);
    free(r->next);
    memset(r, 0, sizeof *r);
}

/* ---- Runs with fused kernels --------------------------------------------- */

bool patterns_fuse(const patterns_result *r, const patterns_pattern *p,
                   ts_replay *model, model_figures *figures)
{
    const uint32_t count = ts_replay_graph(model).operation_count;
    // Alternate two masks, so that one occurrence is not fused with the next.
    bool *const operations = calloc(2 * (size_t)count + 1, 1);
    if (!operations) return false;
    for (size_t i = 0; i < p->count; i++) {
        uint32_t op = p->operations[i];
        for (size_t k = 0; k < p->length; k++, op = r->next[op])
            operations[(i % 2) * count + op] = true;
    }
    const ts_change changes[] = {
        { .type = TS_CHANGE_FUSE, .operations = operations },
        { .type = TS_CHANGE_FUSE, .operations = operations + count }
    };
    const bool ok = model_makespan(model, changes, 2, figures);
    free(operations);
    return ok;
}
