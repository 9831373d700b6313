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
    uint32_t code; // low half of its record, 0: nothing to end
    uint32_t depth;
} ts_zone;

// All cases of the two functions below that are not the usual one, each in one
// call, so that little code lies in the way of the usual one.
TS_API TS__COLD ts_zone ts__zone_begin_slow(ts_site *site);
TS_API TS__COLD void ts__zone_end_slow(uint64_t start, uint32_t code,
                                       uint32_t depth);

/*
    What begins a zone sets its members one by one: compilers keep a structure
    that is copied as a whole in memory, or pack it. And what is known before is
    kept in them: of a variable gcc warns in functions that call setjmp.
*/
// quick: the machine's counter is known to be the clock.
TS__INLINE void ts__zone_open(ts_zone *zone, ts__ring *ring, bool quick)
{
    zone->depth = TS__LOAD(&ring->depth);
    ts__open *const open = ts__ring_open(ring, zone->depth);
    // Not the zone that had the entry before, which has ended: the process may
    // be killed before the entry is complete.
    TS__STORE(&open->depth, UINT32_MAX);
    // The depth grows first: a handler's zones go above our entry.
    ts__ring_deeper(ring, zone->depth);
    zone->start = quick ? ts__tick_machine() : ts__tick();
    // release: these and ts__ring_deeper pair with the acquires in
    // ts__open_zones
    __atomic_store_n(&open->start, zone->start, __ATOMIC_RELEASE);
    TS__STORE(&open->code, zone->code);
    __atomic_store_n(&open->depth, zone->depth, __ATOMIC_RELEASE);
}

TS__INLINE void ts__zone_begin(ts_zone *zone, ts_site *site)
{
    zone->start = zone->depth = 0;
    zone->code = TS__LOAD(&ts__here.gate);
    if (!zone->code) return;
    zone->depth = zone->code; // the gate
    zone->code = TS__CODE(&site->code);
    ts__ring *const ring = ts__mine;
    if (TS__LIKELY(zone->code && ts__is(&ring->quick, zone->depth))) {
        ts__zone_open(zone, ring, true);
        return;
    }
    ts_zone made = ts__zone_begin_slow(site);
    zone->start = made.start;
    zone->code = made.code;
    zone->depth = made.depth;
}

// A zone at a site made by ts_site_define (0: none).
static inline void ts__zone_begin_site(ts_zone *zone, uint32_t site)
{
    ts__ring *const ring = site ? ts__ring_get(1) : TS__NULL;
    zone->start = zone->depth = 0;
    zone->code = ring ? TS__ZONE_CODE(site) : 0;
    if (ring) ts__zone_open(zone, ring, false);
}

// As ts_site_define, for a static place of which only the name changes: its
// `code` becomes the number of the place.
TS_API uint32_t ts__site_named(const char *name, ts_site *base);

static inline void ts__zone_begin_named(ts_zone *zone, const char *name,
                                        ts_site *base)
{
    zone->code = TS__LOAD(&ts__here.gate);
    ts__zone_begin_site(zone, zone->code ? ts__site_named(name, base) : 0);
}

// Begins a zone by hand. Cost and threads: as TS_ZONE.
static inline ts_zone ts_zone_begin(ts_site *site)
{
    ts_zone zone;
    ts__zone_begin(&zone, site);
    return zone;
}

// Begins a zone at a site made by ts_site_define.
static inline ts_zone ts_zone_begin_site(uint32_t site)
{
    ts_zone zone;
    ts__zone_begin_site(&zone, site);
    return zone;
}

// Ends a zone of the calling thread; a second time does nothing.
TS__INLINE void ts_zone_end(ts_zone *zone)
{
    if (!zone->code) return;
    ts__ring *const ring = ts__mine;
    // All that can be known before the clock is read: what comes after it must
    // wait for it.
    if (TS__LIKELY(ts__quick() && ts__ring_has(ring, 1))) {
        const uint64_t duration = ts__tick_machine() - zone->start;
        const uint64_t turned = duration << 32 | duration >> 32;
        if (TS__LIKELY(TS__AS(uint32_t, turned) == 0)) {
            ts__ring_publish(ring, ts__ring_reserve(ring, 1), zone->start,
                             turned | zone->code);
            // Only now: a crash in between leaves the zone recorded and open,
            // which salvage can tell; the other order could leave it neither.
            // A signal handler may have given the thread a larger ring.
            TS__STORE(&ts__mine->depth, zone->depth);
            zone->code = 0;
            return;
        }
    }
    ts__zone_end_slow(zone->start, zone->code, zone->depth);
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
