/*
    test_scene_survey.c - figures of areas are of all that a trace holds there,
    and agree with each other and with what is drawn
*/
#define _GNU_SOURCE
#include <glob.h>
#include "tests/tools/studio/scene_fixture.h"
#include "tools/studio/scene/survey.h"

typedef struct opened {
    ts_reader *reader;
    scene *s;
    uint32_t *rows; // of boxes, that there were when it was opened
    size_t row_count;
    int64_t from_ns, to_ns;
} opened;

static void note_rows(opened *o)
{
    free(o->rows);
    o->row_count = 0;
    o->rows = malloc((scene_row_count(o->s) + 1) * sizeof *o->rows);
    assert_non_null(o->rows);
    for (uint32_t i = 0; i < scene_row_count(o->s); i++)
        if (scene_row_at(o->s, i)->type != SCENE_COUNTER)
            o->rows[o->row_count++] = i;
}

// Loaded as a whole; or nothing is loaded any more, and each question decodes a
// chunk.
static opened open_trace(const char *path, bool loaded)
{
    opened o = { .row_count = 0 };
    const ts_reader_desc desc = { .path = path, .no_salvage = true };
    assert_int_equal(TS_OK, ts_reader_open(&o.reader, &desc));
    assert_int_equal(TS_OK, scene_open(&o.s, o.reader));
    const ts_info *const info = ts_reader_info(o.reader);
    o.from_ns = info->first_ns - 1;
    o.to_ns = info->last_ns + 1;
    assert_true(scene_load(o.s, o.from_ns, o.to_ns));
    note_rows(&o);
    if (loaded) return o;
    scene_window_forget(o.s);
    o.s->limits = (scene_limits){ .slice = 1, .survey = 1 };
    return o;
}

static void opened_close(opened *o)
{
    free(o->rows);
    scene_close(o->s);
    ts_reader_close(o->reader);
}

static scene_area_sums sums_of(opened *o, int64_t from_ns, int64_t to_ns)
{
    scene_area_sums area;
    for (int rounds = 0;; rounds++) {
        assert_true(rounds < 10000);
        assert_int_equal(TS_OK, scene_area(o->s, o->rows, o->row_count, from_ns,
                                           to_ns, 1000, &area));
        if (!area.share.behind) return area;
        free(area.sums);
    }
}

static const scene_sum *sum_of(opened *o, const scene_area_sums *area,
                               const scene_label *label)
{
    for (size_t i = 0; i < area->count; i++) {
        const scene_label *const l = scene_label_at(o->s, area->sums[i].label);
        if (l->kind == label->kind && l->id == label->id) return &area->sums[i];
    }
    return NULL;
}

/* ---- What is drawn ------------------------------------------------------- */

static int64_t clip(int64_t ns, int64_t from_ns, int64_t to_ns)
{
    return ns < from_ns ? from_ns : ns > to_ns ? to_ns : ns;
}

// Sums up the boxes of rows, one by one. Those of a lane below lie in this one.
static scene_sum drawn(const opened *o, uint32_t label, int64_t from_ns,
                       int64_t to_ns)
{
    scene_sum sum = { .label = label };
    for (size_t i = 0; i < o->row_count; i++) {
        const strip *const r = &o->s->rows[o->rows[i]];
        for (size_t k = 0; k < r->count; k++) {
            const scene_item *const box = &r->items[k];
            if (box->label != label || box->start_ns >= to_ns ||
                (box->start_ns < from_ns && box->end_ns <= from_ns))
                continue;
            sum.count++;
            sum.total_ns += clip(box->end_ns, from_ns, to_ns) -
                            clip(box->start_ns, from_ns, to_ns);
        }
    }
    return sum;
}

