TS__SMALL_END

/* ---- Records with a payload --------------------------------------------- */

// Writes a slot after the first one of a record; `a` has 56 bits.
static void ts__ring_more(ts__ring *ring, uint64_t position, uint64_t a,
                          uint64_t b)
{
    ts__slot *const slot = &ring->slots[position & ring->mask];
    TS__STORE(&slot->b, b);
    TS__STORE(&slot->a, a << 8 | ts__ring_tag(ring, position) | 1);
}

// Copies bytes into the slots after a reserved position, 15 to a slot; reads up
// to 14 bytes beyond the last. It stores whole words: a slot assembled from
// bytes would be loaded before these have left the store buffer, 4 ns a slot.
static void ts__ring_fill(ts__ring *ring, uint64_t position,
                          const uint8_t *bytes, size_t size)
{
    for (size_t done = 0; done < size; done += 15) {
        uint64_t low, high;
        memcpy(&low, bytes + done, 8);
        memcpy(&high, bytes + done + 7, 8);
        ts__ring_more(ring, ++position, low, high);
    }
}

static uint32_t ts__slots_for(size_t size)
{
    return 1 + (uint32_t)((size + 14) / 15);
}

static void ts__ring_put(ts__ring *ring, uint64_t tick, uint64_t b,
                         const uint8_t *bytes, size_t size)
{
    const uint32_t slots = ts__slots_for(size);
    const uint64_t position = ts__ring_reserve(ring, slots);
    ts__ring_count_more(ring, slots - 1);
    ts__ring_fill(ring, position, bytes, size);
    ts__ring_publish(ring, position, tick, b);
}

/*
    A row: u32 track, u32 clock, a u64 for each of ts_event_columns but the
    text, then the text. A long row is written with signals blocked, because
    TS__RING_MARGIN bounds what nested handlers may reserve.
*/
static void ts__row_put_in(uint8_t *bytes, uint32_t event, uint32_t track,
                           uint32_t clock, const uint64_t *values,
                           uint32_t count, const char *text, size_t size)
{
    memcpy(bytes, &track, 4);
    memcpy(bytes + 4, &clock, 4);
    memcpy(bytes + 8, values, 8 * count);
    if (size) memcpy(bytes + 8 + 8 * count, text, size);
    size += 8 + 8 * count;
    memset(bytes + size, 0, 14);
    const uint32_t slots = ts__slots_for(size);
    ts__ring *ring = ts__ring_get(slots);
    if (!ring) return;
    const uint64_t b = (uint64_t)size << 32 | (uint64_t)slots << 16 |
                       (uint64_t)event << 6 | TS__REC_ROW;
    if (slots <= 32) {
        ts__ring_put(ring, values[0], b, bytes, size);
        return;
    }
    ts__caller old;
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!ts__enter(&old)) return;
    ring = ts__mine;
    if (ts__session_still(gate) && TS__LOAD(&ring->gate) == gate) {
        if (!ts__ring_fits(ring, slots)) // a handler was faster
            ring = ts__ring_make_room(ring, slots, gate);
        if (ring) ts__ring_put(ring, values[0], b, bytes, size);
    }
    ts__leave(&old);
}

enum {
    TS__ROW_BYTES = 8 + 8 * TS__COLUMNS_PER_EVENT + 16,
    TS__TEXT_SHORT = 256
};

// Not inlined: a signal handler may run on a small stack, and only a long text
// needs much of it.
static __attribute__((noinline)) void
ts__row_put_long(uint32_t event, uint32_t track, uint32_t clock,
                 const uint64_t *values, uint32_t count, const char *text,
                 size_t size)
{
    uint8_t bytes[TS__ROW_BYTES + TS__TEXT_MAX];
    if (size > TS__TEXT_MAX) size = TS__TEXT_MAX;
    ts__row_put_in(bytes, event, track, clock, values, count, text, size);
}

