/*
    steps.c - selection by steps: their times, and what the host issued in them
*/
#include "tools/cut/cut.h"

/* ---- When ---------------------------------------------------------------- */

typedef struct steps {    // found from markers, in order of time
    uint64_t first, last; // selected
    uint64_t least, most; // in the trace
    uint64_t seen;
    bool has_first, has_end;
    int64_t from_ns,
        end_ns; // start of the first selected marker, of the first after
} steps;

// "ProfilerStep#12"
static bool step_number(ts_text name, uint64_t *number)
{
    static const char begin[] = "ProfilerStep#";
    const size_t size = sizeof begin - 1;
    if (name.size <= size || name.size > size + 18 ||
        memcmp(name.text, begin, size))
        return false;
    *number = 0;
    for (size_t i = size; i < name.size; i++) {
        if (name.text[i] < '0' || name.text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(name.text[i] - '0');
    }
    return true;
}

static void take_step(steps *s, uint64_t number, int64_t start_ns)
{
    if (!s->seen || number < s->least) s->least = number;
    if (!s->seen || number > s->most) s->most = number;
    s->seen++;
    if (!s->has_first && number >= s->first && number <= s->last) {
        s->has_first = true;
        s->from_ns = start_ns;
    }
    if (s->has_first && !s->has_end && number > s->last) {
        s->has_end = true;
        s->end_ns = start_ns;
    }
}

// Finds the markers of a kind; false without memory.
static bool find_steps(const cut_job *job, ts_event_kind kind, steps *s)
{
    ts_reader *const reader = job->trace->reader;
    const ts_filter filter = { .kinds = UINT64_C(1) << kind };
    ts_cursor *cursor;
    ts_event event;
    uint64_t number;
    if (ts_cursor_open(&cursor, reader, &filter) != TS_OK) return false;
    while (ts_cursor_next(cursor, &event)) {
        number = s->seen;
        if (kind == TS_EVENT_FRAME ||
            step_number(ts_event_label(reader, &event), &number))
            take_step(s, number, event.start_ns);
    }
    ts_cursor_close(cursor);
    return true;
}

bool cut_has_step_zones(const cut_job *job)
{
    steps s = { 0 };
    return find_steps(job, TS_EVENT_ZONE, &s) && s.seen;
}

uint64_t cut_step_count(const cut_job *job)
{
    steps s = { 0 };
    return find_steps(job, TS_EVENT_ZONE, &s) &&
                   (s.seen || find_steps(job, TS_EVENT_FRAME, &s))
               ? s.seen
               : 0;
}

static bool no_such_step(const cut_job *job, const steps *s, const char *text)
{
    if (!s->seen)
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--step %s: no steps are marked by zones named ProfilerStep#N "
                 "or by frames, and ts-analyze detects none",
                 text);
    else if (s->least == s->most)
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--step %s: the trace marks only step %" PRIu64, text,
                 s->least);
    else
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--step %s: the trace marks steps %" PRIu64 " to %" PRIu64,
                 text, s->least, s->most);
    return false;
}

bool cut_steps(cut_job *job, const char *text)
{
    steps s = { 0 };
    if (!cut_range(text, &s.first, &s.last)) return no_such_step(job, &s, text);
    if (!find_steps(job, TS_EVENT_ZONE, &s) ||
        (!s.seen && !find_steps(job, TS_EVENT_FRAME, &s)))
        return cli_out_of_memory(job->tool);
    if (!s.has_first || (s.last != UINT64_MAX && s.last > s.most))
        return no_such_step(job, &s, text);
    // The time before the first step belongs to the first, that after the last
    // to the last.
    const int64_t from_ns = s.first > s.least ? s.from_ns : INT64_MIN;
    const int64_t to_ns = s.has_end ? s.end_ns : INT64_MAX;
    cut_options *const w = &job->options;
    if (!w->timed || from_ns > w->from_ns) w->from_ns = from_ns;
    if (!w->timed || to_ns < w->to_ns) w->to_ns = to_ns;
    w->timed = w->issued = true;
    return true;
}

/* ---- What the host issued ------------------------------------------------ */

static void take_call(cut_choice *choice, const cut_row *row)
{
    const cut_options *const w = choice->options;
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (!correlation) return;
    cut_set_add(&choice->known, correlation);
    if (row->start_ns < w->from_ns)
        cut_set_add(&choice->earlier, correlation);
    else if (row->start_ns < w->to_ns)
        cut_set_add(&choice->issued, correlation);
}

bool cut_find_issued(cut_choice *choice)
{
    return !choice->options->issued ||
           (cut_each(choice, TS_FILTER(API_CALL), NULL, take_call) &&
            !choice->known.no_memory && !choice->issued.no_memory &&
            !choice->earlier.no_memory);
}

// Returns when work without a call was queued; if unknown, when it began.
static int64_t queued_at(const cut_choice *choice, const cut_row *row)
{
    const ts_columns *const c = row->columns;
    const uint64_t queued = cut_value(row, TS_COLUMN_QUEUED);
    return queued ? ts_reader_time_ns(choice->reader, c->clock,
                                      c->start_ticks[row->row] - (queued - 1))
                  : row->start_ns;
}

bool cut_is_issued(cut_choice *choice, const cut_row *row)
{
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (correlation && cut_set_has(&choice->known, correlation))
        return cut_set_has(&choice->issued, correlation);
    const int64_t then = queued_at(choice, row);
    return then >= choice->options->from_ns && then < choice->options->to_ns;
}

void cut_note_earlier(cut_choice *choice, const cut_row *row)
{
    const uint64_t works = TS_FILTER(KERNEL) | TS_FILTER(MEMCPY) |
                           TS_FILTER(MEMSET) | TS_FILTER(COLLECTIVE);
    const cut_options *const w = choice->options;
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    // If only a part of the work is selected, the idle time of a device is
    // unknown.
    if (!w->issued || w->zones || w->name || w->kinds ||
        row->end_ns <= choice->begin_ns || !(works >> row->columns->kind & 1) ||
        !cut_has_track(choice, row->track))
        return;
    if (correlation && cut_set_has(&choice->known, correlation)
            ? cut_set_has(&choice->earlier, correlation)
            : queued_at(choice, row) < w->from_ns)
        choice->begin_ns = row->end_ns;
}
