/*
    live.c - ts-replay --speed: the schedule played in real time

    On a terminal each stream has a line with its current operation; elsewhere
    each operation is printed as a line when it begins.
*/
#include "tools/replay/replay.h"
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { FRAME_NS = 66000000, NAME_WIDTH = 22, BAR_MOST = 60 };

typedef struct line { // a stream
    ts_lane lane;
    uint32_t current; // the latest operation, or TS_NODE_NONE
    uint64_t done, all;
    uint32_t running; // operations running now
} line;

typedef struct ending { // the end of a running operation, in a heap
    int64_t end_ns;
    uint32_t line;
} ending;

typedef struct beginning {
    int64_t start_ns;
    uint32_t op, line;
} beginning;

typedef struct live {
    const replay_job *job;
    line *lines;
    size_t line_count;
    beginning *order; // sorted beginnings of operations
    size_t count, next;
    ending *endings;
    size_t ending_count;
    int64_t now_ns; // time in the schedule
    uint64_t speed; // millionths
    uint32_t drawn; // lines drawn on the screen
} live;

/* ---- Time ---------------------------------------------------------------- */

static volatile sig_atomic_t stopped; // number of the signal

static void stop(int number)
{
    stopped = number;
}

// Converts real time to time of the schedule. Multiplies in two steps, as the
// product might overflow; saturates.
static int64_t scaled(uint64_t real_ns, uint64_t speed)
{
    const uint64_t whole = real_ns / 1000000, rest = real_ns % 1000000;
    if (whole && speed > (uint64_t)INT64_MAX / 2 / (whole + 1))
        return INT64_MAX / 2;
    return (int64_t)(whole * speed + rest * speed / 1000000);
}

static void sleep_ns(uint64_t ns)
{
    const struct timespec t = { (time_t)(ns / 1000000000u),
                                (long)(ns % 1000000000u) };
    nanosleep(&t, NULL); // a signal ends it early, as intended
}

bool replay_parse_speed(const char *text, uint64_t *speed)
{
    uint64_t whole = 0, part = 0, unit = 100000;
    const char *at = text;
    for (; *at >= '0' && *at <= '9' && whole < 1000000000; at++)
        whole = whole * 10 + (uint64_t)(*at - '0');
    if (at == text) return false;
    if (*at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++, unit /= 10)
            part += (uint64_t)(*at - '0') * unit;
    if (*at == 'x') at++;
    *speed = whole * 1000000 + part;
    return !*at && *speed && whole <= 1000000000;
}

/* ---- The schedule -------------------------------------------------------- */

static void push_ending(live *l, ending e)
{
    size_t at = l->ending_count++;
    for (; at && e.end_ns < l->endings[(at - 1) / 2].end_ns; at = (at - 1) / 2)
        l->endings[at] = l->endings[(at - 1) / 2];
    l->endings[at] = e;
}

static void pop_ending(live *l)
{
    const ending e = l->endings[--l->ending_count];
    size_t at = 0;
    for (size_t next; (next = at * 2 + 1) < l->ending_count; at = next) {
        if (next + 1 < l->ending_count &&
            l->endings[next + 1].end_ns < l->endings[next].end_ns)
            next++;
        if (l->endings[next].end_ns >= e.end_ns) break;
        l->endings[at] = l->endings[next];
    }
    if (l->ending_count) l->endings[at] = e;
}

static int by_start(const void *left, const void *right)
{
    const beginning *const a = left, *const b = right;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
    return (a->op > b->op) - (a->op < b->op);
}

static uint32_t find_line(const live *l, uint32_t file, uint32_t track,
                          uint32_t hint)
{
    for (size_t i = 0; i < l->line_count; i++) {
        const size_t at = (hint + i) % l->line_count;
        if (l->lines[at].lane.track == track && l->lines[at].lane.file == file)
            return (uint32_t)at;
    }
    return 0;
}

