/*
    otf2.c - Open Trace Format 2: NAME.otf2, NAME.def, and the events in NAME/

    The library of OTF2 reads the archive in a child, since damaged files make
    it crash or hang.
*/
#include "tools/import/otf2/otf2.h"
#include <errno.h>

// An anchor: the mark of a chunk, the order of its bytes, the name.
static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size >= 6 && head[0] == 3 && !memcmp(head + 2, "OTF2", 4);
}

#ifdef TRACESMITH_OTF2
#define MISSING NULL

enum { CRASHES = 16 }; // after which no child is started again

/* ---- Times --------------------------------------------------------------- */

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

// The nearest nanosecond since the offset of the clock; false: there is none.
static bool time_of(const otf2 *o, uint64_t ticks, int64_t *time_ns)
{
    const otf2_table *const clocks = &o->tables[OTF2_CLOCK];
    const uint64_t *const clock = clocks->count ? clocks->rows[0].v : NULL;
    const uint64_t second = 1000000000;
    uint64_t ns, part;
    if (!clock || !clock[0]) return false;
    const bool is_before = ticks < clock[1];
    const uint64_t since = is_before ? clock[1] - ticks : ticks - clock[1];
    const uint64_t common = divisor(clock[0], second);
    const uint64_t below = clock[0] / common;
    if (__builtin_mul_overflow(since / clock[0], second, &ns) ||
        __builtin_mul_overflow(since % clock[0], second / common, &part) ||
        __builtin_add_overflow(part, below / 2, &part) ||
        __builtin_add_overflow(ns, part / below, &ns) || ns > INT64_MAX / 2)
        return false;
    *time_ns = is_before ? -(int64_t)ns : (int64_t)ns;
    return true;
}

static void take_clock(otf2 *o)
{
    const otf2_row *const clock = &o->tables[OTF2_CLOCK].rows[0];
    o->is_own = clock->v[3];
    if (clock->v[2] > INT64_MAX) return; // unknown, or beyond 2262
    o->job->has_unix_offset = true;
    o->job->unix_offset_ns = (int64_t)clock->v[2];
}

/* ---- Records ------------------------------------------------------------- */

static void take_event_at(otf2 *o, const otf2_record *r, int64_t time_ns)
{
    uint64_t region = r->v[0];
    if (r->v[1] && (r->kind == OTF2_ENTER || r->kind == OTF2_LEAVE)) {
        const otf2_row *const context = otf2_find(o, OTF2_CONTEXT, region);
        region = context ? context->v[1] : OTF2_UNDEFINED_REGION;
    }
    switch (r->kind) {
    case OTF2_ENTER: otf2_take_enter(o, region, time_ns); break;
    case OTF2_LEAVE: otf2_take_leave(o, region, time_ns); break;
    case OTF2_NUMBER:
    case OTF2_TEXT: otf2_take_parameter(o, r); break;
    case OTF2_METRIC: otf2_take_metric(o, r, time_ns); break;
    case OTF2_COLLECTIVE: otf2_take_collective(o, r); break;
    case OTF2_COPY: otf2_take_copy(o, r, time_ns); break;
    case OTF2_COPIED: otf2_take_copied(o, r, time_ns); break;
    default: otf2_take_message(o, r, time_ns);
    }
}

// The attributes before an event are of this one only.
static void take_event(otf2 *o, const otf2_record *r)
{
    int64_t time_ns;
    o->job->rows++;
    o->order++;
    if (time_of(o, r->time, &time_ns))
        take_event_at(o, r, time_ns);
    else
        import_bad(o->job, "bad_time", IMPORT_NONE);
    if (o->arg_count) import_unowned_many(o->job, "attribute", 9, o->arg_count);
    o->arg_count = 0;
}

static void take_other(otf2 *o, const otf2_record *r)
{
    const char *const name =
        r->v[0] < otf2_other_count ? otf2_others[r->v[0]] : "event";
    if (r->v[0]) o->job->rows += r->v[1]; // others are attributes
    if (r->v[1]) import_unowned_many(o->job, name, strlen(name), r->v[1]);
}

// A part of the archive cannot be read. Returns whether to go on.
static bool take_error(otf2 *o, const otf2_record *r, const char *text)
{
    if (r->v[0] && !o->job->rows)
        return import_fail(o->job, "the library of OTF2 cannot read it: %.*s",
                           (int)r->size, text);
    if (r->v[1])
        import_bad_many(o->job, "missing_event", r->v[1]);
    else
        import_bad(o->job, "unreadable_rest", IMPORT_NONE);
    o->job->is_cut = o->job->lacks_files = true;
    return true;
}

