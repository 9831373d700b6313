/*
    opencl_double_commands.h - what the double of OpenCL makes of commands

    Part of opencl_double.h, which includes it.
*/
#ifndef TS_TESTS_OPENCL_DOUBLE_COMMANDS_H
#define TS_TESTS_OPENCL_DOUBLE_COMMANDS_H

static unsigned double_busy; // how often the next event is asked in vain

static int32_t queued(ts__ox_handle queue, ts__ox_handle *event, int32_t result)
{
    int32_t error = 0;
    object *const q = is(queue, QUEUE);
    check(event != NULL, "nobody would know when it is done");
    if (!result) *event = make(EVENT, 0, q, &error);
    return result;
}

static int32_t double_clFlush(ts__ox_handle queue)
{
    return is(queue, QUEUE) ? 0 : BAD;
}

static int32_t double_clGetEventInfo(ts__ox_handle event, uint32_t what,
                                     size_t room, void *value, size_t *size)
{
    int32_t status = double_busy ? 1 : 0;
    if (double_busy) double_busy--;
    check(is(event, EVENT) && what == TS__OX_EVENT_EXECUTION_STATUS &&
              room == sizeof status,
          "no status");
    memcpy(value, &status, sizeof status);
    return 0;
}

// The bytes of a box; NULL: not all of it is there. size 0: nobody knows.
static uint8_t *box(uint8_t *bytes, size_t size, const size_t *origin,
                    const size_t *region, size_t *row, size_t *slice)
{
    unsigned __int128 last;
    if (!*row) *row = region[0];
    if (!*slice) *slice = region[1] * *row;
    if (!region[0] || !region[1] || !region[2] || *row < region[0]) return NULL;
    last = (unsigned __int128)(origin[2] + region[2] - 1) * *slice +
           (unsigned __int128)(origin[1] + region[1] - 1) * *row + origin[0] +
           region[0];
    if (size && (last > size || origin[2] > size || origin[1] > size ||
                 origin[0] > size || region[1] > size || region[2] > size))
        return NULL;
    return bytes + origin[2] * *slice + origin[1] * *row + origin[0];
}

static int32_t move(uint8_t *to, const uint8_t *from, const size_t *region,
                    size_t to_row, size_t to_slice, size_t row, size_t slice)
{
    if (!to || !from) return BAD;
    for (size_t z = 0; z < region[2]; z++)
        for (size_t y = 0; y < region[1]; y++)
            memmove(to + z * to_slice + y * to_row, from + z * slice + y * row,
                    region[0]);
    return 0;
}

// What backends/capture/hash.cl does, and all of it within what it was given.
static void hash(const object *kernel, size_t global, size_t local)
{
    const object *const m = is((void *)(uintptr_t)kernel->args[0], MEMORY);
    object *const to = is((void *)(uintptr_t)kernel->args[3], MEMORY);
    const uint64_t offset = kernel->args[1], size = kernel->args[2];
    const size_t chunks = local ? global / local : 0;
    check(offset <= m->size && size <= m->size - offset, "beyond its memory");
    check(chunks == (size + 65535) / 65536 && chunks * 16 <= to->size,
          "more hashes than there is room for");
    for (size_t k = 0; k < chunks; k++) {
        const size_t left = (size_t)size - k * 65536;
        const XXH128_hash_t sum = XXH3_128bits(m->bytes + offset + k * 65536,
                                               left < 65536 ? left : 65536);
        memcpy(to->bytes + 16 * k, &sum.low64, 8);
        memcpy(to->bytes + 16 * k + 8, &sum.high64, 8);
    }
}

static int32_t double_clEnqueueNDRangeKernel(ts__ox_handle queue,
                                             ts__ox_handle kernel,
                                             uint32_t dimensions,
                                             const size_t *offset,
                                             const size_t *global,
                                             const size_t *local, TS__OX_QUEUED)
{
    check(!waits && !list && is(kernel, KERNEL), "waits");
    check(dimensions >= 1 && dimensions <= 3, "dimensions");
    const object *const k = kernel;
    if (k->hashes) hash(k, *global, *local);
    if (k->hashes) return queued(queue, event, 0);
    return queued(queue, event, global[0] % 7 == 6 ? -54 : 0);
}

static int32_t double_clEnqueueReadBuffer(ts__ox_handle queue,
                                          ts__ox_handle buffer,
                                          uint32_t blocking, size_t offset,
                                          size_t size, void *host,
                                          TS__OX_QUEUED)
{
    const object *const b = is(buffer, MEMORY);
    check(!waits && !list, "waits");
    if (offset > b->size || size > b->size - offset || !size) return BAD;
    memcpy(host, b->bytes + offset, size);
    return blocking ? 0 : queued(queue, event, 0);
}

static int32_t double_clEnqueueWriteBuffer(ts__ox_handle queue,
                                           ts__ox_handle buffer,
                                           uint32_t blocking, size_t offset,
                                           size_t size, const void *host,
                                           TS__OX_QUEUED)
{
    const object *const b = is(buffer, MEMORY);
    check(!waits && !list, "waits");
    if (offset > b->size || size > b->size - offset || !size) return BAD;
    memcpy(b->bytes + offset, host, size);
    return blocking ? 0 : queued(queue, event, 0);
}

static int32_t
double_clEnqueueCopyBufferRect(ts__ox_handle queue, ts__ox_handle from,
                               ts__ox_handle to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region,
                               size_t from_row, size_t from_slice,
                               size_t to_row, size_t to_slice, TS__OX_QUEUED)
{
    const object *const a = is(from, MEMORY), *const b = is(to, MEMORY);
    check(!waits && !list, "waits");
    const uint8_t *const at =
        box(a->bytes, a->size, from_origin, region, &from_row, &from_slice);
    uint8_t *const put =
        box(b->bytes, b->size, to_origin, region, &to_row, &to_slice);
    return queued(
        queue, event,
        move(put, at, region, to_row, to_slice, from_row, from_slice));
}

