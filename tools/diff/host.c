/*
    host.c - rows of one side: host zones, calls and memory
*/
#include "tools/analyze/topics/memory.h"
#include "tools/diff/diff.h"

typedef struct host {
    diff *d;
    diff_side *s;
    int side;
    uint32_t file;
    int64_t offset_ns;
    path_tree names;
    cli_map rows; // kind and number to row
} host;

// Returns the row of a zone by its site or of a call by its name.
static uint32_t row_of(host *h, ts_event_kind kind, uint32_t number)
{
    ts_reader *const reader = analyze_reader(&h->s->job, h->file);
    const uint64_t key = (uint64_t)kind << 32 | number;
    const uint32_t known = cli_map_row(&h->rows, key);
    if (known != CLI_NONE) return known;
    ts_text name = ts_reader_name(reader, number);
    if (kind == TS_EVENT_ZONE) {
        const uint32_t at = paths_site(&h->names, reader, number);
        if (at == CLI_NONE) return CLI_NONE;
        name = h->names.names[at];
    } else if (!name.size) {
        name = analyze_format(&h->s->job, "(unnamed call)");
    }
    const diff_row *const row =
        diff_row_of(h->d, kind == TS_EVENT_ZONE ? DIFF_ZONE : DIFF_API, name);
    if (!row) return CLI_NONE;
    const uint32_t at = (uint32_t)(row - h->d->rows);
    return cli_map_set(&h->rows, key, at) ? at : CLI_NONE;
}

static bool add_chunk(host *h, const ts_columns *columns)
{
    const uint64_t *const of =
        columns->values[columns->kind == TS_EVENT_ZONE ? TS_COLUMN_SITE
                                                       : TS_COLUMN_NAME];
    for (uint32_t i = 0; i < columns->count; i++) {
        const uint32_t row = row_of(h, columns->kind, of ? (uint32_t)of[i] : 0);
        const int64_t from_ns = columns->start_ns[i] + h->offset_ns;
        const diff_one one = { from_ns, columns->duration_ns[i],
                               diff_step_at(h->s, from_ns), h->file,
                               TS_NODE_NONE };
        if (row == CLI_NONE || !diff_add(&h->d->rows[row], h->side, &one))
            return false;
    }
    return true;
}

// Adds the zones and calls of a file chunk by chunk. The order matters, because
// only a sample of very many durations is kept.
static bool add_file(host *h)
{
    ts_reader *const reader = analyze_reader(&h->s->job, h->file);
    const size_t count = ts_reader_chunk_count(reader);
    ts_columns columns = { 0 };
    ts_chunk_info info;
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        if (!ts_reader_chunk(reader, i, &info) ||
            info.header.kind != TS_CHUNK_EVENTS ||
            (info.header.event != TS_EVENT_ZONE &&
             info.header.event != TS_EVENT_API_CALL))
            continue;
        const ts_result result = ts_reader_decode(reader, i, &columns);
        ok = result != TS_ERR_MEMORY;
        if (result == TS_OK) ok = add_chunk(h, &columns);
    }
    ts_columns_close(reader, &columns);
    cli_map_close(&h->rows);
    return ok;
}

bool diff_collect_memory(diff *d, int side)
{
    diff_side *const s = &d->sides[side];
    memory_job a = { .job = &s->job };
    const uint32_t count = s->job.file_count;
    memory_file *const files = calloc(count, sizeof *files);
    for (uint32_t i = 0; files && i < count; i++)
        files[i] = (memory_file){ analyze_reader(&s->job, i),
                                  analyze_offset(&s->job, i) };
    bool ok = files && memory_compute(&a.m, files, count, 0);
    for (uint32_t i = 0; ok && i < a.m.pool_count; i++) {
        memory_pool *const p = &a.m.pools[i];
        p->process = 0; // heaps of all processes are one row, as are devices
        const diff_one one = { p->peak_ns, (int64_t)p->peak_size, TS_NODE_NONE,
                               p->file, TS_NODE_NONE };
        diff_row *const row =
            diff_row_of(d, DIFF_MEMORY, topic_memory_pool(&a, i));
        ok = row && diff_add(row, side, &one);
    }
    s->has_memory = a.m.pool_count > 0;
    memory_close(&a.m);
    free(files);
    return ok;
}

bool diff_collect_host(diff *d, int side)
{
    diff_side *const s = &d->sides[side];
    host h = { .d = d, .s = s, .side = side };
    ts_replay *const replay = analyze_replay(&s->job);
    bool ok = paths_open(&h.names);
    for (; ok && h.file < s->job.file_count; h.file++) {
        ts_replay_file of = { 0 };
        if (replay) ts_replay_file_at(replay, h.file, &of);
        h.offset_ns = of.offset_ns;
        ok = add_file(&h);
    }
    paths_close(&h.names);
    return ok;
}
