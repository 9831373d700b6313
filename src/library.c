/*
    library.c - the two headers as one library

    libtracesmith.a and libtracesmith.so are for programs that do not want
    an implementation in a file of their own. Programs that do need nothing
    of this. Compiled once for each header, with its implementation defined,
    so that a program with one of its own can take the other from here.
*/
#define TRACESMITH_SALVAGE
#define TRACESMITH_WRITER
#include "tracesmith_replay.h"
