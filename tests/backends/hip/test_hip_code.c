// Kernels of code objects for AMD's devices, and bundles of such objects.
#define _GNU_SOURCE
#include "backends/hip/bundle.h"
#include "backends/hip/code.h"
#include "tests/doubles/double_file.h"
#include "tests/record/record_fixture.h"
#include <sys/mman.h>
#ifdef TRACESMITH_ZLIB
#include <zlib.h>
#endif
#ifdef TRACESMITH_ZSTD
#include <zstd.h>
#endif

static uint8_t *object; // libhsaco.so
static uint64_t object_size;

static int start(void **user)
{
    object = double_read("libhsaco.so", &object_size);
    return object ? 0 : -1;
}

static int finish(void **user)
{
    free(object);
    return 0;
}

UNIT_TEST(a_note_tells_where_arguments_lie)
{
    static ts__amd_kernel k;
    assert_true(ts__amd_kernel_read(&k, object, object_size, "biased"));
    assert_int_equal(k.count, 3); // a fourth one is hidden
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(k.parameters[i][0], 8 * i);
        assert_int_equal(k.parameters[i][1], i < 2 ? 8 : 4);
        assert_int_equal(k.pointers[i], i < 2);
    }
    assert_true(ts__amd_kernel_read(&k, object, object_size, "packed"));
    assert_int_equal(k.parameters[0][1], 13);
    assert_true(ts__amd_kernel_read(&k, object, object_size, "nothing"));
    assert_int_equal(k.count, 0);
    assert_false(ts__amd_kernel_read(&k, object, object_size, "bias"));
    assert_true(ts__amd_has_kernel(object, object_size, "add"));
    assert_false(ts__amd_has_kernel(object, object_size, "add.kd"));
}

UNIT_TEST(what_is_no_list_of_kernels_has_none)
{
    static const char list[] = "\x81\xAE"
                               "amdhsa.kernels\x91\x81\xA5.name\xA1k";
    static const char number[] = "\x81\xAE"
                                 "amdhsa.kernels\x01\x81\xA5.name\xA1k";
    ts__mp kernel,
        p = { (const uint8_t *)list, (const uint8_t *)list + sizeof list - 1 };
    assert_true(ts__amd_kernel_at(p, "k", &kernel));
    assert_false(ts__amd_kernel_at(p, "other", &kernel));
    p.at = (const uint8_t *)number;
    p.end = p.at + sizeof number - 1;
    assert_false(ts__amd_kernel_at(p, "k", &kernel));
}

// Each copy has its exact size, so that reading beyond it is detected.
UNIT_TEST(what_is_cut_short_or_changed_is_no_code_but_no_harm)
{
    static ts__amd_kernel k;
    ts__mp metadata;
    assert_true(ts__amd_metadata(object, object_size, &metadata));
    const uint64_t size = (uint64_t)(metadata.end - metadata.at);
    for (uint64_t cut = 0; cut < size; cut++) {
        uint8_t *const copy = malloc(cut + 1);
        ts__mp p = { copy, copy + cut }, kernel;
        memcpy(copy, metadata.at, cut);
        assert_false(ts__mp_skip(&p));
        p.at = copy;
        ts__amd_kernel_at(p, "nothing", &kernel);
        free(copy);
    }
    uint8_t *const copy = malloc(object_size);
    for (uint64_t at = 0; at < size; at++) {
        memcpy(copy, object, object_size);
        copy[(uint64_t)(metadata.at - object) + at] ^= 0xFF;
        ts__amd_kernel_read(&k, copy, object_size, "through");
        assert_in_range(k.count, 0, TS__AMD_PARAMETERS);
    }
    for (uint64_t cut = 0; cut < object_size; cut += 61)
        ts__amd_has_kernel(object, cut, "add");
    free(copy);
}

