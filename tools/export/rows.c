/*
    rows.c - the rows of an export, and the lanes that each needs
*/
#include "tools/export/rows.h"
#include <stdio.h>

#define SCAN_MAX    64   // lanes of a row that are searched for nesting
#define PARENT_MAX  16   // most levels of parents that are followed
#define FAST_TRACKS 4096 // track numbers that are looked up in an array

/* ---- Lanes -------------------------------------------------------------- */

static export_lane *lane_new(export_rows *rows, export_row *row)
{
    export_lane *const lane = export_resize(NULL, sizeof *lane);
    *lane = row->plan;
    lane->id = (uint32_t)++rows->counts->lanes;
    lane->row = row;
    lane->first = row->count ? row->lanes[0] : NULL;
    row->lanes =
        export_grow(row->lanes, &row->capacity, row->count, sizeof *row->lanes);
    row->lanes[row->count++] = lane;
    rows->format->lane(rows->self, lane);
    return lane;
}

static void lane_begin(export_rows *rows, export_lane *lane,
                       const export_item *item)
{
    const export_arrows *const arrows = &item->arrows;
    rows->format->slice(rows->self, lane, item);
    lane->open = export_grow(lane->open, &lane->capacity, lane->depth,
                             sizeof *lane->open);
    lane->open[lane->depth++] = (export_open){
        .start_ns = item->start_ns,
        .end_ns = item->end_ns,
        .late_arrow = arrows->is_late
                          ? export_launch_number(arrows->target, arrows->arrow)
                          : 0,
    };
}

// Ends the slices that end by time_ns. A slice without a duration ends only
// after its time, because items inside it may follow.
static void lane_end_until(export_rows *rows, export_lane *lane,
                           int64_t time_ns)
{
    while (lane->depth) {
        const export_open *const top = &lane->open[lane->depth - 1];
        if (top->end_ns > time_ns ||
            (top->end_ns == time_ns && top->start_ns == time_ns))
            return;
        rows->format->end(rows->self, lane, top);
        lane->depth--;
    }
}

static bool lane_fits(const export_lane *lane, int64_t end_ns)
{
    return lane->depth == 0 || (lane->open[lane->depth - 1].end_ns >= end_ns &&
                                lane->depth < EXPORT_DEPTH_MAX);
}

/*
    Lanes beyond SCAN_MAX have one slice at a time and are kept in a heap by the
    end of that slice, so that n overlapping slices cost O(log n) each.
*/
static int64_t heap_end(const export_row *row, size_t at)
{
    const export_lane *const lane = row->lanes[row->heap[at]];
    return lane->depth ? lane->open[0].end_ns : INT64_MIN;
}

static void heap_swap(export_row *row, size_t a, size_t b)
{
    const size_t lane = row->heap[a];
    row->heap[a] = row->heap[b];
    row->heap[b] = lane;
}

static void heap_down(export_row *row, size_t count)
{
    for (size_t at = 0;;) {
        size_t least = at;
        for (size_t child = at * 2 + 1; child <= at * 2 + 2; child++)
            if (child < count && heap_end(row, child) < heap_end(row, least))
                least = child;
        if (least == at) return;
        heap_swap(row, at, least);
        at = least;
    }
}

static void heap_up(export_row *row, size_t at)
{
    for (; at && heap_end(row, at) < heap_end(row, (at - 1) / 2);
         at = (at - 1) / 2)
        heap_swap(row, at, (at - 1) / 2);
}

static void slice_beyond(export_rows *rows, export_row *row,
                         const export_item *item)
{
    const size_t count = row->count - SCAN_MAX;
    export_lane *lane = count ? row->lanes[row->heap[0]] : NULL;
    if (lane) lane_end_until(rows, lane, item->start_ns);
    const bool is_new = !lane || lane->depth;
    if (is_new) {
        row->heap = export_grow(row->heap, &row->heap_capacity, count,
                                sizeof *row->heap);
        row->heap[count] = row->count;
        lane = lane_new(rows, row);
    }
    lane_begin(rows, lane, item);
    if (is_new)
        heap_up(row, count);
    else
        heap_down(row, count);
}

void export_rows_slice(export_rows *rows, export_row *row,
                       const export_item *item)
{
    rows->counts->slices++;
    export_lane *lane = NULL;
    for (size_t i = 0; i < row->count && i < SCAN_MAX && !lane; i++) {
        lane_end_until(rows, row->lanes[i], item->start_ns);
        if (lane_fits(row->lanes[i], item->end_ns)) lane = row->lanes[i];
    }
    if (!lane && row->count >= SCAN_MAX) {
        slice_beyond(rows, row, item);
        return;
    }
    if (!lane) lane = lane_new(rows, row);
    lane_begin(rows, lane, item);
}

