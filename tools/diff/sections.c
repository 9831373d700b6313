/*
    sections.c - the sections of the report
*/
#include "tools/diff/report_parts.h"

#define BIT(subject) (1u << DIFF_##subject)

const char *diff_verdict_name(diff_verdict verdict)
{
    static const char *const names[] = { "within", "noise", "untested", "blind",
                                         "regressed" };
    return names[verdict];
}

/* ---- Gates -------------------------------------------------------------- */

const char diff_gate_untested[] = "untested";

static void put_hits(const diff *d, report_section *s, const diff_gates *gates)
{
    static const report_column columns[] = {
        { "gate", "gate", REPORT_TEXT }, { "verdict", "verdict", REPORT_TEXT },
        { "name", "name", REPORT_TEXT }, { "a", "A", REPORT_NS },
        { "b", "B", REPORT_NS },         { "change", "change", REPORT_TEXT },
        { "p", "p", REPORT_TEXT },
    };
    report_table *const t =
        report_table_begin(s, "hits", "Limits exceeded", columns, 7);
    for (size_t i = 0; i < gates->count; i++)
        for (size_t k = 0; k < gates->items[i].hit_count; k++) {
            const diff_gate *const g = &gates->items[i];
            const diff_hit *const hit = &g->hits[k];
            if (hit->verdict == DIFF_WITHIN || hit->verdict == DIFF_BLIND)
                continue;
            const diff_row *const row = &d->rows[hit->row];
            const diff_number a = diff_value(d, row, g->metric, 0);
            const diff_number b = diff_value(d, row, g->metric, 1);
            const report_unit unit = g->metric == DIFF_COUNT ? REPORT_COUNT
                                     : row->subject == DIFF_MEMORY
                                         ? REPORT_BYTES
                                         : REPORT_NS;
            const cli_text percent = diff_percent(d, row, g->metric);
            const cli_text p = diff_p(hit->p);
            const report_value values[] = {
                report_string(g->text),
                report_string(diff_verdict_name(hit->verdict)),
                report_text(row->name),
                diff_is_sample(row) ? diff_weight(d, a.number / a.of)
                                    : report_number(unit, a.number / a.of, 0),
                diff_is_sample(row) ? diff_weight(d, b.number / b.of)
                                    : report_number(unit, b.number / b.of, 0),
                report_string(percent.s),
                hit->p < DIFF_CERTAIN ? report_string(p.s)
                                      : report_unknown(REPORT_TEXT),
            };
            report_row(t, values, NULL);
        }
}

const char *diff_gate_state(const diff_gates *gates, const diff_gate *g)
{
    return diff_gate_failed(gates, g)   ? "FAILED"
           : diff_gate_missed(g)        ? "MATCHES NOTHING"
           : diff_gate_blind(g)         ? "BLIND"
           : !g->hit_count              ? "absent"
           : g->verdicts[DIFF_UNTESTED] ? diff_gate_untested
                                        : "passed";
}

static void put_verdict(const diff *d, report_section *s, size_t count,
                        size_t failed, size_t untested, size_t missed,
                        size_t blind)
{
    if (failed)
        report_answer(s, "%zu of %zu gate%s failed.", failed, count,
                      count == 1 ? "" : "s");
    if (missed)
        report_answer(s, "%zu of %zu gate%s %s nothing.", missed, count,
                      count == 1 ? "" : "s", missed == 1 ? "matches" : "match");
    if (blind)
        report_answer(s,
                      "%zu of %zu gate%s cannot detect a change: %s, so that "
                      "totals cannot be compared%s.",
                      blind, count, count == 1 ? "" : "s", diff_unequal(d),
                      d->alike ? "; compare a step (step +3%)" : "");
    if (untested)
        report_answer(s,
                      "%zu of %zu gate%s %s beyond the limit, but untested "
                      "because of too few samples.",
                      untested, count, count == 1 ? "" : "s",
                      untested == 1 ? "is" : "are");
    else if (!failed && !missed && !blind)
        report_answer(s, "%s.",
                      count == 1 ? "The gate passes" : "All gates pass");
}

