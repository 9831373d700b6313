/*
    test_reader_errors.c - what must be refused, and how

    Each case forges a trace that breaks one rule of docs/sbt-format.md. It is
    kept as tests/golden-errors/NAME.sbt, with what the reader says about it
    in NAME.txt. UPDATE=1 in the environment rewrites both.
*/
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include "tests/unit.h"

#include "tests/replay/reader/sbt_forge_events.h"
#include "tracesmith_replay.h"

// A mark before and one after what is wrong: both must be found.
static void mark(forge *f, uint64_t tick)
{
    forge_events(f, 4, 2, 1, tick, tick);
    forge_column(f, 1, FORGE_PACK, FORGE_PLAIN, &tick);
    forge_events_end(f);
}

static size_t header_end; // where the wrong thing stands

static void begin(forge *f)
{
    forge_open(f, 1000);
    forge_sample(f, 0, 3, 1000, 0, 0);
    mark(f, 1010);
    header_end = f->size;
}

static void finish(forge *f)
{
    mark(f, 1020);
    forge_end_chunk(f);
}

// Changes a field of the wrong chunk's header.
static void field(forge *f, size_t at, uint64_t value, size_t size, bool seal)
{
    forge_set(f->bytes + header_end + at, value, size);
    if (seal) forge_seal(f->bytes, header_end);
}

static void names(forge *f)
{
    forge_name(f, 1, "name");
}

// A chunk of events with one column of given bytes.
static void column(forge *f, uint8_t id, uint8_t encoding, uint8_t transform,
                   uint8_t width, const char *bytes, size_t size)
{
    forge_bytes data = { NULL, 0, 0 };
    const uint64_t starts[] = { 1015, 1016 };
    forge_add(&data, bytes, size);
    forge_events(f, 4, 2, 2, 1015, 1016);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_column_raw(f, id, encoding, transform, width, 0, &data);
    forge_events_end(f);
    free(data.bytes);
}

// Takes the payload of the wrong chunk away.
static void cut(forge *f)
{
    f->file.size = header_end + 64;
}

// A site whose number would be 0 if it were cut off at 32 bits.
static void wide(forge *f)
{
    const uint64_t starts[] = { 1015, 1016 }, sites[] = { 1, 1ull << 32 };
    forge_events(f, 4, 2, 2, 1015, 1016);
    forge_column(f, 1, FORGE_PACK, FORGE_DELTA, starts);
    forge_column(f, 3, FORGE_PACK, FORGE_PLAIN, sites);
    forge_events_end(f);
}

static void entries(forge *f, uint8_t kind, uint32_t count, const char *bytes,
                    size_t size)
{
    forge_begin(f, kind);
    f->next.count = count;
    forge_add(&f->payload, bytes, size);
    forge_end(f);
}

static void zone(forge *f, uint64_t nest, uint64_t lead, uint64_t last)
{
    const uint64_t tail = 1;
    forge_events(f, 1, 2, 1, 1015, last);
    forge_column(f, 4, FORGE_PACK, FORGE_PLAIN, &nest);
    forge_column(f, 5, FORGE_PACK, FORGE_PLAIN, &lead);
    forge_column(f, 6, FORGE_PACK, FORGE_PLAIN, &tail);
    forge_events_end(f);
}

