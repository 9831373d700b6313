/*
    Tables of ts-query against what the reader's cursor gives, on a trace with
    every kind of event.
*/
#define _GNU_SOURCE
#include "tools/query/tables.h"

#include "tests/tools/query/query_fixture.h"

#include "tests/replay/reader/sbt_sample.h"

static loaded all;

static int begin(void **state)
{
    forge f;
    sample_forge(&f);
    all = loaded_of(&f);
    forge_close(&f);
    return 0;
}

static int end(void **state)
{
    loaded_close(&all);
    return 0;
}

/* ---- What the cursor gives ---------------------------------------------- */

static const ts_reader *reader(void)
{
    return all.q->files[0].trace.reader;
}

static void put(text *t, const char *format, ...)
{
    char line[512];
    va_list args;
    va_start(args, format);
    const int size = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    text_add(t, line, (size_t)size);
}

static uint64_t value(const ts_event *e, ts_column column)
{
    return ts_event_value(e, column);
}

static void put_text(text *t, ts_text value_text)
{
    if (value_text.size)
        text_add(t, value_text.text, value_text.size);
    else
        text_add(t, "-", 1);
}

static void put_name(text *t, uint64_t name)
{
    put_text(t, ts_reader_name(reader(), (uint32_t)name));
}

static void put_site(text *t, const ts_event *e)
{
    put_text(t, ts_reader_site_name(reader(), (uint32_t)value(e, 3)));
}

static void put_option(text *t, uint64_t number)
{
    if (number)
        put(t, "|%" PRId64, (int64_t)number);
    else
        put(t, "|-");
}

static void put_before(text *t, const ts_event *e, ts_column column)
{
    const uint64_t n = value(e, column);
    const uint64_t tick = e->columns->start_ticks[e->row] - (n - 1);
    if (n)
        put(t, "|%" PRId64,
            ts_reader_time_ns(reader(), e->columns->clock, tick));
    else
        put(t, "|-");
}

static void put_gpu(text *t, const ts_event *e)
{
    put(t, "%s|%" PRId64 "|%" PRId64 "|%" PRId64, ts_event_name(e->kind),
        e->start_ns, e->start_ns + e->duration_ns, e->duration_ns);
    put_option(t, value(e, TS_COLUMN_CORRELATION));
    put_before(t, e, TS_COLUMN_QUEUED);
    put_before(t, e, TS_COLUMN_SUBMITTED);
    put(t, "|");
    put_site(t, e);
    put_option(t, value(e, TS_COLUMN_THREAD));
    put_option(t, value(e, TS_COLUMN_STACK));
    put(t, "|%" PRIu32 "|", e->track);
}

