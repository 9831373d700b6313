/*
    output.c - rows as a table, as CSV and as JSON
*/
#include "tools/query/output.h"
#include "tools/query/csv.h"

#ifdef TRACESMITH_SQLITE

enum { LOOK_AT = 1000, NARROW = 8 };

typedef struct cell {
    char *text; // NULL: SQL's NULL
    size_t size;
    bool number;
} cell;

struct query_output {
    query *q;
    sqlite3_stmt *statement;
    int columns;
    uint64_t rows;
    char **names;
    csv_buffer csv; // not printed yet
    // Tables: the first rows are buffered until the widths are known.
    cell *waiting;
    size_t waiting_rows;
    uint32_t *widths;
    bool *right; // numbers are right-aligned
    bool settled;
    uint32_t spaces; // pending spaces before the next text of the line
    uint64_t shown;
    bool lines;          // no table fits: prints a line for each non-NULL value
    uint32_t name_width; // of names in such lines
    ts_sql_value *values; // a row, for QUERY_VALUES
    bool refused;         // the caller took no names
};

/* ---- Names -------------------------------------------------------------- */

// Returns a unique name: a second "n" becomes "n_2", because JSON keys must
// differ.
static char *column_name(sqlite3_stmt *named, int column)
{
    const char *const name = sqlite3_column_name(named, column);
    uint32_t same = 1;
    for (int i = 0; i < column; i++)
        same += !strcmp(sqlite3_column_name(named, i), name);
    return same > 1 ? sqlite3_mprintf("%s_%u", name, same)
                    : sqlite3_mprintf("%s", name);
}

static const char *text_of(const query_output *o, int i, size_t *size,
                           cli_text *made)
{
    switch (sqlite3_column_type(o->statement, i)) {
    case SQLITE_NULL: return NULL;
    case SQLITE_FLOAT:
        *made = csv_real_text(sqlite3_column_double(o->statement, i), false);
        *size = strlen(made->s);
        return made->s;
    default: {
        const char *const text =
            (const char *)sqlite3_column_text(o->statement, i);
        *size = (size_t)sqlite3_column_bytes(o->statement, i);
        return text ? text : "";
    }
    }
}

/* ---- CSV ---------------------------------------------------------------- */

enum { CSV_BYTES = 1 << 16 }; // are printed at once

static bool csv_flush(query_output *o)
{
    fwrite(o->csv.data, 1, o->csv.size, cli_stdout());
    o->csv.size = 0;
    return !o->csv.failed;
}

static void csv_names(query_output *o)
{
    for (int i = 0; i < o->columns; i++) {
        if (i) csv_put_bytes(&o->csv, ",", 1);
        csv_put_text(&o->csv, o->names[i], strlen(o->names[i]));
    }
    csv_put_bytes(&o->csv, "\n", 1);
}

static void csv_cell(query_output *o, int i)
{
    switch (sqlite3_column_type(o->statement, i)) {
    case SQLITE_NULL: return;
    case SQLITE_INTEGER:
        csv_put_integer(&o->csv, sqlite3_column_int64(o->statement, i));
        return;
    case SQLITE_FLOAT:
        csv_put_real(&o->csv, sqlite3_column_double(o->statement, i));
        return;
    default: {
        const char *const text =
            (const char *)sqlite3_column_text(o->statement, i);
        if (text)
            csv_put_text(&o->csv, text,
                         (size_t)sqlite3_column_bytes(o->statement, i));
    }
    }
}

static bool csv_row(query_output *o)
{
    for (int i = 0; i < o->columns; i++) {
        if (i) csv_put_bytes(&o->csv, ",", 1);
        csv_cell(o, i);
    }
    csv_put_bytes(&o->csv, "\n", 1);
    return o->csv.size < CSV_BYTES ? !o->csv.failed : csv_flush(o);
}

void query_output_lines(query_output *o, const void *text, size_t size,
                        uint64_t rows)
{
    csv_flush(o);
    fwrite(text, 1, size, cli_stdout());
    o->rows += rows;
}

