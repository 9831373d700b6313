/*
    query_storm.h - a trace with many events of many kinds, and random queries

    Both follow from a seed. Numbers are often 0, which shows as NULL, and at
    times so large that their sums overflow.
*/
#ifndef QUERY_STORM_H
#define QUERY_STORM_H

#define _GNU_SOURCE // mkstemp
#define TRACESMITH_WRITER
#include "tracesmith.h"
#include "tests/tools/query/query_fixture.h"

typedef struct storm {
    uint64_t random;
    ts_writer *writer;
    uint32_t names[6], sites[9], launches[5];
} storm;

static inline uint64_t storm_roll(storm *s, uint64_t below)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return s->random % below;
}

/* ---- The trace ---------------------------------------------------------- */

static inline void storm_track(storm *s, uint32_t id, ts_track_type type,
                               uint32_t parent, uint32_t name)
{
    const ts_track_entry entry = {
        .type = (uint8_t)type, .parent = parent, .name = name, .number = 70 + id
    };
    ts_writer_track(s->writer, id, &entry);
}

// Sites of equal names, kernels of equal names, names that differ by case.
static inline void storm_dictionaries(storm *s)
{
    static const char *const names[] = { "alpha",    "Alpha", "beta_2",
                                         "_Z4spini", "b%",    "q\",\n" };
    for (size_t i = 0; i < 6; i++)
        s->names[i] = ts_writer_name(s->writer, names[i], strlen(names[i]));
    for (uint32_t i = 0; i < 9; i++) {
        const ts_site_entry site = { .name = s->names[i % 4],
                                     .category = i % 3 ? s->names[4] : 0,
                                     .file = s->names[i % 5],
                                     .line = i % 4 };
        s->sites[i] = ts_writer_site(s->writer, &site);
    }
    for (uint32_t i = 0; i < 5; i++) {
        const ts_launch_entry launch = { .name = s->names[2 + i % 3],
                                         .grid = { 1 + i, 1, 1 },
                                         .registers = 8 * i };
        s->launches[i] = ts_writer_launch(s->writer, &launch);
    }
    storm_track(s, 1, TS_TRACK_PROCESS, 0, s->names[0]);
    for (uint32_t i = 0; i < 3; i++)
        storm_track(s, 2 + i, TS_TRACK_THREAD, 1, i ? s->names[i] : 0);
    storm_track(s, 10, TS_TRACK_DEVICE, 1, s->names[2]);
    for (uint32_t i = 0; i < 3; i++)
        storm_track(s, 11 + i, TS_TRACK_STREAM, 10, 0);
}

static inline uint64_t storm_number(storm *s)
{
    switch (storm_roll(s, 8)) {
    case 0:
    case 1: return 0;
    case 2: return storm_roll(s, 1000000);
    case 3: return UINT64_C(1) << storm_roll(s, 50);
    default: return storm_roll(s, 6);
    }
}

static inline uint64_t storm_value(storm *s, uint8_t column)
{
    switch (column) {
    case TS_COLUMN_SITE:
        return storm_roll(s, 4) ? s->sites[storm_roll(s, 9)] : 0;
    case TS_COLUMN_NAME:
    case TS_COLUMN_POOL:
    case TS_COLUMN_CATEGORY:
        return storm_roll(s, 4) ? s->names[storm_roll(s, 6)] : 0;
    case TS_COLUMN_LAUNCH:
        return storm_roll(s, 5) ? s->launches[storm_roll(s, 5)] : 0;
    case TS_COLUMN_THREAD: return storm_roll(s, 3) ? 2 + storm_roll(s, 3) : 0;
    case TS_COLUMN_STACK: return 0;
    case TS_COLUMN_TYPE: return storm_roll(s, 4);
    case TS_COLUMN_ADDRESS:
        return storm_roll(s, 9) ? storm_number(s) : UINT64_MAX / 2 - 5;
    default: return storm_number(s);
    }
}

