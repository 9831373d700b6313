/*
    json.c - JSON of rocprofv3: {"rocprofiler-sdk-tool": [a process, ...]}

    A process has its metadata, agents and names, and its records; names of
    operations are found by the numbers of their kind and operation. Records of
    calls, kernels and copies have a correlation id, that of the call.

    rocprofv3 writes the metadata first and the records last. In a file that
    another program has written again, in another order, the records are read in
    a second pass.

    Source: ROCm/rocprofiler-sdk, source/lib/output/generateJSON.cpp and the
    schema of its documentation; a file of rocprofv3 1.0 on an MI350X.
*/
#include "tools/import/records.h"
#include "tools/import/rocm/rocm.h"
#include "tools/import/strings.h"

#define TOP "rocprofiler-sdk-tool/"

typedef struct json {
    rocm r;
    int64_t gpus, kinds; // how many were read
    // NULL: none so far.
    import_strings *names;    // by kind << 32 | operation + 1; 0: of the kind
    import_strings *markers;  // by correlation id
    import_strings *kernels;  // by kernel id
    import_strings *counters; // by handle
    cli_map registers;        // by kernel id
    bool has_kernels;         // kernels are recorded besides their counters
} json;

static int64_t get(const import_record *record, const char *key)
{
    int64_t number;
    return import_record_int(record, key, &number) ? number : IMPORT_NONE;
}

static void put(json *j, import_strings **strings, int64_t id, ts_text text)
{
    if (!*strings) *strings = import_strings_open(j->r.job);
    j->r.out_of_memory |=
        !*strings || !import_strings_put(*strings, id, text.text, text.size);
}

static ts_text text_of(const import_strings *strings, int64_t id)
{
    return strings ? import_strings_text(strings, id) : (ts_text){ "", 0 };
}

/* ---- What a process has ------------------------------------------------- */

static void close_process(json *j)
{
    import_strings *const strings[] = { j->names, j->markers, j->kernels,
                                        j->counters };
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++)
        import_strings_free(strings[i]);
    cli_map_close(&j->registers);
    cli_map_close(&j->r.devices);
    j->names = j->markers = j->kernels = j->counters = NULL;
}

// Names the process by its command.
static void take_metadata(json *j, const import_record *record)
{
    char command[512];
    size_t size = 0;
    j->r.process = get(record, "pid");
    const ts_text traced = import_record_text(record, "config.kernel_trace");
    j->has_kernels = traced.size == 4 && !memcmp(traced.text, "true", 4);
    if (j->r.process == IMPORT_NONE) return;
    for (size_t i = 0; i < record->count; i++) {
        const ts_text key = import_record_key(record, i);
        const ts_text word = import_record_value(record, i);
        if (key.size < 8 || memcmp(key.text, "command.", 8)) continue;
        const int more = snprintf(
            command + size, sizeof command - size, "%s%.*s", size ? " " : "",
            word.size < 400 ? (int)word.size : 400, word.text);
        size += (size_t)more;
        if (size >= sizeof command) size = sizeof command - 1;
    }
    const uint32_t process = import_process(j->r.job, j->r.process);
    if (size) import_track_name(j->r.job, process, command, size);
    const ts_text host = import_record_text(record, "node.hostname");
    if (host.size)
        import_meta_text(j->r.job, 0, "rocprofv3.hostname", host.text,
                         host.size);
}

static void take_agent(json *j, const import_record *record)
{
    enum { GPU = 2 };
    const int64_t handle = get(record, "id.handle");
    ts_text name = import_record_text(record, "product_name");
    if (!name.size) name = import_record_text(record, "name");
    int64_t gpu = get(record, "type") == GPU ? j->gpus++ : IMPORT_NONE;
    const int64_t index = get(record, "gpu_index");
    if (gpu != IMPORT_NONE && index >= 0) gpu = index;
    rocm_agent(&j->r, handle, gpu, name);
}

static void take_kernel_symbol(json *j, const import_record *record)
{
    static const char *const keys[] = { "formatted_kernel_name",
                                        "demangled_kernel_name",
                                        "kernel_name" };
    const int64_t id = get(record, "kernel_id");
    ts_text name = { "", 0 };
    for (size_t i = 0; i < 3 && !name.size; i++)
        name = import_record_text(record, keys[i]);
    put(j, &j->kernels, id, name);
    const int64_t registers = get(record, "arch_vgpr_count");
    int64_t *const at = import_map_put(&j->registers, id, NULL);
    j->r.out_of_memory |= !at;
    if (at) *at = registers;
}

