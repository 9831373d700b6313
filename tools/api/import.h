/*
    import.h - the handle of an import
*/
#ifndef TS_TOOLS_API_IMPORT_H
#define TS_TOOLS_API_IMPORT_H

#include "tools/api/call.h"
#include "tools/import/import.h"
#include "tools/import/execution/execution.h"
#include "tools/import/outputs.h"

struct ts_import {
    import_outputs outputs;
    ts_import_output *written;  // one for each output
    ts_named_count *counts;     // of all tallies, one array
    const ts_import_desc *desc; // valid during the call only
    bool verbose;
    size_t sources, unknown, failed, cut, left_out;
    char *unknown_name; // path of the last unknown file
    bool is_sbt;        // the unknown file is a trace
    bool is_database;   // the unknown file is an SQLite database
    const char *named;  // what else it is, or NULL
    import_executions executions;
};

// Reads the execution traces among the files, to join the others with. False:
// not all of them could be read, for reasons on stderr.
bool api_import_executions(ts_import *all, const cli_tool *tool);

#endif // TS_TOOLS_API_IMPORT_H
