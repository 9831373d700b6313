/*
    spall.c - spall's binary traces, versions 1 and 3

    A header names the version and the unit of time. Version 1: events with
    process, thread and time, a double of that many microseconds. Version 3:
    buffers of a thread each, and events whose time is a count of ticks, each of
    that many nanoseconds. Begin and end nest on each thread. Numbers are little
    endian.

        header  magic 8, version 8, unit 8 (double), zero 8
        buffer  size 4, thread 4, process 4, first time 8
        begin   type 1 = 3, time 8, size of name 1, of arguments 1, both texts;
                version 1: type 1, category 1, process 4, thread 4, time 8, ...
        end     type 1 = 4, time 8; version 1: type 1, process 4, thread 4, ...
        name    type 1 = 8: of the process, 9: of the thread, size 1, text

    No writer is known of the other types of spall.h, whose sizes it does not
    say: reading goes on behind their buffer, or ends in version 1.

    Source: spall.h and formats/spall/spall.odin of spall-web.
*/
#include "tools/import/nested.h"
#include <math.h>

#define MAGIC        UINT64_C(0x0BADF00D)
#define MAGIC_NATIVE UINT64_C(0xABADF00D)

enum { HEADER = 32, BUFFER = 20, TEXTS = 2 * 255 };
enum { BEGIN = 3, END = 4, NAME_PROCESS = 8, NAME_THREAD = 9 };

