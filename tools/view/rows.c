/*
    rows.c - a timeline as rows of cells
*/
#include "tools/view/view.h"
#include "tools/cli/search.h"
#include <math.h>

static uint64_t row_key(view_row_type type, uint32_t track, uint32_t part)
{
    return (uint64_t)type << 60 | (uint64_t)(track & 0xFFFFFFF) << 32 | part;
}

static view_row *row_of(view_rows *rows, view_row_type type, uint32_t track,
                        uint32_t part)
{
    const uint64_t key = row_key(type, track, part);
    const uint32_t known = cli_map_row(&rows->index, key);
    if (known != CLI_NONE) return &rows->rows[known];
    rows->rows = view_resize(rows->rows, rows->count + 1, sizeof *rows->rows);
    view_row *const row = &rows->rows[rows->count];
    *row = (view_row){ .type = type, .track = track, .part = part };
    row->cells = view_resize(NULL, rows->columns, sizeof *row->cells);
    memset(row->cells, 0, rows->columns * sizeof *row->cells);
    view_map_set(&rows->index, key, (uint32_t)rows->count++);
    return row;
}

/* ---- Intervals ---------------------------------------------------------- */

// Keeps the event if it covers more of the cell than the kept one.
static void cell_take(view_cell *cell, int64_t part, int64_t start_ns,
                      int64_t end_ns, uint64_t key, bool waits)
{
    const bool better = !cell->key || (cell->key_waits && !waits) ||
                        (cell->key_waits == waits && part > cell->key_part_ns);
    if (!better) return;
    cell->key = key;
    cell->key_start_ns = start_ns;
    cell->key_part_ns = part;
    cell->key_ns = end_ns - start_ns;
    cell->key_waits = waits;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

// The start of the part of a row's next event that no earlier one covers.
// Events come in order of start; intervals and pictures do not, and may count
// twice.
static int64_t fresh_from(const view_rows *rows, view_row *row,
                          int64_t start_ns, int64_t end_ns, bool waits)
{
    int64_t *const until = &row->until_ns[waits];
    if (rows->coarse || row->type <= VIEW_ROW_SPANS) return start_ns;
    const int64_t fresh = clamp(*until, start_ns, end_ns);
    if (end_ns > *until) *until = end_ns;
    return fresh;
}

// Adds [start, end) to the cells that it touches.
static void cover(const view_rows *rows, view_row *row, int64_t start_ns,
                  int64_t end_ns, uint64_t key, bool waits)
{
    const view *const v = rows->v;
    const int64_t size = rows->cell_ns;
    const int64_t start = clamp(start_ns, v->from_ns, v->to_ns) - v->from_ns;
    const int64_t end = clamp(end_ns, v->from_ns, v->to_ns) - v->from_ns;
    const int64_t fresh = fresh_from(rows, row, start, end, waits);
    uint32_t c = (uint32_t)(start / size);
    row->count++;
    if (!waits)
        row->total_ns +=
            clamp(end, 0, rows->range_ns) - clamp(fresh, 0, rows->range_ns);
    if (c < rows->columns && start_ns >= v->from_ns) row->cells[c].count++;
    int64_t at = start;
    do {
        if (c >= rows->columns) break;
        const int64_t edge = (int64_t)(c + 1) * size;
        const int64_t stop = end < edge ? end : edge;
        view_cell *const cell = &row->cells[c++];
        cell_take(cell, stop - at, start_ns, end_ns, key, waits);
        *(waits ? &cell->wait_ns : &cell->busy_ns) +=
            stop - clamp(fresh, at, stop);
        at = stop;
    } while (at < end);
}

static void sample(const view_rows *rows, view_row *row, int64_t at_ns,
                   double value)
{
    const view *const v = rows->v;
    if (at_ns < v->from_ns) {
        if (row->has_before && row->before_ns > at_ns) return;
        row->has_before = true;
        row->before = value;
        row->before_ns = at_ns;
        return;
    }
    const uint32_t c = (uint32_t)((at_ns - v->from_ns) / rows->cell_ns);
    row->count++;
    row->sum += value;
    if (!row->sampled || value < row->low) row->low = value;
    if (!row->sampled || value > row->high) row->high = value;
    row->sampled = true;
    if (c >= rows->columns) return;
    view_cell *const cell = &row->cells[c];
    const float f = (float)value;
    cell->count++;
    if (!cell->sampled || f < cell->low) cell->low = f;
    if (!cell->sampled || f > cell->high) cell->high = f;
    if (!cell->sampled || at_ns >= cell->last_ns) {
        cell->last = f;
        cell->last_ns = at_ns;
    }
    cell->sampled = true;
}

/* ---- Events ------------------------------------------------------------- */

static uint64_t value_of(const view_item *item, ts_column column)
{
    const uint64_t *const values = item->columns->values[column];
    return values ? values[item->row] : 0;
}

static void take_zone(view_rows *rows, const view_item *item)
{
    if (item->track >= rows->deepest_count) {
        const size_t count = item->track + 64;
        rows->deepest =
            view_resize(rows->deepest, count, sizeof *rows->deepest);
        memset(rows->deepest + rows->deepest_count, 0,
               (count - rows->deepest_count) * sizeof *rows->deepest);
        rows->deepest_count = count;
    }
    if (item->depth >= rows->deepest[item->track])
        rows->deepest[item->track] = item->depth + 1;
    if (item->depth >= rows->depth_limit) return;
    cover(rows, row_of(rows, VIEW_ROW_ZONES, item->track, item->depth),
          item->start_ns, item->end_ns, view_key(item->columns, item->row),
          false);
}

// Whether a kind counts as waiting. A graph launch does, as it spans its
// kernels.
static bool is_wait(ts_event_kind kind)
{
    return kind == TS_EVENT_EVENT_WAIT || kind == TS_EVENT_STREAM_SYNC ||
           kind == TS_EVENT_DEVICE_SYNC || kind == TS_EVENT_EVENT_SYNC ||
           kind == TS_EVENT_GRAPH_LAUNCH;
}

static void take_work(view_rows *rows, const view_item *item)
{
    cover(rows, row_of(rows, VIEW_ROW_WORK, item->track, 0), item->start_ns,
          item->end_ns, view_key(item->columns, item->row),
          is_wait(item->kind));
}

static void take_moment(view_rows *rows, const view_item *item)
{
    view_row *const row = row_of(rows, VIEW_ROW_MOMENTS, item->track, 0);
    const uint32_t c =
        (uint32_t)((item->start_ns - rows->v->from_ns) / rows->cell_ns);
    row->count++;
    if (c >= rows->columns) return;
    view_cell *const cell = &row->cells[c];
    cell->count++;
    if (cell->key && cell->key_start_ns <= item->start_ns) return;
    cell->key = view_key(item->columns, item->row);
    cell->key_start_ns = item->start_ns;
    cell->text[0] = 0;
    if (item->kind != TS_EVENT_MESSAGE || !item->columns->text_sizes) return;
    size_t size = item->columns->text_sizes[item->row];
    if (size > sizeof cell->text - 1) size = sizeof cell->text - 1;
    memcpy(cell->text, item->columns->texts[item->row], size);
    cell->text[size] = 0;
}

// Adds to a row whose cells hold sums: bytes of allocations, or samples.
static void take_amount(view_rows *rows, const view_item *item,
                        view_row_type type, double amount)
{
    const uint32_t c =
        (uint32_t)((item->start_ns - rows->v->from_ns) / rows->cell_ns);
    view_row *const row = row_of(rows, type, item->track, 0);
    if (c >= rows->columns) return;
    view_cell *const cell = &row->cells[c];
    cell->high += (float)amount;
    cell->sampled = true;
    row->sampled = true;
    row->count++;
    row->sum += amount;
    if ((double)cell->high > row->high) row->high = (double)cell->high;
}

static void take_counter(view_rows *rows, const view_item *item)
{
    const uint64_t bits = value_of(item, TS_COLUMN_VALUE);
    double value = (double)(int64_t)bits;
    if (value_of(item, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE)
        memcpy(&value, &bits, sizeof value);
    if (!isfinite(value)) return;
    sample(rows, row_of(rows, VIEW_ROW_COUNTER, item->track, 0), item->start_ns,
           value);
}

static uint32_t take_item(const view_item *item, void *user)
{
    view_rows *const rows = user;
    switch (item->kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN: take_zone(rows, item); break;
    case TS_EVENT_MARK:
    case TS_EVENT_MESSAGE: take_moment(rows, item); break;
    case TS_EVENT_COUNTER: take_counter(rows, item); break;
    case TS_EVENT_ALLOC:
    case TS_EVENT_GPU_ALLOC:
        take_amount(rows, item, VIEW_ROW_ALLOCS,
                    (double)value_of(item, TS_COLUMN_SIZE));
        break;
    case TS_EVENT_SAMPLE: take_amount(rows, item, VIEW_ROW_SAMPLES, 1); break;
    case TS_EVENT_API_CALL:
        cover(rows, row_of(rows, VIEW_ROW_CALLS, item->track, 0),
              item->start_ns, item->end_ns, view_key(item->columns, item->row),
              false);
        break;
    case TS_EVENT_GPU_FREE: break;
    default:
        if (item->kind >= TS_EVENT_GPU_FIRST) take_work(rows, item);
    }
    return CLI_NONE;
}

// Keeps the longest frame of each cell, for narrow frames.
static void take_frame(view_rows *rows, view_row *row,
                       const view_interval *interval)
{
    const view *const v = rows->v;
    const int64_t ns = interval->end_ns - interval->start_ns;
    const int64_t first = clamp(interval->start_ns, v->from_ns, v->to_ns - 1);
    const int64_t last = clamp(interval->end_ns - 1, first, v->to_ns - 1);
    for (int64_t c = (first - v->from_ns) / rows->cell_ns;
         c <= (last - v->from_ns) / rows->cell_ns; c++) {
        view_cell *const cell = &row->cells[c];
        if ((float)ns > cell->high) cell->high = (float)ns;
        cell->sampled = true;
    }
    if ((double)ns > row->high) row->high = (double)ns;
    row->sampled = true;
}

static void take_interval(const view_interval *interval, void *user)
{
    view_rows *const rows = user;
    if (!view_interval_is_selected(rows->v, interval)) return;
    const bool frame = interval->kind == TS_EVENT_FRAME;
    view_row *const row =
        row_of(rows, frame ? VIEW_ROW_FRAMES : VIEW_ROW_SPANS,
               frame ? interval->track : CLI_NONE, (uint32_t)interval->key);
    cover(rows, row, interval->start_ns, interval->end_ns, interval->key,
          false);
    if (frame) take_frame(rows, row, interval);
}

/* ---- Pictures ----------------------------------------------------------- */

// Whether the rows are built from more than VIEW_COARSE events, most of which
// are in chunks with pictures. A trace without an end may have some pictures,
// and the end of it none.
static bool is_coarse(const view *v, uint64_t kinds)
{
    uint64_t count = 0, pictured = 0;
    ts_chunk_info chunk;
    ts_lod_cell cells[TS_LOD_CELLS];
    for (size_t i = 0; ts_reader_chunk(v->trace.reader, i, &chunk); i++) {
        const ts_chunk_header *const h = &chunk.header;
        if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
            !(kinds >> h->event & 1) || chunk.first_ns >= v->to_ns ||
            chunk.last_ns < v->from_ns)
            continue;
        count += h->count;
        if (ts_reader_lod(v->trace.reader, i, cells)) pictured += h->count;
    }
    return count > VIEW_COARSE && pictured > count / 2;
}

static void take_share(view_rows *rows, view_row *row, const ts_lod_cell *part,
                       int64_t at_ns, int64_t size_ns, uint64_t kind)
{
    view_cell *const cell =
        &row->cells[(at_ns - rows->v->from_ns) / rows->cell_ns];
    const bool waits = is_wait((ts_event_kind)kind);
    const int64_t ns = size_ns * part->busy / 65535;
    row->count += part->count;
    cell->count += part->count;
    *(waits ? &cell->wait_ns : &cell->busy_ns) += ns;
    if (ns || part->count)
        cell_take(cell, ns, at_ns, at_ns + ns, kind << 32 | part->id, waits);
}

// Draws the tracks of a chunk from their pictures, under the same conditions as
// take_picture.
static bool take_track_pictures(view_rows *rows, size_t index,
                                const ts_chunk_info *chunk)
{
    view *const v = rows->v;
    ts_track_pictures *const all = &rows->pictures;
    const int64_t length = chunk->last_ns - chunk->first_ns;
    uint32_t track, events;
    ts_lod_cell cells[TS_LOD_CELLS];
    if (chunk->first_ns < v->from_ns || chunk->last_ns >= v->to_ns ||
        length / (TS_LOD_CELLS / 2) > rows->cell_ns ||
        ts_reader_track_pictures(v->trace.reader, index, all) != TS_OK ||
        length > rows->cell_ns * all->cell_count / 2)
        return false;
    const int64_t size = length / all->cell_count;
    for (size_t i = 0; ts_track_picture(all, i, &track, &events, cells); i++) {
        const uint32_t at = view_track_at(v, track);
        if (!v->track_selected[at]) continue;
        view_row *const row = row_of(rows, VIEW_ROW_WORK, at, 0);
        for (uint32_t c = 0; c < all->cell_count; c++)
            take_share(rows, row, &cells[c], chunk->first_ns + c * size, size,
                       chunk->header.event);
    }
    return true;
}

// Draws a chunk from its picture, if each of the picture's cells is at most
// half as wide as one of the view.
static bool take_picture(size_t index, const ts_chunk_info *chunk, void *user)
{
    view_rows *const rows = user;
    view *const v = rows->v;
    const ts_chunk_header *const h = &chunk->header;
    const bool counter = h->event == TS_EVENT_COUNTER;
    const bool work = h->event >= TS_EVENT_GPU_FIRST &&
                      h->event != TS_EVENT_GPU_ALLOC &&
                      h->event != TS_EVENT_GPU_FREE;
    ts_lod_cell cells[TS_LOD_CELLS];
    if (h->track == TS_TRACK_MIXED)
        return work && take_track_pictures(rows, index, chunk);
    if (chunk->first_ns < v->from_ns || chunk->last_ns >= v->to_ns ||
        (chunk->last_ns - chunk->first_ns) / (TS_LOD_CELLS / 2) >
            rows->cell_ns ||
        !(counter || work || h->event == TS_EVENT_ZONE ||
          h->event == TS_EVENT_API_CALL) ||
        !ts_reader_lod(v->trace.reader, index, cells))
        return false;
    view_row *const row = row_of(rows,
                                 counter                     ? VIEW_ROW_COUNTER
                                 : work                      ? VIEW_ROW_WORK
                                 : h->event == TS_EVENT_ZONE ? VIEW_ROW_ZONES
                                                             : VIEW_ROW_CALLS,
                                 view_track_at(v, h->track), 0);
    const int64_t size = (chunk->last_ns - chunk->first_ns) / TS_LOD_CELLS;
    for (int i = 0; i < TS_LOD_CELLS; i++) {
        const int64_t at = chunk->first_ns + i * size;
        if (!counter)
            take_share(rows, row, &cells[i], at, size, h->event);
        else if (isfinite(cells[i].min) && isfinite(cells[i].max)) {
            sample(rows, row, at, (double)cells[i].min);
            sample(rows, row, at, (double)cells[i].max);
        }
    }
    return true;
}

// Pictures of several chunks may overlap: limits busy time to the cell's
// length.
static void limit_totals(view_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++) {
        view_row *const row = &rows->rows[i];
        if (row->type <= VIEW_ROW_SPANS) continue;
        row->total_ns = 0;
        for (uint32_t c = 0; c < rows->columns; c++)
            row->total_ns += clamp(row->cells[c].busy_ns, 0, rows->cell_ns);
        row->total_ns = clamp(row->total_ns, 0, rows->range_ns);
    }
}

