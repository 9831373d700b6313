/* ---- Races: host accesses ------------------------------------------------ */

// Ranges of memory that GPU work accesses: disjoint and ascending.
typedef struct ts__gpu_range {
    uint64_t first, last;
    uint32_t space;
} ts__gpu_range;

static int ts__gpu_range_compare(const void *left, const void *right)
{
    const ts__gpu_range *const a = (const ts__gpu_range *)left;
    const ts__gpu_range *const b = (const ts__gpu_range *)right;
    if (a->space != b->space) return a->space < b->space ? -1 : 1;
    if (a->first != b->first) return a->first < b->first ? -1 : 1;
    return a->last < b->last ? -1 : a->last > b->last;
}

static bool ts__gather_gpu_ranges(ts__gather *g, ts__rvec *ranges)
{
    ts_races *const x = g->races;
    if (!ts__rvec_reserve(&x->allocator, ranges, sizeof(ts__gpu_range),
                          x->spans.count))
        return false;
    ts__gpu_range *const list = (ts__gpu_range *)ranges->data;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__race_span *const s = ts__races_span(x, i);
        list[i].first = s->first;
        list[i].last = s->last;
        list[i].space = s->space;
    }
    if (x->spans.count)
        qsort(list, x->spans.count, sizeof *list, ts__gpu_range_compare);
    size_t kept = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        ts__gpu_range *const last = kept ? &list[kept - 1] : NULL;
        if (last && last->space == list[i].space &&
            list[i].first <= last->last) {
            if (list[i].last > last->last) last->last = list[i].last;
        } else {
            list[kept++] = list[i];
        }
    }
    ranges->count = kept;
    return true;
}

static bool ts__gpu_ranges_overlap(const ts__rvec *ranges, uint32_t space,
                                   uint64_t first, uint64_t last)
{
    const ts__gpu_range *const list = (const ts__gpu_range *)ranges->data;
    size_t low = 0, high = ranges->count;
    while (low < high) { // find the first range that ends at or after `first`
        const size_t middle = ts__middle(low, high);
        ts__halve(&low, &high,
                  list[middle].space < space || (list[middle].space == space &&
                                                 list[middle].last < first));
    }
    return low < ranges->count && list[low].space == space &&
           list[low].first <= last;
}

static void ts__gather_take_heap(ts__gather *g, uint32_t file,
                                 const ts_columns *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (!ts__columns_get(c, TS_COLUMN_POOL, i) &&
            ts__columns_get(c, TS_COLUMN_ADDRESS, i))
            ts__gather_add_row(
                g, &g->hosts, file, c, i,
                (uint8_t)(TS_ACCESS_WRITE |
                          (c->kind == TS_EVENT_ALLOC ? TS__SPAN_ALLOC
                                                     : TS__SPAN_FREE)));
}

// Keeps only the host's allocations and frees of memory that GPU work accesses.
static bool ts__gather_prune(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__rvec ranges = { 0 };
    ts__rmap kept_blocks = { { 0 }, 0 };
    bool ok = ts__gather_gpu_ranges(g, &ranges);
    ts__access_row *const accesses = (ts__access_row *)g->hosts.data;
    for (int frees = 0; ok && frees < 2; frees++) {
        size_t kept = 0;
        for (size_t i = 0; ok && i < g->hosts.count; i++) {
            const ts__access_row t = accesses[i];
            const uint32_t space = ts__gather_space(g, t.file, t.track);
            const uint64_t v[] = { space, t.address };
            const uint64_t key = XXH3_64bits(v, sizeof v);
            bool keep = true;
            if (t.mode & TS__SPAN_ALLOC && !frees) {
                keep = t.size && t.address <= UINT64_MAX - t.size &&
                       ts__gpu_ranges_overlap(&ranges, space, t.address,
                                              t.address + t.size - 1);
                if (keep) ok = ts__rmap_put(a, &kept_blocks, key, 0);
            } else if (t.mode & TS__SPAN_FREE && frees) {
                keep = ts__rmap_get(&kept_blocks, key) != TS_NODE_NONE;
            }
            if (keep) accesses[kept++] = t;
        }
        g->hosts.count = kept;
    }
    ts__rvec_close(a, &ranges);
    ts__rvec_close(a, &kept_blocks.entries);
    return ok && !g->failed;
}

// Makes a node for each access of the host, and its actor.
static void ts__gather_hosts(ts__gather *g)
{
    ts_races *const x = g->races;
    const ts__access_row *const accesses =
        (const ts__access_row *)g->hosts.data;
    for (size_t i = 0; i < g->hosts.count && !g->failed; i++) {
        const ts__access_row *const t = &accesses[i];
        ts__actor actor = { 0 };
        actor.op = TS_NODE_NONE;
        actor.node = x->replay->node_count + (uint32_t)i;
        actor.file = t->file;
        actor.track = actor.thread = t->track;
        actor.kind = t->kind;
        actor.site = t->site;
        actor.stack = t->stack;
        actor.start = actor.end = t->time;
        actor.host = actor.placed = true;
        const uint32_t who = ts__gather_actor(g, &actor);
        if (!g->failed)
            ts__gather_span(g, who, t->address,
                            t->mode & TS__SPAN_FREE ? 1 : t->size, t->mode);
        x->stats.host++;
    }
}

static ts_result ts__gather_run(ts__gather *g)
{
    ts_races *const x = g->races;
    const uint64_t own = TS_FILTER(MEMCPY) | TS_FILTER(MEMSET) |
                         TS_FILTER(GPU_ALLOC) | TS_FILTER(GPU_FREE);
    const uint64_t reported =
        TS_FILTER(KERNEL) | TS_FILTER(COLLECTIVE) | TS_FILTER(HOST_FUNCTION);
    for (uint32_t i = 0; i < x->replay->op_count; i++) {
        const ts__op *const op = ts__replay_op(x->replay, i);
        x->stats.operations +=
            !ts__replay_skips(x->replay)[i] && ts__kind_accesses(op->kind);
    }
    ts_result result =
        ts__gather_scan(g, TS_FILTER(ACCESS), ts__gather_take_accesses);
    if (!ts__rvec_fill(&x->allocator, &x->copies, 1, x->replay->op_count, 0))
        return TS_ERR_MEMORY;
    if (result == TS_OK &&
        !(ts__finder_open(x, &g->finder) && ts__gather_match(g)))
        return TS_ERR_MEMORY;
    if (result == TS_OK)
        result = ts__gather_scan(g, own | (g->accesses.count ? reported : 0),
                                 ts__gather_take_operations);
    if (result == TS_OK && x->spans.count)
        result = ts__gather_scan(g, TS_FILTER(ALLOC) | TS_FILTER(FREE),
                                 ts__gather_take_heap);
    if (result != TS_OK) return result;
    if (!ts__gather_prune(g)) return TS_ERR_MEMORY;
    if (g->hosts.count >= UINT32_MAX - x->replay->node_count)
        return TS_ERR_UNSUPPORTED;
    ts__gather_hosts(g);
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static void ts__gather_close(ts__gather *g)
{
    const ts_allocator *const a = &g->races->allocator;
    ts__finder_close(g->races, &g->finder);
    ts__rvec_close(a, &g->spaces.entries);
    ts__rvec_close(a, &g->space_of.entries);
    ts__rvec_close(a, &g->by_call.entries);
    ts__rvec_close(a, &g->accesses);
    ts__rvec_close(a, &g->hosts);
}
