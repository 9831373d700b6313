/*
    speedscope.c - speedscope's JSON: sampled and evented profiles

    Each profile becomes a thread. An evented profile opens and closes frames:
    each part of it in which the stack stays the same becomes a sample that
    begins with the part, with its length as the weight. Samples of a unit of
    time follow each other, from the profile's first value on; others have no
    time. Keys come in any order: what a profile holds is kept until its end.

    Source: file-format-spec.ts of speedscope, and files that it wrote.
*/
#include "tools/import/profile/profile.h"
#include "tools/import/records.h"
#include <math.h>

static bool has(const uint8_t *bytes, size_t size, const char *word)
{
    const size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (!memcmp(bytes + i, word, length)) return true;
    return false;
}

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    if (!size || *head != '{') return false;
    if (has(head, size, "speedscope.app/file-format-schema.json")) return true;
    return has(head, size, "\"profiles\"") &&
           (has(head, size, "\"evented\"") || has(head, size, "\"sampled\""));
}

#ifdef TRACESMITH_YAJL
#include <yajl/yajl_parse.h>

enum {
    DEPTH = 16,
    PIECE = 256 << 10, // bytes read at a time
    SILENT = 16 << 20, // bytes without a value or key: not JSON
    SHORT = 32
};
static const double time_most = 4e18; // ns

// What a value is, by the keys around it.
typedef enum place {
    OTHER,
    START,
    TOP,
    SHARED,
    FRAMES,
    FRAME,
    PROFILES,
    PROFILE,
    SAMPLES,
    STACK,
    WEIGHTS,
    EVENTS,
    EVENT
} place;

typedef struct event { // a frame is opened or closed
    profile_weight at;
    uint32_t frame;
    char type; // 'O' or 'C'
    bool has_at, has_frame;
} event;

// A time in the unit of the profile: whole numbers are added up apart, since a
// double holds no ns of a calendar's time.
typedef struct moment {
    int64_t whole;
    double part;
} moment;

typedef struct reader {
    profile p;
    import_job *job;
    place places[DEPTH];  // the last one is the innermost
    size_t depth, deeper; // deeper: levels beyond DEPTH
    uint64_t fed, heard;  // bytes given to yajl, and before its last call
    char key[SHORT];
    uint32_t module, profile_count, frame_count, frame_used;
    profile_function frame; // in progress
    // The profile in progress.
    char type, unit[SHORT];
    char title[256];
    size_t title_size;
    moment start;
    uint32_t *stacks; // of its samples
    profile_weight *weights;
    event *events, event;
    size_t stack_count, weight_count, event_count;
    size_t stack_room, weight_room, event_room;
} reader;

static place here(const reader *r)
{
    return r->deeper ? OTHER : r->places[r->depth - 1];
}

static double real_of(const profile_weight *w)
{
    double real = (double)(int64_t)w->value;
    if (w->type == TS_VALUE_DOUBLE) memcpy(&real, &w->value, sizeof real);
    return real;
}

static void add_time(moment *m, const profile_weight *w)
{
    int64_t sum;
    if (w->type == TS_VALUE_INT &&
        !__builtin_add_overflow(m->whole, (int64_t)w->value, &sum))
        m->whole = sum;
    else
        m->part += real_of(w);
}

/* ---- The profile at its end ---------------------------------------------- */

// Returns the ns of its unit; 0: no unit of time.
static int64_t scale_of(const reader *r)
{
    static const char *const units[] = { "nanoseconds", "microseconds",
                                         "milliseconds", "seconds" };
    int64_t scale = 1;
    for (size_t i = 0; i < 4; i++, scale *= 1000)
        if (!strcmp(r->unit, units[i])) return scale;
    return 0;
}

static bool read_ns(const reader *r, const moment *m, int64_t *ns)
{
    const int64_t scale = scale_of(r);
    const double part = m->part * (double)scale;
    int64_t whole;
    return fabs(part) < time_most &&
           !__builtin_mul_overflow(m->whole, scale, &whole) &&
           !__builtin_add_overflow(whole, (int64_t)llround(part), ns) &&
           fabs((double)*ns) < time_most;
}

