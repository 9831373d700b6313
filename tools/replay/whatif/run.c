/*
    run.c - runs what-ifs, alone and combined, and reports the results
*/
#include "tools/replay/whatif/whatif.h"
#include <limits.h>
#include <stdarg.h>

static ts_result keep_steps(ts_replay *replay, whatif_report *report,
                            whatif_figures *figures)
{
    const ts_step *steps;
    size_t count;
    const ts_result result = ts_replay_steps(replay, &steps, &count);
    if (result != TS_OK) return result;
    if (!report->steps) {
        report->steps = calloc(count + 1, sizeof *report->steps);
        if (!report->steps) return TS_ERR_MEMORY;
        report->step_count = count;
        for (size_t i = 0; i < count; i++)
            report->steps[i] = steps[i];
    }
    figures->step_ns = calloc(count + 1, sizeof *figures->step_ns);
    if (!figures->step_ns) return TS_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        figures->step_ns[i] = steps[i].end_ns - steps[i].start_ns;
    return TS_OK;
}

// Stores the figures that exist only if all operations ran.
static ts_result keep_times(ts_replay *replay, whatif_report *report,
                            whatif_figures *figures)
{
    const whatif_figures *const base = &report->figures[0];
    const ts_replay_stats *const s = ts_replay_result(replay);
    ts_path path;
    const ts_result result = ts_replay_path(replay, &path);
    if (result != TS_OK) return result;
    figures->makespan_ns = s->end_ns - s->start_ns;
    figures->bound = path.bound;
    figures->assumed_ns = path.assumed_ns;
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        figures->cost_ns[i] = path.cost_ns[i];
    if (base->never_ran) return TS_OK; // nothing to compare with
    figures->change_ns = figures->makespan_ns - base->makespan_ns;
    return keep_steps(replay, report, figures);
}

static ts_result run_once(ts_replay *replay, const whatif_changes *changes,
                          const char *text, whatif_report *report)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL,
                                      .changes = changes->list,
                                      .change_count = changes->count,
                                      .copy_engines = changes->copy_engines };
    const ts_result result = ts_replay_run(replay, &desc);
    if (result != TS_OK) return result;
    const ts_replay_stats *const s = ts_replay_result(replay);
    whatif_figures *const figures = &report->figures[report->count++];
    report->recorded_ns = s->recorded_end_ns - s->recorded_start_ns;
    report->unexplained = s->unexplained;
    report->unexplained_ns = s->unexplained_ns;
    report->nodes = ts_replay_graph(replay).node_count;
    figures->text = text;
    figures->meant = changes->meant;
    figures->digest = s->digest;
    figures->never_ran = s->skipped[TS_SKIP_UNMET];
    figures->operations = s->operations;
    figures->removed = s->skipped[TS_SKIP_REMOVED];
    return figures->never_ran ? TS_OK : keep_times(replay, report, figures);
}

__attribute__((format(printf, 3, 4))) static void
distrust(whatif_trust *trust, const char *confidence, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(trust->because, sizeof trust->because, format, args);
    va_end(args);
    trust->confidence = confidence;
}

static bool moves(const whatif_changes *changes)
{
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].type == TS_CHANGE_MOVE ||
            changes->list[i].type == TS_CHANGE_SERIALISE)
            return true;
    return false;
}

