/*
    import.c - traces of other tools as SBT
*/
#include "tools/api/import.h"

static const cli_tool tool = { .name = "ts-import" };

/* ---- One source ---------------------------------------------------------- */

static const import_format *choose(const ts_import_desc *desc,
                                   import_source *source)
{
    for (const import_format *const *f = import_formats; *f; f++)
        if (desc->format ? !strcmp((*f)->name, desc->format)
                         : (*f)->recognise(source))
            return *f;
    return NULL;
}

static bool is_wanted(const ts_import_desc *desc, const import_job *job)
{
    if (!desc->rank) return true;
    const cli_text text = cli_format("%" PRId64, job->rank);
    return job->rank != IMPORT_NONE &&
           cli_list_has(desc->rank, text.s, strlen(text.s));
}

static void report_cut(ts_import *all, const import_job *job)
{
    const char *const why = import_source_error(job->source);
    if (!why && !job->is_cut) return;
    all->cut++;
    if (!why && job->lacks_files) {
        cli_fail(&tool, TS_ERR_IO, import_source_name(job->source),
                 "files beside it cannot be read, or not to their ends; the "
                 "output contains the rest");
        return;
    }
    cli_fail(&tool, TS_ERR_CORRUPT, import_source_name(job->source),
             "%s; the output contains everything before",
             why ? why : "the file is truncated");
}

// Finishes a job. False if the caller has to close it.
static bool finish(ts_import *all, import_job *job, bool ok)
{
    const bool keep = ok && is_wanted(all->desc, job);
    const ts_result result = import_job_end(job, keep);
    if (!ok || result != TS_OK) {
        all->failed++;
        if (result != TS_OK)
            cli_fail(&tool, result, all->desc->output, "%s",
                     ts_result_text(result));
        return false;
    }
    all->left_out += !keep;
    if (!keep) return false;
    report_cut(all, job);
    return import_outputs_add(&all->outputs, job);
}

static bool is_database(const uint8_t *head, size_t size)
{
    static const char magic[16] = "SQLite format 3";
    return size >= sizeof magic && !memcmp(head, magic, sizeof magic);
}

static const char *why_unknown(const ts_import *all)
{
    return all->is_sbt        ? "it is already an SBT file"
           : all->is_database ? "it is an SQLite database that is damaged or "
                                "truncated, or has tables of an unknown format"
           : all->named       ? all->named
                              : "its format is unknown";
}

static void take_unknown(ts_import *all, import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    const char *const error = import_source_error(source);
    if (error) { // its format cannot be determined
        all->failed++;
        cli_fail(&tool, TS_ERR_CORRUPT, import_source_name(source), "%s",
                 error);
        return;
    }
    all->unknown++;
    all->is_sbt = size >= 8 && !memcmp(head, TS_FILE_MAGIC, 8);
    all->is_database = is_database(head, size);
    all->named = import_name_unknown(head, size);
    free(all->unknown_name);
    all->unknown_name = strdup(import_source_name(source));
    if (all->desc->verbose)
        cli_error(&tool, import_source_name(source), "%s; skipped",
                  why_unknown(all));
}

static void import_one(ts_import *all, import_source *source)
{
    const char *const output = all->desc->output;
    if (import_outputs_is_part(&all->outputs, source)) return;
    all->sources++;
    if (!import_outputs_spare(&all->outputs, source)) {
        all->failed++;
        cli_fail(&tool, TS_ERR_MEMORY, output, "%s",
                 ts_result_text(TS_ERR_MEMORY));
        return;
    }
    const import_format *const format = choose(all->desc, source);
    if (!format) {
        take_unknown(all, source);
        return;
    }
    if (format->missing) {
        all->failed++;
        cli_fail(&tool, TS_ERR_UNSUPPORTED, import_source_name(source),
                 "this is %s, which needs %s; this ts-import was built without "
                 "it",
                 format->title, format->missing);
        return;
    }
    ts_result result = TS_ERR_MEMORY;
    errno = 0;
    const char *const path = import_outputs_next(&all->outputs);
    import_job *const job =
        import_job_open(&tool, source, format, path, &result);
    if (!job) {
        all->failed++;
        cli_fail(&tool, result, output, "%s",
                 result == TS_ERR_IO && errno ? strerror(errno)
                                              : ts_result_text(result));
        return;
    }
    if (all->executions.count) job->executions = &all->executions;
    bool ok = format->import(job);
    if (ok) all->failed += !import_executions_end(job);
    if (!import_outputs_take_parts(&all->outputs, job))
        ok = cli_out_of_memory(&tool);
    if (!finish(all, job, ok)) import_job_close(job);
}

