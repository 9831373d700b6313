/*
    library.c - the library of OTF2 reads an archive, in a child

    The definitions, then the events of one location after the other: so there
    is never more than one file of events in memory, and a damaged one spoils no
    other.
*/
#include "tools/import/otf2/otf2.h"

#ifdef TRACESMITH_OTF2
#include <sys/stat.h>

enum { EVENTS = 4096, PATH = 4096 }; // EVENTS: read at a time

bool otf2_put(otf2_child *c, otf2_record r, const void *bytes, size_t size)
{
    if (bytes) r.size = (uint32_t)(size < OTF2_BYTES ? size : OTF2_BYTES);
    fwrite(&r, sizeof r, 1, c->out);
    if (bytes) fwrite(bytes, 1, r.size, c->out);
    return c->budget && c->budget--;
}

/* ---- Errors -------------------------------------------------------------- */

// Keeps the first error, without odd bytes.
static OTF2_ErrorCode take_error(void *user, const char *file, uint64_t line,
                                 const char *function, OTF2_ErrorCode code,
                                 const char *format, va_list list)
{
    otf2_child *const c = user;
    (void)file, (void)line, (void)function, (void)format, (void)list;
    if (!c->error[0])
        snprintf(c->error, sizeof c->error, "%s",
                 OTF2_Error_GetDescription(code));
    for (char *at = c->error; *at; at++)
        if (*at < ' ' || *at > '~') *at = ' ';
    return code;
}

// missing: events that were not read; is_end: nothing follows.
static void send_error(otf2_child *c, bool is_end, uint64_t missing)
{
    const char *const text = c->error[0] ? c->error : "it ends early";
    otf2_put(c, (otf2_record){ .kind = OTF2_ERROR, .v = { is_end, missing } },
             text, strlen(text));
    c->error[0] = 0;
}

/* ---- Files --------------------------------------------------------------- */

// Returns the bytes of a file of the archive; 0: there is none.
static uint64_t size_of(const char *anchor, const char *rest)
{
    char path[PATH];
    struct stat file;
    const int stem = (int)(strlen(anchor) - strlen(".otf2"));
    const int size = snprintf(path, PATH, "%.*s%s", stem, anchor, rest);
    if (size < 0 || size >= PATH || stat(path, &file)) return 0;
    return S_ISREG(file.st_mode) ? (uint64_t)file.st_size : 0;
}

static uint64_t size_of_events(const char *anchor, uint64_t location)
{
    char rest[64];
    snprintf(rest, sizeof rest, "/%" PRIu64 ".evt", location);
    return size_of(anchor, rest);
}

/* ---- Locations ----------------------------------------------------------- */

// Offsets of clocks and mappings of numbers, which the library applies.
static void read_local_definitions(otf2_child *c, OTF2_Reader *reader)
{
    if (OTF2_Reader_OpenDefFiles(reader)) return;
    for (size_t i = 0; i < c->count; i++) {
        OTF2_DefReader *const definitions =
            OTF2_Reader_GetDefReader(reader, c->locations[i].id);
        uint64_t count;
        if (!definitions) continue;
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
        OTF2_Reader_CloseDefReader(reader, definitions);
    }
    OTF2_Reader_CloseDefFiles(reader);
}

static void send_others(otf2_child *c)
{
    for (size_t i = 0; i < otf2_other_count; i++)
        if (c->others[i])
            otf2_put(
                c,
                (otf2_record){ .kind = OTF2_OTHER, .v = { i, c->others[i] } },
                NULL, 0);
    memset(c->others, 0, otf2_other_count * sizeof *c->others);
}

// Returns how many events were read.
static uint64_t read_events(otf2_child *c, OTF2_Reader *reader,
                            const otf2_location *location,
                            const OTF2_EvtReaderCallbacks *callbacks)
{
    OTF2_EvtReader *const events =
        OTF2_Reader_GetEvtReader(reader, location->id);
    uint64_t total = 0, count = EVENTS;
    if (!events ||
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, c))
        return 0;
    while (count == EVENTS &&
           !OTF2_Reader_ReadLocalEvents(reader, events, EVENTS, &count)) {
        total += count;
        if (fflush(c->out)) break; // before the library may abort
    }
    OTF2_Reader_CloseEvtReader(reader, events);
    return total;
}

static void read_location(otf2_child *c, OTF2_Reader *reader,
                          const otf2_location *location, const char *anchor,
                          const OTF2_EvtReaderCallbacks *callbacks)
{
    const otf2_record at = { .kind = OTF2_AT, .v = { location->id } };
    c->budget = size_of_events(anchor, location->id) + 1;
    c->error[0] = 0;
    if (!location->events && c->budget == 1) return;
    otf2_put(c, at, NULL, 0);
    const uint64_t count = read_events(c, reader, location, callbacks);
    send_others(c);
    if (count < location->events || c->error[0])
        send_error(c, false,
                   count < location->events ? location->events - count : 0);
    fflush(c->out);
}

static bool read_locations(otf2_child *c, OTF2_Reader *reader,
                           const char *anchor)
{
    OTF2_EvtReaderCallbacks *const callbacks = OTF2_EvtReaderCallbacks_New();
    c->others = calloc(otf2_other_count, sizeof *c->others);
    if (!callbacks || !c->others) return false;
    otf2_events_set(callbacks);
    otf2_others_set(callbacks);
    for (size_t i = 0; i < c->count; i++)
        OTF2_Reader_SelectLocation(reader, c->locations[i].id);
    read_local_definitions(c, reader);
    c->error[0] = 0;
    if (OTF2_Reader_OpenEvtFiles(reader)) return false;
    for (size_t i = 0; i < c->count; i++)
        read_location(c, reader, &c->locations[i], anchor, callbacks);
    return true;
}

/* ---- The archive --------------------------------------------------------- */

static bool is_own(OTF2_Reader *reader)
{
    static const char own[] = "TraceSmith ";
    char *creator = NULL;
    if (OTF2_Reader_GetCreator(reader, &creator) || !creator) return false;
    const bool is_own = !strncmp(creator, own, sizeof own - 1);
    free(creator);
    return is_own;
}

static bool read_archive(otf2_child *c, const char *anchor)
{
    c->budget = size_of(anchor, ".otf2") + 1;
    OTF2_Reader *const reader = OTF2_Reader_Open(anchor);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader))
        return false;
    c->is_own = is_own(reader);
    c->budget = size_of(anchor, ".def") + 1;
    const bool good = otf2_read_definitions(c, reader);
    return fflush(c->out) == 0 && good && read_locations(c, reader, anchor);
}

void otf2_read_archive(FILE *out, void *path)
{
    static otf2_child child; // of which there is one in a process
    child.out = out;
    OTF2_Error_RegisterCallback(take_error, &child);
    if (!read_archive(&child, path)) send_error(&child, true, 0);
}

#else
typedef int otf2_library_needs_otf2; // a file of C has a declaration
#endif
