/*
    ts-cut.c - a part of a trace as a trace of its own
*/
#include "tools/cut/cut.h"
#include "tools/replay/replay.h"

static const char *out_text, *zone_text, *frame_text, *device_text, *step_text,
    *rank_text, *process_text, *stream_text, *kind_text, *name_text, *deps_text;
static int64_t from_ns, to_ns;
static bool has_from, has_to, anonymise, want_json;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write; what is there is replaced at the end",
      .text = &out_text },
    { .name = "--from TIME",
      .help = "only what ends after: 1.5ms, 20us, 3s after the start",
      .flag = &has_from,
      .time_ns = &from_ns },
    { .name = "--to TIME",
      .help = "only what begins before",
      .flag = &has_to,
      .time_ns = &to_ns },
    { .name = "--zone LIST",
      .help = "only what was done inside zones of these names, and the\n"
              "operations launched there; whole names, in which * stands\n"
              "for anything",
      .text = &zone_text },
    { .name = "--frame [NAME:]A..B",
      .help = "only the time of frames number A to B, from 0",
      .text = &frame_text },
    { .name = "--step N[..M]",
      .help = "only steps N to M, as the trace numbers them: the GPU\n"
              "operations that the host issued in them, from all\n"
              "threads, with what the host did then",
      .text = &step_text },
    { .name = "--rank LIST",
      .help = "only these ranks of a merged trace; if none is known, the\n"
              "files by number from 0",
      .text = &rank_text },
    { .name = "--process LIST",
      .help = "only what belongs to these processes: numbers or names,\n"
              "in which * stands for anything",
      .text = &process_text },
    { .name = "--device LIST",
      .help = "only what lies on these devices: numbers or names",
      .text = &device_text },
    { .name = "--stream LIST",
      .help = "only what lies on these streams: numbers (on all\n"
              "devices), DEVICE:STREAM or names, with commas between",
      .text = &stream_text },
    { .name = "--kind, --kinds LIST",
      .help = "only these kinds of events: kernel, zone, ...; gpu is all\n"
              "GPU operations",
      .text = &kind_text },
    { .name = "--name REGEX",
      .help = "only what has a name a part of which matches; ^ and $ are\n"
              "its ends",
      .text = &name_text },
    { .name = "--keep-deps HOW",
      .help = "calls: and the calls that launched what is kept (the\n"
              "default, unless --kind is given); both: and what kept\n"
              "calls launched; none",
      .text = &deps_text },
    { .name = "--anonymise",
      .help = "leave nothing that tells who ran what, where and when",
      .flag = &anonymise },
    { .name = "--json", .help = "print one JSON object", .flag = &want_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-cut",
    .usage = "[options] -o FILE TRACE",
    .about = "Writes a part of a trace: the events for which all options hold. "
             "They are kept\nwhole and when they were.",
    .options = options,
};

/* ---- The wish ------------------------------------------------------------ */

static bool is_known_kind(const char *text, size_t size, uint64_t *kinds)
{
    uint64_t found = 0;
    char part[64];
    if (size >= sizeof part) return false;
    memcpy(part, text, size);
    part[size] = 0;
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const char *const name = ts_event_name(kind);
        if (!ts_event_columns(kind)) continue;
        if (cli_list_has(part, name, strlen(name)) ||
            (!strcmp(part, "gpu") && kind >= TS_EVENT_GPU_FIRST))
            found |= UINT64_C(1) << kind;
    }
    *kinds |= found;
    return found != 0;
}

static bool parse_kinds(cut_wish *wish)
{
    for (const char *at = kind_text; at;) {
        const size_t size = strcspn(at, ",");
        if (!is_known_kind(at, size, &wish->kinds)) {
            cli_error(&tool, NULL,
                      "--kind: no kind is '%.*s'; they are:", (int)size, at);
            for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
                if (ts_event_columns(kind))
                    fprintf(stderr, " %s", ts_event_name(kind));
            fputs(" gpu\n", stderr);
            return false;
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    return true;
}

static bool parse_deps(cut_wish *wish)
{
    static const char *const names[] = { "calls", "both", "none" };
    wish->deps = kind_text ? CUT_DEPS_NONE : CUT_DEPS_CALLS;
    if (!deps_text) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(deps_text, names[i])) continue;
        wish->deps = (cut_deps)i;
        return true;
    }
    cli_error(&tool, NULL, "--keep-deps %s: it is calls, both or none",
              deps_text);
    return false;
}

static bool parse_name(regex_t *regex, cut_wish *wish)
{
    cli_text why;
    if (!name_text) return true;
    if (!cli_regex_open(regex, name_text, strlen(name_text), &why)) {
        cli_error(&tool, NULL, "--name '%s': %s", name_text, why.s);
        return false;
    }
    wish->name = regex;
    return true;
}

static bool steps_valid(void)
{
    uint64_t first, last;
    if (!step_text || cut_range(step_text, &first, &last)) return true;
    cli_error(&tool, NULL, "--step %s: it is N or N..M", step_text);
    return false;
}

