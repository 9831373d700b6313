/*
    order.c - sorts rows by radix sort

    Each column of an order becomes a 64-bit key for each row. The key of a name
    is the rank of its text among those that occur, so that equal texts of
    different sites have the same key.
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

// Keys of rows, of 64 or 32 bits, to be xor-ed with `flip`.
typedef struct keys {
    const uint64_t *wide;
    const uint32_t *narrow; // if wide is NULL
    uint64_t flip;          // for both
} keys;

static inline uint64_t key_of(const keys *k, uint32_t row)
{
    return (k->wide ? k->wide[row] : k->narrow[row]) ^ k->flip;
}

// One pass of a stable sort. from: order of the rows; NULL: 0, 1, ...
static void pass(const keys *k, uint32_t shift, const uint32_t *from,
                 uint32_t *to, uint32_t count)
{
    uint32_t at[DIGITS] = { 0 }, sum = 0;
    for (uint32_t i = 0; i < count; i++)
        at[key_of(k, i) >> shift & (DIGITS - 1)]++;
    for (uint32_t i = 0; i < DIGITS; i++) {
        const uint32_t here = at[i];
        at[i] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t row = from ? from[i] : i;
        to[at[key_of(k, row) >> shift & (DIGITS - 1)]++] = row;
    }
}

typedef struct permutation {
    uint32_t *order; // NULL: 0, 1, ...
    uint32_t *other;
    uint32_t count;
} permutation;

// Sorts by the bits in which keys differ. Returns SQLITE_OK, _NOMEM or
// _INTERRUPT.
static int radix(permutation *p, const keys *k)
{
    uint64_t all = UINT64_MAX, any = 0;
    for (uint32_t i = 0; i < p->count; i++) {
        all &= key_of(k, i);
        any |= key_of(k, i);
    }
    for (uint32_t shift = 0; p->count && shift < 64; shift += DIGIT_BITS) {
        if (!((all ^ any) >> shift & (DIGITS - 1))) continue;
        if (query_interrupted) return SQLITE_INTERRUPT;
        if (!p->other) p->other = query_array(p->count, sizeof *p->other);
        if (!p->other) return SQLITE_NOMEM;
        pass(k, shift, p->order, p->other, p->count);
        uint32_t *const kept = p->order;
        p->order = p->other;
        p->other = kept;
    }
    return SQLITE_OK;
}

/* ---- Keys --------------------------------------------------------------- */

// A distinct raw number of a column, and what it shows.
typedef struct shown {
    query_cell cell;
    uint32_t number; // in order of occurrence
} shown;

enum { DIRECT = 4096 };
typedef struct dictionary {
    uint64_t
        direct[DIRECT]; // for small raw numbers of the first file: number + 1
    query_map map;      // for others: number + 1
    shown *items;
    uint32_t count;
    size_t room;
    uint32_t *ranks; // rank of each number
} dictionary;

static int by_cell(const void *a, const void *b)
{
    const shown *const x = a, *const y = b;
    const int order = query_cell_order(&x->cell, &y->cell);
    return order ? order : (x->number > y->number) - (x->number < y->number);
}

static bool add_shown(dictionary *d, const query_cell *cell)
{
    if (!cli_grow(&d->items, &d->room, (size_t)d->count + 1, sizeof *d->items))
        return false;
    d->items[d->count] = (shown){ *cell, d->count };
    d->count++;
    return true;
}

static bool rank(dictionary *d)
{
    d->ranks = malloc((d->count ? d->count : 1) * sizeof *d->ranks);
    if (!d->ranks) return false;
    if (d->count) qsort(d->items, d->count, sizeof *d->items, by_cell);
    uint32_t at = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        if (i && query_cell_order(&d->items[i - 1].cell, &d->items[i].cell))
            at++;
        d->ranks[d->items[i].number] = at;
    }
    return true;
}

