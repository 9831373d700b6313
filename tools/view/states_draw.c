/*
    states_draw.c - --states as lines of a terminal

      gutter   plot                                              side
      names    |0 ms          10 ms         20 ms         30 ms|
      NPU 0    |▁▂▃▅▇▅▃▁▁▂▃▅▇▅▃▁  busy share of each cell       | 41 %
      idle     |hhhhslllhhhhhs..  main cause of idle time       | host late
      stream 1 |░░░░▃▅▇▅···· ▅▃▁  the states of a stream       | 18 %
*/
#include "tools/view/states.h"

/* ---- Lines -------------------------------------------------------------- */

void view_states_print_line(view_states *s)
{
    view_line_print(&s->d.line, stdout, s->v->color);
    view_line_clear(&s->d.line);
}

void view_states_print_words(view_states *s, uint32_t indent, const char *text)
{
    view_line *const line = &s->d.line;
    uint32_t at = indent;
    if (indent > 4 &&
        indent + 20 > line->width) { // on the next line, which has room
        view_states_print_line(s);
        at = indent = 4;
    }
    for (const char *word = text; *word;) {
        const size_t bytes = strcspn(word, " ");
        const uint32_t columns = cli_columns(word, bytes);
        if (at > indent && at + 1 + columns > line->width) {
            view_states_print_line(s);
            at = indent;
        }
        if (at > indent) at++;
        at = view_put(line, at, line->width, word, bytes, view_plain);
        word += bytes + (word[bytes] == ' ');
    }
    view_states_print_line(s);
}

/* ---- Rows --------------------------------------------------------------- */

static void put_level(view_states *s, uint32_t column, int64_t part,
                      view_style style)
{
    int64_t level = (part * 8 + s->d.rows.cell_ns - 1) / s->d.rows.cell_ns;
    if (level > 8) level = 8;
    view_put_code(&s->d.line, column, s->d.set->levels[level], style);
}

static void print_busy_row(view_states *s, const view_shares *cells)
{
    const view_style style = { .fg = 114 };
    view_put_string(&s->d.line, 1, s->d.gutter - 1, "busy", view_plain);
    for (uint32_t c = 0; c < s->d.rows.columns; c++)
        if (cells[c].busy_ns)
            put_level(s, s->d.gutter + c, cells[c].busy_ns, style);
}

// Prints the queue depth, relative to its maximum.
static void print_queue_row(view_states *s, size_t device)
{
    const view_style style = { .fg = 180 };
    const uint32_t most = ts_timeline_device(s->timeline, device)->queue_max;
    const uint32_t columns = s->d.rows.columns;
    view_put_string(&s->d.line, 1, s->d.gutter - 1, "queue", view_plain);
    for (uint32_t c = 0; c < columns && most; c++) {
        const uint64_t depth = view_states_queue(s, device, c, columns);
        const uint64_t level = (depth * 8 + most - 1) / most;
        if (depth)
            view_put_code(&s->d.line, s->d.gutter + c,
                          s->d.set->levels[level < 8 ? level : 8], style);
    }
    if (most)
        view_put_string(&s->d.line, s->d.gutter + columns + 1, s->d.line.width,
                        cli_format("<= %s", cli_count(most).s).s, view_faint);
}

static void print_idle_row(view_states *s, const view_shares *cells)
{
    view_put_string(&s->d.line, 1, s->d.gutter - 1, "idle for", view_plain);
    for (uint32_t c = 0; c < s->d.rows.columns; c++) {
        int most = -1;
        int64_t sum = 0;
        for (int i = 0; i < TS_IDLE_LIMIT; i++) {
            sum += cells[c].idle_ns[i];
            if (cells[c].idle_ns[i] &&
                (most < 0 || cells[c].idle_ns[i] > cells[c].idle_ns[most]))
                most = i;
        }
        // Less than 1 % of the cell counts as none.
        if (most < 0 || sum < s->d.rows.cell_ns / 100) continue;
        const view_style style = { .fg = view_idle_color((ts_idle)most) };
        view_put_code(&s->d.line, s->d.gutter + c,
                      (uint32_t)view_idle_letter((ts_idle)most), style);
    }
}

// Draws the state that covers most of a cell; if it is RUNNING, its share.
static void put_state(view_states *s, uint32_t column, const view_shares *cell)
{
    static const uint32_t glyphs[2][TS_STATE_LIMIT] = {
        { '.', 'p', '#', 'w', ' ' }, { 0xB7, 0x254C, 0x2588, 0x2591, ' ' }
    };
    static const uint8_t colors[TS_STATE_LIMIT] = { 240, 221, 114, 203, 0 };
    int most = -1;
    for (int i = 0; i < TS_STATE_LIMIT; i++)
        if (cell->state_ns[i] &&
            (most < 0 || cell->state_ns[i] > cell->state_ns[most]))
            most = i;
    if (most < 0) return;
    const int64_t runs = cell->state_ns[TS_STATE_RUNNING];
    const bool rests = most == TS_STATE_IDLE || most == TS_STATE_FINISHED;
    if (runs && (rests || most == TS_STATE_RUNNING)) {
        const view_style style = { .fg = colors[TS_STATE_RUNNING] };
        put_level(s, s->d.gutter + column, runs, style);
        return;
    }
    const view_style style = { .fg = colors[most] };
    view_put_code(&s->d.line, s->d.gutter + column, glyphs[s->v->unicode][most],
                  style);
}

