/* ---- Races: reading the rows -------------------------------------------- */

// Calls `take` for every chunk of some kinds, in the order of the files.
static ts_result ts__gather_scan(ts__gather *g, uint64_t kinds,
                                 void (*take)(ts__gather *g, uint32_t file,
                                              const ts_columns *c))
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t file = 0; file < r->files.count; file++) {
        ts_reader *const reader = ts__replay_file(r, file)->reader;
        ts_columns columns = { 0 };
        ts_chunk_info info;
        for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
            const ts_chunk_header *const h = &info.header;
            if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
                !(kinds >> h->event & 1))
                continue;
            // Only a damaged chunk is lost, and the reader's list of faults has
            // it.
            const ts_result result = ts_reader_decode(reader, i, &columns);
            if (result == TS_ERR_MEMORY) g->failed = true;
            if (result == TS_OK && !g->failed) take(g, file, &columns);
        }
        ts_columns_close(reader, &columns);
    }
    return g->failed ? TS_ERR_MEMORY : TS_OK;
}

static bool ts__gather_time_ok(const ts_columns *c, uint32_t i)
{
    return ts__replay_time_ok(c->start_ns[i]) &&
           ts__replay_time_ok(c->duration_ns[i]) && c->duration_ns[i] >= 0;
}

static void ts__gather_add_row(ts__gather *g, ts__rvec *to, uint32_t file,
                               const ts_columns *c, uint32_t i, uint8_t mode)
{
    if (!ts__gather_time_ok(c, i)) return;
    ts__access_row *const row =
        (ts__access_row *)ts__rvec_push(&g->races->allocator, to, sizeof *row);
    if (!row) {
        g->failed = true;
        return;
    }
    row->address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    row->size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    row->correlation = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
    row->time =
        c->start_ns[i] + ts__replay_file(g->races->replay, file)->offset_ns;
    row->file = file;
    row->track = c->tracks ? c->tracks[i] : c->track;
    row->site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
    row->stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
    row->kind = (uint8_t)c->kind;
    row->mode = mode;
}

static void ts__gather_take_accesses(ts__gather *g, uint32_t file,
                                     const ts_columns *c)
{
    const uint64_t known = TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint8_t mode =
            (uint8_t)(ts__columns_get(c, TS_COLUMN_TYPE, i) & known);
        const bool host = !ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        if (mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))
            ts__gather_add_row(g, host ? &g->hosts : &g->accesses, file, c, i,
                               mode);
    }
}

static uint64_t ts__gather_call_key(uint32_t file, uint32_t track,
                                    uint64_t correlation)
{
    const uint64_t v[] = { (uint64_t)file << 32 | track, correlation };
    return XXH3_64bits(v, sizeof v);
}

// Maps correlations to operations. If several operations share one, as in a
// graph, their accesses cannot be attributed and are dropped.
static bool ts__gather_name_calls(ts__gather *g)
{
    const ts_replay *const r = g->races->replay;
    for (uint32_t i = 0; g->accesses.count && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!op->correlation || !ts__kind_accesses(op->kind)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        const uint64_t key =
            ts__gather_call_key(lane->file, lane->track, op->correlation);
        const bool more = ts__rmap_get(&g->by_call, key) != TS_NODE_NONE;
        if (!ts__rmap_put(&g->races->allocator, &g->by_call, key,
                          more ? TS_NODE_NONE - 1 : i))
            return false;
    }
    return true;
}

