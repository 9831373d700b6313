// Captures of HIP: the operation that becomes of every function that writes
// device memory or launches what does. With `list`: the names of all.
#define _GNU_SOURCE
#define TRACESMITH_HIP_IMPLEMENTATION
#include "tests/record/record_fixture.h"

#include "backends/ts_hip.h"
#include "tests/doubles/hip.h"

enum { CAPTURED, HOST_CALLBACK, NOT_CAPTURED };

typedef struct writer {
    const char *name;
    int what;
} writer;

static const writer writers[] = {
    // Kernels.
    { "hipLaunchKernel", CAPTURED },
    { "hipLaunchKernel_spt", CAPTURED },
    { "hipExtLaunchKernel", CAPTURED },
    { "hipLaunchByPtr", CAPTURED },
    { "hipLaunchCooperativeKernel", CAPTURED },
    { "hipLaunchCooperativeKernel_spt", CAPTURED },
    { "hipModuleLaunchKernel", CAPTURED },
    { "hipModuleLaunchCooperativeKernel", CAPTURED },
    { "hipExtModuleLaunchKernel", CAPTURED },
    { "hipHccModuleLaunchKernel", CAPTURED },
    { "hipLaunchKernelExC", CAPTURED },
    { "hipDrvLaunchKernelEx", CAPTURED },
    { "hipGraphLaunch", CAPTURED },
    { "hipGraphLaunch_spt", CAPTURED },
    { "hipLaunchCooperativeKernelMultiDevice", NOT_CAPTURED },
    { "hipExtLaunchMultiKernelMultiDevice", NOT_CAPTURED },
    { "hipModuleLaunchCooperativeKernelMultiDevice", NOT_CAPTURED },
    // Functions of the host.
    { "hipLaunchHostFunc", HOST_CALLBACK },
    { "hipStreamAddCallback", HOST_CALLBACK },
    // Copies.
    { "hipMemcpy", CAPTURED },
    { "hipMemcpy_spt", CAPTURED },
    { "hipMemcpyAsync", CAPTURED },
    { "hipMemcpyAsync_spt", CAPTURED },
    { "hipMemcpyWithStream", CAPTURED },
    { "hipMemcpyHtoD", CAPTURED },
    { "hipMemcpyDtoH", CAPTURED },
    { "hipMemcpyDtoD", CAPTURED },
    { "hipMemcpyHtoDAsync", CAPTURED },
    { "hipMemcpyDtoHAsync", CAPTURED },
    { "hipMemcpyDtoDAsync", CAPTURED },
    { "hipMemcpyPeer", CAPTURED },
    { "hipMemcpyPeerAsync", CAPTURED },
    { "hipMemcpyToSymbol", CAPTURED },
    { "hipMemcpyToSymbol_spt", CAPTURED },
    { "hipMemcpyToSymbolAsync", CAPTURED },
    { "hipMemcpyToSymbolAsync_spt", CAPTURED },
    { "hipMemcpyFromSymbol", CAPTURED },
    { "hipMemcpyFromSymbol_spt", CAPTURED },
    { "hipMemcpyFromSymbolAsync", CAPTURED },
    { "hipMemcpyFromSymbolAsync_spt", CAPTURED },
    { "hipMemcpy2D", CAPTURED },
    { "hipMemcpy2D_spt", CAPTURED },
    { "hipMemcpy2DAsync", CAPTURED },
    { "hipMemcpy3D", CAPTURED },
    { "hipMemcpy3D_spt", CAPTURED },
    { "hipMemcpy3DAsync", CAPTURED },
    // Copies of arrays, or by structures whose layout differs between versions.
    { "hipMemcpyAtoA", NOT_CAPTURED },
    { "hipMemcpyAtoD", NOT_CAPTURED },
    { "hipMemcpyAtoH", NOT_CAPTURED },
    { "hipMemcpyAtoHAsync", NOT_CAPTURED },
    { "hipMemcpyDtoA", NOT_CAPTURED },
    { "hipMemcpyHtoA", NOT_CAPTURED },
    { "hipMemcpyHtoAAsync", NOT_CAPTURED },
    { "hipMemcpyToArray", NOT_CAPTURED },
    { "hipMemcpyFromArray", NOT_CAPTURED },
    { "hipMemcpy2DToArray", NOT_CAPTURED },
    { "hipMemcpy2DToArray_spt", NOT_CAPTURED },
    { "hipMemcpy2DToArrayAsync", NOT_CAPTURED },
    { "hipMemcpy2DFromArray", NOT_CAPTURED },
    { "hipMemcpy2DFromArray_spt", NOT_CAPTURED },
    { "hipMemcpy2DFromArrayAsync", NOT_CAPTURED },
    { "hipMemcpy2DArrayToArray", NOT_CAPTURED },
    { "hipMemcpyParam2D", NOT_CAPTURED },
    { "hipMemcpyParam2DAsync", NOT_CAPTURED },
    { "hipDrvMemcpy2DUnaligned", NOT_CAPTURED },
    { "hipDrvMemcpy3D", NOT_CAPTURED },
    { "hipDrvMemcpy3DAsync", NOT_CAPTURED },
    { "hipMemcpy3DPeer", NOT_CAPTURED },
    { "hipMemcpy3DPeerAsync", NOT_CAPTURED },
    { "hipMemcpyBatchAsync", NOT_CAPTURED },
    { "hipMemcpy3DBatchAsync", NOT_CAPTURED },
    // Memsets.
    { "hipMemset", CAPTURED },
    { "hipMemset_spt", CAPTURED },
    { "hipMemsetAsync", CAPTURED },
    { "hipMemsetD8", CAPTURED },
    { "hipMemsetD8Async", CAPTURED },
    { "hipMemsetD16", CAPTURED },
    { "hipMemsetD16Async", CAPTURED },
    { "hipMemsetD32", CAPTURED },
    { "hipMemsetD32Async", CAPTURED },
    { "hipMemset2D", CAPTURED },
    { "hipMemset2D_spt", CAPTURED },
    { "hipMemset2DAsync", CAPTURED },
    { "hipMemset3D", CAPTURED },
    { "hipMemset3D_spt", CAPTURED },
    { "hipMemset3DAsync", CAPTURED },
    { "hipMemsetD2D8", CAPTURED },
    { "hipMemsetD2D8Async", CAPTURED },
    { "hipMemsetD2D16", CAPTURED },
    { "hipMemsetD2D16Async", CAPTURED },
    { "hipMemsetD2D32", CAPTURED },
    { "hipMemsetD2D32Async", CAPTURED },
    // Of streams.
    { "hipStreamWriteValue32", NOT_CAPTURED },
    { "hipStreamWriteValue64", NOT_CAPTURED },
    { "hipStreamBatchMemOp", NOT_CAPTURED },
};
enum { WRITERS = sizeof writers / sizeof *writers };

