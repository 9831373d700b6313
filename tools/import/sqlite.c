// sqlite.c - reads SQLite databases read-only, treating them as hostile
#include "tools/import/sqlite.h"
#include "tools/import/map.h"

#include <sys/stat.h>

static const char MAGIC[16] = "SQLite format 3";

static bool has_magic(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size >= sizeof MAGIC && !memcmp(head, MAGIC, sizeof MAGIC);
}

#ifdef TRACESMITH_SQLITE

#include <sqlite3.h>

enum {
    LENGTH_MAX = 64 << 20, // bytes of one value
    TABLES_MAX = 4096,
    ROW_BYTES = 4 // the least bytes of a row in a file
};

typedef struct table {
    char *name;
    bool read;
} table;

struct import_db {
    import_job *job;
    sqlite3 *handle;
    table *tables;
    size_t count;
    uint64_t rows_max;                 // the most rows that fit in the file
    uint64_t rows_read, rows_expected; // of all tables
};

/* ---- Opening ------------------------------------------------------------ */

// Returns "file:PATH?mode=ro&immutable=1" with special characters escaped.
static char *uri_of(const char *path)
{
    char *const uri = malloc(strlen(path) * 3 + 40);
    if (!uri) return NULL;
    char *to = uri + sprintf(uri, "file:");
    for (; *path; path++)
        to += *path == '%' || *path == '?' || *path == '#'
                  ? sprintf(to, "%%%02X", (unsigned)*path)
                  : sprintf(to, "%c", *path);
    sprintf(to, "?mode=ro&immutable=1");
    return uri;
}

static sqlite3 *open_file(const char *path)
{
    sqlite3 *handle = NULL;
    char *const uri = path ? uri_of(path) : NULL;
    if (!uri) return NULL;
    const int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI |
                      SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE;
    if (sqlite3_open_v2(uri, &handle, flags, NULL) != SQLITE_OK) {
        sqlite3_close(handle);
        handle = NULL;
    } else {
        sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, LENGTH_MAX);
        sqlite3_limit(handle, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_exec(handle, "PRAGMA cell_size_check=1", NULL, NULL, NULL);
    }
    free(uri);
    return handle;
}

// Reads the names of real tables, without views and virtual tables.
static bool read_schema(import_db *db)
{
    static const char sql[] =
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE "
        "'sqlite@_%' ESCAPE '@' AND sql NOT LIKE 'CREATE VIRTUAL%'";
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return false;
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW && db->count < TABLES_MAX) {
        const char *const name = (const char *)sqlite3_column_text(s, 0);
        if (!name || sqlite3_column_bytes(s, 0) > 63) continue;
        table *const more = realloc(db->tables, (db->count + 1) * sizeof *more);
        if (!more) break;
        db->tables = more;
        db->tables[db->count].read = false;
        db->tables[db->count].name = strdup(name);
        db->count += db->tables[db->count].name != NULL;
    }
    sqlite3_finalize(s);
    return code == SQLITE_DONE || db->count == TABLES_MAX;
}

static import_db *open_source(import_source *source)
{
    const char *const path = import_source_path(source);
    import_db *const db = path ? calloc(1, sizeof *db) : NULL;
    if (!db) return NULL;
    struct stat info;
    if (!stat(path, &info)) db->rows_max = (uint64_t)info.st_size / ROW_BYTES;
    db->handle = open_file(path);
    if (db->handle && read_schema(db)) return db;
    import_db_close(db);
    return NULL;
}

static table *find(import_db *db, const char *name)
{
    for (size_t i = 0; i < db->count; i++)
        if (!sqlite3_stricmp(db->tables[i].name, name)) return &db->tables[i];
    return NULL;
}

bool import_db_recognise(import_source *source, const char *const *tables,
                         size_t count)
{
    if (!has_magic(source)) return false;
    import_db *const db = open_source(source);
    bool found = false;
    for (size_t i = 0; db && i < count; i++)
        for (size_t k = 0; k < db->count; k++)
            found |= !sqlite3_strglob(tables[i], db->tables[k].name);
    import_db_close(db);
    return found;
}

import_db *import_db_open(import_job *job)
{
    import_db *const db = open_source(job->source);
    if (!db) {
        import_fail(job, "it is no SQLite database, or a damaged one");
        return NULL;
    }
    db->job = job;
    for (size_t i = 0; i < db->count; i++) {
        const uint64_t rows =
            import_sqlite_rows(db->handle, db->tables[i].name);
        db->rows_expected += rows < db->rows_max ? rows : db->rows_max;
    }
    if (import_sqlite_has_log(import_source_path(job->source)))
        import_flaw(job, "unread_write_ahead_log");
    return db;
}

void import_db_close(import_db *db)
{
    if (!db) return;
    for (size_t i = 0; i < db->count; i++)
        free(db->tables[i].name);
    free(db->tables);
    sqlite3_close(db->handle);
    free(db);
}

const char *import_db_table(import_db *db, size_t index, bool *read)
{
    if (index >= db->count) return NULL;
    *read = db->tables[index].read;
    return db->tables[index].name;
}

