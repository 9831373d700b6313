// Parameters of kernels as ptxas writes them into a cubin.
#include "backends/gpu/cuda_abi.h"

#include <setjmp.h>
#include <stdarg.h>

#include "tests/unit.h"

enum { MOST = 8 };

static struct {
    uint32_t count, at[MOST][2];
} found;

static void found_one(void *user, uint32_t offset, uint32_t size)
{
    assert_true(found.count < MOST);
    found.at[found.count][0] = offset;
    found.at[found.count++][1] = size;
}

/*
    A cubin of one kernel, k, whose .nv.info.k is given: its header, names,
    symbols and the sections' table.
*/
static bool parameters_of(const void *info, size_t size)
{
    static _Alignas(8) struct {
        Elf64_Ehdr head;
        char names[32];
        Elf64_Sym symbol;
        uint8_t info[1024];
        Elf64_Shdr sections[4];
    } file;
    ts_cuda_code code;
    memset(&file, 0, sizeof file);
    memcpy(file.head.e_ident, ELFMAG, SELFMAG);
    file.head.e_ident[EI_CLASS] = ELFCLASS64;
    file.head.e_shoff = offsetof(__typeof__(file), sections);
    file.head.e_shentsize = sizeof *file.sections;
    file.head.e_shnum = 4;
    file.head.e_shstrndx = 1;
    memcpy(file.names, "\0k\0.nv.info.k", 14);
    memcpy(file.info, info, size);
    file.symbol.st_name = 1;
    file.sections[1].sh_offset = offsetof(__typeof__(file), names);
    file.sections[1].sh_size = sizeof file.names;
    file.sections[2].sh_type = SHT_SYMTAB;
    file.sections[2].sh_offset = offsetof(__typeof__(file), symbol);
    file.sections[2].sh_size = sizeof file.symbol;
    file.sections[2].sh_link = 1;
    file.sections[3].sh_name = 3;
    file.sections[3].sh_offset = offsetof(__typeof__(file), info);
    file.sections[3].sh_size = size;
    memset(&found, 0, sizeof found);
    assert_true(ts_cuda_code_open(&code, &file, sizeof file));
    return ts_cuda_code_parameters(&code, "k", found_one, NULL);
}

// (float *, int, char, double): 24 bytes in all.
static const uint32_t small[] = { 0x00181903, 0x000C1704, 0, 0x00100003,
                                  0x0021F000, 0x000C1704, 0, 0x000C0002,
                                  0x0005F000, 0x000C1704, 0, 0x00080001,
                                  0x0011F000, 0x000C1704, 0, 0,
                                  0x0021F000 };

UNIT_TEST(parameters_are_read_in_their_order)
{
    static const uint32_t expected[][2] = {
        { 16, 8 }, { 12, 1 }, { 8, 4 }, { 0, 8 }
    };
    assert_true(parameters_of(small, sizeof small));
    assert_int_equal(found.count, 4);
    assert_memory_equal(found.at, expected, sizeof expected);
}

// (float *, 5,000 bytes, int, short), as ptxas of CUDA 13.0 writes it.
UNIT_TEST(more_than_4_kib_of_them_are_read)
{
    static const uint32_t large[] = { 0x000C4504, 0, 0x13940003, 2,
                                      0x000C4504, 0, 0x13900002, 4,
                                      0x000C4504, 0, 0x00080001, 0x1388,
                                      0x000C4504, 0, 0,          8,
                                      0x13961903 };
    static const uint32_t expected[][2] = {
        { 5012, 2 }, { 5008, 4 }, { 8, 5000 }, { 0, 8 }
    };
    assert_true(parameters_of(large, sizeof large));
    assert_int_equal(found.count, 4);
    assert_memory_equal(found.at, expected, sizeof expected);
}

// By an attribute of a later version, or cut short: unknown.
UNIT_TEST(what_is_not_all_of_them_is_refused)
{
    uint32_t other[sizeof small / 4];
    memcpy(other, small, sizeof small);
    other[1] = 0x000C9904;
    assert_false(parameters_of(other, sizeof other));
    memcpy(other, small, sizeof small);
    other[0] = 0x001C1903;
    assert_false(parameters_of(other, sizeof other));
    for (size_t size = 4; size < sizeof small; size += 4)
        assert_false(parameters_of(small, size));
}

// A kernel without parameters has no such record; neither have older files.
UNIT_TEST(a_kernel_without_parameters_has_none)
{
    static const uint32_t none[] = { 0x00005003 };
    assert_true(parameters_of(none, sizeof none));
    assert_int_equal(found.count, 0);
    assert_true(parameters_of(small + 1, sizeof small - 4));
    assert_int_equal(found.count, 4);
}

int main(void)
{
    return unit_run(NULL, NULL);
}
