/* ==== Implementation ===================================================== */

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && \
    !defined(TS__REPLAY_IMPLEMENTED)
#define TS__REPLAY_IMPLEMENTED

#ifdef __cplusplus
#error "tracesmith_replay.h: the implementation is C11, compile it as C"
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifndef TRACESMITH_NO_THREADS
#include <pthread.h>
#include <unistd.h> // sysconf
#endif
#ifdef _WIN32
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <fcntl.h>
#include <io.h>
#include <malloc.h>
#endif
#ifndef TRACESMITH_NO_FILES
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>
#endif

#include "tracesmith.h" // ts_salvage, if the recorder's functions are here

#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>
#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#endif
#ifdef TRACESMITH_ZSTD
#ifndef ZSTD_STATIC_LINKING_ONLY
#define ZSTD_STATIC_LINKING_ONLY // for contexts in our own memory
#endif
#include <zstd.h>
#endif

/*
    How a trace is read:

        bytes (read)   --> index, or walk from chunk to chunk
                               |
                               v
        chunk table:  header, offset, "sealed" once its checksum was seen
            |                  |
            | at open          | when asked for, on any thread
            v                  v
        dictionaries,      ts_columns (one chunk decoded) --> cursor: a heap
        clocks, losses                                        of open chunks

    The rule for hostile bytes: every number from the file is compared with
    what is left before it is used, nothing is read from a chunk before its
    checksum was right, and what is checked is a copy that nobody changes.
*/

// The body of a function that returns the name of a number of a list.
#define TS__NAME_CASE(name, value, text) \
    case value: \
        return text;
#define TS__NAME_IN(list, number) \
    switch (number) { \
        list(TS__NAME_CASE) default : return "unknown"; \
    }
