/*
    ts-record.c - run a program and record what it does
*/
#include "tools/record/record.h"
#include "tools/record/with/with.h"
#include <unistd.h>

static const char *out_text, *size_text, *flight_size_text;
static const char *stack_text, *budget_text, *collect_text;
static uint64_t frames = UINT64_MAX; // UINT64_MAX: not given
static cli_list capture;
static bool no_merge, stacks, yield, lasts, flight;
static record_job job;
static with_options with;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write (default: trace.sbt); an existing file\n"
              "is replaced when recording ends; %r is the rank, %h the\n"
              "host, %p the process ID of ts-record",
      .text = &out_text },
    { .name = "--kind, --kinds LIST",
      .help = "record only these kinds of events, separated by commas:\n"
              "kernel, memcpy, zone, ...; gpu and host are groups of\n"
              "kinds; -api_call excludes a kind",
      .text = &job.options.kinds },
    { .name = "--filter LIST",
      .help = "record only zones, marks and kernels with these names,\n"
              "separated by commas; * matches any characters, ? one;\n"
              "-NAME excludes a name",
      .text = &job.options.names },
    { .name = "--stacks[=DEPTH]",
      .help = "record the call stack of the host at each launch, up to\n"
              "DEPTH frames (default: 32)",
      .flag = &stacks,
      .text = &stack_text },
    { .name = "--capture WHAT",
      .help = "save code, arguments and memory of GPU operations, so\n"
              "that ts-replay --execute can run them again: all, or\n"
              "kernel:gemm* zone:step frames:3 first:10 count:2\n"
              "budget:2G hashes hash:host; separate several by blanks or\n"
              "repeat --capture",
      .list = &capture },
    { .name = "--frames N",
      .help = "stop capturing after N frames, as --capture frames:N;\n"
              "without --capture, everything is captured",
      .number = &frames },
    { .name = "--budget SIZE",
      .help = "limit the captured bytes, as --capture budget:SIZE: 2G",
      .text = &budget_text },
    { .name = "--capture-on LIST",
      .help = "start and stop capturing when ts-record gets a signal or\n"
              "a key is pressed: SIGUSR1, SIGUSR2, key; separated by\n"
              "commas",
      .text = &job.options.capture_on },
    { .name = "--yield[=WHO]",
      .help = "if another profiler in the program requests CUPTI, let it\n"
              "have CUPTI; with WHO, only profilers whose name contains\n"
              "WHO (kineto); from then on calls are recorded, but not\n"
              "the operations that they start",
      .flag = &yield,
      .text = &job.options.yield },
    { .name = "--delay TIME",
      .help = "start recording after TIME: 10s, 500ms",
      .time_ns = &job.options.delay_ns },
    { .name = "--duration TIME",
      .help = "stop recording after TIME; the program continues",
      .flag = &lasts,
      .time_ns = &job.options.duration_ns },
    { .name = "--flight-recorder TIME",
      .help = "keep only the last TIME of events, in memory; write them\n"
              "when the program ends or crashes, and whenever ts-record\n"
              "gets SIGUSR2",
      .flag = &flight,
      .time_ns = &job.options.flight_ns },
    { .name = "--flight-memory SIZE",
      .help = "memory per thread for --flight-recorder, at most 64MiB\n"
              "(default: 4MiB)",
      .text = &flight_size_text },
    { .name = "--size-limit SIZE",
      .help = "stop recording when the traces reach SIZE: 500MB",
      .text = &size_text },
    { .name = "--live",
      .help = "show the progress of recording on the terminal",
      .flag = &job.options.live },
    { .name = "--no-merge",
      .help = "keep one trace for each process, in a folder next to the\n"
              "output file, instead of merging them",
      .flag = &no_merge },
    { .name = "--collect FOLDER",
      .help = "run no program; merge the traces in FOLDER, which an\n"
              "earlier run left because children were still running or\n"
              "ts-record was killed; the output is FOLDER without its\n"
              "last suffix, unless -o is given",
      .text = &collect_text },
    { .name = "--with TOOL",
      .help = "record with a vendor's own tool of PATH, and import what\n"
              "it writes: nsys, rocprofv3, xctrace, mctracer or msprof",
      .text = &with.tool },
    { .name = "--with-args WORDS",
      .help = "options for that tool, quoted as in a shell:\n"
              "'--trace=cuda,nvtx --sample=none'",
      .text = &with.args },
    { .name = "--keep",
      .help = "keep what that tool wrote, in a folder beside the output",
      .flag = &with.keep },
    { .name = "--with-status FILE",
      .help = "run COMMAND without recording it, and write its exit\n"
              "status to FILE; --with uses it inside of tools that\n"
              "return another one",
      .text = &with.status },
    { .name = "-q, --quiet",
      .help = "print errors only, no summary",
      .flag = &job.quiet },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-record",
    .usage = "[options] COMMAND [ARGUMENT...]",
    .about = "Runs a program unchanged and records it and its child processes "
             "into one trace.\nExit status: that of the program; 128 + N if "
             "signal N ended it, 127 if it was\nnot found, 126 if it cannot be "
             "run, 125 if the trace could not be written.",
    .options = options,
    .command = true,
};

