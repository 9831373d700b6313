/*
    operations.c - operations by row: by chunk, then by position; labels
*/
#include "tools/cli/operations.h"
#include <string.h>

typedef struct filling {
    ts_column column;
    const uint64_t *first;
    uint64_t *values;
} filling;

bool cli_has_operations(const ts_chunk_header *header)
{
    return header->kind == TS_CHUNK_EVENTS &&
           header->event >= TS_EVENT_GPU_FIRST &&
           header->event < TS_EVENT_LIMIT;
}

uint64_t cli_operation_rows(const ts_reader *reader, uint64_t *first)
{
    const size_t chunks = ts_reader_chunk_count(reader);
    uint64_t rows = 0;
    ts_chunk_info info;
    for (size_t i = 0; i < chunks; i++) {
        if (first) first[i] = rows;
        if (ts_reader_chunk(reader, i, &info) &&
            cli_has_operations(&info.header))
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

void cli_operation_column(ts_reader *reader, uint64_t kinds, ts_column column,
                          const uint64_t *first, uint64_t *values)
{
    const ts_filter filter = { .kinds = kinds };
    filling f = { column, first, values };
    ts_reader_scan(reader, &filter, 0, fill, &f);
}

ts_column cli_label_column(ts_event_kind kind)
{
    switch (kind) {
    case TS_EVENT_ZONE:
    case TS_EVENT_ZONE_OPEN:
    case TS_EVENT_MARK:
    case TS_EVENT_FRAME:
    case TS_EVENT_SPAN: return TS_COLUMN_SITE;
    case TS_EVENT_KERNEL: return TS_COLUMN_LAUNCH;
    case TS_EVENT_MEMCPY: return TS_COLUMN_TYPE;
    case TS_EVENT_API_CALL:
    case TS_EVENT_SAMPLE:
    case TS_EVENT_ZONE_ARG:
    case TS_EVENT_HOST_FUNCTION:
    case TS_EVENT_COLLECTIVE: return TS_COLUMN_NAME;
    default: return (ts_column)0;
    }
}
