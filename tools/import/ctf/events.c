/*
    events.c - events of CTF become records

    An event belongs to the thread of its contexts (vpid and vtid, or pid and
    tid), else to the processor of its packet. Entries and exits of functions
    and system calls on a thread begin and end zones, other events are messages
    with their fields as text.
*/
#include "tools/import/ctf/ctf.h"

#ifdef TRACESMITH_BABELTRACE

/* ---- Fields as text ------------------------------------------------------ */

__attribute__((format(printf, 2, 3))) static void put(ctf_child *c,
                                                      const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const size_t room = CTF_TEXT - c->size;
    const int size = vsnprintf(c->text + c->size, room, format, list);
    va_end(list);
    if (size > 0) c->size += (size_t)size < room ? (size_t)size : room - 1;
}

static bool is(const bt_field *field, bt_field_class_type type)
{
    return bt_field_class_type_is(bt_field_get_class_type(field), type);
}

static void put_field(ctf_child *c, const bt_field *field);

static void put_members(ctf_child *c, const bt_field *field)
{
    const bt_field_class *const class = bt_field_borrow_class_const(field);
    const uint64_t count = bt_field_class_structure_get_member_count(class);
    for (uint64_t i = 0; i < count; i++) {
        const bt_field_class_structure_member *const member =
            bt_field_class_structure_borrow_member_by_index_const(class, i);
        put(c, "%s%s=", i ? ", " : "",
            bt_field_class_structure_member_get_name(member));
        put_field(
            c, bt_field_structure_borrow_member_field_by_index_const(field, i));
    }
}

static void put_array(ctf_child *c, const bt_field *field)
{
    const uint64_t count = bt_field_array_get_length(field);
    put(c, "[");
    for (uint64_t i = 0; i < count && c->size < CTF_TEXT - 1; i++) {
        put(c, "%s", i ? ", " : "");
        put_field(c,
                  bt_field_array_borrow_element_field_by_index_const(field, i));
    }
    put(c, "]");
}

static void put_number(ctf_child *c, const bt_field *field)
{
    if (is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER))
        put(c, "%" PRIu64, bt_field_integer_unsigned_get_value(field));
    else if (is(field, BT_FIELD_CLASS_TYPE_SIGNED_INTEGER))
        put(c, "%" PRId64, bt_field_integer_signed_get_value(field));
    else if (is(field, BT_FIELD_CLASS_TYPE_SINGLE_PRECISION_REAL))
        put(c, "%.9g", (double)bt_field_real_single_precision_get_value(field));
    else if (is(field, BT_FIELD_CLASS_TYPE_DOUBLE_PRECISION_REAL))
        put(c, "%.17g", bt_field_real_double_precision_get_value(field));
    else if (is(field, BT_FIELD_CLASS_TYPE_BOOL))
        put(c, "%s", bt_field_bool_get_value(field) ? "true" : "false");
    else if (is(field, BT_FIELD_CLASS_TYPE_BIT_ARRAY))
        put(c, "%" PRIu64, bt_field_bit_array_get_value_as_integer(field));
}

static void put_field(ctf_child *c, const bt_field *field)
{
    if (!field || c->size >= CTF_TEXT - 1) return;
    if (is(field, BT_FIELD_CLASS_TYPE_STRING)) {
        put(c, "%s", bt_field_string_get_value(field));
    } else if (is(field, BT_FIELD_CLASS_TYPE_STRUCTURE)) {
        put(c, "{");
        put_members(c, field);
        put(c, "}");
    } else if (is(field, BT_FIELD_CLASS_TYPE_ARRAY)) {
        put_array(c, field);
    } else if (is(field, BT_FIELD_CLASS_TYPE_OPTION)) {
        put_field(c, bt_field_option_borrow_field_const(field));
    } else if (is(field, BT_FIELD_CLASS_TYPE_VARIANT)) {
        put_field(c,
                  bt_field_variant_borrow_selected_option_field_const(field));
    } else {
        put_number(c, field);
    }
}

/* ---- Where an event belongs ---------------------------------------------- */

static const bt_field *member(const bt_field *structure, const char *name)
{
    return structure ? bt_field_structure_borrow_member_field_by_name_const(
                           structure, name)
                     : NULL;
}

static bool integer(const bt_field *structure, const char *name, int64_t *value)
{
    const bt_field *const field = member(structure, name);
    if (!field || !is(field, BT_FIELD_CLASS_TYPE_INTEGER)) return false;
    *value = is(field, BT_FIELD_CLASS_TYPE_UNSIGNED_INTEGER)
                 ? (int64_t)bt_field_integer_unsigned_get_value(field)
                 : bt_field_integer_signed_get_value(field);
    return true;
}

// Finds the thread of an event, and its name; false: its contexts have none.
static bool find_thread(const bt_event *event, ctf_record *r, const char **name)
{
    const bt_field *const contexts[] = {
        bt_event_borrow_common_context_field_const(event),
        bt_event_borrow_specific_context_field_const(event),
    };
    for (size_t i = 0; i < 2; i++) {
        const bt_field *const context = contexts[i];
        if (!integer(context, "vtid", &r->thread) &&
            !integer(context, "tid", &r->thread))
            continue;
        if (!integer(context, "vpid", &r->process))
            integer(context, "pid", &r->process);
        const bt_field *const text = member(context, "procname");
        if (text && is(text, BT_FIELD_CLASS_TYPE_STRING))
            *name = bt_field_string_get_value(text);
        return true;
    }
    return false;
}