static const char zeros[64];
#define CASES(X) \
    X(chunk_magic, (names(f), field(f, 0, 0, 1, false))) \
    X(chunk_checksum, (names(f), field(f, 64, 9, 1, false))) \
    X(chunk_session, (names(f), field(f, 8, 7, 4, true))) \
    X(chunk_reserved_flag, (names(f), field(f, 6, 2, 2, true))) \
    X(chunk_reserved_field, (names(f), field(f, 52, 1, 4, true))) \
    X(chunk_count, (names(f), field(f, 16, 1 << 24 | 1, 4, true))) \
    X(chunk_two_sizes, (names(f), field(f, 44, 13, 4, true))) \
    X(chunk_too_large, (names(f), field(f, 40, UINT64_MAX, 8, false))) \
    X(chunk_size_wrong, (names(f), field(f, 40, 4096, 4, false))) \
    X(chunk_padding, (names(f), field(f, 64 + 13, 1, 1, false))) \
    X(chunk_backwards, (mark(f, 1015), field(f, 24, 1016, 8, true))) \
    X(chunk_not_zstd, (names(f), field(f, 6, 1, 2, true))) \
    X(sequence_gap, (names(f), field(f, 48, 9, 4, true), f->sequence = 10)) \
    X(sequence_back, (names(f), field(f, 48, 0, 4, true))) \
    X(garbage, forge_add(&f->file, "SBTC garbage....", 16)) \
    X(end_in_the_middle, forge_end_chunk(f)) \
    X(end_not_empty, entries(f, 33, 0, zeros, 8)) \
    X(index_too_short, entries(f, 32, 1, zeros, 16)) \
    X(entry_missing, entries(f, 1, 2, "\1\0\0\0\1\0\0\0x", 9)) \
    X(entry_too_long, entries(f, 1, 1, "\1\0\0\0\2\0\0\0x", 9)) \
    X(entry_too_short, entries(f, 2, 1, "\1\0\0\0\1\0\0\0x", 9)) \
    X(entry_left_over, entries(f, 1, 1, "\1\0\0\0\0\0\0\0x", 9)) \
    X(entry_zero, entries(f, 1, 1, "\0\0\0\0\1\0\0\0x", 9)) \
    X(stack_half_frame, entries(f, 6, 1, "\1\0\0\0\1\0\0\0x", 9)) \
    X(clock_backwards, forge_sample(f, 0, 3, 900, 5, 0)) \
    X(blob_no_hash, entries(f, 17, 0, zeros, 8)) \
    X(blob_wrong_hash, entries(f, 17, 0, "0123456789abcdef", 16)) \
    X(columns_missing, (mark(f, 1015), field(f, 40, 0, 8, true), cut(f))) \
    X(column_twice, column(f, 1, FORGE_CONSTANT, 0, 0, "", 0)) \
    X(column_encoding, column(f, 3, 4, 0, 0, "", 0)) \
    X(column_transform, column(f, 3, FORGE_CONSTANT, 5, 0, "", 0)) \
    X(column_gap, column(f, 3, FORGE_CONSTANT, 2, 0, "", 0)) \
    X(column_queued, column(f, 22, FORGE_CONSTANT, 3, 0, "", 0)) \
    X(column_issued, column(f, 23, FORGE_CONSTANT, 4, 0, "", 0)) \
    X(column_odd_size, column(f, 99, 0, 0, 0, "abc", 3)) \
    X(constant_with_data, column(f, 3, FORGE_CONSTANT, 0, 0, zeros, 8)) \
    X(pack_width, column(f, 3, FORGE_PACK, 0, 0, "\x41\0\0\0\0\0\0", 8)) \
    X(pack_too_short, column(f, 3, FORGE_PACK, 0, 0, "\x21\0\0\0\0\0\0", 8)) \
    X(pack_too_long, column(f, 3, FORGE_PACK, 0, 0, zeros, 16)) \
    X(planes_width, column(f, 3, FORGE_PLANES, 0, 9, zeros, 24)) \
    X(planes_size, column(f, 3, FORGE_PLANES, 0, 5, zeros, 8)) \
    X(text_as_number, column(f, 3, FORGE_TEXT, 0, 0, zeros, 8)) \
    X(number_as_text, column(f, 12, FORGE_PLANES, 0, 1, zeros, 8)) \
    X(text_too_short, column(f, 12, FORGE_TEXT, 0, 0, "", 0)) \
    X(text_too_long, column(f, 12, FORGE_TEXT, 0, 0, "\xff\0\0\0\0\0\0\0", 8)) \
    X(identifier_wide, wide(f)) \
    X(event_outside, (mark(f, 1015), field(f, 24, 1016, 8, false), \
                      field(f, 32, 1016, 8, true))) \
    X(zone_around_nothing, zone(f, 2, 0, 1016)) \
    X(zone_too_late, zone(f, 0, 1, 1016)) \
    X(zone_too_early, zone(f, 1, 1, 1016))

#define X(name, wrong) \
    static void forge_##name(forge *f) \
    { \
        begin(f); \
        wrong; \
        finish(f); \
    }
CASES(X)
#undef X

static void forge_header_checksum(forge *f)
{
    begin(f);
    finish(f);
    f->bytes[33] ^= 1;
}

static void forge_header_version(forge *f)
{
    begin(f);
    f->bytes[8] = 2;
    forge_seal_header(f->bytes);
}

static void forge_header_flags(forge *f)
{
    begin(f);
    f->bytes[12] = 1;
    forge_seal_header(f->bytes);
}

static void forge_header_magic(forge *f)
{
    begin(f);
    f->bytes[3] = '2';
}

static void forge_header_short(forge *f)
{
    forge_open(f, 1000);
    f->size = 40;
}

static void forge_truncated(forge *f)
{
    begin(f);
    finish(f);
    f->size -= 64 + 20;
}

static void forge_too_many_columns(forge *f)
{
    begin(f);
    column(f, 3, FORGE_CONSTANT, 0, 0, "", 0);
    field(f, 64, 65, 4, true);
    finish(f);
}

// 2^24 rows of 30 columns in a few hundred bytes: 5 GB when decoded.
static void forge_decodes_to_gigabytes(forge *f)
{
    const forge_bytes nothing = { NULL, 0, 0 };
    begin(f);
    forge_events(f, 4, 2, 1 << 24, 0, 1);
    for (uint8_t id = 8; id < 35; id++)
        if (id != 12) forge_column_raw(f, id, 0, 0, 0, 1, &nothing);
    forge_events_end(f);
    finish(f);
}

