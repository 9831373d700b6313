/* ---- Writer: rows of events --------------------------------------------- */

static uint64_t ts__put_hash(uint32_t track, uint32_t kind)
{
    return (((uint64_t)track << 5) | kind) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static bool ts__put_table_grow(ts_writer *w)
{
    const uint32_t count = w->table ? 2 * (w->table_mask + 1) : 256;
    uint32_t *const table =
        (uint32_t *)ts__put_memory(w, NULL, count * sizeof *table);
    if (!table) return false;
    memset(table, 0, count * sizeof *table);
    for (uint32_t i = 0; i < w->rows_count; i++) {
        const ts__put_rows *const rows = &w->rows[i];
        uint64_t at = ts__put_hash(rows->track, rows->kind);
        while (table[at & (count - 1)])
            at++;
        table[at & (count - 1)] = i + 1;
    }
    free(w->table);
    w->table = table;
    w->table_mask = count - 1;
    return true;
}

// The list of rows of a kind on a track; NULL without memory.
static ts__put_rows *ts__put_rows_of(ts_writer *w, uint32_t kind,
                                     uint32_t track)
{
    if (w->rows_last < w->rows_count) {
        ts__put_rows *const last = &w->rows[w->rows_last];
        if (last->track == track && last->kind == kind) return last;
    }
    if ((!w->table || w->rows_count > w->table_mask / 2) &&
        !ts__put_table_grow(w))
        return NULL;
    uint64_t at = ts__put_hash(track, kind);
    for (; w->table[at & w->table_mask]; at++) {
        const uint32_t i = w->table[at & w->table_mask] - 1;
        if (w->rows[i].track != track || w->rows[i].kind != kind) continue;
        w->rows_last = i;
        return &w->rows[i];
    }
    void *rows = w->rows;
    if (!ts__put_room(w, &rows, &w->rows_capacity, w->rows_count + 1,
                      sizeof *w->rows))
        return NULL;
    w->rows = (ts__put_rows *)rows;
    ts__put_rows *const fresh = &w->rows[w->rows_count];
    memset(fresh, 0, sizeof *fresh);
    fresh->track = track;
    fresh->kind = kind;
    w->rows_last = w->rows_count;
    w->table[at & w->table_mask] = ++w->rows_count;
    return fresh;
}

static uint64_t ts__put_size(const ts_writer *w, const ts__put_rows *rows)
{
    return (uint64_t)rows->capacity * w->width[rows->kind] * 8 +
           rows->text_capacity;
}

static void ts__put_forget(ts_writer *w, ts__put_rows *rows)
{
    w->memory -= ts__put_size(w, rows);
    free(rows->cells);
    free(rows->text);
    rows->cells = NULL;
    rows->text = NULL;
    rows->count = rows->capacity = rows->text_used = rows->text_capacity = 0;
}

// Sorts the `count` elements of w->order[0] by w->key; a stable sort.
static void ts__put_sort(ts_writer *w, uint32_t count)
{
    const ts__range range = ts__range_of(w->key, count);
    const uint64_t span = range.largest - range.smallest;
    for (uint32_t shift = 0; shift < 64 && span >> shift; shift += 11) {
        uint32_t at[2048] = { 0 }, sum = 0;
        const uint16_t *const from = w->order[0];
        uint16_t *const to = w->order[1];
        for (uint32_t i = 0; i < count; i++)
            at[(w->key[i] - range.smallest) >> shift & 2047]++;
        for (uint32_t i = 0; i < 2048; i++) {
            const uint32_t n = at[i];
            at[i] = sum;
            sum += n;
        }
        for (uint32_t i = 0; i < count; i++) {
            const uint64_t key = w->key[from[i]] - range.smallest;
            to[at[key >> shift & 2047]++] = from[i];
        }
        memcpy(w->order[0], to, count * sizeof *to);
    }
}

static uint64_t ts__put_end(const uint64_t *line, bool spans)
{
    return line[0] + (spans ? line[1] : 0);
}

// Sorts the lines by their ends; of zones with the same end the inner ones come
// first.
static void ts__put_order(ts_writer *w, uint32_t kind, uint32_t count)
{
    const bool spans = ts_event_columns(kind)[1] == TS_COLUMN_DURATION;
    bool sorted = true, tied = false;
    for (uint32_t i = 0; i < count; i++) {
        w->order[0][i] = (uint16_t)i;
        w->key[i] = ts__put_end(w->line[i], spans);
        if (i && w->key[i] < w->key[i - 1]) sorted = false;
    }
    if (!sorted) ts__put_sort(w, count);
    if (kind != TS_EVENT_ZONE) return;
    for (uint32_t i = 1; i < count && !tied; i++) {
        const uint16_t a = w->order[0][i - 1], b = w->order[0][i];
        tied = w->key[a] == w->key[b] && w->line[a][0] < w->line[b][0];
    }
    if (!tied) return;
    for (uint32_t i = 0; i < count; i++) {
        w->order[0][i] = (uint16_t)i;
        w->key[i] = ~w->line[i][0];
    }
    ts__put_sort(w, count);
    for (uint32_t i = 0; i < count; i++)
        w->key[i] = ts__put_end(w->line[i], spans);
    ts__put_sort(w, count);
}

// Copies the lines, in order, into the encoder's columns.
static void ts__put_load(ts_writer *w, uint32_t kind, uint32_t count)
{
    ts__encoder *const e = w->encoder;
    const uint32_t width = w->width[kind];
    const uint32_t text = w->cell[kind][TS_COLUMN_TEXT];
    e->text_used = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t from = w->order[0][i];
        const uint64_t *const line = w->line[from];
        e->track[i] = w->owner[from]->track;
        for (uint32_t c = 0; c < width; c++)
            e->column[c][i] = line[c];
        if (text == 255) continue;
        e->text_size[i] = (uint32_t)line[text];
        if (!e->text_size[i]) continue;
        memcpy(e->text + e->text_used,
               w->owner[from]->text + (line[text] >> 32), e->text_size[i]);
        e->text_used += e->text_size[i];
    }
}

