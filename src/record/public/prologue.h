/*
    tracesmith.h - record what a CPU + GPU program did into one file

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Records zones, marks, messages, counters, allocations, frames, flows,
        spans and GPU operations into one ring for each thread, and from there
        into an SBT file (docs/sbt-format.md). A record survives the death of
        the process from the moment its recording call has returned. Records
        that are lost for another reason are counted in the trace, with the
        cause.

    WHAT IT DOES NOT DO
        It does not read traces (tracesmith_replay.h does), draw, upload, or
        read environment variables. It never prints and never aborts: every
        failure is a ts_result or a row of the loss ledger. It knows no
        vendor's GPU interface; backends/ do.

    USE
        #define TRACESMITH_IMPLEMENTATION // in one file of the program
        #include "tracesmith.h"
        #include <stdio.h>

        int main(void)
        {
            const ts_session_desc desc = { .path = "trace.sbt" };
            ts_session_start(&desc); // ts_session_stop returns its failure
            for (int i = 0; i < 3; i++) {
                TS_ZONE("work");
                TS_COUNTER("i", i);
            }
            const ts_result result = ts_session_stop();
            if (result == TS_OK) return 0;
            fprintf(stderr, "trace.sbt: %s\n", ts_result_text(result));
            return 1;
        }

    CONTENTS                            search for "==== 4." to jump
        1. Options                      macros that change the build
        2. Results                      every way a call can fail
        3. Format                       SBT: numbers and sizes
        4. Session                      start, stop, flush, dump
        5. Names                        sites, names, counters, metadata
        6. Hot path                     what an instrumented line runs
        7. Zones
        8. Marks, counters, memory, frames, flows, spans
        9. GPU                          devices, streams, operations, backends
       10. Losses and salvage
       11. Writer                       a trace from times known otherwise
       12. Implementation               private
*/
#if defined(TRACESMITH_IMPLEMENTATION) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE // before the first system header
#endif
#if defined(TRACESMITH_IMPLEMENTATION) && !defined(_FILE_OFFSET_BITS)
#define _FILE_OFFSET_BITS 64 // files of 2 GiB, on machines of 32 bits
#endif
#ifndef TRACESMITH_H
#define TRACESMITH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
