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

// Reads an unsigned number of 1 to 8 bytes, little-endian. Beyond the end it
// sets `wrong` and returns 0, so that callers check once.
uint64_t wire_get(wire *w, unsigned bytes);
// Reads 4 bytes.
static inline uint32_t wire_u32(wire *w)
{
    return (uint32_t)wire_get(w, 4);
}
// Reads 8 bytes.
static inline uint64_t wire_u64(wire *w)
{
    return wire_get(w, 8);
}
// Reads 8 bytes as a two's complement number.
static inline int64_t wire_i64(wire *w)
{
    return (int64_t)wire_get(w, 8);
}
// A text of at most `most` bytes, in the question.
ts_text wire_text(wire *w, size_t most);
// Copies `count` numbers of 4 or 8 bytes; NULL if there are not so many, or
// without memory. Free with free().
uint32_t *wire_u32s(wire *w, size_t count);
// Reads *count rows, of which each is kept once, in order. NULL with too many
// rows (`wrong`), or as wire_u32s. Free with free().
uint32_t *wire_get_rows(wire *w, uint32_t *count);
// Reads `count` numbers into memory that the caller frees. NULL if the request
// is shorter (`wrong`) or memory runs out (`failed`).
uint64_t *wire_u64s(wire *w, size_t count);

// Adds the low 1 to 8 bytes of a number, little-endian. Without memory it sets
// `failed`, and nothing is added any more.
void wire_put(wire *w, uint64_t value, unsigned bytes);
// Adds bytes as they are.
void wire_put_bytes(wire *w, const void *bytes, size_t size);
// Adds the size of a text in 4 bytes, then the text.
void wire_put_text(wire *w, ts_text text);
// The same for a string that ends with a zero byte.
void wire_put_string(wire *w, const char *text);
// Adds the 8 bytes of a double.
void wire_put_real(wire *w, double value);
// Floats, NaN with one bit pattern.
void wire_put_floats(wire *w, const float *values, size_t count);
// Returns where a u32 was put that is set later.
size_t wire_hold(wire *w);
// Fills in a number that wire_hold left room for.
void wire_set(wire *w, size_t at, uint32_t value);

// What each question does: reads the rest of it and writes the answer.
typedef ts_result wire_answer(wire *w);
wire_answer wire_info, wire_rows, wire_view, wire_pick, wire_event, wire_search,
    wire_next, wire_area, wire_idle, wire_why, wire_path, wire_whatif,
    wire_labels, wire_refresh, wire_flows, wire_flame, wire_histogram,
    wire_operations, wire_counters, wire_names, wire_work;

// Labels that an answer used, each once, so that it ends with their texts.
typedef struct wire_used {
    cli_map map;
    uint32_t *list;
    size_t count, room;
} wire_used;

// Notes that the answer uses a label.
void wire_use(wire *w, wire_used *u, uint32_t label);
// Adds a label: its number, kind, hue and text.
void wire_put_label(wire *w, uint32_t label);
// Adds all labels that were used, and frees the list.
void wire_put_used(wire *w, wire_used *u);

#endif // TS_TOOLS_STUDIO_SCENE_WIRE_PARTS_H
