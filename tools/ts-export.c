/*
    ts-export.c - a trace for other viewers: Perfetto, Chrome, Graphviz
*/
#include "tools/cli/cli.h"
#include "tools/export/dot.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include <sys/stat.h>

static bool want_json, collapse, has_limit, has_nodes, no_args, no_flows,
    no_compress, no_salvage;
static const char *output, *format_name;
static uint64_t limit, nodes;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "where to write; - is standard output",
      .text = &output },
    { .name = "--format NAME",
      .help = "perfetto, chrome or dot (by the name of the output:\n"
              ".perfetto-trace, .pftrace, .pb; .json, .json.gz; .dot,\n"
              ".gv)",
      .text = &format_name },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--collapse",
      .help = "dot: operations in a row on a stream, between which\n"
              "nothing else waits or is waited for, are one node",
      .flag = &collapse },
    { .name = "--nodes N",
      .help = "dot: join what is near in time until there are at most N\n"
              "nodes; 60 make a picture of any trace",
      .flag = &has_nodes,
      .number = &nodes },
    { .name = "--limit N",
      .help = "dot: refuse more than N nodes (1000); 0: none",
      .flag = &has_limit,
      .number = &limit },
    { .name = "--no-args",
      .help = "leave out arguments and source locations",
      .flag = &no_args },
    { .name = "--no-flows",
      .help = "leave out arrows between launches and GPU operations,\n"
              "and those of flows",
      .flag = &no_flows },
    { .name = "--no-compress",
      .help = "do not deflate the packets of a Perfetto trace",
      .flag = &no_compress },
    { .name = "--no-salvage",
      .help = "leave an unfinished trace as it is",
      .flag = &no_salvage },
    { .name = "--no-symbols",
      .help = "name frames of call stacks as the trace does: look into\n"
              "no file of this machine",
      .flag = &symbolize_off },
    { .name = "--json",
      .help = "print what was written as one JSON object",
      .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-export",
    .usage = "[options] -o FILE TRACE",
    .about = "Writes a trace for other viewers: as a Perfetto trace "
             "(https://ui.perfetto.dev)\nor as Chrome JSON; its graph of "
             "GPU operations for Graphviz.",
    .options = options,
};

/* ---- Choosing ----------------------------------------------------------- */

static bool has_suffix(const char *name, const char *suffix)
{
    const size_t size = strlen(name), tail = strlen(suffix);
    return size >= tail && !strcmp(name + size - tail, suffix);
}

// A graph, which is not made of slices.
static const char *const dot_suffixes[] = { ".dot", ".gv", NULL };
static const export_format dot_format = { .name = "dot",
                                          .suffixes = dot_suffixes };

static const export_format *const formats[] = { &export_perfetto,
                                                &export_chrome, &dot_format };
enum { FORMATS = sizeof formats / sizeof *formats };

static const export_format *find_format(void)
{
    for (size_t i = 0; i < FORMATS; i++) {
        if (format_name) {
            if (!strcmp(formats[i]->name, format_name)) return formats[i];
            continue;
        }
        for (const char *const *s = formats[i]->suffixes; *s; s++)
            if (has_suffix(output, *s)) return formats[i];
    }
    if (format_name)
        cli_error(&tool, NULL,
                  "there is no format '%s'; there are perfetto, chrome and dot",
                  format_name);
    else
        cli_error(&tool, NULL,
                  "'%s' does not tell the format; name it with --format "
                  "perfetto, chrome or dot",
                  output);
    return NULL;
}

static export_packing find_packing(const export_format *format)
{
    if (format->packing == EXPORT_GZIP)
        return has_suffix(output, ".gz") ? EXPORT_GZIP : EXPORT_PLAIN;
    return no_compress ? EXPORT_PLAIN : format->packing;
}

// Of a build without zlib: what was asked for cannot be had, or is larger.
static bool packing_is_there(export_packing *packing)
{
    if (*packing == EXPORT_PLAIN || export_packs) return true;
    if (*packing == EXPORT_GZIP) {
        cli_error(&tool, output,
                  "this ts-export was built without zlib, which compresses; "
                  "leave out .gz");
        return false;
    }
    cli_error(&tool, output,
              "is not compressed: this ts-export was built without zlib");
    *packing = EXPORT_PLAIN;
    return true;
}

// Of the file that is written.
static cli_kind kind_of(const export_format *format)
{
    if (format == &dot_format) return CLI_DOT;
    if (find_packing(format) == EXPORT_GZIP) return CLI_GZIP;
    return format == &export_chrome ? CLI_CHROME : CLI_PERFETTO;
}

