/* ---- Model: limits on resources ----------------------------------------- */

/*
    Limits: copy engines and, if requested, multiprocessors. A node that needs a
    resource waits in the queue of the resource once its edges have fired. Nodes
    therefore have to run in order of (time, device, stream, position in the
    stream), with ends before starts.
*/

// A node that is ready to start, or that ends. Lanes are numbered by device and
// stream, nodes by their position in the stream, so `place` sorts as required.
typedef struct ts__ready {
    int64_t time;
    uint64_t place; // starts << 63 | lane << 32 | node
} ts__ready;
#define TS__READY_STARTS (UINT64_C(1) << 63)

static bool ts__ready_before(const ts__ready *a, const ts__ready *b)
{
    return a->time != b->time ? a->time < b->time : a->place < b->place;
}

static bool ts__ready_push(const ts_allocator *a, ts__rvec *heap,
                           ts__ready item)
{
    if (!ts__rvec_push(a, heap, sizeof item)) return false;
    ts__ready *const items = (ts__ready *)heap->data;
    size_t at = heap->count - 1;
    while (at && ts__ready_before(&item, &items[(at - 1) / 2])) {
        items[at] = items[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    items[at] = item;
    return true;
}

static ts__ready ts__ready_pop(ts__rvec *heap)
{
    ts__ready *const items = (ts__ready *)heap->data;
    const ts__ready first = items[0], item = items[--heap->count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < heap->count; at = next) {
        if (next + 1 < heap->count &&
            ts__ready_before(&items[next + 1], &items[next]))
            next++;
        if (!ts__ready_before(&items[next], &item)) break;
        items[at] = items[next];
    }
    items[at] = item;
    return first;
}

// The whole of a device in the units in which kernels occupy it.
#define TS__SHARE_ALL 65536

typedef struct ts__resource {
    int64_t room, all; // room: what is free. Engines, or units of TS__SHARE_ALL
    int64_t lanes;     // lanes that use it: if at most `all`, none ever waits
    // ts__ready with the priority as time and the arrival as place.
    ts__rvec waiting;
} ts__resource;

typedef struct ts__limits {
    ts_replay *replay;
    ts__rvec resources; // ts__resource
    ts__rvec of; // uint32_t of each operation: its resource; TS_NODE_NONE: none
    ts__rvec needs; // uint32_t of each operation: how much of the resource
    ts__rvec ready; // heap of ts__ready
    bool any;
} ts__limits;

static ts__resource *ts__limits_at(const ts__limits *l, uint32_t i)
{
    return (ts__resource *)l->resources.data + i;
}

// Whether an operation occupies a copy engine: copies between host and device
// and between devices do. A copy within a device uses its multiprocessors or
// memory.
static bool ts__limits_copies(const ts__op *op)
{
    return op->kind == TS_EVENT_MEMCPY &&
           (op->label == 1 || op->label == 2 || op->label == 5);
}

typedef struct ts__limits_device {
    uint64_t multiprocessors, threads, registers, shared;
} ts__limits_device;

static uint64_t ts__metadata_number(const ts_reader *reader, uint32_t track,
                                    const char *key, uint64_t otherwise)
{
    ts_metadata m;
    return ts_reader_metadata(reader, track, key, &m) &&
                   m.type == TS_VALUE_INT && m.number > 0
               ? (uint64_t)m.number
               : otherwise;
}

static ts__limits_device ts__limits_describe(const ts_replay *r,
                                             const ts__replay_lane *lane)
{
    const ts_reader *const reader = ts__replay_file(r, lane->file)->reader;
    const uint32_t track = lane->device_track;
    ts__limits_device d;
    d.multiprocessors =
        ts__metadata_number(reader, track, "multiprocessors", 0);
    d.threads = ts__metadata_number(reader, track,
                                    "max_threads_per_multiprocessor", 2048);
    d.registers =
        ts__metadata_number(reader, track, "regs_per_multiprocessor", 65536);
    d.shared = ts__metadata_number(reader, track,
                                   "shared_mem_per_multiprocessor", 65536);
    return d;
}

static uint64_t ts__limits_blocks(const ts_launch_entry *launch)
{
    const uint64_t x = launch->grid[0] ? launch->grid[0] : 1;
    const uint64_t y = launch->grid[1] ? launch->grid[1] : 1;
    const uint64_t z = launch->grid[2] ? launch->grid[2] : 1;
    return x > UINT32_MAX / y || x * y > UINT32_MAX / z ? UINT32_MAX
                                                        : x * y * z;
}

/*
    Returns the share of its device that a kernel occupies: its blocks divided
    by the number of blocks that fit at once, which threads, registers and
    shared memory limit.
    Source: CUDA C++ Programming Guide, "Multiprocessor level".
*/
static uint32_t ts__limits_share(const ts__limits_device *device,
                                 const ts_launch_entry *launch)
{
    if (!launch || !device->multiprocessors) return TS__SHARE_ALL;
    uint64_t threads = 1;
    for (int i = 0; i < 3; i++)
        if (launch->block[i] && threads < 65536) threads *= launch->block[i];
    uint64_t fits = 32; // maximum number of blocks on a multiprocessor
    const uint64_t memory =
        (uint64_t)launch->static_shared + launch->dynamic_shared;
    const uint64_t registers = threads * launch->registers;
    if (device->threads / threads < fits) fits = device->threads / threads;
    if (registers && device->registers / registers < fits)
        fits = device->registers / registers;
    if (memory && device->shared / memory < fits)
        fits = device->shared / memory;
    const uint64_t room = (fits ? fits : 1) * device->multiprocessors;
    const uint64_t blocks = ts__limits_blocks(launch);
    if (blocks >= room) return TS__SHARE_ALL;
    const uint64_t part = (blocks * TS__SHARE_ALL + room - 1) / room;
    return part ? (uint32_t)part : 1;
}

static uint32_t ts__limits_add(ts__limits *l, int64_t all)
{
    ts__resource *const to = (ts__resource *)ts__rvec_push(
        &l->replay->allocator, &l->resources, sizeof *to);
    if (!to) return TS_NODE_NONE;
    memset(to, 0, sizeof *to);
    to->room = to->all = all;
    return (uint32_t)(l->resources.count - 1);
}

// Sets the number of engines of each kind to the highest number of copies that
// ran at once in the record.
static bool ts__limits_recorded(ts__limits *l)
{
    const ts_replay *const r = l->replay;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__limits_at(l, i)->room = 0;
    l->ready.count = 0;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t of = ((const uint32_t *)l->of.data)[i];
        if (of == TS_NODE_NONE) continue;
        while (l->ready.count && ((const ts__ready *)l->ready.data)->time <=
                                     ts__replay_time(r)[i])
            ts__limits_at(l, (uint32_t)ts__ready_pop(&l->ready).place)->room--;
        ts__resource *const resource = ts__limits_at(l, of);
        const ts__ready item = { ts__replay_end(r, i), of };
        if (!ts__ready_push(&r->allocator, &l->ready, item)) return false;
        if (++resource->room > resource->all) resource->all = resource->room;
    }
    l->ready.count = 0;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__limits_at(l, i)->room = ts__limits_at(l, i)->all;
    return true;
}

static bool ts__limits_engines(ts__limits *l, uint32_t engines)
{
    const ts_replay *const r = l->replay;
    ts__rmap known = { { 0 }, 0 };
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__limits_copies(op)) continue;
        const uint32_t device =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i])->device;
        const uint64_t key = (uint64_t)device << 3 | op->label;
        uint32_t of = ts__rmap_get(&known, key);
        if (of == TS_NODE_NONE) {
            of = ts__limits_add(l, engines ? engines : 1);
            ok = of != TS_NODE_NONE &&
                 ts__rmap_put(&r->allocator, &known, key, of);
        }
        ((uint32_t *)l->of.data)[i] = of;
        const uint64_t lane =
            UINT64_C(1) << 63 | key << 32 | ts__replay_lanes(r)[i];
        if (!ok || ts__rmap_get(&known, lane) != TS_NODE_NONE) continue;
        ok = ts__rmap_put(&r->allocator, &known, lane, of);
        ts__limits_at(l, of)->lanes++;
    }
    ts__rvec_close(&r->allocator, &known.entries);
    if (!ok || (!engines && !ts__limits_recorded(l))) return false;
    for (uint32_t i = 0; i < l->resources.count; i++)
        l->any |= ts__limits_at(l, i)->lanes > ts__limits_at(l, i)->all;
    return true;
}

