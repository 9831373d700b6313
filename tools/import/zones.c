/*
    zones.c - finds the zones that enclose the call of an operation
*/
#include "tools/cli/search.h"
#include "tools/import/tables.h"

/* ---- Order -------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const import_moment *const x = a, *const y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

// Heapsort, in place because there may be many elements. All pairs of key and
// index are distinct, so that the result does not depend on the algorithm.
static void sift(import_moment *moments, size_t root, size_t count)
{
    const import_moment moved = moments[root];
    for (size_t child; (child = 2 * root + 1) < count; root = child) {
        if (child + 1 < count &&
            compare(&moments[child], &moments[child + 1]) < 0)
            child++;
        if (compare(&moved, &moments[child]) >= 0) break;
        moments[root] = moments[child];
    }
    moments[root] = moved;
}

void import_moments_sort(import_moment *moments, size_t count)
{
    size_t i = 1;
    while (i < count && compare(&moments[i - 1], &moments[i]) < 0)
        i++;
    if (i >= count) return;
    for (size_t root = count / 2; root-- > 0;)
        sift(moments, root, count);
    for (size_t end = count; end-- > 1;) {
        const import_moment last = moments[end];
        moments[end] = moments[0];
        moments[0] = last;
        sift(moments, 0, end);
    }
}

/* ---- Zones -------------------------------------------------------------- */

typedef struct stacked {
    const import_known_zone **zones;
    size_t count, room;
} stacked;

static int compare_zones(const import_known_zone *x, const import_known_zone *y)
{
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
    return x->end_ns != y->end_ns ? (x->end_ns > y->end_ns ? -1 : 1) : 0;
}

static void merge(const import_known_zone *from, import_known_zone *to,
                  size_t a, size_t half, size_t end)
{
    size_t b = half;
    for (size_t k = a; k < end; k++)
        to[k] = b == end || (a < half && compare_zones(&from[a], &from[b]) <= 0)
                    ? from[a++]
                    : from[b++];
}

// A stable sort of zones that are mostly sorted. Returns the sorted array and
// frees the other one; NULL: no memory.
static import_known_zone *sort_zones(import_job *job, import_known_zone *zones,
                                     size_t count)
{
    size_t i = 1;
    while (i < count && compare_zones(&zones[i - 1], &zones[i]) <= 0)
        i++;
    if (i >= count) return zones;
    import_known_zone *from = zones;
    import_known_zone *to = import_array(job, count, sizeof *to);
    for (size_t width = 1; to && width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width)
            merge(from, to, at, at + width < count ? at + width : count,
                  at + 2 * width < count ? at + 2 * width : count);
        import_known_zone *const swap = from;
        from = to;
        to = swap;
    }
    free(to);
    return from;
}

// Fills in facts that a collective's own row lacks.
static void take_facts(import_facts *to, const import_facts *from)
{
    if (!to->name) to->name = from->name;
    if (to->name != from->name) return;
    if (!to->communicator) to->communicator = from->communicator;
    if (!to->sequence) to->sequence = from->sequence;
    if (!to->size) to->size = from->size;
    if (!to->type) to->type = from->type;
    if (!to->ranks) to->ranks = from->ranks;
    if (!to->peer) to->peer = from->peer;
}

static bool has_ended(const import_known_zone *zone, int64_t now_ns)
{
    return zone->end_ns <= now_ns && zone->start_ns < now_ns;
}

// Returns the index of an operation's facts + 1; 0: it is no collective.
static uint32_t facts_of(const import_tables *t, uint32_t index)
{
    size_t from = 0, to = t->known.count;
    while (from < to) {
        const size_t middle = cli_middle(from, to);
        const import_known *const known = import_list_at(&t->known, middle);
        if (known->index == index) return known->facts;
        cli_halve(&from, &to, known->index < index);
    }
    return 0;
}

// Sets site and facts of an operation from the zones around its call, innermost
// first. A zone that overlaps the next one stays below it on the stack even
// after its end.
static void take_zones(const import_job *job, uint32_t index, const stacked *s,
                       int64_t now_ns)
{
    const import_list *const facts = &job->tables->facts;
    import_held *const held = &job->tables->held[index];
    if (!s->count) return;
    if (!held->site) held->site = s->zones[s->count - 1]->site;
    const uint32_t own = facts_of(job->tables, index);
    for (size_t i = s->count; own && i-- > 0;)
        if (s->zones[i]->facts && !has_ended(s->zones[i], now_ns))
            take_facts(import_list_at(facts, own - 1),
                       import_list_at(facts, s->zones[i]->facts - 1));
}

static bool push(import_job *job, stacked *s, const import_known_zone *zone)
{
    if (!cli_grow(&s->zones, &s->room, s->count + 1, sizeof *s->zones)) {
        job->tables->no_memory = true;
        return false;
    }
    s->zones[s->count++] = zone;
    return true;
}

// Pops ended zones. Zones may overlap without nesting, because times are
// rounded.
static void pop_ended(stacked *s, int64_t now_ns)
{
    while (s->count && has_ended(s->zones[s->count - 1], now_ns))
        s->count--;
}

// moments: calls on this thread with their operations, sorted.
static void walk_zones(import_job *job, import_track *track,
                       const import_moment *moments, size_t moment_count)
{
    const size_t count = track->zone_count;
    import_known_zone *zones = import_zones_get(job, track);
    if (zones) zones = sort_zones(job, zones, count);
    stacked s = { 0 };
    size_t next = 0;
    for (size_t i = 0; zones && i < moment_count; i++) {
        const int64_t now_ns = moments[i].key;
        for (; next < count && zones[next].start_ns <= now_ns; next++) {
            pop_ended(&s, zones[next].start_ns);
            if (!push(job, &s, &zones[next])) break;
        }
        pop_ended(&s, now_ns);
        take_zones(job, moments[i].index, &s, now_ns);
    }
    free(zones);
    free(s.zones);
}

void import_zones_walk(import_job *job, const import_moment *issued,
                       size_t count)
{
    const import_held *const held = job->tables->held;
    if (!held) return;
    for (uint32_t track = 1; track <= job->tables->tracks.count; track++) {
        import_track *const t = import_track_of(job, track);
        size_t used = 0;
        if (!t->zone_count) continue;
        for (size_t i = 0; i < count; i++)
            used += held[issued[i].index].thread == track;
        import_moment *const moments =
            used ? import_array(job, used, sizeof *moments) : NULL;
        if (!moments) continue;
        used = 0;
        for (size_t i = 0; i < count; i++)
            if (held[issued[i].index].thread == track)
                moments[used++] = issued[i];
        walk_zones(job, t, moments, used);
        free(moments);
    }
}
