/*
    summary.c - the summary at the end
*/
#include "tools/record/record.h"
#include <elf.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static bool has_key(const ts_metadata *m, const char *key)
{
    return cli_is_text(m->key, key);
}

// Whether an earlier line is the same: each process has its own lines.
static bool was_said(const ts_reader *reader, size_t before,
                     const ts_metadata *m)
{
    ts_metadata old;
    for (size_t i = 0; i < before && ts_reader_metadata_at(reader, i, &old);
         i++)
        if (cli_same_text(old.key, m->key) && old.type == m->type &&
            cli_same_text(old.text, m->text))
            return true;
    return false;
}

// Prints a line such as "nvtx: ..." for each backend that was off or recorded
// nothing.
static void print_backends(const ts_reader *reader)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++) {
        if (m.key.size < 9 || memcmp(m.key.text, "backend.", 8) != 0 ||
            m.type != TS_VALUE_TEXT ||
            (m.text.size == 2 && !memcmp(m.text.text, "on", 2)) ||
            was_said(reader, i, &m))
            continue;
        fputs("ts-record: ", stderr);
        cli_put_text(stderr, m.key.text + 8, m.key.size - 8);
        fputs(": ", stderr);
        cli_put_text(stderr, m.text.text, m.text.size);
        fputc('\n', stderr);
    }
}

// Whether a later "none" of the same process revokes a warning.
static bool is_taken_back(const ts_reader *reader, size_t i,
                          const ts_metadata *m)
{
    ts_metadata late;
    while (ts_reader_metadata_at(reader, ++i, &late))
        if (late.track == m->track && cli_same_text(late.key, m->key) &&
            cli_same_text(late.text, (ts_text){ "none", 4 }))
            return true;
    return false;
}

// Reports that another profiler was refused CUPTI ("PyTorch's profiler ...
// asked for CUPTI and was refused ..."), or that CUPTI reported no kernel or
// call.
static void print_cupti(const ts_reader *reader)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++) {
        if ((!has_key(&m, "cupti.asked") && !has_key(&m, "cupti.warning")) ||
            m.type != TS_VALUE_TEXT ||
            cli_same_text(m.text, (ts_text){ "none", 4 }) ||
            was_said(reader, i, &m) || is_taken_back(reader, i, &m))
            continue;
        fputs("ts-record: ", stderr);
        cli_put_text(stderr, m.text.text, m.text.size);
        fputc('\n', stderr);
    }
}

static void find_end(const ts_reader *reader, bool *duration, bool *size)
{
    ts_metadata m;
    for (size_t i = 0; ts_reader_metadata_at(reader, i, &m); i++)
        if (has_key(&m, "capture.ended") && m.type == TS_VALUE_TEXT) {
            *duration = *duration || (m.text.size && *m.text.text == 'd');
            *size = *size || (m.text.size && *m.text.text == 's');
        }
}

// Prints what options left out; that does not count as lost.
static void print_options(const record_job *job, bool duration, bool size)
{
    const record_options *const w = &job->options;
    if (size)
        fprintf(stderr,
                "ts-record: recording stopped when the traces reached %s "
                "(--size-limit); later events were not recorded\n",
                cli_bytes(w->size_limit).s);
    if (duration)
        fprintf(stderr, "ts-record: recording stopped after %s (--duration)\n",
                cli_time(w->duration_ns).s);
    if (w->delay_ns > job->ran_ns)
        fprintf(stderr,
                "ts-record: the program ended after %s, before recording "
                "started (--delay %s)\n",
                cli_time(job->ran_ns).s, cli_time(w->delay_ns).s);
    else if (w->kinds || w->names)
        fprintf(stderr, "ts-record: other events were excluded by %s%s%s\n",
                w->kinds ? "--kinds" : "", w->kinds && w->names ? " and " : "",
                w->names ? "--filter" : "");
}

static record_launches all_launches(const record_job *job)
{
    record_launches sum = { .called = 0 };
    for (size_t i = 0; i < job->part_count; i++)
        if (!job->parts[i].left)
            record_launches_add(&sum, &job->parts[i].launches);
    return sum;
}

