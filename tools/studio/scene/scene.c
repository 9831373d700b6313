/*
    scene.c - opening a scene; names of tracks
*/
#include "tools/studio/scene/parts.h"

bool scene_places(scene *s)
{
    const size_t count = ts_reader_chunk_count(s->reader);
    if (s->chunk_place) return true;
    s->chunk_place = malloc((count + 1) * sizeof *s->chunk_place);
    if (!s->chunk_place) return false;
    s->place_chunks = count;
    s->chunk_place[count] = cli_operation_rows(s->reader, s->chunk_place);
    return true;
}

// Finds rows: of a long trace by the top of its index, so that the rest of that
// is read later.
static bool find_rows(scene *s)
{
    const ts_info *const info = ts_reader_info(s->reader);
    uint64_t events = 0;
    s->place_count = 0;
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++) {
        events += info->counts[i];
        if (i >= TS_EVENT_GPU_FIRST) s->place_count += info->counts[i];
    }
    // Of a growing trace a window is loaded, not all of it again and again.
    s->limits.events = info->live ? s->limits.whole : SCENE_EVENTS;
    s->table_wanted = events <= s->limits.events;
    return ts_reader_top_count(s->reader) ? scene_tops_find(s) : scene_table(s);
}

ts_result scene_open(scene **s, ts_reader *reader)
{
    *s = NULL;
    scene *const made = calloc(1, sizeof *made);
    if (!made) return TS_ERR_MEMORY;
    made->reader = reader;
    made->limits =
        (scene_limits){ SCENE_EVENTS,        SCENE_WINDOW, SCENE_WHOLE,
                        SCENE_AT_ONCE,       SCENE_SLICE,  SCENE_CELLS,
                        SCENE_COUNTED_FLOWS, SCENE_SURVEY };
    if (!find_rows(made)) {
        scene_close(made);
        return TS_ERR_MEMORY;
    }
    *s = made;
    return TS_OK;
}

// Forgets the events. Chunks and pictures stay, as a trace only grows.
static void forget(scene *s)
{
    scene_graph_close(s);
    scene_window_forget(s);
    for (size_t i = 0; i < s->row_count; i++)
        if (!scene_is_derived(&s->rows[i].pub)) scene_row_clear(&s->rows[i]);
    free(s->chunk_place);
    s->chunk_place = NULL;
    ts_columns_close(s->reader, &s->columns);
}

// When a recorder has ended, more is known of its clocks.
static void forget_pictures(scene *s)
{
    scene_window_close(s);
    scene_streams_close(s);
    scene_names_close(s);
    scene_surveys_close(s);
    scene_derived_drop(s);
    for (size_t i = 0; i < s->row_count; i++)
        scene_sources_close(&s->rows[i]);
    s->mixed = s->has_streams = false;
}

void scene_close(scene *s)
{
    if (!s) return;
    forget(s);
    forget_pictures(s);
    scene_derived_close(s);
    for (size_t i = 0; i < s->row_count; i++)
        scene_row_clear(&s->rows[i]);
    cli_map_close(&s->row_index);
    cli_map_close(&s->label_index);
    scene_readings_close(s);
    free(s->rows);
    free(s->labels);
    free(s);
}

// Texts of labels are the reader's, and go with a refresh.

bool scene_refresh(scene *s)
{
    ts_columns_close(s->reader, &s->columns);
    const bool grown = ts_reader_refresh(s->reader);
    const bool begins = scene_derived_grow(s, grown);
    if (!grown) return begins;
    forget(s);
    if (!ts_reader_info(s->reader)->live) forget_pictures(s);
    scene_label_texts(s);
    s->version++;
    return find_rows(s);
}

ts_reader *scene_reader(const scene *s)
{
    return s->reader;
}
size_t scene_row_count(const scene *s)
{
    return s->row_count;
}
size_t scene_label_count(const scene *s)
{
    return s->label_count;
}
uint32_t scene_rows_version(const scene *s)
{
    return s->version;
}
uint64_t scene_operations(const scene *s)
{
    return s->place_count;
}

const scene_row *scene_row_at(const scene *s, size_t at)
{
    return at < s->row_count ? &s->rows[at].pub : NULL;
}

const scene_label *scene_label_at(const scene *s, uint32_t label)
{
    return label < s->label_count ? &s->labels[label] : NULL;
}

/* ---- Tracks -------------------------------------------------------------- */

static bool device_of(const scene *s, ts_track track, ts_track *device)
{
    for (int i = 0; i < 8; i++) {
        if (track.type == TS_TRACK_DEVICE) {
            *device = track;
            return true;
        }
        if (!ts_reader_track(s->reader, track.parent, &track)) return false;
    }
    return false;
}

uint32_t scene_device_of(const scene *s, uint32_t track)
{
    ts_track from, device;
    return ts_reader_track(s->reader, track, &from) &&
                   device_of(s, from, &device)
               ? device.id
               : 0;
}

