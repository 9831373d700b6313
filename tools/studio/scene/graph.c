/*
    graph.c - what the dependency graph adds to a scene: rows of devices and of
    the critical path, and what-ifs
*/
#include "tools/studio/scene/parts.h"

/* ---- Events and operations ----------------------------------------------- */

scene_ref scene_ref_of_op(const scene *s, const ts_operation *op)
{
    size_t low = 0, high = s->place_chunks;
    while (low + 1 < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->chunk_place[middle] <= op->row)
            low = middle;
        else
            high = middle;
    }
    while (low + 1 < s->place_chunks && s->chunk_place[low + 1] <= op->row)
        low++; // chunks without operations
    return (uint64_t)low << 32 | (op->row - s->chunk_place[low]);
}

uint32_t scene_op_of_ref(const scene *s, scene_ref ref)
{
    const uint64_t chunk = ref >> 32;
    if (!s->op_of_place || chunk >= s->place_chunks) return CLI_NONE;
    const uint64_t place = s->chunk_place[chunk] + (uint32_t)ref;
    return place < s->chunk_place[chunk + 1] ? s->op_of_place[place] : CLI_NONE;
}

static bool number_places(scene *s)
{
    ts_operation op;
    if (!scene_places(s)) return false;
    s->op_of_place = malloc((s->place_count + 1) * sizeof *s->op_of_place);
    if (!s->op_of_place) return false;
    memset(s->op_of_place, 0xFF, s->place_count * sizeof *s->op_of_place);
    for (size_t i = 0; ts_replay_operation(s->replay, i, &op); i++)
        if (op.row < s->place_count) s->op_of_place[op.row] = (uint32_t)i;
    return true;
}

static bool label_operations(scene *s)
{
    const uint32_t count = ts_replay_graph(s->replay).operation_count;
    ts_columns columns = { 0 };
    s->op_labels = malloc((count + 1u) * sizeof *s->op_labels);
    if (!s->op_labels) return false;
    memset(s->op_labels, 0xFF, count * sizeof *s->op_labels);
    for (size_t i = 0; i < s->place_chunks; i++) {
        if (s->chunk_place[i] == s->chunk_place[i + 1] ||
            ts_reader_decode(s->reader, i, &columns) != TS_OK)
            continue;
        for (uint32_t k = 0; k < columns.count; k++) {
            const uint32_t op = scene_op_of_ref(s, (uint64_t)i << 32 | k);
            if (op < count) s->op_labels[op] = scene_label_row(s, &columns, k);
        }
    }
    ts_columns_close(s->reader, &columns);
    return true;
}

/* ---- Devices ------------------------------------------------------------- */

static bool add_busy(scene *s, strip *r, int64_t from_ns, int64_t to_ns)
{
    const scene_item item = { .start_ns = from_ns,
                              .end_ns = to_ns,
                              .ref = SCENE_REF_NONE,
                              .label = scene_label_of(s, SCENE_KIND_BUSY, 0) };
    if (item.label == CLI_NONE) return false;
    return to_ns <= from_ns || scene_row_add(r, &item);
}

static bool add_gap(scene *s, strip *r, size_t device, size_t at,
                    const ts_gap *gap)
{
    const scene_item item = {
        .start_ns = gap->start_ns,
        .end_ns = gap->end_ns,
        .ref = SCENE_REF_GAP | (uint64_t)device << 32 | at,
        .label = scene_label_of(s, SCENE_KIND_IDLE, gap->cause),
        .flags = gap->inferred ? SCENE_GUESS : 0,
    };
    return item.label != CLI_NONE && scene_row_add(r, &item);
}

static bool add_device(scene *s, size_t device)
{
    const ts_timeline_figures *const f =
        ts_timeline_device(s->timeline, device);
    strip *const r = scene_row_get(s, SCENE_DEVICE, f->track, 0);
    int64_t busy_ns = f->start_ns;
    ts_gap gap;
    if (!r) return false;
    scene_row_clear(r);
    for (size_t i = 0; ts_timeline_gap(s->timeline, device, i, &gap); i++) {
        if (!add_busy(s, r, busy_ns, gap.start_ns) ||
            !add_gap(s, r, device, i, &gap))
            return false;
        busy_ns = gap.end_ns;
    }
    return add_busy(s, r, busy_ns, f->end_ns) && scene_row_finish(r);
}

static ts_result load_graph(scene *s)
{
    ts_result result = ts_replay_open(&s->replay, s->reader, NULL);
    if (result == TS_OK) result = ts_replay_run(s->replay, NULL);
    if (result == TS_OK)
        result = ts_timeline_open(&s->timeline, s->replay, NULL);
    if (result != TS_OK) return result;
    if (!number_places(s) || !label_operations(s)) return TS_ERR_MEMORY;
    for (size_t i = 0; ts_timeline_device(s->timeline, i); i++)
        if (!add_device(s, i)) return TS_ERR_MEMORY;
    return scene_queues_add(s) ? TS_OK : TS_ERR_MEMORY;
}

