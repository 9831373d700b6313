/*
    pictures.c - rows drawn from stored pictures, without their events

    A source is what pictures there are of one kind of events on a row: a
    picture of all of them in the top of the index, and 16 cells for each chunk
    in the index. Levels above make the cost of a view depend on its pixels: a
    cell of a level covers FEW of the level below.

    Chunks are in the order in which events ended, so that one with a zone that
    contains others spans those before it. Chunks of a source do not overlap:
    one that does goes to the next source, as its cells would be spread over
    those of its neighbours. LANES sources are enough for what nests; the last
    takes the rest, in order of time.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/search.h"

enum { FEW = 8, LANES = 16 };

/* ---- Sources ------------------------------------------------------------- */

static scene_source *add_source(strip *r, uint8_t event, bool shared)
{
    if (!cli_grow(&r->sources, &r->source_room, r->source_count + 1,
                  sizeof *r->sources))
        return NULL;
    scene_source *const source = &r->sources[r->source_count++];
    *source = (scene_source){ .event = event, .shared = shared };
    return source;
}

scene_source *scene_source_get(strip *r, uint8_t event, bool shared)
{
    for (size_t i = 0; i < r->source_count; i++)
        if (r->sources[i].event == event && r->sources[i].shared == shared)
            return &r->sources[i];
    return add_source(r, event, shared);
}

// The first source whose chunks end before a chunk, or the last of LANES.
static scene_source *source_for(const scene *s, strip *r,
                                const scene_chunk *chunk)
{
    scene_source *last = NULL;
    int lanes = 0;
    for (size_t i = 0; i < r->source_count && lanes < LANES; i++) {
        scene_source *const source = &r->sources[i];
        if (source->event != chunk->event || source->shared) continue;
        last = source;
        lanes++;
        const size_t count = source->chunk_count;
        if (!count ||
            s->chunks[source->chunks[count - 1]].last_ns <= chunk->first_ns)
            return source;
    }
    if (lanes < LANES) return add_source(r, chunk->event, false);
    last->unsorted = true;
    return last;
}

bool scene_level_add(scene_level *level, const scene_cell *cell)
{
    if (!cli_grow(&level->cells, &level->room, level->count + 1,
                  sizeof *level->cells))
        return false;
    level->cells[level->count] = *cell;
    int64_t *const reach = &level->cells[level->count].reach_ns;
    *reach = cell->end_ns;
    if (level->count && level->cells[level->count - 1].reach_ns > *reach)
        *reach = level->cells[level->count - 1].reach_ns;
    level->count++;
    return true;
}

void scene_sources_close(strip *r)
{
    for (size_t i = 0; i < r->source_count; i++) {
        free(r->sources[i].chunks);
        free(r->sources[i].top.cells);
        free(r->sources[i].covered);
        free(r->sources[i].covered_at);
        for (int k = 0; k < SCENE_LEVELS; k++)
            free(r->sources[i].levels[k].cells);
    }
    free(r->sources);
    r->sources = NULL;
    r->source_count = r->source_room = 0;
}

/* ---- Cells --------------------------------------------------------------- */

uint32_t scene_picture_label(scene *s, uint8_t event, uint32_t id)
{
    uint32_t kind = event;
    if (kind == TS_EVENT_KERNEL) {
        const ts_launch_entry *const l = ts_reader_launch(s->reader, id);
        id = l ? l->name : 0;
    }
    if (kind == TS_EVENT_ZONE_OPEN) kind = TS_EVENT_ZONE;
    return scene_label_of(s, kind, id);
}

static int64_t part_of(int64_t ns, uint32_t share)
{
    const int64_t busy = (int64_t)((double)ns * share / 65535);
    return share && !busy ? 1 : busy;
}

void scene_cell_join(scene_cell *to, const scene_cell *cell, bool samples,
                     int64_t *most_ns)
{
    if (cell->start_ns < to->start_ns) to->start_ns = cell->start_ns;
    if (cell->end_ns > to->end_ns) to->end_ns = cell->end_ns;
    to->count = to->count + cell->count < to->count ? UINT32_MAX
                                                    : to->count + cell->count;
    if (samples) {
        if (!(to->low <= cell->low)) to->low = cell->low;
        if (!(to->high >= cell->high)) to->high = cell->high;
        return;
    }
    scene_add_ns(&to->busy_ns, cell->busy_ns);
    if (cell->label == CLI_NONE || cell->busy_ns < *most_ns) return;
    *most_ns = cell->busy_ns;
    to->label = cell->label;
}

