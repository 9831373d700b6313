/*
    pprof.c - pprof's protobuf (profile.proto)

    A sample has a value for each of the profile's types, such as a number of
    samples and their CPU time: each value becomes a sample of the trace. There
    are no times: all lie at 0. Names and functions come behind the samples that
    use them, so that the whole message is held in memory; it is mostly small.

    Source: profile.proto of google/pprof, and files that it has.
*/
#include "tools/import/profile/profile.h"
#include "tools/import/wire.h"

enum { // fields of Profile
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING = 6,
    TIME = 9,
    DURATION = 10,
    PERIOD_TYPE = 11,
    PERIOD = 12,
    COMMENT = 13,
    LAST_FIELD = 15
};

size_t profile_bytes_most = (size_t)1 << 30;

typedef struct function {
    uint64_t name, file; // strings
} function;

typedef struct mapping {
    uint64_t start, limit, offset, path, build_id; // the last two: strings
    uint32_t module;                               // 0: not made yet
} mapping;

typedef struct location {
    import_wire message;
    size_t first, count; // of its frames
    bool is_read;        // they are known
} location;

typedef struct type {
    uint64_t name, unit; // strings
    uint32_t names[2];   // the same as names of the trace
} type;

typedef struct pprof {
    profile p;
    import_job *job;
    uint8_t *bytes;
    size_t size;
    ts_text *strings;
    function *functions;
    mapping *mappings;
    location *locations;
    ts_frame_entry *frames; // of the locations that samples use
    type *types;
    size_t string_count, function_count, mapping_count, location_count;
    size_t type_count, frame_count, frame_room;
    size_t string_room, function_room, mapping_room, location_room, type_room;
    cli_map function_ids, mapping_ids, location_ids; // to indexes
} pprof;

/* ---- Recognition --------------------------------------------------------- */

static bool is_value_type(import_wire w)
{
    import_field f;
    while (import_wire_field(&w, &f))
        if (f.type != IMPORT_VARINT || f.number > 2) return false;
    return w.at == w.end;
}

static bool fits(const import_field *f)
{
    const bool message = f->number <= STRING || f->number == PERIOD_TYPE;
    if (f->number > LAST_FIELD) return false;
    if (f->number == COMMENT) return f->type <= IMPORT_BYTES;
    return f->type == (message ? IMPORT_BYTES : IMPORT_VARINT);
}

// All fields of the beginning have the form that theirs has, though the last
// one may be cut; one of them is a type, and two are not.
static bool recognise(import_source *source)
{
    size_t size, types = 0, others = 0;
    const uint8_t *const head = import_source_head(source, &size);
    import_wire w = { head, head + size };
    import_field f;
    while (import_wire_field(&w, &f)) {
        if (!fits(&f) || (f.number == SAMPLE_TYPE && !is_value_type(f.bytes)))
            return false;
        *(f.number == SAMPLE_TYPE ? &types : &others) += 1;
    }
    return types && (others > 1 || (others && w.at == w.end));
}

/* ---- Tables -------------------------------------------------------------- */

static ts_text text_of(const pprof *x, uint64_t string)
{
    const ts_text none = { "", 0 };
    return string < x->string_count ? x->strings[string] : none;
}

static uint32_t name_of(const pprof *x, uint64_t string)
{
    const ts_text text = text_of(x, string);
    return text.size ? import_name(x->job, text.text, text.size) : 0;
}

// Reads the numbers of a message: values[n] receives field n, up to `most`.
static void read_numbers(import_wire w, uint64_t *values, uint32_t most)
{
    import_field f;
    memset(values, 0, (most + 1) * sizeof *values);
    while (import_wire_field(&w, &f))
        if (f.type == IMPORT_VARINT && f.number <= most)
            values[f.number] = f.value;
}

