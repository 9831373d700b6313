/*
    whatif_sizes.c - how many bytes transfers move
*/
#include "tools/replay/whatif.h"

typedef struct filling {
    uint64_t *first; // row of the first GPU operation of each chunk
    uint64_t *sizes; // of each row
} filling;

static uint64_t count_rows(ts_reader *reader, uint64_t *first)
{
    const size_t chunks = ts_reader_chunk_count(reader);
    uint64_t rows = 0;
    ts_chunk_info info;
    for (size_t i = 0; i < chunks; i++) {
        first[i] = rows;
        if (ts_reader_chunk(reader, i, &info) &&
            info.header.kind == TS_CHUNK_EVENTS &&
            info.header.event >= TS_EVENT_GPU_FIRST &&
            info.header.event < TS_EVENT_LIMIT)
            rows += info.header.count;
    }
    return rows;
}

static void fill(const ts_columns *columns, uint32_t thread, void *user)
{
    (void)thread;
    const filling *const f = user;
    const uint64_t *const values = columns->values[TS_COLUMN_SIZE];
    if (values)
        memcpy(f->sizes + f->first[columns->chunk], values,
               columns->count * sizeof *values);
}

// Of the copies and collectives of one file. False without memory.
static bool add_file(const ts_replay *replay, uint32_t file, uint64_t *sizes)
{
    const ts_filter filter = { .kinds =
                                   TS_FILTER(MEMCPY) | TS_FILTER(COLLECTIVE) };
    ts_reader *const reader = ts_replay_reader(replay, file);
    filling f = { .first = calloc(ts_reader_chunk_count(reader) + 1,
                                  sizeof *f.first) };
    if (!f.first) return false;
    const uint64_t rows = count_rows(reader, f.first);
    f.sizes = calloc(rows + 1, sizeof *f.sizes);
    const bool ok = f.sizes;
    if (ok) ts_reader_scan(reader, &filter, 0, fill, &f);
    ts_operation o;
    for (uint32_t i = 0; ok && ts_replay_operation(replay, i, &o); i++)
        if (o.file == file && o.row < rows &&
            (o.kind == TS_EVENT_MEMCPY || o.kind == TS_EVENT_COLLECTIVE))
            sizes[i] = f.sizes[o.row];
    free(f.first);
    free(f.sizes);
    return ok;
}

uint64_t *whatif_sizes(const ts_replay *replay)
{
    uint64_t *const sizes =
        calloc(ts_replay_graph(replay).operation_count + 1, sizeof *sizes);
    ts_replay_file file;
    bool ok = sizes;
    for (uint32_t i = 0; ok && ts_replay_file_at(replay, i, &file); i++)
        ok = add_file(replay, i, sizes);
    if (ok) return sizes;
    free(sizes);
    return NULL;
}

bool whatif_sizes_differ(const ts_replay *replay, const ts_change *change)
{
    enum { KINDS = 33 }; // copies by type, then collectives
    uint64_t least[KINDS], most[KINDS] = { 0 };
    bool any[KINDS] = { false }, differ = true;
    memset(least, 0xFF, sizeof least);
    ts_operation o;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &o); i++) {
        if (!change->operations[i]) continue;
        const uint32_t kind = o.kind == TS_EVENT_MEMCPY ? o.label % 32 : 32;
        const uint64_t size = change->sizes[i];
        any[kind] = true;
        if (size < least[kind]) least[kind] = size;
        if (size > most[kind]) most[kind] = size;
    }
    for (int k = 0; k < KINDS; k++)
        differ &= !any[k] || (least[k] && most[k] / 2 >= least[k]);
    return differ;
}
