/*
    ts-view.c - a trace in the terminal: timeline, events, statistics
*/
#include "tools/view/view.h"
#include "tools/common/select/select.h"
#include "tools/common/symbolize/symbolize.h"
#include <time.h>
#include <unistd.h>

static bool option_events, option_stats, option_states, option_json,
    option_follow, option_color, no_color, option_ascii, has_depth, has_limit,
    has_nth;
static const char *zoom_pattern, *track_list;
static uint64_t width, depth, limit, nth;

static const cli_option options[] = {
    { .name = "--events", .help = "list the events", .flag = &option_events },
    { .name = "--stats",
      .help = "print durations and values by name",
      .flag = &option_stats },
    { .name = "--states",
      .help = "print why devices were idle and what streams waited for",
      .flag = &option_states },
    SYMBOLIZE_OPTION,
    { .name = "--json",
      .help = "print --events, --stats or --states as one JSON object",
      .flag = &option_json },
    SELECT_OPTIONS,
    SELECT_KIND,
    { .name = "--zoom NAME",
      .help = "show only the time of the longest event with this full\n"
              "name; * matches any characters",
      .text = &zoom_pattern },
    { .name = "--nth N",
      .help = "with --zoom: show the Nth event in order of time instead\n"
              "of the longest",
      .flag = &has_nth,
      .number = &nth },
    { .name = "--tracks LIST",
      .help = "show only tracks with these full names, separated by\n"
              "commas; * matches any characters: a,b,worker*",
      .text = &track_list },
    { .name = "--depth N",
      .help = "rows for nested zones of a thread (default: 2 to 8)",
      .flag = &has_depth,
      .number = &depth },
    { .name = "--limit N",
      .help = "at most N tracks, events, names or gaps (default: 60\n"
              "tracks); 0: no limit",
      .flag = &has_limit,
      .number = &limit },
    { .name = "--follow",
      .help = "continue while the trace grows",
      .flag = &option_follow },
    { .name = "--width COLUMNS",
      .help = "width of the output (default: width of the terminal)",
      .number = &width },
    { .name = "--color",
      .help = "use colours even if the output is not a terminal",
      .flag = &option_color },
    { .name = "--no-color", .help = "use no colours", .flag = &no_color },
    { .name = "--ascii",
      .help = "use ASCII characters only",
      .flag = &option_ascii },
    { 0 },
};

static const cli_tool tool = {
    .name = "ts-view",
    .usage = "[options] FILE, or --states FILE...",
    .about = "Shows a trace in the terminal: a timeline of threads, streams "
             "and counters,\nits events, or statistics.",
    .options = options,
};

/* ---- Options ------------------------------------------------------------ */

static bool parse(view *v)
{
    // Kinds are filtered when they are drawn; they need no cut trace.
    const char *const kinds = selected.kind;
    v->kinds = kinds ? select_kinds(&tool, kinds) : VIEW_ALL_KINDS;
    if (!v->kinds) return false;
    selected.kind = NULL;
    const char *const wrong =
        option_events + option_stats + option_states > 1
            ? "--events, --stats and --states cannot be combined"
        : option_json && !option_events && !option_stats && !option_states
            ? "--json requires --events, --stats or --states"
        : has_nth && !zoom_pattern ? "--nth requires --zoom"
        : option_follow && select_any_but_time()
            ? "--follow can only be combined with --from, --to, --tracks and "
              "--kind: other selections need a finished trace"
            : NULL;
    if (wrong) {
        cli_error(&tool, NULL, "%s", wrong);
        return false;
    }
    if (!select_check(&tool)) return false;
    if (has_depth && (depth < 1 || depth > 64)) {
        cli_error(&tool, NULL, "--depth: must be between 1 and 64");
        return false;
    }
    if (width && (width < 20 || width > 1000)) {
        cli_error(&tool, NULL, "--width: must be between 20 and 1000");
        return false;
    }
    v->track_list = track_list;
    v->depth = (uint32_t)depth;
    v->limit = has_limit || option_events || option_stats ? limit : 60;
    v->limited = has_limit;
    v->json = option_json;
    v->color = !no_color && (option_color || cli_color(stdout));
    v->unicode = !option_ascii && cli_unicode();
    return true;
}

