/*
    replay_text.c - the report of ts-replay for people
*/
#include "tools/replay/replay.h"

enum { NAME_WIDTH = 24, SKIPPED_SHOWN = 3 };

static void label(const char *text)
{
    printf("  %-15s ", text);
}

static void print_skipped(const ts_replay_stats *s)
{
    const char *before = "; skipped: ";
    for (uint32_t i = TS_SKIP_NOT + 1; i < TS_SKIP_LIMIT; i++) {
        if (!s->skipped[i]) continue;
        printf("%s%s %s", before, cli_count(s->skipped[i]).s, ts_skip_name(i));
        before = ", ";
    }
    putchar('\n');
}

static void print_edges(const ts_replay_stats *s)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++)
        sum += s->edges[i];
    label("edges");
    printf("%s", cli_count(sum).s);
    const char *before = ": ";
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++) {
        if (!s->edges[i]) continue;
        printf("%s%s %s", before, cli_count(s->edges[i]).s, ts_edge_name(i));
        before = ", ";
    }
    uint64_t inferred = 0;
    for (uint32_t i = 0; i < TS_EDGE_LIMIT; i++)
        inferred += s->inferred[i];
    if (inferred) printf("; %s of them inferred", cli_count(inferred).s);
    putchar('\n');
}

static void print_cut(const replay_job *job)
{
    static const char *const meaning[] = {
        [TS_DEPS_FROZEN] = "frozen: what they come from happens when it did",
        [TS_DEPS_CLOSURE] = "closure",
        [TS_DEPS_NONE] = "none: what they come from does not exist",
    };
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    label("cut edges");
    printf("%s", cli_count(s->cut_edges).s);
    if (s->cut_edges) printf(" (%s)", meaning[job->deps]);
    putchar('\n');
    if (!s->added) return;
    label("added");
    printf("%s operations that the selected ones depend on\n",
           cli_count(s->added).s);
}

static void print_odd(const char *name, uint64_t count, const char *what)
{
    if (!count) return;
    label(name);
    printf("%s (%s)\n", cli_count(count).s, what);
}

// How far the graph explains why devices had nothing to do.
static void print_idle(const replay_job *job)
{
    ts_timeline_figures f;
    if (!replay_idle(job, &f)) return;
    const double all = (double)f.idle_ns;
    label("idle");
    printf("%s; explained: %s recorded, %s inferred; %s not\n",
           cli_time(f.idle_ns).s, cli_percent((double)f.explicit_ns / all).s,
           cli_percent((double)f.inferred_ns / all).s,
           cli_percent((double)f.unexplained_ns / all).s);
}

// With something changed, to differ from the record is no error.
static void print_times(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    const int64_t recorded = s->recorded_end_ns - s->recorded_start_ns;
    const int64_t replayed = s->end_ns - s->start_ns;
    label("makespan");
    if (job->what_if_count && !replay_is_same(job)) {
        puts(s->operations ? "none: not everything ran"
                           : "none: nothing is left to run");
        return;
    }
    printf("%s, recorded %s", cli_time(replayed).s, cli_time(recorded).s);
    if (job->what_if_count) {
        puts(", with all that was changed");
    } else {
        printf(", error %" PRId64 " ns\n", replayed - recorded);
        label("start error");
        printf("p50 %" PRId64 " ns, p95 %" PRId64 " ns, max %" PRId64 " ns\n",
               s->start_error_p50_ns, s->start_error_p95_ns,
               s->start_error_max_ns);
    }
    label("digest");
    printf("%016" PRIx64 "\n", s->digest);
}

// Where each file lies on the common axis, and how well that is known.
static void print_files(const replay_job *job)
{
    ts_replay_file file;
    for (uint32_t i = 0; ts_replay_file_at(job->replay, i, &file); i++) {
        label(replay_file_name(job, i).s);
        fputs(job->files[i].path, stdout);
        if (i) printf(", offset %+" PRId64 " ns", file.offset_ns);
        if (i && file.matched)
            printf(" from %s collectives, residual %" PRId64 " ns",
                   cli_count(file.matched).s, file.residual_ns);
        else if (i)
            fputs(file.clock != i ? " from the machine's clock"
                  : file.realtime ? " from the time of day"
                                  : ": nothing tells it",
                  stdout);
        putchar('\n');
    }
}

static void print_loops(const replay_loops *loops, uint64_t operations)
{
    if (!loops->count) return;
    const uint64_t best = loops->ns[0];
    label("loops");
    printf("%s, %s digests; shortest %s, median %s, longest %s",
           cli_count(loops->count).s, loops->same ? "equal" : "DIFFERENT",
           cli_time((int64_t)best).s,
           cli_time((int64_t)loops->ns[(loops->count - 1) / 2]).s,
           cli_time((int64_t)loops->ns[loops->count - 1]).s);
    if (best)
        printf(
            "; %s operations/s",
            cli_count((uint64_t)((double)operations * 1e9 / (double)best)).s);
    putchar('\n');
}

