/*
    survey.c - what an area holds, chunk by chunk: see survey.h
*/
#include "tools/studio/scene/survey.h"

// Boxes that are held until their order is known; boxes that are given lanes
// at once.
enum { MOST_PENDING = 1 << 20, FEWEST = 16 << 10 };

/* ---- The question -------------------------------------------------------- */

static uint64_t track_key(scene_row_type type, uint32_t track)
{
    return (uint64_t)type << 32 | track;
}

static void drop_tracks(survey *q)
{
    for (size_t i = 0; i < q->track_count; i++) {
        free(q->tracks[i].lanes);
        free(q->tracks[i].ends);
    }
    q->track_count = 0;
    scene_gather_drop(&q->gathering);
}

static void survey_close(survey *q)
{
    if (!q) return;
    drop_tracks(q);
    q->kind->close(q);
    ts_columns_close(q->s->reader, &q->columns);
    cli_map_close(&q->tracks_asked);
    free(q->tracks);
    free(q->rows);
    free(q->asked);
    free(q->todo);
    free(q);
}

// Notes the rows that are asked for. False without memory.
static bool note_rows(survey *q, const uint32_t *rows, size_t count)
{
    q->row_count = count;
    q->known_rows = q->s->row_count;
    q->rows = malloc((count + 1) * sizeof *q->rows);
    q->asked = calloc(q->known_rows + 1, sizeof *q->asked);
    if (!q->rows || !q->asked) return false;
    if (count) memcpy(q->rows, rows, count * sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        if (rows[i] >= q->known_rows || q->s->rows[rows[i]].samples) continue;
        const scene_row *const row = &q->s->rows[rows[i]].pub;
        if (q->kind->wants && !q->kind->wants(q, row)) continue;
        q->asked[rows[i]] = q->any[row->type] = true;
        if (!cli_map_set(&q->tracks_asked, track_key(row->type, row->track), 1))
            return false;
    }
    return true;
}

static survey *survey_open(scene *s, const survey_question *question)
{
    survey *const q = calloc(1, sizeof *q);
    if (!q) return NULL;
    *q = (survey){ .s = s,
                   .kind = question->kind,
                   .from_ns = scene_near(question->from_ns),
                   .to_ns = scene_near(question->to_ns),
                   .what = question->what,
                   .reach_ns = scene_near(question->from_ns),
                   .gathering = { .s = s },
                   .flush_at = FEWEST };
    if (note_rows(q, question->rows, question->row_count) && q->kind->open(q))
        return q;
    survey_close(q);
    return NULL;
}

static bool is_same(const survey *q, const survey_question *question)
{
    return q->from_ns == scene_near(question->from_ns) &&
           q->to_ns == scene_near(question->to_ns) &&
           q->what == question->what && q->row_count == question->row_count &&
           (!q->row_count ||
            !memcmp(q->rows, question->rows, q->row_count * sizeof *q->rows));
}

/* ---- Chunks -------------------------------------------------------------- */

static bool is_wanted(const survey *q, const scene_chunk *chunk,
                      scene_row_type type)
{
    if (type == SCENE_COUNTER || !q->any[type]) return false;
    // What begins or ends a frame or a span may lie anywhere.
    if (type == SCENE_FRAMES) return true;
    return chunk->first_ns < q->to_ns &&
           (type == SCENE_WORK || chunk->last_ns >= q->from_ns) &&
           (chunk->track == TS_TRACK_MIXED ||
            cli_map_find(&q->tracks_asked, track_key(type, chunk->track)));
}

static survey_turn turn_of(const survey *q, const scene_chunk *chunk,
                           scene_row_type type)
{
    if (type != SCENE_WORK) return SURVEY_FOLLOWS;
    if (chunk->last_ns < q->from_ns) return SURVEY_BEFORE;
    return chunk->first_ns < q->from_ns ? SURVEY_ENTERS : SURVEY_FOLLOWS;
}

