/* ---- Races: shadow of memory -------------------------------------------- */

/*
    The first and last addresses of all spans divide memory into cells. A tree
    over the cells remembers who accessed what. A range consists of at most two
    whole subtrees of each level, its *parts*. Each part has four lists: who
    wrote and who read the part as a whole (`own`) or something inside of it
    (`inner`).

        An access to P conflicts with the own lists of P and of its
        ancestors, and with the inner lists of P.

    So neither many small ranges in a big one nor the reverse cost more than
    their number. A list has one entry for each chain, the latest. A write
    removes the entries that are ordered before it, since whoever races with
    those races with the write, too.
*/
typedef struct ts__mark {
    uint32_t chain, epoch;
    uint32_t span;
} ts__mark;

typedef struct ts__marks { // sorted by chain
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

typedef struct ts__allocation { // an allocation, found by its address
    uint32_t span;              // the span that allocated it
    uint32_t freed;             // the span that freed it; TS_NODE_NONE: none
} ts__allocation;

typedef struct ts__shadow {
    ts_races *races;
    const ts_allocator *allocator;
    ts__hb order;
    uint32_t leaves;  // number of leaves, a power of two
    ts__rvec part_of; // uint32_t of each tree node: its part; 0: none
    ts__rvec parts;   // ts__subtree; index 0 is unused
    // Of each tree node: the span, counted from 1, that last allocated or freed
    // all of it (TS_NODE_NONE: not the same for all), and whether any of it is
    // freed.
    ts__rvec life, freed;
    ts__rmap blocks; // hash of address space and address to allocation
    ts__rvec block_list;
    // uint32_t of each actor: last actor checked against it, plus 1.
    ts__rvec seen;
    ts__rmap pairs; // hash of a pair of launch sites to row
    bool failed;
} ts__shadow;

static bool ts__span_frees(const ts__race_span *s)
{
    return s->mode & TS__SPAN_FREE;
}

// Numbers the cells and sets low and high of every span.
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
        const ts__race_span *const s = ts__races_span(x, i / 2);
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
        ts__race_span *const s = ts__races_span(x, at / 2);
        const uint64_t edge = at & 1 ? s->last + 1 : s->first;
        const bool first =
            !i || ts__rsort_keys(&sort)[i] != ts__rsort_keys(&sort)[i - 1];
        if (i && (first || edge != before)) cell++;
        before = edge;
        ((uint64_t *)x->cells.data)[cell] = edge;
        ((uint32_t *)x->cell_spaces.data)[cell] = s->space;
        *(at & 1 ? &s->high : &s->low) = cell;
    }
    x->cell_count = cell; // no cell begins at the last address
    x->cells.count = (size_t)cell + 1;
    ts__rsort_close(a, &sort);
    return true;
}

// Iterates over the parts of a range: while (ts__parts_next(&w)) w.node ...
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
                                       const ts__race_span *span)
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
    size_t low = 0, high = m->count;
    while (low < high)
        ts__halve(&low, &high,
                  m->data[ts__middle(low, high)].chain < mark->chain);
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
