/*
    queues.c - how many operations of a stream are launched and not yet begun

    The graph knows when an operation was launched: its times are those of the
    queue depth that `ts-analyze --only launch` shows for each device. A stream
    without a known launch has no counter.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/sort.h"

typedef struct queue {
    uint32_t track;
    size_t first, count; // of its times
} queue;

typedef struct queues {
    const scene *s;
    cli_map at; // from tracks
    queue *list;
    size_t count, room;
    int64_t *issued, *begun; // of all, by queue
} queues;

// When operation number `at` was launched and began. False: that is not known,
// or was at once, or there is no such operation.
static bool times_of(const scene *s, size_t at, ts_operation *op,
                     int64_t *issued_ns)
{
    if (!ts_replay_operation(s->replay, at, op)) return false;
    *issued_ns = scene_near(ts_timeline_issued(s->timeline, (uint32_t)at));
    op->recorded_start_ns = scene_near(op->recorded_start_ns);
    return *issued_ns < op->recorded_start_ns;
}

static queue *queue_of(queues *q, uint32_t track)
{
    const uint32_t known = cli_map_row(&q->at, track);
    if (known != CLI_NONE) return &q->list[known];
    if (!cli_grow(&q->list, &q->room, q->count + 1, sizeof *q->list) ||
        !cli_map_set(&q->at, track, q->count))
        return NULL;
    q->list[q->count] = (queue){ .track = track };
    return &q->list[q->count++];
}

// Counts the operations of each queue, and makes room for their times.
static bool count_operations(queues *q, size_t operations)
{
    ts_operation op;
    int64_t issued_ns;
    size_t all = 0;
    for (size_t i = 0; i < operations; i++) {
        if (!times_of(q->s, i, &op, &issued_ns)) continue;
        queue *const of = queue_of(q, op.track);
        if (!of) return false;
        of->count++;
    }
    for (size_t i = 0; i < q->count; i++) {
        q->list[i].first = all;
        all += q->list[i].count;
        q->list[i].count = 0;
    }
    q->issued = malloc((all + 1) * sizeof *q->issued);
    q->begun = malloc((all + 1) * sizeof *q->begun);
    return q->issued && q->begun;
}

static void note_times(queues *q, size_t operations)
{
    ts_operation op;
    int64_t issued_ns;
    for (size_t i = 0; i < operations; i++) {
        if (!times_of(q->s, i, &op, &issued_ns)) continue;
        queue *const of = &q->list[cli_map_row(&q->at, op.track)];
        q->issued[of->first + of->count] = issued_ns;
        q->begun[of->first + of->count++] = op.recorded_start_ns;
    }
}

static bool add_queue(scene *s, const queues *q, const queue *of)
{
    const size_t most = scene_steps_most(&s->derived, q->count);
    int64_t *const issued = q->issued + of->first;
    int64_t *const begun = q->begun + of->first;
    scene_meter m = { .track = of->track, .part = SCENE_QUEUE };
    cli_sort_numbers(issued, of->count);
    cli_sort_numbers(begun, of->count);
    bool ok = true;
    for (size_t i = 0, b = 0; ok && b < of->count;) {
        const bool next = i < of->count && issued[i] <= begun[b];
        ok = scene_meter_add(&m, most, next ? issued[i] : begun[b],
                             next ? 1 : -1, 0);
        if (next)
            i++;
        else
            b++;
    }
    ok = ok && scene_meter_show(s, &m);
    scene_steps_close(&m.steps);
    return ok;
}

bool scene_queues_add(scene *s)
{
    const size_t operations = ts_replay_graph(s->replay).operation_count;
    queues q = { .s = s };
    bool ok = count_operations(&q, operations);
    if (ok) note_times(&q, operations);
    for (size_t i = 0; ok && i < q.count; i++)
        ok = add_queue(s, &q, &q.list[i]);
    cli_map_close(&q.at);
    free(q.list);
    free(q.issued);
    free(q.begun);
    return ok;
}
