/*
    export_nsys.c - a database with the tables of Nsight Systems

    Most are views of ts-query, which a query by hand can use as well; the
    others are what importers ask for besides. A globalTid is the process
    identifier shifted left by 24 bits, plus the thread's.
*/
#include "tools/api/export_tables.h"
#include "tools/common/select/select.h"
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

#define TEXT_ID(text) \
    "(SELECT 3 * n.id FROM name n WHERE n.text = " text " LIMIT 1)"

// Nsight Systems numbers the records of events in the order of their calls.
#define RECORD(of) \
    "(SELECT r.number FROM temp.record_call r WHERE r.correlation = " of ")"
#define RECORD_OF_WAIT \
    "(SELECT s.record FROM sync s WHERE s.correlation = y.correlationId " \
    "AND s.kind = 'event_wait')"
static const char record_calls[] =
    "CREATE TEMP TABLE record_call AS SELECT correlation, row_number() OVER "
    "(PARTITION BY process ORDER BY start_ns) AS number FROM main.api_call "
    "WHERE name GLOB '*EventRecord*'; CREATE UNIQUE INDEX temp.record_of ON "
    "record_call(correlation, number)";

static const struct {
    const char *name, *sql; // sql NULL: a view or table of that name
} tables[] = {
    { "StringIds", NULL },
    { "CUPTI_ACTIVITY_KIND_KERNEL", NULL },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", NULL },
    { "CUPTI_ACTIVITY_KIND_MEMSET", NULL },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
      "SELECT y.*, " RECORD(
          RECORD_OF_WAIT) " AS eventSyncId "
                          "FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION y" },
    { "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
      "SELECT start_ns AS timestamp, device AS deviceId, context AS contextId, "
      "stream AS streamId, correlation AS correlationId, process << 24 AS "
      "globalPid, event AS eventId, " RECORD(
          "g.correlation") " AS eventSyncId "
                           "FROM gpu_op g WHERE kind = 'event_record'" },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", NULL },
    { "NVTX_EVENTS", NULL },
    { "TARGET_INFO_GPU", "SELECT number AS id, name, number AS cuDevice "
                         "FROM track WHERE type = 'device'" },
    { "ENUM_CUDA_MEMCPY_OPER", NULL },
    { "ENUM_CUDA_MEM_KIND", NULL },
    { "ENUM_CUPTI_SYNC_TYPE", NULL },
    { "ThreadNames",
      "SELECT " TEXT_ID(
          "t.name") " AS nameId, 0 AS priority, "
                    "(t.process << 24) | (t.number & 16777215) AS globalTid "
                    "FROM track t WHERE type = 'thread' "
                    "AND nameId IS NOT NULL" },
    { "TARGET_INFO_CUDA_STREAM",
      "SELECT number AS streamId, (SELECT coalesce(g.process, (SELECT "
      "t.process FROM track t WHERE t.id = g.thread_track)) AS p FROM gpu_op g "
      "WHERE g.track = s.id AND p IS NOT NULL LIMIT 1) AS processId, "
      "context AS contextId, CASE WHEN flags >> 16 THEN (flags >> 16) - 32768 "
      "END AS priority, CASE WHEN flags & 2 THEN 3 WHEN flags & 1 THEN 2 "
      "ELSE 1 END AS flag FROM track s WHERE type = 'stream'" },
    { "PROCESSES",
      "SELECT number << 24 AS globalPid, number AS pid, name FROM track "
      "WHERE type = 'process'" },
    { "TARGET_INFO_SESSION_START_TIME",
      "SELECT start_realtime_ns AS utcEpochNs, 0 AS systemClockNs FROM info "
      "WHERE start_realtime_ns > 0" },
    { "META_DATA_EXPORT",
      "SELECT 'EXPORT_PRODUCT_VERSION' AS name, value FROM metadata "
      "WHERE key = 'nsys.version' UNION ALL "
      "SELECT 'EXPORT_SCHEMA_VERSION', value FROM metadata "
      "WHERE key = 'nsys.schema'" },
};

// An operation of which the trace tells no process is of the process that the
// others of its stream or context are of.
static bool save_processes(query *q, const char *table)
{
    return query_run_made(
        q, sqlite3_mprintf(
               "UPDATE saved.\"%w\" AS o SET globalPid = coalesce("
               "(SELECT s.processId FROM saved.TARGET_INFO_CUDA_STREAM s WHERE "
               "s.contextId IS o.contextId AND s.streamId IS o.streamId), "
               "(SELECT max(s.processId) FROM saved.TARGET_INFO_CUDA_STREAM s "
               "WHERE s.contextId IS o.contextId)) << 24 "
               "WHERE globalPid IS NULL",
               table));
}

