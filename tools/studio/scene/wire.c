/*
    wire.c - heads of questions and answers, and numbers as bytes
*/
#include "tools/studio/scene/wire_parts.h"
#include <math.h>

uint64_t wire_get(wire *w, unsigned bytes)
{
    uint64_t value = 0;
    if (w->left < bytes) {
        w->wrong = true;
        w->left = 0;
        return 0;
    }
    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)w->at[i] << 8 * i;
    w->at += bytes;
    w->left -= bytes;
    return value;
}

ts_text wire_text(wire *w, size_t most)
{
    const size_t size = wire_u32(w);
    if (size > w->left || size > most) {
        w->wrong = true;
        return (ts_text){ "", 0 };
    }
    const ts_text text = { (const char *)w->at, size };
    w->at += size;
    w->left -= size;
    return text;
}

uint32_t *wire_u32s(wire *w, size_t count)
{
    if (count > w->left / 4) {
        w->wrong = true;
        return NULL;
    }
    uint32_t *const list = malloc((count + 1) * sizeof *list);
    if (!list) w->failed = true;
    for (size_t i = 0; list && i < count; i++)
        list[i] = wire_u32(w);
    return list;
}

static int by_number(const void *left, const void *right)
{
    const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return a < b ? -1 : a > b;
}

uint32_t *wire_get_rows(wire *w, uint32_t *count)
{
    w->wrong = w->wrong || *count > SCENE_ROWS;
    uint32_t *const list = w->wrong ? NULL : wire_u32s(w, *count);
    uint32_t kept = 0;
    if (list && *count) qsort(list, *count, sizeof *list, by_number);
    for (uint32_t i = 0; list && i < *count; i++)
        if (!i || list[i] != list[kept - 1]) list[kept++] = list[i];
    *count = kept;
    return list;
}

uint64_t *wire_u64s(wire *w, size_t count)
{
    if (count > w->left / 8) {
        w->wrong = true;
        return NULL;
    }
    uint64_t *const list = malloc((count + 1) * sizeof *list);
    if (!list) w->failed = true;
    for (size_t i = 0; list && i < count; i++)
        list[i] = wire_u64(w);
    return list;
}

/* ---- Writing ------------------------------------------------------------- */

static uint8_t *reserve(wire *w, size_t size)
{
    if (w->failed || !cli_grow(&w->data, &w->room, w->size + size, 1)) {
        w->failed = true;
        return NULL;
    }
    w->size += size;
    return w->data + w->size - size;
}

static void store(uint8_t *to, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

void wire_put(wire *w, uint64_t value, unsigned bytes)
{
    uint8_t *const to = reserve(w, bytes);
    if (to) store(to, value, bytes);
}

void wire_put_bytes(wire *w, const void *bytes, size_t size)
{
    uint8_t *const to = reserve(w, size);
    if (to && size) memcpy(to, bytes, size);
}

void wire_put_text(wire *w, ts_text text)
{
    const size_t size = text.size < UINT32_MAX ? text.size : 0;
    wire_put(w, size, 4);
    wire_put_bytes(w, text.text, size);
}

void wire_put_string(wire *w, const char *text)
{
    wire_put_text(w, (ts_text){ text, strlen(text) });
}

void wire_put_real(wire *w, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    wire_put(w, bits, 8);
}

void wire_put_floats(wire *w, const float *values, size_t count)
{
    uint8_t *const to = reserve(w, 4 * count);
    for (size_t i = 0; to && i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        store(to + 4 * i, isnan(values[i]) ? 0x7FC00000u : bits, 4);
    }
}

size_t wire_hold(wire *w)
{
    const size_t at = w->size;
    wire_put(w, 0, 4);
    return at;
}

void wire_set(wire *w, size_t at, uint32_t value)
{
    if (!w->failed) store(w->data + at, value, 4);
}

/* ---- Questions ----------------------------------------------------------- */

enum { HEAD = 12 };

static wire_answer *const answers[] = { [SCENE_ASK_INFO] = wire_info,
                                        [SCENE_ASK_ROWS] = wire_rows,
                                        [SCENE_ASK_VIEW] = wire_view,
                                        [SCENE_ASK_PICK] = wire_pick,
                                        [SCENE_ASK_EVENT] = wire_event,
                                        [SCENE_ASK_SEARCH] = wire_search,
                                        [SCENE_ASK_NEXT] = wire_next,
                                        [SCENE_ASK_AREA] = wire_area,
                                        [SCENE_ASK_IDLE] = wire_idle,
                                        [SCENE_ASK_WHY] = wire_why,
                                        [SCENE_ASK_PATH] = wire_path,
                                        [SCENE_ASK_WHATIF] = wire_whatif,
                                        [SCENE_ASK_LABELS] = wire_labels,
                                        [SCENE_ASK_REFRESH] = wire_refresh,
                                        [SCENE_ASK_FLOWS] = wire_flows,
                                        [SCENE_ASK_FLAME] = wire_flame,
                                        [SCENE_ASK_HISTOGRAM] = wire_histogram,
                                        [SCENE_ASK_OPERATIONS] =
                                            wire_operations,
                                        [SCENE_ASK_COUNTERS] = wire_counters,
                                        [SCENE_ASK_NAMES] = wire_names,
                                        [SCENE_ASK_WORK] = wire_work };

static ts_result answer(wire *w, uint32_t *type)
{
    const uint32_t magic = wire_u32(w);
    *type = wire_u32(w);
    if ((magic & 0xFFFFFF) != 0x515354 || w->wrong) return TS_ERR_USAGE;
    if (magic >> 24 != SCENE_WIRE_VERSION) return TS_ERR_VERSION;
    if (*type >= sizeof answers / sizeof *answers || !answers[*type])
        return TS_ERR_USAGE;
    const ts_result result = answers[*type](w);
    if (w->failed) return TS_ERR_MEMORY;
    return w->wrong ? TS_ERR_USAGE : result;
}

void scene_answer(scene *s, const uint8_t *request, size_t size, uint8_t **to,
                  size_t *to_size)
{
    wire w = { .s = s, .at = request, .left = size };
    uint32_t type;
    wire_put(&w, 0, 4);
    wire_put(&w, 0, 8);
    const ts_result result = answer(&w, &type);
    w.failed = w.failed && !w.data;
    if (result != TS_OK && w.size > HEAD) w.size = HEAD;
    if (w.data) {
        store(w.data, 0x415354u | (uint32_t)SCENE_WIRE_VERSION << 24, 4);
        store(w.data + 4, type, 4);
        store(w.data + 8, (uint32_t)(int32_t)result, 4);
    }
    *to = w.data;
    *to_size = w.data ? w.size : 0;
}
