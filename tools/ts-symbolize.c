/*
    ts-symbolize.c - gives the frames of a trace's stacks their names
*/
#include "tools/common/symbolize/symbolize.h"
#include <sys/stat.h>
#include <unistd.h>

static const char *out_text;
static bool debuginfod, no_cache, again, option_json;
static cli_list debug_dirs;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "write a copy with the names; without it, names are added\n"
              "to FILE itself, which is not changed otherwise",
      .text = &out_text },
    { .name = "--debug-dir DIR",
      .help = "search debug information in DIR first, which has the\n"
              "layout of /usr/lib/debug; may be repeated",
      .list = &debug_dirs },
    { .name = "--debuginfod",
      .help = "request missing debug information from the servers of\n"
              "DEBUGINFOD_URLS",
      .flag = &debuginfod },
    { .name = "--again",
      .help = "look up frames again that already have names",
      .flag = &again },
    { .name = "--no-cache",
      .help = "neither read nor write the cache of results",
      .flag = &no_cache },
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-symbolize",
    .usage = "[options] FILE",
    .about = "Looks up the function names of the call stack frames of a trace, "
             "in the\nrecorded binaries and their debug information, and "
             "stores the names in the\ntrace.",
    .options = options,
};

typedef struct job {
    cli_trace trace;
    symbolize *names;
    uint64_t stacks, frames, named, lined, written;
} job;

/* ---- Writing ------------------------------------------------------------- */

static bool copy_file(const char *from, const char *to)
{
    static char bytes[1 << 16];
    cli_out out;
    FILE *const in = fopen(from, "rb");
    if (!in) {
        cli_error(&tool, from, "%s", strerror(errno));
        return false;
    }
    bool good = cli_out_open(&out, &tool, to);
    if (good) {
        size_t got;
        while ((got = fread(bytes, 1, sizeof bytes, in)) > 0)
            if (fwrite(bytes, 1, got, out.stream) != got) break;
        good = !ferror(in);
        good = cli_out_close(&out, good) && good;
    }
    fclose(in);
    return good;
}

static uint32_t last_number(const ts_reader *reader, ts_chunk_kind dictionary)
{
    const size_t count = ts_reader_entry_count(reader, dictionary);
    return count ? ts_reader_entry(reader, dictionary, count - 1) : 0;
}

// Whether the trace already has the same names for a frame.
static bool is_known(const job *j, const ts_frame_entry *frame,
                     const symbolize_line *lines, uint32_t count)
{
    const ts_reader *const reader = j->trace.reader;
    const ts_line_entry *old;
    if (ts_reader_symbol(reader, frame, &old) != count) return false;
    for (uint32_t i = 0; i < count; i++) {
        const ts_text function = ts_reader_name(reader, old[i].function);
        const ts_text file = ts_reader_name(reader, old[i].file);
        if (old[i].line != lines[i].line ||
            strcmp(function.text, lines[i].function.text) != 0 ||
            strcmp(file.text, lines[i].file.text) != 0)
            return false;
    }
    return true;
}

static void put_symbol(job *j, ts_writer *writer, const ts_frame_entry *frame)
{
    enum { MOST = 256 };
    const symbolize_line *lines;
    ts_line_entry made[MOST];
    uint32_t count = symbolize_frame(j->names, frame, &lines);
    if (count > MOST) count = MOST;
    if (!count || is_known(j, frame, lines, count)) return;
    for (uint32_t i = 0; i < count; i++) {
        made[i].function = ts_writer_name(writer, lines[i].function.text,
                                          lines[i].function.size);
        made[i].file = 0;
        if (lines[i].file.size)
            made[i].file =
                ts_writer_name(writer, lines[i].file.text, lines[i].file.size);
        made[i].line = lines[i].line;
        made[i].unused = 0;
    }
    ts_writer_symbol(writer, frame, made, count);
}

static bool write_names(job *j, const char *path)
{
    ts_writer *writer;
    const ts_reader *const reader = j->trace.reader;
    const ts_frame_entry *frames;
    const uint32_t before = last_number(reader, TS_CHUNK_SYMBOLS);
    ts_result result = ts_writer_extend(
        &writer, path, last_number(reader, TS_CHUNK_NAMES), before);
    if (result == TS_ERR_TRUNCATED) {
        cli_error(
            &tool, path,
            "the trace is not finished: ts-cut -o writes a finished copy");
        return false;
    }
    for (size_t i = 0; result == TS_OK && i < j->stacks; i++) {
        const uint32_t stack = ts_reader_entry(reader, TS_CHUNK_STACKS, i);
        const uint32_t count = ts_reader_stack(reader, stack, &frames);
        for (uint32_t k = 0; k < count; k++)
            if (frames[k].module) put_symbol(j, writer, &frames[k]);
    }
    if (result == TS_OK) result = ts_writer_close(writer);
    if (result == TS_OK) return true;
    cli_error(&tool, path, "%s", ts_result_text(result));
    return false;
}

/* ---- Saying what became of them ------------------------------------------ */

