/*
    lanes.c - devices and streams in the report of ts-replay
*/
#include "tools/replay/replay.h"

// The columns of the table: names, figures, and the picture in the rest of the
// terminal's width. A narrow terminal has no picture.
typedef struct table {
    int name;
    int64_t cells;
    bool unicode;
} table;

static table measure(const replay_job *job)
{
    enum { FIGURES = 36, NAME = 24, NAME_MOST = 40, CELLS = 20 };
    const int width = (int)cli_width();
    int room = width - FIGURES - NAME - CELLS;
    if (room < 0) room = 0;
    // Names get a quarter of the columns beyond 80.
    const int more = room / 4 < NAME_MOST - NAME ? room / 4 : NAME_MOST - NAME;
    int cells = CELLS + room - more;
    if (cells > REPLAY_CELLS) cells = REPLAY_CELLS;
    return (table){ NAME + more, cells, job->unicode };
}

// Prints "2 upload" for a stream, "device 0 vdev" for a device.
static void print_track(const replay_job *job, const table *t,
                        const ts_lane *lane, uint32_t id, uint32_t indent)
{
    ts_track track;
    cli_text made = { "" }, before = { "" };
    ts_text name = { "", 0 };
    if (!ts_reader_track(replay_reader(job, lane->file), id, &track)) {
        snprintf(before.s, sizeof before.s, "track %" PRIu32, id);
    } else {
        name = cli_track_name(&track, &made);
        const char *const type = cli_track_type(track.type);
        if (!track.name.size)
            before.s[0] = 0;
        else if (track.type == TS_TRACK_STREAM)
            snprintf(before.s, sizeof before.s, "%" PRIu64 " ", track.number);
        else if (track.type == TS_TRACK_DEVICE)
            snprintf(before.s, sizeof before.s, "device %" PRIu64 " ",
                     track.number);
        else if (name.size < strlen(type) ||
                 memcmp(name.text, type, strlen(type)) != 0)
            snprintf(before.s, sizeof before.s, "%s ", type);
    }
    const int used = printf("%*s%s", (int)indent, "", before.s);
    const int left = t->name - used;
    cli_put_padded(stdout, name.text, name.size, left > 0 ? (uint32_t)left : 0);
}

static void print_bar(const table *t, const replay_row *row, int64_t makespan)
{
    if (cli_is_narrow()) return;
    static const char *const blocks[] = { " ",      "\u2581", "\u2582",
                                          "\u2583", "\u2584", "\u2585",
                                          "\u2586", "\u2587", "\u2588" };
    static const char *const letters[] = { " ", ".", ".", ":", ":",
                                           "+", "+", "#", "#" };
    const char *const *const levels = t->unicode ? blocks : letters;
    fputs("  |", stdout);
    for (int64_t i = 0; i < t->cells; i++) {
        const int64_t width = replay_cell(makespan, t->cells, i + 1) -
                              replay_cell(makespan, t->cells, i);
        // Any busy time is drawn at least as the lowest level.
        const int level =
            row->cells[i] && width
                ? 1 + (int)((double)row->cells[i] / (double)width * 7.0)
                : 0;
        fputs(levels[level > 8 ? 8 : level], stdout);
    }
    putchar('|');
}

static bool same_device(const ts_lane *a, const ts_lane *b)
{
    return a->device == b->device && a->file == b->file;
}

// Prints the line of a device, whose first lane is `first`.
static void print_device(const replay_job *job, const table *t,
                         const replay_row *rows, size_t first)
{
    ts_lane lane, of = { 0 }, device = { 0 };
    uint64_t selected = 0, all = 0;
    ts_replay_lane(job->replay, first, &of);
    for (size_t i = first; ts_replay_lane(job->replay, i, &lane); i++) {
        if (!same_device(&lane, &of)) break;
        selected += rows[i].selected;
        all += rows[i].all;
    }
    for (size_t i = 0; ts_replay_device(job->replay, i, &device); i++)
        if (device.track == of.device && device.file == of.file) break;
    if (of.device)
        print_track(job, t, &of, of.device, 2);
    else
        printf("  %-*s", t->name - 2, "no device");
    printf("%11s", cli_count(selected).s);
    if (job->dry_run)
        printf(" %11s\n", cli_count(all - selected).s);
    else
        printf(" %10s %9s\n", cli_time(device.busy_ns).s,
               cli_percent(replay_share(&rows[first], device.busy_ns)).s);
}

static void print_lane(const replay_job *job, const table *t,
                       const ts_lane *lane, const replay_row *row)
{
    const ts_replay_stats *const s = ts_replay_result(job->replay);
    print_track(job, t, lane, lane->track, 4);
    if (job->dry_run) {
        printf("%11s %11s\n", cli_count(row->selected).s,
               cli_count(row->all - row->selected).s);
        return;
    }
    printf("%11s %10s %9s", cli_count(lane->operations).s,
           cli_time(lane->busy_ns).s,
           cli_percent(replay_share(row, lane->busy_ns)).s);
    print_bar(t, row, s->end_ns - s->start_ns);
    putchar('\n');
}

void replay_print_lanes(const replay_job *job)
{
    const table t = measure(job);
    replay_row *const rows = replay_rows(job, t.cells);
    if (!rows) return;
    printf("\n  %-*s%s%s\n", t.name - 2, "streams",
           job->dry_run ? " operations     skipped"
                        : " operations       busy     share",
           job->dry_run || cli_is_narrow() ? "" : "  schedule");
    ts_lane lane, last = { 0 };
    size_t first = 0; // lane of the device
    bool any = false;
    uint32_t named = UINT32_MAX; // file whose name was printed last
    for (size_t i = 0; ts_replay_lane(job->replay, i, &lane); i++) {
        if (i == 0 || !same_device(&lane, &last)) {
            first = i;
            any = false;
        }
        last = lane;
        if (!rows[i].selected) continue;
        if (job->file_count > 1 && named != lane.file)
            printf("  %s\n", replay_file_name(job, lane.file).s);
        named = lane.file;
        if (!any) print_device(job, &t, rows, first);
        any = true;
        print_lane(job, &t, &lane, &rows[i]);
    }
    free(rows);
}