static void expect_drawn(opened *all, opened *part, int64_t from_ns,
                         int64_t to_ns)
{
    scene_area_sums a = sums_of(all, from_ns, to_ns);
    scene_area_sums b = sums_of(part, from_ns, to_ns);
    uint64_t boxes = 0;
    assert_int_equal(a.share.events, b.share.events);
    assert_int_equal(a.share.counted, b.share.counted);
    if (!ts_reader_damage_count(all->reader))
        assert_int_equal(a.share.events, a.share.counted);
    assert_int_equal(a.count, b.count);
    for (uint32_t i = 0; i < scene_label_count(all->s); i++) {
        const scene_label *const label = scene_label_at(all->s, i);
        const scene_sum truth = drawn(all, i, from_ns, to_ns);
        const scene_sum *const x = sum_of(all, &a, label);
        const scene_sum *const y = sum_of(part, &b, label);
        assert_int_equal(truth.count > 0, x != NULL);
        assert_int_equal(truth.count > 0, y != NULL);
        if (!truth.count) continue;
        boxes += truth.count;
        assert_int_equal(truth.count, x->count);
        assert_int_equal(truth.count, y->count);
        assert_int_equal(truth.total_ns, x->total_ns);
        assert_int_equal(truth.total_ns, y->total_ns);
        assert_int_equal(x->self_ns, y->self_ns);
        assert_int_equal(x->least_ns, y->least_ns);
        assert_int_equal(x->most_ns, y->most_ns);
        assert_true(x->longest == y->longest);
    }
    assert_int_equal(boxes, a.boxes);
    assert_int_equal(boxes, b.boxes);
    free(a.sums);
    free(b.sums);
}

/* ---- Figures of one area among each other -------------------------------- */

static void expect_durations(opened *o)
{
    scene_area_sums area = sums_of(o, o->from_ns, o->to_ns);
    scene_histogram *const h = malloc(sizeof *h);
    assert_non_null(h);
    for (size_t i = 0; i < area.count; i++) {
        const scene_sum *const sum = &area.sums[i];
        uint64_t count = 0;
        do
            assert_int_equal(TS_OK, scene_histogram_of(o->s, h, sum->label,
                                                       o->rows, o->row_count,
                                                       o->from_ns, o->to_ns));
        while (h->share.behind);
        for (uint32_t k = 0; k < SCENE_BINS; k++)
            count += h->bins[k].count;
        assert_int_equal(sum->count, count);
        assert_int_equal(sum->count, h->count);
        assert_int_equal(sum->total_ns, h->total_ns);
        assert_int_equal(sum->most_ns, h->most_ns);
    }
    free(h);
    free(area.sums);
}

static scene_flame tree_of(opened *o, scene_flame_by by)
{
    scene_flame tree;
    for (;;) {
        assert_int_equal(TS_OK,
                         scene_flame_open(o->s, &tree, by, o->rows,
                                          o->row_count, o->from_ns, o->to_ns));
        if (!tree.share.behind) return tree;
        scene_flame_close(&tree);
    }
}

// Time and boxes at the top of a tree. What is in a node is not longer than it.
static int64_t tree_ns(opened *o, scene_flame_by by, uint64_t *count)
{
    scene_flame tree = tree_of(o, by);
    int64_t total_ns = 0;
    *count = 0;
    for (size_t i = 0; i < tree.count; i++) {
        const scene_flame_node *const n = &tree.nodes[i];
        if (n->parent == UINT32_MAX) {
            *count += n->count;
            total_ns += n->total_ns;
        } else {
            tree.nodes[n->parent].total_ns -= n->total_ns;
            assert_true(tree.nodes[n->parent].total_ns >= 0);
        }
    }
    scene_flame_close(&tree);
    return total_ns;
}

// The outermost boxes of the rows that a flame graph is of.
static int64_t outermost_ns(const opened *o, bool work_only, uint64_t *count)
{
    int64_t total_ns = 0;
    *count = 0;
    for (size_t i = 0; i < o->row_count; i++) {
        const strip *const r = &o->s->rows[o->rows[i]];
        const bool calls =
            r->pub.type == SCENE_CALLS &&
            scene_row_known(o->s, SCENE_ZONES, r->pub.track, 0) == CLI_NONE;
        if (r->pub.type != SCENE_WORK &&
            (work_only ||
             (!calls && (r->pub.type != SCENE_ZONES || r->pub.part))))
            continue;
        *count += r->count;
        for (size_t k = 0; k < r->count; k++)
            total_ns += scene_item_ns(&r->items[k]);
    }
    return total_ns;
}

