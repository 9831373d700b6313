/* ---- Races: open and close ---------------------------------------------- */

// Links the actors of each node. Actors without a node, or without memory, are
// left out.
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

static ts_result ts__races_detect(ts_races *x)
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
        result = ts__hb_run(&s.order, &left);
        for (size_t i = 0; left && i < x->actors.count; i++)
            x->stats.cycle += ts__races_actor(x, i)->span_count &&
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
        if (result == TS_OK) result = ts__races_detect(x);
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
    ts__rvec *const all[] = { &races->actors,       &races->spans,
                              &races->copies,       &races->heads,
                              &races->edges,        &races->hosts,
                              &races->rows,         &races->cells,
                              &races->cell_spaces,  &races->events,
                              &races->predecessors, &races->pairs };
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
    TS__NAME_IN(TS_RACES, kind);
}

TS_API const char *ts_race_fix_name(uint32_t fix)
{
    TS__NAME_IN(TS_RACE_FIXES, fix);
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
