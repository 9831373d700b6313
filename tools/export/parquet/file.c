/*
    file.c - row groups, the thread that writes them, and the footer

    Rows are put into one group while the other one is encoded. A table of one
    group needs no thread.

    Source: apache/parquet-format, parquet.thrift (FileMetaData, SchemaElement,
    RowGroup).
*/
#include "tools/cli/cli.h"
#include "tools/export/parquet/column.h"
#include "tools/export/parquet/thrift.h"
#include <pthread.h>

#define GROUP_BYTES ((size_t)32 << 20)

static const char magic[] = "PAR1";

typedef struct group {
    parquet_values *columns;
    uint32_t rows;
    size_t bytes;
} group;

struct parquet {
    FILE *out;
    parquet_column *columns;
    size_t count;
    group groups[2], *filling;
    pthread_t thread;
    bool has_thread;
    pthread_mutex_t mutex; // guards the next three
    pthread_cond_t changed;
    group *ready; // to be written; NULL: the other thread waits
    bool done, failed;
    // Of whoever writes:
    parquet_encoder encoder;
    parquet_bytes pages, footer; // footer: a RowGroup for each
    int64_t offset, rows;
    size_t group_count;
};

/* ---- Writing a group ----------------------------------------------------- */

static bool write_bytes(parquet *p, const void *bytes, size_t size)
{
    p->offset += (int64_t)size;
    return !size || fwrite(bytes, 1, size, p->out) == size;
}

static bool write_group(parquet *p, const group *g)
{
    const int64_t from = p->offset;
    thrift t = thrift_begin(&p->footer);
    int64_t raw = 0;
    thrift_list(&t, 1, THRIFT_STRUCT, p->count);
    for (size_t i = 0; i < p->count; i++) {
        p->pages.size = 0;
        if (g->columns[i].failed ||
            !parquet_encode(&p->encoder, &g->columns[i], p->columns[i].name,
                            p->offset, &p->pages, &p->footer, &raw) ||
            !write_bytes(p, p->pages.data, p->pages.size))
            return false;
    }
    thrift_i64(&t, 2, raw);
    thrift_i64(&t, 3, g->rows);
    thrift_i64(&t, 5, from);
    thrift_i64(&t, 6, p->offset - from);
    thrift_end(&t);
    p->rows += g->rows;
    p->group_count++;
    return !p->footer.failed;
}

static void clear_group(parquet *p, group *g)
{
    for (size_t i = 0; i < p->count; i++)
        parquet_values_clear(&g->columns[i]);
    g->rows = 0;
    g->bytes = 0;
}

/* ---- The thread ---------------------------------------------------------- */