static void expect_trees(opened *all, opened *part)
{
    uint64_t count, counted;
    int64_t ns = outermost_ns(all, false, &count);
    assert_int_equal(ns, tree_ns(all, SCENE_FLAME_BOXES, &counted));
    assert_int_equal(count, counted);
    assert_int_equal(ns, tree_ns(part, SCENE_FLAME_BOXES, &counted));
    assert_int_equal(count, counted);
    ns = outermost_ns(all, true, &count);
    for (int by = SCENE_FLAME_ZONES; by <= SCENE_FLAME_STACKS; by++) {
        assert_int_equal(ns, tree_ns(part, (scene_flame_by)by, &counted));
        assert_int_equal(count, counted);
    }
}

// A search counts what is drawn, too.
static void expect_names(opened *all, opened *part)
{
    scene_names_want(part->s);
    while (scene_is_behind(part->s))
        scene_work(part->s);
    for (uint32_t i = 0; i < scene_label_count(all->s); i++) {
        const scene_label *const label = scene_label_at(all->s, i);
        const scene_sum truth = drawn(all, i, all->from_ns, all->to_ns);
        uint64_t count;
        int64_t total_ns;
        const uint32_t at = scene_label_of(part->s, label->kind, label->id);
        scene_names_sum(part->s, at, &count, &total_ns);
        assert_int_equal(truth.count, count);
        assert_int_equal(truth.total_ns, total_ns);
    }
}

static void expect_all(const char *path)
{
    opened all = open_trace(path, true), part = open_trace(path, false);
    const int64_t span = all.to_ns - all.from_ns;
    expect_drawn(&all, &part, all.from_ns, all.to_ns);
    expect_drawn(&all, &part, all.from_ns + span / 3, all.to_ns - span / 3);
    expect_durations(&all);
    expect_durations(&part);
    expect_trees(&all, &part);
    expect_names(&all, &part);
    opened_close(&all);
    opened_close(&part);
}

UNIT_TEST(figures_of_golden_traces_agree)
{
    glob_t files;
    assert_int_equal(0, glob("tests/golden/*.sbt", 0, NULL, &files));
    assert_int_equal(0, glob("tests/cli/*.sbt", GLOB_APPEND, NULL, &files));
    assert_true(files.gl_pathc > 30);
    for (size_t i = 0; i < files.gl_pathc; i++)
        expect_all(files.gl_pathv[i]);
    globfree(&files);
}

// Whether anything is drawn on a row.
static bool is_seen(scene *s, uint32_t row, int64_t from_ns, int64_t to_ns)
{
    enum { PIXELS = 100 };
    bool seen = false;
    canvas c;
    canvas_draw(s, &c, row, from_ns, to_ns, PIXELS);
    assert_true(c.v.coarse);
    for (int i = 0; i < PIXELS; i++)
        seen = seen || c.busy[i] || c.low[i] <= c.high[i];
    free(c.v.boxes);
    return seen;
}

// The first row of a track is there, and drawn, before any event is loaded.
static void expect_rows(const char *path)
{
    opened all = open_trace(path, true);
    scene *s;
    assert_int_equal(TS_OK, scene_open(&s, all.reader));
    s->limits = (scene_limits){ .slice = 1 };
    s->table_wanted = true;
    while (scene_is_behind(s))
        scene_work(s);
    for (uint32_t i = 0; i < scene_row_count(all.s); i++) {
        const scene_row *const row = scene_row_at(all.s, i);
        if (!row->count || row->part) continue;
        const uint32_t at = scene_row_known(s, row->type, row->track, 0);
        if (at == CLI_NONE || !is_seen(s, at, all.from_ns, all.to_ns))
            fail_msg("%s: nothing of type %d on track %u", path, (int)row->type,
                     row->track);
    }
    scene_close(s);
    opened_close(&all);
}

