/*
    query.c - rows of SQL as columns
*/
#include "query.h"
#include <math.h>

typedef struct cell {
    uint64_t bits; // an integer, a double, or where a text begins
    uint32_t size; // of a text
    uint32_t type; // ts_sql_type
} cell;

struct query_rows {
    char *names; // one after the other, each with its zero
    size_t names_size, column_count;
    cell *cells; // row after row
    size_t count, room;
    char *texts;
    size_t texts_size, texts_room;
    bool failed;
};

query_rows *query_rows_new(void)
{
    query_rows *const r = calloc(1, sizeof *r);
    if (!r) PyErr_NoMemory();
    return r;
}

void query_rows_free(query_rows *r)
{
    if (!r) return;
    free(r->names);
    free(r->cells);
    free(r->texts);
    free(r);
}

/* ---- Taking rows, without the GIL ---------------------------------------- */

// Rows of an earlier statement are forgotten.
static bool take_columns(void *user, const char *const *names, size_t count)
{
    query_rows *const r = user;
    if (!count) return true;
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += strlen(names[i]) + 1;
    char *const more = realloc(r->names, size);
    r->failed |= !more;
    if (!more) return false;
    r->names = more;
    r->names_size = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t length = strlen(names[i]) + 1;
        memcpy(r->names + r->names_size, names[i], length);
        r->names_size += length;
    }
    r->column_count = count;
    r->count = r->texts_size = 0;
    return true;
}

static bool keep_text(query_rows *r, ts_text text, cell *to)
{
    if (text.size > r->texts_room - r->texts_size) {
        const size_t room = 2 * (r->texts_room + text.size) + 4096;
        char *const more = realloc(r->texts, room);
        r->failed |= !more;
        if (!more) return false;
        r->texts = more;
        r->texts_room = room;
    }
    to->bits = r->texts_size;
    to->size = (uint32_t)text.size;
    memcpy(r->texts + r->texts_size, text.text, text.size);
    r->texts_size += text.size;
    return true;
}

static bool take_row(void *user, const ts_sql_value *values, size_t count)
{
    query_rows *const r = user;
    if (r->count + count > r->room) {
        const size_t room = 2 * (r->room + count) + 1024;
        cell *const more = realloc(r->cells, room * sizeof *more);
        r->failed |= !more;
        if (!more) return false;
        r->cells = more;
        r->room = room;
    }
    for (size_t i = 0; i < count; i++) {
        cell *const c = &r->cells[r->count++];
        *c = (cell){ .type = values[i].type };
        if (c->type == TS_SQL_INTEGER)
            c->bits = (uint64_t)values[i].integer;
        else if (c->type == TS_SQL_REAL)
            memcpy(&c->bits, &values[i].real, sizeof c->bits);
        else if (c->type == TS_SQL_TEXT && !keep_text(r, values[i].text, c))
            return false;
    }
    return true;
}

ts_sql_rows query_rows_to(query_rows *r)
{
    const ts_sql_rows to = { .user = r,
                             .columns = take_columns,
                             .row = take_row };
    return to;
}

bool query_rows_failed(const query_rows *r)
{
    return r->failed;
}

/* ---- Columns ------------------------------------------------------------- */

// Texts that were made lately: names come again and again.
enum { MEMO = 256 };
typedef struct memo {
    uint64_t at[MEMO];
    uint32_t size[MEMO];
    PyObject *text[MEMO];
} memo;

static PyObject *text_of(const query_rows *r, const cell *c, memo *m)
{
    const char *const text = r->texts + c->bits;
    uint32_t hash = c->size;
    for (uint32_t i = 0; i < c->size && i < 64; i++)
        hash = hash * 31 + (unsigned char)text[i];
    const uint32_t slot = hash % MEMO;
    if (!m->text[slot] || m->size[slot] != c->size ||
        memcmp(r->texts + m->at[slot], text, c->size)) {
        PyObject *const made = native_text((ts_text){ text, c->size });
        if (!made) return NULL;
        Py_XDECREF(m->text[slot]);
        m->text[slot] = made;
        m->at[slot] = c->bits;
        m->size[slot] = c->size;
    }
    Py_INCREF(m->text[slot]);
    return m->text[slot];
}

static double real_of(const cell *c)
{
    double real;
    if (c->type == TS_SQL_NULL) return NAN;
    if (c->type == TS_SQL_INTEGER) return (double)(int64_t)c->bits;
    memcpy(&real, &c->bits, sizeof real);
    return real;
}

static PyObject *object_of(const query_rows *r, const cell *c, memo *m)
{
    switch (c->type) {
    case TS_SQL_INTEGER: return PyLong_FromLongLong((int64_t)c->bits);
    case TS_SQL_REAL: return PyFloat_FromDouble(real_of(c));
    case TS_SQL_TEXT: return text_of(r, c, m);
    default: Py_RETURN_NONE;
    }
}

static PyObject *objects(const query_rows *r, size_t column)
{
    memo *const m = calloc(1, sizeof *m);
    if (!m) return PyErr_NoMemory();
    const size_t rows = r->count / r->column_count;
    PyObject *list = PyList_New((Py_ssize_t)rows);
    for (size_t i = 0; list && i < rows; i++) {
        PyObject *const value =
            object_of(r, &r->cells[i * r->column_count + column], m);
        if (value)
            PyList_SetItem(list, (Py_ssize_t)i, value);
        else
            Py_CLEAR(list);
    }
    for (size_t i = 0; i < MEMO; i++)
        Py_XDECREF(m->text[i]);
    free(m);
    return list;
}

// A buffer of integers, or of doubles in which NULL is not a number; a list
// where there are texts, or nothing but NULL.
static PyObject *column_of(const query_rows *r, size_t column)
{
    const size_t rows = r->count / r->column_count;
    size_t counts[4] = { 0 };
    for (size_t i = 0; i < rows; i++)
        counts[r->cells[i * r->column_count + column].type & 3]++;
    const bool is_integer = counts[TS_SQL_INTEGER] == rows;
    if (rows && (counts[TS_SQL_TEXT] || counts[TS_SQL_NULL] == rows))
        return objects(r, column);
    native_column *const made =
        column_new((Py_ssize_t)rows, is_integer ? 'q' : 'd');
    if (!made) return NULL;
    void *const data = column_data(made);
    for (size_t i = 0; i < rows; i++) {
        const cell *const c = &r->cells[i * r->column_count + column];
        if (is_integer)
            ((int64_t *)data)[i] = (int64_t)c->bits;
        else
            ((double *)data)[i] = real_of(c);
    }
    return (PyObject *)made;
}

// [(name, column), ...]
PyObject *query_rows_columns(const query_rows *r)
{
    PyObject *list = PyList_New(0);
    const char *name = r->names;
    for (size_t i = 0; list && i < r->column_count; i++) {
        PyObject *const column = column_of(r, i);
        PyObject *const pair =
            column ? Py_BuildValue("(sN)", name, column) : NULL;
        if (!pair || PyList_Append(list, pair) != 0) Py_CLEAR(list);
        Py_XDECREF(pair);
        name += strlen(name) + 1;
    }
    return list;
}
