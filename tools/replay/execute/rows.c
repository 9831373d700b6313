/*
    rows.c - matches events of the trace with captured operations

    Both have a track and a correlation id, but so may further events: event
    records, the pieces of an operation that a driver split up, and the nodes of
    a graph, which lie on any track. Each capture gets at most one row, and each
    row at most one capture.
*/
#include "tools/replay/execute/execute.h"

typedef struct place { // a row or a capture
    uint64_t correlation;
    uint32_t track, kind;
    bool spare; // an unselected row: used if there is no other
    bool taken;
    uint32_t number; // number of the operation or capture
} place;

typedef struct places {
    place *all;
    size_t count;
} places;

typedef struct match {
    places rows, captures;
    uint32_t *capture_of; // by operation; or EXECUTE_NONE
    bool *is_piece;       // by operation: another row has the capture
} match;

typedef struct span { // ranges of rows and captures with one correlation id
    size_t row, row_end, capture, capture_end;
} span;

static int by_place(const void *left, const void *right)
{
    const place *const a = left, *const b = right;
    if (a->correlation != b->correlation)
        return a->correlation < b->correlation ? -1 : 1;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
    if (a->spare != b->spare) return a->spare ? 1 : -1;
    return (a->number > b->number) - (a->number < b->number);
}

static void take(match *m, place *row, place *capture)
{
    m->capture_of[row->number] = capture->number;
    row->taken = capture->taken = true;
}

static int compare_kinds(const place *row, const place *capture)
{
    if (row->track != capture->track)
        return row->track < capture->track ? -1 : 1;
    return (row->kind > capture->kind) - (row->kind < capture->kind);
}

static int compare_tracks(const place *row, const place *capture)
{
    return (row->track > capture->track) - (row->track < capture->track);
}

// Matches remaining rows and captures in order if they compare as equal. Graph
// launches are matched by match_graph.
static void match_in_order(match *m, span s,
                           int (*compare)(const place *row,
                                          const place *capture))
{
    while (s.row < s.row_end && s.capture < s.capture_end) {
        place *const row = &m->rows.all[s.row];
        place *const capture = &m->captures.all[s.capture];
        if (row->taken) {
            s.row++;
        } else if (capture->taken || capture->kind == TS_EVENT_GRAPH_LAUNCH) {
            s.capture++;
        } else {
            const int order = compare(row, capture);
            if (!order) take(m, row, capture);
            s.row += order <= 0;
            s.capture += order >= 0;
        }
    }
}

// Remaining rows on the track of a matched capture are pieces of it: drivers
// may split up an operation.
static void match_pieces(match *m, span s)
{
    const place *const captures = m->captures.all;
    for (size_t i = s.row; i < s.row_end; i++) {
        place *const row = &m->rows.all[i];
        if (row->taken) continue;
        while (s.capture < s.capture_end &&
               (captures[s.capture].track < row->track ||
                !captures[s.capture].taken))
            s.capture++;
        if (s.capture == s.capture_end) return;
        if (captures[s.capture].track != row->track) continue;
        row->taken = m->is_piece[row->number] = true;
        m->capture_of[row->number] = captures[s.capture].number;
    }
}

// Which of two rows represents a graph launch better: in order of priority, a
// selected row, one on its track, the launch itself, the earlier one.
static bool is_better(const place *a, const place *b, const place *launch)
{
    const bool there[] = { a->track == launch->track,
                           b->track == launch->track };
    const bool whole[] = { a->kind == launch->kind, b->kind == launch->kind };
    if (a->spare != b->spare) return b->spare;
    if (there[0] != there[1]) return there[0];
    if (whole[0] != whole[1]) return whole[0];
    return a->number < b->number;
}

// All remaining rows with the correlation id of a graph launch belong to it.
static void match_graph(match *m, span s)
{
    place *best = NULL;
    while (s.capture < s.capture_end &&
           m->captures.all[s.capture].kind != TS_EVENT_GRAPH_LAUNCH)
        s.capture++;
    if (s.capture == s.capture_end) return;
    place *const launch = &m->captures.all[s.capture];
    for (size_t i = s.row; i < s.row_end; i++) {
        place *const row = &m->rows.all[i];
        if (row->taken) continue;
        if (!best || is_better(row, best, launch)) best = row;
        m->capture_of[row->number] = launch->number;
        m->is_piece[row->number] = row->taken = true;
    }
    if (!best) return;
    m->is_piece[best->number] = false;
    launch->taken = true;
}

static size_t end_of(const places *p, size_t at, uint64_t correlation)
{
    while (at < p->count && p->all[at].correlation == correlation)
        at++;
    return at;
}

static void match_all(match *m)
{
    span s = { .row = 0 };
    while (s.row < m->rows.count && s.capture < m->captures.count) {
        const uint64_t row = m->rows.all[s.row].correlation;
        const uint64_t capture = m->captures.all[s.capture].correlation;
        s.row_end = end_of(&m->rows, s.row, row);
        s.capture_end = end_of(&m->captures, s.capture, capture);
        if (row == capture) {
            match_in_order(m, s, compare_kinds);
            match_in_order(m, s, compare_tracks);
            match_pieces(m, s);
            match_graph(m, s);
        }
        if (row <= capture) s.row = s.row_end;
        if (row >= capture) s.capture = s.capture_end;
    }
}

