"""What the tests share: traces, and programs in processes of their own."""
import os
import subprocess
import sys

import pytest

import tracesmith


@pytest.fixture
def path(tmp_path):
    """Where a trace goes."""
    return str(tmp_path / "t.sbt")


@pytest.fixture
def run(tmp_path):
    """Runs Python code, or arguments of Python, in a process of its own."""
    def go(code, *arguments, status=0, **environment):
        command = [sys.executable, "-c", code] if code else [sys.executable]
        done = subprocess.run(
            command + list(arguments), cwd=str(tmp_path), timeout=60,
            env=dict(os.environ, **environment), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, universal_newlines=True)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout + done.stderr
    return go


@pytest.fixture(scope="session")
def device_trace(tmp_path_factory):
    """Two streams of a device: 10 kernels and 5 copies, with their calls."""
    path = str(tmp_path_factory.mktemp("traces") / "device.sbt")
    write_device_trace(path)
    return path


def write_device_trace(path, kernel_ns=1000, copies=5):
    w = tracesmith.Writer(path)
    process = w.track(1, w.name("app"), 1)
    thread = w.track(2, w.name("main"), 2, process)
    device = w.track(3, w.name("GPU"), 0, process)
    streams = [w.track(5, w.name("s%d" % i), i, device) for i in (1, 2)]
    launch = w.launch(w.name("gemm"), (8, 1, 1), (256, 1, 1))
    call = w.name("cuLaunchKernel")
    for i in range(10):
        at = i * 5000
        w.event("api_call", thread, at, 500,
                {"name": call, "correlation": i + 1})
        w.event("kernel", streams[0], at + 800, kernel_ns,
                {"correlation": i + 1, "launch": launch, "thread": thread})
    for i in range(copies):
        at = i * 10000 + 2500
        w.event("api_call", thread, at, 300,
                {"name": w.name("cuMemcpyHtoDAsync"), "correlation": 100 + i})
        w.event("memcpy", streams[1], at + 400, 700,
                {"correlation": 100 + i, "type": 1, "size": 4096,
                 "thread": thread})
    w.close()


def names(trace, kind="zone"):
    """The names of events, in order of time."""
    events = trace.events(kind)
    pairs = sorted(zip(events["start_ns"], events.texts("name")))
    return [name for _, name in pairs]
