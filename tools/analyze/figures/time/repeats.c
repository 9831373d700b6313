/*
    repeats.c - repeated sequences of tokens

    For each length, the longest first: all windows of that length go into a
    hash table (rolling hashes; tokens are compared). Those that occur often
    enough, the most frequent first, take their places, unless a token there is
    already taken.

    A long window occurs at most as often as each short one inside of it. So
    those of SHORT tokens are counted first, and longer ones only looked at
    where all short ones in them are frequent enough.
*/
#include "tools/analyze/figures/time/patterns.h"

enum { SHORT = 4 };

typedef struct window { // a set of equal windows
    uint64_t hash;
    size_t first, last_end; // place of the first; end of the last one counted
    uint32_t count;         // without overlapping ones
    uint32_t all;           // with overlapping ones
    size_t places;          // index of its first place in `order`
} window;

typedef struct repeats_search {
    patterns_repeats *r;
    const uint32_t *tokens;
    size_t count, length;
    uint64_t *hashes; // hash of all tokens before each place
    uint64_t power;
    uint32_t *reach; // tokens from each place on without a break or a taken one
    // Places from each place on where the window of SHORT tokens is frequent.
    uint32_t *frequent;
    window *windows;
    size_t window_count, window_room;
    cli_index index; // windows by hash
    uint32_t *of;    // window by place, plus 1
    size_t *order;   // places by window
    window **ranked;
} repeats_search;

static const uint64_t multiplier = UINT64_C(0x9E3779B97F4A7C15);

static uint64_t hash_at(const repeats_search *s, size_t place)
{
    return s->hashes[place + s->length] - s->hashes[place] * s->power;
}

static bool same(const repeats_search *s, size_t a, size_t b)
{
    return !memcmp(s->tokens + a, s->tokens + b, s->length * sizeof *s->tokens);
}

// Returns the window with the tokens at a place; CLI_NONE if memory runs out.
static uint32_t window_of(repeats_search *s, size_t place)
{
    const uint64_t hash = hash_at(s, place);
    const uint64_t key = cli_hash_join(hash, 0);
    uint32_t at;
    for (size_t i = 0; (at = cli_index_next(&s->index, key, &i)) != CLI_NONE;)
        if (s->windows[at].hash == hash && same(s, s->windows[at].first, place))
            return at;
    if (!cli_grow(&s->windows, &s->window_room, s->window_count + 1,
                  sizeof *s->windows) ||
        !cli_index_add(&s->index, key, (uint32_t)s->window_count))
        return CLI_NONE;
    s->windows[s->window_count] = (window){ hash, place, 0, 0, 0, 0 };
    return (uint32_t)s->window_count++;
}

static bool add_window(repeats_search *s, size_t place)
{
    const uint32_t at = window_of(s, place);
    if (at == CLI_NONE) return false;
    window *const w = &s->windows[at];
    s->of[place] = at + 1;
    w->all++;
    if (w->count && place < w->last_end) return true;
    w->last_end = place + s->length;
    w->count++;
    return true;
}

// Whether a window is a shorter sequence repeated at least twice. Two equal
// tokens are the shortest case.
static bool is_periodic(const repeats_search *s, size_t place)
{
    if (s->length == 2) return false;
    const uint32_t *const t = s->tokens + place;
    for (size_t period = 1; period <= s->length / 2; period++)
        if (!memcmp(t, t + period, (s->length - period) * sizeof *t))
            return true;
    return false;
}

static int frequent_first(const void *left, const void *right)
{
    const window *const a = *(window *const *)left;
    const window *const b = *(window *const *)right;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->first > b->first) - (a->first < b->first);
}

/* ---- Taking places ------------------------------------------------------- */

static bool add_place(patterns_repeats *r, size_t place)
{
    if (!cli_grow(&r->places, &r->place_room, r->place_count + 1,
                  sizeof *r->places))
        return false;
    r->places[r->place_count++] = place;
    return true;
}

static bool add_repeat(patterns_repeats *r, size_t length, size_t first)
{
    if (!cli_grow(&r->list, &r->room, r->count + 1, sizeof *r->list))
        return false;
    const patterns_repeat repeat = { length, r->place_count - first, first };
    r->list[r->count++] = repeat;
    return true;
}

// Takes a place. Sequences that would continue into it end before it.
static void take(repeats_search *s, size_t place)
{
    for (size_t i = 0; i < s->length; i++)
        s->reach[place + i] = 0;
    for (uint32_t i = 1; place >= i && s->reach[place - i] > i; i++)
        s->reach[place - i] = i;
}

