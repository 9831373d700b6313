/*
    steps.c - functions of time that change in steps, in limited memory
*/
#include "tools/studio/scene/parts.h"

enum { CELL_STEPS = 64, CELL_KEPT = 8 };

static int64_t cell_of(const scene_steps *t, int64_t time_ns)
{
    const int64_t cell = time_ns / t->cell_ns;
    return time_ns % t->cell_ns < 0 ? cell - 1 : cell;
}

// Keeps the first, lowest, highest and last of some steps. Returns how many
// that are.
static size_t keep(scene_item *to, const scene_item *from, size_t count)
{
    size_t low = 0, high = 0, kept = 0;
    for (size_t i = 1; i < count; i++) {
        const double low_value = from[low].value, value = from[i].value;
        if (value < low_value || isnan(low_value)) low = i;
        if (value > from[high].value || isnan(from[high].value)) high = i;
    }
    for (size_t i = 0; i < count; i++)
        if (!i || i == low || i == high || i + 1 == count) to[kept++] = from[i];
    return kept;
}

static void thin_last(scene_steps *t)
{
    scene_item *const cell = t->items + t->cell_at;
    t->count = t->cell_at + keep(cell, cell, t->count - t->cell_at);
}

static void thin_all(scene_steps *t)
{
    size_t kept = 0;
    for (size_t i = 0, end; i < t->count; i = end) {
        const int64_t cell = cell_of(t, t->items[i].start_ns);
        for (end = i + 1; end < t->count; end++)
            if (cell_of(t, t->items[end].start_ns) != cell) break;
        t->cell_at = kept;
        kept += keep(t->items + kept, t->items + i, end - i);
    }
    t->count = kept;
}

// Makes room: cells become wide enough for half of the steps.
static void widen(scene_steps *t, size_t most)
{
    const int64_t span = t->items[t->count - 1].start_ns - t->items[0].start_ns;
    while (t->count > most / 2) {
        t->cell_ns = t->cell_ns ? t->cell_ns * 2
                                : span / (int64_t)(most / CELL_KEPT) + 1;
        thin_all(t);
    }
}

// All steps before a time are final.
static void make_room(scene_steps *t, size_t most, int64_t time_ns)
{
    if (t->count >= most) widen(t, most);
    if (!t->cell_ns) return;
    const bool begins =
        cell_of(t, time_ns) != cell_of(t, t->items[t->cell_at].start_ns);
    if (begins || t->count - t->cell_at >= CELL_STEPS) thin_last(t);
    if (begins) t->cell_at = t->count;
}

bool scene_steps_add(scene_steps *t, size_t most, int64_t time_ns, double value)
{
    scene_item *const last = t->count ? &t->items[t->count - 1] : NULL;
    if (last && last->start_ns == time_ns) {
        last->value = value;
        return true;
    }
    if (last && (last->value == value || (isnan(last->value) && isnan(value))))
        return true;
    if (last) make_room(t, most, time_ns);
    if (!cli_grow(&t->items, &t->room, t->count + 1, sizeof *t->items))
        return false;
    t->items[t->count++] =
        (scene_item){ .start_ns = time_ns, .value = value, .label = CLI_NONE };
    return true;
}

void scene_steps_close(scene_steps *t)
{
    free(t->items);
    *t = (scene_steps){ 0 };
}

/* ---- Counters ------------------------------------------------------------ */

// Occupancy is counted in millionths. Kernels that run side by side do not make
// a device fuller than full.
static double value_of(const scene_meter *m)
{
    if (m->unknown) return NAN;
    if (m->part != SCENE_OCCUPANCY) return (double)m->sum;
    return (double)(m->sum < 1000000 ? m->sum : 1000000) / 10000;
}

scene_meter *scene_meter_of(scene_derived *d, uint32_t track, uint32_t part)
{
    const uint64_t key = (uint64_t)part << 32 | track;
    const uint32_t known = cli_map_row(&d->meter_at, key);
    if (known != CLI_NONE) return &d->meters[known];
    if (!cli_grow(&d->meters, &d->room, d->count + 1, sizeof *d->meters) ||
        !cli_map_set(&d->meter_at, key, d->count))
        return NULL;
    d->meters[d->count] = (scene_meter){ .track = track, .part = part };
    return &d->meters[d->count++];
}

size_t scene_steps_most(const scene_derived *d, size_t counters)
{
    if (d->most) return d->most;
    const size_t each = SCENE_STEPS_ALL / (counters + 1);
    return each > SCENE_STEPS_LEAST ? each : SCENE_STEPS_LEAST;
}

bool scene_meter_add(scene_meter *m, size_t most, int64_t time_ns,
                     int64_t change, int unknown)
{
    // Modulo 2^64: a hostile trace has any sizes, and what begins also ends.
    m->sum = (int64_t)((uint64_t)m->sum + (uint64_t)change);
    m->unknown += (uint32_t)unknown;
    m->known = m->known || change;
    return scene_steps_add(&m->steps, most, time_ns, value_of(m));
}

bool scene_meter_show(scene *s, scene_meter *m)
{
    if (!m->known || !m->steps.count) return true;
    strip *const r = scene_row_get(s, SCENE_COUNTER, m->track, m->part);
    if (!r) return s->row_count >= SCENE_ROWS;
    scene_row_clear(r);
    r->items = m->steps.items;
    r->count = m->steps.count;
    r->room = m->steps.room;
    r->cell_ns = m->steps.cell_ns;
    m->steps = (scene_steps){ 0 };
    for (size_t i = 0; i < r->count; i++)
        r->items[i].ref = SCENE_REF_STEP | (uint64_t)(r - s->rows) << 32 | i;
    return scene_row_finish(r);
}
