/* ---- 10.21.1 Replay: dependencies that the source says ------------------- */

typedef struct ts__named_dep { // of correlations of one file
    uint64_t from, to;
    uint32_t file;
} ts__named_dep;

static int ts__dep_compare(const void *left, const void *right)
{
    const ts__named_dep *const a = (const ts__named_dep *)left;
    const ts__named_dep *const b = (const ts__named_dep *)right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->to != b->to) return a->to < b->to ? -1 : 1;
    return (a->from > b->from) - (a->from < b->from);
}

static void ts__loader_take_deps(const ts_columns *c, uint32_t thread,
                                 void *user)
{
    (void)thread; // there is one
    ts__loader *const l = (ts__loader *)user;
    for (uint32_t i = 0; i < c->count; i++) {
        ts__named_dep *const dep = (ts__named_dep *)ts__rvec_push(
            l->allocator, &l->replay->deps_named, sizeof *dep);
        if (!dep) {
            l->deps_failed = true;
            return;
        }
        dep->from = ts__columns_get(c, TS_COLUMN_RECORD, i);
        dep->to = ts__columns_get(c, TS_COLUMN_CORRELATION, i);
        dep->file = l->file;
    }
}

static int ts__dep_compare_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// What the source says twice counts once.
static size_t ts__deps_once(ts__named_dep *deps, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++)
        if (!kept || ts__dep_compare(&deps[kept - 1], &deps[i]))
            deps[kept++] = deps[i];
    return kept;
}

// The dependencies of a file, and the correlations that they name, sorted:
// calls that have one are nodes, too.
static ts_result ts__loader_deps(ts__loader *l)
{
    l->wanted.count = 0;
    if (!ts_reader_info(l->reader)->counts[TS_EVENT_DEPENDENCY]) return TS_OK;
    ts_replay *const r = l->replay;
    const size_t first = r->deps_named.count;
    const ts_filter filter = { .kinds = TS_FILTER(DEPENDENCY) };
    const ts_result scan =
        ts_reader_scan(l->reader, &filter, 1, ts__loader_take_deps, l);
    if (scan == TS_ERR_MEMORY || l->deps_failed) return TS_ERR_MEMORY;
    size_t count = r->deps_named.count - first;
    if (!count) return TS_OK;
    ts__named_dep *const deps = (ts__named_dep *)r->deps_named.data + first;
    qsort(deps, count, sizeof *deps, ts__dep_compare);
    count = ts__deps_once(deps, count);
    r->deps_named.count = first + count;
    if (!ts__rvec_reserve(l->allocator, &l->wanted, sizeof(uint64_t),
                          count * 2))
        return TS_ERR_MEMORY;
    uint64_t *const wanted = (uint64_t *)l->wanted.data;
    for (size_t i = 0; i < count; i++) {
        wanted[i * 2] = deps[i].from;
        wanted[i * 2 + 1] = deps[i].to;
    }
    l->wanted.count = count * 2;
    qsort(wanted, count * 2, sizeof *wanted, ts__dep_compare_number);
    return TS_OK;
}

static bool ts__loader_wants(const ts__loader *l, uint64_t correlation)
{
    return correlation && l->wanted.count &&
           bsearch(&correlation, l->wanted.data, l->wanted.count,
                   sizeof correlation, ts__dep_compare_number);
}

/* ---- 10.21 Replay: host calls -------------------------------------------- */

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
    Functions that may hold up the host, in the words that all vendors use:
    cudaStreamSynchronize, hipEventQuery, cuMemcpyDtoH_v2, clFinish,
    zeCommandQueueSynchronize, aclrtSynchronizeDevice, ... What is
    asynchronous by its name does not free at once; copies that are may still
    hold up the host, if the memory is pageable. OpenCL's say by an argument
    whether they wait, which recorders make part of the name.
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

// Decides once for each name that a call has: most names of a trace are of
// something else. Threads that come at once decide the same.
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
    if ((type == TS__CALL_RECORDS && !l->blind_records) ||
        (type == TS__CALL_WAITS && !l->blind_waits))
        type = TS__CALL_PLAIN;
    __atomic_store_n(known, type, __ATOMIC_RELAXED);
    return type;
}

