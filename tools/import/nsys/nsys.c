/*
    nsys.c - SQLite exports of Nsight Systems: processes, devices, streams

    Source: "nsys export --type sqlite", whose schema changes from version to
    version; checked with files of 2020 to 2026.

    A globalTid is 8 bits of hardware id, 8 of virtual machine, 24 of process
    and 24 of thread. Contexts, correlation ids and events are unique only
    within a process; those of the second and further processes get the index of
    the process in their upper half.
*/
#include "tools/import/nsys/nsys.h"

/* ---- Processes, threads, streams ---------------------------------------- */

uint32_t nsys_name(nsys *n, const char *text)
{
    return import_name(n->job, text, strlen(text));
}

int64_t nsys_process(nsys *n, int64_t global)
{
    if (global == IMPORT_NONE) return 0;
    int64_t *const index = import_map_put(&n->processes, global >> 24, NULL);
    if (!index) n->out_of_memory = true;
    if (!index) return 0;
    if (!*index) *index = (int64_t)n->processes.count;
    return *index - 1;
}

int64_t nsys_pid(int64_t global)
{
    return global == IMPORT_NONE ? IMPORT_NONE : global >> 24 & 0xFFFFFF;
}

uint32_t nsys_thread(nsys *n, int64_t global, int64_t time_ns)
{
    if (global == IMPORT_NONE) {
        import_bad(n->job, "unknown_thread", time_ns);
        return 0;
    }
    int64_t *const track = import_map_put(&n->threads, global, NULL);
    if (!track) n->out_of_memory = true;
    if (!track) return 0;
    if (!*track) nsys_process(n, global); // assigns the process an index
    if (!*track)
        *track = import_thread(n->job, nsys_pid(global), global & 0xFFFFFF);
    return (uint32_t)*track;
}

uint64_t nsys_id(nsys *n, int64_t global, int64_t id)
{
    if (id == IMPORT_NONE || !id) return 0;
    return (uint64_t)id + ((uint64_t)nsys_process(n, global) << 32);
}

static bool is_small(int64_t id)
{
    return id >= 0 && id <= UINT32_MAX;
}

// Returns the number of a context: its own, unless an earlier process uses it.
static int64_t context_number(nsys *n, int64_t process, int64_t device,
                              int64_t context)
{
    int64_t *const owner = import_map_put(
        &n->contexts, (int64_t)((uint64_t)device << 32 | (uint64_t)context),
        NULL);
    if (!owner) n->out_of_memory = true;
    if (!owner) return context;
    if (!*owner) *owner = process + 1;
    return *owner == process + 1 ? context : context | process << 32;
}

// Returns the GPU of a process's device number; the numbers differ between
// processes.
static int64_t gpu_number(const nsys *n, int64_t process, int64_t device)
{
    for (size_t i = 0; i < n->gpu_count; i++)
        if (n->gpus[i].cuda == device && n->gpus[i].process == process)
            return n->gpus[i].gpu;
    return device;
}

// Stores a stream; its flags are set when all streams are known.
static void add_lane(nsys *n, const nsys_lane *lane)
{
    bool fresh;
    int64_t *const index = import_map_put(&n->lane_of, lane->track, &fresh);
    if (index && !fresh) return;
    if (index && n->lane_count == n->lane_room) {
        const size_t room = n->lane_room * 2 + 16;
        nsys_lane *const more = realloc(n->lanes, room * sizeof *more);
        if (more) n->lanes = more;
        if (more) n->lane_room = room;
    }
    n->out_of_memory |= !index || n->lane_count == n->lane_room;
    if (n->out_of_memory) return;
    *index = (int64_t)n->lane_count;
    n->lanes[n->lane_count++] = *lane;
}

static uint32_t find_track(nsys *n, int64_t global, const nsys_lane *lane)
{
    const int64_t device = gpu_number(n, nsys_pid(global), lane->device);
    if (lane->context == IMPORT_NONE)
        return lane->stream == IMPORT_NONE
                   ? import_device(n->job, device)
                   : import_stream(n->job, device, IMPORT_NONE, lane->stream);
    const int64_t context =
        context_number(n, nsys_process(n, global), device, lane->context);
    return lane->stream == IMPORT_NONE
               ? import_context(n->job, device, context)
               : import_stream(n->job, device, context, lane->stream);
}

int64_t nsys_device(nsys *n, int64_t global, int64_t context, int64_t device)
{
    const int64_t *const known =
        import_map_get(&n->device_of, (int64_t)nsys_id(n, global, context));
    return known && context != IMPORT_NONE ? *known - 1 : device;
}

void nsys_report_device(nsys *n, int64_t global, int64_t context,
                        int64_t device)
{
    if (context == IMPORT_NONE || device == IMPORT_NONE) return;
    int64_t *const known = import_map_put(
        &n->device_of, (int64_t)nsys_id(n, global, context), NULL);
    n->out_of_memory |= !known;
    if (known && !*known) *known = device + 1;
}

