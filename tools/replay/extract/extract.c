/*
    extract.c - writes one kernel as a program; the parts that all backends
    share, and those of the virtual accelerator
*/
#define _POSIX_C_SOURCE 200809L
#include <sys/stat.h>
#include <unistd.h>
#include "tools/replay/extract/extract.h"

// Source text that programs of all backends share.
const char extract_common[] =
    "static void fail(const char *what, const char *why)\n"
    "{\n"
    "    fprintf(stderr, \"%s: %s\\n\", what, why);\n"
    "    exit(2);\n"
    "}\n"
    "\n"
    "static FILE *open_file(const char *path)\n"
    "{\n"
    "    FILE *file = fopen(path, \"rb\");\n"
    "    if (!file) fail(path, \"cannot be read\");\n"
    "    return file;\n"
    "}\n"
    "\n"
    "// A file of memory has pieces of it: where each lies, in 8 bytes, then\n"
    "// its bytes. Between them are zeros; the last one lies at its end.\n"
    "static unsigned char piece[65536];\n"
    "static size_t size_at(size_t at, size_t size)\n"
    "{\n"
    "    return size - at < sizeof piece ? size - at : sizeof piece;\n"
    "}\n"
    "\n"
    "// The next piece, and where it lies.\n"
    "static size_t next_piece(FILE *file, const char *path, size_t size)\n"
    "{\n"
    "    unsigned long long at = 0;\n"
    "    if (fread(&at, 8, 1, file) != 1 || at > size ||\n"
    "        fread(piece, 1, size_at(at, size), file) != size_at(at, size))\n"
    "        fail(path, \"cannot be read\");\n"
    "    return at;\n"
    "}\n"
    "\n"
    "// Memory as a file has it. It was zeros.\n"
    "static void fill_from(unsigned char *to, const char *path, size_t size)\n"
    "{\n"
    "    FILE *file = open_file(path);\n"
    "    size_t at;\n"
    "    while ((at = next_piece(file, path, size)) < size)\n"
    "        memcpy(to + at, piece, size_at(at, size));\n"
    "    fclose(file);\n"
    "}\n"
    "\n"
    "static unsigned char *memory_of(const char *path, size_t size)\n"
    "{\n"
    "    unsigned char *bytes = calloc(1, size + 64);\n"
    "    if (!bytes) fail(path, \"out of memory\");\n"
    "    fill_from(bytes, path, size);\n"
    "    return bytes;\n"
    "}\n"
    "\n"
    "// Whether memory is another than a file says; no file: nobody knows.\n"
    "static int differs(const char *after, const unsigned char *now,\n"
    "                   size_t size)\n"
    "{\n"
    "    static const unsigned char zeros[sizeof piece];\n"
    "    int result = 0;\n"
    "    if (!after) return 0;\n"
    "    FILE *file = open_file(after);\n"
    "    size_t next = next_piece(file, after, size);\n"
    "    for (size_t at = 0, i = 0; at < size; at += sizeof piece) {\n"
    "        const unsigned char *want = at == next ? piece : zeros;\n"
    "        if (memcmp(want, now + at, size_at(at, size))) {\n"
    "            while (want[i] == now[at + i])\n"
    "                i++;\n"
    "            printf(\"%s: byte %zu: expected %02x, found %02x\\n\",\n"
    "                   after, at + i, want[i], now[at + i]);\n"
    "            result = 1;\n"
    "            break;\n"
    "        }\n"
    "        if (at == next) next = next_piece(file, after, size);\n"
    "    }\n"
    "    fclose(file);\n"
    "    return result;\n"
    "}\n"
    "\n";

const char extract_read_all[] =
    "static unsigned char *read_all(const char *path, size_t size)\n"
    "{\n"
    "    unsigned char *bytes = calloc(1, size + 64);\n"
    "    FILE *file = open_file(path);\n"
    "    if (!bytes || fread(bytes, 1, size, file) != size)\n"
    "        fail(path, \"cannot be read\");\n"
    "    fclose(file);\n"
    "    return bytes;\n"
    "}\n"
    "\n";

