/* ==== Options ============================================================ */

/*
    Define these before the header is included.

    TRACESMITH_REPLAY_IMPLEMENTATION  in exactly one C11 file: compiles the
                              functions of this header. They call functions of
                              tracesmith.h. Define TRACESMITH_IMPLEMENTATION in
                              the same file; if it is defined in another file,
                              define TRACESMITH_SALVAGE there as well.
    TRACESMITH_NO_THREADS     no threads and no locks: one thread at a time uses
                              a reader and what is made from it
    TRACESMITH_NO_FILES       no files and no sidecars: a trace is in memory or
                              is read through a function (ts_reader_desc.read).
                              With both, this header needs the C library alone,
                              and compiles for WebAssembly (wasm32-wasi)
                              On Windows, files are read, and there are no
                              sidecars; systems other than that and Linux
                              need this option
    TRACESMITH_ZSTD           reads compressed chunks (link with -lzstd)
*/
