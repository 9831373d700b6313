/*
    idle.c - the tool idle_causes: why the devices had nothing to do
*/
#include "tools/mcp/graph.h"

enum { DEVICES_SHOWN = 8, ALL = -1 };

typedef struct placed_gap {
    ts_gap gap;
    uint32_t device;
} placed_gap;

static int by_length(const void *left, const void *right)
{
    const placed_gap *const a = left, *const b = right;
    return cli_gap_order(&a->gap, a->device, &b->gap, b->device);
}

// The gaps of one device, or of ALL, the longest first. NULL without memory.
static placed_gap *list_gaps(const ts_timeline *timeline, int64_t device,
                             size_t devices, size_t *count)
{
    const size_t from = device == ALL ? 0 : (size_t)device;
    const size_t to = device == ALL ? devices : from + 1;
    size_t room = 1;
    *count = 0;
    for (size_t d = from; d < to; d++)
        room += ts_timeline_gap_count(timeline, d);
    placed_gap *const gaps = calloc(room, sizeof *gaps);
    for (size_t d = from; gaps && d < to; d++)
        for (size_t i = 0; ts_timeline_gap(timeline, d, i, &gaps[*count].gap);
             i++)
            gaps[(*count)++].device = (uint32_t)d;
    if (gaps) qsort(gaps, *count, sizeof *gaps, by_length);
    return gaps;
}

static ts_idle largest(const ts_timeline_figures *f)
{
    ts_idle most = TS_IDLE_HOST_LATE;
    for (uint32_t i = 1; i < TS_IDLE_LIMIT; i++)
        if (f->cause_ns[i] > f->cause_ns[most]) most = (ts_idle)i;
    return most;
}

static cli_text share_of(int64_t part, int64_t whole)
{
    return cli_percent(whole > 0 ? (double)part / (double)whole : 0);
}

static void put_answer(mcp_call *call, const ts_timeline_figures *f,
                       int64_t device, size_t devices)
{
    const ts_idle most = largest(f);
    char text[MCP_PROSE];
    const cli_text who = device != ALL ? cli_format("Device %" PRId64, device)
                         : devices == 1
                             ? cli_format("The device")
                             : cli_format("The %zu devices together", devices);
    size_t size = (size_t)snprintf(
        text, sizeof text, "%s had nothing to do for %s, %s of the time.",
        who.s, cli_time(f->idle_ns).s,
        share_of(f->idle_ns, f->idle_ns + f->busy_ns).s);
    if (f->idle_ns)
        snprintf(text + size, sizeof text - size, " Most of it, %s, is %s: %s.",
                 cli_time(f->cause_ns[most]).s, ts_idle_name(most),
                 mcp_cause_meaning(most));
    mcp_put_string(call, &call->answer.json, "answer", text);
}

static void put_figures(mcp_call *call, const ts_timeline_figures *f)
{
    cli_json *const json = &call->answer.json;
    cli_json_int(json, "span_ns", f->busy_ns + f->idle_ns);
    cli_json_int(json, "busy_ns", f->busy_ns);
    cli_json_int(json, "idle_ns", f->idle_ns);
    cli_json_open(json, "causes", '[');
    for (uint32_t i = 0; i < TS_IDLE_LIMIT; i++) {
        if (!f->causes[i]) continue;
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "cause", ts_idle_name(i));
        cli_json_int(json, "idle_ns", f->cause_ns[i]);
        cli_json_uint(json, "gaps", f->causes[i]);
        cli_json_string(json, "meaning", mcp_cause_meaning((ts_idle)i));
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_int(json, "explicit_ns", f->explicit_ns);
    cli_json_int(json, "inferred_ns", f->inferred_ns);
    cli_json_int(json, "unexplained_ns", f->unexplained_ns);
}

static void put_devices(mcp_call *call, size_t devices)
{
    cli_json *const json = &call->answer.json;
    const ts_timeline *const timeline = call->set->timeline;
    const size_t shown = devices < DEVICES_SHOWN ? devices : DEVICES_SHOWN;
    cli_json_open(json, "devices", '[');
    for (size_t i = 0; i < shown; i++) {
        const ts_timeline_figures *const f = ts_timeline_device(timeline, i);
        cli_json_open(json, NULL, '{');
        cli_json_uint(json, "device", i);
        mcp_put_track(call, json, "name", f->file, f->track);
        cli_json_int(json, "span_ns", f->busy_ns + f->idle_ns);
        cli_json_int(json, "busy_ns", f->busy_ns);
        cli_json_int(json, "idle_ns", f->idle_ns);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
    cli_json_uint(json, "devices_left_out", devices - shown);
}

static void put_gap(mcp_call *call, const placed_gap *placed)
{
    cli_json *const row = &call->answer.row;
    const ts_gap *const gap = &placed->gap;
    ts_operation operation;
    cli_json_uint(row, "device", placed->device);
    cli_json_int(row, "start_ns", gap->start_ns);
    cli_json_int(row, "end_ns", gap->end_ns);
    cli_json_int(row, "idle_ns", gap->end_ns - gap->start_ns);
    cli_json_string(row, "cause", ts_idle_name(gap->cause));
    cli_json_uint(row, "operation", gap->operation);
    if (ts_replay_operation(call->set->replay, gap->operation, &operation))
        mcp_put_operation_name(call, row, "name", &operation);
    mcp_put_node(call, row, "culprit", gap->culprit);
    cli_json_string(row, "edge", ts_edge_name(gap->edge));
    cli_json_bool(row, "inferred", gap->inferred);
}

static bool put_gaps(mcp_call *call, int64_t device, size_t devices)
{
    size_t count;
    placed_gap *const gaps =
        list_gaps(call->set->timeline, device, devices, &count);
    if (!gaps) return mcp_fail(call, TS_ERR_MEMORY, "not enough memory");
    cli_json_uint(&call->answer.json, "total_gaps", count);
    mcp_list_begin(call, "gaps");
    for (size_t i = call->answer.first; i < count; i++) {
        if (!mcp_row_begin(call, i, '{')) break;
        put_gap(call, &gaps[i]);
        if (!mcp_row_end(call, '}')) break;
    }
    free(gaps);
    return mcp_answer_end(call, false);
}

bool mcp_idle_causes(mcp_call *call)
{
    const int64_t device = mcp_integer_of(call, "device", ALL);
    if (!mcp_need_timeline(call->models, call->set, &call->error)) return false;
    const ts_timeline *const timeline = call->set->timeline;
    const size_t devices = ts_replay_device_count(call->set->replay);
    if (device != ALL && (uint64_t)device >= devices)
        return mcp_fail(call, TS_ERR_NOT_FOUND,
                        "device: there is no device %" PRId64 "; they are "
                        "numbered from 0 to %zu",
                        device, devices - 1);
    const ts_timeline_figures *const f =
        device == ALL ? ts_timeline_total(timeline)
                      : ts_timeline_device(timeline, (size_t)device);
    if (!mcp_answer_begin(call)) return false;
    put_answer(call, f, device, devices);
    if (!mcp_put_topic_trust(call, "idle")) return false;
    put_figures(call, f);
    put_devices(call, devices);
    return put_gaps(call, device, devices);
}
