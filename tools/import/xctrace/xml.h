/*
    xml.h - XML as a stream of events, as much of it as xctrace writes

    Elements, attributes, text, references to characters, comments and
    processing instructions. There are no entities but the five of XML, no
    CDATA, and no DOCTYPE: nothing is expanded or fetched. Names and values that
    are too long are cut.
*/
#ifndef TS_TOOLS_IMPORT_XCTRACE_XML_H
#define TS_TOOLS_IMPORT_XCTRACE_XML_H

#include "tools/import/import.h"

enum { XML_NAME = 64, XML_TEXT_MOST = 4095, XML_PIECE = 64 << 10 };

typedef enum xml_event {
    XML_END_OF_FILE,
    XML_BROKEN, // it is no XML that is read here, or ends early
    XML_BEGIN,  // of an element: its name and attributes
    XML_END,    // of an element, an empty one, too: its name
    XML_TEXT    // all between two tags
} xml_event;

// The attributes that are kept.
typedef enum xml_attribute {
    XML_ID,
    XML_REF,
    XML_FMT,
    XML_NAME_OF,
    XML_ATTRIBUTES
} xml_attribute;

typedef struct xml_text {
    char bytes[XML_TEXT_MOST + 1]; // with a zero behind
    size_t size;
} xml_text;

typedef struct xml {
    import_source *source;
    uint8_t piece[XML_PIECE];
    size_t at, end;
    char name[XML_NAME];
    xml_text attributes[XML_ATTRIBUTES]; // size 0: missing or empty
    xml_text text;
    size_t depth;  // elements that are open
    bool is_empty; // <x/>: its end comes next
} xml;

// Reads the next event.
xml_event xml_next(xml *x);

#endif // TS_TOOLS_IMPORT_XCTRACE_XML_H