/* ---- Range -------------------------------------------------------------- */

// Larger times are invalid and would overflow.
#define FAR (INT64_MAX / 4)

static int64_t within_far(int64_t ns)
{
    return ns < -FAR ? -FAR : ns > FAR ? FAR : ns;
}

// The timeline of a cut trace shows the window that was cut, not the duration
// of the longest zone around it.
static bool cut_at(const view *v, const char *key, int64_t *ns)
{
    ts_metadata m;
    if (option_events || option_stats || option_states ||
        !select_any_but_time() ||
        !ts_reader_metadata(v->trace.reader, 0, key, &m) ||
        m.type != TS_VALUE_INT)
        return false;
    *ns = m.number;
    return true;
}

static void set_range(view *v)
{
    const ts_info *const info = v->trace.info;
    int64_t from_ns = info->first_ns;
    int64_t to_ns = info->last_ns + (info->last_ns < FAR);
    // Sums are clipped to the window of a cut trace.
    int64_t clip_from, clip_to;
    const bool clips =
        option_stats && cli_clip(v->trace.reader, &clip_from, &clip_to);
    if (clips && clip_from > from_ns) from_ns = clip_from;
    if (clips && clip_to < to_ns) to_ns = clip_to;
    const bool cut_from = cut_at(v, "cut.from_ns", &from_ns) || clips;
    const bool cut_to = cut_at(v, "cut.to_ns", &to_ns);
    // --events lists the whole cut trace, which includes the calls of
    // operations in the window.
    const bool has_from = selected.has_from && !option_events && !option_stats;
    const bool has_to = selected.has_to && !option_events && !option_stats;
    v->zoomed = cut_from || cut_to || has_from || has_to;
    v->from_ns = within_far(has_from ? selected.from_ns : from_ns);
    // The range ends after the last event.
    v->to_ns = within_far(has_to ? selected.to_ns : to_ns);
    if (!has_to && v->to_ns <= v->from_ns) v->to_ns = v->from_ns + 1;
}

typedef struct search {
    view *v;
    cli_map matches; // key to 0 or 1: whether the name matches
    int64_t start_ns, end_ns;
    uint64_t found;
} search;

static bool matches(search *s, uint64_t key)
{
    uint32_t known = cli_map_row(&s->matches, key);
    if (known == CLI_NONE) {
        cli_text made;
        const ts_text name = view_key_text(s->v, key, &made);
        known = cli_list_has(zoom_pattern, name.text, name.size);
        view_map_set(&s->matches, key, known);
    }
    return known;
}

// Considers one match: with --nth takes the Nth in order, else the first of the
// longest. False when the search is finished.
static bool search_take(search *s, int64_t start_ns, int64_t end_ns)
{
    s->found++;
    const bool longer =
        s->found == 1 || end_ns - start_ns > s->end_ns - s->start_ns;
    if (has_nth ? s->found == nth : longer) {
        s->start_ns = start_ns;
        s->end_ns = end_ns;
    }
    return !has_nth || s->found < nth;
}

static void search_interval(const view_interval *interval, void *user)
{
    search *const s = user;
    if (matches(s, interval->key) && interval->start_ns < s->v->to_ns &&
        interval->end_ns > s->v->from_ns && !(has_nth && s->found >= nth))
        search_take(s, interval->start_ns, interval->end_ns);
}

// Searches all tracks, including hidden ones: a zone of a thread may be the
// window for a device. First events; if none matches, frames and spans.
static void find_zone(search *s)
{
    const ts_filter filter = {
        .kinds = VIEW_ALL_KINDS & ~(TS_FILTER(COUNTER) | TS_FILTER(ZONE_ARG) |
                                    TS_FILTER(FRAME) | TS_FILTER(SPAN)),
        .from_ns = s->v->zoomed ? s->v->from_ns : 0,
        .to_ns = s->v->zoomed ? s->v->to_ns : 0,
    };
    ts_cursor *cursor;
    ts_event event;
    if (ts_cursor_open(&cursor, s->v->trace.reader, &filter) != TS_OK) return;
    while (ts_cursor_next(cursor, &event))
        if (matches(s, view_key(event.columns, event.row)) &&
            !search_take(s, event.start_ns, event.start_ns + event.duration_ns))
            break;
    ts_cursor_close(cursor);
    if (!s->found) view_intervals(s->v, VIEW_ALL_KINDS, search_interval, s);
}

