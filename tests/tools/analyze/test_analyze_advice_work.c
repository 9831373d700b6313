/*
    test_analyze_advice_work.c - advice about copies and kernels
*/
#include "tests/tools/analyze/advice_fixture.h"
#include "tools/analyze/advice/advice.h"

/* ---- Copies ------------------------------------------------------------- */

// Work on S0 that is launched ahead of time, each piece 1 us after the last.
typedef struct queue {
    made *m;
    int64_t call, at;
} queue;

static void queue_call(queue *q, const char *name)
{
    if (!q->at) q->at = 6;
    call_at(q->m, HOST, name, q->call, q->call + 1);
    q->call += 2;
}

static void queue_kernel(queue *q, const char *name, int64_t length)
{
    queue_call(q, "cudaLaunchKernel");
    kernel_at(q->m, S0, name, q->at, q->at + length);
    q->at += length + 1;
}

static void queue_copy(queue *q, uint64_t type, uint64_t memory, uint64_t size,
                       uint64_t source, uint64_t address, int64_t length)
{
    queue_call(q, "cudaMemcpyAsync");
    copy_between(q->m, S0, type, memory, size, source, address, q->at,
                 q->at + length);
    q->at += length + 1;
}

/*
    A pinned copy of 1 MiB takes 100 us. Four pageable ones take 400 us and so
    do their calls, which could return after 10. Then the copies of 100 us
    follow each other 1 us apart: done at 519 instead of 1,776.
*/
static void pageable_copy(made *m, bool bad)
{
    call_at(m, HOST, "cudaMemcpyAsync", 0, 4);
    copy_at(m, S0, TO_DEVICE, PINNED, MIB, 6, 106);
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at = 110 + 420 * i;
        call_at(m, HOST, "cudaMemcpyAsync", at, at + 406);
        copy_at(m, S0, TO_DEVICE, bad ? PAGEABLE : PINNED, MIB, at + 6,
                at + 406);
    }
}

// A copy of 100 us before each of three kernels of 100 us. Hidden, the first
// kernel begins when it is launched, 2 us after its copy, the others with
// theirs, 1 us after the kernel before: done at 310 instead of 611.
static void exposed_copy(made *m, bool bad)
{
    queue q = { .m = m };
    for (int64_t i = 0; i < 3; i++) {
        if (bad) queue_copy(&q, TO_DEVICE, PINNED, MIB, 0, 0, 100);
        queue_kernel(&q, "k", 100);
    }
}

// 300 us of copy and 1 us before a kernel of 100.
static void copy_bound(made *m, bool bad)
{
    queue q = { .m = m };
    queue_kernel(&q, "k", 100);
    queue_copy(&q, bad ? TO_DEVICE : TO_HOST, PINNED, MIB, 0, 0, 300);
    queue_kernel(&q, "k", 100);
}

// Twelve copies of 2 us, 1 us apart.
static void small_copies(made *m, bool bad)
{
    queue q = { .m = m };
    for (int64_t i = 0; i < 12; i++)
        queue_copy(&q, TO_DEVICE, PINNED, bad ? KIB : MIB, 0, 0, 2);
}

// Two copies of 50 us to the host and two of 50 us back from the same place,
// or from another one; a kernel before and one behind.
static void bounced_copy(made *m, bool bad)
{
    queue q = { .m = m };
    queue_kernel(&q, "k", 10);
    for (uint64_t i = 0; i < 2; i++) {
        const uint64_t host = 0x10000 * (i + 1);
        queue_copy(&q, TO_HOST, PINNED, 8 * KIB, 0x900000, host, 50);
        queue_copy(&q, TO_DEVICE, PINNED, 8 * KIB, bad ? host : host + 64,
                   0xA00000, 50);
    }
    queue_kernel(&q, "k", 10);
}

