/*
    outputs.h - the files that ts-import writes, and their names

    Each source is first written under a temporary name beside its own. Only
    when all are complete do they get their names, which depend on how many
    there are and on the ranks found in them.
*/
#ifndef TS_TOOLS_IMPORT_OUTPUTS_H
#define TS_TOOLS_IMPORT_OUTPUTS_H

#include "tools/import/import.h"

typedef struct import_output {
    char *temporary;
    char *path;        // the name in the end
    import_job *job;   // closed, readable; with the source's names below
    char *from, *base; // of its source
    uint64_t size;
} import_output;

typedef struct import_outputs {
    const cli_tool *tool;
    const char *wanted; // -o
    bool is_folder;     // `wanted` is one
    char *pattern;      // of temporary names: a number is put behind it
    import_output *outputs;
    size_t count, begun; // begun: temporary files there may be
    char *next;          // what import_outputs_next returned
    import_file *inputs; // what is read, never to be replaced
    size_t input_count;
} import_outputs;

// Whether `wanted` can be written at all; says why not.
bool import_outputs_open(import_outputs *all);
// A source is read: no output may replace its file. False: no memory.
bool import_outputs_spare(import_outputs *all, const import_source *source);
// Where the next source is to be written; until the next call.
const char *import_outputs_next(import_outputs *all);
// It is complete: takes the job. False: no memory.
bool import_outputs_add(import_outputs *all, import_job *job);
// Gives them their names. False: said why; those that exist stay.
bool import_outputs_name(import_outputs *all);
// Removes what has no name yet.
void import_outputs_release(import_outputs *all);
// The same, and frees all.
void import_outputs_close(import_outputs *all);

#endif // TS_TOOLS_IMPORT_OUTPUTS_H
