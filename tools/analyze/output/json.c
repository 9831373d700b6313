/*
    json.c - a report as one JSON object

    Times are nanoseconds, sizes bytes; shares, factors and rates are real
    numbers. A table is an array of objects with the keys of its columns.
*/
#include "tools/analyze/output/output.h"
#include "tools/analyze/report/parts.h"

static void put_value(cli_json *json, const char *key, report_value v)
{
    if (report_is_unknown(v)) {
        cli_json_null(json, key);
        return;
    }
    switch (v.unit) {
    case REPORT_TEXT:
        cli_json_text(json, key, v.text.text, v.text.size);
        return;
    case REPORT_COUNT:
    case REPORT_NS:
    case REPORT_TIME:
    case REPORT_BYTES: cli_json_int(json, key, v.number); return;
    case REPORT_SHARE:
    case REPORT_FACTOR:
        cli_json_real(json, key, (double)v.number / (double)v.of);
        return;
    case REPORT_RATE:
    case REPORT_FLOPS:
        cli_json_real(json, key, (double)v.number * 1e9 / (double)v.of);
        return;
    }
}

static void put_evidence(cli_json *json, const report_evidence *e)
{
    if (!e->has_time && !e->operation_count) return;
    cli_json_open(json, "evidence", '{');
    cli_json_uint(json, "file", e->file);
    if (e->has_time) {
        cli_json_int(json, "from_ns", e->from_ns);
        cli_json_int(json, "to_ns", e->to_ns);
    }
    cli_json_open(json, "operations", '[');
    for (uint32_t i = 0; i < e->operation_count; i++)
        cli_json_uint(json, NULL, e->operations[i]);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

static void put_lines(cli_json *json, const char *key, const report_line *line)
{
    cli_json_open(json, key, '[');
    for (; line; line = line->next)
        cli_json_text(json, NULL, line->text.text, line->text.size);
    cli_json_close(json, ']');
}

static void put_table(cli_json *json, const report_table *t, uint64_t most)
{
    cli_json_open(json, t->key, '{');
    cli_json_string(json, "title", t->title);
    cli_json_uint(json, "rows_in_all", t->all);
    cli_json_open(json, "units", '{');
    for (size_t i = 0; i < t->column_count; i++)
        cli_json_string(json, t->columns[i].key,
                        report_unit_name(t->columns[i].unit));
    cli_json_close(json, '}');
    cli_json_open(json, "rows", '[');
    for (size_t r = 0; r < t->row_count && r < most; r++) {
        const report_value *const row = t->values + r * t->column_count;
        cli_json_open(json, NULL, '{');
        for (size_t i = 0; i < t->column_count; i++)
            put_value(json, t->columns[i].key, row[i]);
        put_evidence(json, &t->evidence[r]);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

/* ---- Charts -------------------------------------------------------------- */

static void put_points(cli_json *json, const report_chart *c, uint32_t line)
{
    cli_json_open(json, "points", '[');
    for (size_t i = 0; i < c->point_count; i++) {
        if (c->points[i].line != line) continue;
        cli_json_open(json, NULL, '[');
        cli_json_int(json, NULL, c->points[i].time_ns);
        cli_json_int(json, NULL, c->points[i].value);
        cli_json_close(json, ']');
    }
    cli_json_close(json, ']');
}

static void put_item(cli_json *json, const report_chart *c, uint32_t i)
{
    const report_item *const item = &c->items[i];
    cli_json_open(json, NULL, '{');
    cli_json_text(json, "label", item->label.text, item->label.size);
    switch (c->kind) {
    case REPORT_BARS: put_value(json, "value", item->value); break;
    case REPORT_STACKED:
        for (size_t p = 0; p < c->part_count; p++)
            cli_json_int(json, c->parts[p], item->parts[p]);
        break;
    case REPORT_SERIES: put_points(json, c, i); break;
    case REPORT_FLAME:
        cli_json_uint(json, "parent", item->parent);
        cli_json_int(json, "own", item->own);
        cli_json_int(json, "total", item->total);
        break;
    }
    cli_json_close(json, '}');
}

static void put_chart(cli_json *json, const report_chart *c)
{
    static const char *const kinds[] = { "bars", "stacked", "series", "flame" };
    if (c->kind == REPORT_FLAME) report_flame_sum(c);
    cli_json_open(json, c->key, '{');
    cli_json_string(json, "title", c->title);
    cli_json_string(json, "chart", kinds[c->kind]);
    cli_json_string(json, "unit", report_unit_name(c->unit));
    cli_json_open(json, "items", '[');
    for (uint32_t i = 0; i < c->count; i++)
        put_item(json, c, i);
    cli_json_close(json, ']');
    cli_json_close(json, '}');
}

/* ---- Findings and sections ----------------------------------------------- */

static void put_finding(cli_json *json, const report_finding *f)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "id", f->id);
    cli_json_string(json, "title", f->title);
    cli_json_string(json, "severity", report_severity_name(f->severity));
    cli_json_string(json, "confidence", report_confidence_name(f->confidence));
    cli_json_text(json, "what", f->what.text, f->what.size);
    cli_json_text(json, "todo", f->todo.text, f->todo.size);
    if (f->has_gain) {
        cli_json_int(json, "gain_ns", f->gain_ns);
        cli_json_int(json, "makespan_ns", f->of_ns);
        cli_json_text(json, "gain_from", f->how.text, f->how.size);
    } else {
        cli_json_null(json, "gain_ns");
    }
    cli_json_open(json, "thresholds", '{');
    for (size_t i = 0; i < f->limit_count; i++)
        put_value(json, f->limits[i].key, f->limits[i].value);
    cli_json_close(json, '}');
    put_evidence(json, &f->evidence);
    cli_json_close(json, '}');
}

static void put_section(cli_json *json, const report_section *s, uint64_t rows)
{
    cli_json_open(json, s->name, '{');
    cli_json_string(json, "title", s->title);
    cli_json_bool(json, "applies", !s->not_applicable);
    cli_json_text(json, "answer", s->answer.text, s->answer.size);
    if (s->trusted)
        cli_json_string(json, "confidence",
                        report_confidence_name(s->confidence));
    else
        cli_json_null(json, "confidence");
    put_lines(json, "because", s->reasons);
    put_lines(json, "notes", s->notes);
    cli_json_open(json, "figures", '{');
    for (size_t i = 0; i < s->figure_count; i++)
        put_value(json, s->figures[i].key, s->figures[i].value);
    cli_json_close(json, '}');
    cli_json_open(json, "tables", '{');
    for (const report_table *t = s->tables; t; t = t->next)
        put_table(json, t, rows);
    cli_json_close(json, '}');
    cli_json_open(json, "charts", '{');
    for (const report_chart *c = s->charts; c; c = c->next)
        put_chart(json, c);
    cli_json_close(json, '}');
    if (s->finding_count) {
        cli_json_open(json, "findings", '[');
        for (size_t i = 0; i < s->finding_count; i++)
            put_finding(json, &s->findings[i]);
        cli_json_close(json, ']');
    }
    cli_json_close(json, '}');
}

static void put_window(cli_json *json, const report_window *w)
{
    cli_json_open(json, "window", '{');
    if (w->selected.size)
        cli_json_text(json, "selected", w->selected.text, w->selected.size);
    cli_json_int(json, "from_ns", w->from_ns);
    cli_json_int(json, "to_ns", w->to_ns);
    if (w->works) {
        cli_json_int(json, "work_from_ns", w->work_from_ns);
        cli_json_int(json, "work_to_ns", w->work_to_ns);
    }
    cli_json_close(json, '}');
}

static void put_next(cli_json *json, const analyze_job *job, const report *r)
{
    analyze_commands next;
    analyze_next(&next, job, r);
    cli_json_open(json, "next", '[');
    for (size_t i = 0; i < next.count; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "command", next.list[i].text);
        cli_json_string(json, "purpose", next.list[i].purpose);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    analyze_next_close(&next);
}

void analyze_json(const analyze_job *job, const report *r)
{
    cli_json json = { .out = cli_stdout(), .lines = 5 };
    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "files", '[');
    for (uint32_t i = 0; i < job->file_count; i++) {
        cli_json_open(&json, NULL, '{');
        cli_json_string(&json, "path", job->files[i].path);
        if (job->files[i].ranked)
            cli_json_int(&json, "rank", job->files[i].rank);
        else
            cli_json_null(&json, "rank");
        cli_json_uint(&json, "lost", analyze_info(job, i)->lost);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    if (r->window.words.size) put_window(&json, &r->window);
    put_lines(&json, "losses", r->losses);
    cli_json_open(&json, "answers", '{');
    for (const report_section *s = r->sections; s; s = s->next)
        put_section(&json, s, job->options.rows);
    cli_json_close(&json, '}');
    if (r->all) put_next(&json, job, r);
    cli_json_close(&json, '}');
}