static __attribute__((noinline)) void
ts__row_put(uint32_t event, uint32_t track, uint32_t clock,
            const uint64_t *values, uint32_t count, const char *text,
            size_t size)
{
    uint8_t bytes[TS__ROW_BYTES + TS__TEXT_SHORT];
    if (size > TS__TEXT_SHORT)
        ts__row_put_long(event, track, clock, values, count, text, size);
    else
        ts__row_put_in(bytes, event, track, clock, values, count, text, size);
}

TS__SMALL_BEGIN

// The innermost open zone; false if there is none, or if zones TS__OPEN_MAX
// levels deeper have overwritten its entry.
static bool ts__open_zone_get(ts__ring *ring, uint64_t *start, uint32_t *code)
{
    const uint32_t depth = TS__LOAD(&ring->depth) - 1;
    const ts__open *const entry = ts__ring_open(ring, depth);
    *start = TS__LOAD(&entry->start);
    *code = TS__LOAD(&entry->code) >> 6;
    return depth != UINT32_MAX && TS__LOAD(&entry->depth) == depth;
}

// A short row of this thread into a ring that is known to have room.
static void ts__row_write(ts__ring *ring, uint32_t event,
                          const uint64_t *values, uint32_t count)
{
    // 16 more: ts__ring_fill reads whole slots.
    uint8_t bytes[8 + 8 * TS__COLUMNS_PER_EVENT + 16] = { 0 };
    memcpy(bytes + 8, values, 8 * count);
    const size_t size = 8 + 8 * count;
    ts__ring_put(ring, values[0],
                 (uint64_t)size << 32 | (uint64_t)ts__slots_for(size) << 16 |
                     (uint64_t)event << 6 | TS__REC_ROW,
                 bytes, size);
}

static uint32_t ts__open_site(ts__ring *ring)
{
    uint64_t start;
    uint32_t code;
    return ts__open_zone_get(ring, &start, &code) ? code : 0;
}

// The name of a site (0: unknown), by a search through the blocks.
static uint32_t ts__site_name(uint32_t site)
{
    // acquire: pairs with the release in ts__block_add
    const uint32_t count =
        __atomic_load_n(&ts__c.block_count, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count; i++) {
        const ts__block *const block = &ts__c.blocks[i];
        // acquire: pairs with the releases of those who add entries
        const uint64_t end = __atomic_load_n(block->used, __ATOMIC_ACQUIRE);
        for (uint64_t at = 0; at < end;) {
            const ts__entry *const e =
                (const ts__entry *)(const void *)(block->bytes + at);
            uint32_t name = 0;
            memcpy(&name, ts__entry_bytes(e), e->size < 4 ? 0 : 4);
            if (e->kind == TS_CHUNK_SITES && e->id == site) return name;
            at += ts__entry_room(e->size);
        }
    }
    return 0;
}

bool ts_zone_inside(const char *name)
{
    ts__ring *const ring = ts__mine;
    const size_t size = name ? strlen(name) : 0;
    const ts__entry *const entry = ts__entry_find(
        TS_CHUNK_NAMES, name, size, ts__mix(name, size, TS_CHUNK_NAMES) | 1);
    if (!entry || !name) return false;
    uint32_t depth = TS__LOAD(&ring->depth);
    bool inside = false;
    ts__caller old;
    if (!ts__enter(&old)) return false;
    ts__lock_take(&ts__c.names); // blocks grow under it
    for (uint32_t i = 0; i < TS__OPEN_MAX && i < depth && !inside; i++) {
        const ts__open *const open = ts__ring_open(ring, depth - 1 - i);
        inside = ts__site_name(TS__LOAD(&open->code) >> 6) == entry->id;
    }
    ts__lock_give(&ts__c.names);
    ts__leave(&old);
    return inside;
}

// The ring, if it has an innermost zone to which something can be attached.
static ts__ring *ts__ring_inside(uint64_t *start, uint32_t *code)
{
    ts__ring *const ring = ts__ring_get(8);
    if (!ring || !TS__LOAD(&ring->depth)) return NULL;
    if (ts__open_zone_get(ring, start, code)) return ring;
    const uint64_t now = ts__tick();
    ts__loss_ring(ring, TS_LOSS_TOO_DEEP, 1, now, now, 0);
    return NULL;
}

