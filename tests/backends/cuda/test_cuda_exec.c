// The executor of CUDA, on a double of its driver whose kernels run. Included
// by test_hip_exec.c, it tests the executor of HIP.
#define _GNU_SOURCE
#define TRACESMITH_CUDA_EXEC_IMPLEMENTATION
#include "backends/ts_cuda_exec.h"
#include "tests/doubles/double_file.h"
#include "tests/record/record_fixture.h"
#include <dlfcn.h>

#ifdef TEST_HIP
enum { FORM = TS_CAPTURE_AMD_OBJECT };
#define EXECUTOR ts_hip_executor
#define DRIVER   "libamdhip64.so"
#define CODE     "libhsaco.so"
#else
enum { FORM = TS_CAPTURE_CUBIN };
#define EXECUTOR ts_cuda_executor
#define DRIVER   "libcuda.so"
#define CODE     "libcubin.so"
#endif
enum { COUNT = 1024, BYTES = COUNT * 4 };
#define AT UINT64_C(0x7ea234200000)

static const ts_executor *const x = &EXECUTOR;
static void *state, *cubin;
static uint64_t cubin_size, module, stream;
static char why[200];

static void ok(ts_result result)
{
    if (result != TS_OK) print_message("%s\n", ts_result_text(result));
    assert_int_equal(result, TS_OK);
}

static int start(void **user)
{
    // Its soname makes it the driver of this process.
    if (!dlopen(double_path(DRIVER), RTLD_NOW | RTLD_GLOBAL)) return -1;
    cubin = double_read(CODE, &cubin_size);
    return cubin ? 0 : -1;
}

static int finish(void **user)
{
    free(cubin);
    return 0;
}

static void load(void)
{
    const ts_executor_code code = { .bytes = cubin,
                                    .size = cubin_size,
                                    .form = FORM };
    ok(x->load(state, &code, &module, why, sizeof why));
    ok(x->stream(state, 0, TS_STREAM_NON_BLOCKING, &stream));
}

static void begin(const ts_executor_range *ranges, size_t count)
{
    ok(x->open(&state, 1, ranges, count, why, sizeof why));
    load();
}

static void end(void)
{
    x->close(state);
    state = NULL;
}

// A ninth of `count` numbers each.
static ts_executor_launch launch_of(const char *name, const void *args,
                                    uint32_t size)
{
    static const uint32_t grid[3] = { 4, 1, 1 }, block[3] = { 256, 1, 1 };
    const ts_executor_launch launch = { .module = module,
                                        .name = name,
                                        .grid = grid,
                                        .block = block,
                                        .args_size = size,
                                        .args = args };
    return launch;
}

typedef struct add_args {
    uint64_t numbers;
    uint32_t value;
} add_args;

static ts_result add(uint64_t numbers, uint32_t value)
{
    const add_args args = { numbers, value };
    const ts_executor_launch launch = launch_of("add", &args, 12);
    return x->launch(state, stream, &launch);
}

static uint32_t number_at(uint64_t address)
{
    uint32_t value;
    ok(x->read(state, &value, address, sizeof value));
    return value;
}

/* ---- Addresses ---------------------------------------------------------- */

UNIT_TEST(memory_has_its_old_addresses_and_kernels_run_on_it)
{
    // Two allocations of one granule, and one far away.
    const ts_executor_range ranges[] = { { AT + 512, BYTES, 0, NULL },
                                         { AT + 8192, BYTES, 0, NULL },
                                         { AT + (1u << 30), 100, 0, NULL } };
    uint32_t numbers[COUNT] = { 40 };
    begin(ranges, 3);
    for (size_t i = 0; i < 3; i++) {
        uint64_t address = ranges[i].address;
        ok(x->allocate(state, 0, &address, ranges[i].size));
        assert_int_equal(address, ranges[i].address);
    }
    ok(x->write(state, AT + 512, numbers, BYTES));
    ok(add(AT + 512, 2));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT + 512), 42);
    assert_int_equal(number_at(AT + 516), 2);
    ok(x->release(state, AT + 512));
    assert_int_equal(number_at(AT + 8192), 0); // its neighbour is there
    end();
}

UNIT_TEST(an_address_that_is_refused_is_tried_again)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t address = AT;
    setenv("DOUBLE_CUDA_REFUSE", "3", 1);
    begin(&range, 1);
    ok(x->allocate(state, 0, &address, BYTES));
    assert_int_equal(address, AT);
    end();
    unsetenv("DOUBLE_CUDA_REFUSE");
}

