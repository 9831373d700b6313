/*
    findings.h - what a trace lost, and where it is damaged
*/
#ifndef TS_TOOLS_EXPORT_FINDINGS_H
#define TS_TOOLS_EXPORT_FINDINGS_H

#include "tools/export/args.h"

// Losses and stalls as slices beside the track that had them; those outside
// the range stay out, so that they do not widen the picture.
void export_show_losses(export_rows *rows, export_args *args,
                        const export_options *options);
// Damage as instants at the time that the file had reached there.
void export_show_damage(export_rows *rows, export_args *args,
                        const export_options *options);

#endif // TS_TOOLS_EXPORT_FINDINGS_H
