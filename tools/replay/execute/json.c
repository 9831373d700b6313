/*
    json.c - the result of an execution as JSON
*/
#include "tools/replay/execute/execute.h"

static void put_hex(cli_json *json, const char *key, const uint8_t *bytes)
{
    char text[17];
    for (int i = 0; i < 8; i++)
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    cli_json_string(json, key, text);
}

static void put_operation(cli_json *json, const execute_job *job,
                          const execute_row *row)
{
    ts_operation op;
    cli_json_int(json, "operation", row->operation);
    if (!ts_replay_operation(job->replay->replay, row->operation, &op)) return;
    const ts_text label = ts_operation_label(job->reader, &op);
    ts_track track;
    cli_json_string(json, "kind", ts_event_name(op.kind));
    cli_json_text(json, "name", label.text, label.size);
    if (ts_reader_track(job->reader, op.track, &track))
        cli_json_uint(json, "stream", track.number);
    cli_json_uint(json, "correlation", op.correlation);
    ts_capture c;
    if (execute_find_graph(job, row, &c))
        cli_json_uint(json, "nodes", execute_count_nodes(&c));
}

static void put_site(cli_json *json, const execute_job *job,
                     const execute_row *row)
{
    ts_text name, file;
    uint32_t line;
    if (!execute_find_site(job, row, &name, &file, &line)) return;
    cli_json_text(json, "launched_in", name.text, name.size);
    if (!file.size) return;
    cli_json_text(json, "file", file.text, file.size);
    cli_json_uint(json, "line", line);
}

// Writes a value with its probable type; nothing for a few bytes.
static void put_value(cli_json *json, const char *key, const execute_job *job,
                      const ts_execution_item *item, const uint8_t *bytes)
{
    const execute_value v = execute_value_of(job, item, bytes);
    if (v.type == EXECUTE_REAL)
        cli_json_real(json, key, v.real);
    else if (v.type == EXECUTE_SIGNED)
        cli_json_int(json, key, (int64_t)v.whole);
    else if (v.type == EXECUTE_UNSIGNED)
        cli_json_uint(json, key, v.whole);
    else if (v.type == EXECUTE_WORD)
        cli_json_int(json, key, (int32_t)v.bits);
}

static void put_first(cli_json *json, const execute_job *job)
{
    if (job->first >= job->count) {
        cli_json_null(json, "first_divergence");
        return;
    }
    const execute_row *const row = &job->rows[job->first];
    const ts_execution_item *const item = &row->item;
    cli_json_open(json, "first_divergence", '{');
    put_operation(json, job, row);
    put_site(json, job, row);
    const execute_place place = execute_place_of(job, row);
    if (place.by == EXECUTE_BY_PARAM)
        cli_json_uint(json, "argument", place.index);
    if (place.by == EXECUTE_BY_BYTES)
        cli_json_uint(json, "argument_byte", place.index);
    cli_json_uint(json, "region", item->region);
    cli_json_uint(json, "address", item->address);
    cli_json_uint(json, "size", item->size);
    cli_json_uint(json, "offset", item->offset);
    if (item->bytes_known) {
        put_hex(json, "expected", item->expected);
        put_hex(json, "found", item->found);
        put_value(json, "expected_value", job, item, item->expected);
        put_value(json, "found_value", job, item, item->found);
        cli_json_uint(json, "values_different_in_chunk", item->elements);
    }
    cli_json_uint(json, "chunks", item->chunks);
    cli_json_uint(json, "chunks_different", item->chunks_different);
    cli_json_close(json, '}');
}

static void put_rows(cli_json *json, const execute_job *job)
{
    static const char *const names[] = { "not_run", "executed", "substituted",
                                         "declined" };
    cli_json_open(json, "operations", '[');
    for (size_t i = 0; i < job->count; i++) {
        const ts_execution_item *const item = &job->rows[i].item;
        if (execute_is_silent(&job->rows[i])) continue;
        cli_json_open(json, NULL, '{');
        put_operation(json, job, &job->rows[i]);
        cli_json_string(json, "outcome", names[item->outcome % 4]);
        cli_json_string(json, "level",
                        item->level == 1   ? "S1"
                        : item->level == 2 ? "S2"
                                           : "S3");
        if (item->reason)
            cli_json_string(json, "reason", ts_reason_name(item->reason));
        if (item->why[0]) cli_json_string(json, "why", item->why);
        cli_json_bool(json, "diverged", item->diverged);
        if (job->options->loops > 1)
            cli_json_bool(json, "unstable", item->unstable);
        if (item->patched) cli_json_uint(json, "patched", item->patched);
        if (item->fault_address)
            cli_json_uint(json, "fault_address", item->fault_address);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_reasons(cli_json *json, const char *key,
                        const uint64_t reasons[TS_REASON_LIMIT])
{
    cli_json_open(json, key, '{');
    for (uint32_t i = 0; i < TS_REASON_LIMIT; i++)
        if (reasons[i]) cli_json_uint(json, ts_reason_name(i), reasons[i]);
    cli_json_close(json, '}');
}

void execute_json(const execute_job *job)
{
    cli_json json = { .out = stdout, .lines = 3 };
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, job->digest);
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "backend", job->executor->name);
    cli_json_bool(&json, "chain", job->options->chain || job->options->overlap);
    cli_json_uint(&json, "captured", job->captured);
    cli_json_uint(&json, "executed", job->executed);
    cli_json_uint(&json, "substituted", job->substituted);
    put_reasons(&json, "declined", job->reasons);
    cli_json_uint(&json, "not_run", job->not_run);
    put_reasons(&json, "not_captured", job->left_out);
    cli_json_uint(&json, "order", job->order);
    cli_json_uint(&json, "graph_nodes", job->nodes);
    cli_json_uint(&json, "parts", job->parts);
    cli_json_uint(&json, "compared", job->compared);
    execute_confined_json(&json, &job->confined);
    cli_json_uint(&json, "runs", execute_runs(job->options));
    cli_json_uint(&json, "patched", job->patched);
    cli_json_uint(&json, "patched_different", job->patched_different);
    cli_json_uint(&json, "diverged", job->diverged);
    cli_json_uint(&json, "unstable", job->unstable);
    if (job->options->overlap) execute_whole_json(&json, job);
    put_first(&json, job);
    put_rows(&json, job);
    cli_json_string(&json, "digest", digest);
    cli_json_string(&json, "result",
                    !job->executed || !job->compared ? "empty"
                    : job->diverged || job->unstable ? "diverged"
                    : job->escaped                   ? "escaped"
                    : job->timed_out                 ? "timeout"
                                                     : "same");
    cli_json_close(&json, '}');
    putchar('\n');
}
