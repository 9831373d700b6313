/*
    counters.c - counters of what devices do: occupancy, bytes copied

    Operations come in order of their start; those that run wait in a heap for
    their end. So memory is needed for what runs at once only.
*/
#include "tools/studio/scene/parts.h"

/* ---- What runs ----------------------------------------------------------- */

static bool ending_push(scene_derived *d, const scene_ending *ending)
{
    if (!cli_grow(&d->endings, &d->ending_room, d->ending_count + 1,
                  sizeof *d->endings))
        return false;
    size_t at = d->ending_count++;
    for (; at && ending->ns < d->endings[(at - 1) / 2].ns; at = (at - 1) / 2)
        d->endings[at] = d->endings[(at - 1) / 2];
    d->endings[at] = *ending;
    return true;
}

static scene_ending ending_pop(scene_derived *d)
{
    scene_ending *const heap = d->endings;
    const scene_ending first = heap[0], moved = heap[--d->ending_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < d->ending_count; at = child) {
        if (child + 1 < d->ending_count && heap[child + 1].ns < heap[child].ns)
            child++;
        if (moved.ns <= heap[child].ns) break;
        heap[at] = heap[child];
    }
    heap[at] = moved;
    return first;
}

// Takes the ends up to a time.
static bool end_until(scene_derived *d, int64_t time_ns)
{
    while (d->ending_count && d->endings[0].ns <= time_ns) {
        const scene_ending e = ending_pop(d);
        if (!scene_meter_add(&d->meters[e.meter], scene_steps_most(d, d->count),
                             e.ns, -e.change, e.unknown ? -1 : 0))
            return false;
    }
    return true;
}

// Adds what goes on while an operation runs.
static bool runs(scene_derived *d, const ts_event *e, uint32_t track,
                 uint32_t part, int64_t change, bool unknown)
{
    scene_meter *const m = scene_meter_of(d, track, part);
    const int64_t start = scene_near(e->start_ns);
    const int64_t end = scene_near(start + scene_near(e->duration_ns));
    const scene_ending ending = { end, change,
                                  m ? (uint32_t)(m - d->meters) : 0, unknown };
    return m &&
           scene_meter_add(m, scene_steps_most(d, d->count), start, change,
                           unknown) &&
           ending_push(d, &ending);
}

/* ---- Copies -------------------------------------------------------------- */

// Bytes a second, so low that sums of them fit.
static int64_t rate_of(uint64_t size, int64_t ns)
{
    const double most = 1e15, rate = (double)size * 1e9 / (double)ns;
    return (int64_t)((rate < most ? rate : most) + 0.5);
}

static bool take_copy(scene *s, const ts_event *e, uint32_t device)
{
    const uint64_t size = ts_event_value(e, TS_COLUMN_SIZE);
    const uint64_t type = ts_event_value(e, TS_COLUMN_TYPE);
    if (!size) return true;
    return runs(&s->derived, e, device,
                SCENE_RATE + (type < SCENE_RATES ? (uint32_t)type : 0),
                rate_of(size, e->duration_ns), false);
}

/* ---- Kernels ------------------------------------------------------------- */

// The occupancy of a launch in millionths; -1: unknown.
static int64_t occupancy_share(scene *s, uint32_t device, uint32_t launch)
{
    scene_derived *const d = &s->derived;
    occupancy o;
    if (d->limits_of != device) {
        d->limits_of = device;
        d->limits_known = occupancy_device(s->reader, device, &d->limits);
    }
    if (!d->limits_known ||
        !occupancy_of(&d->limits, ts_reader_launch(s->reader, launch), &o))
        return -1;
    return (int64_t)((double)o.warps * 1e6 / (double)o.warps_most + 0.5);
}

// Where nothing is known of the device there is no counter.
static bool take_kernel(scene *s, const ts_event *e, uint32_t device)
{
    const uint64_t launch = ts_event_value(e, TS_COLUMN_LAUNCH);
    uint64_t *const known = cli_map_at(
        &s->derived.shares, (uint64_t)device << 32 | (launch & UINT32_MAX));
    if (!known) return false;
    if (!*known)
        *known = (uint64_t)(occupancy_share(s, device, (uint32_t)launch) + 2);
    const int64_t share = (int64_t)*known - 2;
    return runs(&s->derived, e, device, SCENE_OCCUPANCY, share < 0 ? 0 : share,
                share < 0);
}