static bool join_few(scene_level *to, const scene_cell *cells, size_t count,
                     bool samples)
{
    scene_cell one = cells[0];
    int64_t most_ns = samples ? 0 : one.busy_ns;
    for (size_t i = 1; i < count; i++)
        scene_cell_join(&one, &cells[i], samples, &most_ns);
    return scene_level_add(to, &one);
}

/* ---- Chunks -------------------------------------------------------------- */

static scene_cell empty_cell(const strip *r, const scene_chunk *chunk,
                             uint32_t at)
{
    const double width =
        (double)(chunk->last_ns - chunk->first_ns) / TS_LOD_CELLS;
    scene_cell cell = { .start_ns = chunk->first_ns + (int64_t)(width * at),
                        .end_ns = chunk->first_ns + (int64_t)(width * (at + 1)),
                        .label = CLI_NONE };
    if (r->samples) cell.low = cell.high = NAN;
    return cell;
}

static void stored_cells(scene *s, const strip *r, const scene_chunk *chunk,
                         const ts_lod_cell *lod, scene_cell *cells)
{
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++) {
        scene_cell *const cell = &cells[i];
        *cell = empty_cell(r, chunk, i);
        cell->count = lod[i].count;
        if (r->samples) {
            cell->low = lod[i].min;
            cell->high = lod[i].max;
            continue;
        }
        cell->busy_ns = part_of(cell->end_ns - cell->start_ns, lod[i].busy);
        if (lod[i].count || lod[i].busy)
            cell->label = scene_picture_label(s, chunk->event, lod[i].id);
    }
}

// The cell of a time.
static uint32_t cell_of(const scene_chunk *chunk, int64_t time_ns)
{
    const double span = (double)(chunk->last_ns - chunk->first_ns) + 1;
    const double at = (double)(time_ns - chunk->first_ns) / span * TS_LOD_CELLS;
    return at < 0 ? 0 : at < TS_LOD_CELLS ? (uint32_t)at : TS_LOD_CELLS - 1;
}

// Adds what an event covers; a cell has the label of what covers most of it.
static void take_busy(scene_cell *cells, const scene_chunk *chunk,
                      int64_t start_ns, int64_t end_ns, uint32_t label,
                      int64_t *most_ns)
{
    const uint32_t last = cell_of(chunk, end_ns);
    for (uint32_t i = cell_of(chunk, start_ns); i <= last; i++) {
        const int64_t a =
            start_ns > cells[i].start_ns ? start_ns : cells[i].start_ns;
        const int64_t b = end_ns < cells[i].end_ns ? end_ns : cells[i].end_ns;
        if (b < a) continue;
        scene_add_ns(&cells[i].busy_ns, b - a);
        if (cells[i].label != CLI_NONE && b - a <= most_ns[i]) continue;
        most_ns[i] = b - a;
        cells[i].label = label;
    }
}

// Takes events from the last to the first to end, so that what lies inside of
// others, or before them, adds only what they leave free.
static void take_events(scene *s, const scene_chunk *chunk, const ts_columns *c,
                        scene_cell *cells)
{
    int64_t free_ns = INT64_MAX, most_ns[TS_LOD_CELLS] = { 0 };
    for (uint32_t i = c->count; i-- > 0;) {
        const int64_t start = scene_near(c->start_ns[i]);
        const int64_t ns = scene_near(c->duration_ns[i]);
        int64_t end = chunk->event == TS_EVENT_ZONE_OPEN
                          ? chunk->last_ns
                          : scene_near(start + (ns > 0 ? ns : 0));
        if (end > free_ns) end = free_ns;
        cells[cell_of(chunk, start)].count++;
        if (start >= free_ns) continue;
        const uint32_t label = scene_label_row(s, c, i);
        take_busy(cells, chunk, start, end, label, most_ns);
        free_ns = start;
    }
}

static void take_samples(const scene_chunk *chunk, const ts_columns *c,
                         scene_cell *cells)
{
    double value;
    for (uint32_t i = 0; i < c->count; i++) {
        scene_cell *const cell = &cells[cell_of(chunk, c->start_ns[i])];
        if (!scene_sample(c, i, &value)) continue;
        cell->count++;
        if (!(cell->low <= (float)value)) cell->low = (float)value;
        if (!(cell->high >= (float)value)) cell->high = (float)value;
    }
}

