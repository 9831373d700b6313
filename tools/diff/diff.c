/*
    diff.c - opens and compares two sides
*/
#include "tools/diff/diff.h"

static bool open_side(diff *d, int side, char **paths, uint32_t count)
{
    diff_side *const s = &d->sides[side];
    if (!analyze_open(&s->job, paths, count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const ts_info *const info = analyze_info(&s->job, i);
        s->lost += info->lost;
    }
    return true;
}

bool diff_open(diff *d, char **a, uint32_t a_count, char **b, uint32_t b_count)
{
    return open_side(d, 0, a, a_count) && open_side(d, 1, b, b_count);
}

void diff_close(diff *d)
{
    for (int side = 0; side < 2; side++) {
        steps_close(&d->sides[side].steps);
        names_close(&d->sides[side].names);
        analyze_close(&d->sides[side].job);
    }
    for (size_t i = 0; i < d->row_count; i++)
        for (int side = 0; side < 2; side++) {
            free(d->rows[i].parts[side].values);
            free(d->rows[i].parts[side].steps);
            free(d->rows[i].parts[side].weights.slices);
        }
    free(d->rows);
    free(d->streams);
    cli_map_close(&d->index);
}

static bool load_side(diff_side *s)
{
    ts_replay *const replay = analyze_replay(&s->job);
    const ts_timeline *const timeline = analyze_timeline(&s->job);
    if (!timeline) return true;
    s->has_work = true;
    s->total = *ts_timeline_total(timeline);
    s->start_ns = ts_replay_result(replay)->recorded_start_ns;
    s->end_ns = ts_replay_result(replay)->recorded_end_ns;
    s->devices = ts_replay_device_count(replay);
    const bool ok = names_open(&s->names, replay) &&
                    steps_open(&s->steps, replay, timeline, &s->names);
    sums_close(&s->steps.works); // the comparison does not use it
    return ok;
}

// Whether the steps of both sides are comparable. Found steps must have similar
// lengths.
static bool steps_match(const steps_result *a, const steps_result *b)
{
    if (!a->count || !b->count || a->marked != b->marked) return false;
    const uint32_t more = a->length > b->length ? a->length : b->length;
    const uint32_t less = a->length > b->length ? b->length : a->length;
    return a->marked || more - less <= more / 20;
}

bool diff_compare(diff *d)
{
    // Collect one side after the other, to keep as little as possible in
    // memory.
    for (int side = 0; side < 2; side++) {
        if (!diff_collect_memory(d, side) || !load_side(&d->sides[side]) ||
            !diff_collect(d, side) || !diff_collect_host(d, side))
            return false;
        analyze_forget(&d->sides[side].job);
    }
    d->alike = steps_match(&d->sides[0].steps, &d->sides[1].steps);
    d->by_step = d->alike && d->sides[0].steps.count >= DIFF_STEPS_LEAST &&
                 d->sides[1].steps.count >= DIFF_STEPS_LEAST;
    return diff_collect_spans(d, 0) && diff_collect_spans(d, 1) &&
           diff_collect_samples(d) && diff_schedules(d) && diff_test_rows(d);
}
