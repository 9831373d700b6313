/*
    state.c - what a packet sequence has defined: texts, defaults, clocks
*/
#include "tools/import/perfetto/perfetto.h"

/* ---- Sequences ---------------------------------------------------------- */

size_t perfetto_sequence_of(perfetto *p, uint32_t id)
{
    bool fresh;
    int64_t *const at = import_map_put(&p->sequence_of, id, &fresh);
    if (!at ||
        (fresh && !cli_grow(&p->sequences, &p->sequence_room,
                            p->sequence_count + 1, sizeof *p->sequences))) {
        p->out_of_memory = true;
        return 0;
    }
    if (fresh) {
        *at = (int64_t)p->sequence_count;
        p->sequences[p->sequence_count++] = (perfetto_sequence){ .id = id };
    }
    return (size_t)*at;
}

void perfetto_clear(perfetto *p, size_t sequence)
{
    perfetto_sequence *const s = &p->sequences[sequence];
    cli_map_close(&s->texts);
    *s = (perfetto_sequence){ .id = s->id, .has_state = true };
}

void perfetto_take_defaults(perfetto *p, size_t sequence, import_wire w)
{
    perfetto_sequence *const s = &p->sequences[sequence];
    import_field f, event;
    s->clock = s->track = s->extra_count = 0;
    while (import_wire_field(&w, &f)) {
        if (f.number == 58) s->clock = f.value;
        if (f.number != 11) continue;
        while (import_wire_field(&f.bytes, &event)) {
            if (event.number == 11) s->track = event.value;
            if (event.number == 31 && event.type == IMPORT_VARINT &&
                s->extra_count < PERFETTO_EXTRA)
                s->extra[s->extra_count++] = event.value;
        }
    }
}

/* ---- Texts -------------------------------------------------------------- */

static int64_t text_key(perfetto_kind kind, uint64_t number)
{
    return (int64_t)(number << 3 | kind);
}

static void keep_text(perfetto *p, size_t sequence, perfetto_kind kind,
                      uint64_t number, import_wire w)
{
    const size_t size = (size_t)(w.end - w.at);
    char *const text = malloc(size + 1);
    int64_t *const at = import_map_put(&p->sequences[sequence].texts,
                                       text_key(kind, number), NULL);
    if (!text || !at ||
        !cli_grow(&p->texts, &p->text_room, p->text_count + 1,
                  sizeof *p->texts)) {
        p->out_of_memory = true;
        free(text);
        return;
    }
    if (size) memcpy(text, w.at, size);
    p->texts[p->text_count++] = (perfetto_text){ text, size };
    *at = (int64_t)p->text_count;
}

// Reads an entry with a number (field 1) and a text (`field`).
static void take_text(perfetto *p, size_t sequence, perfetto_kind kind,
                      import_wire w, uint64_t field)
{
    import_field f;
    import_wire text = { NULL, NULL };
    uint64_t number = 0;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) number = f.value;
        if (f.number == field && f.type == IMPORT_BYTES) text = f.bytes;
    }
    if (text.at) keep_text(p, sequence, kind, number, text);
}

void perfetto_take_texts(perfetto *p, size_t sequence, import_wire w)
{
    static const struct {
        uint64_t field;
        perfetto_kind kind;
    } kinds[] = {
        { 1, PERFETTO_CATEGORY },   { 2, PERFETTO_NAME },
        { 3, PERFETTO_ARG_NAME },   { 29, PERFETTO_ARG_TEXT },
        { 24, PERFETTO_GPU_STAGE },
    };
    import_field f;
    while (import_wire_field(&w, &f))
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
            if (f.number == kinds[i].field && f.type == IMPORT_BYTES)
                take_text(p, sequence, kinds[i].kind, f.bytes, 2);
}

ts_text perfetto_text_of(perfetto *p, size_t sequence, perfetto_kind kind,
                         uint64_t number)
{
    const ts_text none = { "", 0 };
    const int64_t *const at =
        import_map_get(&p->sequences[sequence].texts, text_key(kind, number));
    if (!at || !*at) {
        import_flaw(p->job, "undefined_text");
        return none;
    }
    const perfetto_text *const text = &p->texts[*at - 1];
    return (ts_text){ text->text, text->size };
}

/* ---- Clocks ------------------------------------------------------------- */

enum { REALTIME = 1, BOOTTIME = 6, OF_SEQUENCE = 64, CLOCKS = 128, TOLD = 64 };

// Sums that wrap: times of hostile files may be anything.
static int64_t add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a - (uint64_t)b);
}

