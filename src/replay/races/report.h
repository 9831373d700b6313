/* ---- Races: reporting ---------------------------------------------------- */

enum { TS__RACES_KEPT = 100000, TS__RACES_OF_LIST = 64 };

static ts_race_side ts__race_side(const ts_races *x, const ts__race_span *span)
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

// Whether the second of two operations was launched first. Their order in the
// program counts, not which of them happened to run first.
static bool ts__race_reversed(const ts_races *x, const ts__race_span *first,
                              const ts__race_span *second)
{
    const ts__actor *const a = ts__races_actor(x, first->actor);
    const ts__actor *const b = ts__races_actor(x, second->actor);
    if (a->host || b->host) return false;
    const int64_t of_a = ts__replay_op(x->replay, a->op)->issue;
    const int64_t of_b = ts__replay_op(x->replay, b->op)->issue;
    return of_a != TS__NO_TIME && of_b != TS__NO_TIME && of_b < of_a;
}

// Returns the row of a pair of launch sites. Data races of a pair share a row
// whichever of the two ran first.
static ts_race *ts__race_row(ts__shadow *s, const ts__race_span *first,
                             const ts__race_span *second, ts_race_kind kind)
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
    if (ts__race_reversed(x, first, second)) {
        const ts__race_span *const earlier = second;
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

static void ts__race_found(ts__shadow *s, const ts__race_span *first,
                           const ts__race_span *second, ts_race_kind kind)
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
