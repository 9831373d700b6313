/*
    archive.c - the walk over a trace, and its slices as enters and leaves
*/
#include "tools/export/otf2/otf2.h"

#ifdef TRACESMITH_OTF2
const bool export_has_otf2 = true;

enum {
    CHUNK = 256 << 10,
    DEFINITIONS = 1 << 20,
    PROGRESS = 8192,
    LANES = 256 // of a track
};

void otf2_check(otf2_out *o, OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS) o->has_failed = true;
}

static uint64_t ticks_of(const otf2_out *o, int64_t time_ns)
{
    return time_ns < o->first_ns ? 0
                                 : (uint64_t)time_ns - (uint64_t)o->first_ns;
}

/* ---- What is held back --------------------------------------------------- */

static void write_held(otf2_out *o, const otf2_lane *lane, otf2_held *h)
{
    OTF2_AttributeList_RemoveAllAttributes(o->list);
    for (size_t i = 0; i < h->count; i++)
        OTF2_AttributeList_AddAttribute(o->list, h->attributes[i].id,
                                        h->attributes[i].type,
                                        h->attributes[i].value);
    const OTF2_TimeStamp time = ticks_of(o, h->time_ns);
    otf2_check(
        o, h->is_leave
               ? OTF2_EvtWriter_Leave(lane->writer, o->list, time, h->region)
               : OTF2_EvtWriter_Enter(lane->writer, o->list, time, h->region));
    export_resize(h->attributes, 0);
}

static void flush(otf2_out *o, otf2_lane *lane)
{
    for (size_t i = 0; i < lane->count; i++)
        write_held(o, lane, &lane->held[i]);
    lane->count = 0;
}

static otf2_held *hold(otf2_lane *lane, int64_t time_ns, uint32_t region,
                       bool is_leave)
{
    lane->held = export_grow(lane->held, &lane->held_room, lane->count,
                             sizeof *lane->held);
    lane->held[lane->count] = (otf2_held){ .time_ns = time_ns,
                                           .region = region,
                                           .is_leave = is_leave };
    return &lane->held[lane->count++];
}

// Leaves what has ended by then.
static void advance(otf2_out *o, otf2_lane *lane, int64_t now_ns)
{
    if (now_ns > lane->at_ns) flush(o, lane);
    lane->at_ns = now_ns;
    while (lane->depth && lane->open[lane->depth - 1].end_ns <= now_ns) {
        const otf2_slice *const s = &lane->open[--lane->depth];
        hold(lane, s->end_ns, s->region, true);
    }
}

/* ---- Slices -------------------------------------------------------------- */

// Returns a lane on which the slice nests, with what ended before it left.
// NULL: too many overlap.
static otf2_lane *lane_for(otf2_out *o, const ts_event *event, uint8_t type)
{
    const int64_t end_ns = export_end_ns(event);
    uint32_t at = otf2_lane_at(o, event->track, type);
    for (size_t n = 1;; n++) {
        otf2_lane *const lane = &o->lanes[at];
        advance(o, lane, event->start_ns);
        if (!lane->depth || lane->open[lane->depth - 1].end_ns >= end_ns)
            return lane;
        if (n == LANES) return NULL;
        at = otf2_another_lane(o, at);
    }
}

// Returns its enter; NULL: it has no place.
static otf2_held *put_slice(otf2_out *o, const ts_event *event, uint8_t type,
                            uint32_t region)
{
    otf2_lane *const lane = lane_for(o, event, type);
    if (!lane) {
        o->counts->left_out[event->kind]++;
        return NULL;
    }
    lane->open =
        export_grow(lane->open, &lane->room, lane->depth, sizeof *lane->open);
    lane->open[lane->depth++] = (otf2_slice){ export_end_ns(event), region };
    o->counts->slices++;
    return hold(lane, event->start_ns, region, false);
}

static void take_zone(otf2_out *o, const ts_event *event)
{
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    otf2_held *const h = put_slice(o, event, OTF2_LOCATION_TYPE_CPU_THREAD,
                                   otf2_put_site(o, site));
    if (h) h->site = site + 1;
}

