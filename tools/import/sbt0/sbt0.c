/*
    sbt0.c - SBT files of TraceSmith 0.x, the earlier C++ project

    A header of 72 bytes says where the sections begin. Numbers are LEB128, a
    text is its size and its bytes. The texts of events come behind the events,
    in a table of strings. A program that was killed leaves a header of zeros
    and no table: its events are read in place, without names.
*/
#include "tools/import/profile/profile.h"
#include "tools/import/sbt0/sbt0.h"
#include "tools/import/strings.h"
#include <errno.h>

enum {
    HEADER = 72,
    COMPRESSION = 64, // where the header has it
    METADATA = 1,
    STRINGS,
    DEVICES,
    EVENTS,
    LITTLE_ENDIAN = 1 // a flag of the header
};

// Flags of an event.
enum { HAS_DURATION = 1, HAS_KERNEL = 2, HAS_MEMORY = 4, HAS_STACK = 8 };

typedef struct header {
    uint64_t metadata, strings, devices, events, count;
} header;

typedef struct file {
    sbt0 events;
    import_job *job;
    FILE *in;
    uint64_t at, size;
    bool is_damaged; // it ends inside of a value
    bool no_strings; // there is no table
    int64_t process;
    import_strings *strings;
    profile profile;   // of the stacks
    cli_map addresses; // of frames that have their symbol
    char *text;        // of the last read_text
    size_t text_room;
} file;

/* ---- Values -------------------------------------------------------------- */

static uint8_t read_byte(file *f)
{
    const int byte = f->at < f->size && !f->is_damaged ? getc(f->in) : EOF;
    f->is_damaged |= byte == EOF;
    f->at += byte != EOF;
    return byte == EOF ? 0 : (uint8_t)byte;
}

static uint64_t read_number(file *f)
{
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = read_byte(f);
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) return value;
    }
    f->is_damaged = true;
    return 0;
}

// Its writer has 32 bits for it.
static uint32_t read_u32(file *f)
{
    return (uint32_t)read_number(f);
}

// Valid until the next call.
static ts_text read_text(file *f)
{
    const uint64_t size = read_number(f);
    if (f->is_damaged || size > f->size - f->at ||
        !cli_grow(&f->text, &f->text_room, (size_t)size + 1, 1) ||
        fread(f->text, 1, (size_t)size, f->in) < size) {
        f->is_damaged = true;
        return (ts_text){ "", 0 };
    }
    f->at += size;
    return (ts_text){ f->text, (size_t)size };
}

// Moves to a section; false: it is not there.
static bool find_section(file *f, uint64_t at, uint8_t type)
{
    if (at < HEADER || at >= f->size || fseeko(f->in, (off_t)at, SEEK_SET))
        return false;
    f->at = at;
    f->is_damaged = false;
    return read_byte(f) == type;
}

/* ---- Metadata ------------------------------------------------------------ */

static void put_text(file *f, uint32_t track, const char *key)
{
    const ts_text text = read_text(f);
    if (text.size) import_meta_text(f->job, track, key, text.text, text.size);
}

static void put_number(file *f, uint32_t track, const char *key)
{
    const uint64_t number = read_number(f);
    if (number) import_meta_int(f->job, track, key, (int64_t)number);
}

static void read_metadata(file *f)
{
    put_text(f, 0, "application");
    put_text(f, 0, "command");
    put_number(f, 0, "sbt0.start_time");
    put_number(f, 0, "sbt0.end_time");
    put_text(f, 0, "hostname");
    const uint32_t process = read_u32(f);
    if (!process || f->is_damaged) return;
    f->process = process;
    import_process(f->job, process);
}

static void read_devices(file *f)
{
    static const char *const keys[] = { "compute_major",
                                        "compute_minor",
                                        "memory_bytes",
                                        "memory_clock_khz",
                                        "memory_bus_bits",
                                        "multiprocessors",
                                        "max_threads_per_multiprocessor",
                                        "clock_khz",
                                        "warp_size" };
    const uint64_t count = read_number(f);
    for (uint64_t i = 0; i < count && !f->is_damaged; i++) {
        const uint32_t id = read_u32(f);
        if (f->is_damaged) return;
        const uint32_t track = import_device(f->job, id);
        const ts_text name = read_text(f);
        if (name.size) import_track_name(f->job, track, name.text, name.size);
        put_text(f, track, "vendor");
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            put_number(f, track, keys[k]);
    }
}

