/* ---- Encoder: from a ring to chunks ------------------------------------- */

static bool ts__slot_ready(const ts__ring *ring, uint64_t position, uint64_t *a,
                           uint32_t more)
{
    const ts__slot *const slot = &ring->slots[position & ring->mask];
    // acquire: pairs with the release in ts__ring_publish
    *a = __atomic_load_n(&slot->a, __ATOMIC_ACQUIRE);
    return (*a & 0xFF) == (ts__ring_tag(ring, position) | more);
}

// The slots of a record, by its kind. A table, because a switch would cost a
// jump for each record.
static uint32_t ts__record_slots(uint64_t b)
{
    static const uint8_t slots[TS__REC_FLOW + 1] = { 1, 1, 1, 1, 2, 2, 1,
                                                     2, 1, 0, 1, 3, 2, 1 };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 16 & 0xFFFF);
    return kind <= TS__REC_FLOW ? slots[kind] : 1;
}

// The kind of event of a record; 0: none that this version writes.
static uint32_t ts__record_event(uint64_t b)
{
    static const uint8_t events[TS__REC_FLOW + 1] = { 0,
                                                      TS_EVENT_ZONE,
                                                      TS_EVENT_MARK,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_COUNTER,
                                                      TS_EVENT_FREE,
                                                      TS_EVENT_ALLOC,
                                                      TS_EVENT_FRAME,
                                                      0,
                                                      0,
                                                      TS_EVENT_KERNEL,
                                                      TS_EVENT_ZONE_ARG,
                                                      TS_EVENT_FLOW };
    const uint32_t kind = b & 63;
    if (kind == TS__REC_ROW) return (uint32_t)(b >> 6 & 1023);
    return kind <= TS__REC_FLOW ? events[kind] : 0;
}

// Reads the payload of a record; false if one of its slots is missing or it is
// too long, which only a fault can cause.
static bool ts__record_payload(const ts__ring *ring, uint64_t position,
                               uint32_t slots, uint8_t *bytes)
{
    for (uint32_t i = 1; i < slots; i++) {
        uint64_t low, high;
        if (!ts__slot_ready(ring, position + i, &low, 1)) return false;
        high = TS__LOAD(&ring->slots[(position + i) & ring->mask].b);
        low >>= 8;
        memcpy(bytes, &low, 8);
        memcpy(bytes + 7, &high, 8);
        bytes += 15;
    }
    return true;
}

// Number of columns of a row, without its text.
static uint32_t ts__row_values(uint32_t event)
{
    uint32_t count = 0;
    const uint8_t *const ids = ts_event_columns(event);
    for (int i = 0; ids[i]; i++)
        count += ids[i] != TS_COLUMN_TEXT;
    return count;
}

// Bytes of text in a valid record.
static uint32_t ts__record_text(uint64_t b)
{
    if ((b & 63) != TS__REC_ROW) return 0;
    return (uint32_t)(b >> 32) - 8 - 8 * ts__row_values(ts__record_event(b));
}

TS__SMALL_BEGIN
static bool ts__record_valid(const ts__ring *ring, uint64_t position,
                             uint64_t b, uint64_t upto)
{
    const uint32_t slots = ts__record_slots(b);
    const uint32_t event = ts__record_event(b);
    if ((b & 63) == TS__REC_THREAD) return true;
    if (event && slots == 1 && (b & 63) != TS__REC_ROW) return true;
    if (!event || event >= TS_EVENT_LIMIT || !ts_event_columns(event) ||
        !slots || position + slots > upto)
        return false;
    if ((b & 63) == TS__REC_ROW) {
        const size_t columns = ts__row_values(event);
        const size_t size = (size_t)(b >> 32);
        if (size < 8 + 8 * columns || ts__slots_for(size) != slots ||
            size > 8 + 8 * columns + TS__TEXT_MAX)
            return false;
    }
    uint64_t a;
    for (uint32_t i = 1; i < slots; i++)
        if (!ts__slot_ready(ring, position + i, &a, 1)) return false;
    return true;
}
TS__SMALL_END

// Removes a zone from the list of open ones: it has been recorded.
static void ts__open_close(ts__encoder *e, uint64_t start, uint64_t site)
{
    for (uint32_t i = 0; i < e->open_count; i++)
        if (e->open[i].start == start && e->open[i].site == site)
            e->open[i].site = 0;
}

