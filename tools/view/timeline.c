/*
    timeline.c - header, axis, names and legend around the rows
*/
#include "tools/view/draw.h"

/* ---- Margins ------------------------------------------------------------ */

// A number such as 1.23k or 4.56M: four columns and a letter.
static cli_text compact(double value)
{
    static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
    const double sign = value < 0 ? -1 : 1;
    size_t unit = 0;
    for (value *= sign; value >= 9999.5 && unit < 6; unit++)
        value /= 1000;
    return cli_format("%.*g%s", value >= 999.5 ? 4 : 3, sign * value,
                      units[unit]);
}

// A range with one unit for both ends: "0..12 items", "0.95..5.72 MiB".
static cli_text range_text(double low, double high, ts_text unit)
{
    static const char *const sizes[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    static const char *const times[] = { "ns", "us", "ms", "s" };
    const bool bytes = unit.size == 5 && !memcmp(unit.text, "bytes", 5);
    const bool ns = unit.size == 2 && !memcmp(unit.text, "ns", 2);
    const char *name = unit.text;
    int size = unit.size < 16 ? (int)unit.size : 16;
    if (bytes || ns) {
        size_t i = 0;
        const double step = bytes ? 1024 : 1000;
        for (; high >= step && i + 1 < (bytes ? 5u : 4u); i++) {
            low /= step;
            high /= step;
        }
        name = bytes ? sizes[i] : times[i];
        size = (int)strlen(name);
    }
    if (low == high) return cli_format("%s %.*s", compact(low).s, size, name);
    return cli_format("%s..%s %.*s", compact(low).s, compact(high).s, size,
                      name);
}

static cli_text side_text(const view_drawing *d, const view_row *row)
{
    cli_text text = { "" };
    const view *const v = d->v;
    const double range = (double)d->rows.range_ns;
    const ts_text unit = row->track == CLI_NONE ? (ts_text){ "", 0 }
                                                : v->tracks[row->track].unit;
    switch (row->type) {
    case VIEW_ROW_ZONES:
        if (row->part) break;
        return cli_percent((double)row->total_ns / range);
    case VIEW_ROW_WORK:
    case VIEW_ROW_CALLS: return cli_percent((double)row->total_ns / range);
    case VIEW_ROW_FRAMES:
        return cli_format("max %s", cli_short_time((int64_t)row->high).s);
    case VIEW_ROW_SPANS:
        return cli_format("%s span%s", cli_count(row->count).s,
                          row->count == 1 ? "" : "s");
    case VIEW_ROW_MOMENTS:
    case VIEW_ROW_SAMPLES: return cli_count(row->count);
    case VIEW_ROW_LOSS: return cli_format("%s lost", cli_count(row->count).s);
    case VIEW_ROW_ALLOCS:
        return cli_bytes(row->sum < 1e19 ? (uint64_t)row->sum : UINT64_MAX);
    case VIEW_ROW_COUNTER:
        return range_text(row->sampled ? row->low : row->before,
                          row->sampled ? row->high : row->before, unit);
    }
    return text;
}

const char *view_part_name(view_row_type type)
{
    switch (type) {
    case VIEW_ROW_CALLS: return "calls";
    case VIEW_ROW_MOMENTS: return "marks";
    case VIEW_ROW_SAMPLES: return "samples";
    case VIEW_ROW_ALLOCS: return "allocs";
    case VIEW_ROW_LOSS: return "lost";
    default: return "";
    }
}

/* ---- Names of rows ------------------------------------------------------ */

// The parent of a track that gets a header: device, context or, if there are
// several, process.
static uint32_t parent_of(const view *v, uint32_t track)
{
    const uint32_t parent =
        cli_map_row(&v->track_index, v->tracks[track].parent);
    if (parent == CLI_NONE || parent == track) return CLI_NONE;
    const ts_track_type type = v->tracks[parent].type;
    return type == TS_TRACK_DEVICE || type == TS_TRACK_CONTEXT ||
                   (type == TS_TRACK_PROCESS && v->several)
               ? parent
               : CLI_NONE;
}

// Whether a track has a header. A context has one only if its device has
// several.
static bool has_header(const view *v, uint32_t track)
{
    if (v->tracks[track].type == TS_TRACK_DEVICE) return true;
    if (v->tracks[track].type == TS_TRACK_PROCESS) return v->several;
    uint32_t contexts = 0;
    for (size_t i = 0; i < v->track_count; i++)
        contexts += v->tracks[i].type == TS_TRACK_CONTEXT &&
                    v->tracks[i].parent == v->tracks[track].parent;
    return contexts > 1;
}

// Whether rows of a track have no label: those of a device, or of its only
// context, follow the device's header.
static bool is_merged(const view *v, uint32_t track)
{
    const ts_track_type type = v->tracks[track].type;
    return type == TS_TRACK_DEVICE ||
           (type == TS_TRACK_PROCESS && v->several) ||
           (type == TS_TRACK_CONTEXT &&
            (has_header(v, track) || parent_of(v, track) != CLI_NONE));
}

static uint32_t indent_of(const view *v, uint32_t track)
{
    uint32_t indent = 0;
    for (int i = 0; i < 4 && track != CLI_NONE; i++) {
        track = parent_of(v, track);
        if (track != CLI_NONE && has_header(v, track)) indent++;
    }
    return indent;
}

typedef struct row_label {
    ts_text name;
    const char *part; // text after the name, or alone
    uint32_t indent;
    bool alarm;
    cli_text made; // buffer for `name`
} row_label;

// `first`: the row is the first one of its track.
static void label_row(row_label *label, const view *v, const view_row *row,
                      bool first)
{
    *label = (row_label){ .part = view_part_name(row->type),
                          .alarm = row->type == VIEW_ROW_LOSS };
    if (row->type == VIEW_ROW_FRAMES || row->type == VIEW_ROW_SPANS) {
        const uint64_t kind =
            row->type == VIEW_ROW_FRAMES ? TS_EVENT_FRAME : TS_EVENT_SPAN;
        label->name = view_key_text(v, kind << 32 | row->part, &label->made);
    } else if (row->track == CLI_NONE) {
        label->name = (ts_text){ "session", 7 };
    } else if (is_merged(v, row->track)) {
        label->indent = indent_of(v, row->track) + has_header(v, row->track);
        if (!*label->part)
            label->part = cli_track_type(v->tracks[row->track].type);
    } else {
        label->indent = indent_of(v, row->track) + !first;
        if (first)
            label->name =
                view_track_name(v, &v->tracks[row->track], &label->made);
    }
}

static bool is_first(const view_rows *rows, size_t index)
{
    return !index || rows->rows[index].track != rows->rows[index - 1].track ||
           rows->rows[index - 1].type <= VIEW_ROW_SPANS;
}

// A part that does not fit is left out: plot and side still identify the row.
static void put_label(view_drawing *d, const row_label *label)
{
    const uint32_t end = d->gutter - 1;
    const uint32_t name = cli_columns(label->name.text, label->name.size);
    const uint32_t part = (uint32_t)strlen(label->part);
    uint32_t at = view_put(&d->line, label->indent, end, label->name.text,
                           label->name.size, view_plain);
    if (name) at++;
    if (!name || label->indent + name + 1 + part <= end)
        view_put(&d->line, at, end, label->part, part,
                 label->alarm ? view_alarm : view_faint);
}

/* ---- Axis --------------------------------------------------------------- */

typedef struct axis_unit {
    const char *name;
    int64_t ns;
} axis_unit;

static axis_unit unit_for(int64_t ns)
{
    static const axis_unit units[] = {
        { "s", 1000000000 }, { "ms", 1000000 }, { "us", 1000 }, { "ns", 1 }
    };
    for (size_t i = 0; i < 3; i++)
        if (ns >= units[i].ns || -ns >= units[i].ns) return units[i];
    return units[3];
}

// A time with as many decimals as steps of `step` need.
static cli_text axis_text(int64_t ns, int64_t step, axis_unit unit)
{
    int digits = 0;
    for (int64_t s = unit.ns; s > step && s > 1; s /= 10)
        digits++;
    const uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    const uint64_t whole = size / (uint64_t)unit.ns;
    uint64_t part = size % (uint64_t)unit.ns, tens = (uint64_t)unit.ns;
    for (int i = 0; i < digits; i++)
        tens /= 10;
    part /= tens ? tens : 1;
    const char *const sign = ns < 0 ? "-" : "";
    if (!digits) return cli_format("%s%" PRIu64 " %s", sign, whole, unit.name);
    return cli_format("%s%" PRIu64 ".%0*" PRIu64 " %s", sign, whole, digits,
                      part, unit.name);
}

static int64_t round_up(int64_t ns, int64_t step)
{
    const int64_t rest = ns % step;
    return rest > 0 ? ns + step - rest : ns - rest;
}

// Whether the labels of ticks `step` apart fit.
static bool axis_fits(view_drawing *d, int64_t step)
{
    const view *const v = d->v;
    // Labels far from zero would be long, so they count from the first tick.
    d->base_ns = 0;
    if (unit_for(v->to_ns).ns / step > 999)
        d->base_ns = round_up(v->from_ns, step);
    const int64_t last = v->to_ns - d->base_ns;
    const size_t columns = strlen(axis_text(last, step, unit_for(last)).s) + 3;
    return step / d->rows.cell_ns >= (int64_t)columns;
}

// The smallest step of 1, 2 or 5 times a power of ten that fits.
static void axis_choose(view_drawing *d)
{
    static const int64_t factors[] = { 1, 2, 5 };
    for (int64_t power = 1; power < INT64_MAX / 10; power *= 10)
        for (int i = 0; i < 3; i++) {
            d->step_ns = factors[i] * power;
            if (axis_fits(d, d->step_ns)) return;
        }
}

static uint32_t column_of(const view_drawing *d, int64_t ns)
{
    return d->gutter + (uint32_t)((ns - d->v->from_ns) / d->rows.cell_ns);
}

// If labels count from the first tick, that one has its full time.
static cli_text tick_text(const view_drawing *d, int64_t ns)
{
    if (!d->base_ns) return axis_text(ns, d->step_ns, unit_for(d->v->to_ns));
    if (ns == d->base_ns) return axis_text(ns, d->step_ns, unit_for(ns));
    const int64_t last = d->v->to_ns - d->base_ns;
    return cli_format("+%.40s",
                      axis_text(ns - d->base_ns, d->step_ns, unit_for(last)).s);
}

void view_axis_print(view_drawing *d)
{
    const view *const v = d->v;
    axis_choose(d);
    const int64_t first = round_up(v->from_ns, d->step_ns);
    uint32_t free_from = d->gutter;
    view_line_clear(&d->line);
    for (int64_t t = first; t < v->to_ns; t += d->step_ns) {
        const uint32_t at = column_of(d, t);
        const cli_text text = tick_text(d, t);
        const uint32_t size = (uint32_t)strlen(text.s);
        if (at < free_from || at + size > d->line.width) continue;
        view_put_string(&d->line, at, d->line.width, text.s, view_faint);
        free_from = at + size + 1;
    }
    view_line_print(&d->line, stdout, v->color);
    view_line_clear(&d->line);
    for (uint32_t c = d->gutter; c < d->gutter + d->rows.columns; c++)
        view_put_code(&d->line, c, d->set->rule, view_faint);
    for (int64_t t = first; t < v->to_ns; t += d->step_ns)
        view_put_code(&d->line, column_of(d, t), d->set->tick, view_faint);
    view_line_print(&d->line, stdout, v->color);
}

/* ---- Header and legend -------------------------------------------------- */

void view_header_print(view_drawing *d)
{
    const view *const v = d->v;
    const ts_info *const info = v->trace.info;
    const uint32_t end = d->line.width;
    const char *const path = strcmp(v->path, "-") ? v->path : "stdin";
    const char *const slash = strrchr(path, '/');
    char text[160];
    view_line_clear(&d->line);
    uint32_t at = view_put_string(&d->line, 0, end / 2,
                                  slash ? slash + 1 : path, view_strong);
    if (v->more_count) {
        snprintf(text, sizeof text, " and %zu more", v->more_count);
        at = view_put_string(&d->line, at, end, text, view_strong);
    }
    // Several files have only the shown range in common.
    const int64_t all_ns =
        v->more_count ? v->to_ns - v->from_ns : info->last_ns - info->first_ns;
    uint64_t events = cli_event_count(info);
    for (size_t i = 0; i < v->more_count; i++)
        events += cli_event_count(v->more[i].trace.info);
    if (v->zoomed)
        snprintf(text, sizeof text, "  %s from %s, of %s",
                 cli_time(v->to_ns - v->from_ns).s, cli_time(v->from_ns).s,
                 cli_time(all_ns).s);
    else
        snprintf(text, sizeof text, "  %s", cli_time(all_ns).s);
    at = view_put_string(&d->line, at, end, text, view_plain);
    snprintf(text, sizeof text, "  %s%s",
             cli_counted(events, "event", "events").s,
             info->live && !info->finished ? "  recording" : "");
    at = view_put_string(&d->line, at, end, text, view_plain);
    if (info->lost) {
        snprintf(text, sizeof text, "  %s lost", cli_count(info->lost).s);
        view_put_string(&d->line, at, end, text, view_alarm);
    }
    view_line_print(&d->line, stdout, v->color);
}

static void print_legend(view_drawing *d, uint64_t hidden)
{
    const bool u = d->v->unicode;
    const uint32_t end = d->line.width;
    char text[96];
    uint32_t at = d->gutter;
    view_line_clear(&d->line);
    const struct {
        bool wanted;
        const char *unicode, *ascii;
    } parts[] = {
        { d->rows.coarse, "outermost zones only: --depth N draws all   ",
          "outermost zones only: --depth N draws all   " },
        { d->partly, "\u2582\u2585\u2587 share of time   ",
          "_:=# share of time   " },
        { d->moments, "\u2575 moment   ", "' moment   " },
        { d->waits && !d->v->color, "\u251c\u254c\u2524 waiting   ",
          "[.] waiting   " },
        { d->waits && d->v->color, "grey: waiting   ", "grey: waiting   " },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i].wanted)
            at = view_put_string(&d->line, at, end,
                                 u ? parts[i].unicode : parts[i].ascii,
                                 view_faint);
    if (d->lost)
        at = view_put_string(&d->line, at, end, "! records were lost   ",
                             view_alarm);
    if (hidden) {
        snprintf(text, sizeof text, "%" PRIu64 " more tracks: --limit 0",
                 hidden);
        at = view_put_string(&d->line, at, end, text, view_faint);
    }
    if (at > d->gutter) view_line_print(&d->line, stdout, d->v->color);
}

