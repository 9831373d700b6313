/*
    rule_sync.c - advice: host waits for a device
*/
#include "tools/analyze/advice/rule.h"
#include "tools/cli/search.h"

static bool is_copy_to_host(const advice_op *op)
{
    return op->kind == TS_EVENT_MEMCPY && op->type == 2;
}

// Returns the name of a call for display.
static ts_text call_name(const advice *a, uint32_t call)
{
    const ts_node n = advice_node(a, call);
    const ts_text name = ts_reader_name(analyze_reader(a->job, n.file), n.name);
    const ts_text call_text = { "a call", 6 };
    return name.size ? name : call_text;
}

// The waits that a rule concerns.
typedef struct wait_sum {
    uint64_t count;
    int64_t ns, longest_ns;
    const advice_wait *longest;
    advice_spans spans;
    bool inferred;
} wait_sum;

static void add_wait(advice *a, wait_sum *sum, const advice_wait *w,
                     int64_t from_ns)
{
    sum->count++;
    sum->ns += w->end_ns - from_ns;
    if (!sum->longest || w->end_ns - w->start_ns > sum->longest_ns) {
        sum->longest = w;
        sum->longest_ns = w->end_ns - w->start_ns;
    }
    advice_span_add(a, &sum->spans, w->file, w->thread, from_ns, w->end_ns);
}

static advice_finding *find_waits(advice *a, const advice_rule *rule,
                                  wait_sum *sum)
{
    advice_finding *const f = advice_find(a, rule);
    advice_show_time(f, sum->longest->file, sum->longest->start_ns,
                     sum->longest->end_ns);
    if (sum->longest->source != TS_NODE_NONE)
        report_evidence_add(&f->evidence, sum->longest->source);
    if (sum->longest->last != TS_NODE_NONE &&
        sum->longest->last != sum->longest->source)
        report_evidence_add(&f->evidence, sum->longest->last);
    advice_spare(a, f, &sum->spans);
    return f;
}

static bool is_enough(const advice *a, const advice_rule *rule,
                      const wait_sum *sum)
{
    return sum->count && (int64_t)sum->count >= advice_limit(a, rule, "count");
}

/* ---- blocking-readback --------------------------------------------------- */

void rule_blocking_readback(advice *a, const advice_rule *rule)
{
    advice_load_waits(a);
    const uint64_t most = (uint64_t)advice_limit(a, rule, "size");
    wait_sum sum = { 0 };
    uint64_t copies = 0;
    uint32_t last = TS_NODE_NONE;
    for (size_t i = 0; i < a->wait_count; i++) {
        const advice_wait *const w = &a->waits[i];
        if (w->final || w->last == TS_NODE_NONE ||
            !is_copy_to_host(&a->ops[w->last]) ||
            advice_size(a, &a->ops[w->last]) > most)
            continue;
        add_wait(a, &sum, w, w->start_ns);
        copies += w->last != last;
        last = w->last;
    }
    if ((int64_t)copies >= advice_limit(a, rule, "count") &&
        is_enough(a, rule, &sum)) {
        const uint32_t op = sum.longest->last;
        const cli_text time = cli_time(sum.ns);
        advice_finding *const f = find_waits(a, rule, &sum);
        ADVICE_SAY(a, f, title, "the host waits for small results");
        ADVICE_SAY(a, f, what,
                   "%s the host copied at most %s to itself and waited for it, "
                   "%s in total; the longest wait is %s%s.",
                   cli_counted(copies, "time", "times").s, cli_bytes(most).s,
                   time.s, cli_time(f->evidence.to_ns - f->evidence.from_ns).s,
                   advice_in_zone(a, op).text);
        ADVICE_SAY(a, f, todo,
                   "Keep the value on the device (.item(), .cpu(), nonzero() "
                   "and printing a tensor read it back), or read it a few "
                   "steps later, from pinned memory.");
        ADVICE_SAY(a, f, how, "replay in which the host does not wait there");
        f->confidence = REPORT_MEDIUM;
    }
    free(sum.spans.list);
}

/* ---- unread-sync ------------------------------------------------------- */

