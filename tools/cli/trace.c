/*
    trace.c - opens a trace and reports its defects
*/
#include "tools/cli/context.h"
#include <unistd.h>

enum { DAMAGE_SHOWN = 3 };

static bool read_stdin(void **bytes, size_t *size)
{
    size_t capacity = 0;
    *bytes = NULL;
    *size = 0;
    do {
        if (*size == capacity) {
            capacity = capacity ? capacity * 2 : 1 << 20;
            void *const more = realloc(*bytes, capacity);
            if (!more) return false;
            *bytes = more;
        }
        *size += fread((char *)*bytes + *size, 1, capacity - *size, stdin);
    } while (!feof(stdin) && !ferror(stdin));
    return !ferror(stdin);
}

static void warn_salvage(const cli_trace *trace, const cli_tool *tool,
                         const char *path)
{
    const ts_info *const info = trace->info;
    if (info->salvaged)
        cli_error(tool, path,
                  "the recording was not stopped properly; %s salvaged from "
                  "its sidecar",
                  cli_counted(info->salvaged, "record was", "records were").s);
    if (info->salvage_failed)
        cli_error(tool, path,
                  "records in the sidecar could not be salvaged: "
                  "%s",
                  ts_result_text(info->salvage));
    else if (info->live && !info->finished)
        cli_error(tool, path,
                  "still being written; this shows the part "
                  "written so far");
    else if (!info->finished && info->salvage == TS_ERR_STATE)
        cli_error(tool, path,
                  "unfinished: the records in its sidecar are left "
                  "there, as asked");
    else if (!info->finished && !info->salvaged)
        cli_error(tool, path,
                  "unfinished: the recorder died and its sidecar is missing, "
                  "or the file was truncated");
    if (info->clock_estimated)
        cli_error(tool, path,
                  "the trace does not contain the clock frequency; times are "
                  "estimates");
}

cli_causes cli_loss_causes(const ts_reader *reader, int but)
{
    uint64_t by[TS_LOSS_STALL_FIRST] = { 0 };
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(reader, i, &row); i++)
        if (row.cause < TS_LOSS_STALL_FIRST && (int)row.cause != but)
            by[row.cause] += row.count;
    cli_causes causes = { "" };
    size_t size = 0;
    for (uint32_t c = 0; c < TS_LOSS_STALL_FIRST && size < 400; c++)
        if (by[c])
            size += (size_t)snprintf(causes.s + size, sizeof causes.s - size,
                                     "%s%s %s", size ? ", " : "",
                                     ts_loss_name(c), cli_count(by[c]).s);
    return causes;
}

static void warn_losses(const cli_trace *trace, const cli_tool *tool,
                        const char *path)
{
    if (!trace->info->lost) return;
    cli_error(tool, path, "%s record%s lost (%s); ts-info --losses lists where",
              cli_count(trace->info->lost).s,
              trace->info->lost == 1 ? " was" : "s were",
              cli_loss_causes(trace->reader, -1).s);
}

size_t cli_trace_damage(const cli_trace *trace, const cli_tool *tool,
                        const char *path, size_t from)
{
    const size_t count = ts_reader_damage_count(trace->reader);
    ts_damage damage;
    for (size_t i = from; i < count && i < from + DAMAGE_SHOWN; i++)
        if (ts_reader_damage(trace->reader, i, &damage))
            cli_error(tool, path,
                      "byte %" PRIu64 ": %s; %" PRIu64 " bytes are skipped",
                      damage.offset, damage.text, damage.size);
    if (count > from + DAMAGE_SHOWN)
        cli_error(tool, path, "%s damaged; ts-info --verify lists them",
                  cli_counted(count - from - DAMAGE_SHOWN, "more place is",
                              "more places are")
                      .s);
    return count;
}

// The hook that narrows a trace to the selection: of this call, else of the
// tool.
static bool (*on_opened(void))(cli_trace *trace, const cli_tool *tool)
{
    const cli_context *const c = cli_context_now();
    return c ? c->trace_opened : cli_trace_opened;
}

