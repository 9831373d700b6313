/*
    text_charts.c - charts as text
*/
#include "tools/analyze/output/text.h"

enum { LABEL_MOST = 36, SERIES_CELLS = 60, FLAME_DEPTH = 12 };
// Narrower: no flame graph.
enum { FLAME_NARROW = 13 + 2 * FLAME_DEPTH + 16 + 11 };

static const char *const blocks[] = { " ",      "\u2581", "\u2582",
                                      "\u2583", "\u2584", "\u2585",
                                      "\u2586", "\u2587", "\u2588" };
static const char *const letters[] = { " ", ".", ".", ":", ":",
                                       "+", "+", "#", "#" };

static uint32_t label_width(const report_chart *c, size_t rows)
{
    uint32_t most = 0;
    for (size_t i = 0; i < rows; i++) {
        const uint32_t wide = text_width(c->items[i].label);
        if (wide > most) most = wide;
    }
    return most < LABEL_MOST ? most : LABEL_MOST;
}

// Returns labels cut to a width; NULL if none needs it or memory runs out.
static char **cut_labels(const report_chart *c, size_t rows, uint32_t width)
{
    ts_text *const texts = calloc(rows + 1, sizeof *texts);
    for (size_t i = 0; texts && i < rows; i++)
        texts[i] = c->items[i].label;
    char **const cuts = texts ? cli_cut_names(texts, rows, width, NULL) : NULL;
    free(texts);
    return cuts;
}

static double size_of(report_value v)
{
    if (report_is_unknown(v) || v.number < 0) return 0;
    return v.of ? (double)v.number / (double)v.of : (double)v.number;
}

// Layout of a chart row: an indentation, its label, a value, a bar.
typedef struct row_layout {
    uint32_t indent, label, room; // in columns; room: space for the bar
} row_layout;

// Columns of a value with the spaces around it.
enum { VALUE = 14, LABEL_TINY = 6 };

// On a very narrow terminal the bar is dropped first, then the indentation.
static row_layout lay_out(const report_chart *c, size_t rows, uint32_t width)
{
    row_layout l = { 4, label_width(c, rows), 16 };
    if (width > l.label + 40) l.room = width - l.label - 24;
    if (l.indent + l.label + VALUE + l.room <= width) return l;
    const uint32_t rest = width - l.indent - VALUE;
    l.room = rest > 4 * LABEL_TINY ? rest / 2 : 0;
    if (l.label > rest - l.room) l.label = rest - l.room;
    if (l.label >= LABEL_TINY || l.label == label_width(c, rows)) return l;
    l.indent = 2;
    l.label = width - l.indent - VALUE + 2;
    return l;
}

static void put_row_head(const row_layout *l, ts_text label, const char *cut,
                         report_value value)
{
    cli_print("%*s", (int)l->indent, "");
    text_put(label, cut, l->label);
    cli_print("  %10s%s", report_words(value).s, l->room ? "  " : "");
}

static void put_times(const char *text, uint32_t count)
{
    while (count--)
        fputs(text, cli_stdout());
}

/* ---- Bars ---------------------------------------------------------------- */

static void put_bars(const report_chart *c, size_t rows, uint32_t width)
{
    double most = 0;
    for (size_t i = 0; i < c->count; i++)
        if (size_of(c->items[i].value) > most)
            most = size_of(c->items[i].value);
    const row_layout l = lay_out(c, rows, width);
    char **const cuts = cut_labels(c, rows, l.label);
    for (size_t i = 0; i < rows; i++) {
        const double share = most > 0 ? size_of(c->items[i].value) / most : 0;
        put_row_head(&l, c->items[i].label, cuts ? cuts[i] : NULL,
                     c->items[i].value);
        put_times(cli_unicode() ? "\u2588" : "#",
                  (uint32_t)(share * l.room + 0.5));
        putc('\n', cli_stdout());
    }
    cli_cuts_free(cuts, rows);
}

/* ---- Stacked bars -------------------------------------------------------- */

static const char *part_sign(size_t part)
{
    static const char signs[REPORT_PARTS][2] = { "#", "=", "+", "-", "o", "x",
                                                 "*", "%", "~", ":", "@", "&",
                                                 "w", "v", "^", "." };
    return signs[part];
}

