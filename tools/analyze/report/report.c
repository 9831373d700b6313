/*
    report.c - builds a report
*/
#include "tools/analyze/report/parts.h"
#include <stdarg.h>

enum { PIECE_BYTES = 1 << 16 };

report *report_open(void)
{
    report *const r = calloc(1, sizeof *r);
    if (r) r->last = &r->sections;
    return r;
}

static void close_section(report_section *s)
{
    for (report_table *t = s->tables; t; t = t->next) {
        free(t->values);
        free(t->evidence);
    }
    for (report_chart *c = s->charts; c; c = c->next) {
        free(c->items);
        free(c->points);
    }
    free(s->figures);
    free(s->findings);
}

void report_close(report *r)
{
    if (!r) return;
    for (report_section *s = r->sections; s; s = s->next)
        close_section(s);
    while (r->pieces) {
        report_piece *const next = r->pieces->next;
        free(r->pieces);
        r->pieces = next;
    }
    free(r);
}

bool report_failed(const report *r)
{
    return !r || r->failed;
}

/* ---- Memory -------------------------------------------------------------- */

void *report_take(report *r, size_t size)
{
    if (!r || size > SIZE_MAX / 2) return NULL;
    size = (size + 15) & ~(size_t)15; // keep all allocations aligned
    report_piece *piece = r->pieces;
    if (!piece || piece->size - piece->used < size) {
        const size_t room = size > PIECE_BYTES ? size : PIECE_BYTES;
        piece = calloc(1, sizeof *piece + 16 + room);
        if (!piece) {
            r->failed = true;
            return NULL;
        }
        piece->size = room;
        piece->next = r->pieces;
        r->pieces = piece;
    }
    char *const base = piece->bytes + (16 - (uintptr_t)piece->bytes % 16) % 16;
    void *const at = base + piece->used;
    piece->used += size;
    return at;
}

ts_text report_keep(report *r, ts_text text)
{
    static const ts_text none = { "", 0 };
    if (!text.size) return none;
    char *const copy = report_take(r, text.size + 1);
    if (!copy) return none;
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    return (ts_text){ copy, text.size };
}

// Makes space for one more element of `size` bytes in *list; false if memory
// runs out.
static bool reserve(report *r, void *list, size_t count, size_t *capacity,
                    size_t size)
{
    if (!cli_grow(list, capacity, count + 1, size)) r->failed = true;
    return !r->failed;
}

static ts_text print(report *r, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    char *const text = size < 0 ? NULL : report_take(r, (size_t)size + 1);
    if (text) vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return (ts_text){ text ? text : "", text ? (size_t)size : 0 };
}

static void add_line(report *r, report_line **list, ts_text text)
{
    while (*list)
        list = &(*list)->next;
    report_line *const line = report_take(r, sizeof *line);
    if (!line) return;
    *line = (report_line){ NULL, text };
    *list = line;
}

/* ---- Sections ------------------------------------------------------------ */

report_section *report_begin(report *r, const char *name, const char *title)
{
    report_section *const s = report_take(r, sizeof *s);
    if (!s) return NULL;
    *s = (report_section){ .owner = r, .name = name, .title = title };
    s->answer.text = "";
    *r->last = s;
    r->last = &s->next;
    return s;
}

void report_answer(report_section *s, const char *format, ...)
{
    if (!s) return;
    va_list args;
    va_start(args, format);
    const ts_text more = print(s->owner, format, args);
    va_end(args);
    if (!s->answer.size) {
        s->answer = more;
        return;
    }
    char *const both = report_take(s->owner, s->answer.size + more.size + 2);
    if (!both) return;
    const int size = snprintf(both, s->answer.size + more.size + 2, "%s %s",
                              s->answer.text, more.text);
    s->answer = (ts_text){ both, (size_t)size };
}

// Lowers the confidence of a finding to that of its section, because the gain
// comes from the model which the section describes.
static void lower_finding(const report_section *s, report_finding *finding)
{
    if (s->trusted && finding->has_gain && finding->confidence < s->confidence)
        finding->confidence = s->confidence;
}

