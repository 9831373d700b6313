/* ---- 12.18 Traces from known times -------------------------------------- */

#if defined(TRACESMITH_IMPLEMENTATION) && !defined(TRACESMITH_DISABLE) && \
    defined(TRACESMITH_WRITER) && !defined(TS__WRITER_IMPLEMENTED)
#define TS__WRITER_IMPLEMENTED

/*
    Events wait as rows of u64 cells, for each kind on each track, until there
    are enough for a chunk or the memory for all of them is used up. Then they
    go through the recorder's encoder and writer, whose state lies in a
    sidecar that is memory of our own, as a snapshot's does.
*/
#define TS__PUT_MEMORY  (64u << 20)         // that rows may take, all together
#define TS__PUT_EPOCH   (UINT64_C(1) << 62) // the tick of trace time 0
#define TS__PUT_FAR     (INT64_C(1) << 61)
#define TS__PUT_ENTRIES (256u << 10) // bytes of one dictionary held back
enum { TS__PUT_FEW = 64 };   // rows that are not worth a chunk of their own
enum { TS__PUT_MANY = 512 }; // rows that become a chunk without waiting

typedef struct ts__put_rows {
    uint64_t *cells; // `capacity` rows; a text's cell: offset << 32 | size
    uint8_t *text;
    uint32_t track, kind;
    uint32_t count, capacity;
    uint32_t text_used, text_capacity;
    uint64_t bad; // events left out
} ts__put_rows;

// Entries of one kind for the next chunk, which is built in place.
typedef struct ts__put_list {
    uint8_t *bytes;
    size_t size, capacity;
    uint32_t count;
} ts__put_list;

typedef struct ts__put_known { // an entry by the hash of kind and contents
    uint64_t low, high;
    uint32_t id; // 0: free
} ts__put_known;

struct ts_writer {
    ts__writer file;
    ts__encoder *encoder;
    char path[TS__PATH_MAX], beside[TS__PATH_MAX + 8];
    // Dictionaries.
    ts__put_known *known;
    uint32_t known_mask, known_count;
    uint32_t last_id[TS_CHUNK_BLOB + 1];
    ts__put_list lists[TS_CHUNK_SYMBOLS + 1]; // by kind of chunk
    uint64_t end; // extended: where the end chunk was; 0: not extended
    ts_chunk_header end_chunk;
    // Rows.
    uint8_t width[TS_EVENT_LIMIT]; // cells of a row, 0: no such kind
    uint8_t cell[TS_EVENT_LIMIT][TS_COLUMN_LIMIT]; // 255: none
    ts__put_rows *rows;
    uint32_t rows_count, rows_capacity, rows_last;
    uint32_t *table; // of positions in rows, + 1
    uint32_t table_mask;
    uint64_t memory;    // that rows take
    uint64_t start_raw; // CLOCK_MONOTONIC_RAW at trace time 0
    // One chunk's rows on their way to the encoder.
    const uint64_t *line[TS__BATCH_ROWS];
    const ts__put_rows *owner[TS__BATCH_ROWS];
    uint64_t key[TS__BATCH_ROWS];
    uint16_t order[2][TS__BATCH_ROWS];
};

static void ts__put_failed(ts_writer *w, ts_result result)
{
    ts__writer_failed(&w->file, result);
}

// Grows an array to hold count elements and some more; false without memory.
static bool ts__put_room(void **array, uint32_t *capacity, uint32_t count,
                         size_t size)
{
    uint32_t next = *capacity ? *capacity : 4;
    if (count <= *capacity) return true;
    while (next < count)
        next *= 2;
    void *const more = realloc(*array, next * size);
    if (!more) return false;
    *array = more;
    *capacity = next;
    return true;
}

/* Dictionaries. */

static void ts__put_append(ts_writer *w, uint8_t *bytes, size_t size)
{
    ts_result result = ts__writer_prepare(&w->file, 1);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK)
        result = ts__writer_append(&w->file, bytes, size, NULL, &commit);
    ts__put_failed(w, result);
}

