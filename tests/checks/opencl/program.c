/*
    program.c - uses OpenCL, and knows nothing of TraceSmith

    Does a known number of everything, and prints what it computed and what
    OpenCL shows it of its objects, so that two runs can be compared.
*/
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_1_APIS
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SIDE = 64, CELLS = SIDE * SIDE, THREADS = 8, ROUNDS = 50 };

static const char *const source =
    "__kernel void multiply(__global const float *a, __global const float *b,\n"
    "                       __global float *c, int side)\n"
    "{ int x = get_global_id(0), y = get_global_id(1); float sum = 0;\n"
    "  for (int k = 0; k < side; k++)\n"
    "    sum += a[y * side + k] * b[k * side + x];\n"
    "  c[y * side + x] = sum; }\n"
    "__kernel void reduce(__global const float *in, __global float *out,\n"
    "                     __local float *part)\n"
    "{ int i = get_local_id(0); part[i] = in[get_global_id(0)];\n"
    "  barrier(CLK_LOCAL_MEM_FENCE);\n"
    "  for (int n = get_local_size(0) / 2; n > 0; n /= 2) {\n"
    "    if (i < n) part[i] += part[i + n];\n"
    "    barrier(CLK_LOCAL_MEM_FENCE); }\n"
    "  if (i == 0) out[get_group_id(0)] = part[0]; }\n"
    "__kernel void add(__global int *v, int n)\n"
    "{ v[get_global_id(0)] += n; }\n"
    "__kernel void invert(__read_only image2d_t in,\n"
    "                     __write_only image2d_t out)\n"
    "{ int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "  const sampler_t s = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_NONE |\n"
    "                      CLK_FILTER_NEAREST;\n"
    "  write_imageui(out, at, 255 - read_imageui(in, s, at)); }\n";

static cl_context context;
static cl_device_id device;
static cl_program program;
static int racy; // a task does not wait for what it should

static void fine(cl_int result, const char *what)
{
    if (result == CL_SUCCESS) return;
    printf("%s: %d\n", what, result);
    exit(2);
}

static cl_kernel kernel_of(const char *name)
{
    cl_int result;
    const cl_kernel kernel = clCreateKernel(program, name, &result);
    fine(result, name);
    return kernel;
}

static cl_mem buffer_of(size_t size, const void *from)
{
    cl_int result;
    const cl_mem buffer = clCreateBuffer(
        context, CL_MEM_READ_WRITE | (from ? CL_MEM_COPY_HOST_PTR : 0), size,
        (void *)from, &result);
    fine(result, "clCreateBuffer");
    return buffer;
}

static cl_command_queue queue_of(cl_command_queue_properties properties)
{
    cl_int result;
    const cl_queue_properties list[] = { CL_QUEUE_PROPERTIES, properties, 0 };
    const cl_command_queue queue = clCreateCommandQueueWithProperties(
        context, device, properties ? list : NULL, &result);
    fine(result, "clCreateCommandQueueWithProperties");
    return queue;
}

enum { MOMENTS = 20000 };
static const struct timespec moment = { 0, 1000000 };

// Of an event that nobody else holds for long: PoCL does for a moment after
// its command has ended.
static cl_uint references(cl_event event)
{
    cl_uint count = 0;
    for (int i = 0; i < MOMENTS && count != 1; i++) {
        if (i) nanosleep(&moment, NULL);
        fine(clGetEventInfo(event, CL_EVENT_REFERENCE_COUNT, sizeof count,
                            &count, NULL),
             "clGetEventInfo");
    }
    return count;
}