void export_rows_instant(export_rows *rows, export_row *row,
                         const export_item *item)
{
    if (item->is_sample)
        rows->counts->stack_samples++;
    else
        rows->counts->instants++;
    lane_end_until(rows, row->lanes[0], item->start_ns);
    rows->format->instant(rows->self, row->lanes[0], item);
}

void export_rows_begin(export_rows *rows, export_lane *lane,
                       const export_item *item)
{
    rows->counts->slices++;
    lane_begin(rows, lane, item);
}

void export_rows_end(export_rows *rows, export_lane *lane, int64_t end_ns)
{
    export_open *const slice = &lane->open[--lane->depth];
    slice->end_ns = end_ns;
    rows->format->end(rows->self, lane, slice);
}

void export_rows_sample(export_rows *rows, export_lane *lane, int64_t time_ns,
                        ts_value_type type, uint64_t bits)
{
    rows->counts->samples++;
    rows->format->sample(rows->self, lane, time_ns, type, bits);
}

/* ---- Rows --------------------------------------------------------------- */

static export_row *row_new(export_rows *rows, const export_lane *plan)
{
    export_row *const row = export_zeroed(1, sizeof *row);
    row->plan = *plan;
    row->last_ns = INT64_MIN;
    if (rows->last)
        rows->last->next = row;
    else
        rows->first = row;
    rows->last = row;
    lane_new(rows, row);
    return row;
}

static export_row *row_under(export_rows *rows, export_lane_kind kind,
                             const export_lane *parent, ts_text name)
{
    const export_lane plan = {
        .kind = kind, .parent = parent, .name = name, .process = parent->process
    };
    return row_new(rows, &plan);
}

