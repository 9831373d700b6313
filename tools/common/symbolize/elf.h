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

// Opens the module of a request and its separate debug information. `why` says
// what is missing; what could be opened is still of use. Nothing is closed: the
// process that looks up ends.
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

// Loads the functions, sorted by address: from .symtab of the debug file, else
// of the module, else from .dynsym. Empty if there are none or memory runs out.
// Names live as long as `files`.
void elf_symbols_load(const elf_files *files, elf_symbols *symbols);
// Returns the name of the function that contains an address, or that begins
// last before it and has no size; NULL: none.
const char *elf_symbols_find(const elf_symbols *symbols, uint64_t address);

// Lookup of functions in DWARF.
typedef struct dwarf_index dwarf_index;
// Indexes the compile units by address. NULL without memory; without debug
// information it is empty.
dwarf_index *dwarf_open(const elf_files *files);
// Prints the functions at an address, innermost first, one line of the answer
// each; false if DWARF has none.
bool dwarf_answer(dwarf_index *d, uint32_t index, uint64_t address, FILE *out);
#endif

// Opens the file of the request's module for reading: regular files only, so
// that no device is touched. Negative if that fails.
int symbolize_open_module(const symbolize_request *q);
// Opens the candidate file number `place` (0, 1, ...). Returns a descriptor;
// -1: no such file, -2: no more candidates.
int symbolize_open_file(const symbolize_request *q, size_t place, char *path,
                        size_t room);
// Opens a file of debug information called `name`, which must have no slash:
// place 0 is the module's folder, 1 its .debug, later ones are folders for
// debug files. *path receives what was tried. -1: not there; -2: there are no
// more places.
int symbolize_open_link(const symbolize_request *q, const char *name,
                        size_t place, char *path, size_t room);

#endif // TS_TOOLS_COMMON_SYMBOLIZE_ELF_H