// Gets the stored cells of a chunk. False: there are none. Those of zones that
// never ended do not reach to the end of the trace.
static bool stored(scene *s, const strip *r, const scene_chunk *chunk,
                   scene_cell cells[TS_LOD_CELLS])
{
    ts_lod_cell lod[TS_LOD_CELLS];
    if (chunk->event == TS_EVENT_ZONE_OPEN ||
        !ts_reader_lod(s->reader, chunk->index, lod))
        return false;
    stored_cells(s, r, chunk, lod, cells);
    return true;
}

// A chunk with the times that a picture of it has: open zones last to the end.
static scene_chunk pictured(const scene *s, const scene_chunk *chunk)
{
    const int64_t last = scene_near(ts_reader_info(s->reader)->last_ns);
    scene_chunk made = *chunk;
    if (made.event == TS_EVENT_ZONE_OPEN)
        made.last_ns = last > made.first_ns ? last : made.first_ns;
    return made;
}

// Whether something covers a cell that it does not begin in. Stored pictures
// have names of what begins in a cell only.
static bool is_covered(const strip *r, const scene_cell *cells)
{
    for (uint32_t i = 0; i < TS_LOD_CELLS && !r->samples; i++)
        if (cells[i].busy_ns && !cells[i].count) return true;
    return false;
}

// The cells of a chunk. One without a stored picture that does is decoded, as
// in a trace that is being written or whose writer died. *cost: of what it
// took. Returns whether the labels are not the stored ones.
static bool chunk_cells(scene *s, const strip *r, const scene_chunk *from,
                        scene_cell cells[TS_LOD_CELLS], uint64_t *cost)
{
    const scene_chunk of = pictured(s, from), *const chunk = &of;
    *cost += TS_LOD_CELLS;
    const bool known = stored(s, r, chunk, cells);
    if (known && !is_covered(r, cells)) return false;
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++)
        cells[i] = empty_cell(r, chunk, i);
    *cost += chunk->count;
    ts_columns *const columns = &s->pictured;
    if (ts_reader_decode(s->reader, chunk->index, columns) != TS_OK)
        return false;
    if (r->samples)
        take_samples(chunk, columns, cells);
    else
        take_events(s, chunk, columns, cells);
    return known;
}

/* ---- Levels -------------------------------------------------------------- */

// Notes the labels of the chunk before source->next, if they are not the stored
// ones. False without memory.
static bool keep_labels(scene_source *source, const scene_cell *cells,
                        bool other)
{
    if (!cli_grow(&source->covered_at, &source->covered_at_room, source->next,
                  sizeof *source->covered_at) ||
        !cli_grow(&source->covered, &source->covered_room,
                  source->covered_count + 1, sizeof *source->covered))
        return false;
    source->covered_at[source->next - 1] =
        other ? (uint32_t)source->covered_count : CLI_NONE;
    if (!other) return true;
    scene_cell_labels *const to = &source->covered[source->covered_count++];
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++)
        to->labels[i] = cells[i].label;
    return true;
}

// Adds a chunk to the lowest level. False without memory.
static bool build_chunk(scene *s, const strip *r, scene_source *source,
                        uint64_t *cost)
{
    scene_cell cells[TS_LOD_CELLS];
    const uint32_t at = source->chunks[source->next++];
    const bool other = chunk_cells(s, r, &s->chunks[at], cells, cost);
    if (!keep_labels(source, cells, other)) return false;
    for (size_t k = 0; k < TS_LOD_CELLS; k += FEW)
        if (!join_few(&source->levels[0], cells + k, FEW, r->samples))
            return false;
    return true;
}

bool scene_levels_build(scene_source *source, bool samples)
{
    for (int i = 1; i < SCENE_LEVELS; i++) {
        const scene_level *const below = &source->levels[i - 1];
        source->levels[i].count = 0;
        for (size_t k = 0; k < below->count && below->count > FEW; k += FEW) {
            const size_t left = below->count - k;
            if (!join_few(&source->levels[i], below->cells + k,
                          left < FEW ? left : FEW, samples))
                return false;
        }
    }
    return true;
}

