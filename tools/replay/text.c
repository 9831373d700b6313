/*
    text.c - the report of ts-replay for people
*/
#include "tools/replay/replay.h"
#include <stdarg.h>

/* ---- Facts -------------------------------------------------------------- */

// The next part of a text to keep on one line: up to a punctuation mark, or a
// word if that is too long.
static size_t part_of(const char *text, size_t most)
{
    size_t size = 0;
    while (text[size] && !(strchr(",;:)", text[size]) && text[size + 1] == ' '))
        size++;
    size += text[size] != 0;
    return size <= most ? size : strcspn(text, " ");
}

// Prints "  name            text" with the text wrapped.
static void put_fact(const char *name, const char *text)
{
    enum { INDENT = 18, LEAST = 20 };
    const size_t width = cli_is_narrow() ? SIZE_MAX : cli_width();
    const size_t most = width > INDENT + LEAST ? width - INDENT : LEAST;
    size_t at = 0;
    printf("  %-15s ", name);
    while (*text) {
        const size_t size = part_of(text, most);
        if (at && at + 1 + size > most) {
            printf("\n%*s", INDENT, "");
            at = 0;
        } else if (at) {
            putchar(' ');
            at++;
        }
        fwrite(text, 1, size, stdout);
        at += size;
        text += size;
        text += strspn(text, " ");
    }
    putchar('\n');
}

__attribute__((format(printf, 2, 3))) static void fact(const char *name,
                                                       const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    put_fact(name, text);
}

// Appends to a text, cut at its size.
__attribute__((format(printf, 2, 3))) static void add(char text[1024],
                                                      const char *format, ...)
{
    const size_t size = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + size, 1024 - size, format, args);
    va_end(args);
}

static void print_operations(const ts_replay_stats *s)
{
    char text[1024] = "";
    add(text, "%s of %s", cli_count(s->operations).s, cli_count(s->loaded).s);
    const char *before = "; skipped: ";
    for (uint32_t i = TS_SKIP_NOT + 1; i < TS_SKIP_LIMIT; i++) {
        if (!s->skipped[i]) continue;
        add(text, "%s%s %s", before, cli_count(s->skipped[i]).s,
            ts_skip_name(i));
        before = ", ";
    }
    put_fact("operations", text);
}

static void print_edges(const ts_replay_stats *s)
{
    uint64_t sum = 0, inferred = 0;
    char text[1024] = "";
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++) {
        sum += s->edges[i];
        inferred += s->inferred[i];
    }
    add(text, "%s", cli_count(sum).s);
    const char *before = ": ";
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++) {
        if (!s->edges[i]) continue;
        add(text, "%s%s %s", before, cli_count(s->edges[i]).s, ts_edge_name(i));
        before = ", ";
    }
    if (inferred) add(text, "; %s of them inferred", cli_count(inferred).s);
    put_fact("edges", text);
}

static void print_cut(const replay_job *job)
{
    static const char *const meaning[] = {
        [TS_DEPS_FROZEN] = "frozen: their sources occur at the recorded times",
        [TS_DEPS_CLOSURE] = "closure",
        [TS_DEPS_NONE] = "none: their sources are ignored",
    };
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    if (s->cut_edges)
        fact("cut edges", "%s (%s)", cli_count(s->cut_edges).s,
             meaning[job->deps]);
    else
        fact("cut edges", "0");
    if (s->added)
        fact("added", "%s operations that the selected ones depend on",
             cli_count(s->added).s);
}

static void print_collectives(const ts_replay_stats *s)
{
    char text[1024] = "";
    if (!s->rendezvous) return;
    add(text, "%s including send-receive pairs, ", cli_count(s->rendezvous).s);
    if (s->rendezvous_partial)
        add(text, "ranks missing in %s", cli_count(s->rendezvous_partial).s);
    else
        add(text, "all ranks present");
    if (s->rendezvous_guessed)
        add(text, "; %s matched by name and order",
            cli_count(s->rendezvous_guessed).s);
    put_fact("collectives", text);
}

static void print_odd(const char *name, uint64_t count, const char *what)
{
    if (count) fact(name, "%s %s", cli_count(count).s, what);
}

// Prints how much idle time of devices the graph explains.
static void print_idle(const replay_job *job)
{
    const ts_timeline_figures *const f = &job->total;
    if (f->idle_ns <= 0) return;
    const double all = (double)f->idle_ns;
    fact("idle", "%s: %s recorded, %s inferred, %s unexplained",
         cli_time(f->idle_ns).s, cli_percent((double)f->explicit_ns / all).s,
         cli_percent((double)f->inferred_ns / all).s,
         cli_percent((double)f->unexplained_ns / all).s);
}