static int by_number(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

// Finds the calls that launched work, and their names, sorted. NULL without
// memory.
static bool *find_launches(const ts_replay *replay, uint64_t *names,
                           size_t *count)
{
    const ts_graph graph = ts_replay_graph(replay);
    bool *const launched = calloc((size_t)graph.call_count + 1, 1);
    ts_operation o;
    ts_node call;
    *count = 0;
    for (size_t i = 0; launched && ts_replay_operation(replay, i, &o); i++) {
        if (o.call == TS_NODE_NONE || !ts_replay_node(replay, o.call, &call) ||
            launched[o.call - graph.operation_count])
            continue;
        launched[o.call - graph.operation_count] = true;
        names[(*count)++] = (uint64_t)call.file << 32 | call.name;
    }
    if (launched) qsort(names, *count, sizeof *names, by_number);
    return launched;
}

// Counts launches whose operation is after the end of the record: with a change
// it might run before recorded ones. 0 also without memory.
static uint64_t count_beyond(const ts_replay *replay)
{
    const ts_graph graph = ts_replay_graph(replay);
    uint64_t *const names = calloc((size_t)graph.call_count + 1, sizeof *names);
    size_t count = 0;
    bool *const launched = names ? find_launches(replay, names, &count) : NULL;
    uint64_t beyond = 0;
    ts_node call;
    for (uint32_t i = 0; launched && i < graph.call_count; i++) {
        if (launched[i] ||
            !ts_replay_node(replay, graph.operation_count + i, &call))
            continue;
        const uint64_t name = (uint64_t)call.file << 32 | call.name;
        beyond += bsearch(&name, names, count, sizeof name, by_number) != NULL;
    }
    free(launched);
    free(names);
    return beyond;
}

// Rates the confidence of a what-if, which may be lower than the model's.
static void judge_what_if(const whatif_report *report,
                          const whatif_changes *changes,
                          const ts_replay *replay, whatif_figures *f)
{
    const int64_t assumed = f->assumed_ns - report->figures[0].assumed_ns;
    const bool moved = moves(changes);
    const uint64_t beyond = moved ? count_beyond(replay) : 0;
    f->trust.confidence = report->trust.confidence;
    if (moved && beyond)
        distrust(&f->trust, "low",
                 "the operations of %s are not in the trace: they may run "
                 "between the moved ones",
                 cli_counted(beyond, "launch", "launches").s);
    else if (moved && ts_replay_result(replay)->edges[TS_EDGE_SYNC])
        distrust(&f->trust, "low",
                 "threads still wait for the same operations as recorded, not "
                 "for those moved to these streams");
    else if (changes->unsized_ns > report->recorded_ns / 50)
        distrust(&f->trust, "low",
                 "the sizes of these transfers are unknown or too similar to "
                 "separate latency from bandwidth");
    else if (assumed > report->recorded_ns / 50)
        distrust(&f->trust, "low",
                 "%s more are delays that occur too rarely in the record",
                 cli_time(assumed).s);
}

static ts_result run_changes(ts_replay *replay, const whatif *list,
                             size_t count, const char *text,
                             whatif_report *report)
{
    whatif_changes changes = { 0 };
    ts_result result = TS_OK;
    for (size_t i = 0; result == TS_OK && i < count; i++) {
        if (whatif_apply(&list[i], replay, &changes, &report->why)) continue;
        report->of_text = list[i].text;
        result = report->why ? TS_ERR_USAGE : TS_ERR_MEMORY;
    }
    if (result == TS_OK) result = run_once(replay, &changes, text, report);
    if (result == TS_OK && report->count) {
        whatif_figures *const f = &report->figures[report->count - 1];
        strcpy(f->nothing, "no operation matches");
        if (count == 1 && !f->meant)
            whatif_nothing(list, replay, f->nothing, sizeof f->nothing);
        if (count == 1) f->assumed = whatif_assumed(list);
        judge_what_if(report, &changes, replay, f);
    }
    whatif_changes_close(&changes);
    return result;
}

// Counts operations whose launch is not in the record: no change moves them.
static uint64_t count_queued(const ts_replay *replay)
{
    uint64_t count = 0;
    ts_operation o;
    for (size_t i = 0; ts_replay_operation(replay, i, &o); i++)
        count += o.call == TS_NODE_NONE && o.skip == TS_SKIP_NOT &&
                 (o.kind == TS_EVENT_KERNEL || o.kind == TS_EVENT_MEMCPY ||
                  o.kind == TS_EVENT_MEMSET || o.kind == TS_EVENT_COLLECTIVE);
    return count;
}

// Rates the confidence of the unchanged model. tests/checks/truth.sh measures
// how often statements of each confidence are right.
static void judge(whatif_report *report, const ts_replay *replay)
{
    const ts_replay_stats *const s = ts_replay_result(replay);
    const uint64_t queued = count_queued(replay);
    const int64_t error = report->figures[0].makespan_ns - report->recorded_ns;
    uint64_t inferred = 0, edges = 0;
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++)
        inferred += s->inferred[i], edges += s->edges[i];
    report->trust.confidence = "high";
    if (report->figures[0].never_ran)
        distrust(&report->trust, "low", "the model does not run to the end");
    else if ((error < 0 ? -error : error) * 100 > report->recorded_ns)
        distrust(&report->trust, "low",
                 "the model differs from the record by "
                 "%s",
                 cli_time(error).s);
    else if (ts_replay_host_unknown(s))
        distrust(&report->trust, "low",
                 "for %s, threads may have waited for each other or for queued "
                 "operations, which is not recorded",
                 cli_time(s->unknown_host_ns).s);
    else if (s->lost)
        distrust(&report->trust, "low", "%s lost",
                 cli_counted(s->lost, "record was", "records were").s);
    else if (s->rendezvous_partial)
        // Their recorded waiting time is kept in any what-if.
        distrust(&report->trust,
                 report->figures[0].cost_ns[TS_COST_COMMUNICATION] >
                         report->recorded_ns / 50
                     ? "low"
                     : "medium",
                 "ranks of collectives are missing");
    else if (s->rendezvous_guessed)
        distrust(&report->trust, "medium",
                 "collectives are matched by name and order");
    else if (queued)
        distrust(&report->trust, "medium", "%s in the record",
                 cli_counted(queued, "operation has no call",
                             "operations have no call")
                     .s);
    else if (s->missing_records)
        distrust(&report->trust, "medium", "%s not in the trace",
                 cli_counted(s->missing_records, "awaited event is",
                             "awaited events are")
                     .s);
    else if (s->shared_syncs)
        distrust(&report->trust, "medium",
                 "which operations %s for depends on which thread launches "
                 "first",
                 cli_counted(s->shared_syncs, "device sync waits",
                             "device syncs wait")
                     .s);
    else if (report->figures[0].cost_ns[TS_COST_UNEXPLAINED] >
             report->recorded_ns / 50)
        distrust(&report->trust, "medium",
                 "the cause of the wait is not recorded for %s of the critical "
                 "path",
                 cli_time(report->figures[0].cost_ns[TS_COST_UNEXPLAINED]).s);
    else if (inferred * 20 > edges)
        distrust(&report->trust, "medium",
                 "%s of %s edges are inferred from times",
                 cli_count(inferred).s, cli_count(edges).s);
    else if (report->unexplained * 20 > report->nodes)
        distrust(&report->trust, "medium", "%s of %s delays fit no constant",
                 cli_count(report->unexplained).s, cli_count(report->nodes).s);
}

