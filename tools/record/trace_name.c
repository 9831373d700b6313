/*
    trace_name.c - the name of the trace

    A launcher (torchrun, mpirun, srun ...) starts a ts-record for each of its
    processes, all with the same options. If the name has no pattern that
    differs between them, the rank is added, so that no trace replaces another
    one.
*/
#define _DEFAULT_SOURCE // gethostname
#include "tools/record/record.h"
#include <unistd.h>

// Whether a pattern contains "%r" or the like.
static bool holds(const char *pattern, char what)
{
    for (const char *p = pattern; *p; p++)
        if (*p == '%' && p[1] && *++p == what) return true;
    return false;
}

// Expands %p %r %h %%; other words with % are kept. Returns the size of the
// result; it was cut if that is `room` or more.
static size_t expand(char *out, size_t room, const char *pattern, uint32_t rank)
{
    size_t size = 0;
    for (const char *p = pattern; *p && size < room; p++) {
        char part[256] = "";
        const char what = *p == '%' ? p[1] : 0;
        if (what == 'p')
            snprintf(part, sizeof part, "%ld", (long)getpid());
        else if (what == 'r')
            snprintf(part, sizeof part, "%" PRIu32, rank);
        else if (what == 'h' && gethostname(part, sizeof part - 1) != 0)
            strcpy(part, "localhost");
        else if (what != 'h')
            *part = *p;
        size += (size_t)snprintf(out + size, room - size, "%s", part);
        if (what && strchr("prh%", what)) p++;
    }
    return size;
}

bool record_name(record_job *job)
{
    uint32_t rank, world;
    const bool launched = ts_inject_rank(getenv, &rank, &world) && world != 1;
    const size_t size = strlen(job->pattern);
    const bool sbt = size > 4 && !strcmp(job->pattern + size - 4, ".sbt");
    const bool distinct = holds(job->pattern, 'r') || holds(job->pattern, 'p');
    char name[RECORD_PATH];
    const int length =
        snprintf(name, sizeof name, "%.*s%s%s", (int)(size - (sbt ? 4 : 0)),
                 job->pattern, launched && !distinct ? ".rank%r" : "",
                 sbt ? ".sbt" : "");
    return length < (int)sizeof name &&
           expand(job->out, sizeof job->out, name, rank) < sizeof job->out;
}
