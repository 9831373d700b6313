/* ---- 10.66 Races: the shadow of memory ----------------------------------- */

/*
    All first and last addresses cut memory into cells; a tree over the cells
    remembers who touched what. A range is at most two whole subtrees of each
    level: its *parts*. Each part has four lists, of those who wrote and who
    read the part as a whole (`own`) and something inside of it (`inner`):

        whoever touches P conflicts with the own lists of P and of what is
        above P, and with the inner list of P

    so that neither many small ranges in a big one nor the other way round
    cost more than their number. A list has one entry for each chain, its
    latest; a write takes out what it is ordered with, for whoever races with
    that races with the write, too.
*/
typedef struct ts__mark {
    uint32_t chain, epoch;
    uint32_t span;
} ts__mark;

typedef struct ts__marks { // by chain
    ts__mark *data;
    uint32_t count, capacity;
} ts__marks;

typedef enum ts__subtree_list {
    TS__OWN_WRITES,
    TS__OWN_READS,
    TS__INNER_WRITES,
    TS__INNER_READS,
    TS__PART_LISTS
} ts__subtree_list;

typedef struct ts__subtree {
    ts__marks lists[TS__PART_LISTS];
} ts__subtree;

typedef struct ts__alloced { // an allocation, by its address
    uint32_t span;           // that allocated it
    uint32_t freed;          // actor that did, or TS_NODE_NONE
} ts__alloced;

typedef struct ts__shadow {
    ts_races *races;
    const ts_allocator *allocator;
    ts__precede order;
    uint32_t leaves;  // a power of two
    ts__rvec part_of; // uint32_t, of each tree node: its part, 0 none
    ts__rvec parts;   // ts__subtree, from 1 on
    // Of each tree node: the span that allocated or freed all of it last
    // (TS_NODE_NONE: not all the same), and whether something in it is freed.
    ts__rvec life, freed;
    ts__rmap blocks; // hash of space and address
    ts__rvec block_list;
    ts__rvec seen;  // uint32_t, of each actor: the last that met it, plus 1
    ts__rmap pairs; // of launch sites: row
    bool failed;
} ts__shadow;

static bool ts__span_frees(const ts__strip *s)
{
    return s->mode & TS__SPAN_FREE;
}

// Numbers the cells: low and high of every span.
static bool ts__cells_number(ts_races *x)
{
    const ts_allocator *const a = &x->allocator;
    const size_t count = x->spans.count * 2;
    ts__rsort sort = { 0 };
    if (!ts__rsort_open(a, &sort, count) ||
        !ts__rvec_reserve(a, &x->cells, sizeof(uint64_t), count) ||
        !ts__rvec_reserve(a, &x->cell_spaces, sizeof(uint32_t), count)) {
        ts__rsort_close(a, &sort);
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const ts__strip *const s = ts__races_span(x, i / 2);
        ts__rsort_keys(&sort)[i] = i & 1 ? s->last + 1 : s->first;
        ts__rsort_index(&sort)[i] = (uint32_t)i;
    }
    ts__rsort_run(&sort, count);
    for (size_t i = 0; i < count; i++)
        ts__rsort_keys(&sort)[i] =
            ts__races_span(x, ts__rsort_index(&sort)[i] / 2)->space;
    ts__rsort_run(&sort, count);
    uint64_t before = 0;
    uint32_t cell = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = ts__rsort_index(&sort)[i];
        ts__strip *const s = ts__races_span(x, at / 2);
        const uint64_t edge = at & 1 ? s->last + 1 : s->first;
        const bool first =
            !i || ts__rsort_keys(&sort)[i] != ts__rsort_keys(&sort)[i - 1];
        if (i && (first || edge != before)) cell++;
        before = edge;
        ((uint64_t *)x->cells.data)[cell] = edge;
        ((uint32_t *)x->cell_spaces.data)[cell] = s->space;
        *(at & 1 ? &s->high : &s->low) = cell;
    }
    x->cell_count = cell; // the last edge begins none
    x->cells.count = (size_t)cell + 1;
    ts__rsort_close(a, &sort);
    return true;
}

