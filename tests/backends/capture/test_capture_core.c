// What captures of any vendor write into a trace, with a device of the test.
#define _GNU_SOURCE
#define TRACESMITH_WRITER
#include "tests/record/record_fixture.h"
#include "backends/ts_capture.h"

#define ok(call) assert_int_equal(TS_OK, call)

// A library whose memory the host cannot read: versions tell what changed.
static uint8_t fake[3 * TS_CAPTURE_CHUNK];
static unsigned views;

static const void *view(void *user, uint64_t address, uint64_t size,
                        void *scratch)
{
    views++;
    memcpy(scratch, (const void *)(uintptr_t)address, size);
    return scratch;
}

static const ts_capture_vendor vendor = { .name = "fake", .view = view };

static void fake_op(ts_capture_memory *memory, ts_capture_op *op,
                    ts_reason declined)
{
    const uint64_t into = (uintptr_t)fake + TS_CAPTURE_CHUNK + 5;
    memset(op, 0, sizeof *op);
    op->head.kind = TS_EVENT_MEMSET;
    op->head.destination = into;
    op->head.size = 1;
    assert_true(ts_capture_requested(op));
    if (declined) ts_capture_decline(op, declined);
    ts_capture_begin(memory, op);
    fake[TS_CAPTURE_CHUNK + 5]++;
    ts_capture_end(memory, op);
}

// Begins to record; the device has the memory `fake`.
static const char *begin(const char *name, ts_capture_memory *memory,
                         const ts_capture_vendor *of)
{
    static const ts_session_desc plain;
    const char *const path = rt_start(name, plain);
    memset(memory, 0, sizeof *memory);
    memory->vendor = of;
    ok(ts_capture_start(NULL));
    assert_true(ts_capture_fresh(memory));
    ts_capture_alloc(memory, (uintptr_t)fake, sizeof fake, 1);
    return path;
}

static ts_reader *finish(const char *path, ts_capture_memory *memory)
{
    const ts_reader_desc desc = { .path = path };
    ts_reader *reader;
    ts_capture_close(memory);
    ts_capture_stop();
    ok(ts_session_stop());
    ok(ts_reader_open(&reader, &desc));
    ok(ts_reader_verify(reader));
    return reader;
}

static ts_capture capture_at(ts_reader *reader, size_t index)
{
    ts_capture capture;
    assert_true(ts_reader_capture(reader, index, &capture));
    return capture;
}

UNIT_TEST(only_what_was_written_is_looked_at_again)
{
    ts_capture_memory memory;
    ts_capture_op op;
    const char *const path = begin("versions.sbt", &memory, &vendor);
    views = 0;
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(3 + 1, views); // all of it, then the chunk written
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(3 + 1 + 1, views);
    ts_capture_touch(&memory, (uintptr_t)fake, 0);
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(3 + 1 + 1 + 3 + 1, views);
    // An operation that was not captured writes as well.
    fake_op(&memory, &op, TS_REASON_DRAIN_TIMEOUT);
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(3 + 1 + 1 + 3 + 1 + 3 + 1, views);
    assert_false(ts_capture_fresh(&memory));
    ts_reader *const reader = finish(path, &memory);
    const ts_capture second = capture_at(reader, 1);
    assert_memory_equal(capture_at(reader, 0).regions[0].after,
                        second.regions[0].before, 16);
    ts_reader_close(reader);
}

// A device that hashes; `lies` of its hashes are wrong.
static unsigned asked, lies;

static bool hash_chunks(void *user, uint64_t address, uint64_t size,
                        uint64_t *hashes)
{
    asked++;
    assert_true(size % TS_CAPTURE_CHUNK == 0 || size % TS_CAPTURE_CHUNK > 240);
    for (uint64_t at = 0; at < size; at += TS_CAPTURE_CHUNK, hashes += 2) {
        const uint64_t left = size - at;
        ts_blob_find((const void *)(uintptr_t)(address + at),
                     left < TS_CAPTURE_CHUNK ? left : TS_CAPTURE_CHUNK, hashes);
        if (lies) hashes[0] ^= lies--;
    }
    return true;
}
static const ts_capture_vendor hashing = { .name = "fake",
                                           .view = view,
                                           .hash = hash_chunks };

