/*
    info.h - what ts-info.c and its JSON form share
*/
#ifndef TS_INFO_H
#define TS_INFO_H

#include "tools/cli/cli.h"

uint64_t info_event_count(const ts_info *info); // of every kind
cli_text info_session(const ts_info *info);     // 32 hexadecimal digits
const char *info_chunk_name(uint32_t kind);     // "names", "events", ...

// The events of each track, by its position; NULL if that would take long.
// free() it.
uint64_t *info_track_events(const cli_trace *trace);

// Prints the whole report as one JSON object.
void info_json(const cli_trace *trace, const char *path, bool verified,
               bool chunks);

// Lists the sidecars in folders (none: where they usually lie), and removes
// those whose trace is gone. The exit status.
int info_stale(const cli_tool *tool, char *const *folders, size_t count,
               bool want_json, bool remove);

#endif // TS_INFO_H
