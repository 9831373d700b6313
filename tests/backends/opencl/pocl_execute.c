// The executor of OpenCL, called as the replay calls it, on a real driver.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include "tracesmith.h"
#include "tracesmith_replay.h"
#define TRACESMITH_OPENCL_EXEC_IMPLEMENTATION
#include "backends/ts_opencl_exec.h"

#define AT UINT64_C(0x100000000) // where captures number memory from

static const ts_executor *const x = &ts_opencl_executor;
static void *state;
static uint64_t stream, module;

static const char source[] =
    "kernel void add(global int *to, global const int *from, int value,\n"
    "                local int *room) {\n"
    "    size_t i = get_global_id(0), l = get_local_id(0);\n"
    "    room[l] = from[i];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    to[i] = room[get_local_size(0) - 1 - l] + value * FACTOR;\n"
    "}\n"
    "kernel void where(global int *to, global int *none) {\n"
    "    to[get_global_id(1) * 8 + get_global_id(0)] =\n"
    "        (none ? 1000 : 0) + 100 * get_work_dim() + get_group_id(0);\n"
    "}\n"
    "kernel void blur(read_only image2d_t from, sampler_t how,\n"
    "                 write_only image2d_t to) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    uint4 left = read_imageui(from, how, (int2)(at.x - 1, at.y));\n"
    "    write_imageui(to, at, left + 1);\n"
    "}\n"
    "kernel void line(read_only image1d_buffer_t from, global int *to) {\n"
    "    int i = get_global_id(0);\n"
    "    to[i] = read_imagei(from, i).x;\n"
    "}\n"
    "kernel void forever(global volatile int *stop) {\n"
    "    while (!*stop) continue;\n"
    "}\n";

static void ok(ts_result result)
{
    if (result == TS_OK) return;
    print_error("%s, %s\n", ts_result_text(result),
                ts_reason_name(x->reason(state)));
    fail();
}

static void allocate(uint64_t address, uint64_t size, const void *bytes)
{
    uint64_t got = address;
    ok(x->allocate(state, 0, &got, size));
    assert_int_equal(address, got);
    if (bytes) ok(x->write(state, address, bytes, size));
}

static bool as_graph; // commands go into graphs

// Runs what was submitted until it is over.
static void finish(void)
{
    uint64_t graph;
    if (as_graph) {
        ok(x->graph_end(state, stream, &graph));
        ok(x->graph_launch(state, stream, graph));
        ok(x->graph_launch(state, stream, graph)); // any number of times
    }
    ok(x->wait(state, 60000));
    if (as_graph) ok(x->graph_begin(state, stream));
}

static ts_result load(const char *text, const char *options, char *why)
{
    const ts_executor_code code = { .bytes = text,
                                    .size = strlen(text),
                                    .form = TS_CAPTURE_OPENCL_C,
                                    .options = options };
    return x->load(state, &code, &module, why, 200);
}

static int setup(void **unused)
{
    char why[200] = "";
    if (x->open(&state, 1, NULL, 0, why, sizeof why) != TS_OK) {
        print_message("# %s\n", why);
        return -1;
    }
    ok(x->stream(state, 0, 0, &stream));
    ok(load(source, "-DFACTOR=3", why));
    return 0;
}

static int teardown(void **unused)
{
    x->close(state);
    return 0;
}

/* ---- What a launch is made of -------------------------------------------- */

static uint8_t args[512], attributes[1024];
static ts_capture_param params[32];
static ts_executor_launch one;

static void begin(const char *name, uint32_t groups, uint32_t block)
{
    static uint32_t grid[3], size[3];
    grid[0] = groups;
    size[0] = block;
    grid[1] = grid[2] = size[1] = size[2] = 1;
    const ts_executor_launch plain = { .module = module,
                                       .name = name,
                                       .grid = grid,
                                       .block = size,
                                       .args = args,
                                       .params = params,
                                       .attributes = { attributes, 0 } };
    one = plain;
}

