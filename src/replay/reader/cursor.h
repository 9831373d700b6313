/* ---- Reader: cursor ----------------------------------------------------- */

/*
    Chunks wait in the order of their first event. When the cursor reaches that
    time, the chunk is decoded, its rows are sorted, and it becomes a run. A
    heap yields the run whose next event comes first.
*/
typedef struct ts__run {
    struct ts__run *next_free;
    ts_columns columns;
    uint32_t *rows; // sorted; followed by as much scratch space
    size_t room;
    uint32_t count, next;
} ts__run;

// The next event of a run.
typedef struct ts__head {
    int64_t start, duration;
    uint32_t track, row;
    ts__run *run;
} ts__head;

typedef struct ts__waiting {
    int64_t first;
    size_t chunk;
} ts__waiting;

struct ts_cursor {
    ts_reader *reader;
    ts__clocks *clocks; // the current set when the cursor was opened
    ts_filter filter;
    uint32_t *tracks; // of the filter, sorted
    ts__waiting *waiting;
    size_t waiting_count, waiting_room, waiting_next;
    ts__head *heads;
    size_t head_count, head_room;
    ts__run *runs;  // finished, for reuse
    ts__run *spent; // finished, but the caller still uses its last event
    ts_result result;
};

static int ts__order_waiting(const void *a, const void *b)
{
    const ts__waiting *const x = a, *const y = b;
    if (x->first != y->first) return x->first < y->first ? -1 : 1;
    return ts__order_u64(x->chunk, y->chunk);
}

static int ts__order_track(const void *a, const void *b)
{
    const uint32_t *const x = a, *const y = b;
    return ts__order_u64(*x, *y);
}

static inline uint32_t ts__row_track(const ts_columns *columns, uint32_t row)
{
    return columns->tracks ? columns->tracks[row] : columns->track;
}

// Returns whether row a of a chunk comes before row b. A chunk holds a zone
// behind the zones inside it.
static inline bool ts__row_before(const ts_columns *columns, uint32_t a,
                                  uint32_t b)
{
    const int64_t start_a = columns->start_ns[a];
    const int64_t start_b = columns->start_ns[b];
    if (start_a != start_b) return start_a < start_b;
    const uint32_t track_a = ts__row_track(columns, a);
    const uint32_t track_b = ts__row_track(columns, b);
    if (track_a != track_b) return track_a < track_b;
    const int64_t duration_a = columns->duration_ns[a];
    const int64_t duration_b = columns->duration_ns[b];
    if (duration_a != duration_b) return duration_a > duration_b;
    return columns->kind == TS_EVENT_ZONE ? a > b : a < b;
}

// Returns whether the head of one run comes before that of another.
static bool ts__head_before(const ts__head *a, const ts__head *b)
{
    if (a->start != b->start) return a->start < b->start;
    if (a->track != b->track) return a->track < b->track;
    if (a->duration != b->duration) return a->duration > b->duration;
    const ts_columns *const x = &a->run->columns, *const y = &b->run->columns;
    if (x->kind != y->kind) return x->kind < y->kind;
    if (x->kind == TS_EVENT_ZONE) return x->chunk > y->chunk;
    return x->chunk < y->chunk;
}

static void ts__heap_down(ts_cursor *cursor)
{
    ts__head *const heads = cursor->heads;
    const ts__head moved = heads[0];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= cursor->head_count) break;
        if (child + 1 < cursor->head_count &&
            ts__head_before(&heads[child + 1], &heads[child]))
            child++;
        if (!ts__head_before(&heads[child], &moved)) break;
        heads[at] = heads[child];
        at = child;
    }
    heads[at] = moved;
}

