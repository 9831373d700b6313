/* ---- Races: reducing an order -------------------------------------------- */

// Sets `tried` to the first k steps of the order found, followed by all others
// as recorded.
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

// Does the same, with step k of the order found moved forward by `places`.
// Returns how many places it could move at most.
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

// Stores the first range of cells whose contents differ from the recorded
// outcome.
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
    if (low == x->cell_count) return; // only the host read something different
    uint32_t high = low + 1;
    while (high < x->cell_count && memcmp(&a[high], &b[high], sizeof *a) &&
           space[high] == space[low])
        high++;
    result->address = first[low];
    result->size = first[high] - first[low];
}

static bool ts__trial_conflict(const ts_races *x, uint32_t a, uint32_t b,
                               ts_exploration *result)
{
    const ts__actor *const first = ts__races_actor(x, a);
    const ts__actor *const second = ts__races_actor(x, b);
    for (uint32_t i = 0; i < first->span_count; i++)
        for (uint32_t k = 0; k < second->span_count; k++) {
            const ts__race_span *const s = ts__races_span(x, first->spans + i);
            const ts__race_span *const u = ts__races_span(x, second->spans + k);
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
            if (ts__trial_conflict(x, a, b, result)) return;
}

/*
    Finds the two events that matter. From the recorded order to the order found
    leads a path of orders, each of which swaps two neighbours. At its beginning
    the memory is as recorded, at its end it is not. Bisection finds a swap that
    makes the difference.
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
