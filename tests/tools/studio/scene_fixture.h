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

#endif // SCENE_FIXTURE_H
