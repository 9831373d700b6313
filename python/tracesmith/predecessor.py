"""The names of the predecessor, the C++ project of the same name (0.11).

A thin layer over tracesmith, so that its programs run; each use says once, as
a DeprecationWarning, what to use instead. What it has no counterpart for
raises tracesmith.Error with a sentence on what replaces it. docs/python.md has
the list.
"""
import enum
import glob
import os
import sys
import tempfile
import threading
import time

from . import _tracesmith as native
from ._errors import Error

# ---- Enumerations ----------------------------------------------------------


def _enum(name, members):
    return enum.IntEnum(name, members, module=__name__, start=0)


EventType = _enum("EventType", (
    "Unknown KernelLaunch KernelComplete MemcpyH2D MemcpyD2H MemcpyD2D "
    "MemsetDevice StreamSync DeviceSync EventRecord EventSync StreamCreate "
    "StreamDestroy MemAlloc MemFree Marker RangeStart RangeEnd Custom"))
PlatformType = _enum("PlatformType", "Unknown CUDA ROCm Metal MACA Ascend")
ReplayMode = _enum("ReplayMode", "Full Partial DryRun StreamSpecific")
FlowType = _enum("FlowType", "NoFlow FwdBwd AsyncCpuGpu Custom")
OverflowPolicy = _enum("OverflowPolicy", "DropOldest DropNewest Block")
PerfettoFormat = _enum("PerfettoFormat", "JSON PROTOBUF")
MemoryCategory = _enum("MemoryCategory", (
    "Unknown Activation Gradient Parameter Temporary Cached"))
TracingState = _enum("TracingState", "Stopped Starting Running Stopping")
TracingMode = _enum("TracingMode", "InProcess File")


def event_type_to_string(kind):
    return EventType(kind).name


def platform_type_to_string(platform):
    return PlatformType(platform).name


def get_current_timestamp():
    return time.monotonic_ns()


def format_bytes(size):
    """1536 is "1.50 KB"."""
    for unit in ("B", "KB", "MB", "GB"):
        if abs(size) < 1024:
            return "%d B" % size if unit == "B" else "%.2f %s" % (size, unit)
        size /= 1024
    return "%.2f TB" % size


def format_duration(ns):
    """1500 is "1.50 us"."""
    for unit, factor in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if abs(ns) >= factor:
            return "%.2f %s" % (ns / factor, unit)
    return "%d ns" % ns

# ---- Plain records ---------------------------------------------------------


class _Fields:
    """An object with the fields of a class and their defaults."""

    _fields = {}

    def __init__(self, *values, **named):
        for name, value in self._fields.items():
            setattr(self, name, value() if callable(value) else value)
        for name, value in list(zip(self._fields, values)) + list(
                named.items()):
            if name not in self._fields:
                raise TypeError("%s has no field %r" % (
                    type(self).__name__, name))
            setattr(self, name, value)

    def __repr__(self):
        return "%s(%s)" % (type(self).__name__, ", ".join(
            "%s=%r" % (name, getattr(self, name)) for name in self._fields))


def _fields(_class, **fields):
    return type(_class, (_Fields,), {"_fields": fields,
                                     "__module__": __name__})


TraceEvent = _fields(
    "TraceEvent", type=EventType.Unknown, timestamp=0, duration=0,
    device_id=0, stream_id=0, correlation_id=0, name="", thread_id=0,
    metadata=dict, flow_info=None, call_stack=None)
FlowInfo = _fields("FlowInfo", id=0, type=FlowType.NoFlow, is_start=False)
DeviceInfo = _fields(
    "DeviceInfo", device_id=0, name="", vendor="", compute_major=0,
    compute_minor=0, total_memory=0, memory_clock_rate=0, memory_bus_width=0,
    multiprocessor_count=0, max_threads_per_mp=0, clock_rate=0, warp_size=0)
TraceMetadata = _fields(
    "TraceMetadata", application_name="", command_line="", start_time=0,
    end_time=0, hostname="", process_id=0, devices=list)
MemoryEvent = _fields(
    "MemoryEvent", timestamp=0, device_id=0, thread_id=0, bytes=0, ptr=0,
    is_allocation=True, allocator_name="", category=MemoryCategory.Unknown)
CounterEvent = _fields(
    "CounterEvent", counter_name="", value=0.0, timestamp=0, device_id=0,
    track_id=0, unit="")
ProfilerConfig = _fields(
    "ProfilerConfig", buffer_size=1 << 20,
    overflow_policy=OverflowPolicy.DropOldest, capture_callstacks=False,
    callstack_depth=32, capture_kernel_params=True,
    capture_memory_params=True, capture_kernels=True, capture_memcpy=True,
    capture_memset=True, capture_sync=True, capture_alloc=True)
TracingConfig = _fields(
    "TracingConfig", buffer_size_kb=4096, duration_ms=0, write_to_file=False,
    output_file="", enable_gpu_tracks=True, enable_counter_tracks=True,
    enable_flow_events=True)
