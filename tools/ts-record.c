/*
    ts-record.c - run a program and record what it does
*/
#include "tools/record/record.h"
#include <unistd.h>

static const char *out_text, *size_text, *flight_size_text;
static const char *stack_text, *budget_text, *collect_text;
static uint64_t frames = UINT64_MAX; // UINT64_MAX: not given
static cli_list capture;
static bool no_merge, stacks, yield, lasts, flight;
static record_job job;

static const cli_option options[] = {
    { .name = "-o, --output FILE",
      .help = "the trace to write (trace.sbt); what is there is\n"
              "replaced at the end; %r stands for the rank, %h the\n"
              "host, %p the number of ts-record's process",
      .text = &out_text },
    { .name = "--kind, --kinds LIST",
      .help = "only these kinds of events: kernel, memcpy, zone, ...;\n"
              "gpu and host stand for many; -api_call leaves one out",
      .text = &job.options.kinds },
    { .name = "--filter LIST",
      .help = "only zones, marks and kernels of these names, with\n"
              "commas; * stands for any characters, ? for one;\n"
              "-NAME leaves out",
      .text = &job.options.names },
    { .name = "--stacks[=DEPTH]",
      .help = "the host's stack at each launch, 32 frames or so many",
      .flag = &stacks,
      .text = &stack_text },
    { .name = "--capture WHAT",
      .help = "keep what GPU operations need to be run again by\n"
              "ts-replay --execute: all, or kernel:gemm* zone:step\n"
              "frames:3 first:10 count:2 budget:2G hashes hash:host;\n"
              "several with blanks between, or by several --capture",
      .list = &capture },
    { .name = "--frames N",
      .help = "end a capture when so many frames have ended: frames:N;\n"
              "all is captured unless --capture says what",
      .number = &frames },
    { .name = "--budget SIZE",
      .help = "bytes that a capture keeps, 2G: budget:SIZE",
      .text = &budget_text },
    { .name = "--capture-on LIST",
      .help = "begin and end that when ts-record gets SIGUSR1 or\n"
              "SIGUSR2, or by a key on the terminal: SIGUSR1,key",
      .text = &job.options.capture_on },
    { .name = "--yield[=WHO]",
      .help = "give CUPTI up to another profiler in the program that\n"
              "asks for it, to those with WHO in their name (kineto):\n"
              "then calls are recorded, not what they start",
      .flag = &yield,
      .text = &job.options.yield },
    { .name = "--delay TIME",
      .help = "begin to record only after this: 10s, 500ms",
      .time_ns = &job.options.delay_ns },
    { .name = "--duration TIME",
      .help = "record for so long; the program goes on",
      .flag = &lasts,
      .time_ns = &job.options.duration_ns },
    { .name = "--flight-recorder TIME",
      .help = "keep the last moments only, in memory: they are written\n"
              "when the program ends or crashes, and each time that\n"
              "ts-record gets SIGUSR2",
      .flag = &flight,
      .time_ns = &job.options.flight_ns },
    { .name = "--flight-memory SIZE",
      .help = "memory of each thread for that, to 64MiB (4MiB)",
      .text = &flight_size_text },
    { .name = "--size-limit SIZE",
      .help = "end recording when the traces have this size: 500MB",
      .text = &size_text },
    { .name = "--live",
      .help = "show on the terminal how far recording is",
      .flag = &job.options.live },
    { .name = "--no-merge",
      .help = "leave one trace for each process, in a folder of that\n"
              "name, instead of making one of them",
      .flag = &no_merge },
    { .name = "--collect FOLDER",
      .help = "run nothing: make the trace of a folder that an earlier\n"
              "run left, as children went on or ts-record was killed;\n"
              "its name without the last part unless -o says another",
      .text = &collect_text },
    { .name = "-q, --quiet",
      .help = "no summary on stderr, errors only",
      .flag = &job.quiet },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-record",
    .usage = "[options] COMMAND [ARGUMENT...]",
    .about = "Runs a program as it is and records what it and its children "
             "report.\nReturns what the program returns; 128 + N if signal N "
             "ended it, 127 if it is\nnot there, 126 if it cannot be run, 125 "
             "if the trace could not be made.",
    .options = options,
    .command = true,
};

static bool take_size(const char *option, const char *text, uint64_t *size)
{
    if (!text || (cli_parse_bytes(text, size) && *size)) return true;
    cli_error(&tool, NULL, "%s: '%s' is no size, such as 64MiB", option, text);
    return false;
}

// Checks the times. Less than 1 ms is refused: the library takes 0 for no
// limit.
static bool take_times(void)
{
    const char *wrong = NULL;
    if (lasts && !job.options.duration_ns) wrong = "--duration: less than 1 ms";
    if (flight && !job.options.flight_ns)
        wrong = "--flight-recorder: less than 1 ms";
    if (job.options.flight_memory && !flight)
        wrong = "--flight-memory goes with --flight-recorder TIME";
    if (job.options.flight_memory > TS_INJECT_FLIGHT_MOST)
        wrong = "--flight-memory: at most 64MiB";
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
    cli_error(&tool, NULL, "--stacks: '%s' is no number of frames", stack_text);
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
        cli_error(&tool, NULL, "--frames: how many?");
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
              empty ? "what?" : "at most 4,095 bytes");
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
    const size_t failures = record_say_failures(&job);
    if (!record_parts_ended(&job)) {
        const bool none =
            !job.part_count && !job.awaited && !failures && !job.gone;
        if (!job.quiet && none) record_say_nothing(&job);
        if (!job.quiet) record_own_say(&job);
        record_say_end(&job);
        record_give_up(&job);
        return !failures;
    }
    if (no_merge) {
        const bool cut = !job.options.flight_ns || record_cut_parts(&job);
        record_spool_remove(&job);
        record_own_remove(&job);
        record_control_remove(&job);
        if (cut) own_traces();
        if (!job.quiet) record_say_parts(&job);
        record_say_end(&job);
        return cut;
    }
    const bool done = record_assemble(&job, job.out);
    if (done) own_traces();
    if (done && !job.quiet) record_say_trace(&job);
    record_say_end(&job);
    record_control_remove(&job);
    if (done)
        record_parts_remove(&job);
    else
        cli_error(&tool, NULL, "the traces of the processes are in %s",
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

int main(int argc, char **argv)
{
    job.tool = &tool;
    cli_parse(&tool, &argc, argv);
    if (collect_text && argc > 1) {
        cli_error(&tool, NULL, "--collect runs no program");
        return cli_usage(&tool);
    }
    if (collect_text) return collect();
    if (argc < 2) {
        cli_error(&tool, NULL, "which program?");
        return cli_usage(&tool);
    }
    job.pattern = out_text ? out_text : "trace.sbt";
    if (yield && !job.options.yield) job.options.yield = "all";
    job.argv = argv + 1;
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