static void ts__heap_add(ts_cursor *cursor, ts__head head)
{
    ts__head *const heads = cursor->heads;
    size_t at = cursor->head_count++;
    while (at > 0 && ts__head_before(&head, &heads[(at - 1) / 2])) {
        heads[at] = heads[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heads[at] = head;
}

static ts__head ts__run_head(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    const uint32_t row = run->rows[run->next++];
    const ts__head head = { columns->start_ns[row], columns->duration_ns[row],
                            ts__row_track(columns, row), row, run };
    return head;
}

static bool ts__cursor_row_matches(const ts_cursor *cursor,
                                   const ts_columns *columns, uint32_t row)
{
    const ts_filter *const filter = &cursor->filter;
    if (columns->tracks && filter->tracks &&
        !bsearch(&columns->tracks[row], filter->tracks, filter->track_count,
                 sizeof *filter->tracks, ts__order_track))
        return false;
    if (!ts__filter_timed(filter)) return true;
    const int64_t start = columns->start_ns[row];
    const int64_t end = start + columns->duration_ns[row];
    if (start >= filter->to_ns) return false;
    return end > filter->from_ns || start >= filter->from_ns;
}

static void ts__rows_merge(const ts_columns *columns, const uint32_t *from,
                           size_t low, size_t middle, size_t high, uint32_t *to)
{
    size_t a = low, b = middle;
    for (size_t i = low; i < high; i++) {
        const bool right =
            a == middle ||
            (b < high && ts__row_before(columns, from[b], from[a]));
        to[i] = right ? from[b++] : from[a++];
    }
}

static bool ts__rows_sorted(const ts_columns *columns, const uint32_t *rows,
                            size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (ts__row_before(columns, rows[i], rows[i - 1])) return false;
    return true;
}

// Merge sort; `spare` is as large as `rows`.
static void ts__rows_sort(const ts_columns *columns, uint32_t *rows,
                          uint32_t *spare, size_t count)
{
    uint32_t *from = rows, *to = spare;
    if (ts__rows_sorted(columns, rows, count)) return;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t low = 0; low < count; low += 2 * width) {
            const size_t middle = low + width < count ? low + width : count;
            const size_t high = middle + width < count ? middle + width : count;
            ts__rows_merge(columns, from, low, middle, high, to);
        }
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
}

enum { TS__DIGIT_BITS = 11, TS__DIGITS = 1 << TS__DIGIT_BITS };

// One pass of a radix sort by a digit of start_ns - least.
static void ts__rows_radix_pass(const int64_t *start_ns, int64_t least,
                                uint32_t shift, const uint32_t *from,
                                uint32_t *to, size_t count)
{
    uint32_t places[TS__DIGITS + 1] = { 0 };
#define TS__DIGIT(row) \
    ((uint64_t)(start_ns[row] - least) >> shift & (TS__DIGITS - 1))
    for (size_t i = 0; i < count; i++)
        places[TS__DIGIT(from[i]) + 1]++;
    for (size_t i = 1; i < TS__DIGITS; i++)
        places[i] += places[i - 1];
    for (size_t i = 0; i < count; i++)
        to[places[TS__DIGIT(from[i])]++] = from[i];
#undef TS__DIGIT
}

// Sorts by start, which takes two passes for most chunks, then equal starts.
static void ts__rows_radix(const ts_columns *columns, uint32_t *rows,
                           uint32_t *spare, size_t count)
{
    const int64_t *const start_ns = columns->start_ns;
    int64_t least = INT64_MAX, most = INT64_MIN;
    uint32_t *from = rows, *to = spare;
    for (size_t i = 0; i < count; i++) {
        if (start_ns[rows[i]] < least) least = start_ns[rows[i]];
        if (start_ns[rows[i]] > most) most = start_ns[rows[i]];
    }
    const uint64_t range = (uint64_t)(most - least);
    for (uint32_t shift = 0; shift < 64 && range >> shift;
         shift += TS__DIGIT_BITS) {
        ts__rows_radix_pass(start_ns, least, shift, from, to, count);
        uint32_t *const kept = from;
        from = to;
        to = kept;
    }
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
    for (size_t i = 0, next; i < count; i = next) {
        next = i + 1;
        while (next < count && start_ns[rows[next]] == start_ns[rows[i]])
            next++;
        if (next - i > 1) ts__rows_sort(columns, rows + i, spare, next - i);
    }
}

// Sorts run->rows, with as much scratch space behind them.
static void ts__run_sort(ts__run *run)
{
    const ts_columns *const columns = &run->columns;
    if (ts__rows_sorted(columns, run->rows, run->count)) return;
    if (run->count < TS__DIGITS)
        ts__rows_sort(columns, run->rows, run->rows + run->count, run->count);
    else
        ts__rows_radix(columns, run->rows, run->rows + run->count, run->count);
}

static bool ts__run_rows(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    const ts_columns *const columns = &run->columns;
    const size_t room = 2 * (size_t)columns->count;
    run->count = run->next = 0;
    if (room > run->room) {
        ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
        run->rows = ts__mem_get(allocator, room * sizeof *run->rows);
        run->room = run->rows ? room : 0;
        if (!run->rows) return false;
    }
    for (uint32_t i = 0; i < columns->count; i++)
        if (ts__cursor_row_matches(cursor, columns, i))
            run->rows[run->count++] = i;
    ts__run_sort(run);
    return true;
}

static ts__run *ts__run_get(ts_cursor *cursor)
{
    ts__run *run = cursor->runs;
    if (run) {
        cursor->runs = run->next_free;
        return run;
    }
    run = ts__mem_get(&cursor->reader->allocator, sizeof *run);
    if (run) memset(run, 0, sizeof *run);
    return run;
}

static void ts__run_put(ts_cursor *cursor, ts__run *run)
{
    run->next_free = cursor->runs;
    cursor->runs = run;
}

// Makes a run of a chunk that the cursor has reached, unless it is damaged or
// no row matches the filter.
static ts_result ts__run_open(ts_cursor *cursor, size_t chunk)
{
    ts_reader *const reader = cursor->reader;
    ts__head *const heads =
        ts__mem_more(&reader->allocator, cursor->heads, &cursor->head_room,
                     cursor->head_count, sizeof *heads);
    if (!heads) return TS_ERR_MEMORY;
    cursor->heads = heads;
    ts__run *const run = ts__run_get(cursor);
    if (!run) return TS_ERR_MEMORY;
    const ts__fault fault = ts__decode(reader, cursor->clocks, chunk,
                                       TS_COLUMNS_ALL, &run->columns);
    ts_result result =
        ts__in_chunk_report(reader, &reader->chunks[chunk], fault);
    if (result == TS_OK && !ts__run_rows(cursor, run)) result = TS_ERR_MEMORY;
    if (result == TS_OK && run->count > 0)
        ts__heap_add(cursor, ts__run_head(run));
    else
        ts__run_put(cursor, run);
    return result;
}

// Opens every chunk whose events may come before the first one of the heap.
static bool ts__cursor_reach(ts_cursor *cursor)
{
    while (cursor->waiting_next < cursor->waiting_count) {
        const ts__waiting *const next = &cursor->waiting[cursor->waiting_next];
        if (cursor->head_count && next->first > cursor->heads[0].start)
            return true;
        const ts_result result = ts__run_open(cursor, next->chunk);
        if (cursor->result == TS_OK) cursor->result = result;
        if (result == TS_ERR_MEMORY) return false;
        cursor->waiting_next++;
    }
    return true;
}

TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event)
{
    if (cursor->spent) ts__run_put(cursor, cursor->spent);
    cursor->spent = NULL;
    if (!ts__cursor_reach(cursor) || !cursor->head_count) return false;
    const ts__head head = cursor->heads[0];
    ts__run *const run = head.run;
    event->kind = run->columns.kind;
    event->track = head.track;
    event->start_ns = head.start;
    event->duration_ns = head.duration;
    event->columns = &run->columns;
    event->row = head.row;
    if (run->next < run->count) {
        cursor->heads[0] = ts__run_head(run);
    } else {
        cursor->spent = run;
        cursor->heads[0] = cursor->heads[--cursor->head_count];
    }
    if (cursor->head_count) ts__heap_down(cursor);
    return true;
}