TimelineSpan = _fields(
    "TimelineSpan", correlation_id=0, device_id=0, stream_id=0,
    type=EventType.Unknown, name="", start_time=0, end_time=0)
Timeline = _fields("Timeline", spans=list, total_duration=0,
                   gpu_utilization=0.0, max_concurrent_ops=0)
ReplayConfig = _fields(
    "ReplayConfig", mode=ReplayMode.Full, validate_order=True,
    validate_dependencies=True, validate_timing=False,
    compute_checksums=False, verbose=False, pause_on_error=False,
    time_scale=1.0, stream_id=0)
MemoryAllocation = _fields(
    "MemoryAllocation", ptr=0, size=0, device_id=0, alloc_time=0, free_time=0,
    allocator="default", tag="")
MemoryLeak = _fields("MemoryLeak", ptr=0, size=0, alloc_time=0, allocator="",
                     tag="", lifetime_ns=0)
MemorySnapshot = _fields(
    "MemorySnapshot", timestamp=0, total_allocated=0, total_freed=0,
    live_allocations=0, live_bytes=0, peak_bytes=0, device_usage=dict,
    allocator_usage=dict)
MemoryProfilerConfig = _fields(
    "MemoryProfilerConfig", snapshot_interval_ms=100,
    leak_threshold_ns=5 * 10**9, track_call_stacks=False,
    detect_double_free=True, max_timeline_samples=10000)


class SBTResult(_Fields):
    _fields = {"success": True, "error_message": ""}

    def __bool__(self):
        return self.success


class TracingStatistics(_Fields):
    _fields = {"events_emitted": 0, "events_dropped": 0,
               "counters_emitted": 0, "start_time": 0, "stop_time": 0}

    def duration_ms(self):
        return (self.stop_time - self.start_time) / 1e6

# ---- Events into a trace ---------------------------------------------------

_COPIES = {EventType.MemcpyH2D: 1, EventType.MemcpyD2H: 2,
           EventType.MemcpyD2D: 3}
_WAITS = {EventType.StreamSync: "stream_sync",
          EventType.DeviceSync: "device_sync",
          EventType.EventRecord: "event_record",
          EventType.EventSync: "event_sync"}


def _number(event, *keys):
    """A number of an event's metadata; 0 if it is not there."""
    for key in keys:
        text = str(event.metadata.get(key, ""))
        try:
            return int(text, 0)
        except ValueError:
            pass
    return 0


def _three(event, key):
    """"256x1x1" of an event's metadata; zeros if it is not there."""
    parts = str(event.metadata.get(key, "")).strip("()[] ").replace(
        ",", "x").split("x")
    try:
        numbers = [int(part) for part in parts if part.strip()]
    except ValueError:
        numbers = []
    return tuple((numbers + [1, 1])[:3]) if numbers else (0, 0, 0)


def _with_ends(events):
    """Launches with the duration that a later record of their end gives, and
    ranges as one event."""
    ends, ranges, out = {}, {}, []
    for event in events:
        if event.type == EventType.KernelComplete:
            ends.setdefault(event.correlation_id, event)
    for event in events:
        kind, duration = event.type, event.duration
        if kind == EventType.KernelComplete:
            if ends.get(event.correlation_id) is event:
                out.append((event, event.timestamp - duration, duration))
            continue
        if kind == EventType.KernelLaunch and not duration:
            end = ends.pop(event.correlation_id, None)
            duration = max(0, end.timestamp - event.timestamp) if end else 0
        elif kind == EventType.KernelLaunch:
            ends.pop(event.correlation_id, None)
        elif kind == EventType.RangeStart:
            ranges.setdefault((event.thread_id, event.name), []).append(
                len(out))
        elif kind == EventType.RangeEnd:
            begun = ranges.get((event.thread_id, event.name))
            if begun:
                at = begun.pop()
                start = out[at][1]
                out[at] = (out[at][0], start, event.timestamp - start)
                continue
        out.append((event, event.timestamp, duration))
    # The end of a kernel may come before its launch in the list.
    return [row for row in out if row[0].type != EventType.KernelComplete
            or row[0].correlation_id in ends]


class _Tracks:
    """Tracks of a writer, made when an event needs them."""

    def __init__(self, writer, devices=()):
        self._w = writer
        self._made = {}
        self._devices = {d.device_id: d.name for d in devices}
        self.process = writer.track(1, writer.name("process"), os.getpid())

    def _get(self, key, kind, name, number, parent):
        if key not in self._made:
            self._made[key] = self._w.track(kind, self._w.name(name), number,
                                            parent)
        return self._made[key]

    def thread(self, number):
        return self._get(("thread", number), 2, "thread %d" % number, number,
                         self.process)

    def device(self, number):
        name = self._devices.get(number) or "GPU %d" % number
        return self._get(("device", number), 3, name, number, self.process)

    def stream(self, device, number):
        return self._get(("stream", device, number), 5, "stream %d" % number,
                         number, self.device(device))

    def counter(self, name):
        return self._get(("counter", name), 6, name, 0, self.process)