// Memsets of 20 us, overwritten whole or in part.
static void overwritten_set(made *m, bool bad)
{
    queue q = { .m = m };
    queue_kernel(&q, "k", 10);
    for (int64_t i = 0; i < 2; i++) {
        const ts_writer_value values[] = { { TS_COLUMN_SIZE, 4096 },
                                           { TS_COLUMN_ADDRESS, 0x900000 } };
        queue_call(&q, "cudaMemsetAsync");
        made_operation(m, TS_EVENT_MEMSET, S0, q.at * US, (q.at + 20) * US,
                       values, 2);
        q.at += 21;
        queue_copy(&q, TO_DEVICE, PINNED, bad ? 4096 : 4095, 0x100, 0x900000,
                   30);
    }
}

/* ---- Kernels ------------------------------------------------------------ */

static void queue_launch(queue *q, const ts_launch_entry *launch,
                         int64_t length)
{
    const ts_writer_value value = { TS_COLUMN_LAUNCH,
                                    ts_writer_launch(q->m->w, launch) };
    queue_call(q, "cudaLaunchKernel");
    made_operation(q->m, TS_EVENT_KERNEL, S0, q->at * US, (q->at + length) * US,
                   &value, 1);
    q->at += length + 1;
}

// 16 blocks of 256 threads, which fill the device: 4 on a multiprocessor.
static ts_launch_entry full(made *m)
{
    describe_device(m);
    const ts_launch_entry launch = { .name = made_name(m, "k"),
                                     .grid = { 16, 1, 1 },
                                     .block = { 256, 1, 1 },
                                     .registers = 32 };
    return launch;
}

// Five kernels of 40 us of one name among five others of 10 us.
static void hot_kernel(made *m, bool bad)
{
    static const char *const names[] = { "a", "b", "c", "d", "e" };
    queue q = { .m = m };
    for (int64_t i = 0; i < 50; i++)
        queue_kernel(&q, names[i % 5], bad && i % 5 == 2 ? 40 : 1);
    for (int64_t i = 0; i < 10 && !bad; i++) {
        char name[2] = { (char)('f' + i), 0 };
        for (int64_t k = 0; k < 5; k++)
            queue_kernel(&q, name, 40);
    }
}

static void kernels_like(made *m, const ts_launch_entry *launch)
{
    queue q = { .m = m };
    for (int64_t i = 0; i < 3; i++)
        queue_launch(&q, launch, 160);
}

// 255 registers: 8,192 a warp, 65,536 a block, one block of 8 of 32 warps.
static void low_occupancy(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    if (bad) launch.registers = 255;
    kernels_like(m, &launch);
}

// 17 blocks where 16 fit: the second wave has one. 160 us * 17 / 32 = 85.
static void tail_effect(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    if (bad) launch.grid[0] = 17;
    kernels_like(m, &launch);
}

// A block for four multiprocessors: 40 us of 160.
static void small_grid(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    if (bad) launch.grid[0] = 1;
    kernels_like(m, &launch);
}

// 48 of 64 lanes: 120 us of 160.
static void ragged_block(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    launch.block[0] = bad ? 48 : 64;
    kernels_like(m, &launch);
}

static void local_memory(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    launch.local = bad ? 64 : 8;
    kernels_like(m, &launch);
}

static void fp32_matmul(made *m, bool bad)
{
    ts_launch_entry launch = full(m);
    launch.name = made_name(m, bad ? "ampere_sgemm_128x64_tn"
                                   : "ampere_fp16_s16816gemm_128x64_tn");
    kernels_like(m, &launch);
}

// Three of 20 us and 1 us each; what is left begins as early.
static void layout_conversion(made *m, bool bad)
{
    queue q = { .m = m };
    queue_kernel(&q, "conv", 50);
    for (int64_t i = 0; i < 3; i++) {
        queue_kernel(&q, bad ? "cudnn::nchwToNhwcKernel<half>" : "scale", 20);
        queue_kernel(&q, "conv", 50);
    }
}

