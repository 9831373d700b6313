/* ---- Writer: events as columns ------------------------------------------ */

static uint32_t ts__rows_track(const ts_rows *rows, uint32_t i)
{
    return rows->tracks ? rows->tracks[i] : rows->track;
}

// Whether the rows can become chunks as they are.
static bool ts__rows_sound(const ts_rows *rows, bool spans)
{
    uint64_t bad = 0;
    for (uint32_t i = 0; i < rows->count; i++) {
        const uint32_t track = ts__rows_track(rows, i);
        bad |= !track | (track == TS_TRACK_MIXED);
        bad |= (uint64_t)rows->start_ns[i] + (uint64_t)TS__PUT_FAR >
               2 * (uint64_t)TS__PUT_FAR;
    }
    for (uint32_t i = 0; spans && i < rows->count; i++)
        bad |= (uint64_t)rows->duration_ns[i] > (uint64_t)TS__PUT_FAR;
    return !bad;
}

// Writes one row by itself.
static void ts__rows_one(ts_writer *w, const ts_rows *rows, uint32_t i)
{
    const uint8_t *const columns = ts_event_columns(rows->kind);
    ts_writer_value values[TS__COLUMNS_PER_EVENT];
    size_t count = 0;
    bool text = false;
    for (uint32_t c = 0; columns && columns[c]; c++) {
        const uint64_t *const of = rows->values[columns[c]];
        if (columns[c] == TS_COLUMN_TEXT) text = rows->text_sizes != NULL;
        if (columns[c] <= TS_COLUMN_DURATION || columns[c] == TS_COLUMN_TEXT ||
            !of)
            continue;
        values[count].column = (ts_column)columns[c];
        values[count++].value = of[i];
    }
    if (text)
        ts_writer_event_text(w, rows->kind, ts__rows_track(rows, i),
                             rows->start_ns[i], rows->duration_ns[i], values,
                             count, rows->texts[i], rows->text_sizes[i]);
    else
        ts_writer_event(w, rows->kind, ts__rows_track(rows, i),
                        rows->start_ns[i], rows->duration_ns[i], values, count);
}

// Writes the rows waiting on the same tracks, which come before these.
static void ts__rows_flush(ts_writer *w, const ts_rows *rows)
{
    if (rows->tracks) {
        ts__put_kind(w, (uint32_t)rows->kind);
        return;
    }
    ts__put_rows *const waiting =
        ts__put_rows_of(w, (uint32_t)rows->kind, rows->track);
    if (!waiting) ts__put_failed(w, TS_ERR_MEMORY);
    if (waiting && waiting->count) ts__put_full(w, waiting);
}

// Copies the texts of `count` rows from `first` on into the encoder; returns
// how many fit, at least one.
static uint32_t ts__rows_texts(ts__encoder *e, const ts_rows *rows,
                               uint32_t first, uint32_t count)
{
    e->text_used = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size = rows->text_sizes ? rows->text_sizes[first + i] : 0;
        if (size > TS__NAME_MAX) size = TS__NAME_MAX;
        if (e->text_used + size > TS__BATCH_TEXT) return i;
        e->text_size[i] = size;
        if (size) memcpy(e->text + e->text_used, rows->texts[first + i], size);
        e->text_used += size;
    }
    return count;
}

// Writes rows from `first` on as a chunk; returns how many it took.
static uint32_t ts__rows_chunk(ts_writer *w, const ts_rows *rows,
                               uint32_t first)
{
    ts__encoder *const e = w->encoder;
    const uint8_t *const columns = ts_event_columns(rows->kind);
    uint32_t count = rows->count - first;
    if (count > TS__BATCH_ROWS) count = TS__BATCH_ROWS;
    if (w->cell[rows->kind][TS_COLUMN_TEXT] != 255)
        count = ts__rows_texts(e, rows, first, count);
    for (uint32_t i = 0; i < count; i++) {
        e->track[i] = ts__rows_track(rows, first + i);
        e->column[0][i] = TS__PUT_EPOCH + (uint64_t)rows->start_ns[first + i];
    }
    for (uint32_t c = 1; columns[c]; c++) {
        const uint64_t *from = rows->values[columns[c]];
        if (columns[c] == TS_COLUMN_TEXT) continue;
        if (columns[c] == TS_COLUMN_DURATION)
            from = (const uint64_t *)rows->duration_ns;
        if (from)
            memcpy(e->column[c], from + first, count * sizeof *from);
        else
            memset(e->column[c], 0, count * sizeof *from);
    }
    ts__put_encode(w, (uint32_t)rows->kind, count);
    return count;
}

void ts_writer_rows(ts_writer *w, const ts_rows *rows)
{
    const uint32_t kind = (uint32_t)rows->kind;
    if (w->file.error != TS_OK) return;
    if (kind >= TS_EVENT_LIMIT || !w->width[kind]) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    if (rows->count < TS__PUT_MANY ||
        !ts__rows_sound(rows, w->cell[kind][TS_COLUMN_DURATION] != 255)) {
        for (uint32_t i = 0; i < rows->count; i++)
            ts__rows_one(w, rows, i);
        return;
    }
    ts__rows_flush(w, rows);
    ts__put_entries(w);
    for (uint32_t i = 0; i < rows->count && w->file.error == TS_OK;)
        i += ts__rows_chunk(w, rows, i);
}
