/*
    shell.c - queries typed at a terminal
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE
#include <ctype.h>
#ifdef TRACESMITH_EDIT
#include <editline/readline.h>
#endif

static const char *const help =
    "SQL ends with a semicolon. Besides:\n"
    "  .tables              tables and views\n"
    "  .schema [TABLE]      their columns, with units\n"
    "  .mode [table|csv|json]\n"
    "  .help                this\n"
    "  .quit                the end, as is Ctrl-D";

/* ---- Lines -------------------------------------------------------------- */

#ifdef TRACESMITH_EDIT
static char *read_line(const char *prompt)
{
    rl_catch_signals = 1; // so that the terminal is left as it was
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

// Adds a line to what has been typed so far.
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

static void set_mode(query *q, const char *word)
{
    static const char *const modes[] = { "table", "csv", "json" };
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(word, modes[i]) != 0) continue;
        query_set_mode(q, (query_mode)i);
        return;
    }
    if (*word) cli_error(q->tool, NULL, ".mode is table, csv or json");
    if (!*word) puts(modes[q->mode]);
}

// Returns false at .quit.
static bool command(query *q, char *line)
{
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
        query_tables(q);
    else if (!strcmp(line, ".schema"))
        query_schema(q, *word ? word : NULL);
    else if (!strcmp(line, ".mode"))
        set_mode(q, word);
    else if (!strcmp(line, ".help"))
        puts(help);
    else
        cli_error(q->tool, NULL, "%s: no such command; .help lists them", line);
    return true;
}

static void run(query *q, const char *sql)
{
    if (query_run(q, sql, NULL) == CLI_OK && q->mode == QUERY_TABLE)
        printf("(%s row%s)\n", cli_count(q->printed).s,
               q->printed == 1 ? "" : "s");
    fflush(stdout);
}

int query_shell(query *q)
{
    char *text = NULL, *line;
    printf("ts-query: %" PRIu32 " trace%s. SQL ends with a semicolon; .help "
           "lists commands.\n",
           q->file_count, q->file_count == 1 ? "" : "s");
    while ((line = read_line(text ? "     ...> " : "ts-query> ")) != NULL) {
        if (!text && *line == '.') {
            const bool more = command(q, line);
            free(line);
            if (!more) return CLI_OK;
            continue;
        }
        const bool blank = !text && !line[strspn(line, " \t")];
        if (!blank && !add_line(&text, line)) {
            cli_error(q->tool, NULL, "not enough memory");
            free(line);
            break;
        }
        free(line);
        if (!text || !sqlite3_complete(text)) continue;
        run(q, text);
        free(text);
        text = NULL;
    }
    putchar('\n');
    free(text);
    return CLI_OK;
}

#endif
