// strings.c - tables of texts by number
#include "tools/import/map.h"
#include "tools/import/sqlite.h"

typedef struct string {
    size_t at, size;
    uint32_t name;
    uint8_t collective; // 0: unknown, 1: no, 2: yes
} string;

struct import_strings {
    import_job *job;
    cli_map index;
    string *all;
    size_t count, room;
    char *bytes;
    size_t size, bytes_room;
};

// Makes room for one more string of `size` bytes.
static bool reserve(import_strings *s, size_t size)
{
    if (!cli_grow(&s->all, &s->room, s->count + 1, sizeof *s->all))
        return false;
    if (size >= s->bytes_room - s->size) {
        const size_t room = (s->size + size) * 2 + 4096;
        char *const bytes = realloc(s->bytes, room);
        if (!bytes) return false;
        s->bytes = bytes;
        s->bytes_room = room;
    }
    return true;
}

import_strings *import_strings_open(import_job *job)
{
    import_strings *const s = calloc(1, sizeof *s);
    if (s) s->job = job;
    return s;
}

bool import_strings_put(import_strings *s, int64_t id, const char *text,
                        size_t size)
{
    bool fresh;
    int64_t *const index = import_map_put(&s->index, id, &fresh);
    if (!index || !reserve(s, size)) return false;
    if (!fresh) import_flaw(s->job, "duplicate_string");
    *index = (int64_t)s->count;
    s->all[s->count++] = (string){ s->size, size, 0, 0 };
    if (size) memcpy(s->bytes + s->size, text, size);
    s->size += size;
    return true;
}

import_strings *import_strings_read(import_job *job, import_db *db,
                                    const char *name, const char *id,
                                    const char *value)
{
    import_strings *const s = import_strings_open(job);
    import_rows rows;
    const char *const columns[] = { id, value };
    if (!s) return NULL;
    import_rows_open(&rows, db, name, columns, 2, 2);
    bool fits = true;
    while (fits && import_rows_next(&rows)) {
        size_t size;
        const char *const text = import_rows_text(&rows, 1, &size);
        if (import_rows_check(&rows, 1, IMPORT_NONE))
            fits = import_strings_put(s, rows.values[0], text, size);
    }
    import_rows_close(&rows);
    if (fits) return s;
    import_strings_free(s);
    return NULL;
}

void import_strings_free(import_strings *s)
{
    if (!s) return;
    cli_map_close(&s->index);
    free(s->all);
    free(s->bytes);
    free(s);
}

ts_text import_strings_text(const import_strings *s, int64_t id)
{
    const int64_t *const index = import_map_get(&s->index, id);
    if (!index) return (ts_text){ "", 0 };
    const string *const found = &s->all[*index];
    return (ts_text){ s->bytes + found->at, found->size };
}

static bool is_collective(import_strings *s, int64_t id)
{
    const int64_t *const index = import_map_get(&s->index, id);
    if (!index) return false;
    string *const found = &s->all[*index];
    if (!found->collective)
        found->collective =
            ts_collective_is_kernel(s->bytes + found->at, found->size) ? 2 : 1;
    return found->collective == 2;
}

void import_strings_kernel(import_strings *s, int64_t id,
                           import_operation *operation)
{
    const ts_text name = import_strings_text(s, id);
    operation->kind = TS_EVENT_KERNEL;
    if (is_collective(s, id))
        import_kernel(s->job, operation, name.text, name.size);
    else
        import_gpu(s->job, operation);
}

uint32_t import_strings_name(import_strings *s, int64_t id)
{
    const int64_t *const index = import_map_get(&s->index, id);
    if (!index) return 0;
    string *const found = &s->all[*index];
    if (!found->name)
        found->name = import_name(s->job, s->bytes + found->at, found->size);
    return found->name;
}

bool import_number(const char *text, size_t size, int64_t *value)
{
    const bool minus = size && *text == '-';
    uint64_t number = 0;
    if (size == minus || size > 19) return false;
    for (size_t i = minus; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = number * 10 + (uint64_t)(text[i] - '0');
    }
    if (number > INT64_MAX) return false;
    *value = minus ? -(int64_t)number : (int64_t)number;
    return true;
}
