/*
    select.c - the options of a selection, and their resolution in a trace
*/
#include "tools/common/select/resolve.h"

ts_selection selected;

const ts_selection *select_now(void)
{
    const cli_context *const c = cli_context_now();
    return c ? c->selection : &selected;
}

bool select_any_but_time(void)
{
    const ts_selection *const s = select_now();
    return s->rank || s->step || s->zone || s->device || s->stream || s->kind ||
           s->frame || s->process;
}

bool select_any(void)
{
    return select_any_but_time() || select_now()->has_from ||
           select_now()->has_to;
}

/* ---- In words ------------------------------------------------------------ */

// Formats a time exactly, in the largest unit without a fraction: "1500us".
static cli_text exact_time(int64_t ns)
{
    static const char *const units[] = { "ns", "us", "ms", "s" };
    size_t unit = 0;
    for (; ns && unit < 3 && ns % 1000 == 0; unit++)
        ns /= 1000;
    return cli_format("%" PRId64 "%s", ns, units[unit]);
}

// Appends a word, quoted for a shell.
static void put_word(char *words, size_t room, size_t *size, const char *word)
{
    const bool plain =
        !word[strspn(word, "abcdefghijklmnopqrstuvwxyz"
                           "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+=:,@%-")];
    const char *const quote = plain && *word ? "" : "'";
    if (*size < room)
        *size += (size_t)snprintf(words + *size, room - *size, "%s%s",
                                  *size ? " " : "", quote);
    for (; *word && *size + 5 < room; word++)
        *size += (size_t)snprintf(words + *size, room - *size,
                                  *word == '\'' ? "'\\''" : "%c", *word);
    if (*size < room)
        *size += (size_t)snprintf(words + *size, room - *size, "%s", quote);
}

const char *select_words(void)
{
    static _Thread_local char words[1024];
    const ts_selection *const s = select_now();
    const cli_text from = exact_time(s->from_ns), to = exact_time(s->to_ns);
    const char *const said[][2] = {
        { "--from", s->has_from ? from.s : NULL },
        { "--to", s->has_to ? to.s : NULL },
        { "--zone", s->zone },
        { "--frame", s->frame },
        { "--step", s->step },
        { "--rank", s->rank },
        { "--process", s->process },
        { "--device", s->device },
        { "--stream", s->stream },
        { "--kind", s->kind },
    };
    size_t size = 0;
    *words = 0;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        for (size_t k = 0; said[i][1] && k < 2; k++)
            put_word(words, sizeof words, &size, said[i][k]);
    return words;
}

/* ---- Kinds --------------------------------------------------------------- */

static uint64_t kinds_of(const char *text, size_t size)
{
    uint64_t found = 0;
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const char *const name = ts_event_name(kind);
        if (!ts_event_columns(kind)) continue;
        if (cli_matches(text, size, name, strlen(name)) ||
            (size == 3 && !memcmp(text, "gpu", 3) &&
             kind >= TS_EVENT_GPU_FIRST))
            found |= UINT64_C(1) << kind;
    }
    return found;
}

static void report_no_kind(const cli_tool *tool, const char *text, size_t size)
{
    FILE *const out = cli_error_begin(tool, NULL);
    fputs("--kind: unknown kind '", out);
    cli_put_text(out, text, size);
    fputs("'; the kinds are:\n", out);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        if (ts_event_columns(kind)) fprintf(out, " %s", ts_event_name(kind));
    fputs(" gpu", out);
    cli_fail_end(TS_ERR_USAGE);
}

uint64_t select_kinds(const cli_tool *tool, const char *list)
{
    uint64_t kinds = 0;
    for (const char *at = list; at;) {
        const size_t size = strcspn(at, ",");
        const uint64_t found = kinds_of(at, size);
        if (!found) {
            report_no_kind(tool, at, size);
            return 0;
        }
        kinds |= found;
        at = at[size] ? at + size + 1 : NULL;
    }
    return kinds;
}

/* ---- Syntax -------------------------------------------------------------- */

bool select_check(const cli_tool *tool)
{
    const ts_selection *const s = select_now();
    uint64_t first, last;
    if (s->has_from && s->has_to && s->from_ns >= s->to_ns)
        cli_fail(tool, TS_ERR_USAGE, NULL, "--to must be after --from");
    else if (s->step && !cut_range(s->step, &first, &last))
        cli_fail(tool, TS_ERR_USAGE, NULL, "--step %s: must be N or N..M",
                 s->step);
    else
        return (!s->frame || cut_frames_valid(tool, s->frame)) &&
               (!s->kind || select_kinds(tool, s->kind));
    return false;
}

/* ---- In a trace ---------------------------------------------------------- */

// Converts a time of the selection to the file's time axis.
static int64_t of_file(const cut_job *job, int64_t ns)
{
    const int64_t far = INT64_MAX / 2;
    const int64_t offset = job->offset_ns;
    if (ns < -far || ns > far || offset < -far || offset > far) return ns;
    return ns - offset;
}

static bool take_time(cut_job *job)
{
    const ts_selection *const s = select_now();
    cut_options *const w = &job->options;
    w->timed = s->has_from || s->has_to;
    w->from_ns = s->has_from ? of_file(job, s->from_ns) : INT64_MIN;
    w->to_ns = s->has_to ? of_file(job, s->to_ns) : INT64_MAX;
    return cli_window_check(job->trace, job->tool,
                            s->has_from ? &w->from_ns : NULL,
                            s->has_to ? &w->to_ns : NULL);
}

static bool take_tracks(cut_job *job, select_lists *lists)
{
    const ts_selection *const s = select_now();
    cut_options *const w = &job->options;
    replay_file file = { .path = job->path, .trace = *job->trace };
    const replay_job files = {
        .tool = job->tool, .path = job->path, .files = &file, .file_count = 1
    };
    if ((s->rank && !cut_ranks(job, s->rank)) ||
        (s->process && !cut_processes(job, s->process)))
        return false;
    lists->streams.processes = lists->devices.processes = w->processes;
    lists->streams.process_count = w->process_count;
    lists->devices.process_count = w->process_count;
    lists->streams.devices = &lists->devices;
    if ((s->device && !replay_devices(&files, s->device, &lists->devices)) ||
        (s->stream && !replay_streams(&files, s->stream, &lists->streams)))
        return false;
    w->streams = lists->streams.tracks;
    w->stream_count = lists->streams.count;
    w->devices = lists->devices.tracks;
    w->device_count = lists->devices.count;
    return true;
}

bool select_resolve(cut_job *job, select_lists *lists)
{
    const ts_selection *const s = select_now();
    cut_options *const w = &job->options;
    memset(lists, 0, sizeof *lists);
    w->zones = s->zone;
    w->kinds = s->kind ? select_kinds(job->tool, s->kind) : 0;
    return take_time(job) && take_tracks(job, lists) &&
           (!s->frame || cut_frames(job, s->frame)) &&
           (!s->step || select_steps(job, s->step));
}

void select_close(cut_job *job, select_lists *lists)
{
    replay_list_close(&lists->streams);
    replay_list_close(&lists->devices);
    free((void *)(uintptr_t)job->options.processes);
    job->options.processes = NULL;
}
