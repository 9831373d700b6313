/*
    select.c - decides which events are selected
*/
#include "tools/cut/cut.h"

/* ---- Tracks -------------------------------------------------------------- */

static int by_number(const void *left, const void *right)
{
    const uint32_t *const a = left, *const b = right;
    return (*a > *b) - (*a < *b);
}

static bool is_one_of(const uint32_t *list, size_t count, uint32_t track)
{
    for (size_t i = 0; i < count; i++)
        if (list[i] == track) return true;
    return false;
}

// Returns whether a track or any of its parents is in a list.
static bool is_under(const ts_reader *reader, ts_track track,
                     const uint32_t *list, size_t count)
{
    for (int depth = 0; depth < 16; depth++) {
        if (is_one_of(list, count, track.id)) return true;
        if (!track.parent || !ts_reader_track(reader, track.parent, &track))
            break;
    }
    return false;
}

static bool find_tracks(cut_choice *choice)
{
    const cut_options *const w = choice->options;
    const uint32_t count = ts_reader_info(choice->reader)->track_count;
    ts_track track;
    choice->on_tracks = w->stream_count || w->device_count || w->process_count;
    if (!choice->on_tracks) return true;
    choice->tracks = malloc((count + 1) * sizeof *choice->tracks);
    if (!choice->tracks) return false;
    for (size_t i = 0; ts_reader_track_at(choice->reader, i, &track); i++) {
        if (w->stream_count &&
            !is_one_of(w->streams, w->stream_count, track.id))
            continue;
        if (w->device_count &&
            !is_under(choice->reader, track, w->devices, w->device_count))
            continue;
        if (w->process_count &&
            !is_under(choice->reader, track, w->processes, w->process_count))
            continue;
        choice->tracks[choice->track_count++] = track.id;
    }
    qsort(choice->tracks, choice->track_count, sizeof *choice->tracks,
          by_number);
    return true;
}

bool cut_has_track(const cut_choice *choice, uint32_t track)
{
    return !choice->on_tracks ||
           (choice->track_count &&
            bsearch(&track, choice->tracks, choice->track_count, sizeof track,
                    by_number));
}

/* ---- Rows ---------------------------------------------------------------- */

static uint64_t kinds_of(const cut_options *w)
{
    if (!w->kinds) return ~UINT64_C(0);
    // Arguments are selected with their zone.
    return w->kinds | (w->kinds & TS_FILTER(ZONE) ? TS_FILTER(ZONE_ARG) : 0);
}

static bool is_in_time(cut_choice *choice, const cut_row *row)
{
    const cut_options *const w = choice->options;
    const ts_event_kind kind = row->columns->kind;
    if (!w->timed) return true;
    if (w->issued && kind >= TS_EVENT_GPU_FIRST)
        return cut_is_issued(choice, row);
    if (w->begun && kind >= TS_EVENT_GPU_FIRST)
        return row->start_ns >= w->from_ns && row->start_ns < w->to_ns;
    if (kind == TS_EVENT_SPAN && cut_set_has(&choice->open, cut_open_key(row)))
        return true;
    if (row->start_ns >= w->to_ns) return false;
    if (row->start_ns >= w->from_ns || row->end_ns > w->from_ns) return true;
    if (kind == TS_EVENT_ZONE_OPEN) return true; // has no end
    return kind == TS_EVENT_ZONE_ARG &&
           cut_set_has(&choice->open, cut_open_key(row));
}

// Returns whether an event is in a selected zone on the host, or is an
// operation that was launched there.
static bool is_in_zone(cut_choice *choice, const cut_row *row)
{
    const ts_columns *const c = row->columns;
    if (!choice->options->zones) return true;
    const uint64_t correlation = cut_value(row, TS_COLUMN_CORRELATION);
    if (correlation && c->kind != TS_EVENT_API_CALL &&
        cut_set_has(&choice->zone_calls, correlation))
        return true;
    if (c->kind < TS_EVENT_GPU_FIRST)
        return cut_spans_have(&choice->zones, row->track, row->start_ns,
                              row->end_ns);
    if (cut_value(row, TS_COLUMN_SITE) && cut_is_zone(choice, row)) return true;
    const uint64_t queued = cut_value(row, TS_COLUMN_QUEUED);
    const uint32_t thread = (uint32_t)cut_value(row, TS_COLUMN_THREAD);
    if (!queued || !thread) return false;
    const int64_t then = ts_reader_time_ns(
        choice->reader, c->clock, c->start_ticks[row->row] - (queued - 1));
    return cut_spans_have(&choice->zones, thread, then, then);
}