// Sorts the chunks of the last lane, and begins it again. False without memory.
static bool sort_chunks(const scene *s, scene_source *source)
{
    const size_t count = source->chunk_count;
    scene_begin *const order = malloc((count + 1) * sizeof *order);
    if (!order) return false;
    for (size_t i = 0; i < count; i++)
        order[i] =
            (scene_begin){ .first_ns = s->chunks[source->chunks[i]].first_ns,
                           .chunk = source->chunks[i] };
    qsort(order, count, sizeof *order, scene_begin_order);
    for (size_t i = 0; i < count; i++)
        source->chunks[i] = order[i].chunk;
    free(order);
    source->unsorted = false;
    source->next = 0;
    source->levels[0].count = 0;
    source->covered_count = 0;
    return true;
}

// Builds on; true when the levels are complete, or memory is out.
static bool build(scene *s, const strip *r, scene_source *source,
                  uint64_t *cost)
{
    if (source->built || source->shared) return true;
    bool ok = !source->unsorted || sort_chunks(s, source);
    while (ok && source->next < source->chunk_count && *cost < s->limits.slice)
        ok = build_chunk(s, r, source, cost);
    if (ok && source->next < source->chunk_count) return false;
    source->built = ok && scene_levels_build(source, r->samples);
    return true;
}

/* ---- Finding ------------------------------------------------------------- */

static bool add_streams(scene *s)
{
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(s->reader, i, &track); i++)
        if (track.type == TS_TRACK_STREAM &&
            !scene_row_get(s, SCENE_WORK, track.id, 0))
            return false;
    return true;
}

// Spans are on a row of the whole trace: they may end on other tracks.
static uint32_t track_of(const scene_chunk *chunk)
{
    return chunk->event == TS_EVENT_SPAN ? 0 : chunk->track;
}

static bool add_chunk(scene *s, size_t at)
{
    const scene_chunk *const chunk = &s->chunks[at];
    const scene_row_type type = scene_row_of_kind((ts_event_kind)chunk->event);
    if (chunk->track == TS_TRACK_MIXED && chunk->event != TS_EVENT_SPAN) {
        s->mixed = true;
        if (type != SCENE_WORK || s->has_streams) return true;
        s->has_streams = true;
        return add_streams(s);
    }
    strip *const r = scene_row_get(s, type, track_of(chunk), 0);
    scene_source *const source = r ? source_for(s, r, chunk) : NULL;
    if (!source || !cli_grow(&source->chunks, &source->chunk_room,
                             source->chunk_count + 1, sizeof *source->chunks))
        return false;
    source->chunks[source->chunk_count++] = (uint32_t)at;
    source->built = false;
    return true;
}

bool scene_sources_find(scene *s)
{
    for (; s->sourced < s->chunk_count; s->sourced++)
        if (!add_chunk(s, s->sourced)) return false;
    return true;
}

static bool add_top_cell(scene *s, strip *r, scene_source *source,
                         const ts_picture_cell *cell)
{
    scene_cell made = {
        .start_ns = scene_near(cell->start_ns),
        .end_ns = scene_near(cell->end_ns),
        .label = CLI_NONE,
        .count = (uint32_t)(cell->count < UINT32_MAX ? cell->count : UINT32_MAX)
    };
    if (r->samples) {
        made.low = cell->min;
        made.high = cell->max;
    } else {
        made.busy_ns = part_of(made.end_ns - made.start_ns, cell->busy);
        if (made.count || cell->busy)
            made.label = scene_picture_label(s, source->event, cell->id);
    }
    return scene_level_add(&source->top, &made);
}

static bool add_top(scene *s, size_t at, const ts_top_track *top)
{
    const scene_row_type type = scene_row_of_kind(top->kind);
    ts_picture_cell cell;
    if (!type) return true;
    if (top->track == TS_TRACK_MIXED)
        return type != SCENE_WORK || add_streams(s);
    const bool span = top->kind == TS_EVENT_SPAN;
    strip *const r = scene_row_get(s, type, span ? 0 : top->track, 0);
    scene_source *const source =
        !r     ? NULL
        : span ? add_source(r, (uint8_t)top->kind, false)
               : scene_source_get(r, (uint8_t)top->kind, false);
    if (!source) return false;
    for (size_t i = 0; ts_reader_top_cell(s->reader, at, i, &cell); i++) {
        if (!add_top_cell(s, r, source, &cell)) return false;
        const int64_t ns = scene_near(cell.end_ns - cell.start_ns);
        if (ns > s->top_cell_ns) s->top_cell_ns = ns;
    }
    return true;
}

