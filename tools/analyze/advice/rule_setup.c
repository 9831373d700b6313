/*
    rule_setup.c - advice: setup calls during the work
*/
#include "tools/analyze/advice/rule.h"

// Finds calls of a class that are made after the work has begun.
static void find_class(advice *a, const advice_rule *rule, call_class class_of,
                       const char *title, const char *todo)
{
    advice_load_calls(a);
    advice_spans spans = { 0 };
    const advice_call *longest = NULL;
    for (size_t i = 0; i < a->call_count; i++) {
        const advice_call *const c = &a->calls[i];
        // Calls before the first work of their device cost nothing.
        if (c->class_of != class_of || c->start_ns < a->start_ns ||
            c->start_ns >= a->end_ns)
            continue;
        advice_span_add(a, &spans, c->file, c->thread, c->start_ns, c->end_ns);
        if (!longest ||
            c->end_ns - c->start_ns > longest->end_ns - longest->start_ns)
            longest = c;
    }
    if (longest && (int64_t)spans.count >= advice_limit(a, rule, "count")) {
        const ts_text name = ts_reader_name(
            analyze_reader(a->job, longest->file), longest->name);
        const int64_t length = longest->end_ns - longest->start_ns;
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, longest->file, longest->start_ns, longest->end_ns);
        advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "%s", title);
        ADVICE_SAY(a, f, what,
                   "%s after the start of the first operation take %s (%s); "
                   "the longest is %s in %.*s.",
                   cli_counted(spans.count, "call", "calls").s,
                   cli_time(spans.ns).s, call_class_name(class_of),
                   cli_time(length).s, (int)name.size, name.text);
        ADVICE_SAY(a, f, todo, "%s%s",
                   2 * length > spans.ns && spans.count > 1
                       ? "Most of it is one call that waits for the device or "
                         "for loading code; warm up before the part that "
                         "matters. "
                       : "",
                   todo);
        ADVICE_SAY(a, f, how, "replay without these calls and their waits");
    }
    free(spans.list);
}

void rule_alloc_in_loop(advice *a, const advice_rule *rule)
{
    find_class(a, rule, CALL_ALLOC,
               "device memory is allocated or freed during the run",
               "Allocate once and reuse the memory, or use a pool "
               "(stream-ordered allocation, a caching allocator): a free waits "
               "for the whole device.");
}

void rule_pin_in_loop(advice *a, const advice_rule *rule)
{
    find_class(a, rule, CALL_HOST_MEMORY,
               "host memory is pinned or freed during the run",
               "Reuse pinned buffers: pinning costs about as much as copying, "
               "and freeing waits for the device.");
}

void rule_create_in_loop(advice *a, const advice_rule *rule)
{
    find_class(a, rule, CALL_CREATE,
               "streams, events or graphs are created during the run",
               "Create them once at the start and reuse them.");
}

void rule_module_load(advice *a, const advice_rule *rule)
{
    find_class(a, rule, CALL_LOAD, "modules are loaded during the run",
               "Warm up first, load modules eagerly "
               "(CUDA_MODULE_LOADING=EAGER), keep compiled kernels in a cache. "
               "In a longer run this cost occurs only once.");
}

/* ---- slow-first-launch --------------------------------------------------- */

typedef struct named_kernel {
    uint32_t file, name;
    uint32_t call, op; // its first launch
    int64_t ns;        // of that call
    int64_t later_ns;  // of the shortest later one; INT64_MAX: there is none
} named_kernel;

typedef struct named_kernels {
    named_kernel *list;
    size_t count, room;
    cli_map rows; // by file and name
    int64_t usual_ns;
} named_kernels;

static int by_name(const void *left, const void *right)
{
    const named_kernel *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->name > b->name) - (a->name < b->name);
}

static uint32_t name_id(const advice *a, uint32_t op)
{
    const ts_launch_entry *const l = advice_launch(a, op);
    return l ? l->name : 0;
}

// Returns the kernel that a call launched first, or TS_NODE_NONE.
static uint32_t launched_by(const advice *a, uint32_t call)
{
    const uint32_t op = a->call_op[call - a->op_count];
    return op != TS_NODE_NONE && a->ops[op].kind == TS_EVENT_KERNEL
               ? op
               : TS_NODE_NONE;
}

