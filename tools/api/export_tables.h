/*
    export_tables.h - what ts-query sees: files of a folder, or a database
*/
#ifndef TS_TOOLS_API_EXPORT_TABLES_H
#define TS_TOOLS_API_EXPORT_TABLES_H

#include "tools/api/call.h"
#include "tools/export/request.h"

/*
    Writes each table of the trace desc->path to a file in the folder
    desc->output.path, and counts them. A table that cannot be had is left out,
    with the reason on stderr. False if any is, or if the trace is damaged.
*/
bool api_export_tables(api_call *call, const cli_tool *tool,
                       const ts_export_desc *desc,
                       const export_request *request, ts_export_counts *counts);

// Writes the database desc->output.path, and counts its tables and rows.
bool api_export_nsys(const cli_tool *tool, const ts_export_desc *desc,
                     ts_export_counts *counts);

// Says which events are left out: counts, by kind. "3 dependency, 1 access"
void api_report_left_out(const cli_tool *tool, const ts_export_desc *desc,
                         const char *format, const uint64_t *counts);

#endif // TS_TOOLS_API_EXPORT_TABLES_H