bool cut_is_selected(cut_choice *choice, const cut_row *row)
{
    const cut_options *const w = choice->options;
    return kinds_of(w) >> row->columns->kind & 1 &&
           cut_has_track(choice, row->track) && is_in_time(choice, row) &&
           (!w->name || cut_has_name(choice, row)) && is_in_zone(choice, row);
}

/* ---- Batches ------------------------------------------------------------- */

static bool is_in_chunk_time(const cut_options *w, const ts_chunk_info *info)
{
    return !w->timed ||
           (w->issued && info->header.event >= TS_EVENT_GPU_FIRST) ||
           (info->first_ns < w->to_ns && info->last_ns >= w->from_ns);
}

bool cut_takes_chunk(void *user, const ts_chunk_info *info)
{
    const cut_choice *const choice = user;
    const cut_options *const w = choice->options;
    const uint32_t kind = info->header.event, track = info->header.track;
    if (w->deps != CUT_DEPS_NONE &&
        (kind == TS_EVENT_API_CALL || kind == TS_EVENT_DEPENDENCY ||
         kind == TS_EVENT_ACCESS ||
         (w->deps == CUT_DEPS_BOTH && kind >= TS_EVENT_GPU_FIRST)))
        return true;
    if (!(kinds_of(w) >> kind & 1)) return false;
    if (track != TS_TRACK_MIXED && !cut_has_track(choice, track)) return false;
    if (kind == TS_EVENT_ZONE_OPEN) return true;
    if (kind == TS_EVENT_ZONE_ARG)
        return choice->open.count ? !w->timed || info->first_ns < w->to_ns
                                  : is_in_chunk_time(w, info);
    if (kind == TS_EVENT_SPAN && choice->open.count) return true;
    return is_in_chunk_time(w, info);
}

bool cut_edit(void *user, copy_batch *batch)
{
    cut_choice *const choice = user;
    for (uint32_t i = 0; i < batch->count; i++) {
        const cut_row row = { batch->columns, batch->first + i,
                              batch->tracks[i], batch->start_ns[i],
                              batch->start_ns[i] + batch->duration_ns[i] };
        batch->keep[i] = cut_is_selected(choice, &row);
        if (batch->keep[i]) continue;
        cut_note_earlier(choice, &row);
        batch->keep[i] = cut_is_dep(choice, &row);
        *choice->added += batch->keep[i];
    }
    return true;
}

bool cut_each(cut_choice *choice, uint64_t kinds,
              bool (*takes)(const cut_choice *choice,
                            const ts_chunk_info *info),
              void (*take)(cut_choice *choice, const cut_row *row))
{
    ts_columns columns = { 0 };
    ts_chunk_info info;
    ts_result result = TS_OK;
    for (size_t i = 0;
         result != TS_ERR_MEMORY && ts_reader_chunk(choice->reader, i, &info);
         i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event >= TS_EVENT_LIMIT ||
            !(kinds >> info.header.event & 1) ||
            (takes && !takes(choice, &info)))
            continue;
        result = ts_reader_decode(choice->reader, i, &columns);
        for (uint32_t k = 0; result == TS_OK && k < columns.count; k++) {
            const cut_row row = {
                &columns, k, columns.tracks ? columns.tracks[k] : columns.track,
                columns.start_ns[k],
                columns.start_ns[k] + columns.duration_ns[k]
            };
            take(choice, &row);
        }
    }
    ts_columns_close(choice->reader, &columns);
    return result != TS_ERR_MEMORY;
}

bool cut_choice_open(cut_choice *choice, ts_reader *reader,
                     const cut_options *options)
{
    *choice = (cut_choice){ .reader = reader,
                            .options = options,
                            .begin_ns = INT64_MIN };
    return find_tracks(choice) && cut_find_zones(choice) &&
           cut_find_issued(choice) && cut_find_open(choice) &&
           cut_find_deps(choice);
}

void cut_choice_close(cut_choice *choice)
{
    cut_set *const sets[] = { &choice->zone_calls, &choice->open,
                              &choice->calls,      &choice->waiting,
                              &choice->issued,     &choice->known,
                              &choice->earlier };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++)
        cut_set_close(sets[i]);
    for (size_t i = 0; i < sizeof choice->names / sizeof *choice->names; i++)
        free(choice->names[i].known);
    free(choice->zone_names.known);
    free(choice->tracks);
    cut_spans_close(&choice->zones);
}