UNIT_TEST(rows_are_there_before_their_events)
{
    glob_t files;
    assert_int_equal(0, glob("tests/golden/*.sbt", 0, NULL, &files));
    assert_int_equal(0, glob("tests/cli/*.sbt", GLOB_APPEND, NULL, &files));
    for (size_t i = 0; i < files.gl_pathc; i++)
        expect_rows(files.gl_pathv[i]);
    globfree(&files);
}

/* ---- A long trace -------------------------------------------------------- */

enum { STEPS = 20000, STEP_NS = 1000 };

// Steps of three depths on two threads, and kernels; as many chunks of a track.
static staged staged_steps(void)
{
    staged t;
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < STEPS; i++) {
        const int64_t at = i * STEP_NS;
        const uint32_t thread = i % 3 ? HOST : OTHER;
        made_zone(&t.m, thread, "inner", at + 100, at + 300);
        made_zone(&t.m, thread, i % 2 ? "left" : "right", at + 50, at + 600);
        made_zone(&t.m, thread, "step", at, at + 900);
        made_launch(&t.m, i % 2 ? S0 : S1, "k", at + 10, at + 200, at + 1700);
    }
    made_zone(&t.m, HOST, "main", -10, STEPS * STEP_NS + 10);
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    return t;
}

UNIT_TEST(a_long_trace_is_counted_as_a_whole_whatever_is_loaded)
{
    staged t = staged_steps();
    expect_all(t.m.path);
    staged_close(&t);
}

// What is deeper than any row that is known counts for the deepest one.
UNIT_TEST(depths_that_were_never_loaded_are_counted)
{
    staged t = staged_steps();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    const int64_t to_ns = STEPS * STEP_NS + 10;
    scene_area_sums area;
    t.s->limits = (scene_limits){ .slice = 1000, .survey = 1000 };
    bool behind = true;
    uint64_t last = 0;
    for (int rounds = 0; behind; rounds++) {
        assert_true(rounds < 100);
        assert_int_equal(TS_OK,
                         scene_area(t.s, &row, 1, -10, to_ns, 1000, &area));
        assert_true(area.share.counted > last);
        assert_true(area.share.counted <= area.share.events);
        last = area.share.counted;
        behind = area.share.behind;
        if (behind) free(area.sums);
    }
    assert_int_equal(last, area.share.events);
    assert_int_equal(1 + 3 * (STEPS - (STEPS + 2) / 3), area.boxes);
    assert_string_equal("main", staged_label(&t, area.sums[0].label));
    assert_int_equal(to_ns + 10, area.sums[0].total_ns);
    free(area.sums);
    staged_close(&t);
}

// As of two pages that show one trace.
UNIT_TEST(askers_that_take_turns_are_all_answered)
{
    staged t = staged_steps();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    uint64_t last[SCENE_ASKERS] = { 0 };
    int left = SCENE_ASKERS;
    t.s->limits = (scene_limits){ .slice = 1000, .survey = 1000 };
    for (int rounds = 0; left; rounds++) {
        assert_true(rounds < 100);
        left = SCENE_ASKERS;
        for (int64_t i = 0; i < SCENE_ASKERS; i++) {
            scene_area_sums area;
            assert_int_equal(
                TS_OK, scene_area(t.s, &row, 1, i, STEPS * STEP_NS, 10, &area));
            free(area.sums);
            assert_true(area.share.counted > last[i] || !area.share.behind);
            last[i] = area.share.counted;
            left -= !area.share.behind;
        }
    }
    staged_close(&t);
}

