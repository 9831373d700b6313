/*
    rocprofv3.c - databases of ROCm's rocprofv3 (rocpd): SQLite

    Table names end in an identifier, one for each process in the file:
    "rocpd_region_0000a1b2_...". Rows of calls, kernels and copies refer to an
    event by event_id; the event has the id of the call that led to it
    (stack_id). Grid sizes are in threads.

    Source: the schema, version 3, and the writer of ROCm/rocprofiler-sdk.
    Tested with databases made by that schema, not with one from a device.
*/
#include "tools/import/map.h"
#include "tools/import/sqlite.h"

enum { PROCESSES = 256, NAME = 64 };

typedef struct rocpd {
    import_job *job;
    import_db *db;
    import_strings *strings;
    const char *suffix; // of the table names
    uint64_t process;   // its index: the upper bits of correlation ids
    bool out_of_memory;
    cli_map pids;            // by process: its process id
    cli_map threads;         // by thread: track
    cli_map devices;         // by agent: index of the GPU + 1; 0: a CPU
    cli_map calls;           // by event: stack_id
    cli_map categories;      // by event: category
    import_strings *kernels; // names of kernels
    cli_map registers;       // by kernel
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

// Returns whether a category is that of a library's functions, such as
// "HIP_RUNTIME_API" or "HSA_CORE_API". Others are markers of the program.
static bool is_call(ts_text category)
{
    static const char *const starts[] = { "HIP", "HSA", "RCCL", "ROC" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (category.size >= strlen(starts[i]) &&
            !memcmp(category.text, starts[i], strlen(starts[i])))
            return true;
    return false;
}

static void read_regions(rocpd *r)
{
    enum { THREAD, START, END, TEXT, EVENT, COLUMNS };
    static const char *const columns[COLUMNS] = { "tid", "start", "end",
                                                  "name_id", "event_id" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_region"), columns, COLUMNS,
                     0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        if (!import_rows_times(&rows, START, END, &start_ns, &ns) ||
            !import_rows_check(&rows, 1u << THREAD, start_ns))
            continue;
        const uint32_t thread = (uint32_t)get(&r->threads, v[THREAD]);
        if (!thread) {
            import_bad(r->job, "unknown_thread", start_ns);
            continue;
        }
        const int64_t kind = get(&r->categories, v[EVENT]);
        const ts_text category = import_strings_text(r->strings, kind);
        const uint32_t name = import_strings_name(r->strings, v[TEXT]);
        if (!name) import_flaw(r->job, "unknown_name");
        if (is_call(category))
            import_api_call(r->job, thread, start_ns, ns, name,
                            correlation(r, v[EVENT]), 0);
        else
            import_zone(r->job, thread, start_ns, ns, name,
                        kind ? import_strings_name(r->strings, kind) : 0, NULL);
    }
}

static void read_allocations(rocpd *r)
{
    enum { THREAD, TYPE, START, ADDRESS, SIZE, AGENT, COLUMNS };
    static const char *const columns[COLUMNS] = {
        "tid", "type", "start", "address", "size", "agent_id"
    };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_memory_allocate"), columns,
                     COLUMNS, 1u << TYPE);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        size_t size;
        const char *const type = import_rows_text(&rows, TYPE, &size);
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
        COLUMNS = GRID + 3
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
                                                  "grid_size_z" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_kernel_dispatch"), columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op = { .kind = TS_EVENT_KERNEL };
        ts_launch_entry entry = { 0 };
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
            const uint32_t threads = import_rows_u32(&rows, GRID + i);
            entry.block[i] = block;
            entry.grid[i] =
                block ? threads / block + (threads % block != 0) : threads;
        }
        entry.registers = (uint32_t)get(&r->registers, v[KERNEL]);
        entry.dynamic_shared = import_rows_u32(&rows, GROUP);
        entry.local = import_rows_u32(&rows, PRIVATE);
        op.launch = import_launch(r->job, &entry);
        import_strings_kernel(r->kernels, v[KERNEL], &op);
    }
}

// Returns the type of a copy by its name ("MEMORY_COPY_HOST_TO_DEVICE"), else
// by its agents.
static uint8_t copy_type(ts_text name, int64_t to, int64_t from)
{
    static const struct {
        const char *end;
        uint8_t type;
    } ends[] = { { "HOST_TO_DEVICE", 1 },
                 { "DEVICE_TO_HOST", 2 },
                 { "DEVICE_TO_DEVICE", 3 },
                 { "HOST_TO_HOST", 4 } };
    for (size_t i = 0; i < 4; i++) {
        const size_t size = strlen(ends[i].end);
        if (name.size >= size &&
            !memcmp(name.text + name.size - size, ends[i].end, size))
            return ends[i].type;
    }
    return to && from ? 3 : to ? 1 : from ? 2 : 4;
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
        COLUMNS
    };
    static const char *const columns[COLUMNS] = {
        "start",       "end",          "name_id",     "dst_agent_id",
        "dst_address", "src_agent_id", "src_address", "size",
        "stream_id",   "queue_id",     "event_id"
    };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_memory_copy"), columns,
                     COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        import_operation op = { .kind = TS_EVENT_MEMCPY };
        if (!import_rows_times(&rows, START, END, &op.start_ns,
                               &op.duration_ns))
            continue;
        const int64_t to = get(&r->devices, v[TO]);
        const int64_t from = get(&r->devices, v[FROM]);
        if (!to && !from) {
            import_bad(r->job, "unknown_device", op.start_ns);
            continue;
        }
        op.type = copy_type(import_strings_text(r->strings, v[TEXT]), to, from);
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

static void read_process(rocpd *r)
{
    r->strings = import_strings_read(r->job, r->db, table(r, "rocpd_string"),
                                     "id", "string");
    r->out_of_memory |= !r->strings;
    if (!r->strings) return;
    read_processes(r);
    read_threads(r);
    read_agents(r);
    read_kernels(r);
    read_events(r);
    read_regions(r);
    read_allocations(r);
    if (r->kernels) read_dispatches(r);
    read_copies(r);
    import_strings_free(r->strings);
    import_strings_free(r->kernels);
    cli_map *const maps[] = { &r->pids,  &r->threads,    &r->devices,
                              &r->calls, &r->categories, &r->registers };
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        cli_map_close(maps[i]);
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

// Checks the schema's version: 4 has times in a separate table.
static bool is_known(const rocpd *r)
{
    static const char *const start[] = { "start" };
    import_rows rows;
    import_rows_open(&rows, r->db, table(r, "rocpd_region"), start, 1, 0);
    const bool known = (rows.has & 1) != 0;
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
        return import_fail(job, "its schema version is not supported; only "
                                "version 3 is");
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
