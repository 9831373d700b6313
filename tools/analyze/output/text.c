/*
    text.c - a report as text for a terminal
*/
#include "tools/analyze/output/output.h"
#include "tools/analyze/output/text.h"

enum {
    WIDTH_LEAST = 20,
    WIDTH_NARROW = 40, // narrower lines use every column
    WIDTH_MOST = 160,
    NAME_TINY = 6, // minimum width where space is very short
    NAME_LEAST = 16,
    NAME_FAIR = 22,
    NAME_GOOD = 30,
    COLUMNS_LEAST = 3
};

/* ---- Text ---------------------------------------------------------------- */

uint32_t text_fit(void)
{
    const uint32_t width = cli_width();
    return width < WIDTH_LEAST  ? WIDTH_LEAST
           : width > WIDTH_MOST ? WIDTH_MOST
                                : width;
}

uint32_t text_width(ts_text text)
{
    return cli_columns(text.text, text.size);
}

void text_put(ts_text text, const char *cut, uint32_t width)
{
    if (cut) text = (ts_text){ cut, strlen(cut) };
    cli_put_padded(cli_stdout(), text.text, text.size, width);
}

static void put_lines(const char *lead, const report_line *line, uint32_t width)
{
    for (; line; line = line->next) {
        fputs(lead, cli_stdout());
        const uint32_t indent = (uint32_t)strlen(lead);
        cli_put_wrapped(cli_stdout(), line->text, indent, indent, width);
    }
}

void text_put_gathered(FILE *out, char **text, size_t *size, uint32_t first,
                       uint32_t indent, uint32_t width)
{
    if (fclose(out) == 0) {
        const ts_text all = { *text, *size };
        cli_print("%*s", (int)first, "");
        cli_put_wrapped(cli_stdout(), all, indent, first, width);
    }
    free(*text);
}

/* ---- Tables -------------------------------------------------------------- */

// Formats evidence: "1.234567 s +1.500 ms #12" has start, duration, operation.
static cli_text where(const report_evidence *e, bool narrow)
{
    cli_text ops = { "" }, time = { "" }; // a moment has no duration
    if (e->operation_count) ops = cli_format("#%" PRIu32, e->operations[0]);
    if (!e->has_time) return ops;
    const cli_text start = cli_moment(e->from_ns, 6);
    if (narrow) return start;
    if (report_length(e))
        time = cli_format(" +%s", cli_time(report_length(e)).s);
    return cli_format("%s%s%s%s", start.s, time.s, *ops.s ? " " : "", ops.s);
}

static uint32_t cell_width(const report_value *v)
{
    if (v->unit == REPORT_TEXT && !v->unknown) return text_width(v->text);
    return (uint32_t)strlen(report_words(*v).s);
}

typedef struct layout {
    uint32_t widths[32], where, indent;
    size_t columns; // columns that fit, from the left
    size_t rows;
    bool narrow;
    char **cuts[32]; // by column: shortened texts, if one does not fit
} layout;

static bool is_text(const report_table *t, size_t column)
{
    return t->columns[column].unit == REPORT_TEXT;
}

static uint32_t sum_widths(const layout *l)
{
    uint32_t sum = l->indent + (l->where ? l->where + 2 : 0);
    for (size_t c = 0; c < l->columns; c++)
        sum += l->widths[c] + (c ? 2 : 0);
    return sum;
}

static uint32_t where_width(const report_table *t, const layout *l)
{
    uint32_t most = t->has_evidence ? 5 : 0;
    for (size_t r = 0; t->has_evidence && r < l->rows; r++) {
        const size_t wide = strlen(where(&t->evidence[r], l->narrow).s);
        if (wide > most) most = (uint32_t)wide;
    }
    return most;
}

// Narrows the widest text column until all columns fit, but keeps at least
// `least`.
static bool shrink(const report_table *t, layout *l, uint32_t width,
                   uint32_t least)
{
    while (sum_widths(l) > width) {
        size_t widest = 0;
        uint32_t most = least;
        for (size_t c = 0; c < t->column_count; c++)
            if (is_text(t, c) && l->widths[c] > most) {
                most = l->widths[c];
                widest = c;
            }
        if (most == least) return false;
        l->widths[widest]--;
    }
    return true;
}

