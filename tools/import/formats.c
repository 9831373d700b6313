/*
    formats.c - the list of formats, and checks of the user's options
*/
#include "tools/import/import.h"

// Of formats that would both recognise a file, the narrower one is first.
#define FORMATS(X) \
    X(rocprofv3_json) \
    X(torch_execution) \
    X(kineto) \
    X(nsys) \
    X(nsys_report) \
    X(rpd) \
    X(sbt0) \
    X(rocprofv3) \
    X(rocprofv3_csv) \
    X(xplane) \
    X(spall) \
    X(tracy) \
    X(ctf) \
    X(otf2) \
    X(xctrace) \
    X(torch_memory) \
    X(chakra) \
    X(speedscope) \
    X(perf) \
    X(folded) \
    X(pprof) \
    X(perfetto)

#define DECLARE(name) extern const import_format import_##name;
FORMATS(DECLARE)

#define ADDRESS(name) &import_##name,
const import_format *const import_formats[] = { FORMATS(ADDRESS) NULL };

void import_list_formats(const cli_tool *tool)
{
    FILE *const out = cli_error_begin(tool, NULL);
    fputs("the formats are:", out);
    for (const import_format *const *f = import_formats; *f; f++)
        fprintf(out, "\n    %-14s %s", (*f)->name, (*f)->title);
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