bool scene_tops_find(scene *s)
{
    ts_top_track top;
    for (size_t i = 0; ts_reader_top(s->reader, i, &top); i++)
        if (top.kind < TS_EVENT_LIMIT && !add_top(s, i, &top)) return false;
    return true;
}

bool scene_pictures_work(scene *s)
{
    uint64_t cost = 0;
    while (s->row_built < s->row_count && cost < s->limits.slice) {
        const strip *const r = &s->rows[s->row_built];
        if (s->source_built == r->source_count) {
            s->row_built++;
            s->source_built = 0;
        } else if (build(s, r, &r->sources[s->source_built], &cost)) {
            s->source_built++;
        }
    }
    if (s->row_built == s->row_count) ts_columns_close(s->reader, &s->pictured);
    return cost > 0;
}

/* ---- Drawing ------------------------------------------------------------- */

typedef struct pen {
    scene *s;
    scene_view *v;
    double scale; // pixels for each nanosecond
    bool samples;
} pen;

// Of two that cover as much the later one shows: sources of chunks that contain
// others come later.
static void put_busy(const pen *p, uint32_t x, double busy, uint32_t label)
{
    scene *const s = p->s;
    const float near = 0.999f;
    s->pen_busy[x] += (float)busy;
    if (label == CLI_NONE) return;
    // Cells that follow each other are one box.
    s->pen_run[x] =
        (label == s->pen_label[x] ? s->pen_run[x] : 0) + (float)busy;
    s->pen_label[x] = label;
    if (s->pen_run[x] < s->pen_most[x] * near) return;
    s->pen_most[x] = s->pen_run[x];
    p->v->hue[x] = s->labels[label].hue;
}

static void put_sample(const pen *p, uint32_t x, const scene_cell *cell)
{
    if (!(cell->low <= cell->high)) return;
    if (!(p->v->low[x] <= cell->low)) p->v->low[x] = cell->low;
    if (!(p->v->high[x] >= cell->high)) p->v->high[x] = cell->high;
}

// Adds a cell to the pixels that it touches.
static void draw_cell(const pen *p, const scene_cell *cell)
{
    const scene_view *const v = p->v;
    double from = (double)(cell->start_ns - v->from_ns) * p->scale;
    double to = (double)(cell->end_ns - v->from_ns) * p->scale;
    if (!(to >= 0) || !(from < v->pixels)) return;
    const double share =
        to > from ? (double)cell->busy_ns * p->scale / (to - from) : 1;
    if (from < 0) from = 0;
    if (to > v->pixels) to = v->pixels;
    for (uint32_t x = (uint32_t)from; x < v->pixels; x++) {
        const double a = from > x ? from : x, b = to < x + 1 ? to : x + 1;
        if (b <= a && x > (uint32_t)from) break;
        if (p->samples)
            put_sample(p, x, cell);
        else if (cell->count || cell->busy_ns)
            put_busy(p, x, b > a ? (b - a) * share : 0, cell->label);
    }
}

// Cells of a level that may be in a view. Only the starts of every other cell
// of the lowest are in order, as chunks of the last lane overlap.
static size_t reaching(const scene_level *level, int64_t from_ns)
{
    size_t low = 0, high = level->count;
    while (low < high)
        cli_halve(&low, &high,
                  level->cells[cli_middle(low, high)].reach_ns <= from_ns);
    return low;
}

static size_t starting(const scene_level *level, size_t low, int64_t to_ns)
{
    size_t high = (level->count + 1) / 2;
    low /= 2;
    while (low < high)
        cli_halve(&low, &high,
                  level->cells[2 * cli_middle(low, high)].start_ns < to_ns);
    return 2 * low < level->count ? 2 * low : level->count;
}

static void draw_level(const pen *p, const scene_level *level)
{
    const size_t from = reaching(level, p->v->from_ns);
    const size_t to = starting(level, from, p->v->to_ns);
    for (size_t i = from; i < to; i++)
        if (level->cells[i].end_ns > p->v->from_ns &&
            level->cells[i].start_ns < p->v->to_ns)
            draw_cell(p, &level->cells[i]);
}

