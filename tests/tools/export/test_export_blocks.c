// What the exporters are built on: compressed blocks, maps, UTF-8.
#define _GNU_SOURCE
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include "tests/unit.h"
#include "tests/tools/export/export_read.h"
#include "tools/export/json.h"

/* ---- Packing ------------------------------------------------------------ */

enum { NOISE, ZEROS, WORDS, KINDS };

// What compresses not at all, to almost nothing, and as traces do.
static void fill(export_buffer *block, int kind)
{
    static const char *const words[] = { "matmul", "copy", "wait", "add_" };
    uint64_t x = 1;
    for (size_t i = 0; i < block->size; i++) {
        x = x * UINT64_C(6364136223846793005) + 1;
        block->data[i] = kind == NOISE   ? (uint8_t)(x >> 56)
                         : kind == ZEROS ? 0
                                         : (uint8_t)words[x >> 62][i % 4];
    }
}

UNIT_TEST(each_block_of_packets_is_a_zlib_stream)
{
    static const size_t sizes[] = { 1, 2, 19, 4096, EXPORT_BLOCK_BYTES * 2 };
    if (!export_packs) skip();
    export_packer *const packer = export_packer_open(EXPORT_PACKETS);
    assert_non_null(packer);
    export_buffer packed = { 0 };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes * KINDS; i++) {
        export_buffer block = { .size = sizes[i / KINDS] };
        block.data = export_resize(NULL, block.size);
        fill(&block, (int)(i % KINDS));
        packed.size = 0;
        assert_true(export_pack_packets(packer, &packed, &block));
        assert_true(packed.size < block.size + block.size / 1000 + 64);
        expected_text raw = { 0 };
        expected_add(&raw, "", 0);
        assert_true(read_inflate(&raw, packed.data, packed.size, READ_ZLIB));
        assert_int_equal(block.size, raw.size);
        assert_memory_equal(block.data, raw.text, raw.size);
        free(raw.text);
        export_resize(block.data, 0);
    }
    export_resize(packed.data, 0);
    export_packer_close(packer);
}

UNIT_TEST(blocks_become_one_gzip_file)
{
    enum { BLOCKS = 9 };
    if (!export_packs) skip();
    export_packer *const packer = export_packer_open(EXPORT_GZIP);
    assert_non_null(packer);
    export_buffer packed = { 0 }, all = { 0 };
    for (int i = 0; i < BLOCKS; i++) {
        export_buffer block = { .size = 100000 };
        block.data = export_resize(NULL, block.size);
        fill(&block, i % KINDS);
        export_pack_gzip(packer, &packed, &block, false);
        export_put(&all, block.data, block.size);
        export_resize(block.data, 0);
    }
    export_pack_gzip(packer, &packed, &(export_buffer){ 0 }, true);
    expected_text raw = { 0 };
    expected_add(&raw, "", 0);
    assert_true(read_inflate(&raw, packed.data, packed.size, READ_GZIP));
    assert_int_equal(all.size, raw.size);
    assert_memory_equal(all.data, raw.text, raw.size);
    free(raw.text);
    export_resize(packed.data, 0);
    export_resize(all.data, 0);
    export_packer_close(packer);
}

/* ---- Maps and texts ----------------------------------------------------- */

UNIT_TEST(a_map_forgets_what_is_removed_and_nothing_else)
{
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

UNIT_TEST(texts_become_utf8)
{
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

/* ---- JSON --------------------------------------------------------------- */

// What a byte becomes that is alone between letters.
static const char *escaped(int byte)
{
    static char text[8];
    if (byte == '"' || byte == '\\')
        snprintf(text, sizeof text, "\\%c", byte);
    else if (!byte || byte >= 0x80)
        strcpy(text, "\xEF\xBF\xBD");
    else if (byte < 0x20 || byte == 0x7F)
        snprintf(text, sizeof text, "\\u%04x", (unsigned)byte);
    else
        snprintf(text, sizeof text, "%c", byte);
    return text;
}

// Eight bytes are looked at together.
UNIT_TEST(each_byte_is_escaped_wherever_it_stands)
{
    enum { SIZE = 20 };
    export_buffer b = { 0 };
    for (int byte = 0; byte < 256; byte++)
        for (int at = 0; at < SIZE; at++) {
            char text[SIZE], wanted[2 * SIZE + 8];
            memset(text, '~', sizeof text);
            text[at] = (char)byte;
            snprintf(wanted, sizeof wanted, "%.*s%s%.*s", at,
                     "~~~~~~~~~~~~~~~~~~~~", escaped(byte), SIZE - 1 - at,
                     "~~~~~~~~~~~~~~~~~~~~");
            b.size = 0;
            export_json_escaped(&b, (ts_text){ text, SIZE });
            assert_int_equal(b.size, strlen(wanted));
            assert_memory_equal(b.data, wanted, b.size);
        }
    export_resize(b.data, 0);
}

UNIT_TEST(numbers_of_each_length_are_written)
{
    export_buffer b = { 0 };
    uint64_t power = 1;
    for (int digits = 1; digits <= 20; digits++, power *= 10)
        for (uint64_t number = power - 1; number <= power + 1; number++) {
            char wanted[24];
            snprintf(wanted, sizeof wanted, "%" PRIu64, number);
            b.size = 0;
            export_json_uint(&b, number);
            assert_int_equal(b.size, strlen(wanted));
            assert_memory_equal(b.data, wanted, b.size);
        }
    b.size = 0;
    export_json_uint(&b, UINT64_MAX);
    assert_memory_equal(b.data, "18446744073709551615", b.size);
    export_resize(b.data, 0);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
