/*
    gpu_own.c - an accelerator of your own in the trace

    The "card" here is a function that sums squares and takes the times of its
    work from a clock of its own, as hardware does. Four steps bring it into the
    trace: define the device and its stream, relate its clock to the host's,
    note which call issued an operation, and record the operation when it has
    finished.
    docs/backends.md explains each; backends/ts_vdev.h is a complete backend.

    gpu_own [TRACE]    (gpu_own.sbt)
*/
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include "tracesmith.h"

// The card's clock: nanoseconds since a time that the host does not know.
static uint64_t card_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t card_sum_squares(uint64_t count, uint64_t times[2])
{
    uint64_t sum = 0;
    times[0] = card_clock();
    for (volatile uint64_t i = 0; i < count; i++)
        sum += i * i;
    times[1] = card_clock();
    return sum;
}

// Returns 0 for success; else prints the reason to stderr and returns 1.
static int exit_status(const char *path, ts_result result)
{
    if (result == TS_OK) return 0;
    fprintf(stderr, "gpu_own: %s: %s\n", path, ts_result_text(result));
    return 1;
}

int main(int argc, char **argv)
{
    const ts_session_desc desc = { .path = argc > 1 ? argv[1] : "gpu_own.sbt" };
    ts_session_start(&desc); // if it fails, ts_session_stop returns the error

    // 1. Define device and stream. Their ids are valid in later sessions, too.
    const ts_gpu_device_desc device = { .name = "Square card" };
    const ts_gpu_stream_desc stream = { .context =
                                            ts_gpu_device_define(&device),
                                        .number = 1 };
    const ts_gpu_launch_desc launch = { .name = "sum_squares",
                                        .grid = { 1, 1, 1 } };
    const uint32_t track = ts_gpu_stream_define(&stream);

    // 2. Relate the clocks: pairs of times, before the first and after the last
    // use.
    const uint32_t clock = ts_clock_define("card");
    ts_clock_sample(clock, card_clock(), ts_tick_now(), 100);

    uint64_t sum = 0;
    for (uint64_t i = 1; i <= 5; i++) {
        TS_ZONE("ask the card");
        // 3. Note the issuing thread and record its call; i is the correlation
        // id of both.
        ts_gpu_op op = { .kind = TS_EVENT_KERNEL, .track = track };
        op.origin = ts_gpu_origin_here();
        op.correlation = i;
        op.clock = clock;
        op.queued = card_clock();
        ts_api_call call = { .name = ts_name_define("cardRun"),
                             .correlation = i };
        call.start = ts_tick_now();
        uint64_t times[2];
        sum += card_sum_squares(i * 100000, times);
        call.end = ts_tick_now();
        ts_api_call_record(&call);
        // 4. Record the finished operation. A real card reports it much later.
        op.start = times[0];
        op.end = times[1];
        op.u.kernel.launch = ts_gpu_launch_define(&launch);
        ts_gpu_op_record(&op);
    }
    ts_clock_sample(clock, card_clock(), ts_tick_now(), 100);
    printf("gpu_own: the sum is %llu\n", (unsigned long long)sum);
    return exit_status(desc.path, ts_session_stop());
}
