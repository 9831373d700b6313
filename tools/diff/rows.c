/*
    rows.c - matches the rows of both sides and tests them
*/
#include "tools/diff/diff.h"
#include "tools/cli/search.h"

const char *diff_subject_name(diff_subject subject)
{
    static const char *const names[] = {
#define X(name, text) text,
        DIFF_SUBJECTS(X)
#undef X
    };
    return names[subject];
}

/* ---- Rows --------------------------------------------------------------- */

diff_row *diff_row_of(diff *d, diff_subject subject, ts_text name)
{
    uint64_t hash = UINT64_C(14695981039346656037) + (uint64_t)subject;
    for (size_t i = 0; i < name.size; i++) // FNV-1a
        hash = (hash ^ (uint8_t)name.text[i]) * UINT64_C(1099511628211);
    for (;; hash++) { // on a collision the next hash is tried
        const uint32_t at = cli_map_row(&d->index, hash);
        if (at == CLI_NONE) break;
        if (d->rows[at].subject == subject &&
            cli_same_text(d->rows[at].name, name))
            return &d->rows[at];
    }
    if (!cli_grow(&d->rows, &d->row_room, d->row_count + 1, sizeof *d->rows) ||
        !cli_map_set(&d->index, hash, (uint32_t)d->row_count))
        return NULL;
    d->rows[d->row_count] = (diff_row){ .subject = subject, .name = name };
    for (int side = 0; side < 2; side++)
        d->rows[d->row_count].parts[side] =
            (diff_part){ .stride = 1, .longest = TS_NODE_NONE };
    return &d->rows[d->row_count++];
}

// Keeps every stride-th value. When there are too many, it drops every second
// one and doubles the stride.
static bool keep_value(diff_part *p, int64_t ns)
{
    if ((p->count - 1) % p->stride) return true;
    if (p->value_count == DIFF_VALUES_MOST) {
        p->value_count /= 2;
        for (size_t i = 0; i < p->value_count; i++)
            p->values[i] = p->values[2 * i];
        p->stride *= 2;
        if ((p->count - 1) % p->stride) return true;
    }
    if (!cli_grow(&p->values, &p->value_room, p->value_count + 1,
                  sizeof *p->values))
        return false;
    p->values[p->value_count++] = ns;
    return true;
}

// Adds a time to the sum of a step. Steps arrive nearly in order, so that the
// search starts at the end.
static bool keep_step(diff_part *p, uint32_t step, int64_t ns)
{
    for (size_t i = p->step_count; i > 0 && i + 8 > p->step_count; i--)
        if (p->steps[i - 1].step == step) {
            p->steps[i - 1].ns += ns;
            return true;
        }
    if (!cli_grow(&p->steps, &p->step_room, p->step_count + 1,
                  sizeof *p->steps))
        return false;
    p->steps[p->step_count++] = (diff_sample){ step, ns };
    return true;
}

bool diff_add(diff_row *row, int side, const diff_one *one)
{
    diff_part *const p = &row->parts[side];
    if (!p->count++ || one->ns > p->longest_ns) {
        p->longest_ns = one->ns;
        p->longest_from_ns = one->from_ns;
        p->longest_file = one->file;
        p->longest = one->operation;
    }
    p->total += one->ns;
    if (one->step != TS_NODE_NONE) {
        p->in_steps++;
        if (!keep_step(p, one->step, one->ns)) return false;
    }
    return keep_value(p, one->ns);
}

uint32_t diff_step_at(const diff_side *side, int64_t time_ns)
{
    const steps_result *const s = &side->steps;
    size_t low = 0, high = s->count;
    while (low < high) // the first step that ends after it
        cli_halve(&low, &high,
                  s->steps[cli_middle(low, high)].end_ns <= time_ns);
    return low < s->count && s->steps[low].start_ns <= time_ns ? (uint32_t)low
                                                               : TS_NODE_NONE;
}

/* ---- Samples ------------------------------------------------------------ */

static int by_step(const void *left, const void *right)
{
    const diff_sample *const a = left, *const b = right;
    return (a->step > b->step) - (a->step < b->step);
}

