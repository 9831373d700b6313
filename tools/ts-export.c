/*
    ts-export.c - a trace for other programs: viewers, databases
*/
#include "tools/cli/cli.h"
#include "tools/export/request.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include "tools/tracesmith_tools.h"

static bool option_json, collapse, has_limit, has_nodes, no_args, no_flows,
    no_compress, no_salvage;
static const char *output, *format_name, *tables;
static uint64_t limit, nodes;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the file to write; - is standard output. With parquet,\n"
              "csv and otf2 a folder",
      .text = &output },
    { .name = "--format NAME",
      .help = "perfetto, kineto, chrome, dot, chakra, nsys or otf2\n"
              "(default: by the name of the output: .perfetto-trace,\n"
              ".pftrace, .pb; .pt.trace.json; .json; the last two also\n"
              "with .gz; .dot, .gv; .et; .sqlite; .otf2); parquet or\n"
              "csv: a file for each table of ts-query; of the samples\n"
              "of profiles: speedscope, pprof, folded\n"
              "(.speedscope.json; .pb.gz, .pprof; .folded)",
      .text = &format_name },
    { .name = "--tables LIST",
      .help = "parquet, csv: write these tables and views of ts-query,\n"
              "separated by commas (default: all, but not the views\n"
              "with the names of Nsight Systems)",
      .text = &tables },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--collapse",
      .help = "dot: merge consecutive operations of a stream that have\n"
              "no other dependencies in between into one node",
      .flag = &collapse },
    { .name = "--nodes N",
      .help = "dot: merge operations that are close in time until at\n"
              "most N nodes are left; 60 suits a trace of any size",
      .flag = &has_nodes,
      .number = &nodes },
    { .name = "--limit N",
      .help = "dot: refuse more than N nodes (default: 1000); 0: no\n"
              "limit",
      .flag = &has_limit,
      .number = &limit },
    { .name = "--no-args",
      .help = "omit arguments and source locations",
      .flag = &no_args },
    { .name = "--no-flows",
      .help = "omit arrows between launches and GPU operations, and\n"
              "those of flows",
      .flag = &no_flows },
    { .name = "--no-compress",
      .help = "do not compress packets of Perfetto and pages of Parquet",
      .flag = &no_compress },
    { .name = "--no-salvage",
      .help = "do not change an unfinished trace",
      .flag = &no_salvage },
    SYMBOLIZE_OPTION,
    { .name = "--json",
      .help = "print a summary of the output as one JSON object",
      .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-export",
    .usage = "[options] -o FILE TRACE",
    .about =
        "Converts a trace for other programs: to a Perfetto trace\n"
        "(https://ui.perfetto.dev), Kineto's or Chrome's JSON, a database "
        "like\nthat of Nsight Systems, its graph of GPU operations to "
        "Graphviz, its\ntables to Parquet or CSV, its samples to profiles.",
    .options = options,
};

// The beginning of what is printed with --json.
static cli_json json_begin(const ts_export_counts *counts)
{
    cli_json json = { .out = stdout, .lines = 1 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "format", counts->format);
    cli_json_string(&json, "output", output);
    return json;
}

static void print_counts(const ts_export_counts *counts)
{
    if (option_json) {
        cli_json json = json_begin(counts);
        cli_json_uint(&json, "bytes", counts->bytes);
        cli_json_uint(&json, "slices", counts->slices);
        cli_json_uint(&json, "instants", counts->instants);
        cli_json_uint(&json, "samples", counts->samples);
        cli_json_uint(&json, "stack_samples", counts->stack_samples);
        cli_json_uint(&json, "arrows", counts->arrows);
        cli_json_uint(&json, "lanes", counts->lanes);
        cli_json_close(&json, '}');
        return;
    }
    cli_put_path(stdout, output);
    if (counts->lanes)
        printf(": %s, %s, %s, %s on %s",
               cli_counted(counts->slices, "slice", "slices").s,
               cli_counted(counts->instants, "instant", "instants").s,
               cli_counted(counts->samples, "sample", "samples").s,
               cli_counted(counts->arrows, "arrow", "arrows").s,
               cli_counted(counts->lanes, "track", "tracks").s);
    if (counts->stack_samples)
        printf(
            "%s %s", counts->lanes ? "," : ":",
            cli_counted(counts->stack_samples, "stack sample", "stack samples")
                .s);
    if (counts->is_file) printf(", %s", cli_bytes(counts->bytes).s);
    putchar('\n');
}