static void import_all(ts_import *all)
{
    const ts_import_desc *const desc = all->desc;
    for (size_t i = 0; i < desc->path_count; i++) {
        import_input *const input = import_input_open(&tool, desc->paths[i]);
        import_source *source;
        while (input && (source = import_input_next(input)))
            import_one(all, source);
        all->failed += import_input_close(input);
    }
}

/* ---- What was written ---------------------------------------------------- */

static uint64_t sum(const import_tally *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->count; i++)
        sum += t->counters[i].count;
    return sum;
}

static void report_bad(const import_output *o)
{
    const import_tally *const bad = &o->job->bad;
    if (!bad->count) return;
    FILE *const out = cli_error_begin(&tool, NULL);
    cli_put_text(out, o->from, strlen(o->from));
    fprintf(out,
            ": %s %s skipped:", cli_counted(sum(bad), "bad row", "bad rows").s,
            sum(bad) == 1 ? "is" : "are");
    for (size_t i = 0; i < bad->count; i++)
        fprintf(out, "%s %s %s", i ? "," : "",
                cli_count(bad->counters[i].count).s, bad->counters[i].text);
    cli_error_end();
}

// Warns of secrets in the source: they are in the trace, too. Not an error.
static void report_secret(const import_output *o)
{
    if (!o->job->secret.s[0]) return;
    FILE *const out = cli_error_begin(&tool, NULL);
    cli_put_text(out, o->from, strlen(o->from));
    fputs(": metadata seems to contain a token or password (", out);
    cli_put_text(out, o->job->secret.s, strlen(o->job->secret.s));
    fputs("), which was imported; ts-cut --anonymise removes it", out);
    cli_error_end();
}

static ts_named_counts take_tally(ts_named_count **next, const import_tally *t)
{
    ts_named_counts counts = { *next, t->count };
    for (size_t i = 0; i < t->count; i++)
        *(*next)++ =
            (ts_named_count){ t->counters[i].text, t->counters[i].count };
    return counts;
}

static ts_import_output describe(const import_output *o, ts_named_count **next)
{
    const import_job *const job = o->job;
    ts_import_output w = { .path = o->path,
                           .source = o->from,
                           .base = o->base,
                           .format = job->format->name,
                           .has_rank = job->rank != IMPORT_NONE,
                           .rank = job->rank != IMPORT_NONE ? job->rank : 0,
                           .is_cut = job->is_cut,
                           .bytes = o->size,
                           .rows = job->rows,
                           .duration_ns = job->first_ns <= job->last_ns
                                              ? job->last_ns - job->first_ns
                                              : 0,
                           .secret = job->secret.s[0] ? job->secret.s : NULL };
    memcpy(w.events, job->events, sizeof w.events);
    w.bad = take_tally(next, &job->bad);
    w.flawed = take_tally(next, &job->flawed);
    w.no_place = take_tally(next, &job->unowned);
    w.estimated = take_tally(next, &job->estimated);
    return w;
}

