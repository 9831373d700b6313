/*
    diff.c - which elements of two sequences correspond

    Myers, "An O(ND) Difference Algorithm and Its Variations" (1986), section
    4b: a search from both ends finds a point in the middle of a shortest path,
    which takes linear space, and splits the problem there. If the sequences
    differ so much that this takes long, the split is at the best point reached
    so far: the result is still correct, but perhaps not the shortest.
*/
#include "tools/replay/verify/verify.h"

// The most differences in one search; its time grows with the square.
enum { BOUND_SHORT = 2048, BOUND_LONG = 256, SHORT = 65536 };

typedef struct diff {
    const uint32_t *a, *b;       // without elements that the other lacks
    const uint32_t *a_at, *b_at; // original positions
    bool *only_a, *only_b;
    // The furthest x on each diagonal x - y, from the start and from the end;
    // indexed by the diagonal, which may be negative.
    int64_t *ahead, *back;
    int64_t bound;
} diff;

typedef struct diff_box { // a[a0, a1) against b[b0, b1)
    int64_t a0, a1, b0, b1;
} diff_box;

typedef struct point {
    int64_t x, y;
} point;

typedef struct diff_band { // diagonals under search, every second one
    int64_t low, high;
} diff_band;

// Widens a band by one on both sides; outside of the box it shrinks instead.
// Neighbours of the band get a value that is never chosen.
static void widen(diff_band *band, int64_t *furthest, const diff_box *box,
                  int64_t loser)
{
    if (band->low > box->a0 - box->b1)
        furthest[--band->low - 1] = loser;
    else
        band->low++;
    if (band->high < box->a1 - box->b0)
        furthest[++band->high + 1] = loser;
    else
        band->high--;
}

// Extends the search from the start by one difference. True if the two searches
// overlap.
static bool step_ahead(const diff *d, const diff_box *box,
                       const diff_band *mine, const diff_band *other, bool odd,
                       point *middle)
{
    for (int64_t k = mine->high; k >= mine->low; k -= 2) {
        const int64_t right = d->ahead[k - 1] + 1, down = d->ahead[k + 1];
        int64_t x = right > down ? right : down, y = x - k;
        for (; x < box->a1 && y < box->b1 && d->a[x] == d->b[y]; x++)
            y++;
        d->ahead[k] = x;
        if (!odd || k < other->low || k > other->high || d->back[k] > x)
            continue;
        middle->x = x;
        middle->y = y;
        return true;
    }
    return false;
}

static bool step_back(const diff *d, const diff_box *box, const diff_band *mine,
                      const diff_band *other, bool odd, point *middle)
{
    for (int64_t k = mine->high; k >= mine->low; k -= 2) {
        const int64_t up = d->back[k - 1], left = d->back[k + 1] - 1;
        int64_t x = up < left ? up : left, y = x - k;
        for (; x > box->a0 && y > box->b0 && d->a[x - 1] == d->b[y - 1]; x--)
            y--;
        d->back[k] = x;
        if (odd || k < other->low || k > other->high || d->ahead[k] < x)
            continue;
        middle->x = x;
        middle->y = y;
        return true;
    }
    return false;
}

// The point of both searches that is furthest from its start.
static point best_so_far(const diff *d, const diff_box *box,
                         const diff_band *ahead, const diff_band *back)
{
    point from_start = { box->a0, box->b0 }, from_end = { box->a1, box->b1 };
    for (int64_t k = ahead->high; k >= ahead->low; k -= 2) {
        point p = { d->ahead[k], d->ahead[k] - k };
        if (p.x <= box->a1 && p.y <= box->b1 &&
            p.x + p.y > from_start.x + from_start.y)
            from_start = p;
    }
    for (int64_t k = back->high; k >= back->low; k -= 2) {
        point p = { d->back[k], d->back[k] - k };
        if (p.x >= box->a0 && p.y >= box->b0 &&
            p.x + p.y < from_end.x + from_end.y)
            from_end = p;
    }
    const int64_t done = from_start.x - box->a0 + from_start.y - box->b0;
    const int64_t left = box->a1 - from_end.x + box->b1 - from_end.y;
    return done >= left ? from_start : from_end;
}