static void put_gates(const diff *d, const diff_gates *gates, report *r)
{
    static const report_column columns[] = {
        { "gate", "gate", REPORT_TEXT },
        { "passed", "", REPORT_TEXT },
        { "looked_at", "compared", REPORT_COUNT },
        { "regressed", "regressed", REPORT_COUNT },
        { "noise", "noise", REPORT_COUNT },
        { "untested", "untested", REPORT_COUNT },
    };
    report_section *const s = report_begin(r, "gates", "Gates");
    size_t failed = 0, missed = 0, beyond = 0, untested = 0, blind = 0;
    report_table *const t = report_table_begin(s, "gates", "Gates", columns, 6);
    for (size_t i = 0; i < gates->count; i++) {
        const diff_gate *const g = &gates->items[i];
        failed += diff_gate_failed(gates, g);
        missed += diff_gate_missed(g);
        blind += diff_gate_blind(g) && !diff_gate_failed(gates, g);
        untested += diff_gate_state(gates, g) == diff_gate_untested;
        beyond +=
            g->hit_count - g->verdicts[DIFF_WITHIN] - g->verdicts[DIFF_BLIND];
        const report_value values[] = {
            report_string(g->text),
            report_string(diff_gate_state(gates, g)),
            report_count(g->hit_count),
            report_count(g->verdicts[DIFF_REGRESSED]),
            report_count(g->verdicts[DIFF_NOISE]),
            report_count(g->verdicts[DIFF_UNTESTED]),
        };
        report_row(t, values, NULL);
    }
    put_verdict(d, s, gates->count, failed, untested, missed, blind);
    if (untested)
        report_note(s,
                    "Untested: the limit is exceeded, but there are fewer than "
                    "%d samples on a side, too few to test for noise; "
                    "--gate-untested makes this a failure.",
                    DIFF_SAMPLES_LEAST);
    if (beyond) put_hits(d, s, gates);
}

/* ---- Schedules ---------------------------------------------------------- */

static report_value operation_name(diff_side *side, uint32_t operation)
{
    ts_operation o;
    if (operation == TS_NODE_NONE ||
        !ts_replay_operation(analyze_replay(&side->job), operation, &o))
        return report_string("(the end)");
    return report_text(analyze_label(&side->job, &o));
}

static void put_streams(diff *d, report_section *s)
{
    static const report_column columns[] = {
        { "stream", "stream", REPORT_TEXT },
        { "operations_a", "ops A", REPORT_COUNT },
        { "operations_b", "B", REPORT_COUNT },
        { "pairs_gone", "pairs gone", REPORT_COUNT },
        { "pairs_new", "new", REPORT_COUNT },
        { "first_a", "first difference: A", REPORT_TEXT },
        { "first_b", "B", REPORT_TEXT },
    };
    size_t same = 0;
    for (size_t i = 0; i < d->stream_count; i++)
        same += d->streams[i].same;
    if (same < d->stream_count) {
        report_table *const t = report_table_begin(
            s, "streams", "Streams whose order differs", columns, 7);
        for (size_t i = 0; i < d->stream_count; i++) {
            const diff_stream *const stream = &d->streams[i];
            if (stream->same) continue;
            const report_value values[] = {
                report_text(stream->name),
                report_count(stream->counts[0]),
                report_count(stream->counts[1]),
                report_count(stream->pairs_gone),
                report_count(stream->pairs_new),
                operation_name(&d->sides[0], stream->first[0]),
                operation_name(&d->sides[1], stream->first[1]),
            };
            report_evidence e = { 0 };
            if (stream->first[1] != TS_NODE_NONE)
                report_evidence_add(&e, stream->first[1]);
            report_row(t, values, &e);
        }
        report_note(s, "Pairs: operations that directly follow each other on a "
                       "stream.");
    }
    if (d->stream_count)
        report_answer(
            s, "%zu of %s the same in the same order.", same,
            cli_counted(d->stream_count, "stream does", "streams do").s);
    for (int side = 0; side < 2; side++)
        if (d->only[side])
            report_answer(
                s, "%s only in %s.",
                cli_counted(d->only[side], "stream is", "streams are").s,
                side ? "B" : "A");
}

static void put_overlap(const diff *d, report_section *s)
{
    static const report_column columns[] = {
        { "work", "work", REPORT_TEXT },
        { "a_ns", "A", REPORT_NS },
        { "b_ns", "B", REPORT_NS },
        { "a_only_ns", "alone in A", REPORT_NS },
        { "b_only_ns", "alone in B", REPORT_NS },
    };
    const ts_timeline_figures *const a = &d->sides[0].total, *const b =
                                                                 &d->sides[1]
                                                                      .total;
    report_table *const t = report_table_begin(
        s, "overlap",
        "Time with operations running; alone: without any kind listed above",
        columns, 5);
    for (uint32_t w = 0; w < TS_WORK_LIMIT; w++) {
        if (!a->work_ns[w] && !b->work_ns[w]) continue;
        const report_value values[] = {
            report_string(ts_work_name(w)), report_ns(a->work_ns[w]),
            report_ns(b->work_ns[w]),       report_ns(a->only_ns[w]),
            report_ns(b->only_ns[w]),
        };
        report_row(t, values, NULL);
    }
    const report_value busy[] = {
        report_string("any"),      report_ns(a->busy_ns),
        report_ns(b->busy_ns),     report_unknown(REPORT_NS),
        report_unknown(REPORT_NS),
    };
    report_row(t, busy, NULL);
}

/* ---- The whole report --------------------------------------------------- */

static void put_whole(diff *d, report *r)
{
    report_section *const s = report_begin(r, "diff", "Difference");
    diff_put_answer(d, s);
    diff_put_trust(d, s);
    diff_put_table(d, s, BIT(MAKESPAN) | BIT(STEP) | BIT(LATENCY), "whole",
                   "Whole run");
}

