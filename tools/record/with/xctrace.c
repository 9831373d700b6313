/*
    xctrace.c - exports the tables of a recording of Instruments

    Which of them a recording has depends on its template; those that it lacks
    are not in the XML. Source: `xctrace help export`; its XPath knows "or".
*/
#include "tools/record/with/with.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const tables[] = {
    "metal-gpu-intervals",
    "metal-application-encoders-list",
    "metal-application-command-buffer-submissions",
    "os-signpost-interval",
    "time-profile",
};

static void make_xpath(char *xpath, size_t room)
{
    int size =
        snprintf(xpath, room, "/trace-toc/run[@number=\"1\"]/data/table[");
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        size += snprintf(xpath + size, room - (size_t)size, "%s@schema=\"%s\"",
                         i ? " or " : "", tables[i]);
    snprintf(xpath + size, room - (size_t)size, "]");
}

// Runs the export; its messages appear among those of ts-record.
static int export(const with_run *run, const char *output)
{
    char xpath[1024], input[RECORD_PATH + 16];
    make_xpath(xpath, sizeof xpath);
    snprintf(input, sizeof input, "%s/run.trace", run->shown);
    const char *const argv[] = { "xctrace",  "export",  "--input",
                                 input,      "--xpath", xpath,
                                 "--output", output,    NULL };
    return cli_program_run(argv, STDERR_FILENO);
}

// xctrace may end by a signal after it wrote whole tables: they are kept.
void with_xctrace_convert(with_run *run)
{
    char recording[RECORD_PATH + 16], output[RECORD_PATH + 16];
    struct stat about;
    snprintf(recording, sizeof recording, "%s/run.trace", run->folder);
    if (lstat(recording, &about) != 0) return; // there is none
    snprintf(output, sizeof output, "%s/tables.xml", run->shown);
    const int status = export(run, output);
    if (status != 0)
        cli_error(run->job->tool, NULL,
                  "xctrace export ended with exit status %d; tables that it "
                  "had not written are missing",
                  status);
    run->lacks = status != 0;
}
