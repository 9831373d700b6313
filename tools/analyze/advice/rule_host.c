/*
    rule_host.c - advice: what the host does while devices wait for it
*/
#include "tools/analyze/figures/base/host_position.h"
#include "tools/analyze/figures/base/groups.h"
#include "tools/analyze/job/sums.h"
#include "tools/cli/search.h"
#include "tools/analyze/advice/rule.h"

/* ---- host-bound ---------------------------------------------------------- */

void rule_host_bound(advice *a, const advice_rule *rule)
{
    const int64_t host = a->cost_ns[TS_COST_HOST];
    if (!advice_reaches(a, rule, "share", host, a->recorded_ns)) return;
    const uint32_t percent = (uint32_t)advice_limit(a, rule, "assumed") / 100;
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    advice_finding *const f = advice_find(a, rule);
    ts_change *const change = advice_change(a, f, TS_CHANGE_HOST, NULL);
    change->factor.num = percent;
    change->factor.den = 100;
    advice_show_time(f, a->longest.file, a->longest.from_ns, a->longest.to_ns);
    f->assumed = true;
    f->of_host = true;
    ADVICE_SAY(a, f, title, "the host limits the run");
    ADVICE_SAY(
        a, f, what,
        "%s of the critical path (%s) is spent on the host; devices are busy "
        "for %s of their time.",
        cli_time(host).s, report_words(report_share(host, a->recorded_ns)).s,
        report_words(report_share(t->busy_ns, t->busy_ns + t->idle_ns)).s);
    ADVICE_SAY(a, f, todo,
               "Faster kernels would not help. Do less work on the host "
               "between launches (see host-zone), launch less often (graphs, "
               "compiled models, larger batches), or launch from a dedicated "
               "thread.");
    ADVICE_SAY(a, f, how,
               "replay in which the host takes %" PRIu32 " %% of its time",
               percent);
}

/* ---- host-zone, data-loading --------------------------------------------- */

static const char *const loading[] = {
    "DataLoader", "dataloader", "data_loader", "Dataloader",
    "load_data",  "load_batch", "get_batch",   "fetch_data",
    "collate",    "_next_data", "prefetch",    NULL
};

typedef struct zone_parts {
    advice *a;
    names_index *names;
    sums zones;     // by group of `names`: a name, on any rank
    uint32_t group; // group whose spans are collected, if `collects`
    bool collects;
    uint32_t file;               // file of the longest span
    bool loads;                  // collects spans of data loading
    advice_spans spans, longest; // longest: one span
    uint32_t loader;             // site of the longest one, in `file`
    uint8_t *known;              // by file and site
    size_t stride;
} zone_parts;

static ts_text site_name(const advice *a, uint32_t file, uint32_t site)
{
    return advice_short(
        a, ts_reader_site_name(analyze_reader(a->job, file), site));
}

// Whether a zone loads data. The result is cached by site: 1 no, 2 yes.
static bool loads_data(zone_parts *z, uint32_t file, uint32_t site)
{
    const ts_reader *const reader = analyze_reader(z->a->job, file);
    const size_t at = file * z->stride + site;
    if (!z->known || site >= z->stride) return false;
    if (!z->known[at])
        z->known[at] =
            advice_has_word(ts_reader_site_name(reader, site), loading) ? 2 : 1;
    return z->known[at] == 2;
}

// Returns the site of the outermost zone that loads data; 0: none.
static uint32_t loading_site(zone_parts *z, uint32_t file,
                             const inside_frame *frames, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++)
        if (!frames[i].call && loads_data(z, file, frames[i].id))
            return frames[i].id;
    return 0;
}

// Adds a span. Returns true if it is the longest so far.
static bool collect(zone_parts *z, const inside_span *span, int64_t from_ns,
                    int64_t to_ns)
{
    advice_span_add(z->a, &z->spans, span->file, span->thread, from_ns, to_ns);
    if (z->longest.count &&
        z->longest.list[0].end_ns - z->longest.list[0].start_ns >=
            to_ns - from_ns)
        return false;
    z->longest.count = 0;
    advice_span_add(z->a, &z->longest, span->file, span->thread, from_ns,
                    to_ns);
    return true;
}

// Whether the host is in a call that other rules cover: allocation, code
// loading, ...
static bool is_elsewhere(const advice *a, const inside_span *span,
                         const inside_frame *frames, uint32_t depth)
{
    const inside_frame *const call = inside_call(frames, depth);
    return call &&
           call_class_of(ts_reader_name(analyze_reader(a->job, span->file),
                                        call->id)) != CALL_OTHER;
}

