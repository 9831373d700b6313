/*
    draw.c - the timeline as lines of a terminal

      gutter   plot                   side
      names    |0 ms       10 ms    |
      main     |├frame───┤├fra─┤    | 97.1 %
      stream 1 |  ┣matmul━━┫▃▂┣re━┫ | 63.0 %
      queue    |▁▂▃▅▇▅▃▁▂▃▅▇▅▃▁     | 0..12
*/
#include "tools/view/draw.h"

const view_glyphs view_glyphs_unicode = {
    .open = { 0x251C, 0x2523, 0x251C },
    .line = { 0x2500, 0x2501, 0x254C },
    .close = { 0x2524, 0x252B, 0x2524 },
    .levels = { ' ', 0x2581, 0x2582, 0x2583, 0x2584, 0x2585, 0x2586, 0x2587,
                0x2588 },
    .edge = 0x258F,
    .moment = 0x2575,
    .mark = 0x25BE,
    .grid = 0x250A,
    .rule = 0x2500,
    .tick = 0x252C,
    .block = 0x2588,
    .half = 0x258C,
};

const view_glyphs view_glyphs_ascii = {
    .open = { '[', '[', '[' },
    .line = { '-', '=', '.' },
    .close = { ']', ']', ']' },
    .levels = { ' ', '_', '.', ':', '-', '=', '+', '*', '#' },
    .edge = '|',
    .moment = '\'',
    .mark = '^',
    .grid = '.',
    .rule = '-',
    .tick = '+',
    .block = '#',
    .half = '|',
};

enum { HOST = 0, DEVICE = 1, WAITING = 2 };

const view_style view_plain = { 0 }, view_strong = { .bold = true },
                 view_faint = { .fg = 245 },
                 view_alarm = { .fg = 203, .bold = true };

/* ---- Colours ------------------------------------------------------------ */

// A light background colour, so that black text is readable.
static uint8_t name_color(ts_text name)
{
    static const uint8_t colors[] = { 110, 150, 180, 174, 146, 116, 186, 139,
                                      109, 143, 152, 216, 115, 181, 179, 117 };
    uint32_t hash = 2166136261u; // FNV-1a
    for (size_t i = 0; i < name.size; i++)
        hash = (hash ^ (uint8_t)name.text[i]) * 16777619u;
    return colors[(hash ^ hash >> 16) % sizeof colors];
}

// The nearest colour of the 6 x 6 x 6 cube; its steps are 0, 95, 135, ...
static uint8_t cube_color(uint32_t rgb)
{
    uint32_t index = 0;
    for (int shift = 16; shift >= 0; shift -= 8) {
        const uint32_t c = rgb >> shift & 255;
        index = index * 6 + (c < 48 ? 0 : c < 115 ? 1 : (c - 35) / 40);
    }
    return (uint8_t)(16 + index);
}

static view_style key_style(const view *v, uint64_t key)
{
    cli_text made;
    const uint32_t rgb = view_key_color(v, key);
    const uint32_t light = (rgb >> 16) * 3 + (rgb >> 8 & 255) * 6 + (rgb & 255);
    view_style style = { .fg = 16 };
    if (rgb && light < 1100) style.fg = 231;
    style.bg = rgb ? cube_color(rgb) : name_color(view_key_text(v, key, &made));
    return style;
}

/* ---- Bars --------------------------------------------------------------- */

// Writes a name if at least three columns of it, or all of it, fit.
static void put_name(view_drawing *d, uint32_t from, uint32_t to, ts_text name,
                     view_style style)
{
    char buffer[256];
    if (to <= from) return;
    const ts_text text = view_shorten(name, to - from, buffer);
    if (to - from < 3 && cli_columns(text.text, text.size) > to - from) return;
    view_put(&d->line, from, to, text.text, text.size, style);
}

