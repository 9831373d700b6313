/*
    scene_fixture.h - a scene of a trace made by hand

    One stream. Kernel a is launched at 0 and runs from 10 to 20. The host is in
    zone `load` from 4 to 60, in `read` within it from 30 to 50, calls `open`
    from 40 to 46, and launches kernel b at 70, which runs from 80 to 90. So the
    device is idle from 20 to 80, as the host launches too late.
*/
#ifndef SCENE_FIXTURE_H
#define SCENE_FIXTURE_H

#include "tests/tools/analyze/time_fixture.h"
#include "tools/studio/scene/parts.h"

typedef struct staged {
    made m;
    scene *s;
} staged;

static inline void staged_open(staged *t)
{
    made_read(&t->m);
    assert_int_equal(TS_OK, scene_open(&t->s, t->m.reader));
    assert_true(scene_load(t->s, 0, 100));
}

static inline staged staged_late(void)
{
    staged t;
    made_begin(&t.m, 0);
    made_launch(&t.m, S0, "a", 0, 10, 20);
    made_call(&t.m, HOST, "open", 40, 46);
    made_zone(&t.m, HOST, "read", 30, 50);
    made_zone(&t.m, HOST, "load", 4, 60);
    made_launch(&t.m, S0, "b", 70, 80, 90);
    staged_open(&t);
    return t;
}

// Zones "zone 0", "zone 1", ... of 5 ns each, one each 10 ns.
static inline void staged_zones(staged *t, int count)
{
    char name[32];
    for (int i = 0; i < count; i++) {
        snprintf(name, sizeof name, "zone %d", i);
        made_zone(&t->m, HOST, name, 10 * i, 10 * i + 5);
    }
}

static inline void staged_close(staged *t)
{
    scene_close(t->s);
    made_close(&t->m);
}

// The number of a row; the test fails if there is none.
static inline uint32_t staged_row(const staged *t, scene_row_type type,
                                  uint32_t track, uint32_t part)
{
    const scene_row *row;
    for (uint32_t i = 0; (row = scene_row_at(t->s, i)); i++)
        if (row->type == type && row->track == track && row->part == part)
            return i;
    fail_msg("no row of type %d on track %u", (int)type, track);
    return 0;
}

static inline const char *staged_label(const staged *t, uint32_t label)
{
    return scene_label_at(t->s, label)->text.text;
}

// Works until there is nothing more to do.
static inline void staged_work(scene *s)
{
    for (int slices = 0; scene_is_behind(s); slices++) {
        scene_work(s);
        assert_true(slices < 1000);
    }
}

/* ---- What is drawn ------------------------------------------------------- */

enum { CANVAS_MOST = 400 }; // pixels

typedef struct canvas {
    scene_view v; // free v.boxes
    uint8_t busy[CANVAS_MOST], hue[CANVAS_MOST];
    float low[CANVAS_MOST], high[CANVAS_MOST];
} canvas;

static inline void canvas_draw(scene *s, canvas *c, uint32_t row,
                               int64_t from_ns, int64_t to_ns, uint32_t pixels)
{
    memset(c, 0, sizeof *c);
    c->v = (scene_view){ .from_ns = from_ns,
                         .to_ns = to_ns,
                         .pixels = pixels,
                         .busy = c->busy,
                         .hue = c->hue,
                         .low = c->low,
                         .high = c->high };
    assert_int_equal(TS_OK, scene_draw(s, row, &c->v));
}

/* ---- What is told of an event -------------------------------------------- */

typedef struct facts {
    char text[1024]; // "name=value;" each
} facts;

static inline void add_fact(const char *name, ts_text value, void *user)
{
    facts *const to = user;
    const size_t size = strlen(to->text);
    snprintf(to->text + size, sizeof to->text - size, "%s=%.*s;", name,
             (int)value.size, value.text);
}

#endif // SCENE_FIXTURE_H
