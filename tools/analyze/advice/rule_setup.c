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

typedef struct named_call {
    uint32_t file, launch; // file and launch of its first kernel
    uint32_t call, op;
    int64_t ns;
} named_call;

static int by_kernel(const void *left, const void *right)
{
    const named_call *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->launch != b->launch) return a->launch < b->launch ? -1 : 1;
    return (a->call > b->call) - (a->call < b->call);
}

static uint64_t kernel_of(const void *of)
{
    const named_call *const call = of;
    return (uint64_t)call->file << 32 | call->launch;
}

static uint32_t name_id(const advice *a, uint32_t op)
{
    const ts_launch_entry *const l = advice_launch(a, op);
    return l ? l->name : 0;
}

// Lists the calls that launched a kernel, by kernel and time.
static named_call *list_calls(advice *a, size_t *count)
{
    advice_load_waits(a);
    named_call *const all = calloc(a->graph.call_count + 1, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; all && a->call_op && i < a->graph.call_count; i++) {
        const uint32_t op = a->call_op[i];
        if (op == TS_NODE_NONE || a->ops[op].kind != TS_EVENT_KERNEL) continue;
        const uint32_t call = (uint32_t)a->op_count + i;
        const named_call one = { a->ops[op].file, name_id(a, op), call, op,
                                 advice_node(a, call).duration_ns };
        all[(*count)++] = one;
    }
    if (!all) a->failed = true;
    if (all) cli_sort_by(all, *count, sizeof *all, kernel_of, by_kernel);
    return all;
}

static int64_t shortest_later(const named_call *all, size_t first, size_t end)
{
    int64_t least = INT64_MAX;
    for (size_t i = first + 1; i < end; i++)
        if (all[i].ns < least) least = all[i].ns;
    return least;
}

static int64_t usual_of(const named_call *all, size_t count)
{
    // Take the mean of the values below the mean, which limits the influence of
    // long first launches.
    int64_t sum = 0, low = 0, number = 0;
    for (size_t i = 0; i < count; i++)
        sum += all[i].ns;
    const int64_t mean = count ? sum / (int64_t)count : 0;
    for (size_t i = 0; i < count; i++)
        if (all[i].ns <= mean) {
            low += all[i].ns;
            number++;
        }
    return number ? low / number : 0;
}

void rule_slow_first_launch(advice *a, const advice_rule *rule)
{
    size_t count;
    named_call *const all = list_calls(a, &count);
    if (!all) return;
    const int64_t usual = usual_of(all, count);
    const int64_t least = advice_limit(a, rule, "time");
    advice_spans spans = { 0 };
    const named_call *longest = NULL;
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && all[end].file == all[first].file &&
                              all[end].launch == all[first].launch;)
            end++;
        int64_t later = shortest_later(all, first, end);
        if (later > usual) later = usual;
        if (all[first].ns - later < least) continue;
        const ts_node n = advice_node(a, all[first].call);
        advice_span_add(a, &spans, n.file, n.track, n.recorded_ns + later,
                        n.recorded_ns + n.duration_ns);
        if (!longest || all[first].ns > longest->ns) longest = &all[first];
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
    free(all);
}
