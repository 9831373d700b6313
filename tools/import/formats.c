/*
    formats.c - the formats that there are
*/
#include "tools/import/import.h"

extern const import_format import_chakra, import_kineto, import_nsys,
    import_rocprofv3, import_rpd;

const import_format *const import_formats[] = {
    &import_kineto,    &import_nsys,   &import_rpd,
    &import_rocprofv3, &import_chakra, NULL
};
