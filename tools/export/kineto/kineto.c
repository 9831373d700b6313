/*
    kineto.c - JSON as the PyTorch profiler writes it: the walk over the events
*/
#include "tools/export/kineto/kineto.h"

/* ---- Where --------------------------------------------------------------- */

bool torch_above(const torch_export *k, uint32_t track, ts_track_type type,
                 ts_track *found)
{
    enum { DEEPEST = 8 }; // parents may form a cycle
    for (int i = 0; i < DEEPEST && ts_reader_track(k->reader, track, found);
         i++) {
        if (found->type == type) return true;
        track = found->parent;
    }
    return false;
}

static int64_t number_of(const ts_track *track)
{
    return (int64_t)(track->number & INT64_MAX);
}

// A thread without a number is a lane that a source named: its rows have the
// name instead. The importer keeps annotations of a stream on such lanes.
static void put_lane(export_buffer *b, const ts_track *lane, bool on_device,
                     int64_t above)
{
    static const char annotations[] = "annotations, stream ";
    const size_t size = sizeof annotations - 1;
    const bool annotated = on_device && lane->name.size > size &&
                           !memcmp(lane->name.text, annotations, size);
    export_put(b, "\"pid\":", 6);
    if (above >= 0)
        export_json_int(b, above);
    else
        export_put(b, "\"Traces\"", 8);
    export_put(b, ",\"tid\":", 7);
    if (annotated)
        export_put(b, lane->name.text + size, lane->name.size - size);
    else
        export_json_string(b, lane->name);
}

static void put_numbers(export_buffer *b, int64_t process, int64_t thread)
{
    export_put(b, "\"pid\":", 6);
    export_json_int(b, process);
    export_put(b, ",\"tid\":", 7);
    export_json_int(b, thread);
}

// Devices are processes, streams their threads, as Kineto has it.
static void put_place(const torch_export *k, export_buffer *b, uint32_t id)
{
    ts_track track, device, process;
    if (!ts_reader_track(k->reader, id, &track)) {
        put_numbers(b, 0, 0);
        return;
    }
    const bool on_device = torch_above(k, id, TS_TRACK_DEVICE, &device);
    const bool has_process = torch_above(k, id, TS_TRACK_PROCESS, &process);
    const int64_t own = ts_reader_info(k->reader)->process;
    const int64_t above = on_device     ? number_of(&device)
                          : has_process ? number_of(&process)
                          : own         ? own
                                        : -1;
    const bool is_thread = track.type == TS_TRACK_THREAD;
    if (is_thread && !track.number)
        put_lane(b, &track, on_device, has_process || on_device ? above : -1);
    else
        put_numbers(b, above < 0 ? 0 : above,
                    is_thread || track.type == TS_TRACK_STREAM
                        ? number_of(&track)
                    : on_device ? -1
                                : 0);
}

static const export_buffer *place_of(torch_export *k, uint32_t track)
{
    uint64_t *const index = export_map_at(&k->place_of, track);
    if (!*index) {
        k->places = export_grow(k->places, &k->place_room, k->place_count,
                                sizeof *k->places);
        export_buffer *const b = &k->places[k->place_count++];
        *b = (export_buffer){ 0 };
        put_place(k, b, track);
        *index = k->place_count;
    }
    return &k->places[*index - 1];
}

/* ---- Rows ---------------------------------------------------------------- */

void torch_put(torch_export *k, const char *text)
{
    export_put(&k->block, text, strlen(text));
}

static void put_time(torch_export *k, int64_t time_ns)
{
    const int64_t shifted =
        (int64_t)((uint64_t)time_ns + (uint64_t)k->shift_ns);
    if (shifted < 0) torch_put(k, "-");
    export_json_us(&k->block,
                   shifted < 0 ? 0 - (uint64_t)shifted : (uint64_t)shifted);
}

void torch_begin(torch_export *k, const char *phase, ts_text category,
                 ts_text name, uint32_t track, int64_t time_ns)
{
    torch_put(k, k->filled ? ",\n{\"ph\":\"" : "\n{\"ph\":\"");
    k->filled = true;
    torch_put(k, phase);
    if (category.size) {
        torch_put(k, "\",\"cat\":");
        export_json_string(&k->block, category);
        torch_put(k, ",\"name\":");
    } else {
        torch_put(k, "\",\"name\":");
    }
    export_json_string(&k->block, name);
    torch_put(k, ",");
    const export_buffer *const place = place_of(k, track);
    export_put(&k->block, place->data, place->size);
    torch_put(k, ",\"ts\":");
    put_time(k, time_ns);
}

void torch_duration(torch_export *k, int64_t duration_ns)
{
    torch_put(k, ",\"dur\":");
    export_json_us(&k->block, (uint64_t)duration_ns);
}

