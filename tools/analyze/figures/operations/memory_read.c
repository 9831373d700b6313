/*
    memory_read.c - reads allocations and frees of a file
*/
#include "tools/analyze/figures/operations/memory_rows.h"
#include "tools/cli/processes.h"

static uint32_t device_of(const ts_reader *reader, uint32_t track)
{
    ts_track t;
    for (int i = 0; i < 8 && ts_reader_track(reader, track, &t); i++) {
        if (t.type == TS_TRACK_DEVICE) return track;
        track = t.parent;
    }
    return 0;
}

// pool: on the host, its name.
static uint32_t space_of(memory_work *w, const memory_pool *like,
                         uint32_t process, bool gpu, uint32_t pool)
{
    const uint64_t key = cli_hash_join(
        cli_hash_join((uint64_t)like->file << 32 | (gpu ? like->device + 1 : 0),
                      process),
        gpu ? 0 : pool);
    const uint32_t known = cli_map_row(&w->spaces, key);
    if (known != CLI_NONE) return known;
    if (!cli_map_set(&w->spaces, key, w->space_count)) return CLI_NONE;
    return w->space_count++;
}

static uint32_t pool_of(memory_work *w, const memory_pool *like, uint32_t name)
{
    memory *const m = w->m;
    const uint64_t key = cli_hash_join(
        cli_hash_join(
            cli_hash_join((uint64_t)like->file << 32 | like->device, name),
            like->memory),
        like->process);
    const uint32_t known = cli_map_row(&w->pools, key);
    if (known != CLI_NONE) return known;
    if (!cli_grow(&m->pools, &m->pool_room, m->pool_count + 1,
                  sizeof *m->pools) ||
        !cli_map_set(&w->pools, key, (uint32_t)m->pool_count))
        return CLI_NONE;
    m->pools[m->pool_count] = *like;
    return (uint32_t)m->pool_count++;
}

// Adds an event; invalid ones are counted and skipped. Returns false if memory
// runs out.
static bool take_row(memory_work *w, const memory_file *file, uint32_t index,
                     bool several, const ts_event *event)
{
    memory *const m = w->m;
    const bool gpu = event->kind >= TS_EVENT_GPU_FIRST;
    const uint32_t process =
        several ? cli_event_process(file->reader, event) : 0;
    const uint32_t name = (uint32_t)ts_event_value(event, TS_COLUMN_POOL);
    const uint32_t category =
        (uint32_t)ts_event_value(event, TS_COLUMN_CATEGORY);
    memory_row row = {
        .address = ts_event_value(event, TS_COLUMN_ADDRESS),
        .size = ts_event_value(event, TS_COLUMN_SIZE),
        .time_ns = event->start_ns + file->offset_ns,
        .file = index,
        .stack = (uint32_t)ts_event_value(event, TS_COLUMN_STACK),
        .category = CLI_NONE,
        .site = (uint32_t)ts_event_value(event, TS_COLUMN_SITE),
        .order = (uint32_t)w->row_count,
        .takes =
            event->kind == TS_EVENT_ALLOC || event->kind == TS_EVENT_GPU_ALLOC,
    };
    m->rows++;
    if (!row.address) {
        m->failed += row.takes;
        return true;
    }
    if (row.size >> 56 || row.address + row.size < row.address) {
        m->bad++;
        return true;
    }
    const memory_pool like = {
        .file = index,
        .device = gpu ? device_of(file->reader, event->track) : 0,
        .process = gpu ? 0 : process,
        .name = ts_reader_name(file->reader, name),
        .memory = (uint32_t)(ts_event_value(event, TS_COLUMN_MEMORY) >> 4 & 15),
    };
    row.space = space_of(w, &like, process, gpu, name);
    // For a free the kind of memory is that of its block.
    row.pool = row.takes ? pool_of(w, &like, name) : CLI_NONE;
    if (category) {
        row.category =
            paths_name(&m->paths, ts_reader_name(file->reader, category));
        if (row.category == CLI_NONE) return false;
    }
    if (row.space == CLI_NONE || (row.takes && row.pool == CLI_NONE) ||
        !cli_grow(&w->rows, &w->row_room, w->row_count + 1, sizeof *w->rows))
        return false;
    if (!row.takes && !gpu) { // a pool may have frees only
        row.pool = pool_of(w, &like, name);
        if (row.pool == CLI_NONE) return false;
    }
    w->rows[w->row_count++] = row;
    return true;
}

// Returns the path of the zone named by the event, within the path of its
// thread if known.
static uint32_t path_of(memory_work *w, const memory_file *file, uint32_t site,
                        uint32_t node)
{
    path_tree *const p = &w->m->paths;
    if (!site) return node;
    const uint32_t name = paths_site(p, file->reader, site);
    if (name == CLI_NONE) return CLI_NONE;
    if (node != PATHS_ROOT && p->nodes[node].name == name) return node;
    return paths_child(p, PATHS_ROOT, name);
}

static bool find_paths(memory_work *w, const memory_file *file, size_t from,
                       const uint32_t *tracks)
{
    const size_t count = w->row_count - from;
    paths_query *const queries = malloc((count + 1) * sizeof *queries);
    if (!queries) return false;
    for (size_t i = 0; i < count; i++)
        queries[i] = (paths_query){ w->rows[from + i].time_ns - file->offset_ns,
                                    tracks[i], (uint32_t)i, PATHS_ROOT };
    bool ok = paths_resolve(&w->m->paths, file->reader, queries, count);
    for (size_t i = 0; ok && i < count; i++) {
        memory_row *const row = &w->rows[from + queries[i].owner];
        row->path = path_of(w, file, row->site, queries[i].node);
        ok = row->path != CLI_NONE;
    }
    free(queries);
    return ok;
}

bool memory_read(memory_work *w, const memory_file *file, uint32_t index)
{
    const ts_filter filter = { .kinds = TS_FILTER(ALLOC) | TS_FILTER(FREE) |
                                        TS_FILTER(GPU_ALLOC) |
                                        TS_FILTER(GPU_FREE) };
    const bool several = cli_has_processes(file->reader);
    const size_t from = w->row_count;
    uint32_t *tracks = NULL;
    size_t room = 0;
    ts_cursor *cursor;
    ts_event event;
    if (ts_cursor_open(&cursor, file->reader, &filter) != TS_OK) return false;
    bool ok = true;
    while (ok && ts_cursor_next(cursor, &event)) {
        const size_t before = w->row_count;
        uint32_t thread = (uint32_t)ts_event_value(&event, TS_COLUMN_THREAD);
        if (!thread) thread = event.track;
        ok = take_row(w, file, index, several, &event) &&
             cli_grow(&tracks, &room, w->row_count - from + 1, sizeof *tracks);
        if (ok && w->row_count > before) tracks[before - from] = thread;
    }
    ok = ok && ts_cursor_result(cursor) != TS_ERR_MEMORY;
    ts_cursor_close(cursor);
    ok = ok && find_paths(w, file, from, tracks);
    free(tracks);
    return ok;
}