// Calls for each part of a range: while (ts__parts_next(&w)) w.node ...
typedef struct ts__parts_walk {
    uint32_t low, high, node;
} ts__parts_walk;

static bool ts__parts_next(ts__parts_walk *w)
{
    while (w->low < w->high) {
        if (w->low & 1) {
            w->node = w->low++;
            return true;
        }
        if (w->high & 1) {
            w->node = --w->high;
            return true;
        }
        w->low /= 2;
        w->high /= 2;
    }
    return false;
}

static ts__parts_walk ts__shadow_parts(const ts__shadow *s,
                                       const ts__strip *span)
{
    const ts__parts_walk w = { span->low + s->leaves, span->high + s->leaves,
                               0 };
    return w;
}

static ts__subtree *ts__shadow_part(const ts__shadow *s, uint32_t node)
{
    const uint32_t part = ((const uint32_t *)s->part_of.data)[node];
    return part ? (ts__subtree *)s->parts.data + part : NULL;
}

static bool ts__shadow_open(ts__shadow *s)
{
    ts_races *const x = s->races;
    const ts_allocator *const a = s->allocator;
    s->leaves = 1;
    while (s->leaves < x->cell_count + 1)
        s->leaves *= 2;
    const size_t nodes = (size_t)s->leaves * 2;
    if (!ts__rvec_fill(a, &s->part_of, sizeof(uint32_t), nodes, 0) ||
        !ts__rvec_fill(a, &s->life, sizeof(uint32_t), nodes, 0) ||
        !ts__rvec_fill(a, &s->freed, sizeof(bool), nodes, 0) ||
        !ts__rvec_fill(a, &s->seen, sizeof(uint32_t), x->actors.count, 0))
        return false;
    uint32_t count = 1;
    for (size_t i = 0; i < x->spans.count; i++) {
        ts__parts_walk w = ts__shadow_parts(s, ts__races_span(x, i));
        while (ts__parts_next(&w)) {
            uint32_t *const part = (uint32_t *)s->part_of.data + w.node;
            if (!*part) *part = count++;
        }
    }
    return ts__rvec_fill(a, &s->parts, sizeof(ts__subtree), count, 0);
}

static void ts__shadow_close(ts__shadow *s)
{
    const ts_allocator *const a = s->allocator;
    for (size_t i = 0; i < s->parts.count; i++)
        for (int k = 0; k < TS__PART_LISTS; k++) {
            ts__marks *const m = &((ts__subtree *)s->parts.data + i)->lists[k];
            if (m->data)
                a->resize(a->user, m->data, m->capacity * sizeof *m->data, 0);
        }
    ts__rvec_close(a, &s->part_of);
    ts__rvec_close(a, &s->parts);
    ts__rvec_close(a, &s->life);
    ts__rvec_close(a, &s->freed);
    ts__rvec_close(a, &s->blocks.entries);
    ts__rvec_close(a, &s->block_list);
    ts__rvec_close(a, &s->seen);
    ts__rvec_close(a, &s->pairs.entries);
}

static bool ts__marks_put(ts__shadow *s, ts__marks *m, const ts__mark *mark)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->data[middle].chain < mark->chain)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < m->count && m->data[low].chain == mark->chain) {
        m->data[low] = *mark;
        return true;
    }
    if (m->count == m->capacity) {
        const uint32_t capacity = m->capacity ? m->capacity * 2 : 2;
        ts__mark *const data = (ts__mark *)s->allocator->resize(
            s->allocator->user, m->data, m->capacity * sizeof *data,
            capacity * sizeof *data);
        if (!data) return false;
        m->data = data;
        m->capacity = capacity;
    }
    memmove(m->data + low + 1, m->data + low,
            (m->count++ - low) * sizeof *m->data);
    m->data[low] = *mark;
    return true;
}

/* ---- 10.67 Races: rows --------------------------------------------------- */

enum { TS__RACES_KEPT = 100000, TS__RACES_OF_LIST = 64 };

