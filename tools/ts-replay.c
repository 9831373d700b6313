/*
    ts-replay.c - replay the GPU operations of a trace
*/
#include "tools/common/select/resolve.h"
#include "tools/replay/execute/execute.h"
#include "tools/replay/races/races.h"
#include "tools/common/symbolize/symbolize.h"

static const char *deps_text, *ops_text;
static const char *mode_text, *out_text, *speed_text;
static cli_list what_ifs;
static uint64_t loops, speed;
static bool has_loops, option_dry_run, option_digest, option_json,
    option_verify, option_ascii;

static races_options races;
static bool has_seed;
static execute_options execute;
static bool has_timeout;

static const cli_option options[] = {
    SELECT_OPTIONS,
    { .name = "--ops A..B",
      .help = "select operations number A to B in order of time, from 0",
      .text = &ops_text },
    { .name = "--mode HOW",
      .help = "exact: use every recorded delay (default); model: replace\n"
              "delays by calibrated constants",
      .text = &mode_text },
    { .name = "--what-if CHANGE", .help = WHATIF_HELP, .list = &what_ifs },
    { .name = "--deps HOW",
      .help = "how to treat operations that are not selected: frozen:\n"
              "they occur at their recorded times (default); closure:\n"
              "select those that selected operations depend on, too;\n"
              "none: ignore them",
      .text = &deps_text },
    { .name = "--dry-run",
      .help = "print the plan only: which operations are selected and\n"
              "skipped, and why",
      .flag = &option_dry_run },
    { .name = "--loops N",
      .help = "replay N times, compare the digests, report the run time",
      .flag = &has_loops,
      .number = &loops },
    { .name = "--speed X",
      .help = "play the schedule X times as fast as recorded: 0.01, 1,\n"
              "20",
      .text = &speed_text },
    { .name = "-o, --output FILE",
      .help = "write the schedule as a trace: operations at their\n"
              "replayed times, everything else as recorded",
      .text = &out_text },
    { .name = "--digest",
      .help = "print only the digest of the schedule",
      .flag = &option_digest },
    { .name = "--verify",
      .help = "instead of replaying: compare two traces of one program:\n"
              "same operations, same order, same arguments",
      .flag = &option_verify },
    { .name = "--races",
      .help = "instead of replaying: report operations that access the\n"
              "same memory without an order, and how to order them",
      .flag = &races.races },
    { .name = "--explore N",
      .help = "instead of replaying: try N other legal orders; report\n"
              "the first that leaves different memory, and the two\n"
              "operations that cause it",
      .flag = &races.explore,
      .number = &races.orders },
    { .name = "--seed S",
      .help = "seed of the first order of --explore (default: 0)",
      .flag = &has_seed,
      .number = &races.seed },
    { .name = "--execute",
      .help = "instead of emulating: run captured operations again on a\n"
              "device and compare their results with the record",
      .flag = &execute.execute },
    { .name = "--backend NAME",
      .help = "device to use: vdev, opencl, cuda or hip (default: the\n"
              "backend that captured the operations)",
      .text = &execute.backend },
    { .name = "--chain",
      .help = "with --execute: each operation uses the results of\n"
              "earlier ones instead of its recorded inputs",
      .flag = &execute.chain },
    { .name = "--overlap",
      .help = "like --chain, but streams run concurrently as in the\n"
              "program; results are compared at the end",
      .flag = &execute.overlap },
    { .name = "--as-graph",
      .help = "like --overlap, but run as one graph of the device; also\n"
              "measures the mean time of a launch over --loops",
      .flag = &execute.as_graph },
    { .name = "--compare HOW",
      .help = "exact (default), or a tolerance: ulp=N, rtol=X, atol=X;\n"
              "for types other than f32, append the type:\n"
              "rtol=1e-3,atol=1e-5:f16",
      .text = &execute.compare },
    { .name = "--va HOW",
      .help = "memory addresses: auto: an address may change if the\n"
              "arguments can provably be rewritten (default); strict:\n"
              "addresses must be the recorded ones",
      .text = &execute.va },
    { .name = "--timeout S",
      .help = "stop an operation after S seconds (default: 10)",
      .flag = &has_timeout,
      .number = &execute.timeout_s },
    { .name = "--stop-at-first",
      .help = "stop at the first operation that diverges",
      .flag = &execute.stop_at_first },
    { .name = "--bisect",
      .help = "find the smallest part that reproduces a divergence and\n"
              "write it as a trace to -o FILE",
      .flag = &execute.bisect },
    { .name = "--extract KERNEL",
      .help = "write the first launch of a kernel as a program with its\n"
              "data to -o FOLDER",
      .text = &execute.extract },
    { .name = "--trust",
      .help = "run code of a trace that was not recorded by you on this\n"
              "machine",
      .flag = &execute.trust },
    { .name = "--no-confine",
      .help = "run kernels without the sandbox that docs/security.md\n"
              "describes, if a driver does not work in it",
      .flag = &execute.no_confine },
    { .name = "--ascii",
      .help = "draw with ASCII characters only",
      .flag = &option_ascii },
    SYMBOLIZE_OPTION,
    { .name = "--json", .help = "print one JSON object", .flag = &option_json },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-replay",
    .usage = "[options] FILE..., or --verify A B",
    .about = "Replays the GPU operations of a trace by emulation: derives "
             "their dependencies\nfrom the trace, simulates them in integer "
             "nanoseconds, and checks that every\noperation starts and ends at "
             "its recorded time. Several traces, one for each\nprocess, are "
             "replayed together.\nExit status: 0 same, 1 diverged, 2 bad input "
             "or usage, 3 not supported, 4 an\noperation of --execute timed "
             "out.",
    .options = options,
};

