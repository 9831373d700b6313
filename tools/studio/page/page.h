/*
    page.h - the page of ts-studio: one HTML file, with or without a trace
*/
#ifndef TS_TOOLS_STUDIO_PAGE_PAGE_H
#define TS_TOOLS_STUDIO_PAGE_PAGE_H

#include "tools/cli/cli.h"

// A trace that is larger is not put into a page, which then asks for it.
#define STUDIO_EMBEDDED_BYTES (UINT64_C(50) << 20)

// What ts-analyze says of a trace, as JSON: see `Report` in web/src/app.ts.
typedef struct studio_about {
    const char *name;   // of the trace
    const char *report; // an object; NULL: none
    const char *names;  // those that were read, a list of pairs; NULL: none
    const char *other;  // of a second trace; NULL: there is none
    bool captures;      // captures can be begun and ended: see serve/capture.h
} studio_about;

// Writes {"name":..,"report":..}, without `<`, so that it can stand in a page.
void studio_about_write(const studio_about *about, FILE *out);

// Writes the page with a trace, or (bytes NULL) without one.
void studio_page_write(const studio_about *about, const void *bytes,
                       size_t size, FILE *out);
// Returns the page that the server sends, which may ask it; NULL without
// memory. Free with free().
char *studio_page_served(size_t *size);

#endif // TS_TOOLS_STUDIO_PAGE_PAGE_H
