/*
    order.c - compares the order of operations on each stream
*/
#include "tools/diff/diff.h"

// The operations of a stream in order, as tokens that are equal on both sides.
typedef struct lane {
    ts_text name;
    uint64_t key; // equal on both sides: the name of the stream on its device
    uint32_t file, track, device;
    uint32_t *operations, *tokens;
    size_t count, room;
} lane;

typedef struct lanes {
    lane *items;
    size_t count;
    cli_map index; // file and track to lane
} lanes;

static void close_lanes(lanes *l)
{
    for (size_t i = 0; i < l->count; i++) {
        free(l->items[i].operations);
        free(l->items[i].tokens);
    }
    free(l->items);
    cli_map_close(&l->index);
}

static uint64_t hash_of(ts_text name)
{
    uint64_t hash = name.size;
    for (size_t i = 0; i < name.size; i++)
        hash = cli_hash_join(hash, (uint8_t)name.text[i]);
    return hash;
}

static bool open_lanes(lanes *l, diff_side *s, ts_replay *replay)
{
    ts_lane lane_of;
    const size_t count = ts_replay_lane_count(replay);
    l->items = calloc(count + 1, sizeof *l->items);
    if (!l->items) return false;
    for (; l->count < count; l->count++) {
        if (!ts_replay_lane(replay, l->count, &lane_of)) return false;
        lane *const item = &l->items[l->count];
        item->name = analyze_track(&s->job, lane_of.file, lane_of.track);
        item->key = hash_of(item->name);
        item->file = lane_of.file;
        item->track = lane_of.track;
        item->device = lane_of.device;
        if (!cli_map_set(&l->index,
                         (uint64_t)lane_of.file << 32 | lane_of.track,
                         (uint32_t)l->count))
            return false;
    }
    return true;
}

static bool append(lane *l, uint32_t operation, uint32_t token)
{
    size_t room = l->room;
    if (!cli_grow(&l->operations, &room, l->count + 1, sizeof *l->operations))
        return false;
    room = l->room;
    if (!cli_grow(&l->tokens, &room, l->count + 1, sizeof *l->tokens))
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
    cli_map tokens = { 0 }; // from groups of names
    ts_operation o;
    bool ok = open_lanes(l, s, replay);
    for (uint32_t i = 0; ok && ts_replay_operation(replay, i, &o); i++) {
        if (!names_works(o.kind) || o.skip != TS_SKIP_NOT) continue;
        const uint32_t group = s->names.of[i];
        uint32_t token = cli_map_row(&tokens, group);
        if (token == CLI_NONE) {
            const diff_row *const row =
                diff_row_of(d, subject_of(o.kind),
                            analyze_name(&s->job, s->names.groups[group].text));
            token = row ? (uint32_t)(row - d->rows) : CLI_NONE;
            ok = row && cli_map_set(&tokens, group, token);
            if (!ok) break;
        }
        const uint32_t at =
            cli_map_row(&l->index, (uint64_t)o.file << 32 | o.track);
        if (at != CLI_NONE) ok = append(&l->items[at], i, token);
    }
    cli_map_close(&tokens);
    return ok;
}

/* ---- Comparing ---------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// Returns the sorted pairs of adjacent operations of a stream; NULL if memory
// runs out.
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
    if (!cli_grow(&d->streams, &d->stream_room, d->stream_count + 1,
                  sizeof *d->streams))
        return false;
    d->streams[d->stream_count++] = s;
    return true;
}

/* ---- Devices ------------------------------------------------------------ */

typedef struct device {
    uint32_t file, track, partner; // CLI_NONE: none
    ts_text name, model;
} device;

typedef struct devices {
    device *items;
    size_t count, room;
} devices;

static size_t device_at(const devices *d, const lane *l)
{
    size_t i = 0;
    while (i < d->count &&
           (d->items[i].file != l->file || d->items[i].track != l->device))
        i++;
    return i;
}

// Finds the devices that executed work.
static bool find_devices(diff_side *s, const lanes *l, devices *d)
{
    ts_track track;
    for (size_t i = 0; i < l->count; i++) {
        const lane *const of = &l->items[i];
        const ts_reader *const reader = analyze_reader(&s->job, of->file);
        if (!of->count || device_at(d, of) < d->count ||
            !ts_reader_track(reader, of->device, &track))
            continue;
        if (!cli_grow(&d->items, &d->room, d->count + 1, sizeof *d->items))
            return false;
        d->items[d->count++] =
            (device){ .file = of->file,
                      .track = of->device,
                      .partner = CLI_NONE,
                      .name = analyze_track(&s->job, of->file, of->device),
                      .model = diff_model(reader, &track) };
    }
    return true;
}

