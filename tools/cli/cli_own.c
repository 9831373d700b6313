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

bool cli_trace_is_own(const ts_reader *reader)
{
    const int file = ts_reader_file(reader);
    uint8_t session[16];
    struct stat st;
    return file >= 0 && fstat(file, &st) == 0 && st.st_uid == geteuid() &&
           !(st.st_mode & S_IWOTH) &&
           fgetxattr(file, mark, session, sizeof session) ==
               (ssize_t)sizeof session &&
           !memcmp(session, ts_reader_info(reader)->session, sizeof session);
}

// Without it a replay asks: nothing is lost where there are no attributes.
void cli_trace_own(const char *path, const uint8_t session[16])
{
    if (setxattr(path, mark, session, 16, 0) != 0) return;
}
