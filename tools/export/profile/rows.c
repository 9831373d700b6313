/*
    rows.c - the samples of the trace, and what they measure
*/
#include "tools/export/profile/profile.h"
#include "tools/export/json.h"
#include <math.h>

static uint32_t type_of(profile_rows *p, export_map *types,
                        const ts_reader *reader, const ts_event *event)
{
    const uint64_t name = ts_event_value(event, TS_COLUMN_NAME);
    const uint64_t unit = ts_event_value(event, TS_COLUMN_UNIT);
    uint64_t *const known = export_map_at(types, name << 32 | unit);
    if (*known) return (uint32_t)*known - 1;
    p->types =
        export_grow(p->types, &p->type_room, p->type_count, sizeof *p->types);
    profile_type *const made = &p->types[p->type_count++];
    *made = (profile_type){ .name = ts_reader_name(reader, (uint32_t)name),
                            .unit = ts_reader_name(reader, (uint32_t)unit) };
    made->measure = cli_unit_of(made->unit);
    *known = p->type_count;
    return (uint32_t)p->type_count - 1;
}

static void take_row(profile_rows *p, export_map *types,
                     const ts_reader *reader, const ts_event *event)
{
    p->rows = export_grow(p->rows, &p->room, p->count, sizeof *p->rows);
    profile_row *const row = &p->rows[p->count++];
    *row = (profile_row){
        .time_ns = event->start_ns,
        .bits = ts_event_value(event, TS_COLUMN_VALUE),
        .order = p->count,
        .track = event->track,
        .stack = (uint32_t)ts_event_value(event, TS_COLUMN_STACK),
        .type = type_of(p, types, reader, event),
        .is_double = ts_event_value(event, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE,
    };
    p->threads |= row->track != p->rows[0].track;
    p->types[row->type].count++;
    p->types[row->type].total +=
        profile_weight_of(row) * p->types[row->type].measure.scale;
}

static void count_left_out(const ts_reader *reader, export_counts *counts)
{
    const ts_info *const info = ts_reader_info(reader);
    for (size_t i = 0; i < TS_EVENT_LIMIT; i++)
        if (i != TS_EVENT_SAMPLE) counts->left_out[i] = info->counts[i];
}

ts_result profile_rows_read(profile_rows *p, ts_reader *reader,
                            const export_options *options,
                            export_counts *counts)
{
    const ts_filter filter = { .kinds = TS_FILTER(SAMPLE),
                               .from_ns = options->from_ns,
                               .to_ns = options->to_ns };
    export_map types = { 0 };
    export_feed *feed;
    ts_event event;
    *p = (profile_rows){ 0 };
    *counts = (export_counts){ 0 };
    ts_result result = export_feed_open(&feed, reader, &filter);
    while (result == TS_OK && export_feed_next(feed, &event))
        if (event.kind == TS_EVENT_SAMPLE) take_row(p, &types, reader, &event);
    if (result == TS_OK) result = export_feed_result(feed);
    export_feed_close(feed);
    export_map_free(&types);
    count_left_out(reader, counts);
    return result;
}

void profile_rows_free(profile_rows *p)
{
    export_resize(p->rows, 0);
    export_resize(p->types, 0);
}

double profile_weight_of(const profile_row *row)
{
    double real = (double)(int64_t)row->bits;
    if (row->is_double) memcpy(&real, &row->bits, sizeof real);
    return isfinite(real) ? real : 0;
}

static cli_samples samples_of(const profile_type *t)
{
    return (cli_samples){ t->measure.of == CLI_TIME, t->total, t->count };
}

size_t profile_rows_main(const profile_rows *p)
{
    size_t best = 0;
    for (size_t i = 1; i < p->type_count; i++)
        if (cli_samples_lead(samples_of(&p->types[i]),
                             samples_of(&p->types[best])))
            best = i;
    return best;
}

ts_text profile_thread(const ts_reader *reader, uint32_t track, cli_text *made)
{
    ts_track of;
    if (ts_reader_track(reader, track, &of)) return cli_track_name(&of, made);
    *made = cli_format("track %" PRIu32, track);
    return (ts_text){ made->s, strlen(made->s) };
}

void profile_put_weight(export_buffer *b, const profile_row *row)
{
    const size_t from = b->size;
    if (!row->is_double) {
        export_json_int(b, (int64_t)row->bits);
        return;
    }
    export_json_double(b, profile_weight_of(row));
    for (size_t i = from; i < b->size; i++)
        if (strchr(".eE", b->data[i]) && b->data[i]) return;
    export_put(b, ".0", 2);
}
