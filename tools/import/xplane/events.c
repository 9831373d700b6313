/*
    events.c - events of XPlane become zones, calls and operations
*/
#include "tools/import/xplane/xplane.h"

static ts_text text_of(import_wire w)
{
    return (ts_text){ (const char *)w.at, (size_t)(w.end - w.at) };
}

/* ---- Values ------------------------------------------------------------- */

xplane_value xplane_value_of(const xplane *x, import_wire w)
{
    xplane_value v = { .name = { "", 0 }, .text = { "", 0 } };
    import_field f;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1)
            v.name = import_strings_text(x->values, (int64_t)f.value);
        if (f.number < 2 || f.number > 7) continue;
        v.field = (uint8_t)f.number;
        v.number = f.value;
        if (f.number == 7)
            v.text = import_strings_text(x->values, (int64_t)f.value);
        else if (f.type == IMPORT_BYTES)
            v.text = text_of(f.bytes);
    }
    return v;
}

// Calls `take` for each value of an event.
static void each_value(xplane *x, const xplane_event *e, void *user,
                       void (*take)(xplane *x, void *user,
                                    const xplane_value *v))
{
    import_wire w = e->bytes;
    import_field f;
    while (import_wire_field(&w, &f)) {
        if (f.number != 4 || f.type != IMPORT_BYTES) continue;
        const xplane_value v = xplane_value_of(x, f.bytes);
        take(x, user, &v);
    }
}

/* ---- Threads ------------------------------------------------------------ */

typedef struct host {
    const xplane_event *event;
    uint64_t correlation;
    uint32_t site;
    uint64_t from, from_type, to, to_type; // of arrows; 0: none
} host;

// Numbers of arrows are unique within their type.
static void find_links(xplane *x, void *user, const xplane_value *v)
{
    (void)x;
    host *const h = user;
    if (cli_is_text(v->name, "correlation_id")) h->correlation = v->number;
    if (cli_is_text(v->name, "_p")) h->from = v->number;
    if (cli_is_text(v->name, "_pt")) h->from_type = v->number;
    if (cli_is_text(v->name, "_c")) h->to = v->number;
    if (cli_is_text(v->name, "_ct")) h->to_type = v->number;
}

static void put_argument(xplane *x, void *user, const xplane_value *v)
{
    const host *const h = user;
    const int64_t at = h->event->start_ns;
    double real;
    if (v->name.size > 1 && v->name.text[0] == '_') return; // arrows, groups
    const uint32_t name = import_name(x->job, v->name.text, v->name.size);
    switch (v->field) {
    case 2:
        memcpy(&real, &v->number, sizeof real);
        import_zone_double(x->job, x->track, at, h->site, name, real);
        break;
    case 3:
    case 4:
        import_zone_int(x->job, x->track, at, h->site, name,
                        (int64_t)v->number);
        break;
    case 5:
    case 7:
        import_zone_text(x->job, x->track, at, h->site, name, v->text.text,
                         v->text.size);
        break;
    default: import_unowned(x->job, "values of bytes", 15);
    }
}

static void put_arrow(xplane *x, const host *h, bool is_start)
{
    const uint64_t number = is_start ? h->from : h->to;
    const uint64_t type = is_start ? h->from_type : h->to_type;
    if (!number) return;
    const ts_writer_value values[] = {
        { TS_COLUMN_ID, number ^ type << 48 },
        { TS_COLUMN_PHASE, is_start ? TS_PHASE_START : TS_PHASE_END }
    };
    import_event(x->job, TS_EVENT_FLOW, x->track, h->event->start_ns, 0, values,
                 2);
}

static void skip_argument(xplane *x, void *user, const xplane_value *v)
{
    (void)user;
    char text[64];
    if (cli_is_text(v->name, "correlation_id")) return;
    if (v->name.size > 1 && v->name.text[0] == '_') return; // arrows, groups
    const int size =
        snprintf(text, sizeof text, "value %.*s",
                 v->name.size < 50 ? (int)v->name.size : 50, v->name.text);
    import_unowned(x->job, text, (size_t)size);
}

static void put_zone(xplane *x, const xplane_event *e, host *h, uint32_t name)
{
    if (e->duration_ns) {
        const uint64_t before = x->job->bad.total;
        h->site = import_zone(x->job, x->track, e->start_ns, e->duration_ns,
                              name, 0, NULL);
        if (x->job->bad.total == before) each_value(x, e, h, put_argument);
        return;
    }
    const ts_writer_value site = { TS_COLUMN_SITE,
                                   import_site(x->job, name, 0) };
    import_event(x->job, TS_EVENT_MARK, x->track, e->start_ns, 0, &site, 1);
    each_value(x, e, h, skip_argument);
}