void import_db_pass(import_db *db, const char *name)
{
    table *const t = find(db, name);
    if (t) t->read = true;
}

void import_db_rest(import_db *db)
{
    for (size_t i = 0; i < db->count; i++) {
        if (db->tables[i].read) continue;
        import_rows rows;
        static const char *const none[] = { "" };
        import_rows_open(&rows, db, db->tables[i].name, none, 1, 0);
        while (import_rows_next(&rows))
            import_unowned(db->job, rows.table, strlen(rows.table));
        import_rows_close(&rows);
    }
}

/* ---- Rows --------------------------------------------------------------- */

// Appends a name in double quotes; false if there is no room.
static bool add_name(char *sql, size_t room, const char *name)
{
    size_t at = strlen(sql);
    if (at + 2 * strlen(name) + 8 > room) return false;
    sql[at++] = '"';
    for (; *name; name++) {
        if (*name == '"') sql[at++] = '"';
        sql[at++] = *name;
    }
    sql[at++] = '"';
    sql[at] = 0;
    return true;
}

// Adds a stored column of the table to the query if it is requested. Generated
// columns are never added, because table_info does not list them.
static void take_column(import_rows *rows, const char *name,
                        const char *const *required, size_t count)
{
    if (!count && rows->count < IMPORT_COLUMNS && strlen(name) < 32) {
        rows->has |= UINT64_C(1) << rows->count;
        strcpy(rows->names[rows->count++], name);
    }
    for (size_t i = 0; i < count; i++) {
        if (!required[i] || sqlite3_stricmp(required[i], name)) continue;
        rows->has |= UINT64_C(1) << i;
        snprintf(rows->names[i], sizeof rows->names[i], "%s", required[i]);
    }
}

static void take_columns(import_rows *rows, const char *const *required,
                         size_t count)
{
    char sql[200] = "PRAGMA table_info(";
    sqlite3_stmt *s = NULL;
    add_name(sql, sizeof sql, rows->table);
    strcat(sql, ")");
    rows->count = count;
    if (sqlite3_prepare_v2(rows->db->handle, sql, -1, &s, NULL) != SQLITE_OK)
        return;
    while (sqlite3_step(s) == SQLITE_ROW) {
        const char *const name = (const char *)sqlite3_column_text(s, 1);
        if (name) take_column(rows, name, required, count);
    }
    sqlite3_finalize(s);
}

static sqlite3_stmt *prepare(import_rows *rows)
{
    // Column 0 is a dummy, because a SELECT needs at least one column.
    char sql[IMPORT_COLUMNS * 72 + 200] = "SELECT NULL";
    sqlite3_stmt *s = NULL;
    for (size_t i = 0; i < rows->count; i++) {
        rows->values[i] = IMPORT_NONE;
        if (!(rows->has >> i & 1)) continue;
        strcat(sql, ", ");
        add_name(sql, sizeof sql, rows->names[i]);
        rows->column[rows->present++] = (uint8_t)i;
        rows->place[i] = (uint8_t)rows->present;
    }
    strcat(sql, " FROM ");
    add_name(sql, sizeof sql, rows->table);
    sqlite3_prepare_v2(rows->db->handle, sql, -1, &s, NULL);
    return s;
}

static table *look(import_rows *rows, import_db *db, const char *name,
                   const char *const *columns, size_t count)
{
    memset(rows, 0, sizeof *rows);
    table *const t = find(db, name);
    if (!t || count > IMPORT_COLUMNS) return NULL;
    rows->db = db;
    rows->left = db->rows_max;
    snprintf(rows->table, sizeof rows->table, "%s", t->name);
    take_columns(rows, columns, count);
    return t;
}

bool import_rows_look(import_rows *rows, import_db *db, const char *name)
{
    return look(rows, db, name, NULL, 0) != NULL;
}

bool import_rows_open(import_rows *rows, import_db *db, const char *name,
                      const char *const *columns, size_t count, uint64_t texts)
{
    table *const t = look(rows, db, name, columns, count);
    if (!t) return false;
    t->read = true;
    rows->texts = count ? texts : UINT64_MAX;
    rows->statement = prepare(rows);
    if (!rows->statement) import_bad(db->job, "damaged_table", IMPORT_NONE);
    return rows->statement != NULL;
}

static void take_values(import_rows *rows)
{
    rows->wrong = 0;
    for (size_t k = 0; k < rows->present; k++) {
        const size_t i = rows->column[k];
        const int type = sqlite3_column_type(rows->statement, (int)k + 1);
        rows->values[i] = IMPORT_NONE;
        if (type == SQLITE_INTEGER)
            rows->values[i] = sqlite3_column_int64(rows->statement, (int)k + 1);
        else if (type != SQLITE_NULL)
            rows->wrong |= ~rows->texts & UINT64_C(1) << i;
    }
}

