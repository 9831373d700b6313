"""Programs of the predecessor run; what is gone says what replaces it."""
import json

import pytest

import tracesmith as ts
from tracesmith import predecessor

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def sample_events():
    """As its examples make them: kernels on two streams."""
    base = ts.get_current_timestamp()
    events = []
    for i in range(20):
        event = ts.TraceEvent()
        event.type = ts.EventType.KernelLaunch
        event.name = ["matmul_kernel", "relu"][i % 2]
        event.timestamp = base + i * 100000
        event.duration = 50000 + i * 1000
        event.stream_id = i % 2
        event.device_id = 0
        event.correlation_id = i
        event.metadata["grid_dim"] = "256x256x1"
        events.append(event)
    return events


def test_each_use_says_once_what_to_use_instead():
    with pytest.warns(DeprecationWarning, match="tracesmith.record"):
        ts.create_profiler
    with pytest.warns(DeprecationWarning, match="ts-devices"):
        assert ts.detect_platform() in ts.PlatformType


def test_a_file_is_written_and_read(tmp_path):
    path = str(tmp_path / "python_trace.sbt")
    writer = ts.SBTWriter(path)
    metadata = ts.TraceMetadata()
    metadata.application_name = "PythonExample"
    writer.write_metadata(metadata)
    device = ts.DeviceInfo()
    device.name = "Test GPU"
    writer.write_device_info([device])
    assert writer.write_events(sample_events())
    assert writer.event_count() == 20
    writer.finalize()
    reader = ts.SBTReader(path)
    assert reader.is_valid() and reader.event_count() == 20
    for a, b in zip(sample_events(), reader.read_all()):
        assert (a.type, a.name, a.duration, a.stream_id, a.correlation_id) == (
            b.type, b.name, b.duration, b.stream_id, b.correlation_id)
    assert len(reader.read_events(5, 3)) == 3
    result, read = reader.read_metadata()
    assert result and read.application_name == "PythonExample"
    with ts.open(path) as t:
        assert "Test GPU" in [k.name for k in t.tracks]
        assert t.launches[0]["grid"] == (256, 256, 1)


def test_a_timeline_of_launches_and_completions():
    """A device that is busy without a pause is 100 % busy."""
    events = []
    for i in range(10):
        for kind, at in ((ts.EventType.KernelLaunch, i * 1000),
                         (ts.EventType.KernelComplete, (i + 1) * 1000)):
            event = ts.TraceEvent(kind, at)
            event.correlation_id = i + 1
            event.name = "k"
            events.append(event)
    timeline = ts.build_timeline(events)
    assert timeline.gpu_utilization == 1.0
    assert len(timeline.spans) == 10 and timeline.total_duration == 10000
    assert timeline.max_concurrent_ops == 1