static void take_losses(view_rows *rows)
{
    view *const v = rows->v;
    ts_loss_row loss;
    for (size_t i = 0; ts_reader_loss(v->trace.reader, i, &loss); i++) {
        if (loss.cause >= TS_LOSS_STALL_FIRST || !loss.count) continue;
        if (loss.last_ns < v->from_ns || loss.first_ns >= v->to_ns) continue;
        const uint32_t track =
            loss.track ? view_track_at(v, loss.track) : CLI_NONE;
        if (track != CLI_NONE && !v->track_selected[track]) continue;
        view_row *const row = row_of(rows, VIEW_ROW_LOSS, track, 0);
        row->count += loss.count;
        const int64_t first = clamp(loss.first_ns, v->from_ns, v->to_ns - 1);
        const int64_t last = clamp(loss.last_ns, first, v->to_ns - 1);
        for (int64_t c = (first - v->from_ns) / rows->cell_ns;
             c <= (last - v->from_ns) / rows->cell_ns; c++)
            row->cells[c].count = 1;
    }
}

/* ---- Order -------------------------------------------------------------- */

typedef struct branch {
    uint32_t parent, type, id, track;
} branch;

static int by_parent(const void *left, const void *right)
{
    const branch *const a = left, *const b = right;
    if (a->parent != b->parent) return a->parent < b->parent ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    return (a->id > b->id) - (a->id < b->id);
}