static int what_becomes_of(const char *name)
{
    if (!ts__hs_define(1, name)) return -1; // it is not intercepted
    const uint8_t kind = ts__hs_keep[1].rule->like.kind;
    if (!ts__cs_is_operation((ts__cs_kind)kind)) return -1;
    return kind == TS__CS_HOST_FUNCTION ? HOST_CALLBACK
           : kind == TS__CS_OTHER       ? NOT_CAPTURED
                                        : CAPTURED;
}

UNIT_TEST(what_writes_is_captured_or_known_to_write)
{
    const ts__hs_kept before = ts__hs_keep[1];
    for (size_t i = 0; i < WRITERS; i++)
        if (what_becomes_of(writers[i].name) != writers[i].what)
            fail_msg("%s", writers[i].name);
    assert_int_equal(what_becomes_of("hipMemGetInfo"), -1);
    ts__hs_keep[1] = before;
}

// What `width` says, it says of these alone.
static bool has_width(uint8_t kind)
{
    switch (kind) {
    case TS__CS_LAUNCH:
    case TS__CS_LAUNCH_HOW:
    case TS__CS_LAUNCH_COOPERATIVE:
    case TS__CS_SET:
    case TS__CS_SET_ROWS:
    case TS__CS_STREAM:
    case TS__CS_NODE_KERNEL:
    case TS__CS_NODE_COPY:
    case TS__HS_COPY_ADDED:
    case TS__HS_COPY_CHANGED:
    case TS__HS_DEVICE_GONE: return true;
    default: return false;
    }
}

