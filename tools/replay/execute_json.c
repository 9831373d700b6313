/*
    execute_json.c - what came of an execution, for programs
*/
#include "tools/replay/execute.h"

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
}

static void put_first(cli_json *json, const execute_job *job)
{
    if (job->first >= job->count) {
        cli_json_null(json, "first_divergence");
        return;
    }
    const ts_execution_item *const item = &job->rows[job->first].item;
    cli_json_open(json, "first_divergence", '{');
    put_operation(json, job, &job->rows[job->first]);
    cli_json_uint(json, "region", item->region);
    cli_json_uint(json, "address", item->address);
    cli_json_uint(json, "size", item->size);
    cli_json_uint(json, "offset", item->offset);
    if (item->bytes_known) {
        put_hex(json, "expected", item->expected);
        put_hex(json, "found", item->found);
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
        if (job->rows[i].order) continue;
        cli_json_open(json, NULL, '{');
        put_operation(json, job, &job->rows[i]);
        cli_json_string(json, "outcome", names[item->outcome % 4]);
        cli_json_string(json, "level",
                        item->level == 1   ? "S1"
                        : item->level == 2 ? "S2"
                                           : "S3");
        if (item->reason)
            cli_json_string(json, "reason", ts_reason_name(item->reason));
        cli_json_bool(json, "diverged", item->diverged);
        if (job->wish->loops > 1)
            cli_json_bool(json, "unstable", item->unstable);
        if (item->fault_address)
            cli_json_uint(json, "fault_address", item->fault_address);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_reasons(cli_json *json, const execute_job *job)
{
    cli_json_open(json, "declined", '{');
    for (uint32_t i = 0; i < TS_REASON_LIMIT; i++)
        if (job->reasons[i])
            cli_json_uint(json, ts_reason_name(i), job->reasons[i]);
    cli_json_close(json, '}');
}

void execute_json(const execute_job *job)
{
    cli_json json = { .out = stdout, .lines = 3 };
    char digest[17];
    snprintf(digest, sizeof digest, "%016" PRIx64, job->digest);
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "backend", job->executor->name);
    cli_json_bool(&json, "chain", job->wish->chain || job->wish->overlap);
    cli_json_uint(&json, "executed", job->executed);
    cli_json_uint(&json, "substituted", job->substituted);
    put_reasons(&json, job);
    cli_json_uint(&json, "order", job->order);
    cli_json_uint(&json, "compared", job->compared);
    cli_json_uint(&json, "patched", job->patched);
    cli_json_uint(&json, "diverged", job->diverged);
    cli_json_uint(&json, "unstable", job->unstable);
    if (job->wish->overlap) execute_whole_json(&json, job);
    put_first(&json, job);
    put_rows(&json, job);
    cli_json_string(&json, "digest", digest);
    cli_json_string(&json, "result",
                    !job->executed || !job->compared ? "empty"
                    : job->diverged || job->unstable ? "diverged"
                    : job->timed_out                 ? "timeout"
                                                     : "same");
    cli_json_close(&json, '}');
    putchar('\n');
}
