/*
    search.c - names, and sums over an area
*/
#include "tools/studio/scene/parts.h"

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

static bool contains(ts_text text, ts_text part)
{
    for (size_t i = 0; part.size <= text.size && i <= text.size - part.size;
         i++) {
        size_t k = 0;
        while (k < part.size && lower(text.text[i + k]) == lower(part.text[k]))
            k++;
        if (k == part.size) return true;
    }
    return false;
}

size_t scene_search(const scene *s, ts_text text, bool *matches)
{
    size_t count = 0;
    for (size_t i = 0; i < s->label_count; i++) {
        matches[i] = s->labels[i].count && contains(s->labels[i].text, text);
        count += matches[i];
    }
    return count;
}

// Whether (a, row) comes before (b, other).
static bool sooner(const scene_item *a, uint32_t row, const scene_item *b,
                   uint32_t other)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : row < other;
}

// The match of a row that comes next after (time, from), or last before it.
static bool match_in(const strip *r, uint32_t at, const bool *matches,
                     bool backwards, int64_t time_ns, uint32_t from,
                     scene_item *item)
{
    const int64_t edge_ns =
        backwards ? time_ns + (at < from) : time_ns + (at <= from);
    size_t i = scene_row_before(r, edge_ns, 0);
    while (backwards ? i-- > 0 : i < r->count) {
        if (matches[r->items[i].label]) {
            *item = r->items[i];
            return true;
        }
        if (!backwards) i++;
    }
    return false;
}

bool scene_next(const scene *s, const bool *matches, bool backwards,
                int64_t time_ns, uint32_t from, uint32_t *found,
                scene_item *item)
{
    bool any = false;
    scene_item one;
    time_ns = scene_near(time_ns);
    for (uint32_t i = 0; i < s->row_count; i++) {
        const strip *const r = &s->rows[i];
        if (r->samples || r->pub.type == SCENE_GHOST ||
            r->pub.type == SCENE_PATH ||
            !match_in(r, i, matches, backwards, time_ns, from, &one))
            continue;
        if (any && sooner(&one, i, item, *found) == backwards) continue;
        any = true;
        *item = one;
        *found = i;
    }
    return any;
}

/* ---- Areas --------------------------------------------------------------- */

typedef struct area {
    scene *s;
    int64_t from_ns, to_ns;
    scene_sum *by_label; // scene_label_count elements
} area;

static int64_t clipped(const area *a, const scene_item *item)
{
    const int64_t from =
        item->start_ns > a->from_ns ? item->start_ns : a->from_ns;
    const int64_t to = item->end_ns < a->to_ns ? item->end_ns : a->to_ns;
    return to > from ? to - from : 0;
}

// Boxes of the lane below lie inside those of this one.
static int64_t inside(const area *a, const strip *below, const scene_item *item)
{
    area part = *a;
    if (item->start_ns > part.from_ns) part.from_ns = item->start_ns;
    if (item->end_ns < part.to_ns) part.to_ns = item->end_ns;
    if (part.to_ns <= part.from_ns || !below || !below->count) return 0;
    const size_t first = scene_row_before(below, part.from_ns, 0);
    const size_t end = scene_row_before(below, part.to_ns, first);
    return scene_row_covered(below, part.to_ns, end) -
           scene_row_covered(below, part.from_ns, first);
}

static void add(area *a, const strip *below, const scene_item *item)
{
    scene_sum *const sum = &a->by_label[item->label];
    const int64_t ns = clipped(a, item);
    if (!sum->count || ns < sum->least_ns) sum->least_ns = ns;
    if (!sum->count || ns > sum->most_ns) {
        sum->most_ns = ns;
        sum->longest = item->ref;
    }
    sum->count++;
    sum->total_ns += ns;
    sum->self_ns += ns - inside(a, below, item);
}

static const strip *row_below(const scene *s, const strip *r)
{
    for (size_t i = 0; r->pub.type == SCENE_ZONES && i < s->row_count; i++)
        if (s->rows[i].pub.type == r->pub.type &&
            s->rows[i].pub.track == r->pub.track &&
            s->rows[i].pub.part == r->pub.part + 1)
            return &s->rows[i];
    return NULL;
}

static void add_row(area *a, const strip *r)
{
    const strip *const below = row_below(a->s, r);
    size_t i = scene_row_before(r, a->from_ns, 0);
    if (i && r->items[i - 1].end_ns > a->from_ns) i--;
    for (; i < r->count && r->items[i].start_ns < a->to_ns; i++)
        add(a, below, &r->items[i]);
}

static int by_total(const void *left, const void *right)
{
    const scene_sum *const a = left, *const b = right;
    if (a->total_ns != b->total_ns) return a->total_ns < b->total_ns ? 1 : -1;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return a->label < b->label ? -1 : a->label > b->label;
}

ts_result scene_area(scene *s, const uint32_t *rows, size_t row_count,
                     int64_t from_ns, int64_t to_ns, scene_sum **sums,
                     size_t *count)
{
    area a = { s, scene_near(from_ns), scene_near(to_ns), NULL };
    *count = 0;
    *sums = a.by_label = calloc(s->label_count + 1, sizeof *a.by_label);
    if (!a.by_label) return TS_ERR_MEMORY;
    for (size_t i = 0; i < row_count; i++)
        if (rows[i] < s->row_count && !s->rows[rows[i]].samples)
            add_row(&a, &s->rows[rows[i]]);
    for (uint32_t i = 0; i < s->label_count; i++)
        if (a.by_label[i].count) {
            a.by_label[*count] = a.by_label[i];
            a.by_label[(*count)++].label = i;
        }
    qsort(*sums, *count, sizeof **sums, by_total);
    return TS_OK;
}
