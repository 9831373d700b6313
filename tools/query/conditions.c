/*
    conditions.c - conditions that are tested before SQLite gets a row

    A condition on a number becomes a range. Any other condition is evaluated
    once for each raw number. Rows pass if a condition cannot be evaluated here:
    SQLite tests them again, except for texts, which are tested exactly (see
    events.c).
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE
#include <math.h>

/* ---- Numbers by raw number ---------------------------------------------- */

uint64_t *query_map_at(query_map *map, uint32_t file, uint64_t raw)
{
    const size_t before = map->room;
    if (!cli_grow(&map->files, &map->room, (size_t)file + 1,
                  sizeof *map->files))
        return NULL;
    if (map->room > before)
        memset(map->files + before, 0,
               (map->room - before) * sizeof *map->files);
    return cli_map_at(&map->files[file], raw);
}

void query_map_close(query_map *map)
{
    for (size_t i = 0; i < map->room; i++)
        cli_map_close(&map->files[i]);
    free(map->files);
    *map = (query_map){ 0 };
}

/* ---- Ranges ------------------------------------------------------------- */

static void nothing(query_test *test)
{
    test->low = 1;
    test->high = 0;
}

// Sets the range of the integers i with `i op real`.
static void range_of_real(query_test *test, double real)
{
    const double least = -9223372036854775808.0, most = 9223372036854775808.0;
    const bool upper = test->op == SQLITE_INDEX_CONSTRAINT_LT ||
                       test->op == SQLITE_INDEX_CONSTRAINT_LE;
    const bool lower = test->op == SQLITE_INDEX_CONSTRAINT_GT ||
                       test->op == SQLITE_INDEX_CONSTRAINT_GE;
    const bool whole = floor(real) >= real;
    if (isnan(real) || (upper && real < least) || (lower && real >= most) ||
        (!upper && !lower && (!whole || real < least || real >= most))) {
        nothing(test);
        return;
    }
    if (!upper && real >= least) {
        const int64_t at = (int64_t)ceil(real);
        const bool next = whole && test->op == SQLITE_INDEX_CONSTRAINT_GT;
        test->low = next && at < INT64_MAX ? at + 1 : at;
    }
    if (!lower && real < most) {
        const int64_t at = (int64_t)floor(real);
        const bool before = whole && test->op == SQLITE_INDEX_CONSTRAINT_LT;
        if (before && at == INT64_MIN)
            nothing(test);
        else
            test->high = before ? at - 1 : at;
    }
}

static void range_of_integer(query_test *test, int64_t n)
{
    switch (test->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_NE:
    case SQLITE_INDEX_CONSTRAINT_IS: test->low = test->high = n; break;
    case SQLITE_INDEX_CONSTRAINT_GE: test->low = n; break;
    case SQLITE_INDEX_CONSTRAINT_LE: test->high = n; break;
    case SQLITE_INDEX_CONSTRAINT_GT:
        if (n == INT64_MAX)
            nothing(test);
        else
            test->low = n + 1;
        break;
    case SQLITE_INDEX_CONSTRAINT_LT:
        if (n == INT64_MIN)
            nothing(test);
        else
            test->high = n - 1;
        break;
    default: test->pass = true;
    }
}

int query_test_open(query_test *test, uint8_t raw, uint8_t show, uint8_t op,
                    sqlite3_value *value)
{
    *test = (query_test){ .raw = raw, .show = show, .op = op };
    test->low = INT64_MIN;
    test->high = INT64_MAX;
    const int type = sqlite3_value_type(value);
    if (query_show_is_text(show)) {
        test->value = sqlite3_value_dup(value);
        if (!test->value) return SQLITE_NOMEM;
        // Apply text affinity, which the column has in SQL.
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
            sqlite3_value_text(test->value);
        return SQLITE_OK;
    }
    if (op == SQLITE_INDEX_CONSTRAINT_ISNULL ||
        op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL)
        return SQLITE_OK;
    if (type == SQLITE_NULL && op != SQLITE_INDEX_CONSTRAINT_IS)
        nothing(test);
    else if (type == SQLITE_FLOAT && op == SQLITE_INDEX_CONSTRAINT_NE)
        test->pass = true;
    else if (type == SQLITE_INTEGER)
        range_of_integer(test, sqlite3_value_int64(value));
    else if (type == SQLITE_FLOAT)
        range_of_real(test, sqlite3_value_double(value));
    else
        test->pass = true;
    return SQLITE_OK;
}

void query_test_close(query_test *test)
{
    sqlite3_value_free(test->value);
    query_map_close(&test->seen);
    *test = (query_test){ 0 };
}

/* ---- Texts -------------------------------------------------------------- */

static bool test_pattern(const query *q, const query_test *test, ts_text text)
{
    const char *const pattern = (const char *)sqlite3_value_text(test->value);
    bool matches = false;
    if (!pattern) return false;
    if (test->op == SQLITE_INDEX_CONSTRAINT_LIKE)
        return sqlite3_strlike(pattern, text.text, 0) == 0;
    if (test->op == SQLITE_INDEX_CONSTRAINT_GLOB)
        return sqlite3_strglob(pattern, text.text) == 0;
    return query_regexp(q, pattern, text.text, &matches) && matches;
}

