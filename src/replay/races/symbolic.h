/* ---- Races: symbolic memory --------------------------------------------- */

// The content of a cell: the bytes of the object `id` from `offset` on.
typedef struct ts__content {
    uint64_t id, offset;
} ts__content;

// Bit of an id: all its bytes are equal.
#define TS__CONTENT_FILL (UINT64_C(1) << 63)

typedef struct ts__trial {
    ts_races *races;
    const ts_allocator *allocator;
    ts__rvec cells, recorded; // ts__content: now; after the recorded order
    ts__rvec saw;             // uint64_t of each event: hash of what it read
    ts__rvec staged; // uint64_t of each actor: hash of what its call staged
    ts__rvec moved;  // ts__content: buffer for one copy
    ts__rvec found, tried; // uint32_t: orders of events
    ts__rvec missing, after, after_offsets;
    ts__rvec heap;       // ts__hb_item: events that may run next
    ts__rvec priorities; // int64_t of each chain
    ts__rvec pairs;      // ts__race_pair of events
    ts__rmap known;      // hashes of the outcomes of orders so far
    uint64_t random;
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

enum { // what a hash stands for
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
    // A copy may come before its call in this order, and must not read what
    // another order staged.
    memset(t->staged.data, 0, x->actors.count * sizeof(uint64_t));
}

// Returns a hash of the contents of a span.
static uint64_t ts__trial_read(const ts__trial *t, const ts__race_span *s)
{
    return XXH3_64bits(ts__trial_cells(t) + s->low,
                       (s->high - s->low) * sizeof(ts__content));
}

static void ts__trial_write(ts__trial *t, const ts__race_span *s, uint64_t id)
{
    const uint64_t *const first = (const uint64_t *)t->races->cells.data;
    ts__content *const cells = ts__trial_cells(t);
    for (uint32_t i = s->low; i < s->high; i++) {
        cells[i].id = id;
        cells[i].offset = id & TS__CONTENT_FILL ? 0 : first[i] - s->first;
    }
}

// Returns the content of `size` bytes at an address; *cell moves on to the cell
// that contains the first.
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

// Copies through a buffer, since source and destination may overlap.
static void ts__trial_copy(ts__trial *t, const ts__race_span *from,
                           const ts__race_span *to)
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

// Runs an operation: it writes a hash of itself and all that it reads. A write
// to an unknown part of a range keeps some of the old content.
static void ts__trial_work(ts__trial *t, const ts__actor *actor, uint64_t *saw)
{
    const ts_races *const x = t->races;
    const uint8_t keeps = TS_ACCESS_READ | TS_ACCESS_COARSE;
    uint64_t inputs = 0;
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__race_span *const s = ts__races_span(x, actor->spans + i);
        if (s->mode & keeps)
            inputs = ts__trial_hash(i, inputs, ts__trial_read(t, s));
    }
    *saw = ts__trial_hash(actor->epoch, *saw, inputs);
    for (uint32_t i = 0; i < actor->span_count; i++) {
        const ts__race_span *const s = ts__races_span(x, actor->spans + i);
        if (!(s->mode & TS_ACCESS_WRITE)) continue;
        const uint64_t who = ts__trial_hash(
            i, (uint64_t)actor->chain << 32 | actor->epoch, actor->where);
        ts__trial_write(t, s, ts__trial_hash(TS__HASH_WORK, who, inputs));
    }
}

// Runs a copy, or one of the halves into which staging splits it: the call that
// reads pageable memory, and the write of what was staged.
static void ts__trial_memcpy(ts__trial *t, uint32_t index, uint64_t *saw)
{
    const ts__actor *const actor = ts__races_actor(t->races, index);
    const ts__race_span *const s = ts__races_span(t->races, actor->spans);
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
    const ts__race_span *const s = ts__races_span(t->races, actor->spans);
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

// Returns a digest of the outcome: the memory and what the host read.
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

// Runs an order and returns its digest. *class_of also covers what device work
// read, which only serves to tell orders apart.
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