def _put_zone(w, tracks, event, start, duration):
    """A range of a thread, or a moment."""
    site = w.site(w.name(event.name or event_type_to_string(event.type)))
    thread = tracks.thread(event.thread_id)
    if duration > 0:
        w.event("zone", thread, start, duration, {"site": site})
        for key, value in event.metadata.items():
            w.event("zone_arg", thread, start, 0, {
                "site": site, "name": w.name(str(key)), "type": 3},
                str(value))
    else:
        w.event("mark", thread, start, 0, {"site": site})


def _put(w, tracks, event, start, duration):
    kind = event.type
    base = {"correlation": event.correlation_id}
    if kind in (EventType.KernelLaunch, EventType.KernelComplete):
        launch = w.launch(w.name(event.name), _three(event, "grid_dim"),
                          _three(event, "block_dim"))
        w.event("kernel", tracks.stream(event.device_id, event.stream_id),
                start, duration, dict(base, launch=launch))
    elif kind in _COPIES:
        w.event("memcpy", tracks.stream(event.device_id, event.stream_id),
                start, duration, dict(base, type=_COPIES[kind],
                                      size=_number(event, "size", "bytes")))
    elif kind == EventType.MemsetDevice:
        w.event("memset", tracks.stream(event.device_id, event.stream_id),
                start, duration, dict(base, size=_number(event, "size",
                                                         "bytes")))
    elif kind in _WAITS:
        track = tracks.device(event.device_id) \
            if kind == EventType.DeviceSync \
            else tracks.stream(event.device_id, event.stream_id)
        w.event(_WAITS[kind], track, start, duration, base)
    elif kind in (EventType.MemAlloc, EventType.MemFree) \
            and _number(event, "ptr", "address"):
        values = {"address": _number(event, "ptr", "address")}
        if kind == EventType.MemAlloc:
            values["size"] = _number(event, "size", "bytes")
        w.event("alloc" if kind == EventType.MemAlloc else "free",
                tracks.thread(event.thread_id), start, 0, values)
    else:
        _put_zone(w, tracks, event, start, duration)


def _write(path, events, counters=(), metadata=None, devices=()):
    """Writes a trace of such events."""
    w = native.Writer(path)
    try:
        tracks = _Tracks(w, devices)
        for event, start, duration in _with_ends(list(events)):
            _put(w, tracks, event, start, duration)
        for sample in counters:
            w.event("counter", tracks.counter(sample.counter_name),
                    sample.timestamp, 0,
                    {"type": 2, "value": float(sample.value)})
        if metadata is not None:
            for key in ("application_name", "command_line", "hostname"):
                if getattr(metadata, key):
                    w.metadata(key, getattr(metadata, key))
    except BaseException:
        w.abandon()
        raise
    w.close()


class _Folder:
    """A trace of events in a folder that is removed afterwards."""

    def __init__(self, events, counters=()):
        self._folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._folder.name, "t.sbt")
        _write(self.path, events, counters)

    def __enter__(self):
        return self.path

    def __exit__(self, kind, error, trace):
        self._folder.cleanup()

# ---- A trace into events ---------------------------------------------------

_KINDS = {"kernel": EventType.KernelLaunch, "memset": EventType.MemsetDevice,
          "stream_sync": EventType.StreamSync,
          "device_sync": EventType.DeviceSync,
          "event_record": EventType.EventRecord,
          "event_sync": EventType.EventSync, "alloc": EventType.MemAlloc,
          "free": EventType.MemFree, "gpu_alloc": EventType.MemAlloc,
          "gpu_free": EventType.MemFree, "mark": EventType.Marker,
          "zone": EventType.Custom}
_COPY_KINDS = {1: EventType.MemcpyH2D, 2: EventType.MemcpyD2H}


def _event_of(kind, row, track, device):
    made = TraceEvent(
        type=_KINDS.get(kind, EventType.Custom), timestamp=row["start_ns"],
        duration=row.get("duration_ns", 0),
        correlation_id=row.get("correlation", 0),
        name=row.get("name") or kind)
    if kind == "memcpy":
        made.type = _COPY_KINDS.get(row["type"], EventType.MemcpyD2D)
    if track.type == "thread":
        made.thread_id = track.number
    elif track.type == "stream":
        made.stream_id = track.number
        made.device_id = device.number if device else 0
    elif track.type == "device":
        made.device_id = track.number
    for key in ("size", "address"):
        if row.get(key):
            made.metadata[key] = str(row[key])
    return made


def _events(trace):
    """The events of a trace, in order of time."""
    tracks = {track.id: track for track in trace.tracks}

    def device_of(track):
        while track is not None and track.type != "device":
            track = tracks.get(track.parent)
        return track

    out = []
    for kind in list(_KINDS) + ["memcpy"]:
        if kind in trace.info["counts"]:
            for row in trace.events(kind).rows():
                track = tracks[row["track"]]
                out.append(_event_of(kind, row, track, device_of(track)))
    out.sort(key=lambda event: event.timestamp)
    return out

# ---- Files -----------------------------------------------------------------


