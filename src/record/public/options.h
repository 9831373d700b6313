/* ==== Options ============================================================ */

/*
    TRACESMITH_IMPLEMENTATION  define it in one C11 or C++17 file: the
                               functions
    TRACESMITH_SALVAGE         beside it: ts_salvage as well, which readers
                               need; tracesmith_replay.h defines it where both
                               implementations are in one file
    TRACESMITH_DISABLE         every macro of sections 7 and 8 becomes
                               nothing; arguments are still type-checked
    TRACESMITH_ZSTD            the writer can compress (needs -lzstd)
    TRACESMITH_WRITER          beside it: section 11, ts_writer; libtracesmith
                               has it
    TRACESMITH_PICTURES        beside it: long traces get a top of their index,
                               and chunks of several streams pictures of each;
                               TRACESMITH_WRITER implies it
    TRACESMITH_NO_FILES        for systems without files (WebAssembly): as
                               TRACESMITH_DISABLE; tracesmith_replay.h then
                               reads traces in memory or through a function
    TRACESMITH_TICK()          another clock, for tests: an expression of type
                               uint64_t, nanoseconds, that never decreases
    TRACESMITH_STATIC          functions are static: for programs of one file,
                               whose compiler then drops unused functions
    TS_API                     how public functions are declared

    The recorder needs Linux. Elsewhere TRACESMITH_DISABLE compiles a program
    without recording, and tracesmith_replay.h reads traces.
*/
#if defined(_WIN32) && !defined(TRACESMITH_NO_FILES) && \
    (defined(TRACESMITH_DISABLE) || !defined(TRACESMITH_IMPLEMENTATION))
#define TRACESMITH_NO_FILES // no sidecars,
#define TS__WINDOWS_FILES   // but the reader opens paths
#endif
#if !defined(__linux__) && defined(TRACESMITH_IMPLEMENTATION) && \
    !defined(TRACESMITH_DISABLE) && !defined(TRACESMITH_NO_FILES)
#error "tracesmith.h records on Linux only: define TRACESMITH_DISABLE"
#define TRACESMITH_DISABLE
#define TRACESMITH_NO_FILES
#endif
#if defined(TRACESMITH_NO_FILES) && !defined(TRACESMITH_DISABLE)
#define TRACESMITH_DISABLE
#endif

#if defined(TRACESMITH_WRITER) && !defined(TRACESMITH_PICTURES)
#define TRACESMITH_PICTURES
#endif

#define TS_VERSION_MAJOR 0
#define TS_VERSION_MINOR 1
#define TS_VERSION_PATCH 0

// Visible even under -fvisibility=hidden, so that every shared object of a
// process finds the same session.
#if defined(TRACESMITH_STATIC) && !defined(TRACESMITH_DISABLE)
#define TS__STATIC
#endif
#ifndef TS_API
#ifdef TS__STATIC
#define TS_API static __attribute__((unused))
#elif defined(__cplusplus)
#define TS_API extern "C" __attribute__((visibility("default")))
#else
#define TS_API extern __attribute__((visibility("default")))
#endif
#endif

// What a designated initialiser leaves out is 0, also to C++ with -Wextra.
#if defined(__cplusplus) && __cplusplus >= 202002L
#define TS__UNSET \
    { \
    }
#else
#define TS__UNSET
#endif
