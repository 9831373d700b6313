/*
    pairs.c - pairs of rows for the begin and the end of a zone or span

    Rows of the phases B and E are paired like brackets on each thread; b and e,
    S and F by category and id, on any thread. A row of phase B is kept until
    its end; the two become one row of phase X. A bad one is kept, too, so that
    its end ends no other one.
*/
#include "tools/import/kineto/kineto.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    DEPTH = 4096,    // open rows on a thread
    ROOM = 64 << 20, // bytes for all open rows
    NUMBER = 40      // characters of a duration
};

// An open row. For a zone, a copy of its row, followed by its texts.
typedef struct open_row {
    struct open_row *below; // the previous open row with the same key
    struct open_row *previous, *next;
    struct open_row *ended, *ended_last; // rows within it, which wait for it
    int64_t start_ns; // IMPORT_NONE: a bad row, kept for its end
    uint64_t lost;    // rows within it that had no room, for their ends
    uint64_t span;    // span id; 0: a row of phase B
    uint32_t thread, depth;
    size_t size;
    kineto_row row;
    kineto_arg args[KINETO_ARGS];
    char texts[];
} open_row;

struct kineto_pairs {
    cli_map tops; // by key: open_row *
    open_row *first, *last;
    size_t size;
    uint64_t spans;
};

/* ---- Copies ------------------------------------------------------------- */

static size_t text_size(const kineto_row *row)
{
    size_t size = 0;
    for (size_t i = 0; i < KINETO_FIELDS; i++)
        size += row->fields[i].size;
    for (size_t i = 0; i < row->arg_count; i++)
        size += row->args[i].key_size + row->args[i].value.size;
    return size;
}

static const char *keep(char **to, const char *text, size_t size)
{
    if (size) memcpy(*to, text, size);
    *to += size;
    return *to - size;
}

static open_row *copy(const kineto_row *row)
{
    const size_t size = sizeof(open_row) + text_size(row);
    open_row *const o = malloc(size);
    if (!o) return NULL;
    char *to = o->texts;
    memset(o, 0, sizeof *o);
    o->size = size;
    o->row = *row;
    o->row.args = o->args;
    for (size_t i = 0; i < KINETO_FIELDS; i++)
        o->row.fields[i].text =
            keep(&to, row->fields[i].text, row->fields[i].size);
    for (size_t i = 0; i < row->arg_count; i++) {
        const kineto_arg *const from = &row->args[i];
        o->args[i] = *from;
        o->args[i].key = keep(&to, from->key, from->key_size);
        o->args[i].value.text = keep(&to, from->value.text, from->value.size);
    }
    return o;
}

/* ---- What is open ------------------------------------------------------- */

static open_row *top(const kineto_pairs *p, int64_t key)
{
    const int64_t *const at = import_map_get(&p->tops, key);
    return at ? (open_row *)(intptr_t)*at : NULL;
}

// Pushes an open row; false if there is no room: then it is ignored.
static bool push(kineto_pairs *p, int64_t key, open_row *o)
{
    int64_t *const at = o ? import_map_put(&p->tops, key, NULL) : NULL;
    if (!at) return false;
    o->below = (open_row *)(intptr_t)*at;
    o->depth = o->below ? o->below->depth + 1 : 0;
    if (o->depth >= DEPTH || p->size + o->size > ROOM) return false;
    *at = (int64_t)(intptr_t)o;
    o->previous = p->last;
    *(p->last ? &p->last->next : &p->first) = o;
    p->last = o;
    p->size += o->size;
    return true;
}

static void pop(kineto_pairs *p, int64_t key, open_row *o)
{
    *import_map_put(&p->tops, key, NULL) = (int64_t)(intptr_t)o->below;
    *(o->previous ? &o->previous->next : &p->first) = o->next;
    *(o->next ? &o->next->previous : &p->last) = o->previous;
    p->size -= o->size;
    free(o);
}

static kineto_pairs *pairs(kineto *k)
{
    if (!k->pairs) k->pairs = calloc(1, sizeof *k->pairs);
    return k->pairs;
}

static void begin(kineto *k, int64_t key, int64_t start_ns, uint32_t thread,
                  uint64_t span)
{
    open_row *const outer = top(k->pairs, key);
    open_row *const o = outer && outer->lost ? NULL : copy(k->row);
    if (o) {
        o->start_ns = start_ns;
        o->thread = thread;
        o->span = span;
    }
    if (push(k->pairs, key, o)) return;
    if (start_ns != IMPORT_NONE) import_bad(k->job, "too_much_begun", start_ns);
    if (outer) outer->lost++;
    free(o);
}

