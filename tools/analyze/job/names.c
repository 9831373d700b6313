/*
    names.c - names for display
*/
#include "tools/analyze/job/private.h"
#include "tools/common/symbolize/symbolize.h"
#include <stdarg.h>

ts_text analyze_format(analyze_job *job, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *const text =
        size < 0 ? NULL : report_take(job->private->texts, (size_t)size + 1);
    if (text) vsnprintf(text, (size_t)size + 1, format, again);
    va_end(again);
    return (ts_text){ text ? text : "", text ? (size_t)size : 0 };
}

/* ---- Cached names -------------------------------------------------------- */

typedef struct known_name {
    ts_text name, shown;
} known_name;

struct analyze_names {
    known_name *list;
    size_t count, room;
    cli_index index; // by name
};

// Returns the name for display; the name itself if nothing changes.
static ts_text read_name(analyze_job *job, ts_text name)
{
    ts_text shown = name;
    char *const plain =
        job->options.no_demangle || strlen(name.text) != name.size
            ? NULL
            : cli_demangle(name.text);
    if (plain) shown = (ts_text){ plain, strlen(plain) };
    char *const short_one = job->options.collapse
                                ? cli_collapse_name(shown.text, shown.size)
                                : NULL;
    if (short_one) shown = (ts_text){ short_one, strlen(short_one) };
    if (plain || short_one) shown = report_keep(job->private->texts, shown);
    free(plain);
    free(short_one);
    return shown;
}

ts_text analyze_name(analyze_job *job, ts_text name)
{
    struct analyze_private *const p = job->private;
    if (!name.size) return name;
    if (!p->names) p->names = calloc(1, sizeof *p->names);
    struct analyze_names *const n = p->names;
    if (!n || !cli_grow(&n->list, &n->room, n->count + 1, sizeof *n->list))
        return name;
    const uint64_t hash = cli_hash(name.text, name.size);
    uint32_t at;
    for (size_t i = 0; (at = cli_index_next(&n->index, hash, &i)) != CLI_NONE;)
        if (n->list[at].name.size == name.size &&
            !memcmp(n->list[at].name.text, name.text, name.size))
            return n->list[at].shown;
    // A copy, which may outlive the caller's text.
    const ts_text own = report_keep(p->texts, name);
    if (!own.size || !cli_index_add(&n->index, hash, (uint32_t)n->count))
        return name;
    n->list[n->count] = (known_name){ own, read_name(job, own) };
    return n->list[n->count++].shown;
}

ts_text analyze_label(analyze_job *job, const ts_operation *operation)
{
    return analyze_name(
        job,
        ts_operation_label(analyze_reader(job, operation->file), operation));
}

/* ---- Tracks -------------------------------------------------------------- */

static bool device_of(const ts_reader *reader, ts_track track, ts_track *device)
{
    for (uint32_t depth = 0; depth < 8; depth++) {
        if (track.type == TS_TRACK_DEVICE) {
            *device = track;
            return true;
        }
        if (!ts_reader_track(reader, track.parent, &track)) return false;
    }
    return false;
}

ts_text analyze_track(analyze_job *job, uint32_t file, uint32_t track)
{
    const ts_reader *const reader = analyze_reader(job, file);
    ts_track t, device;
    cli_text made, of = { "" };
    if (job->file_count > 1)
        of = cli_format(" of %s", analyze_file_name(job, file).s);
    if (!ts_reader_track(reader, track, &t))
        return track ? analyze_format(job, "track %" PRIu32 "%s", track, of.s)
                     : analyze_format(job, "unknown device%s", of.s);
    if (t.type == TS_TRACK_DEVICE)
        return analyze_format(job, "GPU %" PRIu64 "%s", t.number, of.s);
    const ts_text name = cli_track_name(&t, &made);
    const bool has_device = device_of(reader, t, &device);
    if (t.type != TS_TRACK_STREAM)
        return analyze_format(job, "%.*s%s", (int)name.size, name.text, of.s);
    const cli_text on = has_device
                            ? cli_format(" on GPU %" PRIu64, device.number)
                            : cli_format("%s", "");
    // Some sources give a stream its default name.
    const cli_text plain = cli_format("stream %" PRIu64, t.number);
    if (!t.name.size || (t.name.size == strlen(plain.s) &&
                         !memcmp(t.name.text, plain.s, t.name.size)))
        return analyze_format(job, "%s%s%s", plain.s, on.s, of.s);
    return analyze_format(job, "stream %" PRIu64 " (%.*s)%s%s", t.number,
                          (int)name.size, name.text, on.s, of.s);
}

/* ---- Stacks -------------------------------------------------------------- */

ts_text analyze_frame(analyze_job *job, uint32_t file,
                      const ts_frame_entry *frame, uint32_t at)
{
    const ts_text text = symbolize_text(analyze_reader(job, file), frame, at);
    return analyze_format(job, "%.*s", (int)text.size, text.text);
}

ts_text analyze_stack(analyze_job *job, uint32_t file, uint32_t stack,
                      uint32_t most)
{
    const ts_reader *const reader = analyze_reader(job, file);
    const ts_frame_entry *frames;
    const uint32_t count = ts_reader_stack(reader, stack, &frames);
    ts_text text = { "", 0 };
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count && shown < most; i++) {
        const uint32_t depth = symbolize_depth(reader, &frames[i]);
        for (uint32_t k = 0; k < depth && shown < most; k++)
            text =
                analyze_format(job, "%s%s%s", text.text, shown++ ? " < " : "",
                               analyze_frame(job, file, &frames[i], k).text);
    }
    return text;
}

void analyze_names_close(analyze_job *job)
{
    struct analyze_names *const n = job->private->names;
    if (!n) return;
    free(n->list);
    cli_index_close(&n->index);
    free(job->private->names);
}
