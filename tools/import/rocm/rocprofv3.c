/*
    rocprofv3.c - databases of ROCm's rocprofv3 (rocpd): SQLite

    Table names end in an identifier, one for each process in the file:
    "rocpd_region_0000a1b2_...". Rows of calls, kernels and copies refer to an
    event by event_id; the event has the id of the call that led to it
    (stack_id). Grid sizes are in threads.

    Since schema 4 rows refer to a track, which has their thread, agent, queue
    and stream, and categories have a table of their own; in 4.0 times have one,
    too. Columns are found by name, so that any mixture is read.

    Source: the schemas 3.0.0 to 3.0.5, 4.0 and 4.1 and the writer of
    ROCm/rocprofiler-sdk. Tested with databases made by these schemas, not with
    one from a device.
*/
#include "tools/import/rocm/rocm.h"
#include "tools/import/sqlite.h"

enum { PROCESSES = 256, NAME = 64 };

// Where the rows of a track are, since schema 4.
typedef struct place {
    int64_t thread, agent, queue, stream; // ids, or IMPORT_NONE
} place;

typedef struct rocpd {
    import_job *job;
    import_db *db;
    import_strings *strings, *kinds; // kinds: of categories
    const char *suffix;              // of the table names
    uint64_t process; // its index: the upper bits of correlation ids
    bool out_of_memory;
    cli_map pids;            // by process: its process id
    cli_map threads;         // by thread: track
    cli_map devices;         // by agent: index of the GPU + 1; 0: a CPU
    cli_map calls;           // by event: stack_id
    cli_map categories;      // by event: category
    import_strings *kernels; // names of kernels
    cli_map registers;       // by kernel
    cli_map track_of;        // by id: index into tracks + 1
    place *tracks;
    size_t track_count, track_room;
    cli_map times; // by id: time, since schema 4.0
} rocpd;

static const char *table(const rocpd *r, const char *name)
{
    static _Thread_local char full[NAME + 64];
    snprintf(full, sizeof full, "%s%s", name, r->suffix);
    return full;
}

static void put(rocpd *r, cli_map *map, int64_t key, int64_t value)
{
    int64_t *const at = import_map_put(map, key, NULL);
    r->out_of_memory |= !at;
    if (at) *at = value;
}

static int64_t get(const cli_map *map, int64_t key)
{
    const int64_t *const at = import_map_get(map, key);
    return at ? *at : 0;
}

/* ---- Who is who --------------------------------------------------------- */

static void read_processes(rocpd *r)
{
    enum { ID, PID, COMMAND, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "pid", "command" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_info_process"), columns,
                     COLUMNS, 1u << COMMAND);
    while (import_rows_next(&rows)) {
        size_t size;
        const char *const command = import_rows_text(&rows, COMMAND, &size);
        if (!import_rows_check(&rows, 3, IMPORT_NONE)) continue;
        put(r, &r->pids, rows.values[ID], rows.values[PID]);
        if (size)
            import_track_name(r->job, import_process(r->job, rows.values[PID]),
                              command, size);
    }
}

static void read_threads(rocpd *r)
{
    enum { ID, PROCESS, TID, TEXT, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "pid", "tid", "name" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_info_thread"), columns,
                     COLUMNS, 1u << TEXT);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        size_t size;
        const char *const text = import_rows_text(&rows, TEXT, &size);
        if (!import_rows_check(&rows, 7, IMPORT_NONE)) continue;
        const uint32_t track =
            import_thread(r->job, get(&r->pids, v[PROCESS]), v[TID]);
        put(r, &r->threads, v[ID], track);
        if (size) import_track_name(r->job, track, text, size);
    }
}

