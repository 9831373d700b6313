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

static ts__int128 ts__floor_div(ts__int128 a, uint64_t b)
{
    const ts__int128 quotient = a / (ts__int128)b;
    return quotient - (a % (ts__int128)b < 0);
}

// Converts any tick exactly, but slowly.
static int64_t ts__segment_far(const ts__clocks *clocks,
                               const ts__segment *segment, uint64_t tick)
{
    const int64_t x = (int64_t)(tick - segment->start);
    const ts__int128 ns =
        ts__floor_div((ts__int128)x * (ts__int128)segment->ns, segment->ticks);
    const ts__int128 time =
        (ts__int128)segment->raw - (ts__int128)clocks->base + ns;
    if (time > TS__TIME_MAX) return TS__TIME_MAX;
    if (time < -TS__TIME_MAX) return -TS__TIME_MAX;
    return (int64_t)time;
}

static inline int64_t ts__segment_near(const ts__segment *segment, uint64_t x)
{
    const uint64_t e = (uint64_t)((ts__uint128)x * segment->inverse >> 64);
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
    const ts__int128 time = (ts__int128)segment->raw - (ts__int128)clocks->base;
    segment->whole = segment->ns / segment->ticks;
    segment->rest = segment->ns % segment->ticks;
    segment->inverse =
        (uint64_t)(((ts__uint128)segment->rest << 64) / segment->ticks);
    segment->time = (uint64_t)time;
    segment->span = (uint64_t)(TS__TIME_MAX / 2) / (segment->whole + 1);
    if (!last && segment->span > segment->ticks) segment->span = segment->ticks;
    if (time > TS__TIME_MAX / 2 || time < -TS__TIME_MAX / 2) segment->span = 0;
}

// Converts `count` ticks of one clock, which may lie in several segments.
static void ts__clock_times(const ts__clocks *clocks, uint32_t id,
                            const uint64_t *ticks, uint32_t count,
                            int64_t *times)
{
    const ts__clock *const clock = ts__clock_find(clocks, id);
    ts__segment segment = { 0 };
    for (uint32_t i = 0; i < count; i++) {
        if (ticks[i] - segment.start >= segment.span) {
            segment = *ts__segment_find(clocks, clock, ticks[i]);
            if (ticks[i] - segment.start >= segment.span) {
                times[i] = ts__segment_far(clocks, &segment, ticks[i]);
                continue;
            }
        }
        times[i] = ts__segment_near(&segment, ticks[i] - segment.start);
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
    const ts__int128 x = (int64_t)(start - at->start);
    clocks->base =
        (int64_t)(at->raw + ts__floor_div(x * (ts__int128)at->ns, at->ticks));
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
    const ts__int128 raw = (ts__int128)clocks->base + time_ns;
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
    const ts__int128 x = raw - points[low].raw;
    if (x < 0 || low + 1 == clocks->realtime_count)
        return points[low].realtime + (uint64_t)x;
    const ts__int128 rise =
        (int64_t)(points[low + 1].realtime - points[low].realtime);
    return points[low].realtime +
           (uint64_t)ts__floor_div(x * rise, (uint64_t)points[low + 1].raw -
                                                 (uint64_t)points[low].raw);
}