static void name_processor(const bt_event *event, char *name, size_t size)
{
    const bt_stream *const stream = bt_event_borrow_stream_const(event);
    const bt_packet *const packet =
        bt_stream_class_supports_packets(bt_stream_borrow_class_const(stream))
            ? bt_event_borrow_packet_const(event)
            : NULL;
    const bt_field *const context =
        packet ? bt_packet_borrow_context_field_const(packet) : NULL;
    int64_t number;
    if (integer(context, "cpu_id", &number))
        snprintf(name, size, "CPU %" PRId64, number);
    else
        snprintf(name, size, "stream %" PRIu64, bt_stream_get_id(stream));
}

/* ---- Events -------------------------------------------------------------- */

// Returns what follows a text at the begin of a name; NULL: it begins
// otherwise.
static const char *behind(const char *name, const char *text)
{
    const size_t size = strlen(text);
    return strncmp(name, text, size) ? NULL : name + size;
}

static bool is_function(const char *name, const char *end)
{
    const char *at = behind(name, "lttng_ust_cyg_profile");
    if (at && behind(at, "_fast")) at = behind(at, "_fast");
    return at && !strcmp(at, end);
}

// Finds out whether an event of a thread begins or ends a zone, and its name,
// for which `room` has 32 bytes. An end may have none.
static ctf_kind kind_of(const char **name, char *room, const bt_field *fields)
{
    const char *const entry = behind(*name, "syscall_entry_");
    const char *const exit = behind(*name, "syscall_exit_");
    if (entry || exit) {
        *name = entry ? entry : exit;
        return entry ? CTF_BEGIN : CTF_END;
    }
    const bool is_end = is_function(*name, ":func_exit");
    if (!is_end && !is_function(*name, ":func_entry")) return CTF_MESSAGE;
    int64_t address;
    const bool is_named = integer(fields, "addr", &address);
    if (!is_end && !is_named) return CTF_MESSAGE;
    if (is_named) snprintf(room, 32, "0x%" PRIx64, (uint64_t)address);
    *name = is_named ? room : NULL;
    return is_end ? CTF_END : CTF_BEGIN;
}

static void find_time(const bt_message *message, const bt_event *event,
                      ctf_record *r)
{
    const bt_clock_class *const clock =
        bt_stream_class_borrow_default_clock_class_const(
            bt_stream_borrow_class_const(bt_event_borrow_stream_const(event)));
    if (!clock) {
        r->flags |= CTF_NO_TIME;
        return;
    }
    if (bt_clock_class_origin_is_unix_epoch(clock)) r->flags |= CTF_UNIX;
    if (bt_clock_snapshot_get_ns_from_origin(
            bt_message_event_borrow_default_clock_snapshot_const(message),
            &r->time_ns) != BT_CLOCK_SNAPSHOT_GET_NS_FROM_ORIGIN_STATUS_OK)
        r->flags |= CTF_BAD_TIME;
}

static void take_event(ctf_child *c, const bt_message *message)
{
    const bt_event *const event = bt_message_event_borrow_event_const(message);
    const bt_field *const fields = bt_event_borrow_payload_field_const(event);
    const char *name =
        bt_event_class_get_name(bt_event_borrow_class_const(event));
    const char *place = NULL;
    char processor[64], function[32];
    ctf_record r = { .process = IMPORT_NONE, .thread = IMPORT_NONE };
    if (!name) name = "event";
    c->size = 0;
    if (fields) put_members(c, fields);
    if (c->size == CTF_TEXT - 1) r.flags |= CTF_LONG;
    if (find_thread(event, &r, &place)) {
        r.kind = kind_of(&name, function, fields);
    } else {
        name_processor(event, processor, sizeof processor);
        place = processor;
    }
    find_time(message, event, &r);
    ctf_send(c, &r, name, place);
}

void ctf_take(ctf_child *c, const bt_message *message)
{
    ctf_record lost = { .kind = CTF_LOST_PACKETS, .count = 1 };
    c->size = 0;
    switch ((int)bt_message_get_type(message)) {
    case BT_MESSAGE_TYPE_EVENT:
        c->events++;
        take_event(c, message);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_EVENTS:
        lost.kind = CTF_LOST_EVENTS;
        if (bt_message_discarded_events_get_count(message, &lost.count) !=
            BT_PROPERTY_AVAILABILITY_AVAILABLE)
            lost.count = 1;
        ctf_send(c, &lost, NULL, NULL);
        break;
    case BT_MESSAGE_TYPE_DISCARDED_PACKETS:
        ctf_send(c, &lost, NULL, NULL);
        break;
    default: break;
    }
}

#else
typedef int ctf_events_need_babeltrace; // a file of C has a declaration
#endif
