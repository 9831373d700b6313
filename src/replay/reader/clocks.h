/* ---- Reader: clocks ----------------------------------------------------- */

/*
    A clock is piecewise linear between its samples; the first and the last
    segment are extrapolated. Everything is computed in integers:

        raw = segment.raw + floor(x * ns / ticks),  x = tick - segment.start

    For 0 <= x < span three multiplications are enough, without a division:
    with ns = whole * ticks + rest and inverse = floor(rest * 2^64 / ticks),
    e = (x * inverse) >> 64 is floor(x * rest / ticks) or one less, because
    x * rest / ticks - x * inverse / 2^64 < x / 2^64 < 1.

    Times are kept within +-2^62 ns, so that differences do not overflow.
*/
#define TS__TIME_MAX (INT64_C(1) << 62)

// Converts any tick exactly, but slowly.
static int64_t ts__segment_far(const ts__clocks *clocks,
                               const ts__segment *segment, uint64_t tick)
{
    const int64_t x = (int64_t)(tick - segment->start);
    const ts__wide ns =
        ts__wide_divide(ts__wide_product(x, segment->ns), segment->ticks);
    const ts__wide time =
        ts__wide_subtract(ts__wide_add(ns, segment->raw), clocks->base);
    return ts__wide_clamp(time, TS__TIME_MAX);
}

static inline int64_t ts__segment_near(const ts__segment *segment, uint64_t x)
{
    const uint64_t e = ts__product_high(x, segment->inverse);
    const uint64_t left = x * segment->rest - e * segment->ticks;
    return (int64_t)(segment->time + x * segment->whole + e +
                     (left >= segment->ticks));
}

// Finds the segment that contains a tick, or the nearest one.
static const ts__segment *ts__segment_find(const ts__clocks *clocks,
                                           const ts__clock *clock,
                                           uint64_t tick)
{
    const ts__segment *const segments = clocks->segments + clock->first;
    uint32_t low = 0, high = clock->count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if ((int64_t)(tick - segments[middle].start) >= 0)
            low = middle;
        else
            high = middle;
    }
    return &segments[low];
}

static int ts__order_clock(const void *a, const void *b)
{
    const ts__clock *const x = a, *const y = b;
    return ts__order_u64(x->id, y->id);
}

// Finds a clock. Clocks without a sample share the last one of the set, which
// counts nanoseconds.
static const ts__clock *ts__clock_find(const ts__clocks *clocks, uint32_t id)
{
    const ts__clock wanted = { .id = id };
    if (id < clocks->clock_count - 1 && clocks->clocks[id].id == id)
        return &clocks->clocks[id]; // the usual case
    const ts__clock *const found =
        bsearch(&wanted, clocks->clocks, clocks->clock_count - 1, sizeof wanted,
                ts__order_clock);
    return found ? found : &clocks->clocks[clocks->clock_count - 1];
}

static bool ts__clock_known(const ts__clocks *clocks, uint32_t id)
{
    return ts__clock_find(clocks, id) !=
           &clocks->clocks[clocks->clock_count - 1];
}

static int64_t ts__clock_time(const ts__clocks *clocks, uint32_t id,
                              uint64_t tick)
{
    const ts__segment *const segment =
        ts__segment_find(clocks, ts__clock_find(clocks, id), tick);
    if (tick - segment->start < segment->span)
        return ts__segment_near(segment, tick - segment->start);
    return ts__segment_far(clocks, segment, tick);
}

// Prepares a segment for ts__segment_near, as far as results cannot overflow.
static void ts__segment_finish(const ts__clocks *clocks, ts__segment *segment,
                               bool last)
{
    const ts__wide zero = ts__wide_product(0, 0);
    const int64_t time = ts__wide_clamp(
        ts__wide_subtract(ts__wide_add(zero, segment->raw), clocks->base),
        TS__TIME_MAX);
    segment->whole = segment->ns / segment->ticks;
    segment->rest = segment->ns % segment->ticks;
    segment->inverse = ts__fraction(segment->rest, segment->ticks);
    segment->time = (uint64_t)time; // not used if it was clamped
    segment->span = (uint64_t)(TS__TIME_MAX / 2) / (segment->whole + 1);
    if (!last && segment->span > segment->ticks) segment->span = segment->ticks;
    if (time > TS__TIME_MAX / 2 || time < -TS__TIME_MAX / 2) segment->span = 0;
}

