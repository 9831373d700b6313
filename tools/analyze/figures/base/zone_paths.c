/*
    zone_paths.c - host zones as paths: a zone and the zones around it
*/
#include "tools/analyze/figures/base/zone_paths.h"
#include "tools/cli/sort.h"

/* ---- The tree ----------------------------------------------------------- */

bool paths_open(path_tree *p)
{
    *p = (path_tree){ 0 };
    if (!cli_grow(&p->nodes, &p->node_room, 1, sizeof *p->nodes)) return false;
    p->nodes[0] = (paths_node){ .parent = CLI_NONE, .name = CLI_NONE };
    p->node_count = 1;
    return true;
}

void paths_close(path_tree *p)
{
    free(p->names);
    free(p->nodes);
    cli_map_close(&p->name_index);
    cli_map_close(&p->node_index);
    *p = (path_tree){ 0 };
}

uint32_t paths_name(path_tree *p, ts_text name)
{
    uint64_t hash = cli_hash(name.text, name.size);
    for (;; hash++) { // on a collision the next hash is tried
        const uint32_t at = cli_map_row(&p->name_index, hash);
        if (at == CLI_NONE) break;
        if (p->names[at].size == name.size &&
            !memcmp(p->names[at].text, name.text, name.size))
            return at;
    }
    if (!cli_grow(&p->names, &p->name_room, (size_t)p->name_count + 1,
                  sizeof *p->names) ||
        !cli_map_set(&p->name_index, hash, p->name_count))
        return CLI_NONE;
    p->names[p->name_count] = name;
    return p->name_count++;
}

uint32_t paths_child(path_tree *p, uint32_t parent, uint32_t name)
{
    const uint64_t key = (uint64_t)parent << 32 | name;
    const uint32_t at = cli_map_row(&p->node_index, key);
    if (at != CLI_NONE) return at;
    if (p->nodes[parent].depth >= PATHS_DEPTH_MOST ||
        p->node_count >= PATHS_NODES_MOST) {
        p->cut++;
        return parent;
    }
    if (!cli_grow(&p->nodes, &p->node_room, (size_t)p->node_count + 1,
                  sizeof *p->nodes) ||
        !cli_map_set(&p->node_index, key, p->node_count))
        return CLI_NONE;
    p->nodes[p->node_count] = (paths_node){
        .parent = parent, .name = name, .depth = p->nodes[parent].depth + 1
    };
    return p->node_count++;
}

uint32_t paths_site(path_tree *p, const ts_reader *reader, uint32_t site)
{
    static const ts_text unnamed = { "(unnamed zone)", 14 };
    static const char step[] = "ProfilerStep#";
    ts_text name = ts_reader_site_name(reader, site);
    // Steps of one loop have one name, without their number.
    if (name.size > sizeof step - 1 &&
        !memcmp(name.text, step, sizeof step - 1))
        name.size = sizeof step - 2;
    return paths_name(p, name.size ? name : unnamed);
}

bool paths_is_host(const ts_reader *reader, uint32_t track)
{
    static const char prefix[] = "profiler ";
    ts_track of, parent = { .type = TS_TRACK_PROCESS };
    if (!ts_reader_track(reader, track, &of)) return true;
    if (!of.number && of.name.size > sizeof prefix &&
        !memcmp(of.name.text, prefix, sizeof prefix - 1))
        return false;
    return !ts_reader_track(reader, of.parent, &parent) ||
           parent.type == TS_TRACK_PROCESS;
}

size_t paths_text(const path_tree *p, uint32_t node, char *text, size_t size)
{
    size_t at = 0;
    for (uint32_t n = node; n != PATHS_ROOT; n = p->nodes[n].parent) {
        const ts_text name = p->names[p->nodes[n].name];
        size_t room = size - 1 - at;
        if (n != node && name.size + 3 + 6 > room) { // " < ..." always fits
            at += (size_t)snprintf(text + at, room + 1, " < ...");
            break;
        }
        if (n != node)
            for (const char *s = " < "; *s; s++, room--)
                text[at++] = *s;
        else if (room > 6)
            room -= 6;
        const size_t part = name.size < room ? name.size : room;
        memcpy(text + at, name.text, part);
        at += part;
    }
    text[at] = 0;
    return at;
}

/* ---- Reading zones ------------------------------------------------------ */

typedef struct open_zone {
    int64_t end_ns;
    uint32_t name, node;
} open_zone;

// State of a thread: its open zones in order of their start, and the remaining
// queries about it.
typedef struct walk_track {
    open_zone *zones;
    size_t count, room;
    bool crossed;     // a zone outlasts one that began before it
    bool host;        // it is a thread of a process
    int64_t now_ns;   // time is counted up to here
    size_t next, end; // range of its queries
} walk_track;

typedef struct walk {
    path_tree *p;
    ts_reader *reader;
    paths_query *queries;
    cli_map sites;  // from sites to names
    cli_map tracks; // from tracks to positions
    walk_track *items;
    size_t count, room;
    bool times; // times are requested
    int64_t last_ns;
} walk;

static walk_track *track_of(walk *w, uint32_t track)
{
    const uint32_t at = cli_map_row(&w->tracks, track);
    if (at != CLI_NONE) return &w->items[at];
    if (!cli_grow(&w->items, &w->room, w->count + 1, sizeof *w->items) ||
        !cli_map_set(&w->tracks, track, (uint32_t)w->count))
        return NULL;
    w->items[w->count] =
        (walk_track){ .host = paths_is_host(w->reader, track) };
    return &w->items[w->count++];
}

