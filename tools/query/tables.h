/*
    tables.h - what the parts of ts-query share

        chunk of a trace -> query_rows -> query_cell -> SQLite
        decoded columns     raw numbers    what SQL sees

    A column of a table of events is a *raw* number of each row (its site, its
    start) and a way to *show* it (the site's name, a number). Filters, orders
    and groups work on raw numbers, so that a name is compared once for each
    site and not once for each row.
*/
#ifndef TS_TOOLS_QUERY_TABLES_H
#define TS_TOOLS_QUERY_TABLES_H

#include "tools/query/query.h"

#ifdef TRACESMITH_SQLITE
#include <signal.h>
#include <sqlite3.h>

/* ==== 1. Columns ========================================================= */

// Raw numbers: the values of ts_column, and these.
enum {
    RAW_START = TS_COLUMN_LIMIT,
    RAW_END,
    RAW_DURATION,
    RAW_TRACK,
    RAW_KIND,
    RAW_FILE,
    RAW_OPERATION,    // index among the GPU operations of the file
    RAW_LABEL,        // name, or LABEL_KIND + kind
    RAW_QUEUED_NS,    // time or RAW_NEVER
    RAW_SUBMITTED_NS, // likewise
    RAW_COPY,         // `type` of a memcpy; 0: another operation
    RAW_ELEMENT,      // `type` of a collective; 0: another operation
    RAW_ZONE,         // index among the zones of the file
    RAW_PARENT,       // index of the enclosing zone + 1; 0: none
    RAW_DEPTH,        // number of enclosing zones
    RAW_SELF,         // duration less that of enclosed zones
    RAW_TEXT,         // no number: see query_rows.texts
    RAW_LIMIT
};
_Static_assert(RAW_LIMIT <= 64, "sets of raw numbers are bits of 64");
#define RAW_BIT(raw) (UINT64_C(1) << (raw))
#define RAW_NEVER    ((uint64_t)INT64_MIN)
#define LABEL_KIND   (UINT64_C(1) << 32)

// How a raw number is shown. Up to SHOW_LAST_NUMBER it is shown as a number.
typedef enum query_show {
    SHOW_NUMBER = 0,
    SHOW_LAST_NUMBER = SHOW_NUMBER,
    SHOW_OPTION, // 0 shows as NULL
    SHOW_MOMENT, // RAW_NEVER shows as NULL
    SHOW_RANK,   // a peer's rank + 1; 0 shows as NULL
    SHOW_NAME,
    SHOW_LABEL,
    SHOW_LABEL_NAME, // the name.id of a label
    SHOW_SITE_NAME,
    SHOW_SITE_CATEGORY,
    SHOW_SITE_FUNCTION,
    SHOW_SITE_SOURCE,
    SHOW_SITE_LINE,
    SHOW_TRACK_NAME,
    SHOW_TRACK_UNIT,
    SHOW_THREAD, // number of the thread
    SHOW_PROCESS,
    SHOW_DEVICE,
    SHOW_CONTEXT,
    SHOW_STREAM,
    SHOW_KIND,
    SHOW_MEMORY_EVENT, // by the kind: alloc or free
    SHOW_MEMORY_PLACE, // by the kind: host or device
    SHOW_COPY,
    SHOW_MEMORY_FROM,
    SHOW_MEMORY_TO,
    SHOW_ELEMENT,
    SHOW_PHASE,
    SHOW_DEPENDENCY,
    SHOW_ACCESS,
    SHOW_VALUE_TYPE,
    SHOW_FILE,
    SHOW_LAUNCH, // SHOW_LAUNCH + i: grid, block, cluster, registers, memory
    SHOW_LAUNCH_END = SHOW_LAUNCH + 13,
    SHOW_VALUE, // of a counter, sample or zone_arg, by its type
    SHOW_TEXT
} query_show;

typedef enum query_type {
    QUERY_INTEGER,
    QUERY_REAL,
    QUERY_TEXT,
    QUERY_ANY
} query_type;

typedef struct query_column {
    const char *name;
    query_type type;
    uint8_t raw, show; // only in tables of events
    bool key;          // joins look it up, so an index pays off
    const char *about; // description, with the unit
} query_column;