// Calls are those with a correlation id; operations may have it, too.
static void put_host(xplane *x, const xplane_event *e)
{
    host h = { .event = e };
    each_value(x, e, &h, find_links);
    const uint32_t name = import_strings_name(x->names, e->name);
    if (!name) import_flaw(x->job, "unknown_name");
    if (h.correlation && x->kind == XPLANE_THREAD) {
        import_api_call(x->job, x->track, e->start_ns, e->duration_ns, name,
                        h.correlation, 0);
        each_value(x, e, &h, skip_argument);
    } else {
        put_zone(x, e, &h, name);
    }
    put_arrow(x, &h, true);
    put_arrow(x, &h, false);
}

/* ---- Devices ------------------------------------------------------------ */

typedef struct device_work {
    import_operation op;
    ts_launch_entry launch;
} device_work;

static uint64_t add_digit(uint64_t number, char digit)
{
    const uint64_t value = (uint64_t)(digit - '0');
    return number > (UINT64_MAX - value) / 10 ? UINT64_MAX
                                              : number * 10 + value;
}

// Returns the numbers behind a word, "grid:16,1,1"; false: it is not there.
// UINT64_MAX: a number is not below it.
static bool numbers(ts_text details, const char *word, uint64_t *values,
                    size_t count)
{
    const size_t size = strlen(word);
    for (size_t i = 0; i + size < details.size; i++) {
        if (memcmp(details.text + i, word, size) ||
            (i && details.text[i - 1] != ' '))
            continue;
        const char *at = details.text + i + size;
        const char *const end = details.text + details.size;
        for (size_t k = 0; k < count; k++) {
            for (values[k] = 0; at < end && *at >= '0' && *at <= '9'; at++)
                values[k] = add_digit(values[k], *at);
            at += at < end && *at == ',';
        }
        return true;
    }
    return false;
}

// Returns a number that is not above `most`, else 0.
static uint64_t checked(xplane *x, uint64_t number, uint64_t most)
{
    if (number <= most) return number;
    import_flaw(x->job, "bad_number");
    return 0;
}

static uint32_t number(xplane *x, ts_text details, const char *word)
{
    uint64_t value = 0;
    numbers(details, word, &value, 1);
    return (uint32_t)checked(x, value, UINT32_MAX);
}

static uint64_t bytes(xplane *x, ts_text details, const char *word)
{
    uint64_t value = 0;
    numbers(details, word, &value, 1);
    return checked(x, value, INT64_MAX);
}

static void take_kernel(xplane *x, device_work *w, ts_text details)
{
    uint64_t sides[3];
    ts_launch_entry *const l = &w->launch;
    const char *const words[] = { "grid:", "block:" };
    for (size_t k = 0; k < 2; k++)
        if (numbers(details, words[k], sides, 3))
            for (size_t i = 0; i < 3; i++)
                (k ? l->block : l->grid)[i] =
                    (uint32_t)checked(x, sides[i], UINT32_MAX);
    l->static_shared = number(x, details, "static_shared:");
    l->dynamic_shared = number(x, details, "dynamic_shared:") +
                        number(x, details, "group_mem:");
    l->local = number(x, details, "private_mem:");
    uint64_t registers = 0;
    numbers(details, "regs:", &registers, 1);
    // Of AMD's devices some versions have rubbish here.
    l->registers = (uint32_t)checked(x, registers, 1024);
}

static bool has(ts_text text, const char *word)
{
    return import_has((const uint8_t *)text.text, text.size, word);
}

static void take_copy(xplane *x, device_work *w, ts_text details)
{
    w->op.kind = TS_EVENT_MEMCPY;
    w->op.size = bytes(x, details, "size:");
    w->op.type = has(details, "HtoD") || has(details, "H2D")   ? 1
                 : has(details, "DtoH") || has(details, "D2H") ? 2
                 : has(details, "DtoD") || has(details, "D2D") ? 3
                 : has(details, "HtoH") || has(details, "H2H") ? 4
                 : has(details, "PtoP") || has(details, "P2P") ? 5
                                                               : 0;
}

static void take_value(xplane *x, void *user, const xplane_value *v)
{
    device_work *const w = user;
    if (cli_is_text(v->name, "correlation_id")) {
        w->op.correlation = v->number;
    } else if (cli_is_text(v->name, "kernel_details")) {
        take_kernel(x, w, v->text);
    } else if (cli_is_text(v->name, "memcpy_details")) {
        take_copy(x, w, v->text);
    } else if (cli_is_text(v->name, "memset_details")) {
        w->op.kind = TS_EVENT_MEMSET;
        w->op.size = bytes(x, v->text, "num_bytes:");
    } else {
        skip_argument(x, NULL, v);
    }
}

