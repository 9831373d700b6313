/*
    fuzz_sqlite.c - databases whose pages, schema and values may be anything

    The seeds are small databases of these formats with pages of 512 bytes; see
    fuzz_import.h for what must hold.
*/
#include "tests/fuzz/fuzz_import.h"

extern const import_format import_nsys, import_rpd, import_rocprofv3;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const import_format *const formats[] = { &import_nsys, &import_rpd,
                                                    &import_rocprofv3 };
    if (size <= 1 << 16) fuzz_import(bytes, size, formats, 3);
    return 0;
}