// The rows that appear while an area is counted change nothing; when they are
// there, the question has another answer.
UNIT_TEST(rows_that_appear_meanwhile_are_no_loss)
{
    staged t = staged_steps();
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    scene_area_sums area;
    t.s->limits = (scene_limits){
        .events = 100, .window = 50000, .at_once = 50000, .survey = 1000
    };
    assert_int_equal(TS_OK,
                     scene_area(t.s, &row, 1, 0, STEPS * STEP_NS, 1000, &area));
    assert_true(area.share.behind);
    free(area.sums);
    assert_true(scene_load(t.s, 5000000, 5010000));
    staged_row(&t, SCENE_ZONES, HOST, 1);
    for (bool behind = true; behind; behind = area.share.behind) {
        assert_int_equal(
            TS_OK, scene_area(t.s, &row, 1, 0, STEPS * STEP_NS, 1000, &area));
        if (area.share.behind) free(area.sums);
    }
    assert_int_equal(1 + 3 * (STEPS - (STEPS + 2) / 3), area.boxes);
    free(area.sums);
    for (bool behind = true; behind; behind = area.share.behind) {
        assert_int_equal(
            TS_OK, scene_area(t.s, &row, 1, 0, STEPS * STEP_NS, 1000, &area));
        if (area.share.behind) free(area.sums);
    }
    assert_int_equal(1, area.boxes); // of the first depth: main
    free(area.sums);
    staged_close(&t);
}

// Chunks of a row that all reach over each other are not held without limit.
UNIT_TEST(what_is_left_out_is_said)
{
    enum { CHUNKS = 140, EACH = 8191 };
    staged t;
    made_begin(&t.m, 0);
    const int64_t all = (int64_t)CHUNKS * EACH * 10;
    for (int64_t i = 0; i < CHUNKS; i++) {
        for (int64_t k = 0; k < EACH; k++)
            made_zone(&t.m, HOST, "x", 1000 + (i * EACH + k) * 10,
                      1005 + (i * EACH + k) * 10);
        // The last of its chunk reaches over all chunks.
        made_zone(&t.m, HOST, "around", CHUNKS - i, all + 2000 + i);
    }
    made_read(&t.m);
    assert_int_equal(TS_OK, scene_open(&t.s, t.m.reader));
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    scene_area_sums area;
    for (bool behind = true; behind; behind = area.share.behind) {
        assert_int_equal(TS_OK,
                         scene_area(t.s, &row, 1, 0, all + 5000, 1000, &area));
        assert_true(t.s->surveys[SURVEY_SUMS][0]->pending < (1 << 20) + 8192);
        if (area.share.behind) free(area.sums);
    }
    assert_int_equal(CHUNKS * (EACH + 1), area.share.events);
    assert_true(area.share.counted < area.share.events);
    assert_int_equal(area.share.counted, area.boxes);
    free(area.sums);
    staged_close(&t);
}

// A zone that ended before the area is the last of its lane; no sum is of it.
UNIT_TEST(a_zone_that_ended_before_the_area_is_left_alone)
{
    enum { NAMES = 1000 };
    staged t;
    char name[32];
    made_begin(&t.m, 0);
    made_zone(&t.m, HOST, "late", -3 * NAMES, 1 - 3 * NAMES);
    for (int64_t i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "zone %d", (int)i);
        made_zone(&t.m, HOST, name, i - 2 * NAMES, i + 1 - 2 * NAMES);
    }
    made_zone(&t.m, HOST, "early", 0, 10);
    made_zone(&t.m, HOST, "late", 5, 20);
    staged_open(&t);
    assert_true(scene_load(t.s, -3 * NAMES, 100));
    const uint32_t rows[] = { staged_row(&t, SCENE_ZONES, HOST, 0),
                              staged_row(&t, SCENE_ZONES, HOST, 1) };
    scene_area_sums area;
    assert_int_equal(TS_OK, scene_area(t.s, rows, 2, 12, 30, 10, &area));
    assert_int_equal(1, area.boxes);
    assert_string_equal("late", staged_label(&t, area.sums[0].label));
    assert_int_equal(8, area.sums[0].total_ns);
    assert_int_equal(8, area.sums[0].self_ns);
    free(area.sums);
    staged_close(&t);
}

static scene_area_sums area_of_row(staged *t, uint32_t row, int64_t from_ns,
                                   int64_t to_ns)
{
    scene_area_sums area;
    assert_int_equal(TS_OK,
                     scene_area(t->s, &row, 1, from_ns, to_ns, 10, &area));
    assert_false(area.share.behind);
    free(area.sums);
    return area;
}

