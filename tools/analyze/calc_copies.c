/*
    calc_copies.c - copies and sets by kind, memory and size
*/
#include "tools/analyze/calc_copies.h"

// Copy types and kinds of memory: docs/sbt-format.md, section 8.
enum { TYPE_HTOD = 1, TYPE_DTOH = 2, SET = 255, PAGEABLE = 1, PINNED = 2 };

static const uint64_t sizes[] = { 4096, 65536, 1 << 20, 16 << 20, 256 << 20 };
enum { SIZES = sizeof sizes / sizeof *sizes };

static bool keys(const stats_event *e, stats_key *key, void *user)
{
    const copies *const c = user;
    const bool set = e->columns->kind == TS_EVENT_MEMSET;
    const uint64_t type = set ? SET : stats_value(e, TS_COLUMN_TYPE);
    key[COPIES_KIND] = (stats_key){ { type, 0 } };
    if (c->scan.map_count == 1) return true;
    const uint64_t memory = set ? 0 : stats_value(e, TS_COLUMN_MEMORY) & 0xFF;
    const uint64_t size = stats_value(e, TS_COLUMN_SIZE);
    uint64_t class = 0;
    while (class < SIZES && size > sizes[class])
        class ++;
    key[COPIES_MEMORY] = (stats_key){ { type, memory } };
    key[COPIES_SIZE] = (stats_key){ { type, class } };
    return true;
}

/* ---- Texts --------------------------------------------------------------- */

static const char *type_text(uint64_t type)
{
    static const char *const texts[] = {
        "copy, kind unknown", "host to device", "device to host",
        "device to device",   "host to host",   "peer to peer"
    };
    if (type == SET) return "set";
    return texts[type < sizeof texts / sizeof *texts ? type : 0];
}

static ts_text kind_of(const stats_group *g, void *user)
{
    (void)user;
    const char *const text = type_text(g->key[0]);
    return (ts_text){ text, strlen(text) };
}

// The host's side: source or destination; 0: neither is.
static uint64_t host_side(const stats_group *g)
{
    return g->key[0] == TYPE_HTOD   ? g->key[1] & 15
           : g->key[0] == TYPE_DTOH ? g->key[1] >> 4
                                    : 0;
}

static ts_text memory_of(const stats_group *g, void *user)
{
    static const char *const kinds[] = {
        "unknown memory", "pageable", "pinned", "device", "managed", "array"
    };
    const copies *const c = user;
    const uint64_t side = host_side(g);
    if (g->key[0] != TYPE_HTOD && g->key[0] != TYPE_DTOH)
        return kind_of(g, user);
    return analyze_format(c->job, "%s, %s", type_text(g->key[0]),
                          kinds[side < 6 ? side : 0]);
}

static ts_text size_of(const stats_group *g, void *user)
{
    static const char *const texts[] = { "to 4 KiB",  "to 64 KiB",  "to 1 MiB",
                                         "to 16 MiB", "to 256 MiB", "larger" };
    const copies *const c = user;
    return analyze_format(c->job, "%s, %s", type_text(g->key[0]),
                          texts[g->key[1]]);
}

/* ---- All ----------------------------------------------------------------- */

static void take_memory(copies *c, const stats_group *g)
{
    const uint64_t side = host_side(g);
    if (side == PAGEABLE) stats_join(&c->pageable, g);
    if (side == PINNED) stats_join(&c->pinned, g);
}

bool copies_open(copies *c, analyze_job *job, bool all)
{
    *c = (copies){ .job = job };
    c->scan = (stats_scan){ .kinds = TS_FILTER(MEMCPY) | TS_FILTER(MEMSET),
                            .bytes = TS_COLUMN_SIZE,
                            .map_count = all ? COPIES_MAPS : 1,
                            .keys = keys,
                            .user = c };
    if (!stats_run_all(job, &c->scan, c->maps) ||
        !stats_rows_open(&c->kinds, &c->maps[COPIES_KIND], kind_of, c))
        return false;
    if (!all) return true;
    for (size_t i = 0; i < c->maps[COPIES_MEMORY].count; i++)
        take_memory(c, &c->maps[COPIES_MEMORY].groups[i]);
    return stats_rows_quantiles(&c->kinds, job, &c->scan, COPIES_KIND,
                                &c->maps[COPIES_KIND]) &&
           stats_rows_open(&c->memories, &c->maps[COPIES_MEMORY], memory_of,
                           c) &&
           stats_rows_quantiles(&c->memories, job, &c->scan, COPIES_MEMORY,
                                &c->maps[COPIES_MEMORY]) &&
           stats_rows_open(&c->sizes, &c->maps[COPIES_SIZE], size_of, c) &&
           stats_rows_quantiles(&c->sizes, job, &c->scan, COPIES_SIZE,
                                &c->maps[COPIES_SIZE]);
}

void copies_close(copies *c)
{
    for (size_t i = 0; i < COPIES_MAPS; i++)
        stats_close(&c->maps[i]);
    stats_rows_close(&c->kinds);
    stats_rows_close(&c->memories);
    stats_rows_close(&c->sizes);
}