static uint32_t name_of(walk *w, uint32_t site)
{
    const uint32_t known = cli_map_row(&w->sites, site);
    if (known != CLI_NONE) return known;
    const uint32_t name = paths_site(w->p, w->reader, site);
    if (name == CLI_NONE || !cli_map_set(&w->sites, site, name))
        return CLI_NONE;
    return name;
}

// Adds the time up to until_ns to the open zone that began last.
static void spend(walk *w, walk_track *t, int64_t until_ns)
{
    if (w->times && t->count && until_ns > t->now_ns)
        w->p->nodes[t->zones[t->count - 1].node].own_ns += until_ns - t->now_ns;
    t->now_ns = until_ns;
}

// Returns the open zone that ends first: the innermost, unless zones cross.
static size_t first_to_end(const walk_track *t)
{
    size_t first = t->count - 1;
    for (size_t i = first; t->crossed && i-- > 0;)
        if (t->zones[i].end_ns < t->zones[first].end_ns) first = i;
    return first;
}

// Removes a zone. Zones that began inside it now belong to the path around it.
static bool remove_zone(walk *w, walk_track *t, size_t at)
{
    memmove(t->zones + at, t->zones + at + 1,
            (--t->count - at) * sizeof *t->zones);
    t->crossed = false;
    for (size_t i = 0; i < t->count; i++) {
        const uint32_t parent = i ? t->zones[i - 1].node : PATHS_ROOT;
        if (i >= at)
            t->zones[i].node = paths_child(w->p, parent, t->zones[i].name);
        if (t->zones[i].node == CLI_NONE) return false;
        t->crossed |= i && t->zones[i].end_ns > t->zones[i - 1].end_ns;
    }
    return true;
}

// Removes the zones that have ended by time_ns.
static bool leave(walk *w, walk_track *t, int64_t time_ns)
{
    while (t->count) {
        const size_t at = first_to_end(t);
        if (t->zones[at].end_ns > time_ns) break;
        spend(w, t, t->zones[at].end_ns);
        if (at + 1 == t->count && !t->crossed)
            t->count--;
        else if (!remove_zone(w, t, at))
            return false;
    }
    if (t->count) spend(w, t, time_ns);
    return true;
}

static uint32_t path_of(const walk_track *t)
{
    return t->count ? t->zones[t->count - 1].node : PATHS_ROOT;
}

static bool answer(walk *w, walk_track *t, int64_t before_ns, bool all)
{
    while (t->next < t->end &&
           (all || w->queries[t->next].time_ns < before_ns)) {
        paths_query *const q = &w->queries[t->next++];
        if (!leave(w, t, q->time_ns)) return false;
        q->node = path_of(t);
    }
    return true;
}

static bool enter(walk *w, walk_track *t, const ts_event *event)
{
    const int64_t end_ns = event->kind == TS_EVENT_ZONE_OPEN
                               ? w->last_ns
                               : event->start_ns + event->duration_ns;
    const uint32_t name =
        name_of(w, (uint32_t)ts_event_value(event, TS_COLUMN_SITE));
    if (!answer(w, t, event->start_ns, false) ||
        !leave(w, t, event->start_ns) || name == CLI_NONE)
        return false;
    const uint32_t node = paths_child(w->p, path_of(t), name);
    if (node == CLI_NONE ||
        !cli_grow(&t->zones, &t->room, t->count + 1, sizeof *t->zones))
        return false;
    if (t->count && t->zones[t->count - 1].end_ns < end_ns) {
        w->p->overlaps++;
        t->crossed = true;
    }
    t->now_ns = event->start_ns;
    t->zones[t->count++] = (open_zone){ end_ns, name, node };
    return true;
}

static int by_track_and_time(const void *left, const void *right)
{
    const paths_query *const a = left, *const b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static bool share_queries(walk *w, size_t count)
{
    for (size_t i = 0; i < count;) {
        walk_track *const t = track_of(w, w->queries[i].track);
        if (!t) return false;
        t->next = i;
        while (i < count && w->queries[i].track == w->queries[t->next].track)
            i++;
        t->end = i;
    }
    return true;
}

static bool walk_zones(walk *w, size_t count)
{
    const ts_filter filter = { .kinds =
                                   TS_FILTER(ZONE) | TS_FILTER(ZONE_OPEN) };
    ts_cursor *cursor;
    ts_event event;
    w->last_ns = ts_reader_info(w->reader)->last_ns;
    bool ok = share_queries(w, count) &&
              ts_cursor_open(&cursor, w->reader, &filter) == TS_OK;
    if (ok) {
        while (ok && ts_cursor_next(cursor, &event)) {
            walk_track *const t = track_of(w, event.track);
            ok = t && (!t->host || enter(w, t, &event));
        }
        // The reader lists damage; the rest of the trace is used.
        ok = ok && ts_cursor_result(cursor) != TS_ERR_MEMORY;
        ts_cursor_close(cursor);
    }
    for (size_t i = 0; i < w->count; i++) {
        ok = ok && answer(w, &w->items[i], 0, true) &&
             leave(w, &w->items[i], INT64_MAX);
        free(w->items[i].zones);
    }
    free(w->items);
    cli_map_close(&w->sites);
    cli_map_close(&w->tracks);
    return ok;
}

bool paths_resolve(path_tree *p, ts_reader *reader, paths_query *queries,
                   size_t count)
{
    walk w = { .p = p, .reader = reader, .queries = queries };
    if (!count) return true;
    cli_sort(queries, count, sizeof *queries, by_track_and_time);
    return walk_zones(&w, count);
}

bool paths_zones(path_tree *p, ts_reader *reader)
{
    walk w = { .p = p, .reader = reader, .times = true };
    return walk_zones(&w, 0);
}
