/*
    environment.c - the variables by which libraries find the recorder
*/
#include "tools/record/record.h"

typedef enum vars_how {
    VARS_ONE,  // one path; the user's value moves to variable `other`
    VARS_LIST, // a list separated by `other`; ours is appended
    VARS_VALUE // the value `other`, unless the user set one
} vars_how;

typedef struct vars_entry {
    const char *name;
    vars_how how;
    const char *other;
} vars_entry;

// The variables of all vendors: libraries that are not installed ignore theirs.
static const vars_entry entries[] = {
    { "CUDA_INJECTION64_PATH", VARS_ONE, "TRACESMITH_CHAIN_CUDA" },
    { "NVTX_INJECTION64_PATH", VARS_ONE, "TRACESMITH_CHAIN_NVTX" },
    { "ROCP_TOOL_LIBRARIES", VARS_LIST, ":" },
    { "HSA_TOOLS_LIB", VARS_LIST, " " }, // for ROCm without rocprofiler-sdk
    { "ROCP_TOOL_ATTACH", VARS_VALUE, "1" },
    { "OPENCL_LAYERS", VARS_LIST, ":" },
};

static bool is_set(const char *value)
{
    return value && *value;
}

// Whether a value is ours already, because ts-record runs under ts-record.
static bool is_ours(const record_job *job, const char *value)
{
    return cli_same_file(value, job->inject);
}

static void set_one(const record_job *job, const vars_entry *entry)
{
    const char *const old = getenv(entry->name);
    if (is_set(old) && !is_ours(job, old)) setenv(entry->other, old, 1);
    setenv(entry->name, job->inject, 1);
}

static void set_list(const record_job *job, const vars_entry *entry)
{
    const char *const old = getenv(entry->name);
    if (!is_set(old)) {
        setenv(entry->name, job->inject, 1);
        return;
    }
    if (strstr(old, job->inject)) return;
    const size_t room = strlen(old) + strlen(job->inject) + 2;
    char *const both = malloc(room);
    if (!both) return;
    snprintf(both, room, "%s%c%s", old, *entry->other, job->inject);
    setenv(entry->name, both, 1);
    free(both);
}

static void set_number(const char *name, uint64_t value)
{
    char text[32];
    if (!value) return;
    snprintf(text, sizeof text, "%" PRIu64, value);
    setenv(name, text, 1);
}

// Options override variables that the user set; others are kept.
static void set_options(const record_job *job)
{
    const record_options *const w = &job->options;
    char path[RECORD_PATH + 16];
    if (w->kinds) setenv("TRACESMITH_KINDS", w->kinds, 1);
    if (w->names) setenv("TRACESMITH_FILTER", w->names, 1);
    if (*w->capture) setenv("TRACESMITH_CAPTURE", w->capture, 1);
    if (w->capture_on) setenv("TRACESMITH_CAPTURE_ON", w->capture_on, 1);
    if (w->yield) setenv("TRACESMITH_YIELD", w->yield, 1);
    set_number("TRACESMITH_STACKS", w->stack_depth);
    set_number("TRACESMITH_DELAY", (uint64_t)w->delay_ns / 1000000);
    set_number("TRACESMITH_DURATION", (uint64_t)w->duration_ns / 1000000);
    set_number("TRACESMITH_FLIGHT", (uint64_t)w->flight_ns / 1000000);
    set_number("TRACESMITH_FLIGHT_MEMORY", w->flight_memory);
    set_number("TRACESMITH_SIZE_LIMIT", w->size_limit);
    snprintf(path, sizeof path, "%s/control", job->folder);
    if (job->control)
        setenv("TRACESMITH_CONTROL", path, 1);
    else
        unsetenv("TRACESMITH_CONTROL"); // set by an outer ts-record
}

// A % in the path is doubled: the library expands patterns.
static void set_out(const record_job *job)
{
    char text[2 * RECORD_PATH + 8];
    size_t size = 0;
    for (const char *p = job->folder; *p; p++) {
        if (*p == '%') text[size++] = '%';
        text[size++] = *p;
    }
    strcpy(text + size, "/%p.sbt");
    setenv("TRACESMITH_OUT", text, 1);
}

void record_vars_set(const record_job *job)
{
    char text[RECORD_PATH + 8];
    set_options(job);
    set_out(job);
    // The log lines are copied to the user's own log at the end.
    snprintf(text, sizeof text, "%s/log", job->folder);
    setenv("TRACESMITH_LOG", text, 1);
    if (*job->spool) setenv("TRACESMITH_SPOOL", job->spool, 1);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        switch (entries[i].how) {
        case VARS_ONE: set_one(job, &entries[i]); break;
        case VARS_LIST: set_list(job, &entries[i]); break;
        case VARS_VALUE: setenv(entries[i].name, entries[i].other, 0); break;
        }
}