static void go_to(otf2 *o, const otf2_record *r)
{
    otf2_go_to(o, r->v[0]);
    o->index = r->v[1];
}

static bool take_record(otf2 *o, const otf2_record *r, const char *bytes)
{
    if (r->kind == OTF2_ERROR) return take_error(o, r, bytes);
    if (r->kind == OTF2_AT)
        go_to(o, r);
    else if (r->kind == OTF2_ARG)
        otf2_take_attribute(o, r);
    else if (r->kind == OTF2_OTHER)
        take_other(o, r);
    else if (r->kind > OTF2_AT)
        take_event(o, r);
    else if (r->kind == OTF2_PROPERTY && !o->is_located)
        otf2_define_property(o, r);
    else if (!o->is_located) // bytes of definitions stay where they are
        otf2_define(o, r, bytes);
    if (r->kind == OTF2_CLOCK && !o->no_memory) take_clock(o);
    if (r->kind == OTF2_PLACE) o->total += r->v[4];
    import_progress_of(o->job, o->job->rows, o->total);
    return true;
}

// Takes the records of a child. Returns why it ended early; NULL: it did not.
static const char *take_records(otf2 *o, bool *good)
{
    otf2_record r;
    char *bytes = NULL;
    size_t room = 0;
    bool is_known = true;
    while (*good && !o->no_memory && !o->zones.no_memory &&
           import_child_read(&o->child, &r, sizeof r)) {
        is_known = r.kind < OTF2_KINDS && r.size <= OTF2_BYTES;
        if (!is_known) break;
        o->no_memory |= !cli_grow(&bytes, &room, r.size + 1, 1);
        if (o->no_memory || !import_child_read(&o->child, bytes, r.size)) break;
        *good = take_record(o, &r, bytes);
    }
    free(bytes);
    const char *const why = import_child_end(&o->child);
    return is_known ? why : "its data did not arrive";
}

// After a crash another child goes on behind the location that was at fault.
static bool read_records(otf2 *o, const char *path)
{
    otf2_task task = { .path = path };
    const char *fault = NULL;
    bool good = true;
    for (size_t crashes = 0; crashes < CRASHES; crashes++) {
        if (!import_child_start(&o->child, otf2_read_archive, &task))
            return import_fail(o->job, "%s", strerror(errno));
        const char *const why = take_records(o, &good);
        if (!why || !good) break;
        if (!fault) fault = why;
        import_bad(o->job, "unreadable_rest", IMPORT_NONE);
        o->job->is_cut = o->job->lacks_files = true;
        if (!o->is_located || o->child.is_silent) break;
        task.first = o->index + 1;
    }
    if (!good || !fault || o->job->rows) return good;
    return import_fail(o->job, "the library of OTF2 cannot read it: %s", fault);
}

/* ---- The archive --------------------------------------------------------- */

// The library finds the other files by the path of the anchor.
static char *find_anchor(import_job *job)
{
    const char *const path = import_source_path(job->source);
    const size_t size = path ? strlen(path) : 0;
    if (size > 5 && !strcmp(path + size - 5, ".otf2")) return strdup(path);
    import_fail(job, "it is the anchor of an OTF2 archive, whose other files "
                     "are not beside it: unpack the archive, and import the "
                     "file NAME.otf2");
    return NULL;
}

static bool import(import_job *job)
{
    otf2 *const o = calloc(1, sizeof *o);
    char *const path = o ? find_anchor(job) : NULL;
    if (!o) return import_out_of_memory(job);
    o->job = job;
    o->zones = import_nested_open(job);
    const bool good = path && read_records(o, path);
    if (good) {
        otf2_go_to(o, o->location); // ends what is open
        otf2_match(o);
    }
    const bool fits = import_nested_close(&o->zones) && !o->no_memory;
    otf2_free(o);
    free(path);
    free(o);
    return fits ? good : import_out_of_memory(job);
}
#else
#define MISSING "the library of OTF2, 3.0 or later (libopen-trace-format2-dev)"

static bool import(import_job *job)
{
    return import_fail(job, "this ts-import was built without OTF2");
}
#endif

const import_format import_otf2 = {
    .name = "otf2",
    .title = "Open Trace Format 2 (Score-P)",
    .missing = MISSING,
    .recognise = recognise,
    .import = import,
};