// Correlations of several processes have the process above bit 32.
static const char *const numbers[][2] = {
    { "CUPTI_ACTIVITY_KIND_KERNEL", "correlationId" },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", "correlationId" },
    { "CUPTI_ACTIVITY_KIND_MEMSET", "correlationId" },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "correlationId" },
    { "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "correlationId" },
    { "CUPTI_ACTIVITY_KIND_CUDA_EVENT", "eventId" },
    { "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "eventId" },
    { "CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId" },
};

static bool save_table(query *q, const char *name, const char *own,
                       ts_export_counts *counts)
{
    char *const sql = own ? sqlite3_mprintf("%s", own)
                          : sqlite3_mprintf("SELECT * FROM main.\"%w\"", name);
    const bool done =
        sql &&
        query_run_made(
            q, sqlite3_mprintf("CREATE TABLE saved.\"%w\" AS SELECT * FROM "
                               "(%s) LIMIT 0",
                               name, sql)) &&
        query_run_made(
            q, sqlite3_mprintf("INSERT INTO saved.\"%w\" %s", name, sql));
    sqlite3_free(sql);
    if (!done) return false;
    counts->tables++;
    counts->rows += (uint64_t)sqlite3_changes(q->db);
    return true;
}

static bool save_numbers(query *q, const char *table, const char *column)
{
    return query_run_made(
        q, sqlite3_mprintf("UPDATE saved.\"%w\" SET \"%w\" = \"%w\" & "
                           "4294967295 WHERE \"%w\" >> 32",
                           table, column, column, column));
}

static bool save_all(query *q, void *counts)
{
    bool done = query_run_made(q, sqlite3_mprintf("%s", record_calls));
    for (size_t i = 0; done && i < sizeof tables / sizeof *tables; i++)
        done = save_table(q, tables[i].name, tables[i].sql, counts);
    for (size_t i = 0; done && i < sizeof numbers / sizeof *numbers; i++)
        done = save_numbers(q, numbers[i][0], numbers[i][1]);
    for (size_t i = 0; done && i < 5; i++)
        done = save_processes(q, numbers[i][0]);
    return done;
}

// Arguments of zones are not counted: those of PyTorch's operators are in the
// texts of their ranges.
static void report_left_out(const query *q, const cli_tool *tool,
                            const ts_export_desc *desc)
{
    static const uint8_t kinds[] = {
        TS_EVENT_MESSAGE,      TS_EVENT_COUNTER,   TS_EVENT_FRAME,
        TS_EVENT_ALLOC,        TS_EVENT_FREE,      TS_EVENT_FLOW,
        TS_EVENT_DEPENDENCY,   TS_EVENT_ACCESS,    TS_EVENT_HOST_FUNCTION,
        TS_EVENT_GRAPH_LAUNCH, TS_EVENT_GPU_ALLOC, TS_EVENT_GPU_FREE,
    };
    uint64_t counts[TS_EVENT_LIMIT] = { 0 };
    for (size_t i = 0; i < sizeof kinds; i++)
        counts[kinds[i]] = q->files[0].trace.info->counts[kinds[i]];
    api_report_left_out(tool, desc, "nsys", counts);
}

bool api_export_nsys(const cli_tool *tool, const ts_export_desc *desc,
                     ts_export_counts *counts)
{
    char *const path = strdup(desc->path);
    if (!path) return cli_out_of_memory(tool);
    select_install();
    query *const q = query_open(tool, &path, 1);
    bool done = q && query_save_by(q, desc->output.path, save_all, counts);
    if (done) report_left_out(q, tool, desc);
    if (done && ts_reader_damage_count(q->files[0].trace.reader))
        done = cli_fail(tool, TS_ERR_CORRUPT, desc->path,
                        "the output contains everything else");
    query_close(q);
    free(path);
    return done;
}

#else

bool api_export_nsys(const cli_tool *tool, const ts_export_desc *desc,
                     ts_export_counts *counts)
{
    (void)desc, (void)counts;
    return cli_fail(tool, TS_ERR_UNSUPPORTED, NULL,
                    "this ts-export was built without SQLite, which --format "
                    "nsys needs");
}

#endif
