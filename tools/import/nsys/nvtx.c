/*
    nvtx.c - Nsight Systems: NVTX ranges and marks

    Push/pop ranges become zones; start/end ranges become spans, because they
    may overlap and end on another thread. Names of categories and domains are
    in rows of their own, which are read first.
*/
#include "tools/import/nsys/nsys.h"

enum {
    START,
    END,
    TYPE,
    RANGE,
    CATEGORY,
    COLOR,
    TEXT,
    THREAD,
    END_THREAD,
    TEXT_ID,
    DOMAIN_ID,
    UINT64,
    INT64,
    UINT32,
    INT32,
    DOUBLE,
    FLOAT,
    JSON,
    JSON_ID,
    BINARY,
    COLUMNS
};
static const char *const columns[COLUMNS] = {
    "start",       "end",         "eventType",  "rangeId",      "category",
    "color",       "text",        "globalTid",  "endGlobalTid", "textId",
    "domainId",    "uint64Value", "int64Value", "uint32Value",  "int32Value",
    "doubleValue", "floatValue",  "jsonText",   "jsonTextId",   "binaryData"
};
static const uint64_t texts =
    1u << TEXT | 1u << DOUBLE | 1u << FLOAT | 1u << JSON | 1u << BINARY;

enum { // eventType
    NAME_CATEGORY = 33,
    MARK = 34,
    NAME_THREAD = 39,
    PUSH_POP = 59,
    START_END = 60,
    DOMAIN_CREATE = 75,
    DOMAIN_DESTROY = 76
};

typedef struct nvtx_open { // a range that was pushed but not popped
    int64_t start_ns;
    uint32_t thread, site;
} nvtx_open;

typedef struct nvtx {
    nsys *n;
    cli_map domains;    // by process and domain: name
    cli_map nccl;       // domains named NCCL
    cli_map categories; // by process, domain and category: name
    nvtx_open *open;
    size_t open_count, open_room;
    uint64_t spans;                 // ids given to ranges without one
    nsys_value values[NSYS_VALUES]; // values of the row's binary payload
    size_t value_count;
} nvtx;

static ts_text text_of(nvtx *x, import_rows *rows)
{
    ts_text text;
    text.text = import_rows_text(rows, TEXT, &text.size);
    if (!text.text)
        text = import_strings_text(x->n->strings, rows->values[TEXT_ID]);
    return text;
}

static int64_t domain_key(nvtx *x, const int64_t *v)
{
    const int64_t domain = v[DOMAIN_ID] == IMPORT_NONE ? 0 : v[DOMAIN_ID];
    return (int64_t)((uint64_t)nsys_process(x->n, v[THREAD]) << 32 |
                     (uint32_t)domain);
}

static int64_t category_key(nvtx *x, const int64_t *v)
{
    const uint64_t domain = (uint64_t)domain_key(x, v);
    return (int64_t)((domain << 24) + (uint64_t)v[CATEGORY]);
}

/* ---- Names -------------------------------------------------------------- */

static bool is_naming(int64_t type)
{
    return type == NAME_CATEGORY || type == NAME_THREAD ||
           type == DOMAIN_CREATE || type == DOMAIN_DESTROY;
}

static void take_name(nvtx *x, import_rows *rows)
{
    const int64_t *const v = rows->values;
    const ts_text text = text_of(x, rows);
    int64_t *name = NULL;
    if (v[TYPE] == DOMAIN_CREATE)
        name = import_map_put(&x->domains, domain_key(x, v), NULL);
    if (name && text.size == 4 && !memcmp(text.text, "NCCL", 4))
        import_map_put(&x->nccl, domain_key(x, v), NULL);
    if (v[TYPE] == NAME_CATEGORY)
        name = import_map_put(&x->categories, category_key(x, v), NULL);
    if (name && text.size) *name = import_name(x->n->job, text.text, text.size);
    if (v[TYPE] != NAME_THREAD || v[THREAD] == IMPORT_NONE || !text.size)
        return;
    const uint32_t thread = nsys_thread(x->n, v[THREAD], IMPORT_NONE);
    import_track_name(x->n->job, thread, text.text, text.size);
}

static void read_names(nvtx *x)
{
    const char *names[COLUMNS] = { NULL };
    import_rows rows;
    static const size_t needed[] = { TYPE,   CATEGORY, TEXT,
                                     THREAD, TEXT_ID,  DOMAIN_ID };
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++)
        names[needed[i]] = columns[needed[i]];
    import_rows_open(&rows, x->n->db, "NVTX_EVENTS", names, COLUMNS, texts);
    rows.again = true;
    while (import_rows_next(&rows))
        if (is_naming(rows.values[TYPE])) take_name(x, &rows);
}