typedef struct error_case {
    const char *name;
    void (*forge)(forge *f);
} error_case;

static const error_case cases[] = {
#define X(name, wrong) { #name, forge_##name },
    CASES(X)
#undef X
        { "header_checksum", forge_header_checksum },
    { "header_version", forge_header_version },
    { "header_flags", forge_header_flags },
    { "header_magic", forge_header_magic },
    { "header_short", forge_header_short },
    { "truncated", forge_truncated },
    { "too_many_columns", forge_too_many_columns },
    { "decodes_to_gigabytes", forge_decodes_to_gigabytes },
};

static size_t count_events(ts_reader *reader)
{
    ts_cursor *cursor;
    ts_event event;
    size_t count = 0;
    assert_int_equal(ts_cursor_open(&cursor, reader, NULL), TS_OK);
    while (ts_cursor_next(cursor, &event))
        count++;
    ts_cursor_close(cursor);
    return count;
}

// What the reader says about bytes, in words.
static void describe(const uint8_t *bytes, size_t size, char *out, size_t room)
{
    ts_reader *reader;
    ts_damage damage;
    const ts_reader_desc desc = { .bytes = bytes, .size = size };
    const ts_result opened = ts_reader_open(&reader, &desc);
    size_t at =
        (size_t)snprintf(out, room, "open: %s\n", ts_result_text(opened));
    if (opened != TS_OK) return;
    const ts_result verified = ts_reader_verify(reader);
    at += (size_t)snprintf(
        out + at, room - at, "verify: %s\nfinished: %s\nevents: %zu\n",
        ts_result_text(verified),
        ts_reader_info(reader)->finished ? "yes" : "no", count_events(reader));
    for (size_t i = 0; ts_reader_damage(reader, i, &damage); i++)
        at += (size_t)snprintf(out + at, room - at,
                               "byte %" PRIu64 ", %" PRIu64 " bytes: %s\n",
                               damage.offset, damage.size, damage.text);
    ts_reader_close(reader);
}

static size_t load(const char *path, void *to, size_t room)
{
    FILE *const file = fopen(path, "rb");
    if (!file) fail_msg("%s is missing: run with UPDATE=1", path);
    const size_t size = fread(to, 1, room, file);
    fclose(file);
    return size;
}

static void save(const char *path, const void *bytes, size_t size)
{
    FILE *const file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

UNIT_TEST(every_broken_rule_is_refused_as_it_always_was)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char trace[96], words[96], text[4096], wanted[4096];
        static uint8_t bytes[1 << 16];
        forge f;
#ifndef TRACESMITH_ZSTD // such a build says something else
        if (strcmp(cases[i].name, "chunk_not_zstd") == 0) continue;
#endif
        cases[i].forge(&f);
        snprintf(trace, sizeof trace, "tests/golden-errors/%s.sbt",
                 cases[i].name);
        snprintf(words, sizeof words, "tests/golden-errors/%s.txt",
                 cases[i].name);
        describe(f.bytes, f.size, text, sizeof text);
        if (getenv("UPDATE")) save(trace, f.bytes, f.size);
        if (getenv("UPDATE")) save(words, text, strlen(text));
        assert_int_equal(load(trace, bytes, sizeof bytes), f.size);
        assert_memory_equal(bytes, f.bytes, f.size);
        wanted[load(words, wanted, sizeof wanted - 1)] = 0;
        if (strcmp(text, wanted) != 0)
            fail_msg("%s:\n%s\ninstead of\n%s", cases[i].name, text, wanted);
        forge_close(&f);
    }
}

// Ids of a later version fill a chunk up to what it may have.
UNIT_TEST(as_many_columns_as_may_be_are_read)
{
    const forge_bytes nothing = { NULL, 0, 0 };
    const uint64_t starts[] = { 1015, 1016 };
    forge f;
    begin(&f);
    forge_events(&f, 4, 2, 2, 1015, 1016);
    forge_column(&f, 1, FORGE_PACK, FORGE_DELTA, starts);
    for (int id = 1; id < TS_COLUMNS_MAX; id++)
        forge_column_raw(&f, (uint8_t)(180 + id), FORGE_CONSTANT, 0, 0, 0,
                         &nothing);
    forge_events_end(&f);
    finish(&f);
    ts_reader *reader;
    ts_damage damage;
    const ts_reader_desc desc = { .bytes = f.bytes, .size = f.size };
    assert_int_equal(ts_reader_open(&reader, &desc), TS_OK);
    assert_int_equal(count_events(reader), 4);
    assert_false(ts_reader_damage(reader, 0, &damage));
    ts_reader_close(reader);
    forge_close(&f);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
