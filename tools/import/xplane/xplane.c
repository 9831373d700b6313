/*
    xplane.c - profiles of JAX and TensorFlow: planes and their lines
*/
#include "tools/import/xplane/xplane.h"
#include "tools/import/xplane/stream.h"

enum {
    NAME = 1024,     // bytes kept of the name of a plane or line
    TEXT = 64 << 10, // of an event
    EVENT = 1 << 20, // bytes of an event; larger ones are bad
    SPARSE = 1000    // numbers of the streams of a TPU's other cores
};

typedef struct header {
    int64_t id, time_ns;
    char name[NAME];
    size_t name_size;
    uint64_t lines;   // of a plane
    bool has_streams; // the plane has lines of streams
} header;

typedef struct file {
    xplane x;
    xplane_stream s;
    uint8_t *event;     // of EVENT bytes
    char text[TEXT];    // the name that is being read
    int64_t profile_ns; // Unix time of its start; 0: unknown
} file;

static ts_text read_text(file *f, const xplane_field *field, char *text,
                         size_t room)
{
    if (field->value <= room) room = (size_t)field->value;
    if (field->value > room) import_flaw(f->x.job, "long_name");
    return (ts_text){ text, xplane_read(&f->s, text, room) };
}

/* ---- Names -------------------------------------------------------------- */

// Reads the name of an XEventMetadata or XStatMetadata. The name that people
// see, if there is one, counts.
static ts_text read_name(file *f, uint64_t end)
{
    ts_text name = { f->text, 0 };
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field)) {
        const bool is_shown = field.number == 4 && field.value > 0;
        if (field.type == IMPORT_BYTES && (field.number == 2 || is_shown))
            name = read_text(f, &field, f->text, TEXT);
        xplane_seek(&f->s, field.end);
    }
    return name;
}

// Reads an entry of a map from numbers to names.
static void read_entry(file *f, uint64_t end, import_strings *into)
{
    int64_t id = 0;
    ts_text name = { "", 0 };
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field)) {
        if (field.number == 1 && field.type == IMPORT_VARINT)
            id = (int64_t)field.value;
        if (field.number == 2 && field.type == IMPORT_BYTES)
            name = read_name(f, field.end);
        xplane_seek(&f->s, field.end);
    }
    f->x.out_of_memory |= !import_strings_put(into, id, name.text, name.size);
}

static bool begins(const header *h, const char *word)
{
    return h->name_size >= strlen(word) && !memcmp(h->name, word, strlen(word));
}

// "Stream #8(MemcpyOther)" is stream 8.
static int64_t stream_of(const header *line)
{
    static const char word[] = "Stream #";
    int64_t number = 0;
    size_t i = sizeof word - 1;
    if (!begins(line, word)) return IMPORT_NONE;
    for (; i < line->name_size && line->name[i] >= '0' &&
           line->name[i] <= '9' && number < INT32_MAX;
         i++)
        number = number * 10 + (line->name[i] - '0');
    return i > sizeof word - 1 ? number : IMPORT_NONE;
}

// Returns whether a line is that of a stream; its name is before its events.
static bool is_stream_line(file *f, uint64_t end)
{
    header line = { .id = 0 };
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field) && field.number <= 2) {
        if (field.number == 2 && field.type == IMPORT_BYTES)
            line.name_size =
                xplane_read(&f->s, line.name,
                            field.value < NAME ? (size_t)field.value : NAME);
        xplane_seek(&f->s, field.end);
    }
    return stream_of(&line) != IMPORT_NONE;
}

// Reads what a plane has besides its lines.
static void read_plane(file *f, uint64_t end, header *plane)
{
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field)) {
        const bool is_bytes = field.type == IMPORT_BYTES;
        if (field.number == 2 && is_bytes)
            plane->name_size = read_text(f, &field, plane->name, NAME).size;
        if (field.number == 3) plane->lines++;
        if (field.number == 3 && is_bytes)
            plane->has_streams |= is_stream_line(f, field.end);
        if (field.number == 4 && is_bytes) read_entry(f, field.end, f->x.names);
        if (field.number == 5 && is_bytes)
            read_entry(f, field.end, f->x.values);
        xplane_seek(&f->s, field.end);
    }
}

/* ---- Values of planes --------------------------------------------------- */

static void put_meta(file *f, const xplane_value *v)
{
    char key[96];
    double real;
    snprintf(key, sizeof key, "xplane.%.*s",
             v->name.size < 80 ? (int)v->name.size : 80, v->name.text);
    const uint32_t track =
        f->x.is_device ? import_device(f->x.job, f->x.device) : 0;
    memcpy(&real, &v->number, sizeof real);
    if (v->field == 2) import_meta_double(f->x.job, track, key, real);
    if (v->field == 3 || v->field == 4)
        import_meta_int(f->x.job, track, key, (int64_t)v->number);
    if (v->field == 5 || v->field == 7)
        import_meta_text(f->x.job, track, key, v->text.text, v->text.size);
}

