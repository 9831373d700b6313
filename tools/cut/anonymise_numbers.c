/*
    anonymise_numbers.c - replaces numbers that identify a machine or a run

    Processes and threads are numbered from 1 in order of occurrence. So are
    handles and hashes, that is, all ids of more than 32 bits; smaller ids are
    kept, and the new numbers follow them. Addresses keep their distances within
    a region, which the program determines. Regions are separated by at least
    GAP unused bytes; as the system may have chosen that distance, it becomes
    GAP.
*/
#include "tools/cut/cut.h"
#include "tools/cli/search.h"

enum {
    GAP = 1 << 20,
    ALIGNED = 1 << 21, // size of the largest pages
    PAGE = 4096,       // the unit in which the system places memory
    OFTEN = 1 << 16 // addresses collected before they are merged into regions
};
static const uint64_t first_base = UINT64_C(1) << 32;
static const uint64_t first_handle = UINT64_C(1) << 32;

static const uint64_t with_addresses =
    TS_FILTER(ALLOC) | TS_FILTER(FREE) | TS_FILTER(ACCESS) | TS_FILTER(MEMCPY) |
    TS_FILTER(MEMSET) | TS_FILTER(HOST_FUNCTION) | TS_FILTER(GPU_ALLOC) |
    TS_FILTER(GPU_FREE);

// Addresses are compared as signed numbers, which is correct as long as it is
// consistent.
static void take_address(cut_spans *regions, uint64_t address, uint64_t size)
{
    const int64_t from = (int64_t)address;
    int64_t to;
    if (!address) return;
    if (size > INT64_MAX - GAP ||
        __builtin_add_overflow(from, (int64_t)size + GAP, &to))
        to = INT64_MAX;
    cut_spans_add(regions, (cut_span){ 0, from, to });
}

static void take_chunk(cut_spans *regions, const ts_columns *columns)
{
    static const ts_column places[] = { TS_COLUMN_ADDRESS, TS_COLUMN_SOURCE };
    const uint64_t *const sizes = columns->values[TS_COLUMN_SIZE];
    for (size_t i = 0; i < 2; i++) {
        const uint64_t *const values = columns->values[places[i]];
        for (uint32_t k = 0; values && k < columns->count; k++)
            take_address(regions, values[k], sizes ? sizes[k] : 0);
    }
}

static bool lay_out(cut_aliases *a)
{
    uint64_t base = first_base;
    cut_spans_settle(&a->regions);
    a->bases = calloc(a->regions.count + 1, sizeof *a->bases);
    for (size_t i = 0; a->bases && i < a->regions.count; i++) {
        const cut_span *const r = &a->regions.list[i];
        const uint64_t size = (uint64_t)r->to_ns - (uint64_t)r->from_ns;
        a->bases[i] = base + (uint64_t)r->from_ns % PAGE;
        base += (size + PAGE + ALIGNED - 1) & ~(uint64_t)(ALIGNED - 1);
    }
    return a->bases && !a->regions.no_memory;
}

bool cut_regions_find(cut_aliases *a, ts_reader *reader)
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    ts_result result = TS_OK;
    size_t settle = OFTEN;
    for (size_t i = 0;
         result != TS_ERR_MEMORY && ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event >= TS_EVENT_LIMIT ||
            !(with_addresses >> info.header.event & 1))
            continue;
        result = ts_reader_decode(reader, i, &columns);
        if (result == TS_OK) take_chunk(&a->regions, &columns);
        if (a->regions.count < settle) continue;
        cut_spans_settle(&a->regions);
        settle = 2 * a->regions.count + OFTEN;
    }
    ts_columns_close(reader, &columns);
    return lay_out(a) && result != TS_ERR_MEMORY;
}

static uint64_t renumber_address(const cut_aliases *a, uint64_t address)
{
    const int64_t at = (int64_t)address;
    size_t low = 0, high = a->regions.count;
    while (low < high) // find the first one that begins later
        cli_halve(&low, &high,
                  a->regions.list[cli_middle(low, high)].from_ns <= at);
    if (!low) return 0; // from a chunk that could not be read
    return a->bases[low - 1] + address -
           (uint64_t)a->regions.list[low - 1].from_ns;
}

// The upper 16 bits of an id from a merged trace are the number of its part.
static uint64_t renumber_handle(cut_aliases *a, uint64_t value)
{
    const uint64_t part = value >> 48 < a->part_count ? value >> 48 << 48 : 0;
    if (value - part < first_handle) return value;
    return part | (first_handle +
                   cut_alias_find(a, CUT_HANDLES, value, CUT_HANDLES)->number);
}

uint64_t cut_renumber(void *aliases, copy_number what, uint64_t value)
{
    cut_aliases *const a = aliases;
    if (!value) return 0;
    switch (what) {
    case COPY_TASK:
        return cut_alias_find(a, CUT_TASKS, value, CUT_TASKS)->number;
    case COPY_HANDLE: return renumber_handle(a, value);
    default: return renumber_address(a, value);
    }
}