// A copy without a kind in its details, as on AMD's devices, has it in its
// name.
static uint8_t type_by_name(ts_text name)
{
    return has(name, "HostToDevice") || has(name, "H2D")     ? 1
           : has(name, "DeviceToHost") || has(name, "D2H")   ? 2
           : has(name, "DeviceToDevice") || has(name, "D2D") ? 3
                                                             : 0;
}

static void put_operation(xplane *x, const xplane_event *e)
{
    device_work w = { .op = { .kind = TS_EVENT_KERNEL,
                              .start_ns = e->start_ns,
                              .duration_ns = e->duration_ns,
                              .track = x->track } };
    each_value(x, e, &w, take_value);
    const ts_text name = import_strings_text(x->names, e->name);
    if (w.op.kind == TS_EVENT_MEMCPY && !w.op.type)
        w.op.type = type_by_name(name);
    if (w.op.kind != TS_EVENT_KERNEL) {
        import_gpu(x->job, &w.op);
        return;
    }
    w.launch.name = import_strings_name(x->names, e->name);
    if (!w.launch.name) import_flaw(x->job, "unknown_name");
    w.op.launch = import_launch(x->job, &w.launch);
    import_strings_kernel(x->names, e->name, &w.op);
}

/* ---- Events of a line --------------------------------------------------- */

static xplane_event read_event(const xplane *x, import_wire w)
{
    xplane_event e = { .bytes = w };
    import_field f;
    int64_t offset_ps = 0, duration_ps = 0;
    bool has_offset = false, is_sum = false;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) e.name = (int64_t)f.value;
        if (f.number == 2) offset_ps = (int64_t)f.value;
        if (f.number == 3) duration_ps = (int64_t)f.value;
        has_offset |= f.number == 2;
        is_sum |= f.number == 5;
    }
    int64_t end_ps, end_ns;
    e.is_bad =
        w.at < w.end || (is_sum && !has_offset) || duration_ps < 0 ||
        offset_ps < 0 ||
        __builtin_add_overflow(offset_ps, duration_ps, &end_ps) ||
        __builtin_add_overflow(x->line_ns, offset_ps / 1000, &e.start_ns);
    if (e.is_bad) return e;
    // What ends where another begins still does.
    e.duration_ns = end_ps / 1000 - offset_ps / 1000;
    e.is_bad = __builtin_add_overflow(e.start_ns, e.duration_ns, &end_ns);
    return e;
}

// Writes an event; `is_around`: others are within it.
static void put(xplane *x, const xplane_event *e, bool is_around)
{
    const uint32_t track = x->track;
    const bool is_outer = x->kind == XPLANE_OPERATIONS && is_around;
    if (is_outer) x->track = x->outer;
    if (x->kind == XPLANE_STREAM || (x->kind == XPLANE_OPERATIONS && !is_outer))
        put_operation(x, e);
    else
        put_host(x, e);
    x->track = track;
}

void xplane_end_line(xplane *x)
{
    if (x->has_held) put(x, &x->held, false);
    x->has_held = false;
}

// Keeps an event until the next one is known.
static void hold(xplane *x, const xplane_event *e)
{
    const size_t size = (size_t)(e->bytes.end - e->bytes.at);
    if (!cli_grow(&x->held_bytes, &x->held_room, size + 1, 1)) {
        x->out_of_memory = true;
        return;
    }
    memcpy(x->held_bytes, e->bytes.at, size);
    x->held = *e;
    x->held.bytes = (import_wire){ x->held_bytes, x->held_bytes + size };
    x->has_held = true;
}

// Returns whether an event lies within the one before it. One that only begins
// there runs at the same time: both are work.
static bool is_within(const xplane_event *e, const xplane_event *outer)
{
    return e->start_ns >= outer->start_ns &&
           e->start_ns < outer->start_ns + outer->duration_ns &&
           e->start_ns + e->duration_ns <= outer->start_ns + outer->duration_ns;
}

void xplane_take_event(xplane *x, import_wire w)
{
    const xplane_event e = read_event(x, w);
    x->job->rows++;
    if (e.is_bad) {
        import_bad(x->job, "broken_row", IMPORT_NONE);
        return;
    }
    if (x->kind != XPLANE_OPERATIONS) {
        put(x, &e, false);
        return;
    }
    if (x->has_held) {
        put(x, &x->held, is_within(&e, &x->held));
        x->has_held = false;
    }
    hold(x, &e);
}
