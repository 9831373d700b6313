/*
    test_analyze_advice_wait.c - advice about waits of the host and of streams,
    and about preparations in the middle of the work
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"

/* ---- Preparations ------------------------------------------------------- */

// Ten kernels of 2 us every 40 us, and a call of 20 us before each but the
// first.
static void prepared(made *m, const char *name)
{
    for (int64_t i = 0; i < 10; i++) {
        if (i) call_at(m, HOST, name, 40 * i - 30, 40 * i - 10);
        launch_at(m, "k", 40 * i, 2);
    }
}

static void alloc_in_loop(made *m, bool bad)
{
    prepared(m, bad ? "cudaMalloc" : "cudaMallocAsync");
}

static void pin_in_loop(made *m, bool bad)
{
    prepared(m, bad ? "cuMemHostAlloc" : "cudaHostGetDevicePointer");
}

static void create_in_loop(made *m, bool bad)
{
    for (int64_t i = 0; i < 21; i++) {
        launch_at(m, "k", 40 * i, 2);
        call_at(m, HOST, bad ? "cudaStreamCreateWithFlags" : "cudaGetDevice",
                40 * i + 10, 40 * i + 30);
    }
}

static void module_load(made *m, bool bad)
{
    prepared(m, bad ? "cuModuleLoadData" : "cuModuleUnload");
}

// The first launch of b takes 504 us, later ones 4 us.
static void slow_first_launch(made *m, bool bad)
{
    launch_at(m, "a", 0, 2);
    const int64_t end = bad ? 524 : 24;
    call_at(m, HOST, "cudaLaunchKernel", 20, end);
    kernel_at(m, S0, "b", end + 2, end + 4);
    for (int64_t i = 0; i < 10; i++)
        launch_at(m, i % 2 ? "b" : "a", end + 10 + 20 * i, 2);
}

/* ---- The host waits ----------------------------------------------------- */

// Five times a kernel of 10 us, maybe a copy to the host, and a wait of 10 us.
// The last wait does not matter; each of the others holds the next launch up.
static void waits(made *m, uint64_t size)
{
    for (int64_t i = 0; i < 5; i++) {
        const int64_t at = 40 * i;
        launch_at(m, "k", at, 10);
        if (size) {
            call_at(m, HOST, "cudaMemcpyAsync", at + 8, at + 12);
            copy_at(m, S0, TO_HOST, PINNED, size, at + 18, at + 20);
        }
        sync_at(m, TS_EVENT_STREAM_SYNC, S0, at + 14, at + 24);
    }
}

static void blocking_readback(made *m, bool bad)
{
    waits(m, bad ? 8 : MIB);
}

static void unread_sync(made *m, bool bad)
{
    waits(m, bad ? 0 : 8);
}

// Five times a launch, and a wait until 4 us after its kernel; 2 us later the
// next launch. Without waits the kernels follow each other 1 us apart, every
// 11 us instead of 22.
static void sync_bound(made *m, bool bad)
{
    for (int64_t i = 0; i < 5; i++) {
        launch_at(m, "k", 22 * i, 10);
        if (bad) sync_at(m, TS_EVENT_STREAM_SYNC, S0, 22 * i + 8, 22 * i + 20);
    }
}

/*
    The copy is done at 16; the device, with a kernel on another stream, at
    106, and the host at 110. Three times, 150 us apart, of which the last does
    not count. The two first waits end 94 us earlier, so that the long kernels
    follow each other: 1 us apart instead of 50.
*/
static void wide_sync(made *m, bool bad)
{
    for (int64_t i = 0; i < 3; i++) {
        const int64_t at = 150 * i;
        call_at(m, HOST, "cudaLaunchKernel", at, at + 4);
        kernel_at(m, S1, "long", at + 6, at + (bad ? 106 : 16));
        call_at(m, HOST, "cudaMemcpyAsync", at + 8, at + 12);
        copy_at(m, S0, TO_HOST, PINNED, 8, at + 14, at + 16);
        sync_at(m, TS_EVENT_DEVICE_SYNC, D0, at + 14, at + (bad ? 110 : 24));
    }
}