static void print_figures(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    fputs(strcmp(job->path, "-") ? job->path : "stdin", stdout);
    if (job->file_count > 1)
        printf(" and %" PRIu32 " more", job->file_count - 1);
    printf(": %s\n\n", job->dry_run ? "the plan; nothing was replayed"
                       : job->mode == TS_REPLAY_MODEL
                           ? "replayed by emulation, model"
                           : "replayed by emulation, exact");
    if (job->file_count > 1) print_files(job);
    label("operations");
    printf("%s of %s", cli_count(s->operations).s, cli_count(s->loaded).s);
    print_skipped(s);
    label("host calls");
    printf("%s\n", cli_count(s->calls).s);
    print_edges(s);
    print_cut(job);
    if (s->meetings) {
        label("meetings");
        printf("%s collectives and pairs, ranks are missing in %s\n",
               cli_count(s->meetings).s, cli_count(s->meetings_partial).s);
    }
    print_odd("contradicted", s->contradicted,
              "edges left out: the record shows that nothing waited");
    print_odd("no record", s->never_recorded,
              "waits for events never recorded: they wait for nothing");
    print_odd("missing record", s->missing_records,
              "waits whose record is not in the trace: they wait for nothing");
    print_idle(job);
    if (!job->dry_run) print_times(job);
    print_loops(&job->loops, s->operations);
}

/* ---- Streams ------------------------------------------------------------ */

// "2 upload" for a stream, "device 0 vdev" for a device.
static void print_track(const replay_job *job, const ts_lane *lane, uint32_t id,
                        uint32_t indent)
{
    ts_track track;
    cli_text made = { "" }, before = { "" };
    ts_text name = { "", 0 };
    if (!ts_reader_track(replay_reader(job, lane->file), id, &track)) {
        snprintf(before.s, sizeof before.s, "track %" PRIu32, id);
    } else {
        name = cli_track_name(&track, &made);
        const char *const type = cli_track_type(track.type);
        if (!track.name.size)
            before.s[0] = 0;
        else if (track.type == TS_TRACK_STREAM)
            snprintf(before.s, sizeof before.s, "%" PRIu64 " ", track.number);
        else if (track.type == TS_TRACK_DEVICE)
            snprintf(before.s, sizeof before.s, "device %" PRIu64 " ",
                     track.number);
        else if (name.size < strlen(type) ||
                 memcmp(name.text, type, strlen(type)) != 0)
            snprintf(before.s, sizeof before.s, "%s ", type);
    }
    const int used = printf("%*s%s", (int)indent, "", before.s);
    const int left = NAME_WIDTH - used;
    cli_put_padded(stdout, name.text, name.size, left > 0 ? (uint32_t)left : 0);
}

static void print_bar(const replay_row *row, int64_t makespan)
{
    static const char *const blocks[] = { " ",      "\u2581", "\u2582",
                                          "\u2583", "\u2584", "\u2585",
                                          "\u2586", "\u2587", "\u2588" };
    static const char *const letters[] = { " ", ".", ".", ":", ":",
                                           "+", "+", "#", "#" };
    const char *const *const levels = cli_unicode() ? blocks : letters;
    fputs("  |", stdout);
    for (int i = 0; i < REPLAY_CELLS; i++) {
        const int64_t width =
            replay_cell(makespan, i + 1) - replay_cell(makespan, i);
        // Anything at all shows.
        const int level =
            row->cells[i] && width
                ? 1 + (int)((double)row->cells[i] / (double)width * 7.0)
                : 0;
        fputs(levels[level > 8 ? 8 : level], stdout);
    }
    putchar('|');
}

static cli_text print_share(const ts_replay_stats *s, int64_t busy_ns)
{
    const int64_t all = s->busy_to_ns - s->busy_from_ns;
    return cli_percent(all ? (double)busy_ns / (double)all : 0.0);
}

static bool same_device(const ts_lane *a, const ts_lane *b)
{
    return a->device == b->device && a->file == b->file;
}

// The line of a device, whose first lane is `first`.
static void print_device(const replay_job *job, const replay_row *rows,
                         size_t first)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    ts_lane lane, of = { 0 }, device = { 0 };
    uint64_t selected = 0, all = 0;
    ts_replay_lane(job->replay, first, &of);
    for (size_t i = first; ts_replay_lane(job->replay, i, &lane); i++) {
        if (!same_device(&lane, &of)) break;
        selected += rows[i].selected;
        all += rows[i].all;
    }
    for (size_t i = 0; ts_replay_device(job->replay, i, &device); i++)
        if (device.track == of.device && device.file == of.file) break;
    if (of.device)
        print_track(job, &of, of.device, 2);
    else
        printf("  %-*s", NAME_WIDTH - 2, "no device");
    printf("%11s", cli_count(selected).s);
    if (job->dry_run)
        printf(" %11s\n", cli_count(all - selected).s);
    else
        printf(" %10s %9s\n", cli_time(device.busy_ns).s,
               print_share(s, device.busy_ns).s);
}

