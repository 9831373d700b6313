// A capture of OpenCL holds what the program did, to the byte.
#include "tests/backends/opencl/opencl_capture_fixture.h"

UNIT_TEST(a_kernel_is_kept_as_it_was_enqueued)
{
    float x[64], y[64], after[64];
    for (int i = 0; i < 64; i++)
        x[i] = (float)i, y[i] = (float)(2 * i), after[i] = y[i];
    const cl_mem in =
        memory_of(CL_MEM_READ_ONLY | CL_MEM_COPY_HOST_PTR, sizeof x, x);
    const cl_mem out =
        memory_of(CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof y, y);
    const char *const path = begin("kernel.sbt", "all");
    const cl_kernel axpy = kept_kernel("axpy");
    const cl_float4 a = { { 3, 4, 5, 6 } };
    const cl_char b = 7;
    const size_t offset = 16, count = 32, group = 8;
    fine(clSetKernelArg(axpy, 0, sizeof out, &out));
    fine(clSetKernelArg(axpy, 1, sizeof in, &in));
    fine(clSetKernelArg(axpy, 2, sizeof a, &a));
    fine(clSetKernelArg(axpy, 3, sizeof b, &b));
    fine(clSetKernelArg(axpy, 4, 32, NULL));
    fine(clEnqueueNDRangeKernel(queue, axpy, 1, &offset, &count, &group, 0,
                                NULL, NULL));
    fine(clFinish(queue));
    for (int i = 16; i < 48; i++)
        after[i] += 3 * x[i] + 7 + 2;
    ts_reader *const reader = end(path);
    assert_int_equal(1, ts_reader_capture_count(reader));
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
    assert_string_equal(ct_name(reader, c.head.name), "axpy");
    assert_string_equal(ct_name(reader, c.head.vendor), "opencl");
    assert_int_equal(c.head.grid[0], 4);
    assert_int_equal(c.head.block[0], 8);
    assert_int_equal(c.head.block[1], 1);
    assert_int_equal(c.head.shared, 32);
    assert_int_equal(c.head.param_count, 5);
    ct_param(&c, 0, TS_PARAM_POINTER, NULL, 8);
    ct_param(&c, 1, TS_PARAM_POINTER, NULL, 8);
    ct_param(&c, 2, TS_PARAM_UNKNOWN, &a, 16);
    ct_param(&c, 3, TS_PARAM_UNKNOWN, &b, 1);
    ct_param(&c, 4, TS_PARAM_LOCAL, &(uint64_t){ 32 }, 8);
    ct_is(reader, &c, ct_value(&c, 0), true, y, sizeof y);
    ct_is(reader, &c, ct_value(&c, 0), false, after, sizeof after);
    ct_is(reader, &c, ct_value(&c, 1), true, x, sizeof x);
    const uint64_t sizes[3] = { 32, 0, 0 }, offsets[3] = { 16, 0, 0 };
    assert_memory_equal(ct_attribute(&c, TS_ATTRIBUTE_GLOBAL_SIZE, 24, 0),
                        sizes, 24);
    assert_memory_equal(ct_attribute(&c, TS_ATTRIBUTE_GLOBAL_OFFSET, 24, 0),
                        offsets, 24);
    ts_capture_image image;
    const void *bytes;
    size_t size;
    assert_true(ts_reader_image(reader, c.head.image, &image));
    assert_int_equal(image.form, TS_CAPTURE_OPENCL_C);
    assert_string_equal(ct_name(reader, image.options), kept_options);
    assert_int_equal(ts_reader_blob(reader, image.hash, &bytes, &size), TS_OK);
    assert_int_equal(size, strlen(kept_source));
    assert_memory_equal(bytes, kept_source, size);
    ts_reader_close(reader);
    clReleaseKernel(axpy);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

UNIT_TEST(dimensions_and_a_size_left_to_the_driver_are_told_apart)
{
    const cl_mem to = buffer_of(64);
    const size_t three[3] = { 16, 1, 1 };
    const cl_int one = 1;
    int zero[16] = { 0 };
    const char *const path = begin("range.sbt", "all");
    fine(clEnqueueWriteBuffer(queue, to, CL_FALSE, 0, 64, zero, 0, NULL, NULL));
    const cl_kernel bump = kept_kernel("bump");
    fine(clSetKernelArg(bump, 0, sizeof to, &to));
    fine(clSetKernelArg(bump, 1, sizeof one, &one));
    const cl_kernel clone = clCloneKernel(bump, NULL);
    fine(clEnqueueNDRangeKernel(queue, clone, 3, NULL, three, NULL, 0, NULL,
                                NULL));
    fine(clEnqueueTask(queue, bump, 0, NULL, NULL));
    fine(clFinish(queue));
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture task = ct_nth(reader, TS_EVENT_KERNEL, 1);
    const uint64_t sizes[2][3] = { { 16, 1, 1 }, { 1, 0, 0 } };
    const uint32_t unknown[3] = { 0, 0, 0 }, ones[3] = { 1, 1, 1 };
    const int left[2] = { 31, 42 };
    assert_memory_equal(c.head.block, unknown, sizeof unknown);
    assert_memory_equal(task.head.block, ones, sizeof ones);
    assert_memory_equal(ct_attribute(&c, TS_ATTRIBUTE_GLOBAL_SIZE, 24, 0),
                        sizes[0], 24);
    assert_memory_equal(ct_attribute(&task, TS_ATTRIBUTE_GLOBAL_SIZE, 24, 0),
                        sizes[1], 24);
    assert_memory_equal(ct_attribute(&c, TS_ATTRIBUTE_DIMENSIONS, 4, 0),
                        &(uint32_t){ 3 }, 4);
    ct_param(&c, 1, TS_PARAM_UNKNOWN, &one, 4);
    ct_is(reader, &c, ct_value(&c, 0), true, zero, 64);
    ct_is(reader, &c, ct_value(&c, 0), false, &left[0], 4);
    ct_is(reader, &task, ct_value(&task, 0), false, &left[1], 4);
    assert_int_equal(c.head.image, task.head.image);
    ts_reader_close(reader);
    clReleaseKernel(clone);
    clReleaseKernel(bump);
    clReleaseMemObject(to);
}

UNIT_TEST(a_part_of_a_buffer_lies_in_it)
{
    int values[1024];
    for (int i = 0; i < 1024; i++)
        values[i] = i;
    const cl_mem whole = memory_of(CL_MEM_COPY_HOST_PTR, sizeof values, values);
    const cl_buffer_region region = { 2048, 1024 };
    const cl_mem part = clCreateSubBuffer(
        whole, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, NULL);
    const char *const path = begin("part.sbt", "all");
    bump_enqueue(queue, part, 5, 4, 0, NULL);
    fine(clEnqueueReadBuffer(queue, part, CL_TRUE, 4, 12, values, 0, NULL,
                             NULL));
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const int first[2] = { 0, 1 }, left[5] = { 527, 528, 529, 530, 516 };
    assert_int_equal(c.head.region_count, 1);
    assert_int_equal(c.regions[0].size, 4096);
    assert_int_equal(ct_value(&c, 0), c.regions[0].address + 2048);
    ct_is(reader, &c, c.regions[0].address, false, first, sizeof first);
    ct_is(reader, &c, ct_value(&c, 0), false, left, sizeof left);
    const ts_capture copy = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    assert_int_equal(copy.head.source, c.regions[0].address + 2052);
    assert_int_equal(copy.head.destination, (uintptr_t)values);
    assert_int_equal(copy.head.size, 12);
    ct_is(reader, &copy, (uintptr_t)values, false, left + 1, 12);
    ts_reader_close(reader);
    clReleaseMemObject(part);
    clReleaseMemObject(whole);
}

UNIT_TEST(copies_and_fills_have_their_boxes_and_patterns)
{
    uint8_t bytes[256], want[256] = { 0 }, back[8 * 4];
    for (int i = 0; i < 256; i++)
        bytes[i] = (uint8_t)i;
    const cl_mem to = buffer_of(256);
    const char *const path = begin("copies.sbt", "all");
    const cl_short pattern = 0x1234;
    const size_t origin[3] = { 4, 1, 0 }, host[3] = { 2, 3, 0 };
    const size_t region[3] = { 8, 4, 1 };
    fine(clEnqueueFillBuffer(queue, to, &pattern, 2, 0, 256, 0, NULL, NULL));
    fine(clEnqueueWriteBufferRect(queue, to, CL_FALSE, origin, host, region, 32,
                                  0, 16, 0, bytes, 0, NULL, NULL));
    fine(clEnqueueReadBufferRect(queue, to, CL_TRUE, origin,
                                 (size_t[3]){ 0, 0, 0 }, region, 32, 0, 0, 0,
                                 back, 0, NULL, NULL));
    ts_reader *const reader = end(path);
    for (int i = 0; i < 256; i += 2)
        memcpy(want + i, &pattern, 2);
    const ts_capture fill = ct_nth(reader, TS_EVENT_MEMSET, 0);
    assert_memory_equal(ct_attribute(&fill, TS_ATTRIBUTE_PATTERN, 2, 0),
                        &pattern, 2);
    assert_int_equal(fill.head.size, 256);
    const uint64_t at = fill.head.destination;
    ct_is(reader, &fill, at, false, want, 256);
    const ts_capture write = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    const ts_capture_geometry g = { { 2, 3, 0 }, { 4, 1, 0 }, { 8, 4, 1 }, 16,
                                    64,          32,          128 };
    assert_memory_equal(
        ct_attribute(&write, TS_ATTRIBUTE_GEOMETRY, sizeof g, 0), &g, sizeof g);
    assert_int_equal(write.head.source, (uintptr_t)bytes);
    assert_int_equal(write.head.destination, at);
    ct_is(reader, &write, (uintptr_t)bytes + 50, true, bytes + 50, 56);
    for (int row = 0; row < 4; row++)
        memcpy(want + 36 + 32 * row, bytes + 50 + 16 * row, 8);
    ct_is(reader, &write, at, false, want, 256);
    const ts_capture read = ct_nth(reader, TS_EVENT_MEMCPY, 1);
    ct_is(reader, &read, (uintptr_t)back, false, back, sizeof back);
    assert_memory_equal(back, want + 36, 8);
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

UNIT_TEST(what_is_written_through_a_map_is_a_copy)
{
    static int own[64];
    cl_int result;
    const cl_mem to = memory_of(CL_MEM_USE_HOST_PTR, sizeof own, own);
    const char *const path = begin("map.sbt", "all");
    bump_enqueue(queue, to, 1, 64, 0, NULL);
    int *const at =
        clEnqueueMapBuffer(queue, to, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 16,
                           32, 0, NULL, NULL, &result);
    fine(result);
    for (int i = 0; i < 8; i++)
        at[i] = 100 + i;
    fine(clEnqueueUnmapMemObject(queue, to, at, 0, NULL, NULL));
    bump_enqueue(queue, to, 1, 64, 0, NULL);
    const int *const seen = clEnqueueMapBuffer(queue, to, CL_TRUE, CL_MAP_READ,
                                               0, 8, 0, NULL, NULL, &result);
    fine(clEnqueueUnmapMemObject(queue, to, (void *)(uintptr_t)seen, 0, NULL,
                                 NULL));
    fine(clFinish(queue));
    ts_reader *const reader = end(path);
    const ts_capture unmap = ct_nth(reader, TS_EVENT_MEMCPY, 1);
    const int written[8] = { 100, 101, 102, 103, 104, 105, 106, 107 };
    const int before[5] = { 11, 11, 11, 11, 100 };
    assert_int_equal(unmap.head.size, 32);
    assert_int_equal(unmap.head.source, (uintptr_t)at);
    ct_is(reader, &unmap, (uintptr_t)at, true, written, sizeof written);
    ct_is(reader, &unmap, unmap.head.destination, false, written,
          sizeof written);
    const ts_capture second = ct_nth(reader, TS_EVENT_KERNEL, 1);
    ct_is(reader, &second, unmap.head.destination - 16, true, before,
          sizeof before);
    for (size_t i = 0; i < 4; i++) { // a map, and all of what only reads
        const ts_capture c = ct_nth(reader, TS_EVENT_MEMCPY, i);
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        assert_int_equal(c.head.size, i == 1 ? 32 : 0);
        assert_int_equal(c.head.region_count, i == 1 ? 2 : 0);
    }
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

UNIT_TEST(images_and_samplers_are_described)
{
    uint8_t pixels[16 * 8 * 4], inverse[sizeof pixels];
    cl_int result;
    for (size_t i = 0; i < sizeof pixels; i++) {
        pixels[i] = (uint8_t)i;
        inverse[i] = (uint8_t)(255 - pixels[i]);
    }
    const cl_mem in = image_of(CL_MEM_OBJECT_IMAGE2D, 16, 8, 0, NULL);
    const cl_mem out = image_of(CL_MEM_OBJECT_IMAGE2D, 16, 8, 0, NULL);
    const size_t origin[3] = { 0, 0, 0 }, region[3] = { 16, 8, 1 };
    const cl_uint color[4] = { 1, 2, 3, 4 };
    const uint8_t filled[8] = { 1, 2, 3, 4, 1, 2, 3, 4 };
    const char *const path = begin("images.sbt", "all");
    const cl_sampler sampler = clCreateSampler(
        context, CL_FALSE, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST, &result);
    fine(result);
    const cl_kernel invert = kept_kernel("invert");
    fine(clSetKernelArg(invert, 0, sizeof in, &in));
    fine(clSetKernelArg(invert, 1, sizeof out, &out));
    fine(clSetKernelArg(invert, 2, sizeof sampler, &sampler));
    fine(clEnqueueFillImage(queue, out, color, origin, region, 0, NULL, NULL));
    fine(clEnqueueWriteImage(queue, in, CL_FALSE, origin, region, 0, 0, pixels,
                             0, NULL, NULL));
    fine(clEnqueueNDRangeKernel(queue, invert, 2, NULL, region, NULL, 0, NULL,
                                NULL));
    fine(clFinish(queue));
    ts_reader *const reader = end(path);
    const ts_capture fill = ct_nth(reader, TS_EVENT_MEMSET, 0);
    assert_memory_equal(ct_attribute(&fill, TS_ATTRIBUTE_PATTERN, 16, 0), color,
                        16);
    ct_is(reader, &fill, fill.head.destination, false, filled, sizeof filled);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    const ts_capture_sampler s = { 0, 0, CL_ADDRESS_CLAMP, CL_FILTER_NEAREST };
    ct_param(&c, 0, TS_PARAM_OBJECT, NULL, 8);
    ct_param(&c, 1, TS_PARAM_OBJECT, &fill.head.destination, 8);
    ct_param(&c, 2, TS_PARAM_SAMPLER, &(uint64_t){ 0 }, 8);
    assert_memory_equal(ct_attribute(&c, TS_ATTRIBUTE_SAMPLER, sizeof s, 0), &s,
                        sizeof s);
    const ts_capture_object *const about =
        ct_attribute(&c, TS_ATTRIBUTE_IMAGE, sizeof *about, 1);
    assert_int_equal(about->address, ct_value(&c, 1));
    assert_int_equal(about->order, CL_RGBA);
    assert_int_equal(about->type, CL_UNSIGNED_INT8);
    assert_int_equal(about->object_type, CL_MEM_OBJECT_IMAGE2D);
    assert_int_equal(about->width, 16);
    assert_int_equal(about->height, 8);
    assert_int_equal(about->row_pitch, 64);
    ct_is(reader, &c, ct_value(&c, 0), true, pixels, sizeof pixels);
    ct_is(reader, &c, ct_value(&c, 1), true, filled, sizeof filled);
    ct_is(reader, &c, ct_value(&c, 1), false, inverse, sizeof inverse);
    const ts_capture write = ct_nth(reader, TS_EVENT_MEMCPY, 0);
    const ts_capture_copy_image which = { 1, 0, ct_value(&c, 0) };
    assert_memory_equal(
        ct_attribute(&write, TS_ATTRIBUTE_COPY_IMAGE, sizeof which, 0), &which,
        sizeof which);
    assert_int_equal(write.head.destination, which.address);
    ts_reader_close(reader);
    clReleaseKernel(invert);
    clReleaseSampler(sampler);
    clReleaseMemObject(in);
    clReleaseMemObject(out);
}

// Every type: a part is written, at a different place of each.
UNIT_TEST(images_of_every_type_are_kept_to_the_byte)
{
    static const cl_mem_object_type types[] = { CL_MEM_OBJECT_IMAGE1D,
                                                CL_MEM_OBJECT_IMAGE1D_ARRAY,
                                                CL_MEM_OBJECT_IMAGE2D,
                                                CL_MEM_OBJECT_IMAGE2D_ARRAY,
                                                CL_MEM_OBJECT_IMAGE3D };
    uint8_t bytes[1024];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7 + 1);
    const char *const path = begin("types.sbt", "all");
    for (size_t i = 0; i < 5; i++) {
        const cl_mem image = image_of(types[i], 8, 4, 3, NULL);
        const cl_uint zero[4] = { 0, 0, 0, 0 };
        const bool rows = i > 0, planes = i > 2;
        const size_t all[3] = { 8, rows ? 4 : 1, planes ? 3 : 1 };
        const size_t none[3] = { 0, 0, 0 };
        const size_t origin[3] = { 2, rows, planes };
        const size_t region[3] = { 5, rows ? 2 : 1, planes ? 2 : 1 };
        fine(clEnqueueFillImage(queue, image, zero, none, all, 0, NULL, NULL));
        fine(clEnqueueWriteImage(queue, image, CL_TRUE, origin, region, 0, 0,
                                 bytes, 0, NULL, NULL));
        clReleaseMemObject(image);
    }
    ts_reader *const reader = end(path);
    for (size_t i = 0; i < 5; i++) {
        const ts_capture c = ct_nth(reader, TS_EVENT_MEMCPY, i);
        const uint64_t rows = i > 0, planes = i > 2;
        uint8_t want[8 * 4 * 4 * 3] = { 0 };
        const size_t size = 32 * (rows ? 4u : 1u) * (planes ? 3u : 1u);
        for (size_t z = 0; z < (planes ? 2u : 1u); z++)
            for (size_t y = 0; y < (rows ? 2u : 1u); y++)
                memcpy(want + 128 * (z + planes) + 32 * (y + rows) + 8,
                       bytes + 20 * (y + (rows ? 2u : 1u) * z), 20);
        assert_int_equal(c.head.state, TS_CAPTURE_WHOLE);
        ct_is(reader, &c, c.head.destination, false, want, size);
    }
    ts_reader_close(reader);
}

// Command buffers pass by.
UNIT_TEST(what_extensions_write_is_read)
{
    cl_platform_id of;
    cl_int result;
    const cl_int zero = 0, five = 5;
    fine(clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof of, &of, NULL));
#define ASK(name) \
    const name##_fn name = \
        (name##_fn)clGetExtensionFunctionAddressForPlatform(of, #name)
    ASK(clCreateCommandBufferKHR);
    ASK(clCommandFillBufferKHR);
    ASK(clFinalizeCommandBufferKHR);
    ASK(clEnqueueCommandBufferKHR);
    ASK(clReleaseCommandBufferKHR);
    if (!clCreateCommandBufferKHR || !clEnqueueCommandBufferKHR) skip();
    const cl_mem to = buffer_of(64);
    const char *const path = begin("extension.sbt", "all");
    fine(clEnqueueFillBuffer(queue, to, &zero, 4, 0, 64, 0, NULL, NULL));
    const cl_command_buffer_khr buffer =
        clCreateCommandBufferKHR(1, &queue, NULL, &result);
    fine(result);
    fine(clCommandFillBufferKHR(buffer, NULL, to, &five, 4, 0, 64, 0, NULL,
                                NULL, NULL));
    fine(clFinalizeCommandBufferKHR(buffer));
    fine(clEnqueueCommandBufferKHR(0, NULL, buffer, 0, NULL, NULL));
    fine(clFinish(queue));
    bump_enqueue(queue, to, 0, 1, 0, NULL);
    fine(clReleaseCommandBufferKHR(buffer));
    ts_reader *const reader = end(path);
    const ts_capture c = ct_nth(reader, TS_EVENT_KERNEL, 0);
    ct_is(reader, &c, ct_value(&c, 0), true, &five, 4);
    ts_reader_close(reader);
    clReleaseMemObject(to);
}

int main(void)
{
    return unit_run(open_all, close_all);
}
