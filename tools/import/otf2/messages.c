/*
    messages.c - sends and receives of MPI as flows

    Messages of a communicator, a sender, a receiver and a tag do not overtake
    each other: the first receive that was posted gets the first one sent.
    Source: MPI 4.0, 3.5. So the two are matched by their order, unless their
    numbers or sizes differ, or several threads of a process sent or received.
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2

// When a receive was posted: by its request, else when its function began.
static uint64_t posted_at(otf2 *o, const otf2_record *r)
{
    const uint64_t *const order =
        r->v[4] ? cli_map_find(&o->posted, r->v[5]) : &o->entered;
    if (order && *order) return *order;
    import_flaw(o->job, "receive_not_posted");
    return o->order;
}

static void keep(otf2 *o, const otf2_record *r, int64_t time_ns, uint64_t other)
{
    const bool is_receive = r->kind == OTF2_RECEIVE;
    const uint32_t own = otf2_group_of(o, o->location);
    const uint32_t peer = otf2_group_of(o, other);
    if (!cli_grow(&o->messages, &o->message_room, o->message_count + 1,
                  sizeof *o->messages)) {
        o->no_memory = true;
        return;
    }
    o->messages[o->message_count++] =
        (otf2_message){ .comm = (uint32_t)r->v[1],
                        .from = is_receive ? peer : own,
                        .to = is_receive ? own : peer,
                        .tag = (uint32_t)r->v[2],
                        .is_receive = is_receive,
                        .order = is_receive ? posted_at(o, r) : o->order,
                        .location = o->location,
                        .size = r->v[3],
                        .time_ns = time_ns,
                        .track = o->track };
}

void otf2_take_message(otf2 *o, const otf2_record *r, int64_t time_ns)
{
    uint64_t other;
    if (r->kind == OTF2_POSTED || r->kind == OTF2_CANCELLED) {
        o->no_memory |= !cli_map_set(&o->posted, r->v[0],
                                     r->kind == OTF2_POSTED ? o->order : 0);
        return;
    }
    otf2_say(o, r->kind == OTF2_SEND ? "receiver" : "sender", r->v[0]);
    otf2_say(o, "tag", r->v[2]);
    otf2_say(o, "bytes", r->v[3]);
    if (!o->is_stream) otf2_add_attributes(o);
    if (!o->is_stream && otf2_rank(o, r->v[1], r->v[0], &other) &&
        otf2_find(o, OTF2_PLACE, other))
        keep(o, r, time_ns, other);
    else
        import_unowned(o->job, "message of an unknown rank", 26);
}

/* ---- Matching ------------------------------------------------------------ */

static int compare_channels(const otf2_message *x, const otf2_message *y)
{
    if (x->comm != y->comm) return x->comm < y->comm ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    return x->tag != y->tag ? (x->tag < y->tag ? -1 : 1) : 0;
}

static int by_channel(const void *a, const void *b)
{
    const otf2_message *const x = a, *const y = b;
    const int order = compare_channels(x, y);
    if (order) return order;
    if (x->is_receive != y->is_receive) return x->is_receive ? 1 : -1;
    if (x->order != y->order) return x->order < y->order ? -1 : 1;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int by_time(const void *a, const void *b)
{
    const otf2_message *const x = a, *const y = b;
    if (x->time_ns != y->time_ns) return x->time_ns < y->time_ns ? -1 : 1;
    if (x->flow != y->flow) return x->flow < y->flow ? -1 : 1;
    return (int)x->is_receive - (int)y->is_receive;
}

// Whether the first half of a channel's messages, the sends, are those that the
// second half receives.
static bool is_matched(const otf2_message *m, size_t count)
{
    const size_t half = count / 2;
    if (count % 2) return false;
    for (size_t i = 0; i < half; i++)
        if (m[i].is_receive || !m[half + i].is_receive ||
            m[i].size != m[half + i].size || m[i].location != m[0].location ||
            m[half + i].location != m[half].location)
            return false;
    return true;
}

static void put_flow(otf2 *o, const otf2_message *m)
{
    const ts_writer_value values[] = {
        { TS_COLUMN_ID, m->flow },
        { TS_COLUMN_PHASE, m->is_receive ? TS_PHASE_END : TS_PHASE_START }
    };
    if (m->flow)
        import_event(o->job, TS_EVENT_FLOW, m->track, m->time_ns, 0, values, 2);
}

void otf2_match(otf2 *o)
{
    otf2_message *const m = o->messages;
    uint32_t flows = 0;
    uint64_t unmatched = 0;
    size_t end;
    if (!o->message_count) return;
    qsort(m, o->message_count, sizeof *m, by_channel);
    for (size_t at = 0; at < o->message_count; at = end) {
        for (end = at; end < o->message_count; end++)
            if (compare_channels(&m[at], &m[end])) break;
        const size_t half = (end - at) / 2;
        const bool is_good = is_matched(&m[at], end - at);
        for (size_t i = 0; is_good && i < half; i++)
            m[at + i].flow = m[at + half + i].flow = ++flows;
        if (!is_good) unmatched += end - at;
    }
    qsort(m, o->message_count, sizeof *m, by_time);
    for (size_t i = 0; i < o->message_count; i++)
        put_flow(o, &m[i]);
    if (unmatched)
        import_unowned_many(o->job, "message that matches no other", 29,
                            unmatched);
}

#else
typedef int otf2_messages_need_otf2; // a file of C has a declaration
#endif
