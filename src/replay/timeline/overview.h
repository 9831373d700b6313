/* ---- Timeline: windows -------------------------------------------------- */

// The figures of one device in one window.
typedef struct ts__overview_part {
    ts_timeline_figures figures;
    int64_t own_ns;     // see ts__tl_device
    ts__rvec latencies; // uint32_t, at most UINT32_MAX
} ts__overview_part;

typedef struct ts__overview_gap {
    ts_gap gap;
    uint32_t device;
} ts__overview_gap;

struct ts_overview {
    ts_reader *reader;
    ts_allocator allocator;
    ts_overview_desc desc;
    uint32_t threads, steps; // steps: borders from one window to the next
    size_t window_count, device_count;
    ts__rvec devices;     // uint32_t: tracks, in order of number
    ts__rmap device_of;   // track to device index; 0 is the unknown device
    ts__rvec borders;     // int64_t, of all parts of all windows
    ts__rvec windows;     // ts_overview_window
    ts__rvec failures;    // ts_result of each window
    ts__rvec reach;       // int64_t of each window and device
    ts__rvec counts;      // uint64_t of each window: its operations
    ts__rvec parts;       // ts__overview_part of each window and device
    ts__rvec gaps;        // ts__overview_gap
    ts__rvec window_gaps; // ts__rvec of each window
    ts__rvec figures;     // ts_timeline_figures of each device
    ts_timeline_figures total;
};

static int64_t ts__overview_border(const ts_overview *s, int64_t index)
{
    const int64_t count = (int64_t)s->borders.count;
    if (index <= 0) return -TS__REPLAY_TIME_MAX - 1;
    if (index >= count - 1) return TS__REPLAY_TIME_MAX + 1;
    return ts__tl_i64(&s->borders)[index];
}

static ts__overview_part *ts__overview_part_at(const ts_overview *s,
                                               size_t window, size_t device)
{
    return (ts__overview_part *)s->parts.data + window * s->device_count +
           device;
}

/* ---- Devices ---- */

static int ts__overview_compare_device(const void *left, const void *right)
{
    const ts_track *const a = (const ts_track *)left;
    const ts_track *const b = (const ts_track *)right;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static bool ts__overview_tracks(ts_overview *s)
{
    const size_t count = ts_reader_info(s->reader)->track_count;
    ts__rvec list = { 0 };
    if (!ts__rvec_reserve(&s->allocator, &list, sizeof(ts_track), count + 1))
        return false;
    ts_track *const devices = (ts_track *)list.data;
    ts_track track;
    for (size_t i = 0; i < count; i++)
        if (ts_reader_track_at(s->reader, i, &track) &&
            track.type == TS_TRACK_DEVICE)
            devices[list.count++] = track;
    qsort(devices, list.count, sizeof *devices, ts__overview_compare_device);
    s->device_count = list.count + 1; // and one for operations without a device
    bool ok = ts__rvec_fill(&s->allocator, &s->devices, sizeof(uint32_t),
                            s->device_count, 0);
    for (size_t i = 0; ok && i < list.count; i++) {
        ((uint32_t *)s->devices.data)[i + 1] = devices[i].id;
        ok = ts__rmap_put(&s->allocator, &s->device_of, devices[i].id,
                          (uint32_t)i + 1);
    }
    ts__rvec_close(&s->allocator, &list);
    for (size_t i = 0; ok && i < count; i++) {
        if (!ts_reader_track_at(s->reader, i, &track) ||
            track.type == TS_TRACK_DEVICE)
            continue;
        const uint32_t id = track.id;
        for (int depth = 0; depth < 8 && track.type != TS_TRACK_DEVICE;)
            if (!ts_reader_track(s->reader, track.parent, &track))
                depth = 8;
            else
                depth++;
        if (track.type == TS_TRACK_DEVICE)
            ok = ts__rmap_put(&s->allocator, &s->device_of, id,
                              ts__rmap_get(&s->device_of, track.id));
    }
    return ok;
}

static uint32_t ts__overview_device_of(const ts_overview *s, uint32_t track)
{
    const uint32_t device = ts__rmap_get(&s->device_of, track);
    return device == TS_NODE_NONE ? 0 : device;
}

/* ---- Borders ---- */

// The begin or end of a chunk, and the density of its rows: rows per
// nanosecond, times 2^32.
typedef struct ts__overview_edge {
    int64_t time;
    uint64_t density;
    bool ends;
} ts__overview_edge;

static int ts__overview_compare_edge(const void *left, const void *right)
{
    const ts__overview_edge *const a = (const ts__overview_edge *)left;
    const ts__overview_edge *const b = (const ts__overview_edge *)right;
    return (a->time > b->time) - (a->time < b->time);
}

static bool ts__overview_edges(ts_overview *s, ts__rvec *edges, uint64_t *rows)
{
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(s->reader, i, &info); i++) {
        if (!ts__chunk_is_gpu(&info) || !info.header.count ||
            !ts__replay_time_ok(info.first_ns) ||
            !ts__replay_time_ok(info.last_ns))
            continue;
        *rows += info.header.count;
        int64_t long_ns = info.last_ns - info.first_ns;
        if (long_ns < 1) long_ns = 1;
        const uint64_t density =
            ((uint64_t)info.header.count << 32) / (uint64_t)long_ns;
        for (int ends = 0; ends < 2; ends++) {
            ts__overview_edge *const edge = (ts__overview_edge *)ts__rvec_push(
                &s->allocator, edges, sizeof *edge);
            if (!edge) return false;
            edge->time = info.first_ns + (ends ? long_ns : 0);
            edge->density = density;
            edge->ends = ends;
        }
    }
    if (edges->count)
        qsort(edges->data, edges->count, sizeof(ts__overview_edge),
              ts__overview_compare_edge);
    return true;
}

