/*
    why.c - explains in sentences why a device was idle, and what an operation
    waited for

    The figures are those of the timeline, which ts-analyze uses, too.
*/
#include <stdarg.h>
#include "tools/studio/scene/parts.h"

typedef struct explanation {
    scene *s;
    scene_reason *reasons;
    size_t count;
} explanation;

typedef struct words {
    char s[128];
} words;

static words time_text(int64_t ns)
{
    words w;
    if (ns < 1000 && ns > -1000)
        snprintf(w.s, sizeof w.s, "%" PRId64 " ns", ns);
    else if (ns < 1000000 && ns > -1000000)
        snprintf(w.s, sizeof w.s, "%.3f us", (double)ns / 1e3);
    else if (ns < 1000000000 && ns > -1000000000)
        snprintf(w.s, sizeof w.s, "%.3f ms", (double)ns / 1e6);
    else
        snprintf(w.s, sizeof w.s, "%.3f s", (double)ns / 1e9);
    return w;
}

// A name of the trace, cut to what fits into a sentence at a whole character.
static words name_text(ts_text name)
{
    words w;
    size_t size = name.size < 80 ? name.size : 80;
    while (size < name.size && size && (name.text[size] & 0xC0) == 0x80)
        size--;
    snprintf(w.s, sizeof w.s, "'%.*s%s'", (int)size, name.text,
             size < name.size ? "..." : "");
    return w;
}

__attribute__((format(printf, 5, 6))) static scene_reason *
add(explanation *t, scene_ref ref, int64_t start_ns, int64_t end_ns,
    const char *format, ...)
{
    static scene_reason full;
    if (t->count >= SCENE_REASONS) return &full;
    scene_reason *const r = &t->reasons[t->count++];
    *r = (scene_reason){ .ref = ref, .start_ns = start_ns, .end_ns = end_ns };
    va_list args;
    va_start(args, format);
    vsnprintf(r->text, sizeof r->text, format, args);
    va_end(args);
    return r;
}

/* ---- Nodes --------------------------------------------------------------- */

// A node in words, and its event if that is known.
typedef struct described {
    ts_node node;
    words place;
    char name[160];
    scene_ref ref;
    int64_t start_ns, end_ns;
    bool is_call;
} described;

// The event of a call: what its thread's row of calls has at that time.
static scene_ref ref_of_call(const scene *s, const ts_node *node)
{
    const uint64_t most = 4; // lanes of calls
    scene_item item;
    for (uint32_t i = 0; i < s->row_count; i++) {
        const scene_row *const r = &s->rows[i].pub;
        if (r->type == SCENE_CALLS && r->track == node->track &&
            r->part < most && scene_pick(s, i, node->recorded_ns, 0, &item) &&
            item.start_ns == node->recorded_ns)
            return item.ref;
    }
    return SCENE_REF_NONE;
}

static void name_operation(scene *s, uint32_t at, described *to)
{
    ts_operation op;
    if (!ts_replay_operation(s->replay, at, &op)) return;
    const scene_label *const label = scene_label_at(s, s->op_labels[at]);
    const words name =
        name_text(label ? label->text : (ts_text){ "operation", 9 });
    snprintf(to->name, sizeof to->name, "%s %s", ts_event_name(op.kind),
             name.s);
    to->ref = scene_ref_of_op(s, &op);
    to->start_ns = op.recorded_start_ns;
    to->end_ns = op.recorded_end_ns;
}

