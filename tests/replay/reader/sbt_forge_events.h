/*
    sbt_forge_events.h - chunks of events for sbt_forge.h

        forge_events(&f, 4, track, count, first, last);
        forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
        forge_events_end(&f);
*/
#ifndef SBT_FORGE_EVENTS_H
#define SBT_FORGE_EVENTS_H

#include "tests/replay/reader/sbt_forge.h"

static inline void forge_events(forge *f, uint8_t event, uint32_t track,
                                uint32_t count, uint64_t first, uint64_t last)
{
    forge_begin(f, FORGE_EVENTS);
    f->next.event = event;
    f->next.track = track;
    f->next.count = count;
    f->next.first = first;
    f->next.last = last;
}

// A column of given bytes, whatever they are.
static inline void forge_column_raw(forge *f, uint8_t column, uint8_t encoding,
                                    uint8_t transform, uint8_t width,
                                    uint64_t base, const forge_bytes *data)
{
    forge_bytes head = { NULL, 0, 0 };
    forge_number(&head, column, 1);
    forge_number(&head, encoding, 1);
    forge_number(&head, transform, 1);
    forge_number(&head, width, 1);
    forge_number(&head, data->size, 4);
    forge_number(&head, base, 8);
    // The descriptors gather in the payload, the data in `columns`.
    forge_add(&f->payload, head.bytes, head.size);
    forge_add(&f->columns, data->bytes, data->size);
    f->column_count++;
    free(head.bytes);
}

static inline uint32_t forge_width(uint64_t value)
{
    uint32_t width = 0;
    for (; value; value >>= 1)
        width++;
    return width;
}

static inline void forge_pack(forge_bytes *to, const uint64_t *values,
                              uint32_t count)
{
    for (int pass = 0; pass < 2; pass++) { // widths, then values
        for (uint32_t i = 0; i < count; i += 64) {
            const uint32_t n = count - i < 64 ? count - i : 64;
            uint64_t all = 0;
            for (uint32_t j = 0; j < n; j++)
                all |= values[i + j];
            const uint32_t width = forge_width(all);
            if (pass == 0) forge_number(to, width, 1);
            if (pass == 0) continue;
            uint8_t block[512] = { 0 };
            for (uint32_t bit = 0; bit < n * width; bit++)
                if (values[i + bit / width] >> bit % width & 1)
                    block[bit / 8] |= (uint8_t)(1 << bit % 8);
            forge_add(to, block, (n * width + 7) / 8);
            forge_pad(to);
        }
        forge_pad(to);
    }
}

// A column of values that have been transformed already.
static inline void forge_stored(forge *f, uint8_t column, uint8_t encoding,
                                uint8_t transform, uint64_t base,
                                const uint64_t *stored)
{
    const uint32_t count = f->next.count;
    forge_bytes data = { NULL, 0, 0 };
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        all |= stored[i];
    const uint32_t width = all ? (forge_width(all) + 7) / 8 : 1;
    if (encoding == FORGE_PACK) forge_pack(&data, stored, count);
    for (uint32_t p = 0; encoding == FORGE_PLANES && p < width; p++)
        for (uint32_t i = 0; i < count; i++)
            forge_number(&data, stored[i] >> (8 * p), 1);
    forge_pad(&data);
    forge_column_raw(f, column, encoding, transform, (uint8_t)width, base,
                     &data);
    free(data.bytes);
}

static inline uint64_t forge_zigzag(uint64_t d)
{
    return d << 1 ^ (d >> 63 ? UINT64_MAX : 0);
}

static inline void forge_column(forge *f, uint8_t column, uint8_t encoding,
                                uint8_t transform, const uint64_t *values)
{
    const uint32_t count = f->next.count;
    uint64_t *const stored = malloc((count + 1) * sizeof *stored);
    uint64_t base = count ? values[0] : 0;
    if (!stored) abort();
    for (uint32_t i = 0; i < count && !transform; i++)
        if (values[i] < base) base = values[i];
    for (uint32_t i = 0; i < count; i++)
        stored[i] = transform
                        ? forge_zigzag(values[i] - (i ? values[i - 1] : base))
                        : values[i] - base;
    forge_stored(f, column, encoding, transform, base, stored);
    free(stored);
}

// Starts as distances from the end before them.
static inline void forge_gaps(forge *f, uint8_t encoding,
                              const uint64_t *starts, const uint64_t *durations)
{
    const uint32_t count = f->next.count;
    uint64_t *const stored = malloc((count + 1) * sizeof *stored);
    uint64_t end = 7;
    if (!stored) abort();
    for (uint32_t i = 0; i < count; i++) {
        stored[i] = forge_zigzag(starts[i] - end);
        end = starts[i] + durations[i];
    }
    forge_stored(f, 1, encoding, 2, 7, stored);
    free(stored);
}

