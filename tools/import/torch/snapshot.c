/*
    snapshot.c - memory snapshots of PyTorch (torch.cuda.memory._snapshot)

    A snapshot has the history of each device's allocator, a list of actions
    with their call stacks, and its segments and blocks at the end. A block that
    is in use at the end and is not in the history was allocated before it.

    Source: torch/cuda/_memory_viz.py and torch/csrc/cuda/memory_snapshot.cpp of
    PyTorch 2.0 to 2.7.
*/
#include "tools/import/profile/profile.h"
#include "tools/import/torch/pickle.h"

typedef struct snapshot {
    import_job *job;
    pickle *p;
    profile profile;  // of the call stacks
    cli_map stack_of; // by list of frames: number of the stack + 1
    cli_map used;     // addresses in use at the end of the history
    uint64_t parts;   // that may still be read
    int64_t device, start_ns;
    uint32_t lane, pool, reserved; // tracks of the device; name of its pool
    bool out_of_memory;
} snapshot;

// Returns whether another part may be read. A file can refer to a part any
// number of times; real ones have no more parts than bytes.
static bool may_read(snapshot *s)
{
    if (s->parts > 1) return s->parts--;
    if (s->parts) import_bad(s->job, "repeated_parts", IMPORT_NONE);
    s->parts = 0;
    return false;
}

/* ---- Call stacks -------------------------------------------------------- */

static uint32_t name_of(snapshot *s, pickle_value frame, const char *key)
{
    const ts_text text = pickle_text(s->p, pickle_get(s->p, frame, key));
    return profile_name(&s->profile, text.text, text.size);
}

// Frames are listed innermost first. Allocations of one place share a list.
static uint32_t stack_of(snapshot *s, pickle_value frames)
{
    const size_t count = pickle_count(s->p, frames);
    if (!count) return 0;
    int64_t *const known = import_map_put(&s->stack_of, frames.number, NULL);
    s->out_of_memory |= !known;
    if (!known || *known) return known ? (uint32_t)*known - 1 : 0;
    // One more than a stack can have tells that it is deeper.
    for (size_t i = 0; i < count && i <= PROFILE_FRAMES_MOST; i++) {
        const pickle_value frame = pickle_at(s->p, frames, i);
        const uint32_t file = name_of(s, frame, "filename");
        const int64_t line = pickle_int(s->p, frame, "line", 0);
        const profile_function function = { .module = file,
                                            .name = name_of(s, frame, "name"),
                                            .file = file,
                                            .line = line > 0 && line < INT32_MAX
                                                        ? (uint32_t)line
                                                        : 0 };
        const ts_frame_entry entry = profile_frame(&s->profile, &function);
        profile_push(&s->profile, &entry);
    }
    const uint32_t stack = profile_stack(&s->profile, false);
    *known = (int64_t)stack + 1;
    return stack;
}

/* ---- Events ------------------------------------------------------------- */

static void put_alloc(snapshot *s, int64_t time_ns, int64_t address,
                      int64_t size, uint32_t stack)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, (uint64_t)address },
                                       { TS_COLUMN_SIZE, (uint64_t)size },
                                       { TS_COLUMN_POOL, s->pool },
                                       { TS_COLUMN_STACK, stack } };
    if (size < 0) {
        import_bad(s->job, "no_memory_range", time_ns);
        return;
    }
    import_event(s->job, TS_EVENT_ALLOC, s->lane, time_ns, 0, values, 4);
}

static void put_free(snapshot *s, int64_t time_ns, int64_t address)
{
    const ts_writer_value values[] = { { TS_COLUMN_ADDRESS, (uint64_t)address },
                                       { TS_COLUMN_POOL, s->pool } };
    import_event(s->job, TS_EVENT_FREE, s->lane, time_ns, 0, values, 2);
}

static void put_reserved(snapshot *s, int64_t time_ns, int64_t size)
{
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, (uint64_t)size } };
    import_event(s->job, TS_EVENT_COUNTER, s->reserved, time_ns, 0, values, 2);
}

static void put_mark(snapshot *s, int64_t time_ns, ts_text name)
{
    const uint32_t category = import_name(s->job, "allocator", 9);
    const uint32_t number = import_name(s->job, name.text, name.size);
    const ts_writer_value site = { TS_COLUMN_SITE,
                                   import_site(s->job, number, category) };
    import_event(s->job, TS_EVENT_MARK, s->lane, time_ns, 0, &site, 1);
}

