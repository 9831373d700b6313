/*
    call_class.h - classes of vendor API calls
*/
#ifndef TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H
#define TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H

#include "tools/cli/cli.h"

// What a call of a vendor's library does.
typedef enum call_class {
    CALL_OTHER = 0,
    CALL_ALLOC,       // allocation and free of device memory
    CALL_HOST_MEMORY, // pinned memory: allocated, registered, freed
    CALL_LOAD,        // module loading; compilation
    CALL_CREATE,      // creation and destruction of streams, events, graphs
    CALL_QUERY,       // queries whether something is complete
    CALL_CLASSES
} call_class;

// Returns the class of a call of any vendor by its name, such as "cudaMalloc".
call_class call_class_of(ts_text name);
// Returns the name of a class: "allocation", "creation of streams, events and
// graphs".
const char *call_class_name(call_class class_of);

#endif // TS_TOOLS_ANALYZE_FIGURES_BASE_CALL_CLASS_H