ts_result whatif_run(ts_replay *replay, const whatif *list, size_t count,
                     whatif_report *report)
{
    memset(report, 0, sizeof *report);
    report->figures = calloc(count + 2, sizeof *report->figures);
    if (!report->figures) return TS_ERR_MEMORY;
    ts_result result = run_changes(replay, NULL, 0, NULL, report);
    if (result == TS_OK) judge(report, replay);
    for (size_t i = 0; result == TS_OK && i < count; i++)
        result = run_changes(replay, &list[i], 1, list[i].text, report);
    if (result == TS_OK && count > 1)
        result = run_changes(replay, list, count, "all of these", report);
    return result;
}

void whatif_report_close(whatif_report *report)
{
    for (size_t i = 0; report->figures && i < report->count; i++)
        free(report->figures[i].step_ns);
    free(report->figures);
    free(report->steps);
    const whatif_report none = { 0 };
    *report = none;
}

/* ---- Text --------------------------------------------------------------- */

static cli_text change_of(int64_t change, int64_t before)
{
    if (!change) return cli_format("no change");
    const double share = before ? (double)change / (double)before : 0;
    return cli_format("%s%s (%s)", change > 0 ? "+" : "", cli_time(change).s,
                      cli_change(share, 2).s);
}

// Shares that round to 0.0 % are left out.
static bool is_shown(const whatif_figures *f, uint32_t cost)
{
    return f->cost_ns[cost] && f->cost_ns[cost] >= f->makespan_ns / 2000;
}

