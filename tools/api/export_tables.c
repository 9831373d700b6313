/*
    export_tables.c - the tables of ts-query as files of a folder
*/
#include "tools/api/export_tables.h"
#include "tools/common/select/select.h"
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE
#include "tools/export/parquet/parquet.h"
#include <sys/stat.h>

enum { TABLES = 128, PATH = 4096 };

typedef struct job {
    api_call *call;
    const cli_tool *tool;
    const ts_export_desc *desc;
    const export_request *request;
    ts_export_counts *counts;
    query *query;
    const char *names[TABLES];
    size_t count;
} job;

/* ---- Which tables -------------------------------------------------------- */

static void add_name(job *j, const char *name)
{
    if (j->count < TABLES) j->names[j->count++] = name;
}

// All but the view of the statement before, and those that repeat what is in
// others under the names of Nsight Systems.
static void add_all(job *j)
{
    const query_table *table;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++)
        if (strcmp(table->name, "query_stats") != 0) add_name(j, table->name);
    for (const query_view *view = query_views; view->name; view++)
        add_name(j, view->name);
}

static bool is_called(const char *name, const char *word, size_t size)
{
    return strlen(name) == size && !sqlite3_strnicmp(name, word, (int)size);
}

static const char *find_name(const char *word, size_t size)
{
    const query_table *table;
    const query_view *view;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++)
        if (is_called(table->name, word, size)) return table->name;
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++)
        if (is_called(view->name, word, size)) return view->name;
    return NULL;
}

static bool has_name(const job *j, const char *name)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->names[i] == name) return true;
    return false;
}

static bool choose(job *j)
{
    const char *at = j->desc->tables;
    if (!at) add_all(j);
    while (at && *at) {
        const size_t size = strcspn(at, ",");
        const char *const name = find_name(at, size);
        if (!name)
            return cli_fail(j->tool, TS_ERR_USAGE, NULL,
                            "--tables: '%.*s' is no table; ts-query --tables "
                            "lists them",
                            (int)size, at);
        if (!has_name(j, name)) add_name(j, name);
        at += size + (at[size] == ',');
    }
    if (j->count) return true;
    return cli_fail(j->tool, TS_ERR_USAGE, NULL, "--tables: names no table");
}

/* ---- The folder ---------------------------------------------------------- */

static bool name_file(const job *j, const char *table, char path[PATH])
{
    const char *const folder = j->desc->output.path;
    const char *const slash = folder[strlen(folder) - 1] == '/' ? "" : "/";
    const int size = snprintf(path, PATH, "%s%s%s.%s", folder, slash, table,
                              j->request->format);
    if (size > 0 && size < PATH) return true;
    return cli_fail(j->tool, TS_ERR_IO, folder, "the name is too long");
}

static bool make_folder(const job *j)
{
    struct stat st;
    const char *const path = j->desc->output.path;
    if (!stat(path, &st)) {
        if (S_ISDIR(st.st_mode)) return true;
        return cli_fail(j->tool, TS_ERR_IO, path,
                        "is no folder: --format %s writes a folder with a file "
                        "for each table",
                        j->request->format);
    }
    if (!mkdir(path, 0777)) return true;
    return cli_fail(j->tool, cli_errno_result(errno), path,
                    "cannot be created: %s", strerror(errno));
}

// Before anything is written: no file may replace the trace, or another kind.
static bool check_files(const job *j)
{
    char path[PATH];
    const cli_kind kind =
        j->request->tables == EXPORT_PARQUET ? CLI_PARQUET : CLI_ANY;
    for (size_t i = 0; i < j->count; i++) {
        const cli_output output = { "-o", path, kind };
        if (!name_file(j, j->names[i], path) ||
            !cli_outputs_check(j->tool, &output, 1, &j->desc->path, 1))
            return false;
    }
    return true;
}

/* ---- Parquet ------------------------------------------------------------- */

typedef struct rows {
    sqlite3_stmt *statement;
    parquet_column *columns;
    size_t count;
} rows;

static sqlite3_stmt *prepare(const query *q, char *sql)
{
    sqlite3_stmt *statement = NULL;
    if (sql) sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL);
    sqlite3_free(sql);
    return statement;
}

