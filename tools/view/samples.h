/*
    samples.h - percentiles of many durations
*/
#ifndef TS_TOOLS_VIEW_SAMPLES_H
#define TS_TOOLS_VIEW_SAMPLES_H

#include "tools/view/view.h"

/*
    The durations of one name. Percentiles are exact as long as all names
    together have at most VIEW_SAMPLES_MAX durations. From then on durations are
    counted in a histogram with 128 classes for each power of two, and a
    percentile is wrong by at most 0.4 %. { 0 } is empty.
*/
#define VIEW_SAMPLES_MAX (UINT64_C(1) << 24)
typedef struct view_samples {
    int64_t *values; // NULL when counted in classes
    size_t count, room;
    uint64_t *classes[64]; // by power of two, 128 counts each
    bool rounded;
} view_samples;

// Adds a value; without memory it ends the process. Many values are rounded
// into classes.
void view_samples_add(view_samples *samples, int64_t value);
// Counts the durations in classes from now on.
void view_samples_round(view_samples *samples);
// The percentile by nearest rank: the smallest value that at least `percent` of
// all values do not exceed. Reorders the values.
int64_t view_samples_percentile(view_samples *samples, uint32_t percent);
// Frees the values; *samples is empty afterwards.
void view_samples_free(view_samples *samples);

#endif // TS_TOOLS_VIEW_SAMPLES_H
