/*
    losses.c - what was lost, and which answers that affects
*/
#include "tools/analyze/job/private.h"
#include "tools/analyze/job/window.h"

#include <stdarg.h>

static void report_lost(const analyze_job *job, report *r, uint32_t file,
                        const char *before)
{
    const ts_info *const info = analyze_info(job, file);
    if (!info->lost) return;
    report_loss(r,
                "%s%s record%s lost (%s): counts and totals are lower bounds, "
                "and idle time may have been busy.",
                before, cli_count(info->lost).s,
                info->lost == 1 ? " was" : "s were",
                cli_loss_causes(analyze_reader(job, file), -1).s);
}

// What the headers of damaged chunks say about the lost events.
typedef struct damage_sum {
    uint32_t places, unknown; // unknown: places without a readable chunk header
    uint64_t kinds;           // kinds of events, as bits
    bool others;              // dictionary entries and other data
    int64_t from_ns, to_ns;
} damage_sum;

static void take_damage(damage_sum *sum, ts_reader *reader, uint64_t offset)
{
    ts_chunk_info c;
    sum->places++;
    for (size_t i = 0; ts_reader_chunk(reader, i, &c); i++) {
        if (offset < c.offset ||
            offset - c.offset >= sizeof c.header + c.header.stored_size)
            continue;
        if (c.header.kind != TS_CHUNK_EVENTS ||
            c.header.event >= TS_EVENT_LIMIT) {
            sum->others = true;
            return;
        }
        if (!sum->kinds || c.first_ns < sum->from_ns) sum->from_ns = c.first_ns;
        if (!sum->kinds || c.last_ns > sum->to_ns) sum->to_ns = c.last_ns;
        sum->kinds |= UINT64_C(1) << c.header.event;
        return;
    }
    sum->unknown++;
}

typedef struct damage_text {
    char s[512];
    size_t size;
} damage_text;

__attribute__((format(printf, 2, 3))) static void
add_text(damage_text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const int n =
        vsnprintf(t->s + t->size, sizeof t->s - t->size, format, arguments);
    va_end(arguments);
    if (n > 0) t->size += (size_t)n;
    if (t->size >= sizeof t->s) t->size = sizeof t->s - 1;
}

// Returns a text such as "kernel, memcpy events that began between 1 s and 2
// s".
static damage_text words_of(const damage_sum *sum)
{
    damage_text t = { "", 0 };
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (sum->kinds >> i & 1)
            add_text(&t, "%s%s", t.size ? ", " : "", ts_event_name(i));
    if (t.size)
        add_text(&t, " events that began between %s and %s",
                 cli_time(sum->from_ns).s, cli_time(sum->to_ns).s);
    if (sum->others)
        add_text(&t, "%snames and similar entries", t.size ? "; " : "");
    if (sum->unknown && t.size)
        add_text(&t, "; the kind of %s of them is unknown",
                 cli_count(sum->unknown).s);
    if (!t.size) add_text(&t, "their kind is unknown");
    return t;
}

static void report_damage(report *r, ts_reader *reader, const char *before)
{
    damage_sum sum = { 0 };
    ts_damage damage;
    for (size_t i = 0; ts_reader_damage(reader, i, &damage); i++)
        take_damage(&sum, reader, damage.offset);
    if (!sum.places) return;
    report_loss(r,
                "%s%s of the file %s damaged; figures do not include what %s "
                "held: %s (ts-info --verify lists %s).",
                before,
                sum.places == 1
                    ? "1 place"
                    : cli_format("%s places", cli_count(sum.places).s).s,
                sum.places == 1 ? "is" : "are", sum.places == 1 ? "it" : "they",
                words_of(&sum).s, sum.places == 1 ? "it" : "them");
}

