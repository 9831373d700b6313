/* ---- Races: detection --------------------------------------------------- */

typedef struct ts__check { // the access being checked
    ts__shadow *shadow;
    const ts__vclock *in;
    uint32_t node, span;
    // It follows a free of the same memory, with which it was checked.
    bool after_free;
} ts__check;

// Whether a call that frees device memory waits for an earlier operation of the
// device.
static bool ts__free_waits(const ts__actor *later, const ts__actor *earlier)
{
    return later->host && later->kind == TS_EVENT_GPU_FREE &&
           (!later->device || !earlier->device ||
            (later->device == earlier->device &&
             later->file == earlier->file)) &&
           !earlier->host && earlier->end <= later->end;
}

// Whether two unordered spans are a race, and of which kind.
static bool ts__check_kind(const ts__check *l, const ts__race_span *a,
                           const ts__race_span *b, ts_race_kind *kind)
{
    ts_races *const x = l->shadow->races;
    const ts__actor *const earlier = ts__races_actor(x, a->actor);
    const ts__actor *const later = ts__races_actor(x, b->actor);
    const uint8_t lives = TS__SPAN_ALLOC | TS__SPAN_FREE;
    // Races between threads of the host are not checked.
    if (earlier->host && later->host) return false;
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

static void ts__check_conflict(const ts__check *l, const ts__mark *mark)
{
    ts__shadow *const s = l->shadow;
    const ts__race_span *const a = ts__races_span(s->races, mark->span);
    const ts__race_span *const b = ts__races_span(s->races, l->span);
    uint32_t *const seen = (uint32_t *)s->seen.data + a->actor;
    ts_race_kind kind;
    if (*seen == b->actor + 1) return;
    if (!ts__check_kind(l, a, b, &kind)) return;
    *seen = b->actor + 1;
    ts__race_found(s, a, b, kind);
}

// Checks the marks of a list that are not ordered before the current access.
// `prune` removes all others from the list.
static void ts__check_list(const ts__check *l, ts__marks *m, bool prune)
{
    ts_races *const x = l->shadow->races;
    uint32_t unordered = 0, kept = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const ts__mark mark = m->data[i];
        const bool before = ts__vclock_get(l->in, mark.chain) >= mark.epoch;
        const uint32_t actor = ts__races_span(x, mark.span)->actor;
        const bool own = ts__races_actor(x, actor)->node == l->node;
        if (!before && !own && ++unordered > TS__RACES_OF_LIST) {
            x->stats.capped += unordered == TS__RACES_OF_LIST + 1;
            if (!prune) return;
        } else if (!before && !own) {
            ts__check_conflict(l, &mark);
        }
        if (prune && !before) m->data[kept++] = mark;
    }
    if (prune) m->count = kept;
}

// Checks a span against the lists of its parts and of their ancestors.
static void ts__check_tree(const ts__check *l, const ts__race_span *span)
{
    ts__shadow *const s = l->shadow;
    const bool writes = span->mode & TS_ACCESS_WRITE;
    ts__parts_walk w = ts__shadow_parts(s, span);
    while (ts__parts_next(&w)) {
        ts__subtree *const part = ts__shadow_part(s, w.node);
        for (int k = TS__OWN_WRITES; k < TS__PART_LISTS; k++)
            if (writes || k == TS__OWN_WRITES || k == TS__INNER_WRITES)
                ts__check_list(l, &part->lists[k], writes);
        for (uint32_t up = w.node / 2; up; up /= 2) {
            ts__subtree *const above = ts__shadow_part(s, up);
            if (!above) continue;
            ts__check_list(l, &above->lists[TS__OWN_WRITES], false);
            if (writes) ts__check_list(l, &above->lists[TS__OWN_READS], false);
        }
    }
}

// Leaves the mark of a span in its parts and in their ancestors.
static bool ts__shadow_mark(ts__shadow *s, uint32_t index)
{
    const ts__race_span *const span = ts__races_span(s->races, index);
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

// Checks one access: its lifetime first, then other accesses.
static void ts__check_span(ts__check *l)
{
    ts__shadow *const s = l->shadow;
    ts_races *const x = s->races;
    const ts__race_span *const span = ts__races_span(x, l->span);
    if (ts__span_frees(span) && !ts__shadow_release(s, l->span)) return;
    if (!(span->mode & (TS_ACCESS_READ | TS_ACCESS_WRITE))) return;
    const uint32_t gone = ts__lifetime_freed(s, 1, 0, s->leaves, span);
    l->after_free = gone != 0;
    if (gone && !(span->mode & (TS__SPAN_ALLOC | TS__SPAN_FREE))) {
        const ts__race_span *const by = ts__races_span(x, gone - 1);
        const ts__actor *const actor = ts__races_actor(x, by->actor);
        if (ts__vclock_get(l->in, actor->chain) >= actor->epoch)
            ts__race_found(s, by, span, TS_RACE_USE_AFTER_FREE);
    }
    ts__check_tree(l, span);
    if (span->mode & TS__SPAN_ALLOC) ts__shadow_allocate(s, l->span);
    if (ts__span_frees(span))
        ts__lifetime_assign(s, 1, 0, s->leaves, span, l->span + 1, true);
}

static bool ts__shadow_visit(void *user, uint32_t node, const ts__vclock *in)
{
    ts__shadow *const s = (ts__shadow *)user;
    ts_races *const x = s->races;
    ts__check check = { s, in, node, 0, false };
    const uint32_t head = ((const uint32_t *)x->heads.data)[node];
    // First check all actors of the node, then leave their marks: actors of one
    // node do not race with each other.
    for (int marks = 0; marks < 2; marks++)
        for (uint32_t i = head; i != TS_NODE_NONE;
             i = ts__races_actor(x, i)->next) {
            const ts__actor *const actor = ts__races_actor(x, i);
            for (uint32_t k = 0; k < actor->span_count && !s->failed; k++) {
                check.span = actor->spans + k;
                if (!marks)
                    ts__check_span(&check);
                else if (!ts__shadow_mark(s, check.span))
                    s->failed = true;
            }
        }
    return !s->failed;
}
