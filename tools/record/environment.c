/*
    environment.c - the variables by which libraries find the recorder
*/
#include "tools/record/record.h"

typedef enum vars_how {
    VARS_ONE,  // one path: what the user had goes to `other`
    VARS_LIST, // several, with `other` between them: ours comes last
    VARS_VALUE // `other`, if the user said nothing
} vars_how;

typedef struct vars_entry {
    const char *name;
    vars_how how;
    const char *other;
} vars_entry;

// All vendors' at once: a library that is not there looks at none of them.
static const vars_entry entries[] = {
    { "CUDA_INJECTION64_PATH", VARS_ONE, "TRACESMITH_CHAIN_CUDA" },
    { "NVTX_INJECTION64_PATH", VARS_ONE, "TRACESMITH_CHAIN_NVTX" },
    { "ROCP_TOOL_LIBRARIES", VARS_LIST, ":" },
    { "HSA_TOOLS_LIB", VARS_LIST, " " }, // where there is no rocprofiler-sdk
    { "ROCP_TOOL_ATTACH", VARS_VALUE, "1" },
    { "OPENCL_LAYERS", VARS_LIST, ":" },
};

static bool is_set(const char *value)
{
    return value && *value;
}

// Under a ts-record of its own the variables are ours already.
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

// What the user had set by hand stays unless an option says otherwise.
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
        unsetenv("TRACESMITH_CONTROL"); // of a ts-record around this one
}

// In it a % is the folder's own.
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
    // What the user has there gets the lines at the end.
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
