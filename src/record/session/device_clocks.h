/* ---- Clocks of devices -------------------------------------------------- */

// The time on CLOCK_MONOTONIC_RAW of a tick of clock 0, by two samples taken
// around now.
static uint64_t ts__tick_raw_ns(uint64_t tick)
{
    const ts_clock_entry now = ts__clock_read();
    const ts_clock_entry *const first = &ts__c.writer.sidecar->clock[0];
    const double rate = now.tick != first->tick
                            ? (double)(now.raw_ns - first->raw_ns) /
                                  (double)(now.tick - first->tick)
                            : 1;
    return now.raw_ns +
           (uint64_t)(int64_t)((double)(int64_t)(tick - now.tick) * rate);
}

// The first and the latest sample of a device's clock, for dumps. Writer's lock
// held.
enum { TS__CLOCK_KEPT = 64 };
typedef struct ts__clock_kept {
    uint32_t name, named; // named: last session with its name
    uint32_t generation, count, backwards;
    ts_clock_entry samples[TS__CLOCK_KEPT];
} ts__clock_kept;
static ts__clock_kept ts__clocks_kept[TS__CLOCKS_MAX];

static void ts__clock_fact(uint32_t clock, const char *what, uint32_t type,
                           uint64_t value)
{
    char key[32];
    snprintf(key, sizeof key, "clock.%u.%s", clock, what);
    ts__metadata_put(0, key, type, value);
}

// Describes a clock to the session: the clock lives as long as the process, the
// session's metadata do not.
static void ts__clock_describe(uint32_t clock)
{
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    const uint32_t session = TS__LOAD(&ts__here.session);
    // Without a session, the next one gets it.
    const uint32_t now = session ? session : ts__c.generation + 1;
    if (!kept->name ||
        __atomic_exchange_n(&kept->named, now, __ATOMIC_RELAXED) == now)
        return;
    ts__clock_fact(clock, "name", TS_VALUE_TEXT, kept->name);
}

uint32_t ts_clock_define(const char *name)
{
    const uint32_t clock =
        __atomic_add_fetch(&ts__c.clock_count, 1, __ATOMIC_RELAXED);
    if (clock >= TS__CLOCKS_MAX) return 0;
    ts__clocks_kept[clock].name = ts_name_define(name);
    ts__clock_describe(clock);
    return clock;
}

static ts_result ts__clocks_kept_copy(ts__writer *w)
{
    ts_result result = TS_OK;
    ts__lock_take(&ts__c.writer.lock);
    for (uint32_t clock = 1; clock < TS__CLOCKS_MAX; clock++) {
        const ts__clock_kept *const kept = &ts__clocks_kept[clock];
        if (kept->generation != ts__c.generation) continue;
        for (uint32_t i = 0; i < kept->count && result == TS_OK; i++)
            result = ts__writer_clock(w, clock, &kept->samples[i]);
    }
    ts__lock_give(&ts__c.writer.lock);
    return result;
}

static void ts__clock_keep(ts__clock_kept *kept, const ts_clock_entry *sample)
{
    if (kept->count == TS__CLOCK_KEPT) {
        kept->count--;
        memmove(&kept->samples[1], &kept->samples[2],
                (TS__CLOCK_KEPT - 2) * sizeof *sample);
    }
    kept->samples[kept->count++] = *sample;
    TS__STORE(&ts__clocks_copy, &ts__clocks_kept_copy);
}

// Whether a sample follows the last one: readers take a step back for damage.
static bool ts__clock_follows(ts__clock_kept *kept, ts_clock_entry *next)
{
    if (kept->generation != ts__c.generation) {
        kept->generation = ts__c.generation;
        kept->count = kept->backwards = 0;
    }
    if (!kept->count) return true;
    const ts_clock_entry *const last = &kept->samples[kept->count - 1];
    // Allow some nanoseconds for the error of ts__tick_raw_ns.
    const int64_t back = (int64_t)(last->raw_ns - next->raw_ns);
    if (back > 0 && back < 1000) next->raw_ns = last->raw_ns;
    if ((int64_t)(next->tick - last->tick) > 0 &&
        (int64_t)(next->raw_ns - last->raw_ns) >= 0)
        return true;
    kept->backwards++;
    return false;
}

void ts_clock_sample(uint32_t clock, uint64_t tick, uint64_t host_tick,
                     uint64_t uncertainty_ns)
{
    ts__writer *const w = &ts__c.writer;
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    if (!clock || clock >= TS__CLOCKS_MAX) return;
    ts__clock_kept *const kept = &ts__clocks_kept[clock];
    uint32_t before = 0, backwards = 0;
    ts__caller old;
    ts__clock_describe(clock);
    if (!ts__api_enter(&old)) return;
    if (ts__c.active) {
        sample.type = TS_CLOCK_OTHER;
        sample.tick = tick;
        sample.raw_ns = host_tick ? ts__tick_raw_ns(host_tick) : tick;
        sample.uncertainty_ns = uncertainty_ns;
        ts__lock_take(&w->lock);
        if (kept->generation == ts__c.generation) before = kept->backwards;
        if (ts__clock_follows(kept, &sample)) {
            ts__clock_keep(kept, &sample);
            ts__writer_failed(w, ts__writer_clock(w, clock, &sample));
        }
        backwards = kept->backwards;
        ts__lock_give(&w->lock);
    }
    ts__api_leave(&old);
    if (backwards != before)
        ts__clock_fact(clock, "backwards", TS_VALUE_INT, backwards);
}
