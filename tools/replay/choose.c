/*
    choose.c - the selection by --ops and --zone
*/
#include "tools/replay/replay.h"
#include "tools/cli/search.h"

// A time span in which a thread was within a selected zone.
typedef struct interval {
    uint32_t thread;
    int64_t from_ns, to_ns;
} interval;

typedef struct file_zones {
    interval *intervals; // sorted by thread and time; disjoint
    size_t count, room;
    uint8_t *sites; // bits of the selected sites
    size_t site_bytes;
    uint8_t
        *rows; // bits of GPU operations by row: launched from a selected site
    size_t row_bytes;
} file_zones;

struct replay_choice {
    const replay_job *job;
    uint64_t from, to; // of operations
    const char *names; // names of zones; NULL: all
    file_zones *files;
    bool failed; // out of memory
};

/* ---- Numbers ------------------------------------------------------------- */

static bool parse_end(const char *text, size_t size, uint64_t *number)
{
    if (!size) return true; // open
    if (size > 18) return false;
    *number = 0;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        *number = *number * 10 + (uint64_t)(text[i] - '0');
    }
    return true;
}

static bool parse_range(replay_choice *c, const char *text)
{
    const char *const dots = strstr(text, "..");
    c->from = 0;
    c->to = UINT64_MAX;
    if (!dots) {
        if (!*text || !parse_end(text, strlen(text), &c->from)) return false;
        c->to = c->from;
        return true;
    }
    return parse_end(text, (size_t)(dots - text), &c->from) &&
           parse_end(dots + 2, strlen(dots + 2), &c->to) && c->from <= c->to;
}

/* ---- Zones --------------------------------------------------------------- */

static bool get_bit(const uint8_t *bits, size_t bytes, uint64_t at)
{
    return at / 8 < bytes && bits[at / 8] >> (at % 8) & 1;
}

static bool set_bit(uint8_t **bits, size_t *bytes, uint64_t at)
{
    if (at / 8 >= *bytes) {
        const size_t size = (size_t)(at / 8) * 2 + 64;
        uint8_t *const more = realloc(*bits, size);
        if (!more) return false;
        memset(more + *bytes, 0, size - *bytes);
        *bits = more;
        *bytes = size;
    }
    (*bits)[at / 8] |= (uint8_t)(1 << at % 8);
    return true;
}

// A name that contains a comma may also be given as a whole.
static bool is_selected(const replay_choice *c, ts_text name)
{
    return cli_list_has(c->names, name.text, name.size) ||
           (strlen(c->names) == name.size &&
            !memcmp(c->names, name.text, name.size));
}

static bool add_span(file_zones *z, uint32_t thread, int64_t from, int64_t to)
{
    if (!cli_grow(&z->intervals, &z->room, z->count + 1, sizeof *z->intervals))
        return false;
    const interval one = { thread, from, to };
    z->intervals[z->count++] = one;
    return true;
}

// Collects the zones of a chunk. Sites repeat, so each is looked up only once
// for consecutive rows.
static bool take_zones(const replay_choice *c, const ts_reader *reader,
                       file_zones *z, const ts_columns *columns)
{
    const uint64_t *const sites = columns->values[TS_COLUMN_SITE];
    uint64_t known = 0;
    bool matches = false;
    for (uint32_t i = 0; sites && i < columns->count; i++) {
        if (sites[i] != known) {
            known = sites[i];
            matches =
                is_selected(c, ts_reader_site_name(reader, (uint32_t)known));
            if (matches && !set_bit(&z->sites, &z->site_bytes, known))
                return false;
        }
        if (!matches) continue;
        const bool open = columns->kind == TS_EVENT_ZONE_OPEN;
        const int64_t from = columns->start_ns[i];
        if (!add_span(z, columns->tracks ? columns->tracks[i] : columns->track,
                      from, open ? INT64_MAX : from + columns->duration_ns[i]))
            return false;
    }
    return true;
}

static bool take_rows(file_zones *z, const ts_columns *columns, uint64_t first)
{
    const uint64_t *const sites = columns->values[TS_COLUMN_SITE];
    for (uint32_t i = 0; sites && i < columns->count; i++)
        if (get_bit(z->sites, z->site_bytes, sites[i]) &&
            !set_bit(&z->rows, &z->row_bytes, first + i))
            return false;
    return true;
}

static bool is_gpu(const ts_chunk_header *header)
{
    return header->event >= TS_EVENT_GPU_FIRST &&
           header->event < TS_EVENT_LIMIT;
}

