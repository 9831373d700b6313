/*
    ts-query.c - SQL over traces
*/
#include "tools/query/query.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include <unistd.h>

static const char *file_text, *save_text;
static cli_list settings;
static bool want_table, want_csv, want_json, want_schema, want_tables;

static const cli_option options[] = {
    { .name = "--table",
      .help = "print a table, fitted to the terminal (the default)",
      .flag = &want_table },
    { .name = "--csv", .help = "print CSV", .flag = &want_csv },
    { .name = "--no-symbols",
      .help = "name frames of call stacks as the trace does: look into\n"
              "no file of this machine",
      .flag = &symbolize_off },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    SELECT_OPTIONS,
    { .name = "-f, --file SQLFILE",
      .help = "read the SQL from a file; -: from stdin",
      .text = &file_text },
    { .name = "--set NAME=VALUE",
      .help = "the value of :NAME in the SQL; may be given several\n"
              "times. 1.5ms and the like are nanoseconds",
      .list = &settings },
    { .name = "--save DATABASE",
      .help = "write all tables, or the rows of the query as table\n"
              "`result`, into a new SQLite database; it may replace\n"
              "an SQLite database, and no other file",
      .text = &save_text },
    { .name = "--tables",
      .help = "list tables and views; needs no trace",
      .flag = &want_tables },
    { .name = "--schema",
      .help = "describe every column, with its unit; needs no trace",
      .flag = &want_schema },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-query",
    .usage = "[options] FILE... ['SQL']",
    .about = "Runs SQL over traces: tables zone, gpu_op, api_call, counter, "
             "memory, edge, gap,\n... and views named as Nsight Systems names "
             "its tables. Nothing is imported: a\nquery decodes the columns "
             "that it needs. Without SQL it reads queries from a\nterminal, or "
             "from stdin. Last word: SQL if it holds a blank, else a FILE.",
    .options = options,
};

static bool check_usage(char **paths, uint32_t files, bool has_sql)
{
    const char *wrong = NULL;
    const bool about = want_schema || want_tables;
    bool from_stdin = false;
    for (uint32_t i = 0; i < files; i++)
        from_stdin |= !strcmp(paths[i], "-");
    if (want_table + want_csv + want_json > 1)
        wrong = "--table, --csv and --json exclude each other";
    else if (has_sql && file_text)
        wrong = "SQL comes from -f or the last argument, not from both";
    else if (about && (has_sql || file_text || save_text))
        wrong = "--schema and --tables run no SQL";
    else if (want_schema && want_tables)
        wrong = "--schema and --tables exclude each other";
    else if (about && (want_csv || want_json))
        wrong = "--schema and --tables print text, neither CSV nor JSON";
    else if (save_text && want_table + want_csv + want_json)
        wrong = "--save prints no rows";
    else if (!files && !about)
        wrong = "which trace?";
    else if (from_stdin && !has_sql && !about &&
             (file_text ? !strcmp(file_text, "-") : !save_text))
        wrong = "a trace and the SQL cannot both come from standard input";
    if (wrong) cli_error(&tool, NULL, "%s", wrong);
    return !wrong;
}

// A word that is no file may have been meant as SQL.
static bool check_paths(char **paths, uint32_t files)
{
    for (uint32_t i = 1; i < files; i++) {
        if (!strcmp(paths[i], "-") || !access(paths[i], F_OK) ||
            errno != ENOENT)
            continue;
        cli_error(&tool, *paths[i] ? paths[i] : "''",
                  "no such file, and no SQL: quote it, or use -f");
        return false;
    }
    return true;
}

static bool check_saved(const char *const *inputs, uint32_t files)
{
    const cli_output output = { "--save", save_text, CLI_DATABASE };
    const cli_output beside = { "--save", save_text, CLI_ANY };
    if (!strcmp(save_text, "-")) {
        cli_error(&tool, NULL,
                  "--save -: a database is written to a file, not to standard "
                  "output");
        return false;
    }
    return cli_regular_check(&tool, save_text) &&
           cli_outputs_check(&tool, &beside, 1, &file_text,
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

// The whole of a stream, with a zero behind; NULL, and it said why.
static char *read_all(FILE *in, const char *name)
{
    size_t size = 0, room = 4096;
    char *text = malloc(room);
    while (text && !feof(in) && !ferror(in)) {
        if (room - size < 2) {
            char *const more = realloc(text, room *= 2);
            if (!more) free(text);
            text = more;
            continue;
        }
        size += fread(text + size, 1, room - size - 1, in);
    }
    if (text) text[size] = 0;
    if (text && !ferror(in) && strlen(text) == size) return text;
    cli_error(&tool, name, "cannot be read: %s",
              !text        ? "not enough memory"
              : ferror(in) ? strerror(errno)
                           : "it is no text");
    free(text);
    return NULL;
}

static char *read_file(const char *path)
{
    if (!strcmp(path, "-")) return read_all(stdin, path);
    FILE *const in = fopen(path, "r");
    if (!in) {
        cli_error(&tool, path, "cannot be read: %s", strerror(errno));
        return NULL;
    }
    char *const text = read_all(in, path);
    fclose(in);
    return text;
}

/* ---- Main --------------------------------------------------------------- */

static int run_text(query *q, const char *sql, const char *where)
{
    return save_text ? query_save(q, save_text, sql) : query_run(q, sql, where);
}

static int run(query *q, const char *sql)
{
    for (size_t i = 0; i < settings.count; i++) {
        if (query_set(q, settings.items[i])) continue;
        cli_error(&tool, NULL, "--set %s: it is NAME=VALUE", settings.items[i]);
        return CLI_USAGE;
    }
    query_set_mode(q, want_csv    ? QUERY_CSV
                      : want_json ? QUERY_JSON
                                  : QUERY_TABLE);
    if (want_schema) return query_schema(q, NULL);
    if (want_tables) return query_tables(q);
    if (sql) return run_text(q, sql, NULL);
    if (save_text && !file_text) return query_save(q, save_text, NULL);
    if (!file_text && isatty(STDIN_FILENO)) return query_shell(q);
    const char *const path = file_text ? file_text : "-";
    char *const text = read_file(path);
    if (!text) return CLI_FAILED;
    const int code =
        run_text(q, text, strcmp(path, "-") != 0 ? path : "standard input");
    free(text);
    return code;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    const char *const last = argc > 1 ? argv[argc - 1] : "";
    const char *const sql =
        strpbrk(last, " \t\n") && access(last, F_OK) != 0 ? last : NULL;
    uint32_t files = (uint32_t)(argc - 1 - (sql != NULL));
    if (!check_usage(argv + 1, files, sql != NULL) || !select_check(&tool))
        return cli_usage(&tool);
    if (!check_files(argv + 1, files)) return CLI_USAGE;
    if (!select_files(&tool, argv + 1, &files)) return CLI_FAILED;
    select_install();
    query *const q = query_open(&tool, argv + 1, files);
    if (!q) return CLI_FAILED;
    const int code = run(q, sql);
    query_close(q);
    return cli_finish(&tool, code);
}