ts_result scene_graph(scene *s)
{
    if (s->graph_tried) return s->graph_result;
    s->graph_tried = true;
    s->graph_result = load_graph(s);
    if (s->graph_result == TS_OK) return TS_OK;
    const ts_result result = s->graph_result;
    scene_graph_close(s);
    s->graph_tried = true;
    return s->graph_result = result;
}

const ts_timeline *scene_timeline(const scene *s)
{
    return s->timeline;
}

bool scene_operation(const scene *s, size_t at, int64_t *start_ns,
                     int64_t *end_ns, scene_ref *ref)
{
    ts_operation op;
    if (!s->replay || !ts_replay_operation(s->replay, at, &op)) return false;
    *start_ns = op.recorded_start_ns;
    *end_ns = op.recorded_end_ns;
    *ref = scene_ref_of_op(s, &op);
    return true;
}

void scene_graph_close(scene *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (scene_is_queue(&s->rows[i].pub)) scene_row_clear(&s->rows[i]);
    ts_timeline_close(s->timeline);
    ts_replay_close(s->model);
    ts_replay_close(s->replay);
    free(s->op_of_place);
    free(s->op_labels);
    free(s->on_path);
    scene_incoming_close(&s->incoming);
    s->timeline = NULL;
    s->replay = s->model = NULL;
    s->op_of_place = s->op_labels = NULL;
    s->on_path = NULL;
    s->graph_tried = false;
}

/* ---- The critical path --------------------------------------------------- */

void scene_path_mark(scene *s)
{
    for (size_t i = 0; s->on_path && i < s->row_count; i++) {
        strip *const r = &s->rows[i];
        for (size_t k = 0; r->pub.type == SCENE_WORK && k < r->count; k++) {
            const uint32_t op = scene_op_of_ref(s, r->items[k].ref);
            if (op != CLI_NONE && s->on_path[op])
                r->items[k].flags |= SCENE_ON_PATH;
        }
    }
}

// The name of what a part of the path is in, or waits for.
static uint32_t label_of_node(scene *s, uint32_t at)
{
    ts_node node;
    if (!ts_replay_node(s->replay, at, &node)) return CLI_NONE;
    if (node.owner < ts_replay_graph(s->replay).operation_count)
        return s->op_labels[node.owner];
    if (!ts_replay_node(s->replay, node.owner, &node)) return CLI_NONE;
    return node.type == TS_NODE_CALL && node.name
               ? scene_label_of(s, TS_EVENT_API_CALL, node.name)
               : CLI_NONE;
}

static bool add_part(scene *s, size_t at)
{
    const ts_path_part *const part = &s->path.parts[at];
    scene_item item = { .start_ns = part->start_ns,
                        .end_ns = part->end_ns,
                        .ref = SCENE_REF_PART | at,
                        .label = scene_label_of(s, SCENE_KIND_COST, part->cost),
                        .flags = part->waits ? SCENE_WAITS : 0 };
    strip *const costs = scene_row_get(s, SCENE_PATH, 0, 0);
    if (!costs || item.label == CLI_NONE || !scene_row_add(costs, &item))
        return false;
    item.label = label_of_node(s, part->node);
    strip *const names = scene_row_get(s, SCENE_PATH, 0, 1);
    return names && (item.label == CLI_NONE || scene_row_add(names, &item));
}

static bool add_path(scene *s)
{
    const uint32_t operations = ts_replay_graph(s->replay).operation_count;
    ts_node node;
    for (uint32_t part = 0; part < 2; part++) {
        strip *const r = scene_row_get(s, SCENE_PATH, 0, part);
        if (!r) return false;
        scene_row_clear(r);
    }
    s->on_path = calloc(operations + 1u, 1);
    if (!s->on_path) return false;
    for (size_t i = 0; i < s->path.count; i++) {
        const ts_path_part *const p = &s->path.parts[i];
        if (p->end_ns > p->start_ns && !add_part(s, i)) return false;
        if (!p->waits && ts_replay_node(s->replay, p->node, &node) &&
            node.owner < operations)
            s->on_path[node.owner] = true;
    }
    return scene_row_finish(scene_row_get(s, SCENE_PATH, 0, 0)) &&
           scene_row_finish(scene_row_get(s, SCENE_PATH, 0, 1));
}

ts_result scene_path(scene *s, ts_path *path)
{
    ts_result result = scene_graph(s);
    if (result == TS_OK && !s->on_path) {
        result = ts_replay_path(s->replay, &s->path);
        if (result == TS_OK && !add_path(s)) result = TS_ERR_MEMORY;
        if (result == TS_OK) scene_path_mark(s);
    }
    if (result == TS_OK) *path = s->path;
    return result;
}

