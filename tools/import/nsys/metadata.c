// metadata.c - Nsight Systems: the session, the machine, its GPUs
#include "tools/import/nsys/nsys.h"

#include <ctype.h>

// Converts "maxWarpsPerSm" to a key: max_warps_per_sm.
static void make_key(char *key, size_t room, const char *name)
{
    size_t at = 0;
    for (char last = '_'; *name && at + 3 < room; last = *name++) {
        const bool hump =
            isupper((unsigned char)*name) && islower((unsigned char)last);
        if (hump) key[at++] = '_';
        key[at++] = isalnum((unsigned char)*name)
                        ? (char)tolower((unsigned char)*name)
                        : '_';
    }
    key[at] = 0;
}

typedef struct fact {
    const char *name, *key;
} fact;

static const char *key_of(const fact *facts, const char *name)
{
    for (; facts->name; facts++)
        if (!strcmp(facts->name, name)) return facts->key;
    return NULL;
}

/*
    Reads the facts about the session from a table of names and values. The rest
    are settings of the profiler and the program's environment, which may have
    secrets and is not imported.
*/
static void read_pairs(nsys *n, const char *table, const fact *facts)
{
    static const char *const columns[] = { "name", "value" };
    import_rows rows;
    char rest[80];
    snprintf(rest, sizeof rest, "%s: settings", table);
    import_rows_open(&rows, n->db, table, columns, 2, 3);
    while (import_rows_next(&rows)) {
        size_t size, value_size;
        const char *const name = import_rows_text(&rows, 0, &size);
        const char *const value = import_rows_text(&rows, 1, &value_size);
        const char *const key = name ? key_of(facts, name) : NULL;
        if (!name)
            import_bad(n->job, "broken_row", IMPORT_NONE);
        else if (key && value_size)
            import_meta_text(n->job, 0, key, value, value_size);
        else
            import_unowned(n->job, rest, strlen(rest));
    }
}

// Reads the properties of GPUs: each column becomes metadata, some with a name
// of ours.
static void read_gpus(nsys *n)
{
    static const char *const known[][2] = {
        { "totalMemory", "memory_bytes" },   { "smCount", "multiprocessors" },
        { "threadsPerWarp", "warp_size" },   { "asyncEngines", "copy_engines" },
        { "l2CacheSize", "l2_cache_bytes" },
    };
    import_rows rows;
    import_rows_open(&rows, n->db, "TARGET_INFO_GPU", NULL, 0, 0);
    while (import_rows_next(&rows)) {
        int64_t device = IMPORT_NONE;
        for (size_t i = 0; i < rows.count; i++)
            if (!strcmp(import_rows_column(&rows, i),
                        n->gpu_count ? "id" : "cuDevice"))
                device = rows.values[i];
        if (device < 0 || device > UINT32_MAX) {
            import_bad(n->job, "unknown_device", IMPORT_NONE);
            continue;
        }
        const uint32_t track = import_device(n->job, device);
        for (size_t i = 0; i < rows.count; i++) {
            const char *const name = import_rows_column(&rows, i);
            char key[80];
            size_t size;
            make_key(key, sizeof key, name);
            for (size_t k = 0; k < sizeof known / sizeof *known; k++)
                if (!strcmp(known[k][0], name))
                    snprintf(key, sizeof key, "%s", known[k][1]);
            const char *const text = import_rows_text(&rows, i, &size);
            if (text && !strcmp(name, "name"))
                import_track_name(n->job, track, text, size);
            if (text)
                import_meta_text(n->job, track, key, text, size);
            else if (rows.values[i] != IMPORT_NONE)
                import_meta_int(n->job, track, key, rows.values[i]);
        }
    }
}

// Reads which GPU each process uses as which device.
static void read_devices(nsys *n)
{
    enum { GPU, CUDA, PROCESS };
    static const char *const columns[] = { "gpuId", "cudaId", "pid" };
    import_rows rows;
    import_rows_open(&rows, n->db, "TARGET_INFO_CUDA_DEVICE", columns, 3, 0);
    while (import_rows_next(&rows)) {
        if (!import_rows_check(&rows, 7, IMPORT_NONE)) continue;
        nsys_gpu_of *const more =
            n->gpu_count < 4096
                ? realloc(n->gpus, (n->gpu_count + 1) * sizeof *more)
                : NULL;
        if (!more) break;
        n->gpus = more;
        n->gpus[n->gpu_count++] =
            (nsys_gpu_of){ rows.values[PROCESS], rows.values[CUDA],
                           rows.values[GPU] };
    }
    import_rows_close(&rows);
}

static int64_t first_value(nsys *n, const char *table, const char *column)
{
    const char *const columns[] = { column };
    import_rows rows;
    int64_t value = IMPORT_NONE;
    bool read = false;
    const char *name;
    for (size_t i = 0; (name = import_db_table(n->db, i, &read)); i++)
        if (!strcmp(name, table)) break;
    import_rows_open(&rows, n->db, table, columns, 1, 0);
    rows.again = name && read;
    while (import_rows_next(&rows))
        if (value == IMPORT_NONE) value = rows.values[0];
    import_rows_close(&rows);
    return value;
}

// Reads the start: times are of the system's clock, or relative to the start.
static void read_start(nsys *n)
{
    static const char table[] = "TARGET_INFO_SESSION_START_TIME";
    const int64_t unix_ns = first_value(n, table, "utcEpochNs");
    int64_t start_ns = first_value(n, "ANALYSIS_DETAILS", "startTime");
    if (start_ns == IMPORT_NONE)
        start_ns = first_value(n, table, "systemClockNs");
    if (start_ns == IMPORT_NONE) start_ns = 0;
    if (unix_ns <= 0 || start_ns < 0) return;
    n->job->has_unix_offset = true;
    n->job->unix_offset_ns = unix_ns - start_ns;
}

void nsys_read_about(nsys *n)
{
    static const fact exports[] = {
        { "EXPORT_PRODUCT_VERSION", "nsys.version" },
        { "EXPORT_SCHEMA_VERSION", "nsys.schema" },
        { "DERIVED_FROM", "nsys.derived_from" },
        { "DERIVED_WINDOW_NS", "nsys.derived_window_ns" },
        { NULL, NULL }
    };
    static const fact captures[] = {
        { "PROCESS_0:COMMAND", "command" },
        { "PROCESS_0:ARGUMENT_0", "command.argument_0" },
        { "PROCESS_0:ARGUMENT_1", "command.argument_1" },
        { "PROCESS_0:WORKING_DIR", "command.folder" },
        { "CUDA_GRAPH_TRACE_OPTIONS:MODE", "nsys.graph_trace" },
        { NULL, NULL }
    };
    static const fact systems[] = { { "Hostname", "host" },
                                    { "OsDescription", "os" },
                                    { "CpuDescription", "cpu" },
                                    { "CpuCores", "cpu_cores" },
                                    { "KernelVersion", "kernel_version" },
                                    { "NvDriverVersion", "driver_version" },
                                    { "CudaDriverVersion",
                                      "cuda_driver_version" },
                                    { NULL, NULL } };
    read_start(n);
    read_devices(n);
    read_gpus(n);
    read_pairs(n, "META_DATA_EXPORT", exports);
    read_pairs(n, "META_DATA_CAPTURE", captures);
    read_pairs(n, "TARGET_INFO_SYSTEM_ENV", systems);
}
