/*
    states_figures.c - a summary of each device in a few lines
*/
#include "tools/view/states.h"

/* ---- Words -------------------------------------------------------------- */

typedef struct idle_words {
    const char *text, *why;
    char letter;
    uint8_t color;
} idle_words;

static const idle_words words[TS_IDLE_LIMIT] = {
    [TS_IDLE_HOST_LATE] = { "host late",
                            "the next operation was not launched yet", 'h',
                            203 },
    [TS_IDLE_LAUNCH_LATENCY] = { "launch latency",
                                 "the next operation was launched but not "
                                 "started",
                                 'l', 221 },
    [TS_IDLE_OTHER_STREAM] = { "other stream",
                               "waited for a kernel on another stream or "
                               "device",
                               'o', 111 },
    [TS_IDLE_COPY] = { "copy", "waited for a copy on another stream or device",
                       'c', 79 },
    [TS_IDLE_COLLECTIVE] = { "collective", "waited for a collective", 'n',
                             141 },
    [TS_IDLE_HOST_SYNC] = { "host sync", "the host waited for the device", 's',
                            208 },
    [TS_IDLE_QUEUE_FULL] = { "queue full",
                             "the host waited for space in a queue", 'q', 180 },
    [TS_IDLE_LATE_START] = { "late start",
                             "the next operation was ready but not started",
                             'r', 172 },
    [TS_IDLE_UNEXPLAINED] = { "unexplained", "the cause is not recorded", '?',
                              250 },
};

const char *view_idle_text(ts_idle idle)
{
    return words[idle].text;
}
char view_idle_letter(ts_idle idle)
{
    return words[idle].letter;
}
uint8_t view_idle_color(ts_idle idle)
{
    return words[idle].color;
}

static double share_of(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

/* ---- The figures of a device -------------------------------------------- */

// Sorts causes by their time, the largest first.
static size_t sort_causes(const ts_timeline_figures *f, ts_idle *order)
{
    size_t count = 0;
    for (int i = 0; i < TS_IDLE_LIMIT; i++) {
        if (!f->cause_ns[i]) continue;
        size_t at = count++;
        for (; at && f->cause_ns[order[at - 1]] < f->cause_ns[i]; at--)
            order[at] = order[at - 1];
        order[at] = (ts_idle)i;
    }
    return count;
}

static void put_bar(view_states *s, uint32_t at, uint32_t width, int64_t part,
                    int64_t whole, view_style style)
{
    // Eighths of a column; at least one if the time is not zero.
    static const uint32_t eighths[] = { ' ',    0x258F, 0x258E, 0x258D, 0x258C,
                                        0x258B, 0x258A, 0x2589, 0x2588 };
    int64_t left = (int64_t)(share_of(part, whole) * width * 8 + 0.5);
    if (!left && part) left = 1;
    for (; left > 0; left -= 8, at++) {
        const int64_t level = left > 8 ? 8 : left;
        const uint32_t code = s->v->unicode ? eighths[level]
                              : level > 3   ? '#'
                                            : '|';
        view_put_code(&s->d.line, at, code, style);
    }
}

static void print_cause(view_states *s, const ts_timeline_figures *f,
                        ts_idle cause)
{
    view_line *const line = &s->d.line;
    const view_style style = { .fg = words[cause].color };
    const int64_t span = f->end_ns - f->start_ns;
    const char letter[2] = { words[cause].letter };
    // Of the room beyond 80 columns the bar gets up to 20.
    const uint32_t bar = line->width < 80    ? 0
                         : line->width < 100 ? line->width - 70
                                             : 30;
    char text[96];
    view_put_string(line, 2, line->width, letter, style);
    view_put_string(line, 4, line->width, words[cause].text, view_plain);
    snprintf(text, sizeof text, "%8s %10s",
             cli_percent(share_of(f->cause_ns[cause], span)).s,
             cli_time(f->cause_ns[cause]).s);
    const bool narrow = line->width < 40; // figures go to the next line
    if (narrow) view_states_print_line(s);
    uint32_t at =
        view_put_string(line, narrow ? 0 : 18, line->width, text, view_plain) +
        2;
    if (bar) put_bar(s, at, bar, f->cause_ns[cause], f->idle_ns, style);
    at += bar ? bar + 1 : 0;
    snprintf(text, sizeof text, "%s", words[cause].why);
    at = view_put_string(line, at, line->width, text, view_faint);
    snprintf(text, sizeof text, "%s gap%s", cli_count(f->causes[cause]).s,
             f->causes[cause] == 1 ? "" : "s");
    if (at + 2 + strlen(text) <= line->width)
        view_put_string(line, at + 2, line->width, text, view_faint);
    view_states_print_line(s);
}

// Prints "  label      text" with the text wrapped.
static void print_fact(view_states *s, const char *label, const char *text)
{
    view_put_string(&s->d.line, 2, s->d.line.width, label, view_faint);
    view_states_print_words(s, 18, text);
}

static void print_work(view_states *s, const ts_timeline_figures *f)
{
    static const char *const names[] = { "kernels", "only collectives",
                                         "only copies" };
    const int64_t span = f->end_ns - f->start_ns;
    char text[160] = "";
    size_t size = 0;
    for (int i = 0; i < TS_WORK_LIMIT; i++)
        if (f->only_ns[i] || !i)
            size += (size_t)snprintf(
                text + size, sizeof text - size, "%s%s %s", size ? ", " : "",
                names[i], cli_percent(share_of(f->only_ns[i], span)).s);
    print_fact(s, "busy with", text);
}

static void print_concurrency(view_states *s, size_t device,
                              const ts_timeline_figures *f)
{
    enum { SHOWN = 6 };
    const int64_t *times;
    const size_t count = ts_timeline_concurrency(s->timeline, device, &times);
    const int64_t span = f->end_ns - f->start_ns;
    char text[160] = "";
    size_t size = 0;
    int64_t rest = 0;
    for (size_t i = 0; i < count; i++) {
        if (i >= SHOWN) rest += times[i];
        if (!times[i] || i >= SHOWN) continue;
        const cli_text label = i ? cli_format("%zu", i) : cli_format("none");
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%s: %s",
                                 size ? ", " : "", label.s,
                                 cli_percent(share_of(times[i], span)).s);
    }
    if (rest)
        snprintf(text + size, sizeof text - size, ", more: %s",
                 cli_percent(share_of(rest, span)).s);
    print_fact(s, "at once", text);
}

