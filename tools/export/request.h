/*
    request.h - choosing the format, checking options and output
*/
#ifndef TS_TOOLS_EXPORT_REQUEST_H
#define TS_TOOLS_EXPORT_REQUEST_H

#include "tools/cli/context.h"
#include "tools/export/export.h"

// Formats of what ts-query sees: a folder with a file for each table, but for
// the last.
typedef enum export_tables {
    EXPORT_NO_TABLES = 0,
    EXPORT_PARQUET,
    EXPORT_CSV,
    EXPORT_OTF2, // no tables, but a folder, too
    EXPORT_NSYS  // tables as Nsight Systems has them, in one database
} export_tables;

typedef struct export_request {
    const char *format; // "perfetto", "chrome", "dot", "parquet", "csv"
    export_tables tables;
    const export_format *slices; // NULL: tables, or the format is dot
    export_packing packing;
} export_request;

/*
    Resolves the options of a desc. False, with the reason on stderr, if there
    is no such format, an option does not apply to it, or the output is the
    trace itself or would replace a file of another kind.
*/
bool export_request_read(export_request *request, const cli_tool *tool,
                         const ts_export_desc *desc);
// Returns a name for messages: the path, "standard output", or "the output" if
// there is no path.
const char *export_output_name(const ts_output *output);

#endif // TS_TOOLS_EXPORT_REQUEST_H
