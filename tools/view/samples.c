/*
    samples.c - percentiles of many durations
*/
#include "tools/view/samples.h"

// Each value below 128 has its own class. For larger ones the class is the
// power of two and the seven bits after the highest one.
static void class_of(int64_t value, uint32_t *power, uint32_t *step)
{
    const uint64_t v = value < 0 ? 0 : (uint64_t)value;
    *power = v < 128 ? 0 : 57 - (uint32_t)__builtin_clzll(v);
    *step = (uint32_t)(*power ? (v >> (*power - 1)) - 128 : v);
}

// The value in the middle of a class.
static int64_t class_value(uint32_t power, uint32_t step)
{
    if (!power) return step;
    const uint32_t shift = power - 1;
    const uint64_t low = (uint64_t)(step + 128) << shift;
    return (int64_t)(low + ((UINT64_C(1) << shift) - 1) / 2);
}

static void class_add(view_samples *samples, int64_t value)
{
    uint32_t power, step;
    class_of(value, &power, &step);
    if (!samples->classes[power]) {
        samples->classes[power] = view_resize(NULL, 128, sizeof(uint64_t));
        memset(samples->classes[power], 0, 128 * sizeof(uint64_t));
    }
    samples->classes[power][step]++;
}

void view_samples_add(view_samples *samples, int64_t value)
{
    if (samples->rounded) {
        samples->count++;
        class_add(samples, value);
        return;
    }
    view_grow(&samples->values, &samples->room, samples->count + 1,
              sizeof *samples->values);
    samples->values[samples->count++] = value;
}

void view_samples_round(view_samples *samples)
{
    if (samples->rounded) return;
    for (size_t i = 0; i < samples->count; i++)
        class_add(samples, samples->values[i]);
    free(samples->values);
    samples->values = NULL;
    samples->rounded = true;
}

static int64_t select_class(const view_samples *samples, size_t rank)
{
    uint64_t seen = 0;
    for (uint32_t power = 0; power < 64; power++)
        for (uint32_t step = 0; samples->classes[power] && step < 128; step++) {
            seen += samples->classes[power][step];
            if (seen > rank) return class_value(power, step);
        }
    return 0;
}

// Hoare's partition: returns j with [low, j] <= pivot <= [j + 1, high], j <
// high. The pivot is the median of three, so sorted input is not the worst
// case.
static size_t partition(int64_t *values, size_t low, size_t high)
{
    const int64_t a = values[low], b = values[low + (high - low) / 2],
                  c = values[high];
    const int64_t pivot = a < b ? (b < c   ? b
                                   : a < c ? c
                                           : a)
                                : (a < c   ? a
                                   : b < c ? c
                                           : b);
    for (size_t i = low, j = high;; i++, j--) {
        while (values[i] < pivot)
            i++;
        while (values[j] > pivot)
            j--;
        if (i >= j) return j;
        const int64_t swap = values[i];
        values[i] = values[j];
        values[j] = swap;
    }
}

// Quickselect: the value at `rank` of the sorted array.
static int64_t select_value(int64_t *values, size_t count, size_t rank)
{
    size_t low = 0, high = count - 1;
    while (low < high) {
        const size_t split = partition(values, low, high);
        if (rank <= split)
            high = split;
        else
            low = split + 1;
    }
    return values[low];
}

int64_t view_samples_percentile(view_samples *samples, uint32_t percent)
{
    if (!samples->count) return 0;
    const size_t whole = samples->count / 100, rest = samples->count % 100;
    size_t rank = whole * percent + (rest * percent + 99) / 100;
    rank = rank ? rank - 1 : 0;
    return samples->rounded
               ? select_class(samples, rank)
               : select_value(samples->values, samples->count, rank);
}

void view_samples_free(view_samples *samples)
{
    free(samples->values);
    for (size_t i = 0; i < 64; i++)
        free(samples->classes[i]);
    *samples = (view_samples){ 0 };
}