static void read_agents(rocpd *r)
{
    enum { ID, TYPE, INDEX, PRODUCT, TEXT, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "type", "type_index",
                                                  "product_name", "name" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_info_agent"), columns,
                     COLUMNS, 1u << TYPE | 1u << PRODUCT | 1u << TEXT);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        size_t size;
        const char *text = import_rows_text(&rows, TYPE, &size);
        const bool is_gpu = size == 3 && !memcmp(text, "GPU", 3);
        if (!import_rows_check(&rows, 1, IMPORT_NONE)) continue;
        put(r, &r->devices, v[ID],
            !is_gpu                   ? 0
            : v[INDEX] == IMPORT_NONE ? v[ID] + 1
                                      : v[INDEX] + 1);
        if (!is_gpu) continue;
        text = import_rows_text(&rows, PRODUCT, &size);
        if (!size) text = import_rows_text(&rows, TEXT, &size);
        const uint32_t device =
            import_device(r->job, get(&r->devices, v[ID]) - 1);
        if (size) import_track_name(r->job, device, text, size);
    }
}

static void read_kernels(rocpd *r)
{
    enum { ID, REGISTERS, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "arch_vgpr_count" };
    import_rows rows;
    const char *const name = table(r, "rocpd_info_kernel_symbol");
    r->kernels = import_strings_read(r->job, r->db, name, "id", "display_name");
    r->out_of_memory |= !r->kernels;
    import_rows_open(&rows, r->db, name, columns, COLUMNS, 0);
    rows.again = true;
    while (import_rows_next(&rows))
        put(r, &r->registers, rows.values[ID],
            import_rows_u32(&rows, REGISTERS));
}

/* ---- Schema 4 ----------------------------------------------------------- */

// Columns of schema 4, behind the others of a table.
#define SINCE_4 "track_id", "start_id", "end_id"
enum { TRACK_ID, START_ID, END_ID, SINCE_4_COUNT };

static void read_tracks(rocpd *r)
{
    enum { ID, THREAD, AGENT, QUEUE, STREAM, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "tid", "agent_id",
                                                  "queue_id", "stream_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_track"), columns, COLUMNS,
                     0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        if (!import_rows_check(&rows, 1, IMPORT_NONE)) continue;
        if (!cli_grow(&r->tracks, &r->track_room, r->track_count + 1,
                      sizeof *r->tracks)) {
            r->out_of_memory = true;
            continue;
        }
        r->tracks[r->track_count++] =
            (place){ v[THREAD], v[AGENT], v[QUEUE], v[STREAM] };
        put(r, &r->track_of, v[ID], (int64_t)r->track_count);
    }
}

static void read_times(rocpd *r)
{
    static const char *const columns[] = { "id", "value" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_timestamp"), columns, 2, 0);
    while (import_rows_next(&rows))
        if (import_rows_check(&rows, 3, IMPORT_NONE))
            put(r, &r->times, rows.values[0], rows.values[1]);
}

// Sets the times of a row from the table of times.
static void fill_times(const rocpd *r, import_rows *rows, size_t start,
                       size_t end, size_t since_4)
{
    const int64_t *const ids = &rows->values[since_4];
    const int64_t *const from = import_map_get(&r->times, ids[START_ID]);
    const int64_t *const to = import_map_get(&r->times, ids[END_ID]);
    if (from) rows->values[start] = *from;
    if (to && end != start) rows->values[end] = *to;
}

// Returns the track of a row; one where all is unknown before schema 4.
static place place_of(const rocpd *r, const import_rows *rows, size_t since_4)
{
    const int64_t at = get(&r->track_of, rows->values[since_4 + TRACK_ID]);
    return at ? r->tracks[at - 1]
              : (place){ IMPORT_NONE, IMPORT_NONE, IMPORT_NONE, IMPORT_NONE };
}

static void fill(import_rows *rows, size_t column, int64_t value)
{
    if (rows->values[column] == IMPORT_NONE) rows->values[column] = value;
}

/* ---- Events ------------------------------------------------------------- */

static void read_events(rocpd *r)
{
    enum { ID, CATEGORY, CALL, COLUMNS };
    static const char *const columns[COLUMNS] = { "id", "category_id",
                                                  "stack_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_event"), columns, COLUMNS,
                     0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        if (!import_rows_check(&rows, 1, IMPORT_NONE)) continue;
        if (v[CALL] != IMPORT_NONE) put(r, &r->calls, v[ID], v[CALL]);
        if (v[CATEGORY] != IMPORT_NONE)
            put(r, &r->categories, v[ID], v[CATEGORY]);
    }
}