static void list_captures(ts_reader *reader, places *captures)
{
    ts_capture c;
    const size_t count = captures->count;
    captures->count = 0;
    for (size_t i = 0; i < count && ts_reader_capture(reader, i, &c); i++) {
        const place one = { .correlation = c.head.correlation,
                            .track = c.head.track,
                            .kind = c.head.kind,
                            .number = (uint32_t)i };
        captures->all[captures->count++] = one;
    }
    qsort(captures->all, captures->count, sizeof *captures->all, by_place);
}

static void list_rows(ts_replay *replay, places *rows)
{
    ts_operation op;
    for (size_t i = 0; ts_replay_operation(replay, i, &op); i++) {
        const place one = { .correlation = op.correlation,
                            .track = op.track,
                            .kind = op.kind,
                            .spare = op.skip != TS_SKIP_NOT,
                            .number = (uint32_t)i };
        if (op.correlation && ts_event_has_contents(op.kind))
            rows->all[rows->count++] = one;
    }
    qsort(rows->all, rows->count, sizeof *rows->all, by_place);
}

static bool match_open(const execute_job *job, match *m)
{
    ts_replay *const replay = job->replay->replay;
    const size_t loaded = (size_t)ts_replay_result(replay)->loaded;
    m->captures.count = ts_reader_capture_count(job->reader);
    m->captures.all = calloc(m->captures.count + 1, sizeof(place));
    m->rows.all = calloc(loaded + 1, sizeof(place));
    m->capture_of = calloc(loaded + 1, sizeof *m->capture_of);
    m->is_piece = calloc(loaded + 1, sizeof *m->is_piece);
    if (!m->captures.all || !m->rows.all || !m->capture_of || !m->is_piece)
        return false;
    for (size_t i = 0; i < loaded; i++)
        m->capture_of[i] = EXECUTE_NONE;
    list_captures(job->reader, &m->captures);
    list_rows(replay, &m->rows);
    return true;
}

static void match_close(match *m)
{
    free(m->captures.all);
    free(m->rows.all);
    free(m->capture_of);
    free(m->is_piece);
}

typedef struct ordered {
    uint64_t order;
    execute_row row;
} ordered;

static int by_order(const void *left, const void *right)
{
    const ordered *const a = left, *const b = right;
    if (a->order != b->order) return a->order < b->order ? -1 : 1;
    return (a->row.operation > b->row.operation) -
           (a->row.operation < b->row.operation);
}

static void without_capture(const ts_operation *op, ts_execution_item *item)
{
    const bool host = op->kind == TS_EVENT_HOST_FUNCTION;
    item->outcome = host ? TS_OUTCOME_SUBSTITUTED : TS_OUTCOME_DECLINED;
    item->reason = host                              ? TS_REASON_HOST_CALLBACK
                   : op->kind == TS_EVENT_COLLECTIVE ? TS_REASON_COLLECTIVE
                                                     : TS_REASON_NOT_CAPTURED;
}

static execute_row row_of(const match *m, const ts_operation *op, uint32_t i)
{
    execute_row row = { .operation = i, .capture = EXECUTE_NONE };
    row.piece = m->is_piece[i];
    row.of = m->capture_of[i];
    if (!row.piece) row.capture = row.of;
    row.order = !ts_event_has_contents(op->kind);
    if (row.of == EXECUTE_NONE && !row.order) without_capture(op, &row.item);
    return row;
}

// A row without a capture keeps its place after the rows before it.
static size_t list_selected(const execute_job *job, const match *m,
                            ordered *all)
{
    ts_operation op;
    ts_capture c;
    size_t count = 0;
    uint64_t order = 0;
    for (size_t i = 0; ts_replay_operation(job->replay->replay, i, &op); i++) {
        if (op.skip != TS_SKIP_NOT) continue;
        ordered *const o = &all[count++];
        o->row = row_of(m, &op, (uint32_t)i);
        if (ts_reader_capture(job->reader, o->row.of, &c)) order = c.head.order;
        o->order = order;
    }
    qsort(all, count, sizeof *all, by_order);
    return count;
}

// Counts captures without a row; only if the whole trace is selected.
static uint64_t count_missing(const execute_job *job, const match *m)
{
    uint64_t missing = 0;
    for (size_t i = 0; i < m->captures.count; i++)
        missing += !m->captures.all[i].taken;
    return job->count == cli_operation_rows(job->reader, NULL) ? missing : 0;
}

bool execute_find_rows(execute_job *job)
{
    const size_t loaded = (size_t)ts_replay_result(job->replay->replay)->loaded;
    match m = { .rows = { NULL, 0 } };
    ordered *const all = calloc(loaded + 1, sizeof *all);
    job->rows = calloc(loaded + 1, sizeof *job->rows);
    const bool ok = match_open(job, &m) && all && job->rows;
    if (ok) {
        match_all(&m);
        job->count = list_selected(job, &m, all);
        job->missing = count_missing(job, &m);
    }
    for (size_t i = 0; ok && i < job->count; i++)
        job->rows[i] = all[i].row;
    match_close(&m);
    free(all);
    if (!ok) cli_out_of_memory(job->replay->tool);
    return ok;
}