// Whether calls of such a function are in the names of a file.
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

// Calls that record or wait for events tell something where the source has no
// operations for that; of records only if something waits for them.
static void ts__loader_blind(ts__loader *l)
{
    const uint64_t *const counts = ts_reader_info(l->reader)->counts;
    l->blind_waits = !counts[TS_EVENT_EVENT_WAIT] &&
                     ts__file_calls(l->reader, "StreamWaitEvent");
    l->blind_records = !counts[TS_EVENT_EVENT_RECORD] &&
                       (l->blind_waits || counts[TS_EVENT_EVENT_WAIT]);
}

// Whether the window lets a call in. What ended before it does only if it
// may have launched something of it.
static bool ts__call_wanted(const ts__loader *l, int64_t start, int64_t end,
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
        if (!ts__call_wanted(l, start, start + c->duration_ns[i], launches,
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
        call->alone = true;
        call->early = early;
    }
}

/*
    The low bits of the correlations that operations have, in a bit map of
    eight bits an operation or more. Correlations count up, so this lets hardly
    any call pass that launched nothing; the merge below finds the others.
*/
static bool ts__loader_filter(ts__loader *l)
{
    size_t bits = 4096;
    while (bits < (l->rows.count - l->row_first + l->wanted.count) * 8)
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
    for (size_t i = 0; i < l->wanted.count; i++) {
        const uint64_t bit =
            ((const uint64_t *)l->wanted.data)[i] & l->filter_mask;
        words[bit >> 6] |= UINT64_C(1) << (bit & 63);
    }
    return true;
}

// The calls of all threads, appended to those of earlier files.
static ts_result ts__loader_gather(ts__loader *l, uint32_t threads)
{
    size_t count = l->calls.count;
    for (uint32_t i = 0; i < threads; i++) {
        if (l->thread_failed[i]) return TS_ERR_MEMORY;
        count += l->thread_calls[i].count;
    }
    if (count >= TS__REPLAY_OPS_MAX) return TS_ERR_UNSUPPORTED;
    uint32_t first = 0;
    if (!l->calls.count) { // the first need not be copied
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

// Most operations have a call, most calls that matter an operation. What is
// not used is not touched.
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
    ts__loader_blind(l);
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

// Order of calls: by start, by lane (while a file is loaded: track), longer
// ones first, since they may contain others. Only calls that are alike in
// everything can change places.
static bool ts__call_before(const ts__row_call *a, const ts__row_call *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->track != b->track) return a->track < b->track;
    if (a->duration != b->duration) return a->duration > b->duration;
    if (a->name != b->name) return a->name < b->name;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation;
    return a->failed < b->failed;
}

static void ts__loader_call_keys(ts__loader *l, size_t first, int key)
{
    const size_t count = l->calls.count - first;
    for (size_t i = 0; i < count; i++) {
        const ts__row_call *const c =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        ts__rsort_keys(&l->sort)[i] = key == 0   ? c->failed
                                      : key == 1 ? c->correlation
                                      : key == 2 ? c->name
                                      : key == 3 ? ~(uint64_t)c->duration
                                      : key == 4 ? c->track
                                                 : ts__rsort_time(c->start);
    }
    ts__rsort_run(&l->sort, count);
}

// Leaves the calls from `first` on in order in the sorter. Equal starts are
// rare: long runs of them cost five more sorts.
static bool ts__loader_call_sort(ts__loader *l, size_t first)
{
    const size_t count = l->calls.count - first;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)(first + i);
    ts__loader_call_keys(l, first, 5);
    uint32_t *const index = ts__rsort_index(&l->sort);
    for (size_t i = 1, run = 1; i < count; i++) {
        const ts__row_call *const call = ts__loader_call(l, index[i]);
        run = ts__loader_call(l, index[i - 1])->start == call->start ? run + 1
                                                                     : 1;
        const uint32_t moved = index[i];
        size_t at = i;
        for (; run <= 32 && at > i + 1 - run &&
               ts__call_before(call, ts__loader_call(l, index[at - 1]));
             at--)
            index[at] = index[at - 1];
        index[at] = moved;
        if (run <= 32) continue;
        for (int key = 0; key < 6; key++)
            ts__loader_call_keys(l, first, key);
        return true;
    }
    return true;
}

// Puts the calls of the file themselves into order.
static bool ts__loader_call_arrange(ts__loader *l)
{
    const size_t count = l->calls.count - l->call_first;
    bool sorted = true;
    for (size_t i = 1; i < count; i++)
        sorted &= !ts__call_before(ts__loader_call(l, l->call_first + i),
                                   ts__loader_call(l, l->call_first + i - 1));
    if (sorted) return true;
    ts__rvec to = { 0 };
    if (!ts__loader_call_sort(l, l->call_first) ||
        !ts__rvec_reserve(l->allocator, &to, sizeof(ts__row_call), count))
        return false;
    ts__row_call *const list = (ts__row_call *)to.data;
    for (size_t i = 0; i < count; i++)
        list[i] = *ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
    memcpy(ts__loader_call(l, l->call_first), list, count * sizeof *list);
    ts__rvec_close(l->allocator, &to);
    return true;
}

// Leaves the calls of the file in order of correlation, then as they are.
static bool ts__loader_call_numbers(ts__loader *l)
{
    const size_t count = l->calls.count - l->call_first;
    if (!ts__rsort_open(l->allocator, &l->sort, count)) return false;
    for (size_t i = 0; i < count; i++)
        ts__rsort_index(&l->sort)[i] = (uint32_t)(l->call_first + i);
    ts__loader_call_keys(l, l->call_first, 1);
    return true;
}

/*
    Of the calls first to end - 1, which share the row's correlation and are
    in order of start: the latest that began before the row did, on the row's
    thread if one is near. Numbers are used again in long traces.
*/
static uint32_t ts__loader_choose(const ts__loader *l, const uint32_t *order,
                                  size_t first, size_t end, size_t row)
{
    const int64_t start = ts__loader_row(l, row)->start;
    const uint32_t thread = ts__loader_op(l, row)->thread;
    size_t low = first, high = end;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ts__loader_call(l, order[middle])->start <= start)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t best = low > first ? low - 1 : first;
    for (size_t i = best, tries = 0; thread && tries < 16; tries++) {
        if (ts__loader_call(l, order[i])->track == thread) return order[i];
        if (i-- == first) break;
    }
    return order[best];
}

