// Operations of a trace with compressed contents: these are inflated one by
// one, and not at all if their size is absurd.
#define _GNU_SOURCE
#include "tests/replay/execute/concurrent_fixture.h"

#include "tests/replay/reader/sbt_forge.h"

#ifdef TRACESMITH_ZSTD

enum { OPERATIONS = 24, ENOUGH = 2 << 20, VAST = 64 << 20 };

static size_t used, most; // bytes that the reader has, and had at once

static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    used += new_size;
    if (used > most) most = used;
    used -= old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static forge packed;

static void add_chunk(const uint8_t *header, const void *payload, size_t size)
{
    const size_t offset = packed.file.size;
    packed.payload.size = 0;
    forge_add(&packed.payload, payload, size);
    forge_compress(&packed);
    forge_add(&packed.file, header, 64);
    forge_add(&packed.file, packed.payload.bytes, packed.payload.size);
    forge_pad(&packed.file);
    forge_set(packed.file.bytes + offset + 6, 1, 2);
    forge_set(packed.file.bytes + offset + 40, packed.payload.size, 4);
    forge_set(packed.file.bytes + offset + 44, size, 4);
    forge_seal(packed.file.bytes, offset);
}

// A blob of very many bytes that claims to have this hash.
static void add_vast(const uint8_t *header, const uint64_t hash[2])
{
    uint8_t *const bytes = calloc(1, VAST);
    assert_non_null(bytes);
    memcpy(bytes, hash, 16);
    add_chunk(header, bytes, VAST);
    free(bytes);
}

// The same trace with every blob compressed, and the blob of one hash vast; the
// index, which would give their old places, is left out.
static void pack(const uint64_t vast[2])
{
    const int fd = ts_reader_file(reader);
    struct stat st;
    assert_int_equal(0, fstat(fd, &st));
    const size_t size = (size_t)st.st_size;
    uint8_t *const file = malloc(size);
    assert_non_null(file);
    assert_int_equal((ssize_t)size, pread(fd, file, size, 0));
    memset(&packed, 0, sizeof packed);
    forge_add(&packed.file, file, 64);
    for (size_t at = 64, next; at + 64 <= size; at = next) {
        const uint8_t *const chunk = file + at;
        const size_t stored = (size_t)forge_get(chunk + 40, 4);
        next = at + 64 + (stored + 7) / 8 * 8;
        if (chunk[4] == FORGE_INDEX || chunk[4] == FORGE_END) continue;
        if (chunk[4] != FORGE_BLOB)
            forge_add(&packed.file, chunk, next - at);
        else if (!memcmp(chunk + 64, vast, 16))
            add_vast(chunk, vast);
        else
            add_chunk(chunk, chunk + 64, stored);
    }
    free(file);
    ts_reader_close(reader);
    const ts_reader_desc desc = { .bytes = packed.file.bytes,
                                  .size = packed.file.size,
                                  .allocator = { metered, NULL } };
    ok(ts_reader_open(&reader, &desc));
    assert_int_equal(0, ts_reader_damage_count(reader));
}

static void record(void)
{
    begin();
    const char *const path = rt_start("compressed.sbt", plain);
    float *const a = floats(0), *const b = floats(1);
    ok(ts_capture_start(NULL));
    for (int i = 0; i < OPERATIONS; i++)
        launch_add(plain_add, i % 2 ? b : a, i % 2 ? a : b, (float)i);
    finish(path);
}

static void close_packed(void)
{
    close_all();
    assert_int_equal(0, used);
    forge_close(&packed);
}

static size_t before; // used, without an execution

static void assert_little(void)
{
    assert_in_range(most - before, 0, ENOUGH);
}

static void open_one_by_one(void)
{
    ts_execution_desc desc = usual();
    desc.memory_bytes = VAST / 2;
    before = most = used;
    ok(ts_execution_open(&execution, reader, positions, OPERATIONS, &desc, why,
                         sizeof why));
    assert_little();
}

static ts_execution_item run_one(size_t index)
{
    ts_execution_item item;
    ts_execution_run(execution, index, &item);
    return item;
}

