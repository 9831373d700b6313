/* ==== Options ============================================================ */

/*
    TRACESMITH_REPLAY_IMPLEMENTATION  in one C11 file: the functions. They
                              use those of tracesmith.h: give that file, or
                              another one, TRACESMITH_IMPLEMENTATION too,
                              the other one with TRACESMITH_SALVAGE
    TRACESMITH_ZSTD           compressed chunks can be read (needs -lzstd)
*/
