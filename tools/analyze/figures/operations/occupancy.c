/*
    occupancy.c - estimated occupancy of kernels
*/
#include "tools/analyze/figures/operations/occupancy.h"

enum { PARTITIONS = 4, WARP = 32, KIB = 1024, REGISTER_UNIT = 256 };

/*
    Source: NVIDIA, CUDA C++ Programming Guide 12.9 and 13.0, "Technical
    Specifications per Compute Capability": resident blocks and threads of a
    multiprocessor, 32-bit registers, the most shared memory in KiB.
*/
static const struct {
    uint32_t capability, blocks, threads, registers, shared;
} published[] = {
    { 50, 32, 2048, 65536, 64 },   { 52, 32, 2048, 65536, 96 },
    { 53, 32, 2048, 65536, 64 },   { 60, 32, 2048, 65536, 64 },
    { 61, 32, 2048, 65536, 96 },   { 62, 32, 2048, 65536, 64 },
    { 70, 32, 2048, 65536, 96 },   { 72, 32, 2048, 65536, 96 },
    { 75, 16, 1024, 65536, 64 },   { 80, 32, 2048, 65536, 164 },
    { 86, 16, 1536, 65536, 100 },  { 87, 16, 1536, 65536, 164 },
    { 89, 24, 1536, 65536, 100 },  { 90, 32, 2048, 65536, 228 },
    { 100, 32, 2048, 65536, 228 }, { 103, 32, 2048, 65536, 228 },
    { 120, 24, 1536, 65536, 100 }, { 121, 24, 1536, 65536, 100 },
};

static bool find(const ts_reader *reader, uint32_t device, const char *key,
                 uint32_t *value)
{
    ts_metadata m;
    if (!ts_reader_metadata(reader, device, key, &m) ||
        m.type != TS_VALUE_INT || m.number <= 0 || m.number > INT32_MAX)
        return false;
    *value = (uint32_t)m.number;
    return true;
}

bool occupancy_device(const ts_reader *reader, uint32_t device,
                      occupancy_limits *l)
{
    uint32_t major, minor = 0;
    *l = (occupancy_limits){ 0 };
    if (!find(reader, device, "compute_major", &major) || major > 1000)
        return false;
    find(reader, device, "compute_minor", &minor);
    for (size_t i = 0; i < sizeof published / sizeof *published; i++)
        if (published[i].capability == major * 10 + minor) {
            l->blocks = published[i].blocks;
            l->threads = published[i].threads;
            l->registers = published[i].registers;
            l->shared = published[i].shared * KIB;
        }
    find(reader, device, "max_blocks_per_multiprocessor", &l->blocks);
    find(reader, device, "max_threads_per_multiprocessor", &l->threads);
    find(reader, device, "regs_per_multiprocessor", &l->registers);
    find(reader, device, "shared_mem_per_multiprocessor", &l->shared);
    find(reader, device, "multiprocessors", &l->multiprocessors);
    l->warp_threads = WARP;
    find(reader, device, "warp_size", &l->warp_threads);
    // Source: NVIDIA, cuda_occupancy.h of the CUDA Toolkit: allocation units of
    // registers and shared memory, and reserved memory per block.
    l->register_unit = REGISTER_UNIT;
    l->shared_unit = major >= 8 ? 128 : 256;
    l->shared_reserved = major >= 8 ? KIB : 0;
    return l->blocks && l->threads && l->registers && l->shared;
}

const char *occupancy_limiter_name(occupancy_limiter limiter)
{
    static const char *const names[OCCUPANCY_LIMITERS] = {
        "threads", "blocks", "registers", "shared memory", "grid"
    };
    return names[limiter];
}

static uint64_t round_up(uint64_t value, uint64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static uint64_t product(const uint32_t *three)
{
    __extension__ typedef unsigned __int128 wide;
    const wide all = (wide)three[0] * three[1] * three[2];
    return all > UINT64_MAX ? UINT64_MAX : (uint64_t)all;
}

// Returns the warps that the registers allow. A warp stays on one partition of
// the multiprocessor, each with its share of the registers.
static uint64_t by_registers(const occupancy_limits *l, uint64_t registers,
                             uint64_t warps)
{
    if (!registers) return UINT64_MAX;
    const uint64_t of_warp =
        round_up(registers * l->warp_threads, l->register_unit);
    return l->registers / PARTITIONS / of_warp * PARTITIONS / warps;
}

static uint64_t by_shared(const occupancy_limits *l,
                          const ts_launch_entry *launch)
{
    const uint64_t used = (uint64_t)launch->static_shared +
                          launch->dynamic_shared + l->shared_reserved;
    return used ? l->shared / round_up(used, l->shared_unit) : UINT64_MAX;
}

// Counts warps and waves. If a grid does not fill the device once, its actual
// warps count.
static void count_waves(const occupancy_limits *l, occupancy *o,
                        uint64_t block_warps)
{
    o->wave_blocks = (uint64_t)o->blocks * l->multiprocessors;
    if (!o->wave_blocks) return;
    o->waves = o->grid_blocks / o->wave_blocks +
               (o->grid_blocks % o->wave_blocks != 0);
    o->warps *= l->multiprocessors;
    o->warps_most *= l->multiprocessors;
    if (o->grid_blocks >= o->wave_blocks) return;
    o->warps = o->grid_blocks * block_warps;
    o->limiter = OCCUPANCY_GRID;
}

bool occupancy_of(const occupancy_limits *l, const ts_launch_entry *launch,
                  occupancy *o)
{
    *o = (occupancy){ 0 };
    if (!launch || !l->threads) return false;
    const uint64_t threads = product(launch->block);
    o->grid_blocks = product(launch->grid);
    if (!threads || !o->grid_blocks || threads > l->threads) return false;
    const uint64_t warps = round_up(threads, l->warp_threads) / l->warp_threads;
    o->warps_most = l->threads / l->warp_threads;
    const uint64_t most[] = { o->warps_most / warps, l->blocks,
                              by_registers(l, launch->registers, warps),
                              by_shared(l, launch) };
    for (uint32_t i = 0; i < sizeof most / sizeof *most; i++)
        if (most[i] < most[o->limiter]) o->limiter = (occupancy_limiter)i;
    if (!most[o->limiter]) return false;
    o->blocks = (uint32_t)most[o->limiter];
    o->warps = o->blocks * warps;
    count_waves(l, o, warps);
    return true;
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
