/* ---- Races: events and their predecessors ------------------------------- */

// All memory accesses of one node of the order.
typedef struct ts__race_event {
    uint32_t head;   // first actor
    uint32_t before; // index of its first predecessor
    uint32_t before_count;
    uint32_t chain;
} ts__race_event;

static ts__race_event *ts__races_event(const ts_races *x, size_t i)
{
    return (ts__race_event *)x->events.data + i;
}

typedef struct ts__tracer { // derives predecessors from clocks
    ts_races *races;
    ts__hb order;
    ts__rmap event_of;             // chain and epoch to event
    uint32_t last_host, last_life; // events; last_life: last allocation or free
    bool failed;
} ts__tracer;

static void ts__tracer_before(ts__tracer *t, uint32_t event)
{
    ts_races *const x = t->races;
    uint32_t *const to =
        (uint32_t *)ts__rvec_push(&x->allocator, &x->predecessors, sizeof *to);
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

// Adds what a clock has beyond another one, from chain `first` on.
static void ts__tracer_difference(ts__tracer *t, const ts__vclock *now,
                                  const ts__vclock *then, uint32_t first)
{
    if (!now || now == then) return;
    if (then && then->level > now->level) { // compare as far as `now` reaches
        ts__tracer_difference(t, now, then->u.below[0], first);
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
        ts__tracer_difference(t, now->u.below[i],
                              same ? then->u.below[i] : (i ? NULL : then),
                              first + i * width);
}

// Whether a free by a call must come after the last event of a chain.
static bool ts__tracer_frees(const ts_races *x, const ts__actor *actor,
                             uint32_t event)
{
    const uint32_t head = ts__races_event(x, event)->head;
    return ts__free_waits(actor, ts__races_actor(x, head));
}

// Keeps the recorded order of what is not checked for races.
static void ts__tracer_keep(ts__tracer *t, const ts__actor *actor)
{
    const ts__hb *const o = &t->order;
    const ts__hb_chain *const chains = (const ts__hb_chain *)o->chains.data;
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
    const ts__race_span *const first = ts__races_span(t->races, actor->spans);
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
    event->before = (uint32_t)x->predecessors.count;
    event->before_count = 0;
    event->chain = actor->chain;
    const ts__hb_chain *const chain =
        (const ts__hb_chain *)t->order.chains.data + actor->chain;
    if (actor->epoch > 1) ts__tracer_epoch(t, actor->chain, actor->epoch - 1);
    ts__tracer_difference(t, in, chain->out, 0);
    ts__tracer_keep(t, actor);
    const uint64_t key = (uint64_t)actor->chain << 32 | actor->epoch;
    return !t->failed && x->predecessors.count < UINT32_MAX &&
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
    const ts_result result = ts__hb_run(&t.order, &left);
    ts__rvec_close(&x->allocator, &t.event_of.entries);
    if (result != TS_OK) x->events.count = x->predecessors.count = 0;
    return result;
}