static bool prepare(live *l)
{
    const ts_replay *const replay = l->job->replay;
    const uint64_t all = ts_replay_result(replay)->loaded;
    l->line_count = ts_replay_lane_count(replay);
    l->lines = calloc(l->line_count + 1, sizeof *l->lines);
    l->order = malloc((all + 1) * sizeof *l->order);
    l->endings = malloc((all + 1) * sizeof *l->endings);
    if (!l->lines || !l->order || !l->endings) return false;
    for (size_t i = 0; i < l->line_count; i++) {
        ts_replay_lane(replay, i, &l->lines[i].lane);
        l->lines[i].current = TS_NODE_NONE;
    }
    ts_operation op;
    uint32_t last = 0;
    for (uint32_t i = 0; ts_replay_operation(replay, i, &op); i++) {
        if (op.skip != TS_SKIP_NOT) continue;
        last = find_line(l, op.file, op.track, last);
        l->lines[last].all++;
        const beginning b = { op.start_ns, i, last };
        l->order[l->count++] = b;
    }
    qsort(l->order, l->count, sizeof *l->order, by_start);
    return true;
}

/* ---- A line for each operation ------------------------------------------- */

static void print_operation(const live *l, const ts_operation *op)
{
    const ts_reader *const reader = replay_reader(l->job, op->file);
    const ts_text name = ts_operation_label(reader, op);
    const int64_t from = ts_replay_result(l->job->replay)->start_ns;
    ts_track track;
    printf("%17s  ", cli_moment(op->start_ns - from, 9).s);
    if (ts_reader_track(reader, op->track, &track))
        replay_put_track(stdout, l->job, op->file, &track);
    else
        printf("track %" PRIu32, op->track);
    const char *const kind = ts_event_name(op->kind);
    printf("  %s", kind);
    if (name.size != strlen(kind) || memcmp(name.text, kind, name.size) != 0) {
        putchar(' ');
        cli_put_text(stdout, name.text, name.size);
    }
    printf("  %s\n", cli_time(op->end_ns - op->start_ns).s);
}

/* ---- The screen ---------------------------------------------------------- */

static void put_bar(double share, uint32_t width)
{
    for (uint32_t i = 0; i < width; i++)
        putchar((double)i < share * (double)width ? '#' : '.');
}

static void draw_line(const live *l, const line *of, uint32_t width)
{
    const ts_reader *const reader = replay_reader(l->job, of->lane.file);
    ts_track track = { 0 };
    cli_text made;
    const bool known = ts_reader_track(reader, of->lane.track, &track);
    const ts_text name =
        known ? cli_track_name(&track, &made) : (ts_text){ "track", 5 };
    ts_operation op;
    ts_text what = { of->done == of->all ? "finished" : "idle",
                     of->done == of->all ? 8 : 4 };
    if (of->running && of->current != TS_NODE_NONE &&
        ts_replay_operation(l->job->replay, of->current, &op))
        what = ts_operation_label(reader, &op);
    const cli_text done =
        cli_format("%s/%s", cli_count(of->done).s, cli_count(of->all).s);
    fputs("  ", stdout);
    cli_put_padded(stdout, name.text, name.size, NAME_WIDTH);
    printf(" %15s ", done.s);
    if (of->running > 1)
        printf("%2" PRIu32 "x ", of->running);
    else
        fputs(of->running ? " >  " : "    ", stdout);
    cli_put_padded(stdout, what.text, what.size,
                   width > NAME_WIDTH + 24 ? width - NAME_WIDTH - 24 : 0);
    fputs("\x1b[K\n", stdout);
}

