/*
    sql.c - a query of the page: it only reads, and is limited
*/
#include "tools/studio/serve/tasks.h"
#include "tools/tracesmith_tools.h"

static bool is_over(void *user)
{
    return studio_task_is_over(user);
}

static void query(studio_task *task, ts_sql *sql, bool json)
{
    const ts_sql_limits limits = {
        .rows = STUDIO_TASK_ROWS,
        .value_bytes = 1 << 16,
        .only_read = true,
        .stop = is_over,
        .user = task,
    };
    const ts_output output = { .write = studio_task_put, .user = task };
    ts_error error;
    ts_sql_limit(sql, &limits);
    if (ts_sql_write(sql, task->rest, NULL, json ? TS_SQL_JSON : TS_SQL_CSV,
                     &output, NULL, &error) != TS_OK)
        studio_task_fail(task, "%s", error.text);
}

void studio_task_sql(studio_task *task, bool json)
{
    const ts_sql_desc desc = { .paths = &task->path, .path_count = 1 };
    ts_sql *sql;
    ts_error error;
    if (ts_sql_open(&sql, &desc, &error) == TS_OK)
        query(task, sql, json);
    else
        studio_task_fail(task, "%s", error.text);
    ts_sql_close(sql);
}