UNIT_TEST(only_what_is_new_is_copied_where_the_device_hashes)
{
    ts_capture_memory memory;
    ts_capture_op op;
    memset(fake, 7, TS_CAPTURE_CHUNK);
    memset(fake + TS_CAPTURE_CHUNK, 8, 2 * TS_CAPTURE_CHUNK);
    const char *const path = begin("told.sbt", &memory, &hashing);
    views = asked = 0;
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(views, 2 + 1); // two chunks are alike
    assert_int_equal(asked, 1 + 1);
    ts_capture_touch(&memory, (uintptr_t)fake, 0);
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(views, 2 + 1 + 1);
    assert_int_equal(asked, 1 + 1 + 1 + 1);
    const ts_capture_figures f = ts_capture_result();
    assert_int_equal(f.looked_bytes, 8 * TS_CAPTURE_CHUNK);
    assert_int_equal(f.device_bytes, 4 * TS_CAPTURE_CHUNK);
    assert_int_equal(f.kept_bytes, 4 * TS_CAPTURE_CHUNK);
    ts_reader *const reader = finish(path, &memory);
    const ts_capture second = capture_at(reader, 1);
    assert_int_equal(second.head.state, TS_CAPTURE_WHOLE);
    assert_memory_equal(capture_at(reader, 0).regions[0].after,
                        second.regions[0].before, 16);
    ts_reader_close(reader);
}

UNIT_TEST(hashes_only_copies_nothing_where_the_device_hashes)
{
    static const ts_session_desc plain;
    static const ts_capture_desc what = { .hashes_only = true };
    const char *const path = rt_start("toldonly.sbt", plain);
    ts_capture_memory memory = { .vendor = &hashing };
    ts_capture_op op;
    ok(ts_capture_start(&what));
    assert_true(ts_capture_fresh(&memory));
    // The last chunk is shorter than what devices hash.
    ts_capture_alloc(&memory, (uintptr_t)fake, 2 * TS_CAPTURE_CHUNK + 240, 1);
    views = 0;
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(views, 1);
    ts_reader *const reader = finish(path, &memory);
    assert_int_equal(capture_at(reader, 0).head.state, TS_CAPTURE_HASHES);
    ts_reader_close(reader);
}

UNIT_TEST(wrong_hashes_of_a_device_are_not_believed)
{
    ts_capture_memory memory;
    ts_capture_op op;
    uint64_t right[2];
    const void *hashes;
    size_t size;
    memset(fake, 9, sizeof fake);
    const char *const path = begin("lies.sbt", &memory, &hashing);
    ts_blob_find(fake, TS_CAPTURE_CHUNK, right);
    asked = 0;
    lies = 1;
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(asked, 1); // and never again
    ts_reader *const reader = finish(path, &memory);
    ok(ts_reader_blob(reader, capture_at(reader, 0).regions[0].before, &hashes,
                      &size));
    assert_int_equal(size, 3 * 16);
    assert_memory_equal(hashes, right, 16);
    ts_metadata how;
    assert_true(ts_reader_metadata(reader, 0, "capture.hash.fake", &how));
    assert_int_equal(
        memcmp(how.text.text, "on the host: the device computed", 27), 0);
    ts_reader_close(reader);
}

UNIT_TEST(the_host_hashes_if_it_is_to)
{
    static const ts_session_desc plain;
    char room[64];
    ts_capture_desc what;
    assert_int_equal(ts_capture_parse(&what, room, sizeof room, "hash:gpu"),
                     TS_ERR_USAGE);
    ok(ts_capture_parse(&what, room, sizeof room, "hash:auto hash:host"));
    assert_int_equal(what.hash, TS_CAPTURE_HASH_HOST);
    const char *const path = rt_start("host.sbt", plain);
    ts_capture_memory memory = { .vendor = &hashing };
    ts_capture_op op;
    ok(ts_capture_start(&what));
    assert_true(ts_capture_fresh(&memory));
    ts_capture_alloc(&memory, (uintptr_t)fake, sizeof fake, 1);
    asked = 0;
    fake_op(&memory, &op, TS_REASON_NONE);
    assert_int_equal(asked, 0);
    ts_reader_close(finish(path, &memory));
}

