/*
    memory_counters.c - memory counters that the source recorded
*/
#include "tools/analyze/topics/memory.h"

typedef struct counter_most {
    int64_t value, time_ns;
    bool seen;
} counter_most;

static bool is_bytes(ts_text unit)
{
    return (unit.size == 5 && !memcmp(unit.text, "bytes", 5)) ||
           (unit.size == 1 && *unit.text == 'B');
}

// Finds the maximum of each counter of bytes of a file, by the position of its
// track.
static bool find_counters(const memory_job *a, uint32_t file,
                          counter_most *most)
{
    ts_reader *const reader = analyze_reader(a->job, file);
    const ts_filter filter = { .kinds = TS_FILTER(COUNTER) };
    cli_map places = { 0 };
    ts_cursor *cursor;
    ts_event event;
    ts_track track;
    bool ok = true;
    for (size_t i = 0; ok && ts_reader_track_at(reader, i, &track); i++)
        if (track.type == TS_TRACK_COUNTER && is_bytes(track.unit))
            ok = cli_map_set(&places, track.id, (uint32_t)i);
    if (ok && places.count &&
        ts_cursor_open(&cursor, reader, &filter) == TS_OK) {
        while (ts_cursor_next(cursor, &event)) {
            const uint32_t at = cli_map_row(&places, event.track);
            if (at == CLI_NONE ||
                ts_event_value(&event, TS_COLUMN_TYPE) != TS_VALUE_INT)
                continue;
            const int64_t value =
                (int64_t)ts_event_value(&event, TS_COLUMN_VALUE);
            if (value < 0 || (most[at].seen && value <= most[at].value))
                continue;
            most[at] = (counter_most){ value, event.start_ns + a->offsets[file],
                                       true };
        }
        ok = ts_cursor_result(cursor) != TS_ERR_MEMORY;
        ts_cursor_close(cursor);
    }
    cli_map_close(&places);
    return ok;
}

// Compares a counter with the pools. A counter of an allocator has its maximum
// at the peak of its pool.
static void compare(memory_job *a, uint32_t file, ts_text counter,
                    const counter_most *most)
{
    for (uint32_t i = 0; i < a->m.pool_count; i++) {
        const memory_pool *const p = &a->m.pools[i];
        if (p->file != file || p->peak_ns != most->time_ns ||
            (uint64_t)most->value <= p->peak_size)
            continue;
        if ((uint64_t)most->value > a->counted.size) {
            a->counted.size = (uint64_t)most->value;
            a->counted.pool = i;
            a->counted.counter = counter;
        }
        const ts_text name = topic_memory_pool(a, i);
        report_trust(a->section, REPORT_MEDIUM,
                     "at the peak of %.*s a counter shows %s: %s were "
                     "allocated before the trace began",
                     (int)name.size, name.text,
                     cli_bytes((uint64_t)most->value).s,
                     cli_bytes((uint64_t)most->value - p->peak_size).s);
    }
}

// Reads the counters of the source's own allocator. They include blocks from
// before the trace.
bool topic_memory_counters(memory_job *a)
{
    static const report_column columns[] = {
        { "counter", "counter", REPORT_TEXT },
        { "track", "of", REPORT_TEXT },
        { "most_bytes", "most", REPORT_BYTES },
        { "time_ns", "at", REPORT_TIME },
    };
    report_table *t = NULL;
    for (uint32_t f = 0; f < a->job->file_count; f++) {
        ts_reader *const reader = analyze_reader(a->job, f);
        const uint32_t count = analyze_info(a->job, f)->track_count;
        counter_most *const most = calloc((size_t)count + 1, sizeof *most);
        if (!most || !find_counters(a, f, most)) {
            free(most);
            return false;
        }
        ts_track track;
        for (uint32_t i = 0; i < count; i++) {
            if (!most[i].seen || !ts_reader_track_at(reader, i, &track))
                continue;
            if (!t)
                t = report_table_begin(a->section, "counters",
                                       "Counters of bytes", columns, 4);
            const report_value row[] = {
                report_text(track.name),
                report_text(analyze_track(a->job, f, track.parent)),
                report_bytes((uint64_t)most[i].value),
                report_time(most[i].time_ns),
            };
            const report_evidence e =
                report_from_to(f, most[i].time_ns, most[i].time_ns + 1);
            report_row(t, row, &e);
            compare(a, f, track.name, &most[i]);
        }
        free(most);
    }
    if (t)
        report_note(a->section, "Counters may include blocks that were "
                                "allocated before the trace began; pools do "
                                "not.");
    return true;
}
