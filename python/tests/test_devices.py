"""record(gpu=True): what is not there says so; OpenCL is recorded."""
import ctypes
import ctypes.util
import os

import pytest

import tracesmith


def test_backends_say_what_they_did(path):
    with tracesmith.record(path, gpu=True):
        tracesmith.mark("m")
    with tracesmith.open(path) as t:
        facts = t.metadata
        for backend in ("cupti", "mcpti", "hip"):
            assert facts["backend." + backend], backend
        assert t.info["counts"]["mark"] == 1
    assert "OPENCL_LAYERS" not in os.environ  # only while it records


CUDA = r"""
import ctypes, sys
import tracesmith

class Operation(ctypes.Structure):  # double_op of cupti_double.h
    _fields_ = [("what", ctypes.c_int), ("name", ctypes.c_char_p),
                ("stream", ctypes.c_uint32), ("device", ctypes.c_uint32),
                ("ns", ctypes.c_uint64), ("bytes", ctypes.c_uint64),
                ("event", ctypes.c_uint32), ("result", ctypes.c_int),
                ("grid", ctypes.c_uint32), ("early", ctypes.c_uint64),
                ("sync", ctypes.c_uint64), ("repeat", ctypes.c_uint32),
                ("nodes", ctypes.c_uint32)] + [
                    (name, ctypes.c_void_p) for name in
                    ("function", "parameters", "work", "user", "context")]

double = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
def run(**operation):
    double.double_run(ctypes.byref(Operation(**operation)))
with tracesmith.record("cuda.sbt", gpu=True):
    with tracesmith.zone("step"):
        for _ in range(3):
            run(what=0, name=b"gemm", stream=1, grid=8, ns=2000)
        run(what=11, stream=1, ns=100)  # the host waits for the stream
"""
DOUBLE = os.path.join(os.path.dirname(__file__),
                      "../../build/tests/doubles/libcupti.so")


@pytest.mark.skipif(not os.path.exists(DOUBLE),
                    reason="the double of CUPTI is not built")
def test_cuda_is_recorded_against_a_double_of_cupti(run, tmp_path):
    run(CUDA, os.path.abspath(DOUBLE))
    with tracesmith.open(tmp_path / "cuda.sbt") as t:
        assert t.metadata["backend.cupti"] == "on"
        kernels = t.events("kernel")
        assert kernels.texts("name") == ["gemm"] * 3
        assert t.launches[0]["grid"][0] == 8
        sites = {s["id"]: s["name"] for s in t.sites}
        assert {sites[s] for s in kernels["site"]} == {"step"}
        assert t.info["counts"]["api_call"] >= 3
        assert t.replay()["result"] == "same"


OPENCL = r"""
import ctypes, sys
import tracesmith
with tracesmith.record("cl.sbt", gpu=True):
    cl = ctypes.CDLL("libOpenCL.so.1")
    vp, u32 = ctypes.c_void_p, ctypes.c_uint32
    for name in ("clCreateContext", "clCreateCommandQueue",
                 "clCreateBuffer"):
        getattr(cl, name).restype = vp
    platform, device, error = vp(), vp(), ctypes.c_int32()
    if cl.clGetPlatformIDs(1, ctypes.byref(platform), None) or \
            cl.clGetDeviceIDs(platform, ctypes.c_uint64(0xFFFFFFFF), 1,
                              ctypes.byref(device), None):
        print("no device")
        sys.exit()
    context = vp(cl.clCreateContext(None, 1, ctypes.byref(device), None, None,
                                    ctypes.byref(error)))
    queue = vp(cl.clCreateCommandQueue(context, device, ctypes.c_uint64(0),
                                       ctypes.byref(error)))
    buffer = vp(cl.clCreateBuffer(context, ctypes.c_uint64(1),
                                  ctypes.c_size_t(4096), None,
                                  ctypes.byref(error)))
    data = ctypes.create_string_buffer(4096)
    with tracesmith.zone("copies"):
        for _ in range(3):
            assert not cl.clEnqueueWriteBuffer(
                queue, buffer, 1, ctypes.c_size_t(0), ctypes.c_size_t(4096),
                data, 0, None, None)
        cl.clFinish(queue)
print("done")
"""


@pytest.mark.skipif(not ctypes.util.find_library("OpenCL"),
                    reason="libOpenCL is not here")
def test_opencl_is_recorded(run, tmp_path):
    if "no device" in run(OPENCL):
        pytest.skip("OpenCL has no device here")
    with tracesmith.open(tmp_path / "cl.sbt") as t:
        copies = t.events("memcpy")
        assert list(copies["size"]) == [4096] * 3
        assert t.info["counts"]["zone"] == 1
        assert [k for k in t.tracks if k.type == "device"]
        assert t.timeline()["devices"][0]["work_ns"]["copy"] > 0
        sites = {s["id"]: s["name"] for s in t.sites}
        assert {sites[s] for s in copies["site"]} == {"copies"}
