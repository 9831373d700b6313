/*
    run.c - running statements
*/
#include "tools/query/output.h"
#include "tools/query/pushdown/pushdown.h"
#include "tools/cli/context.h"

#ifdef TRACESMITH_SQLITE

/* ---- Ctrl-C ------------------------------------------------------------- */

static sqlite3 *running;
static struct sigaction before;

static void interrupt(int signal)
{
    (void)signal;
    query_interrupted = 1;
    sqlite3_interrupt(running); // is safe in a signal handler
}

void query_interrupts_begin(query *q)
{
    struct sigaction action = { .sa_handler = interrupt };
    if (!cli_is_tool) return;
    sigemptyset(&action.sa_mask);
    running = q->db;
    query_interrupted = 0;
    sigaction(SIGINT, &action, &before);
}

void query_interrupts_end(void)
{
    if (!cli_is_tool) return;
    sigaction(SIGINT, &before, NULL);
    running = NULL;
}

/* ---- Bounds ------------------------------------------------------------- */

static bool is_late(const query *q)
{
    return q->deadline_ns && cli_now_ns() >= q->deadline_ns;
}

bool query_stops(const query *q)
{
    const ts_sql_limits *const l = &q->limits;
    return query_interrupted || is_late(q) || (l->stop && l->stop(l->user));
}

static int stops(void *user)
{
    return query_stops(user);
}

static void bounds_begin(query *q)
{
    enum { STEPS = 1000 };
    q->deadline_ns = q->limits.time_ns ? cli_now_ns() + q->limits.time_ns : 0;
    if (q->limits.time_ns || q->limits.stop)
        sqlite3_progress_handler(q->db, STEPS, stops, q);
}

static void bounds_end(query *q)
{
    sqlite3_progress_handler(q->db, 0, NULL, NULL);
    q->deadline_ns = 0;
}

static void say_stopped(const query *q)
{
    if (is_late(q))
        cli_fail(q->tool, TS_ERR_STATE, NULL,
                 "the query was not done after %s: ask for less, such as a "
                 "span of time or one kind of events",
                 cli_time((int64_t)q->limits.time_ns).s);
    else
        cli_fail(q->tool, TS_ERR_STATE, NULL, "interrupted");
}

/* ---- Values by name ----------------------------------------------------- */

bool query_set(query *q, const char *assignment)
{
    const char *const equals = strchr(assignment, '=');
    if (!equals || equals == assignment) return false;
    query_setting *const more =
        realloc(q->settings, (q->setting_count + 1) * sizeof *more);
    if (!more) return false;
    q->settings = more;
    char *const copy = malloc(strlen(assignment) + 1);
    if (!copy) return false;
    strcpy(copy, assignment);
    char *const value = copy + (equals - assignment);
    *value = 0;
    q->settings[q->setting_count++] = (query_setting){ copy, value + 1 };
    return true;
}

// Binds a number, a time with a unit as nanoseconds, or else a text.
static int bind_value(sqlite3_stmt *statement, int at, const char *value)
{
    char *end;
    errno = 0;
    const long long integer = strtoll(value, &end, 10);
    if (end > value && !*end && !errno)
        return sqlite3_bind_int64(statement, at, integer);
    const double real = strtod(value, &end);
    if (end > value && !*end) return sqlite3_bind_double(statement, at, real);
    int64_t ns;
    if (cli_parse_time(value, &ns))
        return sqlite3_bind_int64(statement, at, ns);
    return sqlite3_bind_text(statement, at, value, -1, SQLITE_STATIC);
}

static bool bind_all(query *q, sqlite3_stmt *statement)
{
    for (int i = 1; i <= sqlite3_bind_parameter_count(statement); i++) {
        const char *const name = sqlite3_bind_parameter_name(statement, i);
        const char *value = NULL;
        for (size_t s = 0; name && s < q->setting_count; s++)
            if (!strcmp(q->settings[s].name, name + 1))
                value = q->settings[s].value;
        if (!value) {
            cli_fail(q->tool, TS_ERR_USAGE, NULL,
                     name ? "%s has no value: set it with --set %s=VALUE"
                          : "a parameter needs a name, such as :name%.0s%.0s",
                     name ? name : "", name ? name + 1 : "");
            return false;
        }
        if (bind_value(statement, i, value) != SQLITE_OK) return false;
    }
    return true;
}

