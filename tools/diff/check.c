/*
    check.c - evaluates gates
*/
#include "tools/diff/diff.h"

__extension__ typedef __int128 wide;

static bool matches(const diff_gate *g, const diff_row *row)
{
    return g->subjects >> row->subject & 1 &&
           (!g->pattern || cli_matches(g->pattern, strlen(g->pattern),
                                       row->name.text, row->name.size));
}

// Whether B / of minus A / of exceeds the limit.
static bool is_beyond(const diff_limit *limit, diff_number a, diff_number b)
{
    const wide change = (wide)b.number * a.of - (wide)a.number * b.of;
    if (limit->unit != DIFF_LIMIT_SHARE)
        return change > (wide)limit->value * a.of * b.of;
    // In ten thousandths of a percent.
    return change * 1000000 > (wide)limit->value * a.number * b.of;
}

// Counts are exact: noise cannot explain a change beyond the limits.
static bool counts_are_beyond(const diff_gate *g, const diff *d,
                              const diff_row *row)
{
    const diff_number a = diff_value(d, row, DIFF_COUNT, 0);
    const diff_number b = diff_value(d, row, DIFF_COUNT, 1);
    for (size_t i = 0; i < g->limit_count; i++)
        if (g->limits[i].unit != DIFF_LIMIT_SHARE ||
            !is_beyond(&g->limits[i], a, b))
            return false;
    return true;
}

// Whether the value is exact, so that no difference can be noise.
static bool is_exact(const diff_gate *g, const diff *d, const diff_row *row)
{
    if (diff_is_sample(row)) return false;
    if (g->metric == DIFF_COUNT || row->subject == DIFF_MEMORY ||
        diff_is_new(row))
        return true;
    return row->subject != DIFF_MAKESPAN && row->subject != DIFF_IDLE &&
           g->metric == DIFF_TOTAL && !row->by_step &&
           counts_are_beyond(g, d, row);
}

// Totals of different work do not show how fast the work is: a trace of two
// seconds lasts two seconds, however many steps it has.
static bool is_blind(const diff_gate *g, const diff *d, const diff_row *row)
{
    return diff_unequal(d) && !row->by_step && g->metric != DIFF_MEDIAN &&
           row->subject != DIFF_STEP && row->subject != DIFF_LATENCY &&
           row->subject != DIFF_MEMORY && row->parts[0].count &&
           row->parts[1].count;
}

// Returns the row to test: the makespan has one sample only, so that the steps
// are tested in its place.
static const diff_row *row_to_test(const diff *d, const diff_row *row)
{
    for (size_t i = 0; row->subject == DIFF_MAKESPAN && i < d->row_count; i++)
        if (d->rows[i].subject == DIFF_STEP) return &d->rows[i];
    return row;
}

static bool add_hit(diff_gate *g, const diff *d, size_t index, size_t *room)
{
    const diff_row *const row = &d->rows[index];
    const diff_number a = diff_value(d, row, g->metric, 0);
    const diff_number b = diff_value(d, row, g->metric, 1);
    diff_hit hit = { .row = (uint32_t)index, .p = DIFF_CERTAIN };
    bool beyond = row->parts[1].count > 0;
    for (size_t i = 0; beyond && i < g->limit_count; i++)
        beyond = is_beyond(&g->limits[i], a, b);
    if (beyond) {
        const diff_row *const by = row_to_test(d, row);
        const bool singles = g->metric == DIFF_MEDIAN;
        const bool tested = singles ? by->tested_singles : by->tested;
        hit.verdict = is_exact(g, d, row) ? DIFF_REGRESSED
                      : tested            ? DIFF_NOISE
                                          : DIFF_UNTESTED;
        // A test in the other direction (B takes less) is no reason to fail.
        if (hit.verdict == DIFF_NOISE &&
            (singles ? by->toward_singles : by->toward) > 0)
            hit.p = singles ? by->p_singles : by->p;
    } else if (is_blind(g, d, row)) {
        hit.verdict = DIFF_BLIND;
    }
    if (!cli_grow(&g->hits, room, g->hit_count + 1, sizeof *g->hits))
        return false;
    g->hits[g->hit_count++] = hit;
    return true;
}

