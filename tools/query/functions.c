/*
    functions.c - additional SQL functions
*/
#include "tools/query/tables.h"

#ifdef TRACESMITH_SQLITE
#include <regex.h>

enum { FLAGS = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS };

/* ---- Texts -------------------------------------------------------------- */

static const char *text_of(sqlite3_value *value)
{
    return (const char *)sqlite3_value_text(value);
}

static void give_name(sqlite3_context *context, sqlite3_value *value,
                      bool brief)
{
    query *const q = sqlite3_user_data(context);
    const char *const text = text_of(value);
    if (!text) return; // NULL
    const ts_text name = { text, strlen(text) };
    const ts_text read = query_demangled(q, name, brief);
    sqlite3_result_text(context, read.text, (int)read.size, SQLITE_TRANSIENT);
}

// demangle(name): the demangled name.
static void demangle(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    give_name(context, v[0], false);
}

// short_name(name): the function without parameters.
static void short_name(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    give_name(context, v[0], true);
}

// time_text(ns): "1.50 ms".
static void time_text(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    sqlite3_result_text(context, cli_time(sqlite3_value_int64(v[0])).s, -1,
                        SQLITE_TRANSIENT);
}

// bytes_text(size): "1.50 MiB".
static void bytes_text(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    const int64_t size = sqlite3_value_int64(v[0]);
    const cli_text text =
        cli_bytes(size < 0 ? 0 - (uint64_t)size : (uint64_t)size);
    sqlite3_result_text(context,
                        cli_format("%s%s", size < 0 ? "-" : "", text.s).s, -1,
                        SQLITE_TRANSIENT);
}

// Rejects back references and nested repeats, whose time and memory are
// unbounded.
static bool too_complex(const char *pattern)
{
    uint32_t repeats = 0;
    for (const char *at = pattern; *at; at++) {
        if (*at == '\\' && at[1] >= '0' && at[1] <= '9') return true;
        repeats += *at == '{';
    }
    return repeats > 2 || strlen(pattern) > 1000;
}

static void forget(query_regex *regex)
{
    if (regex->text) regfree(&regex->compiled);
    free(regex->text);
    regex->text = NULL;
}

void query_regex_close(query_regex *regex)
{
    forget(regex);
    free(regex);
}

bool query_regexp(const query *q, const char *pattern, const char *text,
                  bool *matches)
{
    query_regex *const r = q->regex;
    if (!r->text || strcmp(r->text, pattern) != 0) {
        forget(r);
        if (too_complex(pattern) ||
            regcomp(&r->compiled, pattern, REG_EXTENDED | REG_NOSUB))
            return false;
        r->text = strdup(pattern);
        if (!r->text) {
            regfree(&r->compiled);
            return false;
        }
    }
    *matches = regexec(&r->compiled, text, 0, NULL, 0) == 0;
    return true;
}

// X REGEXP Y is regexp(Y, X).
static void regexp(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    const char *const pattern = text_of(v[0]), *const text = text_of(v[1]);
    bool matches;
    if (!pattern || !text) return; // NULL
    if (query_regexp(sqlite3_user_data(context), pattern, text, &matches)) {
        sqlite3_result_int(context, matches);
        return;
    }
    char *const message = sqlite3_mprintf(
        "'%s' is not a valid extended regular expression", pattern);
    sqlite3_result_error(context, message ? message : "no memory", -1);
    sqlite3_free(message);
}

/* ---- Union of intervals ------------------------------------------------- */

typedef struct interval {
    int64_t start, end;
} interval;

typedef struct intervals {
    interval *items;
    size_t count, room;
    bool sorted; // the intervals added so far are sorted
} intervals;

// Makes room for one more element; without memory returns false and fails the
// query.
static bool grow(sqlite3_context *context, void *items, size_t count,
                 size_t *room, size_t size)
{
    if (cli_grow(items, room, count + 1, size)) return true;
    sqlite3_result_error_nomem(context);
    return false;
}

// Merges an interval with the last one if they touch, so that sorted input
// needs little memory.
static void union_step(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    intervals *const all = sqlite3_aggregate_context(context, sizeof *all);
    if (!all) return;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL ||
        sqlite3_value_type(v[1]) == SQLITE_NULL)
        return;
    const interval one = { sqlite3_value_int64(v[0]),
                           sqlite3_value_int64(v[1]) };
    if (one.end <= one.start) return;
    interval *const last = all->count ? &all->items[all->count - 1] : NULL;
    if (last && one.start >= last->start && one.start <= last->end) {
        if (one.end > last->end) last->end = one.end;
        return;
    }
    if (!last) all->sorted = true;
    if (last && one.start < last->start) all->sorted = false;
    if (!grow(context, &all->items, all->count, &all->room, sizeof one)) return;
    all->items[all->count++] = one;
}