static void put_bar_plain(view_drawing *d, uint32_t from, uint32_t to,
                          ts_text name, int look)
{
    const view_glyphs *const set = d->set;
    if (to - from < 3 && look != WAITING) {
        view_put_code(&d->line, from, set->block, view_plain);
        if (to - from == 2)
            view_put_code(&d->line, from + 1, set->half, view_plain);
        return;
    }
    if (to - from == 1) {
        view_put_code(&d->line, from, set->line[look], view_plain);
        return;
    }
    view_put_code(&d->line, from, set->open[look], view_plain);
    for (uint32_t c = from + 1; c + 1 < to; c++)
        view_put_code(&d->line, c, set->line[look], view_plain);
    view_put_code(&d->line, to - 1, set->close[look], view_plain);
    put_name(d, from + 1, to - 1, name, view_plain);
}

static void put_bar_color(view_drawing *d, uint32_t from, uint32_t to,
                          ts_text name, view_style style, bool joined)
{
    for (uint32_t c = from; c < to; c++)
        view_put_code(&d->line, c, ' ', style);
    // A bar of one cell has no edge, which would hide it.
    const bool edge = joined && to - from > 1;
    if (edge) view_put_code(&d->line, from, d->set->edge, style);
    put_name(d, from + (edge || to - from > 6), to, name, style);
}

static void put_bar(view_drawing *d, uint32_t from, uint32_t to,
                    const view_cell *cell, int look, bool joined)
{
    cli_text made;
    ts_text name = view_key_text(d->v, cell->key, &made);
    view_style style = key_style(d->v, cell->key);
    if (cell->key >> 32 ==
        TS_EVENT_FRAME) { // the row is labelled with the name
        made = cli_short_time(cell->key_ns);
        name = (ts_text){ made.s, strlen(made.s) };
        if (name.size + 2 > to - from) name.size = 0;
    }
    if (look == WAITING) {
        style = (view_style){ .fg = 250, .bg = 238 };
        d->waits = true;
    }
    if (d->v->color)
        put_bar_color(d, from, to, name, style, joined);
    else
        put_bar_plain(d, from, to, name, look);
}

// The busy share of a cell as one of 8 heights.
static uint32_t share_level(int64_t part, int64_t whole)
{
    const int64_t level = (part * 8 + whole - 1) / whole;
    return (uint32_t)(level > 8 ? 8 : level < 1 ? 1 : level);
}

static void put_share(view_drawing *d, uint32_t column, const view_cell *cell)
{
    const int64_t part = cell->busy_ns ? cell->busy_ns : cell->wait_ns;
    view_style style = { .fg = key_style(d->v, cell->key).bg };
    if (!cell->busy_ns && cell->wait_ns) style.fg = 240;
    if (!d->v->color) style = view_plain;
    const uint32_t level = share_level(part, d->rows.cell_ns);
    view_put_code(&d->line, column,
                  part ? d->set->levels[level] : d->set->moment, style);
    *(part ? &d->partly : &d->moments) = true;
}

// An event that covers half of a cell or more is drawn as a bar; a cell of
// shorter events shows its busy share.
static bool is_solid(const view_drawing *d, const view_cell *cell)
{
    return cell->key_part_ns >= (d->rows.cell_ns + 1) / 2;
}

static bool same_event(const view_cell *a, const view_cell *b)
{
    return a->key == b->key && a->key_start_ns == b->key_start_ns;
}

// Whether a cell contains only the end of a neighbouring bar, less than half a
// cell.
static bool is_fringe(const view_drawing *d, const view_row *row, uint32_t c)
{
    const view_cell *const cell = &row->cells[c];
    if (cell->busy_ns + cell->wait_ns > cell->key_part_ns) return false;
    return (c && is_solid(d, cell - 1) && same_event(cell, cell - 1)) ||
           (c + 1 < d->rows.columns && is_solid(d, cell + 1) &&
            same_event(cell, cell + 1));
}

static void put_bars(view_drawing *d, const view_row *row, int look)
{
    uint32_t end_of_bar = CLI_NONE;
    for (uint32_t c = 0; c < d->rows.columns;) {
        const view_cell *const cell = &row->cells[c];
        if (!cell->key || !is_solid(d, cell)) {
            if (cell->key && !is_fringe(d, row, c))
                put_share(d, d->gutter + c, cell);
            c++;
            continue;
        }
        uint32_t end = c + 1;
        while (end < d->rows.columns && is_solid(d, &row->cells[end]) &&
               same_event(&row->cells[end], cell))
            end++;
        put_bar(d, d->gutter + c, d->gutter + end, cell,
                cell->key_waits ? WAITING : look, end_of_bar == c);
        c = end_of_bar = end;
    }
}

