/*
    advice.c - loads the trace for the rules of advice
*/
#include "tools/analyze/advice/advice.h"
#include "tools/analyze/figures/base/lanes.h"
#include "tools/analyze/figures/base/model.h"

/* ---- Operations ---------------------------------------------------------- */

static uint64_t value_at(const advice *a, uint32_t file, uint32_t row,
                         ts_column column)
{
    return analyze_value(analyze_column(a->job, file, column), row);
}

uint64_t advice_value(const advice *a, uint32_t op, ts_column column)
{
    return value_at(a, a->ops[op].file, a->ops[op].row, column);
}

uint64_t advice_size(const advice *a, const advice_op *op)
{
    return value_at(a, op->file, op->row, TS_COLUMN_SIZE);
}

uint32_t advice_launch_id(const advice *a, const advice_op *op)
{
    return (uint32_t)value_at(a, op->file, op->row, TS_COLUMN_LAUNCH);
}

const ts_launch_entry *advice_launch(const advice *a, uint32_t op)
{
    const advice_op *const o = &a->ops[op];
    const uint32_t launch = advice_launch_id(a, o);
    if (!launch) return NULL;
    return ts_reader_launch(analyze_reader(a->job, o->file), launch);
}

ts_text advice_short(const advice *a, ts_text text)
{
    enum { WIDEST = 75 };
    if (cli_columns(text.text, text.size) <= WIDEST) return text;
    char *const brief = cli_brief_name(text.text, text.size);
    if (brief && *brief) text = (ts_text){ brief, strlen(brief) };
    char *const cut = cli_cut(text.text, text.size, WIDEST, "...");
    free(brief);
    if (!cut) return (ts_text){ "", 0 };
    text = analyze_format(a->job, "%s", cut);
    free(cut);
    return text;
}

ts_text advice_label(const advice *a, uint32_t op)
{
    ts_operation operation;
    const ts_text none = { "", 0 };
    if (!ts_replay_operation(a->replay, op, &operation)) return none;
    return advice_short(a, analyze_label(a->job, &operation));
}

ts_text advice_raw_name(const advice *a, uint32_t op)
{
    ts_operation operation;
    const ts_text none = { "", 0 };
    if (!ts_replay_operation(a->replay, op, &operation)) return none;
    return ts_operation_label(analyze_reader(a->job, operation.file),
                              &operation);
}

ts_node advice_node(const advice *a, uint32_t node)
{
    ts_node n = { 0 };
    ts_replay_node(a->replay, node, &n);
    return n;
}

ts_text advice_in_zone(const advice *a, uint32_t op)
{
    const uint32_t site = (uint32_t)advice_value(a, op, TS_COLUMN_SITE);
    const ts_reader *const reader = analyze_reader(a->job, a->ops[op].file);
    const ts_text zone = advice_short(a, ts_reader_site_name(reader, site));
    const ts_text none = { "", 0 };
    if (!site || !zone.size) return none;
    return analyze_format(a->job, ", in '%.*s'", (int)zone.size, zone.text);
}

bool advice_has_word(ts_text name, const char *const *words)
{
    for (; *words; words++) {
        const size_t size = strlen(*words);
        for (size_t i = 0; i + size <= name.size; i++)
            if (!memcmp(name.text + i, *words, size)) return true;
    }
    return false;
}

// Sets the indices of the stream and the device, 0 if they are unknown.
static void place(advice_op *op, const ts_operation *o, lanes *all)
{
    const size_t stream = lanes_stream(all, o);
    const size_t device = lanes_device(all, o->file, o->device);
    op->stream = stream < all->stream_count ? (uint32_t)stream : 0;
    op->device = device < all->device_count ? (uint32_t)device : 0;
}

static void fill_op(const advice *a, advice_op *op, const ts_operation *o)
{
    op->start_ns = o->recorded_start_ns;
    op->end_ns = o->recorded_end_ns;
    op->call = o->call;
    op->file = o->file;
    op->row = o->row;
    op->thread = o->thread;
    op->kind = (uint8_t)o->kind;
    op->skipped = o->skip != TS_SKIP_NOT;
    op->type = (uint8_t)value_at(a, o->file, o->row, TS_COLUMN_TYPE);
    op->memory = (uint8_t)value_at(a, o->file, o->row, TS_COLUMN_MEMORY);
}

