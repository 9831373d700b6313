/* ---- Model: access to operations, edges, figures ------------------------ */

TS_API const char *ts_edge_name(uint32_t kind)
{
    TS__NAME_IN(TS_EDGES, kind);
}

TS_API const char *ts_skip_name(uint32_t skip)
{
    TS__NAME_IN(TS_SKIPS, skip);
}

TS_API const ts_replay_stats *ts_replay_result(const ts_replay *replay)
{
    return &replay->stats;
}

TS_API bool ts_replay_host_unknown(const ts_replay_stats *stats)
{
    return stats->unknown_host_ns >
           (stats->recorded_end_ns - stats->recorded_start_ns) / 50;
}

TS_API bool ts_replay_file_at(const ts_replay *replay, size_t index,
                              ts_replay_file *file)
{
    if (index >= replay->files.count) return false;
    *file = *ts__replay_file(replay, (uint32_t)index);
    return true;
}

TS_API ts_reader *ts_replay_reader(const ts_replay *replay, uint32_t file)
{
    return file < replay->files.count ? ts__replay_file(replay, file)->reader
                                      : NULL;
}

TS_API bool ts_replay_part_at(const ts_replay *replay, size_t index,
                              ts_replay_part *part)
{
    if (index >= replay->parts.count) return false;
    const ts__trace_part *const origin =
        ts__replay_part(replay, (uint32_t)index);
    part->file = origin->file;
    part->process = origin->process;
    return true;
}

TS_API bool ts_replay_operation(const ts_replay *replay, size_t index,
                                ts_operation *operation)
{
    if (index >= replay->op_count) return false;
    const uint32_t i = (uint32_t)index;
    const ts__op *const op = ts__replay_op(replay, i);
    const ts__replay_lane *const lane =
        ts__replay_lane_at(replay, ts__replay_lanes(replay)[i]);
    ts_operation o = { 0 };
    o.kind = (ts_event_kind)op->kind;
    o.track = lane->track;
    o.device = lane->device_track;
    o.thread = op->thread;
    o.call = op->call;
    o.label = op->label;
    o.correlation = op->correlation;
    o.recorded_start_ns = ts__replay_time(replay)[i];
    o.recorded_end_ns = ts__replay_end(replay, i);
    o.skip = (ts_skip)ts__replay_skips(replay)[i];
    o.row = ((const uint32_t *)replay->places.data)[i];
    o.file = lane->file;
    o.part = lane->part;
    if (replay->start.count && o.skip == TS_SKIP_NOT) {
        o.start_ns = ts__run_start(replay)[i];
        o.end_ns = ts__op_end(replay, i);
    }
    *operation = o;
    return true;
}

TS_API ts_text ts_operation_label(const ts_reader *reader,
                                  const ts_operation *operation)
{
    ts_text text = { NULL, 0 };
    if (operation->kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const launch =
            ts_reader_launch(reader, operation->label);
        if (launch) text = ts_reader_name(reader, launch->name);
    } else if (operation->kind == TS_EVENT_COLLECTIVE ||
               operation->kind == TS_EVENT_HOST_FUNCTION) {
        text = ts_reader_name(reader, operation->label);
    }
    if (!text.size) {
        text.text = ts_event_name(operation->kind);
        text.size = strlen(text.text);
    }
    return text;
}

TS_API size_t ts_replay_lane_count(const ts_replay *replay)
{
    return replay->lane_results.count;
}

TS_API bool ts_replay_lane(const ts_replay *replay, size_t index, ts_lane *lane)
{
    if (index >= replay->lane_results.count) return false;
    *lane = ((const ts_lane *)replay->lane_results.data)[index];
    return true;
}

TS_API size_t ts_replay_device_count(const ts_replay *replay)
{
    return replay->device_results.count;
}

TS_API bool ts_replay_device(const ts_replay *replay, size_t index,
                             ts_lane *device)
{
    if (index >= replay->device_results.count) return false;
    *device = ((const ts_lane *)replay->device_results.data)[index];
    return true;
}

TS_API ts_graph ts_replay_graph(const ts_replay *replay)
{
    ts_graph graph = { 0 };
    graph.node_count = replay->node_count;
    graph.operation_count = replay->op_count;
    graph.call_count = replay->call_count;
    graph.edge_count = (uint32_t)replay->targets.count;
    graph.offsets = (const uint32_t *)replay->offsets.data;
    graph.targets = (const uint32_t *)replay->targets.data;
    graph.kinds = (const uint8_t *)replay->kinds.data;
    return graph;
}

// Fills in when an operation or a call ran, if it did.
static void ts__node_times(const ts_replay *r, uint32_t i, ts_node *n)
{
    const int64_t *const start = ts__run_start(r);
    const int64_t *const changed = (const int64_t *)r->changed.data;
    if (!r->start.count || !n->selected || start[i] == TS__NO_TIME) return;
    const uint32_t end = ts__replay_end_node(r, i);
    if (end != i && start[end] == TS__NO_TIME) return;
    n->start_ns = start[i];
    const int64_t duration =
        r->changed.count ? changed[i] : ts__replay_duration(r)[i];
    if (i < r->op_count)
        n->end_ns = ts__op_end(r, i);
    else if (end != i)
        n->end_ns = start[end];
    else
        n->end_ns = ts__replay_add(start[i], duration);
}

TS_API bool ts_replay_node(const ts_replay *replay, size_t index, ts_node *node)
{
    if (index >= replay->node_count) return false;
    const uint32_t i = (uint32_t)index;
    const uint32_t calls_end = replay->op_count + replay->call_count;
    ts_node n = { TS_NODE_OPERATION, i, 0, 0, 0, 0, 0, false, 0, 0, 0 };
    n.file = ts__replay_file_of(replay, i);
    n.track = ts__replay_lane_at(replay, ts__replay_lanes(replay)[i])->track;
    n.recorded_ns = ts__replay_time(replay)[i];
    n.duration_ns = ts__replay_duration(replay)[i];
    if (replay->gap.count) n.gap_ns = ((const int64_t *)replay->gap.data)[i];
    n.selected = ts__replay_selected(replay, i);
    if (i < calls_end) ts__node_times(replay, i, &n);
    if (i >= replay->join_first) {
        n.type = TS_NODE_JOIN;
        n.track = 0;
    } else if (i >= calls_end) {
        n.type = TS_NODE_END;
        n.owner = ((const uint32_t *)replay->waiters.data)[i - calls_end];
    } else if (i >= replay->op_count) {
        n.type = TS_NODE_CALL;
        n.name =
            ((const uint32_t *)replay->call_names.data)[i - replay->op_count];
    }
    *node = n;
    return true;
}

TS_API size_t ts_replay_cycle(const ts_replay *replay, const uint32_t **nodes)
{
    *nodes = (const uint32_t *)replay->cycle.data;
    return replay->cycle.count;
}