/*
    Many ticks, without branches and with factors of 32 bits, so that compilers
    make vectors of it: as ts__segment_near, but with 32 bits after the point
    and from an origin in the segment, for ticks less than 2^32 after it. What
    the origin leaves of a nanosecond, `left`, is carried, so e is too small by
    at most two.
*/
typedef struct ts__narrow {
    uint64_t start, last, time, left; // last: the last tick, from `start`
    uint32_t ticks, rest, whole, inverse;
} ts__narrow;

enum { TS__NARROW = 16 }; // a constant count of rounds: no remainder to handle

// Prepares for ticks around one of the segment. False: the factors are wide.
static bool ts__narrow_open(ts__narrow *narrow, const ts__segment *segment,
                            uint64_t tick)
{
    const uint64_t x = tick - segment->start, before = UINT64_C(1) << 31;
    if (x >= segment->span || segment->ticks > UINT32_MAX ||
        segment->whole > UINT32_MAX)
        return false;
    const uint64_t origin = x > before ? x - before : 0;
    const uint64_t after = segment->span - 1 - origin;
    const uint64_t time = (uint64_t)ts__segment_near(segment, origin);
    narrow->start = segment->start + origin;
    narrow->last = after < UINT32_MAX ? after : UINT32_MAX;
    narrow->time = time;
    narrow->left =
        origin * segment->rest -
        (time - segment->time - origin * segment->whole) * segment->ticks;
    narrow->ticks = (uint32_t)segment->ticks;
    narrow->rest = (uint32_t)segment->rest;
    narrow->whole = (uint32_t)segment->whole;
    narrow->inverse = (uint32_t)(segment->inverse >> 32);
    return true;
}

// Converts blocks of ticks up to the first with one out of reach. Returns how
// many ticks that were.
static uint32_t ts__narrow_blocks(const ts__narrow *n, const uint64_t *ticks,
                                  uint32_t count, int64_t *times)
{
    const uint64_t start = n->start, last = n->last, time = n->time;
    const uint64_t once = (uint64_t)n->ticks - 1, twice = once + n->ticks;
    const uint32_t per = n->ticks, rest = n->rest, whole = n->whole;
    const uint32_t inverse = n->inverse;
    uint32_t done = 0;
    for (; count - done >= TS__NARROW; done += TS__NARROW) {
        const uint64_t *const from = ticks + done;
        uint64_t made[TS__NARROW], beyond = 0;
        for (uint32_t i = 0; i < TS__NARROW; i++) {
            const uint64_t ahead = from[i] - start;
            const uint32_t x = (uint32_t)ahead;
            const uint32_t e = (uint32_t)((uint64_t)x * inverse >> 32);
            const uint64_t left =
                n->left + (uint64_t)x * rest - (uint64_t)e * per;
            beyond |= ahead >> 32 | (last - ahead) >> 63;
            made[i] = time + (uint64_t)x * whole + e + ((once - left) >> 63) +
                      ((twice - left) >> 63);
        }
        if (beyond) break;
        memcpy(times + done, made, sizeof made);
    }
    return done;
}

#ifdef TS__AVX2
// The same, four ticks at a time.
__attribute__((target("avx2"))) static uint32_t
ts__narrow_avx2(const ts__narrow *n, const uint64_t *ticks, uint32_t count,
                int64_t *times)
{
    const __m256i start = ts__all_avx2(n->start), last = ts__all_avx2(n->last);
    const __m256i time = ts__all_avx2(n->time), left = ts__all_avx2(n->left);
    const __m256i per = ts__all_avx2(n->ticks), rest = ts__all_avx2(n->rest);
    const __m256i whole = ts__all_avx2(n->whole);
    const __m256i inverse = ts__all_avx2(n->inverse);
    const __m256i once = ts__all_avx2((uint64_t)n->ticks - 1);
    const __m256i twice = _mm256_add_epi64(once, per);
    uint32_t done = 0;
    for (; count - done >= TS__NARROW; done += TS__NARROW) {
        __m256i beyond = _mm256_setzero_si256();
        for (uint32_t i = 0; i < TS__NARROW / 4; i++) {
            const __m256i x =
                _mm256_sub_epi64(ts__load_avx2(ticks + done + 4 * i), start);
            const __m256i e =
                _mm256_srli_epi64(_mm256_mul_epu32(x, inverse), 32);
            const __m256i l = _mm256_sub_epi64(
                _mm256_add_epi64(left, _mm256_mul_epu32(x, rest)),
                _mm256_mul_epu32(e, per));
            const __m256i more = _mm256_add_epi64(
                _mm256_srli_epi64(_mm256_sub_epi64(once, l), 63),
                _mm256_srli_epi64(_mm256_sub_epi64(twice, l), 63));
            const __m256i outside = _mm256_or_si256(
                _mm256_srli_epi64(x, 32),
                _mm256_srli_epi64(_mm256_sub_epi64(last, x), 63));
            beyond = _mm256_or_si256(beyond, outside);
            const __m256i whole_ns =
                _mm256_add_epi64(time, _mm256_mul_epu32(x, whole));
            // Of a block that is out of reach, the caller stores all again.
            ts__store_avx2(
                times + done + 4 * i,
                _mm256_add_epi64(whole_ns, _mm256_add_epi64(e, more)));
        }
        if (!_mm256_testz_si256(beyond, beyond)) break;
    }
    return done;
}
#endif

