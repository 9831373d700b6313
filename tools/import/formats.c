/*
    formats.c - the list of formats, and checks of the user's options
*/
#include "tools/import/import.h"

extern const import_format import_chakra, import_kineto, import_nsys,
    import_rocprofv3, import_rpd;

const import_format *const import_formats[] = {
    &import_kineto,    &import_nsys,   &import_rpd,
    &import_rocprofv3, &import_chakra, NULL
};

void import_list_formats(const cli_tool *tool)
{
    FILE *const out = cli_error_begin(tool, NULL);
    fputs("the formats are:", out);
    for (const import_format *const *f = import_formats; *f; f++)
        fprintf(out, "\n    %-9s %s", (*f)->name, (*f)->title);
    cli_hint_end();
}

bool import_request_check(const cli_tool *tool, const char *format,
                          const char *rank)
{
    if (rank && (!*rank || rank[strspn(rank, "0123456789,*")]))
        return cli_fail(tool, TS_ERR_USAGE, NULL,
                        "--rank '%s': must be a list such as 0,3", rank);
    if (!format) return true;
    for (const import_format *const *f = import_formats; *f; f++)
        if (!strcmp((*f)->name, format)) return true;
    cli_fail(tool, TS_ERR_USAGE, NULL, "unknown format '%s'", format);
    import_list_formats(tool);
    return false;
}