/*
    The type of a column whose values have several types: integers if all are,
    numbers if no integer loses by that, else texts. False: see sqlite3_errmsg.
*/
static bool find_type(const query *q, const char *table, const char *column,
                      parquet_type *type)
{
    sqlite3_stmt *const s = prepare(
        q, sqlite3_mprintf("SELECT max(typeof(\"%w\") = 'text'), "
                           "max(typeof(\"%w\") = 'real'), "
                           "max(typeof(\"%w\") = 'integer' AND \"%w\" NOT "
                           "BETWEEN -9007199254740992 AND 9007199254740992) "
                           "FROM \"%w\"", // 2^53
                           column, column, column, column, table));
    const bool found = s && sqlite3_step(s) == SQLITE_ROW;
    const bool text = found && sqlite3_column_int(s, 0);
    const bool real = found && sqlite3_column_int(s, 1);
    const bool wide = found && sqlite3_column_int(s, 2);
    *type = text || (real && wide) ? PARQUET_TEXT
            : real                 ? PARQUET_REAL
                                   : PARQUET_INTEGER;
    sqlite3_finalize(s);
    return found;
}

static bool find_column(const query *q, const char *table, rows *r, size_t i)
{
    const char *const declared = sqlite3_column_decltype(r->statement, (int)i);
    parquet_column *const c = &r->columns[i];
    c->name = sqlite3_column_name(r->statement, (int)i);
    for (query_type type = QUERY_INTEGER; type < QUERY_ANY; type++) {
        if (!declared || strcmp(declared, query_type_name(type)) != 0) continue;
        c->type = type == QUERY_INTEGER ? PARQUET_INTEGER
                  : type == QUERY_REAL  ? PARQUET_REAL
                                        : PARQUET_TEXT;
        return true;
    }
    return find_type(q, table, c->name, &c->type);
}

static void close_rows(rows *r)
{
    sqlite3_finalize(r->statement);
    free(r->columns);
}

static bool open_rows(rows *r, const query *q, const char *table)
{
    *r = (rows){ .statement = prepare(
                     q, sqlite3_mprintf("SELECT * FROM \"%w\"", table)) };
    if (!r->statement) return false;
    r->count = (size_t)sqlite3_column_count(r->statement);
    r->columns = calloc(r->count, sizeof *r->columns);
    bool done = r->columns != NULL;
    for (size_t i = 0; done && i < r->count; i++)
        done = find_column(q, table, r, i);
    if (!done) close_rows(r);
    return done;
}

// With as few digits as give the same number back.
static cli_text real_text(double real)
{
    cli_text text = cli_format("%.15g", real);
    for (int digits = 16; digits <= 17; digits++) {
        if (!(strtod(text.s, NULL) < real) && !(strtod(text.s, NULL) > real))
            break;
        text = cli_format("%.*g", digits, real);
    }
    return text;
}

static void put_text(parquet *file, const rows *r, size_t i, int type)
{
    if (type == SQLITE_FLOAT) {
        const cli_text text =
            real_text(sqlite3_column_double(r->statement, (int)i));
        parquet_put_text(file, i, text.s, strlen(text.s));
        return;
    }
    const char *const text =
        (const char *)sqlite3_column_text(r->statement, (int)i);
    const int size = sqlite3_column_bytes(r->statement, (int)i);
    parquet_put_text(file, i, text ? text : "", text ? (size_t)size : 0);
}

static void put_value(parquet *file, const rows *r, size_t i)
{
    const int type = sqlite3_column_type(r->statement, (int)i);
    if (type == SQLITE_NULL)
        parquet_put_null(file, i);
    else if (r->columns[i].type == PARQUET_TEXT)
        put_text(file, r, i, type);
    else if (r->columns[i].type == PARQUET_REAL)
        parquet_put_real(file, i, sqlite3_column_double(r->statement, (int)i));
    else
        parquet_put_integer(file, i,
                            sqlite3_column_int64(r->statement, (int)i));
}

// Returns a result of SQLite: SQLITE_DONE if all rows are in the file.
static int put_rows(job *j, parquet *file, const rows *r, uint64_t *count)
{
    int code;
    while ((code = sqlite3_step(r->statement)) == SQLITE_ROW) {
        for (size_t i = 0; i < r->count; i++)
            put_value(file, r, i);
        ++*count;
        if (!parquet_end_row(file)) return SQLITE_NOMEM;
    }
    cli_progress_end(&j->query->progress);
    return code;
}