// Adds it to the last zone of that site that began then.
static void take_arg(otf2_out *o, const ts_event *event)
{
    const uint32_t site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE);
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    const ts_text name = ts_reader_name(
        o->reader, (uint32_t)ts_event_value(event, TS_COLUMN_NAME));
    uint64_t bits = ts_event_value(event, TS_COLUMN_VALUE);
    uint32_t next = export_map_find(&o->lane_of, event->track) && type
                        ? otf2_lane_at(o, event->track, 0) + 1
                        : 0;
    if (o->desc->no_args) return;
    for (; next; next = o->lanes[next - 1].next) {
        otf2_lane *const lane = &o->lanes[next - 1];
        for (size_t i = lane->count; i-- > 0;) {
            otf2_held *const h = &lane->held[i];
            if (h->time_ns != event->start_ns || h->site != site + 1) continue;
            if (type == TS_VALUE_TEXT)
                bits = otf2_put_text(
                    o, (ts_text){ event->columns->texts[event->row],
                                  event->columns->text_sizes[event->row] });
            otf2_put_attribute(o, h, name,
                               type == TS_VALUE_TEXT     ? OTF2_TYPE_STRING
                               : type == TS_VALUE_DOUBLE ? OTF2_TYPE_DOUBLE
                                                         : OTF2_TYPE_INT64,
                               bits);
            return;
        }
    }
    o->counts->left_out[event->kind]++;
}

static void take_call(otf2_out *o, const ts_event *event)
{
    static const uint8_t columns[] = { TS_COLUMN_CORRELATION,
                                       TS_COLUMN_RESULT };
    otf2_held *const h = put_slice(
        o, event, OTF2_LOCATION_TYPE_CPU_THREAD,
        otf2_put_call(o, (uint32_t)ts_event_value(event, TS_COLUMN_NAME)));
    for (size_t i = 0; h && i < 2; i++) {
        const uint64_t value = ts_event_value(event, columns[i]);
        if (value)
            otf2_put_attribute(o, h, export_text(ts_column_name(columns[i])),
                               OTF2_TYPE_UINT64, value);
    }
}

static void take_operation(otf2_out *o, const ts_event *event)
{
    const uint32_t region = otf2_put_operation(o, event);
    otf2_held h = { 0 };
    otf2_put_columns(o, &h, event); // which may add lanes
    otf2_held *const to =
        put_slice(o, event, OTF2_LOCATION_TYPE_ACCELERATOR_STREAM, region);
    if (!to) export_resize(h.attributes, 0);
    if (!to) return;
    to->attributes = h.attributes;
    to->count = h.count;
    to->room = h.room;
}

/* ---- Counters ------------------------------------------------------------ */

// Returns the number of the metric of a counter, on its parent's lane.
static uint32_t metric_at(otf2_out *o, const ts_track *track, uint32_t lane,
                          uint64_t type)
{
    uint64_t *const known = export_map_at(&o->metric_of, track->id);
    if (*known) return (uint32_t)*known - 1;
    const OTF2_MetricMemberRef member = o->metric_count;
    const OTF2_StringRef name = otf2_put_text(o, track->name);
    const OTF2_StringRef unit = otf2_put_text(o, track->unit);
    ts_track parent;
    const bool is_scoped =
        ts_reader_track(o->reader, track->parent, &parent) &&
        (parent.type == TS_TRACK_THREAD || parent.type == TS_TRACK_STREAM);
    const uint32_t number = 2 * o->metric_count++;
    otf2_check(o, OTF2_GlobalDefWriter_WriteMetricMember(
                      o->definitions, member, name,
                      otf2_put_text(o, export_text("")), OTF2_METRIC_TYPE_OTHER,
                      OTF2_METRIC_ABSOLUTE_POINT,
                      type == TS_VALUE_INT ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE,
                      OTF2_BASE_DECIMAL, 0, unit));
    otf2_check(o, OTF2_GlobalDefWriter_WriteMetricClass(
                      o->definitions, number, 1, &member,
                      OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_UNKNOWN));
    if (is_scoped)
        otf2_check(
            o,
            OTF2_GlobalDefWriter_WriteMetricInstance(
                o->definitions, number + 1, number, lane, OTF2_SCOPE_LOCATION,
                otf2_lane_at(o, track->parent,
                             parent.type == TS_TRACK_THREAD
                                 ? OTF2_LOCATION_TYPE_CPU_THREAD
                                 : OTF2_LOCATION_TYPE_ACCELERATOR_STREAM)));
    *export_map_at(&o->metric_of, track->id) = number + is_scoped + 1;
    return number + is_scoped;
}

