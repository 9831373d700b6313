/*
    overlap.c - communication and copies, hidden and exposed
*/
#include "tools/analyze/figures/base/wording.h"
#include "tools/analyze/figures/time/overlap.h"
#include "tools/analyze/figures/time/ranks.h"

typedef struct overlap_topic {
    analyze_job *job;
    report_section *s;
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    overlap_result r;
    model_figures model, without[2]; // copies, collectives
    int64_t waited_ns;               // waiting time of ranks for each other
} overlap_topic;

enum { COPIES, COLLECTIVES }; // indices of `without`

// Whether a gain is at least half a percent; smaller ones are below the
// accuracy of the model.
static bool gains(const overlap_topic *a, int which)
{
    const ts_replay_stats *const s = ts_replay_result(a->replay);
    return model_gain(&a->model, &a->without[which]) >
           (s->end_ns - s->start_ns) / 200;
}

static void answer_gain(const overlap_topic *a, int which, const char *what)
{
    const model_figures *const w = &a->without[which];
    if (gains(a, which))
        report_answer(a->s,
                      "If no kernel waited for %s, the run would be %s "
                      "shorter, and bound by %s.",
                      what, cli_time(model_gain(&a->model, w)).s,
                      ts_cost_name(w->bound));
    else
        report_answer(a->s,
                      "Hiding more of %s behind kernels would save no time: "
                      "the run is bound by %s.",
                      what, ts_cost_name(w->bound));
}

// Reports the gain of hiding each kind; both in one sentence if there is none.
static void answer_gains(const overlap_topic *a)
{
    const model_figures *const w = a->without;
    if (!a->model.known) return;
    const bool copies = w[COPIES].known && a->r.copy_ns;
    const bool collectives = w[COLLECTIVES].known && a->r.collective_ns;
    if (copies && collectives && !gains(a, COPIES) && !gains(a, COLLECTIVES) &&
        w[COPIES].bound == w[COLLECTIVES].bound) {
        answer_gain(a, COPIES, "either");
        return;
    }
    if (collectives) answer_gain(a, COLLECTIVES, "communication");
    if (copies) answer_gain(a, COPIES, "copies and memsets");
}

static void answer_part(const overlap_topic *a, const char *what, int64_t total,
                        int64_t hidden, bool collectives)
{
    const ts_timeline_figures *const f = ts_timeline_total(a->timeline);
    const int64_t span = f->busy_ns + f->idle_ns;
    if (!total) return;
    if (report_is_none(total, span)) {
        report_answer(a->s, "%s took %s, less than 0.1 %% of the time.", what,
                      cli_time(total).s);
        return;
    }
    report_answer(
        a->s,
        "%s took %s (%s of the time), %s of it exposed: no kernel of the "
        "device ran meanwhile.",
        what, cli_time(total).s, report_words(report_share(total, span)).s,
        hidden ? report_words(report_share(total - hidden, total)).s : "all");
    if (collectives && a->waited_ns > total / 2)
        report_answer(a->s,
                      "Most of it (%s) is waiting for ranks that arrived later "
                      "(topic ranks shows which). It cannot be hidden; balance "
                      "the ranks instead.",
                      report_words(report_share(a->waited_ns, total)).s);
}

static void put_table(const overlap_topic *a, const char *key,
                      const char *title, size_t from, size_t to)
{
    static const report_column columns[] = {
        { "name", "what", REPORT_TEXT },
        { "size", "each", REPORT_BYTES },
        { "count", "count", REPORT_COUNT },
        { "total_ns", "total", REPORT_NS },
        { "hidden_ns", "hidden", REPORT_NS },
        { "exposed_ns", "exposed", REPORT_NS },
        { "share", "of it", REPORT_SHARE },
        { "rate", "at", REPORT_RATE }
    };
    if (from == to) return;
    report_table *const t =
        report_table_begin(a->s, key, title, columns, TOPIC_COUNT(columns));
    for (size_t i = from; i < to; i++) {
        const overlap_sum *const s = &a->r.sums[i];
        const report_value row[] = {
            report_text(topic_group(a->job, &a->names, s->group)),
            s->size ? report_bytes(s->size) : report_unknown(REPORT_BYTES),
            report_count(s->count),
            report_ns(s->total_ns),
            report_ns(s->hidden_ns),
            report_ns(s->total_ns - s->hidden_ns),
            report_share(s->total_ns - s->hidden_ns, s->total_ns),
            s->bytes ? report_rate(s->bytes, s->total_ns)
                     : report_unknown(REPORT_RATE)
        };
        const report_evidence e = topic_evidence(a->replay, s->worst);
        report_row(t, row, &e);
    }
}