TS_API ts_result ts_cursor_result(const ts_cursor *cursor)
{
    return cursor->result;
}

// Copies the filter with its tracks sorted.
static bool ts__cursor_filter(ts_cursor *cursor, const ts_filter *filter)
{
    if (!filter) return true;
    cursor->filter = *filter;
    if (!filter->tracks) return true;
    const size_t size = (filter->track_count + 1) * sizeof *filter->tracks;
    cursor->tracks = ts__mem_get(&cursor->reader->allocator, size);
    if (!cursor->tracks) return false;
    memcpy(cursor->tracks, filter->tracks,
           filter->track_count * sizeof *filter->tracks);
    ts__sort(cursor->tracks, filter->track_count, sizeof *filter->tracks,
             ts__order_track);
    cursor->filter.tracks = cursor->tracks;
    return true;
}

static bool ts__cursor_wait(ts_cursor *cursor)
{
    const ts_reader *const reader = cursor->reader;
    cursor->waiting_room = reader->chunk_count + 1;
    cursor->waiting = ts__mem_get(
        &reader->allocator, cursor->waiting_room * sizeof *cursor->waiting);
    if (!cursor->waiting) return false;
    for (size_t i = 0; i < reader->chunk_count; i++) {
        const ts__in_chunk *const chunk = &reader->chunks[i];
        if (!ts__in_chunk_matches(reader, &cursor->filter, chunk)) continue;
        const ts__waiting one = {
            ts__in_chunk_describe(cursor->clocks, chunk).first_ns, i
        };
        cursor->waiting[cursor->waiting_count++] = one;
    }
    ts__sort(cursor->waiting, cursor->waiting_count, sizeof *cursor->waiting,
             ts__order_waiting);
    return true;
}

