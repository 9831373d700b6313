// Damaged, truncated and hostile traces: true events or a report, no crash.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_rows.h"
#include "tests/replay/reader/sbt_sample.h"

static forge sample;
static rows truth;

static int forge_once(void **state)
{
    sample_forge(&sample);
    truth = rows_read(sample.bytes, sample.size, false);
    return truth.reported;
}

static int forget(void **state)
{
    rows_close(&truth);
    forge_close(&sample);
    return 0;
}

// Events that were read must be right; if some are missing, the reader says so.
static void check_rows(const rows *all, const char *what, size_t offset)
{
    if (!rows_within(all, &truth, all->reported))
        fail_msg("%s at %zu: an event that was not in the trace", what, offset);
    if (!all->reported && !rows_same(all, &truth))
        fail_msg("%s at %zu: something is missing silently", what, offset);
}

UNIT_TEST(every_truncation_gives_true_events_and_is_reported)
{
    for (size_t size = 0; size < sample.size; size++) {
        uint8_t *const cut = malloc(size + 1); // exact, for the sanitizer
        memcpy(cut, sample.bytes, size);
        rows all = rows_read(cut, size, false);
        assert_true(all.reported);
        check_rows(&all, "cut", size);
        if (size < 64) assert_int_equal(all.opened, TS_ERR_TRUNCATED);
        if (size >= 64) assert_int_equal(all.opened, TS_OK);
        rows_close(&all);
        free(cut);
    }
}

UNIT_TEST(every_flipped_byte_gives_true_events_or_is_reported)
{
    for (size_t i = 0; i < sample.size; i++) {
        const uint8_t bit = (uint8_t)(1 << i % 8);
        for (int no_index = 0; no_index < 2; no_index++) {
            sample.bytes[i] ^= no_index ? 0xFF : bit;
            rows all = rows_read(sample.bytes, sample.size, no_index);
            check_rows(&all, "flip", i);
            assert_true(all.reported);
            rows_close(&all);
            sample.bytes[i] ^= no_index ? 0xFF : bit;
        }
    }
}

UNIT_TEST(every_chunk_can_be_lost_and_only_it_is)
{
    for (size_t i = 0; i < sample.chunk_count; i++) {
        uint8_t *const chunk = sample.bytes + sample.chunks[i];
        chunk[0] ^= 1;
        rows all = rows_read(sample.bytes, sample.size, true);
        chunk[0] ^= 1;
        const bool events = chunk[4] == FORGE_EVENTS;
        const size_t lost = events ? (size_t)forge_get(chunk + 16, 4) : 0;
        assert_int_equal(all.count, truth.count - lost);
        assert_true(all.reported);
        rows_close(&all);
    }
}

UNIT_TEST(a_missing_chunk_is_noticed_by_the_sequence)
{
    for (size_t i = 0; i + 1 < sample.chunk_count; i++) {
        const size_t from = sample.chunks[i];
        const size_t stored = (size_t)forge_get(sample.bytes + from + 40, 4);
        const size_t to = from + 64 + (stored + 7) / 8 * 8;
        const size_t size = sample.size - (to - from);
        uint8_t *const bytes = malloc(size);
        memcpy(bytes, sample.bytes, from);
        memcpy(bytes + from, sample.bytes + to, sample.size - to);
        rows all = rows_read(bytes, size, false);
        assert_true(all.reported);
        check_rows(&all, "without", from);
        rows_close(&all);
        free(bytes);
    }
}

UNIT_TEST(a_chunk_that_stands_twice_is_read_once)
{
    forge f;
    forge_open(&f, 1000);
    sample_zones(&f, 2);
    const size_t size = f.size - 64;
    uint8_t copy[512];
    assert_true(size <= sizeof copy);
    memcpy(copy, f.bytes + 64, size);
    sample_zones(&f, 3);
    forge_add(&f.file, copy, size);
    forge_show(&f);
    forge_end_chunk(&f);
    rows all = rows_read(f.bytes, f.size, false);
    assert_int_equal(all.count, 14);
    assert_true(all.reported);
    rows_close(&all);
    forge_close(&f);
}

static ts_reader *open_bytes(const uint8_t *bytes, size_t size)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = bytes, .size = size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    return reader;
}

