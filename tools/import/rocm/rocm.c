/*
    rocm.c - rows of rocprofv3 become events
*/
#include "tools/import/rocm/rocm.h"

const rocm_row rocm_no_row = {
    .process = IMPORT_NONE,
    .thread = IMPORT_NONE,
    .correlation = IMPORT_NONE,
    .start_ns = IMPORT_NONE,
    .end_ns = IMPORT_NONE,
    .result = IMPORT_NONE,
    .agent = IMPORT_NONE,
    .source_agent = IMPORT_NONE,
    .queue = IMPORT_NONE,
    .stream = IMPORT_NONE,
    .size = IMPORT_NONE,
    .address = IMPORT_NONE,
    .source = IMPORT_NONE,
    .shared = IMPORT_NONE,
    .local = IMPORT_NONE,
    .registers = IMPORT_NONE,
    .block = { IMPORT_NONE, IMPORT_NONE, IMPORT_NONE },
    .grid = { IMPORT_NONE, IMPORT_NONE, IMPORT_NONE },
};

/* ---- What all three outputs share --------------------------------------- */

static bool ends_with(ts_text text, const char *end)
{
    const size_t size = strlen(end);
    return text.size >= size &&
           !memcmp(text.text + text.size - size, end, size);
}

static bool starts_with(ts_text text, const char *start)
{
    const size_t size = strlen(start);
    return text.size >= size && !memcmp(text.text, start, size);
}