// Tests the rows beyond the limits for noise. The p-values are adjusted because
// many tests find more differences by chance.
static bool decide(diff_gate *g, const diff *d)
{
    uint64_t *const p = malloc((g->hit_count + 1) * sizeof *p);
    uint64_t *const to = malloc((g->hit_count + 1) * sizeof *to);
    size_t count = 0;
    for (size_t i = 0; p && i < g->hit_count; i++)
        if (g->hits[i].verdict == DIFF_NOISE) p[count++] = g->hits[i].p;
    const bool ok = p && to && diff_adjust(p, to, count);
    count = 0;
    for (size_t i = 0; ok && i < g->hit_count; i++) {
        diff_hit *const hit = &g->hits[i];
        if (hit->verdict == DIFF_NOISE) {
            hit->p = to[count++];
            if (hit->p <= d->alpha) hit->verdict = DIFF_REGRESSED;
        }
        g->verdicts[hit->verdict]++;
    }
    free(p);
    free(to);
    return ok;
}

typedef struct ranked_hit {
    diff_hit hit;
    int64_t change;
} ranked_hit;

static int by_weight(const void *left, const void *right)
{
    const ranked_hit *const a = left, *const b = right;
    if (a->hit.verdict != b->hit.verdict)
        return a->hit.verdict > b->hit.verdict ? -1 : 1;
    if (a->change != b->change) return a->change > b->change ? -1 : 1;
    return (a->hit.row > b->hit.row) - (a->hit.row < b->hit.row);
}

static bool put_in_order(diff_gate *g, const diff *d)
{
    ranked_hit *const order = malloc((g->hit_count + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < g->hit_count; i++)
        order[i] =
            (ranked_hit){ g->hits[i],
                          diff_change(d, &d->rows[g->hits[i].row], g->metric) };
    qsort(order, g->hit_count, sizeof *order, by_weight);
    for (size_t i = 0; i < g->hit_count; i++)
        g->hits[i] = order[i].hit;
    free(order);
    return true;
}

bool diff_gates_check(diff_gates *gates, const diff *d)
{
    for (size_t i = 0; i < gates->count; i++) {
        diff_gate *const g = &gates->items[i];
        size_t room = 0;
        for (size_t k = 0; k < d->row_count; k++)
            if (matches(g, &d->rows[k]) && !add_hit(g, d, k, &room))
                return false;
        if (!decide(g, d) || !put_in_order(g, d)) return false;
    }
    return true;
}

bool diff_gate_failed(const diff_gates *gates, const diff_gate *g)
{
    return g->verdicts[DIFF_REGRESSED] ||
           (gates->untested_fails && g->verdicts[DIFF_UNTESTED]);
}

bool diff_gates_failed(const diff_gates *gates)
{
    for (size_t i = 0; i < gates->count; i++)
        if (diff_gate_failed(gates, &gates->items[i])) return true;
    return false;
}

bool diff_gate_missed(const diff_gate *g)
{
    return !g->hit_count && !g->optional;
}

bool diff_gate_is_part(const diff_gate *g, const diff *d)
{
    for (size_t i = 0; g->pattern && i < d->row_count; i++) {
        const diff_row *const row = &d->rows[i];
        const cli_text around = cli_format("*%s*", g->pattern);
        if (g->subjects >> row->subject & 1 &&
            cli_matches(around.s, strlen(around.s), row->name.text,
                        row->name.size))
            return true;
    }
    return false;
}

bool diff_gate_blind(const diff_gate *g)
{
    return g->verdicts[DIFF_BLIND] > 0;
}

bool diff_gates_missed(const diff_gates *gates)
{
    for (size_t i = 0; i < gates->count; i++)
        if (diff_gate_missed(&gates->items[i]) ||
            diff_gate_blind(&gates->items[i]))
            return true;
    return false;
}
