/*
    gpu/collective.h - collectives, recognised by the names of their kernels

    Version 0.1.0. Apache-2.0; the licence is in LICENSE.

    Communication libraries run ordinary kernels, and a vendor reports them as
    such. Only the name says that one is a part of a collective, of which
    kind, and often for which elements. The size, the communicator and the
    ranks are not in it. Backends and ts-import share this, so that recordings
    and imported traces agree.

    CONTENTS                            search for "==== 2." to jump
        1. Plain names
        2. Kinds and kernels
        3. Element types
*/
#ifndef TS__GPU_COLLECTIVE_H
#define TS__GPU_COLLECTIVE_H

#include "tracesmith.h"
#include <string.h>

#define TS__COLLECTIVE static inline __attribute__((unused))

/* ==== 1. Plain names ===================================================== */

// The base name of a kernel, without template arguments and parameters. Mangled
// names (Itanium C++ ABI, 5.1) are demangled to "a::b". A name longer than
// `room` is truncated.
typedef struct ts_collective_name {
    const char *text; // points into the name or at `room`
    size_t size;
    char room[256];
} ts_collective_name;

// "(anonymous namespace)" is part of the name; other parentheses end it.
TS__COLLECTIVE size_t ts__collective_end(const char *name, size_t size)
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

TS__COLLECTIVE void ts__collective_add(ts_collective_name *to, const char *text,
                                       size_t size)
{
    if (size > sizeof to->room - to->size) size = sizeof to->room - to->size;
    memcpy(to->room + to->size, text, size);
    to->size += size;
}

// Demangles _Z [L] IDENTIFIER... and _Z N [qualifiers] IDENTIFIER... E, where
// each identifier is preceded by its length. Template arguments are skipped.
TS__COLLECTIVE void ts__collective_demangle(ts_collective_name *to,
                                            const char *name, size_t size)
{
    size_t at = 2;
    const bool nested = at < size && name[at] == 'N';
    while (at < size && strchr("NLrVKRO", name[at]))
        at++;
    to->text = to->room;
    to->size = 0;
    do {
        size_t length = 0;
        for (; at < size && name[at] >= '0' && name[at] <= '9'; at++)
            if (length < size)
                length = length * 10 + TS__AS(size_t, name[at] - '0');
        if (!length || length > size - at) return;
        if (to->size) ts__collective_add(to, "::", 2);
        ts__collective_add(to, name + at, length);
        at += length;
    } while (nested);
}

TS__COLLECTIVE void ts_collective_plain(ts_collective_name *to,
                                        const char *name, size_t size)
{
    if (size > 2 && name[0] == '_' && name[1] == 'Z')
        ts__collective_demangle(to, name, size);
    else
        to->text = name, to->size = ts__collective_end(name, size);
}

/* ==== 2. Kinds and kernels =============================================== */

// Returns whether the text starts with the word, ignoring case and underscores.
TS__COLLECTIVE bool ts__collective_goes_on(const char *text, size_t size,
                                           const char *word)
{
    for (size_t i = 0; *word && i < size; i++) {
        if (text[i] == '_' && i) continue;
        if ((text[i] | 0x20) != *word) break;
        word++;
    }
    return !*word;
}

TS__COLLECTIVE bool ts__collective_has(const char *text, size_t size,
                                       const char *word)
{
    for (size_t at = 0; at < size; at++)
        if (ts__collective_goes_on(text + at, size - at, word)) return true;
    return false;
}

TS__COLLECTIVE bool ts__collective_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

// Returns whether `word` occurs where a word begins: "small_reduce" does not
// contain "allreduce".
TS__COLLECTIVE bool ts__collective_has_word(const char *text, size_t size,
                                            const char *word)
{
    for (size_t at = 0; at < size; at++)
        if ((!at || !ts__collective_is_lower(text[at - 1]) ||
             !ts__collective_is_lower(text[at])) &&
            ts__collective_goes_on(text + at, size - at, word))
            return true;
    return false;
}

// Returns whether the name contains any of the words; the list ends with NULL.
TS__COLLECTIVE bool ts__collective_has_any(const ts_collective_name *name,
                                           const char *const *words)
{
    while (*words && !ts__collective_has_word(name->text, name->size, *words))
        words++;
    return *words != TS__NULL;
}

/*
    Returns the kind of collective of a kernel or library function by its name:
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",
    "AllToAll", "SendRecv", "Send", "Recv", "Gather", "Scatter", "Barrier";
    NULL: unknown. Knows the names of kernels and functions of NCCL, RCCL and
    PyTorch ("_allgather_base").
*/
TS__COLLECTIVE const char *ts_collective_kind(const char *name, size_t size)
{
    // A longer word comes before the words that it contains.
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
    ts_collective_name plain;
    ts_collective_plain(&plain, name, size);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (ts__collective_has(plain.text, plain.size, kinds[i].word))
            return kinds[i].kind;
    return TS__NULL;
}

