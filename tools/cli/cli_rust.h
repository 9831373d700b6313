/*
    cli_rust.h - names of Rust functions, for cli_demangle
*/
#ifndef TS_CLI_RUST_H
#define TS_CLI_RUST_H

#include "tools/ts_cli.h"

// A name that begins with "_R" as people read it, to be freed; NULL: it is
// none, or its text would be longer than 4,096 bytes.
char *cli_rust_name(const char *name);

#endif // TS_CLI_RUST_H
