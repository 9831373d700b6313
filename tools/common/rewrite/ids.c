/*
    ids.c - maps numbers of a file to numbers of the new trace
*/
#include "tools/common/rewrite/rewrite.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

/* ---- Maps ---------------------------------------------------------------- */

enum { MAP_MOST = 1 << 24 }; // higher numbers are looked up each time
#define NOTHING UINT32_MAX   // maps a number that the file does not define

static inline uint32_t map_get(const copy_map *map, uint32_t from)
{
    return from < map->size ? map->to[from] : 0;
}

// A cache: without memory lookups are only slower.
static void map_put(copy_map *map, uint32_t from, uint32_t to)
{
    if (from >= map->size) {
        if (from >= MAP_MOST || to == NOTHING) return;
        uint32_t size = map->size ? map->size : 1024;
        while (size <= from)
            size *= 2;
        uint32_t *const more = realloc(map->to, size * sizeof *more);
        if (!more) return;
        memset(more + map->size, 0, (size - map->size) * sizeof *more);
        map->to = more;
        map->size = size;
    }
    map->to[from] = to;
}

// Caches the new number, or that the file does not define the old one.
static uint32_t settle(copy *c, copy_map *map, uint32_t from, uint32_t to)
{
    map_put(map, from, to ? to : NOTHING);
    c->undefined += !to;
    return to;
}

// Looks up a cached number; true if it is in *to.
static inline bool known(copy *c, const copy_map *map, uint32_t from,
                         uint32_t *to)
{
    const uint32_t found = from ? map_get(map, from) : NOTHING;
    *to = found == NOTHING ? 0 : found;
    c->undefined += from && found == NOTHING;
    return found != 0;
}

/* ---- Dictionaries -------------------------------------------------------- */

uint32_t copy_text(copy *c, copy_role role, ts_text text)
{
    if (text.size && c->rename) text = c->rename(c->rename_user, role, text);
    return text.size ? ts_writer_name(c->writer, text.text, text.size) : 0;
}

uint32_t copy_name(copy *c, copy_role role, uint32_t name)
{
    const uint32_t found = name ? map_get(&c->names, name) : NOTHING;
    if (found) return found == NOTHING ? 0 : found;
    const uint32_t to = copy_text(c, role, ts_reader_name(c->reader, name));
    map_put(&c->names, name, to ? to : NOTHING); // an empty text has no number
    return to;
}

static uint32_t copy_site(copy *c, uint32_t site)
{
    uint32_t to;
    if (known(c, &c->sites, site, &to)) return to;
    const ts_site_entry *const entry = ts_reader_site(c->reader, site);
    if (entry) {
        ts_site_entry made = *entry;
        made.name = copy_name(c, COPY_ZONE, entry->name);
        made.category = copy_name(c, COPY_CATEGORY, entry->category);
        made.function = copy_name(c, COPY_FUNCTION, entry->function);
        made.file = copy_name(c, COPY_FILE, entry->file);
        to = ts_writer_site(c->writer, &made);
    }
    return settle(c, &c->sites, site, to);
}

static uint32_t copy_launch(copy *c, uint32_t launch)
{
    uint32_t to;
    if (known(c, &c->launches, launch, &to)) return to;
    const ts_launch_entry *const entry = ts_reader_launch(c->reader, launch);
    if (entry) {
        ts_launch_entry made = *entry;
        made.name = copy_name(c, COPY_KERNEL, entry->name);
        to = ts_writer_launch(c->writer, &made);
    }
    return settle(c, &c->launches, launch, to);
}

// When renaming, leaves out the build-id, which identifies the program, and the
// address, which identifies the run. Frames are identified by their offset.
uint32_t copy_module_id(copy *c, uint32_t module)
{
    uint32_t to;
    if (known(c, &c->modules, module, &to)) return to;
    const ts_module_entry *const entry = ts_reader_module(c->reader, module);
    if (entry) {
        const ts_text id = ts_reader_build_id(c->reader, module);
        ts_module_entry made = *entry;
        made.path = copy_name(c, COPY_MODULE, entry->path);
        if (c->rename) made.address = 0;
        to = ts_writer_module(c->writer, &made, id.text,
                              c->rename ? 0 : id.size);
    }
    return settle(c, &c->modules, module, to);
}

