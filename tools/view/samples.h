/*
    samples.h - many durations, their percentiles
*/
#ifndef TS_TOOLS_VIEW_SAMPLES_H
#define TS_TOOLS_VIEW_SAMPLES_H

#include "tools/view/view.h"

/*
    Durations of one name. All are kept, so percentiles are exact, until all
    names together hold VIEW_SAMPLES_MAX; from then on they are counted in
    classes, 128 to each power of two, and a percentile is off by 0.4 % at
    most. All zeros is empty.
*/
#define VIEW_SAMPLES_MAX (UINT64_C(1) << 24)
typedef struct view_samples {
    int64_t *values; // NULL once they are counted in classes
    size_t count, room;
    uint64_t *classes[64]; // by power of two, 128 counts each
    bool rounded;
} view_samples;

void view_samples_add(view_samples *samples, int64_t value);
// From now on in classes.
void view_samples_round(view_samples *samples);
// The smallest value that a share of `percent` of all is not above, by
// nearest rank. Reorders the values.
int64_t view_samples_percentile(view_samples *samples, uint32_t percent);
void view_samples_free(view_samples *samples);

#endif // TS_TOOLS_VIEW_SAMPLES_H
