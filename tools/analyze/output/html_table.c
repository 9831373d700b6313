/*
    html_table.c - texts, values and tables of the page
*/
#include "tools/analyze/output/html.h"

enum { SHORT_TEXT = 18, CUT_TEXT = 60 };

// Whether a document may contain a character, escaped or not. It also rejects
// characters that change the text direction.
// Source: HTML Living Standard, 13.2.3.5 "Preprocessing the input stream":
// controls, noncharacters.
static bool is_allowed(uint32_t code)
{
    return !cli_is_control(code) && (code & 0xFFFE) != 0xFFFE &&
           !(code >= 0xFDD0 && code <= 0xFDEF);
}

void html_put(FILE *out, ts_text text)
{
    uint32_t code;
    for (size_t n; (n = cli_utf8(text.text, text.size, &code)) != 0;
         text.text += n, text.size -= n) {
        if (code == '<')
            fputs("&lt;", out);
        else if (code == '>')
            fputs("&gt;", out);
        else if (code == '&')
            fputs("&amp;", out);
        else if (code == '"')
            fputs("&quot;", out);
        else if (code == '\'')
            fputs("&#39;", out);
        else if (code == ' ' && text.size > 1 && text.text[1] == '%')
            fputs("&#160;", out);
        else if (code == '\n' || code == '\t')
            fputc(' ', out);
        else if (!is_allowed(code) || (code == 0xFFFD && n == 1))
            fputs("\uFFFD", out);
        else
            fwrite(text.text, 1, n, out);
    }
}

void html_string(FILE *out, const char *text)
{
    const ts_text t = { text, strlen(text) };
    html_put(out, t);
}

void html_value(FILE *out, report_value value)
{
    if (value.unit == REPORT_TEXT && !value.unknown)
        html_put(out, value.text);
    else
        fputs(report_words(value).s, out);
}

/* ---- Cells --------------------------------------------------------------- */

static void put_number(FILE *out, report_value v)
{
    fputs("<td", out);
    if (!report_is_unknown(v) && v.of)
        fprintf(out, " data-v=\"%.9g\"", (double)v.number / (double)v.of);
    else if (!report_is_unknown(v))
        fprintf(out, " data-v=\"%" PRId64 "\"", v.number);
    fprintf(out, ">%s</td>", report_words(v).s);
}

// Writes a text cell. `cut` is the shortened text to show (NULL: not
// shortened); hovering or tapping shows the full text.
static void put_text(FILE *out, report_value v, const char *cut)
{
    const bool is_short = v.unknown || v.text.size <= SHORT_TEXT;
    fprintf(out, "<td class=\"t\"%s>", cut ? " tabindex=\"0\"" : "");
    if (cut) {
        fputs("<span class=\"b\">", out);
        html_string(out, cut);
        fputs("</span>", out);
    }
    fputs(cut        ? "<span class=\"f\">"
          : is_short ? "<span class=\"s\">"
                     : "<span>",
          out);
    html_value(out, v);
    fputs("</span></td>", out);
}

static void put_where(FILE *out, const report_evidence *e)
{
    fputs("<td class=\"w\"", out);
    if (e->has_time)
        fprintf(out,
                " data-v=\"%" PRId64 "\" title=\"--from %" PRId64
                "ns --to %" PRId64 "ns\">%s +%s",
                e->from_ns, e->from_ns, e->to_ns, cli_moment(e->from_ns, 6).s,
                cli_time(report_length(e)).s);
    else
        fputc('>', out);
    for (uint32_t i = 0; i < e->operation_count; i++)
        fprintf(out, " #%" PRIu32, e->operations[i]);
    fputs("</td>", out);
}

static void put_rows(FILE *out, const report_table *t, char ***cuts,
                     size_t from, size_t to)
{
    for (size_t r = from; r < to; r++) {
        fputs("<tr>", out);
        for (size_t c = 0; c < t->column_count; c++) {
            const report_value v = t->values[r * t->column_count + c];
            if (t->columns[c].unit == REPORT_TEXT)
                put_text(out, v, cuts && cuts[c] ? cuts[c][r] : NULL);
            else
                put_number(out, v);
        }
        if (t->has_evidence) put_where(out, &t->evidence[r]);
        fputs("</tr>\n", out);
    }
}

/* ---- Tables -------------------------------------------------------------- */

static void put_head(FILE *out, const report_table *t)
{
    fputs("<thead><tr>", out);
    for (size_t c = 0; c < t->column_count; c++) {
        fprintf(out, "<th%s>",
                t->columns[c].unit == REPORT_TEXT ? " class=\"t\"" : "");
        html_string(out, t->columns[c].label);
        fputs("</th>", out);
    }
    if (t->has_evidence) fputs("<th class=\"t\">where</th>", out);
    fputs("</tr></thead>\n", out);
}

// Number of the next table of the page.
static _Thread_local unsigned long number;

void html_tables_begin(void)
{
    number = 0;
}

void html_table(FILE *out, const report_table *t, uint64_t top, uint64_t rows)
{
    const size_t all = t->row_count < rows ? t->row_count : (size_t)rows;
    const size_t first = all < top ? all : (size_t)top;
    if (!t->row_count) return;
    fputs("<h3>", out);
    html_string(out, t->title);
    if (first < t->all)
        fprintf(out, " <span class=\"dim\">(%s of %s)</span>",
                cli_count(first).s, cli_count(t->all).s);
    fputs("</h3>\n<div>", out);
    if (first < all)
        fprintf(out,
                "<input type=\"checkbox\" class=\"all\" id=\"all%lu\"/>"
                "<label for=\"all%lu\">show %s</label>\n",
                number, number, cli_count(all).s);
    number++;
    fputs("<div class=\"scroll\" tabindex=\"0\"><table>", out);
    char ***const cuts = calloc(t->column_count + 1, sizeof *cuts);
    for (size_t c = 0; cuts && c < t->column_count; c++)
        cuts[c] = report_cuts(t, c, all, CUT_TEXT, "\u2026");
    put_head(out, t);
    fputs("<tbody>\n", out);
    put_rows(out, t, cuts, 0, first);
    fputs("</tbody>", out);
    if (first < all) {
        fputs("<tbody class=\"more\">\n", out);
        put_rows(out, t, cuts, first, all);
        fputs("</tbody>", out);
    }
    for (size_t c = 0; cuts && c < t->column_count; c++)
        cli_cuts_free(cuts[c], all);
    free(cuts);
    fputs("</table></div></div>\n", out);
}