static void put(reader *r, uint32_t thread, const moment *when,
                profile_weight weight, uint32_t stack)
{
    int64_t time_ns;
    if (!read_ns(r, when, &time_ns)) {
        import_bad(r->job, "absurd_time", IMPORT_NONE);
        return;
    }
    if (*r->unit && strcmp(r->unit, "none") != 0)
        weight.unit = import_name(r->job, r->unit, strlen(r->unit));
    profile_sample(&r->p, thread, time_ns, &weight, stack);
}

static void put_samples(reader *r, uint32_t thread)
{
    const bool less = r->stack_count < r->weight_count;
    const size_t count = less ? r->stack_count : r->weight_count;
    const size_t rows = less ? r->weight_count : r->stack_count;
    const bool timed = scale_of(r) > 0;
    moment now = r->start;
    r->job->rows += rows;
    for (size_t i = 0; i < count; i++) {
        put(r, thread, &now, r->weights[i], r->stacks[i]);
        if (timed) add_time(&now, &r->weights[i]);
    }
    for (size_t i = count; i < rows; i++)
        import_bad(r->job, less ? "extra_weight" : "no_weight", IMPORT_NONE);
}

// The time between two events, in the way in which they are written.
static profile_weight between(const event *a, const event *b)
{
    int64_t whole;
    const double real = real_of(&b->at) - real_of(&a->at);
    profile_weight w = { .type = TS_VALUE_INT };
    if (a->at.type == TS_VALUE_INT && b->at.type == TS_VALUE_INT &&
        !__builtin_sub_overflow((int64_t)b->at.value, (int64_t)a->at.value,
                                &whole)) {
        w.value = (uint64_t)whole;
        return w;
    }
    w.type = TS_VALUE_DOUBLE;
    memcpy(&w.value, &real, sizeof real);
    return w;
}

typedef struct open_frames { // outermost first
    uint32_t *list;
    size_t count, room;
} open_frames;

static bool take_event(reader *r, open_frames *open, const event *e)
{
    if (e->type == 'O') {
        if (!cli_grow(&open->list, &open->room, open->count + 1,
                      sizeof *open->list))
            r->p.no_memory = true;
        else
            open->list[open->count++] = e->frame;
        return true;
    }
    if (!open->count || open->list[open->count - 1] != e->frame) {
        import_bad(r->job, "unmatched_close", IMPORT_NONE);
        return false;
    }
    open->count--;
    return true;
}

// One frame too many says that the stack is too deep.
static uint32_t stack_of(reader *r, const open_frames *open)
{
    for (size_t i = open->count;
         i-- > 0 && r->p.frame_count <= PROFILE_FRAMES_MOST;) {
        const ts_frame_entry frame = { r->module, 0, open->list[i] + 1 };
        profile_push(&r->p, &frame);
    }
    return profile_stack(&r->p, false);
}

static void put_part(reader *r, uint32_t thread, const event *from,
                     profile_weight length, const open_frames *open)
{
    moment when = { 0 };
    add_time(&when, &from->at);
    put(r, thread, &when, length, stack_of(r, open));
}

static void put_events(reader *r, uint32_t thread)
{
    open_frames open = { 0 };
    const event *last = NULL;
    r->job->rows += r->event_count;
    for (size_t i = 0; i < r->event_count && !r->p.no_memory; i++) {
        const event *const e = &r->events[i];
        profile_weight length = { 0 };
        if (last) length = between(last, e);
        if (real_of(&length) < 0) {
            import_bad(r->job, "reversed_time", IMPORT_NONE);
            continue;
        }
        if (open.count && real_of(&length) > 0)
            put_part(r, thread, last, length, &open);
        take_event(r, &open, e);
        last = e;
    }
    if (open.count) import_flaw(r->job, "open_frame");
    free(open.list);
}

static void begin_profile(reader *r)
{
    r->type = 0;
    r->unit[0] = 0;
    r->title_size = 0;
    r->start = (moment){ 0 };
    r->stack_count = r->weight_count = r->event_count = 0;
}

static void end_profile(reader *r)
{
    const uint32_t thread =
        import_thread(r->job, IMPORT_NONE, ++r->profile_count);
    if (r->title_size)
        import_track_name(r->job, thread, r->title, r->title_size);
    if (r->type == 's')
        put_samples(r, thread);
    else if (r->type == 'e')
        put_events(r, thread);
    else
        import_bad(r->job, "unknown_profile", IMPORT_NONE);
}

/* ---- What yajl finds ----------------------------------------------------- */

