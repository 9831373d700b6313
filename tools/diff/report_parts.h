/*
    report_parts.h - private: shared by the report, JUnit and Markdown outputs
*/
#ifndef TS_TOOLS_DIFF_REPORT_PARTS_H
#define TS_TOOLS_DIFF_REPORT_PARTS_H

#include "tools/diff/diff.h"

// Returns the main metric of a subject.
diff_metric diff_main(diff_subject subject);
// Returns the verdict on a row: "slower", "fewer", "fewer, each slower",
// "noise", "new". Each word rests on the test of its own metric.
cli_text diff_word(const diff *d, const diff_row *row);
// Returns what the values of a row count: "a step", "a detected step", "all".
const char *diff_unit(const diff *d, const diff_row *row);
// Returns the first (or only) row of a subject, or NULL.
const diff_row *diff_single(const diff *d, diff_subject subject);
// Whether any row of some subjects (bits) differs.
bool diff_any_changed(const diff *d, uint32_t subjects);
// Adds a table of the rows of some subjects (bits) that differ. Returns false
// if memory runs out.
bool diff_put_table(diff *d, report_section *s, uint32_t subjects,
                    const char *key, const char *title);
// Whether a row is significant, new, gone, or differs in count.
bool diff_differs(const diff *d, const diff_row *row);
// Whether all rows and the order of all streams are the same.
bool diff_all_same(const diff *d);
// Shortens a name to at most 47 bytes.
cli_text diff_short(ts_text name);
// Adds what is compared, and in what the sides differ.
void diff_put_about(diff *d, report *r);
// Adds the answer: what changed and why.
void diff_put_answer(const diff *d, report_section *s);
// Sets the confidence of the section.
void diff_put_trust(const diff *d, report_section *s);

// Returns the name of a verdict: "regressed", "noise", ...
const char *diff_verdict_name(diff_verdict verdict);
// Returns the state of a gate: "passed", "FAILED", ...; an untested gate
// returns the pointer diff_gate_untested itself.
const char *diff_gate_state(const diff_gates *gates, const diff_gate *g);
extern const char diff_gate_untested[];

// A weight of samples, which rows have in parts of its unit.
report_value diff_weight(const diff *d, int64_t parts);

#endif // TS_TOOLS_DIFF_REPORT_PARTS_H