static inline void forge_texts(forge *f, uint8_t column,
                               const char *const *texts)
{
    forge_bytes data = { NULL, 0, 0 };
    for (uint32_t i = 0; i < f->next.count; i++)
        forge_number(&data, strlen(texts[i]), 4);
    for (uint32_t i = 0; i < f->next.count; i++)
        forge_add(&data, texts[i], strlen(texts[i]));
    forge_pad(&data);
    forge_column_raw(f, column, FORGE_TEXT, 0, 0, 0, &data);
    free(data.bytes);
}

// Puts the columns together and writes the chunk.
static inline size_t forge_events_end(forge *f)
{
    forge_bytes whole = { NULL, 0, 0 };
    forge_number(&whole, f->column_count, 4);
    forge_number(&whole, 0, 4);
    forge_add(&whole, f->payload.bytes, f->payload.size);
    forge_add(&whole, f->columns.bytes, f->columns.size);
    forge_number(&whole, 0, 8);
    free(f->payload.bytes);
    f->payload = whole;
    return forge_end(f);
}

typedef struct forge_zone {
    uint64_t start, end, site;
} forge_zone;

// Zones in the order of their ends, coded as section 8.1 says.
static inline size_t forge_zones(forge *f, uint32_t track, uint8_t encoding,
                                 const forge_zone *zones, uint32_t count)
{
    uint64_t *const values = calloc(5 * (size_t)count + 1, sizeof *values);
    uint64_t *const site = values, *const nest = values + count,
                    *const lead = nest + count, *const tail = lead + count,
                    *const stack = tail + count;
    uint64_t first = UINT64_MAX, last = 0;
    uint32_t depth = 0;
    if (!values) abort();
    for (uint32_t i = 0; i < count; i++) {
        if (zones[i].start < first) first = zones[i].start;
        if (zones[i].end > last) last = zones[i].end;
    }
    uint64_t end = first;
    for (uint32_t i = 0; i < count; i++) {
        const forge_zone *const zone = &zones[i];
        uint32_t k = 0;
        while (k < depth && stack[depth - 1 - k] >= zone->start)
            k++;
        site[i] = zone->site;
        if (k && zone->end >= end) {
            nest[i] = k + 1;
            lead[i] = stack[depth - k] - zone->start;
            tail[i] = zone->end - end;
            depth -= k;
        } else {
            nest[i] = zone->start < end;
            lead[i] = nest[i] ? end - zone->start : zone->start - end;
            tail[i] = zone->end - zone->start;
        }
        stack[depth++] = zone->start;
        end = zone->end;
    }
    forge_events(f, 1, track, count, first, last);
    forge_column(f, 3, encoding, FORGE_PLAIN, site);
    forge_column(f, 4, encoding, FORGE_PLAIN, nest);
    forge_column(f, 5, encoding, FORGE_PLAIN, lead);
    forge_column(f, 6, encoding, FORGE_PLAIN, tail);
    free(values);
    return forge_events_end(f);
}

// Four kernels on two streams in one chunk, from tick `first` on.
static inline size_t forge_mixed(forge *f, const uint32_t streams[2],
                                 uint64_t first)
{
    const uint64_t starts[] = { first, first + 10, first + 20, first + 30 };
    const uint64_t lengths[] = { 8, 8, 8, 10 };
    const uint64_t tracks[] = { streams[0], streams[1], streams[0],
                                streams[1] };
    forge_events(f, 16, 0xFFFFFFFF, 4, first, first + 40);
    forge_column(f, 1, FORGE_PACK, FORGE_PLAIN, starts);
    forge_column(f, 2, FORGE_PACK, FORGE_PLAIN, lengths);
    forge_column(f, 7, FORGE_PACK, FORGE_PLAIN, tracks);
    return forge_events_end(f);
}

// Pictures of two streams for the chunk before: cell i of stream s holds launch
// 1000 * s + i, is busy, and has i events.
static inline size_t forge_pictures(forge *f, const uint32_t streams[2],
                                    uint64_t first, uint32_t cells)
{
    forge_begin(f, FORGE_PICTURES);
    f->next.event = 16;
    f->next.track = 0xFFFFFFFF;
    f->next.count = 2;
    f->next.first = first;
    f->next.last = first + 40;
    forge_number(&f->payload, 2, 4);
    forge_number(&f->payload, cells, 4);
    for (int i = 0; i < 2; i++) {
        forge_number(&f->payload, streams[i], 4);
        forge_number(&f->payload, 2, 4);
    }
    for (uint32_t i = 0; i < 2 * cells; i++) {
        forge_number(&f->payload, 1000 * (i / cells) + i % cells, 4);
        forge_number(&f->payload, 65535, 2);
        forge_number(&f->payload, i % cells, 2);
    }
    return forge_end(f);
}

#endif // SBT_FORGE_EVENTS_H
