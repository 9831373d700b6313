/*
    zones.c - selection by zones and frames
*/
#include "tools/cut/cut.h"

/* ---- Zones --------------------------------------------------------------- */

bool cut_is_zone(cut_choice *choice, const cut_row *row)
{
    const uint32_t site = (uint32_t)cut_value(row, TS_COLUMN_SITE);
    bool yes;
    if (cut_memo_get(&choice->zone_names, site, &yes)) return yes;
    const ts_text name = ts_reader_site_name(choice->reader, site);
    yes = cli_list_has(choice->options->zones, name.text, name.size);
    cut_memo_put(&choice->zone_names, site, yes);
    return yes;
}

static void take_zone(cut_choice *choice, const cut_row *row)
{
    const bool open = row->columns->kind == TS_EVENT_ZONE_OPEN;
    if (!cut_is_zone(choice, row)) return;
    const cut_span span = { row->track, row->start_ns,
                            open ? INT64_MAX : row->end_ns };
    cut_spans_add(&choice->zones, span);
}

static void take_call(cut_choice *choice, const cut_row *row)
{
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (correlation &&
        cut_spans_have(&choice->zones, row->track, row->start_ns, row->end_ns))
        cut_set_add(&choice->zone_calls, correlation);
}

bool cut_find_zones(cut_choice *choice)
{
    if (!choice->options->zones) return true;
    if (!cut_each(choice, TS_FILTER(ZONE) | TS_FILTER(ZONE_OPEN), NULL,
                  take_zone))
        return false;
    cut_spans_settle(&choice->zones);
    return cut_each(choice, TS_FILTER(API_CALL), NULL, take_call) &&
           !choice->zones.no_memory && !choice->zone_calls.no_memory;
}

/* ---- Frames -------------------------------------------------------------- */

typedef struct frames {
    const cut_job *job;
    const char *name; // NULL: any name
    size_t name_size;
    uint64_t first, last; // selected; last UINT64_MAX: to the end
    uint64_t seen;        // frame starts so far
    ts_text only;         // the trace's only frame name
    bool several, has_from, has_to;
    int64_t from_ns, to_ns;
} frames;

static bool parse_number(const char **at, uint64_t *number)
{
    *number = 0;
    const char *const begin = *at;
    for (; **at >= '0' && **at <= '9' && *at - begin < 18; ++*at)
        *number = *number * 10 + (uint64_t)(**at - '0');
    return *at > begin;
}

bool cut_range(const char *at, uint64_t *first, uint64_t *last)
{
    *first = 0;
    *last = UINT64_MAX;
    const bool begins = parse_number(&at, first);
    if (begins && !*at) {
        *last = *first;
        return true;
    }
    if (strncmp(at, "..", 2)) return false;
    at += 2;
    const bool ends = *at && parse_number(&at, last);
    return !*at && (begins || ends) && *first <= *last;
}

static bool parse_range(const char *at, frames *f)
{
    return cut_range(at, &f->first, &f->last);
}

static bool same(ts_text a, const char *text, size_t size)
{
    return a.size == size && !memcmp(a.text, text, size);
}

// Each frame event begins a frame and ends the previous one.
static void take_frame(frames *f, const ts_event *event)
{
    const ts_text name = ts_event_label(f->job->trace->reader, event);
    if (f->name && !same(name, f->name, f->name_size)) return;
    if (!f->only.text) f->only = name;
    f->several |= !same(name, f->only.text, f->only.size);
    if (f->seen == f->first) {
        f->has_from = true;
        f->from_ns = event->start_ns;
    }
    if (f->last != UINT64_MAX && f->seen == f->last + 1) {
        f->has_to = true;
        f->to_ns = event->start_ns;
    }
    f->seen++;
}

static bool find_frames(frames *f)
{
    const ts_filter filter = { .kinds = TS_FILTER(FRAME) };
    ts_cursor *cursor;
    ts_event event;
    if (ts_cursor_open(&cursor, f->job->trace->reader, &filter) != TS_OK)
        return false;
    while (ts_cursor_next(cursor, &event))
        take_frame(f, &event);
    ts_cursor_close(cursor);
    return true;
}

static bool no_such_frame(const frames *f, const char *text)
{
    const cut_job *const job = f->job;
    if (f->several)
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--frame %s: frames have several names; use NAME:%s", text,
                 text);
    else if (!f->seen && cut_has_step_zones(job))
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--frame %s: the trace contains no frames, but steps: use "
                 "--step",
                 text);
    else if (!f->seen)
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--frame %s: the trace contains no such frames", text);
    else
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--frame %s: the trace contains frames 0 to %" PRIu64, text,
                 f->seen - 1);
    return false;
}

bool cut_frames_valid(const cli_tool *tool, const char *text)
{
    const char *const colon = strrchr(text, ':');
    frames f;
    if (parse_range(colon ? colon + 1 : text, &f)) return true;
    cli_fail(tool, TS_ERR_USAGE, NULL,
             "--frame %s: must be A..B, numbers from 0, or NAME:A..B", text);
    return false;
}

bool cut_frames(cut_job *job, const char *text)
{
    const char *const colon = strrchr(text, ':');
    frames f = { .job = job,
                 .name = colon ? text : NULL,
                 .name_size = colon ? (size_t)(colon - text) : 0 };
    if (!cut_frames_valid(job->tool, text)) return false;
    parse_range(colon ? colon + 1 : text, &f);
    if (!find_frames(&f)) return cli_out_of_memory(job->tool);
    // The last frame lasts until the end of the trace.
    const bool to_end = f.last == UINT64_MAX || f.last + 1 == f.seen;
    if (f.several || !f.has_from || (!f.has_to && !to_end))
        return no_such_frame(&f, text);
    cut_options *const w = &job->options;
    const int64_t to_ns = f.has_to ? f.to_ns : INT64_MAX;
    if (!w->timed || f.from_ns > w->from_ns) w->from_ns = f.from_ns;
    if (!w->timed || to_ns < w->to_ns) w->to_ns = to_ns;
    w->timed = true;
    return true;
}
