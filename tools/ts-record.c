/*
    ts-record.c - run a program and record what it does
*/
#include "tools/merge/merge.h"
#include "tools/record/record.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *out_text = "trace.sbt";
static bool no_merge, no_preload, quiet;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write (trace.sbt); what is there is\n"
              "replaced at the end",
      .text = &out_text },
    { .name = "--no-merge",
      .help = "leave one trace for each process, in a folder of that\n"
              "name, instead of making one of them",
      .flag = &no_merge },
    { .name = "--no-preload",
      .help = "begin when a library that looks for a recorder is used\n"
              "first, not when the program starts",
      .flag = &no_preload },
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
             "ended it, 127 if it is\nnot there, 126 if it cannot be run.",
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

static uint64_t events_of(const ts_info *info)
{
    uint64_t count = info->unknown_events;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        count += info->counts[kind];
    return count;
}

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
    fprintf(stderr, "ts-record: %s: %s events in %s of %zu process%s, %s; ",
            job->out, cli_count(events_of(info)).s,
            cli_time(info->last_ns - info->first_ns).s, job->part_count,
            job->part_count == 1 ? "" : "es", cli_bytes(info->file_bytes).s);
    if (info->lost)
        fprintf(stderr, "%s records were LOST: ts-info says where\n",
                cli_count(info->lost).s);
    else
        fputs("nothing was lost\n", stderr);
    if (!events_of(info))
        fputs("ts-record: the program reported nothing: it uses no library "
              "that can be captured\n",
              stderr);
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

static bool finish(record_job *job)
{
    if (!record_parts_find(job)) return false;
    if (!job->part_count) {
        cli_error(&tool, job->argv[0],
                  "no trace came of it: a program that is linked statically "
                  "or gains privileges loads no recorder%s",
                  no_preload ? ", and this one used no library that would"
                             : "");
        rmdir(job->folder);
        return false;
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
    job.no_preload = no_preload;
    if (!record_prepare(&job)) return CLI_FAILED;
    const int code = record_run(&job);
    if (job.pid <= 0 || job.never_ran) {
        rmdir(job.folder);
        return code;
    }
    const bool done = finish(&job);
    record_parts_close(&job);
    return done || code ? code : CLI_FAILED;
}