// Keeps the names of a kind's operations, whose number is its place.
static void take_names(json *j, const import_record *record)
{
    const int64_t kind = j->kinds++ << 32;
    put(j, &j->names, kind, import_record_text(record, "kind"));
    int64_t operation = 0;
    for (size_t i = 0; i < record->count; i++) {
        const ts_text key = import_record_key(record, i);
        if (key.size > 11 && !memcmp(key.text, "operations.", 11))
            put(j, &j->names, kind | ++operation,
                import_record_value(record, i));
    }
}

/* ---- Records ------------------------------------------------------------ */

// Reads a size in three dimensions: KEY.x, KEY.y, KEY.z.
static void take_sides(const import_record *record, const char *key,
                       int64_t *sides)
{
    char full[96];
    for (size_t i = 0; i < 3; i++) {
        snprintf(full, sizeof full, "%s.%c", key, (char)('x' + (int)i));
        sides[i] = get(record, full);
    }
}

static int64_t handle(const import_record *record, const char *key)
{
    char full[64];
    snprintf(full, sizeof full, "%s.handle", key);
    const int64_t number = get(record, full);
    return number != IMPORT_NONE ? number : get(record, key);
}

// Reads what most records have.
static rocm_row take_head(const json *j, const import_record *record)
{
    rocm_row row = rocm_no_row;
    const int64_t kind = get(record, "kind");
    const int64_t operation = get(record, "operation");
    const bool is_known =
        kind >= 0 && kind < j->kinds && operation >= 0 && operation < INT32_MAX;
    const int64_t first = is_known ? kind << 32 : -1;
    row.kind = text_of(j->names, first);
    row.name = text_of(j->names, is_known ? first | (operation + 1) : -1);
    row.thread = get(record, "thread_id");
    row.correlation = get(record, "correlation_id.internal");
    row.start_ns = get(record, "start_timestamp");
    row.end_ns = get(record, "end_timestamp");
    row.stream = handle(record, "stream_id");
    row.queue = handle(record, "queue_id");
    row.agent = handle(record, "agent_id");
    row.size = get(record, "allocation_size");
    row.address = handle(record, "address");
    return row;
}

static void take_call(json *j, const import_record *record)
{
    rocm_row row = take_head(j, record);
    for (size_t i = 0; i < record->count; i++) {
        const ts_text key = import_record_key(record, i);
        if (key.size >= 6 && !memcmp(key.text, "retval", 6))
            import_text_int(import_record_value(record, i), &row.result);
    }
    const ts_text message = text_of(j->markers, row.correlation);
    if (message.size && !rocm_is_call(row.kind)) row.name = message;
    rocm_take_call(&j->r, &row);
}

// Reads a kernel, whose members begin with `info`.
static void take_launch(const json *j, const import_record *record,
                        const char *info, rocm_row *row)
{
    char key[64];
    const int64_t *registers;
#define KEY(name) (snprintf(key, sizeof key, "%s." name, info), key)
    const int64_t kernel = get(record, KEY("kernel_id"));
    row->name = text_of(j->kernels, kernel);
    row->agent = handle(record, KEY("agent_id"));
    row->queue = handle(record, KEY("queue_id"));
    row->shared = get(record, KEY("group_segment_size"));
    row->local = get(record, KEY("private_segment_size"));
    take_sides(record, KEY("workgroup_size"), row->block);
    take_sides(record, KEY("grid_size"), row->grid);
#undef KEY
    registers = import_map_get(&j->registers, kernel);
    if (registers) row->registers = *registers;
}

static void take_kernel(json *j, const import_record *record)
{
    rocm_row row = take_head(j, record);
    take_launch(j, record, "dispatch_info", &row);
    rocm_take_kernel(&j->r, &row);
}

static void take_copy(json *j, const import_record *record)
{
    rocm_row row = take_head(j, record);
    row.agent = handle(record, "dst_agent_id");
    row.source_agent = handle(record, "src_agent_id");
    row.size = get(record, "bytes");
    row.address = handle(record, "dst_address");
    row.source = handle(record, "src_address");
    rocm_take_copy(&j->r, &row);
}

static void take_allocation(json *j, const import_record *record)
{
    rocm_row row = take_head(j, record);
    if (!row.agent) row.agent = IMPORT_NONE; // a release names none
    rocm_take_allocation(&j->r, &row);
}

