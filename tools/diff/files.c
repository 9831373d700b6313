/*
    files.c - JUnit XML for build servers, Markdown for pull requests
*/
#include "tools/diff/report_parts.h"
#include "tools/analyze/report/parts.h"

static uint64_t failures(const diff_gates *gates)
{
    uint64_t count = 0;
    for (size_t i = 0; i < gates->count; i++)
        count += diff_gate_failed(gates, &gates->items[i]);
    return count;
}

/* ---- Escaping ------------------------------------------------------------ */

// Writes text as XML 1.0, which forbids control characters except three, and
// text that is not UTF-8.
static void put_xml(FILE *out, const char *text, size_t size)
{
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)); text += n, size -= n) {
        switch (code) {
        case '<': fputs("&lt;", out); break;
        case '>': fputs("&gt;", out); break;
        case '&': fputs("&amp;", out); break;
        case '"': fputs("&quot;", out); break;
        case '\t':
        case '\n':
        case '\r': putc(' ', out); break;
        default:
            if (cli_is_control(code) || code == 0xFFFD ||
                (code & 0xFFFE) == 0xFFFE)
                putc('?', out);
            else
                fwrite(text, 1, n, out);
        }
    }
}

// Writes a Markdown cell, escaped so that the text cannot begin a tag, a link
// or another cell.
static void put_cell(FILE *out, const char *text, size_t size)
{
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)); text += n, size -= n) {
        if (code < 128 && code > ' ' &&
            strchr("\\`*_{}[]<>()#+!|~&$@", (int)code))
            putc('\\', out);
        if (cli_is_control(code) || code == 0xFFFD)
            putc('?', out);
        else
            fwrite(text, 1, n, out);
    }
}

static cli_text amount(const diff *d, const diff_row *row, diff_metric metric,
                       int side)
{
    const diff_number n = diff_value(d, row, metric, side);
    const int64_t value = n.number / n.of;
    if (metric == DIFF_COUNT) return cli_count((uint64_t)value);
    if (diff_is_sample(row)) {
        const report_value of = diff_weight(d, value);
        return report_words(of);
    }
    return row->subject == DIFF_MEMORY ? cli_bytes((uint64_t)value)
                                       : cli_time(value);
}

/* ---- JUnit -------------------------------------------------------------- */

static const char nothing_like_it[] = "neither trace contains a match";

// Whether a gate could neither pass nor fail.
static bool is_skipped(const diff_gates *gates, const diff_gate *g)
{
    return !diff_gate_failed(gates, g) && !diff_gate_missed(g) &&
           !diff_gate_blind(g) && (!g->hit_count || g->verdicts[DIFF_UNTESTED]);
}

// Writes one test case for each gate.
// Source: the schema of Apache Ant's JUnit task, as Jenkins publishes it.
static void put_case(FILE *out, const diff *d, const diff_gates *gates,
                     const diff_gate *g)
{
    const uint64_t failed =
        g->verdicts[DIFF_REGRESSED] +
        (gates->untested_fails ? g->verdicts[DIFF_UNTESTED] : 0);
    fputs("    <testcase classname=\"ts-diff\" name=\"", out);
    put_xml(out, g->text, strlen(g->text));
    if (failed) {
        fprintf(out,
                "\">\n      <failure message=\"%" PRIu64
                " of %zu beyond the limit\" type=\"regression\">",
                failed, g->hit_count);
        for (size_t i = 0; i < failed; i++) {
            const diff_hit *const hit = &g->hits[i];
            const diff_row *const row = &d->rows[hit->row];
            putc('\n', out);
            put_xml(out, diff_subject_name(row->subject),
                    strlen(diff_subject_name(row->subject)));
            putc(' ', out);
            put_xml(out, row->name.text, row->name.size);
            fprintf(out, ": %s (%s to %s)", diff_percent(d, row, g->metric).s,
                    amount(d, row, g->metric, 0).s,
                    amount(d, row, g->metric, 1).s);
            if (hit->p < DIFF_CERTAIN) {
                fputs(", p ", out);
                const cli_text p = diff_p(hit->p);
                put_xml(out, p.s, strlen(p.s));
            }
            if (hit->verdict == DIFF_UNTESTED) fputs(", untested", out);
        }
        fputs("\n      </failure>\n    </testcase>\n", out);
    } else if (is_skipped(gates, g)) {
        fprintf(out, "\">\n      <skipped message=\"%s\"/>\n    </testcase>\n",
                g->hit_count ? "limit exceeded, but untested: too few samples"
                             : nothing_like_it);
    } else if (!g->hit_count || diff_gate_blind(g)) {
        fprintf(out,
                "\">\n      <error message=\"%s\" type=\"usage\"/>\n"
                "    </testcase>\n",
                g->hit_count ? diff_unequal(d) : nothing_like_it);
    } else {
        fputs("\"/>\n", out);
    }
}

