/*
    test_import_progress.c - the progress bar of long imports

    The clock is the test's own: every look at it is 60 ms later, or it stands
    still. Another process imports with a terminal for its stderr.
*/
#define _GNU_SOURCE
#include "tests/tools/import/import_fixture.h"
#include "tests/tools/import/import_sql.h"
#include "tools/import/import.h"

#include <fcntl.h>
#include <pty.h>
#include <sys/wait.h>
#include <time.h>

#if defined TRACESMITH_YAJL && defined TRACESMITH_SQLITE

static int64_t step_ns, now_ns;

// In place of libc's.
int clock_gettime(clockid_t clock, struct timespec *now)
{
    const int64_t at = __atomic_add_fetch(&now_ns, step_ns, __ATOMIC_RELAXED);
    now->tv_sec = 1000 + at / 1000000000;
    now->tv_nsec = at % 1000000000;
    return 0;
}

// What an import of the file writes to the terminal, or to a file.
static char *screen(const char *path, int64_t step, bool is_terminal)
{
    static char text[64 << 10];
    int master = -1, slave = -1;
    assert_int_equal(0, openpty(&master, &slave, NULL, NULL, NULL));
    const pid_t child = fork();
    if (!child) {
        step_ns = step;
        const int file =
            open(fixture_path(3, "stderr"), O_RDWR | O_CREAT | O_TRUNC, 0600);
        dup2(is_terminal ? slave : file, 2);
        imported i = import_into(path, fixture_path(2, "out.sbt"));
        import_done(&i);
        _exit(0);
    }
    close(slave);
    size_t size = 0;
    for (ssize_t got;
         (got = read(master, text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)got;
    close(master);
    int status;
    assert_int_equal(child, waitpid(child, &status, 0));
    assert_int_equal(0, status);
    if (!is_terminal) {
        const int file = open(fixture_path(3, "stderr"), O_RDONLY);
        size = (size_t)read(file, text, sizeof text - 1);
        close(file);
    }
    text[size] = 0;
    return text;
}

static const char *json_of(int rows)
{
    const char *const path = fixture_path(0, "long.json");
    FILE *const out = fopen(path, "wb");
    fputs("{\"schemaVersion\":1,\"traceEvents\":[{}", out);
    for (int i = 0; i < rows; i++)
        fprintf(out,
                ",{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"%090d\","
                "\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":1}\n",
                i % 9, 10 + i);
    fputs("]}", out);
    assert_int_equal(0, fclose(out));
    return path;
}

// One line that begins anew, grows and is gone in the end.
static void assert_bar(const char *text)
{
    static const char begin[] = "\rimporting [", erased[] = "\r\x1b[K";
    int last = -1, count = 0;
    for (const char *at = text; (at = strstr(at, begin)); at++, count++) {
        const char *const end = strchr(at, ']');
        assert_non_null(end);
        const int percent = atoi(end + 1);
        assert_true(percent >= last && percent <= 100);
        last = percent;
    }
    assert_true(count >= 2);
    assert_true(last > 50);
    const size_t size = strlen(text);
    assert_true(size > sizeof erased);
    assert_string_equal(erased, text + size - strlen(erased));
    assert_null(strchr(text, '\n'));
}

UNIT_TEST(a_long_import_of_json_shows_how_far_it_is)
{
    assert_bar(screen(json_of(30000), 60000000, true));
}

UNIT_TEST(a_long_import_of_a_database_shows_how_far_it_is)
{
    const char *const sql =
        "CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO StringIds VALUES(1,'range');"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(start INTEGER, end INTEGER,"
        "  globalTid INTEGER, correlationId INTEGER, nameId INTEGER,"
        "  returnValue INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n"
        "  WHERE i < 400000)"
        "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME"
        "  SELECT i * 10, i * 10 + 5, 1, i, 1, 0 FROM n;";
    assert_bar(screen(sql_file(sql), 60000000, true));
}

UNIT_TEST(a_short_one_shows_nothing)
{
    assert_string_equal("", screen(json_of(30000), 0, true));
}

UNIT_TEST(without_a_terminal_nothing_is_shown)
{
    assert_string_equal("", screen(json_of(30000), 60000000, false));
}

int main(void)
{
    return unit_run(fixture_begin, fixture_end);
}

#else
#include "tests/tools/import/built_without.h"
BUILT_WITHOUT("yajl or SQLite")

#endif
