/*
    events.c - --events: one line for each event
*/
#include "tools/view/view.h"

// Whether the view shows an event. The filter has checked the range.
static bool is_selected(view *v, const ts_event *event)
{
    if (!(v->kinds >> event->kind & 1)) return false;
    if (event->start_ns >= v->to_ns) return false;
    if (event->start_ns < v->from_ns &&
        event->start_ns + event->duration_ns <= v->from_ns)
        return false;
    return view_track_is_selected(v, event->track);
}

// The label of an event: a zone's argument by its name, a message by its text.
static ts_text label_of(const view *v, const ts_event *event, cli_text *made)
{
    if (event->kind == TS_EVENT_MESSAGE) return ts_event_text(event);
    if (event->kind == TS_EVENT_COUNTER) return (ts_text){ "", 0 };
    return view_key_text(v, view_key(event->columns, event->row), made);
}

/* ---- Text --------------------------------------------------------------- */

static void print_padded(const char *text, size_t size, uint32_t columns)
{
    const uint32_t used = cli_columns(text, size);
    cli_put_text(stdout, text, size);
    printf("%*s", used < columns ? (int)(columns - used) : 0, "");
}

static void print_value(const view_value *value, void *user)
{
    const ts_event *const event = user;
    if (event->kind == TS_EVENT_MESSAGE && value->type == VIEW_TEXT &&
        !strcmp(value->name, "text"))
        return; // already in the label
    printf("  %s=", value->name);
    switch (value->type) {
    case VIEW_UINT: printf("%" PRIu64, value->number); break;
    case VIEW_HEX: printf("0x%" PRIx64, value->number); break;
    case VIEW_INT: printf("%" PRId64, value->signed_number); break;
    case VIEW_REAL: fputs(cli_real(value->real).s, stdout); break;
    case VIEW_NS: fputs(cli_time(value->signed_number).s, stdout); break;
    case VIEW_TEXT:
        cli_put_text(stdout, value->text.text, value->text.size);
        break;
    }
}

// Prints "    1.234567890 s": aligned and sortable.
static void print_time(int64_t ns)
{
    printf("%17s", cli_moment(ns, 9).s);
}

static void print_event(view *v, const ts_event *event)
{
    cli_text made, made_track;
    const ts_track *const track = view_track_of(v, event->track);
    const ts_text name = view_track_name(v, track, &made_track);
    const ts_text label = label_of(v, event, &made);
    print_time(event->start_ns);
    printf("  %10s  ",
           event->duration_ns ? cli_time(event->duration_ns).s : "");
    print_padded(name.text, name.size, 16);
    printf("  %-13s ", ts_event_name(event->kind));
    cli_put_text(stdout, label.text, label.size);
    view_values(v, event, print_value, (void *)(uintptr_t)event);
    putchar('\n');
}

/* ---- JSON --------------------------------------------------------------- */

static void json_value(const view_value *value, void *user)
{
    cli_json *const json = user;
    switch (value->type) {
    case VIEW_HEX:
    case VIEW_UINT: cli_json_uint(json, value->name, value->number); break;
    case VIEW_INT: cli_json_int(json, value->name, value->signed_number); break;
    case VIEW_REAL: cli_json_real(json, value->name, value->real); break;
    case VIEW_NS: {
        const cli_text name = cli_format("%s_ns", value->name);
        cli_json_int(json, name.s, value->signed_number);
        break;
    }
    case VIEW_TEXT:
        cli_json_text(json, value->name, value->text.text, value->text.size);
        break;
    }
}

static void json_event(view *v, const ts_event *event)
{
    cli_json *const json = &v->out;
    cli_text made, made_track;
    const ts_track *const track = view_track_of(v, event->track);
    const ts_text name = cli_track_name(track, &made_track);
    const ts_text label = label_of(v, event, &made);
    cli_json_open(json, NULL, '{');
    cli_json_int(json, "start_ns", event->start_ns);
    cli_json_int(json, "duration_ns", event->duration_ns);
    cli_json_string(json, "kind", ts_event_name(event->kind));
    cli_json_uint(json, "track", event->track);
    cli_json_text(json, "track_name", name.text, name.size);
    cli_json_text(json, "label", label.text, label.size);
    cli_json_open(json, "values", '{');
    view_values(v, event, json_value, json);
    cli_json_close(json, '}');
    cli_json_close(json, '}');
}

