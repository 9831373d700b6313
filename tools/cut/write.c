/*
    write.c - writes the selected part of a trace
*/
#include "tools/cut/cut.h"
#define XXH_INLINE_ALL
#include <xxhash.h>

static bool is_compressed(ts_reader *reader)
{
    ts_chunk_info info;
    for (size_t k = 0; ts_reader_chunk(reader, k, &info); k++)
        if (info.header.flags & 1) return true;
    return false;
}

// Describes the session of an anonymous trace only by what is kept, so that it
// is equal for all runs of the program.
static void describe_anonymous(const cut_job *job, ts_writer_desc *desc)
{
    const ts_info *const info = job->trace->info;
    const XXH128_hash_t hash = XXH3_128bits(info->counts, sizeof info->counts);
    memcpy(desc->session, &hash, sizeof desc->session);
    desc->process =
        (uint32_t)cut_renumber(job->aliases, COPY_TASK, info->process);
}

// The session id depends only on trace and options, so that equal ones give
// equal bytes.
static void describe(const cut_job *job, ts_writer_desc *desc)
{
    ts_reader *const reader = job->trace->reader;
    const ts_info *const info = job->trace->info;
    desc->path = job->out;
    desc->threads = cli_writers(cli_processors());
    desc->compress = !job->temporary && is_compressed(reader);
    if (job->aliases) {
        describe_anonymous(job, desc);
        return;
    }
    copy_session(reader, job->options.what, strlen(job->options.what),
                 desc->session);
    desc->process = info->process;
    desc->start_realtime_ns = info->start_realtime_ns;
    ts_reader_boot(reader, &desc->start_raw_ns, &desc->start_boottime_ns);
}

// Whether a selection leaves out events within its time.
static bool is_thinned(const cut_options *w)
{
    return w->issued || w->begun || w->zones || w->stream_count ||
           w->device_count || w->process_count || w->kinds || w->name;
}

static bool is_all(const cut_options *w)
{
    return !w->timed && !is_thinned(w);
}

// Adds metadata on how the part was made, after that of an earlier cut.
static void note(const cut_job *job, ts_writer *writer)
{
    const cut_options *const w = &job->options;
    ts_reader *const reader = job->trace->reader;
    const char *const slash = strrchr(job->path, '/');
    ts_metadata before;
    int64_t left_out = (int64_t)job->counts.left_out;
    if (ts_reader_metadata(reader, 0, "cut.left_out", &before))
        left_out += before.number;
    if (w->anonymise) {
        copy_note_number(writer, 0, "anonymised", 1);
    } else {
        char what[2048];
        const bool again = ts_reader_metadata(reader, 0, "cut.what", &before) &&
                           before.type == TS_VALUE_TEXT;
        snprintf(what, sizeof what, "%.*s%s%s",
                 again ? (int)(before.text.size & 1023) : 0,
                 again ? before.text.text : "", again ? "; then " : "",
                 w->what);
        if (!is_all(w)) copy_note_text(writer, 0, "cut.what", what);
        if (!again)
            copy_note_text(writer, 0, "cut.of", slash ? slash + 1 : job->path);
    }
    if (is_all(w)) return;
    int64_t from_ns = w->timed ? w->from_ns : INT64_MIN;
    int64_t to_ns = w->timed ? w->to_ns : INT64_MAX;
    if (ts_reader_metadata(reader, 0, "cut.from_ns", &before) &&
        before.type == TS_VALUE_INT && before.number > from_ns)
        from_ns = before.number;
    if (ts_reader_metadata(reader, 0, "cut.to_ns", &before) &&
        before.type == TS_VALUE_INT && before.number < to_ns)
        to_ns = before.number;
    if (from_ns != INT64_MIN)
        copy_note_number(writer, 0, "cut.from_ns", from_ns);
    if (to_ns != INT64_MAX) copy_note_number(writer, 0, "cut.to_ns", to_ns);
    if (w->timed && !w->issued && !w->begun)
        copy_note_number(writer, 0, "cut.clip", 1);
    if (is_thinned(w) && job->counts.left_out)
        copy_note_number(writer, 0, "cut.thinned", 1);
    if (job->begin_ns != INT64_MIN)
        copy_note_number(writer, 0, "cut.begin_ns", job->begin_ns);
    copy_note_number(writer, 0, "cut.kept", (int64_t)job->counts.kept);
    copy_note_number(writer, 0, "cut.left_out", left_out);
    copy_note_number(writer, 0, "cut.added", (int64_t)job->added);
}

