/* ---- Execution: operations ---------------------------------------------- */

static uint64_t ts__ex_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

TS_API ts_result ts_executor_poll(ts_result (*poll)(void *state), void *state,
                                  uint32_t timeout_ms)
{
    const uint64_t until = ts__ex_now() + UINT64_C(1000000) * timeout_ms;
    struct timespec pause = { 0, 5000 };
    for (;;) {
        const ts_result result = poll(state);
        if (result != TS_ERR_BUSY || ts__ex_now() >= until) return result;
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 1000000) pause.tv_nsec *= 2;
    }
}

// Whether a device region overlaps an earlier one, so that one would replace
// the other.
static bool ts__ex_overlaps(const ts_capture *c, uint32_t index)
{
    const ts_capture_region *const r = &c->regions[index];
    for (uint32_t i = 0; r->device && i < index; i++) {
        const ts_capture_region *const other = &c->regions[i];
        if (other->device && (r->address - other->address < other->size ||
                              other->address - r->address < r->size))
            return true;
    }
    return false;
}

// Whether the trace has the list of chunk hashes that a region refers to.
static bool ts__ex_is_listed(ts_execution *e, const ts_capture_region *r)
{
    return r->size &&
           ts__ex_list(e, r->before[0] ? r->before : r->after, r->size);
}

static bool ts__ex_is_device(const ts_execution *e, uint32_t track)
{
    ts_track t;
    return ts_reader_track(e->reader, track, &t) && t.type == TS_TRACK_DEVICE;
}

// Whether a record makes sense; only a crafted file has one that does not.
static bool ts__ex_is_valid(ts_execution *e)
{
    const ts_capture_operation *const h = &e->now.head;
    if (h->kind != TS_EVENT_KERNEL && h->kind != TS_EVENT_MEMCPY &&
        h->kind != TS_EVENT_MEMSET && h->kind != TS_EVENT_GRAPH_LAUNCH)
        return false;
    for (uint32_t i = 0; i < h->region_count; i++) {
        const ts_capture_region *const r = &e->now.regions[i];
        if (!ts__ex_is_listed(e, r)) return false;
        // A region without a device is memory of the host, which only copies
        // use.
        if (!r->device && (h->kind == TS_EVENT_KERNEL || r->image))
            return false;
        if (r->device && !ts__ex_is_device(e, r->device)) return false;
        if (ts__ex_overlaps(&e->now, i)) return false;
    }
    return true;
}

// Whether the executor supports all that the record contains of an operation.
static ts_reason ts__ex_is_known(ts_execution *e)
{
    const ts_executor *const x = e->desc.executor;
    const ts_text vendor = ts_reader_name(e->reader, e->now.head.vendor);
    ts_attribute one;
    if (vendor.size != strlen(x->name) ||
        memcmp(vendor.text, x->name, vendor.size))
        return TS_REASON_OTHER_BACKEND;
    for (uint64_t at = 0; ts_attribute_next(&e->now.attributes, &at, &one);) {
        const uint32_t *known = x->attributes;
        if (one.id == TS_ATTRIBUTE_NODE &&
            e->now.head.kind == TS_EVENT_GRAPH_LAUNCH)
            continue;
        while (known && *known && *known != one.id)
            known++;
        if (!known || !*known) return TS_REASON_ATTR_UNKNOWN;
    }
    for (uint32_t i = 0; i < e->now.head.param_count; i++)
        if (e->now.params[i].type > TS_PARAM_OBJECT)
            return TS_REASON_PARAM_LAYOUT_UNKNOWN;
    return TS_REASON_NONE;
}

