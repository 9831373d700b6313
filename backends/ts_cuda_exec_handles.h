/*
    ts_cuda_exec_handles.h - what arguments hide: tensor maps; a part of
    ts_cuda_exec.h, private to it

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    WHAT IT DOES
        The bytes of a tensor map are valid as they are if the memory that it
        is of lies where it was. That the driver means the same by them is
        shown by making it again.
*/
#if defined(TS__CUDA_EXEC_IMPLEMENTED) && !defined(TS_CUDA_EXEC_HANDLES_H)
#define TS_CUDA_EXEC_HANDLES_H

// Whether memory of the record lies elsewhere now.
static bool ts__cx_is_moved(const ts__cx *x, uint64_t address)
{
    for (size_t i = 0; i < x->other_count; i++)
        if (address - x->others[i].wanted < x->others[i].size) return true;
    return false;
}

static int ts__cx_tensor_make(const ts__cx *x, const ts__cuda_tensor *t,
                              void *map)
{
    const ts__cx_calls *const c = &x->call;
    void *const address = (void *)(uintptr_t)t->address;
    if (t->kind == TS__CUDA_TILED)
        return !c->tiled ? TS__CUDA_NOT_SUPPORTED
                         : c->tiled(map, t->type, t->rank, address, t->dims,
                                    t->strides, t->box, t->steps, t->interleave,
                                    t->swizzle, t->promotion, t->fill);
    if (t->kind == TS__CUDA_COLUMNS)
        return !c->columns
                   ? TS__CUDA_NOT_SUPPORTED
                   : c->columns(map, t->type, t->rank, address, t->dims,
                                t->strides, t->lower, t->upper, t->channels,
                                t->pixels, t->steps, t->interleave, t->swizzle,
                                t->promotion, t->fill);
    return !c->wide ? TS__CUDA_NOT_SUPPORTED
                    : c->wide(map, t->type, t->rank, address, t->dims,
                              t->strides, t->lower[0], t->upper[0], t->channels,
                              t->pixels, t->steps, t->interleave, t->mode,
                              t->swizzle, t->promotion, t->fill);
}

// Checks a map. Bits that the driver does not write stay as they were.
static ts_result ts__cx_tensor(ts__cx *x, const ts_attribute *a)
{
    ts__cuda_tensor t;
    _Alignas(128) uint64_t again[16];
    if (a->size < sizeof t) return TS_ERR_CORRUPT;
    memcpy(&t, a->bytes, sizeof t);
    if (t.kind > TS__CUDA_WIDE || t.rank > 5) return TS_ERR_CORRUPT;
    x->reason = TS_REASON_VA_UNAVAILABLE;
    if (ts__cx_is_moved(x, t.address)) return TS_ERR_UNSUPPORTED;
    if (!t.kind) return TS_OK;
    memcpy(again, t.bytes, sizeof again);
    x->reason = TS_REASON_DRIVER_MISMATCH;
    return ts__cx_tensor_make(x, &t, again) == TS__CUDA_OK &&
                   !memcmp(again, t.bytes, sizeof again)
               ? TS_OK
               : TS_ERR_UNSUPPORTED;
}

#endif // TS_CUDA_EXEC_HANDLES_H
