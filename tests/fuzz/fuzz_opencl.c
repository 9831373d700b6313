/*
    fuzz_opencl.c - whatever captures of OpenCL say, their executor touches
    nothing but what it was given, and lets go of all that it made

    Bytes are calls of the executor, as an execution makes them: what that has
    checked holds, namely that parameters lie in the arguments and that copies
    stay inside the host's memory. The driver is a double.
*/
#include "tests/fuzz/fuzz_source.h"
#include "tests/fuzz/opencl_double.h"

enum { BLOCKS = 6, HOST = 512, CALLS = 64 };
#define AT UINT64_C(0x100000000)

// Small numbers, sometimes none that anybody would expect.
static uint64_t any(source *s)
{
    const uint8_t value = next(s);
    if (value < 240) return value % 40;
    return value < 250 ? (uint64_t)next(s) << (value - 240) * 6
                       : UINT64_MAX - next(s);
}

static uint64_t place(source *s)
{
    const uint8_t where = next(s);
    return AT + UINT64_C(4096) * (where % 8) + 16 * (where / 8);
}

static uint8_t attributes[2048];
static ts_attributes all = { attributes, 0 };

static void attribute(uint32_t id, const void *bytes, uint32_t size)
{
    const uint32_t room = (size + 7) & ~7u;
    if (all.size + 8 + room > sizeof attributes) return;
    uint8_t *const to = attributes + all.size;
    memcpy(to, &id, 4);
    memcpy(to + 4, &size, 4);
    memset(to + 8, 0, room);
    memcpy(to + 8, bytes, size);
    all.size += 8 + room;
}

static ts_capture_geometry geometry;
static bool boxed;

static void add_geometry(source *s)
{
    ts_capture_geometry *const g = &geometry;
    boxed = true;
    for (int i = 0; i < 3; i++) {
        g->source_origin[i] = any(s);
        g->destination_origin[i] = any(s);
        g->region[i] = any(s);
    }
    g->source_row = any(s);
    g->source_slice = any(s);
    g->destination_row = any(s);
    g->destination_slice = any(s);
    attribute(TS_ATTRIBUTE_GEOMETRY, g, sizeof *g);
}

static void add_object(source *s)
{
    ts_capture_object o = { .address = place(s),
                            .order = next(s),
                            .type = next(s) };
    o.object_type = 0x10F0u + next(s) % 9;
    o.width = any(s);
    o.height = any(s);
    o.depth = any(s);
    o.array_size = any(s);
    o.row_pitch = any(s);
    o.slice_pitch = any(s);
    attribute(TS_ATTRIBUTE_IMAGE, &o, sizeof o);
    const ts_capture_copy_image end = { next(s) % 3, 0, o.address };
    attribute(TS_ATTRIBUTE_COPY_IMAGE, &end, sizeof end);
}

static void add_attributes(source *s)
{
    all.size = 0;
    boxed = false;
    for (uint8_t what = next(s); what; what &= what - 1) {
        uint64_t three[3] = { 0 };
        const ts_capture_sampler sampler = { next(s) % 4, next(s), 1, 1 };
        for (int i = 0; i < 3 && what & 0x1C; i++)
            three[i] = any(s);
        if (what & 1)
            add_geometry(s);
        else if (what & 2)
            add_object(s);
        else if (what & 4)
            attribute(TS_ATTRIBUTE_GLOBAL_OFFSET, three, sizeof three);
        else if (what & 8)
            attribute(TS_ATTRIBUTE_GLOBAL_SIZE, three, sizeof three);
        else if (what & 16)
            attribute(TS_ATTRIBUTE_PATTERN, three, (uint32_t)three[0] % 25);
        else if (what & 32)
            attribute(TS_ATTRIBUTE_SAMPLER, &sampler, sizeof sampler);
        else if (what & 64)
            attribute(TS_ATTRIBUTE_DIMENSIONS, &sampler, 4);
        else
            attribute(next(s), three, next(s) % 24);
    }
}

/* ---- Calls --------------------------------------------------------------- */

static const ts_executor *const x = &ts_opencl_executor;
static void *state;
static uint64_t modules, streams, events;
static uint64_t blocks[BLOCKS + 1];

static void allocate(source *s)
{
    const uint8_t which = next(s) % BLOCKS;
    uint64_t address = AT + UINT64_C(4096) * which;
    uint64_t size = any(s) * 16;
    // An execution lets nothing meet; what is too much is refused.
    if (size > 4096 && size <= DOUBLE_MOST) size = 4096;
    if (blocks[which]) {
        check(x->release(state, address) == TS_OK, "what is there stays");
        blocks[which] = 0;
    } else if (x->allocate(state, 0, &address, size) == TS_OK) {
        check(address == AT + UINT64_C(4096) * which, "it has moved");
        blocks[which] = size;
    }
}

#define BIG (AT + UINT64_C(0x10000000))
enum { BIG_SIZE = 5 * TS_CAPTURE_CHUNK + 77 };

// Memory that it pays to hash, which is there or not.
static void big(void)
{
    uint64_t address = BIG;
    if (blocks[BLOCKS]) check(x->release(state, BIG) == TS_OK, "it stays");
    blocks[BLOCKS] =
        !blocks[BLOCKS] && x->allocate(state, 0, &address, BIG_SIZE) == TS_OK;
}