static int by_start(const void *a, const void *b)
{
    const interval *const x = a, *const y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void union_final(sqlite3_context *context)
{
    intervals *const all = sqlite3_aggregate_context(context, 0);
    uint64_t sum = 0;
    if (all && all->count) {
        if (!all->sorted)
            qsort(all->items, all->count, sizeof *all->items, by_start);
        int64_t end = all->items[0].start;
        for (size_t i = 0; i < all->count; i++) {
            const interval *const one = &all->items[i];
            const int64_t from = one->start > end ? one->start : end;
            if (one->end <= from) continue;
            sum += (uint64_t)one->end - (uint64_t)from;
            end = one->end;
        }
    }
    if (all) free(all->items);
    sqlite3_result_int64(context,
                         sum > INT64_MAX ? INT64_MAX : (sqlite3_int64)sum);
}

/* ---- Percentiles -------------------------------------------------------- */

typedef struct number {
    bool real;
    int64_t integer;
    double value;
} number;

typedef struct numbers {
    number *items;
    size_t count, room;
    double share; // 0 to 1
} numbers;

static void add_number(sqlite3_context *context, sqlite3_value *value,
                       double percent)
{
    numbers *const all = sqlite3_aggregate_context(context, sizeof *all);
    if (!all || sqlite3_value_type(value) == SQLITE_NULL) return;
    if (!(percent >= 0 && percent <= 100)) {
        sqlite3_result_error(context, "a percentile must be between 0 and 100",
                             -1);
        return;
    }
    all->share = percent / 100;
    number one = { .real =
                       sqlite3_value_numeric_type(value) != SQLITE_INTEGER };
    one.integer = sqlite3_value_int64(value);
    one.value = sqlite3_value_double(value);
    if (!grow(context, &all->items, all->count, &all->room, sizeof one)) return;
    all->items[all->count++] = one;
}

static void percentile_step(sqlite3_context *context, int count,
                            sqlite3_value **v)
{
    (void)count;
    add_number(context, v[0], sqlite3_value_double(v[1]));
}

static void median_step(sqlite3_context *context, int count, sqlite3_value **v)
{
    (void)count;
    add_number(context, v[0], 50);
}

static int by_number(const void *a, const void *b)
{
    const number *const x = a, *const y = b;
    if (x->real || y->real)
        return (x->value > y->value) - (x->value < y->value);
    return (x->integer > y->integer) - (x->integer < y->integer);
}

// Nearest-rank method: the smallest value with at least that share of the
// values below or equal.
static void percentile_final(sqlite3_context *context)
{
    numbers *const all = sqlite3_aggregate_context(context, 0);
    if (all && all->count) {
        qsort(all->items, all->count, sizeof *all->items, by_number);
        const double exact = all->share * (double)all->count;
        size_t rank = (size_t)exact;
        if ((double)rank < exact) rank++;
        if (rank) rank--;
        const number *const one = &all->items[rank];
        if (one->real)
            sqlite3_result_double(context, one->value);
        else
            sqlite3_result_int64(context, one->integer);
    }
    if (all) free(all->items);
}

/* ---- All ---------------------------------------------------------------- */

typedef void scalar(sqlite3_context *context, int count, sqlite3_value **v);

int query_functions(query *q)
{
    static const struct {
        const char *name;
        int count;
        scalar *call, *step;
        void (*final)(sqlite3_context *context);
    } functions[] = {
        { "demangle", 1, demangle, NULL, NULL },
        { "short_name", 1, short_name, NULL, NULL },
        { "time_text", 1, time_text, NULL, NULL },
        { "bytes_text", 1, bytes_text, NULL, NULL },
        { "regexp", 2, regexp, NULL, NULL },
        { "union_ns", 2, NULL, union_step, union_final },
        { "percentile", 2, NULL, percentile_step, percentile_final },
        { "median", 1, NULL, median_step, percentile_final },
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        const int code = sqlite3_create_function_v2(
            q->db, functions[i].name, functions[i].count, FLAGS, q,
            functions[i].call, functions[i].step, functions[i].final, NULL);
        if (code != SQLITE_OK) return code;
    }
    return SQLITE_OK;
}

#endif