// With what-ifs a difference from the record is not an error.
static void print_times(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    const int64_t recorded = s->recorded_end_ns - s->recorded_start_ns;
    const int64_t replayed = s->end_ns - s->start_ns;
    const cli_text was = cli_time(recorded), is = cli_time(replayed);
    if (job->what_if_count && !replay_is_same(job)) {
        fact("makespan", s->operations ? "none: some operations never ran"
                                       : "none: no operation is left");
        return;
    }
    if (job->what_if_count) {
        fact("makespan", "%s, recorded %s, with all changes applied", is.s,
             was.s);
    } else {
        fact("makespan", "%s, recorded %s, error %s", is.s, was.s,
             cli_time(replayed - recorded).s);
        fact("start error", "p50 %s, p95 %s, max %s",
             cli_time(s->start_error_p50_ns).s,
             cli_time(s->start_error_p95_ns).s,
             cli_time(s->start_error_max_ns).s);
    }
    fact("digest", "%016" PRIx64, s->digest);
}

// Prints the offset of each file on the common axis, and its uncertainty.
static void print_files(const replay_job *job)
{
    ts_replay_file file;
    for (uint32_t i = 0; ts_replay_file_at(job->replay, i, &file); i++) {
        char text[1024] = "";
        add(text, "%s", job->files[i].path);
        if (i)
            add(text, ", offset %s%s", file.offset_ns > 0 ? "+" : "",
                cli_time(file.offset_ns).s);
        if (i && file.matched)
            add(text, " from %s collectives, residual %s",
                cli_count(file.matched).s, cli_time(file.residual_ns).s);
        else if (i)
            add(text, "%s",
                file.clock != i ? " from the machine's clock"
                : file.realtime ? " from the time of day"
                                : ": unknown");
        put_fact(replay_file_name(job, i).s, text);
    }
}

static void print_loops(const replay_loops *loops, uint64_t operations)
{
    if (!loops->count) return;
    const uint64_t best = loops->ns[0];
    char text[1024] = "";
    add(text, "%s, %s digests; shortest %s, median %s, longest %s",
        cli_count(loops->count).s, loops->same ? "equal" : "DIFFERENT",
        cli_time((int64_t)best).s,
        cli_time((int64_t)loops->ns[(loops->count - 1) / 2]).s,
        cli_time((int64_t)loops->ns[loops->count - 1]).s);
    if (best)
        add(text, "; %s operations/s",
            cli_count((uint64_t)((double)operations * 1e9 / (double)best)).s);
    put_fact("loops", text);
}

static void print_figures(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    fputs(strcmp(job->path, "-") ? job->path : "stdin", stdout);
    if (job->file_count > 1)
        printf(" and %" PRIu32 " more", job->file_count - 1);
    printf(": %s\n\n", job->dry_run ? "plan only, not replayed"
                       : job->mode == TS_REPLAY_MODEL
                           ? "replayed by emulation, model"
                           : "replayed by emulation, exact");
    if (job->file_count > 1) print_files(job);
    print_operations(s);
    fact("host calls", "%s", cli_count(s->calls).s);
    print_edges(s);
    print_cut(job);
    print_collectives(s);
    print_odd("not waited for", s->contradicted,
              s->contradicted == 1
                  ? "edge ignored: the record shows that the operation did not "
                    "wait"
                  : "edges ignored: the record shows that the operations did "
                    "not wait");
    print_odd("never recorded", s->never_recorded,
              s->never_recorded == 1
                  ? "wait for an event that was never recorded: treated as no "
                    "wait"
                  : "waits for events that were never recorded: treated as no "
                    "wait");
    print_odd(
        "missing record", s->missing_records,
        s->missing_records == 1
            ? "wait whose event record is not in the trace: treated as no wait"
            : "waits whose event record is not in the trace: treated as no "
              "wait");
    print_idle(job);
    if (!job->dry_run) print_times(job);
    print_loops(&job->loops, s->operations);
}

/* ---- Verdict ------------------------------------------------------------ */