static size_t next_alone(const devices *d, size_t i)
{
    while (i < d->count && d->items[i].partner != CLI_NONE)
        i++;
    return i;
}

static void make_pair(devices *a, size_t i, devices *b, size_t k)
{
    a->items[i].partner = (uint32_t)k;
    b->items[k].partner = (uint32_t)i;
}

/*
    Devices of the same name form a pair. Another rank uses another GPU: the
    remaining devices are paired in order if both sides have equally many of
    each model.
*/
static void pair_devices(diff *d, devices *a, devices *b)
{
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (b->items[k].partner == CLI_NONE &&
                cli_same_text(a->items[i].name, b->items[k].name)) {
                make_pair(a, i, b, k);
                break;
            }
    size_t i = next_alone(a, 0), k = next_alone(b, 0);
    while (i < a->count && k < b->count &&
           cli_same_text(a->items[i].model, b->items[k].model)) {
        i = next_alone(a, i + 1);
        k = next_alone(b, k + 1);
    }
    if (i < a->count || k < b->count) return;
    for (i = k = 0; (i = next_alone(a, i)) < a->count; i++) {
        k = next_alone(b, k);
        make_pair(a, i, b, k);
        if (!d->paired++) {
            d->paired_names[0] = a->items[i].name;
            d->paired_names[1] = b->items[k].name;
        }
    }
}

// Gives streams of a pair of devices the same key if they have the same number
// and name.
static void set_keys(diff_side *s, lanes *l, const devices *own, int side)
{
    ts_track track;
    for (size_t i = 0; i < l->count; i++) {
        lane *const of = &l->items[i];
        const ts_reader *const reader = analyze_reader(&s->job, of->file);
        const size_t at = device_at(own, of);
        if (at == own->count || own->items[at].partner == CLI_NONE ||
            !ts_reader_track(reader, of->track, &track))
            continue;
        const uint64_t pair = side ? own->items[at].partner : at;
        of->key = cli_hash_join(
            cli_hash_join(hash_of(track.name), track.number), pair);
    }
}

static bool match_devices(diff *d, lanes *sides)
{
    devices of[2] = { { 0 } };
    const bool ok = find_devices(&d->sides[0], &sides[0], &of[0]) &&
                    find_devices(&d->sides[1], &sides[1], &of[1]);
    if (ok) pair_devices(d, &of[0], &of[1]);
    for (int side = 0; ok && side < 2; side++)
        set_keys(&d->sides[side], &sides[side], &of[side], side);
    free(of[0].items);
    free(of[1].items);
    return ok;
}

// Compares streams with the same key.
static bool match(diff *d, const lanes *a, const lanes *b)
{
    cli_map keys = { 0 };
    uint64_t taken = 0, used = 0;
    bool ok = true;
    for (size_t k = 0; ok && k < b->count; k++)
        if (b->items[k].count) {
            ok = cli_map_set(&keys, b->items[k].key, (uint32_t)k);
            used++;
        }
    for (size_t i = 0; ok && i < a->count; i++) {
        const lane *const x = &a->items[i];
        if (!x->count) continue;
        const uint32_t at = cli_map_row(&keys, x->key);
        d->only[0] += at == CLI_NONE;
        if (at == CLI_NONE) continue;
        taken++;
        ok = compare(d, x, &b->items[at]);
    }
    d->only[1] = used > taken ? used - taken : 0;
    cli_map_close(&keys);
    return ok;
}

bool diff_schedules(diff *d)
{
    lanes sides[2] = { { 0 } };
    bool ok = true;
    if (!d->sides[0].has_work || !d->sides[1].has_work) return true;
    for (int side = 0; ok && side < 2; side++)
        ok = fill_lanes(d, side, &sides[side]);
    ok = ok && match_devices(d, sides) && match(d, &sides[0], &sides[1]);
    close_lanes(&sides[0]);
    close_lanes(&sides[1]);
    return ok;
}