// Of the window; both 0: all. Other formats get the part of the trace, which
// has the calls of what is in the window, too.
static int64_t from_ns(void)
{
    return selected.has_from ? selected.from_ns
           : selected.has_to ? INT64_MIN
                             : 0;
}

static int64_t to_ns(void)
{
    return selected.has_to ? selected.to_ns : selected.has_from ? INT64_MAX : 0;
}

/* ---- Exporting ---------------------------------------------------------- */

typedef struct meter {
    cli_progress bar;
    int64_t first_ns, last_ns;
} meter;

static void show_progress(void *user, int64_t now_ns)
{
    meter *const m = user;
    if (now_ns < m->first_ns) now_ns = m->first_ns;
    cli_progress_show(&m->bar, (uint64_t)now_ns - (uint64_t)m->first_ns,
                      (uint64_t)m->last_ns - (uint64_t)m->first_ns);
}

static void print_counts(const export_format *format,
                         const export_counts *counts)
{
    struct stat status;
    const bool is_file = !stat(output, &status) && S_ISREG(status.st_mode);
    const uint64_t size = is_file ? (uint64_t)status.st_size : 0;
    if (want_json) {
        cli_json json = { .out = stdout, .lines = 1 };
        cli_json_open(&json, NULL, '{');
        cli_json_string(&json, "format", format->name);
        cli_json_string(&json, "output", output);
        cli_json_uint(&json, "bytes", size);
        cli_json_uint(&json, "slices", counts->slices);
        cli_json_uint(&json, "instants", counts->instants);
        cli_json_uint(&json, "samples", counts->samples);
        cli_json_uint(&json, "arrows", counts->arrows);
        cli_json_uint(&json, "lanes", counts->lanes);
        cli_json_close(&json, '}');
        return;
    }
    cli_put_path(stdout, output);
    printf(": %s, %s, %s, %s on %s",
           cli_counted(counts->slices, "slice", "slices").s,
           cli_counted(counts->instants, "instant", "instants").s,
           cli_counted(counts->samples, "sample", "samples").s,
           cli_counted(counts->arrows, "arrow", "arrows").s,
           cli_counted(counts->lanes, "track", "tracks").s);
    if (is_file) printf(", %s", cli_bytes(size).s);
    putchar('\n');
}

static void print_dot_counts(const dot_counts *counts)
{
    if (want_json) {
        cli_json json = { .out = stdout, .lines = 1 };
        cli_json_open(&json, NULL, '{');
        cli_json_string(&json, "format", dot_format.name);
        cli_json_string(&json, "output", output);
        cli_json_uint(&json, "operations", counts->operations);
        cli_json_uint(&json, "calls", counts->calls);
        cli_json_uint(&json, "nodes", counts->nodes);
        cli_json_uint(&json, "edges", counts->edges);
        cli_json_uint(&json, "left_out", counts->left_out);
        cli_json_close(&json, '}');
        return;
    }
    cli_put_path(stdout, output);
    printf(": %s operations and %s calls as %s nodes, %s edges",
           cli_count(counts->operations).s, cli_count(counts->calls).s,
           cli_count(counts->nodes).s, cli_count(counts->edges).s);
    if (counts->left_out)
        printf("; %s lead out of the range", cli_count(counts->left_out).s);
    putchar('\n');
}

static uint64_t node_limit(void)
{
    return has_limit ? limit : 1000;
}

static void say_dot(const char *input, dot_result result,
                    const dot_counts *counts, ts_result error)
{
    if (result == DOT_NOTHING)
        cli_error(&tool, input, "no operation of a device is %s",
                  select_any() ? "selected" : "in the trace");
    else if (result == DOT_TOO_MANY)
        cli_error(&tool, input,
                  "%s nodes would be drawn%s; more than %s make no picture: "
                  "take a part with --from and --to, join what is near with "
                  "--nodes 60, or raise --limit",
                  cli_count(counts->nodes).s,
                  collapse ? " even with --collapse" : "",
                  cli_count(node_limit()).s);
    else if (result == DOT_FAILED)
        cli_error(&tool, input, "%s", ts_result_text(error));
}