// Returns the launch of a kernel, or of the kernel that performs a collective
// if known. Returns false for other operations and unknown collectives. Call it
// with ascending operations; `*coll` keeps the position in the list of
// collectives.
static bool ts__limits_launch(const ts_replay *r, uint32_t op, size_t *coll,
                              uint32_t *launch)
{
    const ts__op *const o = ts__replay_op(r, op);
    *launch = o->label;
    if (o->kind != TS_EVENT_COLLECTIVE) return o->kind == TS_EVENT_KERNEL;
    const ts__coll_op *const all = (const ts__coll_op *)r->collectives.data;
    *launch = all[(*coll)++].launch;
    return *launch != 0;
}

static bool ts__limits_compute(ts__limits *l)
{
    const ts_replay *const r = l->replay;
    ts__rvec of_device = { 0 }, described = { 0 };
    const size_t devices = r->device_results.count;
    bool ok = ts__rvec_fill(&r->allocator, &of_device, sizeof(uint32_t),
                            devices, 0xFF) &&
              ts__rvec_reserve(&r->allocator, &described,
                               sizeof(ts__limits_device), devices);
    uint32_t *const known = (uint32_t *)of_device.data;
    size_t coll = 0;
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        uint32_t launch;
        if (!ts__limits_launch(r, i, &coll, &launch)) continue;
        const ts__replay_lane *const lane =
            ts__replay_lane_at(r, ts__replay_lanes(r)[i]);
        uint32_t *const of = &known[lane->device];
        ts__limits_device *const device =
            (ts__limits_device *)described.data + lane->device;
        if (*of == TS_NODE_NONE) {
            *of = ts__limits_add(l, TS__SHARE_ALL);
            *device = ts__limits_describe(r, lane);
        }
        ok = *of != TS_NODE_NONE;
        ((uint32_t *)l->of.data)[i] = *of;
        ((uint32_t *)l->needs.data)[i] = ts__limits_share(
            device,
            ts_reader_launch(ts__replay_file(r, lane->file)->reader, launch));
        l->any = true;
    }
    ts__rvec_close(&r->allocator, &of_device);
    ts__rvec_close(&r->allocator, &described);
    return ok;
}

