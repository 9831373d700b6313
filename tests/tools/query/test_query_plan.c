/*
    What ts-query takes off SQLite's hands - conditions, orders, groups,
    joins - against SQLite doing it itself: a plus before a column keeps it
    from being taken.
*/
#define _GNU_SOURCE
#include "tools/query/tables.h"

#include "tests/tools/query/query_fixture.h"

/*
    64 chunks of 32 calls on three tracks, mixed in some; each chunk covers
    1,000 ns of its own, all of them in order, and overlaps none but the next.
*/
enum { CHUNKS = 64, ROWS = 32, SPAN = 1000, NAMES = 20, TRACKS = 3 };

static loaded calls;

static uint64_t random_next(uint64_t *state)
{
    // Source: Steele, Lea, Flood 2014, SplitMix64.
    uint64_t z = *state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

static void add_names(forge *f)
{
    forge_begin(f, FORGE_NAMES);
    for (uint32_t i = 0; i < NAMES; i++) {
        char name[20];
        // Two numbers each have one text: groups go by text.
        const int size = snprintf(name, sizeof name, "call_%u", i / 2 * 7 % 10);
        forge_entry(f, i + 1, name, (size_t)size);
    }
    forge_end(f);
    for (uint32_t i = 1; i <= TRACKS; i++)
        forge_track(f, i, 2, 0, i, 0);
}

static void add_chunk(forge *f, uint32_t chunk, uint64_t *state)
{
    uint64_t start[ROWS], duration[ROWS], name[ROWS], correlation[ROWS],
        result[ROWS], track[ROWS];
    const bool mixed = chunk % 8 == 7;
    const uint64_t first = 1000 + (uint64_t)chunk * SPAN;
    for (uint32_t i = 0; i < ROWS; i++) {
        start[i] = first + random_next(state) % SPAN;
        duration[i] = random_next(state) % 100;
        name[i] = 1 + random_next(state) % NAMES;
        correlation[i] = random_next(state) % 3 ? chunk * ROWS + i : 0;
        result[i] = random_next(state) % 4 - 2; // negative ones too
        track[i] = 1 + random_next(state) % TRACKS;
    }
    forge_events(f, 12, mixed ? 0xFFFFFFFF : 1 + chunk % TRACKS, ROWS, first,
                 first + SPAN + 100);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, start);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, duration);
    forge_column(f, 9, FORGE_PACK, FORGE_PLAIN, name);
    forge_column(f, 20, FORGE_PLANES, FORGE_PLAIN, correlation);
    forge_column(f, 21, FORGE_PLANES, FORGE_PLAIN, result);
    if (mixed) forge_column(f, 7, FORGE_PACK, FORGE_PLAIN, track);
    forge_events_end(f);
}

static void forge_calls(forge *f)
{
    uint64_t state = 1;
    forge_open(f, 1000);
    forge_sample(f, 0, 4, 1000, 500, UINT64_C(1700000000000000000));
    add_names(f);
    for (uint32_t chunk = 0; chunk < CHUNKS; chunk++)
        add_chunk(f, chunk, &state);
    forge_finish(f);
}

static int begin(void **state)
{
    forge f;
    forge_calls(&f);
    calls = loaded_of(&f);
    forge_close(&f);
    // The same rows in a table of SQLite's own, with the same affinities.
    free(rows_of(calls.q,
                 "CREATE TEMP TABLE plain (start_ns INTEGER, end_ns INTEGER, "
                 "duration_ns INTEGER, name TEXT, result INTEGER, "
                 "correlation INTEGER, thread TEXT, tid INTEGER, "
                 "process INTEGER, track INTEGER, stack INTEGER)"));
    assert_rows(calls.q,
                "INSERT INTO plain SELECT start_ns, end_ns, duration_ns, "
                "name, result, correlation, thread, tid, process, track, "
                "stack FROM api_call",
                "");
    return 0;
}

static int end(void **state)
{
    loaded_close(&calls);
    return 0;
}

// Chunks that a query decodes.
static uint64_t decoded(const char *sql)
{
    const uint64_t before = calls.q->counts.chunks;
    char *const rows = rows_of(calls.q, sql);
    free(rows);
    return calls.q->counts.chunks - before;
}

/* ---- Chunks ------------------------------------------------------------- */

UNIT_TEST(times_rule_out_chunks)
{
    assert_int_equal(decoded("SELECT count(*) FROM api_call"), CHUNKS);
    // Chunk c holds starts from 1000 c to 1000 c + 1100.
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE start_ns >= 20200 AND start_ns < 22000"),
                     2);
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE end_ns < 500"),
                     1);
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE start_ns BETWEEN 63500 AND 99999.5"),
                     1);
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE duration_ns > 1100"),
                     0);
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE start_ns > NULL"),
                     0);
}

