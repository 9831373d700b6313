/*
    ts-import.c - traces of other tools as SBT
*/
#include "tools/import/import.h"
#include "tools/import/outputs.h"

static const char *output, *format_name, *rank_list;
static bool want_verbose, want_json;

static const cli_option options[] = {
    { .name = "-o, --output OUT",
      .help = "the SBT file to write, or a folder; several ranks go to\n"
              "OUT-rankN.sbt, or where %r stands in OUT",
      .text = &output },
    { .name = "--format NAME",
      .help = "take the files for this format instead of looking\n"
              "what they hold",
      .text = &format_name },
    { .name = "--rank LIST",
      .help = "only these ranks, with commas between",
      .text = &rank_list },
    { .name = "--verbose",
      .help = "also list what has no place, was bad or is estimated",
      .flag = &want_verbose },
    { .name = "--json",
      .help = "print what was written as one JSON object",
      .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-import",
    .usage = "[options] -o OUT FILE...",
    .about = "Turns traces of other tools into SBT files: files, their gzip "
             "and tar archives,\nfolders. The format is told by what a file "
             "holds. One SBT file for each rank.",
    .options = options,
};

/* ---- Choosing ----------------------------------------------------------- */

static void say_formats(void)
{
    fprintf(stderr, "%s: the formats are:\n", tool.name);
    for (const import_format *const *f = import_formats; *f; f++)
        fprintf(stderr, "    %-9s %s\n", (*f)->name, (*f)->title);
}

static bool check_usage(int argc)
{
    if (argc < 2) {
        cli_error(&tool, NULL, "which file?");
        return false;
    }
    if (!output || !*output || !strcmp(output, "-")) {
        cli_error(&tool, NULL, "name the SBT file to write with -o OUT");
        return false;
    }
    if (rank_list &&
        (!*rank_list || rank_list[strspn(rank_list, "0123456789,*")])) {
        cli_error(&tool, NULL, "--rank '%s': it is a list such as 0,3",
                  rank_list);
        return false;
    }
    if (!format_name) return true;
    for (const import_format *const *f = import_formats; *f; f++)
        if (!strcmp((*f)->name, format_name)) return true;
    cli_error(&tool, NULL, "there is no format '%s'", format_name);
    say_formats();
    return false;
}

static const import_format *choose(import_source *source)
{
    for (const import_format *const *f = import_formats; *f; f++)
        if (format_name ? !strcmp((*f)->name, format_name)
                        : (*f)->recognise(source))
            return *f;
    return NULL;
}

/* ---- Importing ---------------------------------------------------------- */

typedef struct import_run {
    import_outputs outputs;
    size_t sources, unknown, failed, cut, left_out;
    char *unknown_name; // of the last one
    bool is_sbt;        // it is
    bool is_database;   // of SQLite
} import_run;

static bool is_wanted(const import_job *job)
{
    if (!rank_list) return true;
    const cli_text text = cli_format("%" PRId64, job->rank);
    return job->rank != IMPORT_NONE &&
           cli_list_has(rank_list, text.s, strlen(text.s));
}

static void say_cut(import_run *run, const import_job *job)
{
    const char *const why = import_source_error(job->source);
    if (!why && !job->is_cut) return;
    run->cut++;
    cli_error(&tool, import_source_name(job->source),
              "%s; the output has what comes before",
              why ? why : "the file ends early");
}

// Whether the job is done with; else the caller closes it.
static bool finish(import_run *run, import_job *job, bool ok)
{
    const bool keep = ok && is_wanted(job);
    const ts_result result = import_job_end(job, keep);
    if (!ok || result != TS_OK) {
        run->failed++;
        if (result != TS_OK)
            cli_error(&tool, output, "%s", ts_result_text(result));
        return false;
    }
    run->left_out += !keep;
    if (!keep) return false;
    say_cut(run, job);
    return import_outputs_add(&run->outputs, job);
}

static bool is_database(const uint8_t *head, size_t size)
{
    static const char magic[16] = "SQLite format 3";
    return size >= sizeof magic && !memcmp(head, magic, sizeof magic);
}

static const char *why_unknown(const import_run *run)
{
    return run->is_sbt        ? "it is an SBT file already"
           : run->is_database ? "it is an SQLite database, damaged or cut "
                                "short or with the tables of none of the "
                                "formats"
                              : "it is none of the formats";
}

static void take_unknown(import_run *run, import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    const char *const error = import_source_error(source);
    if (error) { // what it is cannot be told
        run->failed++;
        cli_error(&tool, import_source_name(source), "%s", error);
        return;
    }
    run->unknown++;
    run->is_sbt = size >= 8 && !memcmp(head, TS_FILE_MAGIC, 8);
    run->is_database = is_database(head, size);
    free(run->unknown_name);
    run->unknown_name = strdup(import_source_name(source));
    if (want_verbose)
        cli_error(&tool, import_source_name(source), "%s; left out",
                  why_unknown(run));
}

static void import_one(import_run *run, import_source *source)
{
    run->sources++;
    if (!import_outputs_spare(&run->outputs, source)) {
        run->failed++;
        cli_error(&tool, output, "%s", ts_result_text(TS_ERR_MEMORY));
        return;
    }
    const import_format *const format = choose(source);
    if (!format) {
        take_unknown(run, source);
        return;
    }
    if (format->missing) {
        run->failed++;
        cli_error(&tool, import_source_name(source),
                  "this is %s, for which this ts-import was built without %s",
                  format->title, format->missing);
        return;
    }
    ts_result result = TS_ERR_MEMORY;
    errno = 0;
    const char *const path = import_outputs_next(&run->outputs);
    import_job *const job =
        import_job_open(&tool, source, format, path, &result);
    if (!job) {
        run->failed++;
        cli_error(&tool, output, "%s",
                  result == TS_ERR_IO && errno ? strerror(errno)
                                               : ts_result_text(result));
        return;
    }
    if (!finish(run, job, format->import(job))) import_job_close(job);
}

static void import_all(import_run *run, char **paths, int count)
{
    for (int i = 0; i < count; i++) {
        import_input *const input = import_input_open(&tool, paths[i]);
        import_source *source;
        while (input && (source = import_input_next(input)))
            import_one(run, source);
        run->failed += import_input_close(input);
    }
}

/* ---- Reporting ---------------------------------------------------------- */

static uint64_t total(const import_tally *t)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < t->count; i++)
        sum += t->counters[i].count;
    return sum;
}