static bool take_window(repeats_search *s, const window *w)
{
    patterns_repeats *const r = s->r;
    const size_t first = r->place_count;
    size_t end = 0;
    for (uint32_t i = 0; i < w->all; i++) {
        const size_t place = s->order[w->places + i];
        if (s->reach[place] < s->length || place < end) continue;
        if (!add_place(r, place)) return false;
        end = place + s->length;
    }
    if (r->place_count - first < PATTERNS_LEAST) {
        r->place_count = first;
        return true;
    }
    for (size_t i = first; i < r->place_count; i++)
        take(s, r->places[i]);
    return add_repeat(r, s->length, first);
}

// Lists the places of each window, then takes the most frequent windows first.
static bool take_windows(repeats_search *s)
{
    size_t sum = 0, ranked = 0;
    for (size_t i = 0; i < s->window_count; i++) {
        window *const w = &s->windows[i];
        w->places = sum;
        sum += w->all;
        w->all = 0;
        if (w->count >= PATTERNS_LEAST && !is_periodic(s, w->first))
            s->ranked[ranked++] = w;
    }
    for (size_t i = 0; i < s->count; i++) {
        if (!s->of[i]) continue;
        window *const w = &s->windows[s->of[i] - 1];
        s->order[w->places + w->all++] = i;
    }
    if (ranked) qsort(s->ranked, ranked, sizeof *s->ranked, frequent_first);
    for (size_t i = 0; i < ranked; i++)
        if (!take_window(s, s->ranked[i])) return false;
    return true;
}

static bool may_repeat(const repeats_search *s, size_t place)
{
    return s->length < SHORT || s->frequent[place] > s->length - SHORT;
}

// Lists the windows of a length.
static bool list_windows(repeats_search *s, size_t length)
{
    s->length = length;
    s->power = 1;
    for (size_t i = 0; i < length; i++)
        s->power *= multiplier;
    s->window_count = 0;
    cli_index_clear(&s->index);
    for (size_t i = 0; i < s->count; i++) {
        s->of[i] = 0;
        if (s->reach[i] >= length && may_repeat(s, i) && !add_window(s, i))
            return false;
    }
    return true;
}

// Sets `frequent`, which is UINT32_MAX before.
static bool find_frequent(repeats_search *s)
{
    if (!list_windows(s, SHORT)) return false;
    uint32_t next = 0;
    for (size_t i = s->count; i-- > 0; s->frequent[i] = next)
        next = s->of[i] && s->windows[s->of[i] - 1].all >= PATTERNS_LEAST
                   ? next + (next < UINT32_MAX)
                   : 0;
    return true;
}

static bool find_length(repeats_search *s, size_t length)
{
    if (!list_windows(s, length)) return false;
    s->ranked = malloc((s->window_count + 1) * sizeof *s->ranked);
    const bool ok = s->ranked && take_windows(s);
    free(s->ranked);
    return ok;
}

static bool search(repeats_search *s, const bool *breaks)
{
    static const size_t lengths[] = {
        PATTERNS_LONGEST, 24, 16, 12, 10, 8, 7, 6, 5, 4, 3, 2
    };
    s->hashes[0] = 0;
    for (size_t i = 0; i < s->count; i++)
        s->hashes[i + 1] = s->hashes[i] * multiplier + s->tokens[i] + 1;
    for (size_t i = s->count; i-- > 0;)
        s->reach[i] = i + 1 == s->count || breaks[i + 1] ? 1
                      : s->reach[i + 1] < UINT32_MAX     ? s->reach[i + 1] + 1
                                                         : UINT32_MAX;
    if (!find_frequent(s)) return false;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (!find_length(s, lengths[i])) return false;
    return true;
}

bool patterns_repeats_find(patterns_repeats *r, const uint32_t *tokens,
                           const bool *breaks, size_t count)
{
    repeats_search s = { .r = r, .tokens = tokens, .count = count };
    memset(r, 0, sizeof *r);
    s.hashes = malloc((count + 1) * sizeof *s.hashes);
    s.reach = malloc((count + 1) * sizeof *s.reach);
    s.frequent = malloc((count + 1) * sizeof *s.frequent);
    if (s.frequent) memset(s.frequent, 0xFF, count * sizeof *s.frequent);
    s.of = malloc((count + 1) * sizeof *s.of);
    s.order = malloc((count + 1) * sizeof *s.order);
    const bool ok = s.hashes && s.reach && s.frequent && s.of && s.order &&
                    search(&s, breaks);
    free(s.hashes);
    free(s.reach);
    free(s.frequent);
    free(s.of);
    free(s.order);
    free(s.windows);
    cli_index_close(&s.index);
    return ok;
}

void patterns_repeats_close(patterns_repeats *r)
{
    free(r->list);
    free(r->places);
    memset(r, 0, sizeof *r);
}