static int64_t stacked_sum(const report_chart *c, size_t item)
{
    int64_t sum = 0;
    for (size_t p = 0; p < c->part_count; p++)
        sum += c->items[item].parts[p];
    return sum;
}

static void put_legend(const report_chart *c, uint32_t width)
{
    uint32_t at = 0;
    for (size_t p = 0; p < c->part_count; p++) {
        int64_t sum = 0;
        for (size_t i = 0; i < c->count; i++)
            sum += c->items[i].parts[p];
        if (!sum) continue;
        const uint32_t wide = (uint32_t)strlen(c->parts[p]) + 4;
        const bool fresh = !at || at + wide > width;
        if (fresh && at) putc('\n', cli_stdout());
        if (fresh) at = 2;
        cli_print("%s%s %s",
                  !fresh       ? "  "
                  : width < 40 ? "  "
                               : "    ",
                  part_sign(p), c->parts[p]);
        at += wide;
    }
    putc('\n', cli_stdout());
}

static void put_stacked(const report_chart *c, size_t rows, uint32_t width)
{
    int64_t most = 1;
    for (size_t i = 0; i < c->count; i++)
        if (stacked_sum(c, i) > most) most = stacked_sum(c, i);
    const row_layout l = lay_out(c, rows, width);
    char **const cuts = cut_labels(c, rows, l.label);
    for (size_t i = 0; i < rows; i++) {
        const report_value sum = report_number(c->unit, stacked_sum(c, i), 1);
        put_row_head(&l, c->items[i].label, cuts ? cuts[i] : NULL, sum);
        int64_t before = 0;
        uint32_t drawn = 0;
        for (size_t p = 0; p < c->part_count; p++) {
            before += c->items[i].parts[p];
            const uint32_t to =
                (uint32_t)((double)before / (double)most * l.room + 0.5);
            put_times(part_sign(p), to > drawn ? to - drawn : 0);
            if (to > drawn) drawn = to;
        }
        putc('\n', cli_stdout());
    }
    cli_cuts_free(cuts, rows);
    put_legend(c, width);
}

/* ---- Series -------------------------------------------------------------- */

// Prints the maximum of a line in each cell; lines keep their value until the
// next point.
static void put_line(const report_chart *c, uint32_t line, int64_t from,
                     int64_t to, int64_t most, int count)
{
    int64_t cells[SERIES_CELLS];
    int64_t now = 0;
    for (int i = 0; i < count; i++)
        cells[i] = INT64_MIN;
    for (size_t i = 0; i < c->point_count; i++) {
        if (c->points[i].line != line) continue;
        const double at = ((double)c->points[i].time_ns - (double)from) /
                          ((double)to - (double)from + 1) * count;
        const int cell = at < 0 ? 0 : (int)at;
        now = c->points[i].value;
        if (cell < count && now > cells[cell]) cells[cell] = now;
    }
    now = 0;
    for (int i = 0; i < count; i++) {
        if (cells[i] != INT64_MIN) now = cells[i];
        const double share = now > 0 ? (double)now / (double)most : 0;
        fputs((cli_unicode() ? blocks
                             : letters)[now > 0 ? 1 + (int)(share * 7) : 0],
              cli_stdout());
    }
}