static ts_race_side ts__race_side(const ts_races *x, const ts__strip *span)
{
    const ts__actor *const actor = ts__races_actor(x, span->actor);
    ts_race_side side = { 0 };
    side.kind = (ts_event_kind)actor->kind;
    side.file = actor->file;
    side.operation = actor->op;
    side.track = actor->track;
    side.thread = actor->thread;
    side.site = actor->site;
    side.stack = actor->stack;
    side.start_ns = actor->start;
    side.end_ns = actor->end;
    side.address = span->first;
    side.size = span->last - span->first + 1;
    side.mode =
        span->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE | TS_ACCESS_COARSE);
    return side;
}

static ts_race_fix ts__race_fix(const ts__actor *first, const ts__actor *second,
                                ts_race_kind kind)
{
    if (kind == TS_RACE_DOUBLE_FREE) return TS_RACE_FIX_FREE_ONCE;
    if (kind == TS_RACE_USE_AFTER_FREE) return TS_RACE_FIX_FREE_LATER;
    if (second->host) return TS_RACE_FIX_HOST_SYNC;
    return first->host ? TS_RACE_FIX_LAUNCH_LATER : TS_RACE_FIX_EVENT_WAIT;
}

// Whether the second of two operations was launched first: what the program
// says counts, not which of the two happened to run first.
static bool ts__race_turned(const ts_races *x, const ts__strip *first,
                            const ts__strip *second)
{
    const ts__actor *const a = ts__races_actor(x, first->actor);
    const ts__actor *const b = ts__races_actor(x, second->actor);
    if (a->host || b->host) return false;
    const int64_t of_a = ts__replay_op(x->replay, a->op)->issue;
    const int64_t of_b = ts__replay_op(x->replay, b->op)->issue;
    return of_a != TS__NO_TIME && of_b != TS__NO_TIME && of_b < of_a;
}

// The row of a pair of launch sites; data races of a pair are one row,
// whichever of the two was first.
static ts_race *ts__race_row(ts__shadow *s, const ts__strip *first,
                             const ts__strip *second, ts_race_kind kind)
{
    ts_races *const x = s->races;
    const uint64_t a = ts__races_actor(x, first->actor)->where;
    const uint64_t b = ts__races_actor(x, second->actor)->where;
    const uint64_t v[] = { a < b ? a : b, a < b ? b : a,
                           kind == TS_RACE_READ_WRITE ? TS_RACE_WRITE_WRITE
                                                      : kind };
    const uint64_t key = XXH3_64bits(v, sizeof v);
    const uint32_t known = ts__rmap_get(&s->pairs, key);
    if (known != TS_NODE_NONE)
        return known < TS__RACES_KEPT ? (ts_race *)x->rows.data + known : NULL;
    x->stats.races++;
    if (x->rows.count == TS__RACES_KEPT) {
        s->failed |=
            !ts__rmap_put(s->allocator, &s->pairs, key, TS__RACES_KEPT);
        return NULL;
    }
    ts_race *const row =
        (ts_race *)ts__rvec_push(s->allocator, &x->rows, sizeof *row);
    if (!row || !ts__rmap_put(s->allocator, &s->pairs, key,
                              (uint32_t)x->rows.count - 1)) {
        s->failed = true;
        return NULL;
    }
    if (ts__race_turned(x, first, second)) {
        const ts__strip *const earlier = second;
        second = first;
        first = earlier;
    }
    memset(row, 0, sizeof *row);
    row->kind = kind;
    row->fix = ts__race_fix(ts__races_actor(x, first->actor),
                            ts__races_actor(x, second->actor), kind);
    row->first = ts__race_side(x, first);
    row->second = ts__race_side(x, second);
    row->address = first->first > second->first ? first->first : second->first;
    row->size = (first->last < second->last ? first->last : second->last) -
                row->address + 1;
    row->coarse = true;
    return row;
}

