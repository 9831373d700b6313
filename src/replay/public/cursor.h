/* ==== Cursor ============================================================= */

// Iterates over events in order of time. Opaque.
typedef struct ts_cursor ts_cursor;

typedef struct ts_event {
    ts_event_kind kind;
    uint32_t track;
    int64_t start_ns, duration_ns; // duration 0: a point in time
    const ts_columns *columns;     // the chunk that holds the other values, and
    uint32_t row; // the event's row in it; both until the next call
} ts_event;

/*
    Opens a cursor over the events that match a filter (NULL: all). The filter
    is copied. *cursor is NULL on failure.

    Events come in order of start. At equal starts the order is: track, longer
    events first, kind, order of recording; zones are recorded when they end, so
    for them the last is reversed: a zone comes before the zones inside it. The
    order is the same on every machine. Damaged chunks are skipped; check
    ts_cursor_result after the loop.

    Threads: one at a time for each cursor; a reader may have many cursors.
    Memory:  the decoded chunks that overlap the current time.
    Errors:  TS_ERR_MEMORY.
    Free:    ts_cursor_close, before the reader is closed.
*/
TS_API ts_result ts_cursor_open(ts_cursor **cursor, ts_reader *reader,
                                const ts_filter *filter);

// Gets the next event. False at the end, or without memory.
TS_API bool ts_cursor_next(ts_cursor *cursor, ts_event *event);

// Returns the first error of ts_cursor_next: TS_OK, TS_ERR_MEMORY, or the
// result of the first damaged chunk.
TS_API ts_result ts_cursor_result(const ts_cursor *cursor);

// Closes a cursor. Events that it returned become invalid. NULL is allowed.
TS_API void ts_cursor_close(ts_cursor *cursor);

// Returns the value of a column of an event; 0 if the event has none.
static inline uint64_t ts_event_value(const ts_event *event, ts_column column)
{
    const uint64_t *const values = event->columns->values[column];
    return values ? values[event->row] : 0;
}

// Returns the text of an event, without a terminating zero; size 0 if the event
// has none. Lifetime: until the next call of the cursor.
static inline ts_text ts_event_text(const ts_event *event)
{
    ts_text text = { "", 0 };
    if (event->columns->text_sizes) {
        text.text = event->columns->texts[event->row];
        text.size = event->columns->text_sizes[event->row];
    }
    return text;
}

// Returns a name for an event: that of its site, kernel, function or counter,
// or else of its kind. Lifetime: as long as the reader is open.
TS_API ts_text ts_event_label(const ts_reader *reader, const ts_event *event);
