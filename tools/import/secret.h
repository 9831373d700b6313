/*
    secret.h - secrets in metadata
*/
#ifndef TS_TOOLS_IMPORT_SECRET_H
#define TS_TOOLS_IMPORT_SECRET_H

#include "tools/cli/cli.h"

// The name of a value that looks like an access token, a key or a password:
// of a variable within the text, or the key; empty: there is none. It lies in
// one of the two.
ts_text import_secret(ts_text key, ts_text text);

#endif // TS_TOOLS_IMPORT_SECRET_H