/*
    Returns whether a kernel of this name belongs to a communication library.

    Words are written without underscores.
    Source: the sources of NCCL, RCCL, MSCCL, NVSHMEM and rocSHMEM, of PyTorch's
    symmetric memory ("multimem_all_reduce_kernel", "two_shot_all_reduce"),
    vLLM, SGLang and AITER ("cross_device_reduce_1stage"), TensorRT-LLM and
    FlashInfer ("allreduce_fusion_kernel_oneshot_lamport"), Transformer Engine
    ("userbuffers_fp16_sum_inplace_gpu"), DeepEP, oneCCL and HCCL.
*/
TS__COLLECTIVE bool ts_collective_is_kernel(const char *name, size_t size)
{
    static const char *const marks[] = {
        "ncclkernel",    "nccldevkernel", "ncclsymkernel", "ncclsymdevkernel",
        "ncclsymkdev",   "rcclkernel",    "rccldevkernel", "mscclkernel",
        "mscclpp",       "nvshmem",       "rocshmem",      "oneccl",
        "hcom",          "hccl",          "userbuffers",   "crossdevice",
        "deepep::intra", "deepep::inter", "allreduce",     "allgather",
        "reducescatter", "alltoall",      "multimemone",   TS__NULL
    };
    // Excludes reductions within one device and compute kernels that also
    // communicate.
    static const char *const excepted[] = { "warp", "block", "gemm", "matmul",
                                            TS__NULL };
    ts_collective_name plain;
    ts_collective_plain(&plain, name, size);
    return ts__collective_has_any(&plain, marks) &&
           !ts__collective_has_any(&plain, excepted);
}

/* ==== 3. Element types =================================================== */

// The element types of the trace format.
enum {
    TS__ELEMENT_I8 = 1,
    TS__ELEMENT_U8,
    TS__ELEMENT_I32,
    TS__ELEMENT_U32,
    TS__ELEMENT_I64,
    TS__ELEMENT_U64,
    TS__ELEMENT_F16,
    TS__ELEMENT_F32,
    TS__ELEMENT_F64,
    TS__ELEMENT_BF16,
    TS__ELEMENT_F8E4M3,
    TS__ELEMENT_F8E5M2
};

// Returns the element type of a name such as "BFloat16", "float", "Half" or
// "ncclFloat32"; 0: unknown.
TS__COLLECTIVE uint32_t ts_collective_element(const char *name, size_t size)
{
    static const struct {
        const char *name;
        uint32_t element;
    } names[] = {
        { "bfloat16", TS__ELEMENT_BF16 },
        { "bf16", TS__ELEMENT_BF16 },
        { "float", TS__ELEMENT_F32 },
        { "float32", TS__ELEMENT_F32 },
        { "f32", TS__ELEMENT_F32 },
        { "half", TS__ELEMENT_F16 },
        { "float16", TS__ELEMENT_F16 },
        { "f16", TS__ELEMENT_F16 },
        { "double", TS__ELEMENT_F64 },
        { "float64", TS__ELEMENT_F64 },
        { "f64", TS__ELEMENT_F64 },
        { "char", TS__ELEMENT_I8 },
        { "int8", TS__ELEMENT_I8 },
        { "i8", TS__ELEMENT_I8 },
        { "byte", TS__ELEMENT_U8 },
        { "uint8", TS__ELEMENT_U8 },
        { "u8", TS__ELEMENT_U8 },
        { "bool", TS__ELEMENT_U8 },
        { "int", TS__ELEMENT_I32 },
        { "int32", TS__ELEMENT_I32 },
        { "i32", TS__ELEMENT_I32 },
        { "uint32", TS__ELEMENT_U32 },
        { "u32", TS__ELEMENT_U32 },
        { "long", TS__ELEMENT_I64 },
        { "long int", TS__ELEMENT_I64 },
        { "int64", TS__ELEMENT_I64 },
        { "i64", TS__ELEMENT_I64 },
        { "uint64", TS__ELEMENT_U64 },
        { "u64", TS__ELEMENT_U64 },
        { "c10::bfloat16", TS__ELEMENT_BF16 },
        { "c10::half", TS__ELEMENT_F16 },
        { "signed char", TS__ELEMENT_I8 },
        { "unsigned char", TS__ELEMENT_U8 },
        { "c10::float8_e4m3fn", TS__ELEMENT_F8E4M3 },
        { "float8_e4m3fn", TS__ELEMENT_F8E4M3 },
        { "float8e4m3", TS__ELEMENT_F8E4M3 },
        { "f8e4m3", TS__ELEMENT_F8E4M3 },
        { "c10::float8_e5m2", TS__ELEMENT_F8E5M2 },
        { "float8_e5m2", TS__ELEMENT_F8E5M2 },
        { "float8e5m2", TS__ELEMENT_F8E5M2 },
        { "f8e5m2", TS__ELEMENT_F8E5M2 },
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

// Returns the element type in a kernel's name, as "f32" in
// "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"; 0: unknown.
TS__COLLECTIVE uint32_t ts_collective_kernel_element(const char *name,
                                                     size_t size)
{
    ts_collective_name plain;
    uint32_t found = 0;
    ts_collective_plain(&plain, name, size);
    for (size_t at = 0, end; at < plain.size; at = end + 1) {
        for (end = at; end < plain.size && plain.text[end] != '_';)
            end++;
        const uint32_t element =
            ts_collective_element(plain.text + at, end - at);
        if (element) found = element;
    }
    return found;
}

#endif // TS__GPU_COLLECTIVE_H
