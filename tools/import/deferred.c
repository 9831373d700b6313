/*
    deferred.c - compact storage of operations, calls and zones held back

    A gigabyte of JSON has half a million operations, a million calls and a
    million zones: as structs they would take more memory than the trace itself.
    Even packed they can be larger than the trace, so operations and calls are
    kept in temporary files beside it.
*/
#include "tools/import/tables.h"

/* ---- Operations --------------------------------------------------------- */

enum { FIELDS = 20 };

static void split(const import_operation *o, int64_t base_ns, uint64_t *f)
{
    f[0] =
        (uint64_t)o->kind | (uint64_t)o->type << 8 | (uint64_t)o->memory << 16;
    f[1] = o->track;
    f[2] = import_fold(o->start_ns - base_ns);
    f[3] = (uint64_t)o->duration_ns;
    f[4] = o->correlation;
    f[5] = o->launch;
    f[6] = o->size;
    f[7] = o->id;
    f[8] = o->queued_ns ? import_fold(o->start_ns - o->queued_ns) + 1 : 0;
    f[9] = o->submitted_ns ? import_fold(o->start_ns - o->submitted_ns) + 1 : 0;
    f[10] = o->name;
    f[11] = o->graph;
    f[12] = o->address;
    f[13] = o->source;
    f[14] = o->record;
    f[15] = o->peer;
    f[16] = o->pool;
    f[17] = o->thread;
    f[18] = o->site;
    f[19] = o->stack;
}

static void join(const uint64_t *f, int64_t base_ns, import_operation *o)
{
    memset(o, 0, sizeof *o);
    o->kind = (uint8_t)f[0];
    o->type = (uint8_t)(f[0] >> 8);
    o->memory = (uint8_t)(f[0] >> 16);
    o->track = (uint32_t)f[1];
    o->start_ns = base_ns + import_unfold(f[2]);
    o->duration_ns = (int64_t)f[3];
    o->correlation = f[4];
    o->launch = (uint32_t)f[5];
    o->size = f[6];
    o->id = f[7];
    if (f[8]) o->queued_ns = o->start_ns - import_unfold(f[8] - 1);
    if (f[9]) o->submitted_ns = o->start_ns - import_unfold(f[9] - 1);
    o->name = (uint32_t)f[10];
    o->graph = (uint32_t)f[11];
    o->address = f[12];
    o->source = f[13];
    o->record = f[14];
    o->peer = (uint32_t)f[15];
    o->pool = (uint32_t)f[16];
    o->thread = (uint32_t)f[17];
    o->site = (uint32_t)f[18];
    o->stack = (uint32_t)f[19];
}

static bool pack(import_tables *t, const import_operation *o)
{
    uint64_t fields[FIELDS], mask = 0;
    split(o, t->base_ns, fields);
    for (size_t i = 0; i < FIELDS; i++)
        mask |= (uint64_t)(fields[i] != 0) << i;
    bool ok = import_pack_put(&t->packed, mask);
    for (size_t i = 0; ok && i < FIELDS; i++)
        if (fields[i]) ok = import_pack_put(&t->packed, fields[i]);
    return ok;
}

// Ignores queue times of a vendor that are absurdly far from the start.
static int64_t near_or_none(int64_t time_ns, int64_t start_ns)
{
    int64_t away;
    return __builtin_sub_overflow(start_ns, time_ns, &away) || away < 0 ||
                   away > INT64_C(1) << 59
               ? 0
               : time_ns;
}

void import_gpu(import_job *job, const import_operation *operation)
{
    import_tables *const t = job->tables;
    import_operation o = *operation;
    if (!import_is_near(job, o.start_ns, o.duration_ns)) return;
    o.queued_ns = near_or_none(o.queued_ns, o.start_ns);
    o.submitted_ns = near_or_none(o.submitted_ns, o.start_ns);
    if (o.kind == TS_EVENT_EVENT_RECORD) {
        uint64_t *const own = import_list_add(job, &t->own_records);
        if (own) *own = o.correlation;
    }
    if (o.is_call_time) {
        import_operation *const loose = import_list_add(job, &t->loose);
        if (loose) *loose = o;
        return;
    }
    if (!t->has_base) t->base_ns = o.start_ns;
    t->has_base = true;
    if (t->packed_count % IMPORT_STRIDE == 0) {
        uint64_t *const at = import_list_add(job, &t->packed_at);
        if (at) *at = t->packed.end;
    }
    if (o.kind == TS_EVENT_COLLECTIVE && o.id) {
        import_known *const known = import_list_add(job, &t->known);
        if (known) known->index = (uint32_t)t->packed_count;
        if (known) known->facts = (uint32_t)o.id;
    }
    if (t->no_memory || t->packed_count == UINT32_MAX || !pack(t, &o))
        t->no_memory = true;
    t->packed_count += !t->no_memory;
}

