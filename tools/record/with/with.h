/*
    with.h - recording with a vendor's own tool

    with.c      runs the tool around the program, imports what it wrote
    vendors.c   the tools: how each is called, what it writes
    words.c     the words of --with-args, and of the tool's command
    folder.c    the folder into which the tool writes
    xctrace.c   exports the tables of a recording of Instruments

    Each tool has its own ways with names: nsys and rocprofv3 replace % in them,
    msprof refuses quotes. So a tool writes into a folder beside the trace whose
    name is harmless, or to which a link in the temporary folder leads.
*/
#ifndef TS_RECORD_WITH_WITH_H
#define TS_RECORD_WITH_WITH_H

#include "tools/record/record.h"

typedef struct with_options {
    const char *tool;   // --with; NULL: not given
    const char *args;   // --with-args; NULL: none
    const char *status; // --with-status; NULL: not given
    bool keep;
} with_options;

typedef struct with_run with_run;

typedef struct with_vendor {
    const char *name;    // as --with names it
    const char *program; // as PATH names it
    const char *product; // what contains it, and where it usually is
    /*
        The words of its command after the program: %F is the folder, %A stands
        for --with-args or the defaults, %C for the program to record.
    */
    const char *const *command;
    const char *const *defaults;
    const char *const *instead; // words that replace them; NULL: any words
    // What it writes, paths in the folder, in which * matches anything: those
    // of the first pattern that any file has.
    const char *const *files;
    bool drops_status; // its exit status is not that of the program
    bool splits;       // it takes the program's words apart at blanks
    bool relative;     // it puts the working folder before every path
    void (*convert)(with_run *run); // what it wrote into `files`; may be NULL
} with_vendor;

typedef struct with_words {
    char **items; // ends with NULL
    size_t count, room;
    bool failed; // without memory
} with_words;

struct with_run {
    record_job *job;
    const with_options *options;
    const with_vendor *vendor;
    char folder[RECORD_PATH]; // absolute
    char link[80];            // folder of the link to it; "": none
    char shown[RECORD_PATH];  // the folder as the tool sees it
    with_words args;          // of --with-args
    with_words words;         // the command
    with_words files;         // what the tool wrote, absolute paths
    char **program;           // to record, with its arguments
    int code;                 // exit status of the program
    bool ran;                 // the program ran, as far as is known
    bool lacks;               // the conversion failed, wholly or in part
};

// Returns the tool of a name; NULL, with the reason on stderr.
const with_vendor *with_vendor_find(const cli_tool *tool, const char *name);
// Makes run->words of the tool's command. False, with the reason on stderr, on
// failure.
bool with_command(with_run *run);

// Adds a copy of a word.
void with_word_add(with_words *words, const char *word);
// Adds the words of a text, in which ' " and \ quote as in a shell. False if a
// quote has no end.
bool with_words_split(with_words *words, const char *text);
// Returns whether one of the words, or its part before a =, is in a list.
bool with_words_have(const with_words *words, const char *const *list);
void with_words_free(with_words *words);

// Makes the folder. False, with the reason on stderr, on failure.
bool with_folder_make(with_run *run);
// Fills run->files; false, with the reason on stderr, on failure.
bool with_folder_find(with_run *run);
// Removes the folder, or, to keep it, gives it the name of the trace; then its
// path is in run->folder.
void with_folder_end(with_run *run, bool keep);

// Exports the tables that ts-import reads; sets run->lacks if that fails.
void with_xctrace_convert(with_run *run);

// False, with the reason on stderr, if there is no such tool or its arguments
// make no sense.
bool record_with_check(const cli_tool *tool, const with_options *options);
// Runs a program with a vendor's tool. Returns the exit code of ts-record.
int record_with(record_job *job, const with_options *options);
// Runs a program without recording it, and writes its exit status to a file.
int record_with_status(record_job *job, const char *path);

#endif // TS_RECORD_WITH_WITH_H
