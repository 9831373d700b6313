/*
    request.h - which format is meant, and whether its output can be written
*/
#ifndef TS_TOOLS_EXPORT_REQUEST_H
#define TS_TOOLS_EXPORT_REQUEST_H

#include "tools/cli/context.h"
#include "tools/export/export.h"

typedef struct export_request {
    const char *format;          // "perfetto", "chrome", "dot"
    const export_format *slices; // NULL: it is a graph
    export_packing packing;
} export_request;

/*
    Finds out what a desc asks for. False, with the reason on stderr: there is
    no such format, an option is not of it, or the output is the trace itself
    or would replace a file of another kind.
*/
bool export_request_read(export_request *request, const cli_tool *tool,
                         const ts_export_desc *desc);
// For messages: "standard output", "the output" if it is no path.
const char *export_output_name(const ts_output *output);

#endif // TS_TOOLS_EXPORT_REQUEST_H
