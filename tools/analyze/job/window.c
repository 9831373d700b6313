/*
    window.c - the recorded time window, and which work it cuts off
*/
#include "tools/analyze/job/window.h"
#include "tools/analyze/job/private.h"
#include "tools/analyze/job/stats.h"
#include "tools/cli/search.h"
#include "tools/cli/sort.h"

enum { THREADS = 4, ALL_MOST = 200000, SIDE = 50000 };

typedef struct cut_row { // a call or an operation
    uint64_t correlation;
    int64_t start_ns, end_ns;
    uint32_t by; // a call: its name; an operation: its track
    uint32_t track;
    bool call, matched;
    bool in_graph; // a launch that a stream capture put into a graph
} cut_row;

typedef struct cut_capture { // begin or end of a stream capture
    int64_t ns;
    uint32_t track; // of the thread
    bool begins;
} cut_capture;

typedef struct cut_rows {
    cut_row *rows;
    size_t count, room;
    int64_t host_ns; // end of the last zone or call
    int64_t work_from_ns, work_to_ns, last_ns;
    bool failed;
} cut_rows;

typedef struct cut_scan {
    cut_rows of[THREADS];
    int64_t head_ns, tail_ns; // rows between head and tail are not kept
} cut_scan;

static const uint64_t work_kinds = TS_FILTER(KERNEL) | TS_FILTER(MEMCPY) |
                                   TS_FILTER(MEMSET) | TS_FILTER(COLLECTIVE);

/* ---- Rows ---------------------------------------------------------------- */

static void keep(cut_rows *r, const cut_row *row)
{
    if (!cli_grow(&r->rows, &r->room, r->count + 1, sizeof *r->rows)) {
        r->failed = true;
        return;
    }
    r->rows[r->count++] = *row;
}

static void take(const ts_columns *c, uint32_t thread, void *user)
{
    const cut_scan *const s = user;
    cut_rows *const r = (cut_rows *)&s->of[thread];
    const bool work = work_kinds >> c->kind & 1;
    const uint64_t *const ids = c->values[TS_COLUMN_CORRELATION];
    const uint64_t *const names = c->values[TS_COLUMN_NAME];
    for (uint32_t i = 0; i < c->count; i++) {
        const int64_t start = c->start_ns[i];
        const int64_t end = stats_sum(start, c->duration_ns[i]);
        if (end > r->last_ns) r->last_ns = end;
        if (!work && end > r->host_ns) r->host_ns = end;
        if (work && end > start) {
            if (start < r->work_from_ns) r->work_from_ns = start;
            if (end > r->work_to_ns) r->work_to_ns = end;
        }
        if (c->kind == TS_EVENT_ZONE || !ids || !ids[i] ||
            (start >= s->head_ns && start < s->tail_ns))
            continue;
        const uint32_t track = c->tracks ? c->tracks[i] : c->track;
        const cut_row row = { .correlation = ids[i],
                              .start_ns = start,
                              .end_ns = end,
                              .by = work    ? track
                                    : names ? (uint32_t)names[i]
                                            : 0,
                              .track = track,
                              .call = !work };
        keep(r, &row);
    }
}

// Collects all rows of the file in the first of the lists.
static bool gather(cut_scan *s)
{
    cut_rows *const to = &s->of[0];
    for (size_t t = 1; t < THREADS; t++) {
        const cut_rows *const from = &s->of[t];
        if (from->last_ns > to->last_ns) to->last_ns = from->last_ns;
        if (from->host_ns > to->host_ns) to->host_ns = from->host_ns;
        if (from->work_from_ns < to->work_from_ns)
            to->work_from_ns = from->work_from_ns;
        if (from->work_to_ns > to->work_to_ns)
            to->work_to_ns = from->work_to_ns;
        for (size_t i = 0; i < from->count; i++)
            keep(to, &from->rows[i]);
        to->failed |= from->failed;
    }
    return !to->failed;
}

/* ---- Calls and their work ------------------------------------------------ */

static int by_correlation(const void *left, const void *right)
{
    const cut_row *const a = left, *const b = right;
    return (a->correlation > b->correlation) -
           (a->correlation < b->correlation);
}

// Sorts calls by function, work by stream; then by time.
static int by_time(const void *left, const void *right)
{
    const cut_row *const a = left, *const b = right;
    if (a->call != b->call) return a->call - b->call;
    if (a->by != b->by) return a->by < b->by ? -1 : 1;
    return (a->start_ns > b->start_ns) - (a->start_ns < b->start_ns);
}

static uint64_t correlation_of(const void *row)
{
    return ((const cut_row *)row)->correlation;
}

static uint64_t group_of(const void *of)
{
    const cut_row *const row = of;
    return (uint64_t)row->call << 32 | row->by;
}

