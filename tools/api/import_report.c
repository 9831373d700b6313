/*
    import_report.c - the result of an import as text and JSON
*/
#include "tools/api/import.h"

static const cli_tool tool = { .name = "ts-import" };

/* ---- Text ---------------------------------------------------------------- */

static uint64_t operations(const ts_import_output *o)
{
    uint64_t sum = 0;
    for (uint32_t i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        sum += o->events[i];
    return sum;
}

static void put_list(FILE *out, const char *what, ts_named_counts counts)
{
    if (!counts.count) return;
    fprintf(out, "    %s:\n", what);
    for (size_t i = 0; i < counts.count; i++) {
        const ts_named_count *const c = &counts.items[i];
        fprintf(out, "        %12s  ", cli_count(c->count).s);
        cli_put_text(out, c->name, strlen(c->name));
        putc('\n', out);
    }
}

static void put_details(FILE *out, const ts_import_output *o)
{
    fputs("    events:\n", out);
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (o->events[i])
            fprintf(out, "        %12s  %s\n", cli_count(o->events[i]).s,
                    ts_event_name(i));
    put_list(out, "bad, skipped", o->bad);
    put_list(out, "flawed, kept", o->flawed);
    put_list(out, "no place in SBT", o->no_place);
    put_list(out, "times estimated", o->estimated);
}

static void put_text(FILE *out, const ts_import_output *o, bool verbose)
{
    cli_put_path(out, o->path);
    fprintf(out, ": %s from ", o->format);
    cli_put_path(out, o->base);
    if (o->has_rank) fprintf(out, ", rank %" PRId64, o->rank);
    fprintf(
        out, ": %s, %s, %s, %s", cli_counted(o->rows, "row", "rows").s,
        cli_counted(operations(o), "GPU operation", "GPU operations").s,
        cli_counted(o->events[TS_EVENT_API_CALL], "API call", "API calls").s,
        cli_counted(o->events[TS_EVENT_ZONE], "zone", "zones").s);
    const uint64_t samples = o->events[TS_EVENT_SAMPLE];
    if (samples)
        fprintf(out, ", %s", cli_counted(samples, "sample", "samples").s);
    fprintf(out, ", %s\n", cli_bytes(o->bytes).s);
    if (verbose) put_details(out, o);
}

/* ---- JSON ---------------------------------------------------------------- */

static void json_counts(cli_json *json, const char *key, ts_named_counts counts)
{
    cli_json_open(json, key, '{');
    for (size_t i = 0; i < counts.count; i++)
        cli_json_uint(json, counts.items[i].name, counts.items[i].count);
    cli_json_close(json, '}');
}

static void json_output(cli_json *json, const ts_import_output *o)
{
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "output", o->path);
    cli_json_string(json, "source", o->source);
    cli_json_string(json, "format", o->format);
    if (o->has_rank) cli_json_int(json, "rank", o->rank);
    cli_json_uint(json, "bytes", o->bytes);
    cli_json_uint(json, "rows", o->rows);
    cli_json_int(json, "duration_ns", o->duration_ns);
    cli_json_bool(json, "cut", o->is_cut);
    cli_json_open(json, "events", '{');
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (o->events[i]) cli_json_uint(json, ts_event_name(i), o->events[i]);
    cli_json_close(json, '}');
    json_counts(json, "bad", o->bad);
    json_counts(json, "flawed", o->flawed);
    json_counts(json, "no_place", o->no_place);
    json_counts(json, "estimated", o->estimated);
    if (o->secret) cli_json_string(json, "secret", o->secret);
    cli_json_close(json, '}');
}

static void put_json(FILE *out, const ts_import *all)
{
    cli_json json = { .out = out, .lines = 3 };
    cli_json_open(&json, NULL, '{');
    cli_json_open(&json, "outputs", '[');
    for (size_t i = 0; i < ts_import_count(all); i++)
        json_output(&json, &all->written[i]);
    cli_json_close(&json, ']');
    cli_json_uint(&json, "left_out", all->left_out);
    cli_json_uint(&json, "unknown", all->unknown);
    cli_json_uint(&json, "failed", all->failed);
    cli_json_close(&json, '}');
}

/* ---- The call ------------------------------------------------------------ */

static bool put(const ts_import *all, api_call *call, ts_report_format format,
                const ts_output *output)
{
    api_output to;
    if ((unsigned)format > TS_REPORT_JSON)
        return api_refuse(&tool, "an import must be text or JSON");
    if (!api_output_check(&tool, output,
                          format == TS_REPORT_JSON ? CLI_JSON : CLI_ANY, NULL,
                          0) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    if (format == TS_REPORT_JSON)
        put_json(to.stream, all);
    else
        for (size_t i = 0; i < ts_import_count(all); i++)
            put_text(to.stream, &all->written[i], all->verbose);
    return api_output_close(&to, call, &tool, true);
}

ts_result ts_import_write(const ts_import *imported, ts_report_format format,
                          const ts_output *output, ts_error *error)
{
    api_call call;
    const bool ok = api_begin(&call, NULL, NULL, error) &&
                    put(imported, &call, format, output);
    return api_end(&call, ok);
}
