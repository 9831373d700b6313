/*
    strings.h - texts of a source by number

    Such as StringIds of Nsight Systems, rocpd_string of ROCm. A text becomes a
    name of the trace when it is first used.
*/
#ifndef TS_TOOLS_IMPORT_STRINGS_H
#define TS_TOOLS_IMPORT_STRINGS_H

#include "tools/import/import.h"

typedef struct import_strings import_strings;

import_strings *import_strings_open(import_job *job); // NULL: no memory
// Frees the texts; NULL is allowed.
void import_strings_free(import_strings *strings);
// Adds a text. One that is there is replaced, a flaw. False: no memory.
bool import_strings_put(import_strings *strings, int64_t id, const char *text,
                        size_t size);
// Returns the text of a number; "" if there is none.
ts_text import_strings_text(const import_strings *strings, int64_t id);
// Adds a kernel with this name as import_kernel does; faster if it is no
// collective.
void import_strings_kernel(import_strings *strings, int64_t id,
                           import_operation *operation);
// Returns the trace's number of the text; 0: none.
uint32_t import_strings_name(import_strings *strings, int64_t id);

#endif // TS_TOOLS_IMPORT_STRINGS_H