static void show_queue(const char *name, cl_command_queue queue)
{
    cl_command_queue_properties properties = 99;
    cl_queue_properties array[8] = { 0 };
    cl_uint count = 0;
    size_t size = 0;
    fine(clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof properties,
                               &properties, NULL),
         "CL_QUEUE_PROPERTIES");
    // As of events: what is done lets go of its queue a moment later.
    for (int i = 0; i < MOMENTS && count != 1; i++) {
        if (i) nanosleep(&moment, NULL);
        fine(clGetCommandQueueInfo(queue, CL_QUEUE_REFERENCE_COUNT,
                                   sizeof count, &count, NULL),
             "CL_QUEUE_REFERENCE_COUNT");
    }
    const cl_int result = clGetCommandQueueInfo(
        queue, CL_QUEUE_PROPERTIES_ARRAY, sizeof array, array, &size);
    printf("%s: properties %d, references %u, array %d: %zu %d %d\n", name,
           (int)properties, count, result, size, (int)array[0], (int)array[1]);
}

// 3 writes, 1 kernel, 1 kernel with local memory, 2 blocking reads
static void matrix_product(cl_command_queue queue)
{
    static float a[CELLS], b[CELLS], c[CELLS], sums[CELLS / SIDE];
    const cl_int side = SIDE;
    for (int i = 0; i < CELLS; i++)
        a[i] = (float)(i % 7), b[i] = (float)(i % 5);
    const cl_mem in_a = buffer_of(sizeof a, NULL);
    const cl_mem in_b = buffer_of(sizeof b, NULL);
    const cl_mem out = buffer_of(sizeof c, NULL);
    const cl_mem out_sums = buffer_of(sizeof sums, NULL);
    const cl_kernel multiply = kernel_of("multiply");
    const cl_kernel reduce = kernel_of("reduce");
    const size_t global[2] = { SIDE, SIDE }, local[2] = { 8, 8 };
    const size_t cells = CELLS, group = SIDE;
    fine(clEnqueueWriteBuffer(queue, in_a, CL_FALSE, 0, sizeof a, a, 0, NULL,
                              NULL),
         "write");
    fine(clEnqueueWriteBuffer(queue, in_b, CL_FALSE, 0, sizeof b, b, 0, NULL,
                              NULL),
         "write");
    const float zero = 0;
    fine(clEnqueueFillBuffer(queue, out, &zero, sizeof zero, 0, sizeof c, 0,
                             NULL, NULL),
         "fill");
    clSetKernelArg(multiply, 0, sizeof in_a, &in_a);
    clSetKernelArg(multiply, 1, sizeof in_b, &in_b);
    clSetKernelArg(multiply, 2, sizeof out, &out);
    clSetKernelArg(multiply, 3, sizeof side, &side);
    fine(clEnqueueNDRangeKernel(queue, multiply, 2, NULL, global, local, 0,
                                NULL, NULL),
         "multiply");
    clSetKernelArg(reduce, 0, sizeof out, &out);
    clSetKernelArg(reduce, 1, sizeof out_sums, &out_sums);
    clSetKernelArg(reduce, 2, group * sizeof(float), NULL);
    fine(clEnqueueNDRangeKernel(queue, reduce, 1, NULL, &cells, &group, 0, NULL,
                                NULL),
         "reduce");
    fine(
        clEnqueueReadBuffer(queue, out, CL_TRUE, 0, sizeof c, c, 0, NULL, NULL),
        "read");
    fine(clEnqueueReadBuffer(queue, out_sums, CL_TRUE, 0, sizeof sums, sums, 0,
                             NULL, NULL),
         "read");
    double sum = 0, sum_of_sums = 0;
    for (int i = 0; i < CELLS; i++)
        sum += c[i];
    for (int i = 0; i < CELLS / SIDE; i++)
        sum_of_sums += sums[i];
    printf("matrix product: %.0f %.0f\n", sum, sum_of_sums);
    clReleaseMemObject(in_a);
    clReleaseMemObject(in_b);
    clReleaseMemObject(out);
    clReleaseMemObject(out_sums);
    clReleaseKernel(multiply);
    clReleaseKernel(reduce);
}