static bool take_outputs(ts_import *all)
{
    const import_outputs *const o = &all->outputs;
    size_t counts = 0;
    for (size_t i = 0; i < o->count; i++) {
        const import_job *const job = o->outputs[i].job;
        counts += job->bad.count + job->flawed.count + job->unowned.count +
                  job->estimated.count;
    }
    all->written = calloc(o->count + 1, sizeof *all->written);
    all->counts = calloc(counts + 1, sizeof *all->counts);
    if (!all->written || !all->counts) return cli_out_of_memory(&tool);
    ts_named_count *next = all->counts;
    for (size_t i = 0; i < o->count; i++)
        all->written[i] = describe(&o->outputs[i], &next);
    for (size_t i = 0; i < o->count; i++) {
        report_bad(&o->outputs[i]);
        report_secret(&o->outputs[i]);
    }
    return true;
}

// Reports why nothing was imported.
static bool report_nothing(const ts_import *all)
{
    if (all->failed) return false;
    if (all->left_out)
        return cli_fail(&tool, TS_ERR_NOT_FOUND, NULL, "no file has rank %s",
                        all->desc->rank);
    if (!all->sources)
        cli_fail(&tool, TS_ERR_NOT_FOUND, NULL, "it contains no files");
    else if (all->sources == 1)
        cli_fail(&tool, TS_ERR_NOT_FOUND, all->unknown_name, "%s",
                 why_unknown(all));
    else
        cli_fail(&tool, TS_ERR_NOT_FOUND, NULL, "no file has a known format");
    if (all->sources && (all->sources != 1 || !all->is_sbt))
        import_list_formats(&tool);
    return false;
}

/* ---- The call ------------------------------------------------------------ */

static bool import_files(ts_import *all)
{
    const ts_import_desc *const desc = all->desc;
    if (!desc->path_count)
        return api_refuse(&tool, "a file to read is required");
    if (!desc->output || !*desc->output || !strcmp(desc->output, "-"))
        return api_refuse(&tool, "an output is required: -o OUT");
    if (!import_request_check(&tool, desc->format, desc->rank)) return false;
    all->outputs.tool = &tool;
    all->outputs.requested = desc->output;
    if (!import_outputs_open(&all->outputs)) return false;
    all->failed += !api_import_executions(all, &tool);
    import_all(all);
    all->failed += import_executions_unused(&all->executions, &tool);
    if (!all->outputs.count) return report_nothing(all);
    return import_outputs_name(&all->outputs) && take_outputs(all) &&
           !all->failed && !all->cut;
}

ts_result ts_import_files(ts_import **imported, const ts_import_desc *desc,
                          ts_error *error)
{
    api_call call;
    ts_import *all = NULL;
    *imported = NULL;
    bool ok = api_begin(&call, &desc->observer, NULL, error);
    call.fallback = TS_ERR_IO;
    if (ok) {
        all = calloc(1, sizeof *all);
        if (!all) ok = cli_out_of_memory(&tool);
    }
    if (ok) {
        all->desc = desc;
        all->verbose = desc->verbose;
        ok = import_files(all);
        all->desc = NULL;
        import_outputs_release(&all->outputs);
    }
    if (all && all->written)
        *imported = all;
    else
        ts_import_close(all);
    return api_end(&call, ok);
}

size_t ts_import_count(const ts_import *imported)
{
    return imported ? imported->outputs.count : 0;
}

const ts_import_output *ts_import_at(const ts_import *imported, size_t index)
{
    return index < ts_import_count(imported) ? &imported->written[index] : NULL;
}

uint64_t ts_import_left_out(const ts_import *imported)
{
    return imported ? imported->left_out : 0;
}

uint64_t ts_import_unknown(const ts_import *imported)
{
    return imported ? imported->unknown : 0;
}

uint64_t ts_import_failed(const ts_import *imported)
{
    return imported ? imported->failed : 0;
}

void ts_import_close(ts_import *imported)
{
    if (!imported) return;
    import_outputs_close(&imported->outputs);
    import_executions_close(&imported->executions);
    free(imported->written);
    free(imported->counts);
    free(imported->unknown_name);
    free(imported);
}

bool ts_import_format_at(size_t index, ts_import_format *format)
{
    for (size_t i = 0; i <= index; i++)
        if (!import_formats[i]) return false;
    const import_format *const f = import_formats[index];
    *format = (ts_import_format){ f->name, f->title, f->missing };
    return true;
}