// A point of a shortest path within the box, or of a nearly shortest one.
static point split(const diff *d, const diff_box *box)
{
    const int64_t first = box->a0 - box->b0, last = box->a1 - box->b1;
    const bool odd = (first - last) % 2 != 0;
    diff_band ahead = { first, first }, back = { last, last };
    point middle = { box->a0, box->b0 };
    d->ahead[first] = box->a0;
    d->back[last] = box->a1;
    for (int64_t cost = 1; cost <= d->bound; cost++) {
        widen(&ahead, d->ahead, box, -1);
        if (step_ahead(d, box, &ahead, &back, odd, &middle)) return middle;
        widen(&back, d->back, box, INT64_MAX);
        if (step_back(d, box, &back, &ahead, odd, &middle)) return middle;
    }
    return best_so_far(d, box, &ahead, &back);
}

// Recurses into the smaller part and loops over the larger one, so that the
// recursion is shallow.
static void compare(const diff *d, diff_box box)
{
    for (;;) {
        while (box.a0 < box.a1 && box.b0 < box.b1 &&
               d->a[box.a0] == d->b[box.b0])
            box.a0++, box.b0++;
        while (box.a0 < box.a1 && box.b0 < box.b1 &&
               d->a[box.a1 - 1] == d->b[box.b1 - 1])
            box.a1--, box.b1--;
        if (box.a0 == box.a1 || box.b0 == box.b1) break;
        const point at = split(d, &box);
        diff_box first = box, second = box;
        first.a1 = second.a0 = at.x;
        first.b1 = second.b0 = at.y;
        const bool first_is_small =
            at.x - box.a0 + at.y - box.b0 < box.a1 - at.x + box.b1 - at.y;
        compare(d, first_is_small ? first : second);
        box = first_is_small ? second : first;
    }
    for (; box.a0 < box.a1; box.a0++)
        d->only_a[d->a_at[box.a0]] = true;
    for (; box.b0 < box.b1; box.b0++)
        d->only_b[d->b_at[box.b0]] = true;
}

/*
    Removes elements that the other side does not have at all: no common
    subsequence has them, and very different traces become cheap. `values` and
    `at` have room for `count` elements. Returns the number of the others.
*/
static int64_t keep_common(const uint32_t *from, uint32_t count,
                           const uint8_t *sides, uint32_t *values, uint32_t *at,
                           bool *only)
{
    int64_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        only[i] = sides[from[i]] != 3;
        if (only[i]) continue;
        values[kept] = from[i];
        at[kept++] = i;
    }
    return kept;
}

static uint32_t limit_of(const uint32_t *values, uint32_t count, uint32_t limit)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] >= limit) limit = values[i] + 1;
    return limit;
}

bool verify_diff(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                 uint32_t b_count, bool *only_a, bool *only_b)
{
    const size_t all = (size_t)a_count + b_count;
    const uint32_t limit = limit_of(b, b_count, limit_of(a, a_count, 0));
    uint8_t *const sides = calloc((size_t)limit + 1, 1);
    uint32_t *const kept = malloc((2 * all + 1) * sizeof *kept);
    int64_t *const diagonals = malloc(2 * (all + 3) * sizeof *diagonals);
    const bool memory = sides && kept && diagonals;
    if (memory) {
        for (uint32_t i = 0; i < a_count; i++)
            sides[a[i]] |= 1;
        for (uint32_t i = 0; i < b_count; i++)
            sides[b[i]] |= 2;
        diff_box box = { 0, 0, 0, 0 };
        uint32_t *const b_kept = kept + 2 * (size_t)a_count;
        box.a1 = keep_common(a, a_count, sides, kept, kept + a_count, only_a);
        box.b1 =
            keep_common(b, b_count, sides, b_kept, b_kept + b_count, only_b);
        const diff d = { .a = kept,
                         .a_at = kept + a_count,
                         .b = b_kept,
                         .b_at = b_kept + b_count,
                         .only_a = only_a,
                         .only_b = only_b,
                         .ahead = diagonals + b_count + 1,
                         .back = diagonals + all + 3 + b_count + 1,
                         .bound = all < SHORT ? BOUND_SHORT : BOUND_LONG };
        compare(&d, box);
    }
    free(sides);
    free(kept);
    free(diagonals);
    return memory;
}
