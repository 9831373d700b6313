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

const uint64_t *analyze_column(analyze_job *job, uint32_t file,
                               ts_column column, size_t *count)
{
    analyze_loaded *const l = &job->private->loaded[file];
    ts_reader *const reader = analyze_reader(job, file);
    *count = 0;
    if (!count_rows(reader, l)) return NULL;
    *count = l->operations;
    if (l->tried[column] || !l->operations) return l->columns[column];
    l->tried[column] = true;
    uint64_t *const values = calloc(l->operations, sizeof *values);
    if (!values) return NULL;
    cli_operation_column(reader, gpu, column, l->first, values);
    l->columns[column] = values;
    return values;
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
    const uint64_t *const own =
        analyze_column(job, file, TS_COLUMN_STACK, count);
    if (l->tried_stacks || !own) return l->stacks;
    l->tried_stacks = true;
    l->stacks = calloc(*count + 1, sizeof *l->stacks);
    if (!l->stacks) return NULL;
    size_t calls_count;
    call_stack *const calls =
        load_calls(analyze_reader(job, file), &calls_count);
    const uint64_t *const keys =
        calls ? analyze_column(job, file, TS_COLUMN_CORRELATION, count) : NULL;
    for (size_t i = 0; i < *count; i++)
        l->stacks[i] = own[i]            ? (uint32_t)own[i]
                       : keys && keys[i] ? stack_of(calls, calls_count, keys[i])
                                         : 0;
    free(calls);
    return l->stacks;
}

void analyze_columns_close(analyze_job *job)
{
    for (uint32_t i = 0; i < job->file_count; i++) {
        analyze_loaded *const l = &job->private->loaded[i];
        for (size_t c = 0; c < TS_COLUMN_LIMIT; c++)
            free(l->columns[c]);
        free(l->stacks);
        free(l->first);
        memset(l, 0, sizeof *l);
    }
}
