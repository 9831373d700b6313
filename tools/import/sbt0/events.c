/*
    events.c - events of TraceSmith 0.x to events of the trace

    A kernel, a collective and a range are two events, a start and an end with
    the same name and correlation, or one with a duration. Ends find their
    starts by a hash of what both have; of several open ones the last counts.
*/
#include "tools/import/sbt0/sbt0.h"
#include "tools/import/strings.h"

// What the start and the end of an event have in common.
typedef struct mate {
    int64_t device, stream;
    uint64_t correlation;
    uint32_t name;
    uint32_t type; // of the start
} mate;

struct sbt0_open {
    mate mate;
    sbt0_event event;
    size_t below; // row + 1 of the one that began before, or of an unused one
};

static const char *category(uint8_t type)
{
    static const char *const names[SBT0_TYPES] = {
        [SBT0_EVENT_SYNC] = "event sync",
        [SBT0_STREAM_CREATE] = "stream create",
        [SBT0_STREAM_DESTROY] = "stream destroy",
        [SBT0_CONTEXT_CREATE] = "context create",
        [SBT0_CONTEXT_DESTROY] = "context destroy",
        [SBT0_ALLOC] = "memory alloc",
        [SBT0_FREE] = "memory free",
        [SBT0_MARKER] = "marker",
        [SBT0_RANGE_START] = "range",
        [SBT0_RANGE_END] = "range",
    };
    if (type == SBT0_CUSTOM) return "custom";
    return type < SBT0_TYPES && names[type] ? names[type] : "unknown";
}

/* ---- Where --------------------------------------------------------------- */

static uint32_t thread_of(const sbt0 *s, const sbt0_event *e)
{
    return e->thread ? import_thread(s->job, e->process, e->thread) : 0;
}

// Events of the program are on its thread, or on a lane beside the stream.
static uint32_t line_of(const sbt0 *s, const sbt0_event *e)
{
    if (e->thread) return thread_of(s, e);
    char name[64];
    const int size =
        snprintf(name, sizeof name, "events, stream %" PRId64, e->stream);
    return import_lane(s->job, import_device(s->job, e->device), name,
                       (size_t)size);
}

/* ---- What became of an event --------------------------------------------- */

static import_operation operation_of(const sbt0 *s, const sbt0_event *e,
                                     ts_event_kind kind)
{
    import_operation o = { .kind = (uint8_t)kind,
                           .start_ns = e->time_ns,
                           .duration_ns = e->duration_ns,
                           .correlation = e->correlation,
                           .stack = e->stack };
    o.track = import_stream(s->job, e->device, IMPORT_NONE, e->stream);
    o.thread = thread_of(s, e);
    return o;
}

static void take_kernel(sbt0 *s, const sbt0_event *e, uint32_t name)
{
    import_operation o = operation_of(s, e, TS_EVENT_KERNEL);
    ts_launch_entry launch = e->launch;
    launch.name = name;
    o.launch = import_launch(s->job, &launch);
    import_kernel(s->job, &o, e->name.text, e->name.size);
}

static void take_collective(sbt0 *s, const sbt0_event *e, uint32_t name)
{
    import_operation o = operation_of(s, e, TS_EVENT_COLLECTIVE);
    const char *const kind = ts_collective_kind(e->name.text, e->name.size);
    import_facts facts = { .name = name, .size = e->size };
    if (kind) facts.name = import_name(s->job, kind, strlen(kind));
    import_gpu_collective(s->job, &o, &facts);
}

static void take_memory(sbt0 *s, const sbt0_event *e, ts_event_kind kind)
{
    import_operation o = operation_of(s, e, kind);
    o.size = e->size;
    o.address = e->address;
    if (kind == TS_EVENT_MEMCPY) {
        o.type = (uint8_t)(e->type - SBT0_COPY_TO_DEVICE + 1);
        o.source = e->source;
    }
    if (kind >= TS_EVENT_GPU_ALLOC && !o.address) o.address = e->source;
    if (kind < TS_EVENT_GPU_ALLOC && !e->duration_ns)
        import_flaw(s->job, "no_duration");
    import_gpu(s->job, &o);
}