static bool load_ops(advice *a)
{
    lanes all;
    a->graph = ts_replay_graph(a->replay);
    a->op_count = a->graph.operation_count;
    a->stream_count = ts_replay_lane_count(a->replay);
    a->device_count = ts_replay_device_count(a->replay);
    a->ops = calloc(a->op_count + 1, sizeof *a->ops);
    uint32_t *const last = malloc((a->stream_count + 1) * sizeof *last);
    for (size_t i = 0; last && i <= a->stream_count; i++)
        last[i] = TS_NODE_NONE;
    const bool ok = lanes_open(&all, a->replay) && a->ops && last;
    ts_operation o;
    for (uint32_t i = 0; ok && i < a->op_count; i++) {
        if (!ts_replay_operation(a->replay, i, &o)) break;
        advice_op *const op = &a->ops[i];
        fill_op(a, op, &o);
        place(op, &o, &all);
        op->before = last[op->stream];
        if (!op->skipped) last[op->stream] = i;
    }
    lanes_close(&all);
    free(last);
    return ok;
}

/* ---- Devices ------------------------------------------------------------- */

static uint64_t fact(const ts_reader *reader, uint32_t track, const char *key)
{
    ts_metadata m;
    return ts_reader_metadata(reader, track, key, &m) &&
                   m.type == TS_VALUE_INT && m.number > 0
               ? (uint64_t)m.number
               : 0;
}

static void load_device(const advice *a, const ts_lane *lane, advice_device *d)
{
    const ts_reader *const reader = analyze_reader(a->job, lane->file);
    const uint32_t track = lane->track;
    d->multiprocessors = fact(reader, track, "multiprocessors");
    d->threads = fact(reader, track, "max_threads_per_multiprocessor");
    d->registers = fact(reader, track, "regs_per_multiprocessor");
    d->shared = fact(reader, track, "shared_mem_per_multiprocessor");
    d->warp = fact(reader, track, "warp_size");
    d->memory = fact(reader, track, "memory_bytes");
    d->compute_major = fact(reader, track, "compute_major");
    d->has_limits = occupancy_device(reader, track, &d->limits);
}

static bool load_devices(advice *a)
{
    a->devices = calloc(a->device_count + 1, sizeof *a->devices);
    ts_lane lane;
    for (size_t i = 0; a->devices && ts_replay_device(a->replay, i, &lane); i++)
        load_device(a, &lane, &a->devices[i]);
    return a->devices;
}

/* ---- The model and its critical path ------------------------------------- */

