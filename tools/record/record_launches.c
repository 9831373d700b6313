/*
    record_launches.c - whether what was launched was seen to run
*/
#include "tools/cut/cut.h"
#include "tools/record/record.h"

static bool has(ts_text text, const char *part)
{
    const size_t size = strlen(part);
    for (size_t i = 0; i + size <= text.size; i++)
        if (!memcmp(text.text + i, part, size)) return true;
    return false;
}

// Of CUDA, HIP and their like by any prefix, and of OpenCL.
static bool is_launch(ts_text name)
{
    return has(name, "LaunchKernel") || has(name, "LaunchCooperativeKernel") ||
           has(name, "GraphLaunch") || has(name, "EnqueueNDRangeKernel") ||
           has(name, "EnqueueTask");
}

static bool launches(ts_reader *reader, cut_memo *memo, uint32_t name)
{
    bool yes = false;
    if (!cut_memo_get(memo, name, &yes)) {
        yes = is_launch(ts_reader_name(reader, name));
        cut_memo_put(memo, name, yes);
    }
    return yes;
}

typedef struct scan {
    ts_reader *reader;
    cut_set ran; // correlations of operations
    cut_memo names;
    record_launches *count;
} scan;

static uint64_t value(const ts_columns *c, ts_column column, uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

static void take_calls(scan *s, const ts_columns *c)
{
    for (uint32_t row = 0; row < c->count; row++) {
        const uint32_t name = (uint32_t)value(c, TS_COLUMN_NAME, row);
        // A call that failed launched nothing.
        if (value(c, TS_COLUMN_RESULT, row) ||
            !launches(s->reader, &s->names, name))
            continue;
        s->count->called++;
        s->count->recorded +=
            cut_set_has(&s->ran, value(c, TS_COLUMN_CORRELATION, row));
    }
}

static void take_operations(scan *s, const ts_columns *c)
{
    for (uint32_t row = 0; row < c->count; row++) {
        const uint64_t id = value(c, TS_COLUMN_CORRELATION, row);
        if (id) cut_set_add(&s->ran, id);
    }
}

static void each(scan *s, bool calls)
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(s->reader, i, &info); i++) {
        const uint32_t event = info.header.event;
        if (info.header.kind != TS_CHUNK_EVENTS ||
            (calls ? event != TS_EVENT_API_CALL : event < TS_EVENT_GPU_FIRST) ||
            ts_reader_decode(s->reader, i, &columns) != TS_OK)
            continue;
        if (calls)
            take_calls(s, &columns);
        else
            take_operations(s, &columns);
    }
    ts_columns_close(s->reader, &columns);
}

// What backends have counted: "cupti.into_graphs".
static uint64_t into_graphs(const ts_reader *reader)
{
    static const char end[] = ".into_graphs";
    ts_metadata m;
    uint64_t sum = 0;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++)
        if (m.key.size >= sizeof end && m.type == TS_VALUE_INT &&
            m.number > 0 &&
            !memcmp(m.key.text + m.key.size + 1 - sizeof end, end,
                    sizeof end - 1))
            sum += (uint64_t)m.number;
    return sum;
}

// Of the trace of one process: numbers of calls are its own.
record_launches record_launches_of(ts_reader *reader)
{
    record_launches count = { .called = 0 };
    scan s = { .reader = reader, .count = &count };
    const ts_info *const info = ts_reader_info(reader);
    if (!info->counts[TS_EVENT_API_CALL]) return count;
    each(&s, false);
    each(&s, true);
    count.into_graphs = into_graphs(reader);
    if (count.into_graphs > count.called - count.recorded)
        count.into_graphs = count.called - count.recorded;
    count.graphs = info->counts[TS_EVENT_GRAPH_LAUNCH] != 0;
    cut_set_close(&s.ran);
    free(s.names.known);
    return count;
}
