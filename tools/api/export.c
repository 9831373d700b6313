/*
    export.c - traces for other viewers
*/
#include "tools/api/export_tables.h"
#include "tools/common/select/select.h"
#include "tools/export/dot.h"
#include "tools/export/otf2/archive.h"
#include <dirent.h>
#include <sys/stat.h>

static const cli_tool tool = { .name = "ts-export" };

typedef struct export_call {
    api_call call;
    const ts_export_desc *desc;
    ts_export_counts *counts;
    export_request request;
    cli_trace trace;
    cli_progress progress;
    size_t damaged; // damaged places known before
    export_out *out;
    export_counts slices;
    ts_result result; // result of the walk
    dot_counts nodes;
    dot_result graph;
    ts_result graph_error;
    bool has_failed; // an archive
} export_call;

static void show_progress(void *user, int64_t now_ns)
{
    export_call *const e = user;
    const int64_t first_ns = e->trace.info->first_ns;
    if (now_ns < first_ns) now_ns = first_ns;
    cli_progress_show(&e->progress, (uint64_t)now_ns - (uint64_t)first_ns,
                      (uint64_t)e->trace.info->last_ns - (uint64_t)first_ns);
}

// The window of a selection; both ends 0: everything. Other formats export the
// cut trace, which also has the calls of operations in the window.
static int64_t from_ns(const ts_selection *s)
{
    return s->has_from ? s->from_ns : s->has_to ? INT64_MIN : 0;
}

static int64_t to_ns(const ts_selection *s)
{
    return s->has_to ? s->to_ns : s->has_from ? INT64_MAX : 0;
}

static void drop_output(void *user)
{
    export_call *const e = user;
    export_out_close(e->out, false);
}

// Opens the output and writes it; does not close it.
static bool write_output(export_call *e, export_packing packing,
                         void (*work)(void *user))
{
    const char *why;
    const ts_output *const output = &e->desc->output;
    e->out = export_out_open(output, packing, &why);
    if (!e->out)
        return cli_fail(&tool, cli_errno_result(errno),
                        export_output_name(output), "%s: %s", why,
                        strerror(errno));
    return export_within_memory(work, drop_output, e) ||
           cli_out_of_memory(&tool);
}

static bool close_output(export_call *e, bool keep)
{
    const int failed = export_out_close(e->out, keep);
    if (failed)
        cli_fail(&tool, cli_errno_result(failed),
                 export_output_name(&e->desc->output), "cannot be written: %s",
                 strerror(failed));
    return !failed && keep;
}

static void count_bytes(const export_call *e)
{
    struct stat status;
    const char *const path = e->desc->output.path;
    e->counts->format = e->request.format;
    e->counts->is_file =
        path && !stat(path, &status) && S_ISREG(status.st_mode);
    if (e->counts->is_file) e->counts->bytes = (uint64_t)status.st_size;
}

/* ---- A graph ------------------------------------------------------------- */

static uint64_t node_limit(const ts_export_desc *desc)
{
    return desc->no_limit ? 0 : desc->limit ? desc->limit : 1000;
}

static void report_graph(const export_call *e)
{
    const char *const path = e->desc->path;
    if (e->graph == DOT_NOTHING)
        cli_fail(&tool, TS_ERR_NOT_FOUND, path,
                 "no operation of a device is %s",
                 select_any() ? "selected" : "in the trace");
    else if (e->graph == DOT_TOO_MANY)
        cli_fail(&tool, TS_ERR_UNSUPPORTED, path,
                 "the graph has %s nodes%s, more than %s: select a part with "
                 "--from and --to, merge nodes with --nodes 60, or raise "
                 "--limit",
                 cli_count(e->nodes.nodes).s,
                 e->desc->collapse ? " even with --collapse" : "",
                 cli_count(node_limit(e->desc)).s);
    else if (e->graph == DOT_FAILED)
        cli_fail(&tool, e->graph_error, path, "%s",
                 ts_result_text(e->graph_error));
}

static void write_graph(void *user)
{
    export_call *const e = user;
    const ts_selection *const selection = e->call.context.selection;
    const dot_options options = { .from_ns = from_ns(selection),
                                  .to_ns = to_ns(selection),
                                  .collapse = e->desc->collapse,
                                  .nodes = e->desc->nodes,
                                  .limit = node_limit(e->desc) };
    e->graph = export_dot(e->trace.reader, e->out, &options, &e->nodes,
                          &e->graph_error);
}

static bool export_graph(export_call *e)
{
    if (!write_output(e, EXPORT_PLAIN, write_graph)) return false;
    report_graph(e);
    if (!close_output(e, e->graph == DOT_OK)) return false;
    count_bytes(e);
    e->counts->operations = e->nodes.operations;
    e->counts->calls = e->nodes.calls;
    e->counts->nodes = e->nodes.nodes;
    e->counts->edges = e->nodes.edges;
    e->counts->left_out = e->nodes.left_out;
    if (!cli_trace_damage(&e->trace, &tool, e->desc->path, e->damaged))
        return true;
    return cli_fail(&tool, TS_ERR_CORRUPT, e->desc->path,
                    "the output contains everything else");
}