/* ---- Listing ------------------------------------------------------------ */

// Prints an event. False when the limit is reached.
static bool list_event(view *v, const ts_event *event)
{
    if (v->limit && v->listed >= v->limit) return false;
    if (!is_selected(v, event)) return true;
    v->listed++;
    v->json ? json_event(v, event) : print_event(v, event);
    return true;
}

static void list_all(view *v)
{
    const ts_filter filter = {
        .kinds = v->kinds,
        .from_ns = v->zoomed ? v->from_ns : 0,
        .to_ns = v->zoomed ? v->to_ns : 0,
    };
    ts_cursor *cursor;
    ts_event event;
    const ts_result result = ts_cursor_open(&cursor, v->trace.reader, &filter);
    if (result != TS_OK)
        cli_error(v->tool, v->path, "%s", ts_result_text(result));
    while (ts_cursor_next(cursor, &event))
        if (!list_event(v, &event)) break;
    ts_cursor_close(cursor);
}

typedef struct fresh_list {
    ts_columns *columns; // of the latest chunks
    size_t count;
} fresh_list;

typedef struct fresh_row {
    int64_t start_ns;
    uint32_t chunk, row; // position in fresh.columns
} fresh_row;

static int by_start(const void *left, const void *right)
{
    const fresh_row *const a = left, *const b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    if (a->chunk != b->chunk) return a->chunk < b->chunk ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

static size_t fresh_decode(view *v, fresh_list *fresh, size_t first_chunk)
{
    size_t rows = 0;
    ts_chunk_info chunk;
    for (size_t i = first_chunk; ts_reader_chunk(v->trace.reader, i, &chunk);
         i++) {
        if (chunk.header.kind != TS_CHUNK_EVENTS) continue;
        fresh->columns = view_resize(fresh->columns, fresh->count + 1,
                                     sizeof *fresh->columns);
        ts_columns *const columns = &fresh->columns[fresh->count];
        *columns = (ts_columns){ 0 };
        if (ts_reader_decode(v->trace.reader, i, columns) != TS_OK) continue;
        fresh->count++;
        rows += columns->count;
    }
    return rows;
}

// Lists the events added to a live trace since the last call, in order of
// start.
static void list_fresh(view *v, size_t first_chunk)
{
    fresh_list fresh = { 0 };
    const size_t count = fresh_decode(v, &fresh, first_chunk);
    fresh_row *const rows = view_resize(NULL, count + 1, sizeof *rows);
    size_t n = 0;
    for (uint32_t c = 0; c < fresh.count; c++)
        for (uint32_t r = 0; r < fresh.columns[c].count; r++)
            rows[n++] = (fresh_row){ fresh.columns[c].start_ns[r], c, r };
    qsort(rows, n, sizeof *rows, by_start);
    bool more = true;
    for (size_t i = 0; i < n && more; i++) {
        const ts_columns *const columns = &fresh.columns[rows[i].chunk];
        const uint32_t row = rows[i].row;
        const ts_event event = {
            .kind = columns->kind,
            .track = columns->tracks ? columns->tracks[row] : columns->track,
            .start_ns = columns->start_ns[row],
            .duration_ns = columns->duration_ns[row],
            .columns = columns,
            .row = row,
        };
        more = list_event(v, &event);
    }
    free(rows);
    for (size_t c = 0; c < fresh.count; c++)
        ts_columns_close(v->trace.reader, &fresh.columns[c]);
    free(fresh.columns);
}

void view_events_begin(view *v)
{
    if (!v->json) cli_fold();
    v->out = (cli_json){ .out = stdout, .lines = 2 };
    if (!v->json) return;
    cli_json_open(&v->out, NULL, '{');
    cli_json_open(&v->out, "events", '[');
}

void view_events(view *v, size_t first_chunk)
{
    if (first_chunk)
        list_fresh(v, first_chunk);
    else
        list_all(v);
    fflush(stdout);
}

void view_events_end(view *v)
{
    if (!v->json) return;
    cli_json_close(&v->out, ']');
    cli_json_uint(&v->out, "listed", v->listed);
    cli_json_close(&v->out, '}');
}