static uint64_t operations(const import_job *job)
{
    uint64_t sum = 0;
    for (uint32_t i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        sum += job->events[i];
    return sum;
}

static void print_list(const char *what, const import_tally *t)
{
    if (!t->count) return;
    printf("    %s:\n", what);
    for (size_t i = 0; i < t->count; i++) {
        printf("        %12s  ", cli_count(t->counters[i].count).s);
        cli_put_text(stdout, t->counters[i].text, strlen(t->counters[i].text));
        putchar('\n');
    }
}

static void print_output(const import_output *o)
{
    const import_job *const job = o->job;
    cli_put_path(stdout, o->path);
    printf(": %s from ", job->format->name);
    cli_put_path(stdout, o->base);
    if (job->rank != IMPORT_NONE) printf(", rank %" PRId64, job->rank);
    printf(
        ": %s, %s, %s, %s, %s\n", cli_counted(job->rows, "row", "rows").s,
        cli_counted(operations(job), "GPU operation", "GPU operations").s,
        cli_counted(job->events[TS_EVENT_API_CALL], "API call", "API calls").s,
        cli_counted(job->events[TS_EVENT_ZONE], "zone", "zones").s,
        cli_bytes(o->size).s);
    if (!want_verbose) return;
    printf("    events:\n");
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (job->events[i])
            printf("        %12s  %s\n", cli_count(job->events[i]).s,
                   ts_event_name(i));
    print_list("bad, left out", &job->bad);
    print_list("flawed, kept", &job->flawed);
    print_list("no place in SBT", &job->homeless);
    print_list("times estimated", &job->estimated);
}

static void say_bad(const import_output *o)
{
    const import_tally *const bad = &o->job->bad;
    if (!bad->count) return;
    fprintf(stderr, "%s: ", tool.name);
    cli_put_text(stderr, o->from, strlen(o->from));
    fprintf(stderr, ": %s %s left out:",
            cli_counted(total(bad), "bad row", "bad rows").s,
            total(bad) == 1 ? "is" : "are");
    for (size_t i = 0; i < bad->count; i++)
        fprintf(stderr, "%s %s %s", i ? "," : "",
                cli_count(bad->counters[i].count).s, bad->counters[i].text);
    fputc('\n', stderr);
}

// The warning is no error: the trace has what its source has.
static void say_secret(const import_output *o)
{
    if (!o->job->secret.s[0]) return;
    fprintf(stderr, "%s: ", tool.name);
    cli_put_text(stderr, o->from, strlen(o->from));
    fputs(": metadata seem to hold a token or password (", stderr);
    cli_put_text(stderr, o->job->secret.s, strlen(o->job->secret.s));
    fputs("), and the trace has them too: ts-cut --anonymise leaves them out\n",
          stderr);
}

static void json_tally(cli_json *json, const char *key, const import_tally *t)
{
    cli_json_open(json, key, '{');
    for (size_t i = 0; i < t->count; i++)
        cli_json_uint(json, t->counters[i].text, t->counters[i].count);
    cli_json_close(json, '}');
}

static void json_output(cli_json *json, const import_output *o)
{
    const import_job *const job = o->job;
    const bool any = job->first_ns <= job->last_ns;
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "output", o->path);
    cli_json_string(json, "source", o->from);
    cli_json_string(json, "format", job->format->name);
    if (job->rank != IMPORT_NONE) cli_json_int(json, "rank", job->rank);
    cli_json_uint(json, "bytes", o->size);
    cli_json_uint(json, "rows", job->rows);
    cli_json_int(json, "duration_ns", any ? job->last_ns - job->first_ns : 0);
    cli_json_bool(json, "cut", job->is_cut);
    cli_json_open(json, "events", '{');
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (job->events[i])
            cli_json_uint(json, ts_event_name(i), job->events[i]);
    cli_json_close(json, '}');
    json_tally(json, "bad", &job->bad);
    json_tally(json, "flawed", &job->flawed);
    json_tally(json, "no_place", &job->homeless);
    json_tally(json, "estimated", &job->estimated);
    if (job->secret.s[0]) cli_json_string(json, "secret", job->secret.s);
    cli_json_close(json, '}');
}

