/*
    rule_ranks.c - advice: devices and processes that wait for each other
*/
#include "tools/analyze/advice/rule.h"

/* ---- exposed-communication ----------------------------------------------- */

void rule_exposed_communication(advice *a, const advice_rule *rule)
{
    const ts_timeline_figures *const t = ts_timeline_total(a->timeline);
    const int64_t alone = t->only_ns[TS_WORK_COLLECTIVE];
    if (!advice_reaches(a, rule, "share", alone, t->busy_ns + t->idle_ns))
        return;
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (advice_communicates(&a->ops[i])) advice_mask_add(a, &mask, i);
    if (mask.count) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        advice_change(a, f, TS_CHANGE_OVERLAP, &mask);
        ADVICE_SAY(a, f, title, "communication is not hidden");
        ADVICE_SAY(
            a, f, what,
            "%s, %s in total: for %s of that (%s of the devices' time), no "
            "kernel runs concurrently.",
            cli_counted(mask.count, "collective", "collectives").s,
            cli_time(mask.ns).s, cli_time(alone).s,
            report_words(report_share(alone, t->busy_ns + t->idle_ns)).s);
        ADVICE_SAY(a, f, todo,
                   "Start collectives as soon as their data is ready, on a "
                   "separate stream, and run independent kernels concurrently "
                   "(buckets, prefetching of shards).");
        ADVICE_SAY(a, f, how,
                   "replay in which no kernel waits for a collective: an upper "
                   "bound for the gain of overlap");
    }
    advice_mask_close(&mask);
}

/* ---- collective-skew ----------------------------------------------------- */

// Attributes by which collectives are comparable, and the duration of one.
typedef struct alike {
    uint64_t file, name, communicator, size;
    int64_t ns;
    uint32_t op;
} alike;

static int by_kind(const alike *a, const alike *b)
{
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->name != b->name) return a->name < b->name ? -1 : 1;
    if (a->communicator != b->communicator)
        return a->communicator < b->communicator ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return 0;
}

