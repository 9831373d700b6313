/*
    json.c - ts-info --json, and functions that both reports use
*/
#include "tools/info/info.h"

uint64_t info_event_count(const ts_info *info)
{
    uint64_t sum = 0;
    for (int kind = 0; kind < TS_EVENT_LIMIT; kind++)
        sum += info->counts[kind];
    return sum;
}

cli_text info_session(const ts_info *info)
{
    cli_text text;
    for (size_t i = 0; i < 16; i++)
        snprintf(text.s + i * 2, 3, "%02x", info->session[i]);
    return text;
}

const char *info_chunk_name(uint32_t kind)
{
    static const char *const names[] = {
        [TS_CHUNK_NAMES] = "names",     [TS_CHUNK_SITES] = "sites",
        [TS_CHUNK_TRACKS] = "tracks",   [TS_CHUNK_LAUNCHES] = "launches",
        [TS_CHUNK_MODULES] = "modules", [TS_CHUNK_STACKS] = "stacks",
        [TS_CHUNK_CLOCK] = "clock",     [TS_CHUNK_METADATA] = "metadata",
        [TS_CHUNK_LOSS] = "loss",       [TS_CHUNK_SYMBOLS] = "symbols",
        [TS_CHUNK_EVENTS] = "events",   [TS_CHUNK_BLOB] = "blob",
        [TS_CHUNK_INDEX] = "index",     [TS_CHUNK_END] = "end",
        [TS_CHUNK_TOP] = "top",         [TS_CHUNK_PICTURES] = "pictures",
    };
    const bool known = kind < sizeof names / sizeof *names && names[kind];
    return known ? names[kind] : "unknown";
}

static void json_metadata(cli_json *json, const cli_trace *trace,
                          uint32_t track)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(trace->reader, i, &m); i++) {
        if (m.track != track) continue;
        const char *const key = m.key.text; // ends with a zero byte
        if (m.type == TS_VALUE_INT)
            cli_json_int(json, key, m.number);
        else if (m.type == TS_VALUE_DOUBLE)
            cli_json_real(json, key, m.real);
        else
            cli_json_text(json, key, m.text.text, m.text.size);
    }
}

static void json_session(cli_json *json, const ts_info *info)
{
    char format[16];
    snprintf(format, sizeof format, "%u.%u", info->major, info->minor);
    cli_json_uint(json, "bytes", info->file_bytes);
    cli_json_string(json, "format", format);
    cli_json_string(json, "session", info_session(info).s);
    cli_json_uint(json, "process", info->process);
    cli_json_uint(json, "start_realtime_ns", info->start_realtime_ns);
    cli_json_int(json, "first_ns", info->first_ns);
    cli_json_int(json, "last_ns", info->last_ns);
    cli_json_int(json, "duration_ns", info->last_ns - info->first_ns);
    cli_json_bool(json, "finished", info->finished);
    cli_json_bool(json, "indexed", info->indexed);
    cli_json_bool(json, "live", info->live);
    cli_json_bool(json, "clock_estimated", info->clock_estimated);
    cli_json_uint(json, "events", info_event_count(info));
    cli_json_uint(json, "lost", info->lost);
    cli_json_uint(json, "salvaged", info->salvaged);
    cli_json_string(json, "salvage", ts_result_text(info->salvage));
    cli_json_uint(json, "names", info->name_count);
    cli_json_uint(json, "sites", info->site_count);
    cli_json_uint(json, "launches", info->launch_count);
    cli_json_uint(json, "chunks", info->chunk_count);
    cli_json_uint(json, "unknown_chunks", info->unknown_chunks);
    cli_json_uint(json, "unknown_events", info->unknown_events);
}

// Writes an object with a number for each kind that this version knows.
static void json_kinds(cli_json *json, const char *key, const uint64_t *values)
{
    cli_json_open(json, key, '{');
    for (uint32_t kind = 0; kind < TS_EVENT_LIMIT; kind++)
        if (ts_event_columns(kind))
            cli_json_uint(json, ts_event_name(kind), values[kind]);
    cli_json_close(json, '}');
}