static int by_group(const void *left, const void *right)
{
    const survey_chunk *const a = left, *const b = right;
    if (a->group != b->group) return a->group < b->group ? -1 : 1;
    if (a->turn != b->turn) return a->turn < b->turn ? -1 : 1;
    if (a->first_ns != b->first_ns) return a->first_ns < b->first_ns ? -1 : 1;
    return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

// Lists the chunks of the area, and those before it that may have to be decoded
// for it. A chunk with boxes of several tracks joins those of its type to one
// group. False without memory.
static bool list_chunks(survey *q)
{
    const scene *const s = q->s;
    bool mixed[SCENE_ROW_LIMIT] = { [SCENE_FRAMES] = true };
    free(q->todo);
    q->todo = malloc((s->chunk_count + 1) * sizeof *q->todo);
    q->todo_count = q->next = 0;
    q->events = q->counted = 0;
    q->chunk_count = s->chunk_count;
    if (!q->todo) return false;
    for (size_t i = 0; i < s->chunk_count; i++)
        if (s->chunks[i].track == TS_TRACK_MIXED)
            mixed[scene_row_of_kind((ts_event_kind)s->chunks[i].event)] = true;
    for (size_t i = 0; i < s->chunk_count; i++) {
        const scene_chunk *const chunk = &s->chunks[i];
        const scene_row_type type =
            scene_row_of_kind((ts_event_kind)chunk->event);
        if (!is_wanted(q, chunk, type)) continue;
        const survey_turn turn = turn_of(q, chunk, type);
        q->todo[q->todo_count++] =
            (survey_chunk){ track_key(type, mixed[type] ? 0 : chunk->track),
                            turn, chunk->first_ns, (uint32_t)i };
        if (turn != SURVEY_BEFORE) q->events += chunk->count;
    }
    if (q->todo_count) qsort(q->todo, q->todo_count, sizeof *q->todo, by_group);
    return true;
}

/* ---- Boxes --------------------------------------------------------------- */

// What lies deeper than any row there is counts for the deepest.
static uint32_t row_of_lane(const survey *q, const survey_track *t,
                            uint32_t lane)
{
    for (;; lane--) {
        const uint32_t row =
            scene_row_known(q->s, t->type, t->track, t->part + lane);
        if (row < q->known_rows) return q->asked[row] ? row : CLI_NONE;
        if (!lane) return CLI_NONE;
    }
}

static int64_t within(const survey *q, int64_t ns)
{
    return ns < q->from_ns ? q->from_ns : ns > q->to_ns ? q->to_ns : ns;
}

// Takes the next box of a track.
static bool meet(survey *q, survey_track *t, scene_item *item)
{
    const uint32_t before = t->count;
    if (!cli_grow(&t->ends, &t->end_room, before + 1, sizeof *t->ends) ||
        !cli_grow(&t->lanes, &t->lane_room, before + 1, sizeof *t->lanes))
        return false;
    const uint32_t lane = scene_lane_of(t->ends, &t->count, item);
    survey_lane *const l = &t->lanes[lane];
    if (t->count > before) l->row = row_of_lane(q, t, lane);
    l->from_ns = within(q, item->start_ns);
    l->to_ns = within(q, item->end_ns);
    l->label = item->label;
    l->node = CLI_NONE;
    return item->start_ns >= q->to_ns ||
           (item->start_ns < q->from_ns && item->end_ns <= q->from_ns) ||
           q->kind->take(q, t, lane, item);
}

// The tracks of the buckets that the gathering has. False without memory.
static bool make_tracks(survey *q)
{
    const size_t count = q->gathering.count;
    if (!cli_grow(&q->tracks, &q->track_room, count, sizeof *q->tracks))
        return false;
    for (; q->track_count < count; q->track_count++) {
        const scene_bucket *const b = &q->gathering.buckets[q->track_count];
        const uint64_t key = track_key(b->type, b->track);
        q->tracks[q->track_count] =
            (survey_track){ .type = b->type,
                            .track = b->track,
                            .asked =
                                cli_map_find(&q->tracks_asked, key) != NULL };
    }
    return true;
}

// Gives lanes to the boxes of a bucket that begin before a time; no chunk has
// an earlier one any more. False without memory.
static bool flush_bucket(survey *q, size_t at, int64_t until_ns)
{
    scene_bucket *const b = &q->gathering.buckets[at];
    size_t i = 0;
    if (!q->tracks[at].asked) b->count = 0; // in chunks with those that are
    if (!scene_bucket_complete(&q->gathering, b)) return false;
    for (; i < b->count && b->items[i].start_ns < until_ns; i++)
        if (!meet(q, &q->tracks[at], &b->items[i])) return false;
    b->count -= i;
    if (b->count) memmove(b->items, b->items + i, b->count * sizeof *b->items);
    return true;
}

static void flush(survey *q, int64_t until_ns)
{
    bool ok = make_tracks(q);
    q->pending = 0;
    for (size_t i = 0; ok && i < q->gathering.count; i++) {
        // Moments become intervals when all are there.
        if (q->gathering.buckets[i].type != SCENE_FRAMES ||
            until_ns > SCENE_FAR)
            ok = flush_bucket(q, i, until_ns);
        q->pending += q->gathering.buckets[i].count;
    }
    q->flush_at = 2 * q->pending > FEWEST ? 2 * q->pending : FEWEST;
    q->failed = q->failed || !ok;
}

// Boxes that were computed are rows already.
static bool take_rows(survey *q)
{
    for (size_t i = 0; i < q->known_rows; i++) {
        const strip *const r = &q->s->rows[i];
        survey_track t = { .type = r->pub.type,
                           .track = r->pub.track,
                           .part = r->pub.part };
        bool ok = true;
        if (!q->asked[i] || (t.type != SCENE_DEVICE && t.type != SCENE_GHOST &&
                             t.type != SCENE_PATH))
            continue;
        for (size_t k = 0; ok && k < r->count; k++) {
            scene_item item = r->items[k];
            ok = meet(q, &t, &item);
        }
        free(t.lanes);
        free(t.ends);
        if (!ok) return false;
    }
    return true;
}

/* ---- In slices ----------------------------------------------------------- */

static void note_reach(survey *q, const ts_columns *c)
{
    for (uint32_t i = 0; i < c->count; i++) {
        const int64_t start = scene_near(c->start_ns[i]);
        if (start < q->reach_ns &&
            start + scene_near(c->duration_ns[i]) > q->from_ns)
            q->reach_ns = start;
    }
}

static void take_chunk(survey *q, const survey_chunk *one)
{
    const scene_chunk *const chunk = &q->s->chunks[one->chunk];
    ts_columns *const c = &q->columns;
    if (one->turn == SURVEY_BEFORE) q->events += chunk->count;
    if (q->pending > MOST_PENDING ||
        ts_reader_decode(q->s->reader, chunk->index, c) != TS_OK)
        return; // the share says so
    if (one->turn == SURVEY_ENTERS) note_reach(q, c);
    scene_gather_columns(&q->gathering, c);
    q->pending += c->count;
    q->counted += c->count;
    q->failed = q->failed || q->gathering.failed;
}

static bool is_needed(const survey *q, const survey_chunk *one)
{
    return one->turn != SURVEY_BEFORE ||
           q->s->chunks[one->chunk].last_ns > q->reach_ns;
}

static void advance(survey *q)
{
    const scene *const s = q->s;
    for (uint64_t read = 0;
         q->next < q->todo_count && !q->failed && read < s->limits.survey;) {
        const survey_chunk *const one = &q->todo[q->next++];
        const bool last =
            q->next == q->todo_count || one[1].group != one->group;
        if (is_needed(q, one)) {
            read += s->chunks[one->chunk].count;
            take_chunk(q, one);
        }
        if (last) {
            flush(q, INT64_MAX);
            drop_tracks(q);
            q->reach_ns = q->from_ns;
        } else if (q->pending >= q->flush_at && one[1].turn == SURVEY_FOLLOWS) {
            flush(q, one[1].first_ns);
        }
    }
    ts_columns_close(s->reader, &q->columns);
}

static void begin(survey *q)
{
    q->begun = true;
    q->failed = !list_chunks(q) || !take_rows(q);
}

// Whether what was counted is still what there is.
static bool is_current(survey *q)
{
    const uint64_t counted = q->counted, events = q->events;
    const size_t listed = q->todo_count;
    if (!q->begun || q->next < q->todo_count) return true;
    if (q->known_rows != q->s->row_count) return false;
    if (q->chunk_count == q->s->chunk_count) return true;
    if (!list_chunks(q) || q->todo_count != listed) return false;
    q->next = q->todo_count;
    q->counted = counted;
    q->events = events;
    return true;
}

// Moves the survey of a question to the front, in place of the last if there is
// none; NULL there if it has to be begun.
static survey **find_survey(scene *s, const survey_question *question)
{
    survey **const list = s->surveys[question->slot];
    size_t at = 0;
    while (at < SCENE_ASKERS && !(list[at] && is_same(list[at], question)))
        at++;
    const bool known = at < SCENE_ASKERS && is_current(list[at]);
    if (at == SCENE_ASKERS) at--;
    survey *const found = known ? list[at] : NULL;
    if (!known) survey_close(list[at]);
    memmove(list + 1, list, at * sizeof *list);
    *list = found;
    return list;
}

survey *scene_survey(scene *s, const survey_question *question,
                     scene_share *share)
{
    survey **const slot = find_survey(s, question);
    *share = (scene_share){ .behind = true };
    if (!*slot) *slot = survey_open(s, question);
    survey *const q = *slot;
    if (!q) return NULL;
    if (!s->table_read) scene_table_work(s);
    if (s->table_read && !q->begun) begin(q);
    if (q->begun) advance(q);
    if (q->failed) {
        survey_close(q);
        return *slot = NULL;
    }
    *share =
        (scene_share){ q->counted, q->events,
                       q->begun ? q->next < q->todo_count : !s->table_failed };
    return q;
}

void scene_surveys_close(scene *s)
{
    for (size_t i = 0; i < SCENE_SURVEYS; i++)
        for (size_t k = 0; k < SCENE_ASKERS; k++) {
            survey_close(s->surveys[i][k]);
            s->surveys[i][k] = NULL;
        }
}
