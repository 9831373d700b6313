/*
    events.c - Perfetto's track events, and stages of GPUs, become events
*/
#include "tools/import/perfetto/perfetto.h"

enum { BEGIN = 1, FINISH = 2, INSTANT = 3, SAMPLE = 4 }; // types of events
enum { DEPTH = 4096 }; // open zones of a track

// A TrackEvent while it is read.
typedef struct event {
    const perfetto_packet *packet;
    int64_t time_ns;
    uint64_t type, track;
    ts_text name, category;
    bool has_value, is_real, has_place, has_stack;
    uint64_t value; // bits of a double if is_real
    uint64_t extra[PERFETTO_EXTRA];
    size_t extra_count;
} event;

/* ---- Arguments ---------------------------------------------------------- */

typedef struct argument {
    ts_text name, text;
    uint64_t type, value; // field number of the value; 0: none that is known
} argument;

static ts_text text_of(import_wire w)
{
    return (ts_text){ (const char *)w.at, (size_t)(w.end - w.at) };
}

static argument read_argument(perfetto *p, size_t sequence, import_wire w)
{
    argument a = { .name = { "", 0 } };
    import_field f;
    while (import_wire_field(&w, &f)) {
        switch (f.number) {
        case 1:
            a.name = perfetto_text_of(p, sequence, PERFETTO_ARG_NAME, f.value);
            break;
        case 10:
            if (f.type == IMPORT_BYTES) a.name = text_of(f.bytes);
            break;
        case 17:
            a.text = perfetto_text_of(p, sequence, PERFETTO_ARG_TEXT, f.value);
            a.type = 6;
            break;
        default:
            if (f.number < 2 || f.number > 7) break;
            a.type = f.number;
            a.value = f.value;
            if (f.type == IMPORT_BYTES) a.text = text_of(f.bytes);
        }
    }
    return a;
}

static void put_argument(perfetto *p, uint32_t track, int64_t start_ns,
                         uint32_t site, const argument *a)
{
    double real;
    const uint32_t name = import_name(p->job, a->name.text, a->name.size);
    switch (a->type) {
    case 2: // bool, uint, int, pointer
    case 3:
    case 4:
    case 7:
        import_zone_int(p->job, track, start_ns, site, name, (int64_t)a->value);
        break;
    case 5:
        memcpy(&real, &a->value, sizeof real);
        import_zone_double(p->job, track, start_ns, site, name, real);
        break;
    case 6:
        import_zone_text(p->job, track, start_ns, site, name, a->text.text,
                         a->text.size);
        break;
    default: import_unowned(p->job, "nested arguments", 16);
    }
}

// Reads the arguments of an event; site 0: it is no zone and has none.
static void take_arguments(perfetto *p, const event *e, uint32_t track,
                           int64_t start_ns, uint32_t site)
{
    import_wire w = e->packet->event;
    import_field f;
    while (import_wire_field(&w, &f)) {
        if (f.number != 4 || f.type != IMPORT_BYTES) continue;
        if (!site) {
            import_unowned(p->job, "arguments of instants", 21);
            continue;
        }
        const argument a = read_argument(p, e->packet->sequence, f.bytes);
        put_argument(p, track, start_ns, site, &a);
    }
}

/* ---- Flows -------------------------------------------------------------- */

// Keeps an end of an arrow: sequences are not in the order of time, which says
// where the arrow begins.
static void keep_flow(perfetto *p, const event *e, uint32_t track, uint64_t id,
                      bool is_last)
{
    if (!cli_grow(&p->flows, &p->flow_room, p->flow_count + 1,
                  sizeof *p->flows)) {
        p->out_of_memory = true;
        return;
    }
    p->flows[p->flow_count++] =
        (perfetto_flow){ id, e->time_ns, track, is_last };
}

static int compare_flows(const void *a, const void *b)
{
    const perfetto_flow *const x = a, *const y = b;
    if (x->id != y->id) return x->id < y->id ? -1 : 1;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->is_last != y->is_last) return x->is_last - y->is_last;
    return (x->track > y->track) - (x->track < y->track);
}

// Writes the flows. An id may be used again after its last event.
static void put_flows(perfetto *p)
{
    bool is_open = false;
    if (p->flow_count)
        qsort(p->flows, p->flow_count, sizeof *p->flows, compare_flows);
    for (size_t i = 0; i < p->flow_count; i++) {
        const perfetto_flow *const f = &p->flows[i];
        const bool is_end = i + 1 == p->flow_count || f[1].id != f->id;
        const ts_phase phase = !is_open               ? TS_PHASE_START
                               : f->is_last || is_end ? TS_PHASE_END
                                                      : TS_PHASE_STEP;
        const ts_writer_value values[] = { { TS_COLUMN_ID, f->id },
                                           { TS_COLUMN_PHASE, phase } };
        import_event(p->job, TS_EVENT_FLOW, f->track, f->time_ns, 0, values, 2);
        is_open = phase != TS_PHASE_END && !is_end;
    }
}

