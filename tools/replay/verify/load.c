/*
    load.c - reads the operations of two traces and numbers their contents
*/
#include "tools/replay/verify/verify.h"

/* ---- Numbers for contents ----------------------------------------------- */

/*
    The content of an operation: operations with equal words are equal. It has
    no times, and nothing that differs between runs of one program: correlation
    ids, addresses, handles of events, graphs and stacks.
*/
enum { WORDS = 18 };
typedef struct content {
    uint64_t word[WORDS];
} content;

struct verify_contents {
    content *known; // by number
    size_t count, room;
    cli_index index;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return hash ^ hash >> 29;
}

static uint64_t hash_of(const content *c)
{
    uint64_t hash = 0;
    for (int i = 0; i < WORDS; i++)
        hash = mix(hash, c->word[i]);
    return mix(hash, hash >> 32);
}

// Returns the number of a content, new or known. VERIFY_NONE without memory.
static uint32_t number_of(verify_contents *all, const content *c)
{
    const uint64_t hash = hash_of(c);
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&all->index, hash, &i)) != CLI_NONE;)
        if (!memcmp(&all->known[at], c, sizeof *c)) return at;
    if (!cli_grow(&all->known, &all->room, all->count + 1,
                  sizeof *all->known) ||
        !cli_index_add(&all->index, hash, (uint32_t)all->count))
        return VERIFY_NONE;
    all->known[all->count] = *c;
    return (uint32_t)all->count++;
}

/* ---- Texts, by number, the same in both traces -------------------------- */

// A text is stored as a chain of contents, so contents and texts share one
// table, and equal numbers mean equal bytes.
static uint32_t text_number(verify_contents *all, ts_text text)
{
    uint32_t number = 0;
    for (size_t at = 0;; at += (WORDS - 3) * sizeof(uint64_t)) {
        const size_t room = (WORDS - 3) * sizeof(uint64_t);
        const size_t left = text.size - at, size = left < room ? left : room;
        content piece = { { UINT64_MAX, number, text.size } };
        memcpy(&piece.word[3], text.text + at, size);
        number = number_of(all, &piece);
        if (left <= room || number == VERIFY_NONE) return number;
    }
}

/* ---- Rows ---------------------------------------------------------------- */

typedef struct loader {
    verify_side *side;
    verify_contents *all;
    uint32_t *name_numbers; // number + 1 of each name of the file
    uint32_t name_count;
    size_t room;       // of side->ops
    cli_map stream_of; // track and whether it synchronises, to stream
    size_t stream_room;
    uint64_t *communicators; // seen, in order
    uint32_t communicator_count;
    size_t communicator_room;
} loader;

static uint32_t name_number(loader *l, uint32_t name)
{
    if (name >= l->name_count) {
        const uint32_t count = name < (1u << 20) ? 2 * name + 64 : 0;
        uint32_t *const more =
            count ? realloc(l->name_numbers, count * sizeof *more) : NULL;
        if (!more) // a huge name number: looked up each time
            return text_number(l->all,
                               ts_reader_name(l->side->trace.reader, name));
        memset(more + l->name_count, 0, (count - l->name_count) * sizeof *more);
        l->name_numbers = more;
        l->name_count = count;
    }
    if (!l->name_numbers[name])
        l->name_numbers[name] =
            1 +
            text_number(l->all, ts_reader_name(l->side->trace.reader, name));
    return l->name_numbers[name] - 1;
}

static uint64_t device_number(const loader *l, uint64_t track)
{
    ts_track device;
    return ts_reader_track(l->side->trace.reader, (uint32_t)track, &device)
               ? 1 + device.number
               : 0;
}

// Words 0 and 1 are kind and name, which are compared first.
static void put_launch(loader *l, content *c, uint32_t id)
{
    const ts_launch_entry *const launch =
        ts_reader_launch(l->side->trace.reader, id);
    if (!launch) return;
    if (!c->word[1]) c->word[1] = name_number(l, launch->name);
    for (int i = 0; i < 3; i++) {
        c->word[4 + i] = launch->grid[i];
        c->word[7 + i] = launch->block[i];
        c->word[10 + i] = launch->cluster[i];
    }
    c->word[13] = launch->registers;
    c->word[14] = launch->static_shared;
    c->word[15] = launch->dynamic_shared;
    c->word[16] = launch->local;
}