UNIT_TEST(damage_tells_where_and_how_much)
{
    const size_t at = sample.chunks[12], next = sample.chunks[13];
    ts_damage damage;
    sample.bytes[at + 70] ^= 1;
    ts_reader *reader = open_bytes(sample.bytes, sample.size);
    ts_columns columns = { 0 };
    assert_int_equal(ts_reader_damage_count(reader), 0); // not looked at yet
    for (int i = 0; i < 2; i++)
        assert_int_equal(ts_reader_decode(reader, 12, &columns),
                         TS_ERR_CORRUPT);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.offset, at);
    assert_int_equal(damage.size, next - at);
    assert_int_equal(damage.result, TS_ERR_CORRUPT);
    assert_string_equal(damage.text, "the chunk's checksum is wrong");
    assert_int_equal(ts_reader_verify(reader), TS_ERR_CORRUPT);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    ts_columns_close(reader, &columns);
    ts_reader_close(reader);
    sample.bytes[at + 70] ^= 1;

    reader = open_bytes(sample.bytes, at + 100);
    assert_int_equal(ts_reader_damage_count(reader), 1);
    assert_true(ts_reader_damage(reader, 0, &damage));
    assert_int_equal(damage.result, TS_ERR_TRUNCATED);
    assert_int_equal(damage.offset, at);
    assert_int_equal(damage.size, 100);
    ts_reader_close(reader);
}

UNIT_TEST(a_damaged_file_header_costs_nothing)
{
    for (size_t i = 8; i < 64; i++) {
        sample.bytes[i] ^= 0x55;
        rows all = rows_read(sample.bytes, sample.size, false);
        assert_int_equal(all.opened, TS_OK);
        assert_true(all.reported);
        all.reported = false;
        check_rows(&all, "header", i);
        rows_close(&all);
        ts_reader *const reader = open_bytes(sample.bytes, sample.size);
        const ts_info *const info = ts_reader_info(reader);
        assert_memory_equal(info->session, sample.session, 4);
        assert_int_equal(info->process, 101);
        assert_int_equal(info->start_realtime_ns,
                         UINT64_C(1700000000000000000));
        ts_reader_close(reader);
        sample.bytes[i] ^= 0x55;
    }
}

static ts_result open_result(const uint8_t *bytes, size_t size)
{
    ts_reader *reader;
    const ts_reader_desc desc = { .bytes = bytes, .size = size };
    const ts_result result = ts_reader_open(&reader, &desc);
    ts_reader_close(reader);
    return result;
}

UNIT_TEST(what_is_no_trace_is_refused)
{
    forge f;
    forge_open(&f, 1);
    assert_int_equal(open_result(f.bytes, 64), TS_OK);
    f.bytes[8] = 2;
    forge_seal_header(f.bytes);
    assert_int_equal(open_result(f.bytes, 64), TS_ERR_VERSION);
    f.bytes[8] = 1;
    f.bytes[10] = 9; // every minor version is read
    forge_seal_header(f.bytes);
    assert_int_equal(open_result(f.bytes, 64), TS_OK);
    f.bytes[12] = 1; // reserved
    forge_seal_header(f.bytes);
    assert_int_equal(open_result(f.bytes, 64), TS_ERR_VERSION);
    assert_int_equal(open_result((const uint8_t *)"hello", 5), TS_ERR_NOT_SBT);
    assert_int_equal(open_result((const uint8_t *)"SBT1", 4), TS_ERR_TRUNCATED);
    assert_int_equal(open_result((const uint8_t *)"", 0), TS_ERR_TRUNCATED);
    ts_reader *reader;
    const ts_reader_desc nothing = { 0 };
    const ts_reader_desc folder = { .path = "." };
    const ts_reader_desc absent = { .path = "no such file" };
    assert_int_equal(ts_reader_open(&reader, &nothing), TS_ERR_USAGE);
    assert_int_equal(ts_reader_open(&reader, &folder), TS_ERR_NOT_FILE);
    assert_int_equal(ts_reader_open(&reader, &absent), TS_ERR_IO);
    assert_null(reader);
    forge_close(&f);
}

