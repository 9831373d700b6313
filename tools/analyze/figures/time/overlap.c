/*
    overlap.c - hidden and exposed transfers
*/
#include "tools/analyze/figures/time/overlap.h"
#include "tools/cli/search.h"

// Disjoint intervals in which kernels run on a device, in order, with the total
// of such time before each.
typedef struct overlap_busy {
    int64_t *start, *end, *before;
    size_t count, room;
    uint32_t file, device;
} overlap_busy;

typedef struct overlap_walk {
    overlap_busy *busy;
    size_t count;
    size_t last; // cache: the last device found
} overlap_walk;

static overlap_busy *busy_of(overlap_walk *w, const ts_operation *op)
{
    if (w->last < w->count && w->busy[w->last].file == op->file &&
        w->busy[w->last].device == op->device)
        return &w->busy[w->last];
    for (w->last = 0; w->last < w->count; w->last++)
        if (w->busy[w->last].file == op->file &&
            w->busy[w->last].device == op->device)
            return &w->busy[w->last];
    overlap_busy *const more =
        realloc(w->busy, (w->count + 1) * sizeof *w->busy);
    if (!more) return NULL;
    w->busy = more;
    const overlap_busy fresh = { .file = op->file, .device = op->device };
    w->busy[w->count] = fresh;
    return &w->busy[w->count++];
}

static bool grow(overlap_busy *b)
{
    size_t rooms[3] = { b->room, b->room, b->room };
    int64_t **const arrays[] = { &b->start, &b->end, &b->before };
    for (int i = 0; i < 3; i++)
        if (!cli_grow(arrays[i], &rooms[i], b->count + 1, sizeof **arrays[i]))
            return false;
    b->room = rooms[0];
    return true;
}

// Adds a kernel. They arrive in order of their start.
static bool add_busy(overlap_busy *b, int64_t start, int64_t end)
{
    if (end <= start) return true;
    if (b->count && start <= b->end[b->count - 1]) {
        if (end > b->end[b->count - 1]) b->end[b->count - 1] = end;
        return true;
    }
    if (b->count == b->room && !grow(b)) return false;
    b->start[b->count] = start;
    b->end[b->count] = end;
    b->before[b->count] = b->count
                              ? b->before[b->count - 1] + b->end[b->count - 1] -
                                    b->start[b->count - 1]
                              : 0;
    b->count++;
    return true;
}

// Returns the total kernel time before a time.
static int64_t busy_before(const overlap_busy *b, int64_t time)
{
    size_t low = 0, high = b->count;
    while (low < high) // the first interval that begins at `time` or later
        cli_halve(&low, &high, b->start[cli_middle(low, high)] < time);
    if (!low) return 0;
    const int64_t end = b->end[low - 1] < time ? b->end[low - 1] : time;
    return b->before[low - 1] + end - b->start[low - 1];
}

/* ---- Transfers ----------------------------------------------------------- */

static bool moves(ts_event_kind kind)
{
    return names_works(kind) && kind != TS_EVENT_KERNEL;
}

static bool take_kernels(overlap_walk *w, const ts_replay *replay, size_t *all)
{
    ts_operation op;
    for (size_t i = 0; ts_replay_operation(replay, i, &op); i++) {
        *all += moves(op.kind);
        if (op.kind != TS_EVENT_KERNEL) continue;
        overlap_busy *const b = busy_of(w, &op);
        if (!b || !add_busy(b, op.recorded_start_ns, op.recorded_end_ns))
            return false;
    }
    return true;
}

static bool take_transfers(overlap_result *r, overlap_walk *w,
                           const ts_replay *replay)
{
    ts_operation op;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &op); i++) {
        if (!moves(op.kind)) continue;
        const overlap_busy *const b = busy_of(w, &op);
        if (!b) return false;
        const int64_t total = op.recorded_end_ns - op.recorded_start_ns;
        const int64_t hidden = busy_before(b, op.recorded_end_ns) -
                               busy_before(b, op.recorded_start_ns);
        const overlap_transfer t = { i, total, hidden };
        r->transfers[r->count++] = t;
        if (op.kind == TS_EVENT_COLLECTIVE) {
            r->collectives++;
            r->collective_ns += total;
            r->collective_hidden_ns += hidden;
        } else {
            r->copies++;
            r->copy_ns += total;
            r->copy_hidden_ns += hidden;
        }
    }
    return true;
}

/* ---- Sums ---------------------------------------------------------------- */

typedef struct overlap_key {
    uint32_t group;
    uint64_t size;
    uint64_t bytes;
    const overlap_transfer *transfer;
} overlap_key;

static int by_key(const void *left, const void *right)
{
    const overlap_key *const a = left, *const b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return (a->transfer->operation > b->transfer->operation) -
           (a->transfer->operation < b->transfer->operation);
}

static int64_t exposed(const overlap_sum *s)
{
    return s->total_ns - s->hidden_ns;
}

