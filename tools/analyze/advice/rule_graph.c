/*
    rule_graph.c - advice: launches that one graph launch could replace
*/
#include "tools/analyze/advice/rule.h"

// A launch that can be part of a graph: it neither waits nor uses host memory.
typedef struct step {
    uint32_t call, symbol; // symbol: what is launched, and on which stream
    uint32_t file, thread, segment;
    int64_t start_ns, end_ns;
} step;

// A sequence of launches of a thread that occurs several times.
typedef struct window {
    uint64_t hash;
    size_t first, count; // range of steps
} window;

typedef struct capture {
    advice *a;
    const advice_rule *rule;
    step *steps;
    size_t count;
    window *windows;
    size_t window_count;
} capture;

static bool can_be_captured(const advice_op *op)
{
    if (op->skipped) return false;
    switch (op->kind) {
    case TS_EVENT_KERNEL:
    case TS_EVENT_MEMSET:
    case TS_EVENT_COLLECTIVE:
    case TS_EVENT_EVENT_RECORD:
    case TS_EVENT_EVENT_WAIT: return true;
    case TS_EVENT_MEMCPY: return op->type == 3 || op->type == 5;
    default: return false;
    }
}

static uint32_t symbol_of(const advice *a, const advice_op *op)
{
    uint32_t symbol = op->kind * UINT32_C(2654435761);
    symbol = (symbol ^ advice_launch_id(a, op)) * UINT32_C(2246822519);
    return (symbol ^ op->stream) * UINT32_C(3266489917);
}