static bool zoom_to_zone(view *v)
{
    search s = { .v = v };
    find_zone(&s);
    cli_map_close(&s.matches);
    if (!s.found || (has_nth && s.found < nth)) {
        cli_error(&tool, v->path,
                  "no event has the name \"%s\"%s; --stats lists names",
                  zoom_pattern, s.found ? " that often" : "");
        return false;
    }
    // A timeline also shows a little time before and after the zone.
    int64_t margin = (s.end_ns - s.start_ns) / 20;
    if (option_events || option_stats || option_states) margin = 0;
    v->from_ns = within_far(s.start_ns) - margin;
    v->to_ns = within_far(s.end_ns) + margin + (s.end_ns == s.start_ns);
    v->zoomed = true;
    return true;
}

/* ---- Showing ------------------------------------------------------------ */

static bool show(view *v)
{
    v->width = width ? (uint32_t)width : cli_width();
    if (v->width < 20) v->width = 20;
    view_tracks_load(v);
    set_range(v);
    if (v->from_ns >= v->to_ns) {
        cli_error(&tool, v->path, "begins at %s: --to must be later",
                  cli_time(v->from_ns).s);
        return false;
    }
    if (zoom_pattern && !zoom_to_zone(v)) return false;
    if (option_states) return view_states_show(v);
    option_stats ? view_stats(v) : view_timeline(v);
    return true;
}

static bool is_growing(const view *v)
{
    return v->trace.info->live && !v->trace.info->finished;
}

static void pause_ms(uint64_t ms)
{
    const struct timespec time = { (time_t)(ms / 1000),
                                   (long)(ms % 1000 * 1000000) };
    nanosleep(&time, NULL);
}

// Lists the events; with --follow also later ones.
static bool list(view *v)
{
    view_tracks_load(v);
    set_range(v);
    if (zoom_pattern && !zoom_to_zone(v)) return false;
    view_events_begin(v);
    size_t chunks = ts_reader_chunk_count(v->trace.reader);
    view_events(v, 0);
    while (option_follow && is_growing(v) &&
           (!v->limit || v->listed < v->limit)) {
        pause_ms(100);
        if (!ts_reader_refresh(v->trace.reader)) continue;
        view_tracks_load(v);
        if (!zoom_pattern) set_range(v);
        view_events(v, chunks);
        chunks = ts_reader_chunk_count(v->trace.reader);
    }
    view_events_end(v);
    return true;
}

// Draws repeatedly; on a terminal each picture replaces the one before.
static bool follow(view *v)
{
    const bool terminal = isatty(STDOUT_FILENO);
    for (bool first = true;; first = false) {
        if (terminal)
            fputs("\x1b[H\x1b[J", stdout);
        else if (!first)
            putchar('\n');
        v->height =
            terminal && !option_stats && !option_states ? cli_height() : 0;
        const uint64_t began = cli_now_ns();
        if (!show(v)) return false;
        fflush(stdout);
        // Drawing takes at most a quarter of the time.
        const uint64_t pause = 3 * (cli_now_ns() - began) / 1000000;
        bool more = false;
        while (is_growing(v) && !more && !ferror(stdout)) {
            const uint64_t least = terminal ? 200 : 1000;
            pause_ms(pause > least ? pause : least);
            more = ts_reader_refresh(v->trace.reader);
        }
        if (!more || ferror(stdout)) return true;
    }
}

/* ---- Files -------------------------------------------------------------- */