// Prints a stream. Its running time is a share of the device's span, like busy
// time.
static void print_stream(view_states *s, size_t stream, const ts_lane *lane,
                         int64_t span_ns, view_shares *cells)
{
    view_line *const line = &s->d.line;
    view_shares sum = { 0 };
    cli_text made;
    memset(cells, 0, s->d.rows.columns * sizeof *cells);
    view_states_stream(s, stream, cells, &sum);
    const ts_text name = cli_track_name(
        view_track_of(view_states_file(s, lane->file), lane->track), &made);
    view_put(line, 1, s->d.gutter - 1, name.text, name.size, view_plain);
    for (uint32_t c = 0; c < s->d.rows.columns; c++)
        put_state(s, c, &cells[c]);
    const cli_text side = cli_percent(
        span_ns > 0 ? (double)sum.state_ns[TS_STATE_RUNNING] / (double)span_ns
                    : 0);
    view_put_string(line, s->d.gutter + s->d.rows.columns + 1, line->width,
                    side.s, view_faint);
    view_states_print_line(s);
}

static bool has_state_spans(const view_states *s, size_t stream)
{
    ts_state_spans spans = ts_timeline_state_spans(s->timeline, stream);
    ts_state_span span;
    return ts_state_spans_next(&spans, &span);
}

static void print_legend(view_states *s)
{
    const char *const text =
        s->v->unicode
            ? "\u2581\u2584\u2588 running  \u2591 waiting  "
              "\u254C dispatch pending  \u00B7 idle  % running"
            : "_=# running  w waiting  p dispatch pending  . idle  % running";
    view_put_string(&s->d.line, s->d.gutter, s->d.line.width, text, view_faint);
    view_states_print_line(s);
}

// Returns the number of streams that did not fit.
static uint64_t print_rows(view_states *s, size_t device, uint64_t *shown,
                           view_shares *cells)
{
    ts_lane lane, own;
    uint64_t hidden = 0;
    uint32_t at = view_states_put_device(s, device);
    const ts_timeline_figures *const f =
        ts_timeline_device(s->timeline, device);
    ts_replay_device(s->replay, device, &own);
    if (at) view_states_print_line(s);
    memset(cells, 0, s->d.rows.columns * sizeof *cells);
    view_states_device(s, device, cells);
    print_busy_row(s, cells);
    view_states_print_line(s);
    print_idle_row(s, cells);
    view_states_print_line(s);
    print_queue_row(s, device);
    view_states_print_line(s);
    for (size_t i = 0; ts_replay_lane(s->replay, i, &lane); i++) {
        if (lane.device != own.track || lane.file != own.file ||
            !view_states_takes(s, &lane) || !has_state_spans(s, i))
            continue;
        const bool full = s->v->limit && *shown >= s->v->limit;
        hidden += full;
        if (full) continue;
        (*shown)++;
        print_stream(s, i, &lane, f->end_ns - f->start_ns, cells);
    }
    return hidden;
}

/* ---- All ---------------------------------------------------------------- */

static void measure(view_states *s)
{
    view *const v = s->v;
    view_drawing *const d = &s->d;
    ts_lane lane;
    cli_text made;
    d->v = v;
    d->set = v->unicode ? &view_glyphs_unicode : &view_glyphs_ascii;
    d->gutter = 10;
    for (size_t i = 0; ts_replay_lane(s->replay, i, &lane); i++) {
        const ts_text name = cli_track_name(
            view_track_of(view_states_file(s, lane.file), lane.track), &made);
        const uint32_t columns = cli_columns(name.text, name.size) + 2;
        if (columns > d->gutter) d->gutter = columns;
    }
    if (d->gutter > v->width / 4) d->gutter = v->width / 4;
    d->side = 8;
    d->rows.columns = v->width - d->gutter - d->side;
    d->rows.cell_ns =
        (v->to_ns - v->from_ns + d->rows.columns - 1) / d->rows.columns;
    d->line = (view_line){ .width = v->width, .unicode = v->unicode };
    d->line.glyphs = view_resize(NULL, v->width, sizeof *d->line.glyphs);
    view_line_clear(&d->line);
}

