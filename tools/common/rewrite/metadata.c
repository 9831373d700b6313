/*
    metadata.c - copies tracks, metadata, losses, blobs and clocks
*/
#include "tools/common/rewrite/rewrite.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

void copy_note_text(ts_writer *writer, uint32_t track, const char *key,
                    const char *text)
{
    ts_writer_metadata(writer, track, key, TS_VALUE_TEXT,
                       ts_writer_name(writer, text, strlen(text)));
}

void copy_note_number(ts_writer *writer, uint32_t track, const char *key,
                      int64_t value)
{
    ts_writer_metadata(writer, track, key, TS_VALUE_INT, (uint64_t)value);
}

/* ---- Tracks -------------------------------------------------------------- */

static copy_role track_role(ts_track_type type)
{
    switch (type) {
    case TS_TRACK_PROCESS: return COPY_PROCESS;
    case TS_TRACK_THREAD: return COPY_THREAD;
    case TS_TRACK_DEVICE: return COPY_DEVICE;
    case TS_TRACK_CONTEXT: return COPY_CONTEXT;
    case TS_TRACK_STREAM: return COPY_STREAM;
    case TS_TRACK_COUNTER: return COPY_COUNTER;
    default: return COPY_TRACK;
    }
}

// Returns whether a track has no parent that the file defines.
static bool is_root(const copy *c, const ts_track *track)
{
    ts_track parent;
    return !track->parent || track->parent == track->id ||
           !ts_reader_track(c->reader, track->parent, &parent);
}

static uint64_t track_number(const copy *c, const ts_track *track)
{
    const bool task =
        track->type == TS_TRACK_PROCESS || track->type == TS_TRACK_THREAD;
    return c->rename
               ? c->renumber(c->rename_user, task ? COPY_TASK : COPY_HANDLE,
                             track->number)
               : track->number;
}

static void copy_track(copy *c, const ts_track *track)
{
    const bool process = track->type == TS_TRACK_PROCESS;
    const uint32_t to = copy_track_id(c, track->id);
    if (copy_is_joined(c, to) && (process || !track->name.size)) return;
    const bool root = c->merge && is_root(c, track);
    const ts_track_entry entry = {
        .type = (uint8_t)track->type,
        .parent = !root     ? copy_track_id(c, track->parent)
                  : process ? 0
                            : c->process,
        .name = c->merge && process
                    ? copy_process_name(c, track)
                    : copy_text(c, track_role(track->type), track->name),
        .unit = copy_text(c, COPY_UNIT, track->unit),
        .number = track_number(c, track),
        .flags = track->flags,
    };
    ts_writer_track(c->writer, to, &entry);
}

void copy_tracks(copy *c)
{
    ts_track track;
    if (c->merge) copy_parts(c);
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &track); i++)
        copy_track(c, &track);
}

/* ---- Metadata ------------------------------------------------------------ */

static bool is_key(const ts_metadata *m, const char *key)
{
    return cli_is_text(m->key, key);
}

// Converts a value that an earlier merge wrote, when its file is merged again.
static uint64_t again(const copy *c, const ts_metadata *m, uint64_t value)
{
    if (!c->merge || !m->track || m->type != TS_VALUE_INT) return value;
    if (is_key(m, "merge.part")) return value + c->part;
    if (is_key(m, "merge.offset_ns")) return value + (uint64_t)c->offset_ns;
    return value;
}

static void copy_fact(copy *c, const ts_metadata *m, uint32_t track)
{
    char key[1024];
    ts_text name = m->key;
    if (c->rename) name = c->rename(c->rename_user, COPY_KEY, name);
    if (!name.size || name.size >= sizeof key) return;
    memcpy(key, name.text, name.size);
    key[name.size] = 0;
    uint64_t value = again(c, m, (uint64_t)m->number);
    if (m->type == TS_VALUE_DOUBLE) memcpy(&value, &m->real, sizeof value);
    if (m->type == TS_VALUE_TEXT) value = copy_text(c, COPY_VALUE, m->text);
    ts_writer_metadata(c->writer, track, key, m->type, value);
}