UNIT_TEST(tracks_and_kinds_rule_out_chunks)
{
    // A third of the chunks that are not mixed, and the 8 that are.
    assert_int_equal(decoded("SELECT count(*) FROM api_call WHERE track = 1"),
                     19 + 8);
    assert_int_equal(decoded("SELECT count(*) FROM api_call "
                             "WHERE thread = 'call_7'"),
                     decoded("SELECT count(*) FROM api_call WHERE track = 3"));
    assert_int_equal(decoded("SELECT count(*) FROM api_call WHERE tid = 7"), 8);
    assert_int_equal(decoded("SELECT count(*) FROM gpu_op "
                             "WHERE kind = 'kernel'"),
                     0);
}

UNIT_TEST(a_limit_ends_the_reading)
{
    assert_int_equal(decoded("SELECT * FROM api_call LIMIT 3"), 1);
    // In order of start: the next chunk may hold an earlier one, all of them
    // overlap.
    assert_true(decoded("SELECT * FROM api_call ORDER BY start_ns LIMIT 3") <=
                CHUNKS);
    assert_int_equal(decoded("SELECT * FROM api_call WHERE start_ns < 900 "
                             "ORDER BY start_ns LIMIT 3"),
                     1);
}

/* ---- Conditions --------------------------------------------------------- */

UNIT_TEST(conditions_pass_the_rows_that_sqlite_would)
{
    static const char *const columns[] = { "start_ns", "end_ns", "duration_ns",
                                           "name",     "result", "correlation",
                                           "thread",   "tid",    "track",
                                           "stack" };
    static const char *const values[] = { "20500",
                                          "99",
                                          "-1",
                                          "0",
                                          "1.5",
                                          "NULL",
                                          "'99'",
                                          "'x'",
                                          "x'00'",
                                          "'call_1'",
                                          "'call_45'",
                                          "1e300",
                                          "-1e300",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "50.0" };
    static const char *const ops[] = { "=", "<", "<=", ">", ">=", "IS", "<>" };
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++)
            for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
                char a[300], b[300];
                snprintf(a, sizeof a,
                         "SELECT count(*), sum(start_ns), sum(result) "
                         "FROM api_call WHERE %s %s %s",
                         columns[c], ops[o], values[v]);
                // Text and integer affinity, as the column has it.
                snprintf(b, sizeof b,
                         "SELECT count(*), sum(start_ns), sum(result) FROM "
                         "plain WHERE %s %s %s",
                         columns[c], ops[o], values[v]);
                assert_same(calls.q, a, b);
            }
}

UNIT_TEST(patterns_pass_the_rows_that_sqlite_would)
{
    assert_same(calls.q,
                "SELECT count(*) FROM api_call WHERE name LIKE 'CALL\\_%1'",
                "SELECT count(*) FROM plain WHERE name LIKE 'CALL\\_%1'");
    assert_same(calls.q, "SELECT count(*) FROM api_call WHERE name LIKE '%_1'",
                "SELECT count(*) FROM plain WHERE name LIKE '%_1'");
    assert_same(calls.q, "SELECT count(*) FROM api_call WHERE name LIKE NULL",
                "SELECT count(*) FROM plain WHERE name LIKE NULL");
    assert_same(calls.q,
                "SELECT count(*) FROM api_call WHERE name GLOB 'call_[3-5]'",
                "SELECT count(*) FROM plain WHERE name GLOB 'call_[3-5]'");
    assert_same(calls.q,
                "SELECT count(*) FROM api_call WHERE name REGEXP '_(1|7)$'",
                "SELECT count(*) FROM plain WHERE name REGEXP '_(1|7)$'");
    assert_same(calls.q,
                "SELECT count(*) FROM api_call WHERE name NOT REGEXP '1'",
                "SELECT count(*) FROM plain WHERE name NOT REGEXP '1'");
    assert_same(calls.q,
                "SELECT count(*) FROM api_call "
                "WHERE name = 'CALL_1' COLLATE NOCASE",
                "SELECT count(*) FROM plain "
                "WHERE name = 'CALL_1' COLLATE NOCASE");
    assert_rows(calls.q, "SELECT 1 FROM api_call WHERE name REGEXP '('",
                "'(' is not a valid extended regular expression");
    assert_rows(calls.q, "SELECT 'x' REGEXP '('",
                "'(' is not a valid extended regular expression");
}

UNIT_TEST(lists_and_alternatives_count_no_row_twice)
{
    assert_same(calls.q,
                "SELECT count(*), sum(duration_ns) FROM api_call WHERE name "
                "IN ('call_1', 'call_2', 'call_1', 'x') AND result IN (1, 0)",
                "SELECT count(*), sum(duration_ns) FROM plain WHERE name IN "
                "('call_1', 'call_2', 'call_1', 'x') AND result IN (1, 0)");
    assert_same(calls.q,
                "SELECT count(*), sum(duration_ns) FROM api_call WHERE "
                "correlation = 77 OR name = 'call_1' OR start_ns < 3000",
                "SELECT count(*), sum(duration_ns) FROM plain WHERE "
                "correlation = 77 OR name = 'call_1' OR start_ns < 3000");
}