static void count_part(void *user, const inside_span *span, int64_t from_ns,
                       int64_t to_ns, const inside_frame *frames,
                       uint32_t depth)
{
    zone_parts *const z = user;
    const inside_frame *const zone = inside_zone(frames, depth);
    if (!zone || (!z->loads && is_elsewhere(z->a, span, frames, depth))) return;
    if (z->loads) {
        const uint32_t site = loading_site(z, span->file, frames, depth);
        if (site && collect(z, span, from_ns, to_ns)) {
            z->file = span->file;
            z->loader = site;
        }
    } else {
        const uint32_t group = names_add(z->names, z->a->replay, span->file,
                                         TS_EVENT_ZONE, zone->id);
        if (z->collects && group == z->group)
            collect(z, span, from_ns, to_ns);
        else if (!z->collects &&
                 (group == TS_NODE_NONE ||
                  !sums_add(&z->zones, group, to_ns - from_ns, 0)))
            z->a->failed = true;
    }
}

// Reads the zones and calls that were open during these spans.
static bool walk(advice *a, zone_parts *z, inside_span *spans, size_t count)
{
    const bool ok =
        spans && inside_parts(a->replay, spans, count, count_part, z);
    free(spans);
    if (!ok) a->failed = true;
    return ok;
}

static inside_span span_of(const advice_part *part, size_t index)
{
    return (inside_span){ part->file,  part->thread, part->from_ns,
                          part->to_ns, index,        0 };
}

// Collects the host time on the critical path.
static bool walk_path(advice *a, zone_parts *z)
{
    inside_span *const spans = calloc(a->part_count + 1, sizeof *spans);
    for (size_t i = 0; spans && i < a->part_count; i++)
        spans[i] = span_of(&a->parts[i], i);
    return walk(a, z, spans, a->part_count);
}

typedef struct host_thread {
    uint64_t key; // file and thread
    uint32_t count, first;
    uint32_t row; // in order of the first call
} host_thread;

static int by_key(const void *left, const void *right)
{
    const host_thread *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static uint64_t thread_key(const advice *a, uint32_t call)
{
    const ts_node n = advice_node(a, call);
    return (uint64_t)n.file << 32 | n.track;
}

// Counts the calls of each thread. `row_of` receives the row of each call.
static bool count_calls(const advice *a, host_thread **threads, size_t *count,
                        uint32_t *row_of)
{
    cli_map rows = { 0 };
    size_t room = 0;
    uint32_t row = CLI_NONE;
    bool ok = true;
    for (uint32_t i = 0; ok && i < a->graph.call_count; i++) {
        const uint64_t key = thread_key(a, (uint32_t)a->op_count + i);
        if (row == CLI_NONE || (*threads)[row].key != key)
            row = cli_map_row(&rows, key);
        if (row == CLI_NONE) {
            row = (uint32_t)*count;
            ok = cli_grow(threads, &room, *count + 1, sizeof **threads) &&
                 cli_map_set(&rows, key, row);
            if (ok) (*threads)[(*count)++] = (host_thread){ key, 0, 0, row };
        }
        if (ok) (*threads)[row].count++;
        row_of[i] = row;
    }
    cli_map_close(&rows);
    return ok;
}

// Lists the calls by file and thread, then in order of start, which is that of
// their numbers. Returns NULL if memory runs out.
static uint32_t *list_calls(const advice *a)
{
    const uint32_t calls = a->graph.call_count;
    uint32_t *order = malloc(((size_t)calls + 1) * sizeof *order);
    uint32_t *const row_of = malloc(((size_t)calls + 1) * sizeof *row_of);
    host_thread *threads = NULL;
    size_t count = 0;
    bool ok = order && row_of && count_calls(a, &threads, &count, row_of);
    uint32_t *const next = ok ? malloc((count + 1) * sizeof *next) : NULL;
    ok = ok && next;
    if (ok && count > 1) qsort(threads, count, sizeof *threads, by_key);
    uint32_t sum = 0;
    for (size_t i = 0; ok && i < count; i++) {
        next[threads[i].row] = sum;
        sum += threads[i].count;
    }
    for (uint32_t i = 0; ok && i < calls; i++)
        order[next[row_of[i]]++] = (uint32_t)a->op_count + i;
    free(next);
    free(row_of);
    free(threads);
    if (ok) return order;
    free(order);
    return NULL;
}

// Returns the wait of a call; NULL: it does not wait.
static const advice_wait *wait_of(const advice *a, uint32_t call)
{
    size_t low = 0, high = a->wait_count;
    while (low < high)
        cli_halve(&low, &high, a->waits[cli_middle(low, high)].call < call);
    return low < a->wait_count && a->waits[low].call == call ? &a->waits[low]
                                                             : NULL;
}

// Collects all host time of threads with calls, except waits. Faster host code
// is faster everywhere; if only the path were changed, another thread or rank
// would take its place.
static bool walk_threads(advice *a, zone_parts *z)
{
    advice_load_waits(a);
    uint32_t *const calls = a->failed ? NULL : list_calls(a);
    inside_span *spans = NULL;
    size_t count = 0, room = 0;
    advice_part before = { 0 }; // previous call of the same thread
    if (!calls) a->failed = true;
    for (uint32_t i = 0; !a->failed && i < a->graph.call_count; i++) {
        const ts_node n = advice_node(a, calls[i]);
        const advice_wait *const wait = wait_of(a, calls[i]);
        const int64_t end = wait ? wait->end_ns : n.recorded_ns + n.duration_ns;
        const bool follows =
            i && before.file == n.file && before.thread == n.track;
        const advice_part part = { n.file, n.track,
                                   follows ? before.to_ns : n.recorded_ns,
                                   wait ? n.recorded_ns : end };
        before = (advice_part){ n.file, n.track, n.recorded_ns, end };
        if (part.to_ns <= part.from_ns) continue;
        if (cli_grow(&spans, &room, count + 1, sizeof *spans)) {
            spans[count] = span_of(&part, count);
            count++;
        } else {
            a->failed = true;
        }
    }
    free(calls);
    if (a->failed || !count) {
        free(spans);
        return !a->failed;
    }
    return walk(a, z, spans, count) && !a->failed;
}

static void close_parts(zone_parts *z)
{
    sums_close(&z->zones);
    free(z->known);
    free(z->spans.list);
    free(z->longest.list);
}

static void find_zone(advice *a, const advice_rule *rule, names_index *names,
                      const sums_row *zone)
{
    const uint32_t group = (uint32_t)zone->key;
    zone_parts z = { .a = a, .names = names, .group = group, .collects = true };
    zone_parts all = z;
    if (walk_path(a, &z) && z.spans.count && walk_threads(a, &all)) {
        const ts_text name = advice_short(a, names->groups[group].text);
        const uint64_t count = z.spans.count;
        const ts_host_span longest = z.longest.list[0];
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, longest.file, longest.start_ns, longest.end_ns);
        advice_spare(a, f, &all.spans);
        f->held_ns = zone->ns;
        ADVICE_SAY(a, f, title, "devices wait for '%.*s' on the host",
                   (int)name.size, name.text);
        ADVICE_SAY(
            a, f, what,
            "The work of the host in '%.*s' itself, excluding inner zones and "
            "allocations, delays the critical path by %s, %s, by at most %s at "
            "once.",
            (int)name.size, name.text, cli_time(zone->ns).s,
            cli_counted(count, "time", "times").s,
            cli_time(longest.end_ns - longest.start_ns).s);
        ADVICE_SAY(a, f, todo,
                   "Make this code faster, run it on the device, or run it "
                   "ahead of time on another thread while the device works.");
        ADVICE_SAY(a, f, how, "replay in which this code takes no time");
    }
    close_parts(&z);
    close_parts(&all);
}