// Copies the name of a frame.
static void copy_symbol(copy *c, const ts_frame_entry *from,
                        const ts_frame_entry *to)
{
    enum { MOST = 256 };
    const ts_line_entry *lines;
    ts_line_entry made[MOST];
    uint32_t count = ts_reader_symbol(c->reader, from, &lines);
    if (count > MOST) count = MOST;
    for (uint32_t i = 0; i < count; i++) {
        made[i] = lines[i];
        made[i].function = copy_name(c, COPY_FUNCTION, lines[i].function);
        made[i].file = copy_name(c, COPY_FILE, lines[i].file);
    }
    if (count) ts_writer_symbol(c->writer, to, made, count);
}

static uint32_t copy_stack(copy *c, uint32_t stack)
{
    enum { MOST = 4096 };
    uint32_t to;
    if (known(c, &c->stacks, stack, &to)) return to;
    const ts_frame_entry *frames;
    ts_frame_entry made[MOST];
    uint32_t count = ts_reader_stack(c->reader, stack, &frames);
    if (count > MOST) count = MOST;
    for (uint32_t i = 0; i < count; i++) {
        made[i] = frames[i];
        made[i].module = copy_module_id(c, frames[i].module);
        if (c->rename && !made[i].module) // not in a module: an address
            made[i].offset =
                c->renumber(c->rename_user, COPY_HANDLE, frames[i].offset);
        copy_symbol(c, &frames[i], &made[i]);
    }
    if (count) to = ts_writer_stack(c->writer, made, count);
    return settle(c, &c->stacks, stack, to);
}

/* ---- Tracks -------------------------------------------------------------- */

// to: the new track's number; 0: takes the next one.
static uint32_t track_add(copy *c, uint32_t track, uint32_t to)
{
    const size_t before = c->tracks.count;
    uint64_t *const at = cli_map_at(&c->tracks, track);
    if (!at) {
        c->no_memory = true;
        return 1;
    }
    if (c->tracks.count > before)
        *at = to                                      ? to
              : c->merge->next_track < TS_TRACK_MIXED ? c->merge->next_track++
                                                      : TS_TRACK_MIXED - 1;
    return (uint32_t)*at;
}

// Adds a track that the file does not define, below its process and without a
// type.
static uint32_t track_undefined(copy *c, uint32_t track)
{
    const ts_track_entry entry = { .parent = c->process, .number = track };
    c->undefined++;
    return ts_writer_track(c->writer, track_add(c, track, 0), &entry);
}

uint32_t copy_track_id(copy *c, uint32_t track)
{
    if (!c->merge || !track) return track;
    const uint32_t to = cli_map_row(&c->tracks, track);
    return to == CLI_NONE ? track_undefined(c, track) : to;
}

bool copy_is_joined(const copy *c, uint32_t to)
{
    return to < c->first_track;
}

void copy_merge_end(copy_merge *merge)
{
    free(merge->members);
}

// Returns the new track of an earlier file that is the same as this one; 0:
// none.
static uint32_t member_find(const copy *c, const ts_track *track)
{
    for (size_t i = 0; c->joins && i < c->merge->member_count; i++) {
        const copy_member *const m = &c->merge->members[i];
        if (m->file == c->joins - 1 && m->type == (uint32_t)track->type &&
            m->number == track->number)
            return m->track;
    }
    return 0;
}

// Returns the machine on which the ids of a process are valid.
static uint64_t machine_of(const copy *c, const ts_track *track)
{
    ts_metadata boot;
    if (!ts_reader_metadata(c->reader, track->id, "boot_id", &boot) &&
        !ts_reader_metadata(c->reader, 0, "boot_id", &boot))
        return 0;
    return XXH3_64bits(boot.text.text, boot.text.size);
}