class SBTWriter:
    def __init__(self, path):
        self._path = os.fspath(path)
        self._events = []
        self._metadata = None
        self._devices = []
        self._done = False

    def is_open(self):
        return not self._done

    def write_metadata(self, metadata):
        self._metadata = metadata
        return SBTResult()

    def write_device_info(self, devices):
        self._devices = list(devices)
        return SBTResult()

    def write_event(self, event):
        self._events.append(event)
        return SBTResult()

    def write_events(self, events):
        self._events.extend(events)
        return SBTResult()

    def event_count(self):
        return len(self._events)

    def finalize(self):
        """Writes the trace. Raises where the predecessor said nothing."""
        if not self._done:
            _write(self._path, self._events, (), self._metadata,
                   self._devices)
            self._done = True
        return SBTResult()


class SBTReader:
    """Reads traces of this version; import_files reads the predecessor's."""

    def __init__(self, path):
        from ._trace import Trace
        self._trace = Trace(path)
        self._read = None

    def is_open(self):
        return True

    def is_valid(self):
        return not self._trace.damage

    def read_all(self):
        if self._read is None:
            self._read = _events(self._trace)
        return list(self._read)

    def read_events(self, offset=0, count=0):
        events = self.read_all()[offset:]
        return events[:count] if count else events

    def event_count(self):
        return len(self.read_all())

    def read_metadata(self):
        facts = self._trace.metadata
        info = self._trace.info
        return SBTResult(), TraceMetadata(
            application_name=facts.get("application_name",
                                       facts.get("app", "")),
            command_line=facts.get("command_line", facts.get("command", "")),
            hostname=facts.get("hostname", facts.get("host", "")),
            start_time=info["first_ns"], end_time=info["last_ns"],
            process_id=info["process"])

# ---- Timelines, exports, replays -------------------------------------------


def _most_at_once(spans):
    points = sorted([(s.start_time, 1) for s in spans]
                    + [(s.end_time, -1) for s in spans])
    now = most = 0
    for _, step in points:
        now += step
        most = max(most, now)
    return most


def build_timeline(events):
    """Spans of operations; utilisation is the share of the devices' time in
    which something ran, from their first work to their last."""
    spans = [TimelineSpan(event.correlation_id, event.device_id,
                          event.stream_id, event.type, event.name, start,
                          start + duration)
             for event, start, duration in _with_ends(list(events))]
    made = Timeline(spans=spans)
    if spans:
        made.total_duration = (max(s.end_time for s in spans)
                               - min(s.start_time for s in spans))
        made.max_concurrent_ops = _most_at_once(
            [s for s in spans if s.end_time > s.start_time])
    with _Folder(events) as path:
        from ._trace import Trace
        with Trace(path) as trace:
            try:
                devices = trace.timeline()["devices"]
            except Error:  # nothing ran on a device
                devices = []
    busy = sum(d["busy_ns"] for d in devices)
    whole = sum(d["busy_ns"] + d["idle_ns"] for d in devices)
    made.gpu_utilization = busy / whole if whole else 0.0
    return made


class TimelineBuilder:
    def __init__(self):
        self._events = []

    def add_event(self, event):
        self._events.append(event)

    def add_events(self, events):
        self._events.extend(events)

    def build(self):
        return build_timeline(self._events)

    def clear(self):
        self._events = []


def _export(events, counters, filename, protobuf):
    from ._trace import Trace
    with _Folder(events, counters) as path, Trace(path) as trace:
        trace.export(filename, "perfetto" if protobuf else "chrome")
    return True


def export_perfetto(events, filename, use_protobuf=False):
    return _export(events, (), filename, use_protobuf or os.fspath(
        filename).endswith((".perfetto-trace", ".pftrace")))


class PerfettoExporter:
    _protobuf = False

    def export_to_file(self, events, filename):
        return _export(events, (), filename, self._protobuf)

    def export_to_file_with_counters(self, events, counters, filename):
        return _export(events, counters, filename, self._protobuf)

    def export_to_string(self, events):
        from ._trace import Trace
        with _Folder(events) as path, Trace(path) as trace:
            return trace.export(format="chrome").decode()


class PerfettoProtoExporter(PerfettoExporter):
    def __init__(self, format=PerfettoFormat.PROTOBUF):
        self._format = format
        self._protobuf = format == PerfettoFormat.PROTOBUF

    def get_format(self):
        return self._format

    @staticmethod
    def is_sdk_available():
        return True


def is_protobuf_available():
    return True


class ReplayResult(_Fields):
    _fields = {"success": False, "deterministic": False,
               "operations_total": 0, "operations_executed": 0,
               "operations_skipped": 0, "operations_failed": 0,
               "replay_duration": 0, "original_duration": 0,
               "order_violations": 0, "dependency_violations": 0,
               "timing_violations": 0, "errors": list, "warnings": list}

    def summary(self):
        return "%d of %d operations replayed, %s" % (
            self.operations_executed, self.operations_total,
            "as recorded" if self.success else "not as recorded")


