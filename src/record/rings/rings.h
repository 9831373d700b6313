/* ---- Rings -------------------------------------------------------------- */

static size_t ts__ring_offset(void) // of the slots in the mapping
{
    return 8192;
}

static size_t ts__ring_bytes(uint32_t shift) // of the mapping
{
    return ts__ring_offset() + ((size_t)16 << shift);
}

static uint64_t ts__ring_slots(const ts__ring *ring)
{
    return ring->mask + 1;
}

// A ring of 1 << shift slots. Pool's lock held; NULL over the bound.
static ts__ring *ts__ring_new(uint32_t shift)
{
    ts__sidecar *const sidecar = ts__c.writer.sidecar;
    const size_t size = ts__ring_bytes(shift);
    const uint32_t index = ts__c.ring_count;
    if (index == TS__RINGS_MAX ||
        ts__c.ring_bytes + size > ts__c.desc.memory_bytes)
        return NULL;
    uint64_t offset = 0;
    ts__ring *const ring =
        (ts__ring *)ts__sidecar_grow(TS__GROW_RINGS, size, &offset);
    if (!ring) return NULL;
    ring->slots = (ts__slot *)(void *)((uint8_t *)ring + ts__ring_offset());
    ring->shift = shift;
    ring->mask = ((uint64_t)1 << shift) - 1;
    ring->lap = (uint64_t)1 << (57 - shift);
    // Start in lap 1, so that a slot of zeros reads as never written.
    ring->head = ring->tail = ts__ring_slots(ring);
    ts__rest(ring)->start = ring->head;
    ts__rest(ring)->drained_ns = ts__clock_ns(CLOCK_MONOTONIC);
    ts__rest(ring)->index = index;
    ring->limit = ts__c.desc.policy == TS_POLICY_OVERWRITE
                      ? UINT64_MAX
                      : ring->tail + ts__ring_slots(ring) - TS__RING_MARGIN;
    sidecar->rings[index].offset = offset;
    sidecar->rings[index].size = size;
    ts__c.rings[index] = ring;
    TS__STORE(&ts__c.ring_bytes, ts__c.ring_bytes + size);
    // release: pairs with the acquires of whoever walks the rings
    __atomic_store_n(&sidecar->ring_count, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&ts__c.ring_count, index + 1, __ATOMIC_RELEASE);
    return ring;
}

// Makes the calling thread the ring's owner. Pool's lock held.
static void ts__ring_own(ts__ring *ring, uint32_t gate)
{
    ts__ring_rest *const rest = ts__rest(ring);
    const uint64_t position = ts__ring_reserve(ring, 1);
    TS__STORE(&rest->owner, ts__track);
    rest->older = NULL;
    TS__STORE(&rest->owners[rest->owner_count % 16].position, position);
    TS__STORE(&rest->owners[rest->owner_count % 16].track, ts__track);
    // release: pairs with the acquire in ts__snapshot_track
    __atomic_store_n(&rest->owner_count, rest->owner_count + 1,
                     __ATOMIC_RELEASE);
    TS__STORE(&rest->state, TS__RING_OWNED);
    TS__STORE(&ring->depth, 0);
    TS__STORE(&ring->gate, gate);
    TS__STORE(&ring->quick, ts__quick() ? gate : 0);
    ts__ring_publish(ring, position, 0,
                     (uint64_t)ts__track << 6 | TS__REC_THREAD);
}

static uint32_t ts__shift_first(void)
{
    uint32_t shift = 11; // TS__RING_SLOTS_MIN
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE)
        while (((uint64_t)16 << shift) < ts__c.desc.ring_bytes)
            shift++;
    return shift;
}

static bool ts__ring_fits(ts__ring *ring, uint32_t count)
{
    return ring->head + count <= TS__LOAD(&ring->limit);
}