/*
    Scans the records from batch->from on: takes zones into columns 0 to 2 and
    notes which other kinds there are. Stops at `upto`, at a change of thread,
    when the work space is full, or at a record under construction. With `dead`
    nobody completes such a record any more, and it is skipped.
*/
static void ts__batch_scan(ts__encoder *e, const ts__ring *ring,
                           ts__batch *batch, uint64_t upto, bool dead)
{
    const uint64_t base = e->base;
    uint64_t position = batch->from;
    uint64_t texts = 0;
    uint32_t rows = 0;
    batch->zones = 0;
    batch->events = batch->stale = batch->bad = 0;
    batch->next = batch->track;
    while (position < upto && rows < TS__BATCH_ROWS &&
           position - batch->from < TS__BATCH_SLOTS &&
           texts < TS__BATCH_TEXT / 2) {
        uint64_t a;
        if (!ts__slot_ready(ring, position, &a, 0)) {
            if (!dead) break;
            position++;
            continue;
        }
        const uint64_t b = TS__LOAD(&ring->slots[position & ring->mask].b);
        if (TS__LIKELY((b & 63) == TS__REC_ZONE)) {
            const uint64_t start = ts__tick_full(e->now, a >> 8);
            position++;
            if (TS__UNLIKELY((int64_t)(start - base) < 0)) {
                batch->stale++;
                continue;
            }
            if (TS__UNLIKELY(e->open_count))
                ts__open_close(e, start, b >> 6 & (TS__CODE_LIMIT - 1));
            e->column[0][batch->zones] = start;
            e->column[1][batch->zones] = b >> 32;
            e->column[2][batch->zones++] = b >> 6 & (TS__CODE_LIMIT - 1);
            rows++;
            continue;
        }
        if (!ts__record_valid(ring, position, b, upto)) {
            // A handler died in the middle of a record that it interrupted.
            batch->bad++;
            position++;
            continue;
        }
        if ((b & 63) == TS__REC_THREAD) {
            batch->next = (uint32_t)(b >> 6);
            position++;
            if (rows) break;
            batch->track = batch->next;
            continue;
        }
        batch->events |= UINT64_C(1) << ts__record_event(b);
        texts += ts__record_text(b);
        position += ts__record_slots(b);
        rows++;
    }
    batch->to = position;
    batch->sound = !dead && !batch->bad;
}

TS__SMALL_BEGIN
// Decodes a record of ts__kernel_put into row `row`.
static void ts__kernel_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t row, uint32_t *clock)
{
    const ts__slot *const one = &ring->slots[(position + 1) & ring->mask];
    const ts__slot *const two = &ring->slots[(position + 2) & ring->mask];
    const uint64_t place = TS__LOAD(&one->a) >> 8, times = TS__LOAD(&one->b);
    const uint64_t what = TS__LOAD(&two->a) >> 8;
    *clock = (uint32_t)(b >> 6) & 0x3FFFF;
    if (what & (TS__CODE_LIMIT - 1))
        e->track[row] = what & (TS__CODE_LIMIT - 1);
    e->column[0][row] = a >> 8 | (b >> 24 & 0xFF) << 56;
    e->column[1][row] = b >> 32;
    e->column[2][row] = TS__LOAD(&two->b);
    e->column[3][row] = (uint32_t)times;
    e->column[4][row] = times >> 32;
    e->column[5][row] = place >> 26;
    e->column[6][row] = place & (TS__CODE_LIMIT - 1);
    e->column[7][row] = 0; // stack
    e->column[8][row] = what >> 26;
    e->column[9][row] = 0; // graph
    e->column[10][row] = 0;
}

// Decodes a record's columns and text into row `row`.
static void ts__record_read(ts__encoder *e, const ts__ring *ring,
                            uint64_t position, uint64_t a, uint64_t b,
                            uint32_t track, uint32_t row, uint32_t *clock)
{
    const uint32_t slots = ts__record_slots(b);
    const uint64_t code = b >> 6 & (TS__CODE_LIMIT - 1);
    uint8_t *const p = e->payload;
    uint64_t value = 0;
    const bool kernel = (b & 63) == TS__REC_KERNEL;
    if (slots > 1 && !kernel) ts__record_payload(ring, position, slots, p);
    e->track[row] = track;
    e->text_size[row] = 0;
    e->column[0][row] = ts__tick_full(e->now, a >> 8);
    *clock = 0;
    switch (b & 63) {
    case TS__REC_KERNEL:
        ts__kernel_read(e, ring, position, a, b, row, clock);
        break;
    case TS__REC_MARK:
    case TS__REC_FRAME: e->column[1][row] = code; break;
    case TS__REC_COUNTER:
        e->track[row] = code;
        e->column[1][row] = TS_VALUE_INT;
        e->column[2][row] = (uint64_t)(int64_t)(int32_t)(b >> 32);
        break;
    case TS__REC_COUNTER64:
    case TS__REC_COUNTERF:
        e->track[row] = code;
        e->column[1][row] =
            (b & 63) == TS__REC_COUNTERF ? TS_VALUE_DOUBLE : TS_VALUE_INT;
        memcpy(&e->column[2][row], p, 8);
        break;
    case TS__REC_FREE: // without a pool, where a flow has its phase
    case TS__REC_FLOW:
        e->column[1][row] = b >> 16;
        e->column[2][row] = b >> 6 & 3;
        break;
    case TS__REC_VALUE:
        e->column[1][row] = code;
        e->column[2][row] = b >> 32 & (TS__CODE_LIMIT - 1);
        e->column[3][row] = b >> 58;
        memcpy(&e->column[4][row], p + 7, 8);
        e->column[5][row] = 0; // stack
        break;
    case TS__REC_ALLOC: {
        uint32_t pool_site[2];
        memcpy(&value, p, 7);
        memcpy(pool_site, p + 7, 8);
        e->column[1][row] = b >> 16;
        e->column[2][row] = value;
        e->column[3][row] = pool_site[0];
        e->column[4][row] = 0;
        e->column[5][row] = pool_site[1];
        e->column[6][row] = 0;
        break;
    }
    default: { // a row
        const uint8_t *const ids = ts_event_columns(ts__record_event(b));
        uint32_t n = 0, own_track;
        memcpy(&own_track, p, 4);
        memcpy(clock, p + 4, 4);
        if (own_track) e->track[row] = own_track;
        for (uint32_t i = 0; ids[i]; i++)
            if (ids[i] != TS_COLUMN_TEXT)
                memcpy(&e->column[i][row], p + 8 + 8 * n++, 8);
        const uint32_t text = (uint32_t)(b >> 32) - 8 - 8 * n;
        memcpy(e->text + e->text_used, p + 8 + 8 * n, text);
        e->text_used += text;
        e->text_size[row] = text;
    }
    }
}

