/*
    fields.c - the fields that the comparison of operations uses
*/
#include "tools/replay/verify/verify.h"

typedef struct list {
    verify_side *side;
    verify_field *fields;
    size_t count;
} list;

static verify_field *add(list *l, const char *key)
{
    verify_field *const field = &l->fields[l->count++];
    memset(field, 0, sizeof *field);
    field->key = key;
    return field;
}

static void add_number(list *l, const char *key, uint64_t value)
{
    verify_field *const field = add(l, key);
    field->made = cli_format("%" PRIu64, value);
    field->number = value;
    field->is_number = true;
}

static void add_triple(list *l, const char *key, const uint32_t v[3])
{
    add(l, key)->made =
        cli_format("%" PRIu32 ",%" PRIu32 ",%" PRIu32, v[0], v[1], v[2]);
}

static void add_launch(list *l, const ts_event *event, bool named)
{
    const ts_reader *const reader = l->side->trace.reader;
    const ts_launch_entry *const launch = ts_reader_launch(
        reader, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
    if (!launch) return;
    if (!named) add(l, "name")->text = ts_reader_name(reader, launch->name);
    add_triple(l, "grid", launch->grid);
    add_triple(l, "block", launch->block);
    add_triple(l, "cluster", launch->cluster);
    add_number(l, "registers", launch->registers);
    add_number(l, "static_shared", launch->static_shared);
    add_number(l, "dynamic_shared", launch->dynamic_shared);
    add_number(l, "local", launch->local);
}

static const char *copy_type(uint64_t type)
{
    static const char *const names[] = { "unknown",        "host_to_device",
                                         "device_to_host", "device_to_device",
                                         "host_to_host",   "peer_to_peer" };
    return type < 6 ? names[type] : "unknown";
}

static void add_peer(list *l, const ts_event *event)
{
    const uint64_t peer = ts_event_value(event, TS_COLUMN_PEER);
    ts_track track;
    if (peer && ts_reader_track(l->side->trace.reader, (uint32_t)peer, &track))
        add_number(l, "peer", track.number);
}

static void add_kind(list *l, const ts_event *event)
{
    const uint64_t size = ts_event_value(event, TS_COLUMN_SIZE);
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    switch (event->kind) {
    case TS_EVENT_KERNEL: add_launch(l, event, false); break;
    case TS_EVENT_MEMCPY:
        add(l, "type")->made = cli_format("%s", copy_type(type));
        add_number(l, "size", size);
        add_number(l, "memory", ts_event_value(event, TS_COLUMN_MEMORY));
        add_peer(l, event);
        break;
    case TS_EVENT_MEMSET:
        add_number(l, "size", size);
        add_number(l, "value", ts_event_value(event, TS_COLUMN_VALUE));
        break;
    case TS_EVENT_COLLECTIVE:
        add_number(l, "size", size);
        add_number(l, "type", type);
        add_number(l, "ranks", ts_event_value(event, TS_COLUMN_RANKS));
        add_number(l, "peer", ts_event_value(event, TS_COLUMN_PEER));
        add_launch(l, event, true);
        break;
    case TS_EVENT_GPU_ALLOC:
        add_number(l, "size", size);
        add_number(l, "memory", ts_event_value(event, TS_COLUMN_MEMORY));
        break;
    default: break;
    }
}

size_t verify_fields(verify_side *side, uint32_t op,
                     verify_field fields[VERIFY_FIELDS])
{
    list l = { side, fields, 0 };
    ts_event event;
    if (!verify_event(side, op, &event)) return 0;
    add(&l, "kind")->made = cli_format("%s", ts_event_name(event.kind));
    const uint64_t name = ts_event_value(&event, TS_COLUMN_NAME);
    if (name)
        add(&l, "name")->text =
            ts_reader_name(side->trace.reader, (uint32_t)name);
    add_kind(&l, &event);
    if (side->ops[op].communicator)
        add_number(&l, "communicator", side->ops[op].communicator);
    for (size_t i = 0; i < l.count; i++) {
        if (fields[i].text.text) continue;
        fields[i].text.text = fields[i].made.s;
        fields[i].text.size = strlen(fields[i].made.s);
    }
    return l.count;
}

const char *verify_name(verify_what what)
{
    static const char *const names[] = { "content", "order", "moved", "missing",
                                         "extra" };
    return what < VERIFY_KINDS ? names[what] : "same";
}

bool verify_is_same(const verify_report *report)
{
    return report->count == 0 &&
           report->side[0].op_count == report->side[1].op_count;
}
