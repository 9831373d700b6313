/*
    sets.c - sets of numbers and of time spans
*/
#include "tools/cut/cut.h"
#include "tools/cli/search.h"

/* ---- Numbers ------------------------------------------------------------- */

static bool add_page(cut_set *set, uint64_t number)
{
    uint64_t *const bits = calloc(CUT_PAGE / 64, sizeof *bits);
    if (!bits ||
        !cli_grow(&set->pages, &set->room, set->count + 1,
                  sizeof *set->pages) ||
        !cli_map_set(&set->index, number, set->count)) {
        free(bits);
        return false;
    }
    set->pages[set->count++] = bits;
    return true;
}

// Caches the last page, because lookups tend to be of neighbours.
static uint64_t *page_of(cut_set *set, uint64_t number)
{
    if (!set->count) return NULL;
    if (set->last_number != number || set->last == CLI_NONE) {
        set->last_number = number;
        set->last = cli_map_row(&set->index, number);
    }
    return set->last == CLI_NONE ? NULL : set->pages[set->last];
}

void cut_set_add(cut_set *set, uint64_t value)
{
    const uint64_t number = value / CUT_PAGE;
    if (!page_of(set, number) && !add_page(set, number)) {
        set->no_memory = true;
        return;
    }
    page_of(set, number)[value % CUT_PAGE / 64] |= UINT64_C(1) << value % 64;
}

bool cut_set_has(cut_set *set, uint64_t value)
{
    const uint64_t *const bits = page_of(set, value / CUT_PAGE);
    return bits && bits[value % CUT_PAGE / 64] >> value % 64 & 1;
}

void cut_set_close(cut_set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->pages[i]);
    free(set->pages);
    cli_map_close(&set->index);
    *set = (cut_set){ 0 };
}

/* ---- Decisions ----------------------------------------------------------- */

enum { MEMO_MOST = 1 << 24 };

bool cut_memo_get(const cut_memo *memo, uint32_t number, bool *yes)
{
    if (number >= memo->size || !memo->known[number]) return false;
    *yes = memo->known[number] == 2;
    return true;
}

void cut_memo_put(cut_memo *memo, uint32_t number, bool yes)
{
    if (number >= MEMO_MOST) return;
    if (number >= memo->size) {
        uint32_t size = memo->size ? memo->size : 1024;
        while (size <= number)
            size *= 2;
        uint8_t *const more = realloc(memo->known, size);
        if (!more) return; // no memory: the answer is computed again
        memset(more + memo->size, 0, size - memo->size);
        memo->known = more;
        memo->size = size;
    }
    memo->known[number] = yes ? 2 : 1;
}

/* ---- Times --------------------------------------------------------------- */

static int by_time(const void *left, const void *right)
{
    const cut_span *const a = left, *const b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

void cut_spans_add(cut_spans *spans, cut_span span)
{
    if (!cli_grow(&spans->list, &spans->capacity, spans->count + 1,
                  sizeof *spans->list)) {
        spans->no_memory = true;
        return;
    }
    spans->list[spans->count++] = span;
}

// Sorts the spans and merges those that touch.
void cut_spans_settle(cut_spans *spans)
{
    size_t kept = 0;
    if (!spans->count) return;
    qsort(spans->list, spans->count, sizeof *spans->list, by_time);
    for (size_t i = 1; i < spans->count; i++) {
        cut_span *const last = &spans->list[kept];
        const cut_span *const next = &spans->list[i];
        if (next->track != last->track || next->from_ns > last->to_ns)
            spans->list[++kept] = *next;
        else if (next->to_ns > last->to_ns)
            last->to_ns = next->to_ns;
    }
    spans->count = kept + 1;
}

bool cut_spans_have(const cut_spans *spans, uint32_t track, int64_t from_ns,
                    int64_t to_ns)
{
    const cut_span key = { track, from_ns, INT64_MAX };
    size_t low = 0, high = spans->count;
    while (low < high) // find the first one that begins later
        cli_halve(&low, &high,
                  by_time(&spans->list[cli_middle(low, high)], &key) <= 0);
    return low && spans->list[low - 1].track == track &&
           spans->list[low - 1].to_ns >= to_ns;
}

void cut_spans_close(cut_spans *spans)
{
    free(spans->list);
    *spans = (cut_spans){ 0 };
}
