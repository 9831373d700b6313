/*
    xctrace.c - the tables of Instruments that become events

        metal-gpu-intervals     a kernel on the stream of its process and
                                channel; an interval inside of another one
                                (event-depth) a zone of a thread beside it
        metal-application-command-buffer-submissions
                                a call, with the id of the command buffer as its
                                correlation, as the intervals have it
        metal-application-encoders-list, os-signpost-interval
                                a zone
        time-profile            a sample

    Times count from the start of the recording.
*/
#include "tools/import/xctrace/xctrace.h"

/* ---- Cells --------------------------------------------------------------- */

// Returns the cell of a column; NULL: the row has no value there.
static const xctrace_value *cell(const xctrace *x, const char *column)
{
    for (size_t i = 0; i < x->column_count && i < x->cell_count; i++)
        if (!strcmp(x->columns[i], column))
            return x->cells[i].is_there ? &x->cells[i] : NULL;
    return NULL;
}

static ts_text text_of(const xctrace *x, xctrace_text text)
{
    return (ts_text){ text.size ? x->texts + text.at : "", text.size };
}

static int64_t number(const xctrace *x, const char *column)
{
    return xctrace_number(x, cell(x, column));
}

// Returns what a cell is called: a text inside, else as it is shown.
static ts_text name(const xctrace *x, const char *column)
{
    const xctrace_value *const value = cell(x, column);
    if (!value) return (ts_text){ "", 0 };
    return text_of(x, value->label.size ? value->label
                      : value->fmt.size ? value->fmt
                                        : value->text);
}

static int64_t pid_of(const xctrace *x)
{
    const xctrace_value *const process = cell(x, "process");
    const xctrace_value *const thread = cell(x, "thread");
    return process ? process->pid : thread ? thread->pid : IMPORT_NONE;
}

// Returns the thread of a row; without one, a lane of its process.
static uint32_t thread_of(xctrace *x, const char *lane)
{
    const xctrace_value *const thread = cell(x, "thread");
    const int64_t pid = pid_of(x);
    if (thread && thread->tid != IMPORT_NONE)
        return import_thread(x->job, pid, thread->tid);
    const uint32_t parent =
        pid == IMPORT_NONE ? 0 : import_process(x->job, pid);
    return import_lane(x->job, parent, lane, strlen(lane));
}

// Reads the time of a row. False: it is bad, and counted.
static bool read_times(xctrace *x, const char *start, int64_t *start_ns,
                       const char *duration, int64_t *duration_ns)
{
    *start_ns = number(x, start);
    *duration_ns = duration ? number(x, duration) : 0;
    if (*start_ns != IMPORT_NONE && *duration_ns != IMPORT_NONE) return true;
    import_bad(x->job, *start_ns == IMPORT_NONE ? "no_time" : "no_duration",
               *start_ns);
    return false;
}

/* ---- Tables -------------------------------------------------------------- */

// Returns the stream of the row's process and channel, which has their names.
static uint32_t stream_of(xctrace *x, ts_text channel)
{
    char text[256];
    const ts_text process = name(x, "process");
    const uint64_t hash = cli_hash_join(cli_hash(channel.text, channel.size),
                                        (uint64_t)pid_of(x));
    bool fresh = false;
    int64_t *const number = import_map_put(&x->streams, (int64_t)hash, &fresh);
    if (!number) {
        x->no_memory = true;
        return 0;
    }
    if (fresh) *number = (int64_t)++x->stream_count;
    const uint32_t stream = import_stream(x->job, 0, IMPORT_NONE, *number - 1);
    if (!fresh) return stream;
    const int size =
        snprintf(text, sizeof text, "%.*s%s%.*s",
                 channel.size < 100 ? (int)channel.size : 100, channel.text,
                 process.size ? ", " : "",
                 process.size < 100 ? (int)process.size : 100, process.text);
    import_track_name(x->job, stream, text, (size_t)size);
    return stream;
}

static void take_interval(xctrace *x)
{
    import_operation op = { .kind = TS_EVENT_KERNEL };
    const ts_text state = name(x, "state"), channel = name(x, "channel-name");
    const ts_text label = name(x, "event-label");
    if (state.size && !cli_is_text(state, "Active")) {
        import_unowned(x->job, "intervals of no work", 20);
        return;
    }
    if (!read_times(x, "start", &op.start_ns, "duration", &op.duration_ns))
        return;
    const ts_text shown = label.size ? label : channel;
    const uint32_t named = import_name(x->job, shown.text, shown.size);
    const int64_t buffer = number(x, "cmdbuffer-id");
    if (number(x, "event-depth") > 0) {
        const uint32_t device = import_device(x->job, 0);
        import_zone(x->job, import_lane(x->job, device, "inside intervals", 16),
                    op.start_ns, op.duration_ns, named, 0, NULL);
        return;
    }
    const ts_launch_entry launch = { .name = named };
    op.track = stream_of(x, channel);
    op.launch = import_launch(x->job, &launch);
    op.correlation = buffer > 0 ? (uint64_t)buffer : 0;
    import_gpu(x->job, &op);
}

static void take_submission(xctrace *x)
{
    int64_t start_ns, duration_ns;
    const int64_t buffer = number(x, "cmdbuffer-id");
    const bool lasts = cell(x, "duration") != NULL;
    if (!read_times(x, "start", &start_ns, lasts ? "duration" : NULL,
                    &duration_ns))
        return;
    const uint32_t thread = thread_of(x, "command buffers");
    import_api_call(x->job, thread, start_ns, duration_ns,
                    import_name(x->job, "commit", 6),
                    buffer > 0 ? (uint64_t)buffer : 0, 0);
}

