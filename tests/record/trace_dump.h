/*
    trace_dump.h - a trace as text that is the same on every machine

    Identifiers are replaced by what they stand for; what differs from run to
    run (process, session, Unix time, the machine's metadata) is left out.
*/
#ifndef TRACE_DUMP_H
#define TRACE_DUMP_H

#include "tests/record/record_fixture.h"

static void rt_dump_text(FILE *out, ts_text text)
{
    fputc('"', out);
    for (size_t i = 0; i < text.size && i < 100; i++) {
        const uint8_t c = (uint8_t)text.text[i];
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < ' ' || c > '~')
            fprintf(out, "\\x%02x", c);
        else
            fputc(c, out);
    }
    fputc('"', out);
    if (text.size > 100) fprintf(out, "... %zu bytes", text.size);
}

static void rt_dump_name(FILE *out, const rt_trace *trace, uint64_t name)
{
    rt_dump_text(out, ts_reader_name(trace->reader, (uint32_t)name));
}

static void rt_dump_track(FILE *out, const rt_trace *trace, uint64_t id)
{
    static const char *const types[] = { "track 0", "process", "thread",
                                         "device",  "context", "stream",
                                         "counter" };
    ts_track track;
    if (!ts_reader_track(trace->reader, (uint32_t)id, &track)) {
        fprintf(out, "track %" PRIu64, id);
        return;
    }
    fputs(types[track.type <= TS_TRACK_COUNTER ? track.type : 0], out);
    if (track.type == TS_TRACK_PROCESS) return;
    fputc(' ', out);
    rt_dump_text(out, track.name);
}

static void rt_dump_site(FILE *out, const rt_trace *trace, uint64_t id)
{
    const ts_site_entry *const site =
        ts_reader_site(trace->reader, (uint32_t)id);
    if (!site) {
        fprintf(out, "site %" PRIu64, id);
        return;
    }
    rt_dump_name(out, trace, site->name);
    if (site->category) {
        fputc('/', out);
        rt_dump_name(out, trace, site->category);
    }
    if (site->color) fprintf(out, "/#%06" PRIx32, site->color);
}

static void rt_dump_launch(FILE *out, const rt_trace *trace, uint64_t id)
{
    const ts_launch_entry *const l =
        ts_reader_launch(trace->reader, (uint32_t)id);
    if (!l) {
        fprintf(out, "launch %" PRIu64, id);
        return;
    }
    rt_dump_name(out, trace, l->name);
    const uint32_t *const three[] = { l->grid, l->block, l->cluster };
    for (int i = 0; i < 3; i++)
        fprintf(out, " %" PRIu32 "x%" PRIu32 "x%" PRIu32, three[i][0],
                three[i][1], three[i][2]);
    fprintf(out, " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32, l->registers,
            l->static_shared, l->dynamic_shared, l->local);
}

static void rt_dump_stack(FILE *out, const rt_trace *trace, uint64_t id)
{
    const ts_frame_entry *frames;
    const uint32_t count =
        ts_reader_stack(trace->reader, (uint32_t)id, &frames);
    for (uint32_t i = 0; i < count; i++) {
        const ts_module_entry *const module =
            ts_reader_module(trace->reader, frames[i].module);
        fputs(i ? " < " : "", out);
        if (module) rt_dump_name(out, trace, module->path);
        fprintf(out, "+0x%" PRIx64, frames[i].offset);
    }
}

static void rt_dump_value(FILE *out, const rt_trace *trace,
                          const ts_event *event, ts_column column)
{
    const uint64_t value = ts_event_value(event, column);
    const bool real = column == TS_COLUMN_VALUE &&
                      ts_event_value(event, TS_COLUMN_TYPE) == TS_VALUE_DOUBLE;
    fprintf(out, " %s=", ts_column_name(column));
    switch (column) {
    case TS_COLUMN_SITE: rt_dump_site(out, trace, value); break;
    case TS_COLUMN_NAME:
    case TS_COLUMN_POOL:
    case TS_COLUMN_UNIT:
    case TS_COLUMN_CATEGORY: rt_dump_name(out, trace, value); break;
    case TS_COLUMN_THREAD:
    case TS_COLUMN_PEER: rt_dump_track(out, trace, value); break;
    case TS_COLUMN_LAUNCH: rt_dump_launch(out, trace, value); break;
    case TS_COLUMN_STACK: rt_dump_stack(out, trace, value); break;
    case TS_COLUMN_ADDRESS:
    case TS_COLUMN_SOURCE: fprintf(out, "0x%" PRIx64, value); break;
    default:
        if (real)
            fprintf(out, "%.17g", rt_double(value));
        else
            fprintf(out, "%" PRId64, (int64_t)value);
        break;
    }
}