static void put_devices(const overlap_topic *a)
{
    static const report_column columns[] = {
        { "device", "device", REPORT_TEXT },
        { "collective_ns", "communication", REPORT_NS },
        { "collective_exposed_ns", "exposed", REPORT_NS },
        { "copy_ns", "copies", REPORT_NS },
        { "copy_exposed_ns", "alone", REPORT_NS },
        { "kernel_ns", "kernels", REPORT_NS },
        { "span_ns", "of", REPORT_NS }
    };
    report_table *const t = report_table_begin(
        a->s, "devices", "Device time (overlapping work counts once)", columns,
        TOPIC_COUNT(columns));
    const ts_timeline_figures *f;
    for (size_t d = 0; (f = ts_timeline_device(a->timeline, d)); d++) {
        const report_value row[] = { report_text(analyze_track(a->job, f->file,
                                                               f->track)),
                                     report_ns(f->work_ns[TS_WORK_COLLECTIVE]),
                                     report_ns(f->only_ns[TS_WORK_COLLECTIVE]),
                                     report_ns(f->work_ns[TS_WORK_COPY]),
                                     report_ns(f->only_ns[TS_WORK_COPY]),
                                     report_ns(f->work_ns[TS_WORK_KERNEL]),
                                     report_ns(f->busy_ns + f->idle_ns) };
        const report_evidence e =
            report_from_to(f->file, f->start_ns, f->end_ns);
        report_row(t, row, &e);
    }
}

static void put_worst(const overlap_topic *a)
{
    static const report_column columns[] = {
        { "start_ns", "start", REPORT_TIME },
        { "exposed_ns", "exposed", REPORT_NS },
        { "total_ns", "of", REPORT_NS },
        { "name", "what", REPORT_TEXT },
        { "track", "on", REPORT_TEXT }
    };
    report_table *const t =
        report_table_begin(a->s, "worst", "The most exposed transfers", columns,
                           TOPIC_COUNT(columns));
    for (size_t i = 0; i < a->r.count && i < a->job->options.rows; i++) {
        const overlap_transfer *const x = &a->r.transfers[i];
        ts_operation op;
        if (x->total_ns == x->hidden_ns ||
            !ts_replay_operation(a->replay, x->operation, &op))
            continue;
        const report_value row[] = {
            report_time(op.recorded_start_ns),
            report_ns(x->total_ns - x->hidden_ns), report_ns(x->total_ns),
            report_text(
                topic_group(a->job, &a->names, a->names.of[x->operation])),
            report_text(analyze_track(a->job, op.file, op.track))
        };
        const report_evidence e = topic_evidence(a->replay, x->operation);
        report_row(t, row, &e);
    }
    report_rows_of(t, a->r.count);
}

static void put(const overlap_topic *a)
{
    const overlap_result *const r = &a->r;
    answer_part(a, "Communication", r->collective_ns, r->collective_hidden_ns,
                true);
    answer_part(a, "Copies and memsets", r->copy_ns, r->copy_hidden_ns, false);
    answer_gains(a);
    report_trust(a->s, REPORT_HIGH,
                 "it follows from recorded times only; the gain of hiding is "
                 "computed by the model");
    if (r->no_kernels)
        report_trust(a->s, REPORT_LOW,
                     "the trace contains no kernel that could hide transfers");
    report_figure(a->s, "collective_ns", "communication",
                  report_ns(r->collective_ns));
    report_figure(a->s, "collective_exposed_ns", "exposed",
                  report_ns(r->collective_ns - r->collective_hidden_ns));
    report_figure(a->s, "copy_ns", "copies and memsets", report_ns(r->copy_ns));
    report_figure(a->s, "copy_exposed_ns", "exposed",
                  report_ns(r->copy_ns - r->copy_hidden_ns));
    put_table(a, "collectives", "Communication by name and size", 0,
              r->collective_sums);
    put_table(a, "copies", "Copies and memsets by direction",
              r->collective_sums, r->sum_count);
    put_devices(a);
    put_worst(a);
}

static bool without(overlap_topic *a)
{
    ts_replay *const model = analyze_model(a->job);
    bool ok = !model || model_unchanged(a->job, &a->model);
    for (int i = 0; i < 2 && ok && model; i++)
        if (i ? a->r.collectives : a->r.copies)
            ok = overlap_hide(&a->without[i], model, i);
    return ok;
}

static bool take_waits(overlap_topic *a)
{
    ranks_result ranks = { 0 };
    const bool ok = ranks_open(&ranks, a->replay, NULL, &a->names);
    a->waited_ns = ranks.waited_ns;
    ranks_close(&ranks);
    return ok;
}

static bool fill(analyze_job *job, report *r)
{
    overlap_topic a = { .job = job };
    bool ok = true;
    a.s = topic_begin(job, r, "overlap", "Overlap", &a.replay, &a.timeline);
    if (!a.s) return true;
    uint64_t *const sizes = topic_column(job, a.replay, TS_COLUMN_SIZE, &ok);
    ok = ok && names_of_job(&a.names, job) &&
         overlap_open(&a.r, a.replay, &a.names, sizes) && take_waits(&a);
    if (ok && !a.r.count)
        report_not_applicable(a.s, "The trace contains no copy and no "
                                   "collective that could be hidden.");
    else if (ok && (ok = without(&a)))
        put(&a);
    overlap_close(&a.r);
    names_close(&a.names);
    free(sizes);
    return ok;
}

const analyze_topic topic_overlap = {
    "overlap", "Overlap",
    "communication and copies: hidden behind kernels or exposed", fill, NULL
};
