// What code objects of AMD's devices say of their kernels, and bundles of them.
#define _GNU_SOURCE
#include "backends/ts_hip_code.h"
#include "tests/rectest.h"

static uint8_t *object; // libhsaco.so
static uint64_t object_size;

static int start(void **user)
{
    char path[PATH_MAX + 64];
    const ssize_t size = readlink("/proc/self/exe", path, PATH_MAX);
    (void)user;
    if (size <= 0) return -1;
    path[size] = 0;
    strcpy(strrchr(path, '/'), "/doubles/libhsaco.so");
    FILE *const file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) return -1;
    object_size = (uint64_t)ftell(file);
    object = malloc(object_size);
    rewind(file);
    const bool all =
        object && fread(object, 1, object_size, file) == object_size;
    fclose(file);
    return all ? 0 : -1;
}

static int finish(void **user)
{
    (void)user;
    free(object);
    return 0;
}

static void a_note_tells_where_arguments_lie(void **user)
{
    static ts__amd_kernel k;
    (void)user;
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

// Each copy has its own size, so that a reader of memory is found out.
static void what_is_cut_short_or_changed_is_no_code_but_no_harm(void **user)
{
    static ts__amd_kernel k;
    ts__mp metadata;
    (void)user;
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

// An item of each kind, then what is asked for.
static void items_of_all_kinds_are_passed(void **user)
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
    (void)user;
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

static void the_code_of_the_device_is_picked(void **user)
{
    uint8_t bytes[432];
    const uint8_t *code = NULL;
    uint64_t size = 0;
    (void)user;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_note_tells_where_arguments_lie),
        cmocka_unit_test(what_is_cut_short_or_changed_is_no_code_but_no_harm),
        cmocka_unit_test(items_of_all_kinds_are_passed),
        cmocka_unit_test(the_code_of_the_device_is_picked),
    };
    return cmocka_run_group_tests(tests, start, finish);
}
