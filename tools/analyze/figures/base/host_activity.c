/*
    host_activity.c - the zone and call in which a thread spent most of a span
*/
#include "tools/analyze/figures/base/host_activity.h"

uint32_t hold_group(hold_tally *t, uint32_t file, const inside_frame *frame,
                    bool *failed)
{
    if (!frame) return TS_NODE_NONE;
    const uint32_t group =
        names_add(t->names, t->replay, file,
                  frame->call ? TS_EVENT_API_CALL : TS_EVENT_ZONE, frame->id);
    *failed |= group == TS_NODE_NONE;
    return group;
}

// All open frames count, each name once even if it is nested in itself.
bool hold_note(hold_tally *t, const inside_span *span, int64_t ns,
               const inside_frame *frames, uint32_t depth)
{
    bool failed = false;
    if (!depth)
        return sums_add(&t->open, (uint64_t)span->index << 32 | TS_NODE_NONE,
                        ns, 0);
    for (uint32_t i = 0; i < depth && !failed; i++) {
        bool again = false;
        for (uint32_t k = 0; k < i && !again; k++)
            again = frames[k].call == frames[i].call &&
                    frames[k].id == frames[i].id;
        const uint32_t group =
            again ? TS_NODE_NONE
                  : hold_group(t, span->file, &frames[i], &failed);
        if (group != TS_NODE_NONE &&
            !sums_add(&t->open, (uint64_t)span->index << 32 | group, ns, i))
            failed = true;
    }
    return !failed;
}

static void choose(const hold_tally *t, hold *h, uint64_t *depth,
                   const sums_row *row)
{
    const uint32_t group = (uint32_t)row->key;
    const bool half = row->ns >= (h->length_ns + 1) / 2;
    if (group == TS_NODE_NONE) {
        if (half && !depth[0]) { // no zone was open long enough
            depth[0] = 1;
            h->zone = TS_NODE_NONE;
            h->zone_ns = 0;
        }
        return;
    }
    const bool call = t->names->groups[group].kind == TS_EVENT_API_CALL;
    if (!half) { // it may still be the longest zone
        if (call || depth[0] || row->ns <= h->zone_ns) return;
    } else {
        if (row->most + 1 <= depth[call]) return;
        depth[call] = row->most + 1;
    }
    *(call ? &h->call : &h->zone) = group;
    *(call ? &h->call_ns : &h->zone_ns) = row->ns;
}

void hold_choose(const hold_tally *t, hold *holds, size_t count)
{
    uint64_t(*const depths)[2] = calloc(count + 1, sizeof *depths);
    for (size_t i = 0; i < count; i++) {
        holds[i].zone = holds[i].call = TS_NODE_NONE;
        holds[i].zone_ns = holds[i].call_ns = 0;
    }
    for (size_t i = 0; depths && i < t->open.count; i++) {
        const size_t at = (size_t)(t->open.rows[i].key >> 32);
        if (at < count) choose(t, &holds[at], depths[at], &t->open.rows[i]);
    }
    free(depths);
}

typedef struct finding {
    hold_tally *tally;
    bool failed;
} finding;

static void note_part(void *user, const inside_span *span, int64_t from,
                      int64_t to, const inside_frame *frames, uint32_t depth)
{
    finding *const f = user;
    f->failed =
        f->failed || !hold_note(f->tally, span, to - from, frames, depth);
}

bool hold_find(hold_tally *t, inside_span *spans, size_t count, hold *holds,
               size_t of)
{
    finding f = { t, false };
    for (size_t i = 0; i < count; i++)
        holds[spans[i].index].length_ns = spans[i].to_ns - spans[i].from_ns;
    const bool ok =
        inside_parts(t->replay, spans, count, note_part, &f) && !f.failed;
    hold_choose(t, holds, of);
    sums_close(&t->open);
    return ok;
}
