/* ---- Graph: host calls and their operations ----------------------------- */

// The order of calls: by start, then by lane (by track while a file is loaded),
// then longer ones first, as they may contain others. Only calls that are equal
// in everything are left unordered.
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

// Puts the order of the calls from `first` on into the sorter. Long runs of
// equal starts, which are rare, cost five more sorts.
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

// Sorts the calls of the file in place.
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

// Puts the order of the calls by correlation into the sorter; stable.
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
    Chooses the call of a row among the calls first to end - 1, which share its
    correlation (long traces reuse numbers) and are in order of start: the
    latest that began before the row did, on the row's thread if one is near.
*/
static uint32_t ts__loader_choose(const ts__loader *l, const uint32_t *order,
                                  size_t first, size_t end, size_t row)
{
    const int64_t start = ts__loader_row(l, row)->start;
    const uint32_t thread = ts__loader_op(l, row)->thread;
    size_t low = first, high = end;
    while (low < high)
        ts__halve(&low, &high,
                  ts__loader_call(l, order[ts__middle(low, high)])->start <=
                      start);
    const size_t best = low > first ? low - 1 : first;
    for (size_t i = best, tries = 0; thread && tries < 16; tries++) {
        if (ts__loader_call(l, order[i])->track == thread) return order[i];
        if (i-- == first) break;
    }
    return order[best];
}

/*
    Adds stand-ins for calls that the trace lacks. The sorter holds the rows in
    order of correlation; rows of one correlation that one thread issued at the
    same time get one call.
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

// Finds the call of each operation: merges both in order of correlation.
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
        call->call_only = false;
        row->issue = call->start;
        if (!row->thread) row->thread = call->track;
    }
    ts__rvec_close(l->allocator, &order);
    return ok && ts__loader_stand_in(l);
}

/*
    Returns whether call b, the next one of the thread, continues to poll for
    what call a polled for. If results are known, a returned "not ready". Else
    the two are so close that the program did nothing else in between.
*/
static bool ts__call_polls_on(const ts__row_call *a, const ts__row_call *b,
                              bool results)
{
    if (a->type != TS__CALL_QUERIES || b->type != TS__CALL_QUERIES ||
        !a->call_only || !b->call_only || a->name != b->name ||
        a->track != b->track)
        return false;
    if (results) return a->failed;
    return b->start - (a->start + a->duration) <= 1000 + 4 * b->duration;
}

// Merges consecutive polls into one call, which waits until the last one is
// done. Polling without success waited for nothing.
static bool ts__loader_polls(ts__loader *l)
{
    bool any = false, results = false;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        const ts__row_call *const call = ts__loader_call(l, i);
        const bool polls =
            call->call_only && !call->early && call->type == TS__CALL_QUERIES;
        any |= polls;
        results |= polls && call->failed;
    }
    if (!any) return true;
    // by thread, then by start
    if (!ts__loader_call_sort(l, l->call_first)) return false;
    const size_t count = l->calls.count - l->call_first;
    ts__loader_call_keys(l, l->call_first, 4);
    ts__row_call *last = NULL;
    for (size_t i = 0; i < count; i++) {
        ts__row_call *const call =
            ts__loader_call(l, ts__rsort_index(&l->sort)[i]);
        if (call->call_only && (call->early || call->type == TS__CALL_PLAIN))
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
        if (call->call_only && call->type == TS__CALL_QUERIES && call->failed)
            call->type = TS__CALL_PLAIN;
    }
    return true;
}

// Drops calls that launched nothing, do not wait, and are not named by a
// dependency.
static void ts__loader_drop_calls(ts__loader *l)
{
    uint32_t kept = (uint32_t)l->call_first;
    for (size_t i = l->call_first; i < l->calls.count; i++) {
        ts__row_call *const call = ts__loader_call(l, i);
        if (!call->call_only ||
            (!call->early && (call->type != TS__CALL_PLAIN ||
                              ts__loader_uses(l, call->correlation))))
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
