/*
    host.c - rows of the host: calls, zones, instants, counters
*/
#include "tools/import/kineto/kineto.h"
#include "tools/import/execution/execution.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void kineto_take_call(kineto *k)
{
    static const char *const known[] = { "correlation", NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    kineto_time time;
    int64_t correlation = 0;
    if (!kineto_time_of(k, &time, true)) return;
    if (name.type != KINETO_TEXT) {
        import_bad(k->job, "no_name", time.start_ns);
        return;
    }
    k->is_hip |= name.size > 3 && !memcmp(name.text, "hip", 3);
    kineto_int(kineto_find(k->row, "correlation"), &correlation);
    const uint32_t thread = kineto_thread(k);
    const uint32_t number = kineto_number_of(k, name.text, name.size);
    import_api_call(k->job, thread, time.start_ns, time.duration_ns, number,
                    correlation > 0 ? (uint64_t)correlation : 0, 0);
    kineto_no_place_but(k, known);
}

/* ---- Zones -------------------------------------------------------------- */

static void add_argument(kineto *k, uint32_t track, int64_t start_ns,
                         uint32_t site, const kineto_arg *arg)
{
    const uint32_t name = kineto_number_of(k, arg->key, arg->key_size);
    const kineto_value v = arg->value;
    int64_t number;
    double real;
    switch (v.type) {
    case KINETO_NUMBER:
        if (!kineto_is_real(v) && kineto_int(v, &number))
            import_zone_int(k->job, track, start_ns, site, name, number);
        else if (kineto_double(v, &real))
            import_zone_double(k->job, track, start_ns, site, name, real);
        break;
    case KINETO_TRUE:
    case KINETO_FALSE:
        import_zone_int(k->job, track, start_ns, site, name,
                        v.type == KINETO_TRUE);
        break;
    case KINETO_TEXT:
    case KINETO_NESTED:
        import_zone_text(k->job, track, start_ns, site, name, v.text, v.size);
        break;
    case KINETO_NULL:
    case KINETO_NONE: break;
    }
}

// Adds what an execution trace knows of the row's operator.
static void join(kineto *k, uint32_t track, int64_t start_ns, uint32_t site)
{
    const kineto_value name = k->row->fields[KINETO_NAME];
    int64_t process, id;
    if (!k->job->executions || name.type != KINETO_TEXT ||
        !kineto_int(k->row->fields[KINETO_PID], &process) ||
        !kineto_int(kineto_find(k->row, "Record function id"), &id))
        return;
    import_executions_join(k->job, process, id, name.text, name.size, track,
                           start_ns, site);
}

static void put_zone(kineto *k, uint32_t track)
{
    const kineto_value name = k->row->fields[KINETO_NAME];
    const bool named = name.type == KINETO_TEXT;
    kineto_time time;
    import_facts facts;
    if (!kineto_time_of(k, &time, true)) return;
    const bool has_facts = kineto_facts(k, &facts);
    const uint32_t number =
        kineto_number_of(k, named ? name.text : "", named ? name.size : 0);
    const uint64_t before = k->job->bad.total;
    const uint32_t site =
        import_zone(k->job, track, time.start_ns, time.duration_ns, number,
                    kineto_category(k), has_facts ? &facts : NULL);
    // If the zone is bad, its arguments are not counted as bad again.
    if (k->job->bad.total != before) return;
    for (size_t i = 0; i < k->row->arg_count; i++)
        add_argument(k, track, time.start_ns, site, &k->row->args[i]);
    join(k, track, time.start_ns, site);
}

void kineto_take_zone(kineto *k)
{
    put_zone(k, kineto_thread(k));
}

// Annotations with times of the device overlap its operations, so they get a
// track of their own.
void kineto_take_gpu_zone(kineto *k)
{
    int64_t device, stream;
    char name[64];
    if (!kineto_int(k->row->fields[KINETO_PID], &device) ||
        !kineto_int(k->row->fields[KINETO_TID], &stream)) {
        kineto_take_zone(k);
        return;
    }
    const int size =
        snprintf(name, sizeof name, "annotations, stream %" PRId64, stream);
    put_zone(k, import_lane(k->job, import_device(k->job, device), name,
                            (size_t)size));
}

void kineto_take_overhead(kineto *k)
{
    put_zone(k, import_lane(k->job, 0, "profiler overhead", 17));
}

// The time that the profiler recorded; it belongs to no thread.
void kineto_take_span(kineto *k)
{
    put_zone(k, import_lane(k->job, 0, "profiler spans", 14));
}

/* ---- Instants ----------------------------------------------------------- */

// Returns the name of the pool by c10's device type and number: "cpu",
// "cuda:1".
static uint32_t pool(kineto *k, int64_t type, int64_t device)
{
    static const char *const names[] = { "cpu",    "cuda",  "mkldnn", "opengl",
                                         "opencl", "ideep", "hip" };
    char text[64];
    int size = 0;
    if (type == 0)
        size = snprintf(text, sizeof text, "cpu");
    else if (type > 0 && type < (int64_t)(sizeof names / sizeof *names))
        size = snprintf(text, sizeof text, "%s:%" PRId64, names[type], device);
    else
        size = snprintf(text, sizeof text, "type %" PRId64 ":%" PRId64, type,
                        device);
    return kineto_number_of(k, text, (size_t)size);
}

static void put_total(kineto *k, uint32_t parent, int64_t now_ns,
                      const char *key)
{
    int64_t total;
    if (!kineto_int(kineto_find(k->row, key), &total)) return;
    const uint32_t track =
        import_counter_track(k->job, parent, key, strlen(key), "bytes");
    const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                       { TS_COLUMN_VALUE, (uint64_t)total } };
    import_event(k->job, TS_EVENT_COUNTER, track, now_ns, 0, values, 2);
}

