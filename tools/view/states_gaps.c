/*
    states_gaps.c - explains in words why a device was idle
*/
#include "tools/view/states.h"

static ts_reader *reader_of(const view_states *s, uint32_t file)
{
    return ts_replay_reader(s->replay, file);
}

// A function's name without template and function arguments, cut to 60 columns.
static ts_text brief_of(ts_text text)
{
    static const char unnamed[] = "(anonymous";
    size_t end = 0;
    while (end < text.size &&
           (!end || !strchr("<(", text.text[end]) || !text.text[end])) {
        end++;
        if (text.size - end > sizeof unnamed &&
            !memcmp(text.text + end, unnamed, sizeof unnamed - 1))
            end += sizeof unnamed - 1;
    }
    const bool result = end > 5 && !memcmp(text.text, "void ", 5);
    return result ? (ts_text){ text.text + 5, end - 5 }
                  : (ts_text){ text.text, end };
}

static void put_text(FILE *out, ts_text text)
{
    enum { WIDEST = 60 };
    if (cli_columns(text.text, text.size) > 40) text = brief_of(text);
    if (cli_columns(text.text, text.size) <= WIDEST) {
        cli_put_text(out, text.text, text.size);
        return;
    }
    char *const cut = cli_cut(text.text, text.size, WIDEST, "...");
    if (cut) cli_put_text(out, cut, strlen(cut));
    free(cut);
}

static void put_track(FILE *out, const view_states *s, uint32_t file,
                      uint32_t track)
{
    cli_text made;
    put_text(out, cli_track_name(
                      view_track_of(view_states_file(s, file), track), &made));
}

void view_states_put_node(FILE *out, const view_states *s, uint32_t node,
                          bool where)
{
    ts_node n;
    ts_operation op;
    cli_text made;
    if (!ts_replay_node(s->replay, node, &n)) return;
    if (n.type == TS_NODE_CALL) {
        const ts_text name = ts_reader_name(reader_of(s, n.file), n.name);
        if (name.size)
            put_text(out, name);
        else
            fputs("a launch", out);
    } else if (ts_replay_operation(s->replay, node, &op)) {
        put_text(out, view_key_text(view_states_file(s, n.file),
                                    (uint64_t)op.kind << 32 | op.label, &made));
    }
    if (!where || !n.track) return;
    fputs(" on ", out);
    put_track(out, s, n.file, n.track);
}

/* ---- What the host did -------------------------------------------------- */

typedef struct meanwhile {
    int64_t part_ns, length_ns;
    uint64_t key;
} meanwhile;

// Finds the innermost zone or call that was open on a thread for at least half
// of a time span.
static bool find_meanwhile(const view_states *s, uint32_t file, uint32_t track,
                           int64_t from, int64_t to, meanwhile *found)
{
    const ts_filter filter = { .kinds = TS_FILTER(ZONE) | TS_FILTER(API_CALL),
                               .tracks = &track,
                               .track_count = 1,
                               .from_ns = from,
                               .to_ns = to };
    ts_cursor *cursor;
    ts_event event;
    memset(found, 0, sizeof *found);
    if (from >= to ||
        ts_cursor_open(&cursor, reader_of(s, file), &filter) != TS_OK)
        return false;
    while (ts_cursor_next(cursor, &event)) {
        const int64_t start = event.start_ns > from ? event.start_ns : from;
        int64_t end = event.start_ns + event.duration_ns;
        if (end > to) end = to;
        if (end - start < (to - from + 1) / 2 ||
            (found->part_ns && event.duration_ns > found->length_ns))
            continue;
        found->part_ns = end - start;
        found->length_ns = event.duration_ns;
        found->key = view_key(event.columns, event.row);
    }
    ts_cursor_close(cursor);
    return found->part_ns > 0;
}

// Times are on the common axis.
static void put_meanwhile(FILE *out, const view_states *s, const ts_node *call,
                          int64_t from, int64_t to)
{
    meanwhile m;
    cli_text made;
    ts_replay_file file;
    if (!ts_replay_file_at(s->replay, call->file, &file) ||
        !find_meanwhile(s, call->file, call->track, from - file.offset_ns,
                        to - file.offset_ns, &m))
        return;
    fprintf(out, "; %s of that in ", cli_time(m.part_ns).s);
    put_text(out, view_key_text(view_states_file(s, call->file), m.key, &made));
}

/* ---- Causes ------------------------------------------------------------- */

static void put_late_call(FILE *out, const view_states *s, const ts_gap *gap,
                          const ts_node *call)
{
    const int64_t late = call->recorded_ns - gap->start_ns;
    view_states_put_node(out, s, gap->operation, false);
    fprintf(out, " was launched %s after the device became idle, by ",
            cli_time(late).s);
    view_states_put_node(out, s, gap->culprit, true);
    if (call->duration_ns > (gap->end_ns - gap->start_ns) / 8)
        fprintf(out, ", a call of %s", cli_time(call->duration_ns).s);
    if (call->track)
        put_meanwhile(out, s, call, gap->start_ns, call->recorded_ns);
}

