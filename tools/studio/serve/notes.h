/*
    notes.h - bookmarks and notes, in a file beside the trace
*/
#ifndef TS_TOOLS_STUDIO_SERVE_NOTES_H
#define TS_TOOLS_STUDIO_SERVE_NOTES_H

#include <stdbool.h>
#include <stddef.h>

enum {
    STUDIO_MOST_NOTES = 1 << 18, // bytes
    STUDIO_NOTES_VERSION = 20    // bytes of a version, with its quotes
};

// Reads the notes of a trace, TRACE.notes.json; *text is "" if there are none.
// Only a regular file of this user is read, and only if it holds notes. Returns
// NULL, or why there are none. Free: free(*text).
const char *studio_notes_read(const char *trace, char **text, size_t *size);
// Tells notes from other notes.
void studio_notes_version(const void *text, size_t size,
                          char version[STUDIO_NOTES_VERSION]);
// Replaces the notes of a trace by others, as a whole, if they are of a version
// that was read (NULL: none was). Only this user can read them. Returns NULL,
// or why it could not.
const char *studio_notes_write(const char *trace, const void *text, size_t size,
                               const char *version);

#endif // TS_TOOLS_STUDIO_SERVE_NOTES_H
