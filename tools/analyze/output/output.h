/*
    output.h - prints a report: as text, JSON or an HTML page
*/
#ifndef TS_TOOLS_ANALYZE_OUTPUT_OUTPUT_H
#define TS_TOOLS_ANALYZE_OUTPUT_OUTPUT_H

#include "tools/analyze/job/job.h"

/* ---- Next steps --------------------------------------------------------- */

// A command line that the report suggests as a next step, and what it shows.
typedef struct analyze_command {
    char *text;
    const char *purpose;
} analyze_command;
enum { ANALYZE_COMMANDS = 7 };
typedef struct analyze_commands {
    analyze_command list[ANALYZE_COMMANDS];
    size_t count; // 0 if a file name cannot be passed to a command
} analyze_commands;

// Collects the commands that a complete report suggests. Close them.
void analyze_next(analyze_commands *next, const analyze_job *job,
                  const report *r);
// Frees the commands.
void analyze_next_close(analyze_commands *next);

/* ---- Renderers ---------------------------------------------------------- */

// Prints a report as text to stdout.
void analyze_text(const analyze_job *job, const report *r);
// Prints a report as one JSON object to stdout.
void analyze_json(const analyze_job *job, const report *r);
// Writes a report as a self-contained HTML page.
void analyze_html(const analyze_job *job, const report *r, FILE *out);

/* ---- Lists --------------------------------------------------------------- */

// Prints the topics with the thresholds of --set.
void analyze_list_topics(void);
// Prints the rules of advice with their thresholds, and how each computes its
// gain.
void analyze_list_rules(void);

#endif // TS_TOOLS_ANALYZE_OUTPUT_OUTPUT_H
