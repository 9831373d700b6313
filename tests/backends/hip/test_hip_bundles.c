// Captures of HIP: compressed bundles of code.
#define CALLS(X) \
    X(hipSetDevice) \
    X(hipModuleLoadData) \
    X(hipModuleGetFunction) \
    X(hipStreamCreateWithFlags) \
    X(hipMalloc) \
    X(hipFree)
#include "tests/backends/hip/hip_capture_fixture.h"

enum { HEAD = 160 }; // of a bundle, then its code

static size_t object_size;
static ts__hs_file file = { .path = "/lib/program" };

// Of one entry.
static size_t bundle(uint8_t *to, const char *architecture)
{
    char name[64];
    snprintf(name, sizeof name, "hipv4-amdgcn-amd-amdhsa--%s", architecture);
    const uint64_t head[4] = { 1, HEAD, object_size, strlen(name) };
    memset(to, 0, HEAD);
    memcpy(to, "__CLANG_OFFLOAD_BUNDLE__", 24);
    memcpy(to + 24, head, sizeof head);
    memcpy(to + 24 + sizeof head, name, head[3]);
    memcpy(to + HEAD, object, object_size);
    return HEAD + object_size;
}

// A stream of zlib that is as large as what is in it: in stored blocks.
static size_t stored(uint8_t *to, const uint8_t *from, size_t size)
{
    uint32_t low = 1, high = 0;
    uint8_t *at = to;
    *at++ = 0x78;
    *at++ = 0x01;
    for (size_t done = 0, part; done < size; done += part) {
        part = size - done < 65535 ? size - done : 65535;
        const uint16_t sizes[2] = { (uint16_t)part, (uint16_t)~part };
        *at++ = done + part == size;
        memcpy(at, sizes, 4);
        memcpy(at + 4, from + done, part);
        at += 4 + part;
    }
    for (size_t i = 0; i < size; i++) {
        low = (low + from[i]) % 65521;
        high = (high + low) % 65521;
    }
    const uint8_t sum[4] = { (uint8_t)(high >> 8), (uint8_t)high,
                             (uint8_t)(low >> 8), (uint8_t)low };
    memcpy(at, sum, 4);
    return (size_t)(at + 4 - to);
}

typedef struct pack {
    uint8_t *bytes;
    size_t size;
} pack;

// The packed code of an architecture, in the place of another one.
static void pack_put(pack *p, const char *architecture)
{
    uint8_t *const plain = malloc(HEAD + object_size);
    assert_non_null(plain);
    const uint32_t size = (uint32_t)bundle(plain, architecture);
    const uint16_t head[2] = { 2, TS__AMD_ZLIB };
    if (!p->bytes) p->bytes = malloc(2 * size + 64);
    assert_non_null(p->bytes);
    p->size = 24 + stored(p->bytes + 24, plain, size);
    const uint32_t sizes[2] = { (uint32_t)p->size, size };
    memcpy(p->bytes, "CCOB", 4);
    memcpy(p->bytes + 4, head, 4);
    memcpy(p->bytes + 8, sizes, 8);
    memset(p->bytes + 16, 0, 8);
    free(plain);
}

static bool has(const pack *p, bool *not_reported)
{
    *not_reported = false;
    return ts__hs_bundle_has(&file, p->bytes, p->size, "add", false, 0,
                             not_reported);
}

// False: this build has nothing to unpack it with.
static bool set_up(void)
{
    object_size = (size_t)ts_cuda_code_size(object);
    if (dlopen("libz.so.1", RTLD_NOW)) return true;
    skip();
    return false;
}

UNIT_TEST(a_bundle_is_unpacked_once_whatever_is_in_it)
{
    pack ours = { NULL, 0 }, theirs = { NULL, 0 };
    bool not_reported;
    if (!set_up()) return;
    begin();
    pack_put(&ours, "gfx942");
    const uint64_t kept = ts__hs.kept;
    assert_true(has(&ours, &not_reported));
    assert_false(not_reported);
    assert_int_equal(ts__hs.kept, kept + object_size);
    pack_put(&theirs, "gfx90a");
    assert_false(has(&theirs, &not_reported));
    assert_false(not_reported);
    // They are not unpacked again.
    pack_put(&ours, "gfx90a");
    pack_put(&theirs, "gfx942");
    assert_true(has(&ours, &not_reported));
    assert_false(has(&theirs, &not_reported));
    assert_int_equal(ts__hs.kept, kept + object_size);
    end();
    rt_close(&trace);
    ts__hs_code_from(ours.bytes, 0)->gone = true;
    ts__hs_code_from(theirs.bytes, 0)->gone = true;
    free(ours.bytes);
    free(theirs.bytes);
}

static size_t sentences(const char *part)
{
    ts_metadata m;
    size_t count = 0;
    for (size_t i = 0; i < ts_reader_metadata_count(trace.reader); i++)
        count += ts_reader_metadata_at(trace.reader, i, &m) &&
                 !strcmp(m.key.text, "capture.hip") &&
                 strstr(m.text.text, part);
    return count;
}

UNIT_TEST(what_is_kept_of_bundles_has_a_bound)
{
    pack first = { NULL, 0 }, next = { NULL, 0 }, large = { NULL, 0 };
    ts__hs_function f = { .not_reported = true };
    bool not_reported;
    if (!set_up()) return;
    begin();
    const uint64_t kept = ts__hs.kept;
    pack_put(&first, "gfx942");
    pack_put(&next, "gfx942");
    ts__hs.kept = TS__HS_KEPT - object_size;
    assert_true(has(&first, &not_reported)); // all of it
    assert_int_equal(ts__hs.kept, TS__HS_KEPT);
    assert_false(has(&next, &not_reported));
    assert_true(not_reported);
    assert_null(ts__hs_code_from(next.bytes, 0)->bytes);
    pack_put(&large, "gfx942");
    ts__hs.kept = TS__HS_KEPT - object_size + 1; // a byte too few is left
    assert_false(has(&large, &not_reported));
    assert_true(not_reported);
    assert_int_equal(ts__hs.kept, TS__HS_KEPT);
    ts__hs_function_current(&f);
    ts__hs_function_current(&f);
    end();
    assert_int_equal(sentences("exceeds 1 GiB"), 1);
    rt_close(&trace);
    ts__hs.kept = kept;
    ts__hs_code_from(first.bytes, 0)->gone = true;
    ts__hs_code_from(next.bytes, 0)->gone = true;
    ts__hs_code_from(large.bytes, 0)->gone = true;
    free(first.bytes);
    free(next.bytes);
    free(large.bytes);
}

UNIT_TEST(what_cannot_be_unpacked_is_not_guessed)
{
    pack one = { NULL, 0 };
    ts__hs_function f = { .not_reported = true };
    bool not_reported;
    if (!set_up()) return;
    begin();
    pack_put(&one, "gfx942");
    one.bytes[24] ^= 0xFF;
    assert_false(has(&one, &not_reported));
    assert_true(not_reported);
    ts__hs_function_current(&f);
    end();
    assert_int_equal(sentences("cannot be unpacked"), 1);
    rt_close(&trace);
    ts__hs_code_from(one.bytes, 0)->gone = true;
    free(one.bytes);
}

// In this program, as compilers lay it out: its section has only the wrapper,
// also where sanitizers make variables longer.
__attribute__((used)) static uint8_t held[1 << 20];
__asm__(".pushsection .hipFatBinSegment, \"aw\", %progbits\n"
        ".balign 8\n"
        ".long 0x48495046, 1\n"
        ".quad held, 0\n"
        ".popsection\n");

// A function of the host is any.
static ts__hs_code *launched(void)
{
    const hip_kernel here = what_cannot_be_unpacked_is_not_guessed;
    void *handle;
    memcpy(&handle, &here, sizeof handle);
    void *const other = dlopen(double_path("libnvtx_other.so"), RTLD_NOW);
    assert_non_null(other);
    ok(dlclose(other));
    ts__hs_functions_check();
    assert_null(ts__hs_function_find(handle, true, 0));
    ts__hs_function *const f = ts__hs_of_file(handle, "add", 0);
    assert_non_null(f);
    return f->code;
}

UNIT_TEST(a_library_that_is_unloaded_takes_no_other_ones_code)
{
    pack one = { NULL, 0 };
    if (!set_up()) return;
    begin();
    pack_put(&one, "gfx942");
    assert_true(one.size < sizeof held);
    memcpy(held, one.bytes, one.size);
    ts__hs_code *const packed = launched();
    assert_non_null(packed);
    const size_t count = ts__hs.code_count;
    const uint64_t kept = ts__hs.kept;
    assert_ptr_equal(launched(), packed); // not unpacked again
    assert_int_equal(ts__hs.code_count, count);
    assert_int_equal(ts__hs.kept, kept);
    // Another file is at that address, as its header tells.
    held[16] ^= 0xFF;
    ts__hs_code *const next = launched();
    assert_ptr_not_equal(next, packed);
    assert_true(packed->gone);
    // One that is not compressed, then another one.
    assert_true(bundle(held, "gfx942") < sizeof held);
    ts__hs_code *const plain = launched();
    assert_true(next->gone);
    assert_ptr_equal(launched(), plain);
    held[HEAD + object_size - 1] ^= 0xFF;
    assert_ptr_not_equal(launched(), plain);
    assert_true(plain->gone);
    end();
    rt_close(&trace);
    memset(held, 0, sizeof held);
    free(one.bytes);
}

int main(void)
{
    return unit_run(start, finish);
}
