/*
    child.h - a library that reads files, in a process of its own

    Some libraries abort, never end or want all memory if a file is damaged. In
    a child they take nothing with them: what the child wrote before is
    imported, and the rest is said to be unreadable.
*/
#ifndef TS_TOOLS_IMPORT_CHILD_H
#define TS_TOOLS_IMPORT_CHILD_H

#include "tools/import/import.h"

typedef struct import_child {
    int pid, fd;      // fd: what it writes
    bool is_silent;   // it was, for too long
    bool is_read;     // to the end
    size_t at, count; // of what is in `bytes` and not given yet
    uint8_t bytes[16 << 10];
} import_child;

// How long a child may write nothing; a test makes it shorter.
extern int import_child_silence_ms;

// Starts a child that calls work(out, user) and ends; false: it cannot. It may
// use 2 GiB of memory, and its messages on stderr are dropped. Do not write to
// the trace in it.
bool import_child_start(import_child *child,
                        void (*work)(FILE *out, void *user), void *user);
// Reads exactly `size` bytes; false at the end, or if the child is silent for
// too long.
bool import_child_read(import_child *child, void *bytes, size_t size);
// Ends the child, at once if it was not read to the end. Returns why it did not
// end by itself; NULL: it did, or the reader did not want more.
const char *import_child_end(import_child *child);

#endif // TS_TOOLS_IMPORT_CHILD_H
