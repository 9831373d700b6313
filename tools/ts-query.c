/*
    ts-query.c - SQL over traces
*/
#include "tools/shell/shell.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include "tools/tracesmith_tools.h"
#include <unistd.h>

static const char *file_text, *save_text;
static cli_list settings;
static bool option_table, option_csv, option_json, option_schema, option_tables;
static bool option_no_pushdown;

static const cli_option options[] = {
    { .name = "--table",
      .help = "print a table, fitted to the terminal (default)",
      .flag = &option_table },
    { .name = "--csv", .help = "print CSV", .flag = &option_csv },
    SYMBOLIZE_OPTION,
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    SELECT_OPTIONS,
    { .name = "-f, --file SQLFILE",
      .help = "read the SQL from a file; - is stdin",
      .text = &file_text },
    { .name = "--set NAME=VALUE",
      .help = "set the value of :NAME in the SQL; times such as 1.5ms\n"
              "are converted to nanoseconds; may be repeated",
      .list = &settings },
    { .name = "--no-pushdown",
      .help = "let SQLite add up all rows one by one, as a check of\n"
              "what is answered from columns",
      .flag = &option_no_pushdown },
    { .name = "--save DATABASE",
      .help = "write all tables, or the result of the query as table\n"
              "`result`, into a new SQLite database; only an existing\n"
              "SQLite database is replaced",
      .text = &save_text },
    { .name = "--tables",
      .help = "list tables and views; needs no trace",
      .flag = &option_tables },
    { .name = "--schema",
      .help = "describe every column, with its unit; needs no trace",
      .flag = &option_schema },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-query",
    .usage = "[options] FILE... ['SQL']",
    .about = "Runs SQL queries on traces: tables zone, gpu_op, api_call, "
             "counter, memory,\nedge, gap, ... and views with the names of "
             "Nsight Systems. Nothing is imported;\na query decodes only the "
             "columns that it needs. Without SQL, queries are read\nfrom the "
             "terminal or from stdin. The last argument is SQL if it contains "
             "a\nblank.",
    .options = options,
};

static bool check_usage(char **paths, uint32_t files, bool has_sql)
{
    const char *wrong = NULL;
    const bool about = option_schema || option_tables;
    bool from_stdin = false;
    for (uint32_t i = 0; i < files; i++)
        from_stdin |= !strcmp(paths[i], "-");
    if (option_table + option_csv + option_json > 1)
        wrong = "--table, --csv and --json cannot be combined";
    else if (has_sql && file_text)
        wrong = "SQL must come either from -f or from the last argument";
    else if (about && (has_sql || file_text || save_text))
        wrong = "--schema and --tables cannot be combined with SQL";
    else if (option_schema && option_tables)
        wrong = "--schema and --tables cannot be combined";
    else if (about && (option_csv || option_json))
        wrong = "--schema and --tables cannot be combined with --csv or --json";
    else if (save_text && option_table + option_csv + option_json)
        wrong = "--save does not print rows";
    else if (!files && !about)
        wrong = "a trace to read is required";
    else if (from_stdin && !has_sql && !about &&
             (file_text ? !strcmp(file_text, "-") : !save_text))
        wrong = "a trace and the SQL cannot both come from standard input";
    if (wrong) cli_error(&tool, NULL, "%s", wrong);
    return !wrong;
}

// Checks that all operands but the last are files: another word is probably SQL
// without quotes.
static bool check_paths(char **paths, uint32_t files)
{
    for (uint32_t i = 1; i < files; i++) {
        if (!strcmp(paths[i], "-") || !access(paths[i], F_OK) ||
            errno != ENOENT)
            continue;
        cli_error(&tool, *paths[i] ? paths[i] : "''",
                  "file not found; if it is SQL, quote it or use -f");
        return false;
    }
    return true;
}

static bool check_saved(const char *const *inputs, uint32_t files)
{
    const cli_output output = { "--save", save_text, CLI_DATABASE };
    const cli_output text_output = { "--save", save_text, CLI_ANY };
    if (!strcmp(save_text, "-")) {
        cli_error(&tool, NULL,
                  "--save -: a database must be written to a file, not to "
                  "standard output");
        return false;
    }
    return cli_regular_check(&tool, save_text) &&
           cli_outputs_check(&tool, &text_output, 1, &file_text,
                             file_text != NULL) &&
           cli_outputs_check(&tool, &output, 1, inputs, files);
}