// Writes the entries that wait, in the order in which they refer to others.
static void ts__put_entries(ts_writer *w)
{
    static const uint8_t kinds[] = { TS_CHUNK_NAMES,    TS_CHUNK_SITES,
                                     TS_CHUNK_TRACKS,   TS_CHUNK_LAUNCHES,
                                     TS_CHUNK_MODULES,  TS_CHUNK_STACKS,
                                     TS_CHUNK_METADATA, TS_CHUNK_LOSS,
                                     TS_CHUNK_SYMBOLS };
    for (size_t i = 0; i < sizeof kinds && w->file.error == TS_OK; i++) {
        ts__put_list *const list = &w->lists[kinds[i]];
        if (!list->count) continue;
        const uint8_t *const end =
            ts__entries_end(list->bytes, list->bytes + list->size, list->count);
        ts__put_append(w, list->bytes, (size_t)(end - list->bytes));
        list->count = 0;
    }
}

// Adds an entry whose body is two pieces.
static void ts__put_entry(ts_writer *w, uint32_t kind, uint32_t id,
                          const void *body, size_t size, const void *more,
                          size_t more_size)
{
    ts__put_list *const list = &w->lists[kind];
    if (w->file.error != TS_OK) return;
    if (list->count && list->size > TS__PUT_ENTRIES) ts__put_entries(w);
    if (!list->count) list->size = sizeof(ts_chunk_header);
    const size_t need = list->size + 8 + size + more_size + 8;
    if (need > list->capacity) {
        uint8_t *const bytes = (uint8_t *)realloc(list->bytes, 2 * need);
        if (!bytes) {
            ts__put_failed(w, TS_ERR_MEMORY);
            return;
        }
        list->bytes = bytes;
        list->capacity = 2 * need;
    }
    if (!list->count++) ts__entries_begin(list->bytes, kind);
    uint8_t *p = list->bytes + list->size;
    p = ts__entries_add(p, id, body, (uint32_t)size);
    if (more_size) memcpy(p, more, more_size);
    const uint32_t whole = (uint32_t)(size + more_size);
    memcpy(list->bytes + list->size + 4, &whole, sizeof whole);
    list->size = (size_t)(p - list->bytes) + more_size;
}

static bool ts__put_known_grow(ts_writer *w)
{
    const uint32_t count = w->known ? 2 * (w->known_mask + 1) : 1024;
    ts__put_known *const known = (ts__put_known *)calloc(count, sizeof *known);
    if (!known) return false;
    for (uint32_t i = 0; w->known && i <= w->known_mask; i++) {
        if (!w->known[i].id) continue;
        uint32_t at = (uint32_t)w->known[i].low & (count - 1);
        while (known[at].id)
            at = (at + 1) & (count - 1);
        known[at] = w->known[i];
    }
    free(w->known);
    w->known = known;
    w->known_mask = count - 1;
    return true;
}

// The number of what has a hash, a new one if it is not known; 0: no memory.
static uint32_t ts__put_find(ts_writer *w, uint32_t kind, XXH128_hash_t hash,
                             bool *known)
{
    *known = false;
    if ((!w->known || w->known_count > w->known_mask / 2) &&
        !ts__put_known_grow(w)) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return 0;
    }
    uint32_t at = (uint32_t)hash.low64 & w->known_mask;
    for (; w->known[at].id; at = (at + 1) & w->known_mask) {
        *known =
            w->known[at].low == hash.low64 && w->known[at].high == hash.high64;
        if (*known) return w->known[at].id;
    }
    w->known_count++;
    w->known[at].low = hash.low64;
    w->known[at].high = hash.high64;
    w->known[at].id = ++w->last_id[kind];
    return w->known[at].id;
}