// Imports an allocation (positive bytes) or a release (negative bytes).
static void take_memory(kineto *k, int64_t now_ns)
{
    static const char *const known[] = {
        "Addr",      "Bytes",           "Device Type",
        "Device Id", "Total Allocated", "Total Reserved",
        NULL
    };
    int64_t size, address, type = 0, device = 0;
    if (!kineto_int(kineto_find(k->row, "Bytes"), &size) ||
        !kineto_int(kineto_find(k->row, "Addr"), &address)) {
        import_bad(k->job, "no_memory_range", now_ns);
        return;
    }
    kineto_int(kineto_find(k->row, "Device Type"), &type);
    kineto_int(kineto_find(k->row, "Device Id"), &device);
    const ts_writer_value values[] = {
        { TS_COLUMN_ADDRESS, (uint64_t)address },
        { TS_COLUMN_POOL, pool(k, type, device) },
        { TS_COLUMN_SIZE, (uint64_t)size },
        { TS_COLUMN_CATEGORY, kineto_category(k) }
    };
    const bool taken = size >= 0;
    import_event(k->job, taken ? TS_EVENT_ALLOC : TS_EVENT_FREE,
                 kineto_thread(k), now_ns, 0, values, taken ? 4 : 2);
    const uint32_t parent = type > 0 && device >= 0
                                ? import_device(k->job, device)
                                : kineto_process(k);
    put_total(k, parent, now_ns, "Total Allocated");
    put_total(k, parent, now_ns, "Total Reserved");
    kineto_no_place_but(k, known);
}

void kineto_take_instant(kineto *k)
{
    static const char *const none[] = { NULL };
    const kineto_value name = k->row->fields[KINETO_NAME];
    kineto_time time;
    if (!kineto_time_of(k, &time, false)) return;
    if (kineto_is(name, "[memory]")) {
        take_memory(k, time.start_ns);
        return;
    }
    const bool named = name.type == KINETO_TEXT;
    const uint32_t number =
        kineto_number_of(k, named ? name.text : "", named ? name.size : 0);
    const ts_writer_value site = {
        TS_COLUMN_SITE, import_site(k->job, number, kineto_category(k))
    };
    import_event(k->job, TS_EVENT_MARK, kineto_thread(k), time.start_ns, 0,
                 &site, 1);
    kineto_no_place_but(k, none);
}

/* ---- Flows, counters ---------------------------------------------------- */

