/*
    execute.c - ts-replay --execute: options, vendor, exit code
*/
#include <ctype.h>
#include <math.h>
#include <unistd.h>
#include "tools/replay/execute/execute.h"

/* ---- Options ------------------------------------------------------------- */

// Parses the number after the name of a rule, such as "1e-5". *end: the rest.
static bool parse_number(const char *text, double *number, const char **end)
{
    char *behind;
    if (!isdigit((unsigned char)*text) && *text != '.') return false;
    *number = strtod(text, &behind);
    *end = behind;
    return behind != text && isfinite(*number);
}

// Parses the type of elements after a colon, such as "f64".
static bool parse_element(const char *text, uint32_t *element)
{
    *element = 1;
    while (ts_element_name(*element) && strcmp(ts_element_name(*element), text))
        ++*element;
    return ts_element_name(*element) != NULL;
}

// Parses --compare: "exact"; or "ulp=4" or "rtol=1e-5", optionally followed by
// ",atol=1e-8"; or "atol=1e-8" alone; then the type of elements, as ":f64".
static bool parse_compare(const char *text, ts_execution_desc *desc)
{
    if (!text || !strcmp(text, "exact")) return true;
    bool relative = false, absolute = false, ok = true;
    desc->compare = TS_COMPARE_RTOL; // rtol is 0 if not given
    desc->element = TS_ELEMENT_F32;
    do {
        const bool ulp = !strncmp(text, "ulp=", 4);
        const bool atol = !strncmp(text, "atol=", 5);
        if (!ulp && !atol && strncmp(text, "rtol=", 5)) return false;
        if (ulp) desc->compare = TS_COMPARE_ULP;
        bool *const seen = atol ? &absolute : &relative;
        ok = !*seen &&
             parse_number(text + (ulp ? 4 : 5),
                          atol ? &desc->absolute : &desc->tolerance, &text);
        *seen = true;
    } while (ok && *text++ == ',');
    if (!ok) return false;
    return !text[-1] ||
           (text[-1] == ':' && parse_element(text, &desc->element));
}

bool execute_check(const cli_tool *tool, const execute_options *options)
{
    ts_execution_desc desc = { 0 };
    if (options->backend && !execute_backend(options->backend))
        cli_error(tool, NULL, "--backend %s: must be one of %s",
                  options->backend, execute_backends().s);
    else if (!parse_compare(options->compare, &desc))
        cli_error(tool, NULL,
                  "--compare %s: must be exact, ulp=N, rtol=X or atol=X; atol "
                  "may be combined with one of the others, and types other "
                  "than f32 are appended: rtol=1e-3,atol=1e-5:f16",
                  options->compare);
    else if (options->va && strcmp(options->va, "strict") &&
             strcmp(options->va, "auto"))
        cli_error(tool, NULL, "--va %s: must be strict or auto", options->va);
    else if (options->timeout_s > 3600)
        cli_error(tool, NULL, "--timeout: must be at most 3600 seconds");
    else if ((options->chain || options->overlap) && !options->as_graph &&
             options->loops > 1)
        cli_error(tool, NULL,
                  "--loops cannot be combined with --chain or --overlap, which "
                  "do not start from recorded inputs");
    else if (options->overlap && (options->stop_at_first || options->bisect))
        cli_error(tool, NULL,
                  "--stop-at-first and --bisect cannot be combined with "
                  "--overlap or --as-graph, which compare only at the end: use "
                  "--chain");
    else if ((options->extract != NULL || options->bisect) && !options->output)
        cli_error(tool, NULL, "%s requires -o",
                  options->bisect ? "--bisect" : "--extract");
    else if (!options->extract && !options->bisect && options->output)
        cli_error(tool, NULL,
                  "-o requires --bisect or --extract: --execute alone writes "
                  "no file");
    else
        return true;
    return false;
}

/* ---- What was captured --------------------------------------------------- */

bool execute_find_graph(const execute_job *job, const execute_row *row,
                        ts_capture *capture)
{
    return row->capture != EXECUTE_NONE &&
           ts_reader_capture(job->reader, row->capture, capture) &&
           capture->head.kind == TS_EVENT_GRAPH_LAUNCH;
}