/*
    Adds what stands in for calls that the trace lacks. Rows are in the sorter
    in order of correlation: those of one, issued at one moment by one thread,
    were one call.
*/
static bool ts__loader_stand_in(ts__loader *l)
{
    const size_t rows = l->rows.count - l->row_first;
    ts__row_call last = { 0 };
    for (size_t i = 0; i < rows; i++) {
        ts__op *const row = ts__loader_op(l, ts__rsort_index(&l->sort)[i]);
        if (row->call != TS_NODE_NONE || row->issue == TS__NO_TIME ||
            !row->thread || ts__kind_syncs(row->kind))
            continue;
        if (!row->correlation || last.correlation != row->correlation ||
            last.start != row->issue || last.track != row->thread) {
            memset(&last, 0, sizeof last);
            last.start = row->issue;
            last.correlation = row->correlation;
            last.track = row->thread;
            ts__row_call *const to = (ts__row_call *)ts__rvec_push(
                l->allocator, &l->calls, sizeof *to);
            if (!to) return false;
            *to = last;
        }
        row->call = (uint32_t)(l->calls.count - 1);
    }
    return true;
}

// Merges operations and calls, both in order of correlation.
static bool ts__loader_match(ts__loader *l)
{
    if (!ts__loader_call_arrange(l) || !ts__loader_call_numbers(l))
        return false;
    ts__rvec order = { 0 };
    const size_t calls = l->calls.count - l->call_first;
    const size_t rows = l->rows.count - l->row_first;
    if (!ts__rvec_reserve(l->allocator, &order, sizeof(uint32_t), calls))
        return false;
    uint32_t *const by = (uint32_t *)order.data;
    memcpy(by, ts__rsort_index(&l->sort), calls * sizeof *by);
    bool ok = ts__rsort_open(l->allocator, &l->sort, rows);
    for (size_t i = 0; ok && i < rows; i++) {
        const size_t row = l->row_first + i;
        ts__rsort_keys(&l->sort)[i] = ts__loader_op(l, row)->correlation;
        ts__rsort_index(&l->sort)[i] = (uint32_t)row;
    }
    if (ok) ts__rsort_run(&l->sort, rows);
    size_t first = 0, end = 0;
    for (size_t i = 0; ok && i < rows; i++) {
        const uint32_t at = ts__rsort_index(&l->sort)[i];
        ts__op *const row = ts__loader_op(l, at);
        while (first < calls &&
               ts__loader_call(l, by[first])->correlation < row->correlation)
            first++;
        if (end < first) end = first;
        while (end < calls &&
               ts__loader_call(l, by[end])->correlation == row->correlation)
            end++;
        if (!row->correlation || first == end) continue;
        row->call = ts__loader_choose(l, by, first, end, at);
        ts__row_call *const call = ts__loader_call(l, row->call);
        call->alone = false;
        row->issue = call->start;
        if (!row->thread) row->thread = call->track;
    }
    ts__rvec_close(l->allocator, &order);
    return ok && ts__loader_stand_in(l);
}

