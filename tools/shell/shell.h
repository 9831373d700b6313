/*
    shell.h - queries typed at a terminal

    A room of its own, on top of tracesmith_tools.h: a library has no terminal.
*/
#ifndef TS_TOOLS_SHELL_SHELL_H
#define TS_TOOLS_SHELL_SHELL_H

#include "tools/cli/context.h"
#include "tools/tracesmith_tools.h"

// Reads queries from a terminal until its end. Returns CLI_OK or CLI_FAILED.
int shell_run(const cli_tool *tool, ts_sql *sql, ts_sql_format format);

#endif // TS_TOOLS_SHELL_SHELL_H
