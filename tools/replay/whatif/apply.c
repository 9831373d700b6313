/*
    apply.c - what-ifs as changes to a replay
*/
#include "tools/replay/whatif/whatif.h"

static bool works(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL || kind == TS_EVENT_MEMCPY ||
           kind == TS_EVENT_MEMSET || kind == TS_EVENT_COLLECTIVE;
}

// Appends a change that matches no operation yet.
static ts_change *add_change(const ts_replay *replay, whatif_changes *changes,
                             ts_change_type type)
{
    ts_change *const list =
        realloc(changes->list, (changes->count + 1) * sizeof *list);
    if (!list) return NULL;
    changes->list = list;
    const size_t count = ts_replay_graph(replay).operation_count;
    bool *const operations = calloc(count + 1, sizeof *operations);
    if (!operations) return NULL;
    ts_change *const change = &list[changes->count++];
    const ts_change fresh = { .type = type, .operations = operations };
    *change = fresh;
    return change;
}

void whatif_changes_close(whatif_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++) {
        free((void *)(uintptr_t)changes->list[i].operations);
        free((void *)(uintptr_t)changes->list[i].sizes);
    }
    free(changes->list);
    const whatif_changes none = { 0 };
    *changes = none;
}

static void mean(whatif_changes *changes, ts_change *change, uint32_t op)
{
    ((bool *)(uintptr_t)change->operations)[op] = true;
    changes->meant++;
}

// Caches the result of matching for each label, as names repeat.
typedef struct label_cache {
    uint8_t *answer; // by label: 0 unknown, 1 no, 2 yes
    size_t count;
} label_cache;

// Event records, waits and syncs match only if their kind is given.
bool whatif_matches_kind(const whatif *w, ts_event_kind kind)
{
    return w->kind ? w->kind == (uint32_t)kind
                   : works(kind) || kind == TS_EVENT_HOST_FUNCTION;
}

static bool operation_matches(const whatif *w, const ts_replay *replay,
                              const ts_operation *o, label_cache *cache)
{
    if (!whatif_matches_kind(w, o->kind)) return false;
    const ts_reader *const reader = ts_replay_reader(replay, o->file);
    const size_t slot =
        ((size_t)o->file * 32 + (size_t)o->kind) * 65536 + (o->label & 0xFFFF);
    const bool cached = o->label < 65536 && slot < cache->count;
    if (cached && cache->answer[slot]) return cache->answer[slot] == 2;
    const bool yes =
        cli_regex_matches(&w->regex, ts_operation_label(reader, o));
    if (cached) cache->answer[slot] = yes ? 2 : 1;
    return yes;
}

// A collective matches by its operation and by the name of its kernel.
static bool kernel_matches(const whatif *w, const ts_replay *replay,
                           const ts_operation *o, uint64_t number)
{
    ts_reader *const reader = ts_replay_reader(replay, o->file);
    const ts_launch_entry *const launch =
        number ? ts_reader_launch(reader, (uint32_t)number) : NULL;
    return launch &&
           cli_regex_matches(&w->regex, ts_reader_name(reader, launch->name));
}

static bool mean_matching(const whatif *w, const ts_replay *replay,
                          whatif_changes *changes, ts_change *change)
{
    uint64_t *const launches =
        whatif_column(replay, TS_COLUMN_LAUNCH, TS_FILTER(COLLECTIVE));
    label_cache cache = { calloc(32, 65536), 32 * 65536 };
    if (!cache.answer) cache.count = 0;
    ts_operation o;
    for (uint32_t i = 0; launches && ts_replay_operation(replay, i, &o); i++)
        if (operation_matches(w, replay, &o, &cache) ||
            (launches[i] && whatif_matches_kind(w, o.kind) &&
             kernel_matches(w, replay, &o, launches[i])))
            mean(changes, change, i);
    free(cache.answer);
    free(launches);
    return launches;
}

static void mean_kind(const whatif *w, const ts_replay *replay,
                      whatif_changes *changes, ts_change *change,
                      ts_event_kind kind)
{
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++)
        if (o.kind == kind && (kind != TS_EVENT_MEMCPY ||
                               (o.label < 32 && w->directions >> o.label & 1)))
            mean(changes, change, i);
}

static int64_t time_of(const ts_replay *replay, const ts_change *change)
{
    int64_t sum = 0;
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++)
        if (change->operations[i])
            sum += o.recorded_end_ns - o.recorded_start_ns;
    return sum;
}

// Changes bandwidth and latency of copies or collectives.
static bool apply_link(const whatif *w, const ts_replay *replay,
                       whatif_changes *changes)
{
    const bool link = w->has_bandwidth || w->has_latency;
    ts_change *const change = add_change(
        replay, changes, link ? TS_CHANGE_TRANSFER : TS_CHANGE_SCALE);
    if (!change) return false;
    change->factor = w->factor;
    change->has_ns = w->has_latency;
    change->ns = w->ns;
    mean_kind(w, replay, changes, change,
              w->verb == WHATIF_COPY ? TS_EVENT_MEMCPY : TS_EVENT_COLLECTIVE);
    if (!link) return true;
    change->sizes = whatif_column(replay, TS_COLUMN_SIZE,
                                  TS_FILTER(MEMCPY) | TS_FILTER(COLLECTIVE));
    if (change->sizes && !whatif_sizes_differ(replay, change))
        changes->unsized_ns += time_of(replay, change);
    return change->sizes;
}

