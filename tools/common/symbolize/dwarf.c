/*
    dwarf.c - functions, inlined functions and lines, with libdw

    libdw scans a whole compilation unit for each address. This file walks each
    unit that contains an address once and stores the ranges of its functions
    with their nesting depth. The functions at an address are those whose ranges
    contain it, sorted by depth.
*/
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tools/common/symbolize/elf.h"
#include "tools/cli/search.h"

#ifdef TRACESMITH_DW
#include <dwarf.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEPTH_MOST = 200,      // levels of nested entries
    ENTRIES_MOST = 1 << 26 // of all walked units
};

typedef struct range {
    uint64_t from, to;
    uint32_t depth;
    Dwarf_Die die;
} range;

typedef struct unit {
    uint64_t from, to;
    Dwarf_Die die;
    uint32_t order; // number of the unit; its ranges share it
} unit;

struct dwarf_index {
    Dwarf *dwarf;
    unit *units; // ranges of units, sorted by address
    size_t unit_count, unit_room;
    range *ranges; // of unit `walked`
    size_t range_count, range_room;
    uint32_t walked; // order + 1
    uint32_t visited;
};

static bool add_unit(dwarf_index *d, uint64_t from, uint64_t to,
                     const Dwarf_Die *die, uint32_t order)
{
    if (from >= to) return true;
    if (!cli_grow(&d->units, &d->unit_room, d->unit_count + 1,
                  sizeof *d->units))
        return false;
    d->units[d->unit_count++] = (unit){ from, to, *die, order };
    return true;
}

