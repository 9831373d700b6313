// host.c - Nsight Systems: API calls, samples of counters
#include "tools/import/nsys/nsys.h"

/* ---- Calls of the CUDA interfaces --------------------------------------- */

// Returns the size of a function's name without its version: that of
// cudaLaunchKernel_v7000 is cudaLaunchKernel, but _v2 of cuMemAlloc_v2 is kept.
static size_t plain_size(ts_text name)
{
    size_t at = name.size;
    while (at && name.text[at - 1] >= '0' && name.text[at - 1] <= '9')
        at--;
    return name.size - at >= 4 && at > 2 && !memcmp(name.text + at - 2, "_v", 2)
               ? at - 2
               : name.size;
}

static uint32_t call_name(nsys *n, int64_t id)
{
    bool fresh;
    int64_t *const name = import_map_put(&n->calls, id, &fresh);
    const ts_text text = import_strings_text(n->strings, id);
    n->out_of_memory |= !name;
    if (!name) return 0;
    if (fresh && text.size)
        *name = import_name(n->job, text.text, plain_size(text));
    return (uint32_t)*name;
}

// Adds an event record without a recorded time, to be estimated from its call.
static void report_record(nsys *n, uint64_t correlation, int64_t start_ns)
{
    const int64_t *const late =
        n->late.count && correlation
            ? import_map_get(&n->late, (int64_t)correlation)
            : NULL;
    if (!late) return;
    n->events[*late - 1].start_ns = start_ns;
    n->events[*late - 1].is_call_time = true;
}

static void write_records(nsys *n)
{
    for (size_t i = 0; i < n->event_count; i++)
        if (n->events[i].is_call_time)
            import_gpu(n->job, &n->events[i]);
        else
            import_bad(n->job, "no_time", IMPORT_NONE);
}

static void read_calls(nsys *n, const char *table)
{
    enum { START, END, THREAD, CORRELATION, NAME, RESULT, COLUMNS };
    static const char *const columns[COLUMNS] = { "start",     "end",
                                                  "globalTid", "correlationId",
                                                  "nameId",    "returnValue" };
    import_rows rows;
    import_rows_open(&rows, n->db, table, columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        if (!import_rows_times(&rows, START, END, &start_ns, &ns)) continue;
        const uint32_t thread = nsys_thread(n, v[THREAD], start_ns);
        if (!thread) continue;
        if (rows.wrong) import_flaw(n->job, "wrong_type");
        const uint64_t correlation = nsys_id(n, v[THREAD], v[CORRELATION]);
        const uint32_t name = call_name(n, v[NAME]);
        if (!name) import_flaw(n->job, "unknown_name");
        report_record(n, correlation, start_ns);
        import_api_call(n->job, thread, start_ns, ns, name, correlation,
                        v[RESULT] == IMPORT_NONE ? 0 : (uint64_t)v[RESULT]);
    }
}

/* ---- Calls of anything else --------------------------------------------- */

static bool is_one_of(const char *name, const char *const *names)
{
    for (size_t i = 0; names[i]; i++)
        if (!strcmp(name, names[i])) return true;
    return false;
}

// The columns of a table of ranges on threads.
typedef struct ranges {
    size_t start, end, thread, name;
    uint64_t arguments; // bit set of the other columns, which become arguments
} ranges;

static bool find_columns(const import_rows *rows, ranges *at)
{
    static const char *const silent[] = { "eventClass",  "correlationId",
                                          "callchainId", "nestingLevel",
                                          "returnValue", NULL };
    *at = (ranges){ SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX, 0 };
    for (size_t i = 0; i < rows->count; i++) {
        const char *const name = import_rows_column(rows, i);
        if (!strcmp(name, "start"))
            at->start = i;
        else if (!strcmp(name, "end"))
            at->end = i;
        else if (!strcmp(name, "globalTid"))
            at->thread = i;
        else if (!strcmp(name, "nameId") || !strcmp(name, "textId"))
            at->name = i;
        else if (!is_one_of(name, silent))
            at->arguments |= UINT64_C(1) << i;
    }
    return at->start != SIZE_MAX && at->end != SIZE_MAX &&
           at->thread != SIZE_MAX && at->name != SIZE_MAX;
}