static int32_t double_clEnqueueCopyBuffer(ts__ox_handle queue,
                                          ts__ox_handle from, ts__ox_handle to,
                                          size_t from_offset, size_t to_offset,
                                          size_t size, TS__OX_QUEUED)
{
    const size_t region[3] = { size, 1, 1 };
    const size_t a[3] = { from_offset }, b[3] = { to_offset };
    return double_clEnqueueCopyBufferRect(queue, from, to, a, b, region, 0, 0,
                                          0, 0, waits, list, event);
}

static int32_t
double_clEnqueueReadBufferRect(ts__ox_handle queue, ts__ox_handle buffer,
                               uint32_t blocking, const size_t *origin,
                               const size_t *host_origin, const size_t *region,
                               size_t row, size_t slice, size_t host_row,
                               size_t host_slice, void *host, TS__OX_QUEUED)
{
    const object *const b = is(buffer, MEMORY);
    check(!waits && !list, "waits");
    const uint8_t *const at =
        box(b->bytes, b->size, origin, region, &row, &slice);
    uint8_t *const put =
        box(host, 0, host_origin, region, &host_row, &host_slice);
    const int32_t result =
        move(put, at, region, host_row, host_slice, row, slice);
    return blocking ? result : queued(queue, event, result);
}

static int32_t double_clEnqueueWriteBufferRect(
    ts__ox_handle queue, ts__ox_handle buffer, uint32_t blocking,
    const size_t *origin, const size_t *host_origin, const size_t *region,
    size_t row, size_t slice, size_t host_row, size_t host_slice,
    const void *host, TS__OX_QUEUED)
{
    const object *const b = is(buffer, MEMORY);
    check(!waits && !list && !blocking, "waits");
    uint8_t *const put = box(b->bytes, b->size, origin, region, &row, &slice);
    const uint8_t *const at = box((uint8_t *)(uintptr_t)host, 0, host_origin,
                                  region, &host_row, &host_slice);
    return queued(queue, event,
                  move(put, at, region, row, slice, host_row, host_slice));
}

static int32_t double_clEnqueueFillBuffer(ts__ox_handle queue,
                                          ts__ox_handle buffer,
                                          const void *pattern,
                                          size_t pattern_size, size_t offset,
                                          size_t size, TS__OX_QUEUED)
{
    const object *const b = is(buffer, MEMORY);
    check(!waits && !list, "waits");
    if (!pattern_size || pattern_size > 128 || offset % pattern_size ||
        size % pattern_size || offset > b->size || size > b->size - offset)
        return BAD;
    for (size_t i = 0; i < size; i += pattern_size)
        memcpy(b->bytes + offset + i, pattern, pattern_size);
    return queued(queue, event, 0);
}

static bool fits(const object *o, const size_t *origin, const size_t *region)
{
    for (int i = 0; i < 3; i++)
        if (!region[i] || origin[i] > o->region[i] ||
            region[i] > o->region[i] - origin[i])
            return false;
    return true;
}

static int32_t double_clEnqueueFillImage(ts__ox_handle queue,
                                         ts__ox_handle image, const void *color,
                                         const size_t *origin,
                                         const size_t *region, TS__OX_QUEUED)
{
    const object *const o = is(image, IMAGE);
    uint8_t bytes[16];
    check(!waits && !list, "waits");
    memcpy(bytes, color, sizeof bytes);
    if (!fits(o, origin, region)) return BAD;
    o->bytes[0] = bytes[0];
    return queued(queue, event, 0);
}

static int32_t copy_image(const object *b, const object *o, size_t offset,
                          const size_t *origin, const size_t *region, bool to)
{
    const size_t size = region[0] * region[1] * region[2] * o->element;
    if (!fits(o, origin, region) || offset > b->size || size > b->size - offset)
        return BAD;
    if (to)
        memcpy(o->bytes, b->bytes + offset, size);
    else
        memcpy(b->bytes + offset, o->bytes, size);
    return 0;
}

static int32_t double_clEnqueueCopyBufferToImage(
    ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to, size_t offset,
    const size_t *origin, const size_t *region, TS__OX_QUEUED)
{
    check(!waits && !list, "waits");
    return queued(queue, event,
                  copy_image(is(from, MEMORY), is(to, IMAGE), offset, origin,
                             region, true));
}

static int32_t double_clEnqueueCopyImageToBuffer(
    ts__ox_handle queue, ts__ox_handle from, ts__ox_handle to,
    const size_t *origin, const size_t *region, size_t offset, TS__OX_QUEUED)
{
    check(!waits && !list, "waits");
    return queued(queue, event,
                  copy_image(is(to, MEMORY), is(from, IMAGE), offset, origin,
                             region, false));
}

static int32_t double_clEnqueueMarkerWithWaitList(ts__ox_handle queue,
                                                  TS__OX_QUEUED)
{
    for (uint32_t i = 0; i < waits; i++)
        is(list[i], EVENT);
    return queued(queue, event, 0);
}

static int32_t double_clEnqueueBarrierWithWaitList(ts__ox_handle queue,
                                                   TS__OX_QUEUED)
{
    return double_clEnqueueMarkerWithWaitList(queue, waits, list, event);
}

#endif // TS_TESTS_OPENCL_DOUBLE_COMMANDS_H