static void print_facts(view_states *s, size_t device,
                        const ts_timeline_figures *f)
{
    char text[256];
    const int64_t span = f->end_ns - f->start_ns;
    print_work(s, f);
    print_concurrency(s, device, f);
    if (f->launches) {
        snprintf(text, sizeof text,
                 "call to start %s (p50), %s (p95), at most %s",
                 cli_time(f->launch_p50_ns).s, cli_time(f->launch_p95_ns).s,
                 cli_time(f->launch_max_ns).s);
        print_fact(s, "launch latency", text);
    }
    const double mean = share_of(f->queue_ns, span);
    snprintf(text, sizeof text,
             "%.1f issued but not started on average, at most %s", mean,
             cli_count(f->queue_max).s);
    print_fact(s, "queue", text);
    if (!f->idle_ns) return;
    snprintf(text, sizeof text,
             "cause of the idle time: recorded %s, inferred %s, none %s",
             cli_percent(share_of(f->explicit_ns, f->idle_ns)).s,
             cli_percent(share_of(f->inferred_ns, f->idle_ns)).s,
             cli_percent(share_of(f->unexplained_ns, f->idle_ns)).s);
    print_fact(s, "evidence", text);
}

uint32_t view_states_put_device(view_states *s, size_t device)
{
    ts_lane lane;
    cli_text made;
    view_line *const line = &s->d.line;
    uint32_t at = 0;
    if (!ts_replay_device(s->replay, device, &lane)) return at;
    if (s->v->more_count) {
        at =
            view_put_string(line, at, line->width,
                            view_states_file_name(s, lane.file).s, view_strong);
        at = view_put_string(line, at, line->width, ", ", view_strong);
    }
    if (!lane.track)
        return view_put_string(line, at, line->width, "unknown device",
                               view_strong);
    const ts_track *const track =
        view_track_of(view_states_file(s, lane.file), lane.track);
    const ts_text name = cli_track_name(track, &made);
    at = view_put(line, at, at + line->width / 2, name.text, name.size,
                  view_strong);
    if (!track->name.size) return at;
    made = cli_format(" device %" PRIu64, track->number);
    return view_put_string(line, at, line->width, made.s, view_faint);
}

void view_states_print_device(view_states *s, size_t device)
{
    const ts_timeline_figures *const f =
        ts_timeline_device(s->timeline, device);
    ts_idle order[TS_IDLE_LIMIT];
    const int64_t span = f->end_ns - f->start_ns;
    const size_t causes = sort_causes(f, order);
    char text[200];
    putchar('\n');
    uint32_t at = view_states_put_device(s, device);
    if (!span) {
        view_put_string(&s->d.line, at, s->d.line.width,
                        ": no operation in this window", view_plain);
        view_states_print_line(s);
        return;
    }
    const int size =
        snprintf(text, sizeof text, ": busy %s of %s, idle %s",
                 cli_percent(share_of(f->busy_ns, span)).s, cli_time(span).s,
                 cli_percent(share_of(f->idle_ns, span)).s);
    at = view_put_string(&s->d.line, at, s->d.line.width, text, view_strong);
    const char *const because = ", because:";
    if (causes && size > 0)
        view_put_string(&s->d.line, at, s->d.line.width,
                        at + strlen(because) <= s->d.line.width ? because : ":",
                        view_strong);
    view_states_print_line(s);
    for (size_t i = 0; i < causes; i++)
        print_cause(s, f, order[i]);
    print_facts(s, device, f);
}
