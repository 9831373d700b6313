/*
    tracks.c - tracks by the ids of the source
*/
#include "tools/import/tables.h"

import_track *import_track_of(const import_job *job, uint32_t track)
{
    const import_list *const tracks = &job->tables->tracks;
    if (!track || track > tracks->count) return NULL;
    return import_list_at(tracks, track - 1);
}

static uint64_t hash_of(uint32_t kind, const int64_t *key)
{
    uint64_t hash = kind;
    for (size_t i = 0; i < 3; i++)
        hash = cli_hash_join(hash, (uint64_t)key[i]);
    return hash;
}

// Returns the track of a key; 0: none.
static uint32_t known(const import_job *job, uint32_t kind, const int64_t *key)
{
    const uint64_t hash = hash_of(kind, key);
    uint32_t at;
    for (size_t i = 0; (at = cli_index_next(&job->tables->track_index, hash,
                                            &i)) != CLI_NONE;) {
        const import_track *const track = import_track_of(job, at);
        if (track->kind == kind && !memcmp(track->key, key, sizeof track->key))
            return at;
    }
    return 0;
}

static void define(import_job *job, uint32_t track)
{
    ts_writer_track(job->writer, track, &import_track_of(job, track)->entry);
}

// Returns the track of a key, or creates one like `entry`. 0: no memory.
static uint32_t find(import_job *job, uint32_t kind, const int64_t *key,
                     const ts_track_entry *entry)
{
    const uint32_t found = known(job, kind, key);
    if (found) return found;
    import_track *const track = import_list_add(job, &job->tables->tracks);
    if (!track) return 0;
    track->kind = kind;
    memcpy(track->key, key, sizeof track->key);
    track->entry = *entry;
    const uint32_t number = (uint32_t)job->tables->tracks.count;
    if (!cli_index_add(&job->tables->track_index, hash_of(kind, key), number))
        job->tables->no_memory = true;
    define(job, number);
    return number;
}

// Returns the track of a type whose key is a single id.
static uint32_t simple(import_job *job, ts_track_type type, uint32_t parent,
                       int64_t a, int64_t b, int64_t c, int64_t number)
{
    const int64_t key[3] = { a, b, c };
    const ts_track_entry entry = { .type = (uint8_t)type,
                                   .parent = parent,
                                   .number = (uint64_t)number };
    return find(job, type, key, &entry);
}

uint32_t import_process(import_job *job, int64_t process)
{
    return simple(job, TS_TRACK_PROCESS, 0, process, 0, 0, process);
}

uint32_t import_thread(import_job *job, int64_t process, int64_t thread)
{
    const uint32_t parent =
        process == IMPORT_NONE ? 0 : import_process(job, process);
    return simple(job, TS_TRACK_THREAD, parent, process, thread, 0, thread);
}

uint32_t import_device(import_job *job, int64_t device)
{
    return simple(job, TS_TRACK_DEVICE, 0, device, 0, 0, device);
}

uint32_t import_known_device(import_job *job, int64_t device)
{
    const int64_t key[3] = { device, 0, 0 };
    return known(job, TS_TRACK_DEVICE, key);
}

uint32_t import_context(import_job *job, int64_t device, int64_t context)
{
    const uint32_t parent = import_device(job, device);
    return simple(job, TS_TRACK_CONTEXT, parent, device, context, 0, context);
}

uint32_t import_stream(import_job *job, int64_t device, int64_t context,
                       int64_t stream)
{
    const uint32_t parent = context == IMPORT_NONE
                                ? import_device(job, device)
                                : import_context(job, device, context);
    return simple(job, TS_TRACK_STREAM, parent, device, context, stream,
                  stream);
}

uint32_t import_lane(import_job *job, uint32_t parent, const char *name,
                     size_t size)
{
    const ts_track_entry entry = { .type = TS_TRACK_THREAD,
                                   .parent = parent,
                                   .name = import_name(job, name, size) };
    const int64_t key[3] = { parent, entry.name, 0 };
    return find(job, IMPORT_LANE, key, &entry);
}

uint32_t import_counter_track(import_job *job, uint32_t parent,
                              const char *name, size_t size, const char *unit)
{
    const uint32_t number =
        import_name(job, name, size); // before the unit's number
    const ts_track_entry entry = {
        .type = TS_TRACK_COUNTER,
        .parent = parent,
        .name = number,
        .unit = unit ? import_name(job, unit, strlen(unit)) : 0
    };
    const int64_t key[3] = { parent, entry.name, entry.unit };
    return find(job, TS_TRACK_COUNTER, key, &entry);
}

void import_track_name(import_job *job, uint32_t track, const char *text,
                       size_t size)
{
    import_track *const t = import_track_of(job, track);
    const uint32_t name = import_name(job, text, size);
    if (!t || t->entry.name == name) return;
    t->entry.name = name;
    define(job, track);
}

void import_track_flags(import_job *job, uint32_t track, uint64_t flags)
{
    import_track *const t = import_track_of(job, track);
    if (!t || t->entry.flags == flags) return;
    t->entry.flags = flags;
    define(job, track);
}