// Notes that a trace was cut, so its figures cover only that part.
static void warn_cut(const cli_trace *trace, const cli_tool *tool,
                     const char *path)
{
    ts_metadata left_out, kept, what;
    const ts_reader *const reader = trace->reader;
    if (!ts_reader_metadata(reader, 0, "cut.left_out", &left_out) ||
        !ts_reader_metadata(reader, 0, "cut.kept", &kept))
        return;
    const bool said = ts_reader_metadata(reader, 0, "cut.what", &what) &&
                      what.type == TS_VALUE_TEXT;
    FILE *const out = cli_error_begin(tool, path);
    fputs(on_opened() ? "selected by" : "a part of a trace, cut by ts-cut",
          out);
    if (said) fputc(' ', out);
    if (said) cli_put_text(out, what.text.text, what.text.size);
    fprintf(out, ": %s of %s events", cli_count((uint64_t)kept.number).s,
            cli_count((uint64_t)kept.number + (uint64_t)left_out.number).s);
    cli_error_end();
}

void cli_trace_warn(const cli_trace *trace, const cli_tool *tool,
                    const char *path)
{
    warn_salvage(trace, tool, path);
    cli_trace_damage(trace, tool, path, 0);
    warn_losses(trace, tool, path);
    warn_cut(trace, tool, path);
}

// Reads the first bytes of a file; a zero follows.
static size_t read_head(const char *path, char *head, size_t room)
{
    const int fd = strcmp(path, "-") ? cli_open_plain(path) : -1;
    const ssize_t size = fd >= 0 ? read(fd, head, room - 1) : 0;
    if (fd >= 0) close(fd);
    head[size > 0 ? size : 0] = 0;
    return size > 0 ? (size_t)size : 0;
}

// Whether a file is a trace of TraceSmith 0.x, whose SBT is another format.
static bool is_old(const char *path)
{
    char head[8];
    return read_head(path, head, sizeof head) > 4 && !memcmp(head, "SBT", 4);
}

// Whether a file may be a trace of another tool: JSON, SQLite, or an archive.
static bool is_importable(const char *path)
{
    static const struct {
        size_t at;
        const char *bytes;
    } heads[] = { { 0, "{" },
                  { 0, "[" },
                  { 0, "\x1f\x8b" },
                  { 0, "SQL" },
                  { 257, "ustar" } };
    char head[512] = "";
    read_head(path, head, sizeof head);
    const char *const text = head + strspn(head, " \t\r\n");
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (!strncmp(heads[i].at ? head + heads[i].at : text, heads[i].bytes,
                     strlen(heads[i].bytes)))
            return true;
    return false;
}

static void print_failure(const cli_tool *tool, const char *path,
                          ts_result result, int number)
{
    if (result == TS_ERR_IO)
        cli_fail(tool, result, path, "cannot be read: %s",
                 number ? strerror(number) : "not a regular file");
    else if (result == TS_ERR_TRUNCATED)
        cli_fail(tool, result, path, "too short to be an SBT file");
    else if (result == TS_ERR_NOT_SBT && is_old(path))
        cli_fail(tool, result, path,
                 "written by TraceSmith 0.x, whose SBT is another format; "
                 "`ts-import -o OUT.sbt %s` converts it",
                 path);
    else if (result == TS_ERR_NOT_SBT && is_importable(path))
        cli_fail(tool, result, path,
                 "not an SBT file; `ts-import -o OUT.sbt %s` converts traces "
                 "of other tools",
                 path);
    else
        cli_fail(tool, result, path, "%s", ts_result_text(result));
}

