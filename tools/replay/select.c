/*
    select.c - the selection by --stream and --device
*/
#include "tools/replay/replay.h"

// The device above a track; parents of a hostile trace may form a cycle.
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

// Whether a number is in a text such as "5" or "2..7".
static bool has_number(const char *text, size_t size, uint64_t number)
{
    uint64_t first, last;
    for (size_t i = 1; i + 2 < size; i++)
        if (text[i] == '.' && text[i + 1] == '.')
            return parse_number(text, i, &first) &&
                   parse_number(text + i + 2, size - i - 2, &last) &&
                   number >= first && number <= last;
    return parse_number(text, size, &first) && number == first;
}

static bool is_named(const ts_track *track, const char *text, size_t size)
{
    cli_text made;
    const ts_text name = cli_track_name(track, &made);
    return cli_matches(text, size, name.text, name.size);
}

static bool stream_matches(const ts_reader *reader, const ts_track *track,
                           const char *text, size_t size)
{
    if (track->type != TS_TRACK_STREAM) return false;
    uint64_t number, device_number;
    if (has_number(text, size, track->number)) return true;
    const char *const colon = memchr(text, ':', size);
    const size_t before = colon ? (size_t)(colon - text) : 0;
    ts_track device;
    if (colon && parse_number(text, before, &device_number) &&
        parse_number(colon + 1, size - before - 1, &number))
        return track->number == number && device_of(reader, *track, &device) &&
               device.number == device_number;
    return is_named(track, text, size);
}

static bool device_matches(const ts_reader *reader, const ts_track *track,
                           const char *text, size_t size)
{
    (void)reader;
    if (track->type != TS_TRACK_DEVICE) return false;
    return has_number(text, size, track->number) || is_named(track, text, size);
}

// The kind of tracks to find: streams or devices.
typedef struct choice {
    const char *what;
    bool (*matches)(const ts_reader *reader, const ts_track *track,
                    const char *text, size_t size);
} choice;

static bool append(replay_list *list, uint32_t file, uint32_t track)
{
    size_t rooms[2] = { list->room, list->room };
    if (!cli_grow(&list->tracks, &rooms[0], list->count + 1,
                  sizeof *list->tracks) ||
        !cli_grow(&list->files, &rooms[1], list->count + 1,
                  sizeof *list->files))
        return false;
    list->room = rooms[0];
    list->tracks[list->count] = track;
    list->files[list->count++] = file;
    return true;
}

// The topmost track above a track: its process.
static ts_track process_of(const ts_reader *reader, ts_track track)
{
    ts_track above;
    for (int depth = 0; depth < 8; depth++) {
        if (track.type == TS_TRACK_PROCESS || !track.parent ||
            !ts_reader_track(reader, track.parent, &above))
            break;
        track = above;
    }
    return track;
}

static bool is_on_device(const ts_reader *reader, uint32_t file, ts_track track,
                         const replay_list *devices)
{
    ts_track device;
    if (!devices || !devices->count) return true;
    if (!device_of(reader, track, &device)) return false;
    for (size_t i = 0; i < devices->count; i++)
        if (devices->tracks[i] == device.id && devices->files[i] == file)
            return true;
    return false;
}

static bool is_allowed(const ts_reader *reader, uint32_t file, ts_track track,
                       const replay_list *list)
{
    if (!is_on_device(reader, file, track, list->devices)) return false;
    if (!list->process_count) return true;
    track = process_of(reader, track);
    for (size_t i = 0; i < list->process_count; i++)
        if (list->processes[i] == track.id) return true;
    return false;
}

// Adds the tracks that a part of a list names. False without memory.
static bool collect(const replay_job *job, const choice *w, const char *text,
                    size_t size, replay_list *list)
{
    ts_track track;
    for (uint32_t f = 0; f < job->file_count; f++) {
        const ts_reader *const reader = replay_reader(job, f);
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++)
            if (w->matches(reader, &track, text, size) &&
                is_allowed(reader, f, track, list) &&
                !append(list, f, track.id))
                return false;
    }
    return true;
}

void replay_list_close(replay_list *list)
{
    free(list->tracks);
    free(list->files);
}

