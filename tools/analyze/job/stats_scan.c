/*
    stats_scan.c - collects events into groups on several threads
*/
#include "tools/analyze/job/sums.h"
#include "tools/analyze/job/stats.h"
#include <stdatomic.h>
#include <unistd.h>

enum { THREADS_MOST = 16, SELECT_ROUNDS = 96 };

static uint32_t thread_count(void)
{
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1              ? 1
           : cores > THREADS_MOST ? THREADS_MOST
                                  : (uint32_t)cores;
}

/* ---- Figures ------------------------------------------------------------- */

typedef struct scanning {
    const stats_scan *scan;
    uint32_t file;
    stats_map maps[THREADS_MOST][STATS_KEYS];
    bool failed[THREADS_MOST];
} scanning;

static void take(const ts_columns *columns, uint32_t thread, void *user)
{
    scanning *const s = user;
    const stats_scan *const scan = s->scan;
    const uint64_t *const bytes =
        scan->bytes ? columns->values[scan->bytes] : NULL;
    stats_key keys[STATS_KEYS];
    stats_event e = { s->file, 0, columns };
    // Cache: consecutive rows often have the same key.
    stats_group *last[STATS_KEYS] = { NULL };
    for (; e.row < columns->count; e.row++) {
        if (!scan->keys(&e, keys, scan->user)) continue;
        for (size_t m = 0; m < scan->map_count; m++) {
            const uint64_t *const k = keys[m].key;
            stats_group *g = last[m];
            if (!g || g->key[0] != k[0] || g->key[1] != k[1]) {
                g = stats_find(&s->maps[thread][m], s->file, k[0], k[1]);
                last[m] = g;
            }
            if (!g) {
                s->failed[thread] = true;
                return;
            }
            stats_add(g, columns->start_ns[e.row], columns->duration_ns[e.row],
                      bytes ? bytes[e.row] : 0);
        }
    }
}

static bool merge(stats_map *to, const stats_map *from)
{
    for (size_t i = 0; i < from->count; i++) {
        const stats_group *const g = &from->groups[i];
        stats_group *const sum = stats_find(to, g->file, g->key[0], g->key[1]);
        if (!sum) return false;
        stats_join(sum, g);
    }
    return true;
}

bool stats_run(ts_reader *reader, uint32_t file, const stats_scan *scan,
               stats_map *maps)
{
    scanning *const s = calloc(1, sizeof *s);
    const uint32_t threads = thread_count();
    const ts_filter filter = { .kinds = scan->kinds };
    if (!s) return false;
    s->scan = scan;
    s->file = file;
    // The reader lists damaged chunks, and the report shows them.
    bool ok =
        ts_reader_scan(reader, &filter, threads, take, s) != TS_ERR_MEMORY;
    for (uint32_t t = 0; t < threads; t++) {
        ok = ok && !s->failed[t];
        for (size_t m = 0; m < scan->map_count; m++) {
            ok = ok && merge(&maps[m], &s->maps[t][m]);
            stats_close(&s->maps[t][m]);
        }
    }
    for (size_t m = 0; m < scan->map_count; m++)
        ok = ok && stats_sort(&maps[m]);
    free(s);
    return ok;
}

/* ---- Quantiles ----------------------------------------------------------- */

typedef struct collecting {
    const stats_scan *scan;
    uint32_t file;
    size_t which;
    const stats_map *map;
    const uint32_t *number;
    const stats_group *rows;
    _Atomic uint64_t *filled; // values filled so far, by row
    int64_t *values;
} collecting;

static void collect(const ts_columns *columns, uint32_t thread, void *user)
{
    (void)thread;
    const collecting *const c = user;
    stats_key keys[STATS_KEYS];
    stats_event e = { c->file, 0, columns };
    uint64_t last[2] = { 0, 0 };
    uint32_t row = UINT32_MAX;
    for (; e.row < columns->count; e.row++) {
        if (!c->scan->keys(&e, keys, c->scan->user)) continue;
        const uint64_t *const k = keys[c->which].key;
        if (row == UINT32_MAX || k[0] != last[0] || k[1] != last[1]) {
            const uint32_t g = stats_look(c->map, c->file, k[0], k[1]);
            if (g == UINT32_MAX) continue;
            row = c->number[g];
            last[0] = k[0];
            last[1] = k[1];
        }
        // relaxed: only the count matters; joining the threads orders all else.
        const uint64_t at =
            atomic_fetch_add_explicit(&c->filled[row], 1, memory_order_relaxed);
        if (at < c->rows[row].count)
            c->values[c->rows[row].from + at] = columns->duration_ns[e.row];
    }
}

static int by_value(const void *left, const void *right)
{
    const int64_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

// Returns the value that would be at index `at` if all were sorted. It sorts
// the array partially, or completely if partitioning makes no progress.
static int64_t select_value(int64_t *values, size_t count, size_t at)
{
    size_t low = 0, high = count - 1;
    for (int round = 0; low < high; round++) {
        const int64_t pivot = values[low + (high - low) / 2];
        size_t i = low, k = high + 1; // k: upper bound, exclusive
        if (round == SELECT_ROUNDS) {
            qsort(values + low, high - low + 1, sizeof *values, by_value);
            break;
        }
        while (i < k) {
            while (values[i] < pivot)
                i++;
            while (values[k - 1] > pivot)
                k--;
            if (i >= k) break;
            const int64_t swapped = values[i];
            values[i++] = values[k - 1];
            values[--k] = swapped;
        }
        // Values up to k are at most the pivot, values from i on at least the
        // pivot.
        if (at < k)
            high = k - 1;
        else if (at >= i)
            low = i;
        else
            return values[at];
    }
    return values[at];
}

static void find_quantiles(stats_group *g, int64_t *values, size_t count)
{
    if (!count) return;
    g->p50_ns = select_value(values, count, sums_rank(count, 500));
    g->p95_ns = select_value(values, count, sums_rank(count, 950));
}

bool stats_quantiles(ts_reader *const *readers, uint32_t file_count,
                     const stats_scan *scan, size_t which, const stats_map *map,
                     const uint32_t *number, stats_group *rows,
                     size_t row_count)
{
    uint64_t all = 0;
    for (size_t i = 0; i < row_count; i++) {
        rows[i].from = all;
        all += rows[i].count;
    }
    if (all > SIZE_MAX / sizeof(int64_t)) return false;
    int64_t *const values = malloc((size_t)all * sizeof *values + 1);
    _Atomic uint64_t *const filled = calloc(row_count + 1, sizeof *filled);
    const bool ok = values && filled;
    for (uint32_t f = 0; ok && f < file_count; f++) {
        collecting c = { scan, f, which, map, number, rows, filled, values };
        const ts_filter filter = { .kinds = scan->kinds };
        ts_reader_scan(readers[f], &filter, 0, collect, &c);
    }
    for (size_t i = 0; ok && i < row_count; i++) {
        const uint64_t got =
            filled[i] < rows[i].count ? filled[i] : rows[i].count;
        find_quantiles(&rows[i], values + rows[i].from, (size_t)got);
    }
    free(values);
    free((void *)filled);
    return ok;
}