// Appends a part such as ", 2 are new" to a sentence; nothing if the count is
// 0.
static void add_part(char *text, size_t room, size_t count, const char *one,
                     const char *more)
{
    const size_t size = strlen(text);
    if (count)
        snprintf(text + size, room - size, ", %s",
                 cli_counted(count, one, more).s);
}

// one, more: what a row is, and what several are.
static void put_subject(diff *d, report *r, uint32_t subjects, const char *key,
                        const char *title, const char *one, const char *more)
{
    size_t rows = 0, changed = 0, counts = 0, fresh = 0, gone = 0, unknown = 0;
    for (size_t i = 0; i < d->row_count; i++) {
        const diff_row *const row = &d->rows[i];
        if (!(subjects >> row->subject & 1)) continue;
        rows++;
        fresh += diff_is_new(row);
        gone += diff_is_gone(row);
        if (diff_is_new(row) || diff_is_gone(row)) continue;
        const bool sure = diff_is_significant(d, row);
        changed += sure;
        counts += !sure && diff_differs(d, row);
        unknown += !strcmp(diff_word(d, row).s, "untested");
    }
    if (!rows || !diff_any_changed(d, subjects)) return;
    report_section *const s = report_begin(r, key, title);
    char text[200] = "";
    add_part(text, sizeof text, changed, "differs by more than noise",
             "differ by more than noise");
    add_part(text, sizeof text, counts, "differs only in number",
             "differ only in number");
    add_part(text, sizeof text, fresh, "is new", "are new");
    add_part(text, sizeof text, gone, "is gone", "are gone");
    add_part(text, sizeof text, unknown, "is untested", "are untested");
    if (*text)
        report_answer(s, "Of %s%s.", cli_counted(rows, one, more).s, text);
    else if (rows == 1)
        report_answer(s, "The %s differs by no more than noise.", one);
    else
        report_answer(s, "None of %s %s differs by more than noise.",
                      cli_count(rows).s, more);
    diff_put_table(d, s, subjects, key, "What changed");
}

// Says why samples are not compared, if there are any.
static void put_samples(diff *d, report *r)
{
    const diff_sampled *const s = &d->sampled;
    if (s->alike) {
        put_subject(d, r, BIT(SAMPLE), "samples",
                    "Functions, by their own samples", "function", "functions");
        put_subject(d, r, BIT(SAMPLE_STACK), "sample_stacks",
                    "Call stacks, by their samples", "stack", "stacks");
        return;
    }
    if (!s->counts[0] && !s->counts[1]) return;
    report_section *const to =
        report_begin(r, "samples", "Functions, by their own samples");
    if (!s->counts[0] || !s->counts[1])
        report_not_applicable(to, s->counts[0]
                                      ? "Only A has samples of a profile."
                                      : "Only B has samples of a profile.");
    else
        report_not_applicable(to, "A and B have samples of different kinds.");
}

static size_t rows_of(const diff *d, diff_subject subject)
{
    size_t count = 0;
    for (size_t i = 0; i < d->row_count; i++)
        count += d->rows[i].subject == subject;
    return count;
}

void diff_report(diff *d, const diff_gates *gates, report *r)
{
    diff_put_about(d, r);
    put_whole(d, r);
    if (gates->count) put_gates(d, gates, r);
    if (diff_all_same(d)) return;
    put_subject(d, r, BIT(KERNEL), "kernels", "Kernels", "kernel", "kernels");
    put_subject(d, r, BIT(COPY) | BIT(COLLECTIVE), "transfers",
                "Copies, memsets and collectives", "copy, memset or collective",
                "copies, memsets and collectives");
    // If each kernel has only one configuration, the kernels were already
    // reported.
    if (rows_of(d, DIFF_CONFIG) > rows_of(d, DIFF_KERNEL))
        put_subject(d, r, BIT(CONFIG), "configs", "Launch configurations",
                    "configuration", "configurations");
    put_subject(d, r, BIT(ZONE_WORK), "zone_work",
                "Zones, by the device time launched in them", "zone", "zones");
    put_subject(d, r, BIT(STACK), "stacks",
                "Stacks, by the device time launched from them", "stack",
                "stacks");
    put_subject(d, r, BIT(ZONE), "zones", "Zones of the host", "zone", "zones");
    put_subject(d, r, BIT(API), "api", "API calls", "function", "functions");
    put_subject(d, r, BIT(IDLE), "idle", "Idle time", "cause", "causes");
    if (d->stream_count || d->only[0] || d->only[1]) {
        report_section *const s = report_begin(r, "schedule", "Schedule");
        put_streams(d, s);
        put_overlap(d, s);
    }
    put_subject(d, r, BIT(MEMORY), "memory", "Memory at the peak", "pool",
                "pools");
    put_samples(d, r);
}
