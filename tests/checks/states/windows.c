/*
    windows.c - whether windows of a trace add up to it

        windows TRACE...

    Idle and busy time of overviews with several sizes of windows must be those
    of the whole graph, to the nanosecond. How much of the idle time has
    another cause is printed; with windows of some thousand operations it may
    be a hundredth.
*/
#include "tracesmith_replay.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

static bool same(const ts_timeline_figures *a, const ts_timeline_figures *b,
                 uint32_t window)
{
    int64_t moved = 0;
    for (int i = 0; i < TS_IDLE_LIMIT; i++)
        moved += distance(a->cause_ns[i], b->cause_ns[i]);
    printf("windows of %" PRIu32 ": idle %" PRId64 " and %" PRId64
           " ns, %" PRId64 " with another cause\n",
           window, a->idle_ns, b->idle_ns, moved / 2);
    bool ok = a->idle_ns == b->idle_ns && a->busy_ns == b->busy_ns &&
              a->start_ns == b->start_ns && a->end_ns == b->end_ns &&
              a->operations == b->operations;
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        ok &= a->only_ns[i] == b->only_ns[i] && a->work_ns[i] == b->work_ns[i];
    return ok && (window < 2000 || moved / 2 <= a->idle_ns / 100);
}

static bool check(ts_reader *reader)
{
    ts_replay *replay;
    ts_timeline *whole;
    if (ts_replay_open(&replay, reader, NULL) != TS_OK) return false;
    if (ts_timeline_open(&whole, replay, NULL) != TS_OK) return false;
    bool ok = true;
    for (uint32_t window = 100; window < 100000; window = window * 7 / 2) {
        const ts_overview_desc desc = { .window_operations = window,
                                        .threads = 2 };
        ts_overview *overview;
        if (ts_overview_open(&overview, reader, &desc) != TS_OK) return false;
        size_t i = 0;
        for (; ts_overview_device(overview, i); i++)
            ok &= ts_timeline_device(whole, i) &&
                  same(ts_overview_device(overview, i),
                       ts_timeline_device(whole, i), window);
        ok &= i == ts_replay_device_count(replay);
        ts_overview_close(overview);
    }
    ts_timeline_close(whole);
    ts_replay_close(replay);
    return ok;
}

int main(int argc, char **argv)
{
    bool ok = true;
    for (int i = 1; i < argc; i++) {
        ts_reader *reader;
        const ts_reader_desc desc = { .path = argv[i] };
        if (ts_reader_open(&reader, &desc) != TS_OK) return 2;
        if (!check(reader)) {
            printf("%s does not add up\n", argv[i]);
            ok = false;
        }
        ts_reader_close(reader);
    }
    return ok ? 0 : 1;
}