static ts_text stream_name(scene *s, const ts_track *track)
{
    ts_track device;
    char plain[32], on[48] = "";
    const int size =
        snprintf(plain, sizeof plain, "stream %" PRIu64, track->number);
    if (device_of(s, *track, &device))
        snprintf(on, sizeof on, " on GPU %" PRIu64, device.number);
    // Some sources give a stream its default name.
    const ts_text name = track->name;
    const bool named = name.size && (name.size != (size_t)size ||
                                     memcmp(name.text, plain, name.size) != 0);
    const int made = snprintf(
        s->track_name, sizeof s->track_name, "%s%s%.*s%s%s", plain,
        named ? " (" : "", named ? (int)(name.size < 200 ? name.size : 200) : 0,
        name.text, named ? ")" : "", on);
    return (ts_text){ s->track_name, (size_t)made };
}

// Threads of a pool often have one name, and so do counters of devices.
static bool has_twin(const scene *s, const ts_track *track)
{
    enum { MOST = 4096 };
    ts_track other;
    if (ts_reader_info(s->reader)->track_count > MOST) return false;
    for (size_t i = 0; ts_reader_track_at(s->reader, i, &other); i++)
        if (other.id != track->id && other.type == track->type &&
            other.name.size == track->name.size &&
            !memcmp(other.name.text, track->name.text, track->name.size))
            return true;
    return false;
}

static ts_text twin_name(scene *s, const ts_track *track)
{
    ts_track device;
    const int room = track->name.size < 200 ? (int)track->name.size : 200;
    int size;
    if (track->type == TS_TRACK_COUNTER && device_of(s, *track, &device))
        size = snprintf(s->track_name, sizeof s->track_name,
                        "%.*s of GPU %" PRIu64, room, track->name.text,
                        device.number);
    else if (track->type == TS_TRACK_THREAD)
        size =
            snprintf(s->track_name, sizeof s->track_name, "%.*s (%" PRIu64 ")",
                     room, track->name.text, track->number);
    else
        return track->name;
    return (ts_text){ s->track_name, (size_t)size };
}

static ts_text name_within(scene *s, const ts_track *track)
{
    static const char *const types[] = { "track",   "process", "thread", "GPU",
                                         "context", "stream",  "counter" };
    if (track->type == TS_TRACK_STREAM) return stream_name(s, track);
    if (track->name.size && track->type != TS_TRACK_DEVICE)
        return has_twin(s, track) ? twin_name(s, track) : track->name;
    const uint32_t type = track->type < 7 ? track->type : 0;
    const int size = snprintf(s->track_name, sizeof s->track_name,
                              "%s %" PRIu64, types[type], track->number);
    return (ts_text){ s->track_name, (size_t)size };
}

// Whether the trace was merged of several processes.
static bool has_processes(scene *s)
{
    const size_t count = ts_reader_info(s->reader)->track_count;
    ts_track track;
    if (s->tracks_counted == count) return s->processes > 1;
    s->tracks_counted = count;
    s->processes = 0;
    for (size_t i = 0; ts_reader_track_at(s->reader, i, &track); i++)
        s->processes += track.type == TS_TRACK_PROCESS;
    return s->processes > 1;
}

// "rank 3", else the name and the number of the process that a track belongs
// to. False: it belongs to none, or is one.
static bool process_name(const scene *s, ts_track track, char *name,
                         size_t room)
{
    ts_metadata rank;
    for (int i = 0; i < 8 && track.type != TS_TRACK_PROCESS; i++)
        if (!ts_reader_track(s->reader, track.parent, &track)) return false;
    if (track.type != TS_TRACK_PROCESS) return false;
    const int size = track.name.size < 80 ? (int)track.name.size : 80;
    if (ts_reader_metadata(s->reader, track.id, "rank", &rank))
        snprintf(name, room, "rank %" PRId64, rank.number);
    else
        snprintf(name, room, "%.*s%s%" PRIu64 "%s", size ? size : 8,
                 size ? track.name.text : "process ", size ? " (" : "",
                 track.number, size ? ")" : "");
    return true;
}

ts_text scene_track_name(scene *s, uint32_t id)
{
    char process[128], copy[sizeof s->track_name];
    ts_track track = { .number = id };
    if (!ts_reader_track(s->reader, id, &track)) track.type = 0;
    const ts_text name = name_within(s, &track);
    if (track.type == TS_TRACK_PROCESS || !track.type || !has_processes(s) ||
        !process_name(s, track, process, sizeof process))
        return name;
    const int most = name.size < 300 ? (int)name.size : 300;
    memcpy(copy, name.text, (size_t)most); // it may be s->track_name
    const int size = snprintf(s->track_name, sizeof s->track_name, "%s: %.*s",
                              process, most, copy);
    return (ts_text){ s->track_name, (size_t)size };
}