static int by_place(const void *left, const void *right)
{
    const advice_part *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

// Adds the recorded host time of a part of the path.
static void keep_part(advice *a, const ts_path_part *part)
{
    ts_node node;
    if (!ts_replay_node(a->model, part->node, &node)) return;
    const uint32_t thread =
        part->node < a->op_count ? a->ops[part->node].thread : node.track;
    if (!thread) return;
    const int64_t length = part->end_ns - part->start_ns;
    // A wait before a call ends where the call begins; other waits are within a
    // call.
    const int64_t from =
        part->waits && part->start_ns < node.start_ns
            ? node.recorded_ns - length
            : node.recorded_ns + (part->start_ns - node.start_ns);
    const advice_part kept = { node.file, thread, from, from + length };
    a->parts[a->part_count++] = kept;
    if (length > a->longest.to_ns - a->longest.from_ns) a->longest = kept;
}

// Merges adjoining and overlapping parts, so that they are disjoint.
static void merge_parts(advice *a)
{
    size_t count = 0;
    if (!a->part_count) return;
    cli_sort(a->parts, a->part_count, sizeof *a->parts, by_place);
    for (size_t i = 1; i < a->part_count; i++) {
        advice_part *const last = &a->parts[count];
        if (a->parts[i].file != last->file ||
            a->parts[i].thread != last->thread ||
            a->parts[i].from_ns > last->to_ns)
            a->parts[++count] = a->parts[i];
        else if (a->parts[i].to_ns > last->to_ns)
            last->to_ns = a->parts[i].to_ns;
    }
    a->part_count = count + 1;
}

/* ---- Processes ----------------------------------------------------------- */

typedef struct process {
    int64_t start_ns, end_ns;
    bool any;
} process;

static void stretch(process *p, int64_t start_ns, int64_t end_ns)
{
    if (!p->any || start_ns < p->start_ns) p->start_ns = start_ns;
    if (!p->any || end_ns > p->end_ns) p->end_ns = end_ns;
    p->any = true;
}

// Computes how long each process ran, including its calls.
static bool load_processes(advice *a)
{
    ts_replay_part part;
    size_t count = 0;
    while (ts_replay_part_at(a->replay, count, &part))
        count++;
    process *const all = calloc(count + 1, sizeof *all);
    ts_operation o;
    for (size_t i = 0; all && ts_replay_operation(a->replay, i, &o); i++) {
        if (o.skip != TS_SKIP_NOT || o.part >= count) continue;
        stretch(&all[o.part], o.recorded_start_ns, o.recorded_end_ns);
        if (!advice_is_call(a, o.call)) continue;
        const ts_node call = advice_node(a, o.call);
        stretch(&all[o.part], call.recorded_ns,
                call.recorded_ns + call.duration_ns);
    }
    for (size_t i = 0; all && i < count; i++) {
        if (!all[i].any) continue;
        a->process_count++;
        a->process_ns += all[i].end_ns - all[i].start_ns;
    }
    const bool ok = all;
    free(all);
    return ok;
}

static bool load_path(advice *a)
{
    ts_path path = { 0 };
    const size_t nodes = a->op_count + a->graph.call_count;
    a->path_ns = calloc(a->op_count + 1, sizeof *a->path_ns);
    a->spent_ns = calloc(nodes + 1, sizeof *a->spent_ns);
    if (!a->stuck && ts_replay_path(a->model, &path) != TS_OK) return false;
    a->assumed_ns = path.assumed_ns;
    a->parts = calloc(path.count + 1, sizeof *a->parts);
    if (!a->path_ns || !a->spent_ns || !a->parts) return false;
    for (size_t i = 0; i < path.count; i++) {
        const ts_path_part *const part = &path.parts[i];
        ts_node node;
        uint32_t owner = part->node;
        if (ts_replay_node(a->model, owner, &node)) owner = node.owner;
        const int64_t length = part->end_ns - part->start_ns;
        if (owner < nodes) a->spent_ns[owner] += length;
        if (owner < a->op_count && !part->waits) a->path_ns[owner] += length;
        if (part->cost == TS_COST_HOST) keep_part(a, part);
    }
    merge_parts(a);
    return true;
}

static bool run_model(advice *a)
{
    const ts_replay_run_desc desc = { .mode = TS_REPLAY_MODEL, .brief = true };
    a->model = analyze_model(a->job);
    // What the record is bound by: if several paths have the same length, a
    // model may choose another one.
    if (!a->model || !model_record_costs(a->job, a->cost_ns, &a->bound) ||
        ts_replay_run(a->model, &desc) != TS_OK)
        return false;
    const ts_replay_stats *const s = ts_replay_result(a->model);
    a->makespan_ns = s->end_ns - s->start_ns;
    a->start_ns = s->recorded_start_ns;
    a->end_ns = s->recorded_end_ns;
    a->recorded_ns = a->end_ns - a->start_ns;
    a->stuck = s->skipped[TS_SKIP_UNMET] != 0;
    if (a->stuck) a->makespan_ns = a->recorded_ns;
    return load_path(a);
}

bool advice_open(advice *a, analyze_job *job)
{
    memset(a, 0, sizeof *a);
    a->job = job;
    a->replay = analyze_replay(job);
    a->timeline = analyze_timeline(job);
    return a->replay && a->timeline && load_ops(a) && load_devices(a) &&
           load_processes(a) && run_model(a);
}

void advice_finding_close(advice_finding *f)
{
    for (size_t i = 0; i < f->change_count; i++) {
        free((void *)(uintptr_t)f->changes[i].operations);
        free((void *)(uintptr_t)f->changes[i].spans);
        free((void *)(uintptr_t)f->changes[i].sooner_ns);
    }
    free(f->durations_ns);
}

void advice_close(advice *a)
{
    for (size_t i = 0; i < a->finding_count; i++)
        advice_finding_close(&a->findings[i]);
    free(a->findings);
    free(a->dropped);
    free(a->ops);
    free(a->devices);
    free(a->path_ns);
    free(a->spent_ns);
    free(a->parts);
    free(a->calls);
    free(a->waits);
    free(a->call_op);
    advice_close_memory(a);
}
