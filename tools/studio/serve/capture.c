/*
    capture.c - begins and ends captures of operations in a recording that runs

    A request of the channel begins a capture or ends the one that runs. So it
    is made only if the state is another one than is wanted, and not again
    before the processes have answered.
*/
#include "tools/studio/serve/capture.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

// A process that does not answer, as it is stopped, holds up nobody for longer.
#define MOST_WAIT_NS UINT64_C(2000000000)

bool studio_capture_open(studio_capture *c, const char *folder)
{
    *c = (studio_capture){ .channel = folder ? channel_join(folder) : NULL,
                           .folder = folder };
    if (c->channel) channel_want_figures(c->channel, &c->wanted);
    return c->channel;
}

void studio_capture_close(studio_capture *c)
{
    channel_leave(c->channel, c->wanted);
    c->channel = NULL;
}

// ts-record removes the file of the channel when the recording ends.
static bool has_ended(const studio_capture *c)
{
    char path[PATH_MAX];
    return snprintf(path, sizeof path, "%s/control", c->folder) >=
               (int)sizeof path ||
           access(path, F_OK);
}

const char *studio_capture_state(studio_capture *c, channel_figures *figures)
{
    channel_want_figures(c->channel, &c->wanted);
    *figures = channel_sum(c->channel);
    const char *const state = has_ended(c)          ? "ended"
                              : !figures->processes ? "none"
                              : figures->capturing  ? "on"
                              : figures->a_frame    ? "frame"
                                                    : "off";
    if (c->asked_ns &&
        (strcmp(state, c->before) || cli_now_ns() - c->asked_ns > MOST_WAIT_NS))
        c->asked_ns = 0;
    return state;
}

const char *studio_capture_ask(studio_capture *c, const void *text, size_t size)
{
    const bool start = size == 5 && !memcmp(text, "start", 5);
    const bool stop = size == 4 && !memcmp(text, "stop", 4);
    channel_figures figures;
    if (!start && !stop) return "no such thing";
    const char *const state = studio_capture_state(c, &figures);
    if (!strcmp(state, "ended")) return "the recording has ended";
    if (!strcmp(state, "none")) return "no process runs now";
    if (c->asked_ns) return "the processes have not answered yet";
    if (start == (strcmp(state, "off") != 0)) return NULL;
    c->before = state;
    c->asked_ns = cli_now_ns();
    channel_ask(c->channel, &c->channel->capture);
    return NULL;
}