/* ---- JSON --------------------------------------------------------------- */

static void json_begin(query_output *o)
{
    cli_json *const json = &o->q->json;
    cli_json_open(json, NULL, '{');
    cli_json_open(json, "columns", '[');
    for (int i = 0; i < o->columns; i++)
        cli_json_string(json, NULL, o->names[i]);
    cli_json_close(json, ']');
    cli_json_open(json, "rows", '[');
}

static void json_row(query_output *o)
{
    cli_json *const json = &o->q->json;
    cli_json_open(json, NULL, '{');
    for (int i = 0; i < o->columns; i++) {
        cli_text made;
        size_t size = 0;
        switch (sqlite3_column_type(o->statement, i)) {
        case SQLITE_NULL: cli_json_null(json, o->names[i]); break;
        case SQLITE_INTEGER:
            cli_json_int(json, o->names[i],
                         sqlite3_column_int64(o->statement, i));
            break;
        case SQLITE_FLOAT:
            cli_json_real(json, o->names[i],
                          sqlite3_column_double(o->statement, i));
            break;
        default: {
            const char *const text = text_of(o, i, &size, &made);
            cli_json_text(json, o->names[i], text, size);
        }
        }
    }
    cli_json_close(json, '}');
}

/* ---- Values ------------------------------------------------------------- */

static bool values_begin(const query_output *o)
{
    const ts_sql_rows *const to = o->q->rows_to;
    return to->columns(to->user, (const char *const *)o->names,
                       (size_t)o->columns);
}

static ts_sql_value value_of(const query_output *o, int i)
{
    ts_sql_value value = { .type = TS_SQL_TEXT };
    switch (sqlite3_column_type(o->statement, i)) {
    case SQLITE_NULL: value.type = TS_SQL_NULL; break;
    case SQLITE_INTEGER:
        value.type = TS_SQL_INTEGER;
        value.integer = sqlite3_column_int64(o->statement, i);
        break;
    case SQLITE_FLOAT:
        value.type = TS_SQL_REAL;
        value.real = sqlite3_column_double(o->statement, i);
        break;
    default: {
        const char *const text =
            (const char *)sqlite3_column_text(o->statement, i);
        value.text.text = text ? text : "";
        value.text.size = (size_t)sqlite3_column_bytes(o->statement, i);
    }
    }
    return value;
}

static bool values_row(query_output *o)
{
    const ts_sql_rows *const to = o->q->rows_to;
    if (o->refused) return false;
    for (int i = 0; i < o->columns; i++)
        o->values[i] = value_of(o, i);
    return to->row(to->user, o->values, (size_t)o->columns);
}

/* ---- Tables ------------------------------------------------------------- */

// Narrows the widest text columns until the table fits the terminal, if it is
// printed to one. False if it cannot fit.
static bool fit(query_output *o)
{
    if (!cli_has_width()) return true;
    const uint64_t most = cli_width();
    for (;;) {
        uint64_t sum = o->columns > 0 ? 2 * (uint64_t)o->columns - 2 : 0;
        int widest = -1;
        for (int i = 0; i < o->columns; i++) {
            sum += o->widths[i];
            if (!o->right[i] && o->widths[i] > NARROW &&
                (widest < 0 || o->widths[i] > o->widths[widest]))
                widest = i;
        }
        if (sum <= most || widest < 0) return sum <= most;
        o->widths[widest]--;
    }
}

// Delays spaces until a text follows, so that no line ends with spaces.
static void put_spaces(query_output *o)
{
    cli_print("%*s", (int)o->spaces, "");
    o->spaces = 0;
}

static void put_cell(query_output *o, int i, const char *text, size_t size)
{
    const uint32_t width = o->widths[i], used = cli_columns(text, size);
    const uint32_t left = used < width ? width - used : 0;
    if (i) o->spaces += 2;
    if (o->right[i]) o->spaces += left;
    if (size) put_spaces(o);
    if (used > width && !o->right[i]) {
        char *const cut = cli_cut(text, size, width, NULL);
        if (cut) cli_put_padded(cli_stdout(), cut, strlen(cut), width);
        free(cut);
    } else {
        cli_put_text(cli_stdout(), text, size);
    }
    if (!o->right[i]) o->spaces += left;
}

