/*
    elf.h - a module and its debug information, open

    For the process that reads: nothing is freed.
*/
#ifndef TS_TOOLS_COMMON_SYMBOLIZE_ELF_H
#define TS_TOOLS_COMMON_SYMBOLIZE_ELF_H

#include "tools/common/symbolize/symbolize.h"

#ifdef TRACESMITH_DW
#include <elfutils/libdw.h>
#include <gelf.h>

typedef struct elf_files {
    Elf *module, *debug; // NULL: not there; debug may be the module
    int debug_file;
    uint64_t base; // address of the lowest page of the file
    char why[512]; // what is missing, one clause
} elf_files;

void elf_open(const symbolize_question *q, elf_files *files);

// A function of a table of symbols.
typedef struct elf_symbol {
    uint64_t from, size;
    const char *name;
    bool global;
} elf_symbol;

typedef struct elf_symbols {
    elf_symbol *items; // by address
    size_t count;
} elf_symbols;

void elf_symbols_load(const elf_files *files, elf_symbols *symbols);
const char *elf_symbols_find(const elf_symbols *symbols, uint64_t address);

// Functions at an address, innermost first, as a line of the answer each.
// False: DWARF does not know.
typedef struct dwarf_index dwarf_index;
dwarf_index *dwarf_open(const elf_files *files, const uint64_t *addresses,
                        uint32_t count);
bool dwarf_answer(dwarf_index *d, uint32_t index, uint64_t address, FILE *out);
#endif

int symbolize_open_module(const symbolize_question *q);
// place: 0, 1, ...; -1: not there, -2: no more places.
int symbolize_open_file(const symbolize_question *q, size_t place, char *path,
                        size_t room);
int symbolize_open_link(const symbolize_question *q, const char *name,
                        size_t place, char *path, size_t room);

#endif // TS_TOOLS_COMMON_SYMBOLIZE_ELF_H
