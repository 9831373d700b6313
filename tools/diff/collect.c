/*
    collect.c - rows of one side: device work
*/
#include "tools/analyze/figures/operations/flame.h"
#include "tools/analyze/figures/operations/launch.h"
#include "tools/diff/diff.h"

typedef struct collecting {
    diff *d;
    diff_side *s;
    int side;
    ts_replay *replay;
    uint32_t *rows;  // row of each group of names
    cli_map configs; // file and launch to row
    cli_map stacks;  // file and stack to row
    cli_map zones;   // path name to row
    path_tree tree;
    uint32_t *nodes;
} collecting;

// Returns the index of a row; CLI_NONE if memory runs out.
static uint32_t row_of(collecting *c, diff_subject subject, ts_text name)
{
    const diff_row *const row = diff_row_of(c->d, subject, name);
    return row ? (uint32_t)(row - c->d->rows) : CLI_NONE;
}

static bool add(collecting *c, uint32_t row, const diff_one *one)
{
    return row != CLI_NONE && diff_add(&c->d->rows[row], c->side, one);
}

static ts_text text_of(const char *text)
{
    return (ts_text){ text, strlen(text) };
}

static bool add_named(collecting *c, diff_subject subject, const char *name,
                      int64_t from_ns, int64_t ns, uint32_t step,
                      uint32_t operation)
{
    const diff_one one = { from_ns, ns, step, 0, operation };
    return add(c, row_of(c, subject, text_of(name)), &one);
}

/* ---- Operations --------------------------------------------------------- */

static diff_subject subject_of(ts_event_kind kind)
{
    return kind == TS_EVENT_KERNEL       ? DIFF_KERNEL
           : kind == TS_EVENT_COLLECTIVE ? DIFF_COLLECTIVE
                                         : DIFF_COPY;
}

static uint32_t name_row(collecting *c, uint32_t group)
{
    if (c->rows[group] == CLI_NONE) {
        const names_group *const g = &c->s->names.groups[group];
        c->rows[group] =
            row_of(c, subject_of(g->kind), analyze_name(&c->s->job, g->text));
    }
    return c->rows[group];
}

// Formats a size as "8,32", without trailing ones.
static cli_text size_of(const uint32_t size[3])
{
    if (size[2] != 1)
        return cli_format("%" PRIu32 ",%" PRIu32 ",%" PRIu32, size[0], size[1],
                          size[2]);
    if (size[1] != 1)
        return cli_format("%" PRIu32 ",%" PRIu32, size[0], size[1]);
    return cli_format("%" PRIu32, size[0]);
}

static uint32_t config_row(collecting *c, const ts_operation *o,
                           uint32_t launch)
{
    const uint64_t key = (uint64_t)o->file << 32 | launch;
    uint32_t row = cli_map_row(&c->configs, key);
    if (row != CLI_NONE) return row;
    const ts_launch_entry *const e =
        ts_reader_launch(analyze_reader(&c->s->job, o->file), launch);
    const ts_text name = analyze_label(&c->s->job, o);
    ts_text text = name;
    if (e)
        text = analyze_format(
            &c->s->job,
            "%s x %s, %" PRIu32 " regs, %" PRIu32 "+%" PRIu32 " B: %.*s",
            size_of(e->grid).s, size_of(e->block).s, e->registers,
            e->static_shared, e->dynamic_shared, (int)name.size, name.text);
    row = row_of(c, DIFF_CONFIG, text);
    if (row != CLI_NONE && !cli_map_set(&c->configs, key, row)) return CLI_NONE;
    return row;
}

static uint32_t stack_row(collecting *c, uint32_t file, uint32_t stack)
{
    enum { FRAMES = 12 };
    const uint64_t key = (uint64_t)file << 32 | stack;
    uint32_t row = cli_map_row(&c->stacks, key);
    if (row != CLI_NONE) return row;
    row = row_of(c, DIFF_STACK, analyze_stack(&c->s->job, file, stack, FRAMES));
    if (row != CLI_NONE && !cli_map_set(&c->stacks, key, row)) return CLI_NONE;
    return row;
}

static uint32_t zone_row(collecting *c, uint32_t node)
{
    const uint32_t name = c->tree.nodes[node].name;
    uint32_t row = cli_map_row(&c->zones, name);
    if (row != CLI_NONE) return row;
    row = row_of(c, DIFF_ZONE_WORK, c->tree.names[name]);
    if (row != CLI_NONE && !cli_map_set(&c->zones, name, row)) return CLI_NONE;
    return row;
}