static void print_lane(const replay_job *job, const ts_lane *lane,
                       const replay_row *row)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    print_track(job, lane, lane->track, 4);
    if (job->dry_run) {
        printf("%11s %11s\n", cli_count(row->selected).s,
               cli_count(row->all - row->selected).s);
        return;
    }
    printf("%11s %10s %9s", cli_count(lane->operations).s,
           cli_time(lane->busy_ns).s, print_share(s, lane->busy_ns).s);
    print_bar(row, s->end_ns - s->start_ns);
    putchar('\n');
}

static void print_lanes(const replay_job *job)
{
    replay_row *const rows = replay_rows(job);
    if (!rows) return;
    printf("\n  %-*s%s\n", NAME_WIDTH - 2, "streams",
           job->dry_run ? " operations     skipped"
                        : " operations       busy     share  schedule");
    ts_lane lane, last = { 0 };
    size_t first = 0; // lane of the device
    bool any = false;
    uint32_t named = UINT32_MAX; // file whose name stands there
    for (size_t i = 0; ts_replay_lane(job->replay, i, &lane); i++) {
        if (i == 0 || !same_device(&lane, &last)) {
            first = i;
            any = false;
        }
        last = lane;
        if (!rows[i].selected) continue;
        if (job->file_count > 1 && named != lane.file)
            printf("  %s\n", replay_file_name(job, lane.file).s);
        named = lane.file;
        if (!any) print_device(job, rows, first);
        any = true;
        print_lane(job, &lane, &rows[i]);
    }
    free(rows);
}

/* ---- Verdict ------------------------------------------------------------ */

static void print_circle(const replay_job *job)
{
    enum { SHOWN = 12 };
    const uint32_t *nodes;
    const size_t count = ts_replay_circle(job->replay, &nodes);
    if (!count) return;
    printf("  %s never ran. %s:\n",
           cli_count(ts_replay_result(job->replay)->skipped[TS_SKIP_UNMET]).s,
           count > 1 ? "These wait for each other in a circle"
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

// Something that an operation waits for and that never came: the source of
// an edge to it, or to its end.
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

// Those behind the circle, which it keeps from running.
static void print_waiters(const replay_job *job)
{
    enum { SHOWN = 3 };
    const uint32_t *circle;
    const size_t size = ts_replay_circle(job->replay, &circle);
    const uint32_t all = ts_replay_graph(job->replay).operation_count;
    bool *const inside = calloc((size_t)all + 1, sizeof *inside);
    uint64_t count = 0;
    ts_operation op;
    for (size_t k = 0; k < size && inside; k++)
        if (circle[k] < all) inside[circle[k]] = true;
    for (uint32_t i = 0; inside && i < all; i++) {
        if (inside[i] || !ts_replay_operation(job->replay, i, &op) ||
            op.skip != TS_SKIP_UNMET || count++ >= SHOWN)
            continue;
        const uint32_t source = missing_source(job, i);
        fputs(count == 1 ? "  behind it:\n    " : "    ", stdout);
        replay_put_node(stdout, job, i);
        if (source != TS_NODE_NONE) fputs(" waits for ", stdout);
        if (source != TS_NODE_NONE) replay_put_node(stdout, job, source);
        putchar('\n');
    }
    if (count > SHOWN) printf("    and %s more\n", cli_count(count - SHOWN).s);
    free(inside);
}

// The first operation, in order of the record, that came out differently.
static void print_first(const replay_job *job)
{
    ts_operation op;
    for (uint32_t i = 0; ts_replay_operation(job->replay, i, &op); i++) {
        if (op.skip != TS_SKIP_NOT || (op.start_ns == op.recorded_start_ns &&
                                       op.end_ns == op.recorded_end_ns))
            continue;
        fputs("  first: ", stdout);
        replay_put_node(stdout, job, i);
        printf(" came %" PRId64 " ns late and ended %" PRId64 " ns late\n",
               op.start_ns - op.recorded_start_ns,
               op.end_ns - op.recorded_end_ns);
        return;
    }
}

static void print_verdict(const replay_job *job)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    if (replay_is_same(job)) {
        printf(s->operations == 1
                   ? "\nsame: %s operation starts and ends when it did\n"
                   : "\nsame: %s operations start and end when they did\n",
               cli_count(s->operations).s);
        return;
    }
    printf("\ndiverged: %s of %s operations did not come out as recorded\n",
           cli_count(s->different).s,
           cli_count(s->operations + s->skipped[TS_SKIP_UNMET]).s);
    print_circle(job);
    print_waiters(job);
    print_first(job);
}

void replay_text(const replay_job *job)
{
    print_figures(job);
    print_lanes(job);
    if (job->dry_run) return;
    if (job->mode == TS_REPLAY_MODEL) {
        putchar('\n');
        whatif_print(stdout, &job->report);
    }
    if (job->mode == TS_REPLAY_EXACT) {
        print_verdict(job);
    } else {
        print_circle(job);
        print_waiters(job);
    }
}
