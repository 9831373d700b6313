/*
    sums.c - boxes of an area by name
*/
#include "tools/studio/scene/survey.h"

typedef struct sums {
    scene_sum *by_label;
    size_t count, room;
} sums;

static bool sums_open(survey *q)
{
    return (q->result = calloc(1, sizeof(sums))) != NULL;
}

static void sums_close(survey *q)
{
    if (q->result) free(((sums *)q->result)->by_label);
    free(q->result);
}

static bool make_room(sums *m, uint32_t label)
{
    if (!cli_grow(&m->by_label, &m->room, (size_t)label + 1,
                  sizeof *m->by_label))
        return false;
    for (; m->count <= label; m->count++)
        m->by_label[m->count] = (scene_sum){ .label = (uint32_t)m->count };
    return true;
}

// What lies inside of a zone is not its own time. A zone outside of the area,
// which was not taken, overlaps nothing.
static void leave_out(sums *m, const survey_lane *around,
                      const survey_lane *inside)
{
    const int64_t ns = survey_overlap(around, inside);
    if (ns && around->row != CLI_NONE) m->by_label[around->label].self_ns -= ns;
}

static bool sums_take(survey *q, survey_track *t, uint32_t lane,
                      const scene_item *item)
{
    sums *const m = q->result;
    const survey_lane *const l = &t->lanes[lane];
    const int64_t ns = survey_ns(l);
    if (!make_room(m, item->label)) return false;
    if (l->row != CLI_NONE) {
        scene_sum *const sum = &m->by_label[item->label];
        if (!sum->count || ns < sum->least_ns) sum->least_ns = ns;
        if (!sum->count || ns > sum->most_ns ||
            (ns == sum->most_ns && item->ref < sum->longest)) {
            sum->most_ns = ns;
            sum->longest = item->ref;
        }
        sum->count++;
        scene_add_ns(&sum->total_ns, ns);
        scene_add_ns(&sum->self_ns, ns);
    }
    if (t->type != SCENE_ZONES) return true;
    if (lane) leave_out(m, l - 1, l);
    if (lane + 1 < t->count) leave_out(m, l, l + 1);
    return true;
}

const survey_kind survey_sums = { sums_open, NULL, sums_take, sums_close };

static int by_total(const void *left, const void *right)
{
    const scene_sum *const a = left, *const b = right;
    if (a->total_ns != b->total_ns) return a->total_ns < b->total_ns ? 1 : -1;
    if (a->count != b->count) return a->count < b->count ? 1 : -1;
    return a->label < b->label ? -1 : a->label > b->label;
}

// Adds a sum; of more than twice `most` the largest are kept. Most of many are
// smaller than those.
static void keep(scene_area_sums *area, size_t most, const scene_sum *sum,
                 size_t *kept)
{
    if (*kept == most && by_total(sum, &area->sums[most - 1]) > 0) return;
    area->sums[area->kept++] = *sum;
    if (area->kept < 2 * most) return;
    qsort(area->sums, area->kept, sizeof *area->sums, by_total);
    area->kept = *kept = most;
}

static ts_result sum_up(scene *s, const survey_question *question, size_t most,
                        scene_area_sums *area)
{
    size_t kept = 0; // sorted ones
    *area = (scene_area_sums){ 0 };
    const survey *const q = scene_survey(s, question, &area->share);
    if (!q) return TS_ERR_MEMORY;
    const sums *const m = q->result;
    if (most > m->count) most = m->count;
    area->sums = malloc((2 * most + 1) * sizeof *area->sums);
    if (!area->sums) return TS_ERR_MEMORY;
    for (size_t i = 0; i < m->count; i++) {
        if (!m->by_label[i].count) continue;
        area->count++;
        area->boxes += m->by_label[i].count;
        keep(area, most, &m->by_label[i], &kept);
    }
    if (area->kept) qsort(area->sums, area->kept, sizeof *area->sums, by_total);
    if (area->kept > most) area->kept = most;
    return TS_OK;
}

ts_result scene_area(scene *s, const uint32_t *rows, size_t row_count,
                     int64_t from_ns, int64_t to_ns, size_t most,
                     scene_area_sums *area)
{
    const survey_question question = { .slot = SURVEY_SUMS,
                                       .kind = &survey_sums,
                                       .rows = rows,
                                       .row_count = row_count,
                                       .from_ns = from_ns,
                                       .to_ns = to_ns };
    return sum_up(s, &question, most, area);
}

bool scene_area_at_once(scene *s, const uint32_t *rows, size_t row_count,
                        int64_t from_ns, int64_t to_ns, scene_area_sums *area)
{
    enum { ROUNDS = 16 };
    const survey_question question = { .slot = SURVEY_EXPLANATION,
                                       .kind = &survey_sums,
                                       .rows = rows,
                                       .row_count = row_count,
                                       .from_ns = from_ns,
                                       .to_ns = to_ns };
    for (int i = 0; i < ROUNDS; i++) {
        if (sum_up(s, &question, SIZE_MAX / 2, area) != TS_OK) return false;
        if (!area->share.behind && area->share.counted == area->share.events)
            return true;
        free(area->sums);
        if (!area->share.behind) break;
    }
    return false;
}
