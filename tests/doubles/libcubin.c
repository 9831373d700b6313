/*
    libcubin.c - kernels for the double of CUDA's driver: what it takes for a
    cubin (cuda_double.h)
*/
#define _GNU_SOURCE
#include "cuda_double.h"

#include <dlfcn.h>
#include <string.h>

#define KERNEL(name, ...) \
    __attribute__((visibility("default"))) \
    const uint32_t name##_params[] = { __VA_ARGS__, UINT32_MAX }; \
    __attribute__((visibility("default"))) void name(const void *arguments, \
                                                     const double_grid *grid); \
    void name(const void *arguments, const double_grid *grid)

__attribute__((visibility("default"))) uint32_t bias = 3, calls;

// Managed memory, as far as the double is concerned.
__attribute__((visibility("default"))) uint32_t shared_bias;

// What compilers say of its parameters: drivers of before 12.4 do not.
__attribute__((used, section(".nv.info.add"))) static const uint32_t about[] = {
    0x000C1704, 0, 0, 8 << 18, 0x000C1704, 0, 8 << 16 | 1, 4 << 18
};

// Adds a value to each of grid x block numbers.
KERNEL(add, 0, 8, 8, 4)
{
    const struct {
        uint32_t *numbers, value;
    } *const a = arguments;
    const uint32_t count = grid->grid[0] * grid->block[0];
    for (uint32_t i = 0; i < count; i++)
        a->numbers[i] += a->value;
}

// More than 4 KiB of parameters are told in another way.
__attribute__((
    used, section(".nv.info.large"))) static const uint32_t about_large[] = {
    0x000C4504,          0,    5008 << 16 | 2, 4, 0x000C4504, 0,
    8 << 16 | 1,         5000, 0x000C4504,     0, 0,          8,
    5012u << 16 | 0x1903
};

// Adds two values that are far apart.
KERNEL(large, 0, 8, 8, 5000, 5008, 4)
{
    const struct {
        uint32_t *numbers, values[1250], last;
    } *const a = arguments;
    for (uint32_t i = 0; i < grid->grid[0] * grid->block[0]; i++)
        a->numbers[i] += a->values[1249] + a->last;
}

// Works with other devices, says its name.
KERNEL(ncclDevKernel_Double, 0, 8)
{
    (void)grid;
    ++**(uint32_t *const *)arguments;
}

// As two blocks in a cluster do.
KERNEL(clustered, 0, 8, 8, 4)
{
    const struct {
        uint32_t *numbers, value;
    } *const a = arguments;
    for (uint32_t i = 0; i < grid->grid[0] * grid->block[0]; i++)
        a->numbers[i] += 2 * a->value;
}

// The same, from one place to another, and with a variable of the code.
KERNEL(biased, 0, 8, 8, 8, 16, 4)
{
    const struct {
        uint32_t *to;
        const uint32_t *from;
        uint32_t value;
    } *const a = arguments;
    const uint32_t count = grid->grid[0] * grid->block[0];
    for (uint32_t i = 0; i < count; i++)
        a->to[i] = a->from[i] + a->value + bias;
    calls++;
}

// With a variable that the host can write.
KERNEL(shared, 0, 8)
{
    uint32_t *const numbers = *(uint32_t *const *)arguments;
    for (uint32_t i = 0; i < grid->grid[0] * grid->block[0]; i++)
        numbers[i] += shared_bias;
}

// A list of pointers in the device's memory.
KERNEL(through, 0, 8, 8, 4)
{
    const struct {
        uint32_t **list, count;
    } *const a = arguments;
    (void)grid;
    for (uint32_t i = 0; i < a->count; i++)
        a->list[i][0] += i + 1;
}

// A struct without alignment.
KERNEL(packed, 0, 13)
{
    uint64_t address;
    uint32_t value;
    (void)grid;
    memcpy(&address, (const uint8_t *)arguments + 1, 8);
    memcpy(&value, (const uint8_t *)arguments + 9, 4);
    ((uint32_t *)(uintptr_t)address)[1] = value;
}

// Adds to the numbers that a tensor map is of.
KERNEL(mapped, 0, 128, 128, 4)
{
    const uint8_t *const bytes = arguments;
    uint32_t *const numbers =
        (uint32_t *)(uintptr_t)double_tensor_address(bytes);
    uint32_t value;
    memcpy(&value, bytes + 128, sizeof value);
    for (uint32_t i = 0; i < grid->grid[0] * grid->block[0]; i++)
        numbers[i] += value;
}

// The same by a map in the device's memory.
KERNEL(mapped_there, 0, 8, 8, 4)
{
    const struct {
        const void *map;
        uint32_t value;
    } *const a = arguments;
    uint32_t *const numbers =
        (uint32_t *)(uintptr_t)double_tensor_address(a->map);
    for (uint32_t i = 0; i < grid->grid[0] * grid->block[0]; i++)
        numbers[i] += a->value;
}

// Numbers as a texture has them, each more by one.
KERNEL(textured, 0, 8, 8, 8)
{
    const struct {
        uint64_t texture;
        uint32_t *to;
    } *const a = arguments;
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    uint64_t (*find)(uint64_t handle);
    void *const symbol = driver ? dlsym(driver, "double_texture") : NULL;
    memcpy(&find, &symbol, sizeof find);
    if (!find) return;
    const uint32_t *const from = (const uint32_t *)(uintptr_t)find(a->texture);
    for (uint32_t i = 0; from && i < grid->grid[0] * grid->block[0]; i++)
        a->to[i] = from[i] + 1;
}

KERNEL(nothing, UINT32_MAX)
{
    (void)arguments;
    (void)grid;
}