// The part of the program after its data.
static const char program[] =
    "typedef struct block {\n"
    "    uint32_t index[3], grid[3], size[3];\n"
    "    void *shared;\n"
    "    size_t shared_size;\n"
    "} block;\n"
    "\n"
    "static void *pages_at(uint64_t page, uint64_t size)\n"
    "{\n"
    "    return mmap((void *)(uintptr_t)page, size, PROT_READ | PROT_WRITE,\n"
    "                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |\n"
    "                    MAP_FIXED_NOREPLACE, -1, 0);\n"
    "}\n"
    "\n"
    "// Pages at an address; those that another region has are there.\n"
    "static void take_pages(uint64_t address, uint64_t size)\n"
    "{\n"
    "    uint64_t page = address & ~UINT64_C(4095);\n"
    "    void *all = pages_at(page, address + size - page);\n"
    "    if (all == (void *)(uintptr_t)page) return;\n"
    "    for (; page < address + size; page += 4096) {\n"
    "        void *got = pages_at(page, 4096);\n"
    "        if (got == MAP_FAILED && errno == EEXIST) continue;\n"
    "        if (got != (void *)(uintptr_t)page)\n"
    "            fail(\"memory\", \"the address is taken\");\n"
    "    }\n"
    "}\n"
    "\n"
    "int main(void)\n"
    "{\n"
    "    struct link_map *code = dlopen(\"./code.so\", RTLD_NOW);\n"
    "    if (!code) fail(\"code.so\", dlerror());\n"
    "    for (size_t i = 0; i < region_count; i++) {\n"
    "        region *r = &regions[i];\n"
    "        if (r->global) {\n"
    "            unsigned char *bytes = memory_of(r->before, r->size);\n"
    "            r->address = code->l_addr + r->offset;\n"
    "            memcpy((void *)(uintptr_t)r->address, bytes, r->size);\n"
    "            free(bytes);\n"
    "        } else {\n"
    "            take_pages(r->address, r->size);\n"
    "            fill_from((void *)(uintptr_t)r->address, r->before,\n"
    "                      r->size);\n"
    "        }\n"
    "    }\n"
    "    void (*kernel)(const void *, const block *) =\n"
    "        (void (*)(const void *, const block *))(uintptr_t)(\n"
    "            code->l_addr + function);\n"
    "    block b = { { 0 }, { 0 }, { 0 }, malloc(shared + 1), shared };\n"
    "    memcpy(b.grid, grid, sizeof grid);\n"
    "    memcpy(b.size, threads, sizeof threads);\n"
    "    for (b.index[2] = 0; b.index[2] < grid[2]; b.index[2]++)\n"
    "        for (b.index[1] = 0; b.index[1] < grid[1]; b.index[1]++)\n"
    "            for (b.index[0] = 0; b.index[0] < grid[0]; b.index[0]++)\n"
    "                kernel(args, &b);\n"
    "    int result = 0;\n"
    "    for (size_t i = 0; i < region_count; i++)\n"
    "        result |= differs(regions[i].after,\n"
    "                          (void *)(uintptr_t)regions[i].address,\n"
    "                          regions[i].size);\n"
    "    puts(result ? \"diverged\" : \"same\");\n"
    "    return result;\n"
    "}\n";

FILE *extract_open(const execute_job *job, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", job->options->output, name);
    FILE *const file = fopen(path, "wb");
    if (!file)
        cli_error(job->replay->tool, path, "cannot be written: %s",
                  strerror(errno));
    return file;
}

bool extract_close(const execute_job *job, FILE *file, const char *name)
{
    const bool ok = !ferror(file);
    if (fclose(file) == 0 && ok) return true;
    cli_error(job->replay->tool, name, "writing failed");
    return false;
}

// Writes memory as a file: for each chunk that is not all zeros its offset and
// its bytes, then the size. False if the trace lacks a chunk, or on an error.
static bool write_memory(const execute_job *job, const char *name,
                         const uint64_t list[2], uint64_t size)
{
    static const uint8_t zeros[TS_CAPTURE_CHUNK];
    uint64_t *hashes;
    size_t count;
    execute_list(job, list, &hashes, &count);
    if (!hashes || count != size / sizeof zeros + !!(size % sizeof zeros)) {
        free(hashes);
        return false;
    }
    FILE *const file = extract_open(job, name);
    bool ok = file != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        const uint64_t at = i * sizeof zeros, left = size - at;
        const void *bytes;
        size_t have;
        ok = ts_reader_blob(job->reader, &hashes[2 * i], &bytes, &have) ==
                 TS_OK &&
             have == (left < sizeof zeros ? left : sizeof zeros);
        if (ok && memcmp(bytes, zeros, have) != 0)
            ok = fwrite(&at, sizeof at, 1, file) == 1 &&
                 fwrite(bytes, 1, have, file) == have;
        ts_reader_blobs_free(job->reader);
    }
    free(hashes);
    if (ok) ok = fwrite(&size, sizeof size, 1, file) == 1;
    return (!file || extract_close(job, file, name)) && ok;
}

