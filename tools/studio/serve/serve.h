/*
    serve.h - the page and a scene for one browser of this machine
*/
#ifndef TS_TOOLS_STUDIO_SERVE_SERVE_H
#define TS_TOOLS_STUDIO_SERVE_SERVE_H

#include <sys/stat.h>
#include "tools/studio/page/page.h"
#include "tools/studio/scene/wire.h"

typedef struct studio_server_desc {
    const cli_tool *tool;
    scene *scene;
    const studio_about *about;
    const char *path;   // of the trace; NULL: no file, so no notes and no tasks
    const char *beside; // notes of the trace are kept beside this
    const char *folder; // of a recording that may run; NULL: none
    const char *other;  // of a trace to compare with; NULL: none
    scene *other_scene; // of it
    // What the paths named when the traces were opened.
    struct stat file, other_file;
    uint16_t port;   // 0: any that is free
    bool mangled;    // the scenes have names as in the traces
    bool no_browser; // print the address only
} studio_server_desc;

/*
    Serves on 127.0.0.1 until SIGINT, SIGTERM, SIGHUP or SIGQUIT. Prints the
    address, which ends with a token: who does not know it is not answered.
    False, with the reason on stderr, if it cannot serve, or without
    libmicrohttpd.
*/
bool studio_serve(const studio_server_desc *desc);

#endif // TS_TOOLS_STUDIO_SERVE_SERVE_H
