/*
    html.c - a report as one self-contained HTML page
*/
#include "tools/analyze/output/output.h"
#include "tools/analyze/output/html.h"

// A table unfolds to this many times the rows shown first.
enum { UNFOLDED = 4 };

/* ---- Parts of a section -------------------------------------------------- */

static void put_trust(FILE *out, const report_section *s)
{
    if (!s->reasons || s->not_applicable) return;
    fputs("<p class=\"why\">", out);
    for (const report_line *l = s->reasons; l; l = l->next) {
        html_put(out, l->text);
        fputs(l->next ? "; " : ".", out);
    }
    fputs("</p>\n", out);
}

static void put_figures(FILE *out, const report_section *s)
{
    if (!s->figure_count) return;
    fputs("<ul class=\"figures\">\n", out);
    for (size_t i = 0; i < s->figure_count; i++) {
        const report_figure_line *const f = &s->figures[i];
        const bool wide = f->value.unit == REPORT_TEXT && !f->value.unknown &&
                          f->value.text.size > 20;
        fprintf(out, "<li%s><small>", wide ? " class=\"wide\"" : "");
        html_string(out, f->label);
        fputs("</small><span>", out);
        html_value(out, f->value);
        fputs("</span></li>\n", out);
    }
    fputs("</ul>\n", out);
}

static void put_chart(FILE *out, const report_chart *c)
{
    if (!c->count) return;
    fputs("<figure><figcaption>", out);
    html_string(out, c->title);
    fputs("</figcaption>\n", out);
    report_svg(out, c, false);
    fputs("</figure>\n", out);
}

static void put_paragraph(FILE *out, const char *lead, ts_text text)
{
    if (!text.size) return;
    fprintf(out, "<p>%s", lead);
    html_put(out, text);
    fputs("</p>\n", out);
}

static void put_small(FILE *out, const report_finding *f)
{
    fprintf(out, "<p class=\"dim\"><code>%s</code>, confidence %s", f->id,
            report_confidence_name(f->confidence));
    const report_evidence *const e = &f->evidence;
    if (e->has_time)
        fprintf(out,
                "; at <code>--from %" PRId64 "ns --to %" PRId64 "ns</code>",
                e->from_ns, e->to_ns);
    for (uint32_t i = 0; i < e->operation_count; i++)
        fprintf(out, " #%" PRIu32, e->operations[i]);
    for (size_t i = 0; i < f->limit_count; i++) {
        fprintf(out, "; <code>--set %s=", f->limits[i].key);
        html_value(out, f->limits[i].value);
        fputs("</code>", out);
    }
    fputs("</p>", out);
}

static void put_finding(FILE *out, const report_finding *f)
{
    const char *const severity = report_severity_name(f->severity);
    fprintf(out, "<div class=\"finding %s\"><div class=\"head\"><h3>",
            severity);
    html_string(out, f->title);
    fprintf(out, "</h3> <span class=\"badge %s\">%s</span>", severity,
            severity);
    if (f->has_gain)
        fprintf(out, " <span class=\"badge\">gain %s, %s</span>",
                cli_time(f->gain_ns).s,
                report_words(report_share(f->gain_ns, f->of_ns)).s);
    fputs("</div>\n", out);
    put_paragraph(out, "", f->what);
    put_paragraph(out, "<b>Do:</b> ", f->todo);
    put_paragraph(out, "<b>Gain:</b> ", f->how);
    put_small(out, f);
    fputs("</div>\n", out);
}

/* ---- Sections ------------------------------------------------------------ */

static const report_section *section_of(const report *r, const char *name)
{
    for (const report_section *s = r->sections; s; s = s->next)
        if (!strcmp(s->name, name)) return s;
    return NULL;
}

// Whether a table repeats one of another topic in the report, such as idle time
// by cause.
static bool is_twice(const report_section *s, const char *key)
{
    const report_section *const idle = section_of(s->owner, "idle");
    return !strcmp(s->name, "summary") && idle && !idle->not_applicable &&
           (!strcmp(key, "idle") || !strcmp(key, "device_time"));
}

static void put_section(FILE *out, const analyze_job *job,
                        const report_section *s)
{
    fprintf(out, "<section id=\"%s\"><div class=\"head\"><h2>", s->name);
    html_string(out, s->title);
    fputs("</h2>", out);
    const char *const trust = report_confidence_name(s->confidence);
    if (s->trusted && !s->not_applicable)
        fprintf(out, " <span class=\"badge %s\">confidence %s</span>", trust,
                trust);
    fprintf(out, "</div>\n<p class=\"%s\">",
            s->not_applicable ? "dim" : "answer");
    html_put(out, s->answer);
    fputs("</p>\n", out);
    put_trust(out, s);
    put_figures(out, s);
    for (const report_chart *c = s->charts; c; c = c->next)
        if (!is_twice(s, c->key)) put_chart(out, c);
    for (size_t i = 0; i < s->finding_count; i++)
        put_finding(out, &s->findings[i]);
    for (const report_table *t = s->tables; t; t = t->next)
        if (!t->data && !is_twice(s, t->key))
            html_table(out, t, job->options.top, job->options.top * UNFOLDED);
    for (const report_line *l = s->notes; l; l = l->next) {
        fputs("<p class=\"note\">", out);
        html_put(out, l->text);
        fputs("</p>\n", out);
    }
    fputs("</section>\n", out);
}

static const char *path_of(const analyze_job *job, uint32_t file)
{
    const char *const path = job->files[file].path;
    return strcmp(path, "-") ? path : "standard input";
}

