/*
    tracks.c - a chart with a lane for each busy track
*/
#include "tools/analyze/topics/tracks.h"
#include "tools/analyze/job/window.h"
#include "tools/analyze/figures/base/zone_paths.h"
#include "tools/analyze/job/stats.h"

typedef struct lane {
    uint32_t file, track;
    bool host;
    int64_t busy_ns, until_ns; // until: time already counted
    int64_t slots[TRACKS_SLOTS];
} lane;

typedef struct tracks {
    analyze_job *job;
    int64_t from_ns, to_ns;
    lane *lanes;
    size_t count, room;
    cli_map index; // file << 32 | track
} tracks;

static int64_t slot_at(const tracks *t, int64_t slot)
{
    const double length = (double)t->to_ns - (double)t->from_ns;
    return t->from_ns + (int64_t)(length * (double)slot / TRACKS_SLOTS);
}

static lane *lane_of(tracks *t, uint32_t file, uint32_t track, bool host)
{
    const uint64_t key = (uint64_t)file << 32 | track;
    const uint32_t at = cli_map_row(&t->index, key);
    if (at != CLI_NONE) return &t->lanes[at];
    if (!cli_grow(&t->lanes, &t->room, t->count + 1, sizeof *t->lanes) ||
        !cli_map_set(&t->index, key, (uint32_t)t->count))
        return NULL;
    t->lanes[t->count] = (lane){
        .file = file, .track = track, .host = host, .until_ns = INT64_MIN
    };
    return &t->lanes[t->count++];
}

// Adds the part of a span that is not counted yet. Spans arrive in order of
// their start.
static void spend(const tracks *t, lane *l, int64_t from, int64_t to)
{
    if (from < l->until_ns) from = l->until_ns;
    if (from < t->from_ns) from = t->from_ns;
    if (to > t->to_ns) to = t->to_ns;
    if (to <= from) return;
    l->until_ns = to;
    l->busy_ns += to - from;
    const double length = (double)t->to_ns - (double)t->from_ns;
    int64_t slot =
        (int64_t)((double)(from - t->from_ns) / length * TRACKS_SLOTS);
    for (; slot < TRACKS_SLOTS && from < to; slot++) {
        const int64_t end = slot_at(t, slot + 1);
        const int64_t part = (end < to ? end : to) - from;
        if (part <= 0) continue;
        l->slots[slot] += part;
        from += part;
    }
}

static bool take_file(tracks *t, uint32_t file)
{
    ts_reader *const reader = analyze_reader(t->job, file);
    const int64_t offset = analyze_offset(t->job, file);
    const ts_filter filter = { .kinds = TS_FILTER(ZONE) | TS_FILTER(API_CALL) |
                                        TS_FILTER(KERNEL) | TS_FILTER(MEMCPY) |
                                        TS_FILTER(MEMSET) |
                                        TS_FILTER(COLLECTIVE) };
    ts_cursor *cursor;
    ts_event event;
    if (ts_cursor_open(&cursor, reader, &filter) != TS_OK) return false;
    bool ok = true;
    while (ok && ts_cursor_next(cursor, &event)) {
        const bool host =
            event.kind == TS_EVENT_ZONE || event.kind == TS_EVENT_API_CALL;
        if (host && !paths_is_host(reader, event.track)) continue;
        lane *const l = lane_of(t, file, event.track, host);
        const int64_t from = stats_sum(event.start_ns, offset);
        ok = l;
        if (l) spend(t, l, from, stats_sum(from, event.duration_ns));
    }
    ts_cursor_close(cursor);
    return ok;
}

// Sorts devices before threads, and each by busy time.
static int by_busy(const void *left, const void *right)
{
    const lane *const a = left, *const b = right;
    if (a->host != b->host) return a->host - b->host;
    if (a->busy_ns != b->busy_ns) return a->busy_ns > b->busy_ns ? -1 : 1;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

static void put_lane(const tracks *t, report_chart *c, const lane *l)
{
    const uint32_t line =
        report_lane(c, analyze_track(t->job, l->file, l->track), l->host);
    for (int64_t i = 0; i < TRACKS_SLOTS; i++)
        if (!i || l->slots[i] != l->slots[i - 1])
            report_series_add(c, line, slot_at(t, i), l->slots[i]);
    report_series_add(c, line, t->to_ns, 0);
}

bool topic_tracks(analyze_job *job, report_section *s)
{
    const cut_figures *const cut = analyze_cut(job);
    tracks t = { .job = job, .from_ns = cut->from_ns, .to_ns = cut->to_ns };
    bool ok = true;
    for (uint32_t f = 0; ok && f < job->file_count && t.to_ns > t.from_ns; f++)
        ok = take_file(&t, f);
    if (ok && t.count) {
        size_t shown[2] = { 0, 0 };
        qsort(t.lanes, t.count, sizeof *t.lanes, by_busy);
        report_chart *const c = report_lanes_begin(
            s, "timeline", "Timeline of streams and threads");
        for (size_t i = 0; i < t.count; i++)
            if (t.lanes[i].busy_ns &&
                shown[t.lanes[i].host]++ <
                    (t.lanes[i].host ? TRACKS_MOST / 3
                                     : TRACKS_MOST - TRACKS_MOST / 3))
                put_lane(&t, c, &t.lanes[i]);
    }
    free(t.lanes);
    cli_map_close(&t.index);
    return ok;
}