/* ---- Slices -------------------------------------------------------------- */

// Checks that the compression is available: a build without zlib has none.
static bool packing_is_there(const ts_export_desc *desc,
                             export_packing *packing)
{
    const char *const path = desc->output.path;
    if (*packing == EXPORT_PLAIN || export_packs) return true;
    if (*packing == EXPORT_GZIP)
        return cli_fail(&tool, TS_ERR_UNSUPPORTED, path,
                        "this ts-export was built without zlib and cannot "
                        "compress; omit .gz");
    cli_error(&tool, path,
              "is not compressed: this ts-export was built without zlib");
    *packing = EXPORT_PLAIN;
    return true;
}

static void write_slices(void *user)
{
    export_call *const e = user;
    const export_options options = { .no_args = e->desc->no_args,
                                     .no_flows = e->desc->no_flows,
                                     .progress = show_progress,
                                     .user = e };
    const export_format *const format = e->request.slices;
    e->result = format->walk ? format->walk(e->trace.reader, e->out, &options,
                                            &e->slices)
                             : export_walk(e->trace.reader, format, e->out,
                                           &options, &e->slices);
}

void api_report_left_out(const cli_tool *to, const ts_export_desc *desc,
                         const char *format, const uint64_t *counts)
{
    uint64_t all = 0;
    for (size_t i = 0; i < TS_EVENT_LIMIT; i++)
        all += counts[i];
    if (!all) return;
    FILE *const out = cli_error_begin(to, desc->path);
    fprintf(out, "%s that %s has no place for %s left out:",
            cli_counted(all, "event", "events").s, format,
            all == 1 ? "is" : "are");
    for (size_t i = 0, said = 0; i < TS_EVENT_LIMIT; i++)
        if (counts[i])
            fprintf(out, "%s %s %s", said++ ? "," : "", cli_count(counts[i]).s,
                    ts_event_name((ts_event_kind)i));
    cli_error_end();
}

static bool has_operations(const ts_info *info)
{
    for (size_t i = TS_EVENT_GPU_FIRST; i < TS_EVENT_LIMIT; i++)
        if (info->counts[i]) return true;
    return false;
}

// Says what the output lacks. False: the trace was damaged.
static bool says_all(const export_call *e)
{
    if (e->trace.info->unknown_events)
        cli_error(&tool, e->desc->path, "%s not in the output",
                  cli_counted(e->trace.info->unknown_events,
                              "event of a later format version is",
                              "events of a later format version are")
                      .s);
    api_report_left_out(&tool, e->desc, e->request.format, e->slices.left_out);
    const size_t damage =
        cli_trace_damage(&e->trace, &tool, e->desc->path, e->damaged);
    if (e->result == TS_OK && !damage) return true;
    const ts_result why = e->result != TS_OK ? e->result : TS_ERR_CORRUPT;
    return cli_fail(&tool, why, e->desc->path,
                    "%s; the output contains everything else",
                    ts_result_text(why));
}

static bool export_slices(export_call *e)
{
    export_packing packing = e->request.packing;
    if (e->request.slices->of_samples &&
        !e->trace.info->counts[TS_EVENT_SAMPLE])
        return cli_fail(&tool, TS_ERR_NOT_FOUND, e->desc->path,
                        "no sample of a profile is %s",
                        select_any() ? "selected" : "in the trace");
    if (e->request.slices->of_operations && !has_operations(e->trace.info))
        return cli_fail(&tool, TS_ERR_NOT_FOUND, e->desc->path,
                        "no operation of a device is %s",
                        select_any() ? "selected" : "in the trace");
    if (!packing_is_there(e->desc, &packing)) return false;
    const bool written = write_output(e, packing, write_slices);
    cli_progress_end(&e->progress);
    if (!written || !close_output(e, true)) return false;
    count_bytes(e);
    e->counts->slices = e->slices.slices;
    e->counts->instants = e->slices.instants;
    e->counts->samples = e->slices.samples;
    e->counts->stack_samples = e->slices.stack_samples;
    e->counts->arrows = e->slices.arrows;
    e->counts->lanes = e->slices.lanes;
    e->counts->operations = e->slices.operations;
    e->counts->calls = e->slices.calls;
    e->counts->nodes = e->slices.nodes;
    e->counts->edges = e->slices.edges;
    for (size_t i = 0; i < TS_EVENT_LIMIT && e->slices.nodes; i++)
        e->counts->left_out += e->slices.left_out[i];
    return says_all(e);
}

/* ---- An archive ---------------------------------------------------------- */