UNIT_TEST(what_cannot_have_its_address_lies_elsewhere)
{
    const ts_executor_range ranges[] = { { AT, BYTES, 0, NULL } };
    void *const taken =
        mmap((void *)(uintptr_t)AT, 4096, PROT_READ,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    uint64_t address = AT;
    assert_int_equal((uintptr_t)taken, AT);
    begin(ranges, 1);
    ok(x->allocate(state, 0, &address, BYTES));
    assert_int_not_equal(address, AT);
    ok(add(address, 7));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(address), 7);
    ok(x->release(state, address));
    end();
    munmap(taken, 4096);
}

UNIT_TEST(hostile_ranges_only_lie_elsewhere)
{
    const ts_executor_range ranges[] = {
        { 1, UINT64_C(1) << 47, 0, NULL },
        { UINT64_MAX - 4096, 4000, 0, NULL },
    };
    begin(ranges, 2);
    for (size_t i = 0; i < 2; i++) {
        uint64_t address = ranges[i].address;
        const ts_result result = x->allocate(state, 0, &address, 4000);
        if (result == TS_OK) assert_int_not_equal(address, ranges[i].address);
    }
    end();
}

/* ---- Code --------------------------------------------------------------- */

UNIT_TEST(code_of_another_kind_is_refused_with_a_word)
{
    const ts_executor_code file = { .bytes = cubin, .size = cubin_size };
    const ts_executor_code gone = { .form = FORM };
    const ts_executor_code cut = { .bytes = cubin,
                                   .size = cubin_size - 1,
                                   .form = FORM };
    static const uint8_t empty[64] = "\177ELF\2\1\1";
    uint8_t odd_bytes[64];
    memcpy(odd_bytes, empty, sizeof empty);
    odd_bytes[32] = odd_bytes[58] = 1; // what it says that it is: a byte
    const ts_executor_code odd = { .bytes = odd_bytes,
                                   .size = sizeof odd_bytes,
                                   .form = FORM };
    uint64_t other;
    uint8_t *const far_bytes = malloc(cubin_size);
    Elf64_Ehdr e;
    Elf64_Shdr s;
    assert_non_null(far_bytes);
    const ts_executor_code far_away = { .bytes = far_bytes,
                                        .size = cubin_size,
                                        .form = FORM };
    begin(NULL, 0);
    assert_int_equal(x->load(state, &file, &other, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_string_equal(why, "its code is not for devices of this vendor");
    assert_int_equal(x->load(state, &gone, &other, why, sizeof why),
                     TS_ERR_NOT_FOUND);
    assert_int_equal(x->load(state, &cut, &other, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_string_equal(why, "its file is truncated");
    assert_int_equal(x->load(state, &odd, &other, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_non_null(strstr(why, "the driver cannot load it"));
    // Its sections would begin where there are no addresses any more, and one
    // of them behind its end.
    memcpy(&e, cubin, sizeof e);
    memcpy(far_bytes, cubin, cubin_size);
    const uint64_t sections = e.e_shoff;
    e.e_shoff = UINT64_MAX - 63;
    e.e_shnum = 1;
    memcpy(far_bytes, &e, sizeof e);
    assert_int_equal(x->load(state, &far_away, &other, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_string_equal(why, "its file is truncated");
    memcpy(far_bytes, cubin, cubin_size);
    memcpy(&s, far_bytes + sections + sizeof s, sizeof s);
    s.sh_type = SHT_PROGBITS;
    s.sh_offset = cubin_size;
    s.sh_size = 1;
    memcpy(far_bytes + sections + sizeof s, &s, sizeof s);
    assert_int_equal(x->load(state, &far_away, &other, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_string_equal(why, "its file is truncated");
    free(far_bytes);
    const ts_executor_launch launch = launch_of("not_there", NULL, 0);
    assert_int_equal(x->launch(state, stream, &launch), TS_ERR_NOT_FOUND);
    assert_int_equal(x->reason(state), TS_REASON_IMAGE_MISSING);
    end();
}

UNIT_TEST(a_variable_is_found_by_the_number_of_its_symbol)
{
    ts_cuda_code code;
    uint64_t address = 0;
    begin(NULL, 0);
    assert_true(ts_cuda_code_open(&code, cubin, cubin_size));
    for (uint32_t i = 0; i < code.symbol_count; i++) {
        if (strcmp(ts_cuda_code_symbol(&code, i), "bias") != 0) continue;
        ok(x->global(state, module, 0, i, 4, &address));
        assert_int_equal(x->global(state, module, 0, i, 8, &address),
                         TS_ERR_NOT_FOUND);
    }
    assert_int_equal(number_at(address), 3);
    assert_int_equal(x->global(state, module, 0, UINT64_MAX, 4, &address),
                     TS_ERR_NOT_FOUND);
    end();
}

#ifndef TEST_HIP
// Each fills its own, and its kernels read that.
UNIT_TEST(a_variable_is_each_devices_own)
{
    const ts_executor_range ranges[] = { { AT, BYTES, 0, NULL },
                                         { AT + (1u << 30), BYTES, 1, NULL } };
    uint64_t found[2], streams[2];
    ts_cuda_code code;
    setenv("DOUBLE_CUDA_DEVICES", "2", 1);
    ok(x->open(&state, 2, ranges, 2, why, sizeof why));
    load();
    assert_true(ts_cuda_code_open(&code, cubin, cubin_size));
    uint32_t bias = 0;
    while (strcmp(ts_cuda_code_symbol(&code, bias), "bias") != 0)
        bias++;
    for (uint32_t i = 0; i < 2; i++) {
        const uint32_t value = 100 + i;
        uint64_t address = ranges[i].address;
        ok(x->allocate(state, i, &address, BYTES));
        ok(x->stream(state, i, TS_STREAM_NON_BLOCKING, &streams[i]));
        ok(x->global(state, module, i, bias, 4, &found[i]));
        ok(x->write(state, found[i], &value, sizeof value));
    }
    assert_int_not_equal(found[0], found[1]);
    for (uint32_t i = 0; i < 2; i++) {
        const struct {
            uint64_t to, from;
            uint32_t value;
        } args = { ranges[i].address, ranges[i].address, 1 };
        const ts_executor_launch launch = launch_of("biased", &args, 20);
        ok(x->launch(state, streams[i], &launch));
        ok(x->wait(state, 1000));
        assert_int_equal(number_at(ranges[i].address), 101 + i);
    }
    end();
    unsetenv("DOUBLE_CUDA_DEVICES");
}

static int peer_copies;
static int (*copy_peer)(uint64_t, void *, uint64_t, void *, size_t, void *);

static int count_peer_copy(uint64_t to, void *to_context, uint64_t from,
                           void *from_context, size_t size, void *on)
{
    peer_copies++;
    return copy_peer(to, to_context, from, from_context, size, on);
}

// The only way of devices that cannot access each other's memory.
UNIT_TEST(a_copy_between_devices_is_one_of_peers)
{
    const ts_executor_range ranges[] = {
        { AT, BYTES, 0, NULL },
        { AT + BYTES, BYTES, 0, NULL },
        { AT + (1u << 30), BYTES, 1, NULL },
    };
    const uint32_t number = 7;
    setenv("DOUBLE_CUDA_DEVICES", "2", 1);
    ok(x->open(&state, 2, ranges, 3, why, sizeof why));
    load();
    copy_peer = ((ts__cx *)state)->call.peer;
    ((ts__cx *)state)->call.peer = count_peer_copy;
    peer_copies = 0;
    for (size_t i = 0; i < 3; i++) {
        uint64_t address = ranges[i].address;
        ok(x->allocate(state, ranges[i].device, &address, BYTES));
    }
    ok(x->write(state, AT, &number, sizeof number));
    for (size_t i = 1; i < 3; i++) {
        const ts_executor_copy copy = { .destination = ranges[i].address,
                                        .source = AT,
                                        .size = BYTES };
        ok(x->copy(state, stream, &copy));
        ok(x->wait(state, 1000));
        assert_int_equal(number_at(ranges[i].address), number);
        assert_int_equal(peer_copies, i - 1);
    }
    end();
    unsetenv("DOUBLE_CUDA_DEVICES");
}
#endif

/* ---- Launches, copies, sets --------------------------------------------- */

static uint8_t *put_attribute(uint8_t *to, uint32_t id, uint32_t cuda,
                              uint32_t value, uint32_t size)
{
    const uint32_t head[4] = { id, size, cuda, size == 8 ? value : 0 };
    memcpy(to, head, 16);
    if (size > 8) memset(to + 16, 0, size - 8);
    if (size > 8) memcpy(to + 16, &value, 4);
    return to + 8 + size;
}

#ifndef TEST_HIP
static ts_result launch_with(const uint8_t *bytes, const uint8_t *end)
{
    ts_executor_launch launch = launch_of("nothing", NULL, 0);
    launch.attributes.bytes = bytes;
    launch.attributes.size = (uint64_t)(end - bytes);
    launch.shared = 100 << 10;
    return x->launch(state, stream, &launch);
}

UNIT_TEST(attributes_are_given_again_or_refused)
{
    uint8_t bytes[400];
    begin(NULL, 0);
    // So much shared memory wants a word to the function first, which is the
    // record's, or ours where it has none.
    uint8_t *to = put_attribute(bytes, TS_ATTRIBUTE_FUNCTION, 8, 50 << 10, 8);
    assert_int_equal(launch_with(bytes, to), TS_ERR_IO);
    assert_int_equal(x->reason(state), TS_REASON_DEVICE_FAILED);
    ok(launch_with(bytes, bytes));
    to = put_attribute(bytes, TS_ATTRIBUTE_FUNCTION, 8, 200 << 10, 8);
    ok(launch_with(bytes, to));
    to = put_attribute(to, TS_ATTRIBUTE_CUDA_LAUNCH, 4, 2, 72);
    to = put_attribute(to, TS_ATTRIBUTE_CUDA_LAUNCH, 6, 1, 72); // left out
    ok(launch_with(bytes, to));
    to = put_attribute(to, TS_ATTRIBUTE_CUDA_LAUNCH, 15, 1, 72);
    assert_int_equal(launch_with(bytes, to), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_ATTR_UNKNOWN);
    end();
}
#else
UNIT_TEST(a_cooperative_launch_is_one_again)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    const add_args args = { AT, 6 };
    uint8_t bytes[16];
    uint64_t a = AT;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    ts_executor_launch launch = launch_of("add", &args, 12);
    launch.attributes.bytes = bytes;
    launch.attributes.size =
        (uint64_t)(put_attribute(bytes, TS_ATTRIBUTE_COOPERATIVE, 0, 0, 0) -
                   bytes);
    ok(x->launch(state, stream, &launch));
    assert_int_equal(number_at(AT + BYTES - 4), 6);
    // Before HIP 7 there is no function that takes arguments as a block.
    ((ts__cx *)state)->call.launch_how = NULL;
    assert_int_equal(x->launch(state, stream, &launch), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_ATTR_UNKNOWN);
    end();
}
#endif

UNIT_TEST(copies_and_memsets_of_all_widths)
{
    uint64_t a = AT, b = AT + BYTES;
    const ts_executor_range range = { AT, 2 * BYTES, 0, NULL };
    uint32_t numbers[COUNT] = { 5, 6, 7 }, back[COUNT] = { 0 };
    uint8_t pattern[16];
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    ok(x->allocate(state, 0, &b, BYTES));
    const ts_executor_copy in = { a,    (uintptr_t)numbers, BYTES, false,
                                  true, { NULL, 0 } };
    const ts_executor_copy over = { b, a, BYTES, false, false, { NULL, 0 } };
    const ts_executor_copy out = { (uintptr_t)back, b,          BYTES, true,
                                   false,           { NULL, 0 } };
    ok(x->copy(state, stream, &in));
    ok(x->copy(state, stream, &over));
    ok(x->copy(state, stream, &out));
    ok(x->wait(state, 1000));
    assert_memory_equal(numbers, back, BYTES);
    ts_executor_set set = { .destination = a, .size = 8, .value = 0xAB };
    ok(x->set(state, stream, &set));
    assert_int_equal(number_at(a), 0xABABABAB);
    put_attribute(pattern, TS_ATTRIBUTE_PATTERN, 0x01020304, 0, 4);
    set.attributes.bytes = pattern;
    set.attributes.size = 16;
    ok(x->set(state, stream, &set));
    assert_int_equal(number_at(a), 0x01020304);
    assert_int_equal(number_at(a + 4), 0x01020304);
    assert_int_equal(number_at(a + 8), 7);
    end();
}

#ifdef TEST_HIP
typedef struct geometry { // an attribute
    uint32_t id, size;
    ts_capture_geometry g;
} geometry;

static ts_attributes attributes_of(const geometry *g)
{
    const ts_attributes list = { (const uint8_t *)g, sizeof *g };
    return list;
}

// A box of 8 x 2 x 2 bytes out of one of 16 x 4 x 3, into one of 8 x 2 x 2.
UNIT_TEST(boxes_are_copied_slice_by_slice)
{
    uint64_t a = AT;
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    const geometry how = { TS_ATTRIBUTE_GEOMETRY,
                           sizeof how.g,
                           { .source_origin = { 4, 1, 1 },
                             .region = { 8, 2, 2 },
                             .source_row = 16,
                             .source_slice = 64,
                             .destination_row = 8,
                             .destination_slice = 16 } };
    uint8_t from[16 * 4 * 3], back[32];
    for (uint8_t i = 0; i < sizeof from; i++)
        from[i] = i;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    ts_executor_copy copy = { a,    (uintptr_t)from,    32, false,
                              true, attributes_of(&how) };
    ok(x->copy(state, stream, &copy));
    ok(x->wait(state, 1000));
    ok(x->read(state, back, a, sizeof back));
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(back[i],
                         64 * (1 + i / 16) + 16 * (1 + i / 8 % 2) + 4 + i % 8);
    geometry bad = how;
    bad.g.source_row = 4; // rows lie in each other
    copy.attributes = attributes_of(&bad);
    assert_int_equal(x->copy(state, stream, &copy), TS_ERR_CORRUPT);
    end();
}

UNIT_TEST(rows_are_set_and_what_is_between_stays)
{
    uint64_t a = AT;
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    const geometry how = { TS_ATTRIBUTE_GEOMETRY,
                           sizeof how.g,
                           { .region = { 8, 3, 1 },
                             .destination_row = 16,
                             .destination_slice = 48 } };
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    const ts_executor_set set = { .destination = a,
                                  .size = 24,
                                  .value = 0x11,
                                  .attributes = attributes_of(&how) };
    ok(x->set(state, stream, &set));
    for (uint32_t i = 0; i < 16; i++)
        assert_int_equal(number_at(a + 4 * i),
                         i / 4 < 3 && i % 4 < 2 ? 0x11111111 : 0);
    end();
}
#endif

UNIT_TEST(a_graph_runs_when_it_is_launched_and_as_often)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t a = AT, graph = 0;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    ok(x->graph_begin(state, stream));
    ok(add(AT, 1));
    ok(add(AT, 2));
    ok(x->graph_end(state, stream, &graph));
    assert_int_equal(number_at(AT), 0);
    for (int i = 0; i < 4; i++)
        ok(x->graph_launch(state, stream, graph));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT), 12);
    end();
}

UNIT_TEST(other_streams_join_a_graph_by_events)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t a = AT, graph, other, event, origin;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    ok(x->stream(state, 0, TS_STREAM_NON_BLOCKING, &origin));
    ok(x->stream(state, 0, TS_STREAM_LEGACY_DEFAULT, &other));
    ok(x->graph_begin(state, origin));
    ok(x->event(state, origin, &event));
    ok(x->event_wait(state, other, event));
    stream = other;
    ok(add(AT, 5));
    ok(x->event(state, other, &event));
    ok(x->event_wait(state, origin, event));
    ok(x->graph_end(state, origin, &graph));
    assert_int_equal(number_at(AT), 0);
    ok(x->graph_launch(state, origin, graph));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT), 5);
    end();
}

UNIT_TEST(streams_order_themselves_by_events)
{
    uint64_t other, event;
    begin(NULL, 0);
    ok(x->stream(state, 0, TS_STREAM_LEGACY_DEFAULT, &other));
    ok(x->event(state, stream, &event));
    ok(x->event_wait(state, other, event));
    assert_int_equal(x->event_wait(state, other, event + 1), TS_ERR_USAGE);
    ok(x->wait(state, 1000));
    end();
}

/* ---- What arguments hide ------------------------------------------------ */

typedef struct map_args {
    _Alignas(128) uint64_t map[16];
    uint32_t value;
} map_args;

#ifndef TEST_HIP
static ts__cuda_tensor map_at(uint64_t address)
{
    ts__cuda_tensor t = { .address = address,
                          .kind = TS__CUDA_TILED,
                          .type = 7,
                          .rank = 2,
                          .dims = { 64, 4 },
                          .strides = { 256 },
                          .box = { 16, 1 },
                          .steps = { 1, 1 } };
    _Alignas(128) uint64_t map[16];
    assert_int_equal(ts__cx_tensor_make(state, &t, map), 0);
    memcpy(t.bytes, map, sizeof map);
    return t;
}

static ts_result launch_map(const ts__cuda_tensor *t, uint32_t value)
{
    uint8_t bytes[8 + sizeof *t];
    const uint32_t head[2] = { TS_ATTRIBUTE_TENSOR_MAP, sizeof *t };
    map_args args = { .value = value };
    ts_executor_launch launch = launch_of("mapped", &args, 132);
    memcpy(args.map, t->bytes, sizeof args.map);
    memcpy(bytes, head, 8);
    memcpy(bytes + 8, t, sizeof *t);
    launch.attributes.bytes = bytes;
    launch.attributes.size = sizeof bytes;
    return x->launch(state, stream, &launch);
}

UNIT_TEST(a_tensor_map_is_valid_where_its_memory_has_its_address)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t at = AT, elsewhere = AT + (1u << 30);
    begin(&range, 1);
    ok(x->allocate(state, 0, &at, BYTES));
    const ts__cuda_tensor t = map_at(AT);
    ok(launch_map(&t, 6));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT), 6);
    ts__cuda_tensor wrong = t;
    wrong.bytes[7]++; // not what this driver makes of it
    assert_int_equal(launch_map(&wrong, 6), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_DRIVER_MISMATCH);
    wrong.kind = 0; // of which nobody knows how it was made
    ok(launch_map(&wrong, 1));
    wrong.rank = 6;
    assert_int_equal(launch_map(&wrong, 6), TS_ERR_CORRUPT);
    const ts__cuda_tensor far = map_at(elsewhere + 16);
    ok(x->allocate(state, 0, &elsewhere, BYTES));
    assert_int_not_equal(elsewhere, AT + (1u << 30));
    assert_int_equal(launch_map(&far, 6), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_VA_UNAVAILABLE);
    end();
}