static void measure(const report_table *t, layout *l)
{
    for (size_t c = 0; c < t->column_count; c++) {
        l->widths[c] = (uint32_t)strlen(t->columns[c].label);
        for (size_t r = 0; r < l->rows; r++) {
            const uint32_t wide =
                cell_width(&t->values[r * t->column_count + c]);
            if (wide > l->widths[c]) l->widths[c] = wide;
        }
    }
}

// Computes the layout of a table. The evidence column is dropped before names
// become too short to read.
static void lay_out(const report_table *t, layout *l, uint32_t width)
{
    measure(t, l);
    l->where = where_width(t, l);
    // Output to a file: lines have any length, but names are limited.
    if (!cli_has_width()) {
        shrink(t, l, WIDTH_MOST, NAME_GOOD);
        return;
    }
    if (shrink(t, l, width, NAME_GOOD)) return;
    measure(t, l);
    l->narrow = true;
    l->where = where_width(t, l);
    if (shrink(t, l, width, NAME_GOOD)) return;
    measure(t, l);
    l->where = 0;
    while (!shrink(t, l, width, NAME_FAIR) && l->columns > COLUMNS_LEAST) {
        measure(t, l);
        l->columns--;
    }
    while (!shrink(t, l, width, NAME_LEAST) && l->columns > 2) {
        measure(t, l);
        l->columns--;
    }
    while (!shrink(t, l, width, NAME_TINY) && l->columns > 1) {
        measure(t, l);
        l->columns--;
    }
}

static void put_head(const report_table *t, const layout *l)
{
    cli_print("%*s", (int)l->indent, "");
    for (size_t c = 0; c < l->columns; c++) {
        const char *const label = t->columns[c].label;
        fputs(c ? "  " : "", cli_stdout());
        if (is_text(t, c)) // names may be narrower than their heading
            cli_put_padded(cli_stdout(), label, strlen(label), l->widths[c]);
        else
            cli_print("%*s", (int)l->widths[c], label);
    }
    fputs(l->where ? "  where\n" : "\n", cli_stdout());
}

static void put_row(const report_table *t, const layout *l, size_t r)
{
    cli_print("%*s", (int)l->indent, "");
    for (size_t c = 0; c < l->columns; c++) {
        const report_value *const v = &t->values[r * t->column_count + c];
        fputs(c ? "  " : "", cli_stdout());
        if (v->unit == REPORT_TEXT && !v->unknown)
            text_put(v->text, l->cuts[c] ? l->cuts[c][r] : NULL, l->widths[c]);
        else
            cli_print(is_text(t, c) ? "%-*s" : "%*s", (int)l->widths[c],
                      report_words(*v).s);
    }
    if (l->where) cli_print("  %s", where(&t->evidence[r], l->narrow).s);
    putc('\n', cli_stdout());
}

static void put_title(const report_table *t, const layout *l, uint32_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return;
    const size_t hidden = t->column_count - l->columns;
    fputs(t->title, out);
    if (l->rows < t->all)
        fprintf(out, " (%s of %s)", cli_count(l->rows).s, cli_count(t->all).s);
    if (hidden)
        fprintf(out, " (%s not fit)",
                cli_counted(hidden, "column does", "columns do").s);
    fputs("\n", cli_stdout());
    text_put_gathered(out, &text, &size, 2, 4, width);
}

static void put_table(const report_table *t, uint64_t top, uint32_t width)
{
    layout l = { .indent = width < WIDTH_NARROW ? 2 : 4,
                 .columns = t->column_count,
                 .rows = t->row_count < top ? t->row_count : (size_t)top };
    if (t->column_count > sizeof l.widths / sizeof *l.widths || !t->row_count)
        return;
    lay_out(t, &l, width);
    put_title(t, &l, width);
    for (size_t c = 0; c < l.columns; c++)
        l.cuts[c] = report_cuts(t, c, l.rows, l.widths[c], NULL);
    put_head(t, &l);
    for (size_t r = 0; r < l.rows; r++)
        put_row(t, &l, r);
    for (size_t c = 0; c < l.columns; c++)
        if (l.cuts[c]) cli_cuts_free(l.cuts[c], l.rows);
}

