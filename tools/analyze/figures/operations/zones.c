/*
    zones.c - host and device time of zones by name
*/
#include "tools/analyze/figures/operations/zones.h"
#include "tools/analyze/figures/base/groups.h"

/* ---- Single zones -------------------------------------------------------- */

static bool keys(const stats_event *e, stats_key *key, void *user)
{
    const zones *const z = user;
    key[0] = (stats_key){ { stats_value(e, TS_COLUMN_SITE), 0 } };
    return paths_is_host(analyze_reader(z->job, e->file), stats_track(e));
}

static uint32_t name_of(zones *z, const stats_group *g)
{
    return paths_site(&z->paths, analyze_reader(z->job, g->file),
                      (uint32_t)g->key[0]);
}

static ts_text text_of(const stats_group *g, void *user)
{
    zones *const z = user;
    const uint32_t name = name_of(z, g);
    return name == CLI_NONE ? (ts_text){ "", 0 } : z->paths.names[name];
}

/* ---- Work of devices ----------------------------------------------------- */

// Adds work whose call was in no zone, by the site recorded with it.
static bool add_by_site(zones *z, int64_t *own, uint32_t file, uint64_t site,
                        int64_t ns)
{
    if (!site) {
        z->gpu_none_ns += ns;
        return true;
    }
    const uint32_t name =
        paths_site(&z->paths, analyze_reader(z->job, file), (uint32_t)site);
    // The path is unknown, so that the zones around it get no time.
    if (name == CLI_NONE) return false;
    (void)own;
    z->times[name].gpu_ns += ns;
    z->times[name].gpu_own_ns += ns;
    return true;
}

typedef struct zone_lookup {
    paths_query *queries;
    size_t count, room;
} zone_lookup;

static bool gather(zones *z, const ts_replay *replay, uint32_t file,
                   zone_lookup *a)
{
    ts_replay_file of = { 0 };
    ts_operation o;
    ts_node call;
    ts_replay_file_at(replay, file, &of);
    for (size_t i = 0; ts_replay_operation(replay, i, &o); i++) {
        if (o.file != file || !names_works(o.kind)) continue;
        const bool called =
            o.call != TS_NODE_NONE && ts_replay_node(replay, o.call, &call);
        if (!cli_grow(&a->queries, &a->room, a->count + 1, sizeof *a->queries))
            return false;
        a->queries[a->count++] =
            (paths_query){ called ? call.recorded_ns - of.offset_ns
                                  : o.recorded_start_ns,
                           called ? call.track : 0, (uint32_t)i, PATHS_ROOT };
    }
    return paths_resolve(&z->paths, analyze_reader(z->job, file), a->queries,
                         a->count);
}

/* ---- Sums over the tree -------------------------------------------------- */

// Whether the name also occurs further out in the path: its time is counted
// there.
static bool is_inner(const path_tree *p, uint32_t node)
{
    const uint32_t name = p->nodes[node].name;
    for (uint32_t at = p->nodes[node].parent; at != PATHS_ROOT;
         at = p->nodes[at].parent)
        if (p->nodes[at].name == name) return true;
    return false;
}

// own: time of each node. Sums the times by name, exclusive and inclusive.
static bool sum_names(zones *z, const int64_t *own, bool gpu)
{
    const path_tree *const p = &z->paths;
    int64_t *const totals = malloc((p->node_count + 1) * sizeof *totals);
    if (!totals) return false;
    memcpy(totals, own, p->node_count * sizeof *totals);
    for (uint32_t i = p->node_count; i-- > 1;)
        totals[p->nodes[i].parent] += totals[i];
    for (uint32_t i = 1; i < p->node_count; i++) {
        if (!totals[i]) continue;
        zone_times *const t = &z->times[p->nodes[i].name];
        *(gpu ? &t->gpu_own_ns : &t->exclusive_ns) += own[i];
        if (!is_inner(p, i))
            *(gpu ? &t->gpu_ns : &t->inclusive_ns) += totals[i];
    }
    free(totals);
    return true;
}