// Returns the name of the category, else of the domain; 0: neither.
static uint32_t category_of(nvtx *x, const int64_t *v)
{
    const int64_t *name = NULL;
    if (v[CATEGORY] != IMPORT_NONE && x->categories.count)
        name = import_map_get(&x->categories, category_key(x, v));
    if (!name && x->domains.count)
        name = import_map_get(&x->domains, domain_key(x, v));
    return name ? (uint32_t)*name : 0;
}

/* ---- What a range carries ----------------------------------------------- */

static void take_payload(nvtx *x, import_rows *rows, uint32_t thread,
                         int64_t start_ns, uint32_t site)
{
    import_job *const job = x->n->job;
    double real;
    ts_text text;
    const uint64_t some = rows->has >> UINT64;
    if (!some) return;
    const uint32_t name = nsys_name(x->n, "payload");
    for (size_t i = UINT64; i <= INT32; i++)
        if (rows->values[i] != IMPORT_NONE)
            import_zone_int(job, thread, start_ns, site, name, rows->values[i]);
    for (size_t i = DOUBLE; i <= FLOAT; i++)
        if (import_rows_real(rows, i, &real))
            import_zone_double(job, thread, start_ns, site, name, real);
    text.text = import_rows_text(rows, JSON, &text.size);
    if (!text.size)
        text = import_strings_text(x->n->strings, rows->values[JSON_ID]);
    if (text.size)
        import_zone_text(job, thread, start_ns, site, name, text.text,
                         text.size);
    for (size_t i = 0; i < x->value_count; i++)
        if (x->values[i].is_real)
            import_zone_double(job, thread, start_ns, site, x->values[i].name,
                               x->values[i].real);
        else
            import_zone_int(job, thread, start_ns, site, x->values[i].name,
                            (int64_t)x->values[i].bits);
}

// Decodes a row's binary payload, if it has one.
static void read_binary(nvtx *x, import_rows *rows)
{
    size_t size;
    const uint8_t *const bytes = import_rows_bytes(rows, BINARY, &size);
    x->value_count = size ? nsys_decode(x->n, bytes, size, x->values) : 0;
    if (size && !x->value_count)
        import_unowned(x->n->job, "NVTX_EVENTS: unknown binary payloads", 36);
}

// Returns the digits after "KEY": in a JSON object; size 0: none.
static ts_text json_digits(ts_text json, const char *key)
{
    const size_t size = strlen(key);
    for (size_t at = 0; at + size + 3 < json.size; at++) {
        if (json.text[at] != '"' || json.text[at + size + 1] != '"' ||
            memcmp(json.text + at + 1, key, size))
            continue;
        for (at += size + 2; at < json.size && strchr(": \"", json.text[at]);)
            at++;
        ts_text digits = { json.text + at, 0 };
        while (at + digits.size < json.size &&
               digits.text[digits.size] >= '0' &&
               digits.text[digits.size] <= '9')
            digits.size++;
        return digits;
    }
    return (ts_text){ "", 0 };
}

// Sets a fact from a value. A communicator is identified by its decimal digits,
// as in JSON payloads.
static void take_fact(const nsys_value *value, import_facts *facts)
{
    const cli_text digits = cli_format("%" PRIu64, value->bits);
    if (value->is_real) return;
    if (value->meaning == NSYS_COMMUNICATOR && value->bits)
        facts->communicator = import_communicator(digits.s, strlen(digits.s));
    else if (value->meaning == NSYS_MESSAGE_SIZE)
        facts->size = value->bits;
    else if (value->meaning == NSYS_PEER && value->bits < INT32_MAX)
        facts->peer = (uint32_t)value->bits + 1;
}

/*
    Reads the facts of a collective. NCCL has ranges for its calls in a domain
    of its own, with communicator, size and peer in a JSON or binary payload.
    False if the row is no collective of NCCL.
*/
static bool nccl_facts(nvtx *x, import_rows *rows, ts_text name,
                       import_facts *facts)
{
    const char *const kind =
        x->nccl.count && import_map_get(&x->nccl, domain_key(x, rows->values))
            ? ts_collective_kind(name.text, name.size)
            : NULL;
    *facts = (import_facts){ 0 };
    if (!kind) return false;
    ts_text json;
    json.text = import_rows_text(rows, JSON, &json.size);
    if (!json.text)
        json = import_strings_text(x->n->strings, rows->values[JSON_ID]);
    const ts_text group = json_digits(json, "NCCL communicator ID");
    const ts_text bytes = json_digits(json, "Message size [bytes]");
    const ts_text peer = json_digits(json, "Peer rank");
    int64_t number;
    facts->name = nsys_name(x->n, kind);
    if (group.size)
        facts->communicator = import_communicator(group.text, group.size);
    if (import_number(bytes.text, bytes.size, &number))
        facts->size = (uint64_t)number;
    if (import_number(peer.text, peer.size, &number) && number < UINT32_MAX)
        facts->peer = (uint32_t)number + 1;
    for (size_t i = 0; i < x->value_count; i++)
        take_fact(&x->values[i], facts);
    return true;
}