static ts_text text_of(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

void export_put_track_name(export_buffer *buffer, const ts_track *track)
{
    static const char *const types[] = { "track",  "process", "thread",
                                         "device", "context", "stream",
                                         "counter" };
    const uint32_t type = (uint32_t)track->type < 7 ? (uint32_t)track->type : 0;
    const unsigned long long number = type ? track->number : track->id;
    char text[64];
    int size = 0;
    export_put(buffer, track->name.text, track->name.size);
    if (!track->name.size)
        size = snprintf(text, sizeof text, "%s %llu", types[type], number);
    else if (type == TS_TRACK_DEVICE)
        size = snprintf(text, sizeof text, " (%llu)", number);
    export_put(buffer, text, (size_t)size);
}

// Stores a name that the exporter made until the rows are closed.
static ts_text keep_name(export_rows *rows, export_buffer *name)
{
    rows->names = export_grow(rows->names, &rows->name_capacity,
                              rows->name_count, sizeof *rows->names);
    rows->names[rows->name_count++] = (char *)name->data;
    return (ts_text){ (char *)name->data, name->size };
}

static export_row *row_found(const export_map *map, uint64_t key)
{
    const uint64_t *const at = export_map_find(map, key);
    return at ? (export_row *)(uintptr_t)*at : NULL;
}

static export_row *row_keep(export_map *map, uint64_t key, export_row *row)
{
    *export_map_at(map, key) = (uintptr_t)row;
    return row;
}

/* ---- Rows of tracks ----------------------------------------------------- */

static export_row *track_row(export_rows *rows, uint32_t id, int levels);

// Returns the parent lane of a track; the process if there is no other.
static const export_lane *parent_lane(export_rows *rows, const ts_track *track,
                                      int levels)
{
    if (!track->parent || track->parent == track->id || levels >= PARENT_MAX)
        return rows->process->lanes[0];
    const export_lane *const parent =
        track_row(rows, track->parent, levels + 1)->lanes[0];
    const bool can_have =
        parent->kind != EXPORT_COUNTER &&
        (parent->kind != EXPORT_THREAD || track->type == TS_TRACK_COUNTER);
    return can_have ? parent : rows->process->lanes[0];
}

// Returns the parent lane of a stream; a device's only context is skipped.
static const export_lane *stream_parent(export_rows *rows,
                                        const ts_track *track, int levels)
{
    ts_track context;
    if (!ts_reader_track(rows->reader, track->parent, &context) ||
        context.type != TS_TRACK_CONTEXT)
        return parent_lane(rows, track, levels);
    const uint64_t *const count =
        export_map_find(&rows->contexts, context.parent);
    if (!count || *count != 1) return parent_lane(rows, track, levels);
    return parent_lane(rows, &context, levels + 1);
}

static ts_text track_name(export_rows *rows, const ts_track *track)
{
    if (track->name.size && track->type != TS_TRACK_DEVICE) return track->name;
    export_buffer name = { 0 };
    export_put_track_name(&name, track);
    return keep_name(rows, &name);
}

static export_row *track_row_new(export_rows *rows, const ts_track *track,
                                 int levels)
{
    export_lane plan = { .kind = EXPORT_ROW,
                         .name = track_name(rows, track),
                         .number = track->number };
    switch ((int)track->type) {
    case TS_TRACK_PROCESS:
        plan.kind = EXPORT_PROCESS;
        plan.process = track->number;
        return row_new(rows, &plan);
    case TS_TRACK_THREAD: plan.kind = EXPORT_THREAD; break;
    case TS_TRACK_DEVICE: plan.kind = EXPORT_DEVICE; break;
    case TS_TRACK_COUNTER:
        plan.kind = EXPORT_COUNTER;
        plan.unit = track->unit;
        plan.rate = (track->flags & TS_COUNTER_RATE) != 0;
        break;
    default: break;
    }
    plan.parent = track->type == TS_TRACK_STREAM
                      ? stream_parent(rows, track, levels)
                      : parent_lane(rows, track, levels);
    plan.process = plan.parent->process;
    return row_new(rows, &plan);
}

static export_row *track_row(export_rows *rows, uint32_t id, int levels)
{
    export_row *const found = row_found(&rows->tracks, id);
    if (found) return found;
    ts_track track;
    if (!ts_reader_track(rows->reader, id, &track))
        track = (ts_track){ .id = id };
    // A cycle of parents ends here, because `levels` runs out.
    export_row *const row = track_row_new(rows, &track, levels);
    export_row *const inner = row_found(&rows->tracks, id);
    return inner ? inner : row_keep(&rows->tracks, id, row);
}

export_row *export_rows_track(export_rows *rows, uint32_t track)
{
    if (track >= FAST_TRACKS) return track_row(rows, track, 0);
    export_fast *const fast = &rows->fast[track];
    if (!fast->row) {
        fast->row = track_row(rows, track, 0);
        fast->lane = fast->row->lanes[0];
    }
    return fast->row;
}

void export_rows_prefetch(const export_rows *rows, uint32_t track,
                          uint32_t stage)
{
    if (track >= FAST_TRACKS || !rows->fast[track].row) return;
    const export_fast *const fast = &rows->fast[track];
    if (!stage) {
        __builtin_prefetch(fast->row);
        __builtin_prefetch(fast->lane);
    } else if (stage == 1) {
        __builtin_prefetch(fast->row->lanes);
        __builtin_prefetch(fast->lane->open);
    }
    if (stage && rows->format->prefetch)
        rows->format->prefetch(fast->lane, stage);
}

/* ---- Other rows --------------------------------------------------------- */

// Uses a name's address as key: equal names of a dictionary have one address.
static uint64_t name_key(ts_text name)
{
    return (uintptr_t)name.text;
}

static export_row *group(export_rows *rows, export_row **kept, const char *name)
{
    if (!*kept)
        *kept = row_under(rows, EXPORT_GROUP, rows->process->lanes[0],
                          text_of(name));
    return *kept;
}

export_row *export_rows_frames(export_rows *rows, uint32_t thread, ts_text name)
{
    const uint64_t key = name_key(name) ^ (uint64_t)thread << 40;
    export_row *const found = row_found(&rows->frames, key);
    if (found) return found;
    const export_row *const parent = group(rows, &rows->frame_group, "Frames");
    return row_keep(&rows->frames, key,
                    row_under(rows, EXPORT_ROW, parent->lanes[0],
                              name.size ? name : text_of("frame")));
}

// Returns the lane of a track's device, else of the process.
static const export_lane *device_of(export_rows *rows, uint32_t track)
{
    const export_lane *lane = export_rows_track(rows, track)->lanes[0];
    while (lane->parent && lane->kind != EXPORT_DEVICE)
        lane = lane->parent;
    return lane;
}

export_row *export_rows_pool(export_rows *rows, uint32_t track, uint32_t pool)
{
    const export_lane *const device = track ? device_of(rows, track) : NULL;
    const uint64_t key = (uint64_t)(device ? device->id : 0) << 32 | pool;
    export_row *const found = row_found(&rows->pools, key);
    if (found) return found;
    const export_lane *const parent =
        device ? device : group(rows, &rows->memory_group, "Memory")->lanes[0];
    ts_text name = ts_reader_name(rows->reader, pool);
    if (!name.size) name = text_of(pool ? "unnamed pool" : "heap");
    // A GPU's allocations are slices on its streams; this row has only the
    // total.
    export_row *const row =
        row_under(rows, device ? EXPORT_GROUP : EXPORT_ROW, parent, name);
    const export_lane plan = { .kind = EXPORT_COUNTER,
                               .parent = row->lanes[0],
                               .name = text_of("live bytes"),
                               .unit = text_of("bytes"),
                               .process = parent->process };
    row->counter = row_new(rows, &plan)->lanes[0];
    return row_keep(&rows->pools, key, row);
}

export_row *export_rows_losses(export_rows *rows, uint32_t track)
{
    export_row *const found = row_found(&rows->losses, track);
    if (found) return found;
    const export_row *const owner =
        track ? export_rows_track(rows, track) : rows->process;
    return row_keep(
        &rows->losses, track,
        row_under(rows, EXPORT_ROW, owner->lanes[0], text_of("lost")));
}

export_row *export_rows_damage(export_rows *rows)
{
    if (!rows->damage)
        rows->damage = row_under(rows, EXPORT_ROW, rows->process->lanes[0],
                                 text_of("damage"));
    return rows->damage;
}

/* ---- Spans -------------------------------------------------------------- */

export_lane *export_rows_span(export_rows *rows, ts_text name)
{
    export_row *row = row_found(&rows->span_rows, name_key(name));
    if (!row) {
        const export_row *const parent =
            group(rows, &rows->span_group, "Spans");
        row = row_keep(&rows->span_rows, name_key(name),
                       row_under(rows, EXPORT_ASYNC, parent->lanes[0],
                                 name.size ? name : text_of("span")));
        return row->lanes[0];
    }
    export_lane *const lane = row->free_lane;
    if (!lane) return lane_new(rows, row);
    row->free_lane = lane->next_free;
    return lane;
}

void export_rows_span_free(export_lane *lane)
{
    export_row *const row = lane->row;
    lane->next_free = row->free_lane;
    row->free_lane = lane;
}

/* ---- Open and close ----------------------------------------------------- */

// Creates rows for all tracks, even those without events, in order of their
// numbers.
static void open_tracks(export_rows *rows)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(rows->reader, i, &track); i++)
        if (track.type == TS_TRACK_CONTEXT)
            ++*export_map_at(&rows->contexts, track.parent);
    for (size_t i = 0; ts_reader_track_at(rows->reader, i, &track); i++)
        if (track.type != TS_TRACK_CONTEXT) export_rows_track(rows, track.id);
}