static void put_series(const report_chart *c, size_t rows, uint32_t width)
{
    int64_t from = INT64_MAX, to = INT64_MIN, most = 1;
    for (size_t i = 0; i < c->point_count; i++) {
        const report_point *const p = &c->points[i];
        if (p->time_ns < from) from = p->time_ns;
        if (p->time_ns > to) to = p->time_ns;
        if (p->value > most) most = p->value;
    }
    if (!c->point_count) return;
    // Width of the frame and of "most 7.597 ms" beside the label.
    const uint32_t frame = 7 + 18;
    uint32_t label = label_width(c, rows);
    if (width < label + frame + LABEL_TINY)
        label = width > frame + 2 * LABEL_TINY ? width - frame - LABEL_TINY
                                               : LABEL_TINY;
    char **const cuts = cut_labels(c, rows, label);
    const bool most_fits = width > label + frame;
    const uint32_t taken = label + (most_fits ? frame : 8);
    const uint32_t room = width > taken ? width - taken : LABEL_TINY;
    const int cells = room < SERIES_CELLS ? (int)room : SERIES_CELLS;
    for (size_t i = 0; i < rows; i++) {
        int64_t peak = 0;
        for (size_t k = 0; k < c->point_count; k++)
            if (c->points[k].line == i && c->points[k].value > peak)
                peak = c->points[k].value;
        fputs("    ", cli_stdout());
        text_put(c->items[i].label, cuts ? cuts[i] : NULL, label);
        fputs("  |", cli_stdout());
        put_line(c, (uint32_t)i, from, to, most, cells);
        fputs("|", cli_stdout());
        if (most_fits)
            cli_print(" most %s",
                      report_words(report_number(c->unit, peak, 1)).s);
        putc('\n', cli_stdout());
    }
    cli_cuts_free(cuts, rows);
    const uint32_t at = most_fits ? label + 6 : 4;
    const cli_text span =
        cli_format("from %s to %s", report_words(report_time(from)).s,
                   report_words(report_time(to)).s);
    cli_print("%*s", (int)at, "");
    cli_put_wrapped(cli_stdout(), (ts_text){ span.s, strlen(span.s) }, at, at,
                    width);
}

/* ---- Flame --------------------------------------------------------------- */

// Prints children by weight; those below 1 % are omitted.
static void put_node(const report_chart *c, uint32_t node, uint32_t depth,
                     uint64_t *left, uint32_t width)
{
    const int64_t all = c->items[REPORT_ROOT].total;
    int64_t last = INT64_MAX;
    uint32_t last_at = 0;
    if (depth >= FLAME_DEPTH) return;
    while (*left) {
        uint32_t best = REPORT_ROOT;
        for (uint32_t i = 1; i < c->count; i++) {
            const report_item *const item = &c->items[i];
            const bool before =
                item->total < last || (item->total == last && i > last_at);
            if (item->parent == node && before &&
                (best == REPORT_ROOT || item->total > c->items[best].total))
                best = i;
        }
        if (best == REPORT_ROOT || c->items[best].total * 100 < all) return;
        last = c->items[best].total;
        last_at = best;
        const bool narrow = width < FLAME_NARROW;
        const uint32_t step = narrow ? 0 : depth * 2;
        cli_print("%*s%7s  %*s", narrow ? 1 : 4, "",
                  report_words(report_share(last, all)).s, (int)step, "");
        const uint32_t used = narrow ? 10 : 13 + step;
        const uint32_t room = narrow              ? width - used
                              : width > used + 24 ? width - used - 13
                                                  : 16;
        char **const cut = cli_cut_names(&c->items[best].label, 1, room, NULL);
        text_put(c->items[best].label, cut ? *cut : NULL, room);
        cli_cuts_free(cut, 1);
        if (!narrow)
            cli_print(" %10s", report_words(report_number(c->unit, last, 1)).s);
        putc('\n', cli_stdout());
        --*left;
        put_node(c, best, depth + 1, left, width);
    }
}

void text_chart(const report_chart *c, uint64_t top, uint32_t width)
{
    if (!c->count || (c->kind == REPORT_FLAME && c->count == 1)) return;
    const size_t rows = c->count < top ? c->count : (size_t)top;
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return;
    fputs(c->title, out);
    if (c->kind != REPORT_FLAME && rows < c->count)
        fprintf(out, " (%s of %s)", cli_count(rows).s, cli_count(c->count).s);
    putc('\n', cli_stdout());
    text_put_gathered(out, &text, &size, 2, 4, width);
    switch (c->kind) {
    case REPORT_BARS: put_bars(c, rows, width); break;
    case REPORT_STACKED: put_stacked(c, rows, width); break;
    case REPORT_SERIES: put_series(c, rows, width); break;
    case REPORT_FLAME: {
        uint64_t left = top * 3;
        report_flame_sum(c);
        put_node(c, REPORT_ROOT, 0, &left, width);
    }
    }
}