// One event of a table as its query below shows it.
static void put_event(text *t, const ts_event *e)
{
    static const ts_column more[] = {
        TS_COLUMN_SIZE,     TS_COLUMN_SOURCE, TS_COLUMN_ADDRESS,
        TS_COLUMN_LAUNCH,   TS_COLUMN_GRAPH,  TS_COLUMN_GRAPH_NODE,
        TS_COLUMN_ID,       TS_COLUMN_RECORD, TS_COLUMN_COMMUNICATOR,
        TS_COLUMN_SEQUENCE, TS_COLUMN_RANKS
    };
    double real;
    const uint64_t number = value(e, TS_COLUMN_VALUE);
    memcpy(&real, &number, sizeof real);
    if (e->kind >= TS_EVENT_GPU_FIRST) {
        put_gpu(t, e);
        put_text(t, ts_event_label(reader(), e));
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            put_option(t, value(e, more[i]));
        put(t, "\n");
        return;
    }
    put(t, "%" PRId64 "|", e->start_ns);
    switch (e->kind) {
    case TS_EVENT_ZONE:
        put(t, "%" PRId64 "|%" PRId64 "|", e->start_ns + e->duration_ns,
            e->duration_ns);
        put_site(t, e);
        put(t, "|%" PRIu64 "|%" PRIu32, value(e, 3), e->track);
        break;
    case TS_EVENT_ZONE_OPEN:
        put_site(t, e);
        put(t, "|%" PRIu64, value(e, TS_COLUMN_DEPTH));
        break;
    case TS_EVENT_ZONE_ARG:
        put_site(t, e);
        put(t, "|");
        put_name(t, value(e, TS_COLUMN_NAME));
        put(t, "|");
        if (value(e, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
            put(t, "%.15g", real);
        else
            put(t, "%" PRId64, (int64_t)number);
        break;
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME: put_site(t, e); break;
    case TS_EVENT_MESSAGE:
        text_add(t, ts_event_text(e).text, ts_event_text(e).size);
        break;
    case TS_EVENT_COUNTER:
        put(t, "delta|");
        if (value(e, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
            put(t, "%.15g", real);
        else
            put(t, "%" PRId64, (int64_t)number);
        break;
    case TS_EVENT_FLOW:
    case TS_EVENT_SPAN:
        put(t, "%" PRId64, (int64_t)value(e, TS_COLUMN_ID));
        break;
    case TS_EVENT_API_CALL:
        put(t, "%" PRId64 "|", e->start_ns + e->duration_ns);
        put_name(t, value(e, TS_COLUMN_NAME));
        put(t, "|%" PRId64, (int64_t)value(e, TS_COLUMN_RESULT));
        put_option(t, value(e, TS_COLUMN_CORRELATION));
        put_option(t, value(e, TS_COLUMN_STACK));
        break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_FREE:
        put(t, "%s", e->kind == TS_EVENT_ALLOC ? "alloc" : "free");
        put(t, "|host|%" PRId64, (int64_t)value(e, TS_COLUMN_ADDRESS));
        put_option(t, value(e, TS_COLUMN_SIZE));
        put(t, "|");
        put_name(t, value(e, TS_COLUMN_POOL));
        put(t, "|");
        put_name(t, value(e, TS_COLUMN_CATEGORY));
        break;
    default: fail();
    }
    put(t, "\n");
}

static char *cursor_rows(uint64_t kinds)
{
    const ts_filter filter = { .kinds = kinds };
    ts_cursor *cursor;
    ts_event event;
    text t = { 0 };
    text_add(&t, "", 0);
    ts_reader *const r = all.q->files[0].trace.reader;
    assert_int_equal(ts_cursor_open(&cursor, r, &filter), TS_OK);
    while (ts_cursor_next(cursor, &event))
        put_event(&t, &event);
    ts_cursor_close(cursor);
    assert_true(t.size > 0);
    return t.text;
}

static void same_as_cursor(const char *sql, uint64_t kinds)
{
    char *const wanted = cursor_rows(kinds);
    assert_rows(all.q, sql, wanted);
    free(wanted);
}

/* ---- Tables of events --------------------------------------------------- */

UNIT_TEST(zones_are_what_the_cursor_gives)
{
    same_as_cursor("SELECT start_ns, end_ns, duration_ns, name, site, track "
                   "FROM zone ORDER BY start_ns",
                   TS_FILTER(ZONE));
    same_as_cursor("SELECT start_ns, name, depth FROM zone_open "
                   "ORDER BY start_ns",
                   TS_FILTER(ZONE_OPEN));
}

// Zones 0 to 6 as the sample lists them: 4 is around 2, 3 and the begin of 6,
// 2 around 0 and 1, 6 around 5.
UNIT_TEST(zones_know_what_lies_in_them)
{
    assert_rows(all.q,
                "SELECT id, duration_ns, self_ns, depth, parent FROM zone "
                "ORDER BY id",
                "0|10|10|2|2\n1|5|5|2|2\n2|25|10|1|4\n3|1|1|1|4\n"
                "4|40|9|0|-\n5|0|0|2|6\n6|15|15|1|4\n");
    assert_rows(all.q,
                "SELECT c.id, p.name FROM zone c JOIN zone p "
                "ON p.id = c.parent WHERE c.depth = 2 ORDER BY c.id",
                "0|alpha\n1|alpha\n5|beta\n");
    assert_rows(all.q, "SELECT sum(self_ns) FROM zone WHERE self_ns > 9",
                "35\n");
}

UNIT_TEST(what_a_program_says_is_what_the_cursor_gives)
{
    same_as_cursor("SELECT time_ns, name FROM mark ORDER BY time_ns",
                   TS_FILTER(MARK));
    same_as_cursor("SELECT time_ns, text FROM message ORDER BY time_ns",
                   TS_FILTER(MESSAGE));
    same_as_cursor("SELECT time_ns, name, value FROM counter ORDER BY time_ns",
                   TS_FILTER(COUNTER));
    same_as_cursor("SELECT time_ns, name FROM frame ORDER BY time_ns",
                   TS_FILTER(FRAME));
    same_as_cursor("SELECT time_ns, id FROM flow ORDER BY time_ns",
                   TS_FILTER(FLOW));
    same_as_cursor("SELECT time_ns, id FROM span ORDER BY time_ns",
                   TS_FILTER(SPAN));
    same_as_cursor("SELECT start_ns, zone, name, value FROM zone_arg "
                   "ORDER BY start_ns",
                   TS_FILTER(ZONE_ARG));
}

UNIT_TEST(calls_and_memory_are_what_the_cursor_gives)
{
    same_as_cursor("SELECT start_ns, end_ns, name, result, correlation, stack "
                   "FROM api_call ORDER BY start_ns",
                   TS_FILTER(API_CALL));
    same_as_cursor("SELECT time_ns, event, place, address, size, pool, "
                   "category FROM memory WHERE place = 'host' "
                   "ORDER BY time_ns",
                   TS_FILTER(ALLOC) | TS_FILTER(FREE));
    assert_rows(all.q,
                "SELECT event, place, count(*) FROM memory GROUP BY 1, 2",
                "alloc|device|4\nalloc|host|4\nfree|device|4\nfree|host|4\n");
}

UNIT_TEST(operations_are_what_the_cursor_gives)
{
    const uint64_t gpu = (UINT64_C(1) << TS_EVENT_LIMIT) - (1 << 16);
    same_as_cursor("SELECT kind, start_ns, end_ns, duration_ns, correlation, "
                   "queued_ns, submitted_ns, zone, thread_track, stack, track, "
                   "name, size, source_address, address, launch, graph, "
                   "graph_node, event, record, communicator, sequence, ranks "
                   "FROM gpu_op ORDER BY start_ns",
                   gpu);
    assert_rows(all.q, "SELECT count(*), min(id), max(id) FROM gpu_op",
                "52|0|51\n");
}

UNIT_TEST(words_stand_for_numbers)
{
    // Memory is 17 * 1000003 * (i + 1) + 29: ...90, ...03, ...76, ...e9.
    assert_rows(all.q,
                "SELECT copy, source_memory, memory, peer FROM gpu_op "
                "WHERE kind = 'memcpy' ORDER BY id",
                "host_to_device|-|-|1\ndevice_to_host|device|-|1\n"
                "host_to_device|-|-|1\ndevice_to_host|-|-|1\n");
    assert_rows(all.q,
                "SELECT DISTINCT element FROM gpu_op "
                "WHERE kind = 'collective'",
                "i8\nu8\n");
    assert_rows(all.q,
                "SELECT kind, count(copy), count(element) FROM gpu_op "
                "GROUP BY kind HAVING count(copy) + count(element) > 0",
                "collective|0|4\nmemcpy|4|0\n");
    assert_rows(all.q,
                "SELECT name, grid_x, grid_y, grid_z, block_x, registers, "
                "static_shared, dynamic_shared, local FROM gpu_op "
                "WHERE kind = 'kernel' LIMIT 1",
                "gamma|8|4|2|64|32|16|8|4\n");
}

/* ---- All else ----------------------------------------------------------- */

UNIT_TEST(dictionaries_are_tables)
{
    assert_rows(all.q, "SELECT id, text FROM name",
                "1|alpha\n2|beta\n3|gamma\n4|delta\n5|unit\n6|host\n7|here\n"
                "8|key\n");
    assert_rows(all.q, "SELECT * FROM site",
                "1|alpha|beta|gamma|delta|10|16744448\n"
                "2|beta|-|gamma|delta|20|-\n");
    assert_rows(all.q, "SELECT * FROM launch",
                "1|gamma|8|4|2|64|1|1|0|0|0|32|16|8|4|3\n");
    assert_rows(all.q, "SELECT * FROM module", "1|delta|4194304|4096\n");
    assert_rows(all.q, "SELECT * FROM stack", "1|1\n");
    assert_rows(all.q,
                "SELECT stack, depth, module, offset, path "
                "FROM stack_frame",
                "1|0|1|16|delta\n");
    assert_rows(all.q,
                "SELECT id, type, name, number, parent, unit, process "
                "FROM track",
                "1|process|alpha|101|-|-|101\n2|thread|beta|102|1|-|101\n"
                "3|stream|gamma|103|1|-|101\n"
                "4|counter|delta|104|1|unit|101\n");
    assert_rows(all.q, "SELECT id, value FROM StringIds WHERE id IN (3, 5)",
                "3|alpha\n5|alpha\n");
}

// Of a trace that does not say which process recorded: a track that belongs to
// none is of the only process there is, and of several, of no known one.
UNIT_TEST(tracks_of_no_process_are_of_the_only_one)
{
    static const char *const wanted[] = { "2|-\n", "2|103\n3|103\n",
                                          "2|-\n3|103\n4|104\n" };
    for (uint32_t count = 0; count < 3; count++) {
        forge f;
        forge_open(&f, 0);
        memset(f.file.bytes + 48, 0, 4); // process
        forge_seal_header(f.file.bytes);
        forge_track(&f, 2, 2, 0, 0, 0);
        for (uint32_t i = 0; i < count; i++)
            forge_track(&f, 3 + i, 1, 0, 0, 0);
        forge_finish(&f);
        loaded a = loaded_of(&f);
        assert_rows(a.q, "SELECT id, process FROM track", wanted[count]);
        loaded_close(&a);
        forge_close(&f);
    }
}

UNIT_TEST(facts_and_losses_are_tables)
{
    assert_rows(all.q, "SELECT * FROM metadata", "-|host|here\n2|key|42\n");
    assert_rows(all.q, "SELECT track, cause, count, stall, stall_ns FROM loss",
                "2|ring_full|14|0|0\n2|helped|3|1|500\n");
    assert_rows(all.q, "SELECT count(*) FROM damage", "0\n");
    assert_rows(all.q, "SELECT finished, lost, damaged FROM info", "1|14|0\n");
    assert_rows(all.q,
                "SELECT event, track, count FROM chunk WHERE event = 'zone'",
                "zone|2|7\n");
}

// What every row's columns show can be asked for; none is left out.
UNIT_TEST(every_column_of_every_table_can_be_read)
{
    const query_table *table;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++) {
        char sql[200];
        snprintf(sql, sizeof sql, "SELECT count(*) > 0 FROM (SELECT * FROM %s)",
                 table->name);
        const bool none = !strcmp(table->name, "damage") ||
                          !strcmp(table->name, "dependency") ||
                          !strcmp(table->name, "access") ||
                          !strcmp(table->name, "sample");
        assert_rows(all.q, sql, none ? "0\n" : "1\n");
    }
    const query_view *view;
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++) {
        char sql[200];
        snprintf(sql, sizeof sql,
                 "SELECT count(*) >= 0 FROM (SELECT * "
                 "FROM %s)",
                 view->name);
        assert_rows(all.q, sql, "1\n");
    }
}

UNIT_TEST(the_graph_is_what_the_replay_says)
{
    ts_replay *replay;
    assert_int_equal(
        ts_replay_open(&replay, all.q->files[0].trace.reader, NULL), TS_OK);
    const ts_graph graph = ts_replay_graph(replay);
    char wanted[100];
    snprintf(wanted, sizeof wanted, "%u|%u|%u\n", graph.operation_count,
             graph.node_count, graph.edge_count);
    assert_rows(all.q,
                "SELECT (SELECT count(*) FROM operation), "
                "(SELECT count(*) FROM node), (SELECT count(*) FROM edge)",
                wanted);
    ts_replay_close(replay);
    assert_rows(all.q,
                "SELECT count(*) FROM operation o JOIN gpu_op g "
                "ON g.id = o.gpu_op AND g.kind = o.kind "
                "AND g.start_ns = o.start_ns",
                "52\n");
    assert_rows(all.q,
                "SELECT count(*) FROM edge e JOIN node a ON a.id = e.source "
                "JOIN node b ON b.id = e.target "
                "WHERE a.id IS NULL OR b.id IS NULL",
                "0\n");
}

UNIT_TEST(views_have_the_names_of_nsight_systems)
{
    assert_rows(all.q,
                "SELECT s.value, k.gridX, k.blockX, k.end - k.start "
                "FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                "JOIN StringIds s ON s.id = k.shortName "
                "ORDER BY k.start",
                // four kernels, and four collectives with their kernels
                "gamma|8|64|3\ngamma|8|64|4\ngamma|8|64|5\ngamma|8|64|6\n"
                "gamma|8|64|3\ngamma|8|64|4\ngamma|8|64|5\ngamma|8|64|6\n");
    assert_rows(all.q, "SELECT copyKind FROM CUPTI_ACTIVITY_KIND_MEMCPY",
                "1\n2\n1\n2\n");
    assert_rows(all.q,
                "SELECT eventType, count(*) FROM NVTX_EVENTS "
                "GROUP BY eventType",
                "34|4\n59|11\n");
    assert_rows(all.q,
                "SELECT s.value FROM CUPTI_ACTIVITY_KIND_RUNTIME r "
                "JOIN StringIds s ON s.id = r.nameId ORDER BY r.start",
                "alpha\nbeta\ngamma\ndelta\n");
}

int main(void)
{
    return unit_run(begin, end);
}