// Writes the lines as a chunk.
static void ts__put_chunk(ts_writer *w, uint32_t kind, uint32_t count)
{
    if (!count) return;
    ts__put_entries(w);
    if (w->file.error != TS_OK) return;
    ts__put_order(w, kind, count);
    ts__put_load(w, kind, count);
    ts__put_encode(w, kind, count);
}

// Adds rows to the `count` waiting lines; returns the new count.
static uint32_t ts__put_lines(ts_writer *w, const ts__put_rows *rows,
                              uint32_t count)
{
    const uint32_t width = w->width[rows->kind];
    for (uint32_t i = 0; i < rows->count; i++) {
        w->line[count] = rows->cells + (size_t)i * width;
        w->owner[count++] = rows;
    }
    return count;
}

// Writes a list that has enough rows for a chunk.
static void ts__put_full(ts_writer *w, ts__put_rows *rows)
{
    ts__put_chunk(w, rows->kind, ts__put_lines(w, rows, 0));
    rows->count = 0;
    rows->text_used = 0;
}

// Writes all rows of a kind: a chunk for each track with many rows, and common
// chunks for the others.
static void ts__put_kind(ts_writer *w, uint32_t kind)
{
    uint32_t lines = 0, first = 0;
    uint64_t text = 0;
    for (uint32_t i = 0; i < w->rows_count; i++) {
        ts__put_rows *const rows = &w->rows[i];
        if (rows->kind != kind || rows->count < TS__PUT_FEW) continue;
        ts__put_full(w, rows);
        ts__put_forget(w, rows);
    }
    for (uint32_t i = 0; i <= w->rows_count; i++) {
        ts__put_rows *const rows = i < w->rows_count ? &w->rows[i] : NULL;
        if (rows && (rows->kind != kind || !rows->count)) continue;
        if (!rows || lines + rows->count > TS__BATCH_ROWS ||
            text + rows->text_used > TS__BATCH_TEXT) {
            ts__put_chunk(w, kind, lines);
            for (; first < i; first++)
                if (w->rows[first].kind == kind)
                    ts__put_forget(w, &w->rows[first]);
            lines = 0;
            text = 0;
        }
        if (!rows) break;
        lines = ts__put_lines(w, rows, lines);
        text += rows->text_used;
    }
}

// Frees memory by writing the kind that takes most of it.
static void ts__put_relieve(ts_writer *w)
{
    uint64_t sizes[TS_EVENT_LIMIT] = { 0 };
    uint32_t most = 0;
    for (uint32_t i = 0; i < w->rows_count; i++)
        sizes[w->rows[i].kind] += ts__put_size(w, &w->rows[i]);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        if (sizes[kind] > sizes[most]) most = kind;
    ts__put_kind(w, most);
}

static bool ts__put_rows_grow(ts_writer *w, ts__put_rows *rows)
{
    const uint64_t before = ts__put_size(w, rows);
    void *cells = rows->cells;
    const bool done =
        ts__put_room(w, &cells, &rows->capacity, rows->count + 1,
                     (size_t)w->width[rows->kind] * sizeof *rows->cells);
    rows->cells = (uint64_t *)cells;
    w->memory += ts__put_size(w, rows) - before;
    return done;
}