static void match_calls(cut_rows *r)
{
    cli_sort_by(r->rows, r->count, sizeof *r->rows, correlation_of,
                by_correlation);
    for (size_t i = 0, end; i < r->count; i = end) {
        bool call = false, work = false;
        for (end = i; end < r->count &&
                      r->rows[end].correlation == r->rows[i].correlation;
             end++)
            *(r->rows[end].call ? &call : &work) = true;
        for (size_t k = i; k < end; k++)
            r->rows[k].matched = call && work;
    }
    cli_sort_by(r->rows, r->count, sizeof *r->rows, group_of, by_time);
}

// Returns the end of the calls of one function, or of the work of one stream,
// that begin at `from`. Rows are sorted by time.
static size_t group_end(const cut_rows *r, size_t from)
{
    const cut_row *const first = &r->rows[from];
    size_t end = from + 1;
    while (end < r->count && r->rows[end].call == first->call &&
           r->rows[end].by == first->by)
        end++;
    return end;
}

/* ---- Stream captures ----------------------------------------------------- */

static int by_thread(const void *left, const void *right)
{
    const cut_capture *const a = left, *const b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

// Appends the begins and ends of stream captures among calls of one function.
static bool add_captures(cut_capture **list, size_t *room, size_t *count,
                         const cut_row *rows, size_t row_count, ts_text name)
{
    const bool begins = cli_has(name, "StreamBeginCapture");
    if (!begins && !cli_has(name, "StreamEndCapture")) return true;
    if (!cli_grow(list, room, *count + row_count, sizeof **list)) return false;
    for (size_t i = 0; i < row_count; i++)
        (*list)[(*count)++] =
            (cut_capture){ rows[i].start_ns, rows[i].track, begins };
    return true;
}

// Returns whether a thread captured a stream at some time.
static bool captured_at(const cut_capture *list, size_t count, uint32_t track,
                        int64_t ns)
{
    size_t low = 0, high = count;
    while (low < high) {
        const size_t middle = cli_middle(low, high);
        const cut_capture *const c = &list[middle];
        cli_halve(&low, &high,
                  c->track < track || (c->track == track && c->ns <= ns));
    }
    return low && list[low - 1].track == track && list[low - 1].begins;
}

// Marks calls that put their work into a graph: it runs when the graph does, so
// they have none of their own. `rows` are sorted by time.
static bool mark_captured(cut_rows *r, const ts_reader *reader)
{
    cut_capture *list = NULL;
    size_t room = 0, count = 0;
    bool ok = true;
    for (size_t i = 0, end; ok && i < r->count; i = end) {
        const cut_row *const first = &r->rows[i];
        end = group_end(r, i);
        if (first->call)
            ok = add_captures(&list, &room, &count, first, end - i,
                              ts_reader_name(reader, first->by));
    }
    if (count) qsort(list, count, sizeof *list, by_thread);
    for (size_t i = 0; count && i < r->count; i++)
        r->rows[i].in_graph =
            r->rows[i].call &&
            captured_at(list, count, r->rows[i].track, r->rows[i].start_ns);
    free(list);
    return ok;
}

/* ---- Counts -------------------------------------------------------------- */

// Counts the queued work of a stream, beginning with the first operation. If no
// operation of it has a recorded call, correlation ids decide: they grow with
// each call.
static void count_queued(cut_figures *cut, const cut_row *rows, size_t count,
                         uint64_t first_call)
{
    size_t queued = 0;
    while (queued < count && !rows[queued].matched)
        queued++;
    if (queued == count)
        for (queued = 0;
             queued < count && rows[queued].correlation < first_call;)
            queued++;
    cut->operations += count;
    cut->queued += queued;
    for (size_t i = 0; i < queued; i++)
        cut->queued_ns =
            stats_sum(cut->queued_ns, rows[i].end_ns - rows[i].start_ns);
}

// Counts the calls of one function that lie outside.
static void count_outside(cut_figures *cut, const cut_row *rows, size_t count)
{
    size_t matched = 0, known = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        all += !rows[i].in_graph;
        if (!rows[i].matched) continue;
        matched++;
        known = all;
    }
    cut->launches += matched;
    if (matched && matched * 10 >= known * 9) cut->outside += all - known;
}

static void count_rows(cut_figures *cut, const cut_rows *r)
{
    bool any = false;
    uint64_t first_call = UINT64_MAX;
    for (size_t i = 0; i < r->count; i++) {
        const cut_row *const row = &r->rows[i];
        any |= row->matched;
        if (row->call && row->correlation < first_call)
            first_call = row->correlation;
        if (row->call || row->end_ns <= r->host_ns) continue;
        cut->running++;
        if (row->end_ns - r->host_ns > cut->running_ns)
            cut->running_ns = row->end_ns - r->host_ns;
    }
    // If no call belongs to any operation, the trace did not record the
    // relation.
    for (size_t i = 0, end; any && i < r->count; i = end) {
        const cut_row *const first = &r->rows[i];
        end = group_end(r, i);
        if (first->call)
            count_outside(cut, first, end - i);
        else
            count_queued(cut, first, end - i, first_call);
    }
}

