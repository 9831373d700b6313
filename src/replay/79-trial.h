/* ---- 10.71 Races: events and what comes right before them ---------------- */

// All that one node of the order does to memory.
typedef struct ts__race_event {
    uint32_t head;   // first actor
    uint32_t before; // first of its predecessors
    uint32_t before_count;
    uint32_t chain;
} ts__race_event;

static ts__race_event *ts__races_event(const ts_races *x, size_t i)
{
    return (ts__race_event *)x->events.data + i;
}

typedef struct ts__tracer { // turns clocks into predecessors
    ts_races *races;
    ts__precede order;
    ts__rmap event_of;             // chain and epoch
    uint32_t last_host, last_life; // event; a life: allocation or free
    bool failed;
} ts__tracer;

static void ts__tracer_before(ts__tracer *t, uint32_t event)
{
    ts_races *const x = t->races;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&x->allocator, &x->befores, sizeof *to);
    if (!to || event == TS_NODE_NONE) {
        t->failed = true;
        return;
    }
    *to = event;
    ts__races_event(x, x->events.count - 1)->before_count++;
}

static void ts__tracer_epoch(ts__tracer *t, uint32_t chain, uint32_t epoch)
{
    ts__tracer_before(
        t, ts__rmap_get(&t->event_of, (uint64_t)chain << 32 | epoch));
}

// What a clock has beyond another one, from chain `first` on.
static void ts__tracer_news(ts__tracer *t, const ts__vclock *now,
                            const ts__vclock *then, uint32_t first)
{
    if (!now || now == then) return;
    if (then && then->level > now->level) { // as far as `now` reaches
        ts__tracer_news(t, now, then->u.below[0], first);
        return;
    }
    const bool same = then && then->level == now->level;
    if (!now->level) {
        for (uint32_t i = 0; i < 32; i++)
            if (now->u.epochs[i] > (same ? then->u.epochs[i] : 0))
                ts__tracer_epoch(t, first + i, now->u.epochs[i]);
        return;
    }
    const uint32_t width = (uint32_t)1 << (5 + 4 * (now->level - 1));
    for (uint32_t i = 0; i < 16; i++)
        ts__tracer_news(t, now->u.below[i],
                        same ? then->u.below[i] : (i ? NULL : then),
                        first + i * width);
}

// Whether a free by a call must stay behind the last event of a chain.
static bool ts__tracer_frees(const ts_races *x, const ts__actor *actor,
                             uint32_t event)
{
    const uint32_t head = ts__races_event(x, event)->head;
    return ts__free_waits(actor, ts__races_actor(x, head));
}

// What is not looked at for races stays as recorded.
static void ts__tracer_keep(ts__tracer *t, const ts__actor *actor)
{
    const ts__precede *const o = &t->order;
    const ts__precede_chain *const chains =
        (const ts__precede_chain *)o->chains.data;
    const bool frees = actor->host && actor->kind == TS_EVENT_GPU_FREE;
    for (uint32_t c = 0; c < o->chains.count && (frees || !actor->placed);
         c++) {
        const uint32_t epoch = chains[c].epoch - (c == actor->chain);
        if (!epoch) continue;
        const uint32_t event =
            ts__rmap_get(&t->event_of, (uint64_t)c << 32 | epoch);
        if (!actor->placed ||
            (event != TS_NODE_NONE && ts__tracer_frees(t->races, actor, event)))
            ts__tracer_before(t, event);
    }
    const uint32_t event = (uint32_t)t->races->events.count - 1;
    const ts__strip *const first = ts__races_span(t->races, actor->spans);
    if (actor->span_count && first->mode & (TS__SPAN_ALLOC | TS__SPAN_FREE)) {
        if (t->last_life != TS_NODE_NONE) ts__tracer_before(t, t->last_life);
        t->last_life = event;
    }
    if (!actor->host) return;
    if (t->last_host != TS_NODE_NONE) ts__tracer_before(t, t->last_host);
    t->last_host = event;
}

