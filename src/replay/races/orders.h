/* ---- Races: other orders ------------------------------------------------ */

static uint64_t ts__trial_random(ts__trial *t, uint64_t limit)
{
    uint64_t z = t->random += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % limit;
}

typedef enum ts__trial_strategy {
    TS__STRATEGY_PAIR,    // as recorded, but with one pair reversed
    TS__STRATEGY_STREAMS, // by priorities of chains, which change at times
    TS__STRATEGY_ANY      // by random priorities of events
} ts__trial_strategy;

typedef struct ts__trial_plan {
    ts__trial_strategy strategy;
    uint32_t held, until; // events: `held` may not run before `until`
    uint64_t changes[3];  // steps after which a chain gets the lowest priority
} ts__trial_plan;

static ts__trial_plan ts__trial_choose(ts__trial *t, uint64_t seed)
{
    const size_t events = t->races->events.count;
    ts__trial_plan plan = {
        TS__STRATEGY_ANY, TS_NODE_NONE, TS_NODE_NONE, { 0 }
    };
    // Neighbouring seeds must not give similar random numbers.
    t->random = ts__trial_hash(seed, seed, seed);
    const uint64_t strategy = ts__trial_random(t, 4);
    if (strategy < 2 && t->pairs.count) {
        const ts__race_pair *const pair = (const ts__race_pair *)t->pairs.data +
                                          ts__trial_random(t, t->pairs.count);
        plan.strategy = TS__STRATEGY_PAIR;
        plan.held = pair->first;
        plan.until = pair->second;
    } else if (strategy < 3) {
        plan.strategy = TS__STRATEGY_STREAMS;
    }
    for (int i = 0; i < 3; i++)
        plan.changes[i] = ts__trial_random(t, events);
    int64_t *const priorities = (int64_t *)t->priorities.data;
    for (size_t i = 0; i < t->priorities.count; i++)
        priorities[i] = (int64_t)(ts__trial_random(t, UINT64_C(1) << 60));
    return plan;
}

static void ts__trial_push(ts__trial *t, const ts__trial_plan *plan,
                           uint32_t event)
{
    const uint32_t chain = ts__races_event(t->races, event)->chain;
    const int64_t priority =
        plan->strategy == TS__STRATEGY_PAIR ? (int64_t)event
        : plan->strategy == TS__STRATEGY_STREAMS
            ? ((const int64_t *)t->priorities.data)[chain]
            : (int64_t)ts__trial_random(t, UINT64_C(1) << 60);
    const ts__hb_item item = { priority, event };
    ts__hb_sift_up((ts__hb_item *)t->heap.data, t->heap.count++, item);
}

// Adds the events that may run once `event` has.
static void ts__trial_release(ts__trial *t, const ts__trial_plan *plan,
                              uint32_t event)
{
    const uint32_t *const offsets = (const uint32_t *)t->after_offsets.data;
    uint32_t *const missing = (uint32_t *)t->missing.data;
    for (uint32_t e = offsets[event]; e < offsets[event + 1]; e++) {
        const uint32_t to = ((const uint32_t *)t->after.data)[e];
        if (!--missing[to]) ts__trial_push(t, plan, to);
    }
}

// Computes a legal order from a seed.
static void ts__trial_order(ts__trial *t, uint64_t seed, uint32_t *order)
{
    const ts_races *const x = t->races;
    const uint32_t count = (uint32_t)x->events.count;
    ts__trial_plan plan = ts__trial_choose(t, seed);
    uint32_t *const missing = (uint32_t *)t->missing.data;
    bool held = false;
    t->heap.count = 0;
    for (uint32_t i = 0; i < count; i++)
        missing[i] = ts__races_event(x, i)->before_count;
    for (uint32_t i = 0; i < count; i++)
        if (!missing[i]) ts__trial_push(t, &plan, i);
    for (uint32_t n = 0; n < count;) {
        // The order that has to be kept may force the pair into recorded order.
        if (held && (plan.until == TS_NODE_NONE || !t->heap.count)) {
            held = false;
            plan.until = TS_NODE_NONE;
            ts__trial_push(t, &plan, plan.held);
        }
        const uint32_t event = ts__hb_take(&t->heap);
        if (event == plan.held && plan.until != TS_NODE_NONE) {
            held = true;
            continue;
        }
        order[n++] = event;
        if (event == plan.until) plan.until = TS_NODE_NONE;
        for (int i = 0; i < 3; i++)
            if (plan.changes[i] == n) // from here on it comes after all others
                ((int64_t *)
                     t->priorities.data)[ts__races_event(x, event)->chain] =
                    (INT64_C(1) << 60) + n;
        ts__trial_release(t, &plan, event);
    }
}

// Turns the predecessors of each event into successors.
static bool ts__trial_links(ts__trial *t)
{
    const ts_races *const x = t->races;
    const size_t count = x->events.count;
    if (!ts__rvec_fill(t->allocator, &t->after_offsets, sizeof(uint32_t),
                       count + 1, 0) ||
        !ts__rvec_fill(t->allocator, &t->after, sizeof(uint32_t),
                       x->predecessors.count, 0))
        return false;
    uint32_t *const offsets = (uint32_t *)t->after_offsets.data;
    const uint32_t *const predecessors = (const uint32_t *)x->predecessors.data;
    for (size_t i = 0; i < x->predecessors.count; i++)
        offsets[predecessors[i]]++;
    ts__offsets_sum(offsets, count);
    for (uint32_t i = 0; i < count; i++) {
        const ts__race_event *const event = ts__races_event(x, i);
        for (uint32_t k = 0; k < event->before_count; k++)
            ((uint32_t *)
                 t->after.data)[--offsets[predecessors[event->before + k]]] = i;
    }
    return true;
}

// Lists the races whose two events may be swapped, as pairs of events.
static bool ts__trial_pairs(ts__trial *t)
{
    const ts_races *const x = t->races;
    ts__rvec event_of = { 0 };
    bool ok = ts__rvec_fill(t->allocator, &event_of, sizeof(uint32_t),
                            x->actors.count, 0xFF);
    uint32_t *const of = (uint32_t *)event_of.data;
    for (uint32_t i = 0; ok && i < x->events.count; i++) {
        uint32_t actor = ts__races_event(x, i)->head;
        for (; actor != TS_NODE_NONE; actor = ts__races_actor(x, actor)->next)
            of[actor] = i;
    }
    for (size_t i = 0; ok && i < x->pairs.count; i++) {
        const ts__race_pair *const pair =
            (const ts__race_pair *)x->pairs.data + i;
        if (!pair->free) continue;
        ts__race_pair *const to =
            (ts__race_pair *)ts__rvec_push(t->allocator, &t->pairs, sizeof *to);
        ok = to != NULL;
        if (!ok) break;
        to->first = of[pair->first];
        to->second = of[pair->second];
        to->free = true;
    }
    ts__rvec_close(t->allocator, &event_of);
    return ok;
}
