/*
    elf.c - opens the files of a module, checks build-ids, reads symbol tables
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/elf.h"
#include "tools/cli/search.h"

#ifdef TRACESMITH_DW
#include <dlfcn.h>
#include <elfutils/libdwelf.h>
#include <unistd.h>

/* ---- Which file ---------------------------------------------------------- */

static Elf *open_elf(int file)
{
    Elf *const elf = file < 0 ? NULL : elf_begin(file, ELF_C_READ_MMAP, NULL);
    if (elf && elf_kind(elf) == ELF_K_ELF) return elf;
    if (elf) elf_end(elf);
    return NULL;
}

typedef enum match { MATCH_NO, MATCH_UNKNOWN, MATCH_YES } match;

// Returns whether a file has the recorded build-id.
static match is_same(const symbolize_request *q, Elf *elf)
{
    const void *id;
    const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
    if (!q->id_size || size <= 0)
        return q->id_size || size > 0 ? MATCH_NO : MATCH_UNKNOWN;
    const size_t kept = (size_t)size < 64 ? (size_t)size : 64;
    return kept == q->id_size && !memcmp(id, q->id, kept) ? MATCH_YES
                                                          : MATCH_NO;
}

static bool has_section(Elf *elf, const char *wanted)
{
    size_t names;
    if (elf_getshdrstrndx(elf, &names) != 0) return false;
    for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s)) != NULL;) {
        GElf_Shdr header;
        if (!gelf_getshdr(s, &header) || header.sh_type == SHT_NOBITS) continue;
        const char *const name = elf_strptr(elf, names, header.sh_name);
        if (name && !strcmp(name, wanted)) return true;
    }
    return false;
}

static bool has_dwarf(Elf *elf)
{
    return has_section(elf, ".debug_info") || has_section(elf, ".zdebug_info");
}

// Returns the page address of the file's lowest segment.
static uint64_t base_of(Elf *elf)
{
    uint64_t base = UINT64_MAX;
    size_t count;
    if (elf_getphdrnum(elf, &count) != 0) return 0;
    for (size_t i = 0; i < count; i++) {
        GElf_Phdr head;
        if (gelf_getphdr(elf, (int)i, &head) && head.p_type == PT_LOAD &&
            head.p_vaddr < base)
            base = head.p_vaddr;
    }
    return base == UINT64_MAX ? 0 : base & ~UINT64_C(4095);
}

/* ---- Where it is --------------------------------------------------------- */

static bool take_debug(const symbolize_request *q, elf_files *files, int file)
{
    Elf *const elf = open_elf(file);
    const match found = elf ? is_same(q, elf) : MATCH_NO;
    if (found != MATCH_NO && has_dwarf(elf)) {
        files->debug = elf;
        files->debug_file = file;
        return true;
    }
    if (elf) elf_end(elf);
    if (file >= 0) close(file);
    return false;
}

// Source: elfutils/debuginfod.h; the library is used if it is there.
static int query_servers(const symbolize_request *q)
{
    typedef void *begin(void);
    typedef int find(void *client, const unsigned char *id, int size,
                     char **path);
    begin *start;
    find *look;
    void *const library = dlopen("libdebuginfod.so.1", RTLD_NOW);
    void *const a = library ? dlsym(library, "debuginfod_begin") : NULL;
    void *const b =
        library ? dlsym(library, "debuginfod_find_debuginfo") : NULL;
    if (!a || !b) return -1;
    memcpy(&start, &a, sizeof start);
    memcpy(&look, &b, sizeof look);
    void *const client = start();
    return client ? look(client, q->id, (int)q->id_size, NULL) : -1;
}

static void find_debug(const symbolize_request *q, elf_files *files)
{
    char path[4096];
    GElf_Word sum;
    for (size_t i = 0;; i++) {
        const int file = symbolize_open_file(q, i, path, sizeof path);
        if (file == -2) break;
        if (file >= 0 && take_debug(q, files, file)) return;
    }
    const char *const link =
        files->module ? dwelf_elf_gnu_debuglink(files->module, &sum) : NULL;
    for (size_t i = 0; link; i++) {
        const int file = symbolize_open_link(q, link, i, path, sizeof path);
        if (file == -2) break;
        if (file >= 0 && take_debug(q, files, file)) return;
    }
    if (q->options && q->options->debuginfod && q->id_size)
        take_debug(q, files, query_servers(q));
}

