/*
    events.c - Nsight Systems: finds the event record of each wait

    Waits and syncs refer to their record by a number, eventSyncId. The table of
    event records has the call of each number, but exists only if events were
    traced. Without it, the numbers count the records of a process: its record
    calls, in order, have consecutive numbers. The first number is chosen as the
    least one for which no wait precedes its record. It is accepted if at least
    half of the waits then wait for the record just before them, as is usual.
*/
#include "tools/import/nsys/nsys.h"
#include "tools/cli/search.h"

typedef struct point { // a call that records an event, or a wait
    int64_t process, time_ns, end_ns, thread;
    int64_t number; // correlation id, or eventSyncId
} point;

typedef struct points {
    point *list;
    size_t count, room;
} points;

static void add(nsys *n, points *p, const point *one)
{
    if (!cli_grow(&p->list, &p->room, p->count + 1, sizeof *p->list)) {
        n->out_of_memory = true;
        return;
    }
    p->list[p->count++] = *one;
}

static int compare(const void *one, const void *two)
{
    const point *const a = one, *const b = two;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static bool is_record(ts_text name)
{
    static const char word[] = "EventRecord";
    for (size_t i = 0; i + sizeof word - 1 <= name.size; i++)
        if (!memcmp(name.text + i, word, sizeof word - 1)) return true;
    return false;
}

static void read_calls(nsys *n, const char *table, points *records)
{
    enum { START, END, THREAD, CORRELATION, NAME, COLUMNS };
    static const char *const columns[COLUMNS] = { "start", "end", "globalTid",
                                                  "correlationId", "nameId" };
    import_rows rows;
    import_rows_open(&rows, n->db, table, columns, COLUMNS, 0);
    rows.again = true;
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        if (!is_record(import_strings_text(n->strings, v[NAME]))) continue;
        const point one = { nsys_process(n, v[THREAD]), v[START], v[END],
                            v[THREAD], v[CORRELATION] };
        add(n, records, &one);
    }
}

static void read_waits(nsys *n, points *waits)
{
    enum { START, PROCESS, TYPE, SYNC, COLUMNS };
    static const char *const columns[COLUMNS] = { "start", "globalPid",
                                                  "syncType", "eventSyncId" };
    import_rows rows;
    import_rows_open(&rows, n->db, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                     columns, COLUMNS, 0);
    rows.again = true;
    while (import_rows_next(&rows)) {
        const int64_t *const v = rows.values;
        if (v[TYPE] != 2 || v[SYNC] < 0 || v[SYNC] > IMPORT_TIME_MAX) continue;
        const point one = { nsys_process(n, v[PROCESS]), v[START], v[START], 0,
                            v[SYNC] };
        add(n, waits, &one);
    }
}

// Drops calls of the driver within a call of the runtime: they are one record.
static void drop_nested(points *p)
{
    size_t kept = 0;
    for (size_t i = 1; i < p->count; i++) {
        const point *const last = &p->list[kept], *const one = &p->list[i];
        if (one->process != last->process || one->thread != last->thread ||
            one->time_ns >= last->end_ns)
            p->list[++kept] = *one;
    }
    if (p->count) p->count = kept + 1;
}

// Returns how many records precede a time.
static size_t before(const point *records, size_t count, int64_t time_ns)
{
    size_t low = 0, high = count;
    while (low < high)
        cli_halve(&low, &high,
                  records[cli_middle(low, high)].time_ns < time_ns);
    return low;
}

// Finds the number of the first record; false if the waits do not determine it.
static bool find_first(const point *records, size_t record_count,
                       const point *waits, size_t wait_count, int64_t *first)
{
    size_t just = 0;
    *first = INT64_MIN;
    for (size_t i = 0; i < wait_count; i++) {
        const size_t done = before(records, record_count, waits[i].time_ns);
        const int64_t least = waits[i].number - (int64_t)done + 1;
        if (done && least > *first) *first = least;
    }
    for (size_t i = 0; i < wait_count; i++) {
        const size_t done = before(records, record_count, waits[i].time_ns);
        just += done && waits[i].number - (int64_t)done + 1 == *first;
    }
    return just && 2 * just >= wait_count;
}

static size_t same_process(const points *p, size_t from)
{
    size_t end = from;
    while (end < p->count && p->list[end].process == p->list[from].process)
        end++;
    return end;
}

static void report_pairs(nsys *n, const point *records, size_t count,
                         int64_t first)
{
    for (size_t i = 0; i < count; i++) {
        const point *const r = &records[i];
        int64_t *const record = import_map_put(
            &n->records, (int64_t)nsys_id(n, r->thread, first + (int64_t)i),
            NULL);
        if (record) *record = (int64_t)nsys_id(n, r->thread, r->number);
    }
}

void nsys_guess_records(nsys *n)
{
    points records = { 0 }, waits = { 0 };
    read_calls(n, "CUPTI_ACTIVITY_KIND_RUNTIME", &records);
    read_calls(n, "CUPTI_ACTIVITY_KIND_DRIVER", &records);
    read_waits(n, &waits);
    if (records.count)
        qsort(records.list, records.count, sizeof *records.list, compare);
    if (waits.count)
        qsort(waits.list, waits.count, sizeof *waits.list, compare);
    drop_nested(&records);
    for (size_t r = 0, w = 0; r < records.count && w < waits.count;) {
        const size_t r_end = same_process(&records, r);
        const size_t w_end = same_process(&waits, w);
        const int64_t ours = records.list[r].process;
        const int64_t theirs = waits.list[w].process;
        int64_t first;
        if (ours == theirs && find_first(&records.list[r], r_end - r,
                                         &waits.list[w], w_end - w, &first))
            report_pairs(n, &records.list[r], r_end - r, first);
        if (ours <= theirs) r = r_end;
        if (theirs <= ours) w = w_end;
    }
    free(records.list);
    free(waits.list);
}
