/*
    metadata_module.c - the virtual tables of everything but events

    A table returns its number of rows and each row by number. A column that
    joins look up gets an index at the second lookup.
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE

typedef struct entry {
    int64_t key;
    uint64_t row; // number over all files
} entry;

typedef struct vtab {
    query_vtab_base of;
    bool looked;
    entry *entries[4]; // indexes of the first columns, if they are keys
    uint64_t count;    // rows at the time of indexing
} vtab;
enum { KEYS_MOST = 4 };

typedef struct cursor {
    sqlite3_vtab_cursor base;
    uint64_t *before; // number of rows before each file; the last: of all
    uint32_t file;
    uint64_t at, last; // over all files, or entries of an index
    const entry *entries;
} cursor;

static int small_disconnect(sqlite3_vtab *base)
{
    vtab *const v = (vtab *)base;
    for (size_t i = 0; i < KEYS_MOST; i++)
        free(v->entries[i]);
    free(v);
    return SQLITE_OK;
}

static int small_connect(sqlite3 *db, void *aux, int count,
                         const char *const *values, sqlite3_vtab **made,
                         char **error)
{
    (void)db;
    (void)count;
    (void)values;
    (void)error;
    return query_connect(aux, sizeof(vtab), NULL, small_disconnect, made);
}

// idxNum: the key's column + 1; 0: scan all rows.
static int small_best(sqlite3_vtab *base, sqlite3_index_info *info)
{
    const vtab *const v = (const vtab *)base;
    info->estimatedRows = 10000;
    info->estimatedCost = 20000;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *const one =
            &info->aConstraint[i];
        if (!one->usable || one->op != SQLITE_INDEX_CONSTRAINT_EQ ||
            one->iColumn < 0 || one->iColumn >= KEYS_MOST ||
            (uint32_t)one->iColumn >= v->of.table->column_count ||
            !v->of.table->columns[one->iColumn].key)
            continue;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxNum = one->iColumn + 1;
        info->idxStr =
            sqlite3_mprintf("%s=?", v->of.table->columns[one->iColumn].name);
        info->needToFreeIdxStr = 1;
        info->estimatedRows = 2;
        info->estimatedCost = 30;
        break;
    }
    return SQLITE_OK;
}

/* ---- Cursors ------------------------------------------------------------ */

static int small_open(sqlite3_vtab *base, sqlite3_vtab_cursor **made)
{
    const vtab *const v = (const vtab *)base;
    cursor *const c = calloc(1, sizeof *c);
    if (!c) return SQLITE_NOMEM;
    c->before = calloc((size_t)v->of.q->file_count + 1, sizeof *c->before);
    if (!c->before) {
        free(c);
        return SQLITE_NOMEM;
    }
    *made = &c->base;
    return SQLITE_OK;
}

static int small_close(sqlite3_vtab_cursor *base)
{
    cursor *const c = (cursor *)base;
    free(c->before);
    free(c);
    return SQLITE_OK;
}

static uint32_t file_count(const vtab *v)
{
    return v->of.table->joint ? 1 : v->of.q->file_count;
}

static int count_rows(cursor *c)
{
    vtab *const v = (vtab *)c->base.pVtab;
    v->of.q->failure = NULL;
    for (uint32_t f = 0; f < file_count(v); f++) {
        const int64_t count = v->of.table->count(v->of.q, f);
        if (count < 0) {
            sqlite3_free(v->of.base.zErrMsg);
            v->of.base.zErrMsg = sqlite3_mprintf("%s", v->of.q->failure);
            return SQLITE_ERROR;
        }
        c->before[f + 1] = c->before[f] + (uint64_t)count;
    }
    return SQLITE_OK;
}

static uint64_t row_at(const cursor *c)
{
    return c->entries ? c->entries[c->at].row : c->at;
}

static void find_file(cursor *c)
{
    if (c->at >= c->last) return;
    const uint64_t row = row_at(c);
    if (row < c->before[c->file]) c->file = 0;
    while (row >= c->before[c->file + 1])
        c->file++;
}