// Walks along the time axis and sums up the rows. If `every` is not 0, adds a
// border each time that many rows have passed. Returns the total number of
// rows.
static uint64_t ts__overview_walk(ts_overview *s, const ts__rvec *edges,
                                  uint64_t every)
{
    const ts__overview_edge *const list =
        (const ts__overview_edge *)edges->data;
    uint64_t density = 0, passed = 0, noted = 1;
    for (size_t i = 0; i + 1 < edges->count; i++) {
        density +=
            list[i].ends ? (uint64_t)0 - list[i].density : list[i].density;
        const uint64_t time = (uint64_t)(list[i + 1].time - list[i].time);
        const uint64_t end = passed + density * time;
        while (every && density && every * noted <= end) {
            const uint64_t at = (every * noted++ - passed) / density;
            const int64_t border = list[i].time + (int64_t)at;
            int64_t *const to = (int64_t *)s->borders.data;
            if (s->borders.count < s->borders.capacity - 1 &&
                border > to[s->borders.count - 1])
                to[s->borders.count++] = border;
        }
        passed = end;
    }
    return passed;
}

// Cuts the trace into parts of roughly margin_operations each.
static ts_result ts__overview_cut(ts_overview *s)
{
    ts__rvec edges = { 0 };
    uint64_t rows = 0;
    ts_result result = TS_ERR_MEMORY;
    if (ts__overview_edges(s, &edges, &rows)) {
        const uint64_t parts = rows / s->desc.margin_operations + 1;
        result = !rows ? TS_ERR_NOT_FOUND : TS_OK;
        if (!ts__rvec_reserve(&s->allocator, &s->borders, sizeof(int64_t),
                              (size_t)parts + 3))
            result = TS_ERR_MEMORY;
        if (result == TS_OK) {
            ((int64_t *)s->borders.data)[0] = ts__overview_border(s, 0);
            s->borders.count = 1;
            const uint64_t all = ts__overview_walk(s, &edges, 0);
            ts__overview_walk(s, &edges, all / parts + 1);
            ((int64_t *)s->borders.data)[s->borders.count++] =
                TS__REPLAY_TIME_MAX + 1;
            s->window_count = (s->borders.count - 2) / s->steps + 1;
        }
    }
    ts__rvec_close(&s->allocator, &edges);
    return result;
}

/* ---- Work that extends into later windows ---- */