/*
    PyTorch's emit_nvtx puts the operator and its arguments into one text:
    "aten::mm, seq = 5, op_id = 7, sizes = [[1, 2]], input_op_ids = [(3,0)]".
    Only the operator becomes the name of the zone, so that all its calls have
    one name; the rest becomes arguments.
*/
enum { TORCH_FACTS = 4 };
typedef struct torch_facts {
    ts_text values[TORCH_FACTS]; // NULL: none
} torch_facts;

static const char *const torch_keys[TORCH_FACTS] = { "seq", "op_id", "sizes",
                                                     "input_op_ids" };

// Returns the size of ", KEY = " if `text` begins with one, and which; else 0.
static size_t torch_key(ts_text text, size_t *key)
{
    for (size_t i = 0; i < TORCH_FACTS; i++) {
        const size_t size = strlen(torch_keys[i]);
        if (text.size < size + 5 || memcmp(text.text, ", ", 2) ||
            memcmp(text.text + 2, torch_keys[i], size) ||
            memcmp(text.text + 2 + size, " = ", 3))
            continue;
        *key = i;
        return size + 5;
    }
    return 0;
}

// Finds the facts; returns the size of the name.
static size_t split_torch(ts_text text, torch_facts *facts)
{
    size_t name_size = text.size;
    ts_text *last = NULL;
    *facts = (torch_facts){ 0 };
    for (size_t at = 0, key, size; at < text.size; at++) {
        if (text.text[at] != ',') continue;
        size = torch_key((ts_text){ text.text + at, text.size - at }, &key);
        if (!size || facts->values[key].text) continue;
        if (!last) name_size = at;
        if (last) last->size = (size_t)(text.text + at - last->text);
        last = &facts->values[key];
        *last = (ts_text){ text.text + at + size, text.size - at - size };
        at += size - 1;
    }
    return name_size;
}

static void take_torch(nvtx *x, const torch_facts *facts, uint32_t thread,
                       int64_t start_ns, uint32_t site)
{
    for (size_t i = 0; i < TORCH_FACTS; i++) {
        const ts_text value = facts->values[i];
        int64_t number;
        if (!value.text) continue;
        const uint32_t name = nsys_name(x->n, torch_keys[i]);
        if (import_number(value.text, value.size, &number))
            import_zone_int(x->n->job, thread, start_ns, site, name, number);
        else
            import_zone_text(x->n->job, thread, start_ns, site, name,
                             value.text, value.size);
    }
}

/* ---- Ranges ------------------------------------------------------------- */

static void take_open(nvtx *x, const nvtx_open *range)
{
    if (x->open_count == x->open_room) {
        const size_t room = x->open_room * 2 + 16;
        nvtx_open *const more = realloc(x->open, room * sizeof *more);
        x->n->out_of_memory |= !more;
        if (!more) return;
        x->open = more;
        x->open_room = room;
    }
    x->open[x->open_count++] = *range;
}

