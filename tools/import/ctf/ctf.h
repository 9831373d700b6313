/*
    ctf.h - what the files of this folder share

    library.c and events.c run in a child: they write a ctf_record and its texts
    for each event, which ctf.c reads.
*/
#ifndef TS_TOOLS_IMPORT_CTF_CTF_H
#define TS_TOOLS_IMPORT_CTF_CTF_H

#include "tools/import/import.h"

typedef enum ctf_kind {
    CTF_MESSAGE,
    CTF_BEGIN,
    CTF_END,         // without a name: of whatever was begun last
    CTF_LOST_EVENTS, // count: of them
    CTF_LOST_PACKETS,
    CTF_ERROR, // text: why the library stopped
} ctf_kind;

// Flags of a record.
enum { CTF_UNIX = 1, CTF_NO_TIME = 2, CTF_LONG = 4, CTF_BAD_TIME = 8 };

enum { CTF_TEXT = 64 << 10 }; // bytes of an event's fields; the rest is dropped

typedef struct ctf_record {
    int64_t time_ns, process, thread; // thread IMPORT_NONE: `place` is its name
    uint64_t count;
    uint32_t kind, flags;
    uint32_t name_size, place_size, text_size; // of the texts that follow
} ctf_record;

#ifdef TRACESMITH_BABELTRACE
#include <babeltrace2/babeltrace.h>

typedef struct ctf_child {
    FILE *out;
    uint64_t events, most_events; // as many as the folder has bits
    char text[CTF_TEXT];          // fields of the event in progress
    size_t size;
} ctf_child;

// Reads the folder and writes its records; for a child.
void ctf_read_folder(FILE *out, void *folder);
// Writes a record. Texts may be NULL.
void ctf_send(ctf_child *c, ctf_record *record, const char *name,
              const char *place);
// Takes a message of the library: an event, or what is missing.
void ctf_take(ctf_child *c, const bt_message *message);
#endif

#endif // TS_TOOLS_IMPORT_CTF_CTF_H
