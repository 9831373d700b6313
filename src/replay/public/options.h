/* ==== Options ============================================================ */

/*
    Define these before the header is included.

    TRACESMITH_REPLAY_IMPLEMENTATION  in exactly one C11 file: compiles the
                              functions of this header. They call functions of
                              tracesmith.h. Define TRACESMITH_IMPLEMENTATION in
                              the same file; if it is defined in another file,
                              define TRACESMITH_SALVAGE there as well.
    TRACESMITH_ZSTD           reads compressed chunks (link with -lzstd)
*/
