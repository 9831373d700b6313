/*
    view.c - a row as pixels and boxes
*/
#include "tools/studio/scene/parts.h"

enum { BOX_PIXELS = 3, ALONE_PIXELS = 6 };

int64_t scene_pixel_ns(const scene_view *view, uint32_t pixel)
{
    const uint64_t span = (uint64_t)view->to_ns - (uint64_t)view->from_ns;
    const uint64_t whole = span / view->pixels * pixel;
    const uint64_t rest = span % view->pixels * pixel / view->pixels;
    return (int64_t)((uint64_t)view->from_ns + whole + rest);
}

static bool box_add(scene_view *v, const scene_item *item)
{
    if (!cli_grow(&v->boxes, &v->box_room, v->box_count + 1, sizeof *v->boxes))
        return false;
    v->boxes[v->box_count++] = *item;
    return true;
}

// What one pixel shows: [from_ns, to_ns), of which the boxes from `first` to
// before `end` begin in it, and the one before `first` may reach into it.
typedef struct pixel {
    int64_t from_ns, to_ns;
    size_t first, end;
} pixel;

// Returns the index of what covers most of a pixel; SIZE_MAX: nothing.
static size_t main_of(const strip *r, const pixel *p)
{
    const size_t none = SIZE_MAX;
    size_t best =
        p->end > p->first ? scene_row_longest(r, p->first, p->end) : none;
    if (!p->first || r->items[p->first - 1].end_ns <= p->from_ns) return best;
    const scene_item *const earlier = &r->items[p->first - 1];
    const int64_t until =
        earlier->end_ns < p->to_ns ? earlier->end_ns : p->to_ns;
    return best == none || until - p->from_ns >= scene_item_ns(&r->items[best])
               ? p->first - 1
               : best;
}

static uint8_t share(int64_t part, int64_t whole)
{
    if (whole < 1) return 255;
    const double s = (double)part * 255 / (double)whole;
    return s < 1 ? 1 : s > 255 ? 255 : (uint8_t)s;
}

// Whether nothing begins near a moment, so that it can be drawn as a box.
static bool is_alone(const strip *r, size_t at, int64_t near_ns)
{
    return at + 1 >= r->count ||
           r->items[at + 1].start_ns - r->items[at].start_ns >= near_ns;
}

static bool draw_boxes(const scene *s, const strip *r, scene_view *v)
{
    const int64_t span = scene_near(v->to_ns - v->from_ns);
    const int64_t box_ns = span / v->pixels * BOX_PIXELS;
    const int64_t alone_ns = span / v->pixels * ALONE_PIXELS;
    size_t drawn = SIZE_MAX; // the last one that became a box
    pixel p = { .to_ns = v->from_ns };
    p.end = scene_row_before(r, v->from_ns, 0);
    int64_t before_ns = scene_row_covered(r, v->from_ns, p.end);
    for (uint32_t i = 0; i < v->pixels; i++) {
        p.from_ns = p.to_ns;
        p.first = p.end;
        p.to_ns = scene_pixel_ns(v, i + 1);
        p.end = scene_row_before(r, p.to_ns, p.first);
        const size_t main = main_of(r, &p);
        if (main == SIZE_MAX) continue;
        const int64_t covered_ns = scene_row_covered(r, p.to_ns, p.end);
        const scene_item *const item = &r->items[main];
        v->busy[i] = share(covered_ns - before_ns, p.to_ns - p.from_ns);
        v->hue[i] = s->labels[item->label].hue;
        before_ns = covered_ns;
        const int64_t ns = scene_item_ns(item);
        const bool is_box = ns > box_ns || (!ns && p.end - p.first == 1 &&
                                            is_alone(r, main, alone_ns));
        if (is_box && main != drawn && !box_add(v, item)) return false;
        if (is_box) drawn = main;
    }
    return true;
}

// Where samples were thinned out, all of a cell may show in any of its pixels.
static int64_t cell_begin(const strip *r, int64_t time_ns)
{
    if (!r->cell_ns) return time_ns;
    const int64_t past = time_ns % r->cell_ns;
    return time_ns - (past < 0 ? past + r->cell_ns : past);
}