typedef struct ts__overview_scan {
    const ts_overview *overview;
    int64_t *reach;   // of each thread, window and device
    uint64_t *counts; // of each thread and window
} ts__overview_scan;

static size_t ts__overview_window_of(const ts_overview *s, int64_t time,
                                     size_t guess)
{
    size_t low = 0, high = s->window_count;
    const int64_t steps = s->steps;
    if (time >= ts__overview_border(s, (int64_t)guess * steps) &&
        time < ts__overview_border(s, ((int64_t)guess + 1) * steps))
        return guess;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (ts__overview_border(s, (int64_t)middle * steps) <= time)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void ts__overview_take(const ts_columns *c, uint32_t thread, void *user)
{
    const ts__overview_scan *const scan = (const ts__overview_scan *)user;
    const ts_overview *const s = scan->overview;
    uint64_t *const counts = scan->counts + thread * s->window_count;
    int64_t *const reach =
        scan->reach + (size_t)thread * s->window_count * s->device_count;
    size_t window = 0;
    uint32_t track = c->track, device = ts__overview_device_of(s, track);
    for (uint32_t i = 0; i < c->count; i++) {
        const int64_t start = c->start_ns[i], duration = c->duration_ns[i];
        if (!ts__replay_time_ok(start) || !ts__replay_time_ok(duration) ||
            duration < 0)
            continue;
        window = ts__overview_window_of(s, start, window);
        counts[window]++;
        if (!duration || !ts__kind_works((uint8_t)c->kind)) continue;
        if (c->tracks && c->tracks[i] != track) {
            track = c->tracks[i];
            device = ts__overview_device_of(s, track);
        }
        int64_t *const to = &reach[window * s->device_count + device];
        if (start + duration > *to) *to = start + duration;
    }
}

// Counts the operations that begin in each window, and finds for each device
// when the last work that began there ended.
static ts_result ts__overview_reach(ts_overview *s)
{
    const size_t cells = s->window_count * s->device_count;
    ts__rvec reach = { 0 }, counts = { 0 };
    ts_result result = TS_ERR_MEMORY;
    if (ts__rvec_reserve(&s->allocator, &reach, sizeof(int64_t),
                         cells * s->threads) &&
        ts__rvec_fill(&s->allocator, &counts, sizeof(uint64_t),
                      s->window_count * s->threads, 0)) {
        int64_t *const of = (int64_t *)reach.data;
        uint64_t *const count = (uint64_t *)counts.data;
        for (size_t i = 0; i < cells * s->threads; i++)
            of[i] = TS__NO_TIME;
        ts__overview_scan scan = { s, of, count };
        const ts_filter filter = { .kinds = ts__kinds_gpu() };
        result = ts_reader_scan(s->reader, &filter, s->threads,
                                ts__overview_take, &scan);
        if (result != TS_ERR_MEMORY) result = TS_OK;
        for (size_t t = 1; t < s->threads; t++) {
            for (size_t i = 0; i < cells; i++)
                if (of[t * cells + i] > of[i]) of[i] = of[t * cells + i];
            for (size_t i = 0; i < s->window_count; i++)
                count[i] += count[t * s->window_count + i];
        }
    }
    s->reach = reach;
    s->counts = counts;
    return result;
}

// Turns the reach of the work that began in each window into the reach of all
// work that began before it. The last row covers the whole trace.
static bool ts__overview_before(ts_overview *s)
{
    const size_t devices = s->device_count;
    ts__rvec before = { 0 };
    if (!ts__rvec_reserve(&s->allocator, &before, sizeof(int64_t),
                          (s->window_count + 1) * devices))
        return false;
    int64_t *const to = (int64_t *)before.data;
    const int64_t *const from = ts__tl_i64(&s->reach);
    for (size_t d = 0; d < devices; d++)
        to[d] = TS__NO_TIME;
    for (size_t i = 0; i < s->window_count * devices; i++)
        to[i + devices] = from[i] > to[i] ? from[i] : to[i];
    ts__rvec_close(&s->allocator, &s->reach);
    s->reach = before;
    return true;
}
