/*
    ranks.c - selection by ranks and processes of a merged trace
*/
#include "tools/cut/cut.h"

static bool number_of(const ts_reader *reader, uint32_t track, const char *key,
                      int64_t *number)
{
    ts_metadata m;
    if (!ts_reader_metadata(reader, track, key, &m) || m.type != TS_VALUE_INT)
        return false;
    *number = m.number;
    return true;
}

typedef struct ranks {
    const ts_reader *reader;
    const char *key; // "rank", else "merge.part"; NULL: not a merged trace
    uint32_t *found; // process tracks
    size_t count;
} ranks;

// Returns the metadata key that distinguishes the processes of a trace.
static const char *key_of(const ts_reader *reader)
{
    static const char *const keys[] = { "rank", "merge.part" };
    ts_track track;
    int64_t number;
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++)
            if (track.type == TS_TRACK_PROCESS &&
                number_of(reader, track.id, keys[k], &number))
                return keys[k];
    return NULL;
}

// Returns whether a list entry (a number, or A..B) includes a number.
static bool is_in(int64_t number, const char *text, size_t size)
{
    uint64_t first, last;
    const cli_text entry = cli_format("%.*s", (int)size, text);
    return size < sizeof entry.s && cut_range(entry.s, &first, &last) &&
           number >= 0 && (uint64_t)number >= first && (uint64_t)number <= last;
}

static void add(ranks *r, uint32_t track)
{
    for (size_t k = 0; r->found && k < r->count; k++)
        if (r->found[k] == track) return;
    if (r->found) r->found[r->count++] = track;
}

// Finds the processes of a list entry; false if there are none. A trace that is
// not merged has one rank or none.
static bool find(ranks *r, const char *text, size_t size)
{
    bool any = false;
    ts_track track;
    int64_t number;
    if (!r->key)
        return number_of(r->reader, 0, "rank", &number) &&
               is_in(number, text, size);
    for (size_t i = 0; ts_reader_track_at(r->reader, i, &track); i++) {
        if (track.type != TS_TRACK_PROCESS ||
            !number_of(r->reader, track.id, r->key, &number) ||
            !is_in(number, text, size))
            continue;
        add(r, track.id);
        any = true;
    }
    return any;
}

bool cut_has_rank(const ts_reader *reader, const char *text, size_t size)
{
    ranks r = { .reader = reader, .key = key_of(reader) };
    return find(&r, text, size);
}

static void no_such_rank(const cut_job *job, const ranks *r, const char *text)
{
    enum { SHOWN = 16 };
    ts_track track;
    int64_t number;
    size_t count = 0;
    if (!r->key && number_of(r->reader, 0, "rank", &number)) {
        cli_fail(job->tool, TS_ERR_NOT_FOUND, job->path,
                 "--rank %s: the trace is of rank %" PRId64, text, number);
        return;
    }
    FILE *const out = cli_error_begin(job->tool, job->path);
    fputs("--rank ", out);
    cli_put_text(out, text, strlen(text));
    fputs(r->key ? ": no such rank; the trace has:\n"
                 : ": the trace records no ranks",
          out);
    for (size_t i = 0; r->key && ts_reader_track_at(r->reader, i, &track); i++)
        if (track.type == TS_TRACK_PROCESS &&
            number_of(r->reader, track.id, r->key, &number) && count++ < SHOWN)
            fprintf(out, "%s%" PRId64, count > 1 ? ", " : "  ", number);
    if (count > SHOWN) fprintf(out, " and %zu more", count - SHOWN);
    cli_fail_end(TS_ERR_NOT_FOUND);
}

bool cut_ranks(cut_job *job, const char *text)
{
    const ts_reader *const reader = job->trace->reader;
    ranks r = { .reader = reader, .key = key_of(reader) };
    if (r.key)
        r.found =
            malloc((ts_reader_info(reader)->track_count + 1) * sizeof *r.found);
    job->options.processes = r.found;
    if (r.key && !r.found) return cli_out_of_memory(job->tool);
    for (const char *at = text;; at++) {
        const size_t size = strcspn(at, ",");
        if (!find(&r, at, size) && !job->other_files) {
            no_such_rank(job, &r, text);
            return false;
        }
        job->options.process_count = r.count;
        at += size;
        if (!*at) return true;
    }
}

/* ---- By number or name --------------------------------------------------- */

// Returns whether a list entry equals the track's number or, with *, matches
// its name.
static bool is_called(const char *text, size_t size, const ts_track *track)
{
    const cli_text number = cli_format("%" PRIu64, track->number);
    return (strlen(number.s) == size && !memcmp(number.s, text, size)) ||
           (track->name.size &&
            cli_matches(text, size, track->name.text, track->name.size));
}

static bool is_of_ranks(const cut_options *options, uint32_t process)
{
    for (size_t i = 0; i < options->process_count; i++)
        if (options->processes[i] == process) return true;
    return !options->process_count;
}

static bool list_processes(const cut_job *job, const char *text, size_t size)
{
    enum { SHOWN = 16 };
    const ts_reader *const reader = job->trace->reader;
    ts_track track;
    size_t count = 0;
    FILE *const out = cli_error_begin(job->tool, job->path);
    fputs("--process '", out);
    cli_put_text(out, text, size);
    fputs(job->options.process_count
              ? "': no such process belongs to these ranks; the trace has:\n"
              : "': no such process; the trace has:\n",
          out);
    for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
        if (track.type != TS_TRACK_PROCESS || count++ >= SHOWN) continue;
        fprintf(out, "%s%" PRIu64, count > 1 ? ", " : "  ", track.number);
        if (!track.name.size) continue;
        fputs(" (", out);
        cli_put_text(out, track.name.text, track.name.size);
        fputc(')', out);
    }
    if (count > SHOWN) fprintf(out, " and %zu more", count - SHOWN);
    if (!count) fputs("  none", out);
    return cli_fail_end(TS_ERR_NOT_FOUND);
}

bool cut_processes(cut_job *job, const char *text)
{
    const ts_reader *const reader = job->trace->reader;
    uint32_t *const found =
        malloc((ts_reader_info(reader)->track_count + 1) * sizeof *found);
    size_t count = 0;
    if (!found) return cli_out_of_memory(job->tool);
    for (const char *at = text; at;) {
        const size_t size = strcspn(at, ",");
        bool known = false;
        ts_track track;
        for (size_t i = 0; ts_reader_track_at(reader, i, &track); i++) {
            if (track.type != TS_TRACK_PROCESS ||
                !is_called(at, size, &track) ||
                !is_of_ranks(&job->options, track.id))
                continue;
            bool has = false;
            for (size_t k = 0; k < count; k++)
                has |= found[k] == track.id;
            if (!has) found[count++] = track.id;
            known = true;
        }
        if (!known) {
            free(found);
            return list_processes(job, at, size);
        }
        at = at[size] ? at + size + 1 : NULL;
    }
    free((void *)(uintptr_t)job->options.processes);
    job->options.processes = found;
    job->options.process_count = count;
    return true;
}