#define ADD(x, list, value) \
    (cli_grow(&(x)->list##s, &(x)->list##_room, (x)->list##_count + 1, \
              sizeof *(x)->list##s) \
         ? ((x)->list##s[(x)->list##_count++] = (value), true) \
         : ((x)->p.no_memory = true, false))

static void number_it(pprof *x, cli_map *ids, uint64_t id, size_t index)
{
    if (!cli_map_set(ids, id, (uint32_t)index)) x->p.no_memory = true;
}

static void take_table(pprof *x, const import_field *f)
{
    uint64_t v[8];
    if (f->type != IMPORT_BYTES) return;
    read_numbers(f->bytes, v, 7);
    if (f->number == STRING) {
        const ts_text text = { (const char *)f->bytes.at,
                               (size_t)(f->bytes.end - f->bytes.at) };
        ADD(x, string, text);
    } else if (f->number == FUNCTION) {
        const function made = { v[2] ? v[2] : v[3], v[4] };
        if (ADD(x, function, made))
            number_it(x, &x->function_ids, v[1], x->function_count - 1);
    } else if (f->number == MAPPING) {
        const mapping made = { v[2], v[3], v[4], v[5], v[6], 0 };
        if (ADD(x, mapping, made))
            number_it(x, &x->mapping_ids, v[1], x->mapping_count - 1);
    } else if (f->number == LOCATION) {
        const location made = { .message = f->bytes };
        if (ADD(x, location, made))
            number_it(x, &x->location_ids, v[1], x->location_count - 1);
    } else if (f->number == SAMPLE_TYPE) {
        const type made = { v[1], v[2], { 0, 0 } };
        ADD(x, type, made);
    }
}

/* ---- Frames -------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                  : -1;
}

// A build-id is written in hexadecimal; one that is not says nothing.
static size_t read_build_id(ts_text text, uint8_t id[64])
{
    size_t size = 0;
    for (; 2 * size + 1 < text.size && size < 64; size++) {
        const int high = digit_of(text.text[2 * size]);
        const int low = digit_of(text.text[2 * size + 1]);
        if (high < 0 || low < 0) return 0;
        id[size] = (uint8_t)(high << 4 | low);
    }
    return size;
}

static uint32_t module_of(pprof *x, mapping *m)
{
    uint8_t id[64];
    if (m->module) return m->module;
    const ts_text build_id = text_of(x, m->build_id);
    ts_module_entry entry = { .path = name_of(x, m->path),
                              .address = m->start - m->offset };
    if (m->limit > m->start) entry.size = m->limit - entry.address;
    m->module = ts_writer_module(x->job->writer, &entry, id,
                                 read_build_id(build_id, id));
    return m->module;
}

static mapping *mapping_of(const pprof *x, uint64_t id)
{
    const uint32_t at = id ? cli_map_row(&x->mapping_ids, id) : CLI_NONE;
    return at == CLI_NONE ? NULL : &x->mappings[at];
}

// A location without functions is an address in its file.
static void add_address(pprof *x, uint64_t address, mapping *m)
{
    ts_frame_entry frame = { .offset = address };
    if (m) {
        frame.module = module_of(x, m);
        frame.offset = address - m->start + m->offset;
    }
    ADD(x, frame, frame);
}

static void add_line(pprof *x, import_wire line, const mapping *m)
{
    uint64_t v[3];
    read_numbers(line, v, 2);
    const uint32_t at = cli_map_row(&x->function_ids, v[1]);
    profile_function made = { .line = v[2] <= UINT32_MAX ? (uint32_t)v[2] : 0 };
    if (at == CLI_NONE) import_flaw(x->job, "unknown_function");
    if (m) made.module = name_of(x, m->path);
    if (at != CLI_NONE) made.name = name_of(x, x->functions[at].name);
    if (at != CLI_NONE) made.file = name_of(x, x->functions[at].file);
    if (!made.name) made.name = profile_name(&x->p, "", 0);
    const ts_frame_entry frame = profile_frame(&x->p, &made);
    ADD(x, frame, frame);
}

// Its functions come innermost first: those that were inlined, then the one
// that was called.
// They are looked up once, and no more of them than a stack can have: a short
// message may name a location of many functions again and again.
static void read_location(pprof *x, location *l)
{
    uint64_t v[4];
    import_wire w = l->message;
    import_field f;
    read_numbers(w, v, 3);
    mapping *const m = mapping_of(x, v[2]);
    l->is_read = true;
    l->first = x->frame_count;
    while (x->frame_count - l->first <= PROFILE_FRAMES_MOST &&
           !x->p.no_memory && import_wire_field(&w, &f))
        if (f.number == 4 && f.type == IMPORT_BYTES) add_line(x, f.bytes, m);
    if (x->frame_count == l->first) add_address(x, v[3], m);
    l->count = x->frame_count - l->first;
}

static void push_location(pprof *x, uint64_t id)
{
    const uint32_t at = cli_map_row(&x->location_ids, id);
    if (at == CLI_NONE) {
        import_flaw(x->job, "unknown_location");
        return;
    }
    location *const l = &x->locations[at];
    if (!l->is_read) read_location(x, l);
    // One frame too many says that the stack is too deep.
    for (size_t i = 0; i < l->count && x->p.frame_count <= PROFILE_FRAMES_MOST;
         i++)
        profile_push(&x->p, &x->frames[l->first + i]);
}

/* ---- Samples ------------------------------------------------------------- */

// The sample in progress.
typedef struct sample {
    pprof *x;
    uint32_t thread, stack;
    size_t count; // of its values so far
} sample;

// Calls take() for the numbers of a field, which may be packed.
static void each_number(sample *v, const import_field *f,
                        void (*take)(sample *v, uint64_t value))
{
    import_wire w = f->bytes;
    uint64_t value;
    if (f->type == IMPORT_VARINT) take(v, f->value);
    while (f->type == IMPORT_BYTES && w.at < w.end &&
           import_wire_varint(&w, &value))
        take(v, value);
}

static void put_location(sample *v, uint64_t id)
{
    push_location(v->x, id);
}

static void put_value(sample *v, uint64_t value)
{
    pprof *const x = v->x;
    if (v->count == x->type_count) {
        import_bad(x->job, "extra_value", IMPORT_NONE);
        return;
    }
    const type *const t = &x->types[v->count++];
    const profile_weight weight = { t->names[0], t->names[1], TS_VALUE_INT,
                                    value };
    profile_sample(&x->p, v->thread, 0, &weight, v->stack);
}

static void count_label(pprof *x, import_wire label)
{
    uint64_t v[2];
    read_numbers(label, v, 1);
    const ts_text key = text_of(x, v[1]);
    import_unowned(x->job, key.text, key.size);
}

static void take_sample(pprof *x, import_wire message, uint32_t thread)
{
    import_field f;
    sample v = { .x = x, .thread = thread };
    x->job->rows++;
    for (import_wire w = message; import_wire_field(&w, &f);)
        if (f.number == 1) each_number(&v, &f, put_location);
    v.stack = profile_stack(&x->p, false);
    for (import_wire w = message; import_wire_field(&w, &f);) {
        if (f.number == 2) each_number(&v, &f, put_value);
        if (f.number == 3 && f.type == IMPORT_BYTES) count_label(x, f.bytes);
    }
    if (v.count < x->type_count) import_bad(x->job, "no_value", IMPORT_NONE);
}

/* ---- The file ------------------------------------------------------------ */

static bool read_bytes(pprof *x)
{
    size_t room = 0, got = 1;
    while (got) {
        if (x->size == room) {
            room = room ? 2 * room : 1 << 16;
            if (room > profile_bytes_most)
                return import_fail(x->job, "is larger than any profile of "
                                           "pprof (1 GiB)");
            uint8_t *const more = realloc(x->bytes, room);
            if (!more) return import_out_of_memory(x->job);
            x->bytes = more;
        }
        got = import_source_read(x->job->source, x->bytes + x->size,
                                 room - x->size);
        x->size += got;
        import_progress(x->job);
    }
    return true;
}

static void take_fact(pprof *x, const import_field *f)
{
    const int64_t value = (int64_t)f->value;
    if (f->type != IMPORT_VARINT || !value) return;
    if (f->number == TIME) {
        x->job->has_unix_offset = true;
        x->job->unix_offset_ns = value;
    } else if (f->number == DURATION) {
        import_meta_int(x->job, 0, "profile.duration_ns", value);
    } else if (f->number == PERIOD) {
        import_meta_int(x->job, 0, "profile.period", value);
    }
}

static void read_all(pprof *x)
{
    import_wire w = { x->bytes, x->bytes + x->size };
    import_field f;
    while (!x->p.no_memory && import_wire_field(&w, &f))
        take_table(x, &f);
    if (w.at < w.end) {
        import_bad(x->job, "broken_message", IMPORT_NONE);
        x->job->is_cut = true;
    }
    for (size_t i = 0; i < x->type_count; i++) {
        x->types[i].names[0] = name_of(x, x->types[i].name);
        x->types[i].names[1] = name_of(x, x->types[i].unit);
    }
    const char *const name = import_source_base(x->job->source);
    const uint32_t thread = import_thread(x->job, IMPORT_NONE, 1);
    import_track_name(x->job, thread, name, strlen(name));
    w = (import_wire){ x->bytes, x->bytes + x->size };
    while (!x->p.no_memory && import_wire_field(&w, &f)) {
        if (f.number == SAMPLE && f.type == IMPORT_BYTES)
            take_sample(x, f.bytes, thread);
        else
            take_fact(x, &f);
    }
}

static bool import(import_job *job)
{
    pprof x = { .p = profile_open(job), .job = job };
    bool good = read_bytes(&x);
    if (good) read_all(&x);
    free(x.bytes);
    free(x.strings);
    free(x.functions);
    free(x.mappings);
    free(x.locations);
    free(x.frames);
    free(x.types);
    cli_map_close(&x.function_ids);
    cli_map_close(&x.mapping_ids);
    cli_map_close(&x.location_ids);
    return profile_close(&x.p) && good;
}

const import_format import_pprof = {
    .name = "pprof",
    .title = "profiles of pprof (protobuf)",
    .recognise = recognise,
    .import = import,
};