// A clock that ran backwards must not lead to a chunk that readers refuse.
static void ts__durations_check(uint64_t *duration, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if ((int64_t)duration[i] < 0) duration[i] = 0;
}

// Encodes the rows of one kind and one clock of a batch as a chunk. Returns the
// next clock that has rows, 0 when there is none.
static uint32_t ts__batch_rows(ts__encoder *e, const ts__ring *ring,
                               const ts__batch *batch, uint32_t event,
                               uint32_t clock)
{
    uint32_t count = 0, next = 0;
    e->text_used = 0;
    for (uint64_t i = batch->from; i < batch->to;) {
        uint64_t a;
        const uint64_t b = TS__LOAD(&ring->slots[i & ring->mask].b);
        const uint64_t position = i;
        if (!ts__slot_ready(ring, i, &a, 0) ||
            (!batch->sound && !ts__record_valid(ring, i, b, batch->to))) {
            i++;
            continue;
        }
        i += ts__record_slots(b);
        if (ts__record_event(b) != event || (b & 63) == TS__REC_ZONE) continue;
        uint32_t own;
        const uint32_t texts = e->text_used;
        ts__record_read(e, ring, position, a, b, batch->track, count, &own);
        // 13 kinds of operations and 31 clocks at most: TS__CHUNKS_PER_BATCH is
        // enough, whatever a damaged sidecar holds.
        if (event < TS_EVENT_GPU_FIRST || own >= TS__CLOCKS_MAX) own = 0;
        if (own == clock) {
            count++;
            continue;
        }
        e->text_used = texts;
        if (own > clock && (!next || own < next)) next = own;
    }
    if (count && ts_event_columns(event)[1] == TS_COLUMN_DURATION)
        ts__durations_check(e->column[1], count);
    if (count && event == TS_EVENT_ZONE)
        ts__encode_zones(e, batch->track, count);
    else if (count)
        ts__encode_rows(e, event, clock, count);
    return next;
}

static void ts__batch_encode(ts__encoder *e, const ts__ring *ring,
                             const ts__batch *batch)
{
    if (batch->zones) ts__encode_zones(e, batch->track, batch->zones);
    for (uint32_t event = 0; event < TS_EVENT_LIMIT; event++) {
        if (!(batch->events >> event & 1)) continue;
        uint32_t clock = 0;
        do
            clock = ts__batch_rows(e, ring, batch, event, clock);
        while (clock);
    }
}

// compress: only where memory may be allocated, which producers must not do.
static ts__encoder *ts__encoder_take(const ts__sidecar *sidecar, bool compress)
{
    for (;;) {
        for (uint32_t i = 0; i < TS__ENCODERS; i++) {
            uint32_t busy = TS__LOAD(&ts__c.encoders_busy);
            if (busy >> i & 1) continue;
            if (!__atomic_compare_exchange_n(
                    &ts__c.encoders_busy, &busy, busy | 1u << i, false,
                    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) {
                i--; // it changed under us: look again
                continue;
            }
            ts__encoder *const e = ts__c.encoders[i];
            ts__encoder_reset(e);
            e->base = sidecar->head.header.start_tick;
            e->now = ts_tick_now();
            e->open_count = 0;
            e->compress = compress ? ts__c.desc.compress : 0;
            return e;
        }
        const uint32_t seen = TS__LOAD(&ts__c.encoder_wake);
        if (TS__LOAD(&ts__c.encoders_busy) == (1u << TS__ENCODERS) - 1)
            ts__futex_wait(&ts__c.encoder_wake, seen, 1000000u);
    }
}

static void ts__encoder_give(const ts__encoder *e)
{
    for (uint32_t i = 0; i < TS__ENCODERS; i++)
        if (ts__c.encoders[i] == e)
            __atomic_fetch_and(&ts__c.encoders_busy, ~(1u << i),
                               __ATOMIC_RELEASE);
    ts__futex_bump(&ts__c.encoder_wake);
}
TS__SMALL_END