bool import_rows_next(import_rows *rows)
{
    if (!rows->statement) return false;
    const int code = sqlite3_step(rows->statement);
    // Limits the rows: a damaged file whose pages refer to each other would
    // never end.
    if (code == SQLITE_ROW && rows->left) {
        rows->left--;
        rows->db->job->rows += !rows->again;
        rows->db->rows_read += !rows->again;
        if (!(rows->left % 16384))
            import_progress_of(rows->db->job, rows->db->rows_read,
                               rows->db->rows_expected);
        take_values(rows);
        return true;
    }
    if (code != SQLITE_DONE)
        import_bad(rows->db->job, "damaged_table", IMPORT_NONE);
    import_rows_close(rows);
    return false;
}

void import_rows_close(import_rows *rows)
{
    sqlite3_finalize(rows->statement);
    rows->statement = NULL;
}

const char *import_rows_text(import_rows *rows, size_t column, size_t *size)
{
    const int i =
        rows->place[column]; // 0, the dummy: the table lacks the column
    *size = 0;
    if (sqlite3_column_type(rows->statement, i) != SQLITE_TEXT) return NULL;
    const char *const text =
        (const char *)sqlite3_column_text(rows->statement, i);
    if (text) *size = (size_t)sqlite3_column_bytes(rows->statement, i);
    return text;
}

bool import_rows_real(import_rows *rows, size_t column, double *value)
{
    const int i = rows->place[column];
    const int type = sqlite3_column_type(rows->statement, i);
    if (type != SQLITE_FLOAT && type != SQLITE_INTEGER) return false;
    *value = sqlite3_column_double(rows->statement, i);
    return true;
}

#else // without SQLite databases are only recognised

struct import_db {
    import_job *job;
};

bool import_db_recognise(import_source *source, const char *const *tables,
                         size_t count)
{
    (void)tables;
    return count && has_magic(source);
}

import_db *import_db_open(import_job *job)
{
    import_fail(job, "this build was made without %s", IMPORT_DB_MISSING);
    return NULL;
}

void import_db_close(import_db *db)
{
    (void)db;
}

const char *import_db_table(import_db *db, size_t index, bool *read)
{
    *read = db && index;
    return NULL;
}

void import_db_pass(import_db *db, const char *name)
{
    (void)db;
    (void)name;
}

void import_db_rest(import_db *db)
{
    (void)db;
}

bool import_rows_look(import_rows *rows, import_db *db, const char *name)
{
    memset(rows, 0, sizeof *rows);
    return db && !name;
}

bool import_rows_open(import_rows *rows, import_db *db, const char *name,
                      const char *const *columns, size_t count, uint64_t texts)
{
    (void)columns;
    (void)count;
    (void)texts;
    return import_rows_look(rows, db, name);
}

bool import_rows_next(import_rows *rows)
{
    return rows->statement != NULL;
}

void import_rows_close(import_rows *rows)
{
    rows->statement = NULL;
}

const char *import_rows_text(import_rows *rows, size_t column, size_t *size)
{
    *size = 0;
    (void)rows;
    (void)column;
    return NULL;
}

bool import_rows_real(import_rows *rows, size_t column, double *value)
{
    *value = (double)rows->values[column];
    return false;
}

#endif

const char *import_rows_column(const import_rows *rows, size_t column)
{
    return rows->names[column];
}

/* ---- Values ------------------------------------------------------------- */

bool import_rows_check(import_rows *rows, uint64_t needed, int64_t time_ns)
{
    for (size_t i = 0; needed >> i; i++) {
        if (!(needed >> i & 1) || rows->values[i] != IMPORT_NONE) continue;
        import_bad(rows->db->job, "broken_row", time_ns);
        return false;
    }
    if (rows->wrong) import_flaw(rows->db->job, "wrong_type");
    return true;
}

uint64_t import_rows_u64(import_rows *rows, size_t column)
{
    const int64_t value = rows->values[column];
    if (value == IMPORT_NONE) return 0;
    if (value < 0) import_flaw(rows->db->job, "value_out_of_range");
    return value < 0 ? 0 : (uint64_t)value;
}

uint32_t import_rows_u32(import_rows *rows, size_t column)
{
    const uint64_t value = import_rows_u64(rows, column);
    if (value <= UINT32_MAX) return (uint32_t)value;
    import_flaw(rows->db->job, "value_out_of_range");
    return 0;
}

bool import_rows_times(import_rows *rows, size_t start, size_t end,
                       int64_t *start_ns, int64_t *duration_ns)
{
    const int64_t from = rows->values[start], to = rows->values[end];
    const uint64_t both = UINT64_C(1) << start | UINT64_C(1) << end;
    const char *cause = NULL;
    if (rows->wrong & both)
        cause = "broken_row";
    else if (from == IMPORT_NONE || to == IMPORT_NONE || (!from && !to))
        cause = "no_time";
    else if (to < from)
        cause = "reversed_time";
    else if (from < -IMPORT_TIME_MAX || to > IMPORT_TIME_MAX)
        cause = "absurd_time";
    if (cause) {
        import_bad(rows->db->job, cause, IMPORT_NONE);
        return false;
    }
    *start_ns = from;
    *duration_ns = to - from;
    return true;
}
