/* ---- The top of the index ----------------------------------------------- */

/*
    The chunk that the end chunk points to: what a viewer needs to open a trace
    and to draw all of it, in at most 2 MB. It is made when a trace of more than
    one index part ends, from the parts in the file, so that recording pays
    nothing for it. Without memory or disk space a trace has none, nor if it
    would be more than a quarter of the trace.

    Only libtracesmith and programs with TRACESMITH_PICTURES write it.
*/
#ifdef TRACESMITH_PICTURES

TS__SMALL_BEGIN

enum {
    TS__TOP_SLOTS = 4 * TS_TOP_ROWS_MAX,
    TS__TOP_WORK = TS__SCRATCH_BYTES // for one part of the index
};

// A cell under construction.
typedef struct ts__top_cell {
    uint64_t busy, count;
    uint64_t best; // ticks by which `id` was chosen
    uint32_t id;
    float low, high;
    bool sampled;
} ts__top_cell;

typedef struct ts__top {
    ts_top_header header;
    ts_top_kind kinds[TS_TOP_KINDS_MAX];
    ts_top_row rows[TS_TOP_ROWS_MAX];
    uint16_t slots[TS__TOP_SLOTS]; // row + 1 by hash; 0: free
    bool many_rows;
    bool pictured; // the chunk before this one has pictures of its tracks
    uint32_t tracks[2 * TS__BATCH_ROWS / 4]; // a chunk of pictures
    uint64_t last[TS_TOP_ROWS_MAX];          // of each row
    // second pass
    ts__top_cell *cells;
    uint8_t *dictionary; // filled from its end
    uint64_t left;
    bool failed;
} ts__top;

typedef void ts__top_take(ts__writer *w, ts__top *t,
                          const ts_chunk_header *header, const uint64_t *lod);

// The row of a track, event and clock; makes one if `header` has a chunk more.
static ts_top_row *ts__top_row(ts__top *t, const ts_chunk_header *header)
{
    const uint32_t key[3] = { header->track, header->clock, header->event };
    uint64_t at = ts__mix(key, sizeof key, 0);
    for (;; at++) {
        uint16_t *const slot = &t->slots[at % TS__TOP_SLOTS];
        ts_top_row *row = *slot ? &t->rows[*slot - 1] : NULL;
        if (row && (row->track != header->track ||
                    row->clock != header->clock || row->event != header->event))
            continue;
        if (row) return row;
        if (t->header.rows == TS_TOP_ROWS_MAX) return NULL;
        row = &t->rows[t->header.rows++];
        row->track = header->track;
        row->clock = header->clock;
        row->event = header->event;
        row->first = header->first;
        t->last[row - t->rows] = header->last;
        *slot = (uint16_t)t->header.rows;
        return row;
    }
}

static ts_top_kind *ts__top_kind(ts__top *t, const ts_chunk_header *header)
{
    ts_top_kind *kind = t->kinds;
    for (; kind < t->kinds + t->header.kinds; kind++)
        if (kind->event == header->event && kind->clock == header->clock)
            return kind;
    if (t->header.kinds == TS_TOP_KINDS_MAX) return NULL;
    t->header.kinds++;
    kind->event = header->event;
    kind->clock = header->clock;
    kind->first = header->first;
    kind->last = header->last;
    return kind;
}

static void ts__top_widen(uint64_t *first, uint64_t *last,
                          const ts_chunk_header *header)
{
    if ((int64_t)(header->first - *first) < 0) *first = header->first;
    if ((int64_t)(header->last - *last) > 0) *last = header->last;
}

static bool ts__top_is_dictionary(const ts_chunk_header *header)
{
    return header->kind >= TS_CHUNK_NAMES && header->kind <= TS_CHUNK_SYMBOLS;
}

// Makes room for a picture of the events of a chunk, or of one of its tracks.
static void ts__top_measure_row(ts__top *t, const ts_chunk_header *header)
{
    ts_top_row *const row = ts__top_row(t, header);
    if (!row) {
        t->many_rows = true;
        return;
    }
    row->count += header->count;
    ts__top_widen(&row->first, &t->last[row - t->rows], header);
}

static void ts__top_measure_kind(ts__top *t, const ts_chunk_header *header)
{
    ts_top_kind *const kind = ts__top_kind(t, header);
    if (!kind) {
        t->failed = true;
        return;
    }
    kind->count += header->count;
    kind->stored += ts__chunk_bytes(header);
    ts__top_widen(&kind->first, &kind->last, header);
}

