/*
    sums.h - times summed by key, quantiles and deviations
*/
#ifndef TS_TOOLS_ANALYZE_JOB_SUMS_H
#define TS_TOOLS_ANALYZE_JOB_SUMS_H

#include "tools/cli/cli.h"
#include "tools/cli/sort.h"

typedef struct sums_row {
    uint64_t key, count;
    int64_t ns, most_ns;
    size_t most;        // the `where` of the longest time; the first of equals
    uint64_t first_use; // private: rank of the key by first use
} sums_row;

// Starts from { 0 }.
typedef struct sums {
    sums_row *rows;
    size_t count;
    size_t room;   // private
    cli_map index; // private: key to row
} sums;

// Adds a time to the row of a key. `where` identifies it for the caller.
// Returns false if memory runs out.
bool sums_add(sums *s, uint64_t key, int64_t ns, size_t where);
// Extends a time that was added before by another part, without counting it
// again.
bool sums_extend(sums *s, uint64_t key, int64_t ns, size_t where);
// Returns the row of a key; NULL if there is none. Do not call it after
// sums_sort.
const sums_row *sums_find(const sums *s, uint64_t key);
void sums_sort(sums *s); // the largest first; add nothing after it
// Frees the rows; *s is empty afterwards.
void sums_close(sums *s);

// Returns the index, from 0, of the quantile by the nearest-rank method: the
// smallest of `count` sorted values such that at least this share of all values
// is not larger. All tools of the project use this definition.
size_t sums_rank(size_t count, uint32_t per_mille);
// Returns a quantile of sorted values. 500 per mille is the median (the lower
// middle value). The quantile of no values is 0.
// Returns the value below which per_mille of 1000 values lie, by nearest rank.
// `sorted` is in ascending order; 0 if it is empty.
int64_t sums_quantile(const int64_t *sorted, size_t count, uint32_t per_mille);
// Returns the median distance of values from `from`. `room` provides space for
// count values.
int64_t sums_deviation(const int64_t *values, size_t count, int64_t from,
                       int64_t *room);

#endif // TS_TOOLS_ANALYZE_JOB_SUMS_H