// Finds the operations of all accesses and sorts the accesses by operation,
// then by the order of the file. `time` becomes the operation.
static bool ts__gather_match(ts__gather *g)
{
    ts_races *const x = g->races;
    if (!ts__gather_name_calls(g)) return false;
    ts__access_row *const accesses = (ts__access_row *)g->accesses.data;
    size_t kept = 0;
    for (size_t i = 0; i < g->accesses.count; i++) {
        ts__access_row row = accesses[i];
        const uint32_t op =
            ts__rmap_get(&g->by_call, ts__gather_call_key(row.file, row.track,
                                                          row.correlation));
        if (op >= TS_NODE_NONE - 1) {
            x->stats.lost_accesses++;
            continue;
        }
        row.time = op;
        accesses[kept++] = row;
    }
    g->accesses.count = kept;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    bool ok =
        ts__rsort_open(&x->allocator, &sort, kept) &&
        ts__rvec_reserve(&x->allocator, &sorted, sizeof(ts__access_row), kept);
    for (size_t i = 0; ok && i < kept; i++) {
        ts__rsort_keys(&sort)[i] = (uint64_t)accesses[i].time;
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    if (ok) {
        ts__rsort_run(&sort, kept);
        for (size_t i = 0; i < kept; i++)
            ((ts__access_row *)sorted.data)[i] =
                accesses[ts__rsort_index(&sort)[i]];
        sorted.count = kept;
    }
    ts__rsort_close(&x->allocator, &sort);
    ts__rvec_close(&x->allocator, &g->accesses);
    g->accesses = sorted;
    return ok;
}

// Finds the accesses of an operation and returns their number.
static size_t ts__gather_rows_of(const ts__gather *g, uint32_t op,
                                 const ts__access_row **first)
{
    const ts__access_row *const accesses =
        (const ts__access_row *)g->accesses.data;
    size_t low = 0, high = g->accesses.count;
    while (low < high)
        ts__halve(&low, &high,
                  accesses[ts__middle(low, high)].time < (int64_t)op);
    size_t end = low;
    while (end < g->accesses.count && accesses[end].time == (int64_t)op)
        end++;
    *first = accesses + low;
    return end - low;
}

enum { TS__MEMORY_PAGEABLE = 1, TS__MEMORY_ARRAY = 5 };

// Adds the accesses of the two ends of a copy. Arrays have no addresses.
static void ts__gather_copy(ts__gather *g, const ts__actor *actor,
                            const ts_columns *c, uint32_t i)
{
    const ts_replay *const r = g->races->replay;
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    const uint64_t memory = ts__columns_get(c, TS_COLUMN_MEMORY, i);
    const uint64_t from = ts__columns_get(c, TS_COLUMN_SOURCE, i);
    const uint64_t to = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const bool reads = from && (memory & 15) != TS__MEMORY_ARRAY;
    const bool writes = to && (memory >> 4 & 15) != TS__MEMORY_ARRAY;
    const uint32_t call = ts__replay_op(r, actor->op)->call;
    const uint64_t type = ts__columns_get(c, TS_COLUMN_TYPE, i);
    const bool pageable = type == 1 && (memory & 15) == TS__MEMORY_PAGEABLE;
    const bool back = type == 2 && (memory >> 4 & 15) == TS__MEMORY_PAGEABLE;
    const bool staged = pageable && call != TS_NODE_NONE;
    ((uint8_t *)g->races->copies.data)[actor->op] =
        (uint8_t)((pageable ? TS__COPY_STAGED : 0) |
                  (back ? TS__COPY_BACK : 0));
    if (!reads && !writes) return;
    if (reads && staged) {
        ts__actor reader = *actor;
        reader.node = call; // at the start of the call: the copy comes after it
        reader.start = ts__replay_time(r)[call];
        reader.end = ts__replay_end(r, call);
        reader.host = true;
        const uint32_t who = ts__gather_actor(g, &reader);
        if (!g->failed) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    }
    if (g->failed || (staged && !writes)) return;
    const uint32_t who = ts__gather_actor(g, actor);
    if (g->failed) return;
    if (reads && !staged) ts__gather_span(g, who, from, size, TS_ACCESS_READ);
    if (writes) ts__gather_span(g, who, to, size, TS_ACCESS_WRITE);
}

static void ts__gather_own(ts__gather *g, const ts__actor *actor,
                           const ts_columns *c, uint32_t i)
{
    const uint64_t address = ts__columns_get(c, TS_COLUMN_ADDRESS, i);
    const uint64_t size = ts__columns_get(c, TS_COLUMN_SIZE, i);
    if (actor->kind == TS_EVENT_MEMCPY) {
        ts__gather_copy(g, actor, c, i);
        return;
    }
    if (!address || actor->kind == TS_EVENT_KERNEL) return;
    const bool frees = actor->kind == TS_EVENT_GPU_FREE;
    const bool allocates = actor->kind == TS_EVENT_GPU_ALLOC;
    if (!frees && !allocates && actor->kind != TS_EVENT_MEMSET) return;
    ts__actor own = *actor;
    own.fill = ts__columns_get(c, TS_COLUMN_VALUE, i);
    const uint32_t who = ts__gather_actor(g, &own);
    if (g->failed) return;
    // The size is set when the allocation of the freed address is known.
    ts__gather_span(g, who, address, frees ? 1 : size,
                    (uint8_t)(TS_ACCESS_WRITE | (frees       ? TS__SPAN_FREE
                                                 : allocates ? TS__SPAN_ALLOC
                                                             : 0)));
}

static void ts__gather_take_operations(ts__gather *g, uint32_t file,
                                       const ts_columns *c)
{
    ts_races *const x = g->races;
    const int64_t offset = ts__replay_file(x->replay, file)->offset_ns;
    for (uint32_t i = 0; i < c->count && !g->failed; i++) {
        if (!ts__gather_time_ok(c, i)) continue;
        const uint32_t op = ts__finder_take(&g->finder, file, c, i, offset);
        if (op == TS_NODE_NONE || ts__replay_skips(x->replay)[op]) continue;
        ts__actor actor = ts__gather_operation(g, op);
        actor.site = (uint32_t)ts__columns_get(c, TS_COLUMN_SITE, i);
        actor.stack = (uint32_t)ts__columns_get(c, TS_COLUMN_STACK, i);
        const uint64_t ranges = x->stats.ranges;
        const size_t spans = x->spans.count;
        actor.own = true;
        ts__gather_own(g, &actor, c, i);
        actor.own = false;
        const ts__access_row *accesses;
        const size_t count = ts__gather_rows_of(g, op, &accesses);
        const uint32_t who = count ? ts__gather_actor(g, &actor) : 0;
        bool coarse = false;
        for (size_t k = 0; k < count && !g->failed; k++) {
            ts__gather_span(g, who, accesses[k].address, accesses[k].size,
                            accesses[k].mode);
            coarse |= (accesses[k].mode & TS_ACCESS_COARSE) != 0;
        }
        x->stats.known += x->stats.ranges != ranges;
        x->stats.coarse += coarse;
        if (actor.node != TS_NODE_NONE || x->spans.count == spans) continue;
        x->stats.unplaced++;
        for (size_t k = spans; k < x->spans.count; k++)
            ts__races_span(x, k)->mode = 0; // excluded from the check
    }
}