/* ---- What-ifs ------------------------------------------------------------ */

static void clear_ghosts(scene *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i].pub.type == SCENE_GHOST) scene_row_clear(&s->rows[i]);
}

static bool add_ghosts(scene *s)
{
    scene_gathering l = { .s = s };
    ts_operation op;
    clear_ghosts(s);
    for (size_t i = 0; ts_replay_operation(s->model, i, &op); i++) {
        const scene_item item = { .start_ns = scene_near(op.start_ns),
                                  .end_ns = scene_near(op.end_ns),
                                  .ref = scene_ref_of_op(s, &op),
                                  .label = s->op_labels[i] };
        if (op.skip == TS_SKIP_NOT && item.label != CLI_NONE &&
            item.end_ns >= item.start_ns)
            scene_gather(&l, SCENE_GHOST, op.track, &item);
    }
    return scene_gather_end(&l);
}

static ts_result run(scene *s, const ts_change *changes, size_t count,
                     scene_outcome *o)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes,
                                      .change_count = count };
    ts_result result = ts_replay_run(s->model, &desc);
    if (result != TS_OK) return result;
    ts_path path;
    const ts_replay_stats *const stats = ts_replay_result(s->model);
    o->unmet = stats->skipped[TS_SKIP_UNMET];
    result = ts_replay_path(s->model, &path);
    if (result != TS_OK) return result;
    o->recorded_ns = stats->recorded_end_ns - stats->recorded_start_ns;
    o->changed_ns = stats->end_ns - stats->start_ns;
    o->operations = stats->operations;
    o->bound = path.bound;
    for (int i = 0; i < TS_COST_LIMIT; i++)
        o->cost_ns[i] = path.cost_ns[i];
    return TS_OK;
}

static ts_result load_model(scene *s)
{
    ts_result result = scene_graph(s);
    if (result != TS_OK || s->model) return result;
    result = ts_replay_fork(&s->model, s->replay);
    if (result == TS_OK) result = run(s, NULL, 0, &s->unchanged);
    if (result == TS_OK) return result;
    ts_replay_close(s->model);
    s->model = NULL;
    return result;
}

// Which operations a change is for; NULL: all, or (*ok false) no memory.
static bool *choose(const scene *s, const scene_change *c, bool *ok)
{
    const uint32_t count = ts_replay_graph(s->model).operation_count;
    *ok = true;
    if (!c->label_count && !c->ref_count) return NULL;
    bool *const chosen = calloc(count + 1u, 1);
    bool *const labels = calloc(s->label_count + 1, 1);
    *ok = chosen && labels;
    for (size_t i = 0; *ok && i < c->label_count; i++)
        if (c->labels[i] < s->label_count) labels[c->labels[i]] = true;
    for (uint32_t i = 0; *ok && i < count; i++)
        chosen[i] = s->op_labels[i] != CLI_NONE && labels[s->op_labels[i]];
    for (size_t i = 0; *ok && i < c->ref_count; i++) {
        const uint32_t op = scene_op_of_ref(s, c->refs[i]);
        if (op < count) chosen[op] = true;
    }
    free(labels);
    return chosen;
}

static ts_result run_changes(scene *s, const scene_change *changes,
                             size_t count, scene_outcome *outcome)
{
    ts_change *const list = calloc(count + 1, sizeof *list);
    bool **const chosen = calloc(count + 1, sizeof *chosen);
    bool ok = list && chosen;
    for (size_t i = 0; ok && i < count; i++) {
        chosen[i] = choose(s, &changes[i], &ok);
        list[i].type = changes[i].type;
        list[i].operations = chosen[i];
        list[i].factor = changes[i].factor;
        list[i].ns = changes[i].ns;
    }
    const ts_result result = ok ? run(s, list, count, outcome) : TS_ERR_MEMORY;
    for (size_t i = 0; chosen && i < count; i++)
        free(chosen[i]);
    free(chosen);
    free(list);
    return result;
}

ts_result scene_whatif(scene *s, const scene_change *changes, size_t count,
                       scene_outcome *outcome)
{
    *outcome = (scene_outcome){ 0 };
    ts_result result = load_model(s);
    if (result != TS_OK) return result;
    if (count) result = run_changes(s, changes, count, outcome);
    if (!count) *outcome = s->unchanged;
    if (result != TS_OK) return result;
    outcome->model_ns = s->unchanged.changed_ns;
    outcome->bound_before = s->unchanged.bound;
    for (int i = 0; i < TS_COST_LIMIT; i++)
        outcome->cost_before_ns[i] = s->unchanged.cost_ns[i];
    if (!count) clear_ghosts(s);
    return !count || add_ghosts(s) ? TS_OK : TS_ERR_MEMORY;
}
