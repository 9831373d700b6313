/* ---- Records of GPU operations ------------------------------------------ */

uint32_t ts_gpu_device_define(const ts_gpu_device_desc *desc)
{
    const uint32_t parent = desc->parent ? desc->parent : ts__process_track();
    return ts__track_put(0, TS_TRACK_DEVICE, parent, ts_name_define(desc->name),
                         0, desc->index, 0);
}

uint32_t ts_gpu_context_define(const ts_gpu_context_desc *desc)
{
    char name[40];
    snprintf(name, sizeof name, "context %llu",
             (unsigned long long)desc->number);
    return ts__track_put(0, TS_TRACK_CONTEXT, desc->device,
                         ts_name_define(desc->name ? desc->name : name), 0,
                         desc->number, 0);
}

uint32_t ts_gpu_stream_define(const ts_gpu_stream_desc *desc)
{
    char name[40];
    snprintf(name, sizeof name, "stream %llu",
             (unsigned long long)desc->number);
    const uint64_t priority = (uint64_t)(desc->priority + 32768) & 0xFFFF;
    return ts__track_put(0, TS_TRACK_STREAM, desc->context,
                         ts_name_define(desc->name ? desc->name : name), 0,
                         desc->number, priority << 16 | (desc->flags & 0xFFFF));
}

uint32_t ts_gpu_launch_define(const ts_gpu_launch_desc *desc)
{
    ts_launch_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.name = ts_name_define(desc->name);
    memcpy(entry.grid, desc->grid, sizeof entry.grid);
    memcpy(entry.block, desc->block, sizeof entry.block);
    memcpy(entry.cluster, desc->cluster, sizeof entry.cluster);
    entry.registers = desc->registers;
    entry.static_shared = desc->static_shared;
    entry.dynamic_shared = desc->dynamic_shared;
    entry.local = desc->local;
    return ts__entry_get(TS_CHUNK_LAUNCHES, &entry, sizeof entry);
}

static uint32_t (*ts__origin_stack)(void);

void ts_gpu_origin_stacks(uint32_t (*stack_here)(void))
{
    __atomic_store_n(&ts__origin_stack, stack_here, __ATOMIC_RELAXED);
}

// Not inlined: the frame of its caller is the first of the recorded stack.
__attribute__((noinline)) ts_gpu_origin ts_gpu_origin_here(void)
{
    ts_gpu_origin origin = { 0, 0, 0 };
    if (!TS__LOAD(&ts__here.gate)) return origin;
    origin.thread = ts_thread_track();
    origin.site = ts__open_site(ts__mine);
    uint32_t (*const stack_here)(void) = TS__LOAD(&ts__origin_stack);
    if (stack_here) origin.stack = stack_here();
    return origin;
}

// Values of an operation beyond the common columns, in their order: offsets and
// sizes of the fields in ts_gpu_op.u.
static uint32_t ts__gpu_columns(const ts_gpu_op *op, uint64_t *v)
{
#define TS__F(part, field) \
    { \
        (uint8_t) offsetof(ts_gpu_op, u.part.field), \
            (uint8_t)sizeof(((const ts_gpu_op *)0)->u.part.field) \
    }
    static const uint8_t fields[TS_EVENT_LIMIT - TS_EVENT_GPU_FIRST][9][2] = {
        { TS__F(kernel, launch), TS__F(kernel, graph_node),
          TS__F(kernel, graph) },
        { TS__F(memcpy, type), TS__F(memcpy, size), TS__F(memcpy, source),
          TS__F(memcpy, destination), TS__F(memcpy, memory),
          TS__F(memcpy, peer) },
        { TS__F(memset, size), TS__F(memset, destination),
          TS__F(memset, value) },
        { TS__F(event, id) },                       // event_record
        { TS__F(event, id), TS__F(event, record) }, // event_wait
        { TS__F(event, id) },                       // stream_sync
        { { 0, 0 } },                               // device_sync
        { TS__F(event, id) },                       // event_sync
        { TS__F(host_function, address), TS__F(host_function, name) },
        { TS__F(graph_launch, graph) },
        { TS__F(collective, name), TS__F(collective, communicator),
          TS__F(collective, sequence), TS__F(collective, size),
          TS__F(collective, type), TS__F(collective, peer),
          TS__F(collective, ranks), TS__F(collective, launch) },
        { TS__F(memory, address), TS__F(memory, size), TS__F(memory, pool),
          TS__F(memory, memory) },                       // gpu_alloc
        { TS__F(memory, address), TS__F(memory, pool) }, // gpu_free
    };
#undef TS__F
    const uint8_t(*const list)[2] = fields[op->kind - TS_EVENT_GPU_FIRST];
    uint32_t n = 0;
    for (; list[n][1]; n++)
        if (list[n][1] == 8)
            memcpy(&v[n], (const uint8_t *)op + list[n][0], 8);
        else
            memcpy(&v[n], (const uint8_t *)op + list[n][0], 4);
    return n;
}
TS__SMALL_END

