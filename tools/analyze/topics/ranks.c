/*
    ranks.c - stragglers: which ranks wait for which in collectives
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/ranks.h"
#include "tools/analyze/job/stats.h"

typedef struct ranks_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    ranks_result r;
    int64_t residual_ns; // the largest residual clock error
} ranks_topic;

static ts_text rank_of(const ranks_topic *a, size_t rank)
{
    const ranks_rank *const r = &a->r.ranks[rank];
    if (a->job->file_count == 1)
        return analyze_track(a->job, r->file, r->device);
    size_t of_file = 0;
    for (size_t i = 0; i < a->r.rank_count; i++)
        of_file += a->r.ranks[i].file == r->file;
    if (of_file > 1) return analyze_track(a->job, r->file, r->device);
    return analyze_format(a->job, "%s", analyze_file_name(a->job, r->file).s);
}

static void put_ranks(const ranks_topic *a)
{
    static const report_column columns[] = {
        { "rank", "rank", REPORT_TEXT },
        { "meetings", "collectives", REPORT_COUNT },
        { "lasts", "last in", REPORT_COUNT },
        { "caused_ns", "others waited", REPORT_NS },
        { "waited_ns", "it waited", REPORT_NS },
        { "communication_ns", "in collectives", REPORT_NS },
        { "busy", "busy", REPORT_SHARE },
        { "compute", "in kernels", REPORT_SHARE }
    };
    report_table *const t = report_table_begin(a->s, "ranks", "Ranks", columns,
                                               TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.rank_count; i++) {
        const ranks_rank *const k = &a->r.ranks[i];
        const ts_timeline_figures *const f = ts_timeline_device(a->timeline, i);
        const int64_t span = f ? f->busy_ns + f->idle_ns : 0;
        const report_value row[] = {
            report_text(rank_of(a, i)),
            report_count(k->rendezvous),
            report_count(k->lasts),
            report_ns(k->caused_ns),
            report_ns(k->waited_ns),
            report_ns(k->in_ns),
            report_share(f ? f->busy_ns : 0, span),
            report_share(f ? f->work_ns[TS_WORK_KERNEL] : 0, span)
        };
        report_row(t, row, NULL);
    }
}

static void put_pairs(const ranks_topic *a)
{
    static const report_column columns[] = {
        { "rank", "rank", REPORT_TEXT },
        { "for", "waited for", REPORT_TEXT },
        { "waited_ns", "in all", REPORT_NS },
        { "count", "times", REPORT_COUNT },
        { "longest_ns", "longest", REPORT_NS }
    };
    report_table *const t =
        report_table_begin(a->s, "pairs", "Which rank waited for which",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.pairs.count && i < a->job->options.rows; i++) {
        const sums_row *const p = &a->r.pairs.rows[i];
        const report_value row[] = {
            report_text(rank_of(a, (size_t)(p->key >> 32))),
            report_text(rank_of(a, (uint32_t)p->key)), report_ns(p->ns),
            report_count(p->count), report_ns(p->most_ns)
        };
        const report_evidence e = topic_evidence(a->replay, (uint32_t)p->most);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.pairs.count);
}

// Returns why the last member of a rendezvous was late: the first late event.
static ts_text why_of(const ranks_topic *a, const ranks_rendezvous *m)
{
    if (m->head_ns)
        return analyze_format(a->job, "it began %s later",
                              cli_time(m->head_ns).s);
    if (m->held.length_ns)
        return topic_hold(a->job, a->replay, &a->names, &m->held, m->cause);
    return topic_node(a->job, a->replay, m->cause, false);
}

// Returns the most expensive of the rendezvous at which a rank arrived last.
static const ranks_rendezvous *dearest_of(const ranks_result *r, size_t rank)
{
    for (size_t i = 0; i < r->rendezvous_count; i++)
        if (r->rendezvous[i].last == rank) return &r->rendezvous[i];
    return NULL;
}

static void answer_why(const ranks_topic *a, size_t worst)
{
    const ranks_rendezvous *const m = dearest_of(&a->r, worst);
    if (!m || !m->waited_ns) return;
    const ts_text why = why_of(a, m);
    if (!why.size) return;
    report_answer(a->s,
                  "%s of it is in one collective, where it arrived %s after "
                  "the first: %.*s.",
                  cli_time(m->waited_ns).s,
                  cli_time(m->last_ns - m->first_ns).s, TOPIC_TEXT(why));
}

static void answer(const ranks_topic *a)
{
    const ranks_result *const r = &a->r;
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    size_t worst = 0;
    for (size_t i = 1; i < r->rank_count; i++)
        if (r->ranks[i].caused_ns > r->ranks[worst].caused_ns) worst = i;
    report_answer(
        a->s,
        "In %s, ranks waited %s for each other: %s of the time of all devices.",
        cli_counted(r->rendezvous_count, "collective", "collectives").s,
        cli_time(r->waited_ns).s,
        report_words(report_share(r->waited_ns, f->busy_ns + f->idle_ns)).s);
    if (!r->waited_ns) return;
    const ts_text name = rank_of(a, worst);
    report_answer(a->s,
                  "The others wait longest for %.*s: %s; it arrives last in %s "
                  "of %s.",
                  TOPIC_TEXT(name), cli_time(r->ranks[worst].caused_ns).s,
                  cli_count(r->ranks[worst].lasts).s,
                  cli_count(r->ranks[worst].rendezvous).s);
    answer_why(a, worst);
}

static void put_rendezvous(const ranks_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "name", "collective", REPORT_TEXT },
        { "members", "ranks", REPORT_COUNT },
        { "skew_ns", "first to last", REPORT_NS },
        { "waited_ns", "total wait", REPORT_NS },
        { "last", "last one", REPORT_TEXT },
        { "why", "because", REPORT_TEXT }
    };
    report_table *const t =
        report_table_begin(a->s, "collectives", "Collectives by waiting time",
                           columns, TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.rendezvous_count && i < a->job->options.rows;
         i++) {
        const ranks_rendezvous *const m = &a->r.rendezvous[i];
        const report_value row[] = {
            report_time(m->first_ns),
            report_text(topic_group(a->job, &a->names, m->group)),
            report_count(m->members),
            report_ns(m->last_ns - m->first_ns),
            report_ns(m->waited_ns),
            report_text(rank_of(a, m->last)),
            report_text(why_of(a, m))
        };
        report_evidence e = report_from_to(0, m->first_ns, m->end_ns);
        report_evidence_add(&e, m->operation);
        report_evidence_add(&e, m->earliest);
        if (m->cause < a->names.op_count) report_evidence_add(&e, m->cause);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.rendezvous_count);
}

static int64_t began_of(const ranks_topic *a, uint32_t file)
{
    return stats_sum(analyze_info(a->job, file)->first_ns,
                     analyze_offset(a->job, file));
}

// Returns the clock correction of a file without the offset that the machines'
// own clocks explain, which is no error.
static report_value clock_of(const ranks_topic *a, uint32_t file,
                             const ts_replay_file *of)
{
    const uint64_t first = analyze_info(a->job, 0)->start_realtime_ns;
    const uint64_t own = analyze_info(a->job, file)->start_realtime_ns;
    return first && own ? report_ns(of->offset_ns - (int64_t)(own - first))
                        : report_unknown(REPORT_NS);
}

static void put_clocks(ranks_topic *a)
{
    static const report_column columns[] = {
        { "file", "file", REPORT_TEXT },
        { "late_ns", "begins after the first", REPORT_NS },
        { "clock_ns", "clock offset", REPORT_NS },
        { "offset_ns", "aligned by", REPORT_NS },
        { "matched", "collectives", REPORT_COUNT },
        { "residual_ns", "residual", REPORT_NS },
        { "by", "by", REPORT_TEXT }
    };
    if (a->job->file_count < 2) return;
    report_table *const t = report_table_begin(
        a->s, "clocks", "Start of each trace, and alignment of its clock",
        columns, TOPIC_COUNT(columns));
    ts_replay_file file;
    int64_t first = INT64_MAX;
    for (uint32_t i = 0; i < a->job->file_count; i++)
        if (began_of(a, i) < first) first = began_of(a, i);
    for (uint32_t i = 0; ts_replay_file_at(a->replay, i, &file); i++) {
        const report_value row[] = {
            report_string(analyze_file_name(a->job, i).s),
            report_ns(began_of(a, i) - first),
            clock_of(a, i, &file),
            report_ns(file.offset_ns),
            report_count(file.matched),
            report_ns(file.residual_ns),
            report_string(!i              ? "the time axis"
                          : file.matched  ? "ends of collectives"
                          : file.realtime ? "Unix time"
                                          : "nothing")
        };
        report_row(t, row, NULL);
        if (file.residual_ns > a->residual_ns)
            a->residual_ns = file.residual_ns;
        if (i && !file.matched)
            report_trust(a->s, REPORT_LOW,
                         "no collective aligns the clock of %s with the others",
                         analyze_file_name(a->job, i).s);
    }
    report_trust(a->s, a->residual_ns > 100000 ? REPORT_LOW : REPORT_HIGH,
                 "clocks agree within %s (median)", cli_time(a->residual_ns).s);
}

static void put_none(const ranks_topic *a)
{
    const ts_replay_stats *const s = ts_replay_result(a->replay);
    const cli_text partial =
        cli_counted(s->rendezvous_partial, "collective", "collectives");
    if (s->rendezvous_partial)
        report_not_applicable(
            a->s,
            "The other ranks of the %s are not in these files: pass the traces "
            "of all ranks together.",
            s->rendezvous_partial == 1 ? "collective" : partial.s);
    else
        report_not_applicable(a->s, "The trace contains no collective between "
                                    "two devices.");
}

static bool fill(analyze_job *job, report *r)
{
    ranks_topic a = { .job = job };
    a.s = topic_begin(job, r, "ranks", "Ranks", &a.replay, &a.timeline);
    if (!a.s) return true;
    const bool ok = names_of_job(&a.names, job) &&
                    ranks_open(&a.r, a.replay, a.timeline, &a.names);
    if (ok && !a.r.rendezvous_count) {
        put_none(&a);
    } else if (ok) {
        const ts_replay_stats *const s = ts_replay_result(a.replay);
        answer(&a);
        if (s->rendezvous_partial)
            report_trust(
                a.s, REPORT_MEDIUM, "some ranks of %s are missing",
                cli_counted(s->rendezvous_partial, "collective", "collectives")
                    .s);
        topic_trust_guessed(a.s, s,
                            a.r.rank_count > 2 ? REPORT_LOW : REPORT_MEDIUM);
        report_figure(a.s, "waited_ns", "waited for other ranks",
                      report_ns(a.r.waited_ns));
        put_ranks(&a);
        put_rendezvous(&a);
        put_pairs(&a);
        put_clocks(&a);
    }
    ranks_close(&a.r);
    names_close(&a.names);
    return ok;
}

const analyze_topic topic_ranks = {
    "ranks", "Ranks", "stragglers: which rank waits for which in collectives",
    fill, NULL
};