// Loads the code of a kernel or of all kernels of a graph, and checks that the
// devices of the graph's nodes are open.
static ts_reason ts__ex_code(ts_execution *e, ts_execution_item *item)
{
    const ts_capture *const c = &e->now;
    const bool graph = c->head.kind == TS_EVENT_GRAPH_LAUNCH;
    ts_capture_node node = { .index = 0 };
    node.head = c->head;
    while (!graph || ts_capture_node_next(c, &node)) {
        if (graph && ts__ex_is_device(e, node.head.track) &&
            !ts__ex_has_device(e, node.head.track))
            return TS_REASON_TOO_MANY;
        if (node.head.kind == TS_EVENT_KERNEL) {
            const ts__ex_module *const m =
                ts__ex_module_find(e, node.head.image);
            if (!m) return TS_REASON_NO_MEMORY;
            if (m->reason) memcpy(item->why, m->why, sizeof item->why);
            if (m->reason) return m->reason;
        }
        if (!graph) break;
    }
    return TS_REASON_NONE;
}

static void ts__ex_explain_shortage(const ts_execution *e,
                                    ts_execution_item *item)
{
    const double mib = 1024 * 1024;
    const size_t at = (size_t)snprintf(
        item->why, sizeof item->why,
        "a buffer of %.1f MiB in addition to %.1f MiB in use does not fit",
        (double)e->missing_bytes / mib, (double)e->bytes / mib);
    if (e->desc.memory_bytes)
        snprintf(item->why + at, sizeof item->why - at, " into %.1f MiB",
                 (double)e->desc.memory_bytes / mib);
}

// Whether the hash tables of the regions fit into the memory limit. Otherwise a
// few bytes of a file could claim more than the machine has.
static bool ts__ex_has_room(ts_execution *e)
{
    const uint64_t most = e->desc.memory_bytes;
    for (uint32_t i = 0; most && i < e->now.head.region_count; i++) {
        const uint64_t size = e->now.regions[i].size;
        const uint64_t tables = ts__ex_chunks(size) * (TS__EX_TABLES + 32);
        if (tables <= most) continue;
        e->missing_bytes = size;
        return false;
    }
    return true;
}

