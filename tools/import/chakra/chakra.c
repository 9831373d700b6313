/*
    chakra.c - Chakra execution traces (MLCommons): nodes to events

    Host nodes become calls on their threads, other nodes operations on their
    streams. Their correlation id is the id of their node + 1. Each
    dependency becomes an event of kind dependency between two of these ids.
*/
#include "tools/import/chakra/chakra.h"

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return chakra_is(head, size);
}

// Returns the rank in a file name: by convention, "PREFIX.3.et" is rank 3.
static int64_t rank_of(const char *name)
{
    const size_t size = strlen(name);
    size_t at = size < 4 ? 0 : size - 3;
    int64_t rank = 0, digit = 1;
    if (!at || strcmp(name + at, ".et")) return IMPORT_NONE;
    const size_t end = at;
    for (; at && name[at - 1] >= '0' && name[at - 1] <= '9'; digit *= 10) {
        if (end - --at > 9) return IMPORT_NONE;
        rank += digit * (name[at] - '0');
    }
    return at < end && at && name[at - 1] == '.' ? rank : IMPORT_NONE;
}

int64_t chakra_stream(const chakra_node *node)
{
    if (node->thread != IMPORT_NONE) return node->thread;
    return node->type == CHAKRA_COMPUTE ? 0 : node->type < CHAKRA_SEND ? 2 : 1;
}

static void put_communication(chakra *c, const chakra_node *node,
                              import_operation *op)
{
    static const char *const kinds[] = {
        "AllReduce", "Reduce",   "AllGather",     "Gather",        "Scatter",
        "Broadcast", "AllToAll", "ReduceScatter", "ReduceScatter", "Barrier"
    };
    const char *kind = NULL;
    if (node->type == CHAKRA_SEND) kind = "Send";
    if (node->type == CHAKRA_RECEIVE) kind = "Recv";
    if (!kind && node->comm_type >= 0 && node->comm_type < 10)
        kind = kinds[node->comm_type];
    if (!kind) import_flaw(c->job, "unknown_collective");
    const ts_launch_entry launch = { .name = node->name };
    op->launch = import_launch(c->job, &launch);
    op->kind = TS_EVENT_COLLECTIVE;
    import_facts facts = {
        .communicator = node->group,
        .size = node->size,
        .name = kind ? import_name(c->job, kind, strlen(kind)) : node->name,
    };
    if (node->type != CHAKRA_COLLECTIVE && node->peer >= 0 &&
        node->peer < UINT32_MAX)
        facts.peer = (uint32_t)node->peer + 1;
    // Sends and receives with the same tag form a sequence of their own.
    const int64_t line[] = { (int64_t)node->group, node->tag };
    if (node->type != CHAKRA_COLLECTIVE && node->tag != IMPORT_NONE)
        facts.communicator =
            import_communicator((const char *)line, sizeof line);
    import_gpu_collective(c->job, op, &facts);
}

static void put_operation(chakra *c, chakra_node *node)
{
    const chakra_node *const call = &c->nodes[node->launcher];
    import_operation op = { .start_ns = node->start_ns,
                            .duration_ns = node->duration_ns,
                            .correlation = node->id + 1,
                            .track = node->track };
    if (call != node) {
        op.queued_ns = node->queued_ns;
        op.thread = call->track;
    }
    if (node->type >= CHAKRA_SEND) {
        put_communication(c, node, &op);
    } else if (node->type == CHAKRA_COMPUTE) {
        const ts_launch_entry launch = { .name = node->name };
        op.kind = TS_EVENT_KERNEL;
        op.launch = import_launch(c->job, &launch);
        import_gpu(c->job, &op);
    } else { // the schema does not have the direction of a copy
        op.kind = TS_EVENT_MEMCPY;
        op.size = node->size;
        import_gpu(c->job, &op);
    }
}

static void put_deps(chakra *c, const chakra_node *node)
{
    for (uint32_t i = 0; i < node->dep_count; i++) {
        const chakra_dep *const dep = &c->deps[node->first_dep + i];
        if (dep->node == UINT32_MAX) continue;
        const ts_writer_value values[] = {
            { TS_COLUMN_TYPE,
              dep->is_data ? TS_DEPENDENCY_DATA : TS_DEPENDENCY_CONTROL },
            { TS_COLUMN_CORRELATION, node->id + 1 },
            { TS_COLUMN_RECORD, dep->id + 1 }
        };
        import_event(c->job, TS_EVENT_DEPENDENCY, node->track, node->start_ns,
                     0, values, 3);
    }
}

static bool is_work(const chakra_node *node)
{
    return node->type >= CHAKRA_LOAD;
}

static void put_nodes(chakra *c)
{
    for (size_t i = 0; i < c->count;
         i++) { // tracks first: launchers need theirs
        chakra_node *const node = &c->nodes[i];
        if (!is_work(node)) continue;
        node->track =
            node->on_host
                ? import_thread(c->job,
                                node->process == IMPORT_NONE ? c->process
                                                             : node->process,
                                node->thread == IMPORT_NONE ? 0 : node->thread)
                : import_stream(c->job, node->device, node->context,
                                chakra_stream(node));
    }
    for (size_t i = 0; i < c->count; i++) {
        chakra_node *const node = &c->nodes[i];
        if (node->type == CHAKRA_INVALID)
            import_bad(c->job, "invalid_node", IMPORT_NONE);
        if (node->type == CHAKRA_METADATA)
            import_unowned(c->job, "metadata nodes", 14);
        if (!is_work(node)) continue;
        if (node->estimated) import_estimate(c->job, "start_time");
        if (node->on_host)
            import_api_call(c->job, node->track, node->start_ns,
                            node->duration_ns, node->name, node->id + 1, 0);
        else
            put_operation(c, node);
        put_deps(c, node);
    }
}

static bool import(import_job *job)
{
    chakra c = { .job = job, .process = IMPORT_NONE };
    bool done = chakra_read(&c) && chakra_layout(&c);
    if (c.old)
        import_fail(job,
                    "Chakra traces before schema 0.0.4 have no times and "
                    "cannot be imported; convert them with a newer Chakra");
    else if (!done)
        import_out_of_memory(job);
    if (done && !c.count) done = import_fail(job, "it contains no nodes");
    if (done) {
        job->rank = rank_of(import_source_base(job->source));
        import_near(job, c.nodes[0].start_ns);
        const char *const times = c.has_times ? "recorded" : "estimated";
        import_meta_text(job, 0, "chakra.times", times, strlen(times));
        put_nodes(&c);
    }
    free(c.nodes);
    free(c.deps);
    return done;
}

const import_format import_chakra = {
    .name = "chakra",
    .title = "Chakra execution trace (protobuf)",
    .recognise = recognise,
    .import = import,
};