static void put_line(query_output *o, int i, const char *text, size_t size)
{
    const uint32_t width = cli_columns(o->names[i], strlen(o->names[i]));
    cli_print("%*s", (int)(o->name_width - width), "");
    cli_put_text(cli_stdout(), o->names[i], strlen(o->names[i]));
    fputs("  ", cli_stdout());
    cli_put_text(cli_stdout(), text, size);
    putc('\n', cli_stdout());
}

// text: NULL for SQL's NULL.
static void put_value(query_output *o, int i, const char *text, size_t size)
{
    if (!o->lines)
        put_cell(o, i, text ? text : "", size);
    else if (text)
        put_line(o, i, text, size);
}

// Separates rows that are printed as lines by an empty line.
static void begin_row(query_output *o)
{
    if (o->lines && o->shown++) putc('\n', cli_stdout());
}

static void end_row(query_output *o)
{
    o->spaces = 0;
    if (!o->lines) putc('\n', cli_stdout());
}

static void table_head(query_output *o)
{
    for (int i = 0; i < o->columns; i++)
        put_cell(o, i, o->names[i], strlen(o->names[i]));
    end_row(o);
    for (int i = 0; i < o->columns; i++) {
        if (i) fputs("  ", cli_stdout());
        for (uint32_t n = 0; n < o->widths[i]; n++)
            fputs(cli_unicode() ? "\u2500" : "-", cli_stdout());
    }
    putc('\n', cli_stdout());
}

// Returns the truncated texts of a buffered column; NULL: all fit.
static char **cut_column(const query_output *o, int column)
{
    ts_text *const texts = calloc(o->waiting_rows + 1, sizeof *texts);
    const bool fits = o->lines || o->right[column];
    for (size_t row = 0; texts && row < o->waiting_rows; row++) {
        const cell *const c =
            &o->waiting[row * (size_t)o->columns + (size_t)column];
        texts[row] =
            c->text ? (ts_text){ c->text, c->size } : (ts_text){ "", 0 };
    }
    char **const cuts = texts && !fits ? cli_cut_texts(texts, o->waiting_rows,
                                                       o->widths[column], NULL)
                                       : NULL;
    free(texts);
    return cuts;
}

static void put_waiting(query_output *o, char ***cuts)
{
    for (size_t row = 0; row < o->waiting_rows; row++) {
        begin_row(o);
        for (int i = 0; i < o->columns; i++) {
            const cell *const c =
                &o->waiting[row * (size_t)o->columns + (size_t)i];
            const char *const cut = cuts && cuts[i] ? cuts[i][row] : NULL;
            if (cut)
                put_value(o, i, cut, strlen(cut));
            else
                put_value(o, i, c->text, c->size);
        }
        end_row(o);
    }
}

static void settle(query_output *o)
{
    const int columns = o->columns;
    for (int i = 0; i < columns; i++) {
        o->widths[i] = cli_columns(o->names[i], strlen(o->names[i]));
        o->right[i] = o->waiting_rows > 0;
        bool any = false;
        for (size_t row = 0; row < o->waiting_rows; row++) {
            const cell *const c =
                &o->waiting[row * (size_t)columns + (size_t)i];
            if (!c->text) continue;
            any = true;
            const uint32_t width = cli_columns(c->text, c->size);
            if (width > o->widths[i]) o->widths[i] = width;
            if (!c->number) o->right[i] = false;
        }
        if (!any) o->right[i] = false;
    }
    o->lines = !fit(o) && o->waiting_rows > 0;
    for (int i = 0; i < columns; i++) {
        const uint32_t width = cli_columns(o->names[i], strlen(o->names[i]));
        if (width > o->name_width) o->name_width = width;
    }
    if (!o->lines) table_head(o);
    char ***const cuts = calloc((size_t)columns + 1, sizeof *cuts);
    for (int i = 0; cuts && i < columns; i++)
        cuts[i] = cut_column(o, i);
    put_waiting(o, cuts);
    for (int i = 0; cuts && i < columns; i++)
        cli_cuts_free(cuts[i], o->waiting_rows);
    free(cuts);
    for (size_t i = 0; i < o->waiting_rows * (size_t)columns; i++)
        free(o->waiting[i].text);
    o->waiting_rows = 0;
    o->settled = true;
}