static uint32_t rank_branch(const branch *all, size_t count, uint32_t parent,
                            uint32_t *ranks, uint32_t next, int depth)
{
    size_t low = 0, high = count;
    while (low < high)
        cli_halve(&low, &high, all[cli_middle(low, high)].parent < parent);
    for (; low < count && all[low].parent == parent; low++) {
        if (ranks[all[low].track] != CLI_NONE) continue; // a cycle
        ranks[all[low].track] = next++;
        if (depth < 16 && all[low].id)
            next = rank_branch(all, count, all[low].id, ranks, next, depth + 1);
    }
    return next;
}

uint32_t *view_track_order(const view *v)
{
    const size_t count = v->track_count;
    branch *const all = view_resize(NULL, count + 1, sizeof *all);
    uint32_t *const ranks = view_resize(NULL, count + 1, sizeof *ranks);
    for (size_t i = 0; i < count; i++) {
        const ts_track *const t = &v->tracks[i];
        // Counters come last, whatever their parent is.
        const uint32_t parent =
            t->type == TS_TRACK_COUNTER ? CLI_NONE : t->parent;
        all[i] = (branch){ parent, t->type, t->id, (uint32_t)i };
        ranks[i] = CLI_NONE;
    }
    qsort(all, count, sizeof *all, by_parent);
    uint32_t next = rank_branch(all, count, 0, ranks, 0, 0);
    for (size_t i = 0; i < count; i++) // tracks whose parents are missing
        if (ranks[all[i].track] == CLI_NONE)
            next = rank_branch(all, count, all[i].parent, ranks, next, 0);
    free(all);
    return ranks;
}

