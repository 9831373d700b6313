// Traces that are read through a function: ts_reader_desc.read.
#define _GNU_SOURCE
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_far.h"
#include "tests/replay/reader/sbt_rows.h"

// A trace in memory, as a function reads it.
typedef struct source {
    const uint8_t *bytes;
    uint64_t size;
    size_t most;       // bytes that a call gives (0: all)
    uint64_t calls;    // made so far
    uint64_t fails_at; // number of the first call that fails (0: none)
} source;

static int64_t source_read(void *user, uint64_t offset, void *to, size_t size)
{
    source *const s = user;
    if (s->fails_at && ++s->calls >= s->fails_at) return -1;
    if (offset >= s->size) return 0;
    if (size > s->size - offset) size = (size_t)(s->size - offset);
    if (s->most && size > s->most) size = s->most;
    memcpy(to, s->bytes + offset, size);
    return (int64_t)size;
}

static uint64_t source_length(void *user)
{
    const source *const s = user;
    return s->size;
}

static ts_reader_desc source_desc(source *s)
{
    const ts_reader_desc desc = {
        .read = source_read, .size = s->size, .user = s, .threads = 1
    };
    return desc;
}

static void expect_same(rows all, const rows *truth)
{
    assert_int_equal(all.opened, TS_OK);
    assert_true(rows_same(&all, truth));
    assert_true(all.clocks == truth->clocks);
    assert_int_equal(all.reported, truth->reported);
    rows_close(&all);
}

static uint8_t *load(const char *path, size_t *size)
{
    FILE *const file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *const bytes = malloc(1 << 20);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return bytes;
}

static void each_golden_trace(void (*check)(const char *path, source whole))
{
    glob_t files;
    assert_int_equal(glob("tests/golden/*.sbt", 0, NULL, &files), 0);
    assert_true(files.gl_pathc > 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t size;
        uint8_t *const bytes = load(files.gl_pathv[i], &size);
        const source whole = { .bytes = bytes, .size = size };
        check(files.gl_pathv[i], whole);
        free(bytes);
    }
    globfree(&files);
}

static void check_same(const char *path, source whole)
{
    static const size_t most[] = { 0, 1, 7, 64, 1000 };
    const ts_reader_desc named = { .path = path, .threads = 1 };
    for (int no_index = 0; no_index < 2; no_index++) {
        rows truth = rows_of_desc(&named);
        for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
            whole.most = most[i];
            ts_reader_desc desc = source_desc(&whole);
            desc.no_index = no_index;
            expect_same(rows_of_desc(&desc), &truth);
        }
        rows_close(&truth);
    }
}

UNIT_TEST(golden_traces_are_the_same_through_a_function)
{
    each_golden_trace(check_same);
}

static void check_failures(const char *path, source whole)
{
    const ts_reader_desc named = { .path = path, .threads = 1 };
    rows truth = rows_of_desc(&named);
    bool failed = true;
    for (whole.fails_at = 1; failed; whole.fails_at++) {
        whole.calls = 0;
        const ts_reader_desc desc = source_desc(&whole);
        rows all = rows_of_desc(&desc);
        failed = whole.calls >= whole.fails_at;
        if (all.opened != TS_OK) assert_int_equal(all.opened, TS_ERR_IO);
        if (failed) assert_true(all.reported);
        assert_true(rows_within(&all, &truth, true));
        if (!failed) assert_true(rows_same(&all, &truth));
        rows_close(&all);
    }
    assert_true(whole.fails_at > 4);
    rows_close(&truth);
}

UNIT_TEST(reading_that_fails_is_reported_and_makes_up_nothing)
{
    each_golden_trace(check_failures);
}

UNIT_TEST(a_failure_is_named_and_the_chunk_can_be_read_later)
{
    forge f;
    sample_forge(&f);
    source s = { .bytes = f.bytes, .size = f.size };
    const ts_reader_desc desc = source_desc(&s);
    rows truth = rows_of_desc(&desc);
    ts_reader *reader;
    ts_damage damage;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    s.calls = 0;
    s.fails_at = 1;
    rows none = rows_of(reader, NULL);
    assert_true(none.reported);
    assert_int_equal(none.count, 0);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.result, TS_ERR_IO);
    s.fails_at = 0;
    rows all = rows_of(reader, NULL);
    all.rest = rows_rest(reader);
    assert_true(rows_same(&all, &truth));
    ts_reader_close(reader);
    rows_close(&all);
    rows_close(&none);
    rows_close(&truth);
    forge_close(&f);
}

static int64_t read_too_much(void *user, uint64_t offset, void *to, size_t size)
{
    const int64_t got = source_read(user, offset, to, size);
    return got == (int64_t)size ? got + 1 : got;
}

UNIT_TEST(a_function_that_claims_more_than_there_is_room_fails)
{
    forge f;
    sample_forge(&f);
    source s = { .bytes = f.bytes, .size = f.size };
    ts_reader_desc desc = source_desc(&s);
    desc.read = read_too_much;
    assert_int_equal(rows_of_desc(&desc).opened, TS_ERR_IO);
    forge_close(&f);
}

// After each chunk that is added, the reader has the rows of the trace so far.
UNIT_TEST(a_trace_that_grows_is_followed)
{
    forge f;
    sample_forge(&f);
    source s = { .bytes = f.bytes, .size = f.chunks[0] };
    ts_reader_desc desc = source_desc(&s);
    desc.length = source_length;
    desc.size = 1; // not used
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_false(ts_reader_refresh(reader));
    for (size_t i = 1; i <= f.chunk_count; i++) {
        const uint64_t next = i < f.chunk_count ? f.chunks[i] : f.size;
        s.size = (s.size + next) / 2; // half of a chunk is damage for now
        ts_reader_refresh(reader);
        s.size = next;
        assert_true(ts_reader_refresh(reader));
        assert_int_equal(ts_reader_damage_count(reader), 0);
        rows truth = rows_read(f.bytes, (size_t)next, false);
        rows all = rows_of(reader, NULL);
        all.rest = rows_rest(reader);
        assert_true(rows_same(&all, &truth));
        rows_close(&all);
        rows_close(&truth);
    }
    assert_true(ts_reader_info(reader)->finished);
    assert_false(ts_reader_refresh(reader));
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(without_a_length_a_trace_does_not_grow)
{
    forge f;
    sample_forge(&f);
    source s = { .bytes = f.bytes, .size = f.chunks[0] };
    const ts_reader_desc desc = source_desc(&s);
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    s.size = f.size;
    assert_false(ts_reader_refresh(reader));
    assert_int_equal(ts_reader_info(reader)->file_bytes, f.chunks[0]);
    ts_reader_close(reader);
    forge_close(&f);
}

UNIT_TEST(a_trace_beyond_four_gigabytes_is_read_by_ranges)
{
    far_trace far;
    far_open(&far);
    const ts_reader_desc desc = far_desc(&far);
    ts_reader *reader;
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    const ts_info *const info = ts_reader_info(reader);
    assert_true(info->indexed);
    assert_true(info->file_bytes > 2 * FAR_HOLE);
    assert_int_equal(info->counts[TS_EVENT_ZONE], 21);
    rows all = rows_of(reader, NULL);
    assert_int_equal(all.count, 21);
    assert_false(all.reported);
    assert_true(far.bytes_read < 2 * far.f.size);
    rows_close(&all);
    ts_reader_close(reader);
    far_close(&far);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