// Reads the fields of the operation at *at and moves *at to the next one.
static void unpack(import_tables *t, uint64_t *at, uint64_t *fields)
{
    const uint64_t mask = import_pack_get(&t->packed, at);
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = mask >> i & 1 ? import_pack_get(&t->packed, at) : 0;
}

// Moves to the position of an operation; fast if they are read in order.
static void seek(import_tables *t, size_t index)
{
    uint64_t fields[FIELDS];
    if (t->next == index && index) return;
    if (index < t->next || index - t->next >= IMPORT_STRIDE || !t->next) {
        const size_t mark = index / IMPORT_STRIDE;
        t->next_at = *(uint64_t *)import_list_at(&t->packed_at, mark);
        t->next = mark * IMPORT_STRIDE;
    }
    for (; t->next < index; t->next++)
        unpack(t, &t->next_at, fields);
}

size_t import_operation_count(const import_job *job)
{
    return job->tables->packed_count + job->tables->loose.count;
}

void import_operation_get_own(import_job *job, size_t index,
                              import_operation *operation)
{
    import_tables *const t = job->tables;
    if (index >= t->packed_count) {
        *operation = *(import_operation *)import_list_at(
            &t->loose, index - t->packed_count);
    } else {
        uint64_t fields[FIELDS];
        seek(t, index);
        unpack(t, &t->next_at, fields);
        t->next = index + 1;
        join(fields, t->base_ns, operation);
    }
}

void import_operation_get(import_job *job, size_t index,
                          import_operation *operation)
{
    const import_held *const held = job->tables->held;
    import_operation_get_own(job, index, operation);
    if (!held) return;
    operation->thread = held[index].thread;
    operation->site = held[index].site;
}

/* ---- Calls -------------------------------------------------------------- */

void import_call_keep(import_job *job, const import_call *call)
{
    import_tables *const t = job->tables;
    const import_call *const last = &t->last_call;
    const bool ok =
        import_pack_put(&t->calls, import_fold((int64_t)(call->correlation -
                                                         last->correlation))) &&
        import_pack_put(&t->calls,
                        import_fold(call->start_ns - last->start_ns)) &&
        import_pack_put(&t->calls, call->thread);
    if (!ok) t->no_memory = true;
    t->call_count += ok;
    t->last_call = *call;
}

void import_call_next(import_job *job, uint64_t *at, import_call *call)
{
    import_pack *const calls = &job->tables->calls;
    call->correlation += (uint64_t)import_unfold(import_pack_get(calls, at));
    call->start_ns += import_unfold(import_pack_get(calls, at));
    call->thread = (uint32_t)import_pack_get(calls, at);
}

/* ---- Zones -------------------------------------------------------------- */

void import_zone_keep(import_job *job, import_track *track,
                      const import_known_zone *zone)
{
    import_pack *const zones = &track->zones;
    const bool ok =
        import_pack_put(zones,
                        import_fold(zone->start_ns - track->zone_last_ns)) &&
        import_pack_put(zones, (uint64_t)(zone->end_ns - zone->start_ns)) &&
        import_pack_put(zones, zone->site) &&
        import_pack_put(zones, zone->facts);
    if (!ok) job->tables->no_memory = true;
    track->zone_count += ok;
    track->zone_last_ns = zone->start_ns;
}

import_known_zone *import_zones_get(import_job *job, import_track *track)
{
    import_known_zone *const zones =
        import_array(job, track->zone_count, sizeof *zones);
    uint64_t at = 0;
    int64_t now_ns = 0;
    for (size_t i = 0; zones && i < track->zone_count; i++) {
        now_ns += import_unfold(import_pack_get(&track->zones, &at));
        zones[i].start_ns = now_ns;
        zones[i].end_ns = now_ns + (int64_t)import_pack_get(&track->zones, &at);
        zones[i].site = (uint32_t)import_pack_get(&track->zones, &at);
        zones[i].facts = (uint32_t)import_pack_get(&track->zones, &at);
    }
    return zones;
}

void import_hold_free(import_job *job)
{
    import_tables *const t = job->tables;
    t->no_file |= t->packed.broken || t->calls.broken;
    for (uint32_t i = 1; i <= t->tracks.count; i++)
        import_pack_free(&import_track_of(job, i)->zones);
    import_pack_free(&t->packed);
    import_pack_free(&t->calls);
    import_list_free(&t->packed_at);
    import_list_free(&t->known);
    import_list_free(&t->loose);
    import_list_free(&t->own_records);
    free(t->held);
    t->held = NULL;
}