// Reads the pictures of tracks into t->tracks.
static bool ts__top_tracks_read(ts__writer *w, ts__top *t,
                                const ts_chunk_header *header)
{
    if (header->stored_size > sizeof t->tracks ||
        !ts__file_read(w->file.fd, header->checksum + sizeof *header, t->tracks,
                       header->stored_size))
        t->failed = true;
    return !t->failed;
}

// The events of one of the tracks, as the header of a chunk of its own.
static ts_chunk_header
ts__top_track(const ts__top *t, const ts_chunk_header *header, uint32_t index)
{
    ts_chunk_header one = *header;
    one.track = t->tracks[2 + 2 * index];
    one.count = t->tracks[2 + 2 * index + 1];
    return one;
}

// First pass: sizes, sums and time ranges. Pictures of tracks come before the
// chunk that they describe, as chunks come from the last to the first.
static void ts__top_measure(ts__writer *w, ts__top *t,
                            const ts_chunk_header *header, const uint64_t *lod)
{
    (void)lod;
    if (ts__top_is_dictionary(header))
        t->header.dictionary += ts__chunk_bytes(header);
    if (header->kind == TS_CHUNK_PICTURES && ts__top_tracks_read(w, t, header))
        for (uint32_t i = 0; i < header->count; i++) {
            const ts_chunk_header one = ts__top_track(t, header, i);
            ts__top_measure_row(t, &one);
        }
    if (header->kind == TS_CHUNK_EVENTS && header->count) {
        ts__top_measure_kind(t, header);
        if (!t->pictured) ts__top_measure_row(t, header);
    }
    t->pictured = header->kind == TS_CHUNK_PICTURES;
}

static void ts__top_sample(ts__top_cell *cell, uint64_t lod)
{
    float low, high;
    const uint32_t bits[] = { (uint32_t)lod, (uint32_t)(lod >> 32) };
    memcpy(&low, &bits[0], sizeof low);
    memcpy(&high, &bits[1], sizeof high);
    if (!(low <= high)) return; // no sample
    if (!cell->sampled || low < cell->low) cell->low = low;
    if (!cell->sampled || high > cell->high) cell->high = high;
    cell->sampled = true;
}

// Adds the busy time of one cell of a chunk, [from, to), to those of its row.
static void ts__top_spread(const ts__top *t, const ts_top_row *row,
                           ts__top_cell *cells, uint64_t from, uint64_t to,
                           uint64_t lod)
{
    const double share = (double)(uint16_t)(lod >> 32) / 65535;
    for (uint64_t i = from / row->width;
         i < t->header.cells && i * row->width < to; i++) {
        const uint64_t begin = i * row->width, end = begin + row->width;
        const uint64_t part =
            (end < to ? end : to) - (begin > from ? begin : from);
        const uint64_t busy = (uint64_t)(share * (double)part);
        cells[i].busy += busy;
        if (busy <= cells[i].best && cells[i].id) continue;
        cells[i].best = busy;
        cells[i].id = (uint32_t)lod;
    }
}

// Adds a picture of `count` cells to that of its row.
static void ts__top_picture(ts__top *t, const ts_chunk_header *header,
                            const uint64_t *lod, uint32_t count)
{
    const ts_top_row *const row =
        t->header.rows ? ts__top_row(t, header) : NULL;
    const uint64_t width = ((header->last - header->first) / TS_LOD_CELLS + 1) *
                           (TS_LOD_CELLS / count);
    const bool mixed = header->track == TS_TRACK_MIXED;
    if (!row) return;
    ts__top_cell *const cells =
        t->cells + (size_t)(row - t->rows) * t->header.cells;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t from = header->first - row->first + i * width;
        const uint64_t at = from / row->width;
        if (at >= t->header.cells) break;
        if (header->event == TS_EVENT_COUNTER && !mixed) {
            ts__top_sample(&cells[at], lod[i]);
            continue;
        }
        cells[at].count += lod[i] >> 48;
        if (!mixed && (lod[i] >> 32 & 0xFFFF))
            ts__top_spread(t, row, cells, from, from + width, lod[i]);
    }
}

static void ts__top_fill_tracks(ts__top *t, const ts_chunk_header *header)
{
    const uint32_t cells = t->tracks[1];
    const uint32_t *from = t->tracks + 2 + 2 * header->count;
    for (uint32_t i = 0; i < header->count; i++, from += 2 * cells) {
        const ts_chunk_header one = ts__top_track(t, header, i);
        uint64_t lod[TS_LOD_CELLS];
        memcpy(lod, from, cells * sizeof *lod);
        ts__top_picture(t, &one, lod, cells);
    }
}