/*
    Whether b, the next call of its thread, polls on for what a polled for. If
    the results are known, a has failed: it was not done yet. Else the two are
    so close together that the program did nothing else in between.
*/
static bool ts__call_polls_on(const ts__row_call *a, const ts__row_call *b,
                              bool results)
{
    if (a->type != TS__CALL_QUERIES || b->type != TS__CALL_QUERIES ||
        !a->alone || !b->alone || a->name != b->name || a->track != b->track)
        return false;
    if (results) return a->failed;
    return b->start - (a->start + a->duration) <= 1000 + 4 * b->duration;
}

// Makes one call of those that poll in a row: it waits until the last is
// done. What never was done waited for nothing.
static bool ts__loader_polls(ts__loader *l)
{
    bool any = false, results = false;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const bool polls =
            call->alone && !call->early && call->type == TS__CALL_QUERIES;
        any |= polls;
        results |= polls && call->failed;
    }
    if (!any) return true;
    // By thread and then start.
    if (!ts__loader_call_sort(l, l->call_first)) return false;
    const size_t count = l->calls.count - l->call_first;
    ts__loader_call_keys(l, l->call_first, 4);
    ts__row_call *last = NULL;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        if (call->alone && (call->early || call->type == TS__CALL_PLAIN))
            continue;
        if (last && ts__call_polls_on(last, call, results)) {
            call->duration += call->start - last->start;
            call->start = last->start;
            last->type = TS__CALL_PLAIN; // dropped
        }
        last = call;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (call->alone && call->type == TS__CALL_QUERIES && call->failed)
            call->type = TS__CALL_PLAIN;
    }
    return true;
}

// Drops the calls that launched nothing, do not wait and that no dependency
// names.
static void ts__loader_keep(ts__loader *l)
{
    uint32_t kept = (uint32_t)l->call_first;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (!call->alone ||
            (!call->early && (call->type != TS__CALL_PLAIN ||
                              ts__loader_wants(l, call->correlation))))
            call->rank = kept++;
    }
    for (size_t i = l->row_first; i < l->rows.count; i++) {
        ts__op *const row = ts__loader_op(l, i);
        if (row->call != TS_NODE_NONE)
            row->call = ts__loader_call(l, row->call)->rank;
    }
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call call = *ts__loader_call(l, i);
        if (call.rank != TS_NODE_NONE) *ts__loader_call(l, call.rank) = call;
    }
    l->calls.count = kept;
}