static void take_sync(sbt0 *s, const sbt0_event *e)
{
    import_operation o = operation_of(s, e, TS_EVENT_STREAM_SYNC);
    if (e->type == SBT0_DEVICE_SYNC) {
        o.kind = TS_EVENT_DEVICE_SYNC;
        o.track = import_device(s->job, e->device);
    }
    import_gpu(s->job, &o);
}

// The event is not named: each record is one of an event of its own.
static void take_record(sbt0 *s, const sbt0_event *e)
{
    import_operation o = operation_of(s, e, TS_EVENT_EVENT_RECORD);
    o.id = s->job->rows;
    import_gpu(s->job, &o);
}

// A zone, or a mark if there is no duration.
static void take_other(sbt0 *s, const sbt0_event *e, uint32_t name)
{
    const char *const kind = category(e->type);
    const uint32_t number = import_name(s->job, kind, strlen(kind));
    const ts_writer_value site = { TS_COLUMN_SITE,
                                   import_site(s->job, name, number) };
    const uint32_t line = line_of(s, e);
    if (e->stack) import_unowned(s->job, "stacks of marks and ranges", 26);
    if (e->duration_ns)
        import_zone_at(s->job, line, e->time_ns, e->duration_ns,
                       (uint32_t)site.value, NULL);
    else
        import_event(s->job, TS_EVENT_MARK, line, e->time_ns, 0, &site, 1);
}

static void take_whole(sbt0 *s, const sbt0_event *e, uint32_t name)
{
    switch (e->type) {
    case SBT0_KERNEL_LAUNCH:
    case SBT0_KERNEL_COMPLETE: take_kernel(s, e, name); return;
    case SBT0_COLLECTIVE_START:
    case SBT0_COLLECTIVE_END: take_collective(s, e, name); return;
    case SBT0_COPY_TO_DEVICE:
    case SBT0_COPY_TO_HOST:
    case SBT0_COPY_ON_DEVICE: take_memory(s, e, TS_EVENT_MEMCPY); return;
    case SBT0_MEMSET: take_memory(s, e, TS_EVENT_MEMSET); return;
    case SBT0_STREAM_SYNC:
    case SBT0_DEVICE_SYNC: take_sync(s, e); return;
    case SBT0_EVENT_RECORD: take_record(s, e); return;
    case SBT0_ALLOC:
        if (!e->has_memory) break;
        take_memory(s, e, TS_EVENT_GPU_ALLOC);
        return;
    case SBT0_FREE:
        if (!e->has_memory) break;
        take_memory(s, e, TS_EVENT_GPU_FREE);
        return;
    default: break;
    }
    take_other(s, e, name);
}

/* ---- Starts and ends ----------------------------------------------------- */

// Returns the type of the start; SBT0_UNKNOWN: it is one event.
static uint8_t start_of(uint8_t type)
{
    switch (type) {
    case SBT0_KERNEL_LAUNCH:
    case SBT0_KERNEL_COMPLETE: return SBT0_KERNEL_LAUNCH;
    case SBT0_RANGE_START:
    case SBT0_RANGE_END: return SBT0_RANGE_START;
    case SBT0_COLLECTIVE_START:
    case SBT0_COLLECTIVE_END: return SBT0_COLLECTIVE_START;
    default: return SBT0_UNKNOWN;
    }
}

static size_t new_row(sbt0 *s)
{
    const size_t unused = s->unused;
    if (unused) {
        s->unused = s->rows[unused - 1].below;
        return unused;
    }
    if (!cli_grow(&s->rows, &s->room, s->count + 1, sizeof *s->rows)) return 0;
    return ++s->count;
}

