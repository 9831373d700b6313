/*
    rule_bucket.c - advice: many small collectives in a row
*/
#include "tools/analyze/advice/rule.h"
#include "tools/cli/search.h"

// The minimum duration of collectives of a name, whatever their size.
typedef struct least {
    uint32_t file;
    uint64_t name;
    int64_t ns;
} least;

enum { NAMES_MOST = 64 }; // further names have no minimum
typedef struct leasts {
    least of[NAMES_MOST];
    size_t count;
} leasts;

static least *least_of(const advice *a, leasts *all, uint32_t op)
{
    const uint64_t name = advice_value(a, op, TS_COLUMN_NAME);
    for (size_t i = 0; i < all->count; i++)
        if (all->of[i].name == name && all->of[i].file == a->ops[op].file)
            return &all->of[i];
    if (all->count == NAMES_MOST) return NULL;
    const least fresh = { a->ops[op].file, name, INT64_MAX };
    all->of[all->count] = fresh;
    return &all->of[all->count++];
}

static void find_leasts(const advice *a, leasts *all)
{
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!advice_communicates(&a->ops[i])) continue;
        least *const of = least_of(a, all, i);
        if (of && advice_length(&a->ops[i]) < of->ns)
            of->ns = advice_length(&a->ops[i]);
    }
}

// Whether a collective is small: by size, or by time if the source lacks sizes.
static bool is_small(const advice *a, uint32_t op, uint64_t most,
                     int64_t time_ns)
{
    const advice_op *const o = &a->ops[op];
    return advice_communicates(o) &&
           (advice_size(a, o) ? advice_size(a, o) <= most
                              : advice_length(o) <= time_ns);
}

static bool can_join(const advice *a, uint32_t op, uint64_t most,
                     int64_t time_ns)
{
    const uint32_t before = a->ops[op].before;
    return is_small(a, op, most, time_ns) && before != TS_NODE_NONE &&
           is_small(a, before, most, time_ns) &&
           advice_value(a, op, TS_COLUMN_NAME) ==
               advice_value(a, before, TS_COLUMN_NAME) &&
           advice_value(a, op, TS_COLUMN_COMMUNICATOR) ==
               advice_value(a, before, TS_COLUMN_COMMUNICATOR);
}

/* ---- Host zones around collectives -------------------------------------- */

// Words in the names of zones in which frameworks issue collectives.
static const char *const issuing[] = {
    "nccl:",          "rccl:",      "c10d::",    "all_reduce", "allreduce",
    "reduce_scatter", "all_gather", "broadcast", NULL
};

static int by_start(const void *left, const void *right)
{
    const ts_host_span *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void list_zones(advice *a, uint32_t file, advice_spans *zones)
{
    ts_reader *const reader = analyze_reader(a->job, file);
    const ts_filter filter = { .kinds = TS_FILTER(ZONE) };
    const size_t sites = (size_t)analyze_info(a->job, file)->site_count + 2;
    uint8_t *const known = calloc(sites, 1); // 0: unset, 1: no, 2: yes
    ts_replay_file place = { 0 };
    ts_cursor *cursor;
    ts_event event;
    ts_replay_file_at(a->replay, file, &place);
    if (!known || ts_cursor_open(&cursor, reader, &filter) != TS_OK) {
        a->failed = true;
        free(known);
        return;
    }
    while (ts_cursor_next(cursor, &event)) {
        const uint32_t site = (uint32_t)ts_event_value(&event, TS_COLUMN_SITE);
        uint8_t is = site < sites ? known[site] : 0;
        if (!is)
            is = advice_has_word(ts_reader_site_name(reader, site), issuing)
                     ? 2
                     : 1;
        if (site < sites) known[site] = is;
        if (is == 2)
            advice_span_add(
                a, zones, file, event.track, event.start_ns + place.offset_ns,
                event.start_ns + place.offset_ns + event.duration_ns);
    }
    ts_cursor_close(cursor);
    free(known);
}

// Returns the outermost of these zones at a time. They are nested: it is one of
// the last few that began before.
static const ts_host_span *zone_around(const advice_spans *zones,
                                       const ts_host_span *at)
{
    size_t low = 0, high = zones->count;
    while (low < high)
        cli_halve(&low, &high,
                  by_start(&zones->list[cli_middle(low, high)], at) <= 0);
    const ts_host_span *found = NULL;
    for (int depth = 0; low-- > 0 && depth < 8; depth++) {
        const ts_host_span *const z = &zones->list[low];
        if (z->file != at->file || z->thread != at->thread) break;
        if (z->end_ns > at->start_ns) found = z;
    }
    return found;
}

// Collects the zones around the calls of joined collectives, which the joined
// one does not need.
static void spare_zones(advice *a, const bool *joined, advice_spans *spans)
{
    advice_spans zones = { 0 };
    for (uint32_t i = 0; i < a->job->file_count && !a->failed; i++)
        list_zones(a, i, &zones);
    if (zones.count > 1)
        qsort(zones.list, zones.count, sizeof *zones.list, by_start);
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!joined[i] || !advice_is_call(a, a->ops[i].call)) continue;
        const ts_node n = advice_node(a, a->ops[i].call);
        const ts_host_span at = { n.file, n.track, n.recorded_ns, 0 };
        const ts_host_span *const z = zone_around(&zones, &at);
        if (z)
            advice_span_add(a, spans, z->file, z->thread, z->start_ns,
                            z->end_ns);
    }
    free(zones.list);
}

