/*
    svg.c - charts as SVG

    Horizontal positions are in percent and heights in pixels, so that a chart
    is as wide as its page and its text has the size of the page's text.
*/
#include "tools/analyze/output/html.h"

enum {
    ALONE_WIDTH = 960,
    BAR_STEP = 42,
    BARS_MOST = 40,
    LEGEND_STEP = 20,
    SERIES_HEIGHT = 180,
    SERIES_CELLS = 1000,
    LINES_MOST = 16,
    FLAME_STEP = 20
};

void svg_open(FILE *out, const report_chart *c, bool alone, size_t height)
{
    if (!alone) {
        fprintf(out, "<svg role=\"img\" height=\"%zu\">", height);
        return;
    }
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%zu\" viewBox=\"0 0 %d %zu\"><title>",
            ALONE_WIDTH, height + 30, ALONE_WIDTH, height + 30);
    html_string(out, c->title);
    fprintf(out,
            "</title><style>%s</style>\n<rect width=\"100%%\" height=\"100%%\" "
            "style=\"fill:var(--back)\"/><text x=\"4\" y=\"18\">",
            html_colors);
    html_string(out, c->title);
    fprintf(out, "</text><svg y=\"30\" width=\"100%%\" height=\"%zu\">",
            height);
}

void svg_close(FILE *out, bool alone)
{
    fputs(alone ? "</svg></svg>\n" : "</svg>\n", out);
}

static double size_of(report_value v)
{
    if (report_is_unknown(v) || v.number < 0) return 0;
    return v.of ? (double)v.number / (double)v.of : (double)v.number;
}

double svg_share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part * 100 / (double)whole : 0;
}

cli_text svg_words(const report_chart *c, int64_t number)
{
    return report_words(report_number(c->unit, number, 1));
}

// Writes a label on the left, cut where the value on the right begins.
static void put_caption(FILE *out, size_t y, ts_text label, const char *value)
{
    fprintf(out, "<svg y=\"%zu\" width=\"74%%\" height=\"20\"><text y=\"14\">",
            y);
    html_put(out, label);
    fprintf(out,
            "</text></svg><text class=\"num\" x=\"100%%\" y=\"%zu\">%s"
            "</text>\n",
            y + 14, value);
}

/* ---- Bars ---------------------------------------------------------------- */

static size_t bar_count(const report_chart *c)
{
    return c->count < BARS_MOST ? c->count : BARS_MOST;
}

static void put_bars(FILE *out, const report_chart *c, bool alone)
{
    const size_t count = bar_count(c);
    double most = 0;
    for (size_t i = 0; i < count; i++)
        if (size_of(c->items[i].value) > most)
            most = size_of(c->items[i].value);
    svg_open(out, c, alone, count * BAR_STEP);
    for (size_t i = 0; i < count; i++) {
        const report_item *const item = &c->items[i];
        const double wide = most > 0 ? size_of(item->value) * 100 / most : 0;
        const cli_text value = report_words(item->value);
        fputs("<g><title>", out);
        html_put(out, item->label);
        fprintf(out, ": %s</title>", value.s);
        put_caption(out, i * BAR_STEP, item->label, value.s);
        fprintf(out,
                "<rect class=\"rail\" y=\"%zu\" width=\"100%%\" height=\"12\" "
                "rx=\"2\"/><rect class=\"c0\" y=\"%zu\" width=\"%.3f%%\" "
                "height=\"12\" rx=\"2\"/></g>\n",
                i * BAR_STEP + 21, i * BAR_STEP + 21, wide);
    }
    svg_close(out, alone);
}

/* ---- Stacked bars -------------------------------------------------------- */

static int64_t part_sum(const report_chart *c, size_t part)
{
    int64_t sum = 0;
    for (size_t i = 0; i < c->count; i++)
        sum += c->items[i].parts[part];
    return sum;
}

static int64_t item_sum(const report_chart *c, size_t item)
{
    int64_t sum = 0;
    for (size_t p = 0; p < c->part_count; p++)
        sum += c->items[item].parts[p];
    return sum;
}

static void put_legend(FILE *out, size_t y, size_t color, ts_text label,
                       const char *value)
{
    fprintf(out,
            "<rect class=\"c%zu\" y=\"%zu\" width=\"11\" height=\"11\" "
            "rx=\"2\"/><svg x=\"18\" y=\"%zu\" width=\"68%%\" height=\"20\">"
            "<text y=\"14\">",
            color % REPORT_PARTS, y + 4, y);
    html_put(out, label);
    fprintf(out,
            "</text></svg><text class=\"num dim\" x=\"100%%\" y=\"%zu\">%s"
            "</text>\n",
            y + 14, value);
}