static bool ts__tracer_visit(void *user, uint32_t node, const ts__vclock *in)
{
    ts__tracer *const t = (ts__tracer *)user;
    ts_races *const x = t->races;
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    const ts__actor *const actor = ts__races_actor(x, head);
    ts__race_event *const event = (ts__race_event *)ts__rvec_push(
        &x->allocator, &x->events, sizeof *event);
    if (!event) return false;
    event->head = head;
    event->before = (uint32_t)x->befores.count;
    event->before_count = 0;
    event->chain = actor->chain;
    const ts__precede_chain *const chain =
        (const ts__precede_chain *)t->order.chains.data + actor->chain;
    if (actor->epoch > 1) ts__tracer_epoch(t, actor->chain, actor->epoch - 1);
    ts__tracer_news(t, in, chain->out, 0);
    ts__tracer_keep(t, actor);
    const uint64_t key = (uint64_t)actor->chain << 32 | actor->epoch;
    return !t->failed && x->befores.count < UINT32_MAX &&
           ts__rmap_put(&x->allocator, &t->event_of, key,
                        (uint32_t)x->events.count - 1);
}

static ts_result ts__races_trace(ts_races *x)
{
    ts__tracer t = { 0 };
    uint32_t left;
    if (x->events.count) return TS_OK;
    t.races = x;
    t.last_host = t.last_life = TS_NODE_NONE;
    t.order.races = x;
    t.order.visit = ts__tracer_visit;
    t.order.user = &t;
    t.order.keep_out = true;
    const ts_result result = ts__precede_run(&t.order, &left);
    ts__rvec_close(&x->allocator, &t.event_of.entries);
    if (result != TS_OK) x->events.count = x->befores.count = 0;
    return result;
}

/* ---- 10.72 Races: symbolic memory ---------------------------------------- */

// What a cell holds: the bytes of `id` from `offset` on.
typedef struct ts__content {
    uint64_t id, offset;
} ts__content;

#define TS__CONTENT_FILL (UINT64_C(1) << 63) // the same at every offset

typedef struct ts__trial {
    ts_races *races;
    const ts_allocator *allocator;
    ts__rvec cells, recorded;   // ts__content: now; after the recorded order
    ts__rvec saw, recorded_saw; // uint64_t, of each event: what it read
    ts__rvec staged;            // uint64_t, of each actor: what a call read
    ts__rvec moved;             // ts__content: a copy on its way
    ts__rvec found, tried;      // uint32_t: orders of events
    ts__rvec missing, after, after_offsets;
    ts__rvec heap;       // ts__precede_item: events that could be next
    ts__rvec priorities; // int64_t, of each chain
    ts__rvec pairs;      // ts__race_pair of events
    ts__rmap known;      // what orders came to
    uint64_t dice;
} ts__trial;

static ts__content *ts__trial_cells(const ts__trial *t)
{
    return (ts__content *)t->cells.data;
}

static uint64_t ts__trial_hash(uint64_t what, uint64_t a, uint64_t b)
{
    const uint64_t v[] = { what, a, b };
    return XXH3_64bits(v, sizeof v) & ~TS__CONTENT_FILL;
}

enum { // what a hash is of
    TS__HASH_INITIAL = 1,
    TS__HASH_FRESH,
    TS__HASH_FREED,
    TS__HASH_FILL,
    TS__HASH_WORK,
    TS__HASH_PIECES,
    TS__HASH_STAGED
};

static void ts__trial_clear(ts__trial *t)
{
    const ts_races *const x = t->races;
    ts__content *const cells = ts__trial_cells(t);
    for (uint32_t i = 0; i < x->cell_count; i++) {
        const uint32_t space = ((const uint32_t *)x->cell_spaces.data)[i];
        cells[i].id = ts__trial_hash(TS__HASH_INITIAL, space, 0);
        cells[i].offset = ((const uint64_t *)x->cells.data)[i];
    }
    memset(t->saw.data, 0, t->saw.count * sizeof(uint64_t));
    // A copy may come before its call: what another order left is not for it.
    memset(t->staged.data, 0, x->actors.count * sizeof(uint64_t));
}

// All that a strip holds, as one number.
static uint64_t ts__trial_read(const ts__trial *t, const ts__strip *s)
{
    return XXH3_64bits(ts__trial_cells(t) + s->low,
                       (s->high - s->low) * sizeof(ts__content));
}