static void put_bound(FILE *out, const whatif_figures *f)
{
    const int columns = cli_is_narrow() ? INT_MAX : 80;
    if (!f->makespan_ns) return; // no operation has a duration
    int at = fprintf(out, "    bound by %s:", ts_cost_name(f->bound));
    const char *comma = "";
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++) {
        if (!is_shown(f, i)) continue;
        const cli_text part = cli_format(
            "%s %s", ts_cost_name(i),
            cli_percent((double)f->cost_ns[i] / (double)f->makespan_ns).s);
        fputs(comma, out);
        at += (int)strlen(comma) + 1 + (int)strlen(part.s);
        if (at >= columns) at = fprintf(out, "\n       ") + (int)strlen(part.s);
        fprintf(out, " %s", part.s);
        comma = ",";
    }
    fputc('\n', out);
}

// Whether a gain is larger than the error of the model.
static bool is_gain(const whatif_figures *f, const whatif_figures *base)
{
    const int64_t change = f->change_ns < 0 ? -f->change_ns : f->change_ns;
    return change > base->makespan_ns / 200;
}

static void put_steps(FILE *out, const whatif_report *report,
                      const whatif_figures *f)
{
    const size_t shown = report->step_count > 12 ? 12 : report->step_count;
    for (size_t i = 0; i < shown; i++) {
        const int64_t was = report->figures[0].step_ns[i];
        fputs("    ", out);
        const ts_text name = report->steps[i].name;
        cli_put_text(out, name.text, name.size);
        if (name.size == 5 && !memcmp(name.text, "frame", 5))
            fprintf(out, " %" PRIu64, report->steps[i].number);
        fprintf(out, "  %s  %s\n", cli_time(f->step_ns[i]).s,
                change_of(f->step_ns[i] - was, was).s);
    }
    if (shown < report->step_count)
        fprintf(
            out, "    and %s\n",
            cli_counted(report->step_count - shown, "more step", "more steps")
                .s);
}

static cli_text deadlock_of(const whatif_figures *f)
{
    return cli_format("deadlocks: %s of %s operations never ran",
                      cli_count(f->never_ran).s,
                      cli_count(f->never_ran + f->operations + f->removed).s);
}

// Prints "confidence low: why", wrapped.
static void put_trust(FILE *out, const whatif_trust *trust)
{
    const int columns = cli_is_narrow() ? INT_MAX : 80;
    const char *word = trust->because;
    int at = fprintf(out, "    confidence %s%s", trust->confidence,
                     *word ? ":" : "");
    while (*word) {
        const int size = (int)strcspn(word, " ");
        if (at + 1 + size > columns) at = fprintf(out, "\n       ") - 1;
        at += fprintf(out, " %.*s", size, word);
        word += size + (word[size] == ' ');
    }
    fputc('\n', out);
}

static void put_model(FILE *out, const whatif_report *report)
{
    const whatif_figures *const base = &report->figures[0];
    if (base->never_ran) {
        fprintf(out, "model: %s\n", deadlock_of(base).s);
        return;
    }
    const int64_t error = base->makespan_ns - report->recorded_ns;
    fprintf(out, "model: %s; recorded %s, error %s\n",
            cli_time(base->makespan_ns).s, cli_time(report->recorded_ns).s,
            error ? change_of(error, report->recorded_ns).s : "0 ns");
    fprintf(out,
            "    %s of %s delays fit no constant and keep their recorded "
            "value\n",
            cli_count(report->unexplained).s, cli_count(report->nodes).s);
    put_trust(out, &report->trust);
    put_bound(out, base);
}

static void put_what_if(FILE *out, const whatif_report *report,
                        const whatif_figures *f)
{
    const whatif_figures *const base = &report->figures[0];
    fputs("what if ", out);
    cli_put_text(out, f->text, strlen(f->text));
    if (f->never_ran) {
        fprintf(out, ": %s\n", deadlock_of(f).s);
        return;
    }
    if (!f->operations) {
        fputs(": no operation is left\n", out);
        return;
    }
    fprintf(out, ": %s", cli_time(f->makespan_ns).s);
    if (!base->never_ran)
        fprintf(out, ", %s", change_of(f->change_ns, base->makespan_ns).s);
    fputc('\n', out);
    if (*f->assumed.s) fprintf(out, "    assumed: %s\n", f->assumed.s);
    if (*f->trust.because) put_trust(out, &f->trust);
    if (!f->meant)
        fprintf(out, "    %s\n", f->nothing);
    else if (!base->never_ran && !is_gain(f, base))
        fprintf(out, "    no %s: the time is spent on %s\n",
                f->change_ns > 0 ? "significant loss" : "gain",
                ts_cost_name(f->bound));
    put_bound(out, f);
    if (f->step_ns) put_steps(out, report, f);
}

