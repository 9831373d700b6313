/*
    findings.h - losses and damage of a trace as items
*/
#ifndef TS_TOOLS_EXPORT_FINDINGS_H
#define TS_TOOLS_EXPORT_FINDINGS_H

#include "tools/export/args.h"

// Adds losses and stalls as slices on rows next to their tracks. Those outside
// the range are left out, because they would widen the displayed range.
void export_show_losses(export_rows *rows, export_args *args,
                        const export_options *options);
// Adds damage as instants, at the time of the events before it in the file.
void export_show_damage(export_rows *rows, export_args *args,
                        const export_options *options);

#endif // TS_TOOLS_EXPORT_FINDINGS_H
