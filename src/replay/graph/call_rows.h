/* ---- Graph: rows of host calls ------------------------------------------ */

static bool ts__text_has(ts_text text, const char *part)
{
    const size_t size = strlen(part);
    const char *at = text.text;
    for (size_t left = text.size; left >= size;) {
        const char *const next =
            (const char *)memchr(at, part[0], left - size + 1);
        if (!next) return false;
        if (!memcmp(next, part, size)) return true;
        left -= (size_t)(next + 1 - at);
        at = next + 1;
    }
    return false;
}

/*
    Classifies functions that may block the host, by the words that all vendors
    use: cudaStreamSynchronize, hipEventQuery, cuMemcpyDtoH_v2, clFinish,
    zeCommandQueueSynchronize, aclrtSynchronizeDevice, ... A free with "async"
    in its name does not block; such a copy may, if the memory is pageable.
    OpenCL functions have an argument that says whether they block; recorders
    append it to the name.
*/
static ts__call_class ts__call_classify(ts_text name)
{
    if (ts__text_has(name, "clEnqueue"))
        return ts__text_has(name, "(blocking)") ? TS__CALL_COPIES
                                                : TS__CALL_COPIES_ASYNC;
    if (ts__text_has(name, "Query") &&
        (ts__text_has(name, "Event") || ts__text_has(name, "Stream") ||
         ts__text_has(name, "Queue") || ts__text_has(name, "Fence")))
        return TS__CALL_QUERIES;
    if (ts__text_has(name, "clFinish")) return TS__CALL_SYNCS_STREAM;
    if (ts__text_has(name, "clWaitForEvents")) return TS__CALL_SYNCS_EVENT;
    if (ts__text_has(name, "Synchronize")) {
        if (ts__text_has(name, "Event")) return TS__CALL_SYNCS_EVENT;
        if (ts__text_has(name, "Stream") || ts__text_has(name, "Queue") ||
            ts__text_has(name, "Fence") || ts__text_has(name, "List"))
            return TS__CALL_SYNCS_STREAM;
        return TS__CALL_SYNCS_DEVICE;
    }
    if (ts__text_has(name, "StreamWaitEvent")) return TS__CALL_WAITS;
    if (ts__text_has(name, "EventRecord")) return TS__CALL_RECORDS;
    if (ts__text_has(name, "Memcpy"))
        return ts__text_has(name, "Async") ? TS__CALL_COPIES_ASYNC
                                           : TS__CALL_COPIES;
    if (ts__text_has(name, "Free") && !ts__text_has(name, "Async") &&
        (ts__text_has(name, "cudaFree") || ts__text_has(name, "cuMemFree") ||
         ts__text_has(name, "hipFree") || ts__text_has(name, "MemFree")))
        return TS__CALL_FREES;
    return TS__CALL_PLAIN;
}

// Returns the class of a function, computed on first use, as most names of a
// trace belong to something else. Concurrent threads compute the same value.
static uint8_t ts__loader_class(const ts__loader *l, uint32_t name)
{
    const ts__table *const table = &l->reader->tables[TS_CHUNK_NAMES];
    const ts__item *const item = ts__table_find(table, name);
    if (!item) return TS__CALL_PLAIN;
    uint8_t *const known = (uint8_t *)l->classes.data + (item - table->items);
    uint8_t type = __atomic_load_n(known, __ATOMIC_RELAXED);
    if (type != TS__CALL_UNKNOWN) return type;
    const ts_text text = { (const char *)item->body, item->size };
    type = (uint8_t)ts__call_classify(text);
    if ((type == TS__CALL_RECORDS && !l->load_record_calls) ||
        (type == TS__CALL_WAITS && !l->load_wait_calls))
        type = TS__CALL_PLAIN;
    __atomic_store_n(known, type, __ATOMIC_RELAXED);
    return type;
}

// Returns whether the names of a file contain a function with `part` in its
// name.
static bool ts__file_calls(const ts_reader *reader, const char *part)
{
    const ts__table *const table = &reader->tables[TS_CHUNK_NAMES];
    if (!ts_reader_info(reader)->counts[TS_EVENT_API_CALL]) return false;
    for (size_t i = 0; i < table->count; i++) {
        const ts_text name = { (const char *)table->items[i].body,
                               table->items[i].size };
        if (ts__text_has(name, part)) return true;
    }
    return false;
}

// Decides whether calls that record or wait for events are loaded: only if the
// file has no operations for that, and records only if something waits.
static void ts__loader_event_calls(ts__loader *l)
{
    const uint64_t *const counts = ts_reader_info(l->reader)->counts;
    l->load_wait_calls = !counts[TS_EVENT_EVENT_WAIT] &&
                         ts__file_calls(l->reader, "StreamWaitEvent");
    l->load_record_calls = !counts[TS_EVENT_EVENT_RECORD] &&
                           (l->load_wait_calls || counts[TS_EVENT_EVENT_WAIT]);
}

// Returns whether a call is loaded. A call that ended before the window is
// loaded only if it may have launched an operation of the window.
static bool ts__call_is_used(const ts__loader *l, int64_t start, int64_t end,
                             bool launches, bool *early)
{
    const ts_replay *const r = l->replay;
    *early = r->windowed && start < r->load_from && end <= r->load_from;
    return !r->windowed || (start < r->load_to &&
                            (!*early || (launches && start >= r->calls_from)));
}

