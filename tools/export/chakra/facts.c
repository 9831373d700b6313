/*
    facts.c - the values of operations that the graph does not hold
*/
#include "tools/export/chakra/chakra.h"

static bool is_operations(const ts_chunk_header *h)
{
    return h->kind == TS_CHUNK_EVENTS && h->event >= TS_EVENT_GPU_FIRST &&
           h->event < TS_EVENT_LIMIT;
}

static uint64_t value_of(const ts_columns *c, uint32_t row, ts_column column)
{
    return c->values[column] ? c->values[column][row] : 0;
}

static void take_row(chakra_facts *to, const ts_columns *c, uint32_t row)
{
    to->size = value_of(c, row, TS_COLUMN_SIZE);
    if (c->kind == TS_EVENT_MEMCPY)
        to->copy = (uint8_t)value_of(c, row, TS_COLUMN_TYPE);
    if (c->kind != TS_EVENT_COLLECTIVE) return;
    to->communicator = value_of(c, row, TS_COLUMN_COMMUNICATOR);
    to->peer = (uint32_t)value_of(c, row, TS_COLUMN_PEER);
    to->name = (uint32_t)value_of(c, row, TS_COLUMN_NAME);
}

/* ---- Dependencies that the source stated --------------------------------- */

// Collects the correlations of operations and calls, or else counts the
// dependencies between others. Returns the first error.
static ts_result each_row(ts_reader *reader, bool is_dependency, cli_map *known,
                          uint64_t *lost)
{
    ts_columns c = { 0 };
    ts_result result = TS_OK;
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        const ts_chunk_header *const h = &info.header;
        const bool wanted =
            is_dependency ? h->event == TS_EVENT_DEPENDENCY
                          : h->event == TS_EVENT_API_CALL || is_operations(h);
        if (h->kind != TS_CHUNK_EVENTS || !wanted) continue;
        const ts_result decoded = ts_reader_decode(reader, i, &c);
        if (decoded != TS_OK && result == TS_OK) result = decoded;
        for (uint32_t row = 0; decoded == TS_OK && row < c.count; row++) {
            const uint64_t id = value_of(&c, row, TS_COLUMN_CORRELATION);
            if (is_dependency)
                *lost +=
                    !cli_map_find(known, id) ||
                    !cli_map_find(known, value_of(&c, row, TS_COLUMN_RECORD));
            else if (id && !cli_map_at(known, id))
                result = TS_ERR_MEMORY;
        }
    }
    ts_columns_close(reader, &c);
    return result;
}

ts_result chakra_lost_dependencies(ts_reader *reader, uint64_t *lost)
{
    cli_map known = { 0 };
    *lost = 0;
    if (!ts_reader_info(reader)->counts[TS_EVENT_DEPENDENCY]) return TS_OK;
    ts_result result = each_row(reader, false, &known, lost);
    const ts_result counted = each_row(reader, true, &known, lost);
    if (result == TS_OK) result = counted;
    cli_map_close(&known);
    return result;
}

/* ---- Rows ---------------------------------------------------------------- */

ts_result chakra_rows_read(chakra_rows *all, ts_reader *reader)
{
    ts_columns columns = { 0 };
    ts_result result = TS_OK;
    ts_chunk_info info;
    size_t first = 0;
    *all = (chakra_rows){ 0 };
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++)
        if (is_operations(&info.header)) all->count += info.header.count;
    all->rows = export_zeroed(all->count + 1, sizeof *all->rows);
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        if (!is_operations(&info.header)) continue;
        const ts_result decoded = ts_reader_decode(reader, i, &columns);
        if (decoded != TS_OK && result == TS_OK) result = decoded;
        for (uint32_t row = 0; decoded == TS_OK && row < columns.count; row++)
            take_row(&all->rows[first + row], &columns, row);
        first += info.header.count;
    }
    ts_columns_close(reader, &columns);
    return result;
}