// There are few communicators, and most often it is the latest: searches from
// the end.
static uint32_t communicator_of(loader *l, const ts_event *event)
{
    enum { MOST = 4096 }; // further ones are not distinguished
    const uint64_t id = event->kind == TS_EVENT_COLLECTIVE
                            ? ts_event_value(event, TS_COLUMN_COMMUNICATOR)
                            : 0;
    uint32_t i = l->communicator_count;
    if (!id) return 0;
    while (i && l->communicators[i - 1] != id)
        i--;
    if (i || l->communicator_count == MOST) return i;
    if (!cli_grow(&l->communicators, &l->communicator_room,
                  (size_t)l->communicator_count + 1, sizeof *l->communicators))
        return 0;
    l->communicators[l->communicator_count++] = id;
    return l->communicator_count;
}

static content content_of(loader *l, const ts_event *event)
{
    static const ts_column plain[] = { TS_COLUMN_SIZE, TS_COLUMN_TYPE };
    content c = { { (uint64_t)event->kind } };
    const uint64_t name = ts_event_value(event, TS_COLUMN_NAME);
    if (name) c.word[1] = name_number(l, (uint32_t)name);
    for (uint64_t i = 0; i < 2; i++)
        c.word[2 + i] = ts_event_value(event, plain[i]);
    switch (event->kind) {
    case TS_EVENT_COLLECTIVE:
        c.word[17] = ts_event_value(event, TS_COLUMN_RANKS) << 32 |
                     ts_event_value(event, TS_COLUMN_PEER);
        put_launch(l, &c, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
        break;
    case TS_EVENT_KERNEL:
        put_launch(l, &c, (uint32_t)ts_event_value(event, TS_COLUMN_LAUNCH));
        break;
    case TS_EVENT_MEMCPY:
        c.word[4] = device_number(l, ts_event_value(event, TS_COLUMN_PEER));
        c.word[5] = ts_event_value(event, TS_COLUMN_MEMORY);
        break;
    case TS_EVENT_MEMSET:
        c.word[4] = ts_event_value(event, TS_COLUMN_VALUE);
        break;
    case TS_EVENT_GPU_ALLOC:
        c.word[5] = ts_event_value(event, TS_COLUMN_MEMORY);
        break;
    default: break;
    }
    return c;
}

/* ---- Streams ------------------------------------------------------------- */

static void describe(const loader *l, verify_stream *stream, uint32_t id)
{
    const ts_reader *const reader = l->side->trace.reader;
    ts_track track;
    stream->device = stream->context = UINT64_MAX;
    stream->partner = VERIFY_NONE;
    stream->track.id = id;
    if (!ts_reader_track(reader, id, &track)) return;
    stream->track = track;
    // In a hostile trace parents may form a cycle.
    for (int depth = 0; depth < 8; depth++) {
        if (track.type == TS_TRACK_CONTEXT) stream->context = track.number;
        if (track.type == TS_TRACK_DEVICE) stream->device = track.number;
        if (!ts_reader_track(reader, track.parent, &track)) return;
    }
}

// Returns the stream of a track. VERIFY_NONE without memory.
static uint32_t stream_of(loader *l, uint32_t track, bool syncs)
{
    verify_side *const side = l->side;
    const uint64_t key = (uint64_t)track << 1 | syncs;
    const uint32_t known = cli_map_row(&l->stream_of, key);
    if (known != CLI_NONE) return known;
    if (!cli_grow(&side->streams, &l->stream_room,
                  (size_t)side->stream_count + 1, sizeof *side->streams) ||
        !cli_map_set(&l->stream_of, key, side->stream_count))
        return VERIFY_NONE;
    const verify_stream none = { 0 };
    side->streams[side->stream_count] = none;
    describe(l, &side->streams[side->stream_count], track);
    side->streams[side->stream_count].syncs = syncs;
    return side->stream_count++;
}

static bool take_rows(loader *l, const ts_columns *columns)
{
    verify_side *const side = l->side;
    const uint64_t count = (uint64_t)side->op_count + columns->count;
    if (count >= UINT32_MAX ||
        !cli_grow(&side->ops, &l->room, count, sizeof *side->ops))
        return false;
    ts_event event = { .kind = columns->kind, .columns = columns };
    const bool syncs = columns->kind == TS_EVENT_STREAM_SYNC ||
                       columns->kind == TS_EVENT_DEVICE_SYNC ||
                       columns->kind == TS_EVENT_EVENT_SYNC;
    for (uint32_t i = 0; i < columns->count; i++) {
        event.row = i;
        const content c = content_of(l, &event);
        content name = { { c.word[0], c.word[1], UINT64_MAX } };
        const verify_op op = {
            .start_ns = columns->start_ns[i],
            .duration_ns = columns->duration_ns[i],
            .content = number_of(l->all, &c),
            .name = number_of(l->all, &name),
            .chunk = (uint32_t)columns->chunk,
            .row = i,
            .stream = stream_of(
                l, columns->tracks ? columns->tracks[i] : columns->track,
                syncs),
            .communicator = communicator_of(l, &event),
            .partner = VERIFY_NONE,
            .what = VERIFY_SAME,
        };
        if (op.content == VERIFY_NONE || op.name == VERIFY_NONE ||
            op.stream == VERIFY_NONE)
            return false;
        side->ops[side->op_count++] = op;
    }
    return true;
}

// Reads operations in the order of the file. Damaged chunks are left out; the
// reader reports them.
static bool take_all(loader *l)
{
    ts_reader *const reader = l->side->trace.reader;
    ts_columns columns = { 0 };
    ts_chunk_info info;
    bool ok = true;
    for (size_t i = 0; ok && ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event < TS_EVENT_GPU_FIRST ||
            info.header.event >= TS_EVENT_LIMIT)
            continue;
        const ts_result result = ts_reader_decode(reader, i, &columns);
        if (result == TS_OK) ok = take_rows(l, &columns);
        if (result == TS_ERR_MEMORY) ok = false;
    }
    ts_columns_close(reader, &columns);
    return ok;
}