static void argument(ts_capture_param_type type, const void *bytes, size_t size)
{
    ts_capture_param *const p = &params[one.param_count++];
    p->offset = one.args_size;
    p->size = (uint32_t)size;
    p->type = type;
    memcpy(args + one.args_size, bytes, size);
    one.args_size += (uint32_t)size;
}

static void number(ts_capture_param_type type, uint64_t value)
{
    argument(type, &value, sizeof value);
}

static void attribute(ts_attributes *all, uint32_t id, const void *bytes,
                      uint32_t size)
{
    uint8_t *const to = attributes + all->size;
    memcpy(to, &id, 4);
    memcpy(to + 4, &size, 4);
    memset(to + 8, 0, (size + 7) & ~7u);
    memcpy(to + 8, bytes, size);
    all->size += 8 + ((size + 7) & ~7u);
}

static void launch(void)
{
    ok(x->launch(state, stream, &one));
    finish();
}

static void image(ts_attributes *all, uint64_t address, uint32_t type,
                  uint64_t width, uint64_t height, uint64_t pitch)
{
    const ts_capture_object object = { .address = address,
                                       .order = 0x10B5, // RGBA
                                       .type = 0x10DA,  // bytes
                                       .object_type = type,
                                       .width = width,
                                       .height = height,
                                       .row_pitch = pitch };
    attribute(all, TS_ATTRIBUTE_IMAGE, &object, sizeof object);
}

/* ---- Tests --------------------------------------------------------------- */

UNIT_TEST(arguments_of_each_kind_reach_the_kernel)
{
    int from[64], to[64], value = 5;
    for (int i = 0; i < 64; i++)
        from[i] = i;
    allocate(AT, sizeof from, from);
    allocate(AT + 4096, 2 * sizeof to, NULL);
    begin("add", 8, 8);
    // The second half of its memory: an object of its own.
    number(TS_PARAM_POINTER, AT + 4096 + sizeof to);
    number(TS_PARAM_POINTER, AT);
    argument(TS_PARAM_UNKNOWN, &value, sizeof value);
    number(TS_PARAM_LOCAL, 8 * sizeof(int));
    launch();
    ok(x->read(state, to, AT + 4096 + sizeof to, sizeof to));
    for (int i = 0; i < 64; i++)
        assert_int_equal((i / 8 * 8 + 7 - i % 8) + 15, to[i]);
    ok(x->release(state, AT));
    ok(x->release(state, AT + 4096));
}

UNIT_TEST(threads_offset_and_dimensions_are_as_recorded)
{
    int to[32] = { 0 };
    const uint64_t offset[3] = { 2, 1, 0 }, threads[3] = { 6, 1, 1 };
    const uint32_t dimensions = 2;
    allocate(AT, sizeof to, to);
    begin("where", 2, 3);
    number(TS_PARAM_POINTER, AT);
    number(TS_PARAM_POINTER, 0);
    attribute(&one.attributes, TS_ATTRIBUTE_GLOBAL_OFFSET, offset, 24);
    attribute(&one.attributes, TS_ATTRIBUTE_GLOBAL_SIZE, threads, 24);
    attribute(&one.attributes, TS_ATTRIBUTE_DIMENSIONS, &dimensions, 4);
    launch();
    ok(x->read(state, to, AT, sizeof to));
    for (int i = 0; i < 32; i++)
        assert_int_equal(i < 10 || i > 15 ? 0 : i < 13 ? 200 : 201, to[i]);
    ok(x->release(state, AT));
}

UNIT_TEST(a_launch_without_threads_does_nothing)
{
    int to[8] = { 0 };
    const uint64_t threads[3] = { 8, 0, 0 };
    const uint32_t dimensions = 2;
    allocate(AT, sizeof to, to);
    begin("where", 8, 1);
    number(TS_PARAM_POINTER, AT);
    number(TS_PARAM_POINTER, 0);
    attribute(&one.attributes, TS_ATTRIBUTE_GLOBAL_SIZE, threads, 24);
    attribute(&one.attributes, TS_ATTRIBUTE_DIMENSIONS, &dimensions, 4);
    launch();
    ok(x->read(state, to, AT, sizeof to));
    for (int i = 0; i < 8; i++)
        assert_int_equal(0, to[i]);
    ok(x->release(state, AT));
}

