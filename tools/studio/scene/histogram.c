/*
    histogram.c - how long the boxes of a name are
*/
#include "tools/studio/scene/survey.h"

// Counts by duration, for percentiles: exact ones below 2 FINE ns, and FINE for
// each power of two above.
enum {
    FINE = 1024,
    FINE_BITS = 10,
    COUNTS = (62 - FINE_BITS) * FINE + 2 * FINE
};

typedef struct lengths {
    scene_histogram h;
    uint64_t counts[COUNTS];
} lengths;

// The bin of a duration: eight for each power of two, exact ones below.
static uint32_t bin_of(int64_t ns)
{
    const uint64_t n = ns < 0 ? 0 : (uint64_t)ns;
    if (n < 16) return (uint32_t)n;
    const uint32_t power = 63 - (uint32_t)__builtin_clzll(n);
    return 8 * power - 16 + (uint32_t)(n >> (power - 3) & 7);
}

int64_t scene_bin_ns(uint32_t bin)
{
    if (bin < 16) return bin;
    const uint32_t power = (bin + 16) / 8;
    return (int64_t)((UINT64_C(8) + (bin & 7)) << (power - 3));
}

static uint32_t fine_of(int64_t ns)
{
    const uint64_t n = ns < 0 ? 0 : (uint64_t)ns;
    if (n < 2 * FINE) return (uint32_t)n;
    const uint32_t shift = 63 - (uint32_t)__builtin_clzll(n) - FINE_BITS;
    return shift * FINE + (uint32_t)(n >> shift);
}

static int64_t fine_ns(uint32_t fine)
{
    const uint32_t shift = fine < 2 * FINE ? 0 : fine / FINE - 1;
    return (int64_t)(fine - shift * FINE) << shift;
}

static bool lengths_open(survey *q)
{
    return (q->result = calloc(1, sizeof(lengths))) != NULL;
}

static void lengths_close(survey *q)
{
    free(q->result);
}

static bool lengths_take(survey *q, survey_track *t, uint32_t lane,
                         const scene_item *item)
{
    lengths *const l = q->result;
    const int64_t ns = scene_item_ns(item);
    if (item->label != q->what || t->lanes[lane].row == CLI_NONE) return true;
    scene_histogram *const h = &l->h;
    if (!h->count || ns < h->least_ns) h->least_ns = ns;
    if (!h->count || ns > h->most_ns) h->most_ns = ns;
    h->count++;
    scene_add_ns(&h->total_ns, ns);
    l->counts[fine_of(ns)]++;
    scene_bin *const bin = &h->bins[bin_of(ns)];
    const int64_t most = scene_item_ns(&bin->longest);
    if (!bin->count || ns > most ||
        (ns == most && item->ref < bin->longest.ref)) {
        bin->longest = *item;
        bin->row = t->lanes[lane].row;
    }
    bin->count++;
    scene_add_ns(&bin->total_ns, ns);
    return true;
}

const survey_kind survey_histogram = { lengths_open, NULL, lengths_take,
                                       lengths_close };

// The least that is not below a share of all, in thousandths.
static int64_t at_share(const lengths *l, uint64_t share)
{
    uint64_t left =
        l->h.count / 1000 * share + (l->h.count % 1000 * share + 999) / 1000;
    uint32_t i = 0;
    for (; i + 1 < COUNTS && l->counts[i] < left; i++)
        left -= l->counts[i];
    return fine_ns(i) < l->h.least_ns ? l->h.least_ns : fine_ns(i);
}

ts_result scene_histogram_of(scene *s, scene_histogram *h, uint32_t label,
                             const uint32_t *rows, size_t row_count,
                             int64_t from_ns, int64_t to_ns)
{
    scene_share share;
    memset(h, 0, sizeof *h);
    const survey_question question = { .slot = SURVEY_HISTOGRAM,
                                       .kind = &survey_histogram,
                                       .what = label,
                                       .rows = rows,
                                       .row_count = row_count,
                                       .from_ns = from_ns,
                                       .to_ns = to_ns };
    const survey *const q = scene_survey(s, &question, &share);
    if (!q) return TS_ERR_MEMORY;
    const lengths *const l = q->result;
    *h = l->h;
    h->share = share;
    if (!h->count) return TS_OK;
    h->p50_ns = at_share(l, 500);
    h->p90_ns = at_share(l, 900);
    h->p99_ns = at_share(l, 990);
    return TS_OK;
}
