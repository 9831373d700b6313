/*
    answers_graph.c - what the graph says: idle time, reasons, path, what-ifs
*/
#include "tools/studio/scene/wire_parts.h"

static void put_device(wire *w, const ts_timeline_figures *f)
{
    wire_put(w, f->track, 4);
    wire_put_text(w, scene_track_name(w->s, f->track));
    wire_put(w, f->operations, 8);
    wire_put(w, (uint64_t)f->start_ns, 8);
    wire_put(w, (uint64_t)f->end_ns, 8);
    wire_put(w, (uint64_t)f->busy_ns, 8);
    wire_put(w, (uint64_t)f->idle_ns, 8);
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        wire_put(w, (uint64_t)f->cause_ns[i], 8);
        wire_put(w, f->causes[i], 8);
    }
    wire_put(w, (uint64_t)f->launch_p50_ns, 8);
    wire_put(w, (uint64_t)f->launch_max_ns, 8);
    wire_put(w, f->queue_max, 4);
}

/* ---- The longest gaps ---------------------------------------------------- */

enum { LONGEST = 100 };

typedef struct long_gap {
    ts_gap gap;
    scene_ref ref;
    uint32_t track;
} long_gap;

typedef struct long_gaps {
    long_gap list[LONGEST]; // the longest first, of equal ones the earlier
    size_t count;
} long_gaps;

static void keep_gap(long_gaps *l, const long_gap *g)
{
    const int64_t ns = g->gap.end_ns - g->gap.start_ns;
    size_t at = l->count;
    while (at &&
           ns > l->list[at - 1].gap.end_ns - l->list[at - 1].gap.start_ns) {
        if (at < LONGEST) l->list[at] = l->list[at - 1];
        at--;
    }
    if (at < LONGEST) l->list[at] = *g;
    if (l->count < LONGEST) l->count++;
}

static void put_gaps(wire *w, const ts_timeline *t)
{
    long_gaps l = { .count = 0 };
    const ts_timeline_figures *f;
    for (size_t d = 0; (f = ts_timeline_device(t, d)); d++) {
        long_gap g = { .track = f->track };
        for (size_t i = 0; ts_timeline_gap(t, d, i, &g.gap); i++) {
            g.ref = SCENE_REF_GAP | (uint64_t)d << 32 | i;
            keep_gap(&l, &g);
        }
    }
    wire_put(w, l.count, 4);
    for (size_t i = 0; i < l.count; i++) {
        wire_put(w, l.list[i].ref, 8);
        wire_put(w, l.list[i].track, 4);
        wire_put(w, (uint64_t)l.list[i].gap.start_ns, 8);
        wire_put(w, (uint64_t)l.list[i].gap.end_ns, 8);
        wire_put(w, l.list[i].gap.cause, 1);
        wire_put(w, l.list[i].gap.inferred, 1);
    }
}

ts_result wire_idle(wire *w)
{
    const ts_result result = scene_graph(w->s);
    if (result != TS_OK) return result;
    const ts_timeline *const t = scene_timeline(w->s);
    const ts_timeline_figures *f;
    wire_put(w, TS_IDLE_LIMIT, 4);
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++)
        wire_put_string(w, ts_idle_name(i));
    const size_t at = wire_hold(w);
    uint32_t count = 0;
    for (; (f = ts_timeline_device(t, count)); count++)
        put_device(w, f);
    wire_set(w, at, count);
    put_device(w, ts_timeline_total(t));
    put_gaps(w, t);
    return TS_OK;
}

ts_result wire_why(wire *w)
{
    const scene_ref ref = wire_u64(w);
    scene_reason reasons[SCENE_REASONS];
    if (w->wrong) return TS_ERR_USAGE;
    const size_t count = scene_why(w->s, ref, reasons);
    if (!count) return TS_ERR_NOT_FOUND;
    wire_put(w, count, 4);
    for (size_t i = 0; i < count; i++) {
        wire_put_string(w, reasons[i].text);
        wire_put(w, (uint64_t)reasons[i].start_ns, 8);
        wire_put(w, (uint64_t)reasons[i].end_ns, 8);
        wire_put(w, reasons[i].ref, 8);
        wire_put(w, reasons[i].inferred, 1);
    }
    return TS_OK;
}

static void put_costs(wire *w, const int64_t cost_ns[TS_COST_LIMIT])
{
    for (int i = 0; i < TS_COST_LIMIT; i++)
        wire_put(w, (uint64_t)cost_ns[i], 8);
}

static void put_cost_names(wire *w)
{
    wire_put(w, TS_COST_LIMIT, 4);
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        wire_put_string(w, ts_cost_name(i));
}

ts_result wire_path(wire *w)
{
    ts_path path;
    const ts_result result = scene_path(w->s, &path);
    if (result != TS_OK) return result;
    put_cost_names(w);
    put_costs(w, path.cost_ns);
    wire_put(w, path.bound, 4);
    wire_put(w, path.count, 4);
    return TS_OK;
}

/* ---- Arrows -------------------------------------------------------------- */

