/*
    text.h - what the parts of the text form share
*/
#ifndef TS_TOOLS_ANALYZE_OUTPUT_TEXT_H
#define TS_TOOLS_ANALYZE_OUTPUT_TEXT_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/report/parts.h"

uint32_t text_fit(void);           // how wide lines are
uint32_t text_width(ts_text text); // columns
// A text, or what it was cut to (NULL: it fits), padded to `width` columns.
void text_put(ts_text text, const char *cut, uint32_t width);
// What a stream in memory has got, wrapped; frees it.
void text_put_gathered(FILE *out, char **text, size_t *size, uint32_t first,
                       uint32_t indent, uint32_t width);
// Prints nothing for a chart without items.
void text_chart(const report_chart *c, uint64_t top, uint32_t width);

#endif // TS_TOOLS_ANALYZE_OUTPUT_TEXT_H
