/*
    shell.h - the interactive prompt of ts-query

    It lies on top of tracesmith_tools.h, outside query/, because the library
    must not depend on a terminal.
*/
#ifndef TS_TOOLS_SHELL_SHELL_H
#define TS_TOOLS_SHELL_SHELL_H

#include "tools/cli/context.h"
#include "tools/tracesmith_tools.h"

// Reads and runs queries from the terminal until end of file. Returns CLI_OK or
// CLI_FAILED.
int shell_run(const cli_tool *tool, ts_sql *sql, ts_sql_format format);

#endif // TS_TOOLS_SHELL_SHELL_H
