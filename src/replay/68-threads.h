/* ---- 10.23.4 Replay: threads that work in turns -------------------------- */

/*
    A thread that hands its work to another and waits for it, as a training
    loop does with the thread that computes gradients: no call tells. Where
    all launches of a process come from one thread for a while, then from
    another, eight each at least, the first call of the second comes after the
    last of the first. Threads that launch at the same time show no such runs.
*/
#define TS__TURN_CALLS 8

typedef struct ts__turn {              // of each part
    uint32_t lane, first, last, count; // the run of now: thread and calls
    uint32_t before;                   // last call of the long run before it
} ts__turn;

static bool ts__turns_launching(const ts__builder *b, ts__rvec *launches)
{
    const ts_replay *const r = b->replay;
    if (!ts__rvec_fill(b->allocator, launches, sizeof(bool), r->call_count, 0))
        return false;
    for (uint32_t i = 0; i < r->op_count; i++) {
        const uint32_t call = ts__replay_op(r, i)->call;
        if (call != TS_NODE_NONE && ts__kind_works(ts__replay_op(r, i)->kind))
            ((bool *)launches->data)[call - r->op_count] = true;
    }
    return true;
}

// The run is long enough: what came before it, in a run as long, led to it.
static void ts__turn_taken(ts__builder *b, const ts__turn *turn)
{
    const ts_replay *const r = b->replay;
    if (turn->before == TS_NODE_NONE ||
        ts__replay_end(r, turn->before) > ts__replay_time(r)[turn->first])
        return;
    ts__builder_edge(b, turn->before, turn->first,
                     TS_EDGE_HOST_ORDER | TS_EDGE_INFERRED);
}

static void ts__turn_call(ts__builder *b, ts__turn *turn, uint32_t call)
{
    const uint32_t lane = ts__replay_lanes(b->replay)[call];
    if (lane != turn->lane) {
        turn->before =
            turn->count >= TS__TURN_CALLS ? turn->last : TS_NODE_NONE;
        turn->lane = lane;
        turn->first = call;
        turn->count = 0;
    }
    turn->last = call;
    if (++turn->count == TS__TURN_CALLS) ts__turn_taken(b, turn);
}

static void ts__builder_turns(ts__builder *b)
{
    const ts_replay *const r = b->replay;
    ts__rvec launches = { 0 }, turns = { 0 };
    if (!ts__turns_launching(b, &launches) ||
        !ts__rvec_fill(b->allocator, &turns, sizeof(ts__turn), r->parts.count,
                       0xFF))
        b->failed = true;
    for (uint32_t i = 0; i < r->parts.count && !b->failed; i++)
        ((ts__turn *)turns.data)[i].count = 0;
    for (uint32_t i = 0; i < r->call_count && !b->failed; i++) {
        const uint32_t call = r->op_count + i;
        if (((const bool *)launches.data)[i])
            ts__turn_call(
                b, (ts__turn *)turns.data + ts__replay_part_of(r, call), call);
    }
    ts__rvec_close(b->allocator, &launches);
    ts__rvec_close(b->allocator, &turns);
}