static ts_result write_trace(cut_job *job, cut_choice *choice,
                             ts_writer *writer)
{
    cli_progress progress = { .what = "cutting" };
    copy c = { .reader = job->trace->reader,
               .writer = writer,
               .path = job->path,
               .rename = job->aliases ? cut_rename : NULL,
               .renumber = cut_renumber,
               .rename_user = job->aliases };
    const copy_hooks hooks = { .takes = cut_takes_chunk,
                               .edit = cut_edit,
                               .user = choice };
    const copy_hooks all = { 0 };
    if (job->options.timed) {
        c.losses_from_ns = job->options.from_ns;
        c.losses_to_ns = job->options.to_ns;
    }
    ts_result result = TS_ERR_MEMORY;
    const bool named = !job->aliases, whole = is_all(&job->options);
    if (copy_begin(&c) && (!named || copy_captures_find(&c))) {
        copy_tracks(&c);
        copy_metadata(&c);
        copy_losses(&c);
        if (named) copy_blobs(&c);
        if (named) copy_clocks(&c);
        result =
            copy_events(&c, whole ? &all : &hooks, &job->counts, &progress);
        if (result == TS_OK && named) result = copy_captures_write(&c, whole);
    }
    if (job->aliases && job->aliases->no_memory) result = TS_ERR_MEMORY;
    job->begin_ns = choice->begin_ns;
    note(job, writer);
    cli_progress_end(&progress);
    job->undefined = c.undefined;
    for (int i = 0; job->aliases && i < COPY_ROLES; i++)
        job->replaced += job->aliases->last[i];
    copy_end(&c);
    return result;
}

// Suggests no similar name for a pattern.
static void print_no_zones(const cut_job *job)
{
    const ts_reader *const reader = job->trace->reader;
    const size_t count = ts_reader_entry_count(reader, TS_CHUNK_SITES);
    cli_near near = { .word = job->options.zones };
    for (uint32_t site = 1; site <= count; site++) {
        const ts_text name = ts_reader_site_name(reader, site);
        cli_near_try(&near, name.text, name.size);
    }
    cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
             "no zone has the name '%s'%s%.*s%s", job->options.zones,
             near.name ? "; did you mean '" : "", (int)near.size,
             near.name ? near.name : "",
             near.name ? "'?" : "; ts-analyze --only zones lists the names");
}

static void print_outcome(const cut_job *job, ts_result result, int failed)
{
    copy_warn(job->tool, job->out, job->counts.unknown, job->undefined);
    if (result == TS_OK && job->options.anonymise &&
        ts_reader_capture_count(job->trace->reader))
        cli_error(job->tool, job->out,
                  "captures are removed because they contain code and memory");
    if (result == TS_ERR_NOT_FOUND)
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 job->temporary ? "%s selects no event"
                                : "no event matches, so that no trace is "
                                  "written",
                 job->options.what);
    else if (result != TS_OK)
        cli_fail(job->tool, result, job->out, "cannot be written: %s",
                 result == TS_ERR_IO && failed ? strerror(failed)
                                               : ts_result_text(result));
}

bool cut_write(cut_job *job)
{
    ts_writer_desc desc = { 0 };
    ts_writer *writer = NULL;
    cut_choice choice;
    cut_aliases aliases = { 0 };
    const size_t damaged = ts_reader_damage_count(job->trace->reader);
    bool zones = true;
    const bool own = !job->options.anonymise && !job->temporary &&
                     ts_reader_capture_count(job->trace->reader) &&
                     cli_trace_is_own(job->trace->reader);
    if (is_all(&job->options)) job->options.deps = CUT_DEPS_NONE;
    ts_result result =
        cut_choice_open(&choice, job->trace->reader, &job->options)
            ? TS_OK
            : TS_ERR_MEMORY;
    if (result == TS_OK && job->options.zones) zones = choice.zones.count;
    if (!zones) result = TS_ERR_NOT_FOUND;
    choice.added = &job->added;
    if (job->options.anonymise) {
        job->aliases = &aliases;
        if (!cut_aliases_open(&aliases, job->trace->reader))
            result = TS_ERR_MEMORY;
    }
    describe(job, &desc);
    errno = 0; // set by failing system calls from here on
    if (result == TS_OK) result = ts_writer_open(&writer, &desc);
    if (result == TS_OK) result = write_trace(job, &choice, writer);
    if (result == TS_OK && !job->counts.kept && !is_all(&job->options))
        result = TS_ERR_NOT_FOUND;
    if (result == TS_OK)
        result = ts_writer_close(writer);
    else
        ts_writer_abandon(writer);
    const int failed = errno;
    if (result == TS_OK && own) cli_trace_own(job->out);
    cut_choice_close(&choice);
    cut_aliases_close(&aliases);
    job->aliases = NULL;
    cli_trace_damage(job->trace, job->tool, job->path, damaged);
    zones ? print_outcome(job, result, failed) : print_no_zones(job);
    return result == TS_OK;
}