// Arguments are integers and pointers: none has an odd place or ends at one.
UNIT_TEST(rules_name_whole_arguments)
{
    for (size_t i = 0; i < TS__HS_RULES; i++) {
        const ts__hs_rule *const r = &ts__hs_rules[i];
        const bool named = r->like.kind != TS__CS_OTHER;
        if (r->size % 4 || r->like.stream_at % 8 ||
            (r->like.width && !has_width(r->like.kind)) ||
            (!named && (r->size || r->like.stream_at)))
            fail_msg("%s", r->like.name);
    }
}

// As HIP's own tables pass the arguments of functions on.
static bool translated(ts__hs_arguments *a, const char *name,
                       const uint64_t *words, uint32_t session)
{
    assert_true(ts__hs_define(1, name));
    return ts__hs_translate(a, ts__hs_keep[1].rule, (const char *)words,
                            session);
}

UNIT_TEST(slices_are_rows_where_they_follow_each_other)
{
    const ts__hs_kept before = ts__hs_keep[1];
    uint64_t words[9] = { 0x1000, 64, 40, 4, 7, 40, 4, 3, 0x70 };
    ts__hs_arguments a;
    assert_true(translated(&a, "hipMemset3DAsync", words, 1));
    const uint64_t wanted[] = { 0x1000, 64, 7, 40, 12, 0x70 };
    assert_memory_equal(a.words, wanted, sizeof wanted);
    assert_true(translated(&a, "hipMemset3D", words, 1));
    assert_int_equal(a.words[5], 0);
    words[6] = 2; // of 4
    assert_false(translated(&a, "hipMemset3D", words, 1));
    words[7] = 1;
    assert_true(translated(&a, "hipMemset3D", words, 1));
    assert_int_equal(a.words[4], 2);
    const hip_end at = { (void *)0x2000, 64, 40, 4 };
    const uint64_t more[] = { (uintptr_t)&at, 40, 4, 3 };
    assert_true(translated(&a, "hipMalloc3D", more, 1));
    assert_int_equal(a.words[0], (uintptr_t)&at);
    assert_int_equal(a.words[1], 64 * 4 * 3);
    ts__hs_keep[1] = before;
}

static void set_argument(uint64_t size, uint64_t offset)
{
    static const uint64_t value = 5;
    const uint64_t words[] = { (uintptr_t)&value, size, offset };
    ts__hs_argument_set((const char *)words);
}

// Of a launch in three calls none may be missing.
UNIT_TEST(a_launch_in_three_calls_is_one_or_unknown)
{
    const ts__hs_kept before = ts__hs_keep[1];
    const uint32_t how[10] = { 4, 1, 1, 256, 1, 1, 32, 0, 0x70, 0 };
    const uint64_t function = 0x3000;
    ts__hs_arguments a;
    assert_false(translated(&a, "hipLaunchByPtr", &function, 7));
    ts__hs_configured((const char *)how, 6);
    set_argument(8, 0);
    assert_false(translated(&a, "hipLaunchByPtr", &function, 7)); // of before
    ts__hs_configured((const char *)how, 7);
    assert_null(ts__hs_said->outer);
    set_argument(8, 0);
    set_argument(4, 16);
    assert_true(translated(&a, "hipLaunchByPtr", &function, 7));
    assert_int_equal(a.words[0], 0x3000);
    assert_memory_equal(&a.words[1], how, 24);
    assert_int_equal(a.words[4], 32);
    assert_int_equal(a.words[5], 0x70);
    assert_int_equal(a.more_size, 20);
    assert_int_equal(((uint32_t *)a.more[1])[4], 5);
    ts__hs_configured((const char *)how, 7);       // within the other one
    set_argument(8, sizeof ts__hs_said->args - 7); // too much
    assert_false(translated(&a, "hipLaunchByPtr", &function, 7));
    set_argument(UINT64_C(1) << 40, 0); // which nobody may read or write
    assert_false(translated(&a, "hipLaunchByPtr", &function, 7));
    ts__hs_before_drop();
    assert_true(translated(&a, "hipLaunchByPtr", &function, 7));
    ts__hs_before_drop();
    assert_null(ts__hs_said);
    ts__hs_keep[1] = before;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "list")) {
        for (size_t i = 0; i < WRITERS; i++)
            puts(writers[i].name);
        return 0;
    }
    return unit_run(NULL, NULL);
}