static void ts__race_found(ts__shadow *s, const ts__strip *first,
                           const ts__strip *second, ts_race_kind kind)
{
    ts_races *const x = s->races;
    x->stats.instances++;
    ts_race *const row = ts__race_row(s, first, second, kind);
    if (row) {
        row->instances++;
        row->coarse &= ((first->mode | second->mode) & TS_ACCESS_COARSE) != 0;
    }
    if (x->pairs.count == TS__RACES_KEPT) return;
    ts__race_pair *const pair =
        (ts__race_pair *)ts__rvec_push(s->allocator, &x->pairs, sizeof *pair);
    if (!pair) {
        s->failed = true;
        return;
    }
    pair->first = first->actor;
    pair->second = second->actor;
    pair->free = kind != TS_RACE_USE_AFTER_FREE && kind != TS_RACE_DOUBLE_FREE;
}

/* ---- 10.68 Races: lives of allocations ----------------------------------- */

static void ts__life_set(ts__shadow *s, uint32_t node, uint32_t span,
                         bool freed)
{
    ((uint32_t *)s->life.data)[node] = span;
    ((bool *)s->freed.data)[node] = freed;
}

// Spans count from 1 here: 0 is memory of which nothing is known.
static void ts__life_assign(ts__shadow *s, uint32_t node, uint32_t low,
                            uint32_t high, const ts__strip *range,
                            uint32_t span, bool freed)
{
    uint32_t *const life = (uint32_t *)s->life.data;
    const bool *const gone = (const bool *)s->freed.data;
    if (range->high <= low || high <= range->low) return;
    if (range->low <= low && high <= range->high) {
        ts__life_set(s, node, span, freed);
        return;
    }
    if (life[node] != TS_NODE_NONE) {
        ts__life_set(s, node * 2, life[node], gone[node]);
        ts__life_set(s, node * 2 + 1, life[node], gone[node]);
        life[node] = TS_NODE_NONE;
    }
    const uint32_t middle = low + (high - low) / 2;
    ts__life_assign(s, node * 2, low, middle, range, span, freed);
    ts__life_assign(s, node * 2 + 1, middle, high, range, span, freed);
    ((bool *)s->freed.data)[node] = gone[node * 2] || gone[node * 2 + 1];
}

// The first freed part of a range: the span that freed it, counted from 1.
static uint32_t ts__life_freed(const ts__shadow *s, uint32_t node, uint32_t low,
                               uint32_t high, const ts__strip *range)
{
    const uint32_t life = ((const uint32_t *)s->life.data)[node];
    if (range->high <= low || high <= range->low ||
        !((const bool *)s->freed.data)[node])
        return 0;
    if (life != TS_NODE_NONE) return life;
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t left = ts__life_freed(s, node * 2, low, middle, range);
    return left ? left : ts__life_freed(s, node * 2 + 1, middle, high, range);
}

static uint64_t ts__block_key(const ts__strip *span)
{
    const uint64_t v[] = { span->space, span->first };
    return XXH3_64bits(v, sizeof v);
}

static void ts__shadow_allocate(ts__shadow *s, uint32_t index)
{
    const ts__strip *const span = ts__races_span(s->races, index);
    ts__alloced *const block = (ts__alloced *)ts__rvec_push(
        s->allocator, &s->block_list, sizeof *block);
    if (!block || !ts__rmap_put(s->allocator, &s->blocks, ts__block_key(span),
                                (uint32_t)s->block_list.count - 1)) {
        s->failed = true;
        return;
    }
    block->span = index;
    block->freed = TS_NODE_NONE;
    ts__life_assign(s, 1, 0, s->leaves, span, index + 1, false);
}

// Gives a free the range of its allocation; false if there is none to free.
static bool ts__shadow_release(ts__shadow *s, uint32_t index)
{
    ts_races *const x = s->races;
    ts__strip *const span = ts__races_span(x, index);
    const uint32_t at = ts__rmap_get(&s->blocks, ts__block_key(span));
    if (at == TS_NODE_NONE) {
        x->stats.unknown_frees++;
        span->mode = 0;
        return false;
    }
    ts__alloced *const block = (ts__alloced *)s->block_list.data + at;
    const ts__strip *const whole = ts__races_span(x, block->span);
    span->last = whole->last;
    span->low = whole->low;
    span->high = whole->high;
    if (block->freed == TS_NODE_NONE) {
        block->freed = index;
        return true;
    }
    ts__race_found(s, ts__races_span(x, block->freed), span,
                   TS_RACE_DOUBLE_FREE);
    span->mode = 0;
    return false;
}

