/*
    samples.h - samples of profiles: weights by call stack and by function
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_SAMPLES_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_SAMPLES_H

#include "tools/analyze/figures/operations/flame.h"

// What a group of samples measures, such as cpu in ns or alloc_space in bytes.
typedef struct samples_type {
    ts_text name, unit; // empty: not known; as in the trace
    report_unit shown;  // REPORT_NS, REPORT_BYTES or REPORT_COUNT
    double scale;       // from `unit` to `shown`
    uint64_t count;
    uint64_t without_stack;
    bool fractions;  // a weight is no whole number
    double total;    // in `shown`
    double *weights; // by node of the paths, `room` of them
    size_t room;
} samples_type;

enum { SAMPLES_TYPES = 32 };
typedef struct samples {
    path_tree paths;
    samples_type types[SAMPLES_TYPES]; // in the order of the trace
    size_t type_count;
    uint64_t count;
    uint64_t left_out; // of types beyond SAMPLES_TYPES
} samples;

// Reads the samples of all files. Returns false if memory runs out. Close in
// any case.
bool samples_open(samples *s, analyze_job *job);
void samples_close(samples *s);

// One sample of a type that is not left out.
typedef struct samples_one {
    size_t type;          // index into the types
    uint32_t node;        // of the paths
    uint32_t file, stack; // stack 0: none
    int64_t start_ns;     // on the axis of the first file
    double weight;        // in `shown` of the type
} samples_one;
// Like samples_open, and calls a function for each sample, which returns false
// without memory.
typedef bool samples_visit(void *user, const samples_one *one);
bool samples_walk(samples *s, analyze_job *job, samples_visit *visit,
                  void *user);

// Returns the type to look at first: of those in units of time the one with
// the most time, else the last one of those with the most samples, which is
// the one that pprof shows. NULL if there is no sample.
const samples_type *samples_main(const samples *s);

// Returns by what the weights of a type are multiplied to be whole numbers:
// without a unit, small fractions would all be rounded to 0.
enum { SAMPLES_PARTS = 1000000 };
int64_t samples_parts(const samples_type *type);
// Sets the weights of the paths to those of a type, for flame_open, times
// samples_parts.
void samples_weigh(samples *s, const samples_type *type);

// A function, with the weight of the samples in it and below it.
typedef struct samples_function {
    uint32_t name; // of the paths
    int64_t self, total;
} samples_function;

/*
    Makes the list of functions by the weights of the paths, the largest `self`
    first. A function that calls itself counts once in its `total`. The caller
    frees *list. Returns false if memory runs out.
*/
bool samples_functions(const samples *s, samples_function **list,
                       size_t *count);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_SAMPLES_H