// Finds the file of a rank: by its metadata, else by its number.
static uint32_t part_of_rank(const ts_replay *replay, uint32_t rank)
{
    ts_replay_part part;
    bool any = false;
    for (uint32_t i = 0; ts_replay_part_at(replay, i, &part); i++) {
        ts_metadata m;
        if (!ts_reader_metadata(ts_replay_reader(replay, part.file),
                                part.process, "rank", &m) ||
            m.type != TS_VALUE_INT)
            continue;
        any = true;
        if (m.number == (int64_t)rank) return i;
    }
    return !any && ts_replay_part_at(replay, rank, &part) ? rank : UINT32_MAX;
}

static bool apply_straggler(const whatif *w, const ts_replay *replay,
                            whatif_changes *changes, const char **why)
{
    const uint32_t part = part_of_rank(replay, w->number);
    if (part == UINT32_MAX) {
        *why = "no trace has this rank";
        return false;
    }
    ts_change *change = add_change(replay, changes, TS_CHANGE_SCALE);
    if (!change) return false;
    change->factor = w->factor;
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++)
        if (o.part == part && works(o.kind) && o.kind != TS_EVENT_COLLECTIVE)
            mean(changes, change, i);
    change = add_change(replay, changes, TS_CHANGE_HOST);
    if (!change) return false;
    change->factor = w->factor;
    change->one_part = true;
    change->part = part;
    return true;
}

// Whether a stream is "7", "0:7" (device:stream) or has that name.
static bool is_stream(const ts_replay *replay, const ts_lane *lane,
                      const char *word)
{
    const ts_reader *const reader = ts_replay_reader(replay, lane->file);
    ts_track stream, device;
    if (!ts_reader_track(reader, lane->track, &stream)) return false;
    const bool owned = ts_reader_track(reader, lane->device, &device);
    const cli_text number = cli_format("%" PRIu64, stream.number);
    const cli_text both = cli_format("%" PRIu64 ":%" PRIu64,
                                     owned ? device.number : 0, stream.number);
    return !strcmp(word, number.s) || !strcmp(word, both.s) ||
           (stream.name.size == strlen(word) &&
            !memcmp(stream.name.text, word, stream.name.size));
}

// Moves operations to the stream of the given name on their own device.
static bool apply_streams(const whatif *w, const ts_replay *replay,
                          whatif_changes *changes, const char **why)
{
    ts_lane lane;
    bool any = false;
    for (size_t k = 0; ts_replay_lane(replay, k, &lane); k++) {
        if (!is_stream(replay, &lane, w->word)) continue;
        any = true;
        ts_change *const change = add_change(replay, changes, TS_CHANGE_MOVE);
        if (!change) return false;
        change->track = lane.track;
        if (!mean_matching(w, replay, changes, change)) return false;
        ts_operation o;
        for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++) {
            bool *const meant = (bool *)(uintptr_t)change->operations + i;
            if (!*meant || (o.file == lane.file && o.device == lane.device))
                continue;
            *meant = false;
            changes->meant--;
        }
    }
    if (!any) *why = "no operation ran on this stream";
    return any;
}

static bool apply_matching(const whatif *w, const ts_replay *replay,
                           whatif_changes *changes, ts_change_type type)
{
    ts_change *const change = add_change(replay, changes, type);
    if (!change) return false;
    change->factor = w->factor;
    change->ns = w->ns;
    return mean_matching(w, replay, changes, change);
}

// Applies a change to all operations.
static bool apply_all(const whatif *w, const ts_replay *replay,
                      whatif_changes *changes, ts_change_type type)
{
    ts_change *const change = add_change(replay, changes, type);
    if (!change) return false;
    free((void *)(uintptr_t)change->operations);
    change->operations = NULL;
    change->factor = w->factor;
    changes->meant += ts_replay_graph(replay).operation_count;
    return true;
}

bool whatif_apply(const whatif *w, const ts_replay *replay,
                  whatif_changes *changes, const char **why)
{
    *why = NULL;
    switch (w->verb) {
    case WHATIF_SCALE:
        return apply_matching(w, replay, changes, TS_CHANGE_SCALE);
    case WHATIF_REMOVE:
        return apply_matching(w, replay, changes, TS_CHANGE_REMOVE);
    case WHATIF_INSERT:
        return apply_matching(w, replay, changes, TS_CHANGE_INSERT);
    case WHATIF_FUSE: return apply_matching(w, replay, changes, TS_CHANGE_FUSE);
    case WHATIF_COPY:
    case WHATIF_NETWORK: return apply_link(w, replay, changes);
    case WHATIF_ENGINES:
        changes->copy_engines = w->number;
        changes->meant += ts_replay_graph(replay).operation_count;
        return true;
    case WHATIF_STREAMS: return apply_streams(w, replay, changes, why);
    case WHATIF_SERIALISE:
        return apply_all(w, replay, changes, TS_CHANGE_SERIALISE);
    case WHATIF_NO_LAUNCH:
        return apply_all(w, replay, changes, TS_CHANGE_NO_LAUNCH);
    case WHATIF_HOST: return apply_all(w, replay, changes, TS_CHANGE_HOST);
    case WHATIF_STRAGGLER: return apply_straggler(w, replay, changes, why);
    case WHATIF_OVERLAP:
        return apply_all(w, replay, changes, TS_CHANGE_OVERLAP);
    }
    return false;
}
