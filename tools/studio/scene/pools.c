/*
    pools.c - how much memory is allocated, by pool

    The rules are those of `ts-analyze --only memory`: a free finds its block by
    the address, on the host within a pool, else within a device. Events of one
    moment happen at once; at one address, a block that is live is freed before
    another takes its place. Frees of nothing change nothing.

    A process has addresses of its own, so that those of a merged trace stay
    apart.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/processes.h"

// Blocks that are live at once, and events of one moment that are sorted.
enum { MOST_BLOCKS = 8 << 20, MOST_EVENTS = 1 << 16 };

// The process whose address space an event is about; tracks may be added.
static uint32_t process_of(scene *s, const ts_event *e)
{
    scene_heap *const h = &s->derived.heap;
    const uint32_t tracks = ts_reader_info(s->reader)->track_count;
    if (e->kind < TS_EVENT_GPU_FIRST)
        return cli_track_process(s->reader, e->track);
    if (h->tracks != tracks) {
        h->tracks = tracks;
        h->several = cli_has_processes(s->reader);
    }
    return h->several ? cli_event_process(s->reader, e) : 0;
}

/* ---- Pools --------------------------------------------------------------- */

// The number of a pool. CLI_NONE: there are too many, or no memory.
static uint32_t pool_of(scene_derived *d, const scene_pool *pool)
{
    const uint64_t key = cli_hash_join(cli_hash_join(pool->track, pool->name),
                                       pool->memory << 1 | pool->device);
    const uint32_t known = cli_map_row(&d->pool_at, key);
    if (known != CLI_NONE) return known;
    if (d->pool_count >= SCENE_MOST_POOLS ||
        !cli_grow(&d->pools, &d->pool_room, d->pool_count + 1,
                  sizeof *d->pools) ||
        !cli_map_set(&d->pool_at, key, d->pool_count))
        return CLI_NONE;
    d->pools[d->pool_count] = *pool;
    return (uint32_t)d->pool_count++;
}

/* ---- Blocks -------------------------------------------------------------- */

static bool change(scene_derived *d, const scene_block *b, int64_t by)
{
    return scene_meter_add(&d->meters[b->meter], scene_steps_most(d, d->count),
                           d->heap.now_ns, by, 0);
}

static bool block_end(scene_derived *d, uint64_t place, uint32_t at)
{
    scene_heap *const h = &d->heap;
    if (!change(d, &h->blocks[at], -(int64_t)h->blocks[at].size)) return false;
    h->blocks[at].meter = h->spare;
    h->spare = at + 1;
    cli_map_remove(&h->at, place);
    return true;
}

// A place for a block; CLI_NONE without memory.
static uint32_t block_new(scene_heap *h)
{
    if (h->spare) {
        const uint32_t at = h->spare - 1;
        h->spare = h->blocks[at].meter;
        return at;
    }
    if (h->count >= MOST_BLOCKS ||
        !cli_grow(&h->blocks, &h->room, h->count + 1, sizeof *h->blocks))
        return CLI_NONE;
    return (uint32_t)h->count++;
}

static bool put_event(scene_derived *d, const scene_memory_event *e)
{
    scene_heap *const h = &d->heap;
    const uint32_t live = cli_map_row(&h->at, e->place);
    if (live != CLI_NONE && !block_end(d, e->place, live)) return false;
    if (!e->takes) return true;
    const uint32_t at = block_new(h);
    if (at == CLI_NONE || !cli_map_set(&h->at, e->place, at)) return false;
    h->blocks[at] = (scene_block){ e->size, e->meter };
    return change(d, &h->blocks[at], (int64_t)e->size);
}

/* ---- Events of one moment ------------------------------------------------ */

static int by_place(const void *left, const void *right)
{
    const scene_memory_event *const a = left, *const b = right;
    if (a->place != b->place) return a->place < b->place ? -1 : 1;
    if (a->takes != b->takes) return a->takes ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

// Of the events of a place allocations come first. A block that is live is
// freed, else an allocation follows.
static bool put_place(scene_derived *d, const scene_memory_event *events,
                      size_t count)
{
    size_t take = 0, give = 0;
    while (give < count && events[give].takes)
        give++;
    const size_t takes = give;
    while (take < takes || give < count) {
        const bool live = cli_map_row(&d->heap.at, events[0].place) != CLI_NONE;
        const bool gives = give < count && (live || take == takes);
        if (!put_event(d, &events[gives ? give++ : take++])) return false;
    }
    return true;
}

bool scene_heap_settle(scene_derived *d)
{
    scene_heap *const h = &d->heap;
    scene_memory_event *const e = h->events;
    const size_t count = h->event_count;
    bool ok = true;
    if (count > 1) qsort(e, count, sizeof *e, by_place);
    for (size_t i = 0, end; ok && i < count; i = end) {
        for (end = i + 1; end < count && e[end].place == e[i].place;)
            end++;
        ok = put_place(d, e + i, end - i);
    }
    h->event_count = 0;
    return ok;
}

static bool add_event(scene_derived *d, int64_t time_ns,
                      const scene_memory_event *event)
{
    scene_heap *const h = &d->heap;
    if (h->event_count &&
        (h->now_ns != time_ns || h->event_count >= MOST_EVENTS) &&
        !scene_heap_settle(d))
        return false;
    h->now_ns = time_ns;
    if (!cli_grow(&h->events, &h->event_room, h->event_count + 1,
                  sizeof *h->events))
        return false;
    h->events[h->event_count] = *event;
    h->events[h->event_count].order = (uint32_t)h->event_count;
    h->event_count++;
    return true;
}

bool scene_heap_take(scene *s, const ts_event *e)
{
    scene_derived *const d = &s->derived;
    const bool device = e->kind >= TS_EVENT_GPU_FIRST;
    const uint64_t address = ts_event_value(e, TS_COLUMN_ADDRESS);
    scene_memory_event event = { .size = ts_event_value(e, TS_COLUMN_SIZE),
                                 .takes = e->kind == TS_EVENT_ALLOC ||
                                          e->kind == TS_EVENT_GPU_ALLOC };
    if (!address || event.size >> 56 || address + event.size < address)
        return true;
    const uint32_t process = process_of(s, e);
    const scene_pool pool = {
        .track = device ? scene_device_of(s, e->track) : process,
        .name = (uint32_t)ts_event_value(e, TS_COLUMN_POOL),
        .memory = ts_event_value(e, TS_COLUMN_MEMORY) >> 4 & 15,
        .device = device
    };
    event.place = cli_hash_join(
        cli_hash_join(cli_hash_join(cli_hash_join(address, pool.track), device),
                      process),
        device ? 0 : pool.name);
    if (event.takes) {
        const uint32_t number = pool_of(d, &pool);
        if (number == CLI_NONE) return d->pool_count >= SCENE_MOST_POOLS;
        const scene_meter *const m =
            scene_meter_of(d, pool.track, SCENE_POOL + number);
        if (!m) return false;
        event.meter = (uint32_t)(m - d->meters);
    }
    return add_event(d, scene_near(e->start_ns), &event);
}

void scene_heap_close(scene_heap *heap)
{
    cli_map_close(&heap->at);
    free(heap->blocks);
    free(heap->events);
    *heap = (scene_heap){ 0 };
}
