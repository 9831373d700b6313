/*
    info.h - what the text and the JSON report of ts-info share
*/
#ifndef TS_INFO_H
#define TS_INFO_H

#include "tools/cli/cli.h"

uint64_t info_event_count(const ts_info *info); // of every kind
cli_text info_session(const ts_info *info);     // 32 hexadecimal digits
const char *info_chunk_name(uint32_t kind);     // "names", "events", ...

// Counts the events of each track, by its position. Free with free(). NULL if
// counting would take long.
uint64_t *info_track_events(const cli_trace *trace);

// Prints the whole report as one JSON object.
void info_json(const cli_trace *trace, const char *path, bool verified,
               bool chunks);

// Lists the sidecars in folders (count 0: the default folders); with `remove`,
// removes those whose trace is gone. Returns the exit code.
int info_stale(const cli_tool *tool, char *const *folders, size_t count,
               bool option_json, bool remove);

#endif // TS_INFO_H
