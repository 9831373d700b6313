/*
    load.c - from decoded chunks to rows

    Events are gathered by track and type of row, sorted, and laid into lanes
    so that boxes of a lane do not overlap: nested zones get a lane for each
    depth, and so do operations of a stream that overlap.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/search.h"

typedef scene_bucket bucket;
typedef scene_gathering loading;

scene_row_type scene_row_of_kind(ts_event_kind kind)
{
    switch (kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: return SCENE_ZONES;
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: return SCENE_FRAMES;
    case TS_EVENT_API_CALL: return SCENE_CALLS;
    case TS_EVENT_MARK:
    case TS_EVENT_MESSAGE:
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE:
    case TS_EVENT_GPU_ALLOC:
    case TS_EVENT_GPU_FREE: return SCENE_MARKS;
    case TS_EVENT_COUNTER: return SCENE_COUNTER;
    default:
        return kind >= TS_EVENT_GPU_FIRST && kind < TS_EVENT_LIMIT
                   ? SCENE_WORK
                   : (scene_row_type)0;
    }
}

static bucket *bucket_of(loading *l, scene_row_type type, bool spans,
                         uint32_t track)
{
    const uint64_t key = (uint64_t)type << 40 | (uint64_t)spans << 36 | track;
    const uint32_t known = cli_map_row(&l->index, key);
    if (known != CLI_NONE) return &l->buckets[known];
    if (!cli_grow(&l->buckets, &l->room, l->count + 1, sizeof *l->buckets) ||
        !cli_map_set(&l->index, key, l->count)) {
        l->failed = true;
        return NULL;
    }
    bucket *const b = &l->buckets[l->count++];
    *b = (bucket){ .type = type, .track = track, .spans = spans };
    return b;
}

/* ---- Gathering ----------------------------------------------------------- */

static bool is_wait(ts_event_kind kind)
{
    return kind == TS_EVENT_EVENT_WAIT || kind == TS_EVENT_STREAM_SYNC ||
           kind == TS_EVENT_DEVICE_SYNC || kind == TS_EVENT_EVENT_SYNC;
}