def test_devices_are_not_summed():
    events = [ts.TraceEvent(ts.EventType.KernelLaunch, device * 10 + at, 500,
                            device, 0, 10 * device + at // 1000 + 1, "k")
              for device in range(4) for at in (0, 1000)]
    timeline = ts.build_timeline(events)
    assert abs(timeline.gpu_utilization - 1000 / 1500) < 1e-9
    assert ts.build_timeline([]).gpu_utilization == 0.0


def test_exports(tmp_path):
    out = tmp_path / "t.json"
    assert ts.export_perfetto(sample_events(), str(out))
    names = [e.get("name") for e in json.loads(out.read_text())["traceEvents"]]
    assert names.count("matmul_kernel") == 10
    assert ts.export_perfetto(sample_events(),
                              str(tmp_path / "t.perfetto-trace"))
    assert (tmp_path / "t.perfetto-trace").stat().st_size > 100
    assert ts.PerfettoProtoExporter.is_sdk_available()
    assert "relu" in ts.PerfettoExporter().export_to_string(sample_events())


def test_real_time_tracing(tmp_path):
    config = ts.TracingConfig()
    config.buffer_size_kb = 8192
    session = ts.TracingSession()
    session.start(config)
    event = ts.TraceEvent()
    event.type = ts.EventType.KernelLaunch
    event.name = 'my "kernel" \\'
    event.duration = 1000
    event.thread_id = 12345
    assert session.emit(event) and session.is_active()
    session.emit_counter("GPU Memory (MB)", 1024.5)
    session.stop()
    assert not session.emit(event)
    out = tmp_path / "realtime.json"
    assert session.export_to_file(str(out))
    found = json.loads(out.read_text())["traceEvents"]
    assert any(e.get("name") == 'my "kernel" \\' for e in found)
    assert any(e.get("args", {}).get("value") == 1024.5
               or 1024.5 in e.get("args", {}).values() for e in found)
    stats = session.get_statistics()
    assert (stats.events_emitted, stats.events_dropped,
            stats.counters_emitted) == (1, 1, 1)
    assert stats.duration_ms() > 0
    assert session.export_to_file(str(tmp_path / "r.perfetto-trace"))


def test_a_profiler_without_a_device():
    profiler = ts.create_profiler(ts.PlatformType.CUDA)
    config = ts.ProfilerConfig()
    config.capture_kernels = True
    assert profiler.initialize(config) and profiler.start_capture()
    assert profiler.is_capturing()
    with ts.zone("host work"):
        pass
    profiler.stop_capture()
    events = profiler.get_events()
    assert [e.name for e in events] == ["host work"]
    assert profiler.get_events() == [] and profiler.events_dropped() == 0


def test_a_replay():
    result = ts.replay_trace(sample_events(), ts.ReplayMode.DryRun)
    assert result.success and result.deterministic
    assert result.operations_executed == result.operations_total == 20
    assert "20 of 20" in result.summary()


def test_memory():
    profiler = ts.profile_memory()
    profiler.record_alloc(0x1000, 1024, 0, "pool")
    profiler.record_alloc(0x2000, 512)
    profiler.record_free(0x1000)
    profiler.stop()
    assert profiler.get_current_usage() == 512
    assert profiler.get_peak_usage() == 1536
    report = profiler.generate_report()
    assert [leak.ptr for leak in report.potential_leaks] == [0x2000]
    assert "1.50 KB" in report.summary()
    assert [e.value for e in profiler.to_counter_events()] == [1024, 1536, 512]


def test_what_is_gone_says_what_replaces_it():
    for name in predecessor.GONE:
        with pytest.raises(ts.Error) as error:
            getattr(ts, name)()
        assert error.value.todo and name in str(error.value)
    with pytest.raises(ts.Error, match="collective"):
        ts.NCCLOpType.AllReduce
    from tracesmith.xctrace import XCTraceProfiler
    with pytest.raises(ts.Error, match="xctrace record"):
        XCTraceProfiler()
    with pytest.raises(AttributeError, match="no attribute"):
        ts.never_was


def test_its_command_says_what_does_it_now(capsys):
    assert predecessor.command(["profile", "--nsys", "--", "x"]) == 2
    assert "ts-record -o trace.sbt -- COMMAND" in capsys.readouterr().err
    assert predecessor.command(["--no-color", "view", "t.sbt"]) == 2
    assert "instead: ts-view" in capsys.readouterr().err
    assert predecessor.command([]) == 2
    assert capsys.readouterr().err.count("\n") == 11


def test_every_name_of_the_predecessor_is_known():
    """Those of its __init__ and its README."""
    names = """EventType PlatformType platform_type_to_string ReplayMode
    FlowType OverflowPolicy PerfettoFormat ResourceType CaptureState
    MemoryCategory TracingState TracingMode XRayEntryType XRayFileHeader
    XRayFunctionRecord XRayStatistics BPFEventType GPUState DependencyType
    TraceEvent DeviceInfo TraceMetadata ProfilerConfig FlowInfo MemoryEvent
    CounterEvent StackFrame CallStack StackCaptureConfig StackCapture
    SBTWriter SBTReader TimelineSpan Timeline TimelineBuilder
    PerfettoExporter PerfettoProtoExporter TracingSession TracingStatistics
    TracingConfig FrameCapture FrameCaptureConfig CapturedFrame DrawCallInfo
    ResourceState ResourceTracker MemoryProfiler MemoryProfilerConfig
    MemoryAllocation MemorySnapshot MemoryLeak MemoryReport XRayImporter
    XRayImporterConfig BPFTracer BPFEventRecord ReplayConfig ReplayResult
    ReplayEngine StateTransition GPUStreamState GPUStateMachine
    GPUStateMachineStatistics GPUStateHistory OperationDependency
    InstructionNode InstructionStreamBuilder InstructionStreamStatistics
    TimelineViewConfig TimelineViewer get_current_timestamp
    event_type_to_string resource_type_to_string format_bytes format_duration
    bpf_event_type_to_string bpf_event_to_trace_event create_profiler
    is_cuda_available get_cuda_device_count get_cuda_driver_version
    is_metal_available get_metal_device_count is_maca_available
    get_maca_driver_version get_maca_device_count is_ascend_available
    get_ascend_cann_version get_ascend_device_count is_rocm_available
    get_rocm_device_count detect_platform build_timeline export_perfetto
    is_protobuf_available replay_trace capture_trace profile_memory
    is_bpf_available is_cluster_available is_time_sync_available
    is_nccl_available GPULinkType GPULink GPUDeviceTopology GPUTopologyInfo
    GPUTopology is_nvml_available get_nvml_version link_type_to_string
    get_link_bandwidth NVLinkTransfer PeerAccess MultiGPUConfig MultiGPUStats
    MultiGPUProfiler TimeSyncMethod TimeSyncConfig SyncResult TimeSync
    DriftModel ClockCorrelator time_sync_method_to_string
    string_to_time_sync_method NCCLOpType NCCLRedOp NCCLDataType
    NCCLOperation NCCLTrackerConfig NCCLStatistics NCCLTracker CommPattern
    CommMatrix CommBottleneck LoadImbalance CommAnalysis
    nccl_op_type_to_string nccl_red_op_to_string nccl_data_type_to_string
    nccl_data_type_size is_xctrace_available XCTraceProfiler
    profile_with_xctrace""".split()
    for name in names:
        assert getattr(ts, name) is not None, name
    assert ts.VERSION_MAJOR == 0 and ts.__version__
