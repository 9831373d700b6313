/*
    repeats.h - traces of a folder that would show processes twice
*/
#ifndef TS_TOOLS_STUDIO_RANKS_REPEATS_H
#define TS_TOOLS_STUDIO_RANKS_REPEATS_H

#include "tools/studio/ranks/ranks.h"

// Leaves out, of the paths from `first` on, further names of a file, such as
// links. False without memory.
bool studio_ranks_leave_links(studio_ranks *ranks, size_t first);
// Leaves out, and says so on stderr, traces that were merged of others of the
// list. False without memory.
bool studio_ranks_leave_merged(studio_ranks *ranks, const cli_tool *tool,
                               size_t first);

#endif // TS_TOOLS_STUDIO_RANKS_REPEATS_H