// Fields 47 and 48, and the older 36 and 42.
static void take_flows(perfetto *p, const event *e, uint32_t track)
{
    import_wire w = e->packet->event;
    import_field f;
    while (import_wire_field(&w, &f)) {
        const bool is_last = f.number == 48 || f.number == 42;
        if (!is_last && f.number != 47 && f.number != 36) continue;
        if (f.type != IMPORT_BYTES) {
            keep_flow(p, e, track, f.value, is_last);
            continue;
        }
        uint64_t id; // packed
        while (f.number >= 47 ? import_wire_fixed(&f.bytes, 8, &id)
                              : import_wire_varint(&f.bytes, &id))
            keep_flow(p, e, track, id, is_last);
    }
}

/* ---- Zones, marks ------------------------------------------------------- */

static uint32_t site_of(perfetto *p, const event *e)
{
    const uint32_t name = import_name(p->job, e->name.text, e->name.size);
    const uint32_t category =
        e->category.size
            ? import_name(p->job, e->category.text, e->category.size)
            : 0;
    return import_site(p->job, name, category);
}

static void begin(perfetto *p, perfetto_track *t, const event *e,
                  uint32_t track)
{
    const uint32_t depth = t->open ? t->open->depth + 1 : 0;
    perfetto_open *const o = depth < DEPTH ? malloc(sizeof *o) : NULL;
    if (!o) {
        t->unkept++;
        import_bad(p->job, "too_much_begun", e->time_ns);
        return;
    }
    *o = (perfetto_open){ t->open, e->time_ns, site_of(p, e), depth };
    t->open = o;
    take_arguments(p, e, track, o->start_ns, o->site);
}

static void finish(perfetto *p, perfetto_track *t, const event *e,
                   uint32_t track)
{
    perfetto_open *const o = t->open;
    int64_t duration;
    if (t->unkept) { // it ends one of those, not the one below
        t->unkept--;
        return;
    }
    if (!o) {
        import_bad(p->job, "end_without_begin", e->time_ns);
        return;
    }
    t->open = o->below;
    if (__builtin_sub_overflow(e->time_ns, o->start_ns, &duration))
        duration = INT64_MAX;
    if (e->time_ns < o->start_ns) duration = -1; // counted as reversed
    import_zone_at(p->job, track, o->start_ns, duration, o->site, NULL);
    take_arguments(p, e, track, o->start_ns, o->site);
    free(o);
}

static void mark(perfetto *p, const event *e, uint32_t track)
{
    const ts_writer_value site = { TS_COLUMN_SITE, site_of(p, e) };
    import_event(p->job, TS_EVENT_MARK, track, e->time_ns, 0, &site, 1);
    take_arguments(p, e, track, 0, 0);
}

/* ---- Counters ----------------------------------------------------------- */

static void sample(perfetto *p, uint64_t id, int64_t time_ns, bool is_real,
                   uint64_t bits)
{
    const size_t at = perfetto_track_of(p, id);
    if (at == SIZE_MAX) return;
    perfetto_track *const t = &p->tracks[at];
    if (!t->is_counter) {
        import_bad(p->job, "no_counter", time_ns);
        return;
    }
    if (!is_real) {
        const uint64_t unit = t->unit ? (uint64_t)t->unit : 1;
        bits *= unit;
        if (t->is_incremental) bits += (uint64_t)t->sum;
        t->sum = (int64_t)bits;
    }
    const ts_writer_value values[] = {
        { TS_COLUMN_TYPE, is_real ? TS_VALUE_DOUBLE : TS_VALUE_INT },
        { TS_COLUMN_VALUE, bits }
    };
    import_event(p->job, TS_EVENT_COUNTER, perfetto_place(p, at), time_ns, 0,
                 values, 2);
}

// Samples of further counters that any event may have.
static void take_extra(perfetto *p, const event *e)
{
    const perfetto_sequence *const s = &p->sequences[e->packet->sequence];
    for (size_t i = 0; i < e->extra_count; i++)
        if (i < s->extra_count)
            sample(p, s->extra[i], e->time_ns, false, e->extra[i]);
        else
            import_bad(p->job, "no_counter", e->time_ns);
}

/* ---- Track events ------------------------------------------------------- */

static void add_extra(event *e, uint64_t value)
{
    if (e->extra_count < PERFETTO_EXTRA) e->extra[e->extra_count++] = value;
}

static void take_value(event *e, const import_field *f)
{
    import_wire packed = f->bytes;
    uint64_t value;
    if (f->number != 12) {
        e->has_value = true;
        e->is_real = f->number == 44;
        e->value = f->value;
    } else if (f->type == IMPORT_VARINT) {
        add_extra(e, f->value);
    } else {
        while (import_wire_varint(&packed, &value))
            add_extra(e, value);
    }
}