void rule_host_zone(advice *a, const advice_rule *rule)
{
    names_index names;
    zone_parts z = { .a = a, .names = &names };
    const size_t most = (size_t)advice_limit(a, rule, "zones");
    if (!names_of_job(&names, a->job)) {
        a->failed = true;
    } else if (walk_path(a, &z)) {
        sums_sort(&z.zones);
        for (size_t i = 0; i < z.zones.count && i < most; i++)
            if (!names_waits(names.groups[z.zones.rows[i].key].text) &&
                advice_reaches(a, rule, "share", z.zones.rows[i].ns,
                               a->makespan_ns))
                find_zone(a, rule, &names, &z.zones.rows[i]);
    }
    close_parts(&z);
    names_close(&names);
}

void rule_data_loading(advice *a, const advice_rule *rule)
{
    zone_parts z = { .a = a, .loads = true };
    for (uint32_t i = 0; i < a->job->file_count; i++) {
        const size_t sites = (size_t)analyze_info(a->job, i)->site_count + 1;
        if (sites > z.stride) z.stride = sites;
    }
    z.known = calloc(z.stride * a->job->file_count, 1);
    if (!z.known) a->failed = true;
    zone_parts all = z;
    if (walk_path(a, &z) &&
        advice_reaches(a, rule, "share", z.spans.ns, a->makespan_ns) &&
        z.spans.count && walk_threads(a, &all)) {
        const int64_t ns = z.spans.ns;
        const ts_text name = site_name(a, z.file, z.loader);
        const ts_host_span longest = z.longest.list[0];
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, longest.file, longest.start_ns, longest.end_ns);
        advice_spare(a, f, &all.spans);
        f->held_ns = ns;
        ADVICE_SAY(a, f, title, "devices wait for data");
        ADVICE_SAY(a, f, what,
                   "Loading data delays the critical path by %s, by at most %s "
                   "at once, in '%.*s'.",
                   cli_time(ns).s,
                   cli_time(longest.end_ns - longest.start_ns).s,
                   (int)name.size, name.text);
        ADVICE_SAY(a, f, todo,
                   "Load data ahead of time on other threads or processes "
                   "(workers, prefetching, pinned memory), or decode it on the "
                   "device.");
        ADVICE_SAY(a, f, how, "replay in which loading takes no time");
    }
    all.known = NULL; // shared by both
    close_parts(&z);
    close_parts(&all);
}

