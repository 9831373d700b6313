/*
    fuzz_profiles.c - smaller formats of profilers, of any bytes

    See fuzz_import.h for what must hold. CSV is read without the other files of
    its set.
*/
#include "tests/fuzz/fuzz_import.h"

extern const import_format import_rocprofv3_csv, import_rocprofv3_json,
    import_spall, import_torch_memory, import_tracy, import_xplane, import_sbt0;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    fuzz_begin();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const import_format *const formats[] = {
        &import_rocprofv3_csv, &import_rocprofv3_json, &import_spall,
        &import_torch_memory,  &import_tracy,          &import_xplane,
        &import_sbt0

    };
    if (size <= 1 << 16)
        fuzz_import(bytes, size, formats, sizeof formats / sizeof *formats);
    return 0;
}