// Reads the chunks of a file: first all zones, then (gpu) the operations
// launched from them.
static bool take_chunks(const replay_choice *c, uint32_t file, bool gpu)
{
    ts_reader *const reader = replay_reader(c->job, file);
    ts_columns columns = { 0 };
    ts_chunk_info info;
    uint64_t first = 0;
    bool ok = true;
    for (size_t i = 0; ok && ts_reader_chunk(reader, i, &info); i++) {
        const bool zones = info.header.event == TS_EVENT_ZONE ||
                           info.header.event == TS_EVENT_ZONE_OPEN;
        if (info.header.kind != TS_CHUNK_EVENTS ||
            !(gpu ? is_gpu(&info.header) : zones))
            continue;
        const ts_result result = ts_reader_decode(reader, i, &columns);
        if (result == TS_OK)
            ok = gpu ? take_rows(&c->files[file], &columns, first)
                     : take_zones(c, reader, &c->files[file], &columns);
        if (result == TS_ERR_MEMORY) ok = false;
        first += info.header.count;
    }
    ts_columns_close(reader, &columns);
    return ok;
}

static int by_thread(const void *left, const void *right)
{
    const interval *const a = left, *const b = right;
    if (a->thread != b->thread) return a->thread < b->thread ? -1 : 1;
    if (a->from_ns != b->from_ns) return a->from_ns < b->from_ns ? -1 : 1;
    return (a->to_ns > b->to_ns) - (a->to_ns < b->to_ns);
}

// Selected zones may nest: overlapping spans become one.
static void merge_spans(file_zones *z)
{
    size_t kept = 0;
    if (!z->count) return;
    qsort(z->intervals, z->count, sizeof *z->intervals, by_thread);
    for (size_t i = 1; i < z->count; i++) {
        interval *const last = &z->intervals[kept];
        const interval *const next = &z->intervals[i];
        if (next->thread == last->thread && next->from_ns <= last->to_ns) {
            if (next->to_ns > last->to_ns) last->to_ns = next->to_ns;
        } else {
            z->intervals[++kept] = *next;
        }
    }
    z->count = kept + 1;
}

static bool in_span(const file_zones *z, uint32_t thread, int64_t time)
{
    size_t low = 0, high = z->count;
    while (low < high) { // finds the first span that begins later
        const size_t middle = cli_middle(low, high);
        const interval *const s = &z->intervals[middle];
        cli_halve(&low, &high,
                  s->thread < thread ||
                      (s->thread == thread && s->from_ns <= time));
    }
    return low && z->intervals[low - 1].thread == thread &&
           time < z->intervals[low - 1].to_ns;
}

/* ---- Both ---------------------------------------------------------------- */

// Whether an operation was launched within a selected zone: its innermost zone
// is one, or the launching thread was within one at the time of the call.
static bool from_zone(const replay_choice *c, const ts_replay *replay,
                      const ts_operation *op)
{
    const file_zones *const z = &c->files[op->file];
    ts_replay_file file;
    ts_node call;
    if (get_bit(z->rows, z->row_bytes, op->row)) return true;
    return op->call != TS_NODE_NONE &&
           ts_replay_node(replay, op->call, &call) &&
           ts_replay_file_at(replay, op->file, &file) &&
           in_span(z, call.track, call.recorded_ns - file.offset_ns);
}

ts_skip replay_chosen(const ts_replay *replay, size_t index, void *user)
{
    const replay_choice *const c = user;
    ts_operation op;
    if (index < c->from || index > c->to) return TS_SKIP_RANGE;
    if (!c->names) return TS_SKIP_NOT;
    return ts_replay_operation(replay, index, &op) && from_zone(c, replay, &op)
               ? TS_SKIP_NOT
               : TS_SKIP_ZONE;
}

static bool find_zones(replay_choice *c)
{
    const replay_job *const job = c->job;
    size_t found = 0;
    for (uint32_t i = 0; i < job->file_count && !c->failed; i++) {
        c->failed = !take_chunks(c, i, false) || !take_chunks(c, i, true);
        merge_spans(&c->files[i]);
        found += c->files[i].count;
    }
    if (c->failed)
        cli_out_of_memory(job->tool);
    else if (!found)
        cli_error(job->tool, job->path, "no zone has the name '%s'", c->names);
    return !c->failed && found;
}

replay_choice *replay_choose(const replay_job *job, const char *ops,
                             const char *zones)
{
    replay_choice *const c = calloc(1, sizeof *c);
    file_zones *const files = calloc(job->file_count, sizeof *files);
    if (!c || !files) {
        cli_out_of_memory(job->tool);
        free(c);
        free(files);
        return NULL;
    }
    c->job = job;
    c->files = files;
    c->names = zones;
    c->to = UINT64_MAX;
    const bool range = !ops || parse_range(c, ops);
    if (!range)
        cli_error(job->tool, NULL,
                  "--ops %s: must be A..B, A.., ..B or one number", ops);
    if (range && (!zones || find_zones(c))) return c;
    replay_choice_close(c);
    return NULL;
}

void replay_choice_close(replay_choice *c)
{
    if (!c) return;
    for (uint32_t i = 0; i < c->job->file_count; i++) {
        free(c->files[i].intervals);
        free(c->files[i].sites);
        free(c->files[i].rows);
    }
    free(c->files);
    free(c);
}
