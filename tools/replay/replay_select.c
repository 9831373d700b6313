/*
    replay_select.c - what --stream and --device mean
*/
#include "tools/replay/replay.h"

// The device above a track; parents of a hostile trace may form a circle.
static bool device_of(const ts_reader *reader, ts_track track, ts_track *device)
{
    for (int depth = 0; depth < 8; depth++) {
        *device = track;
        if (track.type == TS_TRACK_DEVICE) return true;
        if (!ts_reader_track(reader, device->parent, &track)) return false;
    }
    return false;
}

static bool parse_number(const char *text, size_t size, uint64_t *number)
{
    *number = 0;
    if (!size || size > 19) return false;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static bool is_named(const ts_track *track, const char *text, size_t size)
{
    cli_text made;
    const ts_text name = cli_track_name(track, &made);
    return name.size == size && !memcmp(name.text, text, size);
}

static bool stream_matches(const replay_job *job, const ts_track *track,
                           const char *text, size_t size)
{
    if (track->type != TS_TRACK_STREAM) return false;
    uint64_t number, device_number;
    if (parse_number(text, size, &number)) return track->number == number;
    const char *const colon = memchr(text, ':', size);
    const size_t before = colon ? (size_t)(colon - text) : 0;
    ts_track device;
    if (colon && parse_number(text, before, &device_number) &&
        parse_number(colon + 1, size - before - 1, &number))
        return track->number == number &&
               device_of(job->trace.reader, *track, &device) &&
               device.number == device_number;
    return is_named(track, text, size);
}

static bool device_matches(const replay_job *job, const ts_track *track,
                           const char *text, size_t size)
{
    (void)job;
    if (track->type != TS_TRACK_DEVICE) return false;
    uint64_t number;
    if (parse_number(text, size, &number)) return track->number == number;
    return is_named(track, text, size);
}

// What to look for: streams or devices.
typedef struct want {
    const char *what;
    bool (*matches)(const replay_job *job, const ts_track *track,
                    const char *text, size_t size);
} want;

static size_t collect(const replay_job *job, const want *w, const char *text,
                      size_t size, replay_list *list)
{
    const size_t before = list->count;
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(job->trace.reader, i, &track); i++)
        if (w->matches(job, &track, text, size))
            list->tracks[list->count++] = track.id;
    return list->count - before;
}

void replay_put_track(FILE *out, const replay_job *job, const ts_track *track)
{
    cli_text made;
    ts_track device;
    const ts_text name = cli_track_name(track, &made);
    if (track->type == TS_TRACK_STREAM &&
        device_of(job->trace.reader, *track, &device))
        fprintf(out, "%" PRIu64 ":", device.number);
    if (track->type == TS_TRACK_STREAM || track->type == TS_TRACK_DEVICE)
        fprintf(out, "%" PRIu64, track->number);
    else
        fputs(cli_track_type(track->type), out);
    if (!track->name.size) return;
    fputs(" (", out);
    cli_put_text(out, name.text, name.size);
    fputc(')', out);
}

// All streams or devices of the trace, as they can be asked for.
static void say_choice(const replay_job *job, const want *w)
{
    enum { SHOWN = 16 };
    size_t count = 0;
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(job->trace.reader, i, &track); i++) {
        const bool is = w->matches == stream_matches
                            ? track.type == TS_TRACK_STREAM
                            : track.type == TS_TRACK_DEVICE;
        if (!is) continue;
        if (count++ >= SHOWN) continue;
        fprintf(stderr, count == 1 ? "  %ss of the trace: " : ", ", w->what);
        replay_put_track(stderr, job, &track);
    }
    if (count > SHOWN) fprintf(stderr, " and %zu more", count - SHOWN);
    if (count) fputc('\n', stderr);
}

static void say_several(const replay_job *job, const want *w, const char *text,
                        size_t size, const replay_list *list, size_t found)
{
    uint64_t number;
    if (found < 2 || !parse_number(text, size, &number)) return;
    fprintf(stderr, "%s: %s: %s %.*s is there %zu times, all are meant: ",
            job->tool->name, job->path, w->what, (int)size, text, found);
    for (size_t i = list->count - found; i < list->count; i++) {
        ts_track track;
        if (!ts_reader_track(job->trace.reader, list->tracks[i], &track))
            continue;
        replay_put_track(stderr, job, &track);
        fputs(i + 1 < list->count ? ", " : "\n", stderr);
    }
}

static bool find_part(const replay_job *job, const want *w, const char *text,
                      size_t size, replay_list *list)
{
    const size_t found = collect(job, w, text, size, list);
    say_several(job, w, text, size, list, found);
    if (found) return true;
    fprintf(stderr, "%s: %s: no %s is '", job->tool->name, job->path, w->what);
    cli_put_text(stderr, text, size);
    fputs("'\n", stderr);
    say_choice(job, w);
    return false;
}

static bool find(const replay_job *job, const want *w, const char *text,
                 replay_list *list)
{
    // Every part of a list may name every track.
    size_t parts = 1;
    for (const char *at = text; *at; at++)
        parts += *at == ',';
    const size_t tracks = job->trace.info->track_count;
    list->count = 0;
    list->tracks = calloc(parts * tracks + 1, sizeof *list->tracks);
    if (!list->tracks) {
        cli_error(job->tool, NULL, "out of memory");
        return false;
    }
    // A name may hold a comma.
    if (parts > 1 && collect(job, w, text, strlen(text), list)) return true;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ",");
        if (!find_part(job, w, at, size, list)) return false;
        at += size;
        if (!*at) return true;
    }
}

bool replay_streams(const replay_job *job, const char *text, replay_list *list)
{
    const want w = { "stream", stream_matches };
    return find(job, &w, text, list);
}

bool replay_devices(const replay_job *job, const char *text, replay_list *list)
{
    const want w = { "device", device_matches };
    return find(job, &w, text, list);
}