// Makes room for another row; NULL if it is not to be written.
static ts__put_rows *ts__put_begin(ts_writer *w, uint32_t kind, uint32_t track,
                                   int64_t start_ns, int64_t duration_ns)
{
    if (TS__UNLIKELY(w->file.error != TS_OK)) return NULL;
    if (kind >= TS_EVENT_LIMIT || !w->width[kind] || !track ||
        track == TS_TRACK_MIXED) {
        ts__put_failed(w, TS_ERR_USAGE);
        return NULL;
    }
    ts__put_rows *rows = ts__put_rows_of(w, kind, track);
    if (rows && (start_ns > TS__PUT_FAR || start_ns < -TS__PUT_FAR ||
                 (w->cell[kind][TS_COLUMN_DURATION] != 255 &&
                  (duration_ns < 0 || duration_ns > TS__PUT_FAR)))) {
        rows->bad++;
        return NULL;
    }
    if (rows && rows->count == TS__BATCH_ROWS) ts__put_full(w, rows);
    if (rows && rows->count == rows->capacity && !ts__put_rows_grow(w, rows))
        rows = NULL;
    if (!rows) ts__put_failed(w, TS_ERR_MEMORY);
    return rows;
}

static void ts__put_finish(ts_writer *w, ts__put_rows *rows)
{
    rows->count++;
    if (TS__UNLIKELY(w->memory > TS__PUT_MEMORY)) ts__put_relieve(w);
}

// Fills in the times and values of the row after the last one.
static uint64_t *ts__put_cells(ts_writer *w, const ts__put_rows *rows,
                               int64_t start_ns, int64_t duration_ns,
                               const ts_writer_value *values, size_t count)
{
    const uint8_t *const cell = w->cell[rows->kind];
    const uint32_t width = w->width[rows->kind];
    uint64_t *const cells = rows->cells + (size_t)rows->count * width;
    for (uint32_t i = 1; i < width; i++)
        cells[i] = 0;
    cells[0] = TS__PUT_EPOCH + (uint64_t)start_ns;
    if (cell[TS_COLUMN_DURATION] != 255) cells[1] = (uint64_t)duration_ns;
    for (size_t i = 0; i < count; i++) {
        const uint32_t column = (uint32_t)values[i].column;
        if (column <= TS_COLUMN_DURATION || column == TS_COLUMN_TEXT ||
            column >= TS_COLUMN_LIMIT || cell[column] == 255) {
            ts__put_failed(w, TS_ERR_USAGE);
            return cells;
        }
        cells[cell[column]] = values[i].value;
    }
    return cells;
}

void ts_writer_event(ts_writer *w, ts_event_kind kind, uint32_t track,
                     int64_t start_ns, int64_t duration_ns,
                     const ts_writer_value *values, size_t count)
{
    ts__put_rows *const rows =
        ts__put_begin(w, (uint32_t)kind, track, start_ns, duration_ns);
    if (!rows) return;
    ts__put_cells(w, rows, start_ns, duration_ns, values, count);
    ts__put_finish(w, rows);
}

void ts_writer_event_text(ts_writer *w, ts_event_kind kind, uint32_t track,
                          int64_t start_ns, int64_t duration_ns,
                          const ts_writer_value *values, size_t count,
                          const char *text, size_t text_size)
{
    if (text_size > TS__NAME_MAX) text_size = TS__NAME_MAX;
    ts__put_rows *const rows =
        ts__put_begin(w, (uint32_t)kind, track, start_ns, duration_ns);
    if (!rows) return;
    if (w->cell[kind][TS_COLUMN_TEXT] == 255) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    if (rows->text_used + text_size > TS__BATCH_TEXT) ts__put_full(w, rows);
    const uint64_t before = ts__put_size(w, rows);
    void *bytes = rows->text;
    if (!ts__put_room(w, &bytes, &rows->text_capacity,
                      rows->text_used + (uint32_t)text_size, 1)) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return;
    }
    rows->text = (uint8_t *)bytes;
    w->memory += ts__put_size(w, rows) - before;
    uint64_t *const cells =
        ts__put_cells(w, rows, start_ns, duration_ns, values, count);
    cells[w->cell[kind][TS_COLUMN_TEXT]] =
        (uint64_t)rows->text_used << 32 | text_size;
    if (text_size) memcpy(rows->text + rows->text_used, text, text_size);
    rows->text_used += (uint32_t)text_size;
    ts__put_finish(w, rows);
}