static uint32_t ts__narrow_some(const ts__narrow *narrow, const uint64_t *ticks,
                                uint32_t count, int64_t *times)
{
#ifdef TS__AVX2
    if (ts__has_avx2()) return ts__narrow_avx2(narrow, ticks, count, times);
#endif
    return ts__narrow_blocks(narrow, ticks, count, times);
}

// Converts a tick that may lie in another segment than the one before.
static int64_t ts__clock_next(const ts__clocks *clocks, const ts__clock *clock,
                              const ts__segment **segment, uint64_t tick)
{
    if (tick - (*segment)->start >= (*segment)->span)
        *segment = ts__segment_find(clocks, clock, tick);
    const uint64_t x = tick - (*segment)->start;
    return x < (*segment)->span ? ts__segment_near(*segment, x)
                                : ts__segment_far(clocks, *segment, tick);
}

// Converts `count` ticks of one clock, which may lie in several segments.
static void ts__clock_times(const ts__clocks *clocks, uint32_t id,
                            const uint64_t *ticks, uint32_t count,
                            int64_t *times)
{
    const ts__clock *const clock = ts__clock_find(clocks, id);
    const ts__segment *segment = clocks->segments + clock->first;
    for (uint32_t i = 0; i < count;) {
        ts__narrow narrow;
        times[i] = ts__clock_next(clocks, clock, &segment, ticks[i]);
        if (ts__narrow_open(&narrow, segment, ticks[i]))
            i += ts__narrow_some(&narrow, ticks + i, count - i, times + i);
        const uint32_t end = count - i < TS__NARROW ? count : i + TS__NARROW;
        for (; i < end; i++)
            times[i] = ts__clock_next(clocks, clock, &segment, ticks[i]);
    }
}

static int ts__order_sample(const void *a, const void *b)
{
    const ts__sample *const x = a, *const y = b;
    if (x->clock != y->clock) return ts__order_u64(x->clock, y->clock);
    return ts__order_u64(x->order, y->order);
}

// Builds a clock with a single sample from its type or its known frequency.
static void ts__clock_single(const ts_reader *reader, ts__clocks *clocks,
                             const ts_clock_entry *entry)
{
    const uint64_t hz = ts__session_number(reader, "clock.hz");
    const bool counts_ns =
        entry->type == TS_CLOCK_MONOTONIC_RAW || entry->type == TS_CLOCK_OTHER;
    ts__segment segment = { .start = entry->tick,
                            .raw = (int64_t)entry->raw_ns };
    segment.ticks = hz && !counts_ns ? hz : 1;
    segment.ns = hz && !counts_ns ? 1000000000 : 1;
    if (!counts_ns) clocks->estimated = true;
    clocks->segments[clocks->segment_count++] = segment;
}

// Returns whether a sample may follow another; `start`: the first tick of the
// clock.
static bool ts__sample_follows(const ts_clock_entry *next,
                               const ts_clock_entry *last, uint64_t start)
{
    return (int64_t)(next->tick - last->tick) > 0 &&
           (int64_t)(next->raw_ns - last->raw_ns) >= 0 &&
           (int64_t)(next->tick - start) > 0;
}

static bool ts__sample_report(ts_reader *reader, ts__sample *sample)
{
    const ts__fault fault = ts__corrupt("a sample of a clock runs backwards");
    if (sample->backwards) return true;
    sample->backwards = true;
    return ts__damage_note(reader, fault, sample->offset, 0);
}

