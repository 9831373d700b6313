/*
    ts-studio.c - a trace in a browser: one page, or a server for this machine
*/
#include "tools/cli/context.h"
#include "tools/studio/serve/serve.h"
#include "tools/tracesmith_tools.h"
#include <sys/stat.h>

static const char *output_text;
static bool no_report, no_browser, has_port, hosted;
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
                                .observer = cli_observer(&reporter) };
    const ts_output output = { .path = output_text };
    return ts_page_write(&desc, &output, NULL) == TS_OK;
}

/* ---- A server ------------------------------------------------------------ */

static const char *last_part(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

typedef struct input {
    const char *path;
    struct stat file; // st_mode is 0 where there is none
    cli_trace trace;
} input;

static bool open_input(input *in, const char *path)
{
    *in = (input){ .path = path };
    // Before the trace is opened: it may be replaced in between.
    if (stat(path, &in->file)) in->file = (struct stat){ .st_mode = 0 };
    return cli_trace_open(&in->trace, &tool, path, NULL, CLI_WARN_ALL);
}

// What notes can be kept beside: not a pipe.
static bool is_file(const input *in)
{
    return S_ISREG(in->file.st_mode);
}

// b: a second trace to compare with, or NULL.
static bool serve(const input *a, const input *b)
{
    scene *s = NULL, *second = NULL;
    const bool opened = scene_open(&s, a->trace.reader) == TS_OK &&
                        (!b || scene_open(&second, b->trace.reader) == TS_OK);
    char *const report = opened ? report_of(a->path) : NULL;
    const studio_about about = { last_part(a->path), report,
                                 b ? last_part(b->path) : NULL };
    const studio_server_desc desc = { .tool = &tool,
                                      .scene = s,
                                      .other_scene = second,
                                      .about = &about,
                                      .path = is_file(a) ? a->path : NULL,
                                      .other = b && is_file(b) ? b->path : NULL,
                                      .file = a->file,
                                      .other_file =
                                          b ? b->file : (struct stat){ 0 },
                                      .port = (uint16_t)port,
                                      .no_browser = no_browser };
    const bool ok = opened ? studio_serve(&desc) : cli_out_of_memory(&tool);
    free(report);
    scene_close(second);
    scene_close(s);
    return ok;
}

static bool open_and_serve(const char *path, const char *other_path)
{
    input a, b;
    bool ok = open_input(&a, path);
    if (!ok) return false;
    if (!other_path) {
        ok = serve(&a, NULL);
    } else if ((ok = open_input(&b, other_path))) {
        ok = serve(&a, &b);
        cli_trace_close(&b.trace);
    }
    cli_trace_close(&a.trace);
    return ok;
}

static bool check_usage(int argc)
{
    if (hosted && (!output_text || argc > 1))
        cli_error(&tool, NULL, "--hosted needs -o PAGE, and no trace");
    else if (hosted)
        return true;
    else if (argc < 2 || argc > 3)
        cli_error(&tool, NULL, "%s",
                  argc < 2 ? "a trace to read is required"
                           : "at most two traces can be shown at a time");
    else if (output_text && argc > 2)
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
    const char *const path = hosted ? NULL : argv[1];
    if (!cli_outputs_check(&tool, &output, 1, &path, !hosted)) return CLI_USAGE;
    if (output_text)
        return cli_finish(&tool, write_page(path) ? CLI_OK : CLI_FAILED);
    const bool ok = open_and_serve(path, argc > 2 ? argv[2] : NULL);
    return cli_finish(&tool, ok ? CLI_OK : CLI_FAILED);
}