/* ---- 10.69 Races: looking ------------------------------------------------ */

typedef struct ts__look { // what touches memory now
    ts__shadow *shadow;
    const ts__vclock *in;
    uint32_t node, span;
    bool after_free; // an allocation of what was freed: looked at then
} ts__look;

// A free on a device, by a call, waits for what the device does.
static bool ts__free_waits(const ts__actor *later, const ts__actor *earlier)
{
    return later->host && later->kind == TS_EVENT_GPU_FREE &&
           (!later->device || !earlier->device ||
            (later->device == earlier->device &&
             later->file == earlier->file)) &&
           !earlier->host && earlier->end <= later->end;
}

// Whether two unordered spans are a race, and which.
static bool ts__look_kind(const ts__look *l, const ts__strip *a,
                          const ts__strip *b, ts_race_kind *kind)
{
    ts_races *const x = l->shadow->races;
    const ts__actor *const earlier = ts__races_actor(x, a->actor);
    const ts__actor *const later = ts__races_actor(x, b->actor);
    const uint8_t lives = TS__SPAN_ALLOC | TS__SPAN_FREE;
    if (earlier->host && later->host) return false; // not the GPU's matter
    if (a->mode & lives && b->mode & lives) return false;
    if (b->mode & TS__SPAN_ALLOC && l->after_free) return false;
    if (ts__span_frees(b) && ts__free_waits(later, earlier)) return false;
    if (!later->placed) {
        x->stats.unknown_order++;
        return false;
    }
    const bool both = a->mode & b->mode & TS_ACCESS_WRITE;
    *kind = (a->mode | b->mode) & TS__SPAN_FREE    ? TS_RACE_UNORDERED_FREE
            : (a->mode | b->mode) & TS__SPAN_ALLOC ? TS_RACE_UNORDERED_ALLOC
            : both                                 ? TS_RACE_WRITE_WRITE
                                                   : TS_RACE_READ_WRITE;
    return true;
}

static void ts__look_meet(const ts__look *l, const ts__mark *mark)
{
    ts__shadow *const s = l->shadow;
    const ts__strip *const a = ts__races_span(s->races, mark->span);
    const ts__strip *const b = ts__races_span(s->races, l->span);
    uint32_t *const seen = (uint32_t *)s->seen.data + a->actor;
    ts_race_kind kind;
    if (*seen == b->actor + 1) return;
    if (!ts__look_kind(l, a, b, &kind)) return;
    *seen = b->actor + 1;
    ts__race_found(s, a, b, kind);
}

// Meets the unordered ones of a list; `prune` leaves only these in it.
static void ts__look_list(const ts__look *l, ts__marks *m, bool prune)
{
    ts_races *const x = l->shadow->races;
    uint32_t met = 0, kept = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const ts__mark mark = m->data[i];
        const bool before = ts__vclock_get(l->in, mark.chain) >= mark.epoch;
        const uint32_t actor = ts__races_span(x, mark.span)->actor;
        const bool own = ts__races_actor(x, actor)->node == l->node;
        if (!before && !own && ++met > TS__RACES_OF_LIST) {
            x->stats.capped += met == TS__RACES_OF_LIST + 1;
            if (!prune) return;
        } else if (!before && !own) {
            ts__look_meet(l, &mark);
        }
        if (prune && !before) m->data[kept++] = mark;
    }
    if (prune) m->count = kept;
}

