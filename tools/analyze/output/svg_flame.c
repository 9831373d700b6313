/*
    svg_flame.c - flame graphs as SVG
*/
#include "tools/analyze/output/html.h"

enum { FLAME_STEP = 21, FLAME_DEPTH = 64 };
// Percent of the width; narrower boxes are not drawn, or not labelled.
static const double narrow = 0.08, narrow_in_page = 0.4, label_least = 3;

typedef struct flame {
    FILE *out;
    const report_chart *c;
    uint32_t *order; // nodes sorted by parent, then weight
    uint32_t *first; // index of the first child in `order`
    size_t depth;
    double narrow;
} flame;

// Argument of the qsort comparison.
static _Thread_local const report_chart *sorted;

static int by_parent(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const report_item *const x = &sorted->items[a], *const y =
                                                        &sorted->items[b];
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total) return x->total > y->total ? -1 : 1;
    return (a > b) - (a < b);
}

static bool put_in_order(flame *f)
{
    const size_t count = f->c->count;
    f->order = calloc(count, sizeof *f->order);
    f->first = calloc(count + 1, sizeof *f->first);
    if (!f->order || !f->first) return false;
    for (uint32_t i = 1; i < count; i++)
        f->order[i - 1] = i;
    sorted = f->c;
    qsort(f->order, count - 1, sizeof *f->order, by_parent);
    size_t at = 0;
    for (size_t node = 0; node <= count; node++) {
        while (at < count - 1 && f->c->items[f->order[at]].parent < node)
            at++;
        f->first[node] = (uint32_t)at;
    }
    return true;
}

// Equal labels have equal colours in all graphs.
static unsigned color_of(ts_text label)
{
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < label.size; i++)
        hash = (hash ^ (unsigned char)label.text[i]) * 16777619u;
    return hash % REPORT_PARTS;
}

static void put_box(const flame *f, uint32_t node, size_t depth, double x,
                    double wide)
{
    const report_item *const item = &f->c->items[node];
    fprintf(f->out,
            "<svg class=\"hot\" x=\"%.3f%%\" y=\"%zu\" width=\"%.3f%%\" "
            "height=\"%d\"><title>",
            x, depth * FLAME_STEP, wide, FLAME_STEP);
    html_put(f->out, item->label);
    fprintf(f->out, ": %s, %.1f %%</title>", svg_words(f->c, item->total).s,
            svg_share(item->total, f->c->items[REPORT_ROOT].total));
    fprintf(f->out, "<rect class=\"c%u\" width=\"100%%\" height=\"%d\"/>",
            color_of(item->label), FLAME_STEP - 1);
    if (wide >= label_least) {
        fputs("<text x=\"4\" y=\"15\">", f->out);
        html_put(f->out, item->label);
        fputs("</text>", f->out);
    }
    fputs("</svg>\n", f->out);
}

// draw false: only computes the depth.
static void walk(flame *f, uint32_t node, size_t depth, double x, bool draw)
{
    const int64_t all = f->c->items[REPORT_ROOT].total;
    const double wide = svg_share(f->c->items[node].total, all);
    if (wide < f->narrow || depth >= FLAME_DEPTH) return;
    if (depth + 1 > f->depth) f->depth = depth + 1;
    if (draw) put_box(f, node, depth, x, wide);
    for (uint32_t i = f->first[node]; i < f->first[node + 1]; i++) {
        walk(f, f->order[i], depth + 1, x, draw);
        x += svg_share(f->c->items[f->order[i]].total, all);
    }
}

void svg_flame(FILE *out, const report_chart *c, bool alone)
{
    flame f = { .out = out, .c = c, .narrow = alone ? narrow : narrow_in_page };
    report_flame_sum(c);
    if (put_in_order(&f)) {
        walk(&f, REPORT_ROOT, 0, 0, false);
        svg_open(out, c, alone, f.depth * FLAME_STEP);
        walk(&f, REPORT_ROOT, 0, 0, true);
        svg_close(out, alone);
    }
    free(f.order);
    free(f.first);
}
