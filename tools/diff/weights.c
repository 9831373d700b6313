/*
    weights.c - tests whether the samples of a row differ by more than chance

    How many samples fall into a function is chance, and their number has about
    that variance (Poisson). Samples that come in bursts vary more: by the
    factor `dispersion`. It is estimated in two ways. Each of them also rises
    with some phases of a program, but few phases raise both: the smaller one is
    used.
*/
#include "tools/diff/diff.h"

enum { PAIRS_LEAST = 8, THOUSAND = 1000 };

// Whether the sums are too small to divide by: the unit is one part of those
// that rows have.
static bool is_nothing(const diff_weights *w)
{
    return !(w->squares > 1e-18);
}

static double sample_weight(const diff_weights *w)
{
    return w->squares / w->total;
}

// Adds the squared differences of neighbouring slices to a list, in thousandths
// of what chance makes them on average. Returns how many there are.
static size_t add_differences(const diff_weights *w, int64_t *to)
{
    const double one = sample_weight(w) / THOUSAND;
    size_t count = 0;
    for (size_t i = 1; i < DIFF_SLICES; i++) {
        const double sum = w->slices[i - 1] + w->slices[i];
        const double change = w->slices[i] - w->slices[i - 1];
        if (sum > 0) to[count++] = (int64_t)(change * change / (sum * one));
    }
    return count;
}

// Compares neighbouring slices of a side. The median ignores the few pairs
// where a phase begins or ends. Of few pairs it says nothing.
static double spread_within(const diff_weights *a, const diff_weights *b)
{
    static const double median = 0.4549; // of chi-squared with one degree
    int64_t all[2 * DIFF_SLICES];
    size_t count = add_differences(a, all);
    count += add_differences(b, all + count);
    if (count < PAIRS_LEAST) return 1e300;
    cli_sort_numbers(all, count);
    return (double)sums_quantile(all, count, 500) / THOUSAND / median;
}

// Compares slices of A with those of B: chi-squared by its degrees of freedom.
// Phases that both sides have do not count.
static double spread_between(const diff_weights *a, const diff_weights *b)
{
    const double all = a->total + b->total;
    const double one =
        (a->total * sample_weight(b) + b->total * sample_weight(a)) / all;
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < DIFF_SLICES; i++) {
        const double both = a->slices[i] + b->slices[i];
        if (!(both > 0)) continue;
        const double off =
            b->slices[i] * (a->total / all) - a->slices[i] * (b->total / all);
        sum += off * off / both / one;
        count++;
    }
    if (count < 2) return 1;
    return sum * (all / a->total) * (all / b->total) / (double)(count - 1);
}

static double dispersion(const diff_weights *a, const diff_weights *b)
{
    if (!a->slices || !b->slices || is_nothing(a) || is_nothing(b)) return 1;
    const double within = spread_within(a, b), between = spread_between(a, b);
    const double least = within < between ? within : between;
    return least > 1 ? least : 1;
}

uint64_t diff_weights_test(const diff_weights *a, const diff_weights *b,
                           int *toward)
{
    const double change = b->total - a->total, all = a->total + b->total;
    const double variance = a->squares + b->squares;
    *toward = (change > 0) - (change < 0);
    if (is_nothing(a) && is_nothing(b)) return DIFF_CERTAIN;
    // Corrected for continuity: one sample more or less is no difference.
    const double off = (change < 0 ? -change : change) - variance / all;
    if (!(off > 0)) return DIFF_CERTAIN;
    return diff_tail(off * off / (variance * dispersion(a, b)));
}
