// What the exporters are built on: deflate and its checksums, maps, UTF-8.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/export_read.h"
#include "tools/export/export.h"

/* ---- Deflate ------------------------------------------------------------ */

static void check_deflate_with(uint8_t *bytes, size_t size, export_copy *copies,
                               size_t count)
{
    const export_block block = { { bytes, size, size }, copies, count, count };
    uint8_t *const packed = malloc(export_deflate_bound(size));
    void *const scratch = malloc(export_deflate_scratch);
    assert_non_null(packed);
    assert_non_null(scratch);
    memset(scratch, 0xA5, export_deflate_scratch);
    const size_t packed_size = export_deflate(scratch, packed, &block, true);
    assert_true(packed_size <= export_deflate_bound(size));
    want_text raw = { 0 };
    want_add(&raw, "", 0);
    assert_int_equal(packed_size, read_inflate(&raw, packed, packed_size));
    assert_int_equal(size, raw.size);
    if (size) assert_memory_equal(bytes, raw.text, size);
    free(raw.text);
    free(scratch);
    free(packed);
}

static void check_deflate(uint8_t *bytes, size_t size)
{
    check_deflate_with(bytes, size, NULL, 0);
}

static void known_copies_are_used_where_deflate_can(void **state)
{
    (void)state;
    enum { SIZE = 150000, COPIES = 1000 };
    uint8_t *const bytes = malloc(SIZE);
    export_copy *const copies = malloc(COPIES * sizeof *copies);
    assert_non_null(bytes);
    assert_non_null(copies);
    uint64_t x = 3;
    for (size_t i = 0; i < SIZE; i++)
        x = x * UINT64_C(6364136223846793005) + 1,
        bytes[i] = (uint8_t)(x >> 56);
    // Of 1 to 400 bytes, from near and too far, some of them touching.
    uint32_t at = 500, count = 0;
    while (count < COPIES && at + 400 < SIZE) {
        x = x * UINT64_C(6364136223846793005) + 1;
        const uint32_t size = 1 + (uint32_t)(x >> 40) % 400;
        const uint32_t from = (uint32_t)(x >> 33) % (at - size % at);
        for (uint32_t i = 0; i < size; i++)
            bytes[at + i] = bytes[from + i];
        copies[count++] = (export_copy){ at, from, size };
        at += size + (uint32_t)(x >> 60) % 3 * 20;
    }
    check_deflate_with(bytes, SIZE, copies, count);
    free(copies);
    free(bytes);
}

static void what_is_deflated_can_be_inflated(void **state)
{
    (void)state;
    enum { SIZE = 200000 };
    uint8_t *const bytes = malloc(SIZE);
    assert_non_null(bytes);
    uint64_t x = 1;
    for (size_t i = 0; i < SIZE; i++) // noise
        x = x * UINT64_C(6364136223846793005) + 1,
        bytes[i] = (uint8_t)(x >> 56);
    check_deflate(bytes, SIZE);
    for (size_t size = 0; size < 20; size++)
        check_deflate(bytes, size);
    for (size_t i = 0; i < SIZE; i++) // rare bytes get codes of 15 bits
        bytes[i] = (uint8_t)(__builtin_ctzll(i + 1) * 7);
    check_deflate(bytes, SIZE);
    for (size_t i = 0; i < SIZE; i++) // matches, near and far
        bytes[i] = (uint8_t)(i % 1000 < 500 ? i / 40000 : bytes[i / 7]);
    check_deflate(bytes, SIZE);
    memset(bytes, 0, SIZE);
    check_deflate(bytes, SIZE);
    free(bytes);
}

static void checksums_are_those_of_the_standards(void **state)
{
    (void)state;
    const uint8_t text[] = "123456789";
    assert_int_equal(0xCBF43926, export_crc32(0, text, 9));
    assert_int_equal(0x091E01DE, export_adler32(text, 9));
}

/* ---- Maps and texts ----------------------------------------------------- */

static void a_map_forgets_what_is_removed_and_nothing_else(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    export_map map = { 0 };
    for (uint64_t i = 0; i < COUNT; i++)
        *export_map_at(&map, i * i) = i;
    for (uint64_t i = 0; i < COUNT; i += 3)
        assert_true(export_map_remove(&map, i * i));
    assert_false(export_map_remove(&map, 0));
    for (uint64_t i = 0; i < COUNT; i++) {
        const uint64_t *const value = export_map_find(&map, i * i);
        assert_true((value != NULL) == (i % 3 != 0));
        if (value) assert_int_equal(i, *value);
    }
    export_map_free(&map);
}

static void texts_become_utf8(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to;
        size_t size;
    } cases[] = { { "plain", "plain", 5 },
                  { "\xC3\xA4\xF0\x9F\x8E\x89", "\xC3\xA4\xF0\x9F\x8E\x89", 6 },
                  { "a\0b",
                    "a\xEF\xBF\xBD"
                    "b",
                    3 },
                  { "\xC0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD", 2 },
                  { "\xE2\x82", "\xEF\xBF\xBD\xEF\xBF\xBD", 2 },
                  { "\xED\xA0\x80", "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 3 },
                  { "\xF4\x90\x80\x80",
                    "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD", 4 } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        export_buffer b = { 0 };
        export_put_utf8(&b, cases[i].from, cases[i].size);
        assert_int_equal(strlen(cases[i].to), b.size);
        assert_memory_equal(cases[i].to, b.data, b.size);
        export_resize(b.data, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_deflated_can_be_inflated),
        cmocka_unit_test(known_copies_are_used_where_deflate_can),
        cmocka_unit_test(checksums_are_those_of_the_standards),
        cmocka_unit_test(a_map_forgets_what_is_removed_and_nothing_else),
        cmocka_unit_test(texts_become_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