bool cli_trace_open(cli_trace *trace, const cli_tool *tool, const char *path,
                    const ts_reader_desc *how, cli_warn warn)
{
    ts_reader_desc desc = { 0 };
    if (how) desc = *how;
    if (cli_context_now()) desc.no_salvage |= cli_context_now()->no_salvage;
    *trace = (cli_trace){ .path = path };
    desc.path = path;
    if (!strcmp(path, "-")) {
        size_t size;
        if (!read_stdin(&trace->bytes, &size)) {
            cli_fail(tool, cli_errno_result(errno), path, "cannot be read: %s",
                     strerror(errno));
            cli_trace_close(trace);
            return false;
        }
        desc.path = NULL;
        desc.bytes = trace->bytes;
        desc.size = size;
    }
    errno = 0;
    const ts_result result = ts_reader_open(&trace->reader, &desc);
    if (result != TS_OK) {
        print_failure(tool, path, result, errno);
        cli_trace_close(trace);
        return false;
    }
    trace->info = ts_reader_info(trace->reader);
    if (warn == CLI_WARN_ALL) cli_trace_warn(trace, tool, path);
    if (!on_opened()) return true;
    const bool opened = on_opened()(trace, tool);
    if (opened && warn == CLI_WARN_ALL) warn_cut(trace, tool, path);
    if (!opened) cli_trace_close(trace);
    return opened;
}

bool cli_window_check(const cli_trace *trace, const cli_tool *tool,
                      const int64_t *from_ns, const int64_t *to_ns)
{
    const ts_info *const info = trace->info;
    if (!cli_event_count(info)) return true;
    if (from_ns && *from_ns > info->last_ns)
        cli_fail(tool, TS_ERR_NOT_FOUND, trace->path,
                 "no event ends after --from %s: the last one ends at %s",
                 cli_time(*from_ns).s, cli_time(info->last_ns).s);
    else if (to_ns && *to_ns < info->first_ns)
        cli_fail(tool, TS_ERR_NOT_FOUND, trace->path,
                 "no event begins before --to %s: the first one begins at %s",
                 cli_time(*to_ns).s, cli_time(info->first_ns).s);
    else
        return true;
    return false;
}

static int64_t time_noted(const ts_reader *reader, const char *key, int64_t ns)
{
    const int64_t far = INT64_C(1) << 60;
    ts_metadata m;
    if (!ts_reader_metadata(reader, 0, key, &m) || m.type != TS_VALUE_INT ||
        (int64_t)m.number > far || (int64_t)m.number < -far)
        return ns;
    return (int64_t)m.number;
}

bool cli_clip(const ts_reader *reader, int64_t *from_ns, int64_t *to_ns)
{
    const int64_t far = INT64_C(1) << 60;
    *from_ns = time_noted(reader, "cut.from_ns", -far);
    *to_ns = time_noted(reader, "cut.to_ns", far);
    return time_noted(reader, "cut.clip", 0) == 1 && *from_ns < *to_ns;
}

uint64_t cli_event_count(const ts_info *info)
{
    uint64_t count = 0;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        count += info->counts[kind];
    return count;
}

bool (*cli_trace_opened)(cli_trace *trace, const cli_tool *tool);
void (*_Atomic cli_trace_closing)(const ts_reader *reader);

void cli_trace_close(cli_trace *trace)
{
    if (trace->reader && cli_trace_closing) cli_trace_closing(trace->reader);
    ts_reader_close(trace->reader);
    free(trace->bytes);
    *trace = (cli_trace){ 0 };
}

int cli_gap_order(const ts_gap *a, size_t a_device, const ts_gap *b,
                  size_t b_device)
{
    const int64_t of_a = a->end_ns - a->start_ns;
    const int64_t of_b = b->end_ns - b->start_ns;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a_device > b_device) - (a_device < b_device);
}

const char *cli_track_type(ts_track_type type)
{
    static const char *const names[] = { "track",  "process", "thread",
                                         "device", "context", "stream",
                                         "counter" };
    return names[(size_t)type < sizeof names / sizeof *names ? type : 0];
}

ts_text cli_track_name(const ts_track *track, cli_text *made)
{
    if (track->name.size) return track->name;
    const int size = snprintf(made->s, sizeof made->s, "%s %" PRIu64,
                              cli_track_type(track->type), track->number);
    return (ts_text){ made->s, (size_t)size };
}