/* ---- Files --------------------------------------------------------------- */

static void take_sides(cut_scan *s, const ts_info *info)
{
    uint64_t count = 0;
    for (uint32_t k = 0; k < TS_EVENT_LIMIT; k++)
        if (work_kinds >> k & 1) count += info->counts[k];
    s->head_ns = s->tail_ns = INT64_MAX;
    int64_t length;
    if (count <= ALL_MOST ||
        __builtin_sub_overflow(info->last_ns, info->first_ns, &length))
        return;
    const int64_t side = length / (int64_t)(count / SIDE);
    s->head_ns = info->first_ns + side;
    s->tail_ns = info->last_ns - side;
}

// Returns the time at which a selection was cut: a zone may extend beyond it.
static int64_t cut_at(const ts_reader *reader, const char *key, int64_t ns)
{
    ts_metadata m;
    const bool from = !strcmp(key, "cut.from_ns");
    if (!ts_reader_metadata(reader, 0, key, &m) || m.type != TS_VALUE_INT)
        return ns;
    return from == (m.number > ns) ? m.number : ns;
}

static void widen(cut_figures *cut, const cut_rows *r, const ts_reader *reader,
                  int64_t offset)
{
    const ts_info *const info = ts_reader_info(reader);
    const int64_t end = r->last_ns > info->last_ns ? r->last_ns : info->last_ns;
    int64_t first = cut_at(reader, "cut.from_ns", info->first_ns);
    int64_t last = cut_at(reader, "cut.to_ns", end);
    if (first >= last) { // all work that a step issued may run later
        first = info->first_ns;
        last = end;
    }
    first = stats_sum(first, offset);
    last = stats_sum(last, offset);
    if (first < cut->from_ns) cut->from_ns = first;
    if (last > cut->to_ns) cut->to_ns = last;
    int64_t work_from = r->work_from_ns, work_to = r->work_to_ns, from, to;
    if (work_from > work_to) return;
    if (cli_clip(reader, &from, &to)) {
        if (work_from < from) work_from = from;
        if (work_to > to) work_to = to;
    }
    from = stats_sum(work_from, offset);
    to = stats_sum(work_to, offset);
    if (!cut->works || from < cut->work_from_ns) cut->work_from_ns = from;
    if (!cut->works || to > cut->work_to_ns) cut->work_to_ns = to;
    cut->works = true;
}

static bool take_file(cut_figures *cut, analyze_job *job, uint32_t file)
{
    const ts_info *const info = analyze_info(job, file);
    const ts_filter filter = { .kinds = work_kinds | TS_FILTER(API_CALL) |
                                        TS_FILTER(ZONE) };
    cut_scan s;
    for (size_t t = 0; t < THREADS; t++)
        s.of[t] = (cut_rows){ .host_ns = INT64_MIN,
                              .last_ns = INT64_MIN,
                              .work_from_ns = INT64_MAX,
                              .work_to_ns = INT64_MIN };
    take_sides(&s, info);
    const ts_result result =
        ts_reader_scan(analyze_reader(job, file), &filter, THREADS, take, &s);
    bool ok = result != TS_ERR_MEMORY && gather(&s);
    if (ok) {
        cut_rows *const rows = &s.of[0];
        match_calls(rows);
        ok = mark_captured(rows, analyze_reader(job, file));
        if (rows->host_ns != INT64_MIN) count_rows(cut, rows);
        widen(cut, rows, analyze_reader(job, file), analyze_offset(job, file));
    }
    for (size_t t = 0; t < THREADS; t++)
        free(s.of[t].rows);
    return ok;
}

bool cut_open(cut_figures *cut, analyze_job *job)
{
    *cut = (cut_figures){ .from_ns = INT64_MAX, .to_ns = INT64_MIN };
    bool ok = true;
    for (uint32_t i = 0; ok && i < job->file_count; i++)
        ok = take_file(cut, job, i);
    if (cut->from_ns > cut->to_ns) cut->from_ns = cut->to_ns = 0;
    return ok;
}

const cut_figures *analyze_cut(analyze_job *job)
{
    struct analyze_private *const p = job->private;
    if (p->cut) return p->cut;
    p->cut = calloc(1, sizeof *p->cut);
    if (p->cut && !cut_open(p->cut, job)) {
        free(p->cut);
        p->cut = NULL;
    }
    return p->cut;
}

bool cut_weighs(const cut_figures *cut)
{
    return cut->queued > cut->operations / 100 ||
           cut->outside > cut->launches / 100;
}
