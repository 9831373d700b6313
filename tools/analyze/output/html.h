/*
    html.h - functions that the parts of the HTML page share
*/
#ifndef TS_TOOLS_ANALYZE_OUTPUT_HTML_H
#define TS_TOOLS_ANALYZE_OUTPUT_HTML_H

#include "tools/analyze/job/job.h"
#include "tools/analyze/report/parts.h"

// Writes text with the special characters of HTML and XML escaped and forbidden
// characters replaced.
void html_put(FILE *out, ts_text text);
// The same for a string that ends with a zero byte.
void html_string(FILE *out, const char *text);
// Writes a value as text for people.
void html_value(FILE *out, report_value value);

// The colours of the page and of charts, light and dark.
extern const char html_colors[];
extern const char html_style[], html_script[];
// The content security policy of the page: it allows only the style and the
// script of the page itself.
extern const char html_policy[];

void html_tables_begin(void); // resets the numbers of tables for a new page
// Writes a table with its first `top` rows; the others, up to `rows`, unfold.
void html_table(FILE *out, const report_table *t, uint64_t top, uint64_t rows);

/* ---- Charts -------------------------------------------------------------- */

// Begins and ends a chart. alone: as a complete file; `height` is in pixels.
void svg_open(FILE *out, const report_chart *c, bool alone, size_t height);
// Ends what svg_open began with the same `alone`.
void svg_close(FILE *out, bool alone);
double svg_share(int64_t part, int64_t whole); // in percent
// Formats a number in the unit of a chart.
cli_text svg_words(const report_chart *c, int64_t number);
// Writes a flame graph (svg_flame.c).
void svg_flame(FILE *out, const report_chart *c, bool alone);

#endif // TS_TOOLS_ANALYZE_OUTPUT_HTML_H
