/*
    pickle.h - reading a pickle of Python as data

    A pickle is a program for a small machine with a stack. Of its instructions
    only those are carried out that make containers, texts and numbers; one that
    would name or call something of Python, such as REDUCE or GLOBAL, ends the
    reading with a failure. So nothing of the file is ever executed.

    Memory: what its values take, at most 64 MiB and 32 bytes for each byte of
    the unpacked file; one that needs more is refused.

    Source: Lib/pickletools.py of CPython, protocols 0 to 5.
*/
#ifndef TS_TOOLS_IMPORT_TORCH_PICKLE_H
#define TS_TOOLS_IMPORT_TORCH_PICKLE_H

#include "tools/import/import.h"
#include "tools/import/map.h"

typedef enum pickle_type {
    PICKLE_NONE, // also: a value that is none of these
    PICKLE_INT,
    PICKLE_TEXT, // number: index of the text
    PICKLE_LIST, // of the container; also of tuples and sets
    PICKLE_DICT  // keys and values in turn
} pickle_type;

typedef struct pickle_value {
    pickle_type type;
    int64_t number;
} pickle_value;

typedef struct pickle_box { // a container
    pickle_value *items;    // count
    size_t count, room;
} pickle_box;

typedef struct pickle {
    import_job *job;
    pickle_box *boxes;
    size_t box_count, box_room;
    ts_text *texts; // each allocated
    size_t text_count, text_room;
    pickle_value *stack; // private from here on
    size_t depth, stack_room;
    size_t *marks;
    size_t mark_count, mark_room;
    cli_map memo_of; // by number: index into memo + 1
    pickle_value *memo;
    size_t memo_count, memo_room, memo_next;
    uint8_t block[64 << 10];
    size_t at, size;
    uint64_t done; // bytes read
    uint64_t held; // bytes that the values take
    bool out_of_memory, is_cut;
    const char *refused; // what it would do, or NULL
} pickle;

// Reads the job's source. NULL after import_fail: it is cut, damaged, or would
// call something.
pickle *pickle_open(import_job *job, pickle_value *value);
void pickle_close(pickle *p); // NULL is allowed

// Returns the value of a key of a dictionary; PICKLE_NONE: there is none.
pickle_value pickle_get(const pickle *p, pickle_value dict, const char *key);
// Returns how many elements a list has; 0: it is none.
size_t pickle_count(const pickle *p, pickle_value list);
// Returns an element; index < pickle_count.
pickle_value pickle_at(const pickle *p, pickle_value list, size_t index);
// Returns a text; "" if the value is none.
ts_text pickle_text(const pickle *p, pickle_value value);
// Returns the integer of a key; `other` if there is none.
int64_t pickle_int(const pickle *p, pickle_value dict, const char *key,
                   int64_t other);

#endif // TS_TOOLS_IMPORT_TORCH_PICKLE_H