static void ts__look_around(const ts__look *l, const ts__strip *span)
{
    ts__shadow *const s = l->shadow;
    const bool writes = span->mode & TS_ACCESS_WRITE;
    ts__parts_walk w = ts__shadow_parts(s, span);
    while (ts__parts_next(&w)) {
        ts__subtree *const part = ts__shadow_part(s, w.node);
        for (int k = TS__OWN_WRITES; k < TS__PART_LISTS; k++)
            if (writes || k == TS__OWN_WRITES || k == TS__INNER_WRITES)
                ts__look_list(l, &part->lists[k], writes);
        for (uint32_t up = w.node / 2; up; up /= 2) {
            ts__subtree *const above = ts__shadow_part(s, up);
            if (!above) continue;
            ts__look_list(l, &above->lists[TS__OWN_WRITES], false);
            if (writes) ts__look_list(l, &above->lists[TS__OWN_READS], false);
        }
    }
}

static bool ts__shadow_mark(ts__shadow *s, uint32_t index)
{
    const ts__strip *const span = ts__races_span(s->races, index);
    const ts__actor *const actor = ts__races_actor(s->races, span->actor);
    const bool writes = span->mode & TS_ACCESS_WRITE;
    const bool reads = span->mode & TS_ACCESS_READ && !writes;
    const ts__mark mark = { actor->chain, actor->epoch, index };
    bool ok = true;
    ts__parts_walk w = ts__shadow_parts(s, span);
    while (ok && (writes || reads) && ts__parts_next(&w)) {
        ts__marks *lists = ts__shadow_part(s, w.node)->lists;
        ok = ts__marks_put(s, &lists[writes ? TS__OWN_WRITES : TS__OWN_READS],
                           &mark);
        for (uint32_t up = w.node / 2; ok && up; up /= 2) {
            ts__subtree *const above = ts__shadow_part(s, up);
            if (!above) continue;
            lists = above->lists;
            ok = ts__marks_put(
                s, &lists[writes ? TS__INNER_WRITES : TS__INNER_READS], &mark);
        }
    }
    return ok;
}

static void ts__look_span(ts__look *l)
{
    ts__shadow *const s = l->shadow;
    ts_races *const x = s->races;
    const ts__strip *const span = ts__races_span(x, l->span);
    if (ts__span_frees(span) && !ts__shadow_release(s, l->span)) return;
    if (!(span->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))) return;
    const uint32_t gone = ts__life_freed(s, 1, 0, s->leaves, span);
    l->after_free = gone != 0;
    if (gone && !(span->mode & (TS__SPAN_ALLOC | TS__SPAN_FREE))) {
        const ts__strip *const by = ts__races_span(x, gone - 1);
        const ts__actor *const actor = ts__races_actor(x, by->actor);
        if (ts__vclock_get(l->in, actor->chain) >= actor->epoch)
            ts__race_found(s, by, span, TS_RACE_USE_AFTER_FREE);
    }
    ts__look_around(l, span);
    if (span->mode & TS__SPAN_ALLOC) ts__shadow_allocate(s, l->span);
    if (ts__span_frees(span))
        ts__life_assign(s, 1, 0, s->leaves, span, l->span + 1, true);
}

static bool ts__shadow_visit(void *user, uint32_t node, const ts__vclock *in)
{
    ts__shadow *const s = (ts__shadow *)user;
    ts_races *const x = s->races;
    ts__look look = { s, in, node, 0, false };
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    // All look before any leaves its mark: what one node does is one.
    for (int marks = 0; marks < 2; marks++)
        for (uint32_t i = head; i != TS_NODE_NONE;
             i = ts__races_actor(x, i)->next) {
            const ts__actor *const actor = ts__races_actor(x, i);
            for (uint32_t k = 0; k < actor->span_count && !s->failed; k++) {
                look.span = actor->spans + k;
                if (!marks)
                    ts__look_span(&look);
                else if (!ts__shadow_mark(s, look.span))
                    s->failed = true;
            }
        }
    return !s->failed;
}

/* ---- 10.70 Races: open and close ----------------------------------------- */

