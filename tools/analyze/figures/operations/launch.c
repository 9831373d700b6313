/*
    launch.c - the cost of launches, and whether it matters
*/
#include "tools/analyze/figures/operations/launch.h"

typedef struct launch_walk {
    launch_result *r;
    const ts_replay *replay;
    const ts_timeline *timeline;
    names_index *names;
    ts_graph graph;
    uint32_t *launched; // number of operations by call
    uint32_t *function; // function by call, plus 1; 0: launched nothing
    uint32_t *of_group; // function by group, plus 1
    size_t group_room;
} launch_walk;

static bool add_time(launch_times *t, int64_t ns)
{
    if (!cli_grow(&t->ns, &t->room, t->count + 1, sizeof *t->ns)) return false;
    t->ns[t->count++] = ns;
    t->sum_ns += ns;
    return true;
}

/* ---- Functions ----------------------------------------------------------- */

static bool know_group(launch_walk *w, uint32_t group)
{
    if (group < w->group_room) return true;
    const size_t room = 2 * (size_t)group + 64;
    uint32_t *const more = realloc(w->of_group, room * sizeof *more);
    if (!more) return false;
    memset(more + w->group_room, 0, (room - w->group_room) * sizeof *more);
    w->of_group = more;
    w->group_room = room;
    return true;
}

// Returns the function of a call by its name.
static launch_function *function_of(launch_walk *w, const ts_node *call)
{
    launch_result *const r = w->r;
    const uint32_t group = names_add(w->names, w->replay, call->file,
                                     TS_EVENT_API_CALL, call->name);
    if (group == TS_NODE_NONE || !know_group(w, group)) return NULL;
    if (w->of_group[group]) return &r->functions[w->of_group[group] - 1];
    launch_function *const more =
        realloc(r->functions, (r->function_count + 1) * sizeof *more);
    if (!more) return NULL;
    r->functions = more;
    launch_function *const f = &more[r->function_count++];
    memset(f, 0, sizeof *f);
    f->group = group;
    w->of_group[group] = (uint32_t)r->function_count;
    return f;
}

static bool take_calls(launch_walk *w)
{
    const uint32_t first = w->graph.operation_count;
    ts_node call;
    for (uint32_t i = 0; i < w->graph.call_count; i++) {
        if (!w->launched[i] || !ts_replay_node(w->replay, first + i, &call))
            continue;
        launch_function *const f = function_of(w, &call);
        if (!f || !add_time(&f->calls, call.duration_ns)) return false;
        w->function[i] = (uint32_t)(f - w->r->functions) + 1;
        f->operations += w->launched[i];
        if (f->calls.count == 1 || call.duration_ns > f->longest_ns) {
            f->longest = first + i;
            f->longest_ns = call.duration_ns;
        }
        w->r->calls++;
        w->r->call_ns += call.duration_ns;
    }
    return true;
}

// Finds calls blocked by a full queue: their end waited for the start of
// earlier work of the queue.
static void take_blocks(launch_walk *w)
{
    const ts_graph *const g = &w->graph;
    ts_node end, call;
    ts_operation op;
    for (uint32_t i = 0; i < g->operation_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++) {
            uint8_t edge;
            bool inferred;
            if (TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_QUEUE ||
                !ts_replay_node(w->replay, g->targets[e], &end) ||
                end.type != TS_NODE_END ||
                !ts_replay_node(w->replay, end.owner, &call) ||
                call.type != TS_NODE_CALL ||
                ts_timeline_culprit(w->timeline, g->targets[e], &edge,
                                    &inferred) == TS_NODE_NONE ||
                edge != TS_EDGE_QUEUE ||
                !ts_replay_operation(w->replay, i, &op))
                continue;
            const uint32_t f = w->function[end.owner - g->operation_count];
            const int64_t ns = op.recorded_start_ns - call.recorded_ns;
            if (!f || ns <= 0) continue;
            w->r->functions[f - 1].blocked++;
            w->r->functions[f - 1].blocked_ns += ns;
            w->r->blocked++;
            w->r->blocked_ns += ns;
        }
}

