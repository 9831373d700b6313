/*
    fuzz_execute.c - whatever captures say, an execution touches nothing but
    what its executor gave it, and ends with an outcome for each

    The first byte says how to run. Then come records: bytes as they are, or
    operations made of small numbers, so that addresses, sizes and contents
    meet often. The executor is a toy whose memory is a table.
*/
#include "tests/sbt_forge.h"
#include "tracesmith_replay.h"
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 24, BLOCKS = 64, LISTS = 6, ATTRIBUTES = 200, NODES = 3 };
enum { REGION = sizeof(ts_capture_region) };
#define BASE UINT64_C(0x7000) // nothing is mapped there

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
    (void)why;
    (void)room;
    check(count && count <= 64, "too many devices");
    for (size_t i = 1; i < range_count; i++)
        check(ranges[i - 1].device <= ranges[i].device, "ranges in no order");
    *state = &opened;
    opened++;
    return TS_OK;
}

static void toy_close(void *state)
{
    (void)state;
    opened--;
    for (int i = 0; i < BLOCKS; i++)
        check(!blocks[i].bytes, "memory stays behind");
}

static ts_result toy_allocate(void *state, uint32_t device, uint64_t *address,
                              uint64_t size)
{
    (void)state;
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
    (void)state;
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
    (void)state;
    check(is_ours(address, size), "a write beside all memory");
    memcpy(at(address, size), bytes, size);
    return TS_OK;
}

static ts_result toy_read(void *state, void *bytes, uint64_t address,
                          uint64_t size)
{
    (void)state;
    check(is_ours(address, size), "a read beside all memory");
    memcpy(bytes, at(address, size), size);
    return TS_OK;
}

static ts_result toy_load(void *state, const ts_executor_code *code,
                          uint64_t *module, char *why, size_t room)
{
    (void)state;
    *module = code->size;
    if (room) *why = 0;
    return code->size % 5 == 4 ? TS_ERR_NOT_FOUND : TS_OK;
}

static ts_result toy_global(void *state, uint64_t module, uint32_t device,
                            uint64_t offset, uint64_t size, uint64_t *address)
{
    (void)device;
    (void)state;
    (void)module;
    if (offset > sizeof variables || size > sizeof variables - offset)
        return TS_ERR_UNSUPPORTED;
    *address = (uintptr_t)variables + offset;
    return TS_OK;
}

static ts_result toy_stream(void *state, uint32_t device, uint64_t flags,
                            uint64_t *stream)
{
    (void)state;
    (void)flags;
    check(device < 64, "no such device");
    *stream = 1;
    return TS_OK;
}

static ts_result toy_launch(void *state, uint64_t stream,
                            const ts_executor_launch *launch)
{
    uint32_t sum = 0;
    (void)state;
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
    (void)state;
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
    (void)state;
    check(stream == 1, "no such stream");
    uint8_t *const to =
        end_at(set->destination, &set->attributes, &size, false, false);
    memset(to, (uint8_t)set->value, size);
    return TS_OK;
}

static unsigned waits;

static ts_result toy_wait(void *state, uint32_t timeout_ms)
{
    (void)state;
    return timeout_ms && ++waits % 32 == 31 ? TS_ERR_BUSY : TS_OK;
}

static uint64_t events, graphs;

static ts_result toy_event(void *state, uint64_t stream, uint64_t *event)
{
    (void)state;
    check(stream == 1, "no such stream");
    *event = ++events;
    return events % 64 == 63 ? TS_ERR_MEMORY : TS_OK;
}

static ts_result toy_event_wait(void *state, uint64_t stream, uint64_t event)
{
    (void)state;
    check(stream == 1 && event && event <= events, "no such event");
    return TS_OK;
}

static ts_result toy_graph_begin(void *state, uint64_t stream)
{
    (void)state;
    check(stream == 1 && !graphs, "a graph within a graph");
    graphs++;
    return TS_OK;
}