static bool say_failure(const job *j, const char *table, int code)
{
    if (code == SQLITE_INTERRUPT)
        return cli_fail(j->tool, TS_ERR_STATE, NULL, "interrupted");
    if (code == SQLITE_NOMEM) return cli_out_of_memory(j->tool);
    return cli_fail(j->tool, TS_ERR_STATE, j->desc->path, "table %s: %s", table,
                    sqlite3_errmsg(j->query->db));
}

static bool write_parquet(job *j, const char *table, FILE *out, uint64_t *count)
{
    rows r;
    if (!open_rows(&r, j->query, table))
        return say_failure(j, table, sqlite3_errcode(j->query->db));
    parquet *const file =
        parquet_open(out, r.columns, r.count, !j->desc->no_compress);
    const int code = file ? put_rows(j, file, &r, count) : SQLITE_NOMEM;
    const bool closed = file && parquet_close(file, code == SQLITE_DONE);
    const bool done = code == SQLITE_DONE && closed;
    // What the output says when it is closed is the better reason.
    if (!done && !ferror(out))
        say_failure(j, table, code == SQLITE_DONE ? SQLITE_NOMEM : code);
    close_rows(&r);
    return done;
}

/* ---- A table ------------------------------------------------------------- */

static bool write_csv(job *j, const char *table, FILE *out, uint64_t *count)
{
    char *const sql = sqlite3_mprintf("SELECT * FROM \"%w\"", table);
    if (!sql) return cli_out_of_memory(j->tool);
    j->call->context.out = out;
    const bool done = query_run(j->query, sql, table) == CLI_OK;
    j->call->context.out = NULL;
    *count = query_row_count(j->query);
    sqlite3_free(sql);
    return done;
}

static bool write_table(job *j, const char *table)
{
    char path[PATH];
    cli_out out;
    uint64_t count = 0;
    struct stat st;
    if (!name_file(j, table, path) || !cli_out_open(&out, j->tool, path))
        return false;
    query_interrupts_begin(j->query);
    const bool done = j->request->tables == EXPORT_PARQUET
                          ? write_parquet(j, table, out.stream, &count)
                          : write_csv(j, table, out.stream, &count);
    query_interrupts_end();
    if (!cli_out_close(&out, done)) return false;
    j->counts->tables++;
    j->counts->rows += count;
    if (!stat(path, &st)) j->counts->bytes += (uint64_t)st.st_size;
    return true;
}

/* ---- The trace ----------------------------------------------------------- */

static bool write_all(job *j)
{
    bool done = true;
    query_set_mode(j->query, QUERY_CSV);
    for (size_t i = 0; i < j->count && !query_interrupted; i++)
        done = write_table(j, j->names[i]) && done;
    query_print_damage(j->query);
    const ts_reader *const reader = j->query->files[0].trace.reader;
    if (!ts_reader_damage_count(reader)) return done;
    return cli_fail(j->tool, TS_ERR_CORRUPT, j->desc->path,
                    "the output contains everything else");
}

bool api_export_tables(api_call *call, const cli_tool *tool,
                       const ts_export_desc *desc,
                       const export_request *request, ts_export_counts *counts)
{
    job j = { .call = call,
              .tool = tool,
              .desc = desc,
              .request = request,
              .counts = counts };
    char *const path = strdup(desc->path);
    if (!path) return cli_out_of_memory(tool);
    select_install();
    bool done = choose(&j);
    if (done) j.query = query_open(tool, &path, 1);
    done = j.query && make_folder(&j) && check_files(&j);
    if (done) {
        counts->format = request->format;
        done = write_all(&j);
    }
    query_close(j.query);
    free(path);
    return done;
}

#else

bool api_export_tables(api_call *call, const cli_tool *tool,
                       const ts_export_desc *desc,
                       const export_request *request, ts_export_counts *counts)
{
    (void)call, (void)desc, (void)counts;
    return cli_fail(tool, TS_ERR_UNSUPPORTED, NULL,
                    "this ts-export was built without SQLite, which --format "
                    "%s needs",
                    request->format);
}

#endif