// Two queues, the second waits for the first: 1 write, 2 kernels, 1 copy,
// 1 read; a sub-buffer; events with references.
static void two_queues(cl_command_queue first, cl_command_queue second)
{
    int values[1024] = { 0 }, part[256];
    cl_event written, added, read;
    cl_int result;
    const cl_mem buffer = buffer_of(sizeof values, NULL);
    const cl_buffer_region region = { 1024, 1024 };
    const cl_mem sub =
        clCreateSubBuffer(buffer, CL_MEM_READ_WRITE,
                          CL_BUFFER_CREATE_TYPE_REGION, &region, &result);
    fine(result, "clCreateSubBuffer");
    const cl_mem copy = buffer_of(1024, NULL);
    const cl_kernel add = kernel_of("add");
    const cl_int five = 5, seven = 7;
    const size_t all = 1024, some = 256;
    fine(clEnqueueWriteBuffer(first, buffer, CL_FALSE, 0, sizeof values, values,
                              0, NULL, &written),
         "write");
    clSetKernelArg(add, 0, sizeof buffer, &buffer);
    clSetKernelArg(add, 1, sizeof five, &five);
    fine(clEnqueueNDRangeKernel(second, add, 1, NULL, &all, NULL, 1, &written,
                                &added),
         "add");
    clSetKernelArg(add, 0, sizeof sub, &sub);
    clSetKernelArg(add, 1, sizeof seven, &seven);
    fine(clEnqueueNDRangeKernel(first, add, 1, NULL, &some, NULL, 1, &added,
                                NULL),
         "add to sub-buffer");
    fine(clEnqueueCopyBuffer(first, sub, copy, 0, 0, 1024, 0, NULL, NULL),
         "copy");
    fine(clEnqueueReadBuffer(first, copy, CL_FALSE, 0, sizeof part, part, 0,
                             NULL, &read),
         "read");
    fine(clWaitForEvents(1, &read), "wait");
    printf("two queues: %d %d, references %u %u\n", part[0], part[255],
           references(written), references(added));
    cl_ulong time = 77;
    printf("profiling: %d %d\n",
           clGetEventProfilingInfo(read, CL_PROFILING_COMMAND_END, sizeof time,
                                   &time, NULL),
           (int)time);
    clRetainEvent(read);
    clReleaseEvent(read);
    clReleaseEvent(written);
    clReleaseEvent(added);
    clReleaseEvent(read);
    clReleaseMemObject(sub);
    clReleaseMemObject(buffer);
    clReleaseMemObject(copy);
    clReleaseKernel(add);
}

// A queue of any order: 4 kernels after a user event, a marker, a barrier, a
// kernel behind it, a wait of the host for three of them.
static void out_of_order(void)
{
    const cl_command_queue queue =
        queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    show_queue("out of order", queue);
    int values[256] = { 0 };
    cl_mem buffers[4];
    cl_event events[4], marker, last;
    cl_int result;
    const cl_kernel add = kernel_of("add");
    const size_t count = 256;
    const cl_event user = clCreateUserEvent(context, &result);
    fine(result, "clCreateUserEvent");
    for (cl_int i = 0; i < 4; i++) {
        buffers[i] = buffer_of(sizeof values, values);
        clSetKernelArg(add, 0, sizeof buffers[i], &buffers[i]);
        clSetKernelArg(add, 1, sizeof i, &i);
        fine(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 1,
                                    i < 3 ? &user : &events[0], &events[i]),
             "add");
    }
    fine(clEnqueueMarkerWithWaitList(queue, 2, events, &marker), "marker");
    fine(clSetUserEventStatus(user, CL_COMPLETE), "user event");
    fine(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL), "barrier");
    fine(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL,
                                &last),
         "add");
    fine(clWaitForEvents(3, (cl_event[]){ events[1], last, marker }), "wait");
    fine(clEnqueueReadBuffer(queue, buffers[3], CL_TRUE, 0, sizeof values,
                             values, 0, NULL, NULL),
         "read");
    fine(clFinish(queue), "finish");
    printf("out of order: %d\n", values[255]);
    for (int i = 0; i < 4; i++) {
        clReleaseMemObject(buffers[i]);
        clReleaseEvent(events[i]);
    }
    clReleaseEvent(marker);
    clReleaseEvent(last);
    clReleaseEvent(user);
    clReleaseKernel(add);
    clReleaseCommandQueue(queue);
}