static int64_t cell_end(const strip *r, int64_t time_ns)
{
    const int64_t begin = cell_begin(r, time_ns);
    return begin == time_ns ? begin : begin + r->cell_ns;
}

static void draw_samples(const strip *r, scene_view *v)
{
    size_t first = 0, at = 0;
    v->coarse = r->cell_ns > (v->to_ns - v->from_ns) / v->pixels;
    for (uint32_t i = 0; i < v->pixels; i++) {
        const int64_t from = cell_begin(r, scene_pixel_ns(v, i));
        first = scene_row_before(r, from, first);
        at = scene_row_before(r, cell_end(r, scene_pixel_ns(v, i + 1)), at);
        if (!at) continue;
        // The value before holds until the first sample of the pixel.
        const bool holds = first == at || r->items[first].start_ns > from;
        double low, high;
        scene_row_range(r, first && holds ? first - 1 : first, at, &low, &high);
        v->low[i] = (float)low;
        v->high[i] = (float)high;
    }
}

/* ---- Views --------------------------------------------------------------- */

static bool is_right(const scene *s, uint32_t at, const scene_view *v)
{
    return at < s->row_count && v->pixels && v->pixels <= SCENE_PIXELS &&
           v->from_ns >= -SCENE_FAR && v->to_ns <= SCENE_FAR &&
           v->from_ns < v->to_ns;
}

// The top of the index serves while each of its cells is a few pixels wide.
static bool top_serves(const scene *s, const scene_view *v)
{
    enum { WIDE = 4 };
    return (double)s->top_cell_ns * v->pixels <=
           (double)(v->to_ns - v->from_ns) * WIDE;
}

ts_result scene_draw(scene *s, uint32_t at, scene_view *v)
{
    if (!is_right(s, at, v)) return TS_ERR_USAGE;
    v->box_count = 0;
    memset(v->busy, 0, v->pixels);
    memset(v->hue, 0, v->pixels);
    for (uint32_t i = 0; i < v->pixels; i++)
        v->low[i] = v->high[i] = NAN;
    const strip *const r = &s->rows[at];
    const bool of_trace =
        r->pub.type != SCENE_DEVICE && r->pub.type != SCENE_PATH &&
        r->pub.type != SCENE_GHOST && !scene_is_derived(&r->pub);
    if (of_trace && !top_serves(s, v)) s->table_wanted = true;
    v->coarse = of_trace && !scene_window(s, v->from_ns, v->to_ns);
    v->behind = (v->coarse && scene_views_behind(s)) || scene_derived_behind(s);
    if (v->coarse) {
        if (!s->rows[at].pub.part) scene_draw_pictures(s, &s->rows[at], v);
        return TS_OK;
    }
    const strip *const now = &s->rows[at]; // a load may have moved it
    if (!now->count) return TS_OK;
    if (!now->samples) return draw_boxes(s, now, v) ? TS_OK : TS_ERR_MEMORY;
    draw_samples(now, v);
    return TS_OK;
}

static int64_t distance(const scene_item *item, int64_t time_ns, bool moment)
{
    if (time_ns < item->start_ns) return item->start_ns - time_ns;
    if (moment || time_ns < item->end_ns) return 0;
    return time_ns - item->end_ns;
}

bool scene_pick(const scene *s, uint32_t at, int64_t time_ns, int64_t slack_ns,
                scene_item *item)
{
    if (at >= s->row_count || !s->rows[at].count || slack_ns < 0) return false;
    const strip *const r = &s->rows[at];
    time_ns = scene_near(time_ns);
    const size_t next = scene_row_before(r, time_ns + 1, 0);
    int64_t best = SCENE_FAR;
    for (size_t i = next ? next - 1 : 0; i < r->count && i <= next; i++) {
        const int64_t d = distance(&r->items[i], time_ns, r->samples);
        if (d >= best || d > slack_ns) continue;
        best = d;
        *item = r->items[i];
    }
    return best < SCENE_FAR;
}
