/*
    report_parts.h - private: what the ways of telling a difference share
*/
#ifndef TS_TOOLS_DIFF_REPORT_PARTS_H
#define TS_TOOLS_DIFF_REPORT_PARTS_H

#include "tools/diff/diff.h"

// The metric by which a subject is compared first.
diff_metric diff_main(diff_subject subject);
// "slower", "fewer", "fewer, each slower", "noise", "new": each with the test
// of what it says.
cli_text diff_word(const diff *d, const diff_row *row);
// "a step", "a found step", "all": what the values of a row are of.
const char *diff_unit(const diff *d, const diff_row *row);
// The first row of a subject, which may be its only one, or NULL.
const diff_row *diff_single(const diff *d, diff_subject subject);
// Whether anything of some subjects (bits) is not the same.
bool diff_any_changed(const diff *d, uint32_t subjects);
// A table of what is not the same in some subjects (bits). False: no memory.
bool diff_put_table(diff *d, report_section *s, uint32_t subjects,
                    const char *key, const char *title);
// Significant, new, gone, or more or fewer in number.
bool diff_differs(const diff *d, const diff_row *row);
bool diff_all_same(const diff *d);
// At most 47 bytes of a name.
cli_text diff_short(ts_text name);
// What is compared, and what of it differs.
void diff_put_about(diff *d, report *r);
void diff_put_answer(const diff *d, report_section *s);
void diff_put_trust(const diff *d, report_section *s);

// "regressed", "noise", ...
const char *diff_verdict_name(diff_verdict verdict);
// "passed", "FAILED", diff_gate_untested (the very pointer), ...
const char *diff_gate_state(const diff_gates *gates, const diff_gate *g);
extern const char diff_gate_untested[];

#endif // TS_TOOLS_DIFF_REPORT_PARTS_H
