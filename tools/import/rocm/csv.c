/*
    csv.c - CSV files of rocprofv3: one for each kind of row

    The files of a process begin with the same words, "run_kernel_trace.csv" and
    "run_hip_api_trace.csv": together they are one trace. The columns tell what
    a file holds. Agents are named by the file of agents, if it is there.

    Source: ROCm/rocprofiler-sdk, source/lib/output/generateCSV.cpp and the
    examples of its documentation, of 2024 and 2025.
*/
#include "tools/import/csv.h"
#include "tools/import/records.h"
#include "tools/import/rocm/rocm.h"

// What the ends of names are; the columns decide what is read.
static const char *const endings[] = { "agent_info",
                                       "counter_collection",
                                       "hip_api_stats",
                                       "hip_api_trace",
                                       "hip_stats",
                                       "hip_trace",
                                       "hsa_api_stats",
                                       "hsa_api_trace",
                                       "kernel_stats",
                                       "kernel_trace",
                                       "marker_api_stats",
                                       "marker_api_trace",
                                       "memory_copy_stats",
                                       "memory_copy_trace",
                                       "rccl_api_stats",
                                       "rccl_api_trace",
                                       "rocdecode_api_trace",
                                       "rocjpeg_api_trace",
                                       "scratch_memory_stats",
                                       "scratch_memory_trace",
                                       "domain_stats",
                                       "memory_allocation_trace",
                                       "hip_runtime_trace",
                                       "memory_allocation_stats",
                                       "hip_compiler_trace",
                                       "pc_sampling_host_trap",
                                       "hsa_core_trace",
                                       "pc_sampling_stochastic",
                                       "hip_compile_trace",
                                       "hip_runtime_api_trace",
                                       "hip_compiler_api_trace" };

typedef enum column {
    KIND,
    NAME,
    PROCESS,
    THREAD,
    CORRELATION,
    START,
    END,
    AGENT,
    SOURCE_AGENT,
    QUEUE,
    STREAM,
    SIZE,
    ADDRESS,
    SHARED,
    LOCAL,
    REGISTERS,
    BLOCK,
    GRID = BLOCK + 3,
    DISPATCH = GRID + 3,
    COUNTER,
    VALUE,
    NODE,
    AGENT_TYPE,
    PRODUCT,
    AGENT_NAME,
    DIRECTION,
    OPERATION,
    KERNEL,
    FLAGS,
    COLUMNS
} column;

static const struct {
    const char *name;
    column is;
} names[] = {
    { "Kind", KIND },
    { "Domain", KIND },
    { "Function", NAME },
    { "Process_Id", PROCESS },
    { "Thread_Id", THREAD },
    { "Correlation_Id", CORRELATION },
    { "Start_Timestamp", START },
    { "End_Timestamp", END },
    { "Agent_Id", AGENT },
    { "Destination_Agent_Id", AGENT },
    { "Source_Agent_Id", SOURCE_AGENT },
    { "Queue_Id", QUEUE },
    { "Stream_Id", STREAM },
    { "Allocation_Size", SIZE },
    { "Address", ADDRESS },
    { "LDS_Block_Size", SHARED },
    { "Group_Segment_Size", SHARED },
    { "Scratch_Size", LOCAL },
    { "Private_Segment_Size", LOCAL },
    { "VGPR_Count", REGISTERS },
    { "Workgroup_Size_X", BLOCK },
    { "Workgroup_Size_Y", BLOCK + 1 },
    { "Workgroup_Size_Z", BLOCK + 2 },
    { "Workgroup_Size", BLOCK }, // of counters: all dimensions
    { "Grid_Size_X", GRID },
    { "Grid_Size_Y", GRID + 1 },
    { "Grid_Size_Z", GRID + 2 },
    { "Grid_Size", GRID },
    { "Dispatch_Id", DISPATCH },
    { "Counter_Name", COUNTER },
    { "Counter_Value", VALUE },
    { "Logical_Node_Id", NODE },
    { "Agent_Type", AGENT_TYPE },
    { "Product_Name", PRODUCT },
    { "Name", AGENT_NAME },
    { "Direction", DIRECTION },
    { "Operation", OPERATION },
    { "Kernel_Name", KERNEL },
    { "Alloc_Flags", FLAGS },
};