static void take_range(nsys *n, import_rows *rows, const ranges *at,
                       uint32_t category)
{
    const int64_t *const v = rows->values;
    int64_t start_ns, ns;
    if (!import_rows_times(rows, at->start, at->end, &start_ns, &ns)) return;
    const uint32_t thread = nsys_thread(n, v[at->thread], start_ns);
    if (!thread) return;
    const uint32_t name = import_strings_name(n->strings, v[at->name]);
    if (!name) import_flaw(n->job, "unknown_name");
    const uint32_t site =
        import_zone(n->job, thread, start_ns, ns, name, category, NULL);
    for (size_t i = 0; at->arguments >> i; i++)
        if (at->arguments >> i & 1 && v[i] != IMPORT_NONE)
            import_zone_int(n->job, thread, start_ns, site,
                            nsys_name(n, import_rows_column(rows, i)), v[i]);
}

/*
    Reads all tables with a start, an end, a thread and a name: OS runtime,
    cuBLAS, cuDNN, MPI, OpenACC, OpenMP, system calls, and those of later
    versions. Their rows nest with the ranges of the program, so they become
    zones, with the table as category.
*/
static void read_ranges(nsys *n)
{
    const char *table;
    bool read;
    for (size_t i = 0; (table = import_db_table(n->db, i, &read)); i++) {
        import_rows rows;
        ranges at;
        if (read || !import_rows_look(&rows, n->db, table) ||
            !find_columns(&rows, &at))
            continue;
        const uint32_t category =
            nsys_name(n, strcmp(table, "OSRT_API") ? table : "OS runtime");
        import_rows_open(&rows, n->db, table, NULL, 0, 0);
        while (import_rows_next(&rows))
            take_range(n, &rows, &at, category);
    }
}

/* ---- The profiler itself ------------------------------------------------ */

static void read_overhead(nsys *n, const char *table)
{
    enum { START, END, THREAD, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = { "start", "end", "globalTid",
                                                  "nameId" };
    import_rows rows;
    import_rows_open(&rows, n->db, table, columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t start_ns, ns;
        if (!import_rows_times(&rows, START, END, &start_ns, &ns)) continue;
        const uint32_t thread = nsys_thread(n, v[THREAD], start_ns);
        if (!thread) continue;
        char name[60];
        const int size =
            snprintf(name, sizeof name, "profiler overhead, thread %" PRId64,
                     v[THREAD] & 0xFFFFFF);
        const uint32_t lane =
            import_lane(n->job, import_process(n->job, nsys_pid(v[THREAD])),
                        name, (size_t)size);
        const uint32_t number = import_strings_name(n->strings, v[NAME]);
        import_zone(n->job, lane, start_ns, ns, number,
                    nsys_name(n, "overhead"), NULL);
    }
}

static void read_diagnostics(nsys *n)
{
    enum { TIME, PROCESS, TEXT, COLUMNS };
    static const char *const columns[COLUMNS] = { "timestamp", "globalPid",
                                                  "text" };
    static const char lane_name[] = "diagnostics";
    import_rows rows;
    import_rows_open(&rows, n->db, "DIAGNOSTIC_EVENT", columns, COLUMNS,
                     1u << TEXT);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        size_t size;
        int64_t start_ns, ns;
        const char *const text = import_rows_text(&rows, TEXT, &size);
        if (!import_rows_times(&rows, TIME, TIME, &start_ns, &ns)) continue;
        const uint32_t parent = import_process(n->job, nsys_pid(v[PROCESS]));
        const uint32_t lane =
            import_lane(n->job, parent, lane_name, sizeof lane_name - 1);
        const ts_writer_value site = {
            TS_COLUMN_SITE, import_site(n->job, nsys_name(n, "diagnostic"), 0)
        };
        import_event_text(n->job, TS_EVENT_MESSAGE, lane, start_ns, 0, &site, 1,
                          text, size);
    }
}

