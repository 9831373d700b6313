/*
    archive.h - reading archives and compressed files by libarchive

    tar, zip and 7z, and what is compressed with xz, zstd, bzip2 or lz4. Nothing
    is extracted: entries are read one after the other, and their names serve
    for messages only. No program is executed to unpack.
*/
#ifndef TS_TOOLS_IMPORT_ARCHIVE_H
#define TS_TOOLS_IMPORT_ARCHIVE_H

#include "tools/import/bytes.h"

enum { IMPORT_ARCHIVE_HEAD = 512 }; // bytes that tell whether it is one

// Returns whether bytes, IMPORT_ARCHIVE_HEAD or all of a file, begin what is
// read here; never in a build without libarchive.
bool import_archive_begins(const uint8_t *head, size_t size);

typedef struct import_archive import_archive;

// Begins to read an archive from a stream, which the caller closes later. NULL:
// no memory.
import_archive *import_archive_open(import_bytes *stream);
void import_archive_close(import_archive *archive); // NULL is allowed

// Moves to the next regular file, whatever was read of the last one. False: the
// end, or import_archive_error.
bool import_archive_next(import_archive *archive);
// Returns the name of the file, any bytes. NULL: the stream is no archive but a
// compressed file.
const char *import_archive_name(const import_archive *archive);
// Reads the next bytes of the file; 0: its end, or import_archive_error.
size_t import_archive_read(import_archive *archive, void *bytes, size_t size);
// Returns why reading ended early; NULL: it did not.
const char *import_archive_error(const import_archive *archive);

#endif // TS_TOOLS_IMPORT_ARCHIVE_H
