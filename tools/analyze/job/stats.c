/*
    stats.c - groups of events by key
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

// The slot that holds the key, or the free one where it belongs.
static uint32_t *slot_of(const stats_map *map, uint32_t file, uint64_t key0,
                         uint64_t key1)
{
    for (uint64_t i = hash_of(file, key0, key1);; i++) {
        uint32_t *const slot = &map->slots[i & (map->slot_count - 1)];
        if (!*slot) return slot;
        const stats_group *const g = &map->groups[*slot - 1];
        if (g->key[0] == key0 && g->key[1] == key1 && g->file == file)
            return slot;
    }
}

static bool make_slots(stats_map *map, size_t count)
{
    uint32_t *const slots = calloc(count, sizeof *slots);
    if (!slots) return false;
    free(map->slots);
    map->slots = slots;
    map->slot_count = count;
    for (uint32_t i = 0; i < map->count; i++) {
        const stats_group *const g = &map->groups[i];
        *slot_of(map, g->file, g->key[0], g->key[1]) = i + 1;
    }
    return true;
}

static bool grow(stats_map *map)
{
    if (map->count == map->room) {
        const size_t room = map->room ? 2 * map->room : 64;
        stats_group *const more = realloc(map->groups, room * sizeof *more);
        if (!more) return false;
        map->groups = more;
        map->room = room;
    }
    return map->count * 2 < map->slot_count ||
           make_slots(map, map->slot_count ? 2 * map->slot_count : 128);
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
    return make_slots(map, map->slot_count);
}

stats_group *stats_find(stats_map *map, uint32_t file, uint64_t key0,
                        uint64_t key1)
{
    if (map->slot_count) {
        const uint32_t *const slot = slot_of(map, file, key0, key1);
        if (*slot) return &map->groups[*slot - 1];
    }
    if (map->failed || !grow(map)) {
        map->failed = true;
        return NULL;
    }
    stats_group *const g = &map->groups[map->count++];
    *g = (stats_group){ .key = { key0, key1 }, .file = file };
    *slot_of(map, file, key0, key1) = (uint32_t)map->count;
    return g;
}

uint32_t stats_look(const stats_map *map, uint32_t file, uint64_t key0,
                    uint64_t key1)
{
    if (!map->slot_count) return UINT32_MAX;
    return *slot_of(map, file, key0, key1) - 1;
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
    free(map->slots);
    *map = (stats_map){ 0 };
}