static bool open_one(view *v, const char *path)
{
    const cli_warn warn = option_follow ? CLI_WARN_NONE : CLI_WARN_ALL;
    v->path = path;
    return cli_trace_open(&v->trace, &tool, path, NULL, warn);
}

static bool has_rank(view *v)
{
    ts_metadata rank;
    if (!ts_reader_metadata(v->trace.reader, 0, "rank", &rank) ||
        rank.type != TS_VALUE_INT)
        return false;
    v->rank = rank.number;
    return true;
}

// Checks that the last file is of another process than those before, and reads
// its rank.
static bool check_last(view *v)
{
    view *const last = &v->more[v->more_count - 1];
    v->ranked = has_rank(last) && v->ranked;
    for (size_t i = 0; i < v->more_count; i++) {
        const view *const other = i ? &v->more[i - 1] : v;
        if (!cli_trace_distinct(&tool, &other->trace, &last->trace))
            return false;
        v->ranked = v->ranked && other->rank != last->rank;
    }
    return true;
}

static bool open_more(view *v, char **paths, size_t count)
{
    v->more = view_resize(NULL, count, sizeof *v->more);
    v->ranked = has_rank(v);
    while (v->more_count < count) {
        view *const one = &v->more[v->more_count];
        *one = (view){ .tool = &tool, .track_list = v->track_list };
        if (!open_one(one, paths[v->more_count])) return false;
        v->more_count++;
        view_tracks_load(one);
        if (!check_last(v)) return false;
    }
    return true;
}

static void close_one(view *v)
{
    free(v->tracks);
    free(v->track_selected);
    free(v->track_twin);
    cli_map_close(&v->track_index);
    cli_trace_close(&v->trace);
}

// Checks that --tracks and the window select anything.
static bool check_selected(view *v)
{
    bool any = !track_list;
    if (option_follow || v->more_count) return true;
    if (!cli_window_check(&v->trace, &tool,
                          selected.has_from ? &selected.from_ns : NULL,
                          selected.has_to ? &selected.to_ns : NULL))
        return false;
    view_tracks_load(v);
    for (size_t i = 0; i < v->track_count; i++)
        any = any || v->track_selected[i];
    if (!any)
        cli_error(&tool, v->path,
                  "--tracks %s: no track has this name; ts-info --tracks lists "
                  "names; * matches any characters",
                  track_list);
    return any;
}

// Shows the trace and reports damage. False if there was any, or on failure.
static bool view_all(view *v)
{
    const size_t known = ts_reader_damage_count(v->trace.reader);
    const bool shown = option_events   ? list(v)
                       : option_follow ? follow(v)
                                       : show(v);
    fflush(stdout);
    size_t damage = ts_reader_damage_count(v->trace.reader);
    if (option_follow) // warnings of the finished trace
        cli_trace_warn(&v->trace, &tool, v->path);
    else
        damage = cli_trace_damage(&v->trace, &tool, v->path, known);
    for (size_t i = 0; i < v->more_count; i++)
        damage +=
            cli_trace_damage(&v->more[i].trace, &tool, v->more[i].path, 0);
    return shown && !damage;
}

int main(int argc, char **argv)
{
    view v = { .tool = &tool };
    cli_parse(&tool, &argc, argv);
    if (argc < 2 || !parse(&v)) return cli_usage(&tool);
    if (argc > 2 && (!option_states || option_follow)) {
        cli_error(&tool, NULL,
                  "several files require --states, and cannot be combined with "
                  "--follow");
        return cli_usage(&tool);
    }
    uint32_t count = (uint32_t)argc - 1;
    if (!select_files(&tool, argv + 1, &count)) return CLI_FAILED;
    if (option_events || option_stats)
        select_install();
    else
        select_install_window();
    if (!open_one(&v, argv[1])) return CLI_FAILED;
    const bool shown = open_more(&v, argv + 2, (size_t)count - 1) &&
                       check_selected(&v) && view_all(&v);
    for (size_t i = 0; i < v.more_count; i++)
        close_one(&v.more[i]);
    free(v.more);
    close_one(&v);
    return cli_finish(&tool, shown ? CLI_OK : CLI_FAILED);
}
