/*
    lanes.c - indices of streams and devices by their tracks
*/
#include "tools/analyze/figures/base/lanes.h"

static uint64_t key_of(uint32_t file, uint32_t track)
{
    return (uint64_t)file << 32 | track;
}

static int by_key(const void *left, const void *right)
{
    const lanes_key *const a = left, *const b = right;
    return (a->key > b->key) - (a->key < b->key);
}

bool lanes_open(lanes *l, const ts_replay *replay)
{
    ts_lane lane;
    memset(l, 0, sizeof *l);
    l->stream_count = ts_replay_lane_count(replay);
    l->device_count = ts_replay_device_count(replay);
    l->streams = malloc((l->stream_count + 1) * sizeof *l->streams);
    l->devices = malloc((l->device_count + 1) * sizeof *l->devices);
    if (!l->streams || !l->devices) return false;
    for (uint32_t i = 0; ts_replay_lane(replay, i, &lane); i++) {
        const lanes_key key = { key_of(lane.file, lane.track), i };
        l->streams[i] = key;
    }
    for (uint32_t i = 0; ts_replay_device(replay, i, &lane); i++) {
        const lanes_key key = { key_of(lane.file, lane.track), i };
        l->devices[i] = key;
    }
    qsort(l->streams, l->stream_count, sizeof *l->streams, by_key);
    qsort(l->devices, l->device_count, sizeof *l->devices, by_key);
    for (size_t i = 0; i < LANES_SEEN; i++)
        l->seen[i].key = UINT64_MAX;
    return true;
}

void lanes_close(lanes *l)
{
    free(l->streams);
    free(l->devices);
    memset(l, 0, sizeof *l);
}

// Returns the index in `streams` of a key; stream_count if it is not there.
static size_t rank_of(lanes *l, uint64_t key)
{
    lanes_seen *const seen = &l->seen[key % LANES_SEEN];
    if (seen->key == key) return seen->rank;
    const lanes_key wanted = { key, 0 };
    const lanes_key *const found =
        bsearch(&wanted, l->streams, l->stream_count, sizeof wanted, by_key);
    if (!found) return l->stream_count;
    *seen = (lanes_seen){ key, (size_t)(found - l->streams) };
    return seen->rank;
}

size_t lanes_stream(lanes *l, const ts_operation *op)
{
    const size_t rank = rank_of(l, key_of(op->file, op->track));
    return rank < l->stream_count ? l->streams[rank].index : rank;
}

size_t lanes_stream_rank(lanes *l, const ts_operation *op)
{
    return rank_of(l, key_of(op->file, op->track));
}

size_t lanes_device(const lanes *l, uint32_t file, uint32_t track)
{
    const lanes_key key = { key_of(file, track), 0 };
    const lanes_key *const found =
        bsearch(&key, l->devices, l->device_count, sizeof key, by_key);
    return found ? found->index : l->device_count;
}
