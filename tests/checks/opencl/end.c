/*
    end.c - uses every device of OpenCL, and ends in one of many ways

        end return|finish|_exit|fork|release|atexit
*/
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FILLS = 50, BYTES = 1 << 20 };

static void fine(cl_int result, const char *what)
{
    if (result == CL_SUCCESS) return;
    printf("%s: %d\n", what, result);
    exit(2);
}

static void child_run(void)
{
    const pid_t child = fork();
    int status = 0;
    if (!child) {
        puts("child");
        exit(7);
    }
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
}

static cl_command_queue last_queue;
static cl_mem last_buffer;

// As what drivers do at the end: it is there before the first queue. By then
// nothing of OpenCL is recorded.
static void fill_at_exit(void)
{
    const cl_uint one = 1;
    fine(clEnqueueFillBuffer(last_queue, last_buffer, &one, sizeof one, 0,
                             BYTES, 0, NULL, NULL),
         "clEnqueueFillBuffer");
    fine(clFinish(last_queue), "clFinish");
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_device_id device[8];
    cl_command_queue queue[8];
    cl_uint count = 0;
    cl_int result;
    const char *const how = argc > 1 ? argv[1] : "return";
    setvbuf(stdout, NULL, _IONBF, 0);
    fine(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    fine(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 8, device, &count),
         "clGetDeviceIDs");
    const cl_context context =
        clCreateContext(NULL, count, device, NULL, NULL, &result);
    fine(result, "clCreateContext");
    const cl_mem buffer =
        clCreateBuffer(context, CL_MEM_READ_WRITE, BYTES, NULL, &result);
    fine(result, "clCreateBuffer");
    if (!strcmp(how, "atexit")) atexit(fill_at_exit);
    for (cl_uint d = 0; d < count; d++) {
        queue[d] = clCreateCommandQueueWithProperties(context, device[d], NULL,
                                                      &result);
        fine(result, "clCreateCommandQueueWithProperties");
        for (cl_uint i = 0; i < FILLS; i++)
            fine(clEnqueueFillBuffer(queue[d], buffer, &i, sizeof i, 0, BYTES,
                                     0, NULL, NULL),
                 "clEnqueueFillBuffer");
        fine(clFlush(queue[d]), "clFlush");
    }
    last_queue = queue[0];
    last_buffer = buffer;
    if (!strcmp(how, "atexit")) return 3;
    for (cl_uint d = 0; d < count && strcmp(how, "return"); d++)
        if (strcmp(how, "release")) fine(clFinish(queue[d]), "clFinish");
    for (cl_uint d = 0; d < count && !strcmp(how, "release"); d++)
        clReleaseCommandQueue(queue[d]); // with work under way
    if (!strcmp(how, "release")) clReleaseMemObject(buffer);
    if (!strcmp(how, "fork")) child_run();
    printf("%u devices\n", count);
    if (!strcmp(how, "_exit")) _exit(3);
    return 3;
}