static bool test_text(const query *q, const query_test *test,
                      const query_cell *cell)
{
    const int type = sqlite3_value_type(test->value);
    const bool is = test->op == SQLITE_INDEX_CONSTRAINT_IS;
    if (cell->type == CELL_NULL || type == SQLITE_NULL)
        return is && cell->type == CELL_NULL && type == SQLITE_NULL;
    if (test->op == SQLITE_INDEX_CONSTRAINT_LIKE ||
        test->op == SQLITE_INDEX_CONSTRAINT_GLOB ||
        test->op == SQLITE_INDEX_CONSTRAINT_REGEXP)
        return test_pattern(q, test, cell->text);
    if (type == SQLITE_BLOB) // a BLOB sorts after every text
        return test->op == SQLITE_INDEX_CONSTRAINT_LT ||
               test->op == SQLITE_INDEX_CONSTRAINT_LE;
    query_cell other = { .type = CELL_TEXT };
    other.text.text = (const char *)sqlite3_value_text(test->value);
    other.text.size = (size_t)sqlite3_value_bytes(test->value);
    const int order = query_cell_order(cell, &other);
    switch (test->op) {
    case SQLITE_INDEX_CONSTRAINT_EQ:
    case SQLITE_INDEX_CONSTRAINT_IS: return order == 0;
    case SQLITE_INDEX_CONSTRAINT_GT: return order > 0;
    case SQLITE_INDEX_CONSTRAINT_GE: return order >= 0;
    case SQLITE_INDEX_CONSTRAINT_LT: return order < 0;
    case SQLITE_INDEX_CONSTRAINT_LE: return order <= 0;
    default: return true;
    }
}

static bool work_out(const query *q, const query_test *test, uint32_t file,
                     uint64_t raw)
{
    const query_cell cell = query_show_cell(q, file, test->show, raw);
    if (test->value) return test_text(q, test, &cell);
    if (cell.type != CELL_INTEGER)
        return test->op == SQLITE_INDEX_CONSTRAINT_IS;
    return cell.number >= test->low && cell.number <= test->high;
}

bool query_show_number(uint32_t show, uint64_t raw, int64_t *number)
{
    *number = (int64_t)raw - (show == SHOW_RANK);
    if (show == SHOW_MOMENT) return raw != RAW_NEVER;
    return show == SHOW_NUMBER || raw != 0;
}

bool query_test_is_range(const query_test *test)
{
    return !test->pass && test->show == SHOW_NUMBER &&
           test->low <= test->high && test->op != SQLITE_INDEX_CONSTRAINT_NE &&
           test->op != SQLITE_INDEX_CONSTRAINT_ISNULL &&
           test->op != SQLITE_INDEX_CONSTRAINT_ISNOTNULL;
}

static bool test_number(const query_test *test, uint64_t raw)
{
    int64_t number;
    const bool null = !query_show_number(test->show, raw, &number);
    if (test->op == SQLITE_INDEX_CONSTRAINT_ISNULL) return null;
    if (test->op == SQLITE_INDEX_CONSTRAINT_ISNOTNULL) return !null;
    if (null) return false;
    if (test->op == SQLITE_INDEX_CONSTRAINT_NE && test->low <= test->high)
        return number != test->low;
    return number >= test->low && number <= test->high;
}

bool query_test_row(const query *q, query_test *test, uint32_t file,
                    uint64_t raw)
{
    if (test->pass) return true;
    if (test->show <= SHOW_RANK) return test_number(test, raw);
    query_map *const seen = &test->seen;
    if (seen->has_last && seen->last_raw == raw && seen->last_file == file)
        return seen->last_value == 1;
    uint64_t *const value = query_map_at(seen, file, raw);
    if (!value) return work_out(q, test, file, raw);
    if (!*value) *value = work_out(q, test, file, raw) ? 1 : 2;
    seen->has_last = true;
    seen->last_raw = raw;
    seen->last_file = file;
    seen->last_value = (uint32_t)*value;
    return *value == 1;
}

bool query_test_chunk(const query *q, query_test *test,
                      const query_chunk *chunk)
{
    if (test->pass) return true;
    if (test->low > test->high) return false;
    if (test->op == SQLITE_INDEX_CONSTRAINT_NE ||
        test->op == SQLITE_INDEX_CONSTRAINT_ISNULL)
        return true;
    switch (test->raw) {
    case RAW_START:
    case RAW_END:
        return test->low <= chunk->last_ns && test->high >= chunk->first_ns;
    case RAW_DURATION:
        return test->high >= 0 &&
               (test->low <= 0 ||
                (uint64_t)test->low <=
                    (uint64_t)chunk->last_ns - (uint64_t)chunk->first_ns);
    case RAW_KIND: return query_test_row(q, test, chunk->file, chunk->kind);
    case RAW_FILE: return query_test_row(q, test, chunk->file, chunk->file);
    case RAW_TRACK:
        return chunk->track == TS_TRACK_MIXED ||
               query_test_row(q, test, chunk->file, chunk->track);
    default: return true;
    }
}

#endif