static void ts__trial_write(ts__trial *t, const ts__strip *s, uint64_t id)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    ts__content *const cells = ts__trial_cells(t);
    for (uint32_t i = s->low; i < s->high; i++) {
        cells[i].id = id;
        cells[i].offset = id & TS__CONTENT_FILL ? 0 : first[i] - s->first;
    }
}

// What lies from an address on, `size` bytes; *cell moves to the cell that
// holds the first.
static ts__content ts__trial_piece(const ts__trial *t, uint32_t *cell,
                                   uint64_t address, uint64_t size)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    const ts__content *const cells = ts__trial_cells(t);
    while (first[*cell + 1] <= address)
        ++*cell;
    ts__content piece = cells[*cell];
    if (!(piece.id & TS__CONTENT_FILL)) piece.offset += address - first[*cell];
    uint64_t left = size;
    for (uint32_t i = *cell; first[i + 1] - address < left; i++) {
        left -= first[i + 1] - address;
        address = first[i + 1];
        const ts__content next = cells[i + 1];
        if (piece.id == next.id && piece.id & TS__CONTENT_FILL) continue;
        piece.id = ts__trial_hash(TS__HASH_PIECES,
                                  ts__trial_hash(left, piece.id, piece.offset),
                                  ts__trial_hash(left, next.id, next.offset));
        piece.offset = 0;
    }
    return piece;
}

static void ts__trial_copy(ts__trial *t, const ts__strip *from,
                           const ts__strip *to)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    ts__content *const moved = (ts__content *)t->moved.data;
    uint32_t cell = from->low;
    for (uint32_t i = to->low; i < to->high; i++)
        moved[i - to->low] =
            ts__trial_piece(t, &cell, from->first + (first[i] - to->first),
                            first[i + 1] - first[i]);
    memcpy(ts__trial_cells(t) + to->low, moved,
           (to->high - to->low) * sizeof *moved);
}

// What an operation writes: itself, from all that it reads. Writes somewhere
// in a range keep some of what was there.
static void ts__trial_work(ts__trial *t, const ts__actor *actor, uint64_t *saw)
{
    const ts_races *const x = t->races;
    const uint8_t keeps = TS_ACCESS_READ | TS_ACCESS_COARSE;
    uint64_t inputs = 0;
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__strip *const s = ts__races_span(x, actor->spans + i);
        if (s->mode & keeps)
            inputs = ts__trial_hash(i, inputs, ts__trial_read(t, s));
    }
    *saw = ts__trial_hash(actor->epoch, *saw, inputs);
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__strip *const s = ts__races_span(x, actor->spans + i);
        if (!(s->mode & TS_ACCESS_WRITE)) continue;
        const uint64_t who = ts__trial_hash(
            i, (uint64_t)actor->chain << 32 | actor->epoch, actor->where);
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_WORK, who, inputs));
    }
}

// A copy: both sides, what its call read from pageable memory, or what came
// from there.
static void ts__trial_memcpy(ts__trial *t, uint32_t index, uint64_t *saw)
{
    const ts__actor *const actor = ts__races_actor(t->races, index);
    const ts__strip *const s = ts__races_span(t->races, actor->spans);
    uint64_t *const staged = (uint64_t *)t->staged.data;
    if (actor->span_count > 1) {
        ts__trial_copy(t, s, s + 1);
        *saw = ts__trial_hash(0, *saw, ts__trial_read(t, s + 1));
    } else if (s->mode == TS_ACCESS_READ) {
        staged[index] = ts__trial_read(t, s);
    } else {
        const bool by_call = index && (actor - 1)->op == actor->op;
        const uint64_t bytes = by_call ? staged[index - 1] : actor->where;
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_STAGED, bytes, 0));
    }
}