static bool take(scene *s, const ts_event *e)
{
    if (e->kind != TS_EVENT_KERNEL && e->kind != TS_EVENT_MEMCPY)
        return scene_heap_take(s, e);
    const uint32_t device = scene_device_of(s, e->track);
    if (!device || e->duration_ns <= 0) return true;
    if (!end_until(&s->derived, scene_near(e->start_ns))) return false;
    return e->kind == TS_EVENT_KERNEL ? take_kernel(s, e, device)
                                      : take_copy(s, e, device);
}

/* ---- Work ---------------------------------------------------------------- */

static const uint64_t kinds = TS_FILTER(KERNEL) | TS_FILTER(MEMCPY) |
                              TS_FILTER(ALLOC) | TS_FILTER(FREE) |
                              TS_FILTER(GPU_ALLOC) | TS_FILTER(GPU_FREE);

bool scene_derived_behind(const scene *s)
{
    const scene_derived *const d = &s->derived;
    const bool whole = s->events <= s->limits.events;
    return s->table_read && !d->done && !d->failed && (whole || d->wanted);
}

static bool begin(scene *s)
{
    const ts_filter filter = { .kinds = kinds };
    const ts_info *const info = ts_reader_info(s->reader);
    bool any = false;
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        any = any || (info->counts[i] && (kinds >> i & 1));
    s->derived.stale = false;
    s->derived.slices = 0;
    s->derived.done = !any;
    return !any ||
           ts_cursor_open(&s->derived.cursor, s->reader, &filter) == TS_OK;
}

static void drop(scene *s)
{
    scene_derived *const d = &s->derived;
    ts_cursor_close(d->cursor);
    d->cursor = NULL;
    for (size_t i = 0; i < d->count; i++)
        scene_steps_close(&d->meters[i].steps);
    free(d->meters);
    free(d->endings);
    d->meters = NULL;
    d->endings = NULL;
    d->count = d->room = d->ending_count = d->ending_room = 0;
    d->limits_of = 0;
    cli_map_close(&d->meter_at);
    cli_map_close(&d->shares);
    scene_heap_close(&d->heap);
}

static bool show(scene *s)
{
    scene_derived *const d = &s->derived;
    bool ok = end_until(d, INT64_MAX) && scene_heap_settle(d);
    for (size_t i = 0; ok && i < d->count; i++)
        ok = scene_meter_show(s, &d->meters[i]);
    return ok;
}

static bool end(scene *s, bool ok)
{
    scene_derived *const d = &s->derived;
    d->failed = !ok || ts_cursor_result(d->cursor) == TS_ERR_MEMORY || !show(s);
    d->done = !d->failed;
    d->looks = 0;
    drop(s);
    s->version++;
    return true;
}

bool scene_derived_work(scene *s)
{
    scene_derived *const d = &s->derived;
    ts_event event;
    if (!d->cursor && !begin(s)) return d->failed = true;
    d->slices++;
    for (uint64_t i = 0; !d->done && i < s->limits.slice; i++) {
        if (!ts_cursor_next(d->cursor, &event)) return end(s, true);
        if (!take(s, &event)) return end(s, false);
    }
    return d->done;
}

bool scene_derived_grow(scene *s, bool grown)
{
    scene_derived *const d = &s->derived;
    d->stale = d->stale || grown;
    d->looks++;
    if (!d->done || !d->stale || d->looks <= d->slices / 4) return false;
    d->done = false;
    return true;
}

void scene_derived_drop(scene *s)
{
    drop(s);
    s->derived.done = s->derived.failed = false;
}

void scene_derived_close(scene *s)
{
    scene_derived_drop(s);
    free(s->derived.pools);
    cli_map_close(&s->derived.pool_at);
}

bool scene_counters_want(scene *s)
{
    s->derived.wanted = s->table_wanted = true;
    return !scene_is_behind(s) || (s->table_read && !scene_derived_behind(s));
}

/* ---- What they are called ------------------------------------------------ */