static void open_process(export_rows *rows)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(rows->reader, i, &track); i++) {
        if (track.type != TS_TRACK_PROCESS) continue;
        rows->process = track_row_new(rows, &track, 0);
        row_keep(&rows->tracks, track.id, rows->process);
        return;
    }
    const uint32_t number = ts_reader_info(rows->reader)->process;
    track = (ts_track){ .type = TS_TRACK_PROCESS, .number = number };
    rows->process = track_row_new(rows, &track, 0);
}

void export_rows_open(export_rows *rows, const export_format *format,
                      const export_target *target, export_counts *counts)
{
    *rows = (export_rows){ .reader = target->reader,
                           .format = format,
                           .counts = counts };
    rows->fast = export_zeroed(FAST_TRACKS, sizeof *rows->fast);
    rows->self = format->open(target);
    open_process(rows);
    open_tracks(rows);
}

void export_rows_finish(export_rows *rows, int64_t end_ns)
{
    for (export_row *row = rows->first; row; row = row->next) {
        for (size_t i = 0; i < row->count; i++) {
            export_lane *const lane = row->lanes[i];
            for (; lane->depth; lane->depth--) {
                export_open *const top = &lane->open[lane->depth - 1];
                top->is_unfinished = top->end_ns == EXPORT_OPEN_END;
                if (top->is_unfinished)
                    top->end_ns =
                        end_ns > top->start_ns ? end_ns : top->start_ns;
                rows->format->end(rows->self, lane, top);
            }
            rows->format->free_lane(rows->self, lane);
        }
    }
    rows->format->close(rows->self);
}

void export_rows_close(export_rows *rows)
{
    for (export_row *row = rows->first, *next; row; row = next) {
        next = row->next;
        for (size_t i = 0; i < row->count; i++) {
            export_resize(row->lanes[i]->open, 0);
            export_resize(row->lanes[i], 0);
        }
        export_resize(row->lanes, 0);
        export_resize(row->heap, 0);
        export_resize(row, 0);
    }
    for (size_t i = 0; i < rows->name_count; i++)
        export_resize(rows->names[i], 0);
    export_resize(rows->names, 0);
    export_resize(rows->fast, 0);
    export_map *const maps[] = { &rows->tracks, &rows->contexts,
                                 &rows->frames, &rows->pools,
                                 &rows->losses, &rows->span_rows };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        export_map_free(maps[i]);
}
