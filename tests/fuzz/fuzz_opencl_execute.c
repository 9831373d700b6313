/*
    fuzz_opencl_execute.c - whatever captures of OpenCL say, an execution of
    them touches nothing but what it was given, lets go of all that it made, and
    ends with an outcome for each

    The executor is the real one, on a double of the driver.
*/
#include "tests/fuzz/opencl_double.h"

enum { ATTRIBUTES = 1400 };
#include "tests/fuzz/captures_forge.h"

// Small numbers, sometimes none that anybody would expect.
static uint64_t any(source *s)
{
    const uint8_t value = next(s);
    if (value < 240) return value % 24;
    return value < 250 ? (uint64_t)next(s) << (value - 240) * 6
                       : UINT64_MAX - next(s);
}

static size_t put(uint8_t *to, uint32_t id, const void *bytes, uint32_t size)
{
    const ts_capture_attribute head = { id, size };
    const uint32_t room = (size + 7) & ~7u;
    memset(to + sizeof head, 0, room);
    memcpy(to, &head, sizeof head);
    memcpy(to + sizeof head, bytes, size);
    return sizeof head + room;
}

// An image, of memory that there may be, and that a copy may be of.
static size_t put_image(uint8_t *to, source *s)
{
    ts_capture_object o = { .address = BASE + 16 * (uint64_t)next(s),
                            .order = next(s),
                            .type = next(s) };
    o.object_type = 0x10F0u + next(s) % 9;
    o.width = any(s);
    o.height = any(s);
    o.depth = any(s);
    o.array_size = any(s);
    o.row_pitch = any(s);
    o.slice_pitch = any(s);
    const size_t size = put(to, TS_ATTRIBUTE_IMAGE, &o, sizeof o);
    const uint8_t what = next(s);
    const ts_capture_copy_image end = { what % 3, 0, o.address };
    if (what < 128) return size;
    return size + put(to + size, TS_ATTRIBUTE_COPY_IMAGE, &end, sizeof end);
}

static size_t put_three(uint8_t *to, source *s, uint32_t id)
{
    const uint64_t three[3] = { any(s), any(s), any(s) };
    return put(to, id, three, id == TS_ATTRIBUTE_PATTERN ? next(s) % 25 : 24);
}

static size_t add_attributes(uint8_t *to, source *s)
{
    const uint8_t what = next(s);
    size_t size = 0;
    if (what & 1) {
        const ts_capture_geometry g = make_geometry(s);
        size += put(to, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    }
    for (int i = 0; i < 2; i++)
        if (what & 2 << i) size += put_image(to + size, s);
    if (what & 8) {
        const ts_capture_sampler sampler = { next(s) % 4, next(s), 1, 1 };
        size += put(to + size, TS_ATTRIBUTE_SAMPLER, &sampler, sizeof sampler);
    }
    if (what & 16) {
        const uint32_t dimensions = next(s) % 5;
        size += put(to + size, TS_ATTRIBUTE_DIMENSIONS, &dimensions, 4);
    }
    if (what & 32) size += put_three(to + size, s, TS_ATTRIBUTE_GLOBAL_OFFSET);
    if (what & 64) size += put_three(to + size, s, TS_ATTRIBUTE_GLOBAL_SIZE);
    if (what & 128) size += put_three(to + size, s, TS_ATTRIBUTE_PATTERN);
    return what == 255 ? size - 5 : size;
}

static void check_closed(void)
{
    check(!double_alive && !double_taken, "something is left");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    double_busy = size % 4;
    double_overlaps = size % 2 ? TS__OX_CAPABILITY_SIMULTANEOUS_USE : 0;
    run_bytes(bytes, size, &ts_opencl_executor);
    return 0;
}