uint32_t nsys_stream(nsys *n, int64_t global, int64_t device, int64_t context,
                     int64_t stream, int64_t time_ns)
{
    if (!is_small(device)) {
        import_bad(n->job, "unknown_device", time_ns);
        return 0;
    }
    if (!is_small(context)) context = IMPORT_NONE;
    if (!is_small(stream) || stream == UINT32_MAX) stream = IMPORT_NONE;
    const int64_t process = global == IMPORT_NONE ? IMPORT_NONE : global >> 24;
    nsys_lane *const known =
        &n->cache[((uint64_t)stream ^ (uint64_t)context << 2 ^
                   (uint64_t)process << 4) %
                  NSYS_CACHE];
    if (!known->track || known->process != process || known->device != device ||
        known->context != context || known->stream != stream) {
        *known = (nsys_lane){ .process = process,
                              .device = device,
                              .context = context,
                              .stream = stream };
        known->track = find_track(n, global, known);
        if (stream != IMPORT_NONE) add_lane(n, known);
    }
    return known->track;
}

/* ---- Flags of streams --------------------------------------------------- */

// Sorts by process, context and stream, as in TARGET_INFO_CUDA_STREAM.
static int compare_lanes(const void *one, const void *two)
{
    const nsys_lane *const a = one, *const b = two;
    const int64_t x[] = { a->process & 0xFFFFFF, a->context, a->stream };
    const int64_t y[] = { b->process & 0xFFFFFF, b->context, b->stream };
    for (int i = 0; i < 3; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

static nsys_lane *find_lane(nsys *n, int64_t process, int64_t context,
                            int64_t stream)
{
    const nsys_lane key = { .process = process,
                            .context = context,
                            .stream = stream };
    if (!n->lane_count) return NULL;
    return bsearch(&key, n->lanes, n->lane_count, sizeof key, compare_lanes);
}

// Reads TARGET_INFO_CUDA_STREAM: 1 default flags, 2 non-blocking, 3 the null
// stream.
static void read_stream_flags(nsys *n)
{
    enum { STREAM, PROCESS, CONTEXT, PRIORITY, FLAG };
    static const char *const columns[] = { "streamId", "processId", "contextId",
                                           "priority", "flag" };
    static const char unused[] = "TARGET_INFO_CUDA_STREAM: never used";
    import_rows rows;
    import_rows_open(&rows, n->db, "TARGET_INFO_CUDA_STREAM", columns, 5, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        nsys_lane *const lane = find_lane(n, v[PROCESS], v[CONTEXT], v[STREAM]);
        if (!import_rows_check(&rows, 1u << STREAM | 1u << CONTEXT,
                               IMPORT_NONE))
            continue;
        if (!lane) import_unowned(n->job, unused, sizeof unused - 1);
        if (!lane) continue;
        const int32_t priority = (int32_t)(uint32_t)(uint64_t)v[PRIORITY];
        lane->listed = true;
        if (v[PRIORITY] != IMPORT_NONE && priority >= -32768 &&
            priority <= 32767)
            lane->flags = (uint64_t)(priority + 32768) << 16;
        if (v[FLAG] == 2) lane->flags |= TS_STREAM_NON_BLOCKING;
        if (v[FLAG] == 3) lane->flags |= TS_STREAM_LEGACY_DEFAULT;
    }
}

// Reads TARGET_INFO_CUDA_CONTEXT_INFO, which has the null stream of each
// context.
static void read_null_streams(nsys *n)
{
    enum { STREAM, PROCESS, CONTEXT };
    static const char *const columns[] = { "nullStreamId", "processId",
                                           "contextId" };
    import_rows rows;
    import_rows_open(&rows, n->db, "TARGET_INFO_CUDA_CONTEXT_INFO", columns, 3,
                     0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        nsys_lane *const lane = find_lane(n, v[PROCESS], v[CONTEXT], v[STREAM]);
        if (!import_rows_check(&rows, 1u << CONTEXT, IMPORT_NONE) || !lane)
            continue;
        lane->listed = true;
        lane->flags |= TS_STREAM_LEGACY_DEFAULT;
    }
}

/*
    Guesses the null stream if no table has it. If created streams are listed,
    it is the only one of its context that is not; else stream 7, CUPTI's number
    for the null stream of the first context.
*/
static void guess_null_stream(nsys *n, size_t from, size_t to)
{
    nsys_lane *guess = NULL;
    bool any = false, many = false;
    for (size_t i = from; i < to; i++) {
        if (n->lanes[i].flags & TS_STREAM_LEGACY_DEFAULT) return;
        any = any || n->lanes[i].listed;
        if (n->lanes[i].listed) continue;
        many = many || guess;
        guess = &n->lanes[i];
    }
    if (!any || many)
        for (size_t i = from; i < to; i++)
            if (n->lanes[i].stream == 7) guess = &n->lanes[i], many = false;
    if (!guess || many || (!any && guess->stream != 7)) return;
    guess->flags |= TS_STREAM_LEGACY_DEFAULT;
    import_estimate(n->job, "legacy_default_stream");
}

static void end_streams(nsys *n)
{
    if (n->lane_count)
        qsort(n->lanes, n->lane_count, sizeof *n->lanes, compare_lanes);
    read_stream_flags(n);
    read_null_streams(n);
    for (size_t i = 0, next; i < n->lane_count; i = next) {
        next = i + 1;
        while (next < n->lane_count &&
               n->lanes[next].process == n->lanes[i].process &&
               n->lanes[next].context == n->lanes[i].context)
            next++;
        guess_null_stream(n, i, next);
    }
    for (size_t i = 0; i < n->lane_count; i++)
        if (n->lanes[i].flags)
            import_track_flags(n->job, n->lanes[i].track, n->lanes[i].flags);
}

/* ---- Names -------------------------------------------------------------- */

static void read_thread_names(nsys *n)
{
    enum { NAME, THREAD };
    static const char *const columns[] = { "nameId", "globalTid" };
    static const char idle[] = "ThreadNames: of threads without events";
    import_rows rows;
    import_rows_open(&rows, n->db, "ThreadNames", columns, 2, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const track =
            import_map_get(&n->threads, rows.values[THREAD]);
        const ts_text text = import_strings_text(n->strings, rows.values[NAME]);
        if (!import_rows_check(&rows, 1u << THREAD, IMPORT_NONE)) continue;
        if (track)
            import_track_name(n->job, (uint32_t)*track, text.text, text.size);
        else
            import_unowned(n->job, idle, sizeof idle - 1);
    }
}

static void read_process_names(nsys *n)
{
    enum { PROCESS, NAME };
    static const char *const columns[] = { "globalPid", "name" };
    static const char idle[] = "PROCESSES: without events";
    import_rows rows;
    import_rows_open(&rows, n->db, "PROCESSES", columns, 2, 1u << NAME);
    while (import_rows_next(&rows)) {
        size_t size;
        const char *const text = import_rows_text(&rows, NAME, &size);
        const int64_t global = rows.values[PROCESS];
        if (!import_rows_check(&rows, 1u << PROCESS, IMPORT_NONE)) continue;
        if (!import_map_get(&n->processes, global >> 24))
            import_unowned(n->job, idle, sizeof idle - 1);
        else
            import_track_name(n->job, import_process(n->job, nsys_pid(global)),
                              text, size);
    }
}

/* ---- The format --------------------------------------------------------- */

static bool recognise(import_source *source)
{
    static const char *const tables[] = { "CUPTI_ACTIVITY_KIND_KERNEL",
                                          "CUPTI_ACTIVITY_KIND_RUNTIME",
                                          "CUPTI_ACTIVITY_KIND_MEMCPY",
                                          "NVTX_EVENTS",
                                          "META_DATA_EXPORT",
                                          "OSRT_API",
                                          "StringIds" };
    return import_db_recognise(source, tables, sizeof tables / sizeof *tables);
}

// Passes the ENUM_ tables: they explain numbers and have no events.
static void pass_enumerations(import_db *db)
{
    bool read;
    const char *name;
    for (size_t i = 0; (name = import_db_table(db, i, &read)); i++)
        if (!strncmp(name, "ENUM_", 5)) import_db_pass(db, name);
}

static void read_all(nsys *n)
{
    nsys_read_about(n);
    nsys_read_gpu(n);
    nsys_read_nvtx(n);
    nsys_read_host(n);
    end_streams(n);
    read_thread_names(n);
    read_process_names(n);
    pass_enumerations(n->db);
    import_db_rest(n->db);
}

static bool import(import_job *job)
{
    nsys n = { .job = job, .db = import_db_open(job) };
    if (!n.db) return false;
    n.strings = import_strings_read(job, n.db, "StringIds", "id", "value");
    n.out_of_memory = !n.strings;
    if (n.strings) read_all(&n);
    cli_map_close(&n.processes);
    cli_map_close(&n.threads);
    cli_map_close(&n.contexts);
    cli_map_close(&n.lane_of);
    cli_map_close(&n.device_of);
    cli_map_close(&n.calls);
    free(n.fields);
    cli_map_close(&n.records);
    cli_map_close(&n.late);
    free(n.lanes);
    free(n.gpus);
    free(n.events);
    import_strings_free(n.strings);
    import_db_close(n.db);
    return !n.out_of_memory || import_out_of_memory(job);
}

const import_format import_nsys = {
    .name = "nsys",
    .title = "Nsight Systems SQLite export",
    .missing = IMPORT_DB_MISSING,
    .recognise = recognise,
    .import = import,
};