// A kernel of 40 parameters, the last of which are objects of this device; all
// the others look like pointers.
UNIT_TEST(only_parameters_tell_what_is_reached)
{
    static const ts_capture_vendor exact = { .name = "fake",
                                             .view = view,
                                             .by_parameters = true };
    static uint8_t other[64];
    uint64_t args[40], pointer = (uintptr_t)other;
    ts_capture_memory memory;
    ts_capture_op op;
    const char *const path = begin("parameters.sbt", &memory, &exact);
    ts_capture_alloc(&memory, (uintptr_t)other, sizeof other, 1);
    memcpy(fake, &pointer, sizeof pointer); // leads nowhere
    for (int i = 0; i < 40; i++)
        args[i] = i < 39 ? (uintptr_t)other : (uintptr_t)fake + 8;
    memset(&op, 0, sizeof op);
    op.head.kind = TS_EVENT_KERNEL;
    op.name = "forty";
    op.args = args;
    op.head.args_size = sizeof args;
    assert_true(ts_capture_requested(&op));
    for (uint32_t i = 0; i < 40; i++)
        ts_capture_param_add(&op, 8 * i, 8,
                             i < 39 ? TS_PARAM_LOCAL : TS_PARAM_OBJECT);
    ts_capture_begin(&memory, &op);
    ts_capture_end(&memory, &op);
    ts_reader *const reader = finish(path, &memory);
    const ts_capture c = capture_at(reader, 0);
    assert_int_equal(40, c.head.param_count);
    assert_int_equal(TS_PARAM_OBJECT, c.params[39].type);
    assert_int_equal(1, c.head.region_count);
    assert_int_equal((uintptr_t)fake, c.regions[0].address);
    assert_int_equal(8 * 39, c.regions[0].from);
    ts_reader_close(reader);
}

static void keep_args(ts_capture_memory *memory, const void *args,
                      uint32_t size)
{
    ts_capture_op op;
    memset(&op, 0, sizeof op);
    op.head.kind = TS_EVENT_KERNEL;
    op.head.args_size = size;
    op.args = args;
    assert_true(ts_capture_requested(&op));
    ts_capture_begin(memory, &op);
    ts_capture_end(memory, &op);
}

// Also where addresses have nothing in common that a search could go by, and
// where another pointer to the same memory follows.
UNIT_TEST(a_pointer_is_found_at_every_byte)
{
    enum { SIZE = 41, PLACES = SIZE - 7 };
    const uint64_t pointer = (uintptr_t)fake + 77;
    uint8_t args[SIZE];
    ts_capture_memory memory;
    const char *const path = begin("places.sbt", &memory, &vendor);
    for (uint32_t i = 0; i < 2 * PLACES; i++) {
        if (i == PLACES) ts_capture_alloc(&memory, 4096, 16, 1);
        memset(args, 0xEE, sizeof args);
        memcpy(args + i % PLACES, &pointer, sizeof pointer);
        if (i % PLACES < PLACES - 8)
            memcpy(args + PLACES - 1, &pointer, sizeof pointer);
        keep_args(&memory, args, SIZE);
    }
    memset(args, 0, sizeof args);
    keep_args(&memory, args, SIZE);
    ts_reader *const reader = finish(path, &memory);
    for (uint32_t i = 0; i < 2 * PLACES; i++) {
        const ts_capture c = capture_at(reader, i);
        assert_int_equal(1, c.head.region_count);
        assert_int_equal(i % PLACES, c.regions[0].from);
    }
    assert_int_equal(0, capture_at(reader, 2 * PLACES).head.region_count);
    ts_reader_close(reader);
}

// Bytes that change while they are captured: whatever is in the trace, its hash
// is right.
static bool changing;