TS_API ts_result ts_cursor_open(ts_cursor **out, ts_reader *reader,
                                const ts_filter *filter)
{
    *out = NULL;
    if (ts_reader_index(reader) != TS_OK) return TS_ERR_MEMORY;
    ts_cursor *const cursor = ts__mem_get(&reader->allocator, sizeof *cursor);
    if (!cursor) return TS_ERR_MEMORY;
    memset(cursor, 0, sizeof *cursor);
    cursor->reader = reader;
    cursor->clocks = reader->clocks;
    __atomic_add_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    if (ts__cursor_filter(cursor, filter) && ts__cursor_wait(cursor)) {
        *out = cursor;
        return TS_OK;
    }
    ts_cursor_close(cursor);
    return TS_ERR_MEMORY;
}

static void ts__run_free(ts_cursor *cursor, ts__run *run)
{
    const ts_allocator *const allocator = &cursor->reader->allocator;
    if (!run) return;
    ts_columns_close(cursor->reader, &run->columns);
    ts__mem_put(allocator, run->rows, run->room * sizeof *run->rows);
    ts__mem_put(allocator, run, sizeof *run);
}

TS_API void ts_cursor_close(ts_cursor *cursor)
{
    if (!cursor) return;
    const ts_allocator *const allocator = &cursor->reader->allocator;
    __atomic_sub_fetch(&cursor->clocks->cursors, 1, __ATOMIC_RELAXED);
    for (size_t i = 0; i < cursor->head_count; i++)
        ts__run_free(cursor, cursor->heads[i].run);
    ts__run_free(cursor, cursor->spent);
    while (cursor->runs) {
        ts__run *const run = cursor->runs;
        cursor->runs = run->next_free;
        ts__run_free(cursor, run);
    }
    ts__mem_put(allocator, cursor->heads,
                cursor->head_room * sizeof *cursor->heads);
    ts__mem_put(allocator, cursor->waiting,
                cursor->waiting_room * sizeof *cursor->waiting);
    if (cursor->tracks)
        ts__mem_put(allocator, cursor->tracks,
                    (cursor->filter.track_count + 1) * sizeof *cursor->tracks);
    ts__mem_put(allocator, cursor, sizeof *cursor);
}

TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event)
{
    ts_text text = { "", 0 };
    ts_track track;
    const ts_launch_entry *launch;
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    switch (event->kind) {
    case TS_EVENT_KERNEL:
        launch = ts_reader_launch(
            reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
        if (launch) text = ts_reader_name(reader, launch->name);
        break;
    case TS_EVENT_ZONE_ARG:
    case TS_EVENT_API_CALL:
    case TS_EVENT_SAMPLE:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE:
        text = ts_reader_name(reader,
                              (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
        break;
    case TS_EVENT_COUNTER:
        if (ts_reader_track(reader, event->track, &track)) text = track.name;
        break;
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN:
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: text = ts_reader_site_name(reader, site); break;
    default: break;
    }
    if (text.size) return text;
    text.text = ts_event_name(event->kind);
    text.size = strlen(text.text);
    return text;
}
