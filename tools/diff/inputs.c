/*
    inputs.c - describes the two sides before what changed
*/
#include "tools/diff/report_parts.h"

enum { FACTS = 6 };
typedef struct facts {
    ts_text text[FACTS]; // empty: unknown
} facts;
static const char *const labels[FACTS] = { "traces", "selected", "devices",
                                           "rank",   "steps",    "operations" };
enum { TRACES, SELECTED, DEVICES, RANK, STEPS, OPERATIONS };

ts_text diff_model(const ts_reader *reader, const ts_track *device)
{
    ts_metadata model = { .text = { "", 0 } };
    ts_reader_metadata(reader, device->id, "name", &model);
    return model.text.size ? model.text : device->name;
}

// Returns the models of the devices that executed work, as "2 x Tesla V100".
static ts_text devices_of(diff_side *s)
{
    char text[200] = "";
    size_t used = 0;
    ts_track track;
    for (uint32_t file = 0; file < s->job.file_count; file++) {
        const ts_reader *const reader = analyze_reader(&s->job, file);
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
            const ts_text model = diff_model(reader, &track);
            const cli_text own =
                cli_format("%.*s", (int)model.size, model.text);
            if (track.type != TS_TRACK_DEVICE || !own.s[0] ||
                strstr(text, own.s) || used + strlen(own.s) + 3 > sizeof text)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                                     used ? ", " : "", own.s);
        }
    }
    return analyze_format(&s->job, "%s", text);
}

static ts_text rank_of(diff_side *s)
{
    ts_metadata rank;
    if (s->job.file_count > 1)
        return analyze_format(&s->job, "%" PRIu32 " of them",
                              s->job.file_count);
    if (!ts_reader_metadata(analyze_reader(&s->job, 0), 0, "rank", &rank) ||
        rank.type != TS_VALUE_INT)
        return (ts_text){ "", 0 };
    return analyze_format(&s->job, "%" PRId64, rank.number);
}

static ts_text steps_of(diff_side *s)
{
    const steps_result *const r = &s->steps;
    if (!r->count) return analyze_format(&s->job, "none");
    if (!r->marked)
        return analyze_format(&s->job, "%zu found, of %" PRIu32 " operation%s",
                              r->count, r->length, r->length == 1 ? "" : "s");
    ts_text name = r->steps[0].name;
    const char *const mark = memchr(name.text, '#', name.size);
    if (mark) name.size = (size_t)(mark - name.text);
    return analyze_format(&s->job, "%zu marked%s%.*s", r->count,
                          name.size ? ", " : "", (int)name.size, name.text);
}

static facts facts_of(diff_side *s)
{
    const analyze_job *const job = &s->job;
    facts f = { .text[SELECTED] = analyze_selected(&s->job),
                .text[DEVICES] = devices_of(s),
                .text[RANK] = rank_of(s),
                .text[STEPS] = steps_of(s) };
    f.text[TRACES] = analyze_format(
        &s->job, "%s%s", job->files[0].path,
        job->file_count > 1
            ? cli_format(" and %" PRIu32 " more", job->file_count - 1).s
            : "");
    f.text[OPERATIONS] =
        analyze_format(&s->job, "%s", cli_count(s->operations).s);
    return f;
}

static bool differ(const facts *a, const facts *b, int fact)
{
    const ts_text x = a->text[fact], y = b->text[fact];
    return x.size && y.size &&
           (x.size != y.size || memcmp(x.text, y.text, x.size) != 0);
}

// A found step may be missing at an end of the trace, so that equal numbers of
// operations count as equal work.
bool diff_steps_unequal(const diff *d)
{
    const diff_side *const a = &d->sides[0], *const b = &d->sides[1];
    return d->alike && a->steps.count != b->steps.count &&
           (a->steps.marked || !diff_about_same(a->operations, b->operations));
}

static bool is_part(const diff_side *s)
{
    ts_metadata left_out;
    for (uint32_t i = 0; i < s->job.file_count; i++)
        if (ts_reader_metadata(analyze_reader(&s->job, i), 0, "cut.left_out",
                               &left_out) &&
            left_out.number)
            return true;
    return false;
}