static void ts__limits_close(ts__limits *l)
{
    const ts_allocator *const a = &l->replay->allocator;
    for (uint32_t i = 0; i < l->resources.count; i++)
        ts__rvec_close(a, &ts__limits_at(l, i)->waiting);
    ts__rvec_close(a, &l->resources);
    ts__rvec_close(a, &l->of);
    ts__rvec_close(a, &l->needs);
    ts__rvec_close(a, &l->ready);
}

static bool ts__limits_open(ts__limits *l, ts_replay *r,
                            const ts_replay_run_desc *desc)
{
    const ts_allocator *const a = &r->allocator;
    memset(l, 0, sizeof *l);
    l->replay = r;
    if (!ts__rvec_fill(a, &l->of, sizeof(uint32_t), r->op_count, 0xFF) ||
        !ts__rvec_reserve(a, &l->needs, sizeof(uint32_t), r->op_count))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++)
        ((uint32_t *)l->needs.data)[i] = 1;
    return ts__limits_engines(l, desc->copy_engines) &&
           (!desc->share_compute || ts__limits_compute(l));
}

typedef struct ts__timed { // a run in order of time
    ts__rrun *run;
    ts__limits *limits;
    uint32_t *queue; // nodes that have just become ready
    uint32_t *held;  // of each node: node that freed the resource it waited for
    uint32_t arrivals; // counts nodes that had to wait; each waits at most once
    bool failed;
} ts__timed;

static ts__ready ts__timed_item(const ts__timed *t, int64_t time, uint32_t node,
                                uint64_t starts)
{
    const uint64_t lane = ts__replay_lanes(t->run->replay)[node];
    const ts__ready item = { time, starts | lane << 32 | node };
    return item;
}

static void ts__timed_push(ts__timed *t, ts__ready item)
{
    if (!ts__ready_push(&t->run->replay->allocator, &t->limits->ready, item))
        t->failed = true;
}

// Returns the operation whose end is `node` if it occupies a resource; else
// TS_NODE_NONE.
static uint32_t ts__timed_holder(const ts__timed *t, uint32_t node)
{
    const ts_replay *const r = t->run->replay;
    if (node < r->op_count + r->call_count || node >= r->join_first)
        return TS_NODE_NONE;
    const uint32_t op = ts__node_owner(r, node);
    if (op >= r->op_count ||
        ((const uint32_t *)t->limits->of.data)[op] == TS_NODE_NONE)
        return TS_NODE_NONE;
    return op;
}

static void ts__timed_start(ts__timed *t, uint32_t node, int64_t time)
{
    ts__rrun *const run = t->run;
    const uint32_t count = ts__rrun_fire(run, node, time, t->queue, 0);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t next = t->queue[i];
        const int64_t at = ts__rrun_start(run, next);
        const bool frees = ts__timed_holder(t, next) != TS_NODE_NONE;
        ts__timed_push(
            t, ts__timed_item(t, at, next, frees ? 0 : TS__READY_STARTS));
    }
}

static void ts__timed_occupy(ts__timed *t, uint32_t node, int64_t time)
{
    const uint32_t of = ((const uint32_t *)t->limits->of.data)[node];
    const uint32_t needs = ((const uint32_t *)t->limits->needs.data)[node];
    ts__limits_at(t->limits, of)->room -= needs;
    // An operation that waits for others occupies the resource until all of
    // them are done.
    if (ts__replay_end_node(t->run->replay, node) == node) {
        const int64_t end = ts__replay_add(time, t->run->duration[node]);
        ts__timed_push(t, ts__timed_item(t, end, node, 0));
    }
    ts__timed_start(t, node, time);
}

