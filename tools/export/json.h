/*
    json.h - values as JSON

    Source: RFC 8259.
*/
#ifndef TS_TOOLS_EXPORT_JSON_H
#define TS_TOOLS_EXPORT_JSON_H

#include "tools/export/export.h"

// Appends a string's contents as valid UTF-8, escaped.
void export_json_escaped(export_buffer *b, ts_text text);
void export_json_string(export_buffer *b, ts_text text);
void export_json_uint(export_buffer *b, uint64_t number);
void export_json_int(export_buffer *b, int64_t number);
// Appends the shortest text that reads back as the same number. NaN and
// infinities become strings, because JSON lacks them.
void export_json_double(export_buffer *b, double number);
// Appends nanoseconds as microseconds, exactly.
void export_json_us(export_buffer *b, uint64_t ns);
// Whether a text is an array or an object of JSON without blanks, as importers
// keep a nested value.
bool export_json_is_nested(ts_text text);

#endif // TS_TOOLS_EXPORT_JSON_H
