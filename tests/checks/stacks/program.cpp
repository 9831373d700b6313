// Stacks through templates, inlined functions and the C library, of zones,
// allocations and GPU operations. usage: program TRACE
#define TRACESMITH_UNWIND
#define TRACESMITH_IMPLEMENTATION
#include "tracesmith.h"

#include "backends/ts_stack.h"
#include <algorithm>
#include <vector>

namespace shapes {
template <typename T, int N> struct grid {
    T cells[N];
    // Put into its caller.
    __attribute__((always_inline)) inline void mark(int i)
    {
        TS_ZONE("inlined");
        TS_ZONE_STACK();
        cells[i] = T(i);
    }
    __attribute__((noinline)) void fill(int count)
    {
        for (volatile int i = 0; i < count; i++)
            mark(i);
        __asm__ volatile("");
    }
};
} // namespace shapes

// What rustc calls a function of this kind: `demo::kernels::launch`.
extern "C" __attribute__((noinline)) void rust_v0(uint32_t stream) __asm__(
    "_RNvNtCs1234_4demo7kernels6launch");
extern "C" void rust_v0(uint32_t stream)
{
    ts_gpu_op op = {};
    op.kind = TS_EVENT_MEMSET;
    op.track = stream;
    op.start = ts_tick_now();
    op.end = op.start + 1000;
    op.origin = ts_gpu_origin_here();
    ts_gpu_op_record(&op);
    __asm__ volatile("");
}

static int by_size(const void *a, const void *b)
{
    TS_ALLOC_STACK(a, 16, "sorting");
    return a < b ? -1 : a > b;
}

__attribute__((noinline)) static void sort(std::vector<int> &items)
{
    qsort(items.data(), items.size(), sizeof items[0], by_size);
    __asm__ volatile("");
}

int main(int argc, char **argv)
{
    ts_session_desc desc = {};
    desc.path = argc > 1 ? argv[1] : "trace.sbt";
    if (ts_session_start(&desc) != TS_OK) return 1;
    ts_gpu_device_desc device = {};
    device.name = "device";
    ts_gpu_stream_desc stream = {};
    stream.context = ts_gpu_device_define(&device);
    ts_stack_launches(8);
    shapes::grid<float, 8> grid;
    grid.fill(4);
    std::vector<int> items(2, 1);
    sort(items);
    rust_v0(ts_gpu_stream_define(&stream));
    return ts_session_stop() == TS_OK ? 0 : 1;
}
