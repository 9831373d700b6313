/* ---- Encoder: rows and their pictures ----------------------------------- */

TS__SMALL_BEGIN
static void ts__picture_begin(ts__picture *picture, uint64_t first,
                              uint64_t last)
{
    memset(picture, 0, sizeof *picture);
    picture->first = first;
    // Cells are whole ticks wide, at least one, and reach beyond the last tick.
    picture->width = (last - first) / TS_LOD_CELLS + 1;
}

TS__SMALL_END

// The cell of a tick. Rows are nearly in order, so it is mostly the last one.
static uint32_t ts__picture_cell(ts__picture *picture, uint64_t tick)
{
    const uint64_t at = tick - picture->first;
    if (at - picture->cell * picture->width >= picture->width) {
        const uint64_t cell = at / picture->width;
        picture->cell = cell < TS_LOD_CELLS ? (uint32_t)cell : TS_LOD_CELLS - 1;
    }
    return picture->cell;
}

static void ts__picture_span(ts__picture *picture, uint64_t start, uint64_t end,
                             uint32_t id)
{
    const uint64_t width = picture->width;
    const uint32_t from = ts__picture_cell(picture, start);
    if (end - start >= picture->longest[from]) {
        picture->longest[from] = end - start;
        picture->id[from] = id;
    }
    const uint32_t to = ts__picture_cell(picture, end);
    for (uint32_t i = from; i <= to; i++) {
        const uint64_t cell = picture->first + i * width;
        const uint64_t a = start > cell ? start : cell;
        const uint64_t b = end < cell + width ? end : cell + width;
        if (b > a) picture->busy[i] += b - a;
    }
}

TS__SMALL_BEGIN
static void ts__picture_end(const ts__picture *picture,
                            uint64_t cells[TS_LOD_CELLS])
{
    const double width = (double)picture->width;
    for (uint32_t i = 0; i < TS_LOD_CELLS; i++) {
        const double share = (double)picture->busy[i] / width;
        const uint64_t busy = share >= 1 ? 65535 : (uint64_t)(share * 65535);
        const uint64_t count =
            picture->count[i] > 65535 ? 65535 : picture->count[i];
        cells[i] = picture->id[i] | busy << 32 | count << 48;
    }
}

TS__SMALL_END

// Counts rows by their start. A multiplication of doubles is fast enough for
// the frequent kinds, and its 53 bits are enough for a picture.
static void ts__picture_count(ts__picture *picture, const uint64_t *start,
                              uint32_t count)
{
    const double scale = 1 / (double)picture->width;
    const double most = TS_LOD_CELLS - 1;
    for (uint32_t i = 0; i < count; i++) {
        double at = (double)(int64_t)(start[i] - picture->first) * scale;
        at = at < most ? at : most; // before the conversion to an integer
        picture->count[at > 0 ? (uint32_t)at : 0]++;
    }
}

// Zones are coded relative to the zones inside them: docs/sbt-format.md, 8.1.
static void ts__encode_zones(ts__encoder *e, uint32_t track, uint32_t count)
{
    const uint64_t *const start = e->column[0];
    const uint64_t *const duration = e->column[1];
    uint64_t *const nest = e->column[3], *const lead = e->column[4];
    uint64_t *const tail = e->column[5];
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.track = track;
    header.count = count;
    header.event = TS_EVENT_ZONE;
    header.first = start[0];
    header.last = start[0] + duration[0];
    for (uint32_t i = 1; i < count; i++) {
        if (start[i] < header.first) header.first = start[i];
        if (start[i] + duration[i] > header.last)
            header.last = start[i] + duration[i];
    }
    uint64_t end = header.first;
    uint32_t top = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t s = start[i], t = start[i] + duration[i];
        uint32_t inside = 0;
        while (inside < top && e->root_start[top - inside - 1] >= s)
            inside++;
        if (s >= end) {
            nest[i] = 0;
            lead[i] = s - end;
            tail[i] = duration[i];
        } else if (inside && t >= end) {
            nest[i] = inside + 1;
            lead[i] = e->root_start[top - inside] - s;
            tail[i] = t - end;
            top -= inside;
        } else {
            nest[i] = 1;
            lead[i] = end - s;
            tail[i] = duration[i];
        }
        e->root_start[top] = s;
        e->root_end[top] = t;
        e->root_site[top++] = (uint32_t)e->column[2][i];
        end = t;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header.first, header.last);
#ifdef TRACESMITH_WRITER // in a session a chunk's zones are of one thread
    if (track == TS_TRACK_MIXED) top = 0;
