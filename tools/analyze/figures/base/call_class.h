/*
    call_class.h - calls of a vendor's library, by what they do
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H

#include "tools/cli/cli.h"

// Calls of the vendor's library, by what they do.
typedef enum call_class {
    CALL_OTHER = 0,
    CALL_ALLOC,       // and free, on a device
    CALL_HOST_MEMORY, // pinned: made, registered, freed
    CALL_LOAD,        // of modules; compilation
    CALL_CREATE,      // of streams, events, graphs; and their end
    CALL_QUERY,       // asks whether something is done
    CALL_CLASSES
} call_class;

// The class of a call by its name, of whatever vendor: "cudaMalloc".
call_class call_class_of(ts_text name);
// "allocation", "creation of streams, events and graphs".
const char *call_class_name(call_class class_of);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H