static inline void storm_event(storm *s, ts_event_kind kind, int64_t start)
{
    ts_writer_value values[TS_COLUMN_LIMIT];
    const bool gpu = kind >= TS_EVENT_GPU_FIRST;
    const uint32_t track = (uint32_t)((gpu ? 11 : 2) + storm_roll(s, 3));
    const int64_t duration = (int64_t)(storm_roll(s, 3) * storm_roll(s, 900));
    size_t count = 0;
    for (const uint8_t *c = ts_event_columns((uint32_t)kind); *c; c++)
        if (*c > TS_COLUMN_DURATION && *c != TS_COLUMN_TEXT &&
            *c != TS_COLUMN_NEST && *c != TS_COLUMN_LEAD &&
            *c != TS_COLUMN_TAIL)
            values[count++] =
                (ts_writer_value){ (ts_column)*c, storm_value(s, *c) };
    static const char *const texts[] = {
        "plain", "a,b", "\"", "x\ny\r", "", "\xff\xe4\xb8\xad\x01", "\u202e"
    };
    const char *const said = texts[storm_roll(s, 7)];
    if (kind == TS_EVENT_MESSAGE)
        ts_writer_event_text(s->writer, kind, track, start, 0, values, count,
                             said, strlen(said));
    else
        ts_writer_event(s->writer, kind, track, start, duration, values, count);
}

static inline void storm_write(storm *s, const char *path, uint32_t events)
{
    static const ts_event_kind kinds[] = {
        TS_EVENT_ZONE,    TS_EVENT_ZONE,       TS_EVENT_API_CALL,
        TS_EVENT_KERNEL,  TS_EVENT_KERNEL,     TS_EVENT_MEMCPY,
        TS_EVENT_MEMSET,  TS_EVENT_COLLECTIVE, TS_EVENT_EVENT_WAIT,
        TS_EVENT_ALLOC,   TS_EVENT_FREE,       TS_EVENT_GPU_ALLOC,
        TS_EVENT_MARK,    TS_EVENT_FLOW,       TS_EVENT_STREAM_SYNC,
        TS_EVENT_COUNTER, TS_EVENT_MESSAGE
    };
    const ts_writer_desc desc = { .path = path };
    assert_int_equal(ts_writer_open(&s->writer, &desc), TS_OK);
    storm_dictionaries(s);
    for (uint32_t i = 0; i < events; i++)
        storm_event(s, kinds[storm_roll(s, sizeof kinds / sizeof *kinds)],
                    (int64_t)(3 * i + storm_roll(s, 40)) - 500);
    assert_int_equal(ts_writer_close(s->writer), TS_OK);
}

/* ---- Queries ------------------------------------------------------------ */

static const char *const storm_tables[] = { "zone",   "gpu_op", "kernel",
                                            "memcpy", "sync",   "api_call",
                                            "memory", "mark",   "flow" };
enum { STORM_TABLES = sizeof storm_tables / sizeof *storm_tables };

// The columns of a table or view, as SQLite lists them.
typedef struct storm_columns {
    char names[64][32];
    bool texts[64];
    uint32_t count;
} storm_columns;

static inline void storm_list(query *q, const char *table, storm_columns *to)
{
    char *const sql = sqlite3_mprintf("PRAGMA table_info(%s)", table);
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL),
                     SQLITE_OK);
    to->count = 0;
    while (sqlite3_step(statement) == SQLITE_ROW && to->count < 64) {
        snprintf(to->names[to->count], sizeof to->names[0], "%s",
                 (const char *)sqlite3_column_text(statement, 1));
        to->texts[to->count++] =
            !strcmp((const char *)sqlite3_column_text(statement, 2), "TEXT");
    }
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    assert_true(to->count > 3);
}

static inline const char *storm_pick(storm *s, const char *const *list,
                                     size_t count)
{
    return list[storm_roll(s, count)];
}
#define STORM_PICK(s, list) storm_pick(s, list, sizeof(list) / sizeof *(list))

// Any column: those that differ from row to row are grouped by, too, at times.
static inline const char *storm_column(storm *s, const storm_columns *c)
{
    return c->names[storm_roll(s, c->count)];
}

static inline void storm_aggregate(storm *s, const storm_columns *c,
                                   sqlite3_str *out)
{
    static const char *const shapes[] = {
        "count(*)",
        "COUNT( * )",
        "count(%s)",
        "sum(%s)",
        "Sum(%s)",
        "min(%s)",
        "max(%s)",
        "avg(%s)",
        "max(%s) + 1",
        "sum(%s) * 1.0 / count(*)",
        "round(avg(%s), 2)",
        "coalesce(sum(%s), -1)",
        "typeof(sum(%s))",
        "count(*) > 5 AND max(%s) IS NOT NULL",
        "CASE WHEN count(%s) > 3 THEN 'many' ELSE 'few' END",
        "CAST(min(%s) AS TEXT)",
        "max(1, 2) /* a function of two */ + count(%s)",
        "total(%s)",
        "count(DISTINCT %s)",
        "group_concat(%s)",
        "sum(%s + 1)",
    };
    // The last ones are left as they are: seldom.
    const size_t count = storm_roll(s, 12) ? 17 : 21;
    sqlite3_str_appendf(out, shapes[storm_roll(s, count)], storm_column(s, c));
}

