/*
    perfetto_tracks.c - the tracks and the head of a Perfetto trace
*/
#include "tools/export/perfetto.h"
#include <stdio.h>

void perfetto_put_clock(export_buffer *b, uint32_t clock, uint64_t time)
{
    const size_t entry = proto_begin(b, 1);
    proto_uint(b, 1, clock);
    proto_uint(b, 2, time);
    if (clock == CLOCK_OURS) proto_uint(b, 3, 1); // differences
    proto_end(b, entry);
}

/* ---- Tracks ------------------------------------------------------------- */

enum { // TrackDescriptor
    TRACK_ID = 1,
    TRACK_NAME = 2,
    TRACK_PROCESS = 3,
    TRACK_THREAD = 4,
    TRACK_PARENT = 5,
    TRACK_COUNTER = 8,
    TRACK_ORDER = 11,
    TRACK_RANK = 12,
    TRACK_MERGE = 15,
    TRACK_MERGE_KEY = 17
};

enum { ORDER_EXPLICIT = 3, MERGE_BY_KEY = 3 };

static void put_labels(perfetto *p)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(p->reader, i, &m); i++)
        if (!m.track && m.type == TS_VALUE_TEXT && m.key.size == 4 &&
            !memcmp(m.key.text, "host", 4))
            proto_text(&p->block, 8, m.text.text, m.text.size);
    if (!ts_reader_metadata(p->reader, 0, "rank", &m)) return;
    char text[32];
    const int size =
        snprintf(text, sizeof text, "rank %lld", (long long)m.number);
    if (m.type == TS_VALUE_INT) proto_text(&p->block, 8, text, (size_t)size);
}

static void put_process(perfetto *p, const export_lane *lane)
{
    export_buffer *const b = &p->block;
    const size_t process = proto_begin(b, TRACK_PROCESS);
    proto_uint(b, 1, lane->process);
    proto_text(b, 6, lane->name.text, lane->name.size);
    put_labels(p);
    proto_end(b, process);
}

static void put_thread(perfetto *p, const export_lane *lane)
{
    export_buffer *const b = &p->block;
    const size_t thread = proto_begin(b, TRACK_THREAD);
    proto_uint(b, 1, lane->process);
    proto_uint(b, 2, lane->number);
    proto_text(b, 5, lane->name.text, lane->name.size);
    proto_end(b, thread);
}

static void put_counter(perfetto *p, const export_lane *lane)
{
    enum { UNIT = 3, UNIT_NAME = 6, UNIT_NS = 1, UNIT_BYTES = 3 };
    export_buffer *const b = &p->block;
    const size_t counter = proto_begin(b, TRACK_COUNTER);
    if (cli_is_text(lane->unit, "bytes") && !lane->rate) {
        proto_uint(b, UNIT, UNIT_BYTES);
    } else if (cli_is_text(lane->unit, "ns") && !lane->rate) {
        proto_uint(b, UNIT, UNIT_NS);
    } else if (lane->unit.size || lane->rate) {
        const size_t unit = proto_begin(b, UNIT_NAME);
        export_put_utf8(b, lane->unit.text, lane->unit.size);
        if (lane->rate) export_put(b, "/s", 2);
        proto_end(b, unit);
    }
    proto_end(b, counter);
}

