/*
    db.c - opens files and the database; restricts what a query may do
*/
#include "tools/query/pushdown/pushdown.h"
#include "tools/cli/context.h"

#ifdef TRACESMITH_SQLITE
#include <limits.h>
#include <xxhash.h>

volatile sig_atomic_t query_interrupted;

/* ---- Names -------------------------------------------------------------- */

typedef struct query_name {
    char *name, *read; // read: demangled; NULL: same as name
    ts_text brief;
} query_name;

typedef struct query_names {
    cli_index index; // by text
    query_name **items;
    size_t count, room;
} query_names;

static void free_name(query_name *n)
{
    if (!n) return;
    free(n->name);
    free(n->read);
    free(n);
}

static query_name *make_name(ts_text text)
{
    query_name *const n = calloc(1, sizeof *n);
    char *const copy = malloc(text.size + 1);
    if (!n || !copy) {
        free(n);
        free(copy);
        return NULL;
    }
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    n->name = copy;
    n->read = cli_demangle(copy);
    const char *const read = n->read ? n->read : copy;
    const ts_text whole = { read, strlen(read) };
    n->brief = cli_short_name(whole);
    return n;
}

static query_name *find_name(query_names *names, ts_text text)
{
    const uint64_t hash = cli_hash(text.text, text.size);
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&names->index, hash, &i)) != CLI_NONE;) {
        query_name *const n = names->items[at];
        if (strlen(n->name) == text.size &&
            !memcmp(n->name, text.text, text.size))
            return n;
    }
    if (!cli_grow(&names->items, &names->room, names->count + 1,
                  sizeof *names->items))
        return NULL;
    query_name *const made = make_name(text);
    if (!made || !cli_index_add(&names->index, hash, (uint32_t)names->count)) {
        free_name(made);
        return NULL;
    }
    return names->items[names->count++] = made;
}

ts_text query_demangled(query *q, ts_text name, bool brief)
{
    const query_name *const found = find_name(q->names, name);
    if (!found) return name;
    if (brief) return found->brief;
    const char *const read = found->read ? found->read : found->name;
    return (ts_text){ read, strlen(read) };
}

static void close_names(query_names *names)
{
    if (!names) return;
    for (size_t i = 0; i < names->count; i++)
        free_name(names->items[i]);
    cli_index_close(&names->index);
    free(names->items);
    free(names);
}

/* ---- Files -------------------------------------------------------------- */

const query_track *query_track_find(const query_file *file, uint32_t id)
{
    size_t low = 0, high = file->track_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (file->tracks[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < file->track_count && file->tracks[low].id == id
               ? &file->tracks[low]
               : NULL;
}

// Sets process, device, context and stream of a track from it and its parents,
// which may form a cycle.
static void find_owners(const query_file *file, query_track *track)
{
    const query_track *at = track;
    track->process = track->device = track->context = track->stream = -1;
    for (int depth = 0; at && depth < 8; depth++) {
        const int64_t number = (int64_t)(at->number & INT64_MAX);
        if (at->type == TS_TRACK_PROCESS && track->process < 0)
            track->process = number;
        if (at->type == TS_TRACK_DEVICE && track->device < 0)
            track->device = number;
        if (at->type == TS_TRACK_CONTEXT && track->context < 0)
            track->context = number;
        if (at->type == TS_TRACK_STREAM && track->stream < 0)
            track->stream = number;
        at = query_track_find(file, at->parent);
    }
    if (track->process < 0) track->process = file->process;
}

// Returns the process of tracks that have none: the one that recorded, else the
// only one of the file; -1: unknown.
static int64_t likely_process(const query_file *file)
{
    int64_t process = -1;
    if (file->trace.info->process) return file->trace.info->process;
    for (size_t i = 0; i < file->track_count; i++) {
        if (file->tracks[i].type != TS_TRACK_PROCESS) continue;
        if (process >= 0) return -1;
        process = (int64_t)(file->tracks[i].number & INT64_MAX);
    }
    return process;
}

static bool list_tracks(query_file *file)
{
    const ts_reader *const reader = file->trace.reader;
    const size_t count = ts_reader_entry_count(reader, TS_CHUNK_TRACKS);
    file->tracks = calloc(count + 1, sizeof *file->tracks);
    if (!file->tracks) return false;
    for (size_t i = 0; i < count; i++) {
        ts_track t;
        query_track *const to = &file->tracks[i];
        if (!ts_reader_track_at(reader, i, &t)) break;
        *to = (query_track){ .id = t.id,
                             .type = t.type,
                             .unit = t.unit,
                             .parent = t.parent,
                             .number = t.number,
                             .flags = t.flags };
        to->name = cli_track_name(&t, &to->made);
        file->track_count++;
    }
    file->process = likely_process(file);
    for (size_t i = 0; i < file->track_count; i++)
        find_owners(file, &file->tracks[i]);
    return true;
}

static bool count_operations(query_file *file)
{
    const ts_reader *const reader = file->trace.reader;
    file->operations =
        malloc((ts_reader_chunk_count(reader) + 1) * sizeof *file->operations);
    if (!file->operations) return false;
    cli_operation_rows(reader, file->operations);
    return true;
}

static bool open_file(query *q, query_file *file, const char *path)
{
    file->path = path;
    if (!cli_trace_open(&file->trace, q->tool, path, NULL, CLI_WARN_ALL))
        return false;
    file->damage_said = ts_reader_damage_count(file->trace.reader);
    if (list_tracks(file) && count_operations(file)) return true;
    cli_fail(q->tool, TS_ERR_MEMORY, path, "not enough memory");
    return false;
}

/* ---- What a query may do ------------------------------------------------ */

static bool one_of(const char *word, const char *const *list)
{
    for (; word && *list; list++)
        if (!sqlite3_stricmp(word, *list)) return true;
    return false;
}

// What does not read: tables and views in memory ("temp").
static bool is_temporary(int action, const char *db)
{
    switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_TEMP_INDEX:
    case SQLITE_DROP_TEMP_TABLE:
    case SQLITE_DROP_TEMP_VIEW:
    case SQLITE_DROP_TEMP_INDEX: return true;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
    case SQLITE_REINDEX: // part of CREATE INDEX
        return db && !strcmp(db, "temp");
    default: return false;
    }
}

// A query may read everything, and, unless it is bound to that, write what is
// temporary.
static int authorize(void *user, int action, const char *first,
                     const char *second, const char *db, const char *trigger)
{
    static const char *const pragmas[] = { "table_info", "table_xinfo",
                                           "function_list", NULL };
    static const char *const functions[] = { "load_extension", NULL };
    const query *const q = user;
    (void)trigger;
    if (q->trusted) return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
        return one_of(second, functions) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA: return one_of(first, pragmas) ? SQLITE_OK : SQLITE_DENY;
    default:
        return !q->limits.only_read && is_temporary(action, db) ? SQLITE_OK
                                                                : SQLITE_DENY;
    }
}

