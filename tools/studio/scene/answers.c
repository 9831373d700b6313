/*
    answers.c - what is in a trace, and what is where
*/
#include "tools/studio/scene/wire_parts.h"

/* ---- Labels in answers --------------------------------------------------- */

void wire_use(wire *w, wire_used *u, uint32_t label)
{
    uint64_t *const at = cli_map_at(&u->map, label);
    if (!at || !cli_grow(&u->list, &u->room, u->count + 1, sizeof *u->list)) {
        w->failed = true;
        return;
    }
    if (!*at) u->list[u->count++] = label;
    *at = 1;
}

void wire_put_label(wire *w, uint32_t at)
{
    const scene_label *const label = scene_label_at(w->s, at);
    wire_put(w, at, 4);
    wire_put(w, label ? label->kind : 0, 1);
    wire_put(w, label ? label->hue : 0, 1);
    wire_put_text(w, label ? label->text : (ts_text){ "", 0 });
}

void wire_put_used(wire *w, wire_used *u)
{
    wire_put(w, u->count, 4);
    for (size_t i = 0; i < u->count; i++)
        wire_put_label(w, u->list[i]);
    cli_map_close(&u->map);
    free(u->list);
}

static void put_item(wire *w, wire_used *u, uint32_t row,
                     const scene_item *item)
{
    wire_put(w, row, 4);
    wire_put(w, (uint64_t)item->start_ns, 8);
    wire_put(w, (uint64_t)item->end_ns, 8);
    wire_put(w, item->ref, 8);
    wire_put(w, item->label, 4);
    wire_put(w, item->flags, 4);
    wire_use(w, u, item->label);
}

/* ---- The trace ----------------------------------------------------------- */

static void put_losses(wire *w)
{
    const ts_reader *const reader = scene_reader(w->s);
    ts_loss_row loss;
    const size_t count = ts_reader_loss_count(reader);
    wire_put(w, count, 4);
    for (size_t i = 0; i < count && ts_reader_loss(reader, i, &loss); i++) {
        wire_put_string(w, ts_loss_name(loss.cause));
        wire_put(w, loss.cause < TS_LOSS_STALL_FIRST, 1);
        wire_put(w, loss.track, 4);
        wire_put_text(w, scene_track_name(w->s, loss.track));
        wire_put(w, loss.count, 8);
        wire_put(w, (uint64_t)loss.first_ns, 8);
        wire_put(w, (uint64_t)loss.last_ns, 8);
    }
}

static void put_metadata(wire *w)
{
    const ts_reader *const reader = scene_reader(w->s);
    ts_metadata m;
    size_t count = ts_reader_metadata_count(reader);
    if (count > SCENE_MOST_HITS) count = SCENE_MOST_HITS;
    wire_put(w, count, 4);
    for (size_t i = 0; i < count && ts_reader_metadata_at(reader, i, &m); i++) {
        wire_put(w, m.track, 4);
        wire_put_text(w, m.key);
        wire_put(w, m.type, 1);
        if (m.type == TS_VALUE_TEXT)
            wire_put_text(w, m.text);
        else if (m.type == TS_VALUE_DOUBLE)
            wire_put_real(w, m.real);
        else
            wire_put(w, (uint64_t)m.number, 8);
    }
}

ts_result wire_info(wire *w)
{
    const ts_info *const info = ts_reader_info(scene_reader(w->s));
    wire_put(w, (uint64_t)info->first_ns, 8);
    wire_put(w, (uint64_t)info->last_ns, 8);
    wire_put(w, info->start_realtime_ns, 8);
    wire_put(w, info->file_bytes, 8);
    wire_put(w, info->lost, 8);
    wire_put(w, info->salvaged, 8);
    wire_put(w, info->process, 4);
    wire_put(w, info->finished, 1);
    wire_put(w, info->live, 1);
    wire_put(w, info->clock_estimated, 1);
    wire_put(w, ts_reader_damage_count(scene_reader(w->s)), 4);
    wire_put(w, scene_operations(w->s), 8);
    wire_put(w, TS_EVENT_LIMIT, 4);
    for (uint32_t i = 0; i < TS_EVENT_LIMIT; i++)
        wire_put(w, info->counts[i], 8);
    put_losses(w);
    put_metadata(w);
    return TS_OK;
}