static void put_title(FILE *out, const analyze_job *job)
{
    const char *const path = path_of(job, 0);
    const char *const slash = strrchr(path, '/');
    html_string(out, slash && slash[1] ? slash + 1 : path);
    if (job->file_count > 1)
        fprintf(out, " and %" PRIu32 " more", job->file_count - 1);
}

static void put_fact(FILE *out, const char *label, ts_text text)
{
    if (!text.size) return;
    fprintf(out, "<li>%s: ", label);
    html_put(out, (ts_text){ text.text, text.size < 200 ? text.size : 200 });
    fputs("</li>", out);
}

// Writes when, where and on what the trace was recorded.
static void put_facts(FILE *out, const analyze_job *job)
{
    ts_reader *const reader = analyze_reader(job, 0);
    const ts_info *const info = analyze_info(job, 0);
    ts_metadata m;
    ts_track track;
    cli_text made;
    if (info->start_realtime_ns)
        fprintf(out, "<li>recorded: %s</li>",
                cli_date(info->start_realtime_ns).s);
    if (ts_reader_metadata(reader, 0, "host", &m))
        put_fact(out, "host", m.text);
    if (ts_reader_metadata(reader, 0, "command", &m))
        put_fact(out, "command", m.text);
    for (size_t i = 0, shown = 0;
         shown < 8 && ts_reader_track_at(reader, i, &track); i++) {
        if (track.type != TS_TRACK_DEVICE) continue;
        put_fact(out, "device", cli_track_name(&track, &made));
        shown++;
    }
}

static void put_header(FILE *out, const analyze_job *job, const report *r)
{
    fputs("<header><h1>", out);
    put_title(out, job);
    fputs("</h1>\n<ul class=\"dim\">", out);
    for (uint32_t i = 0; i < job->file_count; i++) {
        fputs("<li>", out);
        if (job->file_count > 1)
            fprintf(out, "%s: ", analyze_file_name(job, i).s);
        html_string(out, path_of(job, i));
        fprintf(out, ", %s</li>",
                cli_bytes(analyze_info(job, i)->file_bytes).s);
    }
    put_facts(out, job);
    fputs("</ul>\n<p>", out);
    html_put(out, r->window.words);
    fputs(".</p>\n", out);
    if (r->losses) fputs("<div class=\"lost\"><b>Lost</b><ul>", out);
    for (const report_line *l = r->losses; l; l = l->next) {
        fputs("<li>", out);
        html_put(out, l->text);
        fputs("</li>", out);
    }
    fputs(r->losses ? "</ul></div></header>\n" : "</header>\n", out);
}

static void put_contents(FILE *out, const report *r)
{
    if (!r->sections) return;
    fputs("<nav aria-label=\"Contents\"><ul>", out);
    for (const report_section *s = r->sections; s; s = s->next) {
        fprintf(out, "<li%s><a href=\"#%s\">",
                s->not_applicable ? " class=\"none\"" : "", s->name);
        html_string(out, s->title);
        fputs("</a></li>\n", out);
    }
    fputs("</ul></nav>\n", out);
}

// Writes the sections: the summary, the advice, then the others; topics without
// an answer come last.
static void put_sections(FILE *out, const analyze_job *job, const report *r)
{
    const report_section *const advice = section_of(r, "advice");
    const report_section *const summary = section_of(r, "summary");
    if (summary) put_section(out, job, summary);
    if (advice && !advice->not_applicable) put_section(out, job, advice);
    for (int last = 0; last < 2; last++)
        for (const report_section *s = r->sections; s; s = s->next)
            if (s != summary && (s != advice || s->not_applicable) &&
                s->not_applicable == last)
                put_section(out, job, s);
}

// Writes the suggested commands. It skips the first one, which makes this page.
static void put_next(FILE *out, const analyze_job *job, const report *r)
{
    analyze_commands next;
    analyze_next(&next, job, r);
    if (next.count > 1)
        fputs("<section id=\"next\"><div class=\"head\"><h2>Next</h2></div>\n"
              "<dl class=\"next\">",
              out);
    for (size_t i = 1; i < next.count; i++) {
        fputs("<dt><code>", out);
        html_string(out, next.list[i].text);
        fputs("</code></dt><dd>", out);
        html_string(out, next.list[i].purpose);
        fputs("</dd>\n", out);
    }
    if (next.count > 1) fputs("</dl></section>\n", out);
    analyze_next_close(&next);
}

static void put_page(FILE *out, const analyze_job *job, const report *r)
{
    fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"",
          out);
    fputs(html_policy, out);
    fputs("\"/>\n<meta name=\"viewport\" content=\"width=device-width, "
          "initial-scale=1\"/>\n<title>",
          out);
    put_title(out, job);
    fprintf(out, "</title>\n<style>%s%s</style></head>\n<body>\n", html_colors,
            html_style);
    put_header(out, job, r);
    put_contents(out, r);
    fputs("<main>\n", out);
    put_sections(out, job, r);
    if (r->all) put_next(out, job, r);
    fputs("</main>\n<footer>", out);
    fprintf(
        out,
        "ts-analyze %d.%d.%d. A time such as <code>1.234567s +20us</code> "
        "is a start and a duration for <code>ts-view --from</code>; "
        "<code>#12</code> is the number of an operation for <code>ts-replay "
        "--ops</code>. Click a heading to sort the table.",
        TS_VERSION_MAJOR, TS_VERSION_MINOR, TS_VERSION_PATCH);
    fprintf(out, "</footer>\n<script>%s</script>\n</body></html>\n",
            html_script);
}

void analyze_html(const analyze_job *job, const report *r, FILE *out)
{
    html_tables_begin();
    put_page(out, job, r);
}