// Reads how far the consumer has come and moves the limit, never more than half
// a ring ahead, so that the drain is woken in time.
static bool ts__ring_refresh(ts__ring *ring, uint32_t count)
{
    if (ts__c.desc.policy == TS_POLICY_OVERWRITE) return true;
    // acquire: pairs with the release in ts__writer_append
    const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    const uint64_t slots = ts__ring_slots(ring);
    uint64_t limit = tail + slots - TS__RING_MARGIN;
    if (limit > ring->head + slots / 2) limit = ring->head + slots / 2;
    TS__STORE(&ring->limit, limit);
    if (ring->head - tail >= slots / 4 && TS__LOAD(&ts__c.thread_runs)) {
        ts__futex_bump(&ts__c.wake);
    }
    return ts__ring_fits(ring, count);
}

static void ts__ring_drain(ts__ring *ring, uint64_t upto, bool dead);
static void ts__row_write(ts__ring *ring, uint32_t event,
                          const uint64_t *values, uint32_t count);

// Unmaps a thread's rings of an ended session: its last and the smaller ones.
static void ts__rings_unmap(ts__ring *ring)
{
    while (ring) {
        ts__ring *const older = ts__rest(ring)->older;
        munmap(ring, ts__ring_bytes(ring->shift));
        ring = older;
    }
}

// A ring of at least 1 << shift slots: a free one, or a new one. Pool's lock
// held; only ts__ring_attach reads the count without it.
static ts__ring *ts__ring_pick(uint32_t shift)
{
    uint32_t *const list = ts__c.free_rings;
    const uint32_t last = ts__c.free_count - 1;
    for (uint32_t i = last; i != UINT32_MAX; i--) {
        ts__ring *const ring = ts__c.rings[list[i]];
        if (ring->shift < shift) continue;
        list[i] = list[last];
        TS__STORE(&ts__c.free_count, last);
        return ring;
    }
    return ts__ring_new(shift);
}

/*
    Finds a ring for a thread that has none in this session; called inside the
    slow path. The thread's ring of the session before remains mapped until the
    next session, because we may be in a signal handler that interrupted a
    record into it.
*/
static ts__ring *ts__ring_attach(uint32_t gate)
{
    ts__ring *ring = NULL;
    if (!TS__LOAD(&ts__c.free_count) && ts__grow_refused(TS__GROW_RINGS)) {
        ts__loss_now(ts__track, TS_LOSS_MEMORY_BOUND);
        return NULL;
    }
    // ts_thread_track enters the slow path itself.
    ts__inside = 0;
    const bool known = ts_thread_track() != 0;
    ts__inside = 1;
    if (!known) {
        ts__grow_failed(TS__GROW_RINGS);
        ts__loss_now(0, TS_LOSS_DICTIONARY_FULL);
        return NULL;
    }
    ts__lock_take(&ts__c.pool);
    const bool still = ts__session_still(gate);
    if (still) ring = ts__ring_pick(ts__shift_first());
    // Many short threads can fill a ring between two visits of the drain. Its
    // last owner has ended: unpublished slots will never be published.
    if (ring && !ts__ring_refresh(ring, 2))
        ts__ring_drain(ring, ring->head, true);
    if (ring)
        ts__ring_own(ring, gate);
    else if (still)
        ts__loss_now(ts__track, TS_LOSS_MEMORY_BOUND);
    ts__lock_give(&ts__c.pool);
    if (!ring) return NULL;
    if (ts__mine != &ts__none) { // of an earlier session
        ts__rings_unmap(ts__before);
        ts__before = ts__mine;
    }
    ts__mine = ring;
    pthread_setspecific(ts__c.key, ring);
    return ring;
}

