/*
    sbt_rows.h - everything a reader says about a trace, to be compared

    A row is an event with hashes of its columns and text and of its label;
    `rest` is a hash over what is not an event: tracks, metadata, losses.
*/
#ifndef SBT_ROWS_H
#define SBT_ROWS_H

#include "tests/replay/reader/sbt_forge.h"
#include "tracesmith_replay.h"

typedef struct rows_row {
    int64_t start_ns, duration_ns;
    uint64_t ticks, hash, label;
    uint32_t kind, track;
} rows_row;

typedef struct rows {
    rows_row *rows;
    size_t count, room;
    uint64_t rest;
    uint64_t clocks; // a hash over what some ticks mean
    ts_result opened;
    bool reported; // the reader reported that something is wrong or missing
} rows;

static inline uint64_t rows_mix(uint64_t hash, const void *bytes, size_t size)
{
    return XXH3_64bits_withSeed(bytes, size, hash + 1);
}

static inline rows_row rows_make(const ts_reader *reader, const ts_event *event)
{
    rows_row made = { .start_ns = event->start_ns,
                      .duration_ns = event->duration_ns,
                      .ticks = event->columns->start_ticks[event->row],
                      .kind = (uint32_t)event->kind,
                      .track = event->track };
    for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++) {
        const uint64_t value = ts_event_value(event, (ts_column)i);
        made.hash = rows_mix(made.hash, &value, sizeof value);
    }
    const ts_text text = ts_event_text(event);
    const ts_text label = ts_event_label(reader, event);
    made.hash = rows_mix(made.hash, text.text, text.size);
    made.label = rows_mix(0, label.text, label.size);
    return made;
}

static inline uint64_t rows_rest(const ts_reader *reader)
{
    uint64_t hash = 0;
    ts_metadata fact;
    ts_loss_row loss;
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
        hash = rows_mix(hash, &track.id, sizeof track.id);
        hash = rows_mix(hash, track.name.text, track.name.size);
    }
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &fact); i++) {
        hash = rows_mix(hash, fact.key.text, fact.key.size);
        hash = rows_mix(hash, fact.text.text, fact.text.size);
        hash = rows_mix(hash, &fact.number, sizeof fact.number);
    }
    for (size_t i = 0; ts_reader_loss(reader, i, &loss); i++) {
        hash = rows_mix(hash, &loss.count, sizeof loss.count);
        hash = rows_mix(hash, &loss.cause, sizeof loss.cause);
    }
    return hash;
}

static inline uint64_t rows_clocks(const ts_reader *reader)
{
    const uint64_t ticks[] = { 0, 1000, 123456789, UINT64_C(1) << 50 };
    uint64_t hash = 0;
    for (uint32_t i = 0; i < 64; i++) {
        const int64_t ns = ts_reader_time_ns(reader, i / 4, ticks[i % 4]);
        hash = rows_mix(hash, &ns, sizeof ns);
    }
    return hash;
}

static inline void rows_add(rows *to, rows_row one)
{
    if (to->count == to->room) {
        to->room = to->room ? 2 * to->room : 256;
        to->rows = realloc(to->rows, to->room * sizeof *to->rows);
        if (!to->rows) abort();
    }
    to->rows[to->count++] = one;
}

static inline rows rows_of(ts_reader *reader, const ts_filter *filter)
{
    rows all = { .opened = TS_OK };
    ts_cursor *cursor;
    ts_event event;
    if (ts_cursor_open(&cursor, reader, filter) != TS_OK) abort();
    while (ts_cursor_next(cursor, &event))
        rows_add(&all, rows_make(reader, &event));
    all.reported = ts_cursor_result(cursor) != TS_OK;
    ts_cursor_close(cursor);
    return all;
}

static inline rows rows_of_desc(const ts_reader_desc *desc)
{
    ts_reader *reader;
    const ts_result opened = ts_reader_open(&reader, desc);
    rows all = { .opened = opened, .reported = true };
    if (opened != TS_OK) return all;
    all = rows_of(reader, NULL);
    all.rest = rows_rest(reader);
    all.clocks = rows_clocks(reader);
    if (ts_reader_verify(reader) != TS_OK ||
        ts_reader_damage_count(reader) > 0 || !ts_reader_info(reader)->finished)
        all.reported = true;
    ts_reader_close(reader);
    return all;
}

static inline rows rows_read(const uint8_t *bytes, size_t size, bool no_index)
{
    const ts_reader_desc desc = {
        .bytes = bytes, .size = size, .no_index = no_index, .threads = 1
    };
    return rows_of_desc(&desc);
}

static inline void rows_close(rows *all)
{
    free(all->rows);
    all->rows = NULL;
    all->count = all->room = 0;
}

static inline bool rows_row_same(const rows_row *a, const rows_row *b)
{
    return a->start_ns == b->start_ns && a->duration_ns == b->duration_ns &&
           a->ticks == b->ticks && a->hash == b->hash && a->label == b->label &&
           a->kind == b->kind && a->track == b->track;
}

static inline bool rows_same(const rows *a, const rows *b)
{
    if (a->count != b->count || a->rest != b->rest) return false;
    for (size_t i = 0; i < a->count; i++)
        if (!rows_row_same(&a->rows[i], &b->rows[i])) return false;
    return true;
}

// Whether a's rows are some of b's, in the same order; with other labels if
// dictionaries are missing from a (`unnamed`), and at other times if samples
// of its clocks are.
static inline bool rows_within(const rows *a, const rows *b, bool unnamed)
{
    size_t at = 0;
    for (size_t i = 0; i < a->count; i++, at++) {
        rows_row wanted = a->rows[i];
        for (; at < b->count; at++) {
            if (unnamed) wanted.label = b->rows[at].label;
            if (unnamed && a->clocks != b->clocks) {
                wanted.start_ns = b->rows[at].start_ns;
                wanted.duration_ns = b->rows[at].duration_ns;
            }
            if (rows_row_same(&wanted, &b->rows[at])) break;
        }
        if (at == b->count) return false;
    }
    return true;
}

#endif // SBT_ROWS_H
