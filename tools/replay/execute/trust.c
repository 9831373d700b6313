/*
    trust.c - whether the code in a trace may run

    A capture contains code and its arguments, so whoever made the trace decides
    what runs. tools/cli/trusted.c checks who that is.
*/
#include <unistd.h>
#include "tools/replay/execute/execute.h"

static void print_images(const execute_job *job)
{
    ts_capture_image image;
    for (size_t i = 0; ts_reader_image_at(job->reader, i, &image); i++) {
        const ts_module_entry *const m =
            ts_reader_module(job->reader, image.module);
        const ts_text path = ts_reader_name(job->reader, m ? m->path : 0);
        const ts_text id = ts_reader_build_id(job->reader, image.module);
        fprintf(stderr, "  %s of ", cli_bytes(image.size).s);
        cli_put_text(stderr, path.text, path.size);
        if (id.size) fputs(", build-id ", stderr);
        for (size_t k = 0; k < id.size && k < 20; k++)
            fprintf(stderr, "%02x", (uint8_t)id.text[k]);
        fputc('\n', stderr);
    }
}

static void print_refused(const execute_job *job)
{
    uint64_t kernels = 0;
    ts_capture c;
    for (size_t i = 0; i < job->count; i++)
        kernels += job->rows[i].capture != EXECUTE_NONE &&
                   ts_reader_capture(job->reader, job->rows[i].capture, &c) &&
                   c.head.kind == TS_EVENT_KERNEL;
    fprintf(stderr,
            "%s: %s: this trace was not recorded by you on this machine, or "
            "other users can change it.\nRunning it executes its code with "
            "your rights: %s of functions in\n",
            job->replay->tool->name, job->replay->path,
            cli_counted(kernels, "launch", "launches").s);
    print_images(job);
}

static bool confirm(void)
{
    char answer[16] = "";
    fputs("Trust this file from now on and run its code? [y/N] ", stderr);
    if (!fgets(answer, sizeof answer, stdin)) return false;
    return answer[0] == 'y' || answer[0] == 'Y';
}

bool execute_trusted(const execute_job *job)
{
    if (job->options->trust || cli_trace_is_own(job->reader)) return true;
    print_refused(job);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        fputs("Use --trust to allow it.\n", stderr);
        return false;
    }
    const bool yes = confirm();
    if (yes) cli_trace_own(job->replay->path);
    return yes;
}
