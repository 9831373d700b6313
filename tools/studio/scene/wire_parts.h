/*
    wire_parts.h - reading questions and writing answers
*/
#ifndef TS_TOOLS_STUDIO_SCENE_WIRE_PARTS_H
#define TS_TOOLS_STUDIO_SCENE_WIRE_PARTS_H

#include <stdlib.h>
#include <string.h>
#include "tools/cli/map.h"
#include "tools/studio/scene/wire.h"

typedef struct wire {
    scene *s;
    // The question: what is left of it.
    const uint8_t *at;
    size_t left;
    bool wrong; // it ended too early
    // The answer.
    uint8_t *data;
    size_t size, room;
    bool failed; // no memory
} wire;

uint64_t wire_get(wire *w, unsigned bytes);
static inline uint32_t wire_u32(wire *w)
{
    return (uint32_t)wire_get(w, 4);
}
static inline uint64_t wire_u64(wire *w)
{
    return wire_get(w, 8);
}
static inline int64_t wire_i64(wire *w)
{
    return (int64_t)wire_get(w, 8);
}
// A text of at most `most` bytes, in the question.
ts_text wire_text(wire *w, size_t most);
// Copies `count` numbers of 4 or 8 bytes; NULL if there are not so many, or
// without memory. Free with free().
uint32_t *wire_u32s(wire *w, size_t count);
uint64_t *wire_u64s(wire *w, size_t count);

void wire_put(wire *w, uint64_t value, unsigned bytes);
void wire_put_bytes(wire *w, const void *bytes, size_t size);
void wire_put_text(wire *w, ts_text text);
void wire_put_string(wire *w, const char *text);
void wire_put_real(wire *w, double value);
// Floats, NaN with one bit pattern.
void wire_put_floats(wire *w, const float *values, size_t count);
// Returns where a u32 was put that is set later.
size_t wire_hold(wire *w);
void wire_set(wire *w, size_t at, uint32_t value);

// What each question does: reads the rest of it and writes the answer.
typedef ts_result wire_answer(wire *w);
wire_answer wire_info, wire_rows, wire_view, wire_pick, wire_event, wire_search,
    wire_next, wire_area, wire_idle, wire_why, wire_path, wire_whatif,
    wire_labels, wire_refresh;

#endif // TS_TOOLS_STUDIO_SCENE_WIRE_PARTS_H
