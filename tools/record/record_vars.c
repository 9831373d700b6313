/*
    record_vars.c - the variables by which libraries find the recorder
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

void record_vars_set(const record_job *job)
{
    char text[2 * RECORD_PATH];
    snprintf(text, sizeof text, "%s/%%p.sbt", job->folder);
    setenv("TRACESMITH_OUT", text, 1);
    snprintf(text, sizeof text, "%s/log", job->folder);
    setenv("TRACESMITH_LOG", text, 0);
    // A handler of the user's own stays: there can be one only.
    if (!job->nvtx_taken) setenv("NVTX_INJECTION64_PATH", job->inject, 1);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        switch (entries[i].how) {
        case VARS_ONE: set_one(job, &entries[i]); break;
        case VARS_LIST: set_list(job, &entries[i]); break;
        case VARS_VALUE: setenv(entries[i].name, entries[i].other, 0); break;
        }
}