static int by_kind_and_length(const void *left, const void *right)
{
    const alike *const a = left, *const b = right;
    const int order = by_kind(a, b);
    if (order) return order;
    if (a->ns != b->ns) return a->ns < b->ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

// Whether a collective has other members in the traces, so that the model has
// its waiting time.
static bool has_rendezvous(const advice *a, uint32_t op)
{
    const ts_graph *const g = &a->graph;
    for (uint32_t e = g->offsets[op]; e < g->offsets[op + 1]; e++) {
        const uint8_t kind = TS_EDGE_KIND(g->kinds[e]);
        if (kind == TS_EDGE_COLLECTIVE || kind == TS_EDGE_P2P) return true;
    }
    return false;
}

// Returns durations without waiting. The fastest collectives of each kind, by
// size and communicator, show the time needed when no rank is late; the fastest
// tenth is ignored as chance.
static int64_t *without_waiting(advice *a, uint64_t least, advice_mask *mask,
                                int64_t *waited)
{
    alike *const list = calloc(a->op_count + 1, sizeof *list);
    int64_t *const durations = calloc(a->op_count + 1, sizeof *durations);
    size_t count = 0;
    *waited = 0;
    if (!list || !durations) {
        a->failed = true;
        free(list);
        free(durations);
        return NULL;
    }
    for (uint32_t i = 0; i < a->op_count; i++) {
        const int64_t length = advice_length(&a->ops[i]);
        durations[i] = length > 0 ? length : 0;
        // Collectives of unknown size are not comparable.
        if (!advice_communicates(&a->ops[i]) || !advice_size(a, &a->ops[i]) ||
            has_rendezvous(a, i))
            continue;
        const alike one = { a->ops[i].file,
                            advice_value(a, i, TS_COLUMN_NAME),
                            advice_value(a, i, TS_COLUMN_COMMUNICATOR),
                            advice_size(a, &a->ops[i]),
                            durations[i],
                            i };
        list[count++] = one;
    }
    if (count > 1) qsort(list, count, sizeof *list, by_kind_and_length);
    for (size_t first = 0, end; first < count; first = end) {
        for (end = first + 1;
             end < count && !by_kind(&list[first], &list[end]);)
            end++;
        if (end - first < least) continue;
        const int64_t usual = list[first + (end - first) / 10].ns;
        for (size_t i = first; i < end; i++) {
            if (list[i].ns <= usual) continue;
            *waited += list[i].ns - usual;
            durations[list[i].op] = usual;
            advice_mask_add(a, mask, list[i].op);
        }
    }
    free(list);
    return durations;
}

void rule_collective_skew(advice *a, const advice_rule *rule)
{
    advice_mask mask = advice_mask_open(a);
    int64_t waited;
    int64_t *const durations = without_waiting(
        a, (uint64_t)advice_limit(a, rule, "count"), &mask, &waited);
    if (durations && mask.count &&
        advice_reaches(a, rule, "share", waited, a->process_ns)) {
        advice_finding *const f = advice_find_mask(a, rule, &mask);
        f->durations_ns = durations;
        f->at_most_ns = advice_path_of(a, &mask);
        ADVICE_SAY(a, f, title, "collectives wait for other ranks");
        ADVICE_SAY(a, f, what,
                   "%s %s %s longer than the fastest tenth of the same size on "
                   "the same communicator.",
                   cli_counted(mask.count, "collective", "collectives").s,
                   mask.count == 1 ? "takes" : "take", cli_time(waited).s);
        ADVICE_SAY(a, f, todo,
                   "Ranks arrive at different times: balance their work. Pass "
                   "the traces of all ranks to ts-analyze to see which rank is "
                   "late.");
        ADVICE_SAY(
            a, f, how,
            "replay in which none takes longer than the fastest tenth of "
            "its kind");
        f->confidence = REPORT_MEDIUM;
    } else {
        free(durations);
    }
    advice_mask_close(&mask);
}

/* ---- device-imbalance ---------------------------------------------------- */

void rule_device_imbalance(advice *a, const advice_rule *rule)
{
    int64_t sum = 0, most = 0;
    uint32_t busiest = 0;
    for (uint32_t i = 0; i < a->device_count; i++) {
        const ts_timeline_figures *const t = ts_timeline_device(a->timeline, i);
        // Waiting in a collective is not work.
        const int64_t work =
            t ? t->busy_ns - t->only_ns[TS_WORK_COLLECTIVE] : 0;
        sum += work;
        if (work <= most) continue;
        most = work;
        busiest = i;
    }
    const int64_t mean = a->device_count ? sum / (int64_t)a->device_count : 0;
    if (a->device_count < 2 || !mean ||
        !advice_reaches(a, rule, "excess", most - mean, mean))
        return;
    advice_mask mask = advice_mask_open(a);
    for (uint32_t i = 0; i < a->op_count; i++)
        if (a->ops[i].device == busiest && advice_works(&a->ops[i]) &&
            !advice_communicates(&a->ops[i]))
            advice_mask_add(a, &mask, i);
    const ts_timeline_figures *const t =
        ts_timeline_device(a->timeline, busiest);
    advice_finding *const f = advice_find_mask(a, rule, &mask);
    advice_show_time(f, t->file, t->start_ns, t->end_ns);
    ts_change *const change = advice_change(a, f, TS_CHANGE_SCALE, &mask);
    int64_t num = mean, den = most;
    while (den > UINT32_MAX) {
        num /= 2;
        den /= 2;
    }
    change->factor.num = (uint32_t)num;
    change->factor.den = (uint32_t)den;
    ADVICE_SAY(a, f, title, "one device has more work than the others");
    ADVICE_SAY(a, f, what, "%s works for %s, the %s devices for %s on average.",
               analyze_track(a->job, t->file, t->track).text, cli_time(most).s,
               cli_count(a->device_count).s, cli_time(mean).s);
    ADVICE_SAY(a, f, todo,
               "Divide the work (batches, layers, table shards, experts) by "
               "its cost, not by count.");
    ADVICE_SAY(a, f, how,
               "replay in which this device has the average amount of work");
    advice_mask_close(&mask);
}

/* ---- unused-device ------------------------------------------------------- */

static bool is_used(const advice *a, uint32_t file, uint32_t track)
{
    ts_lane lane;
    for (size_t i = 0; ts_replay_device(a->replay, i, &lane); i++)
        if (lane.file == file && lane.track == track) return true;
    return false;
}

// Whether the record describes a device. A track may have any number; without a
// description it is unknown whether the device exists.
static bool is_described(const ts_reader *reader, uint32_t track)
{
    static const char *const facts[] = { "memory_bytes", "multiprocessors",
                                         "compute_major", "vendor" };
    ts_metadata m;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (ts_reader_metadata(reader, track, facts[i], &m)) return true;
    return false;
}

// Returns the environment variable that hides devices, by the vendor of the
// calls.
static const char *visible_of(const advice *a)
{
    for (uint32_t i = 0; i < a->graph.call_count; i++) {
        const ts_node call = advice_node(a, (uint32_t)a->op_count + i);
        const ts_text name =
            ts_reader_name(analyze_reader(a->job, call.file), call.name);
        if (name.size > 3 && !memcmp(name.text, "hip", 3))
            return " (HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES)";
        if (name.size > 2 && !memcmp(name.text, "cu", 2))
            return " (CUDA_VISIBLE_DEVICES)";
    }
    return "";
}

void rule_unused_device(advice *a, const advice_rule *rule)
{
    ts_reader *const reader = analyze_reader(a->job, 0);
    ts_metadata world;
    // Other processes of the job or of the machine may use them.
    if (a->job->file_count > 1 ||
        (ts_reader_metadata(reader, 0, "world_size", &world) &&
         world.number > 1))
        return;
    uint64_t unused = 0;
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++)
        unused += track.type == TS_TRACK_DEVICE && !is_used(a, 0, track.id) &&
                  is_described(reader, track.id);
    if (!unused || (int64_t)unused < advice_limit(a, rule, "count")) return;
    advice_finding *const f = advice_find(a, rule);
    advice_show_time(f, 0, a->start_ns, a->end_ns);
    ADVICE_SAY(a, f, title, "devices are not used");
    ADVICE_SAY(
        a, f, what,
        "The trace describes %s on which this process ran no operation; %s. It "
        "does not show whether another process uses %s.",
        cli_counted(unused, "device", "devices").s,
        cli_counted(a->device_count, "other ran some", "others ran some").s,
        unused == 1 ? "it" : "them");
    ADVICE_SAY(a, f, todo,
               "If %s available to you, divide the work among all, or run "
               "several processes. Otherwise hide %s%s.",
               unused == 1 ? "it is" : "they are", unused == 1 ? "it" : "them",
               visible_of(a));
    ADVICE_SAY(a, f, how,
               "no gain computed: a trace does not show how the work can be "
               "divided");
    f->severity = REPORT_INFO;
    f->confidence = REPORT_MEDIUM; // other processes may use the device
}