uint32_t execute_count_nodes(const ts_capture *capture)
{
    ts_capture_node node = { .index = 0 };
    uint32_t count = 0;
    while (ts_capture_node_next(capture, &node))
        count += node.head.kind != 0;
    return count;
}

// The vendor whose captures are executed; NULL if there are no captures. With
// several vendors, captures of the others are declined.
static const char *find_vendor(const execute_job *job, const char *wanted)
{
    const char *first = NULL;
    ts_capture c;
    for (size_t i = 0; i < job->count; i++) {
        if (job->rows[i].capture == EXECUTE_NONE ||
            !ts_reader_capture(job->reader, job->rows[i].capture, &c))
            continue;
        const char *const name =
            ts_reader_name(job->reader, c.head.vendor).text;
        if (wanted && !strcmp(name, wanted)) return name;
        if (!first) first = name;
    }
    return first;
}

static bool find_backend(execute_job *job)
{
    const replay_job *const r = job->replay;
    const char *const wanted = job->options->backend;
    const char *const vendor = find_vendor(job, wanted);
    if (!vendor) {
        cli_error(r->tool, r->path,
                  "no operation was captured, so that none can be run again; "
                  "record it with ts-record --capture (docs/execution.md)");
        return false;
    }
    job->executor = execute_backend(vendor);
    if (job->executor && (!wanted || !strcmp(wanted, vendor))) return true;
    FILE *const out = cli_error_begin(r->tool, r->path);
    fputs("its operations were captured by '", out);
    cli_put_text(out, vendor, strlen(vendor));
    if (job->executor)
        fprintf(out, "', which --backend %s cannot run", wanted);
    else
        fprintf(out, "', which this ts-replay cannot run: it supports %s",
                execute_backends().s);
    return cli_fail_end(TS_ERR_UNSUPPORTED);
}

/* ---- Results ------------------------------------------------------------- */

static int print_outcome(const execute_job *job)
{
    const replay_job *const r = job->replay;
    fflush(stdout); // before the messages on stderr
    if (job->executed && !job->compared && !job->timed_out) {
        cli_error(r->tool, r->path,
                  "no result could be compared: the trace holds the results of "
                  "none of the %s executed operations",
                  cli_count(job->executed).s);
        return REPLAY_UNSUPPORTED;
    }
    if (!job->executed) {
        cli_error(r->tool, r->path,
                  "no operation was executed: %s operations were declined",
                  cli_count(job->declined).s);
        return job->timed_out ? REPLAY_TIMEOUT : REPLAY_UNSUPPORTED;
    }
    if (job->diverged || job->unstable || job->escaped) return REPLAY_DIVERGED;
    return job->timed_out ? REPLAY_TIMEOUT : REPLAY_SAME;
}

static int execute_all(execute_job *job)
{
    const execute_options *const w = job->options;
    if (!execute_find_rows(job)) return REPLAY_BAD;
    if (!find_backend(job)) return REPLAY_UNSUPPORTED;
    if (w->extract) return execute_extract(job) ? REPLAY_SAME : REPLAY_BAD;
    if (!execute_trusted(job)) return REPLAY_BAD;
    job->desc.executor = job->executor;
    execute_confine_begin(job);
    if (!execute_rows(job, 0, job->count, w->chain))
        return job->closed ? REPLAY_UNSUPPORTED : REPLAY_BAD;
    w->json ? execute_json(job) : execute_text(job);
    const int code = print_outcome(job);
    if (w->bisect && !execute_bisect(job)) return REPLAY_BAD;
    return code;
}

int execute_run(const replay_job *replay, const execute_options *options)
{
    execute_job job = { .replay = replay, .options = options };
    job.reader = replay_reader(replay, 0);
    job.desc.strict = options->va && !strcmp(options->va, "strict");
    job.desc.timeout_ms = (uint32_t)(options->timeout_s * 1000);
    job.desc.loops = (uint32_t)options->loops;
    job.desc.memory_bytes =
        (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    job.desc.no_patches = replay->deps == TS_DEPS_NONE;
    parse_compare(options->compare, &job.desc);
    const int code = execute_all(&job);
    execute_confine_end(&job);
    free(job.rows);
    return code;
}
