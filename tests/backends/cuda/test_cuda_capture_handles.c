// Captures of CUDA: handles in arguments (textures, tensor maps).
#define TRACESMITH_CUPTI_IMPLEMENTATION // the test looks inside
#include "tests/backends/cuda/cuda_capture_fixture.h"

/* ---- Tensor maps -------------------------------------------------------- */

typedef struct map_arguments {
    _Alignas(128) uint64_t map[16];
    uint32_t value;
} map_arguments;

static const uint64_t dims[5] = { 64, 4, 2, 2, 1 };
static const uint64_t strides[4] = { 256, 1024, 2048, 4096 };
static const uint32_t box[5] = { 16, 4, 1, 1, 1 }, steps[5] = { 1, 1, 1, 1, 1 };

static int make_map(void *map, uint64_t address, uint64_t width)
{
    const uint64_t size[2] = { width, 4 };
    return cuTensorMapEncodeTiled(map, 7, 2, address, size, strides, box, steps,
                                  0, 1, 2, 0);
}

static void *kernel(const char *name)
{
    void *found;
    ok(cuModuleGetFunction(&found, module, name));
    return found;
}

static int launch_map(map_arguments *a)
{
    void *arguments[] = { a->map, &a->value };
    return cuLaunchKernel(kernel("mapped"), 4, 1, 1, 256, 1, 1, 0, stream,
                          arguments, NULL);
}

static ts__cuda_tensor map_of(size_t index)
{
    const ts_capture c = capture_at(index);
    ts__cuda_tensor tensor;
    ts_attribute a;
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_true(ts_attribute_find(&c.attributes, TS_ATTRIBUTE_TENSOR_MAP,
                                  sizeof tensor, &a));
    memcpy(&tensor, a.bytes, sizeof tensor);
    return tensor;
}

UNIT_TEST(a_tensor_map_reaches_the_memory_that_it_is_of)
{
    map_arguments a = { .value = 2 };
    begin();
    ok(make_map(a.map, numbers, 64));
    ok(cuMemsetD32Async(numbers, 40, COUNT, stream));
    ok(launch_map(&a));
    end();
    const ts_capture c = capture_at(1);
    const ts__cuda_tensor t = map_of(1);
    assert_int_equal(reached(&c), 1);
    assert_int_equal(c.regions[0].address, numbers);
    assert_int_equal(c.regions[0].found, TS_CAPTURE_BY_ARGUMENT);
    assert_int_equal(first_of(c.regions[0].before), 40);
    assert_int_equal(first_of(c.regions[0].after), 42);
    assert_memory_equal(t.bytes, a.map, 128);
    assert_int_equal(t.address, numbers);
    assert_int_equal(t.kind, TS__CUDA_TILED);
    assert_int_equal(t.type, 7);
    assert_int_equal(t.rank, 2);
    assert_int_equal(t.dims[1], 4);
    assert_int_equal(t.strides[0], 256);
    assert_int_equal(t.box[0], 16);
    assert_int_equal(t.steps[1], 1);
    assert_int_equal(t.swizzle, 1);
    assert_int_equal(t.promotion, 2);
    rt_close(&trace);
}

// Where one chunk ends and the next begins.
UNIT_TEST(a_tensor_map_in_memory_is_seen)
{
    map_arguments a = { .value = 1 };
    uint64_t there;
    uint32_t value = 5;
    begin();
    ok(cuMemAlloc_v2(&there, 2 * TS_CAPTURE_CHUNK));
    uint64_t at = there + TS_CAPTURE_CHUNK - 64;
    void *arguments[] = { &at, &value };
    ok(make_map(a.map, numbers, 64));
    ok(cuMemcpyHtoD_v2(at, a.map, 128));
    ok(cuLaunchKernel(kernel("mapped_there"), 4, 1, 1, 256, 1, 1, 0, stream,
                      arguments, NULL));
    ok(cuMemFree_v2(there));
    end();
    assert_int_equal(map_of(1).address, numbers);
    const ts_capture c = capture_at(1);
    const ts_capture_region *found = NULL;
    for (uint32_t i = 0; i < c.head.region_count; i++)
        if (c.regions[i].address == numbers) found = &c.regions[i];
    assert_non_null(found);
    assert_int_equal(found->found, TS_CAPTURE_BY_MEMORY);
    assert_int_equal(c.regions[found->from].address, there);
    rt_close(&trace);
}

UNIT_TEST(maps_of_all_kinds_are_known_by_what_made_them)
{
    static const int lower[3] = { -1, -2, 0 }, upper[3] = { 1, 2, 0 };
    map_arguments a = { .value = 1 };
    begin();
    ok(cuTensorMapEncodeIm2col(a.map, 6, 5, numbers, dims, strides, lower,
                               upper, 64, 128, steps, 0, 3, 1, 1));
    ok(launch_map(&a));
    ok(cuTensorMapEncodeIm2colWide(a.map, 6, 3, numbers, dims, strides, -3, 4,
                                   64, 32, steps, 0, 1, 3, 1, 0));
    ok(launch_map(&a));
    end();
    const ts__cuda_tensor columns = map_of(0), wide = map_of(1);
    assert_int_equal(columns.kind, TS__CUDA_COLUMNS);
    assert_int_equal(columns.lower[1], -2);
    assert_int_equal(columns.upper[0], 1);
    assert_int_equal(columns.channels, 64);
    assert_int_equal(columns.pixels, 128);
    assert_int_equal(columns.strides[3], 4096);
    assert_int_equal(columns.swizzle, 3);
    assert_int_equal(columns.fill, 1);
    assert_int_equal(wide.kind, TS__CUDA_WIDE);
    assert_int_equal(wide.lower[0], -3);
    assert_int_equal(wide.upper[0], 4);
    assert_int_equal(wide.mode, 1);
    assert_int_equal(wide.swizzle, 3);
    assert_int_equal(wide.fill, 0);
    rt_close(&trace);
}