static bool take_file(zones *z, const ts_replay *replay, uint32_t file,
                      zone_lookup *a, int64_t **own, uint32_t *own_count)
{
    ts_operation o;
    a->count = 0;
    if (!gather(z, replay, file, a)) return false;
    // Queries may have added paths, and sites names.
    int64_t *const more =
        realloc(*own, (z->paths.node_count + 1) * sizeof *more);
    if (!more) return false;
    memset(more + *own_count, 0,
           (z->paths.node_count - *own_count) * sizeof *more);
    *own = more;
    *own_count = z->paths.node_count;
    const analyze_values *const sites =
        analyze_column(z->job, file, TS_COLUMN_SITE);
    for (size_t i = 0; i < a->count; i++) {
        const paths_query *const q = &a->queries[i];
        if (!ts_replay_operation(replay, q->owner, &o)) continue;
        const int64_t ns = o.recorded_end_ns - o.recorded_start_ns;
        z->gpu_all_ns += ns;
        if (q->node != PATHS_ROOT)
            (*own)[q->node] += ns;
        else if (!add_by_site(z, *own, file, analyze_value(sites, o.row), ns))
            return false;
    }
    return true;
}

static bool take_gpu(zones *z)
{
    const ts_replay *const replay = analyze_replay(z->job);
    zone_lookup a = { 0 };
    int64_t *own = NULL;
    uint32_t own_count = 0;
    bool ok = true;
    if (!replay) return true;
    z->has_gpu = true;
    for (uint32_t f = 0; ok && f < z->job->file_count; f++)
        ok = take_file(z, replay, f, &a, &own, &own_count);
    ok = ok && (!own || sum_names(z, own, true));
    free(a.queries);
    free(own);
    return ok;
}

static bool take_host(zones *z)
{
    const path_tree *const p = &z->paths;
    int64_t *const own = malloc((p->node_count + 1) * sizeof *own);
    bool ok = own;
    for (uint32_t i = 0; ok && i < p->node_count; i++)
        own[i] = p->nodes[i].own_ns;
    ok = ok && sum_names(z, own, false);
    free(own);
    return ok;
}

// Adds the names of all sites, before times are allocated by name.
static bool name_sites(zones *z)
{
    for (uint32_t f = 0; f < z->job->file_count; f++) {
        const ts_reader *const reader = analyze_reader(z->job, f);
        const analyze_values *const sites =
            analyze_column(z->job, f, TS_COLUMN_SITE);
        uint64_t last = 0;
        for (size_t i = 0; sites && i < sites->count; i++) {
            const uint64_t site = analyze_value(sites, i);
            if (site == last) continue;
            last = site;
            if (last &&
                paths_site(&z->paths, reader, (uint32_t)last) == CLI_NONE)
                return false;
        }
    }
    return true;
}

bool zones_open(zones *z, analyze_job *job)
{
    *z = (zones){ .job = job };
    z->scan = (stats_scan){
        .kinds = TS_FILTER(ZONE), .map_count = 1, .keys = keys, .user = z
    };
    if (!paths_open(&z->paths)) return false;
    for (uint32_t f = 0; f < job->file_count; f++)
        if (!paths_zones(&z->paths, analyze_reader(job, f))) return false;
    if (!stats_run_all(job, &z->scan, &z->map) ||
        !stats_rows_open(&z->rows, &z->map, text_of, z) ||
        !stats_rows_quantiles(&z->rows, job, &z->scan, 0, &z->map) ||
        !name_sites(z))
        return false;
    z->times = calloc((size_t)z->paths.name_count + 1, sizeof *z->times);
    return z->times && take_host(z) && take_gpu(z);
}

const zone_times *zones_times(const zones *z, const stats_row *row)
{
    // The name exists already, so that this does not modify anything.
    zones *const known = (zones *)(uintptr_t)z;
    const uint32_t name = name_of(known, &row->sum);
    static const zone_times none;
    return name == CLI_NONE ? &none : &z->times[name];
}

void zones_close(zones *z)
{
    paths_close(&z->paths);
    stats_close(&z->map);
    stats_rows_close(&z->rows);
    free(z->times);
}