static bool parse_time(cut_wish *wish)
{
    wish->timed = has_from || has_to;
    wish->from_ns = has_from ? from_ns : INT64_MIN;
    wish->to_ns = has_to ? to_ns : INT64_MAX;
    if (wish->from_ns < wish->to_ns) return true;
    cli_error(&tool, NULL, "--to is not after --from: nothing is in between");
    return false;
}

// What was asked for, so that the trace can say it.
static const char *in_words(void)
{
    static char words[1024];
    const cli_text from = cli_format("%" PRId64 "ns", from_ns);
    const cli_text to = cli_format("%" PRId64 "ns", to_ns);
    const char *const said[][2] = {
        { "--from", has_from ? from.s : NULL },
        { "--to", has_to ? to.s : NULL },
        { "--zone", zone_text },
        { "--frame", frame_text },
        { "--step", step_text },
        { "--rank", rank_text },
        { "--process", process_text },
        { "--device", device_text },
        { "--stream", stream_text },
        { "--kind", kind_text },
        { "--name", name_text },
        { "--keep-deps", deps_text },
        { "--anonymise", anonymise ? "" : NULL },
    };
    size_t size = 0;
    for (size_t i = 0; i < sizeof said / sizeof *said; i++)
        if (said[i][1] && size < sizeof words)
            size += (size_t)snprintf(words + size, sizeof words - size,
                                     "%s%s%s%s", size ? " " : "", said[i][0],
                                     *said[i][1] ? " " : "", said[i][1]);
    return words;
}

/* ---- Result -------------------------------------------------------------- */

static void print_text(const cut_job *job)
{
    cli_put_text(stdout, job->out, strlen(job->out));
    printf(": %s of %s events", cli_count(job->counts.kept).s,
           cli_count(job->counts.kept + job->counts.left_out).s);
    if (job->added)
        printf(", %s of them because they belong to others",
               cli_count(job->added).s);
    if (job->wish.anonymise)
        printf("; %s texts replaced", cli_count(job->replaced).s);
    putchar('\n');
}

static void print_json(const cut_job *job)
{
    cli_json json = { .out = stdout, .lines = 1 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "output", job->out);
    cli_json_uint(&json, "kept", job->counts.kept);
    cli_json_uint(&json, "left_out", job->counts.left_out);
    cli_json_uint(&json, "added", job->added);
    cli_json_uint(&json, "undefined", job->undefined);
    cli_json_uint(&json, "replaced", job->replaced);
    cli_json_close(&json, '}');
}

// The streams and devices are found as ts-replay finds them.
static int cut(cut_job *job, replay_job *files)
{
    replay_list streams = { 0 }, devices = { 0 };
    int code = CLI_FAILED;
    job->trace = &files->files[0].trace;
    bool ok = (!rank_text || cut_ranks(job, rank_text)) &&
              (!process_text || cut_processes(job, process_text));
    streams.processes = devices.processes = job->wish.processes;
    streams.process_count = devices.process_count = job->wish.process_count;
    ok = ok && (!stream_text || replay_streams(files, stream_text, &streams)) &&
         (!device_text || replay_devices(files, device_text, &devices)) &&
         (!frame_text || cut_frames(job, frame_text)) &&
         (!step_text || cut_steps(job, step_text));
    if (ok) {
        job->wish.streams = streams.tracks;
        job->wish.stream_count = streams.count;
        job->wish.devices = devices.tracks;
        job->wish.device_count = devices.count;
        if (cut_write(job)) code = CLI_OK;
    }
    replay_list_close(&streams);
    replay_list_close(&devices);
    free((void *)job->wish.processes);
    return code;
}

int main(int argc, char **argv)
{
    cut_job job = { .tool = &tool };
    replay_job files = { .tool = &tool };
    regex_t regex;
    cli_parse(&tool, &argc, argv);
    if (argc != 2 || !out_text) {
        cli_error(&tool, NULL,
                  argc < 2   ? "which trace?"
                  : argc > 2 ? "one trace at a time"
                             : "where to? Give -o FILE");
        return cli_usage(&tool);
    }
    job.path = argv[1];
    job.out = out_text;
    job.wish.zones = zone_text;
    job.wish.anonymise = anonymise;
    job.wish.what = in_words();
    if (!parse_time(&job.wish) || !parse_kinds(&job.wish) ||
        !parse_deps(&job.wish) ||
        (frame_text && !cut_frames_valid(&tool, frame_text)) ||
        !steps_valid() || !parse_name(&regex, &job.wish))
        return cli_usage(&tool);
    int code = CLI_FAILED;
    if (replay_files_open(&files, argv + 1, 1) &&
        cli_window_check(&files.files[0].trace, &tool,
                         has_from ? &from_ns : NULL, has_to ? &to_ns : NULL) &&
        replay_check_output(&files, out_text))
        code = cut(&job, &files);
    if (code == CLI_OK) (want_json ? print_json : print_text)(&job);
    replay_files_close(&files);
    if (job.wish.name) regfree(&regex);
    return cli_finish(&tool, code);
}