static void take_scratch(json *j, const import_record *record)
{
    const rocm_row row = take_head(j, record);
    rocm_take_scratch(&j->r, &row);
}

/* ---- Counters of a kernel ----------------------------------------------- */

enum { COUNTERS = 64 };

// Each instance of a counter (of a shader engine, ...) has a value; their sum
// is the kernel's.
typedef struct counter_sums {
    size_t count;
    struct {
        int64_t id;
        double sum;
    } of[COUNTERS];
} counter_sums;

static void add_value(json *j, counter_sums *sums, int64_t id, ts_text text)
{
    double value;
    size_t at = 0;
    if (!import_text_double(text, &value)) {
        import_bad(j->r.job, "no_number", IMPORT_NONE);
        return;
    }
    while (at < sums->count && sums->of[at].id != id)
        at++;
    if (at == COUNTERS) {
        import_unowned(j->r.job, "counters beyond the 64th", 24);
        return;
    }
    if (at == sums->count) {
        sums->of[at].id = id;
        sums->of[at].sum = 0;
        sums->count++;
    }
    sums->of[at].sum += value;
}

// Splits the key of a member of an element, "records.3.value".
static bool split_key(ts_text key, ts_text *index, ts_text *member)
{
    static const char word[] = "records.";
    const size_t size = sizeof word - 1;
    if (key.size <= size || memcmp(key.text, word, size)) return false;
    const char *const from = key.text + size;
    const char *const dot = memchr(from, '.', key.size - size);
    if (!dot) return false;
    *index = (ts_text){ from, (size_t)(dot - from) };
    *member = (ts_text){ dot + 1, (size_t)(key.text + key.size - dot - 1) };
    return true;
}

// Members of an element are one behind the other: one pass over all of them.
static void sum_counters(json *j, const import_record *record,
                         counter_sums *sums)
{
    ts_text open = { "", 0 }, value = { "", 0 }, index, member;
    int64_t id = IMPORT_NONE;
    for (size_t i = 0; i < record->count; i++) {
        if (!split_key(import_record_key(record, i), &index, &member)) continue;
        if (!cli_same_text(index, open)) {
            if (open.size) add_value(j, sums, id, value);
            open = index;
            value.size = 0;
            id = IMPORT_NONE;
        }
        if (cli_is_text(member, "value"))
            value = import_record_value(record, i);
        if (cli_is_text(member, "counter_id.handle") ||
            cli_is_text(member, "counter_id"))
            import_text_int(import_record_value(record, i), &id);
    }
    if (open.size) add_value(j, sums, id, value);
}

static void take_counters(json *j, const import_record *record)
{
    counter_sums sums = { .count = 0 };
    rocm_row row = rocm_no_row;
    row.thread = get(record, "thread_id");
    row.stream = handle(record, "stream_id");
    row.correlation = get(record, "dispatch_data.correlation_id.internal");
    row.start_ns = get(record, "dispatch_data.start_timestamp");
    row.end_ns = get(record, "dispatch_data.end_timestamp");
    take_launch(j, record, "dispatch_data.dispatch_info", &row);
    if (!j->has_kernels) rocm_take_kernel(&j->r, &row);
    sum_counters(j, record, &sums);
    for (size_t i = 0; i < sums.count; i++)
        rocm_take_counter(&j->r, &row, text_of(j->counters, sums.of[i].id),
                          sums.of[i].sum);
}

/* ---- The file ----------------------------------------------------------- */

typedef void take_function(json *j, const import_record *record);

static void take_counter_name(json *j, const import_record *record)
{
    put(j, &j->counters, get(record, "id.handle"),
        import_record_text(record, "name"));
}

static void take_marker(json *j, const import_record *record)
{
    put(j, &j->markers, get(record, "key"),
        import_record_text(record, "value"));
}

static void take_other(json *j, const import_record *record)
{
    j->r.job->rows++;
    import_unowned(j->r.job, record->name.text, record->name.size);
}

