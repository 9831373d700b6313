/*
    capture.h - begins and ends captures of operations in a recording that runs
*/
#ifndef TS_TOOLS_STUDIO_SERVE_CAPTURE_H
#define TS_TOOLS_STUDIO_SERVE_CAPTURE_H

#include "tools/common/channel/channel.h"

typedef struct studio_capture {
    ts_inject_control *channel; // NULL: there is none
    const char *folder;         // that has it
    bool wanted;                // figures: asked for by this tool
    uint64_t asked_ns;          // when a request was made; 0: none is open
    const char *before;         // the state then
} studio_capture;

// Joins the channel of the recording whose folder this is, if it has one in
// which captures can be asked for. False: it has none. folder may be NULL, and
// must remain.
bool studio_capture_open(studio_capture *c, const char *folder);
// Leaves it.
void studio_capture_close(studio_capture *c);

// The state: "off", "frame" (a capture begins with the next frame), "on",
// "none" (no process runs now, as between two programs of a script), or
// "ended": the recording has.
const char *studio_capture_state(studio_capture *c, channel_figures *figures);
// Begins ("start") or ends ("stop") a capture in all processes; nothing is done
// if that is so already. Returns NULL, or why it cannot.
const char *studio_capture_ask(studio_capture *c, const void *text,
                               size_t size);

#endif // TS_TOOLS_STUDIO_SERVE_CAPTURE_H
