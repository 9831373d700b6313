/*
    test_rewrite_captures.c - captures in parts of traces and in merged ones

    Traces here have a kernel each at 10-20, 30-40 and 50-60, correlations 1, 2
    and 3, and the record of an event at 70 with that of the first. The first
    two were captured, each with code and a region of its own; what both name is
    'common'. Nobody captured the blob 'users'.
*/
#define _GNU_SOURCE // mkdtemp
#include "tools/cut/cut.h"

#include "tests/tools/merge/merge_forge.h"
#include "tests/replay/reader/sbt_forge.h"

static void blob_of(ts_writer *w, const char *text, uint64_t hash[2])
{
    ts_writer_blob(w, text, strlen(text), hash);
}

// A list of one chunk of its own and the common one.
static void list_of(ts_writer *w, const char *text, uint64_t list[2])
{
    uint64_t hashes[2][2];
    blob_of(w, text, hashes[0]);
    blob_of(w, "common", hashes[1]);
    ts_writer_blob(w, hashes, sizeof hashes, list);
}

static void put_image(ts_writer *w, uint32_t id, const char *code)
{
    const ts_module_entry module = { .path = name_in(w, code) };
    ts_capture_image image = { .type = TS_CAPTURE_IMAGE,
                               .id = id,
                               .form = TS_CAPTURE_OPENCL_C };
    image.options = name_in(w, "-O3");
    image.module = ts_writer_module(w, &module, NULL, 0);
    image.vendor = name_in(w, "vdev");
    image.size = strlen(code);
    blob_of(w, code, image.hash);
    ts_writer_capture(w, &image, sizeof image);
}

typedef struct record {
    ts_capture_operation head;
    ts_capture_param param;
    char args[8];
    ts_capture_region region;
    ts_capture_attribute attribute;
    char pattern[8];
} record;

static void put_capture(ts_writer *w, uint32_t image, const char *before,
                        const char *after)
{
    record r = { .head = { .type = TS_CAPTURE_OPERATION,
                           .track = STREAM,
                           .kind = TS_EVENT_KERNEL,
                           .state = TS_CAPTURE_WHOLE,
                           .correlation = image,
                           .order = image,
                           .image = image,
                           .args_size = 8,
                           .param_count = 1,
                           .region_count = 1 },
                 .param = { .size = 8, .type = 1 },
                 .args = "eight by",
                 .region = { .address = 4096,
                             .size = 65536 + 6,
                             .device = DEVICE,
                             .image = image },
                 .attribute = { .id = TS_ATTRIBUTE_PATTERN, .size = 8 },
                 .pattern = "pattern" };
    r.head.name = name_in(w, before);
    r.head.vendor = name_in(w, "vdev");
    list_of(w, before, r.region.before);
    list_of(w, after, r.region.after);
    ts_writer_capture(w, &r, sizeof r);
}

static void make_captured(const char *name)
{
    ts_writer_desc desc = { .path = path_of(name), .process = 77 };
    const made plain = { .rank = -1 };
    ts_writer *w;
    uint64_t users[2];
    memcpy(desc.session, name, strlen(name));
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    put_tracks(w, &plain);
    for (int64_t i = 0; i < 3; i++) {
        const ts_launch_entry launch = { .name = name_in(w, "gemm") };
        const ts_writer_value values[] = {
            { TS_COLUMN_LAUNCH, ts_writer_launch(w, &launch) },
            { TS_COLUMN_CORRELATION, (uint64_t)i + 1 },
        };
        ts_writer_event(w, TS_EVENT_KERNEL, STREAM, 10 + 20 * i, 10, values, 2);
    }
    // The record of an event that the first was waited for by.
    const ts_writer_value waited = { TS_COLUMN_CORRELATION, 1 };
    ts_writer_event(w, TS_EVENT_EVENT_RECORD, STREAM, 70, 0, &waited, 1);
    blob_of(w, "users", users);
    put_image(w, 1, "code of first");
    put_capture(w, 1, "first before", "first after");
    put_image(w, 2, "code of second");
    put_capture(w, 2, "second before", "second after");
    assert_int_equal(TS_OK, ts_writer_close(w));
}

static int begin(void **state)
{
    if (folder_begin(state)) return -1;
    make_captured("in.sbt");
    make_captured("other.sbt");
    return 0;
}

static bool has_blob(const ts_reader *reader, const char *text)
{
    uint64_t hash[2];
    const void *bytes;
    size_t size;
    ts_reader *const r = (ts_reader *)reader;
    for (size_t i = 0; ts_reader_blob_at(r, i, hash); i++)
        if (ts_reader_blob(r, hash, &bytes, &size) == TS_OK &&
            size == strlen(text) && !memcmp(bytes, text, size))
            return true;
    return false;
}

