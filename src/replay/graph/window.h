/* ---- Graph: windows ----------------------------------------------------- */

// Returns whether a row is in the window. Impossible times are in no window.
static bool ts__row_is_used(const ts__loader *l, const ts_columns *c,
                            uint32_t i)
{
    const ts_replay *const r = l->replay;
    if (!r->windowed) return true;
    if (!ts__replay_time_ok(c->start_ns[i]) ||
        !ts__replay_time_ok(c->duration_ns[i]))
        return false;
    const int64_t start = c->start_ns[i] + l->offset;
    return start < r->load_to &&
           (start >= r->load_from || start + c->duration_ns[i] > r->load_from);
}

static void ts__loader_count_rows(const ts_columns *c, uint32_t thread,
                                  void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    uint32_t count = 0;
    for (uint32_t i = 0; i < c->count; i++)
        count += ts__row_is_used(l, c, i);
    ((uint32_t *)l->chunk_rows.data)[c->chunk] = count;
}

// Makes a filter for chunks of some kinds that touch the window from `from` on.
static ts_filter ts__loader_window(const ts__loader *l, uint64_t kinds,
                                   int64_t from)
{
    ts_filter filter = { 0 };
    filter.kinds = kinds;
    if (l->replay->windowed) {
        filter.from_ns = from - l->offset;
        filter.to_ns = l->replay->load_to - l->offset;
    }
    return filter;
}

static uint64_t ts__kinds_gpu(void)
{
    uint64_t kinds = 0;
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++)
        kinds |= UINT64_C(1) << kind;
    return kinds;
}

// Returns how many rows of a chunk are loaded.
static uint32_t ts__chunk_rows(const ts__loader *l, size_t chunk,
                               const ts_chunk_info *info)
{
    if (l->replay->clocks_only && info->header.event != TS_EVENT_COLLECTIVE)
        return 0;
    return l->replay->windowed ? ((const uint32_t *)l->chunk_rows.data)[chunk]
                               : info->header.count;
}

// Fills in the rows of a chunk. Each thread writes only rows of its own chunks.
static void ts__loader_take_rows(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread;
    const ts__loader *const l = (const ts__loader *)user;
    const uint32_t first = ((const uint32_t *)l->chunk_row.data)[c->chunk];
    if (first == TS_NODE_NONE) return;
    const uint32_t place = ((const uint32_t *)l->chunk_place.data)[c->chunk];
    const uint32_t side = ((const uint32_t *)l->chunk_side.data)[c->chunk];
    uint32_t at = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        if (!ts__row_is_used(l, c, i)) continue;
        ts__row *const row = ts__loader_row(l, l->row_first + first + at);
        ts__op *const op = ts__loader_op(l, l->row_first + first + at);
        ts__row_read(l, c, i, row, op);
        row->place = place + i;
        if (c->kind == TS_EVENT_COLLECTIVE)
            ts__coll_read(l, c, i, side + at, op);
        else if (ts__kind_has_event((uint8_t)c->kind))
            ts__event_read(l, c, i, side + at, op);
        at++;
    }
    ((bool *)l->chunk_ok.data)[c->chunk] = true;
}

static bool ts__chunk_is_gpu(const ts_chunk_info *info)
{
    return info->header.kind == TS_CHUNK_EVENTS &&
           info->header.event >= TS_EVENT_GPU_FIRST &&
           info->header.event < TS_EVENT_LIMIT;
}

