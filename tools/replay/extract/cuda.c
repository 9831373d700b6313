/*
    cuda.c - writes one kernel of CUDA or HIP as a program

    The program does the same as ts_cuda_exec.h, without a reader: it maps
    memory at the recorded addresses, loads the code, and launches with the
    recorded arguments.
*/
#define _POSIX_C_SOURCE 200809L
#include "backends/ts_cuda_code.h"
#include "tools/replay/extract/extract.h"

#define GRANULE (UINT64_C(2) << 20) // of mappings at fixed addresses

/* ---- What cannot be written ---------------------------------------------- */

static bool check_attributes(const execute_job *job, const ts_capture *c)
{
    ts_attribute a;
    uint32_t id;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &a);) {
        if (a.id == TS_ATTRIBUTE_TENSOR_MAP || a.id == TS_ATTRIBUTE_TEXTURE)
            return extract_refuse(
                job, a.id == TS_ATTRIBUTE_TEXTURE
                         ? "the launch uses a texture, which --extract does "
                           "not support: its handle is valid in one process "
                           "only"
                         : "the launch uses a tensor map, which --extract does "
                           "not support: its format is known to the driver "
                           "only");
        if (a.id != TS_ATTRIBUTE_CUDA_LAUNCH || a.size < 72) continue;
        memcpy(&id, a.bytes, sizeof id);
        if (id >= 32 ||
            !((TS_CUDA_LAUNCH_ATTRIBUTES | TS_CUDA_LAUNCH_ORDER) >> id & 1))
            return extract_refuse(job, "the launch has an attribute that "
                                       "--extract cannot set");
    }
    return true;
}

static bool check_regions(const execute_job *job, const ts_capture *c)
{
    uint32_t device = 0;
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        if (r->image &&
            (r->image != c->head.image || r->found != TS_CAPTURE_BY_GLOBAL))
            return extract_refuse(
                job, "the launch accesses a module's variable by its address, "
                     "which differs in each process");
        if (r->image) continue;
        if (!r->device || (device && r->device != device))
            return extract_refuse(job, "the launch accesses memory outside of "
                                       "its device");
        if (!r->size || r->size > UINT64_MAX - GRANULE ||
            r->address > UINT64_MAX - GRANULE - r->size)
            return extract_refuse(job, "the capture of this launch is damaged");
        device = r->device;
    }
    return true;
}

/* ---- Code and memory ----------------------------------------------------- */

static bool put_code(const execute_job *job, FILE *out, const ts_capture *c,
                     const ts_capture_image *image, const void *bytes,
                     size_t size)
{
    const char *name = NULL;
    switch (image->form) {
    case TS_CAPTURE_CUBIN: name = "kernel.cubin"; break;
    case TS_CAPTURE_PTX: name = "kernel.ptx"; break;
    case TS_CAPTURE_FATBIN: name = "kernel.fatbin"; break;
    case TS_CAPTURE_AMD_OBJECT: name = "kernel.hsaco"; break;
    default:
        return extract_refuse(job, "its code is for another type of "
                                   "device");
    }
    fprintf(out, "static const char code[] = \"%s\", kernel[] =\n    ", name);
    extract_string(out, ts_reader_name(job->reader, c->head.name).text);
    fprintf(out, ";\nstatic const size_t code_size = %zu;\n", size);
    return extract_file(job, name, bytes, size);
}

// code: an opened ELF file; empty if it has no symbols.
static bool put_regions(const execute_job *job, FILE *out, const ts_capture *c,
                        const ts_cuda_code *code)
{
    fputs("static region regions[] = {\n", out);
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        const char *const name =
            r->image ? ts_cuda_code_symbol(code, r->offset) : "";
        if (r->image && !*name)
            return extract_refuse(job, "the kernel's code does not contain the "
                                       "names of its variables");
        fprintf(out, "    { UINT64_C(0x%" PRIx64 "), %" PRIu64 ", ",
                r->image ? 0 : r->address, r->size);
        if (!extract_region(job, out, c, i)) return false;
        fputs(",\n      ", out);
        extract_string(out, name);
        fputs(" },\n", out);
    }
    fprintf(out,
            "    { 0, 0, NULL, NULL, NULL }\n};\n"
            "static const size_t region_count = %" PRIu32 ";\n",
            c->head.region_count);
    return true;
}

static int by_address(const void *a, const void *b)
{
    const uint64_t *const x = a, *const y = b;
    return *x < *y ? -1 : *x > *y;
}

// Prints the ranges of granules that the regions touch, without overlap.
static bool put_spans(const execute_job *job, FILE *out, const ts_capture *c)
{
    uint64_t(*const spans)[2] =
        calloc((size_t)c->head.region_count + 1, sizeof *spans);
    size_t found = 0, count = 0;
    if (!spans) return extract_refuse(job, "out of memory");
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        if (r->image) continue;
        spans[found][0] = r->address & ~(GRANULE - 1);
        spans[found++][1] =
            (r->address + r->size + GRANULE - 1) & ~(GRANULE - 1);
    }
    qsort(spans, found, sizeof *spans, by_address);
    fputs("static const span spans[] = { // all of memory, in whole granules\n",
          out);
    for (size_t i = 0, next; i < found; i = next, count++) {
        uint64_t end = spans[i][1];
        for (next = i + 1; next < found && spans[next][0] < end; next++)
            if (spans[next][1] > end) end = spans[next][1];
        fprintf(out, "    { UINT64_C(0x%" PRIx64 "), %" PRIu64 " },\n",
                spans[i][0], end - spans[i][0]);
    }
    fprintf(out,
            "    { 0, 0 }\n};\n"
            "static const size_t span_count = %zu;\n",
            count);
    free(spans);
    return true;
}