/* ---- Other rows --------------------------------------------------------- */

static void put_curve(view_drawing *d, const view_row *row, double low,
                      double high)
{
    const ts_text name = row->track == CLI_NONE ? (ts_text){ "", 0 }
                                                : d->v->tracks[row->track].name;
    view_style style = { .fg = name_color(name) };
    if (!d->v->color) style = view_plain;
    const bool carries = row->type == VIEW_ROW_COUNTER;
    bool known = carries && row->has_before;
    double value = row->before;
    for (uint32_t c = 0; c < d->rows.columns; c++) {
        const view_cell *const cell = &row->cells[c];
        double top = value;
        if (cell->sampled) top = (double)cell->high;
        if (cell->sampled && known && value > top) top = value;
        if (cell->sampled) value = (double)cell->last;
        if (!known && !cell->sampled) continue;
        known = carries;
        const double share = high > low ? (top - low) / (high - low) : 0;
        // The highest level is not used, to leave a gap to the row above.
        int level = 1 + (int)(share * 6 + 0.5);
        level = level < 1 ? 1 : level > 7 ? 7 : level;
        view_put_code(&d->line, d->gutter + c, d->set->levels[level], style);
    }
}

// The lower end of a curve: zero if the shape is still visible, else the
// smallest value.
static double curve_low(double low, double high)
{
    return low > 0 && (high - low) * 3 > high ? 0
           : low > 0 && low == high           ? 0
                                              : low;
}

static void put_marks(view_drawing *d, const view_row *row)
{
    for (uint32_t c = 0; c < d->rows.columns; c++) {
        const view_cell *const cell = &row->cells[c];
        if (!cell->count) continue;
        uint32_t next = c + 1;
        while (next < d->rows.columns && !row->cells[next].count)
            next++;
        cli_text made;
        ts_text name = view_key_text(d->v, cell->key, &made);
        view_style style = { .fg = name_color(name) };
        if (!d->v->color) style = view_plain;
        if (cell->text[0]) name = (ts_text){ cell->text, strlen(cell->text) };
        view_put_code(&d->line, d->gutter + c, d->set->mark, style);
        if (next - c > 4)
            put_name(d, d->gutter + c + 1, d->gutter + next - 1, name, style);
    }
}

static void put_losses(view_drawing *d, const view_row *row)
{
    d->lost = true;
    for (uint32_t c = 0; c < d->rows.columns; c++)
        if (row->cells[c].count)
            view_put_code(&d->line, d->gutter + c, '!', view_alarm);
}

static bool frames_are_wide(const view_drawing *d, const view_row *row)
{
    return row->count &&
           row->total_ns / (int64_t)row->count >= d->rows.cell_ns * 8;
}

void view_draw_row(view_drawing *d, const view_row *row)
{
    const double low =
        row->has_before && (!row->sampled || row->before < row->low)
            ? row->before
            : row->low;
    const double high =
        row->has_before && (!row->sampled || row->before > row->high)
            ? row->before
            : row->high;
    switch (row->type) {
    case VIEW_ROW_FRAMES:
        if (frames_are_wide(d, row))
            put_bars(d, row, HOST);
        else
            put_curve(d, row, 0, high);
        break;
    case VIEW_ROW_SPANS:
    case VIEW_ROW_CALLS:
    case VIEW_ROW_ZONES: put_bars(d, row, HOST); break;
    case VIEW_ROW_WORK: put_bars(d, row, DEVICE); break;
    case VIEW_ROW_MOMENTS: put_marks(d, row); break;
    case VIEW_ROW_SAMPLES:
    case VIEW_ROW_ALLOCS: put_curve(d, row, 0, high); break;
    case VIEW_ROW_COUNTER: put_curve(d, row, curve_low(low, high), high); break;
    case VIEW_ROW_LOSS: put_losses(d, row); break;
    }
}
