/*
    search.c - names
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

// A symbol of a program may be looked for as well as what it is read as.
static bool is_in_symbol(const scene *s, uint32_t label, ts_text text)
{
    const ts_text raw = scene_label_raw(s, label);
    return raw.text != s->labels[label].text.text && contains(raw, text);
}

size_t scene_search(const scene *s, ts_text text, bool *matches)
{
    size_t count = 0;
    for (size_t i = 0; i < s->label_count; i++) {
        uint64_t times;
        int64_t total_ns;
        scene_names_sum(s, (uint32_t)i, &times, &total_ns);
        matches[i] = times && (contains(s->labels[i].text, text) ||
                               is_in_symbol(s, (uint32_t)i, text));
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
