/*
    ts-studio.c - a trace in a browser: one page, or a server for this machine
*/
#include "tools/cli/context.h"
#include "tools/studio/serve/serve.h"
#include "tools/tracesmith_tools.h"

static const char *output_text;
static bool no_report, no_browser, has_port;
static uint64_t port;

static const cli_option options[] = {
    { .name = "-o, --output PAGE",
      .help = "write an HTML file that contains the trace, works without\n"
              "a network and sends nothing (default: start a server)",
      .text = &output_text },
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
    .usage = "[options] FILE",
    .about =
        "Shows a trace in a browser: timeline, search, statistics, causes of "
        "idle time,\ncritical path, and the effect of changes. Starts a server "
        "on this machine,\nwhich also follows a trace that is still being "
        "recorded; with -o, writes one\npage.",
    .options = options,
};

/* ---- What ts-analyze says ------------------------------------------------ */

// An analysis of more operations takes too long to be waited for.
#define REPORT_OPERATIONS UINT64_C(2000000)

static void put_answers(cli_json *json, ts_analysis *a)
{
    ts_analysis_answer answer;
    cli_json_open(json, "answers", '[');
    for (size_t i = 0; ts_analysis_answer_at(a, i, &answer, NULL); i++) {
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "topic", answer.topic);
        cli_json_string(json, "title", answer.title);
        cli_json_text(json, "answer", answer.answer.text, answer.answer.size);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void put_finding(cli_json *json, const ts_analysis_finding *f)
{
    static const char *const severities[] = { "info", "warning", "severe" };
    cli_json_open(json, NULL, '{');
    cli_json_string(json, "title", f->title);
    cli_json_string(json, "severity", severities[f->severity]);
    cli_json_text(json, "what", f->what.text, f->what.size);
    cli_json_text(json, "todo", f->todo.text, f->todo.size);
    cli_json_text(json, "how", f->how.text, f->how.size);
    if (f->has_gain)
        cli_json_int(json, "gain_ns", f->gain_ns);
    else
        cli_json_null(json, "gain_ns");
    cli_json_int(json, "of_ns", f->of_ns);
    if (f->has_time) {
        cli_json_int(json, "from_ns", f->from_ns);
        cli_json_int(json, "to_ns", f->to_ns);
    } else {
        cli_json_null(json, "from_ns");
        cli_json_null(json, "to_ns");
    }
    cli_json_close(json, '}');
}

static char *write_report(ts_analysis *a)
{
    ts_analysis_finding finding;
    char *text = NULL;
    size_t size;
    FILE *const memory = open_memstream(&text, &size);
    if (!memory) return NULL;
    cli_json json = { .out = memory };
    cli_json_open(&json, NULL, '{');
    put_answers(&json, a);
    cli_json_open(&json, "findings", '[');
    for (size_t i = 0; ts_analysis_finding_at(a, i, &finding, NULL); i++)
        put_finding(&json, &finding);
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
    fclose(memory);
    return text;
}

// Returns what ts-analyze says, as JSON, or NULL: the page does without it.
static char *report_of(const char *path, const ts_info *info)
{
    uint64_t operations = 0;
    for (int i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        operations += info->counts[i];
    if (no_report || operations > REPORT_OPERATIONS || !strcmp(path, "-"))
        return NULL;
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    ts_analysis *a;
    char *report = NULL;
    if (ts_analysis_open(&a, &desc, NULL) == TS_OK) report = write_report(a);
    ts_analysis_close(a);
    return report;
}

/* ---- A page -------------------------------------------------------------- */

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Reads a whole file; NULL, with the reason on stderr, if that fails.
static void *read_trace(const cli_trace *trace, const char *path, size_t *size)
{
    *size = (size_t)trace->info->file_bytes;
    FILE *const file = fopen(path, "rb");
    void *const bytes = file ? malloc(*size + 1) : NULL;
    const bool ok = bytes && fread(bytes, 1, *size, file) == *size;
    if (!ok) cli_error(&tool, path, "it cannot be read for the page");
    if (file) fclose(file);
    if (ok) return bytes;
    free(bytes);
    return NULL;
}

static bool write_page(const cli_trace *trace, const char *path)
{
    const bool fits = trace->info->file_bytes <= STUDIO_EMBEDDED_BYTES;
    size_t size = 0;
    void *const bytes =
        fits && !trace->bytes ? read_trace(trace, path, &size) : NULL;
    if (fits && !bytes && !trace->bytes) return false;
    char *const report = report_of(path, trace->info);
    const studio_about about = { base_of(path), report };
    cli_out out;
    bool ok = cli_out_open(&out, &tool, output_text);
    if (ok) {
        if (trace->bytes) size = (size_t)trace->info->file_bytes;
        studio_page_write(&about, fits && trace->bytes ? trace->bytes : bytes,
                          size, out.stream);
        ok = cli_out_close(&out, true);
    }
    if (ok && !fits)
        cli_hint(&tool,
                 "The trace is larger than %" PRIu64
                 " MiB: the page does not contain it, and asks for the file.",
                 STUDIO_EMBEDDED_BYTES >> 20);
    free(report);
    free(bytes);
    return ok;
}

/* ---- A server ------------------------------------------------------------ */

static bool serve(const cli_trace *trace, const char *path)
{
    scene *s;
    if (scene_open(&s, trace->reader) != TS_OK) return cli_out_of_memory(&tool);
    char *const report = report_of(path, trace->info);
    const studio_about about = { base_of(path), report };
    const studio_server_desc desc = { .tool = &tool,
                                      .scene = s,
                                      .about = &about,
                                      .port = (uint16_t)port,
                                      .no_browser = no_browser };
    const bool ok = studio_serve(&desc);
    free(report);
    scene_close(s);
    return ok;
}

static bool check_usage(int argc)
{
    if (argc != 2)
        cli_error(&tool, NULL, "%s",
                  argc < 2 ? "a trace to read is required"
                           : "exactly one trace can be shown at a time");
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
    const char *const path = argv[1];
    if (!cli_outputs_check(&tool, &output, 1, &path, 1)) return CLI_USAGE;
    cli_trace trace;
    if (!cli_trace_open(&trace, &tool, path, NULL, CLI_WARN_ALL))
        return CLI_FAILED;
    const bool ok =
        output_text ? write_page(&trace, path) : serve(&trace, path);
    cli_trace_close(&trace);
    return cli_finish(&tool, ok ? CLI_OK : CLI_FAILED);
}