// Returns the priority of a node: smaller numbers first, as the vendors define
// it. Arrival breaks ties.
static int64_t ts__timed_priority(const ts__timed *t, uint32_t node)
{
    const ts_replay *const r = t->run->replay;
    const uint64_t flags =
        ts__replay_lane_at(r, ts__replay_lanes(r)[node])->flags;
    return (int64_t)(flags >> 16 & 0xFFFF);
}

// Starts the first node in the queue of a resource; the node `after` made room
// for it.
static void ts__timed_next(ts__timed *t, ts__resource *resource, uint32_t after,
                           int64_t time)
{
    const uint32_t next = (uint32_t)ts__ready_pop(&resource->waiting).place;
    t->held[next] = after;
    ts__timed_occupy(t, next, time);
}

// Frees the resource of an operation that ended at the node `end`, and starts
// the nodes in the queue in order as far as there is room.
static void ts__timed_release(ts__timed *t, uint32_t op, uint32_t end,
                              int64_t time)
{
    const uint32_t of = ((const uint32_t *)t->limits->of.data)[op];
    const uint32_t *const needs = (const uint32_t *)t->limits->needs.data;
    ts__resource *const resource = ts__limits_at(t->limits, of);
    resource->room += needs[op];
    while (resource->waiting.count && !t->failed) {
        const ts__ready *const first = (ts__ready *)resource->waiting.data;
        if (needs[(uint32_t)first->place] > resource->room) return;
        ts__timed_next(t, resource, end, time);
    }
}

// Ends a node that occupies a resource, or the operation whose end it is.
static void ts__timed_end(ts__timed *t, uint32_t node, int64_t time)
{
    const uint32_t op = ts__timed_holder(t, node);
    if (op != TS_NODE_NONE) ts__timed_start(t, node, time);
    ts__timed_release(t, op == TS_NODE_NONE ? node : op, node, time);
}

/*
    Resolves a deadlock: the collectives that occupy a resource may all wait for
    others that find no room. In the record they made progress, so the first in
    the queue starts without room.
*/
static bool ts__timed_force(ts__timed *t, int64_t time)
{
    for (uint32_t i = 0; i < t->limits->resources.count; i++) {
        ts__resource *const resource = ts__limits_at(t->limits, i);
        if (!resource->waiting.count) continue;
        ts__timed_next(t, resource, TS_NODE_NONE, time);
        return true;
    }
    return false;
}

// Starts a node that is ready, or queues it if its resource has no room.
static void ts__timed_arrive(ts__timed *t, uint32_t node, int64_t time)
{
    const ts_replay *const r = t->run->replay;
    const uint32_t of = node < r->op_count
                            ? ((const uint32_t *)t->limits->of.data)[node]
                            : TS_NODE_NONE;
    if (of == TS_NODE_NONE) {
        ts__timed_start(t, node, time);
        return;
    }
    ts__resource *const resource = ts__limits_at(t->limits, of);
    const uint32_t needs = ((const uint32_t *)t->limits->needs.data)[node];
    if (!resource->waiting.count && needs <= resource->room) {
        ts__timed_occupy(t, node, time);
        return;
    }
    const ts__ready item = { ts__timed_priority(t, node),
                             (uint64_t)t->arrivals++ << 32 | node };
    if (!ts__ready_push(&r->allocator, &resource->waiting, item))
        t->failed = true;
}

// Runs the nodes in order of time, with limits on resources.
static bool ts__rrun_timed(ts__rrun *run, ts__limits *limits, uint32_t *held)
{
    const ts_allocator *const a = &run->replay->allocator;
    ts__rvec ready = { 0 };
    if (!ts__rvec_reserve(a, &ready, sizeof(uint32_t), run->replay->node_count))
        return false;
    ts__timed t = { run, limits, (uint32_t *)ready.data, held, 0, false };
    const uint32_t count = ts__rrun_begin(run, t.queue);
    for (uint32_t i = 0; i < count; i++)
        ts__timed_push(&t, ts__timed_item(&t, ts__rrun_start(run, t.queue[i]),
                                          t.queue[i], TS__READY_STARTS));
    int64_t now = 0;
    do {
        while (limits->ready.count && !t.failed) {
            const ts__ready item = ts__ready_pop(&limits->ready);
            const uint32_t node = (uint32_t)item.place;
            now = item.time;
            if (item.place & TS__READY_STARTS)
                ts__timed_arrive(&t, node, now);
            else
                ts__timed_end(&t, node, now);
        }
    } while (!t.failed && ts__timed_force(&t, now));
    ts__rvec_close(a, &ready);
    return !t.failed;
}