static void ts__trial_act(ts__trial *t, uint32_t index, uint64_t *saw)
{
    const ts__actor *const actor = ts__races_actor(t->races, index);
    if (!actor->span_count) return;
    const ts__strip *const s = ts__races_span(t->races, actor->spans);
    if (actor->own && actor->kind == TS_EVENT_MEMCPY)
        ts__trial_memcpy(t, index, saw);
    else if (s->mode & TS__SPAN_FREE)
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_FREED, 0, 0));
    else if (s->mode & TS__SPAN_ALLOC)
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_FRESH, 0, 0));
    else if (actor->own && actor->kind == TS_EVENT_MEMSET)
        ts__trial_write(t, s,
                        ts__trial_hash(TS__HASH_FILL, actor->fill, 0) |
                            TS__CONTENT_FILL);
    else
        ts__trial_work(t, actor, saw);
}

static void ts__trial_step(ts__trial *t, uint32_t event)
{
    const ts_races *const x = t->races;
    uint32_t actor = ts__races_event(x, event)->head;
    for (; actor != TS_NODE_NONE; actor = ts__races_actor(x, actor)->next)
        ts__trial_act(t, actor, (uint64_t *)t->saw.data + event);
}

// A digest of what came out: the memory and what the host read.
static uint64_t ts__trial_digest(const ts__trial *t)
{
    const ts_races *const x = t->races;
    const uint64_t *const saw = (const uint64_t *)t->saw.data;
    uint64_t host = 0;
    for (uint32_t i = 0; i < x->events.count; i++) {
        const ts__actor *const actor =
            ts__races_actor(x, ts__races_event(x, i)->head);
        if (actor->op == TS_NODE_NONE && saw[i])
            host = ts__trial_hash(i, host, saw[i]);
    }
    return ts__trial_hash(
        0, XXH3_64bits(t->cells.data, x->cell_count * sizeof(ts__content)),
        host);
}

// Runs an order. What device work read counts for telling orders apart only.
static uint64_t ts__trial_run(ts__trial *t, const uint32_t *order,
                              uint64_t *class_of)
{
    const size_t events = t->races->events.count;
    ts__trial_clear(t);
    for (size_t i = 0; i < events; i++)
        ts__trial_step(t, order[i]);
    const uint64_t digest = ts__trial_digest(t);
    *class_of = ts__trial_hash(
        digest, XXH3_64bits(t->saw.data, events * sizeof(uint64_t)), 0);
    return digest;
}

/* ---- 10.73 Races: orders ------------------------------------------------- */

static uint64_t ts__trial_dice(ts__trial *t, uint64_t sides)
{
    uint64_t z = t->dice += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return (z ^ z >> 31) % sides;
}

typedef enum ts__trial_way {
    TS__WAY_PAIR,    // as recorded, but one pair turned round
    TS__WAY_STREAMS, // by priorities of chains, which change at times
    TS__WAY_ANY      // by priorities of events
} ts__trial_way;

typedef struct ts__trial_plan {
    ts__trial_way way;
    uint32_t held, until; // events: the first not before the second
    uint64_t changes[3];  // steps after which a chain falls back
} ts__trial_plan;

static ts__trial_plan ts__trial_choose(ts__trial *t, uint64_t seed)
{
    const size_t events = t->races->events.count;
    ts__trial_plan plan = { TS__WAY_ANY, TS_NODE_NONE, TS_NODE_NONE, { 0 } };
    // Neighbouring seeds must not have neighbouring dice.
    t->dice = ts__trial_hash(seed, seed, seed);
    const uint64_t way = ts__trial_dice(t, 4);
    if (way < 2 && t->pairs.count) {
        const ts__race_pair *const pair = (const ts__race_pair *)t->pairs.data +
                                          ts__trial_dice(t, t->pairs.count);
        plan.way = TS__WAY_PAIR;
        plan.held = pair->first;
        plan.until = pair->second;
    } else if (way < 3) {
        plan.way = TS__WAY_STREAMS;
    }
    for (int i = 0; i < 3; i++)
        plan.changes[i] = ts__trial_dice(t, events);
    int64_t *const priorities = (int64_t *)t->priorities.data;
    for (size_t i = 0; i < t->priorities.count; i++)
        priorities[i] = (int64_t)(ts__trial_dice(t, UINT64_C(1) << 60));
    return plan;
}