class ReplayEngine:
    """Emulates; ts-replay --execute runs captured operations again."""

    def __init__(self):
        self._events = []

    def load_events(self, events):
        self._events = list(events)
        return True

    def load_trace(self, path):
        self._events = SBTReader(path).read_all()
        return True

    def replay(self, config=None):
        from ._trace import Trace
        config = config or ReplayConfig()
        events = self._events
        if config.mode == ReplayMode.StreamSpecific:
            events = [e for e in events if e.stream_id == config.stream_id]
        with _Folder(events) as path, Trace(path) as trace:
            first = trace.replay()
            second = trace.replay()
        return ReplayResult(
            success=first["result"] == "same",
            deterministic=first["digest"] == second["digest"],
            operations_total=len(self._events),
            operations_executed=first["operations"],
            operations_skipped=len(self._events) - first["operations"],
            replay_duration=first["makespan_ns"],
            original_duration=first["recorded_makespan_ns"],
            timing_violations=first["different_operations"])


def replay_trace(events, mode=ReplayMode.Full):
    engine = ReplayEngine()
    if isinstance(events, (str, os.PathLike)):
        engine.load_trace(events)
    else:
        engine.load_events(events)
    return engine.replay(ReplayConfig(mode=mode))

# ---- Tracing ---------------------------------------------------------------


class TracingSession:
    """Collects events of known times, from any thread, and exports them."""

    def __init__(self, event_buffer_size=65536, counter_buffer_size=4096):
        self._room = event_buffer_size
        self._lock = threading.Lock()
        self._mode = TracingMode.InProcess
        self._state = TracingState.Stopped
        self.clear()

    def clear(self):
        self._events, self._counters, self._dropped = [], [], 0
        self._start = self._stop = 0

    def start(self, config=None):
        self.clear()
        if config is not None and config.write_to_file:
            self._mode = TracingMode.File
            self._file = config.output_file
        self._start = get_current_timestamp()
        self._state = TracingState.Running
        return True

    def stop(self):
        if self._state == TracingState.Running:
            self._stop = get_current_timestamp()
            self._state = TracingState.Stopped
            if self._mode == TracingMode.File and self._file:
                self.export_to_file(self._file)
        return True

    def is_active(self):
        return self._state == TracingState.Running

    def get_state(self):
        return self._state

    def get_mode(self):
        return self._mode

    def emit(self, event):
        with self._lock:
            if not self.is_active() or len(self._events) >= self._room:
                self._dropped += 1
                return False
            if not event.timestamp:
                event.timestamp = get_current_timestamp()
            self._events.append(event)
        return True

    def emit_counter(self, name, value, timestamp=0):
        with self._lock:
            if self.is_active():
                self._counters.append(CounterEvent(
                    name, value, timestamp or get_current_timestamp()))
        return self.is_active()

    def get_events(self):
        return list(self._events)

    def get_counters(self):
        return list(self._counters)

    def events_dropped(self):
        return self._dropped

    def event_buffer_size(self):
        return len(self._events)

    def event_buffer_capacity(self):
        return self._room

    def get_statistics(self):
        return TracingStatistics(
            len(self._events), self._dropped, len(self._counters),
            self._start, self._stop or get_current_timestamp())

    def export_to_file(self, filename, use_protobuf=True):
        if os.fspath(filename).endswith(".json"):
            use_protobuf = False
        return _export(self._events, self._counters, filename, use_protobuf)


class PlatformProfiler:
    """A recording of everything, read back as events."""

    def __init__(self, platform):
        self._platform = platform
        self._config = ProfilerConfig()
        self._recording = self._folder = None
        self._events = []
        self._lost = 0

    def platform_type(self):
        return self._platform

    def is_available(self):
        return _count(self._platform) > 0

    def initialize(self, config):
        self._config = config
        return True

    def start_capture(self):
        from ._record import record
        self._folder = tempfile.TemporaryDirectory()
        self._recording = record(
            os.path.join(self._folder.name, "t.sbt"), gpu=True).start()
        return True

    def stop_capture(self):
        from ._trace import Trace
        if self._recording is None:
            return False
        path = self._recording.path
        self._recording.stop()
        self._recording = None
        with Trace(path) as trace:
            self._events = [e for e in _events(trace) if self._wants(e)]
            self._lost = trace.info["lost"]
        self._folder.cleanup()
        return True

    def _wants(self, event):
        config, kind = self._config, event.type
        wanted = {EventType.KernelLaunch: config.capture_kernels,
                  EventType.MemsetDevice: config.capture_memset,
                  EventType.MemAlloc: config.capture_alloc,
                  EventType.MemFree: config.capture_alloc}
        wanted.update((k, config.capture_memcpy) for k in _COPIES)
        wanted.update((k, config.capture_sync) for k in _WAITS)
        return wanted.get(kind, True)

    def is_capturing(self):
        return self._recording is not None

    def get_events(self, max_count=0):
        count = max_count or len(self._events)
        out, self._events = self._events[:count], self._events[count:]
        return out

    def events_captured(self):
        return len(self._events)

    def events_dropped(self):
        return self._lost

    def get_device_info(self):
        return [DeviceInfo(device_id=i, name="%s device %d" % (
            self._platform.name, i)) for i in range(_count(self._platform))]

    def finalize(self):
        self.stop_capture()