// Four pixels of four bytes in three rows, `pitch` apart.
static void run_blur(uint64_t pitch)
{
    uint8_t from[3 * 64], to[3 * 16], want;
    const ts_capture_sampler nearest = { 7, 0, 0x1131, 0x1140 }; // edge
    for (size_t i = 0; i < sizeof from; i++)
        from[i] = (uint8_t)i;
    const uint64_t row = pitch ? pitch : 16;
    allocate(AT, 3 * row, from);
    allocate(AT + 4096, sizeof to, NULL);
    begin("blur", 4, 1);
    ((uint32_t *)one.grid)[1] = 3;
    number(TS_PARAM_OBJECT, AT);
    number(TS_PARAM_SAMPLER, 7);
    number(TS_PARAM_OBJECT, AT + 4096);
    image(&one.attributes, AT, 0x10F1, 4, 3, pitch);
    image(&one.attributes, AT + 4096, 0x10F1, 4, 3, 0);
    attribute(&one.attributes, TS_ATTRIBUTE_SAMPLER, &nearest, sizeof nearest);
    launch();
    ok(x->read(state, to, AT + 4096, sizeof to));
    for (uint32_t i = 0; i < sizeof to; i++) {
        const uint32_t line = i / 16, byte = i % 16;
        want = (uint8_t)(line * row + (byte < 4 ? byte : byte - 4) + 1);
        assert_int_equal(want, to[i]);
    }
    uint8_t same[3 * 64];
    ok(x->read(state, same, AT, 3 * row));
    assert_memory_equal(from, same, 3 * row);
    ok(x->release(state, AT));
    ok(x->release(state, AT + 4096));
}

UNIT_TEST(images_are_made_of_their_contents)
{
    run_blur(0);
}

UNIT_TEST(rows_of_images_may_lie_apart)
{
    run_blur(64);
}

UNIT_TEST(an_image_may_be_a_buffer)
{
    uint32_t pixels[8];
    int to[8];
    for (uint32_t i = 0; i < 8; i++)
        pixels[i] = 0x01010100u + i;
    allocate(AT, sizeof pixels, pixels);
    allocate(AT + 4096, sizeof to, NULL);
    begin("line", 8, 1);
    number(TS_PARAM_OBJECT, AT);
    number(TS_PARAM_POINTER, AT + 4096);
    ts_capture_object object = { .address = AT,
                                 .order = 0x10B5,
                                 .type = 0x10D7, // signed bytes
                                 .object_type = 0x10F6,
                                 .width = 8 };
    attribute(&one.attributes, TS_ATTRIBUTE_IMAGE, &object, sizeof object);
    launch();
    ok(x->read(state, to, AT + 4096, sizeof to));
    for (int i = 0; i < 8; i++)
        assert_int_equal(i, to[i]);
    ok(x->release(state, AT));
    ok(x->release(state, AT + 4096));
}