static bool take_size(const char *option, const char *text, uint64_t *size)
{
    if (!text || (cli_parse_bytes(text, size) && *size)) return true;
    cli_error(&tool, NULL, "%s: '%s' is not a size such as 64MiB", option,
              text);
    return false;
}

// Checks the times. Less than 1 ms is refused: the library takes 0 for no
// limit.
static bool take_times(void)
{
    const char *wrong = NULL;
    if (lasts && !job.options.duration_ns)
        wrong = "--duration: must be at least 1 ms";
    if (flight && !job.options.flight_ns)
        wrong = "--flight-recorder: must be at least 1 ms";
    if (job.options.flight_memory && !flight)
        wrong = "--flight-memory requires --flight-recorder TIME";
    if (job.options.flight_memory > TS_INJECT_FLIGHT_MOST)
        wrong = "--flight-memory: must be at most 64MiB";
    if (wrong) cli_error(&tool, NULL, "%s", wrong);
    return !wrong;
}

static bool take_depth(void)
{
    if (!stacks) return true;
    job.options.stack_depth = stack_text ? strtoull(stack_text, NULL, 10) : 32;
    if (job.options.stack_depth &&
        (!stack_text || !stack_text[strspn(stack_text, "0123456789")]))
        return true;
    cli_error(&tool, NULL, "--stacks: '%s' is not a number of frames",
              stack_text);
    return false;
}

static void add_capture(size_t *size, const char *word, const char *value)
{
    const size_t room = sizeof job.options.capture;
    if (*size < room)
        *size += (size_t)snprintf(job.options.capture + *size, room - *size,
                                  "%s%s%s", *size ? " " : "", word, value);
}

// Joins the words of --capture with blanks. The last word of a kind counts, so
// those of more specific options come last.
static bool take_capture(void)
{
    const char *const text = job.options.capture;
    const bool framed = frames != UINT64_MAX;
    uint64_t budget = 0;
    size_t size = 0;
    if (framed && (!frames || frames > UINT32_MAX)) {
        cli_error(&tool, NULL, "--frames: must be at least 1");
        return false;
    }
    if (!take_size("--budget", budget_text, &budget)) return false;
    for (size_t i = 0; i < capture.count; i++)
        add_capture(&size, capture.items[i], "");
    const bool empty = capture.count && !text[strspn(text, " ")];
    if (framed) add_capture(&size, "frames:", cli_format("%" PRIu64, frames).s);
    if (budget) add_capture(&size, "budget:", cli_format("%" PRIu64, budget).s);
    if (!empty && size < sizeof job.options.capture) return true;
    cli_error(&tool, NULL, "--capture: %s",
              empty ? "needs a value, such as all"
                    : "must be at most 4,095 bytes");
    return false;
}

// Lists the traces with captures as recorded by this user, so that ts-replay
// executes them without --trust.
static void own_traces(void)
{
    bool all = true;
    if (!*job.options.capture) return;
    for (size_t i = 0; i < job.part_count; i++) {
        const record_part *const part = &job.parts[i];
        if (no_merge && !part->foreign) cli_trace_own(part->path);
        all = all && !part->foreign;
    }
    if (!no_merge && all) cli_trace_own(job.out);
}

