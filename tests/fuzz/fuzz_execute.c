/*
    fuzz_execute.c - whatever captures say, an execution touches nothing but
    what its executor gave it, and ends with an outcome for each

    The executor is a toy whose memory is a table.
*/
#include "tests/replay/reader/sbt_forge.h"
#include "tracesmith_replay.h"
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 64, ATTRIBUTES = 200 };

static void check(bool ok, const char *what)
{
    if (ok) return;
    fprintf(stderr, "%s\n", what);
    abort();
}

/* ---- A toy of a device --------------------------------------------------- */

typedef struct block {
    uint64_t address, size;
    uint8_t *bytes;
} block;

static block blocks[BLOCKS];
static uint64_t taken, moves;
static uint8_t variables[1000];
static int opened;

static block *find_block(uint64_t address, uint64_t size)
{
    for (int i = 0; i < BLOCKS; i++) {
        const uint64_t offset = address - blocks[i].address;
        if (blocks[i].bytes && offset < blocks[i].size &&
            size <= blocks[i].size - offset)
            return &blocks[i];
    }
    return NULL;
}

// Memory of the toy, else of the host, where the sanitizer looks.
static uint8_t *at(uint64_t address, uint64_t size)
{
    block *const b = find_block(address, size);
    return b ? b->bytes + (address - b->address) : (void *)(uintptr_t)address;
}

static bool is_ours(uint64_t address, uint64_t size)
{
    const uint64_t offset = address - (uintptr_t)variables;
    return find_block(address, size) ||
           (offset < sizeof variables && size <= sizeof variables - offset);
}

static ts_result toy_open(void **state, uint32_t count,
                          const ts_executor_range *ranges, size_t range_count,
                          char *why, size_t room)
{
    check(count && count <= 64, "too many devices");
    for (size_t i = 1; i < range_count; i++)
        check(ranges[i - 1].device <= ranges[i].device, "ranges in no order");
    *state = &opened;
    opened++;
    return TS_OK;
}

static void toy_close(void *state)
{
    opened--;
    for (int i = 0; i < BLOCKS; i++)
        check(!blocks[i].bytes, "memory stays behind");
}

static ts_result toy_allocate(void *state, uint32_t device, uint64_t *address,
                              uint64_t size)
{
    check(device < 64, "no such device");
    if (size > (8 << 20) - taken) return TS_ERR_MEMORY;
    for (int i = 0; i < BLOCKS; i++) {
        if (blocks[i].bytes) continue;
        if (moves++ % 3 == 2) *address += 1 << 30;
        blocks[i].address = *address;
        blocks[i].size = size;
        blocks[i].bytes = calloc(1, size);
        taken += size;
        return blocks[i].bytes ? TS_OK : TS_ERR_MEMORY;
    }
    return TS_ERR_MEMORY;
}

static ts_result toy_release(void *state, uint64_t address)
{
    for (int i = 0; i < BLOCKS; i++) {
        if (!blocks[i].bytes || blocks[i].address != address) continue;
        free(blocks[i].bytes);
        taken -= blocks[i].size;
        memset(&blocks[i], 0, sizeof blocks[i]);
        return TS_OK;
    }
    check(false, "what is released was never allocated");
    return TS_ERR_USAGE;
}

static ts_result toy_write(void *state, uint64_t address, const void *bytes,
                           uint64_t size)
{
    check(is_ours(address, size), "a write beside all memory");
    memcpy(at(address, size), bytes, size);
    return TS_OK;
}

static ts_result toy_read(void *state, void *bytes, uint64_t address,
                          uint64_t size)
{
    check(is_ours(address, size), "a read beside all memory");
    memcpy(bytes, at(address, size), size);
    return TS_OK;
}

static ts_result toy_load(void *state, const ts_executor_code *code,
                          uint64_t *module, char *why, size_t room)
{
    *module = code->size;
    if (room) *why = 0;
    return code->size % 5 == 4 ? TS_ERR_NOT_FOUND : TS_OK;
}

static ts_result toy_global(void *state, uint64_t module, uint32_t device,
                            uint64_t offset, uint64_t size, uint64_t *address)
{
    if (offset > sizeof variables || size > sizeof variables - offset)
        return TS_ERR_UNSUPPORTED;
    *address = (uintptr_t)variables + offset;
    return TS_OK;
}

static ts_result toy_stream(void *state, uint32_t device, uint64_t flags,
                            uint64_t *stream)
{
    check(device < 64, "no such device");
    *stream = 1;
    return TS_OK;
}

static ts_result toy_launch(void *state, uint64_t stream,
                            const ts_executor_launch *launch)
{
    uint32_t sum = 0;
    check(stream == 1, "no such stream");
    for (uint32_t i = 0; i < launch->args_size; i++)
        sum += ((const uint8_t *)launch->args)[i];
    for (int i = 0; i < BLOCKS; i++)
        if (blocks[i].bytes && launch->grid[0] % 2) blocks[i].bytes[0]++;
    return launch->grid[0] % 16 == 15 || sum == 1 ? TS_ERR_UNSUPPORTED : TS_OK;
}

// The bytes of an end, which is an image or a box or plain.
static uint8_t *end_at(uint64_t address, const ts_attributes *all,
                       uint64_t *size, bool is_source, bool host)
{
    ts_attribute one;
    ts_capture_geometry g;
    uint64_t first = 0;
    for (uint64_t i = 0; ts_attribute_next(all, &i, &one);)
        if (one.id == TS_ATTRIBUTE_COPY_IMAGE &&
            one.size >= sizeof(ts_capture_copy_image) &&
            *(const uint32_t *)one.bytes != is_source) {
            check(!host, "an image of the host's");
            return *size = 1, at(address, 1);
        }
    if (!ts_attribute_find(all, TS_ATTRIBUTE_GEOMETRY, sizeof g, &one))
        return at(address, *size);
    memcpy(&g, one.bytes, sizeof g);
    check(ts_capture_span(
              is_source ? g.source_origin : g.destination_origin, g.region,
              is_source ? g.source_row : g.destination_row,
              is_source ? g.source_slice : g.destination_slice, &first, size),
          "a box that is none");
    return at(address + first, *size);
}

