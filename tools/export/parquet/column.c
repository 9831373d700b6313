/*
    column.c - the values of a column in a row group
*/
#include "tools/export/parquet/column.h"
#include "tools/cli/cli.h"

/* ---- Rows ---------------------------------------------------------------- */

static bool add_row(parquet_values *v, bool present)
{
    if (!v->present) v->present = malloc(PARQUET_GROUP_ROWS);
    v->failed |= !v->present;
    if (v->failed) return false;
    v->present[v->rows++] = present;
    return true;
}

static bool add_value(parquet_values *v, size_t size)
{
    v->failed |= !cli_grow(&v->u.all, &v->room, v->count + 1, size);
    return add_row(v, true);
}

size_t parquet_values_null(parquet_values *v)
{
    add_row(v, false);
    return 1;
}

size_t parquet_values_integer(parquet_values *v, int64_t number)
{
    if (add_value(v, sizeof number)) v->u.integers[v->count++] = number;
    return 1 + sizeof number;
}

size_t parquet_values_real(parquet_values *v, double number)
{
    if (add_value(v, sizeof number)) v->u.reals[v->count++] = number;
    return 1 + sizeof number;
}

/* ---- Texts --------------------------------------------------------------- */

// Appends a text as valid UTF-8.
static void append_text(parquet_bytes *to, const char *text, size_t size)
{
    static const char unknown[] = "\uFFFD";
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0;
         text += n, size -= n) {
        if (code == 0xFFFD && n == 1)
            parquet_append(to, unknown, sizeof unknown - 1);
        else
            parquet_append(to, text, n);
    }
}

static bool is_valid(const char *text, size_t size)
{
    uint32_t code;
    for (size_t n; (n = cli_utf8(text, size, &code)) != 0; text += n, size -= n)
        if (code == 0xFFFD && n == 1) return false;
    return true;
}

static bool is_text(const parquet_values *v, size_t i, const char *text,
                    size_t size)
{
    size_t found;
    const char *const at = parquet_text(v, i, &found);
    return found == size && (!size || !memcmp(at, text, size));
}

// Returns the index of a text; CLI_NONE: it is new.
static uint32_t find_text(const parquet_values *v, const char *text,
                          size_t size)
{
    const uint64_t hash = cli_hash(text, size);
    uint32_t found;
    for (size_t at = 0;
         (found = cli_index_next(&v->index, hash, &at)) != CLI_NONE;)
        if (is_text(v, found, text, size)) break;
    return found;
}

static uint32_t add_text(parquet_values *v, const char *text, size_t size)
{
    const uint32_t added = (uint32_t)v->text_count;
    parquet_append(&v->bytes, text, size);
    if (v->bytes.failed ||
        !cli_grow(&v->text_ends, &v->text_room, v->text_count + 1,
                  sizeof *v->text_ends) ||
        !cli_index_add(&v->index, cli_hash(text, size), added)) {
        v->failed = true;
        return 0;
    }
    v->text_ends[v->text_count++] = v->bytes.size;
    return added;
}

// The texts of a group are valid UTF-8. One that is not is looked up as it is
// first: most texts are there already, and those are not looked through again.
static uint32_t index_of(parquet_values *v, const char *text, size_t size)
{
    uint32_t found = find_text(v, text, size);
    if (found != CLI_NONE) return found;
    if (is_valid(text, size)) return add_text(v, text, size);
    parquet_bytes repaired = { 0 };
    append_text(&repaired, text, size);
    const char *const whole = (const char *)repaired.data;
    if (!repaired.failed) found = find_text(v, whole, repaired.size);
    if (!repaired.failed && found == CLI_NONE)
        found = add_text(v, whole, repaired.size);
    v->failed |= repaired.failed;
    parquet_bytes_close(&repaired);
    return v->failed ? 0 : found;
}

size_t parquet_values_text(parquet_values *v, const char *text, size_t size)
{
    const size_t before = v->bytes.size;
    const uint32_t last = v->count ? v->u.texts[v->count - 1] : CLI_NONE;
    if (!add_value(v, sizeof last)) return 0;
    const bool same = last != CLI_NONE && is_text(v, last, text, size);
    const uint32_t at = same ? last : index_of(v, text, size);
    v->u.texts[v->count++] = at;
    return 1 + sizeof at + (v->bytes.size - before);
}

/* ---- Memory -------------------------------------------------------------- */

void parquet_values_clear(parquet_values *v)
{
    v->rows = v->count = 0;
    v->text_count = v->bytes.size = 0;
    cli_index_clear(&v->index);
}

void parquet_values_close(parquet_values *v)
{
    free(v->present);
    free(v->u.all);
    free(v->text_ends);
    cli_index_close(&v->index);
    parquet_bytes_close(&v->bytes);
}
