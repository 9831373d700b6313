/*
    hip_record.h - records of operations, as roctracer and HIP itself have them
*/
#ifndef HIP_RECORD_H
#define HIP_RECORD_H

enum { HIP_OPS = 2, HIP_API = 3 };

typedef struct record { // activity_record_t
    uint32_t domain, kind, op;
    uint64_t correlation, begin_ns, end_ns;
    int device;
    uint64_t queue;
    union {
        size_t bytes;
        const char *name;
    };
} record;
_Static_assert(sizeof(record) == 64, "layout");

static record record_of(const double_op *op)
{
    static const uint32_t kinds[] = { 0x11F0, 0, 0x1207 };
    record r = { .domain = HIP_OPS,
                 .kind = kinds[op->kind],
                 .op = op->kind != DOUBLE_KERNEL,
                 .correlation = op->correlation,
                 .begin_ns = op->start_ns,
                 .end_ns = op->end_ns,
                 .device = op->device,
                 .queue = op->queue };
    if (op->kind == DOUBLE_COPY)
        r.kind = op->copy == hipMemcpyHostToDevice ? 0x11F4 : 0x11F3;
    if (op->kind == DOUBLE_KERNEL)
        r.name = op->name;
    else
        r.bytes = op->size;
    return r;
}

#endif