static bool parse_deps(ts_deps *deps)
{
    static const char *const names[] = { "frozen", "closure", "none" };
    *deps = TS_DEPS_FROZEN;
    if (!deps_text) return true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(deps_text, names[i])) continue;
        *deps = (ts_deps)i;
        return true;
    }
    cli_error(&tool, NULL, "--deps %s: must be frozen, closure or none",
              deps_text);
    return false;
}

static bool parse_mode(replay_job *job)
{
    const bool model = mode_text && !strcmp(mode_text, "model");
    const bool exact = mode_text && !strcmp(mode_text, "exact");
    if (mode_text && !model && !exact) {
        cli_error(&tool, NULL, "--mode %s: must be exact or model", mode_text);
        return false;
    }
    if (exact && what_ifs.count) {
        cli_error(&tool, NULL, "--what-if requires --mode model");
        return false;
    }
    if (model || what_ifs.count) job->mode = TS_REPLAY_MODEL;
    return replay_what_ifs(job, &what_ifs);
}

static bool parse_play(void)
{
    if (!speed_text) return true;
    if (!replay_parse_speed(speed_text, &speed))
        cli_error(&tool, NULL,
                  "--speed %s: must be a number above 0, such as 0.01",
                  speed_text);
    else if (option_dry_run || option_digest || option_json || races.races ||
             races.explore)
        cli_error(&tool, NULL,
                  "--speed cannot be combined with --dry-run, --digest, "
                  "--json, --races or --explore");
    else
        return true;
    return false;
}

static bool check_usage(int argc, ts_deps *deps)
{
    if (argc < 2) {
        cli_error(&tool, NULL, "a trace to read is required");
        return false;
    }
    if (!parse_deps(deps) || !parse_play()) return false;
    if ((races.races || races.explore) &&
        (has_loops || option_dry_run || option_digest || out_text ||
         mode_text || what_ifs.count)) {
        cli_error(&tool, NULL,
                  "--races and --explore do not replay: they cannot be "
                  "combined with --loops, --dry-run, --digest, --mode, "
                  "--what-if or -o");
        return false;
    }
    if (races.explore && races.orders > 1000000) {
        cli_error(&tool, NULL, "--explore: must be at most 1000000");
        return false;
    }
    if (option_dry_run && (mode_text || what_ifs.count)) {
        cli_error(&tool, NULL,
                  "--dry-run does not replay: it cannot be combined with "
                  "--mode or --what-if");
        return false;
    }
    if (races.explore ? !races.orders : has_seed) {
        cli_error(&tool, NULL,
                  races.explore ? "--explore: must be at least 1"
                                : "--seed requires --explore");
        return false;
    }
    if (has_loops && (!loops || loops > 1000000 || option_dry_run)) {
        cli_error(&tool, NULL,
                  option_dry_run ? "--loops cannot be combined with --dry-run"
                                 : "--loops: must be between 1 and 1000000");
        return false;
    }
    if (out_text && option_dry_run) {
        cli_error(&tool, NULL,
                  "--dry-run does not replay: -o has nothing to "
                  "write");
        return false;
    }
    if (option_digest && (option_json || option_dry_run)) {
        cli_error(&tool, NULL,
                  "--digest cannot be combined with --json or --dry-run");
        return false;
    }
    if (!select_check(&tool)) return false;
    return true;
}