static bool table_wait(query_output *o)
{
    cell *const row = &o->waiting[o->waiting_rows * (size_t)o->columns];
    for (int i = 0; i < o->columns; i++) {
        cli_text made;
        cell c = { 0 };
        const char *const text = text_of(o, i, &c.size, &made);
        const int type = sqlite3_column_type(o->statement, i);
        c.number = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
        if (text) {
            c.text = malloc(c.size + 1);
            if (!c.text) return false;
            memcpy(c.text, text, c.size);
        }
        row[i] = c;
    }
    o->waiting_rows++;
    return true;
}

static bool table_row(query_output *o)
{
    if (!o->settled) {
        if (o->waiting_rows < LOOK_AT) return table_wait(o);
        settle(o);
    }
    begin_row(o);
    for (int i = 0; i < o->columns; i++) {
        cli_text made;
        size_t size = 0;
        const char *const text = text_of(o, i, &size, &made);
        put_value(o, i, text, size);
    }
    end_row(o);
    return true;
}

/* ---- Output ------------------------------------------------------------- */

static void forget(query_output *o)
{
    for (size_t i = 0; i < o->waiting_rows * (size_t)o->columns; i++)
        free(o->waiting[i].text);
    for (int i = 0; o->names && i < o->columns; i++)
        sqlite3_free(o->names[i]);
    csv_close(&o->csv);
    free(o->names);
    free(o->waiting);
    free(o->widths);
    free(o->right);
    free(o->values);
    free(o);
}

query_output *query_output_open(query *q, sqlite3_stmt *statement,
                                sqlite3_stmt *named)
{
    const int columns = sqlite3_column_count(statement);
    const size_t size = (size_t)columns;
    query_output *const o = calloc(1, sizeof *o);
    if (!o) return NULL;
    o->q = q;
    o->statement = statement;
    o->columns = columns;
    o->names = calloc(size, sizeof *o->names);
    o->widths = calloc(size, sizeof *o->widths);
    o->right = calloc(size, sizeof *o->right);
    o->waiting =
        q->mode == QUERY_TABLE ? calloc(size * LOOK_AT, sizeof(cell)) : NULL;
    o->values = calloc(size, sizeof *o->values);
    bool done = o->names && o->widths && o->right && o->values &&
                (o->waiting || q->mode != QUERY_TABLE);
    for (int i = 0; done && i < columns; i++)
        done = (o->names[i] = column_name(named, i)) != NULL;
    if (!done) {
        forget(o);
        return NULL;
    }
    if (q->mode == QUERY_CSV) csv_names(o);
    if (q->mode == QUERY_JSON) json_begin(o);
    if (q->mode == QUERY_VALUES) o->refused = !values_begin(o);
    return o;
}

bool query_output_row(query_output *o)
{
    o->rows++;
    if (o->q->mode == QUERY_CSV) return csv_row(o);
    if (o->q->mode == QUERY_JSON) json_row(o);
    if (o->q->mode == QUERY_VALUES) return values_row(o);
    return o->q->mode != QUERY_TABLE || table_row(o);
}

uint64_t query_output_close(query_output *o, bool complete)
{
    const uint64_t rows = o->rows;
    const bool table = o->q->mode == QUERY_TABLE;
    if (o->q->mode == QUERY_CSV) csv_flush(o);
    if (table && !o->settled && (rows || complete)) settle(o);
    if (table && !rows && complete) cli_print("(no rows)\n");
    if (o->q->mode == QUERY_JSON) {
        cli_json_close(&o->q->json, ']');
        cli_json_close(&o->q->json, '}');
    }
    forget(o);
    return rows;
}

#endif