static void assert_capture(ts_reader *reader, size_t index, const char *name,
                           uint32_t stream, uint32_t device, uint32_t image)
{
    ts_capture c;
    ts_capture_image code;
    ts_attribute pattern;
    const void *bytes;
    size_t size;
    assert_true(ts_reader_capture(reader, index, &c));
    assert_string_equal(name, ts_reader_name(reader, c.head.name).text);
    assert_string_equal("vdev", ts_reader_name(reader, c.head.vendor).text);
    assert_int_equal(stream, c.head.track);
    assert_int_equal(image, c.head.image);
    assert_memory_equal("eight by", c.args, 8);
    assert_int_equal(1, c.params[0].type);
    assert_int_equal(device, c.regions[0].device);
    assert_int_equal(image, c.regions[0].image);
    assert_int_equal(
        TS_OK, ts_reader_blob(reader, c.regions[0].before, &bytes, &size));
    assert_int_equal(32, size);
    assert_true(ts_reader_image(reader, image, &code));
    assert_int_equal(TS_OK, ts_reader_blob(reader, code.hash, &bytes, &size));
    assert_memory_equal("code of ", bytes, 8);
    assert_int_equal(TS_CAPTURE_OPENCL_C, code.form);
    assert_string_equal("-O3", ts_reader_name(reader, code.options).text);
    assert_true(
        ts_attribute_find(&c.attributes, TS_ATTRIBUTE_PATTERN, 8, &pattern));
    assert_string_equal("pattern", pattern.bytes);
    assert_non_null(ts_reader_module(reader, code.module));
}

static void cut(cut_options options)
{
    cut_file(path_of("in.sbt"), path_of("out.sbt"), options);
}

/* ---- Tests --------------------------------------------------------------- */

UNIT_TEST(a_part_has_the_captures_of_its_operations_and_no_other)
{
    cut((cut_options){ .timed = true, .from_ns = 25, .to_ns = 100 });
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(1, ts_reader_capture_count(reader));
    assert_capture(reader, 0, "second before", STREAM, DEVICE, 2);
    assert_true(has_blob(reader, "second before"));
    assert_true(has_blob(reader, "second after"));
    assert_true(has_blob(reader, "common"));
    assert_true(has_blob(reader, "users"));
    assert_false(has_blob(reader, "first before"));
    assert_false(has_blob(reader, "first after"));
    assert_false(has_blob(reader, "code of first"));
    ts_reader_close(reader);
}

UNIT_TEST(a_copy_has_all_of_them_in_their_order)
{
    cut((cut_options){ .timed = false });
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(2, ts_reader_capture_count(reader));
    assert_capture(reader, 0, "first before", STREAM, DEVICE, 1);
    assert_capture(reader, 1, "second before", STREAM, DEVICE, 2);
    ts_reader_close(reader);
}

UNIT_TEST(names_that_nobody_may_know_take_the_captures_along)
{
    cut((cut_options){ .anonymise = true });
    ts_reader *const reader = open_name("out.sbt");
    assert_int_equal(0, ts_reader_capture_count(reader));
    assert_false(has_blob(reader, "common"));
    ts_reader_close(reader);
}

UNIT_TEST(merged_captures_keep_to_their_process)
{
    static const char *const names[] = { "in.sbt", "other.sbt" };
    merge_job job = merge_names("merged.sbt", names, 2, NULL, false);
    merge_close(&job);
    ts_reader *const reader = open_name("merged.sbt");
    ts_capture c;
    assert_int_equal(4, ts_reader_capture_count(reader));
    assert_capture(reader, 0, "first before", STREAM, DEVICE, 1);
    assert_capture(reader, 1, "second before", STREAM, DEVICE, 2);
    assert_capture(reader, 2, "first before", STREAM + 4, DEVICE + 4, 3);
    assert_capture(reader, 3, "second before", STREAM + 4, DEVICE + 4, 4);
    assert_true(ts_reader_capture(reader, 1, &c));
    assert_true(c.head.correlation == 2 && c.head.order == 2);
    assert_true(ts_reader_capture(reader, 3, &c));
    assert_true(c.head.correlation == (UINT64_C(1) << 48 | 2));
    assert_true(c.head.order == (UINT64_C(1) << 48 | 2));
    ts_reader_close(reader);
}