#endif
    for (uint32_t i = 0; i < top; i++)
        ts__picture_span(&picture, e->root_start[i], e->root_end[i],
                         e->root_site[i]);
    ts__picture_count(&picture, start, count);
    ts__picture_end(&picture, e->lod[e->chunks]);
    ts__chunk chunk = ts__chunk_begin(e);
#ifdef TRACESMITH_WRITER
    if (track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
#endif
    ts__chunk_column(e, &chunk, TS_COLUMN_SITE, e->column[2], count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_NEST, nest, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_LEAD, lead, count, 0);
    ts__chunk_column(e, &chunk, TS_COLUMN_TAIL, tail, count, 0);
    ts__chunk_end(e, &chunk, &header);
}

static int ts__column_index(const uint8_t *columns, uint32_t id)
{
    for (int i = 0; columns[i]; i++)
        if (columns[i] == id) return i;
    return -1;
}

TS__SMALL_BEGIN
static float ts__counter_float(uint64_t type, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return type == TS_VALUE_DOUBLE ? (float)value : (float)(int64_t)bits;
}

static void ts__picture_counter(ts__encoder *e, const ts_chunk_header *header,
                                uint64_t cells[TS_LOD_CELLS])
{
    ts__picture picture;
    float low[TS_LOD_CELLS], high[TS_LOD_CELLS];
    const uint32_t nan_bits = 0x7FC00000u;
    ts__picture_begin(&picture, header->first, header->last);
    for (int i = 0; i < TS_LOD_CELLS; i++)
        memcpy(&low[i], &nan_bits, 4), memcpy(&high[i], &nan_bits, 4);
    for (uint32_t i = 0; i < header->count; i++) {
        const uint32_t cell = ts__picture_cell(&picture, e->column[0][i]);
        const float value = ts__counter_float(e->column[1][i], e->column[2][i]);
        if (!(low[cell] <= value)) low[cell] = value;
        if (!(high[cell] >= value)) high[cell] = value;
    }
    for (int i = 0; i < TS_LOD_CELLS; i++) {
        uint32_t a, b;
        memcpy(&a, &low[i], 4);
        memcpy(&b, &high[i], 4);
        cells[i] = a | (uint64_t)b << 32;
    }
}

static void ts__picture_rows(ts__encoder *e, const ts_chunk_header *header,
                             const uint8_t *columns)
{
    uint64_t *const cells = e->lod[e->chunks];
    const bool mixed = header->track == TS_TRACK_MIXED;
    if (header->event == TS_EVENT_COUNTER && !mixed) {
        ts__picture_counter(e, header, cells);
        return;
    }
    ts__picture picture;
    ts__picture_begin(&picture, header->first, header->last);
    ts__picture_count(&picture, e->column[0], header->count);
    if (columns[1] == TS_COLUMN_DURATION && !mixed) {
        int id = ts__column_index(columns, TS_COLUMN_LAUNCH);
        if (id < 0 && header->event == TS_EVENT_API_CALL)
            id = ts__column_index(columns, TS_COLUMN_NAME);
        uint64_t covered = header->first;
        for (uint32_t i = 0; i < header->count; i++) {
            const uint64_t end = e->column[0][i] + e->column[1][i];
            uint64_t start = e->column[0][i];
            if (start < covered) start = covered;
            if (end < start) continue;
            covered = end;
            ts__picture_span(&picture, start, end,
                             id < 0 ? 0 : (uint32_t)e->column[id][i]);
        }
    }
    ts__picture_end(&picture, cells);
}

#ifdef TRACESMITH_PICTURES
// The picture of a track, a new one at its first row; NULL: they are too many.
static ts__track_picture *ts__pictures_find(ts__encoder *e, uint32_t track,
                                            const ts_chunk_header *header)
{
    for (uint32_t at = (track * 0x9E3779B1u) >> 24;; at++) {
        uint8_t *const slot = &e->picture_slots[at % TS__PICTURED_SLOTS];
        ts__track_picture *p = *slot ? &e->pictures[*slot - 1] : NULL;
        if (p && p->track != track) continue;
        if (p) return p;
        if (e->picture_count == TS__PICTURED_TRACKS) return NULL;
        p = &e->pictures[e->picture_count++];
        p->track = track;
        p->events = 0;
        p->covered = header->first;
        ts__picture_begin(&p->picture, header->first, header->last);
        *slot = (uint8_t)e->picture_count;
        return p;
    }
}