// Makes the trace. False if it could not be made.
static bool finish(void)
{
    record_parts_await(&job); // must come before record_parts_find
    if (!record_parts_find(&job, "")) return false;
    const size_t failures = record_print_failures(&job);
    if (!record_parts_ended(&job)) {
        const bool none =
            !job.part_count && !job.awaited && !failures && !job.gone;
        if (!job.quiet && none) record_print_nothing(&job);
        if (!job.quiet) record_print_own(&job);
        record_print_end(&job);
        record_give_up(&job);
        return !failures;
    }
    if (no_merge) {
        const bool cut = !job.options.flight_ns || record_cut_parts(&job);
        record_spool_remove(&job);
        record_own_remove(&job);
        record_control_remove(&job);
        if (cut) own_traces();
        if (!job.quiet) record_print_parts(&job);
        record_print_end(&job);
        return cut;
    }
    const bool done = record_assemble(&job, job.out);
    if (done) own_traces();
    if (done && !job.quiet) record_print_trace(&job);
    record_print_end(&job);
    record_control_remove(&job);
    if (done)
        record_parts_remove(&job);
    else
        cli_error(&tool, NULL,
                  "the traces of the single processes are in %s; ts-record "
                  "--collect FOLDER merges them",
                  job.folder);
    return done;
}

// --collect: the folder "run.sbt.Xb3k9Q" gives the trace "run.sbt".
static int collect(void)
{
    static char name[RECORD_PATH];
    static char folder[RECORD_PATH];
    snprintf(folder, sizeof folder, "%s", collect_text);
    size_t size = strlen(folder);
    while (size && folder[size - 1] == '/') // added by the shell's completion
        folder[--size] = 0;
    snprintf(name, sizeof name, "%.*s", size > 7 ? (int)size - 7 : 0, folder);
    job.pattern = out_text ? out_text : name;
    if (!record_collect(&job, folder)) return RECORD_FAILED;
    const bool done = finish();
    record_parts_close(&job);
    return done ? CLI_OK : RECORD_FAILED;
}

// Whether an option of our own recorder was given.
static bool is_ours(void)
{
    static const record_options none;
    return memcmp(&job.options, &none, sizeof none) != 0 || size_text ||
           flight_size_text || stack_text || budget_text || collect_text ||
           frames != UINT64_MAX || capture.count || no_merge || stacks ||
           yield || lasts || flight;
}

// Checks --with and what belongs to it.
static bool take_with(void)
{
    const char *wrong = NULL;
    if (!with.tool && (with.args || with.keep))
        wrong = "--with-args and --keep require --with TOOL";
    else if (with.tool && with.status)
        wrong = "--with-status cannot be combined with --with";
    else if ((with.tool || with.status) && is_ours())
        wrong = "--with can be combined with -o, -q, --keep and --with-args "
                "only; the other options are those of TraceSmith's recorder";
    if (wrong) cli_error(&tool, NULL, "%s", wrong);
    return !wrong && (!with.tool || record_with_check(&tool, &with));
}

int main(int argc, char **argv)
{
    job.tool = &tool;
    cli_parse(&tool, &argc, argv);
    if (!take_with()) return cli_usage(&tool);
    if (collect_text && argc > 1) {
        cli_error(&tool, NULL, "--collect runs no program: remove COMMAND");
        return cli_usage(&tool);
    }
    if (collect_text) return collect();
    if (argc < 2) {
        cli_error(&tool, NULL, "a program to run is required");
        return cli_usage(&tool);
    }
    job.pattern = out_text ? out_text : "trace.sbt";
    if (yield && !job.options.yield) job.options.yield = "all";
    job.argv = argv + 1;
    if (with.status) return record_with_status(&job, with.status);
    if (with.tool) return record_with(&job, &with);
    if (!take_size("--size-limit", size_text, &job.options.size_limit) ||
        !take_size("--flight-memory", flight_size_text,
                   &job.options.flight_memory) ||
        !take_times() || !take_depth() || !take_capture() ||
        !record_options_check(&job))
        return cli_usage(&tool);
    if (!record_prepare(&job)) return RECORD_FAILED;
    record_own_begin(&job);
    const int code = record_run(&job);
    if (job.pid <= 0 || job.never_ran) {
        record_give_up(&job);
        return code;
    }
    const bool done = finish();
    record_parts_close(&job);
    return done || code ? code : RECORD_FAILED;
}
