/*
    record_wish.c - whether what the user wants makes sense
*/
#include "tools/record/record.h"

#include "backends/ts_snapshot.h"

static bool is_time(const record_job *job, const char *option, int64_t ns)
{
    // The library is told milliseconds.
    if (ns >= 0 && (!ns || ns >= 1000000)) return true;
    cli_error(job->tool, NULL, "%s: less than 1 ms", option);
    return false;
}

// Names the word that makes no sense, of those with blanks between.
static bool is_capture(const record_job *job)
{
    char room[sizeof job->wish.capture], word[sizeof job->wish.capture];
    ts_snapshot_desc what;
    for (const char *at = job->wish.capture; *at;) {
        const size_t size = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)size, at);
        if (ts_snapshot_parse(&what, room, sizeof room, word) != TS_OK) {
            cli_error(job->tool, NULL,
                      "--capture: '%s' says nothing; there are all, "
                      "kernel:NAMES, zone:NAME, frames:N, first:N, count:N, "
                      "budget:SIZE, hashes",
                      word);
            return false;
        }
        at += size + (at[size] == ' ');
    }
    return true;
}

bool record_wish_check(const record_job *job)
{
    const record_wish *const w = &job->wish;
    const ts_capture_desc names = { .names = w->names };
    if (w->kinds && !ts_capture_kinds(w->kinds)) {
        cli_error(job->tool, NULL,
                  "--kinds: no such kind in \"%s\"; there are gpu, host, "
                  "kernel, memcpy, zone, mark, api_call ...",
                  w->kinds);
        return false;
    }
    if (w->names && (!*w->names || ts_capture_set(&names) != TS_OK)) {
        cli_error(job->tool, NULL, "--filter: %s",
                  *w->names ? "at most 4,095 bytes" : "which names?");
        return false;
    }
    if (w->stack_depth > TS_CAPTURE_STACK_MAX) {
        cli_error(job->tool, NULL, "--stacks: at most %d frames",
                  TS_CAPTURE_STACK_MAX);
        return false;
    }
    if (w->flight_ns && w->size_limit) {
        cli_error(job->tool, NULL,
                  "--flight-recorder keeps its memory by itself: it needs no "
                  "--size-limit");
        return false;
    }
    if (w->flight_ns && *w->capture) {
        cli_error(job->tool, NULL,
                  "--flight-recorder forgets what --capture keeps: one of "
                  "them");
        return false;
    }
    return is_capture(job) && is_time(job, "--delay", w->delay_ns) &&
           is_time(job, "--duration", w->duration_ns) &&
           is_time(job, "--flight-recorder", w->flight_ns);
}