static query_cell cell_at(const cursor *c, uint32_t column)
{
    const vtab *const v = (const vtab *)c->base.pVtab;
    if (column == v->of.table->column_count)
        return query_string(v->of.q->files[c->file].path);
    return v->of.table->cell(v->of.q, c->file, row_at(c) - c->before[c->file],
                             column);
}

static int by_key(const void *a, const void *b)
{
    const entry *const x = a, *const y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

// Keys are not NULL in rows that a lookup can find, so NULLs are left out.
static int make_index(cursor *c, uint32_t column, uint64_t count)
{
    vtab *const v = (vtab *)c->base.pVtab;
    entry *const entries = malloc((count ? count : 1) * sizeof *entries);
    if (!entries) return SQLITE_NOMEM;
    c->last = count;
    for (c->at = 0; c->at < count; c->at++) {
        find_file(c);
        const query_cell cell = cell_at(c, column);
        entries[c->at] = (entry){ cell.number, c->at };
    }
    if (count) qsort(entries, count, sizeof *entries, by_key);
    free(v->entries[column]);
    v->entries[column] = entries;
    v->count = count;
    v->of.q->counts.indexes++;
    return SQLITE_OK;
}

static int look_up(cursor *c, uint32_t column, int64_t key, uint64_t count)
{
    vtab *const v = (vtab *)c->base.pVtab;
    if (!v->entries[column] || v->count != count) {
        const int code = make_index(c, column, count);
        if (code != SQLITE_OK) return code;
    }
    const entry *const entries = v->entries[column];
    uint64_t low = 0, high = count;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (entries[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    c->entries = entries;
    c->at = c->last = low;
    while (c->last < count && entries[c->last].key == key)
        c->last++;
    find_file(c);
    return SQLITE_OK;
}

static int small_filter(sqlite3_vtab_cursor *base, int number, const char *text,
                        int count, sqlite3_value **values)
{
    cursor *const c = (cursor *)base;
    vtab *const v = (vtab *)base->pVtab;
    (void)text;
    c->entries = NULL;
    c->file = 0;
    c->at = c->last = 0;
    const int code = count_rows(c);
    if (code != SQLITE_OK) return code;
    const uint64_t rows = c->before[file_count(v)];
    if (number && count) {
        if (sqlite3_value_type(values[0]) == SQLITE_NULL) return SQLITE_OK;
        if (v->looked && sqlite3_value_type(values[0]) == SQLITE_INTEGER)
            return look_up(c, (uint32_t)number - 1,
                           sqlite3_value_int64(values[0]), rows);
        v->looked = true;
    }
    c->last = rows;
    find_file(c);
    return query_interrupted ? SQLITE_INTERRUPT : SQLITE_OK;
}

static int small_next(sqlite3_vtab_cursor *base)
{
    cursor *const c = (cursor *)base;
    c->at++;
    find_file(c);
    return SQLITE_OK;
}

static int small_eof(sqlite3_vtab_cursor *base)
{
    const cursor *const c = (const cursor *)base;
    return c->at >= c->last;
}

static int small_column(sqlite3_vtab_cursor *base, sqlite3_context *context,
                        int column)
{
    const query_cell cell = cell_at((const cursor *)base, (uint32_t)column);
    query_result(context, &cell);
    return SQLITE_OK;
}

static int small_rowid(sqlite3_vtab_cursor *base, sqlite_int64 *rowid)
{
    *rowid = (sqlite_int64)row_at((const cursor *)base);
    return SQLITE_OK;
}

const sqlite3_module query_small_module = {
    .iVersion = 1,
    .xCreate = small_connect,
    .xConnect = small_connect,
    .xBestIndex = small_best,
    .xDisconnect = small_disconnect,
    .xDestroy = small_disconnect,
    .xOpen = small_open,
    .xClose = small_close,
    .xFilter = small_filter,
    .xNext = small_next,
    .xEof = small_eof,
    .xColumn = small_column,
    .xRowid = small_rowid,
};

#endif