// The number of an entry, a new one if it was not there before. Contents are
// told apart by their XXH3-128 alone, as blobs are.
static uint32_t ts__put_define(ts_writer *w, uint32_t kind, const void *body,
                               size_t size, const void *more, size_t more_size)
{
    XXH3_state_t state;
    XXH128_hash_t hash = XXH3_128bits_withSeed(body, size, kind);
    if (more_size) {
        XXH3_128bits_reset_withSeed(&state, kind);
        XXH3_128bits_update(&state, body, size);
        XXH3_128bits_update(&state, more, more_size);
        hash = XXH3_128bits_digest(&state);
    }
    bool known;
    const uint32_t id = ts__put_find(w, kind, hash, &known);
    if (id && !known) ts__put_entry(w, kind, id, body, size, more, more_size);
    return id;
}

uint32_t ts_writer_name(ts_writer *w, const char *text, size_t size)
{
    if (size > TS__NAME_MAX) size = TS__NAME_MAX;
    return ts__put_define(w, TS_CHUNK_NAMES, text ? text : "", text ? size : 0,
                          NULL, 0);
}

uint32_t ts_writer_site(ts_writer *w, const ts_site_entry *site)
{
    return ts__put_define(w, TS_CHUNK_SITES, site, sizeof *site, NULL, 0);
}

uint32_t ts_writer_launch(ts_writer *w, const ts_launch_entry *launch)
{
    return ts__put_define(w, TS_CHUNK_LAUNCHES, launch, sizeof *launch, NULL,
                          0);
}

uint32_t ts_writer_module(ts_writer *w, const ts_module_entry *module,
                          const void *build_id, size_t build_id_size)
{
    ts_module_entry entry = *module;
    entry.unused = 0;
    return ts__put_define(w, TS_CHUNK_MODULES, &entry, sizeof entry, build_id,
                          !build_id            ? 0
                          : build_id_size < 64 ? build_id_size
                                               : 64);
}

uint32_t ts_writer_stack(ts_writer *w, const ts_frame_entry *frames,
                         uint32_t count)
{
    if (count > 4096) count = 4096;
    return ts__put_define(w, TS_CHUNK_STACKS, frames, count * sizeof *frames,
                          NULL, 0);
}

uint32_t ts_writer_symbol(ts_writer *w, const ts_frame_entry *frame,
                          const ts_line_entry *lines, uint32_t count)
{
    const ts_symbol_entry entry = { frame->module, 0, frame->offset };
    return ts__put_define(w, TS_CHUNK_SYMBOLS, &entry, sizeof entry, lines,
                          count * sizeof *lines);
}

uint32_t ts_writer_track(ts_writer *w, uint32_t id, const ts_track_entry *track)
{
    ts_track_entry entry = *track;
    memset(entry.unused, 0, sizeof entry.unused);
    if (!id) id = w->last_id[TS_CHUNK_TRACKS] + 1;
    if (id > w->last_id[TS_CHUNK_TRACKS]) w->last_id[TS_CHUNK_TRACKS] = id;
    if (!id || id == TS_TRACK_MIXED) {
        ts__put_failed(w, TS_ERR_USAGE);
        return 0;
    }
    ts__put_entry(w, TS_CHUNK_TRACKS, id, &entry, sizeof entry, NULL, 0);
    return id;
}

void ts_writer_metadata(ts_writer *w, uint32_t track, const char *key,
                        ts_value_type type, uint64_t value)
{
    ts_metadata_entry entry;
    entry.key = ts_writer_name(w, key, strlen(key));
    entry.type = (uint32_t)type;
    entry.value = value;
    ts__put_entry(w, TS_CHUNK_METADATA, track, &entry, sizeof entry, NULL, 0);
}

static uint64_t ts__put_tick(int64_t time_ns)
{
    const int64_t near = time_ns > TS__PUT_FAR    ? TS__PUT_FAR
                         : time_ns < -TS__PUT_FAR ? -TS__PUT_FAR
                                                  : time_ns;
    return TS__PUT_EPOCH + (uint64_t)near;
}