// Draws the cells of a chunk; without a stored picture, those of the level.
static void draw_chunk(const pen *p, const strip *r, const scene_source *source,
                       size_t at)
{
    scene *const s = p->s;
    const scene_chunk *const chunk = &s->chunks[source->chunks[at]];
    scene_cell cells[TS_LOD_CELLS];
    size_t count = TS_LOD_CELLS / FEW;
    const scene_cell *from = &source->levels[0].cells[at * count];
    if (stored(s, r, chunk, cells)) {
        const uint32_t covered = source->covered_at[at];
        for (size_t i = 0; i < TS_LOD_CELLS && covered != CLI_NONE; i++)
            cells[i].label = source->covered[covered].labels[i];
        from = cells;
        count = TS_LOD_CELLS;
    }
    for (size_t i = 0; i < count; i++)
        draw_cell(p, &from[i]);
}

// Draws the finest level of which few cells are in the view.
static void draw_source(const pen *p, const strip *r,
                        const scene_source *source)
{
    const size_t most = (size_t)2 * p->v->pixels;
    const scene_level *const first = &source->levels[0];
    size_t from = reaching(first, p->v->from_ns);
    size_t to = starting(first, from, p->v->to_ns);
    if (!source->shared && (to - from) * FEW <= most) {
        for (from /= 2, to = (to + 1) / 2; from < to; from++)
            draw_chunk(p, r, source, from);
        return;
    }
    int i = 0;
    while (i + 1 < SCENE_LEVELS && source->levels[i + 1].count &&
           (to - from) > most) {
        i++;
        from = reaching(&source->levels[i], p->v->from_ns);
        to = starting(&source->levels[i], from, p->v->to_ns);
    }
    draw_level(p, &source->levels[i]);
}

// Which streams work where a chunk is of several is not known before it was
// taken (streams.c). Pixels with such chunks are marked once for all rows of a
// view.
static void mark_mixed(const pen *p)
{
    scene *const s = p->s;
    const scene_view *const v = p->v;
    if (s->grey_from == v->from_ns && s->grey_to == v->to_ns &&
        s->grey_pixels == v->pixels && s->grey_next == s->stream_next)
        return;
    memset(s->grey, 0, v->pixels);
    s->grey_from = v->from_ns;
    s->grey_to = v->to_ns;
    s->grey_pixels = v->pixels;
    s->grey_next = s->stream_next;
    for (size_t i = scene_chunks_reaching(s, v->from_ns);
         i < s->chunk_count && s->begins[i].first_ns < v->to_ns; i++) {
        const scene_chunk *const chunk = &s->chunks[s->begins[i].chunk];
        if (chunk->track != TS_TRACK_MIXED ||
            scene_row_of_kind((ts_event_kind)chunk->event) != SCENE_WORK ||
            s->begins[i].chunk < s->stream_next)
            continue;
        const double from = (double)(chunk->first_ns - v->from_ns) * p->scale;
        const double to = (double)(chunk->last_ns - v->from_ns) * p->scale;
        if (to < 0 || from >= v->pixels) continue;
        for (uint32_t x = from < 0 ? 0 : (uint32_t)from;
             x < v->pixels && x <= to; x++)
            s->grey[x] = 1;
    }
}

static void draw_mixed(const pen *p)
{
    enum { GREY = 255 };
    const float faint = 0.25f;
    scene *const s = p->s;
    mark_mixed(p);
    for (uint32_t x = 0; x < p->v->pixels; x++)
        if (s->grey[x] && !p->v->hue[x])
            s->pen_busy[x] = faint, p->v->hue[x] = GREY;
}

// Nothing that is there is invisible.
static void finish(const pen *p)
{
    for (uint32_t x = 0; x < p->v->pixels; x++) {
        const float busy = p->s->pen_busy[x];
        if (p->v->hue[x])
            p->v->busy[x] = busy >= 1          ? 255
                            : busy > 1 / 255.f ? (uint8_t)(busy * 255)
                                               : 1;
    }
}

void scene_draw_pictures(scene *s, const strip *r, scene_view *v)
{
    const pen p = { s, v, v->pixels / (double)(v->to_ns - v->from_ns),
                    r->samples };
    memset(s->pen_busy, 0, v->pixels * sizeof *s->pen_busy);
    memset(s->pen_most, 0, v->pixels * sizeof *s->pen_most);
    memset(s->pen_label, 0xff, v->pixels * sizeof *s->pen_label);
    for (size_t i = 0; i < r->source_count; i++) {
        const scene_source *const source = &r->sources[i];
        if (source->built)
            draw_source(&p, r, source);
        else
            draw_level(&p,
                       source->top.count ? &source->top : &source->levels[0]);
    }
    if (r->pub.type == SCENE_WORK && scene_streams_behind(s)) draw_mixed(&p);
    finish(&p);
}
