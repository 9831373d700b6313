/*
    stats.c - statistics of events by key
*/
#include "tools/analyze/job/stats.h"

static uint64_t hash_of(uint32_t file, uint64_t key0, uint64_t key1)
{
    // Source: the finaliser of MurmurHash3 (public domain).
    uint64_t h = key0 * 0x9E3779B97F4A7C15u ^ key1 ^ (uint64_t)file << 48;
    h ^= h >> 33;
    h *= 0xFF51AFD7ED558CCDu;
    h ^= h >> 33;
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ h >> 33;
}

static uint32_t row_of(const stats_map *map, uint64_t hash, uint32_t file,
                       uint64_t key0, uint64_t key1)
{
    uint32_t at;
    for (size_t i = 0;
         (at = cli_index_next(&map->index, hash, &i)) != CLI_NONE;) {
        const stats_group *const g = &map->groups[at];
        if (g->key[0] == key0 && g->key[1] == key1 && g->file == file) break;
    }
    return at;
}

static int by_key(const void *left, const void *right)
{
    const stats_group *const a = left, *const b = right;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->key[0] != b->key[0]) return a->key[0] < b->key[0] ? -1 : 1;
    return (a->key[1] > b->key[1]) - (a->key[1] < b->key[1]);
}

bool stats_sort(stats_map *map)
{
    if (!map->count) return true;
    qsort(map->groups, map->count, sizeof *map->groups, by_key);
    cli_index_close(&map->index);
    for (uint32_t i = 0; i < map->count; i++) {
        const stats_group *const g = &map->groups[i];
        if (!cli_index_add(&map->index, hash_of(g->file, g->key[0], g->key[1]),
                           i))
            return false;
    }
    return true;
}

stats_group *stats_find(stats_map *map, uint32_t file, uint64_t key0,
                        uint64_t key1)
{
    const uint64_t hash = hash_of(file, key0, key1);
    const uint32_t at = row_of(map, hash, file, key0, key1);
    if (at != CLI_NONE) return &map->groups[at];
    if (map->failed ||
        !cli_grow(&map->groups, &map->room, map->count + 1,
                  sizeof *map->groups) ||
        !cli_index_add(&map->index, hash, (uint32_t)map->count)) {
        map->failed = true;
        return NULL;
    }
    stats_group *const g = &map->groups[map->count++];
    *g = (stats_group){ .key = { key0, key1 }, .file = file };
    return g;
}

uint32_t stats_look(const stats_map *map, uint32_t file, uint64_t key0,
                    uint64_t key1)
{
    return row_of(map, hash_of(file, key0, key1), file, key0, key1);
}

int64_t stats_sum(int64_t a, int64_t b)
{
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum))
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

static uint64_t add_bytes(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

void stats_add(stats_group *g, int64_t start_ns, int64_t duration_ns,
               uint64_t bytes)
{
    if (!g->count || duration_ns > g->most_ns ||
        (duration_ns == g->most_ns && start_ns < g->most_at_ns)) {
        g->most_ns = duration_ns;
        g->most_at_ns = start_ns;
    }
    if (!g->count || duration_ns < g->least_ns) g->least_ns = duration_ns;
    if (!g->count || start_ns < g->first_ns) g->first_ns = start_ns;
    if (!g->count || start_ns > g->last_ns) g->last_ns = start_ns;
    g->total_ns = stats_sum(g->total_ns, duration_ns);
    g->bytes = add_bytes(g->bytes, bytes);
    g->count++;
}

void stats_join(stats_group *to, const stats_group *from)
{
    if (!from->count) return;
    if (!to->count || from->most_ns > to->most_ns ||
        (from->most_ns == to->most_ns && from->most_at_ns < to->most_at_ns)) {
        to->most_ns = from->most_ns;
        to->most_at_ns = from->most_at_ns;
        to->file = from->file;
        to->key[0] = from->key[0];
        to->key[1] = from->key[1];
    }
    if (!to->count || from->least_ns < to->least_ns)
        to->least_ns = from->least_ns;
    if (!to->count || from->first_ns < to->first_ns)
        to->first_ns = from->first_ns;
    if (!to->count || from->last_ns > to->last_ns) to->last_ns = from->last_ns;
    to->total_ns = stats_sum(to->total_ns, from->total_ns);
    to->bytes = add_bytes(to->bytes, from->bytes);
    to->count += from->count;
}

void stats_close(stats_map *map)
{
    free(map->groups);
    cli_index_close(&map->index);
    *map = (stats_map){ 0 };
}
