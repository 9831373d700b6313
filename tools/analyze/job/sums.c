/*
    sums.c - times summed by key, quantiles and deviations
*/
#include "tools/analyze/job/sums.h"

static bool add(sums *s, uint64_t key, int64_t ns, size_t where, bool more)
{
    uint32_t at = cli_map_row(&s->index, key);
    if (at == CLI_NONE) {
        at = (uint32_t)s->count;
        if (!cli_grow(&s->rows, &s->room, s->count + 1, sizeof *s->rows) ||
            !cli_map_set(&s->index, key, at))
            return false;
        s->rows[s->count++] = (sums_row){ key, 0, 0, INT64_MIN, where, at };
    }
    sums_row *const row = &s->rows[at];
    row->count += more;
    row->ns += ns;
    if (ns > row->most_ns) {
        row->most_ns = ns;
        row->most = where;
    }
    return true;
}

bool sums_add(sums *s, uint64_t key, int64_t ns, size_t where)
{
    return add(s, key, ns, where, true);
}

bool sums_extend(sums *s, uint64_t key, int64_t ns, size_t where)
{
    return add(s, key, ns, where, false);
}

const sums_row *sums_find(const sums *s, uint64_t key)
{
    const uint32_t at = cli_map_row(&s->index, key);
    return at == CLI_NONE ? NULL : &s->rows[at];
}

static int larger_first(const void *left, const void *right)
{
    const sums_row *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    if (a->count != b->count) return a->count > b->count ? -1 : 1;
    return (a->first_use > b->first_use) - (a->first_use < b->first_use);
}

void sums_sort(sums *s)
{
    if (s->count) qsort(s->rows, s->count, sizeof *s->rows, larger_first);
}

void sums_close(sums *s)
{
    free(s->rows);
    cli_map_close(&s->index);
    memset(s, 0, sizeof *s);
}

size_t sums_rank(size_t count, uint32_t per_mille)
{
    // Two steps, since count * per_mille might overflow.
    const size_t rank =
        count / 1000 * per_mille + (count % 1000 * per_mille + 999) / 1000;
    return rank ? rank - 1 : 0;
}

int64_t sums_quantile(const int64_t *sorted, size_t count, uint32_t per_mille)
{
    if (!count) return 0;
    return sorted[sums_rank(count, per_mille)];
}

int64_t sums_deviation(const int64_t *values, size_t count, int64_t from,
                       int64_t *room)
{
    for (size_t i = 0; i < count; i++)
        room[i] = values[i] > from ? values[i] - from : from - values[i];
    cli_sort_numbers(room, count);
    return sums_quantile(room, count, 500);
}
