// fuzz_profile.c - profiles of any bytes; see fuzz_import.h
#include "tests/fuzz/fuzz_import.h"

extern const import_format import_speedscope, import_perf, import_folded,
    import_pprof;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const import_format *const formats[] = {
        &import_speedscope, &import_perf, &import_folded, &import_pprof
    };
    if (size <= 1 << 16) fuzz_import(bytes, size, formats, 4);
    return 0;
}