/* ---- small-collectives --------------------------------------------------- */

void rule_small_collectives(advice *a, const advice_rule *rule)
{
    const uint64_t most = (uint64_t)advice_limit(a, rule, "size");
    advice_mask mask = advice_mask_open(a);
    const int64_t time_ns = advice_limit(a, rule, "time");
    uint64_t bytes = 0;
    leasts all = { .count = 0 };
    find_leasts(a, &all);
    int64_t *const durations = calloc(a->op_count + 1, sizeof *durations);
    bool *const joined = calloc(a->op_count + 1, sizeof *joined);
    advice_spans spans = { 0 };
    if (!durations || !joined) a->failed = true;
    for (uint32_t i = 0; !a->failed && i < a->op_count; i++) {
        const int64_t length = advice_length(&a->ops[i]);
        durations[i] = length > 0 ? length : 0;
        if (!can_join(a, i, most, time_ns)) continue;
        const least *const of = least_of(a, &all, i);
        if (of) durations[i] -= of->ns < durations[i] ? of->ns : durations[i];
        joined[i] = true;
        if (!mask.means[a->ops[i].before])
            bytes += advice_size(a, &a->ops[a->ops[i].before]);
        advice_mask_add(a, &mask, a->ops[i].before);
        advice_mask_add(a, &mask, i);
        bytes += advice_size(a, &a->ops[i]);
    }
    if (!a->failed && mask.count &&
        (int64_t)mask.count >= advice_limit(a, rule, "count")) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        f->durations_ns = durations;
        advice_change(a, f, TS_CHANGE_FUSE, &mask);
        spare_zones(a, joined, &spans);
        const bool zones = spans.count != 0;
        if (zones) advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title, "many small collectives in sequence");
        ADVICE_SAY(a, f, what,
                   "%s of at most %s directly follow another of the same kind: "
                   "%s in total, %s each on average.",
                   cli_counted(mask.count, "collective", "collectives").s,
                   bytes ? cli_bytes(most).s : cli_time(time_ns).s,
                   cli_time(mask.ns).s,
                   cli_time(mask.ns / (int64_t)mask.count).s);
        ADVICE_SAY(a, f, todo,
                   "Combine them into one (larger buckets, coalescing, group "
                   "calls): each has the same latency.");
        ADVICE_SAY(a, f, how,
                   "replay in which the following ones need no launch%s and no "
                   "latency, taken as the shortest duration of their kind",
                   zones ? ", no time in the host's zones that issue them"
                         : "");
    } else {
        free(durations);
    }
    advice_mask_close(&mask);
    free(spans.list);
    free(joined);
}