/*
    Records a kernel in three slots instead of eight, if it has no stack and no
    graph and its values are small enough; false if not.

        a: start (low 56 bits)     b: kind, clock << 6, start >> 56 << 24,
                                      duration << 32
        a: site, thread << 26      b: queued, submitted << 32 (as columns)
        a: track, launch << 26     b: correlation
*/
static bool ts__kernel_put(const ts_gpu_op *op)
{
    const uint64_t launch = op->u.kernel.launch, thread = op->origin.thread;
    const uint64_t duration = op->end - op->start;
    const uint64_t queued = op->queued ? op->start - op->queued + 1 : 0;
    const uint64_t submitted =
        op->submitted ? op->start - op->submitted + 1 : 0;
    if ((duration | queued | submitted) >> 32 || launch >> 28 ||
        (op->track | op->origin.site | thread) >> 26 || op->clock >> 18 ||
        op->origin.stack || op->u.kernel.graph_node || op->u.kernel.graph)
        return false;
    ts__ring *const ring = ts__ring_get(3);
    if (!ring) return true; // lost, and counted
    const uint64_t position = ts__ring_reserve(ring, 3);
    ts__ring_count_more(ring, 2);
    ts__ring_more(ring, position + 1, thread << 26 | op->origin.site,
                  submitted << 32 | queued);
    ts__ring_more(ring, position + 2, launch << 26 | op->track,
                  op->correlation);
    ts__ring_publish(ring, position, op->start,
                     duration << 32 | op->start >> 56 << 24 |
                         (uint64_t)op->clock << 6 | TS__REC_KERNEL);
    return true;
}

TS__SMALL_BEGIN
static __attribute__((noinline)) void ts__op_refuse(const ts_gpu_op *op,
                                                    const char *why)
{
    const uint64_t now = ts_tick_now();
    ts_loss_report(op->track, TS_LOSS_BACKEND, why, 1, now, now);
}

static __attribute__((noinline)) void ts__op_put(const ts_gpu_op *op)
{
    uint64_t v[TS__COLUMNS_PER_EVENT] = { 0 };
    v[0] = op->start;
    v[1] = op->end - op->start;
    v[2] = op->correlation;
    if (op->queued) v[3] = op->start - op->queued + 1;
    if (op->submitted) v[4] = op->start - op->submitted + 1;
    v[5] = op->origin.thread;
    v[6] = op->origin.site;
    v[7] = op->origin.stack;
    const uint32_t count = 8 + ts__gpu_columns(op, v + 8);
    ts__row_put((uint32_t)op->kind, op->track, op->clock, v, count, NULL, 0);
}
TS__SMALL_END

void ts_gpu_op_record(const ts_gpu_op *op)
{
    if (!TS__LOAD(&ts__here.gate)) return;
    const uint32_t kind = (uint32_t)op->kind;
    if ((int64_t)(op->end - op->start) < 0)
        ts__op_refuse(op, "it ends before it starts");
    else if (kind < TS_EVENT_GPU_FIRST || kind >= TS_EVENT_LIMIT ||
             op->clock >= TS__CLOCKS_MAX)
        ts__op_refuse(op, "it has an unknown kind or clock");
    else if (kind != TS_EVENT_KERNEL || !ts__kernel_put(op))
        ts__op_put(op);
}

TS__SMALL_BEGIN

void ts_gpu_access_record(const ts_gpu_access *access)
{
    const uint32_t here = TS__LOAD(&ts__here.gate) ? ts_thread_track() : 0;
    if (!here) return;
    const uint64_t v[] = { ts_tick_now(), access->address, access->size,
                           access->mode, access->correlation };
    ts__row_put(TS_EVENT_ACCESS, access->track ? access->track : here, 0, v, 5,
                NULL, 0);
}

void ts_gpu_dependency_record(const ts_gpu_dependency *dependency)
{
    if (!TS__LOAD(&ts__here.gate) || !ts_thread_track()) return;
    const uint64_t v[] = { ts_tick_now(), dependency->type,
                           dependency->correlation, dependency->after };
    ts__row_put(TS_EVENT_DEPENDENCY, dependency->track, 0, v, 4, NULL, 0);
}

void ts_api_call_record(const ts_api_call *call)
{
    if (!TS__LOAD(&ts__here.gate) || !ts_thread_track()) return;
    const uint64_t v[] = { call->start,  call->end - call->start,
                           call->name,   call->correlation,
                           call->result, call->stack };
    ts__row_put(TS_EVENT_API_CALL, call->thread ? call->thread : ts__track, 0,
                v, 6, NULL, 0);
}

void ts_loss_report(uint32_t track, ts_loss cause, const char *detail,
                    uint64_t count, uint64_t first, uint64_t last)
{
    const uint32_t name = ts_name_define(detail);
    ts__caller old;
    if (!ts__api_enter(&old)) return;
    ts__loss_note(ts__c.writer.sidecar, track, cause, name, count, first, last);
    ts__api_leave(&old);
}
TS__SMALL_END