// A file while it is read.
typedef struct file {
    rocm *r;
    import_csv csv;
    size_t columns[COLUMNS]; // index of the cell + 1; 0: none
    size_t prefix;           // bytes that names of the set begin with
    uint64_t read;           // bits: kinds of files that were
    bool has_kernels;        // the set has a file of kernels
    int64_t cpus, gpus;      // that were read
    cli_map dispatches;      // that were imported
} file;

/* ---- Cells -------------------------------------------------------------- */

static bool has(const file *f, column c)
{
    return f->columns[c] > 0;
}

static ts_text text(const file *f, column c)
{
    const size_t at = f->columns[c];
    return at && at <= f->csv.count ? f->csv.cells[at - 1] : (ts_text){ "", 0 };
}

static int64_t number(const file *f, column c)
{
    int64_t value;
    return import_text_int(text(f, c), &value) ? value : IMPORT_NONE;
}

// Numbers of agents within their type, as in "GPU 0", are distinguished from
// those among all, as in "Agent 4" or 4.
#define OF_GPUS (INT64_C(1) << 40)
#define OF_CPUS (INT64_C(1) << 41)

static int64_t agent(const file *f, column c)
{
    ts_text name = text(f, c);
    const bool is_gpu = name.size > 4 && !memcmp(name.text, "GPU ", 4);
    const bool is_cpu = name.size > 4 && !memcmp(name.text, "CPU ", 4);
    int64_t value;
    for (size_t i = name.size; i; i--)
        if (name.text[i - 1] == ' ') {
            name = (ts_text){ name.text + i, name.size - i };
            break;
        }
    if (!import_text_int(name, &value)) return IMPORT_NONE;
    return is_cpu                       ? value | OF_CPUS
           : is_gpu && f->r->has_agents ? value | OF_GPUS
                                        : value;
}

static rocm_row row_of(const file *f)
{
    rocm_row row = rocm_no_row;
    row.kind = text(f, KIND);
    row.name = text(f, has(f, KERNEL)      ? KERNEL
                       : has(f, DIRECTION) ? DIRECTION
                       : has(f, OPERATION) ? OPERATION
                                           : NAME);
    row.process = number(f, PROCESS);
    row.thread = number(f, THREAD);
    row.correlation = number(f, CORRELATION);
    row.start_ns = number(f, START);
    row.end_ns = number(f, END);
    row.agent = agent(f, AGENT);
    row.source_agent = agent(f, SOURCE_AGENT);
    row.queue = number(f, QUEUE);
    row.stream = number(f, STREAM);
    row.size = number(f, SIZE);
    row.address = number(f, ADDRESS);
    row.shared = number(f, SHARED);
    row.local = number(f, LOCAL);
    row.registers = number(f, REGISTERS);
    for (size_t i = 0; i < 3; i++) {
        row.block[i] = number(f, (column)(BLOCK + i));
        row.grid[i] = number(f, (column)(GRID + i));
    }
    return row;
}

/* ---- Rows --------------------------------------------------------------- */

static void take_agent(file *f)
{
    const ts_text type = text(f, AGENT_TYPE);
    ts_text name = text(f, PRODUCT);
    if (!name.size) name = text(f, AGENT_NAME);
    const bool is_gpu = type.size == 3 && !memcmp(type.text, "GPU", 3);
    const int64_t index = is_gpu ? f->gpus++ : f->cpus++;
    const int64_t gpu = is_gpu ? index : IMPORT_NONE;
    rocm_agent(f->r, number(f, NODE), gpu, name);
    rocm_agent(f->r, index | (is_gpu ? OF_GPUS : OF_CPUS), gpu, name);
}

// A row for each counter of a kernel: without a file of kernels, the first one
// is the kernel, too.
static void take_counter(file *f, const rocm_row *row)
{
    double value;
    bool fresh = false;
    if (!f->has_kernels && has(f, START)) {
        f->r->out_of_memory |=
            !import_map_put(&f->dispatches, number(f, DISPATCH), &fresh);
        if (fresh) rocm_take_kernel(f->r, row);
    }
    if (!fresh) f->r->job->rows++;
    if (import_text_double(text(f, VALUE), &value))
        rocm_take_counter(f->r, row, text(f, COUNTER), value);
    else
        import_bad(f->r->job, "no_number", row->start_ns);
}

