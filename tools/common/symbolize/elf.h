/*
    elf.h - an open module with its debug information

    Used only in the reader process, which exits soon; nothing is freed.
*/
#ifndef TS_TOOLS_COMMON_SYMBOLIZE_ELF_H
#define TS_TOOLS_COMMON_SYMBOLIZE_ELF_H

#include "tools/common/symbolize/symbolize.h"

#ifdef TRACESMITH_DW
#include <elfutils/libdw.h>
#include <gelf.h>

typedef struct elf_files {
    Elf *module, *debug; // NULL: missing; debug may equal module
    int debug_file;
    uint64_t base; // address of the file's lowest page
    char why[512]; // what is missing, as a clause
} elf_files;

void elf_open(const symbolize_request *q, elf_files *files);

// A function of a symbol table.
typedef struct elf_symbol {
    uint64_t from, size;
    const char *name;
    bool global;
} elf_symbol;

typedef struct elf_symbols {
    elf_symbol *items; // sorted by address
    size_t count;
} elf_symbols;

void elf_symbols_load(const elf_files *files, elf_symbols *symbols);
const char *elf_symbols_find(const elf_symbols *symbols, uint64_t address);

// Lookup of functions in DWARF.
typedef struct dwarf_index dwarf_index;
dwarf_index *dwarf_open(const elf_files *files, const uint64_t *addresses,
                        uint32_t count);
// Prints the functions at an address, innermost first, one line of the answer
// each; false if DWARF has none.
bool dwarf_answer(dwarf_index *d, uint32_t index, uint64_t address, FILE *out);
#endif

int symbolize_open_module(const symbolize_request *q);
// Opens the candidate file number `place` (0, 1, ...). Returns a descriptor;
// -1: no such file, -2: no more candidates.
int symbolize_open_file(const symbolize_request *q, size_t place, char *path,
                        size_t room);
int symbolize_open_link(const symbolize_request *q, const char *name,
                        size_t place, char *path, size_t room);

#endif // TS_TOOLS_COMMON_SYMBOLIZE_ELF_H