const char *diff_unequal(const diff *d)
{
    const diff_side *const a = &d->sides[0], *const b = &d->sides[1];
    return a->job.file_count != b->job.file_count
               ? "A and B have different numbers of traces"
           : diff_steps_unequal(d) ? "A and B have different numbers of steps"
           : is_part(a) && !is_part(b) ? "A is a part of a trace"
           : is_part(b) && !is_part(a) ? "B is a part of a trace"
                                       : NULL;
}

// Notes that devices with different names, of another rank or node, were
// paired.
static void note_paired(const diff *d, report_section *s)
{
    const ts_text a = d->paired_names[0], b = d->paired_names[1];
    if (d->paired == 1)
        report_answer(s, "%.*s of A is compared with %.*s of B.", (int)a.size,
                      a.text, (int)b.size, b.text);
    else if (d->paired)
        report_answer(s,
                      "%zu devices of A are compared with those of B in order, "
                      "starting with %.*s and %.*s.",
                      d->paired, (int)a.size, a.text, (int)b.size, b.text);
}

// Warns of differences in the setup that may explain all others.
static void warn(const diff *d, report_section *s, const facts *a,
                 const facts *b)
{
    char text[80] = "";
    const uint32_t of_a = d->sides[0].job.file_count;
    const uint32_t of_b = d->sides[1].job.file_count;
    if (of_a != of_b)
        report_answer(s,
                      "A has %" PRIu32 " trace%s, B has %" PRIu32 ": totals "
                      "cannot be compared.",
                      of_a, of_a == 1 ? "" : "s", of_b);
    for (int fact = DEVICES; fact <= RANK; fact++)
        if (differ(a, b, fact) && (fact != RANK || of_a == of_b))
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s",
                     *text ? " and by " : "",
                     fact == RANK ? "rank" : "model of device");
    if (*text)
        report_answer(s,
                      "A and B differ by %s: this alone may cause the "
                      "following differences.",
                      text);
    const uint64_t devices[] = { d->sides[0].devices, d->sides[1].devices };
    if (devices[0] != devices[1])
        report_answer(s, "A ran on %s, B on %" PRIu64 ".",
                      cli_counted(devices[0], "device", "devices").s,
                      devices[1]);
    const steps_result *const x = &d->sides[0].steps;
    const steps_result *const y = &d->sides[1].steps;
    if (diff_steps_unequal(d))
        report_answer(s,
                      "A has %zu steps, B has %zu: total times cannot be "
                      "compared, but times per step can.",
                      x->count, y->count);
    else if (!d->alike && x->count && y->count)
        report_answer(s, "The steps of A and B differ in kind and are not "
                         "compared.");
    if (is_part(&d->sides[0]) != is_part(&d->sides[1]))
        report_answer(s,
                      "%s is a part of a trace (ts-cut), %s is not: totals "
                      "cannot be compared.",
                      is_part(&d->sides[0]) ? "A" : "B",
                      is_part(&d->sides[0]) ? "B" : "A");
    if (!*text && devices[0] == devices[1] && !diff_unequal(d) &&
        (d->alike || !x->count || !y->count))
        report_answer(s, "Devices, ranks and kind of steps are the same, "
                         "according to the traces.");
    note_paired(d, s);
}

static report_value known(ts_text text)
{
    return text.size ? report_text(text) : report_unknown(REPORT_TEXT);
}

void diff_put_about(diff *d, report *r)
{
    static const report_column columns[] = {
        { "what", "", REPORT_TEXT },
        { "a", "A", REPORT_TEXT },
        { "b", "B", REPORT_TEXT },
    };
    const facts a = facts_of(&d->sides[0]), b = facts_of(&d->sides[1]);
    report_section *const s = report_begin(r, "compared", "Inputs");
    warn(d, s, &a, &b);
    report_table *const t =
        report_table_begin(s, "sides", "A and B", columns, 3);
    for (int fact = 0; fact < FACTS; fact++) {
        if (!a.text[fact].size && !b.text[fact].size) continue;
        const report_value values[] = { report_string(labels[fact]),
                                        known(a.text[fact]),
                                        known(b.text[fact]) };
        report_row(t, values, NULL);
    }
}