/*
    Gives a larger ring to a thread that fills its own. With `stuck`, one of the
    same size: the old one cannot be emptied because a slot was reserved and
    never published (a jump out of a signal handler, a cancelled thread). The
    old ring belongs to the thread until it ends, because we may be in a signal
    handler that interrupted a record into it.
*/
static ts__ring *ts__ring_grow(ts__ring *ring, uint32_t gate, bool stuck)
{
    uint32_t shift = ring->shift;
    const uint32_t depth = ring->depth;
    if (!stuck) {
        // Nor while a handler has interrupted the begin of a zone, whose entry
        // is going to be completed in this ring.
        if (((uint64_t)16 << shift) >= ts__c.desc.ring_bytes ||
            ts__ring_open(ring, depth - 1)->depth == UINT32_MAX)
            return NULL;
        shift += 2;
        while (((uint64_t)16 << shift) > ts__c.desc.ring_bytes)
            shift--;
    }
    ts__lock_take(&ts__c.pool);
    if (!ts__session_still(gate)) {
        ts__lock_give(&ts__c.pool);
        return NULL;
    }
    ts__ring *const next = ts__ring_pick(shift);
    if (next) {
        ts__ring_own(next, gate);
        memcpy(next->open, ring->open, sizeof next->open);
        ts__rest(next)->older = ring;
        // The old ring keeps its depth: what a handler interrupted may look for
        // the innermost zone there.
        TS__STORE(&next->depth, depth);
        TS__STORE(&ts__rest(ring)->state, TS__RING_RETIRED);
        TS__STORE(&ring->gate, 0);
        TS__STORE(&ring->quick, 0);
        ts__mine = next;
        pthread_setspecific(ts__c.key, next);
    }
    ts__lock_give(&ts__c.pool);
    return next;
}

// Whether the next record to drain was reserved by this very thread and never
// published.
static bool ts__ring_stuck(const ts__ring *ring)
{
    // acquire: pairs with the release in ts__writer_append
    const uint64_t tail = __atomic_load_n(&ring->tail, __ATOMIC_ACQUIRE);
    const ts__slot *const slot = &ring->slots[tail & ring->mask];
    return ring->head != tail &&
           (TS__LOAD(&slot->a) & 0xFF) != ts__ring_tag(ring, tail);
}

// Waits for the drain thread; false when waiting cannot help.
static bool ts__ring_block(ts__ring *ring, uint32_t count, uint32_t gate)
{
    while (!ts__ring_refresh(ring, count)) {
        if (!ts__session_still(gate) || !TS__LOAD(&ts__c.thread_runs) ||
            ts__ring_stuck(ring))
            return false;
        ts__futex_bump(&ts__c.wake);
        ts__futex_wait(&ts__c.drained, TS__LOAD(&ts__c.drained), 1000000u);
    }
    return true;
}

static ts__ring *ts__ring_make_room(ts__ring *ring, uint32_t count,
                                    uint32_t gate)
{
    if (ts__ring_refresh(ring, count)) return ring;
    ts__ring *const larger = ts__ring_grow(ring, gate, false);
    if (larger) return larger;
    const uint64_t tick = ts__tick();
    const uint64_t begin_ns = ts__clock_ns(CLOCK_MONOTONIC);
    ts_loss cause = TS_LOSS_RING_FULL;
    bool fits = false;
    if (ts__c.desc.policy == TS_POLICY_HELP) {
        cause = TS_LOSS_HELPED;
        ts__ring_drain(ring, ring->head, false);
        fits = ts__ring_refresh(ring, count);
    } else if (ts__c.desc.policy == TS_POLICY_BLOCK) {
        cause = TS_LOSS_BLOCKED;
        fits = ts__ring_block(ring, count, gate);
    }
    if (cause != TS_LOSS_RING_FULL)
        ts__loss_ring(ring, cause, 1, tick, ts__tick(),
                      ts__clock_ns(CLOCK_MONOTONIC) - begin_ns);
    if (fits) return ring;
    ts__ring *const fresh =
        cause != TS_LOSS_RING_FULL ? ts__ring_grow(ring, gate, true) : NULL;
    if (fresh) return fresh;
    if (ts__session_still(gate))
        ts__loss_ring(ring, TS_LOSS_RING_FULL, 1, tick, tick, 0);
    return NULL;
}

// Records the zones that an ending thread leaves open.
static void ts__ring_leave(ts__ring *ring)
{
    const uint32_t gate = ring->gate;
    for (uint32_t depth = 0; ring && depth < ring->depth; depth++) {
        const ts__open *const entry = ts__ring_open(ring, depth);
        if (entry->depth != depth) continue; // too deep
        const uint64_t row[] = { entry->start, entry->code >> 6, depth };
        if (!ts__ring_fits(ring, 8)) ring = ts__ring_make_room(ring, 8, gate);
        if (ring) ts__row_write(ring, TS_EVENT_ZONE_OPEN, row, 3);
    }
}