/* ---- Order --------------------------------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const verify_stream *const a = left, *const b = right;
    const uint64_t of_a[] = {
        a->device,       a->context, (uint64_t)a->track.type,
        a->track.number, a->syncs,   a->track.id
    };
    const uint64_t of_b[] = {
        b->device,       b->context, (uint64_t)b->track.type,
        b->track.number, b->syncs,   b->track.id
    };
    for (int i = 0; i < 6; i++)
        if (of_a[i] != of_b[i]) return of_a[i] < of_b[i] ? -1 : 1;
    return 0;
}

// The order of the replay: by start, then end, then position in the file.
static int by_time(const void *left, const void *right)
{
    const verify_op *const a = left, *const b = right;
    if (a->stream != b->stream) return a->stream < b->stream ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->duration_ns != b->duration_ns)
        return a->duration_ns < b->duration_ns ? -1 : 1;
    if (a->chunk != b->chunk) return a->chunk < b->chunk ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static bool sort_all(verify_side *side)
{
    if (!side->op_count) return true;
    uint32_t *const place = malloc((side->stream_count + 1) * sizeof *place);
    if (!place) return false;
    for (uint32_t i = 0; i < side->stream_count; i++)
        side->streams[i].first = i; // its number before sorting
    qsort(side->streams, side->stream_count, sizeof *side->streams, by_place);
    for (uint32_t i = 0; i < side->stream_count; i++)
        place[side->streams[i].first] = i;
    for (uint32_t i = 0; i < side->op_count; i++)
        side->ops[i].stream = place[side->ops[i].stream];
    free(place);
    qsort(side->ops, side->op_count, sizeof *side->ops, by_time);
    uint32_t at = 0;
    for (uint32_t i = 0; i < side->stream_count; i++) {
        side->streams[i].first = at;
        while (at < side->op_count && side->ops[at].stream == i)
            at++;
        side->streams[i].count = at - side->streams[i].first;
    }
    return true;
}

static bool load_side(verify_side *side, verify_contents *all)
{
    loader l = { .side = side, .all = all };
    const bool ok = take_all(&l) && sort_all(side);
    free(l.name_numbers);
    cli_map_close(&l.stream_of);
    free(l.communicators);
    return ok;
}

bool verify_load(verify_side side[2])
{
    verify_contents all = { 0 };
    const content nothing = { { 0 } }; // number 0: no name
    const bool ok = number_of(&all, &nothing) == 0 &&
                    load_side(&side[0], &all) && load_side(&side[1], &all);
    free(all.known);
    cli_index_close(&all.index);
    return ok;
}

void verify_close(verify_side *side)
{
    ts_columns_close(side->trace.reader, &side->columns);
    free(side->ops);
    free(side->streams);
}

bool verify_event(verify_side *side, uint32_t op, ts_event *event)
{
    const verify_op *const o = &side->ops[op];
    if (!side->columns_good || side->columns_chunk != o->chunk) {
        side->columns_chunk = o->chunk;
        side->columns_good = ts_reader_decode(side->trace.reader, o->chunk,
                                              &side->columns) == TS_OK;
    }
    if (!side->columns_good) return false;
    event->kind = side->columns.kind;
    event->track = side->streams[o->stream].track.id;
    event->start_ns = o->start_ns;
    event->duration_ns = o->duration_ns;
    event->columns = &side->columns;
    event->row = o->row;
    return true;
}
