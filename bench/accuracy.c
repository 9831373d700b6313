/*
    accuracy.c - measures how well a model reproduces the recorded times

        accuracy [--classes] [--worst] [--jumps] [--path] FILE [FILE...]

    Several files are replayed as one job. Prints one line of figures, separated
    by tabs: operations, recorded makespan, exact: largest error, model: error
    of the makespan in millionths, start error p50, p95, max, edges, inferred
    edges, unexplained nodes, unexplained ns, critical path by cost.
    --classes lists the delays of the model, --worst the operations with an
    error of 5 us or more, --jumps those where it grows by that, --path the
    critical path of the model: where to look for a missing dependency.
*/
#include "tracesmith_replay.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fail(const char *what, ts_result result)
{
    fprintf(stderr, "accuracy: %s: %s\n", what, ts_result_text(result));
    exit(1);
}

static uint64_t inferred(const ts_replay *replay)
{
    const ts_graph graph = ts_replay_graph(replay);
    uint64_t count = 0;
    for (uint32_t e = 0; e < graph.edge_count; e++)
        count += (graph.kinds[e] & TS_EDGE_INFERRED) != 0;
    return count;
}

static void print_classes(const ts_replay *replay)
{
    ts_delay d;
    printf("edge\tfrom\tto\tdevice\tname\tfile\tdelay\tlow\thigh\tedges\t"
           "samples\n");
    for (size_t i = 0; ts_replay_delay(replay, i, &d); i++)
        printf("%s\t%s\t%s\t%" PRIu32 "\t%s\t%" PRIu32 "\t%" PRId64 "\t%" PRId64
               "\t%" PRId64 "\t%" PRIu64 "\t%" PRIu64 "%s\n",
               ts_edge_name(d.kind), d.from ? ts_event_name(d.from) : "-",
               d.to ? ts_event_name(d.to) : "-", d.device,
               ts_reader_name(ts_replay_reader(replay, d.file), d.name).text,
               d.file, d.delay_ns, d.low_ns, d.high_ns, d.edges, d.samples,
               d.assumed   ? " assumed"
               : d.coarser ? " coarser"
                           : "");
}

static const char *label_of(const ts_replay *replay, const ts_operation *o)
{
    static char text[64];
    const ts_text label =
        ts_operation_label(ts_replay_reader(replay, o->file), o);
    snprintf(text, sizeof text, "%.*s", (int)label.size, label.text);
    return text;
}

// Prints the operations with the largest error; with `jumps`, those whose error
// differs most from that of the operation before.
static void print_worst(const ts_replay *replay, bool jumps)
{
    ts_operation o;
    int64_t last = 0;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++) {
        const int64_t error = o.start_ns - o.recorded_start_ns;
        const int64_t jump = jumps ? error - last : error;
        last = error;
        if (jump > -5000 && jump < 5000) continue;
        printf("%" PRIu32 "\t%s\ttrack %" PRIu32 "\tat %" PRId64
               "\terror %" PRId64 "\tjump %" PRId64 "\n",
               i, label_of(replay, &o), o.track, o.recorded_start_ns, error,
               jump);
    }
}

// Prints the longest parts of the critical path.
static void print_path(ts_replay *replay)
{
    ts_path path;
    if (ts_replay_path(replay, &path) != TS_OK) fail("path", TS_ERR_MEMORY);
    for (size_t i = 0; i < path.count; i++) {
        const ts_path_part *const part = &path.parts[i];
        const int64_t ns = part->end_ns - part->start_ns;
        ts_node node;
        ts_operation o;
        if (!ts_replay_node(replay, part->node, &node)) continue;
        const char *name =
            ts_reader_name(ts_replay_reader(replay, node.file), node.name).text;
        if (ts_replay_operation(replay, part->node, &o))
            name = label_of(replay, &o);
        printf("%" PRId64 "\t%s\t%s\t%s\t%s\tat %" PRId64 "\n", ns,
               ts_cost_name(part->cost),
               part->waits ? ts_edge_name(part->edge) : "runs", name,
               node.type == TS_NODE_END ? "end" : "start", part->start_ns);
    }
}

static void print_row(ts_replay *replay)
{
    const ts_replay_stats *const s = ts_replay_result(replay);
    const int64_t recorded = s->recorded_end_ns - s->recorded_start_ns;
    if (ts_replay_run(replay, NULL) != TS_OK) fail("exact", TS_ERR_STATE);
    const int64_t exact = s->start_error_max_ns;
    const uint64_t different = s->different;
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL };
    const ts_result ran = ts_replay_run(replay, &desc);
    if (ran != TS_OK) fail("model", ran);
    const int64_t error = s->end_ns - s->start_ns - recorded;
    ts_path path;
    if (ts_replay_path(replay, &path) != TS_OK) fail("path", TS_ERR_MEMORY);
    printf("%" PRIu64 "\t%" PRId64 "\t%" PRId64 "\t%" PRIu64 "\t%" PRId64
           "\t%" PRId64 "\t%" PRId64 "\t%" PRId64 "\t%" PRIu32 "\t%" PRIu64
           "\t%" PRIu64 "\t%" PRId64,
           s->operations, recorded, exact, different,
           recorded ? error * 1000000 / recorded : 0, s->start_error_p50_ns,
           s->start_error_p95_ns, s->start_error_max_ns,
           ts_replay_graph(replay).edge_count, inferred(replay), s->unexplained,
           s->unexplained_ns);
    for (uint32_t i = 0; i < TS_COST_LIMIT; i++)
        printf("\t%s=%" PRId64, ts_cost_name(i), path.cost_ns[i]);
    putchar('\n');
}

int main(int argc, char **argv)
{
    bool classes = false, worst = false, jumps = false, path = false;
    ts_reader *readers[256];
    size_t count = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--classes")) {
            classes = true;
        } else if (!strcmp(argv[i], "--worst")) {
            worst = true;
        } else if (!strcmp(argv[i], "--path")) {
            path = true;
        } else if (!strcmp(argv[i], "--jumps")) {
            worst = jumps = true;
        } else if (count < 256) {
            const ts_reader_desc desc = { .path = argv[i], .no_salvage = true };
            const ts_result opened = ts_reader_open(&readers[count++], &desc);
            if (opened != TS_OK) fail(argv[i], opened);
        }
    }
    if (!count) return 2;
    const ts_replay_desc desc = { .more = readers + 1,
                                  .more_count = count - 1 };
    ts_replay *replay;
    const ts_result opened = ts_replay_open(&replay, readers[0], &desc);
    if (opened != TS_OK) fail(argv[argc - 1], opened);
    print_row(replay);
    if (classes) print_classes(replay);
    if (worst) print_worst(replay, jumps);
    if (path) print_path(replay);
    ts_replay_close(replay);
    while (count)
        ts_reader_close(readers[--count]);
    return 0;
}
