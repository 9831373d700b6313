/*
    import_collective.c - what names say about collectives
*/
#include "tools/import/import.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

// Whether the text goes on with a word, whatever its case, ignoring
// underscores.
static bool goes_on(const char *text, size_t size, const char *word)
{
    for (size_t i = 0; *word && i < size; i++) {
        if (text[i] == '_' && i) continue;
        if ((text[i] | 0x20) != *word) break;
        word++;
    }
    return !*word;
}

static bool has(const char *text, size_t size, const char *word)
{
    for (size_t at = 0; at < size; at++)
        if (goes_on(text + at, size - at, word)) return true;
    return false;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

// The same at the beginning of a word: "small_reduce" has no "allreduce".
static bool has_word(const char *text, size_t size, const char *word)
{
    for (size_t at = 0; at < size; at++)
        if ((!at || !is_lower(text[at - 1]) || !is_lower(text[at])) &&
            goes_on(text + at, size - at, word))
            return true;
    return false;
}

/*
    Where the name of a kernel ends and its template or its parameters begin;
    what is in parentheses because it has no name, "(anonymous namespace)",
    belongs to the name.
*/
static size_t plain_size(const char *name, size_t size)
{
    static const char unnamed[] = "(anonymous";
    for (size_t at = 0; at < size; at++) {
        const bool part = size - at >= sizeof unnamed &&
                          !memcmp(name + at, unnamed, sizeof unnamed - 1);
        if (part) at += sizeof unnamed - 1;
        if (name[at] == '<' || (name[at] == '(' && !part)) return at;
    }
    return size;
}

const char *import_collective(const char *name, size_t size)
{
    // A longer word stands before those that it contains.
    static const struct {
        const char *word, *kind;
    } kinds[] = {
        { "allreduce", "AllReduce" }, { "crossdevicereduce", "AllReduce" },
        { "allgather", "AllGather" }, { "reducescatter", "ReduceScatter" },
        { "alltoall", "AllToAll" },   { "sendrecv", "SendRecv" },
        { "broadcast", "Broadcast" }, { "barrier", "Barrier" },
        { "reduce", "Reduce" },       { "gather", "Gather" },
        { "scatter", "Scatter" },     { "send", "Send" },
        { "recv", "Recv" },
    };
    size = plain_size(name, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (has(name, size, kinds[i].word)) return kinds[i].kind;
    return NULL;
}

/*
    Words in the names of kernels that communicate, without underscores.
    Source: the sources of NCCL, RCCL, MSCCL, NVSHMEM and rocSHMEM, of PyTorch's
    symmetric memory ("multimem_all_reduce_kernel", "two_shot_all_reduce"),
    vLLM, SGLang and AITER ("cross_device_reduce_1stage"), TensorRT-LLM and
    FlashInfer ("allreduce_fusion_kernel_oneshot_lamport"), Transformer Engine
    ("userbuffers_fp16_sum_inplace_gpu"), DeepEP, oneCCL and HCCL.
*/
static const char *const marks[] = {
    "ncclkernel",    "nccldevkernel", "ncclsymkernel", "ncclsymdevkernel",
    "ncclsymkdev",   "rcclkernel",    "rccldevkernel", "mscclkernel",
    "mscclpp",       "nvshmem",       "rocshmem",      "oneccl",
    "hcom",          "hccl",          "userbuffers",   "crossdevice",
    "deepep::intra", "deepep::inter", "allreduce",     "allgather",
    "reducescatter", "alltoall",      "multimemone"
};

// What reduces within a part of a device, and work that communicates besides.
static const char *const excepted[] = { "warp", "block", "gemm", "matmul" };

static bool has_any(const char *name, size_t size, const char *const *words,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (has_word(name, size, words[i])) return true;
    return false;
}

bool import_is_collective_kernel(const char *name, size_t size)
{
    size = plain_size(name, size);
    return has_any(name, size, marks, sizeof marks / sizeof *marks) &&
           !has_any(name, size, excepted, sizeof excepted / sizeof *excepted);
}

uint64_t import_communicator(const char *name, size_t size)
{
    const uint64_t hash = XXH3_64bits(name, size);
    return hash ? hash : 1;
}

// The element types of the format, by their numbers.
enum { I8 = 1, U8, I32, U32, I64, U64, F16, F32, F64, BF16, F8E4M3, F8E5M2 };

uint32_t import_element(const char *name, size_t size)
{
    static const struct {
        const char *name;
        uint32_t element;
    } names[] = {
        { "bfloat16", BF16 },
        { "bf16", BF16 },
        { "float", F32 },
        { "float32", F32 },
        { "f32", F32 },
        { "half", F16 },
        { "float16", F16 },
        { "f16", F16 },
        { "double", F64 },
        { "float64", F64 },
        { "f64", F64 },
        { "char", I8 },
        { "int8", I8 },
        { "i8", I8 },
        { "byte", U8 },
        { "uint8", U8 },
        { "u8", U8 },
        { "bool", U8 },
        { "int", I32 },
        { "int32", I32 },
        { "i32", I32 },
        { "uint32", U32 },
        { "u32", U32 },
        { "long", I64 },
        { "long int", I64 },
        { "int64", I64 },
        { "i64", I64 },
        { "uint64", U64 },
        { "u64", U64 },
        { "c10::bfloat16", BF16 },
        { "c10::half", F16 },
        { "signed char", I8 },
        { "unsigned char", U8 },
        { "c10::float8_e4m3fn", F8E4M3 },
        { "float8_e4m3fn", F8E4M3 },
        { "float8e4m3", F8E4M3 },
        { "f8e4m3", F8E4M3 },
        { "c10::float8_e5m2", F8E5M2 },
        { "float8_e5m2", F8E5M2 },
        { "float8e5m2", F8E5M2 },
        { "f8e5m2", F8E5M2 },
    };
    if (size > 4 && !memcmp(name, "nccl", 4)) name += 4, size -= 4;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        size_t at = 0;
        while (at < size && names[i].name[at] &&
               (name[at] | 0x20) == (names[i].name[at] | 0x20))
            at++;
        if (at == size && !names[i].name[at]) return names[i].element;
    }
    return 0;
}

uint32_t import_element_bytes(uint32_t element)
{
    static const uint8_t bytes[] = { 0, 1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1 };
    return element < sizeof bytes ? bytes[element] : 0;
}

// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)": the word that is a type.
static uint32_t kernel_element(const char *name, size_t size)
{
    uint32_t found = 0;
    size = plain_size(name, size);
    for (size_t at = 0, end; at < size; at = end + 1) {
        for (end = at; end < size && name[end] != '_';)
            end++;
        const uint32_t element = import_element(name + at, end - at);
        if (element) found = element;
    }
    return found;
}

void import_kernel(import_job *job, import_operation *operation,
                   const char *name, size_t size)
{
    operation->kind = TS_EVENT_KERNEL;
    if (!import_is_collective_kernel(name, size)) {
        import_gpu(job, operation);
        return;
    }
    const char *const kind = import_collective(name, size);
    const import_facts facts = {
        .name = kind ? import_name(job, kind, strlen(kind)) : 0,
        .type = kernel_element(name, size)
    };
    operation->kind = TS_EVENT_COLLECTIVE;
    import_gpu_collective(job, operation, &facts);
}