static void take_counter(otf2_out *o, const ts_event *event)
{
    const uint64_t type = ts_event_value(event, TS_COLUMN_TYPE);
    const OTF2_Type of =
        type == TS_VALUE_INT ? OTF2_TYPE_INT64 : OTF2_TYPE_DOUBLE;
    const OTF2_MetricValue value = { .unsigned_int = ts_event_value(
                                         event, TS_COLUMN_VALUE) };
    ts_track track;
    if (!ts_reader_track(o->reader, event->track, &track)) return;
    const uint32_t lane =
        otf2_lane_at(o, track.parent, OTF2_LOCATION_TYPE_METRIC);
    const uint32_t metric = metric_at(o, &track, lane, type);
    o->counts->samples++;
    otf2_check(o, OTF2_EvtWriter_Metric(o->lanes[lane].writer, NULL,
                                        ticks_of(o, event->start_ns), metric, 1,
                                        &of, &value));
}

/* ---- The walk ------------------------------------------------------------ */

static void take_event(otf2_out *o, const ts_event *event)
{
    switch ((int)event->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: take_zone(o, event); break;
    case TS_EVENT_ZONE_ARG: take_arg(o, event); break;
    case TS_EVENT_API_CALL: take_call(o, event); break;
    case TS_EVENT_COUNTER: take_counter(o, event); break;
    default:
        if (event->kind >= TS_EVENT_GPU_FIRST)
            take_operation(o, event);
        else
            o->counts->left_out[event->kind % TS_EVENT_LIMIT]++;
    }
}

static ts_result take_events(otf2_out *o)
{
    const ts_filter filter = { 0 };
    export_feed *feed;
    ts_event event;
    ts_result result = export_feed_open(&feed, o->reader, &filter);
    for (uint32_t n = 1;
         result == TS_OK && !o->has_failed && export_feed_next(feed, &event);
         n++) {
        take_event(o, &event);
        if (n % PROGRESS == 0 && o->desc->progress)
            o->desc->progress(o->desc->user, event.start_ns);
    }
    if (result == TS_OK) result = export_feed_result(feed);
    export_feed_close(feed);
    for (size_t i = 0; i < o->lane_count; i++) {
        advance(o, &o->lanes[i], INT64_MAX);
        flush(o, &o->lanes[i]);
    }
    return result;
}

/* ---- The archive --------------------------------------------------------- */

static OTF2_FlushType before_flush(void *user, OTF2_FileType type,
                                   OTF2_LocationRef location, void *caller,
                                   bool is_last)
{
    (void)user, (void)type, (void)location, (void)caller, (void)is_last;
    return OTF2_FLUSH;
}

static OTF2_ErrorCode no_error(void *user, const char *file, uint64_t line,
                               const char *function, OTF2_ErrorCode code,
                               const char *format, va_list list)
{
    (void)user, (void)file, (void)line, (void)function, (void)format;
    (void)list;
    return code;
}