/* ---- The history -------------------------------------------------------- */

// Returns what an action does to the reserved memory: 1 or -1 times its size.
static int64_t reserves(ts_text action)
{
    return cli_is_text(action, "segment_alloc") ||
                   cli_is_text(action, "segment_map")
               ? 1
           : cli_is_text(action, "segment_free") ||
                   cli_is_text(action, "segment_unmap")
               ? -1
               : 0;
}

static void use(snapshot *s, int64_t address, int64_t is_used)
{
    int64_t *const at = import_map_put(&s->used, address, NULL);
    s->out_of_memory |= !at;
    if (at) *at = is_used;
}

static int64_t change(int64_t sum, int64_t sign, int64_t size)
{
    return (int64_t)((uint64_t)sum + (uint64_t)sign * (uint64_t)size);
}

static void take_entry(snapshot *s, pickle_value entry, int64_t time_ns,
                       int64_t *reserved)
{
    pickle *const p = s->p;
    const ts_text action = pickle_text(p, pickle_get(p, entry, "action"));
    const int64_t address = pickle_int(p, entry, "addr", 0);
    const int64_t size = pickle_int(p, entry, "size", 0);
    s->job->rows++;
    if (cli_is_text(action, "alloc")) {
        put_alloc(s, time_ns, address, size,
                  stack_of(s, pickle_get(p, entry, "frames")));
        use(s, address, 1);
    } else if (cli_is_text(action, "free_completed") ||
               cli_is_text(action, "free")) {
        put_free(s, time_ns, address);
        use(s, address, 0);
    } else if (reserves(action)) {
        *reserved = change(*reserved, reserves(action), size);
        put_reserved(s, time_ns, *reserved);
    } else if (cli_is_text(action, "oom")) {
        put_mark(s, time_ns, (ts_text){ "out of memory", 13 });
    } else if (cli_is_text(action, "snapshot")) {
        put_mark(s, time_ns, action);
    } else if (action.size) {
        import_unowned(s->job, action.text, action.size);
    } else {
        import_bad(s->job, "broken_row", time_ns);
    }
}

// Returns the time of an entry; the history of older versions has only an
// order, which is kept as microseconds.
static int64_t time_of(snapshot *s, pickle_value entry, size_t index,
                       bool count)
{
    int64_t us = pickle_int(s->p, entry, "time_us", IMPORT_NONE);
    if (us > -INT64_MAX / 1000 && us < INT64_MAX / 1000) return us * 1000;
    if (count) import_estimate(s->job, "time");
    return ((int64_t)index + 1) * 1000;
}

/* ---- The end ------------------------------------------------------------ */

static int64_t sum_segments(snapshot *s, pickle_value segments)
{
    int64_t sum = 0;
    for (size_t i = 0; i < pickle_count(s->p, segments) && may_read(s); i++) {
        const pickle_value segment = pickle_at(s->p, segments, i);
        if (pickle_int(s->p, segment, "device", 0) == s->device)
            sum = change(sum, 1, pickle_int(s->p, segment, "total_size", 0));
    }
    return sum;
}

static void take_block(snapshot *s, pickle_value block, int64_t address)
{
    pickle *const p = s->p;
    const ts_text state = pickle_text(p, pickle_get(p, block, "state"));
    const int64_t *const used = import_map_get(&s->used, address);
    s->job->rows++;
    if (cli_is_text(state, "inactive") || (used && *used)) return;
    pickle_value frames = pickle_get(p, block, "frames");
    const pickle_value history = pickle_get(p, block, "history");
    if (!pickle_count(p, frames) && pickle_count(p, history))
        frames = pickle_get(p, pickle_at(p, history, 0), "frames");
    put_alloc(s, s->start_ns, address, pickle_int(p, block, "size", 0),
              stack_of(s, frames));
}

// Blocks in use that the history does not have were there before it.
static void take_segments(snapshot *s, pickle_value segments)
{
    pickle *const p = s->p;
    for (size_t i = 0; i < pickle_count(p, segments) && may_read(s); i++) {
        const pickle_value segment = pickle_at(p, segments, i);
        const pickle_value blocks = pickle_get(p, segment, "blocks");
        int64_t address = pickle_int(p, segment, "address", 0);
        if (pickle_int(p, segment, "device", 0) != s->device) continue;
        for (size_t k = 0; k < pickle_count(p, blocks) && may_read(s); k++) {
            const pickle_value block = pickle_at(p, blocks, k);
            address = pickle_int(p, block, "address", address);
            take_block(s, block, address);
            address = change(address, 1, pickle_int(p, block, "size", 0));
        }
    }
}