UNIT_TEST(only_what_one_recorded_oneself_makes_a_trace_ones_own)
{
    static const char *const names[] = { "in.sbt", "other.sbt" };
    assert_int_equal(0, setenv("XDG_STATE_HOME", folder, 1));
    cli_trace_own(path_of("in.sbt"));
    ts_reader *reader = open_name("in.sbt");
    assert_true(cli_trace_is_own(reader));
    ts_reader_close(reader);
    cut((cut_options){ .timed = true, .from_ns = 25, .to_ns = 100 });
    reader = open_name("out.sbt");
    assert_true(cli_trace_is_own(reader));
    ts_reader_close(reader);
    merge_job job = merge_names("merged.sbt", names, 2, NULL, false);
    merge_close(&job);
    reader = open_name("merged.sbt");
    assert_false(cli_trace_is_own(reader));
    ts_reader_close(reader);
    cli_trace_own(path_of("other.sbt"));
    job = merge_names("merged.sbt", names, 2, NULL, false);
    merge_close(&job);
    reader = open_name("merged.sbt");
    assert_true(cli_trace_is_own(reader));
    ts_reader_close(reader);
    char command[400];
    snprintf(command, sizeof command, "rm -r '%s'/tracesmith", folder);
    assert_int_equal(0, system(command));
}

// In whatever order they come; of two with one number it is the first.
UNIT_TEST(code_is_found_by_its_number)
{
    static const uint32_t ids[] = { 70, 3, UINT32_MAX, 3, 9 };
    static const char *const codes[] = { "a", "bb", "ccc", "dddd", "eeeee" };
    const ts_writer_desc desc = { .path = path_of("numbers.sbt") };
    const ts_reader_desc open = { .path = desc.path };
    ts_writer *w;
    ts_reader *r;
    ts_capture_image image;
    assert_int_equal(TS_OK, ts_writer_open(&w, &desc));
    for (size_t i = 0; i < 5; i++)
        put_image(w, ids[i], codes[i]);
    assert_int_equal(TS_OK, ts_writer_close(w));
    assert_int_equal(TS_OK, ts_reader_open(&r, &open));
    for (size_t i = 0; i < 5; i++) {
        assert_true(ts_reader_image(r, ids[i], &image));
        assert_int_equal(i == 3 ? 2 : i + 1, image.size);
        assert_true(ts_reader_image_at(r, i, &image)); // as in the file
        assert_int_equal(i + 1, image.size);
    }
    assert_false(ts_reader_image(r, 0, &image));
    assert_false(ts_reader_image(r, 71, &image));
    ts_reader_close(r);
}

#ifdef TRACESMITH_ZSTD
static size_t used, most, allowed; // bytes that the reader has, had, may have

static void *metered(void *user, void *ptr, size_t old_size, size_t new_size)
{
    if (new_size > old_size && used + new_size - old_size > allowed)
        return NULL;
    used += new_size - old_size;
    if (used > most) most = used;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static ts_result copy_contents(ts_reader *reader)
{
    const ts_writer_desc desc = { .path = path_of("contents.sbt") };
    copy c = { .reader = reader };
    assert_int_equal(TS_OK, ts_writer_open(&c.writer, &desc));
    assert_true(copy_begin(&c));
    assert_true(copy_captures_find(&c));
    copy_blobs(&c);
    const ts_result result = copy_captures_write(&c, true);
    copy_end(&c);
    assert_int_equal(TS_OK, ts_writer_close(c.writer));
    return result;
}

UNIT_TEST(compressed_contents_are_copied_one_by_one_or_not_at_all)
{
    enum { SIZE = 1 << 20, BLOBS = 12 };
    uint8_t *const bytes = malloc(SIZE);
    ts_reader *reader;
    forge f;
    assert_non_null(bytes);
    forge_open(&f, 0);
    for (int i = 0; i < BLOBS; i++) {
        memset(bytes, i, SIZE);
        const XXH128_hash_t hash = XXH3_128bits(bytes, SIZE);
        forge_begin(&f, FORGE_BLOB);
        f.next.flags = 1;
        forge_number(&f.payload, hash.low64, 8);
        forge_number(&f.payload, hash.high64, 8);
        forge_add(&f.payload, bytes, SIZE);
        forge_end(&f);
    }
    forge_finish(&f);
    const ts_reader_desc open = { .bytes = f.bytes,
                                  .size = f.size,
                                  .threads = 1,
                                  .allocator = { metered, NULL } };
    used = most = 0;
    allowed = SIZE_MAX;
    assert_int_equal(TS_OK, ts_reader_open(&reader, &open));
    assert_int_equal(TS_OK, copy_contents(reader));
    assert_true(most > SIZE && most < 4 * SIZE);
    allowed = used + SIZE / 2; // an error, and not that nothing is there
    assert_int_equal(TS_ERR_MEMORY, copy_contents(reader));
    ts_reader_close(reader);
    assert_int_equal(0, used);
    forge_close(&f);
    free(bytes);
}
#endif

int main(void)
{
    return unit_run(begin, folder_end);
}
