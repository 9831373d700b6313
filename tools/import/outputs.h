/*
    outputs.h - the files that ts-import writes, and their names

    Each trace is first written under a temporary name in the folder of its
    final name. When all are complete they are renamed; the final names depend
    on the number of traces and on the ranks found in them.
*/
#ifndef TS_TOOLS_IMPORT_OUTPUTS_H
#define TS_TOOLS_IMPORT_OUTPUTS_H

#include "tools/import/import.h"

typedef struct import_output {
    char *temporary;
    char *path;        // the final name
    import_job *job;   // closed but readable
    char *from, *base; // names of its source
    uint64_t size;
} import_output;

typedef struct import_outputs {
    const cli_tool *tool;
    const char *requested; // -o
    bool is_folder;        // `requested` is a folder
    char *pattern;         // prefix of temporary names; a number is appended
    import_output *outputs;
    size_t count, begun; // begun: upper bound of temporary files
    char *next;          // the last result of import_outputs_next
    import_file *inputs; // files that are read and must not be replaced
    size_t input_count, input_room;
    import_file *parts; // those that were read for another source
    size_t part_count, part_room;
} import_outputs;

// Checks that `requested` can be written; false with the reason on stderr.
bool import_outputs_open(import_outputs *all);
// Protects the file of a source from being replaced by an output. False: no
// memory.
bool import_outputs_spare(import_outputs *all, const import_source *source);
// The same for a file that is read for other ones, of which none is made.
bool import_outputs_take_part(import_outputs *all, import_file file);
// The same for the other files that a job has read (import_job_part).
bool import_outputs_take_parts(import_outputs *all, const import_job *job);
// Returns whether a source was read for an earlier one.
bool import_outputs_is_part(const import_outputs *all,
                            const import_source *source);
// Returns the temporary path for the next trace, valid until the next call.
const char *import_outputs_next(import_outputs *all);
// Adds a completed job, which it takes ownership of. False: no memory.
bool import_outputs_add(import_outputs *all, import_job *job);
// Renames all to their final names. False with the reason on stderr; files
// already renamed are kept.
bool import_outputs_name(import_outputs *all);
// Removes the temporary files that are not renamed yet.
void import_outputs_release(import_outputs *all);
// Removes the same files and frees everything.
void import_outputs_close(import_outputs *all);

#endif // TS_TOOLS_IMPORT_OUTPUTS_H
