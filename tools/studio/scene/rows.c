/*
    rows.c - rows of boxes, with what makes a view of them cheap

    sums: what is covered before every FAN-th box, so that the busy share of
    any pixel takes two look-ups. longest: a pyramid, so that the longest box
    of any range takes a few steps of each level.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/search.h"

static uint64_t row_key(scene_row_type type, uint32_t track, uint32_t part)
{
    return (uint64_t)type << 48 ^ (uint64_t)part << 52 ^ track;
}

uint32_t scene_row_known(const scene *s, scene_row_type type, uint32_t track,
                         uint32_t part)
{
    return cli_map_row(&s->row_index, row_key(type, track, part));
}

strip *scene_row_get(scene *s, scene_row_type type, uint32_t track,
                     uint32_t part)
{
    const uint64_t key = row_key(type, track, part);
    const uint32_t known = scene_row_known(s, type, track, part);
    if (known != CLI_NONE) return &s->rows[known];
    if (s->row_count >= SCENE_ROWS ||
        !cli_grow(&s->rows, &s->row_room, s->row_count + 1, sizeof *s->rows) ||
        !cli_map_set(&s->row_index, key, s->row_count))
        return NULL;
    strip *const r = &s->rows[s->row_count++];
    memset(r, 0, sizeof *r);
    r->pub = (scene_row){ .type = type, .track = track, .part = part };
    r->samples = type == SCENE_COUNTER;
    s->version++;
    return r;
}

bool scene_row_add(strip *r, const scene_item *item)
{
    if (!cli_grow(&r->items, &r->room, r->count + 1, sizeof *r->items))
        return false;
    r->items[r->count++] = *item;
    return true;
}

static void free_pyramid(strip *r)
{
    free(r->sums);
    r->sums = NULL;
    for (int i = 0; i < LEVELS; i++) {
        free(r->longest[i]);
        free(r->lows[i]);
        free(r->highs[i]);
        r->longest[i] = NULL;
        r->lows[i] = r->highs[i] = NULL;
    }
}

void scene_row_clear(strip *r)
{
    free(r->items);
    free_pyramid(r);
    r->items = NULL;
    r->count = r->room = 0;
    r->cell_ns = 0;
    r->pub.count = 0;
}

/* ---- Building ------------------------------------------------------------ */

static bool make_sums(strip *r)
{
    r->sums = malloc((r->count / FAN + 1) * sizeof *r->sums);
    if (!r->sums) return false;
    int64_t sum = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (i % FAN == 0) r->sums[i / FAN] = sum;
        sum += scene_item_ns(&r->items[i]);
    }
    if (r->count % FAN == 0) r->sums[r->count / FAN] = sum;
    return true;
}

static uint32_t longer(const strip *r, uint32_t a, uint32_t b)
{
    return scene_item_ns(&r->items[b]) > scene_item_ns(&r->items[a]) ? b : a;
}

static bool make_longest(strip *r)
{
    size_t below = r->count;
    for (int level = 0; level < LEVELS && below > FAN; level++) {
        const size_t count = (below + FAN - 1) / FAN;
        uint32_t *const to = r->longest[level] = malloc(count * sizeof *to);
        if (!to) return false;
        for (size_t i = 0; i < below; i++) {
            const uint32_t one = level ? r->longest[level - 1][i] : (uint32_t)i;
            to[i / FAN] = i % FAN ? longer(r, to[i / FAN], one) : one;
        }
        below = count;
    }
    return true;
}

// Values that are not known, NaN, are left out.
static void widen(double *low, double *high, double l, double h)
{
    if (l < *low || isnan(*low)) *low = l;
    if (h > *high || isnan(*high)) *high = h;
}

static bool make_ranges(strip *r)
{
    size_t below = r->count;
    for (int level = 0; level < LEVELS && below > FAN; level++) {
        const size_t count = (below + FAN - 1) / FAN;
        double *const low = r->lows[level] = malloc(count * sizeof *low);
        double *const high = r->highs[level] = malloc(count * sizeof *high);
        if (!low || !high) return false;
        for (size_t i = 0; i < below; i++) {
            const double l = level ? r->lows[level - 1][i] : r->items[i].value;
            const double h = level ? r->highs[level - 1][i] : r->items[i].value;
            if (i % FAN == 0)
                low[i / FAN] = l, high[i / FAN] = h;
            else
                widen(&low[i / FAN], &high[i / FAN], l, h);
        }
        below = count;
    }
    return true;
}

bool scene_row_finish(strip *r)
{
    free_pyramid(r);
    r->pub.count = r->count;
    if (!r->count) return true;
    if (!r->samples) return make_sums(r) && make_longest(r);
    if (!make_ranges(r)) return false;
    scene_row_range(r, 0, r->count, &r->pub.low, &r->pub.high);
    return true;
}

/* ---- Looking up ---------------------------------------------------------- */

size_t scene_row_before(const strip *r, int64_t time_ns, size_t least)
{
    size_t low = least, step = 1;
    while (low + step <= r->count &&
           r->items[low + step - 1].start_ns < time_ns)
        low += step, step *= 2;
    size_t high = low + step < r->count ? low + step : r->count;
    while (low < high)
        cli_halve(&low, &high,
                  r->items[cli_middle(low, high)].start_ns < time_ns);
    return low;
}

int64_t scene_row_covered(const strip *r, int64_t time_ns, size_t count)
{
    int64_t sum = r->sums[count / FAN];
    for (size_t i = count / FAN * FAN; i < count; i++)
        sum += scene_item_ns(&r->items[i]);
    if (count && r->items[count - 1].end_ns > time_ns)
        sum -= r->items[count - 1].end_ns - time_ns;
    return sum;
}

size_t scene_row_longest(const strip *r, size_t from, size_t to)
{
    uint32_t best = (uint32_t)from;
    int level = -1; // of the items themselves
    for (;;) {
        const uint32_t *const here = level < 0 ? NULL : r->longest[level];
        const bool top = level + 1 >= LEVELS || !r->longest[level + 1];
        while (from < to && (top || from % FAN))
            best = longer(r, best, here ? here[from] : (uint32_t)from), from++;
        while (from < to && to % FAN)
            to--, best = longer(r, best, here ? here[to] : (uint32_t)to);
        if (from >= to) return best;
        from /= FAN;
        to /= FAN;
        level++;
    }
}

void scene_row_range(const strip *r, size_t from, size_t to, double *low,
                     double *high)
{
    *low = *high = r->items[from].value;
    for (int level = -1;; level++) {
        const bool top = level + 1 >= LEVELS || !r->lows[level + 1];
#define AT(array, i) (level < 0 ? r->items[i].value : r->array[level][i])
        while (from < to && (top || from % FAN))
            widen(low, high, AT(lows, from), AT(highs, from)), from++;
        while (from < to && to % FAN)
            to--, widen(low, high, AT(lows, to), AT(highs, to));
#undef AT
        if (from >= to) return;
        from /= FAN;
        to /= FAN;
    }
}