static uint64_t number(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

static double real(const uint8_t *bytes)
{
    const uint64_t bits = number(bytes, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    if (size < 8) return false;
    const uint64_t magic = number(head, 8);
    return magic == MAGIC || magic == MAGIC_NATIVE;
}

typedef struct spall {
    import_job *job;
    import_nested zones;
    double unit;
    uint64_t left;           // bytes of the buffer
    bool is_cut, is_unknown; // is_unknown: no more can be read
} spall;

typedef struct event {
    int64_t process, thread, time_ns; // time_ns IMPORT_NONE: bad
} event;

/* ---- Times --------------------------------------------------------------- */

__extension__ typedef unsigned __int128 wide;

// Multiplies exactly, as a double would lose ticks of a long uptime, and
// rounds. IMPORT_NONE if the result is out of range.
static int64_t ticks_to_ns(uint64_t ticks, double unit)
{
    int exponent;
    const double fraction = frexp(unit, &exponent);
    wide product = (wide)ticks * (uint64_t)ldexp(fraction, 53);
    exponent -= 53;
    if (exponent > 0) return IMPORT_NONE; // a tick of 104 days
    const int down = -exponent;
    product = down > 127 ? 0 : product;
    if (down && product) product = ((product >> (down - 1)) + 1) >> 1;
    return product <= INT64_MAX ? (int64_t)product : IMPORT_NONE;
}

static int64_t us_to_ns(double time, double unit)
{
    const double value = round(time * (unit * 1000)); // as spall does
    return value > -9e18 && value < 9e18 ? (int64_t)value : IMPORT_NONE;
}

/* ---- Events -------------------------------------------------------------- */

// Reads bytes of the buffer. False if it has fewer, or the file ends.
static bool take(spall *s, void *bytes, size_t size)
{
    if (size > s->left) return false;
    s->left -= size;
    s->is_cut |= import_source_read(s->job->source, bytes, size) < size;
    return !s->is_cut;
}

static void begin(spall *s, const event *e, const char *texts, size_t name,
                  size_t args)
{
    const uint32_t thread = import_thread(s->job, e->process, e->thread);
    const uint32_t site =
        import_site(s->job, import_name(s->job, texts, name), 0);
    import_nested_begin(&s->zones, thread, e->time_ns, site, texts + name,
                        args);
}

static void end(spall *s, const event *e)
{
    const uint32_t thread = import_thread(s->job, e->process, e->thread);
    import_nested_end(&s->zones, thread, e->time_ns, 0);
}

// Reads an event with a time behind its type, and the texts behind that.
static bool take_timed(spall *s, uint8_t type, event *e, bool is_old)
{
    uint8_t bytes[19];
    char texts[TEXTS];
    const size_t category = is_old && type == BEGIN;
    const size_t ids = category + (is_old ? 8 : 0);
    const size_t size = ids + 8 + (type == BEGIN ? 2 : 0);
    if (!take(s, bytes, size)) return false;
    if (is_old) {
        e->process = (int64_t)number(bytes + category, 4);
        e->thread = (int64_t)number(bytes + category + 4, 4);
        e->time_ns = us_to_ns(real(bytes + ids), s->unit);
    } else {
        e->time_ns = ticks_to_ns(number(bytes, 8), s->unit);
    }
    if (type == BEGIN) {
        const size_t name = bytes[size - 2], args = bytes[size - 1];
        if (!take(s, texts, name + args)) return false;
        begin(s, e, texts, name, args);
    } else {
        end(s, e);
    }
    return true;
}

static bool take_name(spall *s, uint8_t type, const event *e)
{
    uint8_t size;
    char text[255];
    if (!take(s, &size, 1) || !take(s, text, size)) return false;
    const uint32_t track = type == NAME_THREAD
                               ? import_thread(s->job, e->process, e->thread)
                               : import_process(s->job, e->process);
    import_track_name(s->job, track, text, size);
    return true;
}

// Reads the events of a buffer. False if it is broken: what is left of it has
// no meaning.
static bool take_events(spall *s, event *e, bool is_old)
{
    uint8_t type;
    while (s->left && !s->zones.no_memory) {
        if (is_old && !import_source_read(s->job->source, &type, 1))
            return true;
        if (!is_old && !take(s, &type, 1)) return false;
        s->job->rows++;
        const bool good =
            type == BEGIN || type == END
                ? take_timed(s, type, e, is_old)
                : !is_old && (type == NAME_PROCESS || type == NAME_THREAD) &&
                      take_name(s, type, e);
        if (!good) return false;
        import_progress(s->job);
    }
    return true;
}

static void skip(spall *s)
{
    char bytes[4096];
    while (s->left && !s->is_cut)
        take(s, bytes, s->left < sizeof bytes ? s->left : sizeof bytes);
}

// Reads a buffer of version 3; false at the end.
static bool take_buffer(spall *s)
{
    uint8_t head[BUFFER];
    const size_t got = import_source_read(s->job->source, head, BUFFER);
    s->is_cut |= got && got < BUFFER;
    if (got < BUFFER) return false;
    s->left = number(head, 4);
    event e = { .process = (int64_t)number(head + 8, 4),
                .thread = (int64_t)number(head + 4, 4) };
    if (!take_events(s, &e, false) && !s->is_cut)
        import_bad(s->job, "broken_buffer", IMPORT_NONE);
    skip(s);
    return !s->is_cut && !s->zones.no_memory;
}

// Returns the version; 0 after a message: it is none that can be read.
static uint64_t read_header(spall *s)
{
    uint8_t head[HEADER] = { 0 };
    const size_t got = import_source_read(s->job->source, head, HEADER);
    const uint64_t version = number(head + 8, 8);
    s->unit = real(head + 16);
    if (number(head, 8) == MAGIC_NATIVE)
        import_fail(s->job, "it is a trace of spall's native version, which is "
                            "not supported; record with spall.h instead");
    else if (got < HEADER)
        import_fail(s->job, "the file ends in its header");
    else if (version != 1 && version != 3)
        import_fail(s->job,
                    "it is a spall trace of version %" PRIu64
                    ", which is not supported; versions 1 and 3 are",
                    version);
    else if (!(s->unit > 0 && s->unit < 1e15))
        import_fail(s->job, "its unit of time is no positive number");
    else
        return version;
    return 0;
}

static bool import(import_job *job)
{
    spall s = { .job = job, .zones = import_nested_open(job) };
    event e = { 0 };
    const uint64_t version = read_header(&s);
    if (!version) return false;
    s.left = UINT64_MAX;
    if (version == 3)
        while (take_buffer(&s))
            continue;
    else if (!take_events(&s, &e, true) && !s.is_cut)
        s.is_unknown = true;
    if (s.is_unknown) import_bad(job, "unknown_event", IMPORT_NONE);
    if (s.is_cut) import_bad(job, "truncated_event", IMPORT_NONE);
    job->is_cut |= s.is_cut || s.is_unknown;
    return import_nested_close(&s.zones) || import_out_of_memory(job);
}

const import_format import_spall = {
    .name = "spall",
    .title = "spall's binary traces",
    .recognise = recognise,
    .import = import,
};
