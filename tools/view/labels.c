/*
    labels.c - tracks, and labels of events
*/
#include "tools/view/view.h"

static void no_memory(void)
{
    fputs("ts-view: out of memory; select less with --from, --to or --limit\n",
          stderr);
    exit(CLI_FAILED);
}

void *view_resize(void *memory, size_t count, size_t size)
{
    if (!count) {
        free(memory);
        return NULL;
    }
    void *const more =
        count > SIZE_MAX / size ? NULL : realloc(memory, count * size);
    if (!more) no_memory();
    return more;
}

void view_grow(void *array, size_t *room, size_t count, size_t size)
{
    if (!cli_grow(array, room, count, size)) no_memory();
}

void view_map_set(cli_map *map, uint64_t key, uint32_t value)
{
    if (!cli_map_set(map, key, value)) no_memory();
}

/* ---- Tracks ------------------------------------------------------------- */

static void track_add(view *v, const ts_track *track)
{
    const size_t count = v->track_count++;
    v->tracks = view_resize(v->tracks, count + 1, sizeof *v->tracks);
    v->track_selected =
        view_resize(v->track_selected, count + 1, sizeof *v->track_selected);
    v->tracks[count] = *track;
    cli_text made;
    const ts_text name = cli_track_name(track, &made);
    v->track_selected[count] =
        !v->track_list || cli_list_has(v->track_list, name.text, name.size);
    view_map_set(&v->track_index, track->id, (uint32_t)count);
}

// A selected device or context selects its streams, too.
static void reads_children(view *v)
{
    for (int round = 0; v->track_list && round < 4; round++)
        for (size_t i = 0; i < v->track_count; i++) {
            const ts_track *const t = &v->tracks[i];
            const uint32_t parent = cli_map_row(&v->track_index, t->parent);
            if (parent != CLI_NONE && v->track_selected[parent] &&
                v->tracks[parent].type != TS_TRACK_PROCESS)
                v->track_selected[i] = true;
        }
}

// Order for qsort: by process and name.
static int by_name(const void *a, const void *b)
{
    const ts_track *const x = *(const ts_track *const *)a;
    const ts_track *const y = *(const ts_track *const *)b;
    if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
    if (x->name.size != y->name.size)
        return x->name.size < y->name.size ? -1 : 1;
    return memcmp(x->name.text, y->name.text, x->name.size);
}

// Threads of a pool often have the same name.
void view_twins_find(view *v)
{
    size_t count = 0;
    const ts_track **const threads =
        view_resize(NULL, v->track_count, sizeof *threads);
    v->track_twin =
        view_resize(v->track_twin, v->track_count, sizeof *v->track_twin);
    v->twin_count = v->track_count;
    for (size_t i = 0; i < v->track_count; i++) {
        v->track_twin[i] = false;
        if (v->tracks[i].type == TS_TRACK_THREAD && v->tracks[i].name.size)
            threads[count++] = &v->tracks[i];
    }
    if (count) qsort(threads, count, sizeof *threads, by_name);
    for (size_t i = 1; i < count; i++)
        if (by_name(&threads[i - 1], &threads[i]) == 0)
            v->track_twin[threads[i - 1] - v->tracks] =
                v->track_twin[threads[i] - v->tracks] = true;
    free(threads);
}

void view_tracks_load(view *v)
{
    v->track_count = 0;
    cli_map_close(&v->track_index);
    ts_track track;
    for (size_t i = 0; ts_reader_track_at(v->trace.reader, i, &track); i++)
        track_add(v, &track);
    reads_children(v);
    view_twins_find(v);
}

ts_text view_track_name(const view *v, const ts_track *track, cli_text *made)
{
    const size_t at = (size_t)(track - v->tracks);
    const ts_text name = cli_track_name(track, made);
    if (at >= v->twin_count || !v->track_twin[at]) return name;
    const int size = snprintf(made->s, sizeof made->s, "%.*s (%" PRIu64 ")",
                              (int)name.size, name.text, track->number);
    // With the number the text would be too long: keep the name.
    if (size < 0 || (size_t)size >= sizeof made->s) return name;
    return (ts_text){ made->s, (size_t)size };
}

uint32_t view_track_at(view *v, uint32_t id)
{
    const uint32_t known = cli_map_row(&v->track_index, id);
    if (known != CLI_NONE) return known;
    const ts_track track = { .id = id, .number = id };
    track_add(v, &track);
    return (uint32_t)v->track_count - 1;
}

// view_track_at may reallocate the array, so it is called first.
const ts_track *view_track_of(view *v, uint32_t id)
{
    const uint32_t at = view_track_at(v, id);
    return &v->tracks[at];
}

bool view_track_is_selected(view *v, uint32_t id)
{
    const uint32_t at = view_track_at(v, id);
    return v->track_selected[at];
}

/* ---- Labels ------------------------------------------------------------- */

const char *view_copy_name(uint64_t type)
{
    static const char *const names[] = { "unknown", "h2d", "d2h",
                                         "d2d",     "h2h", "p2p" };
    return names[type < sizeof names / sizeof *names ? type : 0];
}

uint64_t view_key(const ts_columns *columns, uint32_t row)
{
    const ts_column column = cli_label_column(columns->kind);
    const uint64_t *const values = column ? columns->values[column] : NULL;
    const uint64_t kind = columns->kind == TS_EVENT_ZONE_OPEN
                              ? TS_EVENT_ZONE
                              : (uint64_t)columns->kind;
    return kind << 32 | (values ? values[row] & UINT32_MAX : 0);
}

static ts_text make(cli_text *made, const char *what, uint32_t number)
{
    const int size =
        number ? snprintf(made->s, sizeof made->s, "%s %" PRIu32, what, number)
               : snprintf(made->s, sizeof made->s, "%s", what);
    return (ts_text){ made->s, (size_t)size };
}

ts_text view_key_text(const view *v, uint64_t key, cli_text *made)
{
    const ts_event_kind kind = (ts_event_kind)(key >> 32);
    const uint32_t id = (uint32_t)key;
    const ts_column column = cli_label_column(kind);
    ts_text text = { "", 0 };
    if (column == TS_COLUMN_SITE)
        text = ts_reader_site_name(v->trace.reader, id);
    if (column == TS_COLUMN_NAME) text = ts_reader_name(v->trace.reader, id);
    if (column == TS_COLUMN_LAUNCH) {
        const ts_launch_entry *const launch =
            ts_reader_launch(v->trace.reader, id);
        if (launch) text = ts_reader_name(v->trace.reader, launch->name);
    }
    if (text.size) return text;
    if (kind != TS_EVENT_MEMCPY)
        return make(made, ts_event_name(kind), column ? id : 0);
    const int size =
        snprintf(made->s, sizeof made->s, "memcpy %s", view_copy_name(id));
    return (ts_text){ made->s, (size_t)size };
}

uint32_t view_key_color(const view *v, uint64_t key)
{
    if (cli_label_column((ts_event_kind)(key >> 32)) != TS_COLUMN_SITE)
        return 0;
    const ts_site_entry *const site =
        ts_reader_site(v->trace.reader, (uint32_t)key);
    return site ? site->color & 0xFFFFFF : 0;
}
