// Heat that spreads in an image, read through a sampler; boxes and fills.
#include "common.h"

enum { WIDTH = 32, HEIGHT = 24, STEPS = 3 };

static const char source[] =
    "kernel void spread(read_only image2d_t from, sampler_t how,\n"
    "                   write_only image2d_t to) {\n"
    "    int2 at = (int2)(get_global_id(0), get_global_id(1));\n"
    "    float4 sum = read_imagef(from, how, at + (int2)(-1, 0)) +\n"
    "                 read_imagef(from, how, at + (int2)(1, 0)) +\n"
    "                 read_imagef(from, how, at + (int2)(0, -1)) +\n"
    "                 read_imagef(from, how, at + (int2)(0, 1));\n"
    "    write_imagef(to, at, sum / 4);\n"
    "}\n";

static float now[HEIGHT][WIDTH], next[HEIGHT][WIDTH];

static void spread_here(void)
{
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            const int l = x ? x - 1 : 0, r = x + 1 < WIDTH ? x + 1 : x;
            const int u = y ? y - 1 : 0, d = y + 1 < HEIGHT ? y + 1 : y;
            next[y][x] = (now[y][l] + now[y][r] + now[u][x] + now[d][x]) / 4;
        }
    memcpy(now, next, sizeof now);
}

static cl_mem image(void)
{
    const cl_image_format format = { CL_R, CL_FLOAT };
    const cl_image_desc desc = { .image_type = CL_MEM_OBJECT_IMAGE2D,
                                 .image_width = WIDTH,
                                 .image_height = HEIGHT };
    const cl_mem made = clCreateImage(context, 0, &format, &desc, NULL, &error);
    need(error, "clCreateImage");
    return made;
}

// What a box of the result holds, by way of a buffer and of a map.
static int boxes(cl_mem result)
{
    static const size_t all[3] = { WIDTH, HEIGHT, 1 }, zero[3];
    const size_t box[3] = { 8 * sizeof(float), 4, 1 };
    const size_t from[3] = { 2 * sizeof(float), 3, 0 }, to[3] = { 0, 1, 0 };
    const float two[2] = { -1, -2 };
    float part[6][8];
    int right = 1;
    const cl_mem buffer = buffer_of(sizeof now, NULL);
    const cl_mem small = buffer_of(sizeof part, NULL);
    need(clEnqueueCopyImageToBuffer(queue, result, buffer, zero, all, 0, 0,
                                    NULL, NULL),
         "image to buffer");
    need(clEnqueueFillBuffer(queue, small, two, sizeof two, 0, sizeof part, 0,
                             NULL, NULL),
         "fill");
    need(clEnqueueCopyBufferRect(queue, buffer, small, from, to, box,
                                 sizeof *now, 0, sizeof *part, 0, 0, NULL,
                                 NULL),
         "box");
    const float *const mapped =
        clEnqueueMapBuffer(queue, small, CL_TRUE, CL_MAP_READ, 0, sizeof part,
                           0, NULL, NULL, &error);
    need(error, "map");
    memcpy(part, mapped, sizeof part);
    need(clEnqueueUnmapMemObject(queue, small, (void *)(size_t)mapped, 0, NULL,
                                 NULL),
         "unmap");
    for (int y = 0; y < 6; y++)
        for (int x = 0; x < 8; x++)
            right &=
                part[y][x] == (y < 1 || y > 4 ? two[x % 2] : now[y + 2][x + 2]);
    clReleaseMemObject(buffer);
    clReleaseMemObject(small);
    return right;
}

int main(void)
{
    static const size_t all[3] = { WIDTH, HEIGHT, 1 }, zero[3];
    static const size_t spot[3] = { 5, 4, 0 }, spot_size[3] = { 7, 6, 1 };
    const float cold[4] = { 2 }, hot[4] = { 96 };
    static float result[HEIGHT][WIDTH];
    start(0, source, "");
    const cl_kernel spread = kernel_of("spread");
    const cl_sampler edge = clCreateSampler(
        context, CL_FALSE, CL_ADDRESS_CLAMP_TO_EDGE, CL_FILTER_NEAREST, &error);
    need(error, "clCreateSampler");
    cl_mem a = image(), b = image();
    need(clEnqueueFillImage(queue, a, cold, zero, all, 0, NULL, NULL), "cold");
    need(clEnqueueFillImage(queue, a, hot, spot, spot_size, 0, NULL, NULL),
         "hot");
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++)
            now[y][x] = x >= 5 && x < 12 && y >= 4 && y < 10 ? 96 : 2;
    for (int i = 0; i < STEPS; i++) {
        ARG(spread, 0, a);
        ARG(spread, 1, edge);
        ARG(spread, 2, b);
        need(clEnqueueNDRangeKernel(queue, spread, 2, NULL, all, NULL, 0, NULL,
                                    NULL),
             "spread");
        const cl_mem swap = a;
        a = b;
        b = swap;
        spread_here();
    }
    need(clEnqueueReadImage(queue, a, CL_TRUE, zero, all, 0, 0, result, 0, NULL,
                            NULL),
         "read");
    const int right = !memcmp(result, now, sizeof now) && boxes(a);
    clReleaseKernel(spread);
    clReleaseSampler(edge);
    clReleaseMemObject(a);
    clReleaseMemObject(b);
    return finish("stencil", right);
}
