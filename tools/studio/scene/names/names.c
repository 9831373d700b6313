/*
    names.c - which names occur where in a trace that is not loaded as a whole

    The first search counts the labels of all chunks, in slices of work, and
    keeps which occur in which chunk. Later searches look only there.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/search.h"

// Intervals between moments have their times when all moments are there: so
// many are kept until then, 32 bytes for each.
enum { RECENT_IDS = 1024, MOST_MOMENTS = 1 << 20 };

typedef struct seen {
    uint64_t id;    // + 1; 0: none
    uint32_t label; // it is in the list of the chunk
} seen;

static bool whole(const scene *s)
{
    return s->loaded && s->events <= s->limits.events;
}

bool scene_names_behind(const scene *s)
{
    return s->names.wanted && !s->names.failed &&
           s->names.next < s->chunk_count;
}

bool scene_names_known(const scene *s)
{
    return whole(s) || (s->names.wanted && s->table_read && !s->names.failed &&
                        s->names.next == s->chunk_count);
}

bool scene_names_want(scene *s)
{
    if (whole(s)) return true;
    s->table_wanted = s->names.wanted = true;
    return !scene_is_behind(s) || (s->table_read && !scene_names_behind(s));
}

// Lists a label once for each chunk.
static bool list_label(scene_names *n, uint32_t label)
{
    if (!cli_grow(&n->labels, &n->label_room, n->label_count + 1,
                  sizeof *n->labels) ||
        !cli_grow(&n->sums, &n->sum_room, (size_t)label + 1, sizeof *n->sums))
        return false;
    for (; n->sum_count <= label; n->sum_count++)
        n->sums[n->sum_count] = (scene_name_sum){ 0 };
    if (n->sums[label].listed == n->next + 1) return true;
    n->sums[label].listed = n->next + 1;
    n->labels[n->label_count++] = label;
    return true;
}

// The entry of the label of a row. NULL without memory.
static seen *seen_of(scene *s, seen *recent, const ts_columns *c, uint32_t row,
                     const uint64_t *ids)
{
    const uint64_t id = (ids ? ids[row] : 0) + 1;
    seen *const one = &recent[id % RECENT_IDS];
    if (one->id == id) return one;
    const uint32_t label = scene_label_row(s, c, row);
    if (label == CLI_NONE || !list_label(&s->names, label)) return NULL;
    *one = (seen){ id, label };
    return one;
}

// Zones that never ended last to the end.
static int64_t open_ns(const scene *s, const ts_columns *c, uint32_t row)
{
    const int64_t last = scene_near(ts_reader_info(s->reader)->last_ns);
    return last - scene_near(c->start_ns[row]);
}

static bool take(scene *s, const ts_columns *c)
{
    seen recent[RECENT_IDS] = { { 0 } };
    const ts_column column = cli_label_column(c->kind);
    const uint64_t *const ids = column ? c->values[column] : NULL;
    const bool spans = c->kind == TS_EVENT_SPAN;
    const bool open = c->kind == TS_EVENT_ZONE_OPEN;
    for (uint32_t i = 0; i < c->count; i++) {
        if (spans && scene_ends_span(c, i)) continue;
        const seen *const one = seen_of(s, recent, c, i, ids);
        if (!one) return false;
        scene_name_sum *const sum = &s->names.sums[one->label];
        const int64_t ns = open             ? open_ns(s, c, i)
                           : c->duration_ns ? c->duration_ns[i]
                                            : 0;
        sum->count++;
        if (ns > 0) scene_add_ns(&sum->total_ns, ns);
    }
    return true;
}

/* ---- Frames and spans ---------------------------------------------------- */

static bool is_moment(const scene_chunk *chunk)
{
    return scene_row_of_kind((ts_event_kind)chunk->event) == SCENE_FRAMES;
}

static bool keep_moments(scene *s, const ts_columns *c)
{
    scene_names *const n = &s->names;
    n->moment_count += c->count;
    if (n->moment_count > MOST_MOMENTS) return false;
    n->moments.s = s;
    scene_gather_columns(&n->moments, c);
    return !n->moments.failed;
}

static void add_interval(const scene_item *item, void *user)
{
    scene_name_sum *const sum = &((scene_names *)user)->sums[item->label];
    sum->count++;
    scene_add_ns(&sum->total_ns, scene_item_ns(item));
}

// Sums up the intervals as they are drawn. The moments stay, as a live trace
// has more of them later.
static bool sum_intervals(scene *s)
{
    scene_names *const n = &s->names;
    for (size_t i = 0; i < n->sum_count; i++) {
        const uint32_t kind = s->labels[i].kind;
        if (kind != TS_EVENT_FRAME && kind != TS_EVENT_SPAN) continue;
        n->sums[i].count = 0;
        n->sums[i].total_ns = 0;
    }
    return scene_gather_each(&n->moments, add_interval, n);
}

/* ---- Chunks -------------------------------------------------------------- */

static uint64_t wanted_columns(const scene_chunk *chunk)
{
    const ts_column column = cli_label_column((ts_event_kind)chunk->event);
    uint64_t wanted =
        TS_COLUMN_BIT(DURATION) | (column ? UINT64_C(1) << column : 0);
    if (chunk->event == TS_EVENT_ZONE_OPEN) wanted |= TS_COLUMN_BIT(START);
    return wanted;
}