static void put_stack(FILE *out, const report_chart *c, size_t item,
                      int64_t most, size_t y)
{
    int64_t before = 0;
    fprintf(out,
            "<rect class=\"rail\" y=\"%zu\" width=\"100%%\" height=\"14\" "
            "rx=\"2\"/>",
            y);
    for (size_t p = 0; p < c->part_count; p++) {
        const int64_t size = c->items[item].parts[p];
        if (size <= 0) continue;
        fprintf(out,
                "<rect class=\"c%zu\" x=\"%.3f%%\" y=\"%zu\" "
                "width=\"%.3f%%\" height=\"14\"><title>",
                p, svg_share(before, most), y, svg_share(size, most));
        html_string(out, c->parts[p]);
        fprintf(out, ": %s</title></rect>", svg_words(c, size).s);
        before += size;
    }
    fputc('\n', out);
}

static void put_stacked(FILE *out, const report_chart *c, bool alone)
{
    const size_t count = bar_count(c);
    size_t used = 0, y = count * BAR_STEP + 8;
    int64_t most = 0;
    for (size_t p = 0; p < c->part_count; p++)
        used += part_sum(c, p) > 0;
    for (size_t i = 0; i < count; i++)
        if (item_sum(c, i) > most) most = item_sum(c, i);
    svg_open(out, c, alone, y + used * LEGEND_STEP);
    for (size_t i = 0; i < count; i++) {
        put_caption(out, i * BAR_STEP, c->items[i].label,
                    svg_words(c, item_sum(c, i)).s);
        put_stack(out, c, i, most, i * BAR_STEP + 20);
    }
    for (size_t p = 0; p < c->part_count; p++) {
        const ts_text label = { c->parts[p], strlen(c->parts[p]) };
        if (part_sum(c, p) <= 0) continue;
        put_legend(out, y, p, label, svg_words(c, part_sum(c, p)).s);
        y += LEGEND_STEP;
    }
    svg_close(out, alone);
}

/* ---- Lines over time ----------------------------------------------------- */

typedef struct span {
    int64_t from, to, least, most;
} span;

static span span_of(const report_chart *c)
{
    span s = { INT64_MAX, INT64_MIN, 0, 1 };
    for (size_t i = 0; i < c->point_count; i++) {
        const report_point *const p = &c->points[i];
        if (p->time_ns < s.from) s.from = p->time_ns;
        if (p->time_ns > s.to) s.to = p->time_ns;
        if (p->value > s.most) s.most = p->value;
        if (p->value < s.least) s.least = p->value;
    }
    return s;
}

// Returns a - b, which may overflow an integer.
static double distance(int64_t a, int64_t b)
{
    return (double)a - (double)b;
}

static double height_of(const span *s, int64_t value)
{
    return SERIES_HEIGHT - 1 -
           distance(value, s->least) * (SERIES_HEIGHT - 2) /
               distance(s->most, s->least);
}

typedef struct cell {
    bool used;
    int64_t least, most, last;
} cell;

// Draws for each cell of time the range from minimum to maximum, so that no
// peak is lost.
static void put_path(FILE *out, const report_chart *c, const span *s,
                     uint32_t line, cell *cells)
{
    bool begun = false;
    memset(cells, 0, SERIES_CELLS * sizeof *cells);
    for (size_t i = 0; i < c->point_count; i++) {
        const report_point *const p = &c->points[i];
        if (p->line != line) continue;
        const double at = distance(p->time_ns, s->from) /
                          (distance(s->to, s->from) + 1) * (double)SERIES_CELLS;
        cell *const to =
            &cells[(int)at < SERIES_CELLS ? (int)at : SERIES_CELLS - 1];
        if (!to->used || p->value < to->least) to->least = p->value;
        if (!to->used || p->value > to->most) to->most = p->value;
        to->last = p->value;
        to->used = true;
    }
    fprintf(out,
            "<path class=\"s%u\" vector-effect=\"non-scaling-stroke\" d=\"",
            line % REPORT_PARTS);
    for (int x = 0; x < SERIES_CELLS; x++) {
        if (!cells[x].used) continue;
        const double low = height_of(s, cells[x].least);
        if (begun)
            fprintf(out, "H%dV%.1f", x, low);
        else
            fprintf(out, "M%d %.1f", x, low);
        if (cells[x].most != cells[x].least)
            fprintf(out, "V%.1f", height_of(s, cells[x].most));
        if (cells[x].last != cells[x].most)
            fprintf(out, "V%.1f", height_of(s, cells[x].last));
        begun = true;
    }
    fprintf(out, "%s\"/>\n", begun ? "H1000" : "M0 0");
}

static void put_axes(FILE *out, const report_chart *c, const span *s)
{
    const cli_text from = report_words(report_time(s->from));
    const cli_text to = report_words(report_time(s->to));
    fprintf(out,
            "<text class=\"dim\" y=\"13\">%s</text>"
            "<text class=\"dim\" y=\"%d\">%s</text>"
            "<text class=\"num dim\" x=\"100%%\" y=\"%d\">%s</text>\n",
            svg_words(c, s->most).s, SERIES_HEIGHT + 36, from.s,
            SERIES_HEIGHT + 36, to.s);
    for (int i = 0; i <= 4; i++)
        fprintf(out,
                "<line class=\"grid\" x1=\"0\" x2=\"100%%\" y1=\"%d\" "
                "y2=\"%d\"/>",
                18 + SERIES_HEIGHT * i / 4, 18 + SERIES_HEIGHT * i / 4);
}