/* ---- All ---------------------------------------------------------------- */

static void put_grid(view_drawing *d)
{
    const view *const v = d->v;
    if (!v->color) return;
    const view_style style = { .fg = 237 };
    for (int64_t t = round_up(v->from_ns, d->step_ns); t < v->to_ns;
         t += d->step_ns)
        view_put_code(&d->line, column_of(d, t), d->set->grid, style);
}

static void print_row(view_drawing *d, size_t index)
{
    const view_row *const row = &d->rows.rows[index];
    row_label label;
    label_row(&label, d->v, row, is_first(&d->rows, index));
    view_line_clear(&d->line);
    put_grid(d);
    put_label(d, &label);
    view_draw_row(d, row);
    const cli_text side = side_text(d, row);
    view_put_string(&d->line, d->gutter + d->rows.columns + 1, d->line.width,
                    side.s,
                    row->type == VIEW_ROW_LOSS ? view_alarm : view_faint);
    view_line_print(&d->line, stdout, d->v->color);
    d->printed++;
}

// Prints headers for the parents of a track that the last row did not have.
static void print_headers(view_drawing *d, uint32_t track, uint32_t *headed)
{
    const view *const v = d->v;
    uint32_t path[4];
    int count = 0;
    for (uint32_t at = track; count < 4 && at != CLI_NONE;
         at = parent_of(v, at))
        if ((v->tracks[at].type == TS_TRACK_DEVICE ||
             v->tracks[at].type == TS_TRACK_PROCESS ||
             v->tracks[at].type == TS_TRACK_CONTEXT) &&
            has_header(v, at))
            path[count++] = at;
    while (count--) {
        if (headed[path[count]]) continue;
        headed[path[count]] = true;
        cli_text made;
        const ts_text name = cli_track_name(&v->tracks[path[count]], &made);
        view_line_clear(&d->line);
        put_grid(d);
        uint32_t at =
            view_put(&d->line, indent_of(v, path[count]), d->gutter - 1,
                     name.text, name.size, view_strong);
        const ts_track *const t = &v->tracks[path[count]];
        made = cli_format("%s %" PRIu64, cli_track_type(t->type), t->number);
        if (t->name.size)
            view_put_string(&d->line, at + 1, d->line.width, made.s,
                            view_faint);
        view_line_print(&d->line, stdout, v->color);
        d->printed++;
    }
}