// A copy that ended before the area takes the first lane of a stream while a
// kernel begins, which enters the area; or it ended before that, and is not
// decoded.
static void expect_lane(int64_t copy_end_ns, uint32_t lane, uint64_t events)
{
    staged t;
    made_begin(&t.m, 0);
    made_operation(&t.m, TS_EVENT_MEMCPY, S0, 0, copy_end_ns, NULL, 0);
    made_kernel(&t.m, S0, "k", 5, 30);
    staged_open(&t);
    for (uint32_t part = 0; part <= lane; part++) {
        const uint32_t row = staged_row(&t, SCENE_WORK, S0, part);
        scene_area_sums area = area_of_row(&t, row, 20, 30);
        assert_int_equal(part == lane, area.boxes);
        assert_int_equal(events, area.share.events);
        assert_int_equal(events, area.share.counted);
        area = area_of_row(&t, row, 50, 60);
        assert_int_equal(0, area.share.events);
    }
    staged_close(&t);
}

UNIT_TEST(an_operation_counts_for_its_own_lane)
{
    expect_lane(10, 1, 2);
    expect_lane(5, 0, 1);
}

UNIT_TEST(computed_rows_are_counted_from_their_first_box)
{
    staged t;
    ts_path path;
    size_t rows = 0;
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < 4; i++)
        made_launch(&t.m, S0, "k", 100 * i, 100 * i + 20, 100 * i + 50);
    staged_open(&t);
    assert_true(scene_load(t.s, 0, 1000));
    assert_int_equal(TS_OK, scene_path(t.s, &path));
    for (uint32_t i = 0; i < scene_row_count(t.s); i++) {
        const scene_row *const row = scene_row_at(t.s, i);
        if (row->type != SCENE_PATH && row->type != SCENE_DEVICE) continue;
        assert_int_equal(row->count, area_of_row(&t, i, -1000, 9999).boxes);
        rows += row->part > 0;
    }
    assert_true(rows > 0);
    staged_close(&t);
}

// Of many names the largest are kept, and all are counted.
UNIT_TEST(the_largest_of_many_names_are_listed)
{
    enum { NAMES = 3000, MOST = 50 };
    staged t;
    char name[32];
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < NAMES; i++) {
        snprintf(name, sizeof name, "zone %d", (int)i);
        made_zone(&t.m, HOST, name, 10000 * i, 10000 * i + i * 1237 % NAMES);
    }
    staged_open(&t);
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    scene_area_sums area;
    assert_int_equal(TS_OK,
                     scene_area(t.s, &row, 1, 0, 10000 * NAMES, MOST, &area));
    assert_int_equal(NAMES, area.count);
    assert_int_equal(NAMES, area.boxes);
    assert_int_equal(MOST, area.kept);
    for (int64_t i = 0; i < MOST; i++)
        assert_int_equal(NAMES - 1 - i, area.sums[i].total_ns);
    free(area.sums);
    staged_close(&t);
}

// Percentiles are near those of a sorted list.
UNIT_TEST(percentiles_are_at_most_a_thousandth_too_small)
{
    enum { COUNT = 1000 };
    staged t;
    scene_histogram *const h = malloc(sizeof *h);
    scene_item item;
    assert_non_null(h);
    made_begin(&t.m, 0);
    for (int64_t i = 0; i < COUNT; i++) // lengths rise
        made_zone(&t.m, HOST, "x", 10000000 * i, 10000000 * i + 7919 * (i + 1));
    staged_open(&t);
    const uint32_t row = staged_row(&t, SCENE_ZONES, HOST, 0);
    assert_true(scene_pick(t.s, row, 0, 0, &item));
    assert_int_equal(TS_OK, scene_histogram_of(t.s, h, item.label, &row, 1, 0,
                                               (int64_t)COUNT * 10000000));
    assert_int_equal(COUNT, h->count);
    const int64_t p50 = 7919 * 500, p90 = 7919 * 900, p99 = 7919 * 990;
    assert_in_range(h->p50_ns, p50 - p50 / 1000, p50);
    assert_in_range(h->p90_ns, p90 - p90 / 1000, p90);
    assert_in_range(h->p99_ns, p99 - p99 / 1000, p99);
    free(h);
    staged_close(&t);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
