/*
    records.h - reading JSON that holds records

    A record is an object at a place that the caller names: the keys around it,
    joined by slashes, such as "rocprofiler-sdk-tool/agents"; arrays do not
    count, and * as the last key is any. What is nested in a record gets keys
    joined by dots, elements of arrays their index: "id.handle", "command.0".
    The rest of the file is skipped. The text is parsed while it is read: memory
    holds one record.
*/
#ifndef TS_TOOLS_IMPORT_RECORDS_H
#define TS_TOOLS_IMPORT_RECORDS_H

#include "tools/import/import.h"

typedef struct import_member { // at: of import_record.bytes
    size_t key, key_size, text, text_size;
    bool is_text; // a string; else a number, true, false or null
} import_member;

typedef struct import_record {
    size_t place;   // index of the pattern in the list of places
    size_t element; // of the outermost array: its index
    ts_text name;   // the last key around it
    const char *bytes;
    const import_member *members; // count
    size_t count;
} import_record;

typedef struct import_records_desc {
    const char *const *places; // ends with NULL
    // Lifetime of the record: until the call returns.
    void (*take)(void *user, const import_record *record);
    void *user;
    const char *path; // of a file to read instead of the source, or NULL
    bool is_extra;    // another reading counts what is wrong with the text
} import_records_desc;

// Reads the job's source. Where the text is damaged reading ends, and the job
// is marked as cut. False after import_fail.
bool import_records_read(import_job *job, const import_records_desc *desc);

// Returns the value of a key as text; "" if there is none.
ts_text import_record_text(const import_record *record, const char *key);
// Returns the key of a member, and its value.
ts_text import_record_key(const import_record *record, size_t member);
ts_text import_record_value(const import_record *record, size_t member);
// Reads a decimal or hexadecimal integer; false if there is none. Those above
// INT64_MAX, such as addresses, become negative.
bool import_record_int(const import_record *record, const char *key,
                       int64_t *number);
// The same for a text by itself.
bool import_text_int(ts_text text, int64_t *number);
// Reads a number with its fraction; false if the text is none.
bool import_text_double(ts_text text, double *number);

// The library that this build lacks to read JSON, or NULL.
#ifdef TRACESMITH_YAJL
#define IMPORT_JSON_MISSING NULL
#else
#define IMPORT_JSON_MISSING "yajl"
#endif

#endif // TS_TOOLS_IMPORT_RECORDS_H