static int export_graph(const cli_trace *trace, const char *input)
{
    const char *why;
    const char *const name = strcmp(output, "-") ? output : "standard output";
    export_out *const out = export_out_open(output, EXPORT_PLAIN, &why);
    if (!out) {
        cli_error(&tool, name, "%s: %s", why, strerror(errno));
        return CLI_FAILED;
    }
    const size_t known = ts_reader_damage_count(trace->reader);
    const dot_options wanted = { .from_ns = from_ns(),
                                 .to_ns = to_ns(),
                                 .collapse = collapse,
                                 .nodes = nodes,
                                 .limit = node_limit() };
    dot_counts counts;
    ts_result error;
    const dot_result result =
        export_dot(trace->reader, out, &wanted, &counts, &error);
    const int failed = export_out_close(out, result == DOT_OK);
    say_dot(input, result, &counts, error);
    if (failed)
        cli_error(&tool, name, "cannot be written: %s", strerror(failed));
    if (result != DOT_OK || failed) return CLI_FAILED;
    if (strcmp(output, "-")) print_dot_counts(&counts);
    if (!cli_trace_damage(trace, &tool, input, known)) return CLI_OK;
    cli_error(&tool, input, "the output has everything else");
    return CLI_FAILED;
}

// Writes the output; says what went wrong.
static int export_trace(const cli_trace *trace, const char *input,
                        const export_format *format)
{
    const char *why;
    const char *const name = strcmp(output, "-") ? output : "standard output";
    export_packing packing = find_packing(format);
    if (!packing_is_there(&packing)) return CLI_FAILED;
    export_out *const out = export_out_open(output, packing, &why);
    if (!out) {
        cli_error(&tool, name, "%s: %s", why, strerror(errno));
        return CLI_FAILED;
    }
    meter m = { .bar = { .what = "exporting" },
                .first_ns = trace->info->first_ns,
                .last_ns = trace->info->last_ns };
    const export_options wanted = { .no_args = no_args,
                                    .no_flows = no_flows,
                                    .progress = show_progress,
                                    .user = &m };
    const size_t known = ts_reader_damage_count(trace->reader);
    export_counts counts;
    const ts_result result =
        export_walk(trace->reader, format, out, &wanted, &counts);
    cli_progress_end(&m.bar);
    const int error = export_out_close(out, true);
    if (error) {
        cli_error(&tool, name, "cannot be written: %s", strerror(error));
        return CLI_FAILED;
    }
    if (strcmp(output, "-")) print_counts(format, &counts);
    if (trace->info->unknown_events)
        cli_error(&tool, input,
                  "%s events are of kinds that this version does not know; "
                  "they are not in the output",
                  cli_count(trace->info->unknown_events).s);
    const size_t damage = cli_trace_damage(trace, &tool, input, known);
    if (result == TS_OK && !damage) return CLI_OK;
    cli_error(&tool, input, "%s; the output has everything else",
              ts_result_text(result != TS_OK ? result : TS_ERR_CORRUPT));
    return CLI_FAILED;
}

int main(int argc, char **argv)
{
    cli_parse(&tool, &argc, argv);
    if (argc != 2) return cli_usage(&tool);
    if (!output) {
        cli_error(&tool, NULL, "where to? -o FILE names the output");
        return CLI_USAGE;
    }
    const char *const input = argv[1];
    const export_format *const format = find_format();
    if (!format || !select_check(&tool)) return CLI_USAGE;
    if ((collapse || has_limit || has_nodes) && format != &dot_format) {
        cli_error(&tool, NULL,
                  "--collapse, --nodes and --limit go with --format dot");
        return CLI_USAGE;
    }
    if (has_nodes && !nodes) {
        cli_error(&tool, NULL, "--nodes 0: at least one is needed");
        return CLI_USAGE;
    }
    if (strcmp(output, "-") != 0 && cli_same_file(input, output)) {
        cli_error(&tool, output, "is the trace itself; name another output");
        return CLI_USAGE;
    }
    if (!cli_replace_check(&tool, output, kind_of(format))) return CLI_USAGE;
    cli_trace trace;
    const ts_reader_desc desc = { .no_salvage = no_salvage };
    if (format == &dot_format)
        select_install_window();
    else
        select_install();
    if (!cli_trace_open(&trace, &tool, input, &desc, CLI_WARN_ALL))
        return CLI_FAILED;
    const bool inside = cli_window_check(
        &trace, &tool, selected.has_from ? &selected.from_ns : NULL,
        selected.has_to ? &selected.to_ns : NULL);
    const int code = !inside ? CLI_FAILED
                     : format == &dot_format
                         ? export_graph(&trace, input)
                         : export_trace(&trace, input, format);
    cli_trace_close(&trace);
    return cli_finish(&tool, code);
}
