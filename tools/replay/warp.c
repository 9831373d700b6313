/*
    warp.c - new times of host events when calls moved
*/
#include "tools/replay/write.h"
#include "tools/cli/search.h"

typedef struct anchor { // the beginning or end of a call
    uint32_t file, track;
    int64_t recorded_ns, ns;
} anchor;

struct warp {
    anchor *anchors; // sorted by thread and recorded time; `ns` never decreases
    size_t count;
};

static int by_time(const void *left, const void *right)
{
    const anchor *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->track != b->track) return a->track < b->track ? -1 : 1;
    if (a->recorded_ns != b->recorded_ns)
        return a->recorded_ns < b->recorded_ns ? -1 : 1;
    return (a->ns > b->ns) - (a->ns < b->ns);
}

bool warp_open(warp **out, const ts_replay *replay)
{
    const ts_graph graph = ts_replay_graph(replay);
    bool moved = false;
    *out = NULL;
    warp *const w = calloc(1, sizeof *w);
    anchor *const anchors =
        malloc(2 * (size_t)graph.call_count * sizeof *anchors + 1);
    if (!w || !anchors) {
        free(w);
        free(anchors);
        return false;
    }
    w->anchors = anchors;
    for (uint32_t i = 0; i < graph.call_count; i++) {
        ts_node n;
        if (!ts_replay_node(replay, graph.operation_count + i, &n) ||
            !n.selected || (!n.start_ns && !n.end_ns))
            continue;
        const int64_t end_ns = n.recorded_ns + n.duration_ns;
        const anchor first = { n.file, n.track, n.recorded_ns, n.start_ns };
        const anchor last = { n.file, n.track, end_ns, n.end_ns };
        anchors[w->count++] = first;
        if (n.duration_ns) anchors[w->count++] = last;
        moved |= n.start_ns != n.recorded_ns || n.end_ns != end_ns;
    }
    if (!moved) {
        warp_close(w);
        return true;
    }
    qsort(anchors, w->count, sizeof *anchors, by_time);
    for (size_t i = 1; i < w->count; i++)
        if (anchors[i].file == anchors[i - 1].file &&
            anchors[i].track == anchors[i - 1].track &&
            anchors[i].ns < anchors[i - 1].ns)
            anchors[i].ns = anchors[i - 1].ns;
    *out = w;
    return true;
}

void warp_close(warp *w)
{
    if (!w) return;
    free(w->anchors);
    free(w);
}

static bool is_of(const anchor *a, uint32_t file, uint32_t track)
{
    return a->file == file && a->track == track;
}

int64_t warp_time(const warp *w, uint32_t file, uint32_t track, int64_t time_ns)
{
    const anchor key = { file, track, time_ns, INT64_MAX };
    size_t low = 0, high = w ? w->count : 0;
    while (low < high) // finds the first later anchor
        cli_halve(&low, &high,
                  by_time(&w->anchors[cli_middle(low, high)], &key) <= 0);
    if (!w) return time_ns;
    const bool after = low && is_of(&w->anchors[low - 1], file, track);
    const bool before = low < w->count && is_of(&w->anchors[low], file, track);
    if (!after) {
        if (!before) return time_ns;
        return w->anchors[low].ns - (w->anchors[low].recorded_ns - time_ns);
    }
    const anchor *const last = &w->anchors[low - 1];
    const int64_t ns = last->ns + (time_ns - last->recorded_ns);
    return before && ns > w->anchors[low].ns ? w->anchors[low].ns : ns;
}