// A value as SQL sees it.
typedef struct query_cell {
    enum { CELL_NULL, CELL_INTEGER, CELL_REAL, CELL_TEXT } type;
    int64_t number;
    double real;
    ts_text text; // lives as long as the query
} query_cell;

static const query_cell query_null;

static inline query_cell query_integer(int64_t number)
{
    return (query_cell){ .type = CELL_INTEGER, .number = number };
}
static inline query_cell query_text(ts_text text)
{
    return (query_cell){ .type = text.size ? CELL_TEXT : CELL_NULL,
                         .text = text };
}
static inline query_cell query_string(const char *text)
{
    const ts_text t = { text, strlen(text) };
    return (query_cell){ .type = CELL_TEXT, .text = t };
}

/* ==== 2. Tables ========================================================== */

// Tables of events set `kinds`; all others set `count` and `cell`.
typedef struct query_table {
    const char *name, *about;
    const query_column *columns;
    uint32_t column_count;
    uint64_t kinds;
    bool joint; // one table for all files: has no column `file`
    // Returns the number of rows of a file (joint: file is 0); -1: failed, see
    // query.failure.
    int64_t (*count)(query *q, uint32_t file);
    query_cell (*cell)(query *q, uint32_t file, uint64_t row, uint32_t column);
} query_table;

typedef struct query_view {
    const char *name, *about, *sql;
} query_view;

// Each list ends with a name of NULL.
extern const query_table query_event_tables[], query_small_tables[],
    query_graph_tables[];
extern const query_view query_views[], query_nsight_views[];

// Returns the index-th table; NULL after the last.
const query_table *query_table_at(size_t index);
const query_view *query_view_at(size_t index);
const char *query_type_name(query_type type);

/* ==== 3. The query ======================================================= */

typedef struct query_track {
    uint32_t id;
    ts_track_type type;
    ts_text name, unit;
    cli_text made; // owned name, if the trace has none
    uint32_t parent;
    uint64_t number, flags;
    int64_t process, device, context, stream; // ids; -1: none
} query_track;

// Nesting of zones, by their index among the zones of a file.
typedef struct query_nesting {
    uint32_t *first; // of each chunk: number of zones before it
    int64_t *self_ns;
    uint32_t *parents; // index + 1; 0: none
    uint32_t *depths;
} query_nesting;

typedef struct query_file {
    const char *path;
    cli_trace trace;
    query_track *tracks; // sorted by id
    size_t track_count;
    query_nesting *nesting; // NULL: not computed yet
    size_t damage_said;
    int64_t process;      // of tracks without a process; -1: unknown
    uint64_t *operations; // of each chunk: number of GPU operations before it
    size_t stack;         // cache of stack_frame: the last stack
    uint64_t stack_row;   // and the number of frames before it
} query_file;

typedef struct query_counts {
    uint64_t chunks, rows;   // decoded ones
    uint64_t damaged;        // chunks that cannot be decoded
    uint64_t sorts, indexes; // number of sorts, of indexes made
} query_counts;

typedef struct query_setting {
    char *name;
    const char *value; // points into name
} query_setting;

typedef struct query_regex {
    char *text; // NULL: none yet
    regex_t compiled;
} query_regex;

struct query {
    const cli_tool *tool;
    query_file *files;
    uint32_t file_count;
    sqlite3 *db;
    query_mode mode;
    const ts_sql_rows *rows_to;       // of QUERY_VALUES
    query_counts counts, begun, last; // now; at the statement's start;
                                      // of the previous statement
    query_setting *settings;
    size_t setting_count;
    struct query_graph *graph; // graph.c
    struct query_names *names; // db.c
    struct query_push *push;   // what ts_sums is now; NULL: nothing
    bool push_off;             // no statement is answered by ts_sums
    query_regex *regex;        // the last one compiled
    struct query_source *sources;
    cli_json json;
    uint64_t printed;    // rows of the previous statement
    const char *failure; // why a table cannot return rows
    bool trusted;        // the authorizer allows everything
    cli_progress progress;
    ts_sql_limits limits;
    uint64_t deadline_ns; // of the present call; 0: none
    bool more;            // the previous statement had more rows than allowed
};

// Set by Ctrl-C.
extern volatile sig_atomic_t query_interrupted;

