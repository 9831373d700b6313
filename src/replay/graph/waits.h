/* ---- Graph: what a node waited for -------------------------------------- */

// Lists the source node of each edge.
static inline bool ts__replay_sources(const ts_replay *r, ts__rvec *sources)
{
    if (!ts__rvec_reserve(&r->allocator, sources, sizeof(uint32_t),
                          r->targets.count))
        return false;
    for (uint32_t i = 0; i < r->node_count; i++)
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++)
            ((uint32_t *)sources->data)[e] = i;
    sources->count = r->targets.count;
    return true;
}

/*
    Finds the binding edge of each node: the edge that was satisfied last in the
    record. binding[node] is the number of the edge, or TS_NODE_NONE. Of edges
    satisfied at the same time recorded ones come before inferred ones, then the
    order of ts_edge_kind decides, then that of the sources.
*/
static inline bool ts__replay_bindings(const ts_replay *r, ts__rvec *binding)
{
    ts__rvec latest = { 0 };
    if (!ts__rvec_fill(&r->allocator, binding, sizeof(uint32_t), r->node_count,
                       0xFF) ||
        !ts__rvec_reserve(&r->allocator, &latest, sizeof(int64_t),
                          r->node_count))
        return false;
    uint32_t *const bound = (uint32_t *)binding->data;
    int64_t *const time = (int64_t *)latest.data;
    for (uint32_t i = 0; i < r->node_count; i++) {
        const int64_t start = ts__replay_time(r)[i];
        const int64_t end = ts__replay_end(r, i);
        for (uint32_t e = ts__replay_offsets(r)[i];
             e < ts__replay_offsets(r)[i + 1]; e++) {
            const uint8_t kind = ts__replay_kind(r, e);
            const uint32_t to = ts__replay_target(r, e);
            const int64_t at = kind & TS_EDGE_FROM_START ? start : end;
            const bool none = bound[to] == TS_NODE_NONE;
            const uint8_t rank = kind & (uint8_t)~TS_EDGE_FROM_START;
            const uint8_t other = none ? 0
                                       : ts__replay_kind(r, bound[to]) &
                                             (uint8_t)~TS_EDGE_FROM_START;
            if (!none && (at < time[to] || (at == time[to] && rank >= other)))
                continue;
            bound[to] = e;
            time[to] = at;
        }
    }
    ts__rvec_close(&r->allocator, &latest);
    return true;
}