static void take_row(file *f)
{
    const rocm_row row = row_of(f);
    if (has(f, COUNTER))
        take_counter(f, &row);
    else if (has(f, KERNEL))
        rocm_take_kernel(f->r, &row);
    else if (has(f, DIRECTION))
        rocm_take_copy(f->r, &row);
    else if (has(f, FLAGS))
        rocm_take_scratch(f->r, &row);
    else if (has(f, ADDRESS))
        rocm_take_allocation(f->r, &row);
    else
        rocm_take_call(f->r, &row);
}

/* ---- A file ------------------------------------------------------------- */

static void take_header(file *f)
{
    memset(f->columns, 0, sizeof f->columns);
    for (size_t i = 0; i < f->csv.count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
            const ts_text cell = f->csv.cells[i];
            if (cell.size == strlen(names[k].name) &&
                !memcmp(cell.text, names[k].name, cell.size))
                f->columns[names[k].is] = i + 1;
        }
}

// Returns what the rows of a file without events are; NULL: it has events.
static const char *leave_out(const file *f)
{
    if (has(f, START) || has(f, COUNTER)) return NULL;
    return has(f, DISPATCH) ? "samples" : "statistics";
}

static void take_any(file *f, const char *left, bool is_agents)
{
    import_job *const job = f->r->job;
    if (is_agents) {
        take_agent(f);
    } else if (left) {
        job->rows++;
        import_unowned(job, left, strlen(left));
    } else {
        take_row(f);
    }
}

static void take_rows(file *f)
{
    import_job *const job = f->r->job;
    const size_t columns = f->csv.count;
    const bool is_agents = has(f, AGENT_TYPE);
    const char *const left = leave_out(f);
    while (import_csv_next(&f->csv)) {
        if (!f->csv.is_cut && f->csv.count >= columns) {
            take_any(f, left, is_agents);
        } else {
            job->rows++;
            import_bad(job, f->csv.is_cut ? "truncated_row" : "broken_row",
                       IMPORT_NONE);
        }
        import_progress(job);
    }
}

// Returns why the file ended early, or NULL.
static const char *read_file(file *f, import_source *source)
{
    import_csv_open(&f->csv, source);
    if (import_csv_next(&f->csv)) take_header(f);
    take_rows(f);
    f->r->out_of_memory |= !import_csv_close(&f->csv);
    const char *const why = import_source_error(source);
    f->r->job->is_cut |= why || f->csv.is_cut;
    return why || !f->csv.is_cut ? why : "the file is truncated";
}

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    const uint8_t *const end = size ? memchr(head, '\n', size) : NULL;
    const size_t line = end ? (size_t)(end - head) : 0;
#define HAS(word) import_has(head, line, word)
    if (HAS("Start_Timestamp") && HAS("End_Timestamp"))
        return HAS("Kind") || HAS("Domain") || HAS("Counter_Name");
    if (HAS("Dispatch_Id")) return HAS("Counter_Name") || HAS("Exec_Mask");
    return (HAS("Logical_Node_Id") && HAS("Agent_Type")) ||
           (HAS("TotalDurationNs") && HAS("Calls"));
#undef HAS
}

/* ---- The set ------------------------------------------------------------ */

// What the name of a file says: "run_kernel_trace.csv" has a prefix of four
// bytes. `kind` is an index of `endings`.
typedef struct part {
    size_t prefix, kind; // prefix SIZE_MAX: it has none of these endings
} part;

// Returns how many bytes of a name come before .csv or .csv.gz; 0: it has
// neither at its end.
static size_t stem_of(const char *name)
{
    size_t size = strlen(name);
    if (size > 3 && !memcmp(name + size - 3, ".gz", 3)) size -= 3;
    return size > 4 && !memcmp(name + size - 4, ".csv", 4) ? size - 4 : 0;
}