void report_trust(report_section *s, report_confidence confidence,
                  const char *format, ...)
{
    if (!s) return;
    va_list args;
    va_start(args, format);
    const ts_text why = print(s->owner, format, args);
    va_end(args);
    if (!s->trusted || confidence > s->confidence) s->confidence = confidence;
    s->trusted = true;
    for (size_t i = 0; i < s->finding_count; i++)
        lower_finding(s, &s->findings[i]);
    if (why.size) add_line(s->owner, &s->reasons, why);
}

report_confidence report_trusted(const report_section *s)
{
    return s->trusted ? s->confidence : REPORT_HIGH;
}

void report_note(report_section *s, const char *format, ...)
{
    if (!s) return;
    va_list args;
    va_start(args, format);
    add_line(s->owner, &s->notes, print(s->owner, format, args));
    va_end(args);
}

void report_not_applicable(report_section *s, const char *format, ...)
{
    if (!s) return;
    va_list args;
    va_start(args, format);
    s->answer = print(s->owner, format, args);
    va_end(args);
    s->not_applicable = true;
}

void report_loss(report *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    add_line(r, &r->losses, print(r, format, args));
    va_end(args);
}

static report_value keep_value(report *r, report_value value)
{
    if (value.unit == REPORT_TEXT) value.text = report_keep(r, value.text);
    return value;
}

void report_figure(report_section *s, const char *key, const char *label,
                   report_value value)
{
    if (!s || !reserve(s->owner, &s->figures, s->figure_count,
                       &s->figure_capacity, sizeof *s->figures))
        return;
    const report_figure_line line = { key, label, keep_value(s->owner, value) };
    s->figures[s->figure_count++] = line;
}

/* ---- Tables -------------------------------------------------------------- */

report_table *report_table_begin(report_section *s, const char *key,
                                 const char *title,
                                 const report_column *columns, size_t count)
{
    if (!s) return NULL;
    report_table *const t = report_take(s->owner, sizeof *t);
    report_column *const own = report_take(s->owner, count * sizeof *own);
    if (!t || !own) return NULL;
    memcpy(own, columns, count * sizeof *own);
    *t = (report_table){ .owner = s->owner,
                         .key = key,
                         .title = title,
                         .columns = own,
                         .column_count = count };
    report_table **last = &s->tables;
    while (*last)
        last = &(*last)->next;
    *last = t;
    return t;
}

void report_row(report_table *t, const report_value *values,
                const report_evidence *evidence)
{
    static const report_evidence none;
    size_t capacity;
    if (!t) return;
    capacity = t->capacity;
    if (!reserve(t->owner, &t->evidence, t->row_count, &capacity,
                 sizeof *t->evidence) ||
        !reserve(t->owner, &t->values, t->row_count, &t->capacity,
                 t->column_count * sizeof *t->values))
        return;
    report_value *const to = t->values + t->row_count * t->column_count;
    for (size_t i = 0; i < t->column_count; i++)
        to[i] = keep_value(t->owner, values[i]);
    t->evidence[t->row_count++] = evidence ? *evidence : none;
    if (evidence) t->has_evidence = true;
    if (t->all < t->row_count) t->all = t->row_count;
}

void report_table_data(report_table *t)
{
    t->data = true;
}

void report_rows_of(report_table *t, uint64_t count)
{
    if (t && count > t->all) t->all = count;
}

/* ---- Charts -------------------------------------------------------------- */

static report_chart *begin_chart(report_section *s, report_chart_kind kind,
                                 const char *key, const char *title,
                                 report_unit unit)
{
    if (!s) return NULL;
    report_chart *const c = report_take(s->owner, sizeof *c);
    if (!c) return NULL;
    *c = (report_chart){ .owner = s->owner,
                         .kind = kind,
                         .key = key,
                         .title = title,
                         .unit = unit };
    report_chart **last = &s->charts;
    while (*last)
        last = &(*last)->next;
    *last = c;
    return c;
}

