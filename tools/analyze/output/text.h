/*
    text.h - functions that the parts of the text output share
*/
#ifndef TS_TOOLS_ANALYZE_OUTPUT_TEXT_H
#define TS_TOOLS_ANALYZE_OUTPUT_TEXT_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/report/parts.h"

uint32_t text_fit(void);           // line width in columns
uint32_t text_width(ts_text text); // width of a text in columns
// Prints a text, or `cut` if it was shortened (NULL: it fits), padded to
// `width` columns.
void text_put(ts_text text, const char *cut, uint32_t width);
// Prints, wrapped, the content of a memory stream, which it closes and frees.
void text_put_gathered(FILE *out, char **text, size_t *size, uint32_t first,
                       uint32_t indent, uint32_t width);
// Prints nothing for a chart without items.
void text_chart(const report_chart *c, uint64_t top, uint32_t width);

#endif // TS_TOOLS_ANALYZE_OUTPUT_TEXT_H