static void id_text(char *text, size_t room, const uint8_t *id, size_t size)
{
    for (size_t i = 0; i < size && 2 * i + 3 < room; i++)
        snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void elf_open(const symbolize_request *q, elf_files *files)
{
    char wanted[132] = "none", found[132] = "none";
    memset(files, 0, sizeof *files);
    elf_version(EV_CURRENT);
    const int file = symbolize_open_module(q);
    files->module = open_elf(file);
    if (!files->module) {
        snprintf(files->why, sizeof files->why,
                 file < 0 ? "file not found" : "not an ELF file");
    } else if (is_same(q, files->module) == MATCH_NO) {
        const void *id;
        const ssize_t size = dwelf_elf_gnu_build_id(files->module, &id);
        id_text(wanted, sizeof wanted, q->id, q->id_size);
        if (size > 0) id_text(found, sizeof found, id, (size_t)size);
        snprintf(files->why, sizeof files->why,
                 "the file is a different build: %s instead of the recorded %s",
                 found, wanted);
        files->module = NULL;
    }
    if (files->module && has_dwarf(files->module)) {
        files->debug = files->module;
        files->debug_file = file;
    } else {
        find_debug(q, files);
    }
    if (files->module && !files->debug)
        snprintf(files->why, sizeof files->why, "no debug information found");
    if (files->debug && !files->module) files->why[0] = 0;
    if (files->module || files->debug)
        files->base = base_of(files->module ? files->module : files->debug);
}

/* ---- Tables of symbols --------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
    const elf_symbol *const x = a, *const y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    if (x->global != y->global) return x->global ? 1 : -1;
    return strcmp(y->name, x->name);
}

static bool load(Elf *elf, uint32_t type, elf_symbols *symbols)
{
    enum { MOST = 1 << 24 };
    for (Elf_Scn *s = NULL; elf && (s = elf_nextscn(elf, s)) != NULL;) {
        GElf_Shdr header;
        Elf_Data *data;
        if (!gelf_getshdr(s, &header) || header.sh_type != type ||
            !header.sh_entsize || !(data = elf_getdata(s, NULL)))
            continue;
        size_t count = data->d_size / header.sh_entsize;
        if (count > MOST) count = MOST;
        symbols->items = calloc(count ? count : 1, sizeof *symbols->items);
        for (size_t i = 0; symbols->items && i < count; i++) {
            GElf_Sym sym;
            if (!gelf_getsym(data, (int)i, &sym)) continue;
            const int kind = GELF_ST_TYPE(sym.st_info);
            const char *const name =
                elf_strptr(elf, header.sh_link, sym.st_name);
            if ((kind != STT_FUNC && kind != STT_GNU_IFUNC) || !name ||
                !*name || sym.st_shndx == SHN_UNDEF)
                continue;
            symbols->items[symbols->count++] =
                (elf_symbol){ sym.st_value, sym.st_size, name,
                              GELF_ST_BIND(sym.st_info) != STB_LOCAL };
        }
        if (symbols->count) return true;
    }
    return false;
}

void elf_symbols_load(const elf_files *files, elf_symbols *symbols)
{
    memset(symbols, 0, sizeof *symbols);
    if (load(files->debug, SHT_SYMTAB, symbols) ||
        load(files->module, SHT_SYMTAB, symbols) ||
        load(files->module, SHT_DYNSYM, symbols))
        qsort(symbols->items, symbols->count, sizeof *symbols->items,
              by_address);
}

// Returns the last symbol that begins at or before the address and, if it has a
// size, contains it.
const char *elf_symbols_find(const elf_symbols *symbols, uint64_t address)
{
    enum { BACK = 8 }; // aliases and symbols without a size
    size_t low = 0, high = symbols->count;
    while (low < high)
        cli_halve(&low, &high,
                  symbols->items[cli_middle(low, high)].from <= address);
    for (size_t i = low; i > 0 && low - i < BACK; i--) {
        const elf_symbol *const s = &symbols->items[i - 1];
        if (address - s->from < s->size) return s->name;
        if (!s->size && i == low) return s->name;
    }
    return NULL;
}

/* ---- The answer ---------------------------------------------------------- */

// Prints a field of the answer without characters that would break its line.
static void put(FILE *out, const char *text)
{
    for (size_t i = 0; text && text[i] && i < 16384; i++)
        fputc(text[i] == '\n' || text[i] == '\t' ? ' ' : text[i], out);
}

void symbolize_read(const symbolize_request *q, FILE *out)
{
    elf_files files;
    elf_symbols symbols = { NULL, 0 };
    elf_open(q, &files);
    if (files.why[0]) fprintf(out, "!%s\n", files.why);
    if (!files.module && !files.debug) return;
    elf_symbols_load(&files, &symbols);
    uint64_t *const at = calloc(q->count ? q->count : 1, sizeof *at);
    for (uint32_t i = 0; at && i < q->count; i++)
        at[i] = files.base + q->offsets[i];
    dwarf_index *const dwarf =
        at && files.debug && !q->no_dwarf ? dwarf_open(&files) : NULL;
    for (uint32_t i = 0; at && i < q->count; i++) {
        if (dwarf && dwarf_answer(dwarf, i, at[i], out)) continue;
        const char *const name = elf_symbols_find(&symbols, at[i]);
        if (!name) continue;
        fprintf(out, "@%" PRIu32 " 1\n0\t\t", i);
        put(out, name);
        fputc('\n', out);
    }
}
#else
void symbolize_read(const symbolize_request *q, FILE *out)
{
    (void)q;
    fputs("!this ts-symbolize was built without libdw (libdw-dev)\n", out);
}
#endif
