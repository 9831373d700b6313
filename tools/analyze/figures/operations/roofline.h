/*
    roofline.h - FLOPs, achieved rates, and attainable rates

    The FLOPs of an operation are known for kernels that a rule matches, and for
    kernels launched within zones of PyTorch matrix products whose arguments are
    in the trace (aten::mm, addmm, bmm, baddbmm).
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ROOFLINE_H
#define TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ROOFLINE_H

#include "tools/analyze/figures/base/groups.h"
#include <regex.h>

// A rule "REGEX=FLOPS" or "REGEX=FLOPS,BYTES" counts per launch; "/thread" or
// "/block" after a number counts per thread or block.
typedef enum roofline_per {
    ROOFLINE_LAUNCH,
    ROOFLINE_THREAD,
    ROOFLINE_BLOCK
} roofline_per;

typedef struct roofline_rule {
    regex_t regex;
    uint64_t flops, bytes; // bytes 0: unknown
    roofline_per flops_per, bytes_per;
    const char *wrong; // error text if the rule is invalid
} roofline_rule;

// Parses a rule. Returns false if it is invalid: see `wrong`. Otherwise call
// roofline_rule_close.
bool roofline_rule_read(roofline_rule *rule, const char *text);
// Frees the regular expression of a rule that was read successfully.
void roofline_rule_close(roofline_rule *rule);

// Computes the FLOPs of one matrix product and the least bytes it moves from
// the arguments as PyTorch writes them: dims "[[2,3],[3,4]]", types
// "[\"float\",...]". `text` receives "2x3x4" (rows, inner, columns), preceded
// by "8x " for a batch of 8. Returns false if the arguments do not give them.
typedef struct roofline_product {
    uint64_t flops, bytes; // bytes 0: unknown element type
    char text[64];
} roofline_product;
// Reads the shapes of a matrix product from the arguments that a PyTorch
// operator recorded: `dims` and `types` as in its record. False, with *product
// zero, if it is no product of known shapes.
bool roofline_product_of(roofline_product *product, ts_text operator_name,
                         ts_text dims, ts_text types);

// Returns a * b, saturated at INT64_MAX.
uint64_t roofline_times(uint64_t a, uint64_t b);

typedef struct roofline_row {
    char *text; // name and dimensions
    uint64_t count, kernels;
    uint64_t flops, bytes; // sums over all launches; bytes 0: unknown
    int64_t work_ns;       // run time of its kernels
    uint32_t operation;    // first operation
    bool rule;             // a rule matched it
} roofline_row;

typedef struct roofline_result {
    roofline_row *rows; // sorted by time, the longest first
    size_t count;
    size_t row_room; // private
    // Run time of kernels with known FLOPs; of all kernels.
    int64_t known_ns, kernel_ns;
    uint64_t flops;
    uint64_t operators; // matrix products in the trace, with known FLOPs or not
} roofline_result;

// Computes the rows. Returns false if memory runs out. Call roofline_close in
// any case.
bool roofline_open(roofline_result *result, const ts_replay *replay,
                   const names_index *names, const roofline_rule *rules,
                   size_t rule_count);
// Frees the rows and their texts.
void roofline_close(roofline_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_OPERATIONS_ROOFLINE_H