// An item of each kind, then the one that is looked for.
UNIT_TEST(items_of_all_kinds_are_passed)
{
    static const struct {
        const char *bytes;
        size_t size;
    } items[] = {
#define ITEM(text) { text, sizeof(text) - 1 }
        ITEM("\xC0"),
        ITEM("\xC3"),
        ITEM("\xC4\001x"),
        ITEM("\xC5\000\001x"),
        ITEM("\xC6\000\000\000\001x"),
        ITEM("\xC7\001tx"),
        ITEM("\xC8\000\001tx"),
        ITEM("\xC9\000\000\000\001tx"),
        ITEM("\xCA"
             "1234"),
        ITEM("\xCB"
             "12345678"),
        ITEM("\xCC"
             "1"),
        ITEM("\xCD"
             "12"),
        ITEM("\xCE"
             "1234"),
        ITEM("\xCF"
             "12345678"),
        ITEM("\xD0"
             "1"),
        ITEM("\xD1"
             "12"),
        ITEM("\xD2"
             "1234"),
        ITEM("\xD3"
             "12345678"),
        ITEM("\xD4t1"),
        ITEM("\xD5t12"),
        ITEM("\xD6t1234"),
        ITEM("\xD7t12345678"),
        ITEM("\xD8t1234567812345678"),
        ITEM("\xD9\001x"),
        ITEM("\xDA\000\001x"),
        ITEM("\xDB\000\000\000\001x"),
        ITEM("\xDC\000\002\001\002"),
        ITEM("\xDD\000\000\000\001\001"),
        ITEM("\xDE\000\001\001\002"),
        ITEM("\xDF\000\000\000\001\001\002"),
        ITEM("\xE0"),
        ITEM("\x92\x81\001\002\xA1x"),
#undef ITEM
    };
    for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
        uint8_t bytes[64] = "\x82\xA1k";
        size_t size = 3;
        ts__mp_item found = { TS__MP_OTHER, 0, NULL };
        memcpy(bytes + size, items[i].bytes, items[i].size);
        size += items[i].size;
        memcpy(bytes + size, "\xA4want\xCD\001\002", 8);
        size += 8;
        const ts__mp p = { bytes, bytes + size };
        assert_true(ts__mp_find_item(p, "want", TS__MP_NUMBER, &found));
        assert_int_equal(found.value, 0x102);
        assert_false(ts__mp_find_item(p, "want", TS__MP_TEXT, &found));
        const ts__mp shorter = { bytes, bytes + size - 1 };
        assert_false(ts__mp_find_item(shorter, "want", TS__MP_NUMBER, &found));
    }
}

// A bundle of two entries, whose contents are 16 bytes each.
static size_t bundle(uint8_t *to, const char *first, const char *second)
{
    const char *const names[2] = { first, second };
    uint64_t count = 2, at = 32;
    memcpy(to, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(to + 24, &count, 8);
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t entry[3] = { 400 + 16 * i, 16, strlen(names[i]) };
        memcpy(to + at, entry, 24);
        memcpy(to + at + 24, names[i], entry[2]);
        at += 24 + entry[2];
        memset(to + entry[0], (int)i + 1, 16);
    }
    return 432;
}

UNIT_TEST(the_code_of_the_device_is_picked)
{
    uint8_t bytes[432];
    const uint8_t *code = NULL;
    uint64_t size = 0;
    size_t all = bundle(bytes, "host-x86_64-unknown-linux-gfx942",
                        "hipv4-amdgcn-amd-amdhsa--gfx942");
    assert_true(ts__amd_code_pick(bytes, all, "gfx942", &code, &size));
    assert_int_equal(code[0], 2);
    assert_int_equal(size, 16);
    assert_false(ts__amd_code_pick(bytes, all, "gfx94", &code, &size));
    assert_false(ts__amd_code_pick(bytes, all, "fx942", &code, &size));
    assert_false(ts__amd_code_pick(bytes, all, "", &code, &size));
    assert_false(ts__amd_code_pick(bytes, all - 1, "gfx942", &code, &size));
    assert_false(ts__amd_code_pick(bytes, 70, "gfx942", &code, &size));
    assert_false(ts__amd_code_pick("CCOB\2", 5, "gfx942", &code, &size));
    all = bundle(bytes, "hip-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-",
                 "hipv4-amdgcn-amd-amdhsa--gfx942");
    assert_true(ts__amd_code_pick(bytes, all, "gfx90a", &code, &size));
    assert_int_equal(code[0], 1);
    // Which of the two the device takes only its features tell.
    all = bundle(bytes, "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-",
                 "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+");
    assert_false(ts__amd_code_pick(bytes, all, "gfx90a", &code, &size));
}

/* ---- Compressed bundles -------------------------------------------------- */

enum { CONTENTS = 300000, PAGE = 1 << 16 }; // several blocks of zstd

// Text that can be compressed, but not to nothing.
static uint8_t *contents(void)
{
    uint8_t *const bytes = malloc(CONTENTS);
    uint32_t state = 1;
    assert_non_null(bytes);
    for (size_t i = 0; i < CONTENTS; i++) {
        state = state * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(state >> 30 | 0x40);
    }
    return bytes;
}

static size_t compressed(uint16_t method, uint8_t *to, size_t room,
                         const uint8_t *bytes)
{
    size_t size = 0;
#ifdef TRACESMITH_ZLIB
    uLongf written = room;
    if (method == TS__AMD_ZLIB &&
        compress2(to, &written, bytes, CONTENTS, 6) == Z_OK)
        size = written;
#endif
#ifdef TRACESMITH_ZSTD
    if (method == TS__AMD_ZSTD)
        size = ZSTD_compress(to, room, bytes, CONTENTS, 3);
#endif
    return size;
}

typedef struct pack { // a bundle whose last byte ends a page
    uint8_t *pages, *at;
    size_t size, header, mapped;
} pack;

static void put(uint8_t **to, uint64_t value, size_t size)
{
    memcpy(*to, &value, size);
    *to += size;
}

