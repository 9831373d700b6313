/*
    ranks.h - the traces of a folder, such as the ranks of a job, as one trace
*/
#ifndef TS_TOOLS_STUDIO_RANKS_RANKS_H
#define TS_TOOLS_STUDIO_RANKS_RANKS_H

#include "tools/cli/cli.h"
#include "tools/tracesmith_tools.h"

// Paths of traces.
typedef struct studio_ranks {
    char **items;
    size_t count, room;
} studio_ranks;

// Whether a path names a folder.
bool studio_ranks_is_folder(const char *path);
// Returns the folder in which ts-record collects what will become a trace that
// does not exist yet, PATH.XXXXXX, or NULL. Free with free().
char *studio_ranks_recording(const char *path);
// Adds a trace, or all of a folder: its regular files `*.sbt`, in order of
// their numbers. False, with the reason on stderr, if there are none.
bool studio_ranks_add(studio_ranks *ranks, const cli_tool *tool,
                      const char *path);
// Frees the list.
void studio_ranks_close(studio_ranks *ranks);

/*
    Merges traces, as ts-merge does, into a new file of a folder for temporary
    ones. Returns its path, or NULL, with the reason on stderr. A signal that
    ends the program removes it. name: of the trace, without its folder.

    Free: studio_ranks_remove.
*/
char *studio_ranks_merge(const studio_ranks *ranks, const cli_tool *tool,
                         const char *name, const ts_observer *observer);
// Removes the file with its folder, and frees the path; NULL is allowed.
void studio_ranks_remove(char *path);

#endif // TS_TOOLS_STUDIO_RANKS_RANKS_H