// Computes the margins from the names of the tracks. The rows are not known
// yet, as they depend on the room between the margins.
static void measure(view_drawing *d)
{
    const view *const v = d->v;
    const uint64_t *const counts = v->trace.info->counts;
    d->gutter = 8;
    for (size_t i = 0; i < v->track_count; i++) {
        const ts_track *const t = &v->tracks[i];
        if (!v->track_selected[i] || t->type == TS_TRACK_PROCESS) continue;
        cli_text made;
        const ts_text name = view_track_name(v, t, &made);
        const uint32_t columns =
            cli_columns(name.text, name.size) + indent_of(v, (uint32_t)i) + 1;
        if (columns > d->gutter) d->gutter = columns;
    }
    if (d->gutter > v->width / 4) d->gutter = v->width / 4;
    d->side = counts[TS_EVENT_COUNTER] ? 18 : counts[TS_EVENT_FRAME] ? 14 : 9;
    if (d->side > v->width / 5) d->side = v->width / 5;
}

void view_timeline_print(view_drawing *d)
{
    view *const v = d->v;
    uint32_t *const headed = view_resize(NULL, v->track_count + 1, 4);
    memset(headed, 0, (v->track_count + 1) * sizeof *headed);
    uint64_t shown = 0, hidden = 0;
    view_header_print(d);
    view_axis_print(d);
    // Header, axis and legend take four lines, the shell's prompt one.
    const uint32_t room = v->height > 6 ? v->height - 5 : 1;
    for (size_t i = 0; i < d->rows.count; i++) {
        const view_row *const row = &d->rows.rows[i];
        const bool first = is_first(&d->rows, i);
        const bool full = (v->limit && first && shown >= v->limit) ||
                          (v->height && d->printed >= room);
        if (hidden || full) {
            hidden += first || !hidden;
            continue;
        }
        shown += first;
        if (first && row->track != CLI_NONE && row->type > VIEW_ROW_SPANS)
            print_headers(d, row->track, headed);
        print_row(d, i);
    }
    if (!d->rows.count)
        puts("there is nothing to draw in this selection; "
             "--events lists all events");
    print_legend(d, hidden);
    free(headed);
}

void view_timeline(view *v)
{
    view_drawing d = { .v = v };
    d.set = v->unicode ? &view_glyphs_unicode : &view_glyphs_ascii;
    const int64_t to_ns = v->to_ns;
    uint32_t processes = 0;
    for (size_t i = 0; i < v->track_count; i++)
        processes += v->tracks[i].type == TS_TRACK_PROCESS;
    v->several = processes > 1;
    measure(&d);
    view_rows_collect(&d.rows, v, v->width - d.gutter - d.side);
    d.line = (view_line){ .width = v->width, .unicode = v->unicode };
    d.line.glyphs = view_resize(NULL, v->width, sizeof *d.line.glyphs);
    view_timeline_print(&d);
    v->to_ns = to_ns;
    free(d.line.glyphs);
    view_rows_free(&d.rows);
}