// Notes that yajl makes headway.
static reader *heard(void *user)
{
    reader *const r = user;
    r->heard = r->fed;
    return r;
}

static int on_null(void *user)
{
    heard(user);
    return 1;
}

static int on_boolean(void *user, int value)
{
    (void)value;
    return on_null(user);
}

static bool is_key(const reader *r, const char *key)
{
    return !strcmp(r->key, key);
}

static place place_below(const reader *r, bool list)
{
    switch (here(r)) {
    case START: return list ? OTHER : TOP;
    case TOP:
        if (list) return is_key(r, "profiles") ? PROFILES : OTHER;
        return is_key(r, "shared") ? SHARED : OTHER;
    case SHARED: return list && is_key(r, "frames") ? FRAMES : OTHER;
    case FRAMES: return list ? OTHER : FRAME;
    case PROFILES: return list ? OTHER : PROFILE;
    case PROFILE:
        if (!list) return OTHER;
        return is_key(r, "samples")   ? SAMPLES
               : is_key(r, "weights") ? WEIGHTS
               : is_key(r, "events")  ? EVENTS
                                      : OTHER;
    case SAMPLES: return list ? STACK : OTHER;
    case EVENTS: return list ? OTHER : EVENT;
    default: return OTHER;
    }
}

static int begin(reader *r, bool list)
{
    const place below = place_below(r, list);
    if (r->depth == DEPTH) {
        r->deeper++;
        return 1;
    }
    r->places[r->depth++] = below;
    if (below == FRAME) r->frame = (profile_function){ 0 };
    if (below == PROFILE) begin_profile(r);
    if (below == EVENT) r->event = (event){ 0 };
    return 1;
}

// Adds an element to an array of the profile.
#define ADD(array, count, room, value) \
    do { \
        if (cli_grow(&(array), &(room), (count) + 1, sizeof *(array))) \
            (array)[(count)++] = (value); \
        else \
            r->p.no_memory = true; \
    } while (0)

static void end_frame(reader *r)
{
    const ts_frame_entry frame = { r->module, 0, ++r->frame_count };
    if (!r->frame.name) r->frame.name = profile_name(&r->p, "", 0);
    const ts_line_entry line = { .function = r->frame.name,
                                 .file = r->frame.file,
                                 .line = r->frame.line };
    ts_writer_symbol(r->job->writer, &frame, &line, 1);
}

static void end_event(reader *r)
{
    const event *const e = &r->event;
    if ((e->type == 'O' || e->type == 'C') && e->has_at && e->has_frame) {
        ADD(r->events, r->event_count, r->event_room, r->event);
        return;
    }
    r->job->rows++;
    import_bad(r->job, "broken_event", IMPORT_NONE);
}

static int on_end(void *user)
{
    reader *const r = heard(user);
    if (r->deeper) {
        r->deeper--;
        return 1;
    }
    switch (here(r)) {
    case FRAME: end_frame(r); break;
    case PROFILE: end_profile(r); break;
    case STACK:
        ADD(r->stacks, r->stack_count, r->stack_room,
            profile_stack(&r->p, true));
        break;
    case EVENT: end_event(r); break;
    default: break;
    }
    r->depth--;
    import_progress(r->job);
    return !r->p.no_memory;
}

static int on_map(void *user)
{
    return begin(heard(user), false);
}

static int on_list(void *user)
{
    return begin(heard(user), true);
}

static int on_key(void *user, const unsigned char *text, size_t size)
{
    reader *const r = heard(user);
    const size_t kept = size < SHORT ? size : 0;
    memcpy(r->key, text, kept);
    r->key[kept] = 0;
    return 1;
}

static void take_profile_text(reader *r, const char *text, size_t size)
{
    if (is_key(r, "type") && size) r->type = *text;
    if (is_key(r, "unit") && size < SHORT) {
        memcpy(r->unit, text, size);
        r->unit[size] = 0;
    }
    if (!is_key(r, "name")) return;
    r->title_size = size < sizeof r->title ? size : sizeof r->title;
    memcpy(r->title, text, r->title_size);
}