static void ts__trial_push(ts__trial *t, const ts__trial_plan *plan,
                           uint32_t event)
{
    const uint32_t chain = ts__races_event(t->races, event)->chain;
    const int64_t priority =
        plan->way == TS__WAY_PAIR ? (int64_t)event
        : plan->way == TS__WAY_STREAMS
            ? ((const int64_t *)t->priorities.data)[chain]
            : (int64_t)ts__trial_dice(t, UINT64_C(1) << 60);
    const ts__precede_item item = { priority, event };
    ts__precede_sift_up((ts__precede_item *)t->heap.data, t->heap.count++,
                        item);
}

// What may run once an event has.
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

// One legal order.
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
        // What is kept as recorded may tie a pair after all.
        if (held && (plan.until == TS_NODE_NONE || !t->heap.count)) {
            held = false;
            plan.until = TS_NODE_NONE;
            ts__trial_push(t, &plan, plan.held);
        }
        const uint32_t event = ts__precede_take(&t->heap);
        if (event == plan.held && plan.until != TS_NODE_NONE) {
            held = true;
            continue;
        }
        order[n++] = event;
        if (event == plan.until) plan.until = TS_NODE_NONE;
        for (int i = 0; i < 3; i++)
            if (plan.changes[i] == n) // from here on behind all others
                ((int64_t *)
                     t->priorities.data)[ts__races_event(x, event)->chain] =
                    (INT64_C(1) << 60) + n;
        ts__trial_release(t, &plan, event);
    }
}

static bool ts__trial_links(ts__trial *t)
{
    const ts_races *const x = t->races;
    const size_t count = x->events.count;
    if (!ts__rvec_fill(t->allocator, &t->after_offsets, sizeof(uint32_t),
                       count + 1, 0) ||
        !ts__rvec_fill(t->allocator, &t->after, sizeof(uint32_t),
                       x->befores.count, 0))
        return false;
    uint32_t *const offsets = (uint32_t *)t->after_offsets.data;
    const uint32_t *const befores = (const uint32_t *)x->befores.data;
    for (size_t i = 0; i < x->befores.count; i++)
        offsets[befores[i]]++;
    ts__offsets_sum(offsets, count);
    for (uint32_t i = 0; i < count; i++) {
        const ts__race_event *const event = ts__races_event(x, i);
        for (uint32_t k = 0; k < event->before_count; k++)
            ((uint32_t *)t->after.data)[--offsets[befores[event->before + k]]] =
                i;
    }
    return true;
}

// The pairs that race and may change places, as pairs of events.
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

/* ---- 10.74 Races: the two that matter ------------------------------------ */

// The first k steps of the order found, then all others as recorded.
static void ts__trial_prefix(ts__trial *t, size_t k)
{
    const uint32_t *const found = (const uint32_t *)t->found.data;
    uint32_t *const tried = (uint32_t *)t->tried.data;
    const uint32_t count = (uint32_t)t->races->events.count;
    uint32_t *const taken = (uint32_t *)t->missing.data;
    memset(taken, 0, count * sizeof *taken);
    for (size_t i = 0; i < k; i++) {
        tried[i] = found[i];
        taken[found[i]] = 1;
    }
    size_t n = k;
    for (uint32_t i = 0; i < count; i++)
        if (!taken[i]) tried[n++] = i;
}

// The same, and step k of the order found moved forward by some places.
// Returns how many places it could move.
static size_t ts__trial_forward(ts__trial *t, size_t k, size_t places)
{
    uint32_t *const tried = (uint32_t *)t->tried.data;
    ts__trial_prefix(t, k);
    const uint32_t event = ((const uint32_t *)t->found.data)[k];
    size_t at = k;
    while (tried[at] != event)
        at++;
    const size_t most = at - k;
    for (size_t i = 0; i < places; i++, at--)
        tried[at] = tried[at - 1];
    tried[at] = event;
    return most;
}

static bool ts__trial_same(ts__trial *t, uint64_t recorded)
{
    uint64_t class_of;
    return ts__trial_run(t, (const uint32_t *)t->tried.data, &class_of) ==
           recorded;
}

