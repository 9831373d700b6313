/*
    Real traces: queries that were written for the database of Nsight Systems
    give the same rows on it and on the trace that was made of it; what is
    taken off SQLite's hands gives what SQLite does itself.
*/
#define _GNU_SOURCE
#include "tools/import/import.h" // first: it asks for the writer

#include "tests/tools/import/import_fixture.h"
#include "tests/tools/query/query_fixture.h"

static loaded imported_as_query(const char *source)
{
    loaded a = { 0 };
    const char *const made = fixture_path(2, "one.sbt");
    imported i = import_into(fixture_data(source), made);
    import_done(&i);
    a.path[0] = malloc(strlen(made) + 1);
    assert_non_null(a.path[0]);
    strcpy(a.path[0], made);
    a.count = 1;
    loaded_open(&a);
    return a;
}

#define JOINED \
    "SELECT count(*), sum(k.start - r.start) " \
    "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r " \
    "ON r.correlationId = k.correlationId"

UNIT_TEST(queries_for_nsight_systems_give_the_same)
{
    static const char *const queries[] = {
        "SELECT s.value, count(*), sum(k.end - k.start), min(k.end - k.start) "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.demangledName GROUP BY 1 ORDER BY 3, 1",
        "SELECT s.value, count(*), sum(k.end - k.start) "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL k "
        "JOIN StringIds s ON s.id = k.shortName GROUP BY 1 ORDER BY 3, 1",
        "SELECT deviceId, streamId, contextId, gridX, gridY, gridZ, blockX, "
        "blockY, blockZ, staticSharedMemory, dynamicSharedMemory, "
        "registersPerThread, localMemoryPerThread, count(*), "
        "sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL "
        "GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13",
        "SELECT deviceId, start - (SELECT min(start) "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL), end - start "
        "FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY deviceId, start, end",
        "SELECT copyKind, srcKind, dstKind, deviceId, count(*), sum(bytes), "
        "sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY "
        "GROUP BY 1, 2, 3, 4",
        "SELECT value, deviceId, sum(bytes), count(*) "
        "FROM CUPTI_ACTIVITY_KIND_MEMSET GROUP BY 1, 2",
        "SELECT syncType, count(*) FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
        "GROUP BY 1",
        "SELECT globalTid / 0x1000000 % 0x1000000, globalTid % 0x1000000, "
        "count(*), sum(end - start), sum(returnValue) "
        "FROM CUPTI_ACTIVITY_KIND_RUNTIME GROUP BY 1, 2",
    };
    sqlite3 *db;
    assert_int_equal(sqlite3_open_v2(fixture_data("nsys/h100_2gpu_1s.sqlite"),
                                     &db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    query source = { .db = db };
    loaded a = imported_as_query("nsys/h100_2gpu_1s.sqlite");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        char *const wanted = rows_of(&source, queries[i]);
        assert_true(strlen(wanted) > 3);
        assert_rows(a.q, queries[i], wanted);
        free(wanted);
    }
    // There a correlation belongs to a process, here to the file.
    char *const joined =
        rows_of(&source, JOINED " AND r.globalTid >> 24 & 0xFFFFFF = "
                                "k.globalPid >> 24 & 0xFFFFFF");
    assert_rows(a.q, JOINED, joined);
    free(joined);
    sqlite3_close(db);
    loaded_close(&a);
}

// A plus before a column leaves it to SQLite.
static void same_with_plus(query *q, const char *format, const char *table,
                           const char *column)
{
    char a[400], b[400], plus[64];
    snprintf(plus, sizeof plus, "+%s", column);
    snprintf(a, sizeof a, format, column, table, column, column);
    snprintf(b, sizeof b, format, column, table, plus, plus);
    assert_same(q, a, b);
}

static void check_table(query *q, const query_table *table)
{
    const bool spans = !strcmp(table->columns[0].name, "start_ns") ||
                       !strcmp(table->name, "gpu_op");
    const char *const time = spans ? "start_ns" : "time_ns";
    for (uint32_t i = 0; i < table->column_count; i++) {
        char format[300];
        if (table->columns[i].show >= SHOW_VALUE) continue;
        snprintf(format, sizeof format,
                 "SELECT %%s, count(*), sum(%s) FROM %%s GROUP BY %%s "
                 "ORDER BY %%s",
                 time);
        same_with_plus(q, format, table->name, table->columns[i].name);
    }
}

UNIT_TEST(groups_of_real_traces_are_those_of_sqlite)
{
    static const char *const traces[] = { "kineto/alexnet.json.gz",
                                          "rocm/mytrace.rpd.gz" };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        loaded a = imported_as_query(traces[i]);
        const query_table *table;
        for (size_t t = 0; (table = query_table_at(t)) != NULL; t++)
            if (table->kinds && (t < 1 || !strcmp(table->name, "gpu_op") ||
                                 !strcmp(table->name, "api_call")))
                check_table(a.q, table);
        loaded_close(&a);
    }
}

// Rows by kind: what the reader counts.
UNIT_TEST(no_row_of_a_real_trace_is_missing)
{
    loaded a = imported_as_query("kineto/alexnet.json.gz");
    const ts_info *const info = a.q->files[0].trace.info;
    for (uint32_t kind = TS_EVENT_GPU_FIRST; kind < TS_EVENT_LIMIT; kind++) {
        char sql[200], wanted[40];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) FROM gpu_op WHERE kind = '%s'",
                 ts_event_name(kind));
        snprintf(wanted, sizeof wanted, "%" PRIu64 "\n", info->counts[kind]);
        assert_rows(a.q, sql, wanted);
    }
    loaded_close(&a);
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}
