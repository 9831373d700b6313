# Fills a buffer by OpenCL, from a language that knows nothing of C headers.
from ctypes import *

cl = CDLL("libOpenCL.so.1")
for name in ("clCreateContext", "clCreateCommandQueueWithProperties",
             "clCreateBuffer"):
    getattr(cl, name).restype = c_void_p

platform, device, error = c_void_p(), c_void_p(), c_int()
assert cl.clGetPlatformIDs(1, byref(platform), None) == 0
assert cl.clGetDeviceIDs(platform, c_uint64(0xFFFFFFFF), 1, byref(device),
                         None) == 0
context = c_void_p(cl.clCreateContext(None, 1, byref(device), None, None,
                                      byref(error)))
queue = c_void_p(cl.clCreateCommandQueueWithProperties(context, device, None,
                                                       byref(error)))
buffer = c_void_p(cl.clCreateBuffer(context, c_uint64(1), c_size_t(64), None,
                                    byref(error)))
assert error.value == 0
value, host = c_int(42), (c_int * 16)()
for i in range(10):
    assert cl.clEnqueueFillBuffer(queue, buffer, byref(value), c_size_t(4),
                                  c_size_t(0), c_size_t(64), 0, None,
                                  None) == 0
assert cl.clEnqueueReadBuffer(queue, buffer, 1, c_size_t(0), c_size_t(64),
                              host, 0, None, None) == 0
print(list(host))
