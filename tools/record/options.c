/*
    options.c - checks the options
*/
#include "tools/record/record.h"

#include "backends/ts_capture.h"
#include <signal.h>

static bool is_time(const record_job *job, const char *option, int64_t ns)
{
    // The library takes milliseconds.
    if (ns >= 0 && (!ns || ns >= 1000000)) return true;
    cli_error(job->tool, NULL, "%s: must be at least 1 ms", option);
    return false;
}

// Checks the words of --capture and reports the one that is invalid.
static bool is_capture(const record_job *job)
{
    char room[sizeof job->options.capture], word[sizeof job->options.capture];
    ts_capture_desc what;
    for (const char *at = job->options.capture; *at;) {
        const size_t size = strcspn(at, " ");
        snprintf(word, sizeof word, "%.*s", (int)size, at);
        if (ts_capture_parse(&what, room, sizeof room, word) != TS_OK) {
            cli_error(job->tool, NULL,
                      "--capture: '%s' is not valid; use all, kernel:NAMES, "
                      "zone:NAME, operations:N, frames:N, frame:NAMES, "
                      "first:N, count:N, budget:SIZE, hashes or "
                      "hash:auto|device|host",
                      word);
            return false;
        }
        at += size + (at[size] == ' ');
    }
    return true;
}

// Whether the capture has no limit: it would keep all operations of the
// program.
static bool is_every(const record_options *w)
{
    char room[2 * sizeof w->capture];
    ts_capture_desc d;
    return *w->capture && !w->capture_on &&
           ts_capture_parse(&d, room, sizeof room, w->capture) == TS_OK &&
           !d.kernels && !d.zone && !d.count && !d.frames && !d.operations;
}

// Parses "SIGUSR1", "key", or both separated by a comma.
static bool take_triggers(record_job *job)
{
    static const char *const names[] = { "SIGUSR1", "SIGUSR2", "key" };
    static const int signals[] = { SIGUSR1, SIGUSR2, 0 };
    record_options *const w = &job->options;
    for (const char *at = w->capture_on; at;) {
        const size_t size = strcspn(at, ",");
        size_t i = 0;
        while (i < 3 &&
               (strlen(names[i]) != size || strncmp(at, names[i], size) != 0))
            i++;
        if (i == 3) {
            cli_error(job->tool, NULL,
                      "--capture-on: '%.*s' is not valid; use SIGUSR1, SIGUSR2 "
                      "or key",
                      (int)size, at);
            return false;
        }
        if (signals[i]) w->capture_signal = signals[i];
        if (!signals[i]) w->capture_key = w->live = true;
        at = at[size] ? at + size + 1 : NULL;
    }
    if (w->capture_on && !*w->capture) strcpy(w->capture, "all");
    return true;
}

bool record_options_check(record_job *job)
{
    record_options *const w = &job->options;
    if (!take_triggers(job)) return false;
    w->every = is_every(w);
    w->estimate = w->every && !w->live && !job->quiet && cli_terminal(stderr);
    const ts_filter_desc names = { .names = w->names };
    if (w->kinds && !ts_filter_kinds(w->kinds)) {
        cli_error(job->tool, NULL,
                  "--kinds: unknown kind in \"%s\"; use gpu, host, kernel, "
                  "memcpy, zone, mark, api_call ...",
                  w->kinds);
        return false;
    }
    if (w->names && (!*w->names || ts_filter_set(&names) != TS_OK)) {
        cli_error(job->tool, NULL, "--filter: %s",
                  *w->names ? "must be at most 4,095 bytes" : "needs a name");
        return false;
    }
    if (w->stack_depth > TS_FILTER_STACK_MAX) {
        cli_error(job->tool, NULL, "--stacks: must be at most %d frames",
                  TS_FILTER_STACK_MAX);
        return false;
    }
    if (w->flight_ns && w->size_limit) {
        cli_error(job->tool, NULL,
                  "--size-limit cannot be combined with --flight-recorder, "
                  "whose size --flight-memory limits");
        return false;
    }
    if (w->flight_ns && *w->capture) {
        cli_error(job->tool, NULL,
                  "--capture cannot be combined with --flight-recorder, which "
                  "discards old events");
        return false;
    }
    if (w->yield && (!*w->yield || *w->capture)) {
        cli_error(job->tool, NULL, "--yield: %s",
                  *w->yield ? "cannot be combined with --capture, which needs "
                              "CUPTI"
                            : "needs the name of a profiler");
        return false;
    }
    return is_capture(job) && is_time(job, "--delay", w->delay_ns) &&
           is_time(job, "--duration", w->duration_ns) &&
           is_time(job, "--flight-recorder", w->flight_ns);
}
