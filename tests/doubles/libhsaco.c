/*
    libhsaco.c - kernels for the double of libamdhip64.so: what it takes for a
    code object (hip_device.h)

    They are those of libcubin.c. The note is one of the kind that compilers
    for AMD's devices write: MessagePack, of what kernels take.
*/
#include "libcubin.c"

#include <stdlib.h>

// It does something else where somebody wants it to: a device that is broken.
KERNEL(odd, 0, 8, 8, 4)
{
    const struct {
        uint32_t *numbers, value;
    } *const a = arguments;
    const uint32_t count = grid->grid[0] * grid->block[0];
    const uint32_t more = getenv("DOUBLE_ODD") != NULL;
    for (uint32_t i = 0; i < count; i++)
        a->numbers[i] = a->numbers[i] * 3 + a->value + more;
}

// Of maps 0x80, lists 0x90 and texts 0xA0 the size is in the first byte.
#define ARGUMENT(offset, size, kind) \
    "\203\247.offset" offset "\245.size" size "\253.value_kind" kind
#define POINTER(offset)     ARGUMENT(offset, "\010", "\255global_buffer")
#define VALUE(offset, size) ARGUMENT(offset, size, "\250by_value")
#define HIDDEN(offset) \
    ARGUMENT(offset, "\010", \
             "\266hidden_" \
             "global_offset_x")
#define DESCRIBED(name, symbol, arguments) \
    "\204\245.args" arguments "\265.kernarg_segment_size\315\001\030" \
    "\245.name" name "\247.symbol" symbol

// clang-format off
#define TEXT \
    "\203\256amdhsa.kernels\226" \
    DESCRIBED("\243add", "\246add.kd", \
              "\223" POINTER("\000") VALUE("\010", "\004") HIDDEN("\020")) \
    DESCRIBED("\246biased", "\251biased.kd", \
              "\224" POINTER("\000") POINTER("\010") \
              VALUE("\020", "\004") HIDDEN("\030")) \
    DESCRIBED("\247through", "\252through.kd", \
              "\222" POINTER("\000") VALUE("\010", "\004")) \
    DESCRIBED("\246packed", "\251packed.kd", "\221" VALUE("\000", "\015")) \
    DESCRIBED("\243odd", "\246odd.kd", \
              "\222" POINTER("\000") VALUE("\010", "\004")) \
    DESCRIBED("\247nothing", "\252nothing.kd", "\220") \
    "\255amdhsa.target\271amdgcn-amd-amdhsa--gfx942" \
    "\256amdhsa.version\222\001\002"
// clang-format on

__attribute__((used, section(".note.amdgpu"), aligned(4))) static const struct {
    uint32_t name_size, size, type;
    char name[8], text[sizeof TEXT - 1];
} note = { 7, sizeof TEXT - 1, 32, "AMDGPU", TEXT };