/* ---- B, E --------------------------------------------------------------- */

// Formats a duration in the unit of the file's times (see kineto_time_of).
static kineto_value duration(const open_row *o, int64_t end_ns, char *text)
{
    int64_t ns = 0;
    const kineto_value ts = o->row.fields[KINETO_TS];
    const char *const point = memchr(ts.text, '.', ts.size);
    const size_t digits = point ? (size_t)(point - ts.text) : ts.size;
    const bool reversed = end_ns < o->start_ns;
    if (__builtin_sub_overflow(end_ns, o->start_ns, &ns)) ns = INT64_MAX;
    if (reversed) ns = -1; // counted as reversed, whatever the amount
    const int size =
        digits >= KINETO_NS_DIGITS
            ? snprintf(text, NUMBER, "%" PRId64, ns)
            : snprintf(text, NUMBER, "%s%" PRId64 ".%03d", reversed ? "-" : "",
                       reversed ? 0 : ns / 1000,
                       reversed ? 1 : (int)(ns % 1000));
    return (kineto_value){ KINETO_NUMBER, text, (size_t)size };
}

// Adds arguments of the end that the begin lacks.
static void add_arguments(kineto *k, open_row *o)
{
    for (size_t i = 0; i < k->row->arg_count; i++) {
        if (o->row.arg_count == KINETO_ARGS) {
            import_unowned(k->job, "arguments beyond the 64th", 25);
            return;
        }
        o->args[o->row.arg_count++] = k->row->args[i];
    }
}

// Keeps a copy of a row that ended until the one around it ends, if both began
// at once: of zones of the same time the outermost must come first.
static bool hold(kineto_pairs *p, const open_row *o)
{
    open_row *const outer = o->below;
    if (!outer || outer->start_ns != o->start_ns) return false;
    open_row *const held = p->size + o->size <= ROOM ? copy(&o->row) : NULL;
    if (!held) return false;
    p->size += held->size;
    held->next = o->ended;
    *(outer->ended ? &outer->ended_last->next : &outer->ended) = held;
    outer->ended_last = o->ended ? o->ended_last : held;
    return true;
}

static void take_held(kineto *k, open_row *o)
{
    for (open_row *held = o->ended, *next; held; held = next) {
        next = held->next;
        k->row = &held->row;
        kineto_take_complete(k);
        k->pairs->size -= held->size;
        free(held);
    }
}

void kineto_take_begin(kineto *k)
{
    kineto_time time;
    if (!pairs(k)) return;
    if (!kineto_time_of(k, &time, false)) time.start_ns = IMPORT_NONE;
    const uint32_t thread = kineto_thread(k);
    begin(k, thread, time.start_ns, thread, 0);
}

// Returns whether an end is that of a row that had no room within `outer`.
static bool was_lost(open_row *outer)
{
    if (!outer->lost) return false;
    outer->lost--;
    return true;
}

static void finish(kineto *k, open_row *o, int64_t end_ns)
{
    char text[NUMBER];
    add_arguments(k, o);
    o->row.fields[KINETO_DUR] = duration(o, end_ns, text);
    if (hold(k->pairs, o)) return;
    k->row = &o->row;
    kineto_take_complete(k);
    take_held(k, o);
}

void kineto_take_end(kineto *k)
{
    kineto_time time;
    if (!pairs(k)) return;
    const bool is_timed = kineto_time_of(k, &time, false);
    const uint32_t thread = kineto_thread(k);
    open_row *const o = top(k->pairs, thread);
    if (!o) {
        if (is_timed) import_bad(k->job, "end_without_begin", time.start_ns);
        return;
    }
    if (was_lost(o)) return;
    if (is_timed && o->start_ns != IMPORT_NONE)
        finish(k, o, time.start_ns);
    else
        take_held(k, o);
    pop(k->pairs, thread, o);
}

/* ---- b, e, S, F --------------------------------------------------------- */

static uint64_t add_hash(uint64_t hash, kineto_value value)
{
    return value.size ? XXH3_64bits_withSeed(value.text, value.size, hash)
                      : hash;
}