static inline void storm_number_test(storm *s, const char *column,
                                     sqlite3_str *out)
{
    static const char *const values[] = { "0",    "1",    "3",       "-1",
                                          "50",   "2.5",  "900",     "-0.5",
                                          "1e3",  "NULL", "2 * 250", "'4'",
                                          "0x10", "3000", "9e18" };
    static const char *const shapes[] = {
        "%s = %s",  "%s < %s",     "%s >= %s",        "%s <> %s",
        "%s <= %s", "%s != (%s)",  "%s > %s",         "%s == %s",
        "%s IS %s", "NOT %s > %s", "%s IN (1, 2, %s)"
    };
    const char *const value = STORM_PICK(s, values);
    switch (storm_roll(s, 7)) {
    case 0: sqlite3_str_appendf(out, "%s IS NULL", column); break;
    case 1: sqlite3_str_appendf(out, "%s IS NOT NULL", column); break;
    case 2: sqlite3_str_appendf(out, "%s notnull", column); break;
    case 3:
        sqlite3_str_appendf(out, "%s BETWEEN %s AND %s", column, value,
                            STORM_PICK(s, values));
        break;
    case 4: sqlite3_str_appendf(out, "%s >= %s", value, column); break;
    default: sqlite3_str_appendf(out, STORM_PICK(s, shapes), column, value);
    }
}

static inline void storm_text_test(storm *s, const char *column,
                                   sqlite3_str *out)
{
    static const char *const shapes[] = {
        "%s = 'alpha'",
        "%s <> 'beta_2'",
        "%s LIKE 'A%%'",
        "%s NOT LIKE '%%a'",
        "%s GLOB '*a*'",
        "%s IN ('alpha', 'kernel', 'b%%')",
        "%s IS NULL",
        "%s IS NOT NULL",
        "%s > 'b'",
        "%s BETWEEN 'A' AND 'b'",
        "short_name(%s) = 'spin'",
        "length(%s) < 6",
        "%s = 5",
        "NOT (%s = 'memcpy')",
        "%s REGEXP '^[a-k]'",
        "lower(%s) = 'alpha' OR 0",
    };
    sqlite3_str_appendf(out, STORM_PICK(s, shapes), column);
}

static inline void storm_where(storm *s, const storm_columns *c,
                               sqlite3_str *out)
{
    const uint64_t terms = storm_roll(s, 4);
    for (uint64_t i = 0; i < terms; i++) {
        static const char *const words[] = { "AND", "and", "AND", "OR" };
        const uint64_t column = storm_roll(s, c->count);
        sqlite3_str_appendf(out, " %s ", i ? STORM_PICK(s, words) : "WHERE");
        if (c->texts[column])
            storm_text_test(s, c->names[column], out);
        else
            storm_number_test(s, c->names[column], out);
    }
}

static inline void storm_order(storm *s, uint32_t items, sqlite3_str *out)
{
    static const char *const ways[] = { "", " DESC", " ASC", "",
                                        " DESC NULLS LAST" };
    const uint64_t terms = storm_roll(s, 3);
    for (uint64_t i = 0; i < terms; i++)
        sqlite3_str_appendf(out, "%s%d%s", i ? ", " : " ORDER BY ",
                            (int)(1 + storm_roll(s, items)),
                            STORM_PICK(s, ways));
    if (!storm_roll(s, 8)) sqlite3_str_appendall(out, terms ? ", n" : "");
    switch (storm_roll(s, 6)) {
    case 0: sqlite3_str_appendall(out, " LIMIT 3"); break;
    case 1: sqlite3_str_appendall(out, " limit 4 OFFSET 2"); break;
    case 2: sqlite3_str_appendall(out, " LIMIT 0"); break;
    default: break;
    }
}