static bool add_operation(collecting *c, uint32_t index, const ts_operation *o)
{
    size_t stacks;
    const analyze_values *const launch =
        analyze_column(&c->s->job, o->file, TS_COLUMN_LAUNCH);
    const uint32_t *const stack = analyze_stacks(&c->s->job, o->file, &stacks);
    const diff_one one = {
        o->recorded_start_ns, o->recorded_end_ns - o->recorded_start_ns,
        c->s->steps.count ? c->s->steps.of[index] : TS_NODE_NONE, o->file, index
    };
    if (!add(c, name_row(c, c->s->names.of[index]), &one)) return false;
    if (o->kind == TS_EVENT_KERNEL &&
        !add(c, config_row(c, o, (uint32_t)analyze_value(launch, o->row)),
             &one))
        return false;
    if (stack && o->row < stacks && stack[o->row] &&
        !add(c, stack_row(c, o->file, stack[o->row]), &one))
        return false;
    const uint32_t node = c->nodes[index];
    return node == CLI_NONE || node == PATHS_ROOT ||
           add(c, zone_row(c, node), &one);
}

static bool add_operations(collecting *c)
{
    flame_sums launched;
    ts_operation o;
    c->rows = malloc((c->s->names.count + 1) * sizeof *c->rows);
    if (!c->rows || !paths_open(&c->tree) ||
        !flame_nodes(&c->s->job, &c->tree, false, &launched, &c->nodes))
        return false;
    memset(c->rows, 0xFF, (c->s->names.count + 1) * sizeof *c->rows);
    for (uint32_t i = 0; ts_replay_operation(c->replay, i, &o); i++)
        if (names_works(o.kind) && o.skip == TS_SKIP_NOT) {
            c->s->operations++;
            if (!add_operation(c, i, &o)) return false;
        }
    return true;
}

/* ---- Idle time and spans ------------------------------------------------ */

static bool add_gaps(collecting *c, const ts_timeline *timeline)
{
    ts_gap gap;
    for (size_t i = 0; ts_timeline_device(timeline, i); i++)
        for (size_t k = 0; ts_timeline_gap(timeline, i, k, &gap); k++)
            if (!add_named(c, DIFF_IDLE, ts_idle_name(gap.cause), gap.start_ns,
                           gap.end_ns - gap.start_ns,
                           diff_step_at(c->s, gap.end_ns), gap.operation))
                return false;
    return true;
}

static bool add_latency(collecting *c, const ts_timeline *timeline)
{
    launch_result result;
    bool ok = launch_open(&result, c->replay, timeline, &c->s->names);
    for (size_t i = 0; ok && i < result.device_count; i++) {
        const launch_times *const t = &result.devices[i].latency;
        for (size_t k = 0; ok && k < t->count; k++)
            ok = add_named(c, DIFF_LATENCY, "launch latency, median", 0,
                           t->ns[k], TS_NODE_NONE, TS_NODE_NONE);
    }
    launch_close(&result);
    return ok;
}

bool diff_collect(diff *d, int side)
{
    diff_side *const s = &d->sides[side];
    collecting c = {
        .d = d, .s = s, .side = side, .replay = analyze_replay(&s->job)
    };
    if (!s->has_work) return true;
    const ts_timeline *const timeline = analyze_timeline(&s->job);
    const bool ok = add_operations(&c) && add_gaps(&c, timeline) &&
                    add_latency(&c, timeline);
    free(c.rows);
    free(c.nodes);
    paths_close(&c.tree);
    cli_map_close(&c.configs);
    cli_map_close(&c.stacks);
    cli_map_close(&c.zones);
    return ok;
}

// Adds makespan and steps. It runs after both sides were collected, because
// steps become rows only if they are comparable.
bool diff_collect_spans(diff *d, int side)
{
    diff_side *const s = &d->sides[side];
    collecting c = { .d = d, .s = s, .side = side };
    if (!s->has_work) return true;
    for (uint32_t i = 0; d->alike && i < s->steps.count; i++) {
        const steps_step *const step = &s->steps.steps[i];
        if (!add_named(&c, DIFF_STEP, "step, median", step->start_ns,
                       step->end_ns - step->start_ns, i, TS_NODE_NONE))
            return false;
    }
    return add_named(&c, DIFF_MAKESPAN, "makespan", s->start_ns,
                     s->end_ns - s->start_ns, TS_NODE_NONE, TS_NODE_NONE);
}