enum { LANE_STEP = 22, LANE_HEIGHT = 14, LANE_LEVELS = 4 };

// Writes one path for each level of busyness, made of the slots with that
// level.
static void put_lane(FILE *out, const report_chart *c, const span *s,
                     uint32_t line, size_t y)
{
    int64_t most = 1;
    for (size_t i = 0; i < c->point_count; i++)
        if (c->points[i].value > most) most = c->points[i].value;
    for (int level = 1; level <= LANE_LEVELS; level++) {
        bool begun = false;
        for (size_t i = 0; i + 1 < c->point_count; i++) {
            const report_point *const p = &c->points[i];
            const double share = (double)p->value / (double)most;
            if (p->line != line || p[1].line != line || p->value <= 0 ||
                (int)(share * (LANE_LEVELS - 0.01)) + 1 != level)
                continue;
            const double scale = SERIES_CELLS / (distance(s->to, s->from) + 1);
            const double x = distance(p->time_ns, s->from) * scale;
            if (!begun)
                fprintf(out, "<path class=\"c%u\" opacity=\"%d%%\" d=\"",
                        c->items[line].parent, 100 * level / LANE_LEVELS);
            begun = true;
            fprintf(out, "M%.1f %zuh%.1fv%dH%.1fz", x, y,
                    distance(p[1].time_ns, p->time_ns) * scale, LANE_HEIGHT, x);
        }
        if (begun) fputs("\"/>\n", out);
    }
}

// Writes names above their lanes, so that both can use the full width.
static void put_lanes(FILE *out, const report_chart *c, bool alone)
{
    const span s = span_of(c);
    const size_t height = c->count * 2 * LANE_STEP;
    if (!c->point_count) return;
    svg_open(out, c, alone, height + 20);
    for (uint32_t i = 0; i < c->count; i++)
        put_caption(out, (size_t)i * 2 * LANE_STEP + 4, c->items[i].label, "");
    fprintf(out,
            "<svg width=\"100%%\" height=\"%zu\" viewBox=\"0 0 %d %zu\" "
            "preserveAspectRatio=\"none\">\n",
            height, SERIES_CELLS, height);
    for (uint32_t i = 0; i < c->count; i++) {
        const size_t y = (size_t)i * 2 * LANE_STEP + 24;
        fprintf(out,
                "<rect class=\"rail\" y=\"%zu\" width=\"%d\" height=\"%d\"/>",
                y, SERIES_CELLS, LANE_HEIGHT);
        put_lane(out, c, &s, i, y);
    }
    fprintf(out,
            "</svg><text class=\"dim\" y=\"%zu\">%s</text><text "
            "class=\"dim num\" x=\"100%%\" y=\"%zu\">%s</text>",
            height + 14, report_words(report_time(s.from)).s, height + 14,
            report_words(report_time(s.to)).s);
    svg_close(out, alone);
}

static void put_series(FILE *out, const report_chart *c, bool alone)
{
    if (c->lanes) {
        put_lanes(out, c, alone);
        return;
    }
    const size_t lines = c->count < LINES_MOST ? c->count : LINES_MOST;
    const span s = span_of(c);
    cell *const cells = malloc(SERIES_CELLS * sizeof *cells);
    if (!c->point_count || !cells) {
        free(cells);
        return;
    }
    svg_open(out, c, alone, SERIES_HEIGHT + 48 + lines * LEGEND_STEP);
    put_axes(out, c, &s);
    fprintf(out,
            "<svg y=\"18\" width=\"100%%\" height=\"%d\" viewBox=\"0 0 %d %d\" "
            "preserveAspectRatio=\"none\">\n",
            SERIES_HEIGHT, SERIES_CELLS, SERIES_HEIGHT);
    for (uint32_t i = 0; i < lines; i++)
        put_path(out, c, &s, i, cells);
    fputs("</svg>\n", out);
    for (uint32_t i = 0; i < lines; i++) {
        int64_t peak = INT64_MIN;
        for (size_t k = 0; k < c->point_count; k++)
            if (c->points[k].line == i && c->points[k].value > peak)
                peak = c->points[k].value;
        const cli_text most =
            peak == INT64_MIN ? cli_format("-") : svg_words(c, peak);
        put_legend(out, SERIES_HEIGHT + 46 + i * LEGEND_STEP, i,
                   c->items[i].label, cli_format("most %s", most.s).s);
    }
    svg_close(out, alone);
    free(cells);
}

void report_svg(FILE *out, const report_chart *c, bool alone)
{
    if (!c || !c->count) return;
    switch (c->kind) {
    case REPORT_BARS: put_bars(out, c, alone); break;
    case REPORT_STACKED: put_stacked(out, c, alone); break;
    case REPORT_SERIES: put_series(out, c, alone); break;
    case REPORT_FLAME: svg_flame(out, c, alone); break;
    }
}
