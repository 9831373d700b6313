/*
    part.c - opens the selected part of a trace instead of the trace

    The part is an unlinked temporary file: it takes no memory, whatever its
    size, and vanishes with the process.
*/
#include "tools/common/select/resolve.h"
#include <unistd.h>

enum { SELECT_PLACES = 4096 };

/* ---- A file of its own --------------------------------------------------- */

static bool make_name(const cli_tool *tool, char *name, size_t size)
{
    const char *const folder = getenv("TMPDIR");
    snprintf(name, size, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp",
             tool->name);
    const int fd = mkstemp(name);
    if (fd >= 0) return close(fd) == 0;
    cli_fail(tool, cli_errno_result(errno), name,
             "the selected part cannot be written to a temporary file: %s",
             strerror(errno));
    return false;
}

// Opens the part as *trace, under the trace's name.
static bool replace(cli_trace *trace, const cli_tool *tool, const char *name)
{
    const char *const path = trace->path;
    const ts_reader_desc desc = { .path = name };
    ts_reader *part;
    const ts_result result = ts_reader_open(&part, &desc);
    if (result != TS_OK) {
        cli_fail(tool, result, path, "the selected part cannot be read: %s",
                 ts_result_text(result));
        return false;
    }
    cli_trace_close(trace);
    *trace = (cli_trace){ .reader = part,
                          .info = ts_reader_info(part),
                          .path = path };
    return true;
}

// Offsets of several files on the time axis of the first.
struct select_places {
    size_t count;
    struct place {
        const char *path;
        int64_t offset_ns;
    } list[SELECT_PLACES];
};

// Returns the offsets of the current library call or of the tool; NULL until
// several files are selected.
static struct select_places **places_now(void)
{
    static struct select_places *of_tool;
    cli_context *const c = cli_context_now();
    return c ? &c->places : &of_tool;
}

static struct select_places *places_make(const cli_tool *tool)
{
    struct select_places **const places = places_now();
    if (!*places) *places = calloc(1, sizeof **places);
    if (!*places) cli_out_of_memory(tool);
    return *places;
}

static int64_t offset_of(const char *path)
{
    const struct select_places *const places = *places_now();
    for (size_t i = 0; places && i < places->count; i++)
        if (places->list[i].path == path) return places->list[i].offset_ns;
    return 0;
}

static bool open_part(cli_trace *trace, const cli_tool *tool)
{
    char name[4096];
    if (!make_name(tool, name, sizeof name)) return false;
    cut_job job = { .tool = tool,
                    .path = trace->path,
                    .out = name,
                    .trace = trace,
                    .temporary = true,
                    .offset_ns = offset_of(trace->path),
                    .other_files = *places_now(),
                    .options = { .what = select_words(),
                                 .deps = select_now()->kind
                                             ? CUT_DEPS_NONE
                                             : CUT_DEPS_CALLS } };
    select_lists lists;
    const bool ok = select_resolve(&job, &lists) && cut_write(&job) &&
                    replace(trace, tool, name);
    select_close(&job, &lists);
    unlink(name);
    return ok;
}

static void install(void)
{
    cli_context *const c = cli_context_now();
    if (c)
        c->trace_opened = open_part;
    else
        cli_trace_opened = open_part;
}

void select_install(void)
{
    if (select_any()) install();
}

void select_install_window(void)
{
    if (select_any_but_time()) install();
}

/* ---- Several files ------------------------------------------------------- */

// Finds which entries of a list of ranks any file has, as a bit set, and
// removes files without any.
static bool find_ranks(const cli_tool *tool, char **paths, uint32_t *count,
                       uint64_t *entries)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        uint64_t found = 0;
        cli_trace trace;
        if (!cli_trace_open(&trace, tool, paths[i], NULL, CLI_WARN_NONE))
            return false;
        const char *at = select_now()->rank;
        for (uint32_t entry = 0; at; entry++) {
            const size_t size = strcspn(at, ",");
            const bool has = cut_has_rank(trace.reader, at, size);
            found |= (uint64_t)has << (entry < 63 ? entry : 63);
            at = at[size] ? at + size + 1 : NULL;
        }
        cli_trace_close(&trace);
        *entries |= found;
        if (found) paths[kept++] = paths[i];
    }
    *count = kept;
    return true;
}

static bool take_ranks(const cli_tool *tool, char **paths, uint32_t *count)
{
    uint64_t entries = 0;
    if (!find_ranks(tool, paths, count, &entries)) return false;
    const char *at = select_now()->rank;
    for (uint32_t entry = 0; at; entry++) {
        const size_t size = strcspn(at, ",");
        if (entry < 63 && !(entries >> entry & 1)) {
            cli_fail(tool, TS_ERR_NOT_FOUND, NULL,
                     "--rank %.*s: no file has this rank", (int)size, at);
            return false;
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    return *count && places_make(tool);
}

// Takes the offsets from the replay graph of all files, as ts-analyze does; for
// files without operations, from their start times.
static void place_files(struct select_places *places, const cli_trace *traces,
                        ts_reader *const *readers, char **paths, uint32_t count)
{
    const ts_replay_desc desc = { .more = (ts_reader **)readers + 1,
                                  .more_count = count - 1 };
    const uint64_t first = traces[0].info->start_realtime_ns;
    ts_replay *replay = NULL;
    ts_replay_file file;
    ts_replay_open(&replay, readers[0], &desc);
    for (uint32_t i = 0; i < count && places->count < SELECT_PLACES; i++) {
        const uint64_t own = traces[i].info->start_realtime_ns;
        int64_t offset = first && own ? (int64_t)(own - first) : 0;
        if (replay && ts_replay_file_at(replay, i, &file))
            offset = file.offset_ns;
        places->list[places->count++] = (struct place){ paths[i], offset };
    }
    ts_replay_close(replay);
}

static bool find_places(const cli_tool *tool, char **paths, uint32_t count)
{
    struct select_places *const places = places_make(tool);
    if (!places) return false;
    cli_trace *const traces = calloc(count, sizeof *traces);
    ts_reader **const readers = calloc(count, sizeof(ts_reader *));
    uint32_t opened = 0;
    if (!traces || !readers) cli_out_of_memory(tool);
    while (traces && readers && opened < count &&
           cli_trace_open(&traces[opened], tool, paths[opened], NULL,
                          CLI_WARN_NONE)) {
        readers[opened] = traces[opened].reader;
        opened++;
    }
    const bool ok = opened == count;
    if (ok) place_files(places, traces, readers, paths, count);
    for (uint32_t i = 0; i < opened; i++)
        cli_trace_close(&traces[i]);
    free(traces);
    free(readers);
    return ok;
}

bool select_files(const cli_tool *tool, char **paths, uint32_t *count)
{
    if (*count < 2) return true;
    if (select_now()->rank && !take_ranks(tool, paths, count)) return false;
    return (!select_now()->has_from && !select_now()->has_to) || *count < 2 ||
           find_places(tool, paths, *count);
}