static void hash_big(source *s)
{
    static uint8_t read[BIG_SIZE];
    if (!blocks[BLOCKS] && next(s) % 8) return; // it takes long
    const uint64_t from = any(s) * 13, size = BIG_SIZE - any(s) * 240;
    const size_t chunks = BIG_SIZE / TS_CAPTURE_CHUNK + 1;
    uint64_t *const hashes = calloc(chunks, 16);
    if (x->hash(state, BIG + from, size, hashes) == TS_OK) {
        check(blocks[BLOCKS] && from + size <= BIG_SIZE,
              "of what is not there");
        check(x->read(state, read, BIG + from, size) == TS_OK, "no bytes");
        for (uint64_t at = 0, i = 0; at < size; at += TS_CAPTURE_CHUNK, i++) {
            const uint64_t left = size - at;
            const XXH128_hash_t sum = XXH3_128bits(
                read + at,
                (size_t)(left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK));
            check(hashes[2 * i] == sum.low64 && hashes[2 * i + 1] == sum.high64,
                  "another hash");
        }
    }
    free(hashes);
}

static void load(source *s)
{
    char why[40];
    const size_t size = next(s) % 64 + 1u;
    uint8_t *const bytes = calloc(1, size); // to the byte
    const ts_executor_code code = { .bytes = bytes,
                                    .size = size,
                                    .form = next(s) % 8 };
    uint64_t module = 0;
    memset(bytes, next(s), size);
    if (x->load(state, &code, &module, why, sizeof why) == TS_OK)
        modules = module;
    free(bytes);
}

static void launch(source *s)
{
    static const char *const names[] = { "", "a", "ab", "abc", "abcd" };
    const uint32_t grid[3] = { next(s), next(s) % 3, 1 };
    const uint32_t block[3] = { next(s) % 9, 1, 0 };
    ts_capture_param params[4];
    uint8_t *const args = calloc(1, 32);
    memset(params, 0, sizeof params);
    add_attributes(s);
    for (uint32_t i = 0; i < 4; i++) {
        params[i].offset = 8 * i;
        params[i].size = 8;
        params[i].type = next(s) % 6;
        if (!params[i].type) params[i].size = next(s) % 9;
        const uint64_t value = params[i].type == TS_PARAM_SAMPLER ||
                                       params[i].type == TS_PARAM_LOCAL
                                   ? any(s)
                                   : place(s);
        memcpy(args + 8 * i, &value, 8);
    }
    const ts_executor_launch one = { .module = modules - next(s) % 2,
                                     .name = names[next(s) % 5],
                                     .grid = grid,
                                     .block = block,
                                     .args_size = 32,
                                     .param_count = next(s) % 5,
                                     .args = args,
                                     .params = params,
                                     .attributes = all };
    x->launch(state, streams, &one);
    free(args);
}

// Whether an end that is the host's stays inside its memory, as an execution
// sees to it.
static bool inside(uint64_t size, bool is_source)
{
    const ts_capture_geometry *const g = &geometry;
    uint64_t first = 0, span = size;
    if (boxed &&
        !ts_capture_span(
            is_source ? g->source_origin : g->destination_origin, g->region,
            is_source ? g->source_row : g->destination_row,
            is_source ? g->source_slice : g->destination_slice, &first, &span))
        return false;
    return first <= HOST && span <= HOST - first;
}

static void copy(source *s)
{
    uint8_t *const host = calloc(1, HOST);
    const uint8_t how = next(s);
    ts_executor_copy one = { .destination = place(s),
                             .source = place(s),
                             .size = any(s) * 8,
                             .to_host = how % 4 == 1,
                             .from_host = how % 4 == 2 };
    add_attributes(s);
    one.attributes = all;
    if (one.to_host) one.destination = (uintptr_t)host;
    if (one.from_host) one.source = (uintptr_t)host;
    if ((!one.to_host || inside(one.size, false)) &&
        (!one.from_host || inside(one.size, true)))
        x->copy(state, streams, &one);
    free(host);
}

static void set(source *s)
{
    ts_executor_set one = { .destination = place(s),
                            .size = any(s) * 8,
                            .value = next(s) };
    add_attributes(s);
    one.attributes = all;
    x->set(state, streams, &one);
}

static void step(source *s)
{
    switch (next(s) % 12) {
    case 0:
    case 1: allocate(s); break;
    case 2: load(s); break;
    case 3:
    case 4: launch(s); break;
    case 5:
    case 6: copy(s); break;
    case 7: set(s); break;
    case 9: hash_big(s); break;
    case 10: big(); break;
    case 8:
        if (x->event(state, streams, &events) == TS_OK)
            x->event_wait(state, streams, events - next(s) % 2);
        break;
    default:
        double_busy = next(s) % 2;
        while (x->wait(state, 0) == TS_ERR_BUSY)
            continue;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    source s = { bytes, size };
    char why[100];
    memset(blocks, 0, sizeof blocks);
    modules = events = double_busy = 0;
    check(x->open(&state, 1, NULL, 0, why, sizeof why) == TS_OK, why);
    check(x->stream(state, 0, 0, &streams) == TS_OK, "no stream");
    for (int i = 0; i < CALLS && s.size; i++)
        step(&s);
    double_busy = 0;
    check(x->wait(state, 0) == TS_OK, "it does not end");
    x->close(state);
    check(!double_alive && !double_taken, "something is left");
    return 0;
}