static void ts__loader_take_calls(const ts_columns *c, uint32_t thread,
                                  void *user)
{
    ts__loader *const l = (ts__loader *)user;
    const uint64_t *const bits = (const uint64_t *)l->filter.data;
    for (uint32_t i = 0; i < c->count; i++) {
        const uint64_t correlation =
            ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        const uint64_t bit = correlation & l->filter_mask;
        const uint32_t name = (uint32_t)ts__columns_get(c, TS_COLUMN_NAME, i);
        const uint8_t type = ts__loader_class(l, name);
        const bool launches = correlation && bits[bit >> 6] >> (bit & 63) & 1;
        if (type == TS__CALL_PLAIN && !launches) continue;
        if (!ts__replay_time_ok(c->start_ns[i]) ||
            !ts__replay_time_ok(c->start_ns[i] + l->offset) ||
            !ts__replay_time_ok(c->duration_ns[i]) || c->duration_ns[i] < 0)
            continue;
        const int64_t start = c->start_ns[i] + l->offset;
        bool early;
        if (!ts__call_is_used(l, start, start + c->duration_ns[i], launches,
                              &early))
            continue;
        ts__row_call *const call = (ts__row_call *)ts__rvec_push(
            l->allocator, &l->thread_calls[thread], sizeof *call);
        if (!call) {
            l->thread_failed[thread] = true;
            return;
        }
        call->start = start;
        call->duration = c->duration_ns[i];
        call->correlation = correlation;
        call->track = c->tracks ? c->tracks[i] : c->track;
        call->name = name;
        call->rank = TS_NODE_NONE;
        call->type = type;
        call->failed = ts__columns_get(c, TS_COLUMN_RESULT, i) != 0;
        call->call_only = true;
        call->early = early;
    }
}

/*
    Builds a bit map of the low bits of the operations' correlations, with eight
    bits or more per operation. As correlations count up, hardly any call passes
    that launched nothing; the merge in ts__loader_match finds these.
*/
static bool ts__loader_filter(ts__loader *l)
{
    size_t bits = 4096;
    while (bits < (l->rows.count - l->row_first + l->referenced.count) * 8)
        bits *= 2;
    if (!ts__rvec_fill(l->allocator, &l->filter, sizeof(uint64_t), bits / 64,
                       0))
        return false;
    l->filter_mask = bits - 1;
    uint64_t *const words = (uint64_t *)l->filter.data;
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        const uint64_t bit = ts__loader_op(l, i)->correlation & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    for (size_t i = 0; i < l->referenced.count; i++) {
        const uint64_t bit =
            ((const uint64_t *)l->referenced.data)[i] & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return true;
}

// Appends the calls of all scanning threads to those of earlier files.
static ts_result ts__loader_gather(ts__loader *l, uint32_t threads)
{
    size_t count = l->calls.count;
    for (uint32_t i = 0; i < threads; i++) {
        if (l->thread_failed[i]) return TS_ERR_MEMORY;
        count += l->thread_calls[i].count;
    }
    if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    uint32_t first = 0;
    if (!l->calls.count) { // take over the first array without a copy
        const ts__rvec none = { 0 };
        ts__rvec_close(l->allocator, &l->calls);
        l->calls = l->thread_calls[first];
        l->thread_calls[first++] = none;
    }
    if (!ts__rvec_reserve(l->allocator, &l->calls, sizeof(ts__row_call), count))
        return TS_ERR_MEMORY;
    for (uint32_t i = first; i < threads; i++) {
        ts__rvec *const from = &l->thread_calls[i];
        if (from->count)
            memcpy(ts__loader_call(l, l->calls.count), from->data,
                   from->count * sizeof(ts__row_call));
        l->calls.count += from->count;
        ts__rvec_close(l->allocator, from);
    }
    ts__rvec_trim(l->allocator, &l->calls);
    return TS_OK;
}

// Reserves room for calls. Most operations have a call, and most relevant calls
// an operation. Unused memory is never touched.
static void ts__loader_call_room(ts__loader *l, uint32_t threads)
{
    uint64_t count = ts_reader_info(l->reader)->counts[TS_EVENT_API_CALL];
    const uint64_t rows = l->rows.count - l->row_first;
    if (count > rows + rows / 8) count = rows + rows / 8;
    for (uint32_t i = 0; i < threads; i++)
        if (!ts__rvec_reserve(l->allocator, &l->thread_calls[i],
                              sizeof(ts__row_call),
                              (size_t)(count / threads) + 1))
            l->thread_failed[i] = true;
}

static ts_result ts__loader_calls(ts__loader *l, uint32_t threads)
{
    ts__loader_event_calls(l);
    if (!ts__loader_filter(l) ||
        !ts__rvec_fill(l->allocator, &l->classes, sizeof(uint8_t),
                       l->reader->tables[TS_CHUNK_NAMES].count,
                       TS__CALL_UNKNOWN))
        return TS_ERR_MEMORY;
    ts__rvec vecs = { 0 }, failed = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_fill(l->allocator, &vecs, sizeof(ts__rvec), threads, 0) &&
        ts__rvec_fill(l->allocator, &failed, sizeof(bool), threads, 0)) {
        l->thread_calls = (ts__rvec *)vecs.data;
        l->thread_failed = (bool *)failed.data;
        ts__loader_call_room(l, threads);
        const ts_filter filter =
            ts__loader_window(l, TS_FILTER(API_CALL), l->replay->calls_from);
        result = ts_reader_scan(l->reader, &filter, threads,
                                ts__loader_take_calls, l);
        if (result != TS_ERR_MEMORY) result = ts__loader_gather(l, threads);
        for (uint32_t i = 0; i < threads; i++)
            ts__rvec_close(l->allocator, &l->thread_calls[i]);
    }
    ts__rvec_close(l->allocator, &vecs);
    ts__rvec_close(l->allocator, &failed);
    ts__rvec_close(l->allocator, &l->filter);
    return result;
}