// Second pass: pictures, and copies of the dictionaries. Chunks come from the
// last to the first.
static void ts__top_fill(ts__writer *w, ts__top *t,
                         const ts_chunk_header *header, const uint64_t *lod)
{
    if (header->kind == TS_CHUNK_EVENTS && header->count && !t->pictured)
        ts__top_picture(t, header, lod, TS_LOD_CELLS);
    if (header->kind == TS_CHUNK_PICTURES && ts__top_tracks_read(w, t, header))
        ts__top_fill_tracks(t, header);
    t->pictured = header->kind == TS_CHUNK_PICTURES;
    if (!t->dictionary || !ts__top_is_dictionary(header)) return;
    const size_t size = ts__chunk_bytes(header);
    t->left -= size;
    if (!ts__file_read(w->file.fd, header->checksum, t->dictionary + t->left,
                       size))
        t->failed = true;
}

static void ts__top_chunks(ts__writer *w, ts__top *t,
                           const ts_chunk_header *headers, const uint64_t *lod,
                           uint32_t count, bool all, ts__top_take *take)
{
    uint32_t events = 0;
    for (uint32_t i = 0; i < count; i++)
        events += headers[i].kind == TS_CHUNK_EVENTS;
    for (uint32_t i = count; i-- > 0;) {
        const bool pictured = headers[i].kind == TS_CHUNK_EVENTS;
        events -= pictured;
        // `all`: the pictures of other chunks have a place as well
        take(w, t, &headers[i],
             lod + (size_t)TS_LOD_CELLS * (all ? i : events));
    }
}

// Calls `take` for each chunk of the trace, from the last to the first.
static void ts__top_walk(ts__writer *w, ts__top *t, ts__top_take *take)
{
    const ts__writer_state *const state = &w->sidecar->state;
    uint64_t offset = state->index_offset;
    ts__top_chunks(w, t, w->sidecar->index, w->sidecar->lod[0],
                   state->index_count, true, take);
    while (offset && !t->failed) {
        ts_chunk_header part;
        const uint8_t *const payload = w->scratch + sizeof part;
        t->failed = !ts__file_read(w->file.fd, offset, &part, sizeof part) ||
                    part.kind != TS_CHUNK_INDEX ||
                    ts__chunk_bytes(&part) > TS__TOP_WORK ||
                    !ts__file_read(w->file.fd, offset, w->scratch,
                                   ts__chunk_bytes(&part));
        if (t->failed) return;
        ts__top_chunks(
            w, t, (const ts_chunk_header *)(const void *)(payload + 16),
            (const uint64_t *)(const void *)(payload + 16 +
                                             (size_t)part.count * sizeof part),
            part.count, false, take);
        memcpy(&offset, payload, sizeof offset);
    }
}

static void ts__top_layout(ts__top *t)
{
    ts_top_header *const header = &t->header;
    if (t->many_rows) header->rows = 0;
    header->cells = header->rows ? TS_TOP_CELLS_MAX / header->rows : 0;
    if (header->cells > TS_TOP_ROW_CELLS_MAX)
        header->cells = TS_TOP_ROW_CELLS_MAX;
    for (uint32_t i = 0; i < header->rows; i++)
        t->rows[i].width = (t->last[i] - t->rows[i].first) / header->cells + 1;
    if (header->dictionary > TS_TOP_DICTIONARY_MAX)
        header->dictionary = 0;
    else
        header->flags = TS_TOP_DICTIONARY;
    t->left = header->dictionary;
}

static ts_top_cell ts__top_cell_end(const ts__top_cell *cell,
                                    const ts_top_row *row)
{
    ts_top_cell out;
    memset(&out, 0, sizeof out);
    out.count = cell->count;
    if (row->event == TS_EVENT_COUNTER && row->track != TS_TRACK_MIXED) {
        const uint32_t nan_bits = 0x7FC00000u;
        memcpy(&out.id, cell->sampled ? (const void *)&cell->low : &nan_bits,
               sizeof out.id);
        memcpy(&out.busy, cell->sampled ? (const void *)&cell->high : &nan_bits,
               sizeof out.busy);
        return out;
    }
    const double share = (double)cell->busy / (double)row->width;
    out.id = cell->id;
    out.busy = share >= 1 ? 65535 : (uint32_t)(share * 65535);
    return out;
}