static void ts__zone_arg(const char *name, uint32_t stack, const char *text)
{
    uint64_t start;
    uint32_t code;
    if (!ts__ring_inside(&start, &code)) return;
    const uint64_t row[] = {
        start, code, name ? ts_name_define(name) : 0, TS_VALUE_TEXT, 0, stack
    };
    ts__row_put(TS_EVENT_ZONE_ARG, ts__track, 0, row, 6, text,
                text ? strlen(text) : 0);
}

static void ts__zone_value(const char *name, ts_value_type type, uint64_t value)
{
    uint64_t start;
    uint32_t site;
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint64_t number = ts_name_define(name);
    ts__ring *const ring = ts__ring_inside(&start, &site);
    if (!ring) return;
    const uint64_t b = (uint64_t)type << 58 | number << 32 |
                       (uint64_t)site << 6 | TS__REC_VALUE;
    const uint64_t position = ts__ring_reserve(ring, 2);
    ts__ring_count_more(ring, 1);
    ts__ring_more(ring, position + 1, 0, value);
    ts__ring_publish(ring, position, start, b);
}

void ts_zone_value_int(const char *name, int64_t value)
{
    ts__zone_value(name, TS_VALUE_INT, (uint64_t)value);
}

void ts_zone_value_double(const char *name, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__zone_value(name, TS_VALUE_DOUBLE, bits);
}

void ts_zone_text(const char *text)
{
    if (text) ts__zone_arg(NULL, 0, text);
}

void ts_zone_stack(uint32_t stack)
{
    if (stack) ts__zone_arg("stack", stack, NULL);
}

TS__COLD void ts__mark_slow(ts_site *site)
{
    ts__ring *const ring = ts__ring_get(1);
    const uint32_t code = ring ? ts__site_code(site) : 0;
    if (!code) return;
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     code + (TS__REC_MARK - TS__REC_ZONE));
}

// A sample of 64 bits.
static void ts__counter_put(ts__ring *ring, uint32_t code, uint32_t record,
                            uint64_t value)
{
    const uint64_t tick = ts__tick();
    uint8_t bytes[22] = { 0 };
    memcpy(bytes, &value, 8);
    ts__ring_put(ring, tick, code + (record - TS__REC_COUNTER), bytes, 8);
}

TS__COLD void ts__counter_slow(ts_counter *counter, int64_t value)
{
    ts__ring *const ring = ts__ring_get(2);
    const uint32_t code = ring ? ts__counter_code(counter) : 0;
    if (!code) return;
    if (value != (int32_t)value) {
        ts__counter_put(ring, code, TS__REC_COUNTER64, (uint64_t)value);
        return;
    }
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     (uint64_t)value << 32 | code);
}

void ts_counter_double(ts_counter *counter, double value)
{
    ts__ring *const ring = ts__ring_get(2);
    const uint32_t code = ring ? ts__counter_code(counter) : 0;
    if (!code) return;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ts__counter_put(ring, code, TS__REC_COUNTERF, bits);
}

void ts_counter_uint(ts_counter *counter, uint64_t value)
{
    if (value <= INT64_MAX)
        ts_counter_int(counter, (int64_t)value);
    else
        ts_counter_double(counter, (double)value);
}

TS__COLD void ts__alloc_slow(uint64_t address, uint64_t size, uint32_t pool,
                             uint32_t category)
{
    if (!address || !ts__ring_get(8)) return;
    const uint64_t row[] = {
        ts_tick_now(), address, size, pool, category, ts__open_site(ts__mine), 0
    };
    ts__row_put(TS_EVENT_ALLOC, ts__track, 0, row, 7, NULL, 0);
}

