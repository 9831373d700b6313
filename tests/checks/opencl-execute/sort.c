// Sorts by a bitonic network; the program comes from a binary.
#include "common.h"

enum { COUNT = 1 << 7 };

static const char source[] =
    "kernel void exchange(global uint *keys, uint stage, uint step) {\n"
    "    uint i = get_global_id(0), j = i ^ step;\n"
    "    if (j <= i) return;\n"
    "    bool up = !(i & stage);\n"
    "    uint a = keys[i], b = keys[j];\n"
    "    if ((a > b) == up) {\n"
    "        keys[i] = b;\n"
    "        keys[j] = a;\n"
    "    }\n"
    "}\n";

// The same program, from what the driver made of it.
static void from_binary(void)
{
    size_t size = 0;
    cl_int status = 0;
    need(clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size,
                          NULL),
         "sizes");
    unsigned char *bytes = malloc(size);
    need(clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes,
                          NULL),
         "binaries");
    clReleaseProgram(program);
    const unsigned char *binary = bytes;
    program = clCreateProgramWithBinary(context, 1, &device, &size, &binary,
                                        &status, &error);
    need(error, "clCreateProgramWithBinary");
    need(status, "binary");
    build("");
    free(bytes);
}

int main(void)
{
    unsigned keys[COUNT], state = 1;
    const size_t count = COUNT;
    int right = 1;
    for (int i = 0; i < COUNT; i++)
        keys[i] = state = state * 1664525u + 1013904223u;
    start(0, source, "");
    from_binary();
    const cl_kernel exchange = kernel_of("exchange");
    const cl_mem buffer = buffer_of(sizeof keys, keys);
    ARG(exchange, 0, buffer);
    for (unsigned stage = 2; stage <= COUNT; stage *= 2)
        for (unsigned step = stage / 2; step > 0; step /= 2) {
            ARG(exchange, 1, stage);
            ARG(exchange, 2, step);
            need(clEnqueueNDRangeKernel(queue, exchange, 1, NULL, &count, NULL,
                                        0, NULL, NULL),
                 "exchange");
        }
    need(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof keys, keys, 0,
                             NULL, NULL),
         "read");
    for (int i = 1; i < COUNT; i++)
        right &= keys[i - 1] <= keys[i];
    clReleaseKernel(exchange);
    clReleaseMemObject(buffer);
    return finish("sort", right);
}