static int compare_open(const void *one, const void *two)
{
    const nvtx_open *const a = one, *const b = two;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

// Writes the ranges that are open at the end of the trace, which are nested.
static void write_open(nvtx *x)
{
    uint32_t depth = 0;
    if (x->open_count)
        qsort(x->open, x->open_count, sizeof *x->open, compare_open);
    for (size_t i = 0; i < x->open_count; i++) {
        const nvtx_open *const range = &x->open[i];
        depth = i && range[-1].thread == range->thread ? depth + 1 : 0;
        const ts_writer_value values[] = { { TS_COLUMN_SITE, range->site },
                                           { TS_COLUMN_DEPTH, depth } };
        import_event(x->n->job, TS_EVENT_ZONE_OPEN, range->thread,
                     range->start_ns, 0, values, 2);
    }
}

static uint32_t site_of(nvtx *x, import_rows *rows, ts_text name)
{
    const int64_t color = rows->values[COLOR]; // ARGB
    const uint32_t number = import_name(x->n->job, name.text, name.size);
    return import_colored_site(x->n->job, number, category_of(x, rows->values),
                               color == IMPORT_NONE ? 0 : (uint32_t)color);
}

static void take_zone(nvtx *x, import_rows *rows, ts_text name)
{
    const int64_t *const v = rows->values;
    const bool open = v[END] == IMPORT_NONE && !(rows->wrong >> END & 1);
    int64_t start_ns, ns;
    if (!import_rows_times(rows, START, open ? START : END, &start_ns, &ns))
        return;
    const uint32_t thread = nsys_thread(x->n, v[THREAD], start_ns);
    if (!thread) return;
    torch_facts facts;
    name.size = split_torch(name, &facts);
    const uint32_t site = site_of(x, rows, name);
    const nvtx_open range = { start_ns, thread, site };
    if (open) take_open(x, &range);
    if (open) return;
    import_facts collective;
    const bool known = nccl_facts(x, rows, name, &collective);
    import_zone_at(x->n->job, thread, start_ns, ns, site,
                   known ? &collective : NULL);
    take_torch(x, &facts, thread, start_ns, site);
    take_payload(x, rows, thread, start_ns, site);
}

// Writes a start/end range as a span; without an end it is open.
static void take_span(nvtx *x, import_rows *rows, ts_text name)
{
    const int64_t *const v = rows->values;
    const bool open = v[END] == IMPORT_NONE && !(rows->wrong >> END & 1);
    int64_t start_ns, ns;
    if (!import_rows_times(rows, START, open ? START : END, &start_ns, &ns))
        return;
    const uint32_t thread = nsys_thread(x->n, v[THREAD], start_ns);
    if (!thread) return;
    const uint32_t end_thread =
        v[END_THREAD] == IMPORT_NONE || !v[END_THREAD]
            ? thread
            : nsys_thread(x->n, v[END_THREAD], start_ns);
    // Range ids are reused, so spans get unique ids.
    ts_writer_value values[] = { { TS_COLUMN_ID, ++x->spans },
                                 { TS_COLUMN_PHASE, TS_PHASE_START },
                                 { TS_COLUMN_SITE, site_of(x, rows, name) } };
    import_event(x->n->job, TS_EVENT_SPAN, thread, start_ns, 0, values, 3);
    if (open) return;
    values[1].value = TS_PHASE_END;
    import_event(x->n->job, TS_EVENT_SPAN, end_thread, start_ns + ns, 0, values,
                 2);
}

static void take_mark(nvtx *x, import_rows *rows, ts_text name)
{
    const int64_t *const v = rows->values;
    int64_t start_ns, ns;
    if (!import_rows_times(rows, START, START, &start_ns, &ns)) return;
    const uint32_t thread = nsys_thread(x->n, v[THREAD], start_ns);
    if (!thread) return;
    const ts_writer_value site = { TS_COLUMN_SITE, site_of(x, rows, name) };
    import_event(x->n->job, TS_EVENT_MARK, thread, start_ns, 0, &site, 1);
}

static void take_row(nvtx *x, import_rows *rows)
{
    const int64_t type = rows->values[TYPE];
    if (is_naming(type)) return; // see read_names
    if (type != MARK && type != PUSH_POP && type != START_END) {
        const cli_text what =
            cli_format("NVTX_EVENTS: event type %" PRId64, type);
        if (type == IMPORT_NONE)
            import_bad(x->n->job, "broken_row", IMPORT_NONE);
        else
            import_unowned(x->n->job, what.s, strlen(what.s));
        return;
    }
    const ts_text text = text_of(x, rows);
    read_binary(x, rows);
    if (!text.size) import_flaw(x->n->job, "unknown_name");
    if (rows->wrong & ~(UINT64_C(1) << START | UINT64_C(1) << END))
        import_flaw(x->n->job, "wrong_type");
    if (type == PUSH_POP)
        take_zone(x, rows, text);
    else if (type == START_END)
        take_span(x, rows, text);
    else
        take_mark(x, rows, text);
}

void nsys_read_nvtx(nsys *n)
{
    nvtx x = { .n = n };
    import_rows rows;
    nsys_read_payloads(n);
    read_names(&x);
    import_rows_open(&rows, n->db, "NVTX_EVENTS", columns, COLUMNS, texts);
    while (import_rows_next(&rows))
        take_row(&x, &rows);
    write_open(&x);
    cli_map_close(&x.domains);
    cli_map_close(&x.nccl);
    cli_map_close(&x.categories);
    free(x.open);
}