static void report_file(const analyze_job *job, report *r, uint32_t file)
{
    const ts_info *const info = analyze_info(job, file);
    const cli_text name = analyze_file_name(job, file);
    const cli_text of =
        job->file_count > 1 ? cli_format("%s: ", name.s) : cli_format("%s", "");
    report_lost(job, r, file, of.s);
    report_damage(r, analyze_reader(job, file), of.s);
    if (info->salvage_failed)
        report_loss(r, "%sRecords in the sidecar could not be salvaged: %s.",
                    of.s, ts_result_text(info->salvage));
    else if (info->live && !info->finished)
        report_loss(r, "%sThe trace is still being written.", of.s);
    else if (!info->finished && !info->salvaged)
        report_loss(r,
                    "%sThe trace is unfinished: the recorder died and its "
                    "sidecar is missing, or the file was truncated.",
                    of.s);
    if (info->unknown_events)
        report_loss(r, "%s%s of a later format version %s skipped.", of.s,
                    cli_counted(info->unknown_events, "event", "events").s,
                    info->unknown_events == 1 ? "was" : "were");
    if (info->clock_estimated)
        report_loss(r,
                    "%sThe clock's frequency is not in the trace: all times "
                    "are estimates.",
                    of.s);
}

// Topics about what devices did, when and why.
static const char of_devices[] =
    "summary,idle,launch,path,overlap,steps,sync,advice";

static void lower_cut(analyze_job *job, report *r)
{
    const cut_figures *const cut = analyze_cut(job);
    if (!cut || !cut_weighs(cut)) return;
    for (report_section *s = r->sections; s; s = s->next)
        if (s->trusted && !s->not_applicable &&
            cli_list_has(of_devices, s->name, strlen(s->name)))
            report_trust(s, REPORT_MEDIUM,
                         "the trace covers a part of a running program; time "
                         "before and after it is not included");
}

// Whether a selection by zone, stream or kind hides work, so that a device that
// did other work looks idle.
static bool hides_work(const analyze_job *job, uint32_t file)
{
    static const char *const options[] = { "--zone ", "--stream ", "--kind ",
                                           "--name " };
    ts_metadata m;
    if (!ts_reader_metadata(analyze_reader(job, file), 0, "cut.what", &m) ||
        m.type != TS_VALUE_TEXT)
        return false;
    char what[1024];
    snprintf(what, sizeof what, "%.*s", (int)(m.text.size & 1023), m.text.text);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strstr(what, options[i])) return true;
    return false;
}

static void lower_hidden(const analyze_job *job, report *r)
{
    uint32_t i = 0;
    while (i < job->file_count && !hides_work(job, i))
        i++;
    if (i == job->file_count) return;
    for (report_section *s = r->sections; s; s = s->next)
        if (s->trusted && !s->not_applicable &&
            cli_list_has(of_devices, s->name, strlen(s->name)))
            report_trust(s, REPORT_LOW,
                         "devices also ran operations outside of the "
                         "selection; they count as idle during these");
}

bool analyze_estimated(const analyze_job *job, uint32_t file)
{
    ts_reader *const reader = analyze_reader(job, file);
    ts_metadata m;
    return ts_reader_metadata(reader, 0, "chakra.times", &m) ||
           ts_reader_metadata(reader, 0, "import.estimated.start_time", &m);
}

static void lower_estimated(const analyze_job *job, report *r)
{
    uint32_t i = 0;
    while (i < job->file_count && !analyze_estimated(job, i))
        i++;
    if (i == job->file_count) return;
    for (report_section *s = r->sections; s; s = s->next)
        if (!s->not_applicable)
            report_trust(s, REPORT_LOW,
                         "the source of %s has no times; the importer "
                         "estimated them",
                         analyze_file_name(job, i).s);
}

static void lower_losses(report *r)
{
    if (!r->losses) return;
    for (report_section *s = r->sections; s; s = s->next)
        if (!s->not_applicable)
            report_trust(s, REPORT_MEDIUM, "the record is not complete");
}

// Lowers the confidence of findings to that of their section, because the gain
// comes from the same model.
static void lower_findings(report *r)
{
    for (report_section *s = r->sections; s; s = s->next)
        for (size_t i = 0; s->trusted && i < s->finding_count; i++)
            if (s->findings[i].has_gain &&
                s->findings[i].confidence < s->confidence)
                s->findings[i].confidence = s->confidence;
}

void analyze_losses(analyze_job *job, report *r)
{
    lower_cut(job, r);
    lower_hidden(job, r);
    lower_estimated(job, r);
    for (uint32_t i = 0; i < job->file_count; i++)
        report_file(job, r, i);
    lower_losses(r);
    lower_findings(r);
}
