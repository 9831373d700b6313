/*
    samples.c - rows of both sides: samples of profiles, by function and stack

    A profile has no durations to test: each sample weighs about the same, and
    how many fall into a function is chance. So their sums are tested, with the
    variation over slices of the time of a row (weights.c). Profiles without
    times are not tested.
*/
#include "tools/analyze/figures/operations/samples.h"
#include "tools/diff/diff.h"

enum {
    FRAMES = 12,
    SLICED_LEAST = 16 // with fewer samples a row has no slices
};

typedef enum pass {
    TYPES, // types and times of both sides, no rows
    SUMS,  // rows
    SLICES // sums of the rows by slice
} pass;

typedef struct walk {
    diff *d;
    int side;
    samples s;
    size_t type;   // index of the type that is compared
    double factor; // from its weights to those of rows
    int64_t first_ns, last_ns;
    pass pass;
    cli_map functions, stacks;
} walk;

static int64_t whole(double weight)
{
    return (int64_t)(weight + 0.5);
}

// A weight may be less than a part: only the sum is rounded.
static bool add_sum(walk *w, diff_row *row, int64_t from_ns, double weight)
{
    diff_part *const p = &row->parts[w->side];
    diff_weights *const to = &p->weights;
    const diff_one one = { from_ns, whole(weight), TS_NODE_NONE, 0,
                           TS_NODE_NONE };
    if (!diff_add(row, w->side, &one)) return false;
    if (p->count == 1 || from_ns < to->first_ns) to->first_ns = from_ns;
    if (p->count == 1 || from_ns > to->last_ns) to->last_ns = from_ns;
    to->total += weight;
    to->squares += weight * weight;
    p->total = whole(to->total);
    return true;
}

static bool add_slice(walk *w, diff_row *row, int64_t from_ns, double weight)
{
    diff_weights *const to = &row->parts[w->side].weights;
    const uint64_t a = row->parts[0].count, b = row->parts[1].count;
    if (!a || !b || a + b < SLICED_LEAST) return true;
    if (!to->slices) to->slices = calloc(DIFF_SLICES, sizeof *to->slices);
    if (!to->slices) return false;
    const uint64_t range = (uint64_t)to->last_ns - (uint64_t)to->first_ns;
    const uint64_t from = (uint64_t)from_ns - (uint64_t)to->first_ns;
    const double share = range ? (double)from / (double)range : 0;
    const size_t at = (size_t)(share * DIFF_SLICES);
    to->slices[at < DIFF_SLICES ? at : DIFF_SLICES - 1] += weight;
    return true;
}

static bool add(walk *w, diff_row *row, int64_t from_ns, double weight)
{
    return row &&
           (w->pass == SUMS ? add_sum : add_slice)(w, row, from_ns, weight);
}

// Returns the row of a key; CLI_NONE: it is not known yet.
static diff_row *known(walk *w, cli_map *rows, uint64_t key)
{
    const uint32_t at = cli_map_row(rows, key);
    return at == CLI_NONE ? NULL : &w->d->rows[at];
}

static diff_row *make(walk *w, cli_map *rows, uint64_t key,
                      diff_subject subject, ts_text name)
{
    diff_row *const row = diff_row_of(w->d, subject, name);
    const bool done =
        row && cli_map_set(rows, key, (uint32_t)(row - w->d->rows));
    return done ? row : NULL;
}

static bool take(void *user, const samples_one *one)
{
    walk *const w = user;
    analyze_job *const job = &w->d->sides[w->side].job;
    if (w->pass == TYPES) {
        if (one->start_ns < w->first_ns) w->first_ns = one->start_ns;
        if (one->start_ns > w->last_ns) w->last_ns = one->start_ns;
        return true;
    }
    if (one->type != w->type) return true;
    const double weight = one->weight * w->factor;
    const uint32_t name = w->s.paths.nodes[one->node].name;
    diff_row *row = known(w, &w->functions, name);
    if (!row)
        row = make(w, &w->functions, name, DIFF_SAMPLE, w->s.paths.names[name]);
    if (!add(w, row, one->start_ns, weight)) return false;
    if (!one->stack) return true;
    const uint64_t key = (uint64_t)one->file << 32 | one->stack;
    row = known(w, &w->stacks, key);
    if (!row)
        row = make(w, &w->stacks, key, DIFF_SAMPLE_STACK,
                   analyze_stack(job, one->file, one->stack, FRAMES));
    return add(w, row, one->start_ns, weight);
}

// Whether both sides sampled the same; fills d->sampled.
static bool match(diff *d, walk w[2])
{
    diff_sampled *const to = &d->sampled;
    double most = 0;
    int64_t parts = 1;
    for (int side = 0; side < 2; side++) {
        const samples_type *const t = samples_main(&w[side].s);
        if (!t) continue;
        w[side].type = (size_t)(t - w[side].s.types);
        to->counts[side] = t->count;
        to->names[side] = t->name.size ? t->name : t->unit;
        if (t->total > most) most = t->total;
        if (t->fractions && t->shown == REPORT_COUNT) parts = SAMPLES_PARTS;
    }
    if (!to->counts[0] || !to->counts[1]) return false;
    const samples_type *const a = &w[0].s.types[w[0].type];
    const samples_type *const b = &w[1].s.types[w[1].type];
    to->alike =
        cli_same_text(a->name, b->name) && cli_same_text(a->unit, b->unit);
    to->unit = a->shown;
    to->timed = w[0].first_ns < w[0].last_ns && w[1].first_ns < w[1].last_ns;
    // No sum overflows.
    if (most * (double)parts > 9e17) parts = 1;
    to->parts = parts;
    for (int side = 0; side < 2; side++)
        w[side].factor =
            most * (double)parts < 9e17 ? (double)parts : 9e17 / most;
    return to->alike;
}

// Walks through the samples of both sides. Close w[].s in any case.
static bool walk_both(walk w[2], pass which)
{
    bool ok = true;
    for (int side = 0; side < 2; side++) {
        w[side].pass = which;
        ok = samples_walk(&w[side].s, &w[side].d->sides[side].job, take,
                          &w[side]) &&
             ok;
    }
    return ok;
}

static void close_both(walk w[2])
{
    for (int side = 0; side < 2; side++)
        samples_close(&w[side].s);
}

bool diff_collect_samples(diff *d)
{
    walk w[2];
    for (int side = 0; side < 2; side++)
        w[side] = (walk){
            .d = d, .side = side, .first_ns = INT64_MAX, .last_ns = INT64_MIN
        };
    bool ok = walk_both(w, TYPES);
    const bool alike = ok && match(d, w);
    close_both(w);
    if (alike) ok = walk_both(w, SUMS);
    if (alike) close_both(w);
    if (alike && ok && d->sampled.timed) {
        ok = walk_both(w, SLICES);
        close_both(w);
    }
    for (int side = 0; side < 2; side++) {
        cli_map_close(&w[side].functions);
        cli_map_close(&w[side].stacks);
    }
    return ok;
}

bool diff_is_sample(const diff_row *row)
{
    return row->subject == DIFF_SAMPLE || row->subject == DIFF_SAMPLE_STACK;
}