// Runs when a thread ends: returns its ring, and the smaller ones before it,
// which nobody can be using any more.
static void ts__ring_detach(void *value)
{
    ts__caller old;
    bool found = false;
    ts__ring *const mine = (ts__ring *)value;
    if (!ts__enter(&old)) return;
    if (ts__session_still(TS__LOAD(&mine->gate))) ts__ring_leave(mine);
    ts__mine = &ts__none;
    // Recording the open zones may have set a new ring: do not run again.
    pthread_setspecific(ts__c.key, NULL);
    ts__lock_take(&ts__c.pool);
    const uint32_t owner = ts__rest(mine)->owner;
    for (uint32_t i = 0; i < ts__c.ring_count; i++) {
        ts__ring *const ring = ts__c.rings[i];
        ts__ring_rest *const rest = ts__rest(ring);
        found |= ring == mine;
        if (rest->owner != owner || rest->state == TS__RING_FREE) continue;
        TS__STORE(&ring->depth, 0);
        TS__STORE(&rest->state, TS__RING_FREE);
        ts__c.free_rings[ts__c.free_count] = i;
        TS__STORE(&ts__c.free_count, ts__c.free_count + 1);
    }
    ts__lock_give(&ts__c.pool);
    if (!found) ts__rings_unmap(mine);
    ts__rings_unmap(ts__before);
    ts__before = NULL;
    ts__leave(&old);
}

// Room for `count` slots in the session numbered `gate`.
static ts__ring *ts__ring_room_in(uint32_t gate, uint32_t count)
{
    ts__caller old;
    if (!ts__enter(&old)) {
        // A fault inside the slow path. The interrupted code keeps the
        // session's memory mapped.
        ts__loss_now(ts__track, TS_LOSS_REENTRANT);
        return NULL;
    }
    ts__ring *ring = NULL;
    if (ts__session_still(gate)) {
        ring = ts__mine;
        if (TS__LOAD(&ring->gate) != gate) ring = ts__ring_attach(gate);
        if (ring && !ts__ring_fits(ring, count))
            ring = ts__ring_make_room(ring, count, gate);
    }
    ts__leave(&old);
    return ring;
}

ts__ring *ts__ring_room(uint32_t count)
{
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    return gate ? ts__ring_room_in(gate, count) : NULL;
}

// Counts a zone that began before this session.
static void ts__zone_stale(uint32_t gate)
{
    ts__caller old;
    if (!ts__enter(&old)) return;
    if (ts__session_still(gate)) ts__loss_now(ts__track, TS_LOSS_STALE);
    ts__leave(&old);
}

TS__COLD ts_zone ts__zone_begin_slow(ts_site *site)
{
    ts_zone zone = { 0, ts__site_code(site), 0 };
    ts__ring *const ring = zone.code ? ts__ring_get(1) : NULL;
    if (ring)
        ts__zone_open(&zone, ring, false);
    else
        zone.code = 0;
    return zone;
}

TS__COLD void ts__zone_end_slow(uint64_t start, uint32_t code, uint32_t depth)
{
    const uint64_t end = ts_tick_now(); // first: it may take the ring away
    const uint32_t gate = TS__LOAD(&ts__here.session); // also when paused
    ts__ring *ring = ts__mine;
    const uint64_t duration = end - start;
    if (!gate) return;
    if ((int64_t)(start - TS__LOAD(&ts__c.start_tick)) < 0) {
        ts__zone_stale(gate);
        return;
    }
    // 8 slots: what ts__row_put needs, in case the gate is closed.
    if (TS__LOAD(&ring->gate) != gate || !ts__ring_fits(ring, 8))
        ring = ts__ring_room_in(gate, 8);
    if (!ring) {
        if (TS__LOAD(&ts__mine->gate) == gate)
            TS__STORE(&ts__mine->depth, depth);
        return;
    }
    if (duration >> 32 == 0) {
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), start,
                         duration << 32 | code);
    } else {
        const uint64_t row[] = { start, duration, code >> 6 };
        ts__row_write(ring, TS_EVENT_ZONE, row, 3);
    }
    TS__STORE(&ts__mine->depth, depth);
}