static void *write_groups(void *user)
{
    parquet *const p = user;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (!p->ready && !p->done)
            pthread_cond_wait(&p->changed, &p->mutex);
        if (!p->ready) break;
        const bool failed = p->failed;
        pthread_mutex_unlock(&p->mutex);
        const bool written = !failed && write_group(p, p->ready);
        clear_group(p, p->ready);
        pthread_mutex_lock(&p->mutex);
        p->failed = !written;
        p->ready = NULL;
        pthread_cond_signal(&p->changed);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

// Gives a full group to the thread and takes the other one, which it is done
// with. Without a thread, writes it here.
static bool turn_group(parquet *p)
{
    group *const full = p->filling;
    if (!p->has_thread)
        p->has_thread = !pthread_create(&p->thread, NULL, write_groups, p);
    if (!p->has_thread) {
        p->failed |= !write_group(p, full);
        clear_group(p, full);
        return !p->failed;
    }
    pthread_mutex_lock(&p->mutex);
    while (p->ready)
        pthread_cond_wait(&p->changed, &p->mutex);
    p->ready = full;
    const bool failed = p->failed;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    p->filling = full == p->groups ? p->groups + 1 : p->groups;
    return !failed;
}

static void end_thread(parquet *p)
{
    if (!p->has_thread) return;
    pthread_mutex_lock(&p->mutex);
    p->done = true;
    pthread_cond_signal(&p->changed);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
}

/* ---- Rows ---------------------------------------------------------------- */

void parquet_put_null(parquet *p, size_t column)
{
    group *const g = p->filling;
    g->bytes += parquet_values_null(&g->columns[column]);
}

void parquet_put_integer(parquet *p, size_t column, int64_t number)
{
    group *const g = p->filling;
    g->bytes += parquet_values_integer(&g->columns[column], number);
}

void parquet_put_real(parquet *p, size_t column, double number)
{
    group *const g = p->filling;
    g->bytes += parquet_values_real(&g->columns[column], number);
}

void parquet_put_text(parquet *p, size_t column, const char *text, size_t size)
{
    group *const g = p->filling;
    g->bytes += parquet_values_text(&g->columns[column], text, size);
}

bool parquet_end_row(parquet *p)
{
    group *const g = p->filling;
    if (++g->rows < PARQUET_GROUP_ROWS && g->bytes < GROUP_BYTES) return true;
    return turn_group(p);
}

/* ---- The footer ---------------------------------------------------------- */

// SchemaElement of a column: OPTIONAL, texts are UTF-8.
static void put_column(thrift *t, const parquet_column *column)
{
    enum { OPTIONAL = 1, UTF8 = 0 };
    static const int types[] = { 2, 5, 6 }; // INT64, DOUBLE, BYTE_ARRAY
    thrift_open(t);
    thrift_i32(t, 1, types[column->type]);
    thrift_i32(t, 3, OPTIONAL);
    thrift_binary(t, 4, column->name, strlen(column->name));
    if (column->type == PARQUET_TEXT) {
        thrift_i32(t, 6, UTF8);
        thrift_struct(t, 10); // LogicalType
        thrift_struct(t, 1);  // STRING
        thrift_end(t);
        thrift_end(t);
    }
    thrift_end(t);
}

static void put_schema(thrift *t, const parquet *p)
{
    static const char root[] = "schema";
    thrift_list(t, 2, THRIFT_STRUCT, p->count + 1);
    thrift_open(t);
    thrift_binary(t, 4, root, sizeof root - 1);
    thrift_i32(t, 5, (int32_t)p->count);
    thrift_end(t);
    for (size_t i = 0; i < p->count; i++)
        put_column(t, &p->columns[i]);
}

// Minima and maxima are in the order of the types.
static void put_orders(thrift *t, size_t count)
{
    thrift_list(t, 7, THRIFT_STRUCT, count);
    for (size_t i = 0; i < count; i++) {
        thrift_open(t);
        thrift_struct(t, 1); // TYPE_ORDER
        thrift_end(t);
        thrift_end(t);
    }
}

static bool write_footer(parquet *p)
{
    parquet_bytes bytes = { 0 };
    thrift t = thrift_begin(&bytes);
    const cli_text by =
        cli_format("TraceSmith version %d.%d.%d", TS_VERSION_MAJOR,
                   TS_VERSION_MINOR, TS_VERSION_PATCH);
    thrift_i32(&t, 1, 1);
    put_schema(&t, p);
    thrift_i64(&t, 3, p->rows);
    thrift_list(&t, 4, THRIFT_STRUCT, p->group_count);
    parquet_append(&bytes, p->footer.data, p->footer.size);
    thrift_binary(&t, 6, by.s, strlen(by.s));
    put_orders(&t, p->count);
    thrift_end(&t);
    parquet_append_le(&bytes, bytes.size, 4);
    parquet_append(&bytes, magic, 4);
    const bool done = !bytes.failed && write_bytes(p, bytes.data, bytes.size);
    parquet_bytes_close(&bytes);
    return done;
}

/* ---- Open and close ------------------------------------------------------ */

static void free_all(parquet *p)
{
    for (size_t g = 0; g < 2; g++) {
        for (size_t i = 0; p->groups[g].columns && i < p->count; i++)
            parquet_values_close(&p->groups[g].columns[i]);
        free(p->groups[g].columns);
    }
    parquet_encoder_close(&p->encoder);
    parquet_bytes_close(&p->pages);
    parquet_bytes_close(&p->footer);
    free(p->columns);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->changed);
    free(p);
}

static bool open_groups(parquet *p)
{
    for (size_t g = 0; g < 2; g++) {
        parquet_values *const values = calloc(p->count, sizeof *values);
        p->groups[g].columns = values;
        for (size_t i = 0; values && i < p->count; i++)
            values[i].type = p->columns[i].type;
        if (!values) return false;
    }
    return true;
}

parquet *parquet_open(FILE *out, const parquet_column *columns, size_t count,
                      bool compress)
{
    parquet *const p = calloc(1, sizeof *p);
    if (!p) return NULL;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->changed, NULL);
    p->out = out;
    p->count = count;
    p->filling = p->groups;
    p->columns = malloc(count * sizeof *columns);
    if (p->columns) memcpy(p->columns, columns, count * sizeof *columns);
    if (p->columns && open_groups(p) &&
        parquet_encoder_open(&p->encoder, compress) && write_bytes(p, magic, 4))
        return p;
    free_all(p);
    return NULL;
}

bool parquet_close(parquet *p, bool complete)
{
    end_thread(p);
    bool done = complete && !p->failed;
    if (done && p->filling->rows) done = write_group(p, p->filling);
    if (done) done = write_footer(p);
    free_all(p);
    return done;
}
