/*
    window.c - which chunks there are, and the window whose events are loaded

    A trace is loaded as a whole if it is small, else one window of it at a
    time. What takes longer than a frame is done in slices, by scene_work; until
    then rows are drawn from pictures.
*/
#include "tools/studio/scene/parts.h"
#include "tools/cli/search.h"

/* ---- Chunks -------------------------------------------------------------- */

int scene_begin_order(const void *left, const void *right)
{
    const scene_begin *const a = left, *const b = right;
    if (a->first_ns != b->first_ns) return a->first_ns < b->first_ns ? -1 : 1;
    return a->chunk < b->chunk ? -1 : a->chunk > b->chunk;
}

static int by_last(const void *a, const void *b)
{
    const scene_end *const x = a, *const y = b;
    if (x->last_ns != y->last_ns) return x->last_ns < y->last_ns ? -1 : 1;
    return x->events < y->events ? -1 : x->events > y->events;
}

// Lists further chunks whose events have a row. Zones that never ended are in
// every window.
static bool list_chunks(scene *s)
{
    ts_chunk_info chunk;
    for (; ts_reader_chunk(s->reader, s->listed, &chunk); s->listed++) {
        const ts_chunk_header *const h = &chunk.header;
        if (h->kind != TS_CHUNK_EVENTS || h->event >= TS_EVENT_LIMIT ||
            !h->count || !scene_row_of_kind((ts_event_kind)h->event))
            continue;
        if (!cli_grow(&s->chunks, &s->chunk_room, s->chunk_count + 1,
                      sizeof *s->chunks))
            return false;
        const bool open = h->event == TS_EVENT_ZONE_OPEN;
        s->chunks[s->chunk_count++] =
            (scene_chunk){ .first_ns = scene_near(chunk.first_ns),
                           .last_ns =
                               open ? SCENE_FAR : scene_near(chunk.last_ns),
                           .index = (uint32_t)s->listed,
                           .track = h->track,
                           .count = h->count,
                           .event = h->event };
    }
    return true;
}

static void sum_begins(scene *s)
{
    int64_t reach_ns = -SCENE_FAR;
    s->events = 0;
    for (size_t i = 0; i < s->chunk_count; i++) {
        scene_begin *const begin = &s->begins[i];
        const scene_chunk *const chunk = &s->chunks[begin->chunk];
        if (chunk->last_ns > reach_ns) reach_ns = chunk->last_ns;
        begin->reach_ns = reach_ns;
        begin->before = s->events;
        s->events += chunk->count;
    }
}

static bool order_chunks(scene *s)
{
    free(s->begins);
    free(s->ends);
    s->begins = malloc((s->chunk_count + 1) * sizeof *s->begins);
    s->ends = malloc((s->chunk_count + 1) * sizeof *s->ends);
    if (!s->begins || !s->ends) return false;
    for (size_t i = 0; i < s->chunk_count; i++) {
        s->begins[i] = (scene_begin){ .first_ns = s->chunks[i].first_ns,
                                      .chunk = (uint32_t)i };
        s->ends[i] = (scene_end){ s->chunks[i].last_ns, s->chunks[i].count };
    }
    if (!s->chunk_count) return true;
    qsort(s->begins, s->chunk_count, sizeof *s->begins, scene_begin_order);
    qsort(s->ends, s->chunk_count, sizeof *s->ends, by_last);
    for (size_t i = 1; i < s->chunk_count; i++)
        s->ends[i].events += s->ends[i - 1].events;
    sum_begins(s);
    return true;
}

size_t scene_chunks_reaching(const scene *s, int64_t from_ns)
{
    size_t low = 0, high = s->chunk_count;
    while (low < high)
        cli_halve(&low, &high,
                  s->begins[cli_middle(low, high)].reach_ns < from_ns);
    return low;
}

// The first chunk that begins at a time or later.
static size_t first_from(const scene *s, int64_t time_ns)
{
    size_t low = 0, high = s->chunk_count;
    while (low < high)
        cli_halve(&low, &high,
                  s->begins[cli_middle(low, high)].first_ns < time_ns);
    return low;
}