static void put_row(wire *w, uint32_t at)
{
    const scene_row *const row = scene_row_at(w->s, at);
    ts_track track = { 0 };
    ts_reader_track(scene_reader(w->s), row->track, &track);
    wire_put(w, at, 4);
    wire_put(w, row->type, 1);
    wire_put(w, row->track, 4);
    wire_put(w, row->part, 4);
    wire_put(w, row->count, 8);
    wire_put_real(w, row->low);
    wire_put_real(w, row->high);
    wire_put(w, track.type, 1);
    wire_put(w, track.parent, 4);
    wire_put_text(w, scene_row_name(w->s, row));
    // The unit of a counter, the model of a device.
    if (row->type == SCENE_COUNTER && row->part != SCENE_RECORDED)
        wire_put_string(w, scene_counter_unit(row->part));
    else
        wire_put_text(w,
                      track.type == TS_TRACK_DEVICE ? track.name : track.unit);
}

// Tracks that contain others: processes, devices.
static void put_parents(wire *w)
{
    ts_track track;
    uint32_t count = 0;
    const size_t at = wire_hold(w);
    for (size_t i = 0; ts_reader_track_at(scene_reader(w->s), i, &track); i++) {
        if (track.type == TS_TRACK_STREAM || track.type == TS_TRACK_COUNTER ||
            count >= SCENE_ROWS)
            continue;
        count++;
        wire_put(w, track.id, 4);
        wire_put(w, track.type, 1);
        wire_put(w, track.parent, 4);
        wire_put_text(w, scene_track_name(w->s, track.id));
        wire_put_text(w, track.name);
    }
    wire_set(w, at, count);
}

ts_result wire_rows(wire *w)
{
    const ts_info *const info = ts_reader_info(scene_reader(w->s));
    const bool whole = scene_window(w->s, info->first_ns, info->last_ns);
    wire_put(w, scene_rows_version(w->s), 4);
    wire_put(w, whole, 1);
    wire_put(w, scene_row_count(w->s), 4);
    for (uint32_t i = 0; i < scene_row_count(w->s); i++)
        put_row(w, i);
    put_parents(w);
    return TS_OK;
}

/* ---- Views --------------------------------------------------------------- */

static void put_samples(wire *w, const scene_view *v)
{
    wire_put_floats(w, v->low, v->pixels);
    wire_put_floats(w, v->high, v->pixels);
}

static void put_boxes(wire *w, wire_used *u, const scene_view *v)
{
    wire_put_bytes(w, v->busy, v->pixels);
    wire_put_bytes(w, v->hue, v->pixels);
    wire_put(w, v->box_count, 4);
    for (size_t i = 0; i < v->box_count; i++) {
        const scene_item *const box = &v->boxes[i];
        wire_put(w, (uint64_t)box->start_ns, 8);
        wire_put(w, (uint64_t)box->end_ns, 8);
        wire_put(w, box->ref, 8);
        wire_put(w, box->label, 4);
        wire_put(w, box->flags, 4);
        wire_use(w, u, box->label);
    }
}

static ts_result put_view(wire *w, wire_used *u, uint32_t at, scene_view *v)
{
    const ts_result result = scene_draw(w->s, at, v);
    const scene_row *const row = scene_row_at(w->s, at);
    if (result != TS_OK) return result;
    wire_put(w, at, 4);
    wire_put(w, row->type, 1);
    wire_put(w, (unsigned)v->coarse | (unsigned)v->behind << 1, 1);
    if (row->type == SCENE_COUNTER)
        put_samples(w, v);
    else
        put_boxes(w, u, v);
    return TS_OK;
}

static bool make_view(scene_view *v)
{
    v->busy = calloc(v->pixels, 1);
    v->hue = calloc(v->pixels, 1);
    v->low = calloc(v->pixels, sizeof *v->low);
    v->high = calloc(v->pixels, sizeof *v->high);
    return v->busy && v->hue && v->low && v->high;
}

static void close_view(scene_view *v)
{
    free(v->busy);
    free(v->hue);
    free(v->low);
    free(v->high);
    free(v->boxes);
}

ts_result wire_view(wire *w)
{
    scene_view v = { .from_ns = wire_i64(w), .to_ns = 0 };
    v.to_ns = wire_i64(w);
    v.pixels = wire_u32(w);
    const uint32_t count = wire_u32(w);
    if (w->wrong || !v.pixels || v.pixels > SCENE_PIXELS ||
        count > SCENE_MOST_ROWS)
        return TS_ERR_USAGE;
    uint32_t *const rows = wire_u32s(w, count);
    ts_result result = rows && make_view(&v) ? TS_OK : TS_ERR_MEMORY;
    wire_used u = { 0 };
    wire_put(w, (uint64_t)v.from_ns, 8);
    wire_put(w, (uint64_t)v.to_ns, 8);
    wire_put(w, v.pixels, 4);
    const size_t version = wire_hold(w);
    wire_put(w, count, 4);
    for (uint32_t i = 0; i < count && result == TS_OK; i++)
        result = put_view(w, &u, rows[i], &v);
    wire_set(w, version, scene_rows_version(w->s));
    wire_put_used(w, &u);
    close_view(&v);
    free(rows);
    return result;
}

