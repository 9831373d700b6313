/*
    tracesmith_replay.h - read SBT traces and replay them

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        Opens a trace (a file, a block of memory, or a file that is still being
        written), salvages the records of a writer that died, and returns the
        events: as columns, chunk by chunk, or one by one in order of time.
        Builds the dependency graph of the GPU operations and replays it as a
        schedule.

    WHAT IT DOES NOT DO
        It knows no vendor, no output format and no tool. It never prints.

    USE
        #define TRACESMITH_REPLAY_IMPLEMENTATION // in one file
        #define TRACESMITH_IMPLEMENTATION
        #include "tracesmith_replay.h"

        ts_reader *reader;
        const ts_reader_desc desc = { .path = "trace.sbt" };
        if (ts_reader_open(&reader, &desc) != TS_OK) return 1;
        ts_cursor *cursor;
        ts_event event;
        ts_cursor_open(&cursor, reader, NULL);
        while (ts_cursor_next(cursor, &event))
            printf("%lld %s\n", (long long)event.start_ns,
                   ts_event_name(event.kind));
        ts_cursor_close(cursor);
        ts_reader_close(reader);

    CONTENTS                            search for "==== 4." to jump
        1. Options
        2. Reader                       open, session, damage, losses
        3. Dictionaries                 names, sites, tracks, launches
        4. Columns                      chunks as decoded arrays
        5. Cursor                       events in order of time
        6. Replay                       operations, dependencies, schedule
        7. Models                       what-ifs, critical path, steps
        8. Timeline                     stream states, idle time, its causes
        9. Races                        unordered accesses, other legal orders
       10. Execution                    captured operations, running them again
       11. Implementation               private
*/
#ifndef TRACESMITH_REPLAY_H
#define TRACESMITH_REPLAY_H

#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && !defined(_GNU_SOURCE) && \
    !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L // before the first system header
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE // madvise
#endif
#endif
#if defined(TRACESMITH_REPLAY_IMPLEMENTATION) && \
    !defined(_FILE_OFFSET_BITS) && !defined(_WIN32)
#define _FILE_OFFSET_BITS 64 // files of 2 GiB, on machines of 32 bits
#endif
#include "tracesmith.h"
