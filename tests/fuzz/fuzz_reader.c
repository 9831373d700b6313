/*
    fuzz_reader.c - libFuzzer drives everything that a reader can do

    The first byte chooses: bit 0, checksums are made right first, so that
    what lies behind them is reached; bit 1, the index is not used; bit 2, an
    allocation fails; bit 3, the top of the index is used. The rest is the
    trace. Whatever it is, there must be no crash, no hang and no leak, and an
    event must lie within its chunk.
*/
#define _GNU_SOURCE
#include <stdio.h>

#include "tests/replay/reader/sbt_forge.h"
#include "tracesmith_replay.h"

enum { MEMORY_MAX = 64 << 20, EVENTS_MAX = 20000 };

typedef struct limits {
    size_t used;
    long left; // requests until one fails; below 0: never
} limits;

static void *limited(void *user, void *ptr, size_t old_size, size_t new_size)
{
    limits *const l = user;
    if (new_size > MEMORY_MAX || l->used - old_size > MEMORY_MAX - new_size)
        return NULL;
    if (new_size && l->left-- == 0) return NULL;
    void *const fresh = new_size ? realloc(ptr, new_size) : NULL;
    if (new_size && !fresh) return NULL;
    if (!new_size) free(ptr);
    l->used += new_size - old_size;
    return fresh;
}

// Gives every chunk that can be found by its magic a right session and
// checksum, and zero padding.
static void make_right(uint8_t *bytes, size_t size)
{
    if (size < 64) return;
    memcpy(bytes, "SBT1\r\n\x1a\n\1\0\0\0\0\0\0\0", 16);
    forge_seal_header(bytes);
    for (size_t at = 64; at + 64 <= size;) {
        const uint64_t stored = forge_get(bytes + at + 40, 4);
        if (forge_get(bytes + at, 4) != 0x43544253 || stored > size - at - 64) {
            at += 8;
            continue;
        }
        const size_t end = at + 64 + (size_t)stored;
        memcpy(bytes + at + 8, bytes + 16, 4);
        forge_seal(bytes, at);
        at = (end + 7) / 8 * 8;
        for (size_t i = end; i < at && i < size; i++)
            bytes[i] = 0;
    }
}

static uint64_t touched; // keeps the compiler from leaving reads out

static void touch(const void *bytes, size_t size)
{
    const uint8_t *const from = bytes;
    for (size_t i = 0; i < size; i++)
        touched += from[i];
}

static void touch_text(ts_text text)
{
    touch(text.text, text.size);
}

static void use_dictionaries(ts_reader *reader)
{
    ts_track track;
    ts_metadata fact;
    ts_loss_row loss;
    ts_damage damage;
    const ts_frame_entry *frames;
    for (size_t i = 0; i < 50 && ts_reader_track_at(reader, i, &track); i++) {
        touch_text(track.name);
        if (!ts_reader_track(reader, track.id, &track)) abort();
    }
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &fact); i++) {
        touch_text(fact.key);
        touch_text(fact.text);
    }
    for (size_t i = 0; ts_reader_loss(reader, i, &loss); i++)
        if (loss.first_ns > loss.last_ns) touched++;
    for (size_t i = 0; ts_reader_damage(reader, i, &damage); i++)
        touch(damage.text, strlen(damage.text));
    for (uint32_t id = 0; id < 40; id++) {
        touch_text(ts_reader_name(reader, id));
        touch_text(ts_reader_site_name(reader, id));
        touch_text(ts_reader_build_id(reader, id));
        const uint32_t count = ts_reader_stack(reader, id, &frames);
        if (count) touch(frames, count * sizeof *frames);
        const ts_launch_entry *const launch = ts_reader_launch(reader, id);
        if (launch) touch(launch, sizeof *launch);
    }
}