UNIT_TEST(a_driver_that_makes_other_tensor_maps_is_found_out)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t at = AT;
    begin(&range, 1);
    ok(x->allocate(state, 0, &at, BYTES));
    const ts__cuda_tensor t = map_at(AT);
    setenv("DOUBLE_CUDA_TENSOR", "1", 1);
    assert_int_equal(launch_map(&t, 6), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_DRIVER_MISMATCH);
    unsetenv("DOUBLE_CUDA_TENSOR");
    assert_int_equal(number_at(AT), 0);
    end();
}

typedef struct texture_args {
    uint64_t texture, to, count;
} texture_args;

static ts_result launch_texture(const ts__cuda_texture *t, uint64_t third)
{
    static const ts_capture_param params[] = { { 0, 8, TS_PARAM_UNKNOWN, 0 },
                                               { 8, 8, TS_PARAM_POINTER, 0 } };
    uint8_t bytes[8 + sizeof *t];
    const uint32_t head[2] = { TS_ATTRIBUTE_TEXTURE, sizeof *t };
    const texture_args args = { t->handle, AT + 4096, third };
    ts_executor_launch launch = launch_of("textured", &args, sizeof args);
    memcpy(bytes, head, 8);
    memcpy(bytes + 8, t, sizeof *t);
    launch.params = params;
    launch.param_count = 2;
    launch.attributes.bytes = bytes;
    launch.attributes.size = sizeof bytes;
    return x->launch(state, stream, &launch);
}