static void report(const import_run *run)
{
    const import_outputs *const all = &run->outputs;
    cli_json json = { .out = stdout, .lines = 3 };
    if (want_json) cli_json_open(&json, NULL, '{');
    if (want_json) cli_json_open(&json, "outputs", '[');
    for (size_t i = 0; i < all->count; i++) {
        say_bad(&all->outputs[i]);
        say_secret(&all->outputs[i]);
        if (want_json)
            json_output(&json, &all->outputs[i]);
        else
            print_output(&all->outputs[i]);
    }
    if (!want_json) return;
    cli_json_close(&json, ']');
    cli_json_uint(&json, "left_out", run->left_out);
    cli_json_uint(&json, "unknown", run->unknown);
    cli_json_uint(&json, "failed", run->failed);
    cli_json_close(&json, '}');
}

// Says why there is nothing.
static void say_nothing(const import_run *run)
{
    if (run->failed) return;
    if (run->left_out) {
        cli_error(&tool, NULL, "no file is of rank %s", rank_list);
        return;
    }
    if (!run->sources)
        cli_error(&tool, NULL, "there are no files in it");
    else if (run->sources == 1)
        cli_error(&tool, run->unknown_name, "%s", why_unknown(run));
    else
        cli_error(&tool, NULL, "no file is of any of the formats");
    if (run->sources && (run->sources != 1 || !run->is_sbt)) say_formats();
}

int main(int argc, char **argv)
{
    import_run run = { .sources = 0 };
    cli_parse(&tool, &argc, argv);
    if (!check_usage(argc)) return cli_usage(&tool);
    run.outputs.tool = &tool;
    run.outputs.wanted = output;
    if (!import_outputs_open(&run.outputs)) return CLI_FAILED;
    import_all(&run, argv + 1, argc - 1);
    bool ok = run.outputs.count > 0;
    if (ok && (ok = import_outputs_name(&run.outputs)))
        report(&run);
    else if (!run.outputs.count)
        say_nothing(&run);
    import_outputs_close(&run.outputs);
    free(run.unknown_name);
    return cli_finish(&tool,
                      ok && !run.failed && !run.cut ? CLI_OK : CLI_FAILED);
}
