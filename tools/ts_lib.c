/*
    ts_lib.c - the two headers as one library

    libtracesmith.a and libtracesmith.so are for programs that do not want
    an implementation in a file of their own. Programs that do need nothing
    of this.
*/
#define TRACESMITH_IMPLEMENTATION
#define TRACESMITH_REPLAY_IMPLEMENTATION
#define TRACESMITH_WRITER
#include "tracesmith.h"
#include "tracesmith_replay.h"