// Whether an operation gives the host something to read after a wait: a copy to
// the host, or a host function.
static bool gives_host(const advice_op *op)
{
    return is_copy_to_host(op) || op->kind == TS_EVENT_HOST_FUNCTION ||
           (op->kind == TS_EVENT_MEMCPY && (op->type == 0 || op->type == 4));
}

// Operations whose results the host can read, sorted by the time of their
// calls.
typedef struct gift {
    uint32_t file;
    int64_t time_ns;
} gift;

static int by_time(const void *left, const void *right)
{
    const gift *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool any_between(const gift *gifts, size_t count, uint32_t file,
                        int64_t from_ns, int64_t to_ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = cli_middle(low, high);
        cli_halve(&low, &high,
                  gifts[middle].file < file ||
                      (gifts[middle].file == file &&
                       gifts[middle].time_ns < from_ns));
    }
    return low < count && gifts[low].file == file && gifts[low].time_ns < to_ns;
}

static gift *list_gifts(advice *a, size_t *count)
{
    gift *const gifts = calloc(a->op_count + 1, sizeof *gifts);
    *count = 0;
    for (uint32_t i = 0; gifts && i < a->op_count; i++) {
        const advice_op *const op = &a->ops[i];
        if (!gives_host(op)) continue;
        const int64_t time = advice_is_call(a, op->call)
                                 ? advice_node(a, op->call).recorded_ns
                                 : op->start_ns;
        const gift one = { op->file, time };
        gifts[(*count)++] = one;
    }
    if (gifts && *count) qsort(gifts, *count, sizeof *gifts, by_time);
    if (!gifts) a->failed = true;
    return gifts;
}

static bool is_explicit_sync(const advice *a, const advice_wait *w)
{
    if (w->source == TS_NODE_NONE) return false;
    const uint8_t kind = a->ops[w->source].kind;
    if (kind == TS_EVENT_STREAM_SYNC || kind == TS_EVENT_DEVICE_SYNC ||
        kind == TS_EVENT_EVENT_SYNC)
        return true;
    static const char *const words[] = { "Synchronize", NULL };
    return advice_has_word(call_name(a, w->call), words);
}

void rule_unread_sync(advice *a, const advice_rule *rule)
{
    advice_load_waits(a);
    size_t gift_count;
    gift *const gifts = list_gifts(a, &gift_count);
    wait_sum sum = { 0 };
    for (size_t i = 0; gifts && i < a->wait_count; i++) {
        const advice_wait *const w = &a->waits[i];
        if (w->final || !is_explicit_sync(a, w)) continue;
        int64_t before = a->start_ns;
        for (size_t k = i; k-- > 0;)
            if (a->waits[k].file == w->file &&
                a->waits[k].thread == w->thread) {
                before = a->waits[k].start_ns;
                break;
            }
        if (any_between(gifts, gift_count, w->file, before, w->end_ns))
            continue;
        add_wait(a, &sum, w, w->start_ns);
    }
    if (is_enough(a, rule, &sum)) {
        const ts_text name = call_name(a, sum.longest->call);
        advice_finding *const f = find_waits(a, rule, &sum);
        ADVICE_SAY(a, f, title, "the host waits without reading data");
        ADVICE_SAY(
            a, f, what,
            "%s (%s in total, the longest %s in %.*s) without a copy to "
            "the host since the previous one.",
            cli_counted(sum.count, "synchronisation", "synchronisations").s,
            cli_time(sum.ns).s,
            cli_time(f->evidence.to_ns - f->evidence.from_ns).s, (int)name.size,
            name.text);
        ADVICE_SAY(a, f, todo,
                   "Remove them, or order streams by events. Waits that only "
                   "measure time do not belong in production; waits before the "
                   "host reads managed or mapped memory are needed, which a "
                   "trace does not show.");
        ADVICE_SAY(a, f, how, "replay in which the host does not wait there");
        f->confidence = REPORT_MEDIUM;
    }
    free(gifts);
    free(sum.spans.list);
}

/* ---- wide-sync ----------------------------------------------------------- */