typedef struct ranked {
    uint32_t rank;
    view_row row;
} ranked;

static int by_rank(const void *left, const void *right)
{
    const ranked *const a = left, *const b = right;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    if (a->row.type != b->row.type) return a->row.type < b->row.type ? -1 : 1;
    return (a->row.part > b->row.part) - (a->row.part < b->row.part);
}

// Order: losses of the session, frames and spans, then tracks as a tree.
static void sort_rows(view_rows *rows)
{
    uint32_t *const ranks = view_track_order(rows->v);
    ranked *const all = view_resize(NULL, rows->count + 1, sizeof *all);
    for (size_t i = 0; i < rows->count; i++) {
        const view_row *const row = &rows->rows[i];
        const bool top = row->track == CLI_NONE || row->type == VIEW_ROW_FRAMES;
        all[i] = (ranked){ top ? 0 : ranks[row->track] + 1, *row };
    }
    qsort(all, rows->count, sizeof *all, by_rank);
    for (size_t i = 0; i < rows->count; i++)
        rows->rows[i] = all[i].row;
    free(all);
    free(ranks);
    cli_map_close(&rows->index); // its positions are no longer valid
}

/* ---- Collecting --------------------------------------------------------- */

static uint32_t depth_by_room(const view *v)
{
    uint32_t threads = 0;
    for (size_t i = 0; i < v->track_count; i++)
        threads += v->tracks[i].type == TS_TRACK_THREAD && v->track_selected[i];
    return threads <= 2 ? 8 : threads <= 8 ? 5 : threads <= 24 ? 3 : 2;
}

