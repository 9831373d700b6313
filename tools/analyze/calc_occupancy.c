/*
    calc_occupancy.c - how much of a device a kernel's launch can fill
*/
#include "tools/analyze/calc_occupancy.h"

enum {
    REGISTER_UNIT = 256, // of a warp
    SHARED_UNIT = 128,   // bytes of a block
    SHARED_OWN = 1024,   // that the driver keeps of each block, from 8.0 on
    BLOCKS_MOST = 32     // of a multiprocessor
};

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t product(const uint32_t *sides)
{
    uint64_t all = 1;
    for (int i = 0; i < 3; i++) {
        const uint64_t side = sides[i] ? sides[i] : 1;
        all = all > UINT32_MAX / side ? UINT32_MAX : all * side;
    }
    return all;
}

calc_occupancy calc_occupancy_of(const calc_device *device,
                                 const ts_launch_entry *launch)
{
    calc_occupancy o = { 0 };
    if (!launch || !device->multiprocessors || !device->threads ||
        !launch->block[0])
        return o;
    const uint64_t warp = device->warp ? device->warp : 32;
    const uint64_t warps = (product(launch->block) + warp - 1) / warp;
    o.most = device->threads / warp;
    if (!warps || warps > o.most) return o;
    o.fits = o.most / warps;
    if (o.fits > BLOCKS_MOST) {
        o.fits = BLOCKS_MOST;
        o.limit = CALC_LIMIT_BLOCKS;
    }
    const uint64_t registers =
        warps * round_up(launch->registers * warp, REGISTER_UNIT);
    if (registers && device->registers &&
        device->registers / registers < o.fits) {
        o.fits = device->registers / registers;
        o.limit = CALC_LIMIT_REGISTERS;
    }
    uint64_t shared = (uint64_t)launch->static_shared + launch->dynamic_shared;
    if (shared && device->compute_major >= 8) shared += SHARED_OWN;
    shared = round_up(shared, SHARED_UNIT);
    if (shared && device->shared && device->shared / shared < o.fits) {
        o.fits = device->shared / shared;
        o.limit = CALC_LIMIT_SHARED;
    }
    if (!o.fits) o.fits = 1; // it ran: a limit is not what it seems
    o.warps = o.fits * warps;
    o.blocks = product(launch->grid);
    o.room = o.fits * device->multiprocessors;
    o.known = true;
    return o;
}

const char *calc_limit_name(calc_limit limit)
{
    switch (limit) {
    case CALC_LIMIT_REGISTERS: return "registers";
    case CALC_LIMIT_SHARED: return "shared memory";
    case CALC_LIMIT_BLOCKS: return "the number of blocks";
    default: return "the number of threads";
    }
}

int64_t calc_part_of(int64_t ns, uint64_t num, uint64_t den)
{
    while (num >> 20 || den >> 20) {
        num /= 2;
        den /= 2;
    }
    if (!den || num >= den || ns < 0) return ns;
    const uint64_t whole = (uint64_t)ns / den, rest = (uint64_t)ns % den;
    return (int64_t)(whole * num + (rest * num + den / 2) / den);
}
