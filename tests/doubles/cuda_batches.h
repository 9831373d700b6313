/*
    cuda_batches.h - copies that one call makes together, of the double of
    CUDA's driver: a part of libcuda.c
*/

/* ---- Batches ------------------------------------------------------------ */

typedef struct batch_parameters { // of CUDA 13.0
    uint64_t *to, *from;
    size_t *sizes, count;
    const void *attributes;
    size_t *first, attribute_count;
    void *stream;
} batch_parameters;

// Last first: none of them waits for another.
static int copy_batch(const void *user)
{
    const batch_parameters *const p = user;
    if (!p->stream || !p->count || !p->attributes || !p->attribute_count ||
        p->first[0])
        return INVALID;
    for (size_t i = p->count; i--;) {
        const deed d = { .to = p->to[i],
                         .from = p->from[i],
                         .size = p->sizes[i] };
        const int result = submit(&d, (uint32_t)(uintptr_t)p->stream);
        if (result) return result;
    }
    return 0;
}

DRIVER(cuMemcpyBatchAsync_v2, uint64_t *to, uint64_t *from, size_t *sizes,
       size_t count, const void *attributes, size_t *first,
       size_t attribute_count, void *stream)
{
    const batch_parameters p = { to,         from,  sizes,           count,
                                 attributes, first, attribute_count, stream };
    TRACED(kind_on(stream, DOUBLE_COPY), cuMemcpyBatchAsync_v2, copy_batch,
           ON(stream), .bytes = count ? sizes[0] : 0);
}

typedef struct old_batch_parameters { // of CUDA 12.8
    batch_parameters batch;           // but for its stream
    void *stream;
} old_batch_parameters;

static int copy_old_batch(const void *user)
{
    const old_batch_parameters *const p = user;
    batch_parameters now = p->batch;
    now.stream = p->stream;
    return copy_batch(&now);
}

DRIVER(cuMemcpyBatchAsync, uint64_t *to, uint64_t *from, size_t *sizes,
       size_t count, const void *attributes, size_t *first,
       size_t attribute_count, size_t *failed, void *stream)
{
    const old_batch_parameters p = { { to, from, sizes, count, attributes,
                                       first, attribute_count, failed },
                                     stream };
    TRACED(kind_on(stream, DOUBLE_COPY), cuMemcpyBatchAsync, copy_old_batch,
           ON(stream), .bytes = count ? sizes[0] : 0);
}

typedef struct operand {
    uint32_t type, pad;
    uint64_t address;
    size_t row, height;
    int32_t place[2];
} operand;

typedef struct batch_box {
    operand from, to;
    size_t extent[3];
    uint32_t order, flags;
} batch_box;

typedef struct batch_box_parameters {
    size_t count;
    const batch_box *boxes;
    unsigned long long flags;
    void *stream;
} batch_box_parameters;

static int copy_boxes(const void *user)
{
    const batch_box_parameters *const p = user;
    if (!p->stream || p->flags) return INVALID;
    for (size_t i = p->count; i--;) {
        const batch_box *const b = &p->boxes[i];
        const size_t from_row = b->from.row ? b->from.row : b->extent[0];
        const size_t to_row = b->to.row ? b->to.row : b->extent[0];
        const size_t from_high = b->from.height ? b->from.height : b->extent[1];
        const size_t to_high = b->to.height ? b->to.height : b->extent[1];
        if (b->from.type != 1 || b->to.type != 1 || !b->order) return INVALID;
        for (size_t z = 0; z < b->extent[2]; z++)
            for (size_t y = 0; y < b->extent[1]; y++)
                memmove((char *)b->to.address + (z * to_high + y) * to_row,
                        (char *)b->from.address +
                            (z * from_high + y) * from_row,
                        b->extent[0]);
    }
    return 0;
}

DRIVER(cuMemcpy3DBatchAsync_v2, size_t count, const batch_box *boxes,
       unsigned long long flags, void *stream)
{
    const batch_box_parameters p = { count, boxes, flags, stream };
    TRACED(kind_on(stream, DOUBLE_COPY), cuMemcpy3DBatchAsync_v2, copy_boxes,
           ON(stream), .bytes = count ? boxes[0].extent[0] : 0);
}

/* ---- A box alone -------------------------------------------------------- */

typedef struct box_parameters {
    const copy_box *box;
    void *stream;
} box_parameters;

static int copy_one_box(const void *user)
{
    const box_parameters *const p = user;
    do_box(p->box);
    return 0;
}

DRIVER(cuMemcpy3DAsync_v2, const copy_box *box, void *stream)
{
    const box_parameters p = { box, stream };
    TRACED(kind_on(stream, DOUBLE_COPY), cuMemcpy3DAsync_v2, copy_one_box,
           ON(stream), .bytes = box->width);
}
