/*
    import_formats.c - the formats that there are
*/
#include "tools/import/import.h"

const import_format *const import_formats[] = { NULL };