// Copies a fact about all processes of a merged file to each of them, if it
// does not hold for the whole new trace.
static void copy_shared_fact(copy *c, const ts_metadata *m)
{
    ts_track track;
    ts_metadata own;
    char key[64];
    if (m->key.size >= sizeof key || is_key(m, "boot_id") ||
        !strncmp(m->key.text, "merge.", 6))
        return;
    memcpy(key, m->key.text, m->key.size);
    key[m->key.size] = 0;
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &track); i++)
        if (track.type == TS_TRACK_PROCESS && is_root(c, &track) &&
            !ts_reader_metadata(c->reader, track.id, key, &own))
            copy_fact(c, m, copy_track_id(c, track.id));
}

// In a merge, metadata of a file's session becomes metadata of its process.
void copy_metadata(copy *c)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(c->reader, i, &m); i++) {
        if (m.track || !c->merge)
            copy_fact(c, &m, copy_track_id(c, m.track));
        else if (copy_is_common(c->merge, m.key))
            continue;
        else if (c->part_count > 1)
            copy_shared_fact(c, &m);
        else
            copy_fact(c, &m, c->process);
    }
}

/* ---- The rest ------------------------------------------------------------ */

void copy_losses(copy *c)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(c->reader, i, &row); i++) {
        const bool timed = row.first_ns || row.last_ns;
        if (timed && (c->losses_from_ns || c->losses_to_ns) &&
            (row.last_ns < c->losses_from_ns ||
             row.first_ns >= c->losses_to_ns))
            continue;
        const int64_t by = timed ? c->offset_ns : 0;
        ts_writer_stall(
            c->writer,
            c->merge && !row.track ? c->process : copy_track_id(c, row.track),
            row.cause, copy_name(c, COPY_LOSS, row.detail), row.count,
            row.first_ns + by, row.last_ns + by, row.stall_ns);
    }
}

void copy_blob(copy *c, const uint64_t hash[2])
{
    const void *bytes;
    size_t size;
    const ts_result result = ts_reader_blob(c->reader, hash, &bytes, &size);
    if (result == TS_OK) ts_writer_blob(c->writer, bytes, size, NULL);
    c->no_memory |= result == TS_ERR_MEMORY;
    ts_reader_blobs_free(c->reader);
}

void copy_blobs(copy *c)
{
    uint64_t hash[2];
    for (size_t i = 0; ts_reader_blob_at(c->reader, i, hash); i++)
        if (!copy_is_captured(c, hash)) copy_blob(c, hash);
}

// Returns whether a sample is a recorded one of the process's own clock, which
// has all three values.
static bool is_recorded(const ts_clock_point *point)
{
    return !point->clock && point->entry.boottime_ns &&
           point->entry.type != TS_CLOCK_OTHER;
}

void copy_clocks(copy *c)
{
    ts_clock_point point;
    for (size_t i = 0; ts_reader_clock_at(c->reader, i, &point); i++)
        if (is_recorded(&point) && point.time_ns > 0)
            ts_writer_clock(c->writer, point.time_ns, point.entry.realtime_ns,
                            point.entry.boottime_ns,
                            point.entry.uncertainty_ns);
}

void copy_session(const ts_reader *reader, const void *salt, size_t salt_size,
                  uint8_t session[16])
{
    XXH3_state_t state;
    XXH3_INITSTATE(&state);
    XXH3_128bits_reset(&state);
    XXH3_128bits_update(&state, ts_reader_info(reader)->session, 16);
    XXH3_128bits_update(&state, salt, salt_size);
    const XXH128_hash_t hash = XXH3_128bits_digest(&state);
    const uint64_t halves[2] = { hash.low64, hash.high64 };
    memcpy(session, halves, 16);
}
