/*
    path.c - the critical path: what bounds the whole run
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/critical_path.h"

typedef struct path_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    names_index names;
    path_result r;
} path_topic;

// Returns what the time of a category is spent on.
static const char *meaning_of(ts_cost cost)
{
    static const char *const texts[TS_COST_LIMIT] = {
        "work of the host",  "launches in progress",
        "kernels",           "copies",
        "communication",     "waiting in synchronisations",
        "unexplained delays"
    };
    return texts[cost];
}

static uint32_t launch_zone(void *user, uint32_t operation)
{
    path_topic *const a = user;
    ts_operation op;
    if (!ts_replay_operation(a->replay, operation, &op)) return TS_NODE_NONE;
    const uint32_t site = (uint32_t)analyze_value(
        analyze_column(a->job, op.file, TS_COLUMN_SITE), op.row);
    if (!site) return TS_NODE_NONE;
    return names_add(&a->names, a->replay, op.file, TS_EVENT_ZONE, site);
}

// Returns the category without which the run would be shortest.
static int best_free(const path_result *r)
{
    int best = -1;
    for (int i = 0; i < TS_COST_LIMIT; i++)
        if (r->free[i].known &&
            (best < 0 || r->free[i].makespan_ns < r->free[best].makespan_ns))
            best = i;
    return best;
}

// Whether the path is on the host, although removing host work gains little.
static bool host_waits(const path_result *r)
{
    const model_figures *const f = &r->free[TS_COST_HOST];
    return r->bound == TS_COST_HOST && r->model.known && f->known &&
           r->model.makespan_ns - f->makespan_ns < r->model.makespan_ns / 10;
}

static void answer_waits(const path_topic *a)
{
    const path_result *const r = &a->r;
    const int64_t gain =
        r->model.makespan_ns - r->free[TS_COST_HOST].makespan_ns;
    report_answer(
        a->s,
        "%s of the critical path (%s of %s) is on the host, but without any "
        "host work the run would be only %s (%s) shorter: most of this time is "
        "waiting for other threads or devices.",
        report_words(report_share(r->cost_ns[TS_COST_HOST], r->makespan_ns)).s,
        cli_time(r->cost_ns[TS_COST_HOST]).s, cli_time(r->makespan_ns).s,
        cli_time(gain).s,
        report_words(report_share(gain, r->model.makespan_ns)).s);
}

static void answer_bound(const path_topic *a)
{
    const path_result *const r = &a->r;
    report_answer(
        a->s, "The run is bound by %s: %s of the critical path (%s of %s).",
        meaning_of(r->bound),
        report_words(report_share(r->cost_ns[r->bound], r->makespan_ns)).s,
        cli_time(r->cost_ns[r->bound]).s, cli_time(r->makespan_ns).s);
}

// Reports the time before the record of a thread begins, which can only be at
// the start of the path.
static void answer_unrecorded(const path_topic *a)
{
    const path_result *const r = &a->r;
    ts_node node;
    if (!r->part_count || !path_unrecorded(&r->parts[0]) ||
        !ts_replay_node(a->replay, r->parts[0].node, &node))
        return;
    report_answer(a->s,
                  "Its first %s are before the trace of %s begins; their cause "
                  "is unknown.",
                  cli_time(r->parts[0].end_ns - r->parts[0].start_ns).s,
                  a->job->file_count > 1
                      ? analyze_file_name(a->job, node.file).s
                      : topic_thread(a->job, node.file, node.track).text);
}

static void answer(const path_topic *a)
{
    const path_result *const r = &a->r;
    const bool waits = host_waits(r);
    (waits ? answer_waits : answer_bound)(a);
    answer_unrecorded(a);
    const int best = best_free(r);
    if (best < 0 || !r->model.known || (waits && best == TS_COST_HOST)) return;
    const int64_t gain = r->model.makespan_ns - r->free[best].makespan_ns;
    report_answer(a->s,
                  "The largest gain would come from %s: %s at most, if they "
                  "took no time.",
                  meaning_of((ts_cost)best), cli_time(gain).s);
}

static report_evidence evidence_of(const path_topic *a, size_t part)
{
    const ts_path_part *const p = &a->r.parts[part];
    ts_node node;
    if (!ts_replay_node(a->replay, p->node, &node)) node.file = 0;
    report_evidence e = report_from_to(node.file, p->start_ns, p->end_ns);
    if (node.owner < a->names.op_count) report_evidence_add(&e, node.owner);
    return e;
}

// Returns the confidence in the makespan without a category. Waits of threads
// order their work and that of devices; without them, orders are possible that
// were never observed.
static report_confidence trust_in_free(const path_topic *a, ts_cost cost)
{
    const report_confidence whole = report_trusted(a->s);
    const report_confidence own = model_assumes(&a->r.model, &a->r.free[cost])
                                      ? REPORT_LOW
                                  : cost == TS_COST_SYNC ? REPORT_MEDIUM
                                                         : REPORT_HIGH;
    return own > whole ? own : whole;
}

static void put_costs(const path_topic *a)
{
    static const report_column columns[] = {
        { "cost", "category", REPORT_TEXT },
        { "path_ns", "on the path", REPORT_NS },
        { "share", "of it", REPORT_SHARE },
        { "free_ns", "run without it", REPORT_NS },
        { "gain", "gain", REPORT_SHARE },
        { "then", "then bound by", REPORT_TEXT },
        { "confidence", "confidence", REPORT_TEXT }
    };
    const path_result *const r = &a->r;
    report_table *const t =
        report_table_begin(a->s, "costs", "The critical path by category",
                           columns, TOPIC_COUNT(columns));
    for (int i = 0; i < TS_COST_LIMIT; i++) {
        const model_figures *const f = &r->free[i];
        if (!r->cost_ns[i]) continue;
        const report_value row[] = {
            report_string(ts_cost_name((uint32_t)i)),
            report_ns(r->cost_ns[i]),
            report_share(r->cost_ns[i], r->makespan_ns),
            f->known ? report_ns(f->makespan_ns) : report_unknown(REPORT_NS),
            f->known ? report_share(r->model.makespan_ns - f->makespan_ns,
                                    r->model.makespan_ns)
                     : report_unknown(REPORT_SHARE),
            report_string(f->known && f->makespan_ns ? ts_cost_name(f->bound)
                                                     : "-"),
            report_string(report_confidence_name(trust_in_free(a, (ts_cost)i)))
        };
        report_row(t, row, NULL);
    }
}

// Returns the name of a key. A launch without a recorded call has no name.
static ts_text name_of(const path_topic *a, uint64_t key)
{
    const uint32_t group = path_key_group(key);
    const ts_cost cost = path_key_cost(key);
    if (key & 1 && cost == TS_COST_HOST)
        return topic_in_zone(a->job, &a->names, group);
    if (group == TS_NODE_NONE)
        return report_string("before its record begins").text;
    const names_group *const g = &a->names.groups[group];
    const ts_text name = g->kind == TS_EVENT_API_CALL && !g->text.size
                             ? report_string("a launch").text
                             : topic_group(a->job, &a->names, group);
    return key & 1 ? analyze_format(a->job, "until %.*s", TOPIC_TEXT(name))
                   : name;
}

static void put_names(const path_topic *a)
{
    static const report_column columns[] = {
        { "name", "operation or call", REPORT_TEXT },
        { "cost", "as", REPORT_TEXT },
        { "path_ns", "on the path", REPORT_NS },
        { "share", "of it", REPORT_SHARE },
        { "parts", "times", REPORT_COUNT },
        { "longest_ns", "longest", REPORT_NS }
    };
    report_table *const t = report_table_begin(
        a->s, "names",
        "The critical path by operation or call, or by the operation that it "
        "waits for",
        columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.names.count; i++) {
        const sums_row *const sum = &a->r.names.rows[i];
        const report_value row[] = { report_text(name_of(a, sum->key)),
                                     report_string(
                                         ts_cost_name(path_key_cost(sum->key))),
                                     report_ns(sum->ns),
                                     report_share(sum->ns, a->r.makespan_ns),
                                     report_count(sum->count),
                                     report_ns(sum->most_ns) };
        const report_evidence e = evidence_of(a, sum->most);
        report_row(t, row, &e);
    }
}

static void put_zones(const path_topic *a)
{
    static const report_column columns[] = {
        { "zone", "innermost zone", REPORT_TEXT },
        { "path_ns", "on the path", REPORT_NS },
        { "share", "of it", REPORT_SHARE },
        { "longest_ns", "longest", REPORT_NS }
    };
    if (!a->r.zones.count ||
        (a->r.zones.count == 1 && a->r.zones.rows->key == TS_NODE_NONE))
        return;
    report_table *const t =
        report_table_begin(a->s, "zones",
                           "The critical path by zone of the host or of the "
                           "launch",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.zones.count; i++) {
        const sums_row *const sum = &a->r.zones.rows[i];
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, (uint32_t)sum->key)),
            report_ns(sum->ns), report_share(sum->ns, a->r.makespan_ns),
            report_ns(sum->most_ns)
        };
        const report_evidence e = evidence_of(a, sum->most);
        report_row(t, row, &e);
    }
}

// Returns the text of a part; for host time before a call, what the host was
// in.
static ts_text part_name(const path_topic *a, const ts_path_part *p,
                         uint32_t index, const ts_node *owner, const hold *held)
{
    if (path_unrecorded(p))
        return report_string("before its record begins").text;
    if (path_of_host(p, owner))
        return topic_hold(a->job, a->replay, &a->names, held, index);
    const ts_text name = topic_node(a->job, a->replay, index, false);
    return path_before(p, owner)
               ? analyze_format(a->job, "until %.*s", TOPIC_TEXT(name))
               : name;
}

static void put_parts(const path_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "duration_ns", "length", REPORT_NS },
        { "cost", "as", REPORT_TEXT },
        { "what", "what", REPORT_TEXT },
        { "zone", "in zone", REPORT_TEXT },
        { "track", "on", REPORT_TEXT }
    };
    report_table *const t =
        report_table_begin(a->s, "parts", "The longest parts of the path",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.longest_count; i++) {
        const ts_path_part *const p = &a->r.parts[a->r.longest[i]];
        ts_node node;
        ts_node owner;
        if (!ts_replay_node(a->replay, p->node, &node) ||
            !ts_replay_node(a->replay, node.owner, &owner))
            continue;
        const hold *const held = &a->r.held[i];
        const ts_text name = part_name(a, p, node.owner, &owner, held);
        const report_value row[] = {
            report_time(p->start_ns),
            report_ns(p->end_ns - p->start_ns),
            report_string(ts_cost_name(p->cost)),
            report_text(name),
            report_text(held->zone == TS_NODE_NONE
                            ? (ts_text){ "", 0 }
                            : topic_group(a->job, &a->names, held->zone)),
            report_text(node.track
                            ? analyze_track(a->job, node.file, node.track)
                            : name)
        };
        const report_evidence e = evidence_of(a, a->r.longest[i]);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.part_count);
}

static void put_chart(const path_topic *a)
{
    const char *parts[TS_COST_LIMIT];
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        parts[i] = ts_cost_name(i);
    report_chart *const c =
        report_stacked_begin(a->s, "path_costs", "The critical path", REPORT_NS,
                             parts, TS_COST_LIMIT);
    report_stacked_bar(c, report_string("path").text, a->r.cost_ns);
}

static void put_trust(const path_topic *a)
{
    const path_result *const r = &a->r;
    const ts_timeline *const timeline = analyze_timeline(a->job);
    if (timeline) topic_trust_graph(a->s, a->job, a->replay, timeline);
    topic_trust_ranks(a->s, a->replay, r->cost_ns[TS_COST_COMMUNICATION]);
    if (r->cost_ns[TS_COST_UNEXPLAINED] > r->makespan_ns / 50)
        report_trust(a->s, REPORT_MEDIUM,
                     "the cause of the wait is not recorded for %s of the path",
                     cli_time(r->cost_ns[TS_COST_UNEXPLAINED]).s);
    if (r->model.known && r->model.assumed_ns > r->makespan_ns / 50)
        report_trust(a->s, REPORT_MEDIUM,
                     "%s of the path are delays with fewer than eight samples "
                     "in the record",
                     cli_time(r->model.assumed_ns).s);
    if (!r->model.known) {
        report_trust(a->s, REPORT_LOW,
                     "operations wait for each other in the model, so that "
                     "gains are unknown");
        return;
    }
    const int64_t error = r->model.makespan_ns - r->makespan_ns;
    report_trust(a->s,
                 (error < 0 ? -error : error) * 50 > r->makespan_ns
                     ? REPORT_LOW
                     : REPORT_HIGH,
                 "gains are computed by a model that differs from the recorded "
                 "length by %s",
                 cli_time(error < 0 ? -error : error).s);
}

static bool fill(analyze_job *job, report *r)
{
    path_topic a = { .job = job };
    a.s = topic_begin(job, r, "path", "Critical path", &a.replay, NULL);
    if (!a.s) return true;
    ts_replay *const model = analyze_model(job);
    ts_path path;
    const bool ok =
        model && model_record(job, &path) && names_of_job(&a.names, job) &&
        path_open(&a.r, model, &a.names, launch_zone, &a, job->options.rows) &&
        model_unchanged(job, &a.r.model) && path_without(&a.r, model);
    if (ok) {
        answer(&a);
        put_trust(&a);
        report_figure(a.s, "makespan_ns", "length of the run",
                      report_ns(a.r.makespan_ns));
        report_figure(a.s, "model_ns", "in the model",
                      a.r.model.known ? report_ns(a.r.model.makespan_ns)
                                      : report_unknown(REPORT_NS));
        put_costs(&a);
        put_chart(&a);
        put_names(&a);
        put_zones(&a);
        put_parts(&a);
    }
    path_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_path = {
    "path", "Critical path",
    "what limits the run as a whole, and possible gains", fill, NULL
};