static void put_host_late(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    if (!ts_replay_node(s->replay, gap->culprit, &node)) {
        view_states_put_node(out, s, gap->operation, true);
        fputs(" was queued after the device became idle", out);
    } else if (node.type == TS_NODE_CALL) {
        put_late_call(out, s, gap, &node);
    } else {
        view_states_put_node(out, s, gap->operation, true);
        fputs(" waited for the host function ", out);
        view_states_put_node(out, s, gap->culprit, false);
    }
}

static void put_latency(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    view_states_put_node(out, s, gap->operation, true);
    if (!ts_replay_node(s->replay, gap->culprit, &node)) {
        fputs(" was queued and took time to start", out);
    } else if (node.type == TS_NODE_CALL) {
        fprintf(out, " started %s after its launch by ",
                cli_time(gap->end_ns - node.recorded_ns).s);
        view_states_put_node(out, s, gap->culprit, true);
        if (node.duration_ns >= (gap->end_ns - gap->start_ns) / 2)
            fprintf(out, ", a call of %s", cli_time(node.duration_ns).s);
    } else {
        fprintf(out, " started %s after the previous operation, ",
                cli_time(gap->end_ns - node.recorded_ns - node.duration_ns).s);
        view_states_put_node(out, s, gap->culprit, false);
    }
}

static void put_elsewhere(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    view_states_put_node(out, s, gap->operation, true);
    fputs(" waited for ", out);
    view_states_put_node(out, s, gap->culprit, true);
    if (!ts_replay_node(s->replay, gap->culprit, &node)) return;
    const int64_t end = node.recorded_ns + node.duration_ns;
    if (end <= gap->end_ns)
        fprintf(out, ", which ended %s before", cli_time(gap->end_ns - end).s);
    fprintf(out, " (%s)", ts_edge_name(gap->edge));
}

static void put_block(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    uint8_t edge;
    bool inferred;
    if (!ts_replay_node(s->replay, gap->culprit, &node)) return;
    view_states_put_node(out, s, gap->operation, false);
    fprintf(out, " was launched late, after %s in ",
            cli_time(node.duration_ns).s);
    view_states_put_node(out, s, gap->culprit, true);
    if (gap->cause == TS_IDLE_QUEUE_FULL) {
        fputs(", whose queue was full", out);
        return;
    }
    const uint32_t waited =
        ts_timeline_culprit(s->timeline, gap->culprit, &edge, &inferred);
    if (waited == TS_NODE_NONE) return;
    fputs(", which waited for ", out);
    view_states_put_node(out, s, waited, true);
}

static void put_unexplained(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    fputs("no recorded cause explains why ", out);
    view_states_put_node(out, s, gap->operation, true);
    fputs(" did not start earlier", out);
    if (!ts_replay_node(s->replay, gap->culprit, &node)) return;
    const int64_t end = node.recorded_ns + node.duration_ns;
    if (end >= gap->end_ns) return;
    fprintf(out, "; %s, which it follows, was complete %s before",
            node.type == TS_NODE_CALL ? "its launch" : "the last operation",
            cli_time(gap->end_ns - end).s);
}

// The launch and what it waited for were done: the later of the two is named.
static void put_late_start(FILE *out, const view_states *s, const ts_gap *gap)
{
    ts_node node;
    view_states_put_node(out, s, gap->operation, true);
    if (!ts_replay_node(s->replay, gap->culprit, &node)) {
        fputs(" was queued and ready, and started late", out);
        return;
    }
    fprintf(out, " was ready, and started %s after ",
            cli_time(gap->end_ns - node.recorded_ns - node.duration_ns).s);
    fputs(node.type == TS_NODE_CALL ? "its launch by " : "the end of ", out);
    view_states_put_node(out, s, gap->culprit, true);
}

void view_states_put_gap(FILE *out, view_states *s, const ts_gap *gap)
{
    fprintf(out, "%s: ", view_idle_text(gap->cause));
    switch (gap->cause) {
    case TS_IDLE_HOST_LATE: put_host_late(out, s, gap); break;
    case TS_IDLE_LAUNCH_LATENCY: put_latency(out, s, gap); break;
    case TS_IDLE_HOST_SYNC:
    case TS_IDLE_QUEUE_FULL: put_block(out, s, gap); break;
    case TS_IDLE_UNEXPLAINED: put_unexplained(out, s, gap); break;
    case TS_IDLE_LATE_START: put_late_start(out, s, gap); break;
    default: put_elsewhere(out, s, gap); break;
    }
    if (gap->inferred) fputs(" (inferred)", out);
}
