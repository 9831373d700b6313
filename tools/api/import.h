/*
    import.h - an import while it runs and when it is done
*/
#ifndef TS_TOOLS_API_IMPORT_H
#define TS_TOOLS_API_IMPORT_H

#include "tools/api/call.h"
#include "tools/import/import.h"
#include "tools/import/outputs.h"

struct ts_import {
    import_outputs outputs;
    ts_import_output *written;  // of each
    ts_named_count *counts;     // of all tallies
    const ts_import_desc *desc; // while the call lasts
    bool verbose;
    size_t sources, unknown, failed, cut, left_out;
    char *unknown_name; // of the last one
    bool is_sbt;        // it is
    bool is_database;   // of SQLite
};

#endif // TS_TOOLS_API_IMPORT_H
