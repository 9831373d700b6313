/*
    columns.c - the width of texts in columns, and cutting to a width
*/
#include "tools/cli/cli.h"
#include "tools/cli/search.h"

/* ---- Width -------------------------------------------------------------- */

typedef struct code_range {
    uint32_t first, last;
} code_range;

static bool in_ranges(uint32_t code, const code_range *ranges, size_t count)
{
    size_t low = 0, high = count; // sorted, disjoint
    while (low < high)
        cli_halve(&low, &high, code > ranges[cli_middle(low, high)].last);
    return low < count && code >= ranges[low].first;
}

// Source: Unicode 15, EastAsianWidth.txt (W and F) and UnicodeData.txt (Mn, Me,
// Cf of the scripts in wide use). Ranges are joined where no other character
// lies between them.
uint32_t cli_code_columns(uint32_t code)
{
    static const code_range wide[] = {
        { 0x1100, 0x115F },   { 0x231A, 0x231B },   { 0x2329, 0x232A },
        { 0x23E9, 0x23EC },   { 0x23F0, 0x23F0 },   { 0x23F3, 0x23F3 },
        { 0x25FD, 0x25FE },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },
        { 0x267F, 0x267F },   { 0x2693, 0x2693 },   { 0x26A1, 0x26A1 },
        { 0x26AA, 0x26AB },   { 0x26BD, 0x26BE },   { 0x26C4, 0x26C5 },
        { 0x26CE, 0x26CE },   { 0x26D4, 0x26D4 },   { 0x26EA, 0x26EA },
        { 0x26F2, 0x26F3 },   { 0x26F5, 0x26F5 },   { 0x26FA, 0x26FA },
        { 0x26FD, 0x26FD },   { 0x2705, 0x2705 },   { 0x270A, 0x270B },
        { 0x2728, 0x2728 },   { 0x274C, 0x274C },   { 0x274E, 0x274E },
        { 0x2753, 0x2755 },   { 0x2757, 0x2757 },   { 0x2795, 0x2797 },
        { 0x27B0, 0x27B0 },   { 0x27BF, 0x27BF },   { 0x2B1B, 0x2B1C },
        { 0x2B50, 0x2B50 },   { 0x2B55, 0x2B55 },   { 0x2E80, 0x303E },
        { 0x3041, 0x4DBF },   { 0x4E00, 0xA4CF },   { 0xA960, 0xA97C },
        { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE10, 0xFE19 },
        { 0xFE30, 0xFE6F },   { 0xFF01, 0xFF60 },   { 0xFFE0, 0xFFE6 },
        { 0x16FE0, 0x18CFF }, { 0x1AFF0, 0x1B2FF }, { 0x1F004, 0x1F004 },
        { 0x1F0CF, 0x1F0CF }, { 0x1F18E, 0x1F18E }, { 0x1F191, 0x1F19A },
        { 0x1F200, 0x1F320 }, { 0x1F32D, 0x1F335 }, { 0x1F337, 0x1F37C },
        { 0x1F37E, 0x1F393 }, { 0x1F3A0, 0x1F3CA }, { 0x1F3CF, 0x1F3D3 },
        { 0x1F3E0, 0x1F3F0 }, { 0x1F3F4, 0x1F3F4 }, { 0x1F3F8, 0x1F43E },
        { 0x1F440, 0x1F440 }, { 0x1F442, 0x1F4FC }, { 0x1F4FF, 0x1F53D },
        { 0x1F54B, 0x1F54E }, { 0x1F550, 0x1F567 }, { 0x1F57A, 0x1F57A },
        { 0x1F595, 0x1F596 }, { 0x1F5A4, 0x1F5A4 }, { 0x1F5FB, 0x1F64F },
        { 0x1F680, 0x1F6C5 }, { 0x1F6CC, 0x1F6CC }, { 0x1F6D0, 0x1F6D2 },
        { 0x1F6D5, 0x1F6DF }, { 0x1F6EB, 0x1F6EC }, { 0x1F6F4, 0x1F6FC },
        { 0x1F7E0, 0x1F7F0 }, { 0x1F90C, 0x1F93A }, { 0x1F93C, 0x1F945 },
        { 0x1F947, 0x1F9FF }, { 0x1FA70, 0x1FAFF }, { 0x20000, 0x3FFFD },
    };
    static const code_range none[] = {
        { 0x0300, 0x036F }, { 0x0483, 0x0489 }, { 0x0591, 0x05BD },
        { 0x05BF, 0x05BF }, { 0x05C1, 0x05C2 }, { 0x05C4, 0x05C5 },
        { 0x05C7, 0x05C7 }, { 0x0610, 0x061A }, { 0x064B, 0x065F },
        { 0x0670, 0x0670 }, { 0x06D6, 0x06DC }, { 0x06DF, 0x06E4 },
        { 0x06E7, 0x06E8 }, { 0x06EA, 0x06ED }, { 0x0900, 0x0902 },
        { 0x093A, 0x093A }, { 0x093C, 0x093C }, { 0x0941, 0x0948 },
        { 0x094D, 0x094D }, { 0x0951, 0x0957 }, { 0x0962, 0x0963 },
        { 0x0E31, 0x0E31 }, { 0x0E34, 0x0E3A }, { 0x0E47, 0x0E4E },
        { 0x0EB1, 0x0EB1 }, { 0x0EB4, 0x0EBC }, { 0x0EC8, 0x0ECE },
        { 0x1160, 0x11FF }, { 0x1AB0, 0x1ACE }, { 0x1DC0, 0x1DFF },
        { 0x200B, 0x200D }, { 0x2060, 0x2064 }, { 0x20D0, 0x20F0 },
        { 0x302A, 0x302D }, { 0x3099, 0x309A }, { 0xFE00, 0xFE0F },
        { 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF }, { 0xE0100, 0xE01EF },
    };
    if (code < 0x300 || cli_is_control(code)) return 1;
    if (in_ranges(code, none, sizeof none / sizeof *none)) return 0;
    return in_ranges(code, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

uint32_t cli_columns(const char *text, size_t size)
{
    uint32_t columns = 0, code;
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0; text += n, size -= n)
        columns += cli_code_columns(code);
    return columns;
}