// Calls of OpenCL 1.0 on a queue of any order: 2 fills, a marker, a
// task, a barrier, a read.
static void old_calls(void)
{
    const cl_command_queue queue =
        queue_of(CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE);
    cl_event marker;
    const cl_mem buffer = buffer_of(64, NULL);
    const cl_kernel add = kernel_of("add");
    const int one = 1, zero = 0;
    int value = 0;
    for (int i = 0; i < 2; i++)
        fine(clEnqueueFillBuffer(queue, buffer, &zero, 4, 32 * (size_t)i, 32, 0,
                                 NULL, NULL),
             "fill");
    fine(clEnqueueMarker(queue, &marker), "marker");
    clSetKernelArg(add, 0, sizeof buffer, &buffer);
    clSetKernelArg(add, 1, sizeof one, &one);
    fine(clEnqueueTask(queue, add, !racy, racy ? NULL : &marker, NULL), "task");
    fine(clEnqueueBarrier(queue), "barrier");
    fine(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, &value, 1,
                             &marker, NULL),
         "read");
    printf("old calls: %d %d\n", value, clEnqueueMarker(queue, NULL));
    clReleaseEvent(marker);
    clReleaseKernel(add);
    clReleaseMemObject(buffer);
    clReleaseCommandQueue(queue);
}

// 1 write, 1 kernel, 1 copy, 1 read of images; a map and an unmap.
static void images(cl_command_queue queue)
{
    const cl_image_format format = { CL_RGBA, CL_UNSIGNED_INT8 };
    cl_image_desc desc;
    unsigned char pixels[16 * 16 * 4];
    cl_int result;
    memset(&desc, 0, sizeof desc);
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = desc.image_height = 16;
    for (size_t i = 0; i < sizeof pixels; i++)
        pixels[i] = (unsigned char)i;
    cl_mem image[3];
    for (int i = 0; i < 3; i++) {
        image[i] = clCreateImage(context, CL_MEM_READ_WRITE, &format, &desc,
                                 NULL, &result);
        fine(result, "clCreateImage");
    }
    const size_t origin[3] = { 0, 0, 0 }, region[3] = { 16, 16, 1 };
    const cl_kernel invert = kernel_of("invert");
    clSetKernelArg(invert, 0, sizeof image[0], &image[0]);
    clSetKernelArg(invert, 1, sizeof image[1], &image[1]);
    fine(clEnqueueWriteImage(queue, image[0], CL_FALSE, origin, region, 0, 0,
                             pixels, 0, NULL, NULL),
         "write image");
    fine(clEnqueueNDRangeKernel(queue, invert, 2, NULL, region, NULL, 0, NULL,
                                NULL),
         "invert");
    fine(clEnqueueCopyImage(queue, image[1], image[2], origin, origin, region,
                            0, NULL, NULL),
         "copy image");
    fine(clEnqueueReadImage(queue, image[2], CL_TRUE, origin, region, 0, 0,
                            pixels, 0, NULL, NULL),
         "read image");
    size_t pitch;
    unsigned char *const mapped =
        clEnqueueMapImage(queue, image[2], CL_TRUE, CL_MAP_READ, origin, region,
                          &pitch, NULL, 0, NULL, NULL, &result);
    fine(result, "map image");
    printf("images: %d %d %d\n", pixels[0], pixels[100], mapped[5]);
    fine(clEnqueueUnmapMemObject(queue, image[2], mapped, 0, NULL, NULL),
         "unmap image");
    fine(clFinish(queue), "finish");
    for (int i = 0; i < 3; i++)
        clReleaseMemObject(image[i]);
    clReleaseKernel(invert);
}