static int on_text(void *user, const unsigned char *bytes, size_t size)
{
    reader *const r = heard(user);
    const char *const text = (const char *)bytes;
    switch (here(r)) {
    case FRAME:
        if (is_key(r, "name")) r->frame.name = profile_name(&r->p, text, size);
        if (is_key(r, "file")) r->frame.file = import_name(r->job, text, size);
        break;
    case PROFILE: take_profile_text(r, text, size); break;
    case EVENT:
        if (is_key(r, "type")) r->event.type = size == 1 ? *text : 0;
        break;
    default: break;
    }
    return 1;
}

// Returns a number as an index; UINT32_MAX - 1: it is none.
static uint32_t index_of(const profile_weight *w)
{
    const double real = real_of(w);
    return real >= 0 && real < 4e9 ? (uint32_t)real : UINT32_MAX - 1;
}

static uint32_t frame_of(reader *r, const profile_weight *w)
{
    const uint32_t frame = index_of(w);
    if (frame >= r->frame_used) r->frame_used = frame + 1;
    return frame;
}

static int on_number(void *user, const char *text, size_t size)
{
    reader *const r = heard(user);
    const place at = here(r);
    profile_weight w = { 0 };
    if (at == OTHER) return 1;
    if (!profile_weight_read(&w, text, size)) {
        import_flaw(r->job, "bad_number");
        w = (profile_weight){ .type = TS_VALUE_INT };
    }
    if (at == STACK) {
        const ts_frame_entry frame = { r->module, 0, frame_of(r, &w) + 1 };
        profile_push(&r->p, &frame);
    } else if (at == WEIGHTS) {
        ADD(r->weights, r->weight_count, r->weight_room, w);
    } else if (at == EVENT && is_key(r, "at")) {
        r->event.at = w;
        r->event.has_at = true;
    } else if (at == EVENT && is_key(r, "frame")) {
        r->event.frame = frame_of(r, &w);
        r->event.has_frame = true;
    } else if (at == FRAME && is_key(r, "line")) {
        r->frame.line = index_of(&w);
    } else if (at == PROFILE && is_key(r, "startValue")) {
        r->start = (moment){ 0 };
        add_time(&r->start, &w);
    }
    return 1;
}

/* ---- The file ------------------------------------------------------------ */

static bool parse(reader *r, yajl_handle yajl, unsigned char *piece)
{
    size_t size;
    while ((size = import_source_read(r->job->source, piece, PIECE))) {
        r->fed += size;
        if (yajl_parse(yajl, piece, size) != yajl_status_ok ||
            r->fed - r->heard > SILENT)
            return false;
    }
    return yajl_complete_parse(yajl) == yajl_status_ok;
}

// Of a profile that is not complete, keeps what was read.
static void end_open_profile(reader *r)
{
    for (size_t i = 0; i < r->depth; i++)
        if (r->places[i] == PROFILE) end_profile(r);
}

static void read_all(reader *r)
{
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_boolean,
        .yajl_number = on_number,
        .yajl_string = on_text,
        .yajl_start_map = on_map,
        .yajl_map_key = on_key,
        .yajl_end_map = on_end,
        .yajl_start_array = on_list,
        .yajl_end_array = on_end,
    };
    unsigned char *const piece = malloc(PIECE);
    const yajl_handle yajl = yajl_alloc(&callbacks, NULL, r);
    if (piece && yajl) {
        yajl_config(yajl, yajl_dont_validate_strings, 1);
        if (!parse(r, yajl, piece)) {
            import_bad(r->job, "broken_json", IMPORT_NONE);
            r->job->is_cut = true;
            end_open_profile(r);
        }
    } else {
        r->p.no_memory = true;
    }
    if (yajl) yajl_free(yajl);
    free(piece);
}

static bool import(import_job *job)
{
    reader *const r = calloc(1, sizeof *r);
    if (!r) return import_out_of_memory(job);
    r->job = job;
    r->p = profile_open(job);
    r->module = profile_module(&r->p, 0);
    r->places[r->depth++] = START;
    read_all(r);
    if (r->frame_used > r->frame_count) import_flaw(job, "unknown_frame");
    free(r->stacks);
    free(r->weights);
    free(r->events);
    const bool good = profile_close(&r->p);
    free(r);
    return good;
}

#else

static bool import(import_job *job)
{
    return import_fail(job, "this ts-import was built without yajl");
}

#endif // TRACESMITH_YAJL

const import_format import_speedscope = {
    .name = "speedscope",
    .title = "speedscope's JSON",
    .missing = IMPORT_JSON_MISSING,
    .recognise = recognise,
    .import = import,
};