static void merge_steps(diff_part *p)
{
    size_t kept = 0;
    if (p->step_count)
        qsort(p->steps, p->step_count, sizeof *p->steps, by_step);
    for (size_t i = 0; i < p->step_count; i++)
        if (kept && p->steps[kept - 1].step == p->steps[i].step)
            p->steps[kept - 1].ns += p->steps[i].ns;
        else
            p->steps[kept++] = p->steps[i];
    p->step_count = kept;
}

// Fills the samples with the sums of all steps; steps without events are 0.
static size_t step_samples(const diff *d, const diff_row *row, int side,
                           int64_t *to)
{
    const diff_part *const p = &row->parts[side];
    const size_t steps = d->sides[side].steps.count;
    const size_t count = steps < DIFF_SAMPLES_MOST ? steps : DIFF_SAMPLES_MOST;
    memset(to, 0, count * sizeof *to);
    for (size_t i = 0; i < p->step_count && p->steps[i].step < count; i++)
        to[p->steps[i].step] = p->steps[i].ns;
    return count;
}

static size_t single_samples(const diff_part *p, int64_t *to)
{
    size_t count = p->value_count;
    if (count > DIFF_SAMPLES_MOST) count = DIFF_SAMPLES_MOST;
    for (size_t i = 0; i < count; i++) // evenly spaced
        to[i] = p->values[i * p->value_count / count];
    return count;
}

// Whether two numbers differ by at most a fiftieth.
bool diff_about_same(uint64_t a, uint64_t b)
{
    return (a > b ? a - b : b - a) <= (a > b ? a : b) / 50;
}

// Whether sums by step are good samples of a row: on both sides at least nine
// tenths of its events are in steps, and half of the steps have one. The
// boundaries of found steps are a guess, so that both sides must also have
// about as many events per step.
static bool has_steps(const diff *d, const diff_row *row)
{
    if (!d->by_step || row->subject == DIFF_STEP ||
        row->subject == DIFF_LATENCY || row->subject == DIFF_MEMORY ||
        row->subject == DIFF_MAKESPAN)
        return false;
    for (int side = 0; side < 2; side++) {
        const diff_part *const p = &row->parts[side];
        if (p->in_steps < p->count - p->count / 10 ||
            (p->count && p->step_count < d->sides[side].steps.count / 2))
            return false;
    }
    const steps_result *const a = &d->sides[0].steps, *const b =
                                                          &d->sides[1].steps;
    return a->marked || diff_about_same(row->parts[0].in_steps * b->count,
                                        row->parts[1].in_steps * a->count);
}

static void describe(diff_part *p, int64_t *samples, size_t count,
                     int64_t *room)
{
    p->sample_count = count;
    cli_sort_numbers(samples, count);
    p->center = sums_quantile(samples, count, 500);
    p->deviation = sums_deviation(samples, count, p->center, room);
}

static bool enough(const diff_row *row, const size_t counts[2])
{
    return counts[0] >= DIFF_SAMPLES_LEAST && counts[1] >= DIFF_SAMPLES_LEAST &&
           row->parts[0].count && row->parts[1].count;
}

static void set_median(diff_part *p)
{
    cli_sort_numbers(p->values, p->value_count);
    p->median = sums_quantile(p->values, p->value_count, 500);
}

static void test_samples(const diff *d, diff_row *row)
{
    row->tested = d->sampled.timed;
    if (row->tested)
        row->p = diff_weights_test(&row->parts[0].weights,
                                   &row->parts[1].weights, &row->toward);
    for (int side = 0; side < 2; side++)
        set_median(&row->parts[side]);
}