// Further lanes of a thread are its children. Further lanes of any other row
// are siblings, which viewers merge because of the `merge` setting.
void perfetto_lane(void *self, export_lane *lane)
{
    perfetto *const p = self;
    sequence *const s = export_zeroed(1, sizeof *s);
    s->id = lane->id;
    uint8_t *head = s->head;
    *head++ = PACKET_SEQUENCE << 3;
    head = proto_put(head, s->id);
    *head++ = PACKET_EVENT << 3 | PROTO_BYTES;
    s->head_size = (uint8_t)(head - s->head);
    p->lane_count++;
    p->pending = PENDING_ALL / p->lane_count;
    if (p->pending > PENDING_LANE) p->pending = PENDING_LANE;
    lane->state = s;
    export_buffer *const b = &p->block;
    const bool is_spill = lane->first && lane->kind == EXPORT_THREAD;
    const export_lane *const parent = is_spill ? lane->first : lane->parent;

    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, s->id);
    const size_t track = proto_begin(b, PACKET_TRACK);
    proto_uint(b, TRACK_ID, lane->id);
    if (parent) proto_uint(b, TRACK_PARENT, parent->id);
    if (lane->kind == EXPORT_PROCESS)
        put_process(p, lane);
    else if (lane->kind == EXPORT_THREAD && !is_spill)
        put_thread(p, lane);
    else
        proto_text(b, TRACK_NAME, lane->name.text, lane->name.size);
    if (lane->kind == EXPORT_COUNTER) put_counter(p, lane);
    if (lane->kind == EXPORT_DEVICE) proto_uint(b, TRACK_ORDER, ORDER_EXPLICIT);
    if (lane->kind == EXPORT_ROW || lane->kind == EXPORT_ASYNC || is_spill) {
        proto_uint(b, TRACK_RANK, lane->id);
        proto_uint(b, TRACK_MERGE, MERGE_BY_KEY);
        proto_uint(b, TRACK_MERGE_KEY,
                   lane->first ? lane->first->id : lane->id);
    }
    proto_end(b, track);
    perfetto_packet_end(p, packet);
}

/* ---- Head --------------------------------------------------------------- */

enum { HEAD_SEQUENCE = 0xFFFFFF }; // used by no lane

// Trace time is shown as BOOTTIME; REALTIME at both ends gives it a date.
static void put_clocks(perfetto *p, int64_t time_ns)
{
    export_buffer *const b = &p->block;
    const size_t packet = proto_begin(b, PACKET);
    proto_uint(b, PACKET_SEQUENCE, HEAD_SEQUENCE);
    const size_t clocks = proto_begin(b, PACKET_CLOCKS);
    perfetto_put_clock(b, CLOCK_BOOT, perfetto_time(p, time_ns));
    perfetto_put_clock(b, CLOCK_REAL,
                       ts_reader_realtime_ns(p->reader, time_ns));
    proto_uint(b, 2, CLOCK_BOOT); // the trace's clock
    proto_end(b, clocks);
    perfetto_packet_end(p, packet);
}

static void put_attribute(perfetto *p, const ts_metadata *m)
{
    export_buffer *const b = &p->block;
    const size_t attribute = proto_begin(b, 1);
    const size_t key = proto_begin(b, 1);
    ts_track track;
    if (m->track && ts_reader_track(p->reader, m->track, &track)) {
        export_buffer name = { 0 };
        export_put_track_name(&name, &track);
        export_put_utf8(b, (char *)name.data, name.size);
        export_put(b, ".", 1);
        export_resize(name.data, 0);
    }
    export_put_utf8(b, m->key.text, m->key.size);
    proto_end(b, key);
    char text[40];
    switch (m->type) {
    case TS_VALUE_INT: proto_uint(b, 2, (uint64_t)m->number); break;
    case TS_VALUE_DOUBLE:
        snprintf(text, sizeof text, "%.17g", m->real);
        proto_string(b, 3, text);
        break;
    default: proto_text(b, 3, m->text.text, m->text.size); break;
    }
    proto_end(b, attribute);
}

static void put_attributes(perfetto *p)
{
    const size_t packet = proto_begin(&p->block, PACKET);
    proto_uint(&p->block, PACKET_SEQUENCE, HEAD_SEQUENCE);
    const size_t attributes = proto_begin(&p->block, PACKET_ATTRIBUTES);
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(p->reader, i, &m); i++)
        put_attribute(p, &m);
    const ts_metadata own[] = {
        { .key = { "trace.lost", 10 },
          .type = TS_VALUE_INT,
          .number = (int64_t)ts_reader_info(p->reader)->lost },
        { .key = { "trace.time_shift_ns", 19 },
          .type = TS_VALUE_INT,
          .number = p->target->shift_ns },
    };
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        put_attribute(p, &own[i]);
    proto_end(&p->block, attributes);
    perfetto_packet_end(p, packet);
}

void perfetto_head(perfetto *p)
{
    put_clocks(p, p->target->first_ns);
    if (p->target->last_ns > p->target->first_ns)
        put_clocks(p, p->target->last_ns);
    put_attributes(p);
}