// Returns the track with this id; NULL if the trace has none.
const query_track *query_track_find(const query_file *file, uint32_t id);

query_cell query_show_cell(const query *q, uint32_t file, uint32_t show,
                           uint64_t raw);
bool query_show_is_text(uint32_t show);
// Compares as SQL does: NULL, then numbers, then texts by bytes.
int query_cell_order(const query_cell *a, const query_cell *b);
void query_result(sqlite3_context *context, const query_cell *cell);

void query_graph_close(query *q);
// Registers the SQL functions.
int query_functions(query *q);
// The modules of the tables of events, and of all others.
extern const sqlite3_module query_event_module, query_small_module;
// The user data of a registered module.
typedef struct query_source {
    query *q;
    const query_table *table;
} query_source;
// Returns the "CREATE TABLE ..." of a virtual table; free it with sqlite3_free.
char *query_declaration(const query *q, const query_table *table);
// The first member of the tables of all modules.
typedef struct query_vtab_base {
    sqlite3_vtab base;
    query *q;
    const query_table *table;
} query_vtab_base;
// The common part of xConnect: creates a table of `size` bytes and calls
// `prepare` (may be NULL) on it; if that fails, closes it with `close`.
int query_connect(const query_source *source, size_t size,
                  bool (*prepare)(sqlite3_vtab *table),
                  int (*close)(sqlite3_vtab *table), sqlite3_vtab **made);

// As sqlite3_declare_vtab, which is allowed although a query is not.
int query_declare(query *q, const char *text);

// Returns the demangled name, without parameters if `brief`. Lifetime: that of
// the query.
ts_text query_demangled(query *q, ts_text name, bool brief);

// Whether to give up: Ctrl-C, or a bound of the query is reached. Long
// operations ask.
bool query_stops(const query *q);

// Computes file->nesting. Returns SQLITE_OK, _NOMEM or _INTERRUPT.
int query_nesting_make(const query *q, query_file *file);
void query_nesting_close(query_file *file);
// Between these two calls Ctrl-C interrupts the running statement; only in
// tools, not in the library.
void query_interrupts_begin(query *q);
void query_interrupts_end(void);
// Runs one statement that returns no rows, with the parameters bound.
bool query_execute(query *q, const char *sql);
// Runs what sqlite3_mprintf made, and frees it. False: failed, or sql is NULL.
bool query_run_made(query *q, char *sql);
// Writes a new database, or no file: `fill` makes the tables of the schema
// `saved`. Prints why it failed.
typedef bool (*query_fill)(query *q, void *user);
bool query_save_by(query *q, const char *path, query_fill fill, void *user);
// Reports damage on stderr that was found since the last call.
void query_print_damage(query *q);
// Returns a "CREATE VIEW ..."; free it with sqlite3_free. prefix: "" or
// "saved.".
char *query_view_text(const query *q, const query_view *view,
                      const char *prefix);

// Matches a POSIX extended regular expression; caches the last one compiled.
bool query_regexp(const query *q, const char *pattern, const char *text,
                  bool *matches);
void query_regex_close(query_regex *regex);

/* ==== 4. Rows ============================================================ */

typedef struct query_chunk {
    uint32_t file, index; // index: of the chunk in the reader
    uint32_t count, track, kind;
    uint64_t first_row; // index in the table
    int64_t first_ns, last_ns;
} query_chunk;

// Rows of a table: those of one chunk, or copies of rows of many chunks.
typedef struct query_rows {
    uint32_t count;        // number of rows
    const uint32_t *order; // their indexes in order; NULL: 0, 1, ...
    const uint64_t *values[RAW_LIMIT]; // NULL: see `narrow`
    const uint32_t *narrow[RAW_LIMIT]; // NULL: see `constant`
    uint64_t constant[RAW_LIMIT];
    const char *const *texts;
    const uint32_t *text_sizes;
    uint64_t first_row;
    const uint32_t *numbers; // row numbers in the table; NULL: from first_row
    const uint32_t *origin;  // indexes before a permutation; NULL: the same
    // Private.
    ts_columns columns;
    uint32_t columns_file;
    uint64_t *made[RAW_LIMIT]; // owned arrays behind `values`
    uint32_t *made_narrow[RAW_LIMIT];
    uint32_t *picked, *sorted, *kept_numbers;
    const char **kept_texts;
    uint32_t *kept_sizes;
    ts_columns *kept; // chunks whose texts are in use
    uint32_t *kept_files;
    size_t kept_count;
    uint32_t total, room; // stored rows; capacity
    uint32_t made_room;
} query_rows;