/* ---- Errors ------------------------------------------------------------- */

static void show_line(FILE *out, const char *text, size_t at)
{
    size_t first = at, last = at;
    while (first && text[first - 1] != '\n')
        first--;
    while (text[last] && text[last] != '\n')
        last++;
    fputs("\n  ", out);
    cli_put_text(out, text + first, last - first);
    uint32_t code, width = 0;
    for (size_t i = first, n; i < at; i += n, width++)
        n = cli_utf8(text + i, last - i, &code);
    fprintf(out, "\n  %*s^", (int)width, "");
}

static const char *nearest(const char *word)
{
    cli_near near = { .word = word };
    const query_table *table;
    const query_view *view;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++)
        cli_near_try(&near, table->name, strlen(table->name));
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++)
        cli_near_try(&near, view->name, strlen(view->name));
    return near.name;
}

static void say_tables(const query *q, const char *word)
{
    const char *const meant = nearest(word);
    if (meant)
        cli_hint(q->tool, "did you mean %s? --tables lists all", meant);
    else
        cli_hint(q->tool, "--tables lists tables and views");
}

// Prints a hint after SQLite's error about an unknown name.
static void say_hint(const query *q, const char *message)
{
    static const char table[] = "no such table: ";
    if (!strncmp(message, table, sizeof table - 1))
        say_tables(q, message + sizeof table - 1);
    else if (!strncmp(message, "no such column: ", 16))
        cli_hint(q->tool, "--schema lists the columns of each table");
}

static ts_result result_of(const query *q)
{
    switch (sqlite3_errcode(q->db)) {
    case SQLITE_NOMEM: return TS_ERR_MEMORY;
    case SQLITE_FULL: return TS_ERR_DISK_FULL;
    case SQLITE_IOERR: return TS_ERR_IO;
    default: return TS_ERR_USAGE;
    }
}

// statement: its start in sql.
static void say_error(const query *q, const char *sql, const char *statement,
                      const char *where)
{
    const bool denied = sqlite3_errcode(q->db) == SQLITE_AUTH;
    const char *const message =
        !denied ? sqlite3_errmsg(q->db)
        : q->limits.only_read
            ? "this query can only read"
            : "a query can only read, and create temporary tables and views";
    const char *const named = where ? where : "SQL";
    int offset = -1;
#if SQLITE_VERSION_NUMBER >= 3038000
    offset = sqlite3_error_offset(q->db);
#endif
    const size_t begin = (size_t)(statement - sql);
    if (offset < 0 || (size_t)offset > strlen(statement)) {
        cli_fail(q->tool, result_of(q), NULL, "%s: %s", named, message);
        say_hint(q, message);
        return;
    }
    size_t line = 1, column = 1;
    for (size_t i = 0; i < begin + (size_t)offset; i++) {
        column = sql[i] == '\n' ? 1 : column + 1;
        line += sql[i] == '\n';
    }
    FILE *const out = cli_error_begin(q->tool, NULL);
    cli_put_text(out, named, strlen(named));
    fprintf(out, ", line %zu, column %zu: ", line, column);
    cli_put_text(out, message, strlen(message));
    show_line(out, sql, begin + (size_t)offset);
    cli_fail_end(result_of(q));
    say_hint(q, message);
}

void query_print_damage(query *q)
{
    for (uint32_t i = 0; i < q->file_count; i++) {
        query_file *const file = &q->files[i];
        file->damage_said = cli_trace_damage(&file->trace, q->tool, file->path,
                                             file->damage_said);
    }
    const uint64_t damaged = q->counts.damaged - q->begun.damaged;
    if (damaged)
        cli_error(q->tool, NULL, "the rows of %s damaged chunk%s are missing",
                  cli_count(damaged).s, damaged == 1 ? "" : "s");
}

/* ---- Statements --------------------------------------------------------- */

static void count_begin(query *q)
{
    q->begun = q->counts;
}

static void count_end(query *q)
{
    const query_counts *const b = &q->begun, *const c = &q->counts;
    q->last = (query_counts){ .chunks = c->chunks - b->chunks,
                              .rows = c->rows - b->rows,
                              .damaged = c->damaged - b->damaged,
                              .sorts = c->sorts - b->sorts,
                              .indexes = c->indexes - b->indexes };
}

