// What the exporters are built on: compressed blocks, maps, UTF-8.
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include "tests/tools/export/export_read.h"
#include "tools/export/export.h"

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

static void each_block_of_packets_is_a_zlib_stream(void **state)
{
    (void)state;
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

static void blocks_become_one_gzip_file(void **state)
{
    (void)state;
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
        cmocka_unit_test(each_block_of_packets_is_a_zlib_stream),
        cmocka_unit_test(blocks_become_one_gzip_file),
        cmocka_unit_test(a_map_forgets_what_is_removed_and_nothing_else),
        cmocka_unit_test(texts_become_utf8),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