static bool is_empty(const char *path)
{
    DIR *const folder = opendir(path);
    bool is_empty = folder != NULL;
    for (struct dirent *e; is_empty && (e = readdir(folder));)
        is_empty = !strcmp(e->d_name, ".") || !strcmp(e->d_name, "..");
    if (folder) closedir(folder);
    return is_empty;
}

// Nothing is replaced: an archive is many files.
static bool check_folder(const char *path)
{
    struct stat st;
    if (!export_has_otf2)
        return cli_fail(&tool, TS_ERR_UNSUPPORTED, NULL,
                        "this ts-export was built without OTF2, which --format "
                        "otf2 needs");
    if (stat(path, &st) || is_empty(path)) return true;
    return cli_fail(&tool, TS_ERR_IO, path,
                    "is there already: an archive of OTF2 is a new folder, or "
                    "an empty one");
}

static void write_archive(void *user)
{
    export_call *const e = user;
    const otf2_export desc = { .reader = e->trace.reader,
                               .folder = e->desc->output.path,
                               .no_args = e->desc->no_args,
                               .progress = show_progress,
                               .user = e };
    e->result = export_otf2(&desc, &e->slices, &e->has_failed);
}

static void no_output(void *user)
{
    (void)user;
}

static uint64_t bytes_of(const char *folder, const char *format, size_t number)
{
    char path[4096];
    struct stat st;
    const int size = snprintf(path, sizeof path, format, folder, number);
    return size > 0 && (size_t)size < sizeof path && !stat(path, &st)
               ? (uint64_t)st.st_size
               : 0;
}

static void count_archive(export_call *e)
{
    const char *const folder = e->desc->output.path;
    e->counts->format = e->request.format;
    e->counts->is_file = true;
    e->counts->slices = e->slices.slices;
    e->counts->samples = e->slices.samples;
    e->counts->lanes = e->slices.lanes;
    e->counts->bytes = bytes_of(folder, "%s/traces.otf2", 0) +
                       bytes_of(folder, "%s/traces.def", 0);
    for (size_t i = 0; i < e->slices.lanes; i++)
        e->counts->bytes += bytes_of(folder, "%s/traces/%zu.evt", i) +
                            bytes_of(folder, "%s/traces/%zu.def", i);
}

static bool export_archive(export_call *e)
{
    const char *const path = e->desc->output.path;
    const bool fits = export_within_memory(write_archive, no_output, e);
    cli_progress_end(&e->progress);
    if (!fits) return cli_out_of_memory(&tool);
    if (e->has_failed)
        return cli_fail(&tool, TS_ERR_IO, path,
                        "the archive cannot be written, or not to its end");
    count_archive(e);
    return says_all(e);
}

/* ---- The call ------------------------------------------------------------ */

static bool open_trace(export_call *e)
{
    const ts_selection *const s = e->call.context.selection;
    if (e->request.slices || e->request.tables == EXPORT_OTF2)
        select_install();
    else
        select_install_window();
    e->call.fallback = TS_ERR_NOT_FOUND;
    if (!cli_trace_open(&e->trace, &tool, e->desc->path, NULL, CLI_WARN_ALL))
        return false;
    e->damaged = ts_reader_damage_count(e->trace.reader);
    return cli_window_check(&e->trace, &tool, s->has_from ? &s->from_ns : NULL,
                            s->has_to ? &s->to_ns : NULL);
}

static bool export_file(export_call *e)
{
    const ts_export_desc *const desc = e->desc;
    const ts_output *const to = &desc->output;
    if (!desc->path) return api_refuse(&tool, "a trace to read is required");
    if (!!to->path + !!to->stream + !!to->write != 1)
        return api_refuse(&tool, "an output must be one of path, stream and "
                                 "write");
    if (!select_check(&tool) || !export_request_read(&e->request, &tool, desc))
        return false;
    if (e->request.tables == EXPORT_NSYS) {
        const bool done = api_export_nsys(&tool, desc, e->counts);
        if (e->counts->tables) count_bytes(e);
        return done;
    }
    const bool is_archive = e->request.tables == EXPORT_OTF2;
    if (is_archive && !check_folder(to->path)) return false;
    if (e->request.tables && !is_archive)
        return api_export_tables(&e->call, &tool, desc, &e->request, e->counts);
    bool ok = open_trace(e);
    if (ok)
        ok = is_archive          ? export_archive(e)
             : e->request.slices ? export_slices(e)
                                 : export_graph(e);
    cli_trace_close(&e->trace);
    return ok;
}

ts_result ts_export_file(ts_export_counts *counts, const ts_export_desc *desc,
                         ts_error *error)
{
    export_call e = { .desc = desc,
                      .counts = counts,
                      .progress = { .what = "exporting" } };
    *counts = (ts_export_counts){ 0 };
    bool ok = api_begin(&e.call, &desc->observer, desc->selection, error);
    e.call.context.no_symbols = desc->no_symbols;
    e.call.context.no_salvage = desc->no_salvage;
    ok = ok && export_file(&e);
    return api_end(&e.call, ok);
}