// Combining characters are kept with their base character.
size_t cli_columns_fit(const char *text, size_t size, uint32_t columns)
{
    uint32_t code;
    size_t at = 0;
    for (size_t n; (n = cli_utf8(text + at, size - at, &code)) != 0; at += n) {
        const uint32_t wide = cli_code_columns(code);
        if (wide > columns) break;
        columns -= wide;
    }
    return at;
}

void cli_put_padded(FILE *out, const char *text, size_t size, uint32_t width)
{
    const size_t fit = cli_columns_fit(text, size, width);
    cli_put_text(out, text, fit);
    fprintf(out, "%*s", (int)(width - cli_columns(text, fit)), "");
}

/* ---- Cutting ------------------------------------------------------------ */

// The byte offset at which the last `columns` columns of a text begin.
static size_t tail_at(const char *text, size_t size, uint32_t columns)
{
    const uint32_t all = cli_columns(text, size);
    if (all <= columns) return 0;
    size_t at = cli_columns_fit(text, size, all - columns);
    uint32_t code;
    while (cli_columns(text + at, size - at) >
           columns) // a wide character does not fit
        at += cli_utf8(text + at, size - at, &code);
    return at;
}

// The ellipsis that the terminal can show.
static const char *terminal_dots(void)
{
    return cli_unicode() ? "\u2026" : "..";
}