void ts_writer_stall(ts_writer *w, uint32_t track, uint32_t cause,
                     uint32_t detail, uint64_t count, int64_t first_ns,
                     int64_t last_ns, uint64_t stall_ns)
{
    ts_loss_entry entry;
    memset(&entry, 0, sizeof entry);
    entry.cause = cause;
    entry.detail = detail;
    entry.count = count;
    entry.first = ts__put_tick(first_ns);
    entry.last = ts__put_tick(last_ns);
    entry.stall_ns = stall_ns;
    ts__put_entry(w, TS_CHUNK_LOSS, track, &entry, sizeof entry, NULL, 0);
}

void ts_writer_loss(ts_writer *w, uint32_t track, uint32_t cause,
                    uint32_t detail, uint64_t count, int64_t first_ns,
                    int64_t last_ns)
{
    ts_writer_stall(w, track, cause, detail, count, first_ns, last_ns, 0);
}

/* Rows. */

static uint64_t ts__put_hash(uint32_t track, uint32_t kind)
{
    return (((uint64_t)track << 5) | kind) * UINT64_C(0x9E3779B97F4A7C15) >> 32;
}

static bool ts__put_table_grow(ts_writer *w)
{
    const uint32_t count = w->table ? 2 * (w->table_mask + 1) : 256;
    uint32_t *const table = (uint32_t *)calloc(count, sizeof *table);
    if (!table) return false;
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

// The rows of a kind on a track; NULL without memory.
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
    if (!ts__put_room(&rows, &w->rows_capacity, w->rows_count + 1,
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

// Puts w->order[0] in the order of w->key, of which there are count; equal
// ones stay as they are.
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

// Orders the lines by their ends; of zones with the same end the inner ones
// come first.
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

// Moves the lines, in order, into the encoder's columns.
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

// Writes what is in the encoder's columns as a chunk.
static void ts__put_encode(ts_writer *w, uint32_t kind, uint32_t count)
{
    ts__encoder *const e = w->encoder;
    ts__encoder_reset(e);
    if (kind == TS_EVENT_ZONE) {
        uint32_t track = (uint32_t)e->track[0];
        for (uint32_t i = 1; i < count; i++)
            if (e->track[i] != track) track = TS_TRACK_MIXED;
        ts__encode_zones(e, track, count);
    } else {
        ts__encode_rows(e, kind, 0, count);
    }
    ts_result result = ts__writer_prepare(&w->file, 1);
    ts__commit commit = ts__commit_begin(&w->file);
    if (result == TS_OK) result = ts__writer_chunks(&w->file, e, &commit);
    ts__put_failed(w, result);
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

// Adds rows to the count lines that wait; returns how many there are then.
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

// Rows enough for a chunk.
static void ts__put_full(ts_writer *w, ts__put_rows *rows)
{
    ts__put_chunk(w, rows->kind, ts__put_lines(w, rows, 0));
    rows->count = 0;
    rows->text_used = 0;
}

// Writes all rows of a kind: tracks with many rows a chunk each, the others
// together.
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

// Frees memory by writing the kind that has most of it.
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
        ts__put_room(&cells, &rows->capacity, rows->count + 1,
                     (size_t)w->width[rows->kind] * sizeof *rows->cells);
    rows->cells = (uint64_t *)cells;
    w->memory += ts__put_size(w, rows) - before;
    return done;
}

// Room for another row; NULL if it is not to be written.
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

// The times and values of the row after the last one.
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
    if (!ts__put_room(&bytes, &rows->text_capacity,
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

/* Columns of events. */

static uint32_t ts__rows_track(const ts_rows *rows, uint32_t i)
{
    return rows->tracks ? rows->tracks[i] : rows->track;
}

// Whether they can become chunks as they stand.
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

// One of them by itself.
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

// Those on the same tracks that wait come before.
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

// Puts the texts from row `first` on into the encoder, at most `count`;
// returns how many found room, one at least.
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

// Rows from `first` on as a chunk; returns how many it took.
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

/* Blobs. */

static void ts__put_blob(ts_writer *w, uint32_t kind, const uint64_t key[2],
                         const void *bytes, size_t size)
{
    const size_t whole = (sizeof(ts_chunk_header) + 16 + size + 7) & ~(size_t)7;
    uint8_t *const chunk = (uint8_t *)ts__pages_new(whole);
    if (!chunk) {
        ts__put_failed(w, TS_ERR_MEMORY);
        return;
    }
    uint8_t *p = ts__entries_begin(chunk, kind);
    memcpy(p, key, 16);
    if (size) memcpy(p + 16, bytes, size);
    ts__entries_end(chunk, p + 16 + size, 1);
    ts__put_append(w, chunk, whole);
    munmap(chunk, whole);
}

void ts_writer_blob(ts_writer *w, const void *bytes, size_t size,
                    uint64_t hash[2])
{
    if ((!bytes && size) || size > UINT32_MAX - 31u) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(bytes, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    if (hash) memcpy(hash, key, sizeof key);
    bool known;
    ts__put_find(w, TS_CHUNK_BLOB, XXH3_128bits_withSeed(key, 16, 17), &known);
    if (w->file.error == TS_OK && !known)
        ts__put_blob(w, TS_CHUNK_BLOB, key, bytes, size);
}

void ts_writer_capture(ts_writer *w, const void *record, size_t size)
{
    if (!record || !size || size > TS_CHUNK_BYTES_MAX - 16) {
        ts__put_failed(w, TS_ERR_USAGE);
        return;
    }
    const XXH128_hash_t sum = XXH3_128bits(record, size);
    const uint64_t key[2] = { sum.low64, sum.high64 };
    ts__put_entries(w); // names that it refers to come before it
    if (w->file.error == TS_OK)
        ts__put_blob(w, TS_CHUNK_CAPTURE, key, record, size);
}

/* Open and close. */

static void ts__put_columns(ts_writer *w)
{
    memset(w->cell, 255, sizeof w->cell);
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++) {
        const uint8_t *const columns = ts_event_columns(kind);
        if (!columns) continue;
        for (uint8_t i = 0; columns[i]; i++) {
            w->cell[kind][columns[i]] = i;
            w->width[kind] = (uint8_t)(i + 1);
        }
    }
}

static void ts__put_header(ts_file_header *header, const ts_writer_desc *desc)
{
    static const uint8_t none[16] = { 0 };
    const XXH128_hash_t usual = XXH3_128bits("tracesmith", 10);
    const uint64_t session[2] = { usual.low64, usual.high64 };
    memcpy(header->magic, TS_FILE_MAGIC, sizeof header->magic);
    header->major = TS_FORMAT_MAJOR;
    header->minor = TS_FORMAT_MINOR;
    memcpy(header->session,
           memcmp(desc->session, none, 16) ? (const void *)desc->session
                                           : (const void *)session,
           16);
    header->start_tick = TS__PUT_EPOCH;
    header->start_realtime_ns = desc->start_realtime_ns;
    header->process = desc->process;
    ts__header_seal(header);
}

// The paths: a link is followed, so that the file it means is replaced.
static ts_result ts__put_paths(ts_writer *w, const char *path)
{
    struct stat st;
    char whole[PATH_MAX];
    if (stat(path, &st) == 0) {
        if (!S_ISREG(st.st_mode)) return TS_ERR_NOT_FILE;
        if (!realpath(path, whole)) return TS_ERR_IO;
        path = whole;
    }
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    snprintf(w->beside, sizeof w->beside, "%s.part", w->path);
    return TS_OK;
}

// Its one clock counts nanoseconds.
static ts_clock_entry ts__put_sample(const ts_writer *w, int64_t time_ns)
{
    ts_clock_entry sample;
    memset(&sample, 0, sizeof sample);
    sample.type =
        w->start_raw == TS__PUT_EPOCH ? TS_CLOCK_OTHER : TS_CLOCK_MONOTONIC_RAW;
    sample.tick = ts__put_tick(time_ns);
    sample.raw_ns = w->start_raw + (sample.tick - TS__PUT_EPOCH);
    return sample;
}

static ts_result ts__put_clock(ts_writer *w, const ts_writer_desc *desc)
{
    w->start_raw = desc->start_raw_ns ? desc->start_raw_ns : TS__PUT_EPOCH;
    ts_clock_entry sample = ts__put_sample(w, 0);
    sample.realtime_ns = desc->start_realtime_ns;
    sample.boottime_ns = desc->start_boottime_ns;
    return ts__writer_clock(&w->file, 0, &sample);
}

void ts_writer_clock(ts_writer *w, int64_t time_ns, uint64_t realtime_ns,
                     uint64_t boottime_ns, uint64_t uncertainty_ns)
{
    if (w->file.error != TS_OK) return;
    ts_clock_entry sample = ts__put_sample(w, time_ns);
    sample.realtime_ns = realtime_ns;
    sample.boottime_ns = boottime_ns;
    sample.uncertainty_ns = uncertainty_ns;
    ts__put_failed(w, ts__writer_clock(&w->file, 0, &sample));
}

static void ts__put_free(ts_writer *w)
{
    for (uint32_t i = 0; i < w->rows_count; i++)
        ts__put_forget(w, &w->rows[i]);
    for (size_t i = 0; i < sizeof w->lists / sizeof *w->lists; i++)
        free(w->lists[i].bytes);
    free(w->rows);
    free(w->table);
    free(w->known);
    if (w->encoder) munmap(w->encoder, sizeof *w->encoder);
    if (w->file.scratch) munmap(w->file.scratch, TS__SCRATCH_BYTES);
    if (w->file.sidecar) munmap(w->file.sidecar, sizeof *w->file.sidecar);
    munmap(w, sizeof *w);
}

static ts_result ts__put_open(ts_writer *w, const ts_writer_desc *desc)
{
    ts_result result = ts__put_paths(w, desc->path);
    if (result != TS_OK) return result;
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    if (!w->encoder || !w->file.scratch || !w->file.sidecar)
        return TS_ERR_MEMORY;
    w->encoder->compress = desc->compress ? 3 : 0;
    ts__put_columns(w);
    ts__put_header(&w->file.sidecar->head.header, desc);
    result = ts__writer_create(&w->file, w->beside);
    if (result == TS_OK) result = ts__put_clock(w, desc);
    return result;
}

ts_result ts_writer_open(ts_writer **writer, const ts_writer_desc *desc)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!desc || !desc->path) return TS_ERR_USAGE;
#ifndef TRACESMITH_ZSTD
    if (desc->compress) return TS_ERR_UNSUPPORTED;
#endif
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->file.file.fd = -1;
    const ts_result result = ts__put_open(w, desc);
    if (result == TS_OK) {
        *writer = w;
    } else {
        // Another process's file stays as it is.
        if (w->beside[0] && result != TS_ERR_BUSY) unlink(w->beside);
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

void ts_writer_origin(ts_writer *w, int64_t time_ns, uint64_t realtime_ns)
{
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (w->file.error != TS_OK) return;
    header->start_tick = ts__put_tick(time_ns);
    header->start_realtime_ns = realtime_ns;
    ts__header_seal(header);
    ts__put_failed(w,
                   ts__file_write(w->file.file.fd, 0, header, sizeof *header));
}

ts_result ts_writer_error(const ts_writer *w)
{
    return w->file.error;
}

static void ts__put_bad(ts_writer *w)
{
    for (uint32_t i = 0; i < w->rows_count; i++) {
        const ts__put_rows *const rows = &w->rows[i];
        if (!rows->bad) continue;
        const char *const text = "time out of range";
        ts_writer_loss(w, rows->track, TS_LOSS_BAD_RECORD,
                       ts_writer_name(w, text, strlen(text)), rows->bad, 0, 0);
    }
}

// The trace as it was before it was extended.
static void ts__put_restore(ts_writer *w)
{
    const uint64_t size = w->end + sizeof w->end_chunk;
    if (ftruncate(w->file.file.fd, (off_t)size) != 0) return;
    ts__file_write(w->file.file.fd, w->end, &w->end_chunk, sizeof w->end_chunk);
}

static ts_result ts__put_extend(ts_writer *w, const char *path)
{
    struct stat st;
    ts_chunk_header end;
    ts__writer_state *const state = &w->file.sidecar->state;
    ts_file_header *const header = &w->file.sidecar->head.header;
    if (!ts__copy_text(w->path, sizeof w->path, path)) return TS_ERR_USAGE;
    w->file.path = w->path;
    if (ts__file_open(&w->file.file, path, O_RDWR, 0) < 0) return TS_ERR_IO;
    const int fd = w->file.file.fd;
    if (!ts__file_lock(fd) && (errno == EAGAIN || errno == EACCES))
        return TS_ERR_BUSY;
    if (fstat(fd, &st) != 0) return TS_ERR_IO;
    const uint64_t size = (uint64_t)st.st_size;
    if (size < sizeof *header ||
        !ts__file_read(fd, 0, header, sizeof *header) ||
        memcmp(header->magic, TS_FILE_MAGIC, sizeof header->magic) != 0)
        return TS_ERR_NOT_SBT;
    if (size < sizeof *header + sizeof end ||
        !ts__file_read(fd, size - sizeof end, &end, sizeof end) ||
        end.magic != TS_CHUNK_MAGIC || end.kind != TS_CHUNK_END ||
        end.checksum !=
            ts__checksum(
                "", 0,
                ts__checksum(&end, offsetof(ts_chunk_header, checksum), 0)))
        return TS_ERR_TRUNCATED;
    w->end = size - sizeof end;
    w->end_chunk = end;
    state->offset = w->end;
    state->sequence = end.sequence;
    state->index_offset = end.first;
    return TS_OK;
}

ts_result ts_writer_extend(ts_writer **writer, const char *path, uint32_t names,
                           uint32_t symbols)
{
    if (!writer) return TS_ERR_USAGE;
    *writer = NULL;
    if (!path) return TS_ERR_USAGE;
    ts_writer *const w = (ts_writer *)ts__pages_new(sizeof *w);
    if (!w) return TS_ERR_MEMORY;
    w->file.file.fd = -1;
    w->last_id[TS_CHUNK_NAMES] = names;
    w->last_id[TS_CHUNK_SYMBOLS] = symbols;
    ts__put_columns(w);
    w->encoder = (ts__encoder *)ts__pages_new(sizeof *w->encoder);
    w->file.scratch = (uint8_t *)ts__pages_new(TS__SCRATCH_BYTES);
    w->file.sidecar = (ts__sidecar *)ts__pages_new(sizeof *w->file.sidecar);
    ts_result result = TS_ERR_MEMORY;
    if (w->encoder && w->file.scratch && w->file.sidecar)
        result = ts__put_extend(w, path);
    if (result == TS_OK) {
        *writer = w;
    } else {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    }
    return result;
}

ts_result ts_writer_close(ts_writer *w)
{
    if (!w) return TS_ERR_USAGE;
    for (uint32_t kind = 1; kind < TS_EVENT_LIMIT; kind++)
        ts__put_kind(w, kind);
    ts__put_bad(w);
    ts__put_entries(w);
    w->file.final = true;
    if (w->file.error == TS_OK) ts__put_failed(w, ts__writer_finish(&w->file));
    if (w->file.error == TS_OK && !w->end && rename(w->beside, w->path) != 0)
        ts__put_failed(w, TS_ERR_IO);
    const ts_result result = w->file.error;
    if (result == TS_OK) {
        ts__file_close(&w->file.file);
        ts__put_free(w);
    } else {
        ts_writer_abandon(w);
    }
    return result;
}

void ts_writer_abandon(ts_writer *w)
{
    if (!w) return;
    if (w->end)
        ts__put_restore(w);
    else
        unlink(w->beside);
    ts__file_close(&w->file.file);
    ts__put_free(w);
}

#endif // TRACESMITH_WRITER

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif
