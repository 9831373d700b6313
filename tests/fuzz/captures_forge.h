/*
    captures_forge.h - traces of captures, made of bytes that fuzzers think up

    The first byte says how to run them. Then come records: bytes as they are,
    or operations made of small numbers, so that addresses, sizes and contents
    meet often. Before it: ATTRIBUTES, and check().
*/
#ifndef TS_TESTS_CAPTURES_FORGE_H
#define TS_TESTS_CAPTURES_FORGE_H

#include "tests/fuzz/fuzz_source.h"
#include "tests/replay/reader/sbt_forge.h"
#include "tracesmith_replay.h"

enum { MOST = 24, LISTS = 6, NODES = 3 };
enum { REGION = sizeof(ts_capture_region) };
#define BASE UINT64_C(0x7000) // nothing is mapped there

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

// Puts what an operation says beside its fields, and returns its size; now and
// then it is wrong. At most ATTRIBUTES bytes. The fuzzer's own.
static size_t add_attributes(uint8_t *to, source *s);

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
    h->block[0] = h->grid[0] & 16 ? 3 : 0;
    h->name = h->grid[0] % 5;
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
    image.form = image.size % 6;
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

static void run_combined(ts_execution *e, size_t count, bool graph)
{
    ts_execution_item items[MOST + 1];
    ts_execution_edge edges[MOST + 1];
    ts_execution_whole whole;
    char why[100];
    for (size_t i = 0; i < count; i++) {
        edges[i].before = i / 2;
        edges[i].after = i;
    }
    if (ts_execution_run_concurrent(e, edges + 1, count ? count - 1 : 0, graph,
                                    items, &whole, why, sizeof why) != TS_OK)
        return;
    for (size_t i = 0; i < count; i++)
        check_item(&items[i]);
}

// What bytes say, run once. The fuzzer's own says whether anything is left.
static void check_closed(void);

static void run(ts_reader *reader, const ts_executor *executor, uint8_t how)
{
    const size_t count = ts_reader_capture_count(reader);
    size_t order[MOST + 1];
    for (size_t i = 0; i < count; i++)
        order[i] = how & 64 ? count - 1 - i : i;
    const ts_execution_desc desc = {
        .executor = executor,
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
    if (how & 128) run_combined(e, count, how & 1);
    for (size_t i = 0; i < count && !(how & 128); i++) {
        ts_execution_item item;
        ts_execution_run(e, i, &item);
        check_item(&item);
    }
    ts_execution_close(e);
    check_closed();
}

static void run_bytes(const uint8_t *bytes, size_t size,
                      const ts_executor *executor)
{
    source s = { bytes, size };
    const uint8_t how = next(&s);
    forge f;
    forge_open(&f, 0);
    forge_name(&f, 1, executor->name);
    for (uint32_t i = 2; i < 5; i++)
        forge_name(&f, i, &"abc"[4 - i]);
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
    run(reader, executor, how);
    ts_reader_close(reader);
    forge_close(&f);
}

#endif // TS_TESTS_CAPTURES_FORGE_H
