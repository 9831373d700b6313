/*
    roofline.h - how much is computed, how fast, and how fast it could be

    What an operation computes is known for kernels that a rule names, and for
    zones of PyTorch operators whose arguments the trace has (matrix products:
    aten::mm, addmm, bmm, baddbmm): theirs are all kernels launched within.
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_WORK_ROOFLINE_H
#define TS_TOOLS_ANALYZE_FIGURES_WORK_ROOFLINE_H

#include "tools/analyze/figures/base/groups.h"
#include <regex.h>

// "REGEX=FLOPS" or "REGEX=FLOPS,BYTES": of each launch; "/thread" or "/block"
// after a number: of each of these.
typedef enum roofline_per {
    ROOFLINE_LAUNCH,
    ROOFLINE_THREAD,
    ROOFLINE_BLOCK
} roofline_per;

typedef struct roofline_rule {
    regex_t regex;
    uint64_t flops, bytes; // bytes 0: unknown
    roofline_per flops_per, bytes_per;
    const char *wrong; // with what was given, if it is no rule
} roofline_rule;

// False if it is none, see `wrong`; else close it.
bool roofline_rule_read(roofline_rule *rule, const char *text);
void roofline_rule_close(roofline_rule *rule);

// What one matrix product computes, and moves at least. dims: "[[2,3],[3,4]]",
// types: "[\"float\",...]" of the arguments, as PyTorch writes them. `text`
// receives "2x3x4" (rows, inner, columns), with "8x " before it for a batch of
// 8. False if they do not say.
typedef struct roofline_product {
    uint64_t flops, bytes; // bytes 0: an unknown type
    char text[64];
} roofline_product;
bool roofline_product_of(roofline_product *product, ts_text operator_name,
                         ts_text dims, ts_text types);

// a * b, at most INT64_MAX.
uint64_t roofline_times(uint64_t a, uint64_t b);

typedef struct roofline_row {
    char *text; // name, dimensions
    uint64_t count, kernels;
    uint64_t flops, bytes; // of all; bytes 0: not known
    int64_t work_ns;       // of the kernels
    uint32_t operation;    // the first one
    bool rule;             // it was named by a rule
} roofline_row;

typedef struct roofline_result {
    roofline_row *rows; // the longest first
    size_t count;
    size_t row_room;             // private
    int64_t known_ns, kernel_ns; // kernels that are known, and all
    uint64_t flops;
    uint64_t operators; // matrix products in the trace, known or not
} roofline_result;

// False without memory. Close it in any case.
bool roofline_open(roofline_result *result, const ts_replay *replay,
                   const names_index *names, const roofline_rule *rules,
                   size_t rule_count);
void roofline_close(roofline_result *result);

#endif // TS_TOOLS_ANALYZE_FIGURES_WORK_ROOFLINE_H
