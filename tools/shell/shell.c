/*
    shell.c - the interactive prompt of ts-query
*/
#include "tools/shell/shell.h"

#ifdef TRACESMITH_SQLITE
#include <ctype.h>
#include <sqlite3.h>
#ifdef TRACESMITH_EDIT
#include <editline/readline.h>
#endif

static const char *const help =
    "SQL statements end with a semicolon. Commands:\n"
    "  .tables              list tables and views\n"
    "  .schema [TABLE]      describe their columns, with units\n"
    "  .mode [FORMAT]       print rows as table, csv or json; print which\n"
    "  .help                print this help\n"
    "  .quit                quit, like Ctrl-D";

/* ---- Lines -------------------------------------------------------------- */

#ifdef TRACESMITH_EDIT
static char *read_line(const char *prompt)
{
    rl_catch_signals = 1; // so that the terminal is restored
    char *const line = readline(prompt);
    if (line && *line) add_history(line);
    return line;
}
#else
static char *read_line(const char *prompt)
{
    size_t size = 0, room = 256;
    char *line = malloc(room);
    fputs(prompt, stdout);
    fflush(stdout);
    for (;;) {
        const int c = getchar();
        if (line && (c == EOF ? size > 0 : c == '\n')) {
            line[size] = 0;
            return line;
        }
        if (!line || c == EOF) {
            free(line);
            return NULL;
        }
        line[size++] = (char)c;
        if (size < room) continue;
        room *= 2;
        char *const more = realloc(line, room);
        if (!more) free(line);
        line = more;
    }
}
#endif

// Appends a line to the statement typed so far.
static bool add_line(char **text, const char *line)
{
    const size_t old = *text ? strlen(*text) : 0, size = strlen(line);
    char *const more = realloc(*text, old + size + 2);
    if (!more) return false;
    memcpy(more + old, line, size);
    memcpy(more + old + size, "\n", 2);
    *text = more;
    return true;
}

/* ---- Commands ----------------------------------------------------------- */

typedef struct shell {
    const cli_tool *tool;
    ts_sql *sql;
    ts_sql_format format;
} shell;

// Returns stdout with the terminal's current width.
static ts_output to_stdout(void)
{
    return (ts_output){ .stream = stdout,
                        .columns = cli_has_width() ? cli_width() : 0 };
}

static void set_format(shell *s, const char *word)
{
    static const char *const formats[] = { "table", "csv", "json" };
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(word, formats[i]) != 0) continue;
        s->format = (ts_sql_format)i;
        return;
    }
    if (*word) cli_error(s->tool, NULL, ".mode must be table, csv or json");
    if (!*word) puts(formats[s->format]);
}

// Returns false at .quit.
static bool command(shell *s, char *line)
{
    const ts_output out = to_stdout();
    for (size_t size = strlen(line);
         size && isspace((unsigned char)line[size - 1]);)
        line[--size] = 0;
    char *const space = strchr(line, ' ');
    char *word = space ? space + 1 : line + strlen(line);
    if (space) *space = 0;
    while (*word == ' ')
        word++;
    if (!strcmp(line, ".quit") || !strcmp(line, ".exit")) return false;
    if (!strcmp(line, ".tables"))
        ts_sql_tables_write(s->sql, &out, NULL);
    else if (!strcmp(line, ".schema"))
        ts_sql_schema_write(s->sql, *word ? word : NULL, &out, NULL);
    else if (!strcmp(line, ".mode"))
        set_format(s, word);
    else if (!strcmp(line, ".help"))
        puts(help);
    else
        cli_error(s->tool, NULL,
                  "%s: unknown command; .help lists the "
                  "commands",
                  line);
    return true;
}

static void run(const shell *s, const char *text)
{
    const ts_output out = to_stdout();
    uint64_t rows;
    if (ts_sql_write(s->sql, text, NULL, s->format, &out, &rows, NULL) ==
            TS_OK &&
        s->format == TS_SQL_TABLE)
        printf("(%s row%s)\n", cli_count(rows).s, rows == 1 ? "" : "s");
    fflush(stdout);
}

int shell_run(const cli_tool *tool, ts_sql *sql, ts_sql_format format)
{
    shell s = { .tool = tool, .sql = sql, .format = format };
    const size_t traces = ts_sql_trace_count(sql);
    char *text = NULL, *line;
    printf("ts-query: %zu trace%s. SQL ends with a semicolon; .help "
           "lists commands.\n",
           traces, traces == 1 ? "" : "s");
    while ((line = read_line(text ? "     ...> " : "ts-query> ")) != NULL) {
        if (!text && *line == '.') {
            const bool more = command(&s, line);
            free(line);
            if (!more) return CLI_OK;
            continue;
        }
        const bool blank = !text && !line[strspn(line, " \t")];
        if (!blank && !add_line(&text, line)) {
            cli_error(tool, NULL, "not enough memory");
            free(line);
            break;
        }
        free(line);
        if (!text || !sqlite3_complete(text)) continue;
        run(&s, text);
        free(text);
        text = NULL;
    }
    putchar('\n');
    free(text);
    return CLI_OK;
}

#else

// Never called: without SQLite there is no ts_sql.
int shell_run(const cli_tool *tool, ts_sql *sql, ts_sql_format format)
{
    return tool && sql && format ? CLI_OK : CLI_FAILED;
}

#endif