// Every row must lie within the chunk's own time.
static void check_columns(const ts_columns *columns, const ts_chunk_info *info)
{
    for (uint32_t row = 0; row < columns->count; row++) {
        const int64_t start = columns->start_ns[row];
        const int64_t duration = columns->duration_ns[row];
        if (duration < 0 || start < info->first_ns ||
            start + duration > info->last_ns)
            abort();
        if (columns->text_sizes)
            touch(columns->texts[row], columns->text_sizes[row]);
        if (columns->tracks) touched += columns->tracks[row];
    }
    for (uint32_t i = 0; i < TS_COLUMN_LIMIT; i++)
        if (columns->values[i])
            touch(columns->values[i], columns->count * sizeof(uint64_t));
}

// True if the trace decodes to more than is worth a fuzzer's time.
static bool use_chunks(ts_reader *reader)
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    ts_lod_cell cells[TS_LOD_CELLS];
    ts_track_pictures pictures = { 0 };
    uint32_t track, events;
    uint64_t rows = 0;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        ts_reader_lod(reader, i, cells);
        if (info.header.kind != TS_CHUNK_EVENTS) continue;
        if (ts_reader_track_pictures(reader, i, &pictures) == TS_OK)
            for (size_t j = 0;
                 ts_track_picture(&pictures, j, &track, &events, cells); j++)
                touch(cells, sizeof *cells);
        rows += info.header.count;
        if (rows > EVENTS_MAX) break;
        if (ts_reader_decode(reader, i, &columns) == TS_OK)
            check_columns(&columns, &info);
    }
    ts_columns_close(reader, &columns);
    ts_track_pictures_close(reader, &pictures);
    return rows > EVENTS_MAX;
}

static void use_cursor(ts_reader *reader)
{
    const uint32_t tracks[] = { 3, 2 };
    const ts_filter narrow = {
        .tracks = tracks, .track_count = 2, .from_ns = 10, .to_ns = 2000
    };
    const ts_filter *const filters[] = { NULL, &narrow };
    for (int i = 0; i < 2; i++) {
        ts_cursor *cursor;
        ts_event event;
        int64_t last = INT64_MIN;
        if (ts_cursor_open(&cursor, reader, filters[i]) != TS_OK) continue;
        while (ts_cursor_next(cursor, &event)) {
            if (event.start_ns < last) abort();
            last = event.start_ns;
            touch_text(ts_event_label(reader, &event));
            touch_text(ts_event_text(&event));
        }
        ts_cursor_close(cursor);
    }
}

static void use_top(const ts_reader *reader)
{
    ts_top_track track;
    ts_picture_cell cell;
    for (size_t i = 0; i < 50 && ts_reader_top(reader, i, &track); i++)
        for (size_t j = 0; j < track.cell_count; j++) {
            if (!ts_reader_top_cell(reader, i, j, &cell)) abort();
            touch(&cell, sizeof cell);
        }
}

static void use_reader(ts_reader *reader)
{
    const uint64_t hash[] = { 1, 2 };
    const void *blob;
    size_t size;
    use_dictionaries(reader);
    use_top(reader);
    if (use_chunks(reader)) return;
    use_cursor(reader);
    ts_reader_verify(reader);
    if (ts_reader_blob(reader, hash, &blob, &size) == TS_OK) touch(blob, size);
    ts_reader_time_ns(reader, 1, 77);
    ts_reader_realtime_ns(reader, 1234567);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    const uint8_t mode = data[0];
    uint8_t *const bytes = malloc(size - 1); // exact, for the sanitizer
    limits l = { 0, mode & 4 ? data[1] : -1 };
    ts_reader *reader;
    if (!bytes) return 0;
    memcpy(bytes, data + 1, size - 1);
    if (mode & 1) make_right(bytes, size - 1);
    const ts_reader_desc desc = { .bytes = bytes,
                                  .size = size - 1,
                                  .no_index = mode >> 1 & 1,
                                  .threads = 1,
                                  .allocator = { limited, &l },
                                  .lazy = mode >> 3 & 1 };
    if (ts_reader_open(&reader, &desc) == TS_OK) {
        use_reader(reader);
        ts_reader_close(reader);
    }
    if (l.used) abort();
    free(bytes);
    return 0;
}
