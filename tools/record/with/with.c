/*
    with.c - runs a vendor's tool around a program, imports what it wrote
*/
#include "tools/record/with/with.h"
#include "tools/cli/context.h"
#include "tools/merge/merge.h"
#include "tools/tracesmith_tools.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Running ------------------------------------------------------------- */

// Whether the tool and the program are there; *code is the exit code if not.
static bool check_programs(with_run *run, int *code)
{
    const with_vendor *const v = run->vendor;
    const cli_tool *const tool = run->job->tool;
    const char *const program = run->program[0];
    char path[RECORD_PATH];
    *code = RECORD_FAILED;
    if (!cli_program_find(v->program, path, sizeof path)) {
        cli_error(tool, NULL,
                  "--with %s: %s is not in PATH; it is a part of %s", v->name,
                  v->program, v->product);
        return false;
    }
    const bool found = cli_program_find(program, path, sizeof path);
    errno = ENOENT;
    if (found && access(path, X_OK) == 0) return true;
    *code = errno == ENOENT ? 127 : 126;
    cli_error(tool, program, "%s", strerror(errno));
    return false;
}

// Reads the exit status of the program that ts-record --with-status ran.
static bool read_status(const with_run *run, int *status)
{
    char path[RECORD_PATH + 8];
    snprintf(path, sizeof path, "%s/status", run->folder);
    FILE *const file = fopen(path, "r");
    const bool done = file && fscanf(file, "%d", status) == 1 && *status >= 0 &&
                      *status <= 255;
    if (file) fclose(file);
    return done;
}

static void print_signal(const record_job *job, const char *program)
{
    if (job->quiet || !WIFSIGNALED(job->status)) return;
    const int number = WTERMSIG(job->status);
    fprintf(stderr, "%s: %s was ended by signal %d (%s)\n", job->tool->name,
            program, number, strsignal(number));
}