// Sets numbers[row] to the number of the row's value; it is replaced by its
// rank later.
static bool number_rows(const query *q, const query_rows *rows,
                        const query_order *order, dictionary *d,
                        uint32_t *numbers)
{
    uint64_t last = 0;
    uint32_t last_file = UINT32_MAX, number = 0;
    for (uint32_t i = 0; i < rows->total; i++) {
        const uint64_t raw = query_raw(rows, order->raw, i);
        const uint32_t file = (uint32_t)query_raw(rows, RAW_FILE, i);
        if (raw != last || file != last_file) {
            uint64_t *const slot = raw < DIRECT && !file
                                       ? &d->direct[raw]
                                       : query_map_at(&d->map, file, raw);
            if (!slot) return false;
            if (!*slot) {
                const query_cell cell =
                    query_show_cell(q, file, order->show, raw);
                *slot = (uint64_t)d->count + 1;
                if (!add_shown(d, &cell)) return false;
            }
            number = (uint32_t)*slot - 1;
            last = raw;
            last_file = file;
        }
        numbers[i] = number;
    }
    return true;
}

static int sort_by_rank(const query *q, const query_rows *rows,
                        const query_order *order, permutation *p)
{
    dictionary d = { 0 };
    uint32_t *const numbers = query_array(rows->total, sizeof *numbers);
    int code = numbers && number_rows(q, rows, order, &d, numbers) && rank(&d)
                   ? SQLITE_OK
                   : SQLITE_NOMEM;
    const uint32_t last = d.count ? d.count - 1 : 0;
    for (uint32_t i = 0; code == SQLITE_OK && i < d.count && order->desc; i++)
        d.ranks[i] = last - d.ranks[i];
    for (uint32_t i = 0; code == SQLITE_OK && i < rows->total; i++)
        numbers[i] = d.ranks[numbers[i]];
    const keys k = { .narrow = numbers };
    if (code == SQLITE_OK) code = radix(p, &k);
    query_map_close(&d.map);
    free(p->other ? numbers : NULL);
    if (!p->other) p->other = numbers; // reuse memory that was touched already
    free(d.items);
    free(d.ranks);
    return code;
}

static int sort_by(const query *q, const query_rows *rows,
                   const query_order *order, permutation *p)
{
    if (order->show > SHOW_LAST_NUMBER) return sort_by_rank(q, rows, order, p);
    const keys k = { .wide = rows->values[order->raw],
                     .narrow = rows->narrow[order->raw],
                     .flip =
                         UINT64_C(1) << 63 ^ (order->desc ? UINT64_MAX : 0) };
    return k.wide || k.narrow ? radix(p, &k)
                              : SQLITE_OK; // all rows have one value
}

/* ---- Sorting ------------------------------------------------------------ */

int query_rows_sort(const query *q, query_rows *rows, const query_order *order,
                    size_t count)
{
    permutation p = { .count = rows->total };
    int code = SQLITE_OK;
    for (size_t c = count; code == SQLITE_OK && c--;)
        code = sort_by(q, rows, &order[c], &p);
    rows->sorted = p.order;
    rows->order = p.order;
    if (!p.other) p.other = query_array(rows->total, sizeof *p.other);
    if (!p.other) return SQLITE_NOMEM;
    if (!query_rows_arrange(rows, p.other) && code == SQLITE_OK)
        code = SQLITE_NOMEM;
    return code;
}

int query_rows_index(query_rows *rows, uint32_t raw, int64_t **sorted)
{
    const query_order order = { .raw = (uint8_t)raw, .show = SHOW_NUMBER };
    *sorted = malloc((rows->total ? rows->total : 1) * sizeof **sorted);
    if (!*sorted) return SQLITE_NOMEM;
    const int code = query_rows_sort(NULL, rows, &order, 1);
    for (uint32_t i = 0; code == SQLITE_OK && i < rows->total; i++)
        (*sorted)[i] =
            (int64_t)query_raw(rows, raw, rows->order ? rows->order[i] : i);
    return code;
}

#endif