static int longer_first(const void *left, const void *right)
{
    const launch_function *const a = left, *const b = right;
    if (a->calls.sum_ns != b->calls.sum_ns)
        return a->calls.sum_ns > b->calls.sum_ns ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* ---- Operations ---------------------------------------------------------- */

static size_t device_of(const launch_walk *w, const ts_operation *op)
{
    const ts_timeline_figures *f;
    for (size_t d = 0; (f = ts_timeline_device(w->timeline, d)); d++)
        if (f->file == op->file && f->track == op->device) return d;
    return w->r->device_count;
}

static bool take_latency(launch_walk *w, uint32_t index, const ts_operation *op,
                         launch_device *d)
{
    ts_node call;
    uint8_t edge = 0;
    bool inferred;
    if (op->call == TS_NODE_NONE ||
        !ts_replay_node(w->replay, op->call, &call)) {
        d->unknown++;
        return true;
    }
    const uint32_t culprit =
        ts_timeline_culprit(w->timeline, index, &edge, &inferred);
    const bool by_call = culprit == op->call && edge == TS_EDGE_LAUNCH;
    return add_time(by_call ? &d->latency : &d->queued,
                    op->recorded_start_ns - call.recorded_ns);
}

// Counts a kernel that ran for less time than the median call of its function;
// the times of the function are sorted.
static bool take_tiny(launch_walk *w, uint32_t index, const ts_operation *op)
{
    launch_result *const r = w->r;
    const int64_t ns = op->recorded_end_ns - op->recorded_start_ns;
    if (op->kind != TS_EVENT_KERNEL) return true;
    r->kernels++;
    r->kernel_ns += ns;
    if (op->call == TS_NODE_NONE) return true;
    const uint32_t call = op->call - w->graph.operation_count;
    if (!w->function[call] || w->launched[call] != 1) return true;
    const launch_times *const calls =
        &r->functions[w->function[call] - 1].calls;
    const int64_t cost = sums_quantile(calls->ns, calls->count, 500);
    if (ns >= cost) return true;
    r->tiny_count++;
    r->tiny_ns += ns;
    r->tiny_call_ns += cost;
    return sums_add(&r->tiny, w->names->of[index], ns, index);
}

static bool take_operations(launch_walk *w)
{
    ts_operation op, last = { 0 };
    size_t device = w->r->device_count;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++) {
        if (!names_works(op.kind)) continue;
        if (device == w->r->device_count || op.device != last.device ||
            op.file != last.file)
            device = device_of(w, &op);
        last = op;
        if (device < w->r->device_count &&
            !take_latency(w, i, &op, &w->r->devices[device]))
            return false;
        if (!take_tiny(w, i, &op)) return false;
    }
    return true;
}

/* ---- The whole computation ----------------------------------------------- */

static bool walk(launch_walk *w)
{
    launch_result *const r = w->r;
    const size_t calls = w->graph.call_count;
    r->device_count = ts_replay_device_count(w->replay);
    r->devices = calloc(r->device_count + 1, sizeof *r->devices);
    w->launched = calloc(calls + 1, sizeof *w->launched);
    w->function = calloc(calls + 1, sizeof *w->function);
    if (!r->devices || !w->launched || !w->function) return false;
    ts_operation op;
    for (uint32_t i = 0; ts_replay_operation(w->replay, i, &op); i++)
        if (op.call != TS_NODE_NONE && names_works(op.kind))
            w->launched[op.call - w->graph.operation_count]++;
    if (!take_calls(w)) return false;
    take_blocks(w);
    for (size_t i = 0; i < r->function_count; i++)
        cli_sort_numbers(r->functions[i].calls.ns, r->functions[i].calls.count);
    if (!take_operations(w)) return false;
    for (size_t i = 0; i < r->device_count; i++) {
        cli_sort_numbers(r->devices[i].latency.ns, r->devices[i].latency.count);
        cli_sort_numbers(r->devices[i].queued.ns, r->devices[i].queued.count);
    }
    if (r->function_count)
        qsort(r->functions, r->function_count, sizeof *r->functions,
              longer_first);
    sums_sort(&r->tiny);
    return true;
}

bool launch_open(launch_result *r, const ts_replay *replay,
                 const ts_timeline *timeline, names_index *names)
{
    memset(r, 0, sizeof *r);
    launch_walk w = { .r = r,
                      .replay = replay,
                      .timeline = timeline,
                      .names = names,
                      .graph = ts_replay_graph(replay) };
    const bool ok = walk(&w);
    free(w.launched);
    free(w.function);
    free(w.of_group);
    return ok;
}

void launch_close(launch_result *r)
{
    for (size_t i = 0; i < r->device_count && r->devices; i++) {
        free(r->devices[i].latency.ns);
        free(r->devices[i].queued.ns);
    }
    for (size_t i = 0; i < r->function_count; i++)
        free(r->functions[i].calls.ns);
    free(r->devices);
    free(r->functions);
    sums_close(&r->tiny);
    memset(r, 0, sizeof *r);
}

bool launch_is_function(const launch_result *r, uint32_t group)
{
    for (size_t i = 0; i < r->function_count; i++)
        if (r->functions[i].group == group) return true;
    return false;
}