void kineto_take_flow(kineto *k)
{
    const kineto_value cat = k->row->fields[KINETO_CAT];
    const kineto_value text = k->row->fields[KINETO_ID];
    kineto_time time;
    int64_t id;
    if (kineto_is(cat, "ac2g") || kineto_is(cat, "async_cpu_to_gpu") ||
        (k->old.job && kineto_is(cat, "flow"))) {
        kineto_no_place(k, "known by correlation", 20);
        return;
    }
    if (!kineto_time_of(k, &time, false)) return;
    if (!text.size) {
        import_bad(k->job, "no_id", time.start_ns);
        return;
    }
    if (!kineto_int(text, &id)) id = (int64_t)XXH3_64bits(text.text, text.size);
    const char phase = k->row->fields[KINETO_PH].text[0];
    const ts_writer_value values[] = { { TS_COLUMN_ID, (uint64_t)id },
                                       { TS_COLUMN_PHASE,
                                         phase == 's'   ? TS_PHASE_START
                                         : phase == 't' ? TS_PHASE_STEP
                                                        : TS_PHASE_END } };
    import_event(k->job, TS_EVENT_FLOW, kineto_thread(k), time.start_ns, 0,
                 values, 2);
}

enum { PART = 120 }; // bytes kept of each part of a counter's name

static size_t add_part(char *to, size_t size, const char *text, size_t count)
{
    const size_t part = count < PART ? count : PART;
    if (part) memcpy(to + size, text, part);
    return size + part;
}

// Names the counter of an argument: "memory", "memory[id]", "memory used" if
// the row has several values.
static size_t name_sample(const kineto *k, const kineto_arg *arg, size_t values,
                          char *text)
{
    const kineto_value name = k->row->fields[KINETO_NAME];
    const kineto_value id = k->row->fields[KINETO_ID];
    size_t size =
        add_part(text, 0, name.text, name.type == KINETO_TEXT ? name.size : 0);
    if (id.size) {
        text[size++] = '[';
        size = add_part(text, size, id.text, id.size);
        text[size++] = ']';
    }
    if (values < 2) return size;
    text[size++] = ' ';
    return add_part(text, size, arg->key, arg->key_size);
}

// The argument with the unit of the row's values, a text, or NULL.
static const kineto_arg *unit_of(const kineto *k)
{
    for (size_t i = 0; i < k->row->arg_count; i++) {
        const kineto_arg *const arg = &k->row->args[i];
        if (arg->key_size == 4 && !memcmp(arg->key, "unit", 4) &&
            arg->value.type == KINETO_TEXT && arg->value.size < PART)
            return arg;
    }
    return NULL;
}

static void put_sample(kineto *k, int64_t now_ns, const kineto_arg *arg,
                       const kineto_arg *unit)
{
    char text[3 * PART + 3];
    int64_t number;
    double real;
    uint64_t bits;
    const bool whole = kineto_int(arg->value, &number);
    if (!whole && !kineto_double(arg->value, &real)) {
        import_bad(k->job, "no_number", now_ns);
        return;
    }
    const bool is_real = !whole || (kineto_is_real(arg->value) &&
                                    kineto_double(arg->value, &real));
    if (is_real) memcpy(&bits, &real, sizeof bits);
    const size_t size =
        name_sample(k, arg, k->row->arg_count - (unit != NULL), text);
    char named[PART] = "";
    if (unit) memcpy(named, unit->value.text, unit->value.size);
    const ts_writer_value values[] = {
        { TS_COLUMN_TYPE, is_real ? TS_VALUE_DOUBLE : TS_VALUE_INT },
        { TS_COLUMN_VALUE, is_real ? bits : (uint64_t)number }
    };
    import_event(k->job, TS_EVENT_COUNTER,
                 import_counter_track(k->job, kineto_process(k), text, size,
                                      *named ? named : NULL),
                 now_ns, 0, values, 2);
}

void kineto_take_counter(kineto *k)
{
    kineto_time time;
    if (!kineto_time_of(k, &time, false)) return;
    const kineto_arg *const unit = unit_of(k);
    for (size_t i = 0; i < k->row->arg_count; i++)
        if (&k->row->args[i] != unit)
            put_sample(k, time.start_ns, &k->row->args[i], unit);
}