bool rocm_is_call(ts_text category)
{
    static const char *const starts[] = { "HIP", "HSA", "RCCL", "ROC" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (starts_with(category, starts[i])) return true;
    return false;
}

uint8_t rocm_copy_type(ts_text name, bool to_gpu, bool from_gpu)
{
    static const struct {
        const char *end;
        uint8_t type;
    } ends[] = { { "HOST_TO_DEVICE", 1 },
                 { "DEVICE_TO_HOST", 2 },
                 { "DEVICE_TO_DEVICE", 3 },
                 { "HOST_TO_HOST", 4 } };
    for (size_t i = 0; i < 4; i++)
        if (ends_with(name, ends[i].end)) return ends[i].type;
    return to_gpu && from_gpu ? 3 : to_gpu ? 1 : from_gpu ? 2 : 4;
}

void rocm_side(ts_launch_entry *launch, size_t side, uint32_t block,
               uint32_t threads)
{
    launch->block[side] = block;
    launch->grid[side] =
        block ? threads / block + (threads % block != 0) : threads;
}

/* ---- Parts of rows ------------------------------------------------------ */

static uint64_t u64(int64_t value)
{
    return value == IMPORT_NONE ? 0 : (uint64_t)value;
}

static uint32_t u32(rocm *r, int64_t value)
{
    if (value == IMPORT_NONE) return 0;
    if (value >= 0 && value <= UINT32_MAX) return (uint32_t)value;
    import_flaw(r->job, "bad_number");
    return 0;
}

// Computes the duration. False, and the row is bad, without both times.
static bool times(rocm *r, const rocm_row *row, int64_t *duration_ns)
{
    const int64_t start = row->start_ns, end = row->end_ns;
    r->job->rows++;
    if (start == IMPORT_NONE || end == IMPORT_NONE || (!start && !end)) {
        import_bad(r->job, "no_time", IMPORT_NONE);
        return false;
    }
    if (end >= start && start >= 0) {
        *duration_ns = end - start;
        return true;
    }
    import_bad(r->job, start < 0 ? "absurd_time" : "reversed_time", start);
    return false;
}

// Returns the thread of a row; 0, and the row is bad, if it names none.
static uint32_t thread(rocm *r, const rocm_row *row)
{
    if (row->thread != IMPORT_NONE)
        return import_thread(
            r->job, row->process == IMPORT_NONE ? r->process : row->process,
            row->thread);
    import_bad(r->job, "unknown_thread", row->start_ns);
    return 0;
}

static uint64_t correlation(const rocm *r, const rocm_row *row)
{
    return row->correlation == IMPORT_NONE || row->correlation <= 0
               ? 0
               : (uint64_t)row->correlation | r->index << 48;
}

// Returns the index of a GPU + 1; 0: the agent is a CPU, or unknown.
static int64_t gpu_of(const rocm *r, int64_t agent)
{
    if (agent == IMPORT_NONE) return 0;
    if (!r->has_agents) return agent >= 0 && agent < INT32_MAX ? agent + 1 : 0;
    const int64_t *const gpu = import_map_get(&r->devices, agent);
    return gpu ? *gpu : 0;
}

static uint32_t stream(rocm *r, int64_t gpu, const rocm_row *row)
{
    return import_stream(r->job, gpu - 1, IMPORT_NONE,
                         row->stream != IMPORT_NONE  ? row->stream
                         : row->queue != IMPORT_NONE ? row->queue
                                                     : 0);
}

void rocm_agent(rocm *r, int64_t agent, int64_t gpu, ts_text name)
{
    int64_t *const at = import_map_put(&r->devices, agent, NULL);
    r->has_agents = true;
    r->out_of_memory |= !at;
    if (!at) return;
    *at = gpu == IMPORT_NONE ? 0 : gpu + 1;
    if (gpu != IMPORT_NONE)
        import_track_name(r->job, import_device(r->job, gpu), name.text,
                          name.size);
}

/* ---- Rows --------------------------------------------------------------- */

void rocm_take_call(rocm *r, const rocm_row *row)
{
    int64_t ns;
    if (!times(r, row, &ns)) return;
    const uint32_t track = thread(r, row);
    if (!track) return;
    if (!row->name.size) import_flaw(r->job, "unknown_name");
    const uint32_t name = import_name(r->job, row->name.text, row->name.size);
    if (rocm_is_call(row->kind)) {
        import_api_call(r->job, track, row->start_ns, ns, name,
                        correlation(r, row), u64(row->result));
        return;
    }
    const uint32_t category =
        import_name(r->job, row->kind.text, row->kind.size);
    if (ns) {
        import_zone(r->job, track, row->start_ns, ns, name, category, NULL);
        return;
    }
    const ts_writer_value site = { TS_COLUMN_SITE,
                                   import_site(r->job, name, category) };
    import_event(r->job, TS_EVENT_MARK, track, row->start_ns, 0, &site, 1);
}

void rocm_take_kernel(rocm *r, const rocm_row *row)
{
    import_operation op = { .kind = TS_EVENT_KERNEL,
                            .start_ns = row->start_ns,
                            .correlation = correlation(r, row) };
    if (!times(r, row, &op.duration_ns)) return;
    const int64_t gpu = gpu_of(r, row->agent);
    if (!gpu) {
        import_bad(r->job, "unknown_device", row->start_ns);
        return;
    }
    if (!row->name.size) import_flaw(r->job, "unknown_name");
    ts_launch_entry launch = {
        .name = import_name(r->job, row->name.text, row->name.size),
        .registers = u32(r, row->registers),
        .dynamic_shared = u32(r, row->shared),
        .local = u32(r, row->local),
    };
    for (size_t i = 0; i < 3; i++)
        rocm_side(&launch, i, u32(r, row->block[i]), u32(r, row->grid[i]));
    op.track = stream(r, gpu, row);
    op.launch = import_launch(r->job, &launch);
    import_kernel(r->job, &op, row->name.text, row->name.size);
}

void rocm_take_copy(rocm *r, const rocm_row *row)
{
    import_operation op = { .kind = TS_EVENT_MEMCPY,
                            .start_ns = row->start_ns,
                            .correlation = correlation(r, row),
                            .size = u64(row->size),
                            .address = u64(row->address),
                            .source = u64(row->source) };
    if (!times(r, row, &op.duration_ns)) return;
    int64_t to = gpu_of(r, row->agent), from = gpu_of(r, row->source_agent);
    op.type = rocm_copy_type(row->name, to, from);
    if (!r->has_agents) { // the direction says which of them is the host
        if (op.type == 2 || op.type == 4) to = 0;
        if (op.type == 1 || op.type == 4) from = 0;
    }
    if (!to && !from) {
        import_bad(r->job, "unknown_device", row->start_ns);
        return;
    }
    if (to && from && to != from) {
        op.type = 5;
        op.peer = import_device(r->job, from - 1);
    }
    op.track = stream(r, to ? to : from, row);
    import_gpu(r->job, &op);
}

void rocm_take_allocation(rocm *r, const rocm_row *row)
{
    char pool[32];
    int64_t ns;
    if (!times(r, row, &ns)) return;
    const bool taken = ends_with(row->name, "ALLOCATE");
    if (!taken && !ends_with(row->name, "FREE")) {
        import_unowned(r->job, row->name.text, row->name.size);
        return;
    }
    const uint32_t track = row->thread == IMPORT_NONE // as in CSV
                               ? import_lane(r->job, 0, "allocations", 11)
                               : thread(r, row);
    const int64_t gpu = gpu_of(r, row->agent);
    const int size = gpu ? snprintf(pool, sizeof pool, "gpu:%" PRId64, gpu - 1)
                         : snprintf(pool, sizeof pool, "cpu");
    // A release does not name the agent.
    const ts_writer_value values[] = {
        { TS_COLUMN_ADDRESS, u64(row->address) },
        { TS_COLUMN_POOL, row->agent == IMPORT_NONE
                              ? 0
                              : import_name(r->job, pool, (size_t)size) },
        { TS_COLUMN_SIZE, u64(row->size) }
    };
    import_event(r->job, taken ? TS_EVENT_ALLOC : TS_EVENT_FREE, track,
                 row->start_ns, 0, values, taken ? 3 : 2);
}

void rocm_take_scratch(rocm *r, const rocm_row *row)
{
    int64_t ns;
    if (!times(r, row, &ns)) return;
    const int64_t gpu = gpu_of(r, row->agent);
    if (!gpu) {
        import_bad(r->job, "unknown_device", row->start_ns);
        return;
    }
    const uint32_t lane = import_lane(r->job, import_device(r->job, gpu - 1),
                                      "scratch memory", 14);
    const uint32_t name = import_name(r->job, row->name.text, row->name.size);
    const uint32_t category =
        import_name(r->job, row->kind.text, row->kind.size);
    const uint32_t site =
        import_zone(r->job, lane, row->start_ns, ns, name, category, NULL);
    if (row->size == IMPORT_NONE || !row->size) return;
    const uint32_t bytes = import_name(r->job, "bytes", 5);
    import_zone_int(r->job, lane, row->start_ns, site, bytes, row->size);
}

void rocm_take_counter(rocm *r, const rocm_row *row, ts_text counter,
                       double value)
{
    uint64_t bits;
    const int64_t gpu = gpu_of(r, row->agent);
    memcpy(&bits, &value, sizeof bits);
    if (!gpu || row->start_ns == IMPORT_NONE || !row->start_ns) {
        import_unowned(r->job, "counters without a time", 23);
        return;
    }
    const uint32_t track =
        import_counter_track(r->job, import_device(r->job, gpu - 1),
                             counter.text, counter.size, NULL);
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_DOUBLE },
                                       { TS_COLUMN_VALUE, bits } };
    import_event(r->job, TS_EVENT_COUNTER, track, row->start_ns, 0, values, 2);
}