/* ---- Attributes ---------------------------------------------------------- */

static void put_function_attributes(FILE *out, const ts_capture *c)
{
    ts_attribute a;
    uint32_t count = 0;
    bool allowed = c->head.shared <= TS_CUDA_SHARED_DEFAULT;
    fputs("static const int settings[][2] = { // of the function\n", out);
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &a);) {
        int32_t pair[2];
        if (a.id != TS_ATTRIBUTE_FUNCTION || a.size < sizeof pair) continue;
        memcpy(pair, a.bytes, sizeof pair);
        fprintf(out, "    { %" PRId32 ", %" PRId32 " },\n", pair[0], pair[1]);
        allowed |= pair[0] == TS_CUDA_SHARED_ATTRIBUTE;
        count++;
    }
    // Allowed even if the recorder did not see the setting.
    if (!allowed)
        fprintf(out, "    { %d, %" PRIu32 " },\n", TS_CUDA_SHARED_ATTRIBUTE,
                c->head.shared);
    count += !allowed;
    fprintf(out,
            "    { 0, 0 }\n};\n"
            "static const size_t setting_count = %" PRIu32 ";\n",
            count);
}

// Attributes that only allow an earlier start are left out: nothing else runs.
static void put_launch_attributes(FILE *out, const ts_capture *c)
{
    ts_attribute a;
    uint32_t count = 0;
    fputs("static attribute attributes[] = { // of the launch\n", out);
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &a);) {
        uint8_t value[64] = { 1 }; // cooperative: the number 1
        uint32_t id = TS_CUDA_LAUNCH_COOPERATIVE;
        if (a.id == TS_ATTRIBUTE_CUDA_LAUNCH && a.size >= 72) {
            memcpy(&id, a.bytes, sizeof id);
            memcpy(value, (const uint8_t *)a.bytes + 8, sizeof value);
            if (TS_CUDA_LAUNCH_ORDER >> id & 1)
                continue; // id: see check_attributes
        } else if (a.id != TS_ATTRIBUTE_COOPERATIVE) {
            continue;
        }
        fprintf(out, "    { %" PRIu32 ", 0, {", id);
        for (size_t i = 0; i < sizeof value; i++)
            fprintf(out, "%s0x%02x,", i % 12 ? " " : "\n        ", value[i]);
        fputs("\n    } },\n", out);
        count++;
    }
    fprintf(out,
            "    { 0, 0, { 0 } }\n};\n"
            "static const unsigned attribute_count = %" PRIu32 ";\n",
            count);
}

static bool put_all(const execute_job *job, FILE *out, const ts_capture *c)
{
    ts_capture_image image;
    ts_cuda_code code;
    const void *bytes;
    size_t size;
    if (!extract_code(job, c, &image, &bytes, &size)) return false;
    void *const copy = malloc(size + 1); // aligned to 8 bytes
    if (!copy) return extract_refuse(job, "out of memory");
    memcpy(copy, bytes, size);
    if (!ts_cuda_code_open(&code, copy, size)) memset(&code, 0, sizeof code);
    const bool ok = put_code(job, out, c, &image, copy, size) &&
                    put_regions(job, out, c, &code) && put_spans(job, out, c);
    free(copy);
    if (!ok) return false;
    extract_three(out, "grid", c->head.grid);
    extract_three(out, "block", c->head.block);
    fprintf(out,
            "static const uint32_t shared = %" PRIu32 ";\n"
            "static const size_t args_size = %" PRIu32 ";\n",
            c->head.shared, c->head.args_size);
    extract_args(out, c);
    return true;
}

// Prints the part after the data.
static bool put_program(const execute_job *job, FILE *out, const char *program)
{
    fputc('\n', out);
    fputs(extract_common, out);
    fputs(extract_read_all, out);
    fputs(program, out);
    fputs(extract_gpu_program, out);
    return extract_close(job, out, "main.c");
}

bool extract_cuda(const execute_job *job, const ts_capture *c)
{
    if (!check_attributes(job, c) || !check_regions(job, c)) return false;
    FILE *const out = extract_open(job, "main.c");
    if (!out) return false;
    fputs(extract_gpu_head, out);
    fputs(extract_cuda_head, out);
    const bool ok = put_all(job, out, c);
    put_function_attributes(out, c);
    put_launch_attributes(out, c);
    return put_program(job, out, extract_cuda_program) && ok;
}

// Other attributes of HIP's launches are hints.
static bool is_concurrent(const ts_capture *c)
{
    ts_attribute a;
    uint32_t id, value;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &a);) {
        if (a.id == TS_ATTRIBUTE_COOPERATIVE) return true;
        if (a.id != TS_ATTRIBUTE_CUDA_LAUNCH || a.size < 72) continue;
        memcpy(&id, a.bytes, sizeof id);
        memcpy(&value, (const uint8_t *)a.bytes + 8, sizeof value);
        if (id == TS_CUDA_LAUNCH_COOPERATIVE && value) return true;
    }
    return false;
}

bool extract_hip(const execute_job *job, const ts_capture *c)
{
    if (is_concurrent(c))
        return extract_refuse(job, "it is a cooperative launch, which "
                                   "--extract does not support for HIP");
    if (!check_regions(job, c)) return false;
    FILE *const out = extract_open(job, "main.c");
    if (!out) return false;
    fputs(extract_gpu_head, out);
    const bool ok = put_all(job, out, c);
    return put_program(job, out, extract_hip_program) && ok;
}