// SQLite calls the authorizer here too, as for a CREATE TABLE of the query.
int query_declare(query *q, const char *text)
{
    const bool trusted = q->trusted;
    q->trusted = true;
    const int code = sqlite3_declare_vtab(q->db, text);
    q->trusted = trusted;
    return code;
}

int query_connect(const query_source *source, size_t size,
                  bool (*prepare)(sqlite3_vtab *table),
                  int (*close)(sqlite3_vtab *table), sqlite3_vtab **made)
{
    query_vtab_base *const t = calloc(1, size);
    if (!t) return SQLITE_NOMEM;
    t->q = source->q;
    t->table = source->table;
    char *const text = query_declaration(t->q, t->table);
    int code =
        text && (!prepare || prepare(&t->base)) ? SQLITE_OK : SQLITE_NOMEM;
    if (code == SQLITE_OK) code = query_declare(t->q, text);
    sqlite3_free(text);
    if (code != SQLITE_OK)
        close(&t->base);
    else
        *made = &t->base;
    return code;
}

/* ---- The database ------------------------------------------------------- */

const query_table *query_table_at(size_t index)
{
    const query_table *const lists[] = { query_event_tables, query_small_tables,
                                         query_graph_tables };
    for (size_t list = 0; list < 3; list++)
        for (const query_table *t = lists[list]; t->name; t++)
            if (!index--) return t;
    return NULL;
}

const query_view *query_view_at(size_t index)
{
    for (const query_view *v = query_views; v->name; v++)
        if (!index--) return v;
    for (const query_view *v = query_nsight_views; v->name; v++)
        if (!index--) return v;
    return NULL;
}

const char *query_type_name(query_type type)
{
    static const char *const names[] = { "INTEGER", "REAL", "TEXT", "" };
    return names[type];
}

char *query_declaration(const query *q, const query_table *table)
{
    sqlite3_str *const text = sqlite3_str_new(q->db);
    sqlite3_str_appendf(text, "CREATE TABLE \"%w\"(", table->name);
    for (uint32_t i = 0; i < table->column_count; i++)
        sqlite3_str_appendf(
            text, "%s\"%w\" %s%s", i ? ", " : "", table->columns[i].name,
            query_type_name(table->columns[i].type),
            !strcmp(table->columns[i].name, "file") && q->file_count <= 1
                ? " HIDDEN"
                : "");
    if (!table->kinds && !table->joint)
        sqlite3_str_appendf(text, ", file TEXT%s",
                            q->file_count <= 1 ? " HIDDEN" : "");
    sqlite3_str_appendall(text, ")");
    return sqlite3_str_finish(text);
}

