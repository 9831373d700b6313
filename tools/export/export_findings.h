/*
    export_findings.h - what a trace lost, and where it is damaged
*/
#ifndef TS_EXPORT_FINDINGS_H
#define TS_EXPORT_FINDINGS_H

#include "tools/export/export_args.h"

// Losses and stalls as slices beside the track that had them.
void export_show_losses(export_rows *rows, export_args *args);
// Damage as instants at the time that the file had reached there.
void export_show_damage(export_rows *rows, export_args *args);

#endif // TS_EXPORT_FINDINGS_H
