/*
    request.c - chooses the format, checks options and output
*/
#include "tools/export/request.h"

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t size = strlen(name), tail = strlen(suffix);
    return size >= tail && !strcmp(name + size - tail, suffix);
}

// dot has no export_format, because a graph is not made of slices.
static const char *const dot_suffixes[] = { ".dot", ".gv", NULL };
static const export_format graph = { .name = "dot", .suffixes = dot_suffixes };

static const export_format *const formats[] = { &export_perfetto,
                                                &export_chrome, &graph };
enum { FORMATS = sizeof formats / sizeof *formats };

static const export_format *find_format(const cli_tool *tool,
                                        const ts_export_desc *desc)
{
    const char *const path = desc->output.path ? desc->output.path : "";
    for (size_t i = 0; i < FORMATS; i++) {
        if (desc->format) {
            if (!strcmp(formats[i]->name, desc->format)) return formats[i];
            continue;
        }
        for (const char *const *s = formats[i]->suffixes; *s; s++)
            if (has_suffix(path, *s)) return formats[i];
    }
    if (desc->format)
        cli_fail(tool, TS_ERR_USAGE, NULL,
                 "unknown format '%s'; use perfetto, chrome or dot",
                 desc->format);
    else
        cli_fail(tool, TS_ERR_USAGE, NULL,
                 "the name '%s' does not determine the format; use --format "
                 "perfetto, chrome or dot",
                 path);
    return NULL;
}

static export_packing find_packing(const export_format *format,
                                   const ts_export_desc *desc)
{
    const char *const path = desc->output.path ? desc->output.path : "";
    if (format->packing == EXPORT_GZIP)
        return has_suffix(path, ".gz") ? EXPORT_GZIP : EXPORT_PLAIN;
    return desc->no_compress ? EXPORT_PLAIN : format->packing;
}

static cli_kind kind_of(const export_request *request)
{
    if (!request->slices) return CLI_DOT;
    if (request->packing == EXPORT_GZIP) return CLI_GZIP;
    return request->slices == &export_chrome ? CLI_CHROME : CLI_PERFETTO;
}

const char *export_output_name(const ts_output *output)
{
    if (!output->path) return "the output";
    return strcmp(output->path, "-") != 0 ? output->path : "standard output";
}

bool export_request_read(export_request *request, const cli_tool *tool,
                         const ts_export_desc *desc)
{
    const char *const path = desc->output.path;
    const export_format *const format = find_format(tool, desc);
    if (!format) return false;
    *request = (export_request){ .format = format->name,
                                 .slices = format == &graph ? NULL : format,
                                 .packing = find_packing(format, desc) };
    if ((desc->collapse || desc->limit || desc->no_limit || desc->nodes) &&
        request->slices)
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "--collapse, --nodes and --limit require --format dot");
    if (!path) return true;
    if (strcmp(path, "-") != 0 && cli_same_file(desc->path, path))
        return cli_fail(tool, TS_ERR_IO, path,
                        "is the input trace; choose another output");
    return cli_replace_check(tool, path, kind_of(request));
}
