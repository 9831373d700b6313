/*
    archive.h - a trace as an archive of Open Trace Format 2
*/
#ifndef TS_TOOLS_EXPORT_OTF2_ARCHIVE_H
#define TS_TOOLS_EXPORT_OTF2_ARCHIVE_H

#include "tools/export/args.h"

extern const bool export_has_otf2; // whether this build has its library

typedef struct otf2_export {
    ts_reader *reader;
    const char *folder; // empty, or not there
    bool no_args;
    void (*progress)(void *user, int64_t now_ns);
    void *user;
} otf2_export;

// Writes traces.otf2 and what belongs to it into the folder. Call it within
// export_within_memory. *failed: a file cannot be written. Errors: those of
// ts_cursor_open, and the first damage in the walk.
ts_result export_otf2(const otf2_export *desc, export_counts *counts,
                      bool *failed);

#endif // TS_TOOLS_EXPORT_OTF2_ARCHIVE_H