static int print_failure(const replay_job *job, ts_result result)
{
    if (job->report.why) {
        cli_error(&tool, job->path, "--what-if '%s': %s", job->report.of_text,
                  job->report.why);
        return REPLAY_BAD;
    }
    if (result == TS_ERR_NOT_FOUND) {
        cli_error(&tool, job->path,
                  "the trace contains no GPU operation to replay");
        return REPLAY_UNSUPPORTED;
    }
    cli_error(&tool, job->path, "%s", ts_result_text(result));
    return result == TS_ERR_UNSUPPORTED ? REPLAY_UNSUPPORTED : REPLAY_BAD;
}

// A replay without any operation is a failure.
static int print_empty(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    FILE *const out = cli_error_begin(&tool, job->path);
    fputs("the selection is empty", out);
    const char *before = ": of ";
    for (uint32_t i = TS_SKIP_NOT + 1; i < TS_SKIP_LIMIT; i++) {
        if (!s->skipped[i]) continue;
        if (*before == ':')
            fprintf(out, ": of %s operations ", cli_count(s->loaded).s);
        else
            fputs(before, out);
        fprintf(out, "%s are skipped as %s", cli_count(s->skipped[i]).s,
                ts_skip_name(i));
        before = ", ";
    }
    cli_error_end();
    return REPLAY_BAD;
}

static int report(replay_job *job)
{
    if (!option_digest) replay_measure(job);
    if (option_digest)
        printf("%016" PRIx64 "\n", ts_replay_result(job->replay)->digest);
    else if (option_json)
        replay_json(job);
    else
        replay_text(job);
    if (job->loops.count && !job->loops.same) {
        cli_error(&tool, job->path, "the runs gave different digests");
        return REPLAY_DIVERGED;
    }
    if (!whatif_all_ran(&tool, job->path, &job->report)) return REPLAY_DIVERGED;
    return job->dry_run || replay_is_same(job) ? REPLAY_SAME : REPLAY_DIVERGED;
}

static int look_for_races(const replay_job *job)
{
    const cli_text from = cli_format("%" PRId64 "ns", selected.from_ns);
    const cli_text to = cli_format("%" PRId64 "ns", selected.to_ns);
    // Repeats the options that give the same selection.
    races_options chosen = races;
    chosen.json = option_json;
    const char *const words[RACES_SELECTIONS][2] = {
        { "--stream", selected.stream },
        { "--device", selected.device },
        { "--from", selected.has_from ? from.s : NULL },
        { "--to", selected.has_to ? to.s : NULL },
        { "--ops", ops_text },
        { "--zone", selected.zone },
        { "--step", selected.step },
        { "--rank", selected.rank },
        { "--deps", deps_text },
    };
    memcpy(chosen.selection, words, sizeof words);
    return races_run(job, &chosen);
}

static bool check_execute(int argc)
{
    const bool any = execute.backend || execute.chain || execute.overlap ||
                     execute.as_graph || execute.compare || execute.va ||
                     has_timeout || execute.stop_at_first || execute.bisect ||
                     execute.extract || execute.trust || execute.no_confine;
    if (!execute.execute) {
        if (any)
            cli_error(&tool, NULL,
                      "--backend, --chain, --overlap, --as-graph, --compare, "
                      "--va, --timeout, --stop-at-first, --bisect, --extract, "
                      "--trust and --no-confine require --execute");
        return !any;
    }
    execute.loops = has_loops ? loops : 1;
    execute.overlap |= execute.as_graph;
    execute.output = out_text;
    execute.json = option_json;
    if (argc != 2)
        cli_error(&tool, NULL, "--execute reads exactly one trace");
    else if (option_dry_run || option_digest || mode_text || what_ifs.count ||
             speed_text || races.races || races.explore || option_verify)
        cli_error(&tool, NULL,
                  "--execute does not emulate: it cannot be combined with "
                  "--dry-run, --digest, --mode, --what-if, --speed, --races, "
                  "--explore or --verify");
    else if (execute.extract &&
             (execute.bisect || execute.chain || execute.overlap ||
              execute.compare || execute.va || has_timeout || has_loops ||
              execute.stop_at_first || option_json))
        cli_error(&tool, NULL,
                  "--extract does not run operations: it cannot be combined "
                  "with --bisect, --chain, --overlap, --as-graph, --compare, "
                  "--va, --timeout, --loops, --stop-at-first or --json");
    else if (has_timeout && !execute.timeout_s)
        cli_error(&tool, NULL, "--timeout: must be at least 1 second");
    else
        return execute_check(&tool, &execute);
    return false;
}

