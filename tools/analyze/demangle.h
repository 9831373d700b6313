/*
    demangle.h - names of C++ and Rust functions as they were written
*/
#ifndef TS_DEMANGLE_H
#define TS_DEMANGLE_H

#include "tools/ts_cli.h"

/*
    A new text, to be freed, of a mangled name; NULL: it is none, cannot be
    read, would be too long, or nothing on this machine can read such names.
*/
char *demangle(const char *name, size_t size);

// When no more names are to be read.
void demangle_end(void);

// Whether this machine has what reads names of C++.
bool demangle_works(void);

/*
    A name without what differs between instances of a template: arguments
    become <...>, parameters and a leading "void " are left out. A new text, to
    be freed; NULL without memory.
*/
char *demangle_collapse(const char *name, size_t size);

/*
    The same for where there is little room: what namespaces and types say in
    front of a name is left out, too; template arguments stay.
*/
char *demangle_brief(const char *name, size_t size);

#endif // TS_DEMANGLE_H
