/*
    read_trace.c - read a trace: the total duration of each zone

    The reader returns the events of all threads and chunks in order of time. A
    filter selects kinds of events. Damage of the file is known after the loop.

    read_trace TRACE
*/
#include <inttypes.h>
#include <stdio.h>
#include "tracesmith_replay.h"

typedef struct total {
    uint64_t count;
    int64_t ns;
} total;

static void add(total *t, const ts_event *event)
{
    t->count++;
    t->ns += event->duration_ns;
}

// Sums the durations of zones by site; prints one line for each site.
static ts_result print_totals(ts_reader *reader)
{
    static total totals[1000]; // by site; the last one sums all further sites
    const uint32_t last = sizeof totals / sizeof *totals - 1;
    const ts_filter zones = { .kinds = TS_FILTER(ZONE) };
    ts_cursor *cursor;
    ts_event event;
    ts_result result = ts_cursor_open(&cursor, reader, &zones);
    if (result != TS_OK) return result;
    while (ts_cursor_next(cursor, &event)) {
        const uint64_t site = ts_event_value(&event, TS_COLUMN_SITE);
        add(&totals[site < last ? site : last], &event);
    }
    result = ts_cursor_result(cursor);
    ts_cursor_close(cursor);
    for (uint32_t i = 0; i <= last; i++) {
        const ts_text name = ts_reader_site_name(reader, i);
        if (totals[i].count)
            printf("%12" PRId64 " ns %8" PRIu64 " x %s\n", totals[i].ns,
                   totals[i].count, i < last ? name.text : "(others)");
    }
    return result;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: read_trace TRACE\n", stderr);
        return 2;
    }
    ts_reader *reader;
    const ts_reader_desc desc = { .path = argv[1] };
    ts_result result = ts_reader_open(&reader, &desc);
    if (result == TS_OK) {
        result = print_totals(reader);
        printf("%" PRIu64 " records lost\n", ts_reader_info(reader)->lost);
    }
    if (result != TS_OK)
        fprintf(stderr, "read_trace: %s: %s\n", argv[1],
                ts_result_text(result));
    ts_reader_close(reader);
    return result == TS_OK ? 0 : 1;
}
