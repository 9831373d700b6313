/*
    json.c - the comparison of two traces as one JSON object
*/
#include "tools/replay/verify/verify.h"

enum { LISTED = 1000 }; // differences listed at most; the counts are complete

static void put_pair(cli_json *json, const char *key, int64_t a, int64_t b)
{
    cli_json_open(json, key, '{');
    cli_json_int(json, "a", a);
    cli_json_int(json, "b", b);
    cli_json_close(json, '}');
}

static void put_spread(cli_json *json, const char *key, const verify_spread *s)
{
    cli_json_open(json, key, '{');
    cli_json_int(json, "p50", s->p50_ns);
    cli_json_int(json, "p95", s->p95_ns);
    cli_json_int(json, "max", s->max_ns);
    cli_json_close(json, '}');
}

// Writes one side of a difference.
static void put_op(cli_json *json, const char *key, verify_side *side,
                   uint32_t op)
{
    if (op == VERIFY_NONE) {
        cli_json_null(json, key);
        return;
    }
    const verify_op *const o = &side->ops[op];
    const verify_stream *const s = &side->streams[o->stream];
    verify_field fields[VERIFY_FIELDS];
    const size_t count = verify_fields(side, op, fields);
    cli_json_open(json, key, '{');
    if (s->device == UINT64_MAX)
        cli_json_null(json, "device");
    else
        cli_json_uint(json, "device", s->device);
    if (s->track.type == TS_TRACK_STREAM)
        cli_json_uint(json, "stream", s->track.number);
    else
        cli_json_null(json, "stream");
    cli_json_uint(json, "index", op - s->first);
    cli_json_int(json, "start_ns", o->start_ns);
    cli_json_int(json, "duration_ns", o->duration_ns);
    for (size_t i = 0; i < count; i++)
        if (fields[i].is_number)
            cli_json_uint(json, fields[i].key, fields[i].number);
        else
            cli_json_text(json, fields[i].key, fields[i].text.text,
                          fields[i].text.size);
    cli_json_close(json, '}');
}

static void put_difference(cli_json *json, const char *key, verify_report *r,
                           const verify_difference *d)
{
    cli_json_open(json, key, '{');
    cli_json_string(json, "what", verify_name(d->what));
    cli_json_int(json, "time_ns", d->time_ns);
    put_op(json, "a", &r->side[0], d->a);
    put_op(json, "b", &r->side[1], d->b);
    cli_json_close(json, '}');
}

static void put_streams(cli_json *json, const verify_report *r)
{
    uint64_t paired[2] = { 0, 0 };
    for (uint32_t i = 0; i < r->side[0].stream_count; i++)
        if (r->side[0].streams[i].partner != VERIFY_NONE)
            paired[r->side[0].streams[i].by_number]++;
    const uint64_t both = paired[0] + paired[1];
    cli_json_open(json, "streams", '{');
    cli_json_uint(json, "by_number", paired[1]);
    cli_json_uint(json, "by_first_use", paired[0]);
    cli_json_uint(json, "only_a", r->side[0].stream_count - both);
    cli_json_uint(json, "only_b", r->side[1].stream_count - both);
    cli_json_close(json, '}');
}

static void put_counts(cli_json *json, const verify_report *r)
{
    cli_json_open(json, "differences", '{');
    cli_json_uint(json, "all", r->count);
    for (verify_what what = 0; what < VERIFY_KINDS; what++)
        cli_json_uint(json, verify_name(what), r->of[what]);
    cli_json_close(json, '}');
}

static void put_timing(cli_json *json, const verify_report *r)
{
    cli_json_open(json, "timing", '{');
    cli_json_uint(json, "other_durations", r->other_durations);
    put_spread(json, "duration_difference_ns", &r->duration);
    put_spread(json, "start_difference_ns", &r->start);
    put_pair(json, "work_ns", r->work_ns[0], r->work_ns[1]);
    put_pair(json, "makespan_ns", r->makespan_ns[0], r->makespan_ns[1]);
    cli_json_close(json, '}');
}

void verify_json(verify_report *r)
{
    cli_json json = { .out = stdout, .lines = 2 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "a", r->side[0].path);
    cli_json_string(&json, "b", r->side[1].path);
    put_pair(&json, "operations", r->side[0].op_count, r->side[1].op_count);
    cli_json_uint(&json, "matched", r->matched);
    put_streams(&json, r);
    put_counts(&json, r);
    put_timing(&json, r);
    if (r->count)
        put_difference(&json, "first", r, &r->differences[0]);
    else
        cli_json_null(&json, "first");
    cli_json_open(&json, "list", '[');
    for (size_t i = 0; i < r->count && i < LISTED; i++)
        put_difference(&json, NULL, r, &r->differences[i]);
    cli_json_close(&json, ']');
    cli_json_string(&json, "result", verify_is_same(r) ? "same" : "diverged");
    cli_json_close(&json, '}');
}