static void draw(live *l)
{
    const ts_replay_stats *const s = ts_replay_result(l->job->replay);
    const int64_t makespan = s->end_ns - s->start_ns;
    const int64_t gone = l->now_ns - s->start_ns;
    const uint32_t width = cli_width(), height = cli_height();
    const uint32_t room = height > 4 ? height - 3 : 1;
    uint32_t lines = 0;
    if (l->drawn) printf("\x1b[%" PRIu32 "A", l->drawn);
    const double share =
        makespan
            ? (double)(gone < makespan ? gone : makespan) / (double)makespan
            : 1.0;
    printf("%12s of %s  [", cli_time(gone < makespan ? gone : makespan).s,
           cli_time(makespan).s);
    put_bar(share,
            width > 50 ? (width - 50 > BAR_MOST ? BAR_MOST : width - 50) : 10);
    printf("] %zu of %zu operations\x1b[K\n", l->next, l->count);
    l->drawn = 1;
    size_t hidden = 0;
    for (size_t i = 0; i < l->line_count; i++) {
        if (!l->lines[i].all) continue;
        if (lines++ < room)
            draw_line(l, &l->lines[i], width), l->drawn++;
        else
            hidden++;
    }
    if (hidden) {
        printf("  and %s\x1b[K\n",
               cli_counted(hidden, "more stream", "more streams").s);
        l->drawn++;
    }
    fflush(stdout);
}

/* ---- Playing ------------------------------------------------------------- */

// The time of the next beginning or end; INT64_MAX: none.
static int64_t next_time(const live *l)
{
    const int64_t start =
        l->next < l->count ? l->order[l->next].start_ns : INT64_MAX;
    const int64_t end = l->ending_count ? l->endings[0].end_ns : INT64_MAX;
    return start < end ? start : end;
}

static void begin_next(live *l, bool screen)
{
    const beginning *const b = &l->order[l->next++];
    line *const of = &l->lines[b->line];
    ts_operation op = { 0 };
    ts_replay_operation(l->job->replay, b->op, &op);
    const ending e = { op.end_ns, b->line };
    of->current = b->op;
    of->running++;
    push_ending(l, e);
    if (!screen) print_operation(l, &op);
}

// Processes all events up to now; at equal times ends before beginnings.
static void advance(live *l, bool screen)
{
    while (next_time(l) <= l->now_ns) {
        if (l->ending_count && l->endings[0].end_ns == next_time(l)) {
            l->lines[l->endings[0].line].running--;
            l->lines[l->endings[0].line].done++;
            pop_ending(l);
        } else {
            begin_next(l, screen);
        }
    }
}

static void play(live *l, bool screen)
{
    const ts_replay_stats *const s = ts_replay_result(l->job->replay);
    const uint64_t from = cli_now_ns();
    while (!stopped && !ferror(stdout)) {
        const uint64_t real = cli_now_ns() - from;
        l->now_ns = s->start_ns + scaled(real, l->speed);
        advance(l, screen);
        if (screen) draw(l);
        if (next_time(l) == INT64_MAX) return;
        if (!screen) fflush(stdout);
        // Wait for the next event, or until the screen is to be redrawn.
        const int64_t wait = next_time(l) - l->now_ns;
        uint64_t pause = FRAME_NS;
        if (!screen && scaled(FRAME_NS, l->speed) > wait)
            pause = (uint64_t)((double)wait * 1e6 / (double)l->speed) + 1;
        sleep_ns(pause);
    }
}

bool replay_play(const replay_job *job, uint64_t speed)
{
    live l = { .job = job, .speed = speed };
    const bool screen = cli_terminal(stdout);
    const bool ready = prepare(&l);
    if (ready) {
        const int signals[] = { SIGINT, SIGTERM, SIGHUP };
        struct sigaction action = { .sa_handler = stop }, old[3];
        for (int i = 0; i < 3; i++)
            sigaction(signals[i], &action, &old[i]);
        if (screen) fputs("\x1b[?25l", stdout); // hides the cursor
        play(&l, screen);
        if (screen) fputs("\x1b[?25h", stdout);
        fflush(stdout);
        for (int i = 0; i < 3; i++)
            sigaction(signals[i], &old[i], NULL);
        // The terminal is restored: now let the signal take effect.
        if (stopped) raise(stopped);
    } else {
        cli_out_of_memory(job->tool);
    }
    free(l.lines);
    free(l.order);
    free(l.endings);
    return ready;
}
