/*
    opencl.c - writes one kernel of OpenCL as a program
*/
#define _POSIX_C_SOURCE 200809L
#include "tools/replay/extract/extract.h"

/* ---- Code ---------------------------------------------------------------- */

static bool put_code(const execute_job *job, FILE *out, const ts_capture *c)
{
    ts_capture_image image;
    const void *bytes;
    size_t size;
    if (!extract_code(job, c, &image, &bytes, &size)) return false;
    const bool is_source = image.form == TS_CAPTURE_OPENCL_C;
    if (!is_source && image.form != TS_CAPTURE_DEVICE_BINARY)
        return extract_refuse(
            job, "--extract supports OpenCL kernels from source and from "
                 "device binaries only");
    const char *const name = is_source ? "kernel.cl" : "kernel.bin";
    fprintf(out, "static const char code[] = \"%s\", options[] =\n    ", name);
    extract_string(out, ts_reader_name(job->reader, image.options).text);
    fprintf(out,
            ";\nstatic const int code_is_source = %d;\n"
            "static const size_t code_size = %zu;\n"
            "static const char kernel_name[] = ",
            is_source, size);
    extract_string(out, ts_reader_name(job->reader, c->head.name).text);
    fputs(";\n", out);
    return extract_file(job, name, bytes, size);
}

/* ---- Threads ------------------------------------------------------------- */

static void put_sizes(FILE *out, const char *name, const uint64_t *v)
{
    fprintf(out,
            "static const size_t %s[3] = { %" PRIu64 ", %" PRIu64 ", %" PRIu64
            " };\n",
            name, v[0], v[1], v[2]);
}

static void put_threads(FILE *out, const ts_capture *c)
{
    uint64_t first[3] = { 0 }, threads[3], group[3];
    uint32_t dimensions = 1;
    ts_attribute one;
    if (ts_attribute_find(&c->attributes, TS_ATTRIBUTE_GLOBAL_OFFSET, 24, &one))
        memcpy(first, one.bytes, 24);
    for (uint32_t i = 0; i < 3; i++) {
        group[i] = c->head.block[i] ? c->head.block[i] : 1;
        threads[i] = group[i] * (c->head.grid[i] ? c->head.grid[i] : 1);
    }
    if (ts_attribute_find(&c->attributes, TS_ATTRIBUTE_GLOBAL_SIZE, 24, &one))
        memcpy(threads, one.bytes, 24);
    for (uint32_t i = 0; i < 3; i++)
        if (threads[i] > 1 || first[i]) dimensions = i + 1;
    if (ts_attribute_find(&c->attributes, TS_ATTRIBUTE_DIMENSIONS, 4, &one))
        memcpy(&dimensions, one.bytes, 4);
    put_sizes(out, "first", first);
    put_sizes(out, "threads", threads);
    put_sizes(out, "group", group);
    fprintf(out,
            "static const cl_uint dimensions = %" PRIu32 ";\n"
            "static const int grouped = %d;\n",
            dimensions, c->head.block[0] != 0);
}

/* ---- Memory -------------------------------------------------------------- */

static bool put_buffers(const execute_job *job, FILE *out, const ts_capture *c)
{
    fputs("static buffer buffers[] = {\n", out);
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        fprintf(out, "    { %" PRIu64 ", ", c->regions[i].size);
        if (!extract_region(job, out, c, i)) return false;
        fputs(", NULL, NULL },\n", out);
    }
    fprintf(out,
            "    { 0, NULL, NULL, NULL, NULL }\n};\n"
            "static const size_t buffer_count = %" PRIu32 ";\n",
            c->head.region_count);
    return true;
}

// Finds the buffer that contains an address, and the offset in it.
static bool find_buffer(const ts_capture *c, uint64_t address, uint32_t *which,
                        uint64_t *offset)
{
    for (*which = 0; *which < c->head.region_count; ++*which) {
        *offset = address - c->regions[*which].address;
        if (*offset < c->regions[*which].size) return true;
    }
    return false;
}

static bool find_attribute(const ts_capture *c, uint32_t id, void *to,
                           uint32_t size, uint64_t key)
{
    ts_attribute one;
    for (uint64_t at = 0; ts_attribute_next(&c->attributes, &at, &one);) {
        uint64_t own = 0;
        if (one.id != id || one.size < size) continue;
        // The handle comes first: an address, or a number.
        memcpy(&own, one.bytes, id == TS_ATTRIBUTE_IMAGE ? 8 : 4);
        if (own != key) continue;
        memcpy(to, one.bytes, size);
        return true;
    }
    return false;
}