// Returns a query for rows of a table, to be freed with sqlite3_free.
static inline char *storm_rows(storm *s, query *q)
{
    static const char *const more[] = { "counter", "message", "zone" };
    storm_columns c;
    const char *const table =
        storm_roll(s, 3) ? STORM_PICK(s, storm_tables) : STORM_PICK(s, more);
    sqlite3_str *const out = sqlite3_str_new(q->db);
    storm_list(q, table, &c);
    const uint64_t columns = storm_roll(s, 5);
    sqlite3_str_appendall(out, columns ? "SELECT " : "SELECT *");
    for (uint64_t i = 0; i < columns; i++)
        sqlite3_str_appendf(out, "%s%s", i ? ", " : "", storm_column(s, &c));
    sqlite3_str_appendf(out, " FROM %s", table);
    storm_where(s, &c, out);
    if (!storm_roll(s, 20)) sqlite3_str_appendall(out, " LIMIT 3");
    return sqlite3_str_finish(out);
}

// The same for the first rows in some order.
static inline char *storm_first(storm *s, query *q)
{
    static const char *const ways[] = { "", " DESC", " ASC", " desc" };
    static const char *const orders[] = { "start_ns", "duration_ns", "end_ns",
                                          "track", "duration_ns" };
    static const char *const tables[] = { "zone", "gpu_op", "api_call",
                                          "sync" };
    static const char *const limits[] = { "1",   "7",          "30 OFFSET 4",
                                          "900", "5 offset 0", "0",
                                          "-1",  "100000",     "2, 3" };
    storm_columns c;
    const char *const table = STORM_PICK(s, tables);
    sqlite3_str *const out = sqlite3_str_new(q->db);
    storm_list(q, table, &c);
    sqlite3_str_appendf(out, "SELECT %s, %s, upper(track) AS %s FROM %s",
                        storm_roll(s, 6) ? "start_ns" : "duration_ns AS d",
                        storm_column(s, &c), storm_roll(s, 9) ? "u" : "track",
                        table);
    if (storm_roll(s, 2)) storm_where(s, &c, out);
    sqlite3_str_appendf(out, " ORDER BY %s%s",
                        storm_roll(s, 5) ? STORM_PICK(s, orders) : "1",
                        STORM_PICK(s, ways));
    if (!storm_roll(s, 3))
        sqlite3_str_appendf(out, ", %s%s", storm_column(s, &c),
                            STORM_PICK(s, ways));
    sqlite3_str_appendf(out, " LIMIT %s", STORM_PICK(s, limits));
    return sqlite3_str_finish(out);
}

// Returns a query of a table, to be freed with sqlite3_free.
static inline char *storm_query(storm *s, query *q)
{
    static storm_columns lists[STORM_TABLES];
    const size_t table = storm_roll(s, STORM_TABLES);
    storm_columns *const c = &lists[table];
    if (!c->count) storm_list(q, storm_tables[table], c);
    const char *keys[3];
    const uint32_t key_count = (uint32_t)storm_roll(s, 4) % 4 % 3;
    const uint32_t sums = 1 + (uint32_t)storm_roll(s, 3);
    sqlite3_str *const out = sqlite3_str_new(q->db);
    sqlite3_str_appendall(out, storm_roll(s, 2) ? "SELECT " : "select ");
    for (uint32_t i = 0; i < key_count; i++) {
        keys[i] = storm_column(s, c);
        sqlite3_str_appendf(out, "%s%s, ", keys[i],
                            storm_roll(s, 4) ? "" : " AS k");
    }
    for (uint32_t i = 0; i < sums; i++) {
        if (i) sqlite3_str_appendall(out, ", ");
        storm_aggregate(s, c, out);
        if (i == sums - 1) sqlite3_str_appendall(out, " AS n");
    }
    sqlite3_str_appendf(out, " FROM %s", storm_tables[table]);
    storm_where(s, c, out);
    for (uint32_t i = 0; i < key_count; i++)
        if (storm_roll(s, 4))
            sqlite3_str_appendf(out, "%s%s", i ? ", " : " GROUP BY ", keys[i]);
        else
            sqlite3_str_appendf(out, "%s%d", i ? ", " : " GROUP BY ", i + 1);
    if (key_count && !storm_roll(s, 4))
        sqlite3_str_appendall(out, " HAVING count(*) > 2");
    storm_order(s, key_count + sums, out);
    return sqlite3_str_finish(out);
}

#endif // QUERY_STORM_H