static void print_cycle(const replay_job *job)
{
    enum { SHOWN = 12 };
    const uint32_t *nodes;
    const size_t count = ts_replay_cycle(job->replay, &nodes);
    if (!count) return;
    printf("  %s never ran. %s:\n",
           cli_count(ts_replay_result(job->replay)->skipped[TS_SKIP_UNMET]).s,
           count > 1 ? "These wait for each other in a cycle"
                     : "This one waits for itself");
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        fputs(i ? "    waits for " : "              ", stdout);
        replay_put_node(stdout, job, nodes[i]);
        putchar('\n');
    }
    if (count > SHOWN)
        printf("    waits for %s more\n", cli_count(count - SHOWN).s);
    if (count > 1) {
        fputs("    waits for ", stdout);
        replay_put_node(stdout, job, nodes[0]);
        putchar('\n');
    }
}

// Finds a dependency of an operation that never ran: the source of an edge to
// its start or its end.
static uint32_t missing_source(const replay_job *job, uint32_t op)
{
    const ts_graph graph = ts_replay_graph(job->replay);
    ts_node source, target;
    for (uint32_t i = 0; i < graph.node_count; i++)
        for (uint32_t e = graph.offsets[i]; e < graph.offsets[i + 1]; e++) {
            if (!ts_replay_node(job->replay, graph.targets[e], &target) ||
                target.owner != op ||
                !ts_replay_node(job->replay, i, &source) ||
                source.owner == op || !source.selected ||
                source.type == TS_NODE_JOIN)
                continue;
            const bool ran =
                ts_replay_node(job->replay, source.owner, &target) &&
                (target.start_ns || target.end_ns);
            if (!ran) return source.owner;
        }
    return TS_NODE_NONE;
}

// Prints the operations that the cycle keeps from running.
static void print_waiters(const replay_job *job)
{
    enum { SHOWN = 3 };
    const uint32_t *cycle;
    const size_t size = ts_replay_cycle(job->replay, &cycle);
    const uint32_t all = ts_replay_graph(job->replay).operation_count;
    bool *const inside = calloc((size_t)all + 1, sizeof *inside);
    uint64_t count = 0;
    ts_operation op;
    for (size_t k = 0; k < size && inside; k++)
        if (cycle[k] < all) inside[cycle[k]] = true;
    for (uint32_t i = 0; inside && i < all; i++) {
        if (inside[i] || !ts_replay_operation(job->replay, i, &op) ||
            op.skip != TS_SKIP_UNMET || count++ >= SHOWN)
            continue;
        const uint32_t source = missing_source(job, i);
        fputs(count == 1 ? "  blocked by it:\n    " : "    ", stdout);
        replay_put_node(stdout, job, i);
        if (source != TS_NODE_NONE) fputs(" waits for ", stdout);
        if (source != TS_NODE_NONE) replay_put_node(stdout, job, source);
        putchar('\n');
    }
    if (count > SHOWN) printf("    and %s more\n", cli_count(count - SHOWN).s);
    free(inside);
}

// Prints the first operation, in order of the record, whose times differ.
static void print_first(const replay_job *job)
{
    ts_operation op;
    for (uint32_t i = 0; ts_replay_operation(job->replay, i, &op); i++) {
        if (op.skip != TS_SKIP_NOT || (op.start_ns == op.recorded_start_ns &&
                                       op.end_ns == op.recorded_end_ns))
            continue;
        fputs("  first: ", stdout);
        replay_put_node(stdout, job, i);
        printf(" started %s late and ended %s late\n",
               cli_time(op.start_ns - op.recorded_start_ns).s,
               cli_time(op.end_ns - op.recorded_end_ns).s);
        return;
    }
}

static void print_verdict(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    if (replay_is_same(job)) {
        printf(s->operations == 1
                   ? "\nsame: %s operation starts and ends at its recorded "
                     "time\n"
                   : "\nsame: %s operations start and end at their recorded "
                     "times\n",
               cli_count(s->operations).s);
        return;
    }
    printf("\ndiverged: %s of %s differ from their recorded times\n",
           cli_count(s->different).s,
           cli_counted(s->operations + s->skipped[TS_SKIP_UNMET], "operation",
                       "operations")
               .s);
    print_cycle(job);
    print_waiters(job);
    print_first(job);
}

void replay_text(const replay_job *job)
{
    cli_fold();
    print_figures(job);
    replay_print_lanes(job);
    if (job->dry_run) return;
    if (job->mode == TS_REPLAY_MODEL) {
        putchar('\n');
        whatif_print(stdout, &job->report);
    }
    if (job->mode == TS_REPLAY_EXACT) {
        print_verdict(job);
    } else {
        print_cycle(job);
        print_waiters(job);
    }
}