static inline uint64_t query_raw(const query_rows *rows, uint32_t raw,
                                 uint32_t row)
{
    const uint64_t *const values = rows->values[raw];
    if (values) return values[row];
    const uint32_t *const narrow = rows->narrow[raw];
    return narrow ? narrow[row] : rows->constant[raw];
}

// Loads the raw numbers in `uses` of one chunk. Returns SQLITE_OK, with no rows
// if the chunk is damaged, or SQLITE_NOMEM.
int query_rows_load(query *q, query_rows *rows, const query_chunk *chunk,
                    uint64_t uses);
// Returns the columns of the trace that raw numbers are made of.
uint64_t query_rows_columns(uint64_t uses);
// As query_rows_load, of columns that the caller has decoded.
// query_rows_prepare comes first, on one thread. False: no memory.
int query_rows_prepare(query *q, uint64_t uses);
bool query_rows_show(query *q, query_rows *rows, const query_chunk *chunk,
                     const ts_columns *columns, uint64_t uses);
struct query_test;
// Keeps only the rows that pass all tests. Returns SQLITE_OK or SQLITE_NOMEM.
int query_rows_pick(const query *q, query_rows *rows, struct query_test *tests,
                    size_t count);
// Copies those rows of many chunks that pass all tests.
int query_rows_gather(query *q, query_rows *rows,
                      const query_chunk *const *chunks, size_t chunk_count,
                      uint64_t uses, struct query_test *tests, size_t count);
void query_rows_close(query *q, query_rows *rows);

// Permutes copied rows by `order`; takes ownership of `spare`.
bool query_rows_arrange(query_rows *rows, uint32_t *spare);
// Allocates an array, to be freed by the caller; NULL without memory.
void *query_array(size_t count, size_t item);

typedef struct query_order {
    uint8_t raw, show;
    bool desc;
} query_order;
// Sorts copied rows. Returns SQLITE_OK or SQLITE_NOMEM.
int query_rows_sort(const query *q, query_rows *rows, const query_order *order,
                    size_t count);
// Sorts rows by one raw number as SQL integers; *keys gets the sorted numbers
// for a binary search.
int query_rows_index(query_rows *rows, uint32_t raw, int64_t **keys);

/* ==== 5. Tests =========================================================== */

// A map from file and raw number to a number.
typedef struct query_map {
    cli_map *files;
    size_t room;
    uint64_t last_raw;
    uint32_t last_file, last_value;
    bool has_last;
} query_map;
// Returns a pointer to the number, which is 0 at first; NULL: no memory.
uint64_t *query_map_at(query_map *map, uint32_t file, uint64_t raw);
void query_map_close(query_map *map);

// A condition `column op value` that is tested before SQLite gets the row.
typedef struct query_test {
    uint8_t raw, show, op; // op: SQLITE_INDEX_CONSTRAINT_...
    bool pass;             // cannot be tested here: all rows pass
    int64_t low, high;     // of numbers: those in [low, high] pass
    sqlite3_value *value;  // an owned copy
    query_map seen;        // results so far: 1 passes, 2 fails
} query_test;

// Prepares a test. Returns SQLITE_OK or SQLITE_NOMEM.
int query_test_open(query_test *test, uint8_t raw, uint8_t show, uint8_t op,
                    sqlite3_value *value);
void query_test_close(query_test *test);
bool query_test_row(const query *q, query_test *test, uint32_t file,
                    uint64_t raw);
// Returns whether a raw number passes if it is in [low, high], which is not
// empty.
bool query_test_is_range(const query_test *test);
// Returns whether a raw number is shown as an integer, in *number.
bool query_show_number(uint32_t show, uint64_t raw, int64_t *number);
// Returns whether any row of a chunk can pass, by the chunk's facts alone.
bool query_test_chunk(const query *q, query_test *test,
                      const query_chunk *chunk);

#endif // TRACESMITH_SQLITE
#endif // TS_TOOLS_QUERY_TABLES_H