// Cuts a text to its start, its end and, between them, the part from `at` on
// (0: no such part).
static char *cut_around(ts_text t, uint32_t width, size_t at, const char *dots)
{
    const uint32_t gap = cli_columns(dots, strlen(dots));
    char *const cut = malloc(t.size + 16);
    if (!cut || width < 3 * gap) {
        if (cut) *cut = 0;
        return cut;
    }
    const bool middle = at && width >= 2 * gap + 9;
    const uint32_t room = width - gap * (middle ? 2 : 1);
    const bool args =
        memchr(t.text, '<', t.size); // template arguments: unimportant
    const uint32_t tail = middle ? room / 3 : args && !at ? 0 : room * 2 / 5;
    const uint32_t part = middle ? room / 3 : 0;
    const size_t head = cli_columns_fit(t.text, t.size, room - tail - part);
    const size_t last = tail_at(t.text, t.size, tail);
    if (!middle || at <= head || at >= last) { // the start gets its room
        const size_t more = cli_columns_fit(t.text, t.size, width - gap - tail);
        snprintf(cut, t.size + 16, "%.*s%s%.*s", (int)more, t.text, dots,
                 (int)(t.size - last), t.text + last);
        return cut;
    }
    const size_t shown = cli_columns_fit(t.text + at, t.size - at, part);
    if (at + shown >= last) { // it reaches the end
        const size_t from = tail_at(t.text, t.size, tail + part + gap);
        snprintf(cut, t.size + 16, "%.*s%s%.*s", (int)head, t.text, dots,
                 (int)(t.size - from), t.text + from);
        return cut;
    }
    snprintf(cut, t.size + 16, "%.*s%s%.*s%s%.*s", (int)head, t.text, dots,
             (int)shown, t.text + at, dots, (int)(t.size - last),
             t.text + last);
    return cut;
}

char *cli_cut(const char *text, size_t size, uint32_t width, const char *dots)
{
    if (!dots) dots = terminal_dots();
    if (cli_columns(text, size) > width)
        return cut_around((ts_text){ text, size }, width, 0, dots);
    char *const all = malloc(size + 1);
    if (all && size) memcpy(all, text, size);
    if (all) all[size] = 0;
    return all;
}

/* ---- Columns of a table ------------------------------------------------- */

typedef struct cut_row {
    ts_text text;
    char *brief;  // name without namespace; NULL: not needed
    ts_text used; // the text to cut: `brief`, later the whole one
    char *cut;    // NULL: the text fits
    size_t index;
} cut_row;

