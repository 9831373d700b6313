/* ---- Races: vector clocks ----------------------------------------------- */

/*
    A clock holds for each chain the *epoch* up to which its events happened
    before; 0: none did. Chains are streams and threads. There are thousands of
    them, and most clocks differ in few places from the clock that they derive
    from. So a clock is a tree of shared nodes: equal subtrees are one node, and
    joining stops where both sides are the same node.

                    level 1: 16 below, of 32 epochs each
                   /                 |
          level 0: 32 epochs      (NULL: all zero)
*/
typedef struct ts__vclock {
    uint32_t refs, level;
    union {
        struct ts__vclock *below[16];
        uint32_t epochs[32];
    } u;
} ts__vclock;

enum { TS__VCLOCK_SLAB = 256, TS__CHAINS_MAX = 65536 };

typedef struct ts__vclocks { // the pool of clock nodes
    const ts_allocator *allocator;
    ts__rvec slabs;   // ts__vclock *: arrays of TS__VCLOCK_SLAB nodes
    ts__vclock *free; // free nodes, linked by u.below[0]
    bool failed;
} ts__vclocks;

static ts__vclock *ts__vclock_new(ts__vclocks *c, uint32_t level)
{
    if (!c->free) {
        const ts_allocator *const a = c->allocator;
        ts__vclock **const slab =
            (ts__vclock **)ts__rvec_push(a, &c->slabs, sizeof *slab);
        if (!slab) return NULL;
        *slab = (ts__vclock *)a->resize(a->user, NULL, 0,
                                        TS__VCLOCK_SLAB * sizeof(ts__vclock));
        if (!*slab) {
            c->slabs.count--;
            return NULL;
        }
        for (size_t i = 0; i < TS__VCLOCK_SLAB; i++) {
            (*slab)[i].u.below[0] = c->free;
            c->free = &(*slab)[i];
        }
    }
    ts__vclock *const clock = c->free;
    c->free = clock->u.below[0];
    memset(clock, 0, sizeof *clock);
    clock->refs = 1;
    clock->level = level;
    return clock;
}

static ts__vclock *ts__vclock_ref(ts__vclock *clock)
{
    if (clock) clock->refs++;
    return clock;
}

static void ts__vclock_unref(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || --clock->refs) return;
    for (int i = 0; clock->level && i < 16; i++)
        ts__vclock_unref(c, clock->u.below[i]);
    clock->u.below[0] = c->free;
    c->free = clock;
}

static void ts__vclocks_close(ts__vclocks *c)
{
    for (size_t i = 0; i < c->slabs.count; i++)
        c->allocator->resize(c->allocator->user,
                             ((ts__vclock **)c->slabs.data)[i],
                             TS__VCLOCK_SLAB * sizeof(ts__vclock), 0);
    ts__rvec_close(c->allocator, &c->slabs);
    c->free = NULL;
}

static uint32_t ts__vclock_get(const ts__vclock *clock, uint32_t chain)
{
    if (!clock || chain >> (5 + 4 * clock->level)) return 0;
    while (clock && clock->level) {
        const uint32_t shift = 5 + 4 * (clock->level - 1);
        clock = clock->u.below[chain >> shift & 15];
    }
    return clock ? clock->u.epochs[chain & 31] : 0;
}

// Returns an unshared node with the same content. Takes over the reference.
static ts__vclock *ts__vclock_own(ts__vclocks *c, ts__vclock *clock)
{
    if (!clock || clock->refs == 1) return clock;
    ts__vclock *const own = ts__vclock_new(c, clock->level);
    if (!own) {
        c->failed = true;
        return clock;
    }
    own->u = clock->u;
    for (int i = 0; own->level && i < 16; i++)
        ts__vclock_ref(own->u.below[i]);
    clock->refs--;
    return own;
}

// Raises a clock to a root of a higher level. Takes over the reference.
static ts__vclock *ts__vclock_raise(ts__vclocks *c, ts__vclock *clock,
                                    uint32_t level)
{
    while (clock->level < level) {
        ts__vclock *const root = ts__vclock_new(c, clock->level + 1);
        if (!root) {
            c->failed = true;
            return clock;
        }
        root->u.below[0] = clock;
        clock = root;
    }
    return clock;
}

// Sets the epoch of a chain. Takes over the reference to `clock` (NULL: all
// zero) and returns a reference to the result.
static ts__vclock *ts__vclock_set(ts__vclocks *c, ts__vclock *clock,
                                  uint32_t chain, uint32_t epoch)
{
    uint32_t level = 0;
    while (chain >> (5 + 4 * level))
        level++;
    if (!clock) clock = ts__vclock_new(c, level);
    if (clock && clock->level < level)
        clock = ts__vclock_raise(c, clock, level);
    clock = ts__vclock_own(c, clock);
    ts__vclock *at = clock;
    while (at && at->level && !c->failed) {
        const uint32_t shift = 5 + 4 * (at->level - 1);
        ts__vclock **const below = &at->u.below[chain >> shift & 15];
        *below = *below ? ts__vclock_own(c, *below)
                        : ts__vclock_new(c, at->level - 1);
        at = *below;
    }
    if (!at) c->failed = true;
    if (!c->failed) at->u.epochs[chain & 31] = epoch;
    return clock;
}

// Returns the maximum of both clocks. Takes over the reference to `a`, not that
// to `b`.
static ts__vclock *ts__vclock_join(ts__vclocks *c, ts__vclock *a, ts__vclock *b)
{
    if (a == b || !b || c->failed) return a;
    if (!a) return ts__vclock_ref(b);
    if (a->level < b->level) a = ts__vclock_raise(c, a, b->level);
    a = ts__vclock_own(c, a);
    if (c->failed) return a;
    if (a->level > b->level) { // b only covers the first child
        ts__vclock *at = a;
        while (at->level > b->level + 1) {
            at->u.below[0] = at->u.below[0] ? ts__vclock_own(c, at->u.below[0])
                                            : ts__vclock_new(c, at->level - 1);
            at = at->u.below[0];
            if (!at) c->failed = true;
            if (c->failed) return a;
        }
        at->u.below[0] = ts__vclock_join(c, at->u.below[0], b);
    } else if (a->level) {
        for (int i = 0; i < 16; i++)
            a->u.below[i] = ts__vclock_join(c, a->u.below[i], b->u.below[i]);
    } else {
        for (int i = 0; i < 32; i++)
            if (b->u.epochs[i] > a->u.epochs[i])
                a->u.epochs[i] = b->u.epochs[i];
    }
    return a;
}