// Events of chunks that end before a time.
static uint64_t ended_before(const scene *s, int64_t time_ns)
{
    size_t low = 0, high = s->chunk_count;
    while (low < high)
        cli_halve(&low, &high,
                  s->ends[cli_middle(low, high)].last_ns < time_ns);
    return low ? s->ends[low - 1].events : 0;
}

static uint64_t count_events(const scene *s, int64_t from_ns, int64_t to_ns)
{
    const size_t end = first_from(s, to_ns);
    const uint64_t begun =
        end < s->chunk_count ? s->begins[end].before : s->events;
    return begun - ended_before(s, from_ns);
}

/* ---- The window ---------------------------------------------------------- */

// Widens a window to what may be held, so that panning needs no new load.
static bool widen(const scene *s, uint64_t most, int64_t *from_ns,
                  int64_t *to_ns)
{
    const int64_t width = scene_near(*to_ns - *from_ns);
    for (int64_t more = width; more; more = more > width / 4 ? width / 4 : 0)
        if (count_events(s, *from_ns - more, *to_ns + more) <= most) {
            *from_ns -= more;
            *to_ns += more;
            return true;
        }
    return count_events(s, *from_ns, *to_ns) <= most;
}

// Chooses what to load for a window: all, or little at once, or more in slices.
static bool choose_window(const scene *s, int64_t *from_ns, int64_t *to_ns)
{
    if (s->events > s->limits.events)
        return widen(s, s->limits.at_once, from_ns, to_ns) ||
               widen(s, s->limits.window, from_ns, to_ns);
    *from_ns = -SCENE_FAR;
    *to_ns = SCENE_FAR;
    return true;
}

static void clear_rows(scene *s)
{
    for (size_t i = 0; i < s->row_count; i++)
        if (s->rows[i].pub.type < SCENE_DEVICE ||
            s->rows[i].pub.type == SCENE_WORK ||
            (s->rows[i].pub.type == SCENE_COUNTER &&
             !scene_is_derived(&s->rows[i].pub)))
            scene_row_clear(&s->rows[i]);
}

// By label: how many boxes there are, and for how long.
static void count_labels(scene *s)
{
    for (size_t i = 0; i < s->label_count; i++)
        s->labels[i].count = 0, s->labels[i].total_ns = 0;
    for (size_t i = 0; i < s->row_count; i++) {
        const strip *const r = &s->rows[i];
        if (r->samples || r->pub.type == SCENE_GHOST ||
            r->pub.type == SCENE_PATH)
            continue;
        for (size_t k = 0; k < r->count; k++) {
            scene_label *const label = &s->labels[r->items[k].label];
            label->count++;
            scene_add_ns(&label->total_ns, scene_item_ns(&r->items[k]));
        }
    }
}

static void job_drop(scene *s)
{
    scene_gather_drop(&s->job.gathering);
    ts_columns_close(s->reader, &s->job.columns);
    s->job = (scene_job){ .active = false };
}

static void job_begin(scene *s, int64_t from_ns, int64_t to_ns)
{
    job_drop(s);
    s->job = (scene_job){ .active = true,
                          .from_ns = from_ns,
                          .to_ns = to_ns,
                          .next = scene_chunks_reaching(s, from_ns),
                          .end = first_from(s, to_ns),
                          .gathering = { .s = s } };
}

// Decodes chunks until so many events were read or none is left.
static void job_read(scene *s, uint64_t most)
{
    scene_job *const job = &s->job;
    ts_columns *const columns = &job->columns;
    for (uint64_t read = 0;
         job->next < job->end && read < most && !job->gathering.failed;
         job->next++) {
        const scene_chunk *const chunk = &s->chunks[s->begins[job->next].chunk];
        if (chunk->last_ns < job->from_ns) continue;
        read += chunk->count;
        if (ts_reader_decode(s->reader, chunk->index, columns) == TS_OK)
            scene_gather_columns(&job->gathering, columns);
    }
}

