/*
    speedscope.c - speedscope's JSON: a sampled profile for each thread and type

    Source: file-format-spec.ts of speedscope.
*/
#include "tools/export/profile/profile.h"
#include "tools/export/json.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct speedscope {
    const ts_reader *reader;
    export_out *out;
    export_buffer block, frames;
    export_map known; // frames to index + 1
    uint64_t frame_count;
    bool comma; // the next element needs one
} speedscope;

static void put(speedscope *s, const char *text)
{
    export_put(&s->block, text, strlen(text));
}

static void flush(speedscope *s)
{
    if (s->block.size >= EXPORT_BLOCK_BYTES)
        export_out_block(s->out, &s->block);
}

/* ---- Frames -------------------------------------------------------------- */

static void define_frame(speedscope *s, const ts_frame_entry *frame,
                         uint32_t at)
{
    export_buffer *const b = &s->frames;
    export_buffer name = { 0 };
    symbolize_line line;
    export_put_frame(&name, s->reader, frame, at);
    export_put(b, b->size ? ",\n{\"name\":" : "{\"name\":", b->size ? 10 : 8);
    export_json_string(b, (ts_text){ (char *)name.data, name.size });
    export_resize(name.data, 0);
    if (symbolize_place(s->reader, frame, at, &line) && line.file.size) {
        export_put(b, ",\"file\":", 8);
        export_json_string(b, line.file);
    }
    if (symbolize_place(s->reader, frame, at, &line) && line.line) {
        export_put(b, ",\"line\":", 8);
        export_json_uint(b, line.line);
    }
    export_put(b, "}", 1);
}

static void take_frame(void *user, const ts_frame_entry *frame, uint32_t at)
{
    speedscope *const s = user;
    const uint64_t key =
        cli_hash_join(cli_hash_join(frame->module, at), frame->offset);
    uint64_t *const known =
        export_map_at(&s->known, key == EXPORT_NO_KEY ? 0 : key);
    if (!*known) {
        *known = ++s->frame_count;
        define_frame(s, frame, at);
    }
    if (s->comma) put(s, ",");
    s->comma = true;
    export_json_uint(&s->block, *known - 1);
}

/* ---- Profiles ------------------------------------------------------------ */

static const char *unit_of(const profile_type *t)
{
    static const char *const units[] = { "nanoseconds", "microseconds",
                                         "milliseconds", "seconds" };
    double scale = 1;
    for (size_t i = 0; i < 4 && t->measure.of == CLI_TIME; i++, scale *= 1000)
        if (t->measure.scale == scale) return units[i];
    return t->measure.of == CLI_SIZE && t->measure.scale == 1 ? "bytes"
                                                              : "none";
}

// Appends a time in a unit: a whole number where it is one.
static void put_time(speedscope *s, double value)
{
    if (fabs(value) < 9e15 && value == floor(value))
        export_json_int(&s->block, (int64_t)value);
    else
        export_json_double(&s->block, value);
}

static void put_title(speedscope *s, const profile_rows *rows,
                      const profile_row *row)
{
    const profile_type *const t = &rows->types[row->type];
    cli_text made;
    const ts_text thread = profile_thread(s->reader, row->track, &made);
    put(s, "{\"type\":\"sampled\",\"name\":\"");
    export_json_escaped(&s->block, thread);
    if (rows->type_count > 1 && t->name.size) {
        put(s, ": ");
        export_json_escaped(&s->block, t->name);
    }
    put(s, "\",\"unit\":\"");
    put(s, unit_of(t));
    put(s, "\"");
}

static void put_range(speedscope *s, const profile_type *t,
                      const profile_row *rows, size_t count)
{
    double start = 0, sum = 0;
    if (t->measure.of == CLI_TIME)
        start = (double)rows->time_ns / t->measure.scale;
    for (size_t i = 0; i < count; i++)
        sum += profile_weight_of(&rows[i]);
    put(s, ",\"startValue\":");
    put_time(s, start);
    put(s, ",\"endValue\":");
    put_time(s, start + sum);
}

static void put_profile(speedscope *s, const profile_rows *all,
                        const profile_row *rows, size_t count)
{
    put_title(s, all, rows);
    put_range(s, &all->types[rows->type], rows, count);
    put(s, ",\n\"samples\":[");
    for (size_t i = 0; i < count; i++) {
        put(s, i ? ",[" : "[");
        s->comma = false;
        profile_frames(s->reader, rows[i].stack, true, take_frame, s);
        put(s, "]");
        flush(s);
    }
    put(s, "],\n\"weights\":[");
    for (size_t i = 0; i < count; i++) {
        if (i) put(s, ",");
        profile_put_weight(&s->block, &rows[i]);
        flush(s);
    }
    put(s, "]}");
}

// By thread and type, in order of time.
static int by_profile(const void *left, const void *right)
{
    const profile_row *const a = left, *const b = right;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->type != b->type) return a->type < b->type ? -1 : 1;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void put_profiles(speedscope *s, profile_rows *rows)
{
    if (rows->count)
        qsort(rows->rows, rows->count, sizeof *rows->rows, by_profile);
    for (size_t i = 0, next; i < rows->count; i = next) {
        const profile_row *const first = &rows->rows[i];
        next = i + 1;
        while (next < rows->count && rows->rows[next].track == first->track &&
               rows->rows[next].type == first->type)
            next++;
        if (i) put(s, ",\n");
        put_profile(s, rows, first, next - i);
    }
}

static ts_result walk(ts_reader *reader, export_out *out,
                      const export_options *options, export_counts *counts)
{
    char version[64];
    profile_rows rows;
    speedscope s = { .reader = reader, .out = out };
    const ts_result result = profile_rows_read(&rows, reader, options, counts);
    snprintf(version, sizeof version, "{\"exporter\":\"TraceSmith %d.%d.%d\",",
             TS_VERSION_MAJOR, TS_VERSION_MINOR, TS_VERSION_PATCH);
    put(&s, version);
    put(&s, "\"$schema\":\"https://www.speedscope.app/"
            "file-format-schema.json\",\n\"profiles\":[\n");
    put_profiles(&s, &rows);
    put(&s, "],\n\"shared\":{\"frames\":[\n");
    export_put(&s.block, s.frames.data, s.frames.size);
    put(&s, "]}}\n");
    export_out_block(out, &s.block);
    counts->stack_samples = rows.count;
    export_map_free(&s.known);
    export_resize(s.frames.data, 0);
    export_resize(s.block.data, 0);
    profile_rows_free(&rows);
    return result;
}

static const char *const suffixes[] = { ".speedscope.json",
                                        ".speedscope.json.gz", NULL };

const export_format export_speedscope = {
    .name = "speedscope",
    .kind = CLI_SPEEDSCOPE,
    .suffixes = suffixes,
    .packing = EXPORT_GZIP,
    .of_samples = true,
    .walk = walk,
};
