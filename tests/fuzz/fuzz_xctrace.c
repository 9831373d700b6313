// fuzz_xctrace.c - exports of xctrace of any bytes; see fuzz_import.h
#include "tests/fuzz/fuzz_import.h"

extern const import_format import_xctrace;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const import_format *const formats[] = { &import_xctrace };
    if (size <= 1 << 16) fuzz_import(bytes, size, formats, 1);
    return 0;
}
