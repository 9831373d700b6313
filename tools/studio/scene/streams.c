/*
    streams.c - pictures of streams, and of other tracks, that share chunks

    A chunk with operations of several streams has stored pictures of each, if
    they are few; else its operations are decoded, as are samples and marks.
    What a chunk tells of a track is joined to cells of at least
    scene.stream_cell_ns. As a trace grows, cells become wider: memory is
    bounded however many tracks and events there are.
*/
#include "tools/studio/scene/parts.h"

enum { CELLS_MIN = 64, CELLS_MAX = 4096 }; // of a stream, to begin with

static void choose_cell(scene *s)
{
    const ts_info *const info = ts_reader_info(s->reader);
    ts_track track;
    int64_t streams = 1, cells;
    for (size_t i = 0; ts_reader_track_at(s->reader, i, &track); i++)
        streams += track.type == TS_TRACK_STREAM;
    cells = (int64_t)s->limits.cells / streams;
    if (cells < CELLS_MIN) cells = CELLS_MIN;
    if (cells > CELLS_MAX) cells = CELLS_MAX;
    s->stream_cell_ns = scene_near(info->last_ns - info->first_ns) / cells + 1;
    s->stream_most = s->limits.cells;
}

// The place of a track's row and source, found again quickly.
static scene_source *source_of(scene *s, uint32_t track, uint8_t event)
{
    scene_stream *const known = &s->streams[track % SCENE_STREAMS];
    if (known->track != track || known->event != event) {
        const scene_row_type type = scene_row_of_kind((ts_event_kind)event);
        const strip *const r = scene_row_get(s, type, track, 0);
        scene_source *const source =
            r ? scene_source_get((strip *)(uintptr_t)r, event, true) : NULL;
        if (!source) return NULL;
        *known = (scene_stream){ track, event, (uint32_t)(r - s->rows),
                                 (uint32_t)(source - r->sources) };
    }
    return &s->rows[known->row].sources[known->source];
}

// Adds a cell, or joins it to the last one if that began shortly before. False
// without memory.
static bool put(scene_source *source, int64_t cell_ns, const scene_cell *cell)
{
    scene_level *const level = &source->levels[0];
    scene_cell *const last =
        level->count ? &level->cells[level->count - 1] : NULL;
    source->built = false;
    if (!last || cell->start_ns - last->start_ns >= cell_ns) {
        source->most_ns = cell->busy_ns;
        return scene_level_add(level, cell);
    }
    if (cell->start_ns < last->start_ns) last->start_ns = cell->start_ns;
    scene_cell_join(last, cell, source->event == TS_EVENT_COUNTER,
                    &source->most_ns);
    if (last->end_ns > last->reach_ns) last->reach_ns = last->end_ns;
    return true;
}

// Joins the cells of a source to wider ones. Returns how many are left.
static size_t widen_source(scene_source *source, int64_t cell_ns)
{
    scene_level *const level = &source->levels[0];
    const size_t count = level->count;
    level->count = 0;
    for (size_t i = 0; i < count; i++) {
        const scene_cell cell = level->cells[i];
        put(source, cell_ns, &cell); // there is room
    }
    return level->count;
}

// Joins the cells of all streams to ones of twice the width, until half of them
// are left. That many streams may have few cells each is allowed for.
static void widen(scene *s)
{
    const size_t most = s->stream_cells / 2;
    while (s->stream_cells > most && s->stream_cell_ns < SCENE_FAR) {
        s->stream_cell_ns *= 2;
        s->stream_cells = 0;
        for (size_t i = 0; i < s->row_count; i++)
            for (size_t k = 0; k < s->rows[i].source_count; k++)
                if (s->rows[i].sources[k].shared)
                    s->stream_cells +=
                        widen_source(&s->rows[i].sources[k], s->stream_cell_ns);
    }
    s->stream_most = 2 * s->stream_cells;
    if (s->stream_most < s->limits.cells) s->stream_most = s->limits.cells;
}

static bool take(scene *s, uint32_t track, uint8_t event,
                 const scene_cell *cell)
{
    scene_source *const source = source_of(s, track, event);
    if (!source) return false;
    const size_t before = source->levels[0].count;
    if (!put(source, s->stream_cell_ns, cell)) return false;
    s->stream_cells += source->levels[0].count - before;
    if (s->stream_cells > s->stream_most) widen(s);
    return true;
}