static ts_text path_of(const job *j, const symbolize_module *m)
{
    const ts_module_entry *const entry =
        ts_reader_module(j->trace.reader, m->module);
    return ts_reader_name(j->trace.reader, entry ? entry->path : 0);
}

static void print_text(const job *j)
{
    const symbolize_module *modules;
    const size_t count = symbolize_modules(j->names, &modules);
    if (!j->stacks) {
        puts("the trace contains no call stacks: record them with ts-record "
             "--stacks");
        return;
    }
    printf("%s stack%s, %s different frame%s: %s named, %s with a line\n",
           cli_count(j->stacks).s, j->stacks == 1 ? "" : "s",
           cli_count(j->frames).s, j->frames == 1 ? "" : "s",
           cli_count(j->named).s, cli_count(j->lined).s);
    if (count) puts("\nframes   named  lines  module");
    for (size_t i = 0; i < count; i++) {
        const symbolize_module *const m = &modules[i];
        const ts_text path = path_of(j, m);
        printf("%6" PRIu32 "  %6" PRIu32 " %6" PRIu32 "  ", m->frames, m->named,
               m->lined);
        cli_put_text(stdout, path.text, path.size);
        putchar('\n');
        if (m->why[0] && m->lined < m->frames) {
            fputs("                       ", stdout);
            cli_put_text(stdout, m->why, strlen(m->why));
            putchar('\n');
        }
    }
}

static void print_json(const job *j)
{
    const symbolize_module *modules;
    const size_t count = symbolize_modules(j->names, &modules);
    cli_json json = { .out = stdout, .lines = 2 };
    cli_json_open(&json, NULL, '{');
    cli_json_uint(&json, "stacks", j->stacks);
    cli_json_uint(&json, "frames", j->frames);
    cli_json_uint(&json, "named", j->named);
    cli_json_uint(&json, "with_line", j->lined);
    cli_json_open(&json, "modules", '[');
    for (size_t i = 0; i < count; i++) {
        const symbolize_module *const m = &modules[i];
        const ts_text path = path_of(j, m);
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "path", path.text, path.size);
        cli_json_uint(&json, "frames", m->frames);
        cli_json_uint(&json, "named", m->named);
        cli_json_uint(&json, "with_line", m->lined);
        if (m->why[0]) cli_json_string(&json, "missing", m->why);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    cli_json_close(&json, '}');
}

static void count_all(job *j)
{
    const symbolize_module *modules;
    const size_t count = symbolize_modules(j->names, &modules);
    j->stacks = ts_reader_entry_count(j->trace.reader, TS_CHUNK_STACKS);
    for (size_t i = 0; i < count; i++) {
        j->frames += modules[i].frames;
        j->named += modules[i].named;
        j->lined += modules[i].lined;
    }
}

// Writes the names of trace `from` into `to`.
static int run(job *j, const char *from, const char *to)
{
    const symbolize_options chosen = { .debug_dirs = debug_dirs.items,
                                       .debug_dir_count = debug_dirs.count,
                                       .debuginfod = debuginfod,
                                       .no_cache = no_cache,
                                       .again = again };
    j->names = symbolize_open(j->trace.reader, &chosen);
    if (!j->names || !symbolize_all(j->names)) {
        cli_error(&tool, from, "out of memory");
        return CLI_FAILED;
    }
    count_all(j);
    // Adding names changes the digest of the trace: if it was listed as the
    // user's own, it has to be listed again.
    const bool own = ts_reader_capture_count(j->trace.reader) &&
                     (to != from || j->named) &&
                     cli_trace_is_own(j->trace.reader);
    if (to != from && !copy_file(from, to)) return CLI_FAILED;
    if (j->named && !write_names(j, to)) {
        if (to != from) unlink(to);
        return CLI_FAILED;
    }
    if (own) cli_trace_own(to);
    option_json ? print_json(j) : print_text(j);
    return CLI_OK;
}

// Whether a path is a pipe. Pipes are refused: a trace is read twice, first for
// its frames and then to be copied.
static bool is_pipe(const char *path)
{
    struct stat about;
    return !strcmp(path, "-") ||
           (stat(path, &about) == 0 && S_ISFIFO(about.st_mode));
}

int main(int argc, char **argv)
{
    job j = { .names = NULL };
    cli_parse(&tool, &argc, argv);
    if (argc != 2) return cli_usage(&tool);
    const char *const from = argv[1], *const to = out_text ? out_text : from;
    const char *const pipe = is_pipe(from) ? from : is_pipe(to) ? to : NULL;
    if (pipe) {
        cli_error(&tool, pipe, "names cannot be written to a pipe");
        return CLI_USAGE;
    }
    if (out_text && !cli_output_check(&tool, to, &from, 1)) return CLI_USAGE;
    if (!cli_trace_open(&j.trace, &tool, from, NULL, CLI_WARN_ALL))
        return CLI_FAILED;
    const int code = run(&j, from, to);
    symbolize_close(j.names);
    cli_trace_close(&j.trace);
    return cli_finish(&tool, code);
}
