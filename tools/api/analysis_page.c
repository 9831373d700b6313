/*
    analysis_page.c - a trace, and what an analysis says of it, as one page
*/
#include "tools/api/call.h"
#include "tools/studio/page/page.h"
#include "tools/studio/scene/wire.h"

static const cli_tool tool = { .name = "ts-studio" };

/* ---- What the analysis says ---------------------------------------------- */

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

static bool is_short(const char *path)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    uint64_t operations = 0;
    if (ts_reader_open(&reader, &desc) != TS_OK) return false;
    for (int i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        operations += ts_reader_info(reader)->counts[i];
    ts_reader_close(reader);
    return operations <= REPORT_OPERATIONS;
}

// Returns what ts-analyze says, as JSON, or NULL: the page does without it.
static char *report_of(const char *path)
{
    const ts_analysis_desc desc = { .paths = &path, .path_count = 1 };
    ts_analysis *a;
    char *report = NULL;
    if (!strcmp(path, "-") || !is_short(path)) return NULL;
    if (ts_analysis_open(&a, &desc, NULL) == TS_OK) report = write_report(a);
    ts_analysis_close(a);
    return report;
}

static bool put_report(const char *path, const char *report, api_call *call,
                       const ts_output *output)
{
    api_output to;
    if (!report)
        return cli_fail(&tool, TS_ERR_NOT_FOUND, path,
                        "there is no analysis of it for a page");
    if (!api_output_check(&tool, output, CLI_JSON, &path, 1) ||
        !api_output_open(&to, call, &tool, output))
        return false;
    fputs(report, to.stream);
    return api_output_close(&to, call, &tool, true);
}

ts_result ts_page_report_write(const char *path, const ts_output *output,
                               ts_error *error)
{
    api_call call;
    char *const report = report_of(path);
    const bool ok = api_begin(&call, NULL, NULL, error) &&
                    put_report(path, report, &call, output);
    free(report);
    return api_end(&call, ok);
}

/* ---- Names of C++ and Rust ----------------------------------------------- */

// As the module of the page, which cannot read them, takes them.
enum { NAMES_MOST = 32768, NAMES_BYTES = 4 << 20 };

// Whether the module takes a text: JSON has U+FFFD, which is longer, for each
// byte that is not valid UTF-8, and then it is another text.
static bool is_taken(const char *text)
{
    static const char replacement[] = "\xef\xbf\xbd";
    size_t left = strlen(text);
    if (left > SCENE_MOST_NAME) return false;
    while (left) {
        uint32_t code;
        const size_t size = cli_utf8(text, left, &code);
        if (code == 0xfffd && strncmp(text, replacement, 3)) return false;
        text += size;
        left -= size;
    }
    return true;
}

// What a mangled name is read as; NULL: it remains as it is. Free with free().
static char *read_name(ts_text name)
{
    if (strlen(name.text) != name.size || !is_taken(name.text)) return NULL;
    char *const shown = cli_demangle(name.text);
    if (!shown || is_taken(shown)) return shown;
    free(shown);
    return NULL;
}

// The names of a trace that were mangled, and what they are read as: a list of
// pairs as JSON. NULL: there are none.
static char *names_of(const ts_reader *reader)
{
    const uint32_t count = ts_reader_info(reader)->name_count;
    char *text = NULL;
    size_t size = 0, kept = 0;
    FILE *const memory = open_memstream(&text, &size);
    if (!memory) return NULL;
    cli_json json = { .out = memory };
    cli_json_open(&json, NULL, '[');
    // Writers number names from 1 on.
    for (uint32_t i = 1; i <= count && kept < NAMES_MOST; i++) {
        const ts_text name = ts_reader_name(reader, i);
        char *const shown = read_name(name);
        if (!shown) continue;
        cli_json_text(&json, NULL, name.text, name.size);
        cli_json_string(&json, NULL, shown);
        free(shown);
        kept++;
        fflush(memory);
        if (size > NAMES_BYTES) break;
    }
    cli_json_close(&json, ']');
    fclose(memory);
    if (kept) return text;
    free(text);
    return NULL;
}

/* ---- A page -------------------------------------------------------------- */

static const char *base_of(const char *path)
{
    const char *const slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

// Reads a whole file; NULL, with the reason reported, if that fails.
static void *read_trace(const char *path, size_t size)
{
    FILE *const file = fopen(path, "rb");
    void *bytes = file ? malloc(size + 1) : NULL;
    if (bytes && fread(bytes, 1, size, file) != size) {
        free(bytes);
        bytes = NULL;
    }
    if (file) fclose(file);
    if (!bytes)
        cli_fail(&tool, TS_ERR_IO, path, "it cannot be read for the page");
    return bytes;
}

// bytes: of the trace; NULL: it is not put into the page.
static bool put_bytes(const studio_about *about, const void *bytes, size_t size,
                      api_call *call, const ts_output *output)
{
    api_output to;
    if (!api_output_open(&to, call, &tool, output)) return false;
    studio_page_write(about, bytes, size, to.stream);
    return api_output_close(&to, call, &tool, true);
}

static bool put_page(const ts_page_desc *desc, const char *report,
                     api_call *call, const ts_output *output)
{
    const char *const path = desc->path;
    studio_about about = { .name = base_of(desc->path), .report = report };
    cli_trace trace;
    if (!api_output_check(&tool, output, CLI_HTML, &path, 1) ||
        !cli_trace_open(&trace, &tool, path, NULL, CLI_WARN_ALL))
        return false;
    const size_t size = (size_t)trace.info->file_bytes;
    const bool fits = trace.info->file_bytes <= STUDIO_EMBEDDED_BYTES;
    void *const read = fits && !trace.bytes ? read_trace(path, size) : NULL;
    const void *const bytes = fits && trace.bytes ? trace.bytes : read;
    char *const names = fits && !desc->mangled ? names_of(trace.reader) : NULL;
    about.names = names;
    const bool ok = (bytes || !fits) &&
                    put_bytes(&about, bytes, fits ? size : 0, call, output);
    free(names);
    free(read);
    cli_trace_close(&trace);
    if (ok && !fits)
        cli_hint(&tool,
                 "The trace is larger than %" PRIu64
                 " MiB: the page does not contain it, and asks for the file.",
                 STUDIO_EMBEDDED_BYTES >> 20);
    return ok;
}

// A page without a trace, which may ask its own host for one.
static bool put_hosted(api_call *call, const ts_output *output)
{
    api_output to;
    size_t size;
    char *const page = studio_page_served(&size);
    if (!page) return cli_out_of_memory(&tool);
    const bool opened = api_output_check(&tool, output, CLI_HTML, NULL, 0) &&
                        api_output_open(&to, call, &tool, output);
    if (opened) fwrite(page, 1, size, to.stream);
    free(page);
    return opened && api_output_close(&to, call, &tool, true);
}

ts_result ts_page_write(const ts_page_desc *desc, const ts_output *output,
                        ts_error *error)
{
    api_call call;
    const bool given = desc->path != NULL;
    char *const report =
        given && !desc->no_report ? report_of(desc->path) : NULL;
    bool ok = api_begin(&call, &desc->observer, NULL, error);
    if (ok && !given && !desc->hosted)
        ok = api_refuse(&tool, "a trace to read is required");
    call.fallback = TS_ERR_IO;
    ok = ok && (given ? put_page(desc, report, &call, output)
                      : put_hosted(&call, output));
    free(report);
    return api_end(&call, ok);
}