// A hundred queries of 1 us between kernels: 9 of these times are before the
// last kernel.
static void polling(made *m, bool bad)
{
    for (int64_t i = 0; i < 10; i++) {
        launch_at(m, "k", 120 * i, 2);
        for (int64_t k = 0; k < 100; k++)
            call_at(m, HOST, bad ? "cudaEventQuery" : "cudaGetLastError",
                    120 * i + 10 + k, 120 * i + 11 + k);
    }
}

/* ---- Streams wait ------------------------------------------------------- */

// A kernel of 100 us on the legacy default stream between two on a blocking
// one, all launched at once. Without that order the two on the one stream
// follow each other and the third runs beside them.
static void default_stream(made *m, bool bad)
{
    const ts_track_entry legacy = { .type = TS_TRACK_STREAM,
                                    .parent = D0,
                                    .number = 7,
                                    .flags = bad ? TS_STREAM_LEGACY_DEFAULT
                                                 : TS_STREAM_NON_BLOCKING };
    ts_writer_track(m->w, 13, &legacy);
    call_at(m, HOST, "cudaLaunchKernel", 0, 4);
    kernel_at(m, S0, "a", 6, 106);
    call_at(m, HOST, "cudaLaunchKernel", 5, 9);
    kernel_at(m, 13, "b", bad ? 107 : 11, bad ? 207 : 111);
    call_at(m, HOST, "cudaLaunchKernel", 10, 14);
    kernel_at(m, S0, "c", bad ? 208 : 107, bad ? 308 : 207);
}

static void record_at(made *m, uint32_t stream, uint64_t event, int64_t at)
{
    const ts_writer_value value = { TS_COLUMN_ID, event };
    call_at(m, HOST, "cudaEventRecord", at, at + 4);
    made_operation(m, TS_EVENT_EVENT_RECORD, stream, (at + 6) * US,
                   (at + 6) * US, &value, 1);
}

static void wait_at(made *m, uint32_t stream, uint64_t event, int64_t at)
{
    const ts_writer_value value = { TS_COLUMN_ID, event };
    call_at(m, HOST, "cudaStreamWaitEvent", at, at + 4);
    made_operation(m, TS_EVENT_EVENT_WAIT, stream, (at + 6) * US, (at + 6) * US,
                   &value, 1);
}

/*
    Twelve rounds of a kernel, a record, a wait for it and a kernel on the
    stream that waits: the same stream (bad) or another one. Each wait is a
    call of 4 us before a kernel.
*/
static void redundant_wait(made *m, bool bad)
{
    for (int64_t i = 0; i < 12; i++) {
        const int64_t at = 60 * i;
        launch_at(m, "a", at, 2);
        record_at(m, S0, (uint64_t)i + 1, at + 10);
        wait_at(m, bad ? S0 : S1, (uint64_t)i + 1, at + 20);
        call_at(m, HOST, "cudaLaunchKernel", at + 30, at + 34);
        kernel_at(m, bad ? S0 : S1, "b", at + 36, at + 38);
    }
}

static const advice_case cases[] = {
    { "alloc-in-loop", alloc_in_loop, 180, "alloc-in-loop.count=10", 10 },
    { "pin-in-loop", pin_in_loop, 180, "pin-in-loop.count=10", 10 },
    { "create-in-loop", create_in_loop, 400, "create-in-loop.count=21", 10 },
    { "module-load", module_load, 180, "module-load.count=10", 10 },
    { "slow-first-launch", slow_first_launch, 500, "slow-first-launch.time=1ms",
      20 },
    { "blocking-readback", blocking_readback, 40, "blocking-readback.size=4",
      14 },
    { "unread-sync", unread_sync, 40, "unread-sync.count=5", 14 },
    { "wide-sync", wide_sync, 98, "wide-sync.time=95us", 14 },
    { "sync-bound", sync_bound, 44, "sync-bound.share=90%", 8 },
    { "polling", polling, 900, "polling.count=1001", 10 },
    { "default-stream", default_stream, 101, "advice.min-gain=40%", 107 },
    { "redundant-wait", redundant_wait, 48, "redundant-wait.count=13", 26 },
};
enum { CASES = sizeof cases / sizeof *cases };

UNIT_TEST(each_rule_fires_with_its_gain_or_not_at_all)
{
    check_cases(cases, CASES);
}

UNIT_TEST(each_rule_about_waits_has_a_case)
{
    static const char *const families[] = { "setup", "sync", "order", NULL };
    check_families(cases, CASES, families);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
