/*
    flame_sources.c - builds the path trees of a job: launches and zones
*/
#include "tools/analyze/figures/operations/flame.h"

typedef struct gather {
    analyze_job *job;
    path_tree *p;
    flame_sums *sums;
    uint32_t *nodes; // path node by operation; CLI_NONE: from its zones
    flame_stacks stacks;
    cli_map labels; // file, kind and label to name
    size_t count;   // number of operations
    bool use_stacks;
} gather;

static bool is_work(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}

/* ---- Operations --------------------------------------------------------- */

static uint32_t label_name(gather *g, const ts_operation *o)
{
    const uint64_t key =
        cli_hash_join((uint64_t)o->file << 8 | o->kind, o->label);
    const uint32_t known = cli_map_row(&g->labels, key);
    if (known != CLI_NONE) return known;
    const uint32_t name = paths_name(g->p, analyze_label(g->job, o));
    if (name == CLI_NONE || !cli_map_set(&g->labels, key, name))
        return CLI_NONE;
    return name;
}

// Finds the nodes of operations with known stacks, and makes queries for those
// with a known call only.
static bool look_at_file(gather *g, ts_replay *replay, uint32_t file)
{
    size_t stack_count, count = 0, room = 0;
    const uint32_t *const stacks =
        g->use_stacks ? analyze_stacks(g->job, file, &stack_count) : NULL;
    const analyze_values *const sites =
        analyze_column(g->job, file, TS_COLUMN_SITE);
    ts_reader *const reader = analyze_reader(g->job, file);
    paths_query *queries = NULL;
    ts_replay_file of = { 0 };
    ts_operation o;
    ts_node call;
    bool ok = true;
    ts_replay_file_at(replay, file, &of);
    for (size_t i = 0; ok && ts_replay_operation(replay, i, &o); i++) {
        if (o.file != file || !is_work(o.kind)) continue;
        g->sums->operations++;
        g->nodes[i] = PATHS_ROOT;
        if (stacks && o.row < stack_count && stacks[o.row]) {
            g->nodes[i] = flame_stack_node(&g->stacks, file, stacks[o.row]);
            ok = g->nodes[i] != CLI_NONE;
            g->sums->by_stack += g->nodes[i] != PATHS_ROOT;
            if (g->nodes[i] != PATHS_ROOT) continue;
        }
        if (o.call == TS_NODE_NONE || !ts_replay_node(replay, o.call, &call))
            continue;
        ok = ok && cli_grow(&queries, &room, count + 1, sizeof *queries);
        if (ok)
            queries[count++] =
                (paths_query){ call.recorded_ns - of.offset_ns, call.track,
                               (uint32_t)i, PATHS_ROOT };
    }
    ok = ok && paths_resolve(g->p, reader, queries, count);
    for (size_t i = 0; ok && i < count; i++)
        g->nodes[queries[i].owner] = queries[i].node;
    free(queries);
    // Without a call, or outside all zones: use the site recorded with the
    // operation.
    for (size_t i = 0; ok && ts_replay_operation(replay, i, &o); i++) {
        if (o.file != file || !is_work(o.kind) || g->nodes[i] != PATHS_ROOT)
            continue;
        const uint32_t site = (uint32_t)analyze_value(sites, o.row);
        if (!site) continue;
        const uint32_t name = paths_site(g->p, reader, site);
        if (name != CLI_NONE) g->nodes[i] = paths_child(g->p, PATHS_ROOT, name);
        ok = name != CLI_NONE && g->nodes[i] != CLI_NONE;
    }
    return ok;
}

static bool put_weights(gather *g, ts_replay *replay)
{
    ts_operation o;
    for (size_t i = 0; ts_replay_operation(replay, i, &o); i++) {
        if (!is_work(o.kind)) continue;
        uint32_t node = g->nodes[i];
        g->sums->by_nothing += node == PATHS_ROOT;
        while (g->p->nodes[node].depth >= PATHS_DEPTH_MOST)
            node = g->p->nodes[node].parent;
        const uint32_t name = label_name(g, &o);
        if (name == CLI_NONE) return false;
        node = paths_child(g->p, node, name);
        if (node == CLI_NONE) return false;
        if (o.recorded_end_ns > o.recorded_start_ns)
            g->p->nodes[node].own_ns += o.recorded_end_ns - o.recorded_start_ns;
    }
    g->sums->by_zone =
        g->sums->operations - g->sums->by_stack - g->sums->by_nothing;
    return true;
}

bool flame_nodes(analyze_job *job, path_tree *p, bool stacks, flame_sums *sums,
                 uint32_t **nodes)
{
    gather g = { .job = job,
                 .p = p,
                 .sums = sums,
                 .stacks = { .job = job, .paths = p },
                 .use_stacks = stacks };
    *sums = (flame_sums){ 0 };
    *nodes = NULL;
    ts_replay *const replay = analyze_replay(job);
    if (!replay) return true;
    ts_operation o;
    while (ts_replay_operation(replay, g.count, &o))
        g.count++;
    g.nodes = malloc((g.count + 1) * sizeof *g.nodes);
    bool ok = g.nodes != NULL;
    if (ok) memset(g.nodes, 0xFF, (g.count + 1) * sizeof *g.nodes);
    for (uint32_t f = 0; ok && f < job->file_count; f++)
        ok = look_at_file(&g, replay, f);
    flame_stacks_close(&g.stacks);
    *nodes = g.nodes;
    return ok;
}

bool flame_of_devices(analyze_job *job, path_tree *p, flame_sums *sums)
{
    gather g = { .job = job, .p = p, .sums = sums };
    if (!paths_open(p)) return false;
    const bool ok = flame_nodes(job, p, true, sums, &g.nodes) &&
                    (!g.nodes || put_weights(&g, analyze_replay(job)));
    cli_map_close(&g.labels);
    free(g.nodes);
    return ok;
}

bool flame_of_zones(analyze_job *job, path_tree *p)
{
    if (!paths_open(p)) return false;
    for (uint32_t f = 0; f < job->file_count; f++)
        if (!paths_zones(p, analyze_reader(job, f))) return false;
    return true;
}