// samples: space for those of both sides, and as many again.
static void test_row(const diff *d, diff_row *row, int64_t *samples[3])
{
    size_t counts[2];
    row->p = row->adjusted = row->p_singles = DIFF_CERTAIN;
    for (int side = 0; side < 2; side++) {
        merge_steps(&row->parts[side]);
        counts[side] = single_samples(&row->parts[side], samples[side]);
        describe(&row->parts[side], samples[side], counts[side], samples[2]);
    }
    if (diff_is_sample(row)) {
        test_samples(d, row);
        return;
    }
    row->tested = row->tested_singles = enough(row, counts);
    if (row->tested)
        row->p = row->p_singles = diff_u_test(samples[0], counts[0], samples[1],
                                              counts[1], &row->toward_singles);
    row->toward = row->toward_singles;
    row->by_step = has_steps(d, row);
    for (int side = 0; side < 2; side++) {
        diff_part *const p = &row->parts[side];
        set_median(p);
        if (!row->by_step) continue;
        counts[side] = step_samples(d, row, side, samples[side]);
        describe(p, samples[side], counts[side], samples[2]);
    }
    if (!row->by_step) return;
    row->tested = enough(row, counts);
    if (row->tested)
        row->p = diff_u_test(samples[0], counts[0], samples[1], counts[1],
                             &row->toward);
}

// Adjusts the p-values of the rows of a subject for multiple tests.
static bool adjust_rows(diff *d, diff_subject subject)
{
    uint64_t *const p = malloc((d->row_count + 1) * sizeof *p);
    uint64_t *const to = malloc((d->row_count + 1) * sizeof *to);
    size_t count = 0;
    for (size_t i = 0; p && i < d->row_count; i++)
        if (d->rows[i].subject == subject && d->rows[i].tested)
            p[count++] = d->rows[i].p;
    const bool ok = p && to && diff_adjust(p, to, count);
    count = 0;
    for (size_t i = 0; ok && i < d->row_count; i++)
        if (d->rows[i].subject == subject && d->rows[i].tested) {
            diff_row *const row = &d->rows[i];
            row->adjusted = to[count++];
            row->by_chance = diff_is_sample(row) && row->adjusted > d->alpha;
        }
    free(p);
    free(to);
    return ok;
}

bool diff_test_rows(diff *d)
{
    int64_t *samples[3];
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        samples[i] = malloc(DIFF_SAMPLES_MOST * sizeof **samples);
        ok &= samples[i] != NULL;
    }
    for (size_t i = 0; ok && i < d->row_count; i++) {
        test_row(d, &d->rows[i], samples);
        for (int side = 0; side < 2; side++)
            if (d->rows[i].parts[side].stride > 1)
                *(diff_is_sample(&d->rows[i]) ? &d->thinned_samples
                                              : &d->thinned) = true;
    }
    for (int i = 0; i < 3; i++)
        free(samples[i]);
    for (int s = 0; ok && s < DIFF_SUBJECT_LIMIT; s++)
        ok = adjust_rows(d, (diff_subject)s);
    return ok;
}

/* ---- Values ------------------------------------------------------------- */

diff_number diff_value(const diff *d, const diff_row *row, diff_metric metric,
                       int side)
{
    const diff_part *const p = &row->parts[side];
    diff_number n = { 0, 1 };
    if (metric == DIFF_MEDIAN) {
        n.number = p->median;
    } else if (!row->by_step) {
        n.number = metric == DIFF_COUNT ? (int64_t)p->count : p->total;
    } else {
        n.of = (int64_t)d->sides[side].steps.count;
        n.number = (int64_t)p->in_steps;
        for (size_t i = 0; metric == DIFF_TOTAL && i <= p->step_count; i++)
            n.number = i ? n.number + p->steps[i - 1].ns : 0;
    }
    return n;
}

int64_t diff_change(const diff *d, const diff_row *row, diff_metric metric)
{
    const diff_number a = diff_value(d, row, metric, 0);
    const diff_number b = diff_value(d, row, metric, 1);
    return b.number / b.of - a.number / a.of;
}

bool diff_is_new(const diff_row *row)
{
    return !row->parts[0].count && row->parts[1].count && !row->by_chance;
}

bool diff_is_gone(const diff_row *row)
{
    return row->parts[0].count && !row->parts[1].count && !row->by_chance;
}

bool diff_is_significant(const diff *d, const diff_row *row)
{
    return row->tested && row->adjusted <= d->alpha;
}