static void put_flow_end(wire *w, wire_used *u, const scene_flow_end *end)
{
    wire_put(w, end->row, 4);
    wire_put(w, (uint64_t)end->ns, 8);
    wire_put(w, end->ref, 8);
    wire_put(w, end->label, 4);
    wire_use(w, u, end->label);
}

static void put_flows(wire *w, const scene_flow *flows, size_t count)
{
    wire_used u = { 0 };
    wire_put(w, TS_EDGE_LIMIT, 4);
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++)
        wire_put_string(w, ts_edge_name(i));
    wire_put(w, count, 4);
    for (size_t i = 0; i < count; i++) {
        put_flow_end(w, &u, &flows[i].from);
        put_flow_end(w, &u, &flows[i].to);
        wire_put(w, flows[i].edge, 1);
        wire_put(w, flows[i].inferred, 1);
        wire_put(w, flows[i].last, 1);
    }
    wire_put_used(w, &u);
}

ts_result wire_flows(wire *w)
{
    scene_flow_desc d = { .of = (scene_flows_of)wire_u32(w) };
    scene_flows found;
    d.ref = wire_u64(w);
    d.from_ns = wire_i64(w);
    d.to_ns = wire_i64(w);
    d.pixels = wire_u32(w);
    d.row_count = wire_u32(w);
    if (w->wrong || d.of < SCENE_FLOWS_EVENT || d.of > SCENE_FLOWS_PATH ||
        !d.pixels || d.pixels > SCENE_PIXELS || d.row_count > SCENE_MOST_ROWS ||
        d.from_ns >= d.to_ns)
        return TS_ERR_USAGE;
    uint32_t *const rows = wire_get_rows(w, &d.row_count);
    if (!rows) return TS_ERR_USAGE;
    d.rows = rows;
    const ts_result result = scene_flows_find(w->s, &d, &found);
    free(rows);
    wire_put(w, found.total, 8);
    wire_put(w, found.more, 1);
    if (result == TS_OK) put_flows(w, found.items, found.count);
    free(found.items);
    return result;
}

// When operations ran that another tool names by their numbers.
ts_result wire_operations(wire *w)
{
    const uint32_t count = wire_u32(w);
    uint32_t *const numbers = wire_u32s(w, count);
    if (!numbers) return TS_ERR_USAGE;
    const ts_result result = scene_graph(w->s);
    wire_put(w, count, 4);
    for (uint32_t i = 0; result == TS_OK && i < count; i++) {
        int64_t start_ns = 0, end_ns = 0;
        scene_ref ref = SCENE_REF_NONE;
        scene_operation(w->s, numbers[i], &start_ns, &end_ns, &ref);
        wire_put(w, (uint64_t)start_ns, 8);
        wire_put(w, (uint64_t)end_ns, 8);
        wire_put(w, ref, 8);
    }
    free(numbers);
    return result;
}

static void get_change(wire *w, scene_change *c)
{
    c->type = (ts_change_type)wire_u32(w);
    c->factor.num = wire_u32(w);
    c->factor.den = wire_u32(w);
    c->ns = wire_i64(w);
    c->label_count = wire_u32(w);
    c->labels = wire_u32s(w, c->label_count);
    c->ref_count = wire_u32(w);
    c->refs = wire_u64s(w, c->ref_count);
}

// Changes that need nothing which a question lacks.
static bool is_known(const scene_change *c)
{
    switch (c->type) {
    case TS_CHANGE_SCALE:
    case TS_CHANGE_HOST: return c->factor.den != 0;
    case TS_CHANGE_REMOVE:
    case TS_CHANGE_FUSE:
    case TS_CHANGE_NO_LAUNCH:
    case TS_CHANGE_OVERLAP: return true;
    default: return false;
    }
}

static void put_outcome(wire *w, const scene_outcome *o)
{
    wire_put(w, (uint64_t)o->recorded_ns, 8);
    wire_put(w, (uint64_t)o->model_ns, 8);
    wire_put(w, (uint64_t)o->changed_ns, 8);
    wire_put(w, o->bound_before, 4);
    wire_put(w, o->bound, 4);
    wire_put(w, o->operations, 8);
    wire_put(w, o->unmet, 8);
    put_cost_names(w);
    put_costs(w, o->cost_before_ns);
    put_costs(w, o->cost_ns);
}

ts_result wire_whatif(wire *w)
{
    scene_change changes[SCENE_MOST_CHANGES] = { { 0 } };
    scene_outcome outcome;
    const uint32_t count = wire_u32(w);
    if (count > SCENE_MOST_CHANGES) return TS_ERR_USAGE;
    bool ok = true;
    for (uint32_t i = 0; i < count && !w->wrong; i++) {
        get_change(w, &changes[i]);
        ok = ok && is_known(&changes[i]);
    }
    ts_result result = ok && !w->wrong ? TS_OK : TS_ERR_USAGE;
    if (w->failed) result = TS_ERR_MEMORY;
    if (result == TS_OK) result = scene_whatif(w->s, changes, count, &outcome);
    if (result == TS_OK) put_outcome(w, &outcome);
    for (uint32_t i = 0; i < count; i++) {
        free((void *)(uintptr_t)changes[i].labels);
        free((void *)(uintptr_t)changes[i].refs);
    }
    return result;
}