UNIT_TEST(textures_have_their_handles_again_or_large_ones_change)
{
    const ts_executor_range range = { AT, 2 * BYTES, 0, NULL };
    const ts_executor_set four = { .destination = AT, .size = 1, .value = 4 };
    const ts_executor_set eight = { .destination = AT, .size = 1, .value = 8 };
    uint64_t at = AT, elsewhere = AT + (1u << 30);
    ts__cuda_texture t = {
        .handle = 40, .resource = { .type = TS__CUDA_LINEAR, .address = AT }
    };
    const uint64_t size = BYTES;
    memcpy(t.resource.more + 8, &size, sizeof size);
    begin(&range, 1);
    ok(x->allocate(state, 0, &at, 2 * BYTES));
    ok(x->set(state, stream, &four));
    ok(launch_texture(&t, 40)); // its number comes with the 40th that is made
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT + 4096), 5);
    ok(launch_texture(&t, 0)); // the same one
    assert_int_equal(((ts__cx *)state)->texture_count, 1);
    t.handle = 5000; // too far, and may be a count
    assert_int_equal(launch_texture(&t, 0), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_TEXTURE_BINDLESS);
    t.handle = UINT64_C(1) << 40 | 77;
    ok(x->set(state, stream, &eight));
    ok(launch_texture(&t, 0));
    ok(x->wait(state, 1000));
    assert_int_equal(number_at(AT + 4096), 9);
    assert_int_equal(launch_texture(&t, t.handle), TS_ERR_UNSUPPORTED);
    t.resource.type = 0;
    assert_int_equal(launch_texture(&t, 0), TS_ERR_CORRUPT);
    t.resource.type = TS__CUDA_PITCH;
    t.resource.address = elsewhere;
    ok(x->allocate(state, 0, &elsewhere, BYTES));
    assert_int_equal(launch_texture(&t, 0), TS_ERR_UNSUPPORTED);
    assert_int_equal(x->reason(state), TS_REASON_VA_UNAVAILABLE);
    end();
}
#endif