static int text_order(ts_text a, ts_text b)
{
    const size_t size = a.size < b.size ? a.size : b.size;
    const int order = size ? memcmp(a.text, b.text, size) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static ts_text shown_of(const cut_row *row)
{
    return row->cut ? (ts_text){ row->cut, strlen(row->cut) } : row->text;
}

// Compares for qsort: rows with the same cut text become neighbours, in the
// order of their full texts.
static int by_look(const void *left, const void *right)
{
    const cut_row *const a = left, *const b = right;
    const int order = text_order(shown_of(a), shown_of(b));
    if (order) return order;
    const int used = text_order(a->used, b->used);
    if (used) return used;
    const int texts = text_order(a->text, b->text);
    return texts ? texts : (a->index > b->index) - (a->index < b->index);
}

static bool alike(const cut_row *a, const cut_row *b)
{
    return !text_order(shown_of(a), shown_of(b)) &&
           text_order(a->text, b->text);
}

// The length of the common prefix of two texts, in whole characters.
static size_t common(ts_text a, ts_text b)
{
    size_t size = 0;
    while (size < a.size && size < b.size && a.text[size] == b.text[size])
        size++;
    while (size && size < a.size && (a.text[size] & 0xC0) == 0x80)
        size--;
    return size;
}

// Cuts a row so that the part is shown in which it differs from the rows before
// and after it.
static bool distinguish(cut_row *row, size_t at, uint32_t width,
                        const char *dots)
{
    if (!row->cut) return true; // shown in full
    // A brief name that fits needs no cut; the next pass uses the full name.
    if (cli_columns(row->used.text, row->used.size) <= width) return true;
    for (int back = 0; back < 2 && at;
         back++) // show a little of the common part
        do
            at--;
        while (at && (row->used.text[at] & 0xC0) == 0x80);
    char *const cut = cut_around(row->used, width, at, dots);
    if (!cut) return false;
    free(row->cut);
    row->cut = cut;
    return true;
}

// Cuts a row and appends a number.
static bool number(cut_row *row, size_t ordinal, uint32_t width,
                   const char *dots)
{
    if (!row->cut) return true;
    const cli_text end = cli_format("~%zu", ordinal);
    const uint32_t wide = (uint32_t)strlen(end.s);
    char *const cut = wide < width ? cli_cut(row->text.text, row->text.size,
                                             width - wide, dots)
                                   : calloc(1, 1);
    const size_t size = cut ? strlen(cut) + wide + 1 : 0;
    char *const all = cut ? realloc(cut, size) : NULL;
    if (!all) {
        free(cut);
        return false;
    }
    memcpy(all + strlen(all), end.s, wide + 1);
    free(row->cut);
    row->cut = all;
    return true;
}

// Handles runs of rows with equal cut texts. The last pass numbers those that
// still are equal.
static bool separate(cut_row *rows, size_t count, uint32_t width,
                     const char *dots, bool last)
{
    qsort(rows, count, sizeof *rows, by_look);
    bool ok = true;
    size_t ordinal = 0;
    for (size_t i = 0, end; ok && i < count; i = end) {
        bool differ = false;
        for (end = i + 1; end < count; end++) {
            if (text_order(shown_of(&rows[i]), shown_of(&rows[end]))) break;
            differ = differ || alike(&rows[end - 1], &rows[end]);
        }
        size_t *const at = differ ? calloc(end - i, sizeof *at) : NULL;
        if (differ && !at) return false;
        for (size_t k = i + 1; differ && k < end; k++) {
            const size_t same = common(rows[k - 1].used, rows[k].used);
            const bool other = text_order(rows[k - 1].text, rows[k].text);
            if (other && same > at[k - 1 - i]) at[k - 1 - i] = same;
            at[k - i] = other ? same : at[k - 1 - i];
        }
        for (size_t k = i; ok && differ && k < end; k++) {
            ordinal += k == i || text_order(rows[k - 1].text, rows[k].text);
            ok = last ? number(&rows[k], ordinal, width, dots)
                      : distinguish(&rows[k], at[k - i], width, dots);
        }
        free(at);
    }
    return ok;
}

static bool first_cut(cut_row *row, uint32_t width, const char *dots,
                      bool names)
{
    if (names) row->brief = cli_brief_name(row->text.text, row->text.size);
    const size_t size = row->brief ? strlen(row->brief) : 0;
    if (size) row->used = (ts_text){ row->brief, size };
    row->cut = cli_cut(row->used.text, row->used.size, width, dots);
    return row->cut;
}

static char **cut_all(const ts_text *texts, size_t count, uint32_t width,
                      const char *dots, bool names)
{
    if (!dots) dots = terminal_dots();
    cut_row *const rows = calloc(count + 1, sizeof *rows);
    char **const cuts = calloc(count + 1, sizeof *cuts);
    bool ok = rows && cuts;
    for (size_t i = 0; ok && i < count; i++) {
        rows[i] = (cut_row){ .text = texts[i], .used = texts[i], .index = i };
        if (cli_columns(texts[i].text, texts[i].size) > width)
            ok = first_cut(&rows[i], width, dots, names);
    }
    for (int pass = 0; ok && pass < 4; pass++) {
        ok = separate(rows, count, width, dots, pass == 3);
        // Brief names that are equal are replaced by the full ones.
        for (size_t i = 0; pass == 0 && i < count; i++)
            rows[i].used = rows[i].text;
    }
    for (size_t i = 0; rows && cuts && i < count; i++) {
        cuts[rows[i].index] = rows[i].cut;
        free(rows[i].brief);
    }
    free(rows);
    if (ok) return cuts;
    cli_cuts_free(cuts, count);
    return NULL;
}

char **cli_cut_names(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots)
{
    return cut_all(texts, count, width, dots, true);
}

char **cli_cut_texts(const ts_text *texts, size_t count, uint32_t width,
                     const char *dots)
{
    return cut_all(texts, count, width, dots, false);
}

void cli_cuts_free(char **cuts, size_t count)
{
    for (size_t i = 0; cuts && i < count; i++)
        free(cuts[i]);
    free(cuts);
}
