/*
    tracks.c - counts the events of each track
*/
#include "tools/cli/search.h"
#include "tools/info/info.h"

// Chunks with several tracks have to be read. With more rows than this the tool
// would be slow, and does not count.
enum { MIXED_MAX = 2000000 };

// The position of a track in the list, which is sorted by id.
static size_t position_of(const cli_trace *trace, uint32_t id)
{
    size_t low = 0, high = trace->info->track_count;
    ts_track track;
    while (low < high) {
        const size_t middle = cli_middle(low, high);
        if (!ts_reader_track_at(trace->reader, middle, &track)) break;
        if (track.id == id) return middle;
        cli_halve(&low, &high, track.id < id);
    }
    return SIZE_MAX;
}

static void count_mixed(const cli_trace *trace, size_t chunk,
                        ts_columns *columns, uint64_t *counts)
{
    if (ts_reader_decode(trace->reader, chunk, columns) != TS_OK) return;
    for (uint32_t i = 0; i < columns->count; i++) {
        const uint32_t id =
            columns->tracks ? columns->tracks[i] : columns->track;
        const size_t at = position_of(trace, id);
        if (at != SIZE_MAX) counts[at]++;
    }
}

static uint64_t mixed_rows(const cli_trace *trace)
{
    uint64_t rows = 0;
    ts_chunk_info chunk;
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &chunk); i++)
        if (chunk.header.kind == TS_CHUNK_EVENTS &&
            chunk.header.track == TS_TRACK_MIXED)
            rows += chunk.header.count;
    return rows;
}

uint64_t *info_track_events(const cli_trace *trace)
{
    if (mixed_rows(trace) > MIXED_MAX) return NULL;
    uint64_t *const counts =
        calloc(trace->info->track_count + (size_t)1, sizeof *counts);
    ts_columns columns = { 0 };
    ts_chunk_info chunk;
    for (size_t i = 0; counts && ts_reader_chunk(trace->reader, i, &chunk);
         i++) {
        const ts_chunk_header *const h = &chunk.header;
        if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
            !ts_event_columns(h->event))
            continue;
        if (h->track == TS_TRACK_MIXED) {
            count_mixed(trace, i, &columns, counts);
            continue;
        }
        const size_t at = position_of(trace, h->track);
        if (at != SIZE_MAX) counts[at] += h->count;
    }
    ts_columns_close(trace->reader, &columns);
    return counts;
}