static int replay(replay_job *job, const ts_replay_desc *desc)
{
    const ts_result opened = replay_open(job, *desc);
    if (opened != TS_OK) return print_failure(job, opened);
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    if (s->lost)
        cli_error(&tool, job->path,
                  "the figures are based on incomplete data: %s lost records "
                  "may belong to the selection",
                  cli_count(s->lost).s);
    if (!s->operations) return print_empty(job);
    if (execute.execute) return execute_run(job, &execute);
    if (races.races || races.explore) return look_for_races(job);
    const ts_result ran = job->dry_run ? TS_OK : replay_run(job, loops);
    if (ran != TS_OK) return print_failure(job, ran);
    if (out_text && !replay_write(job, out_text)) return REPLAY_BAD;
    if (speed && !replay_play(job, speed)) return REPLAY_BAD;
    return report(job);
}

typedef struct chosen {
    replay_choice *choice; // NULL: all operations
    select_rows *rows;
} chosen;

static ts_skip choose(const ts_replay *replay, size_t index, void *user)
{
    const chosen *const c = user;
    ts_operation op;
    if (c->rows && ts_replay_operation(replay, index, &op) &&
        !select_rows_have(c->rows, op.file, op.row))
        return TS_SKIP_RANGE;
    return c->choice ? replay_chosen(replay, index, c->choice) : TS_SKIP_NOT;
}

static bool find_tracks(const replay_job *job, replay_list *streams,
                        replay_list *devices)
{
    streams->devices = devices;
    return (!selected.device ||
            replay_devices(job, selected.device, devices)) &&
           (!selected.stream || replay_streams(job, selected.stream, streams));
}

static bool find_chosen(const replay_job *job, chosen *c)
{
    if (!select_rows_open(&c->rows, job)) return false;
    if (!ops_text && !selected.zone) return true;
    c->choice = replay_choose(job, ops_text, selected.zone);
    return c->choice;
}

static int select_and_replay(replay_job *job)
{
    replay_list streams = { 0 }, devices = { 0 };
    chosen c = { 0 };
    int code = REPLAY_BAD;
    if (find_tracks(job, &streams, &devices) && find_chosen(job, &c)) {
        const ts_replay_desc desc = {
            .streams = streams.tracks,
            .stream_files = streams.files,
            .stream_count = streams.count,
            .devices = devices.tracks,
            .device_files = devices.files,
            .device_count = devices.count,
            .from_ns = selected.has_from ? selected.from_ns
                       : selected.has_to ? INT64_MIN
                                         : 0,
            .to_ns = selected.has_to     ? selected.to_ns
                     : selected.has_from ? INT64_MAX
                                         : 0,
            .deps = job->deps,
            .choose = c.choice || c.rows ? choose : NULL,
            .choose_user = &c,
        };
        // With a part of the operations the idle time of a device is not known.
        if (!c.choice) job->begin_ns = select_rows_begin(c.rows);
        code = replay(job, &desc);
    }
    ts_replay_close(job->replay);
    replay_choice_close(c.choice);
    select_rows_close(c.rows);
    replay_list_close(&streams);
    replay_list_close(&devices);
    return code;
}

static int verify(int argc, char **argv)
{
    if (argc != 3) {
        cli_error(&tool, NULL, "--verify needs exactly two traces");
        return cli_usage(&tool);
    }
    if (select_any() || deps_text || ops_text || out_text || speed_text ||
        mode_text || what_ifs.count || has_loops || option_dry_run ||
        option_digest || races.races || races.explore || has_seed) {
        cli_error(&tool, NULL, "--verify can only be combined with --json");
        return cli_usage(&tool);
    }
    const int code = verify_run(&tool, argv[1], argv[2], option_json);
    return cli_finish(&tool, code) == code ? code : REPLAY_BAD;
}

static bool check_output(const replay_job *job)
{
    return !out_text || execute.extract ||
           (replay_check_output(job, out_text) &&
            (job->file_count == 1 ||
             cli_joined_check(&tool, out_text, "replay.mode")));
}

int main(int argc, char **argv)
{
    replay_job job = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (option_verify) return verify(argc, argv);
    if (!check_usage(argc, &job.deps) || !parse_mode(&job) ||
        !check_execute(argc))
        return cli_usage(&tool);
    job.dry_run = option_dry_run;
    job.unicode = !option_ascii && cli_unicode();
    int code = REPLAY_BAD;
    uint32_t count = (uint32_t)argc - 1;
    if (select_files(&tool, argv + 1, &count) &&
        replay_files_open(&job, argv + 1, count) && check_output(&job))
        code = select_and_replay(&job);
    replay_files_close(&job);
    // Lost output must not look like a divergence.
    return cli_finish(&tool, code) == code ? code : REPLAY_BAD;
}
