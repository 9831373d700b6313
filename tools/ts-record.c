/*
    ts-record.c - run a program and record what it does
*/
#include "tools/merge/merge.h"
#include "tools/record/record.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *out_text = "trace.sbt";
static bool no_merge, quiet;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write (trace.sbt); what is there is\n"
              "replaced at the end",
      .text = &out_text },
    { .name = "--no-merge",
      .help = "leave one trace for each process, in a folder of that\n"
              "name, instead of making one of them",
      .flag = &no_merge },
    { .name = "-q, --quiet",
      .help = "no summary on stderr, errors only",
      .flag = &quiet },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-record",
    .usage = "[options] COMMAND [ARGUMENT...]",
    .about = "Runs a program as it is and records what it and its children "
             "report.\nReturns what the program returns; 128 + N if signal N "
             "ended it, 127 if it is\nnot there, 126 if it cannot be run, 125 "
             "if the trace could not be made.",
    .options = options,
    .command = true,
};

/* ---- The trace ---------------------------------------------------------- */

// One trace becomes the result as it is, several are merged.
static bool put_together(const record_job *job)
{
    size_t count = 0;
    char **const paths = calloc(job->part_count + 1, sizeof *paths);
    for (size_t i = 0; paths && i < job->part_count; i++)
        if (!job->parts[i].live) paths[count++] = job->parts[i].path;
    bool done = paths != NULL && count > 0;
    if (done && count == 1) {
        done = rename(paths[0], job->out) == 0;
        if (!done) cli_error(&tool, job->out, "%s", strerror(errno));
    } else if (done) {
        merge_job merge = { .tool = &tool,
                            .out = job->out,
                            .warn = CLI_WARN_NONE };
        done = merge_open(&merge, paths, (uint32_t)count) &&
               merge_place(&merge) && merge_write(&merge);
        merge_close(&merge);
    }
    free(paths);
    return done;
}

/* ---- The summary -------------------------------------------------------- */

// "nvtx: ...", of each backend that was not on or saw nothing.
static void say_backends(const ts_reader *reader)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++) {
        if (m.key.size < 9 || memcmp(m.key.text, "backend.", 8) != 0 ||
            m.type != TS_VALUE_TEXT ||
            (m.text.size == 2 && !memcmp(m.text.text, "on", 2)))
            continue;
        fprintf(stderr, "ts-record: ");
        cli_put_text(stderr, m.key.text + 8, m.key.size - 8);
        fputs(": ", stderr);
        cli_put_text(stderr, m.text.text, m.text.size);
        fputc('\n', stderr);
    }
}

static void say_trace(const record_job *job)
{
    cli_trace trace;
    if (!cli_trace_open(&trace, &tool, job->out, NULL, CLI_WARN_NONE)) return;
    const ts_info *const info = trace.info;
    const size_t processes = record_process_count(job);
    fprintf(stderr, "ts-record: %s: %s events in %s of %zu process%s, %s; ",
            job->out, cli_count(cli_event_count(info) + info->unknown_events).s,
            cli_time(info->last_ns - info->first_ns).s, processes,
            processes == 1 ? "" : "es", cli_bytes(info->file_bytes).s);
    if (info->lost)
        fprintf(stderr, "%s records were LOST: ts-info says where\n",
                cli_count(info->lost).s);
    else
        fputs("nothing was lost of them\n", stderr);
    say_backends(trace.reader);
    cli_trace_close(&trace);
}

static void say_end(const record_job *job)
{
    if (WIFSIGNALED(job->status))
        fprintf(stderr,
                "ts-record: %s was ended by signal %d (%s); what it "
                "had recorded is there\n",
                job->argv[0], WTERMSIG(job->status),
                strsignal(WTERMSIG(job->status)));
    for (size_t i = 0; i < job->part_count; i++)
        if (job->parts[i].live)
            fprintf(stderr,
                    "ts-record: a child still runs: its trace is "
                    "%s\n",
                    job->parts[i].path);
}

/* ---- main --------------------------------------------------------------- */

// Why there is no trace, as far as that can be told.
static void say_nothing(const record_job *job)
{
    fprintf(stderr,
            "ts-record: %s: nothing to record: it used no library that can "
            "be captured (NVTX),\nor is linked statically, or gains "
            "privileges, which keeps libraries out\n",
            job->argv[0]);
}

static void say_taken(const record_job *job)
{
    if (job->nvtx_taken)
        fprintf(stderr,
                "ts-record: NVTX_INJECTION64_PATH is set: what is said "
                "through NVTX goes to\n%s, not into the trace\n",
                job->nvtx_taken);
}

// False if there should be a trace and is none.
static bool finish(record_job *job)
{
    if (!record_parts_find(job)) return false;
    const size_t failures = record_say_failures(job);
    if (!quiet) say_taken(job);
    if (!job->part_count) {
        if (!quiet && !failures) say_nothing(job);
        rmdir(job->folder);
        return !failures;
    }
    if (no_merge) {
        if (!quiet)
            fprintf(stderr, "ts-record: %zu trace%s in %s\n", job->part_count,
                    job->part_count == 1 ? "" : "s", job->folder);
        return true;
    }
    const bool done = put_together(job);
    if (done && !quiet) say_trace(job);
    if (!quiet) say_end(job);
    if (done && !record_parts_remove(job) && !quiet)
        fprintf(stderr, "ts-record: children that still run write to %s\n",
                job->folder);
    if (!done)
        cli_error(&tool, NULL, "the traces of the processes are in %s",
                  job->folder);
    return done;
}

// As other programs that run programs do: none of the program's own codes.
enum { RECORD_FAILED = 125 };

int main(int argc, char **argv)
{
    record_job job = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (argc < 2) {
        cli_error(&tool, NULL, "which program?");
        return cli_usage(&tool);
    }
    job.out = out_text;
    job.argv = argv + 1;
    if (!record_prepare(&job)) return RECORD_FAILED;
    const int code = record_run(&job);
    if (job.pid <= 0 || job.never_ran) {
        rmdir(job.folder);
        return code;
    }
    const bool done = finish(&job);
    record_parts_close(&job);
    return done || code ? code : RECORD_FAILED;
}