static void assert_same(size_t index)
{
    const ts_execution_item item = run_one(index);
    assert_string_equal("none", ts_reason_name(item.reason));
    assert_int_equal(TS_OUTCOME_EXECUTED, item.outcome);
    assert_true(item.compared);
    assert_false(item.diverged);
}

// The code is inflated with the first one, and may have any size.
static void open_and_load(void)
{
    open_one_by_one();
    assert_same(0);
    most = used;
}

// All of them have three chunks of their own. From the last to the first, none
// finds in place what it needs.
UNIT_TEST(contents_are_inflated_one_by_one)
{
    static const uint64_t none[2];
    record();
    pack(none);
    open_and_load();
    for (size_t i = OPERATIONS; i-- > 0;)
        assert_same(i);
    assert_little();
    assert_true(OPERATIONS * COUNT * sizeof(float) > ENOUGH + (1 << 20));
    close_packed();
}

// What comes out is compared with the record while this is inflated, too.
UNIT_TEST(what_differs_is_found)
{
    static const uint64_t none[2];
    record();
    pack(none);
    open_one_by_one();
    extra = 1;
    const ts_execution_item item = run_one(0);
    assert_true(item.diverged && item.bytes_known);
    float expected, found;
    memcpy(&expected, item.expected, sizeof expected);
    memcpy(&found, item.found, sizeof found);
    assert_true(expected == 1 && found == 2);
    close_packed();
}

// Operations of which every second one is left out, so that its results have
// to be put in place while the others run.
UNIT_TEST(what_is_put_in_place_later_stays)
{
    static const uint64_t none[2];
    record();
    pack(none);
    for (size_t i = 0; i < OPERATIONS / 2; i++)
        positions[i] = 2 * i;
    ok(run_concurrently(usual(), OPERATIONS / 2, NULL, 0, false));
    for (size_t i = 0; i < OPERATIONS / 2; i++) {
        assert_int_equal(TS_OUTCOME_EXECUTED, items[i].outcome);
        assert_false(items[i].diverged);
    }
    assert_true(whole.patched > 0);
    assert_int_equal(0, whole.regions_different);
    close_packed();
}

static void assert_vast(const uint64_t hash[2], size_t index,
                        const char *reason)
{
    const uint64_t vast[2] = { hash[0], hash[1] };
    pack(vast);
    open_and_load();
    const ts_execution_item item = run_one(index);
    assert_string_equal(reason, ts_reason_name(item.reason));
    assert_int_equal(TS_OUTCOME_DECLINED, item.outcome);
    assert_same(2);
    assert_little();
    close_packed();
}

static ts_capture capture_at(size_t index)
{
    ts_capture c;
    assert_true(ts_reader_capture(reader, index, &c));
    assert_true(c.head.region_count > 0);
    return c;
}

UNIT_TEST(a_vast_list_is_not_inflated)
{
    record();
    const ts_capture c = capture_at(4);
    uint32_t i = 0;
    while (!(c.regions[i].access & TS_ACCESS_READ))
        i++;
    assert_vast(c.regions[i].before, 4, "BAD_CAPTURE");
}

UNIT_TEST(a_vast_chunk_is_not_inflated)
{
    record();
    const ts_capture c = capture_at(4);
    uint32_t i = 0;
    while (!(c.regions[i].access & TS_ACCESS_READ))
        i++;
    const void *list;
    uint64_t hash[2];
    size_t size;
    ok(ts_reader_blob(reader, c.regions[i].before, &list, &size));
    memcpy(hash, list, sizeof hash);
    assert_vast(hash, 4, "MEMORY_MISSING");
}

UNIT_TEST(vast_code_is_not_inflated)
{
    ts_capture_image image;
    record();
    assert_true(ts_reader_image_at(reader, 0, &image));
    pack(image.hash);
    open_one_by_one();
    const ts_execution_item item = run_one(0);
    assert_string_equal("NO_MEMORY", ts_reason_name(item.reason));
    assert_non_null(strstr(item.why, "exceeds"));
    assert_little();
    close_packed();
}

#endif

int main(void)
{
#if defined UNDER_TSAN || !defined TRACESMITH_ZSTD
    puts("this needs zstd, and the addresses that this sanitizer hands out");
    return 77;
#else
    return unit_run(NULL, NULL);
#endif
}
