/*
    The prompt of ts-query on a terminal of the test's own.
*/
#define _GNU_SOURCE
#include "tools/shell/shell.h"

#include "tests/tools/query/query_fixture.h"

#include <poll.h>
#include <pty.h>
#include <sched.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/replay/reader/sbt_sample.h"

typedef struct session {
    loaded trace;
    int terminal;
    pid_t child;
    char said[1 << 16];
    size_t size;
} session;

static void child(const char *path)
{
    cli_reporter reporter = { .tool = &query_tool };
    const ts_sql_desc desc = { .paths = &path,
                               .path_count = 1,
                               .observer = cli_observer(&reporter) };
    ts_sql *sql;
    cli_is_tool = true; // so that it handles Ctrl-C
    setenv("TERM", "dumb", 1);
    setvbuf(stdout, NULL, _IOLBF, 0); // as on a terminal from the start
    const int code = ts_sql_open(&sql, &desc, NULL) == TS_OK
                         ? shell_run(&query_tool, sql, TS_SQL_TABLE)
                         : CLI_FAILED;
    ts_sql_close(sql);
    fflush(stdout);
    _exit(code);
}

static session *begin(void)
{
    session *const s = calloc(1, sizeof *s);
    assert_non_null(s);
    forge f;
    sample_forge(&f);
    loaded_write(&s->trace, f.bytes, f.size);
    forge_close(&f);
    fflush(stdout);
    const struct winsize size = { .ws_row = 24, .ws_col = 80 };
    s->child = forkpty(&s->terminal, NULL, NULL, &size);
    assert_true(s->child >= 0);
    if (!s->child) child(s->trace.path[0]);
    return s;
}

// Reads until `words` have come since the last time; ten seconds at most.
static void wait_for(session *s, const char *words)
{
    struct pollfd poll_one = { .fd = s->terminal, .events = POLLIN };
    while (!strstr(s->said, words)) {
        if (poll(&poll_one, 1, 60000) <= 0) fail_msg("no '%s'", words);
        const ssize_t size =
            read(s->terminal, s->said + s->size, sizeof s->said - 1 - s->size);
        if (size <= 0) fail_msg("it ended before '%s': %s", words, s->said);
        s->size += (size_t)size;
        s->said[s->size] = 0;
    }
    // What came behind them is for the next time.
    const char *const rest = strstr(s->said, words) + strlen(words);
    s->size -= (size_t)(rest - s->said);
    memmove(s->said, rest, s->size + 1);
}

// libedit shows its prompt a moment before it reads by characters. What is
// typed in between the terminal makes a line of, and a Ctrl-D, which ends that
// line, becomes a NUL, after which libedit takes no Ctrl-D as the end.
static void wait_for_prompt(session *s, const char *prompt)
{
    wait_for(s, prompt);
#ifdef TRACESMITH_EDIT
    for (struct termios t = { .c_lflag = ICANON }; t.c_lflag & ICANON;) {
        assert_int_equal(tcgetattr(s->terminal, &t), 0);
        assert_int_equal(waitpid(s->child, NULL, WNOHANG), 0);
        sched_yield();
    }
#endif
}

static void type(session *s, const char *words)
{
    const size_t size = strlen(words);
    assert_int_equal(write(s->terminal, words, size), (ssize_t)size);
}

static int end(session *s)
{
    int status = 0;
    assert_int_equal(waitpid(s->child, &status, 0), s->child);
    close(s->terminal);
    unlink(s->trace.path[0]);
    free(s->trace.path[0]);
    free(s);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

UNIT_TEST(queries_of_several_lines_are_answered)
{
    session *const s = begin();
    wait_for(s, "ts-query: 1 trace. SQL ends with a semicolon; .help lists "
                "commands.\r\n");
    wait_for_prompt(s, "ts-query> ");
    type(s, "SELECT name, count(*)\n");
    wait_for_prompt(s, "...> ");
    type(s, "FROM zone GROUP BY name;\n");
    wait_for(s, "(2 rows)");
    wait_for_prompt(s, "ts-query> ");
    type(s, ".mode csv\n");
    wait_for_prompt(s, "ts-query> ");
    type(s, "SELECT 6 * 7 AS answer, 1 AS one;\n");
    wait_for(s, "42,1");
    wait_for_prompt(s, "ts-query> ");
    type(s, ".nonsense\n");
    wait_for(s, ".nonsense: unknown command; .help lists the commands");
    wait_for_prompt(s, "ts-query> ");
    type(s, ".mode xml\n");
    wait_for(s, ".mode must be table, csv or json");
    wait_for_prompt(s, "ts-query> ");
    type(s, ".help\n");
    wait_for(s,
             "SQL statements end with a semicolon. Commands:\r\n"
             "  .tables              list tables and views\r\n"
             "  .schema [TABLE]      describe their columns, with units\r\n"
             "  .mode [FORMAT]       print rows as table, csv or json; print "
             "which\r\n"
             "  .help                print this help\r\n"
             "  .quit                quit, like Ctrl-D\r\n");
    wait_for_prompt(s, "ts-query> ");
    type(s, "SELECT nme FROM zone;\n");
    wait_for(s, "no such column: nme");
    wait_for_prompt(s, "ts-query> ");
    type(s, ".quit\n");
    assert_int_equal(end(s), CLI_OK);
}

UNIT_TEST(ctrl_c_ends_a_query_and_not_the_session)
{
    session *const s = begin();
    wait_for_prompt(s, "ts-query> ");
    type(s, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
            "SELECT 'begun' FROM n LIMIT 1; WITH RECURSIVE n(x) AS (SELECT 1 "
            "UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n;\n");
    wait_for(s, "begun\r\n");
    usleep(100000); // into the second
    type(s, "\003");
    wait_for(s, "interrupted");
    wait_for_prompt(s, "ts-query> ");
    type(s, "SELECT 6 * 7 AS answer;\n");
    wait_for(s, "42");
    wait_for_prompt(s, "ts-query> ");
    type(s, "\004");
    assert_int_equal(end(s), CLI_OK);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
