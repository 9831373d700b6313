/*
    feed.c - the cursor of the exporters, with open zones in place
*/
#include "tools/export/export.h"

struct export_feed {
    ts_cursor *cursor;
    ts_event event;        // the cursor's current event
    bool has_event, given; // given: the caller uses it and its columns
    // The open zones, as one decoded chunk.
    ts_columns zones;
    int64_t *start_ns, *duration_ns;
    uint64_t *ticks, *sites;
    uint32_t *tracks;
    uint32_t next;
    size_t capacity;
};

static void feed_keep(export_feed *feed, const ts_event *event, int64_t end_ns)
{
    const uint32_t i = feed->zones.count++;
    if (i == feed->capacity) {
        const size_t n = feed->capacity = i ? i * 2 : 64;
        feed->start_ns = export_resize(feed->start_ns, n * 8);
        feed->duration_ns = export_resize(feed->duration_ns, n * 8);
        feed->ticks = export_resize(feed->ticks, n * 8);
        feed->sites = export_resize(feed->sites, n * 8);
        feed->tracks = export_resize(feed->tracks, n * 4);
    }
    feed->start_ns[i] = event->start_ns;
    feed->duration_ns[i] =
        end_ns > event->start_ns ? end_ns - event->start_ns : 0;
    feed->ticks[i] = event->columns->start_ticks[event->row];
    feed->sites[i] = ts_event_value(event, TS_COLUMN_SITE);
    feed->tracks[i] = event->track;
}

// Open zones last until the end of the trace, so all that begin before the end
// of the range overlap it.
static ts_result feed_zones(export_feed *feed, ts_reader *reader,
                            const ts_filter *filter, int64_t end_ns)
{
    ts_filter open = *filter;
    open.kinds = TS_FILTER(ZONE_OPEN);
    open.from_ns = open.to_ns = 0;
    ts_cursor *cursor;
    ts_result result = export_cursor_open(&cursor, reader, &open);
    ts_event event;
    while (result == TS_OK && ts_cursor_next(cursor, &event))
        if (event.start_ns < end_ns || filter->to_ns == filter->from_ns)
            feed_keep(feed, &event, end_ns);
    if (result == TS_OK) result = ts_cursor_result(cursor);
    export_cursor_close(cursor);
    feed->zones.kind = TS_EVENT_ZONE_OPEN;
    feed->zones.track = TS_TRACK_MIXED;
    feed->zones.tracks = feed->tracks;
    feed->zones.start_ns = feed->start_ns;
    feed->zones.duration_ns = feed->duration_ns;
    feed->zones.start_ticks = feed->ticks;
    feed->zones.values[TS_COLUMN_SITE] = feed->sites;
    return result;
}

static void close_cursor(void *cursor)
{
    ts_cursor_close(cursor);
}

ts_result export_cursor_open(ts_cursor **cursor, ts_reader *reader,
                             const ts_filter *filter)
{
    const ts_result result = ts_cursor_open(cursor, reader, filter);
    if (result == TS_ERR_MEMORY) export_give_up();
    if (result == TS_OK) export_push(close_cursor, *cursor);
    return result;
}

void export_cursor_close(ts_cursor *cursor)
{
    if (!cursor) return;
    export_pop();
    ts_cursor_close(cursor);
}

ts_result export_feed_open(export_feed **feed, ts_reader *reader,
                           const ts_filter *filter)
{
    export_feed *const made = *feed = export_zeroed(1, sizeof *made);
    ts_filter rest = *filter;
    if (!rest.kinds) rest.kinds = ~UINT64_C(0);
    int64_t end_ns = ts_reader_info(reader)->last_ns;
    if (rest.to_ns != rest.from_ns && rest.to_ns < end_ns) end_ns = rest.to_ns;
    // Damage is reported by the main cursor again, or is in the reader's list.
    if (rest.kinds & TS_FILTER(ZONE_OPEN))
        feed_zones(made, reader, &rest, end_ns);
    rest.kinds &= ~TS_FILTER(ZONE_OPEN);
    made->given = true;
    return export_cursor_open(&made->cursor, reader, &rest);
}

// Returns whether open zone i precedes the cursor's event.
static bool zone_is_first(const export_feed *feed, uint32_t i)
{
    if (i >= feed->zones.count) return false;
    if (!feed->has_event) return true;
    const ts_event *const event = &feed->event;
    if (feed->start_ns[i] != event->start_ns)
        return feed->start_ns[i] < event->start_ns;
    return feed->tracks[i] <= event->track;
}

bool export_feed_next(export_feed *feed, ts_event *event)
{
    if (feed->given)
        feed->has_event = ts_cursor_next(feed->cursor, &feed->event);
    feed->given = false;
    if (!zone_is_first(feed, feed->next)) {
        if (!feed->has_event) return false;
        feed->given = true;
        *event = feed->event;
        return true;
    }
    const uint32_t i = feed->next++;
    event->kind = TS_EVENT_ZONE_OPEN;
    event->track = feed->tracks[i];
    event->start_ns = feed->start_ns[i];
    event->duration_ns = feed->duration_ns[i];
    event->columns = &feed->zones;
    event->row = i;
    return true;
}

ts_result export_feed_result(const export_feed *feed)
{
    return ts_cursor_result(feed->cursor);
}

void export_feed_close(export_feed *feed)
{
    if (!feed) return;
    export_cursor_close(feed->cursor);
    export_resize(feed->start_ns, 0);
    export_resize(feed->duration_ns, 0);
    export_resize(feed->ticks, 0);
    export_resize(feed->sites, 0);
    export_resize(feed->tracks, 0);
    export_resize(feed, 0);
}
