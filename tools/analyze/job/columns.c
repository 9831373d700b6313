/*
    columns.c - columns of all GPU operations of a file, by row
*/
#include "tools/analyze/job/private.h"
#include "tools/cli/search.h"

static bool count_rows(ts_reader *reader, analyze_loaded *l)
{
    if (l->counted) return l->first;
    l->counted = true;
    l->first = calloc(ts_reader_chunk_count(reader) + 1, sizeof *l->first);
    if (!l->first) return false;
    l->operations = (size_t)cli_operation_rows(reader, l->first);
    return true;
}

static const uint64_t gpu = ((UINT64_C(1) << TS_EVENT_LIMIT) - 1) &
                            ~((UINT64_C(1) << TS_EVENT_GPU_FIRST) - 1);

// Copies values to a block in which each takes `size` bytes.
static void *narrow(const uint64_t *values, size_t count, size_t size)
{
    void *const to = malloc(count * size);
    for (size_t i = 0; to && i < count; i++) {
        switch (size) {
        case 1: ((uint8_t *)to)[i] = (uint8_t)values[i]; break;
        case 2: ((uint16_t *)to)[i] = (uint16_t)values[i]; break;
        default: ((uint32_t *)to)[i] = (uint32_t)values[i]; break;
        }
    }
    return to;
}

// Keeps the values of a column; nothing if all are 0. Takes ownership.
static void keep_column(analyze_values *column, uint64_t *values, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= values[i];
    const size_t size = any >> 32   ? sizeof(uint64_t)
                        : any >> 16 ? sizeof(uint32_t)
                        : any >> 8  ? sizeof(uint16_t)
                                    : sizeof(uint8_t);
    void *const less =
        any && size < sizeof *values ? narrow(values, count, size) : NULL;
    column->count = count;
    column->size = less ? size : sizeof *values;
    column->data = less ? less : any ? values : NULL;
    if (less || !any) free(values);
}

const analyze_values *analyze_column(analyze_job *job, uint32_t file,
                                     ts_column column)
{
    analyze_loaded *const l = &job->private->loaded[file];
    ts_reader *const reader = analyze_reader(job, file);
    if (!count_rows(reader, l)) return NULL;
    analyze_values *const of = &l->columns[column];
    if (!l->tried[column] && l->operations) {
        l->tried[column] = true;
        uint64_t *const values = calloc(l->operations, sizeof *values);
        if (!values) return NULL;
        cli_operation_column(reader, gpu, column, l->first, values);
        keep_column(of, values, l->operations);
    }
    return of->data ? of : NULL;
}

/* ---- Stacks -------------------------------------------------------------- */

typedef struct call_stack {
    uint64_t correlation;
    uint32_t stack;
} call_stack;

static int by_correlation(const void *left, const void *right)
{
    const call_stack *const a = left, *const b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    return (a->stack > b->stack) - (a->stack < b->stack);
}

// Loads the stacks of calls, sorted by correlation id; NULL if there are none.
static call_stack *load_calls(ts_reader *reader, size_t *count)
{
    const ts_filter filter = { .kinds = TS_FILTER(API_CALL) };
    ts_cursor *cursor;
    ts_event event;
    call_stack *calls = NULL;
    size_t room = 0;
    *count = 0;
    if (ts_cursor_open(&cursor, reader, &filter) != TS_OK) return NULL;
    while (ts_cursor_next(cursor, &event)) {
        const call_stack one = { ts_event_value(&event, TS_COLUMN_CORRELATION),
                                 (uint32_t)ts_event_value(&event,
                                                          TS_COLUMN_STACK) };
        if (!one.stack || !one.correlation) continue;
        if (!cli_grow(&calls, &room, *count + 1, sizeof *calls)) break;
        calls[(*count)++] = one;
    }
    ts_cursor_close(cursor);
    if (*count) qsort(calls, *count, sizeof *calls, by_correlation);
    return calls;
}

static uint32_t stack_of(const call_stack *calls, size_t count, uint64_t key)
{
    size_t low = 0, high = count;
    while (low < high)
        cli_halve(&low, &high, calls[cli_middle(low, high)].correlation < key);
    return low < count && calls[low].correlation == key ? calls[low].stack : 0;
}

const uint32_t *analyze_stacks(analyze_job *job, uint32_t file, size_t *count)
{
    analyze_loaded *const l = &job->private->loaded[file];
    const analyze_values *const own =
        analyze_column(job, file, TS_COLUMN_STACK);
    *count = l->operations;
    if (l->tried_stacks || !*count) return l->stacks;
    l->tried_stacks = true;
    l->stacks = calloc(*count + 1, sizeof *l->stacks);
    if (!l->stacks) return NULL;
    size_t calls_count;
    call_stack *const calls =
        load_calls(analyze_reader(job, file), &calls_count);
    const analyze_values *const keys =
        calls ? analyze_column(job, file, TS_COLUMN_CORRELATION) : NULL;
    for (size_t i = 0; (own || keys) && i < *count; i++) {
        const uint64_t stack = analyze_value(own, i);
        const uint64_t key = stack ? 0 : analyze_value(keys, i);
        l->stacks[i] = stack ? (uint32_t)stack
                       : key ? stack_of(calls, calls_count, key)
                             : 0;
    }
    free(calls);
    return l->stacks;
}

void analyze_columns_close(analyze_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        analyze_loaded *const l = &job->private->loaded[i];
        for (size_t c = 0; c < TS_COLUMN_LIMIT; c++)
            free((void *)(uintptr_t)l->columns[c].data);
        free(l->stacks);
        free(l->first);
        memset(l, 0, sizeof *l);
    }
}