// "3 calls failed: clEnqueueNDRangeKernel with -54, clCreateBuffer with -61 2
// times"
static void print_failed(const record_launches *sum)
{
    uint64_t rest = sum->failed;
    const char *comma = ": ";
    if (!sum->failed) return;
    fprintf(stderr, "ts-record: %s call%s failed", cli_count(sum->failed).s,
            sum->failed == 1 ? "" : "s");
    for (size_t i = 0; i < RECORD_FAILURES && sum->failures[i].count; i++) {
        const record_failure *const f = &sum->failures[i];
        fputs(comma, stderr);
        cli_put_text(stderr, f->call, strlen(f->call));
        fprintf(stderr, " with error %" PRId64, f->error);
        if (f->count > 1) fprintf(stderr, " %s times", cli_count(f->count).s);
        rest -= f->count;
        comma = ", ";
    }
    if (rest) fprintf(stderr, ", and %s more", cli_count(rest).s);
    fputc('\n', stderr);
}

// Calls that were captured into graphs started no operation themselves.
static void print_launches(const record_job *job)
{
    const record_launches sum = all_launches(job);
    print_failed(&sum);
    const uint64_t called = sum.called - sum.into_graphs;
    const bool filtered = job->options.kinds || job->options.names;
    if (!sum.called) return;
    fprintf(stderr, "ts-record: recorded %s of %s%s launches",
            cli_count(sum.recorded).s, sum.more ? "at least " : "",
            cli_count(called).s);
    if (sum.into_graphs)
        fprintf(stderr, "; %s more were captured into graphs",
                cli_count(sum.into_graphs).s);
    else if (sum.recorded < called && sum.graphs)
        fputs("; launches captured into graphs run when the graph is launched",
              stderr);
    const char *const others = called - sum.recorded == 1 ? "other" : "others";
    if (sum.recorded < called && job->options.flight_ns)
        fprintf(stderr, "; the operations of the %s were overwritten or lost",
                others);
    else if (sum.recorded < called && !filtered &&
             (sum.into_graphs || !sum.graphs))
        fprintf(stderr,
                "; no operation was reported for the %s: ts-info shows what "
                "was lost",
                others);
    fputc('\n', stderr);
}

// Reports that the requested time needs more memory than the limit.
static void print_more_memory(const record_job *job, int64_t kept_ns)
{
    const uint64_t had = job->options.flight_memory ? job->options.flight_memory
                                                    : TS_INJECT_FLIGHT;
    const double times =
        (double)job->options.flight_ns / (double)(kept_ns > 0 ? kept_ns : 1);
    uint64_t need = 1 << 20;
    while (need < TS_INJECT_FLIGHT_MOST && (double)need < times * (double)had)
        need *= 2;
    if (need > had)
        fprintf(stderr, "; --flight-memory %" PRIu64 "MiB would keep %s",
                need >> 20,
                need < TS_INJECT_FLIGHT_MOST ? "all of that time" : "more");
    else
        fputs("; use --kinds and --filter to record fewer events", stderr);
}

// A flight recorder overwrites records; that is reported only if it kept less
// than the requested time.
static void print_flight(const record_job *job, const ts_reader *reader)
{
    const ts_info *const info = ts_reader_info(reader);
    const int64_t kept = info->last_ns - info->first_ns;
    ts_loss_row row;
    bool full = false;
    for (size_t i = 0; ts_reader_loss(reader, i, &row); i++)
        full = full || row.cause == TS_LOSS_OVERWRITTEN;
    fprintf(stderr, "ts-record: the last %s", cli_time(kept).s);
    if (kept < job->options.flight_ns / 10 * 9 && full) {
        fprintf(stderr, " instead of the requested %s: the rings were full",
                cli_time(job->options.flight_ns).s);
        print_more_memory(job, kept);
    }
    fputc('\n', stderr);
}