// Puts everything into its place behind the chunk header; returns the end.
static uint8_t *ts__top_write(const ts__top *t, uint8_t *bytes)
{
    const ts_top_header *const header = &t->header;
    uint8_t *p = ts__entries_begin(bytes, TS_CHUNK_TOP);
    memcpy(p, header, sizeof *header);
    p += sizeof *header;
    memcpy(p, t->kinds, header->kinds * sizeof *t->kinds);
    p += header->kinds * sizeof *t->kinds;
    memcpy(p, t->rows, header->rows * sizeof *t->rows);
    p += header->rows * sizeof *t->rows;
    for (uint32_t i = 0; i < header->rows * header->cells; i++) {
        const ts_top_cell cell =
            ts__top_cell_end(&t->cells[i], &t->rows[i / header->cells]);
        memcpy(p, &cell, sizeof cell);
        p += sizeof cell;
    }
    if (header->dictionary)
        memcpy(p, t->dictionary, (size_t)header->dictionary);
    p += header->dictionary;
    return ts__entries_end(bytes, p, 0);
}

// Whether the disk has room for the top besides the end of the trace.
static bool ts__top_fits(ts__writer *w, size_t size)
{
    const uint64_t end =
        w->sidecar->state.offset + size + ts__writer_reserve(w);
    if (!ts__file_may_grow(end)) return false;
    return fallocate(w->file.fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)end) == 0 ||
           (errno != ENOSPC && errno != EDQUOT);
}

static uint64_t ts__top_append(ts__writer *w, ts__top *t)
{
    const size_t cells = (size_t)t->header.rows * t->header.cells;
    const size_t room = sizeof(ts_chunk_header) + sizeof t->header +
                        sizeof t->kinds + sizeof t->rows +
                        cells * sizeof(ts_top_cell) +
                        (size_t)t->header.dictionary + 8;
    const size_t work = cells * sizeof *t->cells;
    const size_t size = work + (size_t)t->header.dictionary + room;
    if (room > w->sidecar->state.offset / 4) return 0;
    uint8_t *const memory =
        ts__top_fits(w, room) ? (uint8_t *)ts__pages_new(size) : NULL;
    if (!memory) return 0;
    t->cells = (ts__top_cell *)(void *)memory;
    if (t->header.dictionary) t->dictionary = memory + work;
    ts__top_walk(w, t, ts__top_fill);
    uint8_t *const bytes = memory + work + t->header.dictionary;
    uint64_t offset = w->sidecar->state.offset;
    ts__commit commit = ts__commit_begin(w);
    if (t->failed || t->left ||
        ts__writer_append(w, bytes, (size_t)(ts__top_write(t, bytes) - bytes),
                          NULL, &commit) != TS_OK)
        offset = 0;
    munmap(memory, size);
    return offset;
}

// Writes the top; returns its offset, 0: there is none.
static uint64_t ts__writer_top(ts__writer *w)
{
    if (!w->sidecar->state.index_offset || ts__writer_prepare(w, 1) != TS_OK)
        return 0;
    uint64_t offset = 0;
    ts__top *const top = (ts__top *)ts__pages_new(sizeof *top);
    if (!top) return 0;
    ts__top_walk(w, top, ts__top_measure);
    ts__top_layout(top);
    if (!top->failed) offset = ts__top_append(w, top);
    munmap(top, sizeof *top);
    return offset;
}

TS__SMALL_END
#endif // TRACESMITH_PICTURES

TS__SMALL_BEGIN

// Writes the index and the end chunk and cuts the file to its size: the file is
// complete.
static ts_result ts__writer_finish(ts__writer *w)
{
    ts_result result = TS_OK;
    uint64_t top = 0;
#ifdef TRACESMITH_PICTURES
    top = ts__writer_top(w);
#endif
    if (w->sidecar->state.index_count) result = ts__writer_index(w);
    ts__commit commit = ts__commit_begin(w);
    commit.index = true;
    commit.state.finished = 1;
    uint8_t *const end = ts__entries_begin(w->scratch, TS_CHUNK_END);
    memcpy(w->scratch + offsetof(ts_chunk_header, first),
           &commit.state.index_offset, sizeof commit.state.index_offset);
    memcpy(w->scratch + offsetof(ts_chunk_header, last), &top, sizeof top);
    if (result == TS_OK)
        result = ts__writer_append(w, w->scratch, (size_t)(end - w->scratch),
                                   NULL, &commit);
    if (ftruncate(w->file.fd, (off_t)w->sidecar->state.offset) != 0 &&
        result == TS_OK)
        result = TS_ERR_IO;
    return result;
}

TS__SMALL_END
