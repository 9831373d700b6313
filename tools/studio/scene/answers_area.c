/*
    answers_area.c - what is in an area: sums, a flame graph, a histogram
*/
#include "tools/studio/scene/wire_parts.h"

static void put_share(wire *w, const scene_share *share)
{
    wire_put(w, share->counted, 8);
    wire_put(w, share->events, 8);
    wire_put(w, share->behind, 1);
}

static void put_sum(wire *w, const scene_sum *sum)
{
    wire_put_label(w, sum->label);
    wire_put(w, sum->count, 8);
    wire_put(w, (uint64_t)sum->total_ns, 8);
    wire_put(w, (uint64_t)sum->self_ns, 8);
    wire_put(w, (uint64_t)sum->least_ns, 8);
    wire_put(w, (uint64_t)sum->most_ns, 8);
    wire_put(w, sum->longest, 8);
}

ts_result wire_area(wire *w)
{
    const int64_t from_ns = wire_i64(w), to_ns = wire_i64(w);
    uint32_t row_count = wire_u32(w);
    scene_area_sums area;
    uint32_t *const rows = wire_get_rows(w, &row_count);
    if (!rows) return TS_ERR_USAGE;
    const ts_result result = scene_area(w->s, rows, row_count, from_ns, to_ns,
                                        SCENE_MOST_HITS, &area);
    free(rows);
    put_share(w, &area.share);
    wire_put(w, area.count, 4);
    wire_put(w, area.boxes, 8);
    wire_put(w, area.kept, 4);
    for (size_t i = 0; i < area.kept; i++)
        put_sum(w, &area.sums[i]);
    free(area.sums);
    return result;
}

/* ---- Flame graphs -------------------------------------------------------- */

typedef struct ranked {
    int64_t total_ns;
    uint32_t node, place; // place: in the answer
} ranked;

static int by_total(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->total_ns != b->total_ns) return a->total_ns < b->total_ns ? 1 : -1;
    return a->node < b->node ? -1 : a->node > b->node;
}

// The largest nodes: a parent is at least as large as its children and stands
// before them.
static void put_nodes(wire *w, const scene_flame *t)
{
    const size_t most =
        t->count < SCENE_MOST_NODES ? t->count : SCENE_MOST_NODES;
    ranked *const order = malloc((t->count + 1) * sizeof *order);
    uint32_t *const places = malloc((t->count + 1) * sizeof *places);
    w->failed = w->failed || !order || !places;
    put_share(w, &t->share);
    wire_put(w, t->count, 4);
    wire_put(w, t->full, 1);
    wire_put(w, most, 4);
    for (uint32_t i = 0; !w->failed && i < t->count; i++)
        order[i] = (ranked){ t->nodes[i].total_ns, i, 0 };
    if (!w->failed && t->count) qsort(order, t->count, sizeof *order, by_total);
    for (uint32_t i = 0; !w->failed && i < most; i++) {
        const scene_flame_node *const n = &t->nodes[order[i].node];
        places[order[i].node] = i;
        wire_put(w, n->parent == UINT32_MAX ? UINT32_MAX : places[n->parent],
                 4);
        wire_put(w, n->hue, 1);
        wire_put_text(w, n->text);
        wire_put(w, n->count, 8);
        wire_put(w, (uint64_t)n->total_ns, 8);
    }
    free(order);
    free(places);
}

ts_result wire_flame(wire *w)
{
    const int64_t from_ns = wire_i64(w), to_ns = wire_i64(w);
    const uint32_t by = wire_u32(w);
    uint32_t row_count = wire_u32(w);
    scene_flame tree;
    if (w->wrong || by < SCENE_FLAME_BOXES || by > SCENE_FLAME_STACKS)
        return TS_ERR_USAGE;
    uint32_t *const rows = wire_get_rows(w, &row_count);
    if (!rows) return TS_ERR_USAGE;
    const ts_result result = scene_flame_open(w->s, &tree, (scene_flame_by)by,
                                              rows, row_count, from_ns, to_ns);
    free(rows);
    if (result != TS_OK) return result;
    put_nodes(w, &tree);
    scene_flame_close(&tree);
    return TS_OK;
}

/* ---- Histograms ---------------------------------------------------------- */

static void put_bins(wire *w, const scene_histogram *h)
{
    const size_t at = wire_hold(w);
    uint32_t count = 0;
    for (uint32_t i = 0; i < SCENE_BINS; i++) {
        const scene_bin *const bin = &h->bins[i];
        if (!bin->count) continue;
        count++;
        wire_put(w, (uint64_t)scene_bin_ns(i), 8);
        wire_put(w, (uint64_t)scene_bin_ns(i + 1), 8);
        wire_put(w, bin->count, 8);
        wire_put(w, (uint64_t)bin->total_ns, 8);
        wire_put(w, bin->row, 4);
        wire_put(w, (uint64_t)bin->longest.start_ns, 8);
        wire_put(w, (uint64_t)bin->longest.end_ns, 8);
    }
    wire_set(w, at, count);
}

ts_result wire_histogram(wire *w)
{
    const int64_t from_ns = wire_i64(w), to_ns = wire_i64(w);
    const uint32_t label = wire_u32(w);
    uint32_t row_count = wire_u32(w);
    uint32_t *const rows = wire_get_rows(w, &row_count);
    scene_histogram *const h = malloc(sizeof *h);
    if (!rows || !h) {
        free(rows);
        free(h);
        return w->wrong ? TS_ERR_USAGE : TS_ERR_MEMORY;
    }
    const ts_result result =
        scene_histogram_of(w->s, h, label, rows, row_count, from_ns, to_ns);
    put_share(w, &h->share);
    wire_put(w, h->count, 8);
    const int64_t figures[] = { h->total_ns, h->least_ns, h->p50_ns,
                                h->p90_ns,   h->p99_ns,   h->most_ns };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        wire_put(w, (uint64_t)figures[i], 8);
    put_bins(w, h);
    free(rows);
    free(h);
    return result;
}
