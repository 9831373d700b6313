/*
    period.c - the outermost loop in a sequence of tokens

    Runs of WIDTH tokens ("grams") are numbered. A gram that occurs once in each
    iteration occurs as often as there are iterations, at even distances. Of
    such grams the rarest belong to the outermost loop. The contents of its
    iterations then decide whether it is a loop.
*/
#include "tools/analyze/figures/time/period.h"

enum { WIDTH_MOST = 4, TRIES = 64 };
enum { ALIKE = 800, HALF_ALIKE = 600 }; // per mille of the tokens

typedef struct period_gram {
    uint32_t count;
    size_t first; // index of its first place
    int64_t weight;
    size_t distance; // median distance, of evenly spaced grams
    bool even;
} period_gram;

typedef struct period_search {
    const uint32_t *tokens;
    const int64_t *weights;
    size_t count; // number of tokens
    uint32_t token_limit;
    uint32_t *ids; // gram by place
    period_gram *grams;
    size_t gram_count;
    size_t *places;          // places by gram, sorted
    size_t *distances;       // temporary
    uint32_t *have, *median; // tokens of an iteration; of the median iteration
} period_search;

/* ---- Grams --------------------------------------------------------------- */

// Numbers the pairs of ids at places i and i + step. Equal pairs get equal
// numbers.
static bool number_pairs(uint32_t *ids, size_t count, size_t step,
                         size_t *id_count)
{
    cli_map pairs = { 0 };
    bool ok = true;
    for (size_t i = 0; ok && i + step < count; i++) {
        const uint64_t pair = (uint64_t)ids[i] << 32 | ids[i + step];
        uint64_t *const id = cli_map_at(&pairs, pair); // plus 1
        ok = id;
        if (!ok) break;
        if (!*id) *id = pairs.count;
        ids[i] = (uint32_t)*id - 1;
    }
    *id_count = pairs.count;
    cli_map_close(&pairs);
    return ok;
}

// Makes the grams of `width` tokens, a power of two, and lists the places of
// each.
static bool make_grams(period_search *s, size_t width)
{
    const size_t count = s->count - width + 1;
    s->gram_count = s->token_limit;
    memcpy(s->ids, s->tokens, s->count * sizeof *s->ids);
    for (size_t w = 1; w < width; w *= 2)
        if (!number_pairs(s->ids, s->count - w + 1, w, &s->gram_count))
            return false;
    free(s->grams);
    s->grams = calloc(s->gram_count + 1, sizeof *s->grams);
    if (!s->grams) return false;
    for (size_t i = 0; i < count; i++)
        s->grams[s->ids[i]].count++;
    size_t sum = 0;
    for (size_t g = 0; g < s->gram_count; g++) {
        s->grams[g].first = sum;
        sum += s->grams[g].count;
        s->grams[g].count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        period_gram *const g = &s->grams[s->ids[i]];
        s->places[g->first + g->count++] = i;
        if (s->weights) g->weight += s->weights[i];
    }
    return true;
}

static int smaller_first(const void *left, const void *right)
{
    const size_t a = *(const size_t *)left, b = *(const size_t *)right;
    return (a > b) - (a < b);
}

// Returns the median distance of a gram's places.
static size_t distance_of(const period_search *s, const period_gram *g)
{
    const size_t n = g->count - 1;
    for (size_t i = 0; i < n; i++)
        s->distances[i] = s->places[g->first + i + 1] - s->places[g->first + i];
    qsort(s->distances, n, sizeof *s->distances, smaller_first);
    return s->distances[n / 2];
}

// Whether a gram occurs at even distances that cover half of the sequence.
static bool is_even(const period_search *s, period_gram *g)
{
    if (g->count < PERIOD_LEAST) return false;
    // A few places close together cannot cover it.
    const size_t reach =
        s->places[g->first + g->count - 1] - s->places[g->first];
    if (reach + reach / (g->count - 1) < s->count / 2) return false;
    const size_t middle = g->distance = distance_of(s, g);
    size_t even = 0;
    for (size_t i = 0; i + 1 < g->count; i++)
        even += s->distances[i] >= middle - middle / 5 &&
                s->distances[i] <= middle + middle / 5;
    return even * 5 >= (size_t)(g->count - 1) * 4 &&
           (even + 1) * middle * 2 >= s->count;
}

/* ---- Iterations ---------------------------------------------------------- */

