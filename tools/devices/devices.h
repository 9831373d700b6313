/*
    devices.h - what ts-devices asks of each vendor

    run.c     asks, each vendor in a process of its own
    common.c    what the questions share
    cupti.c   what is known of versions of CUPTI
    nvidia.c, amd.c, metax.c, opencl.c,
    vulkan.c, vendors.c  one question each
    print.c   the answers as text and JSON

    A driver may hang or crash: it does so in the process of its question,
    which has a time limit, and the answer says so.
*/
#ifndef TS_DEVICES_H
#define TS_DEVICES_H

#include "tools/cli/cli.h"

// What a question is given.
typedef struct devices_ask {
    FILE *out;        // to whoever asked
    const char *root; // before "/proc", "/sys", "/dev": ""
} devices_ask;

typedef struct devices_vendor {
    const char *name, *title; // "nvidia", "NVIDIA"
    void (*ask)(const devices_ask *ask);
} devices_vendor;
extern const devices_vendor devices_vendors[];
extern const size_t devices_vendor_count;

/* ---- Answers, from within a question ------------------------------------- */

typedef enum devices_kind {
    DEVICES_FACT = 'F',    // "driver", "580.65.06"
    DEVICES_DEVICE = 'D',  // name, details
    DEVICES_WORKS = 'W',   // what would be captured, through what
    DEVICES_FAILS = 'X',   // why it would not, how to mend it ("" nothing)
    DEVICES_NOTHING = 'N', // there is nothing of that vendor here: why
} devices_kind;
__attribute__((format(printf, 4, 5))) void devices_say(const devices_ask *ask,
                                                       devices_kind kind,
                                                       const char *first,
                                                       const char *format, ...);

// The same with nothing to add.
void devices_say_why(const devices_ask *ask, devices_kind kind,
                     const char *why);

// Opens a library by the first of some names that is there; `path` receives
// where it is. names: ends with NULL; one with a * is a pattern of files.
void *devices_open(const char *const *names, char *path, size_t room);
// A function of it, into *function; false if it has none of that name.
bool devices_find(void *library, const char *name, void *function);

// The first line of a file below the root, without its end; false: none.
bool devices_read(const devices_ask *ask, const char *path, char *text,
                  size_t room);
// How many display or compute devices of a vendor are on the PCI bus.
uint32_t devices_on_bus(const devices_ask *ask, uint32_t vendor);
bool devices_in_container(const devices_ask *ask);
/*
    Whether a file can be opened for reading and writing; if not says why and
    what would help, as DEVICES_FAILS.
*/
bool devices_may_use(const devices_ask *ask, const char *path);

// The release of CUDA that a version of CUPTI is of.
cli_text devices_cupti_release(uint32_t version);
// What its users should know of it.
void devices_cupti_notes(const devices_ask *ask, uint32_t version);

/* ---- All answers --------------------------------------------------------- */

typedef struct devices_item {
    devices_kind kind;
    char *first, *second;
} devices_item;

typedef struct devices_answer {
    const devices_vendor *vendor;
    devices_item *items;
    size_t count;
    int signal; // its process was ended by that signal, 0: it was not
    bool hung;  // no answer in time
    // Private.
    int process, pipe;
    char *text;
    size_t size, room;
} devices_answer;

// Asks all vendors at once. False, with the reason on stderr, if that cannot
// be done.
bool devices_query_all(const cli_tool *tool, const char *root, int64_t limit_ns,
                       devices_answer *answers);
void devices_close(devices_answer *answers);
void devices_text(const devices_answer *answers);
void devices_json(const devices_answer *answers);

#endif // TS_DEVICES_H