bool extract_refuse(const execute_job *job, const char *why)
{
    cli_error(job->replay->tool, job->replay->path, "%s", why);
    return false;
}

bool extract_code(const execute_job *job, const ts_capture *c,
                  ts_capture_image *image, const void **bytes, size_t *size)
{
    return (ts_reader_image(job->reader, c->head.image, image) &&
            ts_reader_blob(job->reader, image->hash, bytes, size) == TS_OK) ||
           extract_refuse(job, "the trace does not hold the kernel's code");
}

bool extract_file(const execute_job *job, const char *name, const void *bytes,
                  size_t size)
{
    FILE *const file = extract_open(job, name);
    if (file) fwrite(bytes, 1, size, file);
    return file && extract_close(job, file, name);
}

void extract_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++)
        if (*text >= ' ' && *text < 127 && !strchr("\"\\?", *text))
            fputc(*text, out);
        else
            fprintf(out, "\\%03o", (unsigned)(uint8_t)*text);
    fputc('"', out);
}

void extract_three(FILE *out, const char *name, const uint32_t *v)
{
    fprintf(out,
            "static const uint32_t %s[3] = { %" PRIu32 ", %" PRIu32 ", %" PRIu32
            " };\n",
            name, v[0], v[1], v[2]);
}

void extract_args(FILE *out, const ts_capture *c)
{
    fprintf(out,
            "static const _Alignas(64) unsigned char args[%" PRIu32 "] = {",
            c->head.args_size + 1);
    for (uint32_t i = 0; i < c->head.args_size; i++)
        fprintf(out, "%s0x%02x,", i % 12 ? " " : "\n    ", c->args[i]);
    fputs("\n    0\n};\n", out);
}

bool extract_region(const execute_job *job, FILE *out, const ts_capture *c,
                    uint32_t index)
{
    const ts_capture_region *const r = &c->regions[index];
    const cli_text before = cli_format("before-%" PRIu32 ".bin", index);
    const cli_text after = cli_format("after-%" PRIu32 ".bin", index);
    if (!write_memory(job, before.s, r->before, r->size))
        return extract_refuse(
            job, "the trace does not hold the memory of this launch");
    const bool known = write_memory(job, after.s, r->after, r->size);
    fprintf(out, "\"%s\", %s%s%s", before.s, known ? "\"" : "",
            known ? after.s : "NULL", known ? "\"" : "");
    return true;
}

static bool write_code(const execute_job *job, const ts_capture *c)
{
    ts_capture_image image;
    const void *bytes;
    size_t size;
    if (!extract_code(job, c, &image, &bytes, &size)) return false;
    uint8_t *const copy = malloc(size + 1);
    if (!copy) return extract_refuse(job, "out of memory");
    memcpy(copy, bytes, size);
    execute_as_library(copy, size);
    const bool ok = extract_file(job, "code.so", copy, size);
    free(copy);
    return ok;
}

// Writes the files of the regions and prints the table of them.
static bool put_regions(const execute_job *job, FILE *out, const ts_capture *c)
{
    fputs("typedef struct region {\n"
          "    uint64_t address, size;\n"
          "    int global;                 // a variable of the code ...\n"
          "    uint64_t offset;            // ... at this offset\n"
          "    const char *before, *after; // files\n"
          "} region;\n"
          "static region regions[] = {\n",
          out);
    for (uint32_t i = 0; i < c->head.region_count; i++) {
        const ts_capture_region *const r = &c->regions[i];
        fprintf(out,
                "    { UINT64_C(0x%" PRIx64 "), UINT64_C(%" PRIu64
                "), %d, UINT64_C(0x%" PRIx64 "),\n      ",
                r->address, r->size, r->image != 0, r->offset);
        if (!extract_region(job, out, c, i)) return false;
        fputs(" },\n", out);
    }
    fprintf(out,
            "    { 0, 0, 0, 0, NULL, NULL }\n};\n"
            "static const size_t region_count = %" PRIu32 ";\n",
            c->head.region_count);
    return true;
}

