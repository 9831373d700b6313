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

enum { MOST = 24, BLOCKS = 64, LISTS = 6 };
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
    check(find_block(address, size) != NULL, "a write beside all memory");
    memcpy(at(address, size), bytes, size);
    return TS_OK;
}

static ts_result toy_read(void *state, void *bytes, uint64_t address,
                          uint64_t size)
{
    (void)state;
    check(find_block(address, size) != NULL, "a read beside all memory");
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

static ts_result toy_global(void *state, uint64_t module, uint64_t offset,
                            uint64_t size, uint64_t *address)
{
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

static ts_result toy_copy(void *state, uint64_t stream, uint64_t destination,
                          uint64_t source, uint64_t size)
{
    (void)state;
    check(stream == 1, "no such stream");
    memmove(at(destination, size), at(source, size), size);
    return TS_OK;
}

static ts_result toy_set(void *state, uint64_t stream, uint64_t destination,
                         uint8_t value, uint64_t size)
{
    (void)state;
    check(stream == 1, "no such stream");
    memset(at(destination, size), value, size);
    return TS_OK;
}

static unsigned waits;

static ts_result toy_wait(void *state, uint32_t timeout_ms)
{
    (void)state;
    return timeout_ms && ++waits % 32 == 31 ? TS_ERR_BUSY : TS_OK;
}

static const ts_executor toy = {
    "toy",      toy_open, toy_close, toy_allocate, toy_release,
    toy_write,  toy_read, toy_load,  toy_global,   toy_stream,
    toy_launch, toy_copy, toy_set,   toy_wait,
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
        all.params[i].type = next(s) % 2;
    }
    for (int i = 0; i < 4; i++)
        all.regions[i] = make_region(s);
    for (int i = 0; i < 3; i++) {
        const uint64_t value = BASE + 16 * (uint64_t)next(s);
        memcpy(all.args + 8 * i, &value, 8);
    }
    // Fewer regions than room for them, as a later version may have it.
    h->region_count = 1 + next(s) % 4;
    add_capture(f, &all, sizeof all);
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
        } else {
            add_operation(f, s);
        }
    }
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
    for (size_t i = 0; i < count; i++) {
        ts_execution_item item;
        ts_execution_run(e, i, &item);
        check(item.outcome >= TS_OUTCOME_EXECUTED &&
                  item.outcome <= TS_OUTCOME_DECLINED,
              "an operation without an outcome");
        check(item.outcome == TS_OUTCOME_EXECUTED || item.reason,
              "declined without a reason");
        check(item.outcome != TS_OUTCOME_EXECUTED || item.level,
              "executed at no level");
        check(!item.diverged || item.offset < item.size,
              "a divergence beside the memory");
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
    moves = waits = 0;
    forge_open(&f, 0);
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