static void *change(void *bytes)
{
    while (__atomic_load_n(&changing, __ATOMIC_RELAXED))
        for (size_t i = 0; i < sizeof fake; i += 512)
            __atomic_fetch_add((uint8_t *)bytes + i, 1, __ATOMIC_RELAXED);
    return NULL;
}

UNIT_TEST(what_changes_while_it_is_kept_is_whole)
{
#ifdef UNDER_TSAN
    skip(); // the race is meant
#endif
    pthread_t other;
    ts_capture_memory memory;
    ts_capture_op op;
    const char *const path = begin("changing.sbt", &memory, &vendor);
    __atomic_store_n(&changing, true, __ATOMIC_RELAXED);
    assert_int_equal(0, pthread_create(&other, NULL, change, fake));
    for (int i = 0; i < 20; i++) {
        memset(&op, 0, sizeof op);
        op.head.kind = TS_EVENT_MEMCPY;
        op.head.source = (uintptr_t)fake;
        op.head.destination = 1 << 20; // of nobody
        op.head.size = sizeof fake;
        ts_capture_free(&memory, (uintptr_t)fake); // memory of the host
        assert_true(ts_capture_requested(&op));
        ts_capture_begin(&memory, &op);
        op.regions[1].access = TS_ACCESS_READ;
        ts_capture_end(&memory, &op);
    }
    __atomic_store_n(&changing, false, __ATOMIC_RELAXED);
    pthread_join(other, NULL);
    ts_reader_close(finish(path, &memory)); // verifies it
}

UNIT_TEST(attributes_come_back_in_order)
{
    static const uint64_t offset[3] = { 1, 2, 3 };
    ts_capture_memory memory;
    ts_capture_op op;
    ts_attribute one;
    uint64_t at = 0;
    const char *const path = begin("attributes.sbt", &memory, &vendor);
    memset(&op, 0, sizeof op);
    op.head.kind = TS_EVENT_KERNEL;
    op.name = "some";
    assert_true(ts_capture_requested(&op));
    ts_capture_attribute_add(&op, TS_ATTRIBUTE_PATTERN, "abcde", 5);
    ts_capture_attribute_add(&op, TS_ATTRIBUTE_COOPERATIVE, NULL, 0);
    ts_capture_attribute_add(&op, TS_ATTRIBUTE_GLOBAL_OFFSET, offset,
                             sizeof offset);
    ts_capture_begin(&memory, &op);
    ts_capture_end(&memory, &op);
    ts_reader *const reader = finish(path, &memory);
    const ts_capture c = capture_at(reader, 0);
    assert_true(ts_attribute_next(&c.attributes, &at, &one));
    assert_int_equal(TS_ATTRIBUTE_PATTERN, one.id);
    assert_int_equal(5, one.size);
    assert_memory_equal("abcde", one.bytes, 5);
    assert_true(ts_attribute_next(&c.attributes, &at, &one));
    assert_int_equal(TS_ATTRIBUTE_COOPERATIVE, one.id);
    assert_int_equal(0, one.size);
    assert_true(ts_attribute_next(&c.attributes, &at, &one));
    assert_memory_equal(offset, one.bytes, sizeof offset);
    assert_int_equal(0, (uintptr_t)one.bytes % 8);
    assert_false(ts_attribute_next(&c.attributes, &at, &one));
    assert_true(ts_attribute_find(&c.attributes, 1, 24, &one));
    assert_false(ts_attribute_find(&c.attributes, 1, 25, &one));
    ts_reader_close(reader);
}