/* ---- A device ----------------------------------------------------------- */

static void place_device(snapshot *s, int64_t device)
{
    char pool[32];
    const int size = snprintf(pool, sizeof pool, "cuda:%" PRId64, device);
    const uint32_t track = import_device(s->job, device);
    s->device = device;
    s->lane = import_lane(s->job, track, "allocator", 9);
    s->reserved =
        import_counter_track(s->job, track, "reserved memory", 15, "bytes");
    s->pool = import_name(s->job, pool, (size_t)size);
    cli_map_close(&s->used);
    s->used = (cli_map){ 0 };
}

static void take_device(snapshot *s, pickle_value history,
                        pickle_value segments)
{
    pickle *const p = s->p;
    const size_t count = pickle_count(p, history);
    int64_t reserved = sum_segments(s, segments);
    s->start_ns = count ? INT64_MAX : 0;
    for (size_t i = 0; i < count && may_read(s); i++) {
        const pickle_value entry = pickle_at(p, history, i);
        const ts_text action = pickle_text(p, pickle_get(p, entry, "action"));
        const int64_t time_ns = time_of(s, entry, i, false);
        if (time_ns < s->start_ns) s->start_ns = time_ns;
        reserved = change(reserved, -reserves(action),
                          pickle_int(p, entry, "size", 0));
    }
    if (!count && reserved) import_estimate(s->job, "time");
    if (count || reserved) put_reserved(s, s->start_ns, reserved);
    for (size_t i = 0; i < count && !s->out_of_memory && may_read(s); i++) {
        const pickle_value entry = pickle_at(p, history, i);
        take_entry(s, entry, time_of(s, entry, i, true), &reserved);
    }
    take_segments(s, segments);
}

// Returns how many devices there are in the history or the segments.
static size_t device_count(const snapshot *s, pickle_value traces,
                           pickle_value segments)
{
    enum { DEVICES = 64 };
    size_t count = pickle_count(s->p, traces);
    for (size_t i = 0; i < pickle_count(s->p, segments); i++) {
        const int64_t device =
            pickle_int(s->p, pickle_at(s->p, segments, i), "device", 0);
        if (device >= (int64_t)count && device < DEVICES)
            count = (size_t)device + 1;
    }
    return count < DEVICES ? count : DEVICES;
}

// Counts what applications noted beside the history.
static void count_annotations(snapshot *s, pickle_value top)
{
    static const char key[] = "external_annotations";
    const size_t count = pickle_count(s->p, pickle_get(s->p, top, key));
    s->job->rows += count;
    if (count) import_unowned_many(s->job, key, sizeof key - 1, count);
}

static void take_all(snapshot *s, pickle_value top)
{
    pickle *const p = s->p;
    const pickle_value none = { PICKLE_NONE, 0 };
    const pickle_value traces = pickle_get(p, top, "device_traces");
    const pickle_value segments = pickle_get(p, top, "segments");
    const size_t devices = device_count(s, traces, segments);
    for (size_t i = 0; i < devices && !s->out_of_memory; i++) {
        const pickle_value history =
            i < pickle_count(p, traces) ? pickle_at(p, traces, i) : none;
        place_device(s, (int64_t)i);
        take_device(s, history, segments);
    }
    count_annotations(s, top);
}

static bool import(import_job *job)
{
    pickle_value top;
    pickle *const p = pickle_open(job, &top);
    if (!p) return false;
    snapshot s = {
        .job = job, .p = p, .parts = p->done, .profile = profile_open(job)
    };
    take_all(&s, top);
    const bool fits = profile_close(&s.profile);
    cli_map_close(&s.stack_of);
    cli_map_close(&s.used);
    pickle_close(p);
    if (s.out_of_memory) return import_out_of_memory(job);
    return fits && (job->rows || import_fail(job, "it is a pickle of Python, "
                                                  "but no memory snapshot"));
}

// A pickle that has the keys of a snapshot near its start.
static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 &&
           (import_has(head, size < 256 ? size : 256, "segments") ||
            import_has(head, size < 256 ? size : 256, "device_traces"));
}

const import_format import_torch_memory = {
    .name = "torch-memory",
    .title = "memory snapshot of PyTorch (pickle)",
    .recognise = recognise,
    .import = import,
};