// Returns the correlation id of an event; 0: its call is unknown.
static uint64_t correlation(const rocpd *r, int64_t event)
{
    const int64_t call = get(&r->calls, event);
    return call > 0 ? (uint64_t)call | r->process << 48 : 0;
}

/* ---- Host --------------------------------------------------------------- */

static void read_regions(rocpd *r)
{
    enum {
        THREAD,
        START,
        END,
        TEXT,
        EVENT,
        MORE,
        COLUMNS = MORE + SINCE_4_COUNT
    };
    static const char *const columns[COLUMNS] = {
        "tid", "start", "end", "name_id", "event_id", SINCE_4
    };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_region"), columns, COLUMNS,
                     0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        fill_times(r, &rows, START, END, MORE);
        fill(&rows, THREAD, place_of(r, &rows, MORE).thread);
        if (!import_rows_times(&rows, START, END, &start_ns, &ns) ||
            !import_rows_check(&rows, 1u << THREAD, start_ns))
            continue;
        const uint32_t thread = (uint32_t)get(&r->threads, v[THREAD]);
        if (!thread) {
            import_bad(r->job, "unknown_thread", start_ns);
            continue;
        }
        const int64_t kind = get(&r->categories, v[EVENT]);
        const ts_text category = import_strings_text(r->kinds, kind);
        const uint32_t name = import_strings_name(r->strings, v[TEXT]);
        if (!name) import_flaw(r->job, "unknown_name");
        if (rocm_is_call(category))
            import_api_call(r->job, thread, start_ns, ns, name,
                            correlation(r, v[EVENT]), 0);
        else
            import_zone(r->job, thread, start_ns, ns, name,
                        kind ? import_strings_name(r->kinds, kind) : 0, NULL);
    }
}

static void read_allocations(rocpd *r)
{
    enum {
        THREAD,
        TYPE,
        START,
        ADDRESS,
        SIZE,
        AGENT,
        MORE,
        COLUMNS = MORE + SINCE_4_COUNT
    };
    static const char *const columns[COLUMNS] = { "tid",     "type", "start",
                                                  "address", "size", "agent_id",
                                                  SINCE_4 };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_memory_allocate"), columns,
                     COLUMNS, 1u << TYPE);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        size_t size;
        const char *const type = import_rows_text(&rows, TYPE, &size);
        const place where = place_of(r, &rows, MORE);
        fill_times(r, &rows, START, START, MORE);
        fill(&rows, THREAD, where.thread);
        fill(&rows, AGENT, where.agent);
        const uint32_t thread = (uint32_t)get(&r->threads, v[THREAD]);
        if (!import_rows_times(&rows, START, START, &start_ns, &ns)) continue;
        const bool taken = size == 5 && !memcmp(type, "ALLOC", 5);
        if (!thread || (!taken && (size != 4 || memcmp(type, "FREE", 4)))) {
            import_unowned(r->job, "rocpd_memory_allocate: other kinds", 34);
            continue;
        }
        char pool[32];
        const int64_t gpu = get(&r->devices, v[AGENT]);
        const int length =
            gpu ? snprintf(pool, sizeof pool, "gpu:%" PRId64, gpu - 1)
                : snprintf(pool, sizeof pool, "cpu");
        const ts_writer_value values[] = {
            { TS_COLUMN_ADDRESS, import_rows_u64(&rows, ADDRESS) },
            { TS_COLUMN_POOL, import_name(r->job, pool, (size_t)length) },
            { TS_COLUMN_SIZE, import_rows_u64(&rows, SIZE) }
        };
        import_event(r->job, taken ? TS_EVENT_ALLOC : TS_EVENT_FREE, thread,
                     start_ns, 0, values, taken ? 3 : 2);
    }
}

/* ---- Devices ------------------------------------------------------------ */

// Returns the track of a HIP stream; without one, of the queue.
static uint32_t stream(rocpd *r, int64_t gpu, int64_t stream, int64_t queue)
{
    return import_stream(r->job, gpu, IMPORT_NONE,
                         stream != IMPORT_NONE  ? stream
                         : queue != IMPORT_NONE ? queue
                                                : 0);
}