static void read_values(file *f, uint64_t end)
{
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field)) {
        if (field.number == 6 && field.type == IMPORT_BYTES &&
            field.value <= EVENT) {
            const size_t size =
                xplane_read(&f->s, f->event, (size_t)field.value);
            const xplane_value v = xplane_value_of(
                &f->x, (import_wire){ f->event, f->event + size });
            if (v.name.size) put_meta(f, &v);
            static const char start[] = "profile_start_time";
            if (v.name.size == sizeof start - 1 &&
                !memcmp(v.name.text, start, v.name.size)) {
                f->profile_ns = (int64_t)v.number;
            }
        }
        xplane_seek(&f->s, field.end);
    }
}

/* ---- Lines -------------------------------------------------------------- */

static void read_line(file *f, uint64_t end, header *line)
{
    xplane_field field;
    while (xplane_field_next(&f->s, end, &field)) {
        if (field.number == 1) line->id = (int64_t)field.value;
        if (field.number == 3) line->time_ns = (int64_t)field.value;
        if (field.type == IMPORT_BYTES && field.value &&
            (field.number == 2 || field.number == 11))
            line->name_size = read_text(f, &field, line->name, NAME).size;
        xplane_seek(&f->s, field.end);
    }
}

static void place_device_line(file *f, const header *plane, const header *line)
{
    xplane *const x = &f->x;
    const int64_t stream = stream_of(line);
    const bool is_core = import_has((const uint8_t *)plane->name,
                                    plane->name_size, "SparseCore");
    if (stream != IMPORT_NONE) {
        x->kind = XPLANE_STREAM;
        x->track = import_stream(x->job, x->device, IMPORT_NONE, stream);
        return;
    }
    char name[NAME + 16];
    const int size =
        snprintf(name, sizeof name, "%s%.*s", is_core ? "SparseCore: " : "",
                 (int)line->name_size, line->name);
    x->kind = XPLANE_GROUP;
    x->outer = x->track = import_lane(x->job, import_device(x->job, x->device),
                                      name, (size_t)size);
    const bool is_async = begins(line, "Async XLA Ops");
    if (!is_async && !begins(line, "XLA Ops")) return;
    // Beside streams they are derived from those: the same work once more.
    if (plane->has_streams) return;
    x->kind = is_async ? XPLANE_STREAM : XPLANE_OPERATIONS;
    x->track = import_stream(x->job, x->device, IMPORT_NONE,
                             is_core ? SPARSE + (line->id & 0xFFFF) : line->id);
    import_track_name(x->job, x->track, name, (size_t)size);
}

static void place_line(file *f, const header *plane, const header *line)
{
    xplane *const x = &f->x;
    x->line_ns = line->time_ns;
    if (x->is_device) {
        place_device_line(f, plane, line);
        return;
    }
    x->kind = XPLANE_THREAD;
    const bool is_host = begins(plane, "/host:CPU");
    x->track = is_host ? import_thread(x->job, IMPORT_NONE, line->id)
                       : import_lane(x->job, 0, plane->name, plane->name_size);
    if (is_host)
        import_track_name(x->job, x->track, line->name, line->name_size);
}

static void read_event(file *f, const xplane_field *field)
{
    if (field->value <= EVENT) {
        const size_t size = xplane_read(&f->s, f->event, (size_t)field->value);
        xplane_take_event(&f->x, (import_wire){ f->event, f->event + size });
        return;
    }
    f->x.job->rows++;
    import_bad(f->x.job, "long_row", IMPORT_NONE);
}

static void read_events(file *f, uint64_t end)
{
    xplane_field field;
    while (!f->x.out_of_memory && xplane_field_next(&f->s, end, &field)) {
        if (field.number == 4 && field.type == IMPORT_BYTES)
            read_event(f, &field);
        xplane_seek(&f->s, field.end);
        import_progress_of(f->x.job, f->s.at, f->s.size);
    }
    xplane_end_line(&f->x);
}

static void read_lines(file *f, uint64_t end, const header *plane)
{
    xplane_field field;
    while (!f->x.out_of_memory && xplane_field_next(&f->s, end, &field)) {
        if (field.number == 3 && field.type == IMPORT_BYTES) {
            header line = { .id = 0 };
            const uint64_t begin = f->s.at;
            read_line(f, field.end, &line);
            place_line(f, plane, &line);
            xplane_seek(&f->s, begin);
            // What is damaged is damaged once.
            if (f->s.is_damaged) f->s.is_damaged = false;
            read_events(f, field.end);
        }
        xplane_seek(&f->s, field.end);
    }
}

/* ---- Planes ------------------------------------------------------------- */

