/*
    ctf.c - the Common Trace Format: folders of a file "metadata" and streams

    The library of babeltrace2 reads the folder in a child, since damaged files
    make it abort or hang. Whichever file of a folder is imported, all of them
    become one trace.
*/
#include "tools/import/ctf/ctf.h"
#include "tools/import/child.h"
#include "tools/import/nested.h"
#include <errno.h>

// Metadata, plain or in packets; streams and indexes with their magic numbers.
static bool recognise(import_source *source)
{
    static const char *const magic[] = { "\x75\xD1\x1D\x57", "\x57\x1D\xD1\x75",
                                         "\xC1\xFC\x1F\xC1", "\xC1\x1F\xFC\xC1",
                                         "\xC1\xF1\xDC\xC1" };
    static const char plain[] = "/* CTF ";
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    for (size_t i = 0; size >= 4 && i < sizeof magic / sizeof *magic; i++)
        if (!memcmp(head, magic[i], 4)) return true;
    return size >= sizeof plain && !memcmp(head, plain, sizeof plain - 1);
}

#ifdef TRACESMITH_BABELTRACE
#define MISSING NULL

/* ---- The folder ---------------------------------------------------------- */

static bool is_any(void *user, const char *name)
{
    (void)user, (void)name;
    return true;
}

static bool is_metadata(const import_source *source)
{
    return !strcmp(import_source_base(source), "metadata");
}