void rule_wide_sync(advice *a, const advice_rule *rule)
{
    advice_load_waits(a);
    const int64_t least = advice_limit(a, rule, "time");
    wait_sum sum = { 0 };
    for (size_t i = 0; i < a->wait_count; i++) {
        const advice_wait *const w = &a->waits[i];
        if (w->final || w->source == TS_NODE_NONE ||
            a->ops[w->source].kind != TS_EVENT_DEVICE_SYNC ||
            w->last == TS_NODE_NONE || !is_copy_to_host(&a->ops[w->last]))
            continue;
        // The copy was complete: the rest of the wait was for other streams.
        int64_t done = a->ops[w->last].end_ns;
        if (done < w->start_ns) done = w->start_ns;
        if (w->end_ns - done < least) continue;
        add_wait(a, &sum, w, done);
    }
    if (is_enough(a, rule, &sum)) {
        advice_finding *const f = find_waits(a, rule, &sum);
        ADVICE_SAY(a, f, title, "the host waits for the whole device");
        ADVICE_SAY(a, f, what,
                   "%s continued for %s after the preceding copy to the host "
                   "was complete.",
                   cli_counted(sum.count, "device synchronisation",
                               "device synchronisations")
                       .s,
                   cli_time(sum.ns).s);
        ADVICE_SAY(a, f, todo,
                   "Wait for the stream of the copy, or for an event after the "
                   "copy, instead of the whole device.");
        ADVICE_SAY(a, f, how, "replay in which these waits end with the copy");
    }
    free(sum.spans.list);
}

/* ---- sync-bound ---------------------------------------------------------- */

void rule_sync_bound(advice *a, const advice_rule *rule)
{
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    const int64_t idle = t->cause_ns[TS_IDLE_HOST_SYNC];
    if (!advice_reaches(a, rule, "share", idle, t->busy_ns + t->idle_ns))
        return;
    advice_load_waits(a);
    wait_sum sum = { 0 };
    for (size_t i = 0; i < a->wait_count; i++)
        if (!a->waits[i].final)
            add_wait(a, &sum, &a->waits[i], a->waits[i].start_ns);
    if (sum.count) {
        advice_finding *const f = find_waits(a, rule, &sum);
        ADVICE_SAY(a, f, title,
                   "devices are idle after the host waited for "
                   "them");
        ADVICE_SAY(a, f, what,
                   "The host waited %s, %s in total; then devices were idle "
                   "for %s (%s) until the next launch.",
                   cli_counted(sum.count, "time", "times").s,
                   cli_time(sum.ns).s, cli_time(idle).s,
                   report_words(report_share(idle, t->busy_ns + t->idle_ns)).s);
        ADVICE_SAY(a, f, todo,
                   "Launch the next operations before waiting for the previous "
                   "ones: read results one step later, wait for events instead "
                   "of devices.");
        ADVICE_SAY(a, f, how,
                   "replay in which the host never waits: an upper bound");
        f->confidence = REPORT_MEDIUM;
    }
    free(sum.spans.list);
}

/* ---- polling ------------------------------------------------------------- */

void rule_polling(advice *a, const advice_rule *rule)
{
    advice_load_calls(a);
    advice_spans spans = { 0 };
    const advice_call *longest = NULL;
    for (size_t i = 0; i < a->call_count; i++) {
        const advice_call *const c = &a->calls[i];
        if (c->class_of != CALL_QUERY) continue;
        advice_span_add(a, &spans, c->file, c->thread, c->start_ns, c->end_ns);
        if (!longest ||
            c->end_ns - c->start_ns > longest->end_ns - longest->start_ns)
            longest = c;
    }
    if (longest && (int64_t)spans.count >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, longest->file, longest->start_ns, longest->end_ns);
        advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "the host polls for completion");
        ADVICE_SAY(a, f, what, "%s of streams and events, %s in total.",
                   cli_counted(spans.count, "query", "queries").s,
                   cli_time(spans.ns).s);
        ADVICE_SAY(a, f, todo,
                   "Wait for an event with a blocking call, or use a host "
                   "function as callback; let an allocator that polls its "
                   "events hold fewer of them.");
        ADVICE_SAY(a, f, how, "replay without these calls");
    }
    free(spans.list);
}