// Prints what a trace contains and lacks. whose: such as "2 processes".
static void print_events(const record_job *job, const cli_trace *trace,
                         const char *path, const char *whose)
{
    const ts_info *const info = trace->info;
    const bool flight = job->options.flight_ns != 0;
    const uint64_t count = cli_event_count(info) + info->unknown_events;
    fprintf(stderr, "ts-record: %s: ", path);
    if (!count) {
        fprintf(stderr, "no events in %s\n", whose);
        return;
    }
    fprintf(stderr, "%s event%s in %s, %s, %s%s\n", cli_count(count).s,
            count == 1 ? "" : "s", cli_time(info->last_ns - info->first_ns).s,
            whose, cli_bytes(info->file_bytes).s,
            info->lost || flight ? "" : ", nothing lost");
    if (flight) print_flight(job, trace->reader);
}

void record_print_trace(const record_job *job)
{
    cli_trace trace;
    bool duration = false, size = false;
    if (!cli_trace_open(&trace, job->tool, job->out, NULL, CLI_WARN_NONE))
        return;
    const size_t count = record_process_count(job);
    print_events(job, &trace, job->out,
                 cli_format("%zu process%s", count, count == 1 ? "" : "es").s);
    print_launches(job);
    if (*job->options.capture) record_print_kept(job, trace.reader);
    record_print_lost(job, trace.reader);
    find_end(trace.reader, &duration, &size);
    print_options(job, duration, size);
    print_cupti(trace.reader);
    print_backends(trace.reader);
    record_print_own(job);
    cli_trace_close(&trace);
}

void record_print_parts(const record_job *job)
{
    enum { SAID = 16 };
    bool duration = false, size = false;
    size_t said = 0, count = 0;
    for (size_t i = 0; i < job->part_count; i++) {
        const record_part *const part = &job->parts[i];
        cli_trace trace;
        if (part->live ||
            !cli_trace_open(&trace, job->tool, part->path, NULL, CLI_WARN_NONE))
            continue;
        count++;
        find_end(trace.reader, &duration, &size);
        // A trace with losses is always listed.
        if (said < SAID || trace.info->lost) {
            print_events(job, &trace, part->path,
                         cli_format("process %ld", part->process).s);
            record_print_lost(job, trace.reader);
            print_cupti(trace.reader);
            print_backends(trace.reader);
            said++;
        }
        if (count == 1 && *job->options.capture)
            record_print_kept(job, trace.reader);
        cli_trace_close(&trace);
    }
    if (said < count)
        fprintf(stderr, "ts-record: %zu more traces without losses\n",
                count - said);
    print_launches(job);
    print_options(job, duration, size);
    fprintf(stderr, "ts-record: wrote %zu trace%s of %zu process%s to %s\n",
            count, count == 1 ? "" : "s", record_process_count(job),
            record_process_count(job) == 1 ? "" : "es", job->folder);
}

// Files that are left behind are reported even with --quiet.
void record_print_end(const record_job *job)
{
    bool live = false;
    if (WIFSIGNALED(job->status) && !job->quiet)
        fprintf(stderr, "ts-record: %s was ended by signal %d (%s)%s\n",
                job->argv[0], WTERMSIG(job->status),
                strsignal(WTERMSIG(job->status)),
                record_parts_ended(job)
                    ? "; its events up to then are in the trace"
                    : "");
    for (size_t i = 0; i < job->part_count; i++) {
        if (!job->parts[i].live) continue;
        live = true;
        fprintf(stderr,
                "ts-record: a child process is still running; its "
                "trace is %s\n",
                job->parts[i].path);
    }
    if (job->awaited && !live)
        fprintf(stderr,
                "ts-record: child processes are still running; their traces "
                "will be in %s\n",
                job->folder);
    if (job->awaited || live)
        fprintf(stderr,
                "ts-record: when they have ended, run ts-record --collect %s "
                "to merge their traces and remove the folder\n",
                job->folder);
}

/* ---- Nothing ------------------------------------------------------------ */

// Whether a program is linked statically, so that no library can be loaded into
// it.
static bool is_static(FILE *file)
{
    Elf64_Ehdr header;
    Elf64_Phdr part;
    if (fread(&header, sizeof header, 1, file) != 1 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof part || header.e_phoff > LONG_MAX ||
        fseek(file, (long)header.e_phoff, SEEK_SET) != 0)
        return false;
    for (int i = 0; i < header.e_phnum; i++)
        if (fread(&part, sizeof part, 1, file) != 1 || part.p_type == PT_INTERP)
            return false;
    return true;
}

