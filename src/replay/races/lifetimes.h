/* ---- Races: lifetimes of allocations ------------------------------------ */

static void ts__lifetime_set(ts__shadow *s, uint32_t node, uint32_t span,
                             bool freed)
{
    ((uint32_t *)s->life.data)[node] = span;
    ((bool *)s->freed.data)[node] = freed;
}

// Sets the last allocation or free of a range. Spans count from 1 here; 0 is
// memory without a known one.
static void ts__lifetime_assign(ts__shadow *s, uint32_t node, uint32_t low,
                                uint32_t high, const ts__race_span *range,
                                uint32_t span, bool freed)
{
    uint32_t *const life = (uint32_t *)s->life.data;
    const bool *const gone = (const bool *)s->freed.data;
    if (range->high <= low || high <= range->low) return;
    if (range->low <= low && high <= range->high) {
        ts__lifetime_set(s, node, span, freed);
        return;
    }
    if (life[node] != TS_NODE_NONE) {
        ts__lifetime_set(s, node * 2, life[node], gone[node]);
        ts__lifetime_set(s, node * 2 + 1, life[node], gone[node]);
        life[node] = TS_NODE_NONE;
    }
    const uint32_t middle = low + (high - low) / 2;
    ts__lifetime_assign(s, node * 2, low, middle, range, span, freed);
    ts__lifetime_assign(s, node * 2 + 1, middle, high, range, span, freed);
    ((bool *)s->freed.data)[node] = gone[node * 2] || gone[node * 2 + 1];
}

// Returns the span, counted from 1, that freed the first freed part of a range;
// 0: none.
static uint32_t ts__lifetime_freed(const ts__shadow *s, uint32_t node,
                                   uint32_t low, uint32_t high,
                                   const ts__race_span *range)
{
    const uint32_t life = ((const uint32_t *)s->life.data)[node];
    if (range->high <= low || high <= range->low ||
        !((const bool *)s->freed.data)[node])
        return 0;
    if (life != TS_NODE_NONE) return life;
    const uint32_t middle = low + (high - low) / 2;
    const uint32_t left = ts__lifetime_freed(s, node * 2, low, middle, range);
    return left ? left
                : ts__lifetime_freed(s, node * 2 + 1, middle, high, range);
}

static uint64_t ts__block_key(const ts__race_span *span)
{
    const uint64_t v[] = { span->space, span->first };
    return XXH3_64bits(v, sizeof v);
}

static void ts__shadow_allocate(ts__shadow *s, uint32_t index)
{
    const ts__race_span *const span = ts__races_span(s->races, index);
    ts__allocation *const block = (ts__allocation *)ts__rvec_push(
        s->allocator, &s->block_list, sizeof *block);
    if (!block || !ts__rmap_put(s->allocator, &s->blocks, ts__block_key(span),
                                (uint32_t)s->block_list.count - 1)) {
        s->failed = true;
        return;
    }
    block->span = index;
    block->freed = TS_NODE_NONE;
    ts__lifetime_assign(s, 1, 0, s->leaves, span, index + 1, false);
}

// Sets the range of a free to that of its allocation. Returns false if there is
// none to free.
static bool ts__shadow_release(ts__shadow *s, uint32_t index)
{
    ts_races *const x = s->races;
    ts__race_span *const span = ts__races_span(x, index);
    const uint32_t at = ts__rmap_get(&s->blocks, ts__block_key(span));
    if (at == TS_NODE_NONE) {
        x->stats.unknown_frees++;
        span->mode = 0;
        return false;
    }
    ts__allocation *const block = (ts__allocation *)s->block_list.data + at;
    const ts__race_span *const whole = ts__races_span(x, block->span);
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