ts_result wire_pick(wire *w)
{
    scene_item item;
    wire_used u = { 0 };
    const uint32_t row = wire_u32(w);
    const int64_t time_ns = wire_i64(w), slack_ns = wire_i64(w);
    if (w->wrong || !scene_row_at(w->s, row)) return TS_ERR_USAGE;
    if (!scene_pick(w->s, row, time_ns, slack_ns, &item))
        return TS_ERR_NOT_FOUND;
    put_item(w, &u, row, &item);
    wire_put_used(w, &u);
    return TS_OK;
}

/* ---- Events -------------------------------------------------------------- */

typedef struct pairs {
    wire *w;
    uint32_t count;
} pairs;

static void put_pair(const char *name, ts_text value, void *user)
{
    pairs *const p = user;
    p->count++;
    wire_put_string(p->w, name);
    wire_put_text(p->w, value);
}

ts_result wire_event(wire *w)
{
    const scene_ref ref = wire_u64(w);
    pairs p = { w, 0 };
    const size_t at = wire_hold(w);
    if (w->wrong || !scene_event(w->s, ref, put_pair, &p))
        return TS_ERR_NOT_FOUND;
    wire_set(w, at, p.count);
    return TS_OK;
}

static bool *search(wire *w, size_t *count)
{
    const ts_text text = wire_text(w, SCENE_MOST_TEXT);
    bool *const matches = calloc(scene_label_count(w->s) + 1, 1);
    *count = 0;
    if (!matches)
        w->failed = true;
    else if (!w->wrong)
        *count = scene_search(w->s, text, matches);
    return matches;
}

static void put_sums(wire *w, uint32_t at)
{
    uint64_t count;
    int64_t total_ns;
    scene_names_sum(w->s, at, &count, &total_ns);
    wire_put_label(w, at);
    wire_put(w, count, 8);
    wire_put(w, (uint64_t)total_ns, 8);
}

ts_result wire_search(wire *w)
{
    size_t found;
    const bool done = scene_names_want(w->s);
    bool *const matches = search(w, &found);
    uint32_t listed = 0;
    wire_put(w, found, 4);
    const size_t at = wire_hold(w);
    for (uint32_t i = 0; found && i < scene_label_count(w->s); i++)
        if (matches[i] && listed < SCENE_MOST_HITS) {
            put_sums(w, i);
            listed++;
        }
    wire_set(w, at, listed);
    // 1: work finds more; 2: counts are of what is loaded, for good
    wire_put(w, !done ? 1 : scene_names_known(w->s) ? 0 : 2, 1);
    free(matches);
    return TS_OK;
}

ts_result wire_next(wire *w)
{
    const int64_t time_ns = wire_i64(w);
    const uint32_t row = wire_u32(w), backwards = wire_u32(w);
    size_t count;
    uint32_t found;
    scene_item item;
    wire_used u = { 0 };
    bool *const matches = search(w, &count);
    const bool any = count && scene_seek(w->s, matches, backwards != 0, time_ns,
                                         row, &found, &item);
    free(matches);
    if (!any) return TS_ERR_NOT_FOUND;
    put_item(w, &u, found, &item);
    wire_put_used(w, &u);
    return TS_OK;
}

ts_result wire_labels(wire *w)
{
    const size_t count = scene_label_count(w->s) < SCENE_MOST_LABELS
                             ? scene_label_count(w->s)
                             : SCENE_MOST_LABELS;
    wire_put(w, count, 4);
    for (uint32_t i = 0; i < count; i++)
        put_sums(w, i);
    return TS_OK;
}

ts_result wire_counters(wire *w)
{
    wire_put(w, scene_counters_want(w->s), 1);
    return TS_OK;
}

ts_result wire_names(wire *w)
{
    uint32_t left = wire_u32(w);
    for (; left && !w->wrong; left--) {
        const ts_text name = wire_text(w, SCENE_MOST_NAME);
        const ts_text shown = wire_text(w, SCENE_MOST_NAME);
        if (w->wrong || !scene_name_read(w->s, name, shown)) break;
    }
    scene_label_texts(w->s);
    return TS_OK;
}

ts_result wire_work(wire *w)
{
    wire_put(w, scene_work(w->s), 1);
    wire_put(w, scene_is_behind(w->s), 1);
    return TS_OK;
}

ts_result wire_refresh(wire *w)
{
    wire_put(w, scene_refresh(w->s), 1);
    return TS_OK;
}
