/*
    records.c - reading JSON that holds records
*/
#include "tools/import/records.h"

/* ---- Values ------------------------------------------------------------- */

bool import_text_int(ts_text text, int64_t *number)
{
    char *end, copy[24];
    if (!text.size || text.size >= sizeof copy || text.text[0] == ' ')
        return false;
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    const bool is_hex = copy[0] == '0' && (copy[1] | 0x20) == 'x';
    errno = 0;
    *number = copy[0] == '-' ? (int64_t)strtoll(copy, &end, 10)
                             : (int64_t)strtoull(copy, &end, is_hex ? 16 : 10);
    return !*end && !errno;
}

bool import_text_double(ts_text text, double *number)
{
    char *end, copy[64];
    if (!text.size || text.size >= sizeof copy) return false;
    memcpy(copy, text.text, text.size);
    copy[text.size] = 0;
    *number = strtod(copy, &end);
    return !*end && *number - *number == 0; // neither NaN nor infinite
}

ts_text import_record_key(const import_record *r, size_t member)
{
    const import_member *const m = &r->members[member];
    return (ts_text){ r->bytes + m->key, m->key_size };
}

ts_text import_record_value(const import_record *r, size_t member)
{
    const import_member *const m = &r->members[member];
    return (ts_text){ r->bytes + m->text, m->text_size };
}

ts_text import_record_text(const import_record *r, const char *key)
{
    const size_t size = strlen(key);
    for (size_t i = 0; i < r->count; i++)
        if (r->members[i].key_size == size &&
            !memcmp(r->bytes + r->members[i].key, key, size))
            return import_record_value(r, i);
    return (ts_text){ "", 0 };
}

bool import_record_int(const import_record *r, const char *key, int64_t *number)
{
    return import_text_int(import_record_text(r, key), number);
}

#ifdef TRACESMITH_YAJL
#include <yajl/yajl_parse.h>

enum {
    PIECE = 256 << 10,  // bytes read at a time
    PATH = 1024,        // bytes of the keys around a value; the rest is dropped
    DEPTH = 64,         // levels of nesting
    BYTES = 4 << 20,    // of a record
    MEMBERS = 64 << 10, // of a record
    SILENT = 16 << 20   // bytes without a value or key: not JSON
};

typedef struct level {
    bool is_list;
    uint32_t index;   // of the next element
    size_t path_size; // of the keys around it
} level;

typedef struct parser {
    import_job *job;
    const import_records_desc *desc;
    yajl_handle yajl;
    level levels[DEPTH];
    size_t depth, lists; // lists: how many of the levels are
    size_t elements;     // of the outermost list, so far
    FILE *in;            // NULL: the source
    char path[PATH];
    size_t path_size;
    size_t record_at, record_depth; // of the open record: where its keys begin
                                    // in `path`, and its level; 0: none
    import_record record;
    char *bytes;
    size_t size, room;
    import_member *members;
    size_t member_room;
    bool is_full, out_of_memory, is_done;
    uint64_t fed, last_fed; // bytes passed in total; until the last value
} parser;

/* ---- Where -------------------------------------------------------------- */

static void add_to_path(parser *p, const char *text, size_t size)
{
    if (size > PATH - p->path_size) size = PATH - p->path_size;
    memcpy(p->path + p->path_size, text, size);
    p->path_size += size;
}

// Sets the path of the next value, which is below the open level.
static void enter(parser *p, const char *key, size_t size)
{
    p->path_size = p->levels[p->depth - 1].path_size;
    const size_t from = p->record_depth ? p->record_at : 0;
    if (p->path_size > from) add_to_path(p, p->record_depth ? "." : "/", 1);
    add_to_path(p, key, size);
}

// Elements of arrays have keys within records only.
static void enter_element(parser *p)
{
    char text[16];
    if (!p->depth || !p->levels[p->depth - 1].is_list) return;
    level *const list = &p->levels[p->depth - 1];
    const int size = snprintf(text, sizeof text, "%u", list->index++);
    if (p->record_depth)
        enter(p, text, (size_t)size);
    else
        p->path_size = list->path_size;
}

// Returns whether the path matches a pattern.
static bool matches(const parser *p, const char *place)
{
    const size_t size = strlen(place);
    if (!size || place[size - 1] != '*')
        return p->path_size == size && !memcmp(p->path, place, size);
    return p->path_size >= size && !memcmp(p->path, place, size - 1) &&
           !memchr(p->path + size - 1, '/', p->path_size - size + 1);
}

/* ---- A record ----------------------------------------------------------- */

static void begin_record(parser *p)
{
    const char *const *const places = p->desc->places;
    size_t place = 0;
    while (places[place] && !matches(p, places[place]))
        place++;
    if (!places[place]) return;
    p->record.place = place;
    p->record.count = 0;
    p->record.element = p->elements ? p->elements - 1 : 0;
    p->record_depth = p->depth + 1;
    p->record_at = p->path_size;
    p->size = 0;
    p->is_full = false;
}