// Prints the offset of each file from the axis of the first one.
static void print_files(view_states *s)
{
    ts_replay_file file;
    for (uint32_t i = 0;
         s->v->more_count && ts_replay_file_at(s->replay, i, &file); i++) {
        char text[512] = "";
        const size_t room = sizeof text - 200;
        const char *const path = view_states_file(s, i)->path;
        size_t size = (size_t)snprintf(text, room, "%s", path);
        if (size >= room) size = room - 1;
        if (i)
            size += (size_t)snprintf(text + size, 60, ", offset %s%s",
                                     file.offset_ns > 0 ? "+" : "",
                                     cli_time(file.offset_ns).s);
        if (i && file.matched)
            snprintf(text + size, 140, " from %s collectives, residual %s",
                     cli_count(file.matched).s, cli_time(file.residual_ns).s);
        view_put_string(&s->d.line, 2, s->d.line.width,
                        view_states_file_name(s, i).s, view_faint);
        view_states_print_words(s, 18, text);
    }
}

static void print_losses(view_states *s)
{
    const ts_replay_stats *const r = ts_replay_result(s->replay);
    char text[128];
    if (r->lost) {
        snprintf(text, sizeof text,
                 "%s record%s lost: operations and causes may be missing",
                 cli_count(r->lost).s, r->lost == 1 ? " was" : "s were");
        view_states_print_words(s, 0, text);
    }
    if (r->skipped[TS_SKIP_BAD_TIME]) {
        snprintf(text, sizeof text, "%s ignored because of invalid times",
                 cli_counted(r->skipped[TS_SKIP_BAD_TIME], "operation is",
                             "operations are")
                     .s);
        view_states_print_words(s, 0, text);
    }
}

// Prints "rank 3: " and, if there are several, the device.
static void put_device_name(FILE *out, const view_states *s, size_t device)
{
    ts_lane own, other;
    bool several = false;
    if (!ts_replay_device(s->replay, device, &own)) return;
    for (size_t i = 0; ts_replay_device(s->replay, i, &other); i++)
        several |= i != device && other.file == own.file;
    if (s->v->more_count)
        fprintf(out, "%s: ", view_states_file_name(s, own.file).s);
    if (!several) return;
    const ts_track *const track =
        view_track_of(view_states_file(s, own.file), own.track);
    fprintf(out, "device %" PRIu64 ": ", own.track ? track->number : 0);
}

// Prints a paragraph about a gap, wrapped to the terminal.
static void print_gap(view_states *s, const view_gap *gap, bool several)
{
    enum { INDENT = 24 };
    char *text = NULL;
    size_t size = 0;
    FILE *const out = open_memstream(&text, &size);
    if (!out) return;
    if (several) put_device_name(out, s, gap->device);
    view_states_put_gap(out, s, &gap->gap);
    fclose(out);
    const cli_text when =
        cli_format("%9s at %s", cli_time(gap->gap.end_ns - gap->gap.start_ns).s,
                   cli_time(gap->gap.start_ns).s);
    view_put_string(&s->d.line, 1, s->d.line.width, when.s, view_plain);
    if (strlen(when.s) >= INDENT - 1) view_states_print_line(s);
    view_states_print_words(s, INDENT, text);
    free(text);
}

static void print_gaps(view_states *s)
{
    size_t count;
    view_gap *const gaps = view_states_gaps(s, &count);
    size_t devices = 0;
    while (ts_timeline_device(s->timeline, devices))
        devices++;
    size_t shown = s->v->limit ? (size_t)s->v->limit : count;
    if (shown > count) shown = count;
    if (shown > 8 && !s->v->limited) shown = 8;
    if (count) {
        const cli_text title = cli_format(
            "longest gaps (%s of %s)", cli_count(shown).s, cli_count(count).s);
        putchar('\n');
        view_states_print_words(s, 0, title.s);
    }
    for (size_t i = 0; i < shown; i++)
        print_gap(s, &gaps[i], devices > 1);
    free(gaps);
}

void view_states_draw(view_states *s)
{
    uint64_t shown = 0, hidden = 0;
    measure(s);
    view_header_print(&s->d);
    view_line_clear(&s->d.line);
    print_files(s);
    print_losses(s);
    for (size_t i = 0; ts_timeline_device(s->timeline, i); i++)
        view_states_print_device(s, i);
    putchar('\n');
    view_axis_print(&s->d);
    view_line_clear(&s->d.line);
    view_shares *const cells =
        view_resize(NULL, s->d.rows.columns + 1, sizeof *cells);
    for (size_t i = 0; ts_timeline_device(s->timeline, i); i++)
        hidden += print_rows(s, i, &shown, cells);
    print_legend(s);
    if (hidden)
        printf("%s more stream%s: --limit 0\n", cli_count(hidden).s,
               hidden == 1 ? "" : "s");
    print_gaps(s);
    free(cells);
    free(s->d.line.glyphs);
}