/* ---- GPU metrics -------------------------------------------------------- */

// Combines typeId and metricId to one key; false if they are out of range.
static bool metric_key(int64_t type, int64_t metric, int64_t *key)
{
    *key = (int64_t)((uint64_t)type << 16 | (uint64_t)metric);
    return type >= 0 && type < INT64_C(1) << 46 && metric >= 0 &&
           metric < 1 << 16;
}

// Returns the counter track of a metric; the unit is in brackets: "SMs Active
// [Throughput %]".
static uint32_t metric_track(nsys *n, int64_t type, const char *name,
                             size_t size)
{
    char unit[40] = "";
    size_t cut = size;
    for (size_t i = 0; i + 2 < size && name[size - 1] == ']'; i++)
        if (name[i] == '[') {
            snprintf(unit, sizeof unit, "%.*s", (int)(size - i - 2),
                     name + i + 1);
            cut = i && name[i - 1] == ' ' ? i - 1 : i;
        }
    return import_counter_track(n->job, import_device(n->job, type & 0xFF),
                                name, cut, unit);
}

static void read_metric_names(nsys *n, cli_map *tracks)
{
    enum { TYPE, METRIC, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = { "typeId", "metricId",
                                                  "metricName" };
    import_rows rows;
    import_rows_open(&rows, n->db, "TARGET_INFO_GPU_METRICS", columns, COLUMNS,
                     1u << NAME);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t key;
        size_t size;
        const char *const name = import_rows_text(&rows, NAME, &size);
        if (!name || !metric_key(v[TYPE], v[METRIC], &key)) {
            import_bad(n->job, "broken_row", IMPORT_NONE);
            continue;
        }
        int64_t *const track = import_map_put(tracks, key, NULL);
        if (track) *track = metric_track(n, v[TYPE], name, size);
    }
}

static void read_metrics(nsys *n)
{
    enum { TIME, TYPE, METRIC, VALUE, COLUMNS };
    static const char *const columns[COLUMNS] = { "timestamp", "typeId",
                                                  "metricId", "value" };
    import_rows rows;
    cli_map tracks = { 0 };
    read_metric_names(n, &tracks);
    import_rows_open(&rows, n->db, "GPU_METRICS", columns, COLUMNS, 0);
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        int64_t key, start_ns, ns;
        if (!import_rows_times(&rows, TIME, TIME, &start_ns, &ns) ||
            !import_rows_check(&rows, 15, start_ns))
            continue;
        const int64_t *const track = metric_key(v[TYPE], v[METRIC], &key)
                                         ? import_map_get(&tracks, key)
                                         : NULL;
        if (!track) {
            import_bad(n->job, "unknown_metric", start_ns);
            continue;
        }
        const ts_writer_value values[] = { { TS_COLUMN_TYPE, TS_VALUE_INT },
                                           { TS_COLUMN_VALUE,
                                             (uint64_t)v[VALUE] } };
        import_event(n->job, TS_EVENT_COUNTER, (uint32_t)*track, start_ns, 0,
                     values, 2);
    }
    cli_map_close(&tracks);
}

void nsys_read_host(nsys *n)
{
    read_calls(n, "CUPTI_ACTIVITY_KIND_RUNTIME");
    read_calls(n, "CUPTI_ACTIVITY_KIND_DRIVER");
    write_records(n);
    read_overhead(n, "PROFILER_OVERHEAD");
    read_overhead(n, "CUPTI_ACTIVITY_KIND_OVERHEAD");
    read_diagnostics(n);
    read_metrics(n);
    read_ranges(n); // the tables that no other function has read
}