static void count_tokens(const period_search *s, size_t from, size_t to,
                         uint32_t *counts, int by)
{
    for (size_t i = from; i < to; i++)
        counts[s->tokens[i]] += (uint32_t)by;
}

// Returns the per mille of the longer of two iterations that both share.
static size_t likeness_of(const period_search *s, size_t from, size_t to,
                          size_t middle, size_t middle_end)
{
    size_t shared = 0;
    for (size_t i = from; i < to; i++)
        if (++s->have[s->tokens[i]] <= s->median[s->tokens[i]]) shared++;
    for (size_t i = from; i < to; i++)
        s->have[s->tokens[i]] = 0;
    const size_t a = to - from, b = middle_end - middle;
    const size_t longer = a > b ? a : b;
    return longer ? shared * 1000 / longer : 0;
}

// Returns the end of the last iteration, if it is complete.
static size_t last_end(const period_search *s, size_t start, size_t length)
{
    const size_t left = s->count - start;
    if (left * 10 < length * 9) return 0;
    return left < length + length / 5 ? s->count : start + length;
}

// Removes iterations at both ends that differ from the median one.
static void trim_iterations(period *p, size_t *likes)
{
    size_t first = 0;
    while (p->count && likes[p->count - 1] < ALIKE)
        p->count--;
    while (first < p->count && likes[first] < ALIKE)
        first++;
    p->count -= first;
    memmove(p->starts, p->starts + first, (p->count + 1) * sizeof *p->starts);
    memmove(likes, likes + first, p->count * sizeof *likes);
}

// Keeps the iterations that resemble a given one; none if these are too few.
static void judge_iterations(const period_search *s, period *p, size_t middle)
{
    const size_t from = p->starts[middle], to = p->starts[middle + 1];
    size_t *const likes = s->distances;
    count_tokens(s, from, to, s->median, 1);
    for (size_t i = 0; i < p->count; i++)
        likes[i] = likeness_of(s, p->starts[i], p->starts[i + 1], from, to);
    count_tokens(s, from, to, s->median, -1);
    trim_iterations(p, likes);
    if (p->count) {
        qsort(likes, p->count, sizeof *likes, smaller_first);
        p->likeness = (uint32_t)likes[p->count / 2];
        // One iteration in ten may differ completely.
        if (p->likeness < ALIKE || likes[p->count / 10] < HALF_ALIKE)
            p->count = 0;
    }
    if (p->count < PERIOD_LEAST) p->count = 0;
}

static bool take_iterations(const period_search *s, const period_gram *g,
                            period *p)
{
    const size_t length = distance_of(s, g);
    size_t *const starts = malloc((g->count + 1) * sizeof *starts);
    if (!starts) return false;
    memcpy(starts, s->places + g->first, g->count * sizeof *starts);
    const size_t end = last_end(s, starts[g->count - 1], length);
    starts[g->count] = end;
    free(p->starts);
    p->starts = starts;
    p->count = end ? g->count : g->count - 1;
    p->length = length;
    judge_iterations(s, p, (g->count - 1) / 2);
    return true;
}

/* ---- Search -------------------------------------------------------------- */

static bool find_even(period_search *s, size_t width)
{
    if (!make_grams(s, width)) return false;
    for (size_t g = 0; g < s->gram_count; g++)
        s->grams[g].even = is_even(s, &s->grams[g]);
    return true;
}

// Returns the first of the rarest even grams with more than `more_than` places.
static const period_gram *next_gram(const period_search *s, uint32_t more_than)
{
    const period_gram *best = NULL;
    for (size_t i = 0; i < s->gram_count; i++) {
        const period_gram *const g = &s->grams[i];
        if (!g->even || g->count <= more_than) continue;
        if (!best || g->count < best->count ||
            (g->count == best->count &&
             s->places[g->first] < s->places[best->first]))
            best = g;
    }
    return best;
}

// Whether a gram is a better start of iterations.
static bool is_better(const period_search *s, const period_gram *g,
                      const period_gram *than)
{
    if (!than) return true;
    if (g->weight != than->weight) return g->weight > than->weight;
    if (g->count != than->count) return g->count > than->count;
    return s->places[g->first] < s->places[than->first];
}

