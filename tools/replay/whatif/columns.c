/*
    columns.c - reads further columns of operations
*/
#include "tools/replay/whatif/whatif.h"

// Reads one file. False without memory.
static bool add_file(const ts_replay *replay, uint32_t file, ts_column column,
                     uint64_t kinds, uint64_t *values)
{
    ts_reader *const reader = ts_replay_reader(replay, file);
    uint64_t *const first =
        calloc(ts_reader_chunk_count(reader) + 1, sizeof *first);
    if (!first) return false;
    const uint64_t rows = cli_operation_rows(reader, first);
    uint64_t *const found = calloc(rows + 1, sizeof *found);
    const bool ok = found;
    if (ok) cli_operation_column(reader, kinds, column, first, found);
    ts_operation o;
    for (uint32_t i = 0; ok && ts_replay_operation(replay, i, &o); i++)
        if (o.file == file && o.row < rows && kinds >> o.kind & 1)
            values[i] = found[o.row];
    free(first);
    free(found);
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