// From here on Ctrl-C ends ts-record: what the tool wrote remains.
static void free_signals(void)
{
    const struct timespec now = { 0, 0 };
    const int numbers[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&set, numbers[i]);
    while (sigtimedwait(&set, NULL, &now) > 0)
        continue; // those that the program had, too
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        signal(numbers[i], SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void run_tool(with_run *run)
{
    record_job *const job = run->job;
    job->argv = run->words.items;
    run->code = record_run(job);
    run->ran = !run->vendor->drops_status || read_status(run, &run->code);
    print_signal(job, run->vendor->program);
    free_signals();
}

/* ---- What it wrote ------------------------------------------------------- */

static void print_nothing(const with_run *run)
{
    const int status = run->job->status;
    FILE *const out = cli_error_begin(run->job->tool, NULL);
    fprintf(out, "%s ended ", run->vendor->program);
    if (WIFSIGNALED(status))
        fprintf(out, "by signal %d", WTERMSIG(status));
    else
        fprintf(out, "with exit status %d", WEXITSTATUS(status));
    fputs(" and wrote no trace", out);
    if (run->args.count)
        fprintf(out, "; --with-args must not say where %s writes",
                run->vendor->program);
    cli_error_end();
}

// Finds the files to import.
static bool find(with_run *run)
{
    if (run->vendor->convert) run->vendor->convert(run);
    if (!with_folder_find(run)) return false;
    if (!run->files.count) print_nothing(run);
    return run->files.count != 0;
}

static uint64_t event_count(const ts_import_output *output)
{
    uint64_t count = 0;
    for (size_t i = 0; i < TS_EVENT_LIMIT; i++)
        count += output->events[i];
    return count;
}

static bool move(const record_job *job, const char *from)
{
    if (rename(from, job->out) == 0) return true;
    cli_error(job->tool, job->out, "%s", strerror(errno));
    return false;
}

static bool merge(const record_job *job, char **paths, uint32_t count)
{
    merge_job merge = { .tool = job->tool,
                        .out = job->out,
                        .warn = CLI_WARN_NONE };
    const bool done = merge_open(&merge, paths, count) && merge_place(&merge) &&
                      merge_write(&merge);
    merge_close(&merge);
    return done;
}

static void print_trace(const with_run *run, uint64_t events, uint32_t count)
{
    if (run->job->quiet) return;
    FILE *const out = cli_error_begin(run->job->tool, run->job->out);
    fprintf(out, "%s of %s", cli_counted(events, "event", "events").s,
            run->vendor->name);
    if (count > 1) fprintf(out, ", from %" PRIu32 " traces", count);
    cli_error_end();
}

// Makes one trace of those that have events.
static bool join(with_run *run, const ts_import *imported)
{
    with_words traces = { .count = 0 };
    uint64_t events = 0;
    const ts_import_output *output;
    for (size_t i = 0; (output = ts_import_at(imported, i)); i++) {
        if (!event_count(output)) continue;
        events += event_count(output);
        with_word_add(&traces, output->path);
    }
    const uint32_t count = (uint32_t)traces.count;
    bool done = !traces.failed;
    if (done && count == 1) done = move(run->job, traces.items[0]);
    if (done && count > 1) done = merge(run->job, traces.items, count);
    with_words_free(&traces);
    if (done && count) print_trace(run, events, count);
    if (done && !count && !run->job->quiet)
        fprintf(stderr, "%s: nothing was recorded: %s wrote no events\n",
                run->job->tool->name, run->vendor->name);
    return done;
}

// Makes the trace. False, with the reason on stderr, if it lacks something.
static bool import(with_run *run)
{
    char folder[RECORD_PATH + 16];
    cli_reporter reporter = { .tool = run->job->tool };
    ts_import *imported;
    snprintf(folder, sizeof folder, "%s/imported/", run->folder);
    const ts_import_desc desc = { .paths =
                                      (const char *const *)run->files.items,
                                  .path_count = run->files.count,
                                  .output = folder,
                                  .observer = cli_observer(&reporter) };
    const ts_result result = ts_import_files(&imported, &desc, NULL);
    const bool done = imported && join(run, imported);
    ts_import_close(imported);
    return done && result == TS_OK;
}

/* ---- The calls ----------------------------------------------------------- */

bool record_with_check(const cli_tool *tool, const with_options *options)
{
    with_words words = { .count = 0 };
    if (!with_vendor_find(tool, options->tool)) return false;
    const bool split =
        !options->args || with_words_split(&words, options->args);
    with_words_free(&words);
    if (!split) cli_error(tool, NULL, "--with-args: a quote has no end");
    return split;
}

static bool prepare(with_run *run)
{
    if (run->options->args) with_words_split(&run->args, run->options->args);
    return record_check_out(run->job) && with_folder_make(run) &&
           with_command(run);
}

static int record(with_run *run)
{
    run_tool(run);
    if (run->job->pid <= 0 || run->job->never_ran) {
        with_folder_end(run, false);
        return RECORD_FAILED;
    }
    const bool done = find(run) && import(run) && !run->lacks;
    const bool keep = run->options->keep || (!done && run->files.count);
    with_folder_end(run, keep);
    if (keep && (!done || !run->job->quiet))
        cli_error(run->job->tool, NULL, "what %s wrote is in %s",
                  run->vendor->name, run->folder);
    if (!done && !run->ran) return RECORD_FAILED;
    return done || run->code ? run->code : RECORD_FAILED;
}

int record_with(record_job *job, const with_options *options)
{
    int code = RECORD_FAILED;
    with_run *const run = calloc(1, sizeof *run);
    if (!run) return RECORD_FAILED;
    run->job = job;
    run->options = options;
    run->program = job->argv;
    run->vendor = with_vendor_find(job->tool, options->tool);
    job->others = true;
    if (check_programs(run, &code)) {
        code = RECORD_FAILED;
        if (prepare(run))
            code = record(run);
        else
            with_folder_end(run, false);
    }
    with_words_free(&run->args);
    with_words_free(&run->words);
    with_words_free(&run->files);
    free(run);
    return code;
}

int record_with_status(record_job *job, const char *path)
{
    job->others = true;
    const int code = record_run(job);
    FILE *const file = fopen(path, "w");
    if (file) fprintf(file, "%d\n", code);
    if (!file || fclose(file) != 0) {
        cli_error(job->tool, path, "%s", strerror(errno));
        return RECORD_FAILED;
    }
    return code;
}