// Starts the iterations of a known loop at the best token that occurs once in
// each, if there is one.
static bool begin_well(period_search *s, period *p)
{
    const period_gram *best = NULL;
    period better = { 0 };
    if (!find_even(s, 1)) return false;
    for (size_t i = 0; i < s->gram_count; i++) {
        const period_gram *const g = &s->grams[i];
        if (g->even && g->count >= p->count &&
            g->distance >= p->length - p->length / 10 &&
            g->distance <= p->length + p->length / 10 && is_better(s, g, best))
            best = g;
    }
    if (!best) return true;
    const bool ok = take_iterations(s, best, &better);
    if (ok && better.count >= p->count) {
        period_close(p);
        *p = better;
    } else {
        period_close(&better);
    }
    return ok;
}

// Returns the offset into the iterations at which the sequence pauses most,
// among those at which the iterations agree.
static size_t best_shift(const period_search *s, const period *p)
{
    const size_t *const middle = &p->starts[p->count / 2];
    size_t best = 0;
    int64_t most = -1;
    for (size_t d = 0; d < middle[1] - middle[0]; d++) {
        size_t all = 0, same = 0;
        int64_t weight = 0;
        for (size_t i = 0; i <= p->count; i++) {
            const size_t place = p->starts[i] + d;
            if (place >= s->count) break;
            all++;
            if (s->tokens[place] != s->tokens[middle[0] + d]) continue;
            same++;
            weight += s->weights[place];
        }
        if (same * 5 < all * 4 || weight <= most) continue;
        most = weight;
        best = d;
    }
    return best;
}

// Moves the start of the iterations to the pauses, and extends them to both
// ends.
static bool shift_iterations(const period_search *s, period *p)
{
    const size_t shift = best_shift(s, p), length = p->length;
    const size_t room = p->count + s->count / length + 4;
    size_t *const starts = malloc(room * sizeof *starts);
    size_t count = 0;
    if (!starts) return false;
    size_t first = p->starts[0] + shift;
    while (first >= length) // iterations before it, from the last one on
        first -= length;
    if (first * 10 >= length * 9) starts[count++] = 0;
    for (; first < p->starts[0] + shift; first += length)
        starts[count++] = first;
    const size_t middle = count + p->count / 2;
    for (size_t i = 0; i <= p->count; i++)
        if (p->starts[i] + shift < s->count)
            starts[count++] = p->starts[i] + shift;
    while (s->count - starts[count - 1] >= length + length / 5) {
        starts[count] = starts[count - 1] + length;
        count++;
    }
    const size_t end = last_end(s, starts[count - 1], length);
    starts[count] = end;
    period laid = { end ? count : count - 1, starts, length, 0 };
    if (middle < laid.count) judge_iterations(s, &laid, middle);
    const bool better = middle < count && laid.count >= p->count;
    period_close(better ? p : &laid);
    if (better) *p = laid;
    return true;
}

static bool search(period_search *s, period *p)
{
    for (size_t width = WIDTH_MOST; width && !p->count; width /= 2) {
        if (s->count < width * PERIOD_LEAST) continue;
        if (!find_even(s, width)) return false;
        uint32_t tried = 0;
        for (int i = 0; i < TRIES && !p->count; i++) {
            const period_gram *const g = next_gram(s, tried);
            if (!g) break;
            tried = g->count;
            if (!take_iterations(s, g, p)) return false;
        }
    }
    return !p->count ||
           (begin_well(s, p) && (!s->weights || shift_iterations(s, p)));
}

bool period_find(period *p, const uint32_t *tokens, const int64_t *weights,
                 size_t count, uint32_t token_limit)
{
    period_search s = { .tokens = tokens,
                        .weights = weights,
                        .count = count,
                        .token_limit = token_limit };
    memset(p, 0, sizeof *p);
    s.ids = malloc((count + 1) * sizeof *s.ids);
    s.places = malloc((count + 1) * sizeof *s.places);
    s.distances = malloc((count + 1) * sizeof *s.distances);
    s.have = calloc((size_t)token_limit + 1, sizeof *s.have);
    s.median = calloc((size_t)token_limit + 1, sizeof *s.median);
    const bool ok =
        s.ids && s.places && s.distances && s.have && s.median && search(&s, p);
    free(s.ids);
    free(s.places);
    free(s.distances);
    free(s.have);
    free(s.median);
    free(s.grams);
    return ok;
}

void period_close(period *p)
{
    free(p->starts);
    memset(p, 0, sizeof *p);
}