void whatif_print(FILE *out, const whatif_report *report)
{
    put_model(out, report);
    for (size_t i = 1; i < report->count; i++)
        put_what_if(out, report, &report->figures[i]);
}

bool whatif_all_ran(const cli_tool *tool, const char *path,
                    const whatif_report *report)
{
    bool all = true;
    for (size_t i = 0; i < report->count; i++) {
        const whatif_figures *const f = &report->figures[i];
        if (!f->never_ran) continue;
        all = false;
        if (f->text)
            cli_error(tool, path, "--what-if '%s' %s", f->text,
                      deadlock_of(f).s);
        else
            cli_error(tool, path, "the model %s", deadlock_of(f).s);
    }
    return all;
}

/* ---- JSON --------------------------------------------------------------- */

static void json_times(cli_json *json, const whatif_report *report,
                       const whatif_figures *f)
{
    const whatif_figures *const base = &report->figures[0];
    if (!f->operations) { // nothing is left to run: no schedule, no change
        cli_json_null(json, "makespan_ns");
        cli_json_null(json, "change_ns");
        cli_json_null(json, "bound_by");
        return;
    }
    cli_json_int(json, "makespan_ns", f->makespan_ns);
    if (!base->never_ran) cli_json_int(json, "change_ns", f->change_ns);
    if (f->makespan_ns)
        cli_json_string(json, "bound_by", ts_cost_name(f->bound));
    else
        cli_json_null(json, "bound_by");
    cli_json_open(json, "critical_path_ns", '{');
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        cli_json_int(json, ts_cost_name(i), f->cost_ns[i]);
    cli_json_close(json, '}');
    cli_json_open(json, "steps", '[');
    for (size_t i = 0; f->step_ns && i < report->step_count; i++) {
        cli_json_open(json, NULL, '{');
        cli_json_text(json, "name", report->steps[i].name.text,
                      report->steps[i].name.size);
        cli_json_uint(json, "number", report->steps[i].number);
        cli_json_int(json, "duration_ns", f->step_ns[i]);
        cli_json_int(json, "change_ns", f->step_ns[i] - base->step_ns[i]);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_figures(cli_json *json, const char *key,
                         const whatif_report *report, const whatif_figures *f)
{
    cli_json_open(json, key, '{');
    if (!f->text) {
        cli_json_uint(json, "nodes", report->nodes);
        cli_json_uint(json, "unexplained_nodes", report->unexplained);
        cli_json_int(json, "unexplained_ns", report->unexplained_ns);
        cli_json_string(json, "confidence", report->trust.confidence);
        cli_json_string(json, "because", report->trust.because);
    } else {
        cli_json_string(json, "what_if", f->text);
        cli_json_string(json, "assumed", f->assumed.s);
        cli_json_uint(json, "operations_meant", f->meant);
        cli_json_string(json, "confidence", f->trust.confidence);
        cli_json_string(json, "because",
                        *f->trust.because ? f->trust.because
                                          : report->trust.because);
    }
    cli_json_uint(json, "operations", f->operations);
    cli_json_uint(json, "never_ran", f->never_ran);
    if (!f->never_ran) json_times(json, report, f);
    cli_json_string(json, "digest", cli_format("%016" PRIx64, f->digest).s);
    cli_json_close(json, '}');
}

void whatif_json(cli_json *json, const whatif_report *report)
{
    json_figures(json, "model", report, &report->figures[0]);
    cli_json_open(json, "what_ifs", '[');
    for (size_t i = 1; i < report->count; i++)
        json_figures(json, NULL, report, &report->figures[i]);
    cli_json_close(json, ']');
}
