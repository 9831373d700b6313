/*
    launches.c - whether each launch has a recorded operation
*/
#include "tools/cut/cut.h"
#include "tools/record/record.h"

// Names of launch functions of CUDA, HIP and compatible APIs, whatever their
// prefix, and of OpenCL.
static bool is_launch(ts_text name)
{
    return cli_has(name, "LaunchKernel") ||
           cli_has(name, "LaunchCooperativeKernel") ||
           cli_has(name, "GraphLaunch") ||
           cli_has(name, "EnqueueNDRangeKernel") ||
           cli_has(name, "EnqueueTask");
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
    cut_set ran; // correlation ids of recorded operations
    cut_memo names;
    uint64_t kernels; // recorded kernels, as the least number of launches
    record_launches *count;
} scan;

/* ---- Calls that failed --------------------------------------------------- */

static void add_failure(record_launches *count, const record_failure *failure)
{
    record_failure *f = count->failures;
    record_failure *const end = f + RECORD_FAILURES;
    count->failed += failure->count;
    while (f < end && f->count &&
           (f->error != failure->error || strcmp(f->call, failure->call) != 0))
        f++;
    if (f == end) return;
    const uint64_t before = f->count;
    *f = *failure;
    f->count += before;
}

// OpenCL's error codes are negative; the record has them without sign.
static void take_failure(scan *s, uint32_t name, uint64_t result)
{
    const ts_text text = ts_reader_name(s->reader, name);
    record_failure failure = { .count = 1, .error = (int64_t)result };
    if (text.size > 2 && !memcmp(text.text, "cl", 2) && text.text[2] >= 'A' &&
        text.text[2] <= 'Z')
        failure.error = -failure.error;
    snprintf(failure.call, sizeof failure.call, "%.*s", (int)text.size,
             text.text);
    add_failure(s->count, &failure);
}

void record_launches_add(record_launches *sum, const record_launches *other)
{
    sum->called += other->called;
    sum->recorded += other->recorded;
    sum->into_graphs += other->into_graphs;
    sum->graphs |= other->graphs;
    sum->more |= other->more;
    const uint64_t failed = sum->failed + other->failed;
    for (size_t i = 0; i < RECORD_FAILURES && other->failures[i].count; i++)
        add_failure(sum, &other->failures[i]);
    sum->failed = failed; // includes those without an entry in `failures`
}

/* ---- Launches ------------------------------------------------------------ */

static uint64_t value(const ts_columns *c, ts_column column, uint32_t row)
{
    return c->values[column] ? c->values[column][row] : 0;
}

static void take_calls(scan *s, const ts_columns *c)
{
    for (uint32_t row = 0; row < c->count; row++) {
        const uint32_t name = (uint32_t)value(c, TS_COLUMN_NAME, row);
        const uint64_t result = value(c, TS_COLUMN_RESULT, row);
        if (result)
            take_failure(s, name, result); // a failed call launches nothing
        if (result || !launches(s->reader, &s->names, name)) continue;
        s->count->called++;
        s->count->recorded +=
            cut_set_has(&s->ran, value(c, TS_COLUMN_CORRELATION, row));
    }
}

static void take_operations(scan *s, const ts_columns *c)
{
    for (uint32_t row = 0; row < c->count; row++) {
        const uint64_t id = value(c, TS_COLUMN_CORRELATION, row);
        if (!id) continue;
        const bool kernel =
            c->kind == TS_EVENT_KERNEL || c->kind == TS_EVENT_COLLECTIVE;
        s->kernels += kernel && !cut_set_has(&s->ran, id);
        cut_set_add(&s->ran, id);
    }
}

static void each(scan *s, bool calls)
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(s->reader, i, &info); i++) {
        const uint32_t event = info.header.event;
        if (info.header.kind != TS_CHUNK_EVENTS ||
            (calls ? event != TS_EVENT_API_CALL
                   : !ts_event_has_contents(event)) ||
            ts_reader_decode(s->reader, i, &columns) != TS_OK)
            continue;
        if (calls)
            take_calls(s, &columns);
        else
            take_operations(s, &columns);
    }
    ts_columns_close(s->reader, &columns);
}

// Sums metadata of the backends: "cupti.launches", "hip.launches".
static uint64_t sum_of(const ts_reader *reader, const char *end)
{
    const size_t size = strlen(end);
    ts_metadata m;
    uint64_t sum = 0;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++)
        if (m.key.size > size && m.type == TS_VALUE_INT && m.number > 0 &&
            !memcmp(m.key.text + m.key.size - size, end, size))
            sum += (uint64_t)m.number;
    return sum;
}

// Whether the lost records may include calls.
static bool lost_calls(const ts_reader *reader)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(reader, i, &row); i++)
        if (row.count && row.cause != TS_LOSS_BACKEND &&
            row.cause != TS_LOSS_OVERWRITTEN && row.cause < TS_LOSS_STALL_FIRST)
            return true;
    return false;
}

// Of lost calls only the number is known.
static void count_lost(const scan *s)
{
    record_launches *const count = s->count;
    const uint64_t reported = sum_of(s->reader, ".launches");
    if (!lost_calls(s->reader) || (!reported && !count->called)) return;
    count->more = !reported;
    if (reported > count->called) count->called = reported;
    if (s->kernels > count->recorded) count->recorded = s->kernels;
    if (count->recorded > count->called) count->called = count->recorded;
}

// Counts in the trace of one process: correlation ids are unique only there.
record_launches record_launches_of(ts_reader *reader)
{
    record_launches count = { .called = 0 };
    scan s = { .reader = reader, .count = &count };
    const ts_info *const info = ts_reader_info(reader);
    if (!info->counts[TS_EVENT_API_CALL] && !info->lost) return count;
    each(&s, false);
    each(&s, true);
    count_lost(&s);
    count.into_graphs = sum_of(reader, ".into_graphs");
    if (count.into_graphs > count.called - count.recorded)
        count.into_graphs = count.called - count.recorded;
    count.graphs = info->counts[TS_EVENT_GRAPH_LAUNCH] != 0;
    cut_set_close(&s.ran);
    free(s.names.known);
    return count;
}