def create_profiler(platform=PlatformType.Unknown):
    return PlatformProfiler(
        PlatformType(platform) or detect_platform())

# ---- Devices ---------------------------------------------------------------

# Files of drivers, which exist once for each device.
_DEVICES = {PlatformType.CUDA: "/dev/nvidia[0-9]*",
            PlatformType.ROCm: "/sys/class/kfd/kfd/topology/nodes/*/gpu_id",
            PlatformType.MACA: "/dev/dri/mxcd[0-9]*",
            PlatformType.Ascend: "/dev/davinci[0-9]*"}


def _count(platform):
    found = glob.glob(_DEVICES.get(platform, ""))
    if platform == PlatformType.ROCm:  # processors are nodes, too, with id 0
        found = [path for path in found if _read(path).strip() not in
                 ("", "0")]
    if platform == PlatformType.MACA and not found:
        found = glob.glob("/dev/mxcd")
    return len(found)


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def detect_platform():
    for platform in (PlatformType.CUDA, PlatformType.MACA, PlatformType.ROCm,
                     PlatformType.Ascend):
        if _count(platform):
            return platform
    return PlatformType.Metal if sys.platform == "darwin" \
        else PlatformType.Unknown


def is_cuda_available():
    return _count(PlatformType.CUDA) > 0


def get_cuda_device_count():
    return _count(PlatformType.CUDA)


def get_cuda_driver_version():
    """As cuDriverGetVersion has it, 12040; 0 without a driver."""
    import ctypes
    version = ctypes.c_int(0)
    try:
        ctypes.CDLL("libcuda.so.1").cuDriverGetVersion(ctypes.byref(version))
    except (OSError, AttributeError):
        return 0
    return version.value


def is_rocm_available():
    return _count(PlatformType.ROCm) > 0


def get_rocm_device_count():
    return _count(PlatformType.ROCm)


def is_maca_available():
    return _count(PlatformType.MACA) > 0


def get_maca_device_count():
    return _count(PlatformType.MACA)


def is_ascend_available():
    return _count(PlatformType.Ascend) > 0


def get_ascend_device_count():
    return _count(PlatformType.Ascend)


def is_metal_available():
    return sys.platform == "darwin"


def get_metal_device_count():
    return 1 if is_metal_available() else 0


def is_xctrace_available():
    return False


def is_bpf_available():
    return False


def is_cluster_available():
    return False


def is_time_sync_available():
    return False


def is_nccl_available():
    return False


def is_nvml_available():
    return False

# ---- Memory ----------------------------------------------------------------


class MemoryReport(_Fields):
    _fields = {"total_allocations": 0, "total_frees": 0,
               "total_bytes_allocated": 0, "total_bytes_freed": 0,
               "peak_memory_usage": 0, "current_memory_usage": 0,
               "profile_duration_ns": 0, "min_allocation_size": 0,
               "max_allocation_size": 0, "avg_allocation_size": 0,
               "potential_leaks": list, "timeline": list}

    def summary(self):
        return ("%d allocations, %d frees, at most %s at once, %s held now"
                % (self.total_allocations, self.total_frees,
                   format_bytes(self.peak_memory_usage),
                   format_bytes(self.current_memory_usage)))


class MemoryProfiler:
    """Counts allocations, and records them while a session does."""

    def __init__(self, config=None):
        self._config = config or MemoryProfilerConfig()
        self._active = False
        self.clear()

    def clear(self):
        self._live, self._sizes, self._log = {}, [], []
        self._frees = self._freed = self._peak = self._now = 0
        self._start = self._stop = 0

    def start(self):
        self._start = get_current_timestamp()
        self._active = True

    def stop(self):
        self._stop = get_current_timestamp()
        self._active = False

    def is_active(self):
        return self._active

    def record_alloc(self, ptr, size, device_id=0, allocator="default",
                     tag=""):
        if not self._active:
            return
        now = get_current_timestamp()
        self._live[device_id, ptr] = MemoryAllocation(
            ptr, size, device_id, now, 0, allocator, tag)
        self._sizes.append(size)
        self._now += size
        self._peak = max(self._peak, self._now)
        self._log.append(MemoryEvent(now, device_id, 0, size, ptr, True,
                                     allocator))
        native.alloc(ptr, size, allocator)

    def record_free(self, ptr, device_id=0):
        held = self._live.pop((device_id, ptr), None) if self._active else None
        if held is None:
            return
        self._frees += 1
        self._freed += held.size
        self._now -= held.size
        self._log.append(MemoryEvent(get_current_timestamp(), device_id, 0,
                                     held.size, ptr, False, held.allocator))
        native.free(ptr, held.allocator)

    def record_event(self, event):
        if event.is_allocation:
            self.record_alloc(event.ptr, event.bytes, event.device_id,
                              event.allocator_name or "default")
        else:
            self.record_free(event.ptr, event.device_id)

    def get_current_usage(self):
        return self._now

    def get_peak_usage(self):
        return self._peak

    def get_live_allocation_count(self):
        return len(self._live)

    def get_live_allocations(self):
        return list(self._live.values())

    def take_snapshot(self):
        made = MemorySnapshot(
            get_current_timestamp(), sum(self._sizes), self._freed,
            len(self._live), self._now, self._peak)
        for held in self._live.values():
            for usage, key in ((made.device_usage, held.device_id),
                               (made.allocator_usage, held.allocator)):
                usage[key] = usage.get(key, 0) + held.size
        return made

    def detect_leaks(self):
        """What is held: after stop() all of it, else what is old."""
        now = get_current_timestamp()
        least = self._config.leak_threshold_ns if self._active else 0
        return [MemoryLeak(a.ptr, a.size, a.alloc_time, a.allocator, a.tag,
                           now - a.alloc_time)
                for a in self._live.values() if now - a.alloc_time >= least]

    def generate_report(self):
        sizes = self._sizes or [0]
        return MemoryReport(
            len(self._sizes), self._frees, sum(sizes), self._freed,
            self._peak, self._now,
            (self._stop or get_current_timestamp()) - self._start,
            min(sizes), max(sizes), sum(sizes) / len(sizes),
            self.detect_leaks(), [])

    def to_memory_events(self):
        return list(self._log)

    def to_counter_events(self):
        held, out = 0, []
        for event in self._log:
            held += event.bytes if event.is_allocation else -event.bytes
            out.append(CounterEvent("memory", held, event.timestamp))
        return out