// A map, an unmap, a rectangle each way, a migration; SVM: a map, a fill, an
// unmap, a copy, a kernel, a free on the queue.
static void other_memory(cl_command_queue queue)
{
    int values[256];
    cl_int result;
    const cl_mem buffer = buffer_of(sizeof values, NULL);
    int *const mapped =
        clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE, 0,
                           sizeof values, 0, NULL, NULL, &result);
    fine(result, "map");
    for (int i = 0; i < 256; i++)
        mapped[i] = i;
    fine(clEnqueueUnmapMemObject(queue, buffer, mapped, 0, NULL, NULL),
         "unmap");
    fine(clEnqueueMigrateMemObjects(queue, 1, &buffer,
                                    CL_MIGRATE_MEM_OBJECT_HOST, 0, NULL, NULL),
         "migrate");
    const size_t origin[3] = { 16, 2, 0 }, zero[3] = { 0, 0, 0 };
    const size_t region[3] = { 32, 4, 1 }, lower[3] = { 0, 8, 0 };
    memset(values, 0, sizeof values);
    fine(clEnqueueReadBufferRect(queue, buffer, CL_TRUE, origin, zero, region,
                                 64, 0, 32, 0, values, 0, NULL, NULL),
         "read rectangle");
    fine(clEnqueueWriteBufferRect(queue, buffer, CL_TRUE, zero, zero, region,
                                  64, 0, 32, 0, values, 0, NULL, NULL),
         "write rectangle");
    fine(clEnqueueCopyBufferRect(queue, buffer, buffer, zero, lower, region, 64,
                                 0, 64, 0, 0, NULL, NULL),
         "copy rectangle");
    printf("rectangle: %d %d\n", values[0], values[31]);
    int *const shared = clSVMAlloc(context, CL_MEM_READ_WRITE, 1024, 0);
    int *const other = clSVMAlloc(context, CL_MEM_READ_WRITE, 1024, 0);
    if (!shared || !other) exit(2);
    const int three = 3;
    const size_t count = 256;
    const cl_kernel add = kernel_of("add");
    fine(clEnqueueSVMMemFill(queue, shared, &three, sizeof three, 1024, 0, NULL,
                             NULL),
         "SVM fill");
    clSetKernelArgSVMPointer(add, 0, shared);
    clSetKernelArg(add, 1, sizeof three, &three);
    fine(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 0, NULL,
                                NULL),
         "SVM kernel");
    fine(clEnqueueSVMMemcpy(queue, CL_TRUE, other, shared, 1024, 0, NULL, NULL),
         "SVM copy");
    fine(clEnqueueSVMMap(queue, CL_TRUE, CL_MAP_READ, other, 1024, 0, NULL,
                         NULL),
         "SVM map");
    printf("SVM: %d\n", other[255]);
    fine(clEnqueueSVMUnmap(queue, other, 0, NULL, NULL), "SVM unmap");
    void *gone = shared;
    fine(clEnqueueSVMFree(queue, 1, &gone, NULL, NULL, 0, NULL, NULL),
         "SVM free");
    fine(clFinish(queue), "finish");
    clSVMFree(context, other);
    clReleaseMemObject(buffer);
    clReleaseKernel(add);
}

// 8 threads, each with a queue of its own, and all on one.
static cl_command_queue shared_queue;

static void *thread_run(void *result)
{
    int value[64] = { 0 };
    const cl_command_queue queue = queue_of(0);
    const cl_mem buffer = buffer_of(sizeof value, value);
    const cl_kernel add = kernel_of("add");
    const cl_int one = 1;
    const size_t count = 64;
    clSetKernelArg(add, 0, sizeof buffer, &buffer);
    clSetKernelArg(add, 1, sizeof one, &one);
    for (int i = 0; i < ROUNDS; i++) {
        fine(clEnqueueNDRangeKernel(i % 2 ? queue : shared_queue, add, 1, NULL,
                                    &count, &count, 0, NULL, NULL),
             "add");
        if (i % 2 == 0) fine(clFinish(shared_queue), "finish");
        if (i % 2 == 1) fine(clFinish(queue), "finish");
    }
    fine(clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, sizeof value, value, 0,
                             NULL, NULL),
         "read");
    *(int *)result = value[63];
    clReleaseMemObject(buffer);
    clReleaseKernel(add);
    clReleaseCommandQueue(queue);
    return NULL;
}