void replay_put_track(FILE *out, const replay_job *job, uint32_t file,
                      const ts_track *track)
{
    cli_text made;
    ts_track device;
    const ts_text name = cli_track_name(track, &made);
    if (job->file_count > 1) fprintf(out, "%s ", replay_file_name(job, file).s);
    if (track->type == TS_TRACK_STREAM &&
        device_of(replay_reader(job, file), *track, &device))
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

// Prints all streams or devices of the trace in the form that options take.
static void print_choice(FILE *out, const replay_job *job, const choice *w)
{
    enum { SHOWN = 16 };
    size_t count = 0;
    ts_track track;
    for (uint32_t f = 0; f < job->file_count; f++) {
        const ts_reader *const reader = replay_reader(job, f);
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
            const bool is = w->matches == stream_matches
                                ? track.type == TS_TRACK_STREAM
                                : track.type == TS_TRACK_DEVICE;
            if (!is) continue;
            if (count++ >= SHOWN) continue;
            if (count == 1)
                fprintf(out, "\n  %ss of the trace: ", w->what);
            else
                fputs(", ", out);
            replay_put_track(out, job, f, &track);
        }
    }
    if (count > SHOWN) fprintf(out, " and %zu more", count - SHOWN);
}

// In a merged trace: prints the processes of the found tracks, each once.
static bool print_processes(FILE *out, const replay_job *job,
                            const replay_list *list, size_t first)
{
    enum { SHOWN = 8 };
    const ts_reader *const reader = replay_reader(job, 0);
    uint32_t before = 0;
    size_t count = 0;
    for (int pass = 0; pass < 2; pass++) {
        before = 0;
        if (pass && count < 2) return false;
        if (pass) fputs("of ", out);
        size_t shown = 0;
        for (size_t i = first; i < list->count; i++) {
            ts_track track;
            cli_text made;
            if (!ts_reader_track(reader, list->tracks[i], &track)) continue;
            track = process_of(reader, track);
            if (track.type != TS_TRACK_PROCESS) return false;
            if (track.id == before) continue;
            before = track.id;
            count += !pass;
            if (!pass || shown++ >= SHOWN) continue;
            const ts_text name = cli_track_name(&track, &made);
            if (shown > 1) fputs(", ", out);
            cli_put_text(out, name.text, name.size);
        }
        if (pass && shown > SHOWN) fprintf(out, " and %zu more", shown - SHOWN);
    }
    return true;
}

// Notes on stderr that a number selected several streams, as users may expect
// one.
static void print_several(const replay_job *job, const choice *w,
                          const char *text, size_t size,
                          const replay_list *list, size_t found)
{
    uint64_t number;
    if (job->file_count > 1 || found < 2 || !parse_number(text, size, &number))
        return;
    FILE *const out = cli_error_begin(job->tool, job->path);
    fprintf(out, "%s ", w->what);
    cli_put_text(out, text, size);
    fprintf(out, " occurs %zu times, all are selected: ", found);
    const bool said = print_processes(out, job, list, list->count - found);
    for (size_t i = list->count - found; !said && i < list->count; i++) {
        ts_track track;
        if (!ts_reader_track(replay_reader(job, list->files[i]),
                             list->tracks[i], &track))
            continue;
        replay_put_track(out, job, list->files[i], &track);
        if (i + 1 < list->count) fputs(", ", out);
    }
    cli_error_end();
}

static bool find_part(const replay_job *job, const choice *w, const char *text,
                      size_t size, replay_list *list)
{
    const size_t before = list->count;
    if (!collect(job, w, text, size, list)) return cli_out_of_memory(job->tool);
    print_several(job, w, text, size, list, list->count - before);
    if (list->count > before) return true;
    FILE *const out = cli_error_begin(job->tool, job->path);
    fprintf(out, "no %s is '", w->what);
    cli_put_text(out, text, size);
    fputs("'", out);
    if (list->devices && list->devices->count)
        fputs(" on the selected devices", out);
    print_choice(out, job, w);
    return cli_fail_end(TS_ERR_NOT_FOUND);
}

static bool find(const replay_job *job, const choice *w, const char *text,
                 replay_list *list)
{
    // A name may contain a comma.
    if (strchr(text, ',') && collect(job, w, text, strlen(text), list) &&
        list->count)
        return true;
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ",");
        if (!find_part(job, w, at, size, list)) return false;
        at += size;
        if (!*at) return true;
    }
}

bool replay_streams(const replay_job *job, const char *text, replay_list *list)
{
    const choice w = { "stream", stream_matches };
    return find(job, &w, text, list);
}

bool replay_devices(const replay_job *job, const char *text, replay_list *list)
{
    const choice w = { "device", device_matches };
    return find(job, &w, text, list);
}