def profile_memory(callback=None, config=None):
    profiler = MemoryProfiler(config)
    profiler.start()
    return profiler

# ---- What to use instead ---------------------------------------------------

_RECORD = "`with tracesmith.record(path, gpu=True):` and tracesmith.open(path)"
_READ = "tracesmith.open(path) and its events() or dataframe()"
_WRITE = "tracesmith.Writer"
_TIMELINE = "tracesmith.open(path).timeline()"
_DEVICES_TOOL = "the tool ts-devices"
_MEMORY = "tracesmith.alloc and tracesmith.free, and analyze(\"memory\")"
_ZONES = "tracesmith.zone, mark and counter while record() is open"

NOTES = {}  # of names that work


def _note(text, *names):
    NOTES.update((name, text) for name in names)


_note(_RECORD, "create_profiler", "ProfilerConfig", "PlatformProfiler",
      "OverflowPolicy")
_note(_DEVICES_TOOL, "PlatformType", "detect_platform",
      "platform_type_to_string", "DeviceInfo", "is_cuda_available",
      "get_cuda_device_count", "get_cuda_driver_version",
      "is_rocm_available", "get_rocm_device_count", "is_maca_available",
      "get_maca_device_count", "is_ascend_available",
      "get_ascend_device_count", "is_metal_available",
      "get_metal_device_count", "is_xctrace_available", "is_bpf_available",
      "is_cluster_available", "is_time_sync_available", "is_nccl_available",
      "is_nvml_available")
_note(_WRITE, "SBTWriter", "SBTResult", "TraceMetadata")
_note(_READ, "SBTReader", "TraceEvent", "EventType", "event_type_to_string",
      "FlowInfo", "FlowType", "CounterEvent")
_note(_TIMELINE, "build_timeline", "Timeline", "TimelineBuilder",
      "TimelineSpan")
_note("tracesmith.open(path).export(file)", "export_perfetto",
      "PerfettoExporter", "PerfettoProtoExporter", "PerfettoFormat",
      "is_protobuf_available")
_note("tracesmith.open(path).replay()", "replay_trace", "ReplayEngine",
      "ReplayConfig", "ReplayResult", "ReplayMode")
_note(_ZONES, "TracingSession", "TracingConfig", "TracingStatistics",
      "TracingState", "TracingMode")
_note(_MEMORY, "MemoryProfiler", "MemoryProfilerConfig", "MemoryAllocation",
      "MemoryEvent", "MemoryCategory", "MemoryLeak", "MemoryReport",
      "MemorySnapshot", "profile_memory")
_note("time.monotonic_ns()", "get_current_timestamp")
_note("your own formatting", "format_bytes", "format_duration")

VERSION_MAJOR, VERSION_MINOR, VERSION_PATCH = map(
    int, native.version.split("."))
_note("tracesmith.__version__", "VERSION_MAJOR", "VERSION_MINOR",
      "VERSION_PATCH")

GONE = {}  # of names that do not


def _gone(text, *names):
    GONE.update((name, text) for name in names)


_gone("Use " + _RECORD + ".", "capture_trace", "MultiGPUProfiler",
      "MultiGPUConfig", "MultiGPUStats", "NVLinkTransfer")
_gone("The driver's version is shown by the tool ts-devices.",
      "get_maca_driver_version", "get_ascend_cann_version",
      "get_nvml_version")
_gone("The tool ts-devices shows devices; links between them are not read: "
      "use `nvidia-smi topo -m`.", "GPUTopology", "GPUTopologyInfo", "GPULink",
      "GPULinkType", "GPUDeviceTopology", "PeerAccess", "link_type_to_string",
      "get_link_bandwidth")
