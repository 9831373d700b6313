/*
    pprof.c - pprof's protobuf: samples with a value for each type

    It begins with its own name, so that ts-export knows its files again.

    Source: profile.proto of google/pprof.
*/
#include "tools/export/profile/profile.h"
#include "tools/export/proto.h"

enum { // Profile
    SAMPLE_TYPE = 1,
    SAMPLE = 2,
    MAPPING = 3,
    LOCATION = 4,
    FUNCTION = 5,
    STRING = 6,
    TIME = 9,
    DURATION = 10,
    COMMENT = 13
};

typedef struct pprof {
    const ts_reader *reader;
    export_out *out;
    export_buffer block;   // whole messages
    export_buffer strings; // those of the table, which comes last
    export_buffer message; // of a sample
    export_map texts, functions, locations, mappings; // hashes to numbers
    uint64_t text_count, function_count, location_count, mapping_count;
    uint64_t *values; // of the sample in progress, by type
} pprof;

// A number for each thing, from 1; 0 is no key of the maps.
static uint64_t number_of(export_map *map, uint64_t hash, uint64_t *count,
                          bool *fresh)
{
    uint64_t *const known =
        export_map_at(map, hash == EXPORT_NO_KEY ? 0 : hash);
    *fresh = !*known;
    if (*fresh) *known = ++*count;
    return *known;
}

/* ---- Tables -------------------------------------------------------------- */

static uint64_t string_of(pprof *x, ts_text text)
{
    bool fresh;
    if (!text.size) return 0;
    const uint64_t hash = cli_hash(text.text, text.size);
    const uint64_t number = number_of(&x->texts, hash, &x->text_count, &fresh);
    if (fresh) proto_text(&x->strings, STRING, text.text, text.size);
    return number;
}

static void put_build_id(pprof *x, ts_text id)
{
    static const char digits[] = "0123456789abcdef";
    char text[128];
    for (size_t i = 0; i < id.size && i < 64; i++) {
        text[2 * i] = digits[(uint8_t)id.text[i] >> 4];
        text[2 * i + 1] = digits[(uint8_t)id.text[i] & 15];
    }
    proto_uint(&x->block, 6, string_of(x, (ts_text){ text, 2 * id.size }));
}

// ts-import gives the module of functions without an address this build-id.
static bool is_made_up(ts_text id)
{
    return id.size == 1 && !*id.text;
}

static bool is_nameless(ts_text path, ts_text id)
{
    return is_made_up(id) && path.size == 7 && !memcmp(path.text, "profile", 7);
}

static uint64_t mapping_of(pprof *x, uint32_t id)
{
    bool fresh;
    const ts_module_entry *const module = ts_reader_module(x->reader, id);
    if (!module) return 0;
    const ts_text path = ts_reader_name(x->reader, module->path);
    const ts_text build_id = ts_reader_build_id(x->reader, id);
    if (is_nameless(path, build_id)) return 0;
    const uint64_t number =
        number_of(&x->mappings, id, &x->mapping_count, &fresh);
    if (!fresh) return number;
    const uint64_t name = string_of(x, path);
    const size_t begun = proto_begin(&x->block, MAPPING);
    proto_uint(&x->block, 1, number);
    proto_uint(&x->block, 2, module->address);
    proto_uint(&x->block, 3, module->address + module->size);
    proto_uint(&x->block, 5, name);
    if (!is_made_up(build_id)) put_build_id(x, build_id);
    proto_end(&x->block, begun);
    return number;
}

static uint64_t function_of(pprof *x, const ts_frame_entry *frame, uint32_t at,
                            const symbolize_line *line)
{
    export_buffer text = { 0 };
    bool fresh;
    export_put_frame(&text, x->reader, frame, at);
    const uint64_t name =
        string_of(x, (ts_text){ (char *)text.data, text.size });
    export_resize(text.data, 0);
    const uint64_t file = string_of(x, line->file);
    const uint64_t number = number_of(&x->functions, cli_hash_join(name, file),
                                      &x->function_count, &fresh);
    if (!fresh) return number;
    const size_t begun = proto_begin(&x->block, FUNCTION);
    proto_uint(&x->block, 1, number);
    proto_uint(&x->block, 2, name);
    proto_uint(&x->block, 3, name);
    proto_uint(&x->block, 4, file);
    proto_end(&x->block, begun);
    return number;
}

// A line of a location, in a buffer of its own: its function comes before it.
static void put_line(pprof *x, export_buffer *lines,
                     const ts_frame_entry *frame, uint32_t at)
{
    symbolize_line line;
    if (!symbolize_place(x->reader, frame, at, &line)) return;
    const uint64_t function = function_of(x, frame, at, &line);
    const size_t begun = proto_begin(lines, 4);
    proto_uint(lines, 1, function);
    proto_uint(lines, 2, line.line);
    proto_end(lines, begun);
}

static uint64_t location_of(pprof *x, const ts_frame_entry *frame)
{
    export_buffer lines = { 0 };
    bool fresh;
    const uint64_t number =
        number_of(&x->locations, cli_hash_join(frame->module, frame->offset),
                  &x->location_count, &fresh);
    if (!fresh) return number;
    const uint32_t depth = symbolize_depth(x->reader, frame);
    for (uint32_t i = 0; i < depth; i++)
        put_line(x, &lines, frame, i);
    const uint64_t mapping = mapping_of(x, frame->module);
    const ts_module_entry *const module =
        ts_reader_module(x->reader, frame->module);
    const bool addressed =
        !is_made_up(ts_reader_build_id(x->reader, frame->module));
    const size_t begun = proto_begin(&x->block, LOCATION);
    proto_uint(&x->block, 1, number);
    proto_uint(&x->block, 2, mapping);
    if (addressed)
        proto_uint(&x->block, 3,
                   frame->offset + (module ? module->address : 0));
    export_put(&x->block, lines.data, lines.size);
    proto_end(&x->block, begun);
    export_resize(lines.data, 0);
    return number;
}