/* ---- contended-launches -------------------------------------------------- */

typedef struct launch {
    uint32_t file, thread;
    int64_t start_ns, end_ns;
    bool shared; // overlaps a call of another thread
} launch;

static int by_start(const void *left, const void *right)
{
    const launch *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

// Lists the calls that launched work and did not wait for it.
static launch *list_launches(advice *a, size_t *count)
{
    advice_load_waits(a);
    launch *const all = calloc(a->graph.call_count + 1, sizeof *all);
    *count = 0;
    size_t wait = 0;
    for (uint32_t i = 0; all && a->call_op && i < a->graph.call_count; i++) {
        const uint32_t call = (uint32_t)a->op_count + i;
        if (wait < a->wait_count && a->waits[wait].call == call) {
            wait++;
            continue;
        }
        if (a->call_op[i] == TS_NODE_NONE) continue;
        const ts_node n = advice_node(a, call);
        const launch one = { n.file, n.track, n.recorded_ns,
                             n.recorded_ns + n.duration_ns, false };
        all[(*count)++] = one;
    }
    if (!all) a->failed = true;
    if (all) cli_sort(all, *count, sizeof *all, by_start);
    return all;
}

// Marks overlapping calls. Each call is compared with the two previous calls,
// of two threads, that end last.
static void mark_shared(launch *all, size_t count)
{
    size_t last = SIZE_MAX, other = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (last != SIZE_MAX && all[last].file != all[i].file)
            last = other = SIZE_MAX;
        const size_t rival =
            last != SIZE_MAX && all[last].thread != all[i].thread ? last
                                                                  : other;
        if (rival != SIZE_MAX && all[rival].end_ns > all[i].start_ns)
            all[i].shared = all[rival].shared = true;
        if (last != SIZE_MAX && all[last].thread != all[i].thread) other = last;
        if (last == SIZE_MAX || all[last].thread != all[i].thread ||
            all[i].end_ns > all[last].end_ns)
            last = i;
    }
}

static int64_t median_alone(const launch *all, size_t count, bool shared,
                            uint64_t *number)
{
    int64_t *const lengths = calloc(count + 1, sizeof *lengths);
    size_t n = 0;
    for (size_t i = 0; lengths && i < count; i++)
        if (all[i].shared == shared)
            lengths[n++] = all[i].end_ns - all[i].start_ns;
    if (lengths) cli_sort_numbers(lengths, n);
    const int64_t middle = lengths ? sums_quantile(lengths, n, 500) : 0;
    free(lengths);
    *number = n;
    return middle;
}

void rule_contended_launches(advice *a, const advice_rule *rule)
{
    size_t count;
    launch *const all = list_launches(a, &count);
    uint64_t alone, shared;
    if (!all) return;
    mark_shared(all, count);
    const int64_t usual = median_alone(all, count, false, &alone);
    const int64_t slow = median_alone(all, count, true, &shared);
    const uint64_t least = (uint64_t)advice_limit(a, rule, "count");
    advice_spans spans = { 0 };
    const launch *longest = NULL;
    if (alone >= least && shared >= least &&
        advice_reaches(a, rule, "slowdown", slow, usual))
        for (size_t i = 0; i < count; i++) {
            if (!all[i].shared) continue;
            advice_span_add(a, &spans, all[i].file, all[i].thread,
                            all[i].start_ns + usual, all[i].end_ns);
            if (!longest || all[i].end_ns - all[i].start_ns >
                                longest->end_ns - longest->start_ns)
                longest = &all[i];
        }
    if (longest) {
        advice_finding *const f = advice_find(a, rule);
        advice_show_time(f, longest->file, longest->start_ns, longest->end_ns);
        advice_spare(a, f, &spans);
        ADVICE_SAY(a, f, title,
                   "threads launch concurrently and delay each other");
        ADVICE_SAY(a, f, what,
                   "%s launches that overlap with a launch of another thread "
                   "take %s in the median, %s other launches %s: %s more in "
                   "total.",
                   cli_count(shared).s, cli_time(slow).s, cli_count(alone).s,
                   cli_time(usual).s, cli_time(spans.ns).s);
        ADVICE_SAY(a, f, todo,
                   "Launch from one thread, or capture the launches of one "
                   "thread into a graph: the driver takes a lock for each "
                   "launch.");
        ADVICE_SAY(a, f, how,
                   "replay in which these launches take no longer than the "
                   "median of the others");
    }
    free(spans.list);
    free(all);
}