static void put_lines(query_output *output, sqlite3_stmt *statement)
{
    const void *const text = sqlite3_column_blob(statement, 0);
    query_output_lines(output, text, (size_t)sqlite3_column_bytes(statement, 0),
                       (uint64_t)sqlite3_column_int64(statement, 1));
}

// code: of the first step; `named` names the columns.
static int print_all(query *q, sqlite3_stmt *statement, sqlite3_stmt *named,
                     int code)
{
    const bool lines = q->push && q->push->lines;
    query_output *const output =
        sqlite3_column_count(statement)
            ? query_output_open(q, lines ? named : statement, named)
            : NULL;
    if (!output && sqlite3_column_count(statement)) return SQLITE_NOMEM;
    const uint64_t first = q->limits.skip_rows, most = q->limits.rows;
    uint64_t row = 0;
    q->more = false;
    if (code == SQLITE_OK) code = sqlite3_step(statement);
    for (; code == SQLITE_ROW; code = sqlite3_step(statement)) {
        cli_progress_end(&q->progress);
        if (lines) {
            put_lines(output, statement);
            if (ferror(cli_stdout())) break;
            continue;
        }
        if (row++ < first) continue;
        q->more = most && row - first > most;
        if (q->more) break;
        if (output && !query_output_row(output))
            code = q->mode == QUERY_VALUES ? SQLITE_ABORT : SQLITE_NOMEM;
        if (code != SQLITE_ROW) break;
        if (q->mode != QUERY_VALUES && ferror(cli_stdout())) break;
    }
    cli_progress_end(&q->progress);
    if (output) q->printed = query_output_close(output, code == SQLITE_DONE);
    return code == SQLITE_ROW ? SQLITE_DONE : code; // closed, or enough
}

// Runs what answers a statement from columns. False: it has to run as it is.
static bool step_pushed(query *q, sqlite3_stmt *plain, int *code)
{
    sqlite3_stmt *const statement = query_push_prepare(q, plain);
    if (!statement) return false;
    bool done = bind_all(q, statement);
    if (done) *code = sqlite3_step(statement);
    // All rows are added up before the first is given. An error is what the
    // plain statement makes of it.
    done = done && (*code == SQLITE_ROW || *code == SQLITE_DONE ||
                    *code == SQLITE_INTERRUPT || *code == SQLITE_NOMEM);
    if (done) *code = print_all(q, statement, plain, *code);
    sqlite3_finalize(statement);
    query_push_end(q);
    return done;
}

static int step_all(query *q, sqlite3_stmt *statement)
{
    int code;
    if (step_pushed(q, statement, &code)) return code;
    return print_all(q, statement, statement, SQLITE_OK);
}

bool query_execute(query *q, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    bool done =
        sqlite3_prepare_v2(q->db, sql, -1, &statement, NULL) == SQLITE_OK;
    if (done && !bind_all(q, statement)) {
        q->failure = "a parameter has no value";
        done = false;
    }
    done = done && sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return done;
}

static bool run_one(query *q, const char *sql, const char *at,
                    sqlite3_stmt *statement, const char *where)
{
    count_begin(q);
    q->progress.start_ns = 0;
    const bool bound = bind_all(q, statement);
    const int code = bound ? step_all(q, statement) : SQLITE_DONE;
    if (code == SQLITE_INTERRUPT)
        say_stopped(q);
    else if (code == SQLITE_NOMEM)
        cli_fail(q->tool, TS_ERR_MEMORY, NULL, "not enough memory");
    else if (code == SQLITE_ABORT)
        cli_fail(q->tool, TS_ERR_STATE, NULL, "the caller took no more rows");
    else if (code != SQLITE_DONE)
        say_error(q, sql, at, where);
    sqlite3_finalize(statement);
    query_print_damage(q);
    count_end(q);
    return bound && code == SQLITE_DONE;
}