UNIT_TEST(a_map_with_another_address_is_of_other_memory)
{
    map_arguments a = { .value = 1 };
    uint64_t other;
    begin();
    ok(cuMemAlloc_v2(&other, BYTES));
    ok(make_map(a.map, other, 48));
    ok(cuTensorMapReplaceAddress(a.map, numbers));
    ok(launch_map(&a));
    ok(cuMemFree_v2(other));
    end();
    const ts__cuda_tensor t = map_of(0);
    assert_int_equal(t.address, numbers);
    assert_int_equal(t.kind, TS__CUDA_TILED);
    assert_int_equal(t.dims[0], 48);
    assert_memory_equal(t.bytes, a.map, 128);
    assert_int_equal(capture_at(0).regions[0].address, numbers);
    rt_close(&trace);
}

UNIT_TEST(the_oldest_maps_are_forgotten_and_counted)
{
    map_arguments first = { .value = 1 }, second = { .value = 1 }, a;
    begin();
    ok(make_map(first.map, numbers, 1));
    ok(make_map(second.map, numbers, 2));
    for (uint64_t i = 2; i < TS__CS_TENSORS + 10; i++) {
        ok(make_map(a.map, numbers, 1 + i));
        if (i % 1000 == 0) ok(launch_map(&second)); // so it stays
    }
    ok(launch_map(&first));
    ok(launch_map(&second));
    end();
    const size_t count = ts_reader_capture_count(trace.reader);
    ts_attribute one;
    const ts_capture c = capture_at(count - 2);
    assert_false(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_TENSOR_MAP, 8, &one));
    assert_int_equal(map_of(count - 1).dims[0], 2);
    assert_int_equal(cu_fact(&trace, "capture.tensor_maps_forgotten"), 10);
    rt_close(&trace);
}

/* ---- Textures ----------------------------------------------------------- */

// CUDA_RESOURCE_DESC of memory, or of an array.
static const uint64_t *resource_of(uint32_t type, uint64_t of)
{
    static uint64_t resource[18];
    memset(resource, 0, sizeof resource);
    resource[0] = type;
    resource[1] = of;
    resource[2] = 3 | UINT64_C(1) << 32; // u32, one channel
    resource[3] = BYTES;
    return resource;
}

static const uint32_t how_read[26] = { 1, 1, 1, 0, 1 };

static uint64_t texture_of(uint32_t type, uint64_t of)
{
    uint64_t handle;
    ok(cuTexObjectCreate(&handle, resource_of(type, of), how_read, NULL));
    return handle;
}

static int launch_textured(uint64_t handle, uint64_t to)
{
    void *arguments[] = { &handle, &to };
    return cuLaunchKernel(kernel("textured"), 4, 1, 1, 256, 1, 1, 0, stream,
                          arguments, NULL);
}

UNIT_TEST(a_texture_of_memory_is_kept_with_it)
{
    uint64_t from;
    ts_attribute a;
    ts__cuda_texture t;
    begin();
    ok(cuMemAlloc_v2(&from, BYTES));
    ok(cuMemsetD32Async(from, 7, COUNT, stream));
    const uint64_t other = texture_of(TS__CUDA_LINEAR, from);
    const uint64_t handle = texture_of(TS__CUDA_LINEAR, from);
    ok(cuTexObjectDestroy(other));
    ok(launch_textured(handle, numbers));
    ok(launch_textured(other, numbers)); // which is no object any more
    ok(cuTexObjectDestroy(handle));
    ok(cuMemFree_v2(from));
    end();
    const ts_capture c = capture_at(1);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_true(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_TEXTURE, sizeof t, &a));
    memcpy(&t, a.bytes, sizeof t);
    assert_int_equal(t.handle, handle);
    assert_int_equal(t.resource.address, from);
    assert_memory_equal(t.texture, how_read, sizeof how_read);
    assert_int_equal(t.has_view, 0);
    assert_int_equal(c.regions[0].address, from);
    assert_int_equal(c.regions[0].from, 0);
    assert_int_equal(first_of(c.regions[0].before), 7);
    assert_int_equal(c.regions[1].address, numbers);
    assert_int_equal(first_of(c.regions[1].after), 8);
    const ts_capture last = capture_at(2);
    assert_false(
        ts_attribute_find(&last.attributes, TS_ATTRIBUTE_TEXTURE, 8, &a));
    rt_close(&trace);
}

UNIT_TEST(textures_of_arrays_and_surfaces_are_declined)
{
    uint64_t surface;
    begin();
    assert_int_not_equal( // of an array alone
        cuSurfObjectCreate(&surface, resource_of(TS__CUDA_LINEAR, numbers)), 0);
    const uint64_t handle = texture_of(0, numbers);
    ok(cuSurfObjectCreate(&surface, resource_of(0, numbers)));
    ok(launch_textured(handle, numbers));
    ok(launch_textured(surface, numbers));
    ok(cuTexObjectDestroy(handle));
    ok(cuSurfObjectDestroy(surface));
    ok(launch_textured(handle, numbers));
    end();
    declined_for(0, TS_REASON_TEXTURE_BINDLESS);
    declined_for(1, TS_REASON_TEXTURE_BINDLESS);
    assert_int_equal(capture_at(2).head.state, TS_CAPTURE_WHOLE);
    rt_close(&trace);
}

int main(void)
{
    return unit_run(start, finish);
}