static bool ts__pictures_take(ts__encoder *e, const ts_chunk_header *header,
                              int id)
{
    memset(e->picture_slots, 0, sizeof e->picture_slots);
    e->picture_count = 0;
    for (uint32_t i = 0; i < header->count; i++) {
        ts__track_picture *const p =
            ts__pictures_find(e, (uint32_t)e->track[i], header);
        const uint64_t end = e->column[0][i] + e->column[1][i];
        uint64_t start = e->column[0][i];
        if (!p) return false;
        p->events++;
        p->picture.count[ts__picture_cell(&p->picture, start)]++;
        if (start < p->covered) start = p->covered;
        if (end < start) continue;
        p->covered = end;
        ts__picture_span(&p->picture, start, end,
                         id < 0 ? 0 : (uint32_t)e->column[id][i]);
    }
    return true;
}

// Makes `count` cells of TS_LOD_CELLS.
static void ts__pictures_merge(uint64_t cells[TS_LOD_CELLS], uint32_t count)
{
    const uint32_t each = TS_LOD_CELLS / count;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t id = 0, most = 0, busy = 0, events = 0;
        for (uint32_t j = i * each; j < (i + 1) * each; j++) {
            const uint64_t share = cells[j] >> 32 & 0xFFFF;
            if (share >= most) id = (uint32_t)cells[j];
            if (share >= most) most = share;
            busy += share;
            events += cells[j] >> 48;
        }
        cells[i] =
            id | busy / each << 32 | (events > 65535 ? 65535 : events) << 48;
    }
}

// Adds pictures of the tracks of the chunk before, with as many cells as take
// at most half a byte for each event, entries in the index included.
static void ts__encode_pictures(ts__encoder *e, const ts_chunk_header *events,
                                const uint8_t *columns)
{
    ts_chunk_header header = *events;
    uint32_t cells = TS_LOD_CELLS;
    if (!ts__pictures_take(e, events,
                           ts__column_index(columns, TS_COLUMN_LAUNCH)))
        return;
    const uint32_t fixed = 8 + e->picture_count * 8;
    while (cells && 2 * sizeof header + fixed + e->picture_count * cells * 8 >
                        events->count / 2)
        cells /= 2;
    if (!cells) return;
    header.kind = TS_CHUNK_PICTURES;
    header.flags = 0;
    header.count = e->picture_count;
    header.stored_size = header.raw_size = fixed + e->picture_count * cells * 8;
    uint8_t *p = e->out + e->size;
    memcpy(p, &header, sizeof header);
    p += sizeof header;
    memcpy(p, &e->picture_count, 4);
    memcpy(p + 4, &cells, 4);
    p += 8;
    for (uint32_t i = 0; i < e->picture_count; i++, p += 8)
        memcpy(p, &e->pictures[i], 8); // track, events
    for (uint32_t i = 0; i < e->picture_count; i++, p += cells * 8) {
        uint64_t all[TS_LOD_CELLS];
        ts__picture_end(&e->pictures[i].picture, all);
        ts__pictures_merge(all, cells);
        memcpy(p, all, cells * 8);
    }
    e->size += sizeof header + header.stored_size;
    e->chunks++;
}
#endif

// Encodes the rows in e->column, of one kind of event and one clock, as a
// chunk.
static void ts__encode_rows(ts__encoder *e, uint32_t event, uint32_t clock,
                            uint32_t count)
{
    const uint8_t *const columns = ts_event_columns(event);
    ts_chunk_header header;
    memset(&header, 0, sizeof header);
    header.event = (uint8_t)event;
    header.clock = clock;
    header.count = count;
    header.track = (uint32_t)e->track[0];
    const bool spans = columns[1] == TS_COLUMN_DURATION;
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t start = e->column[0][i];
        const uint64_t end = start + (spans ? e->column[1][i] : 0);
        if (!i || (int64_t)(start - header.first) < 0) header.first = start;
        if (!i || (int64_t)(end - header.last) > 0) header.last = end;
        if (e->track[i] != header.track) header.track = TS_TRACK_MIXED;
    }
    ts__picture_rows(e, &header, columns);
    ts__chunk chunk = ts__chunk_begin(e);
    if (header.track == TS_TRACK_MIXED)
        ts__chunk_column(e, &chunk, TS_COLUMN_TRACK, e->track, count, 0);
    for (uint32_t i = 0; columns[i]; i++)
        if (columns[i] == TS_COLUMN_TEXT)
            ts__chunk_texts(e, &chunk, count);
        else
            ts__chunk_column(e, &chunk, columns[i], e->column[i], count,
                             ts__transforms(columns[i], spans));
    ts__chunk_end(e, &chunk, &header);
#ifdef TRACESMITH_PICTURES
    if (header.track == TS_TRACK_MIXED && spans)
        ts__encode_pictures(e, &header, columns);
#endif
}

TS__SMALL_END
