/*
    capture/hash.cl - hashes chunks of memory where they lie

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    XXH3-128, seed 0, of each 64 KiB, as captures have it (docs/sbt-format.md,
    section 13), to the bit. One source for all: OpenCL C 1.2, from which a
    driver builds it (opencl/hash_text.h holds it as text) and clang makes
    the PTX of cupti/hash_ptx.h; C++ as hiprtc compiles it for AMD's devices
    (hip/hash_text.h); and C, which tests run on the host.
    `backends/capture/hash.sh` writes these headers.

    In the long form of XXH3 eight lanes add up what they see of each stripe
    of 64 bytes, and are scrambled behind each block of 16 stripes. What a
    block adds depends on no other block: so each item of a group takes one
    lane of some blocks, then eight of them fold the blocks in order, and two
    end it. Chunks of up to 240 bytes have other rules: the host hashes those.

    Source: xxHash's specification, doc/xxhash_spec.md, section XXH3.
*/
#ifdef __OPENCL_C_VERSION__
typedef uchar ts_u8;
typedef uint ts_u32;
typedef ulong ts_u64;
#define TS_MEMORY __global
#define TS_GROUP  __local
#define TS_TABLE  __constant
#elif defined(__HIPCC_RTC__)
typedef unsigned char ts_u8;
typedef unsigned int ts_u32;
typedef unsigned long ts_u64;
#define uintptr_t unsigned long
#define TS_MEMORY
#define TS_GROUP
#define TS_TABLE __constant__ const
#pragma clang force_cuda_host_device begin
#else
#include <stdint.h>
typedef uint8_t ts_u8;
typedef uint32_t ts_u32;
typedef uint64_t ts_u64;
#define TS_MEMORY
#define TS_GROUP
#define TS_TABLE static const
#endif

enum { TS_CHUNK = 65536, TS_BLOCK = 1024, TS_STRIPE = 64, TS_SHORT = 240 };
#define TS_SUMS (TS_CHUNK / TS_BLOCK * 8) // words that a group shares

#define TS_PRIME32_1 0x9E3779B1u
#define TS_PRIME32_2 0x85EBCA77u
#define TS_PRIME32_3 0xC2B2AE3Du
#define TS_PRIME64_1 0x9E3779B185EBCA87ul
#define TS_PRIME64_2 0xC2B2AE3D27D4EB4Ful
#define TS_PRIME64_3 0x165667B19E3779F9ul
#define TS_PRIME64_4 0x85EBCA77C2B2AE63ul
#define TS_PRIME64_5 0x27D4EB2F165667C5ul
#define TS_PRIME_MIX 0x165667919E3779F9ul

// The secret of 192 bytes, as words.
TS_TABLE ts_u64 ts_secret[24] = {
    0xbe4ba423396cfeb8ul, 0x1cad21f72c81017cul, 0xdb979083e96dd4deul,
    0x1f67b3b7a4a44072ul, 0x78e5c0cc4ee679cbul, 0x2172ffcc7dd05a82ul,
    0x8e2443f7744608b8ul, 0x4c263a81e69035e0ul, 0xcb00c391bb52283cul,
    0xa32e531b8b65d088ul, 0x4ef90da297486471ul, 0xd8acdea946ef1938ul,
    0x3f349ce33f76faa8ul, 0x1d4f0bc7c7bbdcf9ul, 0x3159b4cd4be0518aul,
    0x647378d9c97e9fc8ul, 0xc3ebd33483acc5eaul, 0xeb6313faffa081c5ul,
    0x49daf0b751dd0d17ul, 0x9e68d429265516d3ul, 0xfca1477d58be162bul,
    0xce31d07ad1b8f88ful, 0x280416958f3acb45ul, 0x7e404bbbcafbd7aful
};
TS_TABLE ts_u64 ts_first[8] = { TS_PRIME32_3, TS_PRIME64_1, TS_PRIME64_2,
                                TS_PRIME64_3, TS_PRIME64_4, TS_PRIME32_2,
                                TS_PRIME64_5, TS_PRIME32_1 };

// Eight bytes of the secret, from any byte on.
static ts_u64 ts_key(ts_u32 at)
{
    const ts_u32 shift = at % 8 * 8;
    const ts_u64 low = ts_secret[at / 8];
    if (!shift) return low;
    return low >> shift | ts_secret[at / 8 + 1] << (64 - shift);
}

static ts_u64 ts_word(TS_MEMORY const ts_u8 *at)
{
    ts_u64 word = 0;
    if (!((uintptr_t)at & 7)) return *(TS_MEMORY const ts_u64 *)at;
    for (ts_u32 i = 0; i < 8; i++)
        word |= (ts_u64)at[i] << 8 * i;
    return word;
}

// What a lane adds for a stripe: its own word times itself, halves under a
// key, and its neighbour's word.
static ts_u64 ts_lane(TS_MEMORY const ts_u8 *stripe, ts_u32 lane, ts_u64 key)
{
    const ts_u64 own = ts_word(stripe + 8 * lane) ^ key;
    return ts_word(stripe + 8 * (lane ^ 1)) +
           (own & 0xFFFFFFFFu) * (own >> 32);
}