static void read_strings(file *f)
{
    const uint64_t count = read_number(f);
    for (uint64_t i = 0; i < count && !f->is_damaged; i++) {
        const ts_text text = read_text(f);
        if (f->is_damaged) return;
        f->events.no_memory |=
            !import_strings_put(f->strings, (int64_t)i, text.text, text.size);
    }
}

/* ---- Events -------------------------------------------------------------- */

static ts_text text_of(file *f, uint32_t index)
{
    const ts_text text = import_strings_text(f->strings, index);
    if (!text.size && !f->no_strings) import_flaw(f->job, "unknown_name");
    return text;
}

static void read_launch(file *f, sbt0_event *e)
{
    for (size_t i = 0; i < 3; i++)
        e->launch.grid[i] = read_u32(f);
    for (size_t i = 0; i < 3; i++)
        e->launch.block[i] = read_u32(f);
    e->launch.dynamic_shared = read_u32(f);
    e->launch.registers = read_u32(f);
}

static void read_memory(file *f, sbt0_event *e)
{
    e->has_memory = true;
    e->source = read_number(f);
    e->address = read_number(f);
    e->size = read_number(f);
}

// Frames keep their addresses, in a module that no file has. One without an
// address is known by its function alone.
static ts_frame_entry frame_of(file *f, uint64_t address, uint32_t function,
                               uint32_t path, uint32_t line)
{
    const profile_function named = {
        .name = import_strings_name(f->strings, function),
        .file = import_strings_name(f->strings, path),
        .line = line
    };
    if (!address) return profile_frame(&f->profile, &named);
    const ts_frame_entry frame = { .module = profile_module(
                                       &f->profile,
                                       import_name(f->job, "process", 7)),
                                   .offset = address };
    bool fresh;
    int64_t *const known =
        import_map_put(&f->addresses, (int64_t)address, &fresh);
    f->events.no_memory |= !known;
    if (!known || !fresh || !named.name) return frame;
    const ts_line_entry at = { named.name, named.file, line, 0 };
    ts_writer_symbol(f->job->writer, &frame, &at, 1);
    return frame;
}

static uint32_t read_stack(file *f, sbt0_event *e)
{
    e->thread = (int64_t)read_number(f);
    const uint64_t count = read_number(f);
    for (uint64_t i = 0; i < count && !f->is_damaged; i++) {
        const uint64_t address = read_number(f);
        const uint32_t function = read_u32(f);
        const uint32_t path = read_u32(f);
        const uint32_t line = read_u32(f);
        // One more than a stack can have tells that it is deeper.
        if (f->is_damaged || i > PROFILE_FRAMES_MOST) continue;
        const ts_frame_entry frame = frame_of(f, address, function, path, line);
        profile_push(&f->profile, &frame);
    }
    return profile_stack(&f->profile, false);
}

// False: the file ends inside of it.
static bool read_event(file *f, uint64_t *now)
{
    sbt0_event e = { .type = read_byte(f), .process = f->process };
    const uint8_t flags = read_byte(f);
    *now += read_number(f); // differences may be negative: they wrap
    e.time_ns = (int64_t)*now;
    if (flags & HAS_DURATION) e.duration_ns = (int64_t)read_number(f);
    e.device = read_u32(f);
    e.stream = read_u32(f);
    e.correlation = read_number(f);
    const uint32_t name = read_u32(f);
    if (flags & HAS_KERNEL) read_launch(f, &e);
    if (flags & HAS_MEMORY) read_memory(f, &e);
    if (flags & HAS_STACK) e.stack = read_stack(f, &e);
    if (f->is_damaged) return false;
    f->job->rows++;
    e.name = text_of(f, name);
    if (e.type >= SBT0_TYPES && e.type != SBT0_CUSTOM)
        import_flaw(f->job, "unknown_type");
    sbt0_take(&f->events, &e);
    import_progress_of(f->job, f->at, f->size);
    return true;
}