/*
    A key that differs from all track numbers. Ids are numbered within their
    scope or category, local ones within their process; in the older phases S
    and F also within their name.
*/
static int64_t span_key(const kineto *k)
{
    static const char local[] = "{\"local\":";
    const kineto_value *const fields = k->row->fields;
    const kineto_value id2 = fields[KINETO_ID2];
    const char phase = fields[KINETO_PH].text[0];
    const bool is_local = id2.size > sizeof local - 1 &&
                          !memcmp(id2.text, local, sizeof local - 1);
    const bool is_old = strchr("STpF", phase) != NULL;
    uint64_t hash = add_hash(0, fields[KINETO_CAT]);
    hash = add_hash(hash, fields[KINETO_SCOPE]);
    hash = add_hash(hash, fields[KINETO_ID]);
    hash = add_hash(hash, id2);
    if (is_local) hash = add_hash(hash, fields[KINETO_PID]);
    if (is_old) hash = add_hash(hash, fields[KINETO_NAME]);
    return (int64_t)(hash | UINT64_C(1) << 63);
}

static bool span_time(kineto *k, kineto_time *time)
{
    const kineto_value *const fields = k->row->fields;
    if (!kineto_time_of(k, time, false) || !pairs(k)) return false;
    if (fields[KINETO_ID].size || fields[KINETO_ID2].size) return true;
    import_bad(k->job, "no_id", time->start_ns);
    return false;
}

void kineto_take_span_begin(kineto *k)
{
    kineto_time time;
    if (!span_time(k, &time)) return;
    const kineto_value name = k->row->fields[KINETO_NAME];
    const bool named = name.type == KINETO_TEXT;
    const uint32_t number =
        kineto_number_of(k, named ? name.text : "", named ? name.size : 0);
    const ts_writer_value values[] = {
        { TS_COLUMN_ID, ++k->pairs->spans },
        { TS_COLUMN_PHASE, TS_PHASE_START },
        { TS_COLUMN_SITE, import_site(k->job, number, kineto_category(k)) }
    };
    static const char *const none[] = { NULL };
    const uint32_t thread = kineto_thread(k);
    import_event(k->job, TS_EVENT_SPAN, thread, time.start_ns, 0, values, 3);
    kineto_no_place_but(k, none);
    begin(k, span_key(k), time.start_ns, thread, k->pairs->spans);
}

void kineto_take_span_end(kineto *k)
{
    kineto_time time;
    if (!span_time(k, &time)) return;
    const int64_t key = span_key(k);
    open_row *const o = top(k->pairs, key);
    if (!o) {
        import_bad(k->job, "end_without_begin", time.start_ns);
        return;
    }
    if (was_lost(o)) return;
    static const char *const none[] = { NULL };
    const ts_writer_value values[] = { { TS_COLUMN_ID, o->span },
                                       { TS_COLUMN_PHASE, TS_PHASE_END } };
    import_event(k->job, TS_EVENT_SPAN, kineto_thread(k), time.start_ns, 0,
                 values, 2);
    kineto_no_place_but(k, none);
    pop(k->pairs, key, o);
}

void kineto_take_span_step(kineto *k)
{
    kineto_time time;
    if (!span_time(k, &time)) return;
    if (!top(k->pairs, span_key(k))) import_flaw(k->job, "step_without_begin");
    kineto_take_instant(k);
}

/* ---- What never ended --------------------------------------------------- */

// Writes a zone without an end as open; a device's row without an end is no
// operation.
static void write_open(kineto *k, open_row *o)
{
    k->row = &o->row;
    if (!kineto_is_zone(k)) {
        import_bad(k->job, "begin_without_end", o->start_ns);
        return;
    }
    const kineto_value name = o->row.fields[KINETO_NAME];
    const bool named = name.type == KINETO_TEXT;
    const uint32_t number =
        kineto_number_of(k, named ? name.text : "", named ? name.size : 0);
    const ts_writer_value values[] = {
        { TS_COLUMN_SITE, import_site(k->job, number, kineto_category(k)) },
        { TS_COLUMN_DEPTH, o->depth }
    };
    import_event(k->job, TS_EVENT_ZONE_OPEN, o->thread, o->start_ns, 0, values,
                 2);
}

void kineto_pairs_end(kineto *k)
{
    for (open_row *o = k->pairs ? k->pairs->first : NULL, *next; o; o = next) {
        next = o->next;
        if (!o->span && o->start_ns != IMPORT_NONE) write_open(k, o);
        take_held(k, o);
        free(o);
    }
    if (k->pairs) cli_map_close(&k->pairs->tops);
    free(k->pairs);
    k->pairs = NULL;
}