// Whether all users can read a file; true unless we are root.
static bool is_for_others(const char *file)
{
    char path[RECORD_PATH], *slash;
    struct stat about;
    if (geteuid() != 0) return true;
    snprintf(path, sizeof path, "%s", file);
    if (stat(path, &about) != 0 || !(about.st_mode & S_IROTH)) return false;
    while ((slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = 0;
        if (stat(path, &about) != 0 || !(about.st_mode & S_IXOTH)) return false;
    }
    return true;
}

// Prints why there is no trace, as far as it is known.
void record_print_nothing(const record_job *job)
{
    char path[RECORD_PATH];
    struct stat about;
    const record_options *const w = &job->options;
    if (job->collected) {
        fprintf(stderr, "ts-record: %s: it contains no recorded events\n",
                job->folder);
        return;
    }
    const char *why = "the program and its children did not load the recorder, "
                      "which CUDA, HIP, OpenCL and NVTX load at their first "
                      "use, or could write neither to the folder of the output "
                      "nor to /var/tmp. ts-devices shows what can be recorded "
                      "on this machine. A program that starts its own session "
                      "in a container with a separate /dev/shm or PID "
                      "namespace keeps its own trace file";
    if (!is_for_others(job->inject))
        why = "the program and its children did not load the recorder; a "
              "program that drops root privileges cannot read "
              "libtracesmith-inject.so: install it where all users can read it";
    if (w->duration_ns && w->delay_ns + w->duration_ns < job->ran_ns)
        why = "the program used no supported library before recording stopped "
              "(--duration)";
    FILE *const file = cli_program_find(job->argv[0], path, sizeof path)
                           ? fopen(path, "rb")
                           : NULL;
    if (file && fstat(fileno(file), &about) == 0 &&
        about.st_mode & (S_ISUID | S_ISGID))
        why = "the program is setuid or setgid, so that the recorder cannot be "
              "loaded: run it as the target user";
    else if (file && is_static(file))
        why = "the program is linked statically, so that the recorder cannot "
              "be loaded: link it dynamically, or with TraceSmith";
    if (file) fclose(file);
    fprintf(stderr, "ts-record: %s: nothing was recorded: %s\n", job->argv[0],
            why);
}

// Prints that a tool of the user was not called, once for all processes.
static void print_chain(const char *line)
{
    static char said[512];
    const char *const path = strstr(line, ": ");
    if (!path || !strcmp(said, path)) return;
    snprintf(said, sizeof said, "%s", path);
    fputs("ts-record: another injected library cannot be loaded: ", stderr);
    cli_put_text(stderr, path + 2, strlen(path + 2));
    fputc('\n', stderr);
}

// Opens the user's own log, to append to it. NULL if the user set none.
static FILE *users_log(const record_job *job)
{
    const char *const path = getenv("TRACESMITH_LOG");
    FILE *const file = path && *path ? fopen(path, "a") : NULL;
    if (path && *path && !file)
        cli_error(job->tool, path, "%s", strerror(errno));
    return file;
}

size_t record_print_failures(const record_job *job)
{
    static const char what[] = "not recorded ", chain[] = "not chained ";
    char path[RECORD_PATH + 8], line[4500];
    size_t count = 0;
    snprintf(path, sizeof path, "%s/log", job->folder);
    FILE *const log = fopen(path, "r");
    FILE *const theirs = log ? users_log(job) : NULL;
    while (log && fgets(line, sizeof line, log)) {
        if (theirs) fputs(line, theirs);
        line[strcspn(line, "\n")] = 0;
        if (!strncmp(line, chain, sizeof chain - 1)) print_chain(line);
        if (strncmp(line, what, sizeof what - 1) != 0) continue;
        if (++count > 10) continue;
        fputs("ts-record: not recorded: process ", stderr);
        cli_put_text(stderr, line + sizeof what - 1,
                     strlen(line + sizeof what - 1));
        fputc('\n', stderr);
    }
    if (log) fclose(log);
    if (theirs) fclose(theirs);
    unlink(path);
    return count;
}
