/*
    cut.c - writes a part of a trace as a trace
*/
#include "tools/api/call.h"
#include "tools/common/select/resolve.h"

static const cli_tool tool = { .name = "ts-cut" };

static bool take_name(cut_job *job, regex_t *regex, const char *name)
{
    cli_text why;
    if (!name) return true;
    if (!cli_regex_open(regex, name, strlen(name), &why))
        return cli_fail(&tool, TS_ERR_USAGE, NULL, "--name '%s': %s", name,
                        why.s);
    job->options.name = regex;
    return true;
}

static cut_deps deps_of(const ts_cut_desc *desc, const ts_selection *selection)
{
    switch (desc->deps) {
    case TS_CUT_DEPS_CALLS: return CUT_DEPS_CALLS;
    case TS_CUT_DEPS_BOTH: return CUT_DEPS_BOTH;
    case TS_CUT_DEPS_NONE: return CUT_DEPS_NONE;
    default: return selection->kind ? CUT_DEPS_NONE : CUT_DEPS_CALLS;
    }
}

enum { WORDS = 2048 };

// Writes the requested part in words, for the metadata of the new trace.
static void put_words(char *words, const ts_cut_desc *desc)
{
    static const char *const deps[] = { NULL, "calls", "both", "none" };
    const char *const said[][2] = {
        { "--name ", desc->name },
        { "--keep-deps ", deps[desc->deps] },
        { "--anonymise", desc->anonymise ? "" : NULL },
    };
    size_t size = (size_t)snprintf(words, WORDS, "%s", select_words());
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i][1] && size < WORDS)
            size += (size_t)snprintf(words + size, WORDS - size, "%s%s%s",
                                     size ? " " : "", said[i][0], said[i][1]);
}

static bool cut_trace(cut_job *job, cli_trace *trace)
{
    select_lists lists;
    job->trace = trace;
    const bool done = select_resolve(job, &lists) && cut_write(job);
    select_close(job, &lists);
    return done;
}

static bool cut_file(cut_job *job, api_call *call, const ts_cut_desc *desc,
                     regex_t *regex)
{
    char words[WORDS], *path = (char *)(uintptr_t)desc->path;
    replay_job files = { .tool = &tool };
    if (!desc->path) return api_refuse(&tool, "a trace to read is required");
    if (!desc->output)
        return api_refuse(&tool, "an output is required: -o FILE");
    if ((unsigned)desc->deps > TS_CUT_DEPS_NONE)
        return api_refuse(&tool, "the additional events to keep must be calls, "
                                 "both or none");
    job->path = desc->path;
    job->out = desc->output;
    job->options.anonymise = desc->anonymise;
    job->options.deps = deps_of(desc, call->context.selection);
    put_words(words, desc);
    job->options.what = words;
    if (!select_check(&tool) || !take_name(job, regex, desc->name))
        return false;
    call->fallback = TS_ERR_NOT_FOUND;
    const bool done = replay_files_open(&files, &path, 1) &&
                      replay_check_output(&files, desc->output) &&
                      cut_trace(job, &files.files[0].trace);
    replay_files_close(&files);
    return done;
}

ts_result ts_cut_file(ts_cut_counts *counts, const ts_cut_desc *desc,
                      ts_error *error)
{
    api_call call;
    cut_job job = { .tool = &tool };
    regex_t regex;
    *counts = (ts_cut_counts){ 0 };
    const bool ok = api_begin(&call, &desc->observer, desc->selection, error) &&
                    cut_file(&job, &call, desc, &regex);
    if (ok)
        *counts = (ts_cut_counts){ .kept = job.counts.kept,
                                   .left_out = job.counts.left_out,
                                   .added = job.added,
                                   .undefined = job.undefined,
                                   .replaced = job.replaced };
    if (job.options.name) regfree(&regex);
    return api_end(&call, ok);
}
