// Code objects of AMD's devices and bundles of them, of any bytes: nothing
// outside of them is read, and arguments lie within their bound.
#include "backends/hip/code.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static ts__amd_kernel kernel;
    const uint8_t *code = data;
    uint64_t code_size = size;
    ts__mp all = { data, data + size }, found;
    ts__amd_kernel_at(all, "add", &found);
    if (ts__mp_skip(&all) && all.at > data + size) abort();
    if (ts__amd_code_pick(data, size, "gfx942", &code, &code_size) &&
        (code < data || code_size > size ||
         (size_t)(code - data) > size - code_size))
        abort();
    if (!ts__amd_kernel_read(&kernel, code, code_size, "add")) return 0;
    for (uint32_t i = 0; i < kernel.count; i++)
        if (kernel.parameters[i][0] > TS__AMD_ARGUMENTS ||
            kernel.parameters[i][1] > TS__AMD_ARGUMENTS)
            abort();
    return 0;
}
