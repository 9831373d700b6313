/*
    figures.c - what a viewer computes from traces, as one line of hashes each

    The same source natively and as WebAssembly: the lines must be the same.
    Each trace is read through a function. The first two are not files: one has
    more than 8 GB, beyond what a pointer of WebAssembly can address, and one a
    top of its index and pictures of tracks.
*/
#include <inttypes.h>
#include <stdio.h>

#include "tests/replay/reader/sbt_far.h"
#include "tools/analyze/figures/time/idle.h"
#include "tools/analyze/figures/time/overlap.h"

static int64_t file_read(void *user, uint64_t offset, void *to, size_t size)
{
    FILE *const file = user;
    if (fseek(file, (long)offset, SEEK_SET) != 0) return -1;
    const size_t got = fread(to, 1, size, file);
    return got || !ferror(file) ? (int64_t)got : -1;
}

static uint64_t file_length(void *user)
{
    FILE *const file = user;
    const long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : 0;
    return size > 0 ? (uint64_t)size : 0;
}

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return XXH3_64bits_withSeed(&value, sizeof value, hash + 1);
}

static uint64_t mix_text(uint64_t hash, ts_text text)
{
    return XXH3_64bits_withSeed(text.text, text.size, hash + 1);
}

static uint64_t event_hash(ts_reader *reader)
{
    ts_cursor *cursor;
    ts_event event;
    uint64_t hash = 0;
    if (ts_cursor_open(&cursor, reader, NULL) != TS_OK) return 1;
    while (ts_cursor_next(cursor, &event)) {
        hash = mix(hash, (uint64_t)event.start_ns);
        hash = mix(hash, (uint64_t)event.duration_ns);
        for (uint32_t i = 1; i < TS_COLUMN_LIMIT; i++)
            hash = mix(hash, ts_event_value(&event, (ts_column)i));
        hash = mix_text(hash, ts_event_text(&event));
        hash = mix_text(hash, ts_event_label(reader, &event));
    }
    hash = mix(hash, (uint64_t)ts_cursor_result(cursor));
    ts_cursor_close(cursor);
    return hash;
}

static uint64_t cell_hash(uint64_t hash, const ts_lod_cell *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hash = XXH3_64bits_withSeed(&cells[i], sizeof cells[i], hash + 1);
    return hash;
}

static uint64_t top_hash(const ts_reader *reader)
{
    uint64_t hash = 5;
    ts_top_track track;
    ts_picture_cell cell;
    for (size_t i = 0; ts_reader_top(reader, i, &track); i++)
        for (size_t j = 0; ts_reader_top_cell(reader, i, j, &cell); j++) {
            hash = mix(hash, (uint64_t)cell.start_ns);
            hash = mix(hash, (uint64_t)cell.end_ns);
            hash = mix(hash, cell.count);
            hash = mix(hash, cell.id);
        }
    return hash;
}

static uint64_t picture_hash(ts_reader *reader)
{
    uint64_t hash = top_hash(reader);
    uint32_t track, events;
    ts_lod_cell cells[TS_LOD_CELLS];
    ts_track_pictures tracks = { 0 };
    for (size_t i = 0; i < ts_reader_chunk_count(reader); i++) {
        if (ts_reader_lod(reader, i, cells))
            hash = cell_hash(hash, cells, TS_LOD_CELLS);
        if (ts_reader_track_pictures(reader, i, &tracks) != TS_OK) continue;
        for (size_t j = 0; ts_track_picture(&tracks, j, &track, &events, cells);
             j++)
            hash = cell_hash(mix(hash, track), cells, tracks.cell_count);
    }
    ts_track_pictures_close(reader, &tracks);
    return hash;
}

static uint64_t idle_hash(const ts_replay *replay, const ts_timeline *timeline,
                          names_index *names)
{
    idle_result idle;
    overlap_result overlap;
    uint64_t hash = 2;
    if (idle_open(&idle, replay, timeline, names)) {
        for (size_t i = 0; i < idle.count; i++) {
            hash = mix(hash, (uint64_t)idle.gaps[i].gap.start_ns);
            hash = mix(hash, (uint64_t)idle.gaps[i].gap.end_ns);
            hash = mix(hash, idle.gaps[i].gap.cause);
        }
        hash = mix(hash, (uint64_t)idle.host_ns);
    }
    if (overlap_open(&overlap, replay, names, NULL))
        hash = mix(hash, (uint64_t)overlap.copy_hidden_ns);
    overlap_close(&overlap);
    idle_close(&idle);
    return hash;
}

static uint64_t path_hash(ts_replay *replay)
{
    ts_path path;
    uint64_t hash = 3;
    if (ts_replay_path(replay, &path) != TS_OK) return hash;
    for (size_t i = 0; i < path.count; i++)
        hash = mix(hash, path.parts[i].node);
    return hash;
}

static uint64_t race_hash(const ts_replay *replay)
{
    ts_races *races;
    ts_race race;
    uint64_t hash = 4;
    if (ts_races_open(&races, replay) != TS_OK) return hash;
    for (size_t i = 0; ts_races_at(races, i, &race); i++)
        hash = mix(hash, race.kind);
    ts_races_close(races);
    return hash;
}

static void print_replay(ts_reader *reader)
{
    ts_replay *replay;
    ts_timeline *timeline;
    names_index names;
    if (ts_replay_open(&replay, reader, NULL) != TS_OK) return;
    if (ts_replay_run(replay, NULL) == TS_OK &&
        ts_timeline_open(&timeline, replay, NULL) == TS_OK) {
        printf(" replay %016" PRIx64, ts_replay_result(replay)->digest);
        if (names_open(&names, replay))
            printf(" idle %016" PRIx64, idle_hash(replay, timeline, &names));
        printf(" path %016" PRIx64 " races %016" PRIx64, path_hash(replay),
               race_hash(replay));
        names_close(&names);
        ts_timeline_close(timeline);
    }
    ts_replay_close(replay);
}

static int print(const char *name, const ts_reader_desc *desc)
{
    ts_reader *reader;
    const ts_result result = ts_reader_open(&reader, desc);
    printf("%s: %s", name, ts_result_text(result));
    if (result == TS_OK) {
        printf(", events %016" PRIx64 " pictures %016" PRIx64 " damages %zu",
               event_hash(reader), picture_hash(reader),
               ts_reader_damage_count(reader));
        print_replay(reader);
        ts_reader_close(reader);
    }
    putchar('\n');
    return result == TS_OK ? 0 : 1;
}

static int print_top(void)
{
    static const uint32_t streams[] = { 3, 4 };
    forge f;
    sample_forge_without_end(&f);
    forge_mixed(&f, streams, SAMPLE_START);
    forge_pictures(&f, streams, SAMPLE_START, 8);
    forge_top(&f);
    forge_finish(&f);
    const ts_reader_desc desc = { .bytes = f.bytes,
                                  .size = f.size,
                                  .lazy = true };
    const int failed = print("with a top", &desc);
    forge_close(&f);
    return failed;
}

int main(int argc, char **argv)
{
    far_trace far;
    far_open(&far);
    ts_reader_desc desc = far_desc(&far);
    int failed = print("beyond 8 GB", &desc);
    far_close(&far);
    failed |= print_top();
    for (int i = 1; i < argc; i++) {
        FILE *const file = fopen(argv[i], "rb");
        if (!file) return 2;
        const ts_reader_desc named = { .read = file_read,
                                       .length = file_length,
                                       .user = file };
        failed |= print(argv[i], &named);
        fclose(file);
    }
    return failed;
}
