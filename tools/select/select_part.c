/*
    select_part.c - the selected part of a trace in place of the whole

    The part is a file without a name: however large it is, it takes no memory,
    and it is gone with the process.
*/
#include "tools/select/select_wish.h"
#include <unistd.h>

/* ---- A file of its own --------------------------------------------------- */

static bool make_name(const cli_tool *tool, char *name, size_t size)
{
    const char *const folder = getenv("TMPDIR");
    snprintf(name, size, "%s/%s-XXXXXX", folder && *folder ? folder : "/tmp",
             tool->name);
    const int fd = mkstemp(name);
    if (fd >= 0) return close(fd) == 0;
    cli_error(tool, name, "the selected part cannot be written: %s",
              strerror(errno));
    return false;
}

// The part takes the place of the trace, under its name.
static bool replace(cli_trace *trace, const cli_tool *tool, const char *name)
{
    const char *const path = trace->path;
    const ts_reader_desc desc = { .path = name };
    ts_reader *part;
    const ts_result result = ts_reader_open(&part, &desc);
    if (result != TS_OK) {
        cli_error(tool, path, "the selected part cannot be read: %s",
                  ts_result_text(result));
        return false;
    }
    cli_trace_close(trace);
    *trace = (cli_trace){ .reader = part,
                          .info = ts_reader_info(part),
                          .path = path };
    return true;
}

static bool several; // files

static bool open_part(cli_trace *trace, const cli_tool *tool)
{
    char name[4096];
    if (!make_name(tool, name, sizeof name)) return false;
    cut_job job = { .tool = tool,
                    .path = trace->path,
                    .out = name,
                    .trace = trace,
                    .temporary = true,
                    .other_files = several,
                    .wish = { .what = select_words(),
                              .deps = selected.kind ? CUT_DEPS_NONE
                                                    : CUT_DEPS_CALLS } };
    select_lists lists;
    const bool ok = select_wish(&job, &lists) && cut_write(&job) &&
                    replace(trace, tool, name);
    select_close(&job, &lists);
    unlink(name);
    return ok;
}

void select_install(void)
{
    if (select_any()) cli_trace_opened = open_part;
}

void select_install_window(void)
{
    if (select_any_but_time()) cli_trace_opened = open_part;
}

/* ---- Several files ------------------------------------------------------- */

// Which entries of a list of ranks any file has, a bit each.
static bool find_ranks(const cli_tool *tool, char **paths, uint32_t *count,
                       uint64_t *entries)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < *count; i++) {
        uint64_t found = 0;
        cli_trace trace;
        if (!cli_trace_open(&trace, tool, paths[i], NULL, CLI_WARN_NONE))
            return false;
        const char *at = selected.rank;
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

bool select_files(const cli_tool *tool, char **paths, uint32_t *count)
{
    uint64_t entries = 0;
    if (!selected.rank || *count < 2) return true;
    if (!find_ranks(tool, paths, count, &entries)) return false;
    const char *at = selected.rank;
    for (uint32_t entry = 0; at; entry++) {
        const size_t size = strcspn(at, ",");
        if (entry < 63 && !(entries >> entry & 1)) {
            cli_error(tool, NULL, "--rank %.*s: no file is of such a rank",
                      (int)size, at);
            return false;
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    several = true;
    return *count;
}