static int by_thread(const void *left, const void *right)
{
    const step *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

// Finds the operation of each call, how many it launched, and whether it waits.
static void list_steps(capture *c)
{
    advice *const a = c->a;
    advice_load_waits(a);
    const size_t calls = a->graph.call_count;
    c->steps = calloc(calls + 1, sizeof *c->steps);
    c->windows = calloc(calls + 1, sizeof *c->windows);
    uint32_t *const launched = calloc(calls + 1, sizeof *launched);
    if (!c->steps || !c->windows || !launched || a->failed) {
        a->failed = true;
        free(launched);
        return;
    }
    for (uint32_t i = 0; i < a->op_count; i++)
        if (advice_is_call(a, a->ops[i].call) &&
            (a->call_op[a->ops[i].call - a->op_count] == i ||
             ts_event_has_contents(a->ops[i].kind)))
            launched[a->ops[i].call - a->op_count]++;
    size_t wait = 0;
    for (uint32_t i = 0; i < calls; i++) {
        const uint32_t call = (uint32_t)a->op_count + i;
        const bool waits = wait < a->wait_count && a->waits[wait].call == call;
        wait += waits;
        const ts_node n = advice_node(a, call);
        step *const s = &c->steps[c->count++];
        const uint32_t op = a->call_op[i];
        // Symbol 0 ends a sequence.
        const bool fits =
            !waits && launched[i] == 1 && can_be_captured(&a->ops[op]);
        const step one = { call,
                           fits ? symbol_of(a, &a->ops[op]) | 1 : 0,
                           n.file,
                           n.track,
                           0,
                           n.recorded_ns,
                           n.recorded_ns + n.duration_ns };
        *s = one;
    }
    free(launched);
    cli_sort(c->steps, c->count, sizeof *c->steps, by_thread);
}

// Divides the launches into segments, which end at launches that cannot be
// captured and at long pauses.
static void number_segments(capture *c)
{
    const int64_t pause = advice_limit(c->a, c->rule, "pause");
    uint32_t segment = 0;
    for (size_t i = 0; i < c->count; i++) {
        const step *const before = i ? &c->steps[i - 1] : NULL;
        step *const s = &c->steps[i];
        if (!before || before->file != s->file || before->thread != s->thread ||
            !s->symbol || !before->symbol ||
            s->start_ns - before->end_ns > pause)
            segment++;
        s->segment = segment;
    }
}

static uint64_t hash_of(const capture *c, size_t first, size_t count)
{
    uint64_t hash = 14695981039346656037u;
    for (size_t i = first; i < first + count; i++)
        hash = (hash ^ c->steps[i].symbol) * 1099511628211u;
    return hash ^ count;
}

static void add_window(capture *c, size_t first, size_t count)
{
    const size_t least = (size_t)advice_limit(c->a, c->rule, "launches");
    if (count < least || count < 2 || !c->steps[first].symbol) return;
    window *const w = &c->windows[c->window_count++];
    w->first = first;
    w->count = count;
    w->hash = hash_of(c, first, count);
}

typedef struct symbol_count {
    uint32_t symbol;
    uint32_t count, first;
} symbol_count;

// The symbols of some steps, in order of their first one.
typedef struct symbol_counts {
    symbol_count *list;
    size_t count, room;
    cli_map rows; // by symbol
} symbol_counts;

static bool count_symbol(symbol_counts *all, uint32_t symbol, uint32_t at)
{
    uint32_t row = cli_map_row(&all->rows, symbol);
    if (row == CLI_NONE) {
        row = (uint32_t)all->count;
        if (!cli_grow(&all->list, &all->room, all->count + 1,
                      sizeof *all->list) ||
            !cli_map_set(&all->rows, symbol, row))
            return false;
        all->list[all->count++] = (symbol_count){ symbol, 0, at };
    }
    all->list[row].count++;
    return true;
}

// Returns the rarest symbol that is frequent enough, which begins an iteration;
// symbol 0 if there is none.
static uint32_t anchor_of(const capture *c, size_t first, size_t end)
{
    const uint32_t least = (uint32_t)advice_limit(c->a, c->rule, "count");
    symbol_counts all = { 0 };
    symbol_count best = { 0 };
    bool ok = end - first >= least; // else none is
    for (size_t i = first; ok && i < end; i++)
        ok = count_symbol(&all, c->steps[i].symbol, (uint32_t)(i - first));
    // On a tie the first one is chosen: they are in this order.
    for (size_t i = 0; ok && i < all.count; i++)
        if (all.list[i].count >= least &&
            (!best.count || all.list[i].count < best.count))
            best = all.list[i];
    free(all.list);
    cli_map_close(&all.rows);
    return best.symbol;
}

// A segment is a window. A long segment, with iterations without a pause, is
// cut at its anchor; several short iterations form one window.
static void list_windows(capture *c)
{
    const size_t least = (size_t)advice_limit(c->a, c->rule, "launches");
    for (size_t first = 0, end; first < c->count; first = end) {
        for (end = first + 1; end < c->count &&
                              c->steps[end].segment == c->steps[first].segment;)
            end++;
        const uint32_t anchor = anchor_of(c, first, end);
        if (!anchor) {
            add_window(c, first, end - first);
            continue;
        }
        size_t from = SIZE_MAX;
        for (size_t i = first; i < end; i++) {
            if (c->steps[i].symbol != anchor) continue;
            if (from != SIZE_MAX && i - from < least) continue;
            if (from != SIZE_MAX) add_window(c, from, i - from);
            from = i;
        }
        if (from != SIZE_MAX) add_window(c, from, end - from);
    }
}

static int by_hash(const void *left, const void *right)
{
    const window *const a = left, *const b = right;
    if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

typedef struct captured {
    uint64_t kinds, windows, launches;
    int64_t host_ns;
    const window *longest;
    size_t longest_times;
    advice_spans spans;
    bool *calls; // by call: a graph replaces it
} captured;

// Replaces the calls of a window: the host makes only the first one, which
// launches all work.
static void take_window(capture *c, captured *got, const window *w)
{
    const step *const first = &c->steps[w->first];
    const step *const last = &c->steps[w->first + w->count - 1];
    got->windows++;
    got->launches += w->count;
    got->host_ns += last->end_ns - first->end_ns;
    advice_span_add(c->a, &got->spans, first->file, first->thread,
                    first->end_ns, last->end_ns);
    for (size_t i = w->first + 1; i < w->first + w->count; i++)
        got->calls[c->steps[i].call - c->a->op_count] = true;
}

static void take_windows(capture *c, captured *got)
{
    const size_t least = (size_t)advice_limit(c->a, c->rule, "count");
    for (size_t first = 0, end; first < c->window_count; first = end) {
        const window *const w = &c->windows[first];
        for (end = first + 1;
             end < c->window_count && c->windows[end].hash == w->hash;)
            end++;
        if (end - first < least) continue;
        got->kinds++;
        if (!got->longest || w->count * (end - first) >
                                 got->longest->count * got->longest_times) {
            got->longest = w;
            got->longest_times = end - first;
        }
        // The first window is the captured one.
        for (size_t i = first + 1; i < end; i++)
            take_window(c, got, &c->windows[i]);
    }
}

static void find_graph(capture *c, captured *got)
{
    advice *const a = c->a;
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (advice_is_call(a, a->ops[i].call) &&
            got->calls[a->ops[i].call - a->op_count])
            advice_mask_add(a, &mask, i);
    const step *const first = &c->steps[got->longest->first];
    const step *const last = first + got->longest->count - 1;
    advice_finding *const f = advice_find(a, c->rule);
    advice_show_time(f, first->file, first->start_ns, last->end_ns);
    report_evidence_add(&f->evidence, a->call_op[first->call - a->op_count]);
    report_evidence_add(&f->evidence, a->call_op[last->call - a->op_count]);
    advice_change(a, f, TS_CHANGE_NO_LAUNCH, &mask);
    advice_spare(a, f, &got->spans);
    ADVICE_SAY(a, f, title, "the same launches repeat");
    ADVICE_SAY(
        a, f, what,
        "%s that a graph could contain %s %s; the longest has %s and occurs %s "
        "times. The host spends %s on them.",
        cli_counted(got->kinds, "sequence of launches", "sequences of launches")
            .s,
        got->kinds == 1 ? "occurs" : "occur",
        cli_counted(got->windows, "time", "times").s,
        cli_count(got->longest->count).s, cli_count(got->longest_times).s,
        cli_time(got->host_ns).s);
    ADVICE_SAY(a, f, todo,
               "If shapes and addresses do not change, capture each into a "
               "graph and launch the graph (CUDA graphs, torch.cuda.graph, "
               "mode=\"reduce-overhead\").");
    ADVICE_SAY(a, f, how,
               "replay in which the first call launches the whole repetition, "
               "and the host takes no time between its launches");
    f->confidence = REPORT_MEDIUM; // whether arguments are equal is unknown
}

void rule_graph_capture(advice *a, const advice_rule *rule)
{
    capture c = { .a = a, .rule = rule };
    list_steps(&c);
    captured got = { 0 };
    got.calls = calloc(a->graph.call_count + 1, sizeof *got.calls);
    if (!a->failed && got.calls) {
        number_segments(&c);
        list_windows(&c);
        if (c.window_count > 1)
            qsort(c.windows, c.window_count, sizeof *c.windows, by_hash);
        take_windows(&c, &got);
        if (got.windows && got.launches) find_graph(&c, &got);
    }
    if (!got.calls) a->failed = true;
    free(got.spans.list);
    free(got.calls);
    free(c.steps);
    free(c.windows);
}
