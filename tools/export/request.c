/*
    request.c - chooses the format, checks options and output
*/
#include "tools/export/request.h"
#include <stdio.h>

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t size = strlen(name), tail = strlen(suffix);
    return size >= tail && !strcmp(name + size - tail, suffix);
}

// What is not made of slices has only a name here.
static const char *const dot_suffixes[] = { ".dot", ".gv", NULL };
static const char *const no_suffixes[] = { NULL };
static const export_format graph = { .name = "dot",
                                     .kind = CLI_DOT,
                                     .suffixes = dot_suffixes };
static const export_format parquet = { .name = "parquet",
                                       .suffixes = no_suffixes };
static const char *const nsys_suffixes[] = { ".sqlite", NULL };
static const export_format nsys = { .name = "nsys",
                                    .kind = CLI_DATABASE,
                                    .suffixes = nsys_suffixes };
static const char *const otf2_suffixes[] = { ".otf2", NULL };
static const export_format otf2 = { .name = "otf2", .suffixes = otf2_suffixes };
static const export_format csv = { .name = "csv", .suffixes = no_suffixes };

// The first one whose suffix fits is taken.
static const export_format *const formats[] = {
    &export_perfetto,
    &export_kineto,
    &export_speedscope,
    &export_chrome,
    &graph,
    &parquet,
    &csv,
    &nsys,
    &otf2,
    &export_chakra,
    &export_pprof,
    &export_folded,
};
enum { FORMATS = sizeof formats / sizeof *formats };

static bool refuse_format(const cli_tool *tool, const ts_export_desc *desc)
{
    const char *const path = desc->output.path ? desc->output.path : "";
    char names[256];
    size_t size = 0;
    for (size_t i = 0; i < FORMATS && size < sizeof names; i++)
        size += (size_t)snprintf(names + size, sizeof names - size, "%s%s",
                                 !i                ? ""
                                 : i + 1 < FORMATS ? ", "
                                                   : " or ",
                                 formats[i]->name);
    if (desc->format)
        return cli_fail(tool, TS_ERR_USAGE, NULL, "unknown format '%s'; use %s",
                        desc->format, names);
    return cli_fail(tool, TS_ERR_USAGE, NULL,
                    "the name '%s' does not determine the format; use --format "
                    "%s",
                    path, names);
}

static const export_format *find_format(const ts_export_desc *desc)
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

static bool is_slices(const export_format *format)
{
    return format->open || format->walk;
}

static export_tables tables_of(const export_format *format)
{
    if (format == &csv) return EXPORT_CSV;
    if (format == &nsys) return EXPORT_NSYS;
    if (format == &otf2) return EXPORT_OTF2;
    return format == &parquet ? EXPORT_PARQUET : EXPORT_NO_TABLES;
}

// Tables are what SQL sees: options that shape a picture make no sense there.
static bool check_tables(const export_request *request, const cli_tool *tool,
                         const ts_export_desc *desc)
{
    const char *const path = desc->output.path;
    const char *const option =
        desc->collapse                                    ? "--collapse"
        : desc->nodes                                     ? "--nodes"
        : desc->limit || desc->no_limit                   ? "--limit"
        : desc->no_args && request->tables != EXPORT_OTF2 ? "--no-args"
        : desc->no_flows                                  ? "--no-flows"
        : desc->tables && (request->tables == EXPORT_NSYS ||
                           request->tables == EXPORT_OTF2)
            ? "--tables"
            : NULL;
    if (option)
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "%s does not apply to --format %s", option,
                        request->format);
    const bool is_named = path && *path && strcmp(path, "-") != 0;
    if (request->tables == EXPORT_NSYS) {
        const cli_output output = { "-o", path, CLI_DATABASE };
        if (is_named)
            return cli_regular_check(tool, path) &&
                   cli_outputs_check(tool, &output, 1, &desc->path, 1);
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "a database must be written to a file");
    }
    if (is_named) return true;
    return cli_fail(tool, TS_ERR_USAGE, NULL,
                    "--format %s writes a folder: name it with -o FOLDER/",
                    request->format);
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
    const export_format *const format = find_format(desc);
    if (!format) return refuse_format(tool, desc);
    *request = (export_request){ .format = format->name,
                                 .tables = tables_of(format),
                                 .slices = is_slices(format) ? format : NULL,
                                 .packing = find_packing(format, desc) };
    if (request->tables) return check_tables(request, tool, desc);
    if (desc->tables)
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "--tables requires --format parquet or csv");
    if ((desc->collapse || desc->limit || desc->no_limit || desc->nodes) &&
        request->slices)
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "--collapse, --nodes and --limit require --format dot");
    if ((format->of_samples || format->of_operations) &&
        (desc->no_args || desc->no_flows))
        return cli_fail(
            tool, TS_ERR_USAGE, NULL, "%s does not apply to --format %s",
            desc->no_args ? "--no-args" : "--no-flows", format->name);
    if (!path) return true;
    if (strcmp(path, "-") != 0 && cli_same_file(desc->path, path))
        return cli_fail(tool, TS_ERR_IO, path,
                        "is the input trace; choose another output");
    const bool packed = request->packing == EXPORT_GZIP;
    return cli_replace_check(tool, path, packed ? CLI_GZIP : format->kind);
}