static report_item *add_item(report_chart *c, ts_text label)
{
    if (!c ||
        !reserve(c->owner, &c->items, c->count, &c->capacity, sizeof *c->items))
        return NULL;
    report_item *const item = &c->items[c->count++];
    *item = (report_item){ .label = report_keep(c->owner, label) };
    return item;
}

report_chart *report_bars_begin(report_section *s, const char *key,
                                const char *title, report_unit unit)
{
    return begin_chart(s, REPORT_BARS, key, title, unit);
}

void report_bar(report_chart *c, ts_text label, report_value value)
{
    report_item *const item = add_item(c, label);
    if (item) item->value = value;
}

report_chart *report_stacked_begin(report_section *s, const char *key,
                                   const char *title, report_unit unit,
                                   const char *const *parts, size_t part_count)
{
    report_chart *const c = begin_chart(s, REPORT_STACKED, key, title, unit);
    if (!c) return NULL;
    c->part_count = part_count < REPORT_PARTS ? part_count : REPORT_PARTS;
    for (size_t i = 0; i < c->part_count; i++)
        c->parts[i] = parts[i];
    return c;
}

void report_stacked_bar(report_chart *c, ts_text label, const int64_t *parts)
{
    report_item *const item = add_item(c, label);
    if (item) memcpy(item->parts, parts, c->part_count * sizeof *parts);
}

report_chart *report_series_begin(report_section *s, const char *key,
                                  const char *title, report_unit unit)
{
    return begin_chart(s, REPORT_SERIES, key, title, unit);
}

report_chart *report_lanes_begin(report_section *s, const char *key,
                                 const char *title)
{
    report_chart *const c =
        begin_chart(s, REPORT_SERIES, key, title, REPORT_NS);
    if (c) c->lanes = true;
    return c;
}

uint32_t report_lane(report_chart *c, ts_text label, bool host)
{
    const uint32_t line = report_series_line(c, label);
    if (c && line < c->count) c->items[line].parent = host ? 2 : 0;
    return line;
}

uint32_t report_series_line(report_chart *c, ts_text label)
{
    return add_item(c, label) ? (uint32_t)c->count - 1 : 0;
}

void report_series_add(report_chart *c, uint32_t line, int64_t time_ns,
                       int64_t value)
{
    if (!c || !reserve(c->owner, &c->points, c->point_count, &c->point_capacity,
                       sizeof *c->points))
        return;
    const report_point point = { line, time_ns, value };
    c->points[c->point_count++] = point;
}

report_chart *report_flame_begin(report_section *s, const char *key,
                                 const char *title, report_unit unit)
{
    static const ts_text all = { "all", 3 };
    report_chart *const c = begin_chart(s, REPORT_FLAME, key, title, unit);
    return add_item(c, all) ? c : NULL;
}

uint32_t report_flame_add(report_chart *c, uint32_t parent, ts_text label,
                          int64_t own)
{
    report_item *const item = add_item(c, label);
    if (!item) return REPORT_ROOT;
    item->parent = parent < c->count - 1 ? parent : REPORT_ROOT;
    item->own = own;
    return (uint32_t)c->count - 1;
}

void report_flame_sum(const report_chart *c)
{
    for (size_t i = 0; i < c->count; i++)
        c->items[i].total = c->items[i].own;
    for (size_t i = c->count; i-- > 1;)
        c->items[c->items[i].parent].total += c->items[i].total;
}

/* ---- Findings ------------------------------------------------------------ */

void report_finding_add(report_section *s, const report_finding *finding)
{
    if (!s || !reserve(s->owner, &s->findings, s->finding_count,
                       &s->finding_capacity, sizeof *s->findings))
        return;
    report_finding own = *finding;
    own.what = report_keep(s->owner, own.what);
    own.todo = report_keep(s->owner, own.todo);
    own.how = report_keep(s->owner, own.how);
    lower_finding(s, &own);
    s->findings[s->finding_count++] = own;
}