// Adds one clock with `count` samples, in the order of the file.
static bool ts__clock_build(ts_reader *reader, ts__clocks *clocks,
                            ts__sample *samples, size_t count)
{
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    const ts_clock_entry *last = &samples[0].entry;
    const uint64_t start = last->tick;
    clock->id = samples[0].clock;
    clock->first = clocks->segment_count;
    for (size_t i = 1; i < count; i++) {
        const ts_clock_entry *const next = &samples[i].entry;
        const uint64_t ticks = next->tick - last->tick;
        const uint64_t ns = next->raw_ns - last->raw_ns;
        if (!ticks && !ns) continue;
        if (!ts__sample_follows(next, last, start)) {
            if (!ts__sample_report(reader, &samples[i])) return false;
            continue;
        }
        const ts__segment segment = { .start = last->tick,
                                      .raw = (int64_t)last->raw_ns,
                                      .ticks = ticks,
                                      .ns = ns };
        clocks->segments[clocks->segment_count++] = segment;
        last = next;
    }
    if (clocks->segment_count == clock->first)
        ts__clock_single(reader, clocks, last);
    clock->count = clocks->segment_count - clock->first;
    return true;
}

// Adds the clock that is used for every clock without a sample. If the trace
// has no samples at all, clock 0 is one of these: then the start is time 0.
static void ts__clock_unknown(const ts_reader *reader, ts__clocks *clocks)
{
    const bool no_zero = clocks->clock_count == 0 || clocks->clocks[0].id != 0;
    const uint64_t hz = no_zero ? ts__session_number(reader, "clock.hz") : 0;
    const ts__segment segment = { .start =
                                      no_zero ? reader->header.start_tick : 0,
                                  .ticks = hz ? hz : 1,
                                  .ns = hz ? 1000000000 : 1 };
    ts__clock *const clock = &clocks->clocks[clocks->clock_count++];
    clock->id = UINT32_MAX;
    clock->first = clocks->segment_count;
    clock->count = 1;
    clocks->segments[clocks->segment_count++] = segment;
    if (no_zero) clocks->estimated = true;
}

// Allocates a set with room for one clock and segment per sample, and one more.
static ts__clocks *ts__clocks_make(ts_reader *reader)
{
    const size_t count = reader->sample_count + 1;
    const size_t size =
        sizeof(ts__clocks) + count * (sizeof(ts__segment) +
                                      sizeof(ts__realtime) + sizeof(ts__clock));
    ts__clocks *const clocks = ts__mem_get(&reader->allocator, size);
    if (!clocks) return NULL;
    memset(clocks, 0, size);
    clocks->memory_size = size;
    clocks->segments = (ts__segment *)(clocks + 1);
    clocks->realtimes = (ts__realtime *)(clocks->segments + count);
    clocks->clocks = (ts__clock *)(clocks->realtimes + count);
    return clocks;
}

static void ts__clocks_realtimes(const ts_reader *reader, ts__clocks *clocks)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        const ts__realtime point = { (int64_t)sample->entry.raw_ns,
                                     sample->entry.realtime_ns };
        const uint32_t count = clocks->realtime_count;
        if (sample->clock != 0) break;
        if (count && point.raw <= clocks->realtimes[count - 1].raw) continue;
        clocks->realtimes[clocks->realtime_count++] = point;
    }
}

// With a damaged header the first sample of clock 0 counts as the start.
static void ts__clocks_start(ts_reader *reader)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts__sample *const sample = &reader->samples[i];
        if (sample->clock != 0) continue;
        reader->header.start_tick = sample->entry.tick;
        reader->header.start_realtime_ns = sample->entry.realtime_ns;
        return;
    }
}

// Builds every clock from the samples, which are sorted by clock.
static bool ts__clocks_build(ts_reader *reader, ts__clocks *clocks)
{
    ts__sample *const samples = reader->samples;
    for (size_t i = 0, next; i < reader->sample_count; i = next) {
        next = i + 1;
        while (next < reader->sample_count &&
               samples[next].clock == samples[i].clock)
            next++;
        if (!ts__clock_build(reader, clocks, &samples[i], next - i))
            return false;
    }
    ts__clock_unknown(reader, clocks);
    ts__clocks_realtimes(reader, clocks);
    return true;
}

// Frees replaced sets that no cursor uses any more.
static void ts__clocks_sweep(ts_reader *reader)
{
    ts__clocks **link = &reader->clocks->older;
    while (*link) {
        ts__clocks *const clocks = *link;
        if (__atomic_load_n(&clocks->cursors, __ATOMIC_RELAXED)) {
            link = &clocks->older;
            continue;
        }
        *link = clocks->older;
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
    }
}

