/*
    sets.c - sets of numbers and of times
*/
#include "tools/cut/cut.h"

/* ---- Numbers ------------------------------------------------------------- */

static size_t page_slot(const cut_set *set, uint64_t number)
{
    size_t at =
        (size_t)(number * UINT64_C(0x9E3779B97F4A7C15) >> 20) & set->mask;
    while (set->pages[at].number && set->pages[at].number != number)
        at = (at + 1) & set->mask;
    return at;
}

static bool pages_grow(cut_set *set)
{
    cut_set bigger = { .count = set->count,
                       .mask = set->pages ? 2 * set->mask + 1 : 63 };
    bigger.pages = calloc(bigger.mask + 1, sizeof *bigger.pages);
    if (!bigger.pages) return false;
    for (size_t i = 0; set->pages && i <= set->mask; i++)
        if (set->pages[i].number)
            bigger.pages[page_slot(&bigger, set->pages[i].number)] =
                set->pages[i];
    free(set->pages);
    *set = bigger;
    return true;
}

void cut_set_add(cut_set *set, uint64_t value)
{
    const uint64_t number = value / CUT_PAGE + 1;
    if ((!set->pages || set->count > set->mask / 2) && !pages_grow(set)) {
        set->no_memory = true;
        return;
    }
    cut_page *const page = &set->pages[page_slot(set, number)];
    if (!page->number) {
        page->bits = calloc(CUT_PAGE / 64, sizeof *page->bits);
        if (!page->bits) {
            set->no_memory = true;
            return;
        }
        page->number = number;
        set->count++;
    }
    page->bits[value % CUT_PAGE / 64] |= UINT64_C(1) << value % 64;
}

// Neighbours are asked for one after the other.
bool cut_set_has(cut_set *set, uint64_t value)
{
    const uint64_t number = value / CUT_PAGE + 1;
    if (!set->count) return false;
    if (set->last > set->mask || set->pages[set->last].number != number)
        set->last = page_slot(set, number);
    const cut_page *const page = &set->pages[set->last];
    return page->number && page->bits[value % CUT_PAGE / 64] >> value % 64 & 1;
}

void cut_set_close(cut_set *set)
{
    for (size_t i = 0; set->pages && i <= set->mask; i++)
        free(set->pages[i].bits);
    free(set->pages);
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
        if (!more) return; // it is asked again
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
    if (spans->count == spans->capacity) {
        const size_t capacity = spans->capacity ? 2 * spans->capacity : 256;
        cut_span *const more = realloc(spans->list, capacity * sizeof *more);
        if (!more) {
            spans->no_memory = true;
            return;
        }
        spans->list = more;
        spans->capacity = capacity;
    }
    spans->list[spans->count++] = span;
}

// Instances that touch become one.
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
    while (low < high) { // the first that begins later
        const size_t middle = low + (high - low) / 2;
        if (by_time(&spans->list[middle], &key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low && spans->list[low - 1].track == track &&
           spans->list[low - 1].to_ns >= to_ns;
}

void cut_spans_close(cut_spans *spans)
{
    free(spans->list);
    *spans = (cut_spans){ 0 };
}