static int exposed_first(const void *left, const void *right)
{
    const overlap_sum *const a = left, *const b = right;
    if (exposed(a) != exposed(b)) return exposed(a) > exposed(b) ? -1 : 1;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    return (a->size > b->size) - (a->size < b->size);
}

static void add_sum(overlap_result *r, const overlap_key *k)
{
    overlap_sum *s = r->sum_count ? &r->sums[r->sum_count - 1] : NULL;
    if (!s || s->group != k->group || s->size != k->size) {
        const overlap_sum fresh = { .group = k->group,
                                    .size = k->size,
                                    .worst_ns = -1 };
        s = &r->sums[r->sum_count++];
        *s = fresh;
    }
    const int64_t ns = k->transfer->total_ns - k->transfer->hidden_ns;
    s->count++;
    s->bytes += k->bytes;
    s->total_ns += k->transfer->total_ns;
    s->hidden_ns += k->transfer->hidden_ns;
    if (ns <= s->worst_ns) return;
    s->worst_ns = ns;
    s->worst = k->transfer->operation;
}

static bool is_collective(const names_index *names, uint32_t group)
{
    return names->groups[group].kind == TS_EVENT_COLLECTIVE;
}

// Sorts collectives first, then by exposed time.
static void sort_sums(overlap_result *r, const names_index *names)
{
    for (size_t i = 0; i < r->sum_count; i++)
        if (is_collective(names, r->sums[i].group)) {
            const overlap_sum s = r->sums[r->collective_sums];
            r->sums[r->collective_sums++] = r->sums[i];
            r->sums[i] = s;
        }
    qsort(r->sums, r->collective_sums, sizeof *r->sums, exposed_first);
    qsort(r->sums + r->collective_sums, r->sum_count - r->collective_sums,
          sizeof *r->sums, exposed_first);
}

static bool take_sums(overlap_result *r, const names_index *names,
                      const uint64_t *sizes)
{
    overlap_key *const keys = malloc((r->count + 1) * sizeof *keys);
    if (!keys) return false;
    for (size_t i = 0; i < r->count; i++) {
        const uint32_t op = r->transfers[i].operation;
        const uint64_t bytes = sizes ? sizes[op] : 0;
        const overlap_key key = { names->of[op],
                                  is_collective(names, names->of[op]) ? bytes
                                                                      : 0,
                                  bytes, &r->transfers[i] };
        keys[i] = key;
    }
    qsort(keys, r->count, sizeof *keys, by_key);
    size_t count = 0;
    for (size_t i = 0; i < r->count; i++)
        count += !i || keys[i].group != keys[i - 1].group ||
                 keys[i].size != keys[i - 1].size;
    r->sums = malloc((count + 1) * sizeof *r->sums);
    for (size_t i = 0; r->sums && i < r->count; i++)
        add_sum(r, &keys[i]);
    free(keys);
    if (r->sums) sort_sums(r, names);
    return r->sums;
}

static int worst_first(const void *left, const void *right)
{
    const overlap_transfer *const a = left, *const b = right;
    const int64_t of_a = a->total_ns - a->hidden_ns;
    const int64_t of_b = b->total_ns - b->hidden_ns;
    if (of_a != of_b) return of_a > of_b ? -1 : 1;
    return (a->operation > b->operation) - (a->operation < b->operation);
}

bool overlap_open(overlap_result *r, const ts_replay *replay,
                  const names_index *names, const uint64_t *sizes)
{
    overlap_walk w = { 0 };
    size_t all = 0;
    memset(r, 0, sizeof *r);
    bool ok = take_kernels(&w, replay, &all);
    r->no_kernels = !w.count;
    if (ok) r->transfers = malloc((all + 1) * sizeof *r->transfers);
    ok = ok && r->transfers && take_transfers(r, &w, replay) &&
         take_sums(r, names, sizes);
    for (size_t i = 0; i < w.count; i++) {
        free(w.busy[i].start);
        free(w.busy[i].end);
        free(w.busy[i].before);
    }
    free(w.busy);
    if (ok) qsort(r->transfers, r->count, sizeof *r->transfers, worst_first);
    return ok;
}

void overlap_close(overlap_result *r)
{
    free(r->transfers);
    free(r->sums);
    memset(r, 0, sizeof *r);
}

/* ---- Runs with hidden transfers ------------------------------------------ */

bool overlap_hide(model_figures *figures, ts_replay *model, bool collectives)
{
    const uint32_t count = ts_replay_graph(model).operation_count;
    bool *const operations = calloc((size_t)count + 1, 1);
    ts_operation op;
    if (!operations) return false;
    for (size_t i = 0; ts_replay_operation(model, i, &op); i++)
        operations[i] =
            moves(op.kind) && (op.kind == TS_EVENT_COLLECTIVE) == collectives;
    const ts_change change = { .type = TS_CHANGE_OVERLAP,
                               .operations = operations };
    const bool ok = model_run(model, &change, 1, figures);
    free(operations);
    return ok;
}