// Prepares everything that an operation needs to run.
static ts_reason ts__ex_prepare(ts_execution *e, ts_execution_item *item)
{
    const ts_capture_operation *const h = &e->now.head;
    const ts_allocator *const a = &e->desc.allocator;
    e->missing_bytes = 0;
    if (!ts__ex_has_room(e)) {
        ts__ex_explain_shortage(e, item);
        return TS_REASON_NO_MEMORY;
    }
    if (!ts__ex_is_valid(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_BAD_CAPTURE;
    const ts_reason unknown = ts__ex_is_known(e);
    if (unknown) return unknown;
    while (h->region_count > e->region_capacity || !e->regions) {
        ts__ex_range **const more =
            ts__mem_more(a, e->regions, &e->region_capacity, e->region_capacity,
                         sizeof *more);
        if (!more) return TS_REASON_NO_MEMORY;
        e->regions = more;
    }
    while (h->args_size > e->args_capacity || !e->args) {
        uint8_t *const more =
            ts__mem_more(a, e->args, &e->args_capacity, e->args_capacity, 1);
        if (!more) return TS_REASON_NO_MEMORY;
        e->args = more;
    }
    if (h->args_size) memcpy(e->args, e->now.args, h->args_size);
    const ts_reason code = ts__ex_code(e, item);
    if (code) return code;
    for (uint32_t i = 0; i < h->region_count; i++) {
        e->held = i;
        const ts_reason reason =
            ts__ex_find(e, &e->now.regions[i], &e->regions[i]);
        if (reason && e->missing_bytes) ts__ex_explain_shortage(e, item);
        if (reason) return reason;
    }
    if (!ts__ex_have_all(e))
        return h->state == TS_CAPTURE_HASHES ? TS_REASON_SNAPSHOT_BUDGET
                                             : TS_REASON_MEMORY_MISSING;
    return ts__ex_has_args(h) ? ts__ex_rewrite(e, item) : ts__ex_ends(e, item);
}

// Forgets the hashes of an operation's regions after a failed run, or before a
// repeated one.
static void ts__ex_forget_hashes(ts_execution *e)
{
    for (uint32_t i = 0; i < e->now.head.region_count; i++) {
        const ts__ex_range *const r = e->regions[i];
        for (uint64_t k = 0; k < ts__ex_chunks(r->size); k++)
            ts__ex_set_known(r, k, 0);
    }
}

// Runs the operation once, from the recorded inputs or from what a chain left.
static ts_reason ts__ex_once(ts_execution *e, ts_execution_item *item)
{
    ts_result result = ts__ex_fill(e, item);
    if (result != TS_OK) return TS_REASON_DEVICE_FAILED;
    __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
    const ts_reason refused = ts__ex_reason(e, ts__ex_submit(e));
    // Work submitted before the refusal runs anyway and uses memory of the
    // host.
    result = e->desc.executor->wait(e->state, e->desc.timeout_ms);
    if (result == TS_ERR_BUSY) e->lost = true;
    if (result != TS_ERR_BUSY)
        __atomic_store_n(&item->running, 0, __ATOMIC_RELEASE);
    if (result == TS_OK && !refused) result = ts__ex_check(e, item);
    const ts_reason reason =
        result == TS_OK ? refused : ts__ex_reason(e, result);
    if (reason && !e->lost) ts__ex_forget_hashes(e);
    return reason;
}

// Repeats the run from the same inputs. If results differ, the operation is not
// deterministic.
static ts_reason ts__ex_repeat(ts_execution *e, ts_execution_item *item)
{
    const uint64_t first = item->digest;
    ts_reason reason = TS_REASON_NONE;
    for (uint32_t i = 1; i < e->desc.loops && !reason; i++) {
        __atomic_store_n(&item->runs, i, __ATOMIC_RELEASE);
        ts_execution_item other = *item;
        other.chunks = other.chunks_different = other.chunks_tolerated = 0;
        ts__ex_forget_hashes(e);
        // Other threads watch the item, not its copy.
        __atomic_store_n(&item->running, 1, __ATOMIC_RELEASE);
        reason = ts__ex_once(e, &other);
        __atomic_store_n(&item->running, other.running, __ATOMIC_RELEASE);
        if (reason || other.digest == first) continue;
        item->unstable = true;
        if (item->diverged || !other.diverged) continue;
        *item = other; // report where it diverged, and by how much
        item->unstable = true;
        item->digest = first;
    }
    return reason;
}

static bool ts__ex_is_done(const ts_capture *c, ts_execution_item *item)
{
    if (c->head.kind == TS_EVENT_HOST_FUNCTION) {
        // The host performs it. Its results are part of the inputs of later
        // operations.
        item->outcome = TS_OUTCOME_SUBSTITUTED;
        item->reason = TS_REASON_HOST_CALLBACK;
    } else if (c->head.state == TS_CAPTURE_DECLINED) {
        item->outcome = TS_OUTCOME_DECLINED;
        item->reason = c->head.reason < TS_REASON_LIMIT && c->head.reason
                           ? c->head.reason
                           : TS_REASON_BAD_CAPTURE;
    }
    return item->outcome != TS_OUTCOME_NONE;
}

// Sets the outcome of an operation.
static void ts__ex_settle(const ts_execution *e, ts_execution_item *item,
                          ts_reason reason)
{
    // In a chain, the inputs of later operations contain the recorded results.
    const bool known = e->desc.chain && e->now.head.state == TS_CAPTURE_WHOLE;
    item->reason = reason;
    if (reason) item->level = 0;
    // release: a thread that reads the outcome also sees the rest of the item
    __atomic_store_n(&item->outcome,
                     !reason ? TS_OUTCOME_EXECUTED
                     : known && reason != TS_REASON_TIMEOUT
                         ? TS_OUTCOME_SUBSTITUTED
                         : TS_OUTCOME_DECLINED,
                     __ATOMIC_RELEASE);
}

// Advances the position of a chain in the record.
static void ts__ex_advance(ts_execution *e)
{
    const uint64_t order = e->now.head.order;
    e->late = e->desc.chain && order <= e->order;
    if (order > e->order) e->order = order;
}

TS_API void ts_execution_run(ts_execution *e, size_t index,
                             ts_execution_item *item)
{
    memset(item, 0, sizeof *item);
    ts_reason reason = TS_REASON_BAD_CAPTURE;
    if (index < e->count &&
        ts_reader_capture(e->reader, e->captures[index], &e->now)) {
        if (ts__ex_is_done(&e->now, item)) return;
        e->op = index;
        ts__ex_advance(e);
        reason = e->lost ? TS_REASON_DEVICE_FAILED : ts__ex_prepare(e, item);
        if (!reason) reason = ts__ex_once(e, item);
        if (!reason && e->desc.loops > 1) reason = ts__ex_repeat(e, item);
        if (!e->lost) ts__ex_drop_hosts(e);
    }
    ts__ex_settle(e, item, reason);
}

static int ts__ex_order_range(const void *left, const void *right)
{
    const ts_executor_range *const a = left, *const b = right;
    if (a->device != b->device) return a->device < b->device ? -1 : 1;
    if (a->address != b->address) return a->address < b->address ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static bool ts__ex_add_device(ts_execution *e, uint32_t track)
{
    uint32_t at = 0;
    while (at < e->device_count && e->devices[at] < track)
        at++;
    if (at < e->device_count && e->devices[at] == track) return true;
    if (e->device_count == 64) return false;
    memmove(&e->devices[at + 1], &e->devices[at],
            (e->device_count++ - at) * sizeof *e->devices);
    e->devices[at] = track;
    return true;
}

// Adds the devices of graph nodes. Returns false if there are too many.
static bool ts__ex_add_nodes(ts_execution *e, const ts_capture *c)
{
    ts_capture_node n = { .index = 0 };
    while (c->head.kind == TS_EVENT_GRAPH_LAUNCH && ts_capture_node_next(c, &n))
        if (ts__ex_is_device(e, n.head.track) &&
            !ts__ex_add_device(e, n.head.track))
            return false;
    return true;
}

static bool ts__ex_same_range(const ts_executor_range *a,
                              const ts_executor_range *b)
{
    return a->address == b->address && a->size == b->size &&
           a->device == b->device;
}

// Lists the memory ranges of all captures, without adjacent duplicates, and
// adds their devices.
static ts_result ts__ex_all_ranges(ts_execution *e, ts_executor_range **ranges,
                                   size_t *count, size_t *capacity)
{
    const ts_capture *const c = &e->now;
    for (size_t i = 0; i < e->count; i++) {
        if (!ts_reader_capture(e->reader, e->captures[i], &e->now)) continue;
        if (c->head.state == TS_CAPTURE_DECLINED || !ts__ex_has_room(e))
            continue;
        if (!ts__ex_add_nodes(e, c)) continue;
        for (uint32_t j = 0; j < c->head.region_count; j++) {
            const ts_capture_region *const r = &c->regions[j];
            if (!ts__ex_is_device(e, r->device) || !ts__ex_is_listed(e, r))
                continue;
            // Reported as TS_REASON_TOO_MANY later.
            if (!ts__ex_add_device(e, r->device)) continue;
            if (r->image) continue;
            ts_executor_range *const more = ts__mem_more(
                &e->desc.allocator, *ranges, capacity, *count, sizeof *more);
            if (!more) return TS_ERR_MEMORY;
            *ranges = more;
            const ts_executor_range one = { r->address, r->size, r->device,
                                            NULL };
            if (!*count || !ts__ex_same_range(&more[*count - 1], &one))
                more[(*count)++] = one;
        }
    }
    for (size_t i = 0; i < *count; i++) {
        ts_executor_range *const r = &(*ranges)[i];
        ts_track device;
        if (ts_reader_track(e->reader, r->device, &device))
            r->name = device.name.text;
        r->device = ts__ex_device(e, r->device);
    }
    if (*count) ts__sort(*ranges, *count, sizeof **ranges, ts__ex_order_range);
    return TS_OK;
}

static ts_result ts__ex_open(ts_execution *e, char *why, size_t room)
{
    ts_executor_range *ranges = NULL;
    size_t count = 0, capacity = 0;
    ts_result result = ts__ex_all_ranges(e, &ranges, &count, &capacity);
    e->scratch = ts__mem_get(&e->desc.allocator, TS_CAPTURE_CHUNK + 8);
    if (!e->scratch) result = TS_ERR_MEMORY;
    if (result == TS_OK)
        result = e->desc.executor->open(&e->state,
                                        e->device_count ? e->device_count : 1,
                                        ranges, count, why, room);
    ts__mem_put(&e->desc.allocator, ranges, capacity * sizeof *ranges);
    return result;
}

TS_API ts_result ts_execution_open(ts_execution **execution, ts_reader *reader,
                                   const size_t *captures, size_t count,
                                   const ts_execution_desc *desc, char *why,
                                   size_t room)
{
    if (!execution) return TS_ERR_USAGE;
    *execution = NULL;
    if (room) *why = 0;
    if (!reader || !desc || !desc->executor || (count && !captures) ||
        desc->element >= TS_ELEMENT_LIMIT)
        return TS_ERR_USAGE;
    ts_execution_desc d = *desc;
    if (!d.allocator.resize) d.allocator.resize = ts__mem_default;
    if (!d.timeout_ms) d.timeout_ms = 10000;
    if (!d.element) d.element = TS_ELEMENT_F32;
    ts_execution *const e = ts__mem_get(&d.allocator, sizeof *e);
    if (!e) return TS_ERR_MEMORY;
    memset(e, 0, sizeof *e);
    e->reader = reader;
    e->captures = captures;
    e->count = count;
    e->desc = d;
    const XXH128_hash_t zeros = XXH3_128bits(ts__ex_zeros, sizeof ts__ex_zeros);
    e->zeros[0] = zeros.low64;
    e->zeros[1] = zeros.high64;
    const ts_result result = ts__ex_open(e, why, room);
    if (result == TS_OK)
        *execution = e;
    else
        ts_execution_close(e);
    return result;
}

TS_API void ts_execution_close(ts_execution *e)
{
    if (!e) return;
    const ts_allocator a = e->desc.allocator;
    // Work that still runs uses all of it. Check once more whether it has
    // ended.
    if (e->lost && e->desc.executor->wait(e->state, 0) == TS_OK)
        e->lost = false;
    if (!e->lost) {
        ts__ex_drop_hosts(e);
        while (e->range_count)
            ts__ex_drop(e, e->range_count - 1);
    }
    if (e->state && !e->lost) e->desc.executor->close(e->state);
    ts__mem_put(&a, e->ranges, e->range_capacity * sizeof *e->ranges);
    ts__mem_put(&a, e->hosts, e->host_capacity * sizeof *e->hosts);
    ts__mem_put(&a, e->modules, e->module_capacity * sizeof *e->modules);
    ts__mem_put(&a, e->streams, e->stream_capacity * sizeof *e->streams);
    ts__mem_put(&a, e->lanes, e->lane_capacity * sizeof *e->lanes);
    ts__mem_put(&a, e->events, e->event_capacity * sizeof *e->events);
    ts__mem_put(&a, e->regions, e->region_capacity * sizeof *e->regions);
    ts__mem_put(&a, e->args, e->args_capacity);
    ts__mem_put(&a, e->scratch, e->scratch ? TS_CAPTURE_CHUNK + 8 : 0);
    ts__mem_put(&e->reader->allocator, e->contents.bytes, e->contents.size);
    for (int i = 0; i < 2; i++)
        ts__mem_put(&e->reader->allocator, e->lists[i].scratch.bytes,
                    e->lists[i].scratch.size);
    ts__mem_put(&a, e, sizeof *e);
}
