// Every desc with one member named: what a C++20 compiler says with -Wextra of
// the others is of the header.
#define TRACESMITH_WRITER
#include "backends/ts_filter.h"
#include "backends/ts_cupti.h"
#include "backends/ts_hip.h"
#include "backends/ts_nvtx.h"
#include "backends/ts_opencl.h"
#include "backends/ts_capture.h"
#include "backends/ts_vdev.h"
#include "tracesmith_replay.h"

#define ONE(type, member) \
    { \
        const type one = { .member = {} }; \
        static_cast<void>(one); \
    }

void descs();

void descs()
{
    ONE(ts_session_desc, path)
    ONE(ts_writer_desc, path)
    ONE(ts_rows, kind)
    ONE(ts_gpu_device_desc, name)
    ONE(ts_gpu_context_desc, name)
    ONE(ts_gpu_stream_desc, name)
    ONE(ts_gpu_launch_desc, name)
    ONE(ts_gpu_op, kind)
    ONE(ts_gpu_access, mode)
    ONE(ts_gpu_dependency, type)
    ONE(ts_api_call, name)
    ONE(ts_backend, name)
    ONE(ts_reader_desc, path)
    ONE(ts_filter, kinds)
    ONE(ts_replay_desc, streams)
    ONE(ts_replay_run_desc, mode)
    ONE(ts_change, type)
    ONE(ts_timeline_desc, replayed)
    ONE(ts_overview_desc, gap_count)
    ONE(ts_explore_desc, orders)
    ONE(ts_execution_desc, executor)
    ONE(ts_filter_desc, kinds)
    ONE(ts_cupti_desc, latency)
    ONE(ts_capture_desc, kernels)
    ONE(ts_vdev_desc, name)
    ONE(ts_vdev_stream_desc, name)
    ONE(ts_vdev_role, mode)
    ONE(ts_vdev_access, mode)
    ONE(ts_vdev_kernel_desc, name)
    ONE(ts_vdev_launch_desc, args)
}
