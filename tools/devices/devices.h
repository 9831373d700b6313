/*
    devices.h - the queries of ts-devices, one for each vendor

    run.c     runs each vendor's query in a process of its own
    common.c  what the queries share
    cupti.c   known limitations of versions of CUPTI
    nvidia.c, amd.c, metax.c, opencl.c,
    vulkan.c  one query each
    vendors.c  the list of queries
    print.c   the answers as text and JSON

    A driver may hang or crash. That ends only the process of its query, which
    has a time limit; the answer reports it.
*/
#ifndef TS_DEVICES_H
#define TS_DEVICES_H

#include "tools/cli/cli.h"

// The input of a query.
typedef struct devices_query {
    FILE *out;        // pipe to the parent process
    const char *root; // prefix of "/dev", "/etc", "/proc", "/sys"; "" but in
                      // tests
} devices_query;

typedef struct devices_vendor {
    const char *name, *title; // "nvidia", "NVIDIA"
    void (*query)(const devices_query *query);
} devices_vendor;
extern const devices_vendor devices_vendors[];
extern const size_t devices_vendor_count;

/* ---- Answers, written by a query ---------------------------------------- */

typedef enum devices_kind {
    DEVICES_FACT = 'F',    // "driver", "580.65.06"
    DEVICES_DEVICE = 'D',  // name, details
    DEVICES_WORKS = 'W',   // what can be recorded, by which library
    DEVICES_FAILS = 'X',   // why it cannot, remedy ("": none)
    DEVICES_NOTHING = 'N', // why the vendor counts as absent
} devices_kind;
__attribute__((format(printf, 4, 5))) void
devices_write(const devices_query *query, devices_kind kind, const char *first,
              const char *format, ...);

// Writes an answer that has no second part.
void devices_write_reason(const devices_query *query, devices_kind kind,
                          const char *why);

// Opens the first library of a list that exists; `path` receives its path.
// names: ends with NULL; a name with a * is a pattern of files. NULL if there
// is none.
void *devices_open(const char *const *names, char *path, size_t room);
// Looks up a function of a library into *function. False if the library does
// not have it.
bool devices_find(void *library, const char *name, void *function);

// Reads the first line of a file below the root, without the line break. False
// if it cannot be read.
bool devices_read(const devices_query *query, const char *path, char *text,
                  size_t room);
// Counts the display and compute devices of a PCI vendor on the bus.
uint32_t devices_on_bus(const devices_query *query, uint32_t vendor);
// Whether the program seems to run in a container: then a device may be hidden
// rather than missing.
bool devices_in_container(const devices_query *query);
/*
    Whether a file can be opened for reading and writing. If not, writes a
    DEVICES_FAILS answer with the reason and the remedy.
*/
bool devices_may_use(const devices_query *query, const char *path);

// The release of CUDA that contains a version of CUPTI.
cli_text devices_cupti_release(uint32_t version);
// Writes known limitations of a version of CUPTI as answers.
void devices_cupti_notes(const devices_query *query, uint32_t version);

/* ---- All answers --------------------------------------------------------- */

typedef struct devices_item {
    devices_kind kind;
    char *first, *second;
} devices_item;

typedef struct devices_answer {
    const devices_vendor *vendor;
    devices_item *items;
    size_t count;
    int signal; // that ended the process of the query, 0: none
    bool hung;  // the query exceeded its time limit
    // Private.
    int process, pipe;
    char *text;
    size_t size, room;
} devices_answer;

// Runs the queries of all vendors concurrently, each for limit_ns at most.
// False, with the reason on stderr, if the processes cannot be started.
bool devices_query_all(const cli_tool *tool, const char *root, int64_t limit_ns,
                       devices_answer *answers);
// Frees the answers of all vendors; the array is the caller's.
void devices_close(devices_answer *answers);
// Prints the answers, in the order of devices_vendors, for people.
void devices_text(const devices_answer *answers);
// Prints the answers as one JSON object, in the order of devices_vendors.
void devices_json(const devices_answer *answers);

#endif // TS_DEVICES_H
