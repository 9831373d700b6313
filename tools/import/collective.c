/*
    collective.c - collectives of sources that only have their kernels
*/
#include "tools/import/import.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t import_communicator(const char *name, size_t size)
{
    const uint64_t hash = XXH3_64bits(name, size);
    return hash ? hash : 1;
}

uint32_t import_element_bytes(uint32_t element)
{
    static const uint8_t bytes[] = { 0, 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
    return element < sizeof bytes ? bytes[element] : 0;
}

void import_kernel(import_job *job, import_operation *operation,
                   const char *name, size_t size)
{
    operation->kind = TS_EVENT_KERNEL;
    if (!ts_collective_is_kernel(name, size)) {
        import_gpu(job, operation);
        return;
    }
    const char *const kind = ts_collective_kind(name, size);
    const import_facts facts = {
        .name = kind ? import_name(job, kind, strlen(kind)) : 0,
        .type = ts_collective_kernel_element(name, size)
    };
    operation->kind = TS_EVENT_COLLECTIVE;
    import_gpu_collective(job, operation, &facts);
}
