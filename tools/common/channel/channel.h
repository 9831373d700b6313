/*
    channel.h - what running processes are asked for, and what they answer

    The file `control` in the folder of a recording, shared memory of ts-record
    and the processes: see backends/inject/control.h. ts-record makes it;
    another tool of the same user can join.
*/
#ifndef TS_TOOLS_COMMON_CHANNEL_CHANNEL_H
#define TS_TOOLS_COMMON_CHANNEL_CHANNEL_H

#include "tools/cli/cli.h"

#include "backends/inject/control.h"

typedef struct channel_figures {   // sums over the running processes
    uint64_t records, lost, bytes; // including ended processes
    uint32_t processes, threads;
    bool waits, ended;
    uint64_t kept;           // captured operations
    bool capturing, a_frame; // a_frame: begins with the next frame
} channel_figures;

// Joins the channel in a folder. NULL if there is none in which captures can be
// asked for: it is another user's or of another build, or captures are not
// waited for.
ts_inject_control *channel_join(const char *folder);
// Has the processes give figures, if nobody has asked for them yet: *wanted is
// then set, otherwise left. Another tool takes its request back when it leaves,
// so ask whenever figures are needed.
void channel_want_figures(ts_inject_control *channel, bool *wanted);
// Leaves the channel; NULL is allowed. wanted: of channel_want_figures, whose
// request is taken back, so that no process wakes for it any more.
void channel_leave(ts_inject_control *channel, bool wanted);

// Sums up the processes.
channel_figures channel_sum(const ts_inject_control *channel);
// Whether a process of the channel runs.
bool channel_is_alive(uint32_t process);
// Counts a request, `write` or `capture` of the channel, and wakes the
// processes. Returns the count.
uint32_t channel_ask(ts_inject_control *channel, uint32_t *request);

#endif // TS_TOOLS_COMMON_CHANNEL_CHANNEL_H
