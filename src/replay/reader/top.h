/* ---- Reader: the top of the index --------------------------------------- */

_Static_assert(sizeof(ts_top_header) == 24 && sizeof(ts_top_kind) == 40 &&
                   sizeof(ts_top_row) == 40 && sizeof(ts_top_cell) == 16,
               "sizes of the format");

// Locates the parts of a top, and checks their sizes.
static ts__fault ts__top_find(ts__in_top *top, const uint8_t *payload,
                              const ts_chunk_header *header)
{
    ts_top_header *const head = &top->header;
    uint64_t left = header->raw_size;
    if (left < sizeof *head) return ts__corrupt("the top is too short");
    memcpy(head, payload, sizeof *head);
    left -= sizeof *head;
    if (head->kinds > TS_TOP_KINDS_MAX || head->rows > TS_TOP_ROWS_MAX ||
        head->cells > TS_TOP_CELLS_MAX ||
        (uint64_t)head->rows * head->cells > TS_TOP_CELLS_MAX)
        return ts__corrupt("the top is larger than any may be");
    const uint64_t fixed =
        head->kinds * sizeof(ts_top_kind) + head->rows * sizeof(ts_top_row) +
        (uint64_t)head->rows * head->cells * sizeof(ts_top_cell);
    if (fixed > left || left - fixed != head->dictionary)
        return ts__corrupt("the top has the wrong size");
    top->kinds = payload + sizeof *head;
    top->rows = top->kinds + head->kinds * sizeof(ts_top_kind);
    top->cells = top->rows + head->rows * sizeof(ts_top_row);
    top->dictionary = top->kinds + fixed;
    return ts__no_fault;
}

// Gets the copy of a chunk of a dictionary at `at`; *chunk has its header.
static ts__fault ts__top_entries(const ts_reader *reader, uint64_t at,
                                 ts__in_chunk *chunk)
{
    const ts__in_top *const top = &reader->top;
    const uint64_t left = top->header.dictionary - at;
    const ts_chunk_header *const header = &chunk->header;
    const uint8_t *const bytes = top->dictionary + at;
    memset(chunk, 0, sizeof *chunk);
    chunk->offset = top->offset;
    if (left < sizeof *header) return ts__truncated;
    memcpy(&chunk->header, bytes, sizeof *header);
    if (header->magic != TS_CHUNK_MAGIC || ts__header_check(header) ||
        !ts__in_chunk_has_entries(header) || header->flags & TS_CHUNK_ZSTD ||
        ts__in_chunk_bytes(header) > left)
        return ts__corrupt("the top has something else than dictionaries");
    const ts__fault fault = ts__in_chunk_verify_bytes(chunk, bytes);
    if (fault.result != TS_OK) return fault;
    return ts__entries_check(header, bytes + sizeof *header);
}

static ts_result ts__top_dictionaries(ts_reader *reader, bool load)
{
    ts__in_chunk chunk;
    const uint64_t size = reader->top.header.dictionary;
    for (uint64_t at = 0; at < size;) {
        const ts__fault fault = ts__top_entries(reader, at, &chunk);
        if (fault.result != TS_OK) return fault.result;
        const uint8_t *const payload =
            reader->top.dictionary + at + sizeof chunk.header;
        if (load && !ts__load_entries(reader, &chunk, payload))
            return TS_ERR_MEMORY;
        at += ts__in_chunk_bytes(&chunk.header);
    }
    return TS_OK;
}

// Reads the top. On any error but TS_ERR_MEMORY the caller reads the index.
static ts_result ts__top_read(ts_reader *reader)
{
    ts__in_chunk end, chunk;
    const uint8_t *payload;
    if (!reader->desc.lazy || reader->desc.no_index || reader->header_damaged ||
        !ts__index_end(reader, &end) || !end.header.last ||
        end.header.last >= end.offset)
        return TS_ERR_NOT_FOUND;
    ts__fault fault = ts__in_chunk_check(reader, end.header.last, &chunk);
    if (fault.result != TS_OK || chunk.header.kind != TS_CHUNK_TOP)
        return TS_ERR_CORRUPT;
    fault = ts__payload_keep(reader, &chunk, &payload);
    if (fault.result == TS_OK)
        fault = ts__top_find(&reader->top, payload, &chunk.header);
    if (fault.result != TS_OK) return fault.result;
    reader->top.offset = chunk.offset;
    if (!(reader->top.header.flags & TS_TOP_DICTIONARY))
        return TS_ERR_NOT_FOUND;
    const ts_result result = ts__top_dictionaries(reader, false);
    if (result != TS_OK) return result;
    reader->info.indexed = true;
    reader->info.finished = true;
    reader->info.chunk_count = (uint64_t)end.header.sequence + 1;
    reader->top.used = true;
    return TS_OK;
}

static ts_top_kind ts__top_kind_at(const ts_reader *reader, size_t index)
{
    ts_top_kind kind;
    memcpy(&kind, reader->top.kinds + index * sizeof kind, sizeof kind);
    return kind;
}

TS_API size_t ts_reader_top_count(const ts_reader *reader)
{
    return reader->top.used ? reader->top.header.rows : 0;
}

TS_API bool ts_reader_top(const ts_reader *reader, size_t index,
                          ts_top_track *track)
{
    ts_top_row row;
    if (index >= ts_reader_top_count(reader)) return false;
    memcpy(&row, reader->top.rows + index * sizeof row, sizeof row);
    track->track = row.track;
    track->kind = (ts_event_kind)row.event;
    track->count = row.count;
    track->cell_count = reader->top.header.cells;
    return true;
}

static ts_picture_cell ts__top_cell_make(const ts_top_row *row,
                                         const uint8_t *bytes)
{
    ts_top_cell cell;
    ts_picture_cell made = { 0 };
    memcpy(&cell, bytes, sizeof cell);
    made.count = cell.count;
    if (row->event == TS_EVENT_COUNTER && row->track != TS_TRACK_MIXED) {
        memcpy(&made.min, &cell.id, sizeof made.min);
        memcpy(&made.max, &cell.busy, sizeof made.max);
        return made;
    }
    made.id = cell.id;
    made.busy = (uint16_t)(cell.busy < 65535 ? cell.busy : 65535);
    return made;
}

TS_API bool ts_reader_top_cell(const ts_reader *reader, size_t index, size_t at,
                               ts_picture_cell *cell)
{
    ts_top_row row;
    const ts__in_top *const top = &reader->top;
    if (index >= ts_reader_top_count(reader) || at >= top->header.cells)
        return false;
    memcpy(&row, top->rows + index * sizeof row, sizeof row);
    *cell =
        ts__top_cell_make(&row, top->cells + (index * top->header.cells + at) *
                                                 sizeof(ts_top_cell));
    const uint64_t from = row.first + at * row.width;
    cell->start_ns = ts__clock_time(reader->clocks, row.clock, from);
    cell->end_ns = ts__clock_time(reader->clocks, row.clock, from + row.width);
    return true;
}