/* ---- What goes wrong ---------------------------------------------------- */

UNIT_TEST(no_device_is_one_sentence)
{
    setenv("DOUBLE_CUDA_DEVICES", "0", 1);
    assert_int_equal(x->open(&state, 1, NULL, 0, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_non_null(strstr(why, "the driver finds no device"));
    setenv("DOUBLE_CUDA_DEVICES", "1", 1);
    assert_int_equal(x->open(&state, 2, NULL, 0, why, sizeof why),
                     TS_ERR_UNSUPPORTED);
    assert_string_equal(why,
                        "the trace uses 2 devices, but this machine has 1");
    unsetenv("DOUBLE_CUDA_DEVICES");
    assert_null(state);
}

#ifndef TEST_HIP
UNIT_TEST(amd_without_its_library_is_one_sentence)
{
    const ts_result result =
        ts_hip_executor.open(&state, 1, NULL, 0, why, sizeof why);
    if (result == TS_OK) {
        ts_hip_executor.close(state);
        skip(); // it is there
    }
    assert_int_equal(result, TS_ERR_UNSUPPORTED);
    assert_true(*why);
}
#endif

// A device that has failed stays so: these two end the process's double.
UNIT_TEST(a_kernel_that_hangs_is_waited_for_so_long_and_no_longer)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t a = AT;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    setenv("DOUBLE_CUDA_HANG", "add", 1);
    ok(add(AT, 1));
    assert_int_equal(x->wait(state, 20), TS_ERR_BUSY);
    unsetenv("DOUBLE_CUDA_HANG");
    end();
}

UNIT_TEST(a_kernel_that_goes_astray_is_an_escape)
{
    const ts_executor_range range = { AT, BYTES, 0, NULL };
    uint64_t a = AT;
    begin(&range, 1);
    ok(x->allocate(state, 0, &a, BYTES));
    setenv("DOUBLE_CUDA_FAIL", "add", 1);
    ok(add(AT, 1)); // it runs later
    assert_int_equal(x->wait(state, 1000), TS_ERR_IO);
    assert_int_equal(x->reason(state), TS_REASON_ESCAPE);
    assert_int_equal(x->wait(state, 1000), TS_ERR_IO);
    unsetenv("DOUBLE_CUDA_FAIL");
    end();
}

/* ---- Code as the vendor's compiler makes it ----------------------------- */

UNIT_TEST(bytes_of_any_kind_are_no_code)
{
    ts_cuda_code code;
    uint8_t *const bytes = malloc(cubin_size);
    assert_non_null(bytes);
    for (uint64_t size = 0; size < cubin_size; size += 97) {
        memcpy(bytes, cubin, cubin_size);
        ts_cuda_code_open(&code, bytes, size);
        for (uint64_t i = size; i < size + 8 && i < cubin_size; i++)
            bytes[i] ^= 0xFF;
        if (!ts_cuda_code_open(&code, bytes, cubin_size)) continue;
        for (uint32_t i = 0; i < code.symbol_count; i++)
            assert_non_null(ts_cuda_code_symbol(&code, i));
        for (uint32_t i = 0; i < code.section_count; i++)
            assert_non_null(ts_cuda_code_section(&code, i));
    }
    free(bytes);
}

int main(void)
{
    return unit_run_alone(start, finish);
}