static bool describe_node(scene *s, uint32_t at, described *to)
{
    memset(to, 0, sizeof *to);
    to->ref = SCENE_REF_NONE;
    if (at == TS_NODE_NONE || !ts_replay_node(s->replay, at, &to->node) ||
        !ts_replay_node(s->replay, to->node.owner, &to->node))
        return false;
    to->start_ns = to->node.recorded_ns;
    to->end_ns = to->node.recorded_ns + to->node.duration_ns;
    const uint32_t owner = to->node.owner;
    if (to->node.type == TS_NODE_OPERATION) {
        name_operation(s, owner, to);
    } else if (to->node.type == TS_NODE_CALL) {
        const ts_text name =
            scene_readable(s, ts_reader_name(s->reader, to->node.name));
        const words n = name_text(name.size ? name : (ts_text){ "a call", 6 });
        snprintf(to->name, sizeof to->name, "call %s", n.s);
        to->ref = ref_of_call(s, &to->node);
        to->is_call = true;
    } else {
        return false; // a join, which nothing waits for last
    }
    if (!to->node.track) return true;
    const ts_text track = scene_track_name(s, to->node.track);
    snprintf(to->place.s, sizeof to->place.s, " on %.*s",
             (int)(track.size < 100 ? track.size : 100), track.text);
    return true;
}

static const char *edge_words(uint8_t edge)
{
    static const char *const texts[TS_EDGE_LIMIT] = {
        "its own work took until then",
        "calls of a thread run one after another",
        "this call launched it",
        "operations of a stream run one after another",
        "an event orders them",
        "a synchronisation waited for it",
        "the legacy default stream waits for other streams, and they for it",
        "an edge of the launched graph orders them",
        "a collective ends when all its ranks have begun it",
        "the launch queue was full",
        "a send and its receive wait for each other",
        "the trace states this dependency"
    };
    return edge < TS_EDGE_LIMIT ? texts[edge] : "the reason is unknown";
}

/* ---- Chains -------------------------------------------------------------- */

// Explains one step back. Returns false if that leads no further back in time:
// a call that ends after its own operation waits for what it launched itself.
static bool explain_step(explanation *t, const described *here,
                         const described *there, uint8_t edge, bool inferred)
{
    if (here->is_call && !there->is_call && there->end_ns > here->start_ns) {
        add(t, there->ref, there->start_ns, there->end_ns,
            "Before that, %s%s returned only when %s%s had ended, %s after "
            "the call.",
            here->name, here->place.s, there->name, there->place.s,
            time_text(there->end_ns - here->start_ns).s)
            ->inferred = inferred;
        return true;
    }
    if (there->start_ns >= here->start_ns) return false;
    add(t, there->ref, there->start_ns, there->end_ns,
        "Before that, %s waited for %s%s, which %s %s earlier: %s%s.",
        here->name, there->name, there->place.s,
        there->is_call ? "began" : "ended",
        time_text(here->start_ns -
                  (there->is_call ? there->start_ns : there->end_ns))
            .s,
        edge_words(edge), inferred ? " (inferred from times)" : "")
        ->inferred = inferred;
    return true;
}

// Follows the latest of what each node waited for, back to `until_ns`.
static void explain_chain(explanation *t, uint32_t node, int64_t until_ns)
{
    enum { STEPS = 6 };
    scene *const s = t->s;
    uint32_t seen[STEPS];
    described here, there;
    for (int i = 0; i < STEPS && describe_node(s, node, &here); i++) {
        uint8_t edge = 0;
        bool inferred = false;
        const uint32_t next =
            ts_timeline_culprit(s->timeline, node, &edge, &inferred);
        seen[i] = node;
        for (int k = 0; k <= i; k++)
            if (seen[k] == next) return;
        if (!describe_node(s, next, &there) ||
            !explain_step(t, &here, &there, edge, inferred) ||
            there.end_ns < until_ns)
            return;
        node = next;
    }
}

static uint32_t rows_of_track(const scene *s, scene_row_type type,
                              uint32_t track, uint32_t rows[SCENE_LANES])
{
    uint32_t count = 0, row;
    while (count < SCENE_LANES &&
           (row = scene_row_known(s, type, track, count)) != CLI_NONE)
        rows[count++] = row;
    return count;
}