static ts_result decode(scene *s, const scene_chunk *chunk)
{
    ts_columns *const c = &s->names.columns;
    if (is_moment(chunk)) return ts_reader_decode(s->reader, chunk->index, c);
    return ts_reader_decode_columns(s->reader, chunk->index,
                                    wanted_columns(chunk), c);
}

static bool take_chunk(scene *s, const scene_chunk *chunk)
{
    scene_names *const n = &s->names;
    if (!cli_grow(&n->first, &n->first_room, n->next + 2, sizeof *n->first))
        return false;
    n->first[n->next] = n->label_count;
    if (chunk->event != TS_EVENT_COUNTER && decode(s, chunk) == TS_OK &&
        (!take(s, &n->columns) ||
         (is_moment(chunk) && !keep_moments(s, &n->columns))))
        return false;
    n->first[n->next + 1] = n->label_count;
    return true;
}

bool scene_names_work(scene *s)
{
    scene_names *const n = &s->names;
    for (uint64_t cost = 0; scene_names_behind(s) && cost < s->limits.slice;
         n->next++) {
        cost += s->chunks[n->next].count / 4 + 1;
        if (!take_chunk(s, &s->chunks[n->next])) n->failed = true;
    }
    if (scene_names_behind(s)) return false;
    if (!n->failed && !sum_intervals(s)) n->failed = true;
    ts_columns_close(s->reader, &n->columns);
    return true;
}

void scene_names_close(scene *s)
{
    free(s->names.labels);
    free(s->names.first);
    free(s->names.sums);
    scene_gather_drop(&s->names.moments);
    ts_columns_close(s->reader, &s->names.columns);
    s->names = (scene_names){ .wanted = false };
}

void scene_names_sum(const scene *s, uint32_t label, uint64_t *count,
                     int64_t *total_ns)
{
    // What was computed is no event of a chunk.
    const bool known = !whole(s) && s->table_read && s->names.wanted &&
                       !s->names.failed && label < s->names.sum_count &&
                       s->labels[label].kind < SCENE_KIND_IDLE;
    *count = known ? s->names.sums[label].count : s->labels[label].count;
    *total_ns =
        known ? s->names.sums[label].total_ns : s->labels[label].total_ns;
}

/* ---- From match to match ------------------------------------------------- */

static bool has_match(const scene_names *n, uint32_t chunk, const bool *matches)
{
    for (size_t i = n->first[chunk]; i < n->first[chunk + 1]; i++)
        if (matches[n->labels[i]]) return true;
    return false;
}

typedef struct seeking {
    scene *s;
    const bool *matches; // by label
    size_t label_count;
    bool backwards;
    int64_t time_ns;
    bool found;
    int64_t best_ns;
} seeking;

static void seek_in(seeking *k, uint32_t at)
{
    scene *const s = k->s;
    const scene_chunk *const chunk = &s->chunks[at];
    ts_columns *const c = &s->names.columns;
    if (!has_match(&s->names, at, k->matches) ||
        ts_reader_decode(s->reader, chunk->index, c) != TS_OK)
        return;
    for (uint32_t i = 0; i < c->count; i++) {
        const int64_t start = scene_near(c->start_ns[i]);
        if (k->backwards ? start >= k->time_ns : start <= k->time_ns) continue;
        if (k->found &&
            (k->backwards ? start <= k->best_ns : start >= k->best_ns))
            continue;
        if (scene_ends_span(c, i)) continue;
        const uint32_t label = scene_label_row(s, c, i);
        if (label >= k->label_count || !k->matches[label]) continue;
        k->found = true;
        k->best_ns = start;
    }
}

// Looks through chunks in order of time until none can have a nearer match.
static void seek(seeking *k)
{
    const scene *const s = k->s;
    size_t i = scene_chunks_reaching(s, k->time_ns);
    if (!k->backwards) {
        for (; i < s->chunk_count; i++) {
            if (k->found && s->begins[i].first_ns >= k->best_ns) break;
            seek_in(k, s->begins[i].chunk);
        }
        return;
    }
    while (i < s->chunk_count && s->begins[i].first_ns < k->time_ns)
        i++;
    while (i-- > 0) {
        if (k->found && s->begins[i].reach_ns <= k->best_ns) break;
        seek_in(k, s->begins[i].chunk);
    }
}

bool scene_seek(scene *s, const bool *matches, bool backwards, int64_t time_ns,
                uint32_t row, uint32_t *found, scene_item *item)
{
    enum { NEAR_NS = 1000 };
    const bool inside =
        s->loaded && time_ns >= s->from_ns && time_ns < s->to_ns;
    if (whole(s) || inside || !s->names.wanted) {
        const bool any =
            scene_next(s, matches, backwards, time_ns, row, found, item);
        if (any && (whole(s) || (item->start_ns >= s->from_ns &&
                                 item->start_ns < s->to_ns)))
            return true;
        if (whole(s)) return any;
    }
    if (!scene_names_known(s)) return false;
    seeking k = { .s = s,
                  .matches = matches,
                  .label_count = s->label_count,
                  .backwards = backwards,
                  .time_ns = scene_near(time_ns) };
    seek(&k);
    ts_columns_close(s->reader, &s->names.columns);
    if (!k.found || !scene_load(s, k.best_ns - NEAR_NS, k.best_ns + NEAR_NS) ||
        s->label_count > k.label_count)
        return false;
    return scene_next(s, matches, backwards,
                      backwards ? k.best_ns + 1 : k.best_ns - 1,
                      backwards ? UINT32_MAX : 0, found, item);
}
