/*
    rule_skew.c - advice: ranks for which all others wait
*/
#include "tools/analyze/job/sums.h"
#include "tools/analyze/advice/rule.h"

// A member of a rendezvous. Sorted by rendezvous and start, they show which
// rank arrived last, and how much later than the one before.
typedef struct member {
    uint32_t join, op;
    int64_t start_ns;
} member;

typedef struct rank_time {
    uint64_t last;     // rendezvous at which it arrived last
    int64_t late_ns;   // time by which the others could have continued earlier
    int64_t caused_ns; // waiting time of all others
    int64_t work_ns;   // time between rendezvous
    int64_t from_ns;   // latest end of its previous rendezvous
    bool seen;
    uint32_t latest; // operation of the worst case
    int64_t latest_ns;
} rank_time;

static int by_rendezvous(const void *left, const void *right)
{
    const member *const a = left, *const b = right;
    if (a->join != b->join) return a->join < b->join ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

// Lists the members. Each has an edge from its start to the node of its
// rendezvous.
static member *list_members(advice *a, size_t *count)
{
    const ts_graph *const g = &a->graph;
    member *const all = calloc(a->op_count + 1, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; all && i < a->op_count; i++)
        for (uint32_t e = g->offsets[i]; e < g->offsets[i + 1]; e++) {
            if (TS_EDGE_KIND(g->kinds[e]) != TS_EDGE_COLLECTIVE ||
                !(g->kinds[e] & TS_EDGE_FROM_START))
                continue;
            const member one = { g->targets[e], i, a->ops[i].start_ns };
            all[(*count)++] = one;
            break;
        }
    if (!all) a->failed = true;
    if (all && *count > 1) qsort(all, *count, sizeof *all, by_rendezvous);
    return all;
}

static void count_rendezvous(const advice *a, const member *members,
                             size_t count, rank_time *ranks)
{
    const member *const last = &members[count - 1];
    rank_time *const r = &ranks[a->ops[last->op].file];
    const int64_t late = last->start_ns - members[count - 2].start_ns;
    r->last++;
    r->late_ns += late;
    for (size_t i = 0; i + 1 < count; i++)
        r->caused_ns += last->start_ns - members[i].start_ns;
    if (late >= r->latest_ns) {
        r->latest_ns = late;
        r->latest = last->op;
    }
}

static int by_start(const void *left, const void *right)
{
    const member *const a = left, *const b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

// Sums the time of each rank between its rendezvous; those of several streams
// may overlap.
static void count_work(const advice *a, member *all, size_t count,
                       rank_time *ranks)
{
    if (count > 1) qsort(all, count, sizeof *all, by_start);
    for (size_t i = 0; i < count; i++) {
        rank_time *const r = &ranks[a->ops[all[i].op].file];
        const int64_t end = a->ops[all[i].op].end_ns;
        if (r->seen && all[i].start_ns > r->from_ns)
            r->work_ns += all[i].start_ns - r->from_ns;
        if (!r->seen || end > r->from_ns) r->from_ns = end;
        r->seen = true;
    }
}

static int by_time(const void *left, const void *right)
{
    const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

// Returns the median of the other ranks' time between rendezvous.
static int64_t usual_work(const advice *a, const rank_time *ranks,
                          uint32_t without)
{
    int64_t *const times = calloc(a->job->file_count + 1, sizeof *times);
    size_t count = 0;
    for (uint32_t i = 0; times && i < a->job->file_count; i++)
        if (i != without && ranks[i].seen) times[count++] = ranks[i].work_ns;
    if (times && count) qsort(times, count, sizeof *times, by_time);
    const int64_t middle = times ? sums_quantile(times, count, 500) : 0;
    free(times);
    return middle;
}

// Speeds up a rank to match the others.
static void speed_up(advice *a, advice_finding *f, const rank_time *r,
                     uint32_t file, int64_t usual)
{
    ts_operation latest;
    int64_t num = usual, den = r->work_ns;
    while (den > UINT32_MAX) {
        num /= 2;
        den /= 2;
    }
    const ts_ratio factor = { (uint32_t)(num ? num : 1), (uint32_t)den };
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (a->ops[i].file == file && advice_works(&a->ops[i]) &&
            a->ops[i].kind != TS_EVENT_COLLECTIVE)
            advice_mask_add(a, &mask, i);
    advice_change(a, f, TS_CHANGE_SCALE, &mask)->factor = factor;
    ts_change *const host = advice_change(a, f, TS_CHANGE_HOST, NULL);
    host->factor = factor;
    host->one_part = true;
    host->part =
        ts_replay_operation(a->replay, r->latest, &latest) ? latest.part : file;
    advice_mask_close(&mask);
}

static void find_straggler(advice *a, const advice_rule *rule,
                           const rank_time *ranks, uint32_t file,
                           uint64_t rendezvous)
{
    const rank_time *const r = &ranks[file];
    const int64_t usual = usual_work(a, ranks, file);
    advice_finding *const f = advice_find(a, rule);
    f->always_kept = true;
    f->confidence = REPORT_MEDIUM; // which part of it is slow is unknown
    advice_show_op(a, f, r->latest);
    ADVICE_SAY(a, f, title, "all ranks wait for %s",
               analyze_file_name(a->job, file).s);
    ADVICE_SAY(a, f, what,
               "It arrives last at %s of %s collectives: the others wait %s "
               "for it in total. It arrives %s after the last of the others in "
               "total, at most %s at once. Between collectives it takes %s; "
               "the others take %s in the median.",
               cli_count(r->last).s, cli_count(rendezvous).s,
               cli_time(r->caused_ns).s, cli_time(r->late_ns).s,
               cli_time(r->latest_ns).s, cli_time(r->work_ns).s,
               cli_time(usual).s);
    if (usual > 0 && usual < r->work_ns) {
        ADVICE_SAY(a, f, todo,
                   "Check what only this rank does: more data, logging, "
                   "checkpoints, a slower host or a throttled device.");
        ADVICE_SAY(a, f, how,
                   "replay in which its host and its operations are as fast as "
                   "those of the others");
        speed_up(a, f, r, file, usual);
    } else {
        ADVICE_SAY(a, f, todo,
                   "Check why it starts late: what it does before its first "
                   "collective, and what its host does at the time shown.");
        ADVICE_SAY(a, f, how,
                   "no gain computed: between collectives it is not slower "
                   "than the others");
        f->severity = REPORT_WARNING;
    }
}

void rule_straggler(advice *a, const advice_rule *rule)
{
    if (a->job->file_count < 2) return;
    size_t count;
    member *const all = list_members(a, &count);
    rank_time *const ranks = calloc(a->job->file_count, sizeof *ranks);
    uint64_t rendezvous = 0;
    if (!ranks) a->failed = true;
    for (size_t first = 0, end; all && ranks && first < count; first = end) {
        for (end = first + 1; end < count && all[end].join == all[first].join;)
            end++;
        if (end - first < 2) continue;
        count_rendezvous(a, all + first, end - first, ranks);
        rendezvous++;
    }
    if (all && ranks) count_work(a, all, count, ranks);
    uint32_t worst = 0;
    for (uint32_t i = 1; ranks && i < a->job->file_count; i++)
        if (ranks[i].caused_ns > ranks[worst].caused_ns) worst = i;
    if (ranks && all && (int64_t)rendezvous >= advice_limit(a, rule, "count") &&
        advice_reaches(a, rule, "often", (int64_t)ranks[worst].last,
                       (int64_t)rendezvous) &&
        advice_reaches(a, rule, "share", ranks[worst].late_ns, a->recorded_ns))
        find_straggler(a, rule, ranks, worst, rendezvous);
    free(all);
    free(ranks);
}

/* ---- late-begin ---------------------------------------------------------- */

// Returns how long after the first file each part of the trace begins, as a
// change requires. NULL if there is one part or memory runs out.
static int64_t *late_begins(advice *a, int64_t *most, uint32_t *first,
                            uint32_t *last)
{
    size_t count = 0;
    ts_replay_part part;
    int64_t least = INT64_MAX;
    while (ts_replay_part_at(a->replay, count, &part))
        count++;
    int64_t *const late = calloc(count + 1, sizeof *late);
    if (!late) a->failed = true;
    for (size_t i = 0; late && ts_replay_part_at(a->replay, i, &part); i++) {
        late[i] = analyze_info(a->job, part.file)->first_ns +
                  analyze_offset(a->job, part.file);
        if (late[i] >= least) continue;
        least = late[i];
        *first = part.file;
    }
    *most = 0;
    for (size_t i = 0; late && ts_replay_part_at(a->replay, i, &part); i++) {
        late[i] -= least;
        if (late[i] <= *most) continue;
        *most = late[i];
        *last = part.file;
    }
    return late;
}

static bool any_rendezvous(const advice *a)
{
    const uint32_t nodes = a->graph.offsets[a->op_count];
    for (uint32_t e = 0; e < nodes; e++)
        if (TS_EDGE_KIND(a->graph.kinds[e]) == TS_EDGE_COLLECTIVE) return true;
    return false;
}

void rule_late_begin(advice *a, const advice_rule *rule)
{
    uint32_t first = 0, last = 0;
    int64_t most;
    if (a->job->file_count < 2 || !any_rendezvous(a)) return;
    int64_t *const late = late_begins(a, &most, &first, &last);
    if (!late || !advice_reaches(a, rule, "share", most, a->recorded_ns)) {
        free(late);
        return;
    }
    advice_finding *const f = advice_find(a, rule);
    ts_change *const change = advice_change(a, f, TS_CHANGE_BEGIN, NULL);
    change->sooner_ns = late;
    const int64_t began =
        analyze_info(a->job, last)->first_ns + analyze_offset(a->job, last);
    advice_show_time(f, last, began - most, began);
    f->confidence = REPORT_MEDIUM;
    ADVICE_SAY(a, f, title, "ranks do not start at the same time");
    ADVICE_SAY(a, f, what,
               "The trace of %s begins %s after that of %s, and the first "
               "collective waits for it.",
               analyze_file_name(a->job, last).s, cli_time(most).s,
               analyze_file_name(a->job, first).s);
    ADVICE_SAY(a, f, todo,
               "The cause lies before its trace begins: the previous step, "
               "loading, a checkpoint, or a recorder that was started later. "
               "Record more steps to see it.");
    ADVICE_SAY(a, f, how, "replay in which all start with the first");
}