static bool put_image(FILE *out, const ts_capture *c, uint64_t address)
{
    ts_capture_object o;
    uint32_t which;
    uint64_t offset;
    if (!find_attribute(c, TS_ATTRIBUTE_IMAGE, &o, sizeof o, address) ||
        !find_buffer(c, address, &which, &offset))
        return false;
    const bool lines = o.object_type == 0x10F5; // CL_MEM_OBJECT_IMAGE1D_ARRAY
    const uint64_t rows = lines ? o.array_size : o.height ? o.height : 1;
    const uint64_t slices = o.object_type == 0x10F3 ? o.array_size
                            : o.depth               ? o.depth
                                                    : 1;
    fprintf(out,
            "    { %" PRIu32 ", %" PRIu64 ", %" PRIu64 ", { %" PRIu64
            ", %" PRIu64 ", %" PRIu64 " }, { 0x%" PRIx32 ", 0x%" PRIx32 " },\n",
            which, offset, o.row_pitch, o.width, rows, slices, o.order, o.type);
    fprintf(out,
            "      { .image_type = 0x%" PRIx32 ", .image_width = %" PRIu64
            ", .image_height = %" PRIu64 ",\n        .image_depth = %" PRIu64
            ", .image_array_size = %" PRIu64 " }, NULL },\n",
            o.object_type, o.width, o.height, o.depth, o.array_size);
    return true;
}

/* ---- Arguments ----------------------------------------------------------- */

static uint64_t value_of(const ts_capture *c, uint32_t param)
{
    uint64_t value;
    memcpy(&value, c->args + c->params[param].offset, sizeof value);
    return value;
}

static bool put_images(FILE *out, const ts_capture *c)
{
    uint32_t count = 0;
    bool ok = true;
    fputs("static image images[] = {\n", out);
    for (uint32_t i = 0; ok && i < c->head.param_count; i++) {
        if (c->params[i].type != TS_PARAM_OBJECT) continue;
        ok = put_image(out, c, value_of(c, i));
        count++;
    }
    fprintf(out,
            "    { .buffer = 0 }\n};\n"
            "static const size_t image_count = %" PRIu32 ";\n",
            count);
    return ok;
}

static bool put_samplers(FILE *out, const ts_capture *c)
{
    ts_capture_sampler s;
    bool ok = true;
    fputs("static const cl_uint samplers[][3] = {\n", out);
    for (uint32_t i = 0; ok && i < c->head.param_count; i++) {
        if (c->params[i].type != TS_PARAM_SAMPLER) continue;
        ok = find_attribute(c, TS_ATTRIBUTE_SAMPLER, &s, sizeof s,
                            value_of(c, i));
        if (ok)
            fprintf(out, "    { %" PRIu32 ", 0x%" PRIx32 ", 0x%" PRIx32 " },\n",
                    s.normalized, s.addressing, s.filter);
    }
    fputs("    { 0, 0, 0 }\n};\n", out);
    return ok;
}

static bool put_arguments(FILE *out, const ts_capture *c)
{
    uint32_t images = 0, samplers = 0;
    fputs("static const argument arguments[] = {\n", out);
    for (uint32_t i = 0; i < c->head.param_count; i++) {
        const ts_capture_param *const p = &c->params[i];
        const uint64_t value = p->type ? value_of(c, i) : 0;
        uint32_t which = 0;
        uint64_t size = 0;
        char kind = 'n';
        if (p->type == TS_PARAM_UNKNOWN) {
            kind = 'v';
            which = p->offset;
            size = p->size;
        } else if (p->type == TS_PARAM_POINTER && value) {
            kind = 'b';
            if (!find_buffer(c, value, &which, &size)) return false;
        } else if (p->type == TS_PARAM_LOCAL) {
            kind = 'l';
            size = value;
        } else if (p->type == TS_PARAM_OBJECT) {
            kind = 'i';
            which = images++;
        } else if (p->type == TS_PARAM_SAMPLER) {
            kind = 's';
            which = samplers++;
        }
        fprintf(out, "    { '%c', %" PRIu32 ", %" PRIu64 " },\n", kind, which,
                size);
    }
    fprintf(out,
            "    { 0, 0, 0 }\n};\n"
            "static const cl_uint argument_count = %" PRIu32 ";\n",
            c->head.param_count);
    return true;
}

bool extract_opencl(const execute_job *job, const ts_capture *c)
{
    FILE *const out = extract_open(job, "main.c");
    if (!out) return false;
    fputs(extract_opencl_head, out);
    bool ok = put_code(job, out, c) && put_buffers(job, out, c);
    if (ok) {
        put_threads(out, c);
        extract_args(out, c);
        ok =
            put_images(out, c) && put_samplers(out, c) && put_arguments(out, c);
        if (!ok) extract_refuse(job, "the capture of this launch is damaged");
    }
    fputc('\n', out);
    fputs(extract_common, out);
    fputs(extract_read_all, out);
    for (size_t i = 0; extract_opencl_program[i]; i++)
        fputs(extract_opencl_program[i], out);
    return extract_close(job, out, "main.c") && ok;
}
