/* ==== Cursor ============================================================= */

typedef struct ts_cursor ts_cursor;

typedef struct ts_event {
    ts_event_kind kind;
    uint32_t track;
    int64_t start_ns, duration_ns; // duration 0: a moment
    const ts_columns *columns;     // where the rest is ...
    uint32_t row;                  // ... until the next call of the cursor
} ts_event;

/*
    Yields the events of a filter (NULL: all) in order of start; at equal
    starts by track, longer first, kind, then order of recording, which for
    zones is reversed: a zone comes before those inside it. The order is the
    same on every machine. Damaged chunks are skipped and reported by
    ts_cursor_result after the loop.
    Memory: the decoded chunks that overlap the present moment.
*/
TS_API ts_result ts_cursor_open(ts_cursor **cursor, ts_reader *reader,
                                const ts_filter *filter);
TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event);
TS_API ts_result ts_cursor_result(const ts_cursor *cursor);
TS_API void ts_cursor_close(ts_cursor *cursor); // NULL is allowed

// One value of an event; 0 if it has none. Texts are not terminated.
static inline uint64_t ts_event_value(const ts_event *event, ts_column column)
{
    const uint64_t *const values = event->columns->values[column];
    return values ? values[event->row] : 0;
}
static inline ts_text ts_event_text(const ts_event *event)
{
    ts_text text = { "", 0 };
    if (event->columns->text_sizes) {
        text.text = event->columns->texts[event->row];
        text.size = event->columns->text_sizes[event->row];
    }
    return text;
}
// What to call an event: a zone's or mark's site, a kernel, a function, else
// its kind. The text lives as long as the reader.
TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event);