void diff_junit(const diff *d, const diff_gates *gates, FILE *out)
{
    uint64_t skipped = 0, errors = 0;
    for (size_t i = 0; i < gates->count; i++) {
        skipped += is_skipped(gates, &gates->items[i]);
        errors += diff_gate_missed(&gates->items[i]) ||
                  (diff_gate_blind(&gates->items[i]) &&
                   !diff_gate_failed(gates, &gates->items[i]));
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
            "  <testsuite name=\"ts-diff\" tests=\"%zu\" failures=\"%" PRIu64
            "\" errors=\"%" PRIu64 "\" skipped=\"%" PRIu64 "\">\n",
            gates->count, failures(gates), errors, skipped);
    for (size_t i = 0; i < gates->count; i++)
        put_case(out, d, gates, &gates->items[i]);
    fputs("  </testsuite>\n</testsuites>\n", out);
}

/* ---- Markdown ----------------------------------------------------------- */

static void put_gates(FILE *out, const diff *d, const diff_gates *gates)
{
    fputs("\n| gate | | worst | A | B | change |\n"
          "| --- | --- | --- | ---: | ---: | ---: |\n",
          out);
    for (size_t i = 0; i < gates->count; i++) {
        const diff_gate *const g = &gates->items[i];
        fputs("| ", out);
        put_cell(out, g->text, strlen(g->text));
        fprintf(out, diff_gate_failed(gates, g) ? " | **%s** | " : " | %s | ",
                diff_gate_state(gates, g));
        if (g->hit_count) {
            const diff_row *const row = &d->rows[g->hits[0].row];
            const cli_text name = diff_short(row->name);
            put_cell(out, name.s, strlen(name.s));
            fprintf(out, " | %s | %s | %s |\n", amount(d, row, g->metric, 0).s,
                    amount(d, row, g->metric, 1).s,
                    diff_percent(d, row, g->metric).s);
        } else {
            fputs(" | | | |\n", out);
        }
    }
}

static void put_value(FILE *out, const report_value *value, const char *cut)
{
    const cli_text words = report_words(*value);
    if (report_is_unknown(*value))
        putc('-', out);
    else if (cut)
        put_cell(out, cut, strlen(cut));
    else if (value->unit == REPORT_TEXT)
        put_cell(out, value->text.text, value->text.size);
    else
        fputs(words.s, out);
}

// Writes the first rows and columns of a table; JSON has all of them.
static void put_table(FILE *out, const report_table *t, uint64_t top)
{
    enum { COLUMNS = 8, WIDEST = 46 };
    char **cuts[COLUMNS];
    const size_t columns =
        t->column_count < COLUMNS ? t->column_count : COLUMNS;
    const size_t rows = t->row_count < top ? t->row_count : (size_t)top;
    putc('\n', out);
    for (size_t c = 0; c < columns; c++)
        fprintf(out, "| %s ", t->columns[c].label);
    fputs("|\n", out);
    for (size_t c = 0; c < columns; c++)
        fputs(t->columns[c].unit == REPORT_TEXT ? "| --- " : "| ---: ", out);
    fputs("|\n", out);
    for (size_t c = 0; c < columns; c++)
        cuts[c] = report_cuts(t, c, rows, WIDEST, "...");
    for (size_t i = 0; i < rows; i++) {
        for (size_t c = 0; c < columns; c++) {
            fputs("| ", out);
            put_value(out, &t->values[i * t->column_count + c],
                      cuts[c] ? cuts[c][i] : NULL);
            putc(' ', out);
        }
        fputs("|\n", out);
    }
    for (size_t c = 0; c < columns; c++)
        cli_cuts_free(cuts[c], rows);
    if (rows < t->row_count) fprintf(out, "\n%zu more.\n", t->row_count - rows);
}

void diff_markdown(const diff *d, const diff_gates *gates, const report *r,
                   FILE *out)
{
    for (const report_section *s = r->sections; s; s = s->next) {
        const bool first = s == r->sections;
        const bool is_gates = !strcmp(s->name, "gates");
        const bool answer = first || !strcmp(s->name, "diff");
        if (!answer && !is_gates && !s->tables) continue;
        fprintf(out, "%s%s ", first ? "" : "\n", answer ? "##" : "###");
        fprintf(out, "%s\n\n", s->title);
        put_cell(out, s->answer.text, s->answer.size);
        putc('\n', out);
        if (is_gates)
            put_gates(out, d, gates);
        else
            for (const report_table *t = s->tables; t; t = t->next)
                put_table(out, t, d->sides[0].job.options.top);
    }
}