static ts_result toy_graph_end(void *state, uint64_t stream, uint64_t *graph)
{
    (void)state;
    (void)stream;
    check(graphs-- == 1, "a graph ends that did not begin");
    *graph = 9;
    return TS_OK;
}

static ts_result toy_graph_launch(void *state, uint64_t stream, uint64_t graph)
{
    (void)state;
    (void)stream;
    check(graph == 9 && !graphs, "no such graph");
    return ++waits % 8 == 7 ? TS_ERR_BUSY : TS_OK;
}

// Not always, and now and then wrong.
static ts_result toy_hash(void *state, uint64_t address, uint64_t size,
                          uint64_t *hashes)
{
    (void)state;
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
    (void)state;
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

static uint64_t lists[LISTS][2];

static void blob(forge *f, const void *bytes, size_t size, uint64_t hash[2])
{
    const XXH128_hash_t sum = XXH3_128bits(bytes, size);
    hash[0] = sum.low64;
    hash[1] = sum.high64;
    forge_blob(f, bytes, size);
}

// Contents of a whole and of a short chunk, and lists of them; of one list a
// chunk is missing.
static void add_contents(forge *f)
{
    static uint8_t whole[TS_CAPTURE_CHUNK], small[100];
    uint64_t hashes[3][2] = { { 0 } }, one[4];
    const uint64_t pointer = BASE + 64;
    memcpy(whole + 1, &pointer, sizeof pointer);
    memcpy(whole + TS_CAPTURE_CHUNK - 5, &pointer, 5);
    memcpy(small, (const uint8_t *)&pointer + 5, 3);
    blob(f, whole, sizeof whole, hashes[0]);
    blob(f, small, sizeof small, hashes[1]);
    hashes[2][0] = 1; // not there
    memset(lists, 0, sizeof lists);
    for (int i = 0; i < 3; i++)
        blob(f, hashes[i], 16, lists[i]);
    memcpy(one, hashes[0], 16);
    memcpy(one + 2, hashes[1], 16);
    blob(f, one, 32, lists[3]);
    memcpy(one + 2, hashes[2], 16);
    blob(f, one, 32, lists[4]);
}

static void add_capture(forge *f, const void *bytes, size_t size)
{
    const XXH128_hash_t hash = XXH3_128bits(bytes, size);
    forge_begin(f, FORGE_CAPTURE);
    forge_number(&f->payload, hash.low64, 8);
    forge_number(&f->payload, hash.high64, 8);
    forge_add(&f->payload, bytes, size);
    forge_end(f);
}

typedef struct source {
    const uint8_t *bytes;
    size_t size;
} source;

static uint8_t next(source *s)
{
    if (!s->size) return 0;
    s->size--;
    return *s->bytes++;
}

static ts_capture_region make_region(source *s)
{
    static const uint64_t sizes[] = { 100, 65536, 65636, 1, 65535, 200 };
    ts_capture_region r = { .address = BASE + 16 * (uint64_t)next(s) };
    r.size = sizes[next(s) % 6];
    const uint8_t what = next(s);
    r.device = what % 4;
    r.access = what >> 2 & 3;
    r.found = 1 + (what >> 4) % 4;
    r.image = what > 200 ? 1 : 0;
    r.offset = next(s);
    memcpy(r.before, lists[next(s) % LISTS], 16);
    memcpy(r.after, lists[next(s) % LISTS], 16);
    return r;
}

static ts_capture_geometry make_geometry(source *s)
{
    ts_capture_geometry g;
    uint64_t *const numbers = (uint64_t *)(void *)&g;
    for (size_t i = 0; i < sizeof g / 8; i++) {
        const uint8_t what = next(s);
        numbers[i] = what < 250 ? what % 16u : UINT64_MAX >> (what - 250) * 8;
    }
    return g;
}

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

static void add_operation(forge *f, source *s)
{
    struct {
        ts_capture_operation head;
        ts_capture_param params[2];
        uint8_t args[24];
        ts_capture_region regions[4];
    } all;
    memset(&all, 0, sizeof all);
    ts_capture_operation *const h = &all.head;
    h->type = TS_CAPTURE_OPERATION;
    h->kind = TS_EVENT_KERNEL + next(s) % 4;
    h->state = 1 + next(s) % 3;
    h->track = next(s) % 3;
    h->image = next(s) % 3;
    h->grid[0] = next(s);
    h->args_size = 24;
    h->param_count = 2;
    h->region_count = 4;
    h->source = BASE + 16 * (uint64_t)next(s);
    h->destination = BASE + 16 * (uint64_t)next(s);
    h->size = next(s) * 300u;
    for (int i = 0; i < 2; i++) {
        all.params[i].offset = next(s) % 17;
        all.params[i].size = 8;
        all.params[i].type = next(s) % 6;
    }
    for (int i = 0; i < 4; i++)
        all.regions[i] = make_region(s);
    for (int i = 0; i < 3; i++) {
        const uint64_t value = BASE + 16 * (uint64_t)next(s);
        memcpy(all.args + 8 * i, &value, 8);
    }
    const uint8_t count = next(s);
    h->region_count = 1 + count % 4;
    h->vendor = count < 240; // "toy", or nobody's
    uint8_t record[sizeof all + ATTRIBUTES];
    const size_t size = sizeof all - (4 - h->region_count) * REGION;
    memcpy(record, &all, size);
    add_capture(f, record, size + add_attributes(record + size, s));
}

// A launch of a graph. Now and then a node is of no kind that there is, waits
// for one behind it, or has arguments that are not there.
static void add_graph(forge *f, source *s)
{
    static const uint32_t kinds[] = { TS_EVENT_KERNEL, TS_EVENT_MEMCPY,
                                      TS_EVENT_MEMSET, 0, 20 };
    struct {
        ts_capture_operation head;
        uint8_t args[136];
        ts_capture_region regions[4];
    } all;
    struct {
        ts_capture_attribute attribute;
        ts_capture_operation head;
        uint32_t after[2];
    } node;
    uint8_t record[sizeof all + NODES * (sizeof node + ATTRIBUTES)];
    size_t size = sizeof all;
    memset(&all, 0, sizeof all);
    all.head.type = TS_CAPTURE_OPERATION;
    all.head.kind = TS_EVENT_GRAPH_LAUNCH;
    all.head.state = 1 + next(s) % 3;
    all.head.track = next(s) % 3;
    all.head.vendor = 1;
    all.head.args_size = sizeof all.args;
    all.head.region_count = 4;
    for (int i = 0; i < 4; i++)
        all.regions[i] = make_region(s);
    for (int i = 0; i < NODES; i++) {
        const uint64_t value = BASE + 16 * (uint64_t)next(s);
        memcpy(all.args + 64 * i, &value, 8);
    }
    for (uint32_t i = 0; i < NODES; i++) {
        const uint8_t what = next(s);
        memset(&node, 0, sizeof node);
        node.attribute.id = TS_ATTRIBUTE_NODE;
        node.attribute.size = sizeof node - sizeof node.attribute;
        node.head.kind = kinds[what < 250 ? what % 4 : 4];
        node.head.image = next(s) % 3;
        node.head.args_size = what / 4 % 2 * 8;
        node.head.source = BASE + 16 * (uint64_t)next(s);
        node.head.destination = BASE + 16 * (uint64_t)next(s);
        node.head.size = next(s) * 300u;
        node.after[0] = node.after[1] = i ? next(s) % (i + (what > 240)) : 0;
        if (!i) node.attribute.size -= sizeof node.after;
        const size_t all_of_it = sizeof node.attribute + node.attribute.size;
        memcpy(record + size, &node, all_of_it);
        size += all_of_it;
        size += add_attributes(record + size, s);
    }
    memcpy(record, &all, sizeof all);
    add_capture(f, record, size);
}

static void add_image(forge *f, source *s)
{
    ts_capture_image image = { .type = TS_CAPTURE_IMAGE };
    image.id = 1 + next(s) % 2;
    image.module = next(s) % 2;
    image.size = next(s);
    memcpy(image.hash, lists[next(s) % LISTS], 16);
    add_capture(f, &image, sizeof image);
}

static void add_records(forge *f, source *s)
{
    for (int i = 0; i < MOST && s->size; i++) {
        const uint8_t type = next(s);
        size_t size = next(s);
        if (type % 8 == 0) {
            if (size > s->size) size = s->size;
            if (size) add_capture(f, s->bytes, size);
            s->bytes += size;
            s->size -= size;
        } else if (type % 8 == 1) {
            add_image(f, s);
        } else if (type % 8 == 7) {
            add_graph(f, s);
        } else {
            add_operation(f, s);
        }
    }
}

static void check_item(const ts_execution_item *item)
{
    check(item->outcome >= TS_OUTCOME_EXECUTED &&
              item->outcome <= TS_OUTCOME_DECLINED,
          "an operation without an outcome");
    check(item->outcome == TS_OUTCOME_EXECUTED || item->reason,
          "declined without a reason");
    check(item->outcome != TS_OUTCOME_EXECUTED || item->level,
          "executed at no level");
    check(!item->diverged || item->offset < item->size,
          "a divergence beside the memory");
}

static void run_together(ts_execution *e, size_t count, bool graph)
{
    ts_execution_item items[MOST + 1];
    ts_execution_edge edges[MOST + 1];
    ts_execution_whole whole;
    char why[100];
    for (size_t i = 0; i < count; i++) {
        edges[i].before = i / 2;
        edges[i].after = i;
    }
    if (ts_execution_run_together(e, edges + 1, count ? count - 1 : 0, graph,
                                  items, &whole, why, sizeof why) != TS_OK)
        return;
    for (size_t i = 0; i < count; i++)
        check_item(&items[i]);
    check(!graphs, "a graph does not end");
}

static void run(ts_reader *reader, uint8_t how)
{
    const size_t count = ts_reader_capture_count(reader);
    size_t order[MOST + 1];
    for (size_t i = 0; i < count; i++)
        order[i] = how & 64 ? count - 1 - i : i;
    const ts_execution_desc desc = {
        .executor = &toy,
        .chain = how & 1,
        .strict = how & 2,
        .loops = how & 4 && !(how & 1) ? 2 : 1,
        .compare = (ts_compare)(how >> 3 & 1),
        .element = how & 16 ? 9 : 8,
        .tolerance = 3,
        .no_patches = how & 32,
    };
    ts_execution *e;
    char why[100];
    if (ts_execution_open(&e, reader, order, count, &desc, why, sizeof why) !=
        TS_OK)
        return;
    if (how & 128) run_together(e, count, how & 1);
    for (size_t i = 0; i < count && !(how & 128); i++) {
        ts_execution_item item;
        ts_execution_run(e, i, &item);
        check_item(&item);
    }
    ts_execution_close(e);
    check(!opened, "the device stays open");
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    source s = { bytes, size };
    const uint8_t how = next(&s);
    forge f;
    moves = waits = events = 0;
    forge_open(&f, 0);
    forge_name(&f, 1, "toy");
    forge_sample(&f, 0, TS_CLOCK_MONOTONIC_RAW, 0, 0, 1);
    for (uint32_t i = 1; i < 4; i++)
        forge_track(&f, i, TS_TRACK_DEVICE, i - 1, 0, 0);
    add_contents(&f);
    add_records(&f, &s);
    forge_finish(&f);
    const ts_reader_desc desc = { .bytes = f.bytes,
                                  .size = f.size,
                                  .threads = 1 };
    ts_reader *reader;
    check(ts_reader_open(&reader, &desc) == TS_OK, "a forged trace opens");
    run(reader, how);
    ts_reader_close(reader);
    forge_close(&f);
    return 0;
}
