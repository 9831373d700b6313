/*
    diff_order.c - whether streams did the same things in the same order
*/
#include "tools/analyze/diff.h"

// The operations of a stream, in order, by what both sides call them.
typedef struct lane {
    ts_text name;
    uint32_t *operations, *tokens;
    size_t count, room;
} lane;

typedef struct lanes {
    lane *items;
    size_t count;
    calc_map index; // file and track to lane
} lanes;

static void close_lanes(lanes *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].operations);
        free(l->items[i].tokens);
    }
    free(l->items);
    calc_map_close(&l->index);
}

static bool open_lanes(lanes *l, diff_side *s, ts_replay *replay)
{
    ts_lane lane_of;
    const size_t count = ts_replay_lane_count(replay);
    l->items = calloc(count + 1, sizeof *l->items);
    if (!l->items) return false;
    for (; l->count < count; l->count++) {
        if (!ts_replay_lane(replay, l->count, &lane_of)) return false;
        l->items[l->count].name =
            analyze_track(&s->job, lane_of.file, lane_of.track);
        if (!calc_map_set(&l->index,
                          (uint64_t)lane_of.file << 32 | lane_of.track,
                          (uint32_t)l->count))
            return false;
    }
    return true;
}

static bool append(lane *l, uint32_t operation, uint32_t token)
{
    size_t room = l->room;
    if (!calc_room(&l->operations, &room, l->count + 1, sizeof *l->operations))
        return false;
    room = l->room;
    if (!calc_room(&l->tokens, &room, l->count + 1, sizeof *l->tokens))
        return false;
    l->room = room;
    l->operations[l->count] = operation;
    l->tokens[l->count++] = token;
    return true;
}

static diff_subject subject_of(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL       ? DIFF_KERNEL
           : kind == TS_EVENT_COLLECTIVE ? DIFF_COLLECTIVE
                                         : DIFF_COPY;
}

static bool fill_lanes(diff *d, int side, lanes *l)
{
    diff_side *const s = &d->sides[side];
    ts_replay *const replay = analyze_replay(&s->job);
    calc_map tokens = { 0 }; // of groups of names
    ts_operation o;
    bool ok = open_lanes(l, s, replay);
    for (uint32_t i = 0; ok && ts_replay_operation(replay, i, &o); i++) {
        if (!names_works(o.kind) || o.skip != TS_SKIP_NOT) continue;
        const uint32_t group = s->names.of[i];
        uint32_t token = calc_map_get(&tokens, group);
        if (token == CALC_NONE) {
            const diff_row *const row =
                diff_row_of(d, subject_of(o.kind),
                            analyze_name(&s->job, s->names.groups[group].text));
            token = row ? (uint32_t)(row - d->rows) : CALC_NONE;
            ok = row && calc_map_set(&tokens, group, token);
            if (!ok) break;
        }
        const uint32_t at =
            calc_map_get(&l->index, (uint64_t)o.file << 32 | o.track);
        if (at != CALC_NONE) ok = append(&l->items[at], i, token);
    }
    calc_map_close(&tokens);
    return ok;
}

/* ---- Comparing ---------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// What follows what in a stream, in order; NULL: no memory.
static uint64_t *pairs_of(const lane *l)
{
    uint64_t *const pairs = malloc((l->count + 1) * sizeof *pairs);
    for (size_t i = 1; pairs && i < l->count; i++)
        pairs[i - 1] = (uint64_t)l->tokens[i - 1] << 32 | l->tokens[i];
    if (pairs && l->count) qsort(pairs, l->count - 1, sizeof *pairs, by_number);
    return pairs;
}

static bool count_pairs(diff_stream *s, const lane *a, const lane *b)
{
    uint64_t *const x = pairs_of(a), *const y = pairs_of(b);
    const size_t m = a->count ? a->count - 1 : 0;
    const size_t n = b->count ? b->count - 1 : 0;
    size_t i = 0, j = 0;
    const bool ok = x && y;
    while (ok && (i < m || j < n)) {
        const bool gone = j == n || (i < m && x[i] < y[j]);
        const bool fresh = !gone && (i == m || y[j] < x[i]);
        s->pairs_gone += gone;
        s->pairs_new += fresh;
        i += !fresh;
        j += !gone;
    }
    free(x);
    free(y);
    return ok;
}

static bool compare(diff *d, const lane *a, const lane *b)
{
    diff_stream s = { .name = a->name,
                      .counts = { a->count, b->count },
                      .first = { TS_NODE_NONE, TS_NODE_NONE } };
    size_t i = 0;
    while (i < a->count && i < b->count && a->tokens[i] == b->tokens[i])
        i++;
    s.same = i == a->count && i == b->count;
    if (i < a->count) s.first[0] = a->operations[i];
    if (i < b->count) s.first[1] = b->operations[i];
    if (!s.same && !count_pairs(&s, a, b)) return false;
    if (!calc_room(&d->streams, &d->stream_room, d->stream_count + 1,
                   sizeof *d->streams))
        return false;
    d->streams[d->stream_count++] = s;
    return true;
}

static uint64_t hash_of(ts_text name)
{
    uint64_t hash = name.size;
    for (size_t i = 0; i < name.size; i++)
        hash = calc_mix(hash, (uint8_t)name.text[i]);
    return hash;
}

// Streams of the same name are compared.
static bool match(diff *d, const lanes *a, const lanes *b)
{
    calc_map names = { 0 };
    uint64_t taken = 0, used = 0;
    bool ok = true;
    for (size_t k = 0; ok && k < b->count; k++)
        if (b->items[k].count) {
            ok = calc_map_set(&names, hash_of(b->items[k].name), (uint32_t)k);
            used++;
        }
    for (size_t i = 0; ok && i < a->count; i++) {
        const lane *const x = &a->items[i];
        if (!x->count) continue;
        const uint32_t at = calc_map_get(&names, hash_of(x->name));
        d->only[0] += at == CALC_NONE;
        if (at == CALC_NONE) continue;
        taken++;
        ok = compare(d, x, &b->items[at]);
    }
    d->only[1] = used > taken ? used - taken : 0;
    calc_map_close(&names);
    return ok;
}

bool diff_schedules(diff *d)
{
    lanes sides[2] = { { 0 } };
    bool ok = true;
    if (!d->sides[0].has_work || !d->sides[1].has_work) return true;
    for (int side = 0; ok && side < 2; side++)
        ok = fill_lanes(d, side, &sides[side]);
    ok = ok && match(d, &sides[0], &sides[1]);
    close_lanes(&sides[0]);
    close_lanes(&sides[1]);
    return ok;
}