// Sets the base so that the start of the trace is time 0.
static void ts__clocks_base(const ts_reader *reader, ts__clocks *clocks)
{
    const uint64_t start = reader->header.start_tick;
    const ts__segment *const at =
        ts__segment_find(clocks, ts__clock_find(clocks, 0), start);
    const ts__wide ns = ts__wide_divide(
        ts__wide_product((int64_t)(start - at->start), at->ns), at->ticks);
    clocks->base = (int64_t)ts__wide_low(ts__wide_add(ns, at->raw));
    for (uint32_t i = 0; i < clocks->clock_count; i++) {
        const ts__clock *const clock = &clocks->clocks[i];
        for (uint32_t j = 0; j < clock->count; j++)
            ts__segment_finish(clocks, &clocks->segments[clock->first + j],
                               j + 1 == clock->count);
    }
}

static ts_result ts__clocks_finish(ts_reader *reader)
{
    ts__sort(reader->samples, reader->sample_count, sizeof *reader->samples,
             ts__order_sample);
    if (reader->header_damaged) ts__clocks_start(reader);
    ts__clocks *const clocks = ts__clocks_make(reader);
    if (!clocks) return TS_ERR_MEMORY;
    if (!ts__clocks_build(reader, clocks)) {
        ts__mem_put(&reader->allocator, clocks, clocks->memory_size);
        return TS_ERR_MEMORY;
    }
    ts__clocks_base(reader, clocks);
    clocks->older = reader->clocks;
    reader->clocks = clocks;
    ts__clocks_sweep(reader);
    reader->info.clock_estimated = clocks->estimated;
    return TS_OK;
}

TS_API int64_t ts_reader_time_ns(const ts_reader *reader, uint32_t clock,
                                 uint64_t tick)
{
    return ts__clock_time(reader->clocks, clock, tick);
}

TS_API bool ts_reader_clock_at(const ts_reader *reader, size_t index,
                               ts_clock_point *point)
{
    if (index >= reader->sample_count) return false;
    const ts__sample *const sample = &reader->samples[index];
    point->clock = sample->clock;
    point->entry = sample->entry;
    point->time_ns =
        ts__clock_time(reader->clocks, sample->clock, sample->entry.tick);
    return true;
}

TS_API bool ts_reader_boot(const ts_reader *reader, uint64_t *raw_ns,
                           uint64_t *boottime_ns)
{
    for (size_t i = 0; i < reader->sample_count; i++) {
        const ts_clock_entry *const entry = &reader->samples[i].entry;
        const uint64_t time_ns = (uint64_t)ts__clock_time(
            reader->clocks, reader->samples[i].clock, entry->tick);
        if (reader->samples[i].clock || !entry->boottime_ns ||
            entry->type == TS_CLOCK_OTHER)
            continue;
        *raw_ns = entry->raw_ns - time_ns;
        *boottime_ns = entry->boottime_ns - time_ns;
        return true;
    }
    return false;
}

// Interpolates between two samples, so that corrections of the clock are spread
// evenly; outside it extrapolates from the nearest sample at the rate of 1.
TS_API uint64_t ts_reader_realtime_ns(const ts_reader *reader, int64_t time_ns)
{
    const ts__clocks *const clocks = reader->clocks;
    const ts__wide base = ts__wide_product(clocks->base, 1);
    const int64_t raw = ts__wide_clamp(ts__wide_add(base, time_ns), INT64_MAX);
    const ts__realtime *const points = clocks->realtimes;
    if (!clocks->realtime_count)
        return reader->header.start_realtime_ns + (uint64_t)time_ns;
    uint32_t low = 0, high = clocks->realtime_count;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (raw >= points[middle].raw)
            low = middle;
        else
            high = middle;
    }
    const uint64_t from = (uint64_t)points[low].raw;
    const uint64_t x = (uint64_t)clocks->base + (uint64_t)time_ns - from;
    if (raw < points[low].raw || low + 1 == clocks->realtime_count)
        return points[low].realtime + x;
    const int64_t rise =
        (int64_t)(points[low + 1].realtime - points[low].realtime);
    return points[low].realtime +
           ts__wide_low(ts__wide_divide(ts__wide_product(rise, x),
                                        (uint64_t)points[low + 1].raw - from));
}