// The first cells that do not hold what they did.
static void ts__trial_differs(const ts__trial *t, ts_exploration *result)
{
    const ts_races *const x = t->races;
    const ts__content *const a = (const ts__content *)t->recorded.data;
    const ts__content *const b = ts__trial_cells(t);
    const uint64_t *const first = (const uint64_t *)x->cells.data;
    const uint32_t *const space = (const uint32_t *)x->cell_spaces.data;
    uint32_t low = 0;
    while (low < x->cell_count && !memcmp(&a[low], &b[low], sizeof *a))
        low++;
    if (low == x->cell_count) return; // only the host saw something else
    uint32_t high = low + 1;
    while (high < x->cell_count && memcmp(&a[high], &b[high], sizeof *a) &&
           space[high] == space[low])
        high++;
    result->address = first[low];
    result->size = first[high] - first[low];
}

static bool ts__trial_meet(const ts_races *x, uint32_t a, uint32_t b,
                           ts_exploration *result)
{
    const ts__actor *const first = ts__races_actor(x, a);
    const ts__actor *const second = ts__races_actor(x, b);
    for (uint32_t i = 0; i < first->span_count; i++)
        for (uint32_t k = 0; k < second->span_count; k++) {
            const ts__strip *const s = ts__races_span(x, first->spans + i);
            const ts__strip *const u = ts__races_span(x, second->spans + k);
            if (!((s->mode | u->mode) & TS_ACCESS_WRITE) || s->high <= u->low ||
                u->high <= s->low)
                continue;
            result->first = ts__race_side(x, s);
            result->second = ts__race_side(x, u);
            return true;
        }
    return false;
}

static void ts__trial_sides(const ts_races *x, uint32_t first, uint32_t second,
                            ts_exploration *result)
{
    const uint32_t head = ts__races_event(x, second)->head;
    uint32_t a = ts__races_event(x, first)->head;
    for (; a != TS_NODE_NONE; a = ts__races_actor(x, a)->next)
        for (uint32_t b = head; b != TS_NODE_NONE;
             b = ts__races_actor(x, b)->next)
            if (ts__trial_meet(x, a, b, result)) return;
}

/*
    From the recorded order to the one found leads a way on which two
    neighbours change places at each step; at its begin the memory is as
    recorded, at its end it is not. Halving finds a step where that changes.
*/
static void ts__trial_reduce(ts__trial *t, uint64_t recorded,
                             ts_exploration *result)
{
    size_t low = 0, high = t->races->events.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        ts__trial_prefix(t, middle);
        if (ts__trial_same(t, recorded))
            low = middle;
        else
            high = middle;
    }
    const size_t k = low;
    low = 0;
    high = ts__trial_forward(t, k, 0);
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        ts__trial_forward(t, k, middle);
        if (ts__trial_same(t, recorded))
            low = middle;
        else
            high = middle;
    }
    const size_t at = k + ts__trial_forward(t, k, high) - high;
    const uint32_t *const tried = (const uint32_t *)t->tried.data;
    ts__trial_same(t, recorded);
    ts__trial_differs(t, result);
    ts__trial_sides(t->races, tried[at + 1], tried[at], result);
}

/* ---- 10.75 Races: exploring ---------------------------------------------- */

// Cells of the widest strip: what a copy may move at once.
static size_t ts__trial_widest(const ts_races *x)
{
    uint32_t widest = 0;
    for (size_t i = 0; i < x->spans.count; i++) {
        const ts__strip *const s = ts__races_span(x, i);
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
           ts__rvec_fill(a, &t->heap, sizeof(ts__precede_item), events, 0) &&
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

// Counts an order that comes to something new; false: no memory.
static bool ts__trial_note(ts__trial *t, uint64_t class_of,
                           ts_exploration *result)
{
    if (t->known.used >= TS__TRIALS_KNOWN ||
        ts__rmap_get(&t->known, class_of) != TS_NODE_NONE)
        return true;
    result->distinct++;
    return ts__rmap_put(t->allocator, &t->known, class_of, 0);
}

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

// A trial on somebody else's memory: contents, what was read, what calls
// read, room for a copy.
static ts__trial ts__trial_on(const ts_races *races, void *memory)
{
    ts__trial t = { 0 };
    t.races = (ts_races *)(uintptr_t)races; // is not changed
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