static int by_start(const void *a, const void *b)
{
    const unit *const x = a, *const y = b;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/*
    libdw opens files with split debug information by names in the module. If
    such a file is a FIFO, opening it blocks forever, so the paths where libdw
    looks are checked first. Source: libdw_find_split_unit.c and
    libdw_find_dwp.c of elfutils 0.188 to 0.192.
*/
static bool may_open(const char *dir, const char *sub, const char *name,
                     const char *ending)
{
    char path[3 * PATH_MAX];
    struct stat about;
    if (*name == '/')
        snprintf(path, sizeof path, "%s%s", name, ending);
    else if (*sub == '/')
        snprintf(path, sizeof path, "%s/%s%s", sub, name, ending);
    else
        snprintf(path, sizeof path, "%s/%s/%s%s", dir, sub, name, ending);
    return stat(path, &about) != 0 || S_ISREG(about.st_mode);
}

static const char *text_of(Dwarf_Die *die, unsigned name, unsigned gnu)
{
    Dwarf_Attribute attribute;
    const char *text = dwarf_formstring(dwarf_attr(die, name, &attribute));
    if (!text && gnu) text = dwarf_formstring(dwarf_attr(die, gnu, &attribute));
    return text ? text : "";
}

static bool may_split(const elf_files *files, Dwarf_Die *die)
{
    char link[64], module[PATH_MAX], dir[PATH_MAX];
    const char *const name = text_of(die, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
    const char *const sub = text_of(die, DW_AT_comp_dir, 0);
    if (!*name) return true; // no other file is opened
    snprintf(link, sizeof link, "/proc/self/fd/%d", files->debug_file);
    const ssize_t size = readlink(link, module, sizeof module - 1);
    if (size <= 0 || strlen(name) >= PATH_MAX || strlen(sub) >= PATH_MAX)
        return false;
    module[size] = 0;
    memcpy(dir, module, (size_t)size + 1);
    char *const slash = strrchr(dir, '/');
    if (slash) *slash = 0;
    return may_open(dir, "", name, "") && may_open(dir, sub, name, "") &&
           may_open("", "", module, ".dwp");
}

dwarf_index *dwarf_open(const elf_files *files)
{
    dwarf_index *const d = calloc(1, sizeof *d);
    Dwarf_CU *cu = NULL;
    Dwarf_Die die, split;
    uint32_t order = 0;
    if (!d) return NULL;
    d->dwarf = dwarf_begin(files->debug_file, DWARF_C_READ);
    while (d->dwarf &&
           dwarf_get_units(d->dwarf, cu, &cu, NULL, NULL, &die, NULL) == 0) {
        Dwarf_Addr base, from, to;
        const bool other = may_split(files, &die) &&
                           dwarf_cu_info(cu, NULL, NULL, NULL, &split, NULL,
                                         NULL, NULL) == 0 &&
                           dwarf_tag(&split) != DW_TAG_invalid;
        order++;
        for (ptrdiff_t at = 0;
             (at = dwarf_ranges(&die, at, &base, &from, &to)) > 0;)
            if (!add_unit(d, from, to, other ? &split : &die, order)) break;
    }
    if (d->unit_count)
        qsort(d->units, d->unit_count, sizeof *d->units, by_start);
    return d->unit_count ? d : NULL;
}

static unit *find_unit(const dwarf_index *d, uint64_t address)
{
    enum { BACK = 64 };
    size_t low = 0, high = d->unit_count;
    while (low < high)
        cli_halve(&low, &high, d->units[cli_middle(low, high)].from <= address);
    for (size_t i = low; i > 0 && low - i < BACK; i--)
        if (address < d->units[i - 1].to) return &d->units[i - 1];
    return NULL;
}

static bool add_ranges(dwarf_index *d, Dwarf_Die *die, uint32_t depth)
{
    Dwarf_Addr base, from, to;
    for (ptrdiff_t at = 0;
         (at = dwarf_ranges(die, at, &base, &from, &to)) > 0;) {
        if (from >= to) continue;
        if (!cli_grow(&d->ranges, &d->range_room, d->range_count + 1,
                      sizeof *d->ranges))
            return false;
        d->ranges[d->range_count++] = (range){ from, to, depth, *die };
    }
    return true;
}

static bool walk(dwarf_index *d, Dwarf_Die *parent, uint32_t depth)
{
    Dwarf_Die die;
    if (depth == DEPTH_MOST || dwarf_child(parent, &die) != 0) return true;
    do {
        if (d->visited++ == ENTRIES_MOST) return false;
        const int tag = dwarf_tag(&die);
        const bool function =
            tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
        if (function && !add_ranges(d, &die, depth)) return false;
        // Types and variables contain no code.
        if ((function || tag == DW_TAG_lexical_block ||
             tag == DW_TAG_namespace || tag == DW_TAG_module ||
             tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
             tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
            !walk(d, &die, depth + 1))
            return false;
    } while (dwarf_siblingof(&die, &die) == 0);
    return true;
}

/* ---- Names and lines ----------------------------------------------------- */

// Returns the linkage name, which has the argument types; else the source name.
static const char *name_of(Dwarf_Die *die)
{
    static const unsigned linked[] = { DW_AT_linkage_name,
                                       DW_AT_MIPS_linkage_name, DW_AT_name };
    for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
        Dwarf_Attribute attribute;
        const char *const name =
            dwarf_formstring(dwarf_attr_integrate(die, linked[i], &attribute));
        if (name) return name;
    }
    return NULL;
}

static uint64_t number_of(Dwarf_Die *die, unsigned what)
{
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    return dwarf_formudata(dwarf_attr(die, what, &attribute), &number) == 0
               ? number
               : 0;
}

static void put(FILE *out, const char *text)
{
    for (size_t i = 0; text && text[i] && i < 16384; i++)
        fputc(text[i] == '\n' || text[i] == '\t' ? ' ' : text[i], out);
}

/*
    Keeps one entry for each depth: assemblers write an entry for each alias of
    a function. The chain ends at the function that is not inlined.
*/
static size_t chain(const range **held, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        Dwarf_Die die = held[i]->die;
        if (kept && held[i]->depth == held[kept - 1]->depth) continue;
        held[kept++] = held[i];
        if (dwarf_tag(&die) == DW_TAG_subprogram) break;
    }
    return kept;
}

static int inner_first(const void *a, const void *b)
{
    const range *const x = *(const range *const *)a;
    const range *const y = *(const range *const *)b;
    if (x->depth != y->depth) return x->depth > y->depth ? -1 : 1;
    return x < y ? -1 : x > y; // order in the file
}

bool dwarf_answer(dwarf_index *d, uint32_t index, uint64_t address, FILE *out)
{
    enum { MOST = 64 };
    const range *held[MOST];
    size_t count = 0, file_count = 0;
    Dwarf_Files *files = NULL;
    unit *const u = find_unit(d, address);
    if (!u) return false;
    if (d->walked != u->order) {
        d->range_count = 0;
        d->walked = u->order;
        walk(d, &u->die, 0);
    }
    for (size_t i = 0; i < d->range_count && count < MOST; i++)
        if (address >= d->ranges[i].from && address < d->ranges[i].to)
            held[count++] = &d->ranges[i];
    if (!count) return false;
    qsort(held, count, sizeof *held, inner_first);
    count = chain(held, count);
    Dwarf_Line *const line = dwarf_getsrc_die(&u->die, address);
    const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
    int number = 0;
    if (line) dwarf_lineno(line, &number);
    dwarf_getsrcfiles(&u->die, &files, &file_count);
    fprintf(out, "@%" PRIu32 " %zu\n", index, count);
    for (size_t i = 0; i < count; i++) {
        Dwarf_Die die = held[i]->die;
        const char *const name = name_of(&die);
        fprintf(out, "%d\t", number > 0 ? number : 0);
        put(out, file);
        fputc('\t', out);
        put(out, name ? name : "(no name)");
        fputc('\n', out);
        // The call site in the enclosing function.
        const uint64_t from = number_of(&die, DW_AT_call_file);
        file = files && from < file_count
                   ? dwarf_filesrc(files, from, NULL, NULL)
                   : NULL;
        const uint64_t at = number_of(&die, DW_AT_call_line);
        number = at < INT32_MAX ? (int)at : 0;
    }
    return true;
}
#endif
