/*
    tracks.c - Perfetto's tracks become tracks
*/
#include "tools/import/perfetto/perfetto.h"

enum { ANCESTORS = 64 };

size_t perfetto_track_of(perfetto *p, uint64_t id)
{
    bool fresh;
    int64_t *const at = import_map_put(&p->track_of, (int64_t)id, &fresh);
    if (!at || (fresh && !cli_grow(&p->tracks, &p->track_room,
                                   p->track_count + 1, sizeof *p->tracks))) {
        p->out_of_memory = true;
        return SIZE_MAX;
    }
    if (fresh) {
        *at = (int64_t)p->track_count;
        p->tracks[p->track_count++] = (perfetto_track){ .id = id };
    }
    return (size_t)*at;
}

/* ---- Descriptors -------------------------------------------------------- */

static void set_text(char *to, size_t room, import_wire w)
{
    const size_t size = (size_t)(w.end - w.at);
    snprintf(to, room, "%.*s", size < room ? (int)size : (int)room - 1,
             size ? (const char *)w.at : "");
}

// The fields of ProcessDescriptor and ThreadDescriptor: ids are int32.
static void take_process(perfetto_track *t, import_wire w)
{
    import_field f;
    t->is_process = true;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) t->process = (int32_t)f.value;
        if (f.number == 6 && f.type == IMPORT_BYTES)
            set_text(t->name, sizeof t->name, f.bytes);
    }
}

static void take_thread(perfetto_track *t, import_wire w)
{
    import_field f;
    t->is_thread = true;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) t->process = (int32_t)f.value;
        if (f.number == 2) t->thread = (int32_t)f.value;
        if (f.number == 5 && f.type == IMPORT_BYTES)
            set_text(t->name, sizeof t->name, f.bytes);
    }
}

static void take_counter(perfetto_track *t, import_wire w)
{
    static const char *const units[] = { "", "ns", "count", "bytes" };
    import_field f;
    t->is_counter = true;
    while (import_wire_field(&w, &f)) {
        if (f.number == 3 && f.value && f.value < 4)
            snprintf(t->units, sizeof t->units, "%s", units[f.value]);
        if (f.number == 4) t->unit = (int64_t)f.value;
        if (f.number == 5) t->is_incremental = f.value != 0;
        if (f.number == 6 && f.type == IMPORT_BYTES)
            set_text(t->units, sizeof t->units, f.bytes);
    }
}

// Names a process or thread; what has events only gets its track with them.
static void announce(perfetto *p, const perfetto_track *t)
{
    if (!t->is_thread && !t->is_process) return;
    const uint32_t track = t->is_thread
                               ? import_thread(p->job, t->process, t->thread)
                               : import_process(p->job, t->process);
    if (t->name[0]) import_track_name(p->job, track, t->name, strlen(t->name));
}

void perfetto_take_track(perfetto *p, import_wire w)
{
    import_field f;
    import_wire rest = w;
    uint64_t id = 0;
    while (import_wire_field(&rest, &f))
        if (f.number == 1) id = f.value;
    const size_t at = perfetto_track_of(p, id);
    if (at == SIZE_MAX) return;
    perfetto_track *const t = &p->tracks[at];
    while (import_wire_field(&w, &f)) {
        const bool is_bytes = f.type == IMPORT_BYTES;
        if (f.number == 5) t->parent = f.value;
        if ((f.number == 2 || f.number == 10) && is_bytes)
            set_text(t->name, sizeof t->name, f.bytes);
        if (f.number == 3 && is_bytes) take_process(t, f.bytes);
        if (f.number == 4 && is_bytes) take_thread(t, f.bytes);
        if (f.number == 8 && is_bytes) take_counter(t, f.bytes);
    }
    announce(p, t);
}

/* ---- Places ------------------------------------------------------------- */

// Returns the process that a track belongs to; 0: none.
static uint32_t process_of(perfetto *p, const perfetto_track *t)
{
    for (int i = 0; i < ANCESTORS; i++) {
        if (t->is_process || t->is_thread)
            return import_process(p->job, t->process);
        const int64_t *const at =
            t->parent ? import_map_get(&p->track_of, (int64_t)t->parent) : NULL;
        if (!at) return 0;
        t = &p->tracks[*at];
    }
    return 0;
}

// Tracks with one name stay apart: slices of them may overlap.
static uint32_t lane_of(perfetto *p, const perfetto_track *t)
{
    char name[300];
    const uint32_t parent = process_of(p, t);
    int size = snprintf(name, sizeof name, "%s",
                        t->is_process ? "events of the process"
                        : t->name[0]  ? t->name
                                      : "track");
    uint32_t lane = import_lane(p->job, parent, name, (size_t)size);
    bool fresh;
    int64_t *const owner = import_map_put(&p->lane_of, lane, &fresh);
    if (owner && fresh) *owner = (int64_t)t->id;
    if (!owner || *owner == (int64_t)t->id) return lane;
    size = snprintf(name, sizeof name, "%s #%" PRIx64,
                    t->name[0] ? t->name : "track", t->id);
    return import_lane(p->job, parent, name, (size_t)size);
}

uint32_t perfetto_place(perfetto *p, size_t track)
{
    perfetto_track *const t = &p->tracks[track];
    if (t->track) return t->track;
    if (t->is_counter)
        t->track = import_counter_track(p->job, process_of(p, t), t->name,
                                        strlen(t->name),
                                        t->units[0] ? t->units : NULL);
    else if (t->is_thread)
        t->track = import_thread(p->job, t->process, t->thread);
    else
        t->track = lane_of(p, t);
    return t->track;
}

/* ---- The process tree --------------------------------------------------- */

static void take_tree_process(perfetto *p, import_wire w)
{
    import_field f;
    int64_t pid = IMPORT_NONE;
    import_wire name = { NULL, NULL };
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) pid = (int32_t)f.value;
        if (f.number == 3 && f.type == IMPORT_BYTES && !name.at) name = f.bytes;
    }
    if (pid == IMPORT_NONE || name.at == name.end) return;
    import_track_name(p->job, import_process(p->job, pid),
                      (const char *)name.at, (size_t)(name.end - name.at));
}

static void take_tree_thread(perfetto *p, import_wire w)
{
    import_field f;
    int64_t pid = IMPORT_NONE, tid = IMPORT_NONE;
    import_wire name = { NULL, NULL };
    while (import_wire_field(&w, &f)) {
        if (f.number == 1) tid = (int32_t)f.value;
        if (f.number == 2 && f.type == IMPORT_BYTES) name = f.bytes;
        if (f.number == 3) pid = (int32_t)f.value;
    }
    if (tid == IMPORT_NONE || name.at == name.end) return;
    import_track_name(p->job, import_thread(p->job, pid, tid),
                      (const char *)name.at, (size_t)(name.end - name.at));
}

void perfetto_take_tree(perfetto *p, import_wire w)
{
    import_field f;
    while (import_wire_field(&w, &f)) {
        if (f.number == 1 && f.type == IMPORT_BYTES)
            take_tree_process(p, f.bytes);
        if (f.number == 2 && f.type == IMPORT_BYTES)
            take_tree_thread(p, f.bytes);
    }
}