static void threads(cl_command_queue queue)
{
    pthread_t thread[THREADS];
    int result[THREADS], sum = 0;
    shared_queue = queue;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&thread[i], NULL, thread_run, &result[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        sum += result[i];
    }
    printf("threads: %d\n", sum);
}

// Calls that fail, and one command that does.
static void failures(cl_command_queue queue)
{
    cl_int result;
    cl_event user, after;
    char byte = 0;
    const cl_mem buffer = buffer_of(16, NULL);
    printf("failures: %d", clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, 1024,
                                               &byte, 0, NULL, NULL));
    printf(" %d", clFinish(NULL));
    user = clCreateUserEvent(context, &result);
    const cl_kernel add = kernel_of("add");
    const cl_int one = 1;
    const size_t count = 1;
    clSetKernelArg(add, 0, sizeof buffer, &buffer);
    clSetKernelArg(add, 1, sizeof one, &one);
    fine(clEnqueueNDRangeKernel(queue, add, 1, NULL, &count, NULL, 1, &user,
                                &after),
         "add");
    fine(clSetUserEventStatus(user, -42), "user event");
    cl_int status = 9;
    do
        clGetEventInfo(after, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status,
                       &status, NULL);
    while (status > 0);
    printf(" %s\n", status < 0 ? "negative" : "done");
    clReleaseEvent(user);
    clReleaseEvent(after);
    clReleaseKernel(add);
    clReleaseMemObject(buffer);
}

static void CL_CALLBACK context_gone(cl_context unused, void *user)
{
    (void)unused;
    __atomic_store_n((int *)user, 1, __ATOMIC_RELEASE);
}

int main(int argc, char **argv)
{
    cl_platform_id platform;
    cl_int result;
    int gone = 0;
    racy = argc > 1 && !strcmp(argv[1], "racy");
    fine(clGetPlatformIDs(1, &platform, NULL), "clGetPlatformIDs");
    fine(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL),
         "clGetDeviceIDs");
    context = clCreateContext(NULL, 1, &device, NULL, NULL, &result);
    fine(result, "clCreateContext");
    clSetContextDestructorCallback(context, context_gone, &gone);
    program = clCreateProgramWithSource(context, 1, (const char **)&source,
                                        NULL, &result);
    fine(result, "clCreateProgramWithSource");
    fine(clBuildProgram(program, 1, &device, "", NULL, NULL), "clBuildProgram");
    const cl_command_queue queue = queue_of(0);
    const cl_command_queue old = clCreateCommandQueue(
        context, device, CL_QUEUE_PROFILING_ENABLE, &result);
    fine(result, "clCreateCommandQueue");
    show_queue("in order", queue);
    show_queue("with profiling", old);
    matrix_product(queue);
    two_queues(queue, old);
    out_of_order();
    old_calls();
    images(queue);
    other_memory(queue);
    threads(queue);
    failures(old);
    fine(clFinish(queue), "finish");
    show_queue("in order", queue);
    clReleaseCommandQueue(queue);
    clReleaseCommandQueue(old);
    clReleaseProgram(program);
    clReleaseContext(context);
    // The driver lets go of it on a thread of its own.
    for (int i = 0; i < MOMENTS && !__atomic_load_n(&gone, __ATOMIC_ACQUIRE);
         i++)
        nanosleep(&moment, NULL);
    printf("context: %d\n", __atomic_load_n(&gone, __ATOMIC_ACQUIRE));
    return 4;
}