// Garbage between chunks, of any length, costs no chunk.
UNIT_TEST(garbage_between_chunks_is_skipped)
{
    for (size_t size = 1; size < 200; size += 13) {
        forge f;
        uint8_t garbage[200];
        for (size_t i = 0; i < sizeof garbage; i++)
            garbage[i] = (uint8_t)(i * 7);
        memcpy(garbage, "SBTC", 4); // the start of a chunk, as it seems
        forge_open(&f, 1000);
        sample_zones(&f, 2);
        const size_t at = f.size;
        forge_add(&f.file, garbage, size);
        forge_pad(&f.file);
        sample_zones(&f, 3);
        forge_end_chunk(&f);
        rows all = rows_read(f.bytes, f.size, false);
        assert_int_equal(all.count, 14);
        ts_reader *const reader = open_bytes(f.bytes, f.size);
        ts_damage damage;
        assert_int_equal(ts_reader_damage_count(reader), 1);
        assert_true(ts_reader_damage(reader, 0, &damage));
        assert_int_equal(damage.offset, at);
        assert_int_equal(damage.size, (size + 7) / 8 * 8);
        ts_reader_close(reader);
        rows_close(&all);
        forge_close(&f);
    }
}

// Headers every 64 bytes, each of which claims the rest of the file: hashing
// all of these claims would take minutes.
UNIT_TEST(a_file_of_false_headers_is_given_up_in_time)
{
    enum { SIZE = 16 << 20 };
    uint8_t *const bytes = calloc(1, SIZE);
    memcpy(bytes, sample.bytes, 64);
    for (size_t at = 64; at < SIZE; at += 64) {
        uint8_t *const header = bytes + at;
        const size_t left = SIZE - at - 64;
        forge_set(header, 0x43544253, 4);
        header[4] = FORGE_BLOB;
        memcpy(header + 8, sample.session, 4);
        forge_set(header + 40, left, 4);
        forge_set(header + 44, left, 4);
        forge_set(header + 48, at, 4);
    }
    rows all = rows_read(bytes, SIZE, false);
    assert_int_equal(all.opened, TS_OK);
    assert_int_equal(all.count, 0);
    assert_true(all.reported);
    rows_close(&all);
    free(bytes);
}

// Changes one byte of every chunk and makes the checksums right again: the
// reader sees rules broken behind valid checksums. It must not crash, and
// what it shows is read to the end.
UNIT_TEST(wrong_contents_with_right_checksums_are_survived)
{
    uint8_t *const bytes = malloc(sample.size);
    for (size_t i = 0; i < sample.chunk_count; i++) {
        const size_t from = sample.chunks[i];
        const size_t to = from + 64 + forge_get(sample.bytes + from + 40, 4);
        for (size_t at = from + 4; at < to; at++) {
            if (at - from >= 40 && at - from < 44) continue; // stored_size
            memcpy(bytes, sample.bytes, sample.size);
            bytes[at] = (uint8_t)(at % 3 ? 0xFF : bytes[at] + 1);
            forge_seal(bytes, from);
            rows all = rows_read(bytes, sample.size, true);
            assert_true(all.count <= truth.count + 1000);
            rows_close(&all);
        }
    }
    free(bytes);
}

// Opened by the top of its index.
static void check_lazy(const forge *f, size_t size, const rows *whole)
{
    const ts_reader_desc desc = {
        .bytes = f->bytes, .size = size, .threads = 1, .lazy = true
    };
    rows all = rows_of_desc(&desc);
    if (all.opened != TS_OK) return;
    assert_true(rows_within(&all, whole, all.reported));
    assert_true(all.reported || rows_same(&all, whole));
    rows_close(&all);
}

UNIT_TEST(a_broken_trace_that_is_opened_by_its_top_gives_true_events)
{
    forge f;
    sample_forge_with(&f, true);
    rows whole = rows_read(f.bytes, f.size, false);
    assert_false(whole.reported);
    check_lazy(&f, f.size, &whole);
    for (size_t i = 0; i < f.size; i++) {
        f.bytes[i] ^= (uint8_t)(1 << i % 8);
        check_lazy(&f, f.size, &whole);
        f.bytes[i] ^= (uint8_t)(1 << i % 8);
        check_lazy(&f, i, &whole);
    }
    rows_close(&whole);
    forge_close(&f);
}

int main(void)
{
    return unit_run(forge_once, forget);
}