static void end_record(parser *p)
{
    import_record *const r = &p->record;
    size_t from = p->record_at;
    while (from && p->path[from - 1] != '/')
        from--;
    r->name = (ts_text){ p->path + from, p->record_at - from };
    r->bytes = p->bytes ? p->bytes : "";
    r->members = p->members;
    if (p->is_full && !p->desc->is_extra) import_flaw(p->job, "long_row");
    p->record_depth = 0;
    p->desc->take(p->desc->user, r);
}

static size_t keep(parser *p, const void *bytes, size_t size)
{
    const size_t at = p->size;
    if (size) memcpy(p->bytes + at, bytes, size);
    p->size += size;
    return at;
}

static bool add_member(parser *p, const void *text, size_t size, bool is_text)
{
    const size_t key_size = p->path_size - p->record_at;
    p->is_full |= p->record.count == MEMBERS || size > BYTES ||
                  p->size + size + key_size > BYTES;
    if (p->is_full) return true;
    p->out_of_memory =
        !cli_grow(&p->bytes, &p->room, p->size + size + key_size + 1, 1) ||
        !cli_grow(&p->members, &p->member_room, p->record.count + 1,
                  sizeof *p->members);
    if (p->out_of_memory) return false;
    import_member *const m = &p->members[p->record.count++];
    m->key = keep(p, p->path + p->record_at, key_size);
    m->key_size = key_size;
    m->text = keep(p, text, size);
    m->text_size = size;
    m->is_text = is_text;
    return true;
}

/* ---- What yajl finds ---------------------------------------------------- */

static int value(parser *p, const void *text, size_t size, bool is_text)
{
    p->last_fed = p->fed;
    enter_element(p);
    return !p->record_depth || add_member(p, text, size, is_text);
}

static int on_null(void *user)
{
    return value(user, "", 0, false);
}

static int on_boolean(void *user, int is)
{
    return is ? value(user, "true", 4, false) : value(user, "false", 5, false);
}

static int on_number(void *user, const char *text, size_t size)
{
    return value(user, text, size, false);
}

static int on_string(void *user, const unsigned char *text, size_t size)
{
    return value(user, text, size, true);
}

static int on_key(void *user, const unsigned char *key, size_t size)
{
    parser *const p = user;
    p->last_fed = p->fed;
    enter(p, (const char *)key, size);
    return 1;
}

static int begin(parser *p, bool is_list)
{
    p->last_fed = p->fed;
    enter_element(p);
    if (p->depth == DEPTH) return 0;
    const bool is_element = p->depth && p->levels[p->depth - 1].is_list;
    p->elements += p->lists == 1 && is_element;
    p->lists += is_list;
    if (!is_list && !p->record_depth) begin_record(p);
    p->levels[p->depth++] =
        (level){ .is_list = is_list, .path_size = p->path_size };
    return 1;
}

static int end(parser *p)
{
    if (p->depth == p->record_depth) end_record(p);
    p->path_size = p->levels[--p->depth].path_size;
    p->lists -= p->levels[p->depth].is_list;
    p->is_done = !p->depth;
    return 1;
}

static int on_begin_map(void *user)
{
    return begin(user, false);
}

static int on_begin_list(void *user)
{
    return begin(user, true);
}

static int on_end(void *user)
{
    return end(user);
}

/* ---- The file ----------------------------------------------------------- */

static size_t read_piece(parser *p, void *piece)
{
    return p->in ? fread(piece, 1, PIECE, p->in)
                 : import_source_read(p->job->source, piece, PIECE);
}

// Feeds the parser; false where the text is damaged.
static bool parse(parser *p)
{
    unsigned char *const piece = malloc(PIECE);
    bool good = piece != NULL;
    size_t size;
    p->out_of_memory |= !piece;
    while (good && !p->is_done && (size = read_piece(p, piece))) {
        p->fed += size;
        good = yajl_parse(p->yajl, piece, size) == yajl_status_ok &&
               p->fed - p->last_fed <= SILENT;
        import_progress(p->job);
    }
    free(piece);
    return good || p->is_done;
}

bool import_records_read(import_job *job, const import_records_desc *desc)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_string,
        .yajl_start_map = on_begin_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_begin_list,
        .yajl_end_array = on_end,
    };
    parser *const p = calloc(1, sizeof *p);
    if (!p) return import_out_of_memory(job);
    p->job = job;
    p->desc = desc;
    p->yajl = yajl_alloc(&callbacks, NULL, p);
    if (desc->path) p->in = fopen(desc->path, "rbe");
    bool good = p->yajl && (!desc->path || p->in);
    if (good) {
        yajl_config(p->yajl, yajl_dont_validate_strings, 1);
        yajl_config(p->yajl, yajl_allow_trailing_garbage, 1);
        const bool is_good = parse(p);
        if (!is_good && !desc->is_extra)
            import_bad(job, "broken_json", IMPORT_NONE);
        good = !p->out_of_memory;
        job->is_cut = good && !p->is_done;
        yajl_free(p->yajl);
    }
    if (p->in) fclose(p->in);
    free(p->bytes);
    free(p->members);
    free(p);
    return good ? good : import_out_of_memory(job);
}

#else

bool import_records_read(import_job *job, const import_records_desc *desc)
{
    (void)desc;
    return import_fail(job, "%s", IMPORT_JSON_MISSING); // never called
}

#endif // TRACESMITH_YAJL