#define RECORDS TOP "buffer_records/"
static const struct {
    const char *place;
    take_function *take;
} places[] = {
    { TOP "metadata", take_metadata }, // what records refer to
    { TOP "agents", take_agent },
    { TOP "counters", take_counter_name },
    { TOP "strings/buffer_records", take_names },
    { TOP "strings/marker_api", take_marker },
    { TOP "kernel_symbols", take_kernel_symbol },
    { TOP "callback_records/counter_collection", take_counters },
    { RECORDS "kernel_dispatch", take_kernel },
    { RECORDS "hip_api", take_call },
    { RECORDS "hsa_api", take_call },
    { RECORDS "marker_api", take_call },
    { RECORDS "rccl_api", take_call },
    { RECORDS "rocdecode_api", take_call },
    { RECORDS "rocjpeg_api", take_call },
    { RECORDS "memory_copy", take_copy },
    { RECORDS "memory_allocation", take_allocation },
    { RECORDS "scratch_memory", take_scratch },
    { RECORDS "*", take_other },
    { TOP "callback_records/*", take_other },
};
enum { PLACES = sizeof places / sizeof *places, NAMED = 6 }; // NAMED: no record

typedef struct file {
    import_job *job;
    json *processes; // of which anything is said
    cli_map rows;    // by their index in the file
    size_t count, room;
    bool takes_names, takes_records, out_of_memory;
} file;

static void close_processes(file *f)
{
    for (size_t i = 0; i < f->count; i++)
        close_process(&f->processes[i]);
    cli_map_close(&f->rows);
    f->count = 0;
}

// Returns the process of a record; NULL: no memory.
static json *process_of(file *f, size_t index)
{
    const uint32_t row = cli_map_row(&f->rows, index);
    if (row != CLI_NONE) return &f->processes[row];
    // In one pass nothing more is said of the process before.
    if (f->takes_names && f->takes_records) close_processes(f);
    f->out_of_memory |= !cli_grow(&f->processes, &f->room, f->count + 1,
                                  sizeof *f->processes) ||
                        !cli_map_set(&f->rows, index, f->count);
    if (f->out_of_memory) return NULL;
    f->processes[f->count] = (json){ .r = { .job = f->job,
                                            .index = index,
                                            .process = IMPORT_NONE,
                                            .has_agents = true } };
    return &f->processes[f->count++];
}

static void take(void *user, const import_record *record)
{
    file *const f = user;
    const bool is_named = record->place < NAMED;
    if (is_named ? !f->takes_names : !f->takes_records) return;
    if (f->out_of_memory) return;
    json *const j = process_of(f, record->element);
    if (j && !j->r.out_of_memory) places[record->place].take(j, record);
    f->out_of_memory |= j && j->r.out_of_memory;
}

// Whether the metadata of the first process come first.
static bool is_ordered(import_source *source)
{
    static const char mark[] = "\"rocprofiler-sdk-tool\"";
    static const char first[] = "\"metadata\"";
    size_t size, at = 0;
    const uint8_t *const head = import_source_head(source, &size);
    while (at < size && memchr("{ \t\r\n", head[at], 5))
        at++;
    at += sizeof mark - 1;
    while (at < size && memchr(":[{ \t\r\n", head[at], 7))
        at++;
    return at < size && size - at >= sizeof first - 1 &&
           !memcmp(head + at, first, sizeof first - 1);
}

static bool read_once(file *f, const char *path, bool is_extra)
{
    const char *names[PLACES + 1] = { NULL };
    for (size_t i = 0; i < PLACES; i++)
        names[i] = places[i].place;
    const import_records_desc desc = { names, take, f, path, is_extra };
    return import_records_read(f->job, &desc);
}

static bool read_twice(file *f)
{
    const char *const path = import_source_path(f->job->source);
    f->takes_names = true;
    if (!path || !read_once(f, path, true)) return false;
    f->takes_names = false;
    f->takes_records = true;
    return read_once(f, path, false);
}

static bool import(import_job *job)
{
    file f = { .job = job };
    const bool is_one = is_ordered(job->source);
    f.takes_names = f.takes_records = is_one;
    const bool read = is_one ? read_once(&f, NULL, false) : read_twice(&f);
    close_processes(&f);
    free(f.processes);
    return read && (!f.out_of_memory || import_out_of_memory(job));
}

static bool recognise(import_source *source)
{
    static const char mark[] = "\"rocprofiler-sdk-tool\"";
    size_t size, at = 0;
    const uint8_t *const head = import_source_head(source, &size);
    while (at < size && strchr("{ \t\r\n", head[at]) && head[at])
        at++;
    return size - at >= sizeof mark - 1 &&
           !memcmp(head + at, mark, sizeof mark - 1);
}

const import_format import_rocprofv3_json = {
    .name = "rocprofv3-json",
    .title = "ROCm rocprofv3 (JSON)",
    .missing = IMPORT_JSON_MISSING,
    .recognise = recognise,
    .import = import,
};