// NULL: it is packed, so that its path is that of a temporary file.
static char *folder_of(import_source *metadata)
{
    const char *const path = import_source_path(metadata);
    const char *const slash = path ? strrchr(path, '/') : NULL;
    if (!path || strcmp(slash ? slash + 1 : path, "metadata")) return NULL;
    if (!slash) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static bool is_trace(import_source *source)
{
    size_t size;
    const uint8_t *const head = import_source_head(source, &size);
    return size >= strlen(TS_FILE_MAGIC) &&
           !memcmp(head, TS_FILE_MAGIC, strlen(TS_FILE_MAGIC));
}

// Returns the folder with the metadata; NULL after a message. Free it. The
// streams and indexes beside it are parts of the job.
static char *find_folder(import_job *job)
{
    char *folder = is_metadata(job->source) ? folder_of(job->source) : NULL;
    import_input *const others =
        import_input_open_beside(job->source, is_any, NULL);
    import_source *other = others ? import_input_next(others) : NULL;
    bool has_trace = false;
    for (; other; other = import_input_next(others)) {
        has_trace |= is_trace(other);
        if (recognise(other)) import_job_part(job, other);
        if (!folder && is_metadata(other)) folder = folder_of(other);
    }
    if (others) import_input_close(others);
    if (!others || !folder)
        import_fail(job, "it is a file of a CTF trace, which is a folder of "
                         "unpacked files, one named metadata: import that "
                         "folder");
    else if (has_trace) // the library takes every file for a stream
        import_fail(job, "a trace (SBT) lies in the folder of the CTF trace: "
                         "move it, and choose an output elsewhere");
    else
        return folder;
    free(folder);
    return NULL;
}

/* ---- Records ------------------------------------------------------------- */

typedef struct ctf {
    import_job *job;
    import_nested zones;
    import_child child;
    ctf_record record;
    char *texts; // of the record: name, place, text
    size_t room;
    bool no_memory;
    cli_text error; // why the library stopped
} ctf;

static bool next_record(ctf *c)
{
    ctf_record *const r = &c->record;
    if (!import_child_read(&c->child, r, sizeof *r)) return false;
    const size_t size = (size_t)r->name_size + r->place_size + r->text_size;
    c->no_memory = !cli_grow(&c->texts, &c->room, size + 1, 1);
    return !c->no_memory && import_child_read(&c->child, c->texts, size);
}

static uint32_t track_of(ctf *c)
{
    const ctf_record *const r = &c->record;
    const char *const place = c->texts + r->name_size;
    if (r->thread == IMPORT_NONE)
        return import_lane(c->job, 0, place, r->place_size);
    const uint32_t thread = import_thread(c->job, r->process, r->thread);
    if (r->place_size) import_track_name(c->job, thread, place, r->place_size);
    return thread;
}

static void take_message(ctf *c, uint32_t track, uint32_t site,
                         const char *text)
{
    const ctf_record *const r = &c->record;
    const ts_writer_value value = { TS_COLUMN_SITE, site };
    if (r->flags & CTF_BAD_TIME)
        import_bad(c->job, "bad_time", IMPORT_NONE);
    else
        import_event_text(c->job, TS_EVENT_MESSAGE, track, r->time_ns, 0,
                          &value, 1, text, r->text_size);
}

static void take_event(ctf *c)
{
    const ctf_record *const r = &c->record;
    const int64_t time_ns = r->flags & CTF_BAD_TIME ? IMPORT_NONE : r->time_ns;
    c->job->rows++;
    if (r->flags & CTF_UNIX) c->job->has_unix_offset = true;
    if (r->flags & CTF_NO_TIME) import_flaw(c->job, "no_time");
    if (r->flags & CTF_LONG) import_flaw(c->job, "long_text");
    const uint32_t track = track_of(c);
    const bool is_named = r->name_size || r->kind != CTF_END;
    const uint32_t name =
        is_named ? import_name(c->job, c->texts, r->name_size) : 0;
    const uint32_t site = is_named ? import_site(c->job, name, 0) : 0;
    const char *const text = c->texts + r->name_size + r->place_size;
    if (r->kind == CTF_BEGIN)
        import_nested_begin(&c->zones, track, time_ns, site, text,
                            r->text_size);
    else if (r->kind == CTF_END)
        import_nested_end(&c->zones, track, time_ns, site);
    else
        take_message(c, track, site, text);
}

static void take_record(ctf *c)
{
    const ctf_record *const r = &c->record;
    switch (r->kind) {
    case CTF_LOST_EVENTS:
        if (r->count) import_bad_many(c->job, "discarded_by_tracer", r->count);
        break;
    case CTF_LOST_PACKETS:
        import_bad(c->job, "discarded_packets", IMPORT_NONE);
        break;
    case CTF_ERROR:
        c->error = cli_format("%.*s", (int)r->text_size, c->texts);
        break;
    default: take_event(c);
    }
    import_progress(c->job);
}

static bool read_records(ctf *c, char *folder)
{
    if (!import_child_start(&c->child, ctf_read_folder, folder))
        return import_fail(c->job, "%s", strerror(errno));
    while (next_record(c) && !c->zones.no_memory)
        take_record(c);
    const char *const why = import_child_end(&c->child);
    if (why && !c->error.s[0]) c->error = cli_format("%s", why);
    if (!c->error.s[0]) return true;
    if (!c->job->rows)
        return import_fail(c->job, "babeltrace2 cannot read it: %s",
                           c->error.s);
    import_bad(c->job, "unreadable_rest", IMPORT_NONE);
    c->job->is_cut = true;
    return true;
}

static bool import(import_job *job)
{
    ctf c = { .job = job, .zones = import_nested_open(job) };
    char *const folder = find_folder(job);
    if (!folder) return false;
    const bool good = read_records(&c, folder);
    const bool fits = import_nested_close(&c.zones) && !c.no_memory;
    free(c.texts);
    free(folder);
    return fits ? good : import_out_of_memory(job);
}
#else
#define MISSING "babeltrace2 (libbabeltrace2-dev)"

static bool import(import_job *job)
{
    return import_fail(job, "this ts-import was built without babeltrace2");
}
#endif

const import_format import_ctf = {
    .name = "ctf",
    .title = "Common Trace Format (LTTng, barectf)",
    .missing = MISSING,
    .recognise = recognise,
    .import = import,
};