// Returns whether nothing but the definition of a track is in the file.
static bool is_bare(const copy *c, const ts_track *track)
{
    ts_track other;
    ts_metadata m;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &other); i++)
        if (other.parent == track->id && other.id != track->id) return false;
    for (size_t i = 0; ts_reader_metadata_at(c->reader, i, &m); i++)
        if (m.track == track->id) return false;
    for (size_t i = 0; ts_reader_chunk(c->reader, i, &chunk); i++)
        if (chunk.header.track == track->id) return false;
    return true;
}

// Returns the parent process as an earlier file recorded it, for a child made
// by fork; 0: none.
static uint32_t parent_find(const copy *c, const ts_track *track)
{
    if (track->type != TS_TRACK_PROCESS ||
        track->number == ts_reader_info(c->reader)->process)
        return 0;
    const uint64_t machine = machine_of(c, track);
    for (size_t i = 0; machine && i < c->merge->member_count; i++) {
        const copy_member *const m = &c->merge->members[i];
        if (m->file != c->file && m->type == TS_TRACK_PROCESS &&
            m->number == track->number && m->machine == machine &&
            is_bare(c, track))
            return m->track;
    }
    return 0;
}

static void member_add(copy *c, const ts_track *track, uint32_t to)
{
    copy_merge *const g = c->merge;
    if (track->type != TS_TRACK_PROCESS && track->type != TS_TRACK_THREAD)
        return;
    if (!cli_grow(&g->members, &g->member_room, g->member_count + 1,
                  sizeof *g->members)) {
        c->no_memory = true;
        return;
    }
    const copy_member member = {
        c->file, (uint32_t)track->type, to, track->number,
        track->type == TS_TRACK_PROCESS ? machine_of(c, track) : 0
    };
    g->members[g->member_count++] = member;
}

bool copy_begin(copy *c)
{
    ts_track track;
    c->part_count = copy_part_count(c->reader);
    if (!c->merge) return true;
    if (!c->merge->next_track) c->merge->next_track = 1;
    c->part = c->merge->next_part;
    c->merge->next_part += c->part_count;
    c->first_track = c->merge->next_track;
    for (size_t i = 0; ts_reader_track_at(c->reader, i, &track); i++) {
        const uint32_t joined = member_find(c, &track);
        member_add(
            c, &track,
            track_add(c, track.id, joined ? joined : parent_find(c, &track)));
    }
    return !c->no_memory;
}

void copy_end(copy *c)
{
    copy_map *const maps[] = { &c->names,  &c->sites,   &c->launches,
                               &c->stacks, &c->modules, &c->images };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) {
        free(maps[i]->to);
        memset(maps[i], 0, sizeof *maps[i]);
    }
    cli_map_close(&c->tracks);
    copy_captures_close(c);
}

/* ---- Columns ------------------------------------------------------------- */

// Makes an id of one process unique. If the id uses the upper bits itself, it
// becomes a hash, which is unlikely to collide.
static uint64_t copy_id(const copy *c, uint64_t id)
{
    const uint64_t part = id >> 48;
    if (!c->merge || !id) return id;
    if (part < c->part_count && c->part + part < COPY_PARTS)
        return id + ((uint64_t)c->part << 48);
    const uint64_t odd[2] = { id, c->part };
    return XXH3_64bits(odd, sizeof odd) | UINT64_C(1) << 63;
}

uint32_t copy_image_id(copy *c, uint32_t image)
{
    uint32_t to = map_get(&c->images, image);
    if (!c->merge || !image || to) return image && to ? to : image;
    to = ++c->merge->next_image;
    map_put(&c->images, image, to);
    return to;
}

// Orders the operations of a part after those of the part before.
uint64_t copy_order(const copy *c, uint64_t order)
{
    return copy_id(c, order);
}