// Keeps the name of a collective, which tells its kind if it never ends.
static void keep_name(sbt0 *s, const sbt0_event *e, uint32_t name)
{
    const ts_text text = e->name;
    if (e->type != SBT0_COLLECTIVE_START &&
        (e->type != SBT0_KERNEL_LAUNCH ||
         !ts_collective_is_kernel(text.text, text.size)))
        return;
    if (!s->names) s->names = import_strings_open(s->job);
    if (s->names && import_strings_text(s->names, name).size) return;
    s->no_memory |=
        !s->names || !import_strings_put(s->names, name, text.text, text.size);
}

static void begin(sbt0 *s, const sbt0_event *e, const mate *m)
{
    uint64_t *const top = cli_map_at(&s->open, cli_hash(m, sizeof *m));
    const size_t row = top ? new_row(s) : 0;
    if (!row) {
        s->no_memory = true;
        return;
    }
    s->rows[row - 1] = (sbt0_open){ *m, *e, (size_t)*top };
    *top = row;
    keep_name(s, e, m->name);
}

// Finds the start of an end, and forgets it. False: there is none.
static bool find_start(sbt0 *s, const mate *m, sbt0_event *start)
{
    const uint64_t key = cli_hash(m, sizeof *m);
    uint64_t *const top = cli_map_find(&s->open, key);
    const size_t row = top ? (size_t)*top : 0;
    if (!row || memcmp(&s->rows[row - 1].mate, m, sizeof *m)) return false;
    sbt0_open *const o = &s->rows[row - 1];
    *start = o->event;
    *top = o->below;
    if (!o->below) cli_map_remove(&s->open, key);
    o->below = s->unused;
    o->mate.type = SBT0_UNKNOWN;
    s->unused = row;
    return true;
}

static void end(sbt0 *s, const sbt0_event *e, const mate *m)
{
    sbt0_event whole;
    if (!find_start(s, m, &whole)) {
        if (e->duration_ns)
            take_whole(s, e, m->name);
        else
            import_bad(s->job, "end_without_start", e->time_ns);
        return;
    }
    whole.duration_ns =
        (int64_t)((uint64_t)e->time_ns - (uint64_t)whole.time_ns);
    whole.name = e->name;
    if (!whole.stack) whole.stack = e->stack;
    if (!whole.thread) whole.thread = e->thread;
    if (!whole.has_memory) whole.size = e->size;
    take_whole(s, &whole, m->name);
}

void sbt0_take(sbt0 *s, const sbt0_event *e)
{
    const mate m = { .device = e->device,
                     .stream = e->stream,
                     .correlation = e->correlation,
                     .name = import_name(s->job, e->name.text, e->name.size),
                     .type = start_of(e->type) };
    if (m.type == SBT0_UNKNOWN || (m.type == e->type && e->duration_ns))
        take_whole(s, e, m.name);
    else if (m.type == e->type)
        begin(s, e, &m);
    else
        end(s, e, &m);
}

// What began and never ended: how long it took is not known.
static void take_open(sbt0 *s, const sbt0_open *o)
{
    import_flaw(s->job, "start_without_end");
    if (o->mate.type == SBT0_RANGE_START) {
        const uint32_t kind = import_name(s->job, "range", 5);
        const ts_writer_value site = {
            TS_COLUMN_SITE, import_site(s->job, o->mate.name, kind)
        };
        import_event(s->job, TS_EVENT_ZONE_OPEN, line_of(s, &o->event),
                     o->event.time_ns, 0, &site, 1);
        return;
    }
    take_whole(s, &o->event, o->mate.name);
}

bool sbt0_end(sbt0 *s)
{
    for (size_t i = 0; i < s->count; i++) {
        sbt0_open *const o = &s->rows[i];
        if (o->mate.type == SBT0_UNKNOWN) continue;
        o->event.name = (ts_text){ "", 0 };
        if (s->names)
            o->event.name = import_strings_text(s->names, o->mate.name);
        take_open(s, o);
    }
    import_strings_free(s->names);
    cli_map_close(&s->open);
    free(s->rows);
    return !s->no_memory || import_out_of_memory(s->job);
}