static bool open_archive(otf2_out *o)
{
    static const OTF2_FlushCallbacks flushes = { before_flush, NULL };
    const cli_text creator = cli_format("TraceSmith %d.%d.%d", TS_VERSION_MAJOR,
                                        TS_VERSION_MINOR, TS_VERSION_PATCH);
    OTF2_Error_RegisterCallback(no_error, NULL);
    o->archive = OTF2_Archive_Open(o->desc->folder, "traces",
                                   OTF2_FILEMODE_WRITE, CHUNK, DEFINITIONS,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    o->list = OTF2_AttributeList_New();
    return o->archive && o->list &&
           !OTF2_Archive_SetFlushCallbacks(o->archive, &flushes, NULL) &&
           !OTF2_Archive_SetSerialCollectiveCallbacks(o->archive) &&
           !OTF2_Archive_SetCreator(o->archive, creator.s) &&
           !OTF2_Archive_OpenEvtFiles(o->archive) &&
           (o->definitions = OTF2_Archive_GetGlobalDefWriter(o->archive));
}

static void put_clock(otf2_out *o, const ts_info *info)
{
    const uint64_t length = (uint64_t)info->last_ns - (uint64_t)info->first_ns;
    const uint64_t real = info->start_realtime_ns
                              ? info->start_realtime_ns + (uint64_t)o->first_ns
                              : OTF2_UNDEFINED_TIMESTAMP;
    otf2_check(o, OTF2_GlobalDefWriter_WriteClockProperties(
                      o->definitions, 1000000000, 0, length + 1, real));
}

static void close_writers(otf2_out *o)
{
    for (size_t i = 0; i < o->lane_count; i++)
        if (o->lanes[i].writer)
            otf2_check(
                o, OTF2_Archive_CloseEvtWriter(o->archive, o->lanes[i].writer));
    otf2_check(o, OTF2_Archive_CloseEvtFiles(o->archive));
}

// Empty ones, as readers look for them.
static void put_local_definitions(otf2_out *o)
{
    otf2_check(o, OTF2_Archive_OpenDefFiles(o->archive));
    for (size_t i = 0; i < o->lane_count; i++) {
        OTF2_DefWriter *const writer = OTF2_Archive_GetDefWriter(o->archive, i);
        if (writer)
            otf2_check(o, OTF2_Archive_CloseDefWriter(o->archive, writer));
        else
            o->has_failed = true;
    }
    otf2_check(o, OTF2_Archive_CloseDefFiles(o->archive));
}

static void close_archive(void *user)
{
    otf2_out *const o = user;
    if (o->list) OTF2_AttributeList_Delete(o->list);
    if (o->archive) otf2_check(o, OTF2_Archive_Close(o->archive));
}

static void free_all(otf2_out *o)
{
    export_map *const maps[] = {
        &o->string_of, &o->attribute_of, &o->region_of,
        &o->metric_of, &o->lane_of,      &o->group_of
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        export_map_free(maps[i]);
    for (size_t i = 0; i < o->lane_count; i++) {
        export_resize(o->lanes[i].open, 0);
        export_resize(o->lanes[i].held, 0);
    }
    export_resize(o->lanes, 0);
    export_resize(o->groups, 0);
    export_resize(o->strings, 0);
    export_resize(o->texts.data, 0);
    export_resize(o->scratch.data, 0);
}

ts_result export_otf2(const otf2_export *desc, export_counts *counts,
                      bool *failed)
{
    const ts_info *const info = ts_reader_info(desc->reader);
    otf2_out *const o = export_zeroed(1, sizeof *o);
    ts_result result = TS_OK;
    o->reader = desc->reader;
    o->desc = desc;
    o->counts = counts;
    o->first_ns = info->first_ns;
    *counts = (export_counts){ 0 };
    export_push(close_archive, o);
    o->has_failed = !open_archive(o);
    if (!o->has_failed) {
        put_clock(o, info);
        result = take_events(o);
        otf2_put_places(o);
        close_writers(o);
        put_local_definitions(o);
    }
    counts->lanes = o->lane_count;
    free_all(o);
    export_pop();
    close_archive(o);
    *failed = o->has_failed;
    export_resize(o, 0);
    return result;
}

#else
const bool export_has_otf2 = false;

ts_result export_otf2(const otf2_export *desc, export_counts *counts,
                      bool *failed)
{
    (void)desc, (void)counts;
    *failed = true;
    return TS_ERR_UNSUPPORTED;
}
#endif