static bool write_program(const execute_job *job, const ts_capture *c)
{
    FILE *const out = extract_open(job, "main.c");
    if (!out) return false;
    fputs("// One launch of a kernel, with its data. Build and run it here:\n"
          "//     cc main.c -o main -ldl && ./main\n"
          "#define _GNU_SOURCE\n#include <dlfcn.h>\n#include <errno.h>\n"
          "#include <link.h>\n#include <stdint.h>\n#include <stdio.h>\n"
          "#include <stdlib.h>\n#include <string.h>\n#include <sys/mman.h>\n"
          "\n",
          out);
    extract_three(out, "grid", c->head.grid);
    extract_three(out, "threads", c->head.block);
    fprintf(out,
            "static const size_t shared = %" PRIu32 ";\n"
            "static const uint64_t function = UINT64_C(0x%" PRIx64 ");\n",
            c->head.shared, c->head.function);
    extract_args(out, c);
    const bool ok = put_regions(job, out, c);
    fputc('\n', out);
    fputs(extract_common, out);
    fputs(program, out);
    return extract_close(job, out, "main.c") && ok;
}

static bool is_selected(const execute_job *job,
                        const ts_capture_operation *head)
{
    const char *const wanted = job->options->extract;
    const ts_text name = ts_reader_name(job->reader, head->name);
    return head->kind == TS_EVENT_KERNEL &&
           cli_matches(wanted, strlen(wanted), name.text, name.size);
}

static bool has_selected(const execute_job *job, const ts_capture *graph)
{
    ts_capture_node node = { .index = 0 };
    while (graph->head.kind == TS_EVENT_GRAPH_LAUNCH &&
           ts_capture_node_next(graph, &node))
        if (is_selected(job, &node.head)) return true;
    return false;
}

// Finds the first captured launch that does not belong to a graph.
static bool find_kernel(const execute_job *job, ts_capture *c)
{
    const char *why = "no captured kernel has the name '%s'";
    for (size_t i = 0; i < job->count; i++) {
        if (job->rows[i].capture == EXECUTE_NONE ||
            !ts_reader_capture(job->reader, job->rows[i].capture, c))
            continue;
        if (is_selected(job, &c->head)) {
            if (c->head.state != TS_CAPTURE_DECLINED) return true;
            why = "the launches of '%s' were declined: ts-replay --execute "
                  "shows why";
        } else if (has_selected(job, c)) {
            why = "'%s' is launched only by graphs: the trace holds the "
                  "results of the whole graph, not those of this kernel";
        }
    }
    cli_error(job->replay->tool, job->replay->path, why, job->options->extract);
    return false;
}

static bool extract_vdev(const execute_job *job, const ts_capture *c)
{
    return write_code(job, c) && write_program(job, c);
}

static const struct {
    const char *backend, *flag;
    bool (*write)(const execute_job *job, const ts_capture *c);
} writers[] = {
    { "vdev", "-ldl", extract_vdev },
    { "opencl", "-lOpenCL", extract_opencl },
    { "cuda", "-ldl", extract_cuda },
    { "hip", "-ldl", extract_hip },
};
enum { WRITERS = sizeof writers / sizeof *writers };

bool execute_extract(const execute_job *job)
{
    ts_capture c;
    size_t i = 0;
    while (i < WRITERS && strcmp(job->executor->name, writers[i].backend))
        i++;
    if (i == WRITERS)
        return extract_refuse(job, "--extract does not support this backend");
    if (!find_kernel(job, &c)) return false;
    // rmdir removes an existing folder only if it is empty.
    if (rmdir(job->options->output) != 0 && errno != ENOENT) {
        cli_error(job->replay->tool, job->options->output,
                  "%s: the folder must be new or empty", strerror(errno));
        return false;
    }
    if (mkdir(job->options->output, 0777) != 0) {
        cli_error(job->replay->tool, job->options->output, "%s",
                  strerror(errno));
        return false;
    }
    if (!writers[i].write(job, &c)) return false;
    cli_put_text(stdout, job->options->output, strlen(job->options->output));
    fputs(": ", stdout);
    const ts_text name = ts_reader_name(job->reader, c.head.name);
    cli_put_text(stdout, name.text, name.size);
    printf(" with %" PRIu32 " memory regions; build and run it in this "
           "folder:\n    cc main.c -o main %s && ./main\n",
           c.head.region_count, writers[i].flag);
    return true;
}