// What a block adds to a lane. The last stripe may overlap the one before.
static ts_u64 ts_block(TS_MEMORY const ts_u8 *chunk, ts_u32 size,
                        ts_u32 block, ts_u32 lane)
{
    const ts_u32 at = block * TS_BLOCK, left = size - 1 - at;
    const ts_u32 last = left < TS_BLOCK;
    const ts_u32 stripes = last ? left / TS_STRIPE : TS_BLOCK / TS_STRIPE;
    ts_u64 sum = 0;
    for (ts_u32 n = 0; n < stripes; n++)
        sum += ts_lane(chunk + at + n * TS_STRIPE, lane, ts_secret[n + lane]);
    if (last)
        sum += ts_lane(chunk + size - TS_STRIPE, lane, ts_key(121 + 8 * lane));
    return sum;
}

// First, each item of `items`, a multiple of 8.
static void ts_add(TS_MEMORY const ts_u8 *chunk, ts_u32 size,
                    TS_GROUP ts_u64 *sums, ts_u32 item, ts_u32 items)
{
    const ts_u32 lane = item % 8, blocks = (size - 1) / TS_BLOCK + 1;
    for (ts_u32 b = item / 8; b < blocks; b += items / 8)
        sums[8 * b + lane] = ts_block(chunk, size, b, lane);
}

// Then the first eight.
static void ts_fold(ts_u32 size, TS_GROUP ts_u64 *sums, ts_u32 lane)
{
    const ts_u32 whole = (size - 1) / TS_BLOCK;
    const ts_u64 key = ts_secret[16 + lane];
    ts_u64 sum = ts_first[lane];
    for (ts_u32 b = 0; b < whole; b++) {
        sum += sums[8 * b + lane];
        sum = (sum ^ sum >> 47 ^ key) * TS_PRIME32_1;
    }
    sums[lane] = sum + sums[8 * whole + lane];
}

// The halves of a product of 128 bits, one upon the other.
static ts_u64 ts_product(ts_u64 a, ts_u64 b)
{
    const ts_u64 a0 = a & 0xFFFFFFFFu, a1 = a >> 32;
    const ts_u64 b0 = b & 0xFFFFFFFFu, b1 = b >> 32;
    const ts_u64 middle = a1 * b0 + (a0 * b0 >> 32);
    const ts_u64 carried = a0 * b1 + (middle & 0xFFFFFFFFu);
    return a * b ^ (a1 * b1 + (middle >> 32) + (carried >> 32));
}

// Last the first two: 0 the low half, 1 the high one.
static ts_u64 ts_end(ts_u32 size, TS_GROUP const ts_u64 *sums, ts_u32 high)
{
    const ts_u32 at = high ? 117 : 11;
    ts_u64 sum = high ? ~(size * TS_PRIME64_2) : size * TS_PRIME64_1;
    for (ts_u32 i = 0; i < 8; i += 2)
        sum += ts_product(sums[i] ^ ts_key(at + 8 * i),
                          sums[i + 1] ^ ts_key(at + 8 * i + 8));
    sum = (sum ^ sum >> 37) * TS_PRIME_MIX;
    return sum ^ sum >> 32;
}

#ifdef __OPENCL_C_VERSION__
#define TS_KERNEL __kernel
#define TS_SHARED __local
#ifdef __NVPTX__
#define TS_ITEM  (ts_u32) __nvvm_read_ptx_sreg_tid_x()
#define TS_ITEMS (ts_u32) __nvvm_read_ptx_sreg_ntid_x()
#define TS_INDEX (ts_u32) __nvvm_read_ptx_sreg_ctaid_x()
#define TS_BARRIER  __nvvm_bar_sync(0)
#else
#define TS_ITEM  (ts_u32) get_local_id(0)
#define TS_ITEMS (ts_u32) get_local_size(0)
#define TS_INDEX (ts_u32) get_group_id(0)
#define TS_BARRIER  barrier(CLK_LOCAL_MEM_FENCE)
#endif
#elif defined(__HIPCC_RTC__)
#pragma clang force_cuda_host_device end
#define TS_KERNEL extern "C" __global__
#define TS_SHARED __shared__
#define TS_ITEM   threadIdx.x
#define TS_ITEMS  blockDim.x
#define TS_INDEX  blockIdx.x
#define TS_BARRIER   __syncthreads()
__device__ __attribute__((used)) ts_u64 ts_hashes[8192]; // of 4,096 chunks
#endif

#ifdef TS_KERNEL
// A group for each chunk of `size` bytes from `offset` on; two words of
// `hashes` for each.
TS_KERNEL void ts_hash_chunks(TS_MEMORY const ts_u8 *memory, ts_u64 offset,
                              ts_u64 size, TS_MEMORY ts_u64 *hashes)
{
    TS_SHARED ts_u64 sums[TS_SUMS];
    const ts_u32 chunk = TS_INDEX, item = TS_ITEM;
    const ts_u64 at = (ts_u64)chunk * TS_CHUNK;
    const ts_u32 own = size - at < TS_CHUNK ? (ts_u32)(size - at) : TS_CHUNK;
    if (own <= TS_SHORT) return;
    ts_add(memory + offset + at, own, sums, item, TS_ITEMS);
    TS_BARRIER;
    if (item < 8) ts_fold(own, sums, item);
    TS_BARRIER;
    if (item < 2) hashes[2 * chunk + item] = ts_end(own, sums, item);
}
#endif