static part part_of(const char *name)
{
    const size_t size = stem_of(name);
    part best = { SIZE_MAX, 0 };
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t end = strlen(endings[i]);
        if (size >= end && !memcmp(name + size - end, endings[i], end) &&
            (size == end || name[size - end - 1] == '_') &&
            size - end < best.prefix)
            best = (part){ size - end, i };
    }
    return best;
}

static bool is_kind(part p, const char *ending)
{
    return p.prefix != SIZE_MAX && !strcmp(endings[p.kind], ending);
}

// Returns whether a file of the folder is of the set.
static bool is_of_set(void *user, const char *name)
{
    file *const f = user;
    const char *const own = import_source_base(f->r->job->source);
    const part p = part_of(name);
    if (p.prefix != f->prefix || memcmp(name, own, f->prefix)) return false;
    f->has_kernels |= is_kind(p, "kernel_trace");
    return true;
}

// Returns whether a file was read already, by another name.
static bool is_read(const import_job *job, const import_source *source)
{
    const import_file it = import_source_file(source);
    const import_file own = import_source_file(job->source);
    bool is = it.device == own.device && it.number == own.number;
    for (size_t i = 0; i < job->part_count; i++)
        is |= it.device == job->parts[i].device &&
              it.number == job->parts[i].number;
    return is;
}

static void read_other(file *f, import_source *source)
{
    import_job *const job = f->r->job;
    const part p = part_of(import_source_base(source));
    const uint64_t bit = UINT64_C(1) << p.kind;
    // A copy, such as one that is compressed, holds the same once more.
    const bool is_copy = is_read(job, source) || (f->read & bit);
    import_job_part(job, source);
    if (is_copy) return;
    if (p.prefix != f->prefix || !recognise(source)) {
        size_t size;
        const uint8_t *const head = import_source_head(source, &size);
        import_bad(job,
                   memchr(head, 0, size) ? "binary_file" : "unknown_columns",
                   IMPORT_NONE);
        return;
    }
    f->read |= bit;
    const char *const why = read_file(f, source);
    if (!why) return;
    cli_fail(job->tool, TS_ERR_CORRUPT, import_source_name(source), "%s", why);
    import_bad(job, "truncated_file", IMPORT_NONE);
    job->lacks_files = true;
}

static void end_others(file *f, import_input *others)
{
    import_job *const job = f->r->job;
    for (size_t i = import_input_close(others); i; i--) {
        import_bad(job, "unreadable_file", IMPORT_NONE);
        job->is_cut = job->lacks_files = true;
    }
}

// Reads the job's file and the others of its set. The others come in the order
// of their names, that of the agents first: all refer to them.
static void read_set(file *f)
{
    import_source *const own = f->r->job->source;
    const part p = part_of(import_source_base(own));
    import_source *source = NULL;
    import_input *others = NULL;
    f->prefix = p.prefix;
    f->has_kernels = is_kind(p, "kernel_trace");
    if (p.prefix != SIZE_MAX) {
        f->read = UINT64_C(1) << p.kind;
        others = import_input_open_beside(own, is_of_set, f);
    }
    if (others) source = import_input_next(others);
    if (source && is_kind(part_of(import_source_base(source)), "agent_info")) {
        read_other(f, source);
        source = import_input_next(others);
    }
    read_file(f, own);
    for (; source; source = import_input_next(others))
        read_other(f, source);
    if (others) end_others(f, others);
}

static bool import(import_job *job)
{
    rocm r = { .job = job, .process = IMPORT_NONE };
    file *const f = calloc(1, sizeof *f);
    if (!f) return import_out_of_memory(job);
    f->r = &r;
    read_set(f);
    cli_map_close(&f->dispatches);
    cli_map_close(&r.devices);
    free(f);
    if (r.out_of_memory) return import_out_of_memory(job);
    if (job->rows > job->unowned.total) return true;
    return import_fail(job, job->rows ? "it holds statistics or samples only, "
                                        "and no trace"
                                      : "it holds no rows of a trace");
}

const import_format import_rocprofv3_csv = {
    .name = "rocprofv3-csv",
    .title = "ROCm rocprofv3 (CSV files)",
    .recognise = recognise,
    .import = import,
};
