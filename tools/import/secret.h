/*
    secret.h - finding passwords and tokens in metadata
*/
#ifndef TS_TOOLS_IMPORT_SECRET_H
#define TS_TOOLS_IMPORT_SECRET_H

#include "tools/cli/cli.h"

// Returns the name of a value that looks like an access token, a key or a
// password: the name of a variable in `text`, or `key`. Empty if there is none.
// The result points into `key` or `text`.
ts_text import_secret(ts_text key, ts_text text);

#endif // TS_TOOLS_IMPORT_SECRET_H