int query_run(query *q, const char *sql, const char *where)
{
    query_interrupts_begin(q);
    bounds_begin(q);
    bool good = true, complete = true;
    if (q->mode == QUERY_JSON) {
        q->json = (cli_json){ .out = cli_stdout(), .lines = 4 };
        cli_json_open(&q->json, NULL, '{');
        cli_json_open(&q->json, "results", '[');
    }
    size_t results = 0;
    for (const char *at = sql, *next; good && *at; at = next) {
        sqlite3_stmt *statement;
        const int code = sqlite3_prepare_v2(q->db, at, -1, &statement, &next);
        if (code != SQLITE_OK) {
            say_error(q, sql, at, where);
            good = false;
        } else if (statement) {
            if (q->mode < QUERY_JSON && results &&
                sqlite3_column_count(statement))
                putc('\n', cli_stdout());
            results += sqlite3_column_count(statement) > 0;
            good = run_one(q, sql, at, statement, where);
            complete = complete && !q->more;
        }
    }
    if (q->mode == QUERY_JSON) {
        uint64_t lost = 0, damaged = 0;
        for (uint32_t i = 0; i < q->file_count; i++) {
            lost += q->files[i].trace.info->lost;
            damaged += ts_reader_damage_count(q->files[i].trace.reader);
        }
        cli_json_close(&q->json, ']');
        cli_json_bool(&q->json, "complete", good && complete);
        cli_json_uint(&q->json, "lost_records", lost);
        cli_json_uint(&q->json, "damaged_places", damaged);
        cli_json_close(&q->json, '}');
        putc('\n', cli_stdout());
    }
    bounds_end(q);
    query_interrupts_end();
    return good ? CLI_OK : CLI_FAILED;
}

/* ---- What there is ------------------------------------------------------ */

static void show_table(const query *q, const query_table *table)
{
    cli_print("-- %s\nCREATE TABLE %s (\n", table->about, table->name);
    const bool own = !table->kinds && !table->joint && q->file_count > 1;
    for (uint32_t i = 0; i < table->column_count; i++) {
        const query_column *const c = &table->columns[i];
        if (!strcmp(c->name, "file") && q->file_count <= 1) continue;
        const bool last =
            !own && (i + 1 == table->column_count ||
                     (i + 2 == table->column_count && q->file_count <= 1 &&
                      !strcmp(c[1].name, "file")));
        const cli_text name = cli_format(
            "%s%s%s%s", c->name, *query_type_name(c->type) ? " " : "",
            query_type_name(c->type), last ? "" : ",");
        cli_print("    %-26s -- %s\n", name.s, c->about);
    }
    if (own)
        cli_print("    %-26s -- path of the trace, as given\n", "file TEXT");
    cli_print(");\n");
}

// Prints a view, with line breaks at spaces outside of string literals.
static void show_view(const query *q, const query_view *view)
{
    enum { WIDTH = 76, INDENT = 4 };
    char *const text = query_view_text(q, view, "");
    size_t column = 0;
    bool quoted = false;
    cli_print("-- %s\n", view->about);
    for (const char *at = text; at && *at; at++) {
        const size_t word = strcspn(at + 1, " ");
        quoted ^= *at == '\'';
        if (*at == ' ' && !quoted && column + 1 + word > WIDTH) {
            cli_print("\n%*s", INDENT, "");
            column = INDENT;
            continue;
        }
        putc(*at, cli_stdout());
        column++;
    }
    cli_print(";\n");
    sqlite3_free(text);
}

int query_schema(const query *q, const char *name)
{
    bool found = false, line = false;
    const query_table *table;
    const query_view *view;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++) {
        if (name && sqlite3_stricmp(name, table->name)) continue;
        if (line) putc('\n', cli_stdout());
        show_table(q, table);
        found = line = true;
    }
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++) {
        if (name && sqlite3_stricmp(name, view->name)) continue;
        if (line) putc('\n', cli_stdout());
        show_view(q, view);
        found = line = true;
    }
    if (!found)
        cli_fail(q->tool, TS_ERR_NOT_FOUND, NULL, "%s: no such table or view",
                 name);
    if (!found) say_tables(q, name);
    return found ? CLI_OK : CLI_FAILED;
}

int query_tables(const query *q)
{
    const query_table *table;
    const query_view *view;
    (void)q;
    for (size_t i = 0; (table = query_table_at(i)) != NULL; i++)
        cli_print("%-38s %s\n", table->name, table->about);
    for (size_t i = 0; (view = query_view_at(i)) != NULL; i++)
        cli_print("%-38s %s\n", view->name, view->about);
    return CLI_OK;
}

#endif