// The first category counts; events with several are rare.
static void take_category(perfetto *p, event *e, const import_field *f)
{
    import_wire packed = f->bytes;
    uint64_t number = f->value;
    if (e->category.size) return;
    if (f->number == 22) {
        if (f->type == IMPORT_BYTES) e->category = text_of(f->bytes);
        return;
    }
    if (f->type == IMPORT_BYTES && !import_wire_varint(&packed, &number))
        return;
    e->category =
        perfetto_text_of(p, e->packet->sequence, PERFETTO_CATEGORY, number);
}

static event read_event(perfetto *p, const perfetto_packet *packet)
{
    event e = { .packet = packet, .name = { "", 0 }, .category = { "", 0 } };
    import_wire w = packet->event;
    import_field f;
    e.track = p->sequences[packet->sequence].track;
    while (import_wire_field(&w, &f)) {
        switch (f.number) {
        case 3:
        case 22: take_category(p, &e, &f); break;
        case 9: e.type = f.value; break;
        case 10:
            e.name =
                perfetto_text_of(p, packet->sequence, PERFETTO_NAME, f.value);
            break;
        case 11: e.track = f.value; break;
        case 12:
        case 30:
        case 44: take_value(&e, &f); break;
        case 23:
            if (f.type == IMPORT_BYTES) e.name = text_of(f.bytes);
            break;
        case 33:
        case 34: e.has_place = true; break;
        case 55:
        case 56: e.has_stack = true; break;
        default: break;
        }
    }
    return e;
}

void perfetto_take_event(perfetto *p, const perfetto_packet *packet)
{
    event e = read_event(p, packet);
    e.time_ns = perfetto_time_of(p, packet);
    take_extra(p, &e);
    if (e.type == SAMPLE) {
        if (e.has_value)
            sample(p, e.track, e.time_ns, e.is_real, e.value);
        else
            import_bad(p->job, "no_number", e.time_ns);
        return;
    }
    if (e.type < BEGIN || e.type > INSTANT) {
        const char *const what =
            e.type ? "states (type 5)" : "track events of the old kind";
        import_unowned(p->job, what, strlen(what));
        return;
    }
    const size_t at = perfetto_track_of(p, e.track);
    if (at == SIZE_MAX) return;
    const uint32_t track = perfetto_place(p, at);
    if (e.type == BEGIN) begin(p, &p->tracks[at], &e, track);
    if (e.type == FINISH) finish(p, &p->tracks[at], &e, track);
    if (e.type == INSTANT) mark(p, &e, track);
    take_flows(p, &e, track);
    if (e.has_place) import_unowned(p->job, "places in the source", 20);
    if (e.has_stack) import_unowned(p->job, "call stacks", 11);
}

/* ---- Stages of GPUs ----------------------------------------------------- */

void perfetto_take_gpu(perfetto *p, const perfetto_packet *packet)
{
    import_wire w = packet->gpu;
    import_field f;
    ts_text name = { "", 0 };
    int64_t device = 0, context = IMPORT_NONE, queue = 0;
    uint64_t duration = 0;
    while (import_wire_field(&w, &f)) {
        switch (f.number) {
        case 2: duration = f.value; break;
        case 3:
        case 13: queue = (int64_t)f.value; break;
        case 5: context = (int64_t)f.value; break;
        case 11: device = (int32_t)f.value; break;
        case 14:
        case 20:
            if (f.number == 20 || !name.size)
                name = perfetto_text_of(p, packet->sequence, PERFETTO_GPU_STAGE,
                                        f.value);
            break;
        case 17:
            if (f.type == IMPORT_BYTES) name = text_of(f.bytes);
            break;
        default: break;
        }
    }
    import_operation kernel = { .kind = TS_EVENT_KERNEL };
    kernel.start_ns = perfetto_time_of(p, packet);
    kernel.duration_ns = (int64_t)duration;
    if (kernel.duration_ns < 0) {
        import_bad(p->job, "reversed_time", kernel.start_ns);
        return;
    }
    const ts_launch_entry launch = { .name = import_name(p->job, name.text,
                                                         name.size) };
    kernel.launch = import_launch(p->job, &launch);
    kernel.track = import_stream(p->job, device, context, queue);
    import_kernel(p->job, &kernel, name.text, name.size);
}

/* ---- What never ended --------------------------------------------------- */

static void write_open(perfetto *p, size_t track, const perfetto_open *o)
{
    const ts_writer_value values[] = { { TS_COLUMN_SITE, o->site },
                                       { TS_COLUMN_DEPTH, o->depth } };
    import_event(p->job, TS_EVENT_ZONE_OPEN, perfetto_place(p, track),
                 o->start_ns, 0, values, 2);
}

void perfetto_events_end(perfetto *p)
{
    put_flows(p);
    for (size_t i = 0; i < p->track_count; i++)
        for (perfetto_open *o = p->tracks[i].open, *below; o; o = below) {
            below = o->below;
            write_open(p, i, o);
            free(o);
        }
}