static bool take_picture(scene *s, const scene_chunk *chunk, uint32_t track,
                         const ts_lod_cell *lod, uint32_t cells)
{
    const double width = (double)(chunk->last_ns - chunk->first_ns) / cells;
    for (uint32_t i = 0; i < cells; i++) {
        if (!lod[i].count && !lod[i].busy) continue;
        const scene_cell cell = {
            .start_ns = chunk->first_ns + (int64_t)(width * i),
            .end_ns = chunk->first_ns + (int64_t)(width * (i + 1)),
            .busy_ns = (int64_t)(width * lod[i].busy / 65535),
            .label = scene_picture_label(s, chunk->event, lod[i].id),
            .count = lod[i].count
        };
        if (!take(s, track, chunk->event, &cell)) return false;
    }
    return true;
}

static bool take_pictures(scene *s, const scene_chunk *chunk)
{
    uint32_t track, events;
    ts_lod_cell lod[TS_LOD_CELLS];
    const ts_track_pictures *const p = &s->track_pictures;
    for (size_t i = 0; ts_track_picture(p, i, &track, &events, lod); i++)
        if (!take_picture(s, chunk, track, lod, p->cell_count)) return false;
    return true;
}

static uint64_t wanted_columns(ts_event_kind kind)
{
    const ts_column label = cli_label_column(kind);
    const uint64_t values = TS_COLUMN_BIT(VALUE) | TS_COLUMN_BIT(TYPE);
    return TS_COLUMN_BIT(START) | TS_COLUMN_BIT(DURATION) |
           TS_COLUMN_BIT(TRACK) | (label ? UINT64_C(1) << label : 0) |
           (kind == TS_EVENT_COUNTER ? values : 0);
}

// Makes the cell of an event. False: it is not drawn.
static bool cell_of(scene *s, const ts_columns *c, uint32_t row,
                    scene_cell *cell)
{
    const int64_t start = scene_near(c->start_ns[row]);
    const int64_t ns = scene_near(c->duration_ns[row]);
    double value;
    *cell = (scene_cell){ .start_ns = start,
                          .end_ns = scene_near(start + (ns > 0 ? ns : 0)),
                          .count = 1 };
    if (c->kind == TS_EVENT_COUNTER) {
        if (!scene_sample(c, row, &value)) return false;
        cell->low = cell->high = (float)value;
        cell->label = CLI_NONE;
        return true;
    }
    cell->busy_ns = ns > 0 ? ns : 0;
    cell->label = scene_label_row(s, c, row);
    return !scene_ends_span(c, row);
}

static bool take_events(scene *s, const scene_chunk *chunk)
{
    ts_columns *const c = &s->pictured;
    scene_cell cell;
    const uint64_t wanted = wanted_columns((ts_event_kind)chunk->event);
    if (ts_reader_decode_columns(s->reader, chunk->index, wanted, c) != TS_OK)
        return true; // damage is listed
    for (uint32_t i = 0; i < c->count; i++)
        if (cell_of(s, c, i, &cell) &&
            !take(s, c->tracks ? c->tracks[i] : c->track, chunk->event, &cell))
            return false;
    return true;
}

// Takes a chunk; *cost: about how many events that was worth.
static bool take_chunk(scene *s, const scene_chunk *chunk, uint64_t *cost)
{
    if (chunk->track != TS_TRACK_MIXED || chunk->event == TS_EVENT_SPAN)
        return true;
    if (ts_reader_track_pictures(s->reader, chunk->index, &s->track_pictures) ==
        TS_OK) {
        *cost += 64 + s->track_pictures.count * s->track_pictures.cell_count;
        return take_pictures(s, chunk);
    }
    *cost += chunk->count;
    return take_events(s, chunk);
}

static void finish(scene *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        for (size_t k = 0; k < s->rows[i].source_count; k++) {
            scene_source *const source = &s->rows[i].sources[k];
            if (source->shared && !source->built)
                source->built = scene_levels_build(source, s->rows[i].samples);
        }
    ts_columns_close(s->reader, &s->pictured);
    ts_track_pictures_close(s->reader, &s->track_pictures);
}

bool scene_streams_behind(const scene *s)
{
    return s->mixed && s->stream_next < s->chunk_count;
}

bool scene_streams_work(scene *s)
{
    enum { REDRAW = 32 }; // slices between two pictures of the progress
    uint64_t cost = 0;
    if (!s->stream_cell_ns) choose_cell(s);
    while (s->stream_next < s->chunk_count && cost < s->limits.slice)
        if (!take_chunk(s, &s->chunks[s->stream_next++], &cost))
            s->stream_next = s->chunk_count; // without memory
    if (scene_streams_behind(s)) return ++s->stream_slices % REDRAW == 0;
    finish(s);
    return true;
}

void scene_streams_close(scene *s)
{
    ts_track_pictures_close(s->reader, &s->track_pictures);
    memset(s->streams, 0, sizeof s->streams);
    s->stream_next = 0;
    s->stream_cell_ns = 0;
    s->stream_cells = 0;
}