// Two rows of four bytes, ten apart, from the second byte of the third row.
UNIT_TEST(the_box_of_a_copy_says_what_the_host_gives)
{
    static const ts_capture_geometry g = { .source_origin = { 1, 2, 0 },
                                           .region = { 4, 2, 1 },
                                           .source_row = 10,
                                           .destination_row = 4 };
    static uint8_t host[40];
    ts_capture_memory memory;
    ts_capture_op op;
    const char *const path = begin("box.sbt", &memory, &vendor);
    for (int backwards = 0; backwards < 2; backwards++) {
        const uint64_t up = (uintptr_t)host, down = (uintptr_t)fake;
        memset(&op, 0, sizeof op);
        op.head.kind = TS_EVENT_MEMCPY;
        op.head.source = backwards ? down : up;
        op.head.destination = backwards ? up : down;
        op.head.size = 8;
        assert_true(ts_capture_requested(&op));
        ts_capture_attribute_add(&op, TS_ATTRIBUTE_GEOMETRY, &g, sizeof g);
        ts_capture_begin(&memory, &op);
        ts_capture_end(&memory, &op);
    }
    ts_reader *const reader = finish(path, &memory);
    const ts_capture_region *r = capture_at(reader, 0).regions;
    assert_int_equal((uintptr_t)host + 21, r->address);
    assert_int_equal(14, r->size);
    assert_int_equal(0, r->after[0]);
    r = &capture_at(reader, 1).regions[1];
    assert_int_equal((uintptr_t)host, r->address);
    assert_int_equal(8, r->size);          // two rows of four
    assert_int_not_equal(0, r->before[0]); // what is between rows stays
    assert_int_not_equal(0, r->after[0]);
    ts_reader_close(reader);
}

UNIT_TEST(code_has_a_form_and_options)
{
    ts_capture_memory memory;
    const ts_capture_code code = { .vendor = "fake",
                                   .path = "program",
                                   .bytes = "kernel",
                                   .size = 6,
                                   .form = TS_CAPTURE_OPENCL_C,
                                   .options = "-DX=1" };
    const char *const path = begin("code.sbt", &memory, &vendor);
    const uint32_t id = ts_capture_image_add(&code);
    ts_reader *const reader = finish(path, &memory);
    ts_capture_image image;
    assert_true(ts_reader_image(reader, id, &image));
    assert_int_equal(TS_CAPTURE_OPENCL_C, image.form);
    assert_string_equal("-DX=1", ts_reader_name(reader, image.options).text);
    ts_reader_close(reader);
}

// Images of before had no form; attributes that run past the end are damage.
UNIT_TEST(older_and_damaged_records_are_distinguished)
{
    struct {
        ts_capture_operation head;
        ts_capture_attribute attribute;
        uint64_t bytes;
    } op = { { .type = TS_CAPTURE_OPERATION,
               .kind = TS_EVENT_KERNEL,
               .state = TS_CAPTURE_DECLINED },
             { TS_ATTRIBUTE_PATTERN, 8 },
             7 };
    ts_capture_image image = { .type = TS_CAPTURE_IMAGE, .id = 4, .form = 77 };
    const char *const path = rt_path("older.sbt");
    const ts_writer_desc desc = { .path = path };
    const ts_reader_desc read = { .path = path };
    ts_writer *w;
    ts_reader *reader;
    ok(ts_writer_open(&w, &desc));
    ts_writer_capture(w, &image, 40);
    ts_writer_capture(w, &op, sizeof op);
    ts_writer_capture(w, &op, sizeof op - 8); // the attribute has no bytes
    op.attribute.size = 9;
    ts_writer_capture(w, &op, sizeof op);
    op.attribute.size = UINT32_MAX;
    ts_writer_capture(w, &op, sizeof op);
    ok(ts_writer_close(w));
    ok(ts_reader_open(&reader, &read));
    assert_int_equal(1, ts_reader_capture_count(reader));
    assert_true(ts_reader_image(reader, 4, &image));
    assert_int_equal(0, image.form);
    assert_int_equal(0, image.options);
    ts_reader_close(reader);
}

// One past the end has no room yet.
UNIT_TEST(there_is_room_for_the_launches_of_each_name)
{
    ts__cap_state s = { .launches = NULL };
    for (uint32_t name = 0; name < 1000; name++)
        for (uint64_t i = 0; i < 2; i++) {
            uint64_t number;
            assert_true(ts__cap_launch(&s, name, &number));
            assert_int_equal(number, i);
            assert_true(name < s.launch_room);
        }
    free(s.launches);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
