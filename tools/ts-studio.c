/*
    ts-studio.c - a trace in a browser: one page, or a server for this machine
*/
#define _XOPEN_SOURCE 700 // realpath
#include "tools/cli/context.h"
#include "tools/studio/ranks/ranks.h"
#include "tools/studio/serve/serve.h"
#include "tools/tracesmith_tools.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *output_text;
static bool no_report, no_browser, has_port, hosted, merge, mangled;
static uint64_t port;

static const cli_option options[] = {
    { .name = "-o, --output PAGE",
      .help = "write an HTML file that contains the trace, works without\n"
              "a network and sends nothing (default: start a server)",
      .text = &output_text },
    { .name = "--hosted",
      .help = "with -o: a page for a web host, without a trace; it shows\n"
              "a trace of the same host: PAGE?url=TRACE",
      .flag = &hosted },
    { .name = "--mangled",
      .help = "show names of C++ and Rust functions as in the trace",
      .flag = &mangled },
    { .name = "--merge",
      .help = "show all traces as one, as ts-merge aligns them",
      .flag = &merge },
    { .name = "--port N",
      .help = "port of the server on 127.0.0.1 (default: any free port)",
      .flag = &has_port,
      .number = &port },
    { .name = "--no-browser",
      .help = "only print the address, do not open a browser",
      .flag = &no_browser },
    { .name = "--no-report",
      .help = "omit the report of ts-analyze",
      .flag = &no_report },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-studio",
    .usage = "[options] FILE [FILE2]",
    .about =
        "Shows a trace in a browser: timeline, search, statistics, causes of "
        "idle time,\ncritical path, and the effect of changes. Starts a server "
        "on this machine,\nwhich also follows a trace that is still being "
        "recorded, runs SQL, and compares\nthe trace with a second one; with "
        "-o, writes one page.",
    .options = options,
};

// Returns what ts-analyze says, as JSON, or NULL: the page does without it.
static char *report_of(const char *path)
{
    char *text = NULL;
    size_t size;
    if (no_report) return NULL;
    FILE *const memory = open_memstream(&text, &size);
    if (!memory) return NULL;
    const ts_output output = { .stream = memory };
    const bool made = ts_page_report_write(path, &output, NULL) == TS_OK;
    if (fclose(memory) == 0 && made) return text;
    free(text);
    return NULL;
}

static bool write_page(const char *path)
{
    cli_reporter reporter = { .tool = &tool };
    const ts_page_desc desc = { .path = path,
                                .no_report = no_report,
                                .hosted = hosted,
                                .mangled = mangled,
                                .observer = cli_observer(&reporter) };
    const ts_output output = { .path = output_text };
    return ts_page_write(&desc, &output, NULL) == TS_OK;
}

static const char *last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- Folders of traces --------------------------------------------------- */

// What is shown as one trace.
typedef struct source {
    const char *name;   // shown
    const char *path;   // of the trace
    const char *beside; // notes are kept beside this
    studio_ranks ranks; // that it was merged of; none: it is a file
    char *merged;       // the path, of a temporary file
    char *folder;       // given, without links and without a last slash
} source;

static void close_source(source *s)
{
    studio_ranks_remove(s->merged);
    studio_ranks_close(&s->ranks);
    free(s->folder);
}

// running: it is a recording that runs.
static bool merge_source(source *s, bool running)
{
    cli_reporter reporter = { .tool = &tool };
    const ts_observer observer = cli_observer(&reporter);
    char name[256];
    snprintf(name, sizeof name, "%.240s%s",
             running     ? s->name
             : s->folder ? last_part(s->folder)
                         : "merged",
             running ? "" : ".sbt");
    s->merged = studio_ranks_merge(&s->ranks, &tool, name, &observer);
    if (!s->merged) return false;
    s->path = s->merged;
    s->name = last_part(s->merged);
    return true;
}

// first: the first path, or the folder of the recording that will make it.
static bool list_traces(source *s, const char *first, char **paths,
                        size_t count)
{
    if (studio_ranks_is_folder(first)) s->folder = realpath(first, NULL);
    if (count == 1 && !s->folder) return true; // it is a file
    if (!studio_ranks_add(&s->ranks, &tool, first)) return false;
    for (size_t i = 1; i < count; i++)
        if (!studio_ranks_add(&s->ranks, &tool, paths[i])) return false;
    return true;
}

// A file, or what a folder or several of either have. Of a trace that ts-record
// is about to make: what its folder has.
static bool open_source(source *s, char **paths, size_t count)
{
    *s = (source){ .path = paths[0], .beside = paths[0] };
    char *const folder = count == 1 ? studio_ranks_recording(paths[0]) : NULL;
    const bool ok = list_traces(s, folder ? folder : paths[0], paths, count);
    const bool running = folder;
    free(folder);
    if (s->ranks.count == 1) s->path = s->ranks.items[0];
    if (!running && s->folder) s->beside = s->folder;
    if (!running && s->ranks.count == 1) s->beside = s->path;
    s->name = last_part(running ? paths[0] : s->path);
    return ok && (s->ranks.count < 2 || merge_source(s, running));
}