// Replaces what was loaded by what the job has gathered.
static void job_end(scene *s)
{
    scene_job *const job = &s->job;
    clear_rows(s);
    s->from_ns = job->from_ns;
    s->to_ns = job->to_ns;
    s->loaded = scene_gather_end(&job->gathering);
    job_drop(s);
    if (s->events <= s->limits.events) s->version++; // now rows are complete
    if (!s->loaded) {
        s->refused_from = s->from_ns;
        s->refused_to = s->to_ns;
        return;
    }
    scene_path_mark(s);
    count_labels(s);
}

static bool is_loaded(const scene *s, int64_t from_ns, int64_t to_ns)
{
    return s->loaded && from_ns >= s->from_ns && to_ns <= s->to_ns;
}

// Begins to load a window, unless that has begun. False: it holds too much.
static bool job_for(scene *s, int64_t from_ns, int64_t to_ns)
{
    const scene_job *const job = &s->job;
    if (job->active && from_ns >= job->from_ns && to_ns <= job->to_ns)
        return true;
    if (!choose_window(s, &from_ns, &to_ns) ||
        (from_ns == s->refused_from && to_ns == s->refused_to))
        return false;
    job_begin(s, from_ns, to_ns);
    return true;
}

bool scene_load(scene *s, int64_t from_ns, int64_t to_ns)
{
    if (is_loaded(s, from_ns, to_ns)) return true;
    if (!scene_table(s) || !job_for(s, from_ns, to_ns)) return false;
    job_read(s, UINT64_MAX);
    job_end(s);
    return is_loaded(s, from_ns, to_ns);
}

bool scene_window(scene *s, int64_t from_ns, int64_t to_ns)
{
    if (is_loaded(s, from_ns, to_ns)) return true;
    if (!s->table_read || !job_for(s, from_ns, to_ns)) return false;
    const uint64_t most =
        s->events <= s->limits.whole ? s->limits.whole : s->limits.at_once;
    return count_events(s, s->job.from_ns, s->job.to_ns) <= most &&
           scene_load(s, from_ns, to_ns);
}

/* ---- Work ---------------------------------------------------------------- */

bool scene_table(scene *s)
{
    if (s->table_read) return true;
    s->table_read = ts_reader_index(s->reader) == TS_OK && list_chunks(s) &&
                    order_chunks(s) && scene_sources_find(s);
    s->table_failed = !s->table_read;
    return s->table_read;
}

bool scene_views_behind(const scene *s)
{
    if (!s->table_read) return s->table_wanted && !s->table_failed;
    return s->row_built < s->row_count || s->job.active ||
           scene_streams_behind(s);
}

bool scene_is_behind(const scene *s)
{
    return scene_views_behind(s) || (s->table_read && scene_names_behind(s)) ||
           scene_derived_behind(s);
}

bool scene_table_work(scene *s)
{
    enum { PARTS = 4 };
    const ts_result result = ts_reader_index_parts(s->reader, PARTS);
    return result != TS_ERR_BUSY && scene_table(s);
}

bool scene_work(scene *s)
{
    if (!scene_is_behind(s)) return false;
    if (!s->table_read) return scene_table_work(s);
    if (s->row_built < s->row_count) return scene_pictures_work(s);
    if (!s->job.active) {
        if (scene_names_behind(s)) return scene_names_work(s);
        return scene_streams_behind(s) ? scene_streams_work(s)
                                       : scene_derived_work(s);
    }
    if (s->job.next < s->job.end && !s->job.gathering.failed) {
        job_read(s, s->limits.slice);
        return false;
    }
    job_end(s);
    return true;
}

void scene_window_forget(scene *s)
{
    job_drop(s);
    s->loaded = s->table_read = s->table_failed = false;
    s->row_built = s->source_built = 0;
    s->refused_from = s->refused_to = 0;
    s->grey_pixels = 0;
    ts_columns_close(s->reader, &s->pictured);
}

void scene_window_close(scene *s)
{
    scene_window_forget(s);
    free(s->chunks);
    free(s->begins);
    free(s->ends);
    s->chunks = NULL;
    s->begins = NULL;
    s->ends = NULL;
    s->chunk_count = s->chunk_room = s->listed = s->sourced = 0;
    s->events = 0;
}