static void rt_dump_event(FILE *out, const rt_trace *trace,
                          const ts_event *event)
{
    fprintf(out, "%" PRId64 " +%" PRId64 " %s on ", event->start_ns,
            event->duration_ns, ts_event_name(event->kind));
    rt_dump_track(out, trace, event->track);
    fputc(':', out);
    for (int column = 1; column < TS_COLUMN_LIMIT; column++)
        if (ts_event_value(event, (ts_column)column))
            rt_dump_value(out, trace, event, (ts_column)column);
    if (event->columns->text_sizes) {
        fputs(" text=", out);
        rt_dump_text(out, ts_event_text(event));
    }
    fputc('\n', out);
}

// Keys that begin with "golden", and all of tracks.
static void rt_dump_metadata(FILE *out, const rt_trace *trace)
{
    ts_metadata m;
    for (size_t i = 0; i < ts_reader_metadata_count(trace->reader); i++) {
        if (!ts_reader_metadata_at(trace->reader, i, &m) ||
            (!m.track && strncmp(m.key.text, "golden", 6)))
            continue;
        fputs("metadata of ", out);
        if (m.track)
            rt_dump_track(out, trace, m.track);
        else
            fputs("session", out);
        fprintf(out, ": %s=", m.key.text);
        if (m.type == TS_VALUE_TEXT)
            rt_dump_text(out, m.text);
        else if (m.type == TS_VALUE_DOUBLE)
            fprintf(out, "%.17g", m.real);
        else
            fprintf(out, "%" PRId64, m.number);
        fputc('\n', out);
    }
}

static void rt_dump_tracks(FILE *out, const rt_trace *trace)
{
    ts_track track;
    for (size_t i = 0; i < trace->info->track_count; i++) {
        if (!ts_reader_track_at(trace->reader, i, &track)) continue;
        rt_dump_track(out, trace, track.id);
        if (track.parent) {
            fputs(" in ", out);
            rt_dump_track(out, trace, track.parent);
        }
        if (track.unit.size) {
            fputs(" unit ", out);
            rt_dump_text(out, track.unit);
        }
        if (track.type > TS_TRACK_THREAD)
            fprintf(out, " number %" PRIu64 " flags 0x%" PRIx64, track.number,
                    track.flags);
        fputc('\n', out);
    }
}

static void rt_dump_losses(FILE *out, const rt_trace *trace)
{
    ts_loss_row row;
    for (size_t i = 0; ts_reader_loss(trace->reader, i, &row); i++) {
        fprintf(out, "%s %" PRIu64 " on ", ts_loss_name(row.cause), row.count);
        rt_dump_track(out, trace, row.track);
        fprintf(out, " %" PRId64 " to %" PRId64 " ", row.first_ns, row.last_ns);
        rt_dump_name(out, trace, row.detail);
        fputc('\n', out);
    }
}

static void rt_dump_blobs(FILE *out, const rt_trace *trace)
{
    ts_chunk_info info;
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &info); i++)
        if (info.header.kind == TS_CHUNK_BLOB)
            fprintf(out, "blob of %" PRIu32 " bytes\n",
                    info.header.raw_size - 16);
}

RT_UNUSED static void rt_dump(FILE *out, const rt_trace *trace)
{
    ts_cursor *cursor;
    ts_event event;
    rt_dump_tracks(out, trace);
    rt_dump_metadata(out, trace);
    assert_int_equal(ts_cursor_open(&cursor, trace->reader, NULL), TS_OK);
    while (ts_cursor_next(cursor, &event))
        rt_dump_event(out, trace, &event);
    assert_int_equal(ts_cursor_result(cursor), TS_OK);
    ts_cursor_close(cursor);
    rt_dump_losses(out, trace);
    rt_dump_blobs(out, trace);
}

#endif // TRACE_DUMP_H
