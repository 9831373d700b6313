/*
    cli_own.c - whose trace it is

    A capture holds code, and which of its functions to call with what: who
    made the trace decides what runs. The recorder leaves a mark outside the
    file's bytes on what it writes (an extended attribute), which a trace from
    elsewhere does not have.
*/
#define _GNU_SOURCE
#include "tools/ts_cli.h"
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static const char mark[] = "user.tracesmith";

bool cli_trace_is_own(const char *path, const ts_info *info)
{
    uint8_t session[16];
    struct stat st;
    return strcmp(path, "-") && stat(path, &st) == 0 &&
           st.st_uid == geteuid() && !(st.st_mode & S_IWOTH) &&
           getxattr(path, mark, session, sizeof session) ==
               (ssize_t)sizeof session &&
           !memcmp(session, info->session, sizeof session);
}

// Without it a replay asks: nothing is lost where there are no attributes.
void cli_trace_own(const char *path, const uint8_t session[16])
{
    if (setxattr(path, mark, session, 16, 0) != 0) return;
}