_gone("tracesmith.merge puts the traces of processes and hosts on one time "
      "axis, by their clocks and collectives.", "TimeSync", "TimeSyncConfig",
      "TimeSyncMethod", "SyncResult", "DriftModel", "ClockCorrelator",
      "time_sync_method_to_string", "string_to_time_sync_method")
_gone("Collectives of NCCL are events of kind \"collective\" in a trace, and "
      "analyze(traces, \"ranks\") and \"overlap\" say who waited for whom.",
      "NCCLTracker", "NCCLTrackerConfig", "NCCLOperation", "NCCLOpType",
      "NCCLRedOp", "NCCLDataType", "NCCLStatistics", "CommAnalysis",
      "CommBottleneck", "CommMatrix", "CommPattern", "LoadImbalance",
      "nccl_op_type_to_string", "nccl_red_op_to_string",
      "nccl_data_type_to_string", "nccl_data_type_size")
_gone("Record with Apple's `xctrace record`: this module does not run it, and "
      "tracesmith.import_files reads what `ts-import --help` lists.",
      "XCTraceProfiler", "XCTraceConfig", "profile_with_xctrace")
_gone("analyze(\"streams\") does not exist for single events: "
      "tracesmith.open(path).timeline()[\"streams\"] has the states of each "
      "stream over time.", "GPUState", "GPUStateMachine", "GPUStreamState",
      "GPUStateHistory", "GPUStateMachineStatistics", "StateTransition")
_gone("tracesmith.open(path).export(\"graph.dot\") writes the graph of "
      "operations, and replay() uses it.", "InstructionStreamBuilder",
      "InstructionNode", "InstructionStreamStatistics", "OperationDependency",
      "DependencyType")
_gone("The tool ts-view draws a trace in a terminal.", "TimelineViewer",
      "TimelineViewConfig")
_gone("ts-record records native stacks, docs/stacks.md; in Python, the "
      "option functions of tracesmith.record records calls.", "StackCapture",
      "StackCaptureConfig", "StackFrame", "CallStack")
_gone("tracesmith.frame marks frames, and ts-record --capture keeps what "
      "operations need to be run again, docs/execution.md.", "FrameCapture",
      "FrameCaptureConfig", "CapturedFrame", "CaptureState", "DrawCallInfo",
      "ResourceState", "ResourceTracker", "ResourceType",
      "resource_type_to_string")
_gone("Traces of XRay are not read: instrument functions with tracesmith.h, "
      "or record Python functions with record(functions=True).",
      "XRayImporter", "XRayImporterConfig", "XRayEntryType",
      "XRayFileHeader", "XRayFunctionRecord", "XRayStatistics")
_gone("eBPF is not used: ts-record and record(gpu=True) listen to the "
      "vendors' own interfaces.", "BPFTracer", "BPFEventRecord",
      "BPFEventType", "bpf_event_type_to_string", "bpf_event_to_trace_event")


class _Gone:
    """Raises whatever is done with it."""

    def __init__(self, name):
        self.__dict__["_name"] = name

    def _raise(self):
        raise Error("tracesmith.%s is the predecessor's and has no "
                    "counterpart here" % self._name, "", GONE[self._name],
                    "TS_ERR_UNSUPPORTED")

    def __call__(self, *args, **kwargs):
        self._raise()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._raise()

    def __repr__(self):
        return "<tracesmith.%s, which is gone: %s>" % (self._name,
                                                       GONE[self._name])


def find(name):
    """A name of the predecessor and what to use instead; None: unknown."""
    if name in NOTES:
        return globals()[name], NOTES[name]
    if name in GONE:
        return _Gone(name), GONE[name]
    return None


# ---- Its command -----------------------------------------------------------

COMMANDS = {
    "profile": "ts-record -o trace.sbt -- COMMAND, or for a script python -m "
               "tracesmith record -o trace.sbt -- SCRIPT",
    "view": "ts-view trace.sbt", "info": "ts-info trace.sbt",
    "export": "ts-export trace.sbt -o trace.perfetto-trace",
    "analyze": "ts-analyze trace.sbt", "replay": "ts-replay trace.sbt",
    "devices": "ts-devices", "benchmark": "ts-benchmark",
    "version": "python -c 'import tracesmith; print(tracesmith.__version__)'",
}
COMMANDS["record"] = COMMANDS["profile"]


def command(arguments=None):
    """tracesmith-cli: says which command does what it did; status 2."""
    arguments = sys.argv[1:] if arguments is None else arguments
    names = [name for name in arguments if not name.startswith("-")]
    if names and names[0] in COMMANDS:
        print("tracesmith-cli %s is the predecessor's; instead: %s"
              % (names[0], COMMANDS[names[0]]), file=sys.stderr)
    else:
        print("tracesmith-cli is the predecessor's. Its commands are now:",
              file=sys.stderr)
        for name in sorted(COMMANDS):
            print("  %-10s %s" % (name, COMMANDS[name]), file=sys.stderr)
    return 2