/* ---- Findings ------------------------------------------------------------ */

static void put_finding(const report_finding *f, uint32_t width)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    putc('\n', cli_stdout());
    if (out) {
        fprintf(out, "[%s] %s", report_severity_name(f->severity), f->id);
        if (f->has_gain)
            fprintf(out, ", gain %s (%s)", cli_time(f->gain_ns).s,
                    report_words(report_share(f->gain_ns, f->of_ns)).s);
        fprintf(out, ": %s", f->title);
        text_put_gathered(out, &text, &size, 2, 6, width);
    }
    const struct {
        const char *label;
        ts_text text;
    } parts[] = { { "", f->what }, { "Do:", f->todo }, { "Gain:", f->how } };
    for (size_t i = 0; i < 3; i++) {
        if (!parts[i].text.size) continue;
        cli_print("    %s", parts[i].label);
        cli_put_wrapped(cli_stdout(), parts[i].text, 4,
                        4 + (uint32_t)strlen(parts[i].label), width);
    }
    out = open_memstream(&text, &size);
    if (!out) return;
    fprintf(out, "Confidence %s", report_confidence_name(f->confidence));
    const cli_text at = where(&f->evidence, false);
    if (*at.s) fprintf(out, "; at %s", at.s);
    for (size_t i = 0; i < f->limit_count; i++)
        fprintf(out, "%s%s=%s", i ? ", " : "; thresholds ", f->limits[i].key,
                report_words(f->limits[i].value).s);
    text_put_gathered(out, &text, &size, 4, 6, width);
}

/* ---- Sections ------------------------------------------------------------ */

static uint32_t figures_label(const report_section *s)
{
    uint32_t most = 0;
    for (size_t i = 0; i < s->figure_count; i++)
        if (strlen(s->figures[i].label) > most)
            most = (uint32_t)strlen(s->figures[i].label);
    return most;
}

enum { FIGURE_LEAST = 12 }; // columns

// Prints figures beside their labels, or below them if the line is too narrow.
static void put_figures(const report_section *s, uint32_t width)
{
    const uint32_t label = figures_label(s);
    const bool below = label + 4 + FIGURE_LEAST > width;
    const uint32_t at = below ? 4 : label + 4;
    if (s->figure_count) putc('\n', cli_stdout());
    for (size_t i = 0; i < s->figure_count; i++) {
        const report_value v = s->figures[i].value;
        const ts_text name = { s->figures[i].label,
                               strlen(s->figures[i].label) };
        const bool text = v.unit == REPORT_TEXT && !v.unknown;
        const cli_text words = report_words(v);
        fputs("  ", cli_stdout());
        if (below)
            cli_put_wrapped(cli_stdout(), name, 2, 2, width);
        else
            text_put(name, NULL, label);
        cli_print("%*s", below ? 4 : 2, "");
        cli_put_wrapped(cli_stdout(),
                        text ? v.text : (ts_text){ words.s, strlen(words.s) },
                        at, at, width);
    }
}

static void put_trust(const report_section *s, uint32_t width)
{
    if (!s->trusted || s->not_applicable) return;
    cli_print("  Confidence %s%s", report_confidence_name(s->confidence),
              s->reasons ? ":" : "\n");
    if (!s->reasons) return;
    const uint32_t first =
        14 + (uint32_t)strlen(report_confidence_name(s->confidence));
    // Joins all reasons to one sentence.
    size_t size = 1;
    for (const report_line *l = s->reasons; l; l = l->next)
        size += l->text.size + 2;
    char *const all = report_take(s->owner, size);
    if (!all) return;
    size_t at = 0;
    for (const report_line *l = s->reasons; l; l = l->next)
        at += (size_t)snprintf(all + at, size - at, "%s%s", at ? "; " : "",
                               l->text.text);
    cli_put_wrapped(cli_stdout(), (ts_text){ all, at }, 4, first, width);
}