// Actors by their nodes; those without one, or without memory, are left out.
static bool ts__races_link(ts_races *x)
{
    const size_t nodes = x->replay->node_count + (size_t)x->stats.host;
    if (!ts__rvec_fill(&x->allocator, &x->heads, sizeof(uint32_t), nodes, 0xFF))
        return false;
    uint32_t *const heads = (uint32_t *)x->heads.data;
    for (size_t i = x->actors.count; i-- > 0;) {
        ts__actor *const actor = ts__races_actor(x, i);
        if (actor->node == TS_NODE_NONE ||
            (!actor->span_count && actor->op != TS_NODE_NONE))
            continue;
        actor->next = heads[actor->node];
        heads[actor->node] = (uint32_t)i;
    }
    return true;
}

static ts_result ts__races_look(ts_races *x)
{
    ts__shadow s = { 0 };
    s.races = x;
    s.allocator = &x->allocator;
    ts_result result = TS_ERR_MEMORY;
    if (ts__cells_number(x) && ts__shadow_open(&s)) {
        uint32_t left = 0;
        s.order.races = x;
        s.order.visit = ts__shadow_visit;
        s.order.user = &s;
        result = ts__precede_run(&s.order, &left);
        for (size_t i = 0; left && i < x->actors.count; i++)
            x->stats.circle += ts__races_actor(x, i)->span_count &&
                               !ts__races_actor(x, i)->epoch &&
                               ts__races_actor(x, i)->node != TS_NODE_NONE;
    }
    ts__shadow_close(&s);
    return result;
}

TS_API ts_result ts_races_open(ts_races **races, const ts_replay *replay)
{
    if (!races) return TS_ERR_USAGE;
    *races = NULL;
    if (!replay) return TS_ERR_USAGE;
    const ts_allocator a = replay->allocator;
    ts_races *const x = (ts_races *)a.resize(a.user, NULL, 0, sizeof *x);
    if (!x) return TS_ERR_MEMORY;
    memset(x, 0, sizeof *x);
    x->replay = replay;
    x->allocator = a;
    ts__gather gather = { 0 };
    gather.races = x;
    ts_result result = ts__gather_run(&gather);
    ts__gather_close(&gather);
    if (result == TS_OK && x->spans.count >= UINT32_MAX / 4)
        result = TS_ERR_UNSUPPORTED;
    if (result == TS_OK && x->spans.count) {
        result = ts__races_link(x) && ts__races_place_hosts(x) ? TS_OK
                                                               : TS_ERR_MEMORY;
        if (result == TS_OK) result = ts__races_look(x);
    }
    if (result != TS_OK) {
        ts_races_close(x);
        return result;
    }
    *races = x;
    return TS_OK;
}

TS_API void ts_races_close(ts_races *races)
{
    if (!races) return;
    const ts_allocator a = races->allocator;
    ts__rvec *const all[] = {
        &races->actors,      &races->spans,  &races->copies,  &races->heads,
        &races->edges,       &races->hosts,  &races->rows,    &races->cells,
        &races->cell_spaces, &races->events, &races->befores, &races->pairs
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ts__rvec_close(&a, all[i]);
    a.resize(a.user, races, sizeof *races, 0);
}

TS_API const ts_races_stats *ts_races_result(const ts_races *races)
{
    return &races->stats;
}

TS_API bool ts_races_at(const ts_races *races, size_t index, ts_race *race)
{
    if (index >= races->rows.count) return false;
    *race = ((const ts_race *)races->rows.data)[index];
    return true;
}

TS_API const char *ts_race_name(uint32_t kind)
{
    switch (kind) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_RACES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API const char *ts_race_fix_name(uint32_t fix)
{
    switch (fix) {
#define TS__X(name, value, text) \
    case value: return text;
        TS_RACE_FIXES(TS__X)
#undef TS__X
    default: return "unknown";
    }
}

TS_API ts_text ts_race_side_label(const ts_races *races,
                                  const ts_race_side *side)
{
    ts_operation op;
    if (side->operation != TS_NODE_NONE &&
        ts_replay_operation(races->replay, side->operation, &op))
        return ts_operation_label(ts_replay_reader(races->replay, side->file),
                                  &op);
    ts_text text = { ts_event_name((uint32_t)side->kind), 0 };
    text.size = strlen(text.text);
    return text;
}
