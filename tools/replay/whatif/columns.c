/*
    columns.c - reads further columns of operations
*/
#include "tools/replay/whatif/whatif.h"

typedef struct filling {
    ts_column column;
    uint64_t *first;  // row of the first GPU operation of each chunk
    uint64_t *values; // by row
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
    const uint64_t *const values = columns->values[f->column];
    if (values)
        memcpy(f->values + f->first[columns->chunk], values,
               columns->count * sizeof *values);
}

// Reads one file. False without memory.
static bool add_file(const ts_replay *replay, uint32_t file, ts_column column,
                     uint64_t kinds, uint64_t *values)
{
    const ts_filter filter = { .kinds = kinds };
    ts_reader *const reader = ts_replay_reader(replay, file);
    filling f = { .column = column,
                  .first = calloc(ts_reader_chunk_count(reader) + 1,
                                  sizeof *f.first) };
    if (!f.first) return false;
    const uint64_t rows = count_rows(reader, f.first);
    f.values = calloc(rows + 1, sizeof *f.values);
    const bool ok = f.values;
    if (ok) ts_reader_scan(reader, &filter, 0, fill, &f);
    ts_operation o;
    for (uint32_t i = 0; ok && ts_replay_operation(replay, i, &o); i++)
        if (o.file == file && o.row < rows && kinds >> o.kind & 1)
            values[i] = f.values[o.row];
    free(f.first);
    free(f.values);
    return ok;
}

uint64_t *whatif_column(const ts_replay *replay, ts_column column,
                        uint64_t kinds)
{
    uint64_t *const values =
        calloc(ts_replay_graph(replay).operation_count + 1, sizeof *values);
    ts_replay_file file;
    bool ok = values;
    for (uint32_t i = 0; ok && ts_replay_file_at(replay, i, &file); i++)
        ok = add_file(replay, i, column, kinds, values);
    if (ok) return values;
    free(values);
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