/* ---- Orders and groups -------------------------------------------------- */

UNIT_TEST(orders_are_those_of_sqlite)
{
    static const char *const orders[] = {
        "start_ns, correlation, duration_ns",
        "start_ns DESC, duration_ns, result, name",
        "name, start_ns, duration_ns, result",
        "name DESC, thread, result, start_ns, duration_ns",
        "result, name, start_ns, duration_ns",
        "correlation, start_ns, duration_ns, result",
        "correlation DESC, start_ns, duration_ns, result",
        "thread, tid, stack, end_ns, start_ns, name, result"
    };
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        char a[300], b[300];
        snprintf(a, sizeof a,
                 "SELECT start_ns, duration_ns, name, result, correlation "
                 "FROM api_call "
                 "ORDER BY %s",
                 orders[i]);
        snprintf(b, sizeof b,
                 "SELECT start_ns, duration_ns, name, result, correlation "
                 "FROM plain "
                 "ORDER BY %s",
                 orders[i]);
        const uint64_t before = calls.q->counts.sorts;
        assert_same(calls.q, a, b);
        assert_true(calls.q->counts.sorts > before);
    }
}

UNIT_TEST(an_order_by_start_reads_what_overlaps)
{
    assert_same(calls.q, "SELECT start_ns FROM api_call ORDER BY start_ns",
                "SELECT start_ns FROM plain ORDER BY start_ns");
    assert_same(calls.q,
                "SELECT start_ns FROM api_call WHERE name = 'call_1' "
                "ORDER BY start_ns",
                "SELECT start_ns FROM plain WHERE name = 'call_1' "
                "ORDER BY start_ns");
}

UNIT_TEST(groups_are_those_of_sqlite)
{
    static const char *const groups[] = {
        "name",   "thread", "name, thread",      "result, name",
        "track",  "stack",  "correlation",       "start_ns, name",
        "result", "tid",    "function_is_const", "duration_ns"
    };
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const char *const by =
            strcmp(groups[i], "function_is_const") ? groups[i] : "process";
        char a[300], b[300];
        snprintf(a, sizeof a,
                 "SELECT %s, count(*), sum(duration_ns), min(start_ns) "
                 "FROM api_call GROUP BY %s ORDER BY %s",
                 by, by, by);
        snprintf(b, sizeof b,
                 "SELECT %s, count(*), sum(duration_ns), min(start_ns) "
                 "FROM plain GROUP BY %s ORDER BY %s",
                 by, by, by);
        assert_same(calls.q, a, b);
        snprintf(a, sizeof a, "SELECT DISTINCT %s FROM api_call ORDER BY %s",
                 by, by);
        snprintf(b, sizeof b, "SELECT DISTINCT %s FROM plain ORDER BY %s", by,
                 by);
        assert_same(calls.q, a, b);
    }
}

UNIT_TEST(sites_of_one_name_are_one_group)
{
    assert_rows(calls.q,
                "SELECT count(*), count(DISTINCT name) FROM "
                "(SELECT name FROM api_call GROUP BY name)",
                "10|10\n");
}

/* ---- Joins -------------------------------------------------------------- */

UNIT_TEST(joins_find_what_sqlite_would)
{
    const uint64_t before = calls.q->counts.indexes;
    assert_same(calls.q,
                "SELECT count(*), sum(a.start_ns), sum(b.duration_ns) "
                "FROM plain a JOIN api_call b ON b.correlation = a.correlation",
                "SELECT count(*), sum(start_ns), sum(duration_ns) "
                "FROM plain WHERE correlation IS NOT NULL");
    assert_true(calls.q->counts.indexes > 0 &&
                calls.q->counts.indexes <= before + 1);
    assert_same(calls.q,
                "SELECT count(*), sum(b.end_ns) FROM plain a "
                "LEFT JOIN api_call b ON b.correlation = a.correlation "
                "AND b.name = 'call_1' AND b.start_ns > 9000",
                "SELECT (SELECT count(*) FROM plain), sum(end_ns) FROM plain "
                "WHERE name = 'call_1' AND start_ns > 9000 "
                "AND correlation IS NOT NULL");
    assert_same(calls.q,
                "SELECT count(*) FROM api_call a JOIN name n "
                "ON n.id = a.name_id WHERE n.text = 'call_7'",
                "SELECT count(*) FROM plain WHERE name = 'call_7'");
}

int main(void)
{
    return unit_run(begin, end);
}