static uint64_t value_of(const ts_columns *c, ts_column column, uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

bool scene_sample(const ts_columns *c, uint32_t row, double *value)
{
    const uint64_t bits = value_of(c, TS_COLUMN_VALUE, row);
    const uint64_t type = value_of(c, TS_COLUMN_TYPE, row);
    if (type == TS_VALUE_DOUBLE)
        memcpy(value, &bits, sizeof bits);
    else
        *value = (double)(int64_t)bits;
    return type != TS_VALUE_TEXT && isfinite(*value);
}

bool scene_ends_span(const ts_columns *c, uint32_t row)
{
    return c->kind == TS_EVENT_SPAN &&
           value_of(c, TS_COLUMN_PHASE, row) != TS_PHASE_START;
}

static int64_t end_of(const ts_columns *c, uint32_t row)
{
    const int64_t duration = c->duration_ns[row];
    const int64_t start = scene_near(c->start_ns[row]);
    return duration <= 0 ? start : scene_near(start + scene_near(duration));
}

static bool fill(const loading *l, const ts_columns *c, uint32_t row,
                 scene_item *item)
{
    *item = (scene_item){ .start_ns = scene_near(c->start_ns[row]),
                          .end_ns = end_of(c, row),
                          .ref = (uint64_t)c->chunk << 32 | row };
    if (c->kind == TS_EVENT_COUNTER) return scene_sample(c, row, &item->value);
    if (is_wait(c->kind)) item->flags = SCENE_WAITS;
    if (c->kind == TS_EVENT_SPAN) {
        item->end_ns = (int64_t)value_of(c, TS_COLUMN_ID, row);
        item->flags = (uint32_t)value_of(c, TS_COLUMN_PHASE, row);
    }
    if (c->kind == TS_EVENT_ZONE_OPEN) {
        const int64_t last = scene_near(ts_reader_info(l->s->reader)->last_ns);
        item->flags = SCENE_OPEN;
        if (item->end_ns < last) item->end_ns = last;
    }
    if (l->into_flags) item->flags = (uint32_t)value_of(c, l->into_flags, row);
    item->label = scene_label_row(l->s, c, row);
    return item->label != CLI_NONE;
}

static void put(loading *l, bucket *b, const scene_item *item)
{
    if (!b || !cli_grow(&b->items, &b->room, b->count + 1, sizeof *b->items))
        l->failed = true;
    else
        b->items[b->count++] = *item;
}

void scene_gather_columns(scene_gathering *l, const ts_columns *c)
{
    const scene_row_type type = scene_row_of_kind(c->kind);
    bucket *b = NULL;
    scene_item item;
    for (uint32_t i = 0; i < c->count && !l->failed; i++) {
        // A span may end on another track than it began on.
        const bool spans = c->kind == TS_EVENT_SPAN;
        const uint32_t track = spans ? 0 : c->tracks ? c->tracks[i] : c->track;
        if (!b || b->track != track) b = bucket_of(l, type, spans, track);
        if (b && fill(l, c, i, &item)) put(l, b, &item);
    }
}

void scene_gather(scene_gathering *l, scene_row_type type, uint32_t track,
                  const scene_item *item)
{
    put(l, bucket_of(l, type, false, track), item);
}

/* ---- Sorting ------------------------------------------------------------- */

// Outer boxes come first; of equal zones the one that was recorded later.
static bool before(const bucket *b, const scene_item *x, const scene_item *y)
{
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    if (b->type == SCENE_COUNTER || b->spans) return x->ref < y->ref;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns;
    return b->type == SCENE_ZONES ? x->ref > y->ref : x->ref < y->ref;
}

// The first of items [from, to) that comes after an item (`also`: or with it).
static size_t place(const bucket *b, size_t from, size_t to,
                    const scene_item *item, bool also)
{
    while (from < to) {
        const size_t middle = cli_middle(from, to);
        const scene_item *const m = &b->items[middle];
        cli_halve(&from, &to, also ? before(b, m, item) : !before(b, item, m));
    }
    return from;
}

// Joins two sorted runs. Only what overlaps is moved: rows lie nearly in order.
static void merge(bucket *b, scene_item *spare, size_t left, size_t middle,
                  size_t end)
{
    scene_item *const items = b->items;
    if (middle >= end || !before(b, &items[middle], &items[middle - 1])) return;
    left = place(b, left, middle, &items[middle], false);
    end = place(b, middle, end, &items[middle - 1], true);
    const size_t count = middle - left;
    memcpy(spare, items + left, count * sizeof *spare);
    for (size_t i = 0, j = middle, k = left; i < count; k++)
        items[k] = j < end && before(b, &items[j], &spare[i]) ? items[j++]
                                                              : spare[i++];
}

static void insert(bucket *b, size_t from, size_t to)
{
    for (size_t i = from + 1; i < to; i++) {
        const scene_item item = b->items[i];
        size_t k = i;
        for (; k > from && before(b, &item, &b->items[k - 1]); k--)
            b->items[k] = b->items[k - 1];
        b->items[k] = item;
    }
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// A merge sort of runs that insertion has sorted.
static bool sort(bucket *b)
{
    enum { RUN = 16 };
    bool sorted = true;
    for (size_t i = 1; i < b->count && sorted; i++)
        sorted = !before(b, &b->items[i], &b->items[i - 1]);
    if (sorted) return true;
    scene_item *const spare = malloc(b->count * sizeof *spare);
    if (!spare) return false;
    for (size_t i = 0; i < b->count; i += RUN)
        insert(b, i, least(i + RUN, b->count));
    for (size_t width = RUN; width < b->count; width *= 2)
        for (size_t i = 0; i + width < b->count; i += 2 * width)
            merge(b, spare, i, i + width, least(i + 2 * width, b->count));
    free(spare);
    return true;
}

/* ---- Intervals between moments ------------------------------------------- */

// A frame lasts to the next one of its name; the last is not complete.
static bool end_frames(bucket *b)
{
    cli_map last = { 0 };
    for (size_t i = 0; i < b->count; i++) {
        uint64_t *const at = cli_map_at(&last, b->items[i].label);
        if (!at) break;
        if (*at) b->items[*at - 1].end_ns = b->items[i].start_ns;
        *at = i + 1;
    }
    const bool ok = last.count || !b->count;
    cli_map_close(&last);
    return ok;
}

// A span lasts from its start to the end with its id; one without an end lasts
// to the end of the trace.
static bool end_spans(const loading *l, bucket *b)
{
    const int64_t last = scene_near(ts_reader_info(l->s->reader)->last_ns);
    cli_map open = { 0 };
    size_t count = 0;
    for (size_t i = 0; i < b->count; i++) {
        const scene_item item = b->items[i];
        uint64_t *const at = cli_map_at(&open, (uint64_t)item.end_ns);
        if (!at) break;
        if (*at) b->items[*at - 1].end_ns = item.start_ns;
        *at = 0;
        if (item.flags != TS_PHASE_START) continue;
        b->items[count] = item;
        b->items[count].end_ns = last < item.start_ns ? item.start_ns : last;
        b->items[count].flags = 0;
        *at = ++count;
    }
    cli_map_close(&open);
    b->count = count;
    b->spans = false;
    return true;
}

bool scene_bucket_complete(const scene_gathering *l, scene_bucket *b)
{
    if (!sort(b)) return false;
    if (b->type != SCENE_FRAMES) return true;
    return (b->spans ? end_spans(l, b) : end_frames(b)) && sort(b);
}

bool scene_gather_each(const scene_gathering *l,
                       void (*each)(const scene_item *item, void *user),
                       void *user)
{
    bool ok = true;
    for (size_t i = 0; i < l->count && ok; i++) {
        bucket b = l->buckets[i];
        b.items = malloc((b.count + 1) * sizeof *b.items);
        if (b.items)
            memcpy(b.items, l->buckets[i].items, b.count * sizeof *b.items);
        ok = b.items && scene_bucket_complete(l, &b);
        for (size_t k = 0; ok && k < b.count; k++)
            each(&b.items[k], user);
        free(b.items);
    }
    return ok;
}

/* ---- Lanes --------------------------------------------------------------- */

uint32_t scene_lane_of(int64_t *ends, uint32_t *count, scene_item *item)
{
    uint32_t lane = 0;
    while (lane < *count && ends[lane] > item->start_ns)
        lane++;
    if (lane == SCENE_LANES) {
        lane--;
        item->start_ns = ends[lane];
        if (item->end_ns < item->start_ns) item->end_ns = item->start_ns;
    }
    if (lane == *count) ++*count;
    ends[lane] = item->end_ns;
    return lane;
}

// Sets the lane of each item. Returns the number of lanes.
static uint32_t find_lanes(const bucket *b, uint32_t *lanes)
{
    int64_t ends[SCENE_LANES];
    uint32_t count = 0;
    for (size_t i = 0; i < b->count; i++)
        lanes[i] = scene_lane_of(ends, &count, &b->items[i]);
    return count;
}

static bool move_whole(scene *s, bucket *b)
{
    strip *const r = scene_row_get(s, b->type, b->track, 0);
    if (!r) return false;
    if (!r->count) {
        free(r->items);
        r->items = b->items;
        r->count = b->count;
        r->room = b->room;
        b->items = NULL;
    }
    return scene_row_finish(r);
}

// Makes room in the row of a lane for all that it gets.
static strip *reserve(scene *s, const bucket *b, uint32_t part, size_t count)
{
    strip *const r = scene_row_get(s, b->type, b->track, part);
    return r && cli_grow(&r->items, &r->room, r->count + count,
                         sizeof *r->items)
               ? r
               : NULL;
}

static bool divide(scene *s, bucket *b, const uint32_t *lanes, uint32_t count)
{
    size_t sizes[SCENE_LANES] = { 0 }, rows[SCENE_LANES];
    for (size_t i = 0; i < b->count; i++)
        sizes[lanes[i]]++;
    for (uint32_t lane = 0; lane < count; lane++) {
        strip *const r = reserve(s, b, lane, sizes[lane]);
        if (!r) return false;
        rows[lane] = (size_t)(r - s->rows); // which may move
    }
    for (size_t i = 0; i < b->count; i++) {
        strip *const r = &s->rows[rows[lanes[i]]];
        r->items[r->count++] = b->items[i];
    }
    for (uint32_t lane = 0; lane < count; lane++)
        if (!scene_row_finish(&s->rows[rows[lane]])) return false;
    return true;
}

static bool lay(loading *l, bucket *b)
{
    if (!scene_bucket_complete(l, b)) return false;
    if (!b->count) return true;
    if (b->type == SCENE_COUNTER) return move_whole(l->s, b);
    uint32_t *const lanes = malloc(b->count * sizeof *lanes);
    if (!lanes) return false;
    const uint32_t count = find_lanes(b, lanes);
    const bool ok =
        count == 1 ? move_whole(l->s, b) : divide(l->s, b, lanes, count);
    free(lanes);
    return ok;
}

void scene_gather_drop(scene_gathering *l)
{
    for (size_t i = 0; i < l->count; i++)
        free(l->buckets[i].items);
    free(l->buckets);
    cli_map_close(&l->index);
    *l = (scene_gathering){ .s = l->s, .into_flags = l->into_flags };
}

bool scene_gather_end(scene_gathering *l)
{
    for (size_t i = 0; i < l->count; i++)
        l->failed = l->failed || !lay(l, &l->buckets[i]);
    const bool ok = !l->failed;
    scene_gather_drop(l);
    return ok;
}
