/*
    import_zones.c - which zones held the call of an operation
*/
#include "tools/import/import_tables.h"

import_operation *import_operation_at(const import_job *job, size_t index)
{
    return import_list_at(&job->tables->operations, index);
}

/* ---- Order -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const import_moment *const x = a, *const y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

void import_moments_sort(import_moment *moments, size_t count)
{
    size_t i = 1;
    while (i < count && compare(&moments[i - 1], &moments[i]) < 0)
        i++;
    if (i < count) qsort(moments, count, sizeof *moments, compare);
}

/* ---- Zones -------------------------------------------------------------- */

typedef struct stacked {
    const import_known_zone **zones;
    size_t count;
} stacked;

static int compare_zones(const void *a, const void *b)
{
    const import_known_zone *const x = *(import_known_zone *const *)a;
    const import_known_zone *const y = *(import_known_zone *const *)b;
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns != y->end_ns ? (x->end_ns > y->end_ns ? -1 : 1) : 0;
}

// A stable merge of sorted runs: zones come nearly in order.
static bool sort_zones(import_job *job, const import_known_zone **zones,
                       size_t count)
{
    size_t i = 1;
    while (i < count && compare_zones(&zones[i - 1], &zones[i]) <= 0)
        i++;
    if (i >= count) return true;
    const import_known_zone **from = zones;
    const import_known_zone **to = import_array(job, count, sizeof *to);
    const import_known_zone **const spare = to;
    if (!to) return false;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            const size_t half = at + width < count ? at + width : count;
            const size_t end = at + 2 * width < count ? at + 2 * width : count;
            size_t a = at, b = half;
            for (size_t k = at; k < end; k++)
                to[k] = b == end || (a < half &&
                                     compare_zones(&from[a], &from[b]) <= 0)
                            ? from[a++]
                            : from[b++];
        }
        const import_known_zone **const swap = from;
        from = to;
        to = swap;
    }
    if (from != zones) memcpy(zones, from, count * sizeof *zones);
    free(spare);
    return true;
}

// Gives the operation what the zones around its call say.
static void take_zones(const import_job *job, import_operation *o,
                       const stacked *s)
{
    if (!o->site && s->count) o->site = s->zones[s->count - 1]->site;
    if (o->kind != TS_EVENT_COLLECTIVE) return;
    import_facts *const to =
        import_list_at(&job->tables->facts, (size_t)o->id - 1);
    for (size_t i = s->count; i-- > 0;) {
        if (!s->zones[i]->facts) continue;
        const import_facts *const from =
            import_list_at(&job->tables->facts, s->zones[i]->facts - 1);
        if (!to->name) to->name = from->name;
        if (to->name != from->name) continue;
        if (!to->communicator) to->communicator = from->communicator;
        if (!to->sequence) to->sequence = from->sequence;
        if (!to->size) to->size = from->size;
        if (!to->type) to->type = from->type;
        if (!to->ranks) to->ranks = from->ranks;
        if (!to->peer) to->peer = from->peer;
    }
}

// The zones that hold the moment are left on the stack.
static void move_to(stacked *s, const import_known_zone **zones, size_t count,
                    size_t *next, int64_t now_ns)
{
    for (; *next < count && zones[*next]->start_ns <= now_ns; ++*next) {
        while (s->count &&
               s->zones[s->count - 1]->end_ns <= zones[*next]->start_ns)
            s->count--;
        s->zones[s->count++] = zones[*next];
    }
    while (s->count && s->zones[s->count - 1]->end_ns <= now_ns &&
           s->zones[s->count - 1]->start_ns < now_ns)
        s->count--;
}

// moments: of calls on this thread, with their operations, in order.
static void walk_zones(import_job *job, const import_list *list,
                       const import_moment *moments, size_t moment_count)
{
    const size_t count = list->count;
    const import_known_zone **const zones =
        import_array(job, count, sizeof *zones);
    stacked s = { import_array(job, count, sizeof *s.zones), 0 };
    for (size_t i = 0; zones && i < count; i++)
        zones[i] = import_list_at(list, i);
    if (zones && s.zones && sort_zones(job, zones, count)) {
        size_t next = 0;
        for (size_t i = 0; i < moment_count; i++) {
            move_to(&s, zones, count, &next, moments[i].key);
            take_zones(job, import_operation_at(job, moments[i].index), &s);
        }
    }
    free(zones);
    free(s.zones);
}

void import_zones_walk(import_job *job, const import_moment *issued,
                       size_t count)
{
    import_moment *const moments = import_array(job, count, sizeof *moments);
    for (uint32_t track = 1; moments && track <= job->tables->tracks.count;
         track++) {
        const import_track *const t = import_track_of(job, track);
        size_t used = 0;
        if (!t->zones.count) continue;
        for (size_t i = 0; i < count; i++)
            if (import_operation_at(job, issued[i].index)->thread == track)
                moments[used++] = issued[i];
        if (used) walk_zones(job, &t->zones, moments, used);
    }
    free(moments);
}