/* ---- Samples ------------------------------------------------------------- */

static void put_locations(pprof *x, uint32_t stack)
{
    const ts_frame_entry *frames;
    const uint32_t count =
        stack ? ts_reader_stack(x->reader, stack, &frames) : 0;
    for (uint32_t i = 0; i < count; i++)
        proto_uint(&x->message, 1, location_of(x, &frames[i]));
}

static void put_label(pprof *x, uint32_t track)
{
    cli_text made;
    const ts_text thread = profile_thread(x->reader, track, &made);
    const uint64_t key = string_of(x, (ts_text){ "thread", 6 });
    const uint64_t value = string_of(x, thread);
    const size_t begun = proto_begin(&x->message, 3);
    proto_uint(&x->message, 1, key);
    proto_uint(&x->message, 2, value);
    proto_end(&x->message, begun);
}

// Values are whole numbers.
static int64_t value_of(const profile_row *row)
{
    const double real = profile_weight_of(row);
    if (!row->is_double) return (int64_t)row->bits;
    return real > 9e18    ? INT64_MAX
           : real < -9e18 ? INT64_MIN
                          : (int64_t)(real < 0 ? real - .5 : real + .5);
}

static void put_sample(pprof *x, const profile_rows *all, size_t from,
                       size_t to)
{
    const profile_row *const row = &all->rows[from];
    memset(x->values, 0, all->type_count * sizeof *x->values);
    for (size_t i = from; i < to; i++)
        x->values[all->rows[i].type] = (uint64_t)value_of(&all->rows[i]);
    x->message.size = 0;
    put_locations(x, row->stack);
    for (size_t i = 0; i < all->type_count; i++)
        proto_uint(&x->message, 2, x->values[i]);
    if (all->threads) put_label(x, row->track);
    const size_t begun = proto_begin(&x->block, SAMPLE);
    export_put(&x->block, x->message.data, x->message.size);
    proto_end(&x->block, begun);
    if (x->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(x->out, &x->block);
}

// Samples of one moment, thread and stack whose types rise are one.
static bool is_one(const profile_row *a, const profile_row *b)
{
    return a->time_ns == b->time_ns && a->track == b->track &&
           a->stack == b->stack && a->type < b->type;
}

static void put_samples(pprof *x, const profile_rows *all)
{
    x->values = export_zeroed(all->type_count + 1, sizeof *x->values);
    for (size_t i = 0, next; i < all->count; i = next) {
        next = i + 1;
        while (next < all->count &&
               is_one(&all->rows[next - 1], &all->rows[next]))
            next++;
        put_sample(x, all, i, next);
    }
    export_resize(x->values, 0);
}

static void put_head(pprof *x, const profile_rows *all)
{
    const ts_info *const info = ts_reader_info(x->reader);
    proto_text(&x->block, STRING, "", 0);
    proto_text(&x->block, STRING, "TraceSmith", 10);
    x->text_count = 1; // the second of them
    proto_uint(&x->block, COMMENT, 1);
    for (size_t i = 0; i < all->type_count; i++) {
        const uint64_t name = string_of(x, all->types[i].name);
        const uint64_t unit = string_of(x, all->types[i].unit);
        const size_t begun = proto_begin(&x->block, SAMPLE_TYPE);
        proto_uint(&x->block, 1, name);
        proto_uint(&x->block, 2, unit);
        proto_end(&x->block, begun);
    }
    if (info->start_realtime_ns)
        proto_uint(&x->block, TIME, info->start_realtime_ns);
    if (info->last_ns > info->first_ns)
        proto_uint(&x->block, DURATION,
                   (uint64_t)info->last_ns - (uint64_t)info->first_ns);
}

static ts_result walk(ts_reader *reader, export_out *out,
                      const export_options *options, export_counts *counts)
{
    profile_rows rows;
    pprof x = { .reader = reader, .out = out };
    const ts_result result = profile_rows_read(&rows, reader, options, counts);
    put_head(&x, &rows);
    put_samples(&x, &rows);
    export_put(&x.block, x.strings.data, x.strings.size);
    export_out_block(out, &x.block);
    counts->stack_samples = rows.count;
    export_buffer *const buffers[] = { &x.block, &x.strings, &x.message };
    for (size_t i = 0; i < 3; i++)
        export_resize(buffers[i]->data, 0);
    export_map *const maps[] = { &x.texts, &x.functions, &x.locations,
                                 &x.mappings };
    for (size_t i = 0; i < 4; i++)
        export_map_free(maps[i]);
    profile_rows_free(&rows);
    return result;
}

static const char *const suffixes[] = { ".pb.gz", ".pprof", ".pprof.gz", NULL };

const export_format export_pprof = {
    .name = "pprof",
    .kind = CLI_PPROF,
    .suffixes = suffixes,
    .packing = EXPORT_GZIP,
    .of_samples = true,
    .walk = walk,
};