static copy_role name_role(ts_event_kind kind)
{
    return kind == TS_EVENT_API_CALL        ? COPY_API
           : kind == TS_EVENT_COLLECTIVE    ? COPY_COLLECTIVE
           : kind == TS_EVENT_HOST_FUNCTION ? COPY_HOST_FUNCTION
           : kind == TS_EVENT_SAMPLE        ? COPY_COUNTER
                                            : COPY_ARGUMENT;
}

// Returns whether a column's values identify a run, and how to renumber them.
static bool is_number(ts_column column, copy_number *what)
{
    *what = column == TS_COLUMN_ADDRESS || column == TS_COLUMN_SOURCE
                ? COPY_ADDRESS
                : COPY_HANDLE;
    return *what == COPY_ADDRESS || column == TS_COLUMN_ID ||
           column == TS_COLUMN_CORRELATION || column == TS_COLUMN_RECORD ||
           column == TS_COLUMN_GRAPH || column == TS_COLUMN_GRAPH_NODE ||
           column == TS_COLUMN_COMMUNICATOR;
}

bool copy_is_plain(const copy *c, ts_event_kind kind, ts_column column)
{
    copy_number what;
    if (c->rename && is_number(column, &what)) return false;
    switch (column) {
    case TS_COLUMN_SITE:
    case TS_COLUMN_NAME:
    case TS_COLUMN_POOL:
    case TS_COLUMN_CATEGORY:
    case TS_COLUMN_STACK:
    case TS_COLUMN_UNIT:
    case TS_COLUMN_LAUNCH: return false;
    case TS_COLUMN_PEER: return !c->merge || kind != TS_EVENT_MEMCPY;
    case TS_COLUMN_ID:
        return !c->merge || (c->merge->shared_flows &&
                             (kind == TS_EVENT_FLOW || kind == TS_EVENT_SPAN));
    case TS_COLUMN_THREAD:
    case TS_COLUMN_CORRELATION:
    case TS_COLUMN_RECORD:
    case TS_COLUMN_GRAPH:
    case TS_COLUMN_GRAPH_NODE: return !c->merge;
    default: return true;
    }
}

uint64_t copy_value(copy *c, ts_event_kind kind, ts_column column,
                    uint64_t value)
{
    const uint32_t id = (uint32_t)value;
    copy_number what;
    if (copy_is_plain(c, kind, column)) return value;
    if (c->rename && is_number(column, &what))
        return c->renumber(c->rename_user, what, value);
    switch (column) {
    case TS_COLUMN_SITE: return copy_site(c, id);
    case TS_COLUMN_NAME: return copy_name(c, name_role(kind), id);
    case TS_COLUMN_POOL: return copy_name(c, COPY_POOL, id);
    case TS_COLUMN_CATEGORY: return copy_name(c, COPY_CATEGORY, id);
    case TS_COLUMN_UNIT: return copy_name(c, COPY_UNIT, id);
    case TS_COLUMN_STACK: return copy_stack(c, id);
    case TS_COLUMN_LAUNCH: return copy_launch(c, id);
    case TS_COLUMN_THREAD:
    case TS_COLUMN_PEER: return copy_track_id(c, id);
    default: return copy_id(c, value);
    }
}

static const copy_map *map_of(const copy *c, ts_column column)
{
    return column == TS_COLUMN_SITE     ? &c->sites
           : column == TS_COLUMN_LAUNCH ? &c->launches
           : column == TS_COLUMN_STACK  ? &c->stacks
           : column == TS_COLUMN_NAME   ? &c->names
                                        : NULL;
}

void copy_values(copy *c, ts_event_kind kind, ts_column column,
                 const uint64_t *from, const uint32_t *rows, uint32_t count,
                 uint64_t *to)
{
    const copy_map *const map = map_of(c, column);
    if (copy_is_plain(c, kind, column)) {
        for (uint32_t i = 0; i < count; i++)
            to[i] = from[rows[i]];
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value = from[rows[i]];
        const uint32_t found = map ? map_get(map, (uint32_t)value) : 0;
        to[i] = found && found != NOTHING ? found
                                          : copy_value(c, kind, column, value);
    }
}