static ts_result toy_copy(void *state, uint64_t stream,
                          const ts_executor_copy *copy)
{
    uint64_t size = copy->size, from_size = copy->size;
    check(stream == 1, "no such stream");
    uint8_t *const to = end_at(copy->destination, &copy->attributes, &size,
                               false, copy->to_host);
    const uint8_t *const from = end_at(copy->source, &copy->attributes,
                                       &from_size, true, copy->from_host);
    memmove(to, from, size < from_size ? size : from_size);
    return TS_OK;
}

static ts_result toy_set(void *state, uint64_t stream,
                         const ts_executor_set *set)
{
    uint64_t size = set->size;
    check(stream == 1, "no such stream");
    uint8_t *const to =
        end_at(set->destination, &set->attributes, &size, false, false);
    memset(to, (uint8_t)set->value, size);
    return TS_OK;
}

static unsigned waits;

static ts_result toy_wait(void *state, uint32_t timeout_ms)
{
    return timeout_ms && ++waits % 32 == 31 ? TS_ERR_BUSY : TS_OK;
}

static uint64_t events, graphs;

static ts_result toy_event(void *state, uint64_t stream, uint64_t *event)
{
    check(stream == 1, "no such stream");
    *event = ++events;
    return events % 64 == 63 ? TS_ERR_MEMORY : TS_OK;
}

static ts_result toy_event_wait(void *state, uint64_t stream, uint64_t event)
{
    check(stream == 1 && event && event <= events, "no such event");
    return TS_OK;
}

static ts_result toy_graph_begin(void *state, uint64_t stream)
{
    check(stream == 1 && !graphs, "a graph within a graph");
    graphs++;
    return TS_OK;
}

static ts_result toy_graph_end(void *state, uint64_t stream, uint64_t *graph)
{
    check(graphs-- == 1, "a graph ends that did not begin");
    *graph = 9;
    return TS_OK;
}

static ts_result toy_graph_launch(void *state, uint64_t stream, uint64_t graph)
{
    check(graph == 9 && !graphs, "no such graph");
    return ++waits % 8 == 7 ? TS_ERR_BUSY : TS_OK;
}

// Not always, and now and then wrong.
static ts_result toy_hash(void *state, uint64_t address, uint64_t size,
                          uint64_t *hashes)
{
    check(size && is_ours(address, size), "hashes beside all memory");
    if (moves % 4 == 3) return TS_ERR_UNSUPPORTED;
    const uint8_t *bytes = at(address, size);
    for (uint64_t one; size; size -= one, bytes += one, hashes += 2) {
        one = size < TS_CAPTURE_CHUNK ? size : TS_CAPTURE_CHUNK;
        check(one > 240, "a chunk that is too short");
        const XXH128_hash_t sum = XXH3_128bits(bytes, one);
        hashes[0] = sum.low64 ^ (moves % 8 == 5);
        hashes[1] = sum.high64;
    }
    return TS_OK;
}

static ts_reason toy_reason(void *state)
{
    return moves % 2 ? TS_REASON_TOO_MANY : TS_REASON_NONE;
}

static const uint32_t heeded[] = { TS_ATTRIBUTE_GEOMETRY,
                                   TS_ATTRIBUTE_COPY_IMAGE, 0 };
static const ts_executor toy = {
    .name = "toy",
    .attributes = heeded,
    .open = toy_open,
    .close = toy_close,
    .reason = toy_reason,
    .allocate = toy_allocate,
    .release = toy_release,
    .write = toy_write,
    .read = toy_read,
    .load = toy_load,
    .global = toy_global,
    .stream = toy_stream,
    .launch = toy_launch,
    .copy = toy_copy,
    .set = toy_set,
    .wait = toy_wait,
    .event = toy_event,
    .event_wait = toy_event_wait,
    .event_again = toy_event_wait,
    .graph_begin = toy_graph_begin,
    .graph_end = toy_graph_end,
    .graph_launch = toy_graph_launch,
    .hash = toy_hash,
};

/* ---- Traces -------------------------------------------------------------- */

#include "tests/fuzz/captures_forge.h"

// Most operations have none. Returns their size; now and then it is wrong.
static size_t add_attributes(uint8_t *to, source *s)
{
    const uint8_t what = next(s);
    size_t size = 0;
    if (what & 1) {
        const ts_capture_geometry g = make_geometry(s);
        const ts_capture_attribute head = { TS_ATTRIBUTE_GEOMETRY, sizeof g };
        memcpy(to, &head, sizeof head);
        memcpy(to + sizeof head, &g, sizeof g);
        size = sizeof head + sizeof g;
    }
    if (what & 2) {
        const ts_capture_copy_image end = { next(s) % 3, 0, BASE };
        const ts_capture_attribute head = { what < 200 ? 7 : next(s),
                                            sizeof end };
        memcpy(to + size, &head, sizeof head);
        memcpy(to + size + sizeof head, &end, sizeof end);
        size += sizeof head + sizeof end;
    }
    return what == 255 ? size - 5 : size;
}

static void check_closed(void)
{
    check(!opened, "the device stays open");
    check(!graphs, "a graph does not end");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    moves = waits = events = 0;
    run_bytes(bytes, size, &toy);
    return 0;
}