static void print_graph_counts(const ts_export_counts *counts)
{
    if (option_json) {
        cli_json json = json_begin(counts);
        cli_json_uint(&json, "operations", counts->operations);
        cli_json_uint(&json, "calls", counts->calls);
        cli_json_uint(&json, "nodes", counts->nodes);
        cli_json_uint(&json, "edges", counts->edges);
        cli_json_uint(&json, "left_out", counts->left_out);
        cli_json_close(&json, '}');
        return;
    }
    cli_put_path(stdout, output);
    printf(": %s and %s as %s, %s",
           cli_counted(counts->operations, "operation", "operations").s,
           cli_counted(counts->calls, "call", "calls").s,
           cli_counted(counts->nodes, "node", "nodes").s,
           cli_counted(counts->edges, "edge", "edges").s);
    if (counts->left_out && !strcmp(counts->format, "dot"))
        printf("; %s out of the selected range",
               cli_counted(counts->left_out, "more leads", "more lead").s);
    putchar('\n');
}

static void print_table_counts(const ts_export_counts *counts)
{
    if (option_json) {
        cli_json json = json_begin(counts);
        cli_json_uint(&json, "bytes", counts->bytes);
        cli_json_uint(&json, "tables", counts->tables);
        cli_json_uint(&json, "rows", counts->rows);
        cli_json_close(&json, '}');
        return;
    }
    cli_put_path(stdout, output);
    printf(": %s, %s, %s\n", cli_counted(counts->tables, "table", "tables").s,
           cli_counted(counts->rows, "row", "rows").s,
           cli_bytes(counts->bytes).s);
}

// Prints what was written, unless that is on standard output.
static void print_result(const ts_export_counts *counts)
{
    if (!counts->format || !strcmp(output, "-")) return;
    if (!strcmp(counts->format, "dot") || !strcmp(counts->format, "chakra"))
        print_graph_counts(counts);
    else if (counts->tables)
        print_table_counts(counts);
    else
        print_counts(counts);
}

static bool check(const ts_export_desc *desc)
{
    export_request request;
    if (has_nodes && !nodes) {
        cli_error(&tool, NULL, "--nodes: must be at least 1");
        return false;
    }
    return select_check(&tool) && export_request_read(&request, &tool, desc);
}

int main(int argc, char **argv)
{
    cli_reporter reporter = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (argc != 2) return cli_usage(&tool);
    if (!output) {
        cli_error(&tool, NULL, "an output is required: -o FILE");
        return CLI_USAGE;
    }
    const ts_export_desc desc = { .path = argv[1],
                                  .output = { .path = output },
                                  .format = format_name,
                                  .selection = &selected,
                                  .no_args = no_args,
                                  .no_flows = no_flows,
                                  .no_compress = no_compress,
                                  .no_salvage = no_salvage,
                                  .no_symbols = symbolize_off,
                                  .collapse = collapse,
                                  .nodes = nodes,
                                  .limit = limit,
                                  .no_limit = has_limit && !limit,
                                  .tables = tables,
                                  .observer = cli_observer(&reporter) };
    ts_export_counts counts;
    if (!check(&desc)) return CLI_USAGE;
    const ts_result result = ts_export_file(&counts, &desc, NULL);
    print_result(&counts);
    return cli_finish(&tool, result == TS_OK          ? CLI_OK
                             : result == TS_ERR_USAGE ? CLI_USAGE
                                                      : CLI_FAILED);
}