static void take_zone(xctrace *x, const char *lane, ts_text shown,
                      ts_text category)
{
    static const char *const ids[] = { "cmdbuffer-id", "encoder-id" };
    int64_t start_ns, duration_ns;
    if (!read_times(x, "start", &start_ns, "duration", &duration_ns)) return;
    const uint32_t thread = thread_of(x, lane);
    const uint32_t named = import_name(x->job, shown.text, shown.size);
    const uint64_t before = x->job->bad.total;
    const uint32_t site = import_zone(
        x->job, thread, start_ns, duration_ns, named,
        category.size ? import_name(x->job, category.text, category.size) : 0,
        NULL);
    if (x->job->bad.total != before) return;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        const int64_t id = number(x, ids[i]);
        if (id != IMPORT_NONE)
            import_zone_int(x->job, thread, start_ns, site,
                            import_name(x->job, ids[i], strlen(ids[i])), id);
    }
}

static void take_encoder(xctrace *x)
{
    const ts_text encoder = name(x, "encoder-label");
    take_zone(x, "encoders",
              encoder.size ? encoder : name(x, "cmdbuffer-label"),
              name(x, "event-type"));
}

static void take_signpost(xctrace *x)
{
    take_zone(x, "signposts", name(x, "name"), name(x, "subsystem"));
}

static void take_sample(xctrace *x)
{
    int64_t time_ns, none;
    const xctrace_value *stack = cell(x, "stack");
    if (!stack) stack = cell(x, "backtrace");
    const int64_t weight_ns = number(x, "weight");
    if (!read_times(x, "time", &time_ns, NULL, &none)) return;
    if (weight_ns == IMPORT_NONE) {
        import_bad(x->job, "no_weight", time_ns);
        return;
    }
    const uint32_t thread = thread_of(x, "samples");
    const profile_weight weight = {
        .name = import_name(x->job, "time", 4),
        .unit = import_name(x->job, "nanoseconds", 11),
        .type = TS_VALUE_INT,
        .value = (uint64_t)weight_ns,
    };
    profile_sample(&x->profile, thread, time_ns, &weight,
                   stack ? stack->stack : 0);
}

static const struct {
    const char *table;
    void (*take)(xctrace *x);
} tables[] = {
    { "metal-gpu-intervals", take_interval },
    { "metal-application-command-buffer-submissions", take_submission },
    { "metal-application-encoders-list", take_encoder },
    { "os-signpost-interval", take_signpost },
    { "time-profile", take_sample },
};

static void take_row(xctrace *x)
{
    x->job->rows++;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (!strcmp(x->table, tables[i].table)) {
            x->taken++;
            tables[i].take(x);
            return;
        }
    import_unowned(x->job, x->table, strlen(x->table));
}

/* ---- The file ------------------------------------------------------------ */

// The element that is a column's mnemonic, or in a schema or a row.
static bool read_element(xctrace *x, bool *is_mnemonic)
{
    const char *const element = x->xml->name;
    if (!strcmp(element, "schema")) {
        memcpy(x->table, x->xml->attributes[XML_NAME_OF].bytes, XML_NAME - 1);
        x->column_count = 0;
    }
    *is_mnemonic = !strcmp(element, "mnemonic");
    if (strcmp(element, "row") != 0) return true;
    if (!xctrace_read_row(x)) return false;
    take_row(x);
    if (!(x->job->rows % 4096)) import_progress(x->job);
    return true;
}

static bool read_all(xctrace *x)
{
    bool is_mnemonic = false;
    for (;;) {
        switch (xml_next(x->xml)) {
        case XML_BEGIN:
            if (!read_element(x, &is_mnemonic)) return false;
            break;
        case XML_TEXT:
            if (is_mnemonic && x->column_count < XCTRACE_COLUMNS)
                snprintf(x->columns[x->column_count++], XML_NAME, "%.*s",
                         XML_NAME - 1, x->xml->text.bytes);
            is_mnemonic = false;
            break;
        case XML_END: is_mnemonic = false; break;
        case XML_END_OF_FILE: return true;
        default: return false;
        }
        if (x->no_memory) return true;
    }
}

static bool import(import_job *job)
{
    xctrace *const x = calloc(1, sizeof *x);
    xml *const parser = calloc(1, sizeof *parser);
    if (!x || !parser) {
        free(x);
        free(parser);
        return import_out_of_memory(job);
    }
    parser->source = job->source;
    x->job = job;
    x->xml = parser;
    x->profile = profile_open(job);
    if (!read_all(x)) {
        import_bad(job, "broken_xml", IMPORT_NONE);
        job->is_cut = true;
    }
    x->profile.no_memory |= x->no_memory;
    const uint64_t taken = x->taken;
    xctrace_values_close(x);
    bool done = profile_close(&x->profile);
    free(x);
    free(parser);
    if (done && !taken)
        done = import_fail(job, "none of its tables is imported: export "
                                "metal-gpu-intervals, time-profile or others "
                                "that the manual of ts-import lists");
    return done;
}

static bool recognise(import_source *source)
{
    size_t size, at = 0;
    const uint8_t *const head = import_source_head(source, &size);
    if (size >= 3 && !memcmp(head, "\xEF\xBB\xBF", 3)) at = 3;
    while (at < size && head[at] && strchr(" \t\r\n", head[at]))
        at++;
    return at < size && head[at] == '<' &&
           import_has(head, size, "<trace-query-result");
}

const import_format import_xctrace = {
    .name = "xctrace",
    .title = "tables of Instruments (xctrace export)",
    .recognise = recognise,
    .import = import,
};
