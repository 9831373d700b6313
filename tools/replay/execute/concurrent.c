/*
    concurrent.c - concurrent streams: dependencies between them, and times
*/
#include "tools/replay/execute/execute.h"

bool execute_edges_find(const execute_job *job, size_t from, size_t to,
                        execute_edges *edges)
{
    size_t count = 0;
    uint32_t *const operations = calloc(to - from + 1, sizeof *operations);
    for (size_t i = from; operations && i < to; i++)
        if (job->rows[i].capture != EXECUTE_NONE)
            operations[count++] = job->rows[i].operation;
    const bool ok =
        operations && ts_execution_edges(job->replay->replay, operations, count,
                                         &edges->edges, &edges->count) == TS_OK;
    if (!ok) cli_out_of_memory(job->replay->tool);
    free(operations);
    return ok;
}

void execute_edges_free(const execute_job *job, execute_edges *edges)
{
    ts_execution_edges_free(job->replay->replay, edges->edges, edges->count);
    edges->edges = NULL;
    edges->count = 0;
}

void execute_whole_add(execute_job *job, const ts_execution_whole *whole)
{
    ts_execution_whole *const w = &job->whole;
    w->sequential_ns += whole->sequential_ns;
    w->ns += whole->ns;
    w->graph_ns += whole->graph_ns;
    w->regions += whole->regions;
    w->regions_different += whole->regions_different;
    w->patched += whole->patched;
    w->parts += whole->parts;
    w->streams += whole->streams;
    w->events += whole->events;
}

void execute_whole_text(const execute_job *job)
{
    const ts_execution_whole *const w = &job->whole;
    if (!w->parts) return; // the device was lost in an operation that ran alone
    printf("  concurrent    %s streams in %s parts, %s events\n  regions       "
           "%s compared at the end, %s differ\n  time          %s from the "
           "first submission to the end of all operations,\n                "
           "after a first run; sequentially with comparison: %s",
           cli_count(w->streams).s, cli_count(w->parts).s,
           cli_count(w->events).s, cli_count(w->regions).s,
           cli_count(w->regions_different).s, cli_time((int64_t)w->ns).s,
           cli_time((int64_t)w->sequential_ns).s);
    if (job->options->as_graph)
        printf(", as one graph\n  launch        %s, mean of %s",
               cli_time((int64_t)w->graph_ns).s,
               cli_count(job->options->loops).s);
    printf("\n  recorded      %s of work within %s, sequential because "
           "captures run alone\n",
           cli_time(job->work_ns).s, cli_time(job->span_ns).s);
}

void execute_whole_json(cli_json *json, const execute_job *job)
{
    const ts_execution_whole *const w = &job->whole;
    cli_json_open(json, "together", '{');
    cli_json_uint(json, "streams", w->streams);
    cli_json_uint(json, "parts", w->parts);
    cli_json_uint(json, "events", w->events);
    cli_json_uint(json, "regions", w->regions);
    cli_json_uint(json, "regions_different", w->regions_different);
    cli_json_uint(json, "time_ns", w->ns);
    cli_json_uint(json, "alone_ns", w->sequential_ns);
    if (job->options->as_graph) cli_json_uint(json, "graph_ns", w->graph_ns);
    cli_json_int(json, "recorded_work_ns", job->work_ns);
    cli_json_int(json, "recorded_span_ns", job->span_ns);
    cli_json_close(json, '}');
}