// Two softmaxes of 30 us between products, and one at the end that is not.
static void unfused_attention(made *m, bool bad)
{
    queue q = { .m = m };
    for (int64_t i = 0; i < 2; i++) {
        queue_kernel(&q, "sm90_xmma_gemm", 50);
        queue_kernel(&q, bad ? "cunn_SoftMaxForward" : "relu", 30);
        queue_kernel(&q, "sm90_xmma_gemm", 50);
    }
    queue_kernel(&q, "softmax_last", 30);
}

static const advice_case cases[] = {
    { "pageable-copy", pageable_copy, 1257, "pageable-copy.size=2MiB", 116 },
    { "exposed-copy", exposed_copy, 301, "exposed-copy.share=80%", 6 },
    { "copy-bound", copy_bound, 301, "copy-bound.share=99%", 107 },
    { "small-copies", small_copies, 11, "small-copies.count=13", 6 },
    { "bounced-copy", bounced_copy, 204, "bounced-copy.count=3", 17 },
    { "overwritten-set", overwritten_set, 42, "overwritten-set.count=3", 17 },
    { "hot-kernel", hot_kernel, 80, "hot-kernel.share=90%", 10 },
    { "low-occupancy", low_occupancy, NO_GAIN, "low-occupancy.occupancy=20%",
      6 },
    { "tail-effect", tail_effect, 225, "tail-effect.waves=1", 6 },
    { "small-grid", small_grid, 360, "small-grid.filled=20%", 6 },
    { "ragged-block", ragged_block, 120, "ragged-block.empty=30%", 6 },
    { "local-memory", local_memory, NO_GAIN, "local-memory.size=128", 6 },
    { "fp32-matmul", fp32_matmul, 240, "fp32-matmul.share=101%", 6 },
    { "layout-conversion", layout_conversion, 63, "layout-conversion.share=50%",
      57 },
    { "unfused-attention", unfused_attention, 62, "unfused-attention.share=50%",
      57 },
};
enum { CASES = sizeof cases / sizeof *cases };

UNIT_TEST(each_rule_fires_with_its_gain_or_not_at_all)
{
    check_cases(cases, CASES);
}

// What is on the path before a kernel is no time of the kernel.
static void put_pauses(made *m, bool bad)
{
    launch_at(m, "k1", 0, 1);
    launch_at(m, "k2", 50, 1);
    launch_at(m, "k3", 100, 30);
}

UNIT_TEST(a_kernel_holds_no_more_of_the_path_than_it_takes)
{
    advised x;
    advised_scene(&x, put_pauses, true);
    advised_run(&x, "hot-kernel", "hot-kernel.share=1%");
    assert_int_not_equal(0, x.a.finding_count);
    bool seen = false;
    for (size_t i = 0; i < x.a.finding_count; i++)
        seen |= strstr(x.a.findings[i].what.text,
                       "k3 runs 1 time, 30.00 us in total; 30.00 us of that") !=
                NULL;
    assert_true(seen);
    ADVICE(&x);
    advised_close(&x);
}

// No copy says what pinned memory reaches.
static void only_pageable(made *m, bool bad)
{
    for (int64_t i = 0; i < 4; i++) {
        const int64_t at = 420 * i;
        call_at(m, HOST, "cudaMemcpyAsync", at, at + 406);
        copy_at(m, S0, TO_DEVICE, PAGEABLE, MIB, at + 6, at + 406);
    }
}

UNIT_TEST(without_a_pinned_copy_its_rate_is_assumed)
{
    advised x;
    advised_scene(&x, only_pageable, true);
    advised_run(&x, "pageable-copy", NULL);
    assert_int_equal(1, x.a.finding_count);
    ADVICE(&x);
    advised_close(&x);
}

UNIT_TEST(each_rule_about_work_has_a_case)
{
    static const char *const families[] = { "copy", "kernel", NULL };
    check_families(cases, CASES, families);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
