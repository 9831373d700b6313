/*
    groups.c - numbers of communicators

    ASTRA-sim reads pg_name as an int (astra-sim/workload/Workload.cc,
    extract_comm_group), and a trace has a hash of 64 bits. Importers hash the
    group's name alone, or with its ranks, which are an argument of its zone
    ("Process Group Ranks"). So a name that is a small number is found by
    hashing small numbers; other groups get a number made of the hash.
*/
#include "tools/cli/map.h"
#include "tools/export/chakra/chakra.h"

#include <stdio.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
    NAMES = 1024, // names that are tried
    LISTS = 4096, // of ranks that are tried; further ones give no names
    RANKS = 600   // bytes of a list that importers hash
};

static const char key[] = "Process Group Ranks";

uint32_t chakra_group(const cli_map *groups, uint64_t communicator)
{
    const uint64_t *const known = cli_map_find(groups, communicator);
    if (known && *known) return (uint32_t)*known - 1;
    const uint64_t mask = (UINT64_C(1) << 30) - 1;
    // Above all names, and the same for all ranks.
    return (uint32_t)(UINT64_C(1) << 30 |
                      ((communicator ^ communicator >> 30) & mask));
}

// Tries all names with these ranks, or alone.
static void try_names(cli_map *groups, const char *ranks, size_t size)
{
    char text[RANKS + 16];
    if (size > RANKS) size = RANKS;
    for (unsigned i = 0; i < NAMES; i++) {
        const int head =
            snprintf(text, sizeof text, "%u%s", i, ranks ? "|" : "");
        if (ranks) memcpy(text + head, ranks, size);
        uint64_t *const group = cli_map_find(
            groups, XXH3_64bits(text, (size_t)head + (ranks ? size : 0)));
        if (group) *group = i + 1;
    }
}

// Takes the lists of ranks among the arguments of a chunk, each once.
static void take_args(cli_map *groups, cli_map *seen, const ts_columns *c,
                      ts_reader *reader)
{
    const uint64_t *const names = c->values[TS_COLUMN_NAME];
    for (uint32_t i = 0; names && c->texts && i < c->count; i++) {
        if (!c->text_sizes[i] || seen->count >= LISTS ||
            !cli_is_text(ts_reader_name(reader, (uint32_t)names[i]), key))
            continue;
        const uint64_t hash = XXH3_64bits(c->texts[i], c->text_sizes[i]);
        if (cli_map_find(seen, hash)) continue;
        if (cli_map_at(seen, hash))
            try_names(groups, c->texts[i], c->text_sizes[i]);
    }
}

// Two groups with one name, such as halves of a job, would be one.
static void forget_equal(cli_map *groups, const chakra_rows *all)
{
    uint64_t first[NAMES + 1] = { 0 };
    bool twice[NAMES + 1] = { false };
    for (size_t i = 0; i < all->count; i++) {
        const uint64_t group = all->rows[i].communicator;
        const uint64_t *const name = group ? cli_map_find(groups, group) : NULL;
        if (!name || !*name) continue;
        twice[*name] |= first[*name] && first[*name] != group;
        first[*name] = group;
    }
    for (size_t i = 0; i < all->count; i++) {
        const uint64_t group = all->rows[i].communicator;
        uint64_t *const name = group ? cli_map_find(groups, group) : NULL;
        if (name && *name && twice[*name]) *name = 0;
    }
}

ts_result chakra_groups_read(cli_map *groups, const chakra_rows *all,
                             ts_reader *reader)
{
    ts_columns columns = { 0 };
    ts_result result = TS_OK;
    ts_chunk_info info;
    cli_map seen = { 0 };
    for (size_t i = 0; i < all->count; i++)
        if (all->rows[i].communicator &&
            !cli_map_at(groups, all->rows[i].communicator))
            return TS_ERR_MEMORY;
    if (!groups->count) return TS_OK;
    try_names(groups, NULL, 0);
    try_names(groups, "", 0);
    for (size_t i = 0; ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event != TS_EVENT_ZONE_ARG)
            continue;
        const ts_result decoded = ts_reader_decode(reader, i, &columns);
        if (decoded == TS_OK) take_args(groups, &seen, &columns, reader);
        if (decoded != TS_OK && result == TS_OK) result = decoded;
    }
    forget_equal(groups, all);
    cli_map_close(&seen);
    ts_columns_close(reader, &columns);
    return result;
}