void view_rows_collect(view_rows *rows, view *v, uint32_t columns)
{
    *rows = (view_rows){ .v = v, .columns = columns };
    rows->range_ns = v->to_ns - v->from_ns;
    rows->cell_ns = (rows->range_ns + columns - 1) / columns;
    if (rows->cell_ns < 1) rows->cell_ns = 1;
    if (v->from_ns <= INT64_MAX - rows->cell_ns * (int64_t)columns)
        v->to_ns = v->from_ns + rows->cell_ns * columns;
    const uint64_t drawn =
        v->kinds & ~(TS_FILTER(ZONE_ARG) | TS_FILTER(FLOW) | TS_FILTER(FREE) |
                     TS_FILTER(FRAME) | TS_FILTER(SPAN));
    rows->coarse = !v->depth && is_coarse(v, drawn);
    rows->depth_limit = rows->coarse ? 1
                        : v->depth   ? v->depth
                                     : depth_by_room(v);
    view_walk(v, drawn, rows->coarse ? take_picture : NULL, take_item, rows);
    if (rows->coarse) limit_totals(rows);
    view_intervals(v, v->kinds, take_interval, rows);
    take_losses(rows);
    sort_rows(rows);
}

void view_rows_free(view_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        free(rows->rows[i].cells);
    free(rows->rows);
    free(rows->deepest);
    cli_map_close(&rows->index);
    if (rows->v)
        ts_track_pictures_close(rows->v->trace.reader, &rows->pictures);
    *rows = (view_rows){ 0 };
}
