/* ==== Zones ============================================================== */

/*
    A zone is a named interval of one thread's time; zones nest. A zone that
    ends on another thread is recorded on that thread: use a span for such work.

    TS_ZONE(name)                   until the end of the block
    TS_ZONE(name, category)         the same with a category
    TS_ZONE(name, category, color)  and a colour 0xRRGGBB
    TS_FUNCTION()                   the same, named after the function
    TS_ZONE_NAME(text)              the same, with a name made at run time,
                                    which is looked up each time
    TS_ZONE_BEGIN(var, name)        declares `var` and begins a zone
    TS_ZONE_END(var)                ends it; a second time does nothing
    TS_ZONE_VALUE(name, number)     a named number of the innermost zone
    TS_ZONE_TEXT(text)              a text of the innermost zone, at most
                                    8,000 bytes are kept

    All other names and categories must be string literals.
*/
typedef struct ts_zone { // private
    uint64_t start;
    uint32_t code; // 0: nothing to end
    uint32_t depth;
} ts_zone;

// Slow cases of the two functions below.
TS_API uint32_t ts__site_code(ts_site *site);
TS_API void ts__zone_end_slow(ts_zone zone, uint64_t end);

static inline ts_zone ts__zone_begin_code(ts__ring *ring, uint32_t code)
{
    ts_zone zone;
    // The depth grows first: a handler's zones go above our entry.
    zone.depth = TS__LOAD(&ring->depth);
    TS__STORE(&ring->depth, zone.depth + 1);
    zone.code = code;
    zone.start = ts__tick();
    ts__open *const entry = &ring->open[zone.depth % TS__OPEN_MAX];
    TS__STORE(&entry->start, zone.start);
    TS__STORE(&entry->code_depth, code | TS__AS(uint64_t, zone.depth) << 32);
    return zone;
}

// Begins a zone by hand. Cost and threads: as TS_ZONE.
static inline ts_zone ts_zone_begin(ts_site *site)
{
    const ts_zone none = { 0, 0, 0 };
    ts_zone zone = none; // its code here: gcc fears setjmp for a variable's
    const uint32_t gate = TS__LOAD(&ts__here.gate);
    if (!gate) return none;
    zone.code = TS__CODE(&site->code);
    if (TS__UNLIKELY(!zone.code) && !(zone.code = ts__site_code(site)))
        return none;
    ts__ring *ring = ts__mine;
    if (TS__UNLIKELY(TS__LOAD(&ring->gate) != gate) &&
        !(ring = ts__ring_room(1)))
        return none;
    return ts__zone_begin_code(ring, zone.code);
}

// Begins a zone at a site made by ts_site_define.
static inline ts_zone ts_zone_begin_site(uint32_t site)
{
    const ts_zone none = { 0, 0, 0 };
    ts__ring *const ring = site ? ts__ring_get(1) : TS__NULL;
    return ring ? ts__zone_begin_code(ring, site) : none;
}

static inline ts_zone ts__zone_begin_named(const char *name,
                                           const ts_site *base)
{
    const uint32_t on = TS__LOAD(&ts__here.gate);
    return ts_zone_begin_site(on ? ts_site_define(name, base) : 0);
}

// Ends a zone of the calling thread; a second time does nothing.
static inline void ts_zone_end(ts_zone *zone)
{
    if (!zone->code) return;
    const uint64_t end = ts__tick(); // first: it may take the ring away
    ts__ring *const ring = ts__mine;
    const uint64_t duration = end - zone->start;
    if (TS__LIKELY(duration >> 32 == 0 &&
                   TS__LOAD(&ring->head) < TS__LOAD(&ring->limit))) {
        ts__ring_publish(ring, ts__ring_reserve(ring, 1), zone->start,
                         duration << 32 | zone->code << 6 | TS__REC_ZONE);
        // Only now: a crash in between leaves the zone recorded and open,
        // which salvage can tell; the other order could leave it neither.
        TS__STORE(&ring->depth, zone->depth);
    } else {
        // By value, so that the compiler may keep a zone in registers.
        ts__zone_end_slow(*zone, end);
    }
    zone->code = 0;
}

// Ends a zone while zones inside it are still open, as ranges of libraries may.
static inline void ts_zone_end_outer(ts_zone *zone)
{
    zone->depth = TS__LOAD(&ts__mine->depth);
    ts_zone_end(zone);
}

// Attaches a number to the innermost open zone; the name is copied.
TS_API void ts_zone_value_int(const char *name, int64_t value);
// Attaches a number in floating point to the innermost open zone; the name is
// copied.
TS_API void ts_zone_value_double(const char *name, double value);
// Attaches a text to the innermost open zone, of which 8,000 bytes are kept.
// NULL is ignored.
TS_API void ts_zone_text(const char *text);
