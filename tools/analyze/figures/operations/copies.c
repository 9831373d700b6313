/*
    copies.c - copies and memsets by kind, memory and size
*/
#include "tools/analyze/figures/operations/copies.h"

// Copy types and kinds of memory: docs/sbt-format.md, section 8.
enum { TYPE_HTOD = 1, TYPE_DTOH = 2, SET = 255, PAGEABLE = 1, PINNED = 2 };

static const uint64_t sizes[] = { 4096, 65536, 1 << 20, 16 << 20, 256 << 20 };
enum { MOST = 1 << 20 }; // most copies kept as longest
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
    if (type == SET) return "memset";
    return texts[type < sizeof texts / sizeof *texts ? type : 0];
}

static ts_text kind_of(const stats_group *g, void *user)
{
    (void)user;
    const char *const text = type_text(g->key[0]);
    return (ts_text){ text, strlen(text) };
}

// Returns the kind of host memory of a copy: source or destination; 0: neither
// is on the host.
static uint64_t host_side(const stats_group *g)
{
    return g->key[0] == TYPE_HTOD   ? g->key[1] & 15
           : g->key[0] == TYPE_DTOH ? g->key[1] >> 4
                                    : 0;
}

static ts_text memory_text(analyze_job *job, uint64_t type, uint64_t side)
{
    static const char *const kinds[] = {
        "unknown memory", "pageable", "pinned", "device", "managed", "array"
    };
    const char *const text = type_text(type);
    if (type != TYPE_HTOD && type != TYPE_DTOH)
        return (ts_text){ text, strlen(text) };
    return analyze_format(job, "%s, %s", text, kinds[side < 6 ? side : 0]);
}

static ts_text memory_of(const stats_group *g, void *user)
{
    const copies *const c = user;
    return memory_text(c->job, g->key[0], host_side(g));
}

ts_text copies_one_text(const copies *c, const copies_one *one)
{
    return memory_text(c->job, one->type,
                       one->type == TYPE_HTOD ? one->memory & 15
                                              : one->memory >> 4 & 15);
}

static ts_text size_of(const stats_group *g, void *user)
{
    static const char *const texts[] = { "to 4 KiB",  "to 64 KiB",  "to 1 MiB",
                                         "to 16 MiB", "to 256 MiB", "larger" };
    const copies *const c = user;
    return analyze_format(c->job, "%s, %s", type_text(g->key[0]),
                          texts[g->key[1]]);
}

/* ---- The whole computation ----------------------------------------------- */

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

/* ---- The longest copies -------------------------------------------------- */

static int longer_first(const void *left, const void *right)
{
    const copies_one *const a = left, *const b = right;
    if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
    if (a->file != b->file) return a->file < b->file ? -1 : 1;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->track > b->track) - (a->track < b->track);
}

static uint64_t at(const ts_columns *columns, ts_column column, uint32_t row)
{
    return columns->values[column] ? columns->values[column][row] : 0;
}

// Keeps the longest copies. The list holds twice as many as requested; when it
// is full, it is sorted and the shorter half dropped.
static void take_chunk(copies *c, uint32_t file, const ts_columns *columns,
                       size_t most)
{
    c->single_count += columns->count;
    for (uint32_t i = 0; i < columns->count; i++) {
        if (c->longest_count == 2 * most) {
            qsort(c->longest, c->longest_count, sizeof *c->longest,
                  longer_first);
            c->longest_count = most;
        }
        c->longest[c->longest_count++] =
            (copies_one){ .file = file,
                          .track = columns->tracks ? columns->tracks[i]
                                                   : columns->track,
                          .start_ns = columns->start_ns[i],
                          .ns = columns->duration_ns[i],
                          .size = at(columns, TS_COLUMN_SIZE, i),
                          .type = at(columns, TS_COLUMN_TYPE, i),
                          .memory = at(columns, TS_COLUMN_MEMORY, i) };
    }
}

static bool take_file(copies *c, uint32_t file, size_t most)
{
    ts_reader *const reader = analyze_reader(c->job, file);
    ts_columns columns = { 0 };
    ts_chunk_info info;
    bool ok = true;
    for (size_t i = 0; ok && ts_reader_chunk(reader, i, &info); i++) {
        if (info.header.kind != TS_CHUNK_EVENTS ||
            info.header.event != TS_EVENT_MEMCPY)
            continue;
        const ts_result result = ts_reader_decode(reader, i, &columns);
        ok = result != TS_ERR_MEMORY;
        if (result == TS_OK) take_chunk(c, file, &columns, most);
    }
    ts_columns_close(reader, &columns);
    return ok;
}

bool copies_find_longest(copies *c, size_t most)
{
    uint64_t known = 0;
    for (uint32_t file = 0; file < c->job->file_count; file++)
        known += analyze_info(c->job, file)->counts[TS_EVENT_MEMCPY];
    if (known > MOST) known = MOST;
    if (most > known) most = (size_t)known;
    if (!most) return true;
    c->longest = malloc(2 * most * sizeof *c->longest);
    bool ok = c->longest;
    for (uint32_t file = 0; ok && file < c->job->file_count; file++)
        ok = take_file(c, file, most);
    if (ok && c->longest_count)
        qsort(c->longest, c->longest_count, sizeof *c->longest, longer_first);
    if (c->longest_count > most) c->longest_count = most;
    return ok;
}

void copies_close(copies *c)
{
    free(c->longest);
    for (size_t i = 0; i < COPIES_MAPS; i++)
        stats_close(&c->maps[i]);
    stats_rows_close(&c->kinds);
    stats_rows_close(&c->memories);
    stats_rows_close(&c->sizes);
}
