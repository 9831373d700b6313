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
    if (!c->is_quiet) fwrite(&r, sizeof r, 1, c->out);
    if (!c->is_quiet && bytes) fwrite(bytes, 1, r.size, c->out);
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

// OTHER: a pipe or the like, whose data the library would wait for.
typedef enum file_type { NO_FILE, OTHER_FILE, REGULAR_FILE } file_type;

// Finds a file of the archive and its bytes.
static file_type find_file(uint64_t *bytes, const char *anchor,
                           const char *rest)
{
    char path[PATH];
    struct stat file;
    const int stem = (int)(strlen(anchor) - strlen(".otf2"));
    const int size = snprintf(path, PATH, "%.*s%s", stem, anchor, rest);
    *bytes = 0;
    if (size < 0 || size >= PATH || stat(path, &file)) return NO_FILE;
    if (!S_ISREG(file.st_mode)) return OTHER_FILE;
    *bytes = (uint64_t)file.st_size;
    return REGULAR_FILE;
}

static file_type find_file_of(uint64_t *bytes, const char *anchor,
                              uint64_t location, const char *ending)
{
    char rest[64];
    snprintf(rest, sizeof rest, "/%" PRIu64 "%s", location, ending);
    return find_file(bytes, anchor, rest);
}

/* ---- Locations ----------------------------------------------------------- */

// Offsets of clocks and mappings of numbers, which the library applies to the
// events of the location. False: events would get wrong times and names.
static bool read_local_definitions(otf2_child *c, OTF2_Reader *reader,
                                   uint64_t location, const char *anchor)
{
    uint64_t count;
    const file_type type = find_file_of(&count, anchor, location, ".def");
    if (type == NO_FILE) return true;
    OTF2_DefReader *const definitions =
        type == REGULAR_FILE ? OTF2_Reader_GetDefReader(reader, location)
                             : NULL;
    if (!definitions) return false;
    const bool is_bad =
        OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &count);
    OTF2_Reader_CloseDefReader(reader, definitions);
    return !is_bad && !c->error[0];
}

// They use up no budget.
static void send_others(otf2_child *c)
{
    for (size_t i = 0; i < otf2_other_count; i++) {
        const otf2_record r = { .kind = OTF2_OTHER, .v = { i, c->others[i] } };
        c->budget += c->others[i] > 0;
        if (c->others[i]) otf2_put(c, r, NULL, 0);
        c->others[i] = 0;
    }
}

// Returns how many events were read. They are sent as they are read, as the
// library may abort, and a child that is silent for long is ended.
static uint64_t read_events(otf2_child *c, OTF2_Reader *reader,
                            const otf2_location *location,
                            const OTF2_EvtReaderCallbacks *callbacks)
{
    OTF2_EvtReader *const events =
        OTF2_Reader_GetEvtReader(reader, location->id);
    OTF2_ErrorCode status = OTF2_SUCCESS;
    uint64_t total = 0, count = EVENTS;
    if (!events ||
        OTF2_Reader_RegisterEvtCallbacks(reader, events, callbacks, c))
        return 0;
    while (count == EVENTS && !status) {
        count = 0;
        status = OTF2_Reader_ReadLocalEvents(reader, events, EVENTS, &count);
        total += count;
        send_others(c);
        if (fflush(c->out)) break;
    }
    OTF2_Reader_CloseEvtReader(reader, events);
    return total;
}

static void read_location(otf2_child *c, OTF2_Reader *reader, size_t i,
                          const char *anchor,
                          const OTF2_EvtReaderCallbacks *callbacks)
{
    const otf2_location *const location = &c->locations[i];
    const otf2_record at = { .kind = OTF2_AT, .v = { location->id, i } };
    uint64_t bytes, count = 0;
    const file_type type = find_file_of(&bytes, anchor, location->id, ".evt");
    if (!location->events && !bytes) return;
    c->budget = bytes + 1;
    c->error[0] = 0;
    otf2_put(c, at, NULL, 0);
    fflush(c->out); // before the library may abort
    const bool is_good =
        read_local_definitions(c, reader, location->id, anchor);
    if (is_good && type == REGULAR_FILE)
        count = read_events(c, reader, location, callbacks);
    if (!is_good || count < location->events || c->error[0])
        send_error(c, false,
                   count < location->events ? location->events - count : 0);
    fflush(c->out);
}

static bool read_locations(otf2_child *c, OTF2_Reader *reader,
                           const otf2_task *task)
{
    OTF2_EvtReaderCallbacks *const callbacks = OTF2_EvtReaderCallbacks_New();
    c->others = calloc(otf2_other_count, sizeof *c->others);
    if (!callbacks || !c->others) return false;
    otf2_events_set(callbacks);
    otf2_others_set(callbacks);
    for (size_t i = 0; i < c->count; i++)
        OTF2_Reader_SelectLocation(reader, c->locations[i].id);
    c->error[0] = 0;
    if (OTF2_Reader_OpenDefFiles(reader) || OTF2_Reader_OpenEvtFiles(reader))
        return false;
    for (size_t i = task->first; i < c->count; i++)
        read_location(c, reader, i, task->path, callbacks);
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

static bool read_archive(otf2_child *c, const otf2_task *task)
{
    uint64_t bytes;
    if (find_file(&bytes, task->path, ".def") != REGULAR_FILE) {
        snprintf(c->error, sizeof c->error, "it has no file of definitions");
        return false;
    }
    c->budget = bytes + 1;
    OTF2_Reader *const reader = OTF2_Reader_Open(task->path);
    if (!reader || OTF2_Reader_SetSerialCollectiveCallbacks(reader))
        return false;
    c->is_own = is_own(reader);
    c->is_quiet = task->first > 0;
    const bool good = otf2_read_definitions(c, reader);
    c->is_quiet = false;
    return fflush(c->out) == 0 && good && read_locations(c, reader, task);
}

void otf2_read_archive(FILE *out, void *task)
{
    static otf2_child child; // of which there is one in a process
    child.out = out;
    OTF2_Error_RegisterCallback(take_error, &child);
    if (!read_archive(&child, task)) send_error(&child, true, 0);
}

#else
typedef int otf2_library_needs_otf2; // a file of C has a declaration
#endif