void ts_alloc_stack(const void *ptr, uint64_t size, uint32_t pool,
                    uint32_t category, uint32_t stack)
{
    ts__ring *const ring = ptr ? ts__ring_get(8) : NULL;
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), (uint64_t)(uintptr_t)ptr, size, pool,
                             category,   ts__open_site(ring),      stack };
    ts__row_put(TS_EVENT_ALLOC, ts__track, 0, row, 7, NULL, 0);
}

TS__COLD void ts__free_slow(uint64_t address, uint32_t pool)
{
    if (!address || !ts__ring_get(8)) return;
    const uint64_t row[] = { ts_tick_now(), address, pool };
    ts__row_put(TS_EVENT_FREE, ts__track, 0, row, 3, NULL, 0);
}

void ts_message_sized(const char *text, size_t size)
{
    ts__ring *const ring = text ? ts__ring_get(8) : NULL;
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), ts__open_site(ring) };
    ts__row_put(TS_EVENT_MESSAGE, ts__track, 0, row, 2, text, size);
}

void ts_message(const char *text)
{
    ts_message_sized(text, text ? strlen(text) : 0);
}

enum { TS__FRAME_HOOKS = 4 };
static void (*ts__frame_hooks[TS__FRAME_HOOKS])(const char *name, bool sure);

ts_result ts_frame_listen(void (*hook)(const char *name, bool sure))
{
    for (int i = 0; i < TS__FRAME_HOOKS; i++) {
        void (*old)(const char *name, bool sure) = NULL;
        if (__atomic_compare_exchange_n(&ts__frame_hooks[i], &old, hook, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
            old == hook)
            return TS_OK;
    }
    return TS_ERR_MEMORY;
}

// The list is filled from its beginning, so the first empty place ends it.
static void ts__frame_report(const char *name, bool sure)
{
    for (int i = 0; i < TS__FRAME_HOOKS; i++) {
        void (*const hook)(const char *name, bool sure) =
            __atomic_load_n(&ts__frame_hooks[i], __ATOMIC_RELAXED);
        if (!hook) return;
        hook(name, sure);
    }
}

void ts_frame_hint(const char *name)
{
    ts__frame_report(name, false);
}

void ts_frame(ts_site *site)
{
    ts__ring *const ring = ts__ring_get(1);
    if (!ring) return;
    const uint32_t code = ts__site_code(site);
    if (!code) return;
    const uint64_t tick = ts__tick();
    ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                     code + (TS__REC_FRAME - TS__REC_ZONE));
    ts__frame_report(site->name, true);
}

void ts_flow(uint64_t id, ts_phase phase)
{
    ts__ring *const ring = ts__ring_get(4);
    if (!ring) return;
    if (TS__LIKELY(!(id >> 48) && (uint32_t)phase < 4)) {
        const uint64_t tick = ts__tick();
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), tick,
                         id << 16 | (uint64_t)phase << 6 | TS__REC_FLOW);
        return;
    }
    const uint64_t row[] = { ts__tick(), id, (uint64_t)phase };
    ts__row_put(TS_EVENT_FLOW, ts__track, 0, row, 3, NULL, 0);
}

static void ts__span(uint64_t id, ts_phase phase, uint32_t site)
{
    ts__ring *const ring = ts__ring_get(4);
    if (!ring) return;
    const uint64_t row[] = { ts__tick(), id, (uint64_t)phase, site };
    ts__row_put(TS_EVENT_SPAN, ts__track, 0, row, 4, NULL, 0);
}

void ts_span_start(uint64_t id, ts_site *site)
{
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint32_t code = ts__site_code(site);
    if (code) ts__span(id, TS_PHASE_START, code >> 6);
}

void ts_span_end(uint64_t id)
{
    ts__span(id, TS_PHASE_END, 0);
}

void ts_sample(uint32_t name, uint32_t unit, int64_t weight, uint32_t stack)
{
    ts__ring *const ring = ts__ring_get(8);
    if (!ring) return;
    const uint64_t row[] = { ts__tick(),       name, unit, TS_VALUE_INT,
                             (uint64_t)weight, stack };
    ts__row_put(TS_EVENT_SAMPLE, ts__track, 0, row, 6, NULL, 0);
}