// "/device:GPU:0", "/device:TPU:3 SparseCore 1" are devices 0 and 3.
static void find_device(file *f, const header *plane)
{
    static const char word[] = "/device:";
    size_t i = sizeof word - 1;
    f->x.is_device = false;
    f->x.device = 0;
    if (!begins(plane, word) || begins(plane, "/device:CUSTOM:")) return;
    while (i < plane->name_size && plane->name[i] != ':')
        i++;
    const size_t from = ++i;
    for (; i < plane->name_size && plane->name[i] >= '0' &&
           plane->name[i] <= '9' && f->x.device < INT32_MAX;
         i++)
        f->x.device = f->x.device * 10 + (plane->name[i] - '0');
    f->x.is_device = i > from;
    if (!f->x.is_device) return;
    const size_t skip = sizeof word - 1; // "GPU:0"
    import_track_name(f->x.job, import_device(f->x.job, f->x.device),
                      plane->name + skip, i - skip);
}

static void take_plane(file *f, uint64_t end)
{
    const uint64_t begin = f->s.at;
    header *const plane = calloc(1, sizeof *plane);
    f->x.names = import_strings_open(f->x.job);
    f->x.values = import_strings_open(f->x.job);
    f->x.out_of_memory |= !plane || !f->x.names || !f->x.values;
    if (!f->x.out_of_memory) {
        read_plane(f, end, plane);
        const bool is_damaged = f->s.is_damaged;
        f->s.is_damaged = false;
        find_device(f, plane);
        xplane_seek(&f->s, begin);
        read_values(f, end);
        f->s.is_damaged = false;
        xplane_seek(&f->s, begin);
        if (plane->lines) read_lines(f, end, plane);
        f->s.is_damaged |= is_damaged;
    }
    import_strings_free(f->x.names);
    import_strings_free(f->x.values);
    f->x.names = f->x.values = NULL;
    free(plane);
}

static void read_planes(file *f)
{
    xplane_field field;
    while (!f->x.out_of_memory && xplane_field_next(&f->s, f->s.size, &field)) {
        if (field.number == 1 && field.type == IMPORT_BYTES)
            take_plane(f, field.end);
        if (f->s.is_damaged) return;
        if (field.number == 2 || field.number == 3)
            import_unowned(f->x.job, "errors and warnings of the profiler", 35);
        if (field.number == 4 && field.type == IMPORT_BYTES) {
            const ts_text host = read_text(f, &field, f->text, NAME);
            import_meta_text(f->x.job, 0, "xplane.hostname", host.text,
                             host.size);
        }
        xplane_seek(&f->s, field.end);
    }
}

// Times count from the start of the profile, in older files from 1970.
static void set_date(const file *f)
{
    enum { YEAR_2001_S = 1000000000 };
    import_job *const job = f->x.job;
    const bool is_unix = job->first_ns <= job->last_ns &&
                         job->first_ns / 1000000000 > YEAR_2001_S;
    job->has_unix_offset = is_unix || f->profile_ns > 0;
    job->unix_offset_ns = is_unix ? 0 : f->profile_ns;
}

static bool import(import_job *job)
{
    const char *const path = import_source_path(job->source);
    file *const f = path ? calloc(1, sizeof *f) : NULL;
    if (!path) return false;
    if (!f) return import_out_of_memory(job);
    f->x.job = job;
    f->event = malloc(EVENT);
    f->x.out_of_memory = !f->event;
    bool ok =
        xplane_open(&f->s, path) || import_fail(job, "%s", strerror(errno));
    if (ok) read_planes(f);
    if (ok) set_date(f);
    if (f->s.is_damaged) {
        import_bad(job, "broken_message", IMPORT_NONE);
        job->is_cut = true;
    }
    if (ok && f->x.out_of_memory) ok = import_out_of_memory(job);
    xplane_close(&f->s);
    free(f->event);
    free(f->x.held_bytes);
    free(f);
    return ok;
}

/* ---- Recognising -------------------------------------------------------- */

// A file begins with a plane, whose name is its first text.
static bool recognise(import_source *source)
{
    static const char *const names[] = { "/host:", "/device:",
                                         "Task Environment" };
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    import_wire w = { head, head + size };
    uint64_t tag, length, id;
    if (!import_wire_varint(&w, &tag) || tag != (1 << 3 | IMPORT_BYTES) ||
        !import_wire_varint(&w, &length) || !import_wire_varint(&w, &tag))
        return false;
    if (tag == (1 << 3 | IMPORT_VARINT) &&
        (!import_wire_varint(&w, &id) || !import_wire_varint(&w, &tag)))
        return false;
    if (tag != (2 << 3 | IMPORT_BYTES) || !import_wire_varint(&w, &length))
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((size_t)(w.end - w.at) >= strlen(names[i]) &&
            !memcmp(w.at, names[i], strlen(names[i])))
            return true;
    return false;
}

const import_format import_xplane = {
    .name = "xplane",
    .title = "XPlane of JAX and TensorFlow (protobuf)",
    .recognise = recognise,
    .import = import,
};