void torch_end(torch_export *k)
{
    torch_put(k, "}");
    if (k->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(k->out, &k->block);
}

void torch_key(torch_export *k, bool *filled, const char *key)
{
    torch_put(k, *filled ? ",\"" : "\"");
    torch_put(k, key);
    torch_put(k, "\":");
    *filled = true;
}

void torch_key_uint(torch_export *k, bool *filled, const char *key,
                    uint64_t number)
{
    torch_key(k, filled, key);
    export_json_uint(&k->block, number);
}

void torch_key_text(torch_export *k, bool *filled, const char *key,
                    const char *text)
{
    torch_key(k, filled, key);
    export_json_string(&k->block, export_text(text));
}

void torch_value(export_buffer *b, ts_value_type type, uint64_t bits,
                 ts_text text)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    if (type == TS_VALUE_INT) {
        export_json_int(b, (int64_t)bits);
    } else if (type == TS_VALUE_DOUBLE) {
        const size_t from = b->size;
        export_json_double(b, real);
        // 3 would be read as an integer.
        const void *const made = b->data + from;
        const size_t size = b->size - from;
        if (!memchr(made, '.', size) && !memchr(made, 'e', size) &&
            !memchr(made, '"', size))
            export_put(b, ".0", 2);
    } else if (export_json_is_nested(text)) {
        export_put(b, text.text, text.size);
    } else {
        export_json_string(b, text);
    }
}

void torch_left_out(torch_export *k, const ts_event *event)
{
    k->counts->left_out[event->kind % TS_EVENT_LIMIT]++;
}

void torch_arrow(torch_export *k, const char *phase, uint32_t track,
                 int64_t time_ns, uint64_t correlation)
{
    const ts_text name = export_text("ac2g");
    if (k->options->no_flows) return;
    torch_begin(k, phase, name, name, track, time_ns);
    torch_put(k, ",\"id\":");
    export_json_uint(&k->block, correlation);
    if (*phase == 'f') torch_put(k, ",\"bp\":\"e\"");
    torch_end(k);
    k->counts->arrows += *phase == 'f';
}

/* ---- The walk ------------------------------------------------------------ */

// Zones and memory are held back while something of them may follow.
static void flush_before(torch_export *k, const ts_event *event)
{
    if (k->zone_count &&
        (event->start_ns != k->group_ns || event->track != k->group_track))
        torch_flush_zones(k);
    if (event->start_ns != k->memory_ns) torch_flush_memory(k);
}

static void take_event(torch_export *k, const ts_event *event)
{
    flush_before(k, event);
    switch ((int)event->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: torch_take_zone(k, event); break;
    case TS_EVENT_ZONE_ARG: torch_take_zone_arg(k, event); break;
    case TS_EVENT_MARK:
    case TS_EVENT_MESSAGE:
    case TS_EVENT_FRAME: torch_take_point(k, event); break;
    case TS_EVENT_COUNTER: torch_take_counter(k, event); break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE: torch_take_memory(k, event); break;
    case TS_EVENT_FLOW: torch_take_flow(k, event); break;
    case TS_EVENT_SPAN: torch_take_span(k, event); break;
    case TS_EVENT_API_CALL: torch_take_call(k, event); break;
    default:
        if (event->kind >= TS_EVENT_GPU_FIRST)
            torch_take_operation(k, event);
        else
            torch_left_out(k, event);
    }
}

static ts_result take_events(torch_export *k, const ts_filter *filter)
{
    enum { PROGRESS = 8192 };
    export_feed *feed;
    ts_event event;
    ts_result result = export_feed_open(&feed, k->reader, filter);
    for (uint32_t n = 1; result == TS_OK && export_feed_next(feed, &event);
         n++) {
        take_event(k, &event);
        if (n % PROGRESS) continue;
        if (k->options->progress)
            k->options->progress(k->options->user, event.start_ns);
        if (export_out_error(k->out)) break;
    }
    if (result == TS_OK) result = export_feed_result(feed);
    export_feed_close(feed);
    torch_flush_zones(k);
    torch_flush_memory(k);
    return result;
}

static void free_all(torch_export *k)
{
    export_map *const maps[] = {
        &k->place_of,  &k->launched, &k->record_of, &k->used,
        &k->waits,     &k->loose,    &k->call_ns,   &k->call_duration_ns,
        &k->loose_on,  &k->records,  &k->recorded,  &k->external,
        &k->thread_of, &k->live
    };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        export_map_free(maps[i]);
    for (size_t i = 0; i < k->place_count; i++)
        export_resize(k->places[i].data, 0);
    for (size_t i = 0; i < k->zone_room; i++)
        export_resize(k->zones[i].args.data, 0);
    for (size_t i = 0; i < k->thread_count; i++)
        export_resize(k->threads[i].outer, 0);
    export_resize(k->places, 0);
    export_resize(k->zones, 0);
    export_resize(k->threads, 0);
    export_resize(k->memory, 0);
    export_resize(k->totals, 0);
    export_resize(k->block.data, 0);
}

static ts_result torch_walk(ts_reader *reader, export_out *out,
                            const export_options *options,
                            export_counts *counts)
{
    const ts_filter filter = { .from_ns = options->from_ns,
                               .to_ns = options->to_ns };
    *counts = (export_counts){ 0 };
    torch_export k = {
        .reader = reader, .options = options, .out = out, .counts = counts
    };
    ts_result result = torch_list_operations(&k, &filter);
    torch_put_head(&k);
    const ts_result walked = take_events(&k, &filter);
    if (result == TS_OK) result = walked;
    torch_put_tail(&k);
    counts->lanes = k.place_count;
    export_out_block(out, &k.block);
    free_all(&k);
    return result;
}

static const char *const suffixes[] = { ".pt.trace.json", ".pt.trace.json.gz",
                                        NULL };

const export_format export_kineto = {
    .name = "kineto",
    .kind = CLI_KINETO,
    .suffixes = suffixes,
    .packing = EXPORT_GZIP,
    .walk = torch_walk,
};
