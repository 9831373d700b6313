/*
    calls.c - loads the calls of a vendor's library with their classes
*/
#include "tools/analyze/advice/advice.h"

static int by_place(const void *left, const void *right)
{
    const advice_call *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
}

static void add_call(advice *a, size_t *room, const advice_call *call)
{
    if (!cli_grow(&a->calls, room, a->call_count + 1, sizeof *a->calls)) {
        a->failed = true;
        return;
    }
    a->calls[a->call_count++] = *call;
}

static void load_file(advice *a, uint32_t file, size_t *room)
{
    ts_reader *const reader = analyze_reader(a->job, file);
    const uint32_t names = analyze_info(a->job, file)->name_count;
    const ts_filter filter = { .kinds = TS_FILTER(API_CALL) };
    ts_replay_file place = { 0 };
    ts_replay_file_at(a->replay, file, &place);
    // Cache by name, since names are few and calls many. 0: unset, else class +
    // 1.
    uint8_t *const classes = calloc((size_t)names + 2, 1);
    ts_cursor *cursor;
    ts_event event;
    if (!classes || ts_cursor_open(&cursor, reader, &filter) != TS_OK) {
        a->failed = true;
        free(classes);
        return;
    }
    while (ts_cursor_next(cursor, &event) && !a->failed) {
        const uint32_t name = (uint32_t)ts_event_value(&event, TS_COLUMN_NAME);
        uint8_t class_of = name <= names ? classes[name] : 0;
        if (!class_of)
            class_of =
                (uint8_t)(call_class_of(ts_reader_name(reader, name)) + 1);
        if (name <= names) classes[name] = class_of;
        if (class_of == CALL_OTHER + 1) continue;
        const int64_t start = event.start_ns + place.offset_ns;
        const advice_call call = { file,  event.track,
                                   name,  (call_class)(class_of - 1),
                                   start, start + event.duration_ns };
        add_call(a, room, &call);
    }
    ts_cursor_close(cursor);
    free(classes);
}

void advice_load_calls(advice *a)
{
    if (a->has_calls) return;
    a->has_calls = true;
    size_t room = 0;
    for (uint32_t i = 0; i < a->job->file_count && !a->failed; i++)
        load_file(a, i, &room);
    if (a->call_count)
        qsort(a->calls, a->call_count, sizeof *a->calls, by_place);
}