static void read_dispatches(rocpd *r)
{
    enum {
        START,
        END,
        AGENT,
        KERNEL,
        STREAM,
        QUEUE,
        EVENT,
        GROUP,
        PRIVATE,
        BLOCK,
        GRID = BLOCK + 3,
        GRAPH = GRID + 3,
        NODE,
        MORE,
        COLUMNS = MORE + SINCE_4_COUNT
    };
    static const char *const columns[COLUMNS] = { "start",
                                                  "end",
                                                  "agent_id",
                                                  "kernel_id",
                                                  "stream_id",
                                                  "queue_id",
                                                  "event_id",
                                                  "group_segment_size",
                                                  "private_segment_size",
                                                  "workgroup_size_x",
                                                  "workgroup_size_y",
                                                  "workgroup_size_z",
                                                  "grid_size_x",
                                                  "grid_size_y",
                                                  "grid_size_z",
                                                  "graph_exec_id",
                                                  "graph_node_id",
                                                  SINCE_4 };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_kernel_dispatch"), columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op = { .kind = TS_EVENT_KERNEL };
        ts_launch_entry entry = { 0 };
        const place where = place_of(r, &rows, MORE);
        fill_times(r, &rows, START, END, MORE);
        fill(&rows, AGENT, where.agent);
        fill(&rows, STREAM, where.stream);
        fill(&rows, QUEUE, where.queue);
        if (!import_rows_times(&rows, START, END, &op.start_ns,
                               &op.duration_ns) ||
            !import_rows_check(&rows, 1u << AGENT, op.start_ns))
            continue;
        const int64_t gpu = get(&r->devices, v[AGENT]);
        if (!gpu) {
            import_bad(r->job, "unknown_device", op.start_ns);
            continue;
        }
        op.track = stream(r, gpu - 1, v[STREAM], v[QUEUE]);
        op.correlation = correlation(r, v[EVENT]);
        entry.name = import_strings_name(r->kernels, v[KERNEL]);
        if (!entry.name) import_flaw(r->job, "unknown_name");
        for (size_t i = 0; i < 3; i++) {
            const uint32_t block = import_rows_u32(&rows, BLOCK + i);
            rocm_side(&entry, i, block, import_rows_u32(&rows, GRID + i));
        }
        entry.registers = (uint32_t)get(&r->registers, v[KERNEL]);
        entry.dynamic_shared = import_rows_u32(&rows, GROUP);
        entry.local = import_rows_u32(&rows, PRIVATE);
        op.launch = import_launch(r->job, &entry);
        op.graph = import_rows_u32(&rows, GRAPH);
        op.id = import_rows_u64(&rows, NODE);
        import_strings_kernel(r->kernels, v[KERNEL], &op);
    }
}

static void read_copies(rocpd *r)
{
    enum {
        START,
        END,
        TEXT,
        TO,
        TO_ADDRESS,
        FROM,
        FROM_ADDRESS,
        SIZE,
        STREAM,
        QUEUE,
        EVENT,
        MORE,
        COLUMNS = MORE + SINCE_4_COUNT
    };
    static const char *const columns[COLUMNS] = {
        "start",       "end",          "name_id",     "dst_agent_id",
        "dst_address", "src_agent_id", "src_address", "size",
        "stream_id",   "queue_id",     "event_id",    SINCE_4
    };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_memory_copy"), columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op = { .kind = TS_EVENT_MEMCPY };
        const place where = place_of(r, &rows, MORE);
        fill_times(r, &rows, START, END, MORE);
        fill(&rows, STREAM, where.stream);
        fill(&rows, QUEUE, where.queue);
        if (!import_rows_times(&rows, START, END, &op.start_ns,
                               &op.duration_ns))
            continue;
        const int64_t to = get(&r->devices, v[TO]);
        const int64_t from = get(&r->devices, v[FROM]);
        if (!to && !from) {
            import_bad(r->job, "unknown_device", op.start_ns);
            continue;
        }
        op.type =
            rocm_copy_type(import_strings_text(r->strings, v[TEXT]), to, from);
        if (to && from && to != from) {
            op.type = 5;
            op.peer = import_device(r->job, from - 1);
        }
        op.track = stream(r, (to ? to : from) - 1, v[STREAM], v[QUEUE]);
        op.size = import_rows_u64(&rows, SIZE);
        op.address = import_rows_u64(&rows, TO_ADDRESS);
        op.source = import_rows_u64(&rows, FROM_ADDRESS);
        op.correlation = correlation(r, v[EVENT]);
        import_gpu(r->job, &op);
    }
}