// Clocks 64 to 127 belong to a sequence, the others to the trace.
static int64_t clock_key(const perfetto *p, size_t sequence, uint64_t id)
{
    const uint64_t owner = id >= OF_SEQUENCE && id < CLOCKS
                               ? (uint64_t)p->sequences[sequence].id + 1
                               : 0;
    return (int64_t)(owner << 32 | (uint32_t)id);
}

static perfetto_clock *clock_of(const perfetto *p, size_t sequence, uint64_t id)
{
    const int64_t *const at =
        import_map_get(&p->clock_of, clock_key(p, sequence, id));
    return at ? &p->clocks[*at] : NULL;
}

static void set_clock(perfetto *p, size_t sequence, uint64_t id,
                      const perfetto_clock *clock)
{
    bool fresh;
    int64_t *const at =
        import_map_put(&p->clock_of, clock_key(p, sequence, id), &fresh);
    if (!at || (fresh && !cli_grow(&p->clocks, &p->clock_room,
                                   p->clock_count + 1, sizeof *p->clocks))) {
        p->out_of_memory = true;
        return;
    }
    if (fresh) *at = (int64_t)p->clock_count++;
    p->clocks[*at] = *clock;
}

typedef struct told_clock {
    uint64_t id;
    perfetto_clock clock;
} told_clock;

static size_t read_clocks(perfetto *p, import_wire w, told_clock *told)
{
    size_t count = 0;
    import_field f, g;
    while (import_wire_field(&w, &f)) {
        if (f.number == 2 && f.value && !p->clock_count)
            p->trace_clock = f.value;
        if (f.number != 1 || f.type != IMPORT_BYTES || count == TOLD) continue;
        told_clock *const t = &told[count++];
        uint64_t unit = 1;
        *t = (told_clock){ 0 };
        while (import_wire_field(&f.bytes, &g)) {
            if (g.number == 1) t->id = g.value;
            if (g.number == 2) t->clock.own_ns = (int64_t)g.value;
            if (g.number == 3) t->clock.is_incremental = g.value != 0;
            if (g.number == 4 && g.value) unit = g.value;
        }
        t->clock.unit_ns = (int64_t)unit;
        t->clock.own_ns = (int64_t)((uint64_t)t->clock.own_ns * unit);
    }
    return count;
}

// Returns the moment of a snapshot on the trace's clock, by the first clock
// that is known; the first snapshot of a trace defines it.
static int64_t moment_of(const perfetto *p, size_t sequence,
                         const told_clock *told, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (told[i].id == p->trace_clock) return told[i].clock.own_ns;
    for (size_t i = 0; i < count; i++) {
        const perfetto_clock *const c = clock_of(p, sequence, told[i].id);
        if (c && !c->is_incremental && !told[i].clock.is_incremental)
            return add(c->trace_ns, subtract(told[i].clock.own_ns, c->own_ns));
    }
    return count ? told[0].clock.own_ns : 0;
}

void perfetto_take_clocks(perfetto *p, size_t sequence, import_wire w)
{
    told_clock told[TOLD];
    const size_t count = read_clocks(p, w, told);
    const int64_t now = moment_of(p, sequence, told, count);
    for (size_t i = 0; i < count; i++) {
        told[i].clock.trace_ns = now;
        if (told[i].id != p->trace_clock)
            set_clock(p, sequence, told[i].id, &told[i].clock);
        if (told[i].id != REALTIME || p->job->has_unix_offset) continue;
        p->job->has_unix_offset = true;
        p->job->unix_offset_ns = subtract(told[i].clock.own_ns, now);
    }
}

int64_t perfetto_time_of(perfetto *p, const perfetto_packet *packet)
{
    const perfetto_sequence *const s = &p->sequences[packet->sequence];
    const uint64_t told = packet->has_clock ? packet->clock : s->clock;
    const uint64_t id = told ? told : BOOTTIME;
    if (id == p->trace_clock) return (int64_t)packet->time;
    perfetto_clock *const c = clock_of(p, packet->sequence, id);
    if (!c) {
        if (told) import_flaw(p->job, "unknown_clock");
        return (int64_t)packet->time;
    }
    const int64_t time = (int64_t)(packet->time * (uint64_t)c->unit_ns);
    if (!c->is_incremental) return add(c->trace_ns, subtract(time, c->own_ns));
    c->own_ns = add(c->own_ns, time);
    return c->trace_ns = add(c->trace_ns, time);
}
