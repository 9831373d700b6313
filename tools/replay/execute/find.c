/*
    find.c - where an operation was launched, and what differs in it
*/
#include "tools/replay/execute/execute.h"

bool execute_find_event(const execute_job *job, const ts_operation *op,
                        ts_columns *columns, uint32_t *at)
{
    ts_chunk_info info;
    uint64_t first = 0;
    for (size_t i = 0; ts_reader_chunk(job->reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event < TS_EVENT_GPU_FIRST ||
            info.header.event >= TS_EVENT_LIMIT)
            continue;
        *at = (uint32_t)(op->row - first);
        if (op->row >= first && *at < info.header.count)
            return ts_reader_decode(job->reader, i, columns) == TS_OK;
        first += info.header.count;
    }
    return false;
}

bool execute_list(const execute_job *job, const uint64_t list[2],
                  uint64_t **hashes, size_t *count)
{
    const void *bytes;
    size_t size;
    *hashes = NULL;
    *count = 0;
    if (!list[0] && !list[1]) return true;
    const ts_result result = ts_reader_blob(job->reader, list, &bytes, &size);
    if (result == TS_OK && (*hashes = malloc(size + 1)) != NULL) {
        memcpy(*hashes, bytes, size);
        *count = size / 16;
    }
    ts_reader_blobs_free(job->reader);
    return result == TS_OK ? *hashes != NULL : result != TS_ERR_MEMORY;
}

bool execute_find_site(const execute_job *job, const execute_row *row,
                       ts_text *name, ts_text *file, uint32_t *line)
{
    ts_operation op;
    ts_columns columns = { 0 };
    uint32_t at, site = 0;
    if (ts_replay_operation(job->replay->replay, row->operation, &op) &&
        execute_find_event(job, &op, &columns, &at) &&
        columns.values[TS_COLUMN_SITE])
        site = (uint32_t)columns.values[TS_COLUMN_SITE][at];
    ts_columns_close(job->reader, &columns);
    if (!site) return false;
    const ts_site_entry *const entry = ts_reader_site(job->reader, site);
    *name = ts_reader_site_name(job->reader, site);
    *file = ts_reader_name(job->reader, entry ? entry->file : 0);
    if (!entry || !entry->file) file->size = 0;
    *line = entry ? entry->line : 0;
    return true;
}

// Whether four bytes look like a computed float: its exponent is near 0.
static bool seems_real(const uint8_t *bytes)
{
    uint32_t bits;
    memcpy(&bits, bytes, sizeof bits);
    const uint32_t exponent = bits >> 23 & 0xFF;
    return !(bits << 1) || (exponent > 127 - 40 && exponent < 127 + 40);
}

execute_value execute_value_of(const execute_job *job,
                               const ts_execution_item *item,
                               const uint8_t *bytes)
{
    const bool exact = job->desc.compare == TS_COMPARE_EXACT;
    const uint32_t element = exact ? TS_ELEMENT_F32 : job->desc.element;
    const size_t width = ts_element_size(element);
    const uint64_t left = item->size - item->offset;
    execute_value v = { .size = width };
    memcpy(&v.bits, bytes, sizeof v.bits);
    v.real = ts_element_value(element, bytes);
    const char kind = *ts_element_name(element);
    if (left < width) {
        v.size = (size_t)left;
        v.type = EXECUTE_BYTES;
    } else if (kind == 'i' || kind == 'u') {
        const uint32_t above = 64 - 8 * (uint32_t)width;
        memcpy(&v.whole, bytes, width);
        if (kind == 'i')
            v.whole = (uint64_t)((int64_t)(v.whole << above) >> above);
        v.type = kind == 'i' ? EXECUTE_SIGNED : EXECUTE_UNSIGNED;
    } else if (!exact ||
               (seems_real(item->expected) && seems_real(item->found))) {
        v.type = EXECUTE_REAL;
    } else {
        v.type = EXECUTE_WORD;
    }
    return v;
}

execute_place execute_place_of(const execute_job *job, const execute_row *row)
{
    const ts_execution_item *const item = &row->item;
    execute_place place = { EXECUTE_BY_NOTHING, 0 };
    ts_capture c;
    if (!ts_reader_capture(job->reader, row->capture, &c) ||
        c.head.kind != TS_EVENT_KERNEL || item->region >= c.head.region_count)
        return place;
    const ts_capture_region *const r = &c.regions[item->region];
    for (uint32_t i = 0; i < c.head.param_count; i++) {
        uint64_t value;
        if (c.params[i].type != TS_PARAM_POINTER &&
            c.params[i].type != TS_PARAM_OBJECT)
            continue;
        memcpy(&value, c.args + c.params[i].offset, sizeof value);
        if (value - r->address >= r->size) continue;
        place.by = EXECUTE_BY_PARAM;
        place.index = i;
        return place;
    }
    place.by = r->image ? EXECUTE_BY_GLOBAL : EXECUTE_BY_MEMORY;
    for (uint32_t i = 0; !r->image && i + 8 <= c.head.args_size; i++) {
        uint64_t value;
        memcpy(&value, c.args + i, sizeof value);
        if (value - r->address >= r->size) continue;
        place.by = EXECUTE_BY_BYTES;
        place.index = i;
        break;
    }
    return place;
}