// False: this build cannot compress like that.
static bool pack_make(pack *p, uint16_t version, uint16_t method)
{
    const size_t room = CONTENTS + 4096, wide = version > 2 ? 8 : 4;
    uint8_t *const bytes = contents(), *const stream = malloc(room);
    const size_t size = compressed(method, stream, room, bytes);
    p->header = 8 + wide * (version > 1 ? 2 : 1) + 8;
    p->size = p->header + size;
    p->mapped = (p->size + PAGE - 1) / PAGE * PAGE;
    // What lies behind it must not be touched.
    p->pages = mmap(NULL, p->mapped + PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p->pages != MAP_FAILED);
    assert_int_equal(mprotect(p->pages + p->mapped, PAGE, PROT_NONE), 0);
    p->at = p->pages + p->mapped - p->size;
    uint8_t *to = p->at;
    memcpy(to, "CCOB", 4);
    to += 4;
    put(&to, version, 2);
    put(&to, method, 2);
    if (version > 1) put(&to, p->size, wide);
    put(&to, CONTENTS, wide);
    put(&to, 0x1122334455667788, 8); // not compared
    memcpy(to, stream, size);
    free(bytes);
    free(stream);
    return size != 0;
}

static void pack_free(pack *p)
{
    munmap(p->pages, p->mapped + PAGE);
}

UNIT_TEST(compressed_bundles_of_all_versions_are_unpacked)
{
    for (uint16_t version = 1; version <= 3; version++)
        for (uint16_t method = 0; method < 2; method++) {
            pack p;
            uint64_t size = 0;
            const bool can = pack_make(&p, version, method);
            // The size of a module is not known.
            const uint64_t sizes[] = { p.size, UINT64_MAX / 2 };
            for (int i = 0; can && i < 2; i++) {
                uint8_t *const want = contents();
                uint8_t *const got = ts__amd_unpack(p.at, sizes[i], &size);
                assert_non_null(got);
                assert_int_equal(size, CONTENTS);
                assert_memory_equal(got, want, CONTENTS);
                free(got);
                free(want);
            }
            pack_free(&p);
        }
}

static bool unpacks(const void *bytes, size_t size)
{
    uint64_t unpacked_size;
    uint8_t *const unpacked = ts__amd_unpack(bytes, size, &unpacked_size);
    free(unpacked);
    return unpacked != NULL;
}

UNIT_TEST(a_damaged_or_hostile_bundle_is_none)
{
    for (uint16_t version = 1; version <= 3; version++)
        for (uint16_t method = 0; method < 2; method++) {
            pack p;
            const bool can = pack_make(&p, version, method);
            const size_t wide = version > 2 ? 8 : 4, at = p.header - 8 - wide;
            // More, or less, than its header says; more than is accepted.
            static const uint64_t lies[] = { 0,
                                             1,
                                             CONTENTS - 1,
                                             CONTENTS + 1,
                                             1 << 26,
                                             (1 << 30) + 1,
                                             UINT64_MAX };
            for (size_t i = 0; can && i < sizeof lies / sizeof *lies; i++) {
                memcpy(p.at + at, &lies[i], wide);
                assert_false(unpacks(p.at, p.size));
            }
            const uint64_t truth = CONTENTS;
            memcpy(p.at + at, &truth, wide);
            // The size of the file, since there is one: with the header alone,
            // and more than there is.
            const uint64_t files[] = { 0, 8, p.header, p.size + 1, UINT64_MAX };
            for (size_t i = 0; version > 1 && i < 5; i++) {
                memcpy(p.at + 8, &files[i], wide);
                assert_false(unpacks(p.at, p.size));
            }
            const uint64_t size = p.size;
            if (version > 1) memcpy(p.at + 8, &size, wide);
            for (size_t cut = 0; cut < p.size; cut += cut < 64 ? 1 : 9973)
                assert_false(unpacks(p.at, cut));
            assert_int_equal(unpacks(p.at, p.size), can);
            p.at[p.header + 1] ^= 0x55;
            p.at[p.header + 40] ^= 0x55;
            unpacks(p.at, p.size); // and no harm
            pack_free(&p);
        }
}

UNIT_TEST(what_nobody_knows_is_not_unpacked)
{
    ts__amd_packed packed;
    pack p;
    pack_make(&p, 2, TS__AMD_ZSTD);
    assert_true(ts__amd_packed_read(&packed, p.at, p.size + 32));
    p.at[4] = 4; // a version
    assert_false(ts__amd_packed_read(&packed, p.at, p.size));
    p.at[4] = 0;
    assert_false(ts__amd_packed_read(&packed, p.at, p.size));
    p.at[4] = 2;
    p.at[6] = 2; // a method
    assert_false(ts__amd_packed_read(&packed, p.at, p.size));
    p.at[6] = 1;
    p.at[0] = 'c';
    assert_false(ts__amd_packed_read(&packed, p.at, p.size));
    pack_free(&p);
}

int main(void)
{
    return unit_run(start, finish);
}
