/* ---- Races: exploring orders -------------------------------------------- */

// Returns the cells of the widest span, the most that a copy can move at once.
static size_t ts__trial_widest(const ts_races *x)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__race_span *const s = ts__races_span(x, i);
        if (s->high - s->low > widest) widest = s->high - s->low;
    }
    return widest;
}

static bool ts__trial_open(ts__trial *t)
{
    ts_races *const x = t->races;
    const ts_allocator *const a = t->allocator;
    const size_t events = x->events.count, content = sizeof(ts__content);
    uint32_t chains = 0;
    for (size_t i = 0; i < events; i++)
        if (ts__races_event(x, i)->chain >= chains)
            chains = ts__races_event(x, i)->chain + 1;
    return ts__rvec_fill(a, &t->cells, content, x->cell_count, 0) &&
           ts__rvec_fill(a, &t->recorded, content, x->cell_count, 0) &&
           ts__rvec_fill(a, &t->moved, content, ts__trial_widest(x), 0) &&
           ts__rvec_fill(a, &t->saw, sizeof(uint64_t), events, 0) &&
           ts__rvec_fill(a, &t->staged, sizeof(uint64_t), x->actors.count, 0) &&
           ts__rvec_fill(a, &t->found, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->tried, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->missing, sizeof(uint32_t), events, 0) &&
           ts__rvec_fill(a, &t->heap, sizeof(ts__hb_item), events, 0) &&
           ts__rvec_fill(a, &t->priorities, sizeof(int64_t), chains, 0) &&
           ts__trial_links(t) && ts__trial_pairs(t);
}

static void ts__trial_close(ts__trial *t)
{
    ts__rvec *const all[] = { &t->cells,      &t->recorded,      &t->saw,
                              &t->staged,     &t->moved,         &t->found,
                              &t->tried,      &t->missing,       &t->after,
                              &t->heap,       &t->after_offsets, &t->pairs,
                              &t->priorities, &t->known.entries };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ts__rvec_close(t->allocator, all[i]);
}

enum { TS__TRIALS_KNOWN = 1000000 };

// Counts an order whose outcome is new. Returns false if out of memory.
static bool ts__trial_note(ts__trial *t, uint64_t class_of,
                           ts_exploration *result)
{
    if (t->known.used >= TS__TRIALS_KNOWN ||
        ts__rmap_get(&t->known, class_of) != TS_NODE_NONE)
        return true;
    result->distinct++;
    return ts__rmap_put(t->allocator, &t->known, class_of, 0);
}

// Runs legal orders until the outcome of one differs from the recorded one.
static ts_result ts__trial_explore(ts__trial *t, const ts_explore_desc *desc,
                                   ts_exploration *result)
{
    const uint64_t orders = desc->orders ? desc->orders : 1;
    uint32_t *const found = (uint32_t *)t->found.data;
    uint64_t class_of;
    ts__trial_prefix(t, 0);
    const uint64_t recorded =
        ts__trial_run(t, (const uint32_t *)t->tried.data, &class_of);
    memcpy(t->recorded.data, t->cells.data,
           t->races->cell_count * sizeof(ts__content));
    for (uint64_t i = 0; i < orders; i++) {
        if (desc->progress && !desc->progress(desc->user, i)) break;
        ts__trial_order(t, desc->seed + i, found);
        const uint64_t outcome = ts__trial_run(t, found, &class_of);
        if (!ts__trial_note(t, class_of, result)) return TS_ERR_MEMORY;
        result->orders++;
        if (outcome == recorded) continue;
        result->differs = true;
        result->seed = desc->seed + i;
        ts__trial_reduce(t, recorded, result);
        break;
    }
    return TS_OK;
}

static ts_result ts__trial_begin(ts__trial *t, ts_races *races)
{
    t->races = races;
    t->allocator = &races->allocator;
    if (!races->stats.ranges) return TS_ERR_NOT_FOUND;
    const ts_result result = ts__races_trace(races);
    if (result != TS_OK) return result;
    if (!races->events.count) return TS_ERR_NOT_FOUND;
    return ts__trial_open(t) ? TS_OK : TS_ERR_MEMORY;
}

TS_API ts_result ts_races_explore(ts_races *races, const ts_explore_desc *desc,
                                  ts_exploration *result)
{
    static const ts_explore_desc none = { 0 };
    if (!races || !result) return TS_ERR_USAGE;
    memset(result, 0, sizeof *result);
    ts__trial t = { 0 };
    ts_result done = ts__trial_begin(&t, races);
    result->operations = races->events.count;
    if (done == TS_OK)
        done = ts__trial_explore(&t, desc ? desc : &none, result);
    ts__trial_close(&t);
    return done;
}

TS_API ts_result ts_races_order(ts_races *races, const uint64_t *seed,
                                uint32_t *order)
{
    ts__trial t = { 0 };
    const ts_result result = ts__trial_begin(&t, races);
    if (result == TS_OK && seed) ts__trial_order(&t, *seed, order);
    for (uint32_t i = 0; result == TS_OK && !seed && i < races->events.count;
         i++)
        order[i] = i;
    ts__trial_close(&t);
    return result;
}

// Makes a trial on memory of the caller, which holds the contents, what events
// read, what calls staged, and room for a copy.
static ts__trial ts__trial_on(const ts_races *races, void *memory)
{
    ts__trial t = { 0 };
    t.races = (ts_races *)(uintptr_t)races; // never modified through t
    t.allocator = &races->allocator;
    t.cells.data = memory;
    t.moved.data = (ts__content *)memory + races->cell_count;
    t.saw.data = (ts__content *)t.moved.data + ts__trial_widest(races);
    t.saw.count = races->events.count;
    t.staged.data = (uint64_t *)t.saw.data + races->events.count;
    return t;
}

TS_API size_t ts_races_memory_size(const ts_races *races)
{
    return (races->cell_count + ts__trial_widest(races)) * sizeof(ts__content) +
           (races->events.count + races->actors.count) * sizeof(uint64_t);
}

TS_API void ts_races_memory_clear(const ts_races *races, void *memory)
{
    ts__trial t = ts__trial_on(races, memory);
    ts__trial_clear(&t);
}

TS_API void ts_races_memory_step(const ts_races *races, void *memory,
                                 uint32_t step)
{
    ts__trial t = ts__trial_on(races, memory);
    if (step < races->events.count) ts__trial_step(&t, step);
}

TS_API uint64_t ts_races_memory_digest(const ts_races *races,
                                       const void *memory)
{
    const ts__trial t = ts__trial_on(races, (void *)(uintptr_t)memory);
    return ts__trial_digest(&t);
}

TS_API uint32_t ts_races_step_lane(const ts_races *races, uint32_t step)
{
    return step < races->events.count ? ts__races_event(races, step)->chain : 0;
}