static int by_self(const void *left, const void *right)
{
    const scene_sum *const a = left, *const b = right;
    if (a->self_ns != b->self_ns) return a->self_ns < b->self_ns ? 1 : -1;
    return a->label < b->label ? -1 : a->label > b->label;
}

// Says what a thread did for most of a time range.
static void explain_thread(explanation *t, uint32_t track, scene_row_type type,
                           int64_t from_ns, int64_t to_ns)
{
    uint32_t rows[SCENE_LANES];
    scene_area_sums area;
    scene *const s = t->s;
    const uint32_t row_count = rows_of_track(s, type, track, rows);
    if (to_ns <= from_ns ||
        !scene_area_at_once(s, rows, row_count, from_ns, to_ns, &area))
        return;
    scene_sum *const sums = area.sums;
    if (area.kept) qsort(sums, area.kept, sizeof *sums, by_self);
    if (area.kept && sums->self_ns * 4 > to_ns - from_ns)
        add(t, sums->longest, from_ns, to_ns,
            "Meanwhile the launching thread spent %s of %s in %s %s.",
            time_text(sums->self_ns).s, time_text(to_ns - from_ns).s,
            type == SCENE_CALLS ? "call" : "zone",
            name_text(s->labels[sums->label].text).s);
    free(sums);
}

/* ---- Gaps ---------------------------------------------------------------- */

static const char *cause_words(ts_idle cause)
{
    static const char *const texts[TS_IDLE_LIMIT] = {
        "the host launched too late",
        "the launch took time to reach the device",
        "a kernel of another stream had to end first",
        "a copy had to end first",
        "a collective had to end first",
        "the host was blocked in a synchronisation",
        "the launch queue was full",
        "the cause is not recorded",
        "the device started a ready operation late"
    };
    return texts[cause];
}

static void explain_culprit(explanation *t, const ts_gap *gap)
{
    described c;
    if (!describe_node(t->s, gap->culprit, &c)) return;
    const int64_t late_ns = c.start_ns - gap->start_ns;
    if (!c.is_call)
        add(t, c.ref, c.start_ns, c.end_ns,
            "It waited for %s%s, which ended %s before it began: %s%s.", c.name,
            c.place.s, time_text(gap->end_ns - c.end_ns).s,
            edge_words(gap->edge),
            gap->inferred ? " (inferred from times)" : "")
            ->inferred = gap->inferred;
    else if (gap->cause == TS_IDLE_HOST_SYNC ||
             gap->cause == TS_IDLE_QUEUE_FULL)
        add(t, c.ref, c.start_ns, c.end_ns,
            "The launching thread was blocked in %s%s for %s, until %s before "
            "the operation began.",
            c.name, c.place.s, time_text(c.end_ns - c.start_ns).s,
            time_text(gap->end_ns - c.end_ns).s)
            ->inferred = gap->inferred;
    else if (late_ns > 0)
        add(t, c.ref, c.start_ns, c.end_ns,
            "It was launched by %s%s, which began %s after the device became "
            "idle.",
            c.name, c.place.s, time_text(late_ns).s);
    else
        add(t, c.ref, c.start_ns, c.end_ns,
            "It was launched by %s%s, which began %s before the device became "
            "idle, but it reached the device only at the end of the gap.",
            c.name, c.place.s, time_text(-late_ns).s);
}

