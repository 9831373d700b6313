/* ---- Timeline: blocked threads ------------------------------------------- */

static bool ts__tl_block_add(ts_timeline *t, int sort, uint32_t node,
                             uint32_t lane, bool inferred)
{
    ts__tl_block *const block = (ts__tl_block *)ts__rvec_push(
        &t->allocator, &t->blocks[sort], sizeof *block);
    if (!block) return false;
    block->start_ns = ts__tl_begin(t, node);
    block->end_ns = ts__tl_finish(t, node);
    block->lane = lane;
    block->node = node;
    block->inferred = inferred;
    return true;
}

// Lists blocked calls and synchronisations. The calls come first, so that a
// call which also has a synchronisation event is named instead of that event.
static bool ts__tl_block_list(ts_timeline *t)
{
    const ts_replay *const r = t->replay;
    ts__rmap threads = { { 0 }, 0 };
    bool ok = true;
    for (size_t i = 0; ok && i < r->waiters.count; i++) {
        const uint32_t owner = ts__tl_u32(&r->waiters)[i];
        const uint8_t held = ((const uint8_t *)t->held.data)[i];
        if (!held || !ts__tl_is_call(r, owner)) continue;
        const uint32_t end = ts__replay_end_node(r, owner);
        const bool queue = ts__tl_bound_by(t, end) == TS_EDGE_QUEUE;
        // The queue did not hold it up.
        if (!queue && held == TS__HELD_QUEUE) continue;
        // A query, or a wait for something already completed, did not block.
        if (ts__tl_binding_of(t, end)->at_ns <= ts__tl_begin(t, owner))
            continue;
        ok = ts__tl_block_add(t, queue ? TS__BLOCK_QUEUE : TS__BLOCK_SYNC,
                              owner, ts__replay_lanes(r)[owner],
                              !queue && !(held & TS__HELD_SYNC));
    }
    for (uint32_t i = 0; ok && i < r->lanes.count; i++) {
        const ts__replay_lane *const lane = ts__replay_lane_at(r, i);
        ok = ts__rmap_put(&t->allocator, &threads,
                          ts__replay_key(lane->file, lane->track), i);
    }
    for (uint32_t i = 0; ok && i < r->op_count; i++) {
        const ts__op *const op = ts__replay_op(r, i);
        if (!ts__kind_syncs(op->kind) || !op->thread) continue;
        const uint32_t lane = ts__rmap_get(
            &threads, ts__replay_key(ts__replay_file_of(r, i), op->thread));
        if (lane != TS_NODE_NONE)
            ok = ts__tl_block_add(t, TS__BLOCK_SYNC, i, lane, false);
    }
    ts__rvec_close(&t->allocator, &threads.entries);
    return ok;
}

// Sorts blocks by thread and start, and merges overlapping ones.
static bool ts__tl_block_sort(ts_timeline *t, ts__rvec *blocks)
{
    const size_t count = blocks->count;
    if (!count) return true;
    const ts__tl_block *const from = (const ts__tl_block *)blocks->data;
    ts__rsort sort = { 0 };
    ts__rvec sorted = { 0 };
    const bool ok =
        ts__rsort_open(&t->allocator, &sort, count) &&
        ts__rvec_reserve(&t->allocator, &sorted, sizeof *from, count);
    for (int key = 0; ok && key < 2; key++) {
        for (size_t i = 0; i < count; i++) {
            if (!key) ts__rsort_index(&sort)[i] = (uint32_t)i;
            const ts__tl_block *const b = &from[ts__rsort_index(&sort)[i]];
            ts__rsort_keys(&sort)[i] =
                key ? b->lane : ts__rsort_time(b->start_ns);
        }
        ts__rsort_run(&sort, count);
    }
    ts__tl_block *const to = (ts__tl_block *)sorted.data;
    size_t kept = 0;
    for (size_t i = 0; ok && i < count; i++) {
        const ts__tl_block b = from[ts__rsort_index(&sort)[i]];
        ts__tl_block *const last = kept ? &to[kept - 1] : NULL;
        if (last && last->lane == b.lane && b.start_ns < last->end_ns) {
            last->inferred &= b.inferred;
            if (b.end_ns > last->end_ns) last->end_ns = b.end_ns;
            continue;
        }
        to[kept++] = b;
    }
    ts__rsort_close(&t->allocator, &sort);
    if (!ok) return false;
    ts__rvec_close(&t->allocator, blocks);
    *blocks = sorted;
    blocks->count = kept;
    return true;
}

static bool ts__tl_blocks(ts_timeline *t)
{
    return ts__tl_block_list(t) && ts__tl_block_sort(t, &t->blocks[0]) &&
           ts__tl_block_sort(t, &t->blocks[1]);
}

// Returns the index of the first block of a thread, or of a later thread, that
// ends at or after `time` (with `after`: later than `time`).
static size_t ts__tl_block_find(const ts__rvec *blocks, uint32_t lane,
                                int64_t time, bool after)
{
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    size_t low = 0, high = blocks->count;
    while (low < high) {
        const size_t middle = ts__middle(low, high);
        const ts__tl_block *const b = &list[middle];
        const bool less =
            b->lane != lane ? b->lane < lane
                            : b->end_ns < time || (after && b->end_ns == time);
        ts__halve(&low, &high, less);
    }
    return low;
}

// Returns how long a thread was blocked in blocks that end in [from, to].
// *longest receives the first of the longest such blocks, NULL if there is
// none.
static int64_t ts__tl_blocked(const ts_timeline *t, int sort, uint32_t lane,
                              int64_t from, int64_t to,
                              const ts__tl_block **longest)
{
    const ts__rvec *const blocks = &t->blocks[sort];
    const ts__tl_block *const list = (const ts__tl_block *)blocks->data;
    const size_t end = ts__tl_block_find(blocks, lane, to, true);
    int64_t sum = 0, most = -1;
    *longest = NULL;
    for (size_t i = ts__tl_block_find(blocks, lane, from, false); i < end;
         i++) {
        const int64_t length = list[i].end_ns - list[i].start_ns;
        sum = ts__replay_add(sum, length);
        if (length <= most) continue;
        most = length;
        *longest = &list[i];
    }
    return sum;
}