/* ---- All of it ---------------------------------------------------------- */

static void read_rows(rocpd *r)
{
    read_processes(r);
    read_threads(r);
    read_agents(r);
    read_kernels(r);
    read_tracks(r);
    read_times(r);
    read_events(r);
    read_regions(r);
    read_allocations(r);
    if (r->kernels) read_dispatches(r);
    read_copies(r);
    import_strings_free(r->kernels);
    cli_map *const maps[] = { &r->pids,     &r->threads,    &r->devices,
                              &r->calls,    &r->categories, &r->registers,
                              &r->track_of, &r->times };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        cli_map_close(maps[i]);
    free(r->tracks);
}

static void read_process(rocpd *r)
{
    import_rows rows;
    r->strings = import_strings_read(r->job, r->db, table(r, "rocpd_string"),
                                     "id", "string");
    r->kinds = r->strings;
    const char *const kinds = table(r, "rocpd_info_category");
    if (import_rows_look(&rows, r->db, kinds))
        r->kinds = import_strings_read(r->job, r->db, kinds, "id", "name");
    import_rows_close(&rows);
    r->out_of_memory |= !r->strings || !r->kinds;
    if (r->strings && r->kinds) read_rows(r);
    if (r->kinds != r->strings) import_strings_free(r->kinds);
    import_strings_free(r->strings);
}

// Lists the suffix of the table names for each process.
static size_t list_suffixes(import_db *db, char suffixes[PROCESSES][NAME])
{
    static const char start[] = "rocpd_region";
    const char *name;
    bool read;
    size_t count = 0;
    for (size_t i = 0; (name = import_db_table(db, i, &read)); i++)
        if (!strncmp(name, start, sizeof start - 1) && count < PROCESSES &&
            (!name[sizeof start - 1] || name[sizeof start - 1] == '_'))
            snprintf(suffixes[count++], NAME, "%s", name + sizeof start - 1);
    return count;
}

// Returns whether rows have times, in their table or in another.
static bool is_known(const rocpd *r)
{
    static const char *const starts[] = { "start", "start_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_region"), starts, 2, 0);
    const bool known = rows.has != 0;
    import_rows_close(&rows);
    return known;
}

static bool import(import_job *job)
{
    char suffixes[PROCESSES][NAME];
    rocpd r = { .job = job, .db = import_db_open(job) };
    if (!r.db) return false;
    const size_t count = list_suffixes(r.db, suffixes);
    r.suffix = suffixes[0];
    if (count && !is_known(&r)) {
        import_db_close(r.db);
        return import_fail(job, "its schema version is not supported; "
                                "versions 3.0 to 4.1 are");
    }
    for (size_t i = 0; i < count; i++) {
        const bool out_of_memory = r.out_of_memory;
        r = (rocpd){ .job = job,
                     .db = r.db,
                     .suffix = suffixes[i],
                     .process = i,
                     .out_of_memory = out_of_memory };
        read_process(&r);
    }
    import_db_rest(r.db);
    import_db_close(r.db);
    return !r.out_of_memory || import_out_of_memory(job);
}

static bool recognise(import_source *source)
{
    static const char *const tables[] = { "rocpd_kernel_dispatch*",
                                          "rocpd_region*" };
    return import_db_recognise(source, tables, 2);
}

const import_format import_rocprofv3 = {
    .name = "rocprofv3",
    .title = "ROCm rocprofv3 (rocpd, SQLite)",
    .missing = IMPORT_DB_MISSING,
    .recognise = recognise,
    .import = import,
};