// Assigns row numbers to every chunk, so that rows are in the order of the file
// for any number of decoding threads.
static ts_result ts__loader_place(ts__loader *l)
{
    ts_reader *const reader = l->reader;
    const size_t chunks = ts_reader_chunk_count(reader);
    if (!ts__rvec_fill(l->allocator, &l->chunk_row, sizeof(uint32_t), chunks,
                       0xFF) ||
        !ts__rvec_fill(l->allocator, &l->chunk_place, sizeof(uint32_t), chunks,
                       0) ||
        !ts__rvec_fill(l->allocator, &l->chunk_side, sizeof(uint32_t), chunks,
                       0) ||
        !ts__rvec_fill(l->allocator, &l->chunk_ok, sizeof(bool), chunks, 0))
        return TS_ERR_MEMORY;
    uint64_t count = 0, place = 0, colls = l->colls.count;
    uint64_t events = l->events.count;
    for (size_t i = 0; i < chunks; i++) {
        ts_chunk_info info;
        if (!ts_reader_chunk(reader, i, &info) || !ts__chunk_is_gpu(&info))
            continue;
        const uint32_t rows = ts__chunk_rows(l, i, &info);
        if (rows) ((uint32_t *)l->chunk_row.data)[i] = (uint32_t)count;
        ((uint32_t *)l->chunk_place.data)[i] = (uint32_t)place;
        const bool is_event = ts__kind_has_event((uint8_t)info.header.event);
        ((uint32_t *)l->chunk_side.data)[i] =
            (uint32_t)(is_event ? events : colls);
        if (info.header.event == TS_EVENT_COLLECTIVE) colls += rows;
        if (is_event) events += rows;
        count += rows;
        place += info.header.count;
        if (l->row_first + count >= TS__REPLAY_OPS_MAX || place > UINT32_MAX)
            return TS_ERR_UNSUPPORTED;
    }
    count += l->row_first;
    if (!ts__rvec_reserve(l->allocator, &l->rows, sizeof(ts__row),
                          (size_t)count) ||
        !ts__rvec_reserve(l->allocator, &l->ops, sizeof(ts__op),
                          (size_t)count) ||
        !ts__rvec_reserve(l->allocator, &l->events, sizeof(ts__row_event),
                          (size_t)events) ||
        !ts__rvec_reserve(l->allocator, &l->colls, sizeof(ts__coll),
                          (size_t)colls))
        return TS_ERR_MEMORY;
    l->colls.count = (size_t)colls;
    l->events.count = (size_t)events;
    l->rows.count = l->ops.count = (size_t)count;
    return TS_OK;
}

// Removes the rows of damaged chunks and those with impossible times.
static void ts__loader_compact(ts__loader *l)
{
    size_t kept = l->row_first;
    for (size_t i = 0; i < l->chunk_row.count; i++) {
        const uint32_t first = ((const uint32_t *)l->chunk_row.data)[i];
        if (first == TS_NODE_NONE || !((const bool *)l->chunk_ok.data)[i])
            continue;
        ts_chunk_info info;
        if (!ts_reader_chunk(l->reader, i, &info)) continue;
        const uint32_t rows = ts__chunk_rows(l, i, &info);
        for (uint32_t k = 0; k < rows; k++) {
            const size_t from = l->row_first + first + k;
            l->replay->stats.loaded++;
            if (!ts__loader_op(l, from)->kind) {
                l->replay->stats.skipped[TS_SKIP_BAD_TIME]++;
                continue;
            }
            if (kept++ == from) continue;
            *ts__loader_row(l, kept - 1) = *ts__loader_row(l, from);
            *ts__loader_op(l, kept - 1) = *ts__loader_op(l, from);
        }
    }
    l->rows.count = l->ops.count = kept;
}

static ts_result ts__loader_rows(ts__loader *l, uint32_t threads)
{
    const uint64_t kinds =
        l->replay->clocks_only ? TS_FILTER(COLLECTIVE) : ts__kinds_gpu();
    const ts_filter filter = ts__loader_window(l, kinds, l->replay->load_from);
    // A damaged chunk costs only its own rows; the reader lists it.
    ts_result scan = TS_OK;
    if (l->replay->windowed) {
        if (!ts__rvec_fill(l->allocator, &l->chunk_rows, sizeof(uint32_t),
                           ts_reader_chunk_count(l->reader), 0))
            return TS_ERR_MEMORY;
        scan = ts_reader_scan(l->reader, &filter, threads,
                              ts__loader_count_rows, l);
        if (scan == TS_ERR_MEMORY) return scan;
    }
    const ts_result result = ts__loader_place(l);
    if (result != TS_OK) return result;
    scan = ts_reader_scan(l->reader, &filter, threads, ts__loader_take_rows, l);
    if (scan == TS_ERR_MEMORY) return scan;
    ts__loader_compact(l);
    return TS_OK;
}