static bool check_files(char **paths, uint32_t files)
{
    const char *const *const inputs = (const char *const *)paths;
    return cli_inputs_check(&tool, inputs, files) &&
           check_paths(paths, files) &&
           (!save_text || check_saved(inputs, files));
}

/* ---- SQL from files ----------------------------------------------------- */

enum { MOST_SQL = 16 << 20 }; // bytes; a device has no end

// Reads a whole stream and adds a zero byte. NULL, with the reason on stderr,
// on failure.
static char *read_all(FILE *in, const char *name)
{
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    while (text && size <= MOST_SQL && !feof(in) && !ferror(in)) {
        if (room - size < 2) {
            char *const more = realloc(text, room *= 2);
            if (!more) free(text);
            text = more;
            continue;
        }
        size += fread(text + size, 1, room - size - 1, in);
    }
    if (text) text[size] = 0;
    const char *const why = !text                 ? "not enough memory"
                            : ferror(in)          ? strerror(errno)
                            : strlen(text) < size ? "it is not a text file"
                            : size > MOST_SQL     ? "it has more than 16 MiB"
                                                  : NULL;
    if (!why) return text;
    cli_error(&tool, name, "cannot be read: %s", why);
    free(text);
    return NULL;
}

static char *read_file(const char *path)
{
    const char *why;
    if (!strcmp(path, "-")) return read_all(stdin, path);
    const int file = cli_open_input(path, &why);
    FILE *const in = file < 0 ? NULL : fdopen(file, "r");
    if (!in) {
        cli_error(&tool, path, "cannot be read: %s",
                  file < 0 ? why : strerror(errno));
        if (file >= 0) close(file);
        return NULL;
    }
    char *const text = read_all(in, path);
    fclose(in);
    return text;
}

/* ---- Main --------------------------------------------------------------- */

static ts_result run_text(ts_sql *sql, const char *text, const char *where)
{
    const ts_sql_format format = option_csv    ? TS_SQL_CSV
                                 : option_json ? TS_SQL_JSON
                                               : TS_SQL_TABLE;
    if (save_text) return ts_sql_save(sql, save_text, text, NULL);
    return ts_sql_write(sql, text, where, format, cli_tool_output(), NULL,
                        NULL);
}

static int run_file(ts_sql *sql, const char *path)
{
    char *const text = read_file(path);
    if (!text) return CLI_FAILED;
    const ts_result result =
        run_text(sql, text, strcmp(path, "-") != 0 ? path : "standard input");
    free(text);
    return result == TS_OK ? CLI_OK : CLI_FAILED;
}

static int run(ts_sql *sql, const char *text)
{
    ts_result result;
    if (option_schema)
        result = ts_sql_schema_write(sql, NULL, cli_tool_output(), NULL);
    else if (option_tables)
        result = ts_sql_tables_write(sql, cli_tool_output(), NULL);
    else if (text || (save_text && !file_text))
        result = run_text(sql, text, NULL);
    else if (!file_text && isatty(STDIN_FILENO))
        return shell_run(&tool, sql,
                         option_csv    ? TS_SQL_CSV
                         : option_json ? TS_SQL_JSON
                                       : TS_SQL_TABLE);
    else
        return run_file(sql, file_text ? file_text : "-");
    return result == TS_OK ? CLI_OK : CLI_FAILED;
}

int main(int argc, char **argv)
{
    cli_reporter reporter = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    const char *const last = argc > 1 ? argv[argc - 1] : "";
    const char *const text =
        strpbrk(last, " \t\n") && access(last, F_OK) != 0 ? last : NULL;
    const uint32_t files = (uint32_t)(argc - 1 - (text != NULL));
    if (!check_usage(argv + 1, files, text != NULL) || !select_check(&tool))
        return cli_usage(&tool);
    if (!check_files(argv + 1, files)) return CLI_USAGE;
    const ts_sql_desc desc = { .paths = (const char *const *)argv + 1,
                               .path_count = files,
                               .selection = &selected,
                               .settings = settings.items,
                               .setting_count = settings.count,
                               .no_symbols = symbolize_off,
                               .no_pushdown = option_no_pushdown,
                               .observer = cli_observer(&reporter) };
    ts_sql *sql;
    const ts_result result = ts_sql_open(&sql, &desc, NULL);
    if (result != TS_OK) return result == TS_ERR_USAGE ? CLI_USAGE : CLI_FAILED;
    const int code = run(sql, text);
    ts_sql_close(sql);
    return cli_finish(&tool, code);
}