// Lists the tracks of one type (0: of all types).
static void json_tracks(cli_json *json, const char *key, const cli_trace *trace,
                        const uint64_t *events, uint32_t type)
{
    ts_track track;
    cli_json_open(json, key, '[');
    for (size_t i = 0; ts_reader_track_at(trace->reader, i, &track); i++) {
        if (type && track.type != type) continue;
        cli_json_open(json, NULL, '{');
        cli_json_uint(json, "id", track.id);
        cli_json_string(json, "type", cli_track_type(track.type));
        cli_json_text(json, "name", track.name.text, track.name.size);
        cli_json_uint(json, "number", track.number);
        cli_json_uint(json, "parent", track.parent);
        cli_json_uint(json, "flags", track.flags);
        if (events) cli_json_uint(json, "events", events[i]);
        cli_json_text(json, "unit", track.unit.text, track.unit.size);
        cli_json_open(json, "metadata", '{');
        json_metadata(json, trace, track.id);
        cli_json_close(json, '}');
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_losses(cli_json *json, const cli_trace *trace)
{
    ts_loss_row row;
    cli_json_open(json, "losses", '[');
    for (size_t i = 0; ts_reader_loss(trace->reader, i, &row); i++) {
        const ts_text detail = ts_reader_name(trace->reader, row.detail);
        cli_json_open(json, NULL, '{');
        cli_json_string(json, "cause", ts_loss_name(row.cause));
        cli_json_uint(json, "track", row.track);
        cli_json_uint(json, "count", row.count);
        cli_json_int(json, "first_ns", row.first_ns);
        cli_json_int(json, "last_ns", row.last_ns);
        cli_json_uint(json, "stall_ns", row.stall_ns);
        cli_json_text(json, "detail", detail.text, detail.size);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_damage(cli_json *json, const cli_trace *trace)
{
    ts_damage damage;
    cli_json_open(json, "damage", '[');
    for (size_t i = 0; ts_reader_damage(trace->reader, i, &damage); i++) {
        cli_json_open(json, NULL, '{');
        cli_json_uint(json, "offset", damage.offset);
        cli_json_uint(json, "size", damage.size);
        cli_json_int(json, "result", damage.result);
        cli_json_string(json, "text", damage.text);
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

static void json_chunks(cli_json *json, const cli_trace *trace)
{
    ts_chunk_info chunk;
    cli_json_open(json, "chunk_list", '[');
    for (size_t i = 0; ts_reader_chunk(trace->reader, i, &chunk); i++) {
        const ts_chunk_header *const h = &chunk.header;
        cli_json_open(json, NULL, '{');
        cli_json_uint(json, "offset", chunk.offset);
        cli_json_string(json, "kind", info_chunk_name(h->kind));
        cli_json_uint(json, "count", h->count);
        cli_json_uint(json, "stored_bytes", h->stored_size);
        cli_json_uint(json, "raw_bytes", h->raw_size);
        if (h->kind == TS_CHUNK_EVENTS) {
            cli_json_string(json, "event", ts_event_name(h->event));
            cli_json_uint(json, "track", h->track);
            cli_json_int(json, "first_ns", chunk.first_ns);
            cli_json_int(json, "last_ns", chunk.last_ns);
        }
        cli_json_close(json, '}');
    }
    cli_json_close(json, ']');
}

void info_json(const cli_trace *trace, const char *path, bool verified,
               bool chunks)
{
    cli_json json = { .out = stdout, .lines = 2 };
    cli_json_open(&json, NULL, '{');
    cli_json_string(&json, "file", path);
    json_session(&json, trace->info);
    cli_json_open(&json, "metadata", '{');
    json_metadata(&json, trace, 0);
    cli_json_close(&json, '}');
    json_kinds(&json, "counts", trace->info->counts);
    json_kinds(&json, "stored_bytes", trace->info->stored_bytes);
    uint64_t *const events = info_track_events(trace);
    json_tracks(&json, "tracks", trace, events, 0);
    json_tracks(&json, "devices", trace, events, TS_TRACK_DEVICE);
    free(events);
    json_losses(&json, trace);
    cli_json_bool(&json, "verified", verified);
    json_damage(&json, trace);
    if (chunks) json_chunks(&json, trace);
    cli_json_close(&json, '}');
}