static void put_section(const analyze_job *job, const report_section *s,
                        uint32_t width)
{
    const bool color = cli_color(cli_stdout());
    cli_print("\n%s", color ? "\033[1m" : "");
    cli_put_wrapped(cli_stdout(), (ts_text){ s->title, strlen(s->title) }, 0, 0,
                    width);
    cli_print("%s  ", color ? "\033[0m" : "");
    cli_put_wrapped(cli_stdout(), s->answer, 2, 2, width);
    put_trust(s, width);
    put_figures(s, width);
    for (const report_table *t = s->tables; t; t = t->next)
        if (!t->data) put_table(t, job->options.top, width);
    for (const report_chart *c = s->charts; c; c = c->next)
        if (!c->lanes) text_chart(c, job->options.top, width);
    for (size_t i = 0; i < s->finding_count; i++)
        put_finding(&s->findings[i], width);
    if (s->notes) putc('\n', cli_stdout());
    put_lines("  Note: ", s->notes, width);
}

// Prints topics without an answer. Those with the same reason are joined, at
// the place of the first.
static void put_unanswered(const report *r, uint32_t width)
{
    bool begun = false;
    for (const report_section *s = r->sections; s; s = s->next) {
        const report_section *before = r->sections;
        while (before != s && (!before->not_applicable ||
                               strcmp(before->answer.text, s->answer.text)))
            before = before->next;
        if (!s->not_applicable || before != s) continue;
        if (!begun) cli_print("\nTopics without data\n");
        begun = true;
        char *text = NULL;
        size_t size = 0;
        FILE *const out = open_memstream(&text, &size);
        if (!out) return;
        fputs(s->title, out);
        for (const report_section *more = s->next; more; more = more->next)
            if (more->not_applicable &&
                !strcmp(more->answer.text, s->answer.text))
                fprintf(out, ", %s", more->title);
        fprintf(out, ": %s", s->answer.text);
        text_put_gathered(out, &text, &size, 2, 6, width);
    }
}

// Returns the width for the path, which shares a line with the window if there
// is one file.
static uint32_t path_width(const analyze_job *job)
{
    const char *const path = job->files[0].path;
    if (job->file_count > 1) return 0;
    return text_width((ts_text){ path, strlen(path) }) + 1;
}

// Prints suggested commands, each on one line so that it can be copied.
static void put_next(const analyze_job *job, const report *r)
{
    analyze_commands next;
    analyze_next(&next, job, r);
    if (next.count) cli_print("\nNext\n");
    for (size_t i = 0; i < next.count; i++) {
        const char *const purpose = next.list[i].purpose;
        cli_print("  %s\n      ", next.list[i].text);
        cli_put_wrapped(cli_stdout(), (ts_text){ purpose, strlen(purpose) }, 6,
                        6, text_fit());
    }
    analyze_next_close(&next);
}

void analyze_text(const analyze_job *job, const report *r)
{
    const uint32_t width = text_fit();
    for (uint32_t i = 0; i < job->file_count; i++) {
        if (job->file_count > 1) cli_print("%s: ", analyze_file_name(job, i).s);
        cli_put_path(cli_stdout(), job->files[i].path);
        if (job->file_count > 1 || !r->window.words.size)
            putc('\n', cli_stdout());
    }
    if (job->file_count == 1 && r->window.words.size) fputs(":", cli_stdout());
    if (r->window.words.size)
        cli_put_wrapped(cli_stdout(), r->window.words, 0, path_width(job),
                        width);
    if (r->losses) putc('\n', cli_stdout());
    put_lines("  LOST: ", r->losses, width);
    for (const report_section *s = r->sections; s; s = s->next)
        if (!r->all || !s->not_applicable) put_section(job, s, width);
    if (r->all) put_unanswered(r, width);
    if (r->all) put_next(job, r);
}