static void read_events(file *f, uint64_t count)
{
    uint64_t now = read_number(f);
    import_near(f->job, (int64_t)now);
    for (uint64_t i = 0; i < count; i++) {
        if (f->events.no_memory) return;
        if (count == UINT64_MAX && f->at == f->size) return;
        if (read_event(f, &now)) continue;
        if (count != UINT64_MAX) import_bad(f->job, "broken_row", (int64_t)now);
        f->job->is_cut = true;
        return;
    }
}

/* ---- Files --------------------------------------------------------------- */

static void read_sections(file *f, const header *h)
{
    if (!find_section(f, h->strings, STRINGS))
        f->no_strings = true;
    else
        read_strings(f);
    if (f->no_strings || f->is_damaged) import_flaw(f->job, "no_string_table");
    if (find_section(f, h->metadata, METADATA)) read_metadata(f);
    if (find_section(f, h->devices, DEVICES)) read_devices(f);
    if (find_section(f, h->events, EVENTS)) {
        read_events(f, h->count);
        return;
    }
    if (!h->count) return;
    import_bad(f->job, "no_events", IMPORT_NONE);
    f->job->is_cut = true;
}

// The sections of a program that was killed lie one behind the other.
static void read_unfinished(file *f)
{
    f->job->is_cut = f->no_strings = true;
    import_flaw(f->job, "no_string_table");
    fseeko(f->in, HEADER, SEEK_SET);
    for (f->at = HEADER; f->at < f->size && !f->is_damaged;) {
        switch (read_byte(f)) {
        case METADATA: read_metadata(f); break;
        case DEVICES: read_devices(f); break;
        case EVENTS: read_events(f, UINT64_MAX); return;
        default: return;
        }
    }
}

static uint64_t number_at(const uint8_t *bytes, size_t size)
{
    uint64_t value = 0;
    for (size_t i = size; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

// Reads the header. False: it is one that no version wrote.
static bool read_header(import_job *job, header *h)
{
    size_t size;
    const uint8_t *const head = import_source_head(job->source, &size);
    if (size < HEADER)
        return import_fail(job, "the file ends inside of its header");
    const uint64_t major = number_at(head + 4, 2);
    if (major || !(head[8] & LITTLE_ENDIAN) || head[COMPRESSION])
        return import_fail(job, "its header is not that of SBT 0.1, the only "
                                "version that TraceSmith 0.x wrote");
    *h = (header){ number_at(head + 16, 8), number_at(head + 24, 8),
                   number_at(head + 32, 8), number_at(head + 40, 8),
                   number_at(head + 56, 8) };
    return true;
}

static bool open_file(file *f, import_job *job)
{
    const char *const path = import_source_path(job->source);
    f->job = job;
    f->events.job = job;
    f->process = IMPORT_NONE;
    f->profile = profile_open(job);
    if (!path) return false;
    f->in = fopen(path, "rbe");
    if (!f->in || fseeko(f->in, 0, SEEK_END))
        return import_fail(job, "%s", strerror(errno));
    f->size = (uint64_t)ftello(f->in);
    f->strings = import_strings_open(job);
    return f->strings || import_out_of_memory(job);
}

static bool close_file(file *f)
{
    if (f->in) fclose(f->in);
    import_strings_free(f->strings);
    cli_map_close(&f->addresses);
    free(f->text);
    const bool ended = sbt0_end(&f->events);
    return profile_close(&f->profile) && ended;
}

static bool import(import_job *job)
{
    header h = { 0 };
    file f = { .job = job };
    if (!read_header(job, &h)) return false;
    const bool opened = open_file(&f, job);
    const bool is_finished = h.strings || h.events || h.count;
    if (opened && is_finished) read_sections(&f, &h);
    if (opened && !is_finished) read_unfinished(&f);
    enum { YEAR_2001_S = 1000000000 };
    job->has_unix_offset = job->first_ns <= job->last_ns &&
                           job->first_ns / 1000000000 > YEAR_2001_S;
    return close_file(&f) && opened;
}

static bool recognise(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size > 8 && !memcmp(head, "SBT", 4);
}

const import_format import_sbt0 = {
    .name = "sbt0",
    .title = "SBT of TraceSmith 0.x (C++)",
    .recognise = recognise,
    .import = import,
};