/* ---- A server ------------------------------------------------------------ */

typedef struct input {
    const source *from;
    struct stat file; // st_mode is 0 where there is none
    cli_trace trace;
} input;

static bool open_input(input *in, const source *from)
{
    *in = (input){ .from = from };
    // Before the trace is opened: it may be replaced in between.
    if (stat(from->path, &in->file)) in->file = (struct stat){ .st_mode = 0 };
    return cli_trace_open(&in->trace, &tool, from->path, NULL, CLI_WARN_ALL);
}

// What notes can be kept beside: not a pipe.
static bool is_file(const input *in)
{
    return S_ISREG(in->file.st_mode);
}

// Where a recording that runs has its channel, beside its traces. NULL without
// memory.
static char *folder_of(const source *from)
{
    if (from->folder) return strdup(from->folder);
    const char *const name = last_part(from->path);
    return name == from->path
               ? strdup(".")
               : strndup(from->path, (size_t)(name - from->path));
}

// b: of a second trace, or NULL.
static void read_names(scene *a, scene *b)
{
    // This starts the process that demangles: later it would inherit the
    // server's connections.
    free(cli_demangle("_Z1fv"));
    scene_read_names(a, cli_demangle);
    if (b) scene_read_names(b, cli_demangle);
}

// b: a second trace to compare with, or NULL.
static bool serve(const input *a, const input *b)
{
    scene *s = NULL, *second = NULL;
    const bool opened = scene_open(&s, a->trace.reader) == TS_OK &&
                        (!b || scene_open(&second, b->trace.reader) == TS_OK);
    if (opened && !mangled) read_names(s, second);
    char *const report = opened ? report_of(a->from->path) : NULL;
    char *const folder = folder_of(a->from);
    const studio_about about = {
        .name = a->from->name,
        .report = report,
        .other = b ? b->from->name : NULL,
    };
    const studio_server_desc desc = {
        .tool = &tool,
        .scene = s,
        .other_scene = second,
        .folder = folder,
        .mangled = mangled,
        .about = &about,
        .path = is_file(a) ? a->from->path : NULL,
        .beside = a->from->beside,
        .other = b && is_file(b) ? b->from->path : NULL,
        .file = a->file,
        .other_file = b ? b->file : (struct stat){ 0 },
        .port = (uint16_t)port,
        .no_browser = no_browser
    };
    const bool ok = opened ? studio_serve(&desc) : cli_out_of_memory(&tool);
    free(folder);
    free(report);
    scene_close(second);
    scene_close(s);
    return ok;
}

static bool open_and_serve(const source *first, const source *second)
{
    input a, b;
    bool ok = open_input(&a, first);
    if (!ok) return false;
    if (!second) {
        ok = serve(&a, NULL);
    } else if ((ok = open_input(&b, second))) {
        ok = serve(&a, &b);
        cli_trace_close(&b.trace);
    }
    cli_trace_close(&a.trace);
    return ok;
}

// count: of paths, which are one source, or one each.
static bool show(char **paths, size_t count)
{
    source a, b = { .path = NULL };
    const bool two = count > 1 && !merge;
    const bool ok = open_source(&a, paths, two ? 1 : count) &&
                    (!two || open_source(&b, paths + 1, 1)) &&
                    (output_text ? write_page(a.path)
                                 : open_and_serve(&a, two ? &b : NULL));
    close_source(&b);
    close_source(&a);
    return ok;
}

static bool check_usage(int argc)
{
    if (hosted && (!output_text || argc > 1 || merge))
        cli_error(&tool, NULL, "--hosted needs -o PAGE, and no trace");
    else if (hosted)
        return true;
    else if (argc < 2 || (argc > 3 && !merge))
        cli_error(&tool, NULL, "%s",
                  argc < 2 ? "a trace to read is required"
                           : "at most two traces can be compared: --merge "
                             "shows several as one");
    else if (output_text && argc > 2 && !merge)
        cli_error(&tool, NULL, "-o writes a page of one trace");
    else if (output_text && (has_port || no_browser))
        cli_error(&tool, NULL, "%s applies to a server, not to -o",
                  has_port ? "--port" : "--no-browser");
    else if (port > UINT16_MAX)
        cli_error(&tool, NULL, "--port: the largest port is 65535");
    else
        return true;
    return false;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (!check_usage(argc)) return cli_usage(&tool);
    const cli_output output = { "--output", output_text, CLI_HTML };
    if (!cli_outputs_check(&tool, &output, 1, (const char *const *)argv + 1,
                           (size_t)argc - 1))
        return CLI_USAGE;
    const bool ok =
        hosted ? write_page(NULL) : show(argv + 1, (size_t)argc - 1);
    return cli_finish(&tool, ok ? CLI_OK : CLI_FAILED);
}