static size_t explain_gap(explanation *t, size_t device, size_t at)
{
    scene *const s = t->s;
    ts_gap gap;
    described op, call;
    const ts_timeline_figures *const f =
        ts_timeline_device(s->timeline, device);
    if (!f || !ts_timeline_gap(s->timeline, device, at, &gap) ||
        !describe_node(s, gap.operation, &op))
        return 0;
    const ts_text track = scene_track_name(s, f->track);
    add(t, SCENE_REF_GAP | (uint64_t)device << 32 | at, gap.start_ns,
        gap.end_ns, "%.*s was idle for %s: %s%s.", (int)track.size, track.text,
        time_text(gap.end_ns - gap.start_ns).s, cause_words(gap.cause),
        gap.inferred ? " (inferred from times)" : "")
        ->inferred = gap.inferred;
    add(t, op.ref, op.start_ns, op.end_ns, "The next operation was %s%s.",
        op.name, op.place.s);
    explain_culprit(t, &gap);
    ts_operation o;
    if (ts_replay_operation(s->replay, gap.operation, &o) &&
        describe_node(s, o.call, &call) && call.start_ns > gap.start_ns) {
        const uint32_t thread = call.node.track;
        explain_thread(t, thread, SCENE_CALLS, gap.start_ns, call.start_ns);
        explain_thread(t, thread, SCENE_ZONES, gap.start_ns, call.start_ns);
    }
    if (gap.culprit != TS_NODE_NONE)
        explain_chain(t, gap.culprit, gap.start_ns);
    return t->count;
}

/* ---- Parts of the path, operations --------------------------------------- */

static size_t explain_part(explanation *t, size_t at)
{
    if (!t->s->on_path || at >= t->s->path.count) return 0;
    const ts_path_part *const p = &t->s->path.parts[at];
    described node;
    if (!describe_node(t->s, p->node, &node)) return 0;
    const words time = time_text(p->end_ns - p->start_ns);
    const char *const cost = ts_cost_name(p->cost);
    if (p->waits)
        add(t, node.ref, p->start_ns, p->end_ns,
            "For %s (%s), the critical path waits until %s%s begins: %s.",
            time.s, cost, node.name, node.place.s,
            edge_words((uint8_t)p->edge));
    else
        add(t, node.ref, p->start_ns, p->end_ns,
            "For %s (%s), the critical path runs through %s%s.", time.s, cost,
            node.name, node.place.s);
    return t->count;
}

static size_t explain_operation(explanation *t, uint32_t op)
{
    scene *const s = t->s;
    described here, there;
    uint8_t edge = 0;
    bool inferred = false;
    if (op == CLI_NONE || !describe_node(s, op, &here)) return 0;
    const uint32_t next =
        ts_timeline_culprit(s->timeline, op, &edge, &inferred);
    if (!describe_node(s, next, &there)) {
        add(t, here.ref, here.start_ns, here.end_ns,
            "According to the trace, %s%s waited for nothing.", here.name,
            here.place.s);
        return t->count;
    }
    const int64_t end_ns = there.is_call ? there.start_ns : there.end_ns;
    if (end_ns > here.start_ns) // a synchronisation
        add(t, there.ref, there.start_ns, there.end_ns,
            "%s%s waited %s for %s%s: %s%s.", here.name, here.place.s,
            time_text(end_ns - here.start_ns).s, there.name, there.place.s,
            edge_words(edge), inferred ? " (inferred from times)" : "")
            ->inferred = inferred;
    else
        add(t, there.ref, there.start_ns, there.end_ns,
            "%s%s began %s after the %s of %s%s, the last that it waited for: "
            "%s%s.",
            here.name, here.place.s, time_text(here.start_ns - end_ns).s,
            there.is_call ? "start" : "end", there.name, there.place.s,
            edge_words(edge), inferred ? " (inferred from times)" : "")
            ->inferred = inferred;
    explain_chain(t, next, INT64_MIN);
    return t->count;
}

size_t scene_why(scene *s, scene_ref ref, scene_reason reasons[SCENE_REASONS])
{
    explanation t = { s, reasons, 0 };
    if (ref == SCENE_REF_NONE || scene_graph(s) != TS_OK) return 0;
    if (ref & SCENE_REF_GAP)
        return explain_gap(&t, (size_t)((ref & ~SCENE_REF_GAP) >> 32),
                           (size_t)(ref & UINT32_MAX));
    if (ref & SCENE_REF_PART)
        return explain_part(&t, (size_t)(ref & ~SCENE_REF_PART));
    return explain_operation(&t, scene_op_of_ref(s, ref));
}