static const char *what_of(uint32_t part)
{
    switch (part) {
    case SCENE_QUEUE: return "operations launched and not yet begun";
    case SCENE_OCCUPANCY:
        return "warps of running kernels that fit at once, of the most that "
               "the device holds: from launch configurations, not measured";
    default: break;
    }
    return part < SCENE_POOL
               ? "sizes of running copies, divided by their durations"
               : "allocated and not yet freed, of what the trace contains";
}

const char *scene_counter_unit(uint32_t part)
{
    switch (part) {
    case SCENE_QUEUE: return "operations";
    case SCENE_OCCUPANCY: return "%";
    default: return part < SCENE_POOL ? "bytes/s" : "bytes";
    }
}

// Memory of a pool, without where it is.
static ts_text pool_text(const scene *s, const scene_pool *pool)
{
    static const char *const kinds_of[] = { "device memory",  "pageable memory",
                                            "pinned memory",  "device memory",
                                            "managed memory", "arrays" };
    const ts_text name = ts_reader_name(s->reader, pool->name);
    const char *const plain = !pool->device      ? "host heap"
                              : pool->memory < 6 ? kinds_of[pool->memory]
                                                 : "memory";
    return name.size ? name : (ts_text){ plain, strlen(plain) };
}

static ts_text prefix_of(const scene *s, const scene_row *row)
{
    const uint32_t pool = row->part - SCENE_POOL;
    const char *text = "queue";
    if (row->part >= SCENE_POOL && pool < s->derived.pool_count)
        return pool_text(s, &s->derived.pools[pool]);
    if (row->part == SCENE_OCCUPANCY) text = "occupancy";
    if (row->part >= SCENE_RATE && row->part < SCENE_POOL)
        text = scene_copy_name(row->part - SCENE_RATE);
    return (ts_text){ text, strlen(text) };
}

ts_text scene_row_name(scene *s, const scene_row *row)
{
    enum { MOST = 200 };
    if (!scene_is_derived(row)) return scene_track_name(s, row->track);
    char *const to = s->derived.name;
    const size_t room = sizeof s->derived.name;
    const ts_text prefix = prefix_of(s, row);
    const ts_text of =
        row->track ? scene_track_name(s, row->track) : (ts_text){ "", 0 };
    const size_t one = prefix.size < MOST ? prefix.size : MOST;
    const size_t two = of.size < MOST ? of.size : MOST;
    // A text of the trace may hold zeros.
    const size_t gap = two ? 4 : 0;
    if (one + gap + two > room) return prefix;
    memcpy(to, prefix.text, one);
    memcpy(to + one, " of ", gap);
    memcpy(to + one + gap, of.text, two);
    return (ts_text){ to, one + gap + two };
}

static void put_value(uint32_t part, double value, scene_put *put, void *user)
{
    char text[64];
    int size;
    if (isnan(value))
        size = snprintf(text, sizeof text, "unknown");
    else if (part >= SCENE_RATE && part < SCENE_POOL)
        size = snprintf(text, sizeof text, "%.3f GB/s", value / 1e9);
    else
        size = snprintf(text, sizeof text, "%.*f %s", part == SCENE_OCCUPANCY,
                        value, scene_counter_unit(part));
    put("value", (ts_text){ text, (size_t)size }, user);
}

bool scene_step_facts(scene *s, scene_ref ref, scene_put *put, void *user)
{
    const size_t row = ref >> 32 & UINT16_MAX, at = (uint32_t)ref;
    if (row >= s->row_count || at >= s->rows[row].count ||
        !scene_is_derived(&s->rows[row].pub))
        return false;
    const strip *const r = &s->rows[row];
    const char *const what = what_of(r->pub.part);
    put("counter", scene_row_name(s, &r->pub), user);
    put_value(r->pub.part, r->items[at].value, put, user);
    put("what", (ts_text){ what, strlen(what) }, user);
    if (!r->cell_ns) return true;
    char text[128];
    const int size = snprintf(text, sizeof text,
                              "first, lowest, highest and last value in each "
                              "%" PRId64 " ns",
                              r->cell_ns);
    put("kept", (ts_text){ text, (size_t)size }, user);
    return true;
}