// With a single trace, views leave out the column with its path.
char *query_view_text(const query *q, const query_view *view,
                      const char *prefix)
{
    static const char column[] = ", file FROM";
    const char *const at = strstr(view->sql, column);
    if (!at || q->file_count > 1)
        return sqlite3_mprintf("CREATE VIEW %s\"%w\" AS %s", prefix, view->name,
                               view->sql);
    return sqlite3_mprintf("CREATE VIEW %s\"%w\" AS %.*s FROM%s", prefix,
                           view->name, (int)(at - view->sql), view->sql,
                           at + sizeof column - 1);
}

static int make_tables(query *q)
{
    size_t count = 0;
    while (query_table_at(count))
        count++;
    q->sources = calloc(count, sizeof *q->sources);
    if (!q->sources) return SQLITE_NOMEM;
    for (size_t i = 0; i < count; i++) {
        const query_table *const table = query_table_at(i);
        q->sources[i] = (query_source){ q, table };
        const int code = sqlite3_create_module_v2(
            q->db, table->name,
            table->kinds ? &query_event_module : &query_small_module,
            &q->sources[i], NULL);
        if (code != SQLITE_OK) return code;
    }
    for (size_t i = 0; query_view_at(i); i++) {
        char *const sql = query_view_text(q, query_view_at(i), "");
        const int code =
            sql ? sqlite3_exec(q->db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
        sqlite3_free(sql);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

static int open_db(query *q)
{
    enum { CACHE_KIB = 262144 };
    int code = sqlite3_open_v2(
        ":memory:", &q->db,
        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code != SQLITE_OK) return code;
    char *const cache =
        sqlite3_mprintf("PRAGMA cache_size = -%d", (int)CACHE_KIB);
    sqlite3_exec(q->db, cache, NULL, NULL, NULL);
    sqlite3_free(cache);
    code = make_tables(q);
    if (code == SQLITE_OK)
        code = sqlite3_create_module_v2(q->db, "ts_sums", &query_push_module, q,
                                        NULL);
    if (code == SQLITE_OK) code = query_functions(q);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    // Make "nme" an error if there is no such column, not a text.
    sqlite3_db_config(q->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    if (code == SQLITE_OK) code = sqlite3_set_authorizer(q->db, authorize, q);
    return code;
}

query *query_open(const cli_tool *tool, char *const *paths, uint32_t count)
{
    if (cli_is_tool) {
        // Only one thread uses the database; memory statistics cost time.
        sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
        sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    }
    query *const q = calloc(1, sizeof *q);
    query_file *const files = calloc(count + 1, sizeof *files);
    query_names *const names = calloc(1, sizeof *names);
    query_regex *const regex = calloc(1, sizeof *regex);
    if (!q || !files || !names || !regex) {
        cli_fail(tool, TS_ERR_MEMORY, NULL, "not enough memory");
        free(q);
        free(files);
        free(names);
        free(regex);
        return NULL;
    }
    *q =
        (query){ .tool = tool, .files = files, .names = names, .regex = regex };
    q->progress.what = "reading";
    for (; q->file_count < count; q->file_count++)
        if (!open_file(q, &files[q->file_count], paths[q->file_count])) break;
    const int code = q->file_count == count ? open_db(q) : SQLITE_OK;
    if (code != SQLITE_OK)
        cli_fail(tool, TS_ERR_UNSUPPORTED, NULL, "SQLite: %s",
                 sqlite3_errstr(code));
    if (q->file_count == count && code == SQLITE_OK) return q;
    if (q->file_count < count)
        q->file_count++; // so that what was opened is closed
    query_close(q);
    return NULL;
}

void query_close(query *q)
{
    if (!q) return;
    sqlite3_close(q->db);
    query_graph_close(q);
    for (uint32_t i = 0; i < q->file_count; i++) {
        cli_trace_close(&q->files[i].trace);
        free(q->files[i].tracks);
        free(q->files[i].operations);
        query_nesting_close(&q->files[i]);
    }
    for (size_t i = 0; i < q->setting_count; i++)
        free(q->settings[i].name);
    close_names(q->names);
    free(q->settings);
    query_regex_close(q->regex);
    free(q->sources);
    free(q->files);
    free(q);
}

void query_set_mode(query *q, query_mode mode)
{
    q->mode = mode;
}

void query_set_rows(query *q, const ts_sql_rows *rows)
{
    q->rows_to = rows;
}

void query_limit(query *q, const ts_sql_limits *limits)
{
    static const ts_sql_limits none;
    q->limits = limits ? *limits : none;
    const uint64_t most = q->limits.value_bytes;
    // SQLite takes more than it can do for all that it can do.
    sqlite3_limit(q->db, SQLITE_LIMIT_LENGTH,
                  most && most < INT_MAX ? (int)most : INT_MAX);
}

void query_set_pushdown(query *q, bool pushdown)
{
    q->push_off = !pushdown;
}

uint64_t query_row_count(const query *q)
{
    return q->printed;
}

bool query_has_more(const query *q)
{
    return q->more;
}

#endif