UNIT_TEST(boxes_are_copied_between_all_places)
{
    uint8_t host[64], back[64] = { 0 };
    for (uint8_t i = 0; i < 64; i++)
        host[i] = i;
    allocate(AT, 64, back);
    allocate(AT + 4096, 64, back);
    ts_capture_geometry g = { .source_origin = { 1, 1, 0 },
                              .destination_origin = { 2, 2, 0 },
                              .region = { 3, 2, 1 },
                              .source_row = 8,
                              .source_slice = 64,
                              .destination_row = 16,
                              .destination_slice = 64 };
    ts_executor_copy copy = { .destination = AT,
                              .source = (uintptr_t)host,
                              .from_host = true,
                              .attributes = { attributes, 0 } };
    attribute(&copy.attributes, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    ok(x->copy(state, stream, &copy));
    copy.from_host = false;
    copy.source = AT;
    copy.destination = AT + 4096;
    memcpy(g.source_origin, g.destination_origin, 24);
    g.source_row = 16;
    copy.attributes.size = 0;
    attribute(&copy.attributes, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    ok(x->copy(state, stream, &copy));
    finish();
    copy.source = AT + 4096;
    copy.destination = (uintptr_t)back;
    copy.to_host = true;
    ok(x->copy(state, stream, &copy));
    finish();
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t line = i / 16, at = i % 16;
        const bool inside = line >= 2 && line < 4 && at >= 2 && at < 5;
        assert_int_equal(inside ? 8 * (line - 1) + at - 1 : 0, back[i]);
    }
    ok(x->release(state, AT));
    ok(x->release(state, AT + 4096));
}

// Of four pixels: their rows are what OpenCL calls slices.
UNIT_TEST(lines_of_an_array_are_copied)
{
    uint8_t host[64], back[64] = { 0 };
    const ts_capture_object lines = { .address = AT,
                                      .order = 0x10B5,
                                      .type = 0x10DA,
                                      .object_type = 0x10F5,
                                      .width = 4,
                                      .array_size = 4,
                                      .row_pitch = 16,
                                      .slice_pitch = 16 };
    const ts_capture_copy_image which = { 1, 0, AT };
    const ts_capture_geometry g = { .destination_origin = { 4, 1, 0 },
                                    .region = { 8, 2, 1 },
                                    .source_row = 32,
                                    .source_slice = 32 };
    for (uint8_t i = 0; i < 64; i++)
        host[i] = i;
    allocate(AT, 64, back);
    ts_executor_copy copy = { .destination = AT,
                              .source = (uintptr_t)host,
                              .from_host = true,
                              .attributes = { attributes, 0 } };
    attribute(&copy.attributes, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    attribute(&copy.attributes, TS_ATTRIBUTE_IMAGE, &lines, sizeof lines);
    attribute(&copy.attributes, TS_ATTRIBUTE_COPY_IMAGE, &which, sizeof which);
    ok(x->copy(state, stream, &copy));
    finish();
    ok(x->read(state, back, AT, sizeof back));
    for (uint32_t i = 0; i < 64; i++) {
        const uint32_t line = i / 16, at = i % 16;
        const bool inside = line >= 1 && line < 3 && at >= 4 && at < 12;
        assert_int_equal(inside ? 32 * (line - 1) + at - 4 : 0, back[i]);
    }
    ok(x->release(state, AT));
}

UNIT_TEST(fills_have_patterns_and_colours)
{
    uint32_t words[12] = { 0 };
    const uint32_t pattern[2] = { 1, 2 }, colour[4] = { 9, 8, 7, 6 };
    const ts_capture_geometry g = { .destination_origin = { 4, 1, 0 },
                                    .region = { 8, 2, 1 } };
    const ts_capture_copy_image which = { 1, 0, AT };
    allocate(AT, sizeof words, words);
    ts_executor_set set = { .destination = AT + 8,
                            .size = 16,
                            .attributes = { attributes, 0 } };
    attribute(&set.attributes, TS_ATTRIBUTE_PATTERN, pattern, sizeof pattern);
    ok(x->set(state, stream, &set));
    set.attributes.size = 0;
    set.destination = AT + 24;
    set.size = 4;
    set.value = 3;
    ok(x->set(state, stream, &set));
    finish();
    const uint32_t want[12] = { 0, 0, 1, 2, 1, 2, 0x03030303 };
    ok(x->read(state, words, AT, sizeof words));
    assert_memory_equal(want, words, sizeof words);
    set.destination = AT; // as an image of four by three
    attribute(&set.attributes, TS_ATTRIBUTE_PATTERN, colour, sizeof colour);
    attribute(&set.attributes, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
    attribute(&set.attributes, TS_ATTRIBUTE_COPY_IMAGE, &which, sizeof which);
    image(&set.attributes, AT, 0x10F1, 4, 3, 0);
    ok(x->set(state, stream, &set));
    finish();
    ok(x->read(state, words, AT, sizeof words));
    for (uint32_t i = 0; i < 12; i++)
        assert_int_equal(i % 4 && i % 4 < 3 && i > 4 ? 0x06070809 : want[i],
                         words[i]);
    ok(x->release(state, AT));
}

UNIT_TEST(the_same_goes_into_graphs)
{
    uint64_t graph;
    const ts_result begun = x->graph_begin(state, stream);
    if (begun == TS_ERR_UNSUPPORTED) skip(); // a driver without them
    ok(begun);
    as_graph = true;
    arguments_of_each_kind_reach_the_kernel(NULL);
    threads_offset_and_dimensions_are_as_recorded(NULL);
    boxes_are_copied_between_all_places(NULL);
    lines_of_an_array_are_copied(NULL);
    fills_have_patterns_and_colours(NULL);
    as_graph = false;
    ok(x->graph_end(state, stream, &graph));
}

UNIT_TEST(memory_of_graphs_counts)
{
    static char bytes[64];
    ts__ox *const own = state;
    const uint64_t most = own->most;
    uint64_t graph;
    allocate(AT, sizeof bytes, bytes);
    const ts_result begun = x->graph_begin(state, stream);
    if (begun == TS_ERR_UNSUPPORTED) skip(); // a driver without them
    ok(begun);
    const ts_executor_copy copy = { .destination = AT,
                                    .source = (uintptr_t)bytes,
                                    .size = sizeof bytes,
                                    .from_host = true };
    own->most = own->bytes + 100; // one of them fits
    ok(x->copy(state, stream, &copy));
    assert_int_equal(TS_ERR_MEMORY, x->copy(state, stream, &copy));
    own->most = most;
    ok(x->graph_end(state, stream, &graph));
    ok(x->release(state, AT));
}

// As on a device that runs a graph once at a time.
UNIT_TEST(a_graph_that_still_runs_is_not_launched_again)
{
    const int no = 0, yes = 1;
    uint64_t graph, other;
    const ts_result begun = x->graph_begin(state, stream);
    if (begun == TS_ERR_UNSUPPORTED) skip(); // a driver without them
    ok(begun);
    ((ts__ox *)state)->overlaps = false;
    allocate(AT, sizeof no, &no);
    begin("forever", 1, 1);
    number(TS_PARAM_POINTER, AT);
    ok(x->launch(state, stream, &one));
    ok(x->graph_end(state, stream, &graph));
    ok(x->graph_launch(state, stream, graph));
    assert_int_equal(TS_ERR_BUSY, x->graph_launch(state, stream, graph));
    ok(x->stream(state, 0, 0, &other)); // it ends after all, as below
    const ts_executor_copy copy = { .destination = AT,
                                    .source = (uintptr_t)&yes,
                                    .size = sizeof yes,
                                    .from_host = true };
    ok(x->copy(state, other, &copy));
    ok(x->wait(state, 60000));
    ok(x->graph_launch(state, stream, graph));
    ok(x->wait(state, 60000));
    ok(x->release(state, AT));
}

// Memory of the host is read rather than hashed; so hashing is forced.
UNIT_TEST(hashes_are_those_of_captures)
{
    enum { SIZE = 10 * TS_CAPTURE_CHUNK + 1234 };
    ts__ox *const own = state;
    uint64_t by_device[22], here[22];
    uint8_t *const bytes = malloc(SIZE);
    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(i * 2246822519u >> 11);
    allocate(AT, SIZE, bytes);
    assert_int_equal(TS_ERR_UNSUPPORTED, x->hash(state, AT, SIZE, by_device));
    own->hasher.usable = ts__ox_hash_build(own) && ts__ox_hash_tried(own);
    assert_true(own->hasher.usable);
    for (uint32_t from = 0; from < 8; from += 7) {
        const uint64_t size = SIZE - from;
        ok(x->hash(state, AT + from, size, by_device));
        for (uint64_t at = 0; at < size; at += TS_CAPTURE_CHUNK) {
            const uint64_t left = size - at;
            ts_blob_find(bytes + from + at,
                         left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK,
                         &here[at / TS_CAPTURE_CHUNK * 2]);
        }
        assert_memory_equal(here, by_device, sizeof here);
    }
    // What is read sooner, and what is not there.
    assert_int_equal(TS_ERR_UNSUPPORTED, x->hash(state, AT, 70000, by_device));
    assert_int_equal(TS_ERR_UNSUPPORTED,
                     x->hash(state, AT + 1, SIZE, by_device));
    assert_int_equal(TS_ERR_UNSUPPORTED,
                     x->hash(state, AT + (1 << 20), SIZE, by_device));
    free(bytes);
    ok(x->release(state, AT));
}

static int32_t nothing_runs(ts__ox_handle queue, ts__ox_handle kernel,
                            uint32_t dimensions, const size_t *offset,
                            const size_t *global, const size_t *local,
                            TS__OX_QUEUED)
{
    return ((ts__ox *)state)
        ->cl.clEnqueueMarkerWithWaitList(queue, waits, list, event);
}

UNIT_TEST(a_device_that_hashes_wrongly_is_not_used)
{
    static char bytes[TS__OX_PAYS];
    ts__ox *const own = state;
    const ts__ox_hasher none = { 0 };
    uint64_t by_device[8];
    ts__ox_hash_close(own);
    own->hasher = none;
    assert_true(ts__ox_hash_build(own));
    const ts__ox_calls calls = own->cl;
    own->cl.clEnqueueNDRangeKernel = nothing_runs;
    assert_false(ts__ox_hash_tried(own));
    own->cl = calls;
    own->hasher.known = true; // and so it tells nothing
    allocate(AT, sizeof bytes, bytes);
    assert_int_equal(TS_ERR_UNSUPPORTED,
                     x->hash(state, AT, sizeof bytes, by_device));
    ok(x->release(state, AT));
}

UNIT_TEST(what_cannot_run_is_declined)
{
    char why[200];
    const uint64_t kept = module;
    assert_int_equal(TS_ERR_UNSUPPORTED, load("kernel void x(", "", why));
    assert_non_null(strstr(why, "cannot be built"));
    module = kept;
    begin("nobody", 1, 1);
    assert_int_not_equal(TS_OK, x->launch(state, stream, &one));
    assert_int_equal(TS_REASON_IMAGE_MISSING, x->reason(state));
    begin("where", 1, 1); // with the arguments of another launch: never
    number(TS_PARAM_POINTER, 0);
    assert_int_equal(TS_ERR_CORRUPT, x->launch(state, stream, &one));
    number(TS_PARAM_POINTER, 12345);
    assert_int_not_equal(TS_OK, x->launch(state, stream, &one));
    assert_int_equal(TS_REASON_MEMORY_MISSING, x->reason(state));
    assert_int_equal(TS_ERR_CORRUPT,
                     x->copy(state, stream,
                             &(const ts_executor_copy){ .to_host = true,
                                                        .from_host = true }));
    finish();
}

UNIT_TEST(a_kernel_without_an_end_is_not_waited_for)
{
    const int no = 0, yes = 1;
    uint64_t other;
    allocate(AT, sizeof no, &no);
    begin("forever", 1, 1);
    number(TS_PARAM_POINTER, AT);
    ok(x->launch(state, stream, &one));
    assert_int_equal(TS_ERR_BUSY, x->wait(state, 20));
    // It ends after all: the memory is the driver's own on this one.
    ok(x->stream(state, 0, 0, &other));
    const ts_executor_copy copy = { .destination = AT,
                                    .source = (uintptr_t)&yes,
                                    .size = sizeof yes,
                                    .from_host = true };
    ok(x->copy(state, other, &copy));
    finish();
    ok(x->release(state, AT));
}

UNIT_TEST(a_device_is_chosen_by_its_name)
{
    void *another;
    char why[200] = "";
    const ts_executor_range range = { .name = "no such device" };
    // The only device is taken, whatever its name, unless the user asks for
    // another.
    ok(x->open(&another, 1, &range, 1, why, sizeof why));
    x->close(another);
    setenv("TRACESMITH_OPENCL_DEVICE", "abacus", 1);
    assert_int_equal(TS_ERR_UNSUPPORTED,
                     x->open(&another, 1, &range, 1, why, sizeof why));
    assert_non_null(strstr(why, "no OpenCL device 'abacus'"));
    assert_null(another);
    unsetenv("TRACESMITH_OPENCL_DEVICE");
}

int main(void)
{
    return unit_run(setup, teardown);
}