// Adds a launch. They come in order of time.
static bool add_launch(const advice *a, named_kernels *all, uint32_t call,
                       int64_t ns)
{
    const uint32_t op = launched_by(a, call);
    const uint32_t file = a->ops[op].file, name = name_id(a, op);
    const uint64_t key = (uint64_t)file << 32 | name;
    const uint32_t row = cli_map_row(&all->rows, key);
    if (row != CLI_NONE) {
        if (ns < all->list[row].later_ns) all->list[row].later_ns = ns;
        return true;
    }
    if (!cli_grow(&all->list, &all->room, all->count + 1, sizeof *all->list) ||
        !cli_map_set(&all->rows, key, (uint32_t)all->count))
        return false;
    all->list[all->count++] =
        (named_kernel){ file, name, call, op, ns, INT64_MAX };
    return true;
}

// Lists the kernels, by name, with how long their launches took.
static void list_kernels(advice *a, named_kernels *all)
{
    advice_load_waits(a);
    const uint32_t first = (uint32_t)a->op_count;
    const uint32_t end = first + a->graph.call_count;
    int64_t sum = 0, count = 0, low = 0, low_count = 0;
    for (uint32_t i = first; !a->failed && i < end; i++) {
        if (launched_by(a, i) == TS_NODE_NONE) continue;
        const int64_t ns = advice_node(a, i).duration_ns;
        a->failed = !add_launch(a, all, i, ns);
        sum += ns;
        count++;
    }
    // Take the mean of the values below the mean, which limits the influence of
    // long first launches.
    const int64_t mean = count ? sum / count : 0;
    for (uint32_t i = first; !a->failed && i < end; i++) {
        if (launched_by(a, i) == TS_NODE_NONE) continue;
        const int64_t ns = advice_node(a, i).duration_ns;
        if (ns > mean) continue;
        low += ns;
        low_count++;
    }
    all->usual_ns = low_count ? low / low_count : 0;
    if (all->count > 1)
        qsort(all->list, all->count, sizeof *all->list, by_name);
}

void rule_slow_first_launch(advice *a, const advice_rule *rule)
{
    named_kernels all = { 0 };
    list_kernels(a, &all);
    const int64_t usual = all.usual_ns;
    const int64_t least = advice_limit(a, rule, "time");
    advice_spans spans = { 0 };
    const named_kernel *longest = NULL;
    for (size_t i = 0; !a->failed && i < all.count; i++) {
        const named_kernel *const k = &all.list[i];
        const int64_t later = k->later_ns < usual ? k->later_ns : usual;
        if (k->ns - later < least) continue;
        const ts_node n = advice_node(a, k->call);
        advice_span_add(a, &spans, n.file, n.track, n.recorded_ns + later,
                        n.recorded_ns + n.duration_ns);
        if (!longest || k->ns > longest->ns) longest = k;
    }
    if (longest && (int64_t)spans.count >= advice_limit(a, rule, "count")) {
        const ts_text name = advice_label(a, longest->op);
        const ts_node n = advice_node(a, longest->call);
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, n.file, n.recorded_ns,
                         n.recorded_ns + n.duration_ns);
        report_evidence_add(&f->evidence, longest->op);
        advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "first launches of kernels are slow");
        ADVICE_SAY(
            a, f, what,
            "The first launch of %s takes at least %s longer than usual (%s): "
            "%s in total. Slowest: %.*s, %s.",
            cli_counted(spans.count, "kernel", "kernels").s, cli_time(least).s,
            cli_time(usual).s, cli_time(spans.ns).s, (int)name.size, name.text,
            cli_time(longest->ns).s);
        ADVICE_SAY(a, f, todo,
                   "They load or compile code. Warm up first, load modules "
                   "eagerly (CUDA_MODULE_LOADING=EAGER for CUDA), keep "
                   "compiled kernels in a cache. In a longer run this cost "
                   "occurs only once.");
        ADVICE_SAY(a, f, how,
                   "replay in which these calls take as long as the others");
    }
    free(spans.list);
    free(all.list);
    cli_map_close(&all.rows);
}
